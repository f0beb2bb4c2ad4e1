// SPDX-License-Identifier: Apache-2.0
// weft simulate FLOWS: allreduce, permutation, all-to-all and Poisson traffic.

#include "patterns.h"
#include "simulate.h"

#include <stdlib.h>

// Flow completion times, sorted.
struct times {
    uint32_t count;
    uint64_t *ps;
    double mean_s;
};

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Turns the flows' ends into durations, in place, and sorts them.
static struct times sort_times(uint64_t *ends_ps, const struct weft_flow_list *flows)
{
    struct times times = {.count = flows->count, .ps = ends_ps};
    double sum_s = 0;
    for (uint32_t i = 0; i < flows->count; i++) {
        ends_ps[i] -= flows->start_ps[i];
        sum_s += weft_seconds(ends_ps[i]);
    }
    qsort(ends_ps, flows->count, sizeof *ends_ps, compare_times);
    times.mean_s = flows->count > 0 ? sum_s / flows->count : 0;
    return times;
}

static uint64_t quantile_ps(const struct times *times, double share)
{
    uint32_t index = (uint32_t)(share * (times->count - 1) + 0.5);
    return times->ps[index];
}

static void tell_json(struct simulate *simulate, const struct weft_sim_result *result,
                      const struct times *times)
{
    json_t *object = simulate_object(simulate, result);
    cli_set_text(object, "pattern", simulate->paths[0]);
    cli_set_real(object, "completion_s", weft_seconds(result->end_ps));
    if (simulate_repeats(simulate)) {
        cli_set_count(object, "iterations", simulate->packets.iterations);
        cli_set_real(object, "iteration_mean_s", weft_seconds(result->iteration_ps[0]));
        cli_set_real(object, "iteration_p99_s", weft_seconds(simulate_p99_ps(simulate, result, 0)));
    }
    if (times != NULL) {
        cli_set_real(object, "mean_flow_s", times->mean_s);
        cli_set_real(object, "median_flow_s", weft_seconds(quantile_ps(times, 0.5)));
        cli_set_real(object, "p99_flow_s", weft_seconds(quantile_ps(times, 0.99)));
        cli_set_real(object, "max_flow_s", weft_seconds(quantile_ps(times, 1)));
    }
    cli_set_real(object, "wall_s", cli_elapsed_s(simulate->cli));
    cli_json(simulate->cli, object);
}

static void tell(struct simulate *simulate, const struct weft_sim_result *result,
                 const struct times *times)
{
    struct cli *cli = simulate->cli;
    char unit[WEFT_UNIT_TEXT];
    simulate_headline(simulate);
    cli_say(cli, "%s\n", simulate->paths[0]);
    cli_say(cli, "completion  %s\n", weft_show_time(unit, result->end_ps));
    if (simulate_repeats(simulate)) {
        cli_say(cli, "iteration   mean %s", weft_show_time(unit, result->iteration_ps[0]));
        cli_say(cli, ", 99th percentile %s\n",
                weft_show_time(unit, simulate_p99_ps(simulate, result, 0)));
    }
    if (times != NULL) {
        cli_say(cli, "a flow      mean %s", weft_show_time(unit, weft_picoseconds(times->mean_s)));
        cli_say(cli, ", median %s", weft_show_time(unit, quantile_ps(times, 0.5)));
        cli_say(cli, ", 99th percentile %s", weft_show_time(unit, quantile_ps(times, 0.99)));
        cli_say(cli, ", longest %s\n", weft_show_time(unit, quantile_ps(times, 1)));
    }
    simulate_last_line(simulate, result);
}

static bool play_allreduce(struct simulate *simulate, uint64_t size_bytes)
{
    struct cli *cli = simulate->cli;
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    if (!simulate_paces(simulate, 1) ||
        !patterns_build_allreduce(&graph, size_bytes, simulate->network->fabric.server_count,
                                  &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    const struct weft_sim_job job = {.graph = &graph};
    if (!weft_sim_run_jobs(&result, &simulate->network->fabric, &simulate->network->routes, &job, 1,
                           &simulate->packets, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (!simulate_save_records(simulate, &result, &job, 1, NULL, NULL)) {
        return false;
    }
    if (cli->json) {
        tell_json(simulate, &result, NULL);
    } else {
        tell(simulate, &result, NULL);
    }
    return true;
}

static bool play_flows(struct simulate *simulate, const struct weft_flows_spec *spec)
{
    struct cli *cli = simulate->cli;
    struct weft_flow_list flows;
    struct weft_sim_result result;
    double host_rate_Bps = simulate->cluster.rate_Bps * simulate->cluster.degree;
    if (!patterns_build(&flows, spec, simulate->network->fabric.server_count, host_rate_Bps,
                        &cli->arena, &cli->error)) {
        return weft_wrap(&cli->error, "%s", simulate->paths[0]);
    }
    if (!simulate_flow_paces(simulate, flows.count)) {
        return false;
    }
    uint64_t *ends_ps = WEFT_NEW(&cli->arena, uint64_t, flows.count);
    if (!weft_sim_run_flows(&result, ends_ps, &simulate->network->fabric,
                            &simulate->network->routes, &flows, &simulate->packets, &cli->arena,
                            cli->scratch, &cli->error)) {
        return false;
    }
    if (!simulate_save_records(simulate, &result, NULL, 0, &flows, ends_ps)) {
        return false;
    }
    struct times times = sort_times(ends_ps, &flows);
    if (cli->json) {
        tell_json(simulate, &result, &times);
    } else {
        tell(simulate, &result, &times);
    }
    return true;
}

bool simulate_flows(struct simulate *simulate, const struct weft_flows_spec *spec)
{
    struct cli *cli = simulate->cli;
    if (cli->hardware.server_count == 0 && cli->hardware.cluster_path == NULL &&
        simulate->topology_path == NULL) {
        return cli_misuse(cli, "how many servers? write --servers 128");
    }
    if (!simulate_network(simulate, cli->hardware.server_count)) {
        return false;
    }
    simulate->packets.seed = cli->seed;
    bool is_job = spec->kind == WEFT_FLOWS_ALLREDUCE;
    if (!cli_packets(&simulate->packets, cli, false) || !simulate_ask_records(simulate, is_job)) {
        return false;
    }
    simulate->packets.stop = cli_clock_start(cli, "simulating", 0);
    bool played = is_job ? play_allreduce(simulate, spec->size_bytes) : play_flows(simulate, spec);
    cli_clock_stop(cli);
    return played;
}
