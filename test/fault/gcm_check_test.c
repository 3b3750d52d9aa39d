/*
 * A device that multiplies wrongly: the self-test of GCM finds it out before any text is touched,
 * and other modes of such a device are not asked either. The emulator's kernels do nothing here.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

enum { BYTES = 1 << 20 };

/* Encrypts in place; what of a refused message is as it was. */
static enum gpuaes_status encrypt(unsigned char *text, struct gpuaes_report *report)
{
    static const unsigned char zeros[32];
    struct gpuaes_gcm_key key;
    struct gpuaes_gcm_state state = {{0}, {0}};
    gpuaes_gcm_key_expand(&key, zeros, sizeof zeros);
    return gpuaes_gcm(GPUAES_GCM_ENCRYPT, &key, &state, text, text, BYTES, GPUAES_WAIT, report);
}

int main(void)
{
    unsigned char *text = calloc(1, BYTES), *zeros = calloc(1, BYTES);
    struct gpuaes_report report;
    emulator_configure("idle-kernels=2");
    if (!tap_ok(starts_with(NULL), "the device starts"))
        return tap_done();
    tap_ok(encrypt(text, &report) == GPUAES_FAULT, "GCM is refused");
    tap_ok(strstr(gpuaes_reason(), "self-test of GCM") != NULL, "and the self-test is the reason");
    tap_diag("%s", gpuaes_reason());
    tap_ok(memcmp(text, zeros, BYTES) == 0, "the text is as it was");
    tap_ok(gpuaes_state() == GPUAES_FAILED, "the device is not used again");
    free(text);
    free(zeros);
    return tap_done();
}
