#!/usr/bin/perl
# Two builds, of sources in one place and another, in folders with names of different
# lengths, install the same bytes. The kernels are not compiled again, which takes minutes,
# unless GPUAES_TEST_FATBIN is set.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
skip_if_configured();
my $flags = run([qw(grep ^GPUAES_CFLAGS), "$build/Makefile"])->{out};
plan(skip_all => 'the compiler leaves the paths of the build in its output, or a sanitizer does')
    if $flags !~ /-ffile-prefix-map/;

my $fatbin = 'cuda/kernels.fatbin';

sub succeeds
{
    my ($name, @command) = @_;
    my $result = run(\@command, seconds => 1800);
    return ok($result->{status} == 0, $name)
        || diag(substr("$result->{out}$result->{err}", -3000));
}

# ---- Two builds, configured as the one that is tested -------------------------------

# Not that one itself: libtool links the module again to install it, in the place from
# which other tests load it.
my $arguments = run(["$build/config.status", '--config'])->{out};
chomp($arguments);
$arguments =~ s/'?--srcdir=[^' ]*'?//g;

sub install
{
    my ($sources, $from, $to) = @_;
    make_path($from);
    succeeds("$from: configures", 'sh', '-c', "cd $from && exec $sources/configure $arguments --cache-file=$folder/config.cache");
    # In this order: the second one is made of the first.
    foreach my $image (grep { -f "$build/$_" && !$ENV{GPUAES_TEST_FATBIN} } 'cuda/kernels12.fatbin', $fatbin) {
        make_path("$from/cuda");
        copy("$build/$image", "$from/$image") or die "copy: $!";
    }
    return succeeds("$from: installs",
        'make', '-C', $from, '-j2', "DESTDIR=$to", 'install-modulesLTLIBRARIES');
}

symlink($source, "$folder/sources") or die "symlink: $!";
my @builds = ("$folder/build", "$folder/a_folder_whose_name_is_quite_another_one");
install($source, $builds[0], "$folder/first");
install('../sources', $builds[1], "$folder/second");

# ---- What they install ---------------------------------------------------------------

my @files = map { s/^\Q$folder\E\/first//r }
    grep { -f && !-l && /\.so[.\d]*$/ } split(/\n/, run(['find', "$folder/first"])->{out});
# Its own place a file may name, and that of make distcheck is among the sources.
my ($prefix) = slurp("$builds[0]/Makefile") =~ /^prefix = (.+)$/m;
is(scalar(@files), 2, "the library and the module: @files");
foreach my $file (@files) {
    my ($first, $other) = map { slurp("$folder/$_$file") } qw(first second);
    ok(length($first) && $first eq $other, "$file is the same, " . length($first) . ' bytes');
    my ($named) = $first =~ m{(?!\Q$prefix\E/lib)(\Q$build\E|\Q$source\E|\Q$folder\E)};
    is($named, undef, "$file names no folder of the build");
}
SKIP: {
    skip('no nvcc, or GPUAES_TEST_FATBIN is not set', 1)
        if !$ENV{GPUAES_TEST_FATBIN} || !-f "$build/$fatbin";
    ok(slurp("$builds[0]/$fatbin") eq slurp("$builds[1]/$fatbin"), 'the kernels are the same');
}

done_testing();
