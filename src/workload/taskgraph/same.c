// SPDX-License-Identifier: Apache-2.0
// Whether two task graphs are one and the same job, and where they first differ.
//
// A plan states the job that it was made for, and a file that is handed over beside it must be
// that job. Runtimes may differ a little, as they pass through the floats of task graph files.
// O(tasks + edges + members).

#include "weft/workload.h"

#include <inttypes.h>
#include <string.h>

// Runtimes pass through the floats of task graph files, and through rooflines of other machines.
#define RUNTIME_RATIO 1e-6
#define RUNTIME_PS 1.0

static bool same_sizes(const struct weft_taskgraph *a, const struct weft_taskgraph *b,
                       struct weft_error *difference)
{
    const struct {
        const char *what;
        uint32_t a, b;
    } sizes[] = {
        {"servers", a->server_count, b->server_count},
        {"devices", a->device_count, b->device_count},
        {"tasks", a->task_count, b->task_count},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].a != sizes[i].b) {
            return weft_fail(difference, WEFT_INPUT, "%u %s, not %u", sizes[i].a, sizes[i].what,
                             sizes[i].b);
        }
    }
    for (uint32_t d = 0; d < a->device_count; d++) {
        if (a->device_server[d] != b->device_server[d]) {
            return weft_fail(difference, WEFT_INPUT, "device %u is on server %u, not %u", d,
                             a->device_server[d], b->device_server[d]);
        }
    }
    return true;
}

static bool same_group(const struct weft_taskgraph *a, const struct weft_taskgraph *b, uint32_t t)
{
    const uint32_t *first_a = a->group_first + a->group[t];
    const uint32_t *first_b = b->group_first + b->group[t];
    uint32_t count = first_a[1] - first_a[0];
    return count == first_b[1] - first_b[0] &&
           memcmp(a->group_members + first_a[0], b->group_members + first_b[0],
                  count * sizeof *a->group_members) == 0;
}

// What a task does and where, without its runtime.
static bool same_work(const struct weft_taskgraph *a, const struct weft_taskgraph *b, uint32_t t,
                      struct weft_error *difference)
{
    if (a->device[t] != b->device[t]) {
        return weft_fail(difference, WEFT_INPUT, "device %u, not %u", a->device[t], b->device[t]);
    }
    if (a->from[t] != b->from[t] || a->to[t] != b->to[t]) {
        return weft_fail(difference, WEFT_INPUT, "from server %u to %u, not %u to %u", a->from[t],
                         a->to[t], b->from[t], b->to[t]);
    }
    if (weft_task_is_collective(a, t) && !same_group(a, b, t)) {
        return weft_fail(difference, WEFT_INPUT, "over other servers");
    }
    uint32_t one = a->need != NULL ? a->need[t] : a->prev_count[t];
    uint32_t other = b->need != NULL ? b->need[t] : b->prev_count[t];
    if (a->prev_count[t] == b->prev_count[t] && one != other) {
        return weft_fail(difference, WEFT_INPUT, "waits for %u tasks, not %u", one, other);
    }
    return a->size_bytes[t] == b->size_bytes[t] ||
           weft_fail(difference, WEFT_INPUT, "%" PRIu64 " bytes, not %" PRIu64, a->size_bytes[t],
                     b->size_bytes[t]);
}

static bool same_runtime(const struct weft_taskgraph *a, const struct weft_taskgraph *b, uint32_t t,
                         struct weft_error *difference)
{
    double one = (double)a->runtime_ps[t];
    double other = (double)b->runtime_ps[t];
    double apart = one > other ? one - other : other - one;
    return apart <= RUNTIME_PS + RUNTIME_RATIO * (one + other) ||
           weft_fail(difference, WEFT_INPUT, "%" PRIu64 " ps, not %" PRIu64, a->runtime_ps[t],
                     b->runtime_ps[t]);
}

// Successors as a set. `mark`: 2t + 1 for those of task t in `a`, 2t + 2 where `b` has them, too.
static bool same_next(const struct weft_taskgraph *a, const struct weft_taskgraph *b, uint32_t t,
                      uint64_t *mark, struct weft_error *difference)
{
    uint64_t seen = 2 * (uint64_t)t + 1;
    bool same = true;
    for (uint32_t i = a->next_first[t]; i < a->next_first[t + 1]; i++) {
        mark[a->next[i]] = seen;
    }
    for (uint32_t i = b->next_first[t]; i < b->next_first[t + 1]; i++) {
        same = same && mark[b->next[i]] >= seen;
        mark[b->next[i]] = seen + 1;
    }
    for (uint32_t i = a->next_first[t]; i < a->next_first[t + 1]; i++) {
        same = same && mark[a->next[i]] > seen;
    }
    return same || weft_fail(difference, WEFT_INPUT, "other tasks wait for it");
}

static bool same_task(const struct weft_taskgraph *a, const struct weft_taskgraph *b, uint32_t t,
                      uint32_t timed_kinds, uint64_t *mark, struct weft_error *difference)
{
    if (a->kind[t] != b->kind[t]) {
        return weft_fail(difference, WEFT_INPUT, "of kind %s, not %s",
                         weft_task_facts[a->kind[t]].name, weft_task_facts[b->kind[t]].name);
    }
    bool timed = (timed_kinds >> a->kind[t] & 1) != 0;
    return same_work(a, b, t, difference) && (!timed || same_runtime(a, b, t, difference)) &&
           same_next(a, b, t, mark, difference);
}

bool weft_taskgraph_same(const struct weft_taskgraph *a, const struct weft_taskgraph *b,
                         uint32_t timed_kinds, struct weft_arena scratch,
                         struct weft_error *difference)
{
    if (!same_sizes(a, b, difference)) {
        return false;
    }
    uint64_t *mark = WEFT_NEW(&scratch, uint64_t, (size_t)a->task_count + 1);
    for (uint32_t t = 0; t < a->task_count; t++) {
        if (!same_task(a, b, t, timed_kinds, mark, difference)) {
            return weft_wrap(difference, "task %u, %s", t, weft_task_facts[a->kind[t]].name);
        }
    }
    return true;
}
