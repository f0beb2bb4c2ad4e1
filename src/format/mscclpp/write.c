// SPDX-License-Identifier: Apache-2.0
// Programs out as execution plans of MSCCL++ (JSON): docs/mscclpp.md.
//
// A program's blocks send and receive; a plan writes into the memory of its peers. So every message
// gets a place of its own in the receiver's scratch: the sender puts it there and signals, the
// receiver waits and copies or adds. No place is used twice in a call, and no sender begins before
// its receiver has, so that no credit has to go back. A step that waits for another block's
// acquires a semaphore of the two. Blocks are cut into parts of as many messages as the executor's
// 64 operations allow, each with channels of its own. O(steps).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <string.h>

// Of a part: a message takes five operations at most (sem_acquire, nop, put, nop, signal and, like
// others, a release), or seven over a port, which is flushed; the executor takes 64 of a thread
// block (MAX_OPERATION), of which the ends have the rest.
enum { MESSAGES_OF_MEMORY = 10, MESSAGES_OF_PORT = 8 };
#define SEMAPHORES_OF_OP 16u // MAX_DEVICE_SEMAPHORES

struct link { // of a semaphore to a step
    uint32_t semaphore;
    struct link *next;
};

struct part {
    uint32_t rank;
    uint32_t number; // of the thread block
    uint32_t first;  // steps
    uint32_t end;
    uint32_t channel; // of its rank's; WEFT_NONE
    uint32_t peer;
    bool sends;
    bool follows; // the part before it is of the same block
};

struct writing {
    const struct weft_program *program;
    struct weft_text *text;
    struct weft_arena *arena;
    bool packets;
    bool ports;
    uint32_t part_count;
    struct part *parts;     // by rank
    uint32_t *part_of;      // of a step
    uint32_t *part_first;   // of a block
    uint32_t *landing;      // of a step that sends or receives: the chunk of the receiver's scratch
    struct link **acquires; // of a step
    struct link **releases; // likewise
    uint32_t *semaphores;   // of a rank
    uint32_t *channel_count; // of a rank
    uint32_t *scratch;       // of a rank, with all that lands
    uint32_t op_count;       // of the part in hand
    bool dirty;              // threads of it may still be behind its last operation
    uint32_t *remotes;       // of the gpu in hand: its number of each peer's scratch; WEFT_NONE
    uint32_t remote_count;
    struct weft_mscclpp_size size;
};

// ---- parts ----

static bool moves(const struct weft_block_step *step)
{
    return step->op != WEFT_BLOCK_WAIT;
}

static void cut_blocks(struct writing *writing)
{
    const struct weft_program *program = writing->program;
    uint32_t most = writing->ports ? MESSAGES_OF_PORT : MESSAGES_OF_MEMORY;
    writing->parts = WEFT_NEW(writing->arena, struct part, program->step_count);
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        uint32_t number = 0;
        for (uint32_t b = program->block_first[rank]; b < program->block_first[rank + 1]; b++) {
            const struct weft_block *block = &program->blocks[b];
            uint32_t messages = most;
            writing->part_first[b] = writing->part_count;
            for (uint32_t s = block->first_step; s < block->first_step + block->step_count; s++) {
                if (messages == most) {
                    bool sends = block->send_peer != WEFT_NONE;
                    writing->parts[writing->part_count++] = (struct part){
                        .rank = rank,
                        .number = number++,
                        .first = s,
                        .channel = WEFT_NONE,
                        .peer = sends ? block->send_peer : block->receive_peer,
                        .sends = sends,
                        .follows = s > block->first_step,
                    };
                    messages = 0;
                }
                messages += moves(&program->steps[s]) ? 1 : 0;
                writing->part_of[s] = writing->part_count - 1;
                writing->parts[writing->part_count - 1].end = s + 1;
            }
        }
        writing->size.block_max =
            number > writing->size.block_max ? number : writing->size.block_max;
    }
}

// Both ends of a connection, step by step: where messages land, and by which channel.
static void connect(struct writing *writing, const struct weft_block *from,
                    const struct weft_block *to)
{
    const struct weft_program *program = writing->program;
    uint32_t in = to->first_step;
    for (uint32_t out = from->first_step; out < from->first_step + from->step_count; out++) {
        if (!moves(&program->steps[out])) {
            continue;
        }
        while (!moves(&program->steps[in])) {
            in++;
        }
        struct part *sender = &writing->parts[writing->part_of[out]];
        struct part *receiver = &writing->parts[writing->part_of[in]];
        if (sender->channel == WEFT_NONE) {
            sender->channel = writing->channel_count[sender->rank]++;
            receiver->channel = writing->channel_count[receiver->rank]++;
        }
        writing->landing[in] = writing->landing[out] = writing->scratch[receiver->rank];
        writing->scratch[receiver->rank] += program->steps[in].count;
        in++;
    }
}

static void connect_all(struct writing *writing)
{
    const struct weft_program *program = writing->program;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        writing->scratch[rank] = program->scratch_counts[rank];
    }
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        for (uint32_t b = program->block_first[rank]; b < program->block_first[rank + 1]; b++) {
            uint32_t peer = program->blocks[b].send_peer;
            uint32_t end = peer == WEFT_NONE ? 0 : program->block_first[peer + 1];
            for (uint32_t o = peer == WEFT_NONE ? 0 : program->block_first[peer]; o < end; o++) {
                if (program->blocks[o].receive_peer == rank &&
                    program->blocks[o].channel == program->blocks[b].channel) {
                    connect(writing, &program->blocks[b], &program->blocks[o]);
                }
            }
        }
    }
}

// ---- semaphores ----

static void add_link(struct link **list, uint32_t semaphore, struct writing *writing)
{
    struct link *link = WEFT_NEW(writing->arena, struct link, 1);
    *link = (struct link){semaphore, *list};
    *list = link;
}

// What is waited for in a gpu.
struct waits {
    uint32_t first; // part
    uint32_t count;
    uint32_t block_first;
    uint32_t block_count;
    uint32_t *semaphores; // of two parts, and 1; 0: none yet
    uint32_t *past;       // of two blocks: steps of the second that the first has waited for
};

// Step s waits for another of its gpu, unless its block has done so already.
static void wait_for(struct writing *writing, struct waits *waits, uint32_t s, uint32_t wanted,
                     uint32_t blocks)
{
    const struct part *own = &writing->parts[writing->part_of[s]];
    uint32_t pair = (writing->part_of[s] - waits->first) * waits->count + writing->part_of[wanted] -
                    waits->first;
    if (wanted < waits->past[blocks]) {
        return;
    }
    waits->past[blocks] = wanted + 1;
    if (waits->semaphores[pair] == 0) {
        waits->semaphores[pair] = ++writing->semaphores[own->rank];
    }
    add_link(&writing->acquires[s], waits->semaphores[pair] - 1, writing);
    add_link(&writing->releases[wanted], waits->semaphores[pair] - 1, writing);
}

// The semaphores of a gpu: one for each pair of parts of which one waits for the other, whose k-th
// acquire is for its k-th release.
static void link_rank(struct writing *writing, uint32_t rank, struct weft_arena scratch)
{
    const struct weft_program *program = writing->program;
    uint32_t first = program->block_first[rank];
    uint32_t end = program->block_first[rank + 1];
    struct waits waits = {.block_first = first, .block_count = end - first};
    waits.first = first < end ? writing->part_first[first] : 0;
    while (waits.first + waits.count < writing->part_count &&
           writing->parts[waits.first + waits.count].rank == rank) {
        waits.count++;
    }
    waits.semaphores = WEFT_NEW(&scratch, uint32_t, (size_t)waits.count * waits.count);
    waits.past = WEFT_NEW(&scratch, uint32_t, (size_t)waits.block_count * waits.block_count);
    for (uint32_t b = first; b < end; b++) {
        const struct weft_block *block = &program->blocks[b];
        for (uint32_t s = block->first_step; s < block->first_step + block->step_count; s++) {
            uint32_t other = program->steps[s].wait_block;
            const struct part *part = &writing->parts[writing->part_of[s]];
            if (other != WEFT_NONE) {
                wait_for(writing, &waits, s,
                         program->blocks[first + other].first_step + program->steps[s].wait_step,
                         (b - first) * waits.block_count + other);
            }
            if (part->follows && s == part->first) {
                wait_for(writing, &waits, s, s - 1, (b - first) * (waits.block_count + 1));
            }
        }
    }
}

// ---- operations ----

static void begin_op(struct writing *writing, const char *name)
{
    weft_text_add(writing->text, "%s\n            {\"name\": \"%s\"",
                  writing->op_count > 0 ? "," : "", name);
    writing->op_count++;
}

static void add_sync(struct writing *writing)
{
    if (writing->dirty) {
        begin_op(writing, "nop");
        weft_text_add(writing->text, "}");
    }
    writing->dirty = false;
}

// An operation on the channel of the part. Whoever waits is behind by one thread.
static void add_signal(struct writing *writing, const char *name)
{
    begin_op(writing, name);
    weft_text_add(writing->text, ", \"channel_ids\": [0], \"channel_type\": \"%s\"}",
                  writing->ports ? "port" : "memory");
}

// As many to an operation as the executor takes.
static void add_semaphores(struct writing *writing, const char *name, const struct link *links)
{
    uint32_t count = 0;
    for (const struct link *link = links; link != NULL; link = link->next, count++) {
        bool first = count % SEMAPHORES_OF_OP == 0;
        if (first) {
            weft_text_add(writing->text, count > 0 ? "]}" : "");
            begin_op(writing, name);
        }
        weft_text_add(writing->text, "%s%u", first ? ", \"semaphore_ids\": [" : ", ",
                      link->semaphore);
    }
    weft_text_add(writing->text, "]}");
}

// {"type": "i", "index": 0, "size": 1}, ...; `letter` 0: of the peer.
static void add_chunk(struct writing *writing, const char *before, char letter, uint32_t index,
                      uint32_t count)
{
    if (letter == 0) {
        weft_text_add(writing->text, "%s{\"buffer_id\": 0, \"index\": %u, \"size\": %u}", before,
                      index, count);
    } else {
        weft_text_add(writing->text, "%s{\"type\": \"%c\", \"index\": %u, \"size\": %u}", before,
                      letter, index, count);
    }
}

#define SOURCES ", \"src_buff\": ["
#define TARGETS "], \"dst_buff\": ["

// The data of a step, which its thread block is ready for.
static void add_data(struct writing *writing, uint32_t s)
{
    static const char letters[] = "ios";
    const struct weft_block_step *step = &writing->program->steps[s];
    char from = letters[step->from_buffer];
    char to = letters[step->to_buffer];
    bool packets = writing->packets;
    uint32_t landing = writing->landing[s];
    bool receives = weft_block_op_receives(step->op);
    bool sends = step->op == WEFT_BLOCK_SEND;
    bool adds = step->op == WEFT_BLOCK_RECEIVE_REDUCE_COPY || step->op == WEFT_BLOCK_REDUCE;
    // weft_program_build makes no others.
    WEFT_ASSERT(sends || adds || step->op == WEFT_BLOCK_RECEIVE || step->op == WEFT_BLOCK_COPY);
    begin_op(writing, sends      ? (packets ? "ppkt" : "put")
                      : adds     ? (receives && packets ? "repkt" : "re")
                      : receives ? (packets ? "upkt" : "copy")
                                 : "copy");
    add_chunk(writing, SOURCES,
              adds && !receives   ? to
              : receives && !adds ? 's'
                                  : from,
              adds && !receives   ? step->to
              : receives && !adds ? landing
                                  : step->from,
              step->count);
    if (adds) {
        add_chunk(writing, ", ", receives ? 's' : from, receives ? landing : step->from,
                  step->count);
    }
    add_chunk(writing, TARGETS, sends ? 0 : to, sends ? landing : step->to, step->count);
    weft_text_add(writing->text, "]");
    if (sends) {
        weft_text_add(writing->text, ", \"channel_ids\": [0], \"channel_type\": \"%s\"",
                      writing->ports ? "port" : "memory");
    }
    weft_text_add(writing->text, adds ? ", \"reduce_op\": \"sum\"}" : "}");
    writing->dirty = true;
}

static void add_step(struct writing *writing, uint32_t s, struct link **pending)
{
    const struct weft_block_step *step = &writing->program->steps[s];
    for (const struct link *link = writing->acquires[s]; link != NULL; link = link->next) {
        add_link(pending, link->semaphore, writing);
    }
    if (!moves(step)) {
        return;
    }
    if (*pending != NULL) {
        add_semaphores(writing, "sem_acquire", *pending);
        writing->dirty = true;
        *pending = NULL;
    }
    bool sends = step->op == WEFT_BLOCK_SEND;
    if (weft_block_op_receives(step->op) && !writing->packets) {
        add_signal(writing, "wait");
        writing->dirty = true;
    }
    add_sync(writing);
    add_data(writing, s);
    if (sends && !writing->packets) {
        if (!writing->ports) {
            add_sync(writing);
        }
        add_signal(writing, "signal");
    }
    if (writing->releases[s] != NULL) {
        if (sends && writing->ports) {
            add_signal(writing, "flush");
        }
        add_sync(writing);
        add_semaphores(writing, "sem_release", writing->releases[s]);
    }
}

static void add_part(struct writing *writing, const struct part *part)
{
    struct weft_text *text = writing->text;
    struct link *pending = NULL;
    bool joined = part->channel != WEFT_NONE;
    writing->op_count = 0;
    writing->dirty = false;
    weft_text_add(text, "%s\n        {\"id\": %u, \"ops\": [", part->number > 0 ? "," : "",
                  part->number);
    if (joined) {
        add_signal(writing, part->sends ? "rlxwait" : "rlxsignal");
        writing->dirty = part->sends;
    }
    for (uint32_t s = part->first; s < part->end; s++) {
        add_step(writing, s, &pending);
    }
    WEFT_ASSERT(pending == NULL); // no part ends waiting
    if (joined && part->sends && writing->ports) {
        add_signal(writing, "flush");
    }
    const char *type = writing->ports ? "port" : "memory";
    weft_text_add(text, "\n          ], \"channels\": [");
    if (joined) {
        weft_text_add(text, "{\"channel_type\": \"%s\", \"channel_ids\": [%u]}", type,
                      part->channel);
    }
    weft_text_add(text, "], \"remote_buffer_refs\": [");
    if (joined && part->sends) {
        uint32_t *remote = &writing->remotes[part->peer];
        *remote = *remote == WEFT_NONE ? writing->remote_count++ : *remote;
        weft_text_add(text, "{\"access_channel_type\": \"%s\", \"remote_buffer_ids\": [%u]}", type,
                      *remote);
    }
    weft_text_add(text, "]}");
    writing->size.op_max =
        writing->op_count > writing->size.op_max ? writing->op_count : writing->size.op_max;
}

// ---- gpus ----

// The lists of a gpu that its thread blocks name, by number.
static void add_lists(struct writing *writing, const struct part *parts, uint32_t count,
                      struct weft_arena scratch)
{
    uint32_t rank_count = writing->program->rank_count;
    uint32_t rank = count > 0 ? parts[0].rank : 0;
    uint32_t channels = count > 0 ? writing->channel_count[rank] : 0;
    uint32_t *peers = WEFT_NEW(&scratch, uint32_t, channels);
    uint32_t *owners = WEFT_NEW(&scratch, uint32_t, rank_count);
    struct weft_text *text = writing->text;
    const char *type = writing->ports ? "port" : "memory";
    for (uint32_t p = 0; p < count; p++) {
        if (parts[p].channel != WEFT_NONE) {
            peers[parts[p].channel] = parts[p].peer;
        }
    }
    for (uint32_t peer = 0; peer < rank_count; peer++) {
        if (writing->remotes[peer] != WEFT_NONE) {
            owners[writing->remotes[peer]] = peer;
        }
    }
    weft_text_add(
        text,
        "\n      ],\n      \"channels\": [{\"channel_type\": \"%s\", \"connected_to\": ", type);
    weft_json_add_indices(text, peers, channels);
    weft_text_add(text, "}],\n      \"remote_buffers\": [");
    for (uint32_t r = 0; r < writing->remote_count; r++) {
        weft_text_add(text,
                      "%s\n        {\"rank\": %u, \"type\": \"s\", \"access_channel_types\": "
                      "[\"%s\"]}",
                      r > 0 ? "," : "", owners[r], type);
    }
    weft_text_add(text, "\n      ],\n      \"semaphores\": [");
    for (uint32_t i = 0; count > 0 && i < writing->semaphores[rank]; i++) {
        weft_text_add(text, "%s{\"init_value\": 0}", i > 0 ? ", " : "");
    }
    weft_text_add(text, "]}");
}

static void add_gpu(struct writing *writing, uint32_t rank, uint32_t *part,
                    struct weft_arena scratch)
{
    const struct weft_program *program = writing->program;
    uint32_t first = *part;
    weft_text_add(writing->text,
                  "%s\n    {\"id\": %u, \"input_chunks\": %u, \"output_chunks\": %u, "
                  "\"scratch_chunks\": %u,\n      \"threadblocks\": [",
                  rank > 0 ? "," : "", rank, weft_program_width(program, WEFT_BUFFER_INPUT, rank),
                  weft_program_width(program, WEFT_BUFFER_OUTPUT, rank), writing->scratch[rank]);
    writing->remote_count = 0;
    memset(writing->remotes, 0xff, program->rank_count * sizeof *writing->remotes);
    while (*part < writing->part_count && writing->parts[*part].rank == rank) {
        add_part(writing, &writing->parts[(*part)++]);
    }
    add_lists(writing, writing->parts + first, *part - first, scratch);
}

static void add_plan(struct writing *writing, struct weft_arena scratch)
{
    const struct weft_program *program = writing->program;
    struct weft_text *text = writing->text;
    static const char *const kinds[WEFT_COLLECTIVE_KIND_COUNT] = {
        "allreduce", "reducescatter", "allgather", "broadcast", "reduce", "alltoall"};
    weft_text_add(text, "{\n  ");
    weft_json_field_text(text, "name", program->name, ",\n  ");
    weft_json_field_text(text, "collective", kinds[program->kind], ",\n  ");
    weft_json_field_text(text, "protocol", program->protocol, ",\n  ");
    weft_text_add(text,
                  "\"inplace\": %s,\n  \"reuse_resources\": false,\n"
                  "  \"num_threads_per_block\": 1024,\n  \"use_double_scratch_buffer\": false,\n"
                  "  \"buffer_alignment\": 16,\n",
                  program->out_of_place ? "false" : "true");
    weft_text_add(text, "  \"min_message_size\": %llu,\n  \"max_message_size\": %llu,\n",
                  (unsigned long long)program->size_min_bytes,
                  (unsigned long long)program->size_max_bytes);
    if (program->root > 0) {
        weft_text_add(text, "  \"root\": %u,\n", program->root);
    }
    weft_text_add(text, "  \"gpus\": [");
    uint32_t part = 0;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        add_gpu(writing, rank, &part, scratch);
    }
    weft_text_add(text, "\n  ]\n}\n");
}

bool weft_mscclpp_write(const char **text, struct weft_mscclpp_size *size,
                        const struct weft_program *program, bool ports, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena local = weft_arena_split(&scratch);
    struct weft_text made;
    uint32_t n = program->rank_count;
    struct writing writing = {
        .program = program,
        .text = &made,
        .arena = &local,
        .ports = ports,
        .packets = strcmp(program->protocol, "LL") == 0,
        .part_of = WEFT_NEW(&local, uint32_t, program->step_count),
        .part_first = WEFT_NEW(&local, uint32_t, program->block_first[n]),
        .landing = WEFT_NEW(&local, uint32_t, program->step_count),
        .acquires = WEFT_NEW(&local, struct link *, program->step_count),
        .releases = WEFT_NEW(&local, struct link *, program->step_count),
        .semaphores = WEFT_NEW(&local, uint32_t, n),
        .channel_count = WEFT_NEW(&local, uint32_t, n),
        .scratch = WEFT_NEW(&local, uint32_t, n),
        .remotes = WEFT_NEW(&local, uint32_t, n),
    };
    if (strcmp(program->protocol, "LL128") == 0 || (writing.packets && ports)) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%s",
                         ports ? "packets (LL) are not written for ports; take {protocol=Simple}"
                               : "MSCCL++ has no LL128; take {protocol=Simple} or LL");
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        if (writing.packets && program->scratch_counts[rank] > 0) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "LL keeps packets alone in scratch, which this algorithm needs for "
                             "chunks; take {protocol=Simple}");
        }
    }
    cut_blocks(&writing);
    connect_all(&writing);
    for (uint32_t rank = 0; rank < n; rank++) {
        link_rank(&writing, rank, scratch);
    }
    weft_text_init(&made, arena);
    add_plan(&writing, scratch);
    *text = made.data;
    *size = writing.size;
    return true;
}
