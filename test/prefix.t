#!/usr/bin/perl
# `make install` into a folder of one's own: the three lines that it prints make it work,
# done as they are printed, in a mount namespace over a copy of /etc with Debian's stock
# openssl.cnf; `make uninstall` leaves nothing there.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
skip_if_configured();
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS OPENSSL_MODULES OPENSSL_CONF)};

my $in = "$folder/in";
my $prefix = "$folder/place";
my $modules = "$prefix/lib/ossl-modules";
mkdir($_) or die "$_: $!" foreach $in, "$folder/build";
my $enter = overlays($in, '/etc', '/var/cache');
plan(skip_all => 'that takes the openssl.cnf of Debian, and a mount namespace where that can be written')
    if run(['sh', '-c', 'readlink -f "$(openssl version -d | sed \'s/.*"\(.*\)"/\1/\')/openssl.cnf"'])->{out} ne "/etc/ssl/openssl.cnf\n"
    || run([@namespace, 'sh', '-ec', "$enter: >>/etc/ssl/openssl.cnf"])->{status};

sub good
{
    my ($result, $name) = @_;
    return is($result->{status}, 0, $name) || diag(substr("$result->{out}$result->{err}", -3000));
}

# ---- make install ------------------------------------------------------------

# Without a C++ compiler, and so without the emulator, which is not installed.
my $configured = run(['sh', '-c', "cd '$folder/build' && exec '$source/configure' --prefix='$prefix' " .
            "--with-modulesdir='$modules' --with-cuda=no CXX=false CFLAGS=-O1"], seconds => 600);
good($configured, 'it is configured with a prefix of its own');
my $installed = run(['make', '-C', "$folder/build", '-j2', 'install'], seconds => 1800);
good($installed, 'make install');

my @lines = $installed->{out} =~ /^    (.*)$/mg;
my @printed = grep { /^(?:sudo|openssl) / } @lines;
is(scalar(@printed), 3, 'it prints three lines');
is($printed[1], "sudo sed -i '1i .include $prefix/etc/gpuaes.cnf' /etc/ssl/openssl.cnf", 'with the paths of this system');

my %wanted = map { $_ => 1 } map { "$prefix/$_" }
    qw(bin/gpuaes etc/gpuaes.cnf include/gpuaes.h lib/libgpuaes.so lib/libgpuaes.so.0 lib/pkgconfig/gpuaes.pc
    lib/ossl-modules/gpuaes.so share/man/man1/gpuaes.1 share/man/man3/gpuaes.3 share/man/man3/gpuaes_batch_add.3
    share/man/man7/provider-gpuaes.7 share/bash-completion/completions/gpuaes);
is(join(' ', grep { !-e } sort keys %wanted), '', 'all is there');
ok(!-e "$modules/gpuaes.la", 'and no description of the module for libtool');

# ---- The lines ------------------------------------------------------------------

my $script = $enter . join('', map { "$_\n" }
        "cp '$source/test/configurations/debian12.cnf' /etc/ssl/openssl.cnf",
        'sudo() { "$@"; }',
        @printed,
        'GPUAES_LOG=summary openssl enc -aes-256-ctr -pbkdf2 -pass pass:example -in /usr/bin/openssl -out /dev/null 2>&1',
        "'$prefix/bin/gpuaes' enc -aes-256-ctr -pbkdf2 -pass pass:example -in /usr/bin/openssl | " .
        'openssl enc -d -aes-256-ctr -pbkdf2 -pass pass:example | cmp - /usr/bin/openssl && echo the same',
        "'$prefix/bin/gpuaes' info --quick");
my $ran = run([@namespace, 'bash', '-ec', $script], seconds => 300);
good($ran, 'the three lines, as printed');
like($ran->{out}, qr/^  default\n(?:    .*\n)+?    status: active\n  gpuaes\n(?:    .*\n)+?    status: active\n/m,
    'the last of them shows both providers');
like($ran->{out}, qr/^gpuaes: summary .*cpu-bytes=[1-9]/m, 'openssl enc uses it');
like($ran->{out}, qr/^the same$/m, 'the command works');
like($ran->{out}, qr/^provider: loaded$/m, 'and finds the module');
like($ran->{out}, qr/^  programs that read it use gpuaes$/m, 'and says that it is used');

SKIP: {
    skip('man is not installed', 1) if system('man --version >/dev/null 2>&1');
    my $page = run(['man', '-M', "$prefix/share/man", '-w', '3', 'gpuaes'])->{out};
    like($page, qr{^\Q$prefix\E/share/man/man3/}, '`man 3 gpuaes` finds the manual');
}

# ---- make uninstall -----------------------------------------------------------------

good(run(['make', '-C', "$folder/build", 'uninstall'], seconds => 120), 'make uninstall');
my @left = split(/\n/, run(['find', $prefix, '!', '-type', 'd'])->{out});
is("@left", '', 'nothing is left');

done_testing();
