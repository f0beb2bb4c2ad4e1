// SPDX-License-Identifier: Apache-2.0
// Branch splits: two branches of a model side by side on half of the servers each. Searches begin
// there, since no sequence of small moves that each pay leads there from data parallelism.
//
// An operator's cone, all that leads to it, is one branch, all else the other: of an encoder and a
// decoder that reads each of its layers, the encoder and the decoder. Each branch gets every other
// server; what ends before a first moment of the forward pass, or after a last one, stays on all
// servers. Every cone and every pair of moments is estimated: O(nodes * moments^2) estimates.

#include "starts.h"

#include <math.h>
#include <string.h>

// Moments that the forward pass is divided into, at most: 36 pairs for each cone. Halved until all
// fit the share of the search's effort that branch splits may take; not tuned.
#define MOMENTS_MAX 8u

struct branch_split {
    const struct weft_strategy_space *space;
    struct placement *placement;
    uint32_t words;  // of a set of nodes
    uint64_t *cones; // node * words
    double *end_s;   // per node: when its forward pass ends if nothing but its inputs delay it
    double last_s;
    uint32_t *choices; // per node: data parallel; its servers stand in `servers`
    uint32_t *servers; // node * server_count
    uint32_t *block;   // servers of one branch
};

// Notes where data parallelism puts every operator, collects the cones as bit sets in the order of
// the model, and finds when each operator ends if nothing but its inputs delays it.
static void open_split(struct branch_split *split, struct placement *placement,
                       struct weft_arena *arena)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t count = space->node_count;
    uint32_t words = (count + 63) / 64;
    size_t places = (size_t)count * space->server_count;
    *split = (struct branch_split){
        .space = space,
        .placement = placement,
        .words = words,
        .cones = WEFT_NEW(arena, uint64_t, (size_t)count * words),
        .end_s = WEFT_NEW(arena, double, count),
        .choices = WEFT_NEW_RAW(arena, uint32_t, count),
        .servers = WEFT_NEW_RAW(arena, uint32_t, places),
        .block = WEFT_NEW(arena, uint32_t, space->server_count),
    };
    memcpy(split->choices, placement->choice, sizeof *split->choices * count);
    memcpy(split->servers, placement->servers, sizeof *split->servers * places);
    for (uint32_t i = 0; i < count; i++) {
        const struct node *node = &space->nodes[i];
        uint64_t *cone = split->cones + (size_t)i * words;
        double *end_s = &split->end_s[i];
        cone[i / 64] |= (uint64_t)1 << i % 64;
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            uint32_t from = space->edges[e].from;
            *end_s = fmax(*end_s, split->end_s[from]);
            for (uint32_t w = 0; w < words; w++) {
                cone[w] |= split->cones[(size_t)from * words + w];
            }
        }
        *end_s += space->choices[placement->choice[i]].forward_s;
        split->last_s = fmax(split->last_s, *end_s);
    }
}

// Puts each branch on its half of the servers, as far as its operators end after first_s and until
// last_s; all others go back to where they were.
static void place_halves(struct branch_split *split, uint32_t root, double first_s, double last_s)
{
    const struct weft_strategy_space *space = split->space;
    uint32_t half = space->server_count / 2;
    const uint64_t *cone = split->cones + (size_t)root * split->words;
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct node *node = &space->nodes[i];
        uint32_t choice = weft_search_space_choice(space, i, half, 1);
        double end_s = split->end_s[i];
        if (node->table || choice == WEFT_NONE || end_s <= first_s || end_s > last_s) {
            weft_placement_set(split->placement, i, split->choices[i],
                               split->servers + (size_t)i * space->server_count);
            continue;
        }
        uint32_t first = cone[i / 64] >> i % 64 & 1 ? 0 : 1;
        for (uint32_t p = 0; p < half; p++) {
            split->block[p] = first + 2 * p;
        }
        weft_placement_set(split->placement, i, choice, split->block);
    }
    weft_placement_apply(split->placement);
    weft_placement_keep(split->placement);
}

// As many moments as the budget allows, for all roots.
static uint32_t count_moments(const struct weft_strategy_space *space, uint64_t evaluations)
{
    uint32_t moments = MOMENTS_MAX;
    while (moments > 0 &&
           (uint64_t)space->node_count * (moments * (moments + 1) / 2) > evaluations) {
        moments /= 2;
    }
    return moments;
}

uint64_t weft_start_branch_split(struct best_k *found, struct placement *placement,
                                 uint64_t evaluations, struct weft_arena scratch)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t moments = count_moments(space, evaluations);
    if (moments == 0 || space->server_count % 2 != 0) {
        return 0;
    }
    struct branch_split split;
    struct best_k best; // of a root: its neighbors in time are much the same
    struct estimator *estimator = weft_estimator_init(space, &scratch);
    open_split(&split, placement, &scratch);
    weft_best_k_init(&best, space, 1, &scratch);
    uint64_t made = 0;
    for (uint32_t root = 0; root < space->node_count; root++) {
        best.count = 0;
        for (uint32_t first = 0; first < moments; first++) {
            for (uint32_t last = first + 1; last <= moments; last++, made++) {
                place_halves(&split, root, split.last_s * first / moments,
                             split.last_s * last / moments);
                weft_best_k_add(&best, placement, weft_estimate(estimator, placement));
            }
        }
        weft_best_k_merge(found, &best, space);
    }
    return made;
}
