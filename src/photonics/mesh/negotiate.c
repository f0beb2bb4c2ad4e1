// SPDX-License-Identifier: Apache-2.0
// Routes by negotiated congestion (McMurchie and Ebeling, "PathFinder", FPGA 1995), in the form in
// which no wire ever has two owners: a net takes its cheapest way, where a wire that another net
// has costs more, and that net is ejected and queued. A wire that changes hands is dearer from then
// on, so that nets which have another way learn to take it.
//
// A search is A* over stubs: light that enters a cell leaves it by one of two stubs, so that every
// stub has two successors, and the cells to the end with the mesh to itself are a lower bound. A
// way may use a wire once only. One search is O(cells log cells).

#include "negotiate.h"
#include "weft/base/heap.h"

#include <string.h>

struct mesh_entry {
    uint32_t bound; // cost so far and what is left at the least
    uint32_t stub;
};
struct mesh_heap {
    struct mesh_entry *entries;
    uint32_t count;
};
static inline bool entry_before(const struct mesh_entry *a, const struct mesh_entry *b)
{
    return a->bound != b->bound ? a->bound < b->bound : a->stub < b->stub;
}
WEFT_HEAP(mesh_heap, struct mesh_heap, struct mesh_entry, 4, entry_before, weft_heap_no_places)

#define UNREACHED UINT16_MAX

static bool allowed(const struct weft_mesh_options *options, uint32_t stub, uint32_t cross)
{
    uint8_t stuck = options->stuck == NULL ? WEFT_MESH_FREE : options->stuck[stub / 4];
    return stuck == WEFT_MESH_FREE || (stuck == WEFT_MESH_CROSS) == (cross != 0);
}

// Light goes back the way it came: cells from `stub` to the port are those that light from the port
// has passed when it leaves by `stub`. Breadth first. O(cells).
static void find_reach(uint16_t *reach, const struct mesh_table *table, uint32_t port,
                       uint32_t *queue)
{
    const struct weft_mesh *mesh = table->mesh;
    for (uint32_t s = 0; s < 4 * mesh->cell_count; s++) {
        reach[s] = UNREACHED;
    }
    // `queue` has the stubs by which light leaves cells.
    uint32_t count = 0;
    uint32_t entered = mesh->port_stubs[port];
    for (uint32_t next = 0;; next++) {
        uint16_t passed = next == 0 ? 0 : reach[queue[next - 1]];
        for (uint32_t cross = 0; cross < 2 && entered != WEFT_NONE; cross++) {
            uint32_t out = weft_mesh_through(entered, cross != 0);
            if (allowed(table->options, entered, cross) && reach[out] == UNREACHED) {
                reach[out] = (uint16_t)(passed + 1);
                queue[count++] = out;
            }
        }
        if (next == count) {
            return;
        }
        entered = mesh->stub_mates[queue[next]];
    }
}

uint32_t mesh_table_open(struct mesh_table *table, const struct weft_mesh *mesh,
                         const struct weft_mesh_pair *pairs, uint32_t pair_count,
                         const struct weft_mesh_options *options, struct weft_arena *arena)
{
    uint32_t stubs = 4 * mesh->cell_count;
    uint32_t wires = mesh->wire_count;
    struct mesh_table made = {
        .mesh = mesh,
        .options = options,
        .net_count = pair_count,
        .nets = WEFT_NEW(arena, struct mesh_net, pair_count),
        .owners = WEFT_NEW_RAW(arena, uint32_t, wires),
        .history = WEFT_NEW(arena, uint32_t, wires),
        .reach = WEFT_NEW_RAW(arena, uint16_t, (size_t)pair_count * stubs),
        .toggle = (uint32_t)(options->toggle_cells * MESH_UNIT),
        .queue = WEFT_NEW(arena, uint32_t, pair_count + 1),
        .touched = WEFT_NEW(arena, uint32_t, pair_count),
        .is_touched = WEFT_NEW(arena, bool, pair_count),
        .saved = WEFT_NEW(arena, struct mesh_net, pair_count),
        .costs = WEFT_NEW(arena, uint32_t, stubs),
        .parents = WEFT_NEW(arena, uint32_t, stubs),
        .seen = WEFT_NEW(arena, uint32_t, stubs),
        .way = WEFT_NEW(arena, uint32_t, stubs),
        .marks = WEFT_NEW(arena, uint32_t, wires),
        .heap = WEFT_NEW(arena, struct mesh_heap, 1),
    };
    // A stub enters the heap once for each time that its cost falls, which its two predecessors and
    // the start can bring about.
    made.heap->entries = WEFT_NEW_RAW(arena, struct mesh_entry, 2 * stubs + 2);
    for (uint32_t n = 0; n < pair_count; n++) {
        struct mesh_net *net = &made.nets[n];
        *net = (struct mesh_net){.from = pairs[n].from, .to = pairs[n].to};
        net->stubs = WEFT_NEW_RAW(arena, uint32_t, wires);
        made.saved[n].stubs = WEFT_NEW_RAW(arena, uint32_t, wires);
        uint16_t *reach = &made.reach[(size_t)n * stubs];
        find_reach(reach, &made, net->to, made.way);
        net->shortest = reach[mesh->port_stubs[net->from]];
    }
    *table = made;
    mesh_table_clear(table);
    for (uint32_t n = 0; n < pair_count; n++) {
        if (table->nets[n].shortest == UNREACHED) {
            return n;
        }
    }
    return WEFT_NONE;
}

void mesh_table_clear(struct mesh_table *table)
{
    for (uint32_t w = 0; w < table->mesh->wire_count; w++) {
        table->owners[w] = WEFT_NONE;
        table->history[w] = 0;
    }
    for (uint32_t n = 0; n < table->net_count; n++) {
        table->nets[n].length = 0;
    }
    table->queue_count = 0;
}

void mesh_table_queue(struct mesh_table *table, uint32_t net)
{
    WEFT_ASSERT(table->queue_count < table->net_count && table->nets[net].length == 0);
    table->queue[(table->queue_first + table->queue_count++) % table->net_count] = net;
}

// ---- routes laid and lifted ----

static void record(struct mesh_table *table, uint32_t net)
{
    if (!table->recording || table->is_touched[net]) {
        return;
    }
    const struct mesh_net *now = &table->nets[net];
    table->is_touched[net] = true;
    table->touched[table->touched_count++] = net;
    table->saved[net].length = now->length;
    memcpy(table->saved[net].stubs, now->stubs, now->length * sizeof *now->stubs);
}

static void set_owner(struct mesh_table *table, const struct mesh_net *net, uint32_t owner)
{
    for (uint32_t i = 1; i < net->length; i++) {
        table->owners[table->mesh->stub_wires[net->stubs[i]]] = owner;
    }
}

void mesh_table_lift(struct mesh_table *table, uint32_t net)
{
    record(table, net);
    set_owner(table, &table->nets[net], WEFT_NONE);
    table->nets[net].length = 0;
}

void mesh_table_lay(struct mesh_table *table, uint32_t net, const uint32_t *stubs, uint32_t length)
{
    record(table, net);
    memcpy(table->nets[net].stubs, stubs, length * sizeof *stubs);
    table->nets[net].length = length;
    set_owner(table, &table->nets[net], net);
}

void mesh_table_begin(struct mesh_table *table)
{
    table->recording = true;
    table->touched_count = 0;
}

void mesh_table_keep(struct mesh_table *table)
{
    for (uint32_t i = 0; i < table->touched_count; i++) {
        table->is_touched[table->touched[i]] = false;
    }
    table->recording = false;
}

void mesh_table_undo(struct mesh_table *table)
{
    mesh_table_keep(table);
    table->queue_count = 0;
    for (uint32_t i = 0; i < table->touched_count; i++) {
        mesh_table_lift(table, table->touched[i]);
    }
    for (uint32_t i = 0; i < table->touched_count; i++) {
        uint32_t net = table->touched[i];
        mesh_table_lay(table, net, table->saved[net].stubs, table->saved[net].length);
    }
}

// The stub by which the i-th cell of a route is left.
static uint32_t left_by(const struct weft_mesh *mesh, const struct mesh_net *net, uint32_t i)
{
    return i + 1 < net->length ? mesh->stub_mates[net->stubs[i + 1]] : mesh->port_stubs[net->to];
}

static uint32_t toggles(const struct mesh_table *table, uint32_t stub, uint32_t cross)
{
    const uint8_t *former = table->options->former;
    return (former == NULL ? 0u : former[stub / 4] != 0) != cross;
}

uint32_t mesh_table_toggles(const struct mesh_table *table, const struct mesh_net *net)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->length; i++) {
        uint32_t cross = (net->stubs[i] ^ left_by(table->mesh, net, i)) & 1u;
        count += toggles(table, net->stubs[i], cross);
    }
    return count;
}

// ---- the search for a way ----

static uint32_t price_of(const struct mesh_table *table, uint32_t wire)
{
    const struct mesh_prices *prices = &table->prices;
    uint32_t price = table->history[wire];
    price += table->owners[wire] == WEFT_NONE ? 0 : prices->eject;
    if (prices->noise > 0) {
        price += (uint32_t)weft_hash(prices->salt ^ wire) & prices->noise;
    }
    return price;
}

static void reach_stub(struct mesh_table *table, uint32_t stub, uint32_t cost, uint32_t parent,
                       uint32_t left)
{
    if (table->seen[stub] == table->search && table->costs[stub] <= cost) {
        return;
    }
    table->seen[stub] = table->search;
    table->costs[stub] = cost;
    table->parents[stub] = parent;
    mesh_heap_push(table->heap,
                   (struct mesh_entry){.bound = cost + MESH_UNIT * left, .stub = stub});
}

// The last stub of the cheapest way from a net's port to its other one; WEFT_NONE: there is none.
static uint32_t search_way(struct mesh_table *table, uint32_t n)
{
    const struct weft_mesh *mesh = table->mesh;
    const uint16_t *reach = &table->reach[(size_t)n * 4 * mesh->cell_count];
    uint32_t goal = mesh->port_stubs[table->nets[n].to];
    table->search++;
    table->searches++;
    table->heap->count = 0;
    uint32_t best = WEFT_NONE;
    uint32_t best_cost = UINT32_MAX;
    uint32_t start = mesh->port_stubs[table->nets[n].from];
    reach_stub(table, start, 0, WEFT_NONE, reach[start]);
    while (table->heap->count > 0) {
        struct mesh_entry top = mesh_heap_pop(table->heap);
        if (top.bound >= best_cost) {
            break;
        }
        uint32_t cost = table->costs[top.stub];
        if (cost + MESH_UNIT * reach[top.stub] < top.bound) {
            continue; // it was reached by a cheaper way since
        }
        for (uint32_t cross = 0; cross < 2; cross++) {
            if (!allowed(table->options, top.stub, cross)) {
                continue;
            }
            uint32_t out = weft_mesh_through(top.stub, cross != 0);
            uint32_t next = mesh->stub_mates[out];
            uint32_t after = cost + MESH_UNIT + table->toggle * toggles(table, top.stub, cross);
            if (out == goal && after < best_cost) {
                best = top.stub;
                best_cost = after;
            }
            if (next != WEFT_NONE && reach[next] != UNREACHED) {
                reach_stub(table, next, after + price_of(table, mesh->stub_wires[next]), top.stub,
                           reach[next]);
            }
        }
    }
    return best;
}

// The cheapest way as stubs in table->way, its cells; 0: there is none. A way that uses a wire in
// both directions would block itself: such wires are made dearer until none is.
static uint32_t find_way(struct mesh_table *table, uint32_t n)
{
    enum { TRIES = 16 };
    for (uint32_t t = 0; t < TRIES; t++) {
        uint32_t length = 0;
        bool simple = true;
        uint32_t mark = ++table->mark;
        for (uint32_t stub = search_way(table, n); stub != WEFT_NONE; stub = table->parents[stub]) {
            uint32_t wire = table->mesh->stub_wires[stub];
            if (table->marks[wire] == mark) {
                table->history[wire] += 2 * MESH_UNIT << (t / 2);
                simple = false;
            }
            table->marks[wire] = mark;
            table->way[length++] = stub;
        }
        if (simple) {
            for (uint32_t i = 0; i < length / 2; i++) {
                uint32_t stub = table->way[i];
                table->way[i] = table->way[length - 1 - i];
                table->way[length - 1 - i] = stub;
            }
            return length;
        }
    }
    return 0;
}

bool mesh_table_negotiate(struct mesh_table *table, uint32_t searches)
{
    for (; table->queue_count > 0 && searches > 0; searches--) {
        uint32_t net = table->queue[table->queue_first];
        table->queue_first = (table->queue_first + 1) % table->net_count;
        table->queue_count--;
        uint32_t length = find_way(table, net);
        if (length == 0) {
            return false;
        }
        for (uint32_t i = 1; i < length; i++) {
            uint32_t wire = table->mesh->stub_wires[table->way[i]];
            uint32_t owner = table->owners[wire];
            if (owner != WEFT_NONE) {
                table->history[wire] += table->prices.grudge;
                mesh_table_lift(table, owner);
                mesh_table_queue(table, owner);
            }
        }
        mesh_table_lay(table, net, table->way, length);
    }
    return table->queue_count == 0;
}
