/*
 * Keystream made ahead, by libgpuaes itself on the emulator: that it is right, how the
 * position moves, limits of memory, and what ends it: another keystream, the release of
 * an idle device, a device that fails, a fork, the end of the process. The expected bytes
 * are libcrypto's. Each scene is a process of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/library.h"

enum { KIB = 1 << 10, LENGTH = 4 << 20 };

struct scene {
    const char *emulator;
    struct gpuaes_settings settings;
    int (*play)(void); /* 1: right */
};

static struct expected e;
static unsigned char *out;

static int play_in_child(const void *argument)
{
    const struct scene *scene = argument;
    emulator_configure(scene->emulator);
    configure(&scene->settings);
    expect(&e, GPUAES_CTR, LENGTH);
    out = malloc(LENGTH);
    int right = scene->play();
    expected_free(&e);
    free(out);
    return !right;
}

static void check(struct scene scene, const char *what)
{
    child_ok(play_in_child, &scene, "%s", what);
}

static int starts(void)
{
    return gpuaes_start(NULL, NULL, 1) == GPUAES_READY;
}

static struct gpuaes_statistics statistics(void)
{
    struct gpuaes_statistics s = {.struct_bytes = sizeof s};
    gpuaes_get_statistics(&s);
    return s;
}

static enum gpuaes_status open_flags(struct gpuaes_keystream **k, unsigned flags)
{
    return gpuaes_keystream_open(k, &e.schedule, e.iv, flags);
}

static int opens(struct gpuaes_keystream **k)
{
    return open_flags(k, GPUAES_ALLOCATE) == GPUAES_OK;
}

/* ---- Use ---------------------------------------------------------------------- */

/* A late segment is asked for again only as the stream goes on, so this skips some of it. */
static int order_waiting(struct gpuaes_keystream *k)
{
    while (gpuaes_keystream_position(k) + 4 * KIB < LENGTH) {
        int more = gpuaes_keystream_order(k);
        (void)COMES(emulator_under_way() == 0); /* however slow it is */
        if (more || !gpuaes_keystream_is_open(k))
            return more;
        gpuaes_keystream_skip(k, 4 * KIB);
    }
    return 0;
}

/*
 * Up to `end`, in random pieces, some in place; no further than there is text, since waiting
 * for a slow device skips some, too. Counts what was given; 1 if that was right.
 */
static int goes_to(struct gpuaes_keystream *k, size_t end, size_t *given)
{
    end = end < LENGTH ? end : LENGTH;
    for (uint64_t at = gpuaes_keystream_position(k); at < end;) {
        size_t most = (size_t)(end - at), len = 1 + tap_random_below(&random_state, 40 * KIB);
        int in_place = tap_random_below(&random_state, 2) != 0;
        len = len < most ? len : most;
        if (in_place)
            memcpy(out + at, e.plain + at, len);
        size_t done = gpuaes_keystream_xor(k, in_place ? out + at : e.plain + at, out + at, len);
        if (done > len || gpuaes_keystream_position(k) != at + done ||
            memcmp(out + at, e.cipher + at, done) != 0) {
            tap_diag("wrong within %zu bytes from %llu on", len, (unsigned long long)at);
            return 0;
        }
        *given += done;
        if (done < len && !order_waiting(k))
            gpuaes_keystream_skip(k, len - done);
        at = gpuaes_keystream_position(k);
    }
    return 1;
}

static int gives(struct gpuaes_keystream *k, size_t end)
{
    size_t given = 0;
    if (!goes_to(k, end, &given))
        return 0;
    if (given == 0)
        tap_diag("nothing was given");
    return given != 0;
}

/* It gives nothing any more, and says so when it comes to what it would have ordered. */
static int is_over(struct gpuaes_keystream *k)
{
    for (int i = 0; i < 300; i++) {
        uint64_t position = gpuaes_keystream_position(k);
        if (gpuaes_keystream_xor(k, e.plain, out, 100) != 0 || gpuaes_keystream_order(k) ||
            gpuaes_keystream_position(k) != position)
            return 0;
        if (!gpuaes_keystream_is_open(k))
            return 1;
        gpuaes_keystream_skip(k, 64 * KIB);
    }
    return 0;
}

/* ---- Scenes ------------------------------------------------------------------- */

static int play_stream(void)
{
    struct gpuaes_keystream *k;
    uint64_t before = statistics().read_ahead_bytes;
    size_t given = 0;
    int right = starts() && opens(&k);
    if (!right)
        return 0;
    right = goes_to(k, LENGTH, &given) && given > LENGTH / 4 && gpuaes_keystream_is_open(k) &&
            gpuaes_keystream_xor(k, e.plain, out, 0) == 0;
    gpuaes_keystream_close(k);
    gpuaes_keystream_close(NULL);
    struct gpuaes_statistics s = statistics();
    return right && s.read_ahead_bytes - before == given && s.bytes == 0 && s.faults == 0;
}

static int play_skips(void)
{
    static const size_t skips[] = {1, 15, 16, 4095, 100000, 256 * KIB, 300001, 700000};
    struct gpuaes_keystream *k;
    int right = starts() && opens(&k);
    if (!right)
        return 0;
    for (size_t i = 0; right && i < sizeof skips / sizeof skips[0]; i++) {
        uint64_t at = gpuaes_keystream_position(k);
        gpuaes_keystream_skip(k, skips[i]);
        size_t given = 0;
        right = gpuaes_keystream_position(k) == at + skips[i] &&
                goes_to(k, (size_t)at + skips[i] + 50000, &given);
    }
    right = right && gives(k, LENGTH) && gpuaes_keystream_is_open(k);
    gpuaes_keystream_close(k);
    return right;
}

/* A counter that wraps after 300 KiB at so many bytes. */
static int wraps(unsigned bytes)
{
    struct gpuaes_keystream *k;
    unsigned char iv[16];
    unsigned back = 300 * KIB / GPUAES_BLOCK;
    memset(e.iv + 16 - bytes, 0xff, bytes);
    for (unsigned i = 15; i > 12; i--, back >>= 8)
        e.iv[i] = (unsigned char)(0xff - (back & 0xff));
    memcpy(iv, e.iv, sizeof iv);
    reference(GPUAES_CTR, e.key, key_size_of(e.schedule.rounds), iv, e.plain, e.cipher, LENGTH);
    if (!opens(&k))
        return 0;
    size_t given = 0;
    int right = goes_to(k, 900 * KIB, &given) && given > 512 * KIB;
    if (!right)
        tap_diag("wrap at %u bytes: %zu bytes were given", bytes, given);
    gpuaes_keystream_close(k);
    return right;
}

static int play_wraps(void)
{
    return starts() && wraps(4) && wraps(8) && wraps(16);
}

static int play_arguments(void)
{
    char anything;
    struct gpuaes_keystream *k = (struct gpuaes_keystream *)&anything;
    struct gpuaes_key bad = e.schedule;
    bad.rounds = 11;
    int right = open_flags(&k, GPUAES_ALLOCATE) == GPUAES_NOT_READY && k == NULL && starts() &&
                gpuaes_keystream_open(&k, &bad, e.iv, 0) == GPUAES_BAD_ARGUMENT && k == NULL &&
                gpuaes_keystream_open(&k, NULL, e.iv, 0) == GPUAES_BAD_ARGUMENT && k == NULL &&
                gpuaes_keystream_open(&k, &e.schedule, NULL, 0) == GPUAES_BAD_ARGUMENT && k == NULL;
    return right && statistics().pinned_bytes == 0;
}

/* Memory is at hand without GPUAES_ALLOCATE once another keystream has had some. */
static int play_busy(void)
{
    struct gpuaes_keystream *k, *l;
    int right = starts() && open_flags(&k, 0) == GPUAES_BUSY && k == NULL && opens(&k) &&
                open_flags(&l, 0) == GPUAES_BUSY && l == NULL;
    if (!right)
        return 0;
    gpuaes_keystream_close(k);
    uint64_t pinned = statistics().pinned_bytes;
    right = open_flags(&k, 0) == GPUAES_OK && statistics().pinned_bytes == pinned &&
            gives(k, 600 * KIB);
    gpuaes_keystream_close(k);
    return right;
}

static unsigned char *held_text; /* cannot be read until may_go_on */
static atomic_int is_held, may_go_on;

static void hold(int number)
{
    (void)number;
    is_held = 1;
    while (!may_go_on)
        sleep_ms(1);
    (void)mprotect(held_text, 4 * KIB, PROT_READ);
}

static void *use_and_hold(void *k)
{
    return gpuaes_keystream_xor(k, held_text, out, 4 * KIB) != 0 ? k : NULL;
}

/* While `k` is in the middle of a use, which does not count as resting however long it takes. */
static int is_refused_beside(struct gpuaes_keystream *k)
{
    struct gpuaes_keystream *l;
    struct sigaction action = {.sa_handler = hold}, before;
    pthread_t thread;
    void *used;
    held_text = mmap(NULL, 4 * KIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (held_text == MAP_FAILED || !order_waiting(k) || sigaction(SIGSEGV, &action, &before) != 0 ||
        pthread_create(&thread, NULL, use_and_hold, k) != 0)
        return 0;
    while (!is_held)
        sleep_ms(1);
    int right = open_flags(&l, GPUAES_ALLOCATE) == GPUAES_NO_MEMORY && l == NULL;
    may_go_on = 1;
    pthread_join(thread, &used);
    (void)sigaction(SIGSEGV, &before, NULL);
    return right && used != NULL;
}

/* At most a minute. */
static int opens_at_last(struct gpuaes_keystream **k)
{
    int opened = opens(k);
    for (int i = 0; i < 6000 && !opened; i++) {
        sleep_ms(10);
        opened = opens(k);
    }
    return opened;
}

/* Room for one: another gets what that one has once it rests, or gives it back. */
static int play_cap(void)
{
    struct gpuaes_keystream *k, *l;
    if (!starts() || !opens(&k) || !gives(k, 600 * KIB) || !is_refused_beside(k))
        return 0;
    uint64_t position = gpuaes_keystream_position(k);
    int right = opens_at_last(&l) && is_over(k) && gpuaes_keystream_position(k) == position &&
                gives(l, 600 * KIB);
    gpuaes_keystream_close(k);
    k = NULL;
    right = right && gives(l, 900 * KIB); /* the one that lost it has given nothing back */
    gpuaes_keystream_close(l);
    right = right && opens(&k) && gives(k, 600 * KIB);
    gpuaes_keystream_close(k);
    return right && statistics().pinned_peak <= 768 * KIB;
}

static int play_no_memory(void)
{
    struct gpuaes_keystream *k;
    int started = starts();
    enum gpuaes_status status = open_flags(&k, GPUAES_ALLOCATE);
    if (status != GPUAES_NO_MEMORY || statistics().pinned_bytes != 0)
        tap_diag("%s, %llu bytes pinned", gpuaes_status_text(status),
                 (unsigned long long)statistics().pinned_bytes);
    return started && status == GPUAES_NO_MEMORY && k == NULL && statistics().pinned_bytes == 0 &&
           gpuaes_state() == GPUAES_READY;
}

static int play_idle(void)
{
    struct gpuaes_keystream *k, *l;
    int right = starts() && opens(&k) && gives(k, 400 * KIB);
    if (!right)
        return 0;
    right = library_becomes(GPUAES_OFF) && statistics().pinned_bytes == 0 && is_over(k) &&
            open_flags(&l, GPUAES_ALLOCATE) == GPUAES_NOT_READY && starts() && is_over(k);
    gpuaes_keystream_close(k);
    right = right && opens(&k) && gives(k, 600 * KIB);
    gpuaes_keystream_close(k);
    return right && statistics().faults == 0;
}

static int play_fault_at_once(void)
{
    struct gpuaes_keystream *k;
    if (!starts())
        return 0;
    emulator_configure("lost=launch_kernel:1");
    return open_flags(&k, GPUAES_ALLOCATE) == GPUAES_FAULT && k == NULL &&
           gpuaes_state() == GPUAES_FAILED && statistics().faults != 0;
}

static int play_fault_later(void)
{
    struct gpuaes_keystream *k;
    if (!starts() || !opens(&k) || !gives(k, 400 * KIB))
        return 0;
    emulator_configure("lost=event_query:2");
    size_t given = 0;
    int right = goes_to(k, LENGTH, &given) && is_over(k) && gpuaes_state() == GPUAES_FAILED;
    gpuaes_keystream_close(k);
    return right && statistics().faults != 0;
}

/* The child gives nothing, and the parent goes on. */
static int play_fork(void)
{
    struct gpuaes_keystream *k, *l;
    int status = -1;
    if (!starts() || !opens(&k) || !gives(k, 400 * KIB) || !order_waiting(k))
        return 0;
    pid_t child = fork();
    if (child == 0) {
        int right = gpuaes_keystream_xor(k, e.plain, out, 100) == 0 && is_over(k) &&
                    open_flags(&l, GPUAES_ALLOCATE) == GPUAES_NOT_READY;
        gpuaes_keystream_close(k);
        _exit(!right);
    }
    int right = gives(k, LENGTH) && waitpid(child, &status, 0) == child && status == 0;
    gpuaes_keystream_close(k);
    return right && statistics().faults == 0;
}

/* ---- Several devices ---------------------------------------------------------- */

static void *open_one(void *k)
{
    return opens(k) ? k : NULL;
}

/* Each thread has a device of its own; when one is lost the other still gives. */
static int play_devices(void)
{
    struct gpuaes_keystream *k[4] = {NULL};
    pthread_t threads[4];
    void *result;
    int right = starts();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, open_one, &k[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        right = right && result != NULL;
    }
    right = right && emulator_device_launches(0) != 0 && emulator_device_launches(1) != 0;
    for (int i = 0; right && i < 4; i++)
        right = gives(k[i], 600 * KIB);
    emulator_configure("devices=2,fault-device=0,lost=launch_kernel:1");
    size_t given = 0;
    for (int i = 0; right && i < 4; i++)
        right = goes_to(k[i], LENGTH, &given);
    for (int i = 0; i < 4; i++)
        gpuaes_keystream_close(k[i]);
    right = right && given != 0 && gpuaes_state() == GPUAES_READY && opens(&k[0]) &&
            gives(k[0], 600 * KIB);
    if (right)
        gpuaes_keystream_close(k[0]);
    return right;
}

/* Room for one ring: once its device is lost another device may have as much. */
static int play_share(void)
{
    struct gpuaes_keystream *k, *l;
    char options[96];
    size_t given = 0;
    if (!starts() || !opens(&k) || !gives(k, 400 * KIB))
        return 0;
    snprintf(options, sizeof options, "devices=2,fault-device=%d,lost=launch_kernel:1,stay-lost=1",
             emulator_device_launches(0) == 0);
    emulator_configure(options);
    int right = goes_to(k, LENGTH, &given) && is_over(k);
    gpuaes_keystream_close(k);
    right = right && gpuaes_state() == GPUAES_READY && opens(&l) && gives(l, 600 * KIB);
    if (right)
        gpuaes_keystream_close(l);
    return right && statistics().faults != 0;
}

/* ---- Exit ---------------------------------------------------------------------- */

static const void *unreadable;
static atomic_int is_stopped;

static void stop(int number)
{
    (void)number;
    is_stopped = 1;
    for (;;)
        pause();
}

static void *use_and_stop(void *k)
{
    (void)gpuaes_keystream_xor(k, unreadable, out, 4 * KIB);
    _exit(1);
}

static void end_well(void)
{
    _exit(0);
}

/* A thread stops for ever in the middle of a use of keystream; the process ends all the same. */
static int play_stopped_at_exit(void)
{
    struct gpuaes_keystream *k;
    struct sigaction action = {.sa_handler = stop};
    pthread_t thread;
    unreadable = mmap(NULL, 4 * KIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unreadable == MAP_FAILED || atexit(end_well) != 0 || !starts() || !opens(&k) ||
        !order_waiting(k) || sigaction(SIGSEGV, &action, NULL) != 0 ||
        pthread_create(&thread, NULL, use_and_stop, k) != 0)
        return 0;
    while (!is_stopped)
        sleep_ms(1);
    exit(1);
}

int main(void)
{
    const struct gpuaes_settings usual = {0};
    tap_random_seed(&random_state);
    check((struct scene){"", usual, play_stream}, "a stream is right");
    check((struct scene){"", usual, play_skips}, "and so it is with skips");
    check((struct scene){"", usual, play_wraps}, "counters wrap at 32, 64 and 128 bits");
    check((struct scene){"", usual, play_arguments}, "arguments are checked");
    check((struct scene){"", usual, play_busy}, "nothing is allocated without leave");
    check((struct scene){"", {.read_ahead_bytes = 768 * KIB}, play_cap}, "room for one alone");
    check((struct scene){"", {.read_ahead_bytes = 767 * KIB}, play_no_memory},
          "read_ahead_bytes is too small for any");
    check((struct scene){"", {.pinned_bytes = 767 * KIB}, play_no_memory}, "so is pinned_bytes");
    check((struct scene){"pinned=1", usual, play_no_memory}, "the system has no more");
    check((struct scene){"", {.idle_seconds = 10}, play_idle}, "an idle device is released");
    check((struct scene){"", usual, play_fault_at_once}, "the device is lost at once");
    check((struct scene){"", usual, play_fault_later}, "the device is lost later");
    check((struct scene){"fork=shared", usual, play_fork}, "a fork, pinned memory is shared");
    check((struct scene){"fork=absent", usual, play_fork}, "a fork, pinned memory is absent");
    check((struct scene){"devices=2", {.devices = GPUAES_ALL_DEVICES}, play_devices},
          "two devices, of which one is lost");
    check((struct scene){"devices=2",
                         {.devices = GPUAES_ALL_DEVICES, .read_ahead_bytes = 768 * KIB},
                         play_share},
          "room for one, whose device is lost");
    check((struct scene){"ends-at-exit=1", usual, play_stopped_at_exit},
          "the process ends while a thread is stopped in the middle of a use");
    return tap_done();
}
