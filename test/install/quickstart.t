#!/usr/bin/perl
# quickstart: what it says of arguments that it cannot take, before it does anything; and
# what it shows of the main job on a small file, by a build that is there already.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the module') if $ENV{GPUAES_TEST_SANITIZER};
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS OPENSSL_MODULES OPENSSL_CONF)};

# A copy of it, among stand-ins that install and build nothing.
my $here = "$folder/here";
my $stand_ins = "$folder/stand-ins";
mkdir($_) or die "$_: $!" foreach $here, $stand_ins, "$folder/a folder";
chmod(0755, spew("$stand_ins/$_", "#!/bin/sh\necho $_ \"\$@\" >>'$folder/called'\n")) foreach qw(apt-get make sudo);
chmod(0755, spew("$here/quickstart", slurp("$source/quickstart")));
spew("$folder/empty", '');

sub quickstart
{
    my ($arguments, %how) = @_;
    return run(["$here/quickstart", @$arguments], env => {PATH => "$stand_ins:$ENV{PATH}"}, %how);
}

# ---- Arguments ------------------------------------------------------------------

my @refused = (
    [['chek'], 'chek is neither "build" nor "check" nor a file that exists'],
    [["$folder/a folder"], "$folder/a folder is not a regular file"],
    [["$folder/empty"], "$folder/empty is empty"],
    [[''], 'the name of FILE is empty'],
    [['--with-clients'], 'unknown option --with-clients; ./quickstart --help lists what there is'],
    [['build', 'now'], 'build takes no argument, not now'],
    [['check', 'now'], 'check takes --with-clients, not now'],
    [['/bin/sh', 'now'], 'one FILE is taken; now is one too many'],
);
foreach my $row (@refused) {
    my $result = quickstart($row->[0]);
    my $said = join(' ', 'quickstart', map { "'$_'" } @{$row->[0]});
    isnt($result->{status}, 0, "$said fails");
    is("$result->{err}$result->{out}", "quickstart: $row->[1]\n", 'and says why, and no more');
}
ok(!-e "$folder/called", 'nothing was installed or built');
like(quickstart(['--help'])->{out}, qr{^  \./quickstart check\b}m, '--help lists what there is');

# ---- The main job ------------------------------------------------------------------

SKIP: {
    skip('there is no build', 5) if !-f "$build/config.status" || !-x "$build/docs/examples/encrypt_file";
    mkdir("$here/build") or die;
    spew("$here/build/Makefile", '');
    foreach (qw(config.status docs provider test tool)) {
        symlink("$build/$_", "$here/build/$_") or die "$_: $!";
    }
    symlink("$source/docs", "$here/docs") or die;
    symlink("$source/configure", "$here/configure") or die;
    my $done = quickstart(['/bin/sh'], seconds => 300);
    is($done->{status}, 0, 'the main job on a small file') or diag($done->{out}, $done->{err});
    unlike("$done->{out}$done->{err}", qr/error:|failed/, 'shows no error');
    like($done->{out}, qr/^== (?:A GPU works here\n|No GPU can be used: everything runs on the CPU\nThe reason: \w.*\.$)/m,
        'says whether there is a GPU, and why not');
    like($done->{out}, qr/^base64_client +Base64 decode +\d+ /m, 'has the last of its rows');
    my ($next) = $done->{out} =~ /^== What to do next\n(.*)/ms;
    is(join(' ', grep { ($next // '') !~ /\b\Q$_\E\b/ } 'make', 'install', 'configure', 'doctor', 'emulated'), '',
        'and says what to do next');
}

done_testing();
