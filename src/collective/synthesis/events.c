// SPDX-License-Identifier: Apache-2.0
// The time of the planners: how long a chunk takes to leave, and a binary heap of events by time,
// those of one time by id. O(log events) each.

#include "synthesize.h"

uint64_t weft_synth_send_ps(uint64_t bytes, double rate_Bps)
{
    uint64_t ps = weft_picoseconds((double)bytes / rate_Bps);
    return ps > 0 ? ps : 1;
}

static bool comes_first(const struct weft_synth_event *a, const struct weft_synth_event *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->id < b->id);
}

void weft_synth_push(struct weft_synth_heap *heap, uint64_t time_ps, uint32_t id)
{
    struct weft_synth_event event = {time_ps, id};
    uint32_t at = heap->count++;
    while (at > 0 && comes_first(&event, &heap->events[(at - 1) / 2])) {
        heap->events[at] = heap->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->events[at] = event;
}

struct weft_synth_event weft_synth_pop(struct weft_synth_heap *heap)
{
    WEFT_ASSERT(heap->count > 0);
    struct weft_synth_event top = heap->events[0];
    struct weft_synth_event last = heap->events[--heap->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count &&
            comes_first(&heap->events[child + 1], &heap->events[child])) {
            child++;
        }
        if (!comes_first(&heap->events[child], &last)) {
            break;
        }
        heap->events[at] = heap->events[child];
        at = child;
    }
    heap->events[at] = last;
    return top;
}
