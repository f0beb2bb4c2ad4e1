// SPDX-License-Identifier: Apache-2.0
// The strategies of a comparison: every one that was found for any fabric, so that no fabric loses
// for want of search.
//
// A strategy is in the pool once, by its key (coplan_key), with the task graph that follows from it
// on this cluster. What comes after ENTRIES_MAX of them is dropped.

#include "compare.h"

// The search of a full mesh gets this share of the effort of Weft's plan.
#define SEARCH_SHARE 0.25

void compare_add_entry(struct comparison *run, const struct weft_strategy *strategy,
                       const char *found_for, struct weft_arena scratch)
{
    uint64_t key = coplan_key(strategy, run->study.model);
    for (uint32_t i = 0; i < run->entry_count; i++) {
        if (run->entries[i]->key == key) {
            return;
        }
    }
    if (run->entry_count == ENTRIES_MAX) {
        return;
    }
    struct entry *entry = WEFT_NEW(run->kept, struct entry, 1);
    entry->strategy = coplan_copy(strategy, run->study.model->operator_count, run->kept);
    entry->found_for = found_for;
    entry->key = key;
    struct weft_error error;
    if (weft_strategy_taskgraph(&entry->graph, &entry->strategy, &run->study, run->kept, scratch,
                                &error)) {
        run->entries[run->entry_count++] = entry;
    }
}

void compare_add_data_parallel(struct comparison *run, struct weft_arena scratch)
{
    struct weft_strategy strategy;
    struct weft_error error;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!run->hybrid && weft_strategy_data_parallel(&strategy, &run->study, &kept, &error) &&
        weft_strategy_memory(&strategy, &run->study, &kept, scratch, &error)) {
        compare_add_entry(run, &strategy, "data-parallel", scratch);
    }
}

void compare_add_full_mesh(struct comparison *run, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_study study = run->study;
    study.network = NULL;
    struct weft_search_options search = run->options->search;
    search.seconds = run->options->seconds * SEARCH_SHARE;
    search.keep = 1;
    search.progress_ps = NULL;
    struct weft_search_result result;
    struct weft_error error; // then there is none
    bool found = run->hybrid
                     ? weft_hybrid_search(&result, &study, &search, &kept, scratch, &error)
                     : weft_strategy_search(&result, &study, &search, &kept, scratch, &error);
    if (found) {
        compare_add_entry(run, &result.candidates[0].strategy, "full-mesh", scratch);
    }
}
