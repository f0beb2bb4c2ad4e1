// SPDX-License-Identifier: Apache-2.0
// Whether everything that a plan claims holds: against itself, against the task graph that it was
// made for, and, where it began with a model, against what follows from the model. The proofs are
// in src/plan/check; here is which of them can be made with what was given, and what is left out.

#include "weft/request/check.h"
#include "weft/format.h"

// The part for plans that began with a model, where the rest holds.
static bool check_model(struct weft_check_result *result, const struct weft_check_request *request,
                        const struct weft_plan *plan, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const char *name = request->model;
    struct weft_model model;
    if (name == NULL && !weft_request_in_zoo(plan->job->model)) {
        result->left_out = weft_arena_format(
            base->arena,
            "whether strategy, task graph and memory follow from the model (%s is not of the zoo; "
            "write {model=FILE.yaml})",
            plan->job->model);
        return true;
    }
    if (!weft_request_model(&model, name != NULL ? name : plan->job->model, environment) ||
        !weft_model_set_batch(&model, plan->job->batch, base->error)) {
        return false;
    }
    result->violation_count = weft_plan_check_model(plan, &model, &result->violations,
                                                    &result->left_out, base->arena, base->scratch);
    return true;
}

bool weft_request_check(struct weft_check_result *result, const struct weft_check_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    struct weft_fbuf fbuf;
    struct weft_check_result found = {.left_out = NULL};
    if (!weft_plan_load(plan, request->plan_path, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (request->model != NULL && plan->job == NULL) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{model}: %s was made for a task graph; name that instead",
                         request->plan_path);
    }
    if (request->job_path != NULL &&
        !weft_fbuf_load(&fbuf, request->job_path, base->arena, base->scratch, base->error)) {
        return false;
    }
    const struct weft_taskgraph *graph = request->job_path != NULL ? &fbuf.graph : NULL;
    found.violation_count =
        weft_plan_check(plan, graph, &found.violations, base->arena, base->scratch);
    if (plan->job == NULL && graph == NULL) {
        found.left_out = "what depends on the job's traffic (name its FILE.fbuf)";
    }
    if (found.violation_count == 0 && plan->job != NULL &&
        !check_model(&found, request, plan, environment)) {
        return false;
    }
    *result = found;
    return true;
}
