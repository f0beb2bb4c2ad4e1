// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_LINK_H
#define WEFT_PHOTONICS_COUNTACTION_LINK_H

// Modules connected by the names of their signals, with the datapath between them.
//
// A net is a signal's name: one module, a part of the datapath, or the world outside drives it, and
// any number of modules read it. Parts of the datapath (part.c) drive theirs from registers, so no
// circle goes through them.

#include "weft/photonics/countaction.h"

struct link_drive {
    uint32_t module, action;
    uint32_t line;   // that is driven, WEFT_PHOTONIC_INDEX: each repeat its own
    uint32_t effect; // of the action
};
struct link_net {
    const char *name;
    uint32_t lines;
    bool one_hot;
    uint32_t module, signal; // that drives it; WEFT_NONE: no module does
    uint32_t part;           // of the datapath, WEFT_NONE: none
    uint32_t drive_count;
    const struct link_drive *drives;
};
struct link_system {
    const struct weft_photonic_countaction *text;
    uint32_t net_count;
    const struct link_net *nets;
    const uint32_t *const *net_of; // [module][signal]
    const uint32_t *first_count;   // [module]: number of its first register or tally in the system
    const uint32_t *first_value;   // [all counts]: number of the count's first value
    uint32_t value_count;
    const uint32_t *order; // [net_count]: a net stands behind those that it depends on
};

enum link_flaw {
    LINK_SOUND,
    LINK_DOUBLE, // two modules drive a net, or one and the datapath
    LINK_LINES,  // sizes differ
    LINK_CIRCLE,
};
struct link_problem {
    enum link_flaw flaw;
    uint32_t module;  // where
    const char *name; // of the signal
    const char *message;
};

// False where the modules do not fit together. O(terms).
bool link_build(struct link_system *system, const struct weft_photonic_countaction *text,
                struct weft_arena *arena, struct link_problem *problem);
static inline uint32_t link_value(const struct link_system *system, uint32_t module, uint32_t count,
                                  uint32_t index)
{
    return system->first_value[system->first_count[module] + count] + index;
}

// ---- the datapath's nets ----

enum part_rate {
    PART_LEVEL,   // no number of events
    PART_SAME,    // as often as another net
    PART_ONCE,    // a layer
    PART_WORDS,   // words * outputs * pixels of the row
    PART_MATCHES, // a preamble's words that a detector sees whole
};
struct part {
    const char *name;
    const char *same;
    enum part_rate rate;
    bool from_module; // a module drives it; the rate is what a layer needs of it
};
uint32_t part_find(const char *name);
const struct part *part_get(uint32_t part);

#endif
