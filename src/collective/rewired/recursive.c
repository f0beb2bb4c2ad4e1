// SPDX-License-Identifier: Apache-2.0
// Recursive exchange over a chip's own circuits: the time of each round on its circuits and on the
// ring, and the radices and choices of the least sum.
//
// Rounds nest: the first of the reduce-scatter and the last of the all-gather have the same radix
// and circuits, and so on inwards. So what is left of both after the radices of product q depends
// on q and on what is wired at its two ends alone: least(q, before, after).

#include "weft/collective/recursive.h"

#include <math.h>
#include <string.h>

enum wired {
    WIRED_RING,
    WIRED_CIRCUITS, // those of the round outside
    WIRED_ANY,      // behind the last round: whatever there is
    WIRED_COUNT,
};

// What a round does on the ring: most flows on a segment, hops of the longest.
struct on_ring {
    uint32_t load;
    uint32_t hops;
};

struct choice {
    double seconds;
    uint32_t radix;  // 0: none
    uint32_t widest; // radix, of this round and those inside
    uint8_t first;   // enum wired: of the reduce-scatter's round,
    uint8_t last;    // and of the all-gather's
};

struct program {
    const struct weft_recursive_options *options;
    double size_bytes;
    enum weft_recursive_policy policy;
    bool reduces, gathers;
    uint32_t divisor_count;
    uint32_t *divisors;
    const uint32_t *fixed; // radices; NULL: any
    uint32_t fixed_count;
    struct on_ring *ring;  // [product * divisor_count + radix], by divisor; load 0: not yet known
    struct choice *choice; // [divisor][wired before][wired after]
};

static bool does_both(const struct weft_recursive_options *options)
{
    return options->kind == WEFT_COLLECTIVE_ALLREDUCE;
}

double weft_recursive_ring_seconds(const struct weft_recursive_options *options, double size_bytes)
{
    double rounds = (options->chip_count - 1.0) * (does_both(options) ? 2 : 1);
    return rounds * (options->hop_s + size_bytes / options->chip_count / options->rate_Bps);
}

// ---- rounds ----

// A circuit's rate where a chip has so many; 0: there are not enough wavelengths.
static double circuit_Bps(const struct weft_recursive_options *options, uint32_t circuits)
{
    uint32_t waves = options->wavelengths;
    return waves == 0 ? options->rate_Bps / circuits
                      : options->rate_Bps * (waves / circuits) / waves;
}

// One group's flows, since groups share no segment: those of a round go between ranks whose
// distance is a multiple of the stride, each the shorter way, opposite ones up.
static struct on_ring measure(uint32_t n, uint32_t radix, uint32_t stride, bool one_way,
                              struct weft_arena scratch)
{
    struct on_ring found = {0};
    uint32_t group = radix * stride;
    int64_t *ends[2] = {WEFT_NEW(&scratch, int64_t, n + 1), WEFT_NEW(&scratch, int64_t, n + 1)};
    for (uint32_t from = 0; from < group; from++) {
        for (uint32_t to = from % stride; to < group; to += stride) {
            uint32_t up = (to + n - from) % n;
            bool goes_up = one_way || 2 * (uint64_t)up <= n;
            uint32_t hops = goes_up ? up : n - up;
            uint32_t start = goes_up ? from : to; // segments down are those up from the other end
            ends[goes_up ? 0 : 1][start]++;
            ends[goes_up ? 0 : 1][(start + hops) % n]--;
            ends[goes_up ? 0 : 1][n] += start + hops >= n && hops > 0;
            found.hops = hops > found.hops ? hops : found.hops;
        }
    }
    for (uint32_t way = 0; way < 2; way++) {
        int64_t flows = ends[way][n];
        for (uint32_t s = 0; s < n; s++) {
            flows += ends[way][s];
            found.load = flows > found.load ? (uint32_t)flows : found.load;
        }
    }
    return found;
}

static double ring_way_Bps(const struct weft_recursive_options *options)
{
    return options->wavelengths == 1 ? options->rate_Bps : circuit_Bps(options, 2);
}

// A round of this radix behind radices of product divisors[at].
static double round_s(struct program *program, uint32_t at, uint32_t radix_at, enum wired wired,
                      struct weft_arena scratch)
{
    const struct weft_recursive_options *options = program->options;
    uint32_t radix = program->divisors[radix_at];
    double stride = (double)options->chip_count / program->divisors[at] / radix;
    double bytes = program->size_bytes / options->chip_count * stride;
    if (wired == WIRED_CIRCUITS) {
        return options->hop_s + bytes / circuit_Bps(options, radix - 1);
    }
    struct on_ring *ring = &program->ring[(size_t)at * program->divisor_count + radix_at];
    if (ring->load == 0) {
        *ring = measure(options->chip_count, radix, (uint32_t)stride, options->wavelengths == 1,
                        scratch);
    }
    return ring->hops * options->hop_s + bytes * ring->load / ring_way_Bps(options);
}

static double change_s(const struct program *program, enum wired before, enum wired after)
{
    bool stays = after == WIRED_ANY || (before == WIRED_RING && after == WIRED_RING);
    return stays ? 0 : program->options->change_s;
}

// ---- the program ----

static uint32_t index_of(const struct program *program, uint32_t divisor)
{
    uint32_t at = 0;
    while (program->divisors[at] != divisor) {
        at++;
    }
    return at;
}

static struct choice *choice_at(const struct program *program, uint32_t at, enum wired before,
                                enum wired after)
{
    return &program->choice[((size_t)at * WIRED_COUNT + before) * WIRED_COUNT + after];
}

// Whether a round of this radix may stand behind radices of this product.
static bool is_allowed(const struct program *program, uint32_t at, uint32_t radix)
{
    const struct weft_recursive_options *options = program->options;
    uint32_t product = program->divisors[at];
    if (radix < 2 || options->chip_count / product % radix != 0 ||
        (options->circuits_max > 0 && radix - 1 > options->circuits_max) ||
        circuit_Bps(options, radix - 1) <= 0) {
        return false;
    }
    uint32_t before = 1;
    uint32_t k = 0;
    while (k < program->fixed_count && before < product) {
        before *= program->fixed[k++];
    }
    return program->fixed == NULL ||
           (before == product && k < program->fixed_count && program->fixed[k] == radix);
}

// With all radices behind: the turn from one half to the other, or an end.
static double end_s(const struct program *program, enum wired before, enum wired after)
{
    if (!program->gathers) {
        return 0;
    }
    if (!program->reduces) {
        return change_s(program, WIRED_RING, after);
    }
    bool keeps = program->policy != WEFT_RECURSIVE_ALWAYS && before == after;
    return keeps ? 0 : change_s(program, before, after);
}

static void try_radix(struct program *program, struct choice *best, uint32_t at, uint32_t radix_at,
                      const enum wired ends[2], struct weft_arena scratch)
{
    uint32_t radix = program->divisors[radix_at];
    uint32_t next = index_of(program, program->divisors[at] * radix);
    enum wired least = program->policy == WEFT_RECURSIVE_CHOOSE ? WIRED_RING : WIRED_CIRCUITS;
    for (uint32_t pair = 0; pair < 4; pair++) {
        enum wired first = (enum wired)(pair / 2);
        enum wired last = (enum wired)(pair % 2);
        if (first < (program->reduces ? least : WIRED_RING) ||
            first > (program->reduces ? WIRED_CIRCUITS : WIRED_RING) ||
            last < (program->gathers ? least : WIRED_RING) ||
            last > (program->gathers ? WIRED_CIRCUITS : WIRED_RING)) {
            continue;
        }
        double seconds = choice_at(program, next, first, last)->seconds;
        if (program->reduces) {
            seconds +=
                change_s(program, ends[0], first) + round_s(program, at, radix_at, first, scratch);
        }
        if (program->gathers) {
            seconds +=
                round_s(program, at, radix_at, last, scratch) + change_s(program, last, ends[1]);
        }
        // Of equal times that with the fewest circuits.
        uint32_t inside = choice_at(program, next, first, last)->widest;
        uint32_t widest = radix > inside ? radix : inside;
        double rounding = seconds * 1e-12;
        if (seconds < best->seconds - rounding ||
            (seconds <= best->seconds + rounding && widest < best->widest)) {
            *best = (struct choice){seconds, radix, widest, (uint8_t)first, (uint8_t)last};
        }
    }
}

static void solve(struct program *program, struct weft_arena scratch)
{
    for (uint32_t at = program->divisor_count; at-- > 0;) {
        for (uint32_t state = 0; state < WIRED_COUNT * WIRED_COUNT; state++) {
            const enum wired ends[2] = {(enum wired)(state / WIRED_COUNT),
                                        (enum wired)(state % WIRED_COUNT)};
            struct choice *best = choice_at(program, at, ends[0], ends[1]);
            *best = (struct choice){.seconds = (double)INFINITY};
            if (program->divisors[at] == program->options->chip_count) {
                best->seconds = end_s(program, ends[0], ends[1]);
                continue;
            }
            for (uint32_t r = 1; r < program->divisor_count; r++) {
                if (is_allowed(program, at, program->divisors[r])) {
                    try_radix(program, best, at, r, ends, scratch);
                }
            }
        }
    }
}

// ---- the plan ----

static void count_changes(struct weft_recursive_plan *plan, enum weft_recursive_policy policy,
                          bool both)
{
    for (uint32_t t = 0; t < plan->round_count; t++) {
        bool stays = (plan->stays >> t & 1) != 0;
        bool stayed = t == 0 || (plan->stays >> (t - 1) & 1) != 0;
        bool turns_back = both && 2 * t == plan->round_count;
        bool kept = stays ? stayed : turns_back && !stayed && policy != WEFT_RECURSIVE_ALWAYS;
        plan->change_count += !kept;
    }
}

static void read_plan(struct weft_recursive_plan *plan, const struct program *program)
{
    enum wired before = WIRED_RING;
    enum wired after = WIRED_ANY;
    uint32_t at = 0;
    bool both = program->reduces && program->gathers;
    const struct choice *choice = choice_at(program, 0, before, after);
    *plan = (struct weft_recursive_plan){.seconds = choice->seconds};
    if (isinf(plan->seconds)) {
        return;
    }
    bool first_stays[WEFT_RADICES_MAX] = {false};
    bool last_stays[WEFT_RADICES_MAX] = {false};
    while (choice->radix > 0) {
        first_stays[plan->radix_count] = choice->first == WIRED_RING;
        last_stays[plan->radix_count] = choice->last == WIRED_RING;
        plan->radices[plan->radix_count++] = choice->radix;
        at = index_of(program, program->divisors[at] * choice->radix);
        choice = choice_at(program, at, (enum wired)choice->first, (enum wired)choice->last);
    }
    for (uint32_t k = 0; k < plan->radix_count && program->reduces; k++) {
        plan->stays |= (uint64_t)first_stays[k] << plan->round_count++;
    }
    for (uint32_t k = plan->radix_count; k-- > 0 && program->gathers;) {
        plan->stays |= (uint64_t)last_stays[k] << plan->round_count++;
    }
    count_changes(plan, program->policy, both);
}

static void set_up(struct program *program, const struct weft_recursive_options *options,
                   struct weft_arena *arena)
{
    uint32_t n = options->chip_count;
    uint32_t count = 0;
    WEFT_ASSERT(n > 1 && options->kind <= WEFT_COLLECTIVE_ALLGATHER);
    for (uint32_t d = 1; d <= n / d; d++) {
        count += n % d == 0 ? 1u + (d != n / d) : 0;
    }
    *program = (struct program){
        .options = options,
        .reduces = options->kind != WEFT_COLLECTIVE_ALLGATHER,
        .gathers = options->kind != WEFT_COLLECTIVE_REDUCE_SCATTER,
        .divisors = WEFT_NEW(arena, uint32_t, count),
        .ring = WEFT_NEW(arena, struct on_ring, (size_t)count * count),
        .choice = WEFT_NEW(arena, struct choice, (size_t)count * WIRED_COUNT * WIRED_COUNT),
    };
    for (uint32_t d = 1; program->divisor_count < count; d++) {
        if (n % d == 0) {
            program->divisors[program->divisor_count++] = d;
        }
    }
}

static void answer(struct weft_recursive_plan *plan, struct program *program, double size_bytes,
                   struct weft_arena scratch)
{
    program->size_bytes = size_bytes;
    solve(program, scratch);
    read_plan(plan, program);
    double ring_s = weft_recursive_ring_seconds(program->options, size_bytes);
    if (program->fixed == NULL && !(plan->seconds < ring_s * (1 - 1e-12))) {
        *plan = (struct weft_recursive_plan){
            .seconds = ring_s,
            .is_ring = true,
            .round_count = (program->options->chip_count - 1) * (1u + does_both(program->options)),
        };
    }
}

void weft_recursive_follow(struct weft_recursive_plan *plan,
                           const struct weft_recursive_options *options, double size_bytes,
                           enum weft_recursive_policy policy, const uint32_t *radices,
                           uint32_t radix_count, struct weft_arena scratch)
{
    struct program program;
    struct weft_arena own = weft_arena_split(&scratch);
    set_up(&program, options, &own);
    program.policy = policy;
    program.fixed = radices;
    program.fixed_count = radix_count;
    answer(plan, &program, size_bytes, scratch);
}

void weft_recursive_best(struct weft_recursive_plan *plan,
                         const struct weft_recursive_options *options, double size_bytes,
                         enum weft_recursive_policy policy, struct weft_arena scratch)
{
    weft_recursive_follow(plan, options, size_bytes, policy, NULL, 0, scratch);
}

// ---- regimes ----

#define SIZE_MOST ((uint64_t)1 << 60)

static bool is_saved(struct program *program, const struct weft_recursive_goal *goal, uint64_t size,
                     struct weft_arena scratch)
{
    struct weft_recursive_plan plan;
    answer(&plan, program, (double)size, scratch);
    return plan.seconds <=
           (1 - goal->saved_ratio) * weft_recursive_ring_seconds(program->options, (double)size);
}

double weft_recursive_regime(const struct weft_recursive_goal *goal,
                             const struct weft_recursive_options *options,
                             struct weft_arena scratch)
{
    struct program program;
    struct weft_arena own = weft_arena_split(&scratch);
    set_up(&program, options, &own);
    program.policy = goal->policy;
    program.fixed = goal->radices;
    program.fixed_count = goal->radix_count;
    if (is_saved(&program, goal, SIZE_MOST, scratch)) {
        return (double)INFINITY;
    }
    uint64_t low = 0; // so much is saved, or it is no size
    uint64_t high = SIZE_MOST;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        *(is_saved(&program, goal, middle, scratch) ? &low : &high) = middle;
    }
    return (double)low;
}
