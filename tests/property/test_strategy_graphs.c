// SPDX-License-Identifier: Apache-2.0
// Task graphs of random strategies on random networks, held against counting element by element:
// what goes from server to server, which parts are joined, and that estimates of iterations
// without contention are the flow engine's.
//
// Mutations that made this test fail (each was run): a concatenation's offset of one input left
// out; samples of a part rounded down by one; parts on one server joined by transfers; gradients
// sent to the first part only; an estimate without the AllReduces' time inside servers.

#include "../unit/strategy_net.h"

#include "weft/sim.h"

#include <math.h>
#include <stdlib.h>

#define SERVERS 6u
#define BATCH 24u
#define CASES 300u

static struct weft_arena arena_kept, scratch_kept;

// ---- random networks and strategies ----

static void random_net(struct net *net, struct weft_rng *rng)
{
    uint32_t input = net_add(net, WEFT_OP_INPUT, 12, 0, NULL);
    uint32_t last = net_after(net, WEFT_OP_DENSE, 12, input);
    uint32_t length = 2 + weft_rng_below(rng, 6);
    for (uint32_t i = 0; i < length; i++) {
        uint32_t widths[] = {4, 12, 24};
        uint32_t branch = net_after(net, WEFT_OP_DENSE, widths[weft_rng_below(rng, 3)],
                                    weft_rng_below(rng, 2) == 0 ? last : input);
        switch (weft_rng_below(rng, 4)) {
        case 0:
            last = net_after(net, WEFT_OP_UNARY, 0, last);
            break;
        case 1:
            last = net_add(net, WEFT_OP_CONCAT, 0, 2, (uint32_t[]){last, branch});
            break;
        case 2:
            last = net_add(net, WEFT_OP_ADD, 0, 2, (uint32_t[]){branch, branch});
            break;
        default:
            last = net_after(net, WEFT_OP_DENSE, 12, last);
            break;
        }
    }
}

static uint32_t random_divisor(struct weft_rng *rng, uint64_t of, uint32_t most)
{
    uint32_t parts;
    do {
        parts = 1 + weft_rng_below(rng, most);
    } while (of % parts != 0);
    return parts;
}

static struct weft_placement *random_placements(const struct weft_model *model,
                                                struct weft_rng *rng, struct weft_arena *arena)
{
    struct weft_placement *placements =
        WEFT_NEW(arena, struct weft_placement, model->operator_count);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        uint32_t samples = random_divisor(rng, BATCH, 8);
        uint32_t units = random_divisor(rng, model->operators[op].shape[0], 4);
        bool input = model->operators[op].spec.kind == WEFT_OP_INPUT;
        uint32_t *servers = WEFT_NEW(arena, uint32_t, samples * units);
        for (uint32_t i = 0; i < samples * units; i++) {
            servers[i] = weft_rng_below(rng, SERVERS);
        }
        placements[op] = (struct weft_placement){samples, input ? 1 : units, servers};
    }
    return placements;
}

// ---- counting ----

struct count {
    uint64_t bytes[SERVERS][SERVERS];
    uint32_t transfers;
    uint32_t plain; // FORWARD to FORWARD on one server
};

// Which element of input `slot` an element of the output is made of; DENSE: of all.
static bool reads(const struct weft_model *model, uint32_t op, uint32_t slot, uint64_t output,
                  uint64_t element)
{
    const struct weft_operator *self = &model->operators[op];
    uint64_t offset = 0;
    switch (self->spec.kind) {
    case WEFT_OP_DENSE:
        return true;
    case WEFT_OP_CONCAT:
        for (uint32_t i = 0; i < slot; i++) {
            offset += model->operators[self->spec.inputs[i]].output_elements;
        }
        return output == offset + element;
    case WEFT_OP_ADD:
    case WEFT_OP_UNARY:
        return output == element;
    case WEFT_OP_INPUT:
    case WEFT_OP_CONV2D:
    case WEFT_OP_POOL2D:
    case WEFT_OP_FLAT:
    case WEFT_OP_EMBEDDING:
    case WEFT_OP_MULTIPLY:
    case WEFT_OP_NORM:
    case WEFT_OP_SOFTMAX:
    case WEFT_OP_ATTENTION:
    case WEFT_OP_EXPERTS:
    case WEFT_OP_KIND_COUNT:
        break;
    }
    fail_msg("no such operator in this test");
    return false;
}

// Elements of one sample that part q of `to` reads of part p of its input.
static uint64_t shared_elements(const struct weft_model *model,
                                const struct weft_placement *placements, uint32_t op, uint32_t slot,
                                uint32_t p, uint32_t q)
{
    uint32_t from = model->operators[op].spec.inputs[slot];
    uint64_t made = model->operators[from].output_elements / placements[from].parameter_parts;
    uint64_t own = model->operators[op].output_elements / placements[op].parameter_parts;
    uint64_t count = 0;
    for (uint64_t element = p * made; element < (p + 1) * made; element++) {
        bool read = false;
        for (uint64_t output = q * own; output < (q + 1) * own && !read; output++) {
            read = reads(model, op, slot, output, element);
        }
        count += read;
    }
    return count;
}

static void count_pair(struct count *count, const struct weft_model *model,
                       const struct weft_placement *placements, uint32_t op, uint32_t slot)
{
    uint32_t from = model->operators[op].spec.inputs[slot];
    const struct weft_placement *a = &placements[from];
    const struct weft_placement *b = &placements[op];
    for (uint32_t i = 0; i < a->sample_parts * a->parameter_parts; i++) {
        for (uint32_t j = 0; j < b->sample_parts * b->parameter_parts; j++) {
            uint64_t samples = 0;
            for (uint32_t sample = 0; sample < BATCH; sample++) {
                samples += sample * a->sample_parts / BATCH == i / a->parameter_parts &&
                           sample * b->sample_parts / BATCH == j / b->parameter_parts;
            }
            uint64_t elements = shared_elements(model, placements, op, slot, i % a->parameter_parts,
                                                j % b->parameter_parts);
            if (samples * elements == 0) {
                continue;
            }
            if (a->servers[i] == b->servers[j]) {
                count->plain++;
                continue;
            }
            count->transfers += 2;
            count->bytes[a->servers[i]][b->servers[j]] += samples * elements * 4;
            count->bytes[b->servers[j]][a->servers[i]] += samples * elements * 4;
        }
    }
}

static struct count count_all(const struct weft_model *model,
                              const struct weft_placement *placements)
{
    struct count count = {0};
    for (uint32_t op = 0; op < model->operator_count; op++) {
        const struct weft_operator *self = &model->operators[op];
        for (uint32_t slot = 0; slot < self->spec.input_count; slot++) {
            if (model->operators[self->spec.inputs[slot]].spec.kind != WEFT_OP_INPUT) {
                count_pair(&count, model, placements, op, slot);
            }
        }
    }
    return count;
}

static struct count count_graph(const struct weft_taskgraph *graph)
{
    struct count count = {0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            count.transfers++;
            count.bytes[graph->from[t]][graph->to[t]] += graph->size_bytes[t];
        }
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            count.plain += graph->kind[t] == WEFT_TASK_FORWARD &&
                           graph->kind[graph->next[e]] == WEFT_TASK_FORWARD;
        }
    }
    return count;
}

static void transfers_carry_what_parts_share(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        struct net net = {0};
        weft_rng_init(&rng, seed);
        random_net(&net, &rng);
        struct weft_model model = net_build(&net, BATCH, &arena);
        struct weft_cluster cluster = net_cluster(SERVERS, 2);
        struct weft_strategy_setting setting = net_setting();
        struct weft_strategy strategy = {.kind = WEFT_STRATEGY_OPERATORS,
                                         .server_count = SERVERS,
                                         .placements = random_placements(&model, &rng, &arena)};
        struct weft_taskgraph graph;
        struct weft_error error;
        if (!weft_strategy_taskgraph(
                &graph, &strategy,
                &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                &arena, scratch_kept, &error)) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        struct count expected = count_all(&model, strategy.placements);
        struct count got = count_graph(&graph);
        if (expected.transfers != got.transfers || expected.plain != got.plain ||
            memcmp(expected.bytes, got.bytes, sizeof got.bytes) != 0) {
            fail_msg("seed %llu: %u transfers and %u plain edges, counted %u and %u",
                     (unsigned long long)seed, got.transfers, got.plain, expected.transfers,
                     expected.plain);
        }
    }
}

// ---- estimates ----

static double simulated_s(const struct weft_taskgraph *graph, const struct weft_network *network,
                          struct weft_arena arena)
{
    struct weft_sim_options options = {.packet_bytes = 9000, .header_bytes = 64, .seed = 1};
    struct weft_sim_job job = {.graph = graph};
    struct weft_sim_result result;
    struct weft_error error;
    if (!weft_sim_run_jobs(&result, network, &job, 1, &options,
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

static double estimate_error(const struct weft_model *model, const struct weft_placement *places,
                             struct weft_arena arena)
{
    struct weft_cluster cluster = net_cluster(SERVERS, 2);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy strategy = {
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = SERVERS, .placements = places};
    struct weft_strategy_space *space;
    struct weft_taskgraph graph;
    struct weft_network network;
    struct weft_error error;
    if (!weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error) ||
        !weft_strategy_space_build(
            &space,
            &(struct weft_study){
                .model = model, .cluster = &cluster, .network = &network, .setting = &setting},
            &arena, scratch_kept, &error) ||
        !weft_strategy_taskgraph(
            &graph, &strategy,
            &(struct weft_study){.model = model, .cluster = &cluster, .setting = &setting}, &arena,
            scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
    double estimate_s = weft_seconds(weft_strategy_estimate(space, &strategy, scratch_kept));
    return estimate_s / simulated_s(&graph, &network, arena) - 1;
}

static struct weft_model chain_model(struct weft_rng *rng, struct weft_arena *arena)
{
    struct net net = {0};
    uint32_t last = net_add(&net, WEFT_OP_INPUT, 512, 0, NULL);
    for (uint32_t i = 0; i < 6; i++) {
        last = net_after(&net, WEFT_OP_DENSE, 512u << weft_rng_below(rng, 3), last);
    }
    return net_build(&net, 1536, arena);
}

// Operators one after the other, each whole on one server: nothing competes.
static void chains_take_what_the_engine_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct weft_model model = chain_model(&rng, &arena);
        struct weft_placement places[8];
        uint32_t servers[8];
        for (uint32_t op = 0; op < model.operator_count; op++) {
            servers[op] = weft_rng_below(&rng, SERVERS);
            places[op] = (struct weft_placement){1, 1, &servers[op]};
        }
        double error_ratio = estimate_error(&model, places, arena);
        if (fabs(error_ratio) > 0.01) {
            fail_msg("seed %llu: %+.2f %%", (unsigned long long)seed, error_ratio * 100);
        }
    }
}

// Data parallelism over some servers: AllReduces of one group follow each other.
static void data_parallel_estimates_are_near_the_engine(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct weft_model model = chain_model(&rng, &arena);
        struct weft_placement places[8];
        uint32_t all[SERVERS] = {0, 1, 2, 3, 4, 5};
        uint32_t parts = random_divisor(&rng, SERVERS, SERVERS);
        for (uint32_t op = 0; op < model.operator_count; op++) {
            places[op] = (struct weft_placement){parts, 1, all};
        }
        double error_ratio = estimate_error(&model, places, arena);
        if (fabs(error_ratio) > 0.03) {
            fail_msg("seed %llu: %u parts, %+.2f %%", (unsigned long long)seed, parts,
                     error_ratio * 100);
        }
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_carry_what_parts_share),
        cmocka_unit_test(chains_take_what_the_engine_says),
        cmocka_unit_test(data_parallel_estimates_are_near_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
