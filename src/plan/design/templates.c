// SPDX-License-Identifier: Apache-2.0
// Families, templates, and one design of each.
//
// How many planes go to rings of which groups cannot be changed by a move, so that all ways are
// tried (docs/plan.md, "Designs"). A design of a template is made greedily: its cycles walk along
// heavy transfers, its matchings are of maximum weight, and what a link already serves counts half
// for the links after it, as in TopologyFinder (TopoOpt, section 4.2). Matchings take O(n^3) each.
//
// src/topology/search/mix.c splits the degree as well, which stays double: there families hold
// groups of one size, because each is a lane of the load that chains of thousands of steps
// evaluate; here a split gets one design and one simulation, and a family may hold groups of any
// size. The search tries what both find, because each finds what the other does not: of ten plans
// (dlrm_16, moe_16 and gpt_16 at d = 4 and 25 Gbps, dlrm_16 at d = 3 and moe_16 at d = 5 and
// 100 Gbps, --effort 0.4, two seeds) they take 2.3 % longer on average without the mixed design
// among the seeds (9.2 % at most), and 0.4 % without templates (2.9 % at most).

#include "templates.h"

#include "weft/graph.h"

#include <math.h>
#include <string.h>

// On more servers than these matchings are made by the components of the demand: those of 4,096
// servers took half a minute a design, and take less than a second so.
#define MANY_SERVERS 1024u

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

struct design_space design_space_build(const struct weft_traffic *traffic, uint32_t degree,
                                       bool simplex, struct weft_arena *arena,
                                       struct weft_arena scratch)
{
    struct design_space space = {.traffic = traffic, .degree = degree, .simplex = simplex};
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
        space.families[count++] = (struct family){group_count, groups};
    }
    if (!all) {
        space.families[count++] = (struct family){0, NULL};
    }
    space.family_count = count;
    return space;
}

uint32_t design_templates(struct template *templates, uint32_t most,
                          const struct design_space *space)
{
    uint32_t family_count = space->family_count;
    uint32_t layers = space->degree / (space->simplex ? 1 : 2);
    uint32_t count = 0;
    // Every way to give `used` layers to the families, counted up like an odometer; most layers
    // first.
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

struct builder {
    const struct design_space *space;
    struct weft_design design;
    double *demand; // n*n, discounted on the way
    struct weft_rng *rng;
    struct weft_arena *arena;
};

static void add_cycle(struct builder *builder, const uint32_t *members, uint32_t count,
                      uint32_t slot, uint32_t group)
{
    uint32_t n = builder->design.server_count;
    if (count < 2) {
        return;
    }
    enum weft_part_kind kind = builder->space->simplex ? WEFT_PART_RING : WEFT_PART_CYCLE;
    struct weft_part *part =
        weft_design_add(&builder->design, kind, slot, members, count, builder->arena);
    walk_heavy(part->order, members, count, builder->demand, n, builder->rng);
    for (uint32_t i = 0; i < count; i++) {
        discount(builder->demand, n, part->order[i], part->order[(i + 1) % count]);
    }
    part->group = group;
    part->shared_ring = count == n ? SHARED_RING_WEIGHT : 0;
}

// One layer of a family: a cycle of each group, and one of the servers left over.
static void add_layer(struct builder *builder, const struct family *family, uint32_t slot,
                      struct weft_arena scratch)
{
    const struct weft_traffic *traffic = builder->space->traffic;
    uint32_t n = builder->design.server_count;
    bool *taken = WEFT_NEW(&scratch, bool, n);
    for (uint32_t i = 0; i < family->group_count; i++) {
        const struct weft_traffic_group *group = &traffic->groups[family->groups[i]];
        add_cycle(builder, group->members, group->member_count, slot, family->groups[i]);
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
    add_cycle(builder, left, left_count, slot, WEFT_NONE);
}

// A maximum-weight matching, component by component of the pairs with a weight: pipelines and
// context rings of a transformer are thousands of small ones. Of equal weights it may choose others
// than weft_graph_match of all. O(n^2), and O(k^3) a component of k servers.
static void match_apart(uint32_t *mate, uint32_t n, const int64_t *weights,
                        struct weft_arena scratch)
{
    uint32_t *members = WEFT_NEW_RAW(&scratch, uint32_t, n); // of one component, breadth first
    bool *found = WEFT_NEW(&scratch, bool, n);
    for (uint32_t root = 0; root < n; root++) {
        uint32_t count = 0;
        if (!found[root]) {
            found[root] = true;
            members[count++] = root;
        }
        for (uint32_t i = 0; i < count; i++) {
            const int64_t *row = weights + (size_t)members[i] * n;
            for (uint32_t v = 0; v < n; v++) {
                if (row[v] > 0 && !found[v]) {
                    found[v] = true;
                    members[count++] = v;
                }
            }
        }
        struct weft_arena work = scratch;
        int64_t *own = WEFT_NEW_RAW(&work, int64_t, (size_t)count * count + 1);
        uint32_t *own_mate = WEFT_NEW_RAW(&work, uint32_t, (size_t)count + 1);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < count; j++) {
                own[(size_t)i * count + j] = weights[(size_t)members[i] * n + members[j]];
            }
        }
        if (count > 0) {
            weft_graph_match(own_mate, count, own, work);
        }
        for (uint32_t i = 0; i < count; i++) {
            mate[members[i]] = members[own_mate[i]];
        }
    }
}

// A maximum-weight matching of what demand is left; servers without demand are paired at random.
static void add_matching(struct builder *builder, uint32_t slot, struct weft_arena scratch)
{
    uint32_t n = builder->design.server_count;
    double most = 0;
    for (size_t i = 0; i < (size_t)n * n; i++) {
        most = fmax(most, builder->demand[i]);
    }
    int64_t *weights = WEFT_NEW(&scratch, int64_t, (size_t)n * n);
    for (uint32_t a = 0; a < n && most > 0; a++) {
        for (uint32_t b = a + 1; b < n; b++) {
            double bytes = builder->demand[(size_t)a * n + b] + builder->demand[(size_t)b * n + a];
            // Ten random low bits break ties differently for each design.
            int64_t weight = ((int64_t)(bytes / most * 0x1p30) << 10) +
                             (bytes > 0 ? (int64_t)weft_rng_below(builder->rng, 1024) : 0);
            weights[(size_t)a * n + b] = weight;
            weights[(size_t)b * n + a] = weight;
        }
    }
    uint32_t *mate = WEFT_NEW_RAW(&scratch, uint32_t, n);
    if (n > MANY_SERVERS) {
        match_apart(mate, n, weights, scratch);
    } else {
        weft_graph_match(mate, n, weights, scratch);
    }
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *single = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t count = 0;
    uint32_t single_count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (mate[s] == s) {
            single[single_count++] = s;
        } else if (mate[s] > s) {
            order[count++] = s;
            order[count++] = mate[s];
            discount(builder->demand, n, s, mate[s]);
        }
    }
    weft_rng_shuffle(builder->rng, single, single_count);
    memcpy(order + count, single, single_count * sizeof *single);
    weft_design_add(&builder->design, WEFT_PART_MATCHING, slot, order, n, builder->arena);
}

struct weft_design design_build(const struct template *template, const struct design_space *space,
                                struct weft_rng *rng, struct weft_arena *arena,
                                struct weft_arena scratch)
{
    const struct weft_traffic *traffic = space->traffic;
    uint32_t n = traffic->server_count;
    uint32_t degree = space->degree;
    uint32_t step = space->simplex ? 1 : 2;
    double *demand = WEFT_NEW_RAW(&scratch, double, (size_t)n *n);
    memcpy(demand, traffic->transfer_bytes, (size_t)n * n * sizeof *demand);
    struct builder builder = {.space = space,
                              .design = weft_design_open(n, degree, 1, degree * n, arena),
                              .demand = demand,
                              .rng = rng,
                              .arena = arena};
    builder.design.simplex = space->simplex;
    uint32_t slot = 0;
    for (uint32_t f = 0; f < FAMILIES_MAX; f++) {
        for (uint32_t i = 0; i < template->cycles[f]; i++) {
            add_layer(&builder, &space->families[f], slot, scratch);
            slot += step;
        }
    }
    for (; slot < degree; slot++) {
        add_matching(&builder, slot, scratch);
    }
    return builder.design;
}
