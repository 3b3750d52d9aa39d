#!/usr/bin/perl
# The programs that speak EVP, with another libcrypto than that which they and the module
# were built with: the same binaries, as they are installed, must do for all of them.
# test/debian_openssl builds one, for instance the 3.5 of Debian's trixie, which has EVP
# pipelines; then
#
#   make check TESTS=test/openssl_versions.t GPUAES_TEST_OPENSSL=FOLDER
#
# runs with it. GPUAES_TEST_OPENSSL names folders, with colons between them; without it those
# are taken that `make check-openssl` has built.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

my @folders = split(/:/, $ENV{GPUAES_TEST_OPENSSL} // join(':', glob("$build/openssl-*")));
@folders = grep { -e "$_/lib/libcrypto.so.3" } @folders;
plan(skip_all => 'there is no other OpenSSL: GPUAES_TEST_OPENSSL names none, and'
        . ' `make check-openssl` has built none') if !@folders;
plan(skip_all => 'a sanitizer has seen this code') if $ENV{GPUAES_TEST_SANITIZER};

my @programs = qw(aes_differential_test aes_known_answer_test aes_parameters_test base64_test
    device_memory_test load_unload_test pipeline_test read_ahead_test read_ahead_walks_test
    stream_test threads_test);

foreach my $folder (@folders) {
    my $environment = {LD_LIBRARY_PATH => libraries("$folder/lib"), OPENSSL_CONF => '/dev/null'};
    my ($version) = slurp("$folder/lib/pkgconfig/libcrypto.pc") =~ /^Version: (\S+)/m;
    foreach my $program (@programs) {
        my $result = run(["$build/test/$program"], env => $environment, seconds => 600);
        my $done = () = $result->{out} =~ /^ok /mg;
        is($result->{status}, 0, "$program with $version: $done assertions")
            or diag($result->{out} =~ /^(not ok .*)$/mg, $result->{err});
        next if $program ne 'pipeline_test';
        like($result->{out}, qr/^# OpenSSL \Q$version\E /m, "it runs with $version");
        my $by_evp = () = $result->{out} =~ /^ok .*\bEVP\b/mg;
        cmp_ok($by_evp, '>', 30, "pipelines through EVP: $by_evp assertions")
            if $version =~ /^3\.(\d+)/ && $1 >= 5;
    }
}
done_testing();
