// SPDX-License-Identifier: Apache-2.0
// What the packet engine takes: bench_packet [CASE]. One case a process, so that CPU time and
// memory are the case's own; without a case it runs itself once for each and prints the table of
// docs/packet-engine.md.

#include "packet_cases.h"

#include <string.h>
#include <sys/resource.h>

static struct weft_arena arena, scratch;
static struct weft_network network;

static int run_case(const struct packet_case *spec)
{
    struct weft_error error;
    struct weft_sim_result result;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !packet_case_build(&network, spec, &arena, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    double built_s = packet_case_cpu_s();
    if (!packet_case_play(&result, &network, spec, &arena, scratch, &error)) {
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
    return 0;
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
