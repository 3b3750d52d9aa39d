# Builds of the project under sanitizers, each in a folder of the build folder and without nvcc,
# and tests that run there, against the emulated module. The test asan/test/NAME is test/NAME
# of the build in asan/.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Sanitize;

use strict;
use warnings;
use Cwd qw(abs_path);
use Fcntl qw(:flock);
use File::Path qw(make_path);
use Programs;
use Test::More;

# What is built where; `make` of that build has the targets. C++ is the kernels and the emulator: what
# AddressSanitizer adds to these takes the compiler half as long again with -O2, and they run a tenth faster.
my @builds = (
    {folder => 'asan', sanitizer => 'address,undefined', target => 'test-programs', cxx => '-O1'},
    {folder => 'tsan', sanitizer => 'thread', target => 'thread-programs', cxx => '-O2'}
);

sub is_of_a_build
{
    my ($test) = @_;
    return scalar(grep { $test =~ m{^$_->{folder}/} } @builds);
}

# ---- To build ------------------------------------------------------------------------

sub works
{
    my ($sanitizer) = @_;
    my $probe = spew("$folder/probe.c", "int main(void) { return 0; }\n");
    return !run([$ENV{CC} // 'cc', "-fsanitize=$sanitizer", '-o', "$folder/probe", $probe])->{status};
}

# Held by the build, and waited for by its tests. It ends with the process.
sub lock_folder
{
    my ($name, $kind) = @_;
    open(my $lock, '>>', "$build/$name/lock") or die "$build/$name/lock: $!";
    flock($lock, $kind) or die "$build/$name/lock: $!";
    return $lock;
}

sub make_build
{
    my ($b) = @_;
    my @in_folder = ('sh', '-c', 'cd "$0" && exec "$@"', "$build/$b->{folder}");
    my @commands = ([@in_folder, 'make', '-j2', $b->{target}]);
    # No --enable-werror: sanitizers make gcc warn where nothing is wrong. Reports need names and lines
    # alone, and -g takes longer.
    unshift(@commands,
        [@in_folder, "$source/configure", '--with-cuda=no', "--enable-sanitizer=$b->{sanitizer}",
            'CFLAGS=-O1 -g1', "CXXFLAGS=$b->{cxx} -g1"])
        if !-f "$build/$b->{folder}/Makefile";
    foreach my $command (@commands) {
        my $result = run($command, seconds => 7200);
        next if $result->{status} == 0;
        diag(substr("$result->{out}$result->{err}", -6000));
        return 0;
    }
    return 1;
}

# An assertion for each build.
sub build_all
{
    make_path(map { "$build/$_->{folder}" } @builds);
    my %locks = map { $_->{folder} => lock_folder($_->{folder}, LOCK_EX) } @builds;
    foreach my $b (@builds) {
      SKIP: {
            skip("this compiler has no -fsanitize=$b->{sanitizer}", 1) if !works($b->{sanitizer});
            ok(make_build($b), "builds with -fsanitize=$b->{sanitizer}");
        }
        close($locks{$b->{folder}});
    }
    return;
}

# ---- To run --------------------------------------------------------------------------

# The last lines of what a test said, with what failed earlier and the reasons that were given.
sub end_of
{
    my @lines = split(/^/, shift);
    my @early = @lines > 60 ? splice(@lines, 0, @lines - 60) : ();
    return join('', @lines, grep { /^(?:not ok|#)/ } @early);
}

# So long may a run take, and after it no other one begins.
my $seconds = 1200;

sub run_once
{
    my ($command, $out, $err) = @_;
    my $pid = start(['timeout', $seconds, @$command], out => $out, err => $err, seconds => 7200);
    waitpid($pid, 0);
    my $status = $?;
    # Of what timeout(1) runs nothing is left then.
    kill('KILL', -$pid);
    return $status;
}

# ThreadSanitizer does not see the order that libcrypto's atomics make: libcrypto.so itself is not
# built under it. So it takes a name that one thread copies into the table of algorithms of 3.5, and
# another one then compares, for a race. No suppression says just that: it would need names of
# functions that Debian's library does not have, or would match all that libcrypto calls. Behind
# libcrypto's own frame may be those of a test program that called it, but none of ours.
sub is_of_libcrypto
{
    my ($report) = @_;
    my @stacks = $report =~ /^  (?:Previous )?(?:read|write) of size [^\n]*\n((?:    #[^\n]*\n)+)/gmi;
    return 0 if @stacks != 2 || $report !~ /^  Location is heap block.*\n    #0 malloc .*\n    #1 CRYPTO_malloc /m;
    my ($read, $write) = sort @stacks;    # memcmp, memcpy
    return 0 if $read !~ /^    #0 memcmp / || $write !~ /^    #0 memcpy /;
    foreach my $stack (@stacks) {
        my ($inner, @callers) = grep { !/\(libtsan\.so/ } split(/\n/, $stack);
        return 0 if !$inner || $inner !~ /\(libcrypto\.so/ || grep { /\((?:lib)?gpuaes\S*\+0x/ } @callers;
    }
    return 1;
}

# What ThreadSanitizer says of us, in the files of that name and a dot.
sub races
{
    my $said = join('', map { slurp($_) } glob("$_[0].*"));
    my @reports = grep { /\S/ } split(/^==================\n/m, $said =~ s/^ThreadSanitizer: reported .*\n//mgr);
    return join("==================\n", grep { !is_of_libcrypto($_) } @reports);
}

# run_test(asan/test/NAME, ARGUMENTS): its status. Standard error is shown if it fails.
sub run_test
{
    my ($test, @arguments) = @_;
    my ($name, $path) = $test =~ m{^([^/]+)/(.*)$};
    my ($b) = grep { $_->{folder} eq $name } @builds;
    my $home = "$build/$name";
    my $lock = -d $home ? lock_folder($name, LOCK_SH) : undef;
    if (!-f "$home/Makefile") {
        print("1..0 # SKIP no build in $name/: test/support/sanitize_build.t makes it\n");
        return 0;
    }

    local %ENV = (
        UBSAN_OPTIONS => 'print_stacktrace=1',
        # Kernels take long here, and the machine may be busy: slow is not lost.
        GPUAES_TIMEOUT_MS => 60000,
        %ENV,
        # As newer compilers have it by default, frames of functions that have ended stay somewhere else, where
        # cleanse_stack() does not reach, and tests of secrets find them.
        ASAN_OPTIONS => join(':', $ENV{ASAN_OPTIONS} // (), 'detect_stack_use_after_return=0'),
        # Children report there, too, however they end.
        TSAN_OPTIONS => join(' ', $ENV{TSAN_OPTIONS} // (), "die_after_fork=0 exitcode=0 log_path=$folder/races"),
        TOP_SRCDIR => $source,
        TOP_BUILDDIR => $home,
        OPENSSL_MODULES => "$home/test/emulated",
        GPUAES_TEST_MODULES_REAL => "$home/provider/.libs",
        GPUAES_TEST_SANITIZER => $b->{sanitizer},
        GPUAES_TEST_FORKS => "$folder/forks.log"
    );
    chdir($home) or die "$home: $!";
    my @command = $path =~ /\.t$/ ? ($^X, "$source/$path", @arguments) : ("./$path", @arguments);
    my ($out, $err) = ("$folder/test.out", "$folder/test.err");
    my $status;
    # Again where AddressSanitizer stopped a child (see asan_forks.h): what a test finds every
    # time it still finds, and what it found once is shown.
    my $begun = time;
    foreach my $turn (1 .. 8) {
        unlink($ENV{GPUAES_TEST_FORKS});
        $status = run_once(\@command, $out, $err);
        last if !-e $ENV{GPUAES_TEST_FORKS};
        diag("$test, run $turn: ", slurp($ENV{GPUAES_TEST_FORKS}), slurp($out) =~ /^not ok .*\n/mg);
        last if time - $begun >= $seconds;
    }
    my $races = races("$folder/races");
    print(slurp($out));
    print(STDERR end_of(slurp($err))) if $status || slurp($out) =~ /^not ok (?!.*# TODO)/m;
    print(STDERR $races);
    return 66 if $races && !$status;
    return $status & 127 ? 128 + ($status & 127) : $status >> 8;
}

1;
