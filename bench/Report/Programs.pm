# Blocks of a report: CTR with read-ahead, and whole programs.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Programs;

use strict;
use warnings;
use Exporter qw(import);
use Report::Tables;
use Results;

our @EXPORT = qw(block_read_ahead block_read_ahead_streams block_programs block_command block_streams block_memory);

# ours / reference (ratio), and the side that did it.
sub ratio_text
{
    my ($row) = @_;
    return '-' if !$row || !$row->{ratio};
    my $ratio = sprintf('%.2f', $row->{ratio});
    return pair_text($row) =~ s/( \*|$)/ ($ratio)$1/r;
}

sub block_read_ahead
{
    return table_by_size(\&ratio_text, [['one buffer', memory => 'pageable'],
            ['all of 1 GiB', memory => 'pageable, cold']], [['', part => 'read-ahead', operation => 'encrypt']])
        // not_measured('read-ahead');
}

sub block_read_ahead_streams
{
    my %how = (part => 'read-ahead', operation => 'encrypt, streams');
    my @rows = map {
        my $row = $_;
        my ($pinned, $ahead) = map { one_row(%how, operation => "$_, streams", threads => $row->{threads}) }
            'pinned memory', 'bytes read ahead of';
        [$row->{threads}, ratio_text($row), $row->{spread} // '-',
            join(' / ', map { number_text($_) } @$row{'cpu_ours', 'cpu_reference'}),
            ours_text($pinned), ours_text($ahead)]
    } rows_like($results, %how);
    return @rows
        ? with_references(table(['streams', 'GB/s together', 'spread', 'CPU s for 10^9 bytes', 'pinned, MiB',
            '% from keystream'], @rows), rows_like($results, %how))
        : not_measured('read-ahead');
}

# As somebody would type it.
sub program_text
{
    my ($row) = @_;
    my $cipher = lc($row->{cipher});
    if ($row->{part} eq 'speed') {
        return join(' ', "`openssl speed -evp $cipher", $row->{operation} eq 'decrypt' ? '-decrypt' : (),
            $row->{operation} =~ /(\d+) jobs/ ? "-async_jobs $1" : (),
            $row->{threads} > 1 ? "-multi $row->{threads}" : (), "-bytes $row->{bytes}`");
    }
    my $size = size_text($row->{bytes});
    return join(' ', "`openssl enc -$cipher", $row->{operation} =~ /(-.*)/ ? $1 : ()) . "`, $size" if $row->{part} eq 'enc';
    my $each = size_text($row->{bytes} / $row->{threads});
    return $row->{threads} > 1 ? "$row->{threads} threads that stream $each each, together" : "a process that streams $size";
}

sub block_programs
{
    my @found = (rows_like($results, part => ['speed', 'enc']),
        rows_like($results, part => 'streams', operation => ['whole process', 'streams']));
    my @rows = map {
        [program_text($_), map({ number_text($_) } @$_{'ours', 'reference'}), $_->{unit}, $_->{ratio} // '-',
            $_->{spread} // '-', $_->{processor} // '-']
    } @found;
    return @rows
        ? with_references(table(['program', 'ours', 'default', 'unit', 'ratio', 'spread', 'by'], @rows), @found)
        : not_measured('speed');
}

# From where to where, of a row about the command.
sub way_text
{
    my ($row) = @_;
    my ($from, $to) = split(/>/, $row->{memory});
    return "$from to " . ($to // $from);
}

sub block_command
{
    my @found = rows_like($results, part => 'tool');
    my @rows = map {
        [$_->{cipher}, $_->{operation}, size_text($_->{bytes}), way_text($_), $_->{threads},
            map({ number_text($_) } @$_{'ours', 'reference'}), $_->{ratio} // '-', $_->{processor} // '-']
    } @found;
    return @rows
        ? with_references(table(['cipher', 'what', 'bytes', 'from, to', 'threads', 'GB/s', 'reference', 'ratio', 'by'],
            @rows), @found)
        : not_measured('tool');
}

sub block_streams
{
    my @rows = map {
        my %how = (part => 'streams', threads => 1, bytes => $_);
        my ($whole, $exit, $start, $before) = map { one_row(%how, operation => $_) }
            'whole process', 'exit', 'start of the GPU', 'before read-ahead';
        [size_text($_), ratio_text($whole), $whole->{spread} // '-', pair_text($exit), ours_text($start),
            ours_text($before)]
    } sizes_of($results, part => 'streams', threads => 1, operation => 'whole process');
    return @rows
        ? table(['bytes', 'whole process, ms', 'spread', 'exit, ms', "GPU's start, ms", 'MiB before read-ahead'], @rows)
        : not_measured('streams');
}

sub block_memory
{
    return table_of('memory', ['the process', 'memory of the GPU in use'],
        sub { ($_[0]{operation}, "$_[0]{ours} MiB") }, rows_like($results, part => 'memory'));
}

1;
