# Reads what gpuaes_bench wrote: the head, and the rows by the names of their
# columns. A figure that was not measured is undefined.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Results;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT = qw(@modes @families read_results rows_like batches_by batch_count values_of sizes_of size_text number_text card_of machine_text);

our @modes = (
    ['CTR', cipher => 'AES-256-CTR', operation => 'encrypt'],
    ['ECB encrypt', cipher => 'AES-256-ECB', operation => 'encrypt'],
    ['ECB decrypt', cipher => 'AES-256-ECB', operation => 'decrypt'],
    ['CBC decrypt', cipher => 'AES-256-CBC', operation => 'decrypt']);
our @families = ('small', 'two_table', 'hybrid');

# read_results(FILES): {head => [{label => text} of each file], rows => [{column => value}],
# of_part => {part => its rows}, notes => [what was skipped]}. Where two files measured the same case, the first
# one counts. The column `file` of a row is the number of its file.
sub read_results
{
    my (@files) = @_;
    my %results = (head => [], rows => [], of_part => {}, notes => [], files => [@files]);
    my %seen;
    foreach my $path (@files) {
        open(my $file, '<', $path) or die "$path: $!\n";
        my (%head, @columns);
        while (my $line = <$file>) {
            chomp($line);
            if ($line =~ /^# part\t/) {
                @columns = split(/\t/, substr($line, 2));
            } elsif ($line =~ /^# (skipped: .*)/) {
                push(@{$results{notes}}, $1);
            } elsif ($line =~ /^# (\w+)\s*: (.*?)\s*$/) {
                push(@{$head{$1}}, $2);
            } elsif ($line !~ /^#/) {
                die "$path: rows before the columns\n" if !@columns;
                my %row;
                @row{@columns} = map { $_ eq '-' ? undef : $_ } split(/\t/, $line, -1);
                $row{part} =~ s/^device-batch/messages/; # as 0.2 named it
                my $case = join("\t", map { $row{$_} // '' }
                    grep { !/^(?:ours|reference|ratio|spread|cpu_\w+|processor)$/ } @columns);
                $case .= "\t$row{processor}" if $row{part} =~ /^(?:families|gcm-images)$/;
                push(@{$results{rows}}, {%row, numbers_of(\%row), file => scalar(@{$results{head}})}) if !$seen{$case}++;
            }
        }
        close($file);
        die "$path: no columns: not an output of gpuaes_bench\n" if !@columns;
        push(@{$results{head}}, \%head);
    }
    push(@{$results{of_part}{$_->{part}}}, $_) foreach @{$results{rows}};
    return \%results;
}

# Numbers that stand in the texts of a row, as columns of their own: of batches the messages of each, if
# they have a key each, and how many are under way, if so; of a rate over time when it was.
sub numbers_of
{
    my ($row) = @_;
    my $what = $row->{operation} // '';
    return (messages => $1, keys => $2 ? 1 : 0, flight => $3)
        if $what =~ /^(?:en|de)crypt, (\d+) messages( with a key each)?(?:, (\d+) under way)?$/;
    return ($row->{statistic} // '') =~ /^at ([\d.]+) s$/ ? (seconds => $1) : ();
}

# Rows whose columns are as given: a value, or a list of which it is one, or a
# function of it.
sub rows_like
{
    my ($results, %criteria) = @_;
    my $part = $criteria{part};
    my $rows = defined($part) && !ref($part) ? $results->{of_part}{$part} // [] : $results->{rows};
    return grep {
        my $row = $_;
        !grep { !is_like($row->{$_}, $criteria{$_}) } keys(%criteria)
    } @$rows;
}

sub is_like
{
    my ($value, $wanted) = @_;
    return $wanted->($value) if ref($wanted) eq 'CODE';
    return 0 if !defined($value);
    return scalar(grep { $value eq $_ } ref($wanted) ? @$wanted : ($wanted)) > 0;
}

# Criteria of batches, four of one thread under way, that are measured over the number of messages of
# 16 KiB, or over the bytes of a message in batches of equal number.
sub batches_by
{
    my ($results, $by) = @_;
    return (part => 'batch', threads => 1, flight => 4,
        $by eq 'messages' ? (bytes => 16384) : (messages => batch_count($results)));
}

# How many messages those batches have that were measured over the size of a message.
sub batch_count
{
    my ($results) = @_;
    my %sizes;
    $sizes{$_->{messages}}{$_->{bytes}} = 1 foreach rows_like($results, part => 'batch', threads => 1, flight => 4, keys => 0);
    my ($count) = sort { $b <=> $a } grep { keys(%{$sizes{$_}}) > 1 } keys(%sizes);
    return $count // 0;
}

# The figures of such rows in one column, less those that were not measured.
sub values_of
{
    my ($results, $column, %criteria) = @_;
    return grep { defined } map { $_->{$column} } rows_like($results, %criteria);
}

# The lengths among such rows, from the least on.
sub sizes_of
{
    my ($results, %criteria) = @_;
    my %sizes = map { $_->{bytes} => 1 } rows_like($results, %criteria);
    return sort { $a <=> $b } keys(%sizes);
}

# 65536 is 64 KiB; what is not whole is rounded.
sub size_text
{
    my ($bytes) = @_;
    my @units = ('B', 'KiB', 'MiB', 'GiB');
    while (@units > 1 && $bytes >= 1000) {
        $bytes /= 1024;
        shift(@units);
    }
    return ($bytes == int($bytes) ? $bytes : sprintf('%.3g', $bytes)) . " $units[0]";
}

# Two or three digits that count, as people write them.
sub number_text
{
    my ($value) = @_;
    return '-' if !defined($value);
    my $size = abs($value);
    return sprintf($size >= 100 ? '%.0f' : $size >= 10 ? '%.1f' : $size >= 1 ? '%.2f' : '%.2g', $value);
}

# The head of the file of a row, or of the first file.
sub head_of { my ($results, $row) = @_; return $results->{head}[$row ? $row->{file} : 0] }

# The card on which a row was measured; undefined if its file does not say.
sub card_of
{
    my ($gpu) = map { /^none/ ? 'no GPU' : (split(/,/))[0] } @{head_of(@_)->{GPU} // []};
    return $gpu;
}

# One line that says on what machine a row was measured, or those of the first file.
sub machine_text
{
    my ($results, $row) = @_;
    my $head = head_of($results, $row);
    my $gpu = card_of($results, $row);
    my ($openssl) = map { /^(OpenSSL \S+)/ ? $1 : $_ } @{$head->{OpenSSL} // []};
    my ($cpu) = map { s/\(R\)|\(TM\)//gr } @{$head->{CPU} // []};
    my $quick = grep { /quick/ } @{$head->{date} // []};
    return join(', ', grep { defined } $gpu, $openssl, $cpu, $quick ? 'quick: means nothing' : undef);
}

1;
