#!/usr/bin/perl
# The revision that heads of measurements name: that of a checkout, that in a tarball, or none.
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

# As in a hook of git's: these name another repository.
delete @ENV{grep { /^GIT_/ } keys(%ENV)};
my $sources = "$folder/sources";
make_path("$sources/bench", "$sources/docs/benchmarks");
copy("$source/bench/revision", "$sources/bench/revision") or die "copy: $!";

sub revision { return run(['sh', "$sources/bench/revision"])->{out} }

is(revision(), "revision: unknown\n", 'unknown without a checkout and outside a tarball');
spew("$sources/.revision", "revision: 0123456789ab\n");
is(revision(), "revision: 0123456789ab\n", 'that of the tarball');

SKIP: {
    my $repository = join(' && ', "cd '$sources'", 'git init -q', 'git add bench',
        'git -c user.name=A -c user.email=a@example.org -c commit.gpgsign=false commit -q -m one');
    skip('git does not commit here', 6) if run(['sh', '-c', $repository])->{status};
    my ($commit) = run(['git', '-C', $sources, 'rev-parse', 'HEAD'])->{out} =~ /^(.{12})/;
    spew("$sources/docs/benchmarks/h200.tsv", "# part\n");
    run(['git', '-C', $sources, 'add', 'docs']);
    is(revision(), "revision: $commit\n", 'that of the checkout, clean whatever the report wrote');
    spew("$sources/bench/revision", slurp("$sources/bench/revision") . "# changed\n");
    is(revision(), "revision: $commit-dirty\n", 'dirty if anything else was changed');
    my $git = "git -C '$sources'";
    run(['sh', '-c', "$git add -f .revision"]);
    is(revision(), "revision: 0123456789ab\n", 'that of the tarball, if the repository has the tarball');
    run(['sh', '-c', "$git rm -q --cached -r bench .revision"]);
    is(revision(), "revision: 0123456789ab\n", 'or none of these sources');
    unlink("$sources/.revision");
    is(revision(), "revision: unknown\n", 'and unknown without a tarball');
    spew("$sources/.revision", "revision: 0123456789ab\n");
    run(['mv', "$sources/.git", "$folder/git"]);
    is(revision(), "revision: 0123456789ab\n", 'that of the tarball again');
}

SKIP: {
    skip('there is no build', 2) if !-f "$build/Makefile";
    make_path("$folder/dist");
    my $dist = run(['make', '-s', '-C', $build, 'dist-hook', "distdir=$folder/dist"]);
    is($dist->{status}, 0, 'make dist takes it along') or diag($dist->{err});
    is(slurp("$folder/dist/.revision"), run(["$source/bench/revision"])->{out}, 'as the sources have it');
}

done_testing();
