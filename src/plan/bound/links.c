// SPDX-License-Identifier: Apache-2.0
// Bounds of one fabric: its links at prices, and the concurrent-flow LP that finds good prices.
//
// Give every link a price a byte. However a transfer is split and routed, it pays at least its
// bytes times the cheapest path, and all payments must fit the prices times the rates times the
// time: the dual of the concurrent-flow LP (Shahrokhi and Matula, J. ACM 1990), which holds for any
// prices. Prices of 1 bound by hops; the LP's duals bound by the busiest links. The bound is
// evaluated from the prices by shortest paths, so that a tolerance of the solver cannot make it
// wrong. docs/certificate.md, "Priced links". O(n (n + links) log n), and one LP of n * links
// variables.

#include "bounds.h"
#include "plan/demand/demand.h"

#include "weft/graph.h"

#include <coin/Clp_C_Interface.h>
#include <math.h>
#include <string.h>

// Where the simplex method gives up, in steps and not in seconds: the answer may not depend on the
// machine. Without prices the bound is left out.
#define LP_STEPS_MAX 200000

// ---- priced links as one machine ----

// Cheapest paths from every server to every node under link prices: a row of node_count a server.
static const double *find_cheapest(const struct weft_fabric *fabric, const double *prices,
                                   uint32_t server_count, struct weft_arena *arena)
{
    uint32_t n = fabric->node_count;
    double *cheapest = WEFT_NEW_RAW(arena, double, (size_t)server_count *n);
    uint32_t *heads = WEFT_NEW_RAW(arena, uint32_t, (size_t)fabric->link_count + 1);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        heads[e] = fabric->links[e].to;
    }
    struct weft_graph graph = {n, fabric->link_count, fabric->first, heads};
    for (uint32_t s = 0; s < server_count; s++) {
        weft_graph_dijkstra(cheapest + (size_t)s * n, NULL, &graph, prices, s, *arena);
    }
    return cheapest;
}

static double price_of(const struct demand_item *item, const double *prices, const double *cheapest,
                       uint32_t n)
{
    double price = 0;
    for (uint32_t i = 0; i < item->link_count; i++) {
        price += prices[item->links[i]];
    }
    return item->link_count > 0 ? price : cheapest[(size_t)item->from * n + item->to];
}

double bound_priced_links(const struct bound_model *model, const struct bound_times *times,
                          const struct weft_network *network, const double *prices,
                          struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = model->graph;
    const struct weft_fabric *fabric = &network->fabric;
    uint32_t n = fabric->node_count;
    const double *cheapest = find_cheapest(fabric, prices, graph->server_count, &scratch);
    double capacity = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        WEFT_ASSERT(prices[e] >= 0);
        capacity += prices[e] * fabric->links[e].rate_Bps;
    }
    if (capacity <= 0) {
        return 0;
    }
    struct demand demand = demand_open(graph, network, &scratch);
    struct bound_item *items =
        WEFT_NEW_RAW(&scratch, struct bound_item, (size_t)graph->task_count + 1);
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double price = 0;
        struct demand_item item;
        for (uint32_t i = 0; demand_get(&demand, t, i, &item); i++) {
            price += item.bytes * price_of(&item, prices, cheapest, n);
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

// What the subset demands: bytes to route freely (n*n, servers) and bytes fixed on links.
struct flow_demand {
    const struct weft_fabric *fabric;
    uint32_t server_count;
    double *demand;
    double *fixed;
    uint32_t *sources; // servers with demand
    uint32_t source_count;
    double scale_bytes; // unit of flow
    double scale_Bps;   // unit of rate
};

// Sums up what the tasks from head_min_s on demand; false where nothing is left to route.
static bool gather(struct flow_demand *flow, const struct bound_model *model,
                   const struct bound_times *times, const struct weft_network *network,
                   double head_min_s, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = model->graph;
    const struct weft_fabric *fabric = &network->fabric;
    uint32_t n = graph->server_count;
    *flow = (struct flow_demand){.fabric = fabric, .server_count = n};
    flow->demand = WEFT_NEW(arena, double, (size_t)n *n);
    flow->fixed = WEFT_NEW(arena, double, (size_t)fabric->link_count + 1);
    flow->sources = WEFT_NEW(arena, uint32_t, n);
    struct demand demand = demand_open(graph, network, arena);
    double total_bytes = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        struct demand_item item;
        bool in = bound_network_head(model, times, t) >= head_min_s;
        for (uint32_t i = 0; in && demand_get(&demand, t, i, &item); i++) {
            total_bytes += item.bytes;
            for (uint32_t l = 0; l < item.link_count; l++) {
                flow->fixed[item.links[l]] += item.bytes;
            }
            if (item.link_count == 0) {
                flow->demand[(size_t)item.from * n + item.to] += item.bytes;
            }
        }
    }
    for (uint32_t s = 0; s < n; s++) {
        double sum = 0;
        for (uint32_t t = 0; t < n; t++) {
            sum += flow->demand[(size_t)s * n + t];
        }
        if (sum > 0) {
            flow->sources[flow->source_count++] = s;
        }
    }
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        flow->scale_Bps = fmax(flow->scale_Bps, fabric->links[e].rate_Bps);
    }
    flow->scale_bytes = total_bytes / fmax(1, fabric->link_count);
    return total_bytes > 0 && flow->source_count > 0;
}

// Columns: flow of source i on link e at i * m + e, then the largest link time z. Rows: balance of
// source i at node v at i * nodes + v, then the capacity of link e.
static Clp_Simplex *build_lp(const struct flow_demand *flow, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = flow->fabric;
    int m = (int)fabric->link_count;
    int nodes = (int)fabric->node_count;
    int flows = (int)flow->source_count * m;
    int balances = (int)flow->source_count * nodes;
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
        value[at++] = flow->scale_Bps / link->rate_Bps;
    }
    start[flows] = at;
    objective[flows] = 1;
    for (int e = 0; e < m; e++) {
        index[at] = balances + e;
        value[at++] = -1;
        row_low[balances + e] = -HUGE_VAL;
        row_high[balances + e] =
            -flow->fixed[e] / flow->scale_bytes * flow->scale_Bps / fabric->links[e].rate_Bps;
    }
    start[flows + 1] = at;
    for (uint32_t i = 0; i < flow->source_count; i++) {
        uint32_t source = flow->sources[i];
        double sum = 0;
        for (uint32_t t = 0; t < flow->server_count; t++) {
            double bytes = flow->demand[(size_t)source * flow->server_count + t];
            row_low[i * (uint32_t)nodes + t] = bytes / flow->scale_bytes;
            sum += bytes / flow->scale_bytes;
        }
        row_low[i * (uint32_t)nodes + source] = -sum;
        memcpy(row_high + (size_t)i * (size_t)nodes, row_low + (size_t)i * (size_t)nodes,
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
    struct flow_demand flow;
    if (!gather(&flow, model, times, network, head_min_s, &scratch)) {
        return false;
    }
    const struct weft_fabric *fabric = &network->fabric;
    Clp_Simplex *lp = build_lp(&flow, scratch);
    Clp_setMaximumIterations(lp, LP_STEPS_MAX);
    Clp_initialSolve(lp);
    bool solved = Clp_status(lp) == 0;
    if (solved) {
        const double *duals = Clp_dualRowSolution(lp);
        size_t balances = (size_t)flow.source_count * fabric->node_count;
        for (uint32_t e = 0; e < fabric->link_count; e++) {
            prices[e] = fmax(0, -duals[balances + e]) / fabric->links[e].rate_Bps;
        }
    }
    Clp_deleteModel(lp);
    return solved;
}
