// SPDX-License-Identifier: Apache-2.0
// GOAL schedules in LogGOPSim's binary form: packed, little endian.
//
//   u64 magic, u32 ranks, u8 CPUs, u8 NICs (highest numbers), for each rank u64 begin and end
//   counted from byte 8; a rank: u32 operations, u32 roots, u32 root[], operations of 39 bytes,
//   u32 successor[]

#include "goal.h"

#include <string.h>

#define HEAD_BYTES 14u
#define BASE 8u // positions of ranks count from here
#define OP_BYTES 39u

struct bytes {
    const unsigned char *data;
    uint64_t length;
};

struct block {
    struct bytes ops; // of 39 bytes each
    struct bytes successors;
    uint32_t op_count;
    uint32_t successor_count;
};

static uint64_t little(const unsigned char *at, uint32_t count)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

// Finds the bytes of a rank, which must lie behind those of the rank before it (*end), and
// divides them into operations and successors.
static bool find_block(struct block *block, uint64_t *end, const struct bytes *file, uint32_t rank,
                       struct weft_error *error)
{
    const unsigned char *jump = file->data + HEAD_BYTES + (size_t)rank * 16;
    uint64_t begin = little(jump, 8);
    uint64_t stop = little(jump + 8, 8);
    if (begin < *end || stop > file->length - BASE || stop < begin || stop - begin < 8) {
        return weft_fail(error, WEFT_INPUT,
                         "its bytes %llu to %llu do not lie behind those of the ranks before it, "
                         "or not in the file",
                         (unsigned long long)begin, (unsigned long long)stop);
    }
    const unsigned char *data = file->data + BASE + begin;
    uint64_t left = stop - begin - 8;
    uint64_t op_count = little(data, 4);
    uint64_t root_count = little(data + 4, 4);
    if (root_count > op_count || op_count > left / OP_BYTES ||
        root_count * 4 > left - op_count * OP_BYTES) {
        return weft_fail(error, WEFT_INPUT, "%llu operations and %llu roots do not fit its bytes",
                         (unsigned long long)op_count, (unsigned long long)root_count);
    }
    left -= root_count * 4 + op_count * OP_BYTES;
    data += 8 + root_count * 4;
    *block = (struct block){
        .ops = {data, op_count * OP_BYTES},
        .successors = {data + op_count * OP_BYTES, left},
        .op_count = (uint32_t)op_count,
        .successor_count = (uint32_t)(left / 4 < UINT32_MAX ? left / 4 : UINT32_MAX),
    };
    *end = stop;
    return true;
}

// Where the ranks' bytes lie, and how much is in them.
static bool survey(uint64_t *op_count, uint64_t *edge_count, const struct bytes *file,
                   uint32_t rank_count, struct weft_error *error)
{
    uint64_t end = 0;
    *op_count = 0;
    *edge_count = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        struct block block = {0};
        if (!find_block(&block, &end, file, rank, error)) {
            return weft_wrap(error, "rank %u", rank);
        }
        *op_count += block.op_count;
        *edge_count += block.successor_count;
    }
    if (*op_count > GOAL_OPS_MAX || *edge_count > GOAL_OPS_MAX) {
        return weft_fail(error, WEFT_INPUT, "more than %u operations or dependencies",
                         GOAL_OPS_MAX);
    }
    return true;
}

struct filling {
    struct goal_arrays arrays;
    uint32_t op_count;
    uint32_t edge_count;
    uint32_t edge_room;
};

// Adds the edges of one operation's list of successors, of those that wait for its end or, with
// at_start, for its start. The fields lie at bytes 23 and 31 of the 39.
static bool add_successors(struct filling *filling, const struct block *block, uint32_t first,
                           uint32_t op, bool at_start, struct weft_error *error)
{
    const unsigned char *at = block->ops.data + (size_t)op * OP_BYTES + (at_start ? 31 : 23);
    uint64_t count = little(at, 4);
    uint64_t begin = little(at + 4, 4);
    if (count == 0) {
        return true; // the place may be anything
    }
    // All lists together must fit, too: none may be used twice.
    if (begin > block->successor_count || count > block->successor_count - begin) {
        return weft_fail(error, WEFT_INPUT,
                         "operation %u: its %llu successors from place %llu on are not all there",
                         op, (unsigned long long)count, (unsigned long long)begin);
    }
    WEFT_ASSERT(count <= filling->edge_room - filling->edge_count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t next = little(block->successors.data + 4 * (begin + i), 4);
        if (next >= block->op_count) {
            return weft_fail(error, WEFT_INPUT,
                             "operation %u: its successor %llu is not there; the rank has %u", op,
                             (unsigned long long)next, block->op_count);
        }
        filling->arrays.before[filling->edge_count] = first + op;
        filling->arrays.after[filling->edge_count] = first + (uint32_t)next;
        filling->arrays.at_start[filling->edge_count++] = at_start;
    }
    return true;
}

// Reads the 39 bytes of an operation, but for its edges.
static bool read_op(struct filling *filling, const unsigned char *at, uint32_t index,
                    struct weft_error *error)
{
    struct goal_arrays *arrays = &filling->arrays;
    uint32_t type = at[4];
    if (type < 1 || type > 3) {
        return weft_fail(error, WEFT_INPUT, "type %u; there are 1 send, 2 receive, 3 calculate",
                         type);
    }
    arrays->kind[index] = (uint8_t)(type == 1   ? WEFT_GOAL_SEND
                                    : type == 2 ? WEFT_GOAL_RECV
                                                : WEFT_GOAL_CALC);
    arrays->peer[index] = (uint32_t)little(at + 5, 4);
    arrays->size[index] = little(at + 9, 8);
    arrays->tag[index] = (uint32_t)little(at + 17, 4);
    arrays->cpu[index] = at[21];
    arrays->nic[index] = at[22];
    if (type == 1 && (arrays->tag[index] == WEFT_NONE || arrays->peer[index] == WEFT_NONE)) {
        return weft_fail(error, WEFT_INPUT, "a send has one destination and one tag");
    }
    if (arrays->size[index] > (type == 3 ? INT64_MAX / 1000 : INT64_MAX)) {
        return weft_fail(error, WEFT_INPUT, "size %llu is beyond what can be simulated",
                         (unsigned long long)arrays->size[index]);
    }
    return true;
}

// Reads a rank's operations, then its edges. The file states for each operation how many it
// waits for; that must be how often it is a successor.
static bool read_rank(struct filling *filling, const struct block *block, struct weft_arena scratch,
                      struct weft_error *error)
{
    uint32_t first = filling->op_count;
    uint32_t first_edge = filling->edge_count;
    uint64_t listed = 0;
    for (uint32_t op = 0; op < block->op_count; op++) {
        const unsigned char *at = block->ops.data + (size_t)op * OP_BYTES;
        listed += little(at + 23, 4) + little(at + 31, 4);
        if (!read_op(filling, at, first + op, error)) {
            return weft_wrap(error, "operation %u", op);
        }
    }
    if (listed > block->successor_count) {
        return weft_fail(error, WEFT_INPUT, "its operations name %llu successors, but %u are there",
                         (unsigned long long)listed, block->successor_count);
    }
    uint32_t *waits = WEFT_NEW(&scratch, uint32_t, block->op_count);
    for (uint32_t op = 0; op < block->op_count; op++) {
        if (!add_successors(filling, block, first, op, false, error) ||
            !add_successors(filling, block, first, op, true, error)) {
            return false;
        }
    }
    for (uint32_t e = first_edge; e < filling->edge_count; e++) {
        waits[filling->arrays.after[e] - first]++;
    }
    for (uint32_t op = 0; op < block->op_count; op++) {
        uint64_t said = little(block->ops.data + (size_t)op * OP_BYTES, 4);
        if (said != waits[op]) {
            return weft_fail(error, WEFT_INPUT,
                             "operation %u: waits for %llu others, but is the successor of %u", op,
                             (unsigned long long)said, waits[op]);
        }
    }
    filling->op_count += block->op_count;
    return true;
}

// Reads the binary form in two passes: the first finds out how much there is, the second fills
// arrays of just that size.
bool goal_read_binary(struct weft_goal *goal, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct bytes file = {(const unsigned char *)data, length};
    if (length < HEAD_BYTES) {
        return weft_fail(error, WEFT_INPUT, "%zu bytes are no schedule; it may be cut short",
                         length);
    }
    uint64_t ranks = little(file.data + 8, 4);
    if (ranks == 0 || ranks > GOAL_RANKS_MAX || ranks > (length - HEAD_BYTES) / 16) {
        return weft_fail(error, WEFT_INPUT, "%llu ranks do not fit %zu bytes; it may be cut short",
                         (unsigned long long)ranks, length);
    }
    uint32_t rank_count = (uint32_t)ranks;
    uint64_t op_count = 0;
    uint64_t edge_count = 0;
    if (!survey(&op_count, &edge_count, &file, rank_count, error)) {
        return false;
    }
    struct filling filling = {
        .arrays =
            goal_arrays_init(rank_count, (uint32_t)op_count, (uint32_t)edge_count, false, arena),
        .edge_room = (uint32_t)edge_count,
    };
    uint64_t end = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        struct block block = {0};
        filling.arrays.rank_first[rank] = filling.op_count;
        if (!find_block(&block, &end, &file, rank, error) ||
            !read_rank(&filling, &block, scratch, error)) {
            return weft_wrap(error, "rank %u", rank);
        }
    }
    filling.arrays.rank_first[rank_count] = filling.op_count;
    goal_publish(goal, &filling.arrays, rank_count, filling.edge_count);
    return true;
}
