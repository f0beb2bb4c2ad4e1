// SPDX-License-Identifier: Apache-2.0
// Chooses what collectives run as: groups that are alike together, small tasks and large ones
// apart, each candidate evaluated by the simulated iteration.
//
// Rings are best where bytes count and every hop is a link of its own; where latency counts, trees
// and halving-doubling have fewer rounds. Which of them pays depends on what else the iteration has
// to do meanwhile, so that candidates are first played alone, one task on the network, and the
// three quickest then in the whole iteration. docs/plan.md, "Collectives", has figures. At most
// about as much work as the search for the network.

#include "collectives.h"

#include <math.h>
#include <string.h>

// A choice that saves less is not worth that the plan becomes harder to read.
#define LESS_RATIO 1e-4
#define CLASSES_MAX 16u
#define TRIED_MAX 3u             // in the whole iteration, beside packed trees
#define PACKED_COUNT 2u          // of the candidates, the last ones
#define TRANSFERS_MAX (1u << 13) // of a schedule
// Of building a task graph's transfers and playing them.
#define UNITS_PER_TASK 1500.0
#define UNITS_PER_WORK 20.0
#define UNITS_PER_PACKET 250.0 // as UNITS_PER_EVENT of design/network.c
enum { PART_SMALL, PART_LARGE, PARTS };

struct candidate {
    enum weft_algorithm algorithm;
    uint32_t chunk_factor;
    bool ring_order;
};

static const struct candidate candidates[] = {
    {WEFT_ALGORITHM_HALVING_DOUBLING, 1, false},
    {WEFT_ALGORITHM_HALVING_DOUBLING, 1, true},
    {WEFT_ALGORITHM_RECURSIVE_DOUBLING, 1, false},
    {WEFT_ALGORITHM_RECURSIVE_DOUBLING, 1, true},
    {WEFT_ALGORITHM_BRUCK, 1, false},
    {WEFT_ALGORITHM_DOUBLE_TREE, 2, false},
    {WEFT_ALGORITHM_DOUBLE_TREE, 8, false},
    {WEFT_ALGORITHM_DOUBLE_TREE, 8, true},
    {WEFT_ALGORITHM_BIDIRECTIONAL, 1, true},
    {WEFT_ALGORITHM_TORUS, 1, false},
    {WEFT_ALGORITHM_TORUS, 1, true},
    {WEFT_ALGORITHM_HIERARCHICAL, 1, true},
    {WEFT_ALGORITHM_DIRECT, 1, false},
    {WEFT_ALGORITHM_SYNTHESIZE, 1, false},
    {WEFT_ALGORITHM_SYNTHESIZE, 4, false},
    {WEFT_ALGORITHM_PACKED_TREES, 24, false},
    {WEFT_ALGORITHM_PACKED_TREES, 120, false},
};
#define CANDIDATE_COUNT (uint32_t)(sizeof candidates / sizeof candidates[0])

// Groups with as many members and the same tasks by kind and bytes.
struct class
{
    uint64_t key;
    uint32_t member_count;
    double wire_bytes;
    uint64_t size_min_bytes; // of tasks that a choice may take
    uint64_t size_max_bytes;
    uint64_t middle_bytes;  // the largest of the small ones; all: there is one part
    uint32_t chosen[PARTS]; // candidate, or WEFT_NONE = rings
};

struct chooser {
    const struct search *search;
    const struct weft_network *network;
    uint32_t *class_of_group; // WEFT_NONE = none
    struct class classes[CLASSES_MAX];
    uint32_t class_count;
    uint32_t row_room;
    double best_s;
    double units_left;
    struct weft_arena *arena;
};

// ---- classes ----

// Tasks that the engine plays in one round anyway are left alone: nothing is quicker.
static bool may_choose(const struct search *search, uint32_t task)
{
    const struct weft_taskgraph *graph = search->graph;
    const struct weft_sim_options *sim = &search->sim;
    if (!weft_task_is_collective(graph, task) || graph->size_bytes[task] == 0) {
        return false;
    }
    uint32_t members = weft_task_member_count(graph, task);
    bool small =
        sim->small_in_one_round && graph->size_bytes[task] < (uint64_t)sim->packet_bytes * members;
    return members > 1 && !small && !sim->one_round;
}

static void measure_groups(struct class *groups, const struct chooser *chooser)
{
    const struct weft_taskgraph *graph = chooser->search->graph;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (!may_choose(chooser->search, t)) {
            continue;
        }
        struct class *group = &groups[graph->group[t]];
        uint64_t size_bytes = graph->size_bytes[t];
        group->key += weft_hash(size_bytes * WEFT_TASK_KIND_COUNT + graph->kind[t]);
        group->member_count = weft_task_member_count(graph, t);
        group->wire_bytes += weft_task_wire_bytes(graph, t);
        if (group->size_min_bytes == 0 || size_bytes < group->size_min_bytes) {
            group->size_min_bytes = size_bytes;
        }
        if (size_bytes > group->size_max_bytes) {
            group->size_max_bytes = size_bytes;
        }
    }
}

// Puts a group into its class; beyond the room the ones with fewest bytes keep rings.
static void classify(struct chooser *chooser, const struct class *group, uint32_t index)
{
    uint32_t at = 0;
    while (at < chooser->class_count &&
           (chooser->classes[at].key != group->key ||
            chooser->classes[at].member_count != group->member_count)) {
        at++;
    }
    if (at == CLASSES_MAX) {
        return;
    }
    if (at == chooser->class_count) {
        chooser->classes[at] = *group;
        chooser->class_count++;
    }
    chooser->class_of_group[index] = at;
    chooser->row_room += PARTS;
}

// Classes in the order of their groups' bytes, so that what finds no room matters least.
static void find_classes(struct chooser *chooser, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = chooser->search->graph;
    struct class *groups = WEFT_NEW(&scratch, struct class, (size_t)graph->group_count + 1);
    measure_groups(groups, chooser);
    bool *placed = WEFT_NEW(&scratch, bool, (size_t)graph->group_count + 1);
    chooser->class_of_group =
        WEFT_NEW_RAW(chooser->arena, uint32_t, (size_t)graph->group_count + 1);
    for (uint32_t g = 0; g < graph->group_count; g++) {
        chooser->class_of_group[g] = WEFT_NONE;
    }
    for (uint32_t i = 0; i < graph->group_count; i++) {
        uint32_t most = WEFT_NONE;
        for (uint32_t g = 0; g < graph->group_count; g++) {
            if (!placed[g] && groups[g].wire_bytes > 0 &&
                (most == WEFT_NONE || groups[g].wire_bytes > groups[most].wire_bytes)) {
                most = g;
            }
        }
        if (most == WEFT_NONE) {
            break;
        }
        placed[most] = true;
        struct class *group = &groups[most];
        // Sizes grow by factors.
        group->middle_bytes =
            (uint64_t)sqrt((double)group->size_min_bytes * (double)group->size_max_bytes);
        group->chosen[PART_SMALL] = group->chosen[PART_LARGE] = WEFT_NONE;
        classify(chooser, group, most);
    }
}

// ---- choices ----

static void add_row(struct weft_collective_choice *rows, uint32_t *count, uint32_t group,
                    uint32_t candidate, uint64_t low_bytes, uint64_t high_bytes)
{
    if (candidate != WEFT_NONE && low_bytes <= high_bytes) {
        rows[(*count)++] =
            (struct weft_collective_choice){.group = group,
                                            .size_min_bytes = low_bytes,
                                            .size_max_bytes = high_bytes,
                                            .algorithm = candidates[candidate].algorithm,
                                            .chunk_factor = candidates[candidate].chunk_factor,
                                            .ring_order = candidates[candidate].ring_order};
    }
}

static uint32_t list_choices(struct weft_collective_choice *rows, const struct chooser *chooser,
                             const struct class *classes)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < chooser->search->graph->group_count; g++) {
        if (chooser->class_of_group[g] == WEFT_NONE) {
            continue;
        }
        const struct class *class = &classes[chooser->class_of_group[g]];
        if (class->chosen[PART_SMALL] == class->chosen[PART_LARGE]) {
            add_row(rows, &count, g, class->chosen[PART_SMALL], class->size_min_bytes,
                    class->size_max_bytes);
            continue;
        }
        add_row(rows, &count, g, class->chosen[PART_SMALL], class->size_min_bytes,
                class->middle_bytes);
        add_row(rows, &count, g, class->chosen[PART_LARGE], class->middle_bytes + 1,
                class->size_max_bytes);
    }
    return count;
}

// ---- evaluation ----

// Candidates for parts of a class. First each alone on the network, with the class's largest task
// of these parts; the best of those that are quicker than rings then in the whole iteration.
struct experiment {
    const struct chooser *chooser;
    uint32_t class;
    bool changes[PARTS];
    struct weft_taskgraph alone;         // that task
    struct weft_network network;         // its rings
    double alone_s[CANDIDATE_COUNT + 1]; // the last: rings
    double alone_units[CANDIDATE_COUNT + 1];
    uint32_t task_count; // that would change
    uint32_t tried[TRIED_MAX + PACKED_COUNT];
    uint32_t tried_count;
    struct score scores[TRIED_MAX + PACKED_COUNT];
};

static double simulate(double *work_units, const struct chooser *chooser,
                       const struct weft_taskgraph *graph, struct weft_ring_set rings,
                       struct weft_arena scratch)
{
    const struct weft_network *network = chooser->network;
    struct weft_arena kept = weft_arena_split(&scratch);
    const struct weft_sim_job job = {graph, NULL, rings, NULL};
    struct weft_sim_result result;
    struct weft_error error;
    *work_units = UNITS_PER_TASK * graph->task_count;
    if (!weft_sim_run_jobs(
            &result, network, &job, 1, &chooser->search->sim,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error})) {
        return HUGE_VAL;
    }
    *work_units += UNITS_PER_WORK * (double)result.work_count;
    *work_units += UNITS_PER_PACKET * (double)result.packets.events;
    return weft_seconds(result.iteration_ps[0]);
}

// Whether a candidate's schedule is small enough to be tried at all.
static bool is_affordable(const struct experiment *experiment,
                          const struct weft_collective_choice *row, struct weft_arena arena,
                          struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = &experiment->alone;
    uint64_t n = weft_task_member_count(graph, 0);
    if (row->algorithm == WEFT_ALGORITHM_SYNTHESIZE) {
        return 2 * n * n * row->chunk_factor <= TRANSFERS_MAX;
    }
    struct weft_placed_schedule placed;
    struct weft_error error; // it cannot: rings can
    const struct weft_collective_call call = {(enum weft_task_kind)graph->kind[0],
                                              graph->size_bytes[0]};
    const struct weft_environment inner = {.arena = &arena, .scratch = scratch, .error = &error};
    return weft_collective_choice_build(&placed, row, &call, graph, &experiment->network, &inner) &&
           weft_schedule_transfer_count(&placed.schedule) <= TRANSFERS_MAX;
}

static void evaluate_alone(void *context, uint32_t index, struct weft_arena scratch)
{
    struct experiment *experiment = context;
    struct weft_collective_choice row;
    uint32_t count = 0;
    struct weft_arena kept = weft_arena_split(&scratch);
    experiment->alone_s[index] = HUGE_VAL;
    if (index < CANDIDATE_COUNT) {
        add_row(&row, &count, 0, index, 0, UINT64_MAX);
        if (!is_affordable(experiment, &row, kept, scratch)) {
            return;
        }
    }
    struct weft_taskgraph graph;
    struct weft_error error;
    const struct weft_environment inner = {.arena = &kept, .scratch = scratch, .error = &error};
    if (weft_taskgraph_expand(&graph, &experiment->alone, &row, count, &experiment->network,
                              &inner)) {
        experiment->alone_s[index] = simulate(&experiment->alone_units[index], experiment->chooser,
                                              &graph, experiment->network.rings, scratch);
    }
}

// One of the experiment's candidates in the whole iteration, beside what was chosen before.
static void evaluate(void *context, uint32_t index, struct weft_arena scratch)
{
    struct experiment *experiment = context;
    const struct chooser *chooser = experiment->chooser;
    struct class classes[CLASSES_MAX];
    memcpy(classes, chooser->classes, sizeof classes);
    for (uint32_t part = 0; part < PARTS; part++) {
        if (experiment->changes[part]) {
            classes[experiment->class].chosen[part] = experiment->tried[index];
        }
    }
    struct score *score = &experiment->scores[index];
    *score = (struct score){HUGE_VAL, 0};
    struct weft_collective_choice *rows =
        WEFT_NEW(&scratch, struct weft_collective_choice, (size_t)chooser->row_room + 1);
    uint32_t count = list_choices(rows, chooser, classes);
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_taskgraph graph;
    struct weft_error error;
    const struct weft_environment inner = {.arena = &kept, .scratch = scratch, .error = &error};
    if (weft_taskgraph_expand(&graph, chooser->search->graph, rows, count, chooser->network,
                              &inner)) {
        score->iteration_s =
            simulate(&score->work_units, chooser, &graph, chooser->network->rings, scratch);
    }
}

// The largest task of the parts, of the first group of the class. False: there is none.
static bool find_task(uint32_t *task, struct experiment *experiment)
{
    const struct chooser *chooser = experiment->chooser;
    const struct weft_taskgraph *graph = chooser->search->graph;
    const struct class *class = &chooser->classes[experiment->class];
    uint64_t low =
        experiment->changes[PART_SMALL] ? class->size_min_bytes : class->middle_bytes + 1;
    uint64_t high = experiment->changes[PART_LARGE] ? class->size_max_bytes : class->middle_bytes;
    uint32_t found = WEFT_NONE;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint64_t size_bytes = graph->size_bytes[t];
        if (!may_choose(chooser->search, t) ||
            chooser->class_of_group[graph->group[t]] != experiment->class || size_bytes < low ||
            size_bytes > high) {
            continue;
        }
        experiment->task_count++;
        if (found == WEFT_NONE || size_bytes > graph->size_bytes[found]) {
            found = t;
        }
    }
    *task = found;
    return found != WEFT_NONE;
}

// A graph of the class's largest task alone, on the network with its group's rings. False: no task.
static bool set_alone(struct experiment *experiment, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = experiment->chooser->search->graph;
    const struct weft_network *network = experiment->chooser->network;
    uint32_t task;
    if (!find_task(&task, experiment)) {
        return false;
    }
    uint32_t group = graph->group[task];
    const struct weft_task alone = {
        .kind = (enum weft_task_kind)graph->kind[task],
        .device = WEFT_NONE,
        .size_bytes = graph->size_bytes[task],
        .members = graph->group_members + graph->group_first[group],
        .member_count = weft_task_member_count(graph, task),
    };
    struct weft_ring *rings =
        WEFT_NEW(arena, struct weft_ring, (size_t)network->rings.ring_count + 1);
    uint32_t count = 0;
    for (uint32_t r = 0; r < network->rings.ring_count; r++) {
        if (network->rings.rings[r].group == group) {
            rings[count] = network->rings.rings[r];
            rings[count++].group = 0;
        }
    }
    experiment->network = *network;
    experiment->network.rings = (struct weft_ring_set){count, rings};
    struct weft_error error;
    const struct weft_taskgraph_draft draft = {
        .server_count = graph->server_count, .task_count = 1, .tasks = &alone};
    return weft_taskgraph_build(&experiment->alone, &draft, arena, scratch, &error);
}

// Puts a candidate among those that are tried in the whole iteration, if the effort lasts for it.
static bool try_candidate(struct experiment *experiment, uint32_t candidate, double *units_left)
{
    experiment->alone_s[candidate] = HUGE_VAL; // not again
    *units_left -= experiment->alone_units[candidate] * experiment->task_count;
    if (*units_left < 0) {
        return false; // the others would cost as much
    }
    experiment->tried[experiment->tried_count++] = candidate;
    return true;
}

// Packed trees whatever they take alone, where there are transfers that they can give way to; then
// the quickest ones alone, first of equals first.
static void pick_tried(struct experiment *experiment)
{
    double units_left = experiment->chooser->units_left;
    bool beside = experiment->chooser->search->traffic->transfer_total_bytes > 0;
    bool affordable = true;
    for (uint32_t c = CANDIDATE_COUNT - PACKED_COUNT; c < CANDIDATE_COUNT && beside; c++) {
        if (experiment->alone_s[c] < HUGE_VAL && affordable) {
            affordable = try_candidate(experiment, c, &units_left);
        }
    }
    for (uint32_t i = 0; i < TRIED_MAX && affordable; i++) {
        uint32_t best = CANDIDATE_COUNT;
        for (uint32_t c = 0; c < CANDIDATE_COUNT; c++) {
            if (experiment->alone_s[c] < experiment->alone_s[best]) {
                best = c;
            }
        }
        if (best == CANDIDATE_COUNT) {
            return;
        }
        affordable = try_candidate(experiment, best, &units_left);
    }
}

// Takes the best candidate for some parts of a class, if it is better than what is.
static void improve(struct chooser *chooser, uint32_t class, bool small, bool large,
                    struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct experiment experiment = {.chooser = chooser, .class = class, .changes = {small, large}};
    if (chooser->units_left <= 0 || weft_stopped(chooser->search->stop) ||
        !set_alone(&experiment, &kept, scratch)) {
        return;
    }
    uint32_t threads = chooser->search->threads;
    weft_parallel_for(CANDIDATE_COUNT + 1, threads, evaluate_alone, &experiment);
    pick_tried(&experiment);
    weft_parallel_for(experiment.tried_count, threads, evaluate, &experiment);
    uint32_t best = WEFT_NONE;
    for (uint32_t i = 0; i < experiment.tried_count; i++) {
        chooser->units_left -= experiment.scores[i].work_units;
        if (experiment.scores[i].iteration_s < chooser->best_s * (1 - LESS_RATIO)) {
            chooser->best_s = experiment.scores[i].iteration_s;
            best = experiment.tried[i];
        }
    }
    for (uint32_t part = 0; part < PARTS && best != WEFT_NONE; part++) {
        if (experiment.changes[part]) {
            chooser->classes[class].chosen[part] = best;
        }
    }
}

uint32_t collectives_pack(struct weft_collective_choice **choices, const struct search *search,
                          struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = search->graph;
    bool *packed = WEFT_NEW(arena, bool, (size_t)graph->group_count + 1);
    uint32_t count = 0;
    if (search->traffic->transfer_total_bytes <= 0) {
        return 0;
    }
    *choices = WEFT_NEW(arena, struct weft_collective_choice, (size_t)graph->group_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (!may_choose(search, t) || graph->kind[t] != WEFT_TASK_ALLREDUCE ||
            packed[graph->group[t]] || weft_task_member_count(graph, t) != graph->server_count) {
            continue;
        }
        packed[graph->group[t]] = true;
        uint32_t candidate = CANDIDATE_COUNT - PACKED_COUNT;
        add_row(*choices, &count, graph->group[t], candidate, 1, UINT64_MAX);
    }
    return count;
}

void collectives_choose(struct weft_plan *plan, const struct search *search, double work_units,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct chooser chooser = {.search = search,
                              .network = &plan->network,
                              .best_s = plan->iteration_s,
                              .units_left = work_units,
                              .arena = &kept};
    find_classes(&chooser, scratch);
    for (uint32_t c = 0; c < chooser.class_count; c++) {
        const struct class *class = &chooser.classes[c];
        improve(&chooser, c, true, true, scratch);
        if (class->size_min_bytes < class->size_max_bytes) {
            improve(&chooser, c, true, false, scratch);
            improve(&chooser, c, false, true, scratch);
        }
    }
    struct weft_collective_choice *rows =
        WEFT_NEW(arena, struct weft_collective_choice, (size_t)chooser.row_room + 1);
    plan->collective_count = list_choices(rows, &chooser, chooser.classes);
    plan->collectives = rows;
    for (uint32_t i = 0; i < plan->collective_count; i++) {
        rows[i].seconds = chooser.best_s;
    }
    plan->iteration_s = chooser.best_s;
}
