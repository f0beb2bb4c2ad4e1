// SPDX-License-Identifier: Apache-2.0
// What the operations of a worker do: compute, sends, receives, collectives and barriers.
//
// An operation begins when all that it waits for has ended, and lets those begin that wait for it;
// what waits at another server is told by a message without bytes. Collectives run the ring
// algorithm round by round on float32 data (a reduce-scatter, an all-gather, or both for an
// all-reduce; Patarasuk and Yuan, 2009): in each round a member passes the chunk on that it
// finished in the round before.

#include "worker_private.h"

#include <stdlib.h>
#include <string.h>

static const struct lab_operation *operation_of(const struct lab_worker *worker, uint32_t operation)
{
    return &worker->program->operations[operation];
}

// ---- times ----

static void note_start(struct lab_worker *worker, uint32_t task, uint64_t now_ns)
{
    _Atomic uint64_t *start_ns = &worker->work->times.start_ns[task];
    uint64_t old = atomic_load(start_ns);
    while (now_ns < old && !atomic_compare_exchange_weak(start_ns, &old, now_ns)) {
    }
}

static void note_end(struct lab_worker *worker, uint32_t task, uint64_t now_ns)
{
    _Atomic uint64_t *end_ns = &worker->work->times.end_ns[task];
    uint64_t old = atomic_load(end_ns);
    while (now_ns > old && !atomic_compare_exchange_weak(end_ns, &old, now_ns)) {
    }
}

// ---- compute ----

static void add_timer(struct lab_worker *worker, uint32_t operation, uint64_t due_ns)
{
    if (worker->timers.count == worker->timers.room) {
        worker->timers.room = worker->timers.room * 2 + 16;
        worker->timers.list =
            lab_grow(worker->timers.list, worker->timers.room, sizeof *worker->timers.list);
    }
    worker->timers.list[worker->timers.count++] = (struct lab_timer){due_ns, operation};
}

static uint64_t runtime_ns(const struct lab_worker *worker, uint32_t task)
{
    return (worker->program->graph->runtime_ps[task] + 500) / 1000;
}

static void begin_compute(struct lab_worker *worker, uint32_t operation, uint64_t begin_ns)
{
    uint32_t task = operation_of(worker, operation)->task;
    worker->devices[worker->program->graph->device[task]].busy = true;
    note_start(worker, task, begin_ns);
    add_timer(worker, operation, begin_ns + runtime_ns(worker, task));
}

// Computes now, or behind what its device computes. The queue is a ring that doubles when it is
// full.
static void queue_compute(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    uint32_t task = operation_of(worker, operation)->task;
    struct lab_device *device = &worker->devices[worker->program->graph->device[task]];
    if (!device->busy) {
        begin_compute(worker, operation, now_ns);
        return;
    }
    if (device->end - device->begin == device->room) {
        uint32_t room = device->room == 0 ? 16 : device->room * 2;
        uint32_t *queue = lab_grow(NULL, room, sizeof *queue);
        for (uint32_t i = 0; i < device->room; i++) {
            queue[i] = device->queue[(device->begin + i) % device->room];
        }
        free(device->queue);
        device->end -= device->begin;
        device->begin = 0;
        device->queue = queue;
        device->room = room;
    }
    device->queue[device->end++ % device->room] = operation;
}

// ---- collectives ----

// Elements of chunk `chunk` of a ring's share.
static size_t chunk_first(const struct lab_ring_state *ring, uint32_t chunk, uint32_t members)
{
    return ring->first + ring->count * chunk / members;
}

// Which chunk the member at `place` sends in a round: in the reducing turn its own first, then what
// has just come; in the gathering turn the finished one first.
static uint32_t chunk_sent(enum weft_task_kind kind, uint32_t place, uint32_t round, uint32_t k)
{
    bool gathers = kind == WEFT_TASK_ALL_GATHER || round >= k - 1;
    uint32_t turn = round % (k - 1);
    uint32_t shift = kind == WEFT_TASK_ALLREDUCE && gathers ? 1 : 0;
    return (place + shift + k - turn) % k;
}

// Sends the round of a ring that this member has not sent yet: which chunk that is follows from its
// place in the ring. Small collectives go in one message, as the simulation lets them.
static void send_round(struct lab_worker *worker, uint32_t operation, uint32_t index)
{
    const struct lab_program *program = worker->program;
    const struct lab_operation *p = operation_of(worker, operation);
    const struct weft_taskgraph *graph = program->graph;
    struct lab_collective *collective = worker->collectives[operation];
    struct lab_ring_state *state = &collective->rings[index];
    const struct lab_ring *ring =
        &program->rings[program->ring_first[graph->group[p->task]] + index];
    uint32_t k = ring->member_count;
    uint32_t next = ring->members[(state->place + 1) % k];
    uint32_t target = program->task_operation[p->task];
    while (program->operations[target].server != next) {
        target++;
    }
    struct lab_frame frame = {
        .operation = target, .ring = (uint16_t)index, .round = (uint16_t)state->sent};
    const char *data = NULL;
    if (collective->one_round) {
        frame.bytes = (uint64_t)(weft_task_ring_bytes(graph, p->task) * ring->share_ratio + 0.5);
    } else {
        enum weft_task_kind kind = (enum weft_task_kind)graph->kind[p->task];
        uint32_t chunk = chunk_sent(kind, state->place, state->sent, k);
        size_t first = chunk_first(state, chunk, k);
        frame.bytes = (chunk_first(state, chunk + 1, k) - first) * sizeof(float);
        data = (const char *)(collective->data + first);
    }
    lab_out_add(worker, ring->streams[state->place], &frame, data);
    state->sent++;
}

// Sends the rounds that what has been received allows: a round passes on what the one before
// brought, so at most one more is sent than received. Ends the collective with its last round on
// all rings.
static void advance(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    struct lab_collective *collective = worker->collectives[operation];
    bool ended = collective->started;
    for (uint32_t r = 0; r < collective->ring_count && collective->started; r++) {
        struct lab_ring_state *ring = &collective->rings[r];
        while (ring->sent < collective->round_count && ring->sent <= ring->received) {
            send_round(worker, operation, r);
        }
        ended = ended && ring->received == collective->round_count;
    }
    if (ended) {
        lab_operation_finish(worker, operation, now_ns);
    }
}

static void start_collective(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    worker->collectives[operation]->started = true;
    advance(worker, operation, now_ns);
}

// What a collective needs at this server: its memory, and for each of its rings the place in it and
// the elements that are its share. Shares are rounded so that they join without gap or overlap.
static struct lab_collective *open_collective(struct lab_worker *worker,
                                              const struct lab_operation *p)
{
    const struct lab_program *program = worker->program;
    const struct weft_taskgraph *graph = program->graph;
    uint32_t group = graph->group[p->task];
    uint32_t k = weft_task_member_count(graph, p->task);
    uint64_t size = graph->size_bytes[p->task];
    uint32_t passes = weft_task_facts[graph->kind[p->task]].ring_passes;
    struct lab_collective *collective = lab_zeroed(1, sizeof *collective);
    collective->ring_count = program->ring_first[group + 1] - program->ring_first[group];
    collective->rings = lab_zeroed(collective->ring_count, sizeof *collective->rings);
    collective->one_round =
        program->small_in_one_round && size < (uint64_t)k * (uint64_t)program->packet_bytes;
    collective->round_count = k < 2 || size == 0 ? 0 : collective->one_round ? 1 : passes * (k - 1);
    size_t elements = (size_t)(size / sizeof(float)) + 1;
    collective->data = collective->one_round || k < 2 ? NULL : lab_zeroed(elements, sizeof(float));
    size_t first = 0;
    double share = 0;
    for (uint32_t r = 0; r < collective->ring_count; r++) {
        const struct lab_ring *ring = &program->rings[program->ring_first[group] + r];
        struct lab_ring_state *state = &collective->rings[r];
        while (ring->members[state->place] != p->server) {
            state->place++;
        }
        share += ring->share_ratio;
        size_t end =
            r + 1 == collective->ring_count ? elements : (size_t)(share * (double)elements + 0.5);
        end = end > elements ? elements : end;
        state->first = first;
        state->count = end > first ? end - first : 0;
        first = end > first ? end : first;
    }
    return collective;
}

void lab_collectives_open(struct lab_worker *worker)
{
    worker->collectives = lab_zeroed(worker->program->operation_count, sizeof *worker->collectives);
    for (uint32_t i = 0; i < worker->own.count; i++) {
        const struct lab_operation *operation = operation_of(worker, worker->own.list[i]);
        if (operation->kind == LAB_OPERATION_COLLECTIVE) {
            worker->collectives[worker->own.list[i]] = open_collective(worker, operation);
        }
    }
}

void lab_collectives_close(struct lab_worker *worker)
{
    for (uint32_t i = 0; worker->collectives != NULL && i < worker->program->operation_count; i++) {
        if (worker->collectives[i] != NULL) {
            free(worker->collectives[i]->rings);
            free(worker->collectives[i]->data);
            free(worker->collectives[i]);
        }
    }
    free(worker->collectives);
}

// What a collective's data are held against: those of all-reduces everywhere, of the others chunk
// by chunk as they are defined. 0: it has no data.
static size_t checked_elements(const struct lab_worker *worker, uint32_t operation)
{
    const struct lab_operation *p = operation_of(worker, operation);
    const struct lab_collective *collective = worker->collectives[operation];
    bool checked = collective != NULL && collective->data != NULL &&
                   weft_task_is_collective(worker->program->graph, p->task);
    return checked ? (size_t)(worker->program->graph->size_bytes[p->task] / sizeof(float)) : 0;
}

// In a gather a member gives its own chunk of each ring, and has noise elsewhere.
static void fill_gather(struct lab_worker *worker, uint32_t operation)
{
    const struct lab_operation *p = operation_of(worker, operation);
    const struct lab_collective *collective = worker->collectives[operation];
    uint32_t k = weft_task_member_count(worker->program->graph, p->task);
    size_t count = checked_elements(worker, operation);
    for (size_t e = 0; e < count; e++) {
        collective->data[e] = -1;
    }
    for (uint32_t r = 0; r < collective->ring_count; r++) {
        const struct lab_ring_state *ring = &collective->rings[r];
        for (size_t e = chunk_first(ring, ring->place, k);
             e < chunk_first(ring, ring->place + 1, k) && e < count; e++) {
            collective->data[e] = (float)lab_value(LAB_WHOLE, LAB_FLOAT32, ring->place, e);
        }
    }
}

// Elements are numbered as in the whole; whose they are in a gather follows from the ring.
void lab_collectives_fill(struct lab_worker *worker)
{
    for (uint32_t i = 0; i < worker->own.count; i++) {
        uint32_t operation = worker->own.list[i];
        const struct lab_operation *p = operation_of(worker, operation);
        size_t count = checked_elements(worker, operation);
        for (size_t e = 0; e < count; e++) {
            worker->collectives[operation]->data[e] =
                (float)lab_value(LAB_WHOLE, LAB_FLOAT32, p->position, e);
        }
        if (count > 0 && worker->program->graph->kind[p->task] == WEFT_TASK_ALL_GATHER) {
            fill_gather(worker, operation);
        }
    }
}

// Elements [first, end) against sums over all members, or (member) one member's value.
static bool check_range(struct lab_worker *worker, uint32_t operation, size_t first, size_t end,
                        uint32_t member)
{
    const struct lab_operation *p = operation_of(worker, operation);
    uint32_t k = weft_task_member_count(worker->program->graph, p->task);
    size_t count = checked_elements(worker, operation);
    for (size_t e = first; e < end && e < count; e++) {
        double sum = 0;
        for (uint32_t m = 0; m < k; m++) {
            sum += member == WEFT_NONE || member == m ? lab_value(LAB_WHOLE, LAB_FLOAT32, m, e) : 0;
        }
        double found = (double)worker->collectives[operation]->data[e];
        if (!(found >= sum && found <= sum)) {
            return weft_fail(worker->error, WEFT_INFEASIBLE,
                             "rank %u: task %u: element %zu is %.9g, but the sum is %.9g",
                             worker->self->rank, p->task, e, found, sum);
        }
    }
    return true;
}

// A gather: each chunk is its member's. A reduce-scatter: this member has the sum of one chunk.
static bool check_chunks(struct lab_worker *worker, uint32_t operation, uint64_t *checked_count)
{
    const struct lab_operation *p = operation_of(worker, operation);
    const struct lab_collective *collective = worker->collectives[operation];
    const struct weft_taskgraph *graph = worker->program->graph;
    uint32_t k = weft_task_member_count(graph, p->task);
    bool gathers = graph->kind[p->task] == WEFT_TASK_ALL_GATHER;
    for (uint32_t r = 0; r < collective->ring_count; r++) {
        const struct lab_ring_state *ring = &collective->rings[r];
        for (uint32_t c = 0; c < k; c++) {
            size_t first = chunk_first(ring, c, k);
            size_t end = chunk_first(ring, c + 1, k);
            if (!gathers && c != (ring->place + 1) % k) {
                continue;
            }
            if (!check_range(worker, operation, first, end, gathers ? c : WEFT_NONE)) {
                return false;
            }
            *checked_count += end - first;
        }
    }
    return true;
}

bool lab_collectives_check(struct lab_worker *worker, uint64_t *checked_count)
{
    for (uint32_t i = 0; i < worker->own.count; i++) {
        uint32_t operation = worker->own.list[i];
        const struct lab_operation *p = operation_of(worker, operation);
        size_t count = checked_elements(worker, operation);
        if (count == 0) {
            continue;
        }
        if (worker->program->graph->kind[p->task] != WEFT_TASK_ALLREDUCE) {
            if (!check_chunks(worker, operation, checked_count)) {
                return false;
            }
            continue;
        }
        if (!check_range(worker, operation, 0, count, WEFT_NONE)) {
            return false;
        }
        *checked_count += count;
    }
    return true;
}

// ---- messages ----

bool lab_message_begin(struct lab_worker *worker, struct lab_in *in)
{
    const struct lab_frame *frame = &in->frame;
    in->into = NULL;
    in->checks = false;
    if (frame->operation >= worker->program->operation_count ||
        operation_of(worker, frame->operation)->server != worker->self->rank) {
        worker->self->blamed = worker->connections.streams[in->stream].from;
        return weft_fail(worker->error, WEFT_IO, "rank %u: peer %u sent what is not for it",
                         worker->self->rank, worker->self->blamed);
    }
    const struct lab_operation *p = operation_of(worker, frame->operation);
    struct lab_collective *collective = worker->collectives[frame->operation];
    in->checks = worker->work->options.check_transfers && p->kind == LAB_OPERATION_RECEIVE &&
                 frame->ring != LAB_SIGNAL_RING;
    if (p->kind != LAB_OPERATION_COLLECTIVE || frame->bytes == 0 || collective->data == NULL ||
        frame->ring >= collective->ring_count) {
        return true;
    }
    const struct weft_taskgraph *graph = worker->program->graph;
    uint32_t k = weft_task_member_count(graph, p->task);
    enum weft_task_kind kind = (enum weft_task_kind)graph->kind[p->task];
    const struct lab_ring_state *state = &collective->rings[frame->ring];
    uint32_t chunk = chunk_sent(kind, (state->place + k - 1) % k, frame->round, k);
    size_t first = chunk_first(state, chunk, k);
    WEFT_ASSERT(frame->bytes == (chunk_first(state, chunk + 1, k) - first) * sizeof(float));
    in->into = (char *)(collective->data + first);
    in->adds = kind != WEFT_TASK_ALL_GATHER && frame->round < k - 1;
    return true;
}

bool lab_message_check(struct lab_worker *worker, const struct lab_in *in, const char *data,
                       size_t length)
{
    uint64_t byte = in->got - sizeof in->frame;
    worker->checked_bytes += length;
    while (length > 0) {
        size_t at = lab_out_fill_at(worker, in->frame.operation, byte);
        size_t part = LAB_FILL_BYTES - at < length ? LAB_FILL_BYTES - at : length;
        if (memcmp(worker->buffers.fill + at, data, part) != 0) {
            return weft_fail(worker->error, WEFT_INFEASIBLE,
                             "rank %u: task %u: bytes from %llu on are not those that were sent",
                             worker->self->rank, operation_of(worker, in->frame.operation)->task,
                             (unsigned long long)byte);
        }
        byte += part;
        data += part;
        length -= part;
    }
    return true;
}

// One of the things that an operation waits for has happened.
static void arrive(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    WEFT_ASSERT(worker->waits[operation] > 0);
    if (--worker->waits[operation] == 0) {
        lab_operation_ready(worker, operation, now_ns);
    }
}

void lab_message_end(struct lab_worker *worker, const struct lab_frame *frame, uint64_t now_ns)
{
    const struct lab_operation *p = operation_of(worker, frame->operation);
    worker->received_bytes += frame->bytes;
    if (frame->ring == LAB_SIGNAL_RING) {
        arrive(worker, frame->operation, now_ns);
    } else if (p->kind == LAB_OPERATION_RECEIVE) {
        if (--worker->chunks_left[frame->operation] == 0) {
            lab_operation_finish(worker, frame->operation, now_ns);
        }
    } else if (p->kind == LAB_OPERATION_COLLECTIVE) {
        worker->collectives[frame->operation]->rings[frame->ring].received++;
        advance(worker, frame->operation, now_ns);
    }
}

// ---- operations ----

// A transfer is sent in one message for each of its paths and cables.
static void send_chunks(struct lab_worker *worker, uint32_t operation)
{
    const struct lab_operation *p = operation_of(worker, operation);
    for (uint32_t i = 0; i < p->chunk_count; i++) {
        const struct lab_chunk *chunk = &worker->program->chunks[p->chunk_first + i];
        const struct lab_frame frame = {.operation = operation + 1, .bytes = chunk->bytes};
        lab_out_add(worker, chunk->stream, &frame, NULL);
    }
}

void lab_operation_ready(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    if (worker->shim == NULL || !lab_shim_holds(worker->shim, operation)) {
        lab_operation_begin(worker, operation, now_ns);
    }
}

// Begins an operation that no longer waits for anything. A receive has nothing to begin.
void lab_operation_begin(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    const struct lab_operation *p = operation_of(worker, operation);
    switch ((enum lab_operation_kind)p->kind) {
    case LAB_OPERATION_COMPUTE:
        queue_compute(worker, operation, now_ns);
        return;
    case LAB_OPERATION_SEND:
        note_start(worker, p->task, now_ns);
        send_chunks(worker, operation);
        lab_operation_finish(worker, operation, now_ns);
        return;
    case LAB_OPERATION_COLLECTIVE:
        note_start(worker, p->task, now_ns);
        if (worker->program->graph->runtime_ps[p->task] > 0) {
            add_timer(worker, operation, now_ns + runtime_ns(worker, p->task));
        } else {
            start_collective(worker, operation, now_ns);
        }
        return;
    case LAB_OPERATION_BARRIER:
        note_start(worker, p->task, now_ns);
        lab_operation_finish(worker, operation, now_ns);
        return;
    case LAB_OPERATION_RECEIVE:
    default:
        return;
    }
}

void lab_operation_timer(struct lab_worker *worker, uint32_t operation, uint64_t due_ns,
                         uint64_t now_ns)
{
    const struct lab_operation *p = operation_of(worker, operation);
    if (p->kind == LAB_OPERATION_COLLECTIVE) {
        start_collective(worker, operation, now_ns);
        return;
    }
    struct lab_device *device = &worker->devices[worker->program->graph->device[p->task]];
    device->busy = false;
    if (device->begin != device->end) {
        // What waited begins when the one before was due, so that waking late does not add up.
        begin_compute(worker, device->queue[device->begin++ % device->room], due_ns);
    }
    lab_operation_finish(worker, operation, now_ns);
}

void lab_operation_finish(struct lab_worker *worker, uint32_t operation, uint64_t now_ns)
{
    const struct lab_operation *p = operation_of(worker, operation);
    if (p->kind != LAB_OPERATION_SEND) {
        note_end(worker, p->task, now_ns);
    }
    WEFT_ASSERT(worker->own.left > 0);
    worker->own.left--;
    if (worker->shim != NULL) {
        lab_shim_ended(worker->shim, operation);
    }
    for (uint32_t i = 0; i < p->signal_count; i++) {
        const struct lab_signal *signal = &worker->program->signals[p->signal_first + i];
        const struct lab_frame frame = {.operation = signal->operation, .ring = LAB_SIGNAL_RING};
        lab_out_add(worker, signal->stream, &frame, NULL);
    }
    for (uint32_t i = 0; i < p->next_count; i++) {
        arrive(worker, worker->program->nexts[p->next_first + i], now_ns);
    }
}
