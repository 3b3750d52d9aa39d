#!/usr/bin/perl
# The documents: each link to a file of ours leads to one, each link to a heading to a heading. Of sizes,
# openssl enc is given those that it takes. All that name the version name the same, and the same day.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;
use Time::Piece;

# The anchors of a page's headings, as GitHub makes them.
sub anchors
{
    my ($page) = @_;
    (my $text = slurp($page)) =~ s/^```.*?^```$//msg;
    return map { s/[^\w -]//gr =~ tr/ /-/r } map { lc } $text =~ /^#+ (.*)$/mg;
}

my @pages = (glob("$source/*.md"), glob("$source/docs/*.md"), glob("$source/docs/*/*.md"));
cmp_ok(scalar(@pages), '>', 20, 'there are documents');
foreach my $page (@pages) {
    my $name = $page =~ s/^\Q$source\E\///r;
    # Templates become pages of docs/.
    my $from = $name =~ /template\.md$/ ? "$source/docs" : dirname($page);
    my @wrong;
    foreach my $link (slurp($page) =~ /\]\(([^)\s]+)\)/g) {
        next if $link =~ /^https?:/;
        my ($file, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
        my $path = $file eq '' ? $page : "$from/$file";
        push(@wrong, $link) if !-e $path || ($anchor ne '' && !grep { $_ eq $anchor } anchors($path));
    }
    is("@wrong", '', "$name: its links lead somewhere");
    # That of releases stays as it was.
    next if $name eq 'CHANGELOG.md';
    is(join(' ', slurp($page) =~ /-bufsize \d++(?!k?\b)\w+/g), '', "$name: sizes are as openssl enc takes them");
}

# ---- What the examples teach -------------------------------------------------------

# A password that people can remember takes many iterations; the default of PBKDF2 is that of openssl enc.
foreach my $name (qw(README.md docs/shards.md docs/gpuaes.1)) {
    my $examples = slurp("$source/$name") =~ s/^.*^\.SH EXAMPLES$//msr =~ s/\\-/-/gr;
    my @commands = $examples =~ /^((?: {4}\S*|)(?:\S*gpuaes (?:enc|dec)|openssl enc) .*?[^\\])$/msg;
    push(@commands, $examples =~ /^( {8}-aes-.*)$/mg);
    cmp_ok(scalar(@commands), '>=', 2, "$name has examples");
    is(join("\n", grep { !/ -iter 600000 / } @commands), '', 'each takes 600000 iterations');
}
my @sizes = map { slurp($_) =~ /-bufsize ([^\s`,:]+)/g } grep { !/CHANGELOG/ } @pages;
cmp_ok(scalar(@sizes), '>=', 4, 'the documents name commands with -bufsize');
is(join(' ', grep { !/^\d+k?$/ } @sizes), '', 'openssl enc can read each of those numbers');

# ---- The version -----------------------------------------------------------------

my ($version) = slurp("$source/configure.ac") =~ /^AC_INIT\(\[gpuaes\], \[(.*?)\]\)/m;
my ($series) = $version =~ /^(\d+\.\d+)/;
my @named = (
    ['CHANGELOG.md', qr/^## \[(\d\S*)\]/m, $version],
    ['packaging/debian/changelog', qr/^gpuaes \(([^-]+)-/, $version],
    ['python/gpuaes/__init__.py', qr/^__version__ = "(.*)"$/m, $version],
    map { ["docs/$_", qr/^\.TH [^"]*"[^"]*" "gpuaes (.*?)"/m, $series] } qw(gpuaes.1 libgpuaes.3.in provider-gpuaes.7));
foreach my $named (@named) {
    my ($name, $pattern, $expected) = @$named;
    is((slurp("$source/$name") =~ $pattern)[0], $expected, "$name: the version is that of configure.ac");
}
my $day = Time::Piece->strptime((slurp("$source/CHANGELOG.md") =~ /^## \[\d.*\] - (.*)$/m)[0], '%Y-%m-%d');
my $date = $day->mday . $day->strftime(' %B %Y');
is((slurp("$source/docs/$_") =~ /^\.TH \S+ \d "(.*?)"/m)[0], $date, "$_: the day is that of CHANGELOG.md")
    foreach qw(gpuaes.1 libgpuaes.3.in provider-gpuaes.7);
my ($entry) = slurp("$source/packaging/debian/changelog") =~ /^ -- .*>  (.*) \d+:/m;
is($entry, $day->strftime('%a, %d %b %Y'), 'packaging/debian/changelog: so is that of its entry');

done_testing();
