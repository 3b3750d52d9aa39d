#!/usr/bin/perl
# OpenSSH: scp with aes128-ctr to and from an sshd of our own, both with the sample
# configuration, with keys that change on the way. Not aes256-ctr: OpenSSL 3.5's random number
# generator, which OpenSSH asks first, makes that the default provider's.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my ($sshd, $scp, $keygen) = needs(sshd => 'openssh-server', scp => 'openssh-client', 'ssh-keygen' => 'openssh-client');

my ($user, $password) = getpwuid($<);
plan(skip_all => "the account of $user is locked") if $password =~ /^!/;
my $mebibyte = pack('N*', map { $_ * 2654435761 % 2**32 } 1 .. 1 << 18);
my $some = spew("$folder/some", $mebibyte x 3 . 'and a tail');
my $much = spew("$folder/much", $mebibyte x 48);    # keystream is made from 32 MiB on

run([$keygen, '-q', '-t', 'ed25519', '-N', '', '-f', "$folder/$_"]) foreach qw(host user);

my $rekey = '1M';
my $release = run(['ssh', '-V'])->{err} =~ /OpenSSH_(\d+)/ ? $1 : 0;

# What the package's service makes when it starts, and leaves: where each sshd shuts its first child in.
mkdir('/run/sshd', 0755) if $< == 0;

sub sshd
{
    my ($port, %env) = @_;
    spew("$folder/sshd_config", <<"END");
ListenAddress 127.0.0.1:$port
HostKey $folder/host
AuthorizedKeysFile $folder/user.pub
AuthenticationMethods publickey
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Ciphers aes128-ctr
Subsystem sftp internal-sftp
END
    return server([$sshd, '-D', '-e', '-f', "$folder/sshd_config"], env => with_gpuaes(%env),
        err => "$folder/sshd.err", signal => 'TERM',
        ready => sub { slurp("$folder/sshd.err") =~ /^Server listening/m });
}

sub scp
{
    my ($port, $from, $to, %env) = @_;
    return run([$scp, '-q', '-F', '/dev/null', '-P', $port, '-i', "$folder/user", '-o', 'Ciphers=aes128-ctr',
            '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null',
            '-o', "RekeyLimit=$rekey", $from, $to], env => with_gpuaes(%env));
}

# A file there and back, and which figure shows that of scp's bytes, and how many.
sub there_and_back
{
    my ($name, $plain, $figure, $least, %env) = @_;
    my $port = free_port();
    # From OpenSSH 10 on, a process of its own talks with clients before they log in: it is not
    # forked, and its filter of system calls ends it where a GPU starts.
    my $server = sshd($port, $release >= 10 ? (GPUAES_MIN_BYTES => 'auto') : %env);
    my ($there, $back) = ("$folder/there", "$folder/back");
    unlink($there, $back);
    my $up;
    foreach (1 .. 5) {    # on a busy machine the device may be late for all of a stream
        $up = scp($port, $plain, "$user\@127.0.0.1:$there", %env);
        last if total($up->{err}, $figure) >= $least;
    }
    good($up, "$name: scp to the server") or diag(slurp("$folder/sshd.err"));
    good(scp($port, "$user\@127.0.0.1:$there", $back, %env), "$name: scp from the server");
    ok(slurp($there) eq slurp($plain), "$name: the file is there");
    ok(slurp($back) eq slurp($plain), "$name: and back again");
    cmp_ok(total($up->{err}, $figure), '>=', $least, "$name: $figure of scp");
    is(total($up->{err}, 'faults'), 0, "$name: no fault");
    ok(end_server($server), "$name: the server ends");
    return;
}

there_and_back('with every default', $some, 'cpu-bytes', -s $some, GPUAES_MIN_BYTES => 'auto');
there_and_back('with each block on the GPU', $some, 'gpu-bytes', -s $some);
$rekey = 'default none';
there_and_back('with keystream made ahead', $much, 'read-ahead-bytes', 1, GPUAES_MIN_BYTES => '1G',
    GPUAES_START => 'eager');

done_testing();
