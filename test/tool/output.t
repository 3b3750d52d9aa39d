#!/usr/bin/perl
# Where `gpuaes enc` reads and writes: output is there complete or not at all, be it after an
# error, be it after a signal; files, pipes and devices of every kind.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use Config;
use Fcntl qw(:DEFAULT :mode);
use FindBin;
use lib "$FindBin::Bin/../support";
use POSIX qw(mkfifo WIFSIGNALED WTERMSIG);
use Programs qw(:DEFAULT gpuaes shell refused wait_for);
use Test::More;

my $ours = with_gpuaes();
my @cipher = ('-aes-256-ctr', '-K', '5a' x 32, '-iv', '01' x 16);
my $plain = join('', map { pack('N', $_ * 2654435761 % 2**32) } 1 .. 75000);
my $place = "$folder/place";
mkdir($place) or die "$place: $!";
my $in = spew("$folder/in", $plain);
my $coded = run(['openssl', 'enc', @cipher, '-in', $in], env => without_gpuaes())->{out};
die 'openssl enc' if length($coded) != length($plain);

# All names in the folder of the output, hidden ones as well.
sub names
{
    opendir(my $handle, $place) or die "$place: $!";
    return join(' ', sort(grep { !/^\.\.?$/ } readdir($handle)));
}

# A process that waits for its input, with a part of the output written.
sub held
{
    my (@options) = @_;
    my $fifo = "$folder/fifo$$";
    -p $fifo or mkfifo($fifo, 0600) or die "fifo: $!";
    my $pid = start([$gpuaes_command, 'enc', @cipher, '-bufsize', 4096, '-in', $fifo, @options], env => $ours,
        err => "$folder/stderr");
    open(my $to, '>', $fifo) or die "fifo: $!";
    syswrite($to, $plain, 60000);
    return ($pid, $to);
}

sub is_written { return scalar(grep { (-s "$place/$_" // 0) >= 49152 } split(' ', names())) }

sub mode { my ($path) = @_; return sprintf('%o', S_IMODE((stat($path))[2])) }

# ACLs as the kernel has them. Each entry is a tag, permissions and an id; the tags are:
my ($USER_OBJ, $USER, $GROUP_OBJ, $MASK, $OTHER, $NO_ID) = (1, 2, 4, 0x10, 0x20, 0xffffffff);
my $has_acls = eval { require 'syscall.ph'; 1 };
sub acl { my (@entries) = @_; return pack('L<(S<S<L<)*', 2, map { @$_, ($NO_ID) x (3 - @$_) } @entries) }

sub set_acl
{
    my ($path, $kind, @entries) = @_;
    my ($name, $acl) = ("system.posix_acl_$kind", acl(@entries));
    return syscall(&SYS_setxattr(), $path, $name, $acl, length($acl), 0) == 0;
}

# In hexadecimal digits, or '' where there is none.
sub get_acl
{
    my ($path) = @_;
    my ($name, $acl) = ('system.posix_acl_access', "\0" x 65536);
    my $bytes = syscall(&SYS_getxattr(), $path, $name, $acl, length($acl));
    return $bytes < 0 ? '' : unpack('H*', substr($acl, 0, $bytes));
}

sub remove_acl
{
    my ($path, $name) = (@_, 'system.posix_acl_access');
    return syscall(&SYS_removexattr(), $path, $name) == 0;
}

# ---- A complete output, and permissions --------------------------------------------------

my $out = "$place/out";
{
    my $before = umask(027);
    my $result = gpuaes(['enc', @cipher, '-in', $in, '-out', $out]);
    umask($before);
    is($result->{status}, 0, 'a new file') or diag($result->{err});
    ok(slurp($out) eq $coded, 'has what it should');
    is(mode($out), '640', 'and the permissions that any new file has');
    is(names(), 'out', 'nothing lies next to it');
}
{
    chmod(0604, $out);
    my $was = (stat(spew($out, 'before')))[1];
    is(gpuaes(['enc', @cipher, '-in', $in, '-out', $out])->{status}, 0, 'a file that was there');
    ok(slurp($out) eq $coded, 'is replaced');
    is(mode($out), '604', 'and keeps its permissions');
    isnt((stat($out))[1], $was, 'by another one, not written over');
}
{
    spew($out, 'before');
    foreach (['link', 'out', 'a link'], ['loose', 'new', 'a link that leads nowhere']) {
        my ($link, $to, $name) = @$_;
        symlink($to, "$place/$link") or die "link: $!";
        is(gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/$link"])->{status}, 0, $name);
        ok(-l "$place/$link" && slurp("$place/$to") eq $coded, 'stays, and what it names is there, and new');
    }
    symlink('around', "$place/around") or die "link: $!";
    like(gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/around"])->{err}, qr/-out .*: Too many levels/, 'a link to itself');
    unlink(map { "$place/$_" } qw(link loose new around));
}
{
    spew($out, $plain);
    is(gpuaes(['enc', @cipher, '-in', $out, '-out', $out])->{status}, 0, 'one file as input and output');
    ok(slurp($out) eq $coded, 'is encrypted in its place');
}
is(gpuaes(['enc', @cipher, '--sync', '-in', $in, '-out', $out])->{status}, 0, '--sync');
ok(slurp($out) eq $coded, 'makes the same');
my $long = 'n' x 255;
is(gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/$long"])->{status}, 0, 'a name as long as there can be');
is(names(), join(' ', sort($long, 'out')), 'nothing lies next to it');
unlink("$place/$long", $out);

# The default ACL of a folder says what a new file gets, and umask does not.
my @private = ([$USER_OBJ, 7], [$GROUP_OBJ, 0], [$OTHER, 0]);
my @for_daemon = ([$USER_OBJ, 7], [$USER, 7, 1], [$GROUP_OBJ, 5], [$MASK, 7], [$OTHER, 4]);
SKIP: {
    mkdir("$place/acl");
    skip('no ACL can be set', 8) if !$has_acls || !set_acl("$place/acl", 'default', @private);
    foreach my $case (['plain', @private], ['with an entry for another user', @for_daemon]) {
        my ($name, @entries) = @$case;
        set_acl("$place/acl", 'default', @entries);
        my ($new, $theirs) = map { "$place/acl/$_" } qw(new theirs);
        gpuaes(['enc', @cipher, '-in', $in, '-out', $new]);
        run(['openssl', 'enc', @cipher, '-in', $in, '-out', $theirs], env => without_gpuaes());
        is(mode($new), mode($theirs), "a default ACL, $name: a new file has the mode that openssl enc gives it");
        is(get_acl($new), get_acl($theirs), 'and its ACL');
        spew("$place/acl/old", 'before');
        remove_acl("$place/acl/old");
        chmod(0640, "$place/acl/old");
        gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/acl/old"]);
        is(mode("$place/acl/old"), '640', 'a file without an ACL keeps its mode');
        is(get_acl("$place/acl/old"), '', 'and gets no ACL');
    }
}
SKIP: {
    skip('no ACL can be set', 3) if !$has_acls || !set_acl(spew($out, 'before'), 'access', @for_daemon);
    is(gpuaes(['enc', @cipher, '-in', $in, '-out', $out])->{status}, 0, 'a file with an ACL');
    is(get_acl($out), unpack('H*', acl(@for_daemon)), 'keeps it');
    is(mode($out), '774', 'and its mode');
}
system('rm', '-rf', "$place/acl", $out);

SKIP: {
    # As on a FAT file system.
    skip('a sanitizer wants to be first', 2) if $ENV{GPUAES_TEST_SANITIZER};
    spew("$folder/fat.c", "#include <errno.h>\nint fchmod(int f, unsigned m) { (void)f; (void)m; errno = EPERM; return -1; }\n"
        . "int fchown(int f, unsigned u, unsigned g) { (void)u; (void)g; return fchmod(f, 0); }\n");
    skip('there is no C compiler', 2) if run(['cc', '-shared', '-fPIC', '-o', "$folder/fat.so", "$folder/fat.c"])->{status};
    foreach my $name ('new', 'old') {
        spew("$place/$name", 'before') if $name eq 'old';
        my $result = run([$gpuaes_command, 'enc', @cipher, '-in', $in, '-out', "$place/$name"], env => {%$ours, LD_PRELOAD => "$folder/fat.so"});
        ok(!$result->{status} && slurp("$place/$name") eq $coded, "$name file where permissions cannot be set") or diag($result->{err});
        unlink("$place/$name");
    }
}

# ---- Errors -------------------------------------------------------------------------------

spew($out, 'before');
my @failures = (
    ['an absent folder', ["$place/absent/out"], qr/-out .*: No such file/],
    ['a folder', [$place], qr/-out .*: Is a directory/],
    ['a folder that is not there', ["$place/new/"], qr{-out .*/new/: Is a directory}],
    ['no name', [''], qr/-out : No such file/],
    ['a folder as input', [$out, '-in', $place], qr/-in .*: Is a directory/],
    ['an absent input', [$out, '-in', "$folder/absent"], qr/-in .*: No such file/],
    ['memory that cannot be read', [$out, '-in', '/proc/self/mem'], qr{/proc/self/mem: Input/output error}],
);
foreach my $case (@failures) {
    my ($name, $options, $said) = @$case;
    my $result = gpuaes(['enc', @cipher, '-in', $in, '-out', @$options]);
    refused($result, qr/^gpuaes enc: $said/m, "$name: fails");
    is(names() . slurp($out), 'outbefore', "$name: what was there stays, and nothing else is");
}
# Root may do everything, so it becomes somebody else, who can do with the module what root can.
my @nobody = $> == 0 ? qw(setpriv --reuid=65534 --regid=65534 --groups=100) : ();
SKIP: {
    chmod(0711, $folder);
    skip('the build folder is for root alone', 6) if run([@nobody, $gpuaes_command, '--version'])->{status};
    my $try = sub { return run([@nobody, $gpuaes_command, 'enc', @cipher, '-in', $in, '-out', $_[0] // $out], env => $ours) };
    chmod(0755, $place);
    chmod(0, $in);
    like($try->()->{err}, qr/-in .*: Permission denied/, 'an input that may not be read');
    chmod(0644, $in);
    chmod(0400, $out);
    like($try->()->{err}, qr/-out .*: Permission denied/, 'an output that may not be written');
    chmod(0666, $out);
    chmod(0555, $place);
    like($try->()->{err}, qr/-out .*: its folder must take a temporary file, which becomes the output: Permission denied/, 'a folder that may not be written');
    chmod(0777, $place);
    is(names() . slurp($out), 'outbefore', 'what was there stays');
    skip('it takes root to have files of others', 4) if !@nobody;
    chmod(01777, $place);
    like($try->()->{err}, qr/-out .*: it cannot be replaced, .*: Operation not permitted/, "another user's file in a folder like /tmp");
    is(names() . slurp($out), 'outbefore', 'stays, and that is known before anything is written');
    chmod(0777, $place);
    chown(1, 100, spew("$place/group", 'before'));
    chmod(0664, "$place/group");
    is($try->("$place/group")->{status}, 0, 'a file of another user');
    is(sprintf('%d %d %o', (stat("$place/group"))[4, 5], S_IMODE((stat(_))[2])), '65534 100 664', 'keeps its group');
    unlink("$place/group");
}
# In a folder like /tmp another user may have put there what root is about to write to.
SKIP: {
    skip('it takes root to have files of others', 5) if !@nobody;
    chmod(01777, $place);
    chown(65534, 65534, spew("$place/trap", 'before'));
    my $result = gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/trap"]);
    like($result->{err}, qr/-out .*: another user's file, in a folder with the sticky bit, .*: Permission denied/,
        "another user's file in a folder like /tmp: root does not replace it");
    is(slurp("$place/trap") . (stat("$place/trap"))[4], 'before65534', 'and it stays');
    unlink("$place/trap");

    mkfifo("$place/trap", 0666) && chown(65534, 65534, "$place/trap") or die "fifo: $!";
    sysopen(my $reader, "$place/trap", O_RDONLY | O_NONBLOCK) or die "fifo: $!";
    $result = gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/trap"]);
    like($result->{err}, qr/-out .*: another user's file, .*: Permission denied/, "another user's named pipe there: the same");
    ok(!sysread($reader, my $got, 1), 'and gets nothing');
    close($reader);
    unlink("$place/trap");

    chmod(0755, $place);
    chown(65534, 65534, spew("$place/trap", 'before'));
    is(gpuaes(['enc', @cipher, '-in', $in, '-out', "$place/trap"])->{status}, 0, "root replaces another user's file elsewhere");
    unlink("$place/trap");
}
# Where the group cannot be passed on, nobody may do more than before, in whichever group they are.
SKIP: {
    skip('it takes root to have files of others', 8) if !@nobody || run([@nobody, $gpuaes_command, '--version'])->{status};
    chmod(0777, $place);
    chmod(0644, $in);
    my $file = "$place/group";
    my $try = sub {
        my ($name, $wanted) = @_;
        my $result = run([@nobody, $gpuaes_command, 'enc', @cipher, '-in', $in, '-out', $file], env => $ours);
        is($result->{status}, 0, "$name of a group that this user is not in") or diag($result->{err});
        is(sprintf('%d %d ', (stat($file))[4, 5]) . mode($file), "65534 65534 $wanted", "is $wanted then");
        unlink($file);
    };
    foreach my $case ([0660, '600'], [0664, '644'], [0606, '600']) {
        my ($mode, $wanted) = @$case;
        chown(65534, 4242, spew($file, 'before'));
        chmod($mode, $file);
        $try->(sprintf('a file %o', $mode), $wanted);
    }
    skip('no ACL can be set', 2) if !$has_acls || !set_acl(spew($file, 'before'), 'access', @for_daemon);
    chown(65534, 4242, $file);
    $try->('a file with an ACL', '700');
}
chmod(0700, $place);
{
    my $full = gpuaes(['enc', @cipher, '-in', $in, '-out', '/dev/full']);
    refused($full, qr{^gpuaes enc: /dev/full: No space left on device}m, 'a device that is full');
}
{
    my $limited = shell('ulimit -f 100; exec "$0" "$@"', 'enc', @cipher, '-bufsize', 4096, '-in', $in, '-out', $out);
    refused($limited, qr/^gpuaes enc: .*File too large/m, 'a limit of the size of files');
    is(names() . slurp($out), 'outbefore', 'what was there stays, and nothing else is');
}
SKIP: {
    skip('no file can be mounted', 3) if $> != 0 || system('mount', '--bind', $in, $out);
    my $result = gpuaes(['enc', @cipher, '-in', $in, '-out', $out]);
    my $sent = shell("\"\$0\" enc @cipher -in \"\$1\" >\"\$2\"", spew("$folder/other", $plain), $out);
    system('umount', $out);
    like($result->{err}, qr/^gpuaes enc: -out .*: it cannot be replaced, but standard output could be sent there: /m, 'a file that is a mount');
    ok(!$sent->{status} && slurp($in) eq $coded, 'gets standard output, as is said');
    is(names() . slurp($out), 'outbefore', 'nothing lies next to it');
    spew($in, $plain);
}
{
    # Somebody cuts the input off meanwhile: it is found out, not written as if that were all.
    # The password is asked for when the input is open.
    mkfifo("$folder/word", 0600) or die "fifo: $!";
    spew("$folder/cut", $plain);
    my $pid = start([$gpuaes_command, 'enc', '-aes-256-ctr', '-pbkdf2', '-pass', "file:$folder/word", '-in', "$folder/cut",
            '-out', $out], env => $ours, err => "$folder/stderr");
    open(my $to, '>', "$folder/word") or die "fifo: $!";
    truncate("$folder/cut", 1000) or die "cut: $!";
    syswrite($to, "word\n");
    close($to);
    waitpid($pid, 0);
    is($? >> 8, 1, 'an input that becomes shorter');
    like(slurp("$folder/stderr"), qr/it became shorter while it was read/, 'is named');
    is(names() . slurp($out), 'outbefore', 'what was there stays, and nothing else is');
}

# ---- A file that must not be replaced ----------------------------------------------------

{
    my $keep = sub { my ($to, @how) = @_; return gpuaes(['enc', @cipher, '--no-clobber', '-in', $in, '-out', $to], @how) };
    my $exists = qr/^gpuaes enc: (?:-out )?\Q$out\E: File exists$/m;
    refused($keep->($out), $exists, '--no-clobber: a file that exists');
    symlink('out', "$place/link") or die "link: $!";
    refused($keep->("$place/link"), qr/^gpuaes enc: -out .*: File exists$/m, 'and a link to one');
    unlink("$place/link");
    is(names() . slurp($out), 'outbefore', 'it stays, and nothing else is there');
    is($keep->('/dev/null')->{status}, 0, 'a device is written to');
    ok($keep->('-')->{out} eq $coded, 'so is standard output');

    # Where the file system cannot rename in that way, a link does it.
    spew("$folder/links.c", "#include <errno.h>\nint renameat2(int f, const char *a, int t, const char *b, unsigned n)\n"
        . "{ (void)f; (void)a; (void)t; (void)b; (void)n; errno = EINVAL; return -1; }\n");
    my $links = !$ENV{GPUAES_TEST_SANITIZER} && !run(['cc', '-shared', '-fPIC', '-o', "$folder/links.so", "$folder/links.c"])->{status};
    foreach my $way ('a name', 'a link') {
      SKIP: {
            skip('a sanitizer wants to be first, or there is no C compiler', 5) if $way eq 'a link' && !$links;
            local $ENV{LD_PRELOAD} = "$folder/links.so" if $way eq 'a link';
            is($keep->("$place/new")->{status}, 0, "--no-clobber, by $way: a new file");
            ok(slurp("$place/new") eq $coded, 'has what it should');
            unlink("$place/new", $out);
            my ($pid, $to) = held('--no-clobber', '-out', $out);
            wait_for(\&is_written);
            spew($out, 'before');
            close($to);
            waitpid($pid, 0);
            is($? >> 8, 1, 'a file that somebody makes meanwhile is an error');
            like(slurp("$folder/stderr"), $exists, 'which is said');
            is(names() . slurp($out), 'outbefore', 'and it stays');
        }
    }
}

# ---- Signals --------------------------------------------------------------------------------

# All that end a process and can be caught; of the real-time ones the first and the last. They have
# one handler: a sanitizer, which itself makes reports of some, gets two.
my @signal_names = split(' ', $Config{sig_name});
my %left_out = map { $_ => 1 } qw(ZERO KILL STOP CHLD CONT URG WINCH TSTP TTIN TTOU XFSZ);
my @signals = $ENV{GPUAES_TEST_SANITIZER} ? qw(INT RTMAX)
    : grep { !/^(?:NUM.*|IOT|CLD|POLL)$/ && !$left_out{$_} } @signal_names;
foreach my $signal (@signals) {
    local $SIG{$signal} = 'DEFAULT';    # who runs this may ignore it, as nohup does
    my ($pid, $to) = held('-out', $out);
    ok(wait_for(\&is_written), "$signal: output is being written");
    is(slurp($out), 'before', "$signal: not under its name");
    kill($signal, $pid);
    waitpid($pid, 0);
    ok(WIFSIGNALED($?) && $signal_names[WTERMSIG($?)] eq $signal, "$signal: the process ends by it");
    is(names() . slurp($out), 'outbefore', "$signal: what was there stays, and nothing else is");
}
# Until it is complete it is for its user alone, whatever it becomes then.
foreach my $name ('new', 'out') {
    chmod(0644, $out);
    my ($pid, $to) = held('-out', "$place/$name");
    ok(wait_for(\&is_written), "$name: output is being written");
    is(join(' ', map { mode($_) } glob("$place/.$name.*")), '600', 'to a file that nobody else may read');
    close($to);
    waitpid($pid, 0);
    is(mode("$place/$name"), '644', 'which others may read in the end');
    unlink("$place/new");
    spew($out, 'before');
}
# Whoever makes a file of the name meanwhile gets no say in who may read the output.
{
    my $before = umask(077);
    my ($pid, $to) = held('-out', "$place/new");
    ok(wait_for(\&is_written), 'output is being written');
    spew("$place/new", '');
    chmod(0666, "$place/new");
    close($to);
    waitpid($pid, 0);
    is(mode("$place/new"), '600', 'the file has the permissions of a new one, not of one that came meanwhile');
    unlink("$place/new");
    umask($before);
}
{
    my ($pid, $to) = held('-out', $out);
    ok(wait_for(\&is_written), 'output is being written');
    syswrite($to, $plain, length($plain) - 60000, 60000);
    close($to);
    waitpid($pid, 0);
    ok(!$? && slurp($out) eq $coded, 'without a signal it is there in the end') or diag(slurp("$folder/stderr"));
    is(names(), 'out', 'and nothing lies next to it');
}

# At any moment: the file is there or it is not, and nothing lies next to it.
{
    my @wrong;
    my $long = spew("$folder/long", $plain x 40);
    my $right = run(['openssl', 'enc', @cipher, '-in', $long], env => without_gpuaes())->{out};
    foreach my $round (1 .. 24) {
        spew($out, 'before');
        my $pid = start([$gpuaes_command, 'enc', @cipher, '-bufsize', 65536, '-in', $long, '-out', $out], env => $ours);
        select(undef, undef, undef, $round * 0.004);
        kill($round % 2 ? 'TERM' : 'INT', $pid);
        waitpid($pid, 0);
        my $is = slurp($out) eq 'before' ? 'before' : slurp($out) eq $right ? 'coded' : 'something';
        push(@wrong, "$round: $is, status $?, " . names()) if names() ne 'out' || $is eq ($? ? 'something' : 'before');
    }
    is("@wrong", '', 'a signal at any moment leaves all or nothing');
    spew($out, $coded);
}

# ---- Pipes, devices, and other files ------------------------------------------------------------

{
    my ($reader, $writer);
    pipe($reader, $writer) or die "pipe: $!";
    my $pid = fork() // die "fork: $!";
    if (!$pid) {
        close($reader);
        for (my $at = 0; $at < length($plain); $at += 997) {
            syswrite($writer, $plain, 997, $at);
        }
        exec('true');
    }
    close($writer);
    my $result = gpuaes(['enc', @cipher, '-bufsize', 4096], in => '/dev/fd/' . fileno($reader));
    waitpid($pid, 0);
    ok($result->{out} eq $coded, 'from a pipe that gives little at a time');
}
# Lines of a shell in which ENC is our command, and DEC; what they print; and with which words.
my $never_wait = q{perl -e 'use Fcntl; foreach (*STDIN, *STDOUT) { fcntl($_, F_SETFL, fcntl($_, F_GETFL, 0) | O_NONBLOCK) or die }'};
my ($longer, $several) = (spew("$folder/long", $plain x 5), "$folder/several");
my $longer_coded = run(['openssl', 'enc', @cipher, '-in', $longer], env => without_gpuaes())->{out};
spew($out, $coded);
foreach my $case (
    ['from pipe to pipe, in pieces of any length', $coded,
        '(for i in 1 2 3 4 5 6; do dd bs=50000 count=1 2>/dev/null; done) <"$1" | ENC -bufsize 12345 | (dd bs=777 count=3 2>/dev/null; cat)', $in],
    ['from pipe to pipe where none of them waits, as ssh makes them for all who have them', $longer_coded,
        "(head -c 100000 \"\$1\"; sleep 1; tail -c +100001 \"\$1\") | ($never_wait && exec ENC -bufsize 4096) | (sleep 1; cat)", $longer],
    ['to a pipe that closes', substr($coded, 0, 1000), 'ENC -in "$1" | head -c 1000', $in],
    ['standard output that others write to as well', "before\n${coded}behind\n",
        '(echo before; ENC -bufsize 4096 -in "$1"; echo behind) >"$2"; cat "$2"', $in, $several],
    ['and one that is appended to', "before\n${coded}behind\nmore\n$coded",
        'echo more >>"$2"; ENC -bufsize 4096 -in "$1" >>"$2"; cat "$2"', $in, $several],
    ['/dev/stdout is what it is', "before\n$coded", 'echo before >"$2"; ENC -in "$1" -out /dev/stdout >>"$2"; cat "$2"', $in, $several],
    ['standard input that somebody has read some of', substr($plain, 1000),
        '(dd bs=1000 count=1 of=/dev/null 2>/dev/null; exec DEC --piece --offset 1000) <"$1"', $out],
    ['standard input is left where the part ends', substr($plain, 100000) . substr($coded, 0, 100000),
        '(ENC --length 100000 >"$2"; cat) <"$1"; cat "$2"', $in, $several],
    ['that of a short file, too', substr($plain, 100, 200) . substr($coded, 0, 100), '(ENC --length 100 >"$2"; cat) <"$1"; cat "$2"',
        spew("$folder/few", substr($plain, 0, 300)), $several],
    ['a folder by its name in /proc', $coded, 'cd "$2" && ENC -in "$1" -out /proc/self/cwd/open && cat open && rm open', $in, $place],
    ['/dev/null is still a device', "device\n", 'ENC -in "$1" -out /dev/null && test -c /dev/null && echo device', $in],
    )
{
    my ($name, $expected, $lines, @words) = @$case;
    my $result = shell($lines =~ s/\b(ENC|DEC)\b/"\$0" \L$1\E @cipher/gr, @words);
    ok($result->{out} eq $expected, $name) or diag($result->{err});
}
{
    # By one thread, so that all pieces in front of the last one are written before the error.
    my @cbc = ('-aes-256-cbc', '-K', '5a' x 32, '-iv', '01' x 16);
    my $cut = spew("$folder/cut", substr(run(['openssl', 'enc', @cbc, '-in', $in], env => without_gpuaes())->{out}, 0, 10_000 - 1));
    my $shared = shell("(echo before; \"\$0\" dec @cbc -bufsize 4096 -threads 1 -in \"\$1\"; echo behind) >\"\$2\" 2>&1; cat \"\$2\"", $cut, $several);
    like($shared->{out}, qr/\Abefore\n\Q${\substr($plain, 0, 8192)}\Egpuaes dec: wrong final block length: [^\n]*\nbehind\n\z/,
        'a message in the same file is behind the output');
}
{
    my $zeros = spew("$folder/zeros", "\0" x 20_000_000);
    foreach (['', qr/\A141\n\z/], ["trap '' PIPE; ", qr/^gpuaes enc: standard output: Broken pipe\n1$/m]) {
        my ($before, $said) = @$_;
        my $ended = run(['/bin/sh', '-c', "($before\"\$0\" enc @cipher -in \"\$1\"; echo \$? >&2) | head -c 1000", $gpuaes_command,
                $zeros], env => $ours);
        like($ended->{err}, $said, $before ? 'which is an error where the signal is ignored' : 'which ends it, as it does others');
    }
    unlink($zeros);
}
{
    my $fifo = "$place/fifo";
    mkfifo($fifo, 0600) or die "fifo: $!";
    my $pid = start([$gpuaes_command, 'enc', @cipher, '-in', $in, '-out', $fifo], env => $ours);
    ok(slurp($fifo) eq $coded, 'a fifo is written to');
    waitpid($pid, 0);
    ok(-p $fifo, 'and stays one');
    unlink($fifo);
}
# A file that is open has its name in /proc, and what that says is another one, or none.
foreach my $name ('/dev/fd/7', '/proc/self/fd/7', "$folder/seven") {
    symlink('/dev/fd/7', $name) if $name =~ /seven/;
    my $script = "\"\$0\" enc @cipher -bufsize 4096 -in \"\$1\" -out \"\$3\"";
    my @words = ($gpuaes_command, $in, "$place/open", $name);
    my $before = names();
    my $result = run(['/bin/sh', '-c', "exec 7<>\"\$2\"; rm \"\$2\"; $script && cat <&7", @words], env => $ours);
    is($result->{status}, 0, "$name of a file that has no name any more") or diag($result->{err});
    ok($result->{out} eq $coded, 'is written to');
    is(names(), $before, 'and nothing else is');
    my $inode = (stat(spew("$place/open", 'before')))[1];
    $result = run(['/bin/sh', '-c', "exec 7>>\"\$2\"; $script; echo more >&7", @words], env => $ours);
    is($result->{status}, 0, "$name of a file that others append to") or diag($result->{err});
    ok(slurp("$place/open") eq "${coded}more\n", 'has both');
    is((stat("$place/open"))[1], $inode, 'and is the same file');
    unlink("$place/open");
}
# Where one of the first three files is closed, another one gets its number.
foreach my $where (grep { -d && -w } '/dev/shm', $folder) {
    my $file = spew("$where/gpuaes-test-$$", $plain);
    foreach (['>&-', 'standard output'], ['1<"$1"', 'standard output, open for reading'], ['2>&- >/dev/full', 'standard error']) {
        my ($closed, $name) = @$_;
        my $result = shell("\"\$0\" enc @cipher -in \"\$1\" $closed", $file);
        is($result->{status} >> 8, 1, "$where: $name that is closed is an error");
        ok(slurp($file) eq $plain, 'and the input stays as it was');
    }
    unlink($file);
}
like(run(['/bin/sh', '-c', "\"\$0\" enc @cipher <&-", $gpuaes_command], env => $ours)->{err},
    qr/^gpuaes enc: standard input: Bad file descriptor/m, 'standard input that is closed');
like(run([$gpuaes_command, 'enc', '--help'], out => '/dev/full')->{err}, qr/^gpuaes enc: write error: No space left/m,
    'a help that cannot be printed');
{
    open(my $file, '>', "$folder/sparse") or die "sparse: $!";
    truncate($file, 5_000_000);
    close($file);
    my $theirs = run(['openssl', 'enc', @cipher, '-in', "$folder/sparse"], env => without_gpuaes());
    ok(gpuaes(['enc', @cipher, '-in', "$folder/sparse"])->{out} eq $theirs->{out}, 'a file with holes');
}
{
    foreach my $file (grep { -r } '/proc/version', '/sys/kernel/mm/transparent_hugepage/enabled', '/sys/kernel/uevent_seqnum') {
        my $theirs = run(['openssl', 'enc', @cipher, '-in', $file], env => without_gpuaes());
        my $result = gpuaes(['enc', @cipher, '-in', $file]);
        ok(length($result->{out}) && $result->{out} eq $theirs->{out}, "$file, which does not say how long it is");
    }
}
{
    my $shown = gpuaes(['enc', @cipher, '--progress', '-in', $in, '-out', $out]);
    is($shown->{status}, 0, '--progress');
    my $fifo = "$folder/slow";
    mkfifo($fifo, 0600) or die "fifo: $!";
    my $pid = start([$gpuaes_command, 'enc', @cipher, '--progress', '-in', $fifo, '-out', $out], env => $ours,
        err => "$folder/progress");
    open(my $to, '>', $fifo) or die "fifo: $!";
    syswrite($to, $plain, 5000);
    ok(wait_for(sub { slurp("$folder/progress") =~ m{ GB/s} }), 'shows a rate after a while');
    close($to);
    waitpid($pid, 0);
    like(slurp("$folder/progress"), qr/\r\e\[K\d+ bytes in \d+\.\d\d s, \d+\.\d\d GB\/s\n\z/,
        'and takes the line away at the end, for bytes, seconds and rate');
    my $shared = shell("(head -c 5000 \"\$1\"; sleep 1; tail -c +5001 \"\$1\") | \"\$0\" enc @cipher -bufsize 4096 --progress >\"\$2\" 2>&1; cat \"\$2\"",
        $in, $several);
    like($shared->{out}, qr/\A\Q$coded\E\d+ bytes in [^\r\n]*\n\z/, 'and draws none into the output');
    my $coded = run([$gpuaes_command, 'base64', '--progress', $in], env => $ours);
    like($coded->{err}, qr/(?:^|\r\e\[K)${\length($plain)} bytes in \d+\.\d\d s, /m, 'base64 --progress sums up, too');
    # On a terminal by itself, and never wider than that is.
    SKIP: {
        skip('script is not installed', 8) if system('script --version >/dev/null 2>&1');
        my $slow = spew("$folder/slow.sh", "stty cols \$1\n(head -c 5000 $in; while ! [ -e $folder/seen ]; do sleep 0.1; done) |\n"
                . "    $gpuaes_command enc @cipher -out $out \$2\n");
        foreach (map { my $option = $_; map { [$_, $option] } 20, 60 } '', '--no-progress') {
            my ($columns, $option) = @$_;
            unlink("$folder/seen", "$folder/terminal");
            my $watched = start(['script', '-qec', "sh $slow $columns $option", '/dev/null'], env => $ours, out => "$folder/terminal");
            my $shown = $option ? sleep(1) : wait_for(sub { slurp("$folder/terminal") =~ m{0\.00 GB} });
            spew("$folder/seen", '');
            waitpid($watched, 0);
            my @lines = slurp("$folder/terminal") =~ /\r\e\[K([^\r\n\e]*)(?=\r\e)/g;
            ok($option ? !@lines : $shown && @lines, "$columns columns: " . ($option || 'by itself'));
            is(scalar(grep { length >= $columns } @lines), 0, 'no line is too wide');
        }
    }
    foreach my $command (['enc', @cipher, '-in', $in, '-out', $out], ['base64', $in]) {
        my $quiet = gpuaes($command);
        unlike($quiet->{err}, qr{GB/s}, "$command->[0]: and nothing where stderr is no terminal");
    }

    # Ciphertext on a terminal.
    SKIP: {
        skip('script is not installed', 8) if system('script --version >/dev/null 2>&1');
        my $on_terminal = sub { return run(['script', '-qec', "$gpuaes_command @_", '/dev/null'], env => $ours) };
        my $refused = $on_terminal->('enc', @cipher, '-in', $in);
        is($refused->{status} >> 8, 1, 'ciphertext is not written to a terminal');
        like($refused->{out}, qr/^gpuaes enc: the encrypted data would go to the terminal: name a file by -out, or add -a/, 'which says what to do');
        cmp_ok(length($refused->{out}), '<', 300, 'and nothing else comes');
        foreach my $good (['enc', '-a'], ['enc', '-out', '-'], ['enc', '-P'], ['dec'], ['enc', '-out', $out]) {
            my ($direction, @more) = @$good;
            is($on_terminal->($direction, @cipher, @more, '-in', $in)->{status}, 0, "$direction @more is no such case");
        }
    }
}

done_testing();
