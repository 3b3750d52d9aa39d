/*
 * Gathering updates: those who wait, and the thread that has them done.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "gather.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "aes_messages.h"
#include "aes_update.h"
#include "engine.h"
#include "engine_measure.h"
#include "errors.h"
#include "gather_choice.h"
#include "helper.h"
#include "job.h"

/* Groups under way at once, of the sixteen lanes of a device; messages that wait, at most. */
enum { FLIGHTS = 4, QUEUE_MOST = 4096 };

/*
 * A group of jobs is complete when as many wait as did lately, or no other one has come for some
 * time: a thread starts jobs one after the other, in a microsecond each, until it has no more.
 */
static const double longest_ns = 5e6, longest_beside_ns = 1e6;

/* How often groups that are under way are looked at; how long the thread stays for the next. */
static const double look_ns = 20e3, idle_ns = 2e9;

/* An update that waits, on its caller's stack. */
struct gathered {
    struct aes_message message;
    struct gather_work work;
    struct job_wait wait;
    struct gathered *next;
    pthread_t thread;
    double came;
    int taken; /* from the queue: the gathering thread may touch its context */
    int flown; /* it was part of a launch */
};

/* The lock comes before that of the helpers, and no other one is taken within it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct gathered *first, **last;
    unsigned count;
    double latest;    /* when the last one came */
    double window;    /* threads among them wait for so long; 0: there are jobs alone */
    int runs, sleeps; /* the thread; it wants to be woken */
    int is_torn;      /* the process was forked without the lock */
    _Atomic(const struct gather_cell *) open; /* of the first one */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

/* How often this thread is where it has the lock: more than once, in the handler of a signal. */
static _Thread_local volatile int at_lock;

/* What only the gathering thread touches. */
struct group {
    struct aes_flight flight; /* without messages: it is not in use */
    struct gathered *gathered[GATHER_GROUP];
    struct aes_message *messages[GATHER_GROUP];
    struct gather_group shape;
    double begun;
};
static struct group groups[FLIGHTS];
static unsigned under_way; /* messages */
static unsigned at_once;   /* messages that came together lately: for more nobody waits */
static double landed;      /* when the last group was done */

/* ---- The gathering thread: groups ------------------------------------------------------ */

static unsigned count_threads(const struct group *g, unsigned messages)
{
    pthread_t seen[64];
    unsigned count = 0, i;
    for (unsigned m = 0; m < messages && count < 64; m++) {
        for (i = 0; i < count && !pthread_equal(seen[i], g->gathered[m]->thread); i++)
            continue;
        if (i == count)
            seen[count++] = g->gathered[m]->thread;
    }
    return count;
}

/* Takes what waits, up to a group. The lock is held. */
static void collect(struct group *g)
{
    unsigned n = 0;
    g->shape = (struct gather_group){.at_once = queue.count + under_way};
    for (; queue.first != NULL && n < GATHER_GROUP; n++) {
        struct gathered *each = queue.first;
        queue.first = each->next;
        each->taken = 1;
        g->gathered[n] = each;
        g->messages[n] = &each->message;
        g->shape.bytes += each->message.call.in_bytes;
        if (each->message.call.in_bytes > g->shape.longest)
            g->shape.longest = each->message.call.in_bytes;
    }
    queue.count -= n;
    if (queue.first == NULL) {
        queue.last = &queue.first;
        queue.window = 0;
    }
    atomic_store(&queue.open, queue.first != NULL ? queue.first->work.cell : NULL);
    g->shape.messages = n;
    g->begun = g->gathered[0]->came;
}

/* All of them go on; they may be gone when they were told. */
static void release(struct group *g)
{
    under_way -= g->shape.messages;
    g->flight.count = 0;
    gather_observe(g->flight.provider, &g->gathered[0]->work, &g->shape);
    for (unsigned i = 0; i < g->shape.messages; i++)
        job_wait_end(&g->gathered[i]->wait);
}

/* Those in device memory go by themselves, which finds out what to do with it. */
static unsigned leave_out_device_memory(struct group *g)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < g->shape.messages; i++) {
        struct gathered *each = g->gathered[i];
        struct work work = each->work.work;
        if (work.len >= engine_floor(each->message.context->provider) &&
            engine_find_memory(&work) == CHOICE_GPU_ONLY) {
            job_wait_end(&each->wait);
            continue;
        }
        g->gathered[kept] = each;
        g->messages[kept++] = &each->message;
    }
    return kept;
}

/* Each was chosen, for a group of the usual size. */
static int is_launched(struct group *g)
{
    const struct gather_work *first = &g->gathered[0]->work;
    if (engine_is_forced(g->flight.provider))
        return aes_flight_pays(&g->flight) == 1;
    int are_few = first->work.kind == WORK_CBC_ENCRYPT && g->shape.messages < GATHER_FEWEST;
    return !are_few && aes_flight_is_possible(&g->flight);
}

static void launch(struct group *g)
{
    g->shape.messages = leave_out_device_memory(g);
    if (g->shape.messages == 0)
        return;
    g->flight = (struct aes_flight){.provider = g->messages[0]->context->provider,
                                    .messages = g->messages,
                                    .count = g->shape.messages};
    g->shape.threads = count_threads(g, g->shape.messages);
    under_way += g->shape.messages;
    g->shape.launched = is_launched(g);
    for (unsigned i = 0; i < g->shape.messages; i++)
        g->gathered[i]->flown = g->shape.launched;
    if (g->shape.launched)
        aes_flight_begin(&g->flight);
    else
        release(g);
}

/* Groups lie over each other: what counts is what each one adds. */
static void land(struct group *g)
{
    double now = measure_now_ns();
    g->shape.took_ns = now - (g->begun > landed ? g->begun : landed);
    landed = now;
    release(g);
}

static void look_at_groups(void)
{
    for (int i = 0; i < FLIGHTS; i++)
        if (groups[i].flight.count != 0 && aes_flight_is_over(&groups[i].flight))
            land(&groups[i]);
}

static struct group *find_free(void)
{
    for (int i = 0; i < FLIGHTS; i++)
        if (groups[i].flight.count == 0)
            return &groups[i];
    return NULL;
}

/* ---- The gathering thread: when --------------------------------------------------------- */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* When what waits is a group, at the latest; 0: now. The lock is held. */
static double due_at(void)
{
    double first = queue.first->came;
    double longest = first + (under_way == 0 ? longest_ns : longest_beside_ns);
    if (queue.count >= GATHER_GROUP || queue.count + under_way >= QUEUE_MOST)
        return 0;
    if (queue.window > 0)
        return first + queue.window;
    if (under_way != 0 && queue.count < GATHER_FEWEST)
        return longest;
    if (queue.count >= GATHER_FEWEST && queue.count + under_way >= at_once)
        return 0;
    return smaller(queue.latest + GATHER_QUIET_NS, longest);
}

/* The lock is held, and let go meanwhile. */
static void sleep_until(double time)
{
    struct timespec until = {.tv_sec = (time_t)(time / 1e9)};
    until.tv_nsec = (long)(time - (double)until.tv_sec * 1e9);
    queue.sleeps = 1;
    (void)pthread_cond_timedwait(&queue.more, &queue.lock, &until);
    queue.sleeps = 0;
}

/* One turn: a group, or some sleep. 0 when there was nothing to do for long. The lock is held. */
static int gather_once(double *last_work)
{
    double now = measure_now_ns(), wake = *last_work + idle_ns;
    struct group *g = find_free();
    if (queue.first != NULL || under_way != 0)
        *last_work = now;
    else if (now >= wake)
        return 0;
    int ready = queue.first != NULL && g != NULL;
    double due = ready ? due_at() : wake;
    if (ready && due <= now) {
        collect(g);
        if (g->shape.messages < GATHER_GROUP)
            at_once = g->shape.at_once;
        (void)pthread_mutex_unlock(&queue.lock);
        launch(g);
    } else {
        sleep_until(under_way != 0 ? smaller(due, now + look_ns) : due);
        (void)pthread_mutex_unlock(&queue.lock);
    }
    look_at_groups();
    (void)pthread_mutex_lock(&queue.lock);
    return 1;
}

static void *gather(void *unused)
{
    double last_work = measure_now_ns();
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    (void)pthread_mutex_lock(&queue.lock);
    while (gather_once(&last_work))
        continue;
    queue.runs = 0;
    (void)pthread_mutex_unlock(&queue.lock);
    return unused;
}

/* ---- Those who wait ---------------------------------------------------------------------- */

static void make_condition(void)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&queue.more, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/*
 * So nothing is taken from the queue during a fork. But where a signal's handler forks, this
 * thread may have been interrupted with the lock, and would wait for itself.
 */
static void before_fork(void)
{
    if (at_lock++ == 0)
        (void)pthread_mutex_lock(&queue.lock);
}

static void after_fork_in_parent(void)
{
    if (at_lock == 1)
        (void)pthread_mutex_unlock(&queue.lock);
    at_lock--;
}

/* Neither the thread is here nor who waits for it, unless to learn just that. */
static void after_fork_in_child(void)
{
    queue.is_torn |= at_lock != 1;
    (void)pthread_mutex_init(&queue.lock, NULL);
    queue.first = NULL;
    queue.last = &queue.first;
    queue.count = 0;
    atomic_store(&queue.open, NULL);
    at_lock--;
}

static void set_up(void)
{
    make_condition();
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/*
 * The lock is held. In a forked child, where the device has failed, there is none, and none must
 * be: it would go on with its parent's groups.
 */
static int is_thread_there(void)
{
    static struct helper_call call = {.function = gather};
    if (gpuaes_state() == GPUAES_FAILED)
        return 0;
    if (!queue.runs)
        queue.runs = helper_begin(&call);
    return queue.runs;
}

static void append(struct gathered *g, double window)
{
    if (queue.first == NULL)
        atomic_store(&queue.open, g->work.cell);
    if (window > queue.window)
        queue.window = window;
    *queue.last = g;
    queue.last = &g->next;
    queue.count++;
    queue.latest = g->came;
    int is_due = queue.count == 1 || queue.count == GATHER_GROUP || queue.count == at_once;
    if (queue.sleeps && is_due)
        (void)pthread_cond_signal(&queue.more);
}

static int wait_in_queue(struct gathered *g, double window)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, set_up);
    g->next = NULL;
    g->thread = pthread_self();
    g->came = measure_now_ns();
    at_lock++;
    (void)pthread_mutex_lock(&queue.lock);
    int fits = queue.count < QUEUE_MOST && is_thread_there();
    if (fits)
        append(g, window);
    (void)pthread_mutex_unlock(&queue.lock);
    at_lock--;
    return fits;
}

/* ---- Updates ------------------------------------------------------------------------------ */

static enum engine_work work_of(const struct aes_context *c)
{
    return c->mode == AES_CBC && c->encrypting ? WORK_CBC_ENCRYPT : (enum engine_work)aes_op(c);
}

int gather_is_possible(const struct aes_context *c)
{
    if (engine_floor(c->provider) == SIZE_MAX || !aes_is_eligible_among_many(c))
        return GATHERS_NOT;
    int is_serial = work_of(c) == WORK_CBC_ENCRYPT, is_ready = gpuaes_state() == GPUAES_READY;
    if (is_ready && c->provider->settings.batch_wait_us != 0)
        return GATHERS;
    if (!is_serial && !engine_is_forced(c->provider))
        return GATHERS_NOT;
    return is_ready && job_is_current() ? GATHERS : GATHERS_BESIDE_OTHERS;
}

/* Most updates go on after a load or two: a job that runs alone must not feel this. */
int gather_is_asked(struct aes_context *c, size_t bytes)
{
    if (atomic_load_explicit(&queue.open, memory_order_relaxed) != NULL)
        return 1;
    if (c->gathers != GATHERS)
        return 0;
    c->unasked += bytes;
    if (c->unasked < GATHER_ASKED_BYTES && c->provider->settings.batch_wait_us == 0 &&
        !engine_is_forced(c->provider) && !gather_is_on(bytes))
        return 0;
    c->unasked = 0;
    return 1;
}

/*
 * A child of the process in which it waited. Where a thread writes during a fork, the child may
 * find the later of two things done and not the earlier; hence the lock.
 */
static int find_orphaned(struct aes_context *c, const struct gathered *g)
{
    if (!g->taken && !queue.is_torn)
        return DECLINED;
    error_raise(c->provider, ERROR_OUTPUT_UNDEFINED, "the process was forked meanwhile");
    return REFUSED;
}

/* A job that could not pause would hold up the others. */
static int wait_for_group(struct aes_context *c, struct gathered *g, double window)
{
    job_wait_begin(&g->wait, window <= 0);
    if ((window <= 0 && !job_wait_pauses(&g->wait)) || !wait_in_queue(g, window))
        return DECLINED;
    c->waiting = &g->wait;
    int is_over = job_wait_for(&g->wait);
    c->waiting = NULL;
    return is_over ? DONE : find_orphaned(c, g);
}

__attribute__((noinline)) static int gather_it(struct aes_context *c, const struct call *call,
                                               const struct gather_work *work, double window)
{
    struct gathered g = {.message = {.context = c, .call = *call, .counted = 1}, .work = *work};
    if (!aes_message_fits(&g.message))
        return DECLINED;
    int result = wait_for_group(c, &g, window);
    if (result != DONE)
        return result;
    c->gathers = GATHERS;
    if (!g.flown || g.message.state == MESSAGE_UNFIT || g.message.state == MESSAGE_WHOLE)
        return DECLINED;
    return aes_message_finish(&g.message) ? DONE : REFUSED;
}

static int pass(struct aes_context *c, const struct call *call, const struct gather_work *work)
{
    if (c->countdown < 0)
        return DECLINED;
    double begun = measure_now_ns();
    int ok = aes_on_cpu(c, call);
    gather_passed(c->provider, work, measure_now_ns() - begun);
    return ok ? DONE : REFUSED;
}

size_t gather_floor(const struct provider *provider)
{
    return engine_is_forced(provider) ? engine_floor(provider) : GATHER_SHORTEST;
}

static int has_length(const struct aes_context *c, size_t bytes)
{
    return bytes >= gather_floor(c->provider) &&
           (bytes <= GATHER_LONGEST || engine_is_forced(c->provider));
}

int gather_update(struct aes_context *c, const struct call *call)
{
    int in_job = job_is_current();
    double window = in_job ? 0 : c->provider->settings.batch_wait_us * 1e3;
    struct gather_work work = {.source = in_job ? GATHER_JOBS : GATHER_THREADS,
                               .work = {.kind = work_of(c),
                                        .key_bytes = c->key_bytes,
                                        .in = call->in,
                                        .out = call->out,
                                        .len = call->in_bytes,
                                        .memory = MEMORY_APART}};
    if (!has_length(c, call->in_bytes) || (in_job ? !aes_may_pause(c, call) : window <= 0))
        return DECLINED;
    switch (gather_choose(c->provider, &work, atomic_load(&queue.open))) {
    case GATHER_IT:
        return gather_it(c, call, &work, window);
    case GATHER_NOT_OBSERVED:
        return pass(c, call, &work);
    default:
        return DECLINED;
    }
}
