#!/usr/bin/perl
# docs/gpuaes.cnf, included by the openssl.cnf of distributions: we are used, and what
# stands there already (providers, properties, the policy for TLS) stays in force.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib map { "$FindBin::Bin/../$_" } qw(support clients);
use Client;
use Programs qw(:DEFAULT fips_stand_in);
use Test::More;

needs(openssl => 'openssl');

my $plain = spew("$folder/plain", 'sixteen bytes...' x 10000);
my @enc = ('enc', '-aes-256-ctr', '-K', '0f' x 32, '-iv', 'f0' x 16, '-in', $plain);
my $include = ".include $world/gpuaes.cnf\n";

# Fedora's file names two others.
mkdir("$world/$_") foreach 'etc', map { "etc/$_" } qw(pki pki/tls pki/tls/openssl.d crypto-policies crypto-policies/back-ends);
my $drop_in = "$world/etc/pki/tls/openssl.d/gpuaes.cnf";
spew("$world/etc/crypto-policies/back-ends/opensslcnf.config",
    slurp("$source/test/install/configurations/fedora-policy.config"));
my %stock = map { $_ => slurp("$source/test/install/configurations/$_.cnf") =~ s/\@ROOT\@/$world/gr } qw(debian12 ubuntu2404 fedora);

sub openssl
{
    my ($text, $command, %env) = @_;
    return run(['openssl', @$command],
        env => {OPENSSL_CONF => spew("$world/openssl.cnf", $text), GPUAES_LOG => 'summary', %env});
}

# What programs make of a file: providers, suites of TLS, an encryption, random bytes.
sub behaviour
{
    my ($text, %env) = @_;
    my $list = openssl($text, ['list', '-providers'], %env);
    my $encrypted = openssl($text, \@enc, %env);
    my $made = openssl($text, ['req', '-new', '-newkey', 'ed25519', '-nodes', '-subj', '/CN=x', '-keyout', '/dev/null'], %env);
    my %is = (
        providers => join(' ', $list->{out} =~ /^  (\w+)$/mg),
        suites => openssl($text, ['ciphers', '-s', '-v'], %env)->{out},
        bytes => $encrypted->{out},
        random => openssl($text, ['rand', '-hex', 8], %env)->{out} =~ /^[0-9a-f]{16}$/ ? 1 : 0,
        request => $made->{out} =~ /BEGIN CERTIFICATE REQUEST/ ? 1 : 0,
        ours => total($encrypted->{err}, 'cpu-bytes'),
        complaints => join('', map { $_->{err} =~ s/^gpuaes: summary .*\n|^-+\n//mgr } $list, $encrypted, $made),
    );
    return \%is;
}

# What was there before is there now, and the providers are these.
sub undisturbed
{
    my ($name, $before, $now, $providers) = @_;
    is($now->{$_}, $before->{$_}, "$name: the same $_") foreach qw(suites random request complaints);
    ok($now->{bytes} eq $before->{bytes}, "$name: the same bytes");
    my @have = sort(split(/ /, $now->{providers}));
    is("@have", $providers, "$name: providers");
    return;
}

sub used { my ($name, $is) = @_; return cmp_ok($is->{ours}, '>=', 159000, "$name: we encrypt") }
sub unused { my ($name, $is) = @_; return is($is->{ours}, 0, "$name: we do not encrypt") }

# ---- As installed --------------------------------------------------------------

my $plainest = behaviour('');
foreach my $system (sort(keys %stock)) {
    my $before = behaviour($stock{$system});
    is($before->{providers}, 'default', "$system: it has the default provider alone");
    is($before->{complaints}, '', "$system: and is a good file");
    ok($before->{bytes} eq $plainest->{bytes} && length($before->{bytes}) == 160000, "$system: and encrypts");
    isnt($before->{suites}, $plainest->{suites}, 'fedora: its policy for TLS shows') if $system eq 'fedora';

    my %places = (
        'in the first line' => $include . $stock{$system},
        'in the last line' => $stock{$system} . $include,
        'twice' => $include . $stock{$system} . $include,
    );
    foreach my $place (sort(keys %places)) {
        my $now = behaviour($places{$place});
        undisturbed("$system, included $place", $before, $now, 'default gpuaes');
        used("$system, included $place", $now);
    }

    # The package is gone, the line is still there.
    my $gone = behaviour($include . $stock{$system}, OPENSSL_MODULES => $folder);
    undisturbed("$system, without the module", $before, $gone, 'default');
    my $refused = openssl($include . $stock{$system}, \@enc, GPUAES_POLICY => 'fast');
    good($refused, "$system, with a wrong setting: it goes on");
    like($refused->{err}, qr/^gpuaes: setting policy has the value "fast"/, "$system, with a wrong setting: it is said");
}

symlink("$world/gpuaes.cnf", $drop_in) or die "$drop_in: $!";
my $dropped = behaviour($stock{fedora});
unlink($drop_in);
undisturbed('fedora, in its folder', behaviour($stock{fedora}), $dropped, 'default gpuaes');
used('fedora, in its folder', $dropped);

# ---- Changed by somebody ---------------------------------------------------------

# The list of providers, and properties, as an administrator fills them in.
sub changed
{
    my ($text, $properties) = @_;
    $text =~ s/^# providers = provider_sect\n/providers = provider_sect\n[provider_sect]\ndefault = default_sect\n[default_sect]\n/m;
    $text =~ s/^(\[provider_sect\]\n)/$1legacy = legacy_sect\n/m;
    $text =~ s/^(\[default_sect\]\n)(?:activate = 1\n)?/$1activate = 1\n[legacy_sect]\nactivate = 1\n/m;
    $text =~ s/^(\[openssl_init\]\n)/$1alg_section = evp_properties\n/m if $text !~ /^alg_section/m;
    $text =~ s/^\[ evp_properties \]\n//m;
    $text =~ s/^(\[provider_sect\]\n)/[evp_properties]\ndefault_properties = $properties\n$1/m;
    return $text;
}

foreach my $system (sort(keys %stock)) {
    foreach my $properties ('?fips=yes', '?provider=tpm2', 'provider!=gpuaes') {
        my $text = changed($stock{$system}, $properties);
        my $before = behaviour($text);
        is(join(' ', sort(split(/ /, $before->{providers}))), 'default legacy', "$system, changed: it has its providers");
        foreach (['first', $include . $text], ['last', $text . $include]) {
            my ($place, $both) = @$_;
            my $now = behaviour($both);
            undisturbed("$system, $properties, $place", $before, $now, 'default gpuaes legacy');
            unused("$system, $properties, $place", $now) if $properties eq 'provider!=gpuaes';
        }
    }
    # As the file tells to do; the host's own preference stays what it was.
    foreach my $properties ('?fips=yes', '?provider=tpm2') {
        my $text = changed($stock{$system}, "$properties,?gpuaes.on=yes");
        $text = "config_diagnostics = 1\n$text" if $text !~ /^config_diagnostics/m;
        my $now = behaviour($include . $text);
        used("$system, with a preference added to $properties", $now);
        is($now->{complaints}, '', "$system, with a preference added to $properties: nothing is wrong");
        foreach my $query ('provider!=fips', '?provider=tpm2', 'fips=no') {
            my $asked = openssl($include . $text, [@enc, '-propquery', $query]);
            cmp_ok(total($asked->{err}, 'cpu-bytes'), '>=', 159000, "$system, $properties: and a program that asks for $query");
        }
        foreach my $query ('provider=default', '-gpuaes.on,?provider=default') {
            my $asked = openssl($include . $text, [@enc, '-propquery', $query]);
            good($asked, "$system, $properties: a program that asks for $query");
            is(total($asked->{err}, 'cpu-bytes'), 0, "$system, $properties: gets it");
        }
    }
}

# A list under another name is let alone; a start under another name is as good as any.
(my $own_list = $stock{fedora}) =~ s/provider_sect/my_list/g;
(my $own_start = $stock{fedora}) =~ s/openssl_init/default_conf/g;
foreach (['a list of its own, last', $own_list, $own_list . $include, 'default'],
    ['a list of its own', $own_list, $include . $own_list, 'default'],
    ['a start of its own', $own_start, $include . $own_start, 'default gpuaes'])
{
    my ($name, $text, $both, $providers) = @$_;
    undisturbed("fedora with $name", behaviour($text), behaviour($both), $providers);
}

# Random numbers stay with the provider that makes them.
SKIP: {
    my $fips = fips_stand_in() // skip('there is no C compiler', 3);
    (my $with_fips = $stock{fedora}) =~ s/^(\[provider_sect\]\n)/$1fips = fips_sect\n/m;
    $with_fips .= "[fips_sect]\nactivate = 1\nmodule = $fips\n";
    $with_fips =~ s/^(\[default_sect\]\n)/$1activate = 1\n/m;
    my @instances = ('list', '-random-instances');
    my $before = openssl($with_fips, \@instances)->{out};
    skip('the stand-in for a FIPS provider gives no random numbers to this OpenSSL', 3) if $before !~ /DRBG \@ fips$/m;
    is(openssl($include . $with_fips, \@instances)->{out}, $before, 'a FIPS provider goes on making random numbers');
    my $now = openssl($include . $with_fips, \@enc);
    good($now, 'with it, a program encrypts');
    used('with a FIPS provider', {ours => total($now->{err}, 'cpu-bytes')});
}

# A host without the default provider does not get it from us.
(my $bare = $stock{fedora}) =~ s/^default = default_sect\n/base = base_sect\n/m;
$bare =~ s/^(\[default_sect\]\n)/[base_sect]\nactivate = 1\n$1/m;
my $base = openssl($include . $bare, ['list', '-providers'])->{out};
is(join(' ', sort($base =~ /^  (\w+)$/mg)), 'base gpuaes', 'a host without the default provider stays so');

done_testing();
