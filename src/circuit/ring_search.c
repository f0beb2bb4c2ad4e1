// SPDX-License-Identifier: Apache-2.0
// Fewer wavelengths for a ring, by search.
//
// Tabu search over colorings that may conflict (Hertz and de Werra, "Using tabu search techniques
// for graph coloring", Computing 39, 1987): of the arcs that meet another one of their color, one
// moves to the color that leaves the fewest conflicts, and may not move back for a while. The
// tenure is that of Galinier and Hao ("Hybrid evolutionary algorithms for graph coloring", J. Comb.
// Optim. 1999). Where arcs may turn, the colors of both fibers are open to each.

#include "circuit/ring.h"

#include <string.h>

#define MOVE_LIMIT 200000u
// Cells of the table of conflicts: 64 MiB.
#define CELLS_MAX ((size_t)16 << 20)
#define TENURE 0.6
#define TENURE_NOISE 10u

struct search {
    struct ring_work *work;
    uint32_t color_count; // of all fibers
    uint32_t *colors;
    uint32_t *meets;       // arc * color_count + color: arcs of this color that it would meet
    uint64_t *tabu;        // the same: may be taken again from this move on
    uint32_t *conflicting; // arcs that meet one of their color
    uint32_t *place;       // in that list; WEFT_NONE = not in it
    uint32_t conflicting_count;
    uint32_t conflicts; // pairs
};

static uint32_t *cell(const struct search *self, uint32_t arc, uint32_t color)
{
    return &self->meets[(size_t)arc * self->color_count + color];
}

// Keeps the list of arcs in conflict.
static void note(struct search *self, uint32_t arc)
{
    bool conflicts = *cell(self, arc, self->colors[arc]) > 0;
    uint32_t at = self->place[arc];
    if (conflicts && at == WEFT_NONE) {
        self->place[arc] = self->conflicting_count;
        self->conflicting[self->conflicting_count++] = arc;
    } else if (!conflicts && at != WEFT_NONE) {
        uint32_t last = self->conflicting[--self->conflicting_count];
        self->conflicting[at] = last;
        self->place[last] = at;
        self->place[arc] = WEFT_NONE;
    }
}

// Whoever meets the arc on the color's fiber meets one more, or one fewer, of that color.
static void spread(struct search *self, uint32_t arc, uint32_t color, bool comes)
{
    const struct ring_work *work = self->work;
    uint32_t fiber = color / work->wavelengths;
    for (uint32_t b = 0; b < work->arc_count; b++) {
        if (b != arc && ring_meet(work, fiber, arc, b)) {
            *cell(self, b, color) += comes ? 1 : UINT32_MAX;
            if (self->colors[b] == color) {
                note(self, b);
            }
        }
    }
}

static void move(struct search *self, uint32_t arc, uint32_t color)
{
    uint32_t old = self->colors[arc];
    self->conflicts += *cell(self, arc, color) - *cell(self, arc, old);
    spread(self, arc, old, false);
    self->colors[arc] = color;
    spread(self, arc, color, true);
    note(self, arc);
}

// The best move that is not tabu, or that is better than all before; of equal ones any.
static bool choose(const struct search *self, uint64_t now, uint32_t best, uint32_t *arc,
                   uint32_t *color)
{
    int64_t least = INT64_MAX;
    uint32_t equal = 0;
    for (uint32_t i = 0; i < self->conflicting_count; i++) {
        uint32_t a = self->conflicting[i];
        int64_t has = *cell(self, a, self->colors[a]);
        for (uint32_t c = 0; c < self->color_count; c++) {
            int64_t change = (int64_t)*cell(self, a, c) - has;
            bool free = self->tabu[(size_t)a * self->color_count + c] <= now ||
                        (int64_t)self->conflicts + change < best;
            if (c == self->colors[a] || !free || change > least) {
                continue;
            }
            equal = change < least ? 1 : equal + 1;
            if (weft_rng_below(&self->work->rng, equal) == 0) {
                *arc = a;
                *color = c;
            }
            least = change;
        }
    }
    return equal > 0;
}

static bool settle(struct search *self)
{
    struct ring_work *work = self->work;
    uint64_t limit = work->options->move_limit > 0 ? work->options->move_limit : MOVE_LIMIT;
    uint32_t best = self->conflicts;
    for (uint64_t now = 0; self->conflicts > 0 && now < limit; now++) {
        uint32_t arc = 0;
        uint32_t color = 0;
        if (weft_stopped(work->options->stop) || !choose(self, now, best, &arc, &color)) {
            return false;
        }
        uint64_t tenure =
            (uint64_t)(TENURE * self->conflicting_count) + weft_rng_below(&work->rng, TENURE_NOISE);
        self->tabu[(size_t)arc * self->color_count + self->colors[arc]] = now + 1 + tenure;
        move(self, arc, color);
        best = self->conflicts < best ? self->conflicts : best;
    }
    return self->conflicts == 0;
}

// The coloring with one wavelength fewer on each fiber: the last one's arcs go where they meet the
// fewest.
static void begin(struct search *self, uint32_t wavelengths)
{
    struct ring_work *work = self->work;
    uint32_t old = work->wavelengths;
    work->wavelengths = wavelengths;
    self->color_count = wavelengths * work->fiber_count;
    size_t cells = (size_t)work->arc_count * self->color_count;
    memset(self->meets, 0, cells * sizeof *self->meets);
    memset(self->tabu, 0, cells * sizeof *self->tabu);
    self->conflicting_count = 0;
    self->conflicts = 0;
    for (uint32_t a = 0; a < work->arc_count; a++) {
        uint32_t fiber = work->colors[a] / old;
        uint32_t wavelength = work->colors[a] % old;
        self->place[a] = WEFT_NONE;
        self->colors[a] = wavelength < wavelengths ? fiber * wavelengths + wavelength : WEFT_NONE;
    }
    for (uint32_t a = 0; a < work->arc_count; a++) {
        if (self->colors[a] != WEFT_NONE) {
            spread(self, a, self->colors[a], true);
        }
    }
    for (uint32_t a = 0; a < work->arc_count; a++) {
        for (uint32_t c = 0; self->colors[a] == WEFT_NONE && c < self->color_count; c++) {
            uint32_t least = 0;
            for (uint32_t d = 1; d < self->color_count; d++) {
                least = *cell(self, a, d) < *cell(self, a, least) ? d : least;
            }
            self->colors[a] = least;
            self->conflicts += *cell(self, a, least);
            spread(self, a, least, true);
            note(self, a);
        }
    }
}

void ring_give_up(struct ring_work *work, uint32_t bound, struct weft_arena scratch)
{
    uint32_t n = work->arc_count;
    size_t cells = (size_t)n * work->wavelengths * work->fiber_count;
    if (work->wavelengths <= bound || cells > CELLS_MAX) {
        return;
    }
    struct search self = {
        .work = work,
        .colors = WEFT_NEW(&scratch, uint32_t, n),
        .meets = WEFT_NEW(&scratch, uint32_t, cells),
        .tabu = WEFT_NEW(&scratch, uint64_t, cells),
        .conflicting = WEFT_NEW(&scratch, uint32_t, n),
        .place = WEFT_NEW(&scratch, uint32_t, n),
    };
    while (work->wavelengths > bound) {
        uint32_t kept = work->wavelengths;
        begin(&self, kept - 1);
        if (!settle(&self)) {
            work->wavelengths = kept;
            return;
        }
        memcpy(work->colors, self.colors, n * sizeof *self.colors);
    }
}
