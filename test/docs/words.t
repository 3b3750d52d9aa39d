#!/usr/bin/perl
# The documents use no phrase of the table in CONTRIBUTING.md, "Words".
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Find;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

my $contributing = slurp("$source/CONTRIBUTING.md");
my ($section) = $contributing =~ /^### Words\n(.*?)(?=^#|\z)/ms;
my @phrases = map { /"([^"]+)"/g } $section =~ /^\|([^|]*)\|/mg;
cmp_ok(scalar(@phrases), '>=', 10, 'CONTRIBUTING.md has a table of phrases');

# "FILE:LINE: PHRASE" for each phrase in a text. A phrase may be spread over lines, of a comment as well.
sub found
{
    my ($name, $text) = @_;
    my @found;
    foreach my $phrase (@phrases) {
        my $pattern = join('(?:\s+(?:\*\s+)?)', map { quotemeta } split(/ /, $phrase));
        while ($text =~ /(?<!\w)$pattern(?![\w'])/gi) {
            push(@found, "$name:" . (1 + (substr($text, 0, $-[0]) =~ tr/\n//)) . ": $phrase");
        }
    }
    return @found;
}

is(join(' ', found('a', "One\n * " . join("\n * ", split(/ /, $phrases[0])) . ".\n")), "a:2: $phrases[0]",
    'a phrase is found across lines, and its line is named');

my @documents = map { "$source/$_" } 'README.md', 'SECURITY.md', 'cuda/gpuaes.h';
find({no_chdir => 1, wanted => sub { push(@documents, $_) if /(?:\.md|\.[1-9](?:\.in)?)$/ }}, "$source/docs");
cmp_ok(scalar(@documents), '>', 40, 'there are documents');
my @found = found('CONTRIBUTING.md', $contributing =~ s/\Q$section\E/"\n" x ($section =~ tr{\n}{})/er);
push(@found, map { found(s/^\Q$source\E\///r, slurp($_)) } sort(@documents));
is(join("\n", @found), '', 'no document uses one of them');

done_testing();
