#!/usr/bin/perl
# What prove learns of tests that run_test runs, most of them in the build folder of a sanitizer:
# here of scripts in a folder that looks like one.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

my $home = "$folder/asan";
make_path("$home/test");
spew("$home/Makefile", '');

# The test's program is this script; prove's result.
sub prove
{
    my ($name, $script) = @_;
    chmod(0755, spew("$folder/$name", "#!/bin/sh\n$script\n")) if $script;
    return run(['sh', '-c', 'cd "$0" && exec "$@"', $folder, 'prove', '-v', '--exec', "$source/test/support/run_test", $name],
        env => {TOP_SRCDIR => $source, TOP_BUILDDIR => $folder});
}

my $good = prove('asan/test/good_test', 'echo "ok 1 - $GPUAES_TEST_SANITIZER, $OPENSSL_MODULES, $PWD"; echo 1..1; echo noise >&2');
is($good->{status}, 0, 'a test that passes');
like($good->{out}, qr/^ok 1 - address,undefined, \Q$home\E\/test\/emulated, \Q$home\E$/m, 'in the build of that sanitizer');
unlike($good->{err}, qr/noise/, 'and nothing is said besides');

my $bad = prove('asan/test/bad_test', 'echo "not ok 1 - it"; echo 1..1; echo a reason >&2');
isnt($bad->{status}, 0, 'one that fails');
like($bad->{err}, qr/^a reason$/m, 'and its standard error');
my $found = prove('asan/test/found_test', 'echo "ok 1 - it"; echo 1..1; echo a leak >&2; exit 23');
isnt($found->{status}, 0, 'one whose sanitizer has found something at its end');
like($found->{err}, qr/^a leak$/m, 'and what');
isnt(prove('asan/test/killed_test', 'echo "ok 1 - it"; echo 1..1; kill -ABRT $$')->{status}, 0, 'one that is ended by a signal');
isnt(prove('asan/test/absent_test')->{status}, 0, 'one that was not built');

make_path("$folder/test");
{
    local @ENV{qw(MAKEFLAGS MAKELEVEL)} = ('-j2 --jobserver-auth=3,4', 1);
    like(prove('test/plain_test', 'echo "ok 1 - ${MAKEFLAGS-none}, ${MAKELEVEL-none}"; echo 1..1')->{out}, qr/^ok 1 - none, none$/m,
        'a test that calls make has nothing of the make that runs it');
}
{
    local $ENV{TMPDIR} = "$folder/temporary";
    make_path($ENV{TMPDIR});
    is(prove('test/plain_test')->{status}, 0, 'a test that has a folder for temporary files');
    is_deeply([glob("$ENV{TMPDIR}/*")], [], 'and leaves it empty');
}

# As asan_forks.h says that it had to end a child.
my $stopped = 'echo stopped >$GPUAES_TEST_FORKS; echo "not ok 1 - it"; echo 1..1';
my $once = prove('asan/test/once_test', "if mkdir $folder/once; then $stopped; else echo 'ok 1 - it'; echo 1..1; fi");
is($once->{status}, 0, 'one that AddressSanitizer stopped once');
like($once->{err}, qr/^# not ok 1 - it$/m, 'and what failed in that run');
isnt(prove('asan/test/always_test', "echo >>$folder/turns; $stopped")->{status}, 0, 'one that it stops each time');
is(length(slurp("$folder/turns")), 8, 'is run eight times');

# By a clock that goes on by twenty minutes while the test runs.
spew("$folder/Late.pm", "package Late; *CORE::GLOBAL::time = sub () { CORE::time + (-e '$folder/late' ? 1200 : 0) }; 1;\n");
{
    local $ENV{PERL5OPT} = "-I$folder -MLate";
    isnt(prove('asan/test/late_test', "echo >>$folder/late; $stopped")->{status}, 0, 'one that takes long');
}
is(length(slurp("$folder/late")), 1, 'is run once');

# A race as ThreadSanitizer tells of it: of libcrypto alone, of our caller of it, of others.
make_path("$folder/tsan/test");
spew("$folder/tsan/Makefile", '');
sub races
{
    my ($name, $read, $write, $allocated, $caller) = @_;
    $caller = $caller ? "\n    #2 one_round $caller" : '';
    my $report = spew("$folder/$name.report", <<"END");
==================
WARNING: ThreadSanitizer: data race (pid=97)
  Read of size 8 at 0x721c00008288 by thread T8:
    #0 $read interceptors.inc:844 (libtsan.so.2+0x59758)
    #1 <null> <null> (libcrypto.so.3+0x2648ea)$caller

  Previous write of size 8 at 0x721c00008288 by thread T6 (mutexes: write M0):
    #0 memcpy interceptors.inc:107 (libtsan.so.2+0x82708)
    #1 <null> <null> ($write+0x264726)$caller

  Location is heap block of size 104 at 0x721c00008260 allocated by thread T6:
    #0 malloc interceptors_posix.cpp:665 (libtsan.so.2+0x51656)
    #1 $allocated <null> (libcrypto.so.3+0x274e68)

SUMMARY: ThreadSanitizer: data race (/lib/x86_64-linux-gnu/libcrypto.so.3+0x2648ea)
==================
ThreadSanitizer: reported 1 warnings
END
    return prove("tsan/test/${name}_test", 'echo "ok 1 - it"; echo 1..1; '
            . "cat $report >\${TSAN_OPTIONS##*log_path=}.\$\$");
}
my $inside = races('inside', 'memcmp', 'libcrypto.so.3', 'CRYPTO_malloc');
is("$inside->{status}$inside->{err}", '0', 'a race of libcrypto with itself');
is(races('called', 'memcmp', 'libcrypto.so.3', 'CRYPTO_malloc', '/gpuaes/test/process/stress_test.c:56 (stress_test+0x2b1c)')->{status},
    0, 'one in a call of a test program');
isnt(races('provider', 'memcmp', 'libcrypto.so.3', 'CRYPTO_malloc', '/gpuaes/provider/ciphers/blocks/blocks_cpu.c:56 (gpuaes.so+0x2b1c)')->{status},
    0, 'one in a call of the provider');
my $ours = races('ours', 'memcmp', 'gpuaes.so', 'CRYPTO_malloc');
isnt($ours->{status}, 0, 'one with us');
like($ours->{err}, qr/data race.*gpuaes\.so/s, 'and its report');
isnt(races('copied', 'memcpy', 'libcrypto.so.3', 'CRYPTO_malloc')->{status}, 0, 'one of contexts of libcrypto');
isnt(races('user', 'memcmp', 'libcrypto.so.3', 'main')->{status}, 0, 'one in memory of others');

unlink("$home/Makefile");
like(prove('asan/test/good_test')->{out}, qr/skipped: no build in asan/, 'and where there is no build');

done_testing();
