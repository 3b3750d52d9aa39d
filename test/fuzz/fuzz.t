#!/usr/bin/perl
# The fuzz targets of test/fuzz/, each for GPUAES_TEST_FUZZ_SECONDS (20), all at the same time,
# on a build by clang with libFuzzer and two sanitizers. They begin with their corpora:
# what once was found is tried again first. CLANG names another clang.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
skip_if_configured();

my $seconds = $ENV{GPUAES_TEST_FUZZ_SECONDS} // 20;
my $home = "$build/fuzz";
my $sanitizers = 'address,undefined';
# The figure of the provider that must not be 0.
my %targets = (
    ahead => 'read-ahead-bytes',
    base64 => 'gpu-bytes',
    batch => undef,
    evp => 'gpu-bytes',
    gcm => 'gpu-bytes',
    queue => undef
);

# ---- The build -------------------------------------------------------------------

sub links
{
    my ($clang) = @_;
    my $probe = spew("$folder/probe.c", "#include <stddef.h>\n#include <stdint.h>\n"
            . "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);\n"
            . "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)\n"
            . "{\n    (void)data;\n    (void)size;\n    return 0;\n}\n");
    my @command = ($clang, "-fsanitize=fuzzer,$sanitizers", '-o', "$folder/probe", $probe);
    return run(\@command)->{status} == 0;
}

sub build_targets
{
    my ($clang) = @_;
    (my $clangxx = $clang) =~ s/clang(?=[^\/]*$)/clang++/;
    make_path($home);
    # The kernels run as fast with -O1 as with -O2, and ten times as long without; reports need names and lines alone.
    my $flags = '-O1 -gline-tables-only';
    my @configure = ('sh', '-c', 'cd "$0" && exec "$@"', $home, "$source/configure",
        '--with-cuda=no', "--enable-sanitizer=$sanitizers", "CC=$clang", "CXX=$clangxx",
        "CFLAGS=$flags -fsanitize=fuzzer-no-link", "CXXFLAGS=$flags");
    my @commands = (['make', '-C', $home, '-j2', 'fuzz-programs']);
    unshift(@commands, \@configure) if !-f "$home/Makefile";
    foreach my $command (@commands) {
        my $result = run($command, seconds => 1800);
        next if $result->{status} == 0;
        diag(substr("$result->{out}$result->{err}", -4000));
        return 0;
    }
    return 1;
}

my ($clang) = grep { links($_) } grep { defined } $ENV{CLANG}, 'clang', 'clang-14';
plan(skip_all => "no clang with -fsanitize=fuzzer,$sanitizers (Debian: clang, libclang-rt-14-dev)")
    if !defined($clang);
ok(build_targets($clang), "builds with $clang");

# ---- The runs --------------------------------------------------------------------

# One input in a line of hexadecimal digits; returns the folder with a file for each.
sub unpack_corpus
{
    my ($name) = @_;
    my $to = "$folder/$name";
    make_path($to, "$home/new/$name");
    my $n = 0;
    foreach my $line (split(/\n/, slurp("$source/test/fuzz/$name.corpus"))) {
        spew("$to/" . $n++, pack('H*', $1)) if $line =~ /^([0-9a-f]+)/;
    }
    return ($to, $n);
}

sub begin
{
    my ($name) = @_;
    my ($corpus, $inputs) = unpack_corpus($name);
    cmp_ok($inputs, '>', 0, "$name: has a corpus of $inputs");
    my @command = ("$home/test/fuzz/${name}_fuzz", "-max_total_time=$seconds",
        qw(-max_len=512 -detect_leaks=0 -timeout=300 -rss_limit_mb=4096 -print_final_stats=1),
        "-artifact_prefix=$home/$name-");
    my %environment = (
        GPUAES_EMULATOR => 'multiprocessors=1,threads=32',
        GPUAES_IDLE_SECONDS => 0,
        GPUAES_LOG => 'summary',
        GPUAES_START => 'eager',
        GPUAES_TIMEOUT_MS => 60000,
        OPENSSL_CONF => '/dev/null'
    );
    return start([@command, "$home/new/$name", $corpus], env => \%environment,
        err => "$folder/$name.log", seconds => $seconds + 600);
}

sub judge
{
    my ($name, $status) = @_;
    my $log = slurp("$folder/$name.log");
    my ($runs) = $log =~ /number_of_executed_units: (\d+)/;
    is($status, 0, "$name: nothing found")
        or diag(substr($log, -6000), "\nThe input: $home/$name-*, an argument for the program");
    cmp_ok($runs // 0, '>', 50, "$name: runs");
    diag("$name: " . ($runs // 'no') . ' runs');
    return if !$targets{$name};
    cmp_ok(figure({err => $log}, $targets{$name}) // 0, '>', 0, "$name: a GPU worked");
    return;
}

my %running = map { begin($_) => $_ } sort keys %targets;
while (%running) {
    my $pid = wait();
    last if $pid < 0;
    judge(delete $running{$pid}, $?) if $running{$pid};
}

done_testing();
