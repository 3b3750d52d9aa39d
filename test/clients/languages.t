#!/usr/bin/perl
# With the sample configuration: Ruby's openssl, ciphers, keys, TLS 1.2 with CBC; and Python's package
# cryptography, Debian's, which uses the system's libcrypto, and that of the python3 on PATH, which may
# bring its own; and Node.js, in the two ways that docs/configuration/one-program.md names.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

needs();

# The same results, and at least so many bytes by us; and of them of CBC encryption and TLS.
sub check
{
    my ($language, $program, $bytes, $unsuited) = @_;
    my @command = ($language, "$FindBin::Bin/$program");
    my $stock = run(\@command, env => without_gpuaes());
    good($stock, "$language: it works without us");
    foreach (['with every default', {GPUAES_MIN_BYTES => 'auto'}, 'cpu-bytes'], ['with each block on the GPU', {}, 'gpu-bytes'])
    {
        my ($how, $env, $figure) = @$_;
        my $ours = run(\@command, env => with_gpuaes(%$env));
        good($ours, "$language, $how: it ends well");
        is($ours->{out}, $stock->{out}, "$language, $how: the same results");
        cmp_ok(total($ours->{err}, $figure), '>=', $bytes, "$language, $how: $figure");
        cmp_ok(total($ours->{err}, 'cpu-bytes-unsuited'), '>=', $unsuited, "$language, $how: what is serial by us on the CPU")
            if $unsuited;
        is(total($ours->{err}, 'faults'), 0, "$language, $how: no fault");
    }
    return;
}

my @folders = split(/:/, $ENV{PATH});
SKIP: {
    my ($ruby) = grep { -x } map { "$_/ruby" } @folders;
    skip('ruby is not installed (Debian: ruby)', 1) if !$ruby;
    check($ruby, 'openssl_client.rb', 22_000_000, 7_000_000);
}
SKIP: {
    # That of Debian fails without the legacy provider, which it looks for in OPENSSL_MODULES.
    local $ENV{CRYPTOGRAPHY_OPENSSL_NO_LEGACY} = 1;
    my %pythons;    # one of each installation
    foreach my $python (grep { -x } '/usr/bin/python3', map { "$_/python3" } @folders) {
        my $found = run([$python, '-c', 'import cryptography; print(cryptography.__file__)'], env => without_gpuaes());
        $pythons{$found->{out}} //= $python if !$found->{status};
    }
    skip('cryptography is not installed (Debian: python3-cryptography)', 1) if !%pythons;
    check($_, 'cryptography_client.py', 160_000_000, 0) foreach sort values %pythons;
}
SKIP: {
    my ($node) = grep { -x } map { "$_/node" } @folders;
    skip('node is not installed (Debian: nodejs)', 1) if !$node;
    my ($major, $minor) = run([$node, '--version'])->{out} =~ /^v(\d+)\.(\d+)/;
    my @command = ($node, '-e', 'const cipher = require("crypto").createCipheriv("aes-256-ctr", Buffer.alloc(32, 1), Buffer.alloc(16, 2));'
            . ' require("fs").writeSync(1, cipher.update(Buffer.alloc(50000)).toString("base64"));');
    my $stock = run(\@command, env => without_gpuaes());
    good($stock, 'node: it works without us');
    my $line = spew("$world/node.cnf", "nodejs_conf = openssl_init\n" . slurp("$source/docs/gpuaes.cnf"));
    foreach (['the line nodejs_conf', {OPENSSL_CONF => $line}], ['NODE_OPTIONS', {NODE_OPTIONS => '--openssl-shared-config'}]) {
        my ($how, $env) = @$_;
        next if $env->{NODE_OPTIONS} && ($major < 18 || $major == 18 && $minor < 5);
        my $ours = run(\@command, env => with_gpuaes(%$env));
        good($ours, "node, $how: it ends well");
        is($ours->{out}, $stock->{out}, "node, $how: the same results");
        cmp_ok(total($ours->{err}, 'gpu-bytes'), '>=', 49984, "node, $how: by the GPU");
    }
}

done_testing();
