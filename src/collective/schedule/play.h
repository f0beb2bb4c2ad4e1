// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_SCHEDULE_PLAY_H
#define WEFT_COLLECTIVE_SCHEDULE_PLAY_H

// Symbolic execution of those slots that a schedule keeps together, round by round. A cell is a
// slot of a rank: the chunk that it holds and the set of ranks whose addends are in it. The player
// notes the first violation by round and order of transfers, whichever part of the slots it is
// found in.

#include "holding.h"

// One slot of a transfer. `order` counts the transfers of a round.
struct slot_move {
    uint32_t round;
    uint32_t order;
    uint32_t from;
    uint32_t to;
    uint32_t from_slot;
    uint32_t to_slot;
    enum weft_step_op op;
};

// The first violation found: by round and order; those of the end come last, by rank and slot.
struct violation {
    uint64_t key; // round << 32 | order; UINT64_MAX if none
    uint32_t slot;
    char why[200];
};

struct cell {
    uint32_t chunk;
    uint32_t set;     // WEFT_NONE: holds nothing
    uint64_t written; // 2 * round + 1 by a sum, + 2 by a copy; 0 never
};

struct incoming {
    uint32_t chunk;
    uint32_t set;
};

// The cells of the slots slots[0..slot_count) of every rank; place[slot] is a slot's number there.
struct player {
    const struct weft_schedule *schedule;
    const uint32_t *slots;
    uint32_t slot_count;
    uint32_t *place;
    struct cell *cells;        // [slot_count][rank_count]
    struct incoming *incoming; // of one round
    struct rank_sets sets;
    struct violation *violation;
};

// The slots as they are before the first round.
void player_begin(struct player *player, const uint32_t *slots, uint32_t slot_count);
// Plays moves of one round, in order. False: one of them is a violation, which is noted unless an
// earlier one is; play no further.
bool player_round(struct player *player, const struct slot_move *moves, uint32_t count)
    WEFT_MUST_USE;
// Compares what the slots hold in the end with what the kind of collective asks.
void player_end(struct player *player);

#endif
