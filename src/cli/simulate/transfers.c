// SPDX-License-Identifier: Apache-2.0
// How long the transfers of other simulators' loads took: what those tell of a run.

#include "simulate.h"

#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t quantile_ps(const uint64_t *times_ps, uint32_t count, double share)
{
    return times_ps[(uint32_t)(share * (count - 1) + 0.5)];
}

void simulate_tell_transfers(const struct simulate *simulate, json_t *object,
                             const struct weft_sim_job *jobs, uint32_t job_count,
                             const struct weft_sim_result *result)
{
    struct cli *cli = simulate->cli;
    struct weft_arena scratch = cli->scratch;
    size_t room = 0;
    uint32_t count = 0;
    double sum_s = 0;
    double bytes = 0;
    for (uint32_t j = 0; j < job_count; j++) {
        room += jobs[j].graph->task_count;
    }
    uint64_t *times_ps = WEFT_NEW_RAW(&scratch, uint64_t, room);
    for (uint32_t j = 0; j < job_count && simulate->packets.timeline; j++) {
        const struct weft_taskgraph *graph = jobs[j].graph;
        for (uint32_t t = 0; t < graph->task_count; t++) {
            if (graph->kind[t] == WEFT_TASK_TRANSFER) {
                times_ps[count] = result->task_end_ps[j][t] - result->task_start_ps[j][t];
                sum_s += weft_seconds(times_ps[count++]);
                bytes += (double)graph->size_bytes[t];
            }
        }
    }
    if (count == 0) {
        return;
    }
    qsort(times_ps, count, sizeof *times_ps, compare_times);
    char unit[WEFT_UNIT_TEXT];
    if (object == NULL) {
        cli_say(cli, "a transfer  mean %s", weft_show_time(unit, weft_picoseconds(sum_s / count)));
        cli_say(cli, ", median %s", weft_show_time(unit, quantile_ps(times_ps, count, 0.5)));
        cli_say(cli, ", 99th percentile %s\n",
                weft_show_time(unit, quantile_ps(times_ps, count, 0.99)));
        return;
    }
    cli_set_count(object, "transfers", count);
    cli_set_real(object, "transfer_bytes", bytes);
    cli_set_real(object, "mean_flow_s", sum_s / count);
    cli_set_real(object, "median_flow_s", weft_seconds(quantile_ps(times_ps, count, 0.5)));
    cli_set_real(object, "p99_flow_s", weft_seconds(quantile_ps(times_ps, count, 0.99)));
    cli_set_real(object, "max_flow_s", weft_seconds(times_ps[count - 1]));
}
