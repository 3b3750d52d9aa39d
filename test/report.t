#!/usr/bin/perl
# The figures and the report that are made from a run of the benchmark: all of
# them from a run of all parts; none, and notes in their place, from a run of one.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/bench";
use Aims;
use Programs;
use Results;
use Test::More;

my $emulated = ($ENV{OPENSSL_MODULES} // '') =~ m{/emulated/?$};
my $program = "$build/test/bench/gpuaes_bench" . ($emulated ? '_emulated' : '');
plan(skip_all => "there is no $program: make bench-programs") if !-x $program;
my ($gnuplot) = grep { -x $_ } map { "$_/gnuplot" } split(/:/, $ENV{PATH});
my @always = ('pageable');
my @of_device = ('pinned', 'threads', 'kernels', 'families', 'latency', 'base64', 'base64-kernels');

sub bench
{
    my ($path, @parts) = @_;
    my $result = run([$program, '--quick', @parts], out => $path, seconds => 300,
        env => without_gpuaes(GPUAES_EMULATOR => 'devices=2'));
    is($result->{status}, 0, "the benchmark runs: @parts") or diag($result->{err});
    return $path;
}

sub report
{
    my ($figures, @files) = @_;
    return run(["$source/test/bench/report", "--figures=$figures", @files]);
}

my $all = bench("$folder/all.tsv");
my $load = bench("$folder/load.tsv", 'load');
my $has_device = slurp($all) !~ /^# GPU: none/m && !stand_in();
mkdir("$folder/$_") foreach 'all', 'load';

# ---- Figures -------------------------------------------------------------------

SKIP: {
    skip('gnuplot is not installed', 5) if !$gnuplot;
    my $plot = run(["$source/test/bench/plot", "$folder/all", $all]);
    is($plot->{status}, 0, 'the figures are drawn') or diag($plot->{err});
    unlike($plot->{err}, qr/line \d+|error/i, 'without a complaint');
    my @wanted = (@always, $has_device ? @of_device : (), slurp($all) =~ /\tone device$/m ? 'devices' : ());
    my @missing = grep { slurp("$folder/all/$_.svg") !~ /<svg/ || slurp("$folder/all/$_.png") !~ /^\x89PNG/ } @wanted;
    is("@missing", '', 'each as SVG and PNG: ' . join(', ', @wanted));

    # Figures of a run before, of parts that were not measured this time, go.
    spew("$folder/load/$_.svg", '<svg>') foreach 'kernels', 'devices';
    $plot = run(["$source/test/bench/plot", "$folder/load", $load]);
    is($plot->{status}, 0, 'where nothing is to be drawn, it ends well');
    is(join(' ', glob("$folder/load/*")), '', 'and there are no figures');
}

# ---- The report -------------------------------------------------------------------

my $report = report("$folder/all", $all);
is($report->{status}, 0, 'the report is written') or diag($report->{err});
is($report->{err}, '', 'without a complaint');
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
    foreach 'kernels', 'bulk', 'devices', 'latency', 'base64';
like($little->{out}, qr/^\| first load, median \| \d/m, 'and has what there is');
like($little->{out}, qr/\d not measured\.$/m, 'aims that it cannot judge are not measured');

my $both = report("$folder/all", $load, $all);
like($both->{out}, qr/load\.tsv.*all\.tsv/s, 'two runs are named');
unlike($both->{out}, qr/Not in this run: part `bulk`/, 'and one has what the other lacks');

# ---- Aims -----------------------------------------------------------------------

# One row of the kernels with a rate that is enough, and one that is not.
sub verdict
{
    my ($rate) = @_;
    my $row = join("\t", 'kernels', 'AES-256-CTR', 'encrypt', 'median', 4 << 30, 'device', 'apart', 1, 1, $rate,
        2000, 'GB/s', 0.4, 0.01, 1, 1, 'gpu', 'device copy');
    my ($columns) = slurp($all) =~ /^(# part\t.*)$/m;
    my $results = read_results(spew("$folder/aim.tsv", "$columns\n$row\n"));
    my ($judged) = grep { $_->{aim} =~ /^AES-256-CTR in device memory/ } judged_aims($results);
    return "$judged->{measured} $judged->{verdict}";
}
is(verdict(801.5), '802 reached', 'an aim is reached');
is(verdict(779), '779 **missed**', 'or missed');
is(verdict('-'), '- not measured', 'or not measured');

my $broken = report($folder, spew("$folder/broken.tsv", "one\ttwo\n"));
isnt($broken->{status}, 0, 'what is no output of the benchmark is refused');
like($broken->{err}, qr/rows before the columns/, 'with a reason');

done_testing();
