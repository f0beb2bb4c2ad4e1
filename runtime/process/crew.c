// SPDX-License-Identifier: Apache-2.0
// Processes that run one schedule together.

#include "crew.h"

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

// What members are told to do next, and what they answer.
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
};

bool lab_crew_prepare(struct lab_crew *crew, const struct weft_schedule *schedule,
                      const struct lab_crew_options *options, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    uint32_t bytes = lab_type_bytes(options->type);
    uint64_t elements = options->size_bytes / bytes;
    if (elements == 0) {
        return weft_fail(error, WEFT_INPUT, "a size of %" PRIu64 " bytes holds no element of %u",
                         options->size_bytes, bytes);
    }
    *crew = (struct lab_crew){.schedule = schedule, .options = *options, .scratch = scratch};
    crew->options.lanes = options->lanes == 0 ? 1 : options->lanes;
    crew->options.wire.unsent_bytes = options->round_by_round ? 1 : options->wire.unsent_bytes;
    crew->slot_elements = (elements + schedule->chunk_count - 1) / schedule->chunk_count;
    double wanted = (double)crew->slot_elements * bytes * schedule->slot_count *
                    (options->netns == NULL ? schedule->rank_count : 1.0);
    struct sysinfo machine;
    if (sysinfo(&machine) == 0 &&
        wanted > 0.9 * (double)machine.totalram * (double)machine.mem_unit) {
        char text[WEFT_UNIT_TEXT];
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%u ranks need %s of memory, more than this machine has; take a smaller "
                         "--size",
                         schedule->rank_count, weft_show_bytes(text, wanted));
    }
    if (!lab_streams_of(&crew->streams, &crew->stream_count, &crew->pair_stream, schedule,
                        crew->options.lanes, arena, scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; options->address_stream != NULL && i < crew->stream_count; i++) {
        options->address_stream(options->context, &crew->streams[i]);
    }
    return true;
}

// ---- a member ----

struct work {
    const struct lab_crew *crew;
    struct lab_member *member;
    struct lab_wire wire;
    struct lab_exec *exec;
    void *memory;
};

static void sleep_ns(uint64_t ns)
{
    const struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void suffer_fault(const struct lab_crew_options *options, uint32_t rank, uint32_t iteration)
{
    if (rank == options->fault_rank && iteration == options->fault_iteration) {
        raise(options->fault_stops ? SIGSTOP : SIGKILL);
    }
}

static bool do_iteration(struct work *work, const struct order *order, struct weft_error *error)
{
    const struct lab_crew *crew = work->crew;
    const struct lab_crew_options *options = &crew->options;
    uint32_t rank = work->member->rank;
    enum lab_values values = (enum lab_values)order->values;
    if (options->check || order->iteration == 0) {
        lab_fill(work->memory, crew->schedule, rank, crew->slot_elements, values, options->type);
    }
    // All are ready before any begins.
    struct order again;
    if (!lab_member_say(work->member, LAB_MESSAGE_READY, NULL, 0, error) ||
        !lab_member_hear(work->member, LAB_MESSAGE_GO, &again, sizeof again, error)) {
        return false;
    }
    suffer_fault(options, rank, order->iteration);
    struct report report = {.begin_ns = 0};
    if (rank == options->late_rank) {
        sleep_ns(options->late_ns);
    }
    report.begin_ns = lab_now_ns();
    if (!lab_exec_run(work->exec, work->memory, error)) {
        return false;
    }
    report.end_ns = lab_now_ns();
    for (uint32_t i = 0; options->check && i < crew->schedule->chunk_count; i++) {
        if (!lab_check(&report.worst_ratio, work->memory, crew->schedule, rank, i,
                       crew->slot_elements, values, options->type, error) ||
            !lab_member_alive(work->member, error)) {
            return false;
        }
    }
    report.counts = *lab_exec_counts(work->exec);
    lab_wire_counts(&report.tcp, &work->wire, rank);
    return lab_member_say(work->member, LAB_MESSAGE_RESULT, &report, sizeof report, error);
}

static bool do_all(struct work *work, struct weft_error *error)
{
    const struct lab_crew *crew = work->crew;
    struct lab_member *member = work->member;
    struct weft_arena scratch = crew->scratch;
    struct weft_arena arena = weft_arena_split(&scratch);
    struct lab_ops ops;
    lab_ops_build(&ops, crew->schedule, member->rank, crew->pair_stream, &arena, scratch);
    const struct lab_exec_options options = {
        .type = crew->options.type,
        .slot_elements = crew->slot_elements,
        .segment_bytes = crew->options.segment_bytes,
        .lanes = crew->options.lanes,
        .zero_copy = crew->options.wire.zero_copy,
        .round_by_round = crew->options.round_by_round,
    };
    if (!lab_exec_open(&work->exec, member, &work->wire, &ops, crew->schedule, &options, error)) {
        return false;
    }
    bool fine = true;
    while (fine) {
        struct order order;
        if (!lab_member_hear(member, LAB_MESSAGE_GO, &order, sizeof order, error)) {
            fine = error->code == WEFT_OK; // the end
            break;
        }
        fine = do_iteration(work, &order, error);
    }
    lab_exec_close(work->exec);
    return fine;
}

static bool enter(const struct lab_crew *crew, uint32_t rank, struct weft_error *error)
{
    return crew->options.netns == NULL || lab_member_enter(crew->options.netns[rank], error);
}

int lab_crew_member(struct lab_member *member, void *context)
{
    const struct lab_crew *crew = context;
    struct work work = {.crew = crew, .member = member};
    struct weft_error error = {.code = WEFT_OK};
    size_t bytes =
        crew->slot_elements * lab_type_bytes(crew->options.type) * crew->schedule->slot_count;
    struct lab_wire_options options = crew->options.wire;
    if (crew->options.addresses != NULL) {
        options.own_ip = crew->options.addresses[member->rank];
    }
    work.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool fine = work.memory != MAP_FAILED;
    if (!fine) {
        weft_fail(&error, WEFT_UNSUPPORTED, "rank %u: %zu bytes of memory: %s", member->rank, bytes,
                  strerror(errno));
    }
    fine = fine && enter(crew, member->rank, &error) &&
           lab_wire_open(&work.wire, member, crew->streams, crew->stream_count, &options, &error);
    if (fine) {
        fine = do_all(&work, &error);
        lab_wire_close(&work.wire);
    }
    if (!fine) {
        lab_member_fail(member, &error);
    }
    return fine ? 0 : (int)error.code;
}

// ---- the hub ----

static double ns_between(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? 1e-9 * (double)(end_ns - begin_ns) : 0;
}

static void add_counts(struct lab_crew_result *result, const struct report *report)
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
}

static struct lab_crew_time time_of(const struct report *reports, uint32_t count,
                                    uint32_t late_rank)
{
    uint64_t begin_ns = UINT64_MAX;
    uint64_t end_ns = 0;
    struct lab_crew_time time = {.after_late_s = 0};
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

static bool lead_iterations(struct lab_crew_result *result, struct lab_hub *hub,
                            const struct lab_crew *crew, struct report *reports,
                            struct weft_error *error)
{
    for (uint32_t i = 0; i < crew->options.iterations; i++) {
        bool whole = !crew->options.check || i % 2 == 0;
        const struct order order = {i, whole ? LAB_WHOLE : LAB_REAL};
        if (!lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) ||
            !lab_hub_gather(hub, LAB_MESSAGE_READY, NULL, 0, error) ||
            !lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) ||
            !lab_hub_gather(hub, LAB_MESSAGE_RESULT, reports, sizeof *reports, error)) {
            return false;
        }
        result->times[i] = time_of(reports, hub->count, crew->options.late_rank);
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

bool lab_crew_lead(struct lab_crew_result *result, struct lab_hub *hub, const struct lab_crew *crew,
                   struct weft_arena *arena, struct weft_error *error)
{
    const struct rusage before = children_usage();
    *result = (struct lab_crew_result){
        .iteration_count = crew->options.iterations,
        .times = WEFT_NEW(arena, struct lab_crew_time, crew->options.iterations),
        .slot_elements = crew->slot_elements,
    };
    struct report *reports = WEFT_NEW(arena, struct report, hub->count);
    bool fine =
        lab_wire_introduce(hub, error) && lead_iterations(result, hub, crew, reports, error);
    for (uint32_t i = 0; fine && i < hub->count; i++) {
        add_counts(result, &reports[i]);
    }
    lab_hub_close(hub);
    const struct rusage after = children_usage();
    result->cpu_s = cpu_s_of(&after) - cpu_s_of(&before);
    result->preemptions = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
    return fine;
}

bool lab_crew_run(struct lab_crew_result *result, const struct weft_schedule *schedule,
                  const struct lab_crew_options *options, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error)
{
    struct lab_crew crew;
    struct lab_hub hub;
    return lab_crew_prepare(&crew, schedule, options, arena, scratch, error) &&
           lab_hub_fork(&hub, schedule->rank_count, options->timeout_ms, lab_crew_member, &crew,
                        error) &&
           lab_crew_lead(result, &hub, &crew, arena, error);
}
