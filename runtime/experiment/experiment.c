// SPDX-License-Identifier: Apache-2.0
// An experiment: workers in the servers of a lab that run a job, and their times by phase.
//
// A job is prepared (scaled, predicted, compiled for the servers), then run by a session of
// workers: one iteration before the measured ones opens TCP's windows and touches memory, the
// measured ones follow, and a fault may end the session. What ports dropped and marked, and what
// TCP counted, is read before and after, so that each figure is of the measured iterations alone.

#include "experiment.h"
#include "bpf/mark/mark.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const uint32_t name_room = WEFT_NETNS_NAME_MAX;

// ---- counters ----

static bool count_marks(uint64_t *marks, const struct weft_lab *lab, struct weft_error *error)
{
    *marks = 0;
    return lab->mark_packets == 0 || weft_marker_total(marks, lab->marks_id, error);
}

// Packets that the queues of all ports have dropped so far: those of servers, and those of the
// packet switch. An optical switch has no queues.
static bool count_drops(uint64_t *drops, const struct weft_lab *lab, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    *drops = 0;
    for (uint32_t s = 0; s < lab->server_count; s++) {
        struct weft_netlink netlink;
        if (!weft_netlink_open(&netlink, weft_lab_server_netns(netns, lab->name, s), error)) {
            return false;
        }
        bool fine = true;
        for (uint32_t p = 0; p < lab->port_count && fine; p++) {
            struct weft_qdisc_counters counters;
            fine = weft_qdisc_counters(&counters, &netlink, weft_lab_port_index(p), error);
            *drops += fine ? counters.dropped_packets : 0;
        }
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    struct weft_netlink netlink;
    if (lab->ocs_count > 0) {
        return true;
    }
    if (!weft_netlink_open(&netlink, weft_lab_switch_netns(netns, lab, 0), error)) {
        return false;
    }
    bool fine = true;
    for (uint32_t s = 0; s < lab->server_count && fine; s++) {
        struct weft_qdisc_counters counters;
        fine = weft_qdisc_counters(&counters, &netlink, weft_lab_cable_index(s), error);
        *drops += fine ? counters.dropped_packets : 0;
    }
    weft_netlink_close(&netlink);
    return fine;
}

static double children_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// ---- running ----

// Times of the tasks of an iteration, relative to the first begin, and of its phases from them.
static void measure(struct lab_session *session, uint32_t iteration)
{
    const struct lab_prepared *prepared = session->prepared;
    struct lab_experiment *experiment = prepared->experiment;
    const struct lab_times *times = &session->work.times;
    uint32_t task_count = prepared->graph.task_count;
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t t = 0; t < task_count; t++) {
        uint64_t start_ns = atomic_load(&times->start_ns[t]);
        first_ns = start_ns < first_ns ? start_ns : first_ns;
    }
    for (uint32_t t = 0; t < task_count; t++) {
        uint64_t start_ns = atomic_load(&times->start_ns[t]);
        uint64_t end_ns = atomic_load(&times->end_ns[t]);
        bool ran = start_ns != UINT64_MAX && end_ns >= start_ns;
        prepared->times.start_s[t] = ran ? 1e-9 * (double)(start_ns - first_ns) : 0;
        prepared->times.end_s[t] = ran ? 1e-9 * (double)(end_ns - first_ns) : 0;
    }
    double seconds[LAB_PHASES_MAX];
    lab_phases_measure(seconds, experiment, &prepared->times, session->scratch);
    for (uint32_t p = 0; p < experiment->phase_count; p++) {
        experiment->phases[p].measured_s[iteration] = seconds[p];
    }
}

// One iteration by all workers: they make ready at the first order and begin at the second.
static bool run_iteration(struct lab_session *session, struct lab_coordinator *coordinator,
                          uint32_t iteration, struct weft_error *error)
{
    const struct lab_work_order order = {iteration};
    lab_times_reset(&session->work.times, session->prepared->graph.task_count);
    return lab_coordinator_send(coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_coordinator_gather(coordinator, LAB_MESSAGE_READY, NULL, 0, error) &&
           lab_coordinator_send(coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_coordinator_gather(coordinator, LAB_MESSAGE_RESULT, session->reports,
                                  sizeof *session->reports, error);
}

// TCP counts since connections were opened, so what stood before the measured iterations is taken
// off.
static void add_reports(struct lab_session *session, uint32_t count, int sign)
{
    struct lab_tcp_counts *sum = &session->prepared->experiment->tcp;
    for (uint32_t i = 0; i < count; i++) {
        const struct lab_tcp_counts *tcp = &session->reports[i].tcp;
        sum->segments += sign > 0 ? tcp->segments : -tcp->segments;
        sum->retransmits += sign > 0 ? tcp->retransmits : -tcp->retransmits;
        sum->ecn_marks += sign > 0 ? tcp->ecn_marks : -tcp->ecn_marks;
    }
}

// The first worker that noticed. `dead` is the one that the fault ended: its end counts where it is
// watched for, or nobody else told.
static bool note_detection(struct lab_timestamps *timestamps,
                           const struct lab_coordinator *coordinator, uint32_t dead, bool watched)
{
    for (uint32_t i = 0; i < coordinator->count; i++) {
        const struct lab_peer_record *peer = &coordinator->peers[i];
        if (i != dead && peer->fail_ns > 0 &&
            (timestamps->noticed_ns == 0 || peer->fail_ns < timestamps->noticed_ns)) {
            timestamps->noticed_ns = peer->fail_ns;
            timestamps->rank = i;
            timestamps->noticed =
                peer->blamed == WEFT_NONE ? LAB_NOTICED_CARRIER : LAB_NOTICED_STALL;
        }
    }
    uint64_t died_ns = dead != WEFT_NONE ? coordinator->peers[dead].died_ns : 0;
    if (died_ns > 0 &&
        (timestamps->noticed_ns == 0 || (watched && died_ns < timestamps->noticed_ns))) {
        timestamps->noticed_ns = died_ns;
        timestamps->rank = dead;
        timestamps->noticed = LAB_NOTICED_DEATH;
    }
    return timestamps->noticed_ns > timestamps->fault_ns;
}

// The fault itself; *dead is the rank that it ends. A server's worker stands still before its
// cables are cut and ends after it, so that nobody hears of its end by them.
static bool do_fault(struct weft_lab_fault_times *times, uint32_t *dead,
                     const struct lab_experiment_options *options,
                     struct lab_coordinator *coordinator, struct weft_error *error)
{
    const struct weft_lab_fault *fault = options->failure.fault;
    *dead = fault->kind == WEFT_LAB_FAULT_SERVER
                ? lab_place_of(options->place, options->wiring->server_count, fault->server)
                : WEFT_NONE;
    bool known = *dead != WEFT_NONE;
    coordinator->at_once = true; // the cause is known
    coordinator->deaf = known && !options->failure.watch_carrier;
    if (known) {
        kill(coordinator->peers[*dead].pid, SIGSTOP);
    }
    bool fine = weft_lab_fail(times, options->lab, fault, error);
    if (known) {
        kill(coordinator->peers[*dead].pid, SIGKILL);
    }
    return fine;
}

// Iteration `number` with a fault at its begin. It may yet end, where nobody sent over what failed;
// then those that follow are watched as well.
static bool run_fault(struct lab_session *session, struct lab_coordinator *coordinator,
                      uint32_t number, struct weft_error *error)
{
    enum { TRIES = 8 };
    struct lab_timestamps *timestamps = &session->prepared->experiment->timestamps;
    const struct lab_work_order order = {number};
    struct weft_lab_fault_times times;
    uint32_t dead = WEFT_NONE;
    lab_times_reset(&session->work.times, session->prepared->graph.task_count);
    if (!lab_coordinator_send(coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !lab_coordinator_gather(coordinator, LAB_MESSAGE_READY, NULL, 0, error) ||
        !lab_coordinator_send(coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !do_fault(&times, &dead, session->prepared->options, coordinator, error)) {
        return false;
    }
    timestamps->fault_ns = times.begun_ns;
    timestamps->cable_count = times.cable_count;
    bool ended = lab_coordinator_gather(coordinator, LAB_MESSAGE_RESULT, session->reports,
                                        sizeof *session->reports, error);
    for (uint32_t i = 0; i < TRIES && ended; i++) {
        ended = run_iteration(session, coordinator, order.iteration + 1 + i, error);
    }
    if (ended) {
        return weft_fail(error, WEFT_IO, "nobody noticed the fault in %u iterations", TRIES + 1);
    }
    return note_detection(
        timestamps, coordinator, dead,
        session->prepared->options->failure.watch_carrier); // else for another reason
}

// The iteration before the measured ones, without the checking of its sums.
static void note_first(const struct lab_session *session)
{
    struct lab_timestamps *timestamps = &session->prepared->experiment->timestamps;
    timestamps->begun_ns = UINT64_MAX;
    for (uint32_t t = 0; t < session->prepared->graph.task_count; t++) {
        uint64_t start_ns = atomic_load(&session->work.times.start_ns[t]);
        uint64_t end_ns = atomic_load(&session->work.times.end_ns[t]);
        timestamps->begun_ns = start_ns < timestamps->begun_ns ? start_ns : timestamps->begun_ns;
        timestamps->first_ns = end_ns > timestamps->first_ns ? end_ns : timestamps->first_ns;
    }
}

// Why no more iterations are measured after `count`: the run was asked to stop, or as `error` says.
// Always false.
static bool end_early(const struct lab_session *session, uint32_t count, struct weft_error *error)
{
    if (weft_stopped(session->prepared->options->stop)) {
        return weft_fail(error, WEFT_IO, "stopped after %u iterations", count);
    }
    return false;
}

bool lab_session_run(struct lab_session *session, struct weft_error *error)
{
    struct lab_coordinator *coordinator = &session->coordinator;
    struct lab_experiment *experiment = session->prepared->experiment;
    uint64_t drops = 0;
    uint64_t drops_after = 0;
    uint64_t marks = 0;
    uint64_t marks_after = 0;
    const struct weft_lab *lab = session->prepared->options->lab;
    // One before the others, with its sums checked: windows open, memory is touched.
    bool opened = lab_connections_introduce(coordinator, error);
    experiment->timestamps.opened_ns = lab_now_ns();
    if (opened && session->prepared->options->failure.is_first) {
        return run_fault(session, coordinator, 0, error);
    }
    if (!opened || !run_iteration(session, coordinator, 0, error)) {
        return end_early(session, 0, error);
    }
    note_first(session);
    if (!count_drops(&drops, lab, error) || !count_marks(&marks, lab, error)) {
        return false;
    }
    add_reports(session, coordinator->count, -1);
    for (uint32_t i = 0; i < coordinator->count; i++) {
        experiment->checked_count += session->reports[i].checked_count;
    }
    for (uint32_t i = 0; i < experiment->iteration_count; i++) {
        if (!run_iteration(session, coordinator, i + 1, error)) {
            (void)weft_wrap(error, "iteration %u", i + 1);
            return end_early(session, i, error);
        }
        measure(session, i);
    }
    add_reports(session, coordinator->count, 1);
    for (uint32_t i = 0; i < coordinator->count; i++) {
        experiment->sent_bytes += session->reports[i].sent_bytes;
    }
    bool fine = count_drops(&drops_after, lab, error) && count_marks(&marks_after, lab, error);
    experiment->drops = drops_after - drops;
    experiment->marks = marks_after - marks;
    return fine && (session->prepared->options->failure.fault == NULL ||
                    run_fault(session, coordinator, experiment->iteration_count + 1, error));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void lab_experiment_summarize(struct lab_experiment *experiment, struct weft_arena scratch)
{
    uint32_t n = experiment->iteration_count;
    double *sorted = WEFT_NEW(&scratch, double, (size_t)n + 1);
    for (uint32_t p = 0; p < experiment->phase_count && n > 0; p++) {
        struct lab_phase *phase = &experiment->phases[p];
        memcpy(sorted, phase->measured_s, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
        for (uint32_t i = 0; i < n; i++) {
            phase->measured_mean_s += sorted[i] / n;
        }
        phase->measured_p99_s = sorted[(uint32_t)ceil(0.99 * n) - 1];
    }
}

bool lab_session_open(struct lab_session *session, const struct lab_prepared *prepared,
                      const struct lab_prepared *next, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    const struct lab_experiment_options *options = prepared->options;
    uint32_t n = options->wiring->server_count;
    uint32_t task_count = prepared->graph.task_count;
    const char **netns = WEFT_NEW(arena, const char *, n);
    uint32_t *addresses = WEFT_NEW(arena, uint32_t, n);
    uint64_t *dark = WEFT_NEW(arena, uint64_t, n);
    for (uint32_t s = 0; s < n; s++) {
        char *name = WEFT_NEW(arena, char, name_room);
        uint32_t server = lab_server_at(options->place, s);
        netns[s] = weft_lab_server_netns(name, options->lab->name, server);
        addresses[s] = weft_lab_server_address(server);
        dark[s] =
            options->failure.dark_interfaces != NULL ? options->failure.dark_interfaces[server] : 0;
    }
    *session = (struct lab_session){
        .prepared = prepared,
        .work = {.program = &prepared->program,
                 .next_program = next != NULL ? &next->program : NULL,
                 .options = {.connections = {.congestion = options->congestion},
                             .netns = netns,
                             .addresses = addresses,
                             .check = options->check,
                             .stall_ms = options->stall_ms,
                             .watch_carrier =
                                 options->failure.watch_carrier && options->failure.fault != NULL,
                             .dark_interfaces = dark,
                             .real_time = true}},
        .reports = WEFT_NEW(arena, struct lab_work_report, n),
        .cpu_s = children_cpu_s(),
        .scratch = scratch,
    };
    if (next != NULL && next->graph.task_count > task_count) {
        task_count = next->graph.task_count;
    }
    const struct lab_peers peers = {
        .count = n,
        .timeout_ms = options->timeout_ms,
        .run = lab_worker_main,
        .context = &session->work,
    };
    if (!lab_times_open(&session->work.times, task_count, error) ||
        !lab_coordinator_fork(&session->coordinator, &peers, error)) {
        return false;
    }
    session->coordinator.stop = options->stop;
    return true;
}

bool lab_session_drain(struct lab_session *session, const struct lab_prepared *next,
                       struct weft_error *error)
{
    const struct lab_work_order order = {LAB_WORK_CHANGE};
    session->prepared = next;
    return lab_coordinator_send(&session->coordinator, LAB_MESSAGE_GO, &order, sizeof order,
                                error) &&
           lab_coordinator_gather(&session->coordinator, LAB_MESSAGE_READY, NULL, 0, error);
}

void lab_session_close(struct lab_session *session)
{
    lab_coordinator_close(&session->coordinator);
    session->prepared->experiment->timestamps.stopped_ns = lab_now_ns();
    session->prepared->experiment->cpu_s = children_cpu_s() - session->cpu_s;
}

// ---- all ----

// How the job is scaled: the rate by the lab's ports, bytes by how long an iteration may take.
static void choose_scale(struct lab_experiment *experiment,
                         const struct lab_experiment_options *options)
{
    experiment->lab_rate_Bps = options->lab->rate_Bps;
    experiment->rate_ratio = options->scale.rate_Bps / options->lab->rate_Bps;
    experiment->bytes_ratio = 1;
    if (options->scale.target_s > 0 && options->scale.iteration_s > 0) {
        double stretched_s = options->scale.iteration_s * experiment->rate_ratio;
        experiment->bytes_ratio = fmin(1, options->scale.target_s / stretched_s);
    }
    experiment->time_ratio = experiment->rate_ratio * experiment->bytes_ratio;
}

bool lab_prepare(struct lab_prepared *prepared, struct lab_experiment *experiment,
                 const struct lab_experiment_options *options, struct weft_arena *arena,
                 struct weft_arena scratch, struct weft_error *error)
{
    uint32_t task_count = options->graph->task_count;
    *experiment = (struct lab_experiment){.iteration_count = options->iterations};
    *prepared = (struct lab_prepared){
        .experiment = experiment,
        .options = options,
        .times = {.task_count = task_count,
                  .phase = WEFT_NEW(arena, uint8_t, (size_t)task_count + 1),
                  .start_s = WEFT_NEW(arena, double, (size_t)task_count + 1),
                  .end_s = WEFT_NEW(arena, double, (size_t)task_count + 1)},
    };
    choose_scale(experiment, options);
    lab_scale_graph(&prepared->graph, options->graph, experiment->bytes_ratio,
                    experiment->time_ratio, arena);
    lab_phases_name(experiment, prepared->times.phase, &prepared->graph);
    for (uint32_t p = 0; p < experiment->phase_count; p++) {
        experiment->phases[p].measured_s = WEFT_NEW(arena, double, (size_t)options->iterations + 1);
    }
    lab_tunnels_init(&prepared->tunnels, options, arena);
    const struct lab_program_options program_options = {
        .network = options->network,
        .rings = &options->network->rings,
        .seed = options->seed,
        .small_in_one_round = options->small_in_one_round,
        .packet_bytes = options->lab->mtu_bytes + 14,
        .one_lane = options->one_lane,
        .address = lab_tunnels_address,
        .context = &prepared->tunnels,
    };
    if (!lab_program_build(&prepared->program, &prepared->graph, &program_options, arena, scratch,
                           error)) {
        return false;
    }
    experiment->stream_count = prepared->program.stream_count;
    experiment->signal_count = prepared->program.signal_count;
    experiment->tunnel_end = options->tunnel_first + prepared->tunnels.tunnel_count;
    return true;
}

bool lab_experiment_run(struct lab_experiment *experiment,
                        const struct lab_experiment_options *options, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    struct lab_prepared *prepared = WEFT_NEW(arena, struct lab_prepared, 1);
    struct lab_session *session = WEFT_NEW(arena, struct lab_session, 1);
    if (!lab_prepare(prepared, experiment, options, arena, scratch, error) ||
        (!options->predict_last && !lab_prepared_predict(prepared, arena, scratch, error)) ||
        !lab_tunnels_route(&prepared->tunnels, error) ||
        !lab_session_open(session, prepared, NULL, arena, scratch, error)) {
        return false;
    }
    bool fine = lab_session_run(session, error);
    lab_session_close(session);
    if (!fine) {
        return false;
    }
    lab_experiment_summarize(experiment, scratch);
    return !options->predict_last || lab_prepared_predict(prepared, arena, scratch, error);
}
