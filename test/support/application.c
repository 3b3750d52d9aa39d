/*
 * CUDA as an application uses it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/application.h"

struct driver application;
void *application_library;
int application_is_emulated;
const char *const place_names[PLACES] = {"device", "managed", "pinned", "pageable"};

int application_emulated(void)
{
    char path[4096];
    const char *folder = getenv("OPENSSL_MODULES");
    (void)snprintf(path, sizeof path, "%s/gpuaes.so", folder != NULL ? folder : ".");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return 0;
    void *symbol = dlsym(module, "emulator_driver");
    if (symbol == NULL)
        return 0;
    const struct driver *(*table)(void);
    memcpy(&table, &symbol, sizeof table);
    if (table() != NULL)
        application = *table();
    application_library = module;
    application_is_emulated = table() != NULL;
    return application_is_emulated;
}

int application_real(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
    if (library == NULL)
        return 0;
#define APPLICATION_FIND(member, name, parameters)                                                 \
    if ((symbol = dlsym(library, #name)) == NULL)                                                  \
        return 0;                                                                                  \
    memcpy(&application.member, &symbol, sizeof symbol);
    DRIVER_FUNCTIONS(APPLICATION_FIND)
#undef APPLICATION_FIND
    application_library = library;
    return 1;
}

void *application_hook(const char *name)
{
    if (application_library == NULL && !application_emulated() && !application_real())
        return NULL;
    return dlsym(application_library, name);
}

void emulate(const char *options)
{
    void (*configure)(const char *);
    void *symbol = application_hook("emulator_configure");
    memcpy(&configure, &symbol, sizeof symbol);
    if (symbol == NULL && application_is_emulated)
        abort();
    if (symbol != NULL)
        configure(options);
}

size_t application_count(const char *hook)
{
    size_t (*count)(void);
    void *symbol = application_hook(hook);
    memcpy(&count, &symbol, sizeof symbol);
    if (symbol == NULL && application_is_emulated)
        abort();
    return symbol != NULL ? count() : 0;
}

unsigned application_count_of(const char *hook, const char *name)
{
    unsigned (*count)(const char *);
    void *symbol = application_hook(hook);
    memcpy(&count, &symbol, sizeof symbol);
    return count(name);
}

void application_environment(const char *settings)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", settings != NULL ? settings : "");
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        setenv(word, value, 1);
    }
}

void *library_function(const char *name)
{
    void *found = application_hook(name), *library;
    if (found == NULL && (library = dlopen("libgpuaes.so.1", RTLD_NOW | RTLD_NOLOAD)) != NULL)
        found = dlsym(library, name);
    return found;
}

int application_begin(int ordinal)
{
    drv_device device;
    drv_context context;
    return (application.init != NULL || application_emulated() || application_real()) &&
           application.init(0) == DRV_SUCCESS &&
           application.device_get(&device, ordinal) == DRV_SUCCESS &&
           application.primary_ctx_retain(&context, device) == DRV_SUCCESS &&
           application.ctx_push_current(context) == DRV_SUCCESS;
}

/* ---- What the table does not have ------------------------------------------- */

static void *find_symbol(const char *name)
{
    void *symbol = dlsym(application_library, name);
    if (symbol == NULL) {
        (void)fprintf(stderr, "the driver has no %s\n", name);
        abort();
    }
    return symbol;
}

static void *application_symbol(const char *emulated, const char *real)
{
    return find_symbol(application_is_emulated ? emulated : real);
}

static void wait_for_release(void *argument)
{
    struct application_hold *hold = argument;
    while (!atomic_load(&hold->is_released))
        usleep(1000);
}

int application_hold(drv_stream stream, struct application_hold *hold)
{
    void *symbol = application_symbol("emulator_launch_host", "cuLaunchHostFunc");
    drv_result (*launch)(drv_stream, void (*)(void *), void *);
    memcpy(&launch, &symbol, sizeof symbol);
    atomic_init(&hold->is_released, 0);
    return launch(stream, wait_for_release, hold) == DRV_SUCCESS;
}

void application_release(struct application_hold *hold)
{
    atomic_store(&hold->is_released, 1);
}

int application_begin_capture(drv_stream stream)
{
    void *symbol = application_symbol("emulator_begin_capture", "cuStreamBeginCapture_v2");
    int (*emulated)(drv_stream);
    drv_result (*real)(drv_stream, int);
    memcpy(&emulated, &symbol, sizeof symbol);
    memcpy(&real, &symbol, sizeof symbol);
    return (application_is_emulated ? emulated(stream) : real(stream, 0)) == DRV_SUCCESS;
}

int application_end_capture(drv_stream stream)
{
    void *symbol = application_symbol("emulator_end_capture", "cuStreamEndCapture"), *graph = NULL;
    int (*emulated)(drv_stream);
    drv_result (*end)(drv_stream, void **), (*nodes)(void *, void *, size_t *), (*destroy)(void *);
    size_t count = 0;
    memcpy(&emulated, &symbol, sizeof symbol);
    if (application_is_emulated)
        return emulated(stream);
    memcpy(&end, &symbol, sizeof symbol);
    symbol = find_symbol("cuGraphGetNodes");
    memcpy(&nodes, &symbol, sizeof symbol);
    symbol = find_symbol("cuGraphDestroy");
    memcpy(&destroy, &symbol, sizeof symbol);
    if (end(stream, &graph) != DRV_SUCCESS || graph == NULL)
        return -1;
    int known = nodes(graph, NULL, &count) == DRV_SUCCESS;
    (void)destroy(graph);
    return known ? (int)count : -1;
}

int application_make_graph(drv_stream stream, struct application_graph *graph)
{
    void *symbol = application_symbol("emulator_make_graph", "cuStreamEndCapture");
    void *(*emulated)(drv_stream);
    drv_result (*end)(drv_stream, void **), (*make)(void **, void *, unsigned long long);
    graph->graph = graph->executable = NULL;
    memcpy(&emulated, &symbol, sizeof symbol);
    memcpy(&end, &symbol, sizeof symbol);
    if (application_is_emulated) {
        graph->graph = emulated(stream);
        return graph->graph != NULL;
    }
    symbol = find_symbol("cuGraphInstantiateWithFlags");
    memcpy(&make, &symbol, sizeof symbol);
    return end(stream, &graph->graph) == DRV_SUCCESS && graph->graph != NULL &&
           make(&graph->executable, graph->graph, 0) == DRV_SUCCESS;
}

int application_run_graph(const struct application_graph *graph, drv_stream stream)
{
    void *symbol = application_symbol("emulator_run_graph", "cuGraphLaunch");
    drv_result (*run)(void *, drv_stream);
    memcpy(&run, &symbol, sizeof symbol);
    return run(application_is_emulated ? graph->graph : graph->executable, stream) == DRV_SUCCESS;
}

void application_free_graph(struct application_graph *graph)
{
    void *symbol = application_symbol("emulator_free_graph", "cuGraphExecDestroy");
    drv_result (*destroy)(void *);
    void (*emulated)(void *);
    memcpy(&emulated, &symbol, sizeof symbol);
    memcpy(&destroy, &symbol, sizeof symbol);
    if (application_is_emulated) {
        emulated(graph->graph);
        return;
    }
    if (graph->executable != NULL)
        (void)destroy(graph->executable);
    symbol = find_symbol("cuGraphDestroy");
    memcpy(&destroy, &symbol, sizeof symbol);
    if (graph->graph != NULL)
        (void)destroy(graph->graph);
}

/* ---- Memory of any kind -------------------------------------------------- */

/* Managed memory is not in the table: only tests have it. */
static void *application_managed(size_t bytes)
{
    drv_ptr p = 0;
    void *symbol = dlsym(application_library,
                         application_is_emulated ? "emulator_managed_alloc" : "cuMemAllocManaged");
    void *(*emulated)(size_t);
    drv_result (*real)(drv_ptr *, size_t, unsigned);
    if (symbol == NULL)
        return NULL;
    if (application_is_emulated) {
        memcpy(&emulated, &symbol, sizeof symbol);
        return emulated(bytes);
    }
    memcpy(&real, &symbol, sizeof symbol);
    return real(&p, bytes, 1) == DRV_SUCCESS ? (void *)(uintptr_t)p : NULL;
}

unsigned char *application_alloc(enum place place, size_t bytes)
{
    drv_ptr device = 0;
    void *host = NULL;
    if (place == PAGEABLE)
        return malloc(bytes);
    if (place == MANAGED)
        return application_managed(bytes);
    if (place == PINNED)
        return application.mem_host_alloc(&host, bytes, DRV_HOST_ALLOC_PORTABLE) == DRV_SUCCESS
                   ? host
                   : NULL;
    return application.mem_alloc(&device, bytes) == DRV_SUCCESS ? (unsigned char *)(uintptr_t)device
                                                                : NULL;
}

void application_free(enum place place, void *p)
{
    if (place == PAGEABLE)
        free(p);
    else if (place == PINNED)
        (void)application.mem_free_host(p);
    else
        (void)application.mem_free((drv_ptr)(uintptr_t)p);
}

int application_wait(drv_stream stream)
{
    drv_result r;
    while ((r = application.stream_query(stream)) == DRV_NOT_READY)
        usleep(20); /* the emulator needs the core */
    return r == DRV_SUCCESS;
}

int application_write(enum place to_place, void *to, const void *from, size_t bytes)
{
    if (to_place == DEVICE)
        return application.memcpy_htod_async((drv_ptr)(uintptr_t)to, from, bytes,
                                             DRV_STREAM_LEGACY) == DRV_SUCCESS &&
               application_wait(DRV_STREAM_LEGACY);
    memcpy(to, from, bytes);
    return 1;
}

int application_read(void *to, enum place from_place, const void *from, size_t bytes)
{
    if (from_place == DEVICE)
        return application.memcpy_dtoh_async(to, (drv_ptr)(uintptr_t)from, bytes,
                                             DRV_STREAM_LEGACY) == DRV_SUCCESS &&
               application_wait(DRV_STREAM_LEGACY);
    memcpy(to, from, bytes);
    return 1;
}
