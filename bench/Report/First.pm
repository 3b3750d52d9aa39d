# Blocks of the first page of a report: a sentence on each of its figures, and which code was measured.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::First;

use strict;
use warnings;
use File::Basename qw(basename);
use List::Util qw(first max min);
use POSIX qw(floor);
use Report::Tables;
use Results;

my @out_of_place = (statistic => 'median', placement => 'out of place');
# As `plot` has them on the first page.
my @first = (
    ['CTR', cipher => 'AES-256-CTR', operation => 'encrypt'],
    ['GCM', cipher => 'AES-256-GCM', operation => 'encrypt'],
    ['CBC decryption', cipher => 'AES-256-CBC', operation => 'decrypt'],
    ['ECB', cipher => 'AES-256-ECB', operation => 'encrypt']);

sub by_size
{
    my (@how) = @_;
    return sort { $a->{bytes} <=> $b->{bytes} } grep { defined($_->{ours}) } rows_like($results, @how);
}

# The least size from which on every row of these lists passes the test; undef if the last of one does not.
sub size_from
{
    my ($passes, @lists) = @_;
    my $from = 0;
    foreach my $list (@lists) {
        my ($row) = reverse(@$list);
        foreach my $next (reverse(@$list)) {
            last if !$passes->($next, $list);
            $row = $next;
        }
        return if !@$list || !$passes->($row, $list);
        $from = max($from, $row->{bytes});
    }
    return $from || undef;
}

# "1.28 to 3.36"; one figure where they look the same.
sub range
{
    my ($least, $most) = map { number_text($_) } min(@_), max(@_);
    return $least eq $most ? $least : "$least to $most";
}

sub listed { my (@texts) = @_; my $last = pop(@texts); return @texts ? join(', ', @texts) . " and $last" : $last }

# ---- A sentence on a figure -------------------------------------------------------------

sub conclude_device
{
    my @lists = grep { @$_ } map { my (undef, @mode) = @$_; [by_size(part => ['kernels', 'gcm-kernels'], memory => 'device', @out_of_place, @mode)] }
        @first or return;
    my ($bytes) = max(map { $_->[-1]{bytes} } @lists);
    my @rates = map {
        my ($name, @mode) = @$_;
        my $row = one_row(part => ['kernels', 'gcm-kernels'], @out_of_place, bytes => $bytes, @mode);
        $row ? "$name " . number_text($row->{ours}) : ()
    } @first;
    my $from = size_from(sub { $_[0]{ours} >= $_[1][-1]{ours} / 2 }, @lists);
    return sprintf('One call on %s does, in GB/s, %s; from %s on all are at half of that or more.', size_text($bytes), listed(@rates),
        size_text($from));
}

# Rows of three modes in host memory, by size, a list for each.
sub updates
{
    my ($memory) = @_;
    return grep { @$_ } map { my (undef, @mode) = @$_;
        [grep { $_->{ratio} } by_size(part => ['bulk', 'gcm-bulk'], memory => $memory, @out_of_place, @mode)] } @first[0 .. 2];
}

# Of the sizes from which on all are faster, and of the largest.
sub faster
{
    my (@lists) = @_;
    my $from = size_from(sub { $_[0]{ratio} >= 1.05 }, @lists);
    return ($from ? 'From ' . size_text($from) . ' on' : 'There is no size from which on')
        . ' CTR, GCM encryption and CBC decryption are each faster, out of place, than the default provider; the largest update runs at '
        . range(map { $_->[-1]{ours} } @lists) . ' GB/s, ' . range(map { $_->[-1]{ratio} } @lists) . ' times its rate';
}

sub conclude_pinned
{
    my @lists = updates('pinned') or return;
    my @bus = values_of($results, 'ours', part => 'limits', operation => 'both ways, each');
    return faster(@lists) . (@bus ? ' (the bus carries ' . number_text(max(@bus)) . ' each way)' : '') . '.';
}

sub conclude_pageable
{
    my @lists = updates('pageable') or return;
    my $worst = min(map { map { $_->{ratio} } @$_ } @lists);
    return faster(@lists) . sprintf(', and no size of these three is below %.2f of it.', floor($worst * 100) / 100);
}

sub conclude_speed
{
    my @rows = grep { $_->{ratio} } by_size(part => 'speed', threads => 1, operation => ['encrypt', 'decrypt']) or return;
    my @ahead = grep { ($_->{processor} // '') eq 'read-ahead' } @rows;
    my @others = map { $_->{ratio} } grep { ($_->{processor} // '') ne 'read-ahead' } @rows;
    my @sorted = sort { $a <=> $b } @others;
    my $others = @sorted ? sprintf('at %.2f times', $sorted[$#sorted / 2]) . (@sorted > 1 ? ' (' . range(@sorted) . ')' : '') : '';
    return "No update was combined with keystream of the GPU; all ran $others the rate of the default provider." if !@ahead;
    return sprintf('CTR updates of %s to %s run at %s times the default provider\'s rate, the GPU\'s start included%s.',
        map({ size_text($_->{bytes}) } @ahead[0, -1]), range(map { $_->{ratio} } @ahead),
        $others && "; the CPU does shorter ones and other modes, $others its rate");
}

sub conclude_messages
{
    my %of = map { my ($name, @how) = @$_; ($name => [by_size(keys => 0, memory => 'device', @how)]) }
        [ctr => part => 'messages', cipher => 'AES-256-CTR'],
        [gcm => part => 'messages', cipher => 'AES-256-GCM', operation => sub { $_[0] =~ /^encrypt/ }],
        [batch => batches_by($results, 'bytes'), cipher => 'AES-256-CTR'],
        [serial => part => 'batch', threads => 1, flight => 4, cipher => 'AES-256-CBC'];
    my ($small) = grep { my $row = $_; first { $_->{bytes} == $row->{bytes} } @{$of{batch}} } @{$of{ctr}} or return;
    my ($batch) = grep { $_->{bytes} == $small->{bytes} } @{$of{batch}};
    my ($gcm) = grep { $_->{bytes} == $small->{bytes} } @{$of{gcm}};
    my $largest = $of{batch}[-1];
    my ($serial) = sort { $b->{ours} <=> $a->{ours} } grep { $_->{reference} } @{$of{serial}};
    return sprintf('Messages of %s that are described in device memory run at %s GB/s in CTR%s, %s times the rate of batches that '
            . 'the host describes; such batches do %s with messages of %s%s.', size_text($small->{bytes}), number_text($small->{ours}),
        $gcm ? ' and ' . number_text($gcm->{ours}) . ' in GCM' : '', number_text($small->{ours} / $batch->{ours}), number_text($largest->{ours}),
        size_text($largest->{bytes}),
        $serial ? ', and at most ' . number_text($serial->{ours}) . ' in CBC encryption (one core: ' . number_text($serial->{reference}) . ')' : '');
}

my %conclusions = (device => \&conclude_device, pinned => \&conclude_pinned, pageable => \&conclude_pageable, speed => \&conclude_speed,
    messages => \&conclude_messages);

# Of the figure of that name.
sub block_conclusion
{
    my ($name) = @_;
    return ($conclusions{$name}->() // '*Not in this run.*') . "\n";
}

# ---- What was measured --------------------------------------------------------------------

# The revision of all files, or that they are of several.
sub block_revision
{
    my %files;
    foreach my $i (0 .. $#{$results->{files}}) {
        my ($revision) = @{$results->{head}[$i]{revision} // []};
        push(@{$files{defined($revision) && $revision ne 'unknown' ? "`$revision`" : 'not named'}}, '`' . basename($results->{files}[$i]) . '`');
    }
    my @revisions = sort { @{$files{$b}} <=> @{$files{$a}} || $a cmp $b } keys(%files);
    return $revisions[0] eq 'not named' ? "The files do not name the revision that was measured: figures are of the code of the date of their file.\n"
        : "All figures are of revision $revisions[0].\n" if @revisions == 1;
    return '**The files are of different revisions**, so figures of different files are not of the same code: '
        . join('; ', map { "$_ (" . join(', ', @{$files{$_}}) . ')' } @revisions) . ".\n";
}

1;
