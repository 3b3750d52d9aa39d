/*
 * Small updates: each cipher and direction, 16 bytes to 16 KiB.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

static void small_row(const struct cipher_row *cipher, int encrypt, size_t length,
                      unsigned char *buffer)
{
    struct pair p = {.length = length, .calls = 400000 / (length + 400)}; /* some 100 us */
    struct row row = {.part = "small",
                      .cipher = cipher->name,
                      .operation = direction(encrypt),
                      .bytes = length,
                      .memory = "pageable",
                      .placement = "in place",
                      .against = of_openssl("default provider")};
    struct figures before = figures_get(&providers);
    if (options.quick)
        p.calls = 2;
    pair_memory(&p, buffer, buffer);
    pair_open(&p, cipher->name, encrypt);
    struct result result = measure(401, pair_updates, &p);
    pair_close(&p);
    row.processor = processor_since(&before, (double)(p.calls * (result.turns + 1) * length));
    print_times(&row, &result, (double)p.calls, "ns", 1e9);
}

int part_small(void)
{
    static const size_t lengths[] = {16, 64, 256, KIB, 4 * KIB, 16 * KIB};
    unsigned char *buffer = aligned_alloc(4096, 16 * KIB);
    memset(buffer, 1, 16 * KIB);
    warm_up();
    for (size_t row = 0; row < CIPHER_ROWS; row++)
        /* CTR does the same in both directions. */
        for (int encrypt = 1; encrypt >= (cipher_rows[row].mode == CTR ? 1 : 0); encrypt--)
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
                small_row(&cipher_rows[row], encrypt, lengths[l], buffer);
    free(buffer);
    return 0;
}
