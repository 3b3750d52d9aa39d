#!/usr/bin/perl
# nginx and curl over TLS 1.2 with CBC and GCM suites and over TLS 1.3 with GCM, both ways, and another
# cipher together with it; both programs have the sample configuration.
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
my $plain = plain_file($bytes);
my $large = spew("$world/large", slurp($plain) x 34);    # 102 MB
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
    my ($port, $path, $arguments, %env) = @_;
    return run([$curl, '--silent', '--show-error', '--verbose', '--fail', '--cacert', $certificate, @$arguments,
            "https://localhost:$port/$path"],
        env => with_gpuaes(%env), out => "$world/got");
}

# Records of TLS 1.2 are the CPU's; one of TLS 1.3 is a message like any other.
my @all = qw(cpu-bytes gpu-bytes);
my @suites = (
    ['1.2', 'ECDHE-RSA-AES256-SHA384', ['cpu-bytes-unsuited']],
    ['1.2', 'ECDHE-RSA-AES128-SHA', ['cpu-bytes-unsuited']],
    ['1.2', 'ECDHE-RSA-AES256-GCM-SHA384', ['cpu-bytes-unsuited']],
    ['1.2', 'ECDHE-RSA-AES128-GCM-SHA256', ['cpu-bytes-unsuited']],
    ['1.3', 'TLS_AES_256_GCM_SHA384', \@all],
    ['1.3', 'TLS_AES_128_GCM_SHA256', \@all],
);

sub totals { my ($said, @figures) = @_; my $sum = 0; $sum += total($said, $_) foreach @figures; return $sum }

sub there_and_back
{
    my ($name, %env) = @_;
    my $port = free_port();
    my $server = nginx($port, %env);

    foreach (@suites) {
        my ($version, $suite, $figures) = @$_;
        my @suite = $version eq '1.3' ? ('--tlsv1.3', '--tls13-ciphers') : ('--tls-max', $version, '--ciphers');
        push(@suite, $suite);
        my $down = fetch($port, 'plain', \@suite, %env);
        good($down, "$name: curl with $suite");
        like($down->{err}, qr{SSL connection using TLSv$version / $suite}, "$name: it is that suite");
        ok(slurp("$world/got") eq slurp($plain), "$name: the bytes came down");
        cmp_ok(totals($down->{err}, @$figures), '>=', $bytes, "$name: records are in @$figures");
        my $up = fetch($port, 'up/', ['--upload-file', $plain, @suite], %env);
        good($up, "$name: curl sends with $suite");
        ok(slurp("$world/up/plain") eq slurp($plain), "$name: the bytes went up");
        cmp_ok(totals($up->{err}, @$figures), '>=', $bytes, "$name: through us, too");
        unlink("$world/up/plain");
    }
    my $other = fetch($port, 'plain', ['--tlsv1.3', '--tls13-ciphers', 'TLS_CHACHA20_POLY1305_SHA256'], %env);
    good($other, "$name: curl with another cipher");
    ok(slurp("$world/got") eq slurp($plain), "$name: the bytes came down by another provider");
    like($other->{err}, qr{SSL connection using TLSv1.3 / TLS_CHACHA20}, "$name: with ChaCha20");

    my $device = fetch($port, 'large', ['--tlsv1.3', '--tls13-ciphers', 'TLS_AES_256_GCM_SHA384'], %env, GPUAES_MIN_BYTES => 0);
    good($device, "$name: curl with each block on the GPU");
    ok(slurp("$world/got") eq slurp($large), "$name: 102 MB came down");
    cmp_ok(total($device->{err}, 'gpu-bytes'), '>=', 0.99 * -s $large, "$name: decrypted by the GPU");

    ok(end_server($server), "$name: the server ends");
    my $said = slurp("$world/nginx.err");
    cmp_ok(totals($said, @all), '>=', 2 * @suites * $bytes + -s $large, "$name: nginx had us do its records");
    cmp_ok(total($said, 'gpu-bytes'), '>=', 0.99 * -s $large, "$name: nginx had the GPU do them") if !%env;
    is(total($said, 'faults'), 0, "$name: no fault");
    unlike($said, qr/\[(?:alert|crit|emerg|error)\]/, "$name: nginx reports no error") or diag($said);
    return;
}

there_and_back('with every default', GPUAES_MIN_BYTES => 'auto');
there_and_back('with each block on the GPU');

done_testing();
