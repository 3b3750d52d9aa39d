#!/usr/bin/perl
# The last object of a provider is freed after OPENSSL_cleanup(): by an exit handler, a destructor,
# a static object of C++, and after a call of that function. With this machine's OpenSSL, and with
# each that versions.t takes, OpenSSL 4 too: there the module's libcrypto is not the program's.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good other_openssls);
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer has seen this code') if $ENV{GPUAES_TEST_SANITIZER};
my ($compiler) = slurp("$build/Makefile") =~ /^CXX = (.*)$/m;

# Not AES-256-CTR: 3.5 may answer a fetch of it with the cipher of the random number generator.
my %ciphers = (context => [qw(AES-128-ECB AES-128-CTR AES-256-GCM AES-128-XTS)]);

sub frees
{
    my ($program, $version, $environment) = @_;
    foreach my $object (qw(tls cipher context library)) {
        foreach my $cipher (@{$ciphers{$object} // ['AES-128-CTR']}) {
            foreach my $way (qw(handler destructor static explicit)) {
                my $result = run([$program, $object, $way, $cipher], env => $environment);
                ok($result->{status} == 0 && $result->{err} =~ /^freed$/m,
                    "$version: $object of $cipher, $way")
                    or diag("status $result->{status}: $result->{err}");
            }
        }
    }
    return;
}

foreach my $of (undef, other_openssls()) {
    my $program = "$folder/late_frees";
    my @from = $of ? ("-I$of/include", "-L$of/lib") : ();
    my $built = run([split(' ', $compiler), '-std=c++17', '-o', $program, @from,
            "$source/test/openssl/late_frees.cc", '-lssl', '-lcrypto']);
    my $name = $of ? $of =~ s{.*/}{}r : "this machine's OpenSSL";
    good($built, "$name: the program is built") or next;
    frees($program, $name, with_gpuaes($of ? (LD_LIBRARY_PATH => libraries("$of/lib")) : ()));
}
done_testing();
