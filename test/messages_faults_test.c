/*
 * Many messages in one launch on a device that fails: each function of the driver at several
 * of its calls, a device that is lost, and one that hangs. Every message is right, or, where it
 * is in place in pinned memory, refused with an error that says that it is undefined.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "../cuda/driver.h"
#include "../cuda/emulator/hooks.h"
#include "messages.h"

enum { WRONG, RIGHT, REFUSED_RIGHTLY };

static int says_undefined(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return reason && !strcmp(reason, "the GPU failed and the output buffer is undefined");
}

/*
 * One by one, so that what each says is seen. Who is refused must be in memory that the
 * device may have overwritten; all others are right.
 */
static int fly(struct set *s)
{
    struct aes_flight flight = {.provider = ours(), .messages = s->list, .count = s->count};
    size_t i, refused = 0, wrong = 0;

    ERR_clear_error();
    if (aes_flight_pays(&flight) == 1) {
        aes_flight_begin(&flight);
        aes_flight_wait(&flight);
    }
    for (i = 0; i < s->count; i++) {
        struct subject *x = &s->subject[i];
        if (aes_message_finish(s->list[i]))
            wrong += x->out_bytes != x->expected_bytes || memcmp(x->out, x->expected, ROOM) != 0;
        else if (s->where == PINNED_IN_PLACE && says_undefined())
            refused++;
        else
            wrong++;
    }
    return wrong ? WRONG : refused ? REFUSED_RIGHTLY : RIGHT;
}

/* Flights of two sets; a set that was refused a message is not used again. */
static int faulty(const void *where)
{
    struct set *s = malloc(sizeof *s);
    int verdict = RIGHT, refused = 0, i, flights;

    for (i = 0; i < 2 && verdict != WRONG; i++) {
        open_set(s, 1000, *(const int *)where, 24);
        if (s->where == PINNED_IN_PLACE)
            (void)pin(s);
        for (flights = 0, verdict = RIGHT; flights < ROUNDS && verdict == RIGHT; flights++) {
            prepare(s);
            verdict = fly(s);
        }
        refused |= verdict == REFUSED_RIGHTLY;
        close_set(s);
    }
    free(s);
    return verdict == WRONG ? WRONG : refused ? REFUSED_RIGHTLY : RIGHT;
}

/* Writes how often each function is called where nothing fails. */
static const char *const functions[] = {
#define FUNCTION_NAME(member, symbol, parameters) #member,
    DRIVER_FUNCTIONS(FUNCTION_NAME)
#undef FUNCTION_NAME
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static int pipe_ends[2];

static int count_calls(const void *where)
{
    unsigned calls[FUNCTIONS];
    int i, verdict = faulty(where);

    for (i = 0; i < FUNCTIONS; i++)
        calls[i] = emulator_calls(functions[i]);
    return write(pipe_ends[1], calls, sizeof calls) == (ssize_t)sizeof calls ? verdict : WRONG;
}

static void test_faults_of(const char *kind, const char *place, const int *where,
                           const unsigned *calls)
{
    unsigned wrong = 0, refused = 0, cases = 0, at, i, step = sanitized() ? 7 : 1;
    char options[80];

    for (i = 0; i < FUNCTIONS; i += step)
        for (at = 1; at <= calls[i]; at = at * 2 + (at > 3)) {
            int verdict;
            (void)snprintf(options, sizeof options, "%s=%s:%u", kind, functions[i], at);
            verdict = run_child(options, faulty, where);
            if (verdict != RIGHT && verdict != REFUSED_RIGHTLY) {
                tap_diag("%s, %s: wrong (%d)", place, options, verdict);
                wrong++;
            }
            refused += verdict == REFUSED_RIGHTLY;
            cases++;
        }
    tap_ok(wrong == 0 && cases > 20 / step && (*where == PINNED_IN_PLACE || refused == 0),
           "%s, %s: %u cases, of which %u refused updates", place, kind, cases, refused);
}

static void test_faults(void)
{
    static const char *const places[] = {"apart", "in place", "pinned in place"};
    unsigned calls[FUNCTIONS] = {0};
    int where, verdict;

    for (where = APART; where <= PINNED_IN_PLACE; where++) {
        verdict = pipe(pipe_ends) == 0 ? run_child("devices=1", count_calls, &where) : -1;
        if (!tap_ok(verdict == RIGHT &&
                        read(pipe_ends[0], calls, sizeof calls) == (ssize_t)sizeof calls,
                    "%s: right where nothing fails", places[where]))
            continue;
        test_faults_of("fault", places[where], &where, calls);
        test_faults_of("lost", places[where], &where, calls);
        verdict = run_child("hang=1", faulty, &where);
        tap_ok(verdict == (where == PINNED_IN_PLACE ? REFUSED_RIGHTLY : RIGHT),
               "%s, a kernel that hangs: %s", places[where],
               where == PINNED_IN_PLACE ? "refused" : "the CPU does it");
        close(pipe_ends[0]);
        close(pipe_ends[1]);
    }
}

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 1);
    test_faults();
    return tap_done();
}
