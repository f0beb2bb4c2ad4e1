// SPDX-License-Identifier: Apache-2.0
// What may stand in a snapshot.

#include "weft/interleave.h"

#include <math.h>

static bool check_demand(const struct weft_demand *demand, const char *job, double capacity_Bps,
                         const char *link, struct weft_error *error)
{
    if (demand->iteration_ps == 0) {
        return weft_fail(error, WEFT_INPUT, "job %s: an iteration of 0 s; it must take time", job);
    }
    uint64_t free_from_ps = 0;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        if (!(phase->rate_Bps >= 0) || !isfinite(phase->rate_Bps)) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: a rate of %g B/s; it must be 0 or more", job, p,
                             phase->rate_Bps);
        }
        if (phase->start_ps < free_from_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: starts before the phase before it has ended", job,
                             p);
        }
        if (phase->start_ps > demand->iteration_ps ||
            phase->duration_ps > demand->iteration_ps - phase->start_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: ends after its iteration; wrap it by hand into "
                             "two phases",
                             job, p);
        }
        if (phase->rate_Bps > capacity_Bps) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: asks %g B/s of link %s, which carries %g; lower "
                             "rate_Bps (bytes, not bits)",
                             job, p, phase->rate_Bps, link, capacity_Bps);
        }
        free_from_ps = phase->start_ps + phase->duration_ps;
    }
    return true;
}

static bool check_job(const struct weft_snapshot *snapshot, const struct weft_sharing_job *job,
                      struct weft_error *error)
{
    for (uint32_t i = 0; i < job->link_count; i++) {
        if (job->links[i] >= snapshot->link_count) {
            return weft_fail(error, WEFT_INPUT, "job %s: link %u, but there are %u", job->name,
                             job->links[i], snapshot->link_count);
        }
        if (i > 0 && job->links[i] <= job->links[i - 1]) {
            return weft_fail(error, WEFT_INPUT, "job %s: link %s stands twice or out of order",
                             job->name, snapshot->links[job->links[i]].name);
        }
        const struct weft_shared_link *link = &snapshot->links[job->links[i]];
        const struct weft_demand *demand =
            job->link_demands == NULL ? &job->demand : &job->link_demands[i];
        if (demand->iteration_ps != job->demand.iteration_ps) {
            return weft_fail(error, WEFT_INPUT, "job %s: its demand of link %s has another period",
                             job->name, link->name);
        }
        if (!check_demand(demand, job->name, link->capacity_Bps, link->name, error)) {
            return false;
        }
    }
    return check_demand(&job->demand, job->name, INFINITY, "", error);
}

bool weft_snapshot_check(const struct weft_snapshot *snapshot, struct weft_error *error)
{
    if (snapshot->job_count == 0) {
        return weft_fail(error, WEFT_INPUT, "no jobs; there is nothing to interleave");
    }
    for (uint32_t i = 0; i < snapshot->link_count; i++) {
        double capacity_Bps = snapshot->links[i].capacity_Bps;
        if (!(capacity_Bps > 0) || !isfinite(capacity_Bps)) {
            return weft_fail(error, WEFT_INPUT,
                             "link %s: a capacity of %g B/s; it must be more than 0",
                             snapshot->links[i].name, capacity_Bps);
        }
    }
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        if (!check_job(snapshot, &snapshot->jobs[j], error)) {
            return false;
        }
    }
    return true;
}
