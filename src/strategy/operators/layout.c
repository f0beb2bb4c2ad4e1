// SPDX-License-Identifier: Apache-2.0
// What a layout sends over the network, edge by edge.

#include "layout.h"

#include "regions.h"

#include <string.h>

void weft_layout_init(struct layout *layout, const struct problem *problem,
                      struct weft_arena *arena)
{
    size_t nodes = problem->node_count;
    size_t edges = problem->edge_count;
    *layout = (struct layout){
        .problem = problem,
        .choice = WEFT_NEW(arena, uint32_t, nodes),
        .servers = WEFT_NEW(arena, uint32_t, nodes * problem->server_count),
        .wires = WEFT_NEW(arena, struct wire, edges),
        .changed = WEFT_NEW(arena, uint32_t, nodes),
        .is_changed = WEFT_NEW(arena, uint8_t, nodes),
        .old_choice = WEFT_NEW(arena, uint32_t, nodes),
        .old_servers = WEFT_NEW(arena, uint32_t, nodes * problem->server_count),
        .rewired = WEFT_NEW(arena, uint32_t, edges),
        .old_wires = WEFT_NEW(arena, struct wire, edges),
        .spare = WEFT_NEW(arena, float *, edges),
    };
    float *loads = WEFT_NEW(arena, float, 2 * edges * problem->row);
    for (size_t e = 0; e < edges; e++) {
        layout->wires[e].load = loads + 2 * e * problem->row;
        layout->spare[e] = loads + (2 * e + 1) * problem->row;
    }
    for (uint32_t i = 0; i < problem->node_count; i++) {
        layout->choice[i] = problem->nodes[i].choice_first;
    }
}

void weft_layout_copy(struct layout *to, const struct layout *from)
{
    const struct problem *problem = from->problem;
    WEFT_ASSERT(to->changed_count == 0 && from->changed_count == 0);
    memcpy(to->choice, from->choice, sizeof *to->choice * problem->node_count);
    memcpy(to->servers, from->servers,
           sizeof *to->servers * problem->node_count * problem->server_count);
    for (uint32_t e = 0; e < problem->edge_count; e++) {
        float *load = to->wires[e].load;
        to->wires[e] = from->wires[e];
        to->wires[e].load = load;
        memcpy(load, from->wires[e].load, sizeof *load * problem->row);
    }
}

void weft_layout_set(struct layout *layout, uint32_t node, uint32_t choice, const uint32_t *servers)
{
    uint32_t n = layout->problem->server_count;
    uint32_t *own = weft_layout_servers(layout, node);
    if (!layout->is_changed[node]) {
        uint32_t place = layout->changed_count++;
        layout->is_changed[node] = 1;
        layout->changed[place] = node;
        layout->old_choice[place] = layout->choice[node];
        memcpy(layout->old_servers + (size_t)place * n, own, sizeof *own * n);
    }
    layout->choice[node] = choice;
    memmove(own, servers, sizeof *own * layout->problem->choices[choice].parts);
}

static void end_move(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->changed_count; i++) {
        layout->is_changed[layout->changed[i]] = 0;
    }
    layout->changed_count = 0;
    layout->rewired_count = 0;
}

void weft_layout_keep(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->rewired_count; i++) {
        layout->spare[i] = layout->old_wires[i].load;
    }
    end_move(layout);
}

void weft_layout_undo(struct layout *layout)
{
    uint32_t n = layout->problem->server_count;
    for (uint32_t i = 0; i < layout->changed_count; i++) {
        uint32_t node = layout->changed[i];
        layout->choice[node] = layout->old_choice[i];
        memcpy(weft_layout_servers(layout, node), layout->old_servers + (size_t)i * n,
               sizeof *layout->servers * n);
    }
    for (uint32_t i = 0; i < layout->rewired_count; i++) {
        uint32_t e = layout->rewired[i];
        layout->spare[i] = layout->wires[e].load;
        layout->wires[e] = layout->old_wires[i];
    }
    end_move(layout);
}

// An edge whose ends are being compared.
struct ends {
    const struct problem *problem;
    const struct edge *edge;
    const struct choice *from;
    const struct choice *to;
    const uint32_t *from_servers;
    const uint32_t *to_servers;
    double sample_bytes; // of one sample
};

static void add_flow(struct wire *wire, const struct ends *ends, uint32_t from, uint32_t to,
                     double bytes)
{
    if (from == to || bytes <= 0) {
        return;
    }
    const struct problem *problem = ends->problem;
    wire->flows++;
    wire->bytes += bytes;
    wire->load[from] += (float)bytes;
    wire->load[problem->server_count + to] += (float)bytes;
    if (problem->hops != NULL) {
        double hops = (double)problem->hops[from * problem->server_count + to];
        wire->relay_bytes += bytes * (hops - 1);
    }
}

// All pairs of parts that share samples; `share` = those samples / batch.
static void add_block(struct wire *wire, const struct ends *ends, uint32_t s, uint32_t t,
                      double share)
{
    const struct problem *problem = ends->problem;
    uint32_t from_parts = ends->from->parameter_parts;
    uint32_t to_parts = ends->to->parameter_parts;
    const uint32_t *from = ends->from_servers + (size_t)s * from_parts;
    const uint32_t *to = ends->to_servers + (size_t)t * to_parts;
    double bytes = ends->edge->total_bytes * share;
    if (from_parts == 1 && to_parts == 1) {
        add_flow(wire, ends, from[0], to[0], bytes);
        return;
    }
    const struct weft_operator *made_by =
        &problem->model->operators[problem->nodes[ends->edge->from].op];
    for (uint32_t q = 0; q < to_parts; q++) {
        struct region read = weft_region_input(problem->model, problem->nodes[ends->edge->to].op,
                                               ends->edge->slot, q, to_parts);
        for (uint32_t p = 0; p < from_parts; p++) {
            struct region made = weft_region_output(made_by, p, from_parts);
            uint64_t shared = weft_region_shared(&made, &read);
            if (shared > 0) {
                add_flow(wire, ends, from[p], to[q],
                         bytes * (double)shared / (double)made_by->output_elements);
            }
        }
    }
}

// Relays lie anywhere: what they carry is spread over all servers.
static void spread_relays(struct wire *wire, const struct problem *problem)
{
    if (wire->relay_bytes > 0) {
        float each = (float)(wire->relay_bytes / problem->server_count);
        for (uint32_t i = 0; i < 2 * problem->server_count; i++) {
            wire->load[i] += each;
        }
    }
}

static bool same_parts(const struct ends *ends)
{
    const struct choice *from = ends->from;
    const struct choice *to = ends->to;
    return from->parameter_parts == 1 && to->parameter_parts == 1 &&
           from->sample_parts == to->sample_parts &&
           memcmp(ends->from_servers, ends->to_servers, sizeof *ends->from_servers * from->parts) ==
               0;
}

static void update_wire(struct layout *layout, uint32_t e)
{
    const struct problem *problem = layout->problem;
    const struct edge *edge = &problem->edges[e];
    struct ends ends = {problem,
                        edge,
                        weft_layout_choice(layout, edge->from),
                        weft_layout_choice(layout, edge->to),
                        weft_layout_servers(layout, edge->from),
                        weft_layout_servers(layout, edge->to),
                        0};
    struct wire *wire = &layout->wires[e];
    *wire = (struct wire){.same = same_parts(&ends), .load = wire->load};
    memset(wire->load, 0, sizeof *wire->load * problem->row);
    if (wire->same) {
        return;
    }
    // Parts of both ends by samples, in units of 1 / (from * to) of the batch.
    uint64_t from_parts = ends.from->sample_parts;
    uint64_t to_parts = ends.to->sample_parts;
    double unit = 1.0 / ((double)from_parts * (double)to_parts);
    for (uint64_t s = 0, t = 0; s < from_parts && t < to_parts;) {
        uint64_t low = s * to_parts > t * from_parts ? s * to_parts : t * from_parts;
        uint64_t high_s = (s + 1) * to_parts;
        uint64_t high_t = (t + 1) * from_parts;
        uint64_t high = high_s < high_t ? high_s : high_t;
        add_block(wire, &ends, (uint32_t)s, (uint32_t)t, (double)(high - low) * unit);
        s += high_s == high;
        t += high_t == high;
    }
    spread_relays(wire, problem);
}

// Rewires an edge unless this move has already done so.
static void rewire(struct layout *layout, uint32_t e)
{
    const struct edge *edge = &layout->problem->edges[e];
    uint32_t place = layout->rewired_count++;
    WEFT_ASSERT(place < layout->problem->edge_count);
    layout->rewired[place] = e;
    layout->old_wires[place] = layout->wires[e];
    layout->wires[e].load = layout->spare[place];
    update_wire(layout, e);
    WEFT_ASSERT(layout->is_changed[edge->from] || layout->is_changed[edge->to]);
}

void weft_layout_apply(struct layout *layout)
{
    const struct problem *problem = layout->problem;
    for (uint32_t i = 0; i < layout->changed_count; i++) {
        const struct node *node = &problem->nodes[layout->changed[i]];
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            rewire(layout, e);
        }
        for (uint32_t o = 0; o < node->out_count; o++) {
            uint32_t e = problem->outs[node->out_first + o];
            if (!layout->is_changed[problem->edges[e].to]) {
                rewire(layout, e); // else as an input of the other end
            }
        }
    }
}

double weft_layout_memory(const struct layout *layout, double *server_bytes)
{
    const struct problem *problem = layout->problem;
    memset(server_bytes, 0, sizeof *server_bytes * problem->server_count);
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const struct node *node = &problem->nodes[i];
        const struct choice *choice = weft_layout_choice(layout, i);
        const uint32_t *servers = weft_layout_servers(layout, i);
        bool copied = node->in_count == 0;
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            copied = copied || !layout->wires[e].same;
        }
        double bytes = choice->held_bytes + (copied ? choice->copied_bytes : 0);
        for (uint32_t p = 0; p < choice->parts; p++) {
            server_bytes[servers[p]] += bytes;
        }
    }
    double most = 0;
    for (uint32_t server = 0; server < problem->server_count; server++) {
        most = server_bytes[server] > most ? server_bytes[server] : most;
    }
    return most;
}

// Whether all parts are on servers of the problem, no two of them on one: moves rely on it.
static bool servers_differ(const struct weft_placement *place, uint32_t server_count, uint8_t *seen)
{
    uint32_t parts = place->sample_parts * place->parameter_parts;
    memset(seen, 0, server_count);
    for (uint32_t i = 0; i < parts; i++) {
        if (place->servers[i] >= server_count || seen[place->servers[i]] != 0) {
            return false;
        }
        seen[place->servers[i]] = 1;
    }
    return true;
}

bool weft_layout_load(struct layout *layout, const struct weft_strategy *strategy,
                      struct weft_arena scratch)
{
    const struct problem *problem = layout->problem;
    uint8_t *seen = WEFT_NEW_RAW(&scratch, uint8_t, problem->server_count);
    if (strategy->kind != WEFT_STRATEGY_OPERATORS ||
        strategy->server_count != problem->server_count) {
        return false;
    }
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const struct weft_placement *place = &strategy->placements[problem->nodes[i].op];
        uint32_t choice =
            weft_problem_choice(problem, i, place->sample_parts, place->parameter_parts);
        if (choice == WEFT_NONE || !servers_differ(place, problem->server_count, seen)) {
            weft_layout_undo(layout);
            return false;
        }
        weft_layout_set(layout, i, choice, place->servers);
    }
    weft_layout_apply(layout);
    weft_layout_keep(layout);
    return true;
}

bool weft_layout_store(struct weft_strategy *strategy, const struct layout *layout,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    const struct problem *problem = layout->problem;
    uint32_t count = problem->model->operator_count;
    struct weft_placement *placements = WEFT_NEW(arena, struct weft_placement, count);
    static const uint32_t nowhere[1] = {0};
    for (uint32_t op = 0; op < count; op++) {
        placements[op] = (struct weft_placement){1, 1, nowhere}; // INPUT
    }
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const struct choice *choice = weft_layout_choice(layout, i);
        uint32_t *servers = WEFT_NEW_RAW(arena, uint32_t, choice->parts);
        memcpy(servers, weft_layout_servers(layout, i), sizeof *servers * choice->parts);
        placements[problem->nodes[i].op] =
            (struct weft_placement){choice->sample_parts, choice->parameter_parts, servers};
    }
    *strategy = (struct weft_strategy){.kind = WEFT_STRATEGY_OPERATORS,
                                       .server_count = problem->server_count,
                                       .placements = placements};
    return weft_strategy_memory(strategy,
                                &(struct weft_study){.model = problem->model,
                                                     .cluster = problem->cluster,
                                                     .setting = problem->setting},
                                arena, scratch, error);
}
