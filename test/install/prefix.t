#!/usr/bin/perl
# `make install` into folders of one's own, one after the other from one build folder: nothing
# goes elsewhere, nor into the build folder; the lines that it prints make it work, done as they are printed, for a user
# without root and, in a mount namespace over a copy of /etc with Debian's stock openssl.cnf,
# for a whole host; `make uninstall` leaves nothing there.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good);
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
skip_if_configured();
delete @ENV{qw(OPENSSL_MODULES OPENSSL_CONF)};

my $in = "$folder/in";
my $prefix = "$folder/place";
my $modules = "$prefix/lib/ossl-modules";
mkdir($_) or die "$_: $!" foreach $in, "$folder/build";
my $enter = overlays($in, '/etc', '/var/cache');
plan(skip_all => 'that takes the openssl.cnf of Debian, and a mount namespace where that can be written')
    if run(['sh', '-c', 'readlink -f "$(openssl version -d | sed \'s/.*"\(.*\)"/\1/\')/openssl.cnf"'])->{out} ne "/etc/ssl/openssl.cnf\n"
    || run([@namespace, 'sh', '-ec', "$enter: >>/etc/ssl/openssl.cnf"])->{status};

# Without a C++ compiler, and so without the emulator, which is not installed.
sub configure
{
    my (@arguments) = @_;
    return run(['sh', '-c', "cd '$folder/build' && exec '$source/configure' \"\$0\" \"\$@\" --cache-file=config.cache " .
                '--with-cuda=no CXX=false CFLAGS=-O1', @arguments]);
}

# install(USER): runs `make` and `make install` as root or as another user, which a namespace makes of
# this one, and returns what it did, and the lines that it prints.
sub install
{
    my ($user) = @_;
    my @make = (@$user, 'make', '-C', "$folder/build", '-j2');
    good(run(\@make, seconds => 1800), 'make');
    my $before = spew("$folder/before", '');
    my $result = run([@make, 'install']);
    good($result, 'make install');
    is(run(['find', "$folder/build", '-newer', $before, '!', '-type', 'd'])->{out}, '', 'it leaves no file in the build folder');
    return ($result->{out}, $result->{out} =~ /^gpuaes is installed\..*\n\n((?:    .*\n)+)/m ? $1 =~ /^    (.*)$/mg : ());
}

sub uninstall
{
    my ($prefix) = @_;
    good(run(['make', '-C', "$folder/build", 'uninstall']), 'make uninstall');
    my @left = split(/\n/, run(['find', $prefix, '-mindepth', '1'])->{out});
    return is("@left", '', 'no file and no folder is left');
}

# ---- Where the module goes ------------------------------------------------------

my $own = "$folder/.local";
my $openssl_modules = run(['openssl', 'version', '-m'])->{out} =~ /"(.*)"/ ? $1 : '';
SKIP: {
    skip("OpenSSL's prefix is not /usr", 1) if $openssl_modules !~ m{^/usr/lib};
    like(configure('--prefix=/usr')->{out}, qr/^  module goes to +\Q$openssl_modules\E$/m,
        "with OpenSSL's prefix the module goes to its folder");
}
my $configured = configure("--prefix=$own");
good($configured, 'it is configured with a prefix of its own');
like($configured->{out}, qr{^  module goes to +\Q$own\E/lib/ossl-modules$}m, 'with another prefix it goes there')
    or die('make install would write to the folder of the host');

# ---- A user without root ----------------------------------------------------------

SKIP: {
    my @user = $< ? () : qw(unshare --user --map-user=1000 --map-group=1000);
    skip('that takes a user namespace', 19) if @user && run([@user, 'true'])->{status};
    my ($out, @lines) = install(\@user);
    is("@lines[0, 1]", "export PATH=\"$own/bin:\$PATH\" export OPENSSL_CONF=$own/etc/gpuaes.cnf", 'a user sets the environment');
    unlike($out, qr/sudo/, 'and needs no sudo');
    my $ran = run(['bash', '-ec', join('', map { "$_\n" } @lines, 'gpuaes info --quick',
                'GPUAES_LOG=summary openssl enc -aes-256-ctr -k example -pbkdf2 -in /bin/sh -out /dev/null 2>&1')]);
    good($ran, 'the lines, as printed');
    like($ran->{out}, qr/^  gpuaes\n(?:    .*\n)+?    status: active\n/m, 'OpenSSL has it');
    like($ran->{out}, qr/^gpuaes: summary .*cpu-bytes=[1-9]/m, 'and uses it');
    like($ran->{out}, qr/^provider: loaded$/m, 'the command finds the module');
    (undef, @lines) = do { local $ENV{PATH} = "$ENV{PATH}:$own/bin"; install(\@user) };
    is($lines[0], "export OPENSSL_CONF=$own/etc/gpuaes.cnf", 'PATH is not named where it has the folder');

    spew("$own/etc/gpuaes.cnf", slurp("$own/etc/gpuaes.cnf") =~ s{^(module = )}{$1/old}mr);
    ($out) = install(\@user);
    like($out, qr{/etc/gpuaes.cnf was there and is kept, but .*\n    module = \Q$own\E/lib/ossl-modules/gpuaes\.so$}m,
        'a configuration that names another module is pointed out');
    unlink("$own/etc/gpuaes.cnf");
    uninstall($own);
}

# ---- Configured again, for a whole host --------------------------------------------

good(configure("--prefix=$prefix"), 'it is configured again with another prefix');
my (undef, @printed) = install($< == 0 ? [] : \@namespace);
is(scalar(@printed), 3, 'it prints three lines');
is($printed[1], "sudo sed -i '1i .include $prefix/etc/gpuaes.cnf' /etc/ssl/openssl.cnf", 'with the paths of this system');

# Documents are written for the default prefix.
my @named = map { "$prefix/share/$_" } qw(man/man7/provider-gpuaes.7 doc/gpuaes/README.md
    doc/gpuaes/docs/configuration/whole-host.md);
is(join(' ', grep { slurp($_) !~ m{\Q$prefix\E/etc/gpuaes\.cnf} } @named), '', 'the pages name the folders of this prefix');
is(run(['grep', '-rE', '/usr/local/(etc|lib|share)|SYSCONFDIR', "$prefix/share"])->{out}, '', 'and of no other');

my %wanted = map { $_ => 1 } map { "$prefix/$_" }
    qw(bin/gpuaes etc/gpuaes.cnf include/gpuaes.h lib/libgpuaes.so lib/libgpuaes.so.1 lib/pkgconfig/gpuaes.pc
    lib/cmake/gpuaes/gpuaes-config.cmake lib/cmake/gpuaes/gpuaes-config-version.cmake
    lib/ossl-modules/gpuaes.so share/man/man1/gpuaes.1 share/man/man3/gpuaes.3 share/man/man3/gpuaes_batch_add.3
    share/man/man7/provider-gpuaes.7 share/bash-completion/completions/gpuaes
    share/fish/vendor_completions.d/gpuaes.fish share/zsh/site-functions/_gpuaes);
is(join(' ', grep { !-e } sort keys %wanted), '', 'all is there');
ok(!-e "$modules/gpuaes.la", 'and no description of the module for libtool');

# ---- The lines ------------------------------------------------------------------

my $script = $enter . join('', map { "$_\n" }
        "cp '$source/test/install/configurations/debian12.cnf' /etc/ssl/openssl.cnf",
        'sudo() { "$@"; }',
        @printed,
        'GPUAES_LOG=summary openssl enc -aes-256-ctr -pbkdf2 -pass pass:example -in /usr/bin/openssl -out /dev/null 2>&1',
        "'$prefix/bin/gpuaes' enc -aes-256-ctr -pbkdf2 -pass pass:example -in /usr/bin/openssl | " .
        'openssl enc -d -aes-256-ctr -pbkdf2 -pass pass:example | cmp - /usr/bin/openssl && echo the same',
        "'$prefix/bin/gpuaes' info --quick");
my $ran = run([@namespace, 'bash', '-ec', $script]);
good($ran, 'the three lines, as printed');
like($ran->{out}, qr/^  default\n(?:    .*\n)+?    status: active\n  gpuaes\n(?:    .*\n)+?    status: active\n/m,
    'the last of them shows both providers');
like($ran->{out}, qr/^gpuaes: summary .*cpu-bytes=[1-9]/m, 'openssl enc uses it');
like($ran->{out}, qr/^the same$/m, 'the command works');
like($ran->{out}, qr/^provider: loaded$/m, 'and finds the module');
like($ran->{out}, qr/^Programs that read \S+ use gpuaes\.$/m, 'and says that it is used');

SKIP: {
    skip('man is not installed', 1) if system('man --version >/dev/null 2>&1');
    my $page = run(['man', '-M', "$prefix/share/man", '-w', '3', 'gpuaes'])->{out};
    like($page, qr{^\Q$prefix\E/share/man/man3/}, '`man 3 gpuaes` finds the manual');
}

# ---- make uninstall -----------------------------------------------------------------

uninstall($prefix);

done_testing();
