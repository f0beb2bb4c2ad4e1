// SPDX-License-Identifier: Apache-2.0
// Whether a schedule of circuits in a file can be carried out and carries what it should: the
// checker of the room circuit over it, with a line for each breach.

#include "weft/format.h"
#include "weft/request/optics.h"

bool weft_request_circuit_check(struct weft_circuit_check_result *result, const char *path,
                                struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_circuit_file file;
    if (!weft_circuit_file_load(&file, path, base->arena, base->error)) {
        return false;
    }
    struct weft_circuit_check_result found = {
        .node_count = file.schedule.node_count,
        .plane_count = file.schedule.plane_count,
        .change_count = file.schedule.change_count,
        .burst_count = file.traffic.burst_count,
        .demand = file.traffic.demand_bytes != NULL,
        .losses = file.traffic.losses != NULL,
    };
    weft_circuit_list_breaches(&found.breaches, &file.schedule, &file.traffic, base->arena,
                               base->scratch);
    *result = found;
    return true;
}
