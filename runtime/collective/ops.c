// SPDX-License-Identifier: Apache-2.0
// One rank's share of a schedule: its streams and its operations in order.
//
// A schedule is a list of transfers by round. For a rank each becomes a send, a receive or a move,
// and each slot it touches gets a need: the reads and writes of that slot which earlier rounds
// make. Counts replace pointers between operations, so that a schedule costs O(transfers) however
// its rounds depend on each other.

#include "ops.h"

#include <string.h>

static const uint32_t streams_max = 1u << 20;

bool lab_streams_of(struct lab_stream_set *streams, const struct weft_schedule *schedule,
                    uint32_t lanes, struct weft_arena *arena, struct weft_arena scratch,
                    struct weft_error *error)
{
    size_t n = schedule->rank_count;
    uint32_t *first = WEFT_NEW(arena, uint32_t, n * n);
    memset(first, 0xff, n * n * sizeof *first);
    uint64_t pairs = 0;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            uint32_t *slot = &first[transfer->from * n + transfer->to];
            if (transfer->from != transfer->to && *slot == WEFT_NONE) {
                *slot = 0;
                pairs++;
            }
        }
    }
    if (pairs * lanes > streams_max) {
        return weft_fail(error, WEFT_INPUT,
                         "%u ranks, each to many others, on %u lanes need more than %u "
                         "connections; take fewer",
                         schedule->rank_count, lanes, streams_max);
    }
    struct lab_stream *list = WEFT_NEW(arena, struct lab_stream, pairs * lanes + 1);
    uint32_t count = 0;
    for (size_t pair = 0; pair < n * n; pair++) {
        if (first[pair] == WEFT_NONE) {
            continue;
        }
        first[pair] = count;
        for (uint32_t lane = 0; lane < lanes; lane++) {
            list[count++] =
                (struct lab_stream){.from = (uint32_t)(pair / n), .to = (uint32_t)(pair % n)};
        }
    }
    *streams = (struct lab_stream_set){count, list, first};
    return true;
}

// ---- building ----

struct builder {
    const struct weft_schedule *schedule;
    uint32_t rank;
    const uint32_t *pair_stream;
    uint32_t op_count;
    uint32_t need_count;
    struct lab_op *ops; // NULL: counts alone
    struct lab_need *needs;
    uint32_t *reads; // of each slot so far
    uint32_t *writes;
    uint64_t sent_slots;
};

static void put(struct builder *builder, struct lab_op op)
{
    bool reads = op.kind == LAB_OP_SEND || op.kind == LAB_OP_MOVE_OUT;
    if (builder->ops != NULL) {
        op.first_need = builder->need_count;
        builder->ops[builder->op_count] = op;
        for (uint32_t i = 0; i < op.slot_count; i++) {
            uint32_t slot = op.slot + i;
            builder->needs[builder->need_count + i] =
                (struct lab_need){reads ? 0 : builder->reads[slot], builder->writes[slot]};
            *(reads ? &builder->reads[slot] : &builder->writes[slot]) += 1;
        }
    }
    builder->op_count++;
    builder->need_count += op.slot_count;
}

static uint32_t stream_of(const struct builder *builder, const struct weft_transfer *transfer)
{
    size_t n = builder->schedule->rank_count;
    return builder->pair_stream[transfer->from * n + transfer->to];
}

// A round's reads stand before its writes, so that they count the writes of earlier rounds alone.
static void put_round(struct builder *builder, const struct weft_round_walk *walk)
{
    for (int writing = 0; writing < 2; writing++) {
        for (uint32_t i = 0; i < walk->transfer_count; i++) {
            const struct weft_transfer *transfer = &walk->transfers[i];
            bool moves = transfer->from == transfer->to;
            if ((writing ? transfer->to : transfer->from) != builder->rank) {
                continue;
            }
            struct lab_op op = {
                .adds = transfer->op == WEFT_STEP_REDUCE,
                .round = walk->round,
                .slot = writing ? transfer->to_slot : transfer->from_slot,
                .slot_count = transfer->slot_count,
                .stream = moves ? WEFT_NONE : stream_of(builder, transfer),
            };
            if (writing) {
                op.kind = moves ? LAB_OP_MOVE_IN : LAB_OP_RECEIVE;
            } else {
                op.kind = moves ? LAB_OP_MOVE_OUT : LAB_OP_SEND;
                builder->sent_slots += moves ? 0 : op.slot_count;
            }
            put(builder, op);
        }
    }
}

static void walk_rounds(struct builder *builder, struct weft_arena scratch)
{
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, builder->schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        put_round(builder, &walk);
    }
}

void lab_ops_build(struct lab_ops *ops, const struct weft_schedule *schedule, uint32_t rank,
                   const struct lab_stream_set *streams, struct weft_arena *arena,
                   struct weft_arena scratch)
{
    struct builder builder = {
        .schedule = schedule, .rank = rank, .pair_stream = streams->pair_first};
    walk_rounds(&builder, scratch);
    builder.ops = WEFT_NEW(arena, struct lab_op, builder.op_count + 1);
    builder.needs = WEFT_NEW(arena, struct lab_need, builder.need_count + 1);
    builder.reads = WEFT_NEW(&scratch, uint32_t, schedule->slot_count);
    builder.writes = WEFT_NEW(&scratch, uint32_t, schedule->slot_count);
    uint32_t counted = builder.op_count;
    builder.op_count = 0;
    builder.need_count = 0;
    builder.sent_slots = 0;
    walk_rounds(&builder, scratch);
    WEFT_ASSERT(builder.op_count == counted);
    *ops = (struct lab_ops){builder.op_count, builder.ops, builder.needs, builder.sent_slots};
}
