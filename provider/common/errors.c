/*
 * Our own errors, through the core's upcalls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/errors.h"

#include <openssl/err.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "provider/common/provider.h"

enum { LIBRARIES = 256, DETAIL = 1024 /* as much as libcrypto keeps */ };

/* ---- Sentences ------------------------------------------------------------------------- */

/* libcrypto keeps pointers to these, and the module is never unloaded from memory. */
static ERR_STRING_DATA strings[] = {{0, "gpuaes"},
#define ERROR_STRING(name, number, sentence) {number, sentence},
                                    ERROR_REASONS(ERROR_STRING)
#undef ERROR_STRING
                                        {0, NULL}};
static int library; /* the number of our errors in the module's libcrypto; 0: it has none */

static void load_strings(void)
{
    int next = ERR_get_next_error_library();
    if (next >= LIBRARIES)
        return;
    strings[0].error = ERR_PACK(next, 0, 0);
    if (ERR_load_strings(next, strings))
        library = next;
}

void errors_begin(struct provider *provider, int knows_sentences)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!knows_sentences)
        return;
    (void)pthread_once(&once, load_strings);
    provider->error_library = library;
}

static const char *sentence_of(enum error_reason reason)
{
    const ERR_STRING_DATA *s = strings + 1;
    while (s->string != NULL && ERR_GET_REASON(s->error) != (int)reason)
        s++;
    return s->string != NULL ? s->string : "";
}

/* ---- Raising --------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void
set_error(const struct provider *provider, enum error_reason reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    provider->vset_error(provider->core, (uint32_t)reason, format, arguments);
    va_end(arguments);
}

void error_raise_at(const struct provider *provider, enum error_reason reason, const char *file,
                    int line, const char *function, const char *format, ...)
{
    char detail[DETAIL];
    va_list arguments;
    provider->new_error(provider->core);
    provider->set_error_debug(provider->core, file, line, function);
    va_start(arguments, format);
    if (provider->error_library != 0)
        provider->vset_error(provider->core, (uint32_t)ERR_PACK(provider->error_library, 0, reason),
                             format, arguments);
    else { /* the core does not know the sentence */
        (void)vsnprintf(detail, sizeof detail, format, arguments);
        set_error(provider, reason, "gpuaes: %s: %s", sentence_of(reason), detail);
    }
    va_end(arguments);
}
