// SPDX-License-Identifier: Apache-2.0
// An order of a program's steps in which each stands behind what it needs: the step before it in
// its block, the send that it receives, the signal that it waits for, and the receive that makes
// room in the connection's window. The k-th send on a connection meets the k-th receive there.
// Kahn's topological sort, O(steps log steps) with the sorting of connections; what remains
// unsorted is a deadlock and is named.

#include "program.h"

#include <stdlib.h>
#include <string.h>

// ---- connections ----

struct end {
    uint32_t from;
    uint32_t to;
    uint32_t channel;
    uint32_t block;
};

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a;
    const struct end *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    return x->block < y->block ? -1 : x->block > y->block;
}

static bool same_connection(const struct end *x, const struct end *y)
{
    return x->from == y->from && x->to == y->to && x->channel == y->channel;
}

struct links {
    uint32_t *block_of;
    uint32_t *rank_of;
    uint32_t *sent_to;
    uint32_t *got_from;
    uint32_t *waits_for;
    uint32_t *window_from;
};

// The next step at or after `step` in its block that sends, or that receives.
static uint32_t next_step(const struct weft_program *program, const struct weft_block *block,
                          uint32_t step, bool sends)
{
    uint32_t end = block->first_step + block->step_count;
    for (; step < end; step++) {
        enum weft_block_op op = program->steps[step].op;
        if (sends ? weft_block_op_sends(op) : weft_block_op_receives(op)) {
            return step;
        }
    }
    return WEFT_NONE;
}

// Matches the k-th send of one block with the k-th receive of its partner, in order, and notes
// which receive frees the slot of the window that a send takes. Blames the first step that has no
// partner, or another size.
static bool match_blocks(struct links *links, struct weft_program_report *report,
                         const struct weft_program_order *order, const struct end *sender,
                         const struct end *receiver, struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    const struct weft_block *from = &program->blocks[sender->block];
    const struct weft_block *to = &program->blocks[receiver->block];
    uint32_t window = weft_program_window(program);
    uint32_t *received = WEFT_NEW_RAW(&scratch, uint32_t, to->step_count);
    uint32_t count = 0;
    uint32_t out = next_step(program, from, from->first_step, true);
    uint32_t in = next_step(program, to, to->first_step, false);
    while (out != WEFT_NONE && in != WEFT_NONE) {
        if (program->steps[out].count != program->steps[in].count) {
            char place[WEFT_PROGRAM_PLACE];
            return weft_program_blame(report, order, in, "takes %u chunks of the %u that %s sends",
                                      program->steps[in].count, program->steps[out].count,
                                      weft_program_place(place, order, out));
        }
        links->sent_to[out] = in;
        links->got_from[in] = out;
        links->window_from[out] = count >= window ? received[count - window] : WEFT_NONE;
        received[count++] = in;
        out = next_step(program, from, out + 1, true);
        in = next_step(program, to, in + 1, false);
    }
    if (in != WEFT_NONE) {
        return weft_program_blame(report, order, in,
                                  "receives for ever: gpu %u sends on channel %u %u times only",
                                  sender->from, sender->channel, count);
    }
    if (out != WEFT_NONE) {
        return weft_program_blame(
            report, order, out, "sends what gpu %u never receives: on channel %u it does %u times",
            sender->to, sender->channel, count);
    }
    return true;
}

// A block that should have had a partner; blames its first step that needs one.
static bool blame_alone(struct weft_program_report *report, const struct weft_program_order *order,
                        const struct end *end, bool sends)
{
    const struct weft_block *block = &order->program->blocks[end->block];
    uint32_t step = next_step(order->program, block, block->first_step, sends);
    if (step == WEFT_NONE) {
        return true; // names a peer and never uses it
    }
    return weft_program_blame(report, order, step,
                              sends
                                  ? "sends to gpu %u on channel %u, where no thread block receives"
                                  : "receives from gpu %u on channel %u, where no thread block "
                                    "sends",
                              sends ? end->to : end->from, end->channel);
}

static bool blame_twice(struct weft_program_report *report, const struct weft_program_order *order,
                        const struct end *end, bool sends)
{
    const struct weft_block *block = &order->program->blocks[end->block];
    uint32_t step = next_step(order->program, block, block->first_step, sends);
    return weft_program_blame(report, order, step == WEFT_NONE ? block->first_step : step,
                              "gpu %u has two thread blocks that %s gpu %u on channel %u; one may",
                              order->rank_of[end->block], sends ? "send to" : "receive from",
                              sends ? end->to : end->from, end->channel);
}

// Matches all connections: both lists of ends are sorted by sender, receiver and channel and
// merged, so that an end without its other end stands out, and two blocks on one side of a
// connection are found as neighbors.
static bool match_all(struct links *links, struct weft_program_report *report,
                      const struct weft_program_order *order, struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    uint32_t counts[2] = {0, 0};
    struct end *ends[2];
    for (uint32_t side = 0; side < 2; side++) {
        ends[side] = WEFT_NEW_RAW(&scratch, struct end, order->block_count);
        for (uint32_t b = 0; b < order->block_count; b++) {
            const struct weft_block *block = &program->blocks[b];
            uint32_t peer = side == 0 ? block->send_peer : block->receive_peer;
            uint32_t rank = order->rank_of[b];
            if (peer != WEFT_NONE && block->step_count > 0) {
                ends[side][counts[side]++] = (struct end){
                    side == 0 ? rank : peer, side == 0 ? peer : rank, block->channel, b};
            }
        }
        qsort(ends[side], counts[side], sizeof(struct end), compare_ends);
        for (uint32_t i = 1; i < counts[side]; i++) {
            if (same_connection(&ends[side][i - 1], &ends[side][i])) {
                return blame_twice(report, order, &ends[side][i], side == 0);
            }
        }
    }
    uint32_t out = 0;
    uint32_t in = 0;
    while (out < counts[0] || in < counts[1]) {
        struct end *sender = out < counts[0] ? &ends[0][out] : NULL;
        struct end *receiver = in < counts[1] ? &ends[1][in] : NULL;
        if (sender != NULL && receiver != NULL && same_connection(sender, receiver)) {
            if (!match_blocks(links, report, order, sender, receiver, scratch)) {
                return false;
            }
            out++;
            in++;
            continue;
        }
        // The smaller of the two has no partner.
        struct end key = receiver != NULL ? *receiver : (struct end){0};
        key.block = 0;
        bool send_first = receiver == NULL || (sender != NULL && compare_ends(sender, &key) < 0);
        if (!blame_alone(report, order, send_first ? sender : receiver, send_first)) {
            return false;
        }
        out += send_first ? 1 : 0;
        in += send_first ? 0 : 1;
    }
    return true;
}

// A wait ends at the first signal at or after the step that it names.
static bool resolve_waits(struct links *links, struct weft_program_report *report,
                          const struct weft_program_order *order)
{
    const struct weft_program *program = order->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        links->waits_for[s] = WEFT_NONE;
        if (step->wait_block == WEFT_NONE) {
            continue;
        }
        uint32_t rank = order->rank_of[order->block_of[s]];
        uint32_t first = program->block_first[rank];
        if (step->wait_block >= program->block_first[rank + 1] - first) {
            return weft_program_blame(report, order, s,
                                      "waits for thread block %u, which its gpu does not have",
                                      step->wait_block);
        }
        const struct weft_block *block = &program->blocks[first + step->wait_block];
        if (step->wait_step >= block->step_count) {
            return weft_program_blame(report, order, s,
                                      "waits for step %u of thread block %u, which has %u",
                                      step->wait_step, block->number, block->step_count);
        }
        uint32_t end = block->first_step + block->step_count;
        uint32_t signal = block->first_step + step->wait_step;
        while (signal < end && !program->steps[signal].signals) {
            signal++;
        }
        if (signal == end) {
            return weft_program_blame(report, order, s,
                                      "waits for ever: step %u of thread block %u and those behind "
                                      "it never signal (hasdep=\"1\")",
                                      step->wait_step, block->number);
        }
        links->waits_for[s] = signal;
    }
    return true;
}

// ---- order ----

enum { NEED_BEFORE, NEED_MESSAGE, NEED_SIGNAL, NEED_ROOM, NEED_COUNT };

// What step s needs before it can end; WEFT_NONE where nothing of that kind.
static uint32_t need(const struct weft_program_order *order, uint32_t s, uint32_t which)
{
    switch (which) {
    case NEED_BEFORE:
        return s > order->program->blocks[order->block_of[s]].first_step ? s - 1 : WEFT_NONE;
    case NEED_MESSAGE:
        return order->got_from[s];
    case NEED_SIGNAL:
        return order->waits_for[s];
    default:
        return order->window_from[s];
    }
}

// Steps in an order that gives each what it needs; their number, less than all where they wait in a
// circle.
static uint32_t sort_steps(uint32_t *sequence, uint32_t *missing,
                           const struct weft_program_order *order, uint32_t kinds,
                           struct weft_arena scratch)
{
    uint32_t count = order->program->step_count;
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)count + 2);
    for (uint32_t s = 0; s < count; s++) {
        missing[s] = 0;
        for (uint32_t k = 0; k < kinds; k++) {
            uint32_t other = need(order, s, k);
            if (other != WEFT_NONE) {
                missing[s]++;
                first[other + 2]++;
            }
        }
    }
    for (uint32_t s = 0; s < count; s++) {
        first[s + 2] += first[s + 1];
    }
    uint32_t *waiting = WEFT_NEW_RAW(&scratch, uint32_t, first[count + 1]);
    for (uint32_t s = 0; s < count; s++) {
        for (uint32_t k = 0; k < kinds; k++) {
            uint32_t other = need(order, s, k);
            if (other != WEFT_NONE) {
                waiting[first[other + 1]++] = s;
            }
        }
    }
    uint32_t found = 0;
    for (uint32_t s = 0; s < count; s++) {
        if (missing[s] == 0) {
            sequence[found++] = s;
        }
    }
    for (uint32_t i = 0; i < found; i++) {
        uint32_t s = sequence[i];
        for (uint32_t w = first[s]; w < first[s + 1]; w++) {
            if (--missing[waiting[w]] == 0) {
                sequence[found++] = waiting[w];
            }
        }
    }
    return found;
}

// Of what a stuck step needs one that is stuck, too; there always is one.
static uint32_t stuck_need(uint32_t *kind, const struct weft_program_order *order,
                           const uint32_t *missing, uint32_t kinds, uint32_t s)
{
    for (uint32_t k = kinds; k-- > 0;) {
        uint32_t other = need(order, s, k);
        if (other != WEFT_NONE && missing[other] > 0) {
            *kind = k;
            return other;
        }
    }
    WEFT_ASSERT(false && "a stuck step needs nothing");
    return WEFT_NONE;
}

// Blames one step of a circle and tells how it goes on.
static bool blame_circle(struct weft_program_report *report, const struct weft_program_order *order,
                         const uint32_t *missing, uint32_t kinds)
{
    static const char *const why[NEED_COUNT] = {
        [NEED_BEFORE] = "comes behind",
        [NEED_MESSAGE] = "receives from",
        [NEED_SIGNAL] = "waits for",
        [NEED_ROOM] = "has no room before",
    };
    uint32_t at = 0;
    while (missing[at] == 0) {
        at++;
    }
    // After as many steps as there are, the walk is in the circle.
    uint32_t kind = 0;
    for (uint32_t i = 0; i < order->program->step_count; i++) {
        at = stuck_need(&kind, order, missing, kinds, at);
    }
    uint32_t start = at;
    uint32_t length = 0;
    do {
        at = stuck_need(&kind, order, missing, kinds, at);
        length++;
    } while (at != start);
    uint32_t next = stuck_need(&kind, order, missing, kinds, start);
    bool receives = weft_block_op_receives(order->program->steps[start].op);
    char place[WEFT_PROGRAM_PLACE];
    return weft_program_blame(report, order, start, "deadlock: it %s %s, in a circle of %u steps%s",
                              why[kind == NEED_MESSAGE && !receives ? NEED_SIGNAL : kind],
                              weft_program_place(place, order, next), length,
                              kinds == NEED_COUNT ? " once connections are full" : "");
}

static void find_owners(struct links *links, const struct weft_program *program)
{
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        for (uint32_t b = program->block_first[rank]; b < program->block_first[rank + 1]; b++) {
            links->rank_of[b] = rank;
            const struct weft_block *block = &program->blocks[b];
            for (uint32_t s = 0; s < block->step_count; s++) {
                links->block_of[block->first_step + s] = b;
            }
        }
    }
}

static bool check_address(struct weft_program_report *report,
                          const struct weft_program_order *order, uint32_t s, bool to)
{
    static const char *const names[] = {"input", "output", "scratch"};
    const struct weft_program *program = order->program;
    const struct weft_block_step *step = &program->steps[s];
    enum weft_block_buffer buffer = to ? step->to_buffer : step->from_buffer;
    uint32_t width = weft_program_width(program, buffer, weft_program_owner(order, s, to));
    uint64_t end = (uint64_t)(to ? step->to : step->from) + step->count;
    if (end > width) {
        return weft_program_blame(report, order, s, "touches chunk %llu of %s, which has %u",
                                  (unsigned long long)end - 1, names[buffer], width);
    }
    return true;
}

// Checks every step against its block and its buffers: a sending step needs a peer to send to,
// moved chunks lie within their buffers.
static bool check_steps(struct weft_program_report *report, const struct weft_program_order *order)
{
    const struct weft_program *program = order->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        const struct weft_block *block = &program->blocks[order->block_of[s]];
        if (weft_block_op_sends(step->op) && block->send_peer == WEFT_NONE) {
            return weft_program_blame(report, order, s,
                                      "sends, and its thread block has no peer "
                                      "to send to");
        }
        if (weft_block_op_receives(step->op) && block->receive_peer == WEFT_NONE) {
            return weft_program_blame(report, order, s,
                                      "receives, and its thread block has no "
                                      "peer to receive from");
        }
        if (step->op >= WEFT_BLOCK_PUT && step->peer >= program->rank_count) {
            return weft_program_blame(report, order, s, "is for gpu %u, which is none", step->peer);
        }
        if (weft_block_op_moves(step->op) && step->count == 0) {
            return weft_program_blame(report, order, s, "moves no chunks");
        }
        if ((weft_block_op_reads_from(step->op) && !check_address(report, order, s, false)) ||
            (weft_block_op_touches_to(step->op) && !check_address(report, order, s, true))) {
            return false;
        }
    }
    return true;
}

// Sorts twice: without the limit of the window and with it, so that a deadlock that comes from full
// connections alone is told apart from one that no buffering would help.
bool weft_program_order(struct weft_program_order *order, struct weft_program_report *report,
                        const struct weft_program *program, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    uint32_t block_count = program->block_first[program->rank_count];
    uint32_t step_count = program->step_count;
    uint32_t *sequence = WEFT_NEW_RAW(arena, uint32_t, step_count);
    struct links links = {
        .block_of = WEFT_NEW(arena, uint32_t, step_count),
        .rank_of = WEFT_NEW(arena, uint32_t, block_count),
        .sent_to = WEFT_NEW_RAW(arena, uint32_t, step_count),
        .got_from = WEFT_NEW_RAW(arena, uint32_t, step_count),
        .waits_for = WEFT_NEW_RAW(arena, uint32_t, step_count),
        .window_from = WEFT_NEW_RAW(arena, uint32_t, step_count),
    };
    for (uint32_t s = 0; s < step_count; s++) {
        links.sent_to[s] = links.got_from[s] = links.window_from[s] = WEFT_NONE;
    }
    find_owners(&links, program);
    *order = (struct weft_program_order){program,         block_count,       links.rank_of,
                                         links.block_of,  links.sent_to,     links.got_from,
                                         links.waits_for, links.window_from, sequence};
    if (!check_steps(report, order) || !match_all(&links, report, order, scratch) ||
        !resolve_waits(&links, report, order) ||
        !weft_program_signals(links.got_from, report, order, scratch)) {
        return false;
    }
    uint32_t *missing = WEFT_NEW_RAW(&scratch, uint32_t, step_count);
    for (uint32_t kinds = NEED_ROOM; kinds <= NEED_COUNT; kinds++) {
        if (sort_steps(sequence, missing, order, kinds, scratch) < step_count) {
            return blame_circle(report, order, missing, kinds);
        }
    }
    return true;
}
