// SPDX-License-Identifier: Apache-2.0
// Requests longer than a packet, put together from fragments in any order.
//
// Each of a fixed number of slots has the bytes of one request and a bit for each byte that is
// there. A fragment of bytes that are there already, all with the same values, repeats another; one
// that meets such a byte otherwise is of somebody who wants two readings of one request, so that
// the whole request goes (as RFC 5722 says for IPv6). A request that is whole stays in its slot
// until its time is over, so that late copies of its fragments find it and begin none anew; its
// bits are cleared, and when all fragments have come again, the client has missed the answer: it is
// whole once more. A request in fragments keeps its slot for `timeout_ns` at most, and none is
// taken away from it before: a flood of first fragments finds no room, and is counted.

#include "assembly.h"

#include <string.h>

struct assembly {
    bool is_used;
    bool was_whole; // and was handed out; the data is that of then
    uint64_t source;
    struct weft_photonic_head head;
    uint64_t started_ns;
    uint32_t have_bytes;
    uint32_t fragments; // that are held
    uint8_t *data;      // [input_bytes_max]
    uint8_t *have;      // a bit a byte
};

void assemblies_init(struct assemblies *assemblies, uint32_t count, struct weft_arena *arena)
{
    const size_t bytes = assemblies->input_bytes_max;
    assemblies->count = count;
    assemblies->slots = WEFT_NEW(arena, struct assembly, count);
    uint8_t *data = WEFT_NEW(arena, uint8_t, bytes * count);
    uint8_t *have = WEFT_NEW(arena, uint8_t, (bytes + 7) / 8 * count);
    for (uint32_t i = 0; i < count; i++) {
        assemblies->slots[i].data = data + bytes * i;
        assemblies->slots[i].have = have + (bytes + 7) / 8 * i;
    }
}

static void clear(struct assembly *slot)
{
    memset(slot->have, 0, (slot->head.input_bytes + 7) / 8);
    slot->have_bytes = 0;
    slot->fragments = 0;
}

// The slot is free, and the fragments it held are counted where they belong.
static void give_up(struct assembly *slot, uint64_t *counter)
{
    *counter += slot->fragments;
    clear(slot);
    slot->is_used = false;
}

static void expire_slot(struct assemblies *assemblies, struct assembly *slot)
{
    struct weft_photonic_counts *counts = assemblies->counts;
    give_up(slot, slot->was_whole ? &counts->fragments_repeated
                                  : &counts->drops[WEFT_PHOTONIC_DROP_TIMEOUT]);
}

void assemblies_expire(struct assemblies *assemblies, uint64_t now_ns)
{
    for (uint32_t i = 0; i < assemblies->count; i++) {
        struct assembly *slot = &assemblies->slots[i];
        if (slot->is_used && now_ns - slot->started_ns >= assemblies->timeout_ns) {
            expire_slot(assemblies, slot);
        }
    }
}

static bool is_of(const struct assembly *slot, const struct weft_photonic_head *head,
                  uint64_t source)
{
    return slot->is_used && slot->source == source && slot->head.request == head->request &&
           slot->head.model == head->model && slot->head.exponent == head->exponent;
}

// That of the request; else a free one; else that of the request that was whole the longest time
// ago. NULL: there is none.
static struct assembly *find(struct assemblies *assemblies, const struct weft_photonic_head *head,
                             uint64_t source)
{
    struct assembly *best = NULL;
    for (uint32_t i = 0; i < assemblies->count; i++) {
        struct assembly *slot = &assemblies->slots[i];
        if (is_of(slot, head, source)) {
            return slot;
        }
        if (!slot->is_used) {
            best = best != NULL && !best->is_used ? best : slot;
        } else if (slot->was_whole &&
                   (best == NULL || (best->is_used && slot->started_ns < best->started_ns))) {
            best = slot;
        }
    }
    return best;
}

// How many of the fragment's bytes are there, and whether those are the same.
static uint32_t count_there(bool *same, const struct assembly *slot,
                            const struct weft_photonic_request *fragment)
{
    uint32_t there = 0;
    *same = true;
    for (uint32_t i = 0; i < fragment->bytes; i++) {
        const uint32_t at = fragment->offset + i;
        if ((slot->have[at / 8] >> (at % 8) & 1) != 0) {
            there++;
            *same = *same && slot->data[at] == fragment->data[i];
        }
    }
    return there;
}

static void store(struct assembly *slot, const struct weft_photonic_request *fragment)
{
    memcpy(slot->data + fragment->offset, fragment->data, fragment->bytes);
    for (uint32_t i = 0; i < fragment->bytes; i++) {
        const uint32_t at = fragment->offset + i;
        slot->have[at / 8] = (uint8_t)(slot->have[at / 8] | 1 << at % 8);
    }
    slot->have_bytes += fragment->bytes;
    slot->fragments++;
}

// Readies the slot for its request: a new one, or one of the same number with other bytes than the
// one that was whole.
static void claim(struct assemblies *assemblies, struct assembly *slot,
                  const struct weft_photonic_request *fragment, uint64_t source, uint64_t now_ns)
{
    const bool mine = is_of(slot, &fragment->head, source);
    const bool fits = mine && (!slot->was_whole || memcmp(slot->data + fragment->offset,
                                                          fragment->data, fragment->bytes) == 0);
    if (fits) {
        return;
    }
    if (slot->is_used) {
        expire_slot(assemblies, slot);
    }
    slot->is_used = true;
    slot->was_whole = false;
    slot->source = source;
    slot->head = fragment->head;
    slot->started_ns = now_ns;
    clear(slot);
}

enum weft_photonic_drop assemblies_take(const uint8_t **input, struct assemblies *assemblies,
                                        const struct weft_photonic_request *fragment,
                                        uint64_t source, uint64_t now_ns)
{
    struct weft_photonic_counts *counts = assemblies->counts;
    assemblies_expire(assemblies, now_ns);
    *input = NULL;
    struct assembly *slot = find(assemblies, &fragment->head, source);
    if (slot == NULL) {
        counts->drops[WEFT_PHOTONIC_DROP_ROOM]++;
        return WEFT_PHOTONIC_DROP_ROOM;
    }
    claim(assemblies, slot, fragment, source, now_ns);
    bool same;
    const uint32_t there = count_there(&same, slot, fragment);
    if (there == fragment->bytes && same) {
        counts->fragments_repeated++;
        return WEFT_PHOTONIC_TAKEN;
    }
    if (there > 0) {
        counts->drops[WEFT_PHOTONIC_DROP_OVERLAP]++;
        give_up(slot, &counts->drops[WEFT_PHOTONIC_DROP_OVERLAP]);
        return WEFT_PHOTONIC_DROP_OVERLAP;
    }
    store(slot, fragment);
    if (slot->have_bytes == slot->head.input_bytes) {
        counts->fragments_joined += slot->fragments - 1;
        clear(slot);
        slot->was_whole = true;
        slot->started_ns = now_ns;
        *input = slot->data;
    }
    return WEFT_PHOTONIC_TAKEN;
}

uint64_t assemblies_held(const struct assemblies *assemblies)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < assemblies->count; i++) {
        held += assemblies->slots[i].fragments;
    }
    return held;
}
