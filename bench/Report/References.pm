# Blocks of a report: what others published, in their form, together with ours.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::References;

use strict;
use warnings;
use Exporter qw(import);
use List::Util qw(max);
use Published;
use Report::Tables;
use Results;

our @EXPORT = qw(block_published block_encoders block_offload block_offload_streams block_power block_files
    block_file_programs block_tables block_reads block_expansion block_expansion_device block_expansion_message block_payload);

# ours / published; the latter as it was.
sub with_published
{
    my ($ours, $published) = @_;
    return number_text($ours) . ' / ' . ($published // '-');
}

sub percent_text { my ($part) = @_; return sprintf('%.0f %%', 100 * $part) }

# Of such rows, the most in a column; undef where there are none.
sub most_of
{
    my ($column, %how) = @_;
    return max(values_of($results, $column, %how));
}

# AES-128-CTR as the library chooses, in memory of that kind: what published kernels were
# compared with, and what other parts have of it.
sub most_ctr
{
    my ($memory) = @_;
    my %how = (cipher => 'AES-128-CTR', memory => $memory);
    return max(grep { defined } most_of('reference', %how, part => 'tables'), most_of('ours', %how, part => ['kernels', 'bulk']));
}

# A table of published figures stands without ours as well, and says so.
sub published_table
{
    my ($part, $head, @rows) = @_;
    my $missing = rows_like($results, part => $part) ? '' : "\n" . not_measured($part);
    return table($head, @rows) . $missing;
}

# ---- In short -----------------------------------------------------------------------

sub block_published
{
    my %base64 = (part => 'encoders', operation => 'encode, asynchronous', memory => 'pageable', bytes => 36 * $MIB);
    my @rows = (
        ['Base64 of 36 MB of pageable memory, asynchronous, ms', $encoders{'encode, asynchronous'}{36 * $MIB},
            most_of('ours', %base64)],
        ['Base64 of 300 MB over the bus, read and written, GB/s', $offload{'encode, scalar'}{3e8},
            most_of('ours', part => 'offload', operation => 'encode, libgpuaes', bytes => 3e8)],
        ['AES-256, the kernel alone, times all cores of the CPU', $crowd,
            most_of('ratio', part => 'files', memory => 'device', operation => 'encrypt')],
        ['AES-128-CTR without transfers, GB/s', $ctr{device}, most_ctr('device')],
        ['AES-128-CTR with transfers, GB/s', $ctr{pinned}, most_ctr('pinned')],
        ['messages in CTR, one call, with transfers, GB/s', $payload{rate},
            most_of('ours', part => 'batch', memory => 'pinned', cipher => 'AES-256-CTR')]);
    return table(['', 'published', 'here', 'times'], map {
        my ($what, $published, $ours) = @$_;
        my $times = $ours ? $what =~ / ms$/ ? $published / $ours : $ours / $published : undef;
        [$what, $published =~ /\.\d{3}/ ? number_text($published) : $published,
            defined($ours) ? number_text($ours) : 'not measured', number_text($times)]
    } @rows);
}

# ---- Base64 ---------------------------------------------------------------------------

# Milliseconds, and those of 2011 to 2013; the library's are what the plain encoder was compared with.
sub block_encoders
{
    my @columns = (
        ['plain encoder', 'ours', 'encode, plain', 'pageable'],
        ['GPU, synchronous', 'ours', 'encode, synchronous', 'pageable'],
        ['GPU, asynchronous', 'ours', 'encode, asynchronous', 'pageable'],
        ['the same, pinned memory', 'ours', 'encode, asynchronous', 'pinned'],
        ['library', 'reference', 'encode, plain', 'pageable', 'encode, library']);
    my %sizes = map { $_ => 1 } keys(%{$encoders{'encode, plain'}}), sizes_of($results, part => 'encoders');
    return published_table('encoders', ['bytes', map { $_->[0] } @columns], map {
        my $bytes = $_;
        [size_text($bytes), map {
            my (undef, $column, $operation, $memory, $published) = @$_;
            my $row = one_row(part => 'encoders', bytes => $bytes, operation => $operation, memory => $memory);
            with_published($row ? $row->{$column} : undef, $encoders{$published // $operation}{$bytes})
        } @columns]
    } sort { $a <=> $b } keys(%sizes));
}

# 300000000 is 300 MB: others count so.
sub decimal_text
{
    my ($bytes) = @_;
    return $bytes >= 1e6 ? $bytes / 1e6 . ' MB' : $bytes / 1e3 . ' KB';
}

sub block_offload
{
    my @ways = ('scalar', 'vector', 'libgpuaes', 'EVP_EncodeBlock');
    my %sizes = map { $_ => 1 } keys(%{$offload{'encode, scalar'}}), sizes_of($results, part => 'offload');
    return published_table('offload', ['bytes', @ways], map {
        my $bytes = $_;
        [decimal_text($bytes), map {
            my $row = one_row(part => 'offload', operation => "encode, $_", bytes => $bytes);
            my $published = $offload{"encode, $_"};
            $published ? with_published($row ? $row->{ours} : undef, $published->{$bytes}) : ours_text($row)
        } @ways]
    } sort { $a <=> $b } keys(%sizes));
}

sub block_offload_streams
{
    return published_table('offload-streams', ['streams', 'GB/s', 'speed-up', 'efficiency'], map {
        my $row = one_row(part => 'offload-streams', threads => $_);
        my $ratio = $row ? $row->{ratio} : undef;
        [$_, ours_text($row), with_published($ratio, $speed_up{$_}),
            ($row ? percent_text($ratio / $_) : '-') . ' / ' . percent_text($speed_up{$_} / $_)]
    } sort { $a <=> $b } keys(%speed_up));
}

sub block_power
{
    my (%watts, @operations);
    foreach my $row (rows_like($results, part => 'power')) {
        push(@operations, $row->{operation}) if !$watts{$row->{operation}};
        $watts{$row->{operation}}{$row->{statistic}} = $row->{ours};
    }
    my @statistics = ('least', 'mean', 'most');
    return @operations
        ? table(['watts while', @statistics],
            map { my $operation = $_; [$operation, map { number_text($watts{$operation}{$_}) } @statistics] } @operations)
        : not_measured('power');
}

# ---- AES over the size of a file --------------------------------------------------------

sub block_files
{
    my %files = (part => 'files', cipher => 'AES-256-ECB');
    my $cores = max(map { $_->{threads} } rows_like($results, %files)) or return not_measured('files');
    my @rows;
    foreach my $operation ('encrypt', 'decrypt') {
        foreach my $bytes (sizes_of($results, %files, operation => $operation)) {
            my %how = (%files, operation => $operation, bytes => $bytes);
            my $one = one_row(%how, memory => 'pageable', threads => 1);
            my ($kernel, $pinned, $pageable) = map { one_row(%how, memory => $_, threads => $cores) }
                'device', 'pinned', 'pageable';
            push(@rows, [size_text($bytes) . ", $operation", map({ number_text($_ ? $_->{reference} : undef) } $one, $pageable),
                map({ ours_text($_) } $kernel, $pinned, $pageable), number_text($kernel ? $kernel->{ratio} : undef)]);
        }
    }
    return table(['bytes', 'one core', "$cores cores", 'GPU, kernel alone', 'pinned memory', 'pageable memory',
        'kernel, times all cores'], @rows);
}

# From file to file, by the command.
sub block_file_programs
{
    my @found = rows_like($results, part => 'files', operation => 'encrypt, gpuaes enc');
    return table_of('files', ['bytes', '', '`gpuaes enc`', @found ? $found[0]{against} : '', 'times', 'spread'], sub {
        my ($row) = @_;
        return size_text($row->{bytes}), $row->{memory}, map({ number_text($_) } @$row{'ours', 'reference', 'ratio'}),
            $row->{spread} // '-';
    }, @found);
}

# ---- AES-CTR with tables in each memory ----------------------------------------------------

my @tables = ('constant, 1 table', 'constant, 4 tables', 'shared, 1 table', 'shared, 1 table x 16', 'shared, 1 table x 32',
    'shared, 4 tables', 'read-only, 1 table', 'read-only, 4 tables');

# GB/s at most over size: of 2008, of its kernels here, and of ours.
sub block_tables
{
    my %how = (part => 'tables', cipher => 'AES-128-CTR');
    my $cpu = most_of('reference', part => 'bulk', cipher => 'AES-128-CTR');
    my @rows = map {
        [$_, map({ number_text($_) } most_of('ours', %how, operation => $_, memory => 'device'),
            most_of('ours', %how, operation => "$_, resident", memory => 'device'),
            most_of('ours', %how, operation => $_, memory => 'pinned'))]
    } @tables;
    push(@rows, map {
        my $most = most_of('ours', %how, operation => "gpuaes, $_");
        $most ? ["gpuaes, `$_`", '-', number_text($most), '-'] : ()
    } 'small', 'two_table', 'large', 'hybrid');
    push(@rows,
        ['gpuaes, as it chooses', '-', map { number_text(most_ctr($_)) } 'device', 'pinned'],
        ['one core, default provider', number_text($cpu), '-', '-'],
        ['published: shared, 4 tables', number_text($ctr{device}), '-', number_text($ctr{pinned})],
        ['published: CPU', number_text($ctr{cpu}), '-', '-']);
    return published_table('tables',
        ['tables in', 'without transfers', 'the same, each block resident', 'with transfers'], @rows);
}

# 10^9 reads a second.
sub block_reads
{
    my @memories = ('constant', 'shared', 'read-only');
    my (@rows, %seen);
    foreach my $row (rows_like($results, part => 'reads')) {
        my %how = (part => 'reads', operation => $row->{operation}, bytes => $row->{bytes});
        push(@rows, [size_text($row->{bytes}) . ", $row->{operation}", map { ours_text(one_row(%how, memory => $_)) } @memories])
            if !$seen{"$row->{operation} $row->{bytes}"}++;
    }
    return @rows ? table(['table', @memories], @rows) : not_measured('reads');
}

# ---- Expansion of keys ------------------------------------------------------------------------

my @ciphers = ('AES-128', 'AES-192', 'AES-256');

# Nanoseconds a key on the CPU.
sub block_expansion
{
    my @found = rows_like($results, part => 'expansion', operation => 'on the CPU');
    return table_of('expansion', ['key', 'ours, both directions', @found ? $found[0]{against} : ''],
        sub { ($_[0]{cipher}, map { number_text($_) } @{$_[0]}{'ours', 'reference'}) }, @found);
}

# Nanoseconds a key of many on the device / on one core.
sub block_expansion_device
{
    my %counts = map { $_->{operation} =~ /^on the device, (\d+) keys$/ ? ($1 => 1) : () }
        rows_like($results, part => 'expansion');
    my @rows = map {
        my $count = $_;
        my %how = (part => 'expansion', operation => "on the device, $count keys");
        [$count, map { pair_text(one_row(%how, cipher => $_)) =~ s/ \*.*//r } @ciphers]
    } sort { $a <=> $b } keys(%counts);
    return @rows ? table(['keys at once', @ciphers], @rows) : not_measured('expansion');
}

# Microseconds of a message whose key each block of threads expands / whose key the CPU does.
sub block_expansion_message
{
    return table_of('expansion', ['bytes', '', 'in each block', 'on the CPU', 'ratio'], sub {
        my ($row) = @_;
        return size_text($row->{bytes}), $row->{cipher} . ($row->{operation} =~ /resident/ ? ', resident' : ''),
            map({ number_text($_) } @$row{'ours', 'reference'}), $row->{ratio} // '-';
    }, rows_like($results, part => 'expansion', operation => sub { $_[0] =~ /^message/ }));
}

# ---- Payloads ---------------------------------------------------------------------------------

# What messages with descriptors cost compared with one call.
sub block_payload
{
    my %cost = %{$payload{cost}};
    return published_table('batch', ['messages of', 'cost, published', 'cost here'], map {
        my ($ratio) = values_of($results, 'ratio', part => 'batch', bytes => $_, against => 'one call over the same bytes');
        my $here = defined($ratio) ? $ratio < 1 ? percent_text(1 - $ratio) : 'none' : '-';
        [size_text($_), percent_text($cost{$_}), $here]
    } sort { $b <=> $a } keys(%cost));
}

1;
