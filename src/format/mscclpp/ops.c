// SPDX-License-Identifier: Apache-2.0
// Operations of MSCCL++'s executor as steps of a one-sided program (docs/mscclpp.md).
//
// A table says of each operation which chunks it reads and writes: its own, a peer's, or packets in
// scratch; steps.c makes the steps. O(operations * their chunks).

#include "plan.h"

#include <string.h>

static const struct mscclpp_shape shapes[] = {
    {.name = "nop", .form = SYNC},
    {.name = "barrier", .form = BARRIER},
    {.name = "signal", .form = SIGNALS},
    {.name = "wait", .form = WAITS},
    {.name = "rlxsignal", .form = SIGNALS, .relaxed = true},
    {.name = "rlxwait", .form = WAITS, .relaxed = true},
    {.name = "flush", .form = FLUSH},
    {.name = "sem_acquire", .form = ACQUIRE},
    {.name = "sem_release", .form = RELEASE},
    {.name = "copy", .form = MOVE, .sources = {HERE}, .targets = {HERE}},
    {.name = "cpkt", .form = MOVE, .sources = {HERE}, .targets = {PACKETS}},
    {.name = "upkt", .form = MOVE, .sources = {PACKETS}, .targets = {HERE}},
    {.name = "put", .form = PAIRS, .sources = {HERE, HERE}, .targets = {THERE, THERE, THERE}},
    {.name = "pws",
     .form = PAIRS,
     .sources = {HERE, HERE},
     .targets = {THERE, THERE, THERE},
     .signals = true},
    {.name = "pwsf",
     .form = PAIRS,
     .sources = {HERE, HERE},
     .targets = {THERE, THERE, THERE},
     .signals = true,
     .flushes = true},
    {.name = "get", .form = PAIRS, .sources = {THERE, THERE}, .targets = {HERE, HERE, HERE}},
    {.name = "ppkt",
     .form = PAIRS,
     .sources = {HERE, HERE},
     .targets = {PACKETS_THERE, PACKETS_THERE, PACKETS_THERE}},
    {.name = "rppkt",
     .form = SPREAD,
     .sources = {PACKETS},
     .targets = {PACKETS_THERE, PACKETS_THERE, PACKETS_THERE}},
    {.name = "re", .form = SUM, .sources = {HERE, HERE}, .targets = {HERE}},
    {.name = "res", .form = SUM, .sources = {HERE, HERE}, .targets = {HERE, THERE, THERE}},
    {.name = "rre", .form = SUM, .sources = {HERE, THERE}, .targets = {HERE}},
    {.name = "rres", .form = SUM, .sources = {HERE, THERE}, .targets = {HERE, THERE, THERE}},
    {.name = "repkt", .form = SUM, .sources = {HERE, PACKETS}, .targets = {HERE}},
    {.name = "respkt",
     .form = SUM,
     .sources = {HERE, PACKETS},
     .targets = {HERE, PACKETS_THERE, PACKETS_THERE}},
    {.name = "recpkt", .form = SUM, .sources = {HERE, PACKETS}, .targets = {HERE, PACKETS}},
    {.name = "recspkt",
     .form = SUM,
     .sources = {HERE, PACKETS},
     .targets = {HERE, PACKETS, PACKETS_THERE}},
    {.name = "glres", .form = REFUSED},
    {.name = "gstore", .form = REFUSED},
    {.name = "pipeline", .form = REFUSED},
};

// ---- what stands in the file ----

// The executor does nothing, and says nothing, where an operation does not say by what it goes.
static bool check_type(const struct mscclpp_operation *op)
{
    return json_object_get(op->json, "channel_type") != NULL ||
           weft_fail(op->reading->error, WEFT_INPUT, "channel_type: missing; write memory or port");
}

// Reads a chunk of an operation: {"type", ...} of its own, or {"buffer_id", ...} of the remote
// buffers that its thread block names for the operation's type of channel.
static bool read_chunk(struct mscclpp_chunk *chunk, enum mscclpp_role role,
                       struct mscclpp_operation *op, const json_t *json)
{
    struct weft_error *error = op->reading->error;
    struct mscclpp_chunk found = {.role = role, .rank = op->gpu->rank};
    uint32_t size;
    bool remote = role == THERE || role == PACKETS_THERE;
    if (remote) {
        uint32_t id;
        if (!check_type(op) || !weft_json_u32(&id, json, "buffer_id", 0, UINT32_MAX - 1, error)) {
            return false;
        }
        const struct mscclpp_list *remotes = &op->block->remotes[op->type];
        if (id >= remotes->count) {
            return weft_fail(error, WEFT_INPUT,
                             "buffer_id: %u, but its thread block has %u remote_buffer_refs of %s "
                             "channels; add it there",
                             id, remotes->count, op->type == MSCCLPP_PORT ? "port" : "memory");
        }
        const struct mscclpp_remote *far = &op->gpu->remotes[remotes->values[id]];
        found.rank = far->rank;
        found.buffer = far->buffer;
    } else {
        const char *text = json_string_value(json_object_get(json, "type"));
        if (text == NULL || !mscclpp_buffer(&found.buffer, text)) {
            return weft_fail(error, WEFT_INPUT, "type: no buffer of its own; write i, o or s");
        }
    }
    struct mscclpp_gpu *owner = &op->reading->gpus[found.rank];
    if (!weft_json_u32(&found.index, json, "index", 0, MSCCLPP_CHUNKS_MAX, error) ||
        !weft_json_u32(&size, json, "size", 1, MSCCLPP_CHUNKS_MAX, error)) {
        return false;
    }
    static const char *const names[] = {"input", "output", "scratch"};
    if (found.index + size > owner->widths[found.buffer]) {
        return weft_fail(error, WEFT_INPUT, "index %u, size %u: gpu %u has %u chunks of %s",
                         found.index, size, found.rank, owner->widths[found.buffer],
                         names[found.buffer]);
    }
    bool packets = role == PACKETS || role == PACKETS_THERE;
    if (packets && (found.buffer != WEFT_BUFFER_SCRATCH || !op->reading->packets)) {
        return weft_fail(error, WEFT_INPUT,
                         op->reading->packets ? "packets lie in scratch alone; write type s"
                                              : "packets need \"protocol\": \"LL\", since scratch "
                                                "has no room for them otherwise");
    }
    owner->scratch_uses |= found.buffer != WEFT_BUFFER_SCRATCH ? 0 : packets ? 2 : 1;
    found.at = found.index * op->reading->slices;
    found.count = size * op->reading->slices;
    *chunk = found;
    return true;
}

// The part of a chunk that a thread block of a group takes.
static bool cut_slices(struct mscclpp_operation *op, struct mscclpp_chunk *chunks, uint32_t count)
{
    const json_t *group = json_object_get(op->json, "tbg_info");
    uint32_t size;
    uint32_t own;
    if (group == NULL) {
        return true;
    }
    if (!weft_json_u32(&size, group, "tbg_size", 1, op->reading->slices, op->reading->error) ||
        !weft_json_u32(&own, group, "tb_id", 0, size - 1, op->reading->error)) {
        return weft_wrap(op->reading->error, "tbg_info");
    }
    for (uint32_t i = 0; i < count; i++) {
        chunks[i].count /= size;
        chunks[i].at += own * chunks[i].count;
    }
    return true;
}

static bool read_chunks(struct mscclpp_chunk *chunks, uint32_t *count, const char *key,
                        const enum mscclpp_role roles[3], struct mscclpp_operation *op)
{
    struct weft_error *error = op->reading->error;
    const json_t *array;
    if (!weft_json_array(&array, op->json, key, error)) {
        return false;
    }
    size_t length = json_array_size(array);
    uint32_t least = roles[1] == PACKETS && key[0] == 'd' ? 2 : 1;
    size_t most = roles[2] != NONE ? MSCCLPP_REFS_MAX : roles[1] != NONE ? 2 : 1;
    if (length < least || length > most) {
        return weft_fail(error, WEFT_INPUT, "%s: %zu chunks, but it takes %u to %zu", key, length,
                         least, most);
    }
    for (uint32_t i = 0; i < length; i++) {
        if (!read_chunk(&chunks[i], roles[i < 2 ? i : 2], op, json_array_get(array, i))) {
            return weft_wrap(error, "%s[%u]", key, i);
        }
        if (chunks[i].count != chunks[0].count && op->shape->form != PAIRS) {
            return weft_fail(error, WEFT_INPUT, "%s[%u]: another size than %s[0]; make them equal",
                             key, i, key);
        }
    }
    *count = (uint32_t)length;
    return cut_slices(op, chunks, *count);
}

// What the executor would do in silence.
static bool check_chunks(struct mscclpp_operation *op)
{
    struct weft_error *error = op->reading->error;
    bool pairs = op->shape->form == PAIRS;
    bool gets = op->sources[0].role == THERE;
    bool remote = gets || op->shape->targets[0] >= THERE || op->shape->targets[2] >= THERE ||
                  op->shape->sources[1] >= THERE;
    if (remote && op->type == MSCCLPP_PORT && (gets || op->shape->form == SUM)) {
        return weft_fail(error, WEFT_INPUT,
                         "channel_type: it reaches peers by memory channels alone; write memory");
    }
    if (op->shape->signals && op->type == MSCCLPP_MEMORY) {
        return weft_fail(error, WEFT_INPUT,
                         "channel_type: over a memory channel it never signals; write put and "
                         "signal");
    }
    if (pairs && op->source_count != op->target_count) {
        return weft_fail(error, WEFT_INPUT, "src_buff has %u chunks and dst_buff %u; pair them",
                         op->source_count, op->target_count);
    }
    for (uint32_t i = 0; i < op->target_count; i++) {
        const struct mscclpp_chunk *from = &op->sources[pairs ? i : 0];
        if (from->count != op->targets[i].count) {
            return weft_fail(error, WEFT_INPUT, "dst_buff[%u]: another size than its source", i);
        }
        if (pairs && !gets && op->type == MSCCLPP_MEMORY && from->buffer != op->sources[0].buffer) {
            return weft_fail(error, WEFT_INPUT,
                             "src_buff[%u]: the executor takes the buffer of src_buff[0] for all; "
                             "write two operations",
                             i);
        }
        if (gets && from->index != op->targets[i].index) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "index: %u at the peer and %u here; executors differ on which of the "
                             "two is whose: make them equal",
                             from->index, op->targets[i].index);
        }
    }
    return true;
}

// ---- kinds of operations ----

// Adds the moves of one source, or a sum: where packets are, part by part, since each chunk of
// packets has its own writer.
static bool add_parts(struct mscclpp_operation *op, const struct mscclpp_chunk *from,
                      const struct mscclpp_chunk *to)
{
    const struct mscclpp_shape *shape = op->shape;
    bool packets = shape->sources[0] == PACKETS || shape->sources[1] == PACKETS ||
                   shape->targets[0] == PACKETS || shape->targets[0] == PACKETS_THERE;
    op->part_count = !packets ? 1 : from == NULL ? op->sources[0].count : from->count;
    for (op->part = 0; op->part < op->part_count; op->part++) {
        enum weft_block_op kind = from == NULL          ? WEFT_BLOCK_OP_COUNT
                                  : from->role == THERE ? WEFT_BLOCK_GET
                                  : to->role >= THERE   ? WEFT_BLOCK_PUT
                                                        : WEFT_BLOCK_COPY;
        if (!(from == NULL ? mscclpp_add_sum(op) : mscclpp_add_move(op, kind, from, to))) {
            return false;
        }
    }
    return true;
}

static bool add_moves(struct mscclpp_operation *op)
{
    for (uint32_t i = 0; i < op->target_count; i++) {
        const struct mscclpp_chunk *from = &op->sources[op->shape->form == SPREAD ? 0 : i];
        if (!add_parts(op, from, &op->targets[i])) {
            return false;
        }
        // Of pairs each is read for itself.
        op->parts_before += op->shape->form == SPREAD ? 0 : op->part_count;
    }
    return true;
}

static bool add_data(struct mscclpp_operation *op)
{
    const enum mscclpp_role sources[3] = {op->shape->sources[0], op->shape->sources[1],
                                          op->shape->sources[1]};
    // A port's packets are made already where they lie.
    bool raw = op->type == MSCCLPP_PORT && op->shape->form != SUM &&
               op->shape->targets[0] == PACKETS_THERE;
    const enum mscclpp_role packets[3] = {PACKETS, PACKETS, PACKETS};
    if (!read_chunks(op->sources, &op->source_count, "src_buff",
                     raw && op->shape->form == PAIRS ? packets : sources, op) ||
        !read_chunks(op->targets, &op->target_count, "dst_buff", op->shape->targets, op) ||
        !check_chunks(op)) {
        return false;
    }
    if (op->type == MSCCLPP_PORT && op->targets[0].role >= THERE) {
        return mscclpp_post_puts(op);
    }
    return op->shape->form == SUM ? add_parts(op, NULL, NULL) : add_moves(op);
}

static bool add_operation(struct mscclpp_operation *op)
{
    struct weft_error *error = op->reading->error;
    switch (op->shape->form) {
    case SYNC:
        return mscclpp_add_sync(op);
    case BARRIER:
        return mscclpp_add_barrier(op);
    case ACQUIRE:
    case RELEASE:
        return mscclpp_add_semaphores(op, op->shape->form == ACQUIRE);
    case SIGNALS:
    case WAITS:
    case FLUSH:
        if (!check_type(op)) {
            return false;
        }
        if (op->ids.count == 0) {
            return weft_fail(error, WEFT_INPUT, "channel_ids: missing or empty; name the channels");
        }
        if (op->shape->form == FLUSH && op->type != MSCCLPP_PORT) {
            return weft_fail(error, WEFT_INPUT, "channel_type: only a port is flushed; write port");
        }
        for (uint32_t i = 0; i < op->ids.count; i++) {
            if (!(op->shape->form == FLUSH
                      ? mscclpp_flush(op, i)
                      : mscclpp_signal_channel(op, i, op->shape->form == WAITS))) {
                return false;
            }
        }
        return true;
    case REFUSED:
        return weft_fail(error, WEFT_UNSUPPORTED,
                         strcmp(op->shape->name, "pipeline") == 0
                             ? "loops over parts of chunks are not modelled; write its operations "
                               "one by one"
                             : "sums inside a switch (multimem) are not modelled; use memory or "
                               "port channels");
    case MOVE:
    case PAIRS:
    case SPREAD:
    case SUM:
        break;
    }
    return add_data(op);
}

// ---- a thread block ----

static bool read_operation(struct mscclpp_operation *op)
{
    struct weft_error *error = op->reading->error;
    const char *name = json_string_value(json_object_get(op->json, "name"));
    if (name == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "name: missing or no text; write put, signal, wait, ...");
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        op->shape = strcmp(name, shapes[i].name) == 0 ? &shapes[i] : op->shape;
    }
    if (op->shape == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "name: '%.40s' is no operation of MSCCL++'s executor; those are in "
                         "docs/mscclpp.md",
                         name);
    }
    return (op->shape->form == REFUSED ||
            (mscclpp_channel(&op->type, op->json, "channel_type", error) &&
             mscclpp_numbers(&op->ids, op->json, "channel_ids", op->block->channels[op->type].count,
                             op->reading))) &&
                   add_operation(op)
               ? true
               : weft_wrap(error, "%s", name);
}

bool mscclpp_read_block(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu, uint32_t number,
                        const json_t *json)
{
    const json_t *ops;
    if (!weft_json_array(&ops, json, "ops", reading->error)) {
        return weft_wrap(reading->error, "gpu %u, thread block %u", gpu->rank, number);
    }
    for (uint32_t i = 0; i < json_array_size(ops); i++) {
        struct mscclpp_operation op = {.reading = reading,
                                       .gpu = gpu,
                                       .block = &gpu->blocks[number],
                                       .json = json_array_get(ops, i),
                                       .number = i};
        if (!read_operation(&op)) {
            return weft_wrap(reading->error, "gpu %u, thread block %u, op %u", gpu->rank, number,
                             i);
        }
    }
    return true;
}
