#!/usr/bin/perl
# Each room has a budget of lines. A commit that needs more raises it here, in its own line; one that
# makes a room smaller lowers it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Find;
use FindBin;
use lib "$FindBin::Bin/support";
use Programs;
use Test::More;

skip_if_configured();

# A file counts for the longest of these names that it lies in.
my %budgets = (
    'base' => 200,
    'bench' => 7310,
    'cuda' => 1004,
    'cuda/aes' => 1250,
    'cuda/batch' => 1146,
    'cuda/device' => 1500,
    'cuda/driver' => 725,
    'cuda/kernels' => 6619,
    'cuda/keystream' => 350,
    'cuda/launch' => 1510,
    'cuda/memory' => 675,
    'cuda/process' => 650,
    'cuda/queue' => 275,
    'cuda/random' => 200,
    'cuda/runtime' => 800,
    'cuda/transfer' => 1325,
    'provider' => 250,
    'provider/ciphers' => 1675,
    'provider/ciphers/base64' => 1250,
    'provider/ciphers/blocks' => 1205,
    'provider/ciphers/gcm' => 1588,
    'provider/common' => 1435,
    'provider/keys' => 150,
    'provider/policy' => 1154,
    'python' => 8902,
    'test' => 1175,
    'test/api' => 7526,
    'test/bench' => 600,
    'test/clients' => 1360,
    'test/docs' => 676,
    'test/emulator' => 3775,
    'test/evp' => 8509,
    'test/fault' => 2950,
    'test/fuzz' => 2025,
    'test/gpu' => 875,
    'test/install' => 1750,
    'test/openssl' => 900,
    'test/process' => 3250,
    'test/python' => 8372,
    'test/support' => 6125,
    'test/tool' => 2040,
    'test/unit' => 3991,
    'tool' => 125,
    'tool/commands' => 1259,
    'tool/common' => 1425,
    'tool/keys' => 325,
    'tool/pipeline' => 275,
    'tool/stages' => 1600,
);

# Code, without data: by its extension, or a script that has none.
sub is_code
{
    my ($path) = @_;
    return 1 if $path =~ /\.(?:c|h|cc|cu|cuh|pl|pm|py|t)$/;
    return 0 if $path =~ m{\.[^/]*$} || !-T $path;
    open(my $file, '<', $path) or die "$path: $!\n";
    return (readline($file) // '') =~ /^#!/;
}

sub lines { my ($path) = @_; return scalar(() = slurp($path) =~ /\n/g) }

# The lines of each room in a tree.
sub rooms
{
    my ($tree) = @_;
    my %rooms = map { $_ => 0 } keys(%budgets);
    my %tops = map { m{^([^/]*)} ? ("$tree/$1" => 1) : () } keys(%budgets);
    find({no_chdir => 1, wanted => sub {
        return $File::Find::prune = 1 if -d && m{/(?:build|__pycache__|[^/]*\.egg-info)$};
        return if !-f || !is_code($_);
        my $room = s{^\Q$tree\E/}{}r;
        1 while $room =~ s{/[^/]*$}{} && !exists($rooms{$room});
        $rooms{$room} += lines($_);
    }}, grep { -d } sort(keys(%tops)));
    return %rooms;
}

my %rooms = rooms($source);
foreach my $room (sort keys(%rooms)) {
    cmp_ok($rooms{$room}, '<=', $budgets{$room} // 0, "$room: lines of its budget");
    cmp_ok($rooms{$room}, '>', 0, "$room: there is such a room");
}

# It finds a room that is new, and counts scripts and neither data nor what was built.
mkdir("$folder/$_") foreach 'base', 'tool', 'tool/new', 'tool/__pycache__';
spew("$folder/tool/$_->[0]", $_->[1]) foreach ['main.c', "1\n2\n"], ['new/a.h', "1\n"], ['script', "#!/bin/sh\n"], ['data', "1\n2\n"],
    ['rows.tsv', "1\n"], ['__pycache__/x.py', "1\n"];
my %made = rooms($folder);
is_deeply([map { "$_ $made{$_}" } grep { $made{$_} } sort keys(%made)], ['tool 4'], 'lines are counted for the room above, and those of code alone');

done_testing();
