/*
 * Where the settings of a library context come from: the provider's section of openssl.cnf,
 * overridden by GPUAES_* in the environment.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_CONFIG_H
#define GPUAES_PROVIDER_COMMON_CONFIG_H

#include "provider/common/settings.h"

struct provider;

/*
 * Reads every setting into provider->settings, and puts those of the process into force.
 * Returns 0 if a value is wrong, a line of the section is unknown, or its devices are not those
 * of the process: the reason stands in the error queue and on stderr, since OpenSSL is silent
 * about a provider that refuses to load from openssl.cnf. Unknown variables of the environment
 * are reported on stderr.
 */
int config_read(struct provider *provider);

#endif
