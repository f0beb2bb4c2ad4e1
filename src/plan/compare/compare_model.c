// SPDX-License-Identifier: Apache-2.0
// One model on every fabric that one could buy: each with the best strategy found for it.
//
// Every strategy that was found for any fabric is tried on all of them, so that no fabric loses for
// want of search.

#include "compare.h"
#include "plan/demand/tour.h"
#include "plan/design/search.h"
#include "plan/joint/joint.h"

#include <math.h>
#include <string.h>

#define ENTRIES_MAX 80u
// Strategies that a fabric's own search hands over.
#define KEEP 3u
// A fabric's own search gets this share of the effort of Weft's plan.
#define SEARCH_SHARE 0.25
// Descents on a fabric, from the quickest by judgement, share so much of that effort.
#define DESCENT_SHARE 0.25
#define DESCENTS 3u
// Strategies that are played in full on a fabric, the quickest by judgement first; fewer where that
// is dear.
#define FINALISTS 4u
#define FINALISTS_MANY 2u
#define MANY_SERVERS 64u
// Strategies that both methods plan for get this share of the effort of Weft's plan each.
#define TRIAL_SHARE 0.2

// A strategy in the pool with its task graph.
struct entry {
    struct weft_strategy strategy;
    const char *found_for;
    uint64_t key;
    struct weft_taskgraph graph;
};

// A fabric that wants its best strategy.
struct field {
    struct weft_comparison *row;
    struct weft_network *network;
    bool tours; // its rings are tours of each graph's groups
    double quick_s[ENTRIES_MAX];
    uint32_t judged; // entries before this one have their quick_s
};

struct contest {
    struct table table;
    const struct weft_model *model;
    const struct weft_strategy_setting *setting;
    const struct weft_coplan_options *options;
    bool hybrid;
    struct entry *entries[ENTRIES_MAX];
    uint32_t entry_count;
    struct field *fields[COMPARE_ROWS_MAX];
    uint32_t field_count;
    struct weft_arena *kept; // until the comparison is done
};

// ---- the pool ----

static bool asked_for(const struct weft_compare_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->fabric_count; i++) {
        if (strcmp(options->fabrics[i], name) == 0) {
            return true;
        }
    }
    return options->fabric_count == 0;
}

// Adds a strategy unless the pool has it or its task graph cannot be built.
static void add_entry(struct contest *contest, const struct weft_strategy *strategy,
                      const char *found_for, struct weft_arena scratch)
{
    uint64_t key = coplan_key(strategy, contest->model);
    for (uint32_t i = 0; i < contest->entry_count; i++) {
        if (contest->entries[i]->key == key) {
            return;
        }
    }
    if (contest->entry_count == ENTRIES_MAX) {
        return;
    }
    struct entry *entry = WEFT_NEW(contest->kept, struct entry, 1);
    entry->strategy = coplan_copy(strategy, contest->model->operator_count, contest->kept);
    entry->found_for = found_for;
    entry->key = key;
    struct weft_error error;
    if (weft_strategy_taskgraph(&entry->graph, &entry->strategy,
                                &(struct weft_study){.model = contest->model,
                                                     .cluster = contest->table.cluster,
                                                     .setting = contest->setting},
                                contest->kept, scratch, &error)) {
        contest->entries[contest->entry_count++] = entry;
    }
}

static void add_data_parallel(struct contest *contest, struct weft_arena scratch)
{
    struct weft_strategy strategy;
    struct weft_error error;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!contest->hybrid &&
        weft_strategy_data_parallel(&strategy,
                                    &(struct weft_study){.model = contest->model,
                                                         .cluster = contest->table.cluster,
                                                         .setting = contest->setting},
                                    &kept, &error) &&
        weft_strategy_memory(&strategy,
                             &(struct weft_study){.model = contest->model,
                                                  .cluster = contest->table.cluster,
                                                  .setting = contest->setting},
                             &kept, scratch, &error)) {
        add_entry(contest, &strategy, "data-parallel", scratch);
    }
}

// ---- judging ----

static void set_rings(struct field *field, const struct entry *entry, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    if (field->tours) {
        field->network->rings = tour_rings(&entry->graph, field->network, arena, scratch);
    }
}

// The iteration with every AllReduce in one round: a tenth of the work, a few percent off.
static double judge(const struct contest *contest, struct field *field, const struct entry *entry,
                    struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    set_rings(field, entry, &results, scratch);
    const struct weft_sim_job job = {.graph = &entry->graph, .rings = field->network->rings};
    struct weft_sim_options sim = contest->table.options->sim;
    sim.timeline = false;
    sim.one_round = true;
    struct weft_sim_result result;
    struct weft_error error;
    bool played = weft_sim_run_jobs(&result, &field->network->fabric, &field->network->routes, &job,
                                    1, &sim, &results, scratch, &error);
    return played ? weft_seconds(result.iteration_ps[0]) : HUGE_VAL;
}

// Judges what came into the pool since the last time. Returns the best entry.
static uint32_t judge_new(const struct contest *contest, struct field *field,
                          struct weft_arena scratch)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < contest->entry_count; i++) {
        if (i >= field->judged) {
            field->quick_s[i] = judge(contest, field, contest->entries[i], scratch);
        }
        best = field->quick_s[i] < field->quick_s[best] ? i : best;
    }
    field->judged = contest->entry_count;
    return best;
}

// The search of one fabric, from the best strategy known for it.
static void search_field(struct contest *contest, struct field *field, struct weft_arena scratch)
{
    const struct weft_coplan_options *options = contest->options;
    uint32_t best = judge_new(contest, field, scratch);
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_search_options search = options->search;
    search.seconds = options->seconds * SEARCH_SHARE;
    search.keep = KEEP;
    search.progress_ps = NULL;
    set_rings(field, contest->entries[best], &kept, scratch);
    search.start = &contest->entries[best]->strategy;
    struct weft_search_result result;
    struct weft_error error;
    bool found = contest->hybrid
                     ? weft_hybrid_search(&result,
                                          &(struct weft_study){.model = contest->model,
                                                               .cluster = contest->table.cluster,
                                                               .network = field->network,
                                                               .setting = contest->setting},
                                          &search, &kept, scratch, &error)
                     : weft_strategy_search(&result,
                                            &(struct weft_study){.model = contest->model,
                                                                 .cluster = contest->table.cluster,
                                                                 .network = field->network,
                                                                 .setting = contest->setting},
                                            &search, &kept, scratch, &error);
    for (uint32_t i = 0; found && i < result.count; i++) {
        add_entry(contest, &result.candidates[i].strategy, field->row->name, scratch);
    }
}

// The quickest entry by judgement that was not taken.
static uint32_t find_quickest(const struct contest *contest, const struct field *field,
                              const bool *taken)
{
    uint32_t best = WEFT_NONE;
    for (uint32_t i = 0; i < contest->entry_count; i++) {
        bool better = best == WEFT_NONE || field->quick_s[i] < field->quick_s[best];
        best = !taken[i] && better ? i : best;
    }
    return best;
}

// Small changes of the best strategies known for a fabric, judged on it.
static void descend_field(struct contest *contest, struct field *field, struct weft_arena scratch)
{
    if (contest->hybrid || contest->table.cluster->server_count > MANY_SERVERS) {
        return;
    }
    judge_new(contest, field, scratch);
    const struct compare_ground ground = {contest->model,   contest->table.cluster,
                                          contest->setting, contest->options,
                                          field->network,   field->tours};
    double left = contest->options->seconds * DESCENT_SHARE * WORK_UNITS_PER_S;
    bool taken[ENTRIES_MAX] = {false};
    uint32_t count = contest->entry_count;
    for (uint32_t i = 0; i < DESCENTS && i < count && left > 0; i++) {
        uint32_t best = find_quickest(contest, field, taken);
        taken[best] = true;
        struct weft_strategy strategy = contest->entries[best]->strategy;
        struct weft_arena kept = weft_arena_split(&scratch);
        double iteration_s;
        set_rings(field, contest->entries[best], &kept, scratch);
        left -= compare_descend(&strategy, &iteration_s, &ground, left, &kept, scratch);
        if (iteration_s < HUGE_VAL && contest->entry_count < ENTRIES_MAX) {
            taken[contest->entry_count] = true; // where a descent ended
            add_entry(contest, &strategy, field->row->name, scratch);
        }
    }
}

// Plays the finalists in full; the row is the better one's.
static void settle_field(struct contest *contest, struct field *field, struct weft_arena scratch)
{
    judge_new(contest, field, scratch);
    struct weft_comparison blank = *field->row;
    bool taken[ENTRIES_MAX] = {false};
    uint32_t finalists =
        contest->table.cluster->server_count > MANY_SERVERS ? FINALISTS_MANY : FINALISTS;
    for (uint32_t f = 0; f < finalists && f < contest->entry_count; f++) {
        uint32_t best = find_quickest(contest, field, taken);
        taken[best] = true;
        struct weft_comparison row = blank;
        struct weft_arena results = weft_arena_split(&scratch);
        set_rings(field, contest->entries[best], &results, scratch);
        contest->table.graph = &contest->entries[best]->graph;
        compare_measure(&contest->table, &row, field->network, scratch);
        row.found_for = contest->entries[best]->found_for;
        bool first = f == 0;
        bool better = row.why_not == NULL &&
                      (field->row->why_not != NULL || row.iteration_s < field->row->iteration_s);
        if (first || better) {
            *field->row = row;
        }
    }
}

// ---- fabrics ----

static void add_field(struct contest *contest, const char *name, double budget_usd,
                      struct weft_arena scratch)
{
    struct weft_comparison *row = compare_add_row(&contest->table, name);
    struct weft_network *network = WEFT_NEW(contest->kept, struct weft_network, 1);
    struct weft_fabric_options options = {.seed = contest->options->search.seed,
                                          .budget_usd = budget_usd};
    struct weft_error error;
    if (!weft_fabric_build_named(network, name, contest->table.cluster, &options, contest->kept,
                                 scratch, &error)) {
        compare_refuse(&contest->table, row, &error);
        return;
    }
    struct field *field = WEFT_NEW(contest->kept, struct field, 1);
    *field = (struct field){.row = row,
                            .network = network,
                            .tours = network->fabric.forwards && network->rings.ring_count == 0};
    contest->fields[contest->field_count++] = field;
}

// Whether a row beats what stands there.
static bool improves(const struct weft_comparison *row, const struct weft_comparison *best)
{
    return row->why_not == NULL && (best->why_not != NULL || !(best->iteration_s > 0) ||
                                    row->iteration_s < best->iteration_s);
}

// Only Weft's strategy and data parallelism: this baseline's engine is slow.
static void settle_reconfig(struct contest *contest, struct weft_arena scratch)
{
    struct weft_comparison *row = compare_add_row(&contest->table, "ocs-reconfig");
    struct weft_comparison blank = *row;
    for (uint32_t i = 0; i < contest->entry_count; i++) {
        const struct entry *entry = contest->entries[i];
        if (i > 0 && strcmp(entry->found_for, "data-parallel") != 0) {
            continue;
        }
        struct weft_comparison trial = blank;
        contest->table.graph = &entry->graph;
        compare_reconfig(&contest->table, &trial, scratch);
        trial.found_for = entry->found_for;
        if (i == 0 || improves(&trial, row)) {
            *row = trial;
        }
    }
}

// ---- both methods ----

// Which entries both methods plan for. Returns how many.
static uint32_t choose_trials(uint32_t *trials, const struct contest *contest)
{
    struct compare_promise promises[COMPARE_ROWS_MAX];
    for (uint32_t f = 0; f < contest->field_count; f++) {
        const struct field *field = contest->fields[f];
        promises[f] = (struct compare_promise){field->quick_s, field->network->fabric.forwards};
    }
    return compare_trials(trials, promises, contest->field_count, contest->entry_count);
}

// One entry by one method; the row is the better one's.
static void try_method(struct contest *contest, struct weft_comparison *row,
                       const struct weft_comparison *blank, const struct entry *entry,
                       enum weft_topology_method method, struct weft_arena scratch)
{
    struct weft_plan_options options = *contest->table.options;
    options.topology.method = method;
    options.topology.seconds = contest->options->seconds * TRIAL_SHARE;
    struct weft_comparison trial = *blank;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_plan *plan = WEFT_NEW(&kept, struct weft_plan, 1);
    struct weft_error error;
    contest->table.graph = &entry->graph;
    if (weft_plan_build(plan, contest->table.graph, contest->table.cluster, &options, &kept,
                        scratch, &error)) {
        compare_measure(&contest->table, &trial, &plan->network, scratch);
    } else {
        compare_refuse(&contest->table, &trial, &error);
    }
    trial.found_for = entry->found_for;
    bool empty = row->why_not == NULL && !(row->iteration_s > 0);
    if (empty || improves(&trial, row)) {
        *row = trial;
    }
}

// The paper's topology and Weft's for the same strategies; Weft's plan is among the latter.
static void settle_methods(struct contest *contest, const struct weft_plan *plan, bool paper,
                           struct weft_arena scratch)
{
    uint32_t trials[COMPARE_TRIALS_MAX];
    uint32_t count = choose_trials(trials, contest);
    if (paper) {
        struct weft_comparison *row = compare_add_row(&contest->table, "topoopt");
        struct weft_comparison blank = *row;
        for (uint32_t i = 0; i < count; i++) {
            try_method(contest, row, &blank, contest->entries[trials[i]], WEFT_TOPOLOGY_TOPOOPT,
                       scratch);
        }
    }
    struct weft_comparison *row = compare_add_row(&contest->table, "weft");
    struct weft_comparison blank = *row;
    contest->table.graph = &plan->job->graph;
    compare_measure(&contest->table, row, &plan->network, scratch);
    row->found_for = "weft";
    for (uint32_t i = 0; i < count; i++) {
        try_method(contest, row, &blank, contest->entries[trials[i]], WEFT_TOPOLOGY_WEFT, scratch);
    }
}

// The strategy of a full mesh, as the paper's loop begins.
static void search_mesh(struct contest *contest, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_search_options search = contest->options->search;
    search.seconds = contest->options->seconds * SEARCH_SHARE;
    search.keep = 1;
    search.progress_ps = NULL;
    struct weft_search_result result;
    struct weft_error error;
    bool found = contest->hybrid
                     ? weft_hybrid_search(&result,
                                          &(struct weft_study){.model = contest->model,
                                                               .cluster = contest->table.cluster,
                                                               .setting = contest->setting},
                                          &search, &kept, scratch, &error)
                     : weft_strategy_search(&result,
                                            &(struct weft_study){.model = contest->model,
                                                                 .cluster = contest->table.cluster,
                                                                 .setting = contest->setting},
                                            &search, &kept, scratch, &error);
    if (found && result.count > 0) {
        add_entry(contest, &result.candidates[0].strategy, "full-mesh", scratch);
    }
}

static void fill_rows(struct contest *contest, const struct weft_compare_options *options,
                      const struct weft_plan *plan, struct weft_arena scratch)
{
    add_entry(contest, &plan->job->strategy, "weft", scratch);
    search_mesh(contest, scratch);
    add_data_parallel(contest, scratch);
    uint32_t reference_count;
    const struct weft_fabric_reference *references = weft_fabric_references(&reference_count);
    for (uint32_t i = 0; i < reference_count; i++) {
        if (asked_for(options, references[i].name)) {
            add_field(contest, references[i].name, plan->cost.total_usd, scratch);
        }
    }
    for (uint32_t i = 0; i < contest->field_count; i++) {
        search_field(contest, contest->fields[i], scratch);
        descend_field(contest, contest->fields[i], scratch);
    }
    for (uint32_t i = 0; i < contest->field_count; i++) {
        settle_field(contest, contest->fields[i], scratch);
    }
    if (asked_for(options, "ocs-reconfig")) {
        settle_reconfig(contest, scratch);
    }
    settle_methods(contest, plan, asked_for(options, "topoopt"), scratch);
    compare_ratios(&contest->table);
}

bool weft_plan_compare_model(struct weft_model_comparison *comparison,
                             const struct weft_model *model, const struct weft_cluster *cluster,
                             const struct weft_strategy_setting *setting,
                             const struct weft_compare_options *options, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_coplan_options coplan = options->coplan;
    coplan.variant = WEFT_COPLAN_BOTH;
    coplan.seconds = coplan.seconds > 0 ? coplan.seconds : WEFT_COPLAN_SECONDS;
    struct weft_plan *plan = WEFT_NEW(&kept, struct weft_plan, 1);
    if (!weft_coplan_build(plan, model, cluster, setting, &coplan, &kept, scratch, error)) {
        return false;
    }
    struct contest contest = {
        .table = {.cluster = cluster,
                  .options = &coplan.plan,
                  .rows = WEFT_NEW(arena, struct weft_comparison, COMPARE_ROWS_MAX),
                  .arena = arena},
        .model = model,
        .setting = setting,
        .options = &coplan,
        .hybrid = plan->job->strategy.kind == WEFT_STRATEGY_HYBRID,
        .kept = &kept,
    };
    fill_rows(&contest, options, plan, scratch);
    *comparison = (struct weft_model_comparison){
        .model = model->name,
        .batch = model->batch,
        .server_count = cluster->server_count,
        .degree = cluster->degree,
        .rate_Bps = cluster->rate_Bps,
        .row_count = contest.table.count,
        .rows = contest.table.rows,
        .costs = weft_arena_text(arena, plan->job->costs, strlen(plan->job->costs)),
        .seed = coplan.search.seed,
        .effort_s = coplan.seconds,
        .evaluations = plan->job->evaluations};
    memcpy(comparison->variant_s, plan->job->variant_s, sizeof comparison->variant_s);
    return true;
}
