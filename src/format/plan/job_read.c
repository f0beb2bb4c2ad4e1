// SPDX-License-Identifier: Apache-2.0
// What a plan was made for, read back: strategy, memory and task graph (docs/plan-format.md).
//
// Indices and words are held against what the file says of itself; whether the strategy gives
// this task graph is the checker's to find. O(bytes).

#include "job.h"
#include "read.h"

#include <stdlib.h>
#include <string.h>

#define LARGE 1e30
#define PARTS_MAX (1u << 20)

// ---- words and numbers ----

static bool read_word(uint32_t *value, const json_t *object, const char *key,
                      const char *const *words, struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    const char *word = json_is_string(found) ? json_string_value(found) : "";
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0) {
            *value = i;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "%s: '%.32s' is not a word for it; write for example %s",
                     key, word, words[0]);
}

// A whole number, or its digits as a text, at a place of an array.
static bool read_number(uint64_t *value, const json_t *array, size_t at, uint64_t high,
                        struct weft_error *error)
{
    const json_t *found = json_array_get(array, at);
    uint64_t number = 0;
    if (json_is_string(found)) {
        if (!weft_parse_count(&number, json_string_value(found), 0, UINT64_MAX, error)) {
            return weft_wrap(error, "[%zu]", at);
        }
    } else if (json_is_integer(found) && json_integer_value(found) >= 0) {
        number = (uint64_t)json_integer_value(found);
    } else {
        return weft_fail(error, WEFT_INPUT, "[%zu]: not a whole number", at);
    }
    if (number > high) {
        return weft_fail(error, WEFT_INPUT, "[%zu]: %llu is more than %llu", at,
                         (unsigned long long)number, (unsigned long long)high);
    }
    *value = number;
    return true;
}

static bool read_index(uint32_t *value, const json_t *array, size_t at, struct weft_error *error)
{
    uint64_t number = 0;
    if (!read_number(&number, array, at, UINT32_MAX - 1, error)) {
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

// ---- strategy and memory ----

static bool read_placement(struct weft_placement *placement, const char **name,
                           const json_t *object, uint32_t server_count, struct weft_arena *arena,
                           struct weft_error *error)
{
    const json_t *servers = NULL;
    if (!weft_json_text(name, object, "name", arena, error) ||
        !weft_json_u32(&placement->sample_parts, object, "sample_parts", 1, PARTS_MAX, error) ||
        !weft_json_u32(&placement->parameter_parts, object, "parameter_parts", 1, PARTS_MAX,
                       error) ||
        !weft_json_array(&servers, object, "servers", error)) {
        return false;
    }
    size_t parts = (size_t)placement->sample_parts * placement->parameter_parts;
    if (json_array_size(servers) != parts) {
        return weft_fail(error, WEFT_INPUT, "servers: %zu of them for %zu parts; write one a part",
                         json_array_size(servers), parts);
    }
    uint32_t *indices = WEFT_NEW(arena, uint32_t, parts);
    placement->servers = indices;
    return weft_json_indices(indices, servers, server_count, error) || weft_wrap(error, "servers");
}

static bool read_operators(struct weft_plan_job *job, const json_t *object,
                           const struct weft_plan_source *source)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, object, "operators", source->error)) {
        return false;
    }
    size_t count = json_array_size(items);
    struct weft_placement *placements = WEFT_NEW(source->arena, struct weft_placement, count + 1);
    const char **names = WEFT_NEW(source->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!read_placement(&placements[i], &names[i], json_array_get(items, i),
                            job->strategy.server_count, source->arena, source->error)) {
            return weft_wrap(source->error, "operators[%zu]", i);
        }
    }
    job->operator_count = (uint32_t)count;
    job->operator_names = names;
    job->strategy.placements = placements;
    return true;
}

// Reads the switches that stand in the file only where a strategy has them.
static bool read_rare(struct weft_hybrid *hybrid, const json_t *object, struct weft_error *error)
{
    bool dual = false;
    const struct {
        const char *key;
        bool *is;
    } rare[] = {
        {"overlap_tensor", &hybrid->overlap_tensor}, {"overlap_experts", &hybrid->overlap_experts},
        {"blocking_sends", &hybrid->blocking_sends}, {"fp8", &hybrid->fp8},
        {"whole_experts", &hybrid->whole_experts},   {"dualpipe", &dual},
    };
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
        if (json_object_get(object, rare[i].key) != NULL &&
            !weft_json_bool(rare[i].is, object, rare[i].key, error)) {
            return false;
        }
    }
    hybrid->schedule = dual ? WEFT_SCHEDULE_DUALPIPE : WEFT_SCHEDULE_1F1B;
    return true;
}

// Reads the degrees and switches of hybrid parallelism.
static bool read_hybrid(struct weft_hybrid *hybrid, const json_t *object,
                        const struct weft_plan_source *source)
{
    struct weft_error *error = source->error;
    const struct {
        const char *key;
        uint32_t *value;
    } counts[] = {{"dp", &hybrid->dp}, {"tp", &hybrid->tp}, {"pp", &hybrid->pp},
                  {"ep", &hybrid->ep}, {"cp", &hybrid->cp}, {"chunks", &hybrid->chunks}};
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!weft_json_u32(counts[i].value, object, counts[i].key, 1, PARTS_MAX, error)) {
            return false;
        }
    }
    const char *order = NULL;
    uint32_t recompute = 0;
    if (!weft_json_u64(&hybrid->micro_batch, object, "micro_batch", error) ||
        !weft_json_u32(&hybrid->zero_stage, object, "zero_stage", 0, 3, error) ||
        !weft_json_bool(&hybrid->sequence_parallel, object, "sequence_parallel", error) ||
        !weft_json_bool(&hybrid->overlap_gradients, object, "overlap_gradients", error) ||
        !weft_json_bool(&hybrid->fused_attention, object, "fused_attention", error) ||
        !read_rare(hybrid, object, error) ||
        !read_word(&recompute, object, "recompute", weft_plan_recomputes, error) ||
        !weft_json_text(&order, object, "order", source->arena, error)) {
        return false;
    }
    if (strlen(order) >= sizeof hybrid->order) {
        return weft_fail(error, WEFT_INPUT, "order: '%.32s' is too long; write for example tcdp",
                         order);
    }
    hybrid->recompute = (enum weft_recompute)recompute;
    memcpy(hybrid->order, order, strlen(order) + 1);
    return true;
}

static bool read_strategy(struct weft_plan_job *job, const struct weft_plan_source *source)
{
    static const char *const kinds[] = {
        [WEFT_STRATEGY_OPERATORS] = "operators", [WEFT_STRATEGY_HYBRID] = "hybrid", NULL};
    const json_t *object = NULL;
    uint32_t kind = 0;
    if (!weft_json_object(&object, source->root, "strategy", source->error)) {
        return false;
    }
    bool good = read_word(&kind, object, "kind", kinds, source->error);
    job->strategy.kind = (enum weft_strategy_kind)kind;
    if (good) {
        good = kind == WEFT_STRATEGY_OPERATORS ? read_operators(job, object, source)
                                               : read_hybrid(&job->strategy.hybrid, object, source);
    }
    return good || weft_wrap(source->error, "strategy");
}

// Reads the memory that the strategy takes on each server, one entry for every server of the
// cluster.
static bool read_memory(struct weft_plan_job *job, const struct weft_plan_source *source)
{
    struct weft_error *error = source->error;
    const json_t *object = NULL;
    const json_t *items = NULL;
    if (!weft_json_object(&object, source->root, "memory", error)) {
        return false;
    }
    if (!weft_json_real(&job->strategy.memory_max_bytes, object, "max_bytes", 0, LARGE, error) ||
        !weft_json_real(&job->memory_limit_bytes, object, "limit_bytes", 0, LARGE, error) ||
        !weft_json_array(&items, object, "servers", error)) {
        return weft_wrap(error, "memory");
    }
    uint32_t n = job->strategy.server_count;
    if (json_array_size(items) != n) {
        return weft_fail(error, WEFT_INPUT, "memory: servers: %zu of them, the cluster has %u",
                         json_array_size(items), n);
    }
    struct weft_memory *memory = WEFT_NEW(source->arena, struct weft_memory, n);
    for (uint32_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(items, i);
        bool library = json_object_get(item, "library_bytes") != NULL; // where a stack is stated
        if (!weft_json_read_reals(&memory[i], item, weft_plan_amounts, error) ||
            (library &&
             !weft_json_real(&memory[i].library_bytes, item, "library_bytes", 0, LARGE, error))) {
            return weft_wrap(error, "memory: servers[%u]", i);
        }
    }
    job->strategy.memory = memory;
    return true;
}

// ---- the task graph ----

struct groups {
    uint32_t count;
    const uint32_t **members;
    uint32_t *member_counts;
};

static bool read_groups(struct groups *groups, const json_t *items, uint32_t server_count,
                        struct weft_arena *arena, struct weft_error *error)
{
    size_t count = json_array_size(items);
    groups->count = (uint32_t)count;
    groups->members = WEFT_NEW(arena, const uint32_t *, count + 1);
    groups->member_counts = WEFT_NEW(arena, uint32_t, count + 1);
    for (size_t g = 0; g < count; g++) {
        const json_t *item = json_array_get(items, g);
        uint32_t *members = WEFT_NEW(arena, uint32_t, json_array_size(item) + 1);
        if (!weft_json_indices(members, item, server_count, error)) {
            return weft_wrap(error, "groups[%zu]", g);
        }
        groups->members[g] = members;
        groups->member_counts[g] = (uint32_t)json_array_size(item);
    }
    return true;
}

// What stands between a task's letter and its successors; *at moves behind it.
static bool read_fields(struct weft_task *task, size_t *at, const json_t *row,
                        const struct groups *groups, struct weft_error *error)
{
    uint32_t group = 0;
    if (task->kind == WEFT_TASK_BARRIER) {
        return true;
    }
    if (task->kind == WEFT_TASK_TRANSFER) {
        *at = 4;
        return read_index(&task->from, row, 1, error) && read_index(&task->to, row, 2, error) &&
               read_number(&task->size_bytes, row, 3, INT64_MAX, error);
    }
    if (weft_task_facts[task->kind].is_collective) {
        *at = 4;
        if (!read_index(&group, row, 1, error) ||
            !read_number(&task->size_bytes, row, 2, INT64_MAX, error) ||
            !read_number(&task->runtime_ps, row, 3, INT64_MAX, error)) {
            return false;
        }
        if (group >= groups->count) {
            return weft_fail(error, WEFT_INPUT, "[1]: there are %u groups, not %u", groups->count,
                             group);
        }
        task->members = groups->members[group];
        task->member_count = groups->member_counts[group];
        return true;
    }
    *at = 3;
    return read_index(&task->device, row, 1, error) &&
           read_number(&task->runtime_ps, row, 2, INT64_MAX, error);
}

// Reads one task, an array that begins with the letter of its kind.
static bool read_task(struct weft_task *task, const json_t *row, const struct groups *groups,
                      struct weft_arena *arena, struct weft_error *error)
{
    const json_t *found = json_array_get(row, 0);
    const char *text = json_is_string(found) ? json_string_value(found) : "";
    const char *letter = text[0] != '\0' ? strchr(WEFT_PLAN_TASK_LETTERS, text[0]) : NULL;
    if (letter == NULL || text[1] != '\0') {
        return weft_fail(error, WEFT_INPUT, "not a task; its first entry is none of the letters %s",
                         WEFT_PLAN_TASK_LETTERS);
    }
    *task = (struct weft_task){.kind = (enum weft_task_kind)(letter - WEFT_PLAN_TASK_LETTERS)};
    size_t at = 1;
    if (!read_fields(task, &at, row, groups, error)) {
        return false;
    }
    size_t end = json_array_size(row);
    uint32_t *next = WEFT_NEW(arena, uint32_t, end - at + 1);
    for (size_t i = at; i < end; i++) {
        if (!read_index(&next[i - at], row, i, error)) {
            return false;
        }
    }
    task->next = next;
    task->next_count = (uint32_t)(end - at);
    return true;
}

// Reads the task graph of the job, and lets weft_taskgraph_build check what the file says.
bool weft_plan_read_graph(struct weft_taskgraph *graph, const json_t *object, uint32_t server_count,
                          const struct weft_plan_source *source, struct weft_arena scratch)
{
    struct weft_error *error = source->error;
    const json_t *devices = NULL;
    const json_t *lists = NULL;
    const json_t *rows = NULL;
    uint32_t servers = 0;
    if (!weft_json_u32(&servers, object, "servers", 1, server_count, error) ||
        !weft_json_array(&devices, object, "devices", error) ||
        !weft_json_array(&lists, object, "groups", error) ||
        !weft_json_array(&rows, object, "tasks", error)) {
        return false;
    }
    uint32_t *device_server = WEFT_NEW(&scratch, uint32_t, json_array_size(devices) + 1);
    if (!weft_json_indices(device_server, devices, servers, error)) {
        return weft_wrap(error, "devices");
    }
    struct groups groups;
    if (!read_groups(&groups, lists, servers, &scratch, error)) {
        return false;
    }
    size_t count = json_array_size(rows);
    struct weft_task *tasks = WEFT_NEW(&scratch, struct weft_task, count + 1);
    for (size_t t = 0; t < count; t++) {
        if (!read_task(&tasks[t], json_array_get(rows, t), &groups, &scratch, error)) {
            return weft_wrap(error, "tasks[%zu]", t);
        }
    }
    return weft_taskgraph_build(
        graph,
        &(struct weft_taskgraph_draft){.server_count = servers,
                                       .device_count = (uint32_t)json_array_size(devices),
                                       .device_server = device_server,
                                       .task_count = (uint32_t)count,
                                       .tasks = tasks},
        source->arena, scratch, error);
}

static bool read_rounds(struct weft_plan_job *job, const json_t *items,
                        const struct weft_plan_source *source)
{
    size_t count = json_array_size(items);
    uint32_t *starts = WEFT_NEW(source->arena, uint32_t, count + 1);
    double *round_s = WEFT_NEW(source->arena, double, count + 1);
    for (size_t r = 0; r < count; r++) {
        const json_t *item = json_array_get(items, r);
        if (!weft_json_u32(&starts[r], item, "start", 0, UINT32_MAX - 1, source->error) ||
            !weft_json_real(&round_s[r], item, "iteration_s", 0, LARGE, source->error)) {
            return weft_wrap(source->error, "rounds[%zu]", r);
        }
    }
    job->round_count = (uint32_t)count;
    job->round_start = starts;
    job->round_s = round_s;
    return true;
}

// Reads the job itself. Variants that were not tried have no time in the file, and 0 here.
static bool read_job_keys(struct weft_plan_job *job, const json_t *object,
                          const struct weft_plan_source *source, struct weft_arena scratch)
{
    struct weft_error *error = source->error;
    const char *names[WEFT_COPLAN_VARIANT_COUNT + 1] = {NULL};
    const json_t *variants = NULL;
    const json_t *rounds = NULL;
    const json_t *graph = NULL;
    uint32_t optimizer = 0;
    uint32_t tables = 0;
    uint32_t variant = 0;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        names[v] = weft_coplan_variant_name(v);
    }
    if (!weft_json_text(&job->model, object, "model", source->arena, error) ||
        !weft_json_u64(&job->batch, object, "batch", error) ||
        !weft_json_text(&job->costs, object, "costs", source->arena, error) ||
        !weft_json_real(&job->inside_Bps, object, "intra_server_rate_Bps", 0, LARGE, error) ||
        !read_word(&optimizer, object, "optimizer", weft_plan_optimizers, error) ||
        !read_word(&tables, object, "tables", weft_plan_tables, error) ||
        !read_word(&variant, object, "variant", names, error) ||
        !weft_json_bool(&job->fixed_point, object, "fixed_point", error) ||
        !weft_json_object(&variants, object, "variants", error) ||
        !weft_json_array(&rounds, object, "rounds", error) ||
        !weft_json_object(&graph, object, "graph", error)) {
        return false;
    }
    for (uint32_t v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        const json_t *seconds = json_object_get(variants, names[v]);
        job->variant_s[v] = json_is_number(seconds) ? json_number_value(seconds) : 0;
    }
    job->optimizer = (enum weft_optimizer)optimizer;
    job->tables = (enum weft_tables)tables;
    job->variant = (enum weft_coplan_variant)variant;
    return read_rounds(job, rounds, source) &&
           (weft_plan_read_graph(&job->graph, graph, job->strategy.server_count, source, scratch) ||
            weft_wrap(error, "graph"));
}

bool weft_plan_read_job(struct weft_plan *plan, struct weft_arena scratch,
                        struct weft_plan_source *source)
{
    if (json_object_get(source->root, "job") == NULL) {
        return true;
    }
    struct weft_plan_job *job = WEFT_NEW(source->arena, struct weft_plan_job, 1);
    const json_t *object = NULL;
    job->strategy.server_count = plan->cluster.server_count;
    if (!weft_json_object(&object, source->root, "job", source->error) ||
        !read_strategy(job, source) || !read_memory(job, source)) {
        return false;
    }
    const json_t *utilization = json_object_get(source->root, "flops_utilization");
    if (!json_is_null(utilization) &&
        !weft_json_real(&job->flops_utilization, source->root, "flops_utilization", 0, LARGE,
                        source->error)) {
        return false;
    }
    if (!weft_json_u64(&job->evaluations, source->root, "evaluations", source->error)) {
        return false;
    }
    if (!read_job_keys(job, object, source, scratch)) {
        return weft_wrap(source->error, "job");
    }
    plan->job = job;
    return true;
}

// How the search was left; not there where it came to its end.
bool weft_plan_read_search(struct weft_plan_cut *cut, const struct weft_plan_source *source)
{
    const json_t *object = NULL;
    const char *effort = NULL;
    bool finished = false;
    if (json_object_get(source->root, "search") == NULL) {
        return true;
    }
    if (!weft_json_object(&object, source->root, "search", source->error) ||
        !weft_json_text(&effort, object, "effort", source->arena, source->error) ||
        !weft_json_bool(&finished, object, "finished", source->error)) {
        return weft_wrap(source->error, "search");
    }
    char *colon = NULL;
    char *end = NULL;
    cut->effort_s = strtod(effort, &colon);
    cut->published = *colon == ':' ? strtoull(colon + 1, &end, 10) : 0;
    if (finished || !(cut->effort_s > 0) || cut->published == 0 || *end != '\0') {
        return weft_fail(source->error, WEFT_INPUT,
                         "search: effort '%.32s', finished %s: only a search that was left stands "
                         "here, as EFFORT:PLANS, finished false",
                         effort, finished ? "true" : "false");
    }
    return true;
}
