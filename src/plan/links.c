// SPDX-License-Identifier: Apache-2.0
// Bounds of one fabric: its links at prices, and the concurrent-flow LP that finds good prices.

#include "bounds.h"

#include <coin/Clp_C_Interface.h>
#include <math.h>
#include <string.h>

// ---- what each task asks of each pair, given the rings ----

// One hop of a ring, or a transfer: bytes from one server to another, over links that are given or
// (link_count = 0) chosen freely.
struct asked {
    uint32_t from;
    uint32_t to;
    double bytes;
    const uint32_t *links;
    uint32_t link_count;
};

// The rings of a task graph group: a range of the network's, empty when it has none.
struct ring_range {
    uint32_t first;
    uint32_t count;
};

static struct ring_range *list_rings(const struct weft_network *network, uint32_t group_count,
                                     struct weft_arena *arena)
{
    struct ring_range *ranges = WEFT_NEW(arena, struct ring_range, (size_t)group_count + 1);
    for (uint32_t r = 0; r < network->rings.ring_count; r++) {
        uint32_t group = network->rings.rings[r].group;
        WEFT_ASSERT(group < group_count);
        if (ranges[group].count == 0) {
            ranges[group].first = r;
        }
        ranges[group].count++;
    }
    return ranges;
}

// Walks what one task asks: item `index` of it, false past the last.
struct walk {
    const struct weft_taskgraph *graph;
    const struct weft_network *network;
    const struct ring_range *ranges;
};

static bool ring_hop(struct asked *asked, const struct walk *walk, uint32_t task, uint32_t index)
{
    const struct weft_taskgraph *graph = walk->graph;
    uint32_t group = graph->group[task];
    uint32_t first = graph->group_first[group];
    uint32_t k = graph->group_first[group + 1] - first;
    struct ring_range range = walk->ranges[group];
    uint32_t ring_count = range.count == 0 ? 1 : range.count;
    if (k < 2 || index >= k * ring_count) {
        return false;
    }
    uint32_t hop = index % k;
    double bytes = 2 * ((double)k - 1) / k * (double)graph->size_bytes[task];
    if (range.count == 0) {
        const uint32_t *members = graph->group_members + first;
        *asked = (struct asked){members[hop], members[(hop + 1) % k], bytes, NULL, 0};
        return true;
    }
    const struct weft_ring *ring = &walk->network->rings.rings[range.first + index / k];
    WEFT_ASSERT(ring->member_count == k);
    *asked = (struct asked){ring->members[hop], ring->members[(hop + 1) % k],
                            bytes * ring->share_ratio, NULL, 0};
    if (ring->hop_first != NULL) {
        asked->links = ring->hop_links + ring->hop_first[hop];
        asked->link_count = ring->hop_first[hop + 1] - ring->hop_first[hop];
    }
    return true;
}

static bool ask(struct asked *asked, const struct walk *walk, uint32_t task, uint32_t index)
{
    const struct weft_taskgraph *graph = walk->graph;
    if (graph->kind[task] == WEFT_TASK_ALLREDUCE) {
        return ring_hop(asked, walk, task, index);
    }
    if (graph->kind[task] != WEFT_TASK_TRANSFER || index > 0 ||
        graph->from[task] == graph->to[task]) {
        return false;
    }
    *asked = (struct asked){graph->from[task], graph->to[task], (double)graph->size_bytes[task],
                            NULL, 0};
    return true;
}

// ---- priced links as one machine ----

// Cheapest paths from `source` under link prices; Dijkstra on a dense graph.
static void find_cheapest(double *cost, const struct weft_fabric *fabric, const double *prices,
                          uint32_t source, bool *done)
{
    uint32_t n = fabric->node_count;
    for (uint32_t v = 0; v < n; v++) {
        cost[v] = HUGE_VAL;
        done[v] = false;
    }
    cost[source] = 0;
    for (;;) {
        uint32_t at = WEFT_NONE;
        for (uint32_t v = 0; v < n; v++) {
            if (!done[v] && cost[v] < HUGE_VAL && (at == WEFT_NONE || cost[v] < cost[at])) {
                at = v;
            }
        }
        if (at == WEFT_NONE) {
            return;
        }
        done[at] = true;
        for (uint32_t e = fabric->first[at]; e < fabric->first[at + 1]; e++) {
            cost[fabric->links[e].to] = fmin(cost[fabric->links[e].to], cost[at] + prices[e]);
        }
    }
}

static double price_of(const struct asked *asked, const double *prices, const double *cheapest,
                       uint32_t n)
{
    double price = 0;
    for (uint32_t i = 0; i < asked->link_count; i++) {
        price += prices[asked->links[i]];
    }
    return asked->link_count > 0 ? price : cheapest[(size_t)asked->from * n + asked->to];
}

double bound_priced_links(const struct bound_model *model, const struct bound_times *times,
                          const struct weft_network *network, const double *prices,
                          struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = model->graph;
    const struct weft_fabric *fabric = &network->fabric;
    uint32_t n = fabric->node_count;
    double *cheapest = WEFT_NEW_RAW(&scratch, double, (size_t)graph->server_count *n);
    bool *done = WEFT_NEW_RAW(&scratch, bool, n);
    for (uint32_t s = 0; s < graph->server_count; s++) {
        find_cheapest(cheapest + (size_t)s * n, fabric, prices, s, done);
    }
    double capacity = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        WEFT_ASSERT(prices[e] >= 0);
        capacity += prices[e] * fabric->links[e].rate_Bps;
    }
    if (capacity <= 0) {
        return 0;
    }
    struct walk walk = {graph, network, list_rings(network, graph->group_count, &scratch)};
    struct bound_item *items =
        WEFT_NEW_RAW(&scratch, struct bound_item, (size_t)graph->task_count + 1);
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double price = 0;
        struct asked asked;
        for (uint32_t i = 0; ask(&asked, &walk, t, i); i++) {
            price += asked.bytes * price_of(&asked, prices, cheapest, n);
        }
        if (price > 0 && isfinite(price)) {
            items[count++] =
                (struct bound_item){bound_network_head(model, times, t), price / capacity,
                                    times->tail_s[t] + model->latency_s};
        }
    }
    return bound_one_machine(items, count, scratch);
}

// ---- the concurrent-flow LP ----

// What the subset asks: bytes to route freely (n*n, servers) and bytes fixed on links.
struct flow_problem {
    const struct weft_fabric *fabric;
    uint32_t server_count;
    double *demand;
    double *fixed;
    uint32_t *sources; // servers with demand
    uint32_t source_count;
    double scale_bytes; // unit of flow
    double scale_Bps;   // unit of rate
};

static bool gather(struct flow_problem *problem, const struct bound_model *model,
                   const struct bound_times *times, const struct weft_network *network,
                   double head_min_s, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = model->graph;
    const struct weft_fabric *fabric = &network->fabric;
    uint32_t n = graph->server_count;
    *problem = (struct flow_problem){.fabric = fabric, .server_count = n};
    problem->demand = WEFT_NEW(arena, double, (size_t)n *n);
    problem->fixed = WEFT_NEW(arena, double, (size_t)fabric->link_count + 1);
    problem->sources = WEFT_NEW(arena, uint32_t, n);
    struct walk walk = {graph, network, list_rings(network, graph->group_count, arena)};
    double total_bytes = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        struct asked asked;
        bool in = bound_network_head(model, times, t) >= head_min_s;
        for (uint32_t i = 0; in && ask(&asked, &walk, t, i); i++) {
            total_bytes += asked.bytes;
            for (uint32_t l = 0; l < asked.link_count; l++) {
                problem->fixed[asked.links[l]] += asked.bytes;
            }
            if (asked.link_count == 0) {
                problem->demand[(size_t)asked.from * n + asked.to] += asked.bytes;
            }
        }
    }
    for (uint32_t s = 0; s < n; s++) {
        double sum = 0;
        for (uint32_t t = 0; t < n; t++) {
            sum += problem->demand[(size_t)s * n + t];
        }
        if (sum > 0) {
            problem->sources[problem->source_count++] = s;
        }
    }
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        problem->scale_Bps = fmax(problem->scale_Bps, fabric->links[e].rate_Bps);
    }
    problem->scale_bytes = total_bytes / fmax(1, fabric->link_count);
    return total_bytes > 0 && problem->source_count > 0;
}

// Columns: flow of source i on link e at i * m + e, then the largest link time z. Rows: balance of
// source i at node v at i * nodes + v, then the capacity of link e.
static Clp_Simplex *build_lp(const struct flow_problem *problem, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = problem->fabric;
    int m = (int)fabric->link_count;
    int nodes = (int)fabric->node_count;
    int flows = (int)problem->source_count * m;
    int balances = (int)problem->source_count * nodes;
    int *start = WEFT_NEW(&scratch, int, (size_t)flows + 2);
    int *index = WEFT_NEW(&scratch, int, 3 * (size_t)flows + (size_t)m);
    double *value = WEFT_NEW(&scratch, double, 3 * (size_t)flows + (size_t)m);
    double *objective = WEFT_NEW(&scratch, double, (size_t)flows + 1);
    double *row_low = WEFT_NEW(&scratch, double, (size_t)balances + (size_t)m);
    double *row_high = WEFT_NEW(&scratch, double, (size_t)balances + (size_t)m);
    int at = 0;
    for (int c = 0; c < flows; c++) {
        const struct weft_link *link = &fabric->links[c % m];
        int row = c / m * nodes;
        start[c] = at;
        index[at] = row + (int)link->from;
        value[at++] = -1;
        index[at] = row + (int)link->to;
        value[at++] = 1;
        index[at] = balances + c % m;
        value[at++] = problem->scale_Bps / link->rate_Bps;
    }
    start[flows] = at;
    objective[flows] = 1;
    for (int e = 0; e < m; e++) {
        index[at] = balances + e;
        value[at++] = -1;
        row_low[balances + e] = -HUGE_VAL;
        row_high[balances + e] = -problem->fixed[e] / problem->scale_bytes * problem->scale_Bps /
                                 fabric->links[e].rate_Bps;
    }
    start[flows + 1] = at;
    for (uint32_t i = 0; i < problem->source_count; i++) {
        uint32_t source = problem->sources[i];
        double sum = 0;
        for (uint32_t t = 0; t < problem->server_count; t++) {
            double bytes = problem->demand[(size_t)source * problem->server_count + t];
            row_low[i * (uint32_t)nodes + t] = bytes / problem->scale_bytes;
            sum += bytes / problem->scale_bytes;
        }
        row_low[i * (uint32_t)nodes + source] = -sum;
        memcpy(row_high + i * (uint32_t)nodes, row_low + i * (uint32_t)nodes,
               (size_t)nodes * sizeof *row_low);
    }
    Clp_Simplex *lp = Clp_newModel();
    Clp_setLogLevel(lp, 0);
    Clp_loadProblem(lp, flows + 1, balances + m, start, index, value, NULL, NULL, objective,
                    row_low, row_high);
    return lp;
}

uint64_t bound_flow_variables(const struct weft_network *network)
{
    return (uint64_t)network->fabric.server_count * network->fabric.link_count;
}

bool bound_flow_prices(double *prices, const struct bound_model *model,
                       const struct bound_times *times, const struct weft_network *network,
                       double head_min_s, struct weft_arena scratch)
{
    struct flow_problem problem;
    if (!gather(&problem, model, times, network, head_min_s, &scratch)) {
        return false;
    }
    const struct weft_fabric *fabric = &network->fabric;
    Clp_Simplex *lp = build_lp(&problem, scratch);
    Clp_setMaximumIterations(lp, 200000); // not seconds: the answer may not depend on the machine
    Clp_initialSolve(lp);
    bool solved = Clp_status(lp) == 0;
    if (solved) {
        const double *duals = Clp_dualRowSolution(lp);
        size_t balances = (size_t)problem.source_count * fabric->node_count;
        for (uint32_t e = 0; e < fabric->link_count; e++) {
            prices[e] = fmax(0, -duals[balances + e]) / fabric->links[e].rate_Bps;
        }
    }
    Clp_deleteModel(lp);
    return solved;
}
