// SPDX-License-Identifier: Apache-2.0
// What differs between two plans: each figure that their files state, by value, in the order in
// which one reads a plan. Links are compared as sets, since planes may be numbered otherwise; of
// rings and of operators that are placed otherwise there is a count of each plan's own.

#include "weft/request/diff.h"
#include "weft/format.h"
#include "weft/plan.h"

#include <string.h>

enum { ROWS_MAX = 64 };

// Two plans that are compared, and what was found.
struct pair {
    const struct weft_plan *plans[2];
    struct weft_diff_row *rows;
    uint32_t count;
    struct weft_arena *arena;
};

typedef const char *show(char *buffer, double value);

static void add(struct pair *pair, struct weft_diff_row row)
{
    WEFT_ASSERT(pair->count < ROWS_MAX);
    pair->rows[pair->count++] = row;
}

static void compare_texts(struct pair *pair, const char *part, const char *name,
                          const char *const texts[2])
{
    const char *a = texts[0] != NULL ? texts[0] : "";
    const char *b = texts[1] != NULL ? texts[1] : "";
    if (strcmp(a, b) != 0) {
        add(pair, (struct weft_diff_row){.part = part, .name = name, .texts = {a, b}});
    }
}

// A number with its form for people; NULL: as it is.
static void compare_numbers(struct pair *pair, const char *part, const char *name,
                            const double values[2], show *form)
{
    if (values[0] == values[1]) {
        return;
    }
    struct weft_diff_row row = {.part = part, .name = name, .is_number = true};
    for (int i = 0; i < 2; i++) {
        char unit[WEFT_UNIT_TEXT];
        row.values[i] = values[i];
        row.texts[i] = form != NULL ? weft_arena_format(pair->arena, "%s", form(unit, values[i]))
                                    : weft_arena_format(pair->arena, "%.6g", values[i]);
    }
    add(pair, row);
}

static const char *show_seconds(char *buffer, double seconds)
{
    return weft_show_time(buffer, weft_picoseconds(seconds));
}

static const char *show_watts(char *buffer, double watts)
{
    snprintf(buffer, WEFT_UNIT_TEXT, "%.4g kW", watts / 1e3);
    return buffer;
}

#define NUMBERS(pair, part, name, member, form)                                                    \
    compare_numbers(                                                                               \
        pair, part, name,                                                                          \
        (const double[2]){(double)(pair)->plans[0]->member, (double)(pair)->plans[1]->member},     \
        form)

static void compare_clusters(struct pair *pair)
{
    const char *kinds[2] = {pair->plans[0]->cluster.accelerator,
                            pair->plans[1]->cluster.accelerator};
    NUMBERS(pair, "cluster", "servers", cluster.server_count, NULL);
    NUMBERS(pair, "cluster", "degree", cluster.degree, NULL);
    NUMBERS(pair, "cluster", "rate_Bps", cluster.rate_Bps, weft_show_rate);
    NUMBERS(pair, "cluster", "latency_s", cluster.latency_ps / 1e12, show_seconds);
    NUMBERS(pair, "cluster", "accelerators_per_server", cluster.accelerators_per_server, NULL);
    compare_texts(pair, "cluster", "accelerator", kinds);
    NUMBERS(pair, "cluster", "accelerator_memory_bytes", cluster.accelerator_memory_bytes,
            weft_show_bytes);
}

// Links of one fabric that the other lacks, or has with fewer cables.
static uint32_t count_own_links(const struct weft_fabric *fabric, const struct weft_fabric *other)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        bool there = link->from < other->node_count && link->to < other->node_count;
        uint32_t same =
            there ? weft_fabric_find_link(other, link->from, link->to) : (uint32_t)WEFT_NONE;
        count += same == WEFT_NONE || other->links[same].width < link->width;
    }
    return count;
}

static bool same_ring(const struct weft_ring *a, const struct weft_ring *b)
{
    return a->group == b->group && a->member_count == b->member_count &&
           memcmp(a->members, b->members, a->member_count * sizeof *a->members) == 0;
}

static uint32_t count_own_rings(const struct weft_ring_set *rings,
                                const struct weft_ring_set *others)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        uint32_t o = 0;
        while (o < others->ring_count && !same_ring(&rings->rings[r], &others->rings[o])) {
            o++;
        }
        count += o == others->ring_count;
    }
    return count;
}

static void compare_fabrics(struct pair *pair)
{
    const struct weft_network *a = &pair->plans[0]->network;
    const struct weft_network *b = &pair->plans[1]->network;
    const char *const methods[2] = {
        pair->plans[0]->method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft",
        pair->plans[1]->method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft"};
    compare_texts(pair, "fabric", "method", methods);
    NUMBERS(pair, "fabric", "seed", seed, NULL);
    NUMBERS(pair, "fabric", "links", network.fabric.link_count, NULL);
    const double own[2] = {count_own_links(&a->fabric, &b->fabric),
                           count_own_links(&b->fabric, &a->fabric)};
    if (own[0] > 0 || own[1] > 0) {
        add(pair,
            (struct weft_diff_row){.part = "fabric",
                                   .name = "links_of_its_own",
                                   .is_number = true,
                                   .values = {own[0], own[1]},
                                   .texts = {weft_arena_format(pair->arena, "%.0f", own[0]),
                                             weft_arena_format(pair->arena, "%.0f", own[1])}});
    }
    NUMBERS(pair, "fabric", "allreduce_degree", topology.allreduce_degree, NULL);
    NUMBERS(pair, "fabric", "mean_hops", topology.mean_hops, NULL);
    NUMBERS(pair, "fabric", "diameter", topology.diameter, NULL);
    NUMBERS(pair, "rings", "rings", network.rings.ring_count, NULL);
    const double rings[2] = {count_own_rings(&a->rings, &b->rings),
                             count_own_rings(&b->rings, &a->rings)};
    compare_numbers(pair, "rings", "rings_of_its_own", rings, NULL);
    NUMBERS(pair, "rings", "collectives_not_on_rings", collective_count, NULL);
}

// How a plan's strategy is said; operators are counted by compare_strategies.
static const char *strategy_text(const struct weft_plan_job *job, struct weft_arena *arena)
{
    return job->strategy.kind == WEFT_STRATEGY_HYBRID
               ? weft_hybrid_format(&job->strategy.hybrid, arena)
               : "operator by operator";
}

static uint32_t count_placed_otherwise(const struct weft_plan_job *a, const struct weft_plan_job *b)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < a->operator_count; op++) {
        const struct weft_placement *x = &a->strategy.placements[op];
        const struct weft_placement *y = &b->strategy.placements[op];
        size_t parts = (size_t)x->sample_parts * x->parameter_parts;
        count += x->sample_parts != y->sample_parts || x->parameter_parts != y->parameter_parts ||
                 memcmp(x->servers, y->servers, parts * sizeof *x->servers) != 0;
    }
    return count;
}

static void compare_strategies(struct pair *pair)
{
    const struct weft_plan_job *a = pair->plans[0]->job;
    const struct weft_plan_job *b = pair->plans[1]->job;
    if (a == NULL || b == NULL) {
        compare_texts(pair, "strategy", "model",
                      (const char *const[2]){a != NULL ? a->model : "a task graph",
                                             b != NULL ? b->model : "a task graph"});
        return;
    }
    compare_texts(pair, "strategy", "model", (const char *const[2]){a->model, b->model});
    compare_numbers(pair, "strategy", "batch",
                    (const double[2]){(double)a->batch, (double)b->batch}, NULL);
    compare_texts(pair, "strategy", "costs", (const char *const[2]){a->costs, b->costs});
    compare_texts(
        pair, "strategy", "strategy",
        (const char *const[2]){strategy_text(a, pair->arena), strategy_text(b, pair->arena)});
    bool operators = a->strategy.kind == WEFT_STRATEGY_OPERATORS &&
                     b->strategy.kind == WEFT_STRATEGY_OPERATORS &&
                     a->operator_count == b->operator_count;
    uint32_t moved = operators ? count_placed_otherwise(a, b) : 0;
    if (moved > 0) {
        const char *text =
            weft_arena_format(pair->arena, "%u of %u operators", moved, a->operator_count);
        add(pair, (struct weft_diff_row){
                      .part = "strategy", .name = "placed_otherwise", .texts = {"", text}});
    }
    compare_numbers(pair, "strategy", "memory_max_bytes",
                    (const double[2]){a->strategy.memory_max_bytes, b->strategy.memory_max_bytes},
                    weft_show_bytes);
    compare_numbers(pair, "strategy", "flops_utilization",
                    (const double[2]){a->flops_utilization, b->flops_utilization}, NULL);
}

static void compare_figures(struct pair *pair)
{
    NUMBERS(pair, "times", "iteration_s", iteration_s, show_seconds);
    NUMBERS(pair, "times", "lower_bound_s", certificate.lower_bound_s, show_seconds);
    NUMBERS(pair, "times", "gap_ratio", certificate.gap_ratio, NULL);
    NUMBERS(pair, "loads", "demand_weighted_hops", demand_weighted_hops, NULL);
    NUMBERS(pair, "loads", "max_link_load_bytes", max_link_load_bytes, weft_show_bytes);
    NUMBERS(pair, "loads", "mean_link_load_bytes", mean_link_load_bytes, weft_show_bytes);
    NUMBERS(pair, "loads", "bandwidth_tax_ratio", bandwidth_tax_ratio, NULL);
    NUMBERS(pair, "bill", "total_usd", cost.total_usd, weft_show_usd);
    NUMBERS(pair, "bill", "power_watts", cost.power_watts, show_watts);
}

bool weft_request_diff(struct weft_diff_result *result, const struct weft_diff_request *request,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_plan *plans = WEFT_NEW(base->arena, struct weft_plan, 2);
    for (int i = 0; i < 2; i++) {
        if (!weft_plan_load(&plans[i], request->paths[i], base->arena, base->scratch,
                            base->error)) {
            return false;
        }
    }
    struct pair pair = {.plans = {&plans[0], &plans[1]},
                        .rows = WEFT_NEW(base->arena, struct weft_diff_row, ROWS_MAX),
                        .arena = base->arena};
    compare_clusters(&pair);
    compare_fabrics(&pair);
    compare_strategies(&pair);
    compare_figures(&pair);
    *result = (struct weft_diff_result){pair.count, pair.rows};
    return true;
}
