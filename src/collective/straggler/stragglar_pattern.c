// SPDX-License-Identifier: Apache-2.0
// StragglAR's rotating pattern: at which age a chunk reaches each position, and who sends it there.
// The paper has it for n = 2^L; what follows finds one for any n by random draws and a matching,
// O(m^2) a try. docs/stragglar.md derives both conditions.
//
// Two conditions make a pattern valid. Each healthy rank gets one chunk a round iff age[y] - y mod
// m is a permutation; M. Hall (Proc. AMS 1952) arranges any ages whose sum is a multiple of m so.
// Each sends one a round, but none while it meets the straggler, iff the phases tau = 1 .. m-1 (a
// rank meets the straggler at phase 0) can be matched to ages g, q[g] to an age, so that the rank
// holds at phase tau the chunk of age g: age[(g - tau) mod m] < g.

#include "stragglar.h"

#include <string.h>

#define AGE_MAX 40u

struct shape {
    uint32_t healthy_count;
    uint32_t age_last;
    uint32_t at[AGE_MAX + 1]; // ranks that get a chunk at this age
};

// No age may have more receivers than there are holders before it.
static bool doubles_at_most(const struct shape *shape)
{
    uint64_t holders = shape->at[0];
    for (uint32_t g = 1; g <= shape->age_last; g++) {
        if (shape->at[g] > holders) {
            return false;
        }
        holders += shape->at[g];
    }
    return holders == shape->healthy_count;
}

// Moves one receiver to the next age, as late as that can be; or, if not `later`, to the age
// before, from the last. False: none can.
static bool move_one(struct shape *shape, bool later)
{
    for (uint32_t i = 1; i < shape->age_last; i++) {
        uint32_t from = shape->age_last - i + (later ? 0 : 1);
        uint32_t to = later ? from + 1 : from - 1;
        if (shape->at[from] == 0) {
            continue;
        }
        shape->at[from]--;
        shape->at[to]++;
        if (doubles_at_most(shape)) {
            return true;
        }
        shape->at[from]++;
        shape->at[to]--;
    }
    return false;
}

// Receivers by age: holders grow by `growth` an age, then are moved until ages sum to `age_sum`.
static bool draw_shape(struct shape *shape, double growth, uint64_t age_sum)
{
    uint32_t m = shape->healthy_count;
    memset(shape->at, 0, sizeof shape->at);
    shape->at[0] = 1;
    uint32_t holders = 1;
    uint64_t sum = 0;
    for (uint32_t g = 1; g <= shape->age_last; g++) {
        uint32_t more = (uint32_t)((double)holders * growth + 0.5);
        more = more < 1 ? 1 : more;
        more = more > m - holders ? m - holders : more;
        shape->at[g] = more;
        holders += more;
        sum += (uint64_t)g * more;
    }
    if (holders < m) {
        return false;
    }
    for (; sum < age_sum; sum++) {
        if (!move_one(shape, true)) {
            return false;
        }
    }
    for (; sum > age_sum; sum--) {
        if (!move_one(shape, false)) {
            return false;
        }
    }
    return true;
}

// ---- M. Hall's exchange chain ----

// Gives every b in Z_m one of `values`, so that b + value is a permutation. Of two b without a
// value one takes the next value v; if b + v is another's, that one must give way and passes its
// own value on to the b that waits, and so on. What the chain asks for is C - b for the b that gave
// way last, C = the sum of v and the two b at first, so no b gives way twice: m steps at most.
static void arrange(uint32_t *value_of, const uint32_t *values, uint32_t *waiting, uint32_t m,
                    struct weft_arena scratch)
{
    WEFT_ASSERT(m > 0);
    uint32_t *owner = WEFT_NEW_RAW(&scratch, uint32_t, m);
    for (uint32_t c = 0; c < m; c++) {
        owner[c] = WEFT_NONE;
    }
    for (uint32_t left = m; left > 1; left--) {
        uint32_t value = values[left - 1];
        uint32_t taker = waiting[left - 1];
        uint32_t other = waiting[left - 2];
        for (;;) {
            uint32_t c = (taker + value) % m;
            uint32_t displaced = owner[c];
            owner[c] = taker;
            value_of[taker] = value;
            if (displaced == WEFT_NONE) {
                break;
            }
            value = value_of[displaced];
            taker = other;
            other = displaced;
        }
        waiting[left - 2] = other;
    }
    // The sum of all values is 0 mod m: the last place is the right one.
    WEFT_ASSERT(owner[(waiting[0] + values[0]) % m] == WEFT_NONE);
    value_of[waiting[0]] = values[0];
}

// A random arrangement of the shape's ages: age[y] - y is a permutation and age[0] = 0.
static void draw_ages(uint32_t *age, const struct shape *shape, struct weft_rng *rng,
                      struct weft_arena scratch)
{
    uint32_t m = shape->healthy_count;
    uint32_t *values = WEFT_NEW_RAW(&scratch, uint32_t, m);
    uint32_t *waiting = WEFT_NEW_RAW(&scratch, uint32_t, m);
    uint32_t *value_of = WEFT_NEW_RAW(&scratch, uint32_t, m);
    uint32_t count = 0;
    for (uint32_t g = 0; g <= shape->age_last; g++) {
        for (uint32_t i = 0; i < shape->at[g]; i++) {
            values[count++] = g;
        }
    }
    for (uint32_t b = 0; b < m; b++) {
        waiting[b] = b;
    }
    weft_rng_shuffle(rng, values, m);
    weft_rng_shuffle(rng, waiting, m);
    arrange(value_of, values, waiting, m, scratch);
    uint32_t zero = 0;
    while (value_of[zero] != 0) {
        zero++;
    }
    for (uint32_t y = 0; y < m; y++) {
        age[y] = value_of[(zero + m - y) % m];
    }
}

// ---- who sends ----

struct matcher {
    const struct shape *shape;
    const uint32_t *age;
    uint32_t count[AGE_MAX + 1];
    uint32_t *phases[AGE_MAX + 1]; // matched to each age
};

static bool holds(const struct matcher *matcher, uint32_t phase, uint32_t g)
{
    uint32_t m = matcher->shape->healthy_count;
    return matcher->age[(g % m + m - phase) % m] < g;
}

// Matches one more phase along a shortest alternating path over the ages.
static bool match_phase(struct matcher *matcher, uint32_t phase)
{
    const struct shape *shape = matcher->shape;
    uint32_t parent[AGE_MAX + 1]; // the age whose `through`-th phase would move here
    uint32_t through[AGE_MAX + 1];
    bool seen[AGE_MAX + 1] = {false};
    uint32_t queue[AGE_MAX + 1];
    uint32_t queued = 0;
    for (uint32_t g = 1; g <= shape->age_last; g++) {
        if (shape->at[g] > 0 && holds(matcher, phase, g)) {
            seen[g] = true;
            parent[g] = 0;
            queue[queued++] = g;
        }
    }
    for (uint32_t q = 0; q < queued; q++) {
        uint32_t g = queue[q];
        if (matcher->count[g] < shape->at[g]) {
            matcher->count[g]++;
            uint32_t slot = matcher->count[g] - 1;
            while (parent[g] != 0) {
                uint32_t before = parent[g];
                matcher->phases[g][slot] = matcher->phases[before][through[g]];
                slot = through[g];
                g = before;
            }
            matcher->phases[g][slot] = phase;
            return true;
        }
        for (uint32_t i = 0; i < matcher->count[g]; i++) {
            for (uint32_t next = 1; next <= shape->age_last; next++) {
                if (!seen[next] && shape->at[next] > 0 &&
                    holds(matcher, matcher->phases[g][i], next)) {
                    seen[next] = true;
                    parent[next] = g;
                    through[next] = i;
                    queue[queued++] = next;
                }
            }
        }
    }
    return false;
}

static bool find_senders(uint32_t *sender, const uint32_t *age, const struct shape *shape,
                         struct weft_arena scratch)
{
    uint32_t m = shape->healthy_count;
    struct matcher matcher = {.shape = shape, .age = age};
    for (uint32_t g = 1; g <= shape->age_last; g++) {
        matcher.phases[g] = WEFT_NEW_RAW(&scratch, uint32_t, shape->at[g]);
    }
    for (uint32_t phase = 1; phase < m; phase++) {
        if (!match_phase(&matcher, phase)) {
            return false;
        }
    }
    sender[0] = WEFT_NONE;
    for (uint32_t y = 1; y < m; y++) {
        uint32_t g = age[y];
        uint32_t phase = matcher.phases[g][--matcher.count[g]];
        sender[y] = (g % m + m - phase) % m;
    }
    return true;
}

// ---- the search ----

// Slower growth leaves the matching more choice; most n need none of it.
static bool try_ages(uint32_t *age, uint32_t *sender, struct shape *shape, uint64_t age_sum,
                     struct weft_arena scratch)
{
    const uint32_t draws = 24;
    struct weft_rng rng;
    weft_rng_init(&rng, shape->healthy_count);
    for (uint32_t slower = 0; slower < 20; slower++) {
        if (!draw_shape(shape, 1 - 0.01 * slower, age_sum)) {
            continue;
        }
        for (uint32_t i = 0; i < draws; i++) {
            draw_ages(age, shape, &rng, scratch);
            if (find_senders(sender, age, shape, scratch)) {
                return true;
            }
        }
    }
    return false;
}

bool stragglar_find_pattern(struct stragglar_pattern *pattern, uint32_t healthy_count,
                            struct weft_arena *arena, struct weft_arena scratch)
{
    WEFT_ASSERT(healthy_count >= 3);
    uint32_t levels = 0; // ceil(log2 n)
    while ((1ull << levels) < (uint64_t)healthy_count + 1) {
        levels++;
    }
    uint32_t *age = WEFT_NEW(arena, uint32_t, healthy_count);
    uint32_t *sender = WEFT_NEW(arena, uint32_t, healthy_count);
    // A rank holds age_last - mean age unfinished chunks: one only where every round doubles.
    bool whole = (1ull << levels) == (uint64_t)healthy_count + 1;
    for (uint32_t mean = levels - 1; mean <= levels; mean++) {
        for (uint32_t more = whole ? 1 : 2; more <= 4; more++) {
            struct shape shape = {.healthy_count = healthy_count, .age_last = mean + more};
            if (try_ages(age, sender, &shape, (uint64_t)mean * healthy_count, scratch)) {
                *pattern = (struct stragglar_pattern){
                    .healthy_count = healthy_count,
                    .age_last = shape.age_last,
                    .age = age,
                    .sender = sender,
                };
                return true;
            }
        }
    }
    return false;
}
