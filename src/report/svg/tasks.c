// SPDX-License-Identifier: Apache-2.0
// The tasks of a timeline as data, from which the page's script tells what ran when, zooms, filters
// and folds.
//
// Times are whole ticks, ten million to an iteration; of many tasks the longest are kept.
// O(tasks log tasks + members).

#include "pictures.h"
#include "svg.h"

#include <stdlib.h>

#define TICKS 10000000u
#define TASKS_MAX 20000u

static int longer_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static bool takes_time(const struct weft_taskgraph *graph, const uint64_t *start_ps,
                       const uint64_t *end_ps, uint32_t task)
{
    return graph->kind[task] != WEFT_TASK_BARRIER && end_ps[task] != WEFT_NEVER &&
           end_ps[task] > start_ps[task];
}

// Which tasks are kept: all that last longer than `least_ps`, and of those that last as long as
// many as there is room for, spread over all of them.
struct choice {
    uint32_t shown; // of the graph's tasks, those that take time
    uint64_t least_ps;
    uint64_t equal; // tasks that last least_ps
    uint64_t room;  // for them
    uint64_t passed;
};

static struct choice choose(const struct weft_taskgraph *graph, const uint64_t *start_ps,
                            const uint64_t *end_ps, struct weft_arena scratch)
{
    uint64_t *lengths = WEFT_NEW(&scratch, uint64_t, (size_t)graph->task_count + 1);
    struct choice choice = {0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (takes_time(graph, start_ps, end_ps, t)) {
            lengths[choice.shown++] = end_ps[t] - start_ps[t];
        }
    }
    if (choice.shown <= TASKS_MAX) {
        return choice;
    }
    qsort(lengths, choice.shown, sizeof *lengths, longer_first);
    choice.least_ps = lengths[TASKS_MAX - 1];
    choice.room = TASKS_MAX;
    for (uint32_t i = 0; i < choice.shown; i++) {
        choice.equal += lengths[i] == choice.least_ps;
        choice.room -= lengths[i] > choice.least_ps;
    }
    return choice;
}

static bool is_kept(struct choice *choice, uint64_t length_ps)
{
    if (length_ps != choice->least_ps) {
        return length_ps > choice->least_ps;
    }
    uint64_t before = choice->passed++ * choice->room / choice->equal;
    return choice->passed * choice->room / choice->equal > before;
}

static void add_kinds(struct weft_text *text)
{
    weft_text_add(text, ",\n\"kinds\":[");
    for (uint32_t kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
        weft_text_add(text, "%s[\"%s\",\"%s\",%u]", kind > 0 ? "," : "", weft_task_facts[kind].name,
                      svg_task_class((enum weft_task_kind)kind),
                      weft_task_facts[kind].on_device ? 0 : 1);
    }
    weft_text_add(text, "]");
}

static void add_groups(struct weft_text *text, const struct weft_taskgraph *graph)
{
    weft_text_add(text, ",\n\"groups\":[");
    for (uint32_t g = 0; g < graph->group_count; g++) {
        weft_text_add(text, "%s[", g > 0 ? "," : "");
        for (uint32_t i = graph->group_first[g]; i < graph->group_first[g + 1]; i++) {
            weft_text_add(text, "%s%u", i > graph->group_first[g] ? "," : "",
                          graph->group_members[i]);
        }
        weft_text_add(text, "]");
    }
    weft_text_add(text, "]");
}

// [kind, start, length, server or sender or group, receiver or -1, bytes].
static void add_task(struct weft_text *text, const struct weft_taskgraph *graph, uint32_t task,
                     uint64_t from, uint64_t length)
{
    weft_text_add(text, "[%u,%llu,%llu", graph->kind[task], (unsigned long long)from,
                  (unsigned long long)length);
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        weft_text_add(text, ",%u,%u,%llu]", graph->from[task], graph->to[task],
                      (unsigned long long)graph->size_bytes[task]);
    } else if (weft_task_is_collective(graph, task)) {
        weft_text_add(text, ",%u,-1,%llu]", graph->group[task],
                      (unsigned long long)graph->size_bytes[task]);
    } else {
        weft_text_add(text, ",%u,-1,0]", graph->device_server[graph->device[task]]);
    }
}

void picture_tasks(struct weft_text *text, const struct weft_taskgraph *graph,
                   const uint64_t *start_ps, const uint64_t *end_ps, uint64_t iteration_ps,
                   struct weft_arena scratch)
{
    struct choice choice = choose(graph, start_ps, end_ps, scratch);
    double tick_ps = iteration_ps > TICKS ? (double)iteration_ps / TICKS : 1;
    weft_text_add(
        text,
        "<script type=\"application/json\">{\"servers\":%u,\"tick_ps\":%.17g,\"end\":%.0f,"
        "\"shown\":%u",
        graph->server_count, tick_ps, (double)iteration_ps / tick_ps, choice.shown);
    add_kinds(text);
    add_groups(text, graph);
    weft_text_add(text, ",\n\"tasks\":[");
    const char *before = "";
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (takes_time(graph, start_ps, end_ps, t) && is_kept(&choice, end_ps[t] - start_ps[t])) {
            weft_text_add(text, "%s", before);
            add_task(text, graph, t, (uint64_t)((double)start_ps[t] / tick_ps + 0.5),
                     (uint64_t)((double)(end_ps[t] - start_ps[t]) / tick_ps + 0.5));
            before = ",\n";
        }
    }
    weft_text_add(text, "]}</script>\n");
}
