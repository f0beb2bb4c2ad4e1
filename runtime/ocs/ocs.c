// SPDX-License-Identifier: Apache-2.0
// What is the same for every optical circuit switch: matchings, what differs between two of them,
// and reading. change.c has changes.

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

struct weft_ocs_difference weft_ocs_plan(const uint32_t *now, const uint32_t *wanted,
                                         uint32_t port_count, struct weft_arena *arena)
{
    struct weft_ocs_circuit *removed = WEFT_NEW(arena, struct weft_ocs_circuit, port_count);
    struct weft_ocs_circuit *made = WEFT_NEW(arena, struct weft_ocs_circuit, port_count);
    struct weft_ocs_difference difference = {.removed = removed, .made = made};
    for (uint32_t i = 0; i < port_count; i++) {
        if (now[i] == wanted[i]) {
            difference.kept += now[i] != WEFT_NONE;
            continue;
        }
        difference.changed++;
        if (now[i] != WEFT_NONE) {
            removed[difference.removed_count++] = (struct weft_ocs_circuit){i, now[i]};
        }
        if (wanted[i] != WEFT_NONE) {
            made[difference.made_count++] = (struct weft_ocs_circuit){i, wanted[i]};
        }
    }
    return difference;
}

static void begin(const struct weft_ocs *ocs)
{
    if (ocs->driver->begin != NULL) {
        ocs->driver->begin(ocs->device);
    }
}

bool weft_ocs_read(uint32_t *outputs, struct weft_ocs *ocs, struct weft_error *error)
{
    begin(ocs);
    return ocs->driver->read(ocs->device, outputs, error);
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
