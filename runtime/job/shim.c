// SPDX-License-Identifier: Apache-2.0
// The shim of a rail (shim.h).
//
// The turns of an iteration and of the one that follows have a state each; all that may be done is
// found by walking them in order, port by port. O(turns) a step.

#include "shim.h"
#include "runtime/netlink/netlink.h"
#include "runtime/rails/management.h"
#include "runtime/rails/message.h"
#include "worker_private.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// Between two looks at a socket that drains.
static const uint64_t drain_ns = 100000;

struct turn_state {
    bool ready;     // the worker wants to begin
    bool announced; // and waits for an order
    bool decided;   // the order has come
    bool lit;       // over its circuit, else over the management network
    bool begun;
    bool ended;
    bool drained;
    uint64_t announced_ns;
};

// A circuit that bytes go over now.
struct motion {
    int unacked;
    uint64_t since_ns;
};

struct lab_shim {
    struct lab_worker *worker;
    const struct lab_rail_part *part;
    const struct lab_turns *turns;
    uint32_t iteration;
    struct turn_state *states[2]; // of this iteration and the next
    uint32_t *turn_of;            // by operation; WEFT_NONE
    int socket;
    struct lab_rail_reader reader;
    struct weft_netlink netlink;
    bool *over_rail; // by peer: the route of its address
    struct motion motion;
    uint32_t moving; // the turn that sends; WEFT_NONE
    uint32_t silent_count;
    bool draining;
    uint32_t begin_count; // operations that may begin and were not handed out yet
    uint32_t *begins;
};

// ---- ways ----

static bool set_way(struct lab_shim *shim, uint32_t peer, bool over_rail)
{
    if (shim->over_rail[peer] == over_rail) {
        return true;
    }
    shim->over_rail[peer] = over_rail;
    return lab_management_route(&shim->netlink, peer, over_rail, shim->worker->error);
}

static bool open_controller(struct lab_shim *shim)
{
    const struct lab_peer *self = shim->worker->self;
    struct lab_peer line = {
        .rank = self->rank, .count = self->count, .timeout_ms = self->timeout_ms};
    int on = 1;
    if (!lab_peer_join(&line, &shim->part->controller, shim->worker->error)) {
        return weft_wrap(shim->worker->error, "the rail's controller");
    }
    shim->socket = line.control;
    setsockopt(shim->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
}

bool lab_shim_open(struct lab_shim **opened, struct lab_worker *worker,
                   const struct lab_rail_part *part)
{
    uint32_t rank = worker->self->rank;
    struct lab_shim *shim = lab_zeroed(1, sizeof *shim);
    *opened = shim;
    shim->worker = worker;
    shim->part = part;
    shim->turns = &part->schedule->ranks[rank];
    shim->socket = -1;
    shim->moving = WEFT_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        shim->states[i] = lab_zeroed(shim->turns->count, sizeof *shim->states[i]);
    }
    shim->begins = lab_zeroed(shim->turns->count, sizeof *shim->begins);
    shim->turn_of = lab_zeroed(worker->program->operation_count, sizeof *shim->turn_of);
    memset(shim->turn_of, 0xff, worker->program->operation_count * sizeof *shim->turn_of);
    for (uint32_t t = 0; t < shim->turns->count; t++) {
        shim->turn_of[shim->turns->turns[t].operation] = t;
    }
    shim->over_rail = lab_zeroed(part->schedule->rank_count, sizeof *shim->over_rail);
    uint32_t peer = part->schedule->outputs[rank];
    return weft_netlink_open(&shim->netlink, NULL, worker->error) && open_controller(shim) &&
           (peer == WEFT_NONE || set_way(shim, peer, true));
}

void lab_shim_close(struct lab_shim *shim)
{
    if (shim == NULL) {
        return;
    }
    if (shim->socket >= 0) {
        close(shim->socket);
    }
    weft_netlink_close(&shim->netlink);
    free(shim->states[0]);
    free(shim->states[1]);
    free(shim->begins);
    free(shim->turn_of);
    free(shim->over_rail);
    free(shim);
}

int lab_shim_socket(const struct lab_shim *shim)
{
    return shim->socket;
}

uint32_t lab_shim_silent_count(const struct lab_shim *shim)
{
    return shim->silent_count;
}

void lab_shim_begin(struct lab_shim *shim, uint32_t iteration)
{
    struct turn_state *old = shim->states[0];
    if (iteration > 0) {
        shim->states[0] = shim->states[1];
        shim->states[1] = old;
        memset(old, 0, shim->turns->count * sizeof *old);
    }
    shim->iteration = iteration;
}

bool lab_shim_holds(struct lab_shim *shim, uint32_t operation)
{
    uint32_t t = shim->turn_of[operation];
    if (t == WEFT_NONE || shim->turns->turns[t].passive) {
        return false;
    }
    shim->states[0][t].ready = true;
    return true;
}

void lab_shim_ended(struct lab_shim *shim, uint32_t operation)
{
    uint32_t t = shim->turn_of[operation];
    if (t != WEFT_NONE) {
        shim->states[0][t].ended = true;
    }
}

// ---- ports ----

static bool send_is_free(const struct lab_turn *turn, const struct turn_state *state)
{
    if (turn->send_to == WEFT_NONE) {
        return true;
    }
    return turn->send_beside ? state->decided || !turn->send_turns : state->ended && state->drained;
}

static bool receive_is_free(const struct lab_turn *turn, const struct turn_state *state)
{
    if (!turn->receives) {
        return true;
    }
    return turn->receive_beside ? state->decided || !turn->receive_turns : state->ended;
}

// Bytes of a turn that TCP or the worker still hold.
static int held_bytes(const struct lab_shim *shim, const struct lab_turn *turn)
{
    const struct lab_worker *worker = shim->worker;
    if (turn->stream == WEFT_NONE || turn->send_beside) {
        return 0;
    }
    const struct lab_out *out = &worker->outs[worker->out_of_stream[turn->stream]];
    int unacked = 0;
    if (out->begin != out->end) {
        return INT32_MAX;
    }
    return ioctl(out->socket, SIOCOUTQ, &unacked) == 0 ? unacked : 0;
}

static int unacked_bytes(const struct lab_shim *shim, const struct lab_turn *turn)
{
    const struct lab_worker *worker = shim->worker;
    int unacked = 0;
    const struct lab_out *out = &worker->outs[worker->out_of_stream[turn->stream]];
    return ioctl(out->socket, SIOCOUTQ, &unacked) == 0 ? unacked : 0;
}

// ---- the controller ----

static void lose_controller(struct lab_shim *shim)
{
    if (shim->socket >= 0) {
        close(shim->socket);
        shim->socket = -1;
    }
}

static void say(struct lab_shim *shim, enum lab_rail_kind kind, uint64_t generation,
                uint64_t after_ns)
{
    const struct lab_rail_message message = {LAB_RAIL_MAGIC, (uint16_t)kind, 0, generation,
                                             after_ns};
    if (shim->socket >= 0 && send(shim->socket, &message, sizeof message,
                                  MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof message) {
        lose_controller(shim);
    }
}

static uint64_t generation_of(const struct lab_shim *shim, uint32_t ahead, uint32_t phase)
{
    return (uint64_t)(shim->iteration + ahead) * shim->part->schedule->phase_count + phase;
}

// Goes on as the controller says, or elsewhere than over the circuit.
static bool decide(struct lab_shim *shim, uint32_t ahead, uint32_t t, bool lit)
{
    const struct lab_turn *turn = &shim->turns->turns[t];
    struct turn_state *state = &shim->states[ahead][t];
    state->decided = true;
    state->lit = lit;
    return !turn->send_turns || set_way(shim, turn->send_to, lit);
}

// An order for a generation that nobody waits for any more is dropped.
static bool take_order(struct lab_shim *shim, const struct lab_rail_message *message)
{
    for (uint32_t ahead = 0; ahead < 2; ahead++) {
        for (uint32_t t = 0; t < shim->turns->count; t++) {
            const struct lab_turn *turn = &shim->turns->turns[t];
            const struct turn_state *state = &shim->states[ahead][t];
            if (turn->phase != WEFT_NONE && state->announced && !state->decided &&
                generation_of(shim, ahead, turn->phase) == message->generation) {
                return decide(shim, ahead, t, message->verdict == LAB_LIT);
            }
        }
    }
    return true;
}

static bool read_orders(struct lab_shim *shim, bool *moved)
{
    char buffer[1024];
    ssize_t got;
    while (shim->socket >= 0 &&
           (got = recv(shim->socket, buffer, sizeof buffer, MSG_DONTWAIT)) != 0) {
        if (got < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                lose_controller(shim);
            }
            return true;
        }
        for (size_t at = 0; at < (size_t)got;) {
            size_t taken = 0;
            bool whole = false;
            if (!lab_rail_take(&shim->reader, buffer + at, (size_t)got - at, &taken, &whole,
                               shim->worker->error)) {
                return false;
            }
            at += taken;
            if (whole && shim->reader.message.kind == LAB_RAIL_ORDER &&
                !take_order(shim, &shim->reader.message)) {
                return false;
            }
        }
        *moved = true;
    }
    lose_controller(shim); // its end is closed
    return true;
}

// ---- turns ----

// Announces a turn's phase, or gives up waiting for its order.
static bool wait_order(struct lab_shim *shim, uint32_t ahead, uint32_t t, uint64_t now_ns,
                       bool *moved)
{
    const struct lab_turn *turn = &shim->turns->turns[t];
    struct turn_state *state = &shim->states[ahead][t];
    if (!state->announced) {
        state->announced = true;
        state->announced_ns = now_ns;
        say(shim, LAB_RAIL_ANNOUNCE, generation_of(shim, ahead, turn->phase), 0);
        *moved = true;
    }
    bool silent = shim->socket < 0 ||
                  now_ns - state->announced_ns > (uint64_t)shim->part->order_ms * 1000000u;
    if (!silent) {
        return true;
    }
    shim->silent_count++;
    *moved = true;
    return decide(shim, ahead, t, false);
}

// What a turn may do, when its ports are free of those before.
static bool advance_turn(struct lab_shim *shim, uint32_t ahead, uint32_t t, const bool free[2],
                         uint64_t now_ns, bool *moved)
{
    const struct lab_turn *turn = &shim->turns->turns[t];
    struct turn_state *state = &shim->states[ahead][t];
    bool waits = turn->phase != WEFT_NONE && !state->decided;
    bool may_turn = (!turn->send_turns || free[0]) && (!turn->receive_turns || free[1]);
    bool wanted = !shim->part->demand || turn->passive || state->ready;
    if (waits && may_turn && wanted && (ahead == 0 || !shim->part->demand) &&
        !wait_order(shim, ahead, t, now_ns, moved)) {
        return false;
    }
    bool may_send = turn->send_to == WEFT_NONE || turn->send_beside || free[0];
    bool may_receive = !turn->receives || turn->receive_beside || free[1];
    if (ahead == 0 && state->ready && !state->begun && may_send && may_receive &&
        (turn->phase == WEFT_NONE || state->decided)) {
        state->begun = true;
        *moved = true;
        shim->begins[shim->begin_count++] = turn->operation;
    }
    if (ahead == 0 && state->ended && !state->drained) {
        state->drained = held_bytes(shim, turn) == 0;
        shim->draining = shim->draining || !state->drained;
        *moved = *moved || state->drained;
    }
    return true;
}

// A circuit that is said to carry and does not.
static bool check_motion(struct lab_shim *shim, uint64_t now_ns)
{
    uint32_t t = 0;
    while (t < shim->turns->count && (!shim->states[0][t].begun || shim->states[0][t].drained ||
                                      shim->turns->turns[t].stream == WEFT_NONE)) {
        t++;
    }
    if (t == shim->turns->count || !shim->over_rail[shim->turns->turns[t].send_to]) {
        shim->moving = WEFT_NONE;
        return true;
    }
    const struct lab_turn *turn = &shim->turns->turns[t];
    int unacked = unacked_bytes(shim, turn);
    if (shim->moving != t || unacked == 0 || unacked != shim->motion.unacked) {
        shim->moving = t;
        shim->motion = (struct motion){unacked, now_ns};
        return true;
    }
    if (now_ns - shim->motion.since_ns < (uint64_t)shim->part->stall_ms * 1000000u) {
        return true;
    }
    uint32_t phase = turn->phase;
    for (uint32_t i = t; i > 0 && phase == WEFT_NONE; i--) {
        const struct lab_turn *before = &shim->turns->turns[i - 1];
        phase = before->send_to == turn->send_to ? before->phase : WEFT_NONE;
    }
    say(shim, LAB_RAIL_STALL, generation_of(shim, 0, phase == WEFT_NONE ? 0 : phase),
        now_ns - shim->motion.since_ns);
    return set_way(shim, turn->send_to, false);
}

bool lab_shim_advance(struct lab_shim *shim, uint64_t now_ns, bool *moved)
{
    bool free[2] = {true, true};
    shim->draining = false;
    if (!read_orders(shim, moved)) {
        return false;
    }
    bool more = shim->iteration + 1 < shim->part->iterations;
    for (uint32_t ahead = 0; ahead < (more ? 2 : 1); ahead++) {
        for (uint32_t t = 0; t < shim->turns->count; t++) {
            if (!advance_turn(shim, ahead, t, free, now_ns, moved)) {
                return false;
            }
            free[0] = free[0] && send_is_free(&shim->turns->turns[t], &shim->states[ahead][t]);
            free[1] = free[1] && receive_is_free(&shim->turns->turns[t], &shim->states[ahead][t]);
        }
    }
    return check_motion(shim, now_ns);
}

uint32_t lab_shim_next(struct lab_shim *shim)
{
    return shim->begin_count > 0 ? shim->begins[--shim->begin_count] : WEFT_NONE;
}

bool lab_shim_has_settled(const struct lab_shim *shim)
{
    for (uint32_t t = 0; t < shim->turns->count; t++) {
        if (!shim->states[0][t].ended || !shim->states[0][t].drained) {
            return false;
        }
    }
    return true;
}

uint64_t lab_shim_due_ns(const struct lab_shim *shim, uint64_t now_ns)
{
    return shim->draining ? now_ns + drain_ns : UINT64_MAX;
}
