# Blocks of a report: a table of each part of the benchmark.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::Measured;

use strict;
use warnings;
use List::Util qw(max sum);
use Report::Tables;
use Results;

# A column of such cells for each mode.
sub by_mode { my ($cell) = @_; return [map { my ($name, @mode) = @$_; [$name, $cell, @mode] } @modes] }

# Of the cipher and the operation.
sub work_text { my ($row) = @_; return "$row->{cipher} $row->{operation}" }

sub cpu_text { my ($row) = @_; return join(' / ', map { number_text($_) } @$row{'cpu_ours', 'cpu_reference'}) }

# ---- One update, or one call, of AES ------------------------------------------------------

# At the largest length: bursts, sustained, the bound of tables, the part of a copy.
sub block_kernels
{
    my @sizes = sizes_of($results, part => 'kernels') or return not_measured('kernels');
    my @burst = (statistic => 'median', placement => 'out of place');
    my $bound = sub {
        my ($row) = @_;
        my $tables = one_row(part => 'limits', operation => 'tables alone', cipher => $row->{cipher} =~ s/CBC/ECB/r);
        return $tables ? number_text($tables->{ours}) : '-';
    };
    my @rows;
    foreach my $bits (128, 192, 256) {
        foreach my $mode (@modes) {
            my ($name, %mode) = @$mode;
            my %how = (part => 'kernels', bytes => $sizes[-1], %mode, cipher => $mode{cipher} =~ s/256/$bits/r);
            my $row = one_row(%how, @burst) or next;
            my ($in_place, $sustained) = map { one_row(%how, @$_) } ['statistic', 'median', 'placement', 'in place'],
                ['statistic', 'sustained', 'placement', 'out of place'];
            push(@rows, {%$row, name => "AES-$bits $name", in_place => number_text($in_place->{ours}),
                    sustained => number_text($sustained->{ours})});
        }
    }
    return table_of('kernels', \@rows, size_text($sizes[-1]) => 'name', burst => 'ours', spread => 'spread',
        'in place' => 'in_place', sustained => 'sustained', 'tables alone' => $bound,
        'of a device copy' => sub { $_[0]{ratio} ? sprintf('%.0f %%', $_[0]{ratio} * 100) : '-' });
}

sub block_kernels_by_size
{
    return table_by('bytes', 'bytes', 'kernels', by_mode('ours'), ['', placement => 'out of place', statistic => 'median']);
}

# Of one mode.
sub block_families
{
    my ($mode) = @_;
    my ($criteria) = grep { $_->[0] eq $mode } @modes;
    return table_by('bytes', 'bytes', 'families', [map { [$_, 'ours', processor => $_] } @families], ['', @$criteria[1 .. 4]]);
}

# Rows compared with another way to do the same: misaligned and aligned, EVP and bare calls, many messages
# and one call.
sub block_compared
{
    my ($part, $placement) = @_;
    my @found = rows_like($results, part => $part, placement => $placement);
    return table_of($part, \@found, bytes => 'bytes', '' => \&work_text, 'GB/s' => 'ours',
        (@found ? $found[0]{against} : '') => 'reference', ratio => 'ratio', spread => 'spread');
}

sub block_bulk
{
    my ($memory) = @_;
    my @columns = (@{by_mode(\&pair_text)}, ['CBC encrypt', \&pair_text, cipher => 'AES-256-CBC', operation => 'encrypt']);
    return compared_by('bytes', 'bytes', 'bulk', \@columns,
        map { [$_->[0], memory => $memory, placement => $_->[1]] } ['', 'out of place'], [', in place', 'in place']);
}

sub block_mixed
{
    return compared_by('bytes', 'bytes', 'mixed', by_mode(\&pair_text),
        map { [", $_", memory => $_] } 'pinned>device', 'device>pinned', 'pageable>device', 'device>pageable');
}

sub block_threads
{
    return compared_by('threads', 'threads', 'threads', by_mode(\&pair_text),
        map { [", $_", placement => $_] } 'out of place', 'in place');
}

# AES-256-ECB by one core, by all of them, and by the device.
sub block_files
{
    my %files = (part => 'files', cipher => 'AES-256-ECB');
    my $cores = max(map { $_->{threads} } rows_like($results, %files)) or return not_measured('files');
    my ($device, $pinned, $pageable) = map { [memory => $_, threads => $cores] } 'device', 'pinned', 'pageable';
    return table_by('bytes', 'bytes', 'files', [
            ['one core', 'reference', memory => 'pageable', threads => 1], ["$cores cores", 'reference', @$pageable],
            ['GPU, kernel alone', 'ours', @$device], ['pinned memory', 'ours', @$pinned],
            ['pageable memory', 'ours', @$pageable],
            ['kernel, times all cores', sub { number_text($_[0]{ratio}) }, @$device]],
        map { [", $_", %files, operation => $_] } 'encrypt', 'decrypt');
}

# CPU seconds that 10^9 bytes take: ours / the reference.
sub block_cpu
{
    return compared_by('bytes', 'bytes', 'bulk', by_mode(\&cpu_text), map {
            [", $_", memory => $_, placement => 'out of place', bytes => [map { $_ << 20 } 1, 16, 256, 1024]]
        } 'pinned', 'pageable');
}

sub block_latency
{
    my ($part) = @_;
    my $both = sub {
        my ($row) = @_;
        my $late = one_row(statistic => 'p99', map { $_ => $row->{$_} } 'part', 'cipher', 'operation', 'bytes');
        return join(' / ', map { number_text($_) } $row->{ours}, $late->{ours}, $row->{reference});
    };
    return compared_by('bytes', 'bytes', 'latency', by_mode($both), ['', part => $part, statistic => 'median']);
}

sub block_short
{
    my $both = sub { my ($row) = @_; return sprintf('%.2f (%.0f ns)', $row->{ratio}, $row->{reference}) };
    return compared_by('bytes', 'bytes', 'short', by_mode($both), map { [", a $_", placement => $_] } 'new IV', 'new context');
}

# The mean over key sizes of ours / the default provider's.
sub block_small
{
    my $mean = sub {
        my ($row) = @_;
        my @ratios = values_of($results, 'ratio', map({ $_ => $row->{$_} } 'part', 'operation', 'bytes'),
            cipher => [map { $row->{cipher} =~ s/256/$_/r } 128, 192, 256]);
        return @ratios ? sprintf('%.3f (%.0f ns)', sum(@ratios) / @ratios, $row->{reference}) : '-';
    };
    my @columns = map { ["$_->[0] $_->[1]", $mean, cipher => "AES-256-$_->[0]", operation => $_->[1]] }
        ['CTR', 'encrypt'], map { my $mode = $_; map { [$mode, $_] } 'encrypt', 'decrypt' } 'ECB', 'CBC';
    return compared_by('bytes', 'bytes', 'small', \@columns, ['']);
}

# ---- GCM ------------------------------------------------------------------------------------

# A column for each direction, and of each of some criteria: [LABEL, criteria...].
sub by_direction
{
    my ($cell, @groups) = @_;
    return [map { my ($label, @how) = @$_; map { ["$label$_", $cell, @how, operation => $_] } 'encrypt', 'decrypt' } @groups];
}

# Compared with CTR.
my $part_of_ctr = sub {
    my ($row) = @_;
    return number_text($row->{ours}) . ($row->{ratio} ? sprintf(' (%.2f)', $row->{ratio}) : '');
};

sub block_gcm_kernels
{
    return table_by('bytes', 'bytes', 'gcm-kernels',
        by_direction($part_of_ctr, map { ["AES-$_ ", cipher => "AES-$_-GCM"] } 128, 192, 256),
        ['', statistic => 'median'], [', sustained', statistic => 'sustained']);
}

# By kernels of each toolkit: those before 13.3 lack an instruction.
sub block_gcm_images
{
    my %images = map { $_->{processor} => 1 } rows_like($results, part => 'gcm-images');
    return table_by('bytes', 'bytes', 'gcm-images',
        by_direction($part_of_ctr, map { ["$_, ", processor => $_] } reverse(sort keys(%images))), ['']);
}

sub block_gcm_bulk
{
    return compared_by('bytes', 'bytes', 'gcm-bulk', by_direction(\&pair_text, map { ["$_ memory, ", memory => $_] } 'pinned', 'pageable'),
        ['']);
}

sub block_gcm_small
{
    my $time = sub { my ($row) = @_; return $row->{ratio} ? sprintf('%.3f (%.0f ns)', @$row{'ratio', 'reference'}) : '-' };
    return compared_by('bytes', 'bytes', 'gcm-small', by_direction($time, ['']), ['']);
}

# ---- Base64 ---------------------------------------------------------------------------------

sub block_base64
{
    return compared_by('bytes', 'bytes', 'base64',
        [map { [$_, \&pair_text, operation => $_] } 'encode', 'encode, lines of 64', 'decode'],
        map { [", $_", memory => $_] } 'pinned', 'pageable');
}

sub block_base64_kernels
{
    return table_by('bytes', 'bytes', 'base64-kernels',
        [map { [$_, 'ours', operation => $_] } 'encode', 'encode, lines of 64', 'encode, lines of 76', 'decode'], ['']);
}

# ---- Many messages at once ----------------------------------------------------------------------

# By the number of messages of 16 KiB, or the bytes of a message in batches of equal number: with one
# key / with a key for each message.
sub block_batch
{
    my ($by) = @_;
    my $both = sub {
        my ($row) = @_;
        my $keyed = one_row(%$row{'part', 'cipher', 'memory', 'bytes', 'messages', 'flight', 'threads'}, keys => 1);
        return join(' / ', map { number_text($_->{ours}) } $row, grep { defined } $keyed);
    };
    my @columns = map {
        my $memory = $_;
        ["CBC encryption, $memory memory", $both, cipher => 'AES-256-CBC', memory => $memory],
        ["CTR, $memory memory", $both, cipher => 'AES-256-CTR', memory => $memory]
    } 'device', 'pinned';
    return table_by($by, $by, 'batch', \@columns, ['', batches_by($results, $by), keys => 0]);
}

# Rows compared with another way to do the same: many keys and one, a batch and one call.
sub block_batch_compared
{
    my ($against) = @_;
    return table_of('batch', [rows_like($results, part => 'batch', against => $against)], bytes => 'bytes',
        '' => sub { "$_[0]{cipher}, $_[0]{operation}" }, threads => 'threads', 'GB/s' => 'ours', $against => 'reference',
        ratio => 'ratio');
}

# Messages of GCM, compared with as many of CTR.
sub block_batch_gcm
{
    my $part_of_ctr = sub { my ($row) = @_; return pair_text($row) =~ s/ \*.*//r . ($row->{ratio} ? sprintf(' (%.2f)', $row->{ratio}) : '') };
    return table_by('messages', 'messages', 'batch-gcm', [map { my $way = $_; [$way, $part_of_ctr, operation => sub { $_[0] =~ /^$way,/ }] }
                'encrypt', 'decrypt'], ['']);
}

# Of messages that arrays in device memory describe.
sub block_messages_time
{
    return table_of('messages-time', [rows_like($results, part => 'messages-time')], bytes => 'bytes', '' => \&work_text,
        microseconds => 'ours', 'one call over the same bytes' => 'reference');
}

# ---- CTR with read-ahead --------------------------------------------------------------------------

sub block_read_ahead
{
    return compared_by('bytes', 'bytes', 'read-ahead', [['one buffer', \&ratio_text, memory => 'pageable'],
            ['all of 1 GiB', \&ratio_text, memory => 'pageable, cold']], ['', operation => 'encrypt']);
}

sub block_read_ahead_streams
{
    my @rate = (operation => 'encrypt, streams');
    return compared_by('threads', 'streams', 'read-ahead', [['GB/s together', \&ratio_text, @rate], ['spread', 'spread', @rate],
            ['CPU s for 10^9 bytes', \&cpu_text, @rate], ['pinned, MiB', 'ours', operation => 'pinned memory, streams'],
            ['% from keystream', 'ours', operation => 'bytes read ahead of, streams']], ['', @rate]);
}

# ---- Whole programs ---------------------------------------------------------------------------------

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
    return with_references(table_of('speed', \@found, program => \&program_text, ours => 'ours', default => 'reference',
        unit => 'unit', ratio => 'ratio', spread => 'spread', by => 'processor'), @found);
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
    return with_references(table_of('tool', \@found, cipher => 'cipher', what => 'operation', bytes => 'bytes',
        'from, to' => \&way_text, threads => 'threads', 'GB/s' => 'ours', reference => 'reference', ratio => 'ratio'),
        @found);
}

sub block_python
{
    my @found = rows_like($results, part => 'python');
    return table_of('python', \@found, cipher => 'cipher', what => 'operation', bytes => 'bytes', ours => 'ours',
        reference => 'reference', unit => 'unit', ratio => 'ratio', 'compared with' => 'against');
}

# A rate may be of what the format's own package does, and some rows have only ours.
sub block_formats
{
    return table_of('formats', [rows_like($results, part => 'formats')], what => 'operation', bytes => 'bytes',
        'from, to' => \&way_text, gpuaes => 'ours', other => 'reference', unit => 'unit', ratio => 'ratio',
        spread => 'spread', 'compared with' => 'against');
}

sub block_streams
{
    my @whole = (operation => 'whole process');
    return table_by('bytes', 'bytes', 'streams', [['whole process, ms', \&ratio_text, @whole], ['spread', 'spread', @whole],
            ['exit, ms', \&pair_text, operation => 'exit'], ["GPU's start, ms", 'ours', operation => 'start of the GPU'],
            ['MiB before read-ahead', 'ours', operation => 'before read-ahead']], ['', threads => 1, @whole]);
}

sub block_memory
{
    return table_of('memory', [rows_like($results, part => 'memory')], 'the process' => 'operation',
        'memory of the GPU in use' => sub { "$_[0]{ours} MiB" });
}

# ---- Several GPUs, and the rest ------------------------------------------------------------------------

sub block_devices
{
    return table_of('devices', [rows_like($results, part => 'devices')], GPUs => 'devices', bytes => 'bytes',
        '' => \&work_text, memory => sub { "$_[0]{memory}, $_[0]{placement}" }, 'GB/s' => 'ours', 'one GPU' => 'reference',
        ratio => sub { number_text($_[0]{ratio}) }, spread => 'spread');
}

sub block_rest
{
    my $what = sub {
        my ($row) = @_;
        my $text = $row->{part} eq 'pinned' ? 'pinned memory that the library held at most'
            : join(', ', grep { defined } @$row{'operation', 'statistic'});
        return $row->{bytes} ? $text . ', updates of ' . size_text($row->{bytes}) : $text;
    };
    return table_of('start', [rows_like($results, part => ['pinned', 'start', 'load'])], what => $what, ours => 'ours',
        reference => 'reference', unit => 'unit', 'reference is' => 'against');
}

1;
