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
use Results;

our @EXPORT = qw($gnuplot $folder $machine draw_lines draw_bars);

# The program, where figures go, and what is measured on.
our ($gnuplot, $folder, $machine) = ('gnuplot');

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
my %is_count = (threads => 2, messages => 4, streams => 2);
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
        $x[0] / 1.3, $x[-1] * 1.3, $step ? '' : 'rotate by 40 right', join(', ', @ticks));
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
            push(@plots, "$line->{level} with lines dt (12,6) lw 1.5 lc rgb '$colour' title " .
                    quoted(sprintf('%s (%s)', $line->{name}, number_text($line->{level}))));
            next;
        }
        $data .= "\$line$i << END\n" . join('', map { "$_->[0] $_->[1]\n" } @{$line->{points}}) . "END\n";
        my $width = $line->{reference} ? 'lw 1.2 dt (3,3)' : 'lw 2';
        push(@plots, "\$line$i using 1:2 with linespoints $width pt $marks[$look % @marks] ps 0.8 lc rgb '$colour' title " .
                quoted($line->{name}));
    }
    $script .= "set logscale x\n" if $axis->{xlog};
    $script .= $axis->{ylog} ? "set logscale y\n" : "set yrange [0:*]\n";
    return "$data$script" . 'plot ' . join(", \\\n    ", @plots) . "\n";
}

sub script_of_bars
{
    my (@bars) = @_;
    my $data = join('', map { qq("$_->{name}" $_->{one} $_->{all}\n) } @bars);
    my ($devices) = map { $_->{devices} } @bars;
    return "\$bars << END\n${data}END\n" .
        "set style data histograms\nset style histogram clustered gap 1\n" .
        "set style fill solid 0.9\nset yrange [0:*]\n" .
        "set xtics rotate by 40 right nomirror\nset bmargin 13\nset lmargin 16\n" .
        "plot \$bars using 2:xtic(1) lc rgb '$colours[0]' title 'one GPU', " .
        "\$bars using 3 lc rgb '$colours[1]' title '$devices GPUs'\n";
}

sub draw
{
    my ($name, $title, $axis, $script) = @_;
    my %terminals = (
        svg => "svg size 900,560 dynamic noenhanced background '#ffffff' font 'DejaVu Sans,13'",
        png => "pngcairo size 1350,840 noenhanced background '#ffffff' font 'DejaVu Sans,16'");
    foreach my $kind (sort keys %terminals) {
        open(my $to, '|-', $gnuplot, '-') or die "plot: $gnuplot: $!\n";
        print $to "set terminal $terminals{$kind}\n",
            'set output ', quoted("$folder/$name.$kind"), "\n",
            'set title ', quoted("$title\n$machine") =~ s/\n/\\n/r =~ s/'/"/gr, "\n",
            'set xlabel ', quoted($axis->{xlabel} // ''), "\n",
            'set ylabel ', quoted($axis->{ylabel}), "\n",
            "set grid lc rgb '#dddddd' lt 1\nset key outside right top vertical Left reverse\n",
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
# points as well, with a note.
sub draw_lines
{
    my ($name, $title, $axis, @lines) = @_;
    @lines = grep { defined } @lines;
    return leave_out($name) if !grep { $_->{points} } @lines;
    return draw($name, $title, $axis, script_of_lines($axis, @lines));
}

sub draw_bars
{
    my ($name, $title, $axis, @bars) = @_;
    return @bars ? draw($name, $title, $axis, script_of_bars(@bars)) : leave_out($name);
}

1;
