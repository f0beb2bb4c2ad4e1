// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PLAN_READ_H
#define WEFT_FORMAT_PLAN_READ_H

// What the files of the plan reader share: read.c reads the head (metrics, certificate,
// topology), cluster.c the hardware, network.c the links, rings and routes, job_read.c the strategy
// and the task graph, and flaws.c keeps what a plan cannot express.

#include "format/syntax/json.h"
#include "weft/format.h"

// What every part of the reader needs.
struct weft_plan_source {
    const json_t *root;
    struct weft_arena *arena;
    struct weft_error *error;
    struct weft_violation *flaws;
    uint32_t flaw_count;
};

// The member "cluster", written and read (cluster.c).
void weft_plan_add_cluster(struct weft_text *text, const struct weft_cluster *cluster);
bool weft_plan_read_cluster(struct weft_cluster *cluster, const struct weft_plan_source *source)
    WEFT_MUST_USE;

void weft_plan_flaws_init(struct weft_plan_source *source);
// Notes a property that the file claims and that a plan cannot even express. Of very many the first
// 64 are kept.
void weft_plan_note_flaw(struct weft_plan_source *source, const char *format, ...)
    WEFT_PRINTF(2, 3);
// Hands the flaws to the plan; where not all were kept, the last entry says how many more there
// are.
void weft_plan_flaws_publish(struct weft_plan *plan, struct weft_plan_source *source);

// Fabric, rings and routes. The routes' paths are dropped where they take links that are not there.
bool weft_plan_read_network(struct weft_plan *plan, struct weft_arena scratch,
                            struct weft_plan_source *source) WEFT_MUST_USE;
// The array "rings" of `object`.
bool weft_plan_read_rings(struct weft_ring_set *set, const json_t *object,
                          const struct weft_fabric *fabric, struct weft_plan_source *source)
    WEFT_MUST_USE;

// How the search was left; not there where it came to its end.
bool weft_plan_read_search(struct weft_plan_cut *cut, const struct weft_plan_source *source)
    WEFT_MUST_USE;
// What the plan was made for, where the file says so: "strategy", "memory" and "job".
bool weft_plan_read_job(struct weft_plan *plan, struct weft_arena scratch,
                        struct weft_plan_source *source) WEFT_MUST_USE;
// A task graph of at most so many servers.
bool weft_plan_read_graph(struct weft_taskgraph *graph, const json_t *object, uint32_t server_count,
                          const struct weft_plan_source *source, struct weft_arena scratch)
    WEFT_MUST_USE;

#endif
