// SPDX-License-Identifier: Apache-2.0
// The rules of a round, and what each kind of collective gives and asks, slot by slot. All
// transfers of a round read first and write then; a sum must be of the same chunk and of disjoint
// addends, a copy must be alone in its slot. Why this proves the sums is in docs/collectives.md
// ("The checker"). O(transfers * n / 64) at most.

#include "play.h"

#include <stdarg.h>
#include <stdio.h>

static bool sums(enum weft_collective_kind kind)
{
    return kind == WEFT_COLLECTIVE_ALLREDUCE || kind == WEFT_COLLECTIVE_REDUCE_SCATTER ||
           kind == WEFT_COLLECTIVE_REDUCE;
}

static bool earlier(const struct violation *violation, uint64_t key, uint32_t slot)
{
    return key < violation->key || (key == violation->key && slot < violation->slot);
}

static void note(struct player *player, uint64_t key, uint32_t slot, const char *format, ...)
    WEFT_PRINTF(4, 5);
static void note(struct player *player, uint64_t key, uint32_t slot, const char *format, ...)
{
    struct violation *violation = player->violation;
    if (!earlier(violation, key, slot)) {
        return;
    }
    violation->key = key;
    violation->slot = slot;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(violation->why, sizeof violation->why, format, arguments);
    va_end(arguments);
}

// ---- what is given and asked ----

// The chunk in this slot of a rank before the first round; WEFT_NONE if none.
static uint32_t given(const struct weft_schedule *schedule, uint32_t rank, uint32_t slot)
{
    uint32_t chunk_count = schedule->chunk_count;
    uint32_t share = chunk_count / schedule->rank_count;
    switch (schedule->kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
    case WEFT_COLLECTIVE_REDUCE:
    case WEFT_COLLECTIVE_ALLTOALL:
        return slot < chunk_count ? slot : WEFT_NONE;
    case WEFT_COLLECTIVE_ALLGATHER: {
        uint32_t chunk = schedule->packed ? rank * share + slot : slot;
        bool own = schedule->packed ? slot < share : slot < chunk_count && slot / share == rank;
        return own ? chunk : WEFT_NONE;
    }
    case WEFT_COLLECTIVE_BROADCAST:
        return rank == schedule->root && slot < chunk_count ? slot : WEFT_NONE;
    case WEFT_COLLECTIVE_KIND_COUNT:
        break;
    }
    return WEFT_NONE;
}

// What must be in this slot of a rank in the end: a chunk and its set; chunk WEFT_NONE: anything.
static struct incoming asked(const struct weft_schedule *schedule, uint32_t rank, uint32_t slot)
{
    struct incoming none = {WEFT_NONE, WEFT_NONE};
    uint32_t n = schedule->rank_count;
    uint32_t chunk_count = schedule->chunk_count;
    uint32_t share = chunk_count / n;
    if (slot < schedule->output_first) {
        return none;
    }
    uint32_t output = slot - schedule->output_first;
    switch (schedule->kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
        return output < chunk_count ? (struct incoming){output, n} : none;
    case WEFT_COLLECTIVE_REDUCE_SCATTER: {
        uint32_t chunk = schedule->packed ? rank * share + output : output;
        bool own =
            schedule->packed ? output < share : output < chunk_count && output / share == rank;
        return own ? (struct incoming){chunk, n} : none;
    }
    case WEFT_COLLECTIVE_ALLGATHER:
        return output < chunk_count ? (struct incoming){output, output / share} : none;
    case WEFT_COLLECTIVE_BROADCAST:
        return output < chunk_count ? (struct incoming){output, schedule->root} : none;
    case WEFT_COLLECTIVE_REDUCE:
        return rank == schedule->root && output < chunk_count ? (struct incoming){output, n} : none;
    case WEFT_COLLECTIVE_ALLTOALL:
        return output < chunk_count
                   ? (struct incoming){rank * share + output % share, output / share}
                   : none;
    case WEFT_COLLECTIVE_KIND_COUNT:
        break;
    }
    return none;
}

void player_begin(struct player *player, const uint32_t *slots, uint32_t slot_count)
{
    uint32_t n = player->schedule->rank_count;
    player->slots = slots;
    player->slot_count = slot_count;
    rank_sets_clear(&player->sets);
    for (uint32_t s = 0; s < slot_count; s++) {
        player->place[slots[s]] = s;
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t chunk = given(player->schedule, rank, slots[s]);
            uint32_t set = chunk == WEFT_NONE ? WEFT_NONE : rank;
            player->cells[(size_t)s * n + rank] = (struct cell){chunk, set, 0};
        }
    }
}

// ---- a round ----

static struct cell *cell_at(const struct player *player, uint32_t rank, uint32_t slot)
{
    return &player->cells[(size_t)player->place[slot] * player->schedule->rank_count + rank];
}

static uint64_t key_of(const struct slot_move *move)
{
    return (uint64_t)move->round << 32 | move->order;
}

static bool copy_in(struct player *player, const struct slot_move *move, struct cell *cell,
                    const struct incoming *in)
{
    uint64_t stamp = (uint64_t)move->round * 2 + 1;
    if (cell->written >= stamp) {
        note(player, key_of(move), move->to_slot,
             "rank %u copies slot %u to slot %u of rank %u, which another transfer writes in the "
             "same round",
             move->from, move->from_slot, move->to_slot, move->to);
        return false;
    }
    if (cell->set != WEFT_NONE) {
        rank_sets_drop(&player->sets, cell->set);
    }
    *cell = (struct cell){in->chunk, in->set, stamp + 1};
    return true;
}

// Adds what came in to a cell, or notes which rule it breaks: the kind sums nothing, a copy writes
// the slot in the same round, the cell is empty, the chunks differ, or an addend would count twice.
// The set that came in is dropped only once it has been added.
static bool add_in(struct player *player, const struct slot_move *move, struct cell *cell,
                   const struct incoming *in)
{
    uint64_t stamp = (uint64_t)move->round * 2 + 1;
    uint64_t key = key_of(move);
    uint32_t slot = move->to_slot;
    if (!sums(player->schedule->kind)) {
        note(player, key, slot, "rank %u adds slot %u to slot %u of rank %u, but %s sums nothing",
             move->from, move->from_slot, slot, move->to,
             weft_collective_name(player->schedule->kind));
        return false;
    }
    if (cell->written == stamp + 1) {
        note(player, key, slot,
             "rank %u adds to slot %u of rank %u, which a copy writes in the same round",
             move->from, slot, move->to);
        return false;
    }
    if (cell->set == WEFT_NONE) {
        note(player, key, slot,
             "rank %u adds slot %u to slot %u of rank %u, which holds nothing yet", move->from,
             move->from_slot, slot, move->to);
        return false;
    }
    if (cell->chunk != in->chunk) {
        note(player, key, slot, "rank %u adds its chunk %u to chunk %u in slot %u of rank %u",
             move->from, in->chunk, cell->chunk, slot, move->to);
        return false;
    }
    uint32_t twice;
    uint32_t sum = rank_sets_add(&player->sets, cell->set, in->set, &twice);
    if (sum == WEFT_NONE) {
        note(player, key, slot,
             "rank %u sends chunk %u to slot %u of rank %u, where the addend of rank %u is added "
             "a second time",
             move->from, in->chunk, slot, move->to, twice);
        return false;
    }
    rank_sets_drop(&player->sets, in->set);
    cell->set = sum;
    cell->written = stamp;
    return true;
}

// Plays one round: what is sent is read, and shared, before anything is written. After the first
// transfer that reads nothing the ones before it still write, so that a violation earlier in the
// order is found too.
bool player_round(struct player *player, const struct slot_move *moves, uint32_t count)
{
    uint32_t readable = 0;
    for (; readable < count; readable++) {
        const struct slot_move *move = &moves[readable];
        const struct cell *cell = cell_at(player, move->from, move->from_slot);
        if (cell->set == WEFT_NONE) {
            note(player, key_of(move), move->to_slot,
                 "rank %u %s slot %u to slot %u of rank %u before it holds anything", move->from,
                 move->op == WEFT_STEP_COPY ? "copies" : "adds", move->from_slot, move->to_slot,
                 move->to);
            break;
        }
        player->incoming[readable] = (struct incoming){cell->chunk, cell->set};
        rank_sets_share(&player->sets, cell->set);
    }
    for (uint32_t m = 0; m < readable; m++) {
        struct cell *cell = cell_at(player, moves[m].to, moves[m].to_slot);
        bool fine = moves[m].op == WEFT_STEP_COPY
                        ? copy_in(player, &moves[m], cell, &player->incoming[m])
                        : add_in(player, &moves[m], cell, &player->incoming[m]);
        if (!fine) {
            return false;
        }
    }
    return readable == count;
}

// ---- the end ----

static void note_missing(struct player *player, uint32_t rank, uint32_t slot,
                         const struct cell *cell, const struct incoming *wanted)
{
    uint64_t key = (uint64_t)WEFT_NONE << 32 | rank;
    if (!earlier(player->violation, key, slot)) {
        return;
    }
    uint32_t n = player->schedule->rank_count;
    if (cell->set == WEFT_NONE) {
        note(player, key, slot, "rank %u ends with nothing in slot %u, where chunk %u belongs",
             rank, slot, wanted->chunk);
    } else if (cell->chunk != wanted->chunk) {
        note(player, key, slot, "rank %u ends with chunk %u in slot %u, where chunk %u belongs",
             rank, cell->chunk, slot, wanted->chunk);
    } else if (wanted->set == n) {
        note(player, key, slot,
             "rank %u ends with chunk %u in slot %u, but without the addend of rank %u", rank,
             wanted->chunk, slot, rank_sets_lacks(&player->sets, cell->set));
    } else {
        note(player, key, slot,
             "rank %u ends with chunk %u of rank %u in slot %u, where that of rank %u belongs",
             rank, cell->chunk, cell->set, slot, wanted->set);
    }
}

void player_end(struct player *player)
{
    uint32_t n = player->schedule->rank_count;
    for (uint32_t s = 0; s < player->slot_count; s++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t slot = player->slots[s];
            struct incoming wanted = asked(player->schedule, rank, slot);
            const struct cell *cell = &player->cells[(size_t)s * n + rank];
            if (wanted.chunk != WEFT_NONE &&
                (cell->chunk != wanted.chunk || cell->set != wanted.set)) {
                note_missing(player, rank, slot, cell, &wanted);
            }
        }
    }
}
