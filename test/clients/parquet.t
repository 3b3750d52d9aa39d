#!/usr/bin/perl
# docs/examples/parquet_decrypt.c with files that pyarrow encrypted: both algorithms, footers
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
$ENV{PYTHONPATH} = "$build/pyarrow:$source/python";
$ENV{PYTHONDONTWRITEBYTECODE} = 1;
my $found = run(['python3', '-c', 'import pyarrow; from pyarrow.parquet.encryption import create_encryption_properties; '
        . 'print(pyarrow.__version__)']);
plan(skip_all => 'pyarrow with keys of the caller is not installed (PyPI: pyarrow, 25 or newer)') if $found->{status};

# On the emulator, the library is in the module under test; what the example opens as the driver hands on
# to the emulator within it.
my %device = (LD_LIBRARY_PATH => libraries("$build/cuda/.libs"), GPUAES_LIBRARY => "$build/cuda/.libs/libgpuaes.so.1");
my $module = "$ENV{OPENSSL_MODULES}/gpuaes.so";
if (run(['nm', '-D', '--defined-only', $module])->{out} =~ /emulator_driver/) {
    mkdir("$folder/lib") or die "$folder/lib: $!";
    symlink($module, "$folder/lib/libgpuaes.so.1");
    symlink("$build/test/faulty/libcuda.so.1", "$folder/lib/libcuda.so.1");
    %device = (LD_LIBRARY_PATH => libraries("$folder/lib"), GPUAES_LIBRARY => "$folder/lib/libgpuaes.so.1",
        GPUAES_TEST_DRIVER => $module);
}

# It seals modules by the package gpuaes.
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
    my ($name, $options) = @_;
    my $out = "$folder/out" . $outs++;
    mkdir($out) or die "$out: $!";
    my $result = run(["$build/docs/examples/parquet_decrypt", split(' ', $options), "$folder/$name", $out], env => \%device);
    return ($result, $out);
}

sub refuses
{
    my ($name, $options, $said) = @_;
    my ($result, $out) = decrypt($name, $options);
    refused($result, qr{\Qparquet_decrypt: $folder/$name: $said\E}, $name);
    is_deeply([glob("$out/*")], [], "$name: nothing is written");
    return;
}

my $written = files('write');
good($written, 'pyarrow writes files') or BAIL_OUT('nothing to decrypt');
my %options = map { @$_ } pairs($written);
# pyarrow 25 cannot read what it writes by AES_GCM_CTR_V1 with a signed footer.
my $old = $found->{out} =~ /^25[.]/;
delete @options{'AES_GCM_CTR_V1-signed-columns', 'AES_GCM_CTR_V1-signed-footer'} if $old;
is(keys(%options), $old ? 6 : 8, 'of two algorithms, two footers, two ways with keys');
foreach my $name (sort keys %options) {
    my ($result, $out) = decrypt($name, $options{$name});
    good($result, "$name: decrypts");
    good(files('check', $name, $out), "$name: to the pages that pyarrow reads");
    my $chunks = () = $result->{out} =~ /^row group [012], column [a-z.]+: \d+ pages$/mg;
    is($chunks, $name =~ /columns$/ ? 9 : 12, "$name: all columns of all row groups that are encrypted");
}

refuses('AES_GCM_CTR_V1-encrypted-footer', $options{'AES_GCM_CTR_V1-encrypted-footer'} =~ s/-u//r, 'AES_GCM_CTR_V1: nothing authenticates its pages');
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
    refuses($name, "$options{$name} -k nope=$other", '-k nope: the file has no such column');
    $name = "AES_GCM_V1-$footer-footer";
    refuses($name, $options{$name} =~ s/-p \w+//r, 'it wants an AAD prefix');
    refuses($name, $options{$name} =~ s/-p \w+/-p 00/r, 'footer: not authentic');
}
refuses('none.parquet', "-f $other", 'it is not encrypted');

# Row groups without rows, and a prefix that the file has.
my $with_rows = files('rows');
good($with_rows, 'pyarrow writes row groups without rows') or BAIL_OUT('nothing to decrypt');
is(scalar(pairs($with_rows)), 8, 'of each kind');
foreach (pairs($with_rows)) {
    my ($name, $options) = @$_;
    my ($result, $out) = decrypt($name, $options);
    good($result, "$name: decrypts");
    good(files('check_rows', $name, $out), "$name: to the pages that pyarrow writes");
}
my ($stored) = pairs($with_rows);
good((decrypt($stored->[0], "$stored->[1] -p " . unpack('H*', 'a prefix of some length')))[0], 'the same prefix is given');
refuses($stored->[0], "$stored->[1] -p 00", 'its AAD prefix is not the one that was given');
my $no_prefix = 'AES_GCM_V1-signed-columns';
refuses($no_prefix, "$options{$no_prefix} -p 00", 'it has no AAD prefix, but one was given');

# Keys of each size in one file: of the footer, and of columns.
my ($sizes) = pairs(files('key_sizes'));
{
    my ($result, $out) = decrypt(@$sizes);
    good($result, 'keys of 16, 24 and 32 bytes');
    is_deeply([map { slurp("$out/0-$_") } 0 .. 2], [('onethe other') x 3], 'the pages of each');
}
refuses($sizes->[0], $sizes->[1] =~ s/16=\w+/16=$other/r, 'row group 0, column 16, metadata: not authentic');

# Structures that are wrong, with right signatures. test/python/test_parquet.py gives them to the Python package.
my @wrong = pairs(files('wrong', $other));
cmp_ok(scalar(@wrong), '>', 60, 'files with wrong structures');
refuses($_->[0], "-f $other", $_->[1] // '') foreach @wrong;

# Others, at random: they are refused in a sentence, or decrypted.
my $seed = $ENV{GPUAES_TEST_SEED} // int(rand(1 << 32));
diag("GPUAES_TEST_SEED=$seed");
my %ends;
foreach my $random (pairs(files('random', $other, $seed, $ENV{GPUAES_TEST_CASES} // 24))) {
    my ($result) = decrypt($random->[0], "-f $other");
    my $end = $result->{status} == 0 ? 'decrypted' : $result->{status} == 1 << 8 && $result->{err} =~ /\Aparquet_decrypt: [^\n]+\n\z/ ? 'refused' : 'failed';
    $ends{$end}++;
    next if $end ne 'failed';
    fail("$random->[0]: refused or decrypted") or diag("status $result->{status}: $result->{err}");
}
cmp_ok($ends{refused} // 0, '>', 10, 'files that were changed at random are refused');
ok(!$ends{failed}, 'or decrypted');

done_testing();
