#!/usr/bin/perl
# jose, which encrypts JSON Web Encryption in updates of a byte: what it makes with gpuaes, OpenSSL alone
# decrypts, and the other way round; a changed tag is refused.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my ($jose) = needs(jose => 'jose');

my $bytes = 100_001;
my $plain = plain_file($bytes);

sub encrypt
{
    my ($algorithm, $env) = @_;
    return run([$jose, qw(jwe enc -i), qq({"protected":{"alg":"dir","enc":"$algorithm"}}), '-I', $plain, '-k', "$world/key",
            '-o', "$world/encrypted"], env => $env);
}

sub decrypt
{
    my ($env) = @_;
    unlink("$world/got");
    return run([$jose, qw(jwe dec -i), "$world/encrypted", '-k', "$world/key", '-O', "$world/got"], env => $env);
}

foreach my $algorithm (qw(A128GCM A192GCM A256GCM A128CBC-HS256 A192CBC-HS384 A256CBC-HS512)) {
    good(run([$jose, qw(jwk gen -i), qq({"alg":"$algorithm"}), '-o', "$world/key"], env => without_gpuaes()), "$algorithm: a key");
    foreach (['gpuaes encrypts', with_gpuaes(), without_gpuaes()], ['gpuaes decrypts', without_gpuaes(), with_gpuaes()]) {
        my ($how, @sides) = @$_;
        my @results = (encrypt($algorithm, $sides[0]), decrypt($sides[1]));
        good($_, "$algorithm: $how") foreach @results;
        ok(slurp("$world/got") eq slurp($plain), "$algorithm, $how: the same text");
        my $said = join('', map { $_->{err} } @results);
        cmp_ok(total($said, 'cpu-bytes'), '>=', $bytes, "$algorithm, $how: cpu-bytes");
        is(total($said, 'faults'), 0, "$algorithm, $how: no fault");
    }
    next if $algorithm !~ /GCM/;    # others have an HMAC
    my $changed = slurp("$world/encrypted") =~ s/("tag":"..)(.)/$1 . ($2 eq 'A' ? 'B' : 'A')/er;
    ok($changed ne slurp("$world/encrypted"), "$algorithm: another tag");
    spew("$world/encrypted", $changed);
    isnt(decrypt(with_gpuaes())->{status}, 0, "$algorithm: gpuaes refuses it");
}

done_testing();
