#!/usr/bin/perl
# The programs that speak EVP, with another libcrypto than that which they and the module
# were built with: the same binaries, as they are installed, must do for all of them. And that
# OpenSSL's own program `openssl`, which loads the module also where it is OpenSSL 4: the module
# brings the libcrypto.so.3 with it that it was linked with.
# test/openssl/debian_openssl builds one, for instance the 3.5 of Debian's trixie, which has opaque
# keys; then
#
#   make check TESTS=test/openssl/versions.t GPUAES_TEST_OPENSSL=FOLDER
#
# runs with it. GPUAES_TEST_OPENSSL names folders, with colons between them; without it those
# are taken that `make check-openssl` has built.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT other_openssls);
use Test::More;

my @folders = other_openssls();
plan(skip_all => 'there is no other OpenSSL: GPUAES_TEST_OPENSSL names none, and'
        . ' `make check-openssl` has built none') if !@folders;
plan(skip_all => 'a sanitizer has seen this code') if $ENV{GPUAES_TEST_SANITIZER};

my @programs = qw(evp/aes_differential_test evp/known_answer_test evp/aes_parameters_test
    evp/base64_test evp/cuda_stream_test evp/device_memory_test evp/properties_test
    evp/read_ahead_test evp/skey_test process/load_unload_test
    process/stress_test);

my $plain = spew("$folder/plain", join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 50003));
my $key = spew("$folder/key", substr(slurp($plain), 1000, 32));
my $hexkey = unpack('H*', slurp($key));

# Encrypts by the program `openssl` with the module preferred, and compares with the program alone.
sub enc
{
    my ($name, $openssl, $cipher, @how) = @_;
    my @iv = ('-iv', 'ff' x 15 . 'f0');
    my @command = ($openssl, 'enc', "-$cipher", '-in', $plain, '-out');
    my $theirs = run([@command, "$folder/theirs", '-K', $hexkey, @iv], env => without_gpuaes());
    my $ours = run([@command, "$folder/ours", @how, @iv], env => with_gpuaes());
    is($ours->{status}, 0, "$name: ends well") or diag($ours->{err});
    ok($theirs->{status} == 0 && slurp("$folder/ours") eq slurp("$folder/theirs"),
        "$name: the default's bytes");
    cmp_ok(figure($ours, 'gpu-bytes') // 0, '>', 0, "$name: a GPU worked") if $cipher =~ /ctr$/;
    unlink("$folder/ours", "$folder/theirs");
    return;
}

# Raw keys, and what this version has of opaque ones.
sub encs
{
    my ($openssl, $version) = @_;
    local $ENV{LD_LIBRARY_PATH} = libraries(dirname(dirname($openssl)) . '/lib');
    my $help = run([$openssl, 'enc', '-help'], env => without_gpuaes());
    my $options = $help->{out} . $help->{err};
    foreach my $cipher (qw(aes-256-ctr aes-256-cbc)) {
        enc("enc -$cipher -K with $version", $openssl, $cipher, '-K', $hexkey);
        foreach my $type (qw(AES GENERIC-SECRET)) {
            enc("enc -$cipher -skeymgmt $type with $version", $openssl, $cipher, '-skeymgmt', $type,
                '-skeyopt', "hexraw-bytes:$hexkey") if $options =~ /-skeyopt/;
        }
        enc("enc -$cipher -skeyuri with $version", $openssl, $cipher, '-skeyuri', $key)
            if $options =~ /-skeyuri/;
    }
    return;
}

# What OpenSSL says of a provider that refuses to load. OpenSSL 4 does not know our sentences by
# their numbers, so the error brings it along.
sub refusal
{
    my ($openssl, $version) = @_;
    my $said = run([$openssl, 'list', '-providers', '-provider', 'gpuaes'],
        env => without_gpuaes(GPUAES_POLICY => 'wrong'))->{err};
    my $sentence = $version =~ /^3/ ? qr/:gpuaes:refuse:bad setting:[^:]+:\d+:/
        : qr/:refuse:reason\(1\):[^:]+:\d+:gpuaes: bad setting: /;
    like($said, qr/${sentence}policy has the value "wrong", expected auto, gpu or cpu/,
        "a wrong setting with $version: the error says all");
    return;
}

foreach my $folder (@folders) {
    my $environment = {LD_LIBRARY_PATH => libraries("$folder/lib"), OPENSSL_CONF => '/dev/null', GPUAES_TEST_SECONDS => 5};
    my ($version) = slurp("$folder/lib/pkgconfig/libcrypto.pc") =~ /^Version: (\S+)/m;
    encs("$folder/bin/openssl", $version) if -x "$folder/bin/openssl";
    refusal("$folder/bin/openssl", $version) if -x "$folder/bin/openssl";
    if (!-e "$folder/lib/libcrypto.so.3") {
        note("$version: the programs are linked with libcrypto.so.3, which it has not");
        next;
    }
    foreach my $program (@programs) {
        my $result = run(["$build/test/$program"], env => $environment);
        my $done = () = $result->{out} =~ /^ok /mg;
        is($result->{status}, 0, "$program with $version: $done assertions")
            or diag($result->{out} =~ /^(not ok .*)$/mg, $result->{err});
        next if $program ne 'evp/skey_test';
        like($result->{out}, qr/^# OpenSSL \Q$version\E /m, "it runs with $version");
        my $by_evp = () = $result->{out} =~ /^ok .*\bEVP\b/mg;
        cmp_ok($by_evp, '>', 9, "opaque keys through EVP: $by_evp assertions")
            if $version =~ /^3\.(\d+)/ && $1 >= 5;
    }
}
done_testing();
