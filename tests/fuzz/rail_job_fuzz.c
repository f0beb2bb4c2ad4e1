// SPDX-License-Identifier: Apache-2.0
// Jobs on photonic rails in YAML: any bytes are one line of complaint or a job; a small one becomes
// a task graph and is replayed, or is refused in one line.

#include "fuzz.h"
#include "weft/format.h"

// More passes or servers than this say nothing new.
#define SERVERS_MAX 64u
#define PASSES_MAX 64u

static void check_job(const struct weft_rail_job *job, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_taskgraph graph;
    struct weft_rail_result result;
    if (job->dp * job->pp > SERVERS_MAX || job->microbatches > PASSES_MAX || job->exchanges > 4) {
        return;
    }
    if (!weft_rail_job_taskgraph(&graph, job, &desk->arena, desk->scratch, &error)) {
        fuzz_check_refusal(&error);
        return;
    }
    const struct weft_rail_options options = {
        .mode = WEFT_RAIL_BEST,
        .delays = {.dark_ps = 1000000000},
        .rate_Bps = job->rate_Bps,
        .ports = job->ports,
        .switch_ports = job->switch_ports,
        .latency_ps = job->latency_ps,
        .places = 1,
        .replays_max = 4,
    };
    const struct weft_environment environment = {
        .arena = &desk->arena, .scratch = desk->scratch, .threads = 1, .error = &error};
    if (!weft_rail_run(&result, &graph, &options, &environment)) {
        if (error.code != WEFT_INFEASIBLE) { // a switch that is too small is no flaw of the file
            fuzz_check_refusal(&error);
        }
        return;
    }
    WEFT_ASSERT(result.bound_ps <= result.iteration_ps);
    WEFT_ASSERT(result.dark_share >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rail_job job = {.dp = 7};
    if (weft_rail_job_read(&job, (const char *)data, size, &desk.arena, &error)) {
        WEFT_ASSERT(job.dp > 0 && job.pp > 0 && job.ports > 0 && job.rate_Bps > 0);
        check_job(&job, &desk);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(job.dp == 7);
    }
    fuzz_close(&desk);
    return 0;
}
