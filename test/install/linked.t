#!/usr/bin/perl
# Programs that link what `make install` installs where configure was given --enable-static: projects of CMake, in C and in
# C++, and the static library by pkg-config.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good);
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that link the library') if $ENV{GPUAES_TEST_SANITIZER};
skip_if_configured();

my $stage = "$folder/stage";
mkdir("$folder/build") or die "$folder/build: $!";
good(run(['sh', '-c', "cd '$folder/build' && exec '$source/configure' --prefix=/opt/gpuaes" .
            ' --with-cuda=no --enable-static CXX=false']), 'configure --enable-static');
good(run(['make', '-C', "$folder/build", '-j2', "DESTDIR=$stage", map { "install-$_" }
            qw(libLTLIBRARIES includeHEADERS pkgconfigDATA cmakeDATA)], seconds => 1800), 'make install');
my $prefix = "$stage/opt/gpuaes";

my $program = "#include <gpuaes.h>\n#include <stdio.h>\nint main(void)\n{\n    (void)puts(gpuaes_status_text(GPUAES_BAD_TAG));\n" .
    "    return gpuaes_start(NULL, NULL, 0) == GPUAES_READY;\n}\n";
spew("$folder/program.$_", $program) foreach 'c', 'cc';

# linked(NAME, PATH): runs it, and returns which library it has.
sub linked
{
    my ($name, $path) = @_;
    my $ran = run([$path]);
    is("$ran->{status} $ran->{out}", "0 the tag is wrong\n", "$name runs") or diag($ran->{err}) && return '';
    return run(['readelf', '-d', $path])->{out} =~ /NEEDED.*\[libgpuaes\.so\.1\]/ ? 'shared' : 'static';
}

# ---- CMake ---------------------------------------------------------------------------

SKIP: {
    skip('cmake is not installed', 15) if system('cmake --version >/dev/null 2>&1');
    my ($version) = slurp("$source/configure.ac") =~ /^AC_INIT\(\[gpuaes\], \[(.*?)\]\)/m;

    # cmake LANGUAGE FILE VERSION-WANTED: a project in a folder of its own.
    my $cmake = sub {
        my ($language, $file, $wanted) = @_;
        my $project = "$folder/cmake-$language-$wanted";
        mkdir($project) or die "$project: $!";
        spew("$project/CMakeLists.txt", <<"END");
cmake_minimum_required(VERSION 3.13)
project(client $language)
find_package(gpuaes $wanted REQUIRED)
foreach(kind gpuaes gpuaes_static)
    add_executable(\${kind} ../$file)
    target_compile_options(\${kind} PRIVATE -Wall -Wextra -pedantic -Werror)
    target_link_libraries(\${kind} PRIVATE gpuaes::\${kind})
endforeach()
END
        my $result = run(['cmake', '-S', $project, '-B', "$project/build", "-DCMAKE_PREFIX_PATH=$prefix"]);
        return ($result, "$project/build");
    };
    foreach my $case (['C', 'program.c'], ['CXX', 'program.cc']) {
        my ($language, $file) = @$case;
        my ($configured, $in) = $cmake->($language, $file, $version);
        good($configured, "$language: find_package() finds it");
        good(run(['cmake', '--build', $in]), "$language: and it builds without a warning");
        is(linked("$language: the program", "$in/gpuaes"), 'shared', "$language: with the shared library");
        is(linked("$language: the other", "$in/gpuaes_static"), 'static', "$language: with the static one");
    }
    my ($newer) = $cmake->('C', 'program.c', '99.0');
    isnt($newer->{status}, 0, 'a newer version is not found');
    like($newer->{err}, qr/gpuaes-config\.cmake, version: \Q$version\E/, 'and the one that is there is named');
}

# ---- pkg-config ----------------------------------------------------------------------

SKIP: {
    skip('pkg-config is not installed', 3) if system('pkg-config --version >/dev/null 2>&1');
    unlink(glob("$prefix/lib/libgpuaes.so*"));
    my $built = run(['sh', '-c', "cc -std=c11 -Wall -Wextra -pedantic -Werror -o '$folder/program' '$folder/program.c' " .
                '$(pkg-config --cflags --libs --static gpuaes)'],
        env => {PKG_CONFIG_PATH => "$prefix/lib/pkgconfig", PKG_CONFIG_SYSROOT_DIR => $stage});
    good($built, 'pkg-config --static: the program links');
    is(linked('pkg-config --static: the program', "$folder/program"), 'static', 'pkg-config --static: with the static library');
}
done_testing();
