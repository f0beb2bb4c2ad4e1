// SPDX-License-Identifier: Apache-2.0
// What is the same for every optical circuit switch, and the twin in memory.

#include "ocs.h"

bool weft_ocs_check_matching(const uint32_t *outputs, uint32_t port_count,
                             struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *taken_by = WEFT_NEW(&scratch, uint32_t, port_count);
    for (uint32_t i = 0; i < port_count; i++) {
        uint32_t output = outputs[i];
        if (output == WEFT_NONE) {
            continue;
        }
        if (output >= port_count) {
            return weft_fail(error, WEFT_INFEASIBLE, "input %u: there is no port %u of %u", i,
                             output, port_count);
        }
        if (taken_by[output] != 0) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "inputs %u and %u both go to output %u; a circuit set is a matching",
                             taken_by[output] - 1, i, output);
        }
        taken_by[output] = i + 1;
    }
    return true;
}

bool weft_ocs_apply(struct weft_ocs_change *change, struct weft_ocs *ocs, const uint32_t *outputs,
                    struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = ocs->port_count;
    uint32_t *now = WEFT_NEW(&scratch, uint32_t, n);
    struct weft_ocs_circuit *batch = WEFT_NEW(&scratch, struct weft_ocs_circuit, n);
    struct weft_ocs_change made = {0};
    if (!weft_ocs_check_matching(outputs, n, scratch, error) || !weft_ocs_read(now, ocs, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (now[i] != outputs[i]) {
            batch[made.changed++] = (struct weft_ocs_circuit){i, outputs[i]};
        } else {
            made.untouched += now[i] != WEFT_NONE;
        }
    }
    if (made.changed > 0 && (!ocs->driver->change(ocs->device, batch, made.changed, error) ||
                             !weft_ocs_read(now, ocs, error))) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (now[i] != outputs[i]) {
            return weft_fail(
                error, WEFT_IO, "the %s switch did not do as told: input %u is %s; read its log",
                ocs->driver->name, i, now[i] == WEFT_NONE ? "dark" : "joined to another output");
        }
    }
    *change = made;
    return true;
}

bool weft_ocs_connect(struct weft_ocs_change *change, struct weft_ocs *ocs,
                      const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *outputs = WEFT_NEW(&scratch, uint32_t, ocs->port_count);
    if (!weft_ocs_read(outputs, ocs, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (circuits[i].input >= ocs->port_count) {
            return weft_fail(error, WEFT_INFEASIBLE, "there is no input %u; ports are 0 to %u",
                             circuits[i].input, ocs->port_count - 1);
        }
        outputs[circuits[i].input] = circuits[i].output;
    }
    return weft_ocs_apply(change, ocs, outputs, scratch, error);
}

bool weft_ocs_read(uint32_t *outputs, struct weft_ocs *ocs, struct weft_error *error)
{
    return ocs->driver->read(ocs->device, outputs, error);
}

bool weft_ocs_statistics(struct weft_ocs_port *ports, struct weft_ocs *ocs,
                         struct weft_error *error)
{
    return ocs->driver->statistics(ocs->device, ports, error);
}

void weft_ocs_close(struct weft_ocs *ocs)
{
    if (ocs->driver != NULL) {
        ocs->driver->close(ocs->device);
        ocs->driver = NULL;
    }
}

// ---- the twin ----

struct twin {
    uint32_t port_count;
    uint32_t *outputs;
};

static bool twin_change(void *device, const struct weft_ocs_circuit *changes, uint32_t count,
                        struct weft_error *error)
{
    (void)error;
    struct twin *twin = device;
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(changes[i].input < twin->port_count);
        twin->outputs[changes[i].input] = changes[i].output;
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
        "twin", twin_change, twin_read, twin_statistics, twin_close,
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
    *ocs = (struct weft_ocs){&driver, twin, port_count};
    return true;
}
