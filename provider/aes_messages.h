/*
 * Messages: updates of several contexts, which may share a launch.
 *
 * One alone gains little from a device, or in CBC encryption nothing; many at once may.
 * A message is an update of a context of its own. Its middle, which is whole blocks, may go
 * to the device as part of a batch; the rest is done by the default provider's context, as
 * in aes_split.h. Whatever becomes of the device, aes_message_finish() completes it.
 *
 *     aes_flight_pays()          or else each is updated by itself
 *     aes_flight_begin()
 *     aes_flight_is_over()       until it is 1, or aes_flight_wait()
 *     aes_message_finish()       for each
 *
 * aes_messages_run() does all of it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_AES_MESSAGES_H
#define GPUAES_AES_MESSAGES_H

#include "aes_cpu.h"
#include "aes_split.h"
#include "engine_messages.h"

/* The first three are the caller's to set. No context may be in two messages at once. */
struct aes_message {
    struct aes_context *context;
    struct call call;
    int counted; /* by the context's countdown: an update that came to us as one */

    enum { MESSAGE_UNFIT, MESSAGE_WHOLE, MESSAGE_CUT, MESSAGE_SPOILT } state;
    struct split split;
    unsigned char iv[GPUAES_BLOCK];   /* of the middle's first block */
    unsigned char last[GPUAES_BLOCK]; /* block of the middle's input, for CBC decryption */
    size_t number;                    /* in the batch, */
    int in_batch;                     /* if it is there */
    enum gpuaes_status status;        /* of the middle */
};

/*
 * Whether it may share a launch, at a glance: in any mode and direction, CBC encryption too,
 * but not where the context has to do with device memory, or reads ahead.
 */
int aes_message_fits(const struct aes_message *message);

/* Messages of contexts of any key, mode and provider. */
struct aes_flight {
    struct provider *provider; /* whose settings count */
    struct aes_message *const *messages;
    size_t count;

    struct engine_messages work;
    struct gpuaes_batch *batch; /* NULL: nothing is under way */
};

/*
 * Whether one launch for all that fit is expected to be faster than update() for each:
 * 1, 0, or FLIGHT_REFUSED where the settings insist on a device and there is none (the error
 * is raised). Starts the device where the settings ask for it. After 0, when all have been
 * updated one by one, aes_flight_passed() takes the time.
 */
enum { FLIGHT_REFUSED = -1 };
int aes_flight_pays(struct aes_flight *flight);

/* For who has chosen one launch already: 1 if a device is ready. Then it may begin. */
int aes_flight_is_possible(struct aes_flight *flight);
void aes_flight_passed(const struct aes_flight *flight);

/*
 * Does the heads and begins the launch; waits for the device only where the settings insist
 * on it. What cannot be begun, or does not fit, is left to aes_message_finish(), so nothing
 * fails here. These three call the driver: not on the stack of an ASYNC job. Any thread may
 * call them, one at a time. Only flights that pay may begin.
 */
void aes_flight_begin(struct aes_flight *flight);
int aes_flight_is_over(struct aes_flight *flight); /* does not wait */
void aes_flight_wait(struct aes_flight *flight);

/*
 * After the flight: does what the device left, and the tail; the context is then where the
 * update ends. In a thread that may raise an error for the application. As update(): 1, or 0.
 */
int aes_message_finish(struct aes_message *message);

/*
 * Updates all contexts, each by itself or in one launch, whichever is expected to be faster;
 * from an ASYNC job as well. 1, or 0 where one failed: the others are done.
 */
int aes_messages_run(struct provider *provider, struct aes_message *const *messages, size_t count);

#endif
