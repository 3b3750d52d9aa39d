#!/usr/bin/perl
# stunnel as a server of TLS 1.3, both ways. It asks OpenSSL for "provider!=fips", which replaces any
# preference for a provider in the default properties.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my ($stunnel) = needs(stunnel4 => 'stunnel4');

my $bytes = 3_000_001;
my $plain = plain_file($bytes);
my ($key, $certificate) = certificate();

# A connection gets the file from the server, or leaves one there.
sub stunnel
{
    my ($down, $up, %env) = @_;
    spew("$world/stunnel.conf", <<"END");
foreground = yes
debug = debug
pid =
cert = $certificate
key = $key
sslVersionMin = TLSv1.3
[down]
accept = 127.0.0.1:$down
exec = /bin/cat
execArgs = cat $plain
[up]
accept = 127.0.0.1:$up
exec = /bin/dd
execArgs = dd status=none bs=64k of=$world/came
END
    unlink("$world/stunnel.err");
    return server([$stunnel, "$world/stunnel.conf"], env => with_gpuaes(%env), err => "$world/stunnel.err", signal => 'TERM',
        ready => sub { slurp("$world/stunnel.err") =~ /Configuration successful/ });
}

# With -quiet it takes no line of its input for a command, and stays when that ends.
my @client = qw(openssl s_client -quiet -verify_quiet -verify_return_error -CAfile);

foreach my $case (['with every default', 'cpu-bytes', GPUAES_MIN_BYTES => 'auto'], ['with each block on the GPU', 'gpu-bytes']) {
    my ($name, $figure, %env) = @$case;
    my ($down, $up) = (free_port(), free_port());
    my $server = stunnel($down, $up, %env);
    my $got = run([@client, $certificate, '-connect', "localhost:$down"], env => without_gpuaes());
    good($got, "$name: openssl s_client");
    ok($got->{out} eq slurp($plain), "$name: the bytes came down");
    my $sender = start([@client, $certificate, '-connect', "localhost:$up"], env => without_gpuaes(), in => $plain);
    ok(wait_for(sub { slurp("$world/came") eq slurp($plain) }), "$name: the bytes went up");
    stop($sender);
    unlink("$world/came");
    # A context adds its bytes to the figures when it is freed, which stunnel does before it logs this.
    ok(wait_for(sub { 2 == (() = slurp("$world/stunnel.err") =~ /Service \[\w+\] finished/g) }), "$name: both connections end");
    ok(end_server($server), "$name: the server ends");
    my $said = slurp("$world/stunnel.err");
    cmp_ok(total($said, $figure), '>=', 2 * 0.99 * $bytes, "$name: stunnel had us do its records");
    is(total($said, 'faults'), 0, "$name: no fault");
}

done_testing();
