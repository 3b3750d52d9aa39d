/*
 * Decrypts the pages of a Parquet file with modular encryption on a GPU: all of them, of all
 * columns and row groups, by one call (in AES_GCM_CTR_V1 two: headers are GCM then, pages CTR).
 *
 *     parquet_decrypt -f HEX [-k COLUMN=HEX]... [-p HEX] FILE FOLDER
 *
 *     -f   key of the footer
 *     -k   key of a column, a path such as a.list.element; columns without one have the footer's
 *     -p   AAD prefix, where the file does not have it
 *
 * FOLDER/R-C gets the pages of row group R in column C (0, 1...) as they are in a file without
 * encryption: compressed, without their headers. Columns that are not encrypted are left out, and
 * nothing is written unless all is authentic. All keys have one size.
 *
 * Compile it with: cc -O2 parquet_decrypt.c parquet_footer.c -lgpuaes -ldl
 *
 * The format: https://github.com/apache/parquet-format/blob/master/Encryption.md. A module is
 * length (4) | nonce (12) | ciphertext | tag (16); pages of AES_GCM_CTR_V1 have no tag, and so
 * nothing shows that they are what was written: the text of such a page is not authenticated.
 * parquet_decrypt.py does the same in Python.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <gpuaes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parquet_footer.h"

enum { LENGTH = 4, NONCE = 12, TAG = 16, KEYS = 64, SUFFIX = 15 };

static const char *file_name; /* what messages begin with */

void fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "parquet_decrypt: %s: ", file_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void check(enum gpuaes_status status, const char *what)
{
    if (status != GPUAES_OK)
        fail("%s: %s", what, gpuaes_status_text(status));
}

void *checked(void *memory)
{
    if (memory == NULL)
        fail("no memory");
    return memory;
}

/* ---- Memory of the device ------------------------------------------------------ */

static struct {
    int (*init)(unsigned);
    int (*get)(int *, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*release)(uint64_t);
} cuda;

/* By dlopen(), so that the program is compiled where there is no CUDA. */
static void open_cuda(void)
{
    static const char *const names[] = {
        "cuInit",        "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
        "cuMemAlloc_v2", "cuMemFree_v2"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context, *found[6];
    int device;

    for (unsigned i = 0; i < 6; i++) {
        found[i] = library != NULL ? dlsym(library, names[i]) : NULL;
        if (found[i] == NULL)
            fail("there is no CUDA driver: %s", dlerror());
    }
    memcpy(&cuda, found, sizeof cuda);
    if (cuda.init(0) || cuda.get(&device, 0) || cuda.retain(&context, device) ||
        cuda.set_current(context))
        fail("GPU 0 cannot be used");
    if (gpuaes_start(NULL, NULL, 1) != GPUAES_READY)
        fail("GPU 0 cannot be used: %s", gpuaes_reason());
}

/* One address space for both, so the pointer can be had as any other. */
static unsigned char *device_alloc(size_t count)
{
    uint64_t address;

    if (cuda.alloc(&address, count))
        fail("no device memory: %zu bytes", count);
    return (unsigned char *)(uintptr_t)address;
}

static void device_free(void *memory)
{
    (void)cuda.release((uint64_t)(uintptr_t)memory);
}

/* ---- Modules -------------------------------------------------------------------- */

enum module_type {
    FOOTER,
    COLUMN_METADATA,
    DATA_PAGE,
    DICTIONARY_PAGE,
    DATA_PAGE_HEADER,
    DICTIONARY_PAGE_HEADER
};

struct module {
    enum module_type type;
    const struct chunk *chunk; /* NULL: it is the footer's */
    unsigned page;
    unsigned key;
    size_t at, count; /* of the text within the file; the nonce is before it, a tag behind it */
};

struct modules {
    struct module *list;
    size_t count;
};

/* All of a file that messages are made of, the same on the host and on the device. */
struct file {
    unsigned char *host, *device;
    size_t size;
    struct bytes prefix; /* of additional data, then the file's identifier */
    struct gpuaes_device_keys *keys;
};

static void __attribute__((noreturn)) fail_at(const struct module *module, const char *what)
{
    if (module->type == FOOTER)
        fail("footer: %s", what);
    if (module->type == COLUMN_METADATA)
        fail("row group %u, column %s, metadata: %s", module->chunk->row_group, module->chunk->name,
             what);
    fail("row group %u, column %s, page %u%s: %s", module->chunk->row_group, module->chunk->name,
         module->page,
         module->type == DATA_PAGE_HEADER || module->type == DICTIONARY_PAGE_HEADER ? ", header"
                                                                                    : "",
         what);
}

static uint32_t little_endian(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Adds the module at file offset `at`, before `end`; returns where the next one is. */
static size_t add_module(const struct file *file, struct modules *to, struct module module,
                         size_t at, size_t end, size_t tag)
{
    if (end > file->size || at + LENGTH > end)
        fail_at(&module, "truncated");
    size_t length = little_endian(file->host + at);

    if (length < NONCE + tag || length > end - at - LENGTH)
        fail_at(&module, "truncated, or it has a wrong length");
    module.at = at + LENGTH + NONCE;
    module.count = length - NONCE - tag;
    if ((to->count & (to->count - 1)) == 0) /* its size is doubled */
        to->list = checked(realloc(to->list, (to->count ? to->count * 2 : 1) * sizeof *to->list));
    to->list[to->count++] = module;
    return at + LENGTH + length;
}

/* Writes what is authenticated with a module behind the prefix; returns its length. */
static size_t write_suffix(const struct module *module, unsigned page, unsigned char *aad)
{
    unsigned numbers[3] = {0}, count = 0;

    *aad++ = (unsigned char)module->type;
    if (module->chunk != NULL) {
        numbers[count++] = module->chunk->row_group;
        numbers[count++] = module->chunk->column;
    }
    if (module->type == DATA_PAGE || module->type == DATA_PAGE_HEADER)
        numbers[count++] = page;
    for (unsigned i = 0; i < count; i++) {
        *aad++ = (unsigned char)numbers[i];
        *aad++ = (unsigned char)(numbers[i] >> 8);
    }
    return 1 + 2 * (size_t)count;
}

struct arrays {
    unsigned char *host, *device;
    size_t used;
};

/* One more array, of `count` bytes: on the host, and its address on the device into *on_device. */
static void *array(struct arrays *arrays, size_t count, void *on_device)
{
    void *host = arrays->host + arrays->used;
    unsigned char *device = arrays->device + arrays->used;

    memcpy(on_device, &device, sizeof device);
    arrays->used += (count + 15) / 16 * 16;
    return host;
}

/*
 * Decrypts `n` modules on the device, in place, by one call: every one, or with a stride of 2 every
 * other one. Then brings all between the first and the last of them to the host. With
 * GPUAES_GCM_ENCRYPT it makes their tags instead.
 */
static void run(const struct file *file, enum gpuaes_op op, const struct module *modules, size_t n,
                size_t stride)
{
    size_t first = file->size, end = 0, temp_bytes;
    size_t aad_size = file->prefix.count + SUFFIX;
    size_t size = n * (6 * 8 + 2 * 4 + 16 + aad_size) + 10 * 16;
    struct arrays arrays = {checked(gpuaes_pinned_alloc(size)), device_alloc(size), 0};
    struct gpuaes_device_batch batch = {.op = op, .keys = file->keys, .count = n};
    const unsigned char *ivs, *aads;
    unsigned char **in = array(&arrays, n * 8, &batch.in);
    size_t *bytes = array(&arrays, n * 8, &batch.bytes);
    const unsigned char **iv = array(&arrays, n * 8, &batch.iv);
    const unsigned char **aad = array(&arrays, n * 8, &batch.aad);
    size_t *aad_bytes = array(&arrays, n * 8, &batch.aad_bytes);
    unsigned char **tag = array(&arrays, n * 8, &batch.tag);
    uint32_t *key = array(&arrays, n * 4, &batch.key);
    uint32_t *status = array(&arrays, n * 4, &batch.status);
    unsigned char *iv_at = array(&arrays, n * 16, &ivs);
    unsigned char *aad_at = array(&arrays, n * aad_size, &aads);

    batch.out = (void *const *)batch.in;
    batch.iv_bytes = op == GPUAES_CTR ? 16 : NONCE;
    batch.tag_bytes = op == GPUAES_CTR ? 0 : TAG;
    for (size_t i = 0; i < n; i++) {
        const struct module *module = &modules[i * stride];

        in[i] = file->device + module->at;
        bytes[i] = module->count;
        tag[i] = file->device + module->at + module->count;
        key[i] = module->key;
        status[i] = GPUAES_FAULT;
        iv[i] = ivs + i * 16; /* counters begin with 1 */
        memcpy(iv_at + i * 16, file->host + module->at - NONCE, NONCE);
        memcpy(iv_at + i * 16 + NONCE, (const unsigned char[]){0, 0, 0, 1}, 4);
        aad[i] = aads + i * aad_size;
        memcpy(aad_at + i * aad_size, file->prefix.at, file->prefix.count);
        aad_bytes[i] =
            file->prefix.count +
            write_suffix(module, module->page, aad_at + i * aad_size + file->prefix.count);
        batch.max_bytes = module->count > batch.max_bytes ? module->count : batch.max_bytes;
        first = module->at < first ? module->at : first;
        end = module->at + module->count + TAG > end ? module->at + module->count + TAG : end;
    }
    end = end < file->size ? end : file->size;

    check(gpuaes_device_batch_temp_bytes(&batch, &temp_bytes), "size of the work space");
    void *temp = device_alloc(temp_bytes);

    /* Copies are in the order of the legacy default stream, as the batch is. */
    check(gpuaes_copy(arrays.device, arrays.host, arrays.used), "copy to the device");
    check(gpuaes_device_batch_queue(&batch, temp, temp_bytes, NULL), "decryption");
    check(gpuaes_copy(status, batch.status, n * sizeof *status), "copy from the device");
    for (size_t i = 0; i < n; i++)
        if (status[i] != GPUAES_OK)
            fail_at(&modules[i * stride], status[i] == GPUAES_BAD_TAG
                                              ? "not authentic: another key, or changed"
                                              : gpuaes_status_text(status[i]));
    if (end > first)
        check(gpuaes_copy(file->host + first, file->device + first, end - first),
              "copy from the device");
    device_free(temp);
    device_free(arrays.device);
    gpuaes_pinned_free(arrays.host, size);
}

/* ---- The file ---------------------------------------------------------------------- */

static struct {
    unsigned char bytes[KEYS * 32];
    char names[KEYS][NAME]; /* of columns; the first key is the footer's */
    size_t size;
    unsigned count;
} keys = {.count = 1};

static void read_file(struct file *file)
{
    FILE *stream = fopen(file_name, "rb");

    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0)
        fail("cannot be read");
    file->size = (size_t)ftell(stream);
    if (file->size < 12)
        fail("truncated");
    file->host = checked(gpuaes_pinned_alloc(file->size));
    file->device = device_alloc(file->size);
    rewind(stream);
    if (fread(file->host, 1, file->size, stream) != file->size)
        fail("cannot be read");
    fclose(stream);
    check(gpuaes_copy(file->device, file->host, file->size), "copy to the device");
}

/* The prefix, of the file or `given`, and the file's identifier. */
static void make_prefix(struct file *file, const struct algorithm *algorithm, struct bytes given)
{
    struct bytes prefix = algorithm->prefix.count > 0 ? algorithm->prefix : given;

    if (algorithm->wants_prefix && given.count == 0)
        fail("it wants an AAD prefix: -p HEX");
    file->prefix.at = checked(malloc(prefix.count + UNIQUE));
    if (prefix.count > 0)
        memcpy(file->prefix.at, prefix.at, prefix.count);
    memcpy(file->prefix.at + prefix.count, algorithm->unique.at, UNIQUE);
    file->prefix.count = prefix.count + UNIQUE;
}

/*
 * A footer that is not encrypted has nonce | tag behind it. Its encryption must give this tag, and
 * is of no other use: it is done in a copy, where the nonce is before the text, as in a module.
 */
static void check_signature(const struct file *file, size_t begin, size_t end)
{
    const unsigned char *nonce = file->host + end - TAG - NONCE, *tag = file->host + end - TAG;
    struct module module = {.type = FOOTER, .at = NONCE, .count = end - begin - NONCE - TAG};
    struct file copy = *file;
    unsigned differences = 0;

    copy.size = end - begin;
    copy.host = checked(malloc(copy.size));
    copy.device = device_alloc(copy.size);
    memcpy(copy.host, nonce, NONCE);
    memcpy(copy.host + NONCE, file->host + begin, module.count);
    check(gpuaes_copy(copy.device, copy.host, copy.size), "copy to the device");
    run(&copy, GPUAES_GCM_ENCRYPT, &module, 1, 1);
    for (unsigned i = 0; i < TAG; i++) /* in constant time */
        differences |= (unsigned)copy.host[NONCE + module.count + i] ^ tag[i];
    if (differences != 0)
        fail("footer: not authentic: another key, or changed");
    device_free(copy.device);
    free(copy.host);
}

static void open_footer(struct file *file, struct bytes given_prefix, struct footer *footer)
{
    unsigned char *magic = file->host + file->size - 4;
    size_t length = little_endian(magic - 4), end = file->size - 8, begin = end - length;
    struct modules modules = {0};

    int encrypted = memcmp(magic, "PARE", 4) == 0;

    if (!encrypted && memcmp(magic, "PAR1", 4) != 0)
        fail("truncated, or no Parquet file: it does not end with PAR1 or PARE");
    if (length > file->size - 12)
        fail("footer: truncated, or it has a wrong length");

    struct thrift t = {file->host + begin, file->host + end, "footer"};

    if (!encrypted) {
        read_footer(&t, footer);
        if (footer->algorithm.unique.count == 0)
            fail("it is not encrypted");
        if ((size_t)(t.end - t.at) != NONCE + TAG)
            fail("footer: it has no signature");
        make_prefix(file, &footer->algorithm, given_prefix);
        check_signature(file, begin, end);
        return;
    }
    read_file_crypto(&t, &footer->algorithm);
    if (footer->algorithm.unique.count == 0)
        fail("footer: it has no algorithm");
    make_prefix(file, &footer->algorithm, given_prefix);
    add_module(file, &modules, (struct module){.type = FOOTER}, (size_t)(t.at - file->host), end,
               TAG);
    run(file, GPUAES_GCM_DECRYPT, modules.list, modules.count, 1);
    t = (struct thrift){file->host + modules.list->at,
                        file->host + modules.list->at + modules.list->count, "footer"};
    read_footer(&t, footer);
    free(modules.list);
}

static unsigned key_of(const struct chunk *chunk)
{
    if (chunk->encryption == FOOTER_KEY)
        return 0;
    for (unsigned i = 1; i < keys.count; i++)
        if (strcmp(keys.names[i], chunk->name) == 0)
            return i;
    fail("column %s: its key is missing: -k %s=HEX", chunk->name, chunk->name);
}

/* The metadata of columns with keys of their own, which lies in the footer, by one call. */
static void open_column_metadata(struct file *file, struct footer *footer)
{
    struct modules modules = {0};

    for (size_t i = 0; i < footer->count; i++) {
        struct chunk *chunk = &footer->chunks[i];

        if (chunk->encryption != NOT_ENCRYPTED)
            chunk->key = key_of(chunk);
        if (chunk->encrypted_metadata.count > 0) {
            size_t at = (size_t)(chunk->encrypted_metadata.at - file->host);

            add_module(file, &modules, (struct module){COLUMN_METADATA, chunk, .key = chunk->key},
                       at, at + chunk->encrypted_metadata.count, TAG);
        }
    }
    if (modules.count == 0)
        return;
    run(file, GPUAES_GCM_DECRYPT, modules.list, modules.count, 1);
    for (size_t i = 0; i < modules.count; i++) {
        struct module *module = &modules.list[i];
        struct thrift t = {file->host + module->at, file->host + module->at + module->count,
                           "metadata of a column"};

        read_column_metadata(&t, &footer->chunks[module->chunk - footer->chunks]);
    }
    free(modules.list);
}

/* Finds a column chunk's modules by their lengths alone: header, page, header, page... */
static void find_pages(const struct file *file, const struct chunk *chunk, size_t page_tag,
                       struct modules *to)
{
    int dictionary = chunk->dictionary_page > 0 && chunk->dictionary_page < chunk->data_page;
    size_t at = (size_t)(dictionary ? chunk->dictionary_page : chunk->data_page);
    size_t end = at + (size_t)chunk->size;
    struct module module = {.chunk = chunk, .key = chunk->key};

    if (at >= file->size || chunk->size < 0 || (size_t)chunk->size > file->size - at)
        fail("row group %u, column %s: it extends past the end of the file", chunk->row_group,
             chunk->name);
    while (at < end) {
        module.type = dictionary ? DICTIONARY_PAGE_HEADER : DATA_PAGE_HEADER;
        at = add_module(file, to, module, at, end, TAG);
        module.type = dictionary ? DICTIONARY_PAGE : DATA_PAGE;
        at = add_module(file, to, module, at, end, page_tag);
        module.page += !dictionary; /* of data pages */
        dictionary = 0;
    }
}

/* A header must be that of this page, and has the size of its module. */
static void check_header(const struct file *file, const struct module *header, size_t module_size)
{
    struct thrift t = {file->host + header->at, file->host + header->at + header->count,
                       "header of a page"};

    if (read_page_size(&t) != (int64_t)module_size)
        fail_at(header, "the page has another size");
}

/* Writes the pages of the chunk that the first module is of; returns the number of its modules. */
static size_t write_chunk(const struct file *file, const struct module *modules, size_t count,
                          const char *folder)
{
    const struct chunk *chunk = modules->chunk;
    char path[4096];
    FILE *stream;
    size_t i;

    (void)snprintf(path, sizeof path, "%s/%u-%u", folder, chunk->row_group, chunk->column);
    stream = fopen(path, "wb");
    for (i = 0; stream != NULL && i < count && modules[i].chunk == chunk; i += 2)
        if (fwrite(file->host + modules[i + 1].at, 1, modules[i + 1].count, stream) !=
            modules[i + 1].count)
            fail("%s cannot be written", path);
    if (stream == NULL || fclose(stream) != 0)
        fail("%s cannot be written", path);
    return i;
}

/* One call for headers and pages, or one for each where pages are CTR. */
static void decrypt_pages(const struct file *file, const struct footer *footer, const char *folder)
{
    size_t page_tag = footer->algorithm.pages_are_ctr ? 0 : TAG;
    struct modules modules = {0};

    for (size_t i = 0; i < footer->count; i++)
        if (footer->chunks[i].encryption != NOT_ENCRYPTED)
            find_pages(file, &footer->chunks[i], page_tag, &modules);
    if (modules.count == 0)
        return;
    if (footer->algorithm.pages_are_ctr) {
        run(file, GPUAES_GCM_DECRYPT, modules.list, modules.count / 2, 2);
        run(file, GPUAES_CTR, modules.list + 1, modules.count / 2, 2);
    } else {
        run(file, GPUAES_GCM_DECRYPT, modules.list, modules.count, 1);
    }
    for (size_t i = 0; i < modules.count; i += 2)
        check_header(file, &modules.list[i], LENGTH + NONCE + modules.list[i + 1].count + page_tag);
    for (size_t i = 0, count; i < modules.count; i += count) {
        count = write_chunk(file, modules.list + i, modules.count - i, folder);
        printf("row group %u, column %s: %zu pages\n", modules.list[i].chunk->row_group,
               modules.list[i].chunk->name, count / 2);
    }
    free(modules.list);
}

/* ---- The command ---------------------------------------------------------------------- */

static void __attribute__((noreturn)) usage(void)
{
    fputs("usage: parquet_decrypt -f HEX [-k COLUMN=HEX]... [-p HEX] FILE FOLDER\n", stderr);
    exit(2);
}

/* Returns the number of bytes. */
static size_t read_hex(const char *text, unsigned char *bytes, size_t most)
{
    size_t count = strlen(text) / 2;

    if (strlen(text) % 2 != 0 || count > most ||
        strspn(text, "0123456789abcdefABCDEF") != 2 * count)
        usage();
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)strtoul((char[]){text[2 * i], text[2 * i + 1], '\0'}, NULL, 16);
    return count;
}

static void read_key(const char *hex, unsigned number)
{
    size_t size = read_hex(hex, keys.bytes + (size_t)number * 32, 32);

    if ((size != 16 && size != 24 && size != 32) || (keys.size != 0 && keys.size != size))
        usage();
    keys.size = size;
}

int main(int argc, char **argv)
{
    unsigned char prefix[NAME];
    struct bytes given_prefix = {prefix, 0};
    struct file file = {0};
    struct footer footer = {0};
    int option, has_footer_key = 0;

    while ((option = getopt(argc, argv, "f:k:p:")) != -1) {
        char *equals = option == 'k' ? strrchr(optarg, '=') : NULL;

        if (option == 'f') {
            has_footer_key = 1;
            read_key(optarg, 0);
        } else if (option == 'p') {
            given_prefix.count = read_hex(optarg, prefix, sizeof prefix);
        } else if (equals != NULL && equals - optarg < NAME && keys.count < KEYS) {
            memcpy(keys.names[keys.count], optarg, (size_t)(equals - optarg));
            read_key(equals + 1, keys.count++);
        } else {
            usage();
        }
    }
    if (argc - optind != 2 || !has_footer_key)
        usage();
    file_name = argv[optind];

    open_cuda();
    for (unsigned i = 1; i < keys.count; i++) /* they follow each other without a gap */
        memmove(keys.bytes + i * keys.size, keys.bytes + (size_t)i * 32, keys.size);
    check(gpuaes_device_keys_open(&file.keys, GPUAES_GCM_DECRYPT, keys.bytes, keys.size, keys.count,
                                  NULL, 0),
          "keys");
    gpuaes_cleanse(keys.bytes, sizeof keys.bytes);

    read_file(&file);
    open_footer(&file, given_prefix, &footer);
    open_column_metadata(&file, &footer);
    decrypt_pages(&file, &footer, argv[optind + 1]);

    gpuaes_device_keys_close(file.keys, NULL);
    device_free(file.device);
    gpuaes_pinned_free(file.host, file.size);
    free(file.prefix.at);
    free(footer.chunks);
    return 0;
}
