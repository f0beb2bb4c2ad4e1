// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SNAPSHOT_H
#define WEFT_FORMAT_SNAPSHOT_H

// Snapshots of jobs that share links, the series of bytes that they are measured from, and the
// time-shifts that come out (JSON and CSV): docs/interleave.md.

#include "weft/base.h"
#include "weft/interleave.h"

WEFT_API_BEGIN

// As docs/interleave.md has them; phases may stand in any order. Keys that are not known pass,
// unless they are within two letters of a known one. Fails with INPUT naming the place, as
// "jobs[2].phases[0].rate_Bps". O(bytes log names).
bool weft_snapshot_read(struct weft_job_set *set, const char *data, size_t length,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;
bool weft_snapshot_load(struct weft_job_set *set, const char *path, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Series of what links carried, as CSV that `weft simulate --series` writes: a line of names, with
// time_s and bytes, then samples in equal steps; bytes since the sample before. With a column link
// there are several; those that are missing carried nothing. INPUT names the line. O(bytes log n).
bool weft_series_read(struct weft_series_set *set, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_series_load(struct weft_series_set *set, const char *path, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
const char *weft_snapshot_write(const struct weft_job_set *set, struct weft_arena *arena);
// Time-shifts that weft interleave --json wrote, shift_ps[job]. Fails with INPUT naming the place.
bool weft_shifts_load(uint64_t *shift_ps, const struct weft_snapshot *snapshot, const char *path,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
