#!/usr/bin/perl
# Stock `openssl` with the sample configuration: enc, speed, list, rand, cms, smime and
# others, and s_client and s_server over TLS 1.2 with a CBC suite. Every result is that of OpenSSL alone.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good free_port wait_for);
use Test::More;

my $gpuaes = with_gpuaes();
my $stock = without_gpuaes();
my $key = join('', map { sprintf('%02x', $_ * 7 & 255) } 1 .. 32);
my $iv = 'ff' x 15 . 'f0';    # a counter that wraps at 128 bits

# 200013 bytes: not a whole number of blocks, nor of openssl's buffers.
my $plain = spew("$folder/plain", substr(join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 50004), 0, 200013));

sub openssl { my ($command, @how) = @_; return run(['openssl', @$command], @how) }

# ---- enc --------------------------------------------------------------------

sub enc_with_key
{
    my ($bits, $mode) = @_;
    my $cipher = "-aes-$bits-$mode";
    my @arguments = ('enc', $cipher, '-K', substr($key, 0, $bits / 4));
    push(@arguments, '-iv', $iv) if $mode ne 'ecb';
    my ($ours, $theirs, $back) = ("$folder/ours", "$folder/theirs", "$folder/back");

    openssl([@arguments, '-in', $plain, '-out', $theirs], env => $stock);
    my $encrypt = openssl([@arguments, '-in', $plain, '-out', $ours], env => $gpuaes);
    good($encrypt, "enc $cipher ends well");
    ok(slurp($ours) eq slurp($theirs), "enc $cipher: the default's bytes");
    my $decrypt = openssl([@arguments, '-d', '-in', $theirs, '-out', $back], env => $gpuaes);
    good($decrypt, "enc $cipher -d ends well");
    ok(slurp($back) eq slurp($plain), "enc $cipher -d: the plain text again");

SKIP: {
        skip('the default provider keeps no figures', 2) if stand_in();
        my ($there, $here) = (figure($encrypt, 'gpu-bytes') // -1, figure($decrypt, 'gpu-bytes') // -1);
        ok($mode eq 'cbc' ? $there == 0 : $there >= 190000,
            "enc $cipher: $there bytes by the device");
        ok($here >= 190000, "enc $cipher -d: $here bytes by the device");
    }
    return;
}

sub enc_with_password
{
    my ($cipher) = @_;
    my @arguments = ('enc', $cipher, '-pbkdf2', '-iter', 100, '-pass', 'pass:a good one');
    my ($coded, $back) = ("$folder/coded", "$folder/back");

    good(openssl([@arguments, '-in', $plain, '-out', $coded], env => $gpuaes), "enc $cipher with a password");
    openssl([@arguments, '-d', '-in', $coded, '-out', $back], env => $stock);
    ok(slurp($back) eq slurp($plain), "enc $cipher: OpenSSL alone reads it");
    openssl([@arguments, '-in', $plain, '-out', $coded], env => $stock);
    good(openssl([@arguments, '-d', '-in', $coded, '-out', $back], env => $gpuaes), "enc $cipher -d with a password");
    ok(slurp($back) eq slurp($plain), "enc $cipher -d reads what OpenSSL alone wrote");
    my $wrong = openssl([@arguments[0 .. 5], 'pass:a bad one', '-d', '-in', $coded, '-out', $back],
        env => $gpuaes);
    my $same = openssl([@arguments[0 .. 5], 'pass:a bad one', '-d', '-in', $coded, '-out', $back],
        env => $stock);
    is($wrong->{status}, $same->{status}, "enc $cipher -d with a wrong password: as OpenSSL alone");
    my ($ours, $theirs) = map { $_->{err} =~ /:error:(\w+):/ ? $1 : '' } $wrong, $same;
    is($ours, $theirs, "enc $cipher -d with a wrong password: the same first error");
    return;
}

foreach my $bits (128, 192, 256) {
    enc_with_key($bits, $_) foreach qw(ecb cbc ctr);
}
enc_with_password($_) foreach qw(-aes-256-ctr -aes-256-cbc -aes-128-ecb);

SKIP: {
    skip('the default provider stands in', 2) if stand_in();
    my @arguments = ('enc', '-provider', 'gpuaes', '-provider', 'default', '-aes-256-ctr', '-pbkdf2',
        '-pass', 'pass:x', '-in', $plain, '-out', "$folder/ours");
    my $result = openssl(\@arguments, env => without_gpuaes(GPUAES_MIN_BYTES => 0, GPUAES_LOG => 'summary'));
    good($result, 'enc -provider gpuaes -provider default, without a configuration');
    cmp_ok(figure($result, 'gpu-bytes') // 0, '>', 0, 'and the device did it');
}

SKIP: {
    skip('the default provider stands in', 2) if stand_in();
    my $result = openssl(['enc', '-aes-256-ctr', '-K', $key, '-iv', $iv, '-in', $plain],
        env => with_gpuaes(GPUAES_MIN_BYTES => 'auto'));
    ok($result->{out} eq openssl(['enc', '-aes-256-ctr', '-K', $key, '-iv', $iv, '-in', $plain], env => $stock)->{out},
        'enc with every default: the same bytes');
    cmp_ok(figure($result, 'cpu-bytes') // 0, '>=', 190000, 'and the CPU did it, through us');
}

# ---- errors ---------------------------------------------------------------------

SKIP: {
    skip('the default provider raises its own errors', 2) if stand_in();
    my $refused = openssl(['list', '-providers', '-provider', 'gpuaes'],
        env => without_gpuaes(GPUAES_POLICY => 'wrong'));
    like($refused->{err}, qr/:gpuaes:refuse:bad setting:[^:]+:\d+:policy has the value "wrong", expected auto, /,
        'an error names its library, what is wrong, and the value, also of a provider that does not load');
    my $failed = openssl(['enc', '-BASE64', '-K', '', '-d', '-in', $plain, '-out', "$folder/ours"], env => $gpuaes);
    like($failed->{err}, qr/:gpuaes:\w+:invalid Base64:[^:]+:\d+:./, 'and so does one of a cipher');
}

# ---- speed ------------------------------------------------------------------

foreach my $arguments (
    ['-evp', 'aes-256-ctr'],
    ['-evp', 'aes-256-ctr', '-multi', 2],
    ['-evp', 'aes-256-ctr', '-async_jobs', 2],
    ['-evp', 'aes-256-cbc', '-decrypt'],
    ['-evp', 'aes-256-cbc', '-async_jobs', 64],
    ['-evp', 'aes-256-gcm'],
    ['-evp', 'aes-256-gcm', '-aead'],
    ['-evp', 'aes-192-gcm', '-aead', '-decrypt', '-multi', 2],
    ['-evp', 'aes-256-xts'],
    )
{
    # By the clock: on a busy machine a second may come without any time of a CPU, for a rate of "inf".
    my $result = openssl(['speed', '-elapsed', '-seconds', 1, '-bytes', 16384, @$arguments], env => $gpuaes);
    good($result, "speed @$arguments ends well");
    like($result->{out}, qr/^aes-\d+-\w+\s+\d+\.\d+k/mi, "speed @$arguments measures something");
SKIP: {
        skip('the default provider keeps no figures', 1) if stand_in();
        # With -multi the children do the work; each prints its own line. CBC encryption is serial.
        my @bytes = $result->{err} =~ /^gpuaes: summary gpu-bytes=(\d+)/mg;
        my $expected = "@$arguments" =~ /-multi (\d)/ ? $1 : "@$arguments" =~ /cbc(?!.*-decrypt)/ ? 0 : 1;
        is(grep({ $_ > 0 } @bytes), $expected, "speed @$arguments: $expected of the processes by the device");
    }
}

# ---- list, rand, and what uses AES inside --------------------------------------

my $providers = openssl(['list', '-providers', '-verbose'], env => $gpuaes);
good($providers, 'list -providers -verbose');
my $algorithms = openssl(['list', '-cipher-algorithms'], env => $gpuaes);
good($algorithms, 'list -cipher-algorithms');
SKIP: {
    skip('the default provider stands in', 17) if stand_in();
    like($providers->{out}, qr/^\s+gpuaes\n(?:\s{4}.*\n)*?\s+status: active/m, 'gpuaes is active');
    like($providers->{out}, qr/^\s+gpuaes\n(?:\s{4}.*\n)*?\s+build info: \S+/m, 'with its build info');
    like($providers->{out}, qr/^\s+default\n/m, 'together with the default provider');
    foreach my $bits (128, 192, 256) {
        like($algorithms->{out}, qr/\bAES-$bits-$_\b.* \@ gpuaes$/mi, "AES-$bits-$_ is listed")
            foreach qw(ECB CBC CTR GCM), $bits == 192 ? () : 'XTS';
    }
}

like(openssl(['rand', '-hex', 32], env => $gpuaes)->{out}, qr/^[0-9a-f]{64}\n$/, 'rand');
my $own_random = slurp("$source/docs/gpuaes.cnf");
$own_random =~ s/^random = .*$//mg;
spew("$folder/random.cnf", $own_random);
my $random = openssl(['rand', '-hex', 1000], env => stand_in() ? $stock : with_gpuaes(OPENSSL_CONF => "$folder/random.cnf"));
good($random, 'rand where the generator takes our AES');
like($random->{out}, qr/^[0-9a-f]{2000}\n$/, 'and it gives bytes');

# Programs that must give what OpenSSL alone gives.
foreach my $arguments (
    ['dgst', '-sha256', $plain],
    ['mac', '-cipher', 'AES-256-CBC', '-macopt', "hexkey:$key", '-in', $plain, 'CMAC'],
    ['mac', '-cipher', 'AES-128-CBC', '-macopt', 'hexkey:' . substr($key, 0, 32), '-in', $plain, 'CMAC'],
    ['enc', '-aes-256-cbc', '-a', '-K', $key, '-iv', $iv, '-in', $plain],
    ['enc', '-aes-256-ctr', '-bufsize', 100000, '-K', $key, '-iv', $iv, '-in', $plain],
    )
{
    my $ours = openssl($arguments, env => $gpuaes);
    good($ours, "@$arguments[0 .. 2]");
    my $theirs = openssl($arguments, env => $stock);
    ok($ours->{out} eq $theirs->{out} && length($ours->{out}), "@$arguments[0 .. 2]: as OpenSSL alone");
}

my @cms = ('-secretkey', $key, '-binary', '-outform', 'DER');
good(openssl(['cms', '-EncryptedData_encrypt', '-aes-256-cbc', @cms, '-in', $plain, '-out', "$folder/cms"],
        env => $gpuaes), 'cms -EncryptedData_encrypt');
openssl(['cms', '-EncryptedData_decrypt', '-inform', 'DER', '-secretkey', $key, '-binary', '-in',
        "$folder/cms", '-out', "$folder/back"], env => $stock);
ok(slurp("$folder/back") eq slurp($plain), 'OpenSSL alone reads it');
good(openssl(['cms', '-EncryptedData_decrypt', '-inform', 'DER', '-secretkey', $key, '-binary', '-in',
            "$folder/cms", '-out', "$folder/back"], env => $gpuaes), 'cms -EncryptedData_decrypt');
ok(slurp("$folder/back") eq slurp($plain), 'we read it');

my ($certificate, $private) = ("$folder/certificate.pem", "$folder/private.pem");

# To a recipient, as mail is: we read what OpenSSL alone wrote, and the other way round. Our bytes
# are counted by the named figures, one for writing and one for reading.
sub mail
{
    my ($command, $cipher, $written_by, $read_by) = @_;
    my @write = ($command, '-encrypt', "-$cipher", '-binary', '-outform', 'DER', '-in', $plain, '-out', "$folder/mail");
    my @read = ($command, '-decrypt', '-inform', 'DER', '-binary', '-in', "$folder/mail", '-recip', $certificate,
        '-inkey', $private, '-out', "$folder/back");
    foreach ([$gpuaes, $stock, 'OpenSSL alone reads it'], [$stock, $gpuaes, 'we read it'])
    {
        my ($writer, $reader, $name) = @$_;
        my $written = openssl([@write, $certificate], env => $writer);
        good($written, "$command -$cipher: a message is written");
        my $read = openssl(\@read, env => $reader);
        good($read, "$command -$cipher: $name");
        ok(slurp("$folder/back") eq slurp($plain), "$command -$cipher: it is the same");
        next if stand_in();
        my $done = $writer == $gpuaes ? figure($written, $written_by) : figure($read, $read_by);
        cmp_ok($done // 0, '>=', 190000, "$command -$cipher: $done bytes by us");
    }
    return;
}

# AuthEnvelopedData whose text has changed: we refuse it, as OpenSSL alone does.
sub forged_mail
{
    my $message = slurp("$folder/mail");
    substr($message, 1000, 1) ^= "\1";
    spew("$folder/forged", $message);
    foreach ([$gpuaes, 'by us'], [$stock, 'by OpenSSL alone']) {
        my ($env, $name) = @$_;
        my $read = openssl(['cms', '-decrypt', '-inform', 'DER', '-binary', '-in', "$folder/forged", '-recip',
                $certificate, '-inkey', $private, '-out', "$folder/back"], env => $env);
        isnt($read->{status}, 0, "cms -aes-256-gcm: a forged message is refused $name");
    }
    return;
}
good(openssl(['genpkey', '-algorithm', 'ED25519', '-aes-256-cbc', '-pass', 'pass:x', '-out', $private],
        env => $gpuaes), 'genpkey writes an encrypted key');
good(openssl(['pkey', '-in', $private, '-passin', 'pass:x', '-noout'], env => $stock), 'OpenSSL alone reads it');
good(openssl(['pkey', '-in', $private, '-passin', 'pass:x', '-noout'], env => $gpuaes), 'we read it');

# ---- TLS --------------------------------------------------------------------

my $suite = 'ECDHE-RSA-AES256-SHA384';

# A client that tries again until the server listens.
sub client
{
    my ($port, $arguments, %how) = @_;
    my $result;
    wait_for(sub {
            $result = openssl(['s_client', '-connect', "127.0.0.1:$port", '-tls1_2', '-cipher', $suite, @$arguments],
                env => $gpuaes, %how);
            return !$result->{status} || $result->{err} !~ /connect:errno|Connection refused/;
        });
    return $result;
}

sub handshake
{
    my ($name, @etm) = @_;
    my $port = free_port();
    chdir($folder) or die "$folder: $!";
    my $server = start(['openssl', 's_server', '-WWW', '-accept', "127.0.0.1:$port", '-cert', $certificate, '-key',
            $private, '-tls1_2', '-cipher', $suite, @etm], env => $gpuaes, err => "$folder/server");
    my $hello = client($port, ['-tlsextdebug', @etm]);
    good($hello, "TLS 1.2 $name: the handshake") or diag(slurp("$folder/server"));
    like($hello->{out}, qr/Cipher\s*(?:is|:)\s*$suite/, "TLS 1.2 $name: with $suite");
    my $offered = $hello->{out} =~ /server extension "encrypt-then-mac"/ ? 1 : 0;
    is($offered, @etm ? 0 : 1, "TLS 1.2 $name: encrypt-then-MAC " . (@etm ? 'is off' : 'is on'));

    spew("$folder/request", "GET /plain HTTP/1.0\r\n\r\n");
    my $got = client($port, ['-quiet', '-ign_eof', @etm], in => "$folder/request");
    (my $body = $got->{out}) =~ s/\A.*?\r\n\r\n//s;
    ok($body eq slurp($plain), "TLS 1.2 $name: 200013 bytes from server to client") or diag($got->{err});
    stop($server);
    cmp_ok(figure($got, 'cpu-bytes-unsuited') // 0, '>=', 200013, "TLS 1.2 $name: records by us") if !stand_in();

    # The other way: a server that writes down what it is sent; its own input stays open.
    $port = free_port();
    system('mkfifo', "$folder/input$port") == 0 or die "mkfifo: $!";
    open(my $held, '+<', "$folder/input$port") or die "fifo: $!";
    $server = start(['openssl', 's_server', '-quiet', '-naccept', 1, '-accept', "127.0.0.1:$port", '-cert',
            $certificate, '-key', $private, '-tls1_2', '-cipher', $suite, @etm], env => $gpuaes,
        in => "$folder/input$port", out => "$folder/received", err => "$folder/server");
    client($port, ['-quiet', '-no_ign_eof', '-nocommands', @etm], in => $plain);
    wait_for(sub { (-s "$folder/received" // 0) >= 200013 });
    stop($server);
    close($held);
    ok(slurp("$folder/received") eq slurp($plain), "TLS 1.2 $name: 200013 bytes from client to server")
        or diag(slurp("$folder/server"));
    chdir('/');
    return;
}

SKIP: {
    skip('no socket can be bound on loopback', 10) if !free_port();
    my $made = openssl(['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', 2, '-subj', '/CN=localhost',
            '-keyout', $private, '-out', $certificate], env => {%$gpuaes, OPENSSL_CONF => '/etc/ssl/openssl.cnf'});
    skip('no certificate can be made: ' . $made->{err}, 10) if $made->{status};
    mail('cms', 'aes-256-cbc', 'cpu-bytes-unsuited', 'gpu-bytes');
    mail('smime', 'aes-128-cbc', 'cpu-bytes-unsuited', 'gpu-bytes');
    mail('cms', 'aes-256-gcm', 'gpu-bytes', 'gpu-bytes');    # AuthEnvelopedData
    forged_mail();
    handshake('with encrypt-then-MAC');
    handshake('with MAC-then-encrypt', '-no_etm');
}

done_testing();
