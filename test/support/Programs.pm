# Runs programs for the tests, with time limits: what came out, and how it ended.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Programs;

use strict;
use warnings;
use Exporter qw(import);
use File::Basename qw(dirname);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use Test::More;

our @EXPORT = qw(run start stop slurp spew stand_in skip_if_configured with_gpuaes without_gpuaes figure libraries
    overlays $source $build $folder $gpuaes_command @namespace);
our @EXPORT_OK = qw(become good total free_port gpuaes other_openssls shell refused wait_for fips_stand_in);

our $source = abs_path($ENV{TOP_SRCDIR} // dirname(__FILE__) . '/../..');
our $build = $ENV{TOP_BUILDDIR} ? abs_path($ENV{TOP_BUILDDIR}) : "$source/build";
# The command gpuaes that goes with the module: on the emulator, or as it is installed.
our $gpuaes_command = $build . (($ENV{OPENSSL_MODULES} // '') =~ m{/test/emulated$} ? '/test/emulated' : '/tool') .
    '/gpuaes';
our $folder = tempdir('gpuaes-test-XXXXXX', TMPDIR => 1, CLEANUP => 1);

# Runs a command in a mount namespace, as root there.
our @namespace = ('unshare', '--mount', $< == 0 ? () : '--map-root-user');

# Lines of a script there: IN becomes a file system of its own, and over each FOLDER, or at
# [FOLDER, WHERE], lies a copy; what changes in the nth is in IN/upperN.
sub overlays
{
    my ($in, @folders) = @_;
    my $number = 0;
    return join('', "mount -t tmpfs tmpfs '$in'\n", map {
        my ($lower, $where) = ref($_) ? @$_ : ($_, $_);
        my ($upper, $work) = map { "$in/$_" . ($number + 1) } 'upper', 'work';
        $number++;
        "mkdir -p '$upper' '$work' '$where'\n"
            . "mount -t overlay -o lowerdir='$lower',upperdir='$upper',workdir='$work' overlay '$where'\n"
    } @folders);
}

# 1 if the default provider stands in for ours: tests the tests.
sub stand_in { return ($ENV{GPUAES_TEST_PROVIDER} // '') eq 'default' }

# For tests that configure another build: automake forbids it where the sources are one.
sub skip_if_configured
{
    plan(skip_all => 'the sources themselves are configured, which forbids another build') if -f "$source/config.status";
    return;
}

# Environments: the sample configuration with every whole block for the device,
# and a stock OpenSSL.
sub with_gpuaes
{
    return {
        OPENSSL_CONF => stand_in() ? '/dev/null' : "$source/docs/gpuaes.cnf",
        GPUAES_MIN_BYTES => 0,
        GPUAES_LOG => 'summary',
        @_
    };
}
sub without_gpuaes { return {OPENSSL_CONF => '/dev/null', @_} }

# LD_LIBRARY_PATH with these folders first: the driver may be found by what is in it.
sub libraries { return join(':', @_, grep { $_ } $ENV{LD_LIBRARY_PATH}) }

# Folders of OpenSSLs that GPUAES_TEST_OPENSSL names, or that `make check-openssl` has built.
sub other_openssls
{
    my @folders = split(/:/, $ENV{GPUAES_TEST_OPENSSL} // join(':', glob("$build/openssl-*")));
    return grep { -e "$_/lib/pkgconfig/libcrypto.pc" } @folders;
}

sub slurp
{
    my ($path) = @_;
    open(my $file, '<:raw', $path) or return '';
    local $/;
    return <$file> // '';
}

sub spew
{
    my ($path, $bytes) = @_;
    open(my $file, '>:raw', $path) or die "$path: $!";
    print $file $bytes;
    close($file);
    return $path;
}

# start(COMMAND, env => {}, in => FILE, out => FILE, err => FILE, seconds => N):
# its process id. The time limit is an alarm that the program inherits.
sub start
{
    my ($command, %how) = @_;
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    my %env = %{$how{env} // {}};
    @ENV{keys %env} = values %env;
    open(STDIN, '<', $how{in} // '/dev/null') or die "$how{in}: $!";
    open(STDOUT, '>', $how{out} // '/dev/null') or die "$how{out}: $!";
    open(STDERR, '>', $how{err} // '/dev/null') or die "$how{err}: $!";
    alarm($how{seconds} // 1200);
    exec(@$command) or exit(127);
}

sub stop
{
    my ($pid) = @_;
    kill('TERM', $pid);
    for (1 .. 20) {
        return if waitpid($pid, 1) == $pid;    # 1: WNOHANG
        select(undef, undef, undef, 0.1);
    }
    kill('KILL', $pid);
    waitpid($pid, 0);
    return;
}

# run(COMMAND, as start): {status, out, err}; `out` is the output, or its file.
sub run
{
    my ($command, %how) = @_;
    my $given = $how{out};
    $how{out} //= "$folder/stdout";
    $how{err} //= "$folder/stderr";
    my $pid = start($command, %how);
    waitpid($pid, 0);
    my $status = $?;
    my $result = {status => $status, out => $given // slurp($how{out}), err => slurp($how{err})};
    return $result;
}

# Becomes that command, in this process. exec() cleans nothing up, so the folder, which is empty, goes first.
sub become
{
    my @command = @_;
    rmdir($folder);
    exec(@command) or die "$command[0]: $!\n";
}

# The command on the emulator or a device; as $0, a shell's lines, with the words as $1...
sub gpuaes { my ($arguments, @how) = @_; return run([$gpuaes_command, @$arguments], env => with_gpuaes(), @how) }
sub shell { my ($lines, @words) = @_; return run(['/bin/sh', '-c', $lines, $gpuaes_command, @words], env => with_gpuaes()) }

# Two assertions: it failed, and stderr says why.
sub refused
{
    my ($result, $said, $name) = @_;
    is($result->{status} >> 8, 1, "$name: fails");
    return like($result->{err}, $said, "$name: it says why");
}

# Waits until a condition is true; 0 if it is not within ten minutes, which only a hang takes.
sub wait_for
{
    my ($condition) = @_;
    for (my $end = time() + 600; time() < $end;) {
        return 1 if $condition->();
        select(undef, undef, undef, 0.05);
    }
    return 0;
}

# One figure of the summary line, e.g. figure($result, 'gpu-bytes'); of the first
# process that printed one.
sub figure
{
    my ($result, $name) = @_;
    return $result->{err} =~ /^gpuaes: summary .*?\b\Q$name\E=(\d+)/m ? $1 : undef;
}

# The sum of a figure over all summary lines of a text.
sub total
{
    my ($text, $name) = @_;
    my $sum = 0;
    $sum += $_ foreach $text =~ /^gpuaes: summary .*?\b\Q$name\E=(\d+)/mg;
    return $sum;
}

# Whether a program ended well; else shows the end of what it said.
# A provider with fips=yes, as a module: its path, or undef where there is no C compiler.
sub fips_stand_in
{
    my $path = "$folder/fips.so";
    my $built = run([$ENV{CC} // 'cc', '-shared', '-fPIC', '-Werror', '-o', $path, "$source/test/install/fips_stand_in.c"]);
    return $built->{status} ? undef : $path;
}

sub good
{
    my ($result, $name) = @_;
    return is($result->{status}, 0, $name) || diag(substr("$result->{out}$result->{err}", -5000)) && 0;
}

# On loopback; undef where no socket can be bound there.
sub free_port
{
    my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => 0);
    return $socket ? $socket->sockport() : undef;
}

1;
