// SPDX-License-Identifier: Apache-2.0
// Tasks as operations of a rail: which of them use it, on which nodes, and with how many bytes.
//
// A node is a server's share of the rail: one of its `places`, a group of accelerators with a
// device of its own. Transfers leave from the place of the device before them and keep to it.
// Transfers whose only successor is one barrier are an all-to-all, carried as a whole when all of
// them are ready; the barrier is its operation. A collective is divided over the places of the
// devices that it waits for or that wait for it. O(tasks + circuits).

#include "rails.h"

#include <string.h>

const char *const rail_label_names[RAIL_LABEL_COUNT] = {"dp", "pp", "ep", "cp"};

struct compiler {
    struct rail_program *program;
    const struct weft_taskgraph *graph;
    uint32_t places;
    struct rail_places where;
    uint32_t *merged;                      // per task: the barrier that a transfer is merged into
    uint32_t *merged_first, *merged_tasks; // CSR by barrier
    struct rail_pairs pairs;
    const uint32_t **ring; // per node: the largest ring of data parallelism that it is in
    uint32_t *ring_size;
    struct rail_lists lists;
};

static uint32_t node_of(const struct compiler *compiler, uint32_t server, uint32_t place)
{
    return server * compiler->places + place;
}

static uint32_t place_of(const struct compiler *compiler, uint32_t transfer)
{
    return (uint32_t)__builtin_ctzll(rail_places_of(&compiler->where, transfer));
}

// ---- transfers ----

static void find_merged(struct compiler *compiler, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t n = graph->task_count;
    for (uint32_t t = 0; t < n; t++) {
        bool ends = graph->kind[t] == WEFT_TASK_TRANSFER &&
                    graph->next_first[t + 1] - graph->next_first[t] == 1;
        uint32_t only = ends ? graph->next[graph->next_first[t]] : WEFT_NONE;
        bool merges = ends && graph->kind[only] == WEFT_TASK_BARRIER;
        compiler->merged[t] = merges ? only : WEFT_NONE;
        if (merges) {
            compiler->merged_first[only + 1]++;
        }
    }
    for (uint32_t t = 0; t < n; t++) {
        compiler->merged_first[t + 1] += compiler->merged_first[t];
    }
    compiler->merged_tasks = WEFT_NEW(arena, uint32_t, compiler->merged_first[n]);
    uint32_t *at = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t barrier = compiler->merged[t];
        if (barrier != WEFT_NONE) {
            compiler->merged_tasks[compiler->merged_first[barrier] + at[barrier]++] = t;
        }
    }
}

static bool is_pair(const struct compiler *compiler, uint32_t task)
{
    return compiler->graph->kind[task] == WEFT_TASK_TRANSFER && compiler->merged[task] == WEFT_NONE;
}

static void find_pairs(struct compiler *compiler, struct weft_arena *arena,
                       struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = compiler->graph;
    size_t count = 0;
    uint64_t *keys = WEFT_NEW(&scratch, uint64_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (is_pair(compiler, t)) {
            uint32_t place = place_of(compiler, t);
            keys[count++] =
                (uint64_t)node_of(compiler, graph->from[t], place) * compiler->program->node_count +
                node_of(compiler, graph->to[t], place);
        }
    }
    rail_pairs_build(&compiler->pairs, keys, count, compiler->program->node_count, arena, scratch);
}

// ---- operations ----

// The members of a collective on all of its places.
static struct rail_load load_of(const struct compiler *compiler, uint32_t task,
                                struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const uint32_t *servers = graph->group_members + graph->group_first[graph->group[task]];
    uint32_t size = weft_task_member_count(graph, task);
    uint64_t places = rail_places_of(&compiler->where, task);
    struct rail_load load = {.place_count = (uint32_t)__builtin_popcountll(places)};
    uint32_t *members = WEFT_NEW(arena, uint32_t, (size_t)size * load.place_count);
    for (uint32_t place = 0; place < compiler->places; place++) {
        for (uint32_t i = 0; i < size && (places >> place & 1) != 0; i++) {
            members[load.member_count++] = node_of(compiler, servers[i], place);
        }
    }
    load.members = members;
    load.bytes = weft_task_ring_bytes(graph, task) / load.place_count;
    load.hops = weft_task_facts[graph->kind[task]].ring_passes * (size - 1);
    return load;
}

// Whether the members follow each other as stages of a pipeline do.
static bool is_pipeline(const struct compiler *compiler, const struct rail_load *load)
{
    uint32_t size = load->member_count / load->place_count;
    for (uint32_t i = 0; i + 1 < size; i++) {
        if (rail_pairs_color(&compiler->pairs, load->members[i], load->members[i + 1]) ==
            WEFT_NONE) {
            return false;
        }
    }
    return true;
}

static void add_collective(struct compiler *compiler, struct rail_op *op, uint32_t task,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    struct rail_load load = load_of(compiler, task, &scratch);
    const uint32_t *kept = NULL; // as a ring that experts may go round
    op->label = is_pipeline(compiler, &load) ? RAIL_PP : RAIL_DP;
    rail_add_ring(&compiler->lists, op, &load);
    for (uint32_t i = 0; i < load.member_count && op->label == RAIL_DP; i++) {
        uint32_t node = load.members[i];
        if (load.place_count > 1 || compiler->ring_size[node] >= load.member_count) {
            continue;
        }
        if (kept == NULL) {
            uint32_t *members = WEFT_NEW(arena, uint32_t, load.member_count);
            memcpy(members, load.members, load.member_count * sizeof *members);
            kept = members;
        }
        compiler->ring[node] = kept;
        compiler->ring_size[node] = load.member_count;
    }
}

static void add_pair(struct compiler *compiler, struct rail_op *op, uint32_t task)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t place = place_of(compiler, task);
    const uint32_t ends[2] = {node_of(compiler, graph->from[task], place),
                              node_of(compiler, graph->to[task], place)};
    const struct rail_load load = {
        .member_count = 2,
        .members = ends,
        .place_count = 1,
        .bytes = (double)graph->size_bytes[task],
    };
    op->label = RAIL_PP;
    rail_add_pair(&compiler->lists, op, &load, &compiler->pairs);
}

// Orders pairs by place, then by index of nodes; those of equal ends become one.
static uint32_t list_pairs(struct rail_pair_bytes *pairs, const struct compiler *compiler,
                           uint32_t barrier)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t count = 0;
    for (uint32_t i = compiler->merged_first[barrier]; i < compiler->merged_first[barrier + 1];
         i++) {
        uint32_t task = compiler->merged_tasks[i];
        uint32_t place = place_of(compiler, task);
        uint32_t from = node_of(compiler, graph->from[task], place);
        uint32_t to = node_of(compiler, graph->to[task], place);
        uint32_t p = count;
        while (p > 0 &&
               (pairs[p - 1].from > from || (pairs[p - 1].from == from && pairs[p - 1].to > to))) {
            pairs[p] = pairs[p - 1];
            p--;
        }
        pairs[p] = (struct rail_pair_bytes){from, to, (double)graph->size_bytes[task]};
        count++;
        if (p > 0 && pairs[p - 1].from == from && pairs[p - 1].to == to) {
            pairs[p - 1].bytes += pairs[p].bytes;
            memmove(pairs + p, pairs + p + 1, (count - 1 - p) * sizeof *pairs);
            count--;
        }
    }
    return count;
}

// The nodes of all pairs, place by place and ascending there. Sets how many places they are of.
static uint32_t list_members(uint32_t *members, uint32_t *place_count,
                             const struct compiler *compiler, const struct rail_load *load,
                             struct weft_arena scratch)
{
    bool *there = WEFT_NEW(&scratch, bool, compiler->program->node_count);
    uint32_t count = 0;
    for (uint32_t p = 0; p < load->pair_count; p++) {
        there[load->pairs[p].from] = true;
        there[load->pairs[p].to] = true;
    }
    *place_count = 0;
    for (uint32_t place = 0; place < compiler->places; place++) {
        uint32_t before = count;
        for (uint32_t s = 0; s < compiler->graph->server_count; s++) {
            if (there[node_of(compiler, s, place)]) {
                members[count++] = node_of(compiler, s, place);
            }
        }
        *place_count += count > before;
    }
    return count;
}

// Fails where places have unequal members, which no ring of all of them serves.
static bool add_exchange(struct compiler *compiler, struct rail_op *op, uint32_t barrier,
                         struct weft_arena scratch, struct weft_error *error)
{
    uint32_t transfers = compiler->merged_first[barrier + 1] - compiler->merged_first[barrier];
    struct rail_pair_bytes *pairs = WEFT_NEW(&scratch, struct rail_pair_bytes, transfers + 1);
    uint32_t *members = WEFT_NEW(&scratch, uint32_t, 2 * (size_t)transfers);
    struct rail_load load = {.pairs = pairs};
    load.pair_count = list_pairs(pairs, compiler, barrier);
    load.member_count = list_members(members, &load.place_count, compiler, &load, scratch);
    load.members = members;
    WEFT_ASSERT(load.place_count > 0); // there is a transfer
    if (load.member_count % load.place_count != 0) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "task %u: an all-to-all has other servers on one rail than on another, so "
                         "that it leaves its rails",
                         barrier);
    }
    load.hops = load.member_count / load.place_count - 1;
    const uint32_t *ring = compiler->ring[members[0]];
    for (uint32_t i = 0; i < load.member_count; i++) {
        ring = compiler->ring[members[i]] == ring && load.place_count == 1 ? ring : NULL;
    }
    load.ring = ring;
    load.ring_count = ring == NULL ? 0 : compiler->ring_size[members[0]];
    rail_add_exchange(&compiler->lists, op, &load, scratch);
    return true;
}

// ---- the door ----

static bool is_operation(const struct compiler *compiler, uint32_t task)
{
    const struct weft_taskgraph *graph = compiler->graph;
    if (weft_task_is_collective(graph, task)) {
        return weft_task_member_count(graph, task) > 1 && graph->size_bytes[task] > 0;
    }
    return is_pair(compiler, task) ||
           compiler->merged_first[task + 1] > compiler->merged_first[task];
}

static bool add_operation(struct compiler *compiler, uint32_t task, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    struct rail_program *program = compiler->program;
    struct rail_op *op = &program->ops[program->op_of[task]];
    op->task = task;
    for (uint32_t w = 0; w < RAIL_WAY_COUNT; w++) {
        op->ways[w].list = WEFT_NONE;
    }
    if (weft_task_is_collective(compiler->graph, task)) {
        add_collective(compiler, op, task, arena, scratch);
    } else if (is_pair(compiler, task)) {
        add_pair(compiler, op, task);
    } else {
        return add_exchange(compiler, op, task, scratch, error);
    }
    return true;
}

// Rings first, since all-to-alls may go round them.
static bool add_operations(struct compiler *compiler, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t t = 0; t < graph->task_count; t++) {
            bool last = graph->kind[t] == WEFT_TASK_BARRIER;
            if (compiler->program->op_of[t] != WEFT_NONE && last == (pass == 1) &&
                !add_operation(compiler, t, arena, scratch, error)) {
                return false;
            }
        }
    }
    return true;
}

static bool check(const struct rail_program *program, struct weft_error *error)
{
    const struct weft_rail_options *options = program->options;
    uint64_t needed = (uint64_t)program->graph->server_count * program->plane_count;
    if (program->graph->need != NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "a task waits for some of those before it only; rails need to know all");
    }
    if (options->places == 0 || options->places > RAIL_PLACES_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u places in a server; write 1 to %u", options->places,
                         RAIL_PLACES_MAX);
    }
    if (options->switch_ports > 0 && needed > options->switch_ports) {
        weft_fail(error, WEFT_INFEASIBLE,
                  "a rail of %u servers with %u port%s each needs %llu ports, its switch has %u; "
                  "write switch_ports: %llu or a job of fewer servers",
                  program->graph->server_count, program->plane_count,
                  program->plane_count == 1 ? "" : "s", (unsigned long long)needed,
                  options->switch_ports, (unsigned long long)needed);
        return weft_remedy(error, "switch_ports", "%llu", (unsigned long long)needed);
    }
    return true;
}

bool rail_compile(struct rail_program *program, const struct weft_taskgraph *graph,
                  const struct weft_rail_options *options, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error)
{
    *program = (struct rail_program){
        .graph = graph,
        .options = options,
        .node_count = graph->server_count * options->places,
        .plane_count = options->ports,
    };
    if (!check(program, error)) {
        return false;
    }
    uint32_t n = graph->task_count;
    struct weft_arena own = weft_arena_split(&scratch); // what grows has an arena of its own
    struct compiler compiler = {.program = program, .graph = graph, .places = options->places};
    compiler.merged = WEFT_NEW(&scratch, uint32_t, n);
    compiler.merged_first = WEFT_NEW(&scratch, uint32_t, n + 1);
    compiler.ring = WEFT_NEW(&scratch, const uint32_t *, program->node_count);
    compiler.ring_size = WEFT_NEW(&scratch, uint32_t, program->node_count);
    find_merged(&compiler, &scratch);
    struct weft_arena found = weft_arena_split(&scratch);
    rail_places_find(&compiler.where, graph, options->places, &found, scratch);
    find_pairs(&compiler, &found, scratch);
    program->op_of = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t t = 0; t < n; t++) {
        program->op_of[t] = is_operation(&compiler, t) ? program->op_count++ : WEFT_NONE;
    }
    program->ops = WEFT_NEW(arena, struct rail_op, program->op_count);
    program->order = WEFT_NEW(arena, uint32_t, n);
    rail_lists_init(&compiler.lists, program, own);
    if (!add_operations(&compiler, &found, scratch, error)) {
        return false;
    }
    rail_lists_finish(&compiler.lists, arena);
    return true;
}
