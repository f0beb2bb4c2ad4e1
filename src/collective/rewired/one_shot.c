// SPDX-License-Identifier: Apache-2.0
// Circuits that are set once for a collective: a ring for an AllReduce, circuits to ranks some
// jumps ahead for an all-to-all, where every rank sees the same network.

#include "weft/collective/rewired.h"

#include <math.h>
#include <string.h>

// From any rank, the ranks ahead in order of hops, and how much each jump is used on the way there.
struct walk {
    uint32_t *order;
    uint32_t *hops;
    double *uses; // [rank * planes + jump]
};

// What an all-to-all of one byte a pair loads the jumps with: the most of any; INFINITY: some rank
// is out of reach.
static double load_of(const uint32_t *jumps, uint32_t planes, uint32_t ranks, struct walk *walk,
                      uint32_t *hops_max)
{
    memset(walk->hops, 0xff, ranks * sizeof walk->hops[0]);
    memset(walk->uses, 0, (size_t)ranks * planes * sizeof walk->uses[0]);
    walk->order[0] = 0;
    walk->hops[0] = 0;
    uint32_t found = 1;
    for (uint32_t i = 0; i < found; i++) {
        for (uint32_t j = 0; j < planes; j++) {
            uint32_t next = (walk->order[i] + jumps[j]) % ranks;
            if (walk->hops[next] == WEFT_NONE) {
                walk->hops[next] = walk->hops[walk->order[i]] + 1;
                walk->order[found++] = next;
            }
        }
    }
    if (found < ranks) {
        return (double)INFINITY;
    }
    double total[WEFT_PLANES_MAX] = {0};
    for (uint32_t i = 1; i < ranks; i++) { // paths of fewest hops share a rank's flow evenly
        uint32_t rank = walk->order[i];
        double *uses = walk->uses + (size_t)rank * planes;
        double parents = 0;
        for (uint32_t j = 0; j < planes; j++) {
            uint32_t before = (rank + ranks - jumps[j]) % ranks;
            if (walk->hops[before] + 1 == walk->hops[rank]) {
                parents++;
                uses[j]++;
                for (uint32_t k = 0; k < planes; k++) {
                    uses[k] += walk->uses[(size_t)before * planes + k];
                }
            }
        }
        for (uint32_t j = 0; j < planes; j++) {
            uses[j] /= parents;
            total[j] += uses[j];
        }
    }
    double most = 0;
    for (uint32_t j = 0; j < planes; j++) {
        most = fmax(most, total[j]);
    }
    *hops_max = walk->hops[walk->order[ranks - 1]];
    return most;
}

static double alltoall_s(const struct weft_rewired_options *options, const uint32_t *jumps,
                         struct walk *walk, uint32_t *hops)
{
    double load = load_of(jumps, options->plane_count, options->rank_count, walk, hops);
    return isinf(load) ? load
                       : *hops * options->hop_s + load * options->size_bytes / options->rank_count /
                                                      (options->rate_Bps / options->plane_count);
}

static void choose_jumps(struct weft_one_shot *shot, const struct weft_rewired_options *options,
                         struct weft_arena scratch)
{
    uint32_t ranks = options->rank_count;
    uint32_t planes = options->plane_count;
    struct walk walk = {
        .order = WEFT_NEW_RAW(&scratch, uint32_t, ranks),
        .hops = WEFT_NEW_RAW(&scratch, uint32_t, ranks),
        .uses = WEFT_NEW_RAW(&scratch, double, (size_t)ranks *planes),
    };
    // Powers of one base are the natural first choice (1, n^(1/p), ...), one of them 1.
    for (uint32_t j = 0; j < planes; j++) {
        double jump = floor(pow(ranks, (double)j / planes) + 0.5);
        shot->jumps[j] = (uint32_t)fmin(fmax(jump, 1), ranks - 1);
    }
    shot->seconds = alltoall_s(options, shot->jumps, &walk, &shot->hops);
    for (bool better = true; better;) {
        better = false;
        for (uint32_t j = 1; j < planes; j++) {
            uint32_t best = shot->jumps[j];
            for (uint32_t jump = 1; jump < ranks; jump++) {
                uint32_t hops = 0;
                shot->jumps[j] = jump;
                double seconds = alltoall_s(options, shot->jumps, &walk, &hops);
                if (seconds < shot->seconds * (1 - 1e-9)) {
                    shot->seconds = seconds;
                    shot->hops = hops;
                    best = jump;
                    better = true;
                }
            }
            shot->jumps[j] = best;
        }
    }
}

void weft_rewired_one_shot(struct weft_one_shot *shot, const struct weft_rewired_options *options,
                           struct weft_arena scratch)
{
    *shot = (struct weft_one_shot){0};
    if (options->kind == WEFT_COLLECTIVE_ALLTOALL) {
        choose_jumps(shot, options, scratch);
        return;
    }
    double rounds = 2.0 * (options->rank_count - 1);
    shot->seconds =
        rounds * (options->hop_s + options->size_bytes / options->rank_count / options->rate_Bps);
}
