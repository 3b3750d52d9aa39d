# Builds the project in a folder of its own under a sanitizer, without nvcc, and
# runs test programs of that build against the emulated module: one assertion for
# the build, one for each program.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Sanitize;

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use Programs qw(skip_if_configured slurp start);
use Test::More;

# Runs a command; returns its status and its output, standard error included. Of what
# timeout(1) runs nothing is left then: a child that hangs would keep a pipe open.
sub command {
    my $file = "$Programs::folder/output";
    my $pid = start(['sh', '-c', 'exec "$@" 2>&1', 'sh', @_], out => $file, seconds => 7200);
    waitpid($pid, 0);
    my $status = $?;
    kill('KILL', -$pid);
    return ($status, slurp($file));
}

# The same for a test, again where AddressSanitizer stopped a child (see asan_forks.h): what
# a test finds every time it still finds.
sub test {
    my @command = @_;
    my @result;
    foreach my $run (1 .. 3) {
        unlink($ENV{GPUAES_TEST_FORKS});
        @result = command('timeout', '1200', @command);
        last if !-e $ENV{GPUAES_TEST_FORKS};
        diag("@command, run $run: " . slurp($ENV{GPUAES_TEST_FORKS}));
    }
    return @result;
}

# The last lines of a long output, as a diagnostic, and behind them what failed earlier, with
# the reasons that were given.
sub show_end {
    my @lines = split(/\n/, shift);
    my @early = @lines > 60 ? splice(@lines, 0, @lines - 60) : ();
    diag(join("\n", @lines, grep { /^(?:not ok|#)/ } @early));
}

sub build {
    my ($source, $folder, $sanitizer) = @_;
    my ($status, $output) = (0, '');
    make_path($folder);
    chdir($folder) or die "$folder: $!";
    if (!-f 'Makefile') {
        # No --enable-werror: sanitizers make gcc warn where nothing is wrong.
        ($status, $output) = command("$source/configure", '--with-cuda=no',
            "--enable-sanitizer=$sanitizer");
    }
    if (!$status) {
        ($status, $output) = command('make', '-j2', 'test-programs');
    }
    show_end($output) if $status;
    return !$status;
}

# run(FOLDER, LIST, SANITIZER): `make list-LIST` of the build names the programs and scripts.
sub run {
    my ($name, $list, $sanitizer) = @_;
    my $source = $ENV{TOP_SRCDIR} // abs_path(dirname(__FILE__) . '/..');
    my $folder = ($ENV{TOP_BUILDDIR} // '.') . "/$name";

    # This may run inside a make whose settings are not for ours.
    delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS)};

    skip_if_configured();
    my $probe = 'int main(void) { return 0; }';
    my $compiler = $ENV{CC} // 'cc';
    if (system("echo '$probe' | $compiler -fsanitize=$sanitizer -x c -o /dev/null - 2>/dev/null")) {
        plan(skip_all => "this compiler has no -fsanitize=$sanitizer");
    }

    my $built = build($source, $folder, $sanitizer);
    if (!$built) {
        ok(0, "builds with -fsanitize=$sanitizer");
        done_testing();
        return;
    }
    $folder = abs_path('.');
    $ENV{TOP_SRCDIR} = $source;
    $ENV{TOP_BUILDDIR} = $folder;
    $ENV{OPENSSL_MODULES} = "$folder/test/emulated";
    $ENV{GPUAES_TEST_MODULES_REAL} = "$folder/provider/.libs";
    $ENV{GPUAES_TEST_SANITIZER} = $sanitizer;
    $ENV{GPUAES_TEST_FORKS} = "$folder/forks.log";
    $ENV{UBSAN_OPTIONS} //= 'print_stacktrace=1';
    $ENV{TSAN_OPTIONS} //= 'die_after_fork=0';
    # Kernels take long here, and the machine may be busy: slow is not lost.
    $ENV{GPUAES_TIMEOUT_MS} //= 60000;

    # Nothing is printed before the end: prove -j would wait for the next line.
    my (undef, $programs) = command('make', '--silent', '--no-print-directory', "list-$list");
    my @results;
    foreach my $program (split(' ', $programs)) {
        my @command = $program =~ /\.t$/ ? ($^X, "$source/$program") : "./$program";
        push(@results, [$program, test(@command)]);
    }

    ok($built, "builds with -fsanitize=$sanitizer");
    foreach my $result (@results) {
        my ($program, $status, $output) = @$result;
        my $held = () = $output =~ /^ok /mg;
        my $good = !$status && $output !~ /^not ok (?!.*# TODO)/m;
        ok($good, "$program under $sanitizer: $held assertions") or show_end($output);
    }
    done_testing();
}

1;
