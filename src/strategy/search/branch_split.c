// SPDX-License-Identifier: Apache-2.0
// Two strands of a model beside one another: where a search begins if nothing near data parallelism
// leads there.
//
// An operator's cone, all that leads to it, is one strand, all else the other: of an encoder and a
// decoder that reads each of its layers, the encoder and the decoder. Each strand gets every other
// server; what is due before a first moment or after a last one stays on all servers.

#include "starts.h"

#include <math.h>
#include <string.h>

// Moments that the forward pass is divided into, at most.
#define MOMENTS_MAX 8u

struct strands {
    const struct problem *problem;
    struct layout *layout;
    uint32_t words;  // of a set of nodes
    uint64_t *cones; // node * words
    double *end_s;   // per node: when its forward pass ends if nothing but its inputs delay it
    double last_s;
    uint32_t *choices; // per node: data parallel; its servers stand in `servers`
    uint32_t *servers; // node * server_count
    uint32_t *block;   // servers of one strand
};

static void open_strands(struct strands *strands, struct layout *layout, struct weft_arena *arena)
{
    const struct problem *problem = layout->problem;
    uint32_t count = problem->node_count;
    uint32_t words = (count + 63) / 64;
    size_t places = (size_t)count * problem->server_count;
    *strands = (struct strands){
        .problem = problem,
        .layout = layout,
        .words = words,
        .cones = WEFT_NEW(arena, uint64_t, (size_t)count * words),
        .end_s = WEFT_NEW(arena, double, count),
        .choices = WEFT_NEW_RAW(arena, uint32_t, count),
        .servers = WEFT_NEW_RAW(arena, uint32_t, places),
        .block = WEFT_NEW(arena, uint32_t, problem->server_count),
    };
    memcpy(strands->choices, layout->choice, sizeof *strands->choices * count);
    memcpy(strands->servers, layout->servers, sizeof *strands->servers * places);
    for (uint32_t i = 0; i < count; i++) {
        const struct node *node = &problem->nodes[i];
        uint64_t *cone = strands->cones + (size_t)i * words;
        double *end_s = &strands->end_s[i];
        cone[i / 64] |= (uint64_t)1 << i % 64;
        for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
            uint32_t from = problem->edges[e].from;
            *end_s = fmax(*end_s, strands->end_s[from]);
            for (uint32_t w = 0; w < words; w++) {
                cone[w] |= strands->cones[(size_t)from * words + w];
            }
        }
        *end_s += problem->choices[layout->choice[i]].forward_s;
        strands->last_s = fmax(strands->last_s, *end_s);
    }
}

// Lays the strands out: those operators that are done after first_s and until last_s.
static void lay_out(struct strands *strands, uint32_t root, double first_s, double last_s)
{
    const struct problem *problem = strands->problem;
    uint32_t half = problem->server_count / 2;
    const uint64_t *cone = strands->cones + (size_t)root * strands->words;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const struct node *node = &problem->nodes[i];
        uint32_t choice = weft_problem_choice(problem, i, half, 1);
        double end_s = strands->end_s[i];
        if (node->table || choice == WEFT_NONE || end_s <= first_s || end_s > last_s) {
            weft_layout_set(strands->layout, i, strands->choices[i],
                            strands->servers + (size_t)i * problem->server_count);
            continue;
        }
        uint32_t first = cone[i / 64] >> i % 64 & 1 ? 0 : 1;
        for (uint32_t p = 0; p < half; p++) {
            strands->block[p] = first + 2 * p;
        }
        weft_layout_set(strands->layout, i, choice, strands->block);
    }
    weft_layout_apply(strands->layout);
    weft_layout_keep(strands->layout);
}

// As many moments as the budget allows, for all roots.
static uint32_t count_moments(const struct problem *problem, uint64_t evaluations)
{
    uint32_t moments = MOMENTS_MAX;
    while (moments > 0 &&
           (uint64_t)problem->node_count * (moments * (moments + 1) / 2) > evaluations) {
        moments /= 2;
    }
    return moments;
}

uint64_t weft_start_strands(struct shelf *found, struct layout *layout, uint64_t evaluations,
                            struct weft_arena scratch)
{
    const struct problem *problem = layout->problem;
    uint32_t moments = count_moments(problem, evaluations);
    if (moments == 0 || problem->server_count % 2 != 0) {
        return 0;
    }
    struct strands strands;
    struct shelf best; // of a root: its neighbors in time are much the same
    struct estimator *estimator = weft_estimator_init(problem, &scratch);
    open_strands(&strands, layout, &scratch);
    weft_shelf_init(&best, problem, 1, &scratch);
    uint64_t made = 0;
    for (uint32_t root = 0; root < problem->node_count; root++) {
        best.count = 0;
        for (uint32_t first = 0; first < moments; first++) {
            for (uint32_t last = first + 1; last <= moments; last++, made++) {
                lay_out(&strands, root, strands.last_s * first / moments,
                        strands.last_s * last / moments);
                weft_shelf_add(&best, layout, weft_estimate(estimator, layout));
            }
        }
        weft_shelf_merge(found, &best, problem);
    }
    return made;
}
