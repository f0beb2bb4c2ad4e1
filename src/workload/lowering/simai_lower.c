// SPDX-License-Identifier: Apache-2.0
// A workload of SimAI as a task graph, in the order of Workload.cc's loops: all forward steps, then
// from the last layer to the first the input gradient, for whose collective ranks wait, and the
// weight gradient, for whose collective they do not.
//
// Every rank has two devices: one computes, the other holds what Layer.cc adds behind a weight's
// collective (the update), which keeps nobody from computing. Behind a collective that ranks wait
// for, the update is time before the next step. Tasks are laid out twice: counted, then filled.
// O(ranks * layers + edges).

#include "weft/workload/simai.h"

#include <string.h>

#define TASKS_MAX (1u << 24)

struct lowering {
    const struct weft_simai *workload;
    uint32_t ranks;
    uint32_t *members[WEFT_SIMAI_GROUP_COUNT]; // all groups of a kind, one behind the other
    uint32_t sizes[WEFT_SIMAI_GROUP_COUNT];
    uint32_t *ready;   // of each rank: the task it waits for; WEFT_NONE = none
    uint64_t delay_ns; // before the next compute step
    bool counting;     // tasks and edges are counted and not written
    uint64_t task_count;
    uint64_t edge_count;
    struct weft_task *tasks;
    uint32_t *before;
    uint32_t *after;
};

// ---- groups ----

// The i-th member of the g-th group of a kind.
static uint32_t member_of(const struct weft_simai *workload, enum weft_simai_group kind,
                          uint32_t ranks, uint32_t g, uint32_t i)
{
    uint32_t tp = workload->tp;
    uint32_t ep = workload->ep;
    uint32_t stride = tp * workload->pp;
    uint32_t dp = ranks / stride;
    uint32_t neighborhood = g / tp; // EP, DP_EP: of tensor groups; place g % tp in each
    switch (kind) {
    case WEFT_SIMAI_TP:
        return g * tp + i;
    case WEFT_SIMAI_DP:
        return g + i * stride;
    case WEFT_SIMAI_EP:
        return (neighborhood * ep + i) * tp + g % tp;
    case WEFT_SIMAI_DP_EP:
        return (neighborhood / ep * dp + neighborhood % ep + i * ep) * tp + g % tp;
    case WEFT_SIMAI_GROUP_COUNT:
        break;
    }
    WEFT_ASSERT(kind < WEFT_SIMAI_GROUP_COUNT);
    return 0;
}

static bool list_groups(struct lowering *lowering, struct weft_arena *scratch,
                        struct weft_error *error)
{
    const struct weft_simai *workload = lowering->workload;
    uint64_t stride = (uint64_t)workload->tp * workload->pp;
    uint64_t unit = stride * workload->ep;
    uint32_t n = lowering->ranks;
    if (n % unit != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u ranks are not divided by model_parallel_NPU_group %u, pp %u and ep "
                         "%u; choose a multiple of %llu",
                         n, workload->tp, workload->pp, workload->ep, (unsigned long long)unit);
    }
    uint32_t dp = (uint32_t)(n / stride);
    const uint32_t sizes[] = {workload->tp, dp, workload->ep, dp / workload->ep};
    for (uint32_t kind = 0; kind < WEFT_SIMAI_GROUP_COUNT; kind++) {
        uint32_t *members = WEFT_NEW_RAW(scratch, uint32_t, n);
        for (uint32_t i = 0; i < n; i++) {
            members[i] = member_of(workload, (enum weft_simai_group)kind, n, i / sizes[kind],
                                   i % sizes[kind]);
        }
        lowering->members[kind] = members;
        lowering->sizes[kind] = sizes[kind];
    }
    return true;
}

// ---- tasks ----

static uint32_t add_task(struct lowering *lowering, const struct weft_task *task)
{
    if (!lowering->counting) {
        lowering->tasks[lowering->task_count] = *task;
    }
    return (uint32_t)lowering->task_count++;
}

static void add_edge(struct lowering *lowering, uint32_t before, uint32_t after)
{
    if (before == WEFT_NONE) {
        return;
    }
    if (!lowering->counting) {
        lowering->before[lowering->edge_count] = before;
        lowering->after[lowering->edge_count] = after;
    }
    lowering->edge_count++;
}

static void add_compute(struct lowering *lowering, enum weft_task_kind kind, uint64_t compute_ns)
{
    uint64_t runtime_ps = (compute_ns + lowering->delay_ns) * 1000;
    lowering->delay_ns = 0;
    for (uint32_t r = 0; r < lowering->ranks && runtime_ps > 0; r++) {
        uint32_t task = add_task(
            lowering, &(struct weft_task){.kind = kind, .device = 2 * r, .runtime_ps = runtime_ps});
        add_edge(lowering, lowering->ready[r], task);
        lowering->ready[r] = task;
    }
}

// The task at which a collective has ended for each member goes to `ends`. An exchange is a
// transfer for each pair, of a share each, and a barrier for each member behind those that it sends
// and receives.
static void add_exchange(struct lowering *lowering, uint32_t *ends, const uint32_t *members,
                         uint32_t count, uint64_t size_bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        ends[i] =
            add_task(lowering, &(struct weft_task){.kind = WEFT_TASK_BARRIER, .device = WEFT_NONE});
        add_edge(lowering, lowering->ready[members[i]], ends[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 1; j < count; j++) {
            uint32_t to = (i + j) % count;
            uint32_t task = add_task(lowering, &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                                                   .device = WEFT_NONE,
                                                                   .size_bytes = size_bytes / count,
                                                                   .from = members[i],
                                                                   .to = members[to]});
            add_edge(lowering, lowering->ready[members[i]], task);
            add_edge(lowering, task, ends[i]);
            add_edge(lowering, task, ends[to]);
        }
    }
}

static void add_group(struct lowering *lowering, uint32_t *ends, const uint32_t *members,
                      uint32_t count, const struct weft_simai_step *step)
{
    static const enum weft_task_kind kinds[] = {
        [WEFT_SIMAI_ALLREDUCE] = WEFT_TASK_ALLREDUCE,
        [WEFT_SIMAI_ALL_GATHER] = WEFT_TASK_ALL_GATHER,
        [WEFT_SIMAI_REDUCE_SCATTER] = WEFT_TASK_REDUCE_SCATTER,
        [WEFT_SIMAI_BROADCAST] = WEFT_TASK_ALLREDUCE,
    };
    if (step->collective == WEFT_SIMAI_ALL_TO_ALL) {
        add_exchange(lowering, ends, members, count, step->size_bytes);
        return;
    }
    bool broadcast = step->collective == WEFT_SIMAI_BROADCAST;
    uint32_t task =
        add_task(lowering, &(struct weft_task){.kind = kinds[step->collective],
                                               .device = WEFT_NONE,
                                               .size_bytes = step->size_bytes / (broadcast ? 2 : 1),
                                               .members = members,
                                               .member_count = count});
    for (uint32_t i = 0; i < count; i++) {
        add_edge(lowering, lowering->ready[members[i]], task);
        ends[i] = task;
    }
}

// Adds a step's collective over every group. Ranks wait for it, or what the update takes stands
// behind it alone.
static void add_collective(struct lowering *lowering, const struct weft_simai_step *step,
                           uint64_t update_ns, bool waits, struct weft_arena scratch)
{
    uint32_t count = lowering->sizes[step->group];
    if (step->collective == WEFT_SIMAI_NONE || step->size_bytes == 0 || count < 2) {
        return;
    }
    uint32_t *ends = WEFT_NEW_RAW(&scratch, uint32_t, count);
    for (uint32_t first = 0; first < lowering->ranks; first += count) {
        const uint32_t *members = lowering->members[step->group] + first;
        add_group(lowering, ends, members, count, step);
        for (uint32_t i = 0; i < count; i++) {
            if (waits) {
                lowering->ready[members[i]] = ends[i];
            } else if (update_ns > 0) {
                uint32_t task =
                    add_task(lowering, &(struct weft_task){.kind = WEFT_TASK_UPDATE,
                                                           .device = 2 * members[i] + 1,
                                                           .runtime_ps = update_ns * 1000});
                add_edge(lowering, ends[i], task);
            }
        }
    }
    lowering->delay_ns += waits ? update_ns : 0;
}

static void add_layers(struct lowering *lowering, struct weft_arena scratch)
{
    const struct weft_simai *workload = lowering->workload;
    bool data = workload->policy == WEFT_SIMAI_DATA;
    memset(lowering->ready, 0xff, lowering->ranks * sizeof *lowering->ready);
    lowering->delay_ns = 0;
    lowering->task_count = 0;
    lowering->edge_count = 0;
    for (uint32_t l = 0; l < workload->layer_count; l++) {
        const struct weft_simai_layer *layer = &workload->layers[l];
        const struct weft_simai_step *forward = &layer->steps[WEFT_SIMAI_FORWARD];
        if (workload->policy == WEFT_SIMAI_MICRO) {
            add_collective(lowering, &layer->steps[WEFT_SIMAI_WEIGHT], 0, true, scratch);
            continue;
        }
        add_compute(lowering, WEFT_TASK_FORWARD, forward->compute_ns);
        if (!data) {
            add_collective(lowering, forward, layer->update_ns, true, scratch);
        }
    }
    bool backward = workload->policy != WEFT_SIMAI_MICRO;
    for (uint32_t l = workload->layer_count; l-- > 0 && backward;) {
        const struct weft_simai_layer *layer = &workload->layers[l];
        const struct weft_simai_step *input = &layer->steps[WEFT_SIMAI_INPUT];
        const struct weft_simai_step *weight = &layer->steps[WEFT_SIMAI_WEIGHT];
        if (!data) {
            add_compute(lowering, WEFT_TASK_BACKWARD, input->compute_ns);
            add_collective(lowering, input, layer->update_ns, true, scratch);
        }
        add_compute(lowering, WEFT_TASK_BACKWARD, weight->compute_ns);
        add_collective(lowering, weight, layer->update_ns, false, scratch);
        if (data && l > 0) {
            add_compute(lowering, WEFT_TASK_BACKWARD, input->compute_ns);
        }
    }
}

bool weft_simai_lower(struct weft_taskgraph *graph, const struct weft_simai *workload,
                      uint32_t rank_count, struct weft_arena *arena, struct weft_arena scratch,
                      struct weft_error *error)
{
    struct lowering lowering = {.workload = workload, .ranks = rank_count, .counting = true};
    WEFT_ASSERT(rank_count > 0);
    if (!list_groups(&lowering, &scratch, error)) {
        return false;
    }
    lowering.ready = WEFT_NEW_RAW(&scratch, uint32_t, lowering.ranks);
    add_layers(&lowering, scratch);
    if (lowering.task_count == 0 || lowering.task_count > TASKS_MAX ||
        lowering.edge_count > 8 * (uint64_t)TASKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%llu tasks; at least 1 and at most %u",
                         (unsigned long long)lowering.task_count, TASKS_MAX);
    }
    uint32_t device_count = 2 * lowering.ranks;
    uint32_t *device_server = WEFT_NEW_RAW(&scratch, uint32_t, device_count);
    for (uint32_t d = 0; d < device_count; d++) {
        device_server[d] = d / 2;
    }
    lowering.tasks = WEFT_NEW_RAW(&scratch, struct weft_task, lowering.task_count);
    lowering.before = WEFT_NEW_RAW(&scratch, uint32_t, lowering.edge_count);
    lowering.after = WEFT_NEW_RAW(&scratch, uint32_t, lowering.edge_count);
    lowering.counting = false;
    add_layers(&lowering, scratch);
    uint32_t task_count = (uint32_t)lowering.task_count;
    weft_task_connect(lowering.tasks, task_count, lowering.before, lowering.after,
                      lowering.edge_count, &scratch);
    const struct weft_taskgraph_draft draft = {.server_count = lowering.ranks,
                                               .device_count = device_count,
                                               .device_server = device_server,
                                               .task_count = task_count,
                                               .tasks = lowering.tasks};
    return weft_taskgraph_build(graph, &draft, arena, scratch, error);
}
