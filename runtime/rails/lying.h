// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_LYING_H
#define WEFT_RUNTIME_RAILS_LYING_H

// A switch of the lab as a device would be met: it answers when its circuits have turned, tells
// light at its outputs, and from a given moment on has one of the emulator's faults or goes dark.
//
//   weft_ocs (kernel or redirect) ──► [lying switch] ──► weft_ocs

#include "runtime/ocs/ocs.h"

#include <pthread.h>

struct lab_lie {
    struct weft_ocs_fault fault;
    bool is_dark;         // instead: all light goes out and stays out, and nothing is reported
    _Atomic uint64_t *at; // by lab_now_ns; 0 = not yet
};
struct lab_lying {
    struct weft_ocs inner;
    struct lab_lie lie;
    uint64_t dark_ns;   // of a change
    uint32_t answer_ms; // how long an answer that never comes is waited for
    uint32_t *reported; // by input
    uint32_t change_count;
    bool went_dark;
    pthread_mutex_t lock; // of the inner switch and of what is reported
};
// `inner` has to stand; outputs: what it has.
void lab_lying_open(struct weft_ocs *ocs, struct lab_lying *self, const uint32_t *outputs,
                    struct weft_arena *arena);
// Puts the light out where that is due; from any thread.
void lab_lying_tick(struct lab_lying *self, uint64_t now_ns);

// "KIND[:ARGUMENT][@TIME]": those of weft_ocs_parse_fault, a port and a time by default, and
// "dark". *after_ps: since the first measured iteration. Fails with INPUT.
bool lab_lie_parse(struct lab_lie *lie, uint64_t *after_ps, const char *text,
                   struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
