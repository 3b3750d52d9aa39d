/*
 * AES-GCM by libgpuaes on the emulator: memory of all kinds, in place and not, sizes of one piece
 * and many, tails, IVs and additional data of any length, the wrap of the counter, wrong tags,
 * arguments, several devices and threads, each family of kernels, calls of the driver. The expected
 * results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/application.h"
#include "test/support/driver_functions.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, LARGEST = 5 << 20, MARGIN = 64, ROOM = LARGEST + 2 * MARGIN };
enum { AAD_MOST = 300, IV_MOST = 128 /* libcrypto's limit */ };

static unsigned char *plain, *cipher, *got;

struct message {
    unsigned char key[32], iv[IV_MOST], aad[AAD_MOST], tag[BLOCK];
    size_t key_bytes, iv_bytes, aad_bytes, len, tag_bytes;
    struct gpuaes_gcm_key expanded;
};

/* Random, but for its text. */
static void parameters_make(struct message *m, size_t len)
{
    static const unsigned tags[] = {4, 8, 12, 13, 14, 15, 16, 16, 16};
    m->key_bytes = 16 + 8 * tap_random_below(&random_state, KEY_SIZES);
    m->iv_bytes =
        tap_random_below(&random_state, 2) ? 12 : 1 + tap_random_below(&random_state, IV_MOST);
    m->aad_bytes =
        tap_random_below(&random_state, 3) ? tap_random_below(&random_state, AAD_MOST) : 0;
    m->len = len;
    m->tag_bytes = tags[tap_random_below(&random_state, sizeof tags / sizeof *tags)];
    tap_random_bytes(&random_state, m->key, sizeof m->key);
    tap_random_bytes(&random_state, m->iv, sizeof m->iv);
    tap_random_bytes(&random_state, m->aad, sizeof m->aad);
    gpuaes_gcm_key_expand(&m->expanded, m->key, m->key_bytes);
}

/* Encrypts a random text from `plain` to `cipher`, by libcrypto. */
static void text_make(struct message *m)
{
    const struct reference_message message = {GPUAES_GCM_ENCRYPT, m->key, m->key_bytes, m->iv,
                                              m->iv_bytes,        m->aad, m->aad_bytes};
    tap_random_bytes(&random_state, plain, m->len);
    reference_run(&message, plain, cipher, m->len, m->tag);
}

static void message_make(struct message *m, size_t len)
{
    parameters_make(m, len);
    text_make(m);
}

static enum gpuaes_status run(const struct message *m, int encrypt, const void *in, void *out,
                              unsigned char tag[BLOCK])
{
    struct gpuaes_gcm_message g = {m->iv, m->iv_bytes, m->aad, m->aad_bytes, in,
                                   out,   m->len,      tag,    m->tag_bytes};
    return encrypt ? gpuaes_gcm_encrypt(&m->expanded, &g, GPUAES_WAIT)
                   : gpuaes_gcm_decrypt(&m->expanded, &g, GPUAES_WAIT);
}

struct buffers {
    unsigned char *in, *out;
};

/* 1 if the text of a message, its tag and its surroundings are right. */
static int message_is_right(const struct message *of, const struct buffers *b, int encrypt,
                            int in_place)
{
    const struct message m = *of;
    const size_t len = m.len;
    unsigned char tag[BLOCK];
    size_t in_at = MARGIN + tap_random_below(&random_state, 17);
    size_t out_at = MARGIN + tap_random_below(&random_state, 17);
    unsigned char *in = b->in + in_at, *out = in_place ? in : b->out + out_at;
    const unsigned char *from = encrypt ? plain : cipher, *to = encrypt ? cipher : plain;
    memset(got, 0xee, len + 2 * MARGIN);
    gpuaes_copy(out - MARGIN, got, len + 2 * MARGIN);
    gpuaes_copy(in, from, len);
    memcpy(tag, m.tag, sizeof tag);
    if (encrypt)
        memset(tag, 0, sizeof tag);
    enum gpuaes_status status = run(&m, encrypt, in, out, tag);
    gpuaes_copy(got, out - MARGIN, len + 2 * MARGIN);
    int bounds = 1;
    for (size_t i = 0; i < MARGIN; i++)
        bounds &= got[i] == 0xee && got[MARGIN + len + i] == 0xee;
    int text = memcmp(got + MARGIN, to, len) == 0, tagged = memcmp(tag, m.tag, m.tag_bytes) == 0;
    int right = status == GPUAES_OK && bounds && text && tagged;
    if (!right)
        tap_diag("%zu bytes, key %zu, IV %zu, AAD %zu: status %d (%s), bounds %d, text %d, tag %d",
                 len, m.key_bytes, m.iv_bytes, m.aad_bytes, status, gpuaes_reason(), bounds, text,
                 tagged);
    return right;
}

static int is_right(const struct buffers *b, int encrypt, int in_place, size_t len)
{
    struct message m;
    message_make(&m, len);
    return message_is_right(&m, b, encrypt, in_place);
}

static const size_t lengths[] = {0,   1,        15,       16,     17,
                                 255, 4096 + 5, 80 << 10, 700001, (4 << 20) + 80 * 1024 + 7};
enum { LENGTHS = sizeof lengths / sizeof *lengths, RANDOM_LENGTHS = 14 };

static int all_are_right(const struct buffers *b, int encrypt, int in_place)
{
    int right = b->in != NULL && b->out != NULL;
    for (size_t i = 0; i < LENGTHS && right; i++)
        right = is_right(b, encrypt, in_place, lengths[i]);
    for (int i = 0; i < RANDOM_LENGTHS && right; i++)
        right = is_right(b, encrypt, in_place, tap_random_below(&random_state, 1 << (4 + i)));
    return right;
}

static void check_kinds(void)
{
    for (int in_kind = 0; in_kind < 3; in_kind++)
        for (int out_kind = 0; out_kind < 3; out_kind++) {
            struct buffers b = {take(in_kind, ROOM), take(out_kind, ROOM)};
            for (int encrypt = 0; encrypt < 2; encrypt++) {
                const char *what = encrypt ? "encryption" : "decryption";
                tap_ok(all_are_right(&b, encrypt, 0), "%s from %s to %s memory", what,
                       kind_names[in_kind], kind_names[out_kind]);
                if (in_kind == out_kind)
                    tap_ok(all_are_right(&b, encrypt, 1), "%s in place in %s memory", what,
                           kind_names[in_kind]);
            }
            give(in_kind, b.in, ROOM);
            give(out_kind, b.out, ROOM);
        }
    tap_ok(emulator_unpinned_copies() == 0, "pageable memory is never given to the driver");
}

/* ---- The counter ------------------------------------------------------------------ */

/* From a counter that wraps after `blocks` blocks; the reference goes block by block, by ECB. */
static int wraps_right(int kind, uint32_t blocks, size_t len)
{
    struct gpuaes_gcm_key key;
    unsigned char raw[32], counter[BLOCK], stream[BLOCK], hash[BLOCK] = {0};
    unsigned char *in = take(kind, len), *out = take(kind, len);
    struct gpuaes_gcm_state state = {{0}, {0}};
    struct gpuaes_report report;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n;
    tap_random_bytes(&random_state, raw, sizeof raw);
    tap_random_bytes(&random_state, plain, len);
    tap_random_bytes(&random_state, state.counter, 12);
    tap_random_bytes(&random_state, state.hash, BLOCK);
    memcpy(hash, state.hash, BLOCK);
    uint32_t low = 0 - blocks;
    for (int i = 0; i < 4; i++)
        state.counter[15 - i] = (unsigned char)(low >> 8 * i);
    memcpy(counter, state.counter, BLOCK);
    gpuaes_gcm_key_expand(&key, raw, 32);
    EVP_EncryptInit_ex(c, EVP_aes_256_ecb(), NULL, raw, NULL);
    for (size_t at = 0; at < len; at += BLOCK) {
        EVP_EncryptUpdate(c, stream, &n, counter, BLOCK);
        for (size_t i = 0; i < BLOCK; i++)
            cipher[at + i] = plain[at + i] ^ stream[i];
        for (int i = 15; i >= 12 && ++counter[i] == 0; i--)
            ;
    }
    EVP_CIPHER_CTX_free(c);
    gpuaes_gcm_hash(&key, hash, cipher, len);
    gpuaes_copy(in, plain, len);
    int right = gpuaes_gcm(GPUAES_GCM_ENCRYPT, &key, &state, in, out, len, GPUAES_WAIT, &report) ==
                    GPUAES_OK &&
                holds(out, cipher, len) && memcmp(state.counter, counter, BLOCK) == 0 &&
                memcmp(state.hash, hash, BLOCK) == 0 && bytes_done(&report) == len;
    if (!right)
        tap_diag("%u blocks of %zu bytes: text %d, counter %d, hash %d, %zu done", blocks, len,
                 holds(out, cipher, len), memcmp(state.counter, counter, BLOCK) == 0,
                 memcmp(state.hash, hash, BLOCK) == 0, bytes_done(&report));
    give(kind, in, len);
    give(kind, out, len);
    return right;
}

static void check_counter(void)
{
    for (int kind = 0; kind < 3; kind++)
        tap_ok(wraps_right(kind, 1, 4096) && wraps_right(kind, 255, 4096) &&
                   wraps_right(kind, 256, 4096) && wraps_right(kind, 5000, 300 << 10),
               "the counter wraps in 32 bits: %s memory", kind_names[kind]);
}

/* An IV whose first counter block is so near the wrap that the text passes it; 0 without luck. */
static int find_iv(struct message *m, uint32_t most)
{
    unsigned char lengths_block[BLOCK] = {0}, counter[BLOCK];
    m->iv_bytes = BLOCK;
    lengths_block[BLOCK - 1] = 8 * BLOCK;
    for (int i = 0; i < 1 << 23; i++) {
        memcpy(m->iv, &i, sizeof i);
        memset(counter, 0, sizeof counter);
        gpuaes_gcm_hash(&m->expanded, counter, m->iv, BLOCK);
        gpuaes_gcm_hash(&m->expanded, counter, lengths_block, BLOCK);
        uint32_t low = (uint32_t)counter[12] << 24 | (uint32_t)counter[13] << 16 |
                       (uint32_t)counter[14] << 8 | counter[15];
        if (0 - low > 1 && 0 - low <= most) /* J0 is before the text */
            return (int)(0 - low - 1);
    }
    return 0;
}

/* Messages that end behind the wrap by no block, and by some. */
static void check_wrapped_messages(void)
{
    enum { MOST = 40000 };
    struct message m;
    parameters_make(&m, 0);
    const size_t blocks = (size_t)find_iv(&m, MOST);
    for (int kind = 0; kind < 3 && tap_ok(blocks != 0, "an IV near the wrap is found"); kind++) {
        struct buffers b = {take(kind, ROOM), take(kind, ROOM)};
        int right = b.in != NULL && b.out != NULL;
        for (size_t more = 0; more < 40 && right; more += 13) {
            m.len = blocks * BLOCK + more;
            text_make(&m);
            right = message_is_right(&m, &b, 1, more == 0) && message_is_right(&m, &b, 0, 0);
        }
        tap_ok(right, "so are messages whose counter wraps: %s memory", kind_names[kind]);
        give(kind, b.in, ROOM);
        give(kind, b.out, ROOM);
    }
}

/* ---- What is refused ----------------------------------------------------------------- */

static void check_tags(void)
{
    static unsigned char zeros[5000];
    for (int kind = 0; kind < 3; kind++) {
        unsigned char *p = take(kind, sizeof zeros);
        struct message m;
        int right = p != NULL;
        for (int bit = 0; bit < 128 && right; bit += 13) {
            message_make(&m, sizeof zeros);
            m.tag_bytes = BLOCK;
            m.tag[bit / 8] ^= (unsigned char)(1 << bit % 8);
            gpuaes_copy(p, cipher, m.len);
            right = run(&m, 0, p, p, m.tag) == GPUAES_BAD_TAG && holds(p, zeros, m.len);
        }
        tap_ok(right, "a wrong tag is refused and leaves zeros in %s memory", kind_names[kind]);
        give(kind, p, sizeof zeros);
    }
}

/* The text begins in an allocation, and its last bytes are behind it. */
static void check_range(void)
{
    enum { WITHIN = 4096 };
    static const unsigned char zeros[WITHIN];
    unsigned char *p = take(GPUAES_DEVICE, WITHIN), *other = take(GPUAES_DEVICE, 2 * WITHIN);
    struct message m;
    message_make(&m, WITHIN + 5);
    gpuaes_copy(p, zeros, WITHIN);
    gpuaes_copy(other, zeros, WITHIN);
    tap_ok(run(&m, 1, p, p, m.tag) == GPUAES_BAD_RANGE && holds(p, zeros, WITHIN) &&
               run(&m, 1, p, other, m.tag) == GPUAES_BAD_RANGE && holds(other, zeros, WITHIN) &&
               run(&m, 1, other, p, m.tag) == GPUAES_BAD_RANGE && holds(p, zeros, WITHIN),
           "a text whose end leaves its device allocation is refused before anything is done");
    give(GPUAES_DEVICE, p, WITHIN);
    give(GPUAES_DEVICE, other, 2 * WITHIN);
}

static void check_arguments(void)
{
    static unsigned char text[64], tag[BLOCK];
    struct message m;
    struct gpuaes_gcm_state state = {{0}, {0}};
    message_make(&m, 32);
    const struct gpuaes_gcm_message good = {m.iv, 12, NULL, 0, text, text, 32, tag, 16};
    struct gpuaes_gcm_message bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].iv = NULL;
    bad[1].iv_bytes = 0;
    bad[2].aad_bytes = 1;
    bad[3].tag = NULL;
    bad[4].tag_bytes = 5;
    bad[5].tag_bytes = 17;
    bad[6].out = text + 1;
    bad[7].len = ((uint64_t)1 << 36) - 31;
    int right = gpuaes_gcm_encrypt(&m.expanded, &good, 0) == GPUAES_OK;
    for (size_t i = 0; i < 8; i++)
        right &= gpuaes_gcm_encrypt(&m.expanded, &bad[i], 0) == GPUAES_BAD_ARGUMENT &&
                 gpuaes_gcm_decrypt(&m.expanded, &bad[i], 0) == GPUAES_BAD_ARGUMENT;
    tap_ok(right, "bad messages are refused");
    tap_ok(gpuaes_gcm(GPUAES_CTR, &m.expanded, &state, text, text, 16, 0, NULL) ==
                   GPUAES_BAD_ARGUMENT &&
               gpuaes_gcm(GPUAES_GCM_ENCRYPT, &m.expanded, &state, text, text, 17, 0, NULL) ==
                   GPUAES_BAD_ARGUMENT &&
               gpuaes_gcm(GPUAES_GCM_ENCRYPT, NULL, &state, text, text, 16, 0, NULL) ==
                   GPUAES_BAD_ARGUMENT &&
               gpuaes_aes(GPUAES_GCM_ENCRYPT, &m.expanded.schedule, state.counter, text, text, 16,
                          0, NULL) == GPUAES_BAD_ARGUMENT &&
               gpuaes_gcm_key_expand(&m.expanded, m.key, 20) == 0,
           "so are other arguments");
}

/* ---- Calls of the driver ------------------------------------------------------------- */

enum { CTR_BYTES = 8 << 10 }; /* too short for hybrid kernels, which take powers of H */

/* How often each function is called for a text of device memory: by CTR, or for a message. */
static int count_calls(unsigned calls[FUNCTIONS], int encrypt, size_t len)
{
    unsigned char *in = take(GPUAES_DEVICE, ROOM), *out = take(GPUAES_DEVICE, ROOM), counter[BLOCK];
    struct message m;
    int right = in != NULL && out != NULL;
    message_make(&m, len);
    memset(counter, 0, sizeof counter);
    for (int turn = 0; turn < 2 && right; turn++) { /* the first one may allocate */
        gpuaes_copy(in, encrypt ? plain : cipher, len);
        for (unsigned i = 0; i < FUNCTIONS; i++)
            calls[i] = emulator_calls(functions[i]);
        right = (encrypt < 0 ? gpuaes_aes(GPUAES_CTR, &m.expanded.schedule, counter, in, out, len,
                                          GPUAES_WAIT, NULL)
                             : run(&m, encrypt, in, out, m.tag)) == GPUAES_OK;
        for (unsigned i = 0; i < FUNCTIONS; i++)
            calls[i] = emulator_calls(functions[i]) - calls[i];
    }
    give(GPUAES_DEVICE, in, ROOM);
    give(GPUAES_DEVICE, out, ROOM);
    return right;
}

/* How often a stream or an event is asked depends on the pace of both. */
static int is_question(const char *function)
{
    return !strcmp(function, "event_query") || !strcmp(function, "stream_query");
}

/* 1 if the calls are those of CTR, and one each of those named in `more`. */
static int costs(int encrypt, size_t len, const char *more)
{
    unsigned ctr[FUNCTIONS], calls[FUNCTIONS];
    int right = count_calls(ctr, -1, len / BLOCK * BLOCK) && count_calls(calls, encrypt, len);
    for (unsigned i = 0; i < FUNCTIONS && right; i++)
        if (!is_question(functions[i]) &&
            calls[i] != ctr[i] + (strstr(more, functions[i]) != NULL)) {
            tap_diag("%s: %u calls, %u for CTR", functions[i], calls[i], ctr[i]);
            right = 0;
        }
    return right;
}

static void check_calls(void)
{
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        const char *what = encrypt ? "encryption" : "decryption";
        tap_ok(costs(encrypt, CTR_BYTES, ""), "%s of a message calls the driver as CTR does", what);
        tap_ok(costs(encrypt, CTR_BYTES + 5, "launch_kernel"),
               "an end that is no whole block takes one small launch more");
    }
}

/* ---- Families of kernels ------------------------------------------------------------- */

static const char *const families[] = {"small", "two_table", "hybrid",
                                       "hybrid_unaligned" /* the last two are one */};
enum { FAMILIES = 3 };

static unsigned launches_of(const char *family)
{
    unsigned launches = 0;
    for (int encrypt = 0; encrypt < 2; encrypt++)
        for (int rounds = 10; rounds <= 14; rounds += 2) {
            char name[64];
            snprintf(name, sizeof name, "aes_gcm_%s_%s_%d", encrypt ? "encrypt" : "decrypt", family,
                     rounds);
            launches += emulator_launches(name);
        }
    return launches;
}

/* In a child: every kernel of GCM is of the family, whatever the size, and right. */
static int run_family(const void *argument)
{
    int family = *(const int *)argument, right = 1;
    setenv("GPUAES_KERNEL", families[family], 1);
    if (!starts_with(NULL))
        return 1;
    become_an_application(0);
    for (int kind = 0; kind < 3; kind++) {
        struct buffers b = {take(kind, ROOM), take(kind, ROOM)};
        if (kind != GPUAES_PINNED)
            right = right && all_are_right(&b, 1, 0);
        if (kind != GPUAES_PAGEABLE)
            right = right && all_are_right(&b, 0, kind == GPUAES_PINNED);
        give(kind, b.in, ROOM);
        give(kind, b.out, ROOM);
    }
    right = right && wraps_right(GPUAES_DEVICE, 300, 300 << 10);
    for (int i = 0; i <= FAMILIES; i++) {
        unsigned launches = launches_of(families[i]);
        if (launches != 0 ? i != family && (i != FAMILIES || family != FAMILIES - 1)
                          : i == family) {
            tap_diag("%u launches of %s kernels", launches, families[i]);
            right = 0;
        }
    }
    return right ? 0 : 2;
}

static void check_families(void)
{
    for (int i = 0; i < FAMILIES; i += sanitized() ? 3 : 1)
        child_ok(run_family, &i, "%s kernels alone", families[i]);
}

int main(void)
{
    const struct gpuaes_settings settings = {.devices = GPUAES_ALL_DEVICES, .threads = 3};
    plain = malloc(ROOM);
    cipher = malloc(ROOM);
    got = malloc(ROOM);
    tap_random_seed(&random_state);
    check_families();
    emulator_configure("devices=2");
    become_an_application(0);
    if (!tap_ok(starts_with(&settings), "devices start"))
        return tap_done();
    check_kinds();
    check_counter();
    check_wrapped_messages();
    check_tags();
    check_range();
    check_calls();
    check_arguments();
    free(plain);
    free(cipher);
    free(got);
    return tap_done();
}
