/*
 * What many messages in one launch cost, and whether that is less than one by one.
 *
 * Serial messages (CBC encryption) take as long as the longest of them, all others as long
 * as their bytes take on the bus. As in engine_model.h, samples make lines, and what the
 * application's own messages take makes factors.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_ENGINE_MESSAGES_H
#define GPUAES_ENGINE_MESSAGES_H

#include "cpu.h"
#include "engine.h"

/* Messages of one kind of work and key size. */
struct engine_share {
    size_t count, bytes;
};

/* The shape of a batch; begins with all zeros. */
struct engine_messages {
    size_t count, bytes;
    size_t longest; /* bytes of the longest serial message; 0: there is none */
    struct work first;
    /* Those that may be worth a device by themselves are apart. */
    struct engine_share small[GPUAES_BATCH_OPS][AES_KEY_SIZES];
    struct engine_share large[GPUAES_BATCH_OPS][AES_KEY_SIZES];

    /* What engine_messages_choose() says of it: */
    enum cpu_reason why;
    struct model_cell *cell; /* NULL: not to be observed */
    double line_ns[MODEL_SIDES];
    double begun;
};

/* Adds a message: kind, key size, memory and length of `work` count. */
void engine_messages_add(struct engine_messages *messages, const struct work *work);

/* As engine_choose(). CHOICE_CPU: one by one, each where it is best. */
enum engine_choice engine_messages_choose(struct provider *provider,
                                          struct engine_messages *messages);

/* To be called when all of them have been done, in one launch or one by one. */
void engine_messages_done(const struct engine_messages *messages, enum model_side side);

/* What one launch of such messages is expected to take: all but the shares counts. */
double engine_messages_launch_ns(const struct engine_messages *messages);

/* Samples the device: some milliseconds, in its start's thread. */
void engine_messages_measure(void);

/*
 * What that found: nanoseconds of a launch of up to 32 messages, and of each byte, of each
 * message more, and of each byte of the longest serial message.
 */
struct engine_launch {
    double fixed, byte, message, serial_byte;
};
void engine_messages_set(int pinned, const struct engine_launch *launch);

#endif
