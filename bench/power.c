/*
 * The power that a device takes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/power.h"

#include "bench/card.h"

/* power.draw is a mean over a second on newer cards. CU_DEVICE_ATTRIBUTE_PCI_... name the device.
 */
static FILE *open_samples(void)
{
    enum { PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50 };
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

static void *sampling(void *argument)
{
    struct power *p = argument;
    double watts;
    while (fscanf(p->samples, "%lf", &watts) == 1) {
        p->least = p->count == 0 || watts < p->least ? watts : p->least;
        p->most = watts > p->most ? watts : p->most;
        p->sum += watts;
        p->count++;
        if (atomic_load(&p->stop))
            break;
    }
    return NULL;
}

void power_begin(struct power *p)
{
    *p = (struct power){.samples = open_samples()};
    if (p->samples != NULL)
        card_check(pthread_create(&p->thread, NULL, sampling, p), "pthread_create");
}

int power_end(struct power *p)
{
    if (p->samples == NULL)
        return 0;
    atomic_store(&p->stop, 1);
    (void)pthread_join(p->thread, NULL);
    (void)pclose(p->samples); /* which it notices at its next line */
    return p->count > 0;
}
