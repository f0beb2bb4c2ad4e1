// SPDX-License-Identifier: Apache-2.0
// A job that goes on over another topology: the steps of change.h, each timed.
//
// The order is what keeps packets from being lost: connections drain before circuits move, routes
// follow circuits, probes go along every path before the job sends again. The counters of the
// switches before and after tell whether circuits that stayed have lost anything.

#include "change.h"
#include "runtime/testbed/probe.h"

struct changing {
    struct lab_change *change;
    const struct lab_experiment_options *options; // two
    const struct lab_prepared *prepared;          // two
    struct lab_session *session;
    struct weft_arena scratch;
};

// Seconds since the last time it was called, so that the steps add up without gaps.
static double since(uint64_t *last_ns)
{
    uint64_t now_ns = lab_now_ns();
    double seconds = 1e-9 * (double)(now_ns - *last_ns);
    *last_ns = now_ns;
    return seconds;
}

// What the switches counted so far: lost on circuits that move, lost and passed on the others.
static bool count_losses(uint64_t counts[3], const struct changing *self, struct weft_error *error)
{
    const struct weft_lab *lab = self->options[0].lab;
    struct weft_arena arena = self->scratch;
    uint32_t n = lab->server_count;
    struct weft_ocs_port *ports = WEFT_NEW(&arena, struct weft_ocs_port, n);
    counts[0] = counts[1] = counts[2] = 0;
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        struct weft_arena kept = arena;
        struct weft_ocs ocs;
        if (!weft_lab_open_ocs(&ocs, lab, p, &kept, error)) {
            return false;
        }
        bool fine = weft_ocs_statistics(ports, &ocs, error);
        weft_ocs_close(&ocs);
        if (!fine) {
            return false;
        }
        const uint32_t *from = self->options[0].wiring->planes + (size_t)p * n;
        const uint32_t *to = self->options[1].wiring->planes + (size_t)p * n;
        for (uint32_t i = 0; i < n; i++) {
            bool moves = from[i] != to[i];
            counts[moves ? 0 : 1] += ports[i].dark_packets + ports[i].unlit_packets;
            counts[2] += moves ? 0 : ports[i].packets;
        }
    }
    return true;
}

// Every pair, before the job sends.
static bool verify(const struct changing *self, struct weft_error *error)
{
    struct weft_lab_report report;
    if (!weft_lab_probe(&report, self->options[0].lab, self->options[1].wiring, 1, self->scratch,
                        error)) {
        return false;
    }
    self->change->pair_count = report.pair_count;
    return report.reached_count == report.pair_count ||
           weft_fail(error, WEFT_INFEASIBLE, "%u of %u pairs go as planned: %s",
                     report.reached_count, report.pair_count, report.first);
}

// From the end of an iteration until the workers may connect.
static bool move(const struct changing *self, uint64_t *last_ns, struct weft_error *error)
{
    struct lab_change *change = self->change;
    const struct weft_lab *lab = self->options[0].lab;
    struct weft_lab_move moved;
    if (!lab_session_drain(self->session, &self->prepared[1], error)) {
        return weft_wrap(error, "draining");
    }
    change->drain_s = since(last_ns);
    uint64_t lit_ns = 0;
    if (!weft_lab_apply(&moved, lab, self->options[1].wiring, false, self->scratch, error)) {
        return false;
    }
    change->circuits_s = since(last_ns);
    lit_ns = *last_ns + (weft_lab_has_programs(lab) ? lab->dark_ns : 0);
    if (!weft_lab_route(lab, self->options[1].wiring, self->scratch, error) ||
        !lab_tunnels_route(&self->prepared[1].tunnels, error)) {
        return false;
    }
    change->routes_s = since(last_ns);
    lab_sleep_until(lit_ns);
    change->dark_s = since(last_ns);
    change->circuits_changed = moved.circuits.changed;
    change->circuits_untouched = moved.circuits.untouched;
    bool fine = verify(self, error);
    change->verify_s = since(last_ns);
    return fine;
}

static bool run_it(const struct changing *self, struct weft_error *error)
{
    struct lab_change *change = self->change;
    uint64_t before[3];
    uint64_t after[3];
    if (!lab_session_run(self->session, error) || !count_losses(before, self, error)) {
        return false;
    }
    uint64_t last_ns = lab_now_ns();
    if (!move(self, &last_ns, error) || !lab_session_run(self->session, error) ||
        !count_losses(after, self, error)) {
        return weft_wrap(error, "at the change");
    }
    const struct lab_timestamps *timestamps = &change->after.timestamps;
    change->connect_s = 1e-9 * (double)(timestamps->opened_ns - last_ns);
    change->first_s = 1e-9 * (double)(timestamps->first_ns - timestamps->begun_ns);
    change->pause_s = change->drain_s + change->circuits_s + change->routes_s + change->dark_s +
                      change->verify_s + change->connect_s;
    change->lost_moved = after[0] - before[0];
    change->lost_untouched = after[1] - before[1];
    change->passed_untouched = after[2] - before[2];
    return true;
}

bool lab_change_run(struct lab_change *change, struct lab_experiment_options options[2],
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct lab_prepared *prepared = WEFT_NEW(arena, struct lab_prepared, 2);
    const struct changing self = {
        .change = change,
        .options = options,
        .prepared = prepared,
        .session = WEFT_NEW(arena, struct lab_session, 1),
        .scratch = scratch,
    };
    *change = (struct lab_change){.drain_s = 0};
    if (!lab_prepare(&prepared[0], &change->before, &options[0], arena, scratch, error) ||
        !lab_prepared_predict(&prepared[0], arena, scratch, error)) {
        return false;
    }
    options[1].tunnel_first = change->before.tunnel_end;
    if (!lab_prepare(&prepared[1], &change->after, &options[1], arena, scratch, error) ||
        !lab_prepared_predict(&prepared[1], arena, scratch, error)) {
        return weft_wrap(error, "the other plan");
    }
    if (!lab_tunnels_route(&prepared[0].tunnels, error) ||
        !lab_session_open(self.session, &prepared[0], &prepared[1], arena, scratch, error)) {
        return false;
    }
    bool fine = run_it(&self, error);
    lab_session_close(self.session);
    if (fine) {
        change->before.cpu_s = change->after.cpu_s; // one set of processes
        lab_experiment_summarize(&change->before, scratch);
        lab_experiment_summarize(&change->after, scratch);
    }
    return fine;
}
