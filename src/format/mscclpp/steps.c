// SPDX-License-Identifier: Apache-2.0
// The steps that operations of MSCCL++ become, and the values that stand in its files. Sums become
// a copy of one addend and reductions of the others; what goes through a port is posted to its
// proxy, which has steps of its own; packets are waited for chunk by chunk. O(chunks of the
// operation).

#include "plan.h"

#include <string.h>

#define STEPS_MAX (1u << 22)

// ---- values ----

bool mscclpp_buffer(enum weft_block_buffer *buffer, const char *text)
{
    static const char letters[] = "ios";
    const char *found = text[0] != '\0' && text[1] == '\0' ? strchr(letters, text[0]) : NULL;
    if (found != NULL) {
        *buffer = (enum weft_block_buffer)(found - letters);
    }
    return found != NULL;
}

bool mscclpp_channel(enum mscclpp_channel *channel, const json_t *object, const char *key,
                     struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    const char *text = json_string_value(found);
    *channel = text != NULL && strcmp(text, "port") == 0 ? MSCCLPP_PORT : MSCCLPP_MEMORY;
    if (text != NULL && strcmp(text, "switch") == 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%s: sums inside a switch (multimem) are not modelled; use memory or port",
                         key);
    }
    return found == NULL ||
           (text != NULL && (strcmp(text, "memory") == 0 || strcmp(text, "port") == 0)) ||
           weft_fail(error, WEFT_INPUT, "%s: no type of channel; write memory or port", key);
}

bool mscclpp_numbers(struct mscclpp_list *list, const json_t *object, const char *key,
                     uint32_t limit, struct mscclpp_reading *reading)
{
    const json_t *array = json_object_get(object, key);
    list->count = (uint32_t)json_array_size(array);
    list->values = WEFT_NEW(reading->arena, uint32_t, list->count);
    if (array != NULL && !json_is_array(array)) {
        return weft_fail(reading->error, WEFT_INPUT, "%s: no list; write numbers in [ ]", key);
    }
    return list->count == 0 || weft_json_indices(list->values, array, limit, reading->error) ||
           weft_wrap(reading->error, "%s", key);
}

// ---- steps ----

static bool add_step(struct mscclpp_operation *op, struct mscclpp_block *block,
                     struct weft_block_step step)
{
    struct mscclpp_reading *reading = op->reading;
    if (++reading->step_count > STEPS_MAX) {
        return weft_fail(reading->error, WEFT_UNSUPPORTED,
                         "more than %u steps; use fewer chunks or operations", STEPS_MAX);
    }
    struct mscclpp_draft *draft = WEFT_NEW(reading->arena, struct mscclpp_draft, 1);
    draft->step = step;
    draft->step.number = op->number;
    draft->step.wait_block = WEFT_NONE; // see wait_for
    if (block->last == NULL) {
        block->first = draft;
    } else {
        block->last->next = draft;
    }
    block->last = draft;
    block->count++;
    return true;
}

static void wait_for(struct mscclpp_block *waiting, uint32_t block, uint32_t step)
{
    waiting->last->step.wait_block = block;
    waiting->last->step.wait_step = step;
}

bool mscclpp_add_sync(struct mscclpp_operation *op)
{
    return add_step(op, op->block, (struct weft_block_step){.op = WEFT_BLOCK_SYNC});
}

// Posts a step to the proxy of a port, by one thread of the block.
static bool post(struct mscclpp_operation *op, uint32_t thread, struct weft_block_step step)
{
    struct mscclpp_block *block = op->block;
    uint32_t id = op->block->channels[op->type].values[op->ids.values[thread]];
    struct mscclpp_block *proxy = &op->gpu->blocks[op->gpu->block_count + id];
    if (proxy->number != WEFT_NONE && proxy->number != block->number) {
        return weft_fail(op->reading->error, WEFT_UNSUPPORTED,
                         "port channel %u is thread block %u's, too; which of them comes first is "
                         "not modelled: give each a channel of its own",
                         id, proxy->number);
    }
    proxy->number = block->number;
    if (!add_step(
            op, block,
            (struct weft_block_step){.op = WEFT_BLOCK_WAIT, .thread = thread, .signals = true}) ||
        !add_step(op, proxy, step)) {
        return false;
    }
    wait_for(proxy, block->number, block->count - 1);
    return true;
}

bool mscclpp_flush(struct mscclpp_operation *op, uint32_t thread)
{
    uint32_t proxy =
        op->gpu->block_count + op->block->channels[op->type].values[op->ids.values[thread]];
    struct mscclpp_block *posted = &op->gpu->blocks[proxy];
    if (!add_step(op, op->block,
                  (struct weft_block_step){.op = WEFT_BLOCK_WAIT, .thread = thread})) {
        return false;
    }
    if (posted->count > 0) {
        posted->last->step.signals = true;
        wait_for(op->block, proxy, posted->count - 1);
    }
    return true;
}

// A signal or a wait on one of the operation's channels. A wait is the block's own, whatever the
// channel; a port's signal is its proxy's, and never relaxed.
bool mscclpp_signal_channel(struct mscclpp_operation *op, uint32_t thread, bool waits)
{
    uint32_t id = op->block->channels[op->type].values[op->ids.values[thread]];
    struct weft_block_step step = {
        .op = waits ? WEFT_BLOCK_AWAIT : WEFT_BLOCK_SIGNAL,
        .peer = op->gpu->peers[op->type].values[id],
        .channel = op->gpu->channels[op->type].values[id],
        .thread = thread,
        .relaxed = op->shape->relaxed && op->type == MSCCLPP_MEMORY,
    };
    return op->type == MSCCLPP_PORT && !waits ? post(op, thread, step)
                                              : add_step(op, op->block, step);
}

// Moves the part in hand of chunks.
bool mscclpp_add_move(struct mscclpp_operation *op, enum weft_block_op kind,
                      const struct mscclpp_chunk *from, const struct mscclpp_chunk *to)
{
    uint32_t count = from->count / op->part_count;
    struct weft_block_step step = {
        .op = kind,
        .from_buffer = from->buffer,
        .to_buffer = to->buffer,
        .from = from->at + op->part * count,
        .to = to->at + op->part * count,
        .count = count,
        .peer = from->role == THERE ? from->rank : to->rank,
        .thread = op->parts_before + op->part,
        .reads_packets = from->role == PACKETS,
        .writes_packets = to->role == PACKETS || to->role == PACKETS_THERE,
    };
    return add_step(op, op->block, step);
}

static bool is_same(const struct mscclpp_chunk *a, const struct mscclpp_chunk *b)
{
    return a->rank == b->rank && a->buffer == b->buffer && a->at == b->at && a->role != PACKETS;
}

// The first target becomes one of the addends, where it is none of them already, and the others
// are added to it; then it goes to all other targets.
bool mscclpp_add_sum(struct mscclpp_operation *op)
{
    const struct mscclpp_chunk *sum = &op->targets[0];
    uint32_t base = 0;
    for (uint32_t i = 0; i < op->source_count; i++) {
        base = is_same(&op->sources[i], sum) ? i : base;
    }
    if (!is_same(&op->sources[base], sum) &&
        !mscclpp_add_move(op, WEFT_BLOCK_COPY, &op->sources[base], sum)) {
        return false;
    }
    for (uint32_t i = 0; i < op->source_count; i++) {
        enum weft_block_op kind =
            op->sources[i].role == THERE ? WEFT_BLOCK_GET_REDUCE : WEFT_BLOCK_REDUCE;
        if (i != base && !mscclpp_add_move(op, kind, &op->sources[i], sum)) {
            return false;
        }
    }
    for (uint32_t i = 1; i < op->target_count; i++) {
        enum weft_block_op kind = op->targets[i].role == PACKETS ? WEFT_BLOCK_COPY : WEFT_BLOCK_PUT;
        if (!mscclpp_add_move(op, kind, sum, &op->targets[i])) {
            return false;
        }
    }
    return true;
}

// ---- through a port ----

static struct weft_block_step posted_put(const struct mscclpp_chunk *from,
                                         const struct mscclpp_chunk *to)
{
    return (struct weft_block_step){
        .op = WEFT_BLOCK_PUT,
        .from_buffer = from->buffer,
        .to_buffer = to->buffer,
        .from = from->at,
        .to = to->at,
        .count = from->count,
        .peer = to->rank,
        .writes_packets = to->role == PACKETS_THERE,
    };
}

// Every pair by the thread and the channel of its number.
bool mscclpp_post_puts(struct mscclpp_operation *op)
{
    struct weft_error *error = op->reading->error;
    bool spreads = op->shape->form == SPREAD;
    if (op->ids.count != op->target_count) {
        return weft_fail(error, WEFT_INPUT, "channel_ids: %u for %u targets; name one for each",
                         op->ids.count, op->target_count);
    }
    // The executor reads all packets before it posts any.
    for (uint32_t i = 0; spreads && i < op->sources[0].count; i++) {
        struct weft_block_step step = {.op = WEFT_BLOCK_WAIT,
                                       .from_buffer = WEFT_BUFFER_SCRATCH,
                                       .from = op->sources[0].at + i,
                                       .count = 1,
                                       .reads_packets = true};
        if (!add_step(op, op->block, step)) {
            return false;
        }
    }
    if (spreads && !mscclpp_add_sync(op)) {
        return false;
    }
    for (uint32_t i = 0; i < op->target_count; i++) {
        const struct mscclpp_chunk *to = &op->targets[i];
        uint32_t id = op->block->channels[op->type].values[op->ids.values[i]];
        if (op->gpu->peers[MSCCLPP_PORT].values[id] != to->rank) {
            return weft_fail(error, WEFT_INPUT,
                             "dst_buff[%u]: of gpu %u, but its channel leads to gpu %u; name "
                             "another channel",
                             i, to->rank, op->gpu->peers[MSCCLPP_PORT].values[id]);
        }
        if (!post(op, i, posted_put(&op->sources[spreads ? 0 : i], to)) ||
            (op->shape->signals && !mscclpp_signal_channel(op, i, false)) ||
            (op->shape->flushes && !mscclpp_flush(op, i))) {
            return false;
        }
    }
    return true;
}

// ---- inside a gpu ----

bool mscclpp_add_semaphores(struct mscclpp_operation *op, bool acquires)
{
    struct mscclpp_list ids;
    if (!mscclpp_numbers(&ids, op->json, "semaphore_ids", op->gpu->semaphore_count, op->reading)) {
        return false;
    }
    for (uint32_t i = 0; i < ids.count; i++) {
        struct weft_block_step step = {.op = acquires ? WEFT_BLOCK_AWAIT : WEFT_BLOCK_SIGNAL,
                                       .peer = op->gpu->rank,
                                       .channel = WEFT_CHANNEL_SEMAPHORE + ids.values[i],
                                       .thread = i};
        if (!add_step(op, op->block, step)) {
            return false;
        }
    }
    return true;
}

static bool uses_barrier(const json_t *ops, uint32_t id)
{
    size_t i;
    const json_t *json;
    json_array_foreach((json_t *)ops, i, json)
    {
        const char *name = json_string_value(json_object_get(json, "name"));
        const json_t *own = json_object_get(json, "barrier_id");
        if (name != NULL && strcmp(name, "barrier") == 0 && json_is_integer(own) &&
            json_integer_value(own) == (json_int_t)id) {
            return true;
        }
    }
    return false;
}

// A signal to each other thread block of the barrier and a wait for each, between two meetings of
// its own threads.
bool mscclpp_add_barrier(struct mscclpp_operation *op)
{
    struct weft_error *error = op->reading->error;
    const json_t *blocks = json_object_get(op->gpu->json, "threadblocks");
    uint32_t id;
    uint32_t wanted;
    uint32_t found = 1;
    if (!weft_json_u32(&id, op->json, "barrier_id", 0, 63, error) ||
        !weft_json_u32(&wanted, op->json, "num_threadblocks", 1, UINT32_MAX - 1, error) ||
        !mscclpp_add_sync(op)) {
        return false;
    }
    uint32_t base = WEFT_CHANNEL_BARRIER + id * op->gpu->block_count * op->gpu->block_count;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t b = 0; b < op->gpu->block_count; b++) {
            const json_t *ops = json_object_get(json_array_get(blocks, b), "ops");
            if (b == op->block->number || !uses_barrier(ops, id)) {
                continue;
            }
            uint32_t from = pass == 0 ? op->block->number : b;
            uint32_t to = pass == 0 ? b : op->block->number;
            struct weft_block_step step = {.op = pass == 0 ? WEFT_BLOCK_SIGNAL : WEFT_BLOCK_AWAIT,
                                           .peer = op->gpu->rank,
                                           .channel = base + from * op->gpu->block_count + to};
            found += pass;
            if (!add_step(op, op->block, step)) {
                return false;
            }
        }
    }
    return found == wanted ? mscclpp_add_sync(op)
                           : weft_fail(error, WEFT_INPUT,
                                       "num_threadblocks: %u, but %u have barrier %u, which would "
                                       "never open; write %u",
                                       wanted, found, id, found);
}
