// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_LAB_OCS_DEVICE_H
#define WEFT_TESTS_LAB_OCS_DEVICE_H

// An emulated switch in a thread, whose core the test may look at between operations: what it
// reports, where its mirrors point, how often each circuit moved.

#include "lab_test.h"

#include "runtime/ocs/emulator/emulator.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

struct device {
    struct weft_ocs_emulator options;
    struct weft_ocs_emulation emulation;
    pthread_t thread;
    atomic_bool stop;
    char address[64];
};

static void *device_serve(void *context)
{
    struct device *device = context;
    struct weft_error error;
    bool http = device->emulation.server != NULL;
    bool fine = true;
    while (fine && !atomic_load(&device->stop)) {
        fine = http ? weft_http_server_turn(device->emulation.server, 20, &error)
                    : weft_line_server_turn(device->emulation.line_server, 20, &error);
    }
    return NULL;
}

// A switch that has these circuits (NULL: none) and gets its fault afterwards. It serves nobody
// yet.
static void device_open(struct device *device, enum weft_ocs_protocol protocol, uint32_t ports,
                        const uint32_t *outputs, struct weft_ocs_fault fault)
{
    static struct weft_arena scratch;
    struct weft_error error;
    struct weft_ocs_core_answer answer;
    *device = (struct device){.options = {.protocol = protocol,
                                          .port_count = ports,
                                          .fault = {.port = WEFT_NONE},
                                          .user = "admin",
                                          .password = "it's \"all\"; mine:\\"}};
    must(weft_ocs_emulation_open(&device->emulation, &device->options, &error), &error);
    struct weft_ocs_core *core = &device->emulation.core;
    if (scratch.end == NULL) {
        must(weft_arena_init(&scratch, 1u << 20, &error), &error);
    }
    if (outputs != NULL) {
        must(weft_ocs_core_change(core, &answer, outputs, scratch, &error), &error);
        memcpy(device->emulation.provisioned, outputs, ports * sizeof *outputs);
        memset(core->moves, 0, ports * sizeof *core->moves);
        core->change_count = 0;
    }
    core->fault = fault;
    uint16_t port = device->emulation.server != NULL
                        ? weft_http_server_listen(device->emulation.server, 0, &error)
                        : weft_line_server_listen(device->emulation.line_server, 0, &error);
    assert_int_not_equal(port, 0);
    snprintf(device->address, sizeof device->address, "%s://127.0.0.1:%u",
             weft_ocs_protocol_schemes[protocol], port);
}

static void device_start(struct device *device)
{
    assert_int_equal(pthread_create(&device->thread, NULL, device_serve, device), 0);
}

// The switch answers nobody from now on, and can be looked at.
static void device_stop(struct device *device)
{
    atomic_store(&device->stop, true);
    pthread_join(device->thread, NULL);
}

static void device_release(struct device *device)
{
    weft_ocs_emulation_close(&device->emulation);
}

static struct weft_ocs_access device_access(const struct device *device, uint32_t timeout_ms)
{
    return (struct weft_ocs_access){.address = device->address,
                                    .user = device->options.user,
                                    .password = device->options.password,
                                    .timeout_ms = timeout_ms};
}

#endif
