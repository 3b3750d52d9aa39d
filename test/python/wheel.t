#!/usr/bin/perl
# The wheel of `make wheel`: its tag, what it has, that two builds are equal; and installed into a fresh environment,
# where no file of the sources or of the build is in reach, the package's tests, the command and `openssl enc` before a
# libcuda.so.1 made of the emulator.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../support";
use JSON::PP qw(decode_json);
use Programs qw(:DEFAULT good);
use Python;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the library') if $ENV{GPUAES_TEST_SANITIZER};
plan(skip_all => 'that is for the emulator') if !emulated();
my $why = python_lacks(qw(auditwheel build ensurepip pytest>=8 setuptools>=77 wheel));
plan(skip_all => $why) if $why;
plan(skip_all => 'groff is not installed') if system('groff --version >/dev/null 2>&1');

# Those of the package's tests, without GPUAES_LIBRARY and the sources.
my %python = python_environment();
delete @ENV{qw(OPENSSL_MODULES GPUAES_LIBRARY PYTHONPATH)};
$ENV{PATH} = $python{PATH} if $python{PATH};
$ENV{PYTHONDONTWRITEBYTECODE} = 1;
my $packages = "$folder/packages";
system('cp', '-rL', "$build/python-packages", $packages) if -d "$build/python-packages";

# ---- The file ------------------------------------------------------------------------

sub wheel
{
    my ($mask, $to) = @_;
    umask($mask);
    good(run(['make', '-C', $build, 'wheel', "WHEEL_FOLDER=$to"]), "make wheel, umask $mask");
    my ($file) = glob("$to/*.whl");
    return $file;
}

my ($version) = slurp("$source/configure.ac") =~ /^AC_INIT\(\[gpuaes\], \[(.*?)\]\)/m;
my ($wheel, $again) = (wheel(0077, "$folder/first"), wheel(0022, "$folder/a_second_folder"));
ok(slurp($wheel) eq slurp($again), 'two builds are equal');
like($wheel, qr{/gpuaes-\Q$version\E-py3-none-manylinux_2_\d+_\w+\.whl$}, 'its name has version and tag');
my ($tag, $least) = $wheel =~ /-(manylinux_2_(\d+)_\w+)\.whl$/;
my ($glibc) = run(['getconf', 'GNU_LIBC_VERSION'])->{out} =~ /2\.(\d+)/;
cmp_ok($least, '<=', $glibc < 38 ? 34 : $glibc, 'for glibc 2.34, where the compiler has no newer functions');
cmp_ok(-s $wheel, '<', 30e6, 'its size');

# libcrypto is that of the program that loads the provider, so it is not in the wheel.
my $audit = run(['python3', '-m', 'auditwheel', 'show', '--json', '--disable-isa-ext-check', $wheel], env => {PYTHONPATH => $packages});
my $found = $audit->{status} ? {} : decode_json($audit->{out});
is($found->{sym_tag}, $tag, "auditwheel finds the same glibc") or diag($audit->{err});
my $libraries = $found->{external_libs} // {};
my %its = map { $_ => 1 } run(['readelf', '-dW', $libraries->{'libcrypto.so.3'} // ''])->{out} =~ /\(NEEDED\).*\[(.*)\]/g;
is(join(' ', grep { !$its{$_} } keys(%$libraries)), 'libcrypto.so.3', 'and nothing of the system besides but libcrypto, and what that needs');

# ---- Installed -------------------------------------------------------------------------

# With NumPy, if it is there.
my $venv = "$folder/venv";
good(run(['python3', '-m', 'venv', '--system-site-packages', $venv]), 'a fresh environment');
my $python = "$venv/bin/python3";
good(run([$python, '-m', 'pip', 'install', '-q', '--no-index', '--disable-pip-version-check', $wheel]), 'pip installs the wheel');
my ($package) = glob("$venv/lib/python3*/site-packages/gpuaes");
my ($about) = glob("$venv/lib/python3*/site-packages/gpuaes-$version.dist-info");
my @needed = map { run(['readelf', '-dW', $_])->{out} =~ /\(NEEDED\).*\[(.*)\]/g } glob("$package/native/*");
is(join(' ', grep { $its{$_} && !/^libc\.so/ } @needed), '', 'no file needs a library by itself that libcrypto needs') or diag("@needed");
my $metadata = slurp("$about/METADATA");
like($metadata, qr/^$_$/m, "the metadata has $_") foreach 'License-Expression: Apache-2\.0', 'License-File: LICENSE', 'Provides-Extra: torch', 'Provides-Extra: parquet';
is(slurp("$about/licenses/LICENSE"), slurp("$source/LICENSE"), 'and the licence');
my $bill = decode_json(slurp("$about/sboms/gpuaes.cdx.json"));
my %digests = map { $_->{name} => $_->{hashes}[0]{content} } grep { $_->{hashes} } @{$bill->{components}};
is_deeply(\%digests, {map { $_ => sha256_hex(slurp("$package/native/$_")) } 'gpuaes', 'gpuaes.so', 'libgpuaes.so.1'},
    'the bill of materials has what was compiled');

# in_reach(ENVIRONMENT, COMMAND...): as on a machine with a GPU that has nothing of this build. LD_LIBRARY_PATH has another
# libgpuaes, which is none.
my $machine = "$folder/machine";
system('mkdir', '-p', map { "$machine/$_" } qw(cuda provider/.libs test/emulated test/faulty));
system('cp', "$build/test/emulated/.libs/gpuaes.so", "$machine/test/emulated/gpuaes.so");
system('cp', "$build/test/faulty/libcuda.so.1", "$machine/test/faulty");
spew("$machine/$_", '') foreach 'cuda/kernels.fatbin', 'provider/.libs/gpuaes.so', 'test/faulty/libgpuaes.so.1';
system('cp', '-r', "$source/test/python", "$source/test/support", $machine);
sub in_reach
{
    my ($environment, @command) = @_;
    my $hidden = join('', map { "mount -t tmpfs none '$_' || exit 77\n" } grep { -e } $build, $source);
    return run(["$source/test/with_emulated_driver", $machine, 'sh', '-c',
            "cd /\nunset OPENSSL_MODULES\n${hidden}exec \"\$@\"", 'sh', @command],
        env => {PATH => "$venv/bin:$ENV{PATH}", OPENSSL_CONF => '/dev/null', %$environment}, seconds => 1800);
}

my $hidden = in_reach({}, 'ls', $build);
SKIP: {
    skip($hidden->{err} =~ s/\n.*//sr || 'no mount namespace here', 17) if $hidden->{status} == 77 << 8;
    is($hidden->{out}, '', 'no file of the build is in reach');
    is(in_reach({}, 'python3', '-c', 'from gpuaes import _library; print(_library.lib._name)')->{out},
        "$package/native/libgpuaes.so.1\n", 'the library is that of the wheel');
    like(in_reach({GPUAES_LIBRARY => '/nowhere.so'}, 'python3', '-c', 'import gpuaes')->{err},
        qr/^ImportError: .*'\/nowhere\.so', which GPUAES_LIBRARY names/m, 'GPUAES_LIBRARY wins');
    my $help = in_reach({}, 'python3', '-m', 'gpuaes', '--help')->{out};
    like($help, qr/python -m gpuaes COMMAND\.\.\..*^GPUAES\(1\).*^SYNOPSIS$/ms, '--help shows the manual');
    like(in_reach({}, 'python3', '-m', 'gpuaes', '--help', 'provider-gpuaes')->{out}, qr/^PROVIDER-GPUAES\(7\)/m, 'and other pages');
    my $zeros = spew("$folder/zeros", "\0" x 1_000_000);  # more than a pipe holds
    foreach my $command ('gpuaes', 'python3 -m gpuaes') {
        my $broken = in_reach({}, 'bash', '-c', "set -o pipefail; $command base64 '$zeros' | head -c4");
        is("$broken->{out}$broken->{err} " . ($broken->{status} >> 8), 'AAAA 141', "SIGPIPE ends $command, without a message");
    }

    like(in_reach({OPENSSL_CONF => "$folder/none.cnf"}, 'gpuaes', 'doctor')->{out},
        qr/set OPENSSL_CONF to what "python3 -m gpuaes provider --config" prints/, 'doctor says how to configure OpenSSL');
    system('mkdir', '-p', "$venv/etc/gpuaes.cnf");
    my $refused = in_reach({}, 'python3', '-m', 'gpuaes', 'provider', '--config');
    like($refused->{err}, qr/^python -m gpuaes: the configuration cannot be written: .*'\Q$venv\E\/etc\/gpuaes\.cnf'$/m,
        'a configuration that cannot be written is an error, which names it');
    is(run(['ls', '-A', "$venv/etc"])->{out}, "gpuaes.cnf\n", 'and nothing else is left there');
    rmdir("$venv/etc/gpuaes.cnf");
    my $configured = in_reach({}, 'python3', '-m', 'gpuaes', 'provider', '--config');
    is("$configured->{out}$configured->{err}", "$venv/etc/gpuaes.cnf\n", 'its configuration lies in the environment');
    my %configured = (OPENSSL_CONF => "$venv/etc/gpuaes.cnf");
    like(in_reach(\%configured, 'openssl', 'list', '-providers')->{out}, qr/^  gpuaes$/m, 'openssl loads the provider');

  SKIP: {
        skip('this build has no kernels', 5) if !-e "$build/cuda/kernels.fatbin";
        my $doctor = in_reach(\%configured, 'gpuaes', 'doctor')->{out};
        like($doctor, qr/^GPU 0 can be used: .*^Self-test passed/ms, 'doctor tries the GPU') or diag($doctor);
        like($doctor, qr{^Programs that read \Q$venv\E/etc/gpuaes\.cnf use gpuaes\.$}m, 'and finds the configuration');
        my $text = spew("$folder/text", pack('N*', map { $_ * 2654435761 % 4294967296 } 1 .. 50_000));
        my @enc = ('openssl', 'enc', '-aes-256-ctr', '-K', '42' x 32, '-iv', '17' x 16, '-in', $text);
        my $sealed = in_reach({%configured, GPUAES_POLICY => 'gpu', GPUAES_MIN_BYTES => 0, GPUAES_LOG => 'summary'}, @enc);
        ok($sealed->{out} eq run(\@enc, env => {OPENSSL_CONF => '/dev/null'})->{out}, 'openssl enc encrypts');
        cmp_ok(figure($sealed, 'gpu-bytes') // 0, '>', 0, 'on the GPU') or diag($sealed->{err});
        my $tests = in_reach({PYTHONPATH => $packages, GPUAES_TEST_SEED => $ENV{GPUAES_TEST_SEED} // ''}, 'python3', '-m', 'pytest', '-q',
            '-p', 'no:cacheprovider', "--basetemp=$folder/pytest", map { "$machine/python/test_$_.py" } qw(aead batch ciphers device_arrays memory random));
        good($tests, 'the tests of the package pass');
        diag((split(/\n/, $tests->{out}))[-1]);
    }
}
done_testing();
