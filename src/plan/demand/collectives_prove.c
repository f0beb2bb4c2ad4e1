// SPDX-License-Identifier: Apache-2.0
// What a plan's chosen collectives are: played, proved, and what the certificate may assume.

#include "collectives.h"

#include <math.h>
#include <string.h>

bool weft_plan_played(struct weft_taskgraph *played, const struct weft_plan *plan,
                      const struct weft_taskgraph *graph, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    if (plan->collective_count == 0) {
        *played = *graph;
        return true;
    }
    return weft_taskgraph_expand(
               played, graph, plan->collectives, plan->collective_count, &plan->network,
               &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error}) ||
           weft_wrap(error, "collectives");
}

// The kinds of a choice's tasks and the largest of each; 0 = none.
static void list_tasks(uint64_t largest[WEFT_TASK_KIND_COUNT],
                       const struct weft_collective_choice *choice,
                       const struct weft_taskgraph *graph)
{
    memset(largest, 0, WEFT_TASK_KIND_COUNT * sizeof *largest);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint64_t size_bytes = graph->size_bytes[t];
        if (weft_task_is_collective(graph, t) && graph->group[t] == choice->group &&
            size_bytes >= choice->size_min_bytes && size_bytes <= choice->size_max_bytes &&
            size_bytes > largest[graph->kind[t]]) {
            largest[graph->kind[t]] = size_bytes;
        }
    }
}

// ---- the certificate ----

// Whether every rank sends and receives at least what it would on a ring.
static bool is_balanced(const struct weft_schedule *schedule, struct weft_arena scratch)
{
    uint32_t n = schedule->rank_count;
    uint64_t *sent = WEFT_NEW(&scratch, uint64_t, 2 * (size_t)n);
    uint64_t *received = sent + n;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            if (transfer->from != transfer->to) {
                sent[transfer->from] += transfer->slot_count;
                received[transfer->to] += transfer->slot_count;
            }
        }
    }
    uint64_t turns = schedule->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
    uint64_t needed = turns * (n - 1) * schedule->chunk_count; // n-ths of a slot
    for (uint32_t r = 0; r < n; r++) {
        if (sent[r] * n < needed || received[r] * n < needed) {
            return false;
        }
    }
    return true;
}

static bool all_balanced(bool *balanced, const struct weft_plan *plan,
                         const struct weft_taskgraph *graph, struct weft_arena scratch,
                         struct weft_error *error)
{
    *balanced = true;
    struct weft_arena kept = weft_arena_split(&scratch);
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        uint64_t largest[WEFT_TASK_KIND_COUNT];
        list_tasks(largest, &plan->collectives[c], graph);
        for (enum weft_task_kind kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
            struct weft_arena arena = kept;
            struct weft_placed_schedule placed;
            if (largest[kind] == 0) {
                continue;
            }
            const struct weft_collective_call call = {kind, largest[kind]};
            const struct weft_environment inner = {
                .arena = &arena, .scratch = scratch, .error = error};
            if (!weft_collective_choice_build(&placed, &plan->collectives[c], &call, graph,
                                              &plan->network, &inner)) {
                return false;
            }
            *balanced = *balanced && is_balanced(&placed.schedule, scratch);
        }
    }
    return true;
}

bool collectives_certify(struct weft_certificate *certificate, const struct weft_plan *plan,
                         const struct weft_taskgraph *graph, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    bool rings = plan->collective_count == 0;
    bool balanced = true;
    // The bounds of this fabric count on its rings.
    if (!all_balanced(&balanced, plan, graph, scratch, error) ||
        !weft_certificate_build(certificate, graph, &plan->cluster, rings ? &plan->network : NULL,
                                plan->iteration_s, arena, scratch, error)) {
        return false;
    }
    if (balanced) {
        return true;
    }
    struct weft_bound *kept = WEFT_NEW(arena, struct weft_bound, certificate->bound_count);
    uint32_t count = 0;
    uint32_t binding = 0;
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        if (certificate->bounds[i].any_allreduce) {
            binding = certificate->bounds[i].seconds > kept[binding].seconds ? count : binding;
            kept[count++] = certificate->bounds[i];
        }
    }
    WEFT_ASSERT(count > 0); // what devices compute
    double bound_s = kept[binding].seconds;
    *certificate = (struct weft_certificate){count, kept, binding, bound_s,
                                             bound_s > 0 ? plan->iteration_s / bound_s - 1 : 0};
    return true;
}

// ---- proof ----

static bool prove(struct findings *findings, const struct weft_plan *plan, uint32_t index,
                  const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    const struct weft_collective_choice *choice = &plan->collectives[index];
    uint64_t largest[WEFT_TASK_KIND_COUNT];
    list_tasks(largest, choice, graph);
    uint32_t before = findings->count;
    uint32_t kinds = 0;
    struct weft_arena kept = weft_arena_split(&scratch);
    for (enum weft_task_kind kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
        struct weft_arena arena = kept;
        struct weft_placed_schedule placed;
        struct weft_schedule_report report;
        struct weft_error error;
        if (largest[kind] == 0) {
            continue;
        }
        kinds++;
        const struct weft_collective_call call = {kind, largest[kind]};
        const struct weft_environment inner = {
            .arena = &arena, .scratch = scratch, .error = &error};
        if (!weft_collective_choice_build(&placed, choice, &call, graph, &plan->network, &inner) ||
            !weft_schedule_check(&report, &placed.schedule, scratch, &error)) {
            findings_add(findings, "collectives[%u]: %s", index, error.message);
        } else if (!report.valid) {
            findings_add(findings, "collectives[%u]: %s", index, report.why);
        }
    }
    if (kinds == 0) {
        findings_add(findings, "collectives[%u]: group %u has no collective of these sizes", index,
                     choice->group);
    }
    return findings->count == before;
}

bool check_collectives(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    bool sound = true;
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        const struct weft_collective_choice *choice = &plan->collectives[c];
        if (graph != NULL) {
            sound = prove(findings, plan, c, graph, scratch) && sound;
        }
        if (!(fabs(choice->seconds - plan->iteration_s) <= 1e-6 * plan->iteration_s)) {
            findings_add(findings,
                         "collectives[%u]: seconds is stated as %.9g, but the iteration with it "
                         "takes %.9g",
                         c, choice->seconds, plan->iteration_s);
        }
    }
    return sound;
}
