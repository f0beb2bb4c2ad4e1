// SPDX-License-Identifier: Apache-2.0
// weft simulate --snapshot: what a job asks of each link over one iteration, as its entry in a
// snapshot for weft interleave.

#include "weft/request/interleave.h"
#include "simulate.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 1024 }; // of an iteration

bool simulate_refuse_snapshot(const struct simulate *simulate)
{
    const struct cli_records *records = &simulate->cli->records;
    return records->snapshot_path == NULL ||
           cli_misuse(simulate->cli, "--snapshot is what one job asks in an iteration; name a task "
                                     "graph, a trace, or --plan alone");
}

bool simulate_ask_snapshot(const struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    if (cli->records.job_name != NULL && cli->records.snapshot_path == NULL) {
        return cli_misuse(cli, "--job-name is for --snapshot; write that, too");
    }
    return simulate->path_count <= 1 ? cli_can_write(cli, cli->records.snapshot_path)
                                     : simulate_refuse_snapshot(simulate);
}

// The samples of the links that carried anything. Samples tell rates at moments: together they are
// the bytes that the link carried, and none is above what it can.
static void take_series(struct weft_series_set *set, const struct simulate *simulate,
                        const struct weft_sim_result *result, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = &simulate->network->fabric;
    const struct weft_records *records = &result->records;
    uint32_t link_count = fabric->link_count;
    uint32_t *place = WEFT_NEW(arena, uint32_t, link_count);
    struct weft_series *series = WEFT_NEW(arena, struct weft_series, link_count);
    const char **names = WEFT_NEW(arena, const char *, link_count);
    double *capacity_Bps = WEFT_NEW(arena, double, link_count);
    double *total = WEFT_NEW(arena, double, link_count);
    uint32_t count = 0;
    for (uint32_t l = 0; l < link_count; l++) {
        place[l] = result->link_bytes[l] > 0 ? count++ : WEFT_NONE;
    }
    double *bytes = WEFT_NEW(arena, double, (size_t)count *SAMPLES);
    for (uint32_t i = 0; i < records->sample_count; i++) {
        const struct weft_link_sample *sample = &records->samples[i];
        uint64_t at = sample->time_ps / records->sample_ps;
        if (place[sample->link] != WEFT_NONE && at > 0 && at <= SAMPLES) {
            bytes[(size_t)place[sample->link] * SAMPLES + at - 1] += (double)sample->bytes;
            total[sample->link] += (double)sample->bytes;
        }
    }
    double step_s = weft_seconds(records->sample_ps);
    for (uint32_t l = 0; l < link_count; l++) {
        if (place[l] == WEFT_NONE) {
            continue;
        }
        double *own = bytes + (size_t)place[l] * SAMPLES;
        double scale = total[l] > 0 ? result->link_bytes[l] / total[l] : 0;
        for (uint32_t i = 0; i < SAMPLES; i++) {
            own[i] = fmin(own[i] * scale, fabric->links[l].rate_Bps * step_s);
        }
        series[place[l]] = (struct weft_series){records->sample_ps, SAMPLES, own};
        names[place[l]] =
            weft_arena_format(arena, "%u-%u", fabric->links[l].from, fabric->links[l].to);
        capacity_Bps[place[l]] = fabric->links[l].rate_Bps;
    }
    *set = (struct weft_series_set){count, series, names, capacity_Bps};
}

bool simulate_save_snapshot(const struct simulate *simulate, const struct weft_sim_job *job,
                            uint64_t iteration_ps)
{
    struct cli *cli = simulate->cli;
    const struct cli_records *records = &cli->records;
    const struct weft_fabric *fabric = &simulate->network->fabric;
    struct weft_sim_options options = simulate->packets;
    struct weft_sim_result result;
    struct weft_series_set set;
    struct weft_measured_demand measured;
    struct weft_job_set found;
    if (iteration_ps < SAMPLES) {
        return weft_fail(&cli->error, WEFT_INPUT, "--snapshot: an iteration must take time");
    }
    options.iterations = 1;
    options.paces = NULL;
    options.records = (struct weft_record_options){
        .sample_ps = (iteration_ps + SAMPLES - 1) / SAMPLES,
        .sample_limit = (2 * SAMPLES + 2) * (fabric->link_count + 1),
    };
    if (!weft_sim_run_jobs(&result, fabric, &simulate->network->routes, job, 1, &options,
                           &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    take_series(&set, simulate, &result, &cli->arena);
    if (set.link_count == 0) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--snapshot: the job sends nothing, so it shares nothing");
    }
    if (!weft_demand_measure(&measured, set.series, set.link_count, result.iteration_ps[0],
                             &(struct weft_environment){.arena = &cli->arena,
                                                        .scratch = cli->scratch,
                                                        .error = &cli->error}) ||
        !weft_snapshot_of_series(
            &found, &set, &measured, records->job_name == NULL ? "job" : records->job_name, 0,
            &(struct weft_environment){.arena = &cli->arena, .error = &cli->error})) {
        return weft_wrap(&cli->error, "--snapshot");
    }
    weft_request_note_measured(&measured, set.link_count, cli_environment(cli, NULL));
    cli_print_notes(cli);
    const char *text = weft_snapshot_write(&found, &cli->arena);
    return weft_file_save(records->snapshot_path, text, strlen(text), &cli->error);
}
