// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PLAN_READ_H
#define WEFT_FORMAT_PLAN_READ_H

// The two halves of the plan reader: the head (figures, cluster, certificate, topology) and the
// network (links, rings, routes).

#include "format/syntax/json.h"
#include "weft/format.h"

// What every part of the reader needs. Flaws grow as a list in the arena.
struct weft_plan_source {
    const json_t *root;
    struct weft_arena *arena;
    struct weft_error *error;
    struct weft_violation *flaws;
    uint32_t flaw_count;
    uint32_t flaw_room;
};

// Notes a property that does not hold and that a plan cannot even express. Beyond the room the last
// one says how many more there are.
void weft_plan_note_flaw(struct weft_plan_source *source, const char *format, ...)
    WEFT_PRINTF(2, 3);

// Fabric, rings and routes. The routes' paths are dropped where they take links that are not there.
bool weft_plan_read_network(struct weft_plan *plan, struct weft_arena scratch,
                            struct weft_plan_source *source) WEFT_MUST_USE;
// The array "rings" of `object`.
bool weft_plan_read_rings(struct weft_ring_set *set, const json_t *object,
                          const struct weft_fabric *fabric, struct weft_plan_source *source)
    WEFT_MUST_USE;

// What the plan was made for, where the file says so: "strategy", "memory" and "job".
bool weft_plan_read_job(struct weft_plan *plan, struct weft_arena scratch,
                        struct weft_plan_source *source) WEFT_MUST_USE;

#endif
