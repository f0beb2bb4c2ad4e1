// SPDX-License-Identifier: Apache-2.0
// "weft.schedule/1": what became of each job, who had which servers when, the failures, and the
// totals. Times are in seconds since the trace began; "wall_s" alone is of the program itself and
// differs from run to run.

#include "weft/request/schedule.h"
#include "request/json/json.h"

static json_t *job_object(const struct weft_schedule_result *result,
                          const struct weft_job_record *record)
{
    json_t *object = json_object();
    weft_set_text(object, "name", record->name);
    weft_set_text(object, "class", result->trace.classes[record->class_id].name);
    weft_set_real(object, "arrival_s", weft_seconds(record->arrival_ps));
    weft_set_real(object, "start_s", weft_seconds(record->start_ps));
    weft_set_real(object, "end_s", weft_seconds(record->end_ps));
    weft_set_real(object, "completion_s", weft_seconds(record->end_ps - record->arrival_ps));
    weft_set_real(object, "queueing_s",
                  weft_seconds(record->end_ps - record->arrival_ps - record->held_ps));
    weft_set_real(object, "iterations", record->iterations);
    weft_set_real(object, "lost_iterations", record->lost_iterations);
    weft_set_real(object, "iteration_mean_s", record->iteration_mean_s);
    weft_set_real(object, "iteration_p99_s", record->iteration_p99_s);
    weft_set_real(object, "alone_s", record->alone_s);
    weft_set_real(object, "score", record->score);
    weft_set_real(object, "ecn_marks_estimate", record->ecn_marks);
    weft_set_count(object, "placements", record->placements);
    weft_set_truth(object, "cut_off", record->cut_off);
    weft_set_count(object, "failures", record->failures);
    return object;
}

static json_t *span_object(const struct weft_timetable *result, const struct weft_job_span *span)
{
    json_t *object = json_object();
    weft_set_text(object, "job", result->jobs[span->job].name);
    weft_set_real(object, "start_s", weft_seconds(span->start_ps));
    weft_set_real(object, "begin_s", weft_seconds(span->begin_ps));
    weft_set_real(object, "end_s", weft_seconds(span->end_ps));
    weft_set_real(object, "score", span->score);
    weft_set_truth(object, "interrupted", span->interrupted);
    weft_set_counts(object, "servers", span->servers, span->server_count);
    return object;
}

static json_t *failure_object(const struct weft_trace_failure *failure)
{
    json_t *object = json_object();
    weft_set_real(object, "time_s", weft_seconds(failure->time_ps));
    weft_set_real(object, "repair_s", weft_seconds(failure->repair_ps));
    weft_set_count(object, "server", failure->server);
    if (failure->is_link) {
        weft_set_count(object, "peer", failure->peer);
    }
    return object;
}

// The totals stand at the top of the object, beside the lists.
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
        weft_set_real(object, totals[i].key, totals[i].value);
    }
    weft_set_count(object, "jobs_later", result->later_count);
    weft_set_count(object, "steady_states", result->steady_count);
    weft_set_count(object, "shared", result->shared_count);
    weft_set_count(object, "interleaved", result->interleaved_count);
    weft_set_count(object, "events", result->event_count);
}

const char *weft_request_schedule_json(const struct weft_schedule_result *result,
                                       const struct weft_schedule_request *request,
                                       struct weft_arena *arena)
{
    static const char *const engines[] = {[WEFT_STEADY_MODEL] = "model",
                                          [WEFT_STEADY_FLOW] = "flow",
                                          [WEFT_STEADY_PACKET] = "packet"};
    const struct weft_timetable *timetable = &result->timetable;
    json_t *object = weft_set_object("weft.schedule/1");
    weft_set_text(object, "trace", result->trace.name);
    weft_set_text(object, "fabric", result->trace.fabric);
    // Jobs on shards of their own have no paths to choose from.
    bool shards = result->trace.shards.dedicated;
    weft_set_text(object, "balance",
                  shards ? NULL : weft_balance_words[result->trace.cluster.balance]);
    weft_set_count(object, "servers", result->trace.cluster.server_count);
    weft_set_text(object, "policy", weft_policies[request->options.policy].name);
    weft_set_truth(object, "interleave", request->options.interleave);
    weft_set_text(object, "engine", engines[request->options.engine]);
    weft_set_count(object, "seed", result->seed);
    set_totals(object, timetable);
    json_t *jobs = weft_set_list(object, "jobs");
    for (uint32_t j = 0; j < timetable->job_count; j++) {
        json_array_append_new(jobs, job_object(result, &timetable->jobs[j]));
    }
    json_t *spans = weft_set_list(object, "spans");
    for (uint32_t s = 0; s < timetable->span_count; s++) {
        json_array_append_new(spans, span_object(timetable, &timetable->spans[s]));
    }
    json_t *failures = weft_set_list(object, "failures");
    for (uint32_t f = 0; f < timetable->failure_count; f++) {
        json_array_append_new(failures, failure_object(&timetable->failures[f]));
    }
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}
