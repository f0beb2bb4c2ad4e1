// SPDX-License-Identifier: Apache-2.0
// The twin: an optical circuit switch in memory, which does as told at once.
//
// Tests hold other drivers against it, and the switch emulator serves one.

#include "ocs.h"

struct twin {
    uint32_t port_count;
    uint32_t *outputs;
};

static bool twin_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                        struct weft_error *error)
{
    (void)error;
    struct twin *twin = device;
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(twin->outputs[circuits[i].input] == circuits[i].output);
        twin->outputs[circuits[i].input] = WEFT_NONE;
    }
    return true;
}

static bool twin_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_error *error)
{
    (void)error;
    struct twin *twin = device;
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(twin->outputs[circuits[i].input] == WEFT_NONE);
        twin->outputs[circuits[i].input] = circuits[i].output;
    }
    return true;
}

static bool twin_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    (void)error;
    const struct twin *twin = device;
    for (uint32_t i = 0; i < twin->port_count; i++) {
        outputs[i] = twin->outputs[i];
    }
    return true;
}

static bool twin_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    (void)error;
    const struct twin *twin = device;
    for (uint32_t i = 0; i < twin->port_count; i++) {
        ports[i] = (struct weft_ocs_port){0};
    }
    return true;
}

static void twin_close(void *device)
{
    (void)device;
}

bool weft_ocs_open_twin(struct weft_ocs *ocs, uint32_t port_count, struct weft_arena *arena,
                        struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        .name = "twin",
        .remove = twin_remove,
        .make = twin_make,
        .read = twin_read,
        .statistics = twin_statistics,
        .close = twin_close,
    };
    if (port_count == 0 || port_count > WEFT_OCS_PORTS_MAX) {
        return weft_fail(error, WEFT_INPUT, "a switch of %u ports; 1 to %u are possible",
                         port_count, WEFT_OCS_PORTS_MAX);
    }
    struct twin *twin = WEFT_NEW(arena, struct twin, 1);
    *twin = (struct twin){port_count, WEFT_NEW(arena, uint32_t, port_count)};
    for (uint32_t i = 0; i < port_count; i++) {
        twin->outputs[i] = WEFT_NONE;
    }
    *ocs = (struct weft_ocs){.driver = &driver, .device = twin, .port_count = port_count};
    return true;
}
