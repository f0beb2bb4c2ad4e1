// SPDX-License-Identifier: Apache-2.0
// What waits in the job executor: events by time, tasks in the queues of devices, and tasks whose
// messages or rings are still under way. Events are a heap, O(log events) each; queues are linked
// through the tasks, so that a task takes no room for the queue it stands in, O(1).

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

void executor_append(struct executor *executor, struct executor_queue *queue, uint32_t task)
{
    executor->tasks.next_in_queue[task] = WEFT_NONE;
    if (queue->head == WEFT_NONE) {
        queue->head = task;
    } else {
        executor->tasks.next_in_queue[queue->tail] = task;
    }
    queue->tail = task;
}

void executor_make_ready(struct executor *executor, uint32_t task)
{
    executor_append(executor, &executor->ready, task);
}

uint32_t executor_take_first(struct executor *executor, struct executor_queue *queue)
{
    uint32_t task = queue->head;
    queue->head = executor->tasks.next_in_queue[task];
    return task;
}

void executor_part_ended(struct executor *executor, uint32_t task, double time_ps)
{
    WEFT_ASSERT(executor->tasks.parts_left[task] > 0);
    executor->tasks.part_end_ps[task] = fmax(executor->tasks.part_end_ps[task], time_ps);
    if (--executor->tasks.parts_left[task] == 0) {
        executor_push(executor, executor->tasks.part_end_ps[task], EXECUTOR_TASK_END, task);
    }
}
