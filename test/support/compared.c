/*
 * Streams, ours compared with the default provider's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/compared.h"

const unsigned char usual_key[32] = "the key of a stream that goes on",
                    usual_iv[BLOCK] = "where it begins", other_iv[BLOCK] = "and another IV.";

struct memory *memory_for(uint64_t seed, size_t longest)
{
    size_t room = (longest + 2 * EDGE + 63) & ~(size_t)63;
    struct memory *m = aligned_alloc(64, 64 * ((sizeof *m + 63) / 64) + (2 * SIDES + 1) * room);
    struct tap_random random = {seed | 1};
    if (m == NULL)
        abort();
    *m = (struct memory){.in_place = PAGEABLE, .out_place = PAGEABLE};
    m->text = (unsigned char *)m + 64 * ((sizeof *m + 63) / 64);
    for (size_t i = 0; i < SIDES; i++) {
        m->in[i] = m->text + (1 + 2 * i) * room;
        m->out[i] = m->text + (2 + 2 * i) * room;
    }
    tap_random_bytes(&random, m->text, room);
    return m;
}

struct memory *memory_new(uint64_t seed)
{
    return memory_for(seed, LONGEST);
}

/* ---- What is compared --------------------------------------------------------- */

struct answer {
    int result[SIDES], written[SIDES];
    unsigned long error[SIDES];
};

static int same_answer(const struct answer *a, const char *what)
{
    if (a->result[OURS] == a->result[REFERENCE] && a->error[OURS] == a->error[REFERENCE] &&
        (a->result[OURS] <= 0 || a->written[OURS] == a->written[REFERENCE]))
        return 1;
    fprintf(stderr, "# %s: result %d/%d, written %d/%d, first error %lx/%lx (ours/default's)\n",
            what, a->result[OURS], a->result[REFERENCE], a->written[OURS], a->written[REFERENCE],
            a->error[OURS], a->error[REFERENCE]);
    return 0;
}

static int same_bytes(unsigned char *const memory[SIDES], size_t length, const char *what)
{
    size_t i = 0;
    if (!memcmp(memory[OURS], memory[REFERENCE], length))
        return 1;
    while (memory[OURS][i] == memory[REFERENCE][i])
        i++;
    fprintf(stderr, "# %s differs first at byte %zd\n", what, (ssize_t)i - EDGE);
    return 0;
}

static int pointers_agree(const struct stream *s)
{
    static const char *const names[] = {"updated", "original"};
    int same = 1;
    for (int which = UPDATED; which <= ORIGINAL; which++)
        if (s->iv[which][OURS] != NULL &&
            memcmp(s->iv[which][OURS], s->iv[which][REFERENCE], BLOCK) != 0) {
            fprintf(stderr, "# the pointer to the %s IV shows another\n", names[which]);
            same = 0;
        }
    return same;
}

int stream_agrees(const struct stream *s)
{
    unsigned char iv[SIDES][2][BLOCK] = {{{0}}};
    unsigned num[SIDES] = {99, 99};
    int result[SIDES];
    for (int i = 0; i < SIDES; i++) {
        OSSL_PARAM params[] = {
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, iv[i][ORIGINAL], BLOCK),
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, iv[i][UPDATED], BLOCK),
            OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num[i]), OSSL_PARAM_END};
        result[i] = EVP_CIPHER_CTX_get_params(s->side[i], params);
    }
    ERR_clear_error(); /* 3.5 leaves one where an IV is asked for as a string */
    if (result[OURS] == result[REFERENCE] && num[OURS] == num[REFERENCE] &&
        !memcmp(iv[OURS], iv[REFERENCE], sizeof iv[OURS]))
        return pointers_agree(s);
    fprintf(stderr, "# results %d/%d, num %u/%u, IVs %s (ours/default's)\n", result[OURS],
            result[REFERENCE], num[OURS], num[REFERENCE],
            memcmp(iv[OURS], iv[REFERENCE], sizeof iv[OURS]) != 0 ? "differ" : "agree");
    return 0;
}

/* ---- Streams ------------------------------------------------------------------ */

int stream_init_with(struct stream *s, EVP_CIPHER *const ciphers[SIDES], const unsigned char *key,
                     const unsigned char *iv, int encrypt, const OSSL_PARAM *params)
{
    struct answer a = {.written = {0}};
    for (int i = 0; i < SIDES; i++) {
        a.result[i] = EVP_CipherInit_ex2(s->side[i], ciphers != NULL ? ciphers[i] : NULL, key, iv,
                                         encrypt, params);
        a.error[i] = first_error();
    }
    s->run = s->held = 0;
    s->broken = a.result[REFERENCE] <= 0;
    return same_answer(&a, "an initialisation") && pointers_agree(s);
}

int stream_init(struct stream *s, const unsigned char *key, const unsigned char *iv, int encrypt)
{
    return stream_init_with(s, NULL, key, iv, encrypt, NULL);
}

struct stream stream_open_with(struct memory *memory, const char *name, const unsigned char *key,
                               const unsigned char *iv, int encrypt, const OSSL_PARAM *ours)
{
    struct stream s = {.memory = memory};
    for (int i = 0; i < SIDES; i++)
        if ((s.side[i] =
                 context_open(i == OURS, name, key, iv, encrypt, i == OURS ? ours : NULL)) == NULL)
            ERR_print_errors_fp(stderr);
    return s;
}

struct stream stream_open(struct memory *memory, const char *name, const unsigned char *key,
                          const unsigned char *iv)
{
    return stream_open_with(memory, name, key, iv, 1, NULL);
}

void stream_close(struct stream *s)
{
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX_free(s->side[i]);
        s->side[i] = NULL;
    }
}

int stream_copy(struct stream *to, const struct stream *from)
{
    struct answer a = {.written = {0}};
    struct stream copy = *from;
    for (int i = 0; i < SIDES; i++) {
        copy.side[i] = to->side[i] != NULL ? to->side[i] : EVP_CIPHER_CTX_new();
        a.result[i] = EVP_CIPHER_CTX_copy(copy.side[i], from->side[i]);
        a.error[i] = first_error();
        copy.iv[UPDATED][i] = copy.iv[ORIGINAL][i] = NULL;
    }
    *to = copy;
    to->run = 0;
    return same_answer(&a, "a copy");
}

int stream_set(struct stream *s, const OSSL_PARAM *params)
{
    struct answer a = {.written = {0}};
    for (int i = 0; i < SIDES; i++) {
        a.result[i] = EVP_CIPHER_CTX_set_params(s->side[i], params);
        a.error[i] = first_error();
    }
    s->run = 0;
    return same_answer(&a, "setting parameters");
}

int stream_set_padding(struct stream *s, unsigned padding)
{
    OSSL_PARAM params[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, &padding), OSSL_PARAM_END};
    return stream_set(s, params);
}

int stream_hold_iv(struct stream *s, int which)
{
    int right = 1;
    for (int i = 0; i < SIDES; i++) {
        void *pointer = NULL;
        OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(which == UPDATED
                                                                  ? OSSL_CIPHER_PARAM_UPDATED_IV
                                                                  : OSSL_CIPHER_PARAM_IV,
                                                              &pointer, BLOCK),
                               OSSL_PARAM_END};
        right &= EVP_CIPHER_CTX_get_params(s->side[i], params) && pointer != NULL &&
                 (s->iv[which][i] == NULL || s->iv[which][i] == pointer);
        s->iv[which][i] = pointer;
    }
    if (!right)
        fprintf(stderr, "# a pointer to an IV is not to be had, or elsewhere than before\n");
    return right && pointers_agree(s);
}

void stream_write_iv(struct stream *s, const unsigned char iv[BLOCK])
{
    for (int i = 0; i < SIDES; i++)
        memcpy(s->iv[UPDATED][i], iv, BLOCK);
}

/* ---- Data --------------------------------------------------------------------- */

/* Our memory of another kind begins as the host's is, and what became of it is read back there. */
static unsigned char *to_place(enum place place, unsigned char *there, unsigned char *host,
                               size_t length)
{
    if (place == PAGEABLE)
        return host;
    if (!application_write(place, there, host, length))
        abort();
    return there;
}

static void from_place(enum place place, const unsigned char *there, unsigned char *host,
                       size_t length)
{
    if (place != PAGEABLE && !application_read(host, place, there, length))
        abort();
}

static unsigned char *begin_output(struct memory *m, int side, size_t length)
{
    memset(m->out[side], 0xa5, length);
    return to_place(side == OURS ? m->out_place : PAGEABLE, m->out_there, m->out[side], length);
}

int stream_final(struct stream *s)
{
    struct memory *m = s->memory;
    struct answer a = {.written = {-1, -1}};
    for (int i = 0; i < SIDES; i++) {
        unsigned char *out = begin_output(m, i, 3 * EDGE);
        a.result[i] = EVP_CipherFinal_ex(s->side[i], out + EDGE, &a.written[i]);
        a.error[i] = first_error();
    }
    from_place(m->out_place, m->out_there, m->out[OURS], 3 * EDGE);
    s->broken = 1;
    s->held = 0;
    return same_answer(&a, "a final") &&
           (a.result[OURS] <= 0 || same_bytes(m->out, 3 * EDGE, "the final output"));
}

int stream_call(struct stream *s, const struct call *call)
{
    struct memory *m = s->memory;
    size_t around = call->length + 2 * EDGE;
    struct answer a = {.written = {-1, -1}};
    for (int i = 0; i < SIDES; i++) {
        memcpy(m->in[i], m->text, around);
        if (call->from != NULL)
            memcpy(m->in[i] + EDGE + call->in_at, call->from, call->length);
        unsigned char *out = begin_output(m, i, around) + EDGE + call->out_at;
        unsigned char *in =
            to_place(i == OURS ? m->in_place : PAGEABLE, m->in_there, m->in[i], around) + EDGE +
            call->in_at;
        if (!call->out_of_place)
            out = in + call->distance;
        a.result[i] = call->way == ONE_SHOT
                          ? EVP_Cipher(s->side[i], out, in, (unsigned)call->length)
                          : EVP_CipherUpdate(s->side[i], out, &a.written[i], in, (int)call->length);
        a.error[i] = first_error();
    }
    from_place(m->in_place, m->in_there, m->in[OURS], around);
    from_place(m->out_place, m->out_there, m->out[OURS], around);
    s->run += call->length;
    s->broken = a.result[REFERENCE] <= 0;
    if (call->way == UPDATE && !s->broken)
        s->held += call->length - (size_t)a.written[REFERENCE];
    if (same_answer(&a, call->way == UPDATE ? "an update" : "a one-shot call") &&
        (s->broken || same_bytes(m->out, around, "the output")) &&
        ((s->broken && !call->out_of_place) || same_bytes(m->in, around, "the input's memory")))
        return pointers_agree(s);
    fprintf(stderr, "# of %zu bytes, %s%d\n", call->length,
            call->out_of_place ? "out of place " : "at distance ", call->distance);
    return 0;
}

int stream_update(struct stream *s, size_t length)
{
    return stream_call(s, &(struct call){UPDATE, length, .out_of_place = 1});
}

int stream_update_queued(struct stream *s, size_t from, size_t to, size_t length)
{
    struct memory *m = s->memory;
    struct answer a = {.written = {-1, -1}};
    a.result[OURS] = EVP_CipherUpdate(s->side[OURS], m->out_there + to, &a.written[OURS],
                                      m->in_there + from, (int)length);
    a.result[REFERENCE] = EVP_CipherUpdate(s->side[REFERENCE], m->out[REFERENCE] + to,
                                           &a.written[REFERENCE], m->text + from, (int)length);
    s->held += length - (size_t)a.written[REFERENCE];
    return same_answer(&a, "a queued update") && pointers_agree(s);
}

int stream_queued_is_right(const struct stream *s, drv_stream cuda, size_t length)
{
    const struct memory *m = s->memory;
    return application_wait(cuda) &&
           application_read(m->out[OURS], m->out_place, m->out_there, length) &&
           !memcmp(m->out[OURS], m->out[REFERENCE], length);
}

int stream_hurry(struct stream *s, size_t length, size_t piece)
{
    int right = 1;
    for (; right && length; length -= piece) {
        piece = piece < length ? piece : length;
        right = stream_update(s, piece);
    }
    return right;
}
