// SPDX-License-Identifier: Apache-2.0
// What a strategy of the operators space keeps on each accelerator: parameters, gradients and
// optimizer state once for all parts of a server that hold the same ones, outputs until the
// backward pass, and copies of inputs that are made elsewhere. docs/costs.md has the formulas and
// what was left out. O(parts * inputs).

#include "weft/strategy.h"

#include "graph.h"
#include "regions.h"

#include <math.h>

#define GIB 0x1p30
#define STATE_BYTES 4.0 // optimizers keep FP32

// ---- one part ----

static uint32_t accelerators_of(const struct weft_strategy_setting *setting)
{
    uint32_t count = setting->cost.accelerators_per_server;
    return count > 0 ? count : 1;
}

static uint32_t state_values(enum weft_optimizer optimizer)
{
    switch (optimizer) {
    case WEFT_SGD:
        return 0;
    case WEFT_MOMENTUM:
        return 1;
    case WEFT_ADAM:
        return 2;
    }
    WEFT_ASSERT(false); // an optimizer
    return 0;
}

// Whether the backward pass of an operator reads its inputs; the others need none, or their output.
static bool keeps_inputs(enum weft_operator_kind kind)
{
    switch (kind) {
    case WEFT_OP_CONV2D:
    case WEFT_OP_POOL2D:
    case WEFT_OP_DENSE:
    case WEFT_OP_EMBEDDING:
    case WEFT_OP_MULTIPLY:
    case WEFT_OP_NORM:
    case WEFT_OP_ATTENTION:
    case WEFT_OP_EXPERTS:
        return true;
    case WEFT_OP_INPUT:
    case WEFT_OP_FLAT:
    case WEFT_OP_CONCAT:
    case WEFT_OP_ADD:
    case WEFT_OP_UNARY:
    case WEFT_OP_SOFTMAX:
    case WEFT_OP_KIND_COUNT:
        break;
    }
    return false;
}

static uint64_t region_elements(const struct region *region)
{
    return weft_region_shared(region, region);
}

// Elements of one sample that part p keeps: what it makes, and its share of what lies between.
static double kept_elements(const struct weft_operator *op, uint32_t p, uint32_t parts)
{
    struct region made = weft_region_output(op, p, parts);
    double between = fmax((double)op->kept_elements - (double)op->output_elements, 0);
    return (double)region_elements(&made) + between / parts;
}

struct weft_part_memory weft_part_memory(const struct weft_model *model, uint32_t index,
                                         struct weft_split split,
                                         const struct weft_strategy_setting *setting)
{
    const struct weft_operator *op = &model->operators[index];
    struct weft_part_memory memory = {0};
    if (op->spec.kind == WEFT_OP_INPUT) {
        return memory;
    }
    double sharers = accelerators_of(setting);
    double samples = (double)model->batch / split.sample_parts;
    double width_bytes = weft_dtype_bytes(op->spec.dtype);
    bool sharded = op->spec.kind == WEFT_OP_EMBEDDING && setting->tables == WEFT_TABLES_SHARDED;
    double values = (double)op->parameters / split.parameter_parts / (sharded ? sharers : 1);
    memory.parameters_bytes = values * width_bytes;
    memory.optimizer_bytes = values * STATE_BYTES * state_values(setting->optimizer);
    memory.optimizer_bytes += width_bytes < STATE_BYTES ? values * STATE_BYTES : 0;
    if (sharded) {
        double rows = fmin(samples * (double)op->input_elements, (double)op->spec.rows);
        double columns = (double)op->spec.units / split.parameter_parts / sharers;
        memory.rows_bytes = rows * columns * width_bytes;
    } else {
        memory.gradients_bytes = memory.parameters_bytes;
    }
    memory.outputs_bytes =
        samples * kept_elements(op, 0, split.parameter_parts) * width_bytes / sharers;
    for (uint32_t slot = 0; keeps_inputs(op->spec.kind) && slot < op->spec.input_count; slot++) {
        const struct weft_operator *input = &model->operators[op->spec.inputs[slot]];
        struct region read = weft_region_input(model, index, slot, 0, split.parameter_parts);
        memory.inputs_bytes += samples * (double)region_elements(&read) *
                               weft_dtype_bytes(input->spec.dtype) / sharers;
    }
    return memory;
}

double weft_strategy_checkpoint_bytes(const struct weft_model *model,
                                      const struct weft_strategy_setting *setting)
{
    struct weft_strategy_setting whole = *setting;
    double bytes = 0;
    whole.tables = WEFT_TABLES_REPLICATED; // undivided
    for (uint32_t op = 0; op < model->operator_count; op++) {
        const struct weft_split undivided = {.sample_parts = 1, .parameter_parts = 1};
        struct weft_part_memory memory = weft_part_memory(model, op, undivided, &whole);
        bytes += memory.parameters_bytes + memory.optimizer_bytes;
    }
    return bytes;
}

// What a part reads of one input: a region of each of the samples [low, high).
struct reading {
    struct region region;
    uint64_t low;
    uint64_t high;
};

// Elements of a reading that parts of `input` on `server` make, over all its samples. Parts of the
// input hold `size` samples each; those that meet [low, high) are looked at.
static double local_elements(const struct weft_operator *input,
                             const struct weft_placement *placement, uint32_t server,
                             const struct reading *read, uint64_t batch)
{
    uint64_t low = read->low;
    uint64_t high = read->high;
    uint64_t size = batch / placement->sample_parts;
    double elements = 0;
    for (uint64_t s = low / size; s < placement->sample_parts && s * size < high; s++) {
        uint64_t from = s * size > low ? s * size : low;
        uint64_t to = (s + 1) * size < high ? (s + 1) * size : high;
        for (uint32_t p = 0; p < placement->parameter_parts; p++) {
            if (placement->servers[s * placement->parameter_parts + p] != server) {
                continue;
            }
            struct region made = weft_region_output(input, p, placement->parameter_parts);
            elements += (double)(to - from) * (double)weft_region_shared(&made, &read->region);
        }
    }
    return elements;
}

double weft_part_received_bytes(const struct weft_model *model,
                                const struct weft_placement *placements, uint32_t index,
                                uint32_t part, const struct weft_strategy_setting *setting)
{
    const struct weft_operator *op = &model->operators[index];
    const struct weft_placement *own = &placements[index];
    if (!keeps_inputs(op->spec.kind)) {
        return 0;
    }
    WEFT_ASSERT(part < own->sample_parts * own->parameter_parts);
    uint64_t size = model->batch / own->sample_parts;
    uint64_t low = size * (part / own->parameter_parts);
    double bytes = 0;
    for (uint32_t slot = 0; slot < op->spec.input_count; slot++) {
        uint32_t from = op->spec.inputs[slot];
        const struct weft_operator *input = &model->operators[from];
        struct reading read = {
            .region = weft_region_input(model, index, slot, part % own->parameter_parts,
                                        own->parameter_parts),
            .low = low,
            .high = low + size,
        };
        double all = (double)size * (double)region_elements(&read.region);
        double local =
            input->spec.kind == WEFT_OP_INPUT
                ? 0
                : local_elements(input, &placements[from], own->servers[part], &read, model->batch);
        // Parts of attention and experts overlap: each makes the whole output.
        bytes += fmax(all - local, 0) * weft_dtype_bytes(input->spec.dtype);
    }
    return bytes / accelerators_of(setting);
}

// ---- all servers ----

// Sums over operators, and what holds most on each server.
struct tally {
    struct weft_memory *memory;
    double *operator_bytes; // of the operator at hand
    double *largest_bytes;
    uint32_t *largest;
    uint32_t *seen; // stamp of the parameters that were counted last
    uint32_t stamp;
};

// Adds an operator to all its servers. Parts of one parameter part hold the same parameters, so a
// stamp on each server tells whether they were counted already; what each part receives and keeps
// is its own.
static void add_operator(struct tally *tally, const struct weft_model *model, uint32_t op,
                         const struct weft_placement *placements,
                         const struct weft_strategy_setting *setting)
{
    const struct weft_placement *own = &placements[op];
    struct weft_split split = {own->sample_parts, own->parameter_parts};
    struct weft_part_memory part = weft_part_memory(model, op, split, setting);
    double held_bytes = part.parameters_bytes + part.gradients_bytes + part.optimizer_bytes;
    for (uint32_t p = 0; p < own->parameter_parts; p++) {
        tally->stamp++;
        for (uint32_t s = 0; s < own->sample_parts; s++) {
            uint32_t index = s * own->parameter_parts + p;
            uint32_t server = own->servers[index];
            struct weft_memory *memory = &tally->memory[server];
            double received = weft_part_received_bytes(model, placements, op, index, setting);
            memory->gradients_bytes += part.rows_bytes;
            memory->activations_bytes += part.outputs_bytes + received;
            tally->operator_bytes[server] += part.rows_bytes + part.outputs_bytes + received;
            if (tally->seen[server] != tally->stamp) {
                tally->seen[server] = tally->stamp;
                memory->parameters_bytes += part.parameters_bytes;
                memory->gradients_bytes += part.gradients_bytes;
                memory->optimizer_bytes += part.optimizer_bytes;
                tally->operator_bytes[server] += held_bytes;
            }
        }
    }
    for (uint32_t i = 0; i < own->sample_parts * own->parameter_parts; i++) {
        uint32_t server = own->servers[i];
        if (tally->operator_bytes[server] > tally->largest_bytes[server]) {
            tally->largest_bytes[server] = tally->operator_bytes[server];
            tally->largest[server] = op;
        }
    }
    for (uint32_t i = 0; i < own->sample_parts * own->parameter_parts; i++) {
        tally->operator_bytes[own->servers[i]] = 0;
    }
}

static struct tally tally_new(uint32_t server_count, struct weft_arena *arena,
                              struct weft_arena *scratch)
{
    return (struct tally){
        .memory = WEFT_NEW(arena, struct weft_memory, server_count),
        .operator_bytes = WEFT_NEW(scratch, double, server_count),
        .largest_bytes = WEFT_NEW(scratch, double, server_count),
        .largest = WEFT_NEW(scratch, uint32_t, server_count),
        .seen = WEFT_NEW(scratch, uint32_t, server_count),
    };
}

// ---- what does not fit ----

// What would help most, in words, and the quantity that it changes; key NULL: the strategy itself.
struct remedy {
    const char *words;
    const char *key;
    const char *value;
};

static struct remedy remedy_for(const struct weft_operator *largest, const struct weft_memory *full,
                                double mean_bytes, const struct weft_strategy_setting *setting)
{
    double excess_bytes = full->total_bytes - setting->memory_limit_bytes;
    bool table = largest->spec.kind == WEFT_OP_EMBEDDING;
    if (table && setting->tables == WEFT_TABLES_REPLICATED && accelerators_of(setting) > 1) {
        return (struct remedy){"shard the tables", "tables", "sharded"};
    }
    if (setting->optimizer != WEFT_SGD && full->optimizer_bytes > excess_bytes) {
        return (struct remedy){"train by SGD, which keeps no state", "optimizer", "sgd"};
    }
    if (mean_bytes < setting->memory_limit_bytes) {
        return (struct remedy){.words = table ? "put tables on servers that hold less"
                                              : "spread it over more servers"};
    }
    if (full->activations_bytes > excess_bytes) {
        return (struct remedy){"use a smaller batch or more servers", "batch", ""};
    }
    return (struct remedy){.words = "use more servers, and split its parameters over them"};
}

static bool fail_full(const struct weft_model *model, const struct tally *tally, uint32_t server,
                      uint32_t server_count, const struct weft_strategy_setting *setting,
                      struct weft_error *error)
{
    double sum_bytes = 0;
    for (uint32_t i = 0; i < server_count; i++) {
        sum_bytes += tally->memory[i].total_bytes;
    }
    const struct weft_memory *full = &tally->memory[server];
    const struct weft_operator *largest = &model->operators[tally->largest[server]];
    double limit_bytes = setting->memory_limit_bytes;
    struct remedy remedy = remedy_for(largest, full, sum_bytes / server_count, setting);
    weft_fail(
        error, WEFT_INFEASIBLE,
        "server %u needs %.1f GiB an accelerator, %.1f GiB more than %.1f GiB; '%.64s' holds most "
        "(%.1f GiB); %s, or take accelerators with more memory",
        server, full->total_bytes / GIB, (full->total_bytes - limit_bytes) / GIB, limit_bytes / GIB,
        largest->spec.name, tally->largest_bytes[server] / GIB, remedy.words);
    return remedy.key != NULL && weft_remedy(error, remedy.key, "%s", remedy.value);
}

// Sums all operators, finds the fullest server, and refuses the strategy where it exceeds the
// limit, naming the operator that holds most and what would help.
bool weft_operators_memory(struct weft_strategy *strategy, const struct weft_study *study,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    const struct weft_model *model = study->model;
    const struct weft_strategy_setting *setting = study->setting;
    if (!weft_operators_check(strategy, model, study->cluster, error)) {
        return false;
    }
    uint32_t n = strategy->server_count;
    struct tally tally = tally_new(n, arena, &scratch);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        if (model->operators[op].spec.kind != WEFT_OP_INPUT) {
            add_operator(&tally, model, op, strategy->placements, setting);
        }
    }
    uint32_t fullest = 0;
    for (uint32_t server = 0; server < n; server++) {
        struct weft_memory *memory = &tally.memory[server];
        memory->total_bytes = memory->parameters_bytes + memory->gradients_bytes +
                              memory->optimizer_bytes + memory->activations_bytes;
        if (memory->total_bytes > tally.memory[fullest].total_bytes) {
            fullest = server;
        }
    }
    double most_bytes = tally.memory[fullest].total_bytes;
    if (setting->memory_limit_bytes > 0 && most_bytes > setting->memory_limit_bytes) {
        return fail_full(model, &tally, fullest, n, setting, error);
    }
    strategy->memory = tally.memory;
    strategy->memory_max_bytes = most_bytes;
    return true;
}
