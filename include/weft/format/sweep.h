// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SWEEP_H
#define WEFT_FORMAT_SWEEP_H

// Sweeps (YAML): grids of scenarios, each a command line that is spelled by keys and values:
// docs/sweep.md.

#include "weft/base.h"

WEFT_API_BEGIN

// What a key may be: one word; the words of one argument after the other ("job: [a, b]").
struct weft_sweep_value {
    uint32_t word_count;
    const char *const *words; // as written
    uint32_t line;
};
struct weft_sweep_key {
    const char *name;
    uint32_t line;
    uint32_t value_count; // at least 1
    const struct weft_sweep_value *values;
};
// The scenarios that choose one value of each key; the last key runs fastest.
struct weft_sweep_grid {
    uint32_t line;
    uint32_t key_count; // at least 1
    const struct weft_sweep_key *keys;
    uint32_t scenario_count; // the product of the value counts
};
struct weft_sweep {
    const char *verb;   // "simulate" where the file does not say
    uint32_t verb_line; // 0 = it does not
    uint32_t grid_count;
    const struct weft_sweep_grid *grids; // a scenario written out is a grid of one
    uint32_t scenario_count;             // at least 1, at most WEFT_SWEEP_MAX
};
#define WEFT_SWEEP_MAX 1000000u
#define WEFT_SWEEP_KEYS_MAX 64u // of a grid

// Fails with INPUT, "line N: ...; remedy". What keys and words mean is not looked at. O(length +
// keys^2).
bool weft_sweep_read(struct weft_sweep *sweep, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// Scenario `index`: for each key of its grid, which is returned, the value that it chooses.
const struct weft_sweep_grid *
weft_sweep_scenario(const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX],
                    const struct weft_sweep *sweep, uint32_t index);

WEFT_API_END

#endif
