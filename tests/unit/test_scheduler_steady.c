// SPDX-License-Identifier: Apache-2.0
// Steady states and scores of companies: rates against progressive filling written out, and the
// bound that candidates are ranked by against what time-shifts reach.
//
// Seen to fail: with links left out that are asked for less than twice what they have (a rate above
// its fair level), with fix_modest() fixing at the level instead of what is asked, and with a bound
// that counts what is sent twice (a score above it).

#include "../fresh_arenas.h"
#include "scheduler/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GBPS 125e6

enum { JOBS = 8, LINKS = 6, TRIALS = 300 };

struct company {
    struct weft_rng rng;
    struct steady_job steady[JOBS];
    struct sched_segment segments[JOBS][2];
    struct sched_place places[JOBS];
    struct sched_job jobs[JOBS];
    struct weft_job_record records[JOBS];
    struct steady_link links[LINKS];
    uint32_t members[LINKS][JOBS];
    double shares[LINKS][JOBS];
    double flows[LINKS][JOBS];
    const struct sched_place *place_of[JOBS];
    uint32_t ids[JOBS];
};

static double part(struct weft_rng *rng)
{
    return (double)(1 + weft_rng_below(rng, 100)) / 100;
}

// Jobs that send for `busy` of their time, on random links.
static void draw(struct company *company, uint64_t seed, bool always)
{
    struct weft_rng *rng = &company->rng;
    weft_rng_init(rng, seed);
    for (uint32_t j = 0; j < JOBS; j++) {
        double iteration_ps = (double)(20 + weft_rng_below(rng, 80)) * 1e9;
        double quiet = always ? 0 : part(rng) * 0.9;
        company->segments[j][0] = (struct sched_segment){quiet * iteration_ps, 0};
        company->segments[j][always ? 0 : 1] =
            (struct sched_segment){(1 - quiet) * iteration_ps, 10 * GBPS * part(rng)};
        company->places[j] = (struct sched_place){.segments = company->segments[j],
                                                  .segment_count = always ? 1 : 2,
                                                  .alone_ps = iteration_ps,
                                                  .score = 1};
        company->steady[j] = (struct steady_job){
            .segments = company->segments[j],
            .segment_count = always ? 1 : 2,
            .flow_ratio = 1 / (double)(1 + weft_rng_below(rng, 6)),
            .alone_ps = iteration_ps,
            .compared_ps = iteration_ps,
            .bins = WEFT_NEW(&arena, float, SCHED_BINS),
        };
        steady_begin(&company->steady[j], 0);
        company->records[j].name = "job";
        company->jobs[j].record = &company->records[j];
        company->place_of[j] = &company->places[j];
        company->ids[j] = j;
    }
    for (uint32_t l = 0; l < LINKS; l++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < JOBS; j++) {
            if (weft_rng_below(rng, 2) == 0) {
                company->members[l][count] = j;
                company->flows[l][count] = 1;
                company->shares[l][count++] = part(rng);
            }
        }
        company->links[l] = (struct steady_link){
            .capacity_Bps = 10 * GBPS,
            .copies = 1,
            .job_count = count,
            .jobs = company->members[l],
            .shares = company->shares[l],
            .flows = company->flows[l],
        };
    }
}

// A flow's level of each job: all rise by what the tightest link or job allows, round by round.
static void fill(double *level_Bps, const struct company *company)
{
    bool fixed[JOBS] = {false};
    double left_Bps[LINKS];
    for (uint32_t l = 0; l < LINKS; l++) {
        left_Bps[l] = company->links[l].capacity_Bps;
    }
    memset(level_Bps, 0, JOBS * sizeof *level_Bps);
    for (uint32_t round = 0; round < JOBS + LINKS; round++) {
        double rise_Bps = INFINITY;
        double load[LINKS] = {0};
        for (uint32_t j = 0; j < JOBS; j++) {
            const struct steady_job *job = &company->steady[j];
            double ask_Bps = job->segments[0].rate_Bps * job->flow_ratio;
            rise_Bps = fixed[j] ? rise_Bps : fmin(rise_Bps, ask_Bps - level_Bps[j]);
        }
        for (uint32_t l = 0; l < LINKS; l++) {
            const struct steady_link *link = &company->links[l];
            for (uint32_t i = 0; i < link->job_count; i++) {
                uint32_t j = link->jobs[i];
                load[l] += fixed[j] ? 0 : link->shares[i] / company->steady[j].flow_ratio;
            }
            rise_Bps = load[l] > 0 ? fmin(rise_Bps, fmax(left_Bps[l], 0) / load[l]) : rise_Bps;
        }
        for (uint32_t j = 0; j < JOBS && !isinf(rise_Bps); j++) {
            level_Bps[j] += fixed[j] ? 0 : rise_Bps;
        }
        for (uint32_t l = 0; l < LINKS && !isinf(rise_Bps); l++) {
            const struct steady_link *link = &company->links[l];
            left_Bps[l] -= load[l] * rise_Bps;
            bool full = left_Bps[l] <= link->capacity_Bps * 1e-12;
            for (uint32_t i = 0; full && i < link->job_count; i++) {
                fixed[link->jobs[i]] = true;
            }
        }
        for (uint32_t j = 0; j < JOBS; j++) {
            const struct steady_job *job = &company->steady[j];
            double ask_Bps = job->segments[0].rate_Bps * job->flow_ratio;
            fixed[j] = fixed[j] || level_Bps[j] >= ask_Bps * (1 - 1e-12);
        }
    }
}

static void rates_are_those_of_progressive_filling(void **state)
{
    (void)state;
    static struct company company;
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct weft_arena kept = arena;
        draw(&company, seed, true);
        double level_Bps[JOBS];
        fill(level_Bps, &company);
        struct steady steady = {
            .job_count = JOBS,
            .jobs = company.steady,
            .link_count = LINKS,
            .links = company.links,
            .warm_up = 2,
            .window = 8,
            .packet_bytes = 4096,
            .mark_bytes = 1 << 16,
            .round_trip_ps = 1e7,
        };
        steady_play(&steady, scratch);
        for (uint32_t j = 0; j < JOBS; j++) {
            const struct steady_job *job = &company.steady[j];
            double speed = level_Bps[j] / (job->segments[0].rate_Bps * job->flow_ratio);
            if (fabs(job->alone_ps / job->mean_ps / speed - 1) > 1e-6) {
                fail_msg("seed %u, job %u: speed %g, not %g", (unsigned)seed, j,
                         job->alone_ps / job->mean_ps, speed);
            }
        }
        arena = kept;
    }
}

static void no_score_is_above_its_bound(void **state)
{
    (void)state;
    static struct company company;
    struct weft_scheduler_options options = {.seed = 1};
    struct weft_error error;
    double gap = 0;
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct weft_arena kept = arena;
        draw(&company, seed, false);
        struct sched sched = {.jobs = company.jobs, .options = &options, .error = &error};
        struct sched_component component = {
            .job_count = JOBS,
            .jobs = company.ids,
            .places = company.place_of,
            .link_count = LINKS,
            .links = company.links,
        };
        for (enum sched_care care = SCHED_RANK; care <= SCHED_SHIFT; care++) {
            struct sched_shifts shifts;
            double bound = sched_score_bound(&component, care);
            assert_true(sched_shift(&shifts, &sched, &component, care, &arena, scratch));
            if (shifts.score > bound + 1e-6) {
                fail_msg("seed %u: score %.9g, bound %.9g", (unsigned)seed, shifts.score, bound);
            }
            gap += bound - shifts.score;
        }
        arena = kept;
    }
    assert_true(gap / (2 * TRIALS) < 0.2); // nor is the bound idle
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_are_those_of_progressive_filling, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(no_score_is_above_its_bound, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
