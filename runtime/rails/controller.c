// SPDX-License-Identifier: Apache-2.0
// The process that re-wires a rail (controller.h): sockets and the switch around phases.c.

#include "controller.h"
#include "message.h"
#include "runtime/ocs/light.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, READ_BYTES = 4096 };
static const uint64_t wait_most_ns = 2000000; // a switch that is to go dark does so on time

bool lab_rail_log_open(struct lab_rail_log **log, struct weft_error *error)
{
    void *memory =
        mmap(NULL, sizeof **log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return weft_fail(error, WEFT_UNSUPPORTED, "shared memory: %s", strerrordesc_np(errno));
    }
    *log = memory;
    return true;
}

// ---- the switch's thread ----

// What the switch is asked for and what it answered, behind the lock.
struct turner {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool asked, ended;
    int answered; // eventfd
    uint32_t *wanted;
    uint32_t *outputs; // after the last change
    bool fine;
    struct weft_error error;
    struct weft_ocs ocs; // the lying one
    struct weft_arena scratch;
};

struct seat {
    int socket; // -1 = gone
    struct lab_rail_reader reader;
};

struct controller {
    const struct lab_control *control;
    struct lab_peer *self;
    struct lab_phases *phases;
    struct lab_lying lying;
    struct turner turner;
    struct seat *seats; // by rank
    int poll;
    struct weft_error *error;
};

// Whether all circuits have light, also those that were said to be there before: the change looks
// at what it changed.
static bool is_lit(struct turner *turner)
{
    struct weft_arena scratch = turner->scratch;
    uint32_t n = turner->ocs.port_count;
    struct weft_ocs_port *ports = WEFT_NEW(&scratch, struct weft_ocs_port, n);
    struct weft_ocs_sight *sights = WEFT_NEW(&scratch, struct weft_ocs_sight, n);
    if (!weft_ocs_statistics(ports, &turner->ocs, &turner->error)) {
        return false;
    }
    weft_ocs_see(sights, &turner->ocs, turner->wanted, ports);
    for (uint32_t o = 0; o < n; o++) {
        if (weft_ocs_is_wrong(sights[o].light)) {
            char words[LAB_NOTICE_TEXT];
            weft_ocs_tell_light(words, sizeof words, o, &sights[o], ports);
            return weft_fail(&turner->error, WEFT_IO, "%s", words);
        }
    }
    return true;
}

// One change; the arena is the thread's alone.
static void turn(struct turner *turner)
{
    struct weft_ocs_change change;
    turner->fine =
        weft_ocs_apply(&change, &turner->ocs, turner->wanted, turner->scratch, &turner->error) &&
        is_lit(turner);
    struct weft_error ignored;
    if (!weft_ocs_read(turner->outputs, &turner->ocs, &ignored)) {
        memcpy(turner->outputs, turner->wanted, turner->ocs.port_count * sizeof *turner->outputs);
    }
}

static void *run_turner(void *context)
{
    struct turner *turner = context;
    pthread_mutex_lock(&turner->lock);
    while (!turner->ended) {
        if (!turner->asked) {
            pthread_cond_wait(&turner->changed, &turner->lock);
            continue;
        }
        turner->asked = false;
        pthread_mutex_unlock(&turner->lock);
        turn(turner);
        eventfd_write(turner->answered, 1);
        pthread_mutex_lock(&turner->lock);
    }
    pthread_mutex_unlock(&turner->lock);
    return NULL;
}

static void ask_switch(void *context, const uint32_t *outputs)
{
    struct controller *controller = context;
    struct turner *turner = &controller->turner;
    pthread_mutex_lock(&turner->lock);
    memcpy(turner->wanted, outputs, turner->ocs.port_count * sizeof *outputs);
    turner->asked = true;
    pthread_cond_signal(&turner->changed);
    pthread_mutex_unlock(&turner->lock);
}

static bool open_turner(struct controller *controller, struct weft_arena *arena)
{
    const struct lab_control *control = controller->control;
    struct turner *turner = &controller->turner;
    uint32_t n = lab_phases_port_count(&control->phases);
    controller->lying = (struct lab_lying){.inner = control->ocs,
                                           .lie = control->lie,
                                           .dark_ns = control->dark_ns,
                                           .answer_ms = control->answer_ms};
    lab_lying_open(&turner->ocs, &controller->lying, control->phases.outputs, arena);
    turner->wanted = WEFT_NEW(arena, uint32_t, n);
    turner->outputs = WEFT_NEW(arena, uint32_t, n);
    turner->scratch = weft_arena_split(arena);
    turner->answered = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&turner->lock, NULL);
    pthread_cond_init(&turner->changed, NULL);
    return (turner->answered >= 0 &&
            pthread_create(&turner->thread, NULL, run_turner, turner) == 0) ||
           weft_fail(controller->error, WEFT_IO, "controller: no thread for the switch");
}

// ---- orders and notices ----

static void lose(struct controller *controller, uint32_t rank)
{
    struct seat *seat = &controller->seats[rank];
    if (seat->socket >= 0) {
        close(seat->socket);
        seat->socket = -1;
        lab_phases_lose(controller->phases, rank, lab_now_ns());
    }
}

// An order is far smaller than a socket's room: a rank that has none does not listen.
static void send_order(void *context, const struct lab_order *order)
{
    struct controller *controller = context;
    const struct lab_rail_message message = {LAB_RAIL_MAGIC, LAB_RAIL_ORDER,
                                             (uint16_t)order->verdict, order->generation, 0};
    int socket = controller->seats[order->rank].socket;
    if (socket >= 0 &&
        send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof message) {
        shutdown(socket, SHUT_RDWR); // epoll tells it, outside of phases.c
    }
}

static void keep_notice(void *context, const struct lab_notice *notice)
{
    const struct controller *controller = context;
    struct lab_rail_log *log = controller->control->log;
    uint32_t count = atomic_load(&log->notice_count);
    if (count >= LAB_NOTICES_MAX) {
        return;
    }
    struct lab_told_notice *told = &log->notices[count];
    told->notice = *notice;
    told->iteration = atomic_load(&log->iteration);
    told->text[0] = '\0';
    if (notice->verdict == LAB_FAILED) {
        snprintf(told->text, sizeof told->text, "%.250s", controller->turner.error.message);
    }
    atomic_store(&log->notice_count, count + 1);
}

static void publish(const struct controller *controller)
{
    struct lab_rail_log *log = controller->control->log;
    struct lab_phases_counts counts = lab_phases_counts(controller->phases);
    atomic_store(&log->changes, counts.changes);
    atomic_store(&log->lit, counts.lit);
    atomic_store(&log->fallen, counts.fallen);
    atomic_store(&log->port_ns, counts.port_ns);
}

// ---- seats ----

static bool watch(struct controller *controller, int socket, uint64_t index)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = index};
    return epoll_ctl(controller->poll, EPOLL_CTL_ADD, socket, &event) == 0 ||
           weft_fail(controller->error, WEFT_IO, "controller: epoll: %s", strerrordesc_np(errno));
}

// Takes a guest that has proved itself, where its seat is free.
static void seat_guest(struct controller *controller, const struct lab_gate *gate,
                       const struct lab_guest *guest, uint32_t *left)
{
    const struct lab_wish *wish = &guest->claim.wish;
    uint32_t n = controller->control->phases.rank_count;
    uint8_t nonce[LAB_KEY_BYTES];
    if (wish->kind != LAB_WISH_SEAT || wish->count != n || wish->id >= n ||
        controller->seats[wish->id].socket >= 0 || !lab_nonce(nonce, controller->error)) {
        lab_gate_refuse(guest);
        return;
    }
    if (lab_gate_admit(gate, guest, nonce)) {
        int on = 1;
        setsockopt(guest->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        controller->seats[wish->id].socket = guest->socket;
        (*left)--;
    }
}

// Until all ranks have their seats.
static bool seat_all(struct controller *controller)
{
    uint32_t left = controller->control->phases.rank_count;
    uint64_t end_ns = lab_now_ns() + (uint64_t)controller->self->timeout_ms * 1000000u;
    struct lab_gate gate;
    struct pollfd waits[2 + LAB_GUESTS_MAX];
    if (!lab_gate_open(&gate, controller->control->listener, &controller->control->key,
                       controller->error)) {
        return false;
    }
    while (left > 0 && lab_now_ns() < end_ns) {
        struct lab_guest guest;
        uint32_t count = lab_gate_waits(&gate, waits);
        waits[count] = (struct pollfd){.fd = controller->self->control, .events = POLLRDHUP};
        poll(waits, count + 1, lab_gate_patience_ms(&gate, 50));
        if (waits[count].revents != 0) {
            break;
        }
        while (lab_gate_look(&gate, &guest)) {
            seat_guest(controller, &gate, &guest, &left);
        }
    }
    lab_gate_close(&gate);
    for (uint32_t r = 0; left == 0 && r < controller->control->phases.rank_count; r++) {
        if (!watch(controller, controller->seats[r].socket, r)) {
            return false;
        }
    }
    return left == 0 ||
           weft_fail(controller->error, WEFT_IO, "controller: %u ranks did not come within %u ms",
                     left, controller->self->timeout_ms);
}

// ---- the loop ----

static void hear(struct controller *controller, uint32_t rank,
                 const struct lab_rail_message *message)
{
    uint64_t now_ns = lab_now_ns();
    if (message->kind == LAB_RAIL_ANNOUNCE) {
        lab_phases_announce(controller->phases, rank, message->generation, now_ns);
    } else if (message->kind == LAB_RAIL_STALL) {
        lab_phases_stall(controller->phases, rank, message->generation, message->after_ns, now_ns);
    }
}

// What a rank has sent; one that says what is no message is sent away.
static void read_seat(struct controller *controller, uint32_t rank)
{
    char buffer[READ_BYTES];
    struct seat *seat = &controller->seats[rank];
    ssize_t got = recv(seat->socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            lose(controller, rank);
        }
        return;
    }
    for (size_t at = 0; at < (size_t)got;) {
        size_t taken = 0;
        bool whole = false;
        struct weft_error ignored;
        if (!lab_rail_take(&seat->reader, buffer + at, (size_t)got - at, &taken, &whole,
                           &ignored)) {
            lose(controller, rank);
            return;
        }
        at += taken;
        if (whole) {
            hear(controller, rank, &seat->reader.message);
        }
    }
}

static void read_switch(struct controller *controller)
{
    eventfd_t count;
    struct turner *turner = &controller->turner;
    if (eventfd_read(turner->answered, &count) == 0) {
        lab_phases_applied(controller->phases, turner->fine, turner->outputs, lab_now_ns());
    }
}

// Until the coordinator ends it. False where it never could.
static void serve(struct controller *controller)
{
    uint32_t n = controller->control->phases.rank_count;
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        uint64_t now_ns = lab_now_ns();
        uint64_t due_ns = lab_phases_tick(controller->phases, now_ns);
        uint64_t wait_ns = due_ns <= now_ns ? 0 : due_ns - now_ns;
        lab_lying_tick(&controller->lying, now_ns);
        publish(controller);
        wait_ns =
            wait_ns < wait_most_ns || !controller->control->lie.is_dark ? wait_ns : wait_most_ns;
        wait_ns = wait_ns < 500000000 ? wait_ns : 500000000;
        const struct timespec timeout = {0, (long)wait_ns};
        int count = epoll_pwait2(controller->poll, events, EVENTS_MAX, &timeout, NULL);
        for (int i = 0; i < count; i++) {
            uint64_t index = events[i].data.u64;
            if (index == n + 1) {
                return;
            }
            if (index == n) {
                read_switch(controller);
            } else if (controller->seats[index].socket >= 0) {
                read_seat(controller, (uint32_t)index);
            }
        }
    }
}

static bool run(struct controller *controller, struct weft_arena *arena)
{
    uint32_t n = controller->control->phases.rank_count;
    const struct lab_phases_sink sink = {send_order, ask_switch, keep_notice, controller};
    controller->seats = WEFT_NEW(arena, struct seat, n);
    for (uint32_t r = 0; r < n; r++) {
        controller->seats[r].socket = -1;
    }
    controller->phases = lab_phases_open(&controller->control->phases, &sink, arena);
    controller->poll = epoll_create1(EPOLL_CLOEXEC);
    if (!open_turner(controller, arena) || !watch(controller, controller->turner.answered, n) ||
        !watch(controller, controller->self->control, n + 1) || !seat_all(controller)) {
        return false;
    }
    serve(controller);
    publish(controller);
    return true;
}

int lab_controller_main(struct lab_peer *self, void *context)
{
    const struct lab_control *control = context;
    struct weft_error error = {.code = WEFT_OK};
    struct weft_arena arena;
    const struct sched_param first = {.sched_priority = 2};
    sched_setscheduler(0, SCHED_FIFO, &first); // where permitted: it is short of work, not of time
    if (!weft_arena_init(&arena, (size_t)256 << 20, &error)) {
        lab_peer_fail(self, &error);
        return 1;
    }
    struct controller controller = {.control = control, .self = self, .error = &error};
    if (!run(&controller, &arena)) {
        lab_peer_fail(self, &error);
        return (int)error.code;
    }
    return 0; // the thread of a switch that does not answer ends with the process
}
