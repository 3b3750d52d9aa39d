/*
 * Passwords, from where the options say.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/keys/password.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/common/again.h"
#include "tool/common/message.h"
#include "tool/common/options.h"

/* In bytes, what openssl enc takes of a line at most; the prompt's is a buffer of that size. */
enum { LINE = 1023, KEY_FILE_LINE = 127, PROMPT = 512 };

/* A copy of the line, or NULL where openssl enc finds no password either. */
static char *from_line(const char *name, const char *line, size_t length, size_t most)
{
    if (length != 0 && line[0] == '\0') {
        (void)complain("the password from %s begins with a zero byte", name);
        return NULL;
    }
    if (strlen(line) < length)
        (void)complain("warning: the password from %s ends before the first zero byte, as with "
                       "openssl enc",
                       name);
    else if (length == most)
        (void)complain("warning: the password from %s is the first %zu bytes, as with openssl enc",
                       name, most);
    return OPENSSL_strdup(line);
}

/*
 * What follows the line, or the bytes that are taken of it at most, may be the data, so bytes are
 * read one by one.
 */
static char *read_line(int fd, const char *name, size_t most)
{
    char line[LINE + 1], c = '\0', *password = NULL;
    size_t length = 0;
    ssize_t n = 1;
    while (length < most) {
        n = read(fd, &c, 1);
        if (n < 0 && may_try_again(fd, POLLIN))
            continue;
        if (n <= 0 || c == '\n')
            break;
        line[length++] = c;
    }
    line[length] = '\0';
    if (n < 0)
        (void)complain("the password from %s: %s", name, strerror(errno));
    else if (n == 0 && length == 0)
        (void)complain("there is no password in %s", name);
    else
        password = from_line(name, line, length, most);
    OPENSSL_cleanse(&c, 1);
    OPENSSL_cleanse(line, sizeof line);
    return password;
}

/* NULL: standard input. */
static char *from_file(const char *path, size_t most)
{
    if (path == NULL)
        return read_line(STDIN_FILENO, "standard input", most);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        (void)complain("the password from %s: %s", path, strerror(errno));
        return NULL;
    }
    char *password = read_line(fd, path, most);
    (void)close(fd);
    return password;
}

char *password_from_key_file(const char *path)
{
    char *password = from_file(strcmp(path, "-") == 0 ? NULL : path, KEY_FILE_LINE);
    size_t length = password != NULL ? strlen(password) : 0;
    while (length != 0 && password[length - 1] == '\r')
        password[--length] = '\0';
    if (password == NULL || length != 0)
        return password;
    (void)complain("-kfile %s: the password is empty", path);
    option_forget(&password);
    return NULL;
}

static char *from_environment(const char *name)
{
    const char *value = getenv(name);
    if (value != NULL)
        return OPENSSL_strdup(value);
    (void)complain("-pass env:%s: there is no such variable in the environment", name);
    return NULL;
}

static char *from_descriptor(const char *number)
{
    char *end;
    errno = 0;
    long fd = strtol(number, &end, 10);
    if (*number < '0' || *number > '9' || *end != '\0' || errno != 0 || fd > 1 << 20) {
        (void)complain("-pass fd:%s: expected the number of an open file", number);
        return NULL;
    }
    char name[40];
    (void)snprintf(name, sizeof name, "descriptor %ld", fd);
    return read_line((int)fd, name, LINE);
}

char *password_from(const char *source)
{
    if (strncmp(source, "pass:", 5) == 0)
        return OPENSSL_strdup(source + 5);
    if (strncmp(source, "env:", 4) == 0)
        return from_environment(source + 4);
    if (strncmp(source, "file:", 5) == 0)
        return from_file(source + 5, LINE);
    if (strncmp(source, "fd:", 3) == 0)
        return from_descriptor(source + 3);
    if (strcmp(source, "stdin") == 0)
        return from_file(NULL, LINE);
    /* It may be a password whose "pass:" was forgotten, so it is not repeated. */
    (void)complain("-pass: expected pass:PASSWORD, env:NAME, file:PATH, fd:NUMBER or stdin");
    return NULL;
}

static int read_answer(char answer[PROMPT + 1], const char *before, const char *cipher,
                       const char *direction)
{
    char prompt[200];
    (void)snprintf(prompt, sizeof prompt, "%senter %s %s password:", before, cipher, direction);
    return EVP_read_pw_string(answer, PROMPT, prompt, 0) == 0 || complain("no password was given");
}

char *password_ask(const char *cipher, int confirm)
{
    char answer[PROMPT + 1], again[PROMPT + 1], *password = NULL;
    const char *direction = confirm ? "encryption" : "decryption";
    /* Without a terminal it comes from standard input, where data may follow. */
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    /* libcrypto's own comparison has one result for two that differ and for none. */
    if (read_answer(answer, "", cipher, direction) &&
        (!confirm || read_answer(again, "Verifying - ", cipher, direction))) {
        if (confirm && strcmp(answer, again) != 0)
            (void)complain("the two passwords differ");
        else if (answer[0] == '\0')
            (void)complain("the password is empty");
        else
            password = OPENSSL_strdup(answer);
    }
    OPENSSL_cleanse(answer, sizeof answer);
    OPENSSL_cleanse(again, sizeof again);
    return password;
}
