// SPDX-License-Identifier: Apache-2.0
// The order in which TopoOpt's packet simulator starts the tasks that wait for none.
//
// It keeps tasks in a std::unordered_map by their ids and goes through that, so the order is the
// one of libstdc++'s table: all entries stand in one list, an entry goes to the front of its
// bucket's stretch or, where the bucket is empty, to the front of the list; a table that is full
// grows to the next of its primes and takes the entries anew in the order of the list. The hash of
// an integer is itself. Measured on the recorded runs: docs/packet-engine.md, "The
// recorded simulator". O(tasks).

#include "fbuf.h"

#include <string.h>

// Sizes that a table of one entry after the other goes through: primes of libstdc++ 12, each the
// least of its list that is at least twice the one before.
static const uint32_t sizes[] = {
    13,      29,       59,       127,      257,       541,       1109,      2357,      5087,
    10273,   20753,    42043,    85229,    172933,    351061,    712697,    1447153,   2938679,
    5967347, 12117689, 24607243, 49969847, 101473717, 206062531, 418451333, 849755837, 1725598519};

struct table {
    const uint64_t *ids;
    uint32_t count; // the number of all, and the place before the first
    uint32_t *next; // per entry, and of the place before the first
    uint32_t bucket_count;
    uint32_t *before; // per bucket: what stands before its first entry; WEFT_NONE: it is empty
};

static void insert(struct table *table, uint32_t entry)
{
    uint32_t bucket = (uint32_t)(table->ids[entry] % table->bucket_count);
    uint32_t before = table->before[bucket];
    uint32_t at = before == WEFT_NONE ? table->count : before;
    uint32_t behind = table->next[at];
    table->next[entry] = behind;
    table->next[at] = entry;
    if (before == WEFT_NONE) {
        table->before[bucket] = table->count;
        if (behind != WEFT_NONE) {
            table->before[table->ids[behind] % table->bucket_count] = entry;
        }
    }
}

static void grow(struct table *table, uint32_t size)
{
    uint32_t entry = table->next[table->count];
    table->bucket_count = size;
    memset(table->before, 0xff, size * sizeof *table->before); // WEFT_NONE
    table->next[table->count] = WEFT_NONE;
    while (entry != WEFT_NONE) {
        uint32_t after = table->next[entry];
        insert(table, entry);
        entry = after;
    }
}

void weft_fbuf_listed(uint32_t *order, const uint64_t *ids, uint32_t count,
                      struct weft_arena scratch)
{
    uint32_t last = 0; // the size that holds all
    while (sizes[last] < count) {
        last++;
    }
    struct table table = {.ids = ids,
                          .count = count,
                          .next = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)count + 1),
                          .before = WEFT_NEW_RAW(&scratch, uint32_t, sizes[last])};
    table.next[count] = WEFT_NONE;
    uint32_t size = 0;
    for (uint32_t entry = 0; entry < count; entry++) {
        if (entry + 1 > table.bucket_count) {
            grow(&table, sizes[size++]);
        }
        insert(&table, entry);
    }
    uint32_t entry = table.next[count];
    for (uint32_t i = 0; i < count; i++) {
        order[i] = entry;
        entry = table.next[entry];
    }
}
