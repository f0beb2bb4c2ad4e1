// SPDX-License-Identifier: Apache-2.0
// When jobs that share links should start: snapshots become one, whose time-shifts weft_interleave
// finds (docs/interleave.md, after Cassini); and the other way in, where a job's demand is measured
// from what its links carried.

#include "weft/request/interleave.h"
#include "weft/format.h"

#include <math.h>

// The snapshot, or several as one.
static bool load(struct weft_job_set *set, const struct weft_interleave_request *request,
                 const struct weft_environment *environment)
{
    uint32_t count = request->path_count;
    WEFT_ASSERT(count > 0);
    struct weft_job_set *sets = WEFT_NEW(environment->arena, struct weft_job_set, count);
    for (uint32_t p = 0; p < count; p++) {
        if (!weft_snapshot_load(&sets[p], request->paths[p], environment->arena,
                                environment->scratch, environment->error)) {
            return false;
        }
    }
    *set = sets[0];
    return count == 1 || weft_snapshot_join(set, sets, count, environment->arena,
                                            environment->scratch, environment->error);
}

// A link keeps a load of each job for each angle of its circle, which has as many turns as the
// iterations need to meet, at most the perimeter's: 5000 and 20,000 jobs of 97 different iterations
// on one link took 350 and 1421 MB, and 7.5 and 32 s. Equal iterations need one turn.
static bool afford(const struct weft_snapshot *snapshot,
                   const struct weft_interleave_options *options,
                   struct weft_request_environment *environment)
{
    struct weft_arena scratch = environment->base.scratch;
    uint32_t *users = WEFT_NEW(&scratch, uint32_t, snapshot->link_count);
    uint32_t most = 0;
    bool equal = true;
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        const struct weft_sharing_job *job = &snapshot->jobs[j];
        equal = equal && job->demand.iteration_ps == snapshot->jobs[0].demand.iteration_ps;
        for (uint32_t i = 0; i < job->link_count; i++) {
            users[job->links[i]]++;
            most = users[job->links[i]] > most ? users[job->links[i]] : most;
        }
    }
    double degrees =
        options->precision_degrees > 0 ? options->precision_degrees : WEFT_PRECISION_DEGREES;
    double turns = options->perimeter_limit > 0 ? options->perimeter_limit : WEFT_PERIMETER_LIMIT;
    double angles = fmin(360 / degrees * (equal ? 1 : turns),
                         options->heuristic ? WEFT_ANGLES_MAX_FAST : WEFT_ANGLES_MAX);
    const struct weft_request_cost cost = {
        .things = "loads of jobs on one link",
        .count = most * angles,
        .per_s = 5.5e6,
        .bytes = most * angles * 8.2,
        .remedy = "take fewer jobs, or a smaller {perimeter}",
    };
    return weft_request_afford(&cost, environment);
}

bool weft_request_interleave(struct weft_interleave_result *result,
                             const struct weft_interleave_request *request,
                             struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_job_set set;
    if (!load(&set, request, base) || !afford(&set.snapshot, &request->options, environment)) {
        return false;
    }
    struct weft_interleave_result found = {.snapshot = set.snapshot};
    struct weft_interleave_options options = request->options;
    options.seed = base->seed;
    options.stop = base->stop;
    options.tally = &environment->progress.tally;
    weft_request_step_begin(environment, "interleaving", "groups of jobs");
    bool fine = weft_interleave(&found.found, &set.snapshot, &options, base->arena, base->scratch,
                                base->error);
    weft_request_step_end(environment);
    if (!fine) {
        // Of several files no single one is at fault.
        return request->path_count > 1 ? false : weft_wrap(base->error, "%s", request->paths[0]);
    }
    *result = found;
    return true;
}

const char *weft_compatibility_text(enum weft_compatibility compatibility)
{
    static const char *const texts[] = {
        [WEFT_COMPATIBLE] = "fully compatible",
        [WEFT_PARTLY_COMPATIBLE] = "partially compatible",
        [WEFT_NOT_COMPATIBLE] = "not compatible",
    };
    return texts[compatibility];
}

void weft_request_note_measured(const struct weft_measured_demand *measured, uint32_t link_count,
                                struct weft_request_environment *environment)
{
    char unit[WEFT_UNIT_TEXT];
    weft_request_note(environment,
                      "iteration %s (within %.2g %%) over %.1f iterations of %u link%s; the phases "
                      "put %.2g %% of the bytes elsewhere",
                      weft_show_time(unit, measured->iteration_ps),
                      100 * measured->period_error_ratio, measured->iterations, link_count,
                      link_count == 1 ? "" : "s", 100 * measured->shape_error_ratio);
}

bool weft_request_series(const char **snapshot, const struct weft_series_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_series_set set;
    struct weft_measured_demand measured;
    struct weft_job_set found;
    if (!weft_series_load(&set, request->path, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (!weft_demand_measure(&measured, set.series, set.link_count, request->period_ps,
                             &(struct weft_environment){.arena = base->arena,
                                                        .scratch = base->scratch,
                                                        .error = base->error}) ||
        !weft_snapshot_of_series(
            &found, &set, &measured, request->name == NULL ? "job" : request->name,
            request->capacity_Bps,
            &(struct weft_environment){.arena = base->arena, .error = base->error})) {
        return weft_wrap(base->error, "%s", request->path);
    }
    for (uint32_t l = 0; l < set.link_count; l++) {
        if (request->capacity_Bps == 0 && set.capacity_Bps[l] == 0) {
            weft_request_note(environment,
                              "link %s: capacity not stated, taken as the largest rate; {capacity} "
                              "says it",
                              found.snapshot.links[l].name);
        }
    }
    weft_request_note_measured(&measured, set.link_count, environment);
    *snapshot = weft_snapshot_write(&found, base->arena);
    return true;
}
