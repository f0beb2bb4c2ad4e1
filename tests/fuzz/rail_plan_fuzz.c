// SPDX-License-Identifier: Apache-2.0
// Plans for photonic rails in JSON: any bytes are one line of complaint or a plan, whose rail has
// a task graph that can be walked; a small one is replayed, or is refused in one line.

#include "fuzz.h"
#include "weft/format.h"

// More servers or tasks than this say nothing new.
#define SERVERS_MAX 64u
#define TASKS_MAX 200u

static void replay(const struct weft_rail_alone *alone, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rail_result result;
    const struct weft_rail_options options = {
        .mode = WEFT_RAIL_PROVISION,
        .rate_Bps = alone->rate_Bps,
        .ports = 1,
        .latency_ps = alone->latency_ps % 1000000000,
        .places = 1,
    };
    const struct weft_environment environment = {
        .arena = &desk->arena, .scratch = desk->scratch, .threads = 1, .error = &error};
    if (alone->graph.server_count > SERVERS_MAX || alone->graph.task_count > TASKS_MAX) {
        return;
    }
    if (!weft_rail_run(&result, &alone->graph, &options, &environment)) {
        fuzz_check_refusal(&error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rail_plan plan = {.iteration_s = 7};
    if (weft_rail_plan_read(&plan, (const char *)data, size, &desk.arena, desk.scratch, &error)) {
        WEFT_ASSERT(plan.model != NULL && plan.fabric != NULL && plan.iteration_s > 0);
        if (plan.alone != NULL && plan.alone->why_not == NULL) {
            WEFT_ASSERT(plan.alone->rail_count > 0 && plan.alone->rate_Bps > 0);
            replay(plan.alone, &desk);
        }
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(plan.iteration_s == 7);
    }
    fuzz_close(&desk);
    return 0;
}
