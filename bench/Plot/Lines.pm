# Lines of figures, out of a run's rows.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Plot::Lines;

use strict;
use warnings;
use Exporter qw(import);
use Results;

our @EXPORT = qw($results %size_axis curve limit curves_of_modes both_sides with_rows);

# Of read_results().
our $results;

our %size_axis = (
    xlabel => 'bytes of one update',
    xlog => 1,
    ylabel => 'GB/s of plaintext');

# A line of the rows that are like this: {name, points => [[x, y]...]}; undef if there are none.
sub curve
{
    my ($name, %how) = @_;
    my $x = delete($how{x}) // 'bytes';
    my $y = delete($how{y}) // 'ours';
    my @points = sort { $a->[0] <=> $b->[0] }
        map { [$_->{$x}, $_->{$y}] }
        grep { defined($_->{$y}) } rows_like($results, statistic => 'median', %how);
    return @points ? {name => $name, points => \@points, reference => $y eq 'reference'} : undef;
}

# A limit, as a horizontal line: the most that was measured.
sub limit
{
    my ($name, $factor, %how) = @_;
    my @levels = sort { $b <=> $a } values_of($results, 'ours', part => 'limits', %how);
    return @levels ? {name => $name, level => $levels[0] * $factor} : undef;
}

sub curves_of_modes
{
    my ($name, @how) = @_;
    return map { my ($mode, @mode) = @$_; curve(sprintf($name, $mode), @how, @mode) } @modes;
}

# A line for each side.
sub both_sides
{
    my ($name, @how) = @_;
    return (curve($name, @how), curve("$name, default", @how, y => 'reference'));
}

# What FUNCTION returns where the run had these rows alone.
sub with_rows
{
    my ($rows, $function) = @_;
    local $results = {%$results, rows => $rows};
    return $function->();
}

1;
