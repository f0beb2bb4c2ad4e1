// SPDX-License-Identifier: Apache-2.0
// A worker: one process for each server that runs its operations of a task graph, iteration by
// iteration.
//
// One thread: it reads what has come, starts what may begin, writes what sockets take, and waits by
// epoll until a socket or a timer is due. Compute is a timer, one task at a time on a device.
// Failures of peers and links are noticed here: a connection that closes, bytes that stay
// unacknowledged, a port that loses its carrier.

#include "worker_private.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Small fractions of the stalls that are looked for (stall_ms, 5 s by default). Not measured.
static const uint64_t wait_most_ns = 50000000;
static const uint64_t check_every_ns = 20000000;
static const uint64_t watcher_index = UINT64_MAX - 1; // among what epoll tells
static const uint64_t shim_index = UINT64_MAX - 2;
enum { EVENTS_MAX = 64 };

// ---- times ----

bool lab_times_open(struct lab_times *times, uint32_t task_count, struct weft_error *error)
{
    size_t bytes = ((size_t)task_count + 1) * 2 * sizeof(_Atomic uint64_t);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%zu bytes of shared memory: %s", bytes,
                         strerror(errno));
    }
    times->start_ns = memory;
    times->end_ns = times->start_ns + task_count + 1;
    lab_times_reset(times, task_count);
    return true;
}

void lab_times_reset(struct lab_times *times, uint32_t task_count)
{
    for (uint32_t i = 0; i < task_count; i++) {
        atomic_store(&times->start_ns[i], UINT64_MAX);
        atomic_store(&times->end_ns[i], 0);
    }
}

// ---- opening ----

static bool watch(struct lab_worker *worker, int socket, uint64_t index, uint32_t events)
{
    struct epoll_event event = {.events = events | EPOLLET, .data.u64 = index};
    return epoll_ctl(worker->poll, EPOLL_CTL_ADD, socket, &event) == 0 ||
           weft_fail(worker->error, WEFT_IO, "rank %u: epoll: %s", worker->self->rank,
                     strerror(errno));
}

// Registers all connections with epoll, edge-triggered: even numbers are outgoing ones, odd numbers
// incoming ones; the coordinator's end and the watcher of ports have numbers of their own.
static bool open_connections(struct lab_worker *worker)
{
    const struct lab_program *program = worker->program;
    uint32_t rank = worker->self->rank;
    worker->outs = lab_zeroed(program->stream_count, sizeof *worker->outs);
    worker->ins = lab_zeroed(program->stream_count, sizeof *worker->ins);
    worker->out_of_stream = lab_zeroed(program->stream_count, sizeof *worker->out_of_stream);
    worker->poll = epoll_create1(EPOLL_CLOEXEC);
    if (worker->poll < 0) {
        return weft_fail(worker->error, WEFT_IO, "rank %u: epoll: %s", rank, strerror(errno));
    }
    for (uint32_t i = 0; i < program->stream_count; i++) {
        int fd = worker->connections.sockets[i];
        worker->out_of_stream[i] = WEFT_NONE;
        if (program->streams[i].from == rank) {
            worker->out_of_stream[i] = worker->out_count;
            worker->outs[worker->out_count] =
                (struct lab_out){.stream = i, .socket = fd, .writable = true};
            if (!watch(worker, fd, 2 * (uint64_t)worker->out_count++, EPOLLOUT)) {
                return false;
            }
        } else if (program->streams[i].to == rank) {
            worker->ins[worker->in_count] =
                (struct lab_in){.stream = i, .socket = fd, .readable = true};
            if (!watch(worker, fd, 2 * (uint64_t)worker->in_count++ + 1, EPOLLIN)) {
                return false;
            }
        }
    }
    if (worker->watcher >= 0 && !watch(worker, worker->watcher, watcher_index, EPOLLIN)) {
        return false;
    }
    return watch(worker, worker->self->control, UINT64_MAX, EPOLLRDHUP);
}

static void open_operations(struct lab_worker *worker)
{
    const struct lab_program *program = worker->program;
    worker->own.list = lab_zeroed(program->operation_count, sizeof *worker->own.list);
    for (uint32_t i = 0; i < program->operation_count; i++) {
        if (program->operations[i].server == worker->self->rank) {
            worker->own.list[worker->own.count++] = i;
        }
    }
    worker->waits = lab_zeroed(program->operation_count, sizeof *worker->waits);
    worker->chunks_left = lab_zeroed(program->operation_count, sizeof *worker->chunks_left);
    worker->devices = lab_zeroed(program->graph->device_count, sizeof *worker->devices);
    worker->buffers.read = lab_zeroed(LAB_READ_BYTES, 1);
    worker->buffers.fill = lab_zeroed(LAB_FILL_BYTES, 1);
    for (size_t i = 0; worker->work->options.check_transfers && i < LAB_FILL_BYTES; i++) {
        worker->buffers.fill[i] = (char)weft_hash(i);
    }
    lab_collectives_open(worker);
}

// Safe for what has been opened so far, when opening fails.
static void close_worker(struct lab_worker *worker)
{
    lab_shim_close(worker->shim);
    lab_collectives_close(worker);
    for (uint32_t i = 0; i < worker->out_count; i++) {
        free(worker->outs[i].items);
    }
    for (uint32_t i = 0; worker->devices != NULL && i < worker->program->graph->device_count; i++) {
        free(worker->devices[i].queue);
    }
    if (worker->poll >= 0) {
        close(worker->poll);
    }
    if (worker->watcher >= 0) {
        close(worker->watcher);
    }
    free(worker->outs);
    free(worker->ins);
    free(worker->out_of_stream);
    free(worker->own.list);
    free(worker->waits);
    free(worker->chunks_left);
    free(worker->devices);
    free(worker->buffers.read);
    free(worker->buffers.fill);
    free(worker->timers.list);
    lab_connections_close(&worker->connections);
}

// ---- ports ----

static bool watch_carrier(struct lab_worker *worker)
{
    const struct sockaddr_nl own = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    worker->watcher = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    return (worker->watcher >= 0 &&
            bind(worker->watcher, (const struct sockaddr *)&own, sizeof own) == 0) ||
           weft_fail(worker->error, WEFT_IO, "rank %u: watching ports: %s", worker->self->rank,
                     strerror(errno));
}

static bool check_carrier(struct lab_worker *worker)
{
    _Alignas(struct nlmsghdr) char buffer[16384];
    const uint64_t *all = worker->work->options.dark_interfaces;
    uint64_t dark = all != NULL ? all[worker->self->rank] : 0;
    ssize_t got;
    while ((got = recv(worker->watcher, buffer, sizeof buffer, 0)) > 0) {
        int left = (int)got;
        for (const struct nlmsghdr *head = (const void *)buffer; mnl_nlmsg_ok(head, left);
             head = mnl_nlmsg_next(head, &left)) {
            const struct ifinfomsg *link = mnl_nlmsg_get_payload(head);
            bool known = link->ifi_index < 64 && (dark >> link->ifi_index & 1) != 0;
            if (head->nlmsg_type == RTM_NEWLINK && (link->ifi_flags & IFF_UP) != 0 &&
                (link->ifi_flags & IFF_LOWER_UP) == 0 && !known) {
                return weft_fail(worker->error, WEFT_IO, "rank %u: interface %d lost its carrier",
                                 worker->self->rank, link->ifi_index);
            }
        }
    }
    return true;
}

// ---- incoming messages ----

// Adds bytes that may end within a float.
static void add_bytes(struct lab_in *in, const char *data, size_t length)
{
    uint64_t at = in->got - sizeof in->frame;
    size_t cut = at % 4;
    while (cut > 0 && length > 0) {
        in->carry[cut++] = *data++;
        at++;
        length--;
        if (cut == 4) {
            lab_add(in->into + at - 4, in->carry, 1, LAB_FLOAT32);
            cut = 0;
        }
    }
    // The buffer may be at any address; the sum wants floats.
    float values[1024];
    while (length >= 4) {
        size_t bytes = length < sizeof values ? length & ~(size_t)3 : sizeof values;
        memcpy(values, data, bytes);
        lab_add(in->into + at, values, bytes / 4, LAB_FLOAT32);
        at += bytes;
        data += bytes;
        length -= bytes;
    }
    memcpy(in->carry, data, length);
}

// One message's bytes, or some of them; what was taken.
static size_t take(struct lab_worker *worker, struct lab_in *in, const char *data, size_t length,
                   uint64_t now_ns, bool *fine)
{
    size_t taken;
    if (in->got < sizeof in->frame) {
        taken = sizeof in->frame - (size_t)in->got;
        taken = taken < length ? taken : length;
        memcpy((char *)&in->frame + in->got, data, taken);
        in->got += taken;
        if (in->got < sizeof in->frame) {
            return taken;
        }
        *fine = lab_message_begin(worker, in);
    } else {
        uint64_t left = sizeof in->frame + in->frame.bytes - in->got;
        taken = left < length ? (size_t)left : length;
        if (in->into != NULL && in->adds) {
            add_bytes(in, data, taken);
        } else if (in->into != NULL) {
            memcpy(in->into + (in->got - sizeof in->frame), data, taken);
        } else if (in->checks) {
            *fine = lab_message_check(worker, in, data, taken);
        }
        in->got += taken;
    }
    if (*fine && in->got == sizeof in->frame + in->frame.bytes) {
        in->got = 0;
        lab_message_end(worker, &in->frame, now_ns);
    }
    return taken;
}

// Reads what a connection has and takes it message by message. A read that fills the buffer may
// have left more behind, so the connection stays readable; a shorter one has emptied the socket.
static bool drain_in(struct lab_worker *worker, struct lab_in *in, bool *moved)
{
    while (in->readable) {
        ssize_t got = recv(in->socket, worker->buffers.read, LAB_READ_BYTES, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            in->readable = false;
            return true;
        }
        if (got <= 0) {
            return lab_worker_lost_peer(worker, worker->connections.streams[in->stream].from,
                                        got == 0 ? "closed its connection" : strerror(errno));
        }
        *moved = true;
        in->readable = got == (ssize_t)LAB_READ_BYTES;
        uint64_t now_ns = lab_now_ns();
        bool fine = true;
        for (size_t at = 0; at < (size_t)got && fine;) {
            at += take(worker, in, worker->buffers.read + at, (size_t)got - at, now_ns, &fine);
        }
        if (!fine) {
            return false;
        }
    }
    return true;
}

// ---- an iteration ----

static void begin(struct lab_worker *worker)
{
    const struct lab_program *program = worker->program;
    worker->own.left = worker->own.count;
    worker->sent_bytes = 0;
    worker->received_bytes = 0;
    for (uint32_t i = 0; i < worker->own.count; i++) {
        uint32_t operation = worker->own.list[i];
        struct lab_collective *collective = worker->collectives[operation];
        worker->waits[operation] = program->operations[operation].wait_count;
        worker->chunks_left[operation] = program->operations[operation].chunk_count;
        for (uint32_t r = 0; collective != NULL && r < collective->ring_count; r++) {
            collective->rings[r].sent = 0;
            collective->rings[r].received = 0;
        }
        if (collective != NULL) {
            collective->started = false;
        }
    }
    for (uint32_t i = 0; i < worker->in_count; i++) {
        worker->ins[i].readable = true;
    }
}

// Operations that wait for nothing begin with the iteration.
static void start_operations(struct lab_worker *worker)
{
    uint64_t now_ns = lab_now_ns();
    for (uint32_t i = 0; i < worker->own.count; i++) {
        uint32_t operation = worker->own.list[i];
        if (worker->program->operations[operation].wait_count == 0) {
            lab_operation_ready(worker, operation, now_ns);
        }
    }
}

// Runs what is due; returns when the next timer is.
static uint64_t run_timers(struct lab_worker *worker, bool *moved)
{
    for (;;) {
        uint64_t now_ns = lab_now_ns();
        uint32_t first = WEFT_NONE;
        for (uint32_t i = 0; i < worker->timers.count; i++) {
            if (first == WEFT_NONE ||
                worker->timers.list[i].due_ns < worker->timers.list[first].due_ns) {
                first = i;
            }
        }
        if (first == WEFT_NONE) {
            return UINT64_MAX;
        }
        struct lab_timer timer = worker->timers.list[first];
        if (timer.due_ns > now_ns) {
            return timer.due_ns;
        }
        worker->timers.list[first] = worker->timers.list[--worker->timers.count];
        lab_operation_timer(worker, timer.operation, timer.due_ns, now_ns);
        *moved = true;
    }
}

// Begins what the shim lets begin.
static bool ask_shim(struct lab_worker *worker, bool *moved)
{
    uint64_t now_ns = lab_now_ns();
    if (!lab_shim_advance(worker->shim, now_ns, moved)) {
        return false;
    }
    uint32_t operation = WEFT_NONE;
    while ((operation = lab_shim_next(worker->shim)) != WEFT_NONE) {
        lab_operation_begin(worker, operation, now_ns);
    }
    return true;
}

static bool progress(struct lab_worker *worker, bool *moved)
{
    for (uint32_t i = 0; i < worker->in_count; i++) {
        if (worker->ins[i].readable && !drain_in(worker, &worker->ins[i], moved)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < worker->out_count; i++) {
        if (!lab_out_flush(worker, &worker->outs[i], moved)) {
            return false;
        }
    }
    return worker->shim == NULL || ask_shim(worker, moved);
}

// All operations have ended, and all messages are with TCP.
static bool has_ended(const struct lab_worker *worker)
{
    bool ended =
        worker->own.left == 0 && (worker->shim == NULL || lab_shim_has_settled(worker->shim));
    for (uint32_t i = 0; i < worker->out_count && ended; i++) {
        ended = worker->outs[i].begin == worker->outs[i].end;
    }
    return ended;
}

// Waits until a socket has something to say or `due_ns` has come; at most wait_most_ns, so that the
// checks of run_iteration are not put off.
static bool wait_events(struct lab_worker *worker, uint64_t due_ns)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t now_ns = lab_now_ns();
    uint64_t wait_ns = due_ns <= now_ns ? 0 : due_ns - now_ns;
    wait_ns = wait_ns < wait_most_ns ? wait_ns : wait_most_ns;
    const struct timespec timeout = {0, (long)wait_ns};
    int count = epoll_pwait2(worker->poll, events, EVENTS_MAX, &timeout, NULL);
    for (int i = 0; i < count; i++) {
        uint64_t index = events[i].data.u64;
        if (index == UINT64_MAX) {
            if ((events[i].events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
                return weft_fail(worker->error, WEFT_IO,
                                 "rank %u: the process that started it has gone",
                                 worker->self->rank);
            }
        } else if (index == watcher_index) {
            if (!check_carrier(worker)) {
                return false;
            }
        } else if (index == shim_index) {
            continue; // it is read with the next look
        } else if (index % 2 == 0) {
            worker->outs[index / 2].writable = true;
        } else {
            worker->ins[index / 2].readable = true;
        }
    }
    return true;
}

// Runs the operations of one iteration. It has ended when all of them have, and all messages are
// with TCP; nothing is waited for while something moves.
static bool run_iteration(struct lab_worker *worker)
{
    uint64_t checked_ns = lab_now_ns();
    start_operations(worker);
    for (;;) {
        bool moved = false;
        uint64_t due_ns = run_timers(worker, &moved);
        if (!progress(worker, &moved)) {
            return false;
        }
        if (has_ended(worker)) {
            return true;
        }
        if (moved) {
            continue;
        }
        uint64_t now_ns = lab_now_ns();
        if (worker->shim != NULL) {
            uint64_t look_ns = lab_shim_due_ns(worker->shim, now_ns);
            due_ns = look_ns < due_ns ? look_ns : due_ns;
        }
        if (now_ns - checked_ns > check_every_ns) {
            checked_ns = now_ns;
            // Compute may take long, so being there is enough to be alive.
            if (!lab_out_check(worker, now_ns) || !lab_peer_alive(worker->self, worker->error)) {
                return false;
            }
        }
        if (!wait_events(worker, due_ns)) {
            return false;
        }
    }
}

// One iteration as the coordinator orders it: all are ready before any begins. The first one's sums
// are checked, which is why it is not measured.
static bool do_iteration(struct lab_worker *worker, const struct lab_work_order *order)
{
    struct lab_work_report report = {.checked_count = 0};
    struct lab_work_order again;
    const struct lab_work_options *options = &worker->work->options;
    bool check = options->check_all || (options->check && order->iteration == 0);
    begin(worker);
    worker->iteration = order->iteration;
    worker->checked_bytes = 0;
    if (worker->shim != NULL) {
        lab_shim_begin(worker->shim, order->iteration);
    }
    if (check) {
        lab_collectives_fill(worker);
    }
    if (!lab_peer_send(worker->self, LAB_MESSAGE_READY, NULL, 0, worker->error) ||
        !lab_peer_receive(worker->self, LAB_MESSAGE_GO, &again, sizeof again, worker->error) ||
        !run_iteration(worker) ||
        (check && !lab_collectives_check(worker, &report.checked_count))) {
        return false;
    }
    report.sent_bytes = worker->sent_bytes;
    report.received_bytes = worker->received_bytes;
    report.checked_count += worker->checked_bytes;
    report.silent_count = worker->shim != NULL ? lab_shim_silent_count(worker->shim) : 0;
    lab_connections_counts(&report.tcp, &worker->connections, worker->self->rank);
    return lab_peer_send(worker->self, LAB_MESSAGE_RESULT, &report, sizeof report, worker->error);
}

// Until the coordinator says something; ports are watched meanwhile.
static bool wait_hub(struct lab_worker *worker)
{
    struct pollfd waits[] = {{.fd = worker->self->control, .events = POLLIN},
                             {.fd = worker->watcher, .events = POLLIN}};
    while (worker->watcher >= 0 && waits[0].revents == 0) {
        poll(waits, 2, -1);
        if (waits[1].revents != 0 && !check_carrier(worker)) {
            return false;
        }
    }
    return true;
}

// What the process is from its begin on.
static bool settle(const struct lab_work *work, const struct lab_peer *self,
                   struct weft_error *error)
{
    if (work->options.netns != NULL && !lab_peer_enter(work->options.netns[self->rank], error)) {
        return false;
    }
    if (work->options.real_time) {
        const struct sched_param first = {.sched_priority = 1};
        sched_setscheduler(0, SCHED_FIFO, &first);
    }
    return true;
}

// Connects and runs, until the end or (*changes) a change.
static bool live(struct lab_worker *worker, bool *changes)
{
    const struct lab_work *work = worker->work;
    struct lab_connection_options options = work->options.connections;
    *changes = false;
    if (work->options.addresses != NULL) {
        options.own_ip = work->options.addresses[worker->self->rank];
    }
    if (work->options.watch_carrier && !watch_carrier(worker)) {
        return false;
    }
    if (!lab_connections_open(&worker->connections, worker->self, worker->program->streams,
                              worker->program->stream_count, &options, worker->error) ||
        !open_connections(worker)) {
        return false;
    }
    open_operations(worker);
    if (work->options.rail != NULL &&
        (!lab_shim_open(&worker->shim, worker, work->options.rail) ||
         !watch(worker, lab_shim_socket(worker->shim), shim_index, EPOLLIN))) {
        return false;
    }
    for (;;) {
        struct lab_work_order order;
        if (!wait_hub(worker)) {
            return false;
        }
        if (!lab_peer_receive(worker->self, LAB_MESSAGE_GO, &order, sizeof order, worker->error)) {
            return worker->error->code == WEFT_OK; // the end
        }
        if (order.iteration == LAB_WORK_CHANGE) {
            *changes = true;
            return lab_worker_drain(worker) &&
                   lab_peer_send(worker->self, LAB_MESSAGE_READY, NULL, 0, worker->error);
        }
        if (!do_iteration(worker, &order)) {
            return false;
        }
    }
}

int lab_worker_main(struct lab_peer *self, void *context)
{
    const struct lab_work *work = context;
    struct weft_error error = {.code = WEFT_OK};
    bool changes = false;
    bool fine = settle(work, self, &error);
    if (!fine) {
        lab_peer_fail(self, &error);
    }
    for (const struct lab_program *program = work->program; fine && program != NULL;) {
        struct lab_worker worker = {.work = work,
                                    .program = program,
                                    .self = self,
                                    .poll = -1,
                                    .watcher = -1,
                                    .error = &error};
        fine = live(&worker, &changes);
        if (!fine) {
            lab_peer_fail(self, &error);
        }
        close_worker(&worker);
        program = changes ? work->next_program : NULL;
    }
    return fine ? 0 : (int)error.code;
}
