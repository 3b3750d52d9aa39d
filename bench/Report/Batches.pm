# Blocks of a report: many messages at once.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Batches;

use strict;
use warnings;
use Exporter qw(import);
use Report::Tables;
use Results;

our @EXPORT = qw(block_batch block_batch_compared block_batch_mixed);

# By `by`: the number of messages of 16 KiB, or the bytes of a message in batches of equal number.
sub block_batch
{
    my ($by) = @_;
    my ($other, $fixed) = $by eq 'messages' ? ('bytes', 16384) : ('messages', batch_count($results));
    my (%cells, @columns);
    foreach my $memory ('device', 'pinned') {
        foreach my $cipher ('AES-256-CBC', 'AES-256-CTR') {
            push(@columns, ($cipher =~ /CBC/ ? 'CBC encryption' : 'CTR') . ", $memory memory");
            foreach my $keys (0, 1) {
                $cells{$_->{$by}}[$#columns][$keys] = number_text($_->{ours})
                    foreach grep { $_->{$other} == $fixed }
                    batch_rows($results, $keys, cipher => $cipher, memory => $memory);
            }
        }
    }
    my @rows = map {
        my $at = $_;
        [$by eq 'messages' ? $at : size_text($at), map { join(' / ', map { $_ // '-' } @{$cells{$at}[$_] // ['-']}) } 0 .. $#columns]
    } sort { $a <=> $b } keys(%cells);
    return @rows ? table([$by, @columns], @rows) : not_measured('batch');
}

# Rows compared with another way to do the same: many keys and one, a batch and one call.
sub block_batch_compared
{
    my ($against) = @_;
    return table_of('batch', ['bytes', '', 'threads', 'GB/s', $against, 'ratio'], sub {
        my ($row) = @_;
        return size_text($row->{bytes}), "$row->{cipher}, $row->{operation}", $row->{threads},
            map({ number_text($_) } @$row{'ours', 'reference'}), $row->{ratio} // '-';
    }, rows_like($results, part => 'batch', against => $against));
}

sub block_batch_mixed
{
    return table_of('batch-mixed', ['order', 'microseconds', 'over the best', 'spread'],
        sub { ($_[0]{operation}, ours_text($_[0]), $_[0]{ratio}, $_[0]{spread} // '-') },
        rows_like($results, part => 'batch-mixed'));
}

1;
