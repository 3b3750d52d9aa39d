/*
 * The pages of a Parquet file with modular encryption.
 *
 * The format: https://github.com/apache/parquet-format/blob/master/Encryption.md. A module is
 * length (4) | nonce (12) | ciphertext | tag (16); pages of AES_GCM_CTR_V1 have no tag, and so
 * nothing shows that they are what was written: the text of such a page is not authenticated.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "parquet_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX = 15, PREFIX_MOST = 4096 /* it is repeated for each module */ };

/* ---- Modules -------------------------------------------------------------------- */

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
    if (module.page >= NUMBERS)
        fail_at(&module, "its number is too large: expected less than 32768");
    size_t length = little_endian(file->host + at);

    if (length < NONCE + tag || length > end - at - LENGTH)
        fail_at(&module, "truncated, or it has a wrong length");
    module.at = at + LENGTH + NONCE;
    module.to = file->device + module.at;
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

/* ---- Messages -------------------------------------------------------------------- */

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

/* Takes memory for descriptions of `size` bytes. */
static void reserve(struct work *work, size_t size)
{
    if (size <= work->size)
        return;
    gpuaes_pinned_free(work->host, work->size);
    device_free(work->device);
    work->host = checked(gpuaes_pinned_alloc(size));
    work->device = device_alloc(size);
    work->size = size;
}

/* Chooses the modules whose keys have this size. Returns their number. */
static size_t choose(struct work *work, const struct keys *keys, size_t key_bytes,
                     const struct module *modules, size_t n, size_t stride)
{
    size_t count = 0;

    work->modules = checked(realloc(work->modules, n * sizeof(void *)));
    for (size_t i = 0; i < n; i++)
        if (keys->sizes[modules[i * stride].key] == key_bytes)
            work->modules[count++] = &modules[i * stride];
    return count;
}

static void describe_call(struct work *work, const struct file *file, enum gpuaes_op op,
                          size_t key_bytes, size_t n)
{
    size_t aad_size = file->prefix.count + SUFFIX;

    reserve(work, n * (7 * 8 + 2 * 4 + 16 + aad_size) + 11 * 16);
    work->messages = (struct gpuaes_messages){
        .struct_bytes = sizeof work->messages,
        .op = op,
        .count = n,
        .key_table = key_table(file->keys, key_bytes),
        .key_count = file->keys->count,
        .key_bytes = key_bytes,
        .iv_bytes = op == GPUAES_CTR ? 16 : NONCE,
        .tag_bytes = op == GPUAES_CTR ? 0 : TAG,
    };

    struct gpuaes_messages *messages = &work->messages;
    struct arrays arrays = {work->host, work->device, 0};
    const unsigned char *ivs, *aads;
    const unsigned char **in = array(&arrays, n * 8, &messages->in);
    unsigned char **out = array(&arrays, n * 8, &messages->out);
    size_t *bytes = array(&arrays, n * 8, &messages->bytes);
    const unsigned char **iv = array(&arrays, n * 8, &messages->iv);
    const unsigned char **aad = array(&arrays, n * 8, &messages->aad);
    size_t *aad_bytes = array(&arrays, n * 8, &messages->aad_bytes);
    unsigned char **tag = array(&arrays, n * 8, &messages->tag);
    uint32_t *key = array(&arrays, n * 4, &messages->key_index);
    unsigned char *iv_at = array(&arrays, n * 16, &ivs);
    unsigned char *aad_at = array(&arrays, n * aad_size, &aads);

    work->status = array(&arrays, n * 4, &messages->status);
    for (size_t i = 0; i < n; i++) {
        const struct module *module = work->modules[i];

        in[i] = file->device + module->at;
        out[i] = module->to;
        bytes[i] = module->count;
        tag[i] = file->device + module->at + module->count;
        key[i] = module->key;
        work->status[i] = GPUAES_FAULT;
        iv[i] = ivs + i * 16; /* counters begin with 1 */
        memcpy(iv_at + i * 16, file->host + module->at - NONCE, NONCE);
        memcpy(iv_at + i * 16 + NONCE, (const unsigned char[]){0, 0, 0, 1}, 4);
        aad[i] = aads + i * aad_size;
        memcpy(aad_at + i * aad_size, file->prefix.at, file->prefix.count);
        aad_bytes[i] =
            file->prefix.count +
            write_suffix(module, module->page, aad_at + i * aad_size + file->prefix.count);
        if (module->count > messages->max_bytes)
            messages->max_bytes = module->count;
        messages->total_bytes += module->count;
    }
    copy_to_device(arrays.device, arrays.host, arrays.used);
}

unsigned describe(struct work work[KEY_SIZES], const struct file *file, enum gpuaes_op op,
                  const struct module *modules, size_t n, size_t stride)
{
    unsigned calls = 0;

    for (unsigned i = 0; i < KEY_SIZES; i++) {
        size_t count = choose(&work[calls], file->keys, key_size(i), modules, n, stride);

        if (count > 0)
            describe_call(&work[calls++], file, op, key_size(i), count);
    }
    return calls;
}

void queue(const struct work *work)
{
    enum gpuaes_status status = gpuaes_queue(&work->messages, NULL, 0, NULL, 0);

    if (status == GPUAES_BAD_ARGUMENT)
        fail("decryption: %s", gpuaes_queue_error());
    check(status, "decryption");
}

void finish(struct work *work)
{
    size_t count = work->messages.count;

    copy_from_device(work->status, work->messages.status, count * sizeof *work->status);
    for (size_t i = 0; i < count; i++)
        if (work->status[i] != GPUAES_OK)
            fail_at(work->modules[i],
                    work->status[i] == GPUAES_BAD_TAG
                        ? "not authentic: another key, or changed"
                        : gpuaes_status_text((enum gpuaes_status)work->status[i]));
}

void free_work(struct work *work)
{
    gpuaes_pinned_free(work->host, work->size);
    device_free(work->device);
    free(work->modules);
    *work = (struct work){0};
}

/* Decrypts modules in place, on the device and then on the host. */
static void decrypt(const struct file *file, const struct modules *modules)
{
    struct work work[KEY_SIZES] = {0};
    unsigned calls = describe(work, file, GPUAES_GCM_DECRYPT, modules->list, modules->count, 1);

    for (unsigned i = 0; i < calls; i++)
        queue(&work[i]);
    for (unsigned i = 0; i < calls; i++)
        finish(&work[i]);
    for (size_t i = 0; i < modules->count; i++) {
        size_t at = modules->list[i].at;

        copy_from_device(file->host + at, file->device + at, modules->list[i].count);
    }
    for (unsigned i = 0; i < KEY_SIZES; i++)
        free_work(&work[i]);
}

/* ---- The file ---------------------------------------------------------------------- */

void open_file(struct file *file)
{
    struct stat found;

    file->descriptor = open(file_name, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0 || fstat(file->descriptor, &found) != 0)
        fail("cannot be read");
    file->size = (size_t)found.st_size;
    if (file->size < 12)
        fail("truncated");
    file->host = checked(gpuaes_pinned_alloc(file->size));
    file->device = device_alloc(file->size);
}

void read_piece(const struct file *file, size_t at, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t n =
            pread(file->descriptor, file->host + at + done, count - done, (off_t)(at + done));

        if (n <= 0)
            fail("cannot be read");
        done += (size_t)n;
    }
    copy_to_device(file->device + at, file->host + at, count);
}

void close_file(struct file *file)
{
    (void)close(file->descriptor);
    device_free(file->device);
    gpuaes_pinned_free(file->host, file->size);
}

/* The prefix, of the file or `given`, and the file's identifier. */
static void make_prefix(struct file *file, const struct algorithm *algorithm, struct bytes given)
{
    struct bytes stored = algorithm->prefix, prefix = stored.count > 0 ? stored : given;

    if (algorithm->wants_prefix && given.count == 0)
        fail("it wants an AAD prefix: -p HEX");
    if (given.count > 0 && stored.count > 0 &&
        (given.count != stored.count || memcmp(given.at, stored.at, given.count) != 0))
        fail("its AAD prefix is not the one that was given");
    if (given.count > 0 && stored.count == 0 && !algorithm->wants_prefix)
        fail("it has no AAD prefix, but one was given");
    if (prefix.count > PREFIX_MOST)
        fail("its AAD prefix has %zu bytes: expected %u at most", prefix.count, PREFIX_MOST);
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
    struct work work[KEY_SIZES] = {0};
    struct file copy = *file;
    unsigned differences = 0;

    copy.size = end - begin;
    copy.host = checked(malloc(copy.size));
    copy.device = device_alloc(copy.size);
    module.to = copy.device + module.at;
    memcpy(copy.host, nonce, NONCE);
    memcpy(copy.host + NONCE, file->host + begin, module.count);
    copy_to_device(copy.device, copy.host, copy.size);
    (void)describe(work, &copy, GPUAES_GCM_ENCRYPT, &module, 1, 1);
    queue(&work[0]);
    finish(&work[0]);
    copy_from_device(copy.host, copy.device, copy.size);
    for (unsigned i = 0; i < TAG; i++) /* in constant time */
        differences |= (unsigned)copy.host[NONCE + module.count + i] ^ tag[i];
    if (differences != 0)
        fail("footer: not authentic: another key, or changed");
    for (unsigned i = 0; i < KEY_SIZES; i++)
        free_work(&work[i]);
    device_free(copy.device);
    free(copy.host);
}

/* Decrypts the footer where it is encrypted; else its signature must be right. */
static void open_file_metadata(struct file *file, struct bytes given_prefix)
{
    unsigned char *magic = file->host + file->size - 4;
    size_t length = little_endian(magic - 4), end = file->size - 8, begin = end - length;
    int encrypted = memcmp(magic, "PARE", 4) == 0;
    struct footer *footer = &file->footer;
    struct modules modules = {0};

    if (!encrypted && memcmp(magic, "PAR1", 4) != 0)
        fail("truncated, or no Parquet file: it does not end with PAR1 or PARE");
    if (length > file->size - 12)
        fail("footer: truncated, or it has a wrong length");

    struct thrift t = {file->host + begin, file->host + end, "footer"};

    footer->begin = begin;
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
    decrypt(file, &modules);
    t = (struct thrift){file->host + modules.list->at,
                        file->host + modules.list->at + modules.list->count, "footer"};
    read_footer(&t, footer);
    free(modules.list);
}

static unsigned key_of(const struct keys *keys, const struct chunk *chunk)
{
    if (chunk->encryption == FOOTER_KEY)
        return 0;
    for (unsigned i = 1; i < keys->count; i++)
        if (strcmp(keys->names[i], chunk->name) == 0)
            return i;
    fail("column %s: its key is missing: -k %s=HEX", chunk->name, chunk->name);
}

/* Fails for a key of a column that the file lacks. Without row groups, no column is known. */
static void check_names(const struct keys *keys, const struct footer *footer)
{
    for (unsigned i = 1; i < keys->count && footer->count > 0; i++) {
        size_t n = 0;

        while (n < footer->count && strcmp(keys->names[i], footer->chunks[n].name) != 0)
            n++;
        if (n == footer->count)
            fail("-k %s: the file has no such column", keys->names[i]);
    }
}

/* The metadata of columns with keys of their own, which lies in the footer. */
static void open_column_metadata(struct file *file)
{
    struct footer *footer = &file->footer;
    struct modules modules = {0};

    for (size_t i = 0; i < footer->count; i++) {
        struct chunk *chunk = &footer->chunks[i];

        if (chunk->encryption != NOT_ENCRYPTED)
            chunk->key = key_of(file->keys, chunk);
        if (chunk->encrypted_metadata.count > 0) {
            size_t at = (size_t)(chunk->encrypted_metadata.at - file->host);

            add_module(file, &modules, (struct module){COLUMN_METADATA, chunk, .key = chunk->key},
                       at, at + chunk->encrypted_metadata.count, TAG);
        }
    }
    if (modules.count == 0)
        return;
    decrypt(file, &modules);
    for (size_t i = 0; i < modules.count; i++) {
        struct module *module = &modules.list[i];
        struct thrift t = {file->host + module->at, file->host + module->at + module->count,
                           "metadata of a column"};

        read_column_metadata(&t, &footer->chunks[module->chunk - footer->chunks]);
    }
    free(modules.list);
}

static void check_metadata(const struct footer *footer)
{
    for (size_t i = 0; i < footer->count; i++) {
        const struct chunk *chunk = &footer->chunks[i];

        if (chunk->encryption != NOT_ENCRYPTED &&
            (chunk->data_page == INT64_MIN || chunk->size == INT64_MIN))
            fail("row group %u, column %s, metadata: missing", chunk->row_group, chunk->name);
    }
}

void open_footer(struct file *file, struct bytes prefix)
{
    open_file_metadata(file, prefix);
    check_names(file->keys, &file->footer);
    open_column_metadata(file);
    check_metadata(&file->footer);
}

void close_footer(struct file *file)
{
    free(file->prefix.at);
    free(file->footer.chunks);
    file->prefix = (struct bytes){0};
    file->footer = (struct footer){0};
}

/* ---- Pages ------------------------------------------------------------------------- */

static size_t page_tag(const struct file *file)
{
    return file->footer.algorithm.pages_are_ctr ? 0 : TAG;
}

/* A row group without rows may have a dictionary, and no data. */
static int has_dictionary(const struct chunk *chunk)
{
    return chunk->dictionary_page > 0 &&
           (chunk->data_page == 0 || chunk->dictionary_page < chunk->data_page);
}

static size_t chunk_begin(const struct chunk *chunk)
{
    return (size_t)(has_dictionary(chunk) ? chunk->dictionary_page : chunk->data_page);
}

/* Finds a column chunk's modules by their lengths alone: header, page, header, page... */
static void find_chunk(const struct file *file, const struct chunk *chunk, struct modules *to)
{
    int dictionary = has_dictionary(chunk);
    size_t at = chunk_begin(chunk), end = at + (size_t)chunk->size;
    struct module module = {.chunk = chunk, .key = chunk->key};

    while (at < end) {
        module.type = dictionary ? DICTIONARY_PAGE_HEADER : DATA_PAGE_HEADER;
        at = add_module(file, to, module, at, end, TAG);
        module.type = dictionary ? DICTIONARY_PAGE : DATA_PAGE;
        at = add_module(file, to, module, at, end, page_tag(file));
        module.page += !dictionary; /* of data pages */
        dictionary = 0;
    }
}

static int compare_begins(const void *a, const void *b)
{
    size_t left = chunk_begin(*(struct chunk *const *)a),
           right = chunk_begin(*(struct chunk *const *)b);

    return left < right ? -1 : left > right;
}

/* Pages of chunks are before the footer, and apart from each other. */
static void check_places(const struct file *file)
{
    const struct footer *footer = &file->footer;
    const struct chunk **sorted = checked(malloc((footer->count + 1) * sizeof(void *)));
    size_t count = 0;

    for (size_t i = 0; i < footer->count; i++) {
        const struct chunk *chunk = &footer->chunks[i];
        size_t begin = chunk_begin(chunk);

        if (chunk->encryption == NOT_ENCRYPTED || chunk->size == 0)
            continue;
        if (begin < 4 || begin > footer->begin || chunk->size < 0 ||
            (size_t)chunk->size > footer->begin - begin)
            fail("row group %u, column %s: its pages lie outside of bytes 4 to %zu",
                 chunk->row_group, chunk->name, footer->begin);
        sorted[count++] = chunk;
    }
    qsort(sorted, count, sizeof(void *), compare_begins);
    for (size_t i = 1; i < count; i++)
        if (chunk_begin(sorted[i - 1]) + (size_t)sorted[i - 1]->size > chunk_begin(sorted[i]))
            fail("row group %u, column %s: its pages overlap those of another chunk",
                 sorted[i]->row_group, sorted[i]->name);
    free(sorted);
}

void find_pages(const struct file *file, struct modules *to)
{
    check_places(file);
    for (size_t i = 0; i < file->footer.count; i++)
        if (file->footer.chunks[i].encryption != NOT_ENCRYPTED)
            find_chunk(file, &file->footer.chunks[i], to);
}

void check_header(const struct file *file, const struct module *header, unsigned char *text,
                  const struct module *page)
{
    struct thrift t = {text, text + header->count, "header of a page"};

    if (read_page_size(&t) != (int64_t)(LENGTH + NONCE + page->count + page_tag(file)))
        fail_at(header, "the page has another size");
}

unsigned describe_pages(struct work work[CALLS], const struct file *file,
                        const struct modules *modules)
{
    unsigned calls;

    if (!file->footer.algorithm.pages_are_ctr)
        return describe(work, file, GPUAES_GCM_DECRYPT, modules->list, modules->count, 1);
    calls = describe(work, file, GPUAES_GCM_DECRYPT, modules->list, modules->count / 2, 2);
    return calls +
           describe(work + calls, file, GPUAES_CTR, modules->list + 1, modules->count / 2, 2);
}
