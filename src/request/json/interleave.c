// SPDX-License-Identifier: Apache-2.0
// "weft.interleave/1": the score of every link and the time-shift of every job; all of them, where
// the tables of the command line show the first ones. upper_bound and exact are of shifts by whole
// angles, all_shifts_* of any. docs/interleave.md defines score, bounds and slack.

#include "weft/request/interleave.h"
#include "request/json/json.h"

static json_t *link_object(const struct weft_shared_link *link, const struct weft_link_score *score)
{
    json_t *object = json_object();
    weft_set_text(object, "name", link->name);
    weft_set_real(object, "score", score->score);
    weft_set_real(object, "upper_bound", score->upper_bound);
    weft_set_real(object, "all_shifts_upper_bound", score->all_shifts_bound);
    weft_set_text(object, "verdict", weft_compatibility_text(score->compatibility));
    weft_set_real(object, "unshifted_score", score->unshifted);
    weft_set_real(object, "mean_score", score->mean);
    weft_set_count(object, "jobs", score->job_count);
    if (score->group != WEFT_NONE) {
        weft_set_count(object, "group", score->group);
        weft_set_real(object, "perimeter_s", weft_seconds(score->perimeter_ps));
        weft_set_count(object, "angles", score->angle_count);
        weft_set_real(object, "period_error_ratio", score->period_error_ratio);
    }
    return object;
}

const char *weft_request_interleave_json(const struct weft_interleave_result *result,
                                         struct weft_arena *arena)
{
    const struct weft_snapshot *snapshot = &result->snapshot;
    const struct weft_interleaving *found = &result->found;
    json_t *object = weft_set_object("weft.interleave/1");
    weft_set_real(object, "score", found->score);
    weft_set_real(object, "upper_bound", found->upper_bound);
    weft_set_truth(object, "exact", found->exact);
    weft_set_real(object, "all_shifts_upper_bound", found->all_shifts_bound);
    weft_set_truth(object, "all_shifts_exact", found->all_shifts_exact);
    json_t *links = weft_set_list(object, "links");
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        json_array_append_new(links, link_object(&snapshot->links[l], &found->links[l]));
    }
    json_t *jobs = weft_set_list(object, "jobs");
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        json_t *job = json_object();
        weft_set_text(job, "name", snapshot->jobs[j].name);
        weft_set_real(job, "time_shift_s", weft_seconds(found->time_shift_ps[j]));
        weft_set_real(job, "slack_s", weft_seconds(found->slack_ps[j]));
        json_array_append_new(jobs, job);
    }
    weft_set_count(object, "groups", found->group_count);
    weft_set_count(object, "loops", found->loop_count);
    weft_set_count(object, "cells", found->work);
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}
