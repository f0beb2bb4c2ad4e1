// SPDX-License-Identifier: Apache-2.0
// What a placement takes, by list scheduling: the estimate that chooses among placements, which the
// released code of SiP-ML leaves out.
//
// Tasks go by their priority, the longest way from them to the end (Graham, "Bounds on
// multiprocessing timing anomalies", 1969; the ranks of HEFT, Topcuoglu et al., TPDS 2002). Compute
// takes its device, a transfer the port that it leaves by and the one that it comes by, a
// collective both ports of all members. O(tasks log tasks + edges).

#include "sip.h"

#include <stdlib.h>

struct ranked {
    double rank_s;
    uint32_t place; // in topological order
    uint32_t task;
};

static double length_of(const struct weft_taskgraph *graph, uint32_t t,
                        const struct sip_target *target)
{
    double seconds = weft_seconds(graph->runtime_ps[t]);
    if (graph->kind[t] == WEFT_TASK_TRANSFER) {
        seconds +=
            weft_seconds(target->latency_ps) + (double)graph->size_bytes[t] / target->port_Bps;
    } else if (weft_task_is_collective(graph, t) && weft_task_member_count(graph, t) > 1) {
        seconds += weft_task_ring_bytes(graph, t) / target->collective_Bps;
    }
    return seconds;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    if (x->rank_s != y->rank_s) {
        return x->rank_s > y->rank_s ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

// What a task holds while it runs.
struct holds {
    double *device_s; // free from then on
    double *out_s;
    double *in_s;
};

// Begins a task as soon as what it holds is free; returns its end.
static double run_task(const struct weft_taskgraph *graph, uint32_t t, double ready_s,
                       double length_s, struct holds *holds)
{
    if (weft_task_facts[graph->kind[t]].on_device) {
        double *free_s = &holds->device_s[graph->device[t]];
        *free_s = (ready_s > *free_s ? ready_s : *free_s) + length_s;
        return *free_s;
    }
    if (graph->kind[t] == WEFT_TASK_TRANSFER) {
        double *out_s = &holds->out_s[graph->from[t]];
        double *in_s = &holds->in_s[graph->to[t]];
        double start_s = ready_s > *out_s ? ready_s : *out_s;
        start_s = start_s > *in_s ? start_s : *in_s;
        *out_s = *in_s = start_s + length_s;
        return start_s + length_s;
    }
    if (!weft_task_is_collective(graph, t) || weft_task_member_count(graph, t) < 2) {
        return ready_s + length_s;
    }
    uint32_t first = graph->group_first[graph->group[t]];
    uint32_t end = graph->group_first[graph->group[t] + 1];
    double start_s = ready_s;
    for (uint32_t m = first; m < end; m++) {
        uint32_t server = graph->group_members[m];
        start_s = holds->out_s[server] > start_s ? holds->out_s[server] : start_s;
        start_s = holds->in_s[server] > start_s ? holds->in_s[server] : start_s;
    }
    // Rounds' latencies do not hold a port.
    double held_s = start_s + length_s - weft_seconds(graph->runtime_ps[t]);
    for (uint32_t m = first; m < end; m++) {
        holds->out_s[graph->group_members[m]] = held_s;
        holds->in_s[graph->group_members[m]] = held_s;
    }
    return start_s + length_s;
}

double sip_schedule(const struct weft_taskgraph *graph, const struct sip_target *target,
                    struct weft_arena scratch)
{
    uint32_t count = graph->task_count;
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, count);
    struct ranked *ranked = WEFT_NEW_RAW(&scratch, struct ranked, count);
    double *rank_s = WEFT_NEW(&scratch, double, count);
    double *length_s = WEFT_NEW_RAW(&scratch, double, count);
    double *ready_s = WEFT_NEW(&scratch, double, count);
    weft_taskgraph_order(graph, order, scratch);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t t = order[i];
        length_s[t] = length_of(graph, t, target);
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            rank_s[t] = rank_s[graph->next[e]] > rank_s[t] ? rank_s[graph->next[e]] : rank_s[t];
        }
        rank_s[t] += length_s[t];
        ranked[i] = (struct ranked){rank_s[t], i, t};
    }
    qsort(ranked, count, sizeof *ranked, by_rank);
    struct holds holds = {
        WEFT_NEW(&scratch, double, graph->device_count),
        WEFT_NEW(&scratch, double, graph->server_count),
        WEFT_NEW(&scratch, double, graph->server_count),
    };
    double last_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = ranked[i].task;
        double end_s = run_task(graph, t, ready_s[t], length_s[t], &holds);
        last_s = end_s > last_s ? end_s : last_s;
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t next = graph->next[e];
            ready_s[next] = end_s > ready_s[next] ? end_s : ready_s[next];
        }
    }
    return last_s;
}
