// SPDX-License-Identifier: Apache-2.0
// Where the chunks of a program lie, and between whom its connections run: the buffer of each slot
// (input, output, scratch; or one work buffer with copies before and after), and a thread block for
// each end of each connection of the schedule.

#include "build.h"

#include <stdlib.h>

// Peers of a rank on one channel, as MSCCL's runtime has it (docs/msccl.md).
#define PEERS_MAX 32u
// Clocks of all blocks against all others of their rank, 4 bytes each: 256 MiB; beyond it, waits
// that are already implied are written too, which costs steps and no correctness.
#define KNOWN_MAX ((uint64_t)1 << 26)

// ---- where slots lie ----

uint32_t weft_builder_share(const struct weft_schedule *schedule)
{
    return schedule->chunk_count / schedule->rank_count;
}

// Chooses the buffers. `direct`: input, output and scratch as the schedule has them, where its
// output lies behind its input. Else all work happens in one buffer: the output or the input itself
// where the schedule is in place, else scratch, with copies into it first and out of it last.
void weft_builder_choose(struct weft_builder *builder, const struct weft_program_options *options)
{
    const struct weft_schedule *schedule = builder->schedule;
    enum weft_collective_kind kind = schedule->kind;
    bool gathers = kind == WEFT_COLLECTIVE_ALLGATHER;
    bool scatters = kind == WEFT_COLLECTIVE_REDUCE_SCATTER;
    bool on_itself = schedule->output_first == 0 && !schedule->packed;
    builder->input = gathers ? weft_builder_share(schedule) : schedule->chunk_count;
    builder->output = scatters ? weft_builder_share(schedule) : schedule->chunk_count;
    builder->direct = schedule->output_first >= builder->input &&
                      (schedule->packed || (!gathers && !scatters)) &&
                      kind != WEFT_COLLECTIVE_BROADCAST && kind != WEFT_COLLECTIVE_REDUCE;
    builder->copies = !builder->direct && !(options->in_place_only && on_itself);
    if (builder->direct) {
        builder->scratch = schedule->slot_count - builder->input - builder->output;
        return;
    }
    bool in_output = on_itself && (kind == WEFT_COLLECTIVE_ALLREDUCE || gathers ||
                                   kind == WEFT_COLLECTIVE_BROADCAST);
    builder->work = gathers && !builder->copies ? WEFT_BUFFER_OUTPUT
                    : !builder->copies          ? WEFT_BUFFER_INPUT
                    : in_output                 ? WEFT_BUFFER_OUTPUT
                                                : WEFT_BUFFER_SCRATCH;
    builder->scratch =
        schedule->slot_count - (builder->work == WEFT_BUFFER_SCRATCH ? 0 : schedule->chunk_count);
}

// The address of a slot, and how many slots from it on lie in one piece.
struct weft_builder_address weft_builder_address(uint32_t *left, const struct weft_builder *builder,
                                                 uint32_t slot)
{
    const struct weft_schedule *schedule = builder->schedule;
    if (!builder->direct) {
        uint32_t size =
            builder->work == WEFT_BUFFER_SCRATCH ? schedule->slot_count : schedule->chunk_count;
        bool inside = slot < size;
        *left = inside ? size - slot : schedule->slot_count - slot;
        return inside ? (struct weft_builder_address){builder->work, slot}
                      : (struct weft_builder_address){WEFT_BUFFER_SCRATCH, slot - size};
    }
    uint32_t begin = schedule->output_first;
    uint32_t end = begin + builder->output;
    if (slot < builder->input) {
        *left = builder->input - slot;
        return (struct weft_builder_address){WEFT_BUFFER_INPUT, slot};
    }
    if (slot < begin) {
        *left = begin - slot;
        return (struct weft_builder_address){WEFT_BUFFER_SCRATCH, slot - builder->input};
    }
    if (slot < end) {
        *left = end - slot;
        return (struct weft_builder_address){WEFT_BUFFER_OUTPUT, slot - begin};
    }
    *left = schedule->slot_count - slot;
    return (struct weft_builder_address){WEFT_BUFFER_SCRATCH,
                                         slot - builder->input - builder->output};
}

struct weft_builder_cell *weft_builder_cell(const struct weft_builder *builder, uint32_t rank,
                                            struct weft_builder_address address)
{
    uint32_t base = address.buffer == WEFT_BUFFER_INPUT    ? 0
                    : address.buffer == WEFT_BUFFER_OUTPUT ? builder->input
                                                           : builder->input + builder->output;
    return &builder->cells[(size_t)rank * builder->width + base + address.chunk];
}

// ---- connections ----

static int compare_connections(const void *a, const void *b)
{
    const struct weft_builder_connection *x = a;
    const struct weft_builder_connection *y = b;
    const uint32_t left[3] = {x->from, x->channel, x->to};
    const uint32_t right[3] = {y->from, y->channel, y->to};
    for (uint32_t i = 0; i < 3; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

static uint32_t sort_unique(struct weft_builder_connection *connections, uint32_t count)
{
    qsort(connections, count, sizeof *connections, compare_connections);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || compare_connections(&connections[kept - 1], &connections[i]) != 0) {
            connections[kept++] = connections[i];
        }
    }
    return kept;
}

// The most peers that a rank has on one channel, each way.
static uint32_t most_peers(const struct weft_builder *builder, uint32_t channel_count,
                           struct weft_arena scratch)
{
    size_t size = (size_t)builder->schedule->rank_count * channel_count;
    uint32_t *out = WEFT_NEW(&scratch, uint32_t, size);
    uint32_t *in = WEFT_NEW(&scratch, uint32_t, size);
    uint32_t most = 0;
    for (uint32_t c = 0; c < builder->connection_count; c++) {
        const struct weft_builder_connection *connection = &builder->connections[c];
        uint32_t sends = ++out[(size_t)connection->from * channel_count + connection->channel];
        uint32_t receives = ++in[(size_t)connection->to * channel_count + connection->channel];
        most = sends > most ? sends : most;
        most = receives > most ? receives : most;
    }
    return most;
}

// Channels beyond what a rank's peers on one may be become several.
static uint32_t spread_of(const struct weft_builder_connection *connection, uint32_t rank_count,
                          uint32_t spread)
{
    uint32_t jump = (connection->to + rank_count - connection->from) % rank_count;
    return connection->channel * spread + jump % spread;
}

// Lists the connections of a schedule, each once, sorted. Where a rank has more than PEERS_MAX
// peers on a channel, every channel becomes as many as needed, and connections are spread over them
// by how many ranks they jump, so that both ends agree without talking.
uint32_t weft_builder_connect(struct weft_builder *builder, struct weft_program_size *size,
                              uint32_t *spread, struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_schedule *schedule = builder->schedule;
    size_t most = (size_t)schedule->rank_count;
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        most += (size_t)schedule->steps[s].item_count * schedule->steps[s].round_count;
    }
    struct weft_builder_connection *found =
        WEFT_NEW_RAW(arena, struct weft_builder_connection, most);
    uint32_t count = 0;
    uint32_t channel_count = 1;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t t = 0; t < walk.transfer_count; t++) {
            const struct weft_transfer *transfer = &walk.transfers[t];
            uint32_t channel = schedule->steps[transfer->step].channel;
            channel_count = channel >= channel_count ? channel + 1 : channel_count;
            if (transfer->from != transfer->to) {
                found[count++] =
                    (struct weft_builder_connection){transfer->from, transfer->to, channel, {0, 0}};
            }
        }
    }
    builder->connections = found;
    builder->connection_count = sort_unique(found, count);
    uint32_t peers = most_peers(builder, channel_count, scratch);
    *spread = (peers + PEERS_MAX - 1) / PEERS_MAX;
    *spread = *spread == 0 ? 1 : *spread;
    if (*spread > 1) {
        for (uint32_t c = 0; c < builder->connection_count; c++) {
            found[c].channel = spread_of(&found[c], schedule->rank_count, *spread);
        }
        builder->connection_count = sort_unique(found, builder->connection_count);
        channel_count *= *spread;
        peers = most_peers(builder, channel_count, scratch);
    }
    size->peer_max = peers;
    size->channel_max = channel_count;
    return channel_count;
}

const struct weft_builder_connection *weft_builder_connection(const struct weft_builder *builder,
                                                              uint32_t from, uint32_t to,
                                                              uint32_t channel, uint32_t spread)
{
    struct weft_builder_connection key = {from, to, channel, {0, 0}};
    key.channel = spread_of(&key, builder->schedule->rank_count, spread);
    const struct weft_builder_connection *found = bsearch(
        &key, builder->connections, builder->connection_count, sizeof key, compare_connections);
    WEFT_ASSERT(found != NULL);
    return found;
}

// Block 0 of a rank moves inside it; then come the ends of its connections.
void weft_builder_number(struct weft_builder *builder, struct weft_arena *arena)
{
    uint32_t rank_count = builder->schedule->rank_count;
    builder->block_count = WEFT_NEW_RAW(arena, uint32_t, rank_count);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        builder->block_count[rank] = 1;
    }
    for (uint32_t c = 0; c < builder->connection_count; c++) {
        struct weft_builder_connection *connection = &builder->connections[c];
        connection->block[0] = builder->block_count[connection->from]++;
        connection->block[1] = builder->block_count[connection->to]++;
    }
    uint64_t squares = 0;
    uint32_t widest = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        uint32_t count = builder->block_count[rank];
        squares += (uint64_t)count * count;
        widest = count > widest ? count : widest;
    }
    builder->needs.latest = WEFT_NEW(arena, struct weft_builder_draft *, widest);
    builder->needs.blocks = WEFT_NEW(arena, uint32_t, widest);
    builder->positions = WEFT_NEW(arena, uint32_t *, rank_count);
    builder->known = squares <= KNOWN_MAX ? WEFT_NEW(arena, uint32_t *, rank_count) : NULL;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        size_t count = builder->block_count[rank];
        builder->positions[rank] = WEFT_NEW(arena, uint32_t, count);
        if (builder->known != NULL) {
            builder->known[rank] = WEFT_NEW(arena, uint32_t, count * count);
        }
    }
}
