// SPDX-License-Identifier: Apache-2.0
// What the ports of a rail do when, server by server, for pictures. O(circuits).

#include "rails.h"

#include <string.h>

#define SERVERS_MAX 32u
#define SPANS_MAX 20000u

struct list {
    struct weft_rail_span *spans;
    uint32_t count;
    uint64_t end_ps; // of the iteration
};

static void add(struct list *list, uint32_t server, const char *phase, int64_t from_ps,
                int64_t to_ps)
{
    int64_t end_ps = (int64_t)list->end_ps;
    from_ps = from_ps < 0 ? 0 : from_ps;
    to_ps = to_ps > end_ps ? end_ps : to_ps;
    if (to_ps > from_ps && list->count < SPANS_MAX) {
        list->spans[list->count++] =
            (struct weft_rail_span){server, phase, (uint64_t)from_ps, (uint64_t)to_ps};
    }
}

// A change of the iteration before shows where it ends this one, too.
static void add_dark(struct list *list, uint32_t server, const struct rail_change *change)
{
    add(list, server, NULL, change->dark_ps, change->lit_ps);
    if (change->dark_ps < 0) {
        add(list, server, NULL, change->dark_ps + (int64_t)list->end_ps,
            change->lit_ps + (int64_t)list->end_ps);
    }
}

void rail_spans(struct weft_rail_result *result, const struct rail_program *program,
                const struct rail_times *times, const uint8_t *decisions, struct weft_arena *arena)
{
    struct list list = {.end_ps = times->iteration_ps};
    uint32_t seen[SERVERS_MAX]; // the operation that a server has shown last
    uint32_t places = program->options->places;
    memset(seen, 0xff, sizeof seen);
    list.spans = WEFT_NEW(arena, struct weft_rail_span, SPANS_MAX);
    for (uint32_t i = 0; i < program->graph->task_count; i++) {
        uint32_t task = program->order[i];
        uint32_t op = program->op_of[task];
        if (op == WEFT_NONE) {
            continue;
        }
        const struct rail_change *change = &times->changes[op];
        const struct rail_way *way = rail_way_of(&program->ops[op], decisions[op]);
        for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1];
             a++) {
            const struct rail_arc *arc = &program->arcs[a];
            const uint32_t ends[2] = {arc->from, arc->to};
            for (uint32_t e = 0; e < 2; e++) {
                uint32_t server = ends[e] / places;
                if (ends[e] % places != 0 || server >= SERVERS_MAX || seen[server] == op) {
                    continue;
                }
                seen[server] = op;
                add(&list, server, rail_label_names[program->ops[op].label],
                    (int64_t)times->start_ps[task], (int64_t)times->end_ps[task]);
                if (change->changed) {
                    add_dark(&list, server, change);
                }
            }
        }
    }
    result->spans = list.spans;
    result->span_count = list.count;
}
