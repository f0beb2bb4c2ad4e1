// SPDX-License-Identifier: Apache-2.0
// Whether the task graph that is played has a schedule for each collective that the plan chose one
// for, which can do what the collective asks.
//
// Each such task keeps its place and its time inside the servers; its transfers follow it, and a
// barrier ends them. Followed along the transfers that wait for each other, something of every
// member must reach every member; and no member may send or receive less than any algorithm must,
// nor all together (docs/certificate.md has the proof of that least). Where every member moves as
// much as on a ring, bounds for balanced collectives hold. O(transfers * members / 64).

#include "checks.h"
#include "ideal.h"

#include <math.h>
#include <string.h>

// Shares of a buffer are rounded up to whole bytes, sums of them in doubles.
#define SAME_RATIO 1e-9

// The transfers of one collective: tasks first .. end-1, and the barrier at end.
struct schedule {
    const struct weft_taskgraph *graph;
    const struct weft_taskgraph *played;
    uint32_t task;
    uint32_t first;
    uint32_t end;
    uint32_t *order; // first .. end, every one behind all that it waits for
};

// The first choice that a task falls under, or WEFT_NONE.
static uint32_t choice_of(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                          uint32_t task)
{
    if (!ideal_is_collective(graph, task) || graph->size_bytes[task] == 0 ||
        ideal_member_count(graph, task) < 2) {
        return WEFT_NONE;
    }
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        const struct weft_collective_choice *choice = &plan->collectives[c];
        if (choice->group == graph->group[task] &&
            graph->size_bytes[task] >= choice->size_min_bytes &&
            graph->size_bytes[task] <= choice->size_max_bytes) {
            return c;
        }
    }
    return WEFT_NONE;
}

// The place of a server among the members of the collective, or WEFT_NONE.
static uint32_t rank_of(const struct schedule *schedule, uint32_t server)
{
    const struct weft_taskgraph *graph = schedule->graph;
    uint32_t group = graph->group[schedule->task];
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        if (graph->group_members[i] == server) {
            return i - graph->group_first[group];
        }
    }
    return WEFT_NONE;
}

static void merge(uint64_t *into, const uint64_t *from, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++) {
        into[w] |= from[w];
    }
}

// Whether something of every member reaches every member. A barrier between transfers joins what
// they brought to one member.
static bool reaches_all(const struct schedule *schedule, struct weft_arena scratch)
{
    const struct weft_taskgraph *played = schedule->played;
    uint32_t k = ideal_member_count(schedule->graph, schedule->task);
    uint32_t words = (k + 63) / 64;
    uint32_t count = schedule->end - schedule->first;
    uint64_t *carried = WEFT_NEW(&scratch, uint64_t, ((size_t)count + 1) * words);
    uint64_t *held = WEFT_NEW(&scratch, uint64_t, (size_t)k * words);
    uint32_t *brought_to = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)count + 1);
    memset(brought_to, 0xff, ((size_t)count + 1) * sizeof *brought_to); // WEFT_NONE
    for (uint32_t at = 0; at < count; at++) {
        uint32_t t = schedule->order[at];
        uint32_t i = t - schedule->first;
        uint64_t *own = carried + (size_t)i * words;
        if (played->kind[t] == WEFT_TASK_TRANSFER) {
            uint32_t from = rank_of(schedule, played->from[t]);
            uint32_t to = rank_of(schedule, played->to[t]);
            if (from == WEFT_NONE || to == WEFT_NONE) {
                return false;
            }
            own[from / 64] |= 1ull << from % 64;
            merge(held + (size_t)to * words, own, words);
            brought_to[i] = played->to[t];
        }
        for (uint32_t e = played->next_first[t]; e < played->next_first[t + 1]; e++) {
            uint32_t next = played->next[e] - schedule->first;
            if (played->next[e] < schedule->first || next >= count) {
                continue;
            }
            bool joins = played->kind[played->next[e]] == WEFT_TASK_BARRIER;
            if (joins || played->from[played->next[e]] == brought_to[i]) {
                merge(carried + (size_t)next * words, own, words);
                brought_to[next] = joins ? brought_to[i] : WEFT_NONE;
            }
        }
    }
    for (uint32_t r = 0; r < k; r++) {
        held[(size_t)r * words + r / 64] |= 1ull << r % 64;
        for (uint32_t other = 0; other < k; other++) {
            if ((held[(size_t)r * words + other / 64] >> other % 64 & 1) == 0) {
                return false;
            }
        }
    }
    return true;
}

// Whether each member sends and receives at least so much, and all together.
static bool moves(const struct schedule *schedule, bool balanced, struct weft_arena scratch)
{
    const struct weft_taskgraph *played = schedule->played;
    struct ideal ideal = {.graph = schedule->graph, .balanced = balanced};
    uint32_t k = ideal_member_count(schedule->graph, schedule->task);
    double *sent = WEFT_NEW(&scratch, double, 2 * (size_t)k);
    double *received = sent + k;
    double all = 0;
    for (uint32_t t = schedule->first; t < schedule->end; t++) {
        if (played->kind[t] != WEFT_TASK_TRANSFER) {
            continue;
        }
        sent[rank_of(schedule, played->from[t])] += (double)played->size_bytes[t];
        received[rank_of(schedule, played->to[t])] += (double)played->size_bytes[t];
        all += (double)played->size_bytes[t];
    }
    bool enough = all >= ideal_all_bytes(schedule->graph, schedule->task) * (1 - SAME_RATIO);
    for (uint32_t r = 0; r < k; r++) {
        enough = enough &&
                 sent[r] >= ideal_bytes(&ideal, schedule->task, false) * (1 - SAME_RATIO) &&
                 received[r] >= ideal_bytes(&ideal, schedule->task, true) * (1 - SAME_RATIO);
    }
    return enough;
}

// Lists what follows a task from `first` on, once all that it waits for is listed.
static uint32_t *list_range(const struct schedule *schedule, uint32_t *count,
                            struct weft_arena *arena)
{
    const struct weft_taskgraph *played = schedule->played;
    uint32_t first = schedule->first;
    size_t room = (size_t)played->task_count - first + 1;
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, room);
    uint32_t *waits = WEFT_NEW(arena, uint32_t, room);
    uint32_t listed = 0;
    uint32_t task = schedule->task;
    for (uint32_t i = 0;; i++) {
        for (uint32_t e = played->next_first[task]; e < played->next_first[task + 1]; e++) {
            uint32_t next = played->next[e];
            if (next >= first && ++waits[next - first] == played->prev_count[next]) {
                order[listed++] = next;
            }
        }
        if (i == listed) {
            break;
        }
        task = order[i];
    }
    *count = listed;
    return order;
}

// Finds the transfers behind a task, which begin at `first`, and the barrier behind them all, after
// which tasks of the job follow. False: there is no such schedule.
static bool find_schedule(struct schedule *schedule, uint32_t first, struct weft_arena *arena)
{
    const struct weft_taskgraph *played = schedule->played;
    const struct weft_taskgraph *graph = schedule->graph;
    uint32_t task = schedule->task;
    uint32_t count = 0;
    if (first >= played->task_count || played->kind[task] != graph->kind[task] ||
        played->size_bytes[task] != 0 || played->runtime_ps[task] != graph->runtime_ps[task]) {
        return false;
    }
    schedule->first = first;
    schedule->order = list_range(schedule, &count, arena);
    schedule->end = first + count - 1;
    uint32_t end = schedule->end;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = schedule->order[i];
        if (t > end || (i + 1 == count) != (t == end) ||
            (played->kind[t] != WEFT_TASK_BARRIER &&
             (t == end || played->kind[t] != WEFT_TASK_TRANSFER))) {
            return false;
        }
    }
    if (count == 0) {
        return false;
    }
    uint32_t next_count = graph->next_first[task + 1] - graph->next_first[task];
    return played->next_first[end + 1] - played->next_first[end] == next_count &&
           memcmp(played->next + played->next_first[end], graph->next + graph->next_first[task],
                  next_count * sizeof *graph->next) == 0;
}

// Whether a task that no choice is for is played as it is.
static bool is_kept(const struct weft_taskgraph *graph, const struct weft_taskgraph *played,
                    uint32_t task)
{
    uint32_t next_count = graph->next_first[task + 1] - graph->next_first[task];
    return played->kind[task] == graph->kind[task] && played->device[task] == graph->device[task] &&
           played->runtime_ps[task] == graph->runtime_ps[task] &&
           played->size_bytes[task] == graph->size_bytes[task] &&
           played->from[task] == graph->from[task] && played->to[task] == graph->to[task] &&
           played->next_first[task + 1] - played->next_first[task] == next_count &&
           memcmp(played->next + played->next_first[task], graph->next + graph->next_first[task],
                  next_count * sizeof *graph->next) == 0;
}

// Whether what is played is the task graph with a sound schedule for each chosen collective.
// *balanced: in all of them every member moves what it would on a ring.
bool check_collectives(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_verify_input *input, bool *balanced,
                       struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = input->graph;
    const struct weft_taskgraph *played = input->played != NULL ? input->played : graph;
    uint32_t before = findings->count;
    uint32_t at = graph->task_count;
    bool *used = WEFT_NEW(&scratch, bool, (size_t)plan->collective_count + 1);
    *balanced = true;
    for (uint32_t t = 0; t < graph->task_count && findings->count == before; t++) {
        uint32_t c = choice_of(plan, graph, t);
        struct schedule schedule = {graph, played, t, 0, 0, NULL};
        if (c == WEFT_NONE) {
            if (!is_kept(graph, played, t)) {
                findings_add(findings, "task %u is not played as the job has it", t);
            }
            continue;
        }
        used[c] = true;
        struct weft_arena kept = scratch;
        if (!find_schedule(&schedule, at, &kept) || !reaches_all(&schedule, kept) ||
            !moves(&schedule, false, kept)) {
            findings_add(findings, "collectives[%u]: its transfers cannot do what task %u asks", c,
                         t);
            continue;
        }
        *balanced = *balanced && moves(&schedule, true, kept);
        at = schedule.end + 1;
    }
    for (uint32_t c = 0; c < plan->collective_count && findings->count == before; c++) {
        if (!used[c]) {
            findings_add(findings, "collectives[%u]: group %u has no collective of these sizes", c,
                         plan->collectives[c].group);
        }
    }
    bool sound = findings->count == before;
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        if (figures_differ(plan->collectives[c].seconds, plan->iteration_s)) {
            findings_add(findings,
                         "collectives[%u]: seconds is stated as %.12g, but the iteration with it "
                         "takes %.12g",
                         c, plan->collectives[c].seconds, plan->iteration_s);
        }
    }
    return sound;
}
