/*
 * Messages about what is wrong.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/message.h"

#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>

const char *tool_name = "gpuaes";

int complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s: ", tool_name);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    return 0;
}

/* The text of an error of the queue, which is emptied. */
static const char *reason_of(unsigned long error, const char *data, int flags)
{
    static _Thread_local char text[300];
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;
    int has_data = data != NULL && (flags & ERR_TXT_STRING) != 0 && data[0] != '\0';
    (void)snprintf(text, sizeof text, "%s%s%s", reason != NULL ? reason : "",
                   reason != NULL && has_data ? ": " : "", has_data ? data : "");
    ERR_clear_error();
    return text;
}

const char *openssl_reason(void)
{
    const char *data = NULL;
    int flags = 0;
    unsigned long error = ERR_peek_last_error_all(NULL, NULL, NULL, &data, &flags);
    return reason_of(error, data, flags);
}

const char *openssl_first_reason(void)
{
    const char *data = NULL;
    int flags = 0;
    unsigned long error = ERR_peek_error_all(NULL, NULL, NULL, &data, &flags);
    return reason_of(error, data, flags);
}

int complain_openssl(const char *format, ...)
{
    va_list arguments;
    const char *reason = openssl_reason();
    va_start(arguments, format);
    (void)fprintf(stderr, "%s: ", tool_name);
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "%s%s\n", reason[0] != '\0' ? ": " : "", reason);
    va_end(arguments);
    return 0;
}
