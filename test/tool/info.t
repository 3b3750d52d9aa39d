#!/usr/bin/perl
# `gpuaes info` and `doctor`; what they say of configuration files, right ones and
# wrong ones; the command's help, its completion and its manual.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT refused fips_stand_in);
use Test::More;

my $sample = slurp("$source/docs/gpuaes.cnf");
my $cnf = abs_path($folder) . '/openssl.cnf';
my $on_emulator = $gpuaes_command =~ m{/emulated/};
my $has_device = $on_emulator || -e '/dev/nvidiactl';

sub gpuaes
{
    my ($arguments, %env) = @_;
    return run([$gpuaes_command, @$arguments], env => {OPENSSL_CONF => $cnf, %env});
}

# ---- The command itself -----------------------------------------------------------------------

my $help = gpuaes(['--help']);
is($help->{status}, 0, '--help');
like($help->{out}, qr/^usage: gpuaes COMMAND/, 'says how it is used');
my @commands = $help->{out} =~ /^  (\w+)(?:, (\w+))? {2,}/mg;
@commands = grep { defined } @commands;
is("@commands", 'enc dec base64 info doctor', 'and names the commands');
like(gpuaes(['--version'])->{out}, qr/^gpuaes \d+\.\d+\.\d+ \(OpenSSL 3/, '--version');
is(gpuaes(['-v'])->{out}, gpuaes(['--version'])->{out}, '-v is the same');
is(gpuaes([])->{status} >> 8, 2, 'without a command it fails');
my $unknown = gpuaes(['encrypt']);
is($unknown->{status} >> 8, 2, 'and with one that is not there');
like($unknown->{err}, qr/^gpuaes: there is no command "encrypt"; gpuaes --help lists them$/, 'which it says');
foreach my $command (@commands) {
    my $result = gpuaes([$command, '--help']);
    is($result->{status}, 0, "$command --help");
    like($result->{out}, qr/^usage: gpuaes $command|^usage: gpuaes enc\|dec|^Usage: gpuaes base64/, "$command says how it is used");
    my $same = gpuaes(['help', $command]);
    is("$same->{status} $same->{out}", "0 $result->{out}", "help $command is the same");
    isnt(gpuaes([$command, '--no-such-option'])->{status}, 0, "$command refuses other options");
}
foreach my $words (['-v'], ['--version'], ['help', 'enc'], ['--help', 'info'], ['info'], ['doctor']) {
    my $more = gpuaes([@$words, 'extra']);
    is($more->{out}, '', "@$words with one more word prints nothing");
    refused($more, qr/^gpuaes(?: \w+)?: "extra": expected /m, "@$words with one more word");
}
$unknown = gpuaes(['help', 'encrypt']);
is($unknown->{status} >> 8, 2, 'help for a command that is not there fails');
like($unknown->{err}, qr/^gpuaes: there is no command "encrypt"; gpuaes/, 'which it says');

my $no_fish = system('fish --version >/dev/null 2>&1');
# The manual names every option that the help does, and the completion offers them.
my $manual = slurp("$source/docs/gpuaes.1");
$manual =~ s/\\-/-/g;
foreach my $command (qw(enc base64 info)) {
    my @options = map { /(--?[a-zA-Z0-9-]+)/g } gpuaes([$command, '--help'])->{out} =~ /^ +(-.*?)(?: {2,}|$)/mg;
    my @missing = grep { $_ ne '-CIPHER' && $manual !~ /(?<![\w-])\Q$_\E(?![\w-])/ } @options;
    cmp_ok(scalar(@options), '>=', 1, "$command has options");
    is("@missing", '', 'and the manual has them all');
    my @words = run(['bash', '-c', 'complete() { :; }; compopt() { :; }; . "$0"; COMP_WORDS=(gpuaes "$1" -); COMP_CWORD=2;'
                . ' _gpuaes gpuaes - "$1"; printf "%s\n" "${COMPREPLY[@]}"', "$source/tool/completions/gpuaes", $command])->{out} =~ /^(\S+?)=?$/mg;
    my %offered = map { $_ => 1 } @words;
    @missing = grep { $_ ne '-CIPHER' && !$offered{$_} } @options;
    is("@missing", '', 'and the completion offers them all');
    # Those of zsh and fish name them; with fish at hand, it offers them.
    my $zsh = slurp("$source/tool/completions/_gpuaes");
    @missing = grep { $_ ne '-CIPHER' && $_ !~ /^-h/ && $zsh !~ /(?<![\w-])\Q$_\E(?![\w-])/ } @options;
    is("@missing", '', 'and that of zsh names them all');
    SKIP: {
        skip('fish is not installed', 1) if $no_fish;
        my $fish = run(['fish', '-N', '-c', 'source $argv[1]; complete -C "gpuaes $argv[2] -"; complete -C "gpuaes $argv[2] --"',
                "$source/tool/completions/gpuaes.fish", $command], env => {HOME => $folder})->{out};
        @missing = grep { $_ ne '-CIPHER' && $fish !~ /^\Q$_\E(?:\t|$)/m } @options;
        is("@missing", '', 'and that of fish offers them all') or diag($fish);
    }
}
SKIP: {
    skip('zsh is not installed', 1) if system('zsh --version >/dev/null 2>&1');
    is(run(['zsh', '-n', "$source/tool/completions/_gpuaes"])->{status}, 0, 'zsh can read its own');
}
my $words = run(['bash', '-c', '. "$0"; COMP_WORDS=(gpuaes e); COMP_CWORD=1; _gpuaes gpuaes e gpuaes; echo "${COMPREPLY[@]}"',
        "$source/tool/completions/gpuaes"]);
is($words->{out}, "enc\n", 'the completion knows the commands');
$words = run(['bash', '-c', '. "$0"; COMP_WORDS=(gpuaes help d); COMP_CWORD=2; _gpuaes gpuaes d help; echo "${COMPREPLY[@]}"',
        "$source/tool/completions/gpuaes"]);
is($words->{out}, "dec doctor\n", 'also behind help');
# As bash cuts them, at the colon.
spew("$folder/word.key", '');
foreach (['file', "$folder/wor", "$folder/word.key"], ['env', 'GPUAES_TEST_OF_COMP', 'GPUAES_TEST_OF_COMPLETION'], ['pass', 'x', '']) {
    my ($from, $typed, $offered) = @$_;
    my $result = run(['bash', '-c', 'compopt() { :; }; . "$0"; COMP_WORDS=(gpuaes enc -pass "$1" : "$2"); COMP_CWORD=5; _gpuaes gpuaes "$2" :; '
                . 'echo "${COMPREPLY[@]}"', "$source/tool/completions/gpuaes", $from, $typed],
        env => {GPUAES_TEST_OF_COMPLETION => 1});
    is($result->{out}, "$offered\n", "behind -pass $from: it completes what belongs there");
}
spew("$folder/with blanks in it", '');
foreach my $before ('-pass file', '-in') {
    my $behind = $before =~ /pass/ ? 'enc -pass file :' : 'enc -in';
    my $result = run(['bash', '-c', 'compopt() { :; }; . "$0"; COMP_WORDS=(gpuaes $1 "$2"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1));'
                . ' _gpuaes gpuaes "$2" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\n" "${COMPREPLY[@]}"', "$source/tool/completions/gpuaes", $behind, "$folder/with"]);
    is($result->{out}, "$folder/with blanks in it\n", "behind $before: a name with blanks is one");
}

# ---- info, doctor -------------------------------------------------------------------------------

spew($cnf, $sample);
my $info = gpuaes(['info', '--quick']);
is($info->{status}, 0, 'info') or diag($info->{err});
like($info->{out}, qr/^provider: loaded$/m, 'the provider is loaded');
like($info->{out}, qr/^Programs that read \Q$cnf\E use gpuaes\.$/m, 'the sample configuration uses gpuaes');
foreach my $work ('CTR', 'ECB encrypt', 'ECB decrypt', 'CBC decrypt', 'CBC encrypt', 'GCM encrypt', 'GCM decrypt',
    'XTS encrypt', 'XTS decrypt', 'Base64 encode', 'Base64 decode') {
    is(scalar(() = $info->{out} =~ /^$work +\d+ KiB +\d+\.\d\d +\d+\.\d\d +\d+\.\dx [CG]PU/mg), 3, "CPU or GPU and a rate for each size: $work");
}
like($info->{out}, qr/^AES-256, GB\/s +in pageable memory +in pinned memory\nwork +update +default +gpuaes +times by +gpuaes +times by *$/m,
    'each column has a head');
is(scalar(grep { length > 80 } $info->{out} =~ /^((?:CTR|ECB|CBC|GCM|XTS|Base64|  +\d).*)/mg), 0, 'in tables that fit a terminal');
my $doctor = gpuaes(['doctor']);
like($doctor->{out}, qr/^The provider gpuaes \S+ is installed and loads\.$/m, 'doctor: the provider loads');
like($doctor->{out}, qr/^Programs that read \Q$cnf\E use gpuaes\.$/m, 'doctor: the configuration is right');
if ($has_device) {
    like($info->{out}, qr/^GPU 0: .*, compute capability \d+\.\d, \d+ multiprocessors, driver for CUDA \d+\.\d, kernels of CUDA \d+\.\d$/m, 'info: the GPU');
    like($info->{out}, qr/^CPU: a large update in pageable memory uses up to (?:1 thread|[2-4] threads)$/m, 'info: threads of an update');
    like($doctor->{out}, qr/^GPU 0 can be used: \w.*$/m, 'doctor: the GPU can be used');
    my $offloaded = qr/^Self-test passed: an update of 1 MiB was offloaded, and the GPU's result matches the CPU's\.$/m;
    like($doctor->{out}, $offloaded, 'doctor: it does an update of the provider');
    like(gpuaes(['doctor'], GPUAES_MIN_BYTES => '1G', GPUAES_POLICY => 'auto')->{out}, $offloaded, 'whatever else goes to it');
    like($doctor->{out}, qr/^All is well\.$/m, 'doctor: all is well');
    is($doctor->{status}, 0, 'and so it ends');
    SKIP: {
        skip('needs the emulator', 3) if !$on_emulator;
        like(gpuaes(['info', '--quick'], GPUAES_EMULATOR => 'driver=12040')->{out}, qr/^GPU 0: .* driver for CUDA 12\.4, kernels of CUDA 12\.9$/m,
            'info: an older driver and its kernels');
        my $old = gpuaes(['doctor'], GPUAES_EMULATOR => 'driver=11080');
        like($old->{out}, qr/^No GPU can be used: the kernels need driver 525 or newer, for CUDA 12\.0; this driver is for CUDA 11\.8\.$/m,
            'doctor: the driver that is needed');
        like($old->{out}, qr/^Not all is well\.$/m, 'of which not all is well');
    }
} else {
    like($info->{out}, qr/^GPU: none: \w/m, 'info: no GPU, and why');
    like($doctor->{out}, qr/^No GPU can be used: \w.*\n  \w/m, 'doctor: no GPU, why, and what to do');
    like($doctor->{out}, qr/^Not all is well\.$/m, 'doctor: not all is well');
    isnt($doctor->{status}, 0, 'and so it ends');
}
my $forced = gpuaes(['info', '--quick'], GPUAES_MIN_BYTES => 0, GPUAES_POLICY => 'gpu');
SKIP: {
    skip('there is no device', 5) if !$has_device;
    foreach my $work ('CTR', 'GCM encrypt', 'GCM decrypt', 'XTS encrypt', 'XTS decrypt') {
        is(scalar(() = $forced->{out} =~ /^$work +\d+ KiB +\d+\.\d\d(?: +\d+\.\d\d +\d+\.\dx GPU){2}$/mg),
            3, "the table names the processor that did the work: $work");
    }
}
my $none = gpuaes(['info', '--quick'], GPUAES_POLICY => 'cpu');
like($none->{out}, qr/^GPU: none: GPUAES_POLICY=cpu in the environment forbids it$/m, 'a device that the environment forbids');
is(scalar(() = $none->{out} =~ /^CTR .*x CPU/mg), 3, 'and the CPU does all');
my $lost = gpuaes(['doctor'], OPENSSL_MODULES => '/nowhere');
like($lost->{out}, qr{^The provider cannot be loaded: .*/nowhere/gpuaes\.so: cannot open shared object file.*\n  Put gpuaes\.so into /nowhere, or}m,
    'doctor: no module, with its path');
isnt($lost->{status}, 0, 'which is not well');

mkdir("$folder/broken") or die "broken: $!";
spew("$folder/broken/gpuaes.so", "no module\n");
my $broken = gpuaes(['doctor'], OPENSSL_MODULES => "$folder/broken");
like($broken->{out}, qr{^The provider cannot be loaded: .*/broken/gpuaes\.so: file too short.*\n  \S+/broken/gpuaes\.so is there: install gpuaes again}m,
    'doctor: a file that is no module');
my $forbidden = gpuaes(['doctor'], GPUAES_POLICY => 'cpu');
like($forbidden->{out}, qr/^No GPU can be used: GPUAES_POLICY=cpu in the environment forbids it\.\n  Change that variable, or unset it\.$/m,
    'doctor: a device that the environment forbids');

# Where no GPU can be used, what to do follows from the library's reason, and not from what files there are.
my @reasons = slurp("$source/tool/commands/doctor.c") =~ /^    \{"([^"]+)",$/mg;
my $library = join('', map { slurp($_) } glob("$source/cuda/*/*.c"));
cmp_ok(scalar(@reasons), '>', 5, 'doctor: it knows reasons of the library');
is(join('; ', grep { $library !~ /"\Q$_\E/ } @reasons), '', 'which the library has');
SKIP: {
    skip('this needs the emulator', 6) if !$on_emulator;
    foreach my $case (
        ['kernels that are too new', {GPUAES_EMULATOR => 'driver=11080'}, qr/the kernels need driver .* this driver is for CUDA 11\.8/, 'Install a newer driver, or build'],
        ['kernels that cannot be loaded', {GPUAES_EMULATOR => 'fault=cuModuleLoadData:1:209,fault=cuModuleLoadData:2:209'},
            qr/loading the kernels failed with CUDA error 209/, '"gpuaes info" begins with the architectures'],
        ['no device', {GPUAES_EMULATOR => 'devices=0'}, qr/no CUDA device/, '"nvidia-smi -L" lists'],
        ['a kernel that there is not', {GPUAES_KERNEL => 'foo'}, qr/GPUAES_KERNEL is "foo", expected .*?/, 'Correct that variable, or'],
        ['devices that are not there', {GPUAES_DEVICES => 5}, qr/none of the devices that are set can be used/, 'GPUAES_DEVICES, or devices'],
        )
    {
        my ($name, $env, $reason, $advice) = @$case;
        like(gpuaes(['doctor'], %$env)->{out}, qr/^No GPU can be used: $reason\.\n  \Q$advice\E .*\.$/m, "doctor: $name");
    }
    skip('the module that gets installed has kernels', 1) if slurp("$build/Makefile") !~ /^KERNELS_BUILT = *$/m;
    like(run(["$build/tool/gpuaes", 'doctor'], env => {OPENSSL_MODULES => "$build/provider/.libs", OPENSSL_CONF => $cnf})->{out},
        qr/^No GPU can be used: gpuaes was built without the CUDA toolkit\.\n  Install a package that has kernels/m, 'doctor: a build without kernels');
}

# A wrong setting is named, with its value and what was expected, and the module is not to blame.
my $wrong = gpuaes(['doctor'], GPUAES_POLICY => 'fast');
like($wrong->{out}, qr/^The provider cannot be loaded: GPUAES_POLICY in the environment has the value "fast", expected auto, gpu or cpu\.\n  Correct that variable, or unset it\.$/m,
    'doctor: a wrong setting in the environment');
unlike($wrong->{out}, qr/Put gpuaes\.so|lines are right/, 'and nothing else is suspected');
isnt($wrong->{status}, 0, 'which is not well');
my $both = gpuaes(['doctor'], GPUAES_POLICY => 'fast', GPUAES_THREADS => 'many');
like($both->{out}, qr/^The provider cannot be loaded: GPUAES_POLICY in the environment has the value "fast", [^;]*; GPUAES_THREADS in the environment has the value "many", [^;]*\.\n  Correct those variables, or unset them\.$/m,
    'doctor: two wrong settings are both named');
my $mistyped = gpuaes(['doctor'], GPUAES_POLIC => 'gpu', GPUAES_TEST_ANYTHING => 1);
like($mistyped->{out}, qr/^GPUAES_POLIC in the environment is unknown \(provider-gpuaes\(7\) lists the settings\)\.\n  Correct that variable/m, 'doctor: an unknown variable');
unlike($mistyped->{out}, qr/GPUAES_TEST/, 'and of no other one');
isnt($mistyped->{status}, 0, 'which is not well');
# Settings of the process that the file has are not in the way of the device, nor the other way.
spew($cnf, $sample =~ s/^soft_load = 1\n/soft_load = 1\nidle-seconds = 7\nthreads = 2\n/mr);
foreach my $command ('doctor', 'info') {
    my $result = gpuaes([$command, $command eq 'info' ? '--quick' : ()]);
    is($result->{err}, '', "$command: settings of the file are no problem");
    like($result->{out}, qr/^Programs that read \S+ use gpuaes\.$/m, "$command: programs use it");
    like($result->{out}, qr/^CPU: a large update in pageable memory uses up to 2 threads$/m, 'info: as many threads as are set')
        if $command eq 'info' && $has_device;
}
spew($cnf, $sample);
foreach my $case ((map { ['info', "--seconds=$_", qr/--seconds=$_: expected a whole number from 1 to 86400$/m] } 'x', '1K'), ['info', '--seconds', qr/--seconds: its value is missing/],
    ['info', '--quick=1', qr/--quick: it takes no value/], ['info', 'foo', qr/"foo": expected an option \(see gpuaes info --help\)/],
    ['doctor', '-x', qr/unknown option -x \(see gpuaes doctor --help\)/])
{
    my ($command, $word, $said) = @$case;
    my $result = gpuaes([$command, $word]);
    refused($result, qr/^gpuaes $command: $said/, "$command $word: refused");
    is($result->{out}, '', 'and prints nothing else');
}

# ---- What README says of the emulator ------------------------------------------------------------

SKIP: {
    skip('this needs the emulator', 3) if !$on_emulator;
    my ($lines) = slurp("$source/README.md") =~ /^## Try it without a GPU\n.*?\n\n(    .*?)\n\n/ms;
    my $lines_here = $lines =~ s/^ *cd build$/cd '$build'/mr =~ s{\bexample\.enc\b}{$folder/example.enc}gr =~ s{\.\./docs/}{$source/docs/}gr;
    my $tried = run(['sh', '-ec', $lines_here]);
    is($tried->{status}, 0, 'the lines of README run') or diag($lines_here, $tried->{err});
    like($tried->{err}, qr/^gpuaes: summary gpu-bytes=[1-9]\d+ /m, 'the emulator encrypts');
    like($tried->{out}, qr/^GPU 0: /m, 'and is shown');
}

# ---- Configurations that do not use it --------------------------------------------------------------

# What the doctor says of a file: "" and "" where all is well with it.
sub said
{
    my ($text, $path) = @_;
    spew($cnf, $text) if defined($text);
    my $out = gpuaes(['doctor'], GPUAES_POLICY => 'cpu', OPENSSL_CONF => $path // $cnf)->{out};
    return ('', '') if $out =~ /^Programs that read \S+ use gpuaes\.$/m;
    return $out =~ /^Programs that read \S+ do not use gpuaes: (.*)\.\n  What to change: (.*)\.$/m ? ($1, $2) : ("says neither: $out", '');
}

# Does what was said, to the letter; only that the sample is what would be installed.
my $installed = qr{/\S+/gpuaes\.cnf};
sub follow
{
    my ($text, $what) = @_;
    return ".include $source/docs/gpuaes.cnf\n$text" if $what =~ /write "\.include $installed" as its first line$/;
    if ($what =~ /^change the line in \[(\w+)\] to "((\w+) = .*)"$/) {
        my ($section, $line, $name) = ($1, $2, $3);
        return $text =~ s/^(\[$section\]\n(?:[^\[].*\n)*?)$name = .*\n/$1$line\n/mr;
    }
    my ($line, $section) = $what =~ /write "(.*?)" into \[(\w+)\]/ or return $text;
    $text =~ s/^(\[ ?$section ?\]\n)/$1$line\n/m;
    return $what =~ /, and at the end of the file \[(\w+)\] with the line "(.*)"$/ ? "$text\n[$1]\n$2\n" : $text;
}

my $whole = <<'END';
openssl_conf = start
[start]
providers = list
alg_section = algs
random = numbers
[list]
default = base
gpuaes = ours
[base]
activate = 1
[ours]
activate = 1
[algs]
default_properties = ?gpuaes.on=yes
[numbers]
properties = ?gpuaes.on!=yes
END
is(join('', said($whole)), '', 'a file that somebody wrote by hand');
is(join('', said($whole =~ s/gpuaes\.on=yes/provider=gpuaes/r)), '', 'and one with an older form of the preference');
my %stock = map { $_ => slurp("$source/test/install/configurations/$_.cnf") =~ s/\@ROOT\@/$folder/gr } qw(debian12 ubuntu2404 fedora);
my $included = ".include $source/docs/gpuaes.cnf\n";

# Why not; it is followed until gpuaes is used, in so many steps.
my @wrong = (
    ['an empty file', '', qr/no line "openssl_conf = ..."/, 1],
    (map { ["the file of $_", $stock{$_}, qr/no line "providers = ..."|does not name gpuaes/, 1] } sort(keys %stock)),
    ['no start', $whole =~ s/^openssl_conf = .*\n//r, qr/no line "openssl_conf = ..."/, 1],
    ['no providers', $whole =~ s/^providers = .*\n//mr, qr/no line "providers = ..."/, 2],
    ['gpuaes is not listed', $whole =~ s/^gpuaes = .*\n//mr, qr/does not name gpuaes/, 2],
    ['gpuaes is not listed, but included', $included . ($whole =~ s/^gpuaes = .*\n//mr), qr/no provider gpuaes is in its list/, 1],
    ['gpuaes is not active', $whole =~ s/(?<=\[ours\]\n)activate = 1\n//r, qr/does not activate it/, 1],
    ['gpuaes is switched off', $whole =~ s/(?<=\[ours\]\n)activate = 1\n/activate = no\n/r =~ s/^default_properties = .*\n//mr,
        qr/^its line "activate = no" in \[ours\] activates nothing from OpenSSL 3\.3 on$/, 2],
    ['no default provider', $whole =~ s/^default = .*\n//mr, qr/activates gpuaes without the default/, 1],
    ['a default provider that is not active', $whole =~ s/(?<=\[base\]\n)activate = 1\n//r, qr/activates gpuaes without the default/, 1],
    ['no preference', $whole =~ s/^default_properties = .*\n//mr, qr/active, but not preferred/, 1],
    ['no properties', $whole =~ s/^alg_section = .*\n//mr, qr/active, but not preferred/, 1],
    ['another preference', $whole =~ s/^(default_properties) = .*/$1 = fips=no/mr, qr/active, but not preferred/, 1],
    ['two preferences for providers', $whole =~ s/^(default_properties) = .*/$1 = ?provider=tpm2,?provider=gpuaes/mr,
        qr/^OpenSSL cannot use its line "default_properties = \?provider=tpm2,\?provider=gpuaes": parse failed: Duplicated name/, 1],
    ['the same, where errors count', "config_diagnostics = 1\n" . ($whole =~ s/^(default_properties) = .*/$1 = ?provider=gpuaes,?provider=tpm2/mr),
        qr/^OpenSSL cannot use its line/, 1],
    ['a preference in spite of it', $included . ($whole =~ s/^(default_properties) = .*/$1 = ?fips=yes/mr), qr/active, but not preferred/, 1],
);
foreach my $case (@wrong) {
    my ($name, $text, $reason, $steps) = @$case;
    my ($why, $what) = said($text);
    like($why, $reason, "$name: says why");
    my @followed;
    for (; $what ne '' && @followed < 4; ($why, $what) = said($text)) {
        push(@followed, $what);
        $text = follow($text, $what);
    }
    is(scalar(@followed), $steps, "$name: what is said helps") or diag(join("\n", @followed, $text));
    is($why, '', 'gpuaes is used then');
}
unlink($cnf);
my ($absent, $take) = said();
like($absent, qr/it cannot be read: No such file/, 'no such file: says why');
my ($named) = $take =~ /set OPENSSL_CONF to ($installed)$/;
is($take, (-r $named ? '' : "install gpuaes ($named is missing), then ") . "set OPENSSL_CONF to $named", 'and what to do');
is(join('', said(undef, "$source/docs/gpuaes.cnf")), '', 'and doing it helps');

# Where the file is a link, as Debian has it, what it leads to is to be changed.
spew($cnf, $whole);
symlink($cnf, "$folder/link.cnf") or die "link: $!";
like(gpuaes(['doctor'], GPUAES_POLICY => 'cpu', OPENSSL_CONF => "$folder/link.cnf")->{out}, qr/^Programs that read \Q$cnf\E use gpuaes\.$/m,
    'a link is followed');

# What takes more than a line that it could know.
my @stuck = (
    ['a line that is none', "[x\n$whole", qr/line 1 of it is wrong/, qr/correct that line/],
    ['a wrong setting', $whole =~ s/(?<=\[ours\]\n)/threads = many\n/r,
        qr/^its setting threads has the value "many", expected "auto" or a number from 1 to 64$/, qr/^correct the line "threads = many" in \[ours\]$/],
    ['a setting that is unknown', $whole =~ s/(?<=\[ours\]\n)/soft_load = 1\npolic = gpu\n/r,
        qr/^its setting polic is unknown \(provider-gpuaes\(7\) lists the settings\)$/, qr/^correct or delete the line "polic = gpu" in \[ours\]$/],
    ['settings that are wrong, and one that is unknown', $whole =~ s/(?<=\[ours\]\n)/threads = many\npolic = gpu\ntimeout-ms = soon\n/r,
        qr/^its setting polic is unknown .*; its setting timeout-ms has the value "soon", .*; its setting threads has the value "many", [^;]*$/,
        qr/^correct or delete the line "polic = gpu" in \[ours\]; correct the line "timeout-ms = soon" in \[ours\]; correct the line "threads = many" in \[ours\]$/],
    ['a section within the section', $whole =~ s/(?<=\[ours\]\n)/policy = more\n/r . "[more]\nx = 1\n",
        qr/^its setting policy names the section \[more\], and gpuaes has no such$/, qr/^correct or delete the line "policy = more" in \[ours\]$/],
    ['no module there', $whole =~ s/(?<=\[ours\]\n)/soft_load = 1\nmodule = \/nowhere\/gpuaes.so\n/r,
        qr{the module /nowhere/gpuaes\.so is not there: No such file}, qr/install gpuaes there, or correct that path/],
    ['a property that it has not', $whole =~ s/^(default_properties) = /$1 = fips=yes,/mr,
        qr/^its line "default_properties = fips=yes,\?gpuaes\.on=yes" requests properties that gpuaes does not have$/, qr/^leave it so .*no FIPS module/],
    ['a host that demands the default provider', $stock{debian12} . "[evp]\ndefault_properties = provider=default\n[openssl_init]\nalg_section = evp\n",
        qr/^its line "default_properties = provider=default" requests properties that gpuaes does not have$/, qr/^leave it so/],
    ['a FIPS host by its mode', $stock{debian12} . "[evp]\nfips_mode = yes\n[openssl_init]\nalg_section = evp\n",
        qr/^its line "fips_mode = yes" requests properties that gpuaes does not have$/, qr/^leave it so .*no FIPS module/],
    ['a line that OpenSSL cannot parse', $whole =~ s/^(default_properties) = /$1 = fips==yes,/mr,
        qr/^OpenSSL cannot use its line "default_properties = fips==yes,\?gpuaes\.on=yes": /, qr/^correct that line in \[algs\]$/],
    ['a demand for gpuaes', $whole =~ s/\?(?=gpuaes\.on=yes)//r,
        qr/^its line "default_properties = gpuaes\.on=yes" demands gpuaes for all algorithms, so that OpenSSL has no digests$/, qr/^put a question mark/],
);
foreach my $case (@stuck) {
    my ($name, $text, $reason, $advice) = @$case;
    my ($why, $what) = said($text);
    like($why, $reason, "$name: says why");
    like($what, $advice, "$name: says what to change");
}

is(join('', said($included . $stock{debian12})), '', 'Debian\'s file that includes the sample');

# A FIPS host: what it demands comes first, and its digests are digests.
SKIP: {
    my $fips = fips_stand_in() // skip('there is no C compiler', 7);
    my $host = $whole =~ s/^default = base$/fips = base/mr =~ s/(?<=\[base\]\n)/module = $fips\n/r;
    is(join('', said($host)), '', 'a FIPS provider in place of the default one');
    my ($why, $what) = said($host =~ s/^default_properties = .*\n//mr);
    like($why, qr/^gpuaes is active, but not preferred/, 'a FIPS host that prefers nothing: says why');
    unlike($what, qr/default_sect/, 'and leaves the default provider out');
    ($why, $what) = said($host =~ s/^gpuaes = .*\n//mr =~ s/^(default_properties) = .*/$1 = fips=yes/mr);
    like($why, qr/^its line "default_properties = fips=yes" requests properties that gpuaes does not have$/,
        'a FIPS host that demands it: says so at once');
    like($what, qr/^leave it so if that is required of this host \(gpuaes is no FIPS module\)/, 'and what to do');
    ($why, $what) = said($host =~ s/^(default_properties) = .*/$1 = ?provider=fips,?gpuaes.on=yes/mr);
    is($why, 'gpuaes is loaded, but its line "default_properties = ?provider=fips,?gpuaes.on=yes" prefers the provider fips for AES no less',
        'two preferences that are met: the provider that is listed first is named');
    like($what, qr/^take the preference for fips out of that line/, 'and its preference');
}

# Included behind the line that it replaces.
spew($cnf, $stock{debian12} =~ s/openssl_init/default_conf/gr . $included);
my $behind = gpuaes(['doctor']);
like($behind->{out}, qr/^Programs that read \S+ use gpuaes, but nothing in its section \[default_conf\] is in force: an included file replaces the line "openssl_conf = default_conf"\.\n  What to change: make the line that includes gpuaes\.cnf its first line\.$/m,
    'the sample behind a start of another name: what it takes away');
like($behind->{out}, qr/^Not all is well\.$/m, 'which is not well');
isnt($behind->{status}, 0, 'and so it ends');
is(join('', said($included . $stock{debian12} =~ s/openssl_init/default_conf/gr =~ s/^(\[default_conf\]\n)/$1providers = gpuaes_providers\nalg_section = evp_properties\n/mr)), '',
    'in front of it, nothing is taken away');
is(join('', said($stock{debian12} . $included)), '', 'nor behind one of the same name');
is(join('', said("start = openssl_init\n" . ($stock{debian12} =~ s/^openssl_conf = .*/openssl_conf = \$start/mr) . $included)), '', 'nor behind one by a variable');

# Programs with a line of their own are named, unless the file has it.
my $node = qr/^  Programs with a line of their own do not, such as Node\.js: it reads nodejs_conf, and openssl_conf only with NODE_OPTIONS=--openssl-shared-config\.$/m;
foreach (['', 1], ["nodejs_conf = openssl_init\n", 0]) {
    my ($line, $is_named) = @$_;
    spew($cnf, $line . $sample);
    my $out = gpuaes(['doctor'])->{out};
    like($out, qr/^Programs that read \S+ use gpuaes\.$/m, 'programs use it');
    is($out =~ $node ? 1 : 0, $is_named, 'and Node.js ' . ($is_named ? 'does not' : 'does'));
}

done_testing();
