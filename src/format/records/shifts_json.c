// SPDX-License-Identifier: Apache-2.0
// Time-shifts of jobs, read back from the JSON that weft interleave writes.
//
// Jobs are found by their names in the snapshot, and each of the snapshot needs a shift; others
// in the file are those of jobs that have left. O(jobs^2), for the tens of jobs that share
// links.

#include "format/syntax/json.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

#define SHIFT_MAX_S 1e6

static uint32_t find_job(const struct weft_snapshot *snapshot, const char *name)
{
    uint32_t job = 0;
    while (job < snapshot->job_count && strcmp(snapshot->jobs[job].name, name) != 0) {
        job++;
    }
    return job;
}

// Reads the shift of every job of the snapshot; jobs that the snapshot does not have are passed
// over.
static bool read_shifts(uint64_t *shift_ps, const struct weft_snapshot *snapshot,
                        const json_t *root, struct weft_arena scratch, struct weft_error *error)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, root, "jobs", error)) {
        return false;
    }
    bool *known = WEFT_NEW(&scratch, bool, snapshot->job_count);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *name = NULL;
        double shift_s = 0;
        if (!json_is_object(item)) {
            return weft_fail(error, WEFT_INPUT,
                             "jobs[%zu]: not an object; write {\"name\", \"time_shift_s\"}", i);
        }
        if (!weft_json_text(&name, item, "name", &scratch, error) ||
            !weft_json_real(&shift_s, item, "time_shift_s", 0, SHIFT_MAX_S, error)) {
            return weft_wrap(error, "jobs[%zu]", i);
        }
        uint32_t job = find_job(snapshot, name);
        if (job < snapshot->job_count) { // those of jobs that have left do no harm
            known[job] = true;
            shift_ps[job] = (uint64_t)llround(shift_s * (double)WEFT_PS_PER_S);
        }
    }
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        if (!known[job]) {
            return weft_fail(error, WEFT_INPUT, "no time-shift for job %.64s; ask weft interleave",
                             snapshot->jobs[job].name);
        }
    }
    return true;
}

bool weft_shifts_load(uint64_t *shift_ps, const struct weft_snapshot *snapshot, const char *path,
                      struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    json_t *root = NULL;
    if (!weft_file_load(&data, &length, path, 0, &scratch, error)) {
        return false;
    }
    if (!weft_json_parse(&root, data, length, error)) {
        return weft_file_mistaken(error, path, WEFT_FILE_RESULT);
    }
    bool fine = read_shifts(shift_ps, snapshot, root, scratch, error);
    json_decref(root);
    return fine || weft_file_mistaken(error, path, WEFT_FILE_RESULT);
}
