#!/usr/bin/perl
# docs/examples/parquet_decrypt.c and .py with files that pyarrow encrypted: both algorithms, footers
# that are encrypted or signed, keys of columns or one for all. What is damaged is refused, with its place.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT good refused);
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the library') if $ENV{GPUAES_TEST_SANITIZER};

# ./quickstart check --with-clients puts it into the build folder.
$ENV{PYTHONPATH} = "$source/docs/examples:$build/pyarrow";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;
my $found = run(['python3', '-c', 'from pyarrow.parquet.encryption import create_encryption_properties']);
plan(skip_all => 'pyarrow with keys of the caller is not installed (PyPI: pyarrow, 26 or newer)') if $found->{status};

# On the emulator, the library is in the module under test; what the examples open as the driver hands on
# to the emulator within it.
my %device = (LD_LIBRARY_PATH => libraries("$build/cuda/.libs"));
my $module = "$ENV{OPENSSL_MODULES}/gpuaes.so";
if (run(['nm', '-D', '--defined-only', $module])->{out} =~ /emulator_driver/) {
    mkdir("$folder/lib") or die "$folder/lib: $!";
    symlink($module, "$folder/lib/libgpuaes.so.0");
    symlink("$build/test/faulty/libcuda.so.1", "$folder/lib/libcuda.so.1");
    %device = (LD_LIBRARY_PATH => libraries("$folder/lib"), GPUAES_TEST_DRIVER => $module);
}

my %examples = (C => ["$build/docs/examples/parquet_decrypt"], Python => ['python3', "$source/docs/examples/parquet_decrypt.py"]);

# It reads Thrift by the example in Python, which opens the libraries.
sub files
{
    my ($command, @arguments) = @_;
    return run(['python3', "$FindBin::Bin/parquet_files.py", $command, $folder, @arguments], env => \%device);
}

# Lines "NAME REST", as pairs.
sub pairs { return map { [split(' ', $_, 2)] } split(/\n/, $_[0]{out}) }

# The example, and a new folder for what it writes.
my $outs = 0;
sub decrypt
{
    my ($language, $name, $options) = @_;
    my $out = "$folder/out" . $outs++;
    mkdir($out) or die "$out: $!";
    my $result = run([@{$examples{$language}}, split(' ', $options), "$folder/$name", $out], env => \%device);
    return ($result, $out);
}

sub refuses
{
    my ($name, $options, $said) = @_;
    foreach my $language (sort keys %examples) {
        my ($result, $out) = decrypt($language, $name, $options);
        refused($result, qr{\Qparquet_decrypt: $folder/$name: $said\E}, "$language, $name");
        is_deeply([glob("$out/*")], [], "$language, $name: nothing is written");
    }
    return;
}

my $written = files('write');
good($written, 'pyarrow writes files') or BAIL_OUT('nothing to decrypt');
my %options = map { @$_ } pairs($written);
is(keys(%options), 8, 'of two algorithms, two footers, two ways with keys');
foreach my $name (sort keys %options) {
    my %said;
    foreach my $language (sort keys %examples) {
        my ($result, $out) = decrypt($language, $name, $options{$name});
        good($result, "$language, $name: decrypts");
        good(files('check', $name, $out), "$language, $name: to the pages that pyarrow reads");
        $said{$language} = $result->{out};
    }
    my $chunks = () = $said{C} =~ /^row group [012], column [a-z.]+: \d+ pages$/mg;
    is($chunks, $name =~ /columns$/ ? 9 : 12, "$name: all columns of all row groups that are encrypted");
    is($said{Python}, $said{C}, "$name: both say the same");
}

foreach my $name ('AES_GCM_V1-signed-columns', 'AES_GCM_CTR_V1-encrypted-footer') {
    my @damaged = pairs(files('damage', $name));
    cmp_ok(@damaged, '>=', 7, "$name: ways to damage it");
    refuses($_->[0], $options{$name}, $_->[1]) foreach @damaged;
}

# Other keys, or none.
my $other = '00' x 32;
foreach my $footer ('signed', 'encrypted') {
    my $name = "AES_GCM_V1-$footer-columns";
    refuses($name, $options{$name} =~ s/-f \w+/-f $other/r, 'footer: not authentic');
    refuses($name, $options{$name} =~ s/words=\w+/words=$other/r, 'row group 0, column words, metadata: not authentic');
    refuses($name, $options{$name} =~ s/-k words=\w+//r, 'column words: its key is missing');
    $name = "AES_GCM_V1-$footer-footer";
    refuses($name, $options{$name} =~ s/-p \w+//r, 'it wants an AAD prefix');
    refuses($name, $options{$name} =~ s/-p \w+/-p 00/r, 'footer: not authentic');
}
refuses('none.parquet', "-f $other", 'it is not encrypted');

done_testing();
