// SPDX-License-Identifier: Apache-2.0
// Whether a ring does with one wavelength fewer, by branch and bound (Brelaz, "New methods to color
// the vertices of a graph", CACM 1979): the arc with the fewest colors left goes first, and of
// colors that no arc has yet only one of each fiber is tried, as they are alike.

#include "circuit/ring.h"

#include <string.h>

#define NODE_LIMIT 1000000u
// Deeper searches do not end within the limit.
#define ARCS_MAX 400u

struct proof {
    const struct ring_work *work;
    uint32_t wavelengths; // that are tried
    uint32_t *colors;
    uint32_t *meets; // arc * colors of all fibers + color: arcs of this color that it would meet
    uint32_t *left;  // per arc: colors without
    uint64_t nodes;
    uint64_t node_limit;
};

static uint32_t color_count(const struct proof *self)
{
    return self->wavelengths * self->work->fiber_count;
}

// The arc with the fewest colors left, the longest of several; WEFT_NONE where all have one.
static uint32_t next_arc(const struct proof *self)
{
    uint32_t found = WEFT_NONE;
    for (uint32_t a = 0; a < self->work->arc_count; a++) {
        if (self->colors[a] == WEFT_NONE &&
            (found == WEFT_NONE || self->left[a] < self->left[found] ||
             (self->left[a] == self->left[found] &&
              self->work->ways[0][a].hops > self->work->ways[0][found].hops))) {
            found = a;
        }
    }
    return found;
}

// Gives the arc its color, or takes it back.
static void set(struct proof *self, uint32_t arc, uint32_t color, bool comes)
{
    uint32_t fiber = color / self->wavelengths;
    self->colors[arc] = comes ? color : WEFT_NONE;
    for (uint32_t b = 0; b < self->work->arc_count; b++) {
        if (b != arc && ring_meet(self->work, fiber, arc, b)) {
            uint32_t *meets = &self->meets[(size_t)b * color_count(self) + color];
            self->left[b] -= comes && *meets == 0;
            *meets += comes ? 1 : UINT32_MAX;
            self->left[b] += !comes && *meets == 0;
        }
    }
}

// Whether what is left can be colored. `used` counts the wavelengths of each fiber that have arcs.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are arcs, ARCS_MAX
static bool color_rest(struct proof *self, const uint32_t *used)
{
    uint32_t arc = next_arc(self);
    if (arc == WEFT_NONE) {
        return true;
    }
    if (self->left[arc] == 0 || ++self->nodes > self->node_limit ||
        weft_stopped(self->work->options->stop)) {
        return false;
    }
    for (uint32_t c = 0; c < color_count(self); c++) {
        uint32_t fiber = c / self->wavelengths;
        uint32_t wavelength = c % self->wavelengths;
        if (self->meets[(size_t)arc * color_count(self) + c] > 0 || wavelength > used[fiber]) {
            continue;
        }
        uint32_t more[2] = {used[0], used[1]};
        more[fiber] += wavelength == used[fiber];
        set(self, arc, c, true);
        if (color_rest(self, more)) {
            return true;
        }
        set(self, arc, c, false);
    }
    return false;
}

bool ring_prove(struct ring_work *work, bool *closed, struct weft_arena scratch)
{
    uint32_t n = work->arc_count;
    *closed = false;
    if (n > ARCS_MAX || work->wavelengths < 2) {
        return false;
    }
    struct proof self = {
        .work = work,
        .wavelengths = work->wavelengths - 1,
        .colors = WEFT_NEW(&scratch, uint32_t, n),
        .left = WEFT_NEW(&scratch, uint32_t, n),
        .node_limit = work->options->node_limit > 0 ? work->options->node_limit : NODE_LIMIT,
    };
    self.meets = WEFT_NEW(&scratch, uint32_t, (size_t)n * color_count(&self));
    for (uint32_t a = 0; a < n; a++) {
        self.colors[a] = WEFT_NONE;
        self.left[a] = color_count(&self);
    }
    bool found = color_rest(&self, (const uint32_t[2]){0, 0});
    if (found) {
        work->wavelengths = self.wavelengths;
        memcpy(work->colors, self.colors, n * sizeof *self.colors);
    }
    *closed = !found && self.nodes <= self.node_limit && !weft_stopped(work->options->stop);
    return found;
}
