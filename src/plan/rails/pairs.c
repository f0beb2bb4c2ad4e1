// SPDX-License-Identifier: Apache-2.0
// Pairs of nodes that send to each other, and circuits for them that do not meet at a port.
//
// First fit in a fixed order: pairs that go up first, then those that go down, so that the
// activations of a pipeline have one color and their gradients the next. O(pairs log pairs).

#include "rails.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The first color that neither end has. Colors beyond the 64th are one: they wait for each other.
static void color(struct rail_pairs *pairs, uint32_t *colors, bool up, uint64_t *sends,
                  uint64_t *receives)
{
    for (uint32_t p = 0; p < pairs->count; p++) {
        uint32_t from = (uint32_t)(pairs->keys[p] / pairs->node_count);
        uint32_t to = (uint32_t)(pairs->keys[p] % pairs->node_count);
        if ((from < to) != up) {
            continue;
        }
        uint64_t taken = sends[from] | receives[to];
        uint32_t c = 0;
        while (c < 63 && (taken >> c & 1) != 0) {
            c++;
        }
        sends[from] |= 1ull << c;
        receives[to] |= 1ull << c;
        colors[p] = c;
        pairs->color_count = c + 1 > pairs->color_count ? c + 1 : pairs->color_count;
    }
}

// Ends of chains send to where their chain begins, so that all of a chain can relay to all.
static void close_chains(struct rail_pairs *pairs, uint32_t *next, const uint32_t *colors,
                         struct weft_arena scratch)
{
    bool *entered = WEFT_NEW(&scratch, bool, pairs->node_count);
    memset(next, 0xff, pairs->node_count * sizeof *next);
    for (uint32_t p = 0; p < pairs->count; p++) {
        if (colors[p] == 0) {
            uint32_t to = (uint32_t)(pairs->keys[p] % pairs->node_count);
            next[pairs->keys[p] / pairs->node_count] = to;
            entered[to] = true;
        }
    }
    for (uint32_t node = 0; node < pairs->node_count; node++) {
        if (entered[node] || next[node] == WEFT_NONE) {
            continue;
        }
        uint32_t end = node;
        while (next[end] != WEFT_NONE) {
            end = next[end];
        }
        next[end] = node;
    }
}

void rail_pairs_build(struct rail_pairs *pairs, uint64_t *keys, size_t count, uint32_t node_count,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    qsort(keys, count, sizeof *keys, by_value);
    uint32_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || keys[i] != keys[i - 1]) {
            keys[distinct++] = keys[i];
        }
    }
    uint32_t *colors = WEFT_NEW(arena, uint32_t, distinct);
    uint32_t *next = WEFT_NEW(arena, uint32_t, node_count);
    uint64_t *kept = WEFT_NEW(arena, uint64_t, distinct);
    memcpy(kept, keys, distinct * sizeof *keys);
    *pairs = (struct rail_pairs){.node_count = node_count, .count = distinct, .keys = kept};
    uint64_t *sends = WEFT_NEW(&scratch, uint64_t, node_count);
    uint64_t *receives = WEFT_NEW(&scratch, uint64_t, node_count);
    color(pairs, colors, true, sends, receives);
    color(pairs, colors, false, sends, receives);
    close_chains(pairs, next, colors, scratch);
    pairs->colors = colors;
    pairs->next = next;
}

uint32_t rail_pairs_color(const struct rail_pairs *pairs, uint32_t from, uint32_t to)
{
    uint64_t key = (uint64_t)from * pairs->node_count + to;
    uint32_t low = 0;
    uint32_t high = pairs->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pairs->keys[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < pairs->count && pairs->keys[low] == key ? pairs->colors[low] : WEFT_NONE;
}
