#!/usr/bin/perl
# The figures and the report that are made from runs of the benchmark: the pages on record from the runs
# on record, byte by byte; none, and notes in their place, from one part.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Basename qw(basename);
use FindBin;
use lib "$FindBin::Bin/../support", "$FindBin::Bin/../../bench";
use Programs;
use Results;
use Test::More;

my ($gnuplot) = grep { -x $_ } map { "$_/gnuplot" } split(/:/, $ENV{PATH});

sub report
{
    my ($figures, @files) = @_;
    return run(["$source/bench/report", "--figures=$figures", @files]);
}

# Those of the pages, as bench/local.mk has them; the first is that of one GPU.
my $values = "$source/docs/benchmarks";
my @all = map { glob("$values/$_.tsv") } 'h200', 'h200-*';
my $load = spew("$folder/load.tsv", join("\n", grep { /^(?:#|load\t)/ } split(/\n/, slurp($all[0]))) . "\n");
mkdir("$folder/$_") foreach 'all', 'load';
my %figures = (bulk => ['pinned', 'pageable', 'first-pinned', 'first-pageable'], threads => ['threads'], kernels => ['kernels', 'first-device'],
    speed => ['first-speed'], messages => ['first-messages'], 'gcm-kernels' => ['gcm-kernels'], 'gcm-bulk' => ['gcm-bulk'],
    families => ['families'],
    'latency-api' => ['latency'], base64 => ['base64'], 'base64-kernels' => ['base64-kernels'], devices => ['devices'],
    batch => [map { ("batch-$_-messages", "batch-$_-sizes") } 'parallel', 'serial'],
    files => ['files'], 'read-ahead' => ['read-ahead', 'read-ahead-streams'], streams => ['read-ahead-time', 'streams']);
my $on_record = read_results(@all);
my %machine_of = map { $_->{part} => machine_text($on_record, $_) } reverse(@{$on_record->{rows}});
my @wanted = map { @{$figures{$_}} } grep { $machine_of{$_} } sort keys(%figures);

# ---- Figures -------------------------------------------------------------------

SKIP: {
    skip('gnuplot is not installed', 10) if !$gnuplot;
    my $plot = run(["$source/bench/plot", "$folder/all", @all]);
    is($plot->{status}, 0, 'the figures are drawn') or diag($plot->{err});
    unlike($plot->{err}, qr/line \d+|error/i, 'without a complaint');
    my @missing = grep { slurp("$folder/all/$_.svg") !~ /<svg/ || slurp("$folder/all/$_.png") !~ /^\x89PNG/ } @wanted;
    is("@missing", '', 'each as SVG and PNG: ' . join(', ', @wanted));
    foreach my $drawn ("$folder/all", $values) {
        my @strange = grep { my $machine = $machine_of{$_}; grep { index(slurp("$drawn/$_.svg"), $machine) < 0 } @{$figures{$_}} }
            grep { $machine_of{$_} } sort keys(%figures);
        is("@strange", '', 'they name the machine of their own rows');
        is(!!(slurp("$drawn/read-ahead-streams.svg") =~ /bus, from device/), $machine_of{limits} eq $machine_of{'read-ahead'},
            'a limit of another machine is left out');
    }

    # Figures of a run before, of parts that were not measured this time, go.
    spew("$folder/load/$_.svg", '<svg>') foreach 'kernels', 'devices';
    $plot = run(["$source/bench/plot", "$folder/load", $load]);
    is($plot->{status}, 0, 'where nothing is to be drawn, it ends well');
    is(join(' ', glob("$folder/load/*")), '', 'and there are no figures');
    my @row = ('AES-256-CTR', 'encrypt', 'median', 65536, 'pinned', 'out of place', 1, 1, 5, 5, 'GB/s', ('-') x 6);
    $plot = run(["$source/bench/plot", "$folder/load", rows_file(['bulk', @row], ['limits', '-', 'both ways, each', @row[2 .. 7], ('-') x 9])]);
    unlike($plot->{err} . slurp("$folder/load/pinned.svg"), qr/line \d+|>bus, /, 'a limit that was not measured is left out');
}

SKIP: {
    skip('there is no build', 1) if !-f "$build/Makefile";
    my $without = run(['make', '-s', '-C', $build, 'report', 'GNUPLOT=', 'bench_programs=test/nowhere']);
    like($without->{err}, qr/^report needs gnuplot/, 'without gnuplot `make report` says so before it builds anything');
}

# ---- The report -------------------------------------------------------------------

my $documents = join('', map { slurp($_) } map { glob("$source/$_") } '*.md', 'docs/*.md', 'docs/decisions/*.md');
is(join(' ', grep { index($documents, "benchmarks/$_") < 0 } map { basename($_) } glob("$values/*.tsv")), '',
    'all raw values are those of a page, or a document names them');
foreach my $page (['template', 'benchmarks'], ['read-ahead-template', 'read-ahead']) {
    my ($template, $name) = @$page;
    my $again = report("$source/docs/benchmarks", "--template=$source/docs/benchmarks/$template.md", @all);
    is($again->{err}, '', "docs/$name.md is made again, without a complaint");
    is($again->{out}, slurp("$source/docs/$name.md"), 'and is the same');
}
# Those that no page shows any more.
my $references = read_results("$source/docs/benchmarks/references/h200.tsv");
is(join(', ', map { "$_->{operation} $_->{bytes}: $_->{ours}" } rows_like($references, part => 'tables', cipher => 'AES-128-CTR', memory => 'device',
            operation => 'shared, 4 tables', bytes => 1 << 30)), 'shared, 4 tables 1073741824: 286.856', 'figures of kernels of published work can be read');
my $report = report("$folder/all", @all);
unlike($report->{out}, qr/^\@\w/m, 'no block of the template is left over');
unlike($report->{out}, qr/\|\s*0(?:\.0+)?\s*(?:\/|\|)/, 'nothing that was not measured is a zero')
    or diag(grep { /\|\s*0(?:\.0+)?\s*(?:\/|\|)/ } map { "$_\n" } split(/\n/, $report->{out}));
my @crooked = grep {
    my @widths = map { tr/|// } grep { /^\|/ } split(/\n/, $_);
    grep { $_ != $widths[0] } @widths
} split(/\n\n/, $report->{out});
is(scalar(@crooked), 0, 'its tables have straight columns') or diag(@crooked);

my $little = report("$folder/load", $load);
is($little->{status}, 0, 'a report on one part is written') or diag($little->{err});
is($little->{err}, '', 'without a complaint');
like($little->{out}, qr/\*Not in this run: part `$_`/, "it says that it has nothing of: $_")
    foreach 'kernels', 'gcm-kernels', 'gcm-evp', 'gcm-small', 'gcm-bulk', 'batch-gcm', 'messages', 'messages-time', 'random', 'formats', 'bulk', 'devices', 'latency', 'base64', 'read-ahead', 'speed', 'streams', 'memory', 'files';
like($little->{out}, qr/^\| first load, median \| \d/m, 'and has what there is');

my $both = report("$folder/all", $load, $all[0]);
like($both->{out}, qr/load\.tsv.*\/h200\.tsv/s, 'two runs are named');
is(scalar(() = $both->{out} =~ /^\| GPU \|/mg), 1, 'and their machine once');
unlike($both->{out}, qr/Not in this run: part `bulk`/, 'and one has what the other lacks');

# ---- The first page -------------------------------------------------------------

# A file with some rows.
sub rows_file
{
    my ($columns) = slurp($all[0]) =~ /^(# part\t.*)$/m;
    return spew("$folder/rows.tsv", join("\n", $columns, (map { join("\t", @$_) } @_), ''));
}

# What a block makes of some rows, or of whole files.
sub block_of
{
    my ($block, @files) = @_;
    my $made = run(["$source/bench/report", '--template=' . spew("$folder/block.md", "\@$block\@\n"), @files]);
    return $made->{err} . $made->{out};
}

# CTR, GCM and CBC decryption in a part for each size: [bytes, ours, reference, processor].
sub rows_of_modes
{
    my ($parts, $memory, @sizes) = @_;
    return map {
        my ($part, $cipher, $operation) = @$_;
        map {
            my ($bytes, $ours, $reference, $processor) = @$_;
            [$part, "AES-256-$cipher", $operation, 'median', $bytes, $memory, 'out of place', 1, 1, $ours, $reference, 'GB/s',
                $reference eq '-' ? '-' : $ours / $reference, '-', '-', '-', $processor, 'default provider']
        } @sizes
    } [$parts->[0], 'CTR', 'encrypt'], [$parts->[1], 'GCM', 'encrypt'], [$parts->[0], 'CBC', 'decrypt'];
}

like(block_of('gcm_images', rows_file(map { ['gcm-images', 'AES-256-GCM', 'encrypt', 'median', 1 << 20, 'device', 'out of place', 1, 1, $_->[0], '-', 'GB/s', ('-') x 4, $_->[1], '-'] }
                [60, 'CUDA 13.5'], [30, 'CUDA 12.9'])), qr/^\| bytes \| CUDA 13\.5, .*\n.*\n\| 1 MiB \| 60\.0 \| - \| 30\.0 \| - \|$/m, 'kernels of each toolkit stand side by side');

my @bulk = ('bulk', 'gcm-bulk');
is(block_of('conclusion device', rows_file(rows_of_modes(['kernels', 'gcm-kernels'], 'device', [1 << 20, 100, '-', 'gpu'], [1 << 24, 400, '-', 'gpu'],
                [1 << 30, 800, '-', 'gpu']))),
    "One call on 1 GiB does, in GB/s, CTR 800, GCM 800 and CBC decryption 800; from 16 MiB on all are at half of that or more.\n", 'a conclusion: device memory');
my @bus = map { ['limits', '-', 'both ways, each', 'median', $_->[0], 'pinned', '-', 1, 1, $_->[1], '-', 'GB/s', ('-') x 6] } [1 << 30, 50.4], [1 << 26, 50.6];
is(block_of('conclusion pinned', rows_file(@bus, rows_of_modes(\@bulk, 'pinned', [1 << 16, 12, 8, 'gpu'], [1 << 18, 8, 8, 'cpu'], [1 << 20, 16, 8, 'gpu'],
                [1 << 30, 48, 6, 'gpu']))),
    "From 1 MiB on CTR, GCM encryption and CBC decryption are each faster, out of place, than the default provider; the largest update runs at 48.0 GB/s, 8.00 times its rate "
        . "(the bus carries 50.6 each way).\n", 'pinned memory');
is(block_of('conclusion pageable', rows_file(rows_of_modes(\@bulk, 'pageable', [1 << 16, 7.6, 8, 'cpu'], [1 << 30, 6, 6, 'cpu']))),
    "There is no size from which on CTR, GCM encryption and CBC decryption are each faster, out of place, than the default provider; the largest update runs at 6.00 GB/s, 1.00 times its rate, and no size of these three is below 0.95 of it.\n",
    'pageable memory, without a gain');
my @speed = map { ['speed', 'AES-256-CTR', 'encrypt', 'median', $_->[0], '-', '-', 1, 1, $_->[1], 5, 'GB/s', $_->[1] / 5, '-', '-', '-', $_->[2], 'default provider'] }
    [16, 5, 'cpu'], [1024, 15, 'read-ahead'], [16384, 20, 'read-ahead'];
is(block_of('conclusion speed', rows_file(@speed)), 'CTR updates of 1 KiB to 16 KiB run at 3.00 to 4.00 times the default provider\'s rate, the GPU\'s start '
        . "included; the CPU does shorter ones and other modes, at 1.00 times its rate.\n", 'programs');
is(block_of('conclusion speed', rows_file($speed[0])), "No update was combined with keystream of the GPU; all ran at 1.00 times the rate of the default provider.\n",
    'programs that used no GPU');
my @messages = (['messages', 'AES-256-CTR', 'encrypt, 65536 messages', 'median', 256, 'device', 'out of place', 1, 1, 400, '-', 'GB/s', ('-') x 4, 'gpu', '-'],
    map { my ($mode, $bytes, $ours, $core) = @$_; ['batch', "AES-256-$mode", 'encrypt, 4096 messages, 4 under way', 'sustained', $bytes, 'device', 'out of place', 1, 1,
                $ours, $core, 'GB/s', ('-') x 4, 'gpu', '-'] } ['CTR', 256, 10, '-'], ['CTR', 16384, 500, '-'], ['CBC', 256, 9, 1], ['CBC', 16384, 220, 1]);
is(block_of('conclusion messages', rows_file(@messages)), 'Messages of 256 B that are described in device memory run at 400 GB/s in CTR, 40.0 times the rate of '
        . 'batches that the host describes; such batches do 500 with messages of 16 KiB, and at most 220 in CBC encryption (one core: 1.00).' . "\n", 'messages');
is(block_of("conclusion $_", $load), "*Not in this run.*\n", "no conclusion without figures: $_") foreach 'device', 'pinned', 'pageable', 'speed', 'messages';

# Files of the same revision, of two, and without.
my $of_none = slurp($load) =~ s/^# revision.*\n//mr;
my ($first, $second) = map { my $name = $_; spew("$folder/$name.tsv", "# revision: $name\n$of_none") } 'aaaaaaaaaaaa', 'bbbbbbbbbbbb-dirty';
my $unnamed = spew("$folder/unknown.tsv", "# revision: unknown\n$of_none");
is(block_of('revision', $first, $first), "All figures are of revision `aaaaaaaaaaaa`.\n", 'one revision');
is(block_of('revision', $unnamed), "The files do not name the revision that was measured: figures are of the code of the date of their file.\n", 'none');
is(block_of('revision', $first, $second, $unnamed), '**The files are of different revisions**, so figures of different files are not of the same code: '
        . "`aaaaaaaaaaaa` (`aaaaaaaaaaaa.tsv`); `bbbbbbbbbbbb-dirty` (`bbbbbbbbbbbb-dirty.tsv`); not named (`unknown.tsv`).\n", 'several, which is said');
like(block_of('machine', $first), qr/^\| \[`aaaaaaaaaaaa\.tsv`\].* \| aaaaaaaaaaaa \|/m, 'and each run has its own');

# ---- Tables of GCM --------------------------------------------------------------

# The lines of a block about some rows, less its head.
sub lines_of
{
    my ($block, @rows) = @_;
    my $made = run(["$source/bench/report", '--template=' . spew("$folder/block.md", "\@$block\@\n"), rows_file(@rows)]);
    return [$made->{err}, grep { /^\| \d/ } split(/\n/, $made->{out})];
}

my @device = ('device', 'out of place', 1, 1);
my @gcm = ('gcm-kernels', 'AES-256-GCM', 'decrypt', 'sustained', 4 << 30, @device);
is_deeply(
    lines_of('gcm_kernels', ['gcm-kernels', 'AES-128-GCM', 'encrypt', 'median', 65536, @device, 50, 100, 'GB/s', 0.5, ('-') x 3, 'gpu', 'CTR'],
        [@gcm, 750, 770, 'GB/s', 0.974, ('-') x 3, 'gpu', 'CTR']),
    ['', '| 64 KiB | 50.0 (0.50) | - | - | - | - | - |', '| 4 GiB, sustained | - | - | - | - | - | 750 (0.97) |'],
    'GCM compared with CTR, by size and key');
is_deeply(
    lines_of('gcm_bulk', map { ['gcm-bulk', 'AES-256-GCM', @$_, 'out of place', 1, 1, 48, 10, 'GB/s', 4.8, ('-') x 3, 'gpu', 'default provider'] }
            ['encrypt', 'median', 1 << 30, 'pinned'], ['decrypt', 'median', 1 << 30, 'pageable']),
    ['', '| 1 GiB | 48.0 / 10.0 **g** | - | - | 48.0 / 10.0 **g** |'], 'messages, by memory');
is_deeply(
    lines_of('gcm_small', ['gcm-small', 'AES-256-GCM', 'encrypt', 'median', 16, 'pageable', 'out of place', 1, 1, 204, 200, 'ns', 1.02, ('-') x 3,
            'cpu', 'default provider']),
    ['', '| 16 B | 1.020 (200 ns) | - |'], 'and small ones');
is_deeply(
    lines_of('batch_gcm', map { ['batch-gcm', 'AES-256-GCM', "$_, 65536 messages, 4 under way", 'sustained', 16384, @device, 560, 600, 'GB/s', 0.9333,
                ('-') x 3, 'gpu', 'CTR'] } 'encrypt', 'decrypt'),
    ['', '| 65536 | 560 / 600 (0.93) | 560 / 600 (0.93) |'], 'and batches');

# ---- Messages described in device memory -----------------------------------------

my @described = map { [$_->[0], "AES-256-$_->[1]", "$_->[2] messages$_->[3]", 'median', $_->[4], @device, $_->[5], 700, $_->[6], 0.5, 0.01,
        ('-') x 2, 'gpu', 'one call over the same bytes'] }
    ['messages', 'GCM', 'decrypt, 65536', '', 16384, 640, 'GB/s'],
    ['device-batch', 'GCM', 'decrypt, 65536', ' with a key each', 16384, 440, 'GB/s'], # as 0.2 named it
    ['messages', 'GCM', 'encrypt, 262144', ' at offset 13', 4096, 511, 'GB/s'],
    ['messages', 'CTR', 'encrypt, 900000', ' of mixed lengths', 1 << 30, 480, 'GB/s'],
    ['messages', 'CTR', 'encrypt, 159000', ' of mixed lengths', 16 << 30, 580, 'GB/s'];
my @times = map { ['messages-time', 'AES-256-GCM', "encrypt, 16 messages, $_->[0]", 'median', 4096, @device, $_->[1], '-', 'us', ('-') x 4, 'gpu', '-'] }
    ['between two events', 17], ["the host's part", 7];
is_deeply(
    lines_of('compared messages, out of place', @described),
    ['', '| 16 KiB | AES-256-GCM decrypt, 65536 messages | 640 | 700 | 0.5 | 0.01 |',
        '| 16 KiB | AES-256-GCM decrypt, 65536 messages with a key each | 440 | 700 | 0.5 | 0.01 |',
        '| 4 KiB | AES-256-GCM encrypt, 262144 messages at offset 13 | 511 | 700 | 0.5 | 0.01 |',
        '| 1 GiB | AES-256-CTR encrypt, 900000 messages of mixed lengths | 480 | 700 | 0.5 | 0.01 |',
        '| 16 GiB | AES-256-CTR encrypt, 159000 messages of mixed lengths | 580 | 700 | 0.5 | 0.01 |'],
    'compared with one call');
is_deeply(
    lines_of('messages_time', @times),
    ['', '| 4 KiB | AES-256-GCM encrypt, 16 messages, between two events | 17.0 | - |',
        "| 4 KiB | AES-256-GCM encrypt, 16 messages, the host's part | 7.00 | - |"],
    'and their times');

# ---- Figures within a line ------------------------------------------------------

my $row = rows_file(['read-ahead', 'AES-256-CTR', 'encrypt', 'median', 4096, 'pageable', 'in place', 1, 1, 24.567, 6.1,
    'GB/s', 4.03, '-', '-', '-', 'read-ahead', 'default provider']);
my $noted = spew("$folder/noted.tsv", "# note: by hand\n# GPU: NVIDIA X1, large\n# gpuaes: gpuaes 9.8.7, CUDA 13.5\n" . slurp($row));
like(block_of('machine', $noted), qr/ \| by hand \|$/m, 'notes of a run are in the report');
is(block_of('on read-ahead', $load, $noted), "NVIDIA X1, gpuaes 9.8.7.\n", 'and on which card, and by which release, a part was measured');
my $partly = spew("$folder/partly.tsv", slurp(rows_file(['tool', 'AES-256-CTR', 'encrypt', 'median', 1 << 30, 'tmpfs', '-', 1, 8, 9, '-', 'GB/s', ('-') x 6]))
        . "# skipped: tool: CBC: not within 90 s\n" x 2);
like(block_of('command', $partly), qr/ 9\.00 \| - \| - \|\n\nNot in this run: CBC: not within 90 s\.$/, 'what was left out of a part is named once');
my $template = spew("$folder/template.md", "ours \@value ours part=read-ahead; bytes=4096\@, theirs "
        . "\@value reference part=read-ahead; memory=pageable\@; \@value ours part=speed\@\non \@card part=read-ahead\@, \@card part=speed\@\n");
my $text = run(["$source/bench/report", "--template=$template", $noted]);
is($text->{out}, "ours 24.6, theirs 6.10; *(not measured)*\non NVIDIA X1, *(not measured)*\n", 'stand for a row, or for none');

my $broken = report($folder, spew("$folder/broken.tsv", "one\ttwo\n"));
isnt($broken->{status}, 0, 'what is no output of the benchmark is refused');
like($broken->{err}, qr/rows before the columns/, 'with a reason');

done_testing();
