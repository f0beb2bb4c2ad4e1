// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_COLLECTIVE_BEST_H
#define WEFT_CLI_COLLECTIVE_BEST_H

// weft collective best: what its two files share. collective_best.c parses and asks,
// collective_best_tell.c tells.

#include "collective.h"
#include "weft/plan.h"

enum best_engine { BEST_CLOSED, BEST_FLOW, BEST_PACKET, BEST_ENGINES };
extern const char *const best_engine_names[BEST_ENGINES];

struct best {
    struct cli *cli;
    struct weft_collective_question question;
    enum best_engine engine;
    bool engine_given;
    const char *fabric; // NULL = not given
    uint64_t size_low_bytes;
    uint64_t size_high_bytes;
    const char *plot_path;
    bool tuner;
    uint32_t count;
    struct weft_collective_ranking *rankings;
};

void best_tell(const struct best *best);
// NCCL knows rings and, for all-reduce, double trees: the quicker of them by size.
void best_tell_tuner(const struct best *best);
bool best_plot(const struct best *best) WEFT_MUST_USE;

#endif
