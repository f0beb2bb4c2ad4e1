// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: the edges of the tasks, and cycles by the names of nodes.

#include "read.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_edges(const void *a, const void *b)
{
    const struct chakra_edge *x = a;
    const struct chakra_edge *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

void chakra_connect(struct weft_task *tasks, struct chakra_edge *edges, uint64_t edge_count,
                    struct weft_arena *arena)
{
    uint32_t *next = WEFT_NEW_RAW(arena, uint32_t, edge_count);
    qsort(edges, edge_count, sizeof *edges, compare_edges);
    uint64_t kept = 0;
    for (uint64_t e = 0; e < edge_count; e++) {
        if (e > 0 && compare_edges(&edges[e - 1], &edges[e]) == 0) {
            continue;
        }
        struct weft_task *task = &tasks[edges[e].from];
        if (task->next_count++ == 0) {
            task->next = next + kept;
        }
        next[kept++] = edges[e].to;
    }
}

// ---- cycles ----

// Follows predecessors that were left waiting until one comes round, and names two of its nodes.
static bool fail_with_cycle(const struct weft_task *tasks, uint32_t task_count,
                            const uint32_t *task_node, const uint32_t *waiting,
                            const struct chakra_set *set, struct weft_arena scratch,
                            struct weft_error *error)
{
    uint32_t *before = WEFT_NEW_RAW(&scratch, uint32_t, task_count);
    uint32_t task = WEFT_NONE;
    for (uint32_t t = 0; t < task_count; t++) {
        task = waiting[t] > 0 ? t : task;
        for (uint32_t i = 0; i < tasks[t].next_count && waiting[t] > 0; i++) {
            before[tasks[t].next[i]] = t;
        }
    }
    for (uint32_t step = 0; step < task_count; step++) {
        task = before[task];
    }
    const struct chakra_node *nodes = set->nodes;
    const struct chakra_node *node = &nodes[task_node[task]];
    const struct chakra_node *other = &nodes[task_node[before[task]]];
    weft_fail(error, WEFT_INPUT,
              "is on a cycle: it waits for node %" PRIu64 " '%.60s' of rank %u, which waits for it "
              "in turn",
              other->id, other->name, other->rank);
    return chakra_blame(error, node);
}

bool chakra_check_acyclic(const struct weft_task *tasks, uint32_t count, const uint32_t *task_node,
                          const struct chakra_set *set, struct weft_arena scratch,
                          struct weft_error *error)
{
    uint32_t *waiting = WEFT_NEW(&scratch, uint32_t, count);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, count);
    uint32_t tail = 0;
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t i = 0; i < tasks[t].next_count; i++) {
            waiting[tasks[t].next[i]]++;
        }
    }
    for (uint32_t t = 0; t < count; t++) {
        if (waiting[t] == 0) {
            queue[tail++] = t;
        }
    }
    for (uint32_t head = 0; head < tail; head++) {
        const struct weft_task *task = &tasks[queue[head]];
        for (uint32_t i = 0; i < task->next_count; i++) {
            if (--waiting[task->next[i]] == 0) {
                queue[tail++] = task->next[i];
            }
        }
    }
    return tail == count || fail_with_cycle(tasks, count, task_node, waiting, set, scratch, error);
}
