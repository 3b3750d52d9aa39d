/*
 * Our own errors, through the core's upcalls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/errors.h"

#include <stdarg.h>

#include "provider/common/provider.h"

const OSSL_ITEM error_reason_strings[] = {
#define ERROR_STRING(name, number, sentence) {number, sentence},
    ERROR_REASONS(ERROR_STRING)
#undef ERROR_STRING
        {0, NULL}};

void error_raise_at(const struct provider *provider, enum error_reason reason, const char *file,
                    int line, const char *function, const char *format, ...)
{
    va_list arguments;
    provider->new_error(provider->core);
    provider->set_error_debug(provider->core, file, line, function);
    va_start(arguments, format);
    provider->vset_error(provider->core, (uint32_t)reason, format, arguments);
    va_end(arguments);
}
