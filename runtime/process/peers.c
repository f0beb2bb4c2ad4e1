// SPDX-License-Identifier: Apache-2.0
// The hub's end: seats for its members, their messages, and their end.

#include "coordinator_private.h"

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

static const int poll_ms = 100;
static const uint64_t grace_ns = 5000000000;
// After a first failure: for the failures of others, which may tell more.
static const uint64_t linger_ns = 400000000;
// Members that were told to end get so long before they are killed.
static const uint64_t farewell_ns = 500000000;

// ---- starting ----

static bool open_seats(struct lab_hub *hub, uint32_t count, uint32_t timeout_ms,
                       struct weft_error *error)
{
    *hub = (struct lab_hub){.count = count, .timeout_ms = timeout_ms};
    if (getrandom(&hub->token, sizeof hub->token, 0) != (ssize_t)sizeof hub->token) {
        return weft_fail(error, WEFT_IO, "getrandom: %s", strerror(errno));
    }
    hub->seats = calloc(count, sizeof *hub->seats);
    WEFT_ASSERT(hub->seats != NULL);
    for (uint32_t i = 0; i < count; i++) {
        hub->seats[i].control = -1;
        hub->seats[i].heard_ns = lab_now_ns();
    }
    return true;
}

// The life of a forked member; never returns.
WEFT_NORETURN static void live(struct lab_hub *hub, uint32_t rank, int control, pid_t parent,
                               lab_member_main run, void *context)
{
    // Dies with the hub, even if that went between the fork and here.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    for (uint32_t i = 0; i < hub->count; i++) {
        if (hub->seats[i].control >= 0) {
            close(hub->seats[i].control);
        }
    }
    signal(SIGINT, SIG_IGN); // the hub's terminal is the hub's business
    struct lab_member member = {
        .rank = rank,
        .count = hub->count,
        .token = hub->token,
        .control = control,
        .timeout_ms = hub->timeout_ms,
        .blamed = WEFT_NONE,
    };
    _exit(run(&member, context));
}

static bool seat_by_fork(struct lab_hub *hub, uint32_t rank, lab_member_main run, void *context,
                         struct weft_error *error)
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
        live(hub, rank, ends[1], parent, run, context);
    }
    close(ends[1]);
    hub->seats[rank].pid = pid;
    hub->seats[rank].control = ends[0];
    return true;
}

bool lab_hub_fork(struct lab_hub *hub, uint32_t count, uint32_t timeout_ms, lab_member_main run,
                  void *context, struct weft_error *error)
{
    if (!open_seats(hub, count, timeout_ms, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!seat_by_fork(hub, i, run, context, error)) {
            lab_hub_close(hub);
            return false;
        }
    }
    return true;
}

// Takes one member that came by TCP; false when it is none of ours, which is no failure.
static bool seat_by_tcp(struct lab_hub *hub, int control)
{
    const struct timeval patience = {.tv_sec = 2};
    setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct lab_join join;
    ssize_t got = recv(control, &join, sizeof join, MSG_WAITALL);
    if (got != (ssize_t)sizeof join || join.magic != LAB_MAGIC || join.count != hub->count ||
        join.rank >= hub->count || hub->seats[join.rank].control >= 0 ||
        !lab_send_all(control, &hub->token, sizeof hub->token)) {
        close(control);
        return false;
    }
    const struct timeval none = {0};
    setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    hub->seats[join.rank].control = control;
    hub->seats[join.rank].heard_ns = lab_now_ns();
    return true;
}

static uint32_t first_empty(const struct lab_hub *hub)
{
    uint32_t rank = 0;
    while (rank < hub->count && hub->seats[rank].control >= 0) {
        rank++;
    }
    return rank;
}

bool lab_hub_serve(struct lab_hub *hub, uint32_t count, uint32_t own, int listener,
                   uint32_t timeout_ms, lab_member_main run, void *context,
                   struct weft_error *error)
{
    if (!open_seats(hub, count, timeout_ms, error) ||
        !seat_by_fork(hub, own, run, context, error)) {
        close(listener);
        return false;
    }
    uint64_t end_ns = lab_now_ns() + (uint64_t)timeout_ms * 1000000u;
    while (first_empty(hub) < count && lab_now_ns() < end_ns) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        if (poll(&wait, 1, poll_ms) > 0) {
            int control = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            if (control >= 0 && !seat_by_tcp(hub, control)) {
                continue;
            }
        }
    }
    close(listener);
    uint32_t missing = first_empty(hub);
    if (missing < count) {
        lab_hub_close(hub);
        return weft_fail(error, WEFT_IO, "rank 0: peer %u did not come to the rendezvous in %u ms",
                         missing, timeout_ms);
    }
    return true;
}

// ---- messages ----

static bool read_more(struct lab_seat *seat)
{
    if (seat->pending_room - seat->pending_bytes < 4096) {
        seat->pending_room = seat->pending_room * 2 + 8192;
        seat->pending = realloc(seat->pending, seat->pending_room);
        WEFT_ASSERT(seat->pending != NULL);
    }
    ssize_t got = recv(seat->control, seat->pending + seat->pending_bytes,
                       seat->pending_room - seat->pending_bytes, MSG_DONTWAIT);
    if (got > 0) {
        seat->pending_bytes += (size_t)got;
        seat->heard_ns = lab_now_ns();
    }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// The next whole message of a seat; false: none yet.
static bool next_message(const struct lab_seat *seat, struct lab_head *head)
{
    if (seat->pending_bytes < sizeof *head) {
        return false;
    }
    memcpy(head, seat->pending, sizeof *head);
    return seat->pending_bytes >= sizeof *head + head->length;
}

static void drop_message(struct lab_seat *seat, const struct lab_head *head)
{
    size_t length = sizeof *head + head->length;
    memmove(seat->pending, seat->pending + length, seat->pending_bytes - length);
    seat->pending_bytes -= length;
}

static void note_failure(struct lab_hub *hub, const struct weft_error *error)
{
    if (!hub->failed) {
        hub->failed = true;
        hub->error = *error;
    }
}

static void take_failure(struct lab_hub *hub, struct lab_seat *seat, const struct lab_head *head)
{
    struct lab_failure failure;
    if (head->length != sizeof failure) {
        return;
    }
    memcpy(&failure, seat->pending + sizeof *head, sizeof failure);
    seat->failed = true;
    seat->fail_ns = failure.when_ns;
    seat->blamed = failure.blamed;
    seat->error.code = (enum weft_error_code)failure.code;
    memcpy(seat->error.message, failure.message, sizeof seat->error.message);
    seat->error.message[sizeof seat->error.message - 1] = '\0';
    note_failure(hub, &seat->error);
}

// A rank whose end is closed without a word: why, as far as the system says.
static void note_death(struct lab_hub *hub, uint32_t rank)
{
    struct lab_seat *seat = &hub->seats[rank];
    close(seat->control);
    seat->control = -1;
    seat->died_ns = lab_now_ns();
    if (seat->failed) {
        return;
    }
    seat->failed = true;
    struct weft_error error;
    const char *how = "closed its connection";
    char text[64];
    if (seat->pid > 0 && waitpid(seat->pid, &seat->status, 0) == seat->pid) {
        seat->ended = true;
        snprintf(text, sizeof text,
                 WIFSIGNALED(seat->status) ? "was ended by signal %d" : "ended with exit code %d",
                 WIFSIGNALED(seat->status) ? WTERMSIG(seat->status) : WEXITSTATUS(seat->status));
        how = text;
    }
    weft_fail(&error, WEFT_IO, "rank %u %s while its peers were at work", rank, how);
    if (hub->deaths++ == 0) {
        hub->death = error;
    }
}

// Takes what a seat has to say. True when its message of the kind waited for has been taken.
static bool take_messages(struct lab_hub *hub, uint32_t rank, enum lab_message kind, void *item,
                          size_t item_bytes)
{
    struct lab_seat *seat = &hub->seats[rank];
    struct lab_head head;
    while (next_message(seat, &head)) {
        bool wanted = head.kind == (uint32_t)kind && head.length == item_bytes;
        if (wanted && item_bytes > 0) {
            memcpy(item, seat->pending + sizeof head, item_bytes);
        } else if (head.kind == LAB_MESSAGE_FAIL) {
            take_failure(hub, seat, &head);
        } else if (!wanted && head.kind != LAB_MESSAGE_ALIVE) {
            struct weft_error error;
            weft_fail(&error, WEFT_IO, "rank %u: said message %u of %u bytes, not %u of %zu", rank,
                      head.kind, head.length, (unsigned)kind, item_bytes);
            note_failure(hub, &error);
        }
        drop_message(seat, &head);
        if (wanted) {
            return true;
        }
    }
    return false;
}

static void check_silence(struct lab_hub *hub, const bool *done)
{
    uint64_t limit_ns = (uint64_t)hub->timeout_ms * 1000000u + grace_ns;
    bool hopeful = false;
    for (uint32_t i = 0; i < hub->count; i++) {
        hopeful = hopeful || (!done[i] && !hub->seats[i].failed);
        if (!done[i] && !hub->seats[i].failed && lab_now_ns() - hub->seats[i].heard_ns > limit_ns) {
            struct weft_error error;
            weft_fail(&error, WEFT_IO, "rank %u: nothing was heard of it for %.1f s", i,
                      1e-9 * (double)limit_ns);
            note_failure(hub, &error);
        }
    }
    // Where nobody is left who could tell of a death, it is noticed after all.
    hub->deaf = hub->deaf && hopeful;
}

static bool has_failed(const struct lab_hub *hub)
{
    return hub->failed || (hub->deaths > 0 && !hub->deaf);
}

static void poll_seats(struct lab_hub *hub, struct pollfd *waits)
{
    for (uint32_t i = 0; i < hub->count; i++) {
        waits[i] = (struct pollfd){.fd = hub->seats[i].control, .events = POLLIN};
    }
    if (poll(waits, hub->count, has_failed(hub) ? 20 : poll_ms) <= 0) {
        return;
    }
    for (uint32_t i = 0; i < hub->count; i++) {
        if (waits[i].fd >= 0 && waits[i].revents != 0 && !read_more(&hub->seats[i])) {
            struct lab_head head;
            while (next_message(&hub->seats[i], &head)) {
                if (head.kind == LAB_MESSAGE_FAIL) {
                    take_failure(hub, &hub->seats[i], &head);
                }
                drop_message(&hub->seats[i], &head);
            }
            note_death(hub, i);
        }
    }
}

// Whether seat `a` tells more of the cause than `b` (NULL: none): it blames a peer that has nothing
// to tell itself; else it told first.
static bool tells_more(const struct lab_hub *hub, const struct lab_seat *a,
                       const struct lab_seat *b)
{
    if (b == NULL) {
        return true;
    }
    bool a_last = a->blamed < hub->count && hub->seats[a->blamed].fail_ns == 0;
    bool b_last = b->blamed < hub->count && hub->seats[b->blamed].fail_ns == 0;
    return a_last != b_last ? a_last : a->fail_ns < b->fail_ns;
}

// What a rank told, and which rank's death is behind it. Always false.
static bool tell_failure(const struct lab_hub *hub, struct weft_error *error)
{
    const struct lab_seat *best = NULL;
    for (uint32_t i = 0; i < hub->count; i++) {
        const struct lab_seat *seat = &hub->seats[i];
        if (seat->fail_ns > 0 && tells_more(hub, seat, best)) {
            best = seat;
        }
    }
    const struct weft_error *told = best != NULL ? &best->error : &hub->error;
    if (best == NULL && !hub->failed) {
        *error = hub->death;
    } else if (hub->deaths == 0) {
        *error = *told;
    } else {
        weft_fail(error, told->code, "%s; %s", told->message, hub->death.message);
    }
    return false;
}

bool lab_hub_gather(struct lab_hub *hub, enum lab_message kind, void *items, size_t item_bytes,
                    struct weft_error *error)
{
    bool *done = calloc(hub->count, sizeof *done);
    struct pollfd *waits = calloc(hub->count, sizeof *waits);
    WEFT_ASSERT(done != NULL && waits != NULL);
    uint32_t left = hub->count;
    uint64_t failed_ns = 0;
    const uint64_t linger = hub->at_once ? 0 : linger_ns;
    for (uint32_t i = 0; i < hub->count; i++) {
        hub->seats[i].heard_ns = lab_now_ns();
    }
    while (left > 0 && (failed_ns == 0 || lab_now_ns() - failed_ns < linger)) {
        for (uint32_t i = 0; i < hub->count; i++) {
            char *item = items != NULL ? (char *)items + i * item_bytes : NULL;
            if (!done[i] && take_messages(hub, i, kind, item, item_bytes)) {
                done[i] = true;
                left--;
            }
        }
        if (left > 0) {
            poll_seats(hub, waits);
            check_silence(hub, done);
        }
        if (has_failed(hub) && failed_ns == 0) {
            failed_ns = lab_now_ns();
        }
        if (hub->idle != NULL) {
            hub->idle(hub->idle_context);
        }
    }
    free(done);
    free(waits);
    return !has_failed(hub) || tell_failure(hub, error);
}

bool lab_hub_tell(struct lab_hub *hub, enum lab_message kind, const void *data, size_t length,
                  struct weft_error *error)
{
    for (uint32_t i = 0; i < hub->count; i++) {
        if (hub->seats[i].control < 0 ||
            !lab_send_message(hub->seats[i].control, kind, data, length)) {
            return weft_fail(error, WEFT_IO, "rank %u: has gone", i);
        }
    }
    return true;
}

// ---- the end ----

static bool reap(struct lab_hub *hub)
{
    bool all = true;
    for (uint32_t i = 0; i < hub->count; i++) {
        struct lab_seat *seat = &hub->seats[i];
        if (seat->pid > 0 && !seat->ended) {
            seat->ended = waitpid(seat->pid, &seat->status, WNOHANG) == seat->pid;
            all = all && seat->ended;
        }
    }
    return all;
}

void lab_hub_close(struct lab_hub *hub)
{
    for (uint32_t i = 0; hub->seats != NULL && i < hub->count; i++) {
        struct lab_seat *seat = &hub->seats[i];
        if (seat->control >= 0) {
            bool told = lab_send_message(seat->control, LAB_MESSAGE_END, NULL, 0);
            (void)told;
            close(seat->control);
            seat->control = -1;
        }
    }
    uint64_t end_ns = lab_now_ns() + (hub->failed || hub->deaths > 0 ? 0 : farewell_ns);
    while (hub->seats != NULL && !reap(hub) && lab_now_ns() < end_ns) {
        const struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
    for (uint32_t i = 0; hub->seats != NULL && i < hub->count; i++) {
        struct lab_seat *seat = &hub->seats[i];
        if (seat->pid > 0 && !seat->ended) {
            kill(seat->pid, SIGKILL);
            waitpid(seat->pid, &seat->status, 0);
            seat->ended = true;
        }
        free(seat->pending);
    }
    free(hub->seats);
    hub->seats = NULL;
}
