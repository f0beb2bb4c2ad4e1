// SPDX-License-Identifier: Apache-2.0
// What a placement sends over the network, edge by edge. A move changes some operators; only the
// edges at them are computed again, and all that changes is noted, so that a move is undone in
// O(what it changed). Two parts exchange what the producer's region and the consumer's reading
// share, over the samples that both hold.

#include "placement.h"

#include "regions.h"

#include <string.h>

// Takes memory for the placement, the notes of one move, and a spare load vector for each edge.
// Every operator starts with its first split on server 0 and no traffic is known until a move has
// been applied to all of them.
void weft_placement_init(struct placement *placement, const struct weft_strategy_space *space,
                         struct weft_arena *arena)
{
    size_t nodes = space->node_count;
    size_t edges = space->edge_count;
    *placement = (struct placement){
        .space = space,
        .choice = WEFT_NEW(arena, uint32_t, nodes),
        .servers = WEFT_NEW(arena, uint32_t, nodes * space->server_count),
        .traffic = WEFT_NEW(arena, struct edge_traffic, edges),
        .changed = WEFT_NEW(arena, uint32_t, nodes),
        .is_changed = WEFT_NEW(arena, uint8_t, nodes),
        .old_choice = WEFT_NEW(arena, uint32_t, nodes),
        .old_servers = WEFT_NEW(arena, uint32_t, nodes * space->server_count),
        .updated = WEFT_NEW(arena, uint32_t, edges),
        .old_traffic = WEFT_NEW(arena, struct edge_traffic, edges),
        .spare = WEFT_NEW(arena, float *, edges),
    };
    float *loads = WEFT_NEW(arena, float, 2 * edges * space->row);
    for (size_t e = 0; e < edges; e++) {
        placement->traffic[e].load = loads + 2 * e * space->row;
        placement->spare[e] = loads + (2 * e + 1) * space->row;
    }
    for (uint32_t i = 0; i < space->node_count; i++) {
        placement->choice[i] = space->nodes[i].choice_first;
    }
}

void weft_placement_copy(struct placement *to, const struct placement *from)
{
    const struct weft_strategy_space *space = from->space;
    WEFT_ASSERT(to->changed_count == 0 && from->changed_count == 0);
    memcpy(to->choice, from->choice, sizeof *to->choice * space->node_count);
    memcpy(to->servers, from->servers,
           sizeof *to->servers * space->node_count * space->server_count);
    for (uint32_t e = 0; e < space->edge_count; e++) {
        float *load = to->traffic[e].load;
        to->traffic[e] = from->traffic[e];
        to->traffic[e].load = load;
        memcpy(load, from->traffic[e].load, sizeof *load * space->row);
    }
}

void weft_placement_set(struct placement *placement, uint32_t node, uint32_t choice,
                        const uint32_t *servers)
{
    uint32_t n = placement->space->server_count;
    uint32_t *own = weft_placement_servers(placement, node);
    if (!placement->is_changed[node]) {
        uint32_t place = placement->changed_count++;
        placement->is_changed[node] = 1;
        placement->changed[place] = node;
        placement->old_choice[place] = placement->choice[node];
        memcpy(placement->old_servers + (size_t)place * n, own, sizeof *own * n);
    }
    placement->choice[node] = choice;
    memmove(own, servers, sizeof *own * placement->space->choices[choice].parts);
}

static void end_move(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->changed_count; i++) {
        placement->is_changed[placement->changed[i]] = 0;
    }
    placement->changed_count = 0;
    placement->updated_count = 0;
}

void weft_placement_keep(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->updated_count; i++) {
        placement->spare[i] = placement->old_traffic[i].load;
    }
    end_move(placement);
}

void weft_placement_undo(struct placement *placement)
{
    uint32_t n = placement->space->server_count;
    for (uint32_t i = 0; i < placement->changed_count; i++) {
        uint32_t node = placement->changed[i];
        placement->choice[node] = placement->old_choice[i];
        memcpy(weft_placement_servers(placement, node), placement->old_servers + (size_t)i * n,
               sizeof *placement->servers * n);
    }
    for (uint32_t i = 0; i < placement->updated_count; i++) {
        uint32_t e = placement->updated[i];
        placement->spare[i] = placement->traffic[e].load;
        placement->traffic[e] = placement->old_traffic[i];
    }
    end_move(placement);
}

// An edge whose ends are being compared.
struct ends {
    const struct weft_strategy_space *space;
    const struct edge *edge;
    const struct choice *from;
    const struct choice *to;
    const uint32_t *from_servers;
    const uint32_t *to_servers;
    double sample_bytes; // of one sample
};

static void add_flow(struct edge_traffic *traffic, const struct ends *ends, uint32_t from,
                     uint32_t to, double bytes)
{
    if (from == to || bytes <= 0) {
        return;
    }
    const struct weft_strategy_space *space = ends->space;
    traffic->flows++;
    traffic->bytes += bytes;
    traffic->load[from] += (float)bytes;
    traffic->load[space->server_count + to] += (float)bytes;
    if (space->hops != NULL) {
        double hops = (double)space->hops[from * space->server_count + to];
        traffic->relay_bytes += bytes * (hops - 1);
    }
}

// All pairs of parts that share samples; `share` = those samples / batch.
static void add_block(struct edge_traffic *traffic, const struct ends *ends, uint32_t s, uint32_t t,
                      double share)
{
    const struct weft_strategy_space *space = ends->space;
    uint32_t from_parts = ends->from->parameter_parts;
    uint32_t to_parts = ends->to->parameter_parts;
    const uint32_t *from = ends->from_servers + (size_t)s * from_parts;
    const uint32_t *to = ends->to_servers + (size_t)t * to_parts;
    double bytes = ends->edge->total_bytes * share;
    if (from_parts == 1 && to_parts == 1) {
        add_flow(traffic, ends, from[0], to[0], bytes);
        return;
    }
    const struct weft_operator *made_by =
        &space->study.model->operators[space->nodes[ends->edge->from].op];
    for (uint32_t q = 0; q < to_parts; q++) {
        struct region read = weft_region_input(space->study.model, space->nodes[ends->edge->to].op,
                                               ends->edge->slot, q, to_parts);
        for (uint32_t p = 0; p < from_parts; p++) {
            struct region made = weft_region_output(made_by, p, from_parts);
            uint64_t shared = weft_region_shared(&made, &read);
            if (shared > 0) {
                add_flow(traffic, ends, from[p], to[q],
                         bytes * (double)shared / (double)made_by->output_elements);
            }
        }
    }
}

// Relays lie anywhere: what they carry is spread over all servers.
static void spread_relays(struct edge_traffic *traffic, const struct weft_strategy_space *space)
{
    if (traffic->relay_bytes > 0) {
        float each = (float)(traffic->relay_bytes / space->server_count);
        for (uint32_t i = 0; i < 2 * space->server_count; i++) {
            traffic->load[i] += each;
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

// Computes an edge anew: both ends divide the samples, and parts meet where their intervals do, so
// a merge of the two divisions finds all pairs in O(parts of both). Where both ends have the same
// parts on the same servers nothing crosses.
static void update_traffic(struct placement *placement, uint32_t e)
{
    const struct weft_strategy_space *space = placement->space;
    const struct edge *edge = &space->edges[e];
    struct ends ends = {space,
                        edge,
                        weft_placement_choice(placement, edge->from),
                        weft_placement_choice(placement, edge->to),
                        weft_placement_servers(placement, edge->from),
                        weft_placement_servers(placement, edge->to),
                        0};
    struct edge_traffic *traffic = &placement->traffic[e];
    *traffic = (struct edge_traffic){.same = same_parts(&ends), .load = traffic->load};
    memset(traffic->load, 0, sizeof *traffic->load * space->row);
    if (traffic->same) {
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
        add_block(traffic, &ends, (uint32_t)s, (uint32_t)t, (double)(high - low) * unit);
        s += high_s == high;
        t += high_t == high;
    }
    spread_relays(traffic, space);
}

// Updates an edge unless this move has already done so.
static void update_edge(struct placement *placement, uint32_t e)
{
    const struct edge *edge = &placement->space->edges[e];
    uint32_t place = placement->updated_count++;
    WEFT_ASSERT(place < placement->space->edge_count);
    placement->updated[place] = e;
    placement->old_traffic[place] = placement->traffic[e];
    placement->traffic[e].load = placement->spare[place];
    update_traffic(placement, e);
    WEFT_ASSERT(placement->is_changed[edge->from] || placement->is_changed[edge->to]);
}

void weft_placement_apply(struct placement *placement)
{
    const struct weft_strategy_space *space = placement->space;
    for (uint32_t i = 0; i < placement->changed_count; i++) {
        const struct node *node = &space->nodes[placement->changed[i]];
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            update_edge(placement, e);
        }
        for (uint32_t o = 0; o < node->out_count; o++) {
            uint32_t e = space->outs[node->out_first + o];
            if (!placement->is_changed[space->edges[e].to]) {
                update_edge(placement, e); // else as an input of the other end
            }
        }
    }
}

double weft_placement_memory(const struct placement *placement, double *server_bytes)
{
    const struct weft_strategy_space *space = placement->space;
    memset(server_bytes, 0, sizeof *server_bytes * space->server_count);
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct node *node = &space->nodes[i];
        const struct choice *choice = weft_placement_choice(placement, i);
        const uint32_t *servers = weft_placement_servers(placement, i);
        bool copied = node->in_count == 0;
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            copied = copied || !placement->traffic[e].same;
        }
        double bytes = choice->held_bytes + (copied ? choice->copied_bytes : 0);
        for (uint32_t p = 0; p < choice->parts; p++) {
            server_bytes[servers[p]] += bytes;
        }
    }
    double most = 0;
    for (uint32_t server = 0; server < space->server_count; server++) {
        most = server_bytes[server] > most ? server_bytes[server] : most;
    }
    return most;
}

// Whether all parts are on servers of the space, no two of them on one: moves rely on it.
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

bool weft_placement_load(struct placement *placement, const struct weft_strategy *strategy,
                         struct weft_arena scratch)
{
    const struct weft_strategy_space *space = placement->space;
    uint8_t *seen = WEFT_NEW_RAW(&scratch, uint8_t, space->server_count);
    if (strategy->kind != WEFT_STRATEGY_OPERATORS ||
        strategy->server_count != space->server_count) {
        return false;
    }
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct weft_placement *place = &strategy->placements[space->nodes[i].op];
        uint32_t choice =
            weft_search_space_choice(space, i, place->sample_parts, place->parameter_parts);
        if (choice == WEFT_NONE || !servers_differ(place, space->server_count, seen)) {
            weft_placement_undo(placement);
            return false;
        }
        weft_placement_set(placement, i, choice, place->servers);
    }
    weft_placement_apply(placement);
    weft_placement_keep(placement);
    return true;
}

bool weft_placement_store(struct weft_strategy *strategy, const struct placement *placement,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t count = space->study.model->operator_count;
    struct weft_placement *placements = WEFT_NEW(arena, struct weft_placement, count);
    static const uint32_t nowhere[1] = {0};
    for (uint32_t op = 0; op < count; op++) {
        placements[op] = (struct weft_placement){1, 1, nowhere}; // INPUT
    }
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct choice *choice = weft_placement_choice(placement, i);
        uint32_t *servers = WEFT_NEW_RAW(arena, uint32_t, choice->parts);
        memcpy(servers, weft_placement_servers(placement, i), sizeof *servers * choice->parts);
        placements[space->nodes[i].op] =
            (struct weft_placement){choice->sample_parts, choice->parameter_parts, servers};
    }
    *strategy = (struct weft_strategy){.kind = WEFT_STRATEGY_OPERATORS,
                                       .server_count = space->server_count,
                                       .placements = placements};
    return weft_strategy_memory(strategy, &space->study, arena, scratch, error);
}
