# Blocks of a report: one update, or one call, of AES and Base64.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Updates;

use strict;
use warnings;
use Exporter qw(import);
use Report::Tables;
use Results;

our @EXPORT = qw(block_kernels block_kernels_by_size block_families block_compared block_bulk block_mixed
    block_threads block_cpu block_latency block_small block_base64 block_base64_kernels);

my @base64 = map { [$_, operation => $_] } 'encode', 'encode, lines of 64', 'encode, lines of 76', 'decode';

# AES at the largest length: bursts, sustained, the bound of tables, the part of a copy.
sub block_kernels
{
    my @sizes = sizes_of($results, part => 'kernels') or return not_measured('kernels');
    my @rows;
    foreach my $bits (128, 192, 256) {
        foreach my $mode (@modes) {
            my ($name, %mode) = @$mode;
            my %how = (%mode, part => 'kernels', placement => 'out of place', bytes => $sizes[-1]);
            $how{cipher} =~ s/256/$bits/;
            my $burst = one_row(%how, statistic => 'median') or next;
            my $bound = one_row(part => 'limits', operation => 'tables alone', cipher => $how{cipher} =~ s/CBC/ECB/r);
            push(@rows, ["AES-$bits $name", number_text($burst->{ours}), $burst->{spread} // '-',
                ours_text(one_row(%how, placement => 'in place', statistic => 'median')),
                ours_text(one_row(%how, statistic => 'sustained')), ours_text($bound),
                $burst->{ratio} ? sprintf('%.0f %%', $burst->{ratio} * 100) : '-']);
        }
    }
    return table([size_text($sizes[-1]), 'burst', 'spread', 'in place', 'sustained', 'tables alone',
        'of a device copy'], @rows);
}

sub block_kernels_by_size
{
    return table_by_size(\&ours_text, \@modes, [['', part => 'kernels', placement => 'out of place', memory => 'device']])
        // not_measured('kernels');
}

# Of one mode.
sub block_families
{
    my ($mode) = @_;
    my @mode = map { @$_[1 .. 4] } grep { $_->[0] eq $mode } @modes;
    my @columns = map { [$_, processor => $_] } 'small', 'two_table', 'large', 'hybrid';
    return table_by_size(\&ours_text, \@columns, [['', part => 'families', @mode]]) // not_measured('families');
}

# Rows compared with another way to do the same: misaligned and aligned, EVP and bare calls.
sub block_compared
{
    my ($part, $placement) = @_;
    my @found = rows_like($results, part => $part, placement => $placement);
    return table_of($part, ['bytes', '', 'GB/s', @found ? $found[0]{against} : '', 'ratio', 'spread'], sub {
        my ($row) = @_;
        return size_text($row->{bytes}), "$row->{cipher} $row->{operation}",
            map({ number_text($_) } @$row{'ours', 'reference'}), map { $_ // '-' } @$row{'ratio', 'spread'};
    }, @found);
}

sub block_bulk
{
    my ($memory) = @_;
    my %how = (part => 'bulk', memory => $memory);
    return table_by_size(\&pair_text, \@all_modes,
        [['', %how, placement => 'out of place'], [', in place', %how, placement => 'in place']])
        // not_measured('bulk');
}

sub block_mixed
{
    my @groups = map { [", $_", part => 'mixed', memory => $_] }
        'pinned>device', 'device>pinned', 'pageable>device', 'device>pageable';
    return table_by_size(\&pair_text, \@modes, \@groups) // not_measured('mixed');
}

# A row for each group, which is its label and criteria, with a column for each mode.
sub table_of_modes
{
    my ($part, $head, $cell, @groups) = @_;
    my (@rows, @all);
    foreach my $group (@groups) {
        my ($label, %how) = @$group;
        my @found = map { my ($name, @mode) = @$_; one_row(part => $part, %how, @mode) } @modes;
        push(@rows, [$label, map { $cell->($_) } @found]) if grep { defined } @found;
        push(@all, @found);
    }
    return @rows ? with_references(table([$head, map { $_->[0] } @modes], @rows), @all) : not_measured($part);
}

sub block_threads
{
    my @groups = map { my $placement = $_; map { ["$_, $placement", placement => $placement, threads => $_] } 1, 2, 4, 8 }
        'out of place', 'in place';
    return table_of_modes('threads', 'threads', \&pair_text, @groups);
}

# CPU seconds that 10^9 bytes take: ours / the reference.
sub block_cpu
{
    my $text = sub {
        my ($row) = @_;
        return $row ? join(' / ', map { number_text($_) } @$row{'cpu_ours', 'cpu_reference'}) : '-';
    };
    my @groups = map { my $memory = $_; map { [size_text($_) . ", $memory", memory => $memory, placement => 'out of place',
                bytes => $_] } 1 << 20, 16 << 20, 256 << 20, 1 << 30 } 'pinned', 'pageable';
    return table_of_modes('bulk', 'bytes', $text, @groups);
}

sub block_latency
{
    my ($part) = @_;
    my $both = sub {
        my ($row) = @_;
        return '-' if !$row;
        my ($late) = rows_like($results, statistic => 'p99', map { $_ => $row->{$_} } 'part', 'cipher', 'operation', 'bytes');
        return join(' / ', map { number_text($_) } $row->{ours}, $late ? $late->{ours} : undef, $row->{reference});
    };
    return table_by_size($both, \@modes, [['', part => $part]]) // not_measured('latency');
}

# The mean over key sizes of ours / the default provider's.
sub block_small
{
    my @columns = (['CTR', 'encrypt'], ['ECB', 'encrypt'], ['ECB', 'decrypt'], ['CBC', 'encrypt'], ['CBC', 'decrypt']);
    my (@rows, @found);
    foreach my $bytes (sizes_of($results, part => 'small')) {
        my @cells;
        foreach my $column (@columns) {
            my ($mode, $operation) = @$column;
            my %how = (part => 'small', operation => $operation, bytes => $bytes);
            my @ratios = values_of($results, 'ratio', %how, cipher => [map { "AES-$_-$mode" } 128, 192, 256]);
            my $row = one_row(%how, cipher => "AES-256-$mode");
            push(@found, $row);
            my $sum = 0;
            $sum += $_ foreach @ratios;
            push(@cells, @ratios && $row ? sprintf('%.3f (%.0f ns)', $sum / @ratios, $row->{reference}) : '-');
        }
        push(@rows, [size_text($bytes), @cells]);
    }
    return @rows
        ? with_references(table(['bytes', map { join(' ', @$_) } @columns], @rows), @found)
        : not_measured('small');
}

sub block_base64
{
    return table_by_size(\&pair_text, [@base64[0, 1, 3]],
        [map { [", $_", part => 'base64', memory => $_] } 'pinned', 'pageable']) // not_measured('base64');
}

sub block_base64_kernels
{
    return table_by_size(\&ours_text, \@base64, [['', part => 'base64-kernels']]) // not_measured('base64-kernels');
}

1;
