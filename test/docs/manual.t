#!/usr/bin/perl
# The manual: it formats without a warning; the library's has all that its header
# says (test/install/installed.t compiles its examples); the provider's has every setting, parameter,
# figure and algorithm; the command's every option.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

my $made = run(["$source/docs/header_page", "$source/cuda/gpuaes.h", "$source/docs/libgpuaes.3.in"]);
is("$made->{status} $made->{err}", '0 ', 'libgpuaes.3 is made of the header');
my $manual = $made->{out};
my %page = ('libgpuaes.3' => spew("$folder/libgpuaes.3", $manual), map { $_ => "$source/docs/$_" } 'gpuaes.1', 'provider-gpuaes.7');

my @functions = slurp("$source/cuda/gpuaes.h") =~ /^GPUAES_API[^;(]*?(\w+)\(/mg;
cmp_ok(scalar(@functions), '>', 20, 'the header declares functions');
my @missing = grep { $manual !~ /\b\Q$_\E\(/ } @functions;
is("@missing", '', 'each function of the header has its prototype in the manual');

# Letters and figures alone: the page has marks of its own, and names constants in full.
sub letters { my ($text) = @_; return $text =~ s/\\(?:f[BIR]|e)//gr =~ s/^\.\w+//gmr =~ s/GPUAES_//gr =~ s/[^A-Za-z0-9]//gr }
my @paragraphs = grep { !/^\W*(?:Copyright|libgpuaes: |-+ )/ } map { split(/\n \*\n/) }
    slurp("$source/cuda/gpuaes.h") =~ m{(/\*.*?\*/)}gs;
cmp_ok(scalar(@paragraphs), '>', 100, 'the header has comments');
my $all = letters($manual);
is(join("\n", grep { index($all, letters($_)) < 0 } @paragraphs), '', 'each paragraph of them is in the manual');

# What of NAMES the text does not have as a whole word. There, "-" may be "\-"; an option's
# may be one or two.
sub lacks
{
    my ($text, @names) = @_;
    $text =~ s/\\-/-/g;
    $text =~ s/--/-/g;
    return join(' ', grep { my $name = s/^--/-/r; $text !~ /(?<![\w-])\Q$name\E(?![\w-])/ } @names);
}

# has_all(WHAT, PAGE, LEAST, NAMES...): at least so many names were found, each is on the page.
sub has_all
{
    my ($what, $page, $least, @names) = @_;
    my %names = map { $_ => 1 } @names;
    cmp_ok(scalar(keys %names), '>=', $least, "$what are found");
    return is(lacks(slurp($page{$page}), sort keys %names), '', "$what are in $page");
}

my $header = slurp("$source/cuda/gpuaes.h") =~ s{/\*.*?\*/}{}gsr;
my @members = map { /(\w+)(?:\[\w+\])?(?=[,;])/g }
    grep { !/\(/ } map { /^    (.*;)\s*$/mg } $header =~ /^struct gpuaes_(?!\w*key )\w+ \{\n(.*?)^\};/msg;
has_all('the constants of the header', 'libgpuaes.3', 30,
    grep { !/^GPUAES_(?:H|API)$/ } $header =~ /\b(GPUAES_[A-Z0-9_]+)\b/g);
has_all('the members of its structs', 'libgpuaes.3', 30, @members);

# Each has a page with a line of its own: `man 3 gpuaes_aes`, `man -k gpuaes`.
my %purpose = slurp("$source/docs/functions") =~ /^(\S+) (.+)$/mg;
is(join(' ', sort keys %purpose), join(' ', sort @functions), 'each function has a purpose in docs/functions');
my %same = map { $_ => 1 } values %purpose;
is(scalar(keys %same), scalar(@functions), 'and none is that of another');
my @pages = map { {name => $_, %{run(["$source/docs/function_page", "$source/docs/functions", $page{'libgpuaes.3'}, $_])}} } @functions;
is(join("\n", map { $_->{err} } @pages), join("\n", map { '' } @pages), 'their pages are made');
is(join(' ', grep { $_ } map { my $page = $_; $page->{out} =~ /^\.BI? .*\b$page->{name}\(/m ? '' : $page->{name} } @pages), '',
    'with the prototype of each');
is(join(' ', map { $_->{name} } grep { $_->{out} !~ /^\.SH NAME\n\Q$_->{name} \- $purpose{$_->{name}}\E\n/m } @pages), '',
    'and with its purpose');

my %code = map { $_ => join('', map { slurp($_) } glob("$source/$_/{,*/,*/*/}*.[ch]")) } qw(provider tool);
my @settings = $code{provider} =~ /(?:read_number|read_word|find_value)\(&?reader, "([\w-]+)"/g;
my ($known) = $code{provider} =~ /^static const char \*const keys\[\w+\] = \{\n(.*?)^\};/ms;
is(join(' ', sort($known =~ /"([\w-]+)"/g)), join(' ', sort(@settings)), 'each setting that is read is known, and no other');
has_all('the settings', 'provider-gpuaes.7', 11, @settings);
my %sections = map { s/\\//gr => 1 } slurp($page{'provider-gpuaes.7'}) =~ /^\.SS (\S+)$/mg;
is(join(' ', grep { !$sections{$_} } @settings), '', 'each setting has a section');

# The provider warns of a variable that it does not know: those of tests have a prefix.
my %variables = map { uc('GPUAES_' . s/-/_/gr) => 1 } @settings, 'kernel', 'emulator';
my $tests = join('', map { slurp($_) } grep { -f } glob("$source/{bench,test,test/*}/*"));
my %read = map { $_ => 1 } $tests =~ /(?:\$ENV\{|getenv\("|\$\{)(GPUAES_\w+)/g;
cmp_ok(scalar(keys %read), '>', 10, 'tests read variables');
is(join(' ', grep { !$variables{$_} && !/^GPUAES_TEST_/ } sort(keys %read)), '', 'a variable of tests begins with GPUAES_TEST_');
has_all('the figures', 'provider-gpuaes.7', 15, slurp("$source/provider/common/statistics.h") =~ /(?:^    F\(\w+, |^#define STATISTICS_DEVICES )"([\w-]+)"/mg);
has_all('the parameters', 'provider-gpuaes.7', 4, $code{provider} =~ /^#define \w*PARAM_\w+ "([\w-]+)"/mg);

my @long = map { "--$_" } $code{tool} =~ /\{"([a-z0-9-]+)", (?:(?:no|required|optional)_argument|OPTION_\w+, &(?!o->))/g;
has_all('the options of enc', 'gpuaes.1', 25, map { "-$_" } $code{tool} =~ /\{"(\w+)", OPTION_\w+, &o->/g);
has_all('the options of base64, bench and info', 'gpuaes.1', 9, @long);

foreach my $page (sort keys %page) {
  SKIP: {
        skip('groff is not installed', 1) if system('groff --version >/dev/null 2>&1');
        my $result = run(['groff', '-man', '-ww', '-Tutf8', $page{$page}]);
        is($result->{err}, '', "$page formats without a warning");
    }
}
SKIP: {
    skip('groff is not installed', 1) if system('groff --version >/dev/null 2>&1');
    spew("$folder/pages.3", join('', map { $_->{out} } @pages));
    is(run(['groff', '-man', '-ww', '-Tutf8', "$folder/pages.3"])->{err}, '', 'the pages of functions format without a warning');
}

done_testing();
