// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_PARSE_H
#define WEFT_PHOTONICS_COUNTACTION_PARSE_H

// A module while it is read: arrays that grow, in memory that is gone when it is finished.

#include "photonics/countaction/lex.h"
#include "weft/photonics/countaction.h"

// What a module may have, so that proofs about it stay small.
#define MODULE_SIGNALS 64u
#define MODULE_COUNTS 16u
#define MODULE_ACTIONS 64u
#define MODULE_EFFECTS 16u // of an action
#define MODULE_TERMS 1024u
#define MODULE_DEPTH 32u // of parentheses and signs of negation
#define MODULE_MODULES 64u

struct draft {
    struct lex lex;
    struct weft_arena *arena;
    struct weft_error *error;
    struct weft_photonic_module module; // counts stand there already
    struct weft_photonic_signal signals[MODULE_SIGNALS];
    struct weft_photonic_count counts[MODULE_COUNTS];
    struct weft_photonic_action actions[MODULE_ACTIONS];
    struct weft_photonic_term terms[MODULE_TERMS];
    uint32_t depth;
    uint32_t repeats;    // of the arrays that 'index' names in what is read; 0 = none so far
    bool index_is_bound; // inside 'any'
};

// Both look a name up among what was read; WEFT_NONE where there is none.
uint32_t draft_signal(const struct draft *draft, const char *name, size_t length);
uint32_t draft_count(const struct draft *draft, const char *name, size_t length);
// '[' place ']' behind a name of `lines` lines; a name that is no array has none.
bool draft_place(struct draft *draft, uint32_t *index, bool array, uint32_t lines) WEFT_MUST_USE;
// Reads a condition and gives its term.
bool draft_condition(struct draft *draft, uint32_t *term) WEFT_MUST_USE;

#endif
