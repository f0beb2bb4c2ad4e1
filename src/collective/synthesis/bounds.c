// SPDX-License-Identifier: Apache-2.0
// Lower bounds on the time of a collective on a fabric: by latency (the farthest pair that must
// hear of each other, by Dijkstra), by bytes over cuts (what must enter or leave a set of nodes
// over the rate of the links that cross it; every server, prefixes of the nodes in breadth-first
// orders, and all servers together), for an all-to-all by hops times bytes over the rate of all
// links, and for whole chunks that are stored before they are sent on. All are rounded down.
// docs/synthesis.md derives them; each holds for any schedule, and the synthesizer asserts that its
// own time is no less. O(servers * links).

#include "bounds.h"

#include <math.h>
#include <string.h>

// Sources of distances, and of breadth-first orders whose prefixes are cuts. Any choice of them
// gives bounds that hold.
// How many servers shortest paths, and breadth-first orders, begin at. They bound the time of the
// bound on large fabrics: fewer sources can only weaken it. Not measured beyond that.
#define SOURCES_MAX 256u
#define ORDERS_MAX 8u

struct problem {
    const struct weft_synth *synth;
    const struct weft_fabric *fabric;
    enum weft_collective_kind kind;
    double size_bytes;
    uint32_t root;
    struct weft_graph graph;
    struct weft_graph reverse;
    const uint32_t *reverse_origin;
};

// Bytes that must enter a set of x of the n servers. ALLGATHER: the parts of those outside.
// REDUCE_SCATTER: for each part that ends inside, at least one word for a word of outside's
// addends. ALLREDUCE: the same for all of S. BROADCAST: S unless the root is inside. REDUCE: S if
// it is. ALLTOALL: what those outside have for those inside.
static double bytes_into(const struct problem *problem, uint32_t inside, bool root_inside)
{
    double n = problem->fabric->server_count;
    double x = inside;
    if (inside == 0 || inside == problem->fabric->server_count) {
        return 0;
    }
    switch (problem->kind) {
    case WEFT_COLLECTIVE_ALLGATHER:
        return (n - x) / n * problem->size_bytes;
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
        return x / n * problem->size_bytes;
    case WEFT_COLLECTIVE_ALLREDUCE:
        return problem->size_bytes;
    case WEFT_COLLECTIVE_BROADCAST:
        return root_inside ? 0 : problem->size_bytes;
    case WEFT_COLLECTIVE_REDUCE:
        return root_inside ? problem->size_bytes : 0;
    case WEFT_COLLECTIVE_ALLTOALL:
        return (n - x) * x / n * problem->size_bytes;
    case WEFT_COLLECTIVE_KIND_COUNT:
        break;
    }
    return 0;
}

// Rounded down, with room for the rounding of the sums: a bound must not exceed the truth.
static uint64_t cross_ps(double bytes, double rate_Bps, uint64_t latency_ps)
{
    if (bytes <= 0 || rate_Bps <= 0) {
        return 0;
    }
    double ps = floor(bytes / rate_Bps * 1e12 * (1 - 1e-12));
    return (ps < 9e18 ? (uint64_t)ps : (uint64_t)9e18) + latency_ps;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// The least latency of any link: whatever crosses a cut last takes at least that.
static uint64_t least_latency_ps(const struct weft_fabric *fabric)
{
    uint64_t least_ps = WEFT_NEVER;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        uint64_t latency_ps = fabric->links[l].latency_ps;
        least_ps = latency_ps < least_ps ? latency_ps : least_ps;
    }
    return least_ps;
}

// Cuts around every server, and all of them together: each rank takes in at least as many bytes as
// the sum says. ALLREDUCE: a word of S is summed by at least n-1 messages and told to n-1 ranks by
// messages that come later (Patarasuk and Yuan, JPDC 2009).
static uint64_t server_cuts(const struct problem *problem, uint64_t least_ps)
{
    const struct weft_fabric *fabric = problem->fabric;
    uint32_t n = fabric->server_count;
    uint64_t best_ps = 0;
    double sum_in_Bps = 0;
    double sum_out_Bps = 0;
    for (uint32_t v = 0; v < n; v++) {
        double in_Bps = 0;
        double out_Bps = 0;
        for (uint32_t a = problem->reverse.first[v]; a < problem->reverse.first[v + 1]; a++) {
            in_Bps += fabric->links[problem->reverse_origin[a]].rate_Bps;
        }
        for (uint32_t l = fabric->first[v]; l < fabric->first[v + 1]; l++) {
            out_Bps += fabric->links[l].rate_Bps;
        }
        bool root = v == problem->root;
        best_ps = larger(best_ps, cross_ps(bytes_into(problem, 1, root), in_Bps, least_ps));
        best_ps = larger(best_ps, cross_ps(bytes_into(problem, n - 1, !root), out_Bps, least_ps));
        sum_in_Bps += in_Bps;
        sum_out_Bps += out_Bps;
    }
    double times = problem->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
    double bytes = times * (n - 1.0) * problem->size_bytes;
    return larger(best_ps, cross_ps(bytes, fmin(sum_in_Bps, sum_out_Bps), least_ps));
}

// Every prefix of an order of the nodes against the rest.
static uint64_t prefix_cuts(const struct problem *problem, const uint32_t *order, uint64_t least_ps,
                            struct weft_arena scratch)
{
    const struct weft_fabric *fabric = problem->fabric;
    bool *inside = WEFT_NEW(&scratch, bool, fabric->node_count);
    double in_Bps = 0;
    double out_Bps = 0;
    uint32_t servers = 0;
    bool root_inside = false;
    uint64_t best_ps = 0;
    for (uint32_t i = 0; i + 1 < fabric->node_count; i++) {
        uint32_t v = order[i];
        inside[v] = true;
        servers += v < fabric->server_count ? 1 : 0;
        root_inside = root_inside || v == problem->root;
        for (uint32_t l = fabric->first[v]; l < fabric->first[v + 1]; l++) {
            double rate_Bps = fabric->links[l].rate_Bps;
            bool within = inside[fabric->links[l].to];
            in_Bps -= within ? rate_Bps : 0;
            out_Bps += within ? 0 : rate_Bps;
        }
        for (uint32_t a = problem->reverse.first[v]; a < problem->reverse.first[v + 1]; a++) {
            const struct weft_link *link = &fabric->links[problem->reverse_origin[a]];
            in_Bps += inside[link->from] ? 0 : link->rate_Bps;
            out_Bps -= inside[link->from] ? link->rate_Bps : 0;
        }
        // Sums that went up and down again: a little more rate makes the bound a little weaker.
        double slack_Bps = 1e-9 * (in_Bps + out_Bps);
        double into = bytes_into(problem, servers, root_inside);
        double out = bytes_into(problem, fabric->server_count - servers, !root_inside);
        best_ps = larger(best_ps, cross_ps(into, in_Bps + slack_Bps, least_ps));
        best_ps = larger(best_ps, cross_ps(out, out_Bps + slack_Bps, least_ps));
    }
    return best_ps;
}

// Takes the best cut among all prefixes of the order of ids and of breadth-first orders from some
// servers (one where all servers are alike). Prefixes of such orders are balls around a server,
// which have few links out on tori and trees.
static uint64_t order_cuts(const struct problem *problem, uint64_t least_ps,
                           struct weft_arena scratch)
{
    const struct weft_fabric *fabric = problem->fabric;
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        order[v] = v;
    }
    uint64_t best_ps = prefix_cuts(problem, order, least_ps, scratch);
    uint32_t orders = problem->synth->group != NULL ? 1 : ORDERS_MAX;
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    uint32_t *begin = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)fabric->node_count + 2);
    for (uint32_t i = 0; i < orders && i < fabric->server_count; i++) {
        uint32_t source = (uint32_t)((uint64_t)i * fabric->server_count / orders);
        weft_graph_bfs(distance, &problem->graph, source, scratch);
        memset(begin, 0, ((size_t)fabric->node_count + 2) * sizeof *begin);
        for (uint32_t v = 0; v < fabric->node_count; v++) {
            distance[v] = distance[v] == WEFT_NONE ? fabric->node_count : distance[v];
            begin[distance[v] + 1]++;
        }
        for (uint32_t d = 0; d <= fabric->node_count; d++) {
            begin[d + 1] += begin[d];
        }
        for (uint32_t v = 0; v < fabric->node_count; v++) {
            order[begin[distance[v]]++] = v;
        }
        best_ps = larger(best_ps, prefix_cuts(problem, order, least_ps, scratch));
    }
    return best_ps;
}

// The longest of the shortest paths between two servers that must hear of each other, links costing
// costs[l].
static uint64_t longest_path(const struct problem *problem, const double *costs,
                             struct weft_arena scratch)
{
    const struct weft_fabric *fabric = problem->fabric;
    double *distance = WEFT_NEW_RAW(&scratch, double, fabric->node_count);
    uint32_t n = fabric->server_count;
    bool from_root = problem->kind == WEFT_COLLECTIVE_BROADCAST;
    bool to_root = problem->kind == WEFT_COLLECTIVE_REDUCE;
    uint32_t sources = from_root || to_root || problem->synth->group != NULL ? 1
                       : n < SOURCES_MAX                                     ? n
                                                                             : SOURCES_MAX;
    double most = 0;
    for (uint32_t i = 0; i < sources; i++) {
        uint32_t source =
            from_root || to_root ? problem->root : (uint32_t)((uint64_t)i * n / sources);
        weft_graph_dijkstra(distance, NULL, to_root ? &problem->reverse : &problem->graph, costs,
                            source, scratch);
        for (uint32_t t = 0; t < n; t++) {
            most = isfinite(distance[t]) ? fmax(most, distance[t]) : most;
        }
    }
    return (uint64_t)(most * (1 - 1e-12));
}

// Costs of links by arcs of the graph that longest_path walks.
static const double *arc_costs(const struct problem *problem, bool whole, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = problem->fabric;
    double *costs = WEFT_NEW_RAW(arena, double, fabric->link_count);
    bool back = problem->kind == WEFT_COLLECTIVE_REDUCE;
    for (uint32_t a = 0; a < fabric->link_count; a++) {
        const struct weft_link *link = &fabric->links[back ? problem->reverse_origin[a] : a];
        uint64_t send_ps = weft_synth_send_ps(problem->synth->chunk_bytes, link->rate_Bps);
        costs[a] = (double)(link->latency_ps + (whole ? send_ps : 0));
    }
    return costs;
}

// Every ALLTOALL byte takes a hop for each link of the shortest path, and links carry one at a
// time.
static uint64_t hop_load_ps(const struct problem *problem, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = problem->fabric;
    uint32_t n = fabric->server_count;
    if (problem->kind != WEFT_COLLECTIVE_ALLTOALL || !problem->synth->direct) {
        return 0;
    }
    struct weft_graph_hops hops = weft_graph_all_hops(NULL, &problem->graph, scratch);
    double sum_Bps = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        sum_Bps += fabric->links[l].rate_Bps;
    }
    return cross_ps((double)hops.sum / n * problem->size_bytes, sum_Bps, 0);
}

// Finds by bisection when the links of a server can have carried so many whole chunks: each link
// carries one after the other, and the last chunk has to arrive.
static uint64_t chunks_ps(const struct problem *problem, uint32_t server, bool into,
                          uint64_t chunks)
{
    const struct weft_synth *synth = problem->synth;
    const struct weft_graph *side = into ? &problem->reverse : &problem->graph;
    uint64_t low_ps = 0;
    uint64_t high_ps = WEFT_NEVER / 4;
    while (low_ps < high_ps) {
        uint64_t middle_ps = low_ps + (high_ps - low_ps) / 2;
        uint64_t carried = 0;
        for (uint32_t a = side->first[server]; a < side->first[server + 1]; a++) {
            const struct weft_link *link =
                &problem->fabric->links[into ? problem->reverse_origin[a] : a];
            uint64_t send_ps = weft_synth_send_ps(synth->chunk_bytes, link->rate_Bps);
            uint64_t busy_ps = send_ps + (synth->holds ? link->latency_ps : 0);
            uint64_t tail_ps = synth->holds ? 0 : link->latency_ps;
            uint64_t fits = middle_ps < tail_ps ? 0 : (middle_ps - tail_ps) / busy_ps;
            carried += fits < chunks ? fits : chunks;
        }
        if (carried >= chunks) {
            high_ps = middle_ps;
        } else {
            low_ps = middle_ps + 1;
        }
    }
    return low_ps;
}

// The bound for whole chunks: the farthest pair with every hop storing the chunk, and every
// server's links carrying what must pass them chunk by chunk. An all-reduce may add on the way, so
// nothing is said of it.
static uint64_t whole_chunks_ps(const struct problem *problem, struct weft_arena scratch)
{
    const struct weft_synth *synth = problem->synth;
    uint64_t n = synth->rank_count;
    uint64_t factor = synth->chunk_factor;
    bool tree =
        problem->kind == WEFT_COLLECTIVE_BROADCAST || problem->kind == WEFT_COLLECTIVE_REDUCE;
    if (!synth->direct || problem->kind == WEFT_COLLECTIVE_ALLREDUCE) {
        return 0;
    }
    uint64_t best_ps = longest_path(problem, arc_costs(problem, true, &scratch), scratch);
    for (uint32_t v = 0; v < (synth->group != NULL && !tree ? 1 : synth->rank_count); v++) {
        bool out = problem->kind == WEFT_COLLECTIVE_REDUCE ||
                   problem->kind == WEFT_COLLECTIVE_REDUCE_SCATTER;
        if (!tree || v != problem->root) {
            uint64_t chunks = tree ? factor : factor * (n - 1);
            best_ps = larger(best_ps, chunks_ps(problem, v, !out, chunks));
        }
    }
    return best_ps;
}

// Builds the fabric's graph and its reverse once for all bounds.
void weft_synth_bound(struct weft_synth_bounds *bounds, const struct weft_synth *synth,
                      enum weft_collective_kind kind, uint64_t size_bytes, uint32_t root,
                      struct weft_arena scratch)
{
    const struct weft_fabric *fabric = synth->fabric;
    struct problem problem = {
        .synth = synth,
        .fabric = fabric,
        .kind = kind,
        .size_bytes = (double)size_bytes,
        .root = root,
    };
    uint32_t *tails = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    uint32_t *heads = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        tails[l] = fabric->links[l].from;
        heads[l] = fabric->links[l].to;
    }
    weft_graph_build(&problem.graph, fabric->node_count, tails, heads, fabric->link_count,
                     &scratch);
    weft_graph_reverse(&problem.reverse, &problem.reverse_origin, &problem.graph, &scratch);
    uint64_t least_ps = least_latency_ps(fabric);
    *bounds = (struct weft_synth_bounds){
        .latency_ps = longest_path(&problem, arc_costs(&problem, false, &scratch), scratch),
        .chunk_ps = whole_chunks_ps(&problem, scratch),
    };
    bounds->cut_ps =
        larger(server_cuts(&problem, least_ps), order_cuts(&problem, least_ps, scratch));
    bounds->cut_ps = larger(bounds->cut_ps, hop_load_ps(&problem, scratch));
}
