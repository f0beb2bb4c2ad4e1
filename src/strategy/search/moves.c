// SPDX-License-Identifier: Apache-2.0
// Moves of the search: they take one operator, a run of a chain, a cone (all that leads to an
// operator) or all tables to other splits and servers, or exchange servers. Servers are drawn as
// strided or contiguous blocks, anywhere, least loaded, or with regard to another operator's.
// FlexFlow's move is the TopoOpt artifact's. O(what changes), least loaded O(nodes * parts).

#include "moves.h"

#include <string.h>

struct mover {
    const struct weft_strategy_space *space;
    bool nested;
    uint32_t words;      // of a set of nodes
    uint64_t *ancestors; // node * words; with the node itself
    uint32_t table_count;
    uint32_t *tables;
    uint32_t set_count;
    uint32_t *set;   // nodes that a move changes
    uint32_t *block; // servers
    uint32_t *order; // all servers, for draws
    double *load_s;  // per server
};

static bool leads_to(const struct mover *mover, uint32_t from, uint32_t to)
{
    return mover->ancestors[(size_t)to * mover->words + from / 64] >> from % 64 & 1;
}

// Collects the cone of every node as a bit set, in the model's order, and the tables.
struct mover *weft_mover_init(const struct weft_strategy_space *space, bool nested,
                              struct weft_arena *arena)
{
    struct mover *mover = WEFT_NEW(arena, struct mover, 1);
    uint32_t count = space->node_count;
    uint32_t words = (count + 63) / 64;
    *mover = (struct mover){
        .space = space,
        .nested = nested,
        .words = words,
        .ancestors = WEFT_NEW(arena, uint64_t, (size_t)count * words),
        .tables = WEFT_NEW(arena, uint32_t, count),
        .set = WEFT_NEW(arena, uint32_t, count),
        .block = WEFT_NEW(arena, uint32_t, space->server_count),
        .order = WEFT_NEW(arena, uint32_t, space->server_count),
        .load_s = WEFT_NEW(arena, double, space->server_count),
    };
    for (uint32_t i = 0; i < count; i++) {
        const struct node *node = &space->nodes[i];
        uint64_t *row = mover->ancestors + (size_t)i * words;
        row[i / 64] |= (uint64_t)1 << i % 64;
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            const uint64_t *from = mover->ancestors + (size_t)space->edges[e].from * words;
            for (uint32_t w = 0; w < words; w++) {
                row[w] |= from[w];
            }
        }
        if (node->table) {
            mover->tables[mover->table_count++] = i;
        }
    }
    for (uint32_t server = 0; server < space->server_count; server++) {
        mover->order[server] = server;
    }
    return mover;
}

// ---- blocks of servers ----

static void strided(struct mover *mover, uint32_t parts, uint32_t start)
{
    uint32_t n = mover->space->server_count;
    uint32_t step = n / parts;
    for (uint32_t i = 0; i < parts; i++) {
        mover->block[i] = start % step + i * step;
    }
}

static void contiguous(struct mover *mover, uint32_t parts, struct weft_rng *rng)
{
    uint32_t n = mover->space->server_count;
    uint32_t start = weft_rng_below(rng, n / parts) * parts;
    for (uint32_t i = 0; i < parts; i++) {
        mover->block[i] = start + i;
    }
}

static void sort_servers(uint32_t *servers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t server = servers[i];
        uint32_t at = i;
        for (; at > 0 && servers[at - 1] > server; at--) {
            servers[at] = servers[at - 1];
        }
        servers[at] = server;
    }
}

static void anywhere(struct mover *mover, uint32_t parts, struct weft_rng *rng)
{
    uint32_t n = mover->space->server_count;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t j = i + weft_rng_below(rng, n - i);
        uint32_t server = mover->order[j];
        mover->order[j] = mover->order[i];
        mover->order[i] = server;
        mover->block[i] = server;
    }
    sort_servers(mover->block, parts);
}

// The servers with the least work beside the nodes of the set.
static void least_loaded(struct mover *mover, const struct placement *placement, uint32_t parts)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t n = space->server_count;
    memset(mover->load_s, 0, sizeof *mover->load_s * n);
    for (uint32_t i = 0; i < space->node_count; i++) {
        bool moves = false;
        for (uint32_t j = 0; j < mover->set_count && !moves; j++) {
            moves = mover->set[j] == i;
        }
        const struct choice *choice = weft_placement_choice(placement, i);
        const uint32_t *servers = weft_placement_servers(placement, i);
        for (uint32_t p = 0; !moves && p < choice->parts; p++) {
            mover->load_s[servers[p]] += choice->forward_s + choice->backward_s;
        }
    }
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t best = 0;
        for (uint32_t server = 1; server < n; server++) {
            best = mover->load_s[server] < mover->load_s[best] ? server : best;
        }
        mover->load_s[best] = 1e300;
        mover->block[i] = best;
    }
    sort_servers(mover->block, parts);
}

// Fills the block up to `parts` with servers that another node does not use, from a random one on.
static void fill_beside(struct mover *mover, const struct placement *placement, uint32_t count,
                        uint32_t parts, uint32_t from, struct weft_rng *rng)
{
    const struct choice *choice = weft_placement_choice(placement, from);
    const uint32_t *servers = weft_placement_servers(placement, from);
    uint32_t n = mover->space->server_count;
    uint32_t first = weft_rng_below(rng, n);
    for (uint32_t i = 0; i < n && count < parts; i++) {
        uint32_t server = (first + i) % n;
        bool taken = false;
        for (uint32_t j = 0; j < choice->parts && !taken; j++) {
            taken = servers[j] == server;
        }
        if (!taken) {
            mover->block[count++] = server;
        }
    }
    sort_servers(mover->block, parts);
}

// Servers of another node: its own block, every so many-th of a larger one, or a smaller one with
// others beside it.
static void borrowed(struct mover *mover, const struct placement *placement, uint32_t parts,
                     uint32_t from, struct weft_rng *rng)
{
    const struct choice *choice = weft_placement_choice(placement, from);
    const uint32_t *servers = weft_placement_servers(placement, from);
    if (choice->parts >= parts) {
        uint32_t step = choice->parts / parts;
        bool run = weft_rng_below(rng, 2) == 0;
        uint32_t start = weft_rng_below(rng, step);
        for (uint32_t i = 0; i < parts; i++) {
            mover->block[i] = servers[run ? start * parts + i : start + i * step];
        }
        return;
    }
    memcpy(mover->block, servers, sizeof *servers * choice->parts);
    fill_beside(mover, placement, choice->parts, parts, from, rng);
}

// Those that another node does not use, as far as they reach.
static void beside(struct mover *mover, const struct placement *placement, uint32_t parts,
                   uint32_t from, struct weft_rng *rng)
{
    if (weft_placement_choice(placement, from)->parts + parts > mover->space->server_count) {
        anywhere(mover, parts, rng);
        return;
    }
    fill_beside(mover, placement, 0, parts, from, rng);
}

// Draws the servers of the set of operators that moves, in one of six ways, the borrowed ones
// (another operator's block) three times as often as any other.
static void draw_block(struct mover *mover, const struct placement *placement, uint32_t parts,
                       struct weft_rng *rng)
{
    uint32_t other = weft_rng_below(rng, mover->space->node_count);
    if (mover->nested) {
        strided(mover, parts, weft_rng_below(rng, mover->space->server_count));
        return;
    }
    if (mover->space->server_count % parts != 0) {
        anywhere(mover, parts, rng);
        return;
    }
    switch (weft_rng_below(rng, 8)) {
    case 0:
        strided(mover, parts, weft_rng_below(rng, mover->space->server_count));
        return;
    case 1:
        contiguous(mover, parts, rng);
        return;
    case 2:
        anywhere(mover, parts, rng);
        return;
    case 3:
        least_loaded(mover, placement, parts);
        return;
    case 4:
        beside(mover, placement, parts, other, rng);
        return;
    default:
        borrowed(mover, placement, parts, other, rng);
        return;
    }
}

// ---- sets of nodes ----

// A run of a chain: on from a node while each has one reader that reads nothing else.
static void take_run(struct mover *mover, uint32_t node, struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t length = 1 + weft_rng_below(rng, 12);
    mover->set_count = 0;
    for (uint32_t i = 0; i < length; i++) {
        mover->set[mover->set_count++] = node;
        const struct node *self = &space->nodes[node];
        if (self->out_count != 1) {
            return;
        }
        uint32_t next = space->edges[space->outs[self->out_first]].to;
        if (space->nodes[next].in_count != 1) {
            return;
        }
        node = next;
    }
}

// What leads to a node; or that without what leads to another; or all the rest. Tables stay out.
static void take_cone(struct mover *mover, uint32_t node, struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t other = weft_rng_below(rng, space->node_count);
    uint32_t how = weft_rng_below(rng, 4);
    mover->set_count = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        bool in = leads_to(mover, i, node);
        if (how == 1) {
            in = in && !leads_to(mover, i, other);
        } else if (how == 2) {
            in = !in;
        } else if (how == 3) {
            in = in && leads_to(mover, other, i);
        }
        if (in && !space->nodes[i].table) {
            mover->set[mover->set_count++] = i;
        }
    }
}

// Neighbors in the model's order.
static void take_range(struct mover *mover, uint32_t node, struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t length = 1 + weft_rng_below(rng, space->node_count);
    mover->set_count = 0;
    for (uint32_t i = node; i < space->node_count && i < node + length; i++) {
        if (!space->nodes[i].table) {
            mover->set[mover->set_count++] = i;
        }
    }
}

// All operators of the same times in the same splits: equal layers.
static void take_twins(struct mover *mover, uint32_t node)
{
    const struct weft_strategy_space *space = mover->space;
    const struct node *self = &space->nodes[node];
    mover->set_count = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct node *twin = &space->nodes[i];
        if (twin->choice_count == self->choice_count && !twin->table &&
            space->choices[twin->choice_first].forward_s ==
                space->choices[self->choice_first].forward_s) {
            mover->set[mover->set_count++] = i;
        }
    }
}

// ---- moves ----

// Gives the whole set one split, where an operator can be split so, and one block; or `deals` the
// blocks of its size out, one run of operators after the other.
static void place_set(struct mover *mover, struct placement *placement, bool deals,
                      struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    if (mover->set_count == 0) {
        return;
    }
    const struct node *lead = &space->nodes[mover->set[weft_rng_below(rng, mover->set_count)]];
    const struct choice *choice =
        &space->choices[lead->choice_first + weft_rng_below(rng, lead->choice_count)];
    uint32_t start = 0;
    uint32_t run = 1;
    if (deals) {
        start = weft_rng_below(rng, space->server_count / choice->parts);
        run = 1 + weft_rng_below(rng, 1 + mover->set_count / 2);
    } else {
        draw_block(mover, placement, choice->parts, rng);
    }
    for (uint32_t i = 0; i < mover->set_count; i++) {
        uint32_t same = weft_search_space_choice(space, mover->set[i], choice->sample_parts,
                                                 choice->parameter_parts);
        if (same != WEFT_NONE) {
            if (deals) {
                strided(mover, choice->parts, start + i / run);
            }
            weft_placement_set(placement, mover->set[i], same, mover->block);
        }
    }
}

// Each of the set keeps its servers but takes every second of them, or as many more.
static void resize_set(struct mover *mover, struct placement *placement, struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    bool grow = weft_rng_below(rng, 2) == 0;
    uint64_t seed = weft_rng_next(rng);
    for (uint32_t i = 0; i < mover->set_count; i++) {
        uint32_t node = mover->set[i];
        const struct choice *choice = weft_placement_choice(placement, node);
        uint32_t samples = grow ? choice->sample_parts * 2 : choice->sample_parts / 2;
        uint32_t other =
            samples == 0 ? WEFT_NONE
                         : weft_search_space_choice(space, node, samples, choice->parameter_parts);
        if (other != WEFT_NONE) {
            struct weft_rng same; // equal blocks stay equal
            weft_rng_init(&same, seed);
            if (mover->nested) {
                strided(mover, space->choices[other].parts,
                        weft_placement_servers(placement, node)[0] +
                            weft_rng_below(&same, 2) * space->server_count / choice->parts);
            } else {
                borrowed(mover, placement, space->choices[other].parts, node, &same);
            }
            weft_placement_set(placement, node, other, mover->block);
        }
    }
}

// Two servers change places in all of the set.
static void swap_servers(struct mover *mover, struct placement *placement, struct weft_rng *rng)
{
    uint32_t n = mover->space->server_count;
    uint32_t a = weft_rng_below(rng, n);
    uint32_t b = weft_rng_below(rng, n);
    for (uint32_t i = 0; i < mover->set_count; i++) {
        uint32_t node = mover->set[i];
        const struct choice *choice = weft_placement_choice(placement, node);
        const uint32_t *servers = weft_placement_servers(placement, node);
        bool touched = false;
        for (uint32_t p = 0; p < choice->parts; p++) {
            uint32_t server = servers[p];
            mover->block[p] = server == a ? b : server == b ? a : server;
            touched = touched || server == a || server == b;
        }
        if (touched && a != b) {
            weft_placement_set(placement, node, placement->choice[node], mover->block);
        }
    }
}

// Half of the servers for the set, the other half for all else but tables.
static void part_ways(struct mover *mover, struct placement *placement)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t half = space->server_count / 2;
    for (uint32_t i = 0, at = 0; i < space->node_count && half > 0; i++) {
        bool in = at < mover->set_count && mover->set[at] == i;
        at += in;
        uint32_t choice = weft_search_space_choice(space, i, half, 1);
        if (choice != WEFT_NONE && !space->nodes[i].table) {
            strided(mover, half, in ? 0 : 1);
            weft_placement_set(placement, i, choice, mover->block);
        }
    }
}

static void move_tables(struct mover *mover, struct placement *placement, struct weft_rng *rng)
{
    uint32_t table = mover->tables[weft_rng_below(rng, mover->table_count)];
    uint32_t other = mover->tables[weft_rng_below(rng, mover->table_count)];
    mover->set_count = 1;
    mover->set[0] = table;
    if (weft_rng_below(rng, 2) == 0 || other == table) {
        place_set(mover, placement, false, rng);
        return;
    }
    uint32_t parts = weft_placement_choice(placement, table)->parts;
    if (placement->choice[table] - mover->space->nodes[table].choice_first ==
            placement->choice[other] - mover->space->nodes[other].choice_first &&
        parts == weft_placement_choice(placement, other)->parts) {
        memcpy(mover->block, weft_placement_servers(placement, table),
               sizeof *mover->block * parts);
        weft_placement_set(placement, table, placement->choice[table],
                           weft_placement_servers(placement, other));
        weft_placement_set(placement, other, placement->choice[other], mover->block);
    }
}

// Takes the placement of a neighbor.
static void copy_neighbor(struct mover *mover, struct placement *placement, uint32_t node,
                          uint32_t from)
{
    const struct choice *choice = weft_placement_choice(placement, from);
    uint32_t same =
        weft_search_space_choice(mover->space, node, choice->sample_parts, choice->parameter_parts);
    if (same != WEFT_NONE) {
        weft_placement_set(placement, node, same, weft_placement_servers(placement, from));
    }
}

static void take_set(struct mover *mover, uint32_t node, struct weft_rng *rng)
{
    switch (weft_rng_below(rng, 6)) {
    case 0:
    case 1:
        take_cone(mover, node, rng);
        return;
    case 2:
        take_range(mover, node, rng);
        return;
    case 3:
        take_twins(mover, node);
        return;
    default:
        take_run(mover, node, rng);
        return;
    }
}

void weft_move(struct mover *mover, struct placement *placement, struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t node = weft_rng_below(rng, space->node_count);
    uint32_t dice = weft_rng_below(rng, 16);
    if (dice < 2 && mover->table_count > 0) {
        move_tables(mover, placement, rng);
        return;
    }
    const struct node *self = &space->nodes[node];
    if (dice < 5 && self->in_count + self->out_count > 0) {
        uint32_t at = weft_rng_below(rng, self->in_count + self->out_count);
        uint32_t other = at < self->in_count
                             ? space->edges[self->in_first + at].from
                             : space->edges[space->outs[self->out_first + at - self->in_count]].to;
        copy_neighbor(mover, placement, node, other);
        return;
    }
    mover->set_count = 1;
    mover->set[0] = node;
    if (dice >= 8) {
        take_set(mover, node, rng);
    }
    if (dice == 8 && weft_rng_below(rng, 4) == 0) {
        take_cone(mover, node, rng);
        part_ways(mover, placement);
        return;
    }
    switch (dice % 4) {
    case 0:
        if (mover->nested) {
            place_set(mover, placement, true, rng);
        } else {
            swap_servers(mover, placement, rng);
        }
        return;
    case 1:
        resize_set(mover, placement, rng);
        return;
    default:
        place_set(mover, placement, false, rng);
        return;
    }
}

// ---- the artifact's ----

// Draws an edge of a node by tensor size; WEFT_NONE if it has none.
static uint32_t draw_edge(const struct weft_strategy_space *space, uint32_t node,
                          struct weft_rng *rng)
{
    const struct node *self = &space->nodes[node];
    double sum = 0;
    for (uint32_t i = 0; i < self->in_count + self->out_count; i++) {
        uint32_t e = i < self->in_count ? self->in_first + i
                                        : space->outs[self->out_first + i - self->in_count];
        sum += space->edges[e].total_bytes;
    }
    double left = weft_rng_unit(rng) * sum;
    uint32_t drawn = WEFT_NONE;
    for (uint32_t i = 0; i < self->in_count + self->out_count && left >= 0; i++) {
        drawn = i < self->in_count ? self->in_first + i
                                   : space->outs[self->out_first + i - self->in_count];
        left -= space->edges[drawn].total_bytes;
    }
    return drawn;
}

void weft_move_flexflow(struct mover *mover, struct placement *placement, struct weft_rng *rng)
{
    const struct weft_strategy_space *space = mover->space;
    uint32_t node = weft_rng_below(rng, space->node_count);
    if (weft_rng_unit(rng) >= 0.25) {
        const struct node *self = &space->nodes[node];
        uint32_t choice = self->choice_first + weft_rng_below(rng, self->choice_count);
        strided(mover, space->choices[choice].parts, weft_rng_below(rng, space->server_count));
        weft_placement_set(placement, node, choice, mover->block);
        return;
    }
    for (uint32_t step = 0; step < space->node_count; step++) {
        uint32_t e = draw_edge(space, node, rng);
        if (e == WEFT_NONE) {
            return;
        }
        const struct edge *edge = &space->edges[e];
        uint32_t other = edge->from == node ? edge->to : edge->from;
        copy_neighbor(mover, placement, other, node);
        node = other;
        if (weft_rng_unit(rng) >= 0.75) {
            return;
        }
    }
}
