// SPDX-License-Identifier: Apache-2.0
// What time-shifts cost and how good they are: bench_interleave [INSTANCES]. First eight jobs on
// one link at 5 degrees, by branch and bound, on random demands; then 200 jobs on 500 links, by the
// heuristic.

#include "weft/interleave.h"

#include <math.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// What jobs look like: how long they send and at what rate.
struct kind {
    const char *name;
    double busy_low; // share of the iteration that a phase takes
    double busy_high;
    double load_low; // of the link
    double load_high;
    uint32_t phases;
    bool periods; // several iteration times, else one
};

static const struct kind kinds[] = {
    {"short bursts at full rate", 0.06, 0.12, 1, 1, 1, false},
    {"bursts at full rate, too many", 0.10, 0.25, 1, 1, 1, false},
    {"half to full rate", 0.08, 0.2, 0.5, 1, 1, false},
    {"any rate, long", 0.2, 0.5, 0.1, 0.6, 1, false},
    {"two phases, any rate", 0.05, 0.2, 0.2, 1, 2, false},
    {"four iteration times", 0.05, 0.2, 0.3, 1, 1, true},
};

static struct weft_demand draw_demand(const struct kind *kind, struct weft_rng *rng,
                                      struct weft_arena *arena)
{
    static const uint32_t periods_ms[] = {100, 200, 150, 300};
    struct weft_demand_phase *phases = WEFT_NEW(arena, struct weft_demand_phase, kind->phases);
    uint64_t iteration_ps =
        (kind->periods ? periods_ms[weft_rng_below(rng, 4)] : 100) * (uint64_t)1000000000;
    uint64_t part_ps = iteration_ps / kind->phases;
    for (uint32_t p = 0; p < kind->phases; p++) {
        double busy = kind->busy_low + (kind->busy_high - kind->busy_low) * weft_rng_unit(rng);
        double load = kind->load_low + (kind->load_high - kind->load_low) * weft_rng_unit(rng);
        phases[p].start_ps = p * part_ps;
        phases[p].duration_ps = (uint64_t)(busy * (double)iteration_ps);
        phases[p].rate_Bps = load * 1e10;
    }
    return (struct weft_demand){iteration_ps, phases, kind->phases};
}

static bool eight_jobs(const struct kind *kind, uint32_t instances, struct weft_error *error)
{
    double worst_s = 0;
    double sum_s = 0;
    double gap = 0;
    double score = 0;
    double open_low = 1; // scores that are not proved best
    double open_high = 0;
    double all_gap = 0; // to the bound for all shifts
    uint32_t exact = 0;
    uint32_t all_exact = 0;
    for (uint32_t i = 0; i < instances; i++) {
        struct weft_arena arena;
        if (!weft_arena_init(&arena, 0, error)) {
            return false;
        }
        struct weft_arena all = arena;
        struct weft_arena scratch = weft_arena_split(&arena);
        struct weft_rng rng;
        weft_rng_init(&rng, i + 1);
        const struct weft_shared_link link = {"link", 1e10};
        static const uint32_t links[] = {0};
        struct weft_sharing_job jobs[8];
        memset(jobs, 0, sizeof jobs);
        for (uint32_t j = 0; j < 8; j++) {
            jobs[j] = (struct weft_sharing_job){.name = "job",
                                                .demand = draw_demand(kind, &rng, &arena),
                                                .links = links,
                                                .link_count = 1};
        }
        const struct weft_snapshot snapshot = {&link, 1, jobs, 8};
        const struct weft_interleave_options options = {.seed = 1};
        struct weft_interleaving found;
        double before_s = cpu_seconds();
        if (!weft_interleave(&found, &snapshot, &options, &arena, scratch, error)) {
            return false;
        }
        double took_s = cpu_seconds() - before_s;
        worst_s = fmax(worst_s, took_s);
        sum_s += took_s;
        exact += found.exact ? 1 : 0;
        all_exact += found.all_shifts_exact ? 1 : 0;
        all_gap = fmax(all_gap, found.all_shifts_bound - found.score);
        gap = fmax(gap, found.upper_bound - found.score);
        score += found.score;
        open_low = found.exact ? open_low : fmin(open_low, found.score);
        open_high = found.exact ? open_high : fmax(open_high, found.score);
        weft_arena_release(&all);
    }
    printf("%-30s  %3u of %3u proved  mean %6.3f s  worst %6.3f s  mean score %.4f  gap <= %.4f",
           kind->name, exact, instances, sum_s / instances, worst_s, score / instances, gap);
    printf("  of all shifts: %u proved, gap <= %.4f", all_exact, all_gap);
    if (exact < instances) {
        printf("  not proved: scores %.4f to %.4f", open_low, open_high);
    }
    printf("\n");
    return true;
}

// Racks with `spread` links each; a job spans a few racks and uses links of each.
static bool many_jobs(bool periods, uint32_t racks_a_job, struct weft_error *error)
{
    enum { JOBS = 200, LINKS = 500, LINKS_A_JOB = 8 };
    struct weft_arena arena;
    if (!weft_arena_init(&arena, 0, error)) {
        return false;
    }
    struct weft_arena all = arena;
    struct weft_arena scratch = weft_arena_split(&arena);
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    struct kind kind = {"", 0.1, 0.4, 0.3, 1, 1, periods};
    struct weft_shared_link *links = WEFT_NEW(&arena, struct weft_shared_link, LINKS);
    for (uint32_t l = 0; l < LINKS; l++) {
        links[l] = (struct weft_shared_link){"link", 1e10};
    }
    struct weft_sharing_job *jobs = WEFT_NEW(&arena, struct weft_sharing_job, JOBS);
    for (uint32_t j = 0; j < JOBS; j++) {
        bool used[LINKS] = {false};
        for (uint32_t i = 0; i < racks_a_job; i++) {
            used[weft_rng_below(&rng, LINKS)] = true;
        }
        uint32_t *mine = WEFT_NEW(&arena, uint32_t, LINKS_A_JOB + 8);
        jobs[j].name = "job";
        jobs[j].links = mine;
        for (uint32_t l = 0; l < LINKS; l++) {
            if (used[l]) {
                mine[jobs[j].link_count++] = l;
            }
        }
        jobs[j].demand = draw_demand(&kind, &rng, &arena);
    }
    const struct weft_snapshot snapshot = {links, LINKS, jobs, JOBS};
    const struct weft_interleave_options options = {.heuristic = true, .seed = 1};
    struct weft_interleaving found;
    double before_s = cpu_seconds();
    if (!weft_interleave(&found, &snapshot, &options, &arena, scratch, error)) {
        return false;
    }
    double took_s = cpu_seconds() - before_s;
    double score = 0;
    double bound = 0;
    double before = 0;
    for (uint32_t l = 0; l < LINKS; l++) {
        score += found.links[l].score / LINKS;
        bound += found.links[l].upper_bound / LINKS;
        before += found.links[l].unshifted / LINKS;
    }
    printf("200 jobs, 500 links, %u links a job, %s: %.1f ms of CPU, %u groups, %u loops; least "
           "score %.4f of at most %.4f, mean %.4f of at most %.4f (unshifted %.4f)\n",
           racks_a_job, periods ? "four iteration times" : "one iteration time", 1e3 * took_s,
           found.group_count, found.loop_count, found.score, found.upper_bound, score, bound,
           before);
    weft_arena_release(&all);
    return true;
}

int main(int argc, char **argv)
{
    struct weft_error error = {.code = WEFT_OK};
    uint64_t instances = 20;
    bool fine = argc < 2 || weft_parse_count(&instances, argv[1], 1, 100000, &error);
    for (size_t k = 0; fine && k < sizeof kinds / sizeof kinds[0]; k++) {
        fine = eight_jobs(&kinds[k], (uint32_t)instances, &error);
    }
    for (uint32_t links = 2; fine && links <= 8; links *= 2) {
        fine = many_jobs(false, links, &error) && many_jobs(true, links, &error);
    }
    if (!fine) {
        fprintf(stderr, "bench_interleave: %s\n", error.message);
    }
    return fine ? 0 : 1;
}
