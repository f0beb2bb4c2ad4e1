// SPDX-License-Identifier: Apache-2.0
// A schedule as a program of thread blocks, in the form of MSCCL's interpreter (Cowan et al.,
// "MSCCLang", ASPLOS 2023; docs/msccl.md).
//
// A rank gets a block for each end of each of its connections (a peer and a channel), and block 0
// for moves inside it. Transfers become a send and a receive in the order of the rounds. A block
// does its own steps in order; where a step reads or overwrites what another block of the rank
// wrote or reads, it waits for that block's step, unless an earlier wait already implies it
// (`known`, a vector clock a block). O(transfers * chunks of each + blocks of each rank squared).

#include "build.h"

#include <string.h>

// Chunks of a step. The runtime takes fewer than 72 (MSCCL_MAX_COUNT); 64 is below it and a power
// of two, so that blocks of slots divide evenly.
#define COUNT_MAX 64u

// ---- steps ----

static void add_need(struct weft_builder *builder, struct weft_builder_draft *draft, uint32_t block)
{
    if (draft == NULL || draft->block == block) {
        return;
    }
    struct weft_builder_draft **slot = &builder->needs.latest[draft->block];
    if (*slot == NULL) {
        builder->needs.blocks[builder->needs.count++] = draft->block;
        *slot = draft;
    } else if ((*slot)->position < draft->position) {
        *slot = draft;
    }
}

static struct weft_builder_draft *add_draft(struct weft_builder *builder, uint32_t rank,
                                            uint32_t block, enum weft_block_op op)
{
    struct weft_builder_draft *draft = WEFT_NEW(builder->arena, struct weft_builder_draft, 1);
    draft->rank = rank;
    draft->block = block;
    draft->position = builder->positions[rank][block]++;
    draft->step.op = op;
    draft->step.number = draft->position;
    draft->step.wait_block = WEFT_NONE;
    draft->step.to_buffer = WEFT_BUFFER_OUTPUT;
    // A run of reductions onto one chunk is one step to the interpreter, and its last says whether
    // it signals: all do.
    draft->step.signals = op == WEFT_BLOCK_REDUCE;
    *builder->drafts.last = draft;
    builder->drafts.last = &draft->next;
    builder->drafts.count++;
    return draft;
}

// Adds a step behind what builder->needs.latest lists: a nop for each wait but the last, as the
// interpreter has it.
static struct weft_builder_draft *add_waiting(struct weft_builder *builder, uint32_t rank,
                                              uint32_t block, enum weft_block_op op)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->needs.count; i++) {
        uint32_t other = builder->needs.blocks[i];
        struct weft_builder_draft *draft = builder->needs.latest[other];
        builder->needs.latest[other] = NULL;
        uint32_t *known = builder->known == NULL
                              ? NULL
                              : &builder->known[rank][block * builder->block_count[rank] + other];
        if (known != NULL && *known > draft->position) {
            continue;
        }
        if (known != NULL) {
            *known = draft->position + 1;
        }
        draft->step.signals = true;
        kept++;
        // The nop takes its wait now; the last one is taken over below.
        struct weft_builder_draft *wait = add_draft(builder, rank, block, WEFT_BLOCK_WAIT);
        wait->step.wait_block = other;
        wait->step.wait_step = draft->position;
    }
    builder->needs.count = 0;
    if (kept == 0) {
        return add_draft(builder, rank, block, op);
    }
    struct weft_builder_draft *last =
        (void *)((char *)builder->drafts.last - offsetof(struct weft_builder_draft, next));
    last->step.op = op;
    last->step.signals = op == WEFT_BLOCK_REDUCE;
    return last;
}

static void set_addresses(struct weft_builder_draft *draft, struct weft_builder_address from,
                          struct weft_builder_address to, uint32_t count)
{
    draft->step.from_buffer = from.buffer;
    draft->step.from = from.chunk;
    draft->step.to_buffer = to.buffer;
    draft->step.to = to.chunk;
    draft->step.count = count;
}

static void need_reads(struct weft_builder *builder, uint32_t rank, uint32_t block,
                       struct weft_builder_address from, uint32_t count)
{
    struct weft_builder_cell *cells = weft_builder_cell(builder, rank, from);
    for (uint32_t i = 0; i < count; i++) {
        add_need(builder, cells[i].writer, block);
    }
}

static void need_writes(struct weft_builder *builder, uint32_t rank, uint32_t block,
                        struct weft_builder_address to, uint32_t count)
{
    struct weft_builder_cell *cells = weft_builder_cell(builder, rank, to);
    for (uint32_t i = 0; i < count; i++) {
        add_need(builder, cells[i].writer, block);
        for (struct weft_builder_reading *reading = cells[i].readers; reading != NULL;
             reading = reading->next) {
            add_need(builder, reading->draft, block);
        }
    }
}

static void note_reads(struct weft_builder *builder, struct weft_builder_draft *draft,
                       struct weft_builder_address from, uint32_t count)
{
    struct weft_builder_cell *cells = weft_builder_cell(builder, draft->rank, from);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_builder_reading *reading =
            WEFT_NEW_RAW(builder->arena, struct weft_builder_reading, 1);
        *reading = (struct weft_builder_reading){draft, cells[i].readers};
        cells[i].readers = reading;
    }
}

static void note_writes(struct weft_builder *builder, struct weft_builder_draft *draft,
                        struct weft_builder_address to, uint32_t count)
{
    struct weft_builder_cell *cells = weft_builder_cell(builder, draft->rank, to);
    for (uint32_t i = 0; i < count; i++) {
        cells[i].writer = draft;
        cells[i].readers = NULL;
    }
}

static void add_move(struct weft_builder *builder, uint32_t rank, enum weft_step_op op,
                     struct weft_builder_address from, struct weft_builder_address to,
                     uint32_t count)
{
    need_reads(builder, rank, 0, from, count);
    need_writes(builder, rank, 0, to, count);
    struct weft_builder_draft *draft =
        add_waiting(builder, rank, 0, op == WEFT_STEP_COPY ? WEFT_BLOCK_COPY : WEFT_BLOCK_REDUCE);
    set_addresses(draft, from, to, count);
    note_reads(builder, draft, from, count);
    note_writes(builder, draft, to, count);
}

// A run of slots, at most as long as both addresses and a step allow.
static uint32_t piece(struct weft_builder_address *from, struct weft_builder_address *to,
                      const struct weft_builder *builder, uint32_t from_slot, uint32_t to_slot,
                      uint32_t count)
{
    uint32_t from_left;
    uint32_t to_left;
    *from = weft_builder_address(&from_left, builder, from_slot);
    *to = weft_builder_address(&to_left, builder, to_slot);
    count = count < COUNT_MAX ? count : COUNT_MAX;
    count = count < from_left ? count : from_left;
    return count < to_left ? count : to_left;
}

// ---- rounds ----

enum phase { SENDS, RECEIVES };

// Adds one end of a transfer, its sends or its receives, in pieces: a step moves at most COUNT_MAX
// chunks that lie together in one buffer at both ends. All sends of a round are added before any
// receive, as rounds read before they write.
static void add_ends(struct weft_builder *builder, const struct weft_transfer *transfer,
                     const struct weft_builder_connection *connection, enum phase phase)
{
    for (uint32_t done = 0; done < transfer->slot_count;) {
        struct weft_builder_address from;
        struct weft_builder_address to;
        uint32_t count = piece(&from, &to, builder, transfer->from_slot + done,
                               transfer->to_slot + done, transfer->slot_count - done);
        done += count;
        uint32_t rank = phase == SENDS ? transfer->from : transfer->to;
        uint32_t block = connection->block[phase == SENDS ? 0 : 1];
        if (phase == SENDS) {
            need_reads(builder, rank, block, from, count);
            struct weft_builder_draft *draft = add_waiting(builder, rank, block, WEFT_BLOCK_SEND);
            set_addresses(draft, from, to, count);
            note_reads(builder, draft, from, count);
            continue;
        }
        need_writes(builder, rank, block, to, count);
        bool copies = transfer->op == WEFT_STEP_COPY;
        struct weft_builder_draft *draft = add_waiting(
            builder, rank, block, copies ? WEFT_BLOCK_RECEIVE : WEFT_BLOCK_RECEIVE_REDUCE_COPY);
        set_addresses(draft, copies ? from : to, to, count);
        note_writes(builder, draft, to, count);
    }
}

// A move inside a rank that waits for its turn; staged: what it reads lies in spare scratch.
struct pending {
    struct weft_transfer move;
    bool staged;
    uint32_t spare;
};

static void count_pending(struct weft_builder *builder, const struct pending *pending,
                          uint32_t more)
{
    const struct weft_transfer *move = &pending->move;
    for (uint32_t i = 0; !pending->staged && i < move->slot_count; i++) {
        uint32_t left;
        weft_builder_cell(builder, move->from,
                          weft_builder_address(&left, builder, move->from_slot + i))
            ->pending += more;
    }
}

// Whether other moves of the round have yet to read what this one writes; its own reads are not
// among the pending ones.
static bool is_awaited(const struct weft_builder *builder, const struct weft_transfer *move)
{
    for (uint32_t i = 0; i < move->slot_count; i++) {
        uint32_t left;
        if (weft_builder_cell(builder, move->to,
                              weft_builder_address(&left, builder, move->to_slot + i))
                ->pending > 0) {
            return true;
        }
    }
    return false;
}

static struct weft_builder_address spare_address(const struct weft_builder *builder, uint32_t spare)
{
    return (struct weft_builder_address){WEFT_BUFFER_SCRATCH, builder->scratch + spare};
}

// Copies what a move reads to spare scratch: to there `into`, else from there on.
static void add_pieces(struct weft_builder *builder, const struct pending *pending, bool into)
{
    const struct weft_transfer *move = &pending->move;
    for (uint32_t done = 0; done < move->slot_count;) {
        struct weft_builder_address from;
        struct weft_builder_address to;
        uint32_t count = piece(&from, &to, builder, move->from_slot + done, move->to_slot + done,
                               move->slot_count - done);
        from = pending->staged ? spare_address(builder, pending->spare + done) : from;
        to = into ? spare_address(builder, pending->spare + done) : to;
        add_move(builder, move->from, into ? WEFT_STEP_COPY : move->op, from, to, count);
        done += count;
    }
}

// Frees what the first of the moves reads, so that a circle opens.
static void stage(struct weft_builder *builder, struct pending *moves, uint32_t count,
                  uint32_t *spare_used)
{
    uint32_t first = 0;
    while (first < count && moves[first].staged) {
        first++;
    }
    WEFT_ASSERT(first < count); // were all staged, none would be awaited
    struct pending *pending = &moves[first];
    pending->spare = spare_used[pending->move.from];
    spare_used[pending->move.from] += pending->move.slot_count;
    uint32_t used = spare_used[pending->move.from];
    WEFT_ASSERT(used <= builder->spare_width);
    builder->spare = used > builder->spare ? used : builder->spare;
    count_pending(builder, pending, UINT32_MAX);
    add_pieces(builder, pending, true);
    pending->staged = true;
}

static void add_moves(struct weft_builder *builder, struct pending *moves, uint32_t count,
                      struct weft_arena scratch)
{
    uint32_t *spare_used = WEFT_NEW(&scratch, uint32_t, builder->schedule->rank_count);
    for (uint32_t m = 0; m < count; m++) {
        count_pending(builder, &moves[m], 1);
    }
    while (count > 0) {
        uint32_t kept = 0;
        for (uint32_t m = 0; m < count; m++) {
            const struct pending pending = moves[m];
            count_pending(builder, &pending, UINT32_MAX);
            if (is_awaited(builder, &pending.move)) {
                count_pending(builder, &pending, 1);
                moves[kept++] = pending;
                continue;
            }
            add_pieces(builder, &pending, false);
        }
        if (kept == count) {
            stage(builder, moves, kept, spare_used);
        }
        count = kept;
    }
}

static void add_round(struct weft_builder *builder, const struct weft_round_walk *walk,
                      uint32_t spread, struct weft_arena scratch)
{
    struct pending *moves = WEFT_NEW_RAW(&scratch, struct pending, walk->transfer_count);
    uint32_t move_count = 0;
    for (enum phase phase = SENDS; phase <= RECEIVES; phase++) {
        for (uint32_t t = 0; t < walk->transfer_count; t++) {
            const struct weft_transfer *transfer = &walk->transfers[t];
            if (transfer->from == transfer->to) {
                if (phase == SENDS) {
                    moves[move_count++] = (struct pending){.move = *transfer};
                }
                continue;
            }
            uint32_t channel = builder->schedule->steps[transfer->step].channel;
            add_ends(
                builder, transfer,
                weft_builder_connection(builder, transfer->from, transfer->to, channel, spread),
                phase);
        }
        if (phase == SENDS) {
            add_moves(builder, moves, move_count, scratch);
        }
    }
}

static void add_copies(struct weft_builder *builder, struct weft_builder_address from,
                       struct weft_builder_address to, uint32_t count, uint32_t rank)
{
    for (uint32_t done = 0; done < count; done += COUNT_MAX) {
        uint32_t size = count - done < COUNT_MAX ? count - done : COUNT_MAX;
        struct weft_builder_address part_from = {from.buffer, from.chunk + done};
        struct weft_builder_address part_to = {to.buffer, to.chunk + done};
        add_move(builder, rank, WEFT_STEP_COPY, part_from, part_to, size);
    }
}

// From the input into the work buffer, or from there to the output.
static void copy_ends(struct weft_builder *builder, bool into)
{
    const struct weft_schedule *schedule = builder->schedule;
    enum weft_collective_kind kind = schedule->kind;
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) {
        bool rooted = kind == (into ? WEFT_COLLECTIVE_BROADCAST : WEFT_COLLECTIVE_REDUCE);
        bool part = kind == (into ? WEFT_COLLECTIVE_ALLGATHER : WEFT_COLLECTIVE_REDUCE_SCATTER);
        uint32_t slot = (into ? 0 : schedule->output_first) +
                        (part && !schedule->packed ? rank * weft_builder_share(schedule) : 0);
        if (rooted && rank != schedule->root) {
            continue;
        }
        uint32_t left;
        struct weft_builder_address inner = weft_builder_address(&left, builder, slot);
        if (into) {
            add_copies(builder, (struct weft_builder_address){WEFT_BUFFER_INPUT, 0}, inner,
                       builder->input, rank);
        } else if (builder->work == WEFT_BUFFER_SCRATCH) {
            add_copies(builder, inner, (struct weft_builder_address){WEFT_BUFFER_OUTPUT, 0},
                       builder->output, rank);
        }
    }
}

// ---- the program ----

// Blocks without steps (the first of a rank that moves nothing inside) are left out.
static void renumber(const struct weft_builder *builder, uint32_t *block_first,
                     struct weft_block *blocks, uint32_t **numbers, struct weft_arena *scratch)
{
    uint32_t rank_count = builder->schedule->rank_count;
    uint32_t total = 0;
    uint32_t first_step = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        block_first[rank] = total;
        numbers[rank] = WEFT_NEW_RAW(scratch, uint32_t, builder->block_count[rank]);
        for (uint32_t b = 0; b < builder->block_count[rank]; b++) {
            uint32_t count = builder->positions[rank][b];
            numbers[rank][b] = total;
            if (count > 0) {
                blocks[total] = (struct weft_block){
                    total - block_first[rank], WEFT_NONE, WEFT_NONE, 0, first_step, count, false};
                total++;
                first_step += count;
            }
        }
    }
    block_first[rank_count] = total;
    for (uint32_t c = 0; c < builder->connection_count; c++) {
        const struct weft_builder_connection *connection = &builder->connections[c];
        struct weft_block *sender = &blocks[numbers[connection->from][connection->block[0]]];
        struct weft_block *receiver = &blocks[numbers[connection->to][connection->block[1]]];
        sender->send_peer = connection->to;
        receiver->receive_peer = connection->from;
        sender->channel = receiver->channel = connection->channel;
    }
}

// Numbers the blocks that have steps, moves the drafts to the places of their blocks, and publishes
// program and size. Waits were kept by block of the draft and get the final number of that block.
static void publish(struct weft_program *program, struct weft_program_size *size,
                    const struct weft_builder *builder, const struct weft_program_options *options,
                    struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_schedule *schedule = builder->schedule;
    uint32_t rank_count = schedule->rank_count;
    size_t block_total = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        block_total += builder->block_count[rank];
    }
    uint32_t *block_first = WEFT_NEW_RAW(arena, uint32_t, (size_t)rank_count + 1);
    struct weft_block *blocks = WEFT_NEW_RAW(arena, struct weft_block, block_total);
    struct weft_block_step *steps =
        WEFT_NEW_RAW(arena, struct weft_block_step, builder->drafts.count);
    uint32_t *scratch_counts = WEFT_NEW_RAW(arena, uint32_t, rank_count);
    uint32_t **numbers = WEFT_NEW(&scratch, uint32_t *, rank_count);
    renumber(builder, block_first, blocks, numbers, &scratch);
    for (const struct weft_builder_draft *draft = builder->drafts.first; draft != NULL;
         draft = draft->next) {
        const struct weft_block *block = &blocks[numbers[draft->rank][draft->block]];
        struct weft_block_step *step = &steps[block->first_step + draft->position];
        *step = draft->step;
        if (step->wait_block != WEFT_NONE) {
            step->wait_block = blocks[numbers[draft->rank][step->wait_block]].number;
        }
    }
    size->block_max = size->step_max = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        scratch_counts[rank] = builder->scratch + builder->spare;
        uint32_t count = block_first[rank + 1] - block_first[rank];
        size->block_max = count > size->block_max ? count : size->block_max;
    }
    for (uint32_t b = 0; b < block_first[rank_count]; b++) {
        size->step_max =
            blocks[b].step_count > size->step_max ? blocks[b].step_count : size->step_max;
    }
    *program = (struct weft_program){
        .name = schedule->name,
        .protocol = options->protocol == NULL ? "Simple" : options->protocol,
        .kind = schedule->kind,
        .rank_count = rank_count,
        .chunk_count = schedule->chunk_count,
        .root = schedule->root,
        .channel_count = size->channel_max,
        .in_place = !builder->direct,
        .out_of_place = builder->direct || builder->copies,
        .size_min_bytes = options->size_min_bytes,
        .size_max_bytes =
            options->size_max_bytes == 0 ? (uint64_t)1 << 40 : options->size_max_bytes,
        .scratch_counts = scratch_counts,
        .block_first = block_first,
        .blocks = blocks,
        .step_count = builder->drafts.count,
        .steps = steps,
    };
}

// No more slots than this are moved inside one rank in one round.
static uint32_t most_moved(const struct weft_schedule *schedule)
{
    uint32_t widest = 0;
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        widest = step->slot_count > widest ? step->slot_count : widest;
    }
    return schedule->slot_count + widest;
}

// Builds in three parts: buffers and connections are chosen, the rounds are walked (between copies
// into and out of the work buffer where that is neither input nor output), and the drafts are
// published. `scratch` is split so that the walk's rounds and the drafts grow side by side.
void weft_program_build(struct weft_program *program, struct weft_program_size *size,
                        const struct weft_schedule *schedule,
                        const struct weft_program_options *options, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    struct weft_builder builder = {.schedule = schedule, .arena = &scratch};
    builder.drafts.last = &builder.drafts.first;
    struct weft_arena walking = weft_arena_split(&scratch);
    weft_builder_choose(&builder, options);
    builder.spare_width = most_moved(schedule);
    builder.width = builder.input + builder.output + builder.scratch + builder.spare_width;
    builder.cells =
        WEFT_NEW(&scratch, struct weft_builder_cell, (size_t)schedule->rank_count * builder.width);
    struct weft_program_size found;
    uint32_t spread;
    weft_builder_connect(&builder, &found, &spread, &scratch, walking);
    weft_builder_number(&builder, &scratch);
    if (builder.copies) {
        copy_ends(&builder, true);
    }
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &walking);
    while (weft_round_walk_next(&walk)) {
        add_round(&builder, &walk, spread, walking);
    }
    if (builder.copies) {
        copy_ends(&builder, false);
    }
    publish(program, &found, &builder, options, arena, walking);
    *size = found;
}
