// SPDX-License-Identifier: Apache-2.0
// The lower bound on StragglAR's rounds after the late rank has come: K - 1 + ceil(log2 n).
//
// The straggler sends one message a round, and nobody else has its addends, so the last of the K
// chunks leaves it in round K - 1 at the earliest (rounds count from 0). Before its end nobody can
// have that chunk's sum, and after it at most two can: the straggler and its partner of the round.
// In each later round whoever has the sum can give it to one more, so at most 2, 4, 8, ... ranks
// have it, and all n do after ceil(log2 n) - 1 more rounds at the earliest. That makes K +
// ceil(log2 n) - 1 rounds. docs/stragglar.md compares the schedules that stragglar.c writes with
// it; for every n from 4 to 1100 they meet it. O(log n).

#include "stragglar.h"

uint32_t stragglar_bound(uint32_t rank_count, uint32_t chunk_count)
{
    uint32_t levels = 0;
    while ((1ull << levels) < rank_count) {
        levels++;
    }
    return chunk_count - 1 + levels;
}
