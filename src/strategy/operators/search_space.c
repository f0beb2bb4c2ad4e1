// SPDX-License-Identifier: Apache-2.0
// Boiling a model down to what the search needs: operators that have tasks, their possible splits
// with times and memory, the tensors between them, and the network as ports, distances and rings.
// Built once; every evaluation reads it. O(splits of all operators + servers^2 where the network
// stands).

#include "search_space.h"

#include "graph.h"

#include <math.h>
#include <string.h>

#define SERVERS_MAX 16384u // loads of all servers are kept for every tensor: a limit of memory
// Payload of a 9000-byte packet with a header of 64.
#define PAYLOAD_RATIO (8936.0 / 9000.0)

// One split of an operator: its times by profile or roofline, the bytes that an AllReduce of its
// parameters moves, and what a part keeps in memory, whether its inputs are made where it runs or
// not.
static bool fill_choice(struct choice *choice, const struct weft_model *model, uint32_t op,
                        const struct weft_split *split, const struct weft_strategy_setting *setting,
                        struct weft_error *error)
{
    struct weft_operator_cost cost;
    if (!weft_operator_time(&cost, model, op,
                            (struct weft_split){split->sample_parts, split->parameter_parts},
                            &setting->cost, error)) {
        return false;
    }
    const struct weft_operator *self = &model->operators[op];
    *choice = (struct choice){.sample_parts = split->sample_parts,
                              .parameter_parts = split->parameter_parts,
                              .parts = split->sample_parts * split->parameter_parts,
                              .forward_s = weft_seconds(cost.forward_ps),
                              .backward_s = weft_seconds(cost.backward_ps)};
    for (uint32_t tensor = 0; tensor < self->tensor_count; tensor++) {
        uint64_t size_bytes = weft_operators_shard_bytes(self, tensor, split->parameter_parts);
        double inside_s = weft_seconds(weft_operators_inside_ps(self, size_bytes, setting));
        choice->shard_bytes += (double)size_bytes;
        choice->inside_s = inside_s > choice->inside_s ? inside_s : choice->inside_s;
    }
    struct weft_part_memory memory = weft_part_memory(model, op, *split, setting);
    choice->held_bytes = memory.parameters_bytes + memory.gradients_bytes + memory.optimizer_bytes +
                         memory.rows_bytes + memory.outputs_bytes;
    choice->copied_bytes = memory.inputs_bytes;
    return true;
}

// Nodes and their choices; node_of[op] = its node or WEFT_NONE.
static bool build_nodes(struct weft_strategy_space *space, uint32_t *node_of,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    const struct weft_model *model = space->study.model;
    struct weft_split_list *splits =
        WEFT_NEW(&scratch, struct weft_split_list, model->operator_count);
    struct node *nodes = WEFT_NEW(arena, struct node, model->operator_count);
    uint32_t choice_count = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        node_of[op] = WEFT_NONE;
        if (model->operators[op].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        struct node *node = &nodes[space->node_count];
        node_of[op] = space->node_count++;
        *node = (struct node){.op = op,
                              .table = model->operators[op].spec.kind == WEFT_OP_EMBEDDING,
                              .choice_first = choice_count};
        // Each operator's splits lie behind those before it, in what scratch has left.
        struct weft_environment environment = {.arena = &scratch, .error = error};
        if (!weft_operator_splits(&splits[op], model, op, space->server_count,
                                  &space->study.setting->cost, &environment)) {
            return false;
        }
        node->choice_count = splits[op].count;
        choice_count += node->choice_count;
    }
    struct choice *choices = WEFT_NEW(arena, struct choice, choice_count);
    for (uint32_t i = 0; i < space->node_count; i++) {
        for (uint32_t c = 0; c < nodes[i].choice_count; c++) {
            if (!fill_choice(&choices[nodes[i].choice_first + c], model, nodes[i].op,
                             &splits[nodes[i].op].splits[c], space->study.setting, error)) {
                return false;
            }
        }
    }
    space->nodes = nodes;
    space->choices = choices;
    return true;
}

// Lists the tensors between nodes, those that a node reads one behind the other, and an index of
// them by producer. Inputs of the model are no nodes, so what reads them has no edge for them.
static void build_edges(struct weft_strategy_space *space, const uint32_t *node_of,
                        struct weft_arena *arena)
{
    const struct weft_model *model = space->study.model;
    struct node *nodes = WEFT_NEW(arena, struct node, space->node_count);
    memcpy(nodes, space->nodes, sizeof *nodes * space->node_count);
    uint32_t most = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        most += model->operators[nodes[i].op].spec.input_count;
    }
    struct edge *edges = WEFT_NEW(arena, struct edge, most);
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct weft_operator *self = &model->operators[nodes[i].op];
        nodes[i].in_first = count;
        for (uint32_t slot = 0; slot < self->spec.input_count; slot++) {
            const struct weft_operator *input = &model->operators[self->spec.inputs[slot]];
            uint32_t from = node_of[self->spec.inputs[slot]];
            if (from != WEFT_NONE) {
                double a_sample =
                    (double)input->output_elements * weft_dtype_bytes(input->spec.dtype);
                edges[count++] = (struct edge){from, i, slot, a_sample * (double)model->batch};
                nodes[from].out_count++;
            }
        }
        nodes[i].in_count = count - nodes[i].in_first;
    }
    uint32_t *outs = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t i = 0, first = 0; i < space->node_count; i++) {
        nodes[i].out_first = first;
        first += nodes[i].out_count;
        nodes[i].out_count = 0;
    }
    for (uint32_t e = 0; e < count; e++) {
        struct node *from = &nodes[edges[e].from];
        outs[from->out_first + from->out_count++] = e;
    }
    space->nodes = nodes;
    space->edges = edges;
    space->edge_count = count;
    space->outs = outs;
}

// Mean hops of every pair over its weighted paths.
static float *pair_hops(const struct weft_network *network, uint32_t n, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    const struct weft_routes *routes = &network->routes;
    uint32_t *links = WEFT_NEW_RAW(&scratch, uint32_t, routes->hop_max);
    float *hops = WEFT_NEW(arena, float, (size_t)n *n);
    for (uint32_t pair = 0; pair < n * n; pair++) {
        uint32_t from = pair / n;
        uint32_t to = pair % n;
        uint32_t paths = weft_routes_path_count(routes, from, to);
        paths = paths > 8 ? 8 : paths;
        double sum = 0;
        double weights = 0;
        for (uint32_t p = 0; p < paths; p++) {
            double weight = 1;
            sum += weft_routes_path(routes, from, to, p, links, &weight) * weight;
            weights += weight;
        }
        hops[pair] = weights > 0 ? (float)(sum / weights) : 1.0F;
    }
    return hops;
}

// Groups with rings. The ring with the largest share of a group's bytes is done last, so lanes
// count what runs at its pace.
static void list_groups(struct weft_strategy_space *space, const struct weft_ring_set *rings,
                        struct weft_arena *arena)
{
    struct ringed *groups = WEFT_NEW(arena, struct ringed, rings->ring_count);
    uint32_t count = 0;
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        const struct weft_ring *ring = &rings->rings[r];
        if (r > 0 && rings->rings[r - 1].group == ring->group) {
            struct ringed *same = &groups[count - 1];
            same->lanes = fmin(same->lanes, 1 / ring->share_ratio);
            continue;
        }
        struct ringed group = {.lanes = 1 / ring->share_ratio, .hops = 1};
        for (uint32_t i = 0; i < ring->member_count; i++) {
            group.key += space->marks[ring->members[i]];
        }
        if (ring->hop_first != NULL) {
            group.hops = (double)ring->hop_first[ring->member_count] / ring->member_count;
        }
        groups[count++] = group;
    }
    space->groups = groups;
    space->group_count = count;
}

// The ports of the server that has least, and, where servers relay, distances and rings.
static void describe_network(struct weft_strategy_space *space, const struct weft_network *network,
                             struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &network->fabric;
    double least_Bps = HUGE_VAL;
    uint32_t ports = 0;
    for (uint32_t server = 0; server < space->server_count; server++) {
        double rate_Bps = 0;
        for (uint32_t l = fabric->first[server]; l < fabric->first[server + 1]; l++) {
            rate_Bps += fabric->links[l].rate_Bps;
        }
        uint32_t count = fabric->first[server + 1] - fabric->first[server];
        least_Bps = rate_Bps < least_Bps ? rate_Bps : least_Bps;
        ports = count > ports ? count : ports;
    }
    space->planned = true;
    space->port_Bps = least_Bps * PAYLOAD_RATIO;
    space->ports = ports;
    if (fabric->forwards) {
        space->hops = pair_hops(network, space->server_count, arena, scratch);
        list_groups(space, &network->rings, arena);
    }
}

// Fails before anything is built where there are too many servers or the network has other ones.
// `reach` is the mean distance in the best graph of so many ports (Moore's bound), for networks
// that are still to be planned.
bool weft_search_space_build(struct weft_strategy_space *space, const struct weft_study *study,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    const struct weft_model *model = study->model;
    const struct weft_cluster *cluster = study->cluster;
    const struct weft_network *network = study->network;
    uint32_t n = cluster->server_count;
    if (n > SERVERS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%u servers; strategies of operators are searched for up to %u", n,
                         SERVERS_MAX);
    }
    if (network != NULL && network->fabric.server_count != n) {
        return weft_fail(error, WEFT_INPUT, "the network has %u servers, the cluster %u",
                         network->fabric.server_count, n);
    }
    struct weft_strategy_space built = {.study = *study,
                                        .server_count = n,
                                        .row = (2 * n + 15) / 16 * 16,
                                        .port_Bps =
                                            cluster->degree * cluster->rate_Bps * PAYLOAD_RATIO,
                                        .ports = cluster->degree,
                                        .latency_s = weft_seconds(cluster->latency_ps)};
    uint32_t *node_of = WEFT_NEW_RAW(&scratch, uint32_t, model->operator_count);
    if (!build_nodes(&built, node_of, arena, scratch, error)) {
        return false;
    }
    build_edges(&built, node_of, arena);
    uint64_t *marks = WEFT_NEW_RAW(arena, uint64_t, n);
    for (uint32_t server = 0; server < n; server++) {
        marks[server] = weft_hash(server + 1);
    }
    built.marks = marks;
    uint32_t diameter;
    weft_fabric_moore(n, cluster->degree, false, &built.reach, &diameter);
    built.reach = fmin(built.reach, n);
    if (network != NULL) {
        describe_network(&built, network, arena, scratch);
    }
    *space = built;
    return true;
}

uint32_t weft_search_space_choice(const struct weft_strategy_space *space, uint32_t node,
                                  uint32_t sample_parts, uint32_t parameter_parts)
{
    const struct node *self = &space->nodes[node];
    for (uint32_t c = self->choice_first; c < self->choice_first + self->choice_count; c++) {
        if (space->choices[c].sample_parts == sample_parts &&
            space->choices[c].parameter_parts == parameter_parts) {
            return c;
        }
    }
    return WEFT_NONE;
}
