// SPDX-License-Identifier: Apache-2.0
// What came of a run: loads of links, losses, percentiles of iterations and of flows.
//
// Percentiles are of the nearest rank. Losses are named at the five links that lost most, found in
// one pass over the links that keeps the best five in order.

#include "request/simulate/simulation.h"

#include <stdlib.h>

enum { LOSSY_LINKS_MAX = 5 };

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t quantile_ps(const uint64_t *sorted_ps, uint32_t count, double share)
{
    return sorted_ps[(uint32_t)(share * (count - 1) + 0.5)];
}

uint64_t simulation_p99_ps(const struct simulation *simulation, uint32_t job)
{
    const struct weft_sim_result *sim = &simulation->result->sim;
    uint32_t count = simulation->options.iterations;
    if (count <= 1) {
        return 0;
    }
    struct weft_arena scratch = simulation->environment->base.scratch;
    uint64_t *times_ps = WEFT_NEW_RAW(&scratch, uint64_t, count);
    const struct weft_job_timing *timings = simulation->options.timings;
    uint64_t before_ps = timings == NULL ? 0 : timings[job].start_ps;
    for (uint32_t i = 0; i < count; i++) {
        times_ps[i] = sim->iteration_end_ps[job][i] - before_ps;
        before_ps = sim->iteration_end_ps[job][i];
    }
    qsort(times_ps, count, sizeof *times_ps, compare_times);
    return quantile_ps(times_ps, count, 0.99);
}

struct weft_simulated_times simulation_sort_times(uint64_t *times_ps, uint32_t count)
{
    double sum_s = 0;
    if (count == 0) {
        return (struct weft_simulated_times){.count = 0};
    }
    for (uint32_t i = 0; i < count; i++) {
        sum_s += weft_seconds(times_ps[i]);
    }
    qsort(times_ps, count, sizeof *times_ps, compare_times);
    return (struct weft_simulated_times){
        .count = count,
        .mean_s = sum_s / count,
        .median_ps = quantile_ps(times_ps, count, 0.5),
        .p99_ps = quantile_ps(times_ps, count, 0.99),
        .max_ps = times_ps[count - 1],
    };
}

struct weft_simulated_times simulation_time_transfers(const struct simulation *simulation,
                                                      const struct weft_sim_job *jobs,
                                                      uint32_t job_count)
{
    const struct weft_sim_result *sim = &simulation->result->sim;
    struct weft_arena scratch = simulation->environment->base.scratch;
    size_t room = 0;
    uint32_t count = 0;
    double bytes = 0;
    for (uint32_t j = 0; j < job_count; j++) {
        room += jobs[j].graph->task_count;
    }
    uint64_t *times_ps = WEFT_NEW_RAW(&scratch, uint64_t, room);
    for (uint32_t j = 0; j < job_count && simulation->options.timeline; j++) {
        const struct weft_taskgraph *graph = jobs[j].graph;
        for (uint32_t t = 0; t < graph->task_count; t++) {
            if (graph->kind[t] == WEFT_TASK_TRANSFER) {
                times_ps[count++] = sim->task_end_ps[j][t] - sim->task_start_ps[j][t];
                bytes += (double)graph->size_bytes[t];
            }
        }
    }
    struct weft_simulated_times times = simulation_sort_times(times_ps, count);
    times.bytes = bytes;
    return times;
}

// ---- links ----

static uint32_t find_lossy(uint32_t links[LOSSY_LINKS_MAX], const struct weft_port_counts *ports,
                           uint32_t link_count)
{
    uint32_t count = 0;
    for (uint32_t link = 0; link < link_count; link++) {
        if (ports[link].drops == 0 ||
            (count == LOSSY_LINKS_MAX && ports[links[count - 1]].drops >= ports[link].drops)) {
            continue;
        }
        uint32_t place = count < LOSSY_LINKS_MAX ? count++ : count - 1;
        for (; place > 0 && ports[links[place - 1]].drops < ports[link].drops; place--) {
            links[place] = links[place - 1];
        }
        links[place] = link;
    }
    return count;
}

static const char *name_node(const struct weft_fabric *fabric, uint32_t node,
                             struct weft_arena *arena)
{
    uint32_t servers = fabric->server_count;
    return node < servers ? weft_arena_format(arena, "server %u", node)
                          : weft_arena_format(arena, "switch %u", node - servers);
}

static void summarize_losses(struct simulation *simulation)
{
    const struct weft_fabric *fabric = &simulation->network->fabric;
    struct weft_simulate_result *result = simulation->result;
    struct weft_arena *arena = simulation->environment->base.arena;
    uint32_t links[LOSSY_LINKS_MAX];
    if (result->sim.ports == NULL) {
        return;
    }
    uint32_t count = find_lossy(links, result->sim.ports, fabric->link_count);
    struct weft_lossy_link *lossy = WEFT_NEW(arena, struct weft_lossy_link, LOSSY_LINKS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_link *link = &fabric->links[links[i]];
        lossy[i] = (struct weft_lossy_link){.link = links[i],
                                            .from = name_node(fabric, link->from, arena),
                                            .to = name_node(fabric, link->to, arena),
                                            .counts = result->sim.ports[links[i]]};
    }
    result->lossy = lossy;
    result->lossy_count = count;
}

void simulation_summarize(struct simulation *simulation)
{
    const struct weft_fabric *fabric = &simulation->network->fabric;
    struct weft_simulate_result *result = simulation->result;
    double total_bytes = 0;
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        double bytes = result->sim.link_bytes[i];
        result->link_load.max_bytes =
            bytes > result->link_load.max_bytes ? bytes : result->link_load.max_bytes;
        total_bytes += bytes;
    }
    result->link_load.mean_bytes = fabric->link_count > 0 ? total_bytes / fabric->link_count : 0;
    summarize_losses(simulation);
}
