#!/usr/bin/perl
# A program into which libcrypto is linked statically, so that our module, and OpenSSL's
# own legacy provider, bring a second one into the process: right bytes, and a good end,
# in whichever order they are loaded.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
my $compiler = $ENV{CC} // 'cc';
my $program = "$folder/client";
my ($libraries) = slurp("$build/Makefile") =~ /^STATIC_LIBCRYPTO_LIBS = (.*)$/m;
my @link = ($compiler, '-o', $program, "$source/test/install/static_client.c", split(' ', $libraries));
my $built = run(\@link);
plan(skip_all => "no static libcrypto: $built->{err}") if $built->{status};

my ($modules) = run([qw(openssl version -m)])->{out} =~ /"(.*)"/;
my $legacy = "$modules/legacy.so";

sub exits_well
{
    my @providers = @_;
    my %lines = (
        default => "activate = 1\n",
        legacy => "activate = 1\nmodule = $legacy\n",
        gpuaes => "activate = 1\nmodule = $ENV{OPENSSL_MODULES}/gpuaes.so\n"
    );
    my $text = "openssl_conf = init\nconfig_diagnostics = 1\n[init]\nproviders = providers\n";
    $text .= "alg_section = algs\n[algs]\ndefault_properties = ?provider=gpuaes\n[providers]\n";
    $text .= "$_ = ${_}_section\n" foreach @providers;
    $text .= "[${_}_section]\n$lines{$_}" foreach @providers;
    my $result = run([$program], env => with_gpuaes(OPENSSL_CONF => spew("$folder/cnf", $text)));
    is($result->{status}, 0, "@providers: right, and exits well") or diag($result->{err});
    cmp_ok(figure($result, 'gpu-bytes') // 0, '>', 0, "@providers: a GPU worked");
    return;
}

exits_well('default', 'gpuaes');
exits_well('gpuaes', 'default');
SKIP: {
    skip('OpenSSL came without its legacy provider', 4) if !-f $legacy;
    exits_well('default', 'legacy', 'gpuaes');
    exits_well('default', 'gpuaes', 'legacy');
}

done_testing();
