#!/usr/bin/perl
# `gpuaes base64` compared with coreutils' base64: the same bytes, exit codes and messages, with
# options that are right and wrong, and text that is valid and is not.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => "coreutils' base64 is not installed")
    if run(['base64', '--version'])->{out} !~ /coreutils/;

my $ours = with_gpuaes();
my ($in, $text) = map { "$folder/$_" } qw(in text);
my $random = join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 60000);

# Both, as programs of the same name. What libtool leaves in the build folder may be a script that
# starts the program by its own name.
my ($place, $program) = $gpuaes_command =~ m{^(.*)/([^/]+)$};
my $behind = "$place/.libs/$program";
symlink(-x $behind ? $behind : $gpuaes_command, "$folder/base64") or die "link: $!";
$ours->{LD_LIBRARY_PATH} = libraries("$build/cuda/.libs") if -x $behind;
sub gpuaes { my ($arguments, @how) = @_; return run(["$folder/base64", @$arguments], env => $ours, @how) }
sub coreutils { my ($arguments, @how) = @_; return run(['base64', @$arguments], env => {LC_ALL => 'C'}, @how) }
# Less what a sanitizer says of itself.
sub messages { my ($result) = @_; return $result->{err} =~ s/^==\d+==WARNING: ASan doesn't.*\n//gmr }

sub same
{
    my ($name, $arguments, @how) = @_;
    my ($mine, $theirs) = (gpuaes($arguments, @how), coreutils($arguments, @how));
    is($mine->{status}, $theirs->{status}, "$name: the same status");
    ok($mine->{out} eq $theirs->{out}, "$name: the same output");
    is(messages($mine), messages($theirs), "$name: the same messages");
    return $mine;
}

# ---- Encoding and decoding -----------------------------------------------------------------

spew($in, $random);
foreach my $wrap (undef, 0, 76, 64, 77, 1, 3, 4, 1000, '9' x 30) {
    my @wrap = defined($wrap) ? ('-w', $wrap) : ();
    my $name = defined($wrap) ? "-w $wrap" : 'lines of 76';
    my $result = same("$name, one piece", [@wrap, $in]);
    spew($text, $result->{out});
    my $cut = gpuaes([@wrap, '--buffer-size=912', $in]);
    ok($cut->{out} eq $result->{out}, "$name: the same in many pieces");
    my $back = gpuaes(['-d', '--buffer-size=1000', $text]);
    ok($back->{out} eq $random, "$name: decoded in many pieces") or diag($back->{err});
}
foreach my $bytes (0 .. 5, 56 .. 58, 910 .. 914, 1823 .. 1826) {
    my $plain = substr($random, 5, $bytes);
    spew($in, $plain);
    foreach my $wrap (0, 76, 5) {
        my $mine = gpuaes(['-w', $wrap, '--buffer-size=912', $in]);
        ok($mine->{out} eq coreutils(['-w', $wrap, $in])->{out}, "$bytes bytes, -w $wrap");
        spew($text, $mine->{out});
        ok(gpuaes(['-d', '--buffer-size=64', $text])->{out} eq $plain, "$bytes bytes, -w $wrap, decoded");
    }
}
{
    my $plain = substr($random x 20, 0, 4_500_001);
    spew($in, $plain);
    my $result = run(['/bin/sh', '-c', '"$0" base64 <"$1" | "$0" base64 -d', $gpuaes_command, $in], env => $ours);
    ok($result->{out} eq $plain, 'from pipe to pipe and back, larger than the buffers');
}

# ---- Text that is not what it should be ------------------------------------------------------

# From 9.5 on, coreutils takes texts without padding, and no bits in it that mean nothing. We do
# what that does; the one that is installed may be older.
my $newer = run(['/bin/sh', '-c', 'printf QQ | base64 -d'])->{status} == 0;
diag('the coreutils here are ', $newer ? '9.5 or newer' : 'older than 9.5');

# What comes out, and whether it is right, by the rules of the newer ones or of the older ones.
sub decoded
{
    my ($some, $ignores_garbage, $by_newer) = @_;
    $ignores_garbage ? $some =~ tr{A-Za-z0-9+/=}{}cd : $some =~ tr/\n//d;
    my $bytes = '';
    foreach my $group (unpack('(a4)*', $some)) {
        my ($digits) = $group =~ m{^([A-Za-z0-9+/]*)};
        my $count = length($digits);
        my $bits = join('', map { sprintf('%06b', index(join('', 'A' .. 'Z', 'a' .. 'z', 0 .. 9, '+/'), $_)) } split(//, $digits));
        $bytes .= pack('B*', substr($bits, 0, int(length($bits) / 8) * 8));
        next if $count == 4;
        return ($bytes, 0)
            if $count < 2
            || $group !~ /^.{$count}=*\z/s
            || (length($group) != 4 && !($by_newer && $group eq $digits))
            || ($by_newer && substr($bits, int(length($bits) / 8) * 8) =~ /1/);
    }
    return ($bytes, 1);
}

# Where one of them does not do what it should: which one. Else "".
sub differs
{
    my ($some, @options) = @_;
    spew($text, $some);
    foreach my $program ([\&gpuaes, 1, '--buffer-size=1000'], [\&coreutils, $newer]) {
        my ($runs, $by_newer, @more) = @$program;
        my $result = $runs->(['-d', @options, @more, $text]);
        my ($bytes, $right) = decoded($some, scalar(@options), $by_newer);
        return @more ? 'ours' : "coreutils'"
            if $result->{status} >> 8 != !$right
            || $result->{out} ne $bytes
            || messages($result) ne ($right ? '' : "base64: invalid input\n");
    }
    return '';
}

foreach my $some ('', "\n", '=', '==', '====', 'Q', 'QQ', "QQ\n", 'QQ=', 'QU=', 'QQ==', 'QUI', 'QUI=', 'QUJD', 'QQ==QQ==', "QQ==\n\nQQ==\n",
    'QR', 'QR==', 'QUJ', 'QUJ=', 'Q*==', 'QQ*', 'QQ*=', 'QQ=*', 'Q===', '=QQQ', 'QQQ=QQQQ', 'QQ=QQQ', "Q\nU\nJ\nD", "QU\r\nJD", 'QU JD',
    "QUJD\0", 'QUJ-', 'QUJDQ', 'QUJDQQ', 'QUJDQQQ', 'QUJDQUI', 'QUJDRA==Q', "\xffQUJD", 'QUJDRA==*', 'QUJDRA==QUJ*')
{
    (my $name = $some) =~ s/([^!-~])/sprintf('\\x%02x', ord($1))/ge;
    is(differs($some), '', "-d \"$name\"");
    is(differs($some, '-i'), '', "-d -i \"$name\"");
}

# Messages may go to the file that the output goes to, as other programs' output does.
spew($text, 'Zm9v!mFy');
my @shared = map {
    run(['/bin/sh', '-c', '(echo before; "$0" -d "$1"; echo behind) >"$2" 2>&1', $_, $text, "$folder/shared"], env => {%$ours, LC_ALL => 'C'});
    messages({err => slurp("$folder/shared")})
} "$folder/base64", 'base64';
is($shared[0], $shared[1], 'output and message in one file: the message is behind the output');

# A text that is damaged somewhere, many times over: what is in front of the damage comes out.
my $seed = $ENV{GPUAES_TEST_SEED} // time();
diag("GPUAES_TEST_SEED=$seed");
srand($seed);
spew($in, substr($random, 0, 9000));
my $valid = coreutils([$in])->{out};
my @differences;
for my $case (1 .. $ENV{GPUAES_TEST_CASES} // 60) {
    my $damaged = $valid;
    for (0 .. int(rand(3))) {
        my $what = (chr(int(rand(256))), '=', "\n", '', 'A')[int(rand(5))];
        substr($damaged, int(rand(length($damaged))), int(rand(3))) = $what;
    }
    foreach my $options ([], ['-i']) {
        my $who = differs($damaged, @$options);
        push(@differences, "case $case with @$options: $who") if $who ne '';
    }
}
is("@differences", '', 'damaged texts: the right output, status and messages');

# ---- Options and files ------------------------------------------------------------------------

same('a wrong width', ['-w', 'x', $in]);
same('a width below zero', ['-w', '-1', $in]);
same('a width with a unit', ['-w', '1k', $in]);
same('two files', [$in, $text]);
same('an unknown option', ['--unknown', $in]);
same('an absent file', ["$folder/absent"]);
same('a folder', [$folder]);
same('a dash', ['-'], in => $in);
spew($text, $valid);    # the last one may be one of which old and new coreutils differ
same('long options', ['--decode', '--ignore-garbage', $text]);
my @full = map { $_->([$in], out => '/dev/full') } \&gpuaes, \&coreutils;
is($full[0]{status}, $full[1]{status}, 'an output that is full: the same status');
is(messages($full[0]), "base64: write error: No space left on device\n", 'and what coreutils says first');
like(gpuaes(['--help'])->{out}, qr/^Usage: base64 \[OPTION\].*--wrap=COLS/s, '--help');
like(gpuaes(['--version'])->{out}, qr/^base64 \(gpuaes\) \d/, '--version');
my $named = run([$gpuaes_command, 'base64', '-w', 'x', $in], env => $ours);
is(messages($named), "gpuaes base64: invalid wrap size: 'x'\n", 'under its own name it says that');

done_testing();
