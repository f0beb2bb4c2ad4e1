// SPDX-License-Identifier: Apache-2.0
// Families, templates and designs.

#include "design.h"

#include "weft/graph.h"

#include <math.h>
#include <string.h>

// ---- families and templates ----

static bool joins(const struct weft_traffic_group *group, const bool *taken)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        if (taken[group->members[i]]) {
            return false;
        }
    }
    return true;
}

uint32_t design_families(struct family *families, const struct weft_traffic *traffic,
                         struct weft_arena *arena, struct weft_arena scratch)
{
    bool *taken = WEFT_NEW_RAW(&scratch, bool, traffic->server_count);
    bool *covered = WEFT_NEW(&scratch, bool, (size_t)traffic->group_count + 1);
    uint32_t count = 0;
    bool all = false; // some group holds all servers
    for (uint32_t first = 0; first < traffic->group_count && count < FAMILIES_MAX - 1; first++) {
        if (covered[first]) {
            continue;
        }
        memset(taken, 0, traffic->server_count * sizeof *taken);
        uint32_t *groups = WEFT_NEW(arena, uint32_t, traffic->server_count);
        uint32_t group_count = 0;
        for (uint32_t i = 0; i < traffic->group_count; i++) {
            uint32_t g = i == 0 ? first : i - 1; // the first one first, then by falling bytes
            g = i > first ? i : g;
            all = all || traffic->groups[g].member_count == traffic->server_count;
            if (joins(&traffic->groups[g], taken)) {
                for (uint32_t m = 0; m < traffic->groups[g].member_count; m++) {
                    taken[traffic->groups[g].members[m]] = true;
                }
                groups[group_count++] = g;
                covered[g] = true;
            }
        }
        families[count++] = (struct family){group_count, groups};
    }
    if (!all) {
        families[count++] = (struct family){0, NULL};
    }
    return count;
}

uint32_t design_templates(struct template *templates, uint32_t most, uint32_t family_count,
                          uint32_t degree, bool simplex)
{
    uint32_t slots = simplex ? 1 : 2;
    uint32_t layers = degree / slots;
    uint32_t count = 0;
    // Every way to give `used` layers to the families, odometer fashion; most layers first.
    for (uint32_t used = layers; used != WEFT_NONE; used--) {
        struct template template = {{0}};
        template.cycles[0] = used;
        while (count < most && (family_count > 0 || used == 0)) {
            templates[count++] = template;
            uint32_t at = 0; // move one layer from the first family that has some to the next
            while (at < FAMILIES_MAX && template.cycles[at] == 0) {
                at++;
            }
            if (at + 1 >= family_count) {
                break;
            }
            uint32_t rest = template.cycles[at] - 1;
            template.cycles[at] = 0;
            template.cycles[0] = rest;
            template.cycles[at + 1]++;
        }
    }
    return count;
}

// ---- parts ----

// An order of `members` that walks along heavy transfers: from a random start, always on to the
// member that exchanges most bytes with the last one.
static void walk_heavy(uint32_t *order, const uint32_t *members, uint32_t count,
                       const double *demand, uint32_t n, struct weft_rng *rng)
{
    memcpy(order, members, count * sizeof *order);
    weft_rng_shuffle(rng, order, count);
    for (uint32_t i = 1; i < count; i++) {
        uint32_t last = order[i - 1];
        uint32_t best = i;
        double best_bytes = -1;
        for (uint32_t j = i; j < count; j++) {
            uint32_t other = order[j];
            double bytes = demand[(size_t)last * n + other] + demand[(size_t)other * n + last];
            if (bytes > best_bytes) {
                best = j;
                best_bytes = bytes;
            }
        }
        uint32_t swap = order[i];
        order[i] = order[best];
        order[best] = swap;
    }
}

// What links already there leave of a pair's demand: half for each link (TopoOpt, section 4.2).
static void discount(double *demand, uint32_t n, uint32_t a, uint32_t b)
{
    demand[(size_t)a * n + b] /= 2;
    demand[(size_t)b * n + a] /= 2;
}

struct making {
    struct design *design;
    double *demand; // n*n, discounted on the way
    struct weft_rng *rng;
    struct weft_arena *arena;
};

static void add_cycle(struct making *making, const uint32_t *members, uint32_t count, uint32_t slot,
                      uint32_t group)
{
    struct design *design = making->design;
    uint32_t n = design->server_count;
    if (count < 2) {
        return;
    }
    uint32_t *order = WEFT_NEW_RAW(making->arena, uint32_t, count);
    walk_heavy(order, members, count, making->demand, n, making->rng);
    for (uint32_t i = 0; i < count; i++) {
        discount(making->demand, n, order[i], order[(i + 1) % count]);
    }
    design->parts[design->part_count++] =
        (struct part){true, slot, count, order, group, {1, 1}, count == n ? DESIGN_LEND : 0};
}

// One layer of a family: a cycle of each group, and one of the servers left over.
static void add_layer(struct making *making, const struct family *family,
                      const struct weft_traffic *traffic, uint32_t slot, struct weft_arena scratch)
{
    uint32_t n = making->design->server_count;
    bool *taken = WEFT_NEW(&scratch, bool, n);
    for (uint32_t i = 0; i < family->group_count; i++) {
        const struct weft_traffic_group *group = &traffic->groups[family->groups[i]];
        add_cycle(making, group->members, group->member_count, slot, family->groups[i]);
        for (uint32_t m = 0; m < group->member_count; m++) {
            taken[group->members[m]] = true;
        }
    }
    uint32_t *left = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t left_count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (!taken[s]) {
            left[left_count++] = s;
        }
    }
    add_cycle(making, left, left_count, slot, WEFT_NONE);
}

// A maximum-weight matching of what demand is left; servers without demand are paired at random.
static void add_matching(struct making *making, uint32_t slot, struct weft_arena scratch)
{
    struct design *design = making->design;
    uint32_t n = design->server_count;
    double most = 0;
    for (size_t i = 0; i < (size_t)n * n; i++) {
        most = fmax(most, making->demand[i]);
    }
    int64_t *weights = WEFT_NEW(&scratch, int64_t, (size_t)n * n);
    for (uint32_t a = 0; a < n && most > 0; a++) {
        for (uint32_t b = a + 1; b < n; b++) {
            double bytes = making->demand[(size_t)a * n + b] + making->demand[(size_t)b * n + a];
            // Ten random low bits break ties differently for each design.
            int64_t weight = ((int64_t)(bytes / most * 0x1p30) << 10) +
                             (bytes > 0 ? (int64_t)weft_rng_below(making->rng, 1024) : 0);
            weights[(size_t)a * n + b] = weight;
            weights[(size_t)b * n + a] = weight;
        }
    }
    uint32_t *mate = WEFT_NEW_RAW(&scratch, uint32_t, n);
    weft_graph_match(mate, n, weights, scratch);
    uint32_t *order = WEFT_NEW_RAW(making->arena, uint32_t, n);
    uint32_t *single = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t count = 0;
    uint32_t single_count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (mate[s] == s) {
            single[single_count++] = s;
        } else if (mate[s] > s) {
            order[count++] = s;
            order[count++] = mate[s];
            discount(making->demand, n, s, mate[s]);
        }
    }
    weft_rng_shuffle(making->rng, single, single_count);
    memcpy(order + count, single, single_count * sizeof *single);
    design->parts[design->part_count++] =
        (struct part){false, slot, n, order, WEFT_NONE, {1, 1}, 0};
}

void design_build(struct design *design, const struct template *template,
                  const struct family *families, const struct weft_traffic *traffic,
                  uint32_t degree, bool simplex, struct weft_rng *rng, struct weft_arena *arena,
                  struct weft_arena scratch)
{
    uint32_t n = traffic->server_count;
    uint32_t step = simplex ? 1 : 2;
    *design = (struct design){.server_count = n, .degree = degree, .simplex = simplex};
    design->parts = WEFT_NEW(arena, struct part, (size_t)degree * n);
    double *demand = WEFT_NEW_RAW(&scratch, double, (size_t)n *n);
    memcpy(demand, traffic->transfer_bytes, (size_t)n * n * sizeof *demand);
    struct making making = {design, demand, rng, arena};
    uint32_t slot = 0;
    for (uint32_t f = 0; f < FAMILIES_MAX; f++) {
        for (uint32_t i = 0; i < template->cycles[f]; i++) {
            add_layer(&making, &families[f], traffic, slot, scratch);
            slot += step;
        }
    }
    for (; slot < degree; slot++) {
        add_matching(&making, slot, scratch);
    }
}

struct design design_copy(const struct design *design, struct weft_arena *arena)
{
    struct design copy = *design;
    copy.parts = WEFT_NEW(arena, struct part, (size_t)design->part_count + 1);
    for (uint32_t p = 0; p < design->part_count; p++) {
        copy.parts[p] = design->parts[p];
        copy.parts[p].order = WEFT_NEW_RAW(arena, uint32_t, (size_t)design->parts[p].size + 1);
    }
    design_assign(&copy, design);
    return copy;
}

void design_assign(struct design *to, const struct design *from)
{
    WEFT_ASSERT(to->part_count == from->part_count);
    to->paths = from->paths;
    to->paper_paths = from->paper_paths;
    for (uint32_t p = 0; p < from->part_count; p++) {
        WEFT_ASSERT(to->parts[p].size == from->parts[p].size);
        uint32_t *order = to->parts[p].order;
        memcpy(order, from->parts[p].order, from->parts[p].size * sizeof *order);
        to->parts[p] = from->parts[p];
        to->parts[p].order = order;
    }
}

// ---- moves ----

static void turn_segment(uint32_t *order, uint32_t first, uint32_t last)
{
    for (; first < last; first++, last--) {
        uint32_t swap = order[first];
        order[first] = order[last];
        order[last] = swap;
    }
}

static void move_server(uint32_t *order, uint32_t from, uint32_t to)
{
    uint32_t server = order[from];
    if (from < to) {
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    } else {
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    }
    order[to] = server;
}

static bool move_cycle(struct part *part, struct weft_rng *rng)
{
    if (part->size < 4) {
        return false;
    }
    uint32_t a = weft_rng_below(rng, part->size);
    uint32_t b = weft_rng_below(rng, part->size);
    if (a == b) {
        return false;
    }
    switch (weft_rng_below(rng, 3)) {
    case 0:
        turn_segment(part->order, a < b ? a : b, a < b ? b : a);
        break;
    case 1:
        move_server(part->order, a, b);
        break;
    default: {
        uint32_t swap = part->order[a];
        part->order[a] = part->order[b];
        part->order[b] = swap;
    }
    }
    return true;
}

static bool move_matching(struct part *part, struct weft_rng *rng)
{
    if (part->size < 3) {
        return false;
    }
    uint32_t a = weft_rng_below(rng, part->size);
    uint32_t b = weft_rng_below(rng, part->size);
    if (a / 2 == b / 2) {
        return false;
    }
    uint32_t swap = part->order[a];
    part->order[a] = part->order[b];
    part->order[b] = swap;
    return true;
}

static bool move_share(struct design *design, struct part *part, struct weft_rng *rng)
{
    double factor = exp2(2 * weft_rng_unit(rng) - 1);
    if (part->lend > 0) {
        part->lend = fmin(4, fmax(1.0 / 16, part->lend * factor));
        return true;
    }
    uint32_t rings = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        rings += design->parts[p].group == part->group ? (design->simplex ? 1 : 2) : 0;
    }
    if (part->group == WEFT_NONE || rings < 2) {
        return false;
    }
    uint32_t way = design->simplex ? 0 : weft_rng_below(rng, 2);
    part->share[way] = fmin(16, fmax(1.0 / 16, part->share[way] * factor));
    return true;
}

bool design_move(struct design *design, struct weft_rng *rng)
{
    for (uint32_t tries = 0; tries < 64 && design->part_count > 0; tries++) {
        struct part *part = &design->parts[weft_rng_below(rng, design->part_count)];
        bool moved;
        if (!part->is_cycle) {
            moved = move_matching(part, rng);
        } else if (weft_rng_below(rng, 8) == 0) {
            moved = move_share(design, part, rng);
        } else {
            moved = move_cycle(part, rng);
        }
        if (moved) {
            design->paper_paths = 0;
            return true;
        }
    }
    return false;
}
