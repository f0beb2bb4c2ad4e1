// SPDX-License-Identifier: Apache-2.0
// What waits in the job executor: events by time, tasks in the queues of devices, and tasks whose
// parts are still under way.

#include "executor.h"

#include "weft/base/heap.h"

#include <math.h>

// ---- events that are not ends of flows ----

static inline bool comes_before(const struct executor_event *a, const struct executor_event *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->order < b->order);
}

WEFT_HEAP(events, struct executor_event_heap, struct executor_event, 2, comes_before,
          weft_heap_no_places)

void executor_push(struct executor *executor, double time_ps, enum executor_event_kind kind,
                   uint32_t id)
{
    events_push(&executor->events, (struct executor_event){time_ps, executor->order++, kind, id});
}

struct executor_event executor_pop(struct executor *executor)
{
    return events_pop(&executor->events);
}

// ---- tasks ----

void executor_append(struct executor *executor, uint32_t *head, uint32_t *tail, uint32_t task)
{
    executor->next_in_line[task] = WEFT_NONE;
    if (*head == WEFT_NONE) {
        *head = task;
    } else {
        executor->next_in_line[*tail] = task;
    }
    *tail = task;
}

void executor_make_ready(struct executor *executor, uint32_t task)
{
    executor_append(executor, &executor->ready_head, &executor->ready_tail, task);
}

uint32_t executor_take_first(struct executor *executor, uint32_t *head)
{
    uint32_t task = *head;
    *head = executor->next_in_line[task];
    return task;
}

void executor_part_ended(struct executor *executor, uint32_t task, double time_ps)
{
    WEFT_ASSERT(executor->parts_left[task] > 0);
    executor->part_end_ps[task] = fmax(executor->part_end_ps[task], time_ps);
    if (--executor->parts_left[task] == 0) {
        executor_push(executor, executor->part_end_ps[task], EXECUTOR_TASK_END, task);
    }
}
