#!/usr/bin/perl
# docs/configuration/: what the pages print does what they say. The lines for a host run
# in a mount namespace, over copies of what they write to; make install comes first,
# and prints the lines of the page. Docker is a stand-in that runs a Dockerfile there.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib map { "$FindBin::Bin/../$_" } qw(support clients);
use Client;
use Programs;
use Test::More;

needs(openssl => 'openssl');

my $pages = "$source/docs/configuration";

# The blocks of one language, in the order of the page.
sub blocks
{
    my ($page, $language) = @_;
    return slurp("$pages/$page") =~ /^```$language\n(.*?)^```$/msg;
}

# ---- One context in C ------------------------------------------------------------

SKIP: {
    skip('there is no C compiler', 5) if system('cc --version >/dev/null 2>&1');
    my ($program) = blocks('one-context.md', 'c');
    my ($lines) = blocks('one-context.md', 'sh');
    spew("$folder/one_context.c", $program);
    my %with = (env => {GPUAES_LOG => 'summary'});
    my $strict = run(['cc', '-std=c11', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', "$folder/one_context.c"]);
    good($strict, 'one context: no warning');
    my $result = run(['sh', '-ec', "cd '$folder'\n$lines"], %with);
    good($result, 'one context: it is compiled, and runs');
    is($result->{out}, "67108864 bytes by gpuaes\n", 'one context: by us');
    is(total($result->{err}, 'cpu-bytes') + total($result->{err}, 'gpu-bytes'), 67108864, 'one context: and that was done');
    my $without = run(["$folder/one_context"], env => {OPENSSL_MODULES => '/nowhere'});
    is($without->{out}, "67108864 bytes by default\n", 'one context: without the module it goes on');
}

# ---- A host, a program, a container ------------------------------------------------

my $openssl_cnf = '/etc/ssl/openssl.cnf';
my ($openssl_folder) = run(['openssl', 'version', '-d'])->{out} =~ /"(.*)"/;
my ($module_folder) = run(['make', '-s', '-C', $build, '--eval=show: ; @echo $(modulesdir)', 'show'])->{out} =~ /(.*)\n\z/;
my ($prefix) = slurp("$build/Makefile") =~ /^prefix = (.*)$/m;
my $in = "$folder/in";     # its own file system, so that others can lie on it
mkdir($in) or die "$in: $!";

# Folders of the host that are written to. The last two are apt's: another run of it may hold the locks there.
my $enter = overlays($in, '/usr/local', '/etc', '/var/cache', '/var/lib');

# Libtool links the module again to install it, and other tests write to the build folder
# meanwhile, which may not change below an overlay: so a copy of what `make` has made (and of
# its scripts, where the sources themselves were configured).
my $copy_build = <<"END";
mkdir '$in/build'
cd '$build'
{ find . -maxdepth 1 -type f; find \$(ls -d build-aux cuda docs m4 packaging provider test tool 2>/dev/null) -name '*_test*' -prune -o -print; } |
    tar -cf - --no-recursion -T - | tar -C '$in/build' --no-same-owner -xpf -
mount --bind '$in/build' '$build'
END

my $possible = "$prefix $module_folder" eq '/usr/local /usr/local/lib/ossl-modules'
    && run(['readlink', '-f', "$openssl_folder/openssl.cnf"])->{out} eq "$openssl_cnf\n";
$possible &&= !run([@namespace, 'sh', '-ec', "$enter: >>$openssl_cnf"])->{status};

# Lines of the script that run blocks, and keep what came of the nth in NAME.n.*.
sub kept
{
    my ($name, @blocks) = @_;
    return map {
        my $as = "$name.$_";
        my $file = spew("$folder/$as.sh", $blocks[$_ - 1]);
        "bash -eo pipefail '$file' >$as.out 2>$as.err && echo 0 >$as.status || echo \$? >$as.status\n"
    } 1 .. @blocks;
}

SKIP: {
    skip('that takes /usr/local as prefix, the openssl.cnf of Debian, and a mount namespace where that can be written', 1)
        if !$possible;

    my $commands = "$in/commands";
    my @host = blocks('whole-host.md', 'sh');
    my @program = blocks('one-program.md', 'sh');
    my ($service) = blocks('one-program.md', 'ini');
    my ($dockerfile) = blocks('one-container.md', 'dockerfile');
    my @container = blocks('one-container.md', 'sh');
    spew("$folder/Dockerfile", $dockerfile);
    my %command = (
        sudo => 'exec "$@"',
        'apt-get' => 'exit 0',
        make => "exec make --no-print-directory -C '$build' \"\$@\"",
        docker => "exec perl '$FindBin::Bin/../clients/docker_stand_in' \"\$@\"",
    );
    my $write = join('', map {
            my $path = spew("$folder/command.$_", "#!/bin/sh\nPATH=\${PATH#*:}\n$command{$_}\n");
            "cp '$path' '$commands/$_'; chmod 755 '$commands/$_'\n"
        } sort(keys %command));

    my $all = $enter . $copy_build . "mkdir '$in/commands' '$in/here'\n" . $write . <<"END" . join('',
cd '$in/here'
cp '$folder/Dockerfile' .
cp '$source/test/install/configurations/debian12.cnf' $openssl_cnf
rm -f /usr/local/etc/gpuaes.cnf '$module_folder/gpuaes.so'
unset OPENSSL_CONF OPENSSL_MODULES
PATH='$commands':\$PATH
END
        kept('install', "make install\ncat /usr/local/etc/gpuaes.cnf >gpuaes.cnf"),
        kept('doctor', "ldconfig\ngpuaes doctor || true",
            'what=$(gpuaes doctor | sed -n \'s/.*What to change: write "\(.*\)" as its first line\.$/\1/p\' || true)'
                . "\nsed -i \"1i \$what\" $openssl_cnf\ngpuaes doctor || true", "sed -i 1d $openssl_cnf"),
        kept('host', @host[0 .. 1], 'curl --version', $host[2], 'openssl list -providers'),
        kept('program', @program),
        kept('service', join(' ', $service =~ /^Environment=(.*)$/mg) . ' openssl list -providers'),
        kept('gone', 'make uninstall', 'ls /usr/local/etc/gpuaes.cnf'),
        kept('container', @container),
        "cp -r . '$folder/results'\n");
    my $run = run([@namespace, 'bash', '-e', spew("$folder/all.sh", $all)]);
    good($run, 'the pages run');

    my $result = sub {
        my ($name, $suffix) = @_;
        return slurp("$folder/results/$name.$suffix");
    };
    my $ends = sub {
        my ($name, $what) = @_;
        return is($result->($name, 'status'), "0\n", $what) || diag($result->($name, 'out'), $result->($name, 'err'));
    };
    my $both = qr/^  default\n(?:    .*\n)+?    status: active\n  gpuaes\n(?:    .*\n)+?    status: active\n/m;

    $ends->('install.1', 'make install');
    (my $printed = $result->('install.1', 'out')) =~ s/.*^gpuaes is installed\.[^\n]*\n//ms;
    my @three = $printed =~ /^    (\S.*)$/mg;
    is(join("\n", @three, ''), $host[0], 'it prints the three lines of the page');
    like(slurp("$folder/results/gpuaes.cnf"), qr{^\[gpuaes_section\]\nmodule = \Q$module_folder\E/gpuaes.so\n}m,
        'the file that it installs names the module');

    like($result->('doctor.1', 'out'), qr/^The provider gpuaes \S+ is installed and loads\.$/m, 'gpuaes doctor finds the module');
    like($result->('doctor.1', 'out'), qr/^Programs that read \S+ do not use gpuaes: /m, 'and that nobody uses it yet');
    $ends->('doctor.2', 'what it says to change is done, to the letter');
    like($result->('doctor.2', 'out'), qr/^Programs that read \S+ use gpuaes\.$/m, 'and is all that it takes');

    $ends->('host.1', 'a whole host: the three lines');
    like($result->('host.1', 'out'), $both, 'both providers are active');
    $ends->('host.2', 'a whole host: to see that it works');
    like($result->('host.2', 'err'), qr/^gpuaes: summary .* cpu-bytes=[1-9]/m, 'it does');
    $ends->('host.4', 'a whole host: back');
    unlike($result->('host.5', 'out'), qr/gpuaes/, 'gpuaes is gone');

    $ends->('program.1', 'one program');
    like($result->('program.1', 'err'), qr/^gpuaes: summary .* cpu-bytes=[1-9]/m, 'it uses us');
    $ends->('program.2', 'one program, with the file of the host');
    like($result->('program.2', 'out'), $both, 'both providers are active');
    like($result->('service.1', 'out'), $both, 'a service: both providers are active');
    like($result->('service.1', 'err'), qr/^gpuaes: summary /m, 'and a summary is printed');

    $ends->('gone.1', 'make uninstall');
    isnt($result->('gone.2', 'status'), "0\n", 'it takes the configuration along');

    $ends->('container.1', 'one container: a folder with what the image needs');
    $ends->('container.2', 'one container: docker builds, and runs');
    like($result->('container.2', 'out'), $both, 'both providers are active');
    like($result->('container.2', 'err'), qr/^gpuaes: summary .* cpu-bytes=[1-9]/m, 'a program in it uses us');
}

done_testing();
