// SPDX-License-Identifier: Apache-2.0
// Trees in place of rings where they are quicker, as libraries choose by size: a ring of n ranks
// pays the latency of 2(n-1) messages and a tree that of some 2 log2 n, but no tree keeps all ports
// as busy as rings do.
//
// The closed forms of both (docs/collectives.md) say whether trees are worth a look and in how many
// chunks; then both are played as a fluid on the network, and the quicker one is what runs. A
// collective by levels keeps its levels: the AllReduces between servers are what is replaced.
// Double binary trees are those of Sanders, Speck and Traeff (2009), as in NCCL. Two plays more.

#include "request/simulate/patterns.h"
#include "request/simulate/simulation.h"

#include <math.h>

// The forms know one port and no switches: what they have slower than this may still be quicker.
#define WORTH_RATIO 2.0
#define CHUNKS_MAX 64u

// The chunks with which the closed form of double trees is least; 0 where rings are quicker anyway,
// unless it has to be trees.
static uint32_t choose_chunks(const struct weft_taskgraph *graph, uint32_t task,
                              const struct simulation *simulation, double member_rate_Bps)
{
    const struct weft_cluster *cluster = &simulation->cluster;
    const uint32_t *first = graph->group_first + graph->group[task];
    struct weft_algorithm_options options = {.kind = WEFT_COLLECTIVE_ALLREDUCE,
                                             .rank_count = first[1] - first[0]};
    const struct weft_cost_model model = {.alpha_s = 2 * weft_seconds(cluster->latency_ps),
                                          .beta_s_per_byte = 1 / member_rate_Bps};
    double bytes = (double)graph->size_bytes[task];
    double rings_s = weft_algorithm_seconds(WEFT_ALGORITHM_RING, &options, bytes, &model);
    bool must = simulation->request->algorithm == WEFT_SIMULATE_TREES;
    double least_s = must ? HUGE_VAL : WORTH_RATIO * rings_s;
    uint32_t chunks = 0;
    for (uint32_t factor = 1; factor <= CHUNKS_MAX; factor *= 2) {
        options.chunk_factor = factor;
        double trees_s =
            weft_algorithm_seconds(WEFT_ALGORITHM_DOUBLE_TREE, &options, bytes, &model);
        if (trees_s >= 0 && trees_s < least_s) {
            least_s = trees_s;
            chunks = factor;
        }
    }
    return chunks;
}

// Its AllReduces over three members and more as trees, in *trees; false, with the reason in
// *why_not, where none is worth it or they cannot be built.
static bool grow(struct weft_taskgraph *trees, const struct weft_taskgraph *graph,
                 const struct simulation *simulation, double member_rate_Bps,
                 struct weft_error *why_not)
{
    const struct weft_environment *base = &simulation->environment->base;
    struct weft_collective_choice *choices =
        WEFT_NEW(base->arena, struct weft_collective_choice, (size_t)graph->group_count + 1);
    uint32_t count = 0;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const uint32_t *first = graph->group_first;
        uint32_t group = graph->group[task];
        if (graph->kind[task] != WEFT_TASK_ALLREDUCE || first[group + 1] - first[group] < 3) {
            continue;
        }
        uint32_t chunks = choose_chunks(graph, task, simulation, member_rate_Bps);
        if (chunks == 0 || count == graph->group_count) {
            // All of a pattern's are alike, and stand for a group each.
            return weft_fail(why_not, WEFT_INPUT, "rings are quicker");
        }
        choices[count++] = (struct weft_collective_choice){.group = group,
                                                           .size_max_bytes = UINT64_MAX,
                                                           .algorithm = WEFT_ALGORITHM_DOUBLE_TREE,
                                                           .chunk_factor = chunks};
    }
    struct weft_environment own = *base;
    own.error = why_not;
    return count > 0
               ? weft_taskgraph_expand(trees, graph, choices, count, simulation->network, &own)
               : weft_fail(why_not, WEFT_INPUT, "trees join three servers or more");
}

// The end of a graph that is played alone, as a fluid and without records.
static bool play_plainly(uint64_t *end_ps, const struct weft_taskgraph *graph,
                         const struct simulation *simulation)
{
    struct weft_environment own = simulation->environment->base;
    struct weft_arena found = weft_arena_split(&own.scratch);
    own.arena = &found;
    const struct weft_sim_options options = {
        .engine = WEFT_ENGINE_FLOW, .seed = simulation->options.seed, .stop = own.stop};
    const struct weft_sim_job job = {.graph = graph};
    struct weft_sim_result result;
    bool played = weft_sim_run_jobs(&result, simulation->network, &job, 1, &options, &own);
    *end_ps = played ? result.end_ps : 0;
    return played;
}

bool simulation_choose_trees(struct weft_taskgraph *graph, struct simulation *simulation,
                             double member_rate_Bps)
{
    enum weft_simulate_algorithm asked = simulation->request->algorithm;
    struct weft_taskgraph trees;
    uint64_t rings_ps = 0;
    uint64_t trees_ps = 0;
    simulation->result->algorithm = "ring";
    if (simulation->request->one_port || asked == WEFT_SIMULATE_RINGS) {
        return true;
    }
    struct weft_error why_not = {.code = WEFT_OK}; // then it is rings
    if (!grow(&trees, graph, simulation, member_rate_Bps, &why_not)) {
        if (asked != WEFT_SIMULATE_TREES && why_not.code != WEFT_STOPPED) {
            return true;
        }
        *simulation->environment->base.error = why_not;
        return weft_wrap(simulation->environment->base.error, "{algorithm=double-tree}");
    }
    if (asked == WEFT_SIMULATE_BEST && (!play_plainly(&rings_ps, graph, simulation) ||
                                        !play_plainly(&trees_ps, &trees, simulation))) {
        return false;
    }
    if (asked == WEFT_SIMULATE_TREES || trees_ps < rings_ps) {
        *graph = trees;
        simulation->result->algorithm = "double-tree";
    }
    return true;
}
