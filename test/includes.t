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
    'cuda/driver.h' => '#include <stdint.h>',
    'cuda/device.c' => "#include \"device.h\"\n#include <cuda.h>\n#include \"../base/clock.h\"\n#include \"kernels/arguments.h\"",
    'cuda/device.h' => '#include "driver.h"',
    'cuda/kernels/arguments.h' => '#include <stdint.h>',
    'provider/aes.c' => "#include <openssl/evp.h>\n#include \"../cuda/gpuaes.h\"\n#include \"settings.h\"",
    'provider/settings.h' => '#include <stddef.h>',
    'tool/enc.c' => "#include \"../provider/settings.h\"\n#include \"turns.h\"",
    'tool/turns.h' => '#include <stddef.h>',
    'test/tap.h' => '#include "../base/clock.h"',
    'test/fuzz/fuzz.c' => '#include "../../cuda/driver.h"',
    'bench/measure.h' => "#include \"../tool/turns.h\"\n#include \"../test/tap.h\"",
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
my @made_up = (
    ['provider/aes.c', '"../cuda/device.h"', 'provider/ may include base, cuda/gpuaes.h besides its own headers'],
    ['provider/aes.c', '"../test/tap.h"', 'provider/ may include base, cuda/gpuaes.h besides its own headers'],
    ['provider/aes.c', '"../tool/turns.h"', 'provider/ may include base, cuda/gpuaes.h besides its own headers'],
    ['provider/aes.c', '<cuda.h>', 'provider/ includes no header of CUDA'],
    ['provider/aes.c', '<driver_types.h>', 'provider/ includes no header of CUDA'],
    ['cuda/device.c', '<openssl/evp.h>', 'cuda/ includes no header of OpenSSL'],
    ['cuda/device.c', '"../provider/settings.h"', 'cuda/ may include base, cuda/kernels besides its own headers'],
    ['cuda/kernels/arguments.h', '"../driver.h"', 'cuda/kernels/ may include nothing besides its own headers'],
    ['base/clock.h', '"../cuda/gpuaes.h"', 'base/ may include nothing besides its own headers'],
    ['tool/enc.c', '"../bench/measure.h"',
        'tool/ may include base, cuda/gpuaes.h, provider/settings.h besides its own headers'],
    ['tool/enc.c', '"../provider/../cuda/driver.h"',
        'tool/ may include base, cuda/gpuaes.h, provider/settings.h besides its own headers'],
    ['test/fuzz/fuzz.c', '"../../bench/measure.h"',
        'test/ may include base, cuda, cuda/emulator, cuda/kernels, provider, tool besides its own headers'],
    ['cuda/driver.h', '"device.h"', 'closes a circle of headers'],
    ['tool/turns.h', '"turns.h"', 'closes a circle of headers'],
    ['tool/enc.c', '"nowhere.h"', 'there is no tool/nowhere.h'],
);
foreach (@made_up) {
    my ($file, $name, $why) = @$_;
    $result = check($file, "#include $name");
    is($result->{status} >> 8, 1, "$file includes $name: refused");
    like($result->{out}, qr{^\Q$file\E:\d+: \#include \Q$name: $why\E$}m, 'with the line, and why');
}
# The table might come to allow both ways.
my $script = slurp("$source/test/includes") =~ s/'base' => \[\]/'base' => [qw(cuda)]/r;
spew("$folder/includes", $script);
check('base/clock.h', '#include "../cuda/gpuaes.h"');
$result = run([$^X, "$folder/includes", "$folder/tree"]);
like($result->{out}, qr/closes a circle of folders/, 'folders that include each other');
is($result->{status} >> 8, 1, 'are refused');

$result = run(["$source/test/includes", "$folder/nowhere"]);
isnt($result->{status}, 0, 'no tree is no right tree');
done_testing();
