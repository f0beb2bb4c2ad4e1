// SPDX-License-Identifier: Apache-2.0
// weft lab run JOB.yaml or of a plan for photonic rails: a job on one re-wired rail
// (runtime/rails), in a lab of its own. run_rails_read.c reads the file.

#include "lab.h"
#include "request/json/json.h"
#include "run.h"

#include "runtime/rails/management.h"
#include "runtime/rails/run.h"

#include <unistd.h>

#define NOTICES_SHOWN 8u

// The options that a rail has no use for.
static bool check_options(struct lab_run *run, const char *what)
{
    struct cli *cli = run->cli;
    const char *wrong = run->change.path != NULL     ? "change"
                        : run->faults.count > 0      ? "fail"
                        : run->job_path != NULL      ? "job"
                        : run->report_path != NULL   ? "report"
                        : run->port.mark_packets > 0 ? "ecn"
                        : run->fabric_count > 1      ? "fabrics"
                                                     : NULL;
    return wrong == NULL ||
           cli_usage(cli, "--%s is for plans; %s is %s", wrong, run->plan_path, what) == 0;
}

// ---- the run ----

static bool raise_and_run(struct lab_rails_run *self, const char *name, weft_stop stop)
{
    struct lab_run *run = self->run;
    struct cli *cli = run->cli;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    const struct weft_lab_options options = {
        .name = name,
        .fabric = "rail",
        .rate_Bps = run->port.rate_Bps,
        .mtu_bytes = run->port.mtu_bytes,
        .buffer_bytes = run->port.buffer_bytes,
        .dark_ns = run->change.dark_ps / 1000,
        .stop = stop,
    };
    struct weft_lab_removed removed;
    struct weft_error down;
    if (!weft_lab_up(lab, &self->rail.wiring, &options, cli->scratch, &cli->error)) {
        return false;
    }
    bool fine =
        lab_management_up(lab, &cli->error) &&
        lab_rail_run(&self->result, &self->rail, lab, &cli->arena, cli->scratch, &cli->error);
    if (!weft_lab_down(&removed, name, cli->scratch, &down) && fine) {
        cli->error = down;
        return false;
    }
    return fine;
}

bool lab_rails_play(struct lab_rails_run *self)
{
    struct lab_run *run = self->run;
    struct cli *cli = run->cli;
    struct weft_lab_claim claim;
    char own[WEFT_LAB_NAME_MAX];
    snprintf(own, sizeof own, "run%d", (int)getpid());
    const char *name = run->name_given ? run->name : own;
    if (!weft_lab_claim(&claim, name, &cli->error)) {
        return false;
    }
    self->options.stop = cli_clock_start(cli, "running in the lab", NULL);
    cli_clock_heed();
    bool fine = raise_and_run(self, name, self->options.stop);
    cli_clock_stop(cli);
    weft_lab_unclaim(&claim, name);
    return fine;
}

// ---- printing ----

static json_t *notice_json(const struct lab_rails_run *self, uint32_t index)
{
    const struct lab_told_notice *told = &self->result.notices[index];
    uint32_t phases = self->rail.schedule.phase_count;
    json_t *row = json_object();
    weft_set_text(row, "what", lab_verdict_names[told->notice.verdict]);
    weft_set_count(row, "iteration", told->iteration);
    weft_set_count(row, "generation", told->notice.generation);
    if (phases > 0) {
        weft_set_text(row, "phase",
                      self->rail.schedule.phases[told->notice.generation % phases].name);
    }
    if (told->notice.rank != WEFT_NONE) {
        weft_set_count(row, "server", told->notice.rank);
    }
    weft_set_real(row, "noticed_s", 1e-9 * (double)told->notice.after_ns);
    weft_set_real(row, "cost_s", self->result.notice_cost_s[index]);
    if (told->text[0] != '\0') {
        weft_set_text(row, "switch", told->text);
    }
    return row;
}

void lab_rails_set_notices(json_t *object, const struct lab_rails_run *self)
{
    const struct lab_rail_result *result = &self->result;
    if (self->options.lies && result->fault_noticed_s >= 0) {
        weft_set_real(object, "fault_noticed_s", result->fault_noticed_s);
    }
    json_t *notices = weft_set_list(object, "notices");
    for (uint32_t i = 0; i < result->notice_count; i++) {
        json_array_append_new(notices, notice_json(self, i));
    }
}

static void print_json(const struct lab_rails_run *self)
{
    const struct lab_rail_result *result = &self->result;
    struct cli *cli = self->run->cli;
    json_t *object = weft_set_object("weft.lab-rails/1");
    weft_set_text(object, "job", self->source.name);
    if (self->source.plan.alone != NULL) {
        weft_set_real(object, "planned_s", self->source.plan.iteration_s);
        weft_set_count(object, "planned_ports", self->source.plan.alone->port_count);
        weft_set_count(object, "rails", self->source.plan.alone->rail_count);
    }
    weft_set_real(object, "unscaled_s", weft_seconds(self->rail.unscaled_ps));
    weft_set_text(object, "mode", weft_rail_mode_name(self->options.mode));
    weft_set_count(object, "servers", self->rail.schedule.rank_count);
    weft_set_real(object, "dark_time_s", weft_seconds(self->options.dark_ps));
    weft_set_real(object, "rate_Bps", self->options.rate_Bps);
    weft_set_real(object, "rate_ratio", self->rail.rate_ratio);
    weft_set_real(object, "bytes_ratio", self->rail.bytes_ratio);
    weft_set_real(object, "time_ratio", self->rail.time_ratio);
    weft_set_real(object, "predicted_s", result->predicted_s);
    weft_set_real(object, "measured_s", result->quiet_s);
    weft_set_real(object, "difference_ratio", result->difference_ratio);
    json_t *times = weft_set_list(object, "iteration_s");
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        json_array_append_new(times, json_real(result->measured_s[i]));
    }
    weft_set_count(object, "changes", result->changes);
    weft_set_count(object, "predicted_changes", result->predicted_changes);
    weft_set_real(object, "dark_share", result->dark_share);
    weft_set_real(object, "predicted_dark_share", result->predicted_dark_share);
    weft_set_count(object, "over_circuits", result->lit);
    weft_set_count(object, "over_management", result->fallen);
    weft_set_count(object, "silent", result->silent_count);
    weft_set_count(object, "sent_bytes", result->sent_bytes);
    weft_set_count(object, "received_bytes", result->received_bytes);
    weft_set_count(object, "checked_elements", result->checked_count);
    weft_set_count(object, "retransmits", result->retransmits);
    lab_rails_set_notices(object, self);
    cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
}

static void print_notices(const struct lab_rails_run *self)
{
    const struct lab_rail_result *result = &self->result;
    struct cli *cli = self->run->cli;
    uint32_t phases = self->rail.schedule.phase_count;
    if (self->options.lies && result->fault_noticed_s >= 0) {
        cli_say(cli, "the fault was noticed %.1f ms after it began\n",
                1e3 * result->fault_noticed_s);
    }
    for (uint32_t i = 0; i < result->notice_count; i++) {
        if (i == NOTICES_SHOWN && cli->form != CLI_CSV) {
            cli_say(cli, "and %u more; --json lists all\n", result->notice_count - i);
            return;
        }
        const struct lab_told_notice *told = &result->notices[i];
        char who[32] = "the switch";
        if (told->notice.rank != WEFT_NONE) {
            snprintf(who, sizeof who, "server %u", told->notice.rank);
        }
        cli_say(cli,
                "iteration %u, to %s (generation %llu): %s, %s; noticed after %.1f ms, cost %.1f "
                "ms%s%s\n",
                told->iteration,
                phases > 0 ? self->rail.schedule.phases[told->notice.generation % phases].name : "",
                (unsigned long long)told->notice.generation, who,
                lab_verdict_names[told->notice.verdict], 1e-6 * (double)told->notice.after_ns,
                1e3 * result->notice_cost_s[i], told->text[0] != '\0' ? ": " : "", told->text);
    }
}

void lab_rails_print_sums(const struct lab_rails_run *self, const char *beside, const char *checked)
{
    const struct lab_rail_result *result = &self->result;
    struct cli *cli = self->run->cli;
    cli_say(cli,
            "%s median %.1f ms, %+.2f %% to the prediction of %.1f ms; %.3g changes an iteration "
            "(predicted %llu), ports dark %.2f %% of the time (predicted %.2f %%)\n",
            result->notice_count > 0 ? "iterations without a notice:" : "all iterations:",
            1e3 * result->quiet_s, 100 * result->difference_ratio, 1e3 * result->predicted_s,
            (double)result->changes / result->iteration_count,
            (unsigned long long)result->predicted_changes, 100 * result->dark_share,
            100 * result->predicted_dark_share);
    cli_say(cli,
            "%llu phases over circuits, %llu over %s; %llu %s right, %llu of %llu bytes came, %llu "
            "retransmits\n",
            (unsigned long long)result->lit, (unsigned long long)result->fallen, beside,
            (unsigned long long)result->checked_count, checked,
            (unsigned long long)result->received_bytes, (unsigned long long)result->sent_bytes,
            (unsigned long long)result->retransmits);
    if (result->silent_count > 0) {
        cli_say(cli,
                "%u orders of the controller did not come: it ended or was late; servers went over "
                "%s by themselves\n",
                result->silent_count, beside);
    }
    print_notices(self);
}

// What of a plan runs here.
static void print_plan(const struct lab_rails_run *self)
{
    const struct weft_rail_alone *alone = self->source.plan.alone;
    char planned[WEFT_UNIT_TEXT];
    char unscaled[WEFT_UNIT_TEXT];
    cli_say(self->run->cli,
            "%s: one of %u rails, by one port a server (the plan has %u); planned iteration %s, by "
            "one port without dark time %s\n",
            self->run->plan_path, alone->rail_count, alone->port_count,
            weft_show_time(planned, weft_picoseconds(self->source.plan.iteration_s)),
            weft_show_time(unscaled, self->rail.unscaled_ps));
}

static void print_text(const struct lab_rails_run *self)
{
    static const struct weft_table_column columns[] = {
        {"iteration", WEFT_ALIGN_RIGHT},
        {"predicted", WEFT_ALIGN_RIGHT},
        {"measured", WEFT_ALIGN_RIGHT},
        {"difference", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct lab_rail_result *result = &self->result;
    struct cli *cli = self->run->cli;
    char rate[WEFT_UNIT_TEXT];
    char dark[WEFT_UNIT_TEXT];
    if (self->source.plan.alone != NULL) {
        print_plan(self);
    }
    cli_say(cli,
            "%s: %u servers, circuits asked %s, dark %s; ports of %s, 1:%.6g; bytes 1:%.4g; so "
            "times here are %.4g times the job's\n",
            self->source.name, self->rail.schedule.rank_count,
            self->options.mode == WEFT_RAIL_DEMAND ? "on demand" : "ahead",
            weft_show_time(dark, self->options.dark_ps),
            weft_show_rate(rate, self->options.rate_Bps), self->rail.rate_ratio,
            1 / self->rail.bytes_ratio, self->rail.time_ratio);
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->iteration_count * COLUMNS);
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        struct weft_table_cell *row = cells + (size_t)COLUMNS * i;
        row[0] = weft_cell_count(&cli->arena, i + 1);
        row[1] = weft_cell_time(&cli->arena, result->predicted_s);
        row[2] = weft_cell_time(&cli->arena, result->measured_s[i]);
        row[3] = weft_cell_change(&cli->arena, 1, result->measured_s[i] / result->predicted_s - 1);
    }
    cli_table(cli, columns, COLUMNS, cells, result->iteration_count);
    lab_rails_print_sums(self, "the management network", "sums");
}

bool lab_rails_take(struct lab_rails_run *self, struct lab_run *run, const char *what)
{
    struct cli *cli = run->cli;
    self->run = run;
    if (!check_options(run, what)) {
        return false;
    }
    self->options = (struct lab_rail_options){
        .mode = (enum weft_rail_mode)run->rails.mode,
        .dark_ps = run->change.dark_ps,
        .rate_Bps = run->port.rate_Bps,
        .mtu_bytes = run->port.mtu_bytes,
        .target_s = run->target_s,
        .iterations = run->iterations,
        .congestion = run->congestion,
        .timeout_ms = (uint32_t)(run->limits.timeout_s * 1e3),
        .stall_ms = (uint32_t)(run->limits.stall_s * 1e3),
        .lies = run->rails.fault != NULL,
    };
    return !self->options.lies ||
           lab_lie_parse(&self->options.lie, &self->options.lie_after_ps, run->rails.fault,
                         cli->scratch, &cli->error) ||
           weft_wrap(&cli->error, "--ocs-fault");
}

bool lab_run_rails(struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct lab_rails_run *self = WEFT_NEW(&cli->arena, struct lab_rails_run, 1);
    if (!lab_rails_take(self, run, "a job on rails") || !lab_rails_read(&self->source, run)) {
        return false;
    }
    self->options.job = &self->source.job;
    self->options.alone = self->source.plan.alone;
    if (!lab_rail_prepare(&self->rail, &self->options, &cli_environment(cli, NULL)->base)) {
        return weft_wrap(&cli->error, "%s", run->plan_path);
    }
    if (!lab_rails_play(self)) {
        return lab_hint_rootless(cli, run->rootless);
    }
    if (cli->json) {
        print_json(self);
    } else {
        print_text(self);
    }
    return true;
}
