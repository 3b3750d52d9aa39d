#!/usr/bin/perl
# The benchmark works: all parts, quickly, and rows of the shape that is promised, of
# which a report can be made. Its figures mean nothing here. On the emulator it has two
# devices.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

# With the emulator's module, the program that has one state with it.
my $emulated = ($ENV{OPENSSL_MODULES} // '') =~ m{/emulated/?$};
my $program = "$build/bench/gpuaes_bench" . ($emulated ? '_emulated' : '');
plan(skip_all => "there is no $program: make bench-programs") if !-x $program;

# A tool that tells the memory of two GPUs in use, and notes that it was asked.
mkdir("$folder/bin");
spew("$folder/bin/nvidia-smi", "#!/bin/sh\necho \"\$@\" >>$folder/asked\necho 1200; echo 34\n");
chmod(0755, "$folder/bin/nvidia-smi");

sub bench
{
    my ($arguments, %settings) = @_;
    # The emulator takes seconds for a launch where all cores are busy.
    my $env = without_gpuaes(GPUAES_EMULATOR => 'devices=2', GPUAES_TIMEOUT_MS => 600000, PATH => "$folder/bin:$ENV{PATH}",
        %settings);
    return run([$program, @$arguments], env => $env);
}

sub rows_of { return grep { !/^#/ } split(/\n/, $_[0]->{out}) }

# ---- All parts ----------------------------------------------------------------

my $result = bench(['--quick']);
is($result->{status}, 0, 'it ends well') or diag($result->{err});

my ($columns) = $result->{out} =~ /^# (part\t.*)$/m;
my @names = split(/\t/, $columns // '');
is_deeply(\@names, [qw(part cipher operation statistic bytes memory placement devices threads ours reference
            unit ratio spread cpu_ours cpu_reference processor against)], 'it names its columns');
foreach my $label ('date', 'GPU', 'revision', 'OpenSSL', 'CPU', 'cores') {
    like($result->{out}, qr/^# $label\s*: \S/m, "the header names: $label");
}

my %shapes = (
    bytes => qr/^\d+$/,
    devices => qr/^\d+$/,
    threads => qr/^\d+$/,
    statistic => qr/^(?:median|p99|longest|mean|sustained|at \d+\.\d s|-)$/,
    placement => qr/^(?:out of place|in place|misaligned|new IV|new context|-)$/,
    ours => qr/^\d[-+.\de]*$/,
    unit => qr{^(?:ns|us|ms|GB/s|Gword/s|MiB|KiB|%)$},
    processor => qr/^(?:gpu|cpu|mixed|read-ahead|small|two_table|hybrid|CUDA \d+\.\d|-)$/,
    map { $_ => qr/^(?:-|\d[-+.\de]*)$/ } 'reference', 'ratio', 'spread', 'cpu_ours', 'cpu_reference');
my (%rows, @wrong);
foreach my $line (rows_of($result)) {
    my @fields = split(/\t/, $line, -1);
    my %row;
    @row{@names} = @fields;
    push(@{$rows{$row{part}}}, \%row);
    push(@wrong, $line) if @fields != @names || grep { $row{$_} !~ $shapes{$_} } keys(%shapes);
}
is(scalar(@wrong), 0, 'every row has its columns, and numbers where numbers belong')
    or diag(join("\n", @wrong));

my @of_cpu = grep { $_->{against} =~ /default provider|^EVP_/ } map { @$_ } values(%rows);
is(scalar(grep { $_->{against} !~ /, OpenSSL \d+\.\d+\.\d+/ } @of_cpu), 0, 'rows that are compared with libcrypto name its version');

# Rows of each part, at least; those of the device only where there is one.
my %least = (limits => 2, small => 90, 'gcm-small' => 12, bulk => 30, 'gcm-bulk' => 6, pinned => 1, start => 6, load => 4, speed => 1, enc => 4,
    streams => 5, memory => 5);
my %least_on_device = (limits => 8, kernels => 34, 'gcm-kernels' => 8, 'gcm-images' => $emulated ? 4 : 2, 'evp-kernels' => 4, 'gcm-evp' => 2, 'base64-kernels' => 4, families => 12,
    'latency-api' => 40, 'latency-evp' => 40, bulk => 60, 'gcm-bulk' => 12, mixed => 16, devices => 10, base64 => 18, threads => 32,
    'read-ahead' => 20, batch => 20, 'batch-gcm' => 2, messages => 57, 'messages-time' => 54, random => 12, files => 12);
my $has_device = $result->{out} !~ /^# GPU: none/m && !stand_in();
%least = (%least, %least_on_device) if $has_device;
foreach my $part (sort keys %least) {
    my $count = @{$rows{$part} // []};
    cmp_ok($count, '>=', $least{$part}, "part $part: $count rows");
}
if (!$has_device) {
    like($result->{out}, qr/^# skipped: $_: \S/m, "it says why there is nothing: $_") foreach 'kernels', 'devices', 'files';
}

SKIP: {
    skip('there are not two devices', 3) if !grep { $_->{devices} == 2 } @{$rows{devices}};
    my @two = grep { $_->{against} eq 'one device' } @{$rows{devices}};
    cmp_ok(scalar(@two), '>=', 10, 'two devices are compared with one');
    ok(!grep({ $_->{ratio} eq '-' } @two), 'with both figures');
    my %memory = map { $_->{memory} => 1 } @two;
    is(join(', ', grep { $memory{$_} } 'device', 'pageable', 'pinned', 'registered'),
        'device, pageable, pinned, registered', 'in memory of each kind');
}

# ---- Results that stay unwritten ---------------------------------------------------

SKIP: {
    skip('needs the emulator', 4) if !$emulated || stand_in();
    my $unwritten = bench(['--quick', 'messages'], GPUAES_EMULATOR => 'idle-kernels=1');
    isnt($unwritten->{status}, 0, 'messages described in device memory whose status stays unwritten are an error');
    like($unwritten->{err}, qr/a message described in device memory/, 'which it says');

    my $unmade = bench(['--quick', 'random'], GPUAES_EMULATOR => 'idle-kernels=1');
    isnt($unmade->{status}, 0, 'so are random numbers that stay unwritten');
    like($unmade->{err}, qr/random numbers stay unwritten/, 'which it says');
}

# ---- Whole programs ------------------------------------------------------------

is(join(', ', map { "$_->{operation}: $_->{ours}" } @{$rows{memory}}), join(', ', map { "$_: 1234" }
        'before', 'while it streams', 'idle for longer than idle-seconds', 'while it streams again', 'after its exit'),
    'the memory of all GPUs, before, during and after');
is(scalar(() = slurp("$folder/asked") =~ /--query-gpu=memory.used/g), 6, 'as nvidia-smi says each time');
my %whole = map { ("$_->{part} $_->{bytes} $_->{threads}" => $_) } @{$rows{enc}},
    grep { $_->{operation} =~ /whole process|streams/ } @{$rows{streams}};
ok(!grep({ !$_ || $_->{ours} <= 0 || $_->{ratio} eq '-' } @whole{'enc 1024 1', 'streams 4194304 1', 'streams 4194304 4'}),
    'programs are compared with the default provider');

SKIP: {
    skip('needs the emulator', 3) if !$emulated || stand_in();
    # The device starts in programs, too, and streams are read ahead of.
    my %forced = (GPUAES_START => 'eager', GPUAES_MIN_BYTES => '1G');
    my ($streams, $start) = (undef, qr/^streams\t.*\tstart of the GPU\t.*\tms\t/m);
    for (1 .. 10) { # on a busy machine a stream may end before the device is there
        $streams = bench(['--quick', 'streams'], %forced);
        last if $streams->{out} =~ $start;
    }
    is($streams->{status}, 0, 'streams alone') or diag($streams->{err});
    like($streams->{out}, $start, 'it tells how long the device took to start');
    my $held = 0;
    for (1 .. 10) {
        my $ahead = bench(['--quick', 'read-ahead'], %forced);
        ($held) = $ahead->{out} =~ /^read-ahead\t.*\tpinned memory, streams\t-\t16384\t.*\t2\t([\d.]+)\t-\tMiB\t/m;
        last if ($held // 0) >= 1.5;
    }
    cmp_ok($held // 0, '>=', 1.5, 'and what two streams that are read ahead of hold: two rings of segments');
}

# ---- The report ------------------------------------------------------------------

my $tsv = spew("$folder/all.tsv", $result->{out});
SKIP: {
    skip('gnuplot is not installed', 2) if !grep { -x "$_/gnuplot" } split(/:/, $ENV{PATH});
    my $plot = run(["$source/bench/plot", $folder, $tsv]);
    is($plot->{status}, 0, 'the figures are drawn') or diag($plot->{err});
    is(join(' ', grep { $has_device } $plot->{err} =~ /^plot: (.*): not measured$/mg), '', 'and all of them');
}
foreach my $template ('template', 'read-ahead-template') {
    my $report = run(["$source/bench/report", "--template=$source/docs/benchmarks/$template.md", $tsv]);
    is($report->{status}, 0, "a report is made of it: $template") or diag($report->{err});
    my @lacks = $report->{out} =~ /\*Not in this run: part `([\w-]+)`/g;
    # The command is measured by test/on_gpu_tool, the Python package by bench/python_rates and bench/format_rates.
    @lacks = grep { !/^(?:tool|python|formats)$/ } @lacks;
    is(join(' ', grep { $has_device || !$least_on_device{$_} } @lacks), '', 'and lacks no part');
}

# ---- The command line ------------------------------------------------------------

my $one = bench(['--quick', 'load']);
ok(!$one->{status} && rows_of($one) && !grep({ !/^load\t/ } rows_of($one)), 'a part that is named is run alone');
my $unknown = bench(['everything']);
is($unknown->{status} >> 8, 2, 'an unknown part is refused');
like($unknown->{err}, qr/there is no part everything.*^usage:/ms, 'with the usage');
foreach my $time ('--seconds=soon', '--seconds=0', '--seconds=2s') {
    is(bench([$time])->{status} >> 8, 2, "a time that is none is refused: $time");
}
my $help = bench(['--help']);
is($help->{status}, 0, 'it helps');
like($help->{out}, qr/^  $_ /m, "and describes the part $_")
    foreach 'limits', 'kernels', 'families', 'gcm', 'latency', 'small', 'bulk', 'mixed', 'threads', 'devices', 'start', 'load',
    'base64', 'batch', 'messages', 'random', 'read-ahead', 'files', 'speed', 'enc', 'streams', 'memory';

done_testing();
