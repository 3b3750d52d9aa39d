#!/usr/bin/perl
# quickstart: what it says of arguments that it cannot take, before it does anything; which packages
# it installs or asks for; which CUDA compiler it takes, and when it fetches one; what it shows of each
# step; that packages for tests come while it builds; and what it shows of the main job on a small file,
# by a build that is there already.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT refused);
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the module') if $ENV{GPUAES_TEST_SANITIZER};
delete @ENV{qw(OPENSSL_MODULES OPENSSL_CONF)};

# A copy of it, among stand-ins that install and build nothing.
my $here = "$folder/here";
my $stand_ins = "$folder/stand-ins";
mkdir($_) or die "$_: $!" foreach $here, $stand_ins, "$folder/a folder";
sub script { my ($path, $lines) = @_; return chmod(0755, spew($path, "#!/bin/sh\n$lines")) }
sub tells { my ($name) = @_; return qq(echo $name "\$@" >>'$folder/called'\n) }
script("$stand_ins/$_", tells($_)) foreach qw(make valgrind clang);
script("$stand_ins/$_", tells($_) . "exit 1\n") foreach qw(apt-get sudo);
chmod(0755, spew("$here/quickstart", slurp("$source/quickstart")));
spew("$folder/empty", '');
delete @ENV{qw(NVCC CUDA_HOME)};
my $cache = "$folder/cache";
my $log = "$here/build/quickstart.log";
my $said;

sub quickstart
{
    my ($arguments, %how) = @_;
    my %env = (PATH => "$stand_ins:$ENV{PATH}", XDG_CACHE_HOME => $cache, %{$how{env} // {}});
    return run(["$here/quickstart", @$arguments], %how, env => \%env);
}

# ---- Arguments ------------------------------------------------------------------

my @refused = (
    [['chek'], 'chek is neither "build" nor "check" nor a file that exists'],
    [["$folder/a folder"], "$folder/a folder is not a regular file"],
    [["$folder/empty"], "$folder/empty is empty"],
    [[''], 'the name of FILE is empty'],
    [['--with-clients'], 'unknown option --with-clients; ./quickstart --help lists what there is'],
    [['build', 'now'], 'build takes no argument, not now'],
    [['check', 'now'], 'check takes --with-clients, not now'],
    [['/bin/sh', 'now'], 'one FILE is taken; now is one too many'],
);
foreach my $row (@refused) {
    my $result = quickstart($row->[0]);
    my $said = join(' ', 'quickstart', map { "'$_'" } @{$row->[0]});
    isnt($result->{status}, 0, "$said fails");
    is("$result->{err}$result->{out}", "quickstart: $row->[1]\n", 'and says why, and no more');
}
ok(!-e "$folder/called", 'nothing was installed or built');
like(quickstart(['--help'])->{out}, qr{^  \./quickstart check\b}m, '--help lists what there is');

# ---- The CUDA compiler -------------------------------------------------------------

# Compilers, a configure and a pip that tell of themselves. What pip does is in PIP_IS.
sub nvcc
{
    my ($path, $release) = @_;
    return script($path, <<"END");
if test "\$1" = --version; then echo 'Cuda compilation tools, release $release, V$release.37'; exit; fi
while test "\$1" != -o; do shift; done
echo image >"\$2"
END
}
mkdir($_) or die "$_: $!" foreach "$folder/home", "$folder/home/bin", "$here/packaging";
nvcc("$folder/$_", $_) foreach qw(12.4 13.3 13.5);
run(['cp', "$source/packaging/fetch_nvcc", "$here/packaging/fetch_nvcc"]);
nvcc("$here/packaging/nvcc_by_nvrtc", '12.9');
# A machine whose driver loads the kernels of any of them.
script("$stand_ins/nvidia-smi", 'echo "${DRIVER_IS-580.65.06}"');
script("$here/configure", tells('configure') . <<'END');
nvcc=$(command -v nvcc)
for word; do case $word in NVCC=*) nvcc=${word#NVCC=} ;; NVCC12=*) older=${word#NVCC12=} ;; esac; done
printf 'NVCC = %s\nNVCC12 = %s\n' "$nvcc" "$older" >Makefile
printf '#!/bin/sh\ncat <<END\n' >config.status
for word; do printf "'%s' " "$word" >>config.status; done
chmod 755 config.status
END
script("$stand_ins/python3", <<"END");
case "\$*" in
*--version) test "\$PIP_IS" != absent; exit ;;
-c*) exit 1 ;;
esac
echo pip >>'$folder/called'
while test "\$1" != --target; do shift; done
mkdir -p "\$2/nvidia/cu13/bin"
case \$PIP_IS in
good) cp '$folder/13.5' "\$2/nvidia/cu13/bin/nvcc" ;;
other) cp '$folder/13.3' "\$2/nvidia/cu13/bin/nvcc" ;;
TERM | KILL) kill -\$PIP_IS \$PPID ;;
*) exit 1 ;;
esac
END

# The nvcc in PATH.
sub installed
{
    my ($release) = @_;
    unlink("$stand_ins/nvcc");
    return !$release || link("$folder/$release", "$stand_ins/nvcc") || die;
}

# What was called but make, in the order of the calls, after quickstart has succeeded.
sub calls
{
    my ($arguments, %env) = @_;
    unlink("$folder/called");
    $said = quickstart($arguments, env => {PIP_IS => 'offline', %env});
    return "status $said->{status}: $said->{err}" if $said->{status};
    return join(', ', grep { !/^make / } split(/\n/, slurp("$folder/called")));
}
sub afresh { return run(['rm', '-rf', "$here/build", @_]) }
sub kept { return join(' ', map { s{.*/}{}r } sort(glob("$cache/gpuaes/*"))) }

SKIP: {
    my $newest = `/usr/local/cuda/bin/nvcc --version 2>/dev/null` =~ /release (\d+)\.(\d+)/ ? $1 * 100 + $2 : 0;
    skip("there is a new nvcc in /usr/local/cuda", 1) if $newest >= 1303;
    my $fetched = "$cache/gpuaes/cuda-13.5.37/nvidia/cu13/bin/nvcc";

    installed('13.3');
    is(calls(['build']), 'configure', 'nvcc 13.3 in PATH: nothing is fetched');
    is(calls(['build']), '', 'and nothing is configured again');
    installed('12.4');
    mkdir("$folder/home/bin");
    link("$folder/13.5", "$folder/home/bin/nvcc") or die;
    afresh();
    is(calls(['build'], CUDA_HOME => "$folder/home"), "configure NVCC=$folder/home/bin/nvcc",
        'an old one in PATH, a new one in CUDA_HOME: the new one is taken');

    foreach my $how (qw(absent offline other TERM KILL)) {
        afresh($cache);
        my $first = $how ne 'absent' ? 'pip' : $> == 0 ? 'apt-get update' : 'sudo -n true';
        is(calls(['build'], PIP_IS => $how), "$first, configure", "pip $how: no compiler");
        like($said->{out}, qr{^Bringing nvcc into \Q$cache\E.* \.\.\. \w.*\nKernels are built by \Q$stand_ins\E/nvcc, which is older}m,
            'and it says what is taken');
        is(kept(), {absent => '', KILL => 'cuda-13.5.37.new lock'}->{$how} // 'lock', 'and nothing is left that passes for one');
    }
    is(calls(['build'], PIP_IS => 'good'), "pip, configure NVCC=$fetched", 'a build without a new one gets it when it can be had');
    is(kept(), 'cuda-13.5.37 lock', 'what one that was killed has left is gone');
    like(slurp($log), qr{fetching nvcc 13\.5\.37 into \Q$cache\E.*hashes are right}s, 'what is fetched, and where to, is in the log');
    like($said->{out}, qr{^Bringing nvcc into \Q$cache\E/.* \.\.\. \d+ s\nKernels are built by \Q$fetched\E\.$}m,
        'and what builds the kernels is said');
    is(calls(['build']), '', 'it is not fetched again');
    afresh();
    is(calls(['build']), "configure NVCC=$fetched", 'nor for a new build');
    afresh();
    is(calls(['build'], PIP_IS => 'absent'), "configure NVCC=$fetched", 'for which no pip is installed');

    # What others could have put there is not run.
    my @others = ([$fetched, 0775], ["$cache/gpuaes/cuda-13.5.37", 0757], ["$cache/gpuaes", 0777], [$cache, 0777]);
    push(@others, map { [$_, undef] } $fetched, "$cache/gpuaes") if $> == 0;
    foreach (@others) {
        my ($path, $mode) = @$_;
        my $name = (defined $mode ? sprintf('the mode %o', $mode) : 'another owner') . ' of ' . substr($path, length($folder) + 1);
        afresh();
        defined $mode ? chmod($mode, $path) : chown(65534, -1, $path);
        my $run = run(["$source/packaging/fetch_nvcc"], env => {XDG_CACHE_HOME => $cache});
        refused($run, qr{^fetch_nvcc: others could have put a compiler into \Q$path\E, as its owner is \w+ and its mode \d+; }, $name);
        is(calls(['build']), 'configure', "$name: another compiler is taken");
        is(calls(['build'], PIP_IS => 'good'), '', 'and nothing is fetched in its place');
        defined $mode ? chmod(0755, $path) : chown($>, -1, $path);
    }
    afresh();
    chmod(01777, $cache);
    is(calls(['build']), "configure NVCC=$fetched", 'but in a folder where others cannot replace it');
    afresh($cache);
    is(calls(['build']), 'pip, configure', 'offline, after the compiler was removed');

    # Kernels for an older driver, or for one that is not known.
    installed('13.3');
    afresh($cache);
    is(calls(['build'], DRIVER_IS => '550.163.01'), 'pip, configure', 'driver 550, offline: a build without kernels for it');
    like($said->{out}, qr{^They need driver 580 or newer: }m, 'which is said');
    installed('12.4');
    foreach my $driver ('550.163.01', 'No devices were found', '') {
        afresh($cache);
        is(calls(['build'], PIP_IS => 'good', DRIVER_IS => $driver), "pip, configure NVCC=$fetched NVCC12=$stand_ins/nvcc",
            "driver '$driver': nvcc 12.4 in PATH builds kernels for it");
        is(calls(['build'], DRIVER_IS => $driver), '', 'once');
    }
    installed('13.3');
    afresh();
    my $by_nvrtc = "$cache/gpuaes/cuda-12.9.86/bin/nvcc";
    run(['mkdir', '-p', "$cache/gpuaes/cuda-12.9.86/bin"]);
    run(['touch', $by_nvrtc]);
    is(calls(['build'], DRIVER_IS => '550.163.01'), "configure NVCC12=$by_nvrtc", 'one that was fetched before does, as these sources have it');
    is(calls(['build'], DRIVER_IS => '550.163.01'), '', 'once');
    afresh();
    is(calls(['build'], DRIVER_IS => '580.65.06'), 'configure', 'driver 580 needs none');
    installed('12.4');
    afresh($cache);

    foreach my $option ('--with-cuda=no', '--without-cuda', '--with-cuda=/opt/cuda', '--with-kernel-image=/kernels.fatbin') {
        afresh();
        is(calls(['build', $option]), "configure $option", "$option: nothing is fetched");
        is(calls(['build']), '', 'nor the next time');
        unlike($said->{out}, qr/kernels for GPUs/, 'and nothing is said of what was not wanted');
    }
    afresh();
    run(['sh', '-c', "mkdir '$here/build' && cd '$here/build' && ../configure --prefix=/opt --with-cuda=no"]);
    is(calls(['build']), '', 'configured by hand with --with-cuda=no: nothing is fetched');
    is(calls(['check']), 'configure --with-cuda=no --enable-werror', 'nor for the tests');
    afresh();
    is(calls(['build'], NVCC => "$folder/12.4"), 'configure', 'NVCC in the environment: nothing is fetched');
    afresh();
}

SKIP: {
    my $path = "$stand_ins:/usr/bin:/bin";
    installed('');
    skip('there is an nvcc', 4) if grep { -x "$_/nvcc" } '/usr/local/cuda/bin', split(/:/, $path);
    foreach (['absent', 'python3 has no pip (Debian: python3-pip)', 1], ['offline', 'pip did not bring it', '']) {
        my ($how, $why, $asks) = @$_;
        calls(['build'], PIP_IS => $how, PATH => $path);
        my ($end) = $said->{out} =~ /^== This build has no kernels for GPUs: everything runs on the CPU\n(.*?)\n== What to do next/ms;
        like($end // '', qr/^There is no nvcc, and none could be fetched: \Q$why\E\.$/m, "pip $how: the end says that there are no kernels");
        is($end =~ /^    sudo apt-get .* python3-pip$/m, $asks, 'and what to do, if pip is missing');
        afresh($cache);
    }
}

# pip itself, of a folder in place of the network.
SKIP: {
    skip('python3 has no pip', 4) if system('python3 -m pip --version >/dev/null 2>&1') != 0;
    mkdir("$folder/wheels") or die;
    my %local = (PIP_NO_INDEX => 1, PIP_FIND_LINKS => "$folder/wheels", XDG_CACHE_HOME => $cache);
    my $nothing = run(["$source/packaging/fetch_nvcc"], env => \%local);
    refused($nothing, qr/fetch_nvcc: pip did not bring it$/, 'without the packages');
    spew("$folder/wheels/nvidia_$_-13.5.37-py3-none-any.whl", 'other') foreach qw(cuda_nvcc cuda_crt cuda_runtime nvvm);
    my $wrong = run(["$source/packaging/fetch_nvcc"], env => \%local);
    refused($wrong, qr/DO NOT MATCH THE HASHES.*fetch_nvcc: pip did not bring it$/s, 'with other packages of these names');
    is(kept(), 'lock', 'and nothing is left');
}

# ---- Packages that are missing -----------------------------------------------------

# The C compiler finds no header. bash, which quickstart calls for apt alone, installs nothing.
script("$stand_ins/gcc", 'exit 1');
script("$stand_ins/bash", "shift 3; echo \"\$@\" >>'$folder/called'");
script("$stand_ins/apt-get", 'exit 0');
installed('');
my @as_user = (qw(unshare --user), $> ? () : qw(--map-user=1000 --map-group=1000));
my @as_root = $> ? qw(unshare --user --map-root-user) : ();
SKIP: {
    skip('that takes a user namespace', 6) if run([@as_user, 'true'])->{status} || run([@as_root, 'true'])->{status};
    foreach my $what (['build'], ['check', '--with-clients']) {
        afresh("$folder/called", "$cache");
        my %env = (PATH => "$stand_ins:/usr/bin:/bin", XDG_CACHE_HOME => $cache, PIP_IS => 'absent');
        my $asked = run([@as_user, "$here/quickstart", @$what], env => \%env);
        is($asked->{status} >> 8, 1, "@$what, for a user without sudo: fails");
        my ($list) = $asked->{out} =~ /^    sudo apt-get update && sudo apt-get install -y --no-install-recommends (.*)$/m;
        like($list // '', qr/^(?=.*libssl-dev)(?=.*python3-pip)/, 'the command that is printed has all');
        run([@as_root, "$here/quickstart", @$what], env => \%env);
        my %installed = map { $_ => 1 } split(' ', slurp("$folder/called") =~ s/^(configure|make|pip|sudo)\b.*$//mgr);
        is(join(' ', sort keys %installed), join(' ', sort split(' ', $list)), 'and is what root installs');
    }
}
unlink("$stand_ins/gcc", "$stand_ins/bash");

# ---- Steps ---------------------------------------------------------------------------

# What nvcc says of its commands goes to the log, and shows how far it is.
installed('13.3');
script("$stand_ins/make", <<'END');
case $NVCC_APPEND_FLAGS in *--verbose*) ;; *) exit 3 ;; esac
echo '  CC       some_file.o'
echo '#$ "$CICC_PATH/cicc" --c++17 --orig_src_file_name "kernels.cu"   -arch compute_75 -m64'
echo '#$ ptxas -arch=sm_75 -m64  "/tmp/kernels.compute_75.ptx"  -o "/tmp/kernels.cubin"'
echo '#$ ptxas -arch=sm_90a -m64  "/tmp/kernels.compute_90a.ptx"  -o "/tmp/kernels.cubin"' >&2
exit $MAKE_IS
END
script("$here/configure", <<'END');
echo 'checking for gcc... gcc'
echo 'CUDA_GENCODE =  -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90' >Makefile
echo '#!/bin/sh' >config.status
chmod 755 config.status
END
my $kernels = "    PTX for compute_75\n    kernels for sm_75 (1 of 2)\n    kernels for sm_90a (2 of 2)\n";
afresh();
my $shown = quickstart(['build'], env => {MAKE_IS => 0});
like($shown->{out}, qr{^Details go to \Q$log\E\.\nConfiguring in build/ \.\.\. \d+ s\nBuilding in build/ .* \.\.\. \n\Q$kernels\E    \d+ s\n\n== What}m,
    'a build: a line for each step, and one for each kind of kernels');
is($shown->{err}, '', 'and nothing else');
like(slurp($log), qr/^checking for gcc\.\.\. gcc\n  CC       some_file\.o\n(?:#\$ .*\n){3}\z/, 'the rest is in the log');
$shown = quickstart(['build'], env => {MAKE_IS => 2});
isnt($shown->{status}, 0, 'a build that fails');
like($shown->{out}, qr/\Q$kernels\E    failed\n\z/, 'the step has failed');
like($shown->{err}, qr{^  CC       some_file\.o\n(?:#\$ .*\n){3}quickstart: that is the end of \Q$log\E\n\z}m, 'and the end of the log is shown');
afresh();

# ---- Packages for tests ------------------------------------------------------------

# The build and the first package each wait for the other, and for nothing longer than a minute; the packages
# of a build that fails wait until quickstart says so.
my $wait = 'wait_for() { n=0; until "$@"; do n=$((n + 1)); test $n -lt 6000 || exit 9; sleep 0.1; done; }';
my $waiting = 'Waiting for packages that are being installed';
script("$stand_ins/$_", 'exit 0') foreach qw(curl nginx stunnel4 openvpn jose node scp sshd ruby expect parallel dieharder);
script("$stand_ins/bash", "for name; do :; done; echo \$name >>'$folder/called'");
script("$stand_ins/sudo", 'test "$*" = "-n true" || { shift; exec "$@"; }');
script("$stand_ins/python3", <<"END");
$wait
case "\$*" in *--version) test "\$PIP_IS" != absent; exit ;; -c*) exit 1 ;; esac
touch '$folder/fetching'
wait_for test -e '$folder/building'
test \$MAKE_IS = 0 || wait_for grep -q '^$waiting' '$folder/stdout'
echo pip >>'$folder/called'
while test "\$1" != --target; do shift; done
mkdir -p "\$2" && touch "\$2/new"
test \$PIP_IS = good && exit
echo 'pip is offline' >&2
exit 1
END
script("$stand_ins/make", <<"END");
$wait
case "\$*" in *check-all) echo tests >>'$folder/called'; exit ;; esac
touch '$folder/building'
wait_for test -e '$folder/fetching' && exit \$MAKE_IS
END
script("$here/configure", "touch Makefile config.status\n");
my @rows = (['packages that come', 'good', 0], ['packages that cannot be had', 'offline', 0],
    ['pip that cannot be had', 'absent', 0], ['a build that fails', 'offline', 2]);
foreach my $row (@rows) {
    my ($name, $pip, $fails) = @$row;
    afresh("$folder/building", "$folder/fetching", "$folder/called");
    mkdir($_) or die "$_: $!" foreach "$here/build", "$here/build/python-packages";
    spew("$here/build/python-packages/old", '');
    my $result = quickstart(['check', '--with-clients', '--with-cuda=no'], env => {MAKE_IS => $fails, PIP_IS => $pip});
    is($result->{status} >> 8, $fails ? 1 : 0, "$name: the status") or diag($result->{out}, $result->{err});
    my @called = split(/\n/, slurp("$folder/called"));
    is(scalar(grep { $_ eq 'python3-pip' } @called), $pip eq 'absent' ? 1 : 0, 'apt is asked for pip once, if it is not here');
    @called = grep { /^(?:pip|tests)$/ } @called;
    is(shift(@called), 'pip', 'they are asked for while the build runs');
    is(join(' ', grep { $_ ne 'pip' } @called), $fails ? '' : 'tests', $fails ? 'there are no tests' : 'there are tests');
    is(join(' ', map { s{.*/}{}r } glob("$here/build/python-packages/*")), $pip eq 'good' ? 'new' : 'old',
        'what was here is replaced by what comes, and by nothing else');
    if ($fails) {
        like($result->{out}, qr/^\S+\/packages\.log\.\n.*^$waiting \.\.\. \d+ s\n\z/ms, 'that it waits for them is said, and where the rest is');
        next;
    }
    is($called[-1] // '', 'tests', 'which begin when no more are asked for');
    like(slurp("$here/build/packages.log"), qr/^pip is offline$/m, 'and what was said of them is kept') if $pip ne 'good';
    like($result->{out}, qr/^== Tests that are skipped need:.* pyarrow/m, 'tests that need them are named');
}
unlink("$stand_ins/bash");
script("$stand_ins/make", tells('make'));
afresh();

# ---- The main job ------------------------------------------------------------------

SKIP: {
    skip('there is no build', 7) if !-f "$build/config.status" || !-x "$build/docs/examples/encrypt_file";
    mkdir("$here/build") or die;
    spew("$here/build/Makefile", "NVCC = $stand_ins/nvcc\n");
    installed('13.3');
    unlink("$here/configure", "$here/build/quickstart.arguments");
    foreach (qw(config.status docs provider test tool)) {
        symlink("$build/$_", "$here/build/$_") or die "$_: $!";
    }
    symlink("$source/docs", "$here/docs") or die;
    symlink("$source/configure", "$here/configure") or die;
    my $done = quickstart(['/bin/sh']);
    is($done->{status}, 0, 'the main job on a small file') or diag($done->{out}, $done->{err});
    unlike("$done->{out}$done->{err}", qr/error:|failed/, 'shows no error');
    like($done->{out}, qr/^== (?:A GPU works here\n|No GPU can be used: everything runs on the CPU\nThe reason: \w.*\.$)/m,
        'says whether there is a GPU, and why not');
    is(join(' ', grep { $done->{out} !~ /^\w+ +$_ +\d+ /m } 'AES-256-GCM encrypt', 'AES-256-GCM decrypt', 'Base64 decode'), '',
        'has rows for GCM, and its last');
    my ($next) = $done->{out} =~ /^== What to do next\n(.*)/ms;
    is(join(' ', grep { ($next // '') !~ /\b\Q$_\E\b/ } 'make', 'install', 'configure', 'doctor', 'emulated'), '',
        'and says what to do next');
    my ($line) = ($next // '') =~ /^    (.* doctor)$/m;
    like(run(['sh', '-c', $line // ''], env => {OPENSSL_CONF => '/dev/null', GPUAES_TIMEOUT_MS => 600000})->{out}, qr/^All is well\.\n\z/m,
        'by which the doctor finds all well on the emulator');
    unlike(($next // '') =~ s/.*\n(?=.)//sr, qr/emulated/, 'last what those with a GPU do');
}

done_testing();
