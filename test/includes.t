#!/usr/bin/perl
# The folders include each other downwards only, and the script that says so finds what does not.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/support";
use Programs;
use Test::More;

my $result = run(["$source/test/includes", $source]);
is("$result->{status}: $result->{out}$result->{err}", '0: ', 'no file includes what it may not');

# A small tree that is right, with each of these files and the line that is made up.
my %right = (
    'base/clock.h' => '#include <time.h>',
    'cuda/gpuaes.h' => '#include <stddef.h>',
    'cuda/kernels/common/arguments.h' => '#include <stdint.h>',
    'cuda/driver/driver.h' => '#include <stdint.h>',
    'cuda/driver/libcuda.c' => "#include <cuda.h>\n#include \"cuda/driver/driver.h\"",
    'cuda/launch/kernels.h' => "#include \"cuda/driver/driver.h\"\n#include \"cuda/kernels/common/arguments.h\"",
    'cuda/device/device.c' => "#include \"cuda/device/device.h\"\n#include \"base/clock.h\"",
    'cuda/device/device.h' => "#include \"cuda/gpuaes.h\"\n#include \"cuda/launch/kernels.h\"",
    'cuda/runtime/runtime.h' => '#include "cuda/device/device.h"',
    'provider/common/settings.h' => '#include <stddef.h>',
    'provider/ciphers/device_calls.h' => '#include "cuda/gpuaes.h"',
    'provider/ciphers/context.h' => '#include "provider/ciphers/device_calls.h"',
    'provider/ciphers/blocks/blocks_cpu.h' => '#include "provider/ciphers/context.h"',
    'provider/ciphers/blocks/blocks_cpu.c' => '#include "provider/ciphers/blocks/blocks_update.h"',
    'provider/ciphers/blocks/blocks_update.h' => '#include "provider/ciphers/context.h"',
    'provider/ciphers/blocks/blocks_update.c' =>
        "#include <openssl/evp.h>\n#include \"cuda/gpuaes.h\"\n#include \"provider/common/settings.h\"",
    'tool/common/turns.h' => '#include <stddef.h>',
    'tool/commands/enc.c' => "#include \"provider/common/settings.h\"\n#include \"tool/common/turns.h\"",
    'test/tap.h' => '#include "base/clock.h"',
    'test/emulator/hooks.h' => '#include "cuda/driver/driver.h"',
    'test/fuzz/fuzz.c' => '#include "cuda/driver/driver.h"',
    'bench/measure.h' => "#include \"tool/common/turns.h\"\n#include \"test/tap.h\"",
);

# What the script says of that tree, with one line more.
sub check
{
    my ($file, $line) = @_;
    my $tree = "$folder/tree";
    foreach (keys %right) {
        make_path("$tree/" . s{/[^/]*$}{}r);
        spew("$tree/$_", "$right{$_}\n" . ($file eq $_ ? "$line\n" : ''));
    }
    return run(["$source/test/includes", $tree]);
}

$result = check('', '');
is("$result->{status}: $result->{out}$result->{err}", '0: ', 'a tree that is right');
my ($update, $enc) = ('provider/ciphers/blocks/blocks_update.c', 'tool/commands/enc.c');
my @made_up = (
    # Each room, and what its row does not have.
    [$update, '"cuda/device/device.h"', qr{provider/ciphers/blocks/ may include base, cuda/gpuaes.h, .* besides}],
    [$update, '"test/tap.h"', qr{provider/ciphers/blocks/ may include .* besides its own headers}],
    [$update, '"tool/common/turns.h"', qr{provider/ciphers/blocks/ may include .* besides its own headers}],
    ['provider/common/settings.h', '"cuda/driver/driver.h"', qr{provider/common/ may include base, cuda/gpuaes.h besides}],
    [$enc, '"bench/measure.h"', qr{tool/commands/ may include .* besides its own headers}],
    ['tool/common/turns.h', '"cuda/driver/driver.h"', qr{tool/common/ may include .* besides its own headers}],
    ['cuda/device/device.c', '"provider/common/settings.h"', qr{cuda/device/ may include .* besides its own headers}],
    ['cuda/device/device.c', '"cuda/runtime/runtime.h"', qr{cuda/device/ may include .* besides its own headers}],
    ['cuda/kernels/common/arguments.h', '"cuda/driver/driver.h"', qr{cuda/kernels/ may include nothing besides}],
    ['base/clock.h', '"cuda/gpuaes.h"', qr{base/ may include nothing besides its own headers}],
    ['test/fuzz/fuzz.c', '"bench/measure.h"', qr{test/ may include base, cuda, provider, tool, test/emulator besides}],
    # The emulator is no part of the product.
    [$update, '"test/emulator/hooks.h"', qr{provider/ciphers/blocks/ may include .* besides its own headers}],
    ['cuda/device/device.c', '"test/emulator/hooks.h"', qr{cuda/device/ may include .* besides its own headers}],
    ['test/emulator/hooks.h', '"test/tap.h"', qr{test/emulator/ may include cuda/driver besides}],
    # Libraries.
    [$update, '<cuda.h>', qr{provider/ciphers/blocks/ includes no header of CUDA}],
    [$update, '<driver_types.h>', qr{provider/ciphers/blocks/ includes no header of CUDA}],
    ['cuda/device/device.c', '<openssl/evp.h>', qr{cuda/device/ includes no header of OpenSSL}],
    # Paths that do not begin at the top, even where the row would allow the file.
    ['cuda/device/device.c', '"../gpuaes.h"', qr{the path must begin at the top of the project}],
    ['cuda/device/device.c', '"./device.h"', qr{the path must begin at the top of the project}],
    ['cuda/device/device.c', '"device.h"', qr{the path must begin at the top of the project}],
    [$enc, '"tool/common/../../cuda/driver/driver.h"', qr{the path must begin at the top of the project}],
    [$enc, '"tool/common/nowhere.h"', qr{the path must begin at the top of the project}],
    # Circles.
    ['cuda/driver/driver.h', '"cuda/launch/kernels.h"', qr{closes a circle of headers}],
    ['provider/ciphers/context.h', '"provider/ciphers/blocks/blocks_cpu.h"', qr{provider/ciphers/context/ may include .* besides}],
    ['provider/ciphers/device_calls.h', '"provider/ciphers/context.h"', qr{provider/ciphers/device_calls/ may include .* besides}],
    [$update, '"provider/ciphers/blocks/blocks_cpu.h"', qr{closes a circle of files}],
    ['tool/common/turns.h', '"tool/common/turns.h"', qr{closes a circle of headers}],
);
foreach (@made_up) {
    my ($file, $name, $why) = @$_;
    $result = check($file, "#include $name");
    is($result->{status} >> 8, 1, "$file includes $name: refused");
    like($result->{out}, qr{^\Q$file\E:\d+: \#include \Q$name\E: $why}m, 'with the line, and why');
}
# The table might come to allow both ways.
my $script = slurp("$source/test/includes") =~ s/'base' => \[\]/'base' => [qw(cuda)]/r;
spew("$folder/includes", $script);
check('base/clock.h', '#include "cuda/device/device.h"');
$result = run([$^X, "$folder/includes", "$folder/tree"]);
like($result->{out}, qr/closes a circle of folders/, 'folders that include each other');
is($result->{status} >> 8, 1, 'are refused');

$result = run(["$source/test/includes", "$folder/nowhere"]);
isnt($result->{status}, 0, 'no tree is no right tree');
done_testing();
