// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_CHECK_H
#define WEFT_PHOTONICS_COUNTACTION_CHECK_H

// Verdicts while they are found: the first flaw of each module stays.

#include "photonics/countaction/link.h"

struct checking {
    const struct link_system *system;       // all modules together
    struct weft_photonic_verdict *verdicts; // [modules]
    struct weft_photonic_occurrence *occurrences;
    uint32_t occurrence_count;
    struct weft_arena *arena;
};
void check_found(struct checking *checking, uint32_t module, enum weft_photonic_flaw flaw,
                 const char *subject, uint32_t line, const char *message);
// Events of all counts in a layer (balance.c).
void check_balance(struct checking *checking, const struct weft_photonic_check_options *options,
                   uint32_t row, struct weft_arena scratch);

#endif
