#!/usr/bin/perl
# OpenVPN's data channel, both ways: one end has gpuaes, and the other OpenSSL alone. Both have a device of the kernel,
# in a network of the test's own. What comes out of the receiver's is compared.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use IO::Socket::INET;
use Programs qw(:DEFAULT become);
use Socket qw(SOCK_NONBLOCK);
use Test::More;

# The program begins again in a network of its own, where it may open /dev/net/tun.
my @alone = (@namespace, '--net', '--');
my $open = 'open(my $tun, "+<", "/dev/net/tun") or exit(1);'
    . 'my $as = pack("a16 s x22", "tun0", 0x1001); exit(!ioctl($tun, 0x400454ca, $as))';    # TUNSETIFF, IFF_TUN | IFF_NO_PI
if (!@ARGV) {
    plan(skip_all => 'no tunnel can be made: /dev/net/tun in a network of its own') if system("@alone '$^X' -e '$open' 2>/dev/null");
    become(@alone, $^X, $0, 'alone');
}
up('lo');

my ($openvpn) = needs(openvpn => 'openvpn');
my ($version) = run([$openvpn, '--version'])->{out} =~ /^OpenVPN (\d+\.\d+)/;
plan(skip_all => "OpenVPN $version has no --peer-fingerprint: 2.6 or newer is needed") if $version < 2.6;
my ($key, $certificate) = certificate();
my ($fingerprint) = run([qw(openssl x509 -noout -fingerprint -sha256 -in), $certificate])->{out} =~ /=(\S+)/;
my $payload = join('', map { pack('n', $_ * 40503 % 65536) } 1 .. 686);
my $bytes = 400_000;

# SIOCSIFFLAGS, IFF_UP | IFF_RUNNING
sub up
{
    my ($interface) = @_;
    socket(my $socket, AF_INET, SOCK_DGRAM, 0) or die "socket: $!";
    my $flags = pack('a16 s x22', $interface, 0x41);
    ioctl($socket, 0x8914, $flags) or die "$interface: $!";
    return;
}

sub openvpn
{
    my ($name, $says, $env, @options) = @_;
    unlink("$world/$name.log");
    return server([$openvpn, '--cert', $certificate, '--key', $key, '--peer-fingerprint', $fingerprint, '--disable-dco',
            '--data-ciphers', 'AES-256-GCM', @options],
        env => $env, out => "$world/$name.log", err => "$world/$name.err", signal => 'TERM',
        ready => sub { slurp("$world/$name.log") =~ $says });
}

# AF_PACKET, of IPv4: packets that come to a device in this network. Those of the tunnel's connection are others.
sub arrivals
{
    socket(my $socket, 17, SOCK_DGRAM | SOCK_NONBLOCK, unpack('S', pack('n', 0x0800))) or die "socket: $!";
    return $socket;
}

# Bytes of whole packets that have come with this text since the last call.
sub arrived
{
    my ($socket) = @_;
    my $sum = 0;
    while (defined(recv($socket, my $packet, 65536, 0))) {
        $sum += length($packet) if length($packet) > 28 && substr($packet, 28) eq $payload;
    }
    return $sum;
}

# Returns what both say at their ends.
sub there
{
    my ($name, $sender_env, $receiver_env) = @_;
    my ($port, $arrivals, $came) = (free_port(), arrivals(), 0);
    my $receiver = openvpn('receiver', qr/Listening for incoming TCP/, $receiver_env, qw(--dev tun1 --tls-server --dh none),
        '--ifconfig', '10.8.0.2', '10.8.0.1',
        '--proto', 'tcp4-server', '--local', '127.0.0.1', '--port', $port);
    my $sender = openvpn('sender', qr/Initialization Sequence Completed/, $sender_env, qw(--dev tun0 --tls-client --nobind),
        '--ifconfig', '10.9.0.1', '10.9.0.2', '--proto', 'tcp4-client', '--remote', '127.0.0.1', $port);
    my $socket = IO::Socket::INET->new(PeerAddr => '10.9.0.2', PeerPort => 9, Proto => 'udp') or die "socket: $!";
    # What comes before the receiver has its keys, or finds a queue full, is dropped.
    ok(wait_for(sub { $socket->send($payload) foreach 1 .. 20; ($came += arrived($arrivals)) >= $bytes }), "$name: packets come");
    ok(end_server($_), "$name: an end ends") foreach $sender, $receiver;
    unlike(slurp("$world/receiver.log"), qr/error/i, "$name: the receiver reports no error");
    return slurp("$world/sender.err") . slurp("$world/receiver.err");
}

foreach (['with every default', 'cpu-bytes', GPUAES_MIN_BYTES => 'auto'], ['with each block on the GPU', 'gpu-bytes']) {
    my ($how, $figure, %env) = @$_;
    my ($ours, $stock) = (with_gpuaes(%env), without_gpuaes());
    foreach (['encryption', $ours, $stock], ['decryption', $stock, $ours]) {
        my ($what, @ends) = @$_;
        my $said = there("$what $how", @ends);
        cmp_ok(total($said, $figure), '>=', 0.98 * $bytes, "$what $how: $figure");
        is(total($said, 'faults'), 0, "$what $how: no fault");
    }
}

done_testing();
