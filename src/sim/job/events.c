// SPDX-License-Identifier: Apache-2.0
// What waits in the job executor: events by time, tasks in the queues of devices, and tasks whose
// parts are still under way.

#include "executor.h"

#include "weft/base/heap.h"

#include <math.h>

// ---- events that are not ends of flows ----

static inline bool comes_before(const struct machine_event *a, const struct machine_event *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->order < b->order);
}

WEFT_HEAP(events, struct machine_event_heap, struct machine_event, 2, comes_before,
          weft_heap_no_places)

void machine_push(struct machine *machine, double time_ps, enum machine_event_kind kind,
                  uint32_t id)
{
    events_push(&machine->events, (struct machine_event){time_ps, machine->order++, kind, id});
}

struct machine_event machine_pop(struct machine *machine)
{
    return events_pop(&machine->events);
}

// ---- tasks ----

void machine_append(struct machine *machine, uint32_t *head, uint32_t *tail, uint32_t task)
{
    machine->next_in_line[task] = WEFT_NONE;
    if (*head == WEFT_NONE) {
        *head = task;
    } else {
        machine->next_in_line[*tail] = task;
    }
    *tail = task;
}

void machine_make_ready(struct machine *machine, uint32_t task)
{
    machine_append(machine, &machine->ready_head, &machine->ready_tail, task);
}

uint32_t machine_take_first(struct machine *machine, uint32_t *head)
{
    uint32_t task = *head;
    *head = machine->next_in_line[task];
    return task;
}

void machine_part_ended(struct machine *machine, uint32_t task, double time_ps)
{
    WEFT_ASSERT(machine->parts_left[task] > 0);
    machine->part_end_ps[task] = fmax(machine->part_end_ps[task], time_ps);
    if (--machine->parts_left[task] == 0) {
        machine_push(machine, machine->part_end_ps[task], MACHINE_TASK_END, task);
    }
}
