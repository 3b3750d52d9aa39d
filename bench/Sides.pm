# Two sides for whole programs: with the sample configuration, and with the same less
# our provider. They take turns. Rows are those of gpuaes_bench; see rows.h.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Sides;

use strict;
use warnings;
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use POSIX ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our @EXPORT = qw(OURS REFERENCE $folder run_side side_environment take_turns print_case print_columns print_skipped
    quantile of_openssl folder_for);

use constant {OURS => 0, REFERENCE => 1};

our $folder = tempdir('gpuaes-bench-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $sample = dirname(__FILE__) . '/../docs/gpuaes.cnf';
my @columns = qw(part cipher operation statistic bytes memory placement devices threads ours reference
    unit ratio spread cpu_ours cpu_reference processor against);
my $openssl = (split(' ', `openssl version`))[1];

# ---- The sides --------------------------------------------------------------------

# The sample as it is; and without what names our provider. With GPUAES_TEST_PROVIDER=default
# the default provider stands in for ours.
sub write_configurations
{
    my $ours = text_of($sample);
    my $reference = $ours =~ s/^gpuaes = gpuaes_section\n//mgr
        =~ s/^(default_properties = )\?gpuaes\.on=yes$/$1?provider=default/mr;
    die "$sample is not the sample that it was\n"
        if $reference eq $ours || $reference =~ /^[^#\n]*(?:= gpuaes_section|gpuaes\.on=)/m;
    $ours = $reference if ($ENV{GPUAES_TEST_PROVIDER} // '') eq 'default';
    my @texts = ($ours, $reference);
    foreach my $side (OURS, REFERENCE) {
        open(my $to, '>', "$folder/$side.cnf") or die "$folder/$side.cnf: $!\n";
        print $to $texts[$side];
        close($to);
    }
    return;
}
write_configurations();

# The environment of a side; both have what the caller's has.
sub side_environment
{
    my ($side) = @_;
    return (OPENSSL_CONF => "$folder/$side.cnf", GPUAES_LOG => 'summary');
}

sub text_of
{
    my ($path) = @_;
    open(my $file, '<', $path) or die "$path: $!\n";
    local $/;
    return <$file> // '';
}

# A program, run to its end: {out, err, ended, wall, cpu => seconds, figures => those of its summary}.
sub run_side
{
    my ($side, @command) = @_;
    my ($cpu, $began) = (cpu_of_children(), clock_gettime(CLOCK_MONOTONIC));
    my $pid = fork() // die "fork: $!\n";
    if (!$pid) {
        %ENV = (%ENV, side_environment($side));
        open(STDIN, '<', '/dev/null') or die "/dev/null: $!";
        open(STDOUT, '>', "$folder/out") or die "$folder/out: $!";
        open(STDERR, '>', "$folder/err") or die "$folder/err: $!";
        exec(@command) or POSIX::_exit(127);
    }
    waitpid($pid, 0);
    my ($status, $ended) = ($?, clock_gettime(CLOCK_MONOTONIC));
    my %run = (ended => $ended, wall => $ended - $began, cpu => cpu_of_children() - $cpu,
        map { $_ => text_of("$folder/$_") } 'out', 'err');
    die "@command: status $status\n$run{err}" if $status;
    my ($summary) = $run{err} =~ /^gpuaes: summary (.*)$/m;
    $run{figures} = {map { /^([\w-]+)=(.*)/ ? ($1 => $2) : () } split(' ', $summary // '')};
    return \%run;
}

sub cpu_of_children { my (undef, undef, $user, $system) = times(); return $user + $system }

# take_turns(TURNS, FUNCTION): FUNCTION->(SIDE), in turns, TURNS of each side. The side that
# goes first changes from turn to turn.
sub take_turns
{
    my ($turns, $measured) = @_;
    foreach my $turn (0 .. $turns - 1) {
        $measured->(($_ + $turn) % 2) foreach OURS, REFERENCE;
    }
    return;
}

# ---- Files ------------------------------------------------------------------------

# Where there is space for so many bytes, best in memory: a folder, and its kind.
sub folder_for
{
    my ($bytes) = @_;
    foreach my $folder ('/dev/shm', $ENV{TMPDIR} // '/tmp') {
        next if !-w $folder;
        my ($free, $kind) = map { split(' ') } (`df -k --output=avail,fstype $folder 2>/dev/null`)[1] // next;
        return ($folder, $kind) if $free * 1024 > 1.1 * $bytes;
    }
    return;
}

# ---- Rows -------------------------------------------------------------------------

sub of_openssl { my ($what) = @_; return "$what, OpenSSL $openssl" }

sub quantile
{
    my ($at, @values) = @_;
    return (sort { $a <=> $b } @values)[$at * (@values - 1) + 0.5];
}

sub figure_text
{
    my ($value, $digits) = @_;
    return defined($value) && $value > 0 ? sprintf("%.${digits}g", $value) : '-';
}

# The processor, by what the summaries of our runs say of so many bytes.
sub processor_of
{
    my ($bytes, @figures) = @_;
    my ($ahead, $gpu) = (0, 0);
    foreach my $figures (@figures) {
        $ahead += $figures->{'read-ahead-bytes'} // 0;
        $gpu += $figures->{'gpu-bytes'} // 0;
    }
    return $ahead >= 0.9 * $bytes ? 'read-ahead' : $gpu >= 0.9 * $bytes ? 'gpu' : $ahead + $gpu > 0 ? 'mixed' : 'cpu';
}

sub print_columns { print '# ', join("\t", @columns), "\n"; return }

# print_case(VALUES, column => text...): VALUES are those of both sides, turn by turn,
# [[ours...], [reference...]]; the row has their medians. `cpu`: CPU seconds in the same
# form, for `bytes` each; `done`: bytes of all our runs; `figures`: their summaries.
sub print_case
{
    my ($values, %row) = @_;
    my ($ours, $reference) = @$values;
    my @ratios = map { $ours->[$_] / $reference->[$_] } 0 .. $#{$reference // []};
    $row{statistic} //= 'median';
    $row{devices} //= 1;
    $row{threads} //= 1;
    $row{ours} = sprintf('%.6g', quantile(0.5, @$ours));
    $row{processor} = processor_of($row{done}, @{$row{figures}}) if $row{done};
    if (@ratios) {
        $row{reference} = sprintf('%.6g', quantile(0.5, @$reference));
        $row{ratio} = sprintf('%.4g', $row{ours} / $row{reference});
        $row{spread} = figure_text((quantile(0.75, @ratios) - quantile(0.25, @ratios)) / quantile(0.5, @ratios), 3);
        $row{against} //= of_openssl('default provider');
    }
    if (my $cpu = $row{cpu}) {
        @row{'cpu_ours', 'cpu_reference'} = map { figure_text(quantile(0.5, @$_) / $row{bytes} * 1e9, 3) } @$cpu;
    }
    $row{bytes} //= 0;
    print join("\t", map { $row{$_} // '-' } @columns), "\n";
    return;
}

sub print_skipped
{
    my ($part, $why) = @_;
    print "# skipped: $part: $why\n";
    return;
}

1;
