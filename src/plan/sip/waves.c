// SPDX-License-Identifier: Apache-2.0
// SiP-Ring: whole wavelengths for pairs on two fibers that go round in opposite directions, each
// with half of an accelerator's wavelengths.
//
// A pair's wavelengths are arcs that keep their color all the way, so that wanted is the largest r
// for which ceil(r bytes) arcs of every pair can be colored. The load of segments bounds r; where
// the coloring needs more than a fiber has, r is halved towards what is known to fit. Colors that
// are free along a pair's arc are then given away, to the pair with the least for its bytes.
//
// Where a job has more than two replicas, pairs of one replica take the short way (the other one
// leads past all replicas), and collectives go round both ways, half of each. Where it has one or
// two, the fold is the whole ring and the coloring chooses each arc's way. docs/sip-ml.md.

#include "sip.h"

#include <math.h>

// A search for r asks for so many colorings, each of which may make so many moves for each arc
// times each arc: with a second core 64 accelerators of 80 wavelengths take about a second.
#define STEPS 8u
#define MOVES_MAX 20000u
#define MOVE_WORK 1000000u

// What a pair wants on one fiber, or, where the way is free, on either.
struct want {
    uint32_t from, to;
    bool counter;
    double bytes;
    struct weft_ring_arc arc; // clockwise; of a counter-clockwise fiber from its end
    uint32_t waves;
};

struct ring {
    uint32_t n;
    uint32_t fiber; // wavelengths of each
    bool free_ways; // arcs may turn
    uint32_t want_count;
    struct want *wants;
};

static void add_want(struct ring *ring, uint32_t from, uint32_t to, bool counter, double bytes)
{
    uint32_t hops = (to + ring->n - from) % ring->n;
    struct weft_ring_arc arc = {from, hops};
    if (counter) {
        arc = (struct weft_ring_arc){to, ring->n - hops};
    }
    ring->wants[ring->want_count++] = (struct want){from, to, counter, bytes, arc, 0};
}

static struct ring ring_of(const struct sip_fold *fold, uint32_t fiber, struct weft_arena *arena)
{
    uint32_t n = fold->node_count;
    struct ring ring = {.n = n, .fiber = fiber, .free_ways = fold->choice.dp <= 2};
    ring.wants = WEFT_NEW_RAW(arena, struct want, 2 * (size_t)n * n);
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            double transfer = fold->transfer_bytes[(size_t)from * n + to];
            double forth = fold->ring_bytes[(size_t)from * n + to] / 2;
            double back = fold->ring_bytes[(size_t)to * n + from] / 2;
            if (from == to) {
                continue;
            }
            if (ring.free_ways) {
                if (transfer + forth + back > 0) {
                    add_want(&ring, from, to, false, transfer + forth + back);
                }
                continue;
            }
            double clockwise = forth + (to > from ? transfer : 0);
            double counter = back + (to < from ? transfer : 0);
            if (clockwise > 0) {
                add_want(&ring, from, to, false, clockwise);
            }
            if (counter > 0) {
                add_want(&ring, from, to, true, counter);
            }
        }
    }
    return ring;
}

static void set_waves(struct ring *ring, double ratio)
{
    for (uint32_t w = 0; w < ring->want_count; w++) {
        double least = ceil(ratio * ring->wants[w].bytes * (1 - 1e-12));
        ring->wants[w].waves = least < 1             ? 1
                               : least > ring->fiber ? ring->fiber + 1
                                                     : (uint32_t)least;
    }
}

// The most arcs of one fiber over one segment.
static uint32_t fiber_load(const struct ring *ring, bool counter, struct weft_arena scratch)
{
    int64_t *change = WEFT_NEW(&scratch, int64_t, 2 * (size_t)ring->n + 1);
    for (uint32_t w = 0; w < ring->want_count; w++) {
        const struct want *want = &ring->wants[w];
        if (want->counter == counter) {
            change[want->arc.start] += want->waves;
            change[want->arc.start + want->arc.hops] -= want->waves;
        }
    }
    int64_t most = 0;
    int64_t first = 0; // of segments 0 .. n-1, then n .. 2n-1 that are the same
    int64_t *load = WEFT_NEW(&scratch, int64_t, ring->n);
    for (uint32_t s = 0; s < 2 * ring->n; s++) {
        first += change[s];
        load[s % ring->n] += first;
        most = load[s % ring->n] > most ? load[s % ring->n] : most;
    }
    return (uint32_t)most;
}

// The arcs of one fiber (both, where ways are free), each wavelength by itself.
static uint32_t list_arcs(struct weft_ring_arc *arcs, uint32_t *want_of, const struct ring *ring,
                          bool counter)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < ring->want_count; w++) {
        const struct want *want = &ring->wants[w];
        for (uint32_t i = 0; want->counter == counter && i < want->waves; i++) {
            if (arcs != NULL) {
                arcs[count] = want->arc;
                want_of[count] = w;
            }
            count++;
        }
    }
    return count;
}

// Appends one fiber's arcs with their colors; returns how many wavelengths that takes.
static uint32_t color_fiber(struct sip_waves *waves, const struct ring *ring, bool counter,
                            struct weft_arena scratch)
{
    uint32_t count = list_arcs(NULL, NULL, ring, counter);
    if (count == 0) {
        return 0;
    }
    struct weft_ring_arc *arcs = WEFT_NEW_RAW(&scratch, struct weft_ring_arc, count);
    uint32_t *want_of = WEFT_NEW_RAW(&scratch, uint32_t, count);
    list_arcs(arcs, want_of, ring, counter);
    uint32_t moves = MOVE_WORK / count < MOVES_MAX ? MOVE_WORK / count + 1 : MOVES_MAX;
    const struct weft_ring_options options = {
        .both_ways = ring->free_ways, .move_limit = moves, .node_limit = moves, .seed = 1};
    struct weft_ring_coloring coloring;
    struct weft_arena kept = weft_arena_split(&scratch);
    weft_circuit_color_ring(&coloring, arcs, count, ring->n, &options, &kept, scratch);
    for (uint32_t a = 0; a < count; a++) {
        const struct want *want = &ring->wants[want_of[a]];
        bool turned = ring->free_ways && coloring.turned[a];
        waves->arcs[waves->arc_count++] =
            (struct weft_sip_arc){want->from, want->to, counter != turned, coloring.colors[a]};
    }
    return coloring.wavelengths;
}

// Colors what all pairs want; returns the wavelengths of the fuller fiber. Where the load alone is
// too much there are no arcs.
static uint32_t color(struct sip_waves *waves, const struct ring *ring, struct weft_arena scratch)
{
    waves->arc_count = 0;
    uint32_t most = 0;
    for (int counter = 0; counter < 2; counter++) {
        if (!ring->free_ways) {
            uint32_t load = fiber_load(ring, counter != 0, scratch);
            if (load > ring->fiber) {
                return load;
            }
        }
    }
    for (int counter = 0; counter < (ring->free_ways ? 1 : 2); counter++) {
        uint32_t used = color_fiber(waves, ring, counter != 0, scratch);
        most = used > most ? used : most;
    }
    return most;
}

static void keep(struct sip_waves *best, const struct sip_waves *trial)
{
    best->arc_count = trial->arc_count;
    for (uint32_t a = 0; a < trial->arc_count; a++) {
        best->arcs[a] = trial->arcs[a];
    }
}

// ---- what is left over ----

// Segments of an arc, on its own fiber, that a color is free on.
static bool is_free(const bool *busy, const struct ring *ring, const struct weft_ring_arc *arc,
                    uint32_t color)
{
    for (uint32_t h = 0; h < arc->hops; h++) {
        if (busy[(size_t)((arc->start + h) % ring->n) * ring->fiber + color]) {
            return false;
        }
    }
    return true;
}

static struct weft_ring_arc segments_of(const struct weft_sip_arc *arc, uint32_t n)
{
    uint32_t hops = (arc->to + n - arc->from) % n;
    return arc->counter ? (struct weft_ring_arc){arc->to, n - hops}
                        : (struct weft_ring_arc){arc->from, hops};
}

static void occupy(bool *busy, const struct ring *ring, const struct weft_sip_arc *arc)
{
    struct weft_ring_arc segments = segments_of(arc, ring->n);
    for (uint32_t h = 0; h < segments.hops; h++) {
        busy[(size_t)((segments.start + h) % ring->n) * ring->fiber + arc->color] = true;
    }
}

// One more wavelength for a want, if some color is free along it, its own way first.
static bool grow(struct sip_waves *waves, const struct ring *ring, struct want *want,
                 bool *const busy[2])
{
    for (int other = 0; other < (ring->free_ways ? 2 : 1); other++) {
        struct weft_sip_arc arc = {want->from, want->to, want->counter != (other != 0), 0};
        struct weft_ring_arc segments = segments_of(&arc, ring->n);
        for (arc.color = 0; arc.color < ring->fiber; arc.color++) {
            if (is_free(busy[arc.counter], ring, &segments, arc.color)) {
                occupy(busy[arc.counter], ring, &arc);
                waves->arcs[waves->arc_count++] = arc;
                want->waves++;
                return true;
            }
        }
    }
    return false;
}

// Gives away colors that are free, to the want with the fewest for its bytes that can have one.
static void fill(struct sip_waves *waves, struct ring *ring, uint32_t arcs_max,
                 struct weft_arena scratch)
{
    size_t cells = (size_t)ring->n * ring->fiber;
    bool *const busy[2] = {WEFT_NEW(&scratch, bool, cells), WEFT_NEW(&scratch, bool, cells)};
    bool *full = WEFT_NEW(&scratch, bool, ring->want_count);
    for (uint32_t a = 0; a < waves->arc_count; a++) {
        occupy(busy[waves->arcs[a].counter], ring, &waves->arcs[a]);
    }
    while (waves->arc_count < arcs_max) {
        uint32_t least = WEFT_NONE;
        for (uint32_t w = 0; w < ring->want_count; w++) {
            if (!full[w] &&
                (least == WEFT_NONE || ring->wants[w].waves * ring->wants[least].bytes <
                                           ring->wants[least].waves * ring->wants[w].bytes)) {
                least = w;
            }
        }
        if (least == WEFT_NONE) {
            return;
        }
        full[least] = !grow(waves, ring, &ring->wants[least], busy);
    }
}

// The largest r that can be colored, in STEPS halvings between what fits (0) and what one fiber
// could carry of the largest pair. False where nothing fits; *needed is then the wavelengths of a
// fiber that one for each pair takes.
static bool search(struct sip_waves *best, struct ring *ring, uint32_t *needed,
                   struct weft_arena scratch)
{
    struct sip_waves trial = {
        .arcs = WEFT_NEW_RAW(&scratch, struct weft_sip_arc, 2 * (size_t)ring->n * ring->fiber)};
    double most_bytes = 0;
    for (uint32_t w = 0; w < ring->want_count; w++) {
        most_bytes = fmax(most_bytes, ring->wants[w].bytes);
    }
    double low = 0;
    double high = 2.0 * ring->fiber / most_bytes;
    set_waves(ring, low);
    // One for each pair may be more arcs than the fibers hold.
    uint32_t singles = list_arcs(NULL, NULL, ring, false) + list_arcs(NULL, NULL, ring, true);
    if (singles > 2 * ring->n * ring->fiber) {
        *needed = (singles + 2 * ring->n - 1) / (2 * ring->n);
        return false;
    }
    *needed = color(&trial, ring, scratch);
    if (*needed > ring->fiber) {
        return false;
    }
    keep(best, &trial);
    for (uint32_t step = 0; step < STEPS; step++) {
        double ratio = (low + high) / 2;
        set_waves(ring, ratio);
        uint32_t arcs = list_arcs(NULL, NULL, ring, false) + list_arcs(NULL, NULL, ring, true);
        if (arcs <= 2 * ring->n * ring->fiber && color(&trial, ring, scratch) <= ring->fiber) {
            low = ratio;
            keep(best, &trial);
        } else {
            high = ratio;
        }
    }
    set_waves(ring, low);
    return true;
}

bool sip_waves_build(struct sip_waves *waves, const struct sip_fold *fold,
                     const struct weft_sip_options *sip, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t n = fold->node_count;
    uint32_t fiber = sip->wavelengths / 2;
    uint32_t arcs_max = 2 * n * fiber;
    struct ring ring = ring_of(fold, fiber, &scratch);
    *waves = (struct sip_waves){
        .arcs = WEFT_NEW(environment->arena, struct weft_sip_arc, (size_t)arcs_max + 1),
        .rate_Bps = WEFT_NEW(environment->arena, double, (size_t)n *n),
    };
    if (ring.want_count == 0) {
        return true;
    }
    uint32_t needed = 0;
    if (fiber == 0 || !search(waves, &ring, &needed, scratch)) {
        weft_fail(environment->error, WEFT_INFEASIBLE,
                  "%u wavelengths are too few for the ring: one for each pair takes at least %u, "
                  "half of them each way",
                  sip->wavelengths, 2 * (needed > 0 ? needed : 1));
        return weft_remedy(environment->error, "wavelengths", "%u", 2 * (needed > 0 ? needed : 1));
    }
    fill(waves, &ring, arcs_max, scratch);
    for (uint32_t a = 0; a < waves->arc_count; a++) {
        const struct weft_sip_arc *arc = &waves->arcs[a];
        waves->rate_Bps[(size_t)arc->from * n + arc->to] += sip->wave_Bps;
        waves->fiber_wavelengths =
            arc->color + 1 > waves->fiber_wavelengths ? arc->color + 1 : waves->fiber_wavelengths;
    }
    return true;
}
