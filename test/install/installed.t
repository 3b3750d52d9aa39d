#!/usr/bin/perl
# The library as others get it: the header, libgpuaes.so and gpuaes.pc of `make install`
# are enough to compile the manual's examples; what its soname promises, names and
# the layout of structs, has not changed; and a process that uses it opens nothing else. The documents
# of `make install` lead to each other.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that link the library') if $ENV{GPUAES_TEST_SANITIZER};
plan(skip_all => 'there is no C compiler') if system('cc --version >/dev/null 2>&1');

my $stage = "$folder/stage";
my $made = run(['make', '-C', $build, "DESTDIR=$stage",
        qw(install-libLTLIBRARIES install-includeHEADERS install-pkgconfigDATA)]);
is($made->{status}, 0, 'library, header and gpuaes.pc are installed') or diag($made->{err});

# ---- gpuaes.pc -----------------------------------------------------------------

my ($file) = split(/\n/, run(['find', $stage, '-name', 'gpuaes.pc'])->{out});
(my $pkgconfig = $file) =~ s{/gpuaes\.pc$}{};
my ($prefix) = slurp($file) =~ /^prefix=(.*)$/m;
my ($version) = slurp("$source/configure.ac") =~ /^AC_INIT\(\[gpuaes\], \[(.*?)\]\)/m;
# Programs, and what one of them prints.
my @examples = map { s/\\-/-/gr =~ s/\\e/\\/gr } slurp("$source/docs/libgpuaes.3.in") =~ /^\.EX\n(.*?)^\.EE$/msg;
my ($example) = grep { /\bgpuaes_aes\(/ } @examples;
my ($gcm) = grep { /\bgpuaes_gcm_encrypt\(/ } @examples;
my ($queue) = grep { /\bgpuaes_queue\(/ } @examples; # functions, no program
my ($printed) = grep { !/^#include/ } @examples;
spew("$folder/example.c", $example);
spew("$folder/gcm.c", $gcm);
spew("$folder/queue.c", $queue);

sub flags
{
    return run(['pkg-config', @_, 'gpuaes'], env => {PKG_CONFIG_PATH => $pkgconfig, PKG_CONFIG_SYSROOT_DIR => $stage});
}

SKIP: {
    skip('pkg-config is not installed', 11) if system('pkg-config --version >/dev/null 2>&1');
    is(flags('--modversion')->{out}, "$version\n", 'gpuaes.pc has the version');
    is(flags('--print-requires')->{out} . flags('--print-requires-private')->{out}, '', 'and needs no other');
    unlike(flags('--static', '--libs')->{out}, qr/crypto|cuda/, 'neither OpenSSL nor CUDA is linked');
    my $command = 'cc="cc -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror"; ' .
        'for name in example gcm; do $cc -o $name $name.c $(pkg-config --cflags --libs gpuaes) || exit; done; ' .
        '$cc -c queue.c $(pkg-config --cflags gpuaes)';
    my $compiled = run(['sh', '-c', "cd '$folder' && $command"],
        env => {PKG_CONFIG_PATH => $pkgconfig, PKG_CONFIG_SYSROOT_DIR => $stage});
    # Of a prefix that is the system's own, pkg-config leaves the folders out.
    if ($prefix eq '/usr') {
        $compiled = run(['sh', '-c', "cd '$folder' && $command"], env => {PKG_CONFIG_PATH => $pkgconfig,
                PKG_CONFIG_SYSROOT_DIR => $stage, PKG_CONFIG_ALLOW_SYSTEM_CFLAGS => 1, PKG_CONFIG_ALLOW_SYSTEM_LIBS => 1});
    }
    is($compiled->{status}, 0, 'the examples compile as the manual says') or diag($compiled->{err});
    my ($library) = split(/\n/, run(['find', $stage, '-name', 'libgpuaes.so.1'])->{out});
    $library =~ s{/[^/]*$}{};
    my $needed = run(['readelf', '-dW', "$folder/example"])->{out};
    like($needed, qr/NEEDED.*\[libgpuaes\.so\.1\]/, 'it needs libgpuaes.so.1');
    like(run(['nm', '-D', "$folder/example"])->{out}, qr/ U gpuaes_aes\@GPUAES_1$/m, 'and its functions with their version');
    my %prints = (example => qr{^\d+\.\d GB/s$}, gcm => qr/^\Q$printed\E\z/);
    foreach my $name (sort(keys %prints)) {
        my $ran = run(["$folder/$name"], env => {LD_LIBRARY_PATH => libraries($library)});
        if (-e '/dev/nvidiactl') {
            is($ran->{status}, 0, "$name.c ends well") or diag($ran->{err});
            like($ran->{out}, $prints{$name}, "$name.c prints what it should");
        } else {
            is($ran->{status} >> 8, 2, "without a device $name.c ends with 2");
            like($ran->{err}, qr/^no device: \w/, 'and says why');
        }
    }
}

SKIP: {
    skip('that is for the emulator', 2) if $gpuaes_command !~ m{/test/emulated/};
    my $linked = run(['make', '-s', '-C', $build, '--eval=gcm_on_emulator: ; $(CC) -std=c11 -I$(srcdir)/cuda ' .
            "-c -o '$folder/gcm.o' '$folder/gcm.c' && \$(LIBTOOL) --silent --tag=CXX --mode=link \$(CXX) " .
            "\$(CXXFLAGS) \$(LDFLAGS) -o '$folder/gcm_on_emulator' '$folder/gcm.o' cuda/libgpuaes_core.la " .
            '$(emulator_libs) $(SYSTEM_LIBS)', 'gcm_on_emulator']);
    is($linked->{status}, 0, 'gcm.c is linked with the emulator') or diag($linked->{err});
    my $ran = run(["$folder/gcm_on_emulator"]);
    is("$ran->{status} $ran->{out}", "0 $printed", 'and prints what the manual says') or diag($ran->{err});
}

# ---- What libgpuaes.so.1 promises ------------------------------------------------

# Sizes, where each struct ends as a caller allocates it, and the last constant of each
# enumeration. A change of any takes another soname, once there has been a release; those with
# struct_bytes may grow behind the member that is last here.
my %promise = (
    'offsetof(struct gpuaes_settings, devices)' => 40,
    'offsetof(struct gpuaes_device_info, driver_version)' => 88,
    'sizeof(struct gpuaes_key)' => 484,
    'sizeof(struct gpuaes_shard)' => 56,
    'offsetof(struct gpuaes_shard, hash)' => 40,
    'sizeof(struct gpuaes_report)' => 3592,
    'offsetof(struct gpuaes_report, shard)' => 8,
    'sizeof(struct gpuaes_gcm_key)' => 648,
    'sizeof(struct gpuaes_gcm_state)' => 32,
    'sizeof(struct gpuaes_gcm_message)' => 72,
    'offsetof(struct gpuaes_gcm_message, tag_bytes)' => 64,
    'sizeof(struct gpuaes_message)' => 104,
    'offsetof(struct gpuaes_message, len)' => 56,
    'offsetof(struct gpuaes_message, tag_bytes)' => 96,
    'offsetof(struct gpuaes_messages, max_bytes)' => 24,
    'offsetof(struct gpuaes_messages, status)' => 168,
    'offsetof(struct gpuaes_statistics, pinned_peak)' => 64,
    'offsetof(struct gpuaes_random, success)' => 104,
    GPUAES_UNDEFINED => 9,
    GPUAES_FAILED => 3,
    GPUAES_FOREIGN => 3,
    GPUAES_GCM_DECRYPT => 6,
    GPUAES_XTS_DECRYPT => 8,
    GPUAES_WAIT => 1,
    GPUAES_ALLOCATE => 2,
    GPUAES_BATCH_AAD_BYTES => 65536,
    GPUAES_QUEUE_MESSAGES => 1 << 24,
    GPUAES_QUEUE_BYTES => 1 << 30,
    GPUAES_QUEUE_UNIT_BYTES => 1 << 24,
    GPUAES_QUEUE_AAD_BYTES => 65536,
);
spew("$folder/promise.c", "#include <gpuaes.h>\n" .
        join('', map { "_Static_assert($_ == $promise{$_}, \"$_ is not $promise{$_}\");\n" } sort keys %promise));
my $kept = run(['cc', '-std=c11', '-fsyntax-only', "-I$source/cuda", "$folder/promise.c"]);
is($kept->{err}, '', 'structs and constants are as they were');

# ---- Documents -----------------------------------------------------------------------

my $documents = run(['make', '-C', $build, "DESTDIR=$stage", qw(install-dist_docDATA install-nobase_dist_docDATA install-dist_examplesSCRIPTS)]);
is($documents->{status}, 0, 'the documents are installed') or diag($documents->{err});
my ($readme) = split(/\n/, run(['find', $stage, '-name', 'README.md', '-path', '*/gpuaes/README.md'])->{out});
my $top = dirname($readme);
my @dead;
foreach my $page (split(/\n/, run(['find', $top, '-name', '*.md'])->{out})) {
    my $from = $page =~ /template\.md$/ ? "$top/docs" : dirname($page);  # templates become pages of docs/
    push(@dead, map { substr($page, 1 + length($top)) . " -> $_" } grep { !/^https?:/ && !-e "$from/$_" } slurp($page) =~ /\]\(([^)#\s]+)/g);
}
is(join("\n", @dead), '', 'each of their links leads to one');

# ---- What a process has open -------------------------------------------------------

# Of a driver it is the driver's business; test/on_gpu keeps it.
SKIP: {
    skip('that is for the emulator', 4) if $gpuaes_command !~ m{/test/emulated/};
    my $opened = run(["$source/test/opened"]);
    is($opened->{status}, 0, 'openssl enc works for test/opened') or diag($opened->{err});
    my @open = $opened->{out} =~ /^open (.*)$/mg;
    is("@open", 'in out said', 'no file, socket or shared memory is open');
    # Memory of the emulator's device is shared, as it may be with a driver.
    my @mapped = $opened->{out} =~ /^([r-][w-][x-][ps] .*)$/mg;
    ok(@mapped > 1, 'which sees what is mapped');
    is(join("\n", grep { !m{^(?:r--p|r-xp|rw-p) (?:\S*/openssl|.*\.so[.\d]*)$|^[r-][w-]-s /dev/zero$} } @mapped),
        '', 'nothing but programs and libraries is mapped, and nothing both to write and to run');
}

done_testing();
