// SPDX-License-Identifier: Apache-2.0
// The rows of a comparison whose network follows the strategy: the rewired fabric, the paper's
// topology and Weft's.
//
// A topology is planned for a task graph, so that not every strategy of the pool can be tried: the
// paper's method plans for a few that promise most, and its row is the best of them. Weft's row is
// its plan, which searched strategies and topologies with the whole effort: what weft plan answers
// with the same effort and seed, digit for digit.

#include "compare.h"

#include <math.h>
#include <string.h>

// Strategies that the paper's method plans for get this share of the effort of Weft's plan each.
#define METHOD_SHARE 0.2
// How many of each sort are chosen (compare.h).
#define PLAIN 3u
#define PROMISING 2u
#define DIRECT 1u

_Static_assert(PLAIN + PROMISING + DIRECT == COMPARE_CHOICES_MAX, "all have room");

static bool is_chosen(const uint32_t *chosen, uint32_t count, uint32_t entry)
{
    for (uint32_t i = 0; i < count; i++) {
        if (chosen[i] == entry) {
            return true;
        }
    }
    return false;
}

uint32_t compare_choose(uint32_t *chosen, const struct compare_promise *promises,
                        uint32_t fabric_count, uint32_t entry_count)
{
    uint32_t count = 0;
    for (; count < entry_count && count < PLAIN; count++) {
        chosen[count] = count;
    }
    for (uint32_t i = 0; i < PROMISING + DIRECT; i++) {
        uint32_t best = WEFT_NONE;
        double best_s = HUGE_VAL;
        for (uint32_t f = 0; f < fabric_count; f++) {
            bool asked = i < PROMISING || promises[f].direct;
            for (uint32_t e = 0; asked && e < entry_count; e++) {
                if (promises[f].quick_s[e] < best_s && !is_chosen(chosen, count, e)) {
                    best_s = promises[f].quick_s[e];
                    best = e;
                }
            }
        }
        if (best != WEFT_NONE) {
            chosen[count++] = best;
        }
    }
    return count;
}

// ---- rows ----

// Whether a row beats what stands there.
static bool improves(const struct weft_comparison *row, const struct weft_comparison *best)
{
    return row->why_not == NULL && (best->why_not != NULL || !(best->iteration_s > 0) ||
                                    row->iteration_s < best->iteration_s);
}

// Only Weft's strategy and data parallelism: this baseline's engine is slow.
void compare_fill_reconfig_row(struct comparison *run, struct weft_arena scratch)
{
    struct weft_comparison *row = compare_add_row(&run->table, "ocs-reconfig");
    struct weft_comparison blank = *row;
    for (uint32_t i = 0; i < run->entry_count; i++) {
        const struct entry *entry = run->entries[i];
        if (i > 0 && strcmp(entry->found_for, "data-parallel") != 0) {
            continue;
        }
        struct weft_comparison attempt = blank;
        run->table.graph = &entry->graph;
        compare_reconfig(&run->table, &attempt, scratch);
        attempt.found_for = entry->found_for;
        if (i == 0 || improves(&attempt, row)) {
            *row = attempt;
        }
    }
}

// Which entries the paper's method plans for. Returns how many.
static uint32_t choose_entries(uint32_t *chosen, const struct comparison *run)
{
    struct compare_promise promises[COMPARE_ROWS_MAX];
    for (uint32_t f = 0; f < run->fabric_count; f++) {
        const struct fabric_row *fabric = run->fabrics[f];
        promises[f] = (struct compare_promise){fabric->quick_s, fabric->network->fabric.forwards};
    }
    return compare_choose(chosen, promises, run->fabric_count, run->entry_count);
}

// One entry by the paper's method; the row is the better one's.
static void try_paper(struct comparison *run, struct weft_comparison *row,
                      const struct weft_comparison *blank, const struct entry *entry,
                      struct weft_arena scratch)
{
    struct weft_plan_options options = *run->table.options;
    options.topology.method = WEFT_TOPOLOGY_TOPOOPT;
    options.topology.seconds = run->options->seconds * METHOD_SHARE;
    struct weft_comparison attempt = *blank;
    struct weft_environment inner = *run->table.environment;
    struct weft_error error;
    inner.scratch = scratch;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    inner.arena = &kept;
    inner.error = &error;
    struct weft_plan *plan = WEFT_NEW(&kept, struct weft_plan, 1);
    run->table.graph = &entry->graph;
    if (weft_plan_build(plan, run->table.graph, run->table.cluster, &options, &inner)) {
        compare_measure(&run->table, &attempt, &plan->network, inner.scratch);
    } else {
        compare_refuse(&run->table, &attempt, &error);
    }
    attempt.found_for = entry->found_for;
    bool empty = row->why_not == NULL && !(row->iteration_s > 0);
    if (empty || improves(&attempt, row)) {
        *row = attempt;
    }
}

void compare_fill_paper_row(struct comparison *run, struct weft_arena scratch)
{
    uint32_t chosen[COMPARE_CHOICES_MAX];
    uint32_t count = choose_entries(chosen, run);
    struct weft_comparison *topoopt = compare_add_row(&run->table, "topoopt");
    const struct weft_comparison blank = *topoopt;
    for (uint32_t i = 0; i < count; i++) {
        try_paper(run, topoopt, &blank, run->entries[chosen[i]], scratch);
        weft_poll(); // what was left unfinished is no row
    }
}

void compare_fill_plan_row(struct comparison *run, const struct weft_plan *plan,
                           struct weft_arena scratch)
{
    struct weft_comparison *weft = compare_add_row(&run->table, "weft");
    run->table.graph = &plan->job->graph;
    compare_measure_plan(&run->table, weft, plan, scratch);
    weft->found_for = "weft";
}
