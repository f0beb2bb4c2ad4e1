// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_HTSIM_H
#define WEFT_FORMAT_HTSIM_H

// The packet simulator htsim's traffic matrices (.cm) and topologies (.topo): docs/loads.md.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/workload/matrix.h"

WEFT_API_BEGIN

// Reads a matrix; weft_matrix_lower makes the task graph. Fails with INPUT naming the line: an
// unknown word, a host that is not there, a size of 0, an id twice, a trigger that is described
// twice, counts that the header says otherwise. O(bytes).
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
