// SPDX-License-Identifier: Apache-2.0
// A described job on photonic rails: its file, its task graph, the replay of plan/rails.

#include "weft/request/rails.h"
#include "weft/format.h"

#include <string.h>

#define PLAY_S 5.0 // of processor time, in packets

static bool play(struct weft_rails_result *result, const struct weft_rails_request *request,
                 const struct weft_taskgraph *graph, const struct weft_rail_options *rails,
                 struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_rail_play *play = WEFT_NEW(base->arena, struct weft_rail_play, 1);
    const struct weft_rail_play_options options = {
        .engine = request->engine,
        .rails = rails,
        .packets_max =
            environment->goes_on ? 0 : PLAY_S * weft_request_packets_per_s(graph->server_count),
        .progress = &environment->progress.simulation,
    };
    weft_request_step_begin(environment, "simulating", NULL);
    bool played = weft_rail_play(play, &result->run, graph, &options, base);
    weft_request_step_end(environment);
    result->play = play;
    result->engine = request->engine;
    return played;
}

bool weft_request_rails(struct weft_rails_result *result, const struct weft_rails_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_rails_result found = {.delays = request->delays, .within = request->within};
    struct weft_taskgraph graph;
    if (!weft_rail_job_load(&found.job, request->path, base->arena, base->error)) {
        return false;
    }
    const struct weft_rail_job *job = &found.job;
    const struct weft_rail_options options = {
        .mode = request->mode,
        .delays = request->delays,
        .within = request->within,
        .rate_Bps = job->rate_Bps,
        .ports = job->ports,
        .switch_ports = job->switch_ports,
        .latency_ps = job->latency_ps,
        .places = 1,
    };
    if (!weft_rail_job_taskgraph(&graph, job, base->arena, base->scratch, base->error) ||
        !weft_rail_run(&found.run, &graph, &options, base) ||
        (request->plays && !play(&found, request, &graph, &options, environment))) {
        return weft_wrap(base->error, "%s", request->path);
    }
    *result = found;
    return true;
}

bool weft_request_rails_cost(struct weft_rails_cost_result *result,
                             const struct weft_rails_cost_request *request,
                             struct weft_request_environment *environment)
{
    uint32_t count = 0;
    const struct weft_rail_prices *prices = weft_rail_prices(&count);
    const char *names[8] = {NULL};
    WEFT_ASSERT(count < 8);
    for (uint32_t p = 0; p < count; p++) {
        names[p] = prices[p].name;
        if (strcmp(prices[p].name, request->prices) == 0) {
            *result =
                (struct weft_rails_cost_result){.servers = request->servers, .prices = &prices[p]};
            weft_rail_count(&result->bills, request->servers, &prices[p]);
            return true;
        }
    }
    return weft_fail_word(environment->base.error, "set of prices", request->prices, names, count);
}
