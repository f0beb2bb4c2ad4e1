// SPDX-License-Identifier: Apache-2.0
// The coordinator's end: starts its peers, gathers their messages, and ends them.
//
// Peers are forked, with a socket pair each, or come by TCP to a rendezvous. While the coordinator
// gathers it listens to all: a peer that says it failed, one whose end closes, and one that stays
// silent for too long all end the run. After a first failure it listens a little longer, because
// what the other peers tell often names the cause; the failure that is reported is the one nearest
// to it.

#include "private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// How long runs outlive their failures. None was measured: each trades a quick end for a better
// message.
static const int poll_ms = 100; // between looks at timeouts, and calls of `idle`
// A silent peer gets its own timeout and this much more, so that it can tell the reason itself.
static const uint64_t grace_ns = 5000000000;
// After a first failure: for the failures of others, which may tell more.
static const uint64_t linger_ns = 400000000;
// From the closing of a process's sockets to its end.
static const uint64_t moment_ns = 200000000;
// Peers that were told to end get so long before they are killed.
static const uint64_t farewell_ns = 500000000;

// ---- starting ----

// Records for all peers, and a key for the streams between them.
static bool open_peers(struct lab_coordinator *coordinator, const struct lab_peers *peers,
                       struct weft_error *error)
{
    uint32_t count = peers->count;
    *coordinator = (struct lab_coordinator){.count = count, .timeout_ms = peers->timeout_ms};
    if (!lab_nonce(coordinator->key.bytes, error)) {
        return false;
    }
    coordinator->peers = calloc(count, sizeof *coordinator->peers);
    if (coordinator->peers == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        coordinator->peers[i].control = -1;
        coordinator->peers[i].heard_ns = lab_now_ns();
    }
    return true;
}

struct life {
    const struct lab_peers *peers;
    struct lab_peer *self;
    int code;
};

static bool run_peer(void *context)
{
    struct life *life = context;
    life->code = life->peers->run(life->self, life->peers->context);
    return true;
}

// The life of a forked peer; never returns.
WEFT_NORETURN static void live(const struct lab_coordinator *coordinator, uint32_t rank,
                               int control, pid_t parent, const struct lab_peers *peers)
{
    // Dies with the coordinator, even if that went between the fork and here.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    for (uint32_t i = 0; i < coordinator->count; i++) {
        if (coordinator->peers[i].control >= 0) {
            close(coordinator->peers[i].control);
        }
    }
    signal(SIGINT, SIG_IGN); // the coordinator's terminal is the coordinator's business
    struct lab_peer self = {
        .rank = rank,
        .count = coordinator->count,
        .key = coordinator->key,
        .control = control,
        .timeout_ms = coordinator->timeout_ms,
        .blamed = WEFT_NONE,
    };
    // The guards of the coordinator are not this process's.
    struct life life = {peers, &self, 0};
    struct weft_error error;
    bool fine = weft_guard(run_peer, &life, &error);
    if (!fine) {
        weft_wrap(&error, "rank %u", rank);
        lab_peer_fail(&self, &error);
    }
    _exit(fine ? life.code : weft_exit_code(error.code));
}

// Forks one peer, with a socket pair for its control connection.
static bool start_by_fork(struct lab_coordinator *coordinator, uint32_t rank,
                          const struct lab_peers *peers, struct weft_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return weft_fail(error, WEFT_IO, "rank %u: socketpair: %s; raise ulimit -n", rank,
                         strerror(errno));
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        int why = errno;
        close(ends[0]);
        close(ends[1]);
        return weft_fail(error, WEFT_IO, "rank %u: fork: %s", rank, strerror(why));
    }
    if (pid == 0) {
        close(ends[0]);
        live(coordinator, rank, ends[1], parent, peers);
    }
    close(ends[1]);
    coordinator->peers[rank].pid = pid;
    coordinator->peers[rank].control = ends[0];
    return true;
}

bool lab_coordinator_fork(struct lab_coordinator *coordinator, const struct lab_peers *peers,
                          struct weft_error *error)
{
    if (!open_peers(coordinator, peers, error)) {
        return false;
    }
    for (uint32_t i = 0; i < peers->count; i++) {
        if (!start_by_fork(coordinator, i, peers, error)) {
            lab_coordinator_close(coordinator);
            return false;
        }
    }
    return true;
}

// The first rank that has not come yet; the number of peers where all have.
static uint32_t first_empty(const struct lab_coordinator *coordinator)
{
    uint32_t rank = 0;
    while (rank < coordinator->count && coordinator->peers[rank].control >= 0) {
        rank++;
    }
    return rank;
}

// Gives seats to those that have proved themselves, each once.
static void give_seats(struct lab_coordinator *coordinator, struct lab_gate *gate,
                       const uint8_t nonce[LAB_KEY_BYTES])
{
    struct lab_guest guest;
    while (lab_gate_look(gate, &guest)) {
        const struct lab_wish *wish = &guest.claim.wish;
        if (wish->kind != LAB_WISH_SEAT || wish->count != coordinator->count ||
            wish->id >= wish->count || coordinator->peers[wish->id].control >= 0) {
            lab_gate_refuse(&guest);
        } else if (lab_gate_admit(gate, &guest, nonce)) {
            coordinator->peers[wish->id].control = guest.socket;
            coordinator->peers[wish->id].heard_ns = lab_now_ns();
            lab_watch_line(guest.socket);
        }
    }
}

// Waits at the gate until all seats are taken or the time is up.
static bool seat_all(struct lab_coordinator *coordinator, struct lab_gate *gate,
                     const uint8_t nonce[LAB_KEY_BYTES], struct weft_error *error)
{
    uint64_t end_ns = lab_now_ns() + (uint64_t)coordinator->timeout_ms * 1000000u;
    struct pollfd waits[1 + LAB_GUESTS_MAX];
    while (first_empty(coordinator) < coordinator->count && lab_now_ns() < end_ns) {
        poll(waits, lab_gate_waits(gate, waits), lab_gate_patience_ms(gate, poll_ms));
        give_seats(coordinator, gate, nonce);
    }
    uint32_t missing = first_empty(coordinator);
    return missing == coordinator->count ||
           weft_fail(error, WEFT_IO, "rank 0: peer %u did not come to the rendezvous in %u ms",
                     missing, coordinator->timeout_ms);
}

bool lab_coordinator_serve(struct lab_coordinator *coordinator, const struct lab_peers *peers,
                           uint32_t own, const struct lab_rendezvous *rendezvous,
                           struct weft_error *error)
{
    // The run's key is made of the secret and of a nonce that each welcome tells.
    uint8_t nonce[LAB_KEY_BYTES];
    if (!lab_nonce(nonce, error) || !open_peers(coordinator, peers, error)) {
        return false;
    }
    coordinator->key = lab_key_derive(&rendezvous->key, nonce);
    // The peer is forked before the listener is there, which it would keep open.
    bool fine = start_by_fork(coordinator, own, peers, error);
    int listener = fine ? lab_rendezvous_listen(rendezvous, error) : -1;
    struct lab_gate gate = {.listener = -1};
    fine = listener >= 0 && lab_gate_open(&gate, listener, &rendezvous->key, error) &&
           seat_all(coordinator, &gate, nonce, error);
    lab_gate_close(&gate);
    if (listener >= 0) {
        lab_rendezvous_leave(rendezvous);
    }
    if (!fine) {
        lab_coordinator_close(coordinator);
    }
    return fine;
}

// ---- messages ----

// Reads what a peer has sent into its record, which grows up to one message; false when its end is
// closed, or there is no memory to hear it.
static bool read_more(struct lab_peer_record *peer)
{
    const size_t most = sizeof(struct lab_head) + LAB_MESSAGE_MAX;
    if (peer->pending_bytes == peer->pending_room) {
        size_t room = peer->pending_room * 2 + 1024;
        room = room < most ? room : most;
        char *pending = room > peer->pending_room ? realloc(peer->pending, room) : NULL;
        if (pending == NULL) {
            return false;
        }
        peer->pending = pending;
        peer->pending_room = room;
    }
    ssize_t got = recv(peer->control, peer->pending + peer->pending_bytes,
                       peer->pending_room - peer->pending_bytes, MSG_DONTWAIT);
    if (got > 0) {
        peer->pending_bytes += (size_t)got;
    }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// The next whole message of a peer; false: none yet.
static bool next_message(const struct lab_peer_record *peer, struct lab_head *head)
{
    if (peer->pending_bytes < sizeof *head) {
        return false;
    }
    memcpy(head, peer->pending, sizeof *head);
    return peer->pending_bytes >= sizeof *head + head->length;
}

static void drop_message(struct lab_peer_record *peer, const struct lab_head *head)
{
    size_t length = sizeof *head + head->length;
    memmove(peer->pending, peer->pending + length, peer->pending_bytes - length);
    peer->pending_bytes -= length;
    peer->heard_ns = lab_now_ns(); // by whole messages: one that trickles is not heard of
}

// Remembers the first failure alone.
static void note_failure(struct lab_coordinator *coordinator, const struct weft_error *error)
{
    if (!coordinator->failed) {
        coordinator->failed = true;
        coordinator->error = *error;
    }
}

// A peer has said that it failed: why, when, and which peer it blames.
static void take_failure(struct lab_coordinator *coordinator, struct lab_peer_record *peer,
                         const struct lab_head *head)
{
    struct lab_failure failure;
    if (head->length != sizeof failure) {
        return;
    }
    memcpy(&failure, peer->pending + sizeof *head, sizeof failure);
    peer->failed = true;
    peer->fail_ns = failure.when_ns;
    peer->blamed = failure.blamed;
    // No failure is WEFT_OK, which would end the run with exit code 0.
    bool known = failure.code >= WEFT_INFEASIBLE && failure.code <= WEFT_STOPPED;
    bool silent = failure.message[0] == '\0';
    weft_fail(&peer->error, known ? (enum weft_error_code)failure.code : WEFT_IO, "%.*s",
              (int)sizeof failure.message - 1,
              silent ? "a rank failed and does not say why" : failure.message);
    note_failure(coordinator, &peer->error);
}

// Whether a forked peer whose end is closed has ended: within a moment it has, unless it closed
// that end alone.
static bool wait_shortly(struct lab_peer_record *peer)
{
    const struct timespec pause = {0, 2000000};
    for (uint64_t end_ns = lab_now_ns() + moment_ns; !peer->ended && lab_now_ns() < end_ns;) {
        peer->ended = waitpid(peer->pid, &peer->status, WNOHANG) == peer->pid;
        if (!peer->ended) {
            nanosleep(&pause, NULL);
        }
    }
    return peer->ended;
}

// A rank whose end is closed without a word: why, as far as the system says.
static void note_death(struct lab_coordinator *coordinator, uint32_t rank)
{
    struct lab_peer_record *peer = &coordinator->peers[rank];
    close(peer->control);
    peer->control = -1;
    peer->died_ns = lab_now_ns();
    if (peer->failed) {
        return;
    }
    peer->failed = true;
    struct weft_error error;
    const char *how = "closed its connection";
    char text[64];
    if (peer->pid > 0 && wait_shortly(peer)) {
        snprintf(text, sizeof text,
                 WIFSIGNALED(peer->status) ? "was ended by signal %d" : "ended with exit code %d",
                 WIFSIGNALED(peer->status) ? WTERMSIG(peer->status) : WEXITSTATUS(peer->status));
        how = text;
    }
    weft_fail(&error, WEFT_IO, "rank %u %s while its peers were at work", rank, how);
    if (coordinator->deaths++ == 0) {
        coordinator->death = error;
    }
}

// Takes what a peer has to say. True when its message of the kind waited for has been taken.
static bool take_messages(struct lab_coordinator *coordinator, uint32_t rank, enum lab_message kind,
                          void *item, size_t item_bytes)
{
    struct lab_peer_record *peer = &coordinator->peers[rank];
    struct lab_head head = {0};
    WEFT_ASSERT(item_bytes <= LAB_MESSAGE_MAX);
    while (next_message(peer, &head)) {
        bool wanted = head.kind == (uint32_t)kind && head.length == item_bytes;
        if (wanted && item_bytes > 0) {
            memcpy(item, peer->pending + sizeof head, item_bytes);
        } else if (head.kind == LAB_MESSAGE_FAIL) {
            take_failure(coordinator, peer, &head);
        } else if (!wanted && head.kind != LAB_MESSAGE_ALIVE) {
            struct weft_error error;
            weft_fail(&error, WEFT_IO, "rank %u: said message %u of %u bytes, not %u of %zu", rank,
                      head.kind, head.length, (unsigned)kind, item_bytes);
            note_failure(coordinator, &error);
        }
        drop_message(peer, &head);
        if (wanted) {
            return true;
        }
    }
    if (peer->pending_bytes >= sizeof head && head.length > LAB_MESSAGE_MAX && !peer->failed) {
        struct weft_error error;
        weft_fail(&error, WEFT_IO, "rank %u: begins a message of %u bytes; none has above %zu",
                  rank, head.length, LAB_MESSAGE_MAX);
        note_failure(coordinator, &error);
        peer->failed = true;
    }
    return false;
}

// Peers that have said nothing for their timeout and grace_ns have failed.
static void check_silence(struct lab_coordinator *coordinator, const bool *done)
{
    uint64_t limit_ns = (uint64_t)coordinator->timeout_ms * 1000000u + grace_ns;
    bool hopeful = false;
    for (uint32_t i = 0; i < coordinator->count; i++) {
        hopeful = hopeful || (!done[i] && !coordinator->peers[i].failed);
        if (!done[i] && !coordinator->peers[i].failed &&
            lab_now_ns() - coordinator->peers[i].heard_ns > limit_ns) {
            struct weft_error error;
            weft_fail(&error, WEFT_IO, "rank %u: nothing was heard of it for %.1f s", i,
                      1e-9 * (double)limit_ns);
            note_failure(coordinator, &error);
        }
    }
    // Where nobody is left who could tell of a death, it is noticed after all.
    coordinator->deaf = coordinator->deaf && hopeful;
}

static void check_stop(struct lab_coordinator *coordinator)
{
    if (weft_stopped(coordinator->stop)) {
        struct weft_error error;
        weft_fail(&error, WEFT_IO, "stopped");
        note_failure(coordinator, &error);
    }
}

static bool has_failed(const struct lab_coordinator *coordinator)
{
    return coordinator->failed || (coordinator->deaths > 0 && !coordinator->deaf);
}

// Waits for any peer to say something. Of a peer whose end closes, what it said before is taken
// first, because a failure that it told explains its death.
static void poll_peers(struct lab_coordinator *coordinator, struct pollfd *waits)
{
    for (uint32_t i = 0; i < coordinator->count; i++) {
        waits[i] = (struct pollfd){.fd = coordinator->peers[i].control, .events = POLLIN};
    }
    if (poll(waits, coordinator->count, has_failed(coordinator) ? 20 : poll_ms) <= 0) {
        return;
    }
    for (uint32_t i = 0; i < coordinator->count; i++) {
        if (waits[i].fd >= 0 && waits[i].revents != 0 && !read_more(&coordinator->peers[i])) {
            struct lab_head head;
            while (next_message(&coordinator->peers[i], &head)) {
                if (head.kind == LAB_MESSAGE_FAIL) {
                    take_failure(coordinator, &coordinator->peers[i], &head);
                }
                drop_message(&coordinator->peers[i], &head);
            }
            note_death(coordinator, i);
        }
    }
}

// Whether peer `a` tells more of the cause than `b` (NULL: none): it blames a peer that has nothing
// to tell itself; else it told first.
static bool tells_more(const struct lab_coordinator *coordinator, const struct lab_peer_record *a,
                       const struct lab_peer_record *b)
{
    if (b == NULL) {
        return true;
    }
    bool a_last = a->blamed < coordinator->count && coordinator->peers[a->blamed].fail_ns == 0;
    bool b_last = b->blamed < coordinator->count && coordinator->peers[b->blamed].fail_ns == 0;
    return a_last != b_last ? a_last : a->fail_ns < b->fail_ns;
}

// What a rank told, and which rank's death is behind it. Always false.
static bool tell_failure(const struct lab_coordinator *coordinator, struct weft_error *error)
{
    const struct lab_peer_record *best = NULL;
    for (uint32_t i = 0; i < coordinator->count; i++) {
        const struct lab_peer_record *peer = &coordinator->peers[i];
        if (peer->fail_ns > 0 && tells_more(coordinator, peer, best)) {
            best = peer;
        }
    }
    const struct weft_error *told = best != NULL ? &best->error : &coordinator->error;
    if (best == NULL && !coordinator->failed) {
        *error = coordinator->death;
    } else if (coordinator->deaths == 0) {
        *error = *told;
    } else {
        weft_fail(error, told->code, "%s; %s", told->message, coordinator->death.message);
    }
    return false;
}

bool lab_coordinator_gather(struct lab_coordinator *coordinator, enum lab_message kind, void *items,
                            size_t item_bytes, struct weft_error *error)
{
    bool *done = calloc(coordinator->count, sizeof *done);
    struct pollfd *waits = calloc(coordinator->count, sizeof *waits);
    if (done == NULL || waits == NULL) {
        free(done);
        free(waits);
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory");
    }
    uint32_t left = coordinator->count;
    uint64_t failed_ns = 0;
    const uint64_t linger = coordinator->at_once ? 0 : linger_ns;
    for (uint32_t i = 0; i < coordinator->count; i++) {
        coordinator->peers[i].heard_ns = lab_now_ns();
    }
    while (left > 0 && (failed_ns == 0 || lab_now_ns() - failed_ns < linger)) {
        for (uint32_t i = 0; i < coordinator->count; i++) {
            char *item = items != NULL ? (char *)items + i * item_bytes : NULL;
            if (!done[i] && take_messages(coordinator, i, kind, item, item_bytes)) {
                done[i] = true;
                left--;
            }
        }
        if (left > 0) {
            poll_peers(coordinator, waits);
            check_silence(coordinator, done);
            check_stop(coordinator);
        }
        if (has_failed(coordinator) && failed_ns == 0) {
            failed_ns = lab_now_ns();
        }
        if (coordinator->idle != NULL) {
            coordinator->idle(coordinator->idle_context);
        }
    }
    free(done);
    free(waits);
    return !has_failed(coordinator) || tell_failure(coordinator, error);
}

bool lab_coordinator_send(struct lab_coordinator *coordinator, enum lab_message kind,
                          const void *data, size_t length, struct weft_error *error)
{
    for (uint32_t i = 0; i < coordinator->count; i++) {
        if (coordinator->peers[i].control < 0 ||
            !lab_send_message(coordinator->peers[i].control, kind, data, length)) {
            return weft_fail(error, WEFT_IO, "rank %u: has gone", i);
        }
    }
    return true;
}

// ---- the end ----

// Collects the peers that have ended; true when none is left that has not.
static bool reap(struct lab_coordinator *coordinator)
{
    bool all = true;
    for (uint32_t i = 0; i < coordinator->count; i++) {
        struct lab_peer_record *peer = &coordinator->peers[i];
        if (peer->pid > 0 && !peer->ended) {
            peer->ended = waitpid(peer->pid, &peer->status, WNOHANG) == peer->pid;
            all = all && peer->ended;
        }
    }
    return all;
}

void lab_coordinator_close(struct lab_coordinator *coordinator)
{
    for (uint32_t i = 0; coordinator->peers != NULL && i < coordinator->count; i++) {
        struct lab_peer_record *peer = &coordinator->peers[i];
        if (peer->control >= 0) {
            bool told = lab_send_message(peer->control, LAB_MESSAGE_END, NULL, 0);
            (void)told;
            close(peer->control);
            peer->control = -1;
        }
    }
    uint64_t end_ns =
        lab_now_ns() + (coordinator->failed || coordinator->deaths > 0 ? 0 : farewell_ns);
    while (coordinator->peers != NULL && !reap(coordinator) && lab_now_ns() < end_ns) {
        const struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
    for (uint32_t i = 0; coordinator->peers != NULL && i < coordinator->count; i++) {
        struct lab_peer_record *peer = &coordinator->peers[i];
        if (peer->pid > 0 && !peer->ended) {
            kill(peer->pid, SIGKILL);
            waitpid(peer->pid, &peer->status, 0);
            peer->ended = true;
        }
        free(peer->pending);
    }
    free(coordinator->peers);
    coordinator->peers = NULL;
}
