// SPDX-License-Identifier: Apache-2.0
// In which order planes change, one after the other, so that few pairs are ever without a circuit.
//
// A pair is cut off when the last of its old circuits turns away and none of its new ones is lit.
// That happens once at most, since new circuits stay: so what an order costs is a sum over its
// steps, each of which depends only on which planes have changed before, and the dynamic program
// over sets of planes is exact (Held and Karp, J. SIAM 10, 1962).

#include "weft/circuit.h"

#include <string.h>

// Orders of so many planes are all looked at: 2^10 sets, each with 10 planes to go.
#define EXACT_MAX 10u

// A pair that has circuits before and after, none of which stays where it is.
struct pair {
    uint32_t before_count; // on planes that have not changed
    uint32_t after_count;  // on planes that have
    uint32_t before_set;   // of changing planes, by place in the list; where there are few
    uint32_t after_set;
    bool is_double;
};

struct stagger {
    uint32_t n;
    const uint32_t *before;
    const uint32_t *after;
    uint32_t *planes; // that change
    uint32_t plane_count;
    struct pair *pairs;
    uint32_t pair_count;
    uint32_t *pair_of; // [from * n + to]
};

struct cost {
    uint32_t doubles;
    uint32_t singles;
};

static bool is_less(struct cost a, struct cost b)
{
    return a.doubles != b.doubles ? a.doubles < b.doubles : a.singles < b.singles;
}

static struct cost add(struct cost a, struct cost b)
{
    return (struct cost){a.doubles + b.doubles, a.singles + b.singles};
}

static uint32_t pair_at(const struct stagger *self, const uint32_t *peers, uint32_t plane,
                        uint32_t from)
{
    uint32_t to = peers[(size_t)plane * self->n + from];
    return to == from ? WEFT_NONE : self->pair_of[(size_t)from * self->n + to];
}

static void list_planes(struct stagger *self, uint32_t plane_count, struct weft_arena *arena)
{
    size_t n = self->n;
    self->planes = WEFT_NEW_RAW(arena, uint32_t, plane_count);
    for (uint32_t plane = 0; plane < plane_count; plane++) {
        if (memcmp(&self->before[plane * n], &self->after[plane * n], n * sizeof(uint32_t)) != 0) {
            self->planes[self->plane_count++] = plane;
        }
    }
}

static void list_pairs(struct stagger *self, uint32_t plane_count, struct weft_arena *arena)
{
    size_t n = self->n;
    uint32_t *before = WEFT_NEW(arena, uint32_t, n * n);
    uint32_t *after = WEFT_NEW(arena, uint32_t, n * n);
    bool *stays = WEFT_NEW(arena, bool, n *n);
    self->pair_of = WEFT_NEW_RAW(arena, uint32_t, n * n);
    memset(self->pair_of, 0xff, n * n * sizeof(uint32_t)); // WEFT_NONE
    for (size_t port = 0; port < n * plane_count; port++) {
        size_t from = port % n;
        before[from * n + self->before[port]]++;
        after[from * n + self->after[port]]++;
        stays[from * n + self->before[port]] |= self->before[port] == self->after[port];
    }
    self->pairs = WEFT_NEW(arena, struct pair, n * plane_count);
    for (size_t from = 0; from < n; from++) {
        for (size_t to = 0; to < n; to++) {
            size_t p = from * n + to;
            if (from != to && before[p] > 0 && after[p] > 0 && !stays[p]) {
                self->pair_of[p] = self->pair_count;
                self->pairs[self->pair_count++] = (struct pair){
                    .before_count = before[p], .is_double = before[p] > 1 && after[p] > 1};
            }
        }
    }
    for (uint32_t i = 0; i < self->plane_count; i++) {
        for (uint32_t from = 0; from < n; from++) {
            uint32_t was = pair_at(self, self->before, self->planes[i], from);
            uint32_t is = pair_at(self, self->after, self->planes[i], from);
            if (was != WEFT_NONE) {
                self->pairs[was].before_set |= 1u << i % 32;
            }
            if (is != WEFT_NONE) {
                self->pairs[is].after_set |= 1u << i % 32;
            }
        }
    }
}

// ---- all orders ----

// What it costs that the i-th plane changes when those of the set have.
static struct cost cost_of(const struct stagger *self, uint32_t set, uint32_t i)
{
    struct cost cost = {0, 0};
    for (uint32_t p = 0; p < self->pair_count; p++) {
        const struct pair *pair = &self->pairs[p];
        if ((pair->before_set & ~set) == 1u << i && (pair->after_set & set) == 0) {
            cost.doubles += pair->is_double;
            cost.singles += !pair->is_double;
        }
    }
    return cost;
}

static struct cost order_exactly(const struct stagger *self, uint32_t *order,
                                 struct weft_arena scratch)
{
    uint32_t count = self->plane_count;
    uint32_t sets = 1u << count;
    struct cost *best = WEFT_NEW_RAW(&scratch, struct cost, sets);
    uint8_t *last = WEFT_NEW(&scratch, uint8_t, sets);
    best[0] = (struct cost){0, 0};
    for (uint32_t set = 1; set < sets; set++) {
        best[set] = (struct cost){UINT32_MAX, UINT32_MAX};
        for (uint32_t i = 0; i < count; i++) {
            if ((set >> i & 1) == 0) {
                continue;
            }
            uint32_t rest = set & ~(1u << i);
            struct cost cost = add(best[rest], cost_of(self, rest, i));
            if (is_less(cost, best[set])) {
                best[set] = cost;
                last[set] = (uint8_t)i;
            }
        }
    }
    uint32_t set = sets - 1;
    for (uint32_t place = count; place > 0; place--) {
        order[place - 1] = self->planes[last[set]];
        set &= ~(1u << last[set]);
    }
    return best[sets - 1];
}

// ---- the next plane that cuts the fewest ----

static struct cost cost_now(const struct stagger *self, uint32_t plane)
{
    struct cost cost = {0, 0};
    for (uint32_t from = 0; from < self->n; from++) {
        uint32_t p = pair_at(self, self->before, plane, from);
        if (p != WEFT_NONE && self->pairs[p].before_count == 1 && self->pairs[p].after_count == 0) {
            cost.doubles += self->pairs[p].is_double;
            cost.singles += !self->pairs[p].is_double;
        }
    }
    return cost;
}

static void change_plane(struct stagger *self, uint32_t plane)
{
    for (uint32_t from = 0; from < self->n; from++) {
        uint32_t was = pair_at(self, self->before, plane, from);
        uint32_t is = pair_at(self, self->after, plane, from);
        if (was != WEFT_NONE) {
            self->pairs[was].before_count--;
        }
        if (is != WEFT_NONE) {
            self->pairs[is].after_count++;
        }
    }
}

static struct cost order_greedily(struct stagger *self, uint32_t *order)
{
    struct cost sum = {0, 0};
    for (uint32_t place = 0; place < self->plane_count; place++) {
        uint32_t best = place;
        struct cost least = cost_now(self, self->planes[place]);
        for (uint32_t i = place + 1; i < self->plane_count; i++) {
            struct cost cost = cost_now(self, self->planes[i]);
            if (is_less(cost, least)) {
                least = cost;
                best = i;
            }
        }
        order[place] = self->planes[best];
        self->planes[best] = self->planes[place];
        change_plane(self, order[place]);
        sum = add(sum, least);
    }
    return sum;
}

void weft_circuit_order_planes(struct weft_circuit_stagger *result, const uint32_t *before,
                               const uint32_t *after, uint32_t node_count, uint32_t plane_count,
                               const struct weft_circuit_delays *delays, bool stagger,
                               struct weft_arena *arena)
{
    struct stagger self = {.n = node_count, .before = before, .after = after};
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, plane_count);
    uint64_t *start_ps = WEFT_NEW(arena, uint64_t, plane_count);
    struct weft_arena scratch = *arena; // what follows is gone on return
    list_planes(&self, plane_count, &scratch);
    list_pairs(&self, plane_count, &scratch);
    struct cost cost = {0, 0};
    bool is_proved = true;
    uint64_t turn_ps = delays->dark_ps + delays->retrain_ps + delays->first_ps;
    if (!stagger) {
        memcpy(order, self.planes, self.plane_count * sizeof(uint32_t));
        for (uint32_t p = 0; p < self.pair_count; p++) { // none of them keeps a circuit
            cost.doubles += self.pairs[p].is_double;
            cost.singles += !self.pairs[p].is_double;
        }
    } else if (self.plane_count <= EXACT_MAX) {
        cost = order_exactly(&self, order, scratch);
    } else {
        cost = order_greedily(&self, order);
        is_proved = cost.doubles == 0 && cost.singles == 0;
    }
    for (uint32_t i = 0; i < self.plane_count && stagger; i++) {
        start_ps[i] = i * turn_ps;
    }
    uint64_t last_ps = self.plane_count > 0 ? start_ps[self.plane_count - 1] : 0;
    *result = (struct weft_circuit_stagger){
        .order = order,
        .count = self.plane_count,
        .start_ps = start_ps,
        .end_ps = self.plane_count > 0 ? last_ps + delays->command_ps + turn_ps : 0,
        .cut_single = cost.singles,
        .cut_double = cost.doubles,
        .is_proved = is_proved,
    };
}
