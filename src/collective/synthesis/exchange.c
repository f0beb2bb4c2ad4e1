// SPDX-License-Identifier: Apache-2.0
// All-to-all on any fabric, in the time-expanded manner of TACOS (Won et al., MICRO 2024), which
// has no all-to-all of its own: every chunk walks from its source to its own destination and comes
// nearer with every hop. A link that falls free takes, of the chunks that wait at its sender and
// would come nearer, one with the longest way left. Behind switches a chunk takes a whole path.
// Ranks between source and destination keep chunks in scratch slots. O(hops * window + events *
// links).

#include "switched.h"
#include "synthesize.h"

#include <string.h>

// So many waiting destinations are compared for a hop; the same as in greedy.c, where the choice is
// explained.
#define WINDOW 64u
#define FREES 0x80000000u // marks the event of a link that falls free

// Chunks are numbered by (source, destination, k). Those that wait at a node with one destination
// form a list.
struct exchange {
    const struct weft_synth *synth;
    uint32_t chunk_count;     // all
    uint32_t word_count;      // of a set of ranks
    const uint16_t *distance; // [rank][rank], hops
    uint64_t *waiting;        // [rank][word]: destinations of the chunks that wait there
    uint32_t *head;           // [rank][destination]
    uint32_t *next;           // of each chunk
    uint32_t *slot;           // of each chunk, where it is
    uint32_t *slots_used;     // of each rank, scratch
    uint32_t input_slots;
    uint64_t *free_ps;
    uint32_t *next_receiver; // of each link to a switch: the receiver that it tries first
    struct weft_switched switched;
    struct weft_synth_heap heap; // ids: hops that arrive, or FREES + hop
    uint32_t *hop_chunk;
    struct weft_synth_run *run;
    uint32_t arrived_count;
    struct weft_rng rng;
};

static uint32_t destination_of(const struct exchange *exchange, uint32_t chunk)
{
    return chunk / exchange->synth->chunk_factor % exchange->synth->rank_count;
}

static uint32_t source_of(const struct exchange *exchange, uint32_t chunk)
{
    return chunk / exchange->synth->chunk_factor / exchange->synth->rank_count;
}

static void wait(struct exchange *exchange, uint32_t rank, uint32_t chunk)
{
    uint32_t to = destination_of(exchange, chunk);
    uint32_t *head = &exchange->head[(size_t)rank * exchange->synth->rank_count + to];
    exchange->next[chunk] = *head;
    *head = chunk;
    exchange->waiting[(size_t)rank * exchange->word_count + to / 64] |= 1ull << (to % 64);
}

static uint32_t take(struct exchange *exchange, uint32_t rank, uint32_t to)
{
    uint32_t *head = &exchange->head[(size_t)rank * exchange->synth->rank_count + to];
    uint32_t chunk = *head;
    WEFT_ASSERT(chunk != WEFT_NONE);
    *head = exchange->next[chunk];
    if (*head == WEFT_NONE) {
        exchange->waiting[(size_t)rank * exchange->word_count + to / 64] &= ~(1ull << (to % 64));
    }
    return chunk;
}

// Of the destinations that chunks wait for at `from` and that are nearer from `to`, one of the
// farthest; WEFT_NONE if none.
static uint32_t choose(struct exchange *exchange, uint32_t from, uint32_t to)
{
    uint32_t n = exchange->synth->rank_count;
    const uint64_t *waiting = exchange->waiting + (size_t)from * exchange->word_count;
    const uint16_t *here = exchange->distance + (size_t)from * n;
    const uint16_t *there = exchange->distance + (size_t)to * n;
    uint32_t best = WEFT_NONE;
    uint32_t ties = 0;
    uint32_t seen = 0;
    uint32_t word = weft_rng_below(&exchange->rng, exchange->word_count);
    for (uint32_t i = 0; i < exchange->word_count && seen < WINDOW; i++) {
        for (uint64_t bits = waiting[word]; bits != 0; bits &= bits - 1) {
            uint32_t target = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (there[target] >= here[target]) {
                continue;
            }
            seen++;
            bool better = best == WEFT_NONE || there[target] > there[best];
            bool equal = !better && there[target] == there[best];
            ties = better ? 1 : ties + (equal ? 1 : 0);
            if (better || (equal && weft_rng_below(&exchange->rng, ties) == 0)) {
                best = target;
            }
        }
        word = word + 1 == exchange->word_count ? 0 : word + 1;
    }
    return best;
}

// Starts a hop: the chunk leaves its slot and takes the destination's output slot or a new scratch
// slot there, and the link is taken until it falls free.
static void start(struct exchange *exchange, const struct weft_synth_sending *sending,
                  uint64_t now_ps)
{
    uint32_t to = sending->to;
    uint32_t chunk = sending->chunk;
    const struct weft_synth *synth = exchange->synth;
    uint32_t hop = exchange->run->hop_count++;
    uint32_t factor = synth->chunk_factor;
    uint32_t slot = 0;
    if (to == destination_of(exchange, chunk)) {
        slot = exchange->input_slots + source_of(exchange, chunk) * factor + chunk % factor;
    } else {
        slot = 2 * exchange->input_slots + exchange->slots_used[to]++;
    }
    exchange->run->hops[hop] = (struct weft_synth_hop){
        .from = synth->fabric->links[sending->link].from,
        .to = to,
        .from_slot = exchange->slot[chunk],
        .to_slot = slot,
        .link = sending->link,
        .start_ps = now_ps,
        .end_ps = now_ps + sending->arrive_ps,
    };
    exchange->slot[chunk] = slot;
    exchange->hop_chunk[hop] = chunk;
    exchange->free_ps[sending->link] = now_ps + sending->busy_ps;
    weft_synth_push(&exchange->heap,
                    (struct weft_synth_event){now_ps + sending->busy_ps, hop | FREES});
    weft_synth_push(&exchange->heap, (struct weft_synth_event){now_ps + sending->arrive_ps, hop});
}

static void try_direct(struct exchange *exchange, uint32_t link, uint64_t now_ps)
{
    const struct weft_link *via = &exchange->synth->fabric->links[link];
    uint32_t target = choose(exchange, via->from, via->to);
    if (target == WEFT_NONE) {
        return;
    }
    struct weft_synth_sending sending =
        weft_synth_direct(exchange->synth, link, take(exchange, via->from, target));
    start(exchange, &sending, now_ps);
}

// Behind switches everybody is one transfer away: receivers in turn, so that in a round each
// server has another one.
static void try_switched(struct exchange *exchange, uint32_t link, uint64_t now_ps)
{
    uint32_t from = exchange->synth->fabric->links[link].from;
    uint32_t n = exchange->synth->rank_count;
    const uint64_t *waiting = exchange->waiting + (size_t)from * exchange->word_count;
    uint32_t first = exchange->next_receiver[link];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = (first + i) % n;
        struct weft_switched_path path;
        if ((waiting[to / 64] >> (to % 64) & 1) == 0 ||
            weft_switched_hops(&exchange->switched, link, to) == WEFT_NONE ||
            !weft_switched_may_end(&exchange->switched, to, now_ps) ||
            !weft_switched_find(&path, &exchange->switched, link, to, now_ps, &exchange->rng)) {
            continue;
        }
        weft_switched_take(&exchange->switched, &path, now_ps);
        start(exchange,
              &(struct weft_synth_sending){link, to, take(exchange, from, to), path.busy_ps,
                                           path.arrive_ps},
              now_ps);
        exchange->next_receiver[link] = (to + 1) % n;
        return;
    }
}

static void start_links(struct exchange *exchange, uint32_t *order, uint64_t now_ps)
{
    const struct weft_fabric *fabric = exchange->synth->fabric;
    uint32_t count = 0;
    for (uint32_t l = 0; l < fabric->first[exchange->synth->rank_count]; l++) {
        if (exchange->free_ps[l] <= now_ps) {
            order[count++] = l;
        }
    }
    if (exchange->synth->direct) {
        weft_rng_shuffle(&exchange->rng, order, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (fabric->links[order[i]].to < exchange->synth->rank_count) {
            try_direct(exchange, order[i], now_ps);
        } else {
            try_switched(exchange, order[i], now_ps);
        }
    }
}

static void arrive(struct exchange *exchange, uint32_t hop)
{
    const struct weft_synth_hop *arrived = &exchange->run->hops[hop];
    uint32_t chunk = exchange->hop_chunk[hop];
    exchange->run->completion_ps = arrived->end_ps;
    if (arrived->to == destination_of(exchange, chunk)) {
        exchange->arrived_count++;
    } else {
        wait(exchange, arrived->to, chunk);
    }
}

// What every rank keeps moves inside it; the rest waits for the network.
static void fill_chunks(struct exchange *exchange)
{
    uint32_t factor = exchange->synth->chunk_factor;
    for (uint32_t chunk = exchange->chunk_count; chunk-- > 0;) {
        uint32_t from = source_of(exchange, chunk);
        uint32_t to = destination_of(exchange, chunk);
        exchange->slot[chunk] = to * factor + chunk % factor;
        if (from != to) {
            wait(exchange, from, chunk);
            continue;
        }
        exchange->arrived_count++;
        exchange->run->hops[exchange->run->hop_count++] = (struct weft_synth_hop){
            .from = from,
            .to = to,
            .from_slot = exchange->slot[chunk],
            .to_slot = exchange->input_slots + from * factor + chunk % factor,
            .link = WEFT_NONE,
        };
    }
}

static void begin(struct exchange *exchange, uint64_t hop_max, struct weft_arena *arena,
                  struct weft_arena *scratch)
{
    const struct weft_synth *synth = exchange->synth;
    uint32_t n = synth->rank_count;
    uint32_t links = synth->fabric->link_count;
    exchange->waiting = WEFT_NEW(scratch, uint64_t, (size_t)n * exchange->word_count);
    exchange->head = WEFT_NEW_RAW(scratch, uint32_t, (size_t)n * n);
    memset(exchange->head, 0xff, (size_t)n * n * sizeof *exchange->head);
    exchange->next = WEFT_NEW_RAW(scratch, uint32_t, exchange->chunk_count);
    exchange->slot = WEFT_NEW_RAW(scratch, uint32_t, exchange->chunk_count);
    exchange->slots_used = WEFT_NEW(scratch, uint32_t, n);
    exchange->free_ps = WEFT_NEW(scratch, uint64_t, links);
    exchange->next_receiver = WEFT_NEW_RAW(scratch, uint32_t, links);
    for (uint32_t l = 0; l < links; l++) {
        exchange->next_receiver[l] = (synth->fabric->links[l].from + 1) % n;
    }
    exchange->heap.entries = WEFT_NEW_RAW(scratch, struct weft_synth_event, 2 * hop_max);
    exchange->hop_chunk = WEFT_NEW_RAW(scratch, uint32_t, hop_max);
    exchange->run->hops = WEFT_NEW_RAW(arena, struct weft_synth_hop, hop_max);
    weft_switched_init(&exchange->switched, synth, scratch);
    fill_chunks(exchange);
}

// Hops between ranks; behind switches a transfer is one.
static const uint16_t *rank_distances(uint64_t *sum, const struct weft_synth *synth,
                                      struct weft_arena *scratch)
{
    const struct weft_fabric *fabric = synth->fabric;
    uint32_t n = synth->rank_count;
    *sum = (uint64_t)n * (n - 1);
    if (!synth->direct) {
        return NULL;
    }
    uint16_t *distance = WEFT_NEW_RAW(scratch, uint16_t, (size_t)n * n);
    struct weft_arena local = *scratch;
    uint32_t *tails = WEFT_NEW_RAW(&local, uint32_t, fabric->link_count);
    uint32_t *heads = WEFT_NEW_RAW(&local, uint32_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        tails[l] = fabric->links[l].from;
        heads[l] = fabric->links[l].to;
    }
    struct weft_graph graph;
    weft_graph_build(&graph, n, tails, heads, fabric->link_count, &local);
    struct weft_graph_hops hops = weft_graph_all_hops(distance, &graph, local);
    *sum = hops.sum;
    return distance;
}

bool weft_synth_exchange(struct weft_synth_run *run, const struct weft_synth *synth, uint64_t seed,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error)
{
    *run = (struct weft_synth_run){0};
    uint32_t n = synth->rank_count;
    struct exchange exchange = {
        .synth = synth,
        .chunk_count = n * n * synth->chunk_factor,
        .word_count = (n + 63) / 64,
        .input_slots = n * synth->chunk_factor,
        .run = run,
    };
    weft_rng_init(&exchange.rng, seed);
    uint64_t hop_max = 0;
    exchange.distance = rank_distances(&hop_max, synth, &scratch);
    hop_max = (hop_max + n) * synth->chunk_factor;
    if (hop_max > WEFT_SYNTH_TRANSFERS) {
        return weft_fail(error, WEFT_INPUT,
                         "all-to-all takes %llu transfers here, more than the %llu that can be "
                         "planned; use fewer ranks or chunks",
                         (unsigned long long)hop_max, (unsigned long long)WEFT_SYNTH_TRANSFERS);
    }
    begin(&exchange, hop_max, arena, &scratch);
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, synth->fabric->link_count);
    start_links(&exchange, order, 0);
    while (exchange.heap.count > 0) {
        uint64_t now_ps = exchange.heap.entries[0].time_ps;
        while (exchange.heap.count > 0 && exchange.heap.entries[0].time_ps == now_ps) {
            uint32_t id = weft_synth_pop(&exchange.heap).id;
            if ((id & FREES) == 0) {
                arrive(&exchange, id);
            }
        }
        start_links(&exchange, order, now_ps);
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        uint32_t used = exchange.slots_used[rank];
        run->scratch_count = used > run->scratch_count ? used : run->scratch_count;
    }
    return exchange.arrived_count == exchange.chunk_count ||
           weft_fail(error, WEFT_INFEASIBLE, "some rank cannot be reached over switches");
}
