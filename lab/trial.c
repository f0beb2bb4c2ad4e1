// SPDX-License-Identifier: Apache-2.0
// A trial: workers in a lab's servers, and their times by phase.

#include "trial.h"
#include "mark.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const uint32_t name_room = WEFT_NETNS_NAME_MAX;

// ---- where streams go ----

// A prescribed way of several hops has an address of its own, 10.192.0.0 and on: it is on the lo of
// the way's last server, and every server on the way has a route for it. So each connection takes
// the way that was planned for it, however many join a pair; its acknowledgements go by the routes.
struct way {
    uint32_t from;
    uint32_t to;
    uint32_t link_count;
    uint32_t *links;
};

struct addressing {
    const struct lab_trial_options *options;
    struct weft_arena *arena;
    uint32_t way_count;
    struct way *ways; // room for WAYS_MAX
};
enum { WAYS_MAX = 1 << 16 };
static const uint32_t way_address = 0x0ac00000;

// The lane-th port of a server whose cable ends at `to`; WEFT_NONE = none.
static uint32_t port_to(const struct weft_lab_wiring *wiring, uint32_t from, uint32_t to,
                        uint32_t lane)
{
    uint32_t found = WEFT_NONE;
    for (uint32_t p = 0; wiring->planes != NULL && p < wiring->port_count; p++) {
        if (wiring->planes[(size_t)p * wiring->server_count + from] == to) {
            found = p;
            if (lane-- == 0) {
                break;
            }
        }
    }
    return found;
}

static uint32_t find_way(struct addressing *addressing, const struct lab_stream *stream,
                         const uint32_t *links, uint32_t link_count)
{
    for (uint32_t i = 0; i < addressing->way_count; i++) {
        const struct way *way = &addressing->ways[i];
        if (way->from == stream->from && way->to == stream->to && way->link_count == link_count &&
            memcmp(way->links, links, link_count * sizeof *links) == 0) {
            return i;
        }
    }
    if (addressing->options->way_first + addressing->way_count >= WAYS_MAX) {
        return WEFT_NONE;
    }
    uint32_t *copy = WEFT_NEW(addressing->arena, uint32_t, link_count);
    memcpy(copy, links, link_count * sizeof *links);
    addressing->ways[addressing->way_count] =
        (struct way){stream->from, stream->to, link_count, copy};
    return addressing->way_count++;
}

// To a neighbor by the address of its port, which its cable alone leads to; to others by the
// address of the way.
static void address_stream(void *context, struct lab_stream *stream, const uint32_t *links,
                           uint32_t link_count, uint32_t lane)
{
    struct addressing *addressing = context;
    const struct weft_lab_wiring *wiring = addressing->options->wiring;
    const uint32_t *place = addressing->options->place;
    stream->from_ip = weft_lab_server_address(lab_server_at(place, stream->from));
    stream->to_ip = weft_lab_server_address(lab_server_at(place, stream->to));
    if (wiring->planes == NULL) {
        return;
    }
    uint32_t port = link_count == 1 ? port_to(wiring, stream->from, stream->to, lane) : WEFT_NONE;
    uint32_t way = link_count > 1 ? find_way(addressing, stream, links, link_count) : WEFT_NONE;
    if (port != WEFT_NONE) {
        stream->to_ip = weft_lab_port_address(lab_server_at(place, stream->to), port);
    } else if (way != WEFT_NONE) {
        stream->to_ip = way_address + addressing->options->way_first + way;
    }
}

// A route to one address out of a port of the server at `at`.
static bool route_out(struct weft_netlink *netlink, const struct lab_trial_options *options,
                      uint32_t at, uint32_t port, uint32_t target, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = options->wiring;
    uint32_t to = wiring->planes[(size_t)port * wiring->server_count + at];
    const struct weft_next_hop hop = {
        weft_lab_port_index(port), weft_lab_port_address(lab_server_at(options->place, to), port),
        1};
    const struct weft_route route = {
        .target = target,
        .prefix_bits = 32,
        .source = weft_lab_server_address(lab_server_at(options->place, at)),
        .hop_count = 1,
        .hops = &hop,
    };
    return weft_route_set(netlink, &route, error);
}

// What a way asks of one server.
static bool route_way(struct weft_netlink *netlink, const struct addressing *addressing,
                      uint32_t index, uint32_t server, struct weft_error *error)
{
    const struct way *way = &addressing->ways[index];
    const struct weft_fabric *fabric = &addressing->options->network->fabric;
    const struct weft_lab_wiring *wiring = addressing->options->wiring;
    uint32_t target = way_address + addressing->options->way_first + index;
    if (way->to == server) {
        return weft_address_add(netlink, 1, target, 32, error);
    }
    for (uint32_t i = 0; i < way->link_count; i++) {
        const struct weft_link *link = &fabric->links[way->links[i]];
        if (link->from == server) {
            uint32_t port = port_to(wiring, server, link->to, index % link->width);
            return port == WEFT_NONE
                       ? weft_fail(error, WEFT_INPUT, "server %u has no port to %u", server,
                                   link->to)
                       : route_out(netlink, addressing->options, server, port, target, error);
        }
    }
    return true;
}

static bool route_server(struct weft_netlink *netlink, const struct addressing *addressing,
                         uint32_t server, struct weft_error *error)
{
    const struct lab_trial_options *options = addressing->options;
    const struct weft_lab_wiring *wiring = options->wiring;
    for (uint32_t p = 0; p < wiring->port_count; p++) {
        uint32_t to = wiring->planes[(size_t)p * wiring->server_count + server];
        uint32_t address = weft_lab_port_address(lab_server_at(options->place, to), p);
        if (to != server && !route_out(netlink, options, server, p, address, error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < addressing->way_count; i++) {
        if (!route_way(netlink, addressing, i, server, error)) {
            return false;
        }
    }
    return true;
}

// Routes to the ports of neighbors and along ways; the lab's own are to servers.
static bool route_streams(const struct addressing *addressing, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = addressing->options->wiring;
    char netns[WEFT_NETNS_NAME_MAX];
    for (uint32_t s = 0; wiring->planes != NULL && s < wiring->server_count; s++) {
        struct weft_netlink netlink;
        weft_lab_server_netns(netns, addressing->options->lab->name,
                              lab_server_at(addressing->options->place, s));
        if (!weft_netlink_open(&netlink, netns, error)) {
            return false;
        }
        bool fine = route_server(&netlink, addressing, s, error);
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}

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

struct running {
    struct lab_trial *trial;
    const struct lab_trial_options *options;
    const struct weft_taskgraph *graph;
    const uint8_t *phase;
    struct lab_work *work;
    struct lab_work_report *reports;
    double *start_s;
    double *end_s;
    struct weft_arena scratch;
};

static void measure(struct running *running, uint32_t iteration)
{
    struct lab_trial *trial = running->trial;
    const struct lab_times *times = &running->work->times;
    uint32_t task_count = running->graph->task_count;
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t t = 0; t < task_count; t++) {
        uint64_t start_ns = atomic_load(&times->start_ns[t]);
        first_ns = start_ns < first_ns ? start_ns : first_ns;
    }
    for (uint32_t t = 0; t < task_count; t++) {
        uint64_t start_ns = atomic_load(&times->start_ns[t]);
        uint64_t end_ns = atomic_load(&times->end_ns[t]);
        bool ran = start_ns != UINT64_MAX && end_ns >= start_ns;
        running->start_s[t] = ran ? 1e-9 * (double)(start_ns - first_ns) : 0;
        running->end_s[t] = ran ? 1e-9 * (double)(end_ns - first_ns) : 0;
    }
    double seconds[LAB_PHASES_MAX];
    lab_phases_measure(seconds, trial, running->phase, running->start_s, running->end_s, task_count,
                       running->scratch);
    for (uint32_t p = 0; p < trial->phase_count; p++) {
        trial->phases[p].measured_s[iteration] = seconds[p];
    }
}

static bool play_iteration(struct running *running, struct lab_hub *hub, uint32_t iteration,
                           struct weft_error *error)
{
    const struct lab_work_order order = {iteration};
    lab_times_reset(&running->work->times, running->graph->task_count);
    return lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_hub_gather(hub, LAB_MESSAGE_READY, NULL, 0, error) &&
           lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) &&
           lab_hub_gather(hub, LAB_MESSAGE_RESULT, running->reports, sizeof *running->reports,
                          error);
}

static void add_reports(struct running *running, uint32_t count, int sign)
{
    struct lab_tcp_counts *sum = &running->trial->tcp;
    for (uint32_t i = 0; i < count; i++) {
        const struct lab_tcp_counts *tcp = &running->reports[i].tcp;
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
static bool play_fault(struct running *running, struct lab_hub *hub, uint32_t number,
                       struct weft_error *error)
{
    enum { TRIES = 8 };
    struct lab_moments *moments = &running->trial->moments;
    const struct lab_work_order order = {number};
    struct weft_lab_fault_times times;
    uint32_t dead = WEFT_NONE;
    lab_times_reset(&running->work->times, running->graph->task_count);
    if (!lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !lab_hub_gather(hub, LAB_MESSAGE_READY, NULL, 0, error) ||
        !lab_hub_tell(hub, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !do_fault(&times, &dead, running->options, hub, error)) {
        return false;
    }
    moments->fault_ns = times.begun_ns;
    moments->cable_count = times.cable_count;
    bool ended =
        lab_hub_gather(hub, LAB_MESSAGE_RESULT, running->reports, sizeof *running->reports, error);
    for (uint32_t i = 0; i < TRIES && ended; i++) {
        ended = play_iteration(running, hub, order.iteration + 1 + i, error);
    }
    if (ended) {
        return weft_fail(error, WEFT_IO, "nobody noticed the fault in %u iterations", TRIES + 1);
    }
    return note_moment(moments, hub, dead,
                       running->options->watch_carrier); // else for another reason
}

static bool play_all(struct running *running, struct lab_hub *hub, struct weft_error *error)
{
    struct lab_trial *trial = running->trial;
    uint64_t drops = 0;
    uint64_t drops_after = 0;
    uint64_t marks = 0;
    uint64_t marks_after = 0;
    const struct weft_lab *lab = running->options->lab;
    // One before the others, with its sums checked: windows open, memory is touched.
    bool opened = lab_wire_introduce(hub, error);
    trial->moments.opened_ns = lab_now_ns();
    if (opened && running->options->fault_first) {
        return play_fault(running, hub, 0, error);
    }
    if (!opened || !play_iteration(running, hub, 0, error)) {
        return false;
    }
    trial->moments.first_ns = lab_now_ns();
    if (!count_drops(&drops, lab, error) || !count_marks(&marks, lab, error)) {
        return false;
    }
    add_reports(running, hub->count, -1);
    for (uint32_t i = 0; i < hub->count; i++) {
        trial->checked_count += running->reports[i].checked_count;
    }
    for (uint32_t i = 0; i < trial->iteration_count; i++) {
        if (weft_stopped(running->options->stop)) {
            return weft_fail(error, WEFT_IO, "stopped after %u iterations", i);
        }
        if (!play_iteration(running, hub, i + 1, error)) {
            return weft_wrap(error, "iteration %u", i + 1);
        }
        measure(running, i);
    }
    add_reports(running, hub->count, 1);
    for (uint32_t i = 0; i < hub->count; i++) {
        trial->sent_bytes += running->reports[i].sent_bytes;
    }
    bool fine = count_drops(&drops_after, lab, error) && count_marks(&marks_after, lab, error);
    trial->drops = drops_after - drops;
    trial->marks = marks_after - marks;
    return fine && (running->options->fault == NULL ||
                    play_fault(running, hub, trial->iteration_count + 1, error));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(struct lab_trial *trial, struct weft_arena scratch)
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

static bool run_workers(struct running *running, const struct lab_play *play,
                        struct weft_arena *arena, struct weft_error *error)
{
    const struct lab_trial_options *options = running->options;
    uint32_t n = options->wiring->server_count;
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
    struct lab_work work = {
        .play = play,
        .options = {.wire = {.congestion = options->congestion},
                    .netns = netns,
                    .addresses = addresses,
                    .check = options->check,
                    .stall_ms = options->stall_ms,
                    .watch_carrier = options->watch_carrier && options->fault != NULL,
                    .dark_interfaces = dark,
                    .real_time = true},
    };
    running->work = &work;
    running->reports = WEFT_NEW(arena, struct lab_work_report, n);
    struct lab_hub hub;
    if (!lab_times_open(&work.times, running->graph->task_count, error) ||
        !lab_hub_fork(&hub, n, options->timeout_ms, lab_work_member, &work, error)) {
        return false;
    }
    double before_s = children_cpu_s();
    bool fine = play_all(running, &hub, error);
    lab_hub_close(&hub);
    running->trial->moments.stopped_ns = lab_now_ns();
    running->trial->cpu_s = children_cpu_s() - before_s;
    return fine;
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

bool lab_trial_run(struct lab_trial *trial, const struct lab_trial_options *options,
                   struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    *trial = (struct lab_trial){.iteration_count = options->iterations};
    uint32_t task_count = options->graph->task_count;
    struct weft_taskgraph graph;
    choose_scale(trial, options);
    lab_scale_graph(&graph, options->graph, trial->bytes_ratio, trial->time_ratio, arena);
    uint8_t *phase = WEFT_NEW(arena, uint8_t, (size_t)task_count + 1);
    lab_phases_name(trial, phase, &graph);
    for (uint32_t p = 0; p < trial->phase_count; p++) {
        trial->phases[p].measured_s = WEFT_NEW(arena, double, options->iterations);
    }
    struct addressing addressing = {
        .options = options,
        .arena = arena,
        .ways = WEFT_NEW(arena, struct way, WAYS_MAX),
    };
    const struct lab_play_options play_options = {
        .network = options->network,
        .rings = &options->network->rings,
        .seed = options->seed,
        .small_in_one_round = options->small_in_one_round,
        .packet_bytes = options->lab->mtu_bytes + 14,
        .one_lane = options->one_lane,
        .address = address_stream,
        .context = &addressing,
    };
    struct lab_play play;
    if ((!options->predict_last &&
         !lab_trial_predict(trial, options, &graph, phase, arena, scratch, error)) ||
        !lab_play_build(&play, &graph, &play_options, arena, scratch, error) ||
        !route_streams(&addressing, error)) {
        return false;
    }
    trial->stream_count = play.stream_count;
    trial->signal_count = play.signal_count;
    trial->way_end = options->way_first + addressing.way_count;
    struct running running = {
        .trial = trial,
        .options = options,
        .graph = &graph,
        .phase = phase,
        .start_s = WEFT_NEW(arena, double, (size_t)task_count + 1),
        .end_s = WEFT_NEW(arena, double, (size_t)task_count + 1),
        .scratch = scratch,
    };
    if (!run_workers(&running, &play, arena, error)) {
        return false;
    }
    summarize(trial, scratch);
    return !options->predict_last ||
           lab_trial_predict(trial, options, &graph, phase, arena, scratch, error);
}
