// SPDX-License-Identifier: Apache-2.0
// The processes of a contention experiment: one receives all, and one for each job computes and
// sends.
//
// A job sleeps for its compute time, sends its bytes on all its flows, and waits until the last one
// is acknowledged, which it looks for every LOOK_NS (SIOCOUTQ): so the sender's own clock tells the
// iteration, and the receiver only throws bytes away.

#include "contention_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
// How often a sender looks whether its last byte is acknowledged: the error of an iteration's time,
// which is some 100 ms or more.
#define LOOK_NS 100000u
#define TCP_LEVEL 6
#define OPTION_NODELAY 1
#define OPTION_INFO 11
#define OPTION_CONGESTION 13

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(at_ns / NS_PER_S),
                                   .tv_nsec = (long)(at_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static struct sockaddr_in address_of(uint32_t job)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(CONTENTION_PORT),
                                .sin_addr.s_addr = htonl(contention_address(job))};
}

static bool failed(struct weft_error *error, const char *what)
{
    return weft_fail(error, WEFT_IO, "%s: %s", what, strerror(errno));
}

// ---- the receiver ----

// Takes what a flow has brought; the bytes are counted by the kernel and not copied.
static bool drain(int fd, struct weft_error *error)
{
    static const size_t most_bytes = 1u << 20;
    for (;;) {
        // MSG_TRUNC: the bytes are counted and thrown away, not copied.
        ssize_t got = recv(fd, NULL, most_bytes, MSG_TRUNC | MSG_DONTWAIT);
        if (got == 0) {
            close(fd);
            return true;
        }
        if (got < 0) {
            return errno == EAGAIN || errno == ECONNRESET || failed(error, "recv");
        }
    }
}

static bool accept_one(int listener, int epoll, struct weft_error *error)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return failed(error, "accept");
    }
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 || failed(error, "epoll_ctl");
}

bool contention_receive(const struct weft_contention_options *options,
                        struct contention_shared *shared, struct weft_error *error)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    const struct sockaddr_in here = address_of(CONTENTION_RECEIVER);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (listener < 0 || epoll < 0 ||
        bind(listener, (const struct sockaddr *)&here, sizeof here) != 0 ||
        listen(listener, (int)(options->job_count * options->flow_count)) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        return failed(error, "cannot listen");
    }
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            bool fine = events[i].data.fd == listener ? accept_one(listener, epoll, error)
                                                      : drain(events[i].data.fd, error);
            if (!fine) {
                return false;
            }
        }
    }
}

// ---- a sender ----

struct flow {
    int fd;
    uint64_t left_bytes; // of this iteration, not yet in the socket
};

// One flow of a job. Its congestion control is set before it connects, and its mark is the job's
// number, by which MLTCP's statistics are told apart.
static bool connect_flow(struct flow *flow, uint32_t job,
                         const struct weft_contention_options *options,
                         const struct contention_shared *shared, struct weft_error *error)
{
    flow->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in there = address_of(CONTENTION_RECEIVER);
    int on = 1;
    int room = (int)(options->bytes / options->flow_count * 2 + 65536);
    uint32_t mark = job + 1;
    if (flow->fd < 0) {
        return failed(error, "socket");
    }
    if (setsockopt(flow->fd, TCP_LEVEL, OPTION_CONGESTION, shared->congestion,
                   (socklen_t)strlen(shared->congestion)) != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED, "the kernel has no congestion control '%s': %s",
                         shared->congestion, strerror(errno));
    }
    // A buffer for the whole burst, so that the window alone decides when bytes leave. Without root
    // of the machine it grows with the window, up to the namespace's tcp_wmem.
    bool roomy =
        setsockopt(flow->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) == 0 || errno == EPERM;
    if (!roomy || setsockopt(flow->fd, TCP_LEVEL, OPTION_NODELAY, &on, sizeof on) != 0 ||
        setsockopt(flow->fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) != 0) {
        return failed(error, "setsockopt");
    }
    return connect(flow->fd, (const struct sockaddr *)&there, sizeof there) == 0 ||
           failed(error, "cannot connect to the receiver");
}

// Puts as many of an iteration's bytes into the socket as it takes.
static bool push(struct flow *flow, struct weft_error *error)
{
    static const char zeros[65536];
    while (flow->left_bytes > 0) {
        size_t most = flow->left_bytes < sizeof zeros ? (size_t)flow->left_bytes : sizeof zeros;
        ssize_t put = send(flow->fd, zeros, most, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0) {
            return errno == EAGAIN || failed(error, "send");
        }
        flow->left_bytes -= (uint64_t)put;
    }
    return true;
}

// Sends one iteration's bytes and waits for the last acknowledgment.
static bool communicate(struct flow *flows, const struct weft_contention_options *options,
                        struct weft_error *error)
{
    for (uint32_t i = 0; i < options->flow_count; i++) {
        uint64_t share = options->bytes / options->flow_count;
        flows[i].left_bytes = share + (i < options->bytes % options->flow_count ? 1 : 0);
    }
    for (bool busy = true; busy;) {
        busy = false;
        for (uint32_t i = 0; i < options->flow_count; i++) {
            int queued = 0;
            if (!push(&flows[i], error)) {
                return false;
            }
            if (ioctl(flows[i].fd, SIOCOUTQ, &queued) != 0) {
                return failed(error, "SIOCOUTQ");
            }
            busy = busy || queued > 0 || flows[i].left_bytes > 0;
        }
        if (busy) {
            sleep_until(now_ns() + LOOK_NS);
        }
    }
    return true;
}

// Normal, by Box and Muller, within three deviations and never negative in sum.
static double compute_s(struct weft_rng *rng, const struct weft_contention_options *options)
{
    if (options->jitter_s <= 0) {
        return options->compute_s;
    }
    double radius = sqrt(-2 * log(1 - weft_rng_unit(rng)));
    double normal = radius * cos(2 * M_PI * weft_rng_unit(rng));
    double deviation = fmax(-3, fmin(3, normal)) * options->jitter_s;
    return fmax(0, options->compute_s + deviation);
}

static void note_late(struct contention_shared *shared, uint64_t late_ns)
{
    uint64_t before = atomic_load(&shared->late_ns);
    while (late_ns > before && !atomic_compare_exchange_weak(&shared->late_ns, &before, late_ns)) {
    }
}

// What TCP counted on the flows of a job.
static void sum_up(struct weft_contention_job *job, const struct flow *flows, uint32_t flow_count)
{
    for (uint32_t i = 0; i < flow_count; i++) {
        struct tcp_info info;
        socklen_t bytes = sizeof info;
        memset(&info, 0, sizeof info);
        if (getsockopt(flows[i].fd, TCP_LEVEL, OPTION_INFO, &info, &bytes) == 0) {
            job->retransmits += info.tcpi_total_retrans;
            job->ecn_marks += info.tcpi_delivered_ce;
        }
    }
}

// A job: connects, waits for the common begin, then computes and sends for all iterations. Jobs
// begin 1 ms apart, so that their order is not left to the scheduler. It never returns when all
// went well: the connections must live until their statistics have been read.
bool contention_send(uint32_t job, const struct weft_contention_options *options,
                     struct contention_shared *shared, struct weft_error *error)
{
    struct flow flows[WEFT_CONTENTION_FLOWS_MAX];
    for (uint32_t i = 0; i < options->flow_count; i++) {
        if (!connect_flow(&flows[i], job, options, shared, error)) {
            return false;
        }
    }
    struct weft_rng all;
    weft_rng_init(&all, options->seed);
    struct weft_rng rng = weft_rng_split(&all, job);
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->start_ns) == 0) {
        sleep_until(now_ns() + 1000000);
    }
    uint64_t begin_ns = atomic_load(&shared->start_ns) + job * 1000000ull;
    sleep_until(begin_ns);
    for (uint32_t i = 0; i < options->iterations; i++) {
        uint64_t computed_ns = begin_ns + (uint64_t)(compute_s(&rng, options) * 1e9);
        sleep_until(computed_ns);
        note_late(shared, now_ns() - computed_ns);
        if (!communicate(flows, options, error)) {
            return false;
        }
        uint64_t end_ns = now_ns();
        shared->iterations_s[(size_t)job * options->iterations + i] =
            (double)(end_ns - begin_ns) / 1e9;
        begin_ns = end_ns;
    }
    sum_up(&shared->jobs[job], flows, options->flow_count);
    atomic_fetch_add(&shared->done, 1);
    for (;;) {
        pause(); // what the kernel has learned of a connection goes with it
    }
}
