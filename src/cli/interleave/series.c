// SPDX-License-Identifier: Apache-2.0
// weft interleave --series: a job's entry in a snapshot, from what its links carried.

#include "interleave.h"
#include "weft/format.h"

void interleave_note_measured(const struct cli *cli, const struct weft_measured_demand *measured,
                              uint32_t link_count)
{
    char unit[WEFT_UNIT_TEXT];
    cli_note(cli,
             "iteration %s (within %.2g %%) over %.1f iterations of %u link%s; the phases put "
             "%.2g %% of the bytes elsewhere",
             weft_show_time(unit, measured->iteration_ps), 100 * measured->period_error_ratio,
             measured->iterations, link_count, link_count == 1 ? "" : "s",
             100 * measured->shape_error_ratio);
}

bool interleave_series(const struct interleave_request *request)
{
    struct cli *cli = request->cli;
    struct weft_series_set set;
    struct weft_measured_demand measured;
    struct weft_job_set found;
    if (!weft_series_load(&set, request->series_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (!weft_demand_measure(&measured, set.series, set.link_count, request->period_ps, &cli->arena,
                             cli->scratch, &cli->error) ||
        !weft_snapshot_of_series(&found, &set, &measured,
                                 request->name == NULL ? "job" : request->name,
                                 request->capacity_Bps, &cli->arena, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->series_path);
    }
    for (uint32_t l = 0; l < set.link_count; l++) {
        if (request->capacity_Bps == 0 && set.capacity_Bps[l] == 0) {
            cli_note(cli,
                     "link %s: capacity not stated, taken as the largest rate; --capacity "
                     "says it",
                     found.snapshot.links[l].name);
        }
    }
    interleave_note_measured(cli, &measured, set.link_count);
    cli_say(cli, "%s", weft_snapshot_write(&found, &cli->arena));
    return true;
}
