// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_MESH_SOLVER_H
#define WEFT_PHOTONICS_MESH_SOLVER_H

// A matching of a mesh's ports as a formula, answered by a packaged solver: the oracle of the
// router, and its last resort (solver.c).

#include "weft/photonics/mesh.h"

// ROUTED: `cells` is a setting that joins all pairs; REFUTED: there is none; UNANSWERED: stopped,
// or more than `conflicts` (0 = any number).
enum weft_mesh_answer mesh_solve(uint8_t *cells, const struct weft_mesh *mesh,
                                 const struct weft_mesh_pair *pairs, uint32_t pair_count,
                                 const uint8_t *stuck, uint64_t conflicts, weft_stop stop,
                                 struct weft_arena scratch);

#endif
