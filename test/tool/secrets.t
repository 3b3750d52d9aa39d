#!/usr/bin/perl
# Passwords and keys that `gpuaes enc` was given are, while it works, neither on its command
# line nor as they were typed anywhere in its memory.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
no warnings qw(portable);    # addresses of 64 bits
use FindBin;
use lib "$FindBin::Bin/../support";
use POSIX qw(mkfifo);
use Programs qw(:DEFAULT wait_for);
use Test::More;

plan(skip_all => 'a sanitizer keeps copies') if $ENV{GPUAES_TEST_SANITIZER};

my $ours = with_gpuaes();
my $word = 'Correct horse battery staple';
my $key = join('', map { sprintf('%02x', $_ * 29 + 7 & 255) } 1 .. 32);
my $fifo = "$folder/fifo";
mkfifo($fifo, 0600) or die "fifo: $!";
spew("$folder/word", "$word\n");
spew("$folder/other", "other\n");

# How often a text stands in the memory of a process, or undef where that cannot be read.
sub count_in_memory
{
    my ($pid, $text) = @_;
    open(my $memory, '<:raw', "/proc/$pid/mem") or return;
    my ($count, $read) = (0, 0);
    foreach my $range (split(/\n/, slurp("/proc/$pid/maps"))) {
        my ($begin, $end, $name) = $range =~ /^(\w+)-(\w+) r\S+ \S+ \S+ \S+ *(.*)/ or next;
        my $bytes = hex($end) - hex($begin);
        next if $name =~ /^\[v/ || $bytes > 1 << 28 || !sysseek($memory, hex($begin), 0);
        next if !sysread($memory, my $data, $bytes);
        $read += length($data);
        $count++ while $data =~ /\Q$text\E/g;
    }
    return $read ? $count : undef;
}

# Its command line as soon as it waits for input; and when it has taken some, how often the text is there.
sub look_for
{
    my ($text, @options) = @_;
    my $out = "$folder/out";
    my $pid = start([$gpuaes_command, 'enc', '-aes-256-ctr', '-bufsize', 4096, @options, '-in', $fifo], env => $ours,
        in => "$folder/word", out => $out);
    open(my $to, '>', $fifo) or die "fifo: $!";
    my $line = slurp("/proc/$pid/cmdline");    # now that it has opened its input
    syswrite($to, 'x' x 60000);
    wait_for(sub { (-s $out // 0) >= 40000 });
    my @found = ($line, count_in_memory($pid, $text), -s $out);
    close($to);
    waitpid($pid, 0);
    return @found;
}

# That what is searched for would be found: a file's name stays.
my (undef, $seen) = look_for("$folder/word", '-pbkdf2', '-kfile', "$folder/word");
plan(skip_all => 'the memory of a process cannot be read here') if !defined($seen);
cmp_ok($seen, '>', 0, 'what stands in memory is found');

foreach my $case (
    [$word, '-pbkdf2', '-k', $word], [$word, '-pbkdf2', '-pass', "pass:$word"], [$word, "-pass=pass:$word"],
    [$word, '-pass', "file:$folder/word"], [$word, '-kfile', "$folder/word"], [$word, '-pass', 'stdin'],
    [$key, '-K', $key, '-iv', '01' x 16], [$key, "--K=$key", '-iv', '01' x 16],
    # Those that are not used, since there is another one.
    [$word, '-k', $word, '-k', 'other'], [$word, "--k=$word", '-kfile', "$folder/other"],
    [$word, '-pass', "pass:$word", '-pass=pass:other'], [$word, '-pass', "pass:$word", '-k', 'other'],
    [$word, '-kfile', "$folder/other", "--pass=pass:$word"], [$word, '-k', $word, '-K', '01' x 32, '-iv', '01' x 16],
    [$word, '-pass', "pass:$word", '-K', '01' x 32, '-iv', '01' x 16],
    [$key, '-K', $key, "-K=@{['01' x 32]}", '-iv', '01' x 16]
    )
{
    my ($text, @options) = @$case;
    my ($line, $count, $written) = look_for($text, @options);
    my $name = join(' ', map { s/\Q$text\E/.../r } @options);
    cmp_ok($written, '>=', 40000, "$name: it works");
    unlike($line, qr/\Q$text\E/, "$name: not on the command line");
    is($count, 0, "$name: not in memory");
}

done_testing();
