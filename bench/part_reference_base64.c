/*
 * Base64 of host memory as published work measured it, with kernels as others wrote them and copies
 * of our own. The part encoders, work of 2011 to 2013: 1 to 36 MiB by a plain encoder, by a GPU
 * with synchronous copies of pageable memory, by a GPU with pinned memory and several streams,
 * which is libgpuaes here, and by the platform's library. The part offload, a study of 2019: 3 KB
 * to 300 MB by scalar and by vector accesses, for a second at least each, ours and the CPU's for a
 * quarter of one; 1 to 32 streams; power meanwhile. Its rates are of bytes read and written,
 * transfers included.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/minmax.h"
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/reference_run.h"
#include "bench/sides.h"

enum { STREAMS = 32, BLOCK = 256 };
enum access { SCALAR, VECTOR, ACCESSES };
/* Bytes that a thread of each kernel encodes. */
static const size_t bytes_of_thread[ACCESSES] = {3, (size_t)3 * REFERENCE_BASE64_FOUR};

enum way { PLAIN, SYNCHRONOUS, BY_SCALARS, BY_VECTORS, BY_LIBRARY, BY_CPU };

struct encoding {
    struct reference card;
    drv_function kernel[ACCESSES];
    unsigned threads; /* of a block */
    drv_stream stream[STREAMS];
    struct memory device;
    /* What one turn does: */
    enum way way;
    struct memory host; /* the output with space for a NUL of libcrypto */
    size_t length;
    unsigned streams; /* the input is cut for so many; of the reference it is not */
};

static size_t characters(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

/* Kernels, and device memory for `most` bytes of input. */
static int encoding_open(struct encoding *e, size_t most, const char *part)
{
    *e = (struct encoding){.streams = 1};
    warm_up();
    if (!reference_open(&e->card, part))
        return 0;
    if (!memory_take(&e->device, part, DEVICE, most, characters(most))) {
        reference_close(&e->card);
        return 0;
    }
    e->kernel[SCALAR] = reference_function(&e->card, "reference_base64_scalar");
    e->kernel[VECTOR] = reference_function(&e->card, "reference_base64_vector");
    e->threads = min_unsigned(e->card.most_threads, BLOCK);
    for (int i = 0; i < STREAMS; i++)
        e->stream[i] = card_stream();
    return 1;
}

static void encoding_close(struct encoding *e)
{
    for (int i = 0; i < STREAMS; i++)
        card_check(card()->stream_destroy(e->stream[i]), "cuStreamDestroy");
    memory_give(&e->device);
    reference_close(&e->card);
}

/* ---- Ways to encode ------------------------------------------------------------------ */

static void wait_if_synchronous(const struct encoding *e, drv_stream stream)
{
    if (e->way == SYNCHRONOUS)
        card_wait(stream);
}

/* One part of the input, on a stream of its own. */
static void queue_part(const struct encoding *e, drv_stream stream, size_t at, size_t bytes)
{
    enum access access = e->way == BY_VECTORS ? VECTOR : SCALAR;
    size_t text_at = at / 3 * 4;
    unsigned char *in = e->device.in.p + at, *out = e->device.out.p + text_at;
    struct reference_base64_arguments arguments = {card_address(in), card_address(out), bytes};
    size_t threads = (bytes + bytes_of_thread[access] - 1) / bytes_of_thread[access];
    struct launch launch = {e->kernel[access], (unsigned)((threads + e->threads - 1) / e->threads),
                            e->threads, 0, &arguments};
    card_up(in, e->host.in.p + at, bytes, stream);
    wait_if_synchronous(e, stream);
    card_launch(&launch, stream);
    wait_if_synchronous(e, stream);
    card_down(e->host.out.p + text_at, out, characters(bytes), stream);
}

/* Copies to the device, encodes, copies back, and waits. */
static void encode_by_kernel(const struct encoding *e, unsigned streams)
{
    /* Whole vectors, so that all parts but the last are aligned and without padding. */
    size_t unit = 4 * bytes_of_thread[VECTOR];
    size_t each = ((e->length + streams - 1) / streams + unit - 1) / unit * unit;
    unsigned used = 0;
    for (size_t at = 0; at < e->length; at += each)
        queue_part(e, e->stream[used++], at, min_u64(e->length - at, each));
    for (unsigned i = 0; i < used; i++)
        card_wait(e->stream[i]);
}

/* As the standard has it, with no thought of speed. `length`: whole groups. */
static void encode_plainly(unsigned char *out, const unsigned char *in, size_t length)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        *out++ = (unsigned char)alphabet[in[i] >> 2];
        *out++ = (unsigned char)alphabet[(in[i] & 3) << 4 | in[i + 1] >> 4];
        *out++ = (unsigned char)alphabet[(in[i + 1] & 15) << 2 | in[i + 2] >> 6];
        *out++ = (unsigned char)alphabet[in[i + 2] & 63];
    }
}

static void encode(const struct encoding *e, enum way way, unsigned streams)
{
    unsigned char *in = e->host.in.p, *out = e->host.out.p;
    if (way == BY_CPU)
        EVP_EncodeBlock(out, in, (int)e->length);
    else if (way == PLAIN)
        encode_plainly(out, in, e->length);
    else if (way == BY_LIBRARY)
        call_check(gpuaes_base64_encode(in, e->length, out, 0, GPUAES_WAIT),
                   "gpuaes_base64_encode");
    else
        encode_by_kernel(e, streams);
}

/* Ends the program if the output is not what libcrypto makes of the input's ends. */
static void check(const struct encoding *e)
{
    enum { END = 3 << 10 };
    unsigned char expected[END / 3 * 4 + 1];
    size_t first = min_u64(e->length, END);
    size_t last = e->length < END ? 0 : (e->length - END + 2) / 3 * 3; /* where a group begins */
    int n = EVP_EncodeBlock(expected, e->host.in.p, (int)first);
    int right = memcmp(expected, e->host.out.p, (size_t)n) == 0;
    n = EVP_EncodeBlock(expected, e->host.in.p + last, (int)(e->length - last));
    if (!right || memcmp(expected, e->host.out.p + last / 3 * 4, (size_t)n) != 0) {
        (void)fprintf(stderr, "gpuaes_bench: a kernel encoded %zu bytes wrongly\n", e->length);
        exit(EXIT_FAILURE);
    }
}

/* ---- 1 to 36 MiB ------------------------------------------------------------------------ */

static void versus_libcrypto(int side, void *argument)
{
    const struct encoding *e = argument;
    encode(e, side == OURS ? e->way : BY_CPU, 1);
}

int part_encoders(void)
{
    static const size_t lengths[] = {1, 12, 24, 36};
    static const struct {
        const char *operation, *processor;
        enum way way;
        enum kind kind;
    } ways[] = {{"encode, plain", "cpu", PLAIN, PAGEABLE},
                {"encode, synchronous", "gpu", SYNCHRONOUS, PAGEABLE},
                {"encode, asynchronous", "gpu", BY_LIBRARY, PAGEABLE},
                {"encode, asynchronous", "gpu", BY_LIBRARY, PINNED}};
    size_t unit = options.quick ? 3 * KIB : MIB, most = 36 * unit;
    struct encoding e;
    int device = encoding_open(&e, most, "encoders");
    for (size_t w = 0; w < (device ? sizeof ways / sizeof ways[0] : 1); w++) {
        e.way = ways[w].way;
        if (!memory_take(&e.host, "encoders", ways[w].kind, most, characters(most) + 1))
            continue;
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            e.length = lengths[i] * unit / 3 * 3;
            struct row row =
                row_of("encoders", "BASE64", ways[w].operation, kind_name(ways[w].kind), e.length);
            row.processor = ways[w].processor;
            row.against = of_openssl("EVP_EncodeBlock");
            struct result result = measure(31, versus_libcrypto, &e);
            versus_libcrypto(OURS, &e);
            check(&e);
            print_times(&row, &result, 1, "ms", 1e3);
        }
        memory_give(&e.host);
    }
    if (device)
        encoding_close(&e);
    return 0;
}

/* ---- 3 KB to 300 MB ----------------------------------------------------------------------- */

static void versus_one_stream(int side, void *argument)
{
    const struct encoding *e = argument;
    encode(e, e->way, side == OURS ? e->streams : 1);
}

static double seconds_of_case(void)
{
    return options.quick ? 0.001 : options.case_seconds;
}

static struct row encoding_row(const struct encoding *e, const char *part)
{
    static const char *const operations[] = {[BY_SCALARS] = "encode, scalar",
                                             [BY_VECTORS] = "encode, vector",
                                             [BY_LIBRARY] = "encode, libgpuaes",
                                             [BY_CPU] = "encode, EVP_EncodeBlock"};
    struct row row = row_of(part, "BASE64", operations[e->way], "pinned", e->length);
    row.statistic = "sustained";
    row.processor = e->way == BY_CPU ? "cpu" : "gpu";
    return row;
}

static void size_rows(struct encoding *e, size_t most)
{
    for (e->length = 3000; e->length <= most; e->length *= 10)
        for (e->way = BY_SCALARS; e->way <= BY_CPU; e->way++) {
            struct row row = encoding_row(e, "offload");
            encode(e, e->way, 1);
            /* So long for what was published so. */
            double seconds = seconds_of_case() / (e->way >= BY_LIBRARY ? 4 : 1);
            double each = measure_sustained(seconds, versus_one_stream, e);
            check(e);
            row.unit = "GB/s";
            row.value[OURS] = (double)(e->length + characters(e->length)) / each / 1e9;
            print_row(&row);
        }
}

static void stream_rows(struct encoding *e)
{
    e->way = BY_SCALARS;
    options.seconds = seconds_of_case();
    for (e->streams = 2; e->streams <= STREAMS; e->streams *= 2) {
        struct row row = encoding_row(e, "offload-streams");
        row.statistic = "median";
        row.threads = e->streams;
        row.against = "one stream";
        measure_rates(&row, MOST_TURNS, versus_one_stream, e,
                      (double)(e->length + characters(e->length)));
    }
    e->streams = 1;
}

/* Encodes, or does nothing, for so long. */
static void spend(struct encoding *e, int encodes, double seconds)
{
    if (encodes)
        (void)measure_sustained(seconds, versus_one_stream, e);
    else
        usleep((useconds_t)(seconds * 1e6));
}

/*
 * Begins to sample the power of the first device; NULL where nothing does. power.draw is a mean
 * over a second on newer cards.
 */
static FILE *power_begin(void)
{
    enum { PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50 }; /* of CUdevice_attribute */
    char command[160], device[32] = "0";
    int bus, slot, domain;
    drv_device handle;
    if (card()->device_get(&handle, 0) == DRV_SUCCESS &&
        card()->device_get_attribute(&bus, PCI_BUS, handle) == DRV_SUCCESS &&
        card()->device_get_attribute(&slot, PCI_DEVICE, handle) == DRV_SUCCESS &&
        card()->device_get_attribute(&domain, PCI_DOMAIN, handle) == DRV_SUCCESS)
        (void)snprintf(device, sizeof device, "%08x:%02x:%02x.0", (unsigned)domain, (unsigned)bus,
                       (unsigned)slot);
    (void)snprintf(command, sizeof command,
                   "exec nvidia-smi --query-gpu=power.draw.instant --format=csv,noheader,nounits "
                   "--id=%s --loop-ms=20 2>/dev/null",
                   device);
    return popen(command, "r"); /* NOLINT(bugprone-command-processor): nothing of a caller's */
}

/* Reads the samples that are there, one at least, unless there are none; watts least, mean, most.
 */
static unsigned power_end(FILE *samples, double watts[3])
{
    double sample, sum = 0;
    unsigned count = 0;
    while (samples != NULL && fscanf(samples, "%lf", &sample) == 1) {
        watts[0] = count == 0 || sample < watts[0] ? sample : watts[0];
        watts[2] = count == 0 || sample > watts[2] ? sample : watts[2];
        sum += sample;
        watts[1] = sum / ++count;
        (void)fcntl(fileno(samples), F_SETFL, O_NONBLOCK);
    }
    if (samples != NULL)
        (void)pclose(samples); /* which it notices at its next line */
    return count;
}

/* Rows of the power meanwhile; 0 where it cannot be told. */
static int power_case(struct encoding *e, int encodes)
{
    static const char *const statistics[] = {"least", "mean", "most"};
    double seconds = 1.5 * seconds_of_case(), watts[3];
    struct row row = encoding_row(e, "power");
    if (!encodes) {
        row.operation = "nothing";
        row.bytes = 0;
        row.processor = NULL;
    }
    row.unit = "W";
    spend(e, encodes, seconds / 6); /* power follows with a delay */
    FILE *samples = power_begin();
    spend(e, encodes, seconds);
    if (power_end(samples, watts) == 0)
        return 0;
    for (size_t i = 0; i < sizeof statistics / sizeof statistics[0]; i++) {
        row.statistic = statistics[i];
        row.value[OURS] = watts[i];
        print_row(&row);
    }
    return 1;
}

static void power_rows(struct encoding *e)
{
    e->way = BY_SCALARS;
    int told = power_case(e, 0) && power_case(e, 1);
    e->way = BY_LIBRARY;
    if (!told || !power_case(e, 1))
        print_skipped("power", "nvidia-smi does not tell");
}

int part_offload(void)
{
    size_t most = options.quick ? 30000 : 300000000;
    struct encoding e;
    if (!encoding_open(&e, most, "offload"))
        return 0;
    if (memory_take(&e.host, "offload", PINNED, most, characters(most) + 1)) {
        size_rows(&e, most);
        e.length = most;
        stream_rows(&e);
        power_rows(&e);
        memory_give(&e.host);
    }
    encoding_close(&e);
    return 0;
}
