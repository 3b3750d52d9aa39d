#!/usr/bin/perl
# PostgreSQL with the sample configuration: pgcrypto in a server of our own, and psql
# over TLS 1.2 with a CBC suite. What pgcrypto returns is what it returns without us.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my ($initdb, $postgres, $psql) = needs(
    initdb => 'postgresql', postgres => 'postgresql', psql => 'postgresql-client');
plan(skip_all => 'pgcrypto is not installed (Debian: postgresql-contrib)')
    if !glob('/usr/share/{postgresql/*,pgsql}/extension/pgcrypto.control');

# PostgreSQL refuses to be root.
my @other = ();
if ($< == 0) {
    my ($name, $group) = (getpwnam('postgres'))[2, 3];
    plan(skip_all => 'there is no user postgres') if !defined($name);
    @other = ('setpriv', "--reuid=$name", "--regid=$group", '--clear-groups');
    my ($key, $certificate) = certificate();
    chown($name, $group, $key, $certificate);
} else {
    certificate();
}
my $home = "$world/postgresql";
mkdir($home) or die "$home: $!";
chown((getpwnam('postgres'))[2, 3], $home) if @other;

my $suite = 'ECDHE-RSA-AES256-SHA384';
my $bytes = 1 << 20;
my $hex = join('', map { sprintf('%02x', $_) } 0 .. 31);
# One value of 1 MiB; each query has one line of result.
my @queries = (
    "SELECT encode(digest(encrypt_iv(v, '\\x$hex', '\\x" . '0f' x 16 . "', 'aes-cbc/pad:none'), 'sha256'), 'hex') FROM t",
    "SELECT encode(digest(encrypt(v, '\\x$hex', 'aes-ecb/pad:none'), 'sha256'), 'hex') FROM t",
    "SELECT decrypt(encrypt(v, '\\x$hex', 'aes-cbc'), '\\x$hex', 'aes-cbc') = v FROM t",
    "SELECT decrypt(encrypt(v, 'a key', 'aes-ecb'), 'a key', 'aes-ecb') = v FROM t",
    "SELECT pgp_sym_decrypt_bytea(pgp_sym_encrypt_bytea(v, 'secret', 'cipher-algo=aes256'), 'secret') = v FROM t",
    "SELECT crypt('secret', gen_salt('bf', 4)) IS NOT NULL AND length(gen_random_bytes(64)) = 64",
    'SELECT ssl, version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
);

my $made = run([@other, $initdb, '-D', "$home/data", '-U', 'gpuaes', '-A', 'trust', '-E', 'UTF8', '--locale=C',
        '--no-sync'], env => without_gpuaes());
good($made, 'initdb makes a cluster');

sub postgres
{
    my ($port, %how) = @_;
    my %settings = (
        listen_addresses => '127.0.0.1', port => $port, unix_socket_directories => $home, fsync => 'off', ssl => 'on',
        ssl_cert_file => "$world/certificate.pem", ssl_key_file => "$world/key.pem", ssl_ciphers => $suite,
        ssl_max_protocol_version => 'TLSv1.2');
    return server([$postgres, '-D', "$home/data", map { ('-c', "$_=$settings{$_}") } sort(keys %settings)],
        err => "$world/postgresql.err", signal => 'INT', as => \@other,
        ready => sub { slurp("$world/postgresql.err") =~ /database system is ready/ }, %how);
}

sub psql
{
    my ($port, $queries, %how) = @_;
    return run([$psql, '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', map { ('-c', $_) } @$queries], %how,
        env => {%{$how{env}}, PGHOST => '127.0.0.1', PGPORT => $port, PGUSER => 'gpuaes', PGDATABASE => 'postgres',
            PGSSLMODE => 'require', HOME => $folder});
}

# What psql prints, and what the server and psql say, when the server has ended.
sub answers
{
    my ($name, $env, @first) = @_;
    my $port = free_port();
    my $server = postgres($port, env => $env);
    my $result = psql($port, [@first, @queries], env => $env);
    good($result, "$name: psql gets its answers") or diag(slurp("$world/postgresql.err"));
    # The server ends the session that may still be there.
    ok(end_server($server), "$name: the server ends");
    return ($result->{out}, $result->{err}, slurp("$world/postgresql.err"));
}

my $fill = "SELECT string_agg(md5(i::text), '')::bytea AS v INTO t FROM generate_series(1, $bytes / 32) i";
my ($expected) = answers('stock', without_gpuaes(), 'CREATE EXTENSION pgcrypto', $fill);
like($expected, qr/^(?:[0-9a-f]{64}\n){2}(?:t\n){4}t\|TLSv1.2\|$suite$/, 'the answers are of the kind that was asked for');

foreach my $run (['with every default', {GPUAES_MIN_BYTES => 'auto'}, 'cpu-bytes'], ['with each block on the GPU', {}, 'gpu-bytes'])
{
    my ($name, $env, $figure) = @$run;
    my ($out, $client, $log) = answers($name, with_gpuaes(OPENSSL_CONF => "$world/gpuaes.cnf", %$env));
    is($out, $expected, "$name: the same answers");
    cmp_ok(total($log, $figure), '>=', 2 * $bytes, "$name: $figure of the server");
    is(total($log, 'faults'), 0, "$name: no fault");
    cmp_ok(total($client, 'cpu-bytes') + total($client, 'gpu-bytes'), '>', 0, "$name: psql used us for its records")
        if $name !~ /default/;
}

done_testing();
