// SPDX-License-Identifier: Apache-2.0
// Who goes before whom at a port and on a device: list scheduling (Graham, SIAM J. Appl. Math. 17,
// 1969). Of the tasks that wait for nothing that has not begun, the one that can begin first does,
// the one of the lowest index where several can. With dark time in the rules, operations whose
// circuits are there go first. O(tasks log tasks + circuits).

#include "rails.h"

struct entry {
    int64_t start_ps;
    uint32_t task;
};
struct heap {
    struct entry *entries;
    uint32_t count;
};

static bool sooner(const struct entry *a, const struct entry *b)
{
    return a->start_ps < b->start_ps || (a->start_ps == b->start_ps && a->task < b->task);
}

static void push(struct heap *heap, struct entry entry)
{
    uint32_t at = heap->count++;
    while (at > 0 && sooner(&entry, &heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = entry;
}

static struct entry pop(struct heap *heap)
{
    struct entry first = heap->entries[0];
    struct entry last = heap->entries[--heap->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && sooner(&heap->entries[child + 1], &heap->entries[child])) {
            child++;
        }
        if (!sooner(&heap->entries[child], &last)) {
            break;
        }
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = last;
    return first;
}

// When the task can begin, given what it waits for.
static int64_t start_of(const struct rail_clock *clock, uint32_t task, int64_t ready_ps)
{
    bool operates = clock->program->op_of[task] != WEFT_NONE;
    int64_t inside_ps = operates ? (int64_t)rail_inside_ps(clock->program, task) : 0;
    return rail_clock_start(clock, task, ready_ps + inside_ps, NULL);
}

void rail_order(uint32_t *order, const struct rail_program *program, const uint8_t *decisions,
                const struct rail_rules *rules, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = program->graph;
    uint32_t n = graph->task_count;
    struct rail_clock clock;
    rail_clock_init(&clock, program, decisions, rules, &scratch);
    int64_t *ready_ps = WEFT_NEW(&scratch, int64_t, n);
    uint32_t *waits = WEFT_NEW(&scratch, uint32_t, n);
    struct heap heap = {.entries = WEFT_NEW(&scratch, struct entry, n + 1)};
    uint32_t count = 0;
    for (uint32_t t = 0; t < n; t++) {
        waits[t] = graph->prev_count[t];
        if (waits[t] == 0) {
            push(&heap, (struct entry){start_of(&clock, t, 0), t});
        }
    }
    while (heap.count > 0) {
        struct entry first = pop(&heap);
        int64_t start_ps = start_of(&clock, first.task, ready_ps[first.task]);
        if (start_ps > first.start_ps) {
            push(&heap, (struct entry){start_ps, first.task});
            continue;
        }
        order[count++] = first.task;
        int64_t end_ps = rail_clock_begin(&clock, first.task, first.start_ps);
        for (uint32_t e = graph->next_first[first.task]; e < graph->next_first[first.task + 1];
             e++) {
            uint32_t next = graph->next[e];
            ready_ps[next] = ready_ps[next] > end_ps ? ready_ps[next] : end_ps;
            if (--waits[next] == 0) {
                push(&heap, (struct entry){start_of(&clock, next, ready_ps[next]), next});
            }
        }
    }
    WEFT_ASSERT(count == n);
}
