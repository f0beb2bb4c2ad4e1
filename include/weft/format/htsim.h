// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_HTSIM_H
#define WEFT_FORMAT_HTSIM_H

// The packet simulator htsim's traffic matrices (.cm) and topologies (.topo): docs/loads.md.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

struct weft_matrix {
    // A transfer for each connection, in the file's order; behind them tasks that wait for starts
    // and triggers.
    struct weft_taskgraph graph;
    uint32_t connection_count;
    const uint64_t *start_ps; // of each connection; WEFT_NEVER = by a trigger
    uint32_t trigger_count;
    uint32_t priority_count; // connections that state a `prio`
    // ... of each, the smaller the more urgent; WEFT_NONE = not stated. It is the receiver's, of
    // pulls (weft_packet_options.pull_order), and says nothing to ports.
    const uint32_t *priority;
    uint32_t failure_count;
    const struct weft_tier_failure *failures;
};
// Fails with INPUT naming the line: an unknown word, a host that is not there, a size of 0, a
// trigger that is not there, fires never, or more often than it can; counts that the header says
// otherwise; a cycle of triggers. O(bytes + edges).
bool weft_matrix_read(struct weft_matrix *matrix, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_matrix_load(struct weft_matrix *matrix, const char *path, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Fails with INPUT naming the line or tier: an unknown word, something missing or given twice,
// ports that are not oversubscribed as the file says. The rest weft_fabric_build_tiers checks.
bool weft_topo_read(struct weft_tiers *tiers, const char *data, size_t length,
                    struct weft_error *error) WEFT_MUST_USE;
bool weft_topo_load(struct weft_tiers *tiers, const char *path, struct weft_arena scratch,
                    struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
