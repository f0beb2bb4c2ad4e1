// SPDX-License-Identifier: Apache-2.0
// A trial: workers in a lab's servers, and their times by phase.

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

static void measure(struct lab_session *session, uint32_t iteration)
{
    const struct lab_stage *stage = session->stage;
    struct lab_trial *trial = stage->trial;
    const struct lab_times *times = &session->work.times;
    uint32_t task_count = stage->graph.task_count;
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t t = 0; t < task_count; t++) {
        uint64_t start_ns = atomic_load(&times->start_ns[t]);
        first_ns = start_ns < first_ns ? start_ns : first_ns;
    }
    for (uint32_t t = 0; t < task_count; t++) {
        uint64_t start_ns = atomic_load(&times->start_ns[t]);
        uint64_t end_ns = atomic_load(&times->end_ns[t]);
        bool ran = start_ns != UINT64_MAX && end_ns >= start_ns;
        stage->start_s[t] = ran ? 1e-9 * (double)(start_ns - first_ns) : 0;
        stage->end_s[t] = ran ? 1e-9 * (double)(end_ns - first_ns) : 0;
    }
    double seconds[LAB_PHASES_MAX];
    lab_phases_measure(seconds, trial, stage->phase, stage->start_s, stage->end_s, task_count,
                       session->scratch);
    for (uint32_t p = 0; p < trial->phase_count; p++) {
        trial->phases[p].measured_s[iteration] = seconds[p];
    }
}

static bool play_iteration(struct lab_session *session, struct lab_hub *hub, uint32_t iteration,
                           struct weft_error *error)
{
    const struct lab_work_order order = {iteration};
    lab_times_reset(&session->work.times, session->stage->graph.task_count);
    return lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_hub_gather(hub, LAB_MESSAGE_READY, NULL, 0, error) &&
           lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_hub_gather(hub, LAB_MESSAGE_RESULT, session->reports, sizeof *session->reports,
                          error);
}

static void add_reports(struct lab_session *session, uint32_t count, int sign)
{
    struct lab_tcp_counts *sum = &session->stage->trial->tcp;
    for (uint32_t i = 0; i < count; i++) {
        const struct lab_tcp_counts *tcp = &session->reports[i].tcp;
        sum->segments += sign > 0 ? tcp->segments : -tcp->segments;
        sum->retransmits += sign > 0 ? tcp->retransmits : -tcp->retransmits;
        sum->ecn_marks += sign > 0 ? tcp->ecn_marks : -tcp->ecn_marks;
    }
}

// The first worker that noticed. `dead` is the one that the fault ended: its end counts where it is
// watched for, or nobody else told.
static bool note_moment(struct lab_moments *moments, const struct lab_hub *hub, uint32_t dead,
                        bool watched)
{
    for (uint32_t i = 0; i < hub->count; i++) {
        const struct lab_seat *seat = &hub->seats[i];
        if (i != dead && seat->fail_ns > 0 &&
            (moments->noticed_ns == 0 || seat->fail_ns < moments->noticed_ns)) {
            moments->noticed_ns = seat->fail_ns;
            moments->rank = i;
            moments->noticed = seat->blamed == WEFT_NONE ? LAB_NOTICED_CARRIER : LAB_NOTICED_STALL;
        }
    }
    uint64_t died_ns = dead != WEFT_NONE ? hub->seats[dead].died_ns : 0;
    if (died_ns > 0 && (moments->noticed_ns == 0 || (watched && died_ns < moments->noticed_ns))) {
        moments->noticed_ns = died_ns;
        moments->rank = dead;
        moments->noticed = LAB_NOTICED_DEATH;
    }
    return moments->noticed_ns > moments->fault_ns;
}

// The fault itself; *dead is the rank that it ends. A server's worker stands still before its
// cables are cut and ends after it, so that nobody hears of its end by them.
static bool do_fault(struct weft_lab_fault_times *times, uint32_t *dead,
                     const struct lab_trial_options *options, struct lab_hub *hub,
                     struct weft_error *error)
{
    const struct weft_lab_fault *fault = options->fault;
    *dead = fault->kind == WEFT_LAB_FAULT_SERVER
                ? lab_place_of(options->place, options->wiring->server_count, fault->server)
                : WEFT_NONE;
    bool known = *dead != WEFT_NONE;
    hub->at_once = true; // the cause is known
    hub->deaf = known && !options->watch_carrier;
    if (known) {
        kill(hub->seats[*dead].pid, SIGSTOP);
    }
    bool fine = weft_lab_fail(times, options->lab, fault, error);
    if (known) {
        kill(hub->seats[*dead].pid, SIGKILL);
    }
    return fine;
}

// Iteration `number` with a fault at its begin. It may yet end, where nobody sent over what failed;
// then those that follow are watched as well.
static bool play_fault(struct lab_session *session, struct lab_hub *hub, uint32_t number,
                       struct weft_error *error)
{
    enum { TRIES = 8 };
    struct lab_moments *moments = &session->stage->trial->moments;
    const struct lab_work_order order = {number};
    struct weft_lab_fault_times times;
    uint32_t dead = WEFT_NONE;
    lab_times_reset(&session->work.times, session->stage->graph.task_count);
    if (!lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !lab_hub_gather(hub, LAB_MESSAGE_READY, NULL, 0, error) ||
        !lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !do_fault(&times, &dead, session->stage->options, hub, error)) {
        return false;
    }
    moments->fault_ns = times.begun_ns;
    moments->cable_count = times.cable_count;
    bool ended =
        lab_hub_gather(hub, LAB_MESSAGE_RESULT, session->reports, sizeof *session->reports, error);
    for (uint32_t i = 0; i < TRIES && ended; i++) {
        ended = play_iteration(session, hub, order.iteration + 1 + i, error);
    }
    if (ended) {
        return weft_fail(error, WEFT_IO, "nobody noticed the fault in %u iterations", TRIES + 1);
    }
    return note_moment(moments, hub, dead,
                       session->stage->options->watch_carrier); // else for another reason
}

// The iteration before the measured ones, without the checking of its sums.
static void note_first(const struct lab_session *session)
{
    struct lab_moments *moments = &session->stage->trial->moments;
    moments->begun_ns = UINT64_MAX;
    for (uint32_t t = 0; t < session->stage->graph.task_count; t++) {
        uint64_t start_ns = atomic_load(&session->work.times.start_ns[t]);
        uint64_t end_ns = atomic_load(&session->work.times.end_ns[t]);
        moments->begun_ns = start_ns < moments->begun_ns ? start_ns : moments->begun_ns;
        moments->first_ns = end_ns > moments->first_ns ? end_ns : moments->first_ns;
    }
}

bool lab_session_play(struct lab_session *session, struct weft_error *error)
{
    struct lab_hub *hub = &session->hub;
    struct lab_trial *trial = session->stage->trial;
    uint64_t drops = 0;
    uint64_t drops_after = 0;
    uint64_t marks = 0;
    uint64_t marks_after = 0;
    const struct weft_lab *lab = session->stage->options->lab;
    // One before the others, with its sums checked: windows open, memory is touched.
    bool opened = lab_wire_introduce(hub, error);
    trial->moments.opened_ns = lab_now_ns();
    if (opened && session->stage->options->fault_first) {
        return play_fault(session, hub, 0, error);
    }
    if (!opened || !play_iteration(session, hub, 0, error)) {
        return false;
    }
    note_first(session);
    if (!count_drops(&drops, lab, error) || !count_marks(&marks, lab, error)) {
        return false;
    }
    add_reports(session, hub->count, -1);
    for (uint32_t i = 0; i < hub->count; i++) {
        trial->checked_count += session->reports[i].checked_count;
    }
    for (uint32_t i = 0; i < trial->iteration_count; i++) {
        if (weft_stopped(session->stage->options->stop)) {
            return weft_fail(error, WEFT_IO, "stopped after %u iterations", i);
        }
        if (!play_iteration(session, hub, i + 1, error)) {
            return weft_wrap(error, "iteration %u", i + 1);
        }
        measure(session, i);
    }
    add_reports(session, hub->count, 1);
    for (uint32_t i = 0; i < hub->count; i++) {
        trial->sent_bytes += session->reports[i].sent_bytes;
    }
    bool fine = count_drops(&drops_after, lab, error) && count_marks(&marks_after, lab, error);
    trial->drops = drops_after - drops;
    trial->marks = marks_after - marks;
    return fine && (session->stage->options->fault == NULL ||
                    play_fault(session, hub, trial->iteration_count + 1, error));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void lab_trial_summarize(struct lab_trial *trial, struct weft_arena scratch)
{
    uint32_t n = trial->iteration_count;
    double *sorted = WEFT_NEW(&scratch, double, (size_t)n + 1);
    for (uint32_t p = 0; p < trial->phase_count && n > 0; p++) {
        struct lab_phase *phase = &trial->phases[p];
        memcpy(sorted, phase->measured_s, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
        for (uint32_t i = 0; i < n; i++) {
            phase->measured_mean_s += sorted[i] / n;
        }
        phase->measured_p99_s = sorted[(uint32_t)ceil(0.99 * n) - 1];
    }
}

bool lab_session_open(struct lab_session *session, const struct lab_stage *stage,
                      const struct lab_stage *next, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    const struct lab_trial_options *options = stage->options;
    uint32_t n = options->wiring->server_count;
    uint32_t task_count = stage->graph.task_count;
    const char **netns = WEFT_NEW(arena, const char *, n);
    uint32_t *addresses = WEFT_NEW(arena, uint32_t, n);
    uint64_t *dark = WEFT_NEW(arena, uint64_t, n);
    for (uint32_t s = 0; s < n; s++) {
        char *name = WEFT_NEW(arena, char, name_room);
        uint32_t server = lab_server_at(options->place, s);
        netns[s] = weft_lab_server_netns(name, options->lab->name, server);
        addresses[s] = weft_lab_server_address(server);
        dark[s] = options->dark_interfaces != NULL ? options->dark_interfaces[server] : 0;
    }
    *session = (struct lab_session){
        .stage = stage,
        .work = {.play = &stage->play,
                 .next_play = next != NULL ? &next->play : NULL,
                 .options = {.wire = {.congestion = options->congestion},
                             .netns = netns,
                             .addresses = addresses,
                             .check = options->check,
                             .stall_ms = options->stall_ms,
                             .watch_carrier = options->watch_carrier && options->fault != NULL,
                             .dark_interfaces = dark,
                             .real_time = true}},
        .reports = WEFT_NEW(arena, struct lab_work_report, n),
        .cpu_s = children_cpu_s(),
        .scratch = scratch,
    };
    if (next != NULL && next->graph.task_count > task_count) {
        task_count = next->graph.task_count;
    }
    return lab_times_open(&session->work.times, task_count, error) &&
           lab_hub_fork(&session->hub, n, options->timeout_ms, lab_work_member, &session->work,
                        error);
}

bool lab_session_drain(struct lab_session *session, const struct lab_stage *next,
                       struct weft_error *error)
{
    const struct lab_work_order order = {LAB_WORK_CHANGE};
    session->stage = next;
    return lab_hub_tell(&session->hub, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_hub_gather(&session->hub, LAB_MESSAGE_READY, NULL, 0, error);
}

void lab_session_close(struct lab_session *session)
{
    lab_hub_close(&session->hub);
    session->stage->trial->moments.stopped_ns = lab_now_ns();
    session->stage->trial->cpu_s = children_cpu_s() - session->cpu_s;
}

// ---- all ----

static void choose_scale(struct lab_trial *trial, const struct lab_trial_options *options)
{
    trial->lab_rate_Bps = options->lab->rate_Bps;
    trial->rate_ratio = options->plan_rate_Bps / options->lab->rate_Bps;
    trial->bytes_ratio = 1;
    if (options->target_s > 0 && options->planned_s > 0) {
        double stretched_s = options->planned_s * trial->rate_ratio;
        trial->bytes_ratio = fmin(1, options->target_s / stretched_s);
    }
    trial->time_ratio = trial->rate_ratio * trial->bytes_ratio;
}

bool lab_stage_prepare(struct lab_stage *stage, struct lab_trial *trial,
                       const struct lab_trial_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    uint32_t task_count = options->graph->task_count;
    *trial = (struct lab_trial){.iteration_count = options->iterations};
    *stage = (struct lab_stage){
        .trial = trial,
        .options = options,
        .phase = WEFT_NEW(arena, uint8_t, (size_t)task_count + 1),
        .start_s = WEFT_NEW(arena, double, (size_t)task_count + 1),
        .end_s = WEFT_NEW(arena, double, (size_t)task_count + 1),
    };
    choose_scale(trial, options);
    lab_scale_graph(&stage->graph, options->graph, trial->bytes_ratio, trial->time_ratio, arena);
    lab_phases_name(trial, stage->phase, &stage->graph);
    for (uint32_t p = 0; p < trial->phase_count; p++) {
        trial->phases[p].measured_s = WEFT_NEW(arena, double, (size_t)options->iterations + 1);
    }
    lab_ways_init(&stage->ways, options, arena);
    const struct lab_play_options play_options = {
        .network = options->network,
        .rings = &options->network->rings,
        .seed = options->seed,
        .small_in_one_round = options->small_in_one_round,
        .packet_bytes = options->lab->mtu_bytes + 14,
        .one_lane = options->one_lane,
        .address = lab_ways_address,
        .context = &stage->ways,
    };
    if (!lab_play_build(&stage->play, &stage->graph, &play_options, arena, scratch, error)) {
        return false;
    }
    trial->stream_count = stage->play.stream_count;
    trial->signal_count = stage->play.signal_count;
    trial->way_end = options->way_first + stage->ways.way_count;
    return true;
}

bool lab_stage_predict(const struct lab_stage *stage, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    return lab_trial_predict(stage->trial, stage->options, &stage->graph, stage->phase, arena,
                             scratch, error);
}

bool lab_trial_run(struct lab_trial *trial, const struct lab_trial_options *options,
                   struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct lab_stage *stage = WEFT_NEW(arena, struct lab_stage, 1);
    struct lab_session *session = WEFT_NEW(arena, struct lab_session, 1);
    if (!lab_stage_prepare(stage, trial, options, arena, scratch, error) ||
        (!options->predict_last && !lab_stage_predict(stage, arena, scratch, error)) ||
        !lab_ways_route(&stage->ways, error) ||
        !lab_session_open(session, stage, NULL, arena, scratch, error)) {
        return false;
    }
    bool fine = lab_session_play(session, error);
    lab_session_close(session);
    if (!fine) {
        return false;
    }
    lab_trial_summarize(trial, scratch);
    return !options->predict_last || lab_stage_predict(stage, arena, scratch, error);
}
