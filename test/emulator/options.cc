/*
 * GPUAES_EMULATOR and emulator_configure(): see hooks.h for the keys.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulator
{

static const struct {
    const char *symbol, *member;
} function_names[] = {
#define FUNCTION_NAMES(member, symbol, parameters) {#symbol, #member},
    DRIVER_FUNCTIONS(FUNCTION_NAMES)
#undef FUNCTION_NAMES
};

unsigned find_function(const char *name)
{
    for (unsigned i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(name, function_names[i].symbol) == 0 ||
            strcmp(name, function_names[i].member) == 0)
            return i;
    return FUNCTION_COUNT;
}

[[noreturn]] static void reject(const std::string &item, const char *expected)
{
    fprintf(stderr, "emulator: option \"%s\": expected %s\n", item.c_str(), expected);
    abort();
}

static unsigned parse_number(const std::string &text, const std::string &item)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text.c_str(), &end, 10);
    if (text.empty() || text[0] < '0' || text[0] > '9' || *end || errno || number > 0xffffffff)
        reject(item, "a decimal number");
    return static_cast<unsigned>(number);
}

/* FUNCTION:N, and with `default_code` also FUNCTION:N:CODE. */
static fault parse_fault(const std::string &value, const std::string &item, bool with_code)
{
    size_t first = value.find(':');
    if (first == std::string::npos)
        reject(item, "FUNCTION:N");
    fault parsed{find_function(value.substr(0, first).c_str()), 0, DRV_UNKNOWN};
    if (parsed.function == FUNCTION_COUNT)
        reject(item, "the name of a function of the driver");
    std::string rest = value.substr(first + 1);
    size_t second = rest.find(':');
    if (second != std::string::npos) {
        if (!with_code)
            reject(item, "FUNCTION:N");
        parsed.code = static_cast<drv_result>(parse_number(rest.substr(second + 1), item));
        rest.resize(second);
    }
    parsed.call = parse_number(rest, item);
    return parsed;
}

/* The last number is for all devices that have none. */
static void parse_memory(options &parsed, const std::string &value, const std::string &item)
{
    size_t at = 0;
    for (unsigned &each : parsed.memory_mib) {
        const size_t colon = value.find(':', at);
        each = parse_number(value.substr(at, colon - at), item);
        if (colon != std::string::npos)
            at = colon + 1;
    }
}

static void check_limits(const options &parsed, const char *text)
{
    if (parsed.devices > MAX_DEVICES)
        reject(text, "at most 16 devices");
    if (parsed.fault_device > MAX_DEVICES)
        reject(text, "a device below 16");
    if (parsed.threads == 0 || parsed.threads > 1024)
        reject(text, "1 to 1024 threads");
    if (parsed.shared > SHARED_LIMIT)
        reject(text, "at most 232448 bytes of shared memory");
}

static void parse_item(options &parsed, const std::string &item)
{
    static const struct {
        const char *key;
        unsigned options::*number;
    } numbers[] = {{"devices", &options::devices},
                   {"threads", &options::threads},
                   {"multiprocessors", &options::multiprocessors},
                   {"shared", &options::shared},
                   {"capability", &options::capability},
                   {"driver", &options::driver},
                   {"compute-mode", &options::compute_mode},
                   {"pools", &options::pools},
                   {"pinned", &options::pinned_mib},
                   {"nodriver", &options::nodriver},
                   {"in-use", &options::in_use},
                   {"init-ms", &options::init_ms},
                   {"load-ms", &options::load_ms},
                   {"kernel-us", &options::kernel_us},
                   {"copy-mbps", &options::copy_mbps},
                   {"idle-kernels", &options::idle_kernels},
                   {"frees-wait", &options::frees_wait},
                   {"stay-lost", &options::stay_lost},
                   {"ends-at-exit", &options::ends_at_exit},
                   {"hang", &options::hang},
                   {"fault-device", &options::fault_device}};
    size_t equals = item.find('=');
    if (equals == std::string::npos)
        reject(item, "key=value");
    const std::string key = item.substr(0, equals), value = item.substr(equals + 1);
    for (const auto &each : numbers)
        if (key == each.key) {
            parsed.*each.number = parse_number(value, item);
            return;
        }
    if (key == "fault")
        parsed.faults.push_back(parse_fault(value, item, true));
    else if (key == "lost")
        parsed.losses.push_back(parse_fault(value, item, false));
    else if (key == "memory")
        parse_memory(parsed, value, item);
    else if (key == "register" && (value == "all" || value == "anonymous" || value == "none")) {
        parsed.register_files = value == "all";
        parsed.register_any = value != "none";
    } else if (key == "fork" && (value == "shared" || value == "absent"))
        parsed.absent_after_fork = value == "absent";
    else
        reject(item, "a key and value of test/emulator/hooks.h");
}

options parse_options(const char *text)
{
    options parsed;
    parse_memory(parsed, "1024", "");
    std::string rest = text ? text : "";
    while (!rest.empty()) {
        size_t comma = rest.find(',');
        std::string item = rest.substr(0, comma);
        rest.erase(0, comma == std::string::npos ? comma : comma + 1);
        if (!item.empty())
            parse_item(parsed, item);
    }
    check_limits(parsed, text ? text : "");
    return parsed;
}

} // namespace emulator
