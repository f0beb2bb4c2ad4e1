// SPDX-License-Identifier: Apache-2.0
// What the packet engine takes: bench_packet [CASE]. One case a process, so that CPU time and
// memory are the case's own; without a case it runs itself once for each and prints the table of
// docs/packet-engine.md.
//
// Behind each permutation stands what the same run takes in one part, in two on one thread, and in
// two on two threads: wall time, the best of several in turn, since other work only adds.

#include "packet_cases.h"

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
           (unsigned long long)cut->window_count, events / (double)cut->window_count,
           100 * (double)cut->crossing_count / events, 100 * (double)cut->part_events / events);
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

int main(int argc, char **argv)
{
    for (size_t i = 0; i < PACKET_CASE_COUNT; i++) {
        if (argc > 1 && strcmp(argv[1], packet_cases[i].name) == 0) {
            return run_case(&packet_cases[i]);
        }
    }
    return argc > 1 || packet_cases_each(argv[0]) > 0;
}
