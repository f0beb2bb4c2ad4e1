// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_IDMAP_H
#define WEFT_FORMAT_SYNTAX_IDMAP_H

// Arbitrary 64-bit ids to dense indices.
//
// Open addressing at a quarter full, with a limit on how far a key may lie from its place: a file
// whose ids were chosen to collide is refused instead of taking quadratic time.

#include "weft/base.h"

struct weft_idmap {
    uint64_t *keys;
    uint32_t *values; // WEFT_NONE = free
    uint32_t mask;
};

// A map for up to `capacity` keys, in `arena`.
void weft_idmap_init(struct weft_idmap *map, uint32_t capacity, struct weft_arena *arena);
// What came of weft_idmap_add.
enum weft_idmap_outcome { WEFT_IDMAP_ADDED, WEFT_IDMAP_PRESENT, WEFT_IDMAP_CROWDED };
// Adds key -> value unless the key is present, whose value then goes to *present. CROWDED: too many
// keys fall on one place. O(1).
enum weft_idmap_outcome weft_idmap_add(struct weft_idmap *map, uint64_t key, uint32_t value,
                                       uint32_t *present);
// The value of a key, or WEFT_NONE. O(1).
uint32_t weft_idmap_find(const struct weft_idmap *map, uint64_t key);

#endif
