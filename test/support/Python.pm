# The environment of the Python package in tests: from the sources, with the libgpuaes of the module
# under test.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Python;

use strict;
use warnings;
use Exporter qw(import);
use Programs;

our @EXPORT = qw(python_lacks python_environment pyarrow_environment emulated);

# The Python of the tests is `python3`, or Debian's where that alone has PyTorch, as in ./quickstart: 1 if so.
my $debian;
sub debian
{
    my $wanted = 'import sys, torch; sys.exit(sys.version_info < (3, 10))';
    return $debian //= run(['python3', '-c', $wanted])->{status} && -x '/usr/bin/python3' && !run(['/usr/bin/python3', '-c', $wanted])->{status} ? 1 : 0;
}

# Packages are those that ./quickstart check --with-clients puts into the build folder. Of Debian's programs, PATH gets
# python3 alone.
sub paths
{
    my %paths = (PYTHONPATH => join(":", (grep { $_ } $ENV{PYTHONPATH}), "$source/python", "$build/python-packages"), PYTHONDONTWRITEBYTECODE => 1);
    if (debian()) {
        my $own = "$folder/python";
        -d $own or (mkdir($own) && symlink('/usr/bin/python3', "$own/python3")) or die "$own: $!";
        $paths{PATH} = "$own:$ENV{PATH}";
    }
    return %paths;
}

# Why a test is skipped that needs these packages, as NAME or NAME>=MAJOR: '', or a sentence. A reference that comes first
# is to an environment, in place of that of python_environment().
sub python_lacks
{
    my (@packages) = @_;
    my %paths = ref($packages[0]) ? %{ shift(@packages) } : paths();
    return 'python3 3.10 or newer is not installed' if run(['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], env => \%paths)->{status};
    foreach (@packages) {
        my ($name, $least) = /^([^>]+)(?:>=(.*))?$/;
        my $is_old = $least ? "int($name.__version__.split('.')[0]) < $least" : 0;
        return "$_ of Python is not installed (PyPI: $_)" if run(['python3', '-c', "import $name, sys; sys.exit($is_old)"], env => \%paths)->{status};
    }
    return '';
}

# 1 if the module under test has the emulator.
my $emulated;
sub emulated
{
    return $emulated //= run(['nm', '-D', '--defined-only', "$ENV{OPENSSL_MODULES}/gpuaes.so"])->{out} =~ /emulator_driver/ ? 1 : 0;
}

# On the emulator, the library is in the module under test, and what is opened as the driver hands on to
# the emulator within it. JAX would take most of a card's memory at once.
sub python_environment
{
    my %libraries = (GPUAES_LIBRARY => "$build/cuda/.libs/libgpuaes.so.1");
    if (emulated()) {
        my $module = "$ENV{OPENSSL_MODULES}/gpuaes.so";
        my $lib = "$folder/lib";
        if (!-d $lib) {
            mkdir($lib) or die "$lib: $!";
            symlink($module, "$lib/libgpuaes.so.1");
            symlink("$build/test/faulty/libcuda.so.1", "$lib/libcuda.so.1");
        }
        %libraries = (GPUAES_LIBRARY => "$lib/libgpuaes.so.1", LD_LIBRARY_PATH => libraries($lib), GPUAES_TEST_DRIVER => $module);
    }
    # Debian's cryptography takes the system's libcrypto, which looks for the legacy provider in OPENSSL_MODULES.
    return (paths(), %libraries, OPENSSL_CONF => '/dev/null', CRYPTOGRAPHY_OPENSSL_NO_LEGACY => 1,
        XLA_PYTHON_CLIENT_PREALLOCATE => 'false');
}

# The same for `python3` with pyarrow and the NumPy that ./quickstart check --with-clients puts beside it: pyarrow needs a
# newer one than Debian's PyTorch does. What python_environment() returns where there is no pyarrow.
sub pyarrow_environment
{
    my %usual = python_environment();
    my %own = (%usual, PYTHONPATH => "$build/pyarrow:$usual{PYTHONPATH}", PATH => $ENV{PATH});
    return python_lacks(\%own, 'pyarrow.parquet.encryption') ? %usual : %own;
}

1;
