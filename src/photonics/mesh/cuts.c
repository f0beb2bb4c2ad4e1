// SPDX-License-Identifier: Apache-2.0
// Runs of ports that have too few wires to the rest of the mesh.
//
// Wires between a run of ports and the others: a max-flow of one unit a wire, both ways, over cells
// as vertices (Ford and Fulkerson, 1956). From one run to the next, longer by a port, the flow that
// ended at this port is taken back and what can be is added, so that each run takes few searches.
//
// Where three vertices of degree two follow each other, their two inner cells hold four ports and
// have two wires to the rest: they always join two of the four. Those that are used, where no pair
// is among them, are at most one, or two neighbours (docs/photonic-mesh.md, "Corners").

#include "weft/photonics/mesh.h"

#include <string.h>

struct flow {
    const struct weft_mesh *mesh;
    int8_t *wires;     // +1: from the lower of its two stubs to the higher
    bool *source;      // per port: it is of the run
    bool *used;        // per port: a unit starts or ends here
    uint32_t *parents; // per cell: the stub by which the search came in; WEFT_NONE: at a port
    uint32_t *seen;
    uint32_t search;
    uint32_t *queue;
};

// The flow that goes out of a cell by a stub.
static int outflow(const struct flow *flow, uint32_t stub)
{
    int sign = stub < flow->mesh->stub_mates[stub] ? 1 : -1;
    return sign * flow->wires[flow->mesh->stub_wires[stub]];
}

static void add_outflow(struct flow *flow, uint32_t stub, int units)
{
    int sign = stub < flow->mesh->stub_mates[stub] ? 1 : -1;
    int8_t *wire = &flow->wires[flow->mesh->stub_wires[stub]];
    *wire = (int8_t)(*wire + sign * units);
}

// A port of a cell that is (not) of the run and (not) used; WEFT_NONE.
static uint32_t port_of(const struct flow *flow, uint32_t cell, bool source, bool used)
{
    for (uint32_t stub = 4 * cell; stub < 4 * cell + 4; stub++) {
        uint32_t wire = flow->mesh->stub_wires[stub];
        if (wire < flow->mesh->port_count && flow->source[wire] == source &&
            flow->used[wire] == used) {
            return wire;
        }
    }
    return WEFT_NONE;
}

static void visit(struct flow *flow, uint32_t cell, uint32_t parent, uint32_t *count)
{
    if (flow->seen[cell] != flow->search) {
        flow->seen[cell] = flow->search;
        flow->parents[cell] = parent;
        flow->queue[(*count)++] = cell;
    }
}

// One unit more from a port of the run to another; false where there is none.
static bool augment(struct flow *flow)
{
    const struct weft_mesh *mesh = flow->mesh;
    uint32_t count = 0;
    flow->search++;
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        if (flow->source[p] && !flow->used[p]) {
            visit(flow, mesh->port_stubs[p] / 4, WEFT_NONE, &count);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t cell = flow->queue[i];
        uint32_t sink = port_of(flow, cell, false, false);
        if (sink != WEFT_NONE) {
            flow->used[sink] = true;
            uint32_t stub;
            while ((stub = flow->parents[cell]) != WEFT_NONE) {
                add_outflow(flow, mesh->stub_mates[stub], 1);
                cell = mesh->stub_mates[stub] / 4;
            }
            uint32_t start = port_of(flow, cell, true, false);
            WEFT_ASSERT(start != WEFT_NONE);
            flow->used[start] = true;
            return true;
        }
        for (uint32_t stub = 4 * cell; stub < 4 * cell + 4; stub++) {
            uint32_t mate = mesh->stub_mates[stub];
            if (mate != WEFT_NONE && outflow(flow, stub) < 1) {
                visit(flow, mate / 4, mate, &count);
            }
        }
    }
    return false;
}

// Takes back a unit that ends at a port which is no longer a sink.
static void take_back(struct flow *flow, uint32_t port)
{
    uint32_t cell = flow->mesh->port_stubs[port] / 4;
    flow->used[port] = false;
    uint32_t start;
    while ((start = port_of(flow, cell, true, true)) == WEFT_NONE) {
        uint32_t stub = 4 * cell;
        while (flow->mesh->stub_mates[stub] == WEFT_NONE || outflow(flow, stub) >= 0) {
            stub++;
            WEFT_ASSERT(stub < 4 * cell + 4);
        }
        add_outflow(flow, stub, 1);
        cell = flow->mesh->stub_mates[stub] / 4;
    }
    flow->used[start] = false;
}

void weft_mesh_capacities(uint16_t *capacity, const struct weft_mesh *mesh,
                          struct weft_arena scratch)
{
    uint32_t ports = mesh->port_count;
    struct flow flow = {
        .mesh = mesh,
        .wires = WEFT_NEW(&scratch, int8_t, mesh->wire_count),
        .source = WEFT_NEW(&scratch, bool, ports),
        .used = WEFT_NEW(&scratch, bool, ports),
        .parents = WEFT_NEW(&scratch, uint32_t, mesh->cell_count),
        .seen = WEFT_NEW(&scratch, uint32_t, mesh->cell_count),
        .queue = WEFT_NEW(&scratch, uint32_t, mesh->cell_count),
    };
    for (uint32_t first = 0; first < ports; first++) {
        memset(flow.wires, 0, mesh->wire_count);
        memset(flow.source, 0, ports);
        memset(flow.used, 0, ports);
        uint32_t value = 0;
        for (uint32_t count = 1; count <= ports / 2; count++) {
            uint32_t port = (first + count - 1) % ports;
            uint32_t most = value + 1; // a port more carries a unit more at the most
            if (flow.used[port]) {
                take_back(&flow, port);
                value--;
            }
            flow.source[port] = true;
            while (value < most && augment(&flow)) {
                value++;
            }
            capacity[(size_t)first * ports + count - 1] = (uint16_t)value;
            // The others are a run as well, and have the same wires.
            capacity[(size_t)((first + count) % ports) * ports + ports - count - 1] =
                (uint16_t)value;
        }
        capacity[(size_t)first * ports + ports - 1] = 0;
    }
}

// ---- what a matching needs ----

// The four ports around the k-th vertex of degree two, where its neighbours have degree two as
// well.
static bool find_corner(uint32_t corner[4], const struct weft_mesh *mesh, uint32_t k)
{
    uint32_t ports = mesh->port_count;
    for (uint32_t i = 0; i < 4; i++) {
        corner[i] = (2 * k + ports - 1 + i) % ports;
    }
    return mesh->port_stubs[corner[0]] / 4 == mesh->port_stubs[corner[1]] / 4 &&
           mesh->port_stubs[corner[2]] / 4 == mesh->port_stubs[corner[3]] / 4;
}

bool weft_mesh_corner_holds(const struct weft_mesh *mesh, uint32_t k, const uint32_t *peers,
                            uint32_t corner[4])
{
    if (!find_corner(corner, mesh, k)) {
        return true;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            if (peers[corner[i]] == corner[j]) {
                return true;
            }
        }
        used |= peers[corner[i]] == WEFT_NONE ? 0 : 1u << i;
    }
    return (used & (used - 1)) == 0 || used == 3 || used == 6 || used == 12;
}

bool weft_mesh_find_cut(struct weft_mesh_cut *cut, const struct weft_mesh *mesh,
                        const uint16_t *capacity, const struct weft_mesh_pair *pairs,
                        uint32_t pair_count, struct weft_arena scratch)
{
    uint32_t ports = mesh->port_count;
    uint32_t *peers = WEFT_NEW_RAW(&scratch, uint32_t, ports);
    memset(peers, 0xff, ports * sizeof *peers); // WEFT_NONE
    for (uint32_t i = 0; i < pair_count; i++) {
        peers[pairs[i].from] = pairs[i].to;
        peers[pairs[i].to] = pairs[i].from;
    }
    for (uint32_t k = 0; k < ports / 2; k++) {
        uint32_t corner[4];
        if (!weft_mesh_corner_holds(mesh, k, peers, corner)) {
            uint32_t used = 0;
            for (uint32_t i = 0; i < 4; i++) {
                used += peers[corner[i]] != WEFT_NONE;
            }
            *cut = (struct weft_mesh_cut){corner[0], corner[3], 2, used, true};
            return true;
        }
    }
    uint32_t most = 0;
    for (uint32_t first = 0; first < ports; first++) {
        uint32_t crossing = 0;
        for (uint32_t count = 1; count <= ports / 2; count++) {
            uint32_t last = (first + count - 1) % ports;
            uint32_t peer = peers[last];
            if (peer != WEFT_NONE) {
                bool inside = (peer + ports - first) % ports < count;
                crossing = inside ? crossing - 1 : crossing + 1;
            }
            uint32_t wires = capacity[(size_t)first * ports + count - 1];
            if (crossing > wires && crossing - wires > most) {
                most = crossing - wires;
                *cut = (struct weft_mesh_cut){first, last, wires, crossing, false};
            }
        }
    }
    return most > 0;
}
