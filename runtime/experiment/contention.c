// SPDX-License-Identifier: Apache-2.0
// Contention for a link from its options to its scores.
//
// A process of its own builds the network, starts a receiver and a sender for each job, waits for
// them and counts; it and all below it are gone when the caller ends, however that happens. The
// question is MLTCP's (arXiv 2402.09589): do jobs that share a link come to send one after the
// other without being told to? A run lasts as long as its iterations do in real time.

#include "contention_private.h"
#include "runtime/netlink/netlink.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PRIORITY 10 // of SCHED_FIFO: above other processes, below the kernel's threads
// One processor carries the packets of 1 Gbit/s with ease (docs/lab-mltcp.md).
#define ONE_PROCESSOR_BPS 125e6
// A run that takes longer than this many times its worst case is stuck.
#define PATIENCE 4.0

// ---- options ----

double weft_contention_alone_s(const struct weft_contention_options *options)
{
    uint64_t segment_bytes = options->mtu_bytes - CONTENTION_HEADER_BYTES;
    uint64_t share_bytes = options->bytes / options->flow_count;
    uint64_t segments = (share_bytes + segment_bytes - 1) / segment_bytes * options->flow_count;
    uint64_t wire_bytes =
        options->bytes + segments * (CONTENTION_HEADER_BYTES + CONTENTION_ETHERNET_BYTES);
    return (double)wire_bytes / options->rate_Bps;
}

bool weft_contention_check(const struct weft_contention_options *options, struct weft_error *error)
{
    WEFT_ASSERT(options->job_count > 0 && options->job_count <= WEFT_CONTENTION_JOBS_MAX);
    WEFT_ASSERT(options->flow_count > 0 && options->flow_count <= WEFT_CONTENTION_FLOWS_MAX);
    if (options->bytes < options->flow_count) {
        weft_fail(error, WEFT_INPUT, "%llu bytes are fewer than %u flows; give each a byte",
                  (unsigned long long)options->bytes, options->flow_count);
        return weft_remedy(error, "bytes", "%u", options->flow_count);
    }
    if (options->mark_packets >= options->queue_packets) {
        weft_fail(error, WEFT_INPUT, "no packet finds %u others in a queue of %u; make it longer",
                  options->mark_packets, options->queue_packets);
        return weft_remedy(error, "queue", "%u", options->mark_packets + 1);
    }
    double run_s = options->iterations *
                   (options->compute_s + weft_contention_alone_s(options) * options->job_count);
    if (run_s > 3600) {
        return weft_fail(error, WEFT_INPUT,
                         "the run would take up to %.0f s of real time; ask for less than an hour",
                         run_s);
    }
    return weft_cc_check(&options->parameters, error);
}

// ---- scores ----

// The mean over jobs counts as converged within this ratio of the ideal.
#define CONVERGED_RATIO 1.05

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void weft_contention_score(struct weft_contention_result *result, uint32_t job_count,
                           uint32_t iteration_count, struct weft_arena scratch)
{
    WEFT_ASSERT(job_count > 0 && iteration_count > 0);
    uint32_t half = iteration_count / 2;
    uint32_t counted = job_count * (iteration_count - half);
    double *late_s = WEFT_NEW(&scratch, double, counted);
    uint32_t filled = 0;
    double sum_s = 0;
    uint32_t converged = 0;
    for (uint32_t i = 0; i < iteration_count; i++) {
        double round_s = 0;
        for (uint32_t job = 0; job < job_count; job++) {
            double one_s = result->iterations_s[(size_t)job * iteration_count + i];
            round_s += one_s / job_count;
            if (i >= half) {
                late_s[filled++] = one_s;
                sum_s += one_s;
            }
        }
        if (round_s > CONVERGED_RATIO * result->ideal_s) {
            converged = i + 1;
        }
    }
    WEFT_ASSERT(filled == counted);
    qsort(late_s, filled, sizeof late_s[0], compare);
    result->mean_s = sum_s / filled;
    result->p99_s = late_s[(size_t)(0.99 * (filled - 1) + 0.5)];
    result->converged_after = converged == iteration_count ? WEFT_NONE : converged;
}

// ---- the run, in a process of its own ----

// What the run mounts and names below /run is nobody else's, and is gone with it.
static bool hide(struct weft_error *error)
{
    if (unshare(CLONE_NEWNS) != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel permits no mount namespace: %s; run it as root, in a "
                         "container with CAP_SYS_ADMIN",
                         strerror(errno));
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("weft", "/run", "tmpfs", 0, "mode=0755") != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "mounts below / cannot be made private: %s; in a chroot bind its folder "
                         "on itself first (mount --bind)",
                         strerror(errno));
    }
    return true;
}

// Keeps all processes, and with them all packets, on one processor: on several, we think, packets
// of one flow wait in several queues and overtake each other while others keep a processor busy.
static void stay_together(const struct weft_contention_options *options)
{
    cpu_set_t all;
    if (options->rate_Bps > ONE_PROCESSOR_BPS || sched_getaffinity(0, sizeof all, &all) != 0 ||
        CPU_COUNT(&all) < 2) {
        return;
    }
    int skip = (int)getpid() % CPU_COUNT(&all);
    for (unsigned i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all) && skip-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

static void report_error(struct contention_shared *shared, const struct weft_error *error)
{
    uint32_t none = 0;
    if (atomic_compare_exchange_strong(&shared->trouble, &none, 2)) {
        shared->error = *error;
        atomic_store(&shared->trouble, 1);
    }
}

// A process in one of the namespaces, which sends or receives and ends. It dies with the caller.
static pid_t start_process(uint32_t job, const struct weft_contention_options *options,
                           struct contention_shared *shared)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) {
        return child;
    }
    struct weft_error error;
    char netns[32];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    const struct sched_param priority = {.sched_priority = PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        atomic_fetch_add(&shared->unscheduled, 1);
    }
    bool fine = weft_netns_enter(contention_netns(netns, job), &error) &&
                (job == CONTENTION_RECEIVER ? contention_receive(options, shared, &error)
                                            : contention_send(job, options, shared, &error));
    if (!fine) {
        weft_wrap(&error, job == CONTENTION_RECEIVER ? "receiver" : "job %u", job);
        report_error(shared, &error);
    }
    _exit(fine ? 0 : 1);
}

static void pause_ms(long wait_ms)
{
    const struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

static bool wait_ready(const struct contention_shared *shared, uint32_t count,
                       struct weft_error *error)
{
    for (uint32_t i = 0; i < 1000; i++) {
        if (atomic_load(&shared->trouble) == 1) {
            *error = shared->error;
            return false;
        }
        if (atomic_load(&shared->ready) >= count) {
            return true;
        }
        pause_ms(10);
    }
    return weft_fail(error, WEFT_IO, "%u of %u processes did not connect within 10 s",
                     count - atomic_load(&shared->ready), count);
}

// Waits until all senders have sent all.
static bool wait_senders(const struct weft_contention_options *options,
                         const struct contention_shared *shared, struct weft_error *error)
{
    double worst_s = options->iterations *
                     (options->compute_s + weft_contention_alone_s(options) * options->job_count);
    for (double left_s = PATIENCE * worst_s + 10; left_s > 0; left_s -= 0.02) {
        int status = 0;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            pause_ms(10); // for its word
            if (atomic_load(&shared->trouble) == 1) {
                *error = shared->error;
                return false;
            }
            return weft_fail(error, WEFT_IO, "a process of the run ended before its time");
        }
        if (atomic_load(&shared->done) == options->job_count) {
            return true;
        }
        pause_ms(20);
    }
    return weft_fail(error, WEFT_IO,
                     "the senders got stuck; the machine may be too slow for this rate");
}

// What MLTCP has learned, by job: sockets carry the job's number as their mark.
static void note_learned(struct contention_shared *shared, const struct weft_cc *cc,
                         const struct weft_contention_options *options, struct weft_arena scratch)
{
    struct weft_cc_connection *list = NULL;
    uint32_t count = 0;
    struct weft_error ignored;
    if (!weft_cc_connections(&list, &count, cc, &scratch, &ignored)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t job = list[i].counts.mark - 1;
        if (list[i].counts.mark >= 1 && job < options->job_count) {
            shared->jobs[job].learned_bytes +=
                (double)list[i].job.iteration_bytes / options->flow_count;
            shared->jobs[job].timeouts += list[i].counts.timeouts;
            if (list[i].counts.peak_cwnd > shared->jobs[job].peak_cwnd) {
                shared->jobs[job].peak_cwnd = list[i].counts.peak_cwnd;
            }
        }
    }
}

static bool run_jobs(struct contention_shared *shared,
                     const struct weft_contention_options *options,
                     const struct contention_network *network, struct weft_error *error)
{
    if (start_process(CONTENTION_RECEIVER, options, shared) < 0) {
        return weft_fail(error, WEFT_IO, "fork: %s", strerror(errno));
    }
    if (!wait_ready(shared, 1, error)) {
        return false;
    }
    for (uint32_t job = 0; job < options->job_count; job++) {
        if (start_process(job, options, shared) < 0) {
            return weft_fail(error, WEFT_IO, "fork: %s", strerror(errno));
        }
    }
    if (!wait_ready(shared, options->job_count + 1, error)) {
        return false;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&shared->start_ns, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec +
                                        CONTENTION_START_NS);
    return wait_senders(options, shared, error) &&
           contention_network_count(&shared->result, network, options, error);
}

// The whole experiment, in the process that its namespaces, mounts and congestion control end with.
static bool run_inside(struct contention_shared *shared,
                       const struct weft_contention_options *options, struct weft_arena scratch,
                       struct weft_error *error)
{
    struct weft_cc cc = {.map = -1, .link = -1};
    struct contention_network network;
    if (!hide(error)) {
        return false;
    }
    stay_together(options);
    snprintf(shared->congestion, sizeof shared->congestion, "%s",
             options->loads ? "weft" : options->congestion);
    if (options->loads) {
        snprintf(shared->congestion, sizeof shared->congestion, "weft%d", (int)getpid());
        if (!weft_cc_open(&cc, shared->congestion, &options->parameters, error)) {
            return false;
        }
    }
    bool fine = contention_network_build(&network, options, error) &&
                run_jobs(shared, options, &network, error);
    if (options->loads) {
        if (fine) {
            note_learned(shared, &cc, options, scratch);
        }
        weft_cc_close(&cc);
    }
    return fine;
}

// The run's numbers from shared memory into `arena`.
static void collect(struct weft_contention_result *result, const struct contention_shared *shared,
                    const struct weft_contention_options *options, struct weft_arena *arena)
{
    uint32_t rounds = options->iterations;
    size_t count = (size_t)options->job_count * rounds;
    double *iterations_s = WEFT_NEW(arena, double, count);
    struct weft_contention_job *jobs =
        WEFT_NEW(arena, struct weft_contention_job, options->job_count);
    memcpy(iterations_s, shared->iterations_s, count * sizeof(double));
    memcpy(jobs, shared->jobs, options->job_count * sizeof *jobs);
    for (uint32_t job = 0; job < options->job_count; job++) {
        const double *own_s = iterations_s + (size_t)job * rounds;
        double sum_s = 0;
        for (uint32_t i = rounds / 2; i < rounds; i++) {
            sum_s += own_s[i];
            jobs[job].longest_s = fmax(jobs[job].longest_s, own_s[i]);
        }
        jobs[job].mean_s = sum_s / (rounds - rounds / 2);
    }
    *result = shared->result;
    result->iterations_s = iterations_s;
    result->jobs = jobs;
    result->late_s = (double)atomic_load(&shared->late_ns) / 1e9;
    result->scheduled = atomic_load(&shared->unscheduled) == 0;
    result->ideal_s = options->compute_s + weft_contention_alone_s(options);
    weft_contention_score(result, options->job_count, rounds, *arena);
}

bool weft_contention_run(struct weft_contention_result *result,
                         const struct weft_contention_options *options, struct weft_arena *arena,
                         struct weft_error *error)
{
    if (!weft_contention_check(options, error) || (options->loads && !weft_cc_capable(error))) {
        return false;
    }
    size_t count = (size_t)options->job_count * options->iterations;
    size_t bytes = sizeof(struct contention_shared) + count * sizeof(double);
    struct contention_shared *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return weft_fail(error, WEFT_IO, "out of memory");
    }
    struct weft_arena scratch = *arena;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct weft_error inside;
        bool fine = getppid() == parent && run_inside(shared, options, scratch, &inside);
        if (!fine) {
            report_error(shared, &inside);
        }
        _exit(fine ? 0 : 1); // and with it all processes below
    }
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    bool fine = child > 0 && status == 0;
    if (fine) {
        collect(result, shared, options, arena);
    } else if (atomic_load(&shared->trouble) == 1) {
        *error = shared->error;
    } else {
        weft_fail(error, WEFT_IO, "the run was ended from outside");
    }
    munmap(shared, bytes);
    return fine;
}
