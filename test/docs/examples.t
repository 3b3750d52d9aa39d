#!/usr/bin/perl
# The examples. Of those that use device memory, the C program with EVP runs on a card, and the Python
# program with PyTorch where that is installed, on the emulator with a stand-in for it. GCM by libgpuaes
# alone, and in pinned memory, runs on both.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Python qw(python_environment);
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the module') if $ENV{GPUAES_TEST_SANITIZER};

my $emulated = run(['nm', '-D', '--defined-only', "$ENV{OPENSSL_MODULES}/gpuaes.so"])->{out} =~
    /emulator_driver/;
# The emulator takes seconds for a launch where all cores are busy.
my %environment = (OPENSSL_CONF => '/dev/null', GPUAES_LOG => 'summary', GPUAES_TIMEOUT_MS => 600000,
    PYTHONDONTWRITEBYTECODE => 1);

sub check
{
    my ($name, $result, $expected) = @_;
    is($result->{status}, 0, "$name ends well") or diag($result->{out}, $result->{err});
    like($result->{out}, $expected, "$name says that the CPU agrees") or diag($result->{err});
    my $bytes = figure($result, 'gpu-bytes') // 0;
    cmp_ok($bytes, '>=', 4 << 20, "$name had the GPU do it");
    return;
}

# Base64 as a cipher, and as encoder and decoder: text as coreutils write it, both ways.
my $with_gpuaes = with_gpuaes();
my $bytes = join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 50_000);
foreach my $example ('base64_client', 'base64_objects') {
    foreach my $case (['', 0], ['f', 0], [$bytes, 0], [$bytes, 64], ["$bytes.", 76]) {
        my ($plain, $line) = @$case;
        my $name = "$example, " . length($plain) . " bytes, lines of $line";
        my ($in, $text, $out) = map { "$folder/$_" } 'in', 'text', 'out';
        spew($in, $plain);
        my $encoded = run(["$build/docs/examples/$example", 'encode', '-l', $line, $in, $text], env => $with_gpuaes);
        my $decoded = run(["$build/docs/examples/$example", 'decode', '-l', $line, $text, $out], env => $with_gpuaes);
        my $expected = run(['base64', '-w', $line, $in])->{out};
        is($encoded->{status}, 0, "$name: encodes") or diag($encoded->{err});
        ok(slurp($text) eq $expected, "$name: as base64 does");
        is($decoded->{status}, 0, "$name: decodes") or diag($decoded->{err});
        ok(slurp($out) eq $plain, "$name: to what it was");
    }
    spew("$folder/text", 'Zm9v!mFy');
    my $refused = run(["$build/docs/examples/$example", 'decode', "$folder/text", "$folder/out"], env => $with_gpuaes);
    is($refused->{status} >> 8, 1, "$example: text that is none is refused");
    like($refused->{err}, qr/at offset 4:/, "$example: the error names the offset");
}

# On the emulator, pinned memory is the module's: its libgpuaes comes before the one that is linked.
my @preloaded = $emulated ? (LD_PRELOAD => "$ENV{OPENSSL_MODULES}/gpuaes.so") : ();
my $gcm = run(["$build/docs/examples/gcm_pinned", 4], env => {%environment, GPUAES_POLICY => 'gpu', @preloaded});
check('gcm_pinned', $gcm, qr/^the CPU agrees$/m);
like($gcm->{out}, qr/^a GPU can be used\nin pinned memory\nencryption .*, by a GPU$/m, 'gcm_pinned works in pinned memory');
like($gcm->{out}, qr/^a changed message is refused$/m, 'gcm_pinned refuses a changed message');
$gcm = run(["$build/docs/examples/gcm_pinned", 1], env => {%environment, GPUAES_POLICY => 'cpu'});
is($gcm->{status}, 0, 'gcm_pinned ends well without a GPU') or diag($gcm->{out}, $gcm->{err});
my $many = run(["$build/docs/examples/gcm_pinned", 'many'], env => \%environment);
is($many->{status} >> 8, 1, 'gcm_pinned refuses a size that is no number');
like($many->{err}, qr/many: expected a number of MiB, from 1/, 'and says what it expects');
like($gcm->{out}, qr/^no GPU can be used\nin memory of malloc\(\)\nencryption .*, by the CPU\nthe CPU agrees$/m, 'and says that there is none');
$gcm = run(["$build/docs/examples/gcm_pinned", 1], env => {%environment, GPUAES_MIN_BYTES => '1G', @preloaded});
like($gcm->{out}, qr/^a GPU can be used\n.*\nencryption .*, by the CPU\nthe CPU agrees$/m, 'and where there is one, but the CPU did it');

# What is opened as the driver is, on the emulator, the one that Python's tests have.
SKIP: {
    skip('there is no GPU', 10) if !$emulated && !-e '/dev/nvidiactl';
    my %libraries = $emulated ? python_environment() : ();
    foreach my $size ('1000005', '65536', '7') {
        my $device = run(["$build/docs/examples/gcm_device", $size], env => {%environment, %libraries});
        is($device->{status}, 0, "gcm_device ends well with $size bytes") or diag($device->{out}, $device->{err});
        like($device->{out}, qr/\A(encryption \d+ us, decryption \d+ us\n){2}the text came back\na changed message is refused\n\z/,
            'and what it encrypted comes back, but not what was changed');
    }
    my $nothing = run(["$build/docs/examples/gcm_device", 0], env => {%environment, %libraries});
    is($nothing->{status} >> 8, 1, 'gcm_device refuses a size of 0');
    like($nothing->{err}, qr/^gcm_device: 0: expected a number of bytes/, 'and says what it expects');
    my $none = run(["$build/docs/examples/gcm_device"], env => {%environment, %libraries, GPUAES_EMULATOR => 'devices=0'});
    skip('a card is there', 2) if !$emulated;
    is($none->{status} >> 8, 1, 'gcm_device ends with 1 where there is no GPU');
    like($none->{err}, qr/^gcm_device: GPU 0 cannot be used/, 'and says so');
}

# A batch, by libgpuaes alone.
my $batch = run(["$build/docs/examples/batch", 200], env => {%environment, @preloaded});
SKIP: {
    skip('there is no device', 2) if !$emulated && !-e '/dev/nvidiactl';
    is($batch->{status}, 0, 'batch ends well') or diag($batch->{err});
    like($batch->{out}, qr/^200 messages are encrypted: .*\nmessage 100: .*\n199 messages are decrypted, 1 refused\n\z/,
        'batch decrypts all messages but the one that was changed');
}
$batch = run(["$build/docs/examples/batch", 200], env => {%environment, CUDA_VISIBLE_DEVICES => ''});
is($batch->{status} >> 8, 2, 'batch ends with 2 without a GPU');
like($batch->{err}, qr/^batch: no GPU can be used: \w/, 'and says why');
$batch = run(["$build/docs/examples/batch", 0], env => \%environment);
like($batch->{err}, qr/^batch: 0: expected a number of messages, from 1 to 1048576$/, 'and refuses another number of messages');

# Each compiles by the line in its head, which also says what must be set.
spew("$folder/gpuaes.pc", "Name: gpuaes\nDescription: x\nVersion: 1\nCflags: -I$source/cuda\nLibs: -L$build/cuda/.libs -lgpuaes\n");
foreach my $path (grep { slurp($_) =~ /^int main\(/m } glob("$source/docs/examples/*.c")) {
    my ($name) = $path =~ m{([^/]+)\.c$};
    my ($head) = slurp($path) =~ m{^/\*(.*?)\*/}s;
    my ($line, $set) = $head =~ /^ \* Compile it with: (cc [^\n]*)\n(.*)/ms;
    ok(defined($line), "$name: its head has a line that compiles it") or next;
    like($set, qr/OPENSSL_CONF|OPENSSL_MODULES/, "$name: it names the variable to set") if slurp($path) =~ m{<openssl/};
  SKIP: {
        skip('there is no C compiler, or no pkg-config', 1) if system('cc --version >/dev/null 2>&1 && pkg-config --version >/dev/null 2>&1');
        skip('there is no CUDA driver to link', 1)
            if $line =~ /-lcuda/ && system("echo 'int main(void) { return 0; }' | cc -x c - -o '$folder/linked' -lcuda 2>/dev/null");
        my $compiled = run(['bash', '-c', "cd '$source/docs/examples' && $line -o '$folder/$name'"],
            env => {PKG_CONFIG_PATH => $folder, CPATH => "$source/cuda", LIBRARY_PATH => join(':', "$build/cuda/.libs", $ENV{LIBRARY_PATH} // ())});
        ok(!$compiled->{status} && $compiled->{err} eq '', "$name: that line does") or diag($line, $compiled->{err});
    }
}

# What README says of C programs on the emulator.
SKIP: {
    skip('this needs the emulator, and a C compiler', 2) if !$emulated || system('cc --version >/dev/null 2>&1');
    my ($section) = slurp("$source/README.md") =~ /^## Try it without a GPU\n(.*?)^## /ms;
    my ($first, $second) = $section =~ /^((?: {4}.*\n)+)/mg;
    my $variables = join("\n", $first =~ /^ *(export .*)$/mg) =~ s{\.\./docs}{$source/docs}r;
    my $lines = "cd '$build'\n$variables\n" . $second =~ s{(?:\./|-o \K)example\b}{$folder/example}gr =~ s{\.\./(?=cuda|docs)}{$source/}gr;
    my $result = run(['sh', '-ec', $lines], env => {GPUAES_TIMEOUT_MS => 600000});
    is($result->{status}, 0, 'the lines of README compile and run an example') or diag($lines, $result->{err});
    like($result->{out}, qr/, by a GPU\nthe CPU agrees$/m, 'and the emulator does the work');
}

# What parquet_decrypt says of its options; test/clients/parquet.t has files for it.
foreach my $row (['-f zz', '-f: expected 32, 48 or 64 hexadecimal digits'], ["-f ${\('0' x 34)}", '-f: expected 32'],
    ["-f ${\('0' x 32)} -k a.b=12", '-k: a.b: expected 32, 48 or 64 hexadecimal digits'], ["-f ${\('0' x 32)} -p 1", '-p: expected an even'])
{
    my $refused = run(["$build/docs/examples/parquet_decrypt", split(' ', $row->[0]), '/dev/null', $folder], env => \%environment);
    is($refused->{status} >> 8, 1, "parquet_decrypt $row->[0] is refused");
    like($refused->{err}, qr/\Aparquet_decrypt: \Q$row->[1]\E/, 'and it says what it expects');
}

SKIP: {
    skip('the emulator is no library to link against', 3) if $emulated;
    skip('it was not built: no CUDA toolkit', 3) if !-x "$build/docs/examples/device_memory";
    check('device_memory', run(["$build/docs/examples/device_memory", 4], env => \%environment),
        qr/^the CPU agrees$/m);
}

SKIP: {
    skip('python3 is not installed', 6) if system('python3 -c "import secrets" >/dev/null 2>&1');
    if ($emulated) {
        $environment{PYTHONPATH} = "$source/test/support/torch_stub";
    } else {
        skip('PyTorch with CUDA is not installed', 6)
            if system('python3 -c "import torch; torch.empty(1, device=\'cuda\')" >/dev/null 2>&1');
    }
    check('torch_tensor.py',
        run(['python3', "$source/docs/examples/torch_tensor.py", 4], env => \%environment),
        qr/^the round trip is right, and the CPU agrees$/m);
    foreach my $number ('x', 0, -1) {
        my $refused = run(['python3', "$source/docs/examples/torch_tensor.py", $number], env => {%environment, GPUAES_LOG => 'off'});
        is($refused->{err} . ($refused->{status} >> 8), "torch_tensor.py: $number: expected a number of MiB, from 1 to 1048576\n1",
            "torch_tensor.py refuses $number");
    }
}

done_testing();
