// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SIMAI_H
#define WEFT_FORMAT_SIMAI_H

// SimAI's workloads as text (HYBRID_TRANSFORMER_FWD_IN_BCKWD ..., MICRO, DATA): docs/loads.md. Its
// topologies are read by weft/format/topology_file.h.

#include "weft/workload/simai.h"

WEFT_API_BEGIN

// Fails with INPUT naming the line: an unknown policy, word or collective, counts that are not
// those of the file, layers that are computed again (checkpoints). O(bytes).
bool weft_simai_read(struct weft_simai *workload, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_simai_load(struct weft_simai *workload, const char *path, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
