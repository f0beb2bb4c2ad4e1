// SPDX-License-Identifier: Apache-2.0
// The files that weft simulate writes besides its result: records of flows, series of links, a
// Perfetto trace, a picture of a step of MLT, a job's entry in a snapshot. The result holds them as
// values; here they get their names, which are checked before the run so that a long one is not
// lost to a wrong path.

#include "simulate.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

bool simulate_can_write(struct cli *cli)
{
    const struct cli_records *records = &cli->given.records;
    return cli_can_write(cli, records->flows_path) && cli_can_write(cli, records->series_path) &&
           cli_can_write(cli, records->trace_path) && cli_can_write(cli, records->step_path) &&
           cli_can_write(cli, records->snapshot_path);
}

static bool write_trace(struct cli *cli, const struct weft_trace *trace)
{
    const char *path = cli->given.records.trace_path;
    struct weft_arena scratch = cli->scratch;
    const void *data;
    size_t length;
    uint64_t left_out;
    if (!weft_perfetto_write(&data, &length, &left_out, trace, &scratch, &cli->error) ||
        !weft_file_save(path, data, length, &cli->error)) {
        return false;
    }
    if (left_out > 0) {
        cli_note(cli, "%s: cut; %llu slices are left out", path, (unsigned long long)left_out);
    }
    return true;
}

bool simulate_write(struct cli *cli, const struct weft_simulate_result *result)
{
    const struct cli_records *paths = &cli->given.records;
    const struct weft_simulated_records *kept = &result->records;
    if (paths->flows_path != NULL &&
        !weft_records_save_flows(paths->flows_path, &kept->records, cli->scratch, &cli->error)) {
        return false;
    }
    if (paths->series_path != NULL &&
        !weft_records_save_series(paths->series_path, &kept->records, &result->network->fabric,
                                  cli->scratch, &cli->error)) {
        return false;
    }
    if (paths->trace_path != NULL && !write_trace(cli, &kept->trace)) {
        return false;
    }
    if (paths->step_path != NULL) {
        const char *picture = weft_report_svg_step(
            result->sim.step, result->load != NULL ? result->load : "plan", &cli->arena);
        if (!weft_file_save(paths->step_path, picture, strlen(picture), &cli->error)) {
            return false;
        }
    }
    if (paths->snapshot_path == NULL) {
        return true;
    }
    const char *text = weft_snapshot_write(&kept->snapshot, &cli->arena);
    return weft_file_save(paths->snapshot_path, text, strlen(text), &cli->error);
}
