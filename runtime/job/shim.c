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
// Orders one after the other that do not come, after which the controller is not asked any more.
#define SILENT_MAX 3u

struct turn_state {
    bool ready;     // the worker wants to begin
    bool free;      // its ports may turn
    bool announced; // and waits for an order
    bool decided;   // the order has come
    bool lit;       // over its circuit, else over the management network
    bool begun;
    bool ended;
    bool drained;
    uint64_t free_ns;
};

// A circuit that bytes go over now.
struct motion {
    uint32_t turn; // that sends; WEFT_NONE
    int unacked;
    uint64_t since_ns;
};

struct lab_shim {
    struct lab_worker *worker;
    const struct lab_rail_part *part;
    const struct lab_turns *turns;
    uint32_t iteration;
    struct turn_state *states[2]; // of this iteration and the next
    uint32_t *turn_of;            // by operation that begins one; WEFT_NONE
    int socket;
    struct lab_rail_reader reader;
    struct weft_netlink netlink;
    uint32_t planes;
    bool *over_rail;        // by plane and peer: the route of the address of its port
    struct motion *motions; // by plane
    bool (*free)[2];        // by plane: sending and receiving
    uint32_t silent_count;
    uint32_t silent_run; // of them since an order came
    bool draining;
    uint32_t begin_count; // operations that may begin and were not handed out yet
    uint32_t *begins;
};

// ---- ways ----

static bool *way_of(const struct lab_shim *shim, uint32_t plane, uint32_t peer)
{
    return &shim->over_rail[(size_t)plane * shim->part->schedule->rank_count + peer];
}

static bool set_way(struct lab_shim *shim, uint32_t plane, uint32_t peer, bool over_rail)
{
    bool *way = way_of(shim, plane, peer);
    if (*way == over_rail) {
        return true;
    }
    *way = over_rail;
    return lab_management_route(&shim->netlink, peer, plane, over_rail ? plane : shim->planes,
                                shim->worker->error);
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
    shim->planes = part->schedule->plane_count;
    for (uint32_t i = 0; i < 2; i++) {
        shim->states[i] = lab_zeroed(shim->turns->count, sizeof *shim->states[i]);
    }
    shim->begins = lab_zeroed(shim->turns->count, sizeof *shim->begins);
    shim->turn_of = lab_zeroed(worker->program->operation_count, sizeof *shim->turn_of);
    memset(shim->turn_of, 0xff, worker->program->operation_count * sizeof *shim->turn_of);
    for (uint32_t t = 0; t < shim->turns->count; t++) {
        shim->turn_of[shim->turns->turns[t].operation] = t;
    }
    uint32_t n = part->schedule->rank_count;
    shim->over_rail = lab_zeroed((size_t)shim->planes * n, sizeof *shim->over_rail);
    shim->motions = lab_zeroed(shim->planes, sizeof *shim->motions);
    shim->free = lab_zeroed(shim->planes, sizeof *shim->free);
    bool fine = weft_netlink_open(&shim->netlink, NULL, worker->error) && open_controller(shim);
    for (uint32_t p = 0; p < shim->planes && fine; p++) {
        uint32_t output = part->schedule->outputs[p * n + rank];
        shim->motions[p].turn = WEFT_NONE;
        fine = output == WEFT_NONE || set_way(shim, p, output % n, true);
    }
    return fine;
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
    free(shim->motions);
    free(shim->free);
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
    for (uint32_t t = 0; t < shim->turns->count; t++) {
        struct turn_state *state = &shim->states[0][t];
        state->ended = state->ended || shim->turns->turns[t].last == operation;
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
    return !turn->send_turns || set_way(shim, turn->plane, turn->send_to, lit);
}

// An order for a generation that nobody waits for any more is dropped.
static bool take_order(struct lab_shim *shim, const struct lab_rail_message *message)
{
    shim->silent_run = 0;
    for (uint32_t ahead = 0; ahead < 2; ahead++) {
        for (uint32_t t = 0; t < shim->turns->count; t++) {
            const struct lab_turn *turn = &shim->turns->turns[t];
            const struct turn_state *state = &shim->states[ahead][t];
            if (turn->phase != WEFT_NONE && state->announced && !state->decided &&
                generation_of(shim, ahead, turn->phase) == message->generation &&
                !decide(shim, ahead, t, message->verdict == LAB_LIT)) {
                return false;
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

// Announces a phase when all of the rank's turns that wait for it are free, which stand in a row.
static void announce(struct lab_shim *shim, uint32_t ahead, uint32_t t, bool *moved)
{
    const struct lab_turn *turns = shim->turns->turns;
    struct turn_state *states = shim->states[ahead];
    uint32_t phase = turns[t].phase;
    uint32_t first = t >= shim->planes ? t - shim->planes + 1 : 0;
    uint32_t end = t + shim->planes < shim->turns->count ? t + shim->planes : shim->turns->count;
    for (uint32_t i = first; i < end; i++) {
        if (turns[i].phase == phase && !states[i].free) {
            return;
        }
    }
    for (uint32_t i = first; i < end; i++) {
        states[i].announced = states[i].announced || turns[i].phase == phase;
    }
    say(shim, LAB_RAIL_ANNOUNCE, generation_of(shim, ahead, phase), 0);
    *moved = true;
}

// Announces a turn's phase, or gives up waiting for its order.
static bool wait_order(struct lab_shim *shim, uint32_t ahead, uint32_t t, uint64_t now_ns,
                       bool *moved)
{
    struct turn_state *state = &shim->states[ahead][t];
    if (!state->free) {
        state->free = true;
        state->free_ns = now_ns;
        announce(shim, ahead, t, moved);
    }
    bool silent =
        shim->socket < 0 || now_ns - state->free_ns > (uint64_t)shim->part->order_ms * 1000000u;
    if (!silent) {
        return true;
    }
    shim->silent_count++;
    *moved = true;
    if (++shim->silent_run == SILENT_MAX) {
        lose_controller(shim);
    }
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

// The turn whose bytes a plane carries; WEFT_NONE = none.
static uint32_t turn_in_motion(const struct lab_shim *shim, uint32_t plane)
{
    for (uint32_t t = 0; t < shim->turns->count; t++) {
        const struct lab_turn *turn = &shim->turns->turns[t];
        const struct turn_state *state = &shim->states[0][t];
        if (turn->plane == plane && state->begun && !state->drained && turn->stream != WEFT_NONE) {
            return *way_of(shim, plane, turn->send_to) ? t : WEFT_NONE;
        }
    }
    return WEFT_NONE;
}

// The phase that a turn's circuit came with.
static uint32_t phase_before(const struct lab_shim *shim, uint32_t t)
{
    const struct lab_turn *turn = &shim->turns->turns[t];
    uint32_t phase = turn->phase;
    for (uint32_t i = t; i > 0 && phase == WEFT_NONE; i--) {
        const struct lab_turn *before = &shim->turns->turns[i - 1];
        bool same = before->send_to == turn->send_to && before->plane == turn->plane;
        phase = same ? before->phase : WEFT_NONE;
    }
    return phase == WEFT_NONE ? 0 : phase;
}

// A circuit that is said to carry and does not.
static bool check_motion(struct lab_shim *shim, uint32_t plane, uint64_t now_ns)
{
    uint32_t t = turn_in_motion(shim, plane);
    struct motion *motion = &shim->motions[plane];
    if (t == WEFT_NONE) {
        motion->turn = WEFT_NONE;
        return true;
    }
    const struct lab_turn *turn = &shim->turns->turns[t];
    int unacked = unacked_bytes(shim, turn);
    if (motion->turn != t || unacked == 0 || unacked != motion->unacked) {
        *motion = (struct motion){t, unacked, now_ns};
        return true;
    }
    if (now_ns - motion->since_ns < (uint64_t)shim->part->stall_ms * 1000000u) {
        return true;
    }
    say(shim, LAB_RAIL_STALL, generation_of(shim, 0, phase_before(shim, t)),
        now_ns - motion->since_ns);
    return set_way(shim, plane, turn->send_to, false);
}

bool lab_shim_advance(struct lab_shim *shim, uint64_t now_ns, bool *moved)
{
    shim->draining = false;
    if (!read_orders(shim, moved)) {
        return false;
    }
    for (uint32_t p = 0; p < shim->planes; p++) {
        shim->free[p][0] = true;
        shim->free[p][1] = true;
    }
    bool more = shim->iteration + 1 < shim->part->iterations;
    for (uint32_t ahead = 0; ahead < (more ? 2 : 1); ahead++) {
        for (uint32_t t = 0; t < shim->turns->count; t++) {
            const struct lab_turn *turn = &shim->turns->turns[t];
            bool *free = shim->free[turn->plane];
            if (!advance_turn(shim, ahead, t, free, now_ns, moved)) {
                return false;
            }
            free[0] = free[0] && send_is_free(turn, &shim->states[ahead][t]);
            free[1] = free[1] && receive_is_free(turn, &shim->states[ahead][t]);
        }
    }
    for (uint32_t p = 0; p < shim->planes; p++) {
        if (!check_motion(shim, p, now_ns)) {
            return false;
        }
    }
    return true;
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
