#!/usr/bin/perl
# `gpuaes info`, `doctor` and `bench`; what they say of configuration files, right ones and
# wrong ones; the command's help, its completion and its manual.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

my $sample = slurp("$source/docs/gpuaes.cnf");
my $cnf = "$folder/openssl.cnf";
my $on_emulator = $gpuaes_command =~ m{/emulated/};
my $has_device = $on_emulator || -e '/dev/nvidiactl';

sub gpuaes
{
    my ($arguments, %env) = @_;
    return run([$gpuaes_command, @$arguments], env => {OPENSSL_CONF => $cnf, %env}, seconds => 300);
}

# ---- The command itself -----------------------------------------------------------------------

my $help = gpuaes(['--help']);
is($help->{status}, 0, '--help');
like($help->{out}, qr/^usage: gpuaes COMMAND/, 'says how it is used');
my @commands = $help->{out} =~ /^  (\w+)(?:, (\w+))? {2,}/mg;
@commands = grep { defined } @commands;
is("@commands", 'enc dec base64 info doctor bench', 'and names the commands');
like(gpuaes(['--version'])->{out}, qr/^gpuaes \d+\.\d+\.\d+ \(OpenSSL 3/, '--version');
is(gpuaes([])->{status} >> 8, 2, 'without a command it fails');
my $unknown = gpuaes(['encrypt']);
is($unknown->{status} >> 8, 2, 'and with one that is not there');
like($unknown->{err}, qr/^gpuaes: there is no command "encrypt"/, 'which it says');
foreach my $command (@commands) {
    my $result = gpuaes([$command, '--help']);
    is($result->{status}, 0, "$command --help");
    like($result->{out}, qr/^usage: gpuaes $command|^usage: gpuaes enc\|dec|^Usage: gpuaes base64/, "$command says how it is used");
    isnt(gpuaes([$command, '--no-such-option'])->{status}, 0, "$command refuses other options");
}

# The manual names every option that the help does, and the completion offers them.
my $manual = slurp("$source/docs/gpuaes.1");
$manual =~ s/\\-/-/g;
foreach my $command (qw(enc base64 bench info)) {
    my @options = map { /(--?[a-zA-Z0-9-]+)/g } gpuaes([$command, '--help'])->{out} =~ /^ +(-.*?)(?: {2,}|$)/mg;
    my @missing = grep { $_ ne '-CIPHER' && $manual !~ /(?<![\w-])\Q$_\E(?![\w-])/ } @options;
    cmp_ok(scalar(@options), '>=', 1, "$command has options");
    is("@missing", '', 'and the manual has them all');
    my @words = run(['bash', '-c', 'complete() { :; }; compopt() { :; }; . "$0"; COMP_WORDS=(gpuaes "$1" -); COMP_CWORD=2;'
                . ' _gpuaes gpuaes - "$1"; printf "%s\n" "${COMPREPLY[@]}"', "$source/tool/completions/gpuaes", $command])->{out} =~ /^(\S+?)=?$/mg;
    my %offered = map { $_ => 1 } @words;
    @missing = grep { $_ ne '-CIPHER' && !$offered{$_} } @options;
    is("@missing", '', 'and the completion offers them all');
}
my $words = run(['bash', '-c', '. "$0"; COMP_WORDS=(gpuaes e); COMP_CWORD=1; _gpuaes gpuaes e gpuaes; echo "${COMPREPLY[@]}"',
        "$source/tool/completions/gpuaes"]);
is($words->{out}, "enc\n", 'the completion knows the commands');

# ---- info, doctor, bench ------------------------------------------------------------------------

spew($cnf, $sample);
my $info = gpuaes(['info', '--quick']);
is($info->{status}, 0, 'info') or diag($info->{err});
like($info->{out}, qr/^provider: loaded$/m, 'the provider is loaded');
like($info->{out}, qr/^  programs that read it use gpuaes$/m, 'the sample configuration uses gpuaes');
foreach my $work ('CTR', 'ECB encrypt', 'ECB decrypt', 'CBC decrypt', 'CBC encrypt', 'Base64 encode', 'Base64 decode') {
    like($info->{out}, qr/^$work +(?:[CG]PU +\d+\.\d\d *){3}$/m, "an engine and a rate for each size: $work");
}
is(scalar(grep { length > 80 } $info->{out} =~ /^((?:CTR|ECB|CBC|Base64|  +\d).*)/mg), 0, 'in tables that fit a terminal');
my $doctor = gpuaes(['doctor']);
like($doctor->{out}, qr/^The provider gpuaes \S+ is installed and loads\.$/m, 'doctor: the provider loads');
like($doctor->{out}, qr/^Programs that read \Q$cnf\E use gpuaes\.$/m, 'doctor: the configuration is right');
if ($has_device) {
    like($info->{out}, qr/^GPU 0: .*, compute capability \d+\.\d, \d+ multiprocessors, driver/m, 'info: the GPU');
    like($doctor->{out}, qr/^GPU 0 can be used: \w.*\n1 MiB that it encrypted is what the CPU makes of it\.$/m, 'doctor: the GPU works');
    like($doctor->{out}, qr/^All is well\.$/m, 'doctor: all is well');
    is($doctor->{status}, 0, 'and so it ends');
} else {
    like($info->{out}, qr/^GPU: none: \w/m, 'info: no GPU, and why');
    like($doctor->{out}, qr/^No GPU can be used: \w.*\n  \w/m, 'doctor: no GPU, why, and what to do');
    like($doctor->{out}, qr/^Not all is well\.$/m, 'doctor: not all is well');
    isnt($doctor->{status}, 0, 'and so it ends');
}
my $forced = gpuaes(['info', '--quick'], GPUAES_MIN_BYTES => 0, GPUAES_ENGINE => 'gpu');
SKIP: {
    skip('there is no device', 1) if !$has_device;
    like($forced->{out}, qr/^CTR +(?:GPU +\d+\.\d\d *){3}$/m, 'the engine in the table is who did the work');
}
my $none = gpuaes(['info', '--quick'], GPUAES_ENGINE => 'cpu');
like($none->{out}, qr/^GPU: none: GPUAES_ENGINE=cpu in the environment forbids it$/m, 'a device that the environment forbids');
like($none->{out}, qr/^CTR +(?:CPU +\d+\.\d\d *){3}$/m, 'and the CPU does all');
my $lost = gpuaes(['doctor'], OPENSSL_MODULES => '/nowhere');
like($lost->{out}, qr{^The provider cannot be loaded: .*\n  Put gpuaes\.so into /nowhere, or}m, 'doctor: no module');
isnt($lost->{status}, 0, 'which is not well');

my $bench = gpuaes(['bench', '--quick']);
is($bench->{status}, 0, 'bench --quick') or diag($bench->{err});
my @rows = $bench->{out} =~ /^\S.*? +\d+ KiB +\d+\.\d\d .*PU/mg;
is(scalar(@rows), 14, 'has a row for each mode and size');
is(scalar(grep { length > 80 } split(/\n/, $bench->{out})), 0, 'in a table that fits a terminal');
like(gpuaes(['bench', '--seconds=x'])->{err}, qr/--seconds=x: expected a number of seconds/, 'bench: a wrong number');

# ---- Configurations that do not use it --------------------------------------------------------------

# Changes of the sample: what is said is what to do, and doing it helps.
my @wrong = (
    ['no such file', undef, qr/it cannot be read: No such file/, qr/set OPENSSL_CONF to the sample/],
    ['an empty file', sub { '' }, qr/no line "openssl_conf = ..."/, qr/write "openssl_conf = openssl_init" at its top/],
    ['no providers', sub { s/^providers = .*\n//mr }, qr/no line "providers = ..."/, qr/take the sections/],
    ['gpuaes is not listed', sub { s/^gpuaes = .*\n//mr }, qr/no provider gpuaes is listed/, qr/write "gpuaes = gpuaes_section" into \[providers\]/],
    ['gpuaes is not active', sub { s/(?<=\[gpuaes_section\]\n)activate = 1\n//r }, qr/does not activate it/, qr/write "activate = 1" into \[gpuaes_section\]/],
    ['no default provider', sub { s/^default = .*\n//mr }, qr/activates gpuaes alone/, qr/write "default = default_section" into \[providers\]/],
    ['no preference', sub { s/^default_properties = .*\n//mr }, qr/active, but not preferred/, qr/write "default_properties = \?provider=gpuaes" into \[algs\]/],
    ['another preference', sub { s/^default_properties = .*\n/default_properties = fips=no\n/mr }, qr/active, but not preferred/,
        qr/change the line in \[algs\] to "default_properties = fips=no,\?provider=gpuaes"/],
    ['a line that is none', sub { "[x\n$_" }, qr/line 1 of it is wrong/, qr/correct that line/],
    ['a wrong setting', sub { s/^\[gpuaes_section\]\n/[gpuaes_section]\nthreads = many\n/mr }, qr/the module is not loaded/, qr/its settings are right/],
);
foreach my $case (@wrong) {
    my ($name, $change, $why, $what) = @$case;
    unlink($cnf);
    local $_ = $sample;
    spew($cnf, $change->()) if $change;
    my $result = gpuaes(['doctor'], GPUAES_ENGINE => 'cpu');
    my $said = $result->{out} =~ /^Programs that read \Q$cnf\E do not use gpuaes: (.*)\n  What to change: (.*)/m ? [$1, $2] : ['', ''];
    like($said->[0], $why, "$name: says why");
    like($said->[1], $what, "$name: says what to change");
}
{
    local $_ = $sample;
    spew($cnf, s/^random = .*\n//mr);
    like(gpuaes(['doctor'], GPUAES_ENGINE => 'cpu')->{out}, qr/^  A note: .*\[random\] against it\.$/m, 'without [random] there is a note');
    spew($cnf, $sample);
    unlike(gpuaes(['doctor'], GPUAES_ENGINE => 'cpu')->{out}, qr/A note/, 'and with it none');
}

done_testing();
