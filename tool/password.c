/*
 * Passwords, from where the options say.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "password.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "again.h"
#include "tool.h"

/* What follows the first line may be the data, so bytes are taken one by one. */
static int read_line(int fd, const char *name, char password[PASSWORD_ROOM])
{
    size_t length = 0;
    char c = '\0';
    ssize_t n = 0;
    while (length < PASSWORD_ROOM - 1) {
        n = read(fd, &c, 1);
        if (n < 0 && may_try_again(fd, POLLIN))
            continue;
        if (n <= 0 || c == '\n')
            break;
        password[length++] = c;
    }
    int full = length == PASSWORD_ROOM - 1;
    OPENSSL_cleanse(&c, 1);
    password[length] = '\0';
    if (n < 0)
        return complain("the password from %s: %s", name, strerror(errno));
    if (full)
        return complain("the password from %s is longer than %d bytes", name, PASSWORD_ROOM - 2);
    if (n == 0 && length == 0)
        return complain("there is no password in %s", name);
    return 1;
}

static int password_from_file(const char *path, char password[PASSWORD_ROOM])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return complain("the password from %s: %s", path, strerror(errno));
    int ok = read_line(fd, path, password);
    (void)close(fd);
    return ok;
}

int password_from_key_file(const char *path, char password[PASSWORD_ROOM])
{
    if (!password_from_file(path, password))
        return 0;
    size_t length = strlen(password);
    while (length != 0 && password[length - 1] == '\r')
        password[--length] = '\0';
    return length != 0 || complain("-kfile %s: the password is empty", path);
}

int password_take(char *value, char password[PASSWORD_ROOM])
{
    size_t length = strlen(value);
    if (length >= PASSWORD_ROOM)
        return complain("the password is longer than %d bytes", PASSWORD_ROOM - 1);
    memcpy(password, value, length + 1);
    OPENSSL_cleanse(value, length);
    return 1;
}

static int from_environment(const char *name, char password[PASSWORD_ROOM])
{
    const char *value = getenv(name);
    if (value == NULL)
        return complain("-pass env:%s: there is no such variable in the environment", name);
    if (strlen(value) >= PASSWORD_ROOM)
        return complain("the password is longer than %d bytes", PASSWORD_ROOM - 1);
    memcpy(password, value, strlen(value) + 1);
    return 1;
}

static int from_descriptor(const char *number, char password[PASSWORD_ROOM])
{
    char *end;
    errno = 0;
    long fd = strtol(number, &end, 10);
    if (*number < '0' || *number > '9' || *end != '\0' || errno != 0 || fd > 1 << 20)
        return complain("-pass fd:%s: expected the number of an open file", number);
    char name[40];
    (void)snprintf(name, sizeof name, "descriptor %ld", fd);
    return read_line((int)fd, name, password);
}

int password_from(char *source, char password[PASSWORD_ROOM])
{
    if (strncmp(source, "pass:", 5) == 0)
        return password_take(source + 5, password);
    if (strncmp(source, "env:", 4) == 0)
        return from_environment(source + 4, password);
    if (strncmp(source, "file:", 5) == 0)
        return password_from_file(source + 5, password);
    if (strncmp(source, "fd:", 3) == 0)
        return from_descriptor(source + 3, password);
    if (strcmp(source, "stdin") == 0)
        return read_line(STDIN_FILENO, "standard input", password);
    /* It may be a password whose "pass:" was forgotten, so it is not repeated. */
    return complain("-pass: expected pass:PASSWORD, env:NAME, file:PATH, fd:NUMBER or stdin");
}

int password_ask(const char *cipher, int confirm, char password[PASSWORD_ROOM])
{
    char prompt[200];
    int failed;
    /* Without a terminal it comes from standard input, where data may follow. */
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    (void)snprintf(prompt, sizeof prompt, "enter %s %s password:", cipher,
                   confirm ? "encryption" : "decryption");
    do /* greater than 0: the two were not the same */
        failed = EVP_read_pw_string(password, PASSWORD_ROOM / 2, prompt, confirm);
    while (failed > 0);
    if (failed < 0)
        return complain("no password was given");
    if (password[0] == '\0')
        return complain("the password is empty");
    return 1;
}
