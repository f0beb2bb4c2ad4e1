// SPDX-License-Identifier: Apache-2.0
// Placements that a search begins with: data parallelism, branches of the model (chains of
// operators that end where several meet) on blocks of servers, and branches in strips of equal
// work; and data parallelism as a strategy that needs no search. O(nodes * servers).

#include "starts.h"
#include "strategy/operators/graph.h"

void weft_start_parallel(struct placement *placement, struct weft_arena scratch)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t n = space->server_count;
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t dealt = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct node *node = &space->nodes[i];
        uint32_t best = node->choice_first;
        for (uint32_t c = best; c < node->choice_first + node->choice_count; c++) {
            const struct choice *choice = &space->choices[c];
            bool better = node->table ? choice->parts < space->choices[best].parts
                                      : choice->sample_parts > space->choices[best].sample_parts;
            best = better ? c : best;
        }
        uint32_t parts = space->choices[best].parts;
        uint32_t step = n / parts;
        for (uint32_t p = 0; p < parts; p++) {
            servers[p] = (p * step + (node->table ? dealt : 0)) % n;
        }
        dealt += node->table;
        weft_placement_set(placement, i, best, servers);
    }
    weft_placement_apply(placement);
    weft_placement_keep(placement);
}

// ---- branches ----

struct branch {
    uint32_t first; // node; on from it along sole readers
    uint32_t length;
    double work_s; // in the parts asked for
    bool placed;
};

// The sole reader of a node that reads nothing else; WEFT_NONE if there is none.
static uint32_t next_in_chain(const struct weft_strategy_space *space, uint32_t node)
{
    const struct node *self = &space->nodes[node];
    if (self->out_count != 1) {
        return WEFT_NONE;
    }
    uint32_t next = space->edges[space->outs[self->out_first]].to;
    return space->nodes[next].in_count == 1 ? next : WEFT_NONE;
}

static bool begins_chain(const struct weft_strategy_space *space, uint32_t node)
{
    const struct node *self = &space->nodes[node];
    return !self->table && (self->in_count != 1 ||
                            next_in_chain(space, space->edges[self->in_first].from) == WEFT_NONE);
}

// Chains whose last operator is read by one that reads others, too.
static uint32_t find_branches(struct branch *branches, const struct weft_strategy_space *space,
                              uint32_t parts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        if (!begins_chain(space, i)) {
            continue;
        }
        struct branch branch = {.first = i};
        uint32_t last = i;
        for (uint32_t node = i; node != WEFT_NONE; node = next_in_chain(space, node)) {
            uint32_t choice = weft_search_space_choice(space, node, parts, 1);
            branch.length++;
            branch.work_s += choice == WEFT_NONE ? 0
                                                 : space->choices[choice].forward_s +
                                                       space->choices[choice].backward_s;
            last = node;
        }
        if (branch.work_s > 0 && space->nodes[last].out_count > 0) {
            branches[count++] = branch;
        }
    }
    return count;
}

static void list_servers(uint32_t *servers, const struct weft_strategy_space *space, uint32_t parts,
                         uint32_t block)
{
    for (uint32_t p = 0; p < parts; p++) {
        servers[p] = block + p * (space->server_count / parts);
    }
}

static void place_branch(struct placement *placement, const struct branch *branch, uint32_t parts,
                         uint32_t block, uint32_t *servers)
{
    const struct weft_strategy_space *space = placement->space;
    list_servers(servers, space, parts, block);
    uint32_t node = branch->first;
    for (uint32_t i = 0; i < branch->length; i++, node = next_in_chain(space, node)) {
        uint32_t choice = weft_search_space_choice(space, node, parts, 1);
        if (choice != WEFT_NONE) {
            weft_placement_set(placement, node, choice, servers);
        }
    }
}

void weft_start_branches(struct placement *placement, uint32_t parts, struct weft_arena scratch)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t n = space->server_count;
    if (parts == 0 || n % parts != 0) {
        return;
    }
    uint32_t blocks = n / parts;
    struct branch *branches = WEFT_NEW(&scratch, struct branch, space->node_count);
    double *work_s = WEFT_NEW(&scratch, double, blocks);
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, parts);
    uint32_t count = find_branches(branches, space, parts);
    for (uint32_t left = count - count % blocks; left > 0; left--) {
        uint32_t longest = WEFT_NONE;
        for (uint32_t i = 0; i < count; i++) {
            bool longer = longest == WEFT_NONE || branches[i].work_s > branches[longest].work_s;
            longest = !branches[i].placed && longer ? i : longest;
        }
        uint32_t block = 0;
        for (uint32_t i = 1; i < blocks; i++) {
            block = work_s[i] < work_s[block] ? i : block;
        }
        branches[longest].placed = true;
        work_s[block] += branches[longest].work_s;
        place_branch(placement, &branches[longest], parts, block, servers);
    }
    weft_placement_apply(placement);
    weft_placement_keep(placement);
}

void weft_start_strips(struct placement *placement, uint32_t parts, struct weft_arena scratch)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t n = space->server_count;
    if (parts == 0 || n % parts != 0) {
        return;
    }
    uint32_t blocks = n / parts;
    struct branch *branches = WEFT_NEW(&scratch, struct branch, space->node_count);
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, parts);
    uint32_t count = find_branches(branches, space, parts);
    double all_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        all_s += branches[i].work_s;
    }
    double done_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = branches[i].first;
        for (uint32_t k = 0; k < branches[i].length; k++, node = next_in_chain(space, node)) {
            uint32_t choice = weft_search_space_choice(space, node, parts, 1);
            if (choice == WEFT_NONE) {
                continue;
            }
            double work_s = space->choices[choice].forward_s + space->choices[choice].backward_s;
            uint32_t block = (uint32_t)((done_s + work_s / 2) / all_s * blocks);
            list_servers(servers, space, parts, block < blocks ? block : blocks - 1);
            weft_placement_set(placement, node, choice, servers);
            done_s += work_s;
        }
    }
    weft_placement_apply(placement);
    weft_placement_keep(placement);
}

// ---- without a search ----

bool weft_strategy_data_parallel(struct weft_strategy *strategy, const struct weft_study *study,
                                 struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_model *model = study->model;
    uint32_t n = study->cluster->server_count;
    WEFT_ASSERT(n > 0);
    uint32_t *all = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t server = 0; server < n; server++) {
        all[server] = server;
    }
    struct weft_placement *placements =
        WEFT_NEW_RAW(arena, struct weft_placement, model->operator_count);
    uint32_t tables = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        bool table = model->operators[op].spec.kind == WEFT_OP_EMBEDDING;
        placements[op] = table ? (struct weft_placement){1, 1, all + tables++ % n}
                               : (struct weft_placement){n, 1, all};
    }
    struct weft_strategy built = {
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = n, .placements = placements};
    if (!weft_operators_check(&built, model, study->cluster, error)) {
        return weft_wrap(error, "data parallelism over %u servers", n);
    }
    *strategy = built;
    return true;
}
