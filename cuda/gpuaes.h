/*
 * libgpuaes: AES and Base64 on NVIDIA GPUs.
 *
 * The header gpuaes.h is the contract of the library; the manual page libgpuaes(3) is made from
 * this header, which includes no header of CUDA or OpenSSL. All sizes are in bytes, a block is 16
 * bytes. Every function may be called from any thread, and from several at once, unless it says
 * otherwise. No function changes the caller's current CUDA context. Calls use up to 26 KiB of the
 * caller's stack with driver 580, most of it in the driver: leave 64 KiB.
 *
 * A pointer to memory whose length is 0 may be NULL, and any other where the contract says so. For
 * NULL in other places, a function that returns a status returns BAD_ARGUMENT, one that returns
 * another value returns 0, and one that returns none does nothing; gpuaes_memory_kind() says
 * PAGEABLE.
 *
 * A struct that begins with struct_bytes may get more members, at its end, in later releases. The
 * caller sets struct_bytes to the size of the struct in the header that it was compiled with, and
 * all other members of input that it does not use to 0: with {.struct_bytes = sizeof s}. Members
 * that the library knows and the caller does not count as 0, or are not written. Those that the
 * library does not know must be 0, and are written as 0. A struct_bytes of less than 8 or more than
 * 4096, or another value where 0 must be, is refused as NULL is. All other structs stay as they
 * are: keys and states belong to a mode, shards lie in an array, and a message has what any
 * authenticated encryption has (RFC 5116), so that no time is lost on each.
 *
 * The library has no AES for the CPU: a call that the devices could not finish
 * says what they did finish, and the caller does the rest.
 *
 * Algorithms: AES, FIPS 197; modes ECB, CBC and CTR, NIST SP 800-38A; GCM, NIST SP 800-38D; XTS,
 * IEEE Std 1619; Base64, RFC 4648 section 4 (standard alphabet), lines as in RFC 7468 and RFC 2045.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_H
#define GPUAES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUAES_API __attribute__((visibility("default")))
#define GPUAES_BLOCK 16

enum gpuaes_status {
    GPUAES_OK = 0,
    GPUAES_NOT_READY,    /* no device has been started, or it could not be */
    GPUAES_BUSY,         /* other threads use all streams of the device, and GPUAES_WAIT was not
                            given; or the application captures a CUDA graph, see below */
    GPUAES_NO_MEMORY,    /* device or pinned memory is short, or pinned_bytes reached */
    GPUAES_BAD_ARGUMENT, /* a length, a pointer or an enum out of its range */
    GPUAES_BAD_RANGE,    /* a device range that extends past the end of its allocation, or memory
                            that cannot be used here */
    GPUAES_BAD_INPUT,    /* Base64 text that is not valid; see *offset */
    GPUAES_BAD_TAG,      /* GCM: a message that is not authentic */
    GPUAES_FAULT,        /* the device failed; it is not used again */
    GPUAES_UNDEFINED     /* as FAULT, and all of `out` that *report does not name as complete is
                            undefined, and so is `in` where it is the same memory: a device
                            that hangs may still write there until the process ends */
};

/*
 * While the application captures a CUDA graph, no work of the library becomes part of it, except
 * the work of gpuaes_queue() and gpuaes_random_queue() on the captured stream, and no capture is
 * invalidated. On device memory, calls follow the legacy default stream (see
 * gpuaes_aes()), which cannot be used while a stream that it waits for, one of that device not
 * created as non-blocking, is captured: they return BUSY, also with GPUAES_WAIT, having done
 * nothing, and can be repeated when the capture has ended. So do gpuaes_stream_binding_aes() and
 * gpuaes_stream_binding_wait() on a stream that is captured itself. Other calls are not affected. A
 * capture must not begin in another thread during a call that it would affect.
 */

/* Returns a few words for a status, in static storage. */
GPUAES_API const char *gpuaes_status_text(enum gpuaes_status status);

/* ---- Starting and releasing devices -------------------------------------- */

#define GPUAES_ALL_DEVICES UINT64_MAX
#define GPUAES_IDLE_DEFAULT 0xffffffffu

struct gpuaes_settings {
    size_t struct_bytes;     /* sizeof(struct gpuaes_settings) */
    size_t pinned_bytes;     /* cap over all pinned memory of the library; 0 means 256 MiB */
    unsigned timeout_ms;     /* longest wait for a device that makes no progress; 0 means 10000 */
    unsigned idle_seconds;   /* release the devices after so long without work, in the background,
                                for as long as the application's work on them takes; 0 means
                                never, GPUAES_IDLE_DEFAULT 60 */
    unsigned threads;        /* threads that move the data of one call in pageable memory, the
                                caller's included; at most 64. 0 means automatic: one for each
                                4 MiB, at most four, and at most half of the CPUs that the calling
                                thread may use. All automatic calls share three helpers */
    size_t read_ahead_bytes; /* of pinned_bytes, what keystream made ahead may take; 0 means
                                64 MiB */
    uint64_t devices;        /* bit n: CUDA device n; 0 means device 0 alone,
                                GPUAES_ALL_DEVICES all. Those that do not
                                exist or cannot be started are left out; one is enough */
};

/*
 * Sets the limits and the devices of the process, which has one set of devices. Several callers,
 * such as an application and the library contexts that load the provider, agree as long as no start
 * has begun: a value that means a default gives way to another one. Of two others the smaller
 * pinned_bytes, threads and read_ahead_bytes count, the longer timeout_ms and idle_seconds (0,
 * never, is the longest), and the devices that are in both; where there are none, the call changes
 * nothing. Once a start has begun, and in a forked child of a process that has started, no call
 * changes anything. Returns 1 if all values of `settings` that do not mean a default are in force
 * then, 0 otherwise.
 */
GPUAES_API int gpuaes_configure(const struct gpuaes_settings *settings);

/*
 * Writes the settings in force, with the values of the defaults; `threads` that are automatic as a
 * large call of the calling thread would have them. The caller sets struct_bytes. Returns 1, or 0
 * in a forked child of a process that has started, which has no devices, or where struct_bytes is
 * not right.
 */
GPUAES_API int gpuaes_get_settings(struct gpuaes_settings *settings);

enum gpuaes_state {
    GPUAES_OFF,      /* not started, or released after idle_seconds */
    GPUAES_STARTING, /* a background thread starts the devices, or releases them */
    GPUAES_READY,
    GPUAES_FAILED /* cannot be started in this process, or was lost; see gpuaes_reason() */
};

/*
 * Returns the state, which costs one load. It is FAILED in a forked child of a process that had
 * started.
 */
GPUAES_API enum gpuaes_state gpuaes_state(void);

/*
 * Returns why the state is FAILED, as a sentence without a full stop; "" otherwise.
 * Static storage; valid until the process ends.
 */
GPUAES_API const char *gpuaes_reason(void);

/*
 * Starts the devices in a background thread with all signals blocked, unless that
 * has been tried already. `on_ready(arg)`, if not NULL, runs in that thread
 * once the devices can be used and before the state becomes READY; gpuaes_aes()
 * and the Base64 functions work inside it (and only there, until then). With
 * `wait`, returns when the start has ended either way, however long it takes. It
 * waits timeout_ms at most for a release that is under way. Returns the state.
 * A start takes 0.3 s on a host whose driver is asleep.
 *
 * From then on until the process ends the application must not reset the device
 * (cudaDeviceReset(), cuDevicePrimaryCtxReset()): a reset takes the library's memory away.
 * After one, calls fail where the driver can be asked first, and the device is given up;
 * gpuaes_keystream_xor(), and calls after the context was made anew, cannot ask, and the
 * process ends there.
 */
typedef void gpuaes_ready_fn(void *arg);
GPUAES_API enum gpuaes_state gpuaes_start(gpuaes_ready_fn *on_ready, void *arg, int wait);

/*
 * Returns the devices that have a primary context, bit n for CUDA device n. While the state is
 * OFF the application itself runs CUDA on them, so that starting them would cost next to
 * nothing. Loads no driver; without one, that is a search under the dynamic linker's lock.
 */
GPUAES_API uint64_t gpuaes_application_devices(void);

struct gpuaes_device_info {
    size_t struct_bytes; /* sizeof(struct gpuaes_device_info), set by the caller */
    int ordinal;         /* CUDA's number of the device in this process */
    char name[64];
    int compute_major, compute_minor;
    int multiprocessors;
    int driver_version; /* 13000 is 13.0 */
};

/*
 * Describes device `n` of those in use, counted from 0. Returns 1, or 0 where there are
 * fewer (none while the state is not READY), or struct_bytes is not right. A device that
 * failed is no longer among them.
 */
GPUAES_API int gpuaes_device(unsigned n, struct gpuaes_device_info *info);

/*
 * Returns the version of the toolkit that compiled the kernels of device `n`, counted as
 * gpuaes_device() does: 13050 is 13.5; 0 where there are fewer devices. A library that has
 * kernels of CUDA 12 and of a newer one loads kernels of the newest toolkit that the driver takes.
 */
GPUAES_API int gpuaes_device_toolkit(unsigned n);

/* Returns the toolkit versions and the architectures that the kernels were built for. */
GPUAES_API const char *gpuaes_build(void);

/* ---- Memory ------------------------------------------------------------- */

enum gpuaes_memory {
    GPUAES_PAGEABLE, /* host memory that is not pinned */
    GPUAES_PINNED,   /* page-locked: the device reads and writes it itself */
    GPUAES_DEVICE,   /* device or managed memory of a device in use */
    GPUAES_FOREIGN   /* memory of a device or context that is not in use */
};

/*
 * Returns what kind of memory `len` bytes at `p` are. While no device is READY, that is what the
 * application's own CUDA knows of them, which costs no start: FOREIGN for device and
 * managed memory, PINNED, or PAGEABLE. A range whose first and last byte differ in kind is
 * PAGEABLE if the CPU can read it. Takes 0.1 us; where no driver is loaded, a search for it.
 */
GPUAES_API enum gpuaes_memory gpuaes_memory_kind(const void *p, size_t len);

/*
 * Allocates pinned memory, at least page-aligned, outside the cap of `pinned_bytes`
 * (it is the caller's). Returns NULL if there is none or no device is READY. It is
 * cleansed when freed. To allocate takes 0.36 ms per MiB: do it once. To free waits for all
 * that is queued on the devices, as cuMemFreeHost() does. A forked child may neither use
 * nor free it.
 */
GPUAES_API void *gpuaes_pinned_alloc(size_t bytes);
GPUAES_API void gpuaes_pinned_free(void *p, size_t bytes);

/*
 * Pins memory that the caller has, for all devices, until it is unregistered:
 * whole pages are pinned, so no other registration may touch the first and the
 * last of them. Returns OK; NOT_READY; NO_MEMORY (RLIMIT_MEMLOCK, or the system has no
 * more); BAD_RANGE where it cannot be pinned: a file mapping, read-only memory,
 * memory that is registered already. A forked child may call neither function. The memory
 * must be unregistered before it is unmapped or freed; that does not cleanse it.
 */
GPUAES_API enum gpuaes_status gpuaes_pinned_register(void *p, size_t bytes);
GPUAES_API enum gpuaes_status gpuaes_pinned_unregister(void *p);

/*
 * Copies `len` bytes between memory of any two kinds that do not overlap, after
 * what is queued on the legacy default stream, and returns when they are there.
 * For pieces of some bytes: bulk data is better left to the application's own
 * copies. Returns BUSY while a capture of a CUDA graph forbids it.
 */
GPUAES_API enum gpuaes_status gpuaes_copy(void *to, const void *from, size_t len);

/* ---- AES ---------------------------------------------------------------- */

/*
 * A key schedule: round keys as little-endian words (word c of a round is
 * column c, row r in byte r), `decrypt` for the equivalent inverse cipher of
 * FIPS 197 section 5.3.5, in the order of use.
 */
struct gpuaes_key {
    uint32_t encrypt[60];
    uint32_t decrypt[60];
    unsigned rounds; /* 10, 12 or 14 */
};

/*
 * Expands a key of 16, 24 or 32 bytes and returns 1; returns 0 for any other length.
 * Constant time: neither branches nor addresses depend on the key. No device needed.
 */
GPUAES_API int gpuaes_key_expand(struct gpuaes_key *schedule, const unsigned char *key,
                                 size_t key_bytes);

/* Overwrites memory in a way that no compiler removes. NULL is ignored. */
GPUAES_API void gpuaes_cleanse(void *p, size_t bytes);

/*
 * An operation. Functions take those that are marked, and refuse others with BAD_ARGUMENT:
 *
 *                                  ECB  CBC      CBC      CTR  GCM  XTS
 *                                       encrypt  decrypt
 *     gpuaes_aes()                  x            x        x         x
 *     gpuaes_gcm()                                             x
 *     gpuaes_batch_add()            x   x        x        x    x    x
 *     gpuaes_queue()                x   x        x        x    x    x
 *     gpuaes_stream_binding_aes()   x            x        x
 *     gpuaes_stream_binding_gcm()                              x
 *
 * CBC encryption of one message is serial, and so is faster on a CPU.
 */
enum gpuaes_op {
    GPUAES_ECB_ENCRYPT,
    GPUAES_ECB_DECRYPT,
    GPUAES_CBC_DECRYPT,
    GPUAES_CTR,
    GPUAES_CBC_ENCRYPT,
    GPUAES_GCM_ENCRYPT,
    GPUAES_GCM_DECRYPT,
    GPUAES_XTS_ENCRYPT,
    GPUAES_XTS_DECRYPT
};

enum {
    GPUAES_WAIT = 1 /* wait for other threads rather than return GPUAES_BUSY */
};

/*
 * What a call completed. The call may have been cut into shards, which follow each
 * other without a gap and are all of its bytes: large work over several devices, or over several
 * threads. A call that began nothing has one shard, of which nothing is done.
 * A shard begins at `at` and has `bytes` bytes. The first `done` of them (a multiple
 * of 16) are complete, and `iv` is the IV that continues the stream after those (not
 * used by ECB). `hash` (GCM alone) is the hash of those bytes by themselves, which
 * gpuaes_gcm_join() adds to the hash of the bytes before them.
 */
enum { GPUAES_SHARDS = 64 };
struct gpuaes_shard {
    size_t at, bytes, done;
    unsigned char iv[16];
    unsigned char hash[16];
};
struct gpuaes_report {
    unsigned shards; /* 1 or more, whatever the status */
    struct gpuaes_shard shard[GPUAES_SHARDS];
};

/*
 * Runs whole blocks: `len` is a multiple of 16, any size. `in` and `out` are
 * each memory of any kind, at any alignment; they are the same or do not
 * overlap. The device that owns device or managed memory works on it, after all
 * work that the application has queued on that device's legacy default stream;
 * `in` and `out` must not belong to two devices. Returns when the output is
 * complete.
 *
 * `iv` is not used by ECB. For CTR it is the 128-bit big-endian counter block
 * of the first block, for CBC the block before the first. For XTS it is the encrypted tweak:
 * the caller encrypts the tweak of the data unit with the second key (IEEE Std 1619 section 5.3),
 * and `key` is the first one. The caller refuses two equal keys, and does the ciphertext stealing
 * with which a data unit ends whose length is not a multiple of 16. With OK, `iv` becomes the IV
 * that continues the stream; on any other status it is unchanged.
 *
 * *report (may be NULL) says which bytes are complete: all of them when the status is
 * OK. On every other status but UNDEFINED the input of
 * what is not complete is as it was, also where `in` is `out`, and nothing
 * writes to `out` any more. A device that fails is dropped, and the others do
 * its shards.
 *
 * Timing does not depend on data or key: each lane of a warp reads tables in
 * its own bank of shared memory, or computes without tables.
 */
GPUAES_API enum gpuaes_status gpuaes_aes(enum gpuaes_op op, const struct gpuaes_key *key,
                                         unsigned char iv[16], const void *in, void *out,
                                         size_t len, unsigned flags, struct gpuaes_report *report);

/* ---- GCM ------------------------------------------------------------------- */

/*
 * A key of GCM, NIST SP 800-38D: its schedule, the hash key H, and powers of H that kernels take.
 * The members are the library's own. It is as secret as the key: the caller overwrites it by
 * gpuaes_cleanse(). Any number of messages, in any number of threads, may use it at once.
 */
struct gpuaes_gcm_key {
    struct gpuaes_key schedule;
    uint64_t h[2], steps[9][2];
};

/*
 * Expands a key of 16, 24 or 32 bytes and returns 1; returns 0 for any other length. Constant time.
 * No device needed. Takes some 20 us: do it once.
 */
GPUAES_API int gpuaes_gcm_key_expand(struct gpuaes_gcm_key *gcm, const unsigned char *key,
                                     size_t key_bytes);

/*
 * A message in progress. `counter` is the counter block of the next block of text, a big-endian
 * number in its last 4 bytes, which alone count (inc32, section 6.2): after an IV of 12 bytes the
 * first text has 2 there. `hash` is GHASH (section 6.4) of all before it: the additional data,
 * padded to whole blocks, then ciphertext; not the lengths. A message begins with 0.
 *
 * A state and a report of GCM are secret: with the ciphertext, a hash tells the hash key, and
 * whoever has that can forge messages. The caller overwrites them by gpuaes_cleanse().
 */
struct gpuaes_gcm_state {
    unsigned char counter[16];
    unsigned char hash[16];
};

/*
 * Encrypts (GCM_ENCRYPT) or decrypts (GCM_DECRYPT) whole blocks of a message, and hashes the
 * ciphertext. Memory, `flags`, *report and the statuses are as for gpuaes_aes(). With OK, *state
 * becomes the state after `len` bytes; on any other status it is unchanged, and the caller
 * continues from what *report names, each shard's own hash included: it joins that hash to the one
 * so far by gpuaes_gcm_join(), finishes the shard by AES of its own, and adds the ciphertext that
 * it made by gpuaes_gcm_hash().
 *
 * The caller does the rest of the message, or see gpuaes_gcm_encrypt(). Bytes after the last whole
 * block are combined with the encrypted counter block by exclusive or, and their ciphertext is
 * added to the hash. Then a block is added that has the lengths of additional data and text, in
 * bits, as big-endian numbers of 8 bytes. The tag is the beginning of that hash, combined by
 * exclusive or with the encryption of the counter block before the first one. A receiver compares
 * it in constant time, and uses nothing of the text before that.
 */
GPUAES_API enum gpuaes_status gpuaes_gcm(enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                                         struct gpuaes_gcm_state *state, const void *in, void *out,
                                         size_t len, unsigned flags, struct gpuaes_report *report);

/*
 * Adds `len` bytes of memory of the CPU, padded with zeros to whole blocks, to a hash. On the CPU,
 * in constant time; meant for some blocks. No device needed.
 */
GPUAES_API void gpuaes_gcm_hash(const struct gpuaes_gcm_key *key, unsigned char hash[16],
                                const void *data, size_t len);

/*
 * Adds `blocks` blocks whose own hash, begun with 0, is `next`: `hash` becomes the hash of what it
 * was of, then those. Time depends on `blocks` alone. No device needed.
 */
GPUAES_API void gpuaes_gcm_join(const struct gpuaes_gcm_key *key, unsigned char hash[16],
                                const unsigned char next[16], uint64_t blocks);

/*
 * A whole message, of any length up to 2^36 - 32 bytes. `in` and `out` are memory of any kind, at
 * any alignment; they are the same or do not overlap. The rest is memory of the CPU. Where a length
 * is 0, its pointer may be NULL, except for the IV: it has 1 byte or more, 12 unless the
 * application has a reason. An IV must never occur twice with the same key: an attacker who has two
 * such messages learns how their texts differ, and can forge others. Count the messages, or take
 * random bytes for at most 2^32 messages of one key (section 8.3). The CPU hashes the additional
 * data, less than 0.1 GB each second, so it should be short. `tag` is written by encryption, and
 * read by decryption; it has 12 to 16 bytes, or 4 or 8 (section 5.2.1.2).
 */
struct gpuaes_gcm_message {
    const void *iv;
    size_t iv_bytes;
    const void *aad;
    size_t aad_bytes;
    const void *in;
    void *out;
    size_t len;
    unsigned char *tag;
    size_t tag_bytes;
};

/*
 * Encrypt and decrypt one message, and return when that is done. `flags` and the statuses are as
 * for gpuaes_aes(). Decryption of a message whose tag is wrong returns BAD_TAG, with zeros in
 * all of `out`: in place, the ciphertext is gone. The tag is compared in constant time, when the
 * text is decrypted: before the return no other thread may use what is in `out`. After any other
 * status but OK, no tag is written and `out` is undefined; `in` is as it was where it is not `out`:
 * a caller that would repeat the message by other means keeps the two apart.
 */
GPUAES_API enum gpuaes_status gpuaes_gcm_encrypt(const struct gpuaes_gcm_key *key,
                                                 const struct gpuaes_gcm_message *message,
                                                 unsigned flags);
GPUAES_API enum gpuaes_status gpuaes_gcm_decrypt(const struct gpuaes_gcm_key *key,
                                                 const struct gpuaes_gcm_message *message,
                                                 unsigned flags);

/* ---- Batches --------------------------------------------------------------- */

/*
 * Many messages that the host describes, each with its own key, IV, mode and place, in few
 * launches, by the kernels of gpuaes_queue(). A batch is opened once and used again and again:
 * messages are added, it is submitted, polled or waited for, and reset; once it has grown that
 * allocates nothing. Calls on one batch must not overlap in time; different batches
 * may be used by different threads, and be under way at once: that is what fills
 * the bus, with messages in pinned memory.
 */
struct gpuaes_batch;

/*
 * Limits. Of a batch: messages, and groups of messages that have one op, the same lengths of key,
 * IV and tag, and the same sides (input, output) in pageable and in pinned memory. Of a message:
 * 1 GiB, of XTS GPUAES_QUEUE_UNIT_BYTES, or 2 MiB if either side is pageable memory, since larger
 * ones are better off with gpuaes_aes(). At most 8 batches are under way on a device; together
 * with them, as many calls or more can be. The IV and the additional data of a message of GCM have
 * at most 64 KiB each.
 */
enum {
    GPUAES_BATCH_MESSAGES = 1 << 20,
    GPUAES_BATCH_GROUPS = 1 << 10,
    GPUAES_BATCH_DEVICE_BYTES = 1 << 30,
    GPUAES_BATCH_PAGEABLE_BYTES = 2 << 20,
    GPUAES_BATCH_AAD_BYTES = 64 << 10
};

/*
 * A message. `in` and `out` are memory of any kind, at any alignment; they are the
 * same or do not overlap, and no `out` overlaps anything of another message. `len`
 * is a multiple of 16, for GCM any number, for XTS any from 16; where it is 0, they may be NULL.
 * All device and managed memory of a batch belongs to one device.
 *
 * The last members are for GCM alone, as in struct gpuaes_gcm_message, and memory of the CPU;
 * the device hashes the additional data. Encryption writes `tag` when the
 * message is complete, within some call on the batch; it must stay as long as `out`, and no tag
 * overlaps anything of another message. Decryption reads `tag` when the message is added. A message
 * whose tag is wrong has the status BAD_TAG and zeros in all of `out`, and changes nothing of
 * others; tags are compared in constant time. While the batch is under way, and after a fault,
 * `out` of decryption may hold text that is not authentic.
 */
struct gpuaes_message {
    enum gpuaes_op op;
    /*
     * Raw key. Messages are fastest where all of a group have one. NULL: `schedule` is used
     * instead, which may lie in a struct gpuaes_gcm_key; adding such a message takes longer.
     * XTS takes no schedule: a raw key of 32 or 64 bytes, the second half of which is for tweaks,
     * and in encryption is not equal to the first.
     */
    const unsigned char *key;
    size_t key_bytes;
    const struct gpuaes_key *schedule;
    const unsigned char *iv; /* 16 bytes as for gpuaes_aes(); not used by ECB; GCM: iv_bytes; XTS:
                                the tweak, which is encrypted here */
    const void *in;
    void *out;
    size_t len;
    size_t iv_bytes; /* 12, unless the application has a reason; 1 or more */
    const void *aad;
    size_t aad_bytes;
    unsigned char *tag;
    size_t tag_bytes; /* 12 to 16, or 4 or 8 */
};

/* Returns OK or NO_MEMORY. No device is needed yet. */
GPUAES_API enum gpuaes_status gpuaes_batch_open(struct gpuaes_batch **batch);

/*
 * Adds a message. The caller's struct, key, IV, additional data, and the tag of decryption are
 * not needed after the return.
 * Messages are numbered from 0 in the order of these calls. A message that is like the one before
 * (op, lengths of key, IV and tag, in place or not, the same allocations) is added fastest.
 * BAD_ARGUMENT and BAD_RANGE refuse
 * this message alone: it has a number and that status, and the others are done. With any
 * other status it has no number: NOT_READY; NO_MEMORY, also where a limit is reached;
 * BUSY where the batch was submitted and not reset; FAULT where the device failed when
 * it was asked about the memory. The buffers of a message that is not refused must
 * stay, and keep their kind of memory, from here on until the batch is done.
 */
GPUAES_API enum gpuaes_status gpuaes_batch_add(struct gpuaes_batch *batch,
                                               const struct gpuaes_message *message);

/*
 * Starts the work and returns. Work on device memory comes after all work that the application has
 * queued on the device's legacy default stream; managed memory is worked on by its own
 * device. With NOT_READY, NO_MEMORY and BUSY (8 batches are under way on the device, or a
 * capture of a CUDA graph forbids it) nothing was begun, and the batch may be submitted
 * again. With GPUAES_WAIT it waits until another thread's batch is done, timeout_ms at
 * most, before it returns BUSY. Returns BAD_ARGUMENT where the batch was submitted and not
 * reset. Any other status comes from gpuaes_batch_wait(), which has been called: FAULT also
 * where the device had been lost before.
 *
 * Pinned memory that batches and calls have had, on any device, counts for pinned_bytes until
 * the devices are released when idle; a batch needs memory for one slice at least (see
 * gpuaes_batch_poll()).
 *
 * A batch under way keeps other batches from beginning, and the devices from being
 * released when idle, until gpuaes_batch_poll(), gpuaes_batch_wait(), a reset or a close
 * finds that it is done. It goes on after the fault of another device.
 */
GPUAES_API enum gpuaes_status gpuaes_batch_submit(struct gpuaes_batch *batch, unsigned flags);

/*
 * Returns BUSY until the batch is done, then what gpuaes_batch_wait() returns. Does not wait,
 * unless something has failed: then it waits until the device does nothing more for the batch, as
 * gpuaes_batch_wait() does. Returns BAD_ARGUMENT before the batch is submitted. In a forked child
 * both return NOT_READY for a batch that was under way: it is the parent's.
 *
 * Each group is cut into slices of consecutive messages. Four slices, or as many as there is memory
 * for, start at once; a batch with more continues only within calls of this function and of
 * gpuaes_batch_wait(). A slice has up to 16384 messages, 1 GiB of text, and 3.5 MiB of text in
 * pageable memory, keys, IVs, additional data and 84 bytes for each message. With a side in pinned
 * memory it has 8 MiB of text, or one longer message; of CBC encryption 64 MiB, and 1 GiB where
 * messages are longer than 256 KiB. Of each message of CBC encryption 256 KiB are encrypted at a
 * time.
 */
GPUAES_API enum gpuaes_status gpuaes_batch_poll(struct gpuaes_batch *batch);

/*
 * Waits until the batch is done: without limit for what the application had queued before, then
 * at most timeout_ms without progress. Returns OK if all messages that were not refused are
 * complete, else the worst of their statuses: BAD_TAG, FAULT or UNDEFINED. Then nothing is under
 * way any more, unless the device hangs, and gpuaes_batch_status() tells of each message.
 */
GPUAES_API enum gpuaes_status gpuaes_batch_wait(struct gpuaes_batch *batch);

/*
 * Returns the status of one message: OK if `out` is complete; BUSY if that is not known yet; the
 * status with which gpuaes_batch_add() refused it; BAD_TAG if it is not authentic; after a fault,
 * FAULT: it is not complete, `in` is as it was, and nothing writes to `out` any more; UNDEFINED:
 * neither is certain. BAD_ARGUMENT for a number without a message. The batch keeps no IV that
 * continues a message: the caller derives it from the last block of ciphertext (CBC) or the counter
 * (CTR).
 */
GPUAES_API enum gpuaes_status gpuaes_batch_status(const struct gpuaes_batch *batch, size_t number);

/*
 * Waits as gpuaes_batch_wait() does and forgets the messages; their keys stay in memory of the host
 * until keys of later messages take their place, or the batch is closed.
 */
GPUAES_API void gpuaes_batch_reset(struct gpuaes_batch *batch);

/* Waits, cleanses and frees. NULL is ignored. */
GPUAES_API void gpuaes_batch_close(struct gpuaes_batch *batch);

/* ---- Messages on a stream of the application ----------------------------------------- */

/*
 * Many messages, each with its own place, length, IV, additional data and tag, which kernels read
 * from arrays in device memory: the host does nothing for each of them, and an earlier kernel of
 * the stream may have written the arrays. NIST SP 800-38A and 800-38D, IEEE Std 1619.
 *
 * Each array has an element for each message, lies in memory that the device reaches, and is
 * aligned to its element; it is read in the order of the stream, and must stay until the stream has
 * passed the work. What elements point to is such memory, too, at any alignment. `in` and `out` of
 * a message are the same or do not overlap. Nothing else that is written (`out`, `tag`, `status`,
 * the temporary memory) overlaps anything that is read or written. The library cannot check these
 * addresses: a kernel that uses a wrong one is a fault of the device, as in any kernel of the
 * application.
 *
 * Members that are not used are 0.
 */
enum {
    GPUAES_QUEUE_MESSAGES = 1 << 24,
    GPUAES_QUEUE_BYTES = 1 << 30,      /* of a message */
    GPUAES_QUEUE_UNIT_BYTES = 1 << 24, /* of XTS: 2^20 blocks, IEEE Std 1619 section 5.1 */
    GPUAES_QUEUE_AAD_BYTES = 1 << 16   /* of a message of GCM; also of its IV */
};
struct gpuaes_messages {
    size_t struct_bytes; /* sizeof(struct gpuaes_messages) */
    enum gpuaes_op op;   /* any; all messages of a call have one */
    size_t count;        /* up to GPUAES_QUEUE_MESSAGES; 0: nothing is queued */
    size_t max_bytes;    /* of the longest message, or more: up to GPUAES_QUEUE_BYTES, of XTS
                            GPUAES_QUEUE_UNIT_BYTES. Much more than that costs speed */
    size_t total_bytes;  /* of all messages without additional data, about; 0: not known. A call
                            whose longest message is much longer than most is faster with it, and
                            slower where it is much too small. Results do not depend on it */

    /*
     * Keys, of which one kind is given. One key for all messages: a schedule in memory of the CPU,
     * not needed after the return; of XTS also the schedule of tweaks. It becomes a parameter of
     * launches: a graph that captured them keeps a copy.
     */
    const struct gpuaes_key *key, *tweak_key;
    /*
     * Or raw keys of key_bytes bytes in device memory, at any alignment: 16, 24 or 32, of XTS 32 or
     * 64, the second half of which is for tweaks. `keys` points to the key of each message. Or they
     * follow each other at key_table, key_count of them, and key_index has a number for each
     * message; without it, message n has key n. Nothing is made of them that outlasts a launch.
     */
    const void *const *keys;
    const void *key_table;
    const uint32_t *key_index;
    size_t key_count, key_bytes;

    const void *const *in;
    void *const *out;
    const size_t *bytes; /* multiples of 16; of CTR and GCM any, also 0; of XTS from 16 */
    const unsigned char *const *iv; /* not used by ECB; of XTS the tweak, which is encrypted here */
    size_t iv_bytes;                /* 16; of GCM 1 to GPUAES_QUEUE_AAD_BYTES, best 12 */
    const void *const *aad;         /* GCM; NULL: there is none */
    const size_t *aad_bytes;        /* each up to GPUAES_QUEUE_AAD_BYTES */
    unsigned char *const *tag;      /* GCM: written by encryption, compared by decryption */
    size_t tag_bytes;               /* 12 to 16, or 4 or 8 */

    /*
     * Written: enum gpuaes_status of each. OK; BAD_ARGUMENT for a length of text or additional data
     * that is out of its range, for a number without a key, and in encryption of XTS for a key of
     * two equal halves; BAD_TAG. Unless it is OK, all of `out` is zeros, up to max_bytes, also
     * where it is `in`, and no tag is written; other messages are not affected. Until the stream
     * has passed the work, `out` may hold text that is not authentic.
     */
    uint32_t *status;
};

/*
 * Returns how much temporary memory gpuaes_queue() takes at most for messages like these, on any
 * device, for callers that give it: some 44 bytes for a message, of CBC decryption 64 MiB more at
 * most. `op`, `count` and max_bytes are looked at. Returns 0 for no messages, and for what is out
 * of its range, of which gpuaes_queue_error() then tells.
 */
GPUAES_API size_t gpuaes_queue_temp_bytes(const struct gpuaes_messages *messages);

/*
 * Queues the messages on `stream`, a CUstream (or cudaStream_t) of the primary context of a device
 * in use; NULL is the legacy default stream of `device`, CUDA's ordinal, which is ignored
 * otherwise, except with CU_STREAM_PER_THREAD. Does not wait for the stream; the first GCM of a
 * device waits for its self-test. The host's work does not depend on the number of messages. The
 * struct is not needed after the return. Several threads may queue at once.
 *
 * With a `temp` of NULL, for which temp_bytes is 0, the library takes temporary memory from a pool
 * of its own in the order of the stream (cuMemAllocFromPoolAsync()), and gives it back behind the
 * work. That takes 3 us, and some 0.1 ms more where the pool has to grow; the pool keeps it for
 * later calls until the devices are released. A driver without memory pools, as on some
 * virtual GPUs (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), cannot do that: BAD_ARGUMENT,
 * except for small work, which needs none. Else `temp` is device memory, aligned to 256, which no
 * other work uses until the stream has passed this. What temporary memory holds afterwards is no
 * secret.
 *
 * The stream may be captured into a CUDA graph, whose runs then read the arrays anew, and use the
 * same temporary memory: one after the other. Without `temp` the graph has nodes that allocate and
 * free, for which CUDA allows one instance of the graph at a time, and no copy of it. From the
 * first such capture on, no device is released when idle. Each run of an encryption needs other
 * IVs: in CTR and GCM none may occur twice with the same key.
 *
 * Returns OK when all is queued; NOT_READY, also where devices were released when idle;
 * BAD_ARGUMENT, with nothing queued, and with a sentence in gpuaes_queue_error(); NO_MEMORY, with
 * nothing queued, where the pool or the self-test lacks it; BUSY for the legacy stream, where that
 * would invalidate a capture; FAULT, also where the device had been lost before: some of it may be
 * queued then.
 *
 * A thread does a message of CBC encryption, which is serial; messages of other modes are cut into
 * segments. `bytes` of the statistics does not count them. Timing does not depend on data, keys or
 * tags.
 */
GPUAES_API enum gpuaes_status gpuaes_queue(const struct gpuaes_messages *messages, void *temp,
                                           size_t temp_bytes, void *stream, int device);

/*
 * Returns what was wrong with the arguments of the calling thread's last gpuaes_queue() that
 * returned BAD_ARGUMENT, or gpuaes_queue_temp_bytes() that found something out of its range, such
 * as "tag_bytes is 3; expected 12 to 16, 8 or 4"; "" before. Valid until the next such call.
 */
GPUAES_API const char *gpuaes_queue_error(void);

/* ---- Random numbers in device memory ------------------------------------------------- */

/*
 * What keystream of AES-256-CTR becomes. Words are little-endian; word32 `i` is bytes 4 i to
 * 4 i + 3 of the keystream, word64 `i` bytes 8 i to 8 i + 7. So each element has bits of its own,
 * at a place that is known: any part of a stream can be made by itself, and by any AES.
 *
 * Each operation on floating-point numbers is rounded by itself, to nearest, in the type of the
 * element. All but normal numbers can so be repeated bit by bit on a CPU.
 */
enum gpuaes_random_kind {
    /* Bytes: element i is byte i of the keystream. */
    GPUAES_RANDOM_BYTES,
    /*
     * Uniform float and double, u * scale + shift, where u is 0 or more and less than 1:
     * (word32 i >> 8) * 2^-24, or (word64 i >> 11) * 2^-53. With `scale` and `shift` it may be
     * rounded up to the end of its range.
     */
    GPUAES_RANDOM_UNIFORM32,
    GPUAES_RANDOM_UNIFORM64,
    /*
     * Normal float and double, z * scale + shift, after Box and Muller. Of words a and b, which are
     * i and i + 1 for an even element i and the one behind it: z = r cos(pi t), then r sin(pi t),
     * where r = sqrt(-2 ln u). Float: u = a * 2^-32 + 2^-33, where a is rounded to float first, and
     * t = (b >> 8) * 2^-23; double: u = (a >> 11) * 2^-53 + 2^-54, t = (b >> 11) * 2^-52. Of float,
     * |z| is at most 6.77, of double 8.66. Logarithm, sine and cosine agree with a CPU's results
     * within rounding only.
     */
    GPUAES_RANDOM_NORMAL32,
    GPUAES_RANDOM_NORMAL64,
    /*
     * Integers from `low` to low + range - 1, modulo 2^(8 element_bytes), where a range of 0 is
     * 2^64: low + floor(word64 i * range / 2^64). A range above 2^32 takes twice the keystream:
     * low + floor(word128 i * range / 2^128), where word128 `i` is bytes 16 i to 16 i + 15. Each
     * integer has the probability 1 / range, with a relative error of 2^-32 at most, above 2^32 of
     * 2^-64, and none where the range is a power of two.
     */
    GPUAES_RANDOM_RANGE,
    /* `success` where (word64 i >> 1) is less than floor(probability * 2^63), else zeros. */
    GPUAES_RANDOM_BERNOULLI,
    /*
     * Uniform float16 and bfloat16: a float u * scale + shift, rounded down to the type, where u is
     * (word32 i >> 19) * 2^-13, or (word32 i >> 16) * 2^-16. u and a number of the type have 24
     * bits together, so that float has room for the product. Where low and high are numbers of the
     * type, `shift` is low and `scale` is high - low, each element is low or more, and less than
     * high.
     */
    GPUAES_RANDOM_UNIFORM_FLOAT16,
    GPUAES_RANDOM_UNIFORM_BFLOAT16,
    /*
     * Normal float16 and bfloat16: element i of NORMAL32, rounded to the nearest number of the
     * type, halfway to the even one. Numbers that are too large for float16 become infinite.
     */
    GPUAES_RANDOM_NORMAL_FLOAT16,
    GPUAES_RANDOM_NORMAL_BFLOAT16,
    /*
     * Integers of RANGE as float16, bfloat16, float and double. All of them lie between -2^11 and
     * 2^11, of bfloat16 2^8, of float 2^24, of double 2^53, where the types have every integer.
     */
    GPUAES_RANDOM_RANGE_FLOAT16,
    GPUAES_RANDOM_RANGE_BFLOAT16,
    GPUAES_RANDOM_RANGE_FLOAT32,
    GPUAES_RANDOM_RANGE_FLOAT64
};

struct gpuaes_random {
    size_t struct_bytes; /* sizeof(struct gpuaes_random) */
    enum gpuaes_random_kind kind;
    const void *key;           /* raw, of 32 bytes, in memory that the device reaches */
    unsigned char counter[16]; /* the counter block, 128 bits big-endian, where element 0 begins */
    uint64_t first;            /* the number of the first element that is written */
    size_t count;              /* 0: nothing is queued */
    size_t element_bytes;      /* RANGE, BERNOULLI: 1, 2, 4 or 8 */
    double scale, shift;       /* UNIFORM, NORMAL: finite; except of double, also as a float */
    int64_t low;               /* RANGE, of integers and of floating-point types */
    uint64_t range;            /* the same; 0, of integers alone, is 2^64 */
    double probability;        /* BERNOULLI: 0 to 1 */
    uint64_t success;          /* its low element_bytes bytes are written */
};

/*
 * Queues on `stream` that random->count elements are written at `out`: memory that the device of
 * the stream reaches (its own, managed or pinned), aligned to an element. `stream` and `device` are
 * as for gpuaes_queue(). Neither waits nor allocates. The struct is not needed after the return.
 * What is written depends on key, counter and number of an element alone, neither on the device nor
 * on how many elements a call has; the caller uses no bytes of a keystream twice.
 *
 * Kernels read the key, at any alignment, in the order of the stream: an earlier kernel may have
 * written it, and it must stay until the stream has passed the work. So the driver keeps no copy of
 * it. Nothing is made of it that outlasts a launch. The caller overwrites it before it is freed.
 *
 * The stream may be captured into a CUDA graph, whose runs read the key anew, and write the same
 * numbers again where that is the same. From the first such capture on, no device is released when
 * idle.
 *
 * Returns OK when it is queued; NOT_READY, also where devices were released when idle;
 * BAD_ARGUMENT, with nothing queued, for a size, an alignment or a number out of its range,
 * elements beyond 2^64 bytes of keystream, or a stream of no device in use; BAD_RANGE for a key or
 * output in other memory; NO_MEMORY, with nothing queued, where the driver lacks it to look at
 * that; BUSY for the legacy stream, where that would invalidate a capture; FAULT, also where the
 * device had been lost before.
 */
GPUAES_API enum gpuaes_status gpuaes_random_queue(const struct gpuaes_random *random, void *out,
                                                  void *stream, int device);

/* ---- AES on a stream of the application ---------------------------------- */

/*
 * A CUDA stream of the application on which AES is queued without waiting.
 * Calls on one binding must not overlap in time; different bindings may be used by
 * different threads.
 */
struct gpuaes_stream_binding;

/*
 * Binds to `stream`, a CUstream (or cudaStream_t) of the primary context of a device
 * in use, which must outlive the binding; NULL is the legacy default stream of
 * `device`, CUDA's ordinal, which is ignored otherwise. Returns OK; NOT_READY;
 * NO_MEMORY; BAD_ARGUMENT for a stream of another context, and for
 * CU_STREAM_PER_THREAD, which is another stream in each thread; FAULT where the driver does not
 * tell, or the device was lost.
 */
GPUAES_API enum gpuaes_status gpuaes_stream_binding_open(struct gpuaes_stream_binding **binding,
                                                         void *stream, int device);

/*
 * Queues whole blocks as gpuaes_aes() would run them, and returns. `in` and
 * `out` must be device, managed or pinned memory (BAD_RANGE otherwise) and stay
 * until the stream has passed the work; no other code may read `out` or write either
 * before. `key` and `iv` are not needed after the return, and `iv` is not written. With
 * CBC_DECRYPT, an `iv` of NULL continues the data of the binding's last call.
 *
 * OK means queued. On any other status nothing of this call will be done
 * (FAULT: or some of it; `out` is undefined): BUSY while the stream is captured
 * into a CUDA graph, or, for the legacy stream, one that it waits for. An error
 * of the device that happens later is seen by gpuaes_stream_binding_wait() and by the
 * application's own CUDA calls.
 */
GPUAES_API enum gpuaes_status gpuaes_stream_binding_aes(struct gpuaes_stream_binding *binding,
                                                        enum gpuaes_op op,
                                                        const struct gpuaes_key *key,
                                                        const unsigned char iv[16], const void *in,
                                                        void *out, size_t len);

/*
 * Waits until the stream has done all that was queued on it: without limit for
 * the application's work, and timeout_ms for the work of each call of the binding. (Of
 * calls before the last 8 since a wait, a hang is not told from the application's
 * work.) `iv`, if not NULL, becomes the IV that continues the binding's last
 * CBC_DECRYPT; BAD_ARGUMENT where there was none. Returns OK; FAULT; without having waited, BUSY
 * where gpuaes_stream_binding_aes() does, and NO_MEMORY: such a call can be repeated.
 */
GPUAES_API enum gpuaes_status gpuaes_stream_binding_wait(struct gpuaes_stream_binding *binding,
                                                         unsigned char iv[16]);

/*
 * Queues whole blocks of GCM as gpuaes_gcm() would run them, from `counter` on; memory and statuses
 * are as for gpuaes_stream_binding_aes(). The hash stays on the device, where the next call adds to
 * it, until gpuaes_stream_binding_hash() gets it: all work between two calls of that has one key.
 * With `begins` it is the first call of a message: a hash that was not got is dropped, and with the
 * powers of its key overwritten in the order of the stream. With a length of 0 that is all.
 * The first GCM of a device waits for its self-test, but not for the stream.
 */
GPUAES_API enum gpuaes_status gpuaes_stream_binding_gcm(struct gpuaes_stream_binding *binding,
                                                        enum gpuaes_op op,
                                                        const struct gpuaes_gcm_key *key,
                                                        const unsigned char counter[16], int begins,
                                                        const void *in, void *out, size_t len);

/*
 * Waits as gpuaes_stream_binding_wait() does, and adds all blocks of GCM that were queued since the
 * last call of this to `hash`, as in struct gpuaes_gcm_state. The statuses are the same; on any but
 * OK, BUSY and NO_MEMORY the hash of those blocks is lost.
 */
GPUAES_API enum gpuaes_status gpuaes_stream_binding_hash(struct gpuaes_stream_binding *binding,
                                                         const struct gpuaes_gcm_key *key,
                                                         unsigned char hash[16]);

/*
 * Waits for the work of the binding, and so for what was on the stream before that, also while
 * the stream is captured; keeps the binding's memory for others. NULL is ignored.
 */
GPUAES_API void gpuaes_stream_binding_close(struct gpuaes_stream_binding *binding);

/* ---- CTR keystream made ahead -------------------------------------------- */

/*
 * The keystream of one AES-CTR stream. A device makes it ahead of the stream's
 * position, in pinned memory, and the CPU combines it with the data: several times
 * faster than encrypting pieces of some KiB on a core. Calls on one keystream must
 * not overlap in time.
 *
 * A keystream takes up to 12 MiB of pinned memory (three segments). The library may reclaim
 * it at any time, when the devices are released, or for another keystream if this one has not
 * been used for a second. Then, when a device fails, and in a forked child, no more keystream
 * is given; all bytes combined before are right.
 */
struct gpuaes_keystream;

enum {
    GPUAES_ALLOCATE = 2 /* pinned memory may be allocated for it: some milliseconds */
};

/*
 * Begins to make the keystream from counter block `iv` on, which is position 0.
 * Neither key nor iv is needed after the return. Returns OK; NOT_READY; BUSY where no memory
 * is available and GPUAES_ALLOCATE was not given; NO_MEMORY where read_ahead_bytes or
 * pinned_bytes are reached; BAD_ARGUMENT; FAULT.
 */
GPUAES_API enum gpuaes_status gpuaes_keystream_open(struct gpuaes_keystream **keystream,
                                                    const struct gpuaes_key *key,
                                                    const unsigned char iv[16], unsigned flags);

/*
 * Combines as much of `in` as there is keystream for at the position, and moves the position on
 * by so much. Returns the number of bytes, from 0 to `len`, not only whole blocks. `in` and `out`
 * are memory of the CPU; they are the same or do not overlap. Never waits, and never
 * calls the driver.
 */
GPUAES_API size_t gpuaes_keystream_xor(struct gpuaes_keystream *keystream, const void *in,
                                       void *out, size_t len);

/*
 * Orders the next keystream. Call it when gpuaes_keystream_xor() stops short. Returns 1 if there
 * is keystream at the position now, 0 otherwise: then encrypt the next bytes by other means, pass
 * their number to gpuaes_keystream_skip() and go on. Does not wait. Takes some microseconds, once
 * for each segment.
 */
GPUAES_API int gpuaes_keystream_order(struct gpuaes_keystream *keystream);

/* Moves the position on by the bytes that the caller encrypted by other means. */
GPUAES_API void gpuaes_keystream_skip(struct gpuaes_keystream *keystream, size_t len);

/* Returns the position in bytes. */
GPUAES_API uint64_t gpuaes_keystream_position(const struct gpuaes_keystream *keystream);

/* Returns 1, or 0 once no more keystream is given. */
GPUAES_API int gpuaes_keystream_is_open(const struct gpuaes_keystream *keystream);

/*
 * Waits until the device is done with the memory, cleanses it, and frees the rest.
 * NULL is ignored.
 */
GPUAES_API void gpuaes_keystream_close(struct gpuaes_keystream *keystream);

/* ---- Base64 ------------------------------------------------------------- */

/*
 * Returns how many characters `len` bytes encode to, padding and line ends included. A
 * line end ("\n") follows every `line_length` characters and the last, shorter
 * line; `line_length` is 0 for no lines, or a multiple of 4. Returns SIZE_MAX if the
 * result does not fit a size_t.
 */
GPUAES_API size_t gpuaes_base64_encoded_size(size_t len, size_t line_length);

/*
 * Encodes `len` bytes into gpuaes_base64_encoded_size() characters, without a
 * final NUL. `in` and `out` are memory of any kind, as for gpuaes_aes(), and
 * must not overlap. Lines that would have 2^32 characters or more are refused. On any status but OK
 * the contents of `out` are undefined, `in` is untouched, and the caller may encode by other means;
 * with UNDEFINED not to `out`, where a device that hangs may still write. `flags` is 0 or
 * GPUAES_WAIT.
 */
GPUAES_API enum gpuaes_status gpuaes_base64_encode(const void *in, size_t len, void *out,
                                                   size_t line_length, unsigned flags);

/*
 * Decodes whole quads of the alphabet, without white space: `len` is a
 * multiple of 4 and no '=' may occur (the last quad of a padded text is the
 * caller's). Writes len / 4 * 3 bytes. `in` and `out` must not overlap. With
 * BAD_INPUT, *offset (may be NULL) is the offset of the first character that is not in the
 * alphabet, and `out` is undefined; the rest is as for gpuaes_base64_encode().
 */
GPUAES_API enum gpuaes_status gpuaes_base64_decode(const void *in, size_t len, void *out,
                                                   unsigned flags, size_t *offset);

/* ---- Statistics --------------------------------------------------------- */

/*
 * Totals of the process since it began (in a forked child, since the fork), without the work
 * inside on_ready() of gpuaes_start().
 */
struct gpuaes_statistics {
    size_t struct_bytes;       /* sizeof(struct gpuaes_statistics), set by the caller */
    uint64_t bytes;            /* input bytes that the device finished: AES and Base64 */
    uint64_t read_ahead_bytes; /* combined with keystream that was made ahead; not in `bytes` */
    uint64_t underruns;        /* pieces of keystream that were not ready when they were needed */
    uint64_t launches;         /* kernels launched */
    uint64_t faults;           /* driver calls that failed, time-outs included */
    uint64_t start_ms;         /* what the (last) start took, 0 before */
    uint64_t pinned_bytes;     /* pinned memory of the library now */
    uint64_t pinned_peak;      /* the most it ever was */
};
/* Writes them. Returns 1, or 0 where struct_bytes is not right. */
GPUAES_API int gpuaes_get_statistics(struct gpuaes_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
