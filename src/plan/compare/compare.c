// SPDX-License-Identifier: Apache-2.0
// One iteration of a task graph on every fabric that one could buy instead.
//
// Every reference fabric, the rewired one and both methods' plans play the same graph by the same
// engine; what stands beside the time (cost, power, hops, loads, bandwidth tax) follows from the
// network alone. docs/compare.md.

#include "compare.h"
#include "plan/demand/metrics.h"
#include "plan/design/search.h"

#include <math.h>
#include <string.h>

// The switch of the OCS-reconfig baseline: 3D MEMS take 10 to 25 ms.
#define SWITCH_PS (10 * WEFT_PS_PER_S / 1000) // where the options do not say

struct weft_comparison *compare_add_row(struct table *table, const char *name)
{
    WEFT_ASSERT(table->count < COMPARE_ROWS_MAX);
    struct weft_comparison *row = &table->rows[table->count++];
    *row = (struct weft_comparison){.name = name};
    return row;
}

void compare_refuse(struct table *table, struct weft_comparison *row,
                    const struct weft_error *error)
{
    row->why_not = weft_arena_text(table->arena, error->message, strlen(error->message));
}

void compare_tell(const struct table *table, const struct weft_comparison *row)
{
    struct weft_comparison_log *log = table->options->log;
    if (log == NULL || row->why_not != NULL || !(row->iteration_s > 0)) {
        return;
    }
    uint64_t count = atomic_load(&log->count);
    WEFT_ASSERT(count < WEFT_COMPARISON_ROWS_MAX);
    log->rows[count] = (struct weft_comparison_told){row->name, row->iteration_s};
    atomic_store(&log->count, count + 1);
}

bool compare_until(bool (*fill)(void *context), void *context, struct table *table)
{
    struct weft_error error;
    if (weft_guard_until(fill, context, table->environment->stop, &error)) {
        return true;
    }
    if (error.code != WEFT_STOPPED) {
        weft_raise(&error); // memory that is refused
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct weft_comparison *row = &table->rows[i];
        if (row->why_not == NULL && !(row->iteration_s > 0)) {
            row->why_not = "stopped before it was played";
        }
    }
    return false;
}

// Metrics of an iteration on a network; the row gets the loads of cables, since how many of them a
// link stands for differs between fabrics.
static void measure_loads(struct weft_comparison *row, struct metrics *metrics,
                          const struct weft_taskgraph *graph, const struct weft_network *network,
                          struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &network->fabric;
    double *load_bytes = WEFT_NEW(&scratch, double, (size_t)fabric->link_count + 1);
    metrics_build(metrics, load_bytes, graph, network, scratch);
    double sum_bytes = 0;
    uint64_t cables = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        uint32_t width = fabric->links[e].width;
        row->max_link_load_bytes = fmax(row->max_link_load_bytes, load_bytes[e] / width);
        sum_bytes += load_bytes[e];
        cables += width;
    }
    row->mean_link_load_bytes = cables > 0 ? sum_bytes / (double)cables : 0;
}

void compare_measure(struct table *table, struct weft_comparison *row,
                     const struct weft_network *network, struct weft_arena scratch)
{
    struct weft_sim_job job = {table->graph, NULL, network->rings, NULL};
    const struct weft_plan_options *options = table->options;
    struct weft_sim_options sim = options->last_sim != NULL ? *options->last_sim : options->sim;
    sim.timeline = false;
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_arena results = weft_arena_split(&scratch);
    if (!weft_sim_run_jobs(
            &result, network, &job, 1, &sim,
            &(struct weft_environment){.arena = &results, .scratch = scratch, .error = &error})) {
        compare_refuse(table, row, &error);
        return;
    }
    struct metrics metrics;
    measure_loads(row, &metrics, table->graph, network, scratch);
    struct weft_cost cost = weft_fabric_cost(&network->fabric.parts, &table->cluster->prices);
    row->iteration_s = weft_seconds(result.iteration_ps[0]);
    row->cost_usd = cost.total_usd;
    row->power_watts = cost.power_watts;
    row->bandwidth_tax_ratio = metrics.bandwidth_tax_ratio;
    row->mean_hops = metrics.mean_hops;
    row->max_hops = metrics.hops_max;
    row->port_rate_Bps = network->fabric.parts.rate_Bps;
}

void compare_measure_plan(struct table *table, struct weft_comparison *row,
                          const struct weft_plan *plan, struct weft_arena scratch)
{
    struct metrics metrics;
    measure_loads(row, &metrics, table->graph, &plan->network, scratch);
    row->iteration_s = plan->iteration_s;
    row->cost_usd = plan->cost.total_usd;
    row->power_watts = plan->cost.power_watts;
    row->bandwidth_tax_ratio = plan->bandwidth_tax_ratio;
    row->mean_hops = metrics.mean_hops;
    row->max_hops = metrics.hops_max;
    row->port_rate_Bps = plan->network.fabric.parts.rate_Bps;
}

static void add_reference(struct table *table, const char *name, double budget_usd,
                          struct weft_arena scratch)
{
    struct weft_comparison *row = compare_add_row(table, name);
    struct weft_arena built = weft_arena_split(&scratch);
    struct weft_network *network = WEFT_NEW(&built, struct weft_network, 1);
    struct weft_fabric_options options = {.seed = table->environment->seed,
                                          .budget_usd = budget_usd};
    struct weft_error error;
    if (!weft_fabric_build_named(
            network, name, table->cluster, &options,
            &(struct weft_environment){.arena = &built, .scratch = scratch, .error = &error})) {
        compare_refuse(table, row, &error);
        return;
    }
    if (network->fabric.forwards && network->rings.ring_count == 0) {
        network->rings = weft_routing_tours(table->graph, NULL, &network->routes, &built, scratch);
    }
    compare_measure(table, row, network, scratch);
}

// A fabric rewired after its demand: optical switch ports for every server port.
void compare_reconfig(struct table *table, struct weft_comparison *row, struct weft_arena scratch)
{
    const struct weft_cluster *cluster = table->cluster;
    struct weft_reconfig result;
    struct weft_error error;
    const struct weft_environment once = {.scratch = scratch, .error = &error};
    if (table->options->last_sim != NULL) {
        weft_fail(&error, WEFT_UNSUPPORTED, "it is played by the flow engine, not in packets");
        compare_refuse(table, row, &error);
        return;
    }
    uint64_t dark_ps = table->options->dark_ps > 0 ? table->options->dark_ps : SWITCH_PS;
    if (!weft_plan_reconfigure(&result, table->graph, cluster, dark_ps, &table->options->sim,
                               &once)) {
        compare_refuse(table, row, &error);
        return;
    }
    uint64_t ports = (uint64_t)cluster->server_count * cluster->degree;
    struct weft_parts parts = {.nics = ports,
                               .transceivers = ports,
                               .ocs_ports = ports,
                               .rate_Bps = weft_cluster_nic_rate(cluster)};
    struct weft_cost cost = weft_fabric_cost(&parts, &cluster->prices);
    row->iteration_s = result.iteration_s;
    row->cost_usd = cost.total_usd;
    row->power_watts = cost.power_watts;
    row->bandwidth_tax_ratio = result.bandwidth_tax_ratio;
    row->mean_hops = result.bandwidth_tax_ratio; // every link leaves a server
    row->max_hops = result.max_hops;
    row->max_link_load_bytes = result.max_link_load_bytes;
    row->mean_link_load_bytes = result.mean_link_load_bytes;
    row->port_rate_Bps = parts.rate_Bps;
}

static void add_plan(struct table *table, const char *name, const struct weft_plan *plan,
                     const struct weft_plan *given, const struct weft_error *error,
                     struct weft_arena scratch)
{
    struct weft_comparison *row = compare_add_row(table, name);
    if (plan == NULL) {
        compare_refuse(table, row, error);
    } else if (plan == given) {
        compare_measure_plan(table, row, plan, scratch);
    } else {
        compare_measure(table, row, &plan->network, scratch);
    }
}

// A plan by one method, in the environment's arena; NULL, and its error is filled, where there is
// none.
static const struct weft_plan *plan_with(enum weft_topology_method method,
                                         const struct table *table,
                                         const struct weft_environment *environment)
{
    struct weft_plan *plan = WEFT_NEW(environment->arena, struct weft_plan, 1);
    struct weft_plan_options options = *table->options;
    options.topology.method = method;
    bool built = weft_plan_build(plan, table->graph, table->cluster, &options, environment);
    return built ? plan : NULL;
}

void compare_ratios(struct table *table)
{
    double ideal_s = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        ideal_s = strcmp(table->rows[i].name, "ideal") == 0 ? table->rows[i].iteration_s : ideal_s;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct weft_comparison *row = &table->rows[i];
        row->ratio_to_ideal = ideal_s > 0 ? row->iteration_s / ideal_s : 0;
    }
}

// The rows before that of Weft's plan.
struct others {
    struct table *table;
    const struct weft_plan *topoopt; // NULL: there is none, for this reason
    const struct weft_plan *given;
    const struct weft_error *why_topoopt;
    double budget_usd;
    struct weft_arena scratch;
};

static bool fill_others(void *context)
{
    const struct others *others = context;
    struct table *table = others->table;
    uint32_t reference_count;
    const struct weft_fabric_reference *references = weft_fabric_references(&reference_count);
    for (uint32_t i = 0; i < reference_count && references[i].compared; i++) {
        add_reference(table, references[i].name, others->budget_usd, others->scratch);
        compare_tell(table, &table->rows[table->count - 1]);
    }
    compare_reconfig(table, compare_add_row(table, "ocs-reconfig"), others->scratch);
    compare_tell(table, &table->rows[table->count - 1]);
    add_plan(table, "topoopt", others->topoopt, others->given, others->why_topoopt,
             others->scratch);
    compare_tell(table, &table->rows[table->count - 1]);
    return true;
}

// The rows of a task graph; `given` (may be NULL) is the plan of its own method, which is not made
// again.
static bool compare(struct table *table, const struct weft_plan *given,
                    const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_arena scratch = inner.scratch;
    struct weft_error why_topoopt = {.code = WEFT_OK};
    inner.arena = &kept;
    bool is_paper = given != NULL && given->method == WEFT_TOPOLOGY_TOPOOPT;
    const struct weft_plan *weft =
        given != NULL && !is_paper ? given : plan_with(WEFT_TOPOLOGY_WEFT, table, &inner);
    if (weft == NULL) {
        return false; // the inputs are wrong, and would be for every fabric
    }
    inner.error = &why_topoopt;
    const struct weft_plan *topoopt =
        is_paper ? given : plan_with(WEFT_TOPOLOGY_TOPOOPT, table, &inner);
    struct others others = {table, topoopt, given, &why_topoopt, weft->cost.total_usd, scratch};
    if (compare_until(fill_others, &others, table)) {
        add_plan(table, "weft", weft, given, NULL, scratch);
    } else { // the search's own time, which needs no other simulation
        compare_measure_plan(table, compare_add_row(table, "weft"), weft, scratch);
    }
    compare_ratios(table);
    return true;
}

static struct table table_of(const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                             const struct weft_plan_options *options,
                             const struct weft_environment *environment)
{
    return (struct table){
        .graph = graph,
        .cluster = cluster,
        .options = options,
        .rows = WEFT_NEW(environment->arena, struct weft_comparison, COMPARE_ROWS_MAX),
        .environment = environment,
        .arena = environment->arena};
}

bool weft_plan_compare(const struct weft_comparison **rows, uint32_t *row_count,
                       const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                       const struct weft_plan_options *options,
                       const struct weft_environment *environment)
{
    struct table table = table_of(graph, cluster, options, environment);
    if (!compare(&table, NULL, environment)) {
        return false;
    }
    *rows = table.rows;
    *row_count = table.count;
    return true;
}

bool weft_plan_compare_plan(const struct weft_comparison **rows, uint32_t *row_count,
                            const struct weft_plan *plan, const struct weft_taskgraph *graph,
                            const struct weft_plan_options *options,
                            const struct weft_environment *environment)
{
    struct table table = table_of(graph, &plan->cluster, options, environment);
    if (!compare(&table, plan, environment)) {
        return false;
    }
    *rows = table.rows;
    *row_count = table.count;
    return true;
}
