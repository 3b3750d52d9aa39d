# What the tests of real programs share: the module where an installed one would be,
# summaries, and servers that end with their test.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Client;

use strict;
use warnings;
use Exporter qw(import);
use FindBin;
use lib "$FindBin::Bin/../support";
use File::Copy qw(copy);
use Programs qw(:DEFAULT good total free_port wait_for);
use Test::More;

our @EXPORT = qw(needs plain_file good total free_port certificate server end_server wait_for $world);

# A folder that a server which has given up root can read, too.
our $world = "$folder/world";

my %servers;    # what runs, by process id: the signal that ends it
my $owner = $$;

$SIG{$_} = sub { exit(1) } foreach qw(HUP INT TERM);
END { local $?; if ($$ == $owner) { end_server($_) foreach keys %servers } }

# needs(PROGRAM => PACKAGE, ...): the paths of programs; skips the test without them.
sub needs
{
    my @wanted = @_;
    plan(skip_all => 'the default provider stands in') if stand_in();
    plan(skip_all => 'a sanitizer is not in the programs that load the module') if $ENV{GPUAES_TEST_SANITIZER};
    plan(skip_all => 'no socket can be bound on loopback') if !free_port();
    my @paths;
    while (my ($program, $package) = splice(@wanted, 0, 2)) {
        my @folders = (split(/:/, $ENV{PATH}), qw(/usr/sbin /usr/local/sbin), glob('/usr/lib/postgresql/*/bin'));
        my ($path) = grep { -x } map { "$_/$program" } $program =~ m{^/} ? '' : @folders;
        plan(skip_all => "$program is not installed (Debian: $package)") if !$path;
        push(@paths, $path);
    }
    install();
    return @paths;
}

# OpenSSL's own modules and ours side by side, as on a host: programs ask for the
# legacy provider, too, and some do not start without it.
sub install
{
    my ($stock) = run(['openssl', 'version', '-m'])->{out} =~ /"(.*)"/;
    my $ours = "$ENV{OPENSSL_MODULES}/gpuaes.so";
    mkdir($_) or die "$_: $!" foreach $world, "$world/modules";
    chmod(0755, $folder, $world);
    symlink($_, "$world/modules/" . (split('/'))[-1]) foreach grep { !m{/gpuaes\.so$} } glob("$stock/*.so");
    copy($ours, "$world/modules/gpuaes.so") or die "$ours: $!";
    copy("$source/docs/gpuaes.cnf", "$world/gpuaes.cnf") or die "gpuaes.cnf: $!";
    $ENV{OPENSSL_MODULES} = "$world/modules";
    delete $ENV{OPENSSL_CONF};
    return;
}

# A file of so many bytes that repeat nowhere in it.
sub plain_file
{
    my ($bytes) = @_;
    return spew("$world/plain", substr(pack('N*', map { $_ * 2654435761 % 2**32 } 0 .. $bytes / 4), 0, $bytes));
}

# A key and a certificate for localhost, as files.
sub certificate
{
    my @files = ("$world/key.pem", "$world/certificate.pem");
    good(run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', 2, '-subj', '/CN=localhost',
                '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', $files[0], '-out', $files[1]]),
        'a certificate for localhost');
    return @files;
}

# server(COMMAND, signal => NAME, ready => SUB, as => COMMAND, as start): its process id,
# once `ready` is true; `as` makes it another user. It also ends if this process is killed.
sub server
{
    my ($command, %how) = @_;
    my @tied = system('setpriv --pdeathsig KILL true 2>/dev/null') ? () : ('setpriv', '--pdeathsig', $how{signal});
    unlink($how{err});    # what it says is of this one
    my $pid = start([@{$how{as} // []}, @tied, @$command], %how);
    $servers{$pid} = $how{signal};
    my $gone = 0;
    my $ready = wait_for(sub { $gone = waitpid($pid, 1) == $pid; $gone || $how{ready}->() }) && !$gone;
    delete $servers{$pid} if $gone;
    ok($ready, "$command->[0] runs") or die(slurp($how{err}));
    return $pid;
}

sub end_server
{
    my ($pid) = @_;
    kill(delete $servers{$pid}, $pid);
    my $ended = wait_for(sub { waitpid($pid, 1) != 0 });
    kill('KILL', $pid) if !$ended;
    return $ended;
}

1;
