// SPDX-License-Identifier: Apache-2.0
// Execution plans of MSCCL++ in (JSON that its executor loads): docs/mscclpp.md.
//
// jansson parses. Of each gpu come first what other gpus name of it, its buffers and channels, and
// then its thread blocks, whose operations ops.c makes steps of. What the executor would ignore or
// do in silence is refused. Whether a plan computes its collective is weft_program_check's to
// prove. O(length).

#include "plan.h"
#include "weft/format.h"

#include <string.h>

#define RANKS_MAX 1024u
#define BLOCKS_MAX 1024u // of a gpu
#define CHANNELS_MAX 4096u
#define SLICES_MAX 1024u
#define WIDTH_MAX (1u << 20)             // slices of a buffer
#define REUSED_BYTES ((uint64_t)1 << 26) // of scratch, where resources are shared

// Adds numbers to a list, which is copied.
static void append(struct mscclpp_list *list, const struct mscclpp_list *more,
                   struct weft_arena *arena)
{
    uint32_t *values = WEFT_NEW_RAW(arena, uint32_t, (size_t)list->count + more->count);
    for (uint32_t i = 0; i < list->count + more->count; i++) {
        values[i] = i < list->count ? list->values[i] : more->values[i - list->count];
    }
    *list = (struct mscclpp_list){list->count + more->count, values};
}

// ---- a gpu ----

// Channels of a gpu to its peers, which two of them see by the same number: the first among the
// memory channels from one to the other is the other's first to it.
static bool read_channels(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu)
{
    struct weft_error *error = reading->error;
    const json_t *array;
    const json_t *json;
    size_t i;
    if (!weft_json_array(&array, gpu->json, "channels", error)) {
        return false;
    }
    json_array_foreach((json_t *)array, i, json)
    {
        enum mscclpp_channel type;
        struct mscclpp_list peers;
        if (!mscclpp_channel(&type, json, "channel_type", error) ||
            !mscclpp_numbers(&peers, json, "connected_to", reading->program.rank_count, reading)) {
            return weft_wrap(error, "channels[%zu]", i);
        }
        append(&gpu->peers[type], &peers, reading->arena);
    }
    for (uint32_t type = 0; type < MSCCLPP_CHANNELS; type++) {
        uint32_t *next = WEFT_NEW(reading->arena, uint32_t, reading->program.rank_count);
        const struct mscclpp_list *peers = &gpu->peers[type];
        if (peers->count > CHANNELS_MAX) {
            return weft_fail(error, WEFT_UNSUPPORTED, "channels: %u of one type, more than %u",
                             peers->count, CHANNELS_MAX);
        }
        gpu->channels[type] =
            (struct mscclpp_list){peers->count, WEFT_NEW(reading->arena, uint32_t, peers->count)};
        for (uint32_t c = 0; c < peers->count; c++) {
            if (peers->values[c] == gpu->rank) {
                return weft_fail(error, WEFT_INPUT, "channels: connected to the gpu itself");
            }
            gpu->channels[type].values[c] = 2 * next[peers->values[c]]++ + type;
        }
    }
    return true;
}

static bool read_remotes(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu)
{
    struct weft_error *error = reading->error;
    const json_t *array;
    if (!weft_json_array(&array, gpu->json, "remote_buffers", error)) {
        return false;
    }
    gpu->remote_count = (uint32_t)json_array_size(array);
    gpu->remotes = WEFT_NEW(reading->arena, struct mscclpp_remote, gpu->remote_count);
    for (uint32_t i = 0; i < gpu->remote_count; i++) {
        const json_t *json = json_array_get(array, i);
        struct mscclpp_remote *remote = &gpu->remotes[i];
        const char *text = json_string_value(json_object_get(json, "type"));
        if (!weft_json_u32(&remote->rank, json, "rank", 0, reading->program.rank_count - 1,
                           error)) {
            return weft_wrap(error, "remote_buffers[%u]", i);
        }
        if (text == NULL || !mscclpp_buffer(&remote->buffer, text) || remote->rank == gpu->rank) {
            return weft_fail(error, WEFT_INPUT,
                             remote->rank == gpu->rank
                                 ? "remote_buffers[%u]: rank: the gpu itself"
                                 : "remote_buffers[%u]: type: no buffer; write i, o or s",
                             i);
        }
    }
    return true;
}

// Blocks that begin at a value above 0 belong to pipelines.
static bool read_semaphores(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu)
{
    const json_t *array = json_object_get(gpu->json, "semaphores");
    gpu->semaphore_count = (uint32_t)json_array_size(array);
    for (uint32_t i = 0; i < gpu->semaphore_count; i++) {
        uint32_t value;
        if (!weft_json_u32(&value, json_array_get(array, i), "init_value", 0, UINT32_MAX - 1,
                           reading->error)) {
            return weft_wrap(reading->error, "semaphores[%u]", i);
        }
        if (value > 0) {
            return weft_fail(
                reading->error, WEFT_UNSUPPORTED,
                "semaphores[%u]: begins at %u; only those that begin at 0 are modelled", i, value);
        }
    }
    return true;
}

// What other gpus may name of this one.
static bool read_gpu(struct mscclpp_reading *reading, uint32_t rank, const json_t *json)
{
    static const char *const keys[] = {"input_chunks", "output_chunks", "scratch_chunks"};
    struct mscclpp_gpu *gpu = &reading->gpus[rank];
    struct weft_error *error = reading->error;
    const json_t *blocks;
    uint32_t id;
    *gpu = (struct mscclpp_gpu){.json = json, .rank = rank};
    if (json_object_get(json, "inputChunks") != NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "inputChunks: the form that plans of an older MSCCL++ had; make it anew");
    }
    if (!weft_json_u32(&id, json, "id", 0, RANKS_MAX, error) ||
        !weft_json_array(&blocks, json, "threadblocks", error)) {
        return false;
    }
    if (id != rank) {
        return weft_fail(error, WEFT_INPUT, "id: %u stands where %u is due; order them by id", id,
                         rank);
    }
    for (uint32_t b = 0; b < WEFT_BUFFER_COUNT; b++) {
        if (!weft_json_u32(&gpu->widths[b], json, keys[b], b == WEFT_BUFFER_SCRATCH ? 0 : 1,
                           MSCCLPP_CHUNKS_MAX, error)) {
            return false;
        }
    }
    gpu->block_count = (uint32_t)json_array_size(blocks);
    if (gpu->block_count > BLOCKS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED, "threadblocks: %u, more than %u",
                         gpu->block_count, BLOCKS_MAX);
    }
    return read_channels(reading, gpu) && read_remotes(reading, gpu) &&
           read_semaphores(reading, gpu);
}

// Channels and remote buffers that a thread block names, by which its operations count.
static bool read_names(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu,
                       struct mscclpp_block *block, const json_t *json)
{
    static const char *const keys[2][3] = {
        {"channels", "channel_type", "channel_ids"},
        {"remote_buffer_refs", "access_channel_type", "remote_buffer_ids"}};
    for (uint32_t k = 0; k < 2; k++) {
        size_t i;
        const json_t *row;
        json_array_foreach(json_object_get(json, keys[k][0]), i, row)
        {
            enum mscclpp_channel type;
            struct mscclpp_list list;
            if (!mscclpp_channel(&type, row, keys[k][1], reading->error) ||
                !mscclpp_numbers(&list, row, keys[k][2],
                                 k == 0 ? gpu->peers[type].count : gpu->remote_count, reading)) {
                return weft_wrap(reading->error, "%s[%zu]", keys[k][0], i);
            }
            append(k == 0 ? &block->channels[type] : &block->remotes[type], &list, reading->arena);
        }
    }
    return true;
}

static bool read_blocks(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu)
{
    const json_t *array = json_object_get(gpu->json, "threadblocks");
    uint32_t proxies = gpu->peers[MSCCLPP_PORT].count;
    gpu->blocks =
        WEFT_NEW(reading->arena, struct mscclpp_block, (size_t)gpu->block_count + proxies);
    for (uint32_t b = 0; b < gpu->block_count + proxies; b++) {
        gpu->blocks[b].number = b < gpu->block_count ? b : WEFT_NONE;
    }
    for (uint32_t b = 0; b < gpu->block_count; b++) {
        const json_t *json = json_array_get(array, b);
        uint32_t id;
        if (!weft_json_u32(&id, json, "id", 0, BLOCKS_MAX, reading->error) ||
            !read_names(reading, gpu, &gpu->blocks[b], json)) {
            return weft_wrap(reading->error, "gpu %u, threadblocks[%u]", gpu->rank, b);
        }
        if (id != b) {
            return weft_fail(reading->error, WEFT_INPUT,
                             "gpu %u, threadblocks[%u]: id: %u; number them from 0 in order",
                             gpu->rank, b, id);
        }
        if (!mscclpp_read_block(reading, gpu, b, json)) {
            return false;
        }
    }
    return true;
}

// ---- the document ----

// The fewest slices of a chunk in which the parts of all thread block groups are whole.
static bool find_slices(struct mscclpp_reading *reading, const json_t *gpus)
{
    size_t g;
    size_t b;
    size_t o;
    const json_t *gpu;
    const json_t *block;
    const json_t *op;
    json_array_foreach((json_t *)gpus, g, gpu)
    {
        json_array_foreach(json_object_get(gpu, "threadblocks"), b, block)
        {
            json_array_foreach(json_object_get(block, "ops"), o, op)
            {
                const json_t *group = json_object_get(op, "tbg_info");
                uint32_t size = 1;
                if (group != NULL &&
                    !weft_json_u32(&size, group, "tbg_size", 1, SLICES_MAX, reading->error)) {
                    return weft_wrap(reading->error, "gpu %zu, thread block %zu, op %zu: tbg_info",
                                     g, b, o);
                }
                uint32_t least = reading->slices;
                while (least % size != 0 && least <= SLICES_MAX) {
                    least += reading->slices;
                }
                reading->slices = least;
                if (least > SLICES_MAX) {
                    return weft_fail(reading->error, WEFT_UNSUPPORTED,
                                     "thread block groups cut chunks into more than %u slices",
                                     SLICES_MAX);
                }
            }
        }
    }
    return true;
}

// The number of chunks that all gpus agree on, and room for their buffers.
static bool check_widths(struct mscclpp_reading *reading)
{
    struct weft_program *program = &reading->program;
    bool gathers = program->kind == WEFT_COLLECTIVE_ALLGATHER;
    bool scatters = program->kind == WEFT_COLLECTIVE_REDUCE_SCATTER;
    uint32_t n = program->rank_count;
    uint32_t whole = reading->gpus[0].widths[gathers ? WEFT_BUFFER_OUTPUT : WEFT_BUFFER_INPUT];
    bool shared = gathers || scatters || program->kind == WEFT_COLLECTIVE_ALLTOALL;
    if (shared && whole % n != 0) {
        return weft_fail(reading->error, WEFT_INPUT,
                         "gpu 0: %s_chunks: %u is no multiple of the %u gpus",
                         gathers ? "output" : "input", whole, n);
    }
    uint32_t wanted[2] = {gathers ? whole / n : whole, scatters ? whole / n : whole};
    uint32_t *scratch_counts = WEFT_NEW(reading->arena, uint32_t, n);
    for (uint32_t rank = 0; rank < n; rank++) {
        const struct mscclpp_gpu *gpu = &reading->gpus[rank];
        for (uint32_t b = 0; b < 2; b++) {
            if (gpu->widths[b] != wanted[b]) {
                return weft_fail(reading->error, WEFT_INPUT,
                                 "gpu %u: %s_chunks: %u, where %s of %u gpus and %u chunks has %u",
                                 rank, b == 0 ? "input" : "output", gpu->widths[b],
                                 weft_collective_name(program->kind), n, whole, wanted[b]);
            }
        }
        if ((uint64_t)(whole + gpu->widths[WEFT_BUFFER_SCRATCH]) * reading->slices > WIDTH_MAX) {
            return weft_fail(reading->error, WEFT_UNSUPPORTED,
                             "gpu %u: more than %u slices of chunks in its buffers", rank,
                             WIDTH_MAX);
        }
        scratch_counts[rank] = gpu->widths[WEFT_BUFFER_SCRATCH] * reading->slices;
    }
    program->chunk_count = whole * reading->slices;
    program->scratch_counts = scratch_counts;
    return true;
}

// Scratch that plans share has a fixed size: what a message of the largest size needs must fit.
static bool check_reuse(struct mscclpp_reading *reading, bool reuses)
{
    const struct weft_program *program = &reading->program;
    for (uint32_t rank = 0; reuses && rank < program->rank_count; rank++) {
        uint64_t scratch = reading->gpus[rank].widths[WEFT_BUFFER_SCRATCH];
        uint64_t copies = (program->double_scratch ? 2u : 1u) * (reading->packets ? 2u : 1u);
        uint64_t chunk_bytes = scratch == 0 ? UINT64_MAX : REUSED_BYTES / copies / scratch;
        uint64_t chunks = program->chunk_count / reading->slices;
        if (program->size_max_bytes / chunks >= chunk_bytes) {
            return weft_fail(reading->error, WEFT_UNSUPPORTED,
                             "reuse_resources: gpu %u has %llu bytes for each chunk of scratch; "
                             "state a max_message_size below %llu",
                             rank, (unsigned long long)chunk_bytes,
                             (unsigned long long)(chunk_bytes * chunks));
        }
    }
    return true;
}

static bool read_size(uint64_t *value, const json_t *root, const char *key,
                      struct weft_error *error)
{
    const json_t *found = json_object_get(root, key);
    return found == NULL || (json_is_integer(found) && json_integer_value(found) == -1) ||
           weft_json_u64(value, root, key, error);
}

static bool read_truth(bool *value, const json_t *root, const char *key, struct weft_error *error)
{
    *value = false;
    return json_object_get(root, key) == NULL || weft_json_bool(value, root, key, error);
}

// What the plan says of itself; `root` is Weft's own and only read here.
static bool read_head(struct mscclpp_reading *reading, const json_t *root, struct weft_arena *arena)
{
    struct weft_program *program = &reading->program;
    struct weft_error *error = reading->error;
    const char *kind = NULL;
    *program = (struct weft_program){.one_sided = true, .size_max_bytes = UINT64_MAX};
    if (json_object_get(root, "colletive") != NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "colletive: the form that plans of an older MSCCL++ had; make it anew");
    }
    if (!weft_json_text(&program->name, root, "name", arena, error) ||
        !weft_json_text(&kind, root, "collective", arena, error) ||
        !weft_json_text(&program->protocol, root, "protocol", arena, error) ||
        !weft_json_bool(&program->in_place, root, "inplace", error) ||
        !read_truth(&program->double_scratch, root, "use_double_scratch_buffer", error) ||
        !read_size(&program->size_min_bytes, root, "min_message_size", error) ||
        !read_size(&program->size_max_bytes, root, "max_message_size", error)) {
        return false;
    }
    program->out_of_place = !program->in_place;
    program->kind = weft_collective_find(kind);
    if (program->kind == WEFT_COLLECTIVE_KIND_COUNT) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "collective: '%.40s' cannot be checked; allreduce, reducescatter, "
                         "allgather, broadcast, reduce and alltoall can",
                         kind);
    }
    reading->packets = strcmp(program->protocol, "LL") == 0;
    return reading->packets || strcmp(program->protocol, "Simple") == 0 ||
           weft_fail(error, WEFT_INPUT, "protocol: '%.40s' is none; write Simple or LL",
                     program->protocol);
}

static bool read_document(struct mscclpp_reading *reading, const json_t *root,
                          struct weft_arena *arena)
{
    struct weft_error *error = reading->error;
    const json_t *gpus;
    bool reuses;
    if (!read_head(reading, root, arena) || !weft_json_array(&gpus, root, "gpus", error) ||
        !read_truth(&reuses, root, "reuse_resources", error) || !find_slices(reading, gpus)) {
        return false;
    }
    size_t count = json_array_size(gpus);
    if (count < 2 || count > RANKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "gpus: %zu of them; a plan is for 2 to %u", count,
                         RANKS_MAX);
    }
    reading->program.rank_count = (uint32_t)count;
    if (json_object_get(root, "root") != NULL &&
        !weft_json_u32(&reading->program.root, root, "root", 0, (uint32_t)count - 1, error)) {
        return false;
    }
    reading->gpus = WEFT_NEW(reading->arena, struct mscclpp_gpu, count);
    for (uint32_t rank = 0; rank < count; rank++) {
        if (!read_gpu(reading, rank, json_array_get(gpus, rank))) {
            return weft_wrap(error, "gpu %u", rank);
        }
    }
    if (!check_widths(reading) || !check_reuse(reading, reuses)) {
        return false;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        if (!read_blocks(reading, &reading->gpus[rank])) {
            return false;
        }
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        if (reading->gpus[rank].scratch_uses == 3) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "gpu %u: its scratch holds packets and plain chunks, which lie over "
                             "each other; keep the plain ones elsewhere",
                             rank);
        }
    }
    return true;
}

// Moves the drafts to where programs have their steps.
static void publish(struct weft_program *program, const struct mscclpp_reading *reading,
                    struct weft_arena *arena)
{
    uint32_t n = reading->program.rank_count;
    uint32_t *scratch_counts = WEFT_NEW(arena, uint32_t, n);
    uint32_t *block_first = WEFT_NEW(arena, uint32_t, (size_t)n + 1);
    for (uint32_t rank = 0; rank < n; rank++) {
        const struct mscclpp_gpu *gpu = &reading->gpus[rank];
        scratch_counts[rank] = reading->program.scratch_counts[rank];
        block_first[rank + 1] =
            block_first[rank] + gpu->block_count + gpu->peers[MSCCLPP_PORT].count;
    }
    struct weft_block *blocks = WEFT_NEW(arena, struct weft_block, block_first[n]);
    struct weft_block_step *steps = WEFT_NEW(arena, struct weft_block_step, reading->step_count);
    uint32_t done = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        for (uint32_t b = 0; b < block_first[rank + 1] - block_first[rank]; b++) {
            const struct mscclpp_block *block = &reading->gpus[rank].blocks[b];
            blocks[block_first[rank] + b] =
                (struct weft_block){.number = block->number,
                                    .send_peer = WEFT_NONE,
                                    .receive_peer = WEFT_NONE,
                                    .first_step = done,
                                    .step_count = block->count,
                                    .loose = b < reading->gpus[rank].block_count};
            for (const struct mscclpp_draft *d = block->first; d != NULL; d = d->next) {
                steps[done++] = d->step;
            }
        }
    }
    *program = reading->program;
    program->channel_count = 1;
    program->scratch_counts = scratch_counts;
    program->block_first = block_first;
    program->blocks = blocks;
    program->step_count = reading->step_count;
    program->steps = steps;
}

// The largest number of 64 bits, which is what the DSL writes for no limit, is too large for
// jansson; -1 is the same to the executor.
static const char *spell_limits(const char *data, size_t length, struct weft_arena *arena)
{
    static const char largest[] = "18446744073709551615";
    size_t size = sizeof largest - 1;
    char *copy = weft_arena_text(arena, data, length);
    for (char *at = copy; (at = memmem(at, length - (size_t)(at - copy), largest, size)) != NULL;) {
        memcpy(at, "-1                  ", size);
        at += size;
    }
    return copy;
}

bool weft_mscclpp_read(struct weft_program *program, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    json_t *root;
    struct mscclpp_reading reading = {.slices = 1, .arena = &scratch, .error = error};
    data = spell_limits(data, length, &scratch);
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    bool fine = read_document(&reading, root, arena);
    json_decref(root);
    if (fine) {
        publish(program, &reading, arena);
    }
    return fine;
}

bool weft_program_load(struct weft_program *program, const char *path, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, &scratch, error)) {
        return false; // names the file
    }
    size_t blank = strspn(data, " \t\r\n");
    if (blank < length && data[blank] == '{') {
        return weft_mscclpp_read(program, data, length, arena, scratch, error) ||
               weft_file_mistaken(error, path, WEFT_FILE_MSCCLPP);
    }
    return weft_msccl_read(program, data, length, arena, scratch, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_MSCCL);
}
