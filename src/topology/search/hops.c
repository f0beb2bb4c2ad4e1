// SPDX-License-Identifier: Apache-2.0
// Sums of distances, 64 sources at a time: what the search by hops evaluates at every step.
//
// Breadth-first searches from all sources run side by side as bits of words (hops.h says how). A
// design of n servers, d ports and diameter h takes n d h ceil(sources / 64) word operations, by
// AVX2 in wider registers where the processor has it: the sums are integers, so that the answer is
// the same. docs/weft-topology.md has the derivation and the times.

#include "hops.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2 1
#define INLINE static inline __attribute__((always_inline))
#else
#define HAVE_AVX2 0
#define INLINE static inline
#endif

// Work units are about nanoseconds on a 2.3 GHz Sapphire Rapids core with AVX2: fitted to the times
// of property_weft_quality (docs/weft-topology.md, "Effort").
#define ROW_UNITS 4u   // a row, for each slot, in quarters of a unit
#define WORD_UNITS 1u  // a word of a row, for each slot, in quarters
#define PLANE_UNITS 6u // a word of a row, for each plane, in quarters

void weft_hops_init(struct weft_hops *hops, uint32_t server_count, uint32_t source_count,
                    const double *weights, struct weft_arena *arena)
{
    WEFT_ASSERT(source_count <= server_count);
    WEFT_ASSERT(weights == NULL || source_count == server_count);
    uint32_t words = (source_count + 63) / 64;
    words = words > 8 ? (words + 7) / 8 * 8 : words;
    size_t size = (size_t)server_count * words;
    *hops = (struct weft_hops){
        .server_count = server_count,
        .source_count = source_count,
        .word_count = words,
        .rows = {WEFT_NEW(arena, uint64_t, size), WEFT_NEW(arena, uint64_t, size)},
        .weight_total = (uint64_t)source_count * (server_count - 1),
        .pair_count = (uint64_t)source_count * (server_count - 1),
    };
    if (weights == NULL) {
        return;
    }
    double largest = 0;
    for (size_t i = 0; i < (size_t)server_count * server_count; i++) {
        largest = weights[i] > largest ? weights[i] : largest;
    }
    hops->plane_count = WEFT_HOPS_PLANE_MAX;
    hops->planes = WEFT_NEW(arena, uint64_t, size * WEFT_HOPS_PLANE_MAX);
    hops->weight_total = 0;
    hops->pair_count = 0;
    double scale = largest > 0 ? ((1u << WEFT_HOPS_PLANE_MAX) - 1) / largest : 0;
    for (uint32_t v = 0; v < server_count; v++) {
        for (uint32_t j = 0; j < server_count; j++) {
            double weight = weights[(size_t)v * server_count + j];
            uint32_t scaled = (uint32_t)(weight * scale + 0.5);
            scaled = scaled == 0 && weight > 0 ? 1 : scaled;
            scaled = v == j ? 0 : scaled;
            hops->weight_total += scaled;
            hops->pair_count += scaled > 0;
            for (uint32_t b = 0; b < WEFT_HOPS_PLANE_MAX; b++) {
                uint64_t bit = (scaled >> b) & 1;
                hops->planes[b * size + (size_t)v * words + j / 64] |= bit << (j % 64);
            }
        }
    }
}

// One round over `chunk` words of every row from column `word` on: `to` = rows within one more hop.
// Returns how many pairs are reached now.
INLINE uint64_t spread_chunk(const uint64_t *from, uint64_t *to, const struct weft_design *design,
                             uint32_t words, uint32_t word, const uint32_t chunk)
{
    uint64_t reached = 0;
    const uint32_t *next = design->next;
    uint32_t slots = design->degree;
    for (uint32_t v = 0; v < design->server_count; v++, next += slots) {
        uint64_t row[8];
        for (uint32_t w = 0; w < chunk; w++) {
            row[w] = from[(size_t)v * words + word + w];
        }
        for (uint32_t e = 0; e < slots; e++) {
            const uint64_t *other = from + (size_t)next[e] * words + word;
            for (uint32_t w = 0; w < chunk; w++) {
                row[w] |= other[w];
            }
        }
        for (uint32_t w = 0; w < chunk; w++) {
            to[(size_t)v * words + word + w] = row[w];
            reached += (uint64_t)__builtin_popcountll(row[w]);
        }
    }
    return reached;
}

// One round over whole rows. The number of words is a constant in each call, so that the compiler
// unrolls the loops over a row; rows of more than eight words go in chunks of eight.
INLINE uint64_t spread(const uint64_t *from, uint64_t *to, const struct weft_design *design,
                       uint32_t words)
{
    switch (words) {
    case 1:
        return spread_chunk(from, to, design, 1, 0, 1);
    case 2:
        return spread_chunk(from, to, design, 2, 0, 2);
    case 3:
        return spread_chunk(from, to, design, 3, 0, 3);
    case 4:
        return spread_chunk(from, to, design, 4, 0, 4);
    case 5:
        return spread_chunk(from, to, design, 5, 0, 5);
    case 6:
        return spread_chunk(from, to, design, 6, 0, 6);
    case 7:
        return spread_chunk(from, to, design, 7, 0, 7);
    default:
        break;
    }
    uint64_t reached = 0;
    for (uint32_t word = 0; word < words; word += 8) {
        reached += spread_chunk(from, to, design, words, word, 8);
    }
    return reached;
}

// The weight of the pairs not yet reached.
INLINE uint64_t weigh_missing(const struct weft_hops *hops, const uint64_t *rows)
{
    size_t size = (size_t)hops->server_count * hops->word_count;
    uint64_t weight = 0;
    for (uint32_t b = 0; b < hops->plane_count; b++) {
        const uint64_t *plane = hops->planes + b * size;
        uint64_t count = 0;
        for (size_t i = 0; i < size; i++) {
            count += (uint64_t)__builtin_popcountll(plane[i] & ~rows[i]);
        }
        weight += count << b;
    }
    return weight;
}

// Rounds until every source reaches every server, or until a round reaches nothing new. What is not
// reached after h rounds is more than h hops away, so that the sum of distances is the sum over
// rounds of the weight still missing.
INLINE struct weft_hops_result sum_rounds(struct weft_hops *hops, const struct weft_design *design)
{
    uint32_t words = hops->word_count;
    uint32_t n = hops->server_count;
    uint64_t *from = hops->rows[0];
    uint64_t *to = hops->rows[1];
    memset(from, 0, (size_t)n * words * sizeof *from);
    for (uint32_t j = 0; j < hops->source_count; j++) {
        from[(size_t)j * words + j / 64] = 1ull << (j % 64);
    }
    uint64_t all = (uint64_t)hops->source_count * n;
    uint64_t reached = hops->source_count;
    struct weft_hops_result result = {.missing = hops->weight_total};
    uint64_t round_units = ((uint64_t)n * design->degree * (ROW_UNITS + WORD_UNITS * words) +
                            (uint64_t)n * words * hops->plane_count * PLANE_UNITS) /
                           4;
    while (reached < all) {
        result.sum += result.missing;
        result.diameter++;
        uint64_t before = reached;
        reached = spread(from, to, design, words);
        hops->work += round_units;
        if (reached == before) {
            result.sum += result.missing * n;
            return result;
        }
        result.missing = hops->plane_count > 0 ? weigh_missing(hops, to) : all - reached;
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    WEFT_ASSERT(result.missing == 0);
    return result;
}

static struct weft_hops_result sum_plain(struct weft_hops *hops, const struct weft_design *design)
{
    return sum_rounds(hops, design);
}

#if HAVE_AVX2
__attribute__((target("avx2,popcnt"))) static struct weft_hops_result
sum_avx2(struct weft_hops *hops, const struct weft_design *design)
{
    return sum_rounds(hops, design);
}
#endif

struct weft_hops_result weft_hops_sum(struct weft_hops *hops, const struct weft_design *design)
{
    WEFT_ASSERT(design->server_count == hops->server_count);
#if HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
        return sum_avx2(hops, design);
    }
#endif
    return sum_plain(hops, design);
}
