#!/usr/bin/perl
# nginx and curl over TLS 1.2 with CBC suites, both ways, and TLS 1.3 beside it; both
# programs have the sample configuration.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my ($nginx, $curl) = needs(nginx => 'nginx', curl => 'curl');

my $bytes = 3_000_001;
my $plain = spew("$world/plain", substr(pack('N*', map { $_ * 2654435761 % 2**32 } 0 .. $bytes / 4), 0, $bytes));
my ($key, $certificate) = certificate();

sub nginx
{
    my ($port, %env) = @_;
    # Its workers would not be root, and write nothing here.
    my $user = $< == 0 ? 'user root;' : '';
    my $paths = join(' ', map { "${_}_temp_path $world/$_;" } qw(client_body proxy fastcgi uwsgi scgi));
    spew("$world/nginx.conf", <<"END");
daemon off;
$user
worker_processes 2;
pid $world/nginx.pid;
error_log stderr notice;
events { worker_connections 32; }
http {
    access_log off;
    $paths
    server {
        listen 127.0.0.1:$port ssl;
        ssl_certificate $certificate;
        ssl_certificate_key $key;
        ssl_protocols TLSv1.2 TLSv1.3;
        root $world;
        location /up/ { dav_methods PUT; create_full_put_path on; client_max_body_size 8m; }
    }
}
END
    return server([$nginx, '-p', $world, '-e', 'stderr', '-c', "$world/nginx.conf"], env => with_gpuaes(%env),
        err => "$world/nginx.err", signal => 'QUIT', ready => sub {
            IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port");
        });
}

sub fetch
{
    my ($port, $arguments, %env) = @_;
    return run([$curl, '--silent', '--show-error', '--verbose', '--fail', '--cacert', $certificate, @$arguments,
            "https://localhost:$port" . ($arguments->[0] eq '--upload-file' ? '/up/' : '/plain')],
        env => with_gpuaes(%env), out => "$world/got");
}

sub there_and_back
{
    my ($name, %env) = @_;
    my $port = free_port();
    my $server = nginx($port, %env);
    my @cbc = ('--tls-max', '1.2', '--ciphers');

    foreach my $suite (qw(ECDHE-RSA-AES256-SHA384 ECDHE-RSA-AES128-SHA)) {
        my $down = fetch($port, [@cbc, $suite], %env);
        good($down, "$name: curl with $suite");
        like($down->{err}, qr{SSL connection using TLSv1.2 / $suite}, "$name: it is that suite");
        ok(slurp("$world/got") eq slurp($plain), "$name: the bytes came down");
        cmp_ok(total($down->{err}, 'cpu-bytes-unsuited'), '>=', $bytes,
            "$name: records are the CPU's, through us");
        my $up = fetch($port, ['--upload-file', $plain, @cbc, $suite], %env);
        good($up, "$name: curl sends with $suite");
        ok(slurp("$world/up/plain") eq slurp($plain), "$name: the bytes went up");
        cmp_ok(total($up->{err}, 'cpu-bytes-unsuited'), '>=', $bytes, "$name: through us, too");
        unlink("$world/up/plain");
    }
    my $other = fetch($port, ['--tlsv1.3'], %env);
    good($other, "$name: curl with TLS 1.3");
    ok(slurp("$world/got") eq slurp($plain), "$name: the bytes came down by another provider");
    like($other->{err}, qr{SSL connection using TLSv1.3}, "$name: with TLS 1.3");

    ok(end_server($server), "$name: the server ends");
    my $said = slurp("$world/nginx.err");
    cmp_ok(total($said, 'cpu-bytes-unsuited'), '>=', 4 * $bytes, "$name: nginx had us do its records");
    is(total($said, 'faults'), 0, "$name: no fault");
    unlike($said, qr/\[(?:alert|crit|emerg|error)\]/, "$name: nginx reports no error") or diag($said);
    return;
}

there_and_back('with every default', GPUAES_MIN_BYTES => 'auto');
there_and_back('with each block on the GPU');

done_testing();
