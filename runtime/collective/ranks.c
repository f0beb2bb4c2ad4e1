// SPDX-License-Identifier: Apache-2.0
// Processes that run one schedule together, each a rank, and the coordinator that times and checks
// them.
//
// In every iteration all ranks first say that they are ready, then begin at the coordinator's word.
// An iteration lasts from the first rank's begin to the last one's end, by the clock that all
// processes of a machine share. With checking on, whole numbers, whose sums are exact, and real
// ones, whose sums are held against an error bound, take turns.

#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

// What peers are told to do next, and what they answer.
struct order {
    uint32_t iteration;
    uint32_t values; // enum lab_values
};
struct report {
    uint64_t begin_ns;
    uint64_t end_ns;
    double worst_ratio;
    struct lab_exec_counts counts; // so far
    struct lab_tcp_counts tcp;
    struct lab_mlt_counts mlt;
    uint64_t digest; // of the sums
};

bool lab_ranks_prepare(struct lab_ranks *ranks, const struct weft_schedule *schedule,
                       const struct lab_ranks_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    uint32_t bytes = lab_type_bytes(options->type);
    uint64_t elements = options->size_bytes / bytes;
    if (elements == 0) {
        return weft_fail(error, WEFT_INPUT, "a size of %" PRIu64 " bytes holds no element of %u",
                         options->size_bytes, bytes);
    }
    *ranks = (struct lab_ranks){.schedule = schedule, .options = *options, .scratch = scratch};
    ranks->options.lanes = options->lanes == 0 ? 1 : options->lanes;
    ranks->options.connections.unsent_bytes =
        options->round_by_round ? 1 : options->connections.unsent_bytes;
    ranks->slot_elements = (elements + schedule->chunk_count - 1) / schedule->chunk_count;
    double wanted = (double)ranks->slot_elements * bytes * schedule->slot_count *
                    (options->netns == NULL ? schedule->rank_count : 1.0);
    struct sysinfo machine;
    if (sysinfo(&machine) == 0 &&
        wanted > 0.9 * (double)machine.totalram * (double)machine.mem_unit) {
        char text[WEFT_UNIT_TEXT];
        weft_fail(
            error, WEFT_UNSUPPORTED,
            "%u ranks need %s of memory, more than this machine has; take a smaller collective",
            schedule->rank_count, weft_show_bytes(text, wanted));
        return weft_remedy(error, "size", "%s", "");
    }
    const uint64_t vector_elements = (uint64_t)ranks->slot_elements * schedule->chunk_count;
    if (options->uses_mlt && vector_elements > UINT32_MAX) {
        return weft_fail(error, WEFT_INPUT, "MLT takes up to 16 GiB in one collective");
    }
    ranks->tensors[1] = (uint32_t)vector_elements;
    if (!lab_streams_of(&ranks->streams, schedule, ranks->options.lanes, arena, scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; options->address_stream != NULL && i < ranks->streams.count; i++) {
        options->address_stream(options->context, &ranks->streams.list[i]);
    }
    return true;
}

// ---- a peer ----

struct work {
    const struct lab_ranks *ranks;
    struct lab_peer *self;
    struct lab_connections connections;
    struct lab_exec *exec; // or
    struct lab_mlt *mlt;
    void *memory;
};

// Waits for the coordinator's word; MLT's peers are answered meanwhile.
static bool hear(struct work *work, struct order *order, struct weft_error *error)
{
    return (work->mlt == NULL || lab_mlt_wait(work->mlt, work->self->control, error)) &&
           lab_peer_receive(work->self, LAB_MESSAGE_GO, order, sizeof *order, error);
}

static bool run_once(struct work *work, struct weft_error *error)
{
    return work->mlt != NULL ? lab_mlt_allreduce(work->mlt, work->memory, error)
                             : lab_exec_run(work->exec, work->memory, error);
}

static uint64_t digest_of(const uint32_t *words, size_t count)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < count; i++) {
        digest = weft_hash(digest ^ words[i]);
    }
    return digest;
}

// What can be held against sums made directly.
static bool check_sums(struct work *work, const struct lab_data *data, struct report *report,
                       struct weft_error *error)
{
    const struct lab_ranks *ranks = work->ranks;
    if (work->mlt != NULL && ranks->options.mlt.bound > 0) {
        report->digest = digest_of(work->memory, ranks->tensors[1]);
        return true;
    }
    for (uint32_t i = 0; i < ranks->schedule->chunk_count; i++) {
        if (!lab_check(&report->worst_ratio, work->memory, data, i, error) ||
            !lab_peer_alive(work->self, error)) {
            return false;
        }
    }
    return true;
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

// A fault that a test asked for: the rank kills or stops itself.
static void suffer_fault(const struct lab_ranks_options *options, uint32_t rank, uint32_t iteration)
{
    if (rank == options->fault_rank && iteration == options->fault_iteration) {
        raise(options->fault_stops ? SIGSTOP : SIGKILL);
    }
}

// One iteration of a rank: fills its inputs, runs the schedule between two agreed moments, checks
// its outputs and reports. Inputs are filled anew only where they are checked, as it takes longer
// than the run itself.
static bool do_iteration(struct work *work, const struct order *order, struct weft_error *error)
{
    const struct lab_ranks *ranks = work->ranks;
    const struct lab_ranks_options *options = &ranks->options;
    uint32_t rank = work->self->rank;
    const struct lab_data data = {
        .schedule = ranks->schedule,
        .rank = rank,
        .slot_elements = ranks->slot_elements,
        .values = (enum lab_values)order->values,
        .type = options->type,
    };
    if (options->check || order->iteration == 0) {
        lab_fill(work->memory, &data);
    }
    // All are ready before any begins.
    struct order again;
    if (!lab_peer_send(work->self, LAB_MESSAGE_READY, NULL, 0, error) ||
        !hear(work, &again, error)) {
        return false;
    }
    suffer_fault(options, rank, order->iteration);
    struct report report = {.begin_ns = 0};
    if (rank == options->late_rank) {
        sleep_ns(options->late_ns);
    }
    report.begin_ns = lab_now_ns();
    if (!run_once(work, error)) {
        return false;
    }
    report.end_ns = lab_now_ns();
    if (options->check && !check_sums(work, &data, &report, error)) {
        return false;
    }
    if (work->mlt != NULL) {
        report.mlt = *lab_mlt_counts(work->mlt);
    } else {
        report.counts = *lab_exec_counts(work->exec);
        lab_connections_counts(&report.tcp, &work->connections, rank);
    }
    return lab_peer_send(work->self, LAB_MESSAGE_RESULT, &report, sizeof report, error);
}

// Iterations as the coordinator orders them, until it sends END.
static bool do_all(struct work *work, struct weft_error *error)
{
    for (;;) {
        struct order order;
        if (!hear(work, &order, error)) {
            return error->code == WEFT_OK; // the end
        }
        if (!do_iteration(work, &order, error)) {
            return false;
        }
    }
}

static bool do_tcp(struct work *work, struct weft_error *error)
{
    const struct lab_ranks *ranks = work->ranks;
    struct lab_peer *self = work->self;
    struct weft_arena scratch = ranks->scratch;
    struct weft_arena arena = weft_arena_split(&scratch);
    struct lab_ops ops;
    lab_ops_build(&ops, ranks->schedule, self->rank, &ranks->streams, &arena, scratch);
    const struct lab_exec_options options = {
        .type = ranks->options.type,
        .slot_elements = ranks->slot_elements,
        .slot_count = ranks->schedule->slot_count,
        .segment_bytes = ranks->options.segment_bytes,
        .lanes = ranks->options.lanes,
        .zero_copy = ranks->options.connections.zero_copy,
        .round_by_round = ranks->options.round_by_round,
    };
    struct lab_connection_options connections = ranks->options.connections;
    if (ranks->options.addresses != NULL) {
        connections.own_ip = ranks->options.addresses[self->rank];
    }
    if (!lab_connections_open(&work->connections, self, ranks->streams.list, ranks->streams.count,
                              &connections, error)) {
        return false;
    }
    bool fine = lab_exec_open(&work->exec, self, &work->connections, &ops, &options, error);
    if (fine) {
        fine = do_all(work, error);
        lab_exec_close(work->exec);
    }
    lab_connections_close(&work->connections);
    return fine;
}

static bool do_mlt(struct work *work, struct weft_error *error)
{
    const struct lab_ranks_options *options = &work->ranks->options;
    struct weft_arena scratch = work->ranks->scratch;
    struct lab_mlt_options mlt = options->mlt;
    uint32_t *own = WEFT_NEW(&scratch, uint32_t, work->self->count);
    own[work->self->rank] = options->connections.own_ip;
    mlt.tensor_count = 1;
    mlt.first = work->ranks->tensors;
    mlt.timeout_ms = options->timeout_ms;
    mlt.addresses = options->addresses != NULL         ? options->addresses
                    : options->connections.own_ip != 0 ? own
                                                       : NULL;
    if (!lab_mlt_open(&work->mlt, work->self, &mlt, error)) {
        return false;
    }
    const bool fine = do_all(work, error);
    lab_mlt_close(work->mlt);
    return fine;
}

static bool enter(const struct lab_ranks *ranks, uint32_t rank, struct weft_error *error)
{
    return ranks->options.netns == NULL || lab_peer_enter(ranks->options.netns[rank], error);
}

int lab_rank_main(struct lab_peer *self, void *context)
{
    const struct lab_ranks *ranks = context;
    struct work work = {.ranks = ranks, .self = self};
    struct weft_error error = {.code = WEFT_OK};
    size_t bytes =
        ranks->slot_elements * lab_type_bytes(ranks->options.type) * ranks->schedule->slot_count;
    work.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool fine = work.memory != MAP_FAILED;
    if (!fine) {
        weft_fail(&error, WEFT_UNSUPPORTED, "rank %u: %zu bytes of memory: %s", self->rank, bytes,
                  strerror(errno));
    }
    fine = fine && enter(ranks, self->rank, &error) &&
           (ranks->options.uses_mlt ? do_mlt(&work, &error) : do_tcp(&work, &error));
    if (!fine) {
        lab_peer_fail(self, &error);
    }
    return fine ? 0 : (int)error.code;
}

// ---- the coordinator ----

static double ns_between(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? 1e-9 * (double)(end_ns - begin_ns) : 0;
}

static void add_counts(struct lab_ranks_result *result, const struct report *report)
{
    struct lab_exec_counts *sum = &result->counts;
    const struct lab_exec_counts *counts = &report->counts;
    sum->sent_bytes += counts->sent_bytes;
    sum->received_bytes += counts->received_bytes;
    sum->sends += counts->sends;
    sum->receives += counts->receives;
    sum->waits += counts->waits;
    sum->kept_bytes += counts->kept_bytes;
    sum->direct_bytes += counts->direct_bytes;
    sum->zero_copies += counts->zero_copies;
    sum->copies += counts->copies;
    result->tcp.segments += report->tcp.segments;
    result->tcp.retransmits += report->tcp.retransmits;
    result->tcp.ecn_marks += report->tcp.ecn_marks;
    lab_mlt_counts_add(&result->mlt, &report->mlt);
}

// What all ranks hold, where a share may be missing: the same bits, and no tensor below its bound.
static bool check_ranks(const struct report *reports, uint32_t count, double bound,
                        struct weft_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (reports[i].digest != reports[0].digest) {
            return weft_fail(error, WEFT_INFEASIBLE, "ranks 0 and %u hold different sums", i);
        }
        if (reports[i].mlt.delivered_min_ratio < 1 - bound) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "rank %u: a tensor was delivered to %.6f, but %.6f is the bound", i,
                             reports[i].mlt.delivered_min_ratio, 1 - bound);
        }
    }
    return true;
}

// The time of one iteration, from what the ranks reported.
static struct lab_ranks_time time_of(const struct report *reports, uint32_t count,
                                     uint32_t late_rank)
{
    uint64_t begin_ns = UINT64_MAX;
    uint64_t end_ns = 0;
    struct lab_ranks_time time = {.after_late_s = 0};
    for (uint32_t i = 0; i < count; i++) {
        begin_ns = reports[i].begin_ns < begin_ns ? reports[i].begin_ns : begin_ns;
        end_ns = reports[i].end_ns > end_ns ? reports[i].end_ns : end_ns;
        time.worst_ratio = fmax(time.worst_ratio, reports[i].worst_ratio);
    }
    time.seconds = ns_between(begin_ns, end_ns);
    time.after_late_s =
        late_rank < count ? ns_between(reports[late_rank].begin_ns, end_ns) : time.seconds;
    return time;
}

// Orders all iterations. Each is told twice: the first order lets ranks fill their inputs, the
// second one, when all are ready, lets them begin.
static bool lead_iterations(struct lab_ranks_result *result, struct lab_coordinator *coordinator,
                            const struct lab_ranks *ranks, struct report *reports,
                            struct weft_error *error)
{
    for (uint32_t i = 0; i < ranks->options.iterations; i++) {
        bool whole = !ranks->options.check || i % 2 == 0;
        const struct order order = {i, whole ? LAB_WHOLE : LAB_REAL};
        if (!lab_coordinator_send(coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) ||
            !lab_coordinator_gather(coordinator, LAB_MESSAGE_READY, NULL, 0, error) ||
            !lab_coordinator_send(coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) ||
            !lab_coordinator_gather(coordinator, LAB_MESSAGE_RESULT, reports, sizeof *reports,
                                    error)) {
            return false;
        }
        result->times[i] = time_of(reports, coordinator->count, ranks->options.late_rank);
        if (ranks->options.check && ranks->options.uses_mlt &&
            !check_ranks(reports, coordinator->count, ranks->options.mlt.bound, error)) {
            return false;
        }
    }
    return true;
}

static struct rusage children_usage(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return usage;
}

static double cpu_s_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

bool lab_ranks_lead(struct lab_ranks_result *result, struct lab_coordinator *coordinator,
                    const struct lab_ranks *ranks, struct weft_arena *arena,
                    struct weft_error *error)
{
    const struct rusage before = children_usage();
    *result = (struct lab_ranks_result){
        .iteration_count = ranks->options.iterations,
        .times = WEFT_NEW(arena, struct lab_ranks_time, ranks->options.iterations),
        .slot_elements = ranks->slot_elements,
    };
    struct report *reports = WEFT_NEW(arena, struct report, coordinator->count);
    bool fine = lab_connections_introduce(coordinator, error) &&
                lead_iterations(result, coordinator, ranks, reports, error);
    for (uint32_t i = 0; fine && i < coordinator->count; i++) {
        add_counts(result, &reports[i]);
    }
    lab_coordinator_close(coordinator);
    const struct rusage after = children_usage();
    result->cpu_s = cpu_s_of(&after) - cpu_s_of(&before);
    result->preemptions = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
    return fine;
}

bool lab_ranks_run(struct lab_ranks_result *result, const struct weft_schedule *schedule,
                   const struct lab_ranks_options *options, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error)
{
    struct lab_ranks ranks;
    struct lab_coordinator coordinator;
    const struct lab_peers peers = {
        .count = schedule->rank_count,
        .timeout_ms = options->timeout_ms,
        .run = lab_rank_main,
        .context = &ranks,
    };
    return lab_ranks_prepare(&ranks, schedule, options, arena, scratch, error) &&
           lab_coordinator_fork(&coordinator, &peers, error) &&
           lab_ranks_lead(result, &coordinator, &ranks, arena, error);
}
