// SPDX-License-Identifier: Apache-2.0
// Where light from each port of a mesh comes out.

#include "weft/request/mesh.h"

// Loops: what is left of the waveguides once every port's light is followed. O(cells).
static uint32_t count_loops(const struct weft_mesh *mesh, const uint8_t *cells,
                            struct weft_arena scratch)
{
    bool *seen = WEFT_NEW(&scratch, bool, mesh->wire_count);
    uint32_t loops = 0;
    for (uint32_t start = 0; start < mesh->port_count + 4 * mesh->cell_count; start++) {
        bool is_port = start < mesh->port_count;
        uint32_t stub = is_port ? mesh->port_stubs[start] : start - mesh->port_count;
        bool is_new = is_port || !seen[mesh->stub_wires[stub]];
        loops += !is_port && is_new;
        for (bool go_on = is_new; go_on;) {
            seen[mesh->stub_wires[stub]] = true;
            uint32_t out = weft_mesh_through(stub, cells[stub / 4] != 0);
            stub = mesh->stub_mates[out];
            go_on = stub != WEFT_NONE && !seen[mesh->stub_wires[out]];
            seen[mesh->stub_wires[out]] = true;
        }
    }
    return loops;
}

bool weft_request_mesh_trace(struct weft_mesh_trace_result *result,
                             const struct weft_mesh_trace_request *request,
                             struct weft_request_environment *environment)
{
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    struct weft_mesh_trace_result made = {0};
    if (request->rows == 0 || request->columns == 0 || request->cells == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "which mesh, how set? give {rows}, {columns} and {cells}");
    }
    if (!weft_mesh_build(&made.mesh, request->rows, request->columns, arena, error)) {
        return false;
    }
    uint8_t *cells = WEFT_NEW(arena, uint8_t, made.mesh.cell_count);
    if (!weft_mesh_read(cells, &made.mesh, request->cells, error)) {
        return weft_wrap(error, "{cells}");
    }
    uint32_t *peers = WEFT_NEW(arena, uint32_t, made.mesh.port_count);
    uint32_t *lengths = WEFT_NEW(arena, uint32_t, made.mesh.port_count);
    weft_mesh_trace(peers, lengths, &made.mesh, cells);
    for (uint32_t e = 0; e < made.mesh.cell_count; e++) {
        made.cross_count += cells[e];
    }
    made.loop_count = count_loops(&made.mesh, cells, environment->base.scratch);
    made.peers = peers;
    made.lengths = lengths;
    *result = made;
    return true;
}
