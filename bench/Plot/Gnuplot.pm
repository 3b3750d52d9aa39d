# Figures by gnuplot, each as SVG and as PNG.
#
# Colours are those of Okabe and Ito, and two more, which colour-blind eyes distinguish too;
# each line has a mark of its own as well. What ours is compared with is dotted,
# limits are dashed.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
package Plot::Gnuplot;

use strict;
use warnings;
use Exporter qw(import);
use List::Util qw(max min);
use POSIX qw(ceil floor);
use Results;

our @EXPORT = qw($gnuplot $folder draw_lines draw_bars);

# The program, and where figures go.
our ($gnuplot, $folder) = ('gnuplot');

my @colours = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000', '#7F7F7F', '#661100');
my @marks = (7, 5, 9, 13, 11, 4, 6, 8, 12);

# As a string of gnuplot's, without its mark-up.
sub quoted
{
    my ($text) = @_;
    $text =~ s/'/''/g;
    return "'$text'";
}

# Ticks at powers of 4 (of 2 for threads), named; on a linear axis gnuplot's own.
my %is_count = (threads => 2, messages => 4);
sub ticks
{
    my ($axis, @lines) = @_;
    return '' if !$axis->{xlog};
    my @x = sort { $a <=> $b } map { $_->[0] } map { @{$_->{points} // []} } @lines;
    my @ticks;
    my $step = $is_count{$axis->{xlabel}};
    for (my $at = $step ? 1 : 16; $at <= $x[-1] * 1.5; $at *= $step // 4) {
        push(@ticks, quoted($step ? $at : size_text($at)) . " $at") if $at >= $x[0] / 2;
    }
    return sprintf("set xrange [%g:%g]\nset xtics %s (%s)\n",
        $x[0] / 1.3, $x[-1] * 1.3, @ticks > 12 ? 'rotate by 40 right' : '', join(', ', @ticks));
}

# A logarithmic axis of y that ends near the values; where it has few decades, 2 and 5 are named as well.
sub log_rates
{
    my @y = map { $_->{level} // map { $_->[1] } @{$_->{points}} } @_;
    my ($least, $most) = (min(@y) / 1.3, max(@y) * 1.3);
    my @named = $most / $least < 1e4 ? (1, 2, 5) : (1);
    my @ticks = map { my $decade = 10**$_; map { $_ * $decade } @named } floor(log($least) / log(10)) .. ceil(log($most) / log(10));
    return sprintf("set logscale y\nset yrange [%g:%g]\nset ytics (%s)\n", $least, $most,
        join(', ', map { sprintf("'%g' %g", $_, $_) } @ticks));
}

sub title_of
{
    my ($line) = @_;
    return defined($line->{level}) ? sprintf('%s (%s)', $line->{name}, number_text($line->{level})) : $line->{name};
}

sub script_of_lines
{
    my ($axis, @lines) = @_;
    my ($data, @plots) = ('');
    my $script = ticks($axis, @lines);
    foreach my $i (0 .. $#lines) {
        my $line = $lines[$i];
        my $look = $line->{look} // $i;
        my $colour = $colours[$look % @colours];
        if (defined($line->{level})) {
            push(@plots, "$line->{level} with lines dt (12,6) lw 1.5 lc rgb '$colour' title " . quoted(title_of($line)));
            next;
        }
        $data .= "\$line$i << END\n" . join('', map { "$_->[0] $_->[1]\n" } @{$line->{points}}) . "END\n";
        my $width = $line->{reference} ? 'lw 1.8 dt (4,3)' : 'lw 2.5';
        push(@plots, "\$line$i using 1:2 with linespoints $width pt $marks[$look % @marks] ps 0.8 lc rgb '$colour' title " . quoted(title_of($line)));
    }
    $script .= "set logscale x\n" if $axis->{xlog};
    $script .= $axis->{ylog} ? log_rates(@lines) : "set yrange [0:*]\n";
    return "$data$script" . 'plot ' . join(", \\\n    ", @plots) . "\n";
}

sub script_of_bars
{
    my (@bars) = @_;
    my $data = join('', map { qq("@{[$_->{name} =~ s/, /\\n/gr]}" $_->{one} $_->{all}\n) } @bars);
    my ($devices) = map { $_->{devices} } @bars;
    return "\$bars << END\n${data}END\n" .
        "set style data histograms\nset style histogram clustered gap 1\n" .
        "set style fill solid 0.9\nset yrange [0:*]\n" .
        "set xtics nomirror scale 0 font ',9'\nset bmargin 5\nset key tmargin\n" .
        "plot \$bars using 2:xtic(1) lc rgb '$colours[0]' title 'one GPU', " .
        "\$bars using 3 lc rgb '$colours[1]' title '$devices GPUs'\n";
}

# What is below the plot: the names in as many columns as the longest leaves room for, and the height of the canvas
# that leaves as much to the plot as without.
sub key_below
{
    my (@names) = @_;
    my $columns = min(4, scalar(@names), max(1, int(108 / (9 + max(1, map { length } @names)))));
    my $rows = ceil(@names / $columns);
    return ("set key bmargin center horizontal Left reverse samplen 3 maxcols $columns height 1\n", 520 + 18 * $rows);
}

# NAMES are those of the lines, as the key has them.
sub draw
{
    my ($name, $title, $axis, $machine, $script, @names) = @_;
    my ($key, $height) = key_below(@names);
    my %terminals = (
        svg => "svg size 900,$height dynamic noenhanced background '#ffffff' font 'DejaVu Sans,13'",
        png => 'pngcairo size 1350,' . int($height * 1.5) . " noenhanced background '#ffffff' font 'DejaVu Sans,15'");
    foreach my $kind (sort keys %terminals) {
        open(my $to, '|-', $gnuplot, '-') or die "plot: $gnuplot: $!\n";
        print $to "set terminal $terminals{$kind}\n",
            'set output ', quoted("$folder/$name.$kind"), "\n",
            'set title ', quoted("$title\n$machine") =~ s/\n/\\n/r =~ s/'/"/gr, "\n",
            'set xlabel ', quoted($axis->{xlabel} // ''), " offset 0,0.4\n",
            'set ylabel ', quoted($axis->{ylabel}), "\n",
            "set grid lc rgb '#dddddd' lt 1\n$key",
            "set border 3\nset tics nomirror\n", $script;
        close($to) or die "plot: $gnuplot failed for $name.$kind\n";
    }
    print "$name\n";
    return;
}

# Nor may a figure of an earlier run stay.
sub leave_out
{
    my ($name) = @_;
    unlink("$folder/$name.svg", "$folder/$name.png");
    print STDERR "plot: $name: not measured\n";
    return;
}

# draw_lines(NAME, TITLE, AXIS, LINES): undefined lines are left out; a figure without
# points as well, with a note. The machine of the first with points is named, and limits of others left out.
sub draw_lines
{
    my ($name, $title, $axis, @lines) = @_;
    my ($machine) = map { $_->{machine} } grep { defined && $_->{points} } @lines or return leave_out($name);
    @lines = grep { defined && ($_->{points} || $_->{machine} eq $machine) } @lines;
    return draw($name, $title, $axis, $machine, script_of_lines($axis, @lines), map { title_of($_) } @lines);
}

sub draw_bars
{
    my ($name, $title, $axis, @bars) = @_;
    return @bars ? draw($name, $title, $axis, $bars[0]{machine}, script_of_bars(@bars), 'one GPU', 'several') : leave_out($name);
}

1;
