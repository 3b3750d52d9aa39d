#!/usr/bin/perl
# The module as a file, with its library, and as a guest: what it exports and needs, how it
# is compiled and linked; that it loads on a host with no driver and encrypts right there;
# that a wrong setting is refused with a sentence; and that 20 cycles of loading and
# unloading leave nothing behind.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();

my $real_folder = $ENV{GPUAES_TEST_MODULES_REAL} // "$build/provider/.libs";
my $real = "$real_folder/gpuaes.so";
my $library = "$build/cuda/.libs/libgpuaes.so";
my $key = '00112233445566778899aabbccddeeff' x 2;
my $plain = spew("$folder/plain", 'sixteen bytes...' x 30000 . 'tail');

# ---- The files ---------------------------------------------------------------

# What is exported, in the order of the alphabet; a version with its definition alone is no symbol.
sub exported
{
    my ($file) = @_;
    my $symbols = run(['nm', '-D', '--defined-only', $file])->{out};
    return join(' ', sort map { (split(' ', $_))[-1] } grep { / [A-Z] / && !/ A / } split(/\n/, $symbols));
}

# What the header declares for everybody.
sub declared
{
    my %names = map { ("$_\@\@GPUAES_1") => 1 } slurp("$source/cuda/gpuaes.h") =~ /^GPUAES_API\s[^;]*?(gpuaes_\w+)\(/mg;
    return join(' ', sort keys %names);
}

# How an object is linked and compiled, so that a mistake in it is worth little.
sub hardened
{
    my ($name, $file, $entry) = @_;
    my $dynamic = run(['readelf', '-dW', $file])->{out};
    like($dynamic, qr/FLAGS\).*BIND_NOW/, "$name: is bound at load");
    like($dynamic, qr/FLAGS_1.*\bNODELETE\b/, "$name: stays mapped when it is unloaded");
    unlike($dynamic, qr/TEXTREL/, "$name: has no relocations in its text");

    my $segments = run(['readelf', '-lW', $file])->{out};
    like($segments, qr/GNU_RELRO/, "$name: its relocations are read-only once done");
    like($segments, qr/GNU_STACK\s+(?:\S+\s+){5}RW\s/, "$name: asks for no executable stack");
    unlike($segments, qr/LOAD\s+(?:\S+\s+){5}RWE/, "$name: has no memory to write and to run");

    my $needed = run(['nm', '-D', '--undefined-only', $file])->{out};
    like($needed, qr/__stack_chk_fail/, "$name: has stack protectors");
    like($needed, qr/\b__\w+(?<!stack)_chk\b/, "$name: has fortified calls");
    my $flags = run(['grep', '^GPUAES_CFLAGS', "$build/Makefile"])->{out};
SKIP: {
        skip('the compiler has no -fcf-protection', 1) if $flags !~ /-fcf-protection/;
        my $code = run(['objdump', '-d', "--disassemble=$entry", $file])->{out};
        like($code, qr/<$entry>:\n.*\bendbr64\b/, "$name: marks where indirect calls may go");
    }
    return;
}

sub files
{
    is(exported($real), 'OSSL_provider_init', 'the module exports OSSL_provider_init alone');
    is(exported($library), declared(), 'the library exports what its header declares, with a version');
    like(run(['readelf', '-dW', $library])->{out}, qr/\(SONAME\).*\[libgpuaes\.so\.1\]/, 'its soname is libgpuaes.so.1');
    my $dynamic = run(['readelf', '-dW', $real])->{out} . run(['readelf', '-dW', $library])->{out};
    my @needed = $dynamic =~ /\(NEEDED\).*\[(.*?)\]/g;
    ok(!grep({ /stdc\+\+|libcuda|cudart|nvidia/ } @needed), "no C++ and no CUDA: @needed");
    ok(grep({ /^libcrypto\.so\.3/ } @needed), 'libcrypto');
    hardened('module', $real, 'OSSL_provider_init');
    hardened('library', $library, 'gpuaes_aes');
    return;
}

SKIP: {
    skip("there is no $real, or no $library", 22) if !-f $real || !-f $library;
    skip('nm, readelf and objdump (binutils) are needed', 22) if system('nm --version >/dev/null 2>&1');
    files();
}

# ---- No driver ---------------------------------------------------------------

# Encrypts and decrypts by each mode; the bytes are those of OpenSSL alone.
sub right_without_device
{
    my ($name, %env) = @_;
    foreach my $cipher (qw(-aes-256-ctr -aes-256-cbc -aes-256-ecb)) {
        my @arguments = ('openssl', 'enc', $cipher, '-K', $key, '-in', $plain);
        push(@arguments, '-iv', substr($key, 0, 32)) if $cipher ne '-aes-256-ecb';
        my $theirs = run([@arguments], env => without_gpuaes());
        my $ours = run([@arguments], env => with_gpuaes(%env));
        is($ours->{status}, 0, "$name: enc $cipher ends well") or diag($ours->{err});
        ok(length($ours->{out}) && $ours->{out} eq $theirs->{out}, "$name: enc $cipher is right");
        my $device = figure($ours, 'gpu-bytes');
        ok(defined($device) && $device == 0, "$name: enc $cipher on the CPU");
    }
    my $list = run(['openssl', 'list', '-providers'], env => with_gpuaes(%env));
    like($list->{out}, qr/^\s+gpuaes$/m, "$name: it loads");
    return;
}

# Where validated code is asked for, we are not it.
{
    my @enc = ('openssl', 'enc', '-aes-256-ctr', '-K', $key, '-iv', '00', '-in', $plain);
    my $ours = run([@enc], env => with_gpuaes());
    is($ours->{status}, 0, 'without -propquery fips=yes a cipher is found');
    foreach my $query ('fips=yes', 'fips=yes,?provider=gpuaes', 'fips=yes,?gpuaes.on=yes') {
        my $none = run([@enc, '-propquery', $query], env => with_gpuaes());
        isnt($none->{status}, 0, "with -propquery $query it is not ours");
    }
}

right_without_device('no driver, on the emulator', GPUAES_EMULATOR => 'nodriver=1');
right_without_device('no device, on the emulator', GPUAES_EMULATOR => 'devices=0');

SKIP: {
    skip('this host has a driver', 12) if -e '/dev/nvidiactl';
    skip("there is no $real", 12) if !-f $real;
    right_without_device('no driver, the real module', OPENSSL_MODULES => $real_folder);

    my $path = run(['openssl', 'enc', '-aes-256-ctr', '-K', $key, '-iv', substr($key, 0, 32), '-in', $plain],
        env => with_gpuaes(OPENSSL_MODULES => $real_folder, GPUAES_START => 'eager', GPUAES_MIN_BYTES => 'auto'));
    is($path->{status}, 0, 'no driver, the real module, start=eager: enc ends well');
    my $refused = run(['openssl', 'speed', '-seconds', 1, '-bytes', 1048576, '-evp', 'aes-256-ctr'],
        env => with_gpuaes(OPENSSL_MODULES => $real_folder, GPUAES_POLICY => 'gpu', GPUAES_MIN_BYTES => 'auto'));
    like($refused->{err}, qr/no GPU can be used/, 'no driver, policy=gpu: refused, with the reason');
}

# ---- Settings ----------------------------------------------------------------

# One wrong value of each setting, and what the sentence must name besides them.
my @wrong = (
    ['policy', 'fast', 'auto, gpu or cpu'],
    ['policy', '', 'auto, gpu or cpu'],
    ['policy', 'GPU', 'auto, gpu or cpu'],
    ['start', 'now', 'auto, eager or never'],
    ['start-bytes', 'many', 'number'],
    ['start-bytes', '-1', 'number'],
    ['start-bytes', '1P', 'number of bytes; K, M, G or T behind it are powers of 1024'],
    ['start-bytes', '99999999999999999999', 'number'],
    ['start-bytes', '16777216T', 'number'],
    ['start-bytes', '1KK', 'number'],
    ['idle-seconds', '1.5', 'number'],
    ['idle-seconds', '1000000001', 'number from 0 to 1000000000'],
    ['read-ahead-bytes', '1025G', 'number from 0 to 1099511627776'],
    ['min-bytes', 'none', 'auto'],
    ['min-bytes', '12x', 'auto'],
    ['pinned-bytes', '0', 'number'],
    ['pinned-bytes', 'all', 'number'],
    ['timeout-ms', '0', 'number'],
    ['timeout-ms', '1 s', 'number'],
    ['timeout-ms', '3600001', 'number from 1 to 3600000'],
    ['log', 'loud', 'off, summary, progress or debug'],
    ['threads', '0', '"auto" or a number from 1 to 64'],
    ['threads', 'Auto', '"auto" or a number from 1 to 64'],
    ['threads', '4x', 'number'],
    ['threads', '65', 'number'],
    ['devices', '', 'numbers of CUDA devices'],
    ['devices', 'none', 'numbers of CUDA devices'],
    ['devices', '0,', 'numbers of CUDA devices'],
    ['devices', '0,,1', 'numbers of CUDA devices'],
    ['devices', '001', 'numbers of CUDA devices'],
    ['devices', '0 1', 'numbers of CUDA devices'],
    ['devices', '64', 'numbers of CUDA devices'],
    ['devices', '-1', 'numbers of CUDA devices'],
);

# What OpenSSL says with a line in our section, and with variables.
sub with_line
{
    my ($line, %env) = @_;
    my $text = slurp("$source/docs/gpuaes.cnf");
    $text =~ s/^(\[gpuaes\w*\])\n/$1\n$line\n/m or die "the sample has no section for gpuaes";
    return run(['openssl', 'list', '-providers'],
        env => without_gpuaes(OPENSSL_CONF => spew("$folder/settings.cnf", $text), %env));
}

sub loads { my ($result, $what) = @_; return like($result->{out}, qr/^\s+gpuaes$/m, "$what: it loads") || diag($result->{err}) }
sub does_not_load { my ($result, $what) = @_; return unlike($result->{out}, qr/^\s+gpuaes$/m, "$what: it does not load") }

foreach (@wrong) {
    my ($name, $value, $expected) = @$_;
    my %how = ('in the environment' => with_line('', 'GPUAES_' . uc($name =~ tr/-/_/r) => $value));
    $how{'in openssl.cnf'} = with_line("$name = $value") if $value ne '';
    foreach my $how (sort(keys(%how))) {
        my ($sentence) = $how{$how}{err} =~ /^(gpuaes: .*)$/m ? $1 : '';
        ok($sentence =~ /\b\Q$name\E\b/ && $sentence =~ /\Q"$value"\E/ && $sentence =~ /\Q$expected\E/,
            "$name = \"$value\" $how: $sentence") or diag($how{$how}{err});
        does_not_load($how{$how}, "$name = \"$value\" $how");
    }
}

# A line that is no setting, or a section within ours.
my $unknown = 'is unknown (provider-gpuaes(7) lists the settings)';
foreach ((map { ["$_ = 1", $_] } 'polic', 'Policy', 'min_bytes'),
    map { ["$_ = more\n[more]\nkey = 1\n[gpuaes_section]", "$_.key"] } 'sub', 'policy')
{
    my ($line, $name) = @$_;
    my $result = with_line($line);
    is($result->{err}, "gpuaes: setting $name $unknown\n", "$name in openssl.cnf: it is said to be unknown");
    does_not_load($result, "$name in openssl.cnf");
}
foreach my $line ('identity = gpuaes', '1.activate = 1', "# polic = gpu\n") {
    my $result = with_line($line);
    is($result->{err}, '', "OpenSSL's own is no setting: $line");
    loads($result, $line);
}
# Where our section is not what is loaded, as another program's start in the same file, nothing is refused.
{
    with_line('polic = gpu');
    spew("$folder/elsewhere.cnf", slurp("$folder/settings.cnf") =~ s/^openssl_conf = /other_conf = /mr);
    loads(run(['openssl', 'list', '-providers', '-provider', 'gpuaes'], env => without_gpuaes(OPENSSL_CONF => "$folder/elsewhere.cnf")),
        'an unknown line of a section that is not used');
}
# The environment has other programs' variables, too: a name that is unknown is said, once.
{
    my $result = run(['openssl', 'list', '-providers', '-provider', 'gpuaes', '-provider', 'default'],
        env => without_gpuaes(GPUAES_POLIC => 'gpu', GPUAES_KERNEL => 'small', GPUAES_IMAGE => '12', GPUAES_LIBRARY => '/nowhere',
            GPUAES_TEST_ANYTHING => 1, GPUAES_COLOUR => 1, GPUAESX => 1));
    is(join("\n", sort(split(/\n/, $result->{err}))), "gpuaes: GPUAES_COLOUR in the environment $unknown\ngpuaes: GPUAES_POLIC in the environment $unknown",
        'unknown variables are reported, once');
    loads($result, 'unknown variables');
}

# What a value says is shown, but not obeyed: neither lines nor escape sequences.
{
    my $shown = 'x?gpuaes: summary gpu-bytes=1?[2J' . 'y' x 27 . '...';
    my $result = with_line('', GPUAES_POLICY => "x\ngpuaes: summary gpu-bytes=1\e[2J" . 'y' x 1000);
    like($result->{err}, qr/^gpuaes: setting policy has the value "\Q$shown\E", expected auto/,
        'a long value with a line end and an escape is shown as text');
    is(() = $result->{err} =~ /^gpuaes: /mg, 1, 'in one line');
}

loads(with_line($_), $_) foreach 'policy = cpu', 'start = never', 'start-bytes = 64M', 'idle-seconds = 0', 'min-bytes = auto',
    'min-bytes = 1M', 'pinned-bytes = 1T', 'start-bytes = 16777215T', 'start-bytes = 18446744073709551615', 'timeout-ms = 3600000', 'log = off', 'threads = 64', 'threads = auto', 'devices = all',
    'devices = 0', 'devices = 2,0,63';
loads(with_line('policy = wrong', GPUAES_POLICY => 'auto'), 'the environment wins over openssl.cnf');

# ---- Cycles ------------------------------------------------------------------

SKIP: {
    my $program = "$build/test/process/load_unload_test";
    skip('valgrind cannot run a sanitizer build', 1) if $ENV{GPUAES_TEST_SANITIZER};
    skip('valgrind is not installed', 1) if system('valgrind --version >/dev/null 2>&1');
    skip("there is no $program", 1) if !-x $program;

    # Memory that is still reachable is the one device state of the process.
    my $result = run(
        ['valgrind', '--quiet', '--error-exitcode=9', '--leak-check=full', '--errors-for-leak-kinds=definite',
            '--show-leak-kinds=definite', $program],
        env => without_gpuaes());
    is($result->{status}, 0, '20 cycles under valgrind: no error, no leak')
        or diag($result->{out}, $result->{err});
}

done_testing();
