#!/usr/bin/perl
# `gpuaes enc` and `gpuaes dec` compared with openssl enc, in both directions: every mode, sizes
# around the buffers, passwords from everywhere, Base64; and what is said of wrong options.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT gpuaes refused);
use Test::More;

my $stock = without_gpuaes();
my $ours = with_gpuaes();
my $key = join('', map { sprintf('%02x', $_ * 11 & 255) } 1 .. 32);
my $iv = 'ff' x 15 . 'f0';    # a counter that wraps at 128 bits
my ($in, $out, $back) = map { "$folder/$_" } qw(in out back);
my $random = join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 60000);

sub openssl { my ($arguments, @how) = @_; return run(['openssl', @$arguments], env => $stock, @how) }
sub good
{
    my ($result, $name) = @_;
    return is($result->{status}, 0, $name) || diag($result->{err}) && 0;
}

# Ours reads theirs, and theirs ours: the same options to both.
sub both_ways
{
    my ($name, $plain, @options) = @_;
    spew($in, $plain);
    good(gpuaes(['enc', @options, '-in', $in, '-out', $out]), "$name: encrypts");
    my $theirs = openssl(['enc', '-d', grep({ !/^-?-bufsize|^912$/ } @options), '-in', $out, '-out', $back]);
    ok(!$theirs->{status} && slurp($back) eq $plain, "$name: OpenSSL reads it") or diag($theirs->{err});
    openssl(['enc', grep({ !/^-?-bufsize|^912$/ } @options), '-in', $in, '-out', $out]);
    good(gpuaes(['dec', @options, '-in', $out, '-out', $back]), "$name: decrypts what OpenSSL wrote");
    ok(slurp($back) eq $plain, "$name: the plain text again");
    return;
}

# ---- Modes -----------------------------------------------------------------------------

foreach my $bits (128, 192, 256) {
    foreach my $mode (qw(ecb cbc ctr)) {
        my @options = ("-aes-$bits-$mode", '-K', substr($key, 0, $bits / 4), $mode eq 'ecb' ? () : ('-iv', $iv));
        spew($in, $random);
        my $result = gpuaes(['enc', @options, '-in', $in, '-out', $out]);
        openssl(['enc', @options, '-in', $in, '-out', $back]);
        ok(!$result->{status} && slurp($out) eq slurp($back), "AES-$bits-$mode: OpenSSL's bytes") or diag($result->{err});
        both_ways("AES-$bits-$mode in many pieces", $random, @options, '-bufsize', 912);
    }
}

both_ways($_, $random, "-$_", '-K', $key, '-iv', $iv)
    foreach qw(aes-256-cfb aes-256-ofb aes-128-cfb8 camellia-256-cbc camellia-128-ctr aes256 des-ede3-cbc);
both_ways($_, $random, "-$_", '-pbkdf2', '-iter', 3, '-k', 'pass', '-bufsize', 912)
    foreach qw(aes-256-cfb chacha20 des-ede3-cbc);

# ---- Sizes -----------------------------------------------------------------------------

foreach my $bytes (0, 1, 15, 16, 17, 47, 48, 49, 895, 896, 897, 911, 912, 913, 1807, 1808, 1824, 1825)
{
    my $plain = substr($random, 7, $bytes);
    foreach my $mode (qw(ctr cbc ecb)) {
        my @options = ("-aes-256-$mode", '-pbkdf2', '-iter', 2, '-k', 'secret', '-bufsize', 912);
        my $name = "$mode, $bytes bytes";
        spew($in, $plain);
        my @results = map { gpuaes(['enc', @options, @$_, '-in', $in, '-out', "$out$#$_"]) } [], ['-a'], ['-a', '-A'];
        my @texts = map { openssl(['enc', '-d', @options[0 .. 5], @$_, '-in', "$out$#$_"])->{out} } [], ['-a'], ['-a', '-A'];
        is(join(' ', map { $_->{status} } @results), '0 0 0', "$name: encrypts");
        ok($texts[0] eq $plain, "$name: OpenSSL reads it");
        ok($texts[1] eq $plain, "$name: OpenSSL reads its Base64");
        # A line of more than 1 KiB or so is more than OpenSSL 3.0 can read.
        ok($bytes > 600 || $texts[2] eq $plain, "$name: OpenSSL reads its Base64 in one line");
        my @again = map { gpuaes(['dec', @options, @$_, '-in', "$out$#$_"])->{out} } [], ['-a'], ['-a', '-A'];
        is(scalar(grep { $_ eq $plain } @again), 3, "$name: so do we, all three");
    }
}

# Sizes around those of the default buffer, once.
foreach my $bytes (2097151, 2097152, 2097153) {
    my $plain = substr($random x 9, 0, $bytes);
    both_ways("CBC, $bytes bytes", $plain, '-aes-128-cbc', '-K', $key, '-iv', $iv);
}

# ---- Base64 that others wrote ------------------------------------------------------------

{
    my $plain = substr($random, 0, 5000);
    my @options = ('-aes-256-cbc', '-k', 'secret', '-a');
    spew($in, $plain);
    my $text = openssl(['enc', @options, '-in', $in])->{out};
    foreach my $case (['carriage returns', sub { s/\n/\r\n/gr }], ['blanks', sub { s/^/  \t/gmr }],
        ['empty lines', sub { s/\n/\n\n/gr }], ['no last line end', sub { s/\n\z//r }],
        ['lines of 76', sub { my $s = s/\n//gr; join("\n", unpack('(a76)*', $s)) . "\n" }])
    {
        my ($name, $change) = @$case;
        local $_ = $text;
        spew($out, $change->());
        ok(gpuaes(['dec', @options, '-bufsize', 912, '-in', $out])->{out} eq $plain, "Base64 with $name");
    }
    foreach my $case (['a wrong character', sub { substr($_, 2000, 1) = '*'; $_ }],
        ['padding in its middle', sub { substr($_, 2015, 1) = '='; $_ }], ['an end too soon', sub { substr($_, 0, 2003) }])
    {
        my ($name, $change) = @$case;
        local $_ = $text;
        spew($out, $change->());
        my $result = gpuaes(['dec', @options, '-bufsize', 912, '-in', $out, '-out', "$folder/none"]);
        refused($result, qr/^gpuaes dec: \Q$out\E: its Base64 is damaged or cut off$/m, "Base64 with $name");
        ok(!-e "$folder/none", 'and leaves no output');
    }
}

# ---- Passwords ------------------------------------------------------------------------------

spew("$folder/password", "a good one\nnot this line\n");
spew("$folder/password.crlf", "a good one\r\n");
my @derived = (['-aes-256-ctr'], ['-aes-128-cbc', '-md', 'md5'], ['-aes-256-cbc', '-pbkdf2'],
    ['-aes-256-ctr', '-iter', 77, '-md', 'sha512'], ['-aes-192-ecb', '-nosalt'],
    ['-aes-256-cbc', '-pbkdf2', '-S', '0102030405060708'], ['-aes-256-ctr', '-salt', '-S', '01020304'],
    ['-aes-256-cbc', '-pbkdf2', '-iv', $iv], ['-aes-256-ctr', '-md=sha512', '--iter=3'], ['-aes-256-cbc', '-pbkdf2', '-K', $key]);
both_ways("@$_", substr($random, 0, 1000), @$_, '-pass', 'pass:a good one') foreach @derived;
both_ways("-nopad", substr($random, 0, 1024), '-aes-256-cbc', '-nopad', '-k', 'x');

foreach my $source (['-k', 'a good one'], ['-pass', 'pass:a good one'], ['-pass', 'env:SECRET'],
    ['-pass', "file:$folder/password"], ['-kfile', "$folder/password"], ['-kfile', "$folder/password.crlf"])
{
    my $result = run([$gpuaes_command, 'enc', '-aes-256-ctr', '-pbkdf2', @$source, '-in', $in, '-out', $out],
        env => {%$ours, SECRET => 'a good one'});
    good($result, "the password by @$source");
    my $theirs = openssl(['enc', '-d', '-aes-256-ctr', '-pbkdf2', '-k', 'a good one', '-in', $out]);
    ok($theirs->{out} eq slurp($in), "@$source is that password");
}
spew("$folder/both", "a good one\n" . slurp($in));
my $piped = gpuaes(['enc', '-aes-256-ctr', '-pbkdf2', '-pass', 'stdin', '-out', $out], in => "$folder/both");
good($piped, 'password and data from standard input');
ok(openssl(['enc', '-d', '-aes-256-ctr', '-pbkdf2', '-k', 'a good one', '-in', $out])->{out} eq slurp($in),
    'the data begins behind the first line');
my $by_descriptor = run(['/bin/sh', '-c', 'exec "$0" enc -aes-256-ctr -pbkdf2 -pass fd:7 -in "$1" -out "$2" 7<"$3"',
        $gpuaes_command, $in, $out, "$folder/password"], env => $ours);
good($by_descriptor, 'the password by -pass fd:7');
ok(openssl(['enc', '-d', '-aes-256-ctr', '-pbkdf2', '-k', 'a good one', '-in', $out])->{out} eq slurp($in),
    'fd:7 is that password');

# How much of a line is the password: openssl enc has one limit for -kfile and another for -pass.
my @derive = ('enc', '-aes-256-ctr', '-nosalt', '-pbkdf2', '-iter', 1);
my $secret = "$folder/secret";
sub characters { my ($count) = @_; return join('', map { chr(33 + $_ * 7 % 90) } 1 .. $count) }

# What openssl enc and gpuaes enc make of a password that is given so: both have the file as
# descriptor 7 and as standard input, which they read on where `\@more` does not say -P.
sub both_derive
{
    my ($text, $given, @more) = @_;
    spew($secret, $text);
    return map {
        my ($command, $env) = @$_;
        run(['/bin/sh', '-c', 'exec "$@" 7<"$0"', $secret, $command, @derive, @$given, @more], env => $env, in => $secret)
    } ['openssl', without_gpuaes()], [$gpuaes_command, $ours];
}

my @lines = map { my $line = characters($_); map { "$line$_" } "\n", "\r\n", '' } 120, 126, 127, 128, 1022, 1023, 1024, 1100;
foreach my $given (['-kfile', $secret], ['-kfile', '-'], ['-pass', "file:$secret"], ['-pass', 'stdin'], ['-pass', 'fd:7']) {
    my @wrong;
    foreach my $text (@lines, "ab\0cd\n", "ab\r\0\n", "a\rb\r\r\n", "ab\n\ncd\n", '') {
        my ($theirs, $result) = both_derive($text, $given, '-P');
        push(@wrong, length($text) . ": $result->{err}")
            if !$theirs->{status} != !$result->{status} || $theirs->{out} ne $result->{out};
    }
    is("@wrong", '', "@$given: OpenSSL's password, however long the line is and however it ends");
}
foreach my $count (10, 1022, 1023, 1100) {
    my ($theirs, $result) = both_derive(characters($count) . "\n$random", ['-pass', 'stdin']);
    ok(!$result->{status} && $theirs->{out} eq $result->{out}, "a password of $count bytes: the data begins where OpenSSL's does");
}
foreach my $count (0, 127, 128, 1023, 1024, 5000) {
    my $word = characters($count);
    foreach my $given (['-k', $word], ['-pass', "pass:$word"], ['-pass', 'env:SECRET']) {
        local $ENV{SECRET} = $word;
        my ($theirs, $result) = both_derive('', $given, '-P');
        ok(!$result->{status} && $theirs->{out} eq $result->{out}, "$given->[0] of $count bytes") or diag($result->{err});
    }
}
foreach my $given (['-k', 'a', '-k', 'b'], ['-k', 'a', '-kfile', $secret], ['-kfile', $secret, '-k', 'a'], ['-pass', 'pass:b', '-k', 'a'],
    ['-k', 'a', '-pass', 'pass:b'], ['-kfile', $secret, '-pass', 'pass:b'], ['-pass', 'pass:b', '-pass', 'pass:c'])
{
    my ($theirs, $result) = both_derive("word\n", $given, '-P');
    ok(!$result->{status} && $theirs->{out} eq $result->{out}, join(' ', map { m{/} ? 'FILE' : $_ } @$given) . ': the password that OpenSSL takes');
}
foreach my $case ([$lines[9], ['-kfile', $secret], qr/warning: the password from \S+ is the first 127 bytes/],
    [$lines[-1], ['-pass', 'fd:7'], qr/warning: the password from descriptor 7 is the first 1023 bytes/],
    ["ab\0cd\n", ['-kfile', $secret], qr/warning: the password from \S+ ends before the first zero byte/],
    ["\0cd\n", ['-kfile', $secret], qr/the password from \S+ begins with a zero byte/])
{
    my ($text, $given, $said) = @$case;
    my (undef, $result) = both_derive($text, $given, '-P');
    like($result->{err}, qr/^gpuaes enc: $said/m, 'what is not part of it is said');
}

SKIP: {
    skip('expect is not installed', 6) if system('expect -v >/dev/null 2>&1');
    my $dialog = sub {
        my ($command, @answers) = @_;
        return spew("$folder/dialog", join("\n", 'set timeout 200', "spawn $command",
                # OpenSSL asks first, and only then has the terminal show nothing.
                'proc hidden {tty} { while {![string match "* -echo *" [exec stty -a <$tty]]} { after 20 } }',
                (map { qq(expect "password:"\nhidden \$spawn_out(slave,name)\nsend "$_\\r") } @answers), 'expect eof',
                'catch wait result', 'exit [lindex $result 3]') . "\n");
    };
    my $enc = "$gpuaes_command enc -aes-256-ctr -pbkdf2 -in $in -out $out";
    my $asked = run(['expect', $dialog->($enc, ('a good one') x 2)], env => $ours);
    is($asked->{status}, 0, 'a password is asked for twice') or diag($asked->{out});
    my $differ = run(['expect', $dialog->($enc, 'one', 'another')], env => $ours);
    is($differ->{status} >> 8, 1, 'two that differ fail');
    like($differ->{out}, qr/^gpuaes enc: the two passwords differ\r?$/m, 'which it says');
    unlike($asked->{out}, qr/a good one/, 'and not shown');
    ok(openssl(['enc', '-d', '-aes-256-ctr', '-pbkdf2', '-k', 'a good one', '-in', $out])->{out} eq slurp($in),
        'it is that password');
    my $dec = "$gpuaes_command dec -aes-256-ctr -pbkdf2 -in $out -out $back";
    run(['expect', $dialog->($dec, 'a good one')], env => $ours);
    ok(slurp($back) eq slurp($in), 'once for decryption');

    # A signal at the prompt: the terminal shows again what is typed. OpenSSL does not wait for a signal between
    # the terminal's change and its read(), so the signal has to come when that has begun.
    foreach my $signal (qw(INT TERM HUP)) {
        unlink($back);
        spew("$folder/dialog", join("\n", 'set timeout 200', "spawn $dec", 'expect "password:"', 'set tty $spawn_out(slave,name)',
                'while {![string match "* -echo *" [exec stty -a <$tty]]} { after 20 }',
                'while {![string match "*) S *" [exec cat /proc/[exp_pid]/stat]]} { after 20 }', "exec kill -$signal [exp_pid]",
                'for {set i 0} {$i < 1000 && [string match "* -echo *" [exec stty -a <$tty]]} {incr i} { after 20 }',
                'puts "ECHO=[string match "* echo *" [exec stty -a <$tty]]"', 'expect eof', 'catch wait') . "\n");
        my $ended = run(['expect', "$folder/dialog"], env => $ours);
        like($ended->{out}, qr/ECHO=1/, "SIG$signal at the prompt: the terminal is as it was");
        ok(!-e $back, 'and there is no output');
    }
}

SKIP: {
    skip('setsid is not installed', 2) if system('setsid true 2>/dev/null');
    my $blind = run(['setsid', '--wait', $gpuaes_command, 'enc', '-aes-256-ctr', '-pbkdf2', '-out', $out], env => $ours,
        in => spew("$folder/both", "a good one\na good one\n" . slurp($in)));
    good($blind, 'without a terminal, the password is the first line of standard input');
    ok(openssl(['enc', '-d', '-aes-256-ctr', '-pbkdf2', '-k', 'a good one', '-in', $out])->{out} eq slurp($in), 'and the data is the rest');
}

foreach my $printing ('-p', '-P') {
    my @options = ('enc', '-aes-256-cbc', '-pbkdf2', '-S', '0011223344556677', '-k', 'x', $printing, '-in', $in, '-out', $out);
    is(gpuaes(\@options)->{out}, openssl(\@options)->{out}, "$printing prints what OpenSSL prints");
}

# ---- Options of newer OpenSSL ------------------------------------------------------------------

# OpenSSL 3.5 made these, with -saltlen N -pbkdf2 -iter 5; it takes 17 for 16.
my %salted = (
    1 => '53616c7465645f5f4d26a9294491305c13807719cc1eb2fdb9fe804049c04108b3147e4f8231debc8e',
    12 => '53616c7465645f5fcbd370c027e2acb372c5a4d511e0c856387ed8e4a81af0147f4ff9299cbfe42e3e914b073846384707431900',
    16 => '53616c7465645f5f953d21fa69927790f8bb6055c5acf389527fd40efbc10b6a9b8edd0b4f136109487f424cda589ec3e5828a5553a3f906',
    17 => '53616c7465645f5fb414a6a7a92eee9f9983a12ffe418e8b8636b1a9d14551cd90a3cb07de4b9c54d1a3b416d8f138e8ffed0e0d9b7dcbea',
);
my @salting = ('-aes-256-cbc', '-pbkdf2', '-iter', 5, '-k', 'secret', '-saltlen');
foreach my $bytes (sort { $a <=> $b } keys %salted) {
    my $theirs = pack('H*', $salted{$bytes});
    spew($out, $theirs);
    is(gpuaes(['dec', @salting, $bytes, '-in', $out])->{out}, 'sixteen bytes or so', "-saltlen $bytes: what OpenSSL 3.5 wrote is read");
    my $used = $bytes < 16 ? $bytes : 16;
    spew($in, 'sixteen bytes or so');
    my $again = gpuaes(['enc', @salting, $bytes, '-S', unpack('H*', substr($theirs, 8, $used)), '-in', $in])->{out};
    is(unpack('H*', $again), unpack('H*', substr($theirs, 8 + $used)), "-saltlen $bytes: with that salt, the same bytes come out");
    foreach my $base64 ([], ['-a'], ['-a', '-A']) {
        my $coded = gpuaes(['enc', @salting, $bytes, @$base64, '-in', $in, '-out', $out]);
        my $decoded = gpuaes(['dec', @salting, $bytes, @$base64, '-in', $out]);
        is($decoded->{out}, 'sixteen bytes or so', "-saltlen $bytes @$base64: there and back") or diag($coded->{err}, $decoded->{err});
    }
}
like(gpuaes(['enc', @salting, 17, '-in', $in])->{err}, qr/^gpuaes enc: warning: -saltlen 17: 16 bytes are used, the most/m, 'more than can be is said');
my $unused = gpuaes(['enc', '-aes-256-cbc', '-k', 'x', '-saltlen', 12, '-in', $in, '-out', $out]);
like($unused->{err}, qr/^gpuaes enc: warning: -saltlen is not used without -pbkdf2/m, 'without PBKDF2 it is not used');
is(openssl(['enc', '-d', '-aes-256-cbc', '-k', 'x', '-in', $out])->{out}, 'sixteen bytes or so', 'as in OpenSSL');
SKIP: {
    skip('this OpenSSL has no -saltlen', 4) if openssl(['enc', '-help'])->{err} !~ /-saltlen/;
    both_ways('-saltlen 11', substr($random, 0, 5000), @salting, 11, '-bufsize', 912);
}

# ---- What is wrong -----------------------------------------------------------------------------

my @wrong = (
    [[], qr/which cipher\? Expected one such as -aes-256-ctr/],
    [['-aes-256-xyz', '-k', 'x'], qr/unknown option -aes-256-xyz \(see gpuaes enc --help\)$/m],
    [['-aes-256-ctr', '-k', 'x', '--unlike-all'], qr/unknown option --unlike-all \(see/],
    [['-aes-256-ctr=5', '-k', 'x'], qr/-aes-256-ctr: it takes no value/],
    [['-aes-256-ctr', '-k', 'x', '-progress=1'], qr/-progress: it takes no value/],
    (map { [["-$_", '-k', 'x'], qr/-$_: the format of openssl enc has no place for a tag, so .*; age, gpg and "openssl cms -encrypt -aes-256-gcm" can\./] }
        qw(aes-256-gcm aes-128-siv aes-128-ccm chacha20-poly1305)),
    (map { [["-$_", '-k', 'x'], qr/-$_: XTS, CTS and key-wrap ciphers are not supported; use for example -aes-256-ctr$/m] }
        qw(aes-256-cbc-cts aes-256-xts aes-256-wrap null)),
    [['-aes-256-ctr', '-aes-256-cbc', '-k', 'x'], qr/-aes-256-cbc: expected one cipher, but -aes-256-ctr is given already/],
    [['-aes-256-ctr', '-md', 'md55', '-k', 'x'], qr/-md md55: expected a digest/],
    [['-aes-256-ctr', '-iter', '0', '-k', 'x'], qr/-iter 0: expected a whole number from 1 to/],
    (map { [['-aes-256-ctr', '-iter', $_, '-k', 'x'], qr/-iter $_: expected a whole number from 1 to 2147483647$/m] } '1x', '600K'),
    (map { [['-aes-256-ctr', '-k', 'x', '-bufsize', $_],
        qr/-bufsize $_: expected a whole number from 0 to 536870912; K, M, G or T behind it are powers of 1024, as in 64K$/m] } '1MB', '1.5M', '1m'),
    [['-aes-256-ctr', '-K', '0g', '-iv', '00'], qr/-K: expected 64 hexadecimal digits, but character 2 is none/],
    [['-aes-256-ctr', '-K', $key], qr/-iv is missing: with -K, expected 32 hexadecimal digits/],
    [['-aes-256-ctr', '-K', $key, '-iv', 'xy'], qr/-iv: expected 32 hexadecimal digits, but character 1/],
    [['-aes-256-ctr', '-S', 'zz', '-k', 'x'], qr/-S: expected 16 hexadecimal digits/],
    [['-aes-256-ctr', '-pass', 'secret'], qr/-pass: expected pass:PASSWORD, env:NAME, file:PATH, fd:NUMBER or stdin/],
    [['-aes-256-ctr', '-pass', 'env:NO_SUCH'], qr/-pass env:NO_SUCH: there is no such variable/],
    [['-aes-256-ctr', '-pass', "file:$folder/absent"], qr/the password from .*absent: No such file/],
    [['-aes-256-ctr', '-pass', 'fd:x'], qr/-pass fd:x: expected the number of an open file/],
    [['-aes-256-ctr', '-pass', 'fd:77'], qr/the password from descriptor 77: Bad file/],
    [['-aes-256-ctr', '-k', 'x', '-threads', '0'], qr/-threads 0: expected a whole number from 1 to 64$/m],
    (map { [['-aes-256-ctr', $_, 'x:y', '-k', 'x'], qr/$_: keys that stay inside their provider are not supported; use -K/] }
        qw(-skeyopt -skeymgmt -skeyuri)),
    [['-aes-256-ctr', '-k', 'x', '-pbkdf2', '-saltlen', 0], qr/-saltlen 0: expected a whole number from 1 to/],
    (map { [['-aes-256-ctr', '-k', 'x', $_, "$folder/absent"], qr/$_: OpenSSL's generator of random numbers seeds itself/] } qw(-rand -writerand)),
    (map { [[$_], qr/$_: "openssl enc -list" prints the names of all ciphers$/m] } qw(-list -ciphers)),
    [['-aes-256-ctr', '-k', 'x', '-a=1'], qr/-a: it takes no value/],
    [['-aes-256-ctr', '-pass=secret'], qr/-pass: expected pass:PASSWORD/],
    [['-aes-256-ctr', '-k', 'x', '-z'], qr/-z: zlib compression is not supported; compress before/],
    [['-aes-256-ctr', '-k', 'x', '-provider', 'legacy'], qr/-provider: the command uses OpenSSL's default provider only/],
    [['-aes-256-ctr', '-k', 'x', '--'], qr/"--": expected an option/],
    [['-aes-256-ctr', '-k', 'x', 'file'], qr/"file": expected an option \(see gpuaes enc --help\)$/m],
    [['-aes-256-ctr', '-k', 'x', '-in', "$folder/absent"], qr/-in .*absent: No such file/],
    [['-aes-256-cbc', '-nopad', '-k', 'x', '-in', "$folder/password"], qr/cannot be encrypted: .*block length/],
    [['-d', '-aes-256-cbc', '-k', 'x', '-in', "$folder/password"], qr/bad magic number/],
    [['-d', '-aes-256-cbc', '-a', '-k', 'x', '-in', '/dev/null'], qr/bad magic number/],
    [['-d', '-aes-256-cbc', '-a', '-k', 'x', '-in', spew("$folder/text", "This is no Base64: *\n")], qr/text: not Base64, which -a expects$/m],
    [['-d', '-aes-256-cbc', '-a', '-k', 'x', '-in', spew("$folder/salted", 'Salted__12345678' . 'x' x 32)], qr/salted: not Base64, which -a expects$/m],
    [['-d', '-aes-256-cbc', '-k', 'x', '-in', spew("$folder/coded", "U2FsdGVkX18xMjM0NTY3OHh4\n")], qr/bad magic number: .* was it encrypted with -a, -S/],
);
foreach my $case (@wrong) {
    my ($options, $said) = @$case;
    my $result = gpuaes(['enc', @$options, '-out', "$folder/none"]);
    refused($result, qr/^gpuaes enc: .*$said/m, "@$options: refused");
    unlike($result->{err}, qr/secret/, 'without what may be a password');
    ok(!-e "$folder/none", 'and leaves no output');
}
like(gpuaes(['enc', '-aes-256-ctr', '-k'])->{err}, qr/^gpuaes enc: -k: its value is missing/, 'a value is missing');
my $short = gpuaes(['enc', '-aes-256-ctr', '-K', '01', '-iv', '02', '-in', $in, '-out', $out]);
like($short->{err}, qr/-K has 2 hexadecimal digits, expected 64: zeros take the place/, 'a short key is filled up, and said');
openssl(['enc', '-aes-256-ctr', '-K', '01', '-iv', '02', '-in', $in, '-out', $back]);
ok(slurp($out) eq slurp($back), 'as OpenSSL fills it up');
my $old = gpuaes(['enc', '-aes-256-ctr', '-k', 'x', '-in', $in, '-out', $out]);
like($old->{err}, qr/warning: deprecated key derivation, weak against password guessing; use -pbkdf2 or -iter$/m, 'the old derivation is named as such');

spew($in, $random);
# The salt is fixed: with a random one, 1 in 256 wrong passwords gives a valid padding, and so no error.
my @salted = ('-aes-256-cbc', '-pbkdf2', '-S', '0123456789abcdef');
openssl(['enc', @salted, '-k', 'right', '-in', $in, '-out', $out]);
my $bad = gpuaes(['dec', @salted, '-k', 'wrong', '-in', $out, '-out', "$folder/none"]);
my $not_that = qr/the data is damaged or cut off, or the password, the key or an option such as -pbkdf2, -iter or -md is not that of the encryption/;
refused($bad, qr/^gpuaes dec: bad decrypt: $not_that$/m, 'a wrong password');
ok(!-e "$folder/none", 'and leaves no output');
truncate($out, 1000) or die "out: $!";
my $cut = gpuaes(['dec', @salted, '-k', 'right', '-in', $out, '-out', "$folder/none"]);
refused($cut, qr/^gpuaes dec: wrong final block length: $not_that$/m, 'data that is cut off');
foreach my $empty (['-k', ''], ['-pass', 'pass:'], ['-pass', 'file:' . spew("$folder/nothing", "\n")]) {
    my $result = gpuaes(['enc', '-aes-256-ctr', '-pbkdf2', @$empty, '-in', $in, '-out', $out]);
    good($result, "@$empty: an empty password");
    like($result->{err}, qr/^gpuaes enc: warning: the password is empty: it protects nothing$/m, 'is warned of');
}

my $verbose = gpuaes(['enc', '-aes-256-ctr', '-v', '-K', $key, '-iv', $iv, '-in', $in, '-out', $out]);
like($verbose->{err}, qr/^bytes read   :\s+240000\nbytes written:\s+240000\nthreads      :\s+1$/m, '-v says how much, and by how many threads');

# Settings that want a GPU, or that the provider would refuse: it is not loaded.
foreach my $env ({GPUAES_POLICY => 'gpu', GPUAES_START => 'eager'}, {GPUAES_THREADS => 'many'}, {OPENSSL_MODULES => '/nowhere'}) {
    foreach my $command (['enc', '-aes-256-ctr', '-K', $key, '-iv', $iv, '-in', $in], ['base64', $in]) {
        my $result = run([$gpuaes_command, @$command], env => {%$ours, %$env});
        my $name = join(' ', $command->[0], %$env);
        good($result, "$name: it works");
        unlike($result->{err}, qr/^gpuaes: /m, "$name: by the CPU alone");
    }
}

# ---- Threads ---------------------------------------------------------------------------------

foreach my $threads (1, 2, 7, 64) {
    my $result = gpuaes(['enc', '-aes-256-ctr', '-K', $key, '-iv', $iv, '-threads', $threads, '-bufsize', 1000,
            '-in', $in, '-out', $back]);
    ok(!$result->{status} && slurp($out) eq slurp($back), "$threads threads: the same bytes");
}

done_testing();
