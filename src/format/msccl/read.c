// SPDX-License-Identifier: Apache-2.0
// MSCCL's programs in (XML of microsoft/msccl-tools): <algo> <gpu> <tb> <step>.
//
// Elements are walked once to count and once to fill. What every runtime refuses is refused here
// with its line; what microsoft/msccl has defaults for, where RCCL and msccl-executor ignore the
// file, takes those and is named. Whether a program computes its collective is weft_program_check's
// to prove. O(length).

#include "format/syntax/xml.h"
#include "weft/format.h"

#include <string.h>

#define RANKS_MAX 4096
#define CHUNKS_MAX 65536
#define BLOCKS_MAX 4096 // of a rank
#define CHANNELS_MAX 1024
#define BYTES_MAX ((int64_t)1 << 60)
#define BYTES_DEFAULT ((int64_t)1 << 27) // of maxBytes, in microsoft/msccl

struct counts {
    uint32_t ranks;
    uint32_t blocks;
    uint32_t steps;
};

struct building {
    struct weft_program *program;
    uint32_t *scratch_counts;
    uint32_t *block_first;
    struct weft_block *blocks;
    struct weft_block_step *steps;
    uint32_t block_count;
    uint32_t step_count;
};

static struct counts count_elements(const struct weft_xml_node *algo)
{
    struct counts counts = {0};
    for (const struct weft_xml_node *gpu = algo->first; gpu != NULL; gpu = gpu->next) {
        counts.ranks += weft_xml_is(gpu, "gpu") ? 1 : 0;
        for (const struct weft_xml_node *tb = gpu->first; tb != NULL; tb = tb->next) {
            counts.blocks += weft_xml_is(tb, "tb") ? 1 : 0;
            for (const struct weft_xml_node *step = tb->first; step != NULL; step = step->next) {
                counts.steps += weft_xml_is(step, "step") ? 1 : 0;
            }
        }
    }
    return counts;
}

static bool read_small(uint32_t *value, const struct weft_xml_node *node, const char *name,
                       int64_t low, int64_t high, struct weft_error *error)
{
    int64_t parsed;
    if (!weft_xml_integer(&parsed, node, name, low, high, error)) {
        return false;
    }
    *value = parsed < 0 ? WEFT_NONE : (uint32_t)parsed;
    return true;
}

static bool read_truth(bool *value, const struct weft_xml_node *node, const char *name,
                       struct weft_error *error)
{
    int64_t parsed;
    if (!weft_xml_integer(&parsed, node, name, 0, 1, error)) {
        return false;
    }
    *value = parsed == 1;
    return true;
}

static bool read_kind(struct weft_program *program, const struct weft_xml_node *algo,
                      struct weft_error *error)
{
    const char *text = NULL;
    if (!weft_xml_text(&text, algo, "coll", error)) {
        return false;
    }
    program->kind = weft_collective_find(text);
    if (program->kind == WEFT_COLLECTIVE_KIND_COUNT) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "line %u: coll=\"%.40s\" is no collective that can be checked; allreduce, "
                         "reducescatter, allgather, broadcast, reduce and alltoall are",
                         algo->line, text);
    }
    if (!weft_xml_text(&text, algo, "proto", error)) {
        return false;
    }
    if (strcmp(text, "Simple") != 0 && strcmp(text, "LL") != 0 && strcmp(text, "LL128") != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: proto=\"%.40s\" is no protocol; write Simple, LL or LL128",
                         algo->line, text);
    }
    program->protocol = text;
    return true;
}

// Sizes and modes, with the defaults of microsoft/msccl: any size up to 128 MiB, and out of place
// where not in place, as that runtime goes by inplace alone. maxBytes="0" is no limit.
static bool read_uses(struct weft_program *program, const struct weft_xml_node *algo,
                      struct weft_error *error)
{
    static const char *const names[] = {"minBytes", "maxBytes", "outofplace"};
    static const char *const lists[] = {"",
                                        "minBytes",
                                        "maxBytes",
                                        "minBytes, maxBytes",
                                        "outofplace",
                                        "minBytes, outofplace",
                                        "maxBytes, outofplace",
                                        "minBytes, maxBytes, outofplace"};
    int64_t low = 0;
    int64_t high = BYTES_DEFAULT;
    uint32_t lacks = 0;
    for (uint32_t i = 0; i < 3; i++) {
        lacks |= (weft_xml_find(algo, names[i]) == NULL ? 1u : 0u) << i;
    }
    program->defaulted = lists[lacks];
    if (!weft_xml_integer_or(&low, algo, "minBytes", 0, BYTES_MAX, error) ||
        !weft_xml_integer_or(&high, algo, "maxBytes", 0, BYTES_MAX, error) ||
        !read_truth(&program->in_place, algo, "inplace", error)) {
        return false;
    }
    program->out_of_place = !program->in_place;
    if ((lacks & 4) == 0 && !read_truth(&program->out_of_place, algo, "outofplace", error)) {
        return false;
    }
    if (low > high && high > 0) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: minBytes %lld is above maxBytes %lld, so that it is never used; "
                         "%s",
                         algo->line, (long long)low, (long long)high,
                         (lacks & 2) != 0 ? "state maxBytes" : "swap them");
    }
    program->size_min_bytes = (uint64_t)low;
    program->size_max_bytes = high > 0 ? (uint64_t)high : UINT64_MAX;
    return true;
}

// Reads the attributes of <algo>. The number of ranks that it states must be that of its <gpu>
// elements, which were counted before.
static bool read_algo(struct weft_program *program, const struct weft_xml_node *algo,
                      const struct counts *counts, struct weft_error *error)
{
    static const char *const needed[] = {"coll",           "proto",   "ngpus", "nchannels",
                                         "nchunksperloop", "inplace", NULL};
    int64_t root = 0;
    const char *name = weft_xml_find(algo, "name");
    program->name = name == NULL ? "" : name;
    if (!weft_xml_require(algo, needed, error) || !read_kind(program, algo, error) ||
        !read_small(&program->rank_count, algo, "ngpus", 2, RANKS_MAX, error) ||
        !read_small(&program->channel_count, algo, "nchannels", 1, CHANNELS_MAX, error) ||
        !read_small(&program->chunk_count, algo, "nchunksperloop", 1, CHUNKS_MAX, error) ||
        !read_uses(program, algo, error) ||
        !weft_xml_integer_or(&root, algo, "root", 0, program->rank_count - 1, error)) {
        return false;
    }
    if (counts->ranks != program->rank_count) {
        return weft_fail(error, WEFT_INPUT, "line %u: ngpus is %u, but there are %u <gpu>",
                         algo->line, program->rank_count, counts->ranks);
    }
    program->root = (uint32_t)root;
    return true;
}

static bool read_buffer(enum weft_block_buffer *buffer, const struct weft_xml_node *node,
                        const char *name, struct weft_error *error)
{
    const char *text = NULL;
    if (!weft_xml_text(&text, node, name, error)) {
        return false;
    }
    static const char letters[] = "ios";
    const char *found = text[0] != '\0' && text[1] == '\0' ? strchr(letters, text[0]) : NULL;
    if (found == NULL) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s=\"%.40s\" is no buffer; write i, o or s",
                         node->line, name, text);
    }
    *buffer = (enum weft_block_buffer)(found - letters);
    return true;
}

static bool read_op(enum weft_block_op *op, const struct weft_xml_node *node,
                    struct weft_error *error)
{
    const char *text = NULL;
    if (!weft_xml_text(&text, node, "type", error)) {
        return false;
    }
    for (enum weft_block_op o = 0; o <= WEFT_BLOCK_WAIT; o++) {
        if (strcmp(text, weft_block_op_name(o)) == 0) {
            *op = o;
            return true;
        }
    }
    return weft_fail(
        error, WEFT_INPUT,
        "line %u: type=\"%.40s\" is no step; there are s, r, rcs, rrs, rrc, rrcs, cpy, "
        "re and nop",
        node->line, text);
}

// Which of its two addresses a step uses.
static bool uses_source(enum weft_block_op op)
{
    return op != WEFT_BLOCK_RECEIVE && op != WEFT_BLOCK_RECEIVE_COPY_SEND && op != WEFT_BLOCK_WAIT;
}

static bool uses_target(enum weft_block_op op)
{
    return op != WEFT_BLOCK_SEND && op != WEFT_BLOCK_RECEIVE_REDUCE_SEND && op != WEFT_BLOCK_WAIT;
}

static bool check_step(const struct weft_block_step *step, const struct weft_xml_node *node,
                       struct weft_error *error)
{
    bool no_source = uses_source(step->op) && step->from == WEFT_NONE;
    if (no_source || (uses_target(step->op) && step->to == WEFT_NONE)) {
        return weft_fail(
            error, WEFT_INPUT, "line %u: type=\"%s\" %s, but %s=\"-1\" is no chunk; write which",
            node->line, weft_block_op_name(step->op),
            no_source ? "reads a chunk" : "writes a chunk", no_source ? "srcoff" : "dstoff");
    }
    if (step->wait_block != WEFT_NONE && step->wait_step == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: depid without deps; write the step to wait for", node->line);
    }
    return true;
}

// Reads a step of a thread block. -1 stands for "none" in the numbers that may lack; a step
// that only waits moves nothing, whatever its other numbers say.
static bool read_step(struct weft_block_step *step, const struct weft_xml_node *node,
                      struct weft_error *error)
{
    static const char *const needed[] = {"type", "s",     "srcbuf", "dstbuf", "srcoff", "dstoff",
                                         "cnt",  "depid", "deps",   "hasdep", NULL};
    struct weft_block_step found = {.line = node->line};
    uint32_t count;
    if (!weft_xml_require(node, needed, error) || !read_op(&found.op, node, error) ||
        !read_small(&found.number, node, "s", 0, INT32_MAX, error) ||
        !read_buffer(&found.from_buffer, node, "srcbuf", error) ||
        !read_buffer(&found.to_buffer, node, "dstbuf", error) ||
        !read_small(&found.from, node, "srcoff", -1, CHUNKS_MAX, error) ||
        !read_small(&found.to, node, "dstoff", -1, CHUNKS_MAX, error) ||
        !read_small(&count, node, "cnt", 0, CHUNKS_MAX, error) ||
        !read_small(&found.wait_block, node, "depid", -1, BLOCKS_MAX, error) ||
        !read_small(&found.wait_step, node, "deps", -1, INT32_MAX, error) ||
        !read_truth(&found.signals, node, "hasdep", error) || !check_step(&found, node, error)) {
        return false;
    }
    bool waits = found.op == WEFT_BLOCK_WAIT;
    found.from = waits || found.from == WEFT_NONE ? 0 : found.from;
    found.to = waits || found.to == WEFT_NONE ? 0 : found.to;
    found.count = waits ? 0 : count;
    *step = found;
    return true;
}

// Reads a thread block: its peers, its channel and its steps, which must be numbered from 0 in
// order, because the runtime indexes them so.
static bool read_block(struct building *building, const struct weft_xml_node *node,
                       struct weft_error *error)
{
    static const char *const needed[] = {"id", "send", "recv", "chan", NULL};
    struct weft_block *block = &building->blocks[building->block_count];
    *block = (struct weft_block){.first_step = building->step_count};
    uint32_t channel_last = building->program->channel_count - 1;
    if (!weft_xml_require(node, needed, error) ||
        !read_small(&block->number, node, "id", 0, BLOCKS_MAX - 1, error) ||
        !read_small(&block->send_peer, node, "send", -1, RANKS_MAX, error) ||
        !read_small(&block->receive_peer, node, "recv", -1, RANKS_MAX, error) ||
        !read_small(&block->channel, node, "chan", 0, channel_last, error)) {
        return false;
    }
    building->block_count++;
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        if (!weft_xml_is(child, "step")) {
            continue;
        }
        struct weft_block_step *step = &building->steps[building->step_count];
        if (!read_step(step, child, error)) {
            return false;
        }
        if (step->number != block->step_count) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: step s=\"%u\" stands where step %u is due; number them from "
                             "0 in order",
                             child->line, step->number, block->step_count);
        }
        building->step_count++;
        block->step_count++;
    }
    return true;
}

// Reads the thread blocks of a rank. They are numbered from 0 in order, because steps depend on
// each other by these numbers.
static bool read_gpu(struct building *building, uint32_t rank, const struct weft_xml_node *node,
                     struct weft_error *error)
{
    static const char *const needed[] = {"s_chunks", "i_chunks", "o_chunks", NULL};
    uint32_t unused;
    if (!weft_xml_require(node, needed, error) ||
        !read_small(&building->scratch_counts[rank], node, "s_chunks", 0, CHUNKS_MAX, error) ||
        !read_small(&unused, node, "i_chunks", 0, CHUNKS_MAX, error) ||
        !read_small(&unused, node, "o_chunks", 0, CHUNKS_MAX, error)) {
        return false;
    }
    building->block_first[rank] = building->block_count;
    uint32_t due = 0;
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        if (!weft_xml_is(child, "tb")) {
            continue; // TE-CCL's <copy>, which the runtime skips, too
        }
        if (!read_block(building, child, error)) {
            return false;
        }
        uint32_t number = building->blocks[building->block_count - 1].number;
        if (number != due) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: thread block %u stands where %u is due; number them from 0 "
                             "in order",
                             child->line, number, due);
        }
        due++;
    }
    return true;
}

// Reads all ranks in the order of their numbers, in whatever order the file has them: blocks are
// kept by rank.
static bool read_gpus(struct building *building, const struct weft_xml_node *algo,
                      struct weft_arena scratch, struct weft_error *error)
{
    uint32_t rank_count = building->program->rank_count;
    const struct weft_xml_node **gpus =
        WEFT_NEW(&scratch, const struct weft_xml_node *, rank_count);
    for (const struct weft_xml_node *child = algo->first; child != NULL; child = child->next) {
        uint32_t rank;
        if (!weft_xml_is(child, "gpu")) {
            continue;
        }
        if (!read_small(&rank, child, "id", 0, rank_count - 1, error)) {
            return false;
        }
        if (gpus[rank] != NULL) {
            return weft_fail(error, WEFT_INPUT, "line %u: gpu %u stands in line %u, too",
                             child->line, rank, gpus[rank]->line);
        }
        gpus[rank] = child;
    }
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        WEFT_ASSERT(gpus[rank] != NULL); // as many as ranks, none twice
        if (!read_gpu(building, rank, gpus[rank], error)) {
            return false;
        }
    }
    building->block_first[rank_count] = building->block_count;
    return true;
}

bool weft_msccl_read(struct weft_program *program, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_xml_node *algo = NULL;
    struct weft_program found = {0};
    if (!weft_xml_parse(&algo, "algo", data, length, &scratch, error)) {
        return false;
    }
    struct counts counts = count_elements(algo);
    if (!read_algo(&found, algo, &counts, error)) {
        return false;
    }
    struct building building = {
        .program = &found,
        .scratch_counts = WEFT_NEW(arena, uint32_t, found.rank_count),
        .block_first = WEFT_NEW(arena, uint32_t, (size_t)found.rank_count + 1),
        .blocks = WEFT_NEW(arena, struct weft_block, counts.blocks),
        .steps = WEFT_NEW(arena, struct weft_block_step, counts.steps),
    };
    if (!read_gpus(&building, algo, scratch, error)) {
        return false;
    }
    found.name = weft_arena_text(arena, found.name, strlen(found.name));
    found.protocol = weft_arena_text(arena, found.protocol, strlen(found.protocol));
    found.scratch_counts = building.scratch_counts;
    found.block_first = building.block_first;
    found.blocks = building.blocks;
    found.step_count = building.step_count;
    found.steps = building.steps;
    *program = found;
    return true;
}
