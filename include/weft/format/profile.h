// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PROFILE_H
#define WEFT_FORMAT_PROFILE_H

// Measured times of operators (JSON, as the TopoOpt artifact has them): docs/costs.md.

#include "weft/base.h"
#include "weft/model.h"

WEFT_API_BEGIN

// {"batch_size": 16384, "ngpus": 16, "measurements": [{"name": "Dense_1024_1024",
// "pc_str": "2-1-8", "fw_time": 0.1, "bw_time": 0.2, "mem_req": 4096}]}: times in ms, pc_str the
// number of dimensions and the parts of each, samples last. Fails with INPUT naming the
// measurement: another or a missing key, a time that is negative or above an hour, a pc_str that is
// none, the same split twice. O(n log n).
bool weft_profile_read(struct weft_profile *profile, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_profile_load(struct weft_profile *profile, const char *path, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;
// Deterministic text that reads back as the same profile.
const char *weft_profile_write(const struct weft_profile *profile, struct weft_arena *arena);

WEFT_API_END

#endif
