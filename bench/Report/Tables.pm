# What the blocks of a report have in common: the run that it is about, and tables of it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Tables;

use strict;
use warnings;
use Exporter qw(import);
use Results;

our @EXPORT = qw($results $figures table not_measured one_row pair_text ours_text with_references
    table_of table_by_size);

# Of read_results(); and the folder of the figures.
our ($results, $figures);

sub table
{
    my ($head, @rows) = @_;
    return join('', map { '| ' . join(' | ', @$_) . " |\n" } $head, [('---') x @$head], @rows);
}

sub not_measured
{
    my ($part) = @_;
    my @why = map { /^skipped: \Q$part\E: (.*)/ ? $1 : () } @{$results->{notes}};
    return "*Not in this run: part `$part`" . (@why ? " ($why[0])" : '') . ".*\n";
}

# The one row that is like this; undef if there is none.
sub one_row
{
    my ($row) = rows_like($results, @_);
    return $row;
}

# ours / reference, and the side that did it.
sub pair_text
{
    my ($row) = @_;
    return '-' if !$row;
    my %mark = (gpu => ' **g**', 'read-ahead' => ' **r**', mixed => ' *m*');
    my $text = number_text($row->{ours});
    $text .= ' / ' . number_text($row->{reference}) if defined($row->{reference});
    return $text . ($mark{$row->{processor} // ''} // '');
}

sub ours_text { my ($row) = @_; return number_text($row ? $row->{ours} : undef) }

# What the rows of a table are compared with, below it.
sub with_references
{
    my ($table, @found) = @_;
    my %against = map { $_->{against} => 1 } grep { $_ && $_->{against} } @found;
    return $table . (%against ? "\nCompared with: " . join('; ', sort keys(%against)) . ".\n" : '');
}

# The cells that CELLS->(ROW) makes of each of those rows; or a note that the part was not measured.
sub table_of
{
    my ($part, $head, $cells, @found) = @_;
    return not_measured($part) if !@found;
    return table($head, map { [$cells->($_)] } @found);
}

# A table of sizes by columns, each with criteria of its own; rows without any figure
# are left out. A group is what stands behind the size, and criteria.
sub table_by_size
{
    my ($cell, $columns, $groups) = @_;
    my (@rows, @found);
    foreach my $group (@$groups) {
        my ($label, %how) = @$group;
        foreach my $bytes (sizes_of($results, %how)) {
            my @row = map {
                my ($name, @column) = @$_;
                one_row(statistic => 'median', %how, bytes => $bytes, @column)
            } @$columns;
            my @cells = map { $cell->($_) } @row;
            push(@rows, [size_text($bytes) . $label, @cells]) if grep { $_ ne '-' } @cells;
            push(@found, map { $row[$_] } grep { $cells[$_] =~ m{ / } } 0 .. $#row);
        }
    }
    return @rows ? with_references(table(['bytes', map { $_->[0] } @$columns], @rows), @found) : undef;
}

1;
