// SPDX-License-Identifier: Apache-2.0
// Where parts of operators go: SiP-ML, section 4, degree-aware placement.
//
// Operators are placed in topological order. The accelerators of a replica lie on a ring of ids; a
// part may go to the next `reach` ids from the leftmost one of what it reads, so that an
// accelerator talks to few others and arcs on a fiber ring are short. Among those that have memory
// left the part goes to the one that is free first (as published), or to the one where it can begin
// first. Every replica is placed alike. O(parts (parts they read + reach)).

#include "sip.h"

struct placer {
    struct sip_fold *fold;
    const struct sip_target *target;
    struct weft_split *splits; // per operator, inside a replica
    uint32_t **ids;            // per operator: of its parts
    uint64_t **end_ps;
    uint64_t *free_ps;    // per id
    double *memory_bytes; // per id
    bool *read;           // per id: some of what the part reads is there
    uint64_t *ready_ps;   // per id: all that the part reads has come
};

// A part at hand.
struct part {
    uint32_t op;
    uint32_t sample, parameter;
    uint64_t low, high; // samples of the replica
};

static bool is_pointwise(enum weft_operator_kind kind)
{
    return kind == WEFT_OP_ADD || kind == WEFT_OP_MULTIPLY || kind == WEFT_OP_UNARY ||
           kind == WEFT_OP_POOL2D || kind == WEFT_OP_NORM;
}

// Looks at the parts of one input that a part reads: where they are, and when their outputs are at
// each id. True where there is one.
static bool read_input(struct placer *placer, const struct part *part, uint32_t input)
{
    const struct sip_fold *fold = placer->fold;
    const struct weft_operator *maker = &fold->model.operators[input];
    struct weft_split from = placer->splits[input];
    struct weft_split own = placer->splits[part->op];
    uint64_t size = fold->model.batch / fold->replicas / from.sample_parts;
    bool alike = is_pointwise(fold->model.operators[part->op].spec.kind) &&
                 own.parameter_parts == from.parameter_parts;
    double sample_bytes =
        (double)maker->output_elements / from.parameter_parts * weft_dtype_bytes(maker->spec.dtype);
    for (uint64_t s = part->low / size; s < from.sample_parts && s * size < part->high; s++) {
        uint64_t low = s * size > part->low ? s * size : part->low;
        uint64_t high = (s + 1) * size < part->high ? (s + 1) * size : part->high;
        double bytes = (double)(high - low) * sample_bytes;
        uint64_t way_ps =
            placer->target->latency_ps + weft_picoseconds(bytes / placer->target->port_Bps);
        for (uint32_t p = alike ? part->parameter : 0; p < from.parameter_parts; p++) {
            uint32_t index = (uint32_t)s * from.parameter_parts + p;
            uint32_t at = placer->ids[input][index];
            uint64_t end_ps = placer->end_ps[input][index];
            placer->read[at] = true;
            for (uint32_t id = 0; id < fold->choice.mp; id++) {
                uint64_t come_ps = id == at ? end_ps : end_ps + way_ps;
                placer->ready_ps[id] =
                    come_ps > placer->ready_ps[id] ? come_ps : placer->ready_ps[id];
            }
            if (alike) {
                break;
            }
        }
    }
    return true;
}

// The first of the shortest run of ids, around the ring, that holds all that are marked: the one
// behind the longest gap, of equals the lowest.
static uint32_t leftmost(const bool *marked, uint32_t count)
{
    uint32_t best = WEFT_NONE;
    uint32_t longest = 0;
    uint32_t gap = 0;
    for (uint32_t i = 0; i < 2 * count; i++) { // the first round finds the gap before the second
        if (!marked[i % count]) {
            gap++;
            continue;
        }
        if (i >= count && (best == WEFT_NONE || gap > longest)) {
            longest = gap;
            best = i % count;
        }
        gap = 0;
    }
    WEFT_ASSERT(best != WEFT_NONE);
    return best;
}

// The ids that a part may go to: `count` from `first` on, around the ring.
struct span {
    uint32_t first, count;
};

static struct span reach_of(struct placer *placer, const struct part *part)
{
    const struct sip_fold *fold = placer->fold;
    const struct weft_operator *op = &fold->model.operators[part->op];
    uint32_t mp = fold->choice.mp;
    bool any = false;
    for (uint32_t id = 0; id < mp; id++) {
        placer->read[id] = false;
        placer->ready_ps[id] = 0;
    }
    for (uint32_t slot = 0; slot < op->spec.input_count; slot++) {
        uint32_t input = op->spec.inputs[slot];
        if (fold->model.operators[input].spec.kind != WEFT_OP_INPUT) {
            any |= read_input(placer, part, input);
        }
    }
    if (!any) {
        return (struct span){0, mp};
    }
    uint32_t count = fold->choice.reach < mp ? fold->choice.reach : mp;
    return (struct span){leftmost(placer->read, mp), count};
}

static uint32_t pick(const struct placer *placer, struct span span, double bytes)
{
    const struct sip_fold *fold = placer->fold;
    double limit_bytes = fold->setting.memory_limit_bytes;
    uint32_t best = WEFT_NONE;
    uint64_t best_ps = WEFT_NEVER;
    for (uint32_t i = 0; i < span.count; i++) {
        uint32_t id = (span.first + i) % fold->choice.mp;
        uint64_t at_ps = placer->free_ps[id];
        if (fold->choice.pick == SIP_PICK_START && placer->ready_ps[id] > at_ps) {
            at_ps = placer->ready_ps[id];
        }
        bool fits = limit_bytes == 0 || placer->memory_bytes[id] + bytes <= limit_bytes;
        if (fits && at_ps < best_ps) {
            best = id;
            best_ps = at_ps;
        }
    }
    return best;
}

static bool place_part(struct placer *placer, const struct part *part, uint64_t forward_ps,
                       double bytes, struct weft_error *error)
{
    const struct sip_fold *fold = placer->fold;
    uint32_t index = part->sample * placer->splits[part->op].parameter_parts + part->parameter;
    struct span span = reach_of(placer, part);
    uint32_t id = pick(placer, span, bytes);
    if (id == WEFT_NONE) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "operator %s: none of the %u accelerators within reach has %.3g GB left; "
                         "take more accelerators a replica, a longer reach or a smaller batch",
                         fold->model.operators[part->op].spec.name, span.count, bytes / 1e9);
    }
    uint64_t start_ps =
        placer->free_ps[id] > placer->ready_ps[id] ? placer->free_ps[id] : placer->ready_ps[id];
    placer->ids[part->op][index] = id;
    placer->end_ps[part->op][index] = start_ps + forward_ps;
    placer->free_ps[id] = start_ps + forward_ps;
    placer->memory_bytes[id] += bytes;
    return true;
}

static bool place_operator(struct placer *placer, uint32_t op, struct weft_arena *arena,
                           struct weft_error *error)
{
    struct sip_fold *fold = placer->fold;
    struct weft_operator_cost cost;
    if (!sip_split(&placer->splits[op], fold, op, placer->splits, error)) {
        return false;
    }
    struct weft_split split = placer->splits[op];
    struct weft_split all = {split.sample_parts * fold->replicas, split.parameter_parts};
    if (!weft_operator_time(&cost, &fold->model, op, all, &fold->setting.cost, error)) {
        return false;
    }
    struct weft_part_memory memory = weft_part_memory(&fold->model, op, all, &fold->setting);
    double bytes = memory.parameters_bytes + memory.gradients_bytes + memory.optimizer_bytes +
                   memory.rows_bytes + memory.outputs_bytes;
    uint32_t parts = split.sample_parts * split.parameter_parts;
    uint64_t size = fold->model.batch / fold->replicas / split.sample_parts;
    placer->ids[op] = WEFT_NEW(arena, uint32_t, parts);
    placer->end_ps[op] = WEFT_NEW(arena, uint64_t, parts);
    for (uint32_t i = 0; i < parts; i++) {
        struct part part = {op, i / split.parameter_parts, i % split.parameter_parts, 0, 0};
        part.low = part.sample * size;
        part.high = part.low + size;
        if (!place_part(placer, &part, cost.forward_ps, bytes, error)) {
            return false;
        }
    }
    return true;
}

// The placements of all replicas of the fold, each as the first.
static void publish(struct sip_fold *fold, const struct placer *placer, struct weft_arena *arena)
{
    uint32_t count = fold->model.operator_count;
    struct weft_placement *placements = WEFT_NEW(arena, struct weft_placement, count);
    for (uint32_t op = 0; op < count; op++) {
        struct weft_split split = placer->splits[op];
        uint32_t parts = split.sample_parts * split.parameter_parts;
        uint32_t *servers = WEFT_NEW(arena, uint32_t, (size_t)fold->replicas * parts);
        for (uint32_t i = 0; placer->ids[op] != NULL && i < fold->replicas * parts; i++) {
            servers[i] = i / parts * fold->choice.mp + placer->ids[op][i % parts];
        }
        placements[op] = (struct weft_placement){fold->replicas * split.sample_parts,
                                                 split.parameter_parts, servers};
    }
    fold->strategy = (struct weft_strategy){.kind = WEFT_STRATEGY_OPERATORS,
                                            .server_count = fold->node_count,
                                            .placements = placements};
}

bool sip_place(struct sip_fold *fold, const struct sip_target *target, struct weft_arena *arena,
               struct weft_arena scratch, struct weft_error *error)
{
    uint32_t count = fold->model.operator_count;
    uint32_t mp = fold->choice.mp;
    struct placer placer = {
        .fold = fold,
        .target = target,
        .splits = WEFT_NEW(&scratch, struct weft_split, count),
        .ids = WEFT_NEW(&scratch, uint32_t *, count),
        .end_ps = WEFT_NEW(&scratch, uint64_t *, count),
        .free_ps = WEFT_NEW(&scratch, uint64_t, mp),
        .memory_bytes = WEFT_NEW(&scratch, double, mp),
        .read = WEFT_NEW(&scratch, bool, mp),
        .ready_ps = WEFT_NEW(&scratch, uint64_t, mp),
    };
    for (uint32_t op = 0; op < count; op++) {
        placer.splits[op] = (struct weft_split){1, 1};
        if (fold->model.operators[op].spec.kind != WEFT_OP_INPUT &&
            !place_operator(&placer, op, &scratch, error)) {
            return false;
        }
    }
    publish(fold, &placer, arena);
    return true;
}
