# Figures of what others published, together with ours.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Plot::References;

use strict;
use warnings;
use Exporter qw(import);
use List::Util qw(max);
use Plot::Lines;
use Published;
use Results;

our @EXPORT = qw(reference_figures);

# A line of published figures, {x => y}, that looks like ours of that number but for its dots.
sub published
{
    my ($look, $name, $figures) = @_;
    return {name => "published: $name", reference => 1, look => $look,
        points => [map { [$_, $figures->{$_}] } sort { $a <=> $b } keys(%$figures)]};
}

# Those, less all where none of ours was measured.
sub with_ours
{
    my (@lines) = grep { defined } @_;
    return (grep { !$_->{reference} && $_->{points} } @lines) ? @lines : ();
}

sub encoders
{
    my %how = (part => 'encoders', memory => 'pageable');
    return with_ours(
        curve('plain', %how, operation => 'encode, plain'),
        curve('GPU, synchronous', %how, operation => 'encode, synchronous'),
        curve('GPU, asynchronous', %how, operation => 'encode, asynchronous'),
        curve('the same, pinned memory', %how, operation => 'encode, asynchronous', memory => 'pinned'),
        curve('EVP_EncodeBlock', %how, operation => 'encode, plain', y => 'reference'),
        published(0, 'plain', $encoders{'encode, plain'}),
        published(1, 'GPU, synchronous', $encoders{'encode, synchronous'}),
        published(2, 'GPU, asynchronous', $encoders{'encode, asynchronous'}),
        published(4, 'library', $encoders{'encode, library'}));
}

sub offload
{
    my %how = (part => 'offload', statistic => 'sustained');
    return with_ours(
        (map { curve($_, %how, operation => "encode, $_") } 'scalar', 'vector', 'libgpuaes', 'EVP_EncodeBlock'),
        published(0, 'scalar', $offload{'encode, scalar'}),
        published(1, 'vector', $offload{'encode, vector'}));
}

sub offload_streams
{
    return with_ours(curve('speed-up', part => 'offload-streams', x => 'threads', y => 'ratio'),
        published(0, 'speed-up', \%speed_up));
}

sub files
{
    my %files = (part => 'files', cipher => 'AES-256-ECB');
    my $cores = max(map { $_->{threads} } rows_like($results, %files)) or return ();
    my %how = (%files, operation => 'encrypt', threads => $cores);
    return (
        curve('GPU, kernel alone', %how, memory => 'device'),
        curve('GPU, pinned memory', %how, memory => 'pinned'),
        curve('GPU, pageable memory', %how, memory => 'pageable'),
        curve("$cores cores", %how, memory => 'pageable', y => 'reference'),
        curve('one core', %how, memory => 'pageable', threads => 1, y => 'reference'));
}

# Ours as it chooses, out of what the published kernels are compared with.
sub ours_of_tables
{
    my ($name, $memory) = @_;
    my $line = curve($name, part => 'tables', cipher => 'AES-128-CTR', memory => $memory, operation => 'shared, 4 tables',
        y => 'reference') or return;
    return {%$line, reference => 0};
}

# By the memory of the data: of the device, or pinned, which means with transfers.
sub tables
{
    my ($memory, $published) = @_;
    my %how = (part => 'tables', cipher => 'AES-128-CTR', memory => $memory);
    return (
        ours_of_tables('gpuaes', $memory),
        (map { curve($_, %how, operation => $_) } 'shared, 4 tables', 'shared, 1 table', 'shared, 1 table x 16',
            'shared, 1 table x 32', 'constant, 1 table', 'constant, 4 tables', 'read-only, 1 table', 'read-only, 4 tables'),
        {name => 'published: shared, 4 tables', level => $published});
}

# Ours with and without transfers, and the best of the published ones.
sub tables_of_ours
{
    my %how = (part => 'tables', cipher => 'AES-128-CTR', memory => 'device');
    return (
        ours_of_tables('gpuaes', 'device'),
        (map { curve("gpuaes, $_", %how, operation => "gpuaes, $_") } 'small', 'two_table', 'large', 'hybrid'),
        curve('shared, 4 tables', %how, operation => 'shared, 4 tables'),
        ours_of_tables('gpuaes, with transfers', 'pinned'),
        curve('shared, 4 tables, with transfers', %how, operation => 'shared, 4 tables', memory => 'pinned'),
        {name => 'published', level => $ctr{device}, look => 5},
        {name => 'published, with transfers', level => $ctr{pinned}, look => 7});
}

# [NAME, TITLE, AXIS, [LINES]] of each.
sub reference_figures
{
    my %size = (xlabel => 'bytes', xlog => 1, ylog => 1);
    my %text = (%size, ylabel => 'GB/s read and written');
    my %aes = (%size, ylabel => 'GB/s of plaintext');
    return (
        [encoders => 'Base64 of 1 to 36 MB', {%size, ylabel => 'milliseconds'}, [encoders()]],
        [offload => 'Base64 between pinned memory, transfers included', \%text, [offload()]],
        ['offload-streams' => 'Base64 of 300 MB, cut for several streams',
            {xlabel => 'streams', xlog => 1, ylabel => 'rate over that of one stream'}, [offload_streams()]],
        [files => 'AES-256-ECB encryption of files in memory', \%aes, [files()]],
        [tables => 'AES-128-CTR by where tables lie, without transfers', \%aes, [tables('device', $ctr{device})]],
        ['tables-transfers' => 'AES-128-CTR by where tables lie, with transfers', \%aes, [tables('pinned', $ctr{pinned})]],
        ['tables-ours' => 'AES-128-CTR, with and without transfers', \%aes, [tables_of_ours()]]);
}

1;
