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
use lib $FindBin::Bin;
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
my $flags = run([qw(grep ^GPUAES_CFLAGS), "$build/Makefile"])->{out};
plan(skip_all => 'the compiler leaves the paths of the build in its output, or a sanitizer does')
    if $flags !~ /-ffile-prefix-map/;

# This may run inside a make whose settings are not for ours.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS)};
my $fatbin = 'cuda/kernels.fatbin';

sub succeeds
{
    my ($name, @command) = @_;
    my $result = run(\@command, seconds => 1800);
    return ok($result->{status} == 0, $name)
        || diag(substr("$result->{out}$result->{err}", -3000));
}

sub install
{
    my ($from, $to) = @_;
    return succeeds("the build in $from installs",
        'make', '-C', $from, '-j2', "DESTDIR=$to", 'install-modulesLTLIBRARIES');
}

# ---- A second build, as the first was configured ----------------------------------

my $second = "$folder/a folder's name that is quite another one" =~ s/[ ']/_/gr;
make_path($second);
symlink($source, "$folder/sources") or die "symlink: $!";
my $arguments = run(["$build/config.status", '--config'])->{out};
chomp($arguments);
$arguments =~ s/'?--srcdir=[^' ]*'?//g;    # that would be the first one's
succeeds('configures', 'sh', '-c', "cd $second && exec ../sources/configure $arguments");
if (-f "$build/$fatbin" && !$ENV{GPUAES_TEST_FATBIN}) {
    make_path("$second/cuda");
    copy("$build/$fatbin", "$second/$fatbin") or die "copy: $!";
}
install($build, "$folder/first");
install($second, "$folder/second");

# ---- What they install ---------------------------------------------------------------

my @files = map { s/^\Q$folder\E\/first//r }
    grep { -f && !-l && /\.so[.\d]*$/ } split(/\n/, run(['find', "$folder/first"])->{out});
# Its own place a file may name, and that of make distcheck is among the sources.
my ($prefix) = slurp("$build/Makefile") =~ /^prefix = (.+)$/m;
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
    ok(slurp("$build/$fatbin") eq slurp("$second/$fatbin"), 'the kernels are the same');
}

done_testing();
