/*
 * The power that a device takes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/power.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/card.h"
#include "bench/nvml.h"

/* ---- NVML ------------------------------------------------------------------------- */

static struct {
#define MEMBER(member, symbol, parameters) int(*member) parameters;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
} nvml;

static int nvml_load(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    if (library == NULL)
        return 0;
#define FIND(member, symbol, parameters)                                                           \
    if ((found = dlsym(library, #symbol)) == NULL)                                                 \
        return 0;                                                                                  \
    memcpy(&nvml.member, &found, sizeof found);
    NVML_FUNCTIONS(FIND)
#undef FIND
    return nvml.init() == NVML_SUCCESS;
}

static double sample_nvml(const struct power *p)
{
    struct nvml_field field = {.field = NVML_POWER_INSTANT};
    unsigned milliwatts = 0;
    if (nvml.field_values(p->device, 1, &field) == NVML_SUCCESS && field.result == NVML_SUCCESS)
        milliwatts = field.value.number;
    else if (nvml.power_usage(p->device, &milliwatts) != NVML_SUCCESS)
        milliwatts = 0;
    return milliwatts / 1e3;
}

/* ---- nvidia-smi ------------------------------------------------------------------- */

static double sample_program(const struct power *p)
{
    char command[160];
    double watts = 0;
    (void)snprintf(command, sizeof command,
                   "nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits --id=%s "
                   "2>/dev/null",
                   p->bus_id);
    FILE *from = popen(command, "r");
    if (from != NULL && fscanf(from, "%lf", &watts) != 1)
        watts = 0;
    if (from != NULL)
        (void)pclose(from);
    return watts;
}

/* ---- Samples ---------------------------------------------------------------------- */

/* CU_DEVICE_ATTRIBUTE_PCI_...; a number of nvidia-smi's where the driver does not tell. */
static void name_device(struct power *p, int ordinal)
{
    enum { PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50 };
    int bus, device, domain;
    drv_device handle;
    if (card()->device_get(&handle, ordinal) == DRV_SUCCESS &&
        card()->device_get_attribute(&bus, PCI_BUS, handle) == DRV_SUCCESS &&
        card()->device_get_attribute(&device, PCI_DEVICE, handle) == DRV_SUCCESS &&
        card()->device_get_attribute(&domain, PCI_DOMAIN, handle) == DRV_SUCCESS)
        (void)snprintf(p->bus_id, sizeof p->bus_id, "%08x:%02x:%02x.0", (unsigned)domain,
                       (unsigned)bus, (unsigned)device);
    else
        (void)snprintf(p->bus_id, sizeof p->bus_id, "%d", ordinal);
}

const char *power_open(struct power *p, int ordinal)
{
    memset(p, 0, sizeof *p);
    name_device(p, ordinal);
    if (nvml_load() && (nvml.by_bus_id(p->bus_id, &p->device) == NVML_SUCCESS ||
                        nvml.by_index((unsigned)ordinal, &p->device) == NVML_SUCCESS)) {
        p->sample = sample_nvml;
        if (p->sample(p) > 0)
            return NULL;
    }
    p->sample = sample_program;
    return p->sample(p) > 0 ? NULL : "neither NVML nor nvidia-smi tells";
}

static void *sampling(void *argument)
{
    struct power *p = argument;
    do {
        double watts = p->sample(p);
        if (watts > 0) {
            p->least = p->samples == 0 || watts < p->least ? watts : p->least;
            p->most = watts > p->most ? watts : p->most;
            p->sum += watts;
            p->samples++;
        }
        usleep(20000);
    } while (!atomic_load(&p->stop));
    return NULL;
}

void power_begin(struct power *p)
{
    p->samples = 0;
    p->least = p->most = p->sum = 0;
    atomic_store(&p->stop, 0);
    card_check(pthread_create(&p->thread, NULL, sampling, p), "pthread_create");
}

const char *power_end(struct power *p)
{
    atomic_store(&p->stop, 1);
    (void)pthread_join(p->thread, NULL);
    return p->samples > 0 ? NULL : "there are no samples of it";
}
