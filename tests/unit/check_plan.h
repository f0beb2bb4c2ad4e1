// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_CHECK_PLAN_H
#define WEFT_TESTS_CHECK_PLAN_H

// A plan in memory through the checker, as `weft check` puts a file through it.

#include "weft/format.h"
#include "weft/plan.h"
#include "weft/verify.h"

#include <string.h>

// Returns the number of violations. A plan whose routes are no table is written and read back
// first, as a file is. `graph` may be NULL: then the job's, or none.
static inline uint32_t check_plan(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                                  const struct weft_violation **violations,
                                  struct weft_arena *arena, struct weft_arena scratch)
{
    static struct weft_error error;
    struct weft_plan *stored = WEFT_NEW(arena, struct weft_plan, 1);
    if (plan->network.routes.kind != WEFT_ROUTES_TABLE) {
        const char *text = weft_plan_write(plan, arena);
        if (!weft_plan_read(stored, text, strlen(text), arena, scratch, &error)) {
            static struct weft_violation unreadable;
            unreadable.text = error.message;
            *violations = &unreadable;
            return 1;
        }
        plan = stored;
    }
    struct weft_verify_input input = {.plan = plan, .graph = graph};
    input.graph = graph == NULL && plan->job != NULL ? &plan->job->graph : graph;
    struct weft_taskgraph played;
    if (input.graph != NULL && plan->collective_count > 0) {
        bool fine = weft_plan_played(&played, plan, input.graph, arena, scratch, &error);
        input.played = fine ? &played : NULL;
        input.why_not_played = fine ? NULL : error.message;
    }
    struct weft_verify_report report;
    weft_verify_plan(&report, &input, arena, scratch);
    *violations = report.violations;
    return report.violation_count;
}

#endif
