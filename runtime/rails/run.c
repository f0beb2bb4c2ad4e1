// SPDX-License-Identifier: Apache-2.0
// Runs a prepared job over a rail (run.h): a controller, workers, iterations, and what they say.

#include "run.h"
#include "bank.h"
#include "management.h"
#include "runtime/job/shim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A change that takes so much longer than it is dark is late, and so are bytes that do not move.
#define LATE_MS 100u
#define STALL_MS 100u
// How long a switch's answer is waited for by itself, beyond LATE_MS for those who wait for it.
#define ANSWER_MS 300u
// Failures one after the other, after which the switch is not asked any more.
#define FAILURES_MAX 3u

struct running {
    const struct lab_rail *rail;
    const struct weft_lab *lab;
    struct lab_rail_result *result;
    struct lab_control control;
    struct lab_rail_part part;
    struct lab_work work;
    struct lab_coordinator controller, workers;
    struct lab_work_report *reports;
};

static struct lab_phases_options phases_of(const struct lab_rail *rail)
{
    // No member can be more than an iteration behind another and still be on its way.
    uint64_t iteration_ns = rail->predicted.iteration_ps / 1000;
    return (struct lab_phases_options){
        .rank_count = rail->schedule.rank_count,
        .plane_count = rail->schedule.plane_count,
        .phase_count = rail->schedule.phase_count,
        .phases = rail->schedule.phases,
        .outputs = rail->schedule.outputs,
        .absent_ns = 2 * iteration_ns + 1000000000,
        .late_ns = rail->options->dark_ps / 1000 + LATE_MS * 1000000ull,
        .gather_ns = rail->options->dark_ps / 1000 / LAB_RAIL_GATHER_PART,
        .failures_max = FAILURES_MAX,
    };
}

static bool open_controller(struct running *self, struct weft_arena *arena,
                            struct weft_error *error)
{
    const struct lab_rail_options *options = self->rail->options;
    struct sockaddr_in at = {.sin_family = AF_INET};
    uint32_t ip = 0;
    uint16_t port = 0;
    self->control = (struct lab_control){.phases = phases_of(self->rail),
                                         .lie = options->lie,
                                         .dark_ns = options->dark_ps / 1000,
                                         .answer_ms = ANSWER_MS};
    if (!lab_rail_log_open(&self->control.log, error) ||
        !lab_nonce(self->control.key.bytes, error) ||
        !lab_bank_open(&self->control.ocs, self->lab, arena, error) ||
        !lab_management_listen(&self->control.listener, &ip, &port, self->lab, error)) {
        return false;
    }
    self->control.lie.at = &self->control.log->fault_ns;
    at.sin_addr.s_addr = htonl(ip);
    at.sin_port = htons(port);
    self->part.controller.length = sizeof at;
    self->part.controller.key = self->control.key;
    memcpy(&self->part.controller.address, &at, sizeof at);
    const struct lab_peers peers = {1, options->timeout_ms, lab_controller_main, &self->control};
    bool fine = lab_coordinator_fork(&self->controller, &peers, error);
    close(self->control.listener);
    return fine;
}

static bool open_workers(struct running *self, struct weft_arena *arena, struct weft_error *error)
{
    const struct lab_rail *rail = self->rail;
    const struct lab_rail_options *options = rail->options;
    uint32_t n = rail->schedule.rank_count;
    const char **netns = WEFT_NEW(arena, const char *, n);
    uint32_t *addresses = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        char *name = WEFT_NEW(arena, char, WEFT_NETNS_NAME_MAX);
        netns[s] = weft_lab_server_netns(name, self->lab->name, s);
        addresses[s] = weft_lab_server_address(s);
    }
    self->part.schedule = &rail->schedule;
    self->part.demand = options->mode == WEFT_RAIL_DEMAND;
    self->part.iterations = options->iterations + 1;
    self->part.order_ms = (uint32_t)(self->control.phases.absent_ns / 1000000) + ANSWER_MS +
                          2 * LATE_MS + (uint32_t)(options->dark_ps / 1000000000);
    self->part.stall_ms = STALL_MS;
    self->work = (struct lab_work){
        .program = &rail->program,
        .options = {.connections = {.congestion = options->congestion},
                    .netns = netns,
                    .addresses = addresses,
                    .check = true,
                    .check_all = true,
                    .check_transfers = rail->check_transfers,
                    .rail = &self->part,
                    .stall_ms = options->stall_ms,
                    .real_time = true},
    };
    self->reports = WEFT_NEW(arena, struct lab_work_report, n);
    const struct lab_peers peers = {n, options->timeout_ms, lab_worker_main, &self->work};
    if (!lab_times_open(&self->work.times, rail->graph.task_count, error) ||
        !lab_coordinator_fork(&self->workers, &peers, error)) {
        return false;
    }
    self->workers.stop = options->stop;
    return lab_connections_introduce(&self->workers, error);
}

// ---- iterations ----

static uint64_t last_end_ns(const struct running *self, uint32_t first, uint32_t count)
{
    uint64_t last_ns = 0;
    for (uint32_t t = first; t < first + count; t++) {
        uint64_t end_ns = atomic_load(&self->work.times.end_ns[t]);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

// Seconds from the order to begin until the last task's end.
static bool iterate(struct running *self, uint32_t iteration, double *seconds,
                    struct weft_error *error)
{
    const struct lab_work_order order = {iteration};
    const struct lab_rail *rail = self->rail;
    uint32_t tasks = rail->graph.task_count;
    lab_times_reset(&self->work.times, tasks);
    if (!lab_coordinator_send(&self->workers, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !lab_coordinator_gather(&self->workers, LAB_MESSAGE_READY, NULL, 0, error)) {
        return false;
    }
    uint64_t begun_ns = lab_now_ns();
    atomic_store(&self->control.log->iteration, iteration);
    if (iteration == 1 && self->rail->options->lies) {
        atomic_store(&self->control.log->fault_ns,
                     begun_ns + self->rail->options->lie_after_ps / 1000);
    }
    if (!lab_coordinator_send(&self->workers, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !lab_coordinator_gather(&self->workers, LAB_MESSAGE_RESULT, self->reports,
                                sizeof *self->reports, error)) {
        return false;
    }
    *seconds = 1e-9 * (double)(last_end_ns(self, 0, tasks) - begun_ns);
    for (uint32_t m = 0; m < rail->mark_count && iteration > 0; m++) {
        uint64_t end_ns = last_end_ns(self, rail->marks[m], rail->schedule.rank_count);
        self->result->mark_s[(iteration - 1) * rail->mark_count + m] =
            1e-9 * (double)(end_ns - begun_ns);
    }
    return true;
}

// Every byte that was sent has come, in this iteration.
static bool add_reports(struct running *self, uint32_t iteration, struct weft_error *error)
{
    struct lab_rail_result *result = self->result;
    uint64_t sent = 0;
    uint64_t received = 0;
    result->retransmits = 0;
    result->silent_count = 0;
    for (uint32_t r = 0; r < self->rail->schedule.rank_count; r++) {
        const struct lab_work_report *report = &self->reports[r];
        sent += report->sent_bytes;
        received += report->received_bytes;
        result->checked_count += report->checked_count;
        result->retransmits += report->tcp.retransmits;
        result->silent_count += report->silent_count;
    }
    result->sent_bytes += sent;
    result->received_bytes += received;
    return sent == received ||
           weft_fail(error, WEFT_INFEASIBLE, "iteration %u: %llu bytes were sent, %llu came",
                     iteration, (unsigned long long)sent, (unsigned long long)received);
}

static bool run_all(struct running *self, struct weft_error *error)
{
    struct lab_rail_result *result = self->result;
    const struct lab_rail_log *log = self->control.log;
    uint64_t counts[4] = {0};
    double seconds = 0;
    double total_s = 0;
    for (uint32_t i = 0; i <= self->rail->options->iterations; i++) {
        if (!iterate(self, i, &seconds, error) || !add_reports(self, i, error)) {
            return weft_wrap(error, "iteration %u", i);
        }
        if (i == 0) {
            counts[0] = atomic_load(&log->changes);
            counts[1] = atomic_load(&log->lit);
            counts[2] = atomic_load(&log->fallen);
            counts[3] = atomic_load(&log->port_ns);
            continue;
        }
        result->measured_s[i - 1] = seconds;
        total_s += seconds;
    }
    lab_sleep_until(lab_now_ns() + 5000000); // the controller publishes what came last
    result->changes = atomic_load(&log->changes) - counts[0];
    result->lit = atomic_load(&log->lit) - counts[1];
    result->fallen = atomic_load(&log->fallen) - counts[2];
    double port_s = 1e-9 * (double)(atomic_load(&log->port_ns) - counts[3]);
    uint32_t ports = self->rail->schedule.moving_ports;
    result->dark_share = ports > 0 && total_s > 0 ? port_s / (ports * total_s) : 0;
    return true;
}

// ---- what came of it ----

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t notices_in(const struct lab_rail_result *result, uint32_t iteration)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->notice_count; i++) {
        count += result->notices[i].iteration == iteration;
    }
    return count;
}

// The median of iterations without a notice stands for the others; of all where there is none.
static void summarize(struct lab_rail_result *result, struct weft_arena *arena)
{
    double *quiet = WEFT_NEW(arena, double, (size_t)result->iteration_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        result->mean_s += result->measured_s[i] / result->iteration_count;
        if (notices_in(result, i + 1) == 0) {
            quiet[count++] = result->measured_s[i];
        }
    }
    if (count == 0) {
        memcpy(quiet, result->measured_s, result->iteration_count * sizeof *quiet);
        count = result->iteration_count;
    }
    qsort(quiet, count, sizeof *quiet, by_value);
    result->quiet_s = count > 0 ? quiet[count / 2] : 0;
    result->difference_ratio = result->quiet_s / result->predicted_s - 1;
    result->notice_cost_s = WEFT_NEW(arena, double, (size_t)result->notice_count + 1);
    for (uint32_t i = 0; i < result->notice_count; i++) {
        uint32_t iteration = result->notices[i].iteration;
        if (iteration > 0 && iteration <= result->iteration_count) {
            result->notice_cost_s[i] = (result->measured_s[iteration - 1] - result->predicted_s) /
                                       notices_in(result, iteration);
        }
    }
}

bool lab_rail_run(struct lab_rail_result *result, const struct lab_rail *rail,
                  const struct weft_lab *lab, struct weft_arena *arena, struct weft_arena scratch,
                  struct weft_error *error)
{
    struct running *self = WEFT_NEW(&scratch, struct running, 1);
    uint32_t iterations = rail->options->iterations;
    struct lab_rail_result made = {
        .iteration_count = iterations,
        .measured_s = WEFT_NEW(arena, double, (size_t)iterations + 1),
        .mark_s = WEFT_NEW(arena, double, (size_t)iterations * rail->mark_count + 1),
        .predicted_s = weft_seconds(rail->predicted.iteration_ps),
        .predicted_dark_share = rail->predicted.dark_share,
        .predicted_changes = rail->predicted.boundary_count,
    };
    *self = (struct running){.rail = rail, .lab = lab, .result = &made};
    bool fine = open_controller(self, arena, error) && open_workers(self, arena, error) &&
                run_all(self, error);
    lab_coordinator_close(&self->workers);
    lab_coordinator_close(&self->controller);
    if (!fine) {
        return false;
    }
    uint64_t fault_ns = atomic_load(&self->control.log->fault_ns);
    made.notice_count = atomic_load(&self->control.log->notice_count);
    made.notices = self->control.log->notices;
    made.fault_noticed_s = -1;
    for (uint32_t i = 0; i < made.notice_count && fault_ns > 0 && made.fault_noticed_s < 0; i++) {
        if (made.notices[i].notice.at_ns >= fault_ns) {
            made.fault_noticed_s = 1e-9 * (double)(made.notices[i].notice.at_ns - fault_ns);
        }
    }
    summarize(&made, arena);
    *result = made;
    return true;
}
