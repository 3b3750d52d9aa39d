# Blocks of a report: what others published, in their form, together with ours.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Report::References;

use strict;
use warnings;
use List::Util qw(max);
use Published;
use Report::Tables;
use Results;

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

# Lines of LABEL and of a cell for each column, [HEAD, its figure, criteria..., published => {by bytes}], at the
# sizes that were published or measured. Ours stand with the published, where there are any.
sub sizes_with_published
{
    my ($part, $label, $published, @columns) = @_;
    my %sizes = map { $_ => 1 } keys(%$published), sizes_of($results, part => $part);
    return published_table($part, ['bytes', map { $_->[0] } @columns], map {
        my $bytes = $_;
        [$label->($bytes), map {
            my (undef, $figure, $theirs, @how) = @$_;
            my ($row) = rows_like($results, part => $part, bytes => $bytes, @how);
            $theirs ? with_published($row->{$figure}, $theirs->{$bytes}) : number_text($row->{$figure})
        } @columns]
    } sort { $a <=> $b } keys(%sizes));
}

# Milliseconds, and those of 2011 to 2013; the library's are what the plain encoder was compared with.
sub block_encoders
{
    my ($plain, $synchronous, $asynchronous) = map { "encode, $_" } 'plain', 'synchronous', 'asynchronous';
    return sizes_with_published('encoders', \&size_text, $encoders{$plain},
        ['plain encoder', 'ours', $encoders{$plain}, operation => $plain, memory => 'pageable'],
        ['GPU, synchronous', 'ours', $encoders{$synchronous}, operation => $synchronous, memory => 'pageable'],
        ['GPU, asynchronous', 'ours', $encoders{$asynchronous}, operation => $asynchronous, memory => 'pageable'],
        ['the same, pinned memory', 'ours', $encoders{$asynchronous}, operation => $asynchronous, memory => 'pinned'],
        ['library', 'reference', $encoders{'encode, library'}, operation => $plain, memory => 'pageable']);
}

# 300000000 is 300 MB: others count so.
sub decimal_text
{
    my ($bytes) = @_;
    return $bytes >= 1e6 ? $bytes / 1e6 . ' MB' : $bytes / 1e3 . ' KB';
}

sub block_offload
{
    return sizes_with_published('offload', \&decimal_text, $offload{'encode, scalar'},
        map { [$_, 'ours', $offload{"encode, $_"}, operation => "encode, $_"] } 'scalar', 'vector', 'libgpuaes', 'EVP_EncodeBlock');
}

sub block_offload_streams
{
    return published_table('offload-streams', ['streams', 'GB/s', 'speed-up', 'efficiency'], map {
        my $row = one_row(part => 'offload-streams', threads => $_);
        my $ratio = $row->{ratio};
        [$_, number_text($row->{ours}), with_published($ratio, $speed_up{$_}),
            ($ratio ? percent_text($ratio / $_) : '-') . ' / ' . percent_text($speed_up{$_} / $_)]
    } sort { $a <=> $b } keys(%speed_up));
}

sub block_power
{
    my %watts;
    $watts{$_->{operation}}{$_->{statistic}} = number_text($_->{ours}) foreach rows_like($results, part => 'power');
    my @while = grep { $watts{$_} } 'nothing', 'encode, scalar', 'encode, libgpuaes';
    return table_of('power', [map { {%{$watts{$_}}, while => $_} } @while], 'watts while' => 'while',
        map { $_ => $_ } 'least', 'mean', 'most');
}

# ---- AES over the size of a file --------------------------------------------------------

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

# From file to file, by the command.
sub block_file_programs
{
    my @found = rows_like($results, part => 'files', operation => 'encrypt, gpuaes enc');
    return table_of('files', \@found, bytes => 'bytes', '' => 'memory', '`gpuaes enc`' => 'ours',
        (@found ? $found[0]{against} : '') => 'reference', times => sub { number_text($_[0]{ratio}) }, spread => 'spread');
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
    } @families);
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
    return table_by('bytes', 'table', 'reads', [map { [$_, 'ours', memory => $_] } 'constant', 'shared', 'read-only'],
        map { [", $_", operation => $_] } 'coherent', 'random', 'random, a bank a lane');
}

# ---- Expansion of keys ------------------------------------------------------------------------

# Nanoseconds a key on the CPU.
sub block_expansion
{
    my @found = rows_like($results, part => 'expansion', operation => 'on the CPU');
    return table_of('expansion', \@found, key => 'cipher', 'ours, both directions' => 'ours',
        (@found ? $found[0]{against} : '') => 'reference');
}

# Microseconds of a message whose key each block of threads expands / whose key the CPU does.
sub block_expansion_message
{
    return table_of('expansion', [rows_like($results, part => 'expansion', operation => sub { $_[0] =~ /^message/ })],
        bytes => 'bytes', '' => sub { $_[0]{cipher} . ($_[0]{operation} =~ /resident/ ? ', resident' : '') },
        'in each block' => 'ours', 'on the CPU' => 'reference', ratio => 'ratio');
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
