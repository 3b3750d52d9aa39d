/*
 * Keys, their schedules, keystream and plaintext, and of GCM the hash key, its powers, hashes and
 * masks, outlive their use nowhere: after a context is freed or gets another key, after a fault,
 * all writable memory of the process is searched for them. On the emulator that includes device
 * memory; on a card see device_secrets.c, too.
 *
 * Each case is a run of this program of its own. Data and keys of the test lie in memory
 * that is not searched.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/gpuaes.h"
#include "test/support/cases.h"
#include "test/support/hash_forms.h"
#include "test/support/memory_search.h"
#include "test/support/read_ahead_streams.h"
#include "test/support/streams.h"

enum { MOST = 16 * MIB, STEP = 4096, GCM_BYTES = 300 * KIB + 5 /* the last block is not whole */ };
/* Of GCM: H and those of its powers that a key has, those that a device has, E(J0), GHASH of text
 */
enum kind { KEY, SCHEDULE, TWEAK, KEYSTREAM, PLAINTEXT, HASH_KEY, POWER, MASK, HASH, KINDS };
static const char *const kind_names[] = {"key",          "key schedule", "tweak",
                                         "keystream",    "plaintext",    "the hash key",
                                         "powers of it", "the mask",     "hashes"};
#define BIT(kind) (1U << (kind))
/* What may be left: nothing; what a device had that failed; what a context in use has. */
enum {
    NOTHING = 0,
    OF_DEVICE = BIT(PLAINTEXT) | BIT(HASH_KEY) | BIT(POWER) | BIT(HASH),
    OF_CONTEXT = BIT(KEY) | BIT(SCHEDULE) | BIT(TWEAK) | BIT(PLAINTEXT) | BIT(HASH_KEY) |
                 BIT(MASK) | BIT(HASH),
    OF_ENDED = OF_CONTEXT & ~BIT(HASH) /* the message, and not the context */
};

struct secrets {
    unsigned char key[32], iv[BLOCK], other_key[32], other_iv[BLOCK];
    unsigned char plain[MOST + STEP], cipher[MOST + STEP], out[2 * MOST];
    unsigned char tag[BLOCK], made_tag[BLOCK];
    struct gpuaes_gcm_key gcm_key;
    unsigned char kind[NEEDLES_MOST];
};
static struct search *search;
static struct secrets *secrets;
static const char *name_of_case = "";
static drv_stream cuda_stream; /* of a case that is on one */

struct test_case {
    const char *name, *cipher;
    int encrypt;
    size_t bytes;
    int in_place;
    enum place place;
    const char *settings, *fault;
    int (*end)(EVP_CIPHER_CTX *context); /* what must leave nothing; 1 */
    int may_refuse, keeps_text;
    int on_stream;
    int runs_ahead; /* instead of one update: until there is keystream that is not used yet */
};

/* ---- What is looked for --------------------------------------------------------------- */

static void add(const void *block, enum kind kind)
{
    secrets->kind[search->count] = (unsigned char)kind;
    search_add(search, block);
}

static void add_key(const unsigned char *key, size_t key_bytes)
{
    struct gpuaes_key schedule;
    (void)gpuaes_key_expand(&schedule, key, key_bytes);
    for (size_t i = 0; i + BLOCK <= key_bytes; i += BLOCK)
        add(key + i, KEY);
    for (unsigned round = 1; round <= schedule.rounds; round++) {
        if (round * BLOCK >= key_bytes)
            add(&schedule.encrypt[4 * round], SCHEDULE);
        if (round != schedule.rounds) /* that one is the key again */
            add(&schedule.decrypt[4 * round], SCHEDULE);
    }
}

/* The encrypted tweak of the data unit, whose key is the second half. */
static void add_tweak(const unsigned char *key, size_t key_bytes)
{
    unsigned char tweak[BLOCK];
    int n;
    EVP_CIPHER *cipher =
        EVP_CIPHER_fetch(NULL, key_bytes == 16 ? "AES-128-ECB" : "AES-256-ECB", "provider=default");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(context, cipher, key, NULL, 1, NULL);
    if (!EVP_CipherUpdate(context, tweak, &n, secrets->iv, BLOCK))
        _exit(1);
    add(tweak, TWEAK);
}

static void add_keys(const char *name, size_t key_bytes)
{
    size_t half = key_bytes / 2;
    if (strstr(name, "XTS") == NULL) {
        add_key(secrets->key, key_bytes);
        return;
    }
    add_key(secrets->key, half);
    add_key(secrets->key + half, half);
    add_tweak(secrets->key + half, half);
}

static void add_text(size_t bytes, int keystream)
{
    for (size_t at = 0; at + BLOCK <= bytes; at += STEP) {
        unsigned char block[NEEDLE];
        for (int k = 0; k < NEEDLE && keystream; k++)
            block[k] = secrets->plain[at + (size_t)k] ^ secrets->cipher[at + (size_t)k];
        if (keystream)
            add(block, KEYSTREAM);
        add(secrets->plain + at, PLAINTEXT);
    }
}

/* ---- GCM ------------------------------------------------------------------------------ */

static int is_gcm(const struct test_case *c)
{
    return strstr(c->cipher, "GCM") != NULL;
}

static void add_element(const unsigned char block[BLOCK], enum kind kind)
{
    unsigned char forms[HASH_FORMS][BLOCK];
    hash_forms(block, forms);
    for (int i = 0; i < HASH_FORMS; i++)
        add(forms[i], kind);
}

static void add_powers(const struct gpuaes_gcm_key *key, const unsigned *exponents, size_t count,
                       enum kind kind)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char power[BLOCK];
        hash_key_power(key, exponents[i], power);
        add_element(power, kind);
    }
}

/* The default provider's contexts have a table of the first few. */
static void add_hash_key(const struct gpuaes_gcm_key *key)
{
    static const unsigned of_keys[] = {1, 256, 512, 768, 1024, 2048},
                          of_devices[] = {32,   48,   100,  128,   200,   240,  255,
                                          4096, 5120, 8192, 12288, 25600, 65280};
    add_powers(key, of_keys, sizeof of_keys / sizeof *of_keys, HASH_KEY);
    add_powers(key, of_devices, sizeof of_devices / sizeof *of_devices, POWER);
}

/* Of the whole blocks from the first on. */
static void add_hash(const struct gpuaes_gcm_key *key, size_t bytes)
{
    unsigned char hash[BLOCK] = {0};
    gpuaes_gcm_hash(key, hash, secrets->cipher, bytes / BLOCK * BLOCK);
    add_element(hash, HASH);
}

static void add_block_of(EVP_CIPHER_CTX *ecb, const unsigned char iv[12], uint32_t counter,
                         enum kind kind)
{
    unsigned char block[BLOCK];
    int n;
    memcpy(block, iv, 12);
    for (int i = 0; i < 4; i++)
        block[15 - i] = (unsigned char)(counter >> 8 * i);
    if (EVP_EncryptUpdate(ecb, block, &n, block, BLOCK))
        add(block, kind);
}

/* What is GCM's alone; `context` has encrypted the text. */
static void add_gcm(const struct test_case *c, EVP_CIPHER_CTX *context)
{
    enum { PIECE = 128 * KIB };
    static const unsigned char zeros[12]; /* the IV of the provider's own hashes */
    struct gpuaes_gcm_key key;
    size_t key_bytes = (size_t)EVP_CIPHER_CTX_get_key_length(context);
    char name[] = "AES-nnn-ECB";
    int n;
    memcpy(name, c->cipher, 7);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, "provider=default");
    EVP_CIPHER_CTX *ecb = EVP_CIPHER_CTX_new();
    if (!EVP_EncryptInit_ex2(ecb, cipher, secrets->key, NULL, NULL) ||
        !EVP_EncryptFinal_ex(context, secrets->out, &n) ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, BLOCK, secrets->tag) <= 0 ||
        !gpuaes_gcm_key_expand(&key, secrets->key, key_bytes))
        _exit(1);
    add_hash_key(&key);
    add_hash(&key, c->bytes);
    add_hash(&key, PIECE);
    add_block_of(ecb, secrets->iv, 1, MASK);
    add_block_of(ecb, zeros, 1, MASK);
    add_block_of(ecb, secrets->iv, (uint32_t)(2 + c->bytes / BLOCK),
                 KEYSTREAM); /* after the last whole one */
}

/* In a child, whose memory goes with it. */
static void make_secrets(const struct test_case *c)
{
    struct tap_random random = {7};
    int n, is_base64 = !strcmp(c->cipher, "BASE64");
    tap_random_bytes(&random, secrets->key, sizeof secrets->key);
    tap_random_bytes(&random, secrets->other_key, sizeof secrets->other_key);
    tap_random_bytes(&random, secrets->iv, sizeof secrets->iv);
    tap_random_bytes(&random, secrets->plain, c->bytes);
    if (is_base64) {
        (void)EVP_EncodeBlock(secrets->cipher, secrets->plain, (int)c->bytes);
        add_text(c->bytes, 0);
        _exit(0);
    }
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, c->cipher, "provider=default");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(context, cipher, secrets->key, secrets->iv, 1, NULL);
    EVP_CIPHER_CTX_set_padding(context, 0);
    if (!EVP_CipherUpdate(context, secrets->cipher, &n, secrets->plain, (int)c->bytes))
        _exit(1);
    add_keys(c->cipher, (size_t)EVP_CIPHER_get_key_length(cipher));
    add_text(c->bytes, strstr(c->cipher, "CTR") != NULL || is_gcm(c));
    if (is_gcm(c))
        add_gcm(c, context);
    _exit(0);
}

/* ---- Search ------------------------------------------------------------------------------ */

static unsigned count_of(enum kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < search->count; i++)
        count += search->found[i] != 0 && secrets->kind[i] == kind;
    return count;
}

/* What is left of kinds that are not allowed. */
static void show(const char *when, unsigned allowed)
{
    for (enum kind kind = KEY; kind < KINDS; kind++)
        if (count_of(kind) != 0 && (allowed & BIT(kind)) == 0)
            fprintf(stderr, "# %s: %u blocks of %s are left %s\n", name_of_case, count_of(kind),
                    kind_names[kind], when);
    char line[300] = "",
         last[300] = "none"; /* a mapping is named once for all of a kind in a row */
    unsigned char kind = KINDS;
    for (unsigned i = 0; i < search->count; i++) {
        if (search->found[i] == 0 || (allowed & BIT(secrets->kind[i])) != 0)
            continue;
        search_describe(search->where[i], line, sizeof line);
        if (strcmp(line, last) != 0 || secrets->kind[i] != kind)
            fprintf(stderr, "# %s: block %u of %s at %#" PRIxPTR ": %s\n", name_of_case, i,
                    kind_names[secrets->kind[i]], search->where[i], line);
        memcpy(last, line, sizeof last);
        kind = secrets->kind[i];
    }
}

/* The device may be wiping still, and a card says nothing of it. */
static int is_clean(const char *when, unsigned allowed)
{
    for (int i = 0; i < 60000 && application_count("emulator_under_way") != 0; i++)
        sleep_ms(1);
    int tries =
        search->is_ignored != NULL ? 40 : 3; /* a card is fast, a driver's memory is large */
    for (int i = 0; i < tries; i++) {
        unsigned left = 0;
        (void)search_memory(search);
        for (enum kind kind = KEY; kind < KINDS; kind++)
            left += (allowed & BIT(kind)) == 0 ? count_of(kind) : 0;
        if (left == 0)
            return 1;
        sleep_ms(50);
    }
    show(when, allowed);
    return 0;
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static int free_it(EVP_CIPHER_CTX *context)
{
    (void)context; /* the caller does */
    return 1;
}

static int give_another_key(EVP_CIPHER_CTX *context)
{
    return EVP_CipherInit_ex2(context, NULL, secrets->other_key, secrets->other_iv, -1, NULL) &&
           is_clean("after another key", NOTHING);
}

static int reset(EVP_CIPHER_CTX *context)
{
    return EVP_CIPHER_CTX_reset(context) && is_clean("after a reset", NOTHING);
}

static int copy_and_free(EVP_CIPHER_CTX *context)
{
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int n, right = EVP_CIPHER_CTX_copy(copy, context) &&
                   EVP_CipherUpdate(copy, secrets->out + MOST, &n, secrets->plain, 64 * KIB);
    EVP_CIPHER_CTX_free(copy);
    memset(secrets->out + MOST, 0, 64 * KIB);
    return right;
}

/* Pinned memory of the library's, which cannot be freed once the device is lost. */
static int free_pinned_when_lost(EVP_CIPHER_CTX *context)
{
    int n;
    unsigned char *p = LIBRARY(gpuaes_pinned_alloc)(64 * KIB);
    if (p == NULL)
        return 0;
    memcpy(p, secrets->plain, 64 * KIB);
    emulate("lost=ctx_push_current:1");
    (void)EVP_CipherUpdate(context, secrets->out, &n, secrets->plain, 64 * KIB);
    (void)search_memory(search);
    int was_found = count_of(PLAINTEXT) != 0;
    LIBRARY(gpuaes_pinned_free)(p, 64 * KIB);
    emulate("");
    return was_found && devices_in_use() == 0;
}

static int be_idle(EVP_CIPHER_CTX *context)
{
    (void)context;
    for (int i = 0; i < 6000 && ahead_get().pinned; i++)
        sleep_ms(10);
    return ahead_get().pinned == 0 && is_clean("after the release of an idle device", OF_CONTEXT);
}

static int give_another_iv(EVP_CIPHER_CTX *context)
{
    return EVP_CipherInit_ex2(context, NULL, NULL, secrets->other_iv, -1, NULL) &&
           is_clean("after an IV", OF_ENDED);
}

static int finish(EVP_CIPHER_CTX *context)
{
    unsigned char out[BLOCK];
    int n;
    if (EVP_CIPHER_CTX_get_mode(context) == EVP_CIPH_GCM_MODE &&
        !EVP_CIPHER_CTX_is_encrypting(context))
        (void)EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, BLOCK, secrets->tag);
    return EVP_CipherFinal_ex(context, out, &n) && is_clean("after a final", OF_ENDED);
}

/*
 * The hash of what was queued is in pinned memory until the tag is made, which fails: memory of the
 * device is lost then, but the CPU must overwrite its own. The message is so short that one block
 * of threads hashes it, which leaves the hash and no sums.
 */
static int fail_on_stream(EVP_CIPHER_CTX *context, const char *fault)
{
    unsigned char out[BLOCK];
    int n;
    (void)search_memory(search);
    int right = count_of(HASH) != 0;
    if (!right)
        fprintf(stderr, "# the hash on a stream is not found: the search shows nothing\n");
    emulate(fault);
    right = right && !EVP_CipherFinal_ex(context, out, &n);
    emulate("");
    ERR_clear_error();
    return right && is_clean("after a fault on the stream", (OF_CONTEXT & ~BIT(HASH)) | BIT(POWER));
}

static int fault_on_stream(EVP_CIPHER_CTX *context)
{
    return fail_on_stream(context, "fault=memset_d8_async:1");
}

static int lose_on_stream(EVP_CIPHER_CTX *context)
{
    return fail_on_stream(context, "lost=memset_d8_async:1");
}

/* The same text by the library's own calls, there and back, with the key in memory of the test. */
static int seal_by_library(EVP_CIPHER_CTX *context)
{
    struct gpuaes_gcm_message m = {.iv = secrets->iv,
                                   .iv_bytes = 12,
                                   .in = secrets->plain,
                                   .out = secrets->out,
                                   .len = GCM_BYTES,
                                   .tag = secrets->made_tag,
                                   .tag_bytes = BLOCK};
    int right = LIBRARY(gpuaes_gcm_key_expand)(&secrets->gcm_key, secrets->key,
                                               (size_t)EVP_CIPHER_CTX_get_key_length(context)) &&
                LIBRARY(gpuaes_gcm_encrypt)(&secrets->gcm_key, &m, GPUAES_WAIT) == GPUAES_OK &&
                memcmp(secrets->out, secrets->cipher, GCM_BYTES) == 0 &&
                memcmp(secrets->made_tag, secrets->tag, BLOCK) == 0;
    m.in = secrets->cipher;
    return right && LIBRARY(gpuaes_gcm_decrypt)(&secrets->gcm_key, &m, GPUAES_WAIT) == GPUAES_OK &&
           memcmp(secrets->out, secrets->plain, GCM_BYTES) == 0;
}

static EVP_CIPHER_CTX *open_other(const unsigned char *key)
{
    return context_open(1, "AES-256-CTR", key, secrets->iv, 1, NULL);
}

static int copy_over(EVP_CIPHER_CTX *context)
{
    EVP_CIPHER_CTX *other = open_other(secrets->key);
    int right = EVP_CIPHER_CTX_copy(context, other) && is_clean("after a copy over it", OF_CONTEXT);
    EVP_CIPHER_CTX_free(other);
    return right;
}

/* The memory goes to another stream while this one rests. */
static int rest(EVP_CIPHER_CTX *context)
{
    EVP_CIPHER_CTX *other = open_other(secrets->other_key);
    uint64_t launches = ahead_get().launches;
    int n, right = 1;
    (void)context;
    sleep_ms(1200); /* what has been used within a second is not taken away */
    for (int i = 0; right && i < 3 * MIB / STEP; i++)
        right = EVP_CipherUpdate(other, secrets->out, &n, secrets->plain, STEP);
    EVP_CIPHER_CTX_free(other);
    return right && ahead_get().launches > launches &&
           is_clean("after it was taken away", OF_CONTEXT);
}

/* ---- A stream that leaves keystream behind ----------------------------------------------- */

/* Goes on from *position; 1 if the bytes are right. */
static int go_on(EVP_CIPHER_CTX *context, size_t *position)
{
    int n, right = *position + PACED <= MOST &&
                   EVP_CipherUpdate(context, secrets->out, &n, secrets->plain + *position, PACED) &&
                   !memcmp(secrets->out, secrets->cipher + *position, PACED);
    *position += PACED;
    return right;
}

/* While segments are under way; the end of the stream waits for them. */
static int end_in_flight(EVP_CIPHER_CTX *context)
{
    size_t position = 0;
    emulate("kernel-us=30000");
    /* The same stream again, up to where its ring begins. */
    int right = EVP_CipherInit_ex2(context, NULL, secrets->key, secrets->iv, -1, NULL);
    while (right && position < BEGINS_AFTER + 256 * KIB)
        right = go_on(context, &position);
    right = right && EVP_CipherInit_ex2(context, NULL, secrets->other_key, NULL, -1, NULL);
    while (application_count("emulator_under_way") != 0)
        sleep_ms(1);
    emulate("");
    return right && is_clean("after an end in flight", NOTHING);
}

/* The ring of the stream that rests goes to another one, and later from one to the next. */
static int free_many(EVP_CIPHER_CTX *context)
{
    enum { CONTEXTS = 200, LAST = 20, ROUNDS = 20 };
    EVP_CIPHER_CTX *others[CONTEXTS];
    size_t position[CONTEXTS] = {0};
    uint64_t launches = ahead_get().launches;
    int right = 1;
    (void)context;
    sleep_ms(1200); /* what has been used within a second is not taken away */
    for (int i = 0; i < CONTEXTS; i++) {
        others[i] = open_other(secrets->key);
        while (right && position[i] < BEGINS_AFTER + 64 * KIB)
            right = go_on(others[i], &position[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; right && i < CONTEXTS; i++)
            right = go_on(others[i], &position[i]);
    for (int i = 0; i < CONTEXTS - LAST; i++)
        EVP_CIPHER_CTX_free(others[i]);
    for (int i = CONTEXTS - LAST; i < CONTEXTS; i++) {
        while (right && position[i] < 3 * MIB)
            right = go_on(others[i], &position[i]);
        EVP_CIPHER_CTX_free(others[i]);
    }
    return right && ahead_get().launches > launches + LAST;
}

/* How many blocks of keystream are found beyond the position. */
static unsigned found_ahead(size_t position)
{
    unsigned found = 0;
    (void)search_memory(search);
    for (unsigned i = 0, at = 0; i < search->count; i++)
        if (secrets->kind[i] == KEYSTREAM)
            found += at++ * (size_t)STEP >= position && search->found[i] != 0;
    return found;
}

/* Until there is keystream ahead of it, which the search must find to be worth anything. */
static int run_ahead(EVP_CIPHER_CTX *context)
{
    struct ahead before = ahead_get(), now = before;
    size_t position = 0;
    int right = 1, underruns = 0;
    while (right && now.bytes == before.bytes) {
        struct ahead last = now;
        if (position > MOST / 2) { /* the device is slower than that: from the start */
            slow_down();
            position = 0;
            right = EVP_CipherInit_ex2(context, NULL, NULL, secrets->iv, -1, NULL);
        }
        right = right && go_on(context, &position);
        now = ahead_get();
        if (position >= BEGINS_AFTER)
            keep_pace(&last, &now, &underruns);
    }
    for (int i = 0; i < 60000 && application_count("emulator_under_way") != 0; i++)
        sleep_ms(1);
    unsigned ahead = found_ahead(position);
    if (ahead < 64)
        fprintf(stderr, "# %u blocks of keystream are found beyond %zu bytes\n", ahead, position);
    return right && ahead >= 64;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

#define AES(name_, cipher_, encrypt_, bytes_, in_place_, place_)                                   \
    .name = name_, .cipher = cipher_, .encrypt = encrypt_, .bytes = bytes_, .in_place = in_place_, \
    .place = place_
#define AHEAD(name_, settings_)                                                                    \
    AES("read-ahead, " name_, "AES-256-CTR", 1, MOST, 0, PAGEABLE),                                \
        .runs_ahead = 1, .settings = "GPUAES_MIN_BYTES=1G GPUAES_START=eager" settings_
static const struct test_case cases[] = {
    {AES("CTR", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE), .end = free_it},
    {AES("CTR in place", "AES-128-CTR", 1, 300 * KIB, 1, PAGEABLE), .end = free_it},
    {AES("ECB encryption", "AES-192-ECB", 1, 300 * KIB, 0, PAGEABLE), .end = free_it},
    {AES("ECB decryption", "AES-256-ECB", 0, 300 * KIB, 0, PAGEABLE), .end = free_it},
    {AES("CBC decryption", "AES-256-CBC", 0, 300 * KIB, 0, PAGEABLE), .end = free_it},
    {AES("CBC decryption in place", "AES-128-CBC", 0, 300 * KIB, 1, PAGEABLE), .end = free_it},
    {AES("CBC encryption", "AES-256-CBC", 1, 300 * KIB, 0, PAGEABLE), .end = free_it},
    {AES("ECB in place, large", "AES-256-ECB", 1, 5 * MIB, 1, PAGEABLE), .end = free_it},
    {AES("CBC in place, large", "AES-256-CBC", 0, 5 * MIB, 1, PAGEABLE), .end = free_it},
    {AES("ECB, pinned", "AES-256-ECB", 1, 300 * KIB, 1, PINNED), .end = free_it},
    {AES("ECB, pinned, by copies", "AES-128-ECB", 1, 5 * MIB, 1, PINNED), .end = free_it},
    {AES("CTR, device memory", "AES-256-CTR", 1, 300 * KIB, 1, DEVICE), .end = free_it},
    {AES("CTR, hybrid kernels", "AES-256-CTR", 1, 512 * KIB, 1, DEVICE), .end = free_it,
     .settings = "GPUAES_KERNEL=hybrid"},
    {AES("two devices", "AES-256-ECB", 1, 16 * MIB, 0, PINNED), .end = free_it,
     .settings = "GPUAES_DEVICES=all", .fault = "devices=2"},
    {AES("XTS", "AES-128-XTS", 1, 300 * KIB + 5, 0, PAGEABLE), .end = free_it},
    {AES("XTS in place", "AES-128-XTS", 0, 300 * KIB + 5, 1, PAGEABLE), .end = free_it},
    {AES("XTS, two devices", "AES-128-XTS", 1, 16 * MIB, 0, PINNED), .end = free_it,
     .settings = "GPUAES_DEVICES=all", .fault = "devices=2"},
    {AES("XTS, a launch fails", "AES-128-XTS", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=launch_kernel:2"},
    {AES("CTR, another key", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE), .end = give_another_key},
    {AES("CBC, another key", "AES-192-CBC", 0, 300 * KIB, 0, PAGEABLE), .end = give_another_key},
    {AES("ECB, a reset", "AES-256-ECB", 1, 300 * KIB, 0, PAGEABLE), .end = reset},
    {AES("CTR, a copy", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE), .end = copy_and_free},
    {AES("CTR, an idle device", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE), .end = be_idle,
     .settings = "GPUAES_IDLE_SECONDS=1"},
    {AES("CTR, the library's pinned memory", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE),
     .end = free_pinned_when_lost, .fault = ""},
    {.name = "Base64 encoding", .cipher = "BASE64", .encrypt = 1, .bytes = 300000, .end = free_it},
    {.name = "Base64 decoding", .cipher = "BASE64", .encrypt = 0, .bytes = 300000, .end = free_it},
    {AES("GCM encryption", "AES-256-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = free_it},
    {AES("GCM decryption in place", "AES-128-GCM", 0, GCM_BYTES, 1, PAGEABLE), .end = free_it},
    {AES("GCM, large", "AES-256-GCM", 0, 5 * MIB, 0, PAGEABLE), .end = free_it},
    {AES("GCM, pinned", "AES-192-GCM", 1, GCM_BYTES, 1, PINNED), .end = free_it},
    {AES("GCM, pinned, by copies", "AES-256-GCM", 1, 5 * MIB, 1, PINNED), .end = free_it},
    {AES("GCM, device memory", "AES-256-GCM", 1, GCM_BYTES, 1, DEVICE), .end = free_it},
    {AES("GCM, hybrid kernels", "AES-128-GCM", 1, 512 * KIB, 1, DEVICE), .end = free_it,
     .settings = "GPUAES_KERNEL=hybrid"},
    {AES("GCM, small kernels", "AES-256-GCM", 1, GCM_BYTES, 1, DEVICE), .end = free_it,
     .settings = "GPUAES_KERNEL=small"},
    {AES("GCM, two devices", "AES-256-GCM", 1, 16 * MIB, 0, PINNED), .end = free_it,
     .settings = "GPUAES_DEVICES=all", .fault = "devices=2"},
    {AES("GCM on a cuda-stream", "AES-256-GCM", 1, GCM_BYTES, 1, DEVICE), .end = finish,
     .on_stream = 1},
    {AES("GCM on a cuda-stream, in whole blocks", "AES-128-GCM", 1, 300 * KIB, 1, DEVICE),
     .end = finish, .on_stream = 1},
    {AES("GCM on a cuda-stream, given up", "AES-256-GCM", 1, 300 * KIB, 1, DEVICE), .end = free_it,
     .on_stream = 1},
    {AES("GCM on a cuda-stream, another key", "AES-256-GCM", 1, 300 * KIB, 1, DEVICE),
     .end = give_another_key, .on_stream = 1},
    {AES("GCM on a cuda-stream, another IV", "AES-128-GCM", 1, 300 * KIB, 1, DEVICE),
     .end = give_another_iv, .on_stream = 1},
    {AES("GCM, another key", "AES-256-GCM", 0, GCM_BYTES, 0, PAGEABLE), .end = give_another_key},
    {AES("GCM, another IV", "AES-256-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = give_another_iv},
    {AES("GCM, a reset", "AES-192-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = reset},
    {AES("GCM encryption, a final", "AES-256-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = finish},
    {AES("GCM decryption, a final", "AES-128-GCM", 0, GCM_BYTES, 0, PAGEABLE), .end = finish},
    {AES("GCM, by the library", "AES-256-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = seal_by_library},
    {AES("GCM, an idle device", "AES-256-GCM", 1, 300 * KIB, 0, PAGEABLE), .end = be_idle,
     .settings = "GPUAES_IDLE_SECONDS=1"},
    {AES("CTR, a launch fails", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=launch_kernel:2"},
    {AES("ECB, a copy fails", "AES-256-ECB", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=memcpy_htod_async:3"},
    {AES("ECB, a launch fails", "AES-256-ECB", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=launch_kernel:2"},
    {AES("CTR, the wipe fails", "AES-256-CTR", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=memset_d8_async:2"},
    {AES("ECB, the wipe fails", "AES-256-ECB", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=memset_d8_async:3", .keeps_text = 1},
    {AES("CBC, the device is lost", "AES-256-CBC", 0, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "lost=launch_kernel:3", .may_refuse = 1, .keeps_text = 1},
    {AES("CBC in place, refused", "AES-256-CBC", 0, 5 * MIB, 1, PAGEABLE), .end = free_it,
     .fault = "fault=launch_kernel:3", .may_refuse = 1},
    {AES("ECB, short of memory", "AES-256-ECB", 1, 300 * KIB, 0, PAGEABLE), .end = free_it,
     .fault = "fault=mem_host_alloc:2:2"},
    {AES("GCM, a launch fails", "AES-256-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = free_it,
     .fault = "fault=launch_kernel:4"},
    {AES("GCM, a copy fails", "AES-256-GCM", 0, GCM_BYTES, 0, PAGEABLE), .end = free_it,
     .fault = "fault=memcpy_htod_async:3"},
    {AES("GCM, the wipe fails", "AES-128-GCM", 1, GCM_BYTES, 0, PAGEABLE), .end = free_it,
     .fault = "fault=memset_d8_async:4", .keeps_text = 1},
    {AES("GCM, the device is lost", "AES-256-GCM", 0, GCM_BYTES, 0, PAGEABLE), .end = free_it,
     .fault = "lost=launch_kernel:3", .keeps_text = 1},
    {AES("GCM in place, refused", "AES-256-GCM", 0, 5 * MIB, 1, PAGEABLE), .end = free_it,
     .fault = "fault=launch_kernel:3", .may_refuse = 1},
    {AES("GCM on a cuda-stream, its end fails", "AES-256-GCM", 1, KIB, 1, DEVICE),
     .end = fault_on_stream, .fault = "", .on_stream = 1, .keeps_text = 1},
    {AES("GCM on a cuda-stream, the device is lost", "AES-256-GCM", 1, KIB, 1, DEVICE),
     .end = lose_on_stream, .fault = "", .on_stream = 1, .keeps_text = 1},
    {AHEAD("a stream is freed", ""), .end = free_it},
    {AHEAD("another key", ""), .end = give_another_key},
    {AHEAD("another IV", ""), .end = give_another_iv},
    {AHEAD("a final", ""), .end = finish},
    {AHEAD("a reset", ""), .end = reset},
    {AHEAD("a copy over it", ""), .end = copy_over},
    {AHEAD("an end with segments in flight", ""), .end = end_in_flight, .fault = ""},
    /* The search for keystream comes before, may take seconds and is no work of the device. */
    {AHEAD("an idle device is released", " GPUAES_IDLE_SECONDS=20"), .end = be_idle},
    {AHEAD("its memory goes to another stream", " GPUAES_READ_AHEAD_BYTES=768K"), .end = rest},
    {AHEAD("very many streams", " GPUAES_READ_AHEAD_BYTES=6M"), .end = free_many},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* Memory of that kind with the input in it, or NULL. */
static unsigned char *place_input(const struct test_case *c, const unsigned char *in)
{
    if (c->place == PAGEABLE)
        return memcpy(secrets->out, in, c->bytes);
    unsigned char *p = application_alloc(c->place, c->bytes);
    return p != NULL && application_write(c->place, p, in, c->bytes) ? p : NULL;
}

/* One update of all of it; 1 if it is right, or refused where it may be. */
static int update(const struct test_case *c, EVP_CIPHER_CTX *context)
{
    int is_base64 = !strcmp(c->cipher, "BASE64"), n = 0;
    size_t length = is_base64 && !c->encrypt ? c->bytes / 3 * 4 : c->bytes;
    const unsigned char *in = c->encrypt ? secrets->plain : secrets->cipher;
    const unsigned char *expected = c->encrypt ? secrets->cipher : secrets->plain;
    size_t room = sizeof secrets->out;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    unsigned char *out = secrets->out, *memory = NULL;
    if (is_base64 && !EVP_CIPHER_CTX_set_params(context, params))
        return 0;
    if (c->in_place) {
        memory = place_input(c, in);
        in = out = memory;
    }
    emulate(c->fault != NULL ? c->fault : "");
    int done = EVP_CipherUpdate(context, out, &n, in, (int)length);
    emulate("");
    if (!done)
        ERR_clear_error();
    if (c->on_stream && !application_wait(cuda_stream))
        return 0;
    if (memory != NULL && c->place != PAGEABLE)
        (void)application_read(secrets->out, c->place, memory, c->bytes);
    return done ? memcmp(secrets->out, expected, (size_t)n) == 0 : c->may_refuse;
}

static EVP_CIPHER_CTX *open_context(const struct test_case *c)
{
    unsigned one = 1;
    OSSL_PARAM params[] = {c->place == DEVICE && !c->on_stream
                               ? OSSL_PARAM_construct_uint("device-memory", &one)
                               : OSSL_PARAM_construct_end(),
                           OSSL_PARAM_construct_end()};
    int is_base64 = !strcmp(c->cipher, "BASE64");
    EVP_CIPHER_CTX *context = context_open(1, c->cipher, is_base64 ? NULL : secrets->key,
                                           is_base64 ? NULL : secrets->iv, c->encrypt, params);
    if (context == NULL) {
        ERR_print_errors_fp(stderr);
        abort();
    }
    EVP_CIPHER_CTX_set_padding(context, 0);
    if (c->on_stream &&
        (application.stream_create(&cuda_stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS ||
         !set_stream(context, cuda_stream)))
        abort();
    return context;
}

/* Starts the device with a key of no interest. */
static int start_device(const struct test_case *c)
{
    if (c->runs_ahead)
        return ahead_start(60000);
    static unsigned char buffer[4096];
    EVP_CIPHER *cipher = fetch_ours(&test_providers, "AES-128-ECB");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n, ok = EVP_CipherInit_ex2(context, cipher, buffer, NULL, 1, NULL) &&
                EVP_CipherUpdate(context, buffer, &n, buffer, sizeof buffer);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return ok && (getenv("GPUAES_MIN_BYTES") == NULL || ahead_get().launches > 0);
}

/* What is looked for; 1 if it is there. */
static int make_search(const struct test_case *c)
{
    search = search_new(sizeof *secrets);
    if (search == NULL)
        return 0;
    secrets = (struct secrets *)(void *)search->own;
    pid_t child = fork();
    if (child == 0)
        make_secrets(c);
    return ended_well(child);
}

static int prepare(const struct test_case *c)
{
    if (!make_search(c))
        return 0;
    void *symbol = application_hook("emulator_is_inside_device");
    memcpy(&search->is_ignored, &symbol, sizeof symbol);
    emulate(c->fault != NULL && !strncmp(c->fault, "devices", 7) ? c->fault : "");
    test_providers = providers_load();
    return start_device(c) && (c->place == PAGEABLE || application_begin(0)) &&
           is_clean("before anything", NOTHING);
}

static int run_case(const struct test_case *c)
{
    alarm(sanitized() ? 600 : 300);
    name_of_case = c->name;
    if (!prepare(c))
        return 0;
    EVP_CIPHER_CTX *context = open_context(c);
    int right = c->runs_ahead ? run_ahead(context) : update(c, context);
    if (!right)
        fprintf(stderr, "# the update is wrong\n");
    if (c->fault != NULL && strchr(c->fault, ':') != NULL && ahead_get().faults == 0) {
        fprintf(stderr, "# there was no fault\n");
        right = 0;
    }
    (void)search_memory(search);
    if (strcmp(c->cipher, "BASE64") && count_of(KEY) == 0) {
        fprintf(stderr, "# the key of a context is not found: the search shows nothing\n");
        right = 0;
    }
    if (right && is_gcm(c) && !c->may_refuse && (!count_of(HASH_KEY) || !count_of(MASK))) {
        fprintf(stderr, "# nor are H and the mask of a message\n");
        right = 0;
    }
    right = right && c->end(context);
    EVP_CIPHER_CTX_free(context);
    unsigned allowed = c->keeps_text ? OF_DEVICE : NOTHING;
    right = right && is_clean("after it was freed", allowed);
    providers_unload(&test_providers);
    return right && is_clean("after the provider was unloaded", allowed);
}

/* ---- The log -------------------------------------------------------------------------------- */

/* The first bytes of each needle, as they are and in hexadecimal digits. */
static int tells_secret(const char *text, size_t length)
{
    for (unsigned i = 0; i < search->count; i++) {
        const unsigned char *n = search->needle[i];
        char lower[17], upper[17];
        for (int k = 0; k < 8; k++) {
            snprintf(lower + 2 * k, 3, "%02x", n[k]);
            snprintf(upper + 2 * k, 3, "%02X", n[k]);
        }
        if (memmem(text, length, n, 8) || memmem(text, length, lower, 16) ||
            memmem(text, length, upper, 16))
            return 1;
    }
    return 0;
}

/* Some cases again with log=debug, and what they say. */
static int log_is_clean(size_t number)
{
    static char text[MIB];
    int status;
    if (!make_search(&cases[number]))
        return 0;
    FILE *log = case_hear(STDERR_FILENO, &status, "GPUAES_LOG=debug", NULL, "%zu", number);
    size_t length = fread(text, 1, sizeof text, log);
    fclose(log);
    int clean = status >= 0 && search->count != 0 && memmem(text, length, "summary", 7) != NULL &&
                !tells_secret(text, length);
    munmap(search, search->own_bytes);
    return clean;
}

static void check_logs(void)
{
    int clean = 1;
    unsetenv("GPUAES_MIN_BYTES"); /* so that the choice of CPU or GPU is explained, too */
    for (size_t i = 0; i < CASES && clean; i += 3)
        if (cases[i].settings == NULL && cases[i].fault == NULL && cases[i].place == PAGEABLE)
            clean = log_is_clean(i);
    setenv("GPUAES_MIN_BYTES", "0", 1);
    for (size_t i = 0; i < CASES && clean; i += 2)
        if (cases[i].fault != NULL)
            clean = log_is_clean(i);
    tap_ok(clean, "log=debug tells no secret");
}

/* ---- All cases ---------------------------------------------------------------------------- */

enum { CANNOT_FAIL = -2 };

/* Its process; -1 if there is none; or CANNOT_FAIL, where this driver does not on demand. */
static pid_t begin_case(size_t number)
{
    if (cases[number].fault != NULL && application_hook("emulator_configure") == NULL)
        return CANNOT_FAIL;
    return case_begin(cases[number].settings, NULL, "%zu", number);
}

static void end_case(size_t number, pid_t child)
{
    if (child == CANNOT_FAIL)
        tap_skip("%s: this driver does not fail on demand", cases[number].name);
    else
        tap_ok(ended_well(child), "%s: no secret is left%s", cases[number].name,
               cases[number].keeps_text ? " but on the device that failed" : "");
}

/* Several at once: on a card, much memory is searched. */
static void check_cases(void)
{
    enum { AT_ONCE = 8 };
    pid_t child[CASES];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t step = sanitized() ? 7 : 1,
           ahead = step * (processors < AT_ONCE ? (size_t)processors : AT_ONCE);
    for (size_t i = 0; i < CASES + ahead; i += step) {
        if (i < CASES)
            child[i] = begin_case(i);
        if (i >= ahead)
            end_case(i - ahead, child[i - ahead]);
    }
}

int main(int argc, char **argv)
{
    search_bind_now(argv);
    if (argc > 1)
        return !run_case(&cases[strtoul(argv[1], NULL, 10) % CASES]);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_MIN_BYTES", "0", 1);
    check_cases();
    if (application_hook("emulator_configure") != NULL && !sanitized())
        check_logs();
    return tap_done();
}
