// SPDX-License-Identifier: Apache-2.0
// Snapshots of jobs that share links: any bytes are either a snapshot that passes its check and is
// written and read back the same, or one line of complaint.
//
// Seen to fail on corpus/snapshot/own when the writer left out the phases of single links.

#include "fuzz.h"
#include "weft/format.h"

#include <string.h>

static void check_set(const struct weft_job_set *set, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_snapshot_check(&set->snapshot, &error));
    const char *text = weft_snapshot_write(set, arena);
    struct weft_job_set again;
    bool fine = weft_snapshot_read(&again, text, strlen(text), arena, scratch, &error);
    WEFT_ASSERT(fine);
    WEFT_ASSERT(again.snapshot.job_count == set->snapshot.job_count);
    for (uint32_t j = 0; j < again.snapshot.job_count; j++) {
        const struct weft_sharing_job *job = &set->snapshot.jobs[j];
        const struct weft_sharing_job *copy = &again.snapshot.jobs[j];
        WEFT_ASSERT(job->demand.iteration_ps == copy->demand.iteration_ps);
        WEFT_ASSERT(job->link_count == copy->link_count);
        for (uint32_t i = 0; i < job->link_count; i++) {
            WEFT_ASSERT(job->links[i] == copy->links[i]);
            const struct weft_demand *mine =
                job->link_demands == NULL ? &job->demand : &job->link_demands[i];
            const struct weft_demand *other =
                copy->link_demands == NULL ? &copy->demand : &copy->link_demands[i];
            WEFT_ASSERT(mine->phase_count == other->phase_count);
        }
    }
    WEFT_ASSERT(strcmp(text, weft_snapshot_write(&again, arena)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_job_set set = {.plays = NULL};
    if (!weft_snapshot_read(&set, text, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(set.snapshot.jobs == NULL);
    } else {
        check_set(&set, &desk.arena, desk.scratch);
    }
    fuzz_close(&desk);
    return 0;
}
