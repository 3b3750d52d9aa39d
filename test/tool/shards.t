#!/usr/bin/perl
# Parts of a stream, put together, are the whole: by hand, under GNU parallel, and as an
# array of jobs of Slurm, as docs/shards.md has it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT gpuaes refused);
use Test::More;

my $ours = with_gpuaes(GPUAES => $gpuaes_command, SHARD => "$source/docs/examples/shard");
my $in = "$folder/in";
my $random = join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 25000);
my $seed = $ENV{GPUAES_TEST_SEED} // time();
diag("GPUAES_TEST_SEED=$seed");
srand($seed);

# Some places to cut, multiples of `unit`.
sub cuts
{
    my ($bytes, $unit) = @_;
    my %at = map { (int(rand($bytes)) - int(rand($bytes)) % 1) => 1 } 1 .. 4;
    return sort { $a <=> $b } keys(%{{map { int($_ / $unit) * $unit => 1 } 0, keys(%at)}});
}

# Does `file` in parts; `pipe`: where the input cannot be sought in.
sub in_parts
{
    my ($file, $bytes, $unit, $pipe, @options) = @_;
    my @at = cuts($bytes, $unit);
    my $whole = '';
    foreach my $i (0 .. $#at) {
        my @part = ('--offset', $at[$i], $i < $#at ? ('--length', $at[$i + 1] - $at[$i]) : ());
        my $result =
            $pipe
            ? run(['/bin/sh', '-c', 'file=$1; shift; cat "$file" | "$0" "$@"', $gpuaes_command, $file, @options, @part],
            env => $ours)
            : gpuaes([@options, @part, '-in', $file]);
        diag("@options @part: $result->{err}") if $result->{status};
        $whole .= $result->{out};
    }
    return ($whole, "@at");
}

# ---- By hand ---------------------------------------------------------------------------------

foreach my $case (
    ['enc', '-aes-256-ctr', 1], ['dec', '-aes-256-ctr', 1], ['enc', '-aes-128-ecb', 16], ['dec', '-aes-128-ecb', 16],
    ['dec', '-aes-256-cbc', 16], ['dec', '-aes-192-cbc', 16]
    )
{
    my ($direction, $cipher, $unit) = @$case;
    foreach my $bytes (100000, 99989) {
        my @key = ('-K', '5c' x 24, $cipher =~ /ecb/ ? () : ('-iv', 'ff' x 14 . 'f00f'));
        my $plain = substr($random, 0, $bytes);
        spew($in, $plain);
        my $coded = run(['openssl', 'enc', $cipher, @key, '-in', $in], env => without_gpuaes())->{out};
        spew($in, $coded) if $direction eq 'dec';
        foreach my $pipe (0, 1) {
            my ($whole, $at) = in_parts($in, length(slurp($in)), $unit, $pipe, $direction, $cipher, @key, '-bufsize', 912);
            ok($whole eq ($direction eq 'enc' ? $coded : $plain),
                "$direction $cipher of $bytes bytes" . ($pipe ? ' from a pipe' : '') . ", cut at $at");
        }
    }
}

# A password's salt: given for encryption, read from the header for decryption.
{
    my @password = ('-aes-256-ctr', '-pbkdf2', '-k', 'secret');
    spew($in, $random);
    my $theirs = run(['openssl', 'enc', @password, '-S', '0102030405060708', '-in', $in], env => without_gpuaes())->{out};
    my ($whole) = in_parts($in, length($random), 1, 0, 'enc', @password, '-S', '0102030405060708');
    ok($whole eq $theirs, 'with -S');
    my $salted = run(['openssl', 'enc', @password, '-in', $in], env => without_gpuaes())->{out};
    spew("$folder/salted", $salted);
    foreach my $pipe (0, 1) {
        my ($back) = in_parts("$folder/salted", length($random), 1, $pipe, 'dec', @password);
        ok($back eq $random, 'with the salt of the header' . ($pipe ? ', from a pipe' : ''));
    }
    spew("$folder/piece", substr($random, 12345, 6789));
    my $piece = gpuaes(['enc', @password, '-S', '0102030405060708', '--piece', '--offset', 12345, '-in', "$folder/piece"]);
    ok($piece->{out} eq substr($theirs, 12345, 6789), '--piece: the input is that part alone');
    spew("$folder/part", substr($random, 5_000, 20_000));
    my $far = gpuaes(['enc', '-aes-256-ctr', '-K', '01', '-iv', '00' x 15 . 'ff', '--piece', '--offset', '1T', '-in', "$folder/part"]);
    my $near = gpuaes(['enc', '-aes-256-ctr', '-K', '01', '-iv', '00' x 11 . '10000000ff', '-in', "$folder/part"]);
    ok($far->{out} eq $near->{out}, 'an offset of 1 TiB is so many blocks further');
}

# At the end, and behind it.
{
    spew($in, substr($random, 0, 32));
    my @ecb = ('-aes-128-ecb', '-K', '01' x 16, '-in', $in);
    is(length(gpuaes(['enc', @ecb, '--offset', 16])->{out}), 32, 'the last part has the padding');
    is(length(gpuaes(['enc', @ecb, '--offset', 0, '--length', 16])->{out}), 16, 'the others have none');
    is(length(gpuaes(['enc', @ecb, '--offset', 32])->{out}), 0, 'a part at the end is empty');
    my $behind = gpuaes(['enc', @ecb, '--offset', 48]);
    refused($behind, qr/--offset 48: the input, ".*", is shorter/, 'one behind the end fails');
}

# ---- What cannot be cut -------------------------------------------------------------------------

foreach my $case (
    [['enc', '-aes-256-cbc', '--offset', 16], qr/--offset: expected -aes-...-ctr, .*encryption with -aes-256-cbc needs all/],
    [['dec', '-aes-256-cfb', '--offset', 16], qr/--offset: .*decryption with -aes-256-cfb needs all that comes before/],
    [['dec', '-aes-256-cbc', '--offset', 17], qr/--offset 17: expected a multiple of 16, the block of -aes-256-cbc/],
    [['enc', '-aes-256-ecb', '--length', 17], qr/--length 17: expected a multiple of 16/],
    [['enc', '-aes-256-ctr', '-a', '--offset', 48], qr/--offset: not together with -a/],
    [['enc', '-aes-256-cbc', '--length', 16], qr/--length: expected -aes-...-ctr, /],
    [['enc', '-aes-256-cbc', '--length', 16, '--offset', 16], qr/--offset and --length: expected -aes-...-ctr, /],
    [['enc', '-aes-256-ctr', '-a', '--length', 48], qr/--length: not together with -a/],
    [['enc', '-aes-256-ecb', '--piece', '--offset', 16], qr/--piece: expected -aes-...-ctr/],
    [['enc', '-aes-256-ctr', '--piece'], qr/--piece: expected --offset as well/],
    [['enc', '-aes-256-cbc', '--piece'], qr/--piece: expected -aes-...-ctr/],
    [['enc', '-aes-256-ctr', '--offset', '1x'], qr/--offset 1x: expected a whole number/],
    )
{
    my ($options, $said) = @$case;
    my $result = gpuaes([@$options, '-K', '01' x 32, '-iv', '02' x 16, '-in', $in]);
    refused($result, qr/^gpuaes ...: $said/m, "@$options: refused");
}
my $salted = gpuaes(['enc', '-aes-256-ctr', '-pbkdf2', '-k', 'x', '--offset', 16, '-in', $in]);
my $why = qr/expected -S, -nosalt, or -K and -iv, since all parts must have the same salt/;
like($salted->{err}, qr/^gpuaes enc: --offset: $why$/m, 'a salt of each part');
$salted = gpuaes(['enc', '-aes-256-ctr', '-pbkdf2', '-k', 'x', '--length', 16, '-in', $in]);
like($salted->{err}, qr/^gpuaes enc: --length: $why$/m, 'which is said of the option that was given');

# ---- The script, GNU parallel, Slurm ---------------------------------------------------------------

my $big = "$folder/big";
my $plain = substr($random x 40, 0, 3_300_001);
spew($big, $plain);
my @options = ('-aes-256-ctr', '-pbkdf2', '-pass', "file:$folder/key", '-S', '0123456789abcdef');
spew("$folder/key", "secret\n");
my $coded = run(['openssl', 'enc', @options, '-in', $big], env => without_gpuaes())->{out};
die 'openssl enc' if length($coded) != length($plain);

sub parts { my ($name, $count) = @_; return join('', map { slurp("$name.$_") } 0 .. $count - 1) }

foreach my $shards (1, 3, 8) {
    my @status = map { run(["$source/docs/examples/shard", $_, $shards, $big, "$folder/hand", 'enc', @options], env => $ours)->{status} }
        0 .. $shards - 1;
    is(join('', @status), '0' x $shards, "$shards parts");
    ok(parts("$folder/hand", $shards) eq $coded, 'are the whole');
}
{
    # The salt in front of it reaches into a part more.
    my $whole = substr($plain, 0, (2 << 20) - 5);
    my @password = ('-aes-256-ctr', '-pbkdf2', '-pass', "file:$folder/key");
    run(['openssl', 'enc', @password, '-in', spew("$folder/whole", $whole), '-out', "$folder/whole.enc"], env => without_gpuaes());
    my @status = map { run(["$source/docs/examples/shard", $_, 3, "$folder/whole.enc", "$folder/back", 'dec', @password], env => $ours)->{status} } 0 .. 2;
    is("@status", '0 0 0', 'a salted file in 3 parts');
    ok(parts("$folder/back", 3) eq $whole, 'is the whole again');
}

SKIP: {
    skip('GNU parallel is not installed', 4) if run(['parallel', '--version'])->{out} !~ /^GNU parallel/;
    my $line = 'seq 0 7 | parallel --will-cite --halt now,fail=1 "$SHARD" {} 8 "$@"';
    my $result = run(['/bin/bash', '-c', $line, 'bash', $big, "$folder/parallel", 'enc', @options], env => {%$ours, HOME => $folder});
    is($result->{status}, 0, 'GNU parallel') or diag($result->{err});
    ok(parts("$folder/parallel", 8) eq $coded, 'makes the whole');
    my $failed = run(['/bin/bash', '-c', $line, 'bash', $big, "$folder/parallel2", 'enc', '-aes-256-cbc', @options[1 .. $#options]],
        env => {%$ours, HOME => $folder});
    isnt($failed->{status}, 0, 'it ends as a part does that fails');
    ok(!-e "$folder/parallel2.1", 'which is not there');
}

foreach my $case ([8, 8, qr/INDEX 8: expected a number from 0 to 7/], [0, 0, qr/SHARDS 0: expected a number from 1 on/],
    ['x', 8, qr/INDEX x: expected a number from 0 to 7/], [-1, 8, qr/INDEX -1: expected/], ['0', '8k', qr/SHARDS 8k: expected/])
{
    my ($index, $shards, $said) = @$case;
    my $result = run(["$source/docs/examples/shard", $index, $shards, $big, "$folder/refused", 'enc', @options], env => $ours);
    is($result->{status} >> 8, 2, "shard $index $shards: refused");
    like($result->{err}, qr/^shard: $said/, 'and it says why');
    is(join(' ', glob("$folder/refused*")), '', 'and makes no file');
}

foreach my $salting (['-saltlen', 16], ['--saltlen=16'], ['-saltlen=16']) {
    my $result = run(["$source/docs/examples/shard", 0, 8, $big, "$folder/refused", 'enc', @options, @$salting], env => $ours);
    is($result->{status} >> 8, 2, "shard with @$salting: refused");
    like($result->{err}, qr/^shard: \Q$salting->[0]\E: the parts of a file can have a salt of 8 bytes only$/, 'and it says why');
}

# What Slurm tells each task of an array.
my $task = sub {
    my ($id, $out) = @_;
    return run(["$source/docs/examples/shards.sbatch", $big, $out, 'enc', @options],
        env => {%$ours, SLURM_ARRAY_TASK_ID => $id, SLURM_ARRAY_TASK_COUNT => 8})->{status};
};
is(join(' ', map { $task->($_, "$folder/slurmed") } 0 .. 7), join(' ', (0) x 8), 'an array of jobs as Slurm starts them');
ok(parts("$folder/slurmed", 8) eq $coded, 'makes the whole');
isnt($task->(0, "$folder/absent/slurmed"), 0, 'it ends as a job does that fails');

done_testing();
