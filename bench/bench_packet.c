// SPDX-License-Identifier: Apache-2.0
// What the packet engine takes: bench_packet [CASE]. One case a process, so that CPU time and
// memory are the case's own; without a case it runs itself once for each and prints the table of
// docs/packet-engine.md.
//
// Behind each permutation stands what the same run takes in one part, in two on one thread, and in
// two on two threads: wall time, the best of several in turn, since other work only adds.
//
// `bench_packet team` says what the team of workers costs that plays those windows: the figures of
// src/base/threads.c.

#include "packet_cases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct weft_arena arena, scratch;
static struct weft_network network;

static const struct packet_case_how ways[] = {{1, 1}, {2, 1}, {2, 2}};
#define WAYS (sizeof ways / sizeof ways[0])
#define TURNS 7
#define TURNS_WALL_S 25 // no more turns after so long

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// User and system time of this thread.
static double own_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_parts(const struct packet_case *spec)
{
    struct weft_error error;
    struct weft_sim_result results[WAYS];
    double best_s[WAYS], own_s[WAYS], all_s[WAYS];
    double began_s = wall_s();
    int turns = 0;
    for (; turns < TURNS && wall_s() - began_s < TURNS_WALL_S; turns++) {
        for (size_t i = 0; i < WAYS; i++) {
            struct weft_arena mine = arena, fresh; // memory that no run before has touched
            double from_s = wall_s(), own_from_s = own_cpu_s(), all_from_s = packet_case_cpu_s();
            if (!weft_arena_init(&fresh, 0, &error) ||
                !packet_case_play(&results[i], &network, spec, ways[i], &mine, fresh, &error)) {
                fprintf(stderr, "%s\n", error.message);
                return 1;
            }
            weft_arena_release(&fresh);
            double took_s = wall_s() - from_s;
            if (turns == 0 || took_s < best_s[i]) {
                best_s[i] = took_s;
                own_s[i] = own_cpu_s() - own_from_s;
                all_s[i] = packet_case_cpu_s() - all_from_s;
            }
        }
    }
    const struct weft_sim_result *cut = &results[WAYS - 1];
    double events = (double)cut->packets.events;
    printf("    wall: one part %.3f s; two parts on one thread %.3f s; on two %.3f s (CPU %.3f and "
           "%.3f s), %.2f and %.2f times as fast; best of %d\n",
           best_s[0], best_s[1], best_s[2], own_s[2], all_s[2] - own_s[2], best_s[0] / best_s[2],
           best_s[1] / best_s[2], turns);
    printf("    ends at %.1f and %.1f us; %llu windows of %.0f events, %.1f %% cross, %.1f %% in "
           "the larger part\n",
           (double)results[0].end_ps / 1e6, (double)cut->end_ps / 1e6,
           (unsigned long long)cut->partitions.window_count,
           events / (double)cut->partitions.window_count,
           100 * (double)cut->partitions.crossing_count / events,
           100 * (double)cut->partitions.events_max / events);
    return 0;
}

static int run_case(const struct packet_case *spec)
{
    struct weft_error error;
    struct weft_sim_result result;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !packet_case_build(&network, spec, &arena, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    struct weft_arena mine = arena;
    double built_s = packet_case_cpu_s();
    if (!packet_case_play(&result, &network, spec, ways[0], &mine, scratch, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    double took_s = packet_case_cpu_s() - built_s;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const struct weft_packet_counts *counts = &result.packets;
    printf("%-18s %10.1f us %8.2f s %7.0f k packets/s %6.1f M events/s %6ld MB  %llu packets, "
           "%llu drops, %llu marked\n",
           spec->name, (double)result.end_ps / 1e6, took_s, (double)counts->packets / took_s / 1e3,
           (double)counts->events / took_s / 1e6, usage.ru_maxrss / 1024,
           (unsigned long long)counts->packets, (unsigned long long)counts->drops,
           (unsigned long long)counts->ecn_marks);
    fflush(stdout);
    return spec->allreduce ? 0 : run_parts(spec);
}

// ---- what a team of two workers costs ----

#define TEAM_SAMPLES 100
#define TEAM_ROUNDS 1000 // a sample
#define TEAM_REST_NS 20000000

enum cost { COST_OPEN, COST_ROUND, COST_LOOK, COST_WAKE, COST_COUNT };

static void do_nothing(void *context, uint32_t index, struct weft_arena empty)
{
    (void)context, (void)index, (void)empty;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// One sample of each cost: a team is opened, plays rounds one after the other, is left alone until
// its helper sleeps, plays one more and is closed. While the caller sleeps too, the process takes
// as long of a core as the helper looks.
static bool sample_team(double *const took_s[COST_COUNT], int sample, struct weft_error *error)
{
    struct weft_team *team;
    const struct weft_team_work work = {.play = do_nothing, .count = 2, .keeps_workers = true};
    double from_s = wall_s();
    if (!weft_team_open(&team, 2, error)) {
        return false;
    }
    weft_team_play(team, &work);
    took_s[COST_OPEN][sample] = wall_s() - from_s;
    from_s = wall_s();
    for (int round = 0; round < TEAM_ROUNDS; round++) {
        weft_team_play(team, &work);
    }
    took_s[COST_ROUND][sample] = (wall_s() - from_s) / TEAM_ROUNDS;
    from_s = packet_case_cpu_s();
    nanosleep(&(struct timespec){.tv_nsec = TEAM_REST_NS}, NULL);
    took_s[COST_LOOK][sample] = packet_case_cpu_s() - from_s;
    from_s = wall_s();
    weft_team_play(team, &work);
    took_s[COST_WAKE][sample] = wall_s() - from_s;
    from_s = wall_s();
    weft_team_close(team);
    took_s[COST_OPEN][sample] += wall_s() - from_s;
    return true;
}

static int run_team(void)
{
    static const char *const names[COST_COUNT] = {
        [COST_OPEN] = "opening, a first round and closing",
        [COST_ROUND] = "a round of a helper that looks",
        [COST_LOOK] = "how long a helper looks before it sleeps",
        [COST_WAKE] = "a round of a helper that sleeps",
    };
    struct weft_error error;
    static double samples[COST_COUNT][TEAM_SAMPLES];
    double *const took_s[COST_COUNT] = {samples[0], samples[1], samples[2], samples[3]};
    for (int i = 0; i < TEAM_SAMPLES; i++) {
        if (!sample_team(took_s, i, &error)) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
    }
    for (int cost = 0; cost < COST_COUNT; cost++) {
        qsort(samples[cost], TEAM_SAMPLES, sizeof samples[cost][0], compare);
        printf("%-41s %8.2f us at best, %8.2f us in the middle\n", names[cost],
               1e6 * samples[cost][0], 1e6 * samples[cost][TEAM_SAMPLES / 2]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "team") == 0) {
        return run_team();
    }
    for (size_t i = 0; i < PACKET_CASE_COUNT; i++) {
        if (argc > 1 && strcmp(argv[1], packet_cases[i].name) == 0) {
            return run_case(&packet_cases[i]);
        }
    }
    return argc > 1 || packet_cases_each(argv[0]) > 0;
}
