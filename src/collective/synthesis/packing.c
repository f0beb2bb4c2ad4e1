// SPDX-License-Identifier: Apache-2.0
// An AllReduce along packed spanning trees of a fabric, beside what else its links carry.
//
// Every chunk is summed up a spanning tree to its root and the sum handed down the same tree, so
// that it crosses each link of the tree once each way and 2(n-1) links in all, which is the least
// there is (docs/certificate.md). A member moves a chunk as often as its tree has links there: a
// leaf sends it once and receives it once. So the trees decide who moves how much, and a member
// whose ports have other things to carry becomes a leaf of them all.
//
// Trees are packed as in Blink (Wang et al., "Blink: Fast and generic collectives for distributed
// ML", MLSys 2020), which takes fractions of trees by multiplicative weights; here a chunk takes
// one tree, the cheapest (Prim), where a link's price grows with a high power of the time that it
// would be busy (as in Aspnes et al., "On-line routing of virtual circuits", JACM 1997). Then
// chunks are taken out and put in again while trees change, a few times at most. Powers are
// products, so that all machines come to the same trees. O(passes * chunks * n^2).

#include "weft/collective.h"

#include <math.h>
#include <string.h>

// How often all chunks are put in again at most; the second time seldom changes a tree.
#define PASSES_MAX 6u
// The price of a link is its busy time to the 2^PRICE_SQUARINGS: with 64, a link that is busy 10 %
// longer than another is 400 times as dear. With 32 the member of sends_4 that should be a leaf
// forwards 2 % of the chunks, with 128 none, and the iteration stays the same
// (docs/collectives.md).
#define PRICE_SQUARINGS 6u
#define PRICE_MOST 1e300 // below infinity, which would be no link

// Chunks that wait for each other on no link go at once; how many messages of a wave the busiest
// link then has: one up and one down.
#define WAVE_MESSAGES 2u

struct packing {
    uint32_t n;
    uint32_t chunk_count;
    const uint32_t *link; // n*n: from a server to another, or WEFT_NONE
    double *busy_s;       // per link: with what it carries so far, for a byte of the collective
    const double *step_s; // per link: one chunk more
    double unit_s;        // prices count in it: about what the busiest link comes to
    uint32_t *parent;     // chunks * n: of each server in the chunk's tree; the root has itself
};

// ---- trees ----

// Adds a chunk's messages to its links, or (-1) takes them off.
static void load_tree(struct packing *packing, const uint32_t *parent, double sign)
{
    for (uint32_t v = 0; v < packing->n; v++) {
        if (parent[v] != v) {
            uint32_t up = packing->link[(size_t)v * packing->n + parent[v]];
            uint32_t down = packing->link[(size_t)parent[v] * packing->n + v];
            packing->busy_s[up] += sign * packing->step_s[up];
            packing->busy_s[down] += sign * packing->step_s[down];
        }
    }
}

static double link_price(const struct packing *packing, uint32_t link)
{
    double busy_s = packing->busy_s[link] + packing->step_s[link];
    double power = busy_s / packing->unit_s;
    for (uint32_t i = 0; i < PRICE_SQUARINGS; i++) {
        power *= power;
    }
    return fmin(power, PRICE_MOST) * packing->step_s[link] / busy_s;
}

// The cheapest spanning tree, by Prim, as parents of a tree that hangs from server 0. Servers that
// are not joined both ways are no neighbors. False: it does not reach all.
static bool grow_tree(uint32_t *parent, const struct packing *packing, struct weft_arena scratch)
{
    uint32_t n = packing->n;
    double *price = WEFT_NEW_RAW(&scratch, double, n);
    bool *inside = WEFT_NEW(&scratch, bool, n);
    for (uint32_t v = 0; v < n; v++) {
        price[v] = HUGE_VAL;
    }
    price[0] = 0;
    parent[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = WEFT_NONE;
        for (uint32_t v = 0; v < n; v++) {
            if (!inside[v] && price[v] < HUGE_VAL &&
                (next == WEFT_NONE || price[v] < price[next])) {
                next = v;
            }
        }
        if (next == WEFT_NONE) {
            return false;
        }
        inside[next] = true;
        for (uint32_t v = 0; v < n; v++) {
            uint32_t out = packing->link[(size_t)next * n + v];
            uint32_t back = packing->link[(size_t)v * n + next];
            if (inside[v] || out == WEFT_NONE || back == WEFT_NONE) {
                continue;
            }
            double both = link_price(packing, out) + link_price(packing, back);
            if (both < price[v]) {
                price[v] = both;
                parent[v] = next;
            }
        }
    }
    return true;
}

static bool pack(struct packing *packing, struct weft_arena scratch)
{
    uint32_t n = packing->n;
    uint32_t *tree = WEFT_NEW_RAW(&scratch, uint32_t, n);
    bool changed = true;
    for (uint32_t pass = 0; pass < PASSES_MAX && changed; pass++) {
        changed = false;
        for (uint32_t c = 0; c < packing->chunk_count; c++) {
            uint32_t *parent = packing->parent + (size_t)c * n;
            if (pass > 0) {
                load_tree(packing, parent, -1);
            }
            if (!grow_tree(tree, packing, scratch)) {
                return false;
            }
            changed = changed || pass == 0 || memcmp(tree, parent, n * sizeof *tree) != 0;
            memcpy(parent, tree, n * sizeof *tree);
            load_tree(packing, parent, 1);
        }
    }
    return true;
}

// ---- from trees to rounds ----

// The server from which the tree is least deep, so that its chunks are there soonest. Distances are
// counted pair by pair over the nearest common ancestor; trees are small.
static uint32_t find_center(const uint32_t *parent, uint32_t n, struct weft_arena scratch)
{
    uint32_t *deepest = WEFT_NEW_RAW(&scratch, uint32_t, n);
    memset(deepest, 0, n * sizeof *deepest);
    for (uint32_t a = 0; a < n; a++) {
        uint32_t *up = WEFT_NEW_RAW(&scratch, uint32_t, n);
        memset(up, 0xff, n * sizeof *up);
        uint32_t steps = 0;
        for (uint32_t v = a;; v = parent[v]) {
            up[v] = steps++;
            if (parent[v] == v) {
                break;
            }
        }
        for (uint32_t b = 0; b < n; b++) {
            uint32_t distance = 0;
            uint32_t v = b;
            for (; up[v] == WEFT_NONE; v = parent[v]) {
                distance++;
            }
            distance += up[v];
            deepest[a] = distance > deepest[a] ? distance : deepest[a];
        }
    }
    uint32_t center = 0;
    for (uint32_t v = 1; v < n; v++) {
        center = deepest[v] < deepest[center] ? v : center;
    }
    return center;
}

// Hangs the tree from another of its servers.
static void hang_from(uint32_t *parent, uint32_t root)
{
    uint32_t before = root;
    uint32_t at = root;
    while (parent[at] != at) {
        uint32_t next = parent[at];
        parent[at] = before;
        before = at;
        at = next;
    }
    parent[at] = before;
}

// Depth of each server; returns the largest.
static uint32_t measure_depth(uint32_t *depth, const uint32_t *parent, uint32_t n)
{
    uint32_t height = 0;
    for (uint32_t v = 0; v < n; v++) {
        depth[v] = 0;
        for (uint32_t at = v; parent[at] != at; at = parent[at]) {
            depth[v]++;
        }
        height = depth[v] > height ? depth[v] : height;
    }
    return height;
}

// Chunks that begin in one round: about as many as keep the busiest link at WAVE_MESSAGES.
static uint32_t wave_size(const struct packing *packing, uint32_t link_count,
                          struct weft_arena scratch)
{
    uint32_t n = packing->n;
    uint32_t *messages = WEFT_NEW(&scratch, uint32_t, link_count);
    uint32_t most = 1;
    for (uint32_t c = 0; c < packing->chunk_count; c++) {
        const uint32_t *parent = packing->parent + (size_t)c * n;
        for (uint32_t v = 0; v < n; v++) {
            uint32_t up = packing->link[(size_t)v * n + parent[v]];
            uint32_t down = packing->link[(size_t)parent[v] * n + v];
            if (parent[v] != v) {
                most = ++messages[up] > most ? messages[up] : most;
                most = ++messages[down] > most ? messages[down] : most;
            }
        }
    }
    return (WAVE_MESSAGES * packing->chunk_count + most - 1) / most;
}

static struct weft_step make_step(enum weft_step_op op, uint32_t round, uint32_t from, uint32_t to,
                                  uint32_t slot)
{
    return (struct weft_step){
        .op = op,
        .first_round = round,
        .round_count = 1,
        .item_count = 1,
        .slot_count = 1,
        .label = WEFT_NONE,
        .from = weft_index_fixed(from),
        .to = weft_index_fixed(to),
        .from_slot = weft_index_fixed(slot),
        .to_slot = weft_index_fixed(slot),
    };
}

// Steps in order of their rounds, stable.
static void sort_steps(struct weft_step *sorted, const struct weft_step *steps, uint32_t count,
                       uint32_t round_count, struct weft_arena scratch)
{
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)round_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        first[steps[i].first_round + 1]++;
    }
    for (uint32_t r = 0; r < round_count; r++) {
        first[r + 1] += first[r];
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[first[steps[i].first_round]++] = steps[i];
    }
}

// Up each tree a level a round, deepest first, and down it; wave behind wave.
static struct weft_schedule write_rounds(const struct packing *packing, uint32_t wave,
                                         struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = packing->n;
    uint32_t chunks = packing->chunk_count;
    uint32_t step_max = chunks * 2 * (n - 1);
    struct weft_step *steps = WEFT_NEW_RAW(&scratch, struct weft_step, step_max);
    uint32_t *depth = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t count = 0;
    uint32_t round_count = 0;
    for (uint32_t c = 0; c < chunks; c++) {
        uint32_t *parent = packing->parent + (size_t)c * n;
        hang_from(parent, find_center(parent, n, scratch));
        uint32_t height = measure_depth(depth, parent, n);
        uint32_t base = c / wave;
        for (uint32_t v = 0; v < n; v++) {
            if (parent[v] != v) {
                steps[count++] =
                    make_step(WEFT_STEP_REDUCE, base + height - depth[v], v, parent[v], c);
                steps[count++] =
                    make_step(WEFT_STEP_COPY, base + height + depth[v] - 1, parent[v], v, c);
            }
        }
        round_count = base + 2 * height > round_count ? base + 2 * height : round_count;
    }
    WEFT_ASSERT(count == step_max);
    struct weft_step *sorted = WEFT_NEW_RAW(arena, struct weft_step, count);
    sort_steps(sorted, steps, count, round_count, scratch);
    return (struct weft_schedule){
        .name = weft_algorithm_name(WEFT_ALGORITHM_PACKED_TREES),
        .kind = WEFT_COLLECTIVE_ALLREDUCE,
        .rank_count = n,
        .chunk_count = chunks,
        .slot_count = chunks,
        .in_order = true,
        .round_count = round_count,
        .step_count = count,
        .steps = sorted,
    };
}

// ---- all of it ----

// What the busiest link comes to about: no server's links, and not all together, do better.
static double find_unit(const struct weft_fabric *fabric, const double *load_ratio, uint32_t n,
                        struct weft_arena scratch)
{
    double *load = WEFT_NEW(&scratch, double, 2 * (size_t)n);
    double *rate_Bps = WEFT_NEW(&scratch, double, 2 * (size_t)n);
    double unit_s = 0;
    double all = 2.0 * (n - 1);
    double all_Bps = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *link = &fabric->links[e];
        double carried = load_ratio == NULL ? 0 : load_ratio[e];
        load[link->from] += carried;
        load[n + link->to] += carried;
        rate_Bps[link->from] += link->rate_Bps;
        rate_Bps[n + link->to] += link->rate_Bps;
        all += carried;
        all_Bps += link->rate_Bps;
    }
    for (uint32_t i = 0; i < 2 * n; i++) {
        unit_s = rate_Bps[i] > 0 ? fmax(unit_s, (load[i] + 1) / rate_Bps[i]) : unit_s;
    }
    return fmax(unit_s, all / all_Bps);
}

bool weft_pack_trees(struct weft_schedule *schedule, const struct weft_fabric *fabric,
                     const struct weft_packing_options *options,
                     const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t n = fabric->server_count;
    uint32_t chunks = options->chunk_count > 0 ? options->chunk_count : 1;
    if (n < 2 || fabric->node_count != n ||
        (uint64_t)chunks * 2 * (n - 1) > WEFT_PACKING_STEPS_MAX) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "packed trees of %u chunks over %u nodes, %u of them servers: they take "
                         "2 to %u steps over servers joined to each other; take another algorithm",
                         chunks, fabric->node_count, n, WEFT_PACKING_STEPS_MAX);
    }
    uint32_t *link = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)n * n);
    memset(link, 0xff, (size_t)n * n * sizeof *link);
    double *busy_s = WEFT_NEW(&scratch, double, (size_t)fabric->link_count + 1);
    double *step_s = WEFT_NEW(&scratch, double, (size_t)fabric->link_count + 1);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *found = &fabric->links[e];
        link[(size_t)found->from * n + found->to] = e;
        busy_s[e] = options->load_ratio == NULL ? 0 : options->load_ratio[e] / found->rate_Bps;
        step_s[e] = 1 / (chunks * found->rate_Bps);
    }
    struct packing packing = {.n = n,
                              .chunk_count = chunks,
                              .link = link,
                              .busy_s = busy_s,
                              .step_s = step_s,
                              .unit_s = find_unit(fabric, options->load_ratio, n, scratch),
                              .parent = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)chunks * n)};
    if (!pack(&packing, scratch)) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "packed trees: not all servers are joined by links both ways; take "
                         "another algorithm");
    }
    uint32_t wave = wave_size(&packing, fabric->link_count, scratch);
    *schedule = write_rounds(&packing, wave, environment->arena, scratch);
    return true;
}
