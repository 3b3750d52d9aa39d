#!/usr/bin/perl
# OpenSSL's own tests with our provider preferred: its cipher data by evp_test, its
# evp_extra_test and its sslapitest. Each run is compared, line by line, with one of the default
# provider alone, and the provider's figures must say that a GPU worked.
#
#   prove test/openssl/data.t :: RELEASE FOLDER
#
# builds the OpenSSL of that release of Debian in FOLDER first; see test/openssl/debian_openssl.
# `make check-openssl` does it for all that we care about.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(basename);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

my ($release, $openssl) = @ARGV;
plan(skip_all => 'the arguments RELEASE and FOLDER are missing') if !defined($openssl);
my $module = abs_path($ENV{OPENSSL_MODULES} // "$build/test/emulated") . '/gpuaes.so';

# ---- Building and running ------------------------------------------------------

sub build
{
    my (@what) = @_;
    system("$source/test/openssl/debian_openssl", $release, $openssl, @what) == 0
        or BAIL_OUT("OpenSSL of $release is not there");
    return;
}
build('apps', map { "test/$_" } qw(evp_test evp_extra_test sslapitest));
$openssl = abs_path($openssl);
# OpenSSL 4 has no engines.
build('engines/dasync.so', 'engines/ossltest.so') if -d "$openssl/source/engines";

# A configuration: the providers named, with ours preferred if it is among them.
sub configuration
{
    my ($name, @providers) = @_;
    my %modules = (gpuaes => $module, legacy => "$openssl/lib/ossl-modules/legacy.so");
    my $text = "openssl_conf = init\nconfig_diagnostics = 1\n[init]\nproviders = providers\n";
    $text .= "alg_section = algs\n" if grep { $_ eq 'gpuaes' } @providers;
    $text .= "[algs]\ndefault_properties = ?provider=gpuaes\n[providers]\n";
    $text .= "$_ = ${_}_section\n" foreach @providers;
    foreach my $provider (@providers) {
        $text .= "[${provider}_section]\nactivate = 1\n";
        $text .= "module = $modules{$provider}\n" if $modules{$provider};
    }
    return spew("$folder/$name.cnf", $text);
}
my $stock = configuration('stock', 'default', 'legacy');
my $ours = configuration('ours', 'default', 'legacy', 'gpuaes');

# The lines that a program printed, without what differs between any two runs.
sub lines
{
    my ($result) = @_;
    my $text = $result->{out} . $result->{err};
    $text =~ s/^(?:gpuaes: summary|\s*# OPENSSL_TEST_RAND_SEED).*\n//mg;
    $text =~ s/\b[0-9A-F]{8,}:error/error/g;
    return [split(/\n/, $text)];
}

# Runs the same with and without us; the same must come out. Returns ours.
sub compare
{
    my ($name, $command, $environment) = @_;
    my %both = (
        LD_LIBRARY_PATH => libraries("$openssl/lib"),
        OPENSSL_ENGINES => "$openssl/source/engines",
        GPUAES_MIN_BYTES => 0,
        GPUAES_LOG => 'summary'
    );
    my ($theirs, $mine) = map {
        run([$command->($_)], env => {%both, $environment->($_)}, seconds => 7200)
    } ($stock, $ours);
    is($theirs->{status}, 0, "$name: OpenSSL alone passes") or diag($theirs->{err});
    is($mine->{status}, 0, "$name: we pass") or diag($mine->{err});
    is_deeply(lines($mine), lines($theirs), "$name: the same lines");
    return $mine;
}

sub skipped
{
    my ($name, $text) = @_;
    my %reasons;
    $reasons{$1}++ while $text =~ /# skipping, (.*?)(?:: \S*)?$/mg;
    diag("$name: $reasons{$_} skipped: $_") foreach sort keys %reasons;
    return;
}

# ---- Cipher data ----------------------------------------------------------------

my $data = "$openssl/source/test/recipes/30-test_evp_data";
# What is made of ECB, CBC or CTR, and so must reach the GPU.
my %works = map { $_ => 1 } qw(evpciph_aes_common evpciph_aes_cts evpciph_aes_siv
    evpciph_aes_gcm_siv evprand);
# The generator of OpenSSL 4 takes AES of its own provider, whatever is preferred.
delete $works{evprand} if slurp("$openssl/version") =~ /^[4-9]/;
my $gpu_bytes = 0;

sub cipher_data
{
    my ($file, @options) = @_;
    my $name = join(' ', basename($file, '.txt'), @options);
    my $result = compare($name,
        sub { ("$openssl/source/test/evp_test", '-config', $_[0], @options, $file) },
        sub { (OPENSSL_CONF => '/dev/null') });
    my $text = $result->{out} . $result->{err};
    my ($tests) = $text =~ /Completed (\d+) tests/;
    my $bytes = figure($result, 'gpu-bytes') // 0; # no figures where nothing was done
    note("$name: $tests tests, gpu-bytes=$bytes");
    skipped($name, $text);
    $gpu_bytes += $bytes;
    cmp_ok($bytes, '>', 0, "$name: a GPU worked") if $works{basename($file, '.txt')} && $tests;
    return;
}

# Whatever may use a cipher: DRBGs, CMAC and the KDFs made of it, too.
my @files = map { glob("$data/$_*.txt") } qw(evpciph_ evprand evpmac_c evpkdf_k);
cipher_data($_) foreach @files;
my $help = run(["$openssl/source/test/evp_test", '-help'],
    env => {LD_LIBRARY_PATH => libraries("$openssl/lib"), OPENSSL_CONF => '/dev/null'});
SKIP: {
    skip('this evp_test cannot cut its data into pieces', 1)
        if "$help->{out}$help->{err}" !~ /-chunk/;
    cipher_data($_, '-chunk', 33) foreach glob("$data/evpciph_aes_c*.txt");
}
cmp_ok($gpu_bytes, '>', 0, "cipher data: $gpu_bytes bytes by a GPU");

# ---- Calls ------------------------------------------------------------------------

# A module that was linked with another libcrypto has the parameters of that one's ciphers.
my ($linked) = run(['readelf', '--dynamic', $module])->{out} =~ /\[libcrypto\.so\.(\d+)\]/;
SKIP: {
    skip("the module has OpenSSL $linked", 1) if slurp("$openssl/version") !~ /^$linked\./;
    my $extra = compare('evp_extra_test', sub { "$openssl/source/test/evp_extra_test" },
        sub { (OPENSSL_CONF => $_[0]) });
    my $passed = () = $extra->{out} =~ /^\s*ok /mg;
    note("evp_extra_test: $passed");
    cmp_ok(figure($extra, 'gpu-bytes'), '>', 0, 'evp_extra_test: a GPU worked');
}

# ---- TLS ---------------------------------------------------------------------------

my $tests = "$openssl/source/test";
my $ssl_data = "$tests/recipes/90-test_sslapi_data";
# Which of its tests pass; some may fail for OpenSSL alone, by what a machine has of TLS in its kernel.
my ($theirs, $mine) = map {
    run(["$tests/sslapitest", "$tests/certs", "$ssl_data/passwd.txt", "$folder/ssl", 'default', $_,
            "$ssl_data/dhparams.pem", $ssl_data],
        env => {LD_LIBRARY_PATH => libraries("$openssl/lib"), OPENSSL_CONF => '/dev/null',
            OPENSSL_TEST_RAND_SEED => 1, GPUAES_MIN_BYTES => 0, GPUAES_LOG => 'summary'},
        seconds => 7200)
} ($stock, $ours);
my ($their_tests, $my_tests) = map { [$_->{out} =~ /^ *((?:not )?ok .*)$/mg] } $theirs, $mine;
cmp_ok(scalar(@$my_tests), '>', 100, 'sslapitest: its tests');
is_deeply($my_tests, $their_tests, 'sslapitest: with us the same pass');
is($mine->{status}, $theirs->{status}, 'sslapitest: ends as OpenSSL alone');
diag("sslapitest fails without us, too: $_") foreach grep { /^not ok \d+ - test_/ } @$their_tests;
cmp_ok(figure($mine, 'cpu-bytes-unsuited') // 0, '>', 0, 'sslapitest: records by us');

done_testing();
