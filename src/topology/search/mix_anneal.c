// SPDX-License-Identifier: Apache-2.0
// Annealing of mixed designs by the score of their loads: one chain.
//
// A step moves a part of the design, turns a stretch of a soft ring, or passes a quarter of a
// ring's mean share to another ring of its group; the loads are then measured anew, O(n^2 d). That
// takes long where servers are many, so that a chain there first anneals weighted distances, which
// cost a fraction (anneal.c), and only then the loads.

#include "anneal.h"
#include "mix.h"

#include "weft/base/anneal.h"

#include <math.h>
#include <string.h>

// Temperatures as shares of the score at the start. REHEAT is the share of HOT for chains that go
// on from a good state, REHEAT_MANY the same after distances were annealed. No run that compares
// them is recorded; they trade breadth for polish.
#define HOT 0.02
#define COLD 0.0002
#define REHEAT 0.2
#define REHEAT_MANY 0.03
// Steps between two changes of the temperature.
#define TEMPERATURE_PERIOD 32u
// Work units of a step beside its loads, in all and for each server; a unit is that of hops.c.
#define STEP_UNITS 500.0
#define SERVER_UNITS 4.0
// Beyond this many servers a chain first anneals distances alone, 64 sources of which cost what one
// source of a load does. These are the shares of its effort for distances (of a chain from a random
// state, and of one that goes on) and how warm the latter begins.
#define MANY_SERVERS 24u
#define HOPS_SHARE_FRESH 0.9
#define HOPS_SHARE_LATER 0.6
#define HOPS_REHEAT 0.3
// What pairs without transfers weigh, as a share of the mean pair: they stay near at no cost.
#define TRACE_RATIO 1e-3

// What the last move changed, so that it can be undone.
struct change {
    enum { CHANGE_NONE, CHANGE_PART, CHANGE_ORDER, CHANGE_SHARE } kind;
    uint32_t part;
    uint32_t ring;  // ORDER; SHARE: gives a unit
    uint32_t other; // SHARE: takes it
};

struct annealer {
    const struct weft_mix_space *space;
    struct weft_mix_state *state;
    struct weft_load load;
    struct weft_part_copy copy;
    struct weft_rng *rng;
    struct change change;
    struct weft_mix_state *best; // on the way
    double work_units;
};

// Adds (sign 1) or takes away (-1) a ring's bytes along `order`.
static void charge(struct annealer *a, const struct weft_mix_ring *ring, const uint32_t *order,
                   double sign)
{
    double bytes = sign * ring->units * weft_mix_unit_bytes(a->space, ring->group);
    if (ring->units == 0) {
        return;
    }
    for (uint32_t i = 0; i < ring->size; i++) {
        uint32_t from = order[i];
        uint32_t to = order[i + 1 == ring->size ? 0 : i + 1];
        weft_load_add(&a->load, from, to, ring->lane, bytes);
        if (!a->space->simplex) {
            weft_load_add(&a->load, to, from, ring->lane, bytes);
        }
    }
}

static void charge_part(struct annealer *a, uint32_t part, const uint32_t *order, double sign)
{
    for (uint32_t r = 0; r < a->space->ring_count; r++) {
        if (a->state->rings[r].part == part) {
            charge(a, &a->state->rings[r], order, sign);
        }
    }
}

static void charge_everything(struct annealer *a)
{
    const struct weft_traffic *traffic = a->space->traffic;
    uint32_t n = a->space->n;
    double total = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double bytes = i == j ? 0 : floor(traffic->transfer_bytes[(size_t)i * n + j]);
            weft_load_add(&a->load, i, j, 0, bytes);
            total += bytes;
        }
    }
    for (uint32_t r = 0; r < a->space->ring_count; r++) {
        const struct weft_mix_ring *ring = &a->state->rings[r];
        charge(a, ring, weft_mix_order(a->state, ring), 1);
    }
    a->load.transfer_bytes = total;
    total += traffic->allreduce_wire_bytes;
    a->load.scale_bytes = total > 0 ? total / ((double)n * a->space->degree) : 1;
}

// First orders for the soft rings: each member is followed by the nearest one left.
static void tour_soft_rings(struct annealer *a, struct weft_arena scratch)
{
    uint32_t n = a->space->n;
    uint16_t *distance = WEFT_NEW(&scratch, uint16_t, (size_t)n * n);
    for (uint32_t s = 0; s < n; s++) {
        uint16_t *row = distance + (size_t)s * n;
        memset(row, 0xff, n * sizeof *row);
        uint32_t head = 0;
        uint32_t tail = 1;
        row[s] = 0;
        for (a->load.queue[0] = s; head < tail; head++) {
            const uint32_t *next =
                a->state->design.next + (size_t)a->load.queue[head] * a->load.degree;
            for (uint32_t p = 0; p < a->load.degree; p++) {
                if (row[next[p]] == UINT16_MAX) {
                    row[next[p]] = (uint16_t)(row[a->load.queue[head]] + 1);
                    a->load.queue[tail++] = next[p];
                }
            }
        }
    }
    for (uint32_t r = 0; r < a->space->ring_count; r++) {
        if (a->state->rings[r].part == WEFT_NONE) {
            weft_mix_tour(a->state->rings[r].order, a->state->rings[r].size, distance, n, a->rng);
        }
    }
}

// ---- moves ----

// Turns a random stretch of a soft ring round (2-opt), or moves its first member to its end, which
// keeps the direction of the others and is all that helps a ring of one direction.
static void change_order(struct annealer *a, struct weft_mix_ring *ring)
{
    uint32_t size = ring->size;
    memcpy(a->copy.order, ring->order, size * sizeof *ring->order);
    uint32_t at = weft_rng_below(a->rng, size);
    uint32_t length = 2 + weft_rng_below(a->rng, size - 2);
    if (a->space->simplex || weft_rng_below(a->rng, 3) == 0) {
        weft_order_exchange(ring->order, size, at, 1, length - 1);
    } else {
        weft_order_turn(ring->order, size, at, length);
    }
}

static struct change move_ring_order(struct annealer *a)
{
    uint32_t chosen = weft_rng_below(a->rng, a->space->ring_count);
    struct weft_mix_ring *ring = &a->state->rings[chosen];
    if (ring->part != WEFT_NONE || ring->size < 4 || ring->units == 0) {
        return (struct change){.kind = CHANGE_NONE};
    }
    charge(a, ring, ring->order, -1);
    change_order(a, ring);
    charge(a, ring, ring->order, 1);
    return (struct change){.kind = CHANGE_ORDER, .ring = chosen};
}

static void give_unit(struct annealer *a, uint32_t from, uint32_t to)
{
    struct weft_mix_ring *rings = a->state->rings;
    charge(a, &rings[from], weft_mix_order(a->state, &rings[from]), -1);
    charge(a, &rings[to], weft_mix_order(a->state, &rings[to]), -1);
    rings[from].units--;
    rings[to].units++;
    charge(a, &rings[from], weft_mix_order(a->state, &rings[from]), 1);
    charge(a, &rings[to], weft_mix_order(a->state, &rings[to]), 1);
}

static struct change move_share(struct annealer *a)
{
    uint32_t width = a->space->rings_a_group;
    uint32_t from = weft_rng_below(a->rng, a->space->ring_count);
    uint32_t to = from - from % width + weft_rng_below(a->rng, width);
    if (to == from || a->state->rings[from].units == 0) {
        return (struct change){.kind = CHANGE_NONE};
    }
    give_unit(a, from, to);
    return (struct change){.kind = CHANGE_SHARE, .ring = from, .other = to};
}

static struct change move_part(struct annealer *a)
{
    struct weft_design *design = &a->state->design;
    uint32_t part = weft_design_move(design, WEFT_MOVES_EDGES, &a->copy, a->rng);
    if (part == WEFT_NONE) {
        return (struct change){.kind = CHANGE_NONE};
    }
    charge_part(a, part, a->copy.order, -1);
    charge_part(a, part, design->parts[part].order, 1);
    return (struct change){.kind = CHANGE_PART, .part = part};
}

// Of eight moves four change a part, three a soft ring and one a share; not measured.
static struct change move(struct annealer *a)
{
    uint32_t dice = weft_rng_below(a->rng, 8);
    if (a->space->ring_count == 0 || dice < 4) {
        return move_part(a);
    }
    return dice < 7 ? move_ring_order(a) : move_share(a);
}

static void undo(struct annealer *a, const struct change *change)
{
    struct weft_mix_ring *ring = &a->state->rings[change->ring];
    if (change->kind == CHANGE_PART) {
        charge_part(a, change->part, a->state->design.parts[change->part].order, -1);
        weft_design_undo(&a->state->design, change->part, &a->copy);
        charge_part(a, change->part, a->copy.order, 1);
    } else if (change->kind == CHANGE_ORDER) {
        charge(a, ring, ring->order, -1);
        memcpy(ring->order, a->copy.order, ring->size * sizeof *ring->order);
        charge(a, ring, ring->order, 1);
    } else if (change->kind == CHANGE_SHARE) {
        give_unit(a, change->other, change->ring);
    }
}

// ---- chains ----

// The share of a chain's work that goes to distances alone.
static double hops_share(const struct weft_mix_chain *chain)
{
    if (chain->space->n <= MANY_SERVERS) {
        return 0;
    }
    return chain->fresh ? HOPS_SHARE_FRESH : HOPS_SHARE_LATER;
}

// Many servers: a good start for the loads is a design of few hops between pairs with transfers.
static void anneal_hops(struct weft_mix_chain *chain, struct weft_rng *rng,
                        struct weft_arena scratch)
{
    const struct weft_traffic *traffic = chain->space->traffic;
    uint32_t n = chain->space->n;
    size_t pairs = (size_t)n * n;
    double *weights = NULL;
    if (traffic->transfer_total_bytes > 0) {
        weights = WEFT_NEW_RAW(&scratch, double, pairs);
        double trace = TRACE_RATIO * traffic->transfer_total_bytes / (double)pairs;
        for (size_t i = 0; i < pairs; i++) {
            weights[i] = traffic->transfer_bytes[i] + trace;
        }
    }
    struct weft_hops hops;
    weft_hops_init(&hops, n, n, weights, &scratch);
    struct weft_design best = weft_design_copy(&chain->state->design, &scratch);
    struct weft_hops_chain run = {
        .design = &chain->state->design,
        .best = &best,
        .hops = &hops,
        .unit = weft_hops_mean_weight(&hops),
        .heat = chain->fresh ? 1 : HOPS_REHEAT,
        .work_units = chain->work_units * hops_share(chain),
        .steps_max = chain->steps_max,
        .stop = chain->stop,
    };
    weft_hops_chain(&run, rng, scratch);
    weft_design_assign(&chain->state->design, &best);
    chain->steps += run.steps;
}

static void start_state(struct weft_mix_chain *chain, struct annealer *a, struct weft_arena scratch)
{
    if (chain->fresh) {
        weft_design_shuffle(&chain->state->design, a->rng);
    }
    if (chain->space->n > MANY_SERVERS) {
        anneal_hops(chain, a->rng, scratch);
    }
    if (chain->fresh || chain->space->n > MANY_SERVERS) {
        tour_soft_rings(a, scratch);
    }
}

static enum weft_anneal_proposal propose_mix(struct weft_anneal *anneal)
{
    struct annealer *a = anneal->state;
    a->change = move(a);
    return a->change.kind == CHANGE_NONE ? WEFT_ANNEAL_NO_MOVE : WEFT_ANNEAL_MOVED;
}

static double evaluate_mix(struct weft_anneal *anneal)
{
    struct annealer *a = anneal->state;
    double score = weft_load_measure(&a->load, &a->state->design);
    anneal->work = (double)a->load.work;
    return score;
}

static void undo_mix(struct weft_anneal *anneal)
{
    struct annealer *a = anneal->state;
    undo(a, &a->change);
}

static void record_mix(struct weft_anneal *anneal)
{
    struct annealer *a = anneal->state;
    a->state->score = anneal->best;
    anneal->cooling.cold = COLD * anneal->best;
    weft_mix_state_copy(a->best, a->state, a->space);
}

static const struct weft_anneal_moves mix_moves = {
    .propose = propose_mix,
    .evaluate = evaluate_mix,
    .undo = undo_mix,
    .record = record_mix,
};

// The walk itself: from the state as charged to the best on the way, kept in `a->best`.
static void walk(struct weft_mix_chain *chain, struct annealer *a)
{
    bool many = a->space->n > MANY_SERVERS;
    double heat = many ? REHEAT_MANY : chain->fresh ? 1 : REHEAT;
    struct weft_anneal anneal = {
        .moves = &mix_moves,
        .state = a,
        .rng = a->rng,
        .stop = chain->stop,
        .bound = -HUGE_VAL,
        .steps_max = chain->steps_max,
        .work_max = a->work_units,
        .step_work = STEP_UNITS + SERVER_UNITS * a->space->n,
        .work = (double)a->load.work,
        .cooling = {.hot = HOT * heat * a->best->score,
                    .cold = COLD * a->best->score,
                    .period = TEMPERATURE_PERIOD},
        .current = a->best->score,
        .best = a->best->score,
    };
    weft_anneal_run(&anneal);
    chain->steps += anneal.steps;
    chain->stopped = anneal.stopped;
}

void weft_mix_anneal(struct weft_mix_chain *chain, struct weft_rng *rng, struct weft_arena scratch)
{
    const struct weft_mix_space *space = chain->space;
    struct weft_mix_state *state = chain->state;
    struct annealer a = {.space = space, .state = state, .rng = rng};
    weft_load_init(&a.load, space->n, space->degree, &scratch);
    a.copy = weft_part_copy_init(space->n, &scratch);
    start_state(chain, &a, scratch);
    charge_everything(&a);
    state->score = weft_load_measure(&a.load, &state->design);
    struct weft_mix_state best;
    weft_mix_state_clone(&best, state, space, &scratch);
    a.best = &best;
    a.work_units = chain->work_units * (1 - hops_share(chain));
    walk(chain, &a);
    weft_mix_state_copy(state, &best, space);
}
