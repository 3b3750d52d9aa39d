# What the blocks of a report have in common: the run that it is about, and tables of it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Tables;

use strict;
use warnings;
use Exporter qw(import);
use Results;

our @EXPORT = qw($results $figures table not_measured one_row pair_text ratio_text with_references
    table_of table_by compared_by);

# Of read_results(); and the folder of the figures.
our ($results, $figures);

sub table
{
    my ($head, @rows) = @_;
    return join('', map { '| ' . join(' | ', @$_) . " |\n" } $head, [('---') x @$head], @rows);
}

# What the benchmark says that it left out of a part.
sub skipped
{
    my ($part) = @_;
    my %seen;
    return grep { !$seen{$_}++ } map { /^skipped: \Q$part\E: (.*)/ ? $1 : () } @{$results->{notes}};
}

sub not_measured
{
    my ($part) = @_;
    my @why = skipped($part);
    return "*Not in this run: part `$part`" . (@why ? " ($why[0])" : '') . ".*\n";
}

# The one row that is like this; undef if there is none.
sub one_row
{
    my ($row) = rows_like($results, @_);
    return $row;
}

# What the rows of a table are compared with, below it.
sub with_references
{
    my ($table, @found) = @_;
    my %against = map { $_->{against} => 1 } grep { $_->{against} } @found;
    return $table . (%against ? "\nCompared with: " . join('; ', sort keys(%against)) . ".\n" : '');
}

# ---- Cells --------------------------------------------------------------------------

# ours / reference, and the side that did it.
sub pair_text
{
    my ($row) = @_;
    my %mark = (gpu => ' **g**', 'read-ahead' => ' **r**', mixed => ' *m*');
    my $text = number_text($row->{ours});
    $text .= ' / ' . number_text($row->{reference}) if defined($row->{reference});
    return $text . ($mark{$row->{processor} // ''} // '');
}

# The same with the ratio.
sub ratio_text
{
    my ($row) = @_;
    return '-' if !$row->{ratio};
    my $ratio = sprintf('%.2f', $row->{ratio});
    return pair_text($row) =~ s/( \*|$)/ ($ratio)$1/r;
}

# CELL is what a function makes of the row, or the name of one of its columns.
sub cell_text
{
    my ($cell, $row) = @_;
    return '-' if !$row;
    return $cell->($row) if ref($cell);
    return size_text($row->{bytes}) if $cell eq 'bytes';
    return number_text($row->{$cell}) if $cell eq 'ours' || $cell eq 'reference';
    return $row->{$cell} // '-';
}

# ---- Tables ---------------------------------------------------------------------------

# table_of(PART, [rows], HEAD => CELL...): a line for each of those rows; or a note that the part was
# not measured.
sub table_of
{
    my ($part, $found, @columns) = @_;
    return not_measured($part) if !@$found;
    my (@head, @cells);
    while (my ($head, $cell) = splice(@columns, 0, 2)) {
        push(@head, $head);
        push(@cells, $cell);
    }
    my @left_out = skipped($part);
    return table(\@head, map { my $row = $_; [map { cell_text($_, $row) } @cells] } @$found)
        . (@left_out ? "\nNot in this run: " . join('; ', @left_out) . ".\n" : '');
}

# The lines of table_by(), and the rows that they show.
sub lines_by
{
    my ($by, $part, $columns, @groups) = @_;
    my (@lines, @found);
    foreach my $group (@groups) {
        my ($label, %how) = @$group;
        %how = (part => $part, %how);
        my %values = map { $_->{$by} => 1 } grep { defined($_->{$by}) } rows_like($results, %how);
        foreach my $value (sort { $a <=> $b } keys(%values)) {
            my @row = map { my (undef, undef, @column) = @$_; one_row(%how, $by => $value, @column) } @$columns;
            my @cells = map { cell_text($columns->[$_][1], $row[$_]) } 0 .. $#row;
            next if !grep { $_ ne '-' } @cells;
            push(@lines, [($by eq 'bytes' ? size_text($value) : $value) . $label, @cells]);
            push(@found, grep { defined } @row);
        }
    }
    return \@lines, @found;
}

# table_by(BY, HEAD, PART, [[HEAD, CELL, criteria...]...], [LABEL, criteria...]...): a line for each value of
# the column BY among the rows of each group, with the one row that each column's criteria choose. Lines
# without any figure are left out.
sub table_by
{
    my ($by, $head, $part, $columns, @groups) = @_;
    my ($lines) = lines_by($by, $part, $columns, @groups);
    return @$lines ? table([$head, map { $_->[0] } @$columns], @$lines) : not_measured($part);
}

# The same, and what those rows are compared with.
sub compared_by
{
    my ($by, $head, $part, $columns, @groups) = @_;
    my (undef, @found) = lines_by($by, $part, $columns, @groups);
    return with_references(table_by(@_), @found);
}

1;
