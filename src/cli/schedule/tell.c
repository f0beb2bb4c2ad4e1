// SPDX-License-Identifier: Apache-2.0
// What weft schedule says.

#include "schedule.h"
#include "weft/report.h"

#include <math.h>

#define JOBS_SHOWN 20u

static const char *engine_name(const struct schedule *schedule)
{
    return schedule_engines[schedule->options.engine];
}

// ---- JSON ----

static json_t *job_object(const struct schedule *schedule, const struct weft_job_record *record)
{
    json_t *object = json_object();
    cli_set_text(object, "name", record->name);
    cli_set_text(object, "class", schedule->trace.classes[record->class_id].name);
    cli_set_real(object, "arrival_s", weft_seconds(record->arrival_ps));
    cli_set_real(object, "start_s", weft_seconds(record->start_ps));
    cli_set_real(object, "end_s", weft_seconds(record->end_ps));
    cli_set_real(object, "completion_s", weft_seconds(record->end_ps - record->arrival_ps));
    cli_set_real(object, "queueing_s",
                 weft_seconds(record->end_ps - record->arrival_ps - record->held_ps));
    cli_set_real(object, "iterations", record->iterations);
    cli_set_real(object, "lost_iterations", record->lost_iterations);
    cli_set_real(object, "iteration_mean_s", record->iteration_mean_s);
    cli_set_real(object, "iteration_p99_s", record->iteration_p99_s);
    cli_set_real(object, "alone_s", record->alone_s);
    cli_set_real(object, "score", record->score);
    cli_set_real(object, "ecn_marks_estimate", record->ecn_marks);
    cli_set_count(object, "placements", record->placements);
    cli_set_truth(object, "cut_off", record->cut_off);
    cli_set_count(object, "failures", record->failures);
    return object;
}

static json_t *span_object(const struct weft_timetable *result, const struct weft_job_span *span)
{
    json_t *object = json_object();
    cli_set_text(object, "job", result->jobs[span->job].name);
    cli_set_real(object, "start_s", weft_seconds(span->start_ps));
    cli_set_real(object, "begin_s", weft_seconds(span->begin_ps));
    cli_set_real(object, "end_s", weft_seconds(span->end_ps));
    cli_set_real(object, "score", span->score);
    cli_set_truth(object, "interrupted", span->interrupted);
    json_t *servers = json_array();
    for (uint32_t i = 0; i < span->server_count; i++) {
        json_array_append_new(servers, json_integer(span->servers[i]));
    }
    cli_set(object, "servers", servers);
    return object;
}

static json_t *failure_object(const struct weft_trace_failure *failure)
{
    json_t *object = json_object();
    cli_set_real(object, "time_s", weft_seconds(failure->time_ps));
    cli_set_real(object, "repair_s", weft_seconds(failure->repair_ps));
    cli_set_count(object, "server", failure->server);
    if (failure->is_link) {
        cli_set_count(object, "peer", failure->peer);
    }
    return object;
}

static void set_totals(json_t *object, const struct weft_timetable *result)
{
    const struct {
        const char *key;
        double value;
    } totals[] = {
        {"makespan_s", weft_seconds(result->end_ps)},
        {"iteration_mean_s", result->iteration_mean_s},
        {"iteration_p99_s", result->iteration_p99_s},
        {"slowdown_mean", result->slowdown_mean},
        {"slowdown_p99", result->slowdown_p99},
        {"completion_mean_s", result->completion_mean_s},
        {"completion_p99_s", result->completion_p99_s},
        {"queueing_mean_s", result->queueing_mean_s},
        {"queueing_p99_s", result->queueing_p99_s},
        {"utilization", result->utilization},
        {"useful_utilization", result->useful_utilization},
        {"lost_server_s", result->lost_server_s},
        {"ecn_marks_estimate", result->ecn_marks},
    };
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        cli_set_real(object, totals[i].key, totals[i].value);
    }
    cli_set_count(object, "steady_states", result->steady_count);
    cli_set_count(object, "shared", result->shared_count);
    cli_set_count(object, "interleaved", result->interleaved_count);
    cli_set_count(object, "events", result->event_count);
}

void schedule_tell_json(const struct schedule *schedule, const struct weft_timetable *result)
{
    struct cli *cli = schedule->cli;
    json_t *object = cli_object("weft.schedule/1");
    cli_set_text(object, "trace", schedule->trace.name);
    cli_set_text(object, "fabric", schedule->trace.fabric);
    cli_set_count(object, "servers", schedule->trace.cluster.server_count);
    cli_set_text(object, "policy", weft_policies[schedule->options.policy].name);
    cli_set_truth(object, "interleave", schedule->options.interleave);
    cli_set_text(object, "engine", engine_name(schedule));
    cli_set_count(object, "seed", cli->seed);
    set_totals(object, result);
    json_t *jobs = json_array();
    for (uint32_t j = 0; j < result->job_count; j++) {
        json_array_append_new(jobs, job_object(schedule, &result->jobs[j]));
    }
    cli_set(object, "jobs", jobs);
    json_t *spans = json_array();
    for (uint32_t s = 0; s < result->span_count; s++) {
        json_array_append_new(spans, span_object(result, &result->spans[s]));
    }
    cli_set(object, "spans", spans);
    json_t *failures = json_array();
    for (uint32_t f = 0; f < result->failure_count; f++) {
        json_array_append_new(failures, failure_object(&result->failures[f]));
    }
    cli_set(object, "failures", failures);
    cli_set_real(object, "wall_s", cli_elapsed_s(cli));
    cli_json(cli, object);
}

// ---- tables ----

// Seconds as people say them: 1.5 h, 12.3 min, 4.2 s, 61 ms.
static const char *show_s(struct cli *cli, double seconds)
{
    char text[WEFT_UNIT_TEXT];
    if (seconds >= 5400) {
        return weft_arena_format(&cli->arena, "%.2f h", seconds / 3600);
    }
    if (seconds >= 120) {
        return weft_arena_format(&cli->arena, "%.1f min", seconds / 60);
    }
    return weft_arena_format(&cli->arena, "%s", weft_show_time(text, weft_picoseconds(seconds)));
}

static void tell_jobs(const struct schedule *schedule, const struct weft_timetable *result)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},      {"class", WEFT_ALIGN_LEFT},
        {"arrives", WEFT_ALIGN_RIGHT}, {"waits", WEFT_ALIGN_RIGHT},
        {"takes", WEFT_ALIGN_RIGHT},   {"iteration", WEFT_ALIGN_RIGHT},
        {"p99", WEFT_ALIGN_RIGHT},     {"slowdown", WEFT_ALIGN_RIGHT},
        {"score", WEFT_ALIGN_RIGHT},   {"placed", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct cli *cli = schedule->cli;
    uint32_t shown =
        schedule->all_jobs || result->job_count <= JOBS_SHOWN ? result->job_count : JOBS_SHOWN;
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)shown *COLUMNS);
    for (uint32_t j = 0; j < shown; j++) {
        const struct weft_job_record *record = &result->jobs[j];
        const char **row = cells + (size_t)j * COLUMNS;
        double completion_s = weft_seconds(record->end_ps - record->arrival_ps);
        double held_s = weft_seconds(record->held_ps);
        row[0] = record->name;
        row[1] = schedule->trace.classes[record->class_id].name;
        row[2] = show_s(cli, weft_seconds(record->arrival_ps));
        row[3] = show_s(cli, completion_s - held_s);
        row[4] = show_s(cli, held_s);
        row[5] = show_s(cli, record->iteration_mean_s);
        row[6] = show_s(cli, record->iteration_p99_s);
        row[7] = weft_arena_format(&cli->arena, "%.3f", record->iteration_mean_s / record->alone_s);
        row[8] = weft_arena_format(&cli->arena, "%.3f", record->score);
        row[9] = weft_arena_format(&cli->arena, "%u", record->placements);
    }
    cli_say(cli, "\n%s", weft_report_table(columns, COLUMNS, cells, shown, &cli->arena));
    if (shown < result->job_count) {
        cli_say(cli, "and %u more jobs; --all shows them\n", result->job_count - shown);
    }
}

static void tell_totals(const struct schedule *schedule, const struct weft_timetable *result)
{
    struct cli *cli = schedule->cli;
    cli_say(cli, "%u jobs on %u servers (%s), %s%s, done after %s\n\n", result->job_count,
            schedule->trace.cluster.server_count, schedule->trace.fabric,
            weft_policies[schedule->options.policy].name,
            schedule->options.interleave ? " with interleaving" : "",
            show_s(cli, weft_seconds(result->end_ps)));
    cli_say(cli, "%-12s %12s %12s\n", "", "mean", "p99");
    cli_say(cli, "%-12s %12s %12s\n", "iteration", show_s(cli, result->iteration_mean_s),
            show_s(cli, result->iteration_p99_s));
    cli_say(cli, "%-12s %12.3f %12.3f\n", "slowdown", result->slowdown_mean, result->slowdown_p99);
    cli_say(cli, "%-12s %12s %12s\n", "completion", show_s(cli, result->completion_mean_s),
            show_s(cli, result->completion_p99_s));
    cli_say(cli, "%-12s %12s %12s\n", "queueing", show_s(cli, result->queueing_mean_s),
            show_s(cli, result->queueing_p99_s));
    cli_say(cli, "\nservers      %.1f %% held, %.1f %% at work as if alone\n",
            100 * result->utilization, 100 * result->useful_utilization);
    cli_say(cli, "sharing      %u steady states with full links", result->shared_count);
    if (schedule->options.interleave) {
        cli_say(cli, ", time-shifts kept in %u", result->interleaved_count);
    }
    const char *source =
        schedule->options.engine == WEFT_STEADY_PACKET ? "packet engine" : "estimate";
    cli_say(cli, "\nECN marks    %.3g (%s)\n", result->ecn_marks, source);
    if (result->failure_count > 0) {
        cli_say(cli, "failures     %u, %s of servers' time lost\n", result->failure_count,
                show_s(cli, result->lost_server_s));
    }
}

void schedule_tell(const struct schedule *schedule, const struct weft_timetable *result)
{
    tell_totals(schedule, result);
    tell_jobs(schedule, result);
}
