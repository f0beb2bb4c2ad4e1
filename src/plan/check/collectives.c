// SPDX-License-Identifier: Apache-2.0
// Whether the collectives that a plan chose do what they must.
//
// Every choice's schedule is built anew for the largest task of each kind and executed symbolically
// (weft_schedule_check): at the end each rank must hold exactly the sums that the collective asks
// for. That the iteration takes as long with them is checked where the plan is played (check.c).

#include "check.h"

#include "plan/collectives/collectives.h"

#include <math.h>

// Times pass through decimal text.
#define SAME_RATIO 1e-6

// Executes the schedules of one choice. Whether all of them are sound.
static bool prove(struct findings *findings, const struct weft_plan *plan, uint32_t index,
                  const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    const struct weft_collective_choice *choice = &plan->collectives[index];
    uint64_t largest[WEFT_TASK_KIND_COUNT];
    collectives_list_tasks(largest, choice, graph);
    uint32_t before = findings->count;
    uint32_t kinds = 0;
    struct weft_arena kept = weft_arena_split(&scratch);
    for (enum weft_task_kind kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
        struct weft_arena arena = kept;
        struct weft_placed_schedule placed;
        struct weft_schedule_report report;
        struct weft_error error;
        if (largest[kind] == 0) {
            continue;
        }
        kinds++;
        const struct weft_collective_call call = {kind, largest[kind]};
        const struct weft_environment inner = {
            .arena = &arena, .scratch = scratch, .error = &error};
        if (!weft_collective_choice_build(&placed, choice, &call, graph, &plan->network, &inner) ||
            !weft_schedule_check(&report, &placed.schedule, scratch, &error)) {
            findings_add(findings, "collectives[%u]: %s", index, error.message);
        } else if (!report.valid) {
            findings_add(findings, "collectives[%u]: %s", index, report.why);
        }
    }
    if (kinds == 0) {
        findings_add(findings, "collectives[%u]: group %u has no collective of these sizes", index,
                     choice->group);
    }
    return findings->count == before;
}

bool check_collectives(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    bool sound = true;
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        const struct weft_collective_choice *choice = &plan->collectives[c];
        if (graph != NULL) {
            sound = prove(findings, plan, c, graph, scratch) && sound;
        }
        if (!(fabs(choice->seconds - plan->iteration_s) <= SAME_RATIO * plan->iteration_s)) {
            findings_add(findings,
                         "collectives[%u]: seconds is stated as %.9g, but the iteration with it "
                         "takes %.9g",
                         c, choice->seconds, plan->iteration_s);
        }
    }
    return sound;
}
