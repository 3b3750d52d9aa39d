#!/usr/bin/perl
# Kernel images that were built elsewhere: cuda/kernels/manifest, and configure
# --with-kernel-image.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT refused);
use Test::More;

skip_if_configured();
delete @ENV{qw(NVCC CUDA_HOME)};

# ---- Manifests ------------------------------------------------------------------

# Other sources than ours, which may change.
my $kernels = "$folder/kernels";
is(run(['cp', '-r', "$source/cuda/kernels", $kernels])->{status}, 0, 'a copy of the sources');
my $built = '13.5 sm_80 sm_90a compute_90';
my $image = spew("$folder/kernels.fatbin", "\x50\xed\x55\xba and code");

sub manifest { return run(["$kernels/manifest", @_]) }

sub check
{
    my ($said, $name, $of) = @_;
    $of //= $image;
    return refused(manifest('check', $of), qr/^manifest: \Q$of\E$said/, $name);
}

refused(manifest('check', "$folder/none"), qr/^manifest: there is no kernel image \Q$folder\E\/none$/, 'no image');
check(' is not a fat binary', 'another file', spew("$folder/other", 'an ELF, say'));
check(' has no manifest', 'an image without a manifest');
my $good = manifest('write', $image, $built)->{out};
spew("$image.manifest", $good);
is(manifest('check', $image)->{out}, "$built\n", 'the right image: what it was built with');
spew("$image.manifest", $good =~ s/image 1/image 2/r);
check(qr/\.manifest begins with 'gpuaes kernel image 2', not with 'gpuaes kernel image 1'/, 'a manifest of another format');
spew("$image.manifest", $good =~ s/^(built: .*)/$1, 12.9 sm_80/mr);
is(manifest('check', $image)->{out}, "$built, 12.9 sm_80\n", 'with kernels of CUDA 12 besides');
spew("$image.manifest", $good =~ s/^built: .*/built: 13.5 "; evil/mr);
check(qr/\.manifest does not say what/, 'a manifest that does not say what it was built with');
spew("$image.manifest", $good);
spew($image, slurp($image) . 'more');
check(qr/\.manifest is of another image: it has SHA-256 '[0-9a-f]{64}', \Q$image\E has [0-9a-f]{64}/, 'a damaged image');
spew($image, "\x50\xed\x55\xba and code");
foreach my $changed (qw(common/arguments.h aes/aes_rounds.cuh kernels.cu)) {
    my $text = slurp("$kernels/$changed");
    spew("$kernels/$changed", "$text\n");
    my ($ours) = $good =~ /^sources: (.*)$/m;
    check(qr/ was compiled of other sources: of those with SHA-256 '$ours', but these have [0-9a-f]{64}/, "$changed changed");
    spew("$kernels/$changed", $text);
}
spew("$kernels/local.mk", 'of the build, not of the kernels');
is(manifest('check', $image)->{status}, 0, 'it fits again, whatever the build is');

# ---- configure ----------------------------------------------------------------------

# What the compiler can do is looked up once.
sub configure
{
    my ($file) = @_;
    mkdir("$folder/build");
    return run(['/bin/sh', '-c', 'cd "$1" && "$2/configure" --with-cuda=no --with-kernel-image="$3" --cache-file=../config.cache CC="$4" CXX="$5" CFLAGS=-O0',
        'sh', "$folder/build", $source, $file, map { slurp("$build/Makefile") =~ /^$_ = (.*)$/m ? $1 : '' } qw(CC CXX)]);
}

my $wrong = spew("$folder/wrong.fatbin", slurp($image));
spew("$wrong.manifest", $good =~ s/^sources: .*/'sources: ' . '0' x 64/emr);
my $refused = configure($wrong);
isnt($refused->{status}, 0, 'configure with an image of other sources fails');
like($refused->{err}, qr/^configure: error: --with-kernel-image: \Q$wrong\E was compiled of other sources: of those with SHA-256 '0{64}', but these have [0-9a-f]{64}$/m,
    'and names the file, what was found and what was expected');
my $configured = configure('../kernels.fatbin');
is($configured->{status}, 0, 'configure with the right image') or diag($configured->{err});
like($configured->{out}, qr/^  kernels for +sm_80 sm_90a compute_90, built with 13\.5 \(\S*kernels\.fatbin\)$/m, 'it says what it is');
my $made = run(['make', '-s', '-C', "$folder/build", 'cuda/libgpuaes.la', 'kernel-image']);
is($made->{status}, 0, 'the library is built') or diag($made->{err});
my $library = slurp("$folder/build/cuda/.libs/libgpuaes.so");
ok(index($library, slurp($image)) > 0, 'and has the image');
ok(index($library, "$built\0") > 0, 'and says what it was built with');
is(slurp("$folder/build/cuda/kernels.fatbin.manifest"), $good, 'the image can be carried on');

# Two fat binaries: the header says how long the first is, which is padded to 16 bytes.
sub fatbin { my ($code) = @_; return pack('L< S< S< Q<', 0xba55ed50, 1, 16, length($code)) . $code }
my $both = spew("$folder/both.fatbin", (fatbin('new code') . "\0" x 8) . fatbin('old code'));
spew("$both.manifest", manifest('write', $both, "$built, 12.9 sm_80")->{out});
my $carried = configure($both);
is($carried->{status}, 0, 'configure with an image of two toolkits') or diag($carried->{err});
like($carried->{out}, qr/^  kernels for +sm_80 sm_90a compute_90, built with 13\.5, sm_80, built with 12\.9 \(\S*both\.fatbin\)\n  driver for them +525 or newer$/m,
    'it says what they are, and which driver loads them');
my $lists = spew("$folder/list.c", <<'END');
#include <stdio.h>
#include "cuda/driver/driver.h"
int main(void)
{
    struct driver_image image;
    for (unsigned n = 0; driver_find_image(n, &image); n++)
        printf("%d %.8s\n", image.toolkit, (const char *)image.data + 16);
}
END
my $listed = run(['/bin/sh', '-c', 'cd "$1" && make -s cuda/kernels.fatbin >/dev/null && cc -include build.h -I. -I"$2" -o list "$3" "$2/cuda/launch/image.c" && ./list',
    'sh', "$folder/build", $source, $lists]);
is($listed->{out}, "13050 new code\n12090 old code\n", 'the library finds both') or diag($listed->{err});

done_testing();
