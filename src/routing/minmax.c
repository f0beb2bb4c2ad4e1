// SPDX-License-Identifier: Apache-2.0
// Min-max link load over weighted paths.
//
// The largest load is softened to sum exp(alpha * load / largest): its gradient prices the links.
// Every round finds each pair's cheapest path within its hops (new columns) and shifts bytes from
// dearer paths to it by Newton's step, with a steeper alpha each round; prices move with every
// shift. Prices prove a lower bound at any time, which tells when to stop.

#include "minmax.h"

#include <math.h>
#include <string.h>

// How the search spends its effort. The values were chosen together by the gaps and times of
// build/bench/bench_minmax 128 4 and by tests/oracle/test_minmax, against the exact optimum of
// small cases (docs/routing.md has both); single ones were not measured alone.
#define SPARE_SLOTS 3u    // paths a pair may have beyond those kept, while searching
#define SWEEPS_A_ROUND 2u // shifts among the paths known, between two searches
#define FINAL_ATTEMPTS 4u // at dropping small paths without a larger load than before
#define FINAL_SWEEPS 6u   // shifts after paths were dropped
#define ALPHA_FIRST 12.0  // steepness of the first round
// Growth of alpha a round: slow enough that bytes settle at each steepness, fast enough to reach
// the last one in ALPHA_SPAN of the rounds.
#define ALPHA_GROWTH_MIN 1.06
#define ALPHA_GROWTH_MAX 1.2
#define ALPHA_SPAN 0.8
#define ALPHA_GROWTH_FINAL 1.3
#define EPSILON_MIN 1e-4 // bounds the last steepness where the caller asks for no gap at all
#define KEPT_RATIO 0.003 // of a pair's bytes: paths below are dropped at the end
#define BOUND_EVERY 4u   // rounds between two bounds

// ---- moving bytes ----

static double path_price(const struct minmax *m, const struct slot *slot)
{
    double price = 0;
    for (uint32_t i = 0; i < slot->count; i++) {
        price += m->length[slot->links[i]];
    }
    return price;
}

static void add_load(struct minmax *m, const struct slot *slot, double bytes)
{
    for (uint32_t i = 0; i < slot->count; i++) {
        m->load_bytes[slot->links[i]] += bytes;
        minmax_price(m, slot->links[i]);
    }
}

// Shifts bytes from one path of a pair to another until both cost the same. The logarithm of a
// path's price is nearly linear in what it carries, as its fullest link makes the price, so that
// Newton's step on the logarithms' difference lands close where one on the prices would crawl.
static void shift(struct minmax *m, struct slot *from, struct slot *to)
{
    m->stamp_now += 2;
    struct {
        double price;
        double slope; // of the price, in units of alpha / scale
    } dear = {0, 0}, cheap = {0, 0};
    for (uint32_t i = 0; i < to->count; i++) {
        m->stamp[to->links[i]] = m->stamp_now;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t link = from->links[i];
        if (m->stamp[link] == m->stamp_now) {
            m->stamp[link] = m->stamp_now + 1; // on both
            continue;
        }
        dear.price += m->length[link];
        dear.slope += m->length[link] * m->inverse_rate[link];
    }
    for (uint32_t i = 0; i < to->count; i++) {
        uint32_t link = to->links[i];
        if (m->stamp[link] == m->stamp_now) {
            cheap.price += m->length[link];
            cheap.slope += m->length[link] * m->inverse_rate[link];
        }
    }
    if (dear.price <= cheap.price || cheap.price <= 0) {
        return;
    }
    double steepness = dear.slope / dear.price + cheap.slope / cheap.price;
    double step = log(dear.price / cheap.price) * m->scale_s / (m->alpha * steepness);
    double bytes = fmin(from->bytes, step);
    from->bytes -= bytes;
    to->bytes += bytes;
    add_load(m, from, -bytes);
    add_load(m, to, bytes);
}

static struct slot *pair_slots(const struct minmax *m, const struct pair *pair)
{
    return m->slots + (size_t)(pair - m->pairs) * m->slots_a_pair;
}

// Shifts to `target` from all other paths of the pair.
static void shift_all(struct minmax *m, const struct pair *pair, struct slot *target)
{
    struct slot *slots = pair_slots(m, pair);
    for (uint32_t i = 0; i < pair->path_count; i++) {
        if (&slots[i] != target && slots[i].bytes > 0) {
            shift(m, &slots[i], target);
        }
    }
}

static struct slot *cheapest_slot(const struct minmax *m, const struct pair *pair)
{
    struct slot *slots = pair_slots(m, pair);
    struct slot *best = &slots[0];
    double best_price = path_price(m, best);
    for (uint32_t i = 1; i < pair->path_count; i++) {
        double price = path_price(m, &slots[i]);
        if (price < best_price) {
            best = &slots[i];
            best_price = price;
        }
    }
    return best;
}

static void sweep(struct minmax *m)
{
    for (uint32_t p = 0; p < m->pair_count; p++) {
        if (m->pairs[p].path_count > 1) {
            shift_all(m, &m->pairs[p], cheapest_slot(m, &m->pairs[p]));
        }
    }
}

// ---- columns ----

static void store_path(struct minmax *m, struct slot *slot, const uint32_t *links, uint32_t count)
{
    if (slot->room < count) {
        slot->links = WEFT_NEW_RAW(m->pool, uint32_t, count);
        slot->room = count;
    }
    memcpy(slot->links, links, count * sizeof *links);
    slot->count = count;
}

// The slot of this path among the pair's, made where it is new. When all slots are taken the one
// with fewest bytes gives way and its bytes take the new path.
static struct slot *take_path(struct minmax *m, struct pair *pair, const uint32_t *links,
                              uint32_t count)
{
    struct slot *slots = pair_slots(m, pair);
    uint32_t least = 0;
    for (uint32_t i = 0; i < pair->path_count; i++) {
        if (slots[i].count == count && memcmp(slots[i].links, links, count * sizeof *links) == 0) {
            return &slots[i];
        }
        least = slots[i].bytes < slots[least].bytes ? i : least;
    }
    if (pair->path_count < m->slots_a_pair) {
        struct slot *slot = &slots[pair->path_count];
        slot->bytes = pair->path_count == 0 ? pair->bytes : 0;
        store_path(m, slot, links, count);
        add_load(m, slot, slot->bytes);
        pair->path_count++;
        return slot;
    }
    add_load(m, &slots[least], -slots[least].bytes);
    store_path(m, &slots[least], links, count);
    add_load(m, &slots[least], slots[least].bytes);
    return &slots[least];
}

// One search from every source, shifting as it goes.
static void add_columns(struct minmax *m, struct layers *layers, uint32_t *links)
{
    for (uint32_t s = 0; s < m->fabric->server_count; s++) {
        layers_search(layers, m, s);
        for (uint32_t p = m->pair_first[s]; p < m->pair_first[s + 1]; p++) {
            struct pair *pair = &m->pairs[p];
            uint32_t count = layers_path(layers, m, pair->to, pair->hops_max, links);
            shift_all(m, pair, take_path(m, pair, links, count));
        }
    }
}

// Keeps the paths_max heaviest paths of each pair, none below KEPT_RATIO, and sweeps again.
static void drop_paths(struct minmax *m, uint32_t paths_max)
{
    for (uint32_t p = 0; p < m->pair_count; p++) {
        struct pair *pair = &m->pairs[p];
        struct slot *slots = pair_slots(m, pair);
        for (;;) {
            uint32_t least = 0;
            for (uint32_t i = 1; i < pair->path_count; i++) {
                least = slots[i].bytes < slots[least].bytes ? i : least;
            }
            bool light = slots[least].bytes < KEPT_RATIO * pair->bytes;
            if (pair->path_count == 1 || (pair->path_count <= paths_max && !light)) {
                break;
            }
            struct slot gone = slots[least];
            slots[least] = slots[--pair->path_count];
            slots[pair->path_count] = gone; // its room for links stays one slot's own
            struct slot *heir = cheapest_slot(m, pair);
            add_load(m, &gone, -gone.bytes);
            add_load(m, heir, gone.bytes);
            heir->bytes += gone.bytes;
        }
    }
}

// ---- set-up ----

static void list_pairs(struct minmax *m, const double *demand, struct weft_arena *arena)
{
    uint32_t n = m->fabric->server_count;
    uint32_t count = 0;
    for (size_t i = 0; i < (size_t)n * n; i++) {
        count += i % (n + 1) != 0 && demand[i] > 0;
    }
    m->pairs = WEFT_NEW(arena, struct pair, count);
    m->pair_first = WEFT_NEW(arena, uint32_t, (size_t)n + 1);
    for (uint32_t s = 0; s < n; s++) {
        m->pair_first[s] = m->pair_count;
        for (uint32_t t = 0; t < n; t++) {
            if (s != t && demand[(size_t)s * n + t] > 0) {
                m->pairs[m->pair_count++] =
                    (struct pair){.from = s, .to = t, .bytes = demand[(size_t)s * n + t]};
            }
        }
    }
    m->pair_first[n] = m->pair_count;
}

// Sets every pair's hop bound; fails where a pair of servers has no path at all. *hops_max is the
// largest bound.
static bool bound_hops(struct minmax *m, uint32_t extra_hops, uint32_t *hops_max,
                       const struct weft_graph *reverse, struct weft_arena scratch,
                       struct weft_error *error)
{
    uint32_t n = m->fabric->server_count;
    uint32_t nodes = m->fabric->node_count;
    uint32_t *next_pair = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, nodes);
    memcpy(next_pair, m->pair_first, n * sizeof *next_pair);
    *hops_max = 1;
    for (uint32_t t = 0; t < n; t++) {
        hops_to_target(hops, m->fabric, reverse, t, scratch);
        for (uint32_t s = 0; s < n; s++) {
            if (hops[s] == WEFT_NONE) {
                return fabric_no_path(m->fabric, s, t, error);
            }
            struct pair *pair = &m->pairs[next_pair[s]];
            if (next_pair[s] < m->pair_first[s + 1] && pair->to == t) {
                next_pair[s]++;
                uint64_t bound = (uint64_t)hops[s] + extra_hops;
                pair->hops_max = bound < nodes ? (uint32_t)bound : nodes - 1;
                *hops_max = pair->hops_max > *hops_max ? pair->hops_max : *hops_max;
            }
        }
    }
    return true;
}

static void init(struct minmax *m, const struct weft_fabric *fabric, const double *demand,
                 const struct weft_minmax_options *options, struct weft_arena *arena)
{
    uint32_t links = fabric->link_count;
    *m = (struct minmax){.fabric = fabric, .slots_a_pair = options->paths_max + SPARE_SLOTS};
    m->load_bytes = WEFT_NEW(arena, double, links);
    m->base_bytes = WEFT_NEW(arena, double, links);
    m->inverse_rate = WEFT_NEW_RAW(arena, double, links);
    m->length = WEFT_NEW_RAW(arena, double, links);
    m->stamp = WEFT_NEW(arena, uint32_t, links);
    for (uint32_t l = 0; l < links; l++) {
        m->inverse_rate[l] = 1 / fabric->links[l].rate_Bps;
        if (options->link_base_bytes != NULL) {
            m->base_bytes[l] = options->link_base_bytes[l];
            m->load_bytes[l] = options->link_base_bytes[l];
        }
    }
    list_pairs(m, demand, arena);
    m->slots = WEFT_NEW(arena, struct slot, (size_t)m->pair_count * m->slots_a_pair);
}

// ---- the rounds ----

// A load below which the largest cannot be: all bytes on shortest paths, spread evenly.
static double even_seconds(const struct minmax *m, uint32_t extra_hops)
{
    double bytes = 0;
    double rate_Bps = 0;
    for (uint32_t l = 0; l < m->fabric->link_count; l++) {
        bytes += m->base_bytes[l];
        rate_Bps += m->fabric->links[l].rate_Bps;
    }
    for (uint32_t p = 0; p < m->pair_count; p++) {
        uint32_t hops = m->pairs[p].hops_max;
        bytes += m->pairs[p].bytes * (hops > extra_hops ? hops - extra_hops : 1);
    }
    return bytes / rate_Bps;
}

// Drops what is not to be kept and settles again. Where a path is missed the searches bring it, or
// its like, back.
static void finish(struct minmax *m, const struct weft_minmax_options *options,
                   struct layers *layers, uint32_t *links, double alpha, double alpha_max)
{
    double wanted = minmax_max_seconds(m) * (1 + options->epsilon / 4);
    for (uint32_t attempt = 0; attempt < FINAL_ATTEMPTS; attempt++) {
        if (attempt > 0) {
            add_columns(m, layers, links);
            sweep(m);
        }
        drop_paths(m, options->paths_max);
        double steepness = alpha;
        for (uint32_t i = 0; i < FINAL_SWEEPS; i++) {
            minmax_reprice(m, fmin(steepness, alpha_max));
            sweep(m);
            steepness *= ALPHA_GROWTH_FINAL;
        }
        if (minmax_reprice(m, fmin(alpha, alpha_max)) <= wanted) {
            break;
        }
    }
}

// Runs the rounds: reprice, find each pair's cheapest path, shift bytes, and make the prices
// steeper, until the largest load is within epsilon of a proved bound or the rounds are over.
// Returns the bound.
static double solve(struct minmax *m, const struct weft_minmax_options *options,
                    const struct weft_graph *graph, uint32_t hops_max, struct weft_arena *pool,
                    struct weft_arena work)
{
    struct layers layers;
    layers_init(&layers, m->fabric, hops_max, pool);
    uint32_t *links = WEFT_NEW_RAW(pool, uint32_t, hops_max);
    m->pool = pool;
    double bound = minmax_port_bound(m, work);
    double within = bound; // what the allowed hops allow: tells when to stop
    minmax_reprice(m, ALPHA_FIRST / 2);
    m->scale_s = fmax(fmax(bound, even_seconds(m, options->extra_hops)), 1e-300);
    for (uint32_t l = 0; l < m->fabric->link_count; l++) {
        minmax_price(m, l);
    }
    add_columns(m, &layers, links);
    double alpha_max =
        fmax(ALPHA_FIRST, log(2.0 + m->fabric->link_count) / fmax(options->epsilon, EPSILON_MIN));
    double growth = pow(alpha_max / ALPHA_FIRST, 1 / (ALPHA_SPAN * fmax(options->rounds_max, 1)));
    growth = fmin(fmax(growth, ALPHA_GROWTH_MIN), ALPHA_GROWTH_MAX);
    double alpha = ALPHA_FIRST;
    for (uint32_t round = 1; round <= options->rounds_max && m->pair_count > 0; round++) {
        double most = minmax_reprice(m, fmin(alpha, alpha_max));
        if (round % BOUND_EVERY == 0) {
            bool proves = !options->unproved || routes_all_pairs(m->fabric);
            bound = proves ? fmax(bound, minmax_price_bound(m, graph, work)) : bound;
            within = fmax(within, minmax_hop_bound(m, &layers));
        }
        if (most <= fmax(bound, within) * (1 + options->epsilon)) {
            break;
        }
        add_columns(m, &layers, links);
        for (uint32_t i = 0; i < SWEEPS_A_ROUND; i++) {
            sweep(m);
        }
        alpha *= growth;
    }
    minmax_reprice(m, fmin(alpha, alpha_max));
    bound = options->unproved ? bound : fmax(bound, minmax_price_bound(m, graph, work));
    finish(m, options, &layers, links, alpha, alpha_max);
    return bound;
}

// ---- results ----

static void sum_loads(struct minmax *m)
{
    memcpy(m->load_bytes, m->base_bytes, m->fabric->link_count * sizeof *m->load_bytes);
    for (uint32_t p = 0; p < m->pair_count; p++) {
        const struct slot *slots = pair_slots(m, &m->pairs[p]);
        for (uint32_t i = 0; i < m->pairs[p].path_count; i++) {
            for (uint32_t h = 0; h < slots[i].count; h++) {
                m->load_bytes[slots[i].links[h]] += slots[i].bytes;
            }
        }
    }
}

// The table of the paths that carry bytes; pairs without demand get one shortest path, so that
// whatever else they send arrives.
static bool build_table(struct weft_routes *routes, const struct minmax *m, const double *demand,
                        const struct weft_graph *reverse,
                        const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t n = m->fabric->server_count;
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, m->fabric->node_count);
    struct weft_arena work = weft_arena_split(&scratch);
    struct path_list list;
    path_list_init(&list, &scratch);
    for (uint32_t p = 0; p < m->pair_count; p++) {
        const struct slot *slots = pair_slots(m, &m->pairs[p]);
        for (uint32_t i = 0; i < m->pairs[p].path_count; i++) {
            if (slots[i].bytes <= 0) {
                continue;
            }
            path_list_start(&list, m->pairs[p].from, slots[i].bytes);
            for (uint32_t h = 0; h < slots[i].count; h++) {
                path_list_node(&list, m->fabric->links[slots[i].links[h]].to);
            }
        }
    }
    for (uint32_t t = 0; t < n && routes_all_pairs(m->fabric); t++) {
        hops_to_target(hops, m->fabric, reverse, t, work);
        for (uint32_t s = 0; s < n; s++) {
            if (s != t && !(demand[(size_t)s * n + t] > 0)) {
                path_list_shortest(&list, m->fabric, hops, s, weft_hash((uint64_t)s << 32 | t));
            }
        }
    }
    if (!path_list_build(routes, &list, m->fabric, environment->arena, work, environment->error)) {
        return false;
    }
    routes->spread = WEFT_SPREAD_SPLIT;
    return true;
}

bool weft_routing_minmax(struct weft_routes *routes, struct weft_minmax_result *result,
                         const struct weft_fabric *fabric, const double *demand,
                         const struct weft_minmax_options *options,
                         const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    WEFT_ASSERT(options->paths_max > 0 && options->epsilon >= 0);
    struct minmax m;
    struct weft_graph graph;
    struct weft_graph reverse;
    uint32_t hops_max;
    init(&m, fabric, demand, options, &inner.scratch);
    fabric_graph(&graph, fabric, &inner.scratch);
    weft_graph_reverse(&reverse, NULL, &graph, &inner.scratch);
    if (!bound_hops(&m, options->extra_hops, &hops_max, &reverse, inner.scratch, inner.error)) {
        return false;
    }
    // Paths grow in the front half of the scratch while the searches work in the back half.
    struct weft_arena work = weft_arena_split(&inner.scratch);
    double bound = solve(&m, options, &graph, hops_max, &inner.scratch, work);
    sum_loads(&m);
    if (routes != NULL && !build_table(routes, &m, demand, &reverse, &inner)) {
        return false;
    }
    double most = minmax_max_seconds(&m);
    *result = (struct weft_minmax_result){most, fmin(bound, most)};
    return true;
}
