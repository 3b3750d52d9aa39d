/*
 * What parquet_pages.c needs of a GPU: memory, copies and keys.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "parquet_gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void check(enum gpuaes_status status, const char *what)
{
    if (status != GPUAES_OK)
        fail("%s: %s", what, gpuaes_status_text(status));
}

/* ---- Memory of the device ------------------------------------------------------ */

static struct {
    int (*init)(unsigned);
    int (*get)(int *, int);
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*pop)(void **);
    int (*alloc)(uint64_t *, size_t);
    int (*release)(uint64_t);
    int (*to_device)(uint64_t, const void *, size_t, void *);
    int (*from_device)(void *, uint64_t, size_t, void *);
    int (*set)(uint64_t, unsigned char, size_t, void *);
    int (*wait)(void *);
} cuda;

static void *context;

/* By dlopen(), so that the program is compiled where there is no CUDA. */
void open_gpu(void)
{
    static const char *const names[] = {"cuInit",
                                        "cuDeviceGet",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxPushCurrent_v2",
                                        "cuCtxPopCurrent_v2",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyDtoHAsync_v2",
                                        "cuMemsetD8Async",
                                        "cuStreamSynchronize"};
    enum { COUNT = sizeof names / sizeof names[0] };
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found[COUNT];
    int device;

    for (unsigned i = 0; i < COUNT; i++) {
        found[i] = library != NULL ? dlsym(library, names[i]) : NULL;
        if (found[i] == NULL)
            fail("there is no CUDA driver: %s", dlerror());
    }
    memcpy(&cuda, found, sizeof cuda);
    if (cuda.init(0) || cuda.get(&device, 0) || cuda.retain(&context, device) || cuda.push(context))
        fail("GPU 0 cannot be used");
    if (gpuaes_start(NULL, NULL, 1) != GPUAES_READY)
        fail("GPU 0 cannot be used: %s", gpuaes_reason());
}

unsigned char *device_alloc(size_t count)
{
    uint64_t address;

    if (count == 0)
        return NULL;
    if (cuda.alloc(&address, count))
        fail("no device memory: %zu bytes", count);
    return (unsigned char *)(uintptr_t)address;
}

void device_free(void *memory)
{
    if (memory != NULL)
        (void)cuda.release((uint64_t)(uintptr_t)memory);
}

void copy_to_device(void *to, const void *from, size_t count)
{
    if (cuda.push(context) || cuda.to_device((uint64_t)(uintptr_t)to, from, count, NULL) ||
        cuda.wait(NULL) || cuda.pop(&(void *){NULL}))
        fail("copy to the device: it failed");
}

void copy_from_device(void *to, const void *from, size_t count)
{
    if (cuda.push(context) || cuda.from_device(to, (uint64_t)(uintptr_t)from, count, NULL) ||
        cuda.wait(NULL) || cuda.pop(&(void *){NULL}))
        fail("copy from the device: it failed");
}

void wait_for_device(void)
{
    if (cuda.wait(NULL))
        fail("the GPU failed");
}

/* ---- Keys ------------------------------------------------------------------------ */

/* Writes at most `most` bytes. Returns their number, or 0 for another text. */
static size_t read_hex(const char *text, unsigned char *bytes, size_t most)
{
    size_t count = strlen(text) / 2;

    if (strlen(text) % 2 != 0 || count > most ||
        strspn(text, "0123456789abcdefABCDEF") != 2 * count)
        return 0;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)strtoul((char[]){text[2 * i], text[2 * i + 1], '\0'}, NULL, 16);
    return count;
}

/* Fails where the text is no key, with a message about the option. */
static void read_key(struct keys *keys, const char *hex, unsigned number)
{
    size_t size = read_hex(hex, keys->bytes[number], 32);

    keys->sizes[number] = size;
    file_name = number == 0 ? "-f" : "-k";
    if (size != 16 && size != 24 && size != 32)
        fail("%s%sexpected 32, 48 or 64 hexadecimal digits", keys->names[number],
             number == 0 ? "" : ": ");
}

int read_options(int argc, char **argv, struct keys *keys, struct bytes *prefix,
                 int *takes_unauthenticated)
{
    int option, has_footer_key = 0, right = 1;

    keys->count = 1;
    while (right && (option = getopt(argc, argv, "f:k:p:u")) != -1) {
        char *equals = option == 'k' ? strrchr(optarg, '=') : NULL;

        if (option == 'f') {
            read_key(keys, optarg, 0);
            has_footer_key = 1;
        } else if (option == 'p') {
            prefix->count = read_hex(optarg, prefix->at, NAME);
            file_name = "-p";
            if (prefix->count == 0 && *optarg != '\0')
                fail("expected an even number of hexadecimal digits, %d at most", 2 * NAME);
        } else if (option == 'u') {
            *takes_unauthenticated = 1;
        } else if (equals != NULL && equals - optarg < NAME && keys->count < KEYS) {
            memcpy(keys->names[keys->count], optarg, (size_t)(equals - optarg));
            read_key(keys, equals + 1, keys->count++);
        } else {
            right = 0;
        }
    }
    return right && has_footer_key ? optind : 0;
}

/* Bytes of a table, of keys of any size. */
enum { TABLE = KEYS * 32, TABLES = KEY_SIZES * TABLE };

const unsigned char *key_table(const struct keys *keys, size_t size)
{
    return keys->on_device + (size / 8 - 2) * TABLE;
}

/* From pinned memory: of pageable memory the driver makes a copy. */
void open_keys(struct keys *keys)
{
    unsigned char *tables = checked(gpuaes_pinned_alloc(TABLES));

    keys->on_device = device_alloc(TABLES);
    memset(tables, 0, TABLES);
    for (unsigned i = 0; i < keys->count; i++)
        memcpy(tables + (key_table(keys, keys->sizes[i]) - keys->on_device) + i * keys->sizes[i],
               keys->bytes[i], keys->sizes[i]);
    copy_to_device(keys->on_device, tables, TABLES);
    gpuaes_pinned_free(tables, TABLES); /* which cleanses it */
    gpuaes_cleanse(keys->bytes, sizeof keys->bytes);
}

void close_keys(struct keys *keys)
{
    if (cuda.set((uint64_t)(uintptr_t)keys->on_device, 0, TABLES, NULL) || cuda.wait(NULL))
        fail("the keys on the device cannot be overwritten");
    device_free(keys->on_device);
    keys->on_device = NULL;
}
