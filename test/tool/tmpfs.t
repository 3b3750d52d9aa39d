#!/usr/bin/perl
# Outputs on tmpfs, which the command maps and gives huge pages: the bytes, and the size to the
# byte, whatever pieces begin and end where, whoever else sees the file, and when it is full.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use POSIX qw(mkfifo SIGBUS WIFSIGNALED WTERMSIG);
use Programs qw(:DEFAULT wait_for);
use Test::More;

my $place = "/dev/shm/gpuaes-test-$$";
my ($kind) = -w '/dev/shm' ? (run(['stat', '-f', '-c', '%T %a %S', '/dev/shm'])->{out} =~ /^(tmpfs .*)/) : ();
my (undef, $free, $block) = split(' ', $kind // '');
plan(skip_all => 'there is no tmpfs with room at /dev/shm') if !$kind || $free * $block < 128 << 20;
mkdir($place, 0700) or die "$place: $!";
END { system('rm', '-rf', $place) if $place }

my $ours = with_gpuaes();
my $sanitized = $ENV{GPUAES_TEST_SANITIZER};
my ($MIB, $EXTENT) = (1 << 20, 2 << 20);
my @cipher = ('-aes-256-ctr', '-K', '0f' x 32, '-iv', 'f0' x 16);
my $random = join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. $MIB) x 3;    # 12 MiB
my ($in, $out, $expected) = ("$folder/in", "$place/out", "$folder/expected");

# A shell's line of ours, with the command as $0, the input $1 and the output $2.
sub shell { my ($line, $to) = @_; return run(['/bin/sh', '-c', $line, $gpuaes_command, $in, $to // $out], env => $ours) }

# What a line of others prints.
sub expect
{
    my ($line) = @_;
    my $result = run(['/bin/sh', '-c', "$line >\"\$2\"", 'sh', $in, $expected], env => without_gpuaes());
    die "$line: $result->{err}\n" if $result->{status};
    return slurp($expected);
}

sub same
{
    my ($name, $wanted, $path) = @_;
    my $got = slurp($path // $out);
    return ok($got eq $wanted, $name) || diag(length($got) . ' bytes, expected ' . length($wanted));
}

# ---- Pieces that begin and end anywhere -----------------------------------------------------

# Under a sanitizer not each size: the threads that write, and what they share, are the same.
my @sizes = $sanitized ? ($EXTENT / 2 - 1, $EXTENT + 1, 5 * $EXTENT + 12345)
    : ($EXTENT / 2 - 1, $EXTENT / 2, $EXTENT - 1, $EXTENT, $EXTENT + 1, 2 * $EXTENT, 5 * $EXTENT + 12345);
foreach my $bytes (@sizes) {
    spew($in, substr($random, 1, $bytes));
    foreach my $options ('', '-bufsize 1000000', '-bufsize 3000000 --threads 3', '-bufsize 6M') {
        is(shell("exec \"\$0\" enc @cipher $options -in \"\$1\" -out \"\$2\"")->{status}, 0, "$bytes bytes $options");
        same('are right', expect("exec openssl enc @cipher -in \"\$1\""));
    }
    my @salted = ($cipher[0], '-pbkdf2', '-iter', 1, '-S', '01' x 8, '-pass', 'pass:word');
    shell("exec \"\$0\" enc @salted -in \"\$1\" -out \"\$2\"");
    same('and with a key from a password', expect("exec openssl enc @salted -in \"\$1\""));
    my $text = expect('exec base64 "$1"');
    shell('exec "$0" base64 "$1" >"$2"');
    same('as Base64 to standard output', $text);
    shell('"$0" base64 "$1" | "$0" base64 -d >"$2"');
    same('and back', substr($random, 1, $bytes));
}

# ---- A file that others see ------------------------------------------------------------------

my $plain = substr($random, 0, 5 * $EXTENT + 12345);
spew($in, $plain);
my $coded = expect("exec openssl enc @cipher -in \"\$1\"");
shell("(echo before; \"\$0\" enc @cipher -in \"\$1\"; echo behind) >\"\$2\"");
same('lines before and behind', "before\n${coded}behind\n");
spew($out, "x$random");
shell("\"\$0\" enc @cipher -in \"\$1\" 1<>\"\$2\"");
same('the beginning of a longer file', $coded . substr("x$random", length($coded)));
shell('{ head -c 3000000 "$1" | base64 -w 0; printf "*"; head -c 5000000 "$1"; } >"$2"', "$folder/damaged");
shell("exec \"\$0\" base64 -d \"$folder/damaged\" >\"\$2\"");
same('what is before an error', substr($plain, 0, 3000000));

# Others write behind it while it is written: first where it will end in the same huge page.
foreach my $case ([3000000, 3500000], [10000000, 20000000]) {
    my ($bytes, $at) = @$case;
    spew($out, '');
    shell('{ head -c 2500000 "$1"; until [ -s "$2" ]; do sleep 0.01; done; '
        . "printf other | dd of=\"\$2\" bs=1 seek=$at conv=notrunc 2>/dev/null; head -c $bytes \"\$1\" | tail -c +2500001; } | "
        . "\"\$0\" enc @cipher 1<>\"\$2\"");
    same("what others write at $at meanwhile", substr($coded, 0, $bytes) . "\0" x ($at - $bytes) . 'other');
}

# Others make it shorter again and again, now and then between that a page is there and is written.
my $zeros = "$folder/zeros";
spew($zeros, '');
truncate($zeros, 100 * $MIB);
foreach my $round (1 .. ($sanitized ? 1 : 3)) {
    spew($out, '');
    my $result = shell('perl -e \'for (1 .. 60000) { truncate($ARGV[0], 0); select(undef, undef, undef, 0.001) }\' "$2" & '
        . "\"\$0\" enc @cipher -in $zeros 1<>\"\$2\"; status=\$?; kill \$!; exit \$status");
    is($result->{status}, 0, 'a file that becomes shorter while it is written') or diag($result->{err});
}

# ---- A signal --------------------------------------------------------------------------------

# The one that says that a page is gone, from somebody else.
SKIP: {
    skip('a sanitizer makes a report of it', 2) if $sanitized;
    my $fifo = "$folder/fifo";
    mkfifo($fifo, 0600) or die "fifo: $!";
    unlink($out);
    my $pid = start([$gpuaes_command, 'enc', @cipher, '-bufsize', 4096, '-in', $fifo, '-out', $out], env => $ours);
    open(my $to, '>', $fifo) or die "fifo: $!";
    syswrite($to, $random, 60000);
    wait_for(sub { grep { -s } glob("$place/.out.*") });
    kill('BUS', $pid);
    waitpid($pid, 0);
    ok(WIFSIGNALED($?) && WTERMSIG($?) == SIGBUS, 'SIGBUS from others ends the process');
    is(join(' ', glob("$place/.out* $out*")), '', 'and leaves nothing');
}

# ---- A limit on files, in units of 512 bytes ---------------------------------------------------

shell("ulimit -f 30000; exec \"\$0\" enc @cipher -in \"\$1\" -out \"\$2\"");
same('a file that fits under a limit, if not by as much as it would grow', $coded);
my $limited = shell("ulimit -f 10000; exec \"\$0\" enc @cipher -in \"\$1\" >\"\$2\"");
ok($limited->{status} && $limited->{err} =~ /File too large/, 'and one that does not') or diag($limited->{err});

# ---- A file system of its own ----------------------------------------------------------------

SKIP: {
    my $own = "$folder/own";
    mkdir($own);
    skip('no file system can be mounted', 9)
        if $> != 0 || system('mount', '-t', 'tmpfs', '-o', 'size=16m', 'gpuaes-test', $own);
    foreach my $options ('huge=never', 'huge=always') {
    SKIP: {
            skip("a kernel without $options", 3) if system('mount', '-o', "remount,size=16m,$options", $own);
            shell("exec \"\$0\" enc @cipher -in \"\$1\" -out \"\$2\"", "$own/out");
            same("$options: a file that fits", $coded, "$own/out");
            my $full = shell("exec \"\$0\" enc @cipher -in \"\$1\" -out \"\$2\"", "$own/more");
            ok($full->{status} && $full->{err} =~ /No space left on device/, 'and another that does not') or diag($full->{err});
            is(join(' ', map { s{.*/}{}r } glob("$own/* $own/.[!.]*")), 'out', 'of which nothing is left');
            unlink("$own/out");
        }
    }
    # 4 KiB pages, or 64: an extent would be 2 MiB.
    shell("head -c 100000 \"\$1\" | \"\$0\" enc @cipher -out \"\$2\"", "$own/small");
    cmp_ok((stat("$own/small"))[12] * 512, '<', 300000, 'a small file takes no huge page');
    my $odd = "$own/odd";
    shell("head -c 5000001 \"\$1\" | \"\$0\" enc @cipher -out \"\$2\"", $odd);
    cmp_ok((stat($odd))[12] * 512, '<', 5300000, 'a large one keeps no more than it has');
    like(run(['df', '--output=used', '-B1', $own])->{out}, qr/\n\s*5[0-5]\d{5}\s*$/, 'nor does the file system');
    system('umount', $own);
}
done_testing();
