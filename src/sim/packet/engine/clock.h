// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_CLOCK_H
#define WEFT_SIM_PACKET_ENGINE_CLOCK_H

// The order of events of the packet engine: a wheel of narrow buckets for what comes soon, a wheel
// of rounds of the first for what comes later, and a heap for the rest (after Varghese and Lauck,
// "Hashed and hierarchical timing wheels", SOSP 1987, with the buckets sorted as they come up).
//
// A bucket is a list of chunks of events, so that a full one is read in a row however its events
// were made. Events come in order of time, and of filing among equals.

#include "weft/base.h"

#define CLOCK_FINE_BITS 14
#define CLOCK_FINE ((uint32_t)1 << CLOCK_FINE_BITS)
#define CLOCK_COARSE_BITS 12
#define CLOCK_COARSE ((uint32_t)1 << CLOCK_COARSE_BITS)

// What an event is of stands in the top bits of its id.
#define CLOCK_KIND_SHIFT 29
#define CLOCK_INDEX_MASK (((uint32_t)1 << CLOCK_KIND_SHIFT) - 1)

#define CLOCK_CHUNK 10u
struct clock_chunk {
    uint32_t next; // the chunk filled before
    uint32_t count;
    uint64_t time_ps[CLOCK_CHUNK];
    uint32_t id[CLOCK_CHUNK];
};

struct clock_due {
    uint64_t time_ps;
    uint32_t id;
};

struct clock_far {
    uint64_t time_ps;
    uint64_t order;
    uint32_t id;
};
// A heap by time and order (weft/base/heap.h).
struct clock_far_heap {
    struct clock_far *entries;
    uint32_t count;
};

// A wheel: events by bucket of time, and which buckets have any.
struct clock_wheel {
    uint32_t *last; // per bucket: its last chunk; WEFT_NONE: it has no events
    uint64_t *bits;
};

struct packet_clock {
    uint64_t now_ps;
    uint64_t round; // of the fine wheel: time >> (shift + CLOCK_FINE_BITS)
    unsigned shift; // a fine bucket is 2^shift ps
    uint32_t pending_count;
    struct clock_chunk *chunks;
    uint32_t chunk_free; // a list
    uint32_t chunk_count;
    struct clock_wheel fine;
    struct clock_wheel coarse;
    struct clock_far_heap far;
    uint32_t far_room;
    uint64_t far_order;
    // The bucket that is being played, sorted; what is filed into it goes to its place.
    struct clock_due *due;
    uint32_t due_next;
    uint32_t due_count;
    uint32_t due_room;
    uint64_t due_bucket; // time >> shift; none: UINT64_MAX
    bool overflow;       // an event was beyond what simulated time holds, and is forgotten
    struct weft_arena *arena;
};

// Buckets of about `width_ps`. The arena must live as long.
void clock_init(struct packet_clock *clock, uint64_t width_ps, struct weft_arena *arena);
// No event comes at this time or later.
#define CLOCK_END_PS ((uint64_t)1 << 62)
// Files an event at time_ps >= now_ps; from CLOCK_END_PS on it sets `overflow`, and nothing is
// taken out any more.
void clock_file(struct packet_clock *clock, uint32_t id, uint64_t time_ps);
// Takes out the first event and moves now_ps to it; WEFT_NONE if none comes before until_ps or at
// it.
uint32_t clock_take(struct packet_clock *clock, uint64_t until_ps);

// No event comes before this time; UINT64_MAX if none is filed. It is earlier than the first event
// by less than a bucket, or by less than a round where the fine wheel is empty.
uint64_t clock_next_ps(const struct packet_clock *clock);

// Takes out all events, those of one instant in the order of filing, into `arena`; *events has
// pending_count entries and one to spare. What is filed afterwards comes as it would have in an
// empty clock. O(events), and O(log n) for each of the heap.
uint32_t clock_drain(struct packet_clock *clock, struct clock_due **events,
                     struct weft_arena *arena);
// An empty clock begins anew at time_ps, which may be earlier than now_ps.
void clock_rewind(struct packet_clock *clock, uint64_t time_ps);

// The event `ahead` places behind the next one, if it is known already, else WEFT_NONE: to fetch
// what it will touch.
static inline uint32_t clock_peek(const struct packet_clock *clock, uint32_t ahead)
{
    uint32_t place = clock->due_next + ahead;
    return place < clock->due_count ? clock->due[place].id : WEFT_NONE;
}

#endif
