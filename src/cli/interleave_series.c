// SPDX-License-Identifier: Apache-2.0
// weft interleave --series: a job's entry in a snapshot, from what its links carried.

#include "interleave.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

// Capacities: --capacity, else as the file's utilization has it, else the largest rate seen.
static void name_links(struct weft_shared_link *links, const struct weft_series_set *set,
                       const struct weft_demand *demands, const struct interleave_request *request)
{
    struct cli *cli = request->cli;
    for (uint32_t l = 0; l < set->link_count; l++) {
        double top_Bps = 0;
        for (uint32_t p = 0; p < demands[l].phase_count; p++) {
            top_Bps = fmax(top_Bps, demands[l].phases[p].rate_Bps);
        }
        double capacity_Bps =
            request->capacity_Bps > 0 ? request->capacity_Bps : set->capacity_Bps[l];
        if (capacity_Bps == 0) {
            capacity_Bps = top_Bps > 0 ? top_Bps : 1;
            cli_note(cli,
                     "link %s: capacity not stated, taken as the largest rate; --capacity "
                     "says it",
                     set->names[l][0] == '\0' ? "link" : set->names[l]);
        }
        links[l].name = set->names[l][0] == '\0' ? "link" : set->names[l];
        links[l].capacity_Bps = fmax(capacity_Bps, top_Bps);
    }
}

bool interleave_series(const struct interleave_request *request)
{
    struct cli *cli = request->cli;
    struct weft_series_set set;
    struct weft_measured_demand measured;
    if (!weft_series_load(&set, request->series_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (!weft_demand_measure(&measured, set.series, set.link_count, request->period_ps, &cli->arena,
                             cli->scratch, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->series_path);
    }
    struct weft_shared_link *links = WEFT_NEW(&cli->arena, struct weft_shared_link, set.link_count);
    uint32_t *indices = WEFT_NEW(&cli->arena, uint32_t, set.link_count);
    name_links(links, &set, measured.link_demands, request);
    for (uint32_t l = 0; l < set.link_count; l++) {
        indices[l] = l;
    }
    const struct weft_sharing_job job = {
        .name = request->name == NULL ? "job" : request->name,
        .demand = set.link_count == 1 ? measured.link_demands[0]
                                      : (struct weft_demand){.iteration_ps = measured.iteration_ps},
        .links = indices,
        .link_count = set.link_count,
        .link_demands = set.link_count == 1 ? NULL : measured.link_demands,
    };
    const struct weft_job_set found = {.snapshot = {links, set.link_count, &job, 1}};
    if (!weft_snapshot_check(&found.snapshot, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->series_path);
    }
    char unit[WEFT_UNIT_TEXT];
    cli_note(cli,
             "iteration %s (within %.2g %%) over %.1f iterations of %u link%s; the phases put "
             "%.2g %% of the bytes elsewhere",
             weft_show_time(unit, measured.iteration_ps), 100 * measured.period_error_ratio,
             measured.iterations, set.link_count, set.link_count == 1 ? "" : "s",
             100 * measured.shape_error_ratio);
    cli_say(cli, "%s", weft_snapshot_write(&found, &cli->arena));
    return true;
}
