# What was to be reached, and whether a run of gpuaes_bench shows it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Aims;

use strict;
use warnings;
use Exporter qw(import);
use Results;

our @EXPORT = qw(judged_aims);

my ($KIB, $MIB, $GIB) = (1 << 10, 1 << 20, 1 << 30);

# Of ours and the reference; undef where one was not measured.
sub difference
{
    my ($row) = @_;
    return defined($row->{ours}) && defined($row->{reference}) ? $row->{ours} - $row->{reference} : undef;
}

sub is_near { my ($bytes) = @_; return sub { abs($_[0] / $bytes - 1) < 0.001 } }

# The modes that are parallel, with AES-256: three sets of criteria.
sub parallel
{
    my (%how) = @_;
    return (
        {%how, cipher => ['AES-256-CTR', 'AES-256-ECB'], operation => ['encrypt', 'decrypt']},
        {%how, cipher => 'AES-256-CBC', operation => 'decrypt'});
}

my %burst = (part => 'kernels', placement => 'out of place', statistic => 'median', bytes => 4 * $GIB);
my %sustained = (%burst, statistic => 'sustained');
my %encrypt = (operation => 'encrypt');
my %decrypt = (operation => 'decrypt');
my %pinned = (part => 'bulk', memory => 'pinned');
# The paths of the GPU; what is chosen is another aim.
my %pageable = (part => 'threads', bytes => 256 * $MIB, threads => 1);
my %ctr = (part => 'threads', bytes => 256 * $MIB, cipher => 'AES-256-CTR', placement => 'out of place');
my %base64 = (part => 'base64-kernels', bytes => sub { $_[0] > 2 * $GIB });
my %host64 = (part => 'base64', bytes => is_near(256 * $MIB));
my %gcm = (cipher => 'AES-256-GCM', operation => ['encrypt', 'decrypt']);
my %gcm_burst = (%gcm, part => 'gcm-kernels', statistic => 'median', bytes => 4 * $GIB);
my %gcm_sustained = (%gcm_burst, statistic => 'sustained');
my %gcm_pinned = (%gcm, part => 'gcm-bulk', memory => 'pinned');
my %random = (part => 'random', bytes => 4 * $GIB);
my %two = (part => 'devices', devices => 2);
# Whole programs.
my %speed = (part => 'speed', threads => 1);
my %enc = (part => 'enc', operation => 'encrypt', unit => 'ms');
my %streams = (part => 'streams', operation => 'whole process');
my %tool = (part => 'tool', memory => 'tmpfs');
# The Python package.
my %python = (part => 'python');

# Batches of so many messages, so many of them under way.
sub batch
{
    my ($count, $flight) = @_;
    return (part => 'batch', cipher => 'AES-256-CBC', memory => 'device', bytes => 16 * $KIB,
        operation => "encrypt, $count messages, $flight under way");
}

# Messages that arrays in device memory describe, of AES-256-CTR and of GCM both ways: such rows, and the
# rates to be reached.
sub described
{
    my ($what, $ctr, $gcm, %shape) = @_;
    my %how = (part => 'messages', %shape);
    return (
        $ctr ? ["$what described in device memory, AES-256-CTR, GB/s", least => $ctr, of => {%how, cipher => 'AES-256-CTR'}] : (),
        ["$what described in device memory, AES-256-GCM both ways, GB/s", least => $gcm, of => {%how, cipher => 'AES-256-GCM'}]);
}

# The same of messages of one length, with one key, and of GCM with a key each.
sub described_by_length
{
    my ($count, $length, $bytes, $ctr, $gcm, $gcm_keys) = @_;
    my %shape = (messages => $count, bytes => $bytes);
    return (described("$count messages of $length", $ctr, $gcm, %shape, keys => 0),
        described("$count messages of $length with a key each", undef, $gcm_keys, %shape, keys => 1));
}

# Each: what it is, the criteria of its rows (sets of them), and the figure that each
# row must reach at least or at most. `column`: which, if not ours, or a function of the
# row. `wish`: what was hoped for beyond that.
my @aims = (
    ['AES-256-CTR in device memory, 4 GiB, burst, GB/s', least => 780, wish => 830,
        of => {%burst, cipher => 'AES-256-CTR'}],
    (map { my ($mib, $least) = @$_;
        ["AES-256-CTR in device memory, one call on $mib MiB, GB/s", least => $least, of => {%burst, bytes => $mib * $MIB, cipher => 'AES-256-CTR'}]
    } [16, 500], [64, 680], [256, 750]),
    ['AES-256-CTR, sustained over 2 s, GB/s', least => 730, of => {%sustained, cipher => 'AES-256-CTR'}],
    ['AES-256-ECB encryption in device memory, 4 GiB, burst, GB/s', least => 690, wish => 730, of => {%burst, %encrypt, cipher => 'AES-256-ECB'}],
    ['AES-256-ECB encryption, sustained over 2 s, GB/s', least => 660, of => {%sustained, %encrypt, cipher => 'AES-256-ECB'}],
    ['AES-256-ECB decryption, burst, GB/s', least => 555, wish => 650, of => {%burst, %decrypt, cipher => 'AES-256-ECB'}],
    ['AES-256-CBC decryption, burst, GB/s', least => 545, wish => 650, of => {%burst, %decrypt, cipher => 'AES-256-CBC'}],
    ['AES-128-CTR, burst, GB/s', least => 1050, of => {%burst, cipher => 'AES-128-CTR'}],
    ['AES-128-ECB encryption, burst, GB/s', least => 900, of => {%burst, %encrypt, cipher => 'AES-128-ECB'}],
    ['Base64 in device memory, encoding without lines, GB/s in', least => 1540, of => {%base64, operation => 'encode'}],
    ['Base64 in device memory, encoding in lines of 64, GB/s in', least => 1200, of => {%base64, operation => 'encode, lines of 64'}],
    ['Base64 in device memory, decoding, GB/s out', least => 1000, of => {%base64, operation => 'decode'}],
    ['misaligned device pointers, rate over that of aligned ones', least => 0.85, column => 'ratio',
        of => {part => 'kernels', placement => 'misaligned'}],
    ['1 GiB of device memory through EVP, rate over that of a bare call', least => 0.97, column => 'ratio',
        of => {part => 'evp-kernels', bytes => $GIB}],
    ['4 KiB to 64 KiB in pinned memory by libgpuaes, microseconds', most => 15,
        of => {part => 'latency-api', statistic => 'median', bytes => [4 * $KIB, 16 * $KIB, 64 * $KIB]}],
    ['64 KiB in pinned memory through EVP, microseconds', most => 17,
        of => {part => 'latency-evp', statistic => 'median', bytes => 64 * $KIB}],
    ['pinned ciphertext into device memory, CTR and CBC, 1 GiB, GB/s', least => 50,
        of => {part => 'mixed', memory => 'pinned>device', bytes => $GIB, cipher => ['AES-256-CTR', 'AES-256-CBC']}],
    ['encryption out of device memory into pinned, 1 GiB, GB/s', least => 50,
        of => {part => 'mixed', memory => 'device>pinned', bytes => $GIB, %encrypt}],
    ['pinned to pinned, each parallel mode, one update of 1 GiB, GB/s', least => 46, of => [parallel(%pinned, bytes => $GIB)]],
    ['pinned to pinned, 16 MiB, GB/s', least => 36, of => [parallel(%pinned, bytes => 16 * $MIB)]],
    ['pinned to pinned, 1 MiB, GB/s', least => 20, of => [parallel(%pinned, bytes => $MIB)]],
    ['pinned to pinned, 256 KiB, GB/s', least => 11, of => [parallel(%pinned, bytes => 256 * $KIB)]],
    ['pageable memory, 256 MiB, CTR, the calling thread alone, GB/s', least => 7.5, of => {%ctr, threads => 1}],
    ['pageable memory, 256 MiB, CTR, threads=4, GB/s', least => 22, of => {%ctr, threads => 4}],
    ['pageable memory, 256 MiB, ECB and CBC decryption, out of place, GB/s', least => 8.5,
        of => {%pageable, %decrypt, placement => 'out of place', cipher => ['AES-256-ECB', 'AES-256-CBC']}],
    ['pageable memory, 256 MiB, ECB and CBC decryption, in place, GB/s', least => 13,
        of => {%pageable, %decrypt, placement => 'in place', cipher => ['AES-256-ECB', 'AES-256-CBC']}],
    ['Base64 pinned to pinned, 256 MiB, encoding, GB/s in', least => 36,
        of => {%host64, memory => 'pinned', operation => 'encode'}],
    ['Base64 pinned to pinned, 256 MiB, decoding, GB/s out', least => 36, of => {%host64, memory => 'pinned', operation => 'decode'}],
    ['Base64 of pageable memory, 256 MiB, encoding, times `EVP_EncodeBlock`', least => 3, column => 'ratio',
        of => {%host64, memory => 'pageable', operation => 'encode'}],
    ['two GPUs, one call on 4 GiB of pinned memory, times one GPU', least => 1.8, column => 'ratio',
        of => {%two, memory => 'pinned', operation => ['encrypt, one call', 'decrypt, one call']}],
    ['two GPUs, work in the memory of each, times one GPU', least => 1.9, column => 'ratio', of => {%two, memory => 'device'}],
    ['pageable memory, 64 KiB to 1 GiB, rate over the default provider\'s', least => 0.98, column => 'ratio',
        of => {part => 'bulk', memory => 'pageable'}],
    ['updates of 16 B to 16 KiB, time over the default provider\'s', most => 1.03, column => 'ratio',
        of => {part => 'small'}],
    ['AES-256-GCM in device memory, both ways, 4 GiB, burst, GB/s', least => 740, of => {%gcm_burst}],
    ['AES-256-GCM, both ways, sustained over 2 s, GB/s', least => 700, of => {%gcm_sustained}],
    ['the same, burst and sustained, rate over that of CTR', least => 0.95, column => 'ratio', of => [{%gcm_burst}, {%gcm_sustained}]],
    ['AES-128-GCM, both ways, burst, GB/s', least => 1000, of => {%gcm_burst, cipher => 'AES-128-GCM'}],
    ['messages of GCM, 1 GiB of device memory through EVP, rate over that of a bare call', least => 0.99, column => 'ratio',
        of => {%gcm, part => 'gcm-evp', bytes => $GIB}],
    ['messages of GCM, pinned to pinned, one update of 1 GiB, GB/s', least => 47, of => {%gcm_pinned, bytes => $GIB}],
    ['the same, times the default provider', least => 4, column => 'ratio', of => {%gcm_pinned, bytes => $GIB}],
    ['the same, 16 MiB, GB/s', least => 34, of => {%gcm_pinned, bytes => 16 * $MIB}],
    ['messages of GCM, pageable memory, 64 KiB to 1 GiB, rate over the default provider\'s', least => 0.98, column => 'ratio',
        of => {%gcm, part => 'gcm-bulk', memory => 'pageable'}],
    ['messages of GCM of 16 B to 16 KiB, a new IV each, with tag, time over the default provider\'s', most => 1.03,
        column => 'ratio', of => {%gcm, part => 'gcm-small'}],
    ['CBC encryption in batches of 1024 times 16 KiB, device memory, GB/s', least => 21, of => {batch(1024, 4)}],
    ['the same, 4096, GB/s', least => 72, of => {batch(4096, 4)}],
    ['the same, 16384, GB/s', least => 280, of => {batch(16384, 4)}],
    ['the same, 4096, pinned to pinned, several under way, GB/s', least => 40, of => {batch(4096, 4), memory => 'pinned'}],
    ['the same, times one core of the default provider', least => 35, column => 'ratio',
        of => {batch(4096, 4), memory => 'pinned'}],
    ['CTR in batches of 65536 times 16 KiB, one key, device memory, GB/s', least => 540,
        of => {batch(65536, 4), cipher => 'AES-256-CTR'}],
    ['AES-256-GCM, both ways, in batches of 65536 times 16 KiB with 32 bytes of additional data and a tag, one key, device memory, GB/s',
        least => 550, of => {part => 'batch-gcm', cipher => 'AES-256-GCM', memory => 'device', bytes => 16 * $KIB, messages => 65536}],
    (map { my ($bytes, $least) = @$_;
        ["CTR in batches, messages of $bytes bytes, 4 threads, rate over that of one call without counter caching",
            least => $least, column => 'ratio',
            of => {part => 'batch', bytes => $bytes, against => 'one call over the same bytes'}]
    } [256 * $KIB, 0.97], [8 * $KIB, 0.94], [256, 0.83]),
    ['CTR in batches of 16 KiB, a key each, 4 threads, rate over that with one key', least => 0.85, column => 'ratio',
        of => {part => 'batch', threads => 4, bytes => 16 * $KIB, cipher => 'AES-256-CTR', against => 'one key'}],
    described_by_length(1048576, '256 B', 256, 530, 450, 370),
    described_by_length(262144, '1 KiB', $KIB, 540, 510, 420),
    described_by_length(262144, '4 KiB', 4 * $KIB, 600, 540, 450),
    described_by_length(65536, '16 KiB', 16 * $KIB, 620, 550, 450),
    described_by_length(1024, '1 MiB', $MIB, 620, 560, 450),
    described('messages of 64 B to 4 KiB', 470, 400, bytes => sub { $_[0] < 2 * $GIB }, operation => sub { $_[0] =~ /messages of mixed/ }),
    described('messages of 64 B to 4 KiB with a key each', undef, 320, operation => sub { $_[0] =~ /key each of mixed/ }),
    described('messages of 64 B to 1 MiB', 590, 500, bytes => sub { $_[0] > 2 * $GIB }, operation => sub { $_[0] =~ /messages of mixed/ }),
    described('262144 messages of 4 KiB at offset 13', 560, 510, operation => sub { $_[0] =~ /at offset 13$/ }),
    ['16 messages of 4 KiB described in device memory, CTR and GCM, between two events, microseconds', most => 18,
        of => {part => 'messages-time', operation => sub { $_[0] =~ /two events/ }}],
    ['messages described in device memory, however many, the host\'s time for a call, microseconds', most => 6,
        of => {part => 'messages-time', cipher => ['AES-256-CTR', 'AES-256-GCM'], operation => sub { $_[0] =~ /host/ }}],
    ['random bytes in device memory, 4 GiB, GB/s', least => 600, of => {%random, operation => 'random bytes'}],
    ['random uniform floats in device memory, 4 GiB, 10^9 a second', least => 150, column => sub { $_[0]{ours} / 4 },
        of => {%random, operation => 'random uniform floats'}],
    ['random normal floats in device memory, 4 GiB, 10^9 a second', least => 60, column => sub { $_[0]{ours} / 4 },
        of => {%random, operation => 'random normal floats'}],
    ['a mixed payload, in any of seven orders, time over that of the best', most => 1.05, column => 'ratio',
        of => {part => 'batch-mixed'}],
    ['the longest update while the GPU starts, microseconds', most => 10000,
        of => {part => 'start', operation => 'during the start', statistic => 'longest'}],
    ['loading the module, milliseconds', most => 1, of => {part => 'load', operation => 'first load'}],
    ['resident memory after loading, KiB', most => 2048, of => {part => 'load', operation => 'resident memory'}],
    ['pinned memory held at most, over its cap', most => 1, column => 'ratio', of => {part => 'pinned'}],
    (map { my ($bytes, $least) = @$_;
        ["`openssl speed`, AES-256-CTR, $bytes bytes, start included, times the default provider", least => $least,
            column => 'ratio', of => {%speed, cipher => 'AES-256-CTR', bytes => $bytes}]
    } [$KIB, 2], [4 * $KIB, 3.3], [16 * $KIB, 3], [64 * $KIB, 2.8]),
    ['`openssl speed`, AES-256-CTR, 16, 64 and 256 bytes, times the default provider', least => 0.97, column => 'ratio',
        of => {%speed, cipher => 'AES-256-CTR', bytes => [16, 64, 256]}],
    ['`openssl speed -multi 8`, AES-256-CTR, 16384 bytes, times the default provider', least => 0.98, column => 'ratio',
        of => {%speed, threads => 8}],
    ['`openssl speed`, ECB and CBC, both ways, 16 B to 16 KiB, times the default provider', least => 0.97,
        column => 'ratio', of => {%speed, cipher => ['AES-256-ECB', 'AES-256-CBC'],
            operation => ['encrypt', 'decrypt']}],
    ['`openssl enc -aes-256-ctr -bufsize 1048576`, 4 GiB, times the default provider', least => 1.25, column => 'ratio',
        of => {part => 'enc', bytes => 4 * $GIB, operation => sub { $_[0] =~ /bufsize/ }}],
    ['`openssl enc -aes-256-ctr`, 1 KiB, milliseconds more than the default provider', most => 3, column => \&difference,
        of => {%enc, bytes => $KIB}],
    ['`openssl enc -aes-256-ctr`, 64 MiB, wall time over the default provider\'s', most => 1.02, column => 'ratio',
        of => {%enc, bytes => 64 * $MIB}],
    ['a process that streams 2 GiB in 16 KiB updates, wall time over the default provider\'s', most => 1,
        column => 'ratio', of => {%streams, bytes => 2 * $GIB}],
    ['64 threads, each a stream of 16 KiB updates, times the default provider', least => 0.98, column => 'ratio',
        of => [{%streams, operation => 'streams', threads => 64}, {part => 'read-ahead', operation => 'encrypt, streams', threads => 64}]],
    ['`gpuaes enc` from tmpfs to tmpfs, AES-256-CTR, and CBC decryption, times `openssl enc -bufsize 1048576`', least => 4,
        column => 'ratio', of => [{%tool, cipher => 'AES-256-CTR'}, {%tool, cipher => 'AES-256-CBC', operation => 'decrypt'}]],
    ['`gpuaes base64`, both ways, from tmpfs to tmpfs, times `base64`', least => 5, column => 'ratio',
        of => {%tool, cipher => 'BASE64'}],
    ['a tensor of 4 GiB from Python, AES-256-CTR and -GCM, rate over that of a call of libgpuaes', least => 0.97,
        column => 'ratio', of => {%python, operation => 'encrypt a tensor', bytes => 4 * $GIB}],
    ['a tensor of 64 KiB from Python, microseconds more than a call of libgpuaes', most => 25, column => \&difference,
        of => {%python, operation => 'a call, and a wait for the device', bytes => 64 * $KIB}],
    ['random bytes from Python, GB/s', least => 600, of => {%python, operation => 'random bytes'}],
    ['random uniform numbers from Python, 10^9 a second', least => 150, of => {%python, operation => 'random uniforms'}],
    ['random normal numbers from Python, 10^9 a second', least => 60, of => {%python, operation => 'random normals'}],
    ['an encrypted checkpoint from tmpfs into device memory, time over that of the same file unencrypted', most => 1.15,
        column => 'ratio', of => {%python, operation => 'load a checkpoint', against => 'the same file unencrypted'}],
);

# "48.7", or "48.7 to 49.1 (8 rows)".
sub range_text
{
    my (@values) = sort { $a <=> $b } @_;
    my ($least, $most) = map { abs($_) < 2 ? sprintf('%.3f', $_) : number_text($_) } @values[0, -1];
    return $least eq $most ? $least : "$least to $most (" . scalar(@values) . ' rows)';
}

sub judged
{
    my ($results, $aim, %how) = @_;
    my @sets = ref($how{of}) eq 'ARRAY' ? @{$how{of}} : ($how{of});
    my @values;
    my $column = $how{column} // 'ours';
    foreach my $set (@sets) {
        push(@values, ref($column) ? grep { defined } map { $column->($_) } rows_like($results, %$set)
            : values_of($results, $column, %$set));
    }
    my $bound = defined($how{least}) ? "at least $how{least}" : "at most $how{most}";
    $bound .= ", hoped for $how{wish}" if $how{wish};
    my %judged = (aim => "$aim: $bound", measured => '-', verdict => 'not measured');
    return \%judged if !@values;
    my $reached = !grep { defined($how{least}) ? $_ < $how{least} : $_ > $how{most} } @values;
    $judged{measured} = range_text(@values);
    $judged{verdict} = $reached ? 'reached' : '**missed**';
    return \%judged;
}

# [{aim, measured, verdict}], one for each aim; the verdict is reached, **missed** or
# not measured. Every row must reach it.
sub judged_aims
{
    my ($results) = @_;
    return map { judged($results, @$_) } @aims;
}

1;
