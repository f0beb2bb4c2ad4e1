// SPDX-License-Identifier: Apache-2.0
// StragglAR's rounds after the last exchange: a greedy matching a round, against a deadline.
//
// In a round every rank sends one chunk that it holds and gets one that it lacks. For given numbers
// of copies x[c] the senders' side and the receivers' side are two matchings between ranks and
// chunks that know nothing of each other: any sender of c may serve any receiver of c. So chunks
// take copies one by one, each an alternating path over the few chunks in flight on either side:
// first what the deadline asks for, tightest chunk first, then whatever fits.

#include "stragglar.h"

#include <string.h>

#define WORD_BITS 64u

// One side of a round's matching: which ranks are free, which are matched to a chunk in flight.
struct side {
    uint64_t *free;
    uint64_t **matched; // [flight]
};

struct flight {
    uint32_t chunk;
    uint32_t holders; // healthy
    uint32_t copies;  // in this round
    uint64_t *held;   // healthy ranks, and the straggler, bit m
    uint64_t *lacked;
};

struct spread {
    uint32_t m;
    uint32_t word_count;
    uint32_t deadline; // rounds in all
    struct weft_rng rng;
    uint32_t flight_count;
    uint32_t flight_max;
    struct flight *flights; // oldest first
    struct side send;
    struct side receive;
    uint32_t *parent; // of the search for a path, by flight
    uint32_t *through;
    uint32_t *queue;
    uint32_t *order;
    uint32_t move_count;
    uint32_t move_max;
    struct stragglar_move *moves;
};

static bool has_bit(const uint64_t *set, uint32_t bit)
{
    return set[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

static void set_bit(uint64_t *set, uint32_t bit)
{
    set[bit / WORD_BITS] |= 1ull << bit % WORD_BITS;
}

static void clear_bit(uint64_t *set, uint32_t bit)
{
    set[bit / WORD_BITS] &= ~(1ull << bit % WORD_BITS);
}

// A member of both sets, the first from a random word and bit on; WEFT_NONE if there is none.
static uint32_t any_of(struct spread *spread, const uint64_t *a, const uint64_t *b)
{
    uint32_t words = spread->word_count;
    uint32_t first = weft_rng_below(&spread->rng, words);
    uint32_t shift = weft_rng_below(&spread->rng, WORD_BITS);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t w = first + i < words ? first + i : first + i - words;
        uint64_t both = a[w] & b[w];
        if (both != 0) {
            uint64_t high = both >> shift << shift;
            return w * WORD_BITS + (uint32_t)__builtin_ctzll(high != 0 ? high : both);
        }
    }
    return WEFT_NONE;
}

// The set that a side may match to a flight.
static uint64_t *fitting(const struct spread *spread, const struct side *side, uint32_t f)
{
    return side == &spread->send ? spread->flights[f].held : spread->flights[f].lacked;
}

// A path that gives flight `f` one more rank of this side: the flight that ends it and that
// flight's free rank, parents towards `f`. False: none.
static bool find_path(struct spread *spread, const struct side *side, uint32_t f, uint32_t *end,
                      uint32_t *rank)
{
    for (uint32_t i = 0; i < spread->flight_count; i++) {
        spread->parent[i] = WEFT_NONE;
    }
    uint32_t queued = 1;
    spread->queue[0] = f;
    spread->parent[f] = f;
    for (uint32_t q = 0; q < queued; q++) {
        uint32_t at = spread->queue[q];
        const uint64_t *fits = fitting(spread, side, at);
        uint32_t found = any_of(spread, side->free, fits);
        if (found != WEFT_NONE) {
            *end = at;
            *rank = found;
            return true;
        }
        for (uint32_t next = 0; next < spread->flight_count; next++) {
            if (spread->parent[next] != WEFT_NONE) {
                continue;
            }
            uint32_t moved = any_of(spread, side->matched[next], fits);
            if (moved != WEFT_NONE) {
                spread->parent[next] = at;
                spread->through[next] = moved; // goes from `next` to `at`
                spread->queue[queued++] = next;
            }
        }
    }
    return false;
}

static void follow_path(struct spread *spread, struct side *side, uint32_t f, uint32_t end,
                        uint32_t rank)
{
    clear_bit(side->free, rank);
    set_bit(side->matched[end], rank);
    while (end != f) {
        uint32_t at = spread->parent[end];
        clear_bit(side->matched[end], spread->through[end]);
        set_bit(side->matched[at], spread->through[end]);
        end = at;
    }
}

// One more copy of a flight this round. False: one side cannot.
static bool add_copy(struct spread *spread, uint32_t f)
{
    uint32_t end;
    uint32_t rank;
    uint32_t receive_end;
    uint32_t receive_rank;
    if (!find_path(spread, &spread->receive, f, &receive_end, &receive_rank) ||
        !find_path(spread, &spread->send, f, &end, &rank)) {
        return false;
    }
    follow_path(spread, &spread->send, f, end, rank);
    // The path of the receivers again: the search for the other has overwritten it.
    bool again = find_path(spread, &spread->receive, f, &receive_end, &receive_rank);
    WEFT_ASSERT(again);
    follow_path(spread, &spread->receive, f, receive_end, receive_rank);
    spread->flights[f].copies++;
    return true;
}

// ---- a round ----

static struct flight *add_flight(struct spread *spread, uint32_t chunk)
{
    WEFT_ASSERT(spread->flight_count < spread->flight_max);
    struct flight *flight = &spread->flights[spread->flight_count++];
    size_t bytes = sizeof(uint64_t) * spread->word_count;
    memset(flight->held, 0, bytes);
    memset(flight->lacked, 0, bytes);
    flight->chunk = chunk;
    flight->holders = 0;
    flight->copies = 0;
    for (uint32_t r = 0; r < spread->m; r++) {
        set_bit(flight->lacked, r);
    }
    return flight;
}

static void give(struct flight *flight, uint32_t rank)
{
    set_bit(flight->held, rank);
    clear_bit(flight->lacked, rank);
    flight->holders++;
}

// Copies that a flight must make in round `t`, so that doubling can end it by the deadline.
static uint32_t copies_due(const struct spread *spread, const struct flight *flight, uint32_t t)
{
    uint32_t left = spread->deadline - t - 1;
    uint64_t all = (uint64_t)spread->m + 1; // the straggler sends, too
    uint64_t after = left > 31 ? 1 : (all + (1ull << left) - 1) >> left;
    uint64_t now = (uint64_t)flight->holders + 1;
    return after > now ? (uint32_t)(after - now) : 0;
}

static void ready_sides(struct spread *spread)
{
    size_t bytes = sizeof(uint64_t) * spread->word_count;
    memset(spread->send.free, 0, bytes);
    for (uint32_t r = 0; r < spread->m; r++) {
        set_bit(spread->send.free, r);
    }
    memcpy(spread->receive.free, spread->send.free, bytes);
    set_bit(spread->send.free, spread->m);
    for (uint32_t f = 0; f < spread->flight_count; f++) {
        memset(spread->send.matched[f], 0, bytes);
        memset(spread->receive.matched[f], 0, bytes);
        spread->flights[f].copies = 0;
    }
}

// The youngest have the least time for what they still have to double.
static bool match_due(struct spread *spread, uint32_t t)
{
    for (uint32_t i = spread->flight_count; i-- > 0;) {
        uint32_t due = copies_due(spread, &spread->flights[i], t);
        while (spread->flights[i].copies < due) {
            if (!add_copy(spread, i)) {
                return false;
            }
        }
    }
    return true;
}

// The youngest first here, too: their copies are what later rounds can send.
static void match_more(struct spread *spread)
{
    for (uint32_t f = spread->flight_count; f-- > 0;) {
        while (add_copy(spread, f)) {
        }
    }
}

// Pairs senders and receivers of each flight and carries the copies out.
static void carry_out(struct spread *spread, uint32_t t)
{
    for (uint32_t f = 0; f < spread->flight_count; f++) {
        struct flight *flight = &spread->flights[f];
        uint32_t from = 0;
        uint32_t to = 0;
        for (uint32_t i = 0; i < flight->copies; i++, from++, to++) {
            while (!has_bit(spread->send.matched[f], from)) {
                from++;
            }
            while (!has_bit(spread->receive.matched[f], to)) {
                to++;
            }
            WEFT_ASSERT(spread->move_count < spread->move_max);
            spread->moves[spread->move_count++] =
                (struct stragglar_move){.round = t, .chunk = flight->chunk, .from = from, .to = to};
            give(flight, to);
        }
    }
    uint32_t kept = 0;
    for (uint32_t f = 0; f < spread->flight_count; f++) {
        if (spread->flights[f].holders < spread->m) {
            struct flight swapped = spread->flights[kept];
            spread->flights[kept++] = spread->flights[f];
            spread->flights[f] = swapped;
        }
    }
    spread->flight_count = kept;
}

static bool run_round(struct spread *spread, uint32_t t)
{
    ready_sides(spread);
    if (!match_due(spread, t)) {
        return false;
    }
    match_more(spread);
    carry_out(spread, t);
    return true;
}

// ---- all rounds ----

// Takes memory for all rounds and sets up the chunks that are in flight, that is not yet
// everywhere, when the last exchange has been: who holds them follows from the pattern's ages.
static void begin_spread(struct spread *spread, const struct stragglar_plan *plan,
                         struct weft_arena *arena)
{
    uint32_t m = plan->healthy_count;
    uint32_t words = m / WORD_BITS + 1;
    uint32_t most = spread->flight_max;
    spread->word_count = words;
    spread->flights = WEFT_NEW(arena, struct flight, most);
    spread->send.matched = WEFT_NEW(arena, uint64_t *, most);
    spread->receive.matched = WEFT_NEW(arena, uint64_t *, most);
    for (uint32_t f = 0; f < most; f++) {
        spread->flights[f].held = WEFT_NEW(arena, uint64_t, words);
        spread->flights[f].lacked = WEFT_NEW(arena, uint64_t, words);
        spread->send.matched[f] = WEFT_NEW(arena, uint64_t, words);
        spread->receive.matched[f] = WEFT_NEW(arena, uint64_t, words);
    }
    spread->send.free = WEFT_NEW(arena, uint64_t, words);
    spread->receive.free = WEFT_NEW(arena, uint64_t, words);
    spread->parent = WEFT_NEW(arena, uint32_t, most);
    spread->through = WEFT_NEW(arena, uint32_t, most);
    spread->queue = WEFT_NEW(arena, uint32_t, most);
    // What the pattern has done by the last exchange.
    uint32_t chunks = plan->chunk_count;
    for (uint32_t c = 0; c < chunks; c++) {
        if (c + plan->pattern.age_last < chunks) {
            continue;
        }
        struct flight *flight = add_flight(spread, c);
        set_bit(flight->held, m);
        for (uint32_t y = 0; y < m; y++) {
            if (c + plan->pattern.age[y] < chunks) {
                give(flight, (c % m + y) % m);
            }
        }
    }
}

// Runs rounds K to round_count - 1, each a matching for what the deadline asks for and then for
// whatever fits. It fails as soon as a chunk can no longer meet the deadline; nothing is published
// then. O(rounds * chunks in flight * (m / 64 + chunks in flight)).
bool stragglar_spread(struct stragglar_plan *plan, uint32_t round_count, uint64_t seed,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t m = plan->healthy_count;
    uint32_t flights = plan->pattern.age_last;
    flights = flights < plan->chunk_count ? flights : plan->chunk_count;
    uint64_t most = (uint64_t)flights * m;
    struct spread spread = {
        .m = m,
        .deadline = round_count,
        .flight_max = flights,
        .move_max = (uint32_t)most,
        .moves = WEFT_NEW_RAW(&scratch, struct stragglar_move, most),
    };
    weft_rng_init(&spread.rng, seed);
    begin_spread(&spread, plan, &scratch);
    for (uint32_t t = plan->chunk_count; t < round_count; t++) {
        if (!run_round(&spread, t)) {
            return false;
        }
    }
    if (spread.flight_count > 0) {
        return false;
    }
    struct stragglar_move *moves = WEFT_NEW_RAW(arena, struct stragglar_move, spread.move_count);
    memcpy(moves, spread.moves, sizeof *moves * spread.move_count);
    plan->moves = moves;
    plan->move_count = spread.move_count;
    plan->round_count = round_count;
    return true;
}
