// SPDX-License-Identifier: Apache-2.0
// The least excess of one circle by dynamic programming along its angles.
//
// Angles are decided one after another: at each it is decided which jobs not yet placed come to it
// and how. A rotation belongs to the first angle that it comes to, so that each is met once. What a
// decided angle costs beyond the bound of the whole circle is rest of its code (bound.h), never
// negative; a partial answer is dropped where these sum to more than a budget. Two partial answers
// that have the same jobs left, and the same of those that still come to a later angle, differ in
// what they cost only: the cheaper stays. The budget is doubled until an answer is found, or is
// what the best known costs. Each budget without an answer is proved to be too small.
//
// Jobs with long or several bursts keep partial answers apart: where an angle has more than
// STATES_MAX of them, this gives up with the bound that it has.

#include "bound.h"

#include <math.h>
#include <string.h>

// A state keeps the rotation of each job in a byte, with two values to spare; CUTS_MAX bounds
// arrays on the stack. What bench_interleave 10 proves with these is in docs/interleave.md,
// "Measured"; other values are not on record: more states prove more circles and take longer to
// give up.
#define JOBS_MAX 16u
#define CUTS_MAX 64u
#define ROTATIONS_MAX 250u
#define STATES_MAX ((uint32_t)1 << 17) // of an angle
#define BUDGETS 6u                     // halvings of the largest
#define WORK_A_STATE 24u
#define NOT_PLACED 255u
#define GONE 254u

struct state {
    uint8_t rotations[JOBS_MAX];
    uint8_t key[JOBS_MAX]; // the same, GONE for those that come to no later angle
    double cost;
};

struct layer {
    struct state *states;
    uint32_t count;
};

struct sweep {
    const struct cells *cells;
    const struct cell_circle *circle;
    const struct rest_table *table;
    uint32_t angles;
    uint32_t jobs;
    uint32_t fixed;   // job at rotation 0: turning all alike changes nothing
    uint32_t **codes; // per job, per cell: at rotation 0
    uint16_t **last;  // per job, per rotation: last angle that it comes to
    uint32_t **first; // per job, CSR by angle into `starts`
    uint8_t **starts; // per job: rotations by the angle that they come to first
    uint16_t *latest; // per job: last angle at which it can be placed
    struct layer now;
    struct layer next;
    uint32_t *slots; // hash of next: 1 + a state, or 0
    uint32_t *used;  // per state of next: its slot
    double budget;
    uint64_t work;
    uint64_t work_limit;
    bool full;
};

// Codes of the cuts of an angle, of job j at rotation r.
static const uint32_t *code_at(const struct sweep *sweep, uint32_t j, uint32_t r, uint32_t angle)
{
    uint32_t at = angle >= r ? angle - r : angle + sweep->angles - r;
    return &sweep->codes[j][(size_t)at * sweep->circle->cuts];
}

static uint64_t hash_of(const uint8_t *key)
{
    uint64_t halves[2];
    memcpy(halves, key, sizeof halves);
    uint64_t hash = (halves[0] ^ (halves[1] * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
    hash *= 0x94d049bb133111ebu;
    return hash ^ (hash >> 32);
}

static void insert(struct sweep *sweep, const struct state *state)
{
    const uint32_t mask = 2 * STATES_MAX - 1;
    uint32_t slot = (uint32_t)hash_of(state->key) & mask;
    while (sweep->slots[slot] != 0) {
        struct state *other = &sweep->next.states[sweep->slots[slot] - 1];
        if (memcmp(other->key, state->key, sizeof state->key) == 0) {
            if (state->cost < other->cost) {
                *other = *state;
            }
            return;
        }
        slot = (slot + 1) & mask;
    }
    if (sweep->next.count == STATES_MAX) {
        sweep->full = true;
        return;
    }
    sweep->used[sweep->next.count] = slot;
    sweep->next.states[sweep->next.count++] = *state;
    sweep->slots[slot] = sweep->next.count;
}

// What an angle costs at least: digits of jobs that may still be chosen for it are open.
static double cost_of(const struct sweep *sweep, const uint32_t *codes, uint32_t open)
{
    double cost = 0;
    for (uint32_t cut = 0; cut < sweep->circle->cuts; cut++) {
        cost += sweep->table->rest[codes[cut] + open] * sweep->circle->weights[cut];
    }
    return cost;
}

static bool starts_at(const struct sweep *sweep, uint32_t j, uint32_t angle)
{
    return sweep->first[j][angle] < sweep->first[j][angle + 1];
}

static uint32_t open_digit(const struct sweep *sweep, uint32_t j)
{
    return (sweep->cells->pieces[j].places[0].load_count + 1) * sweep->table->stride[j];
}

// Decides for jobs from j on whether they come to this angle.
static void decide(struct sweep *sweep, const struct state *state, uint32_t angle, uint32_t j,
                   const uint32_t *codes, uint32_t open)
{
    const uint32_t cuts = sweep->circle->cuts;
    const double cost = state->cost + cost_of(sweep, codes, open);
    sweep->work += WORK_A_STATE + cuts;
    if (sweep->full || cost > sweep->budget) {
        return;
    }
    while (j < sweep->jobs && (state->rotations[j] != NOT_PLACED || !starts_at(sweep, j, angle))) {
        if (state->rotations[j] == NOT_PLACED && sweep->latest[j] <= angle) {
            return;
        }
        j++;
    }
    if (j == sweep->jobs) {
        struct state next = *state;
        next.cost = cost;
        for (uint32_t p = 0; p < sweep->jobs; p++) {
            uint8_t r = next.rotations[p];
            next.key[p] = r != NOT_PLACED && sweep->last[p][r] <= angle ? (uint8_t)GONE : r;
        }
        insert(sweep, &next);
        return;
    }
    uint32_t left = open - open_digit(sweep, j);
    if (sweep->latest[j] > angle) {
        decide(sweep, state, angle, j + 1, codes, left);
    }
    uint32_t with[CUTS_MAX];
    struct state placed = *state;
    for (uint32_t s = sweep->first[j][angle]; s < sweep->first[j][angle + 1]; s++) {
        placed.rotations[j] = sweep->starts[j][s];
        const uint32_t *more = code_at(sweep, j, placed.rotations[j], angle);
        for (uint32_t cut = 0; cut < cuts; cut++) {
            with[cut] = codes[cut] + more[cut];
        }
        decide(sweep, &placed, angle, j + 1, with, left);
    }
}

// Extends every partial answer of the layer by all choices at one angle, and makes the next layer
// the present one. Loads of jobs that are placed are added up first; those of jobs that may still
// be placed at this angle are open digits, which bound.c prices at their least.
static void decide_angle(struct sweep *sweep, uint32_t angle)
{
    const uint32_t cuts = sweep->circle->cuts;
    sweep->next.count = 0;
    for (uint32_t i = 0; i < sweep->now.count && !sweep->full; i++) {
        const struct state *state = &sweep->now.states[i];
        uint32_t codes[CUTS_MAX] = {0};
        uint32_t open = 0;
        for (uint32_t j = 0; j < sweep->jobs; j++) {
            if (state->rotations[j] == NOT_PLACED) {
                open += starts_at(sweep, j, angle) ? open_digit(sweep, j) : 0;
            } else if (state->key[j] != GONE) {
                const uint32_t *more = code_at(sweep, j, state->rotations[j], angle);
                for (uint32_t cut = 0; cut < cuts; cut++) {
                    codes[cut] += more[cut];
                }
            }
        }
        decide(sweep, state, angle, 0, codes, open);
        sweep->full = sweep->full || sweep->work > sweep->work_limit;
    }
    for (uint32_t i = 0; i < sweep->next.count; i++) {
        sweep->slots[sweep->used[i]] = 0;
    }
    struct layer decided = sweep->next;
    sweep->next = sweep->now;
    sweep->now = decided;
}

// The cheapest answer within the budget; false where there is none, or where room ran out.
static bool sweep_circle(struct sweep *sweep, struct state *answer)
{
    struct state *start = &sweep->now.states[0];
    memset(start->rotations, NOT_PLACED, sizeof start->rotations);
    memset(start->key, NOT_PLACED, sizeof start->key);
    start->rotations[sweep->fixed] = start->key[sweep->fixed] = 0;
    start->cost = 0;
    sweep->now.count = 1;
    for (uint32_t angle = 0; angle < sweep->angles && !sweep->full; angle++) {
        decide_angle(sweep, angle);
    }
    if (sweep->full || sweep->now.count == 0) {
        return false;
    }
    *answer = sweep->now.states[0];
    for (uint32_t i = 1; i < sweep->now.count; i++) {
        if (sweep->now.states[i].cost < answer->cost) {
            *answer = sweep->now.states[i];
        }
    }
    return true;
}

static void list_codes(struct sweep *sweep, uint32_t j, struct weft_arena *arena)
{
    const struct cell_place *place = &sweep->cells->pieces[j].places[0];
    sweep->codes[j] = WEFT_NEW(arena, uint32_t, place->folded);
    for (uint32_t load = 0; load < place->load_count; load++) {
        for (uint32_t a = place->load_first[load]; a < place->load_first[load + 1]; a++) {
            for (uint32_t c = place->arcs[a].from; c < place->arcs[a].to; c++) {
                sweep->codes[j][c] = (load + 1) * sweep->table->stride[j];
            }
        }
    }
}

static bool comes_to(const struct sweep *sweep, uint32_t j, uint32_t r, uint32_t angle)
{
    const uint32_t *codes = code_at(sweep, j, r, angle);
    for (uint32_t cut = 0; cut < sweep->circle->cuts; cut++) {
        if (codes[cut] > 0) {
            return true;
        }
    }
    return false;
}

// For one job: the rotations by the first angle that each covers, the last angle that each covers,
// and the latest angle at which the job can still be placed. CSR with first[] shifted by two while
// it is filled.
static void list_starts(struct sweep *sweep, uint32_t j, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    const uint32_t angles = sweep->angles;
    uint32_t *met = WEFT_NEW(&scratch, uint32_t, angles);
    sweep->last[j] = WEFT_NEW(arena, uint16_t, angles);
    sweep->first[j] = WEFT_NEW(arena, uint32_t, (size_t)angles + 2);
    sweep->starts[j] = WEFT_NEW(arena, uint8_t, angles);
    for (uint32_t r = 0; r < angles; r++) {
        bool any = false;
        for (uint32_t angle = 0; angle < angles; angle++) {
            if (comes_to(sweep, j, r, angle)) {
                met[r] = any ? met[r] : angle;
                sweep->last[j][r] = (uint16_t)angle;
                any = true;
            }
        }
        sweep->latest[j] = met[r] > sweep->latest[j] ? (uint16_t)met[r] : sweep->latest[j];
        sweep->first[j][met[r] + 2]++;
    }
    for (uint32_t angle = 0; angle < angles; angle++) {
        sweep->first[j][angle + 2] += sweep->first[j][angle + 1];
    }
    for (uint32_t r = 0; r < angles; r++) {
        sweep->starts[j][sweep->first[j][met[r] + 1]++] = (uint8_t)r;
    }
}

static void init_sweep(struct sweep *sweep, const struct cells *cells,
                       const struct rest_table *table, struct weft_arena *arena,
                       struct weft_arena scratch)
{
    const uint32_t jobs = cells->piece_count;
    *sweep = (struct sweep){
        .cells = cells,
        .circle = &cells->circles[0],
        .table = table,
        .angles = cells->pieces[0].angles,
        .jobs = jobs,
        .codes = WEFT_NEW(arena, uint32_t *, jobs),
        .last = WEFT_NEW(arena, uint16_t *, jobs),
        .first = WEFT_NEW(arena, uint32_t *, jobs),
        .starts = WEFT_NEW(arena, uint8_t *, jobs),
        .latest = WEFT_NEW(arena, uint16_t, jobs),
    };
    for (uint32_t j = 0; j < jobs; j++) {
        const struct cell_place *fixed = &cells->pieces[sweep->fixed].places[0];
        sweep->fixed = cells->pieces[j].places[0].top_load > fixed->top_load ? j : sweep->fixed;
        list_codes(sweep, j, arena);
        list_starts(sweep, j, arena, scratch);
    }
}

static bool applies(const struct cells *cells, const struct rest_table *const *tables)
{
    if (cells->circle_count != 1 || tables[0] == NULL || cells->piece_count > JOBS_MAX ||
        cells->circles[0].cuts > CUTS_MAX) {
        return false;
    }
    for (uint32_t p = 0; p < cells->piece_count; p++) {
        if (cells->pieces[p].angles > ROTATIONS_MAX || cells->pieces[p].places[0].repeats > 1) {
            return false;
        }
    }
    return true;
}

void interleave_sweep(struct found *found, const struct cells *cells,
                      const struct rest_table *const *tables, const struct search_limits *limits,
                      struct weft_arena scratch)
{
    found->bound = 0;
    found->proved = false;
    if (!applies(cells, tables)) {
        return;
    }
    const double least = fmax(0, tables[0]->least);
    const double most = found->value.worst - tables[0]->least - VALUE_EQUAL;
    found->bound = fmin(least, found->value.worst);
    found->proved = most <= 0;
    if (found->proved) {
        return;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct sweep sweep;
    init_sweep(&sweep, cells, tables[0], &kept, scratch);
    sweep.slots = WEFT_NEW(&kept, uint32_t, (size_t)2 * STATES_MAX);
    sweep.used = WEFT_NEW_RAW(&kept, uint32_t, STATES_MAX);
    sweep.now.states = WEFT_NEW_RAW(&kept, struct state, STATES_MAX);
    sweep.next.states = WEFT_NEW_RAW(&kept, struct state, STATES_MAX);
    sweep.work = found->work;
    sweep.work_limit = limits->work_limit;
    for (uint32_t halvings = BUDGETS; halvings-- > 0 && !found->proved;) {
        struct state answer;
        sweep.budget = most / (1u << halvings);
        bool any = sweep_circle(&sweep, &answer);
        if (sweep.full || weft_stopped(limits->stop)) {
            break;
        }
        if (any) {
            found->value.worst = found->value.sum = fmax(0, sweep.table->least + answer.cost);
            for (uint32_t j = 0; j < sweep.jobs; j++) {
                found->rotations[j] = answer.rotations[j];
            }
        }
        found->proved = any || halvings == 0;
        found->bound = fmin(found->value.worst, sweep.table->least + sweep.budget);
    }
    found->bound = found->proved ? found->value.worst : found->bound;
    found->work = sweep.work;
}
