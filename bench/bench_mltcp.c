// SPDX-License-Identifier: Apache-2.0
// Jobs that share a link under Reno, CUBIC and MLTCP: bench_mltcp [REPEATS [ITERATIONS]].
// Prints the tables of docs/transports.md and docs/sharing.md, ours beside what was measured on a
// real kernel: in packets, and as a fluid.

#include "../tests/oracle/interleaved_jobs.h"

#include <stdio.h>
#include <stdlib.h>

static struct weft_arena arena, scratch;

static const enum weft_sim_transport columns[] = {WEFT_TRANSPORT_RENO, WEFT_TRANSPORT_CUBIC,
                                                  WEFT_TRANSPORT_MLTCP_RENO};

static void print_cell(const struct interleaved_case *a, struct interleaved_run run,
                       uint32_t repeats, double measured)
{
    double mean = 0, worst = 0;
    for (run.seed = 1; run.seed <= repeats; run.seed++) {
        struct interleaved_result result = {0};
        struct weft_error error;
        if (!play_interleaved(&result, a, &run, arena, scratch, &error)) {
            fprintf(stderr, "%s\n", error.message);
            exit(1);
        }
        mean += result.slowdown / repeats;
        worst = result.slowdown > worst ? result.slowdown : worst;
    }
    printf(" %.3f (%.3f)", mean, worst);
    if (measured > 0) {
        printf(" [%.3f]", measured);
    } else {
        printf(" [  -  ]");
    }
}

// Fair shares, shares by F and by its root.
static void print_fluids(struct interleaved_run run, uint32_t repeats)
{
    run.transport = WEFT_TRANSPORT_IDEAL;
    printf("\nas a fluid; [measured of Reno] [of MLTCP-Reno]\n%-54s %-21s %-21s %s\n", "", " fair",
           " F", " sqrt(F)");
    for (size_t c = 0; c < INTERLEAVED_CASE_COUNT; c++) {
        const struct interleaved_case *a = &interleaved_cases[c];
        const double measured[] = {a->reno, a->mltcp, a->mltcp};
        printf("%-54s", a->name);
        for (int way = 0; way < 3; way++) {
            run.fluid = (struct weft_fluid_options){
                .learns = way > 0, .square_root = way == 2, .mltcp = WEFT_MLTCP_DEFAULTS};
            print_cell(a, run, repeats, measured[way]);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    struct weft_error error;
    struct interleaved_run run = {.iterations = 60};
    uint32_t repeats = 5;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (argc > 1) {
        repeats = (uint32_t)strtoul(argv[1], NULL, 10);
    }
    if (argc > 2) {
        run.iterations = (uint32_t)strtoul(argv[2], NULL, 10);
    }
    printf("mean iteration over the ideal one, second half of %u, mean (and largest) of %u runs; "
           "[measured on a kernel]\n%-54s %-21s %-21s %s\n",
           run.iterations, repeats, "", " Reno", " CUBIC", " MLTCP-Reno");
    for (size_t c = 0; c < INTERLEAVED_CASE_COUNT; c++) {
        const struct interleaved_case *a = &interleaved_cases[c];
        const double measured[] = {a->reno, a->cubic, a->mltcp};
        printf("%-54s", a->name);
        for (size_t t = 0; t < 3; t++) {
            run.transport = columns[t];
            print_cell(a, run, repeats, measured[t]);
        }
        printf("\n");
        fflush(stdout);
    }
    print_fluids(run, repeats);
    return 0;
}
