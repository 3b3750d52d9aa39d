#!/usr/bin/perl
# The pages for each way that people come, docs/start-*.md: a page is at most 60 lines, says first for whom a GPU pays
# and for whom not, and its commands and programs run, one after the other, on the emulator.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good total);
use Python;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the library') if $ENV{GPUAES_TEST_SANITIZER};
plan(skip_all => 'that is for the emulator') if !emulated();
my $why = python_lacks(qw(build ensurepip setuptools>=77 wheel));
plan(skip_all => $why) if $why;
foreach my $program (qw(cc groff openssl pkg-config)) {
    plan(skip_all => "$program is not installed") if system("command -v $program >/dev/null");
}

# As on a machine with a GPU. The environment that a page makes gets packages of PyPI from elsewhere; NumPy is for the
# stand-in for CuPy.
my %python = pyarrow_environment();
my %imports = (
    cupy => 'import numpy as found',
    pyarrow => 'import pyarrow as found; from pyarrow.parquet.encryption import create_encryption_properties');
my %folder_of = map {
    $_ => run(['python3', '-c', "$imports{$_}; import os; print(os.path.dirname(found.__path__[0]), end='')"], env => \%python)->{out}
} keys(%imports);
delete @ENV{qw(OPENSSL_MODULES PYTHONPATH OPENSSL_CONF)};
$ENV{PATH} = $python{PATH} if $python{PATH};
my ($top, $stage) = ("$folder/top", "$folder/stage");
my %environment = (%python, LD_PRELOAD => "$build/test/emulated/gpuaes.so",
    PYTHONPATH => join(':', "$source/test/support/cupy_stub", "$source/test/python", sort(grep { $_ } values(%folder_of))),
    GPUAES_TIMEOUT_MS => 600000);

# The top folder of the sources, with a build.
system('mkdir', '-p', "$top/build/test", "$folder/bin");
symlink("$source/docs", "$top/docs");
symlink("$build/test/emulated", "$top/build/test/emulated");
good(run(['make', '-C', $build, 'wheel', "WHEEL_FOLDER=$top/build/wheel"]), 'make wheel');

# Root's commands, in a folder that stands for the root of the system. Of `make install` what a C program needs, as
# libtool links the rest again in the build folder, where other tests use it.
spew("$folder/bin/sudo", <<"END");
#!/bin/sh
unset LD_PRELOAD
case "\$*" in
'make -C build install') exec make -C '$build' DESTDIR='$stage' install-libLTLIBRARIES install-includeHEADERS install-pkgconfigDATA ;;
ldconfig) exit 0 ;;
esac
echo "a page calls sudo \$*" >&2
exit 1
END
chmod(0755, "$folder/bin/sudo");
my ($prefix) = slurp("$build/Makefile") =~ /^prefix = (.*)$/m;
%environment = (%environment, PATH => "$folder/bin:$ENV{PATH}", PKG_CONFIG_SYSROOT_DIR => $stage,
    PKG_CONFIG_PATH => "$stage$prefix/lib/pkgconfig", PKG_CONFIG_ALLOW_SYSTEM_CFLAGS => 1, PKG_CONFIG_ALLOW_SYSTEM_LIBS => 1,
    LD_LIBRARY_PATH => libraries($python{LD_LIBRARY_PATH}, "$stage$prefix/lib"));

# Lines of a shell for a block: commands as they are; a program in C becomes the file that its first line names, one in
# Python runs.
my %lines = (
    sh => sub { $_[0] },
    c => sub { "cat >'" . ($_[0] =~ m{\A/\* (\S+) \*/\n})[0] . "' <<'END'\n$_[0]END\n" },
    python => sub { "venv/bin/python3 - <<'END'\n$_[0]END\n" });
sub run_page
{
    my ($text) = @_;
    my $script = "cd '$top'\n" . join('', map { $lines{$_->[0]}->($_->[1]) } blocks($text));
    return run(['bash', '-euo', 'pipefail', spew("$folder/page.sh", $script)], env => \%environment);
}
sub blocks
{
    my ($text) = @_;
    my @blocks;
    push(@blocks, [$1, $2]) while $text =~ /^```(\w+)\n(.*?)^```$/msg;
    return @blocks;
}

my %result;
foreach my $page (glob("$source/docs/start-*.md")) {
    my ($name) = $page =~ m{start-(.*)\.md$};
    my $text = slurp($page);
    cmp_ok($text =~ tr/\n//, '<=', 60, "$name: at most 60 lines");
    like((split(/^```/m, $text))[0], qr/\*\*It pays\*\*.*\*\*It does not pay\*\*/s, "$name: for whom, and for whom not, is said first");
    is(join(' ', grep { !$lines{$_} } map { $_->[0] } blocks($text)), '', "$name: this test can run each block");
    my @packages = grep { $imports{$_} } $text =~ /^import (\w+)$/mg;
    is(join(' ', grep { $text !~ /`venv\/bin\/pip install "?$_\b/ } @packages), '', "$name: it says how to install what its programs import");
  SKIP: {
        my @lacking = grep { ($folder_of{$_} // 1) eq '' } $text =~ /^import (\w+)$/mg;
        skip("$name: Python cannot do: $imports{$lacking[0]}", 1) if @lacking;
        $result{$name} = run_page($text);
        good($result{$name}, "$name: all of it runs");
    }
}
isnt(run_page("```sh\nfalse\ntrue\n```\n")->{status}, 0, 'a command that fails is noticed');

# ---- What the pages say that comes of it ---------------------------------------------

if ($result{tensors}) {
    like($result{tensors}{out}, qr/Emulated GPU 0/, 'tensors: the GPU is shown');
    my $none = run(["$top/venv/bin/python3", '-c', 'import gpuaes; gpuaes.start()'], env => {%environment, GPUAES_EMULATOR => 'devices=0'});
    like($none->{err}, qr/^gpuaes\.errors\.GpuaesError: \w/m, 'tensors: GpuaesError says why there is none');
}
my $openssl = $result{openssl};
like($openssl->{out}, qr/^Self-test passed.*^Programs that read \S+ use gpuaes\.$/ms, 'openssl: doctor finds everything well');
my ($sealing, $opening) = $openssl->{err} =~ /^(gpuaes: summary .*)$/mg;
is(total($sealing // '', 'cpu-bytes-small'), 4194304, 'openssl: the small updates stayed on the CPU');
is(total($opening // '', 'gpu-bytes'), 4194304, 'openssl: the GPU did them when it was made to');
like($result{c}{out}, qr/^success\n.*^a changed message is refused$/ms, 'c: both programs say what they should');

done_testing();
