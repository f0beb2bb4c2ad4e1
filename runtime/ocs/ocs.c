// SPDX-License-Identifier: Apache-2.0
// What is the same for every optical circuit switch: matchings, and changes by what differs.
//
// A change reads what the device has, hands it the circuits that differ as one batch, and reads
// again: a device that did not do as told is found out at once. O(ports), two reads and what the
// driver's change takes.

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

static void begin(const struct weft_ocs *ocs)
{
    if (ocs->driver->begin != NULL) {
        ocs->driver->begin(ocs->device);
    }
}

static bool read_outputs(uint32_t *outputs, const struct weft_ocs *ocs, struct weft_error *error)
{
    return ocs->driver->read(ocs->device, outputs, error);
}

static bool apply(struct weft_ocs_change *change, struct weft_ocs *ocs, const uint32_t *outputs,
                  struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = ocs->port_count;
    uint32_t *now = WEFT_NEW(&scratch, uint32_t, n);
    struct weft_ocs_circuit *batch = WEFT_NEW(&scratch, struct weft_ocs_circuit, n);
    struct weft_ocs_change made = {0};
    if (!weft_ocs_check_matching(outputs, n, scratch, error) || !read_outputs(now, ocs, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (now[i] != outputs[i]) {
            batch[made.changed++] = (struct weft_ocs_circuit){i, outputs[i]};
        } else {
            made.untouched += now[i] != WEFT_NONE;
        }
    }
    if (made.changed > 0 && !ocs->driver->change(ocs->device, batch, made.changed, error)) {
        return false;
    }
    if (made.changed > 0 && !read_outputs(now, ocs, error)) {
        return weft_wrap(error, "circuits have moved and were not read back");
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

bool weft_ocs_apply(struct weft_ocs_change *change, struct weft_ocs *ocs, const uint32_t *outputs,
                    struct weft_arena scratch, struct weft_error *error)
{
    begin(ocs);
    return apply(change, ocs, outputs, scratch, error);
}

bool weft_ocs_connect(struct weft_ocs_change *change, struct weft_ocs *ocs,
                      const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *outputs = WEFT_NEW(&scratch, uint32_t, ocs->port_count);
    begin(ocs);
    if (!read_outputs(outputs, ocs, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (circuits[i].input >= ocs->port_count) {
            return weft_fail(error, WEFT_INFEASIBLE, "there is no input %u; ports are 0 to %u",
                             circuits[i].input, ocs->port_count - 1);
        }
        outputs[circuits[i].input] = circuits[i].output;
    }
    return apply(change, ocs, outputs, scratch, error);
}

bool weft_ocs_read(uint32_t *outputs, struct weft_ocs *ocs, struct weft_error *error)
{
    begin(ocs);
    return read_outputs(outputs, ocs, error);
}

bool weft_ocs_statistics(struct weft_ocs_port *ports, struct weft_ocs *ocs,
                         struct weft_error *error)
{
    begin(ocs);
    return ocs->driver->statistics(ocs->device, ports, error);
}

void weft_ocs_close(struct weft_ocs *ocs)
{
    if (ocs->driver != NULL) {
        ocs->driver->close(ocs->device);
        ocs->driver = NULL;
    }
}
