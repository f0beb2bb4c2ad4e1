// SPDX-License-Identifier: Apache-2.0
// The greedy planner for any fabric: whenever a link falls free or its sender receives something,
// it takes a chunk that the far end lacks and that the fewest ranks have, as in TACOS (Won et al.,
// MICRO 2024), with the time running on by events instead of fixed steps. Behind switches a
// transfer takes a whole path.

#include "switched.h"
#include "synthesize.h"

#include <string.h>

// So many candidate chunks are compared for a hop. TACOS compares all; 64, a word of the sets,
// keeps a hop at 1 to 2 us of CPU (docs/synthesis.md, "Limits") and is the rarest of a random
// sample.
#define WINDOW 64u
// Marks the event of a hop whose link falls free, beside that of its arrival.
#define FREES 0x80000000u

// Which receivers behind switches come first: those the fewest links away, the next ids, or all in
// rotation. None is best everywhere: tries take them one after the other.
enum order { ORDER_NEAR, ORDER_ROTATING, ORDER_NEXT, ORDER_COUNT };

struct spread {
    const struct weft_synth *synth;
    uint32_t chunk_count;
    uint32_t word_count;     // of a set of chunks
    uint64_t *held;          // [rank][word]: here
    uint64_t *claimed;       // [rank][word]: here or on the way
    uint32_t *claims;        // of each chunk: how many ranks have claimed it
    uint64_t *free_ps;       // of each link
    uint32_t *next_receiver; // of each link: the receiver that it tries first
    struct weft_switched switched;
    enum order order;
    struct weft_synth_heap heap; // ids: hops that arrive, or FREES + hop
    struct weft_synth_run *run;
    struct weft_rng rng;
    uint32_t dirty_count;
    uint32_t *dirty; // links to be tried now
    bool *is_dirty;
};

static void mark(struct spread *spread, uint32_t link)
{
    if (!spread->is_dirty[link]) {
        spread->is_dirty[link] = true;
        spread->dirty[spread->dirty_count++] = link;
    }
}

static void mark_all_of(struct spread *spread, uint32_t rank)
{
    const struct weft_fabric *fabric = spread->synth->fabric;
    for (uint32_t l = fabric->first[rank]; l < fabric->first[rank + 1]; l++) {
        mark(spread, l);
    }
}

// A chunk that `from` has and `to` lacks, of the fewest claims among some; WEFT_NONE if none.
static uint32_t choose(struct spread *spread, uint32_t from, uint32_t to)
{
    const uint64_t *held = spread->held + (size_t)from * spread->word_count;
    const uint64_t *claimed = spread->claimed + (size_t)to * spread->word_count;
    uint32_t best = WEFT_NONE;
    uint32_t seen = 0;
    uint32_t ties = 0;
    uint32_t word = weft_rng_below(&spread->rng, spread->word_count);
    for (uint32_t i = 0; i < spread->word_count && seen < WINDOW; i++) {
        uint64_t bits = held[word] & ~claimed[word];
        while (bits != 0) {
            uint32_t chunk = word * 64 + (uint32_t)__builtin_ctzll(bits);
            bits &= bits - 1;
            seen++;
            bool better = best == WEFT_NONE || spread->claims[chunk] < spread->claims[best];
            bool equal = !better && spread->claims[chunk] == spread->claims[best];
            ties = better ? 1 : ties + (equal ? 1 : 0);
            if (better || (equal && weft_rng_below(&spread->rng, ties) == 0)) {
                best = chunk;
            }
        }
        word = word + 1 == spread->word_count ? 0 : word + 1;
    }
    return best;
}

static bool has_any(const struct spread *spread, uint32_t from, uint32_t to)
{
    const uint64_t *held = spread->held + (size_t)from * spread->word_count;
    const uint64_t *claimed = spread->claimed + (size_t)to * spread->word_count;
    for (uint32_t word = 0; word < spread->word_count; word++) {
        if ((held[word] & ~claimed[word]) != 0) {
            return true;
        }
    }
    return false;
}

static void start(struct spread *spread, const struct weft_synth_sending *sending, uint64_t now_ps)
{
    uint32_t to = sending->to;
    uint32_t chunk = sending->chunk;
    uint32_t from = spread->synth->fabric->links[sending->link].from;
    uint32_t hop = spread->run->hop_count++;
    spread->run->hops[hop] = (struct weft_synth_hop){
        .from = from,
        .to = to,
        .from_slot = chunk,
        .to_slot = chunk,
        .link = sending->link,
        .start_ps = now_ps,
        .end_ps = now_ps + sending->arrive_ps,
    };
    spread->claimed[(size_t)to * spread->word_count + chunk / 64] |= 1ull << (chunk % 64);
    spread->claims[chunk]++;
    spread->free_ps[sending->link] = now_ps + sending->busy_ps;
    if (sending->busy_ps != sending->arrive_ps) {
        weft_synth_push(&spread->heap,
                        (struct weft_synth_event){now_ps + sending->busy_ps, hop | FREES});
    }
    weft_synth_push(&spread->heap, (struct weft_synth_event){now_ps + sending->arrive_ps, hop});
}

static void try_direct(struct spread *spread, uint32_t link, uint64_t now_ps)
{
    const struct weft_link *via = &spread->synth->fabric->links[link];
    uint32_t chunk = choose(spread, via->from, via->to);
    if (chunk == WEFT_NONE) {
        return;
    }
    struct weft_synth_sending sending = weft_synth_direct(spread->synth, link, chunk);
    start(spread, &sending, now_ps);
}

static bool try_receiver(struct spread *spread, uint32_t link, uint32_t to, uint64_t now_ps)
{
    uint32_t from = spread->synth->fabric->links[link].from;
    if (to == from || !weft_switched_may_end(&spread->switched, to, now_ps)) {
        return false;
    }
    struct weft_switched_path path;
    if (!has_any(spread, from, to) ||
        !weft_switched_find(&path, &spread->switched, link, to, now_ps, &spread->rng)) {
        return false;
    }
    uint32_t chunk = choose(spread, from, to);
    weft_switched_take(&spread->switched, &path, now_ps);
    start(spread, &(struct weft_synth_sending){link, to, chunk, path.busy_ps, path.arrive_ps},
          now_ps);
    return true;
}

// Tries receivers one after the other until one lacks something and has a free path.
static void try_switched(struct spread *spread, uint32_t link, uint64_t now_ps)
{
    uint32_t from = spread->synth->fabric->links[link].from;
    uint32_t n = spread->synth->rank_count;
    uint32_t first = spread->order == ORDER_ROTATING ? spread->next_receiver[link] : from + 1;
    uint32_t hops = 0;
    do {
        uint32_t farther = WEFT_NONE;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = (first + i) % n;
            uint32_t away = weft_switched_hops(&spread->switched, link, to);
            bool now = spread->order == ORDER_NEAR ? away == hops : away != WEFT_NONE;
            if (now && try_receiver(spread, link, to, now_ps)) {
                spread->next_receiver[link] = (to + 1) % n;
                return;
            }
            farther = away != WEFT_NONE && away > hops && away < farther ? away : farther;
        }
        hops = farther;
    } while (spread->order == ORDER_NEAR && hops != WEFT_NONE);
}

// Tries what may now take a chunk, in random order so that no link always comes late.
static void start_links(struct spread *spread, uint64_t now_ps)
{
    const struct weft_fabric *fabric = spread->synth->fabric;
    if (!spread->synth->direct) {
        for (uint32_t rank = 0; rank < spread->synth->rank_count; rank++) {
            mark_all_of(spread, rank);
        }
    }
    if (spread->synth->direct) {
        weft_rng_shuffle(&spread->rng, spread->dirty, spread->dirty_count);
    }
    for (uint32_t i = 0; i < spread->dirty_count; i++) {
        uint32_t link = spread->dirty[i];
        spread->is_dirty[link] = false;
        if (spread->free_ps[link] > now_ps) {
            continue;
        }
        if (fabric->links[link].to < spread->synth->rank_count) {
            try_direct(spread, link, now_ps);
        } else {
            try_switched(spread, link, now_ps);
        }
    }
    spread->dirty_count = 0;
}

static void arrive(struct spread *spread, uint32_t hop)
{
    const struct weft_synth_hop *arrived = &spread->run->hops[hop];
    uint32_t chunk = arrived->to_slot;
    spread->held[(size_t)arrived->to * spread->word_count + chunk / 64] |= 1ull << (chunk % 64);
    spread->run->completion_ps = arrived->end_ps;
    mark_all_of(spread, arrived->to);
    mark(spread, arrived->link);
}

// Takes memory for all hops there can be, gives every chunk to its owner and marks the links that
// have something to send at time 0.
static void begin(struct spread *spread, const uint32_t *owner, struct weft_arena *arena,
                  struct weft_arena *scratch)
{
    const struct weft_synth *synth = spread->synth;
    uint32_t n = synth->rank_count;
    uint32_t links = synth->fabric->link_count;
    size_t hop_max = (size_t)spread->chunk_count * (n - 1);
    spread->held = WEFT_NEW(scratch, uint64_t, (size_t)n * spread->word_count);
    spread->claimed = WEFT_NEW(scratch, uint64_t, (size_t)n * spread->word_count);
    spread->claims = WEFT_NEW(scratch, uint32_t, spread->chunk_count);
    spread->free_ps = WEFT_NEW(scratch, uint64_t, links);
    spread->next_receiver = WEFT_NEW_RAW(scratch, uint32_t, links);
    spread->dirty = WEFT_NEW_RAW(scratch, uint32_t, links);
    spread->is_dirty = WEFT_NEW(scratch, bool, links);
    for (uint32_t l = 0; l < links; l++) {
        spread->next_receiver[l] = (synth->fabric->links[l].from + 1) % n;
    }
    spread->heap.entries = WEFT_NEW_RAW(scratch, struct weft_synth_event, 2 * hop_max);
    spread->run->hops = WEFT_NEW_RAW(arena, struct weft_synth_hop, hop_max);
    for (uint32_t c = 0; c < spread->chunk_count; c++) {
        size_t word = (size_t)owner[c] * spread->word_count + c / 64;
        spread->held[word] |= 1ull << (c % 64);
        spread->claimed[word] |= 1ull << (c % 64);
        mark_all_of(spread, owner[c]);
    }
    weft_switched_init(&spread->switched, synth, scratch);
}

bool weft_synth_spread(struct weft_synth_run *run, const struct weft_synth *synth,
                       const uint32_t *owner, uint32_t chunk_count, uint32_t attempt,
                       const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    *run = (struct weft_synth_run){0};
    struct spread spread = {
        .synth = synth,
        .chunk_count = chunk_count,
        .word_count = (chunk_count + 63) / 64,
        .run = run,
        .order = (enum order)(attempt % ORDER_COUNT),
    };
    weft_rng_init(&spread.rng, weft_hash(environment->seed) + attempt);
    begin(&spread, owner, environment->arena, &scratch);
    start_links(&spread, 0);
    while (spread.heap.count > 0) {
        uint64_t now_ps = spread.heap.entries[0].time_ps;
        while (spread.heap.count > 0 && spread.heap.entries[0].time_ps == now_ps) {
            uint32_t id = weft_synth_pop(&spread.heap).id;
            if ((id & FREES) != 0) {
                mark(&spread, run->hops[id & ~FREES].link);
            } else {
                arrive(&spread, id);
            }
        }
        start_links(&spread, now_ps);
    }
    return run->hop_count == (uint64_t)chunk_count * (synth->rank_count - 1);
}
