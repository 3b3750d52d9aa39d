# What others published, in the units of the rows that are compared with it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Published;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT = qw($MIB %encoders %offload %speed_up $crowd %ctr %payload);

our $MIB = 1 << 20;

# GB/s of Mbit/s.
sub mbit { my ($rate) = @_; return $rate / 8000 }

sub over
{
    my ($unit, $sizes, @figures) = @_;
    my %over;
    @over{map { $_ * $unit } @$sizes} = @figures;
    return \%over;
}

# Base64 on a GeForce GT 540M and a Core i5-450M, work of 2011 to 2013: milliseconds by bytes,
# in whole groups of three, as the benchmark has them.
my @encoded = map { $_ * $MIB - $_ * $MIB % 3 } 1, 12, 24, 36;
our %encoders = (
    'encode, plain' => over(1, \@encoded, 52, 612, 1232, 1826),
    'encode, synchronous' => over(1, \@encoded, 5, 43, 85, 141),
    'encode, asynchronous' => over(1, \@encoded, 5, 39, 76, 113),
    'encode, library' => over(1, \@encoded, 3, 53, 106, 349));

# Base64 on a Tesla P100, 2019: GB/s read and written by bytes, and the speed-up by streams.
my @offloaded = (3e3, 3e4, 3e5, 3e6, 3e7, 3e8);
our %offload = (
    'encode, scalar' => over(1, \@offloaded, 0.64, 3.48, 9.54, 10.66, 10.84, 10.85),
    'encode, vector' => over(1, \@offloaded, 0.65, 3.47, 9.29, 10.59, 10.80, 10.81));
our %speed_up = (2 => 1.32, 4 => 1.55, 8 => 1.70, 16 => 1.78, 32 => 1.81);

# AES-256 on a Tesla C2050, 2012: times a Core i7 with 8 threads, at least.
our $crowd = 25;

# AES-128-CTR on a GeForce 8800 GTX, 2008, at most: GB/s by memory, and of a CPU. Of
# payloads of many messages: the rate, and the part of it that their descriptors cost, by
# the bytes of a message.
our %ctr = (device => mbit(15423), pinned => mbit(6914), cpu => mbit(1583));
our %payload = (rate => mbit(5810), cost => {16384 * 16 => 0.16, 512 * 16 => 0.22, 16 * 16 => 0.45});

1;
