# Blocks of a report: on what machine it was made, limits and noise.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Machine;

use strict;
use warnings;
use File::Basename qw(basename);
use Report::Tables;
use Results;

sub rows_of_machine
{
    my ($head, @labels) = @_;
    return map { my $label = $_; map { [$label, s/\|/\\|/gr =~ s/\s+/ /gr] } @{$head->{$label} // []} } @labels;
}

# A table for each machine, and one of the runs on it.
sub block_machine
{
    my (@machines, %runs);
    foreach my $i (0 .. $#{$results->{files}}) {
        my $head = $results->{head}[$i];
        my $name = basename($results->{files}[$i]);
        my @machine = rows_of_machine($head, 'GPU', 'driver', 'CPU', 'cores', 'OpenSSL');
        # Without the version of OpenSSL it is the same machine.
        my $machine = table(['', ''], @machine);
        ($machine) = (grep { index($_, $machine) == 0 } @machines, $machine);
        push(@machines, $machine) if !$runs{$machine};
        push(@{$runs{$machine}}, ["[`$name`](" . basename($figures) . "/$name)",
            map { join('<br>', map { $_->[1] } rows_of_machine($head, $_)) } 'date', 'revision', 'gpuaes', 'note']);
    }
    return join("\n", map { "$_\n" . table(['raw values', 'date', 'revision', 'gpuaes', 'note'], @{$runs{$_}}) } @machines);
}

# Where the first file was measured; or a part, with the release that was.
sub block_on
{
    my ($part) = @_;
    return machine_text($results) . ".\n" if !$part;
    my ($row) = rows_like($results, part => $part) or return not_measured($part);
    my ($release) = map { /^(gpuaes [^\s,]+)/ } @{$results->{head}[$row->{file}]{gpuaes} // []};
    return join(', ', grep { defined } machine_text($results, $row), $release) . ".\n";
}

sub block_figure
{
    my ($name, $caption) = @_;
    return -e "$figures/$name.svg"
        ? "![$caption](" . basename($figures) . "/$name.svg)\n"
        : "*No figure `$name`: not measured, or not drawn.*\n";
}

# Rows in pageable memory where ours was slower than the default provider.
sub block_slower
{
    my @rows = sort { $a->{ratio} <=> $b->{ratio} } rows_like($results,
        part => ['bulk', 'gcm-bulk'], memory => 'pageable', ratio => sub { defined($_[0]) && $_[0] < 0.98 });
    return "No row in pageable memory was under 0.98 of the default provider's rate.\n" if !@rows;
    return table_of('bulk', \@rows, bytes => 'bytes', cipher => 'cipher', '' => 'operation', '' => 'placement',
        map { $_ => $_ } 'ratio', 'spread', 'processor');
}

sub block_limits
{
    my $what = sub {
        my ($row) = @_;
        my $text = join(', ', grep { defined } @$row{'operation', 'cipher'});
        return $row->{threads} > 1 ? "$text, $row->{threads} threads" : $text;
    };
    return table_of('limits', [rows_like($results, part => 'limits')], limit => $what,
        bytes => sub { $_[0]{bytes} ? size_text($_[0]{bytes}) : '-' }, memory => 'memory', measured => 'ours', unit => 'unit',
        spread => 'spread');
}

# How much the repetitions of a row differ.
sub block_spread
{
    my @rows;
    foreach my $part ('limits', 'kernels', 'gcm-kernels', 'gcm-evp', 'latency-api', 'small', 'short', 'gcm-small',
        'bulk', 'gcm-bulk', 'mixed', 'threads', 'devices', 'base64', 'messages', 'messages-time', 'random',
        'read-ahead', 'speed', 'enc', 'streams', 'files') {
        my @spreads = sort { $a <=> $b } values_of($results, 'spread', part => $part) or next;
        push(@rows, [$part, scalar(@spreads), map { sprintf('%.1f %%', $_ * 100) } $spreads[$#spreads / 2],
            $spreads[$#spreads * 0.95]]);
    }
    return table(['part', 'rows', 'median of the spreads', '95 % are below'], @rows);
}

1;
