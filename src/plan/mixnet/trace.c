// SPDX-License-Identifier: Apache-2.0
// Loads of experts: drawn by a law with stated skew and drift, and as bytes between servers.
//
// A rank's loads in its first layer are a permutation of Zipf's law. From layer to layer an expert
// hands most of its tokens to one other expert, a different one for each, and the rest by a law of
// its own; the places of the next layer's permutation are those of the sums. So every row has the
// stated skew exactly, columns differ as chance has it, and a layer's loads tell much of the next
// one's, as they do in trained models (MixNet, SIGCOMM 2025). From step to step, some places of
// each permutation are exchanged at random.

#include "weft/plan/mixnet.h"

#include <math.h>
#include <stdlib.h>

// What an expert hands to its favorite next expert, beside what it deals out.
#define FAVORITE_SHARE 0.6

struct ranked {
    double score;
    uint32_t expert;
};

// Largest first; equal ones by expert.
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return x->expert < y->expert ? -1 : x->expert > y->expert;
}

// Zipf's law, sum 1.
static void fill_law(double *law, uint32_t experts, double skew)
{
    double sum = 0;
    for (uint32_t r = 0; r < experts; r++) {
        law[r] = pow(r + 1.0, -skew);
        sum += law[r];
    }
    for (uint32_t r = 0; r < experts; r++) {
        law[r] /= sum;
    }
}

// One layer's matrix: a favorite next expert each, the rest dealt out by chance.
static void draw_matrix(double *matrix, uint32_t experts, struct weft_rng *rng,
                        struct weft_arena scratch)
{
    uint32_t *favorites = WEFT_NEW(&scratch, uint32_t, experts);
    for (uint32_t e = 0; e < experts; e++) {
        favorites[e] = e;
    }
    weft_rng_shuffle(rng, favorites, experts);
    for (uint32_t e = 0; e < experts; e++) {
        double sum = 0;
        for (uint32_t f = 0; f < experts; f++) {
            double weight = weft_rng_exponential(rng, 1);
            matrix[(size_t)f * experts + e] = weight;
            sum += weight;
        }
        for (uint32_t f = 0; f < experts; f++) {
            double *share = &matrix[(size_t)f * experts + e];
            *share *= (1 - FAVORITE_SHARE) / sum;
            *share += f == favorites[e] ? FAVORITE_SHARE : 0;
        }
    }
}

// Some places of a permutation are exchanged.
static void disturb(uint32_t *place, uint32_t experts, double drift, struct weft_rng *rng)
{
    for (uint32_t e = 0; e < experts; e++) {
        if (weft_rng_unit(rng) < drift) {
            uint32_t other = weft_rng_below(rng, experts);
            uint32_t kept = place[e];
            place[e] = place[other];
            place[other] = kept;
        }
    }
}

// The places that the layer before gives: the expert with the largest sum is first.
static void follow(uint32_t *place, const double *loads, const double *matrix, uint32_t experts,
                   struct weft_arena scratch)
{
    struct ranked *ranked = WEFT_NEW(&scratch, struct ranked, experts);
    double *next = WEFT_NEW(&scratch, double, experts);
    weft_experts_apply(next, matrix, loads, experts);
    for (uint32_t e = 0; e < experts; e++) {
        ranked[e] = (struct ranked){next[e], e};
    }
    qsort(ranked, experts, sizeof *ranked, compare_ranked);
    for (uint32_t r = 0; r < experts; r++) {
        place[ranked[r].expert] = r;
    }
}

void weft_experts_generate(struct weft_expert_trace *trace, const struct weft_expert_law *law,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t experts = law->experts;
    size_t cells = (size_t)experts * experts;
    size_t rows = (size_t)law->steps * law->layers * law->ranks;
    double *loads = WEFT_NEW(arena, double, rows *experts);
    double *zipf = WEFT_NEW(&scratch, double, experts);
    double *matrices = WEFT_NEW(&scratch, double, law->layers *cells);
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)law->ranks * experts);
    uint32_t *place = WEFT_NEW(&scratch, uint32_t, experts);
    struct weft_rng rng;
    weft_rng_init(&rng, law->seed);
    fill_law(zipf, experts, law->skew);
    for (uint32_t l = 0; l < law->layers; l++) {
        draw_matrix(matrices + l * cells, experts, &rng, scratch);
    }
    for (uint32_t r = 0; r < law->ranks; r++) {
        for (uint32_t e = 0; e < experts; e++) {
            first[(size_t)r * experts + e] = e;
        }
        weft_rng_shuffle(&rng, first + (size_t)r * experts, experts);
    }
    double *row = loads;
    for (uint32_t step = 0; step < law->steps; step++) {
        for (uint32_t l = 0; l < law->layers; l++) {
            for (uint32_t r = 0; r < law->ranks; r++, row += experts) {
                uint32_t *own = l == 0 ? first + (size_t)r * experts : place;
                if (l > 0) {
                    follow(place, row - (size_t)law->ranks * experts, matrices + l * cells, experts,
                           scratch);
                }
                if (step > 0 || l > 0) {
                    disturb(own, experts, law->drift, &rng);
                }
                for (uint32_t e = 0; e < experts; e++) {
                    row[e] = zipf[own[e]];
                }
            }
        }
    }
    *trace = (struct weft_expert_trace){experts, law->layers, law->ranks, law->steps, loads};
}

void weft_experts_demand(double *bytes, const double *loads, const struct weft_expert_trace *trace,
                         uint32_t server_count, double copies_bytes)
{
    uint32_t n = server_count;
    WEFT_ASSERT(trace->ranks % n == 0 && trace->experts % n == 0);
    uint32_t ranks = trace->ranks / n;
    uint32_t experts = trace->experts / n;
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0;
        double *row = bytes + (size_t)i * n;
        for (uint32_t j = 0; j < n; j++) {
            row[j] = 0;
            for (uint32_t r = i * ranks; r < (i + 1) * ranks; r++) {
                const double *from = loads + (size_t)r * trace->experts + (size_t)j * experts;
                for (uint32_t e = 0; e < experts; e++) {
                    row[j] += from[e];
                }
            }
            sum += row[j];
        }
        for (uint32_t j = 0; j < n && sum > 0; j++) {
            row[j] *= copies_bytes / sum;
        }
    }
}
