#!/usr/bin/perl
# Debian's packages: they are built of the tarball without the CUDA toolkit, lintian finds
# nothing, each has what it should; over a copy of this system they are installed, their own
# tests run there, and nothing is left when they are purged.
#
# GPUAES_TEST_DEBS names a folder with packages that `make deb` has built: those are looked at
# instead, such as some with kernels.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good);
use Test::More;

my %needed = (dh => 'debhelper', dh_python3 => 'dh-python', 'dpkg-buildpackage' => 'dpkg-dev', lintian => 'lintian');
foreach my $tool (sort keys %needed) {
    plan(skip_all => "$tool is not installed (Debian: $needed{$tool})") if !grep { -x "$_/$tool" } split(/:/, $ENV{PATH});
}
delete @ENV{qw(OPENSSL_MODULES OPENSSL_CONF)};

my ($sources_version) = slurp("$source/configure.ac") =~ /^AC_INIT\(\[gpuaes\], \[(.*?)\]\)/m;

# ---- What the build asks for -----------------------------------------------------

my $tarball = "$folder/gpuaes-$sources_version.tar.gz";

# build_with(TOOL, SCRIPT): `build_deb` with another program in place of this one of dpkg's.
sub build_with
{
    my ($tool, $script) = @_;
    return run(["$source/packaging/build_deb", $tarball, "$folder/deb"],
        env => {PATH => instead_of($tool, $script) . ":$ENV{PATH}", DEB_BUILD_OPTIONS => ''});
}

# The folder of a program of this name that is that script.
sub instead_of
{
    my ($tool, $script) = @_;
    my $stand_ins = "$folder/instead-of-$tool";
    mkdir($stand_ins);
    chmod(0755, spew("$stand_ins/$tool", "#!/bin/sh\n$script\n"));
    return $stand_ins;
}

run(['tar', '-czf', $tarball, '-C', $source, '--transform', "s,^,gpuaes-$sources_version/,", 'packaging/debian']);
my $refused = build_with('dpkg-checkbuilddeps', "echo 'Unmet build dependencies: build-essential:native' >&2; exit 1");
isnt($refused->{status}, 0, 'without what it needs the build does not begin');
like($refused->{err}, qr{^build_deb: Unmet .*\n.*\n    sudo apt-get install build-essential\n    sudo apt-get build-dep /.*/packaging$}m,
    'and it says how to install that');
is(build_with('dpkg-buildpackage', 'printf "<%s>" "${DEB_BUILD_OPTIONS%=*}"; exit 1')->{out}, '<parallel>',
    'dpkg gets no empty option, of which it would warn');

# A build with kernels of two toolkits names more of them than a line of the description may have.
my $kernels_of_two = '13.5 sm_75 sm_80 sm_86 sm_89 sm_90a sm_100 sm_120 compute_120, 12.9 sm_75 sm_80 sm_90a sm_100 sm_120';
system('mkdir', '-p', "$folder/described/build");
system('cp', '-r', "$source/packaging/debian", "$folder/described");
spew("$folder/described/build/build.h", "#define GPUAES_CUDA_BUILD \"$kernels_of_two\"\n");
my $described = run(['make', '-s', '-C', "$folder/described", '-f', 'debian/rules', 'override_dh_gencontrol'],
    env => {PATH => instead_of('dh_gencontrol', 'shift; exec dpkg-gencontrol -plibgpuaes1 -O "$@"') . ":$ENV{PATH}"});
my ($kernels_text) = $described->{out} =~ /^ (This build has .*)\n/ms;
is($kernels_text =~ s/\n / /gr, 'This build has kernels of CUDA 13.5:' . substr($kernels_of_two, 4) . '.',
    'the description names all kernels') or diag($described->{err});
is(join("\n", grep { length($_) > 80 } split(/\n/, $described->{out} =~ s/\A.*^Description://msr)), '', 'in lines that lintian accepts');

# ---- They are built ------------------------------------------------------------

my $debs = $ENV{GPUAES_TEST_DEBS};
if (!$debs) {
    $debs = "$build/deb";
    my @make = ('make', '-C', $build, 'deb');
    my $asked = run([@make, 'DEB_CONFIGURE=--enable-werror'], seconds => 600, env => {
            PATH => instead_of('dpkg-buildpackage', 'printf "<%s>" "$DEB_CONFIGURE"; exit 1') . ":$ENV{PATH}"});
    my $kernels = "$build/cuda/kernels.fatbin";
    my $image = -e $kernels ? "--with-kernel-image='$kernels' " : ' ';
    like($asked->{out}, qr{<--with-cuda=no \Q$image\E--enable-werror>}, 'the packages get the kernels of the build, and what else is asked for');
    # As its user runs it: with tests.
    my $made = run([@make, 'DEB_CONFIGURE=--with-cuda=no --without-kernel-image'], seconds => 3600, env => {DEB_BUILD_OPTIONS => ''});
    good($made, 'make deb');
    like($made->{out}, qr{/test/install/module\.t \.+ ok\b}, 'its build runs tests');
    my ($to_install) = $made->{out} =~ /^    sudo apt install (.*)$/m;
    my @debs = split(/\n/, run(['bash', '-c', "ls $to_install"])->{out});
    is(scalar(@debs), 3, 'it says how to install the packages');
    like($made->{out}, qr/^This build has no kernels for GPUs: it works on the CPU only\.$/m, 'it says that it has no kernels');
}
my ($changes) = glob("$debs/gpuaes_*.changes");
ok($changes, 'there is a .changes file') or BAIL_OUT("no packages in $debs");

my $lintian = run(['lintian', '--allow-root', '--fail-on', 'error,warning', $changes]);
good($lintian, 'lintian is content');
unlike($lintian->{out}, qr/^[EW]:/m, 'with no error and no warning');

my %package = map { m{/([\w-]+?)_[^/]*\.deb$} ? ($1 => $_) : () } grep { !/-dbgsym_/ } glob("$debs/*.deb");
is(join(' ', sort keys %package), 'gpuaes libgpuaes-dev libgpuaes1 openssl-provider-gpuaes python3-gpuaes', 'five packages');

# ---- What they have --------------------------------------------------------------

my ($version) = run(['dpkg-deb', '-f', $package{gpuaes}, 'Version'])->{out} =~ /^(\S+)/;
(my $upstream = $version) =~ s/-[^-]*$//;
is($upstream, $sources_version, 'the version is that of configure.ac');
my $triplet = run(['dpkg-architecture', '-qDEB_HOST_MULTIARCH'])->{out} =~ s/\n//r;

# Without folders and what each package has under /usr/share/doc.
sub files
{
    my ($name) = @_;
    my @paths = map { m{ \.(/\S+)} ? $1 : () } split(/\n/, run(['dpkg-deb', '-c', $package{$name}])->{out});
    return grep { !m{/$|^/usr/share/doc/} } @paths;
}

my $man3 = '/usr/share/man/man3';
my @functions = slurp("$source/cuda/gpuaes.h") =~ /^GPUAES_API[^;(]*?(\w+)\(/mg;
my %files = (
    gpuaes => ['/usr/bin/gpuaes', '/usr/share/bash-completion/completions/gpuaes',
        '/usr/share/fish/vendor_completions.d/gpuaes.fish', '/usr/share/zsh/vendor-completions/_gpuaes', '/usr/share/man/man1/gpuaes.1.gz'],
    libgpuaes1 => ["/usr/lib/$triplet/libgpuaes.so.1", "/usr/lib/$triplet/libgpuaes.so.1.0.0"],
    'libgpuaes-dev' => ['/usr/include/gpuaes.h', "/usr/lib/$triplet/libgpuaes.so", "/usr/lib/$triplet/pkgconfig/gpuaes.pc",
        (map { "/usr/lib/$triplet/cmake/gpuaes/gpuaes-config$_.cmake" } '', '-version'),
        map { "$man3/$_.3.gz" } 'libgpuaes', 'gpuaes', @functions],
    'openssl-provider-gpuaes' => ['/etc/gpuaes.cnf', "/usr/lib/$triplet/ossl-modules/gpuaes.so",
        '/usr/share/man/man7/provider-gpuaes.7.gz'],
    'python3-gpuaes' => [map { s{^\Q$source\E/python}{/usr/lib/python3/dist-packages}r }
        glob("$source/python/gpuaes/*.py $source/python/gpuaes/*/*.py"), "$source/python/gpuaes/py.typed"],
);
is(join("\n", sort(files($_))), join("\n", sort @{$files{$_}}), "$_ has its files, and no other") foreach sort keys %files;

# What documents say of paths holds for the package.
foreach my $name (sort keys %package) {
    run(['dpkg-deb', '-x', $package{$name}, "$folder/$name"]);
    my $texts = run(['sh', '-c', "find '$folder/$name/usr/share' -type f -exec zcat -f {} + | grep -E '/usr/local/(etc|lib|share)|SYSCONFDIR'"]);
    is($texts->{out}, '', "$name names no folder of another prefix");
}
like(slurp("$folder/openssl-provider-gpuaes/usr/share/doc/openssl-provider-gpuaes/configuration/whole-host.md"),
    qr{^sudo sed -i '1i \.include /etc/gpuaes\.cnf'}m, 'the page for a whole host names the file of the package');

my %depends = map { $_ => run(['dpkg-deb', '-f', $package{$_}, 'Depends'])->{out} } keys %package;
like($depends{$_}, qr/\blibgpuaes1 \(>= \Q$upstream\E\)/, "$_ needs the library") foreach qw(gpuaes openssl-provider-gpuaes);
like($depends{$_}, qr/\blibssl3/, "$_ needs OpenSSL") foreach qw(gpuaes openssl-provider-gpuaes);
like($depends{'python3-gpuaes'}, qr/^(?=.*\blibgpuaes1 \(>= \Q$upstream\E\))(?=.*\bpython3:any).*\blibssl3\b/, 'the Python package needs both');
unlike($depends{libgpuaes1}, qr/ssl|cuda|nvidia|stdc/, 'the library needs neither OpenSSL nor a driver');

# ---- What their page prints ------------------------------------------------------

SKIP: {
    my ($parser) = grep { -x } map { "$_/apparmor_parser" } split(/:/, $ENV{PATH}), '/sbin';
    skip('apparmor is not installed', 1) if !$parser;
    my @rules = slurp("$source/docs/packaging.md") =~ /^```apparmor\n(.*?)^```$/msg;
    my $profile = join('', "abi <abi/3.0>,\ninclude <tunables/global>\nprofile try /usr/bin/try {\n",
        "include <abstractions/base>\ninclude <abstractions/openssl>\n", @rules, "}\n");
    good(run([$parser, '--skip-kernel-load', '--skip-cache', spew("$folder/profile", $profile)]), 'the rules for AppArmor parse');
}

# ---- They are installed, work, and go ----------------------------------------------

# A copy of this system for as long as the script runs: an overlay in a mount namespace.
my $in = "$folder/in";
mkdir($in) or die "$in: $!";
my $enter = overlays($in, ['/', "$in/root"]) . <<"END";
mount -t proc proc '$in/root/proc'
mount --bind /dev '$in/root/dev'
chroot '$in/root' true
END
my $possible = $< == 0 && !run([@namespace, 'sh', '-ec', $enter])->{status};

SKIP: {
    skip('that takes root, a mount namespace and an overlay', 5) if !$possible;
    my $names = join(' ', sort keys %package);
    my $copies = join(' ', map { "'$_'" } sort values %package);
    my $script = $enter . <<"END";
mkdir '$in/root/packages' && cp $copies '$in/root/packages'
cp -r '$source/packaging/debian/tests' '$in/root/packages'
cat >'$in/root/packages/run' <<'INSIDE'
export LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset OPENSSL_CONF OPENSSL_MODULES LD_LIBRARY_PATH
cd /packages
dpkg -i ./*.deb
for test in openssl-enc command library python; do
    echo "== \$test"
    AUTOPKGTEST_TMP=\$(mktemp -d) ./tests/\$test && echo "passed \$test"
done
# The line of README.Debian.
cp -L /etc/ssl/openssl.cnf /packages/before.cnf
sed -i '1i .include /etc/gpuaes.cnf' /etc/ssl/openssl.cnf
openssl list -providers | grep -q '^  gpuaes\$' && echo 'a whole host'
dpkg --purge $names
openssl list -providers | grep -A 3 '^  default\$' | grep -q 'status: active' && echo 'without it again'
INSIDE
chroot '$in/root' bash -e /packages/run
cd '$in/upper1' && find . -path ./packages -prune -o -path ./tmp -prune -o -name '*gpuaes*' -print |
    sed 's/^/left: /'
END
    my $ran = run([@namespace, 'bash', '-ec', $script]);
    good($ran, 'they are installed and purged');
    my @passed = $ran->{out} =~ /^passed (\S+)$/mg;
    is("@passed", 'openssl-enc command library python', 'their own tests pass') or diag($ran->{out}, $ran->{err});
    like($ran->{out}, qr/^a whole host$/m, 'one line in openssl.cnf gives the provider to every program');
    like($ran->{out}, qr/^without it again$/m, 'and does no harm when the package is purged');
    unlike($ran->{out}, qr/^left: /m, 'nothing is left then');
}

done_testing();
