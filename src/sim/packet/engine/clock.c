// SPDX-License-Identifier: Apache-2.0
// Two timing wheels and a heap of far events (after Varghese and Lauck; see clock.h): filing an
// event, and sorting a bucket when its time has come.
//
// An event is filed in O(1) into the wheel that reaches its time, O(log n) into the heap. It moves
// at most twice, into the fine wheel and from there into the bucket that is due. That bucket, of
// some twenty events, is sorted by insertion, a longer one by merging sorted runs; both are stable,
// so that equal times stay in order of filing.

#include "clock.h"

#include "weft/base/heap.h"

#include <string.h>

#define INSERTION_MAX 24u
#define CHUNKS_MAX ((uint32_t)1 << 24)

_Static_assert(sizeof(struct clock_chunk) == 128, "a chunk fills two cache lines");

void clock_init(struct packet_clock *clock, uint64_t width_ps, struct weft_arena *arena)
{
    unsigned shift = 0;
    while (shift < 30 && ((uint64_t)2 << shift) <= width_ps) {
        shift++;
    }
    *clock = (struct packet_clock){
        .shift = shift,
        .chunks = WEFT_NEW_RAW(arena, struct clock_chunk, CHUNKS_MAX),
        .chunk_free = WEFT_NONE,
        .fine = {.last = WEFT_NEW_RAW(arena, uint32_t, CLOCK_FINE),
                 .bits = WEFT_NEW(arena, uint64_t, CLOCK_FINE / 64)},
        .coarse = {.last = WEFT_NEW_RAW(arena, uint32_t, CLOCK_COARSE),
                   .bits = WEFT_NEW(arena, uint64_t, CLOCK_COARSE / 64)},
        .due_bucket = UINT64_MAX,
        .arena = arena,
    };
    memset(clock->fine.last, 0xff, CLOCK_FINE * sizeof(uint32_t)); // WEFT_NONE
    memset(clock->coarse.last, 0xff, CLOCK_COARSE * sizeof(uint32_t));
}

// ---- the heap of far events ----

static inline bool far_before(const struct clock_far *a, const struct clock_far *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->order < b->order);
}

WEFT_HEAP(far, struct clock_far_heap, struct clock_far, 2, far_before, weft_heap_no_places)

static void push_far(struct packet_clock *clock, uint32_t id, uint64_t time_ps)
{
    if (clock->far.count == clock->far_room) {
        uint32_t room = clock->far_room == 0 ? 64 : 2 * clock->far_room;
        struct clock_far *wider = WEFT_NEW_RAW(clock->arena, struct clock_far, room);
        if (clock->far.count > 0) {
            memcpy(wider, clock->far.entries, clock->far.count * sizeof(*wider));
        }
        clock->far.entries = wider;
        clock->far_room = room;
    }
    far_push(&clock->far, (struct clock_far){time_ps, clock->far_order++, id});
}

// ---- filing ----

static uint32_t take_chunk(struct packet_clock *clock)
{
    uint32_t chunk = clock->chunk_free;
    if (chunk != WEFT_NONE) {
        clock->chunk_free = clock->chunks[chunk].next;
        return chunk;
    }
    WEFT_ASSERT(clock->chunk_count < CHUNKS_MAX);
    return clock->chunk_count++;
}

// Files an event in a bucket. The wheel comes by value: its addresses do not change.
static void append(struct packet_clock *clock, struct clock_wheel wheel, uint32_t bucket,
                   uint32_t id, uint64_t time_ps)
{
    uint32_t last = wheel.last[bucket];
    if (last == WEFT_NONE || clock->chunks[last].count == CLOCK_CHUNK) {
        uint32_t chunk = take_chunk(clock);
        clock->chunks[chunk].next = last;
        clock->chunks[chunk].count = 0;
        wheel.last[bucket] = chunk;
        wheel.bits[bucket / 64] |= (uint64_t)1 << (bucket % 64);
        last = chunk;
    }
    struct clock_chunk *chunk = &clock->chunks[last];
    chunk->time_ps[chunk->count] = time_ps;
    chunk->id[chunk->count++] = id;
}

static void file_fine(struct packet_clock *clock, uint32_t id, uint64_t time_ps)
{
    uint32_t bucket = (uint32_t)(time_ps >> clock->shift) & (CLOCK_FINE - 1);
    append(clock, clock->fine, bucket, id, time_ps);
}

// Takes a bucket's chunks out, the first filled at the head.
static uint32_t take_bucket(struct packet_clock *clock, struct clock_wheel wheel, uint32_t bucket)
{
    uint32_t first = WEFT_NONE;
    for (uint32_t chunk = wheel.last[bucket]; chunk != WEFT_NONE;) {
        uint32_t next = clock->chunks[chunk].next;
        clock->chunks[chunk].next = first;
        first = chunk;
        chunk = next;
    }
    wheel.last[bucket] = WEFT_NONE;
    wheel.bits[bucket / 64] &= ~((uint64_t)1 << (bucket % 64));
    return first;
}

// Gives a chunk back and returns the one behind it.
static uint32_t drop_chunk(struct packet_clock *clock, uint32_t chunk)
{
    uint32_t next = clock->chunks[chunk].next;
    clock->chunks[chunk].next = clock->chunk_free;
    clock->chunk_free = chunk;
    return next;
}

// Room for `more` events behind the ones that are due.
static void widen_due(struct packet_clock *clock, uint32_t more)
{
    if (clock->due_count + more <= clock->due_room) {
        return;
    }
    uint32_t room = clock->due_room == 0 ? 256 : 2 * clock->due_room;
    while (room < clock->due_count + more) {
        room *= 2;
    }
    struct clock_due *wider = WEFT_NEW_RAW(clock->arena, struct clock_due, room);
    if (clock->due_count > 0) {
        memcpy(wider, clock->due, clock->due_count * sizeof(*wider));
    }
    clock->due = wider;
    clock->due_room = room;
}

static void insert_due(struct packet_clock *clock, uint32_t id, uint64_t time_ps)
{
    widen_due(clock, 1);
    uint32_t place = clock->due_count++;
    while (place > clock->due_next && clock->due[place - 1].time_ps > time_ps) {
        clock->due[place] = clock->due[place - 1];
        place--;
    }
    clock->due[place] = (struct clock_due){time_ps, id};
}

void clock_file(struct packet_clock *clock, uint32_t id, uint64_t time_ps)
{
    WEFT_ASSERT(time_ps >= clock->now_ps);
    clock->pending_count++;
    uint64_t bucket = time_ps >> clock->shift;
    if (bucket == clock->due_bucket) {
        insert_due(clock, id, time_ps);
        return;
    }
    uint64_t round = bucket >> CLOCK_FINE_BITS;
    if (round == clock->round) {
        file_fine(clock, id, time_ps);
    } else if (round - clock->round < CLOCK_COARSE) {
        uint32_t slot = (uint32_t)round & (CLOCK_COARSE - 1);
        append(clock, clock->coarse, slot, id, time_ps);
    } else if (time_ps < CLOCK_END_PS) {
        push_far(clock, id, time_ps);
    } else {
        clock->overflow = true;
    }
}

// ---- taking ----

// The first set bit at `from` or after it, or `count`.
static uint32_t next_bit(const uint64_t *bits, uint32_t from, uint32_t count)
{
    for (uint32_t word = from / 64; word < count / 64; word++) {
        uint64_t left = bits[word];
        if (word == from / 64) {
            left &= ~(uint64_t)0 << (from % 64);
        }
        if (left != 0) {
            return word * 64 + (uint32_t)__builtin_ctzll(left);
        }
    }
    return count;
}

// Stable, so that equals stay in order of filing.
static void sort_due(struct packet_clock *clock)
{
    struct clock_due *due = clock->due;
    uint32_t count = clock->due_count;
    for (uint32_t start = 0; start < count; start += INSERTION_MAX) {
        uint32_t end = start + INSERTION_MAX < count ? start + INSERTION_MAX : count;
        for (uint32_t i = start + 1; i < end; i++) {
            struct clock_due event = due[i];
            uint32_t place = i;
            while (place > start && due[place - 1].time_ps > event.time_ps) {
                due[place] = due[place - 1];
                place--;
            }
            due[place] = event;
        }
    }
    if (count <= INSERTION_MAX) {
        return;
    }
    struct weft_arena scratch = *clock->arena;
    struct clock_due *other = WEFT_NEW_RAW(&scratch, struct clock_due, count);
    for (uint32_t width = INSERTION_MAX; width < count; width *= 2) {
        for (uint32_t low = 0; low < count; low += 2 * width) {
            uint32_t middle = low + width < count ? low + width : count;
            uint32_t high = low + 2 * width < count ? low + 2 * width : count;
            uint32_t a = low;
            uint32_t b = middle;
            for (uint32_t i = low; i < high; i++) {
                bool left = a < middle && (b >= high || due[a].time_ps <= due[b].time_ps);
                other[i] = due[left ? a++ : b++];
            }
        }
        memcpy(due, other, count * sizeof(*due));
    }
}

// Makes a fine bucket the one that is played.
static void open_bucket(struct packet_clock *clock, uint32_t bucket)
{
    clock->due_next = 0;
    clock->due_count = 0;
    clock->due_bucket = (clock->round << CLOCK_FINE_BITS) + bucket;
    uint32_t first = take_bucket(clock, clock->fine, bucket);
    for (uint32_t chunk = first; chunk != WEFT_NONE; chunk = drop_chunk(clock, chunk)) {
        const struct clock_chunk *events = &clock->chunks[chunk];
        widen_due(clock, events->count);
        for (uint32_t i = 0; i < events->count; i++) {
            clock->due[clock->due_count++] = (struct clock_due){events->time_ps[i], events->id[i]};
        }
    }
    sort_due(clock);
}

// Moves to a round: its far events, which were filed first, then its coarse ones, become fine.
static void begin_round(struct packet_clock *clock, uint64_t round)
{
    unsigned round_shift = clock->shift + CLOCK_FINE_BITS;
    clock->round = round;
    while (clock->far.count > 0 && clock->far.entries[0].time_ps >> round_shift == round) {
        uint64_t time_ps = clock->far.entries[0].time_ps;
        file_fine(clock, far_pop(&clock->far).id, time_ps);
    }
    uint32_t slot = (uint32_t)round & (CLOCK_COARSE - 1);
    uint32_t first = take_bucket(clock, clock->coarse, slot);
    for (uint32_t chunk = first; chunk != WEFT_NONE; chunk = drop_chunk(clock, chunk)) {
        const struct clock_chunk *events = &clock->chunks[chunk];
        for (uint32_t i = 0; i < events->count; i++) {
            file_fine(clock, events->id[i], events->time_ps[i]);
        }
    }
}

// The next round with an event; UINT64_MAX if there is none.
static uint64_t find_round(const struct packet_clock *clock)
{
    unsigned round_shift = clock->shift + CLOCK_FINE_BITS;
    uint64_t best = UINT64_MAX;
    if (clock->far.count > 0) {
        best = clock->far.entries[0].time_ps >> round_shift;
    }
    uint32_t here = (uint32_t)(clock->round + 1) & (CLOCK_COARSE - 1);
    uint32_t slot = next_bit(clock->coarse.bits, here, CLOCK_COARSE);
    uint64_t ahead = slot - here;
    if (slot == CLOCK_COARSE) {
        slot = next_bit(clock->coarse.bits, 0, CLOCK_COARSE);
        ahead = slot == CLOCK_COARSE ? UINT64_MAX : (uint64_t)CLOCK_COARSE - here + slot;
    }
    if (ahead != UINT64_MAX && clock->round + 1 + ahead < best) {
        best = clock->round + 1 + ahead;
    }
    return best;
}

// Moves to the next round with an event, if it begins by until_ps. Something is pending beyond this
// one.
static bool next_round(struct packet_clock *clock, uint64_t until_ps)
{
    uint64_t round = find_round(clock);
    WEFT_ASSERT(round != UINT64_MAX);
    if (round > until_ps >> (clock->shift + CLOCK_FINE_BITS)) {
        return false;
    }
    begin_round(clock, round);
    return true;
}

// The next fine bucket of this round with events; CLOCK_FINE if there is none.
static uint32_t find_bucket(const struct packet_clock *clock)
{
    uint32_t from = 0;
    if (clock->due_bucket != UINT64_MAX && clock->due_bucket >> CLOCK_FINE_BITS == clock->round) {
        from = (uint32_t)clock->due_bucket & (CLOCK_FINE - 1);
    }
    return next_bit(clock->fine.bits, from, CLOCK_FINE);
}

uint64_t clock_next_ps(const struct packet_clock *clock)
{
    if (clock->due_next < clock->due_count) {
        return clock->due[clock->due_next].time_ps;
    }
    if (clock->pending_count == 0) {
        return UINT64_MAX;
    }
    uint32_t bucket = find_bucket(clock);
    uint64_t first = bucket < CLOCK_FINE ? (clock->round << CLOCK_FINE_BITS) + bucket
                                         : find_round(clock) << CLOCK_FINE_BITS;
    return first << clock->shift;
}

uint32_t clock_take(struct packet_clock *clock, uint64_t until_ps)
{
    while (clock->due_next == clock->due_count) {
        if (clock->pending_count == 0 || clock->overflow) {
            return WEFT_NONE;
        }
        uint32_t bucket = find_bucket(clock);
        if (bucket < CLOCK_FINE) {
            uint64_t begins = ((clock->round << CLOCK_FINE_BITS) + bucket) << clock->shift;
            if (begins > until_ps) {
                return WEFT_NONE;
            }
            open_bucket(clock, bucket);
        } else if (!next_round(clock, until_ps)) {
            return WEFT_NONE;
        }
    }
    const struct clock_due *first = &clock->due[clock->due_next];
    if (first->time_ps > until_ps) {
        return WEFT_NONE;
    }
    clock->now_ps = first->time_ps;
    clock->pending_count--;
    clock->due_next++;
    return first->id;
}

// ---- all at once ----

// Moves the events of a wheel's buckets behind those of the list; returns how many it has now.
static uint32_t drain_wheel(struct packet_clock *clock, struct clock_wheel wheel, uint32_t buckets,
                            struct clock_due *events, uint32_t count)
{
    for (uint32_t bucket = next_bit(wheel.bits, 0, buckets); bucket < buckets;
         bucket = next_bit(wheel.bits, bucket, buckets)) {
        uint32_t first = take_bucket(clock, wheel, bucket);
        for (uint32_t chunk = first; chunk != WEFT_NONE; chunk = drop_chunk(clock, chunk)) {
            const struct clock_chunk *full = &clock->chunks[chunk];
            for (uint32_t i = 0; i < full->count; i++) {
                events[count++] = (struct clock_due){full->time_ps[i], full->id[i]};
            }
        }
    }
    return count;
}

// Of events at one time those of the heap were filed before those of the coarse wheel, and the fine
// wheel has times of its own.
uint32_t clock_drain(struct packet_clock *clock, struct clock_due **events,
                     struct weft_arena *arena)
{
    struct clock_due *all = WEFT_NEW_RAW(arena, struct clock_due, clock->pending_count + 1);
    uint32_t count = 0;
    while (clock->due_next < clock->due_count) {
        all[count++] = clock->due[clock->due_next++];
    }
    clock->due_next = 0;
    clock->due_count = 0;
    count = drain_wheel(clock, clock->fine, CLOCK_FINE, all, count);
    while (clock->far.count > 0) {
        uint64_t time_ps = clock->far.entries[0].time_ps;
        all[count++] = (struct clock_due){time_ps, far_pop(&clock->far).id};
    }
    count = drain_wheel(clock, clock->coarse, CLOCK_COARSE, all, count);
    WEFT_ASSERT(count == clock->pending_count || clock->overflow);
    clock->pending_count = 0;
    *events = all;
    return count;
}

void clock_rewind(struct packet_clock *clock, uint64_t time_ps)
{
    WEFT_ASSERT(clock->pending_count == 0);
    clock->now_ps = time_ps;
    clock->round = time_ps >> (clock->shift + CLOCK_FINE_BITS);
    clock->due_bucket = UINT64_MAX;
    clock->due_next = 0;
    clock->due_count = 0;
}
