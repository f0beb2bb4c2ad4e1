// SPDX-License-Identifier: Apache-2.0
// weft lab run JOB.yaml: a described job of experts, whose all-to-alls go over circuits that move
// between them and a packet network (runtime/rails/experts.h).

#include "lab.h"
#include "request/json/json.h"
#include "run.h"
#include "weft/format.h"

#include "runtime/rails/experts.h"

#include <stdlib.h>
#include <string.h>

struct experts_run {
    struct lab_rails_run rails;
    struct weft_expert_job job;
    struct lab_experts experts;
    double *measured_s;  // by all-to-all: the median of its quiet iterations
    double *predicted_s; // likewise, as replayed: from the end of the one before
};

bool lab_run_is_experts(const struct lab_run *run)
{
    // What comes by stdin can be read once.
    return run->plan_path != NULL && strcmp(run->plan_path, "-") != 0 &&
           weft_file_kind(run->plan_path) == WEFT_FILE_EXPERT_JOB;
}

// ---- all-to-alls ----

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_quiet(const struct lab_rail_result *result, uint32_t iteration)
{
    bool quiet = true;
    for (uint32_t i = 0; i < result->notice_count; i++) {
        quiet = quiet && result->notices[i].iteration != iteration + 1;
    }
    return quiet;
}

// From the end of the all-to-all before to its own, in the iterations without a notice, or in all
// where there are none.
static void summarize(struct experts_run *self, struct weft_arena *arena)
{
    const struct weft_expert_schedule *schedule = &self->experts.schedule;
    const struct lab_rail_result *result = &self->rails.result;
    uint32_t count = schedule->exchange_count;
    uint32_t n = result->iteration_count;
    double *times = WEFT_NEW(arena, double, (size_t)n + 1);
    self->measured_s = WEFT_NEW(arena, double, count);
    self->predicted_s = WEFT_NEW(arena, double, count);
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        any = any || is_quiet(result, i);
    }
    for (uint32_t e = 0; e < count; e++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n; i++) {
            const double *marks = result->mark_s + (size_t)i * count;
            if (!any || is_quiet(result, i)) {
                times[kept++] = marks[e] - (e > 0 ? marks[e - 1] : 0);
            }
        }
        qsort(times, kept, sizeof *times, by_value);
        self->measured_s[e] = kept > 0 ? times[kept / 2] : 0;
        self->predicted_s[e] = self->experts.ends_s[e] - (e > 0 ? self->experts.ends_s[e - 1] : 0);
    }
}

// ---- printing ----

static json_t *exchange_json(const struct experts_run *self, uint32_t e)
{
    const struct weft_expert_exchange *exchange = &self->experts.schedule.exchanges[e];
    json_t *row = json_object();
    weft_set_count(row, "step", exchange->step + 1);
    weft_set_count(row, "layer", exchange->layer + 1);
    weft_set_text(row, "way", exchange->back ? "back" : "out");
    weft_set_count(row, "ports_moved", exchange->moved);
    weft_set_real(row, "wait_s", weft_seconds(exchange->wait_ps));
    weft_set_real(row, "bytes_s", exchange->time_s);
    weft_set_real(row, "predicted_s", self->predicted_s[e]);
    weft_set_real(row, "measured_s", self->measured_s[e]);
    return row;
}

static void print_json(const struct experts_run *self)
{
    const struct lab_rails_run *rails = &self->rails;
    const struct lab_rail_result *result = &rails->result;
    const struct weft_expert_schedule *schedule = &self->experts.schedule;
    struct cli *cli = rails->run->cli;
    json_t *object = weft_set_object("weft.lab-experts/1");
    weft_set_text(object, "job", self->job.name);
    weft_set_text(object, "mode", weft_rail_mode_name(rails->options.mode));
    weft_set_count(object, "servers", self->job.servers);
    weft_set_count(object, "circuits", self->job.circuits);
    weft_set_real(object, "dark_time_s", weft_seconds(rails->options.dark_ps));
    weft_set_real(object, "rate_Bps", rails->options.rate_Bps);
    weft_set_real(object, "rate_ratio", rails->rail.rate_ratio);
    weft_set_real(object, "bytes_ratio", rails->rail.bytes_ratio);
    weft_set_real(object, "time_ratio", rails->rail.time_ratio);
    weft_set_real(object, "predicted_s", result->predicted_s);
    weft_set_real(object, "measured_s", result->quiet_s);
    weft_set_real(object, "difference_ratio", result->difference_ratio);
    weft_set_real(object, "formula_s", weft_seconds(schedule->iteration_ps));
    weft_set_real(object, "ideal_s", schedule->ideal_s);
    weft_set_real(object, "fixed_s", schedule->fixed_s);
    json_t *times = weft_set_list(object, "iteration_s");
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        json_array_append_new(times, json_real(result->measured_s[i]));
    }
    json_t *exchanges = weft_set_list(object, "exchanges");
    for (uint32_t e = 0; e < schedule->exchange_count; e++) {
        json_array_append_new(exchanges, exchange_json(self, e));
    }
    weft_set_count(object, "changes", result->changes);
    weft_set_count(object, "predicted_changes", result->predicted_changes);
    weft_set_real(object, "dark_share", result->dark_share);
    weft_set_real(object, "predicted_dark_share", result->predicted_dark_share);
    weft_set_count(object, "over_circuits", result->lit);
    weft_set_count(object, "over_packets", result->fallen);
    weft_set_count(object, "silent", result->silent_count);
    weft_set_count(object, "sent_bytes", result->sent_bytes);
    weft_set_count(object, "received_bytes", result->received_bytes);
    weft_set_count(object, "checked_bytes", result->checked_count);
    weft_set_count(object, "retransmits", result->retransmits);
    lab_rails_set_notices(object, rails);
    cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
}

static void print_table(const struct experts_run *self)
{
    static const struct weft_table_column columns[] = {
        {"step", WEFT_ALIGN_RIGHT},     {"layer", WEFT_ALIGN_RIGHT},
        {"way", WEFT_ALIGN_LEFT},       {"ports moved", WEFT_ALIGN_RIGHT},
        {"wait", WEFT_ALIGN_RIGHT},     {"predicted", WEFT_ALIGN_RIGHT},
        {"measured", WEFT_ALIGN_RIGHT}, {"difference", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_expert_schedule *schedule = &self->experts.schedule;
    struct cli *cli = self->rails.run->cli;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)schedule->exchange_count * COLUMNS);
    for (uint32_t e = 0; e < schedule->exchange_count; e++) {
        const struct weft_expert_exchange *exchange = &schedule->exchanges[e];
        struct weft_table_cell *row = cells + (size_t)COLUMNS * e;
        row[0] = weft_cell_count(&cli->arena, exchange->step + 1);
        row[1] = weft_cell_count(&cli->arena, exchange->layer + 1);
        row[2].text = exchange->back ? "back" : "out";
        row[3] = weft_cell_count(&cli->arena, exchange->moved);
        row[4] = weft_cell_time(&cli->arena, weft_seconds(exchange->wait_ps));
        row[5] = weft_cell_time(&cli->arena, self->predicted_s[e]);
        row[6] = weft_cell_time(&cli->arena, self->measured_s[e]);
        row[7] = weft_cell_change(&cli->arena, 1, self->measured_s[e] / self->predicted_s[e] - 1);
    }
    cli_table(cli, columns, COLUMNS, cells, schedule->exchange_count);
}

static void print_text(const struct experts_run *self)
{
    const struct lab_rails_run *rails = &self->rails;
    const struct weft_expert_schedule *schedule = &self->experts.schedule;
    struct cli *cli = rails->run->cli;
    char rate[WEFT_UNIT_TEXT];
    char dark[WEFT_UNIT_TEXT];
    cli_say(cli,
            "%s: %u servers, %u ports on circuits and one on packets, circuits changed %s, dark "
            "%s; ports of %s, 1:%.6g; bytes 1:%.4g; so times here are %.4g times the job's\n",
            self->job.name, self->job.servers, self->job.circuits,
            rails->options.mode == WEFT_RAIL_DEMAND ? "when loads are known"
                                                    : "under the experts' computation",
            weft_show_time(dark, rails->options.dark_ps),
            weft_show_rate(rate, rails->options.rate_Bps), rails->rail.rate_ratio,
            1 / rails->rail.bytes_ratio, rails->rail.time_ratio);
    print_table(self);
    cli_say(cli,
            "were all servers to begin each all-to-all together: %.1f ms; of that bytes alone, on "
            "one switch for all ports: %.1f ms, over circuits for the mean that never move: %.1f "
            "ms\n",
            1e3 * weft_seconds(schedule->iteration_ps), 1e3 * schedule->ideal_s,
            1e3 * schedule->fixed_s);
    lab_rails_print_sums(rails, "packets", "bytes");
}

bool lab_run_experts(struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct experts_run *self = WEFT_NEW(&cli->arena, struct experts_run, 1);
    if (run->rails.mode == WEFT_RAIL_BEST) {
        return cli_usage(cli, "--mode best is for jobs on rails; %s is a job of experts",
                         run->plan_path) == 0;
    }
    if (!lab_rails_take(&self->rails, run, "a job of experts") ||
        !weft_expert_job_load(&self->job, run->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    self->experts.job = &self->job;
    if (!lab_experts_prepare(&self->rails.rail, &self->experts, &self->rails.options,
                             &cli_environment(cli, NULL)->base)) {
        return weft_wrap(&cli->error, "%s", run->plan_path);
    }
    if (!lab_rails_play(&self->rails)) {
        return lab_hint_rootless(cli, run->rootless);
    }
    summarize(self, &cli->arena);
    if (cli->json) {
        print_json(self);
    } else {
        print_text(self);
    }
    return true;
}
