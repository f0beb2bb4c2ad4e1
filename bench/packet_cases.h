// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BENCH_PACKET_CASES_H
#define WEFT_BENCH_PACKET_CASES_H

// The loads that the benches of the packet engine play.

#include "weft/sim.h"

struct packet_case {
    const char *name;
    bool tiers; // three of switches, else two
    uint32_t server_count;
    double rate_Bps;
    uint64_t size_bytes;
    bool allreduce; // else a permutation
};

#define PACKET_CASE_COUNT 4u
extern const struct packet_case packet_cases[PACKET_CASE_COUNT];

bool packet_case_build(struct weft_network *network, const struct packet_case *spec,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// In so many parts, on so many threads; AllReduces are played in one.
struct packet_case_how {
    uint32_t parts;
    uint32_t threads;
};
bool packet_case_play(struct weft_sim_result *result, const struct weft_network *network,
                      const struct packet_case *spec, struct packet_case_how how,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// User and system time of this process.
double packet_case_cpu_s(void);
// Runs this program once for each case, so that time and memory are the case's own. Returns how
// many failed.
int packet_cases_each(const char *program);

#endif
