// SPDX-License-Identifier: Apache-2.0
// Arbitrary 64-bit ids to dense indices, for formats whose files number their parts as they
// like.
//
// Open addressing with linear probing over a mixed hash, at a quarter full; a key that lies too
// far from its place is refused, so that ids chosen to collide cannot take quadratic time. O(1)
// a key.

#include "idmap.h"

#include <string.h>

// At a quarter full the longest run of a million well-mixed keys is about 30.
#define DISTANCE_MAX 256

void weft_idmap_init(struct weft_idmap *map, uint32_t capacity, struct weft_arena *arena)
{
    uint32_t size = DISTANCE_MAX;
    while (size / 4 < capacity && size < (uint32_t)1 << 31) {
        size *= 2;
    }
    *map = (struct weft_idmap){
        .keys = WEFT_NEW_RAW(arena, uint64_t, size),
        .values = WEFT_NEW_RAW(arena, uint32_t, size),
        .mask = size - 1,
    };
    memset(map->values, 0xff, sizeof *map->values * size);
}

enum weft_idmap_outcome weft_idmap_add(struct weft_idmap *map, uint64_t key, uint32_t value,
                                       uint32_t *present)
{
    WEFT_ASSERT(value != WEFT_NONE);
    uint32_t slot = (uint32_t)weft_hash(key) & map->mask;
    for (uint32_t distance = 0; distance < DISTANCE_MAX; distance++) {
        if (map->values[slot] == WEFT_NONE) {
            map->keys[slot] = key;
            map->values[slot] = value;
            return WEFT_IDMAP_ADDED;
        }
        if (map->keys[slot] == key) {
            *present = map->values[slot];
            return WEFT_IDMAP_PRESENT;
        }
        slot = (slot + 1) & map->mask;
    }
    return WEFT_IDMAP_CROWDED;
}

uint32_t weft_idmap_find(const struct weft_idmap *map, uint64_t key)
{
    uint32_t slot = (uint32_t)weft_hash(key) & map->mask;
    for (uint32_t distance = 0; distance < DISTANCE_MAX && map->values[slot] != WEFT_NONE;
         distance++) {
        if (map->keys[slot] == key) {
            return map->values[slot];
        }
        slot = (slot + 1) & map->mask;
    }
    return WEFT_NONE;
}
