// SPDX-License-Identifier: Apache-2.0
// The coordinator of a job that heals (run.h): one thread, one poll. O(hosts) a round.

#include "checkpoint.h"
#include "run_private.h"
#include "runtime/clock.h"
#include "runtime/process/coordinator.h"
#include "runtime/real_time.h"
#include "runtime/testbed/fault.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t round_most_ns = 50000000; // between two looks at a wish to stop
static const uint64_t open_most_ns = 20000000000;
static const uint64_t standby_most_ns = 3000000000;
static const uint64_t end_most_ns = 2000000000;

// ---- processes ----

static bool fork_host(struct lab_heal_running *self, uint32_t host, struct weft_error *error)
{
    int ends[2];
    pid_t parent = getpid();
    struct lab_heal_process *process = &self->processes[host];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return weft_fail(error, WEFT_IO, "host %u: %s", host, strerrordesc_np(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return weft_fail(error, WEFT_IO, "host %u: fork: %s", host, strerrordesc_np(errno));
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_IGN);
        for (uint32_t h = 0; h < LAB_HEAL_HOSTS_MAX; h++) {
            if (self->processes[h].pid > 0) {
                close(self->processes[h].control);
            }
        }
        close(ends[0]);
        _exit(getppid() == parent ? lab_heal_host_main(&self->job, host, ends[1]) : 1);
    }
    close(ends[1]);
    *process = (struct lab_heal_process){.pid = pid, .control = ends[0], .lives = true};
    return true;
}

static void tell(struct lab_heal_running *self, uint32_t host, const struct lab_heal_order *order)
{
    struct lab_heal_process *process = &self->processes[host];
    const char *next = (const char *)order;
    size_t left = sizeof *order;
    // Orders are small and few; a host that takes none for so long that its socket is full is one
    // that is silent, which is noticed by that.
    while (process->lives && left > 0) {
        ssize_t sent = send(process->control, next, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return;
        }
        next += sent;
        left -= (size_t)sent;
    }
}

// ---- the machine ----

static bool act(struct lab_heal_running *self, struct weft_error *error);

static bool hear(struct lab_heal_running *self, const struct lab_heal_event *event,
                 struct weft_error *error)
{
    struct lab_heal_machine *machine = &self->machine;
    uint32_t step = machine->step;
    uint64_t now_ns = lab_now_ns();
    if (machine->phase == LAB_HEAL_TURNING && machine->saved_step != WEFT_NONE) {
        // Ranks may be told to go back to what is there, which a host that failed may have saved.
        machine->saved_step = lab_heal_checkpoint_step(self->options->checkpoint);
    }
    lab_heal_machine_take(machine, event, now_ns, &self->actions);
    if (machine->step > step) {
        lab_heal_note_step(self, now_ns);
    }
    return act(self, error);
}

static bool turn(struct lab_heal_running *self, struct weft_error *error)
{
    uint32_t plane = WEFT_NONE;
    uint32_t changed = 0;
    uint32_t episode = self->machine.episode_count - 1;
    if (self->planned_ns[episode] == 0) {
        self->planned_ns[episode] = lab_now_ns();
    }
    bool fine =
        lab_heal_turn(&self->network, &plane, &changed, &self->machine.rack, self->scratch, error);
    self->result->changed += changed;
    if (!fine && plane == WEFT_NONE) {
        return false;
    }
    self->lit = (struct lab_heal_event){
        .kind = fine ? LAB_HEAL_LIT : LAB_HEAL_UNLIT, .epoch = self->machine.epoch, .plane = plane};
    self->lit_ns = lab_now_ns() + (fine && changed > 0 ? self->network.lab->dark_ns : 0);
    return true;
}

// Switches first, so that they turn while hosts hear that they are to freeze.
static bool act(struct lab_heal_running *self, struct weft_error *error)
{
    const struct lab_heal_actions *actions = &self->actions;
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->list[i].kind == LAB_HEAL_TURN && !turn(self, error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->list[i].kind == LAB_HEAL_TELL) {
            tell(self, actions->list[i].host, &actions->list[i].order);
        }
    }
    return true;
}

static bool take_report(struct lab_heal_running *self, uint32_t host,
                        const struct lab_heal_report *report, struct weft_error *error)
{
    struct lab_heal_process *process = &self->processes[host];
    const struct lab_heal_event event = {.kind = LAB_HEAL_REPORT, .host = host, .report = *report};
    if (report->kind == LAB_HEAL_BEAT) {
        if (process->heard) {
            lab_heal_pulse_beat(&process->pulse, lab_now_ns());
        } else {
            lab_heal_pulse_begin(&process->pulse, self->job.beat_ns, lab_now_ns());
        }
        process->heard = true;
        return true;
    }
    if (report->kind == LAB_HEAL_STANDBY) {
        process->stands_by = true;
        return true;
    }
    if (report->kind == LAB_HEAL_DONE && report->rank < self->job.rank_count) {
        if (self->first_pid[report->rank] == 0) {
            self->first_pid[report->rank] = report->pid;
        }
        self->last_pid[report->rank] = report->pid;
    }
    return !self->begun || hear(self, &event, error);
}

static bool lose(struct lab_heal_running *self, uint32_t host, enum lab_heal_cause cause,
                 struct weft_error *error)
{
    const struct lab_heal_event event = {.kind = LAB_HEAL_LOST, .host = host, .cause = cause};
    if (!self->begun) {
        return weft_fail(error, WEFT_IO, "host %u ended before the job began", host);
    }
    return hear(self, &event, error);
}

static bool read_host(struct lab_heal_running *self, uint32_t host, struct weft_error *error)
{
    char buffer[8192];
    struct lab_heal_process *process = &self->processes[host];
    ssize_t got = recv(process->control, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    struct weft_error refused;
    for (size_t at = 0; got > 0 && at < (size_t)got;) {
        size_t taken = 0;
        bool whole = false;
        if (!lab_heal_take_report(&process->reader, buffer + at, (size_t)got - at, &taken, &whole,
                                  &refused)) {
            got = 0; // whoever says what is no report is as good as gone
            break;
        }
        if (whole && !take_report(self, host, &process->reader.it.report, error)) {
            return false;
        }
        at += taken;
    }
    if (got <= 0) {
        close(process->control);
        process->lives = false;
        return lose(self, host, LAB_HEAL_CONTROL, error);
    }
    return true;
}

// ---- rounds ----

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool check_times(struct lab_heal_running *self, struct weft_error *error)
{
    uint64_t now_ns = lab_now_ns();
    const struct lab_heal_event time = {.kind = LAB_HEAL_TICK};
    if (!self->begun) {
        return true;
    }
    if (self->lit_ns != WEFT_NEVER && now_ns >= self->lit_ns) {
        self->lit_ns = WEFT_NEVER;
        const struct lab_heal_event lit = self->lit;
        if (!hear(self, &lit, error)) {
            return false;
        }
    }
    for (uint32_t h = 0; h < self->job.host_count; h++) {
        struct lab_heal_process *process = &self->processes[h];
        if (process->lives && process->heard && !process->silent &&
            now_ns > lab_heal_pulse_due_ns(&process->pulse)) {
            process->silent = true;
            if (!lose(self, h, LAB_HEAL_SILENCE, error)) {
                return false;
            }
        }
    }
    if (now_ns >= lab_heal_machine_due_ns(&self->machine) && !hear(self, &time, error)) {
        return false;
    }
    return lab_heal_inject(self, now_ns, error);
}

static uint64_t due_ns(const struct lab_heal_running *self)
{
    uint64_t due = lab_now_ns() + round_most_ns;
    if (!self->begun) {
        return due;
    }
    due = least(due, least(self->lit_ns, least(self->fault_ns, self->wake_ns)));
    for (uint32_t h = 0; h < self->job.host_count; h++) {
        const struct lab_heal_process *process = &self->processes[h];
        if (process->lives && process->heard && !process->silent) {
            due = least(due, lab_heal_pulse_due_ns(&process->pulse));
        }
    }
    return least(due, lab_heal_machine_due_ns(&self->machine));
}

static bool round_once(struct lab_heal_running *self, struct weft_error *error)
{
    struct pollfd waits[LAB_HEAL_HOSTS_MAX];
    uint32_t hosts = self->job.host_count;
    for (uint32_t h = 0; h < hosts; h++) {
        waits[h] = (struct pollfd){.fd = self->processes[h].lives ? self->processes[h].control : -1,
                                   .events = POLLIN};
    }
    uint64_t now_ns = lab_now_ns();
    uint64_t due = due_ns(self);
    uint64_t left_ns = due > now_ns ? due - now_ns : 0;
    const struct timespec patience = {(time_t)(left_ns / 1000000000u),
                                      (long)(left_ns % 1000000000u)};
    if (ppoll(waits, hosts, &patience, NULL) < 0 && errno != EINTR) {
        return weft_fail(error, WEFT_IO, "poll: %s", strerrordesc_np(errno));
    }
    for (uint32_t h = 0; h < hosts; h++) {
        if (waits[h].fd >= 0 && waits[h].revents != 0 && !read_host(self, h, error)) {
            return false;
        }
    }
    return (!weft_stopped(self->options->stop) ||
            weft_fail(error, WEFT_IO, "stopped; what stood was taken away again")) &&
           check_times(self, error);
}

// ---- begin and end ----

static bool all_are(const struct lab_heal_running *self, uint32_t first, uint32_t end, bool standby)
{
    bool all = true;
    for (uint32_t h = first; h < end; h++) {
        all = all && (standby ? self->processes[h].stands_by : self->processes[h].heard);
    }
    return all;
}

// Ranks first, so that spares find them listening. Connections that stand by are waited for, and
// not insisted on.
static bool open_hosts(struct lab_heal_running *self, struct weft_error *error)
{
    const struct lab_heal_job *job = &self->job;
    uint64_t end_ns = lab_now_ns() + open_most_ns;
    for (uint32_t h = 0; h < job->rank_count; h++) {
        if (!fork_host(self, h, error)) {
            return false;
        }
    }
    while (!all_are(self, 0, job->rank_count, false) && lab_now_ns() < end_ns) {
        if (!round_once(self, error)) {
            return false;
        }
    }
    for (uint32_t h = job->spare_first; h < job->spare_end; h++) {
        if (!fork_host(self, h, error)) {
            return false;
        }
    }
    while (!all_are(self, job->spare_first, job->spare_end, false) && lab_now_ns() < end_ns) {
        if (!round_once(self, error)) {
            return false;
        }
    }
    uint64_t standby_ns = lab_now_ns() + standby_most_ns;
    while (job->stands_by && !all_are(self, job->spare_first, job->spare_end, true) &&
           lab_now_ns() < standby_ns) {
        if (!round_once(self, error)) {
            return false;
        }
    }
    return (all_are(self, 0, job->rank_count, false) &&
            all_are(self, job->spare_first, job->spare_end, false)) ||
           weft_fail(error, WEFT_IO, "the hosts' processes did not begin within %u s",
                     (unsigned)(open_most_ns / 1000000000u));
}

// Waits for processes that were told to end, and ends the others.
static void end_hosts(struct lab_heal_running *self)
{
    uint64_t end_ns = lab_now_ns() + end_most_ns;
    for (uint32_t h = 0; h < LAB_HEAL_HOSTS_MAX; h++) {
        struct lab_heal_process *process = &self->processes[h];
        if (process->pid > 0 && process->stopped) {
            kill(process->pid, SIGKILL);
        }
    }
    for (uint32_t h = 0; h < LAB_HEAL_HOSTS_MAX; h++) {
        struct lab_heal_process *process = &self->processes[h];
        int status = 0;
        if (process->pid <= 0) {
            continue;
        }
        while (waitpid(process->pid, &status, WNOHANG) == 0) {
            if (lab_now_ns() > end_ns) {
                kill(process->pid, SIGKILL);
                waitpid(process->pid, &status, 0);
                break;
            }
            lab_sleep_until(lab_now_ns() + 1000000);
        }
        if (process->lives) {
            close(process->control);
        }
        process->pid = 0;
    }
}

static bool run_all(struct lab_heal_running *self, struct weft_error *error)
{
    if (!open_hosts(self, error)) {
        return false;
    }
    self->begun = true;
    self->begun_ns = lab_now_ns();
    lab_heal_machine_begin(&self->machine, self->rack, &self->options->machine, self->begun_ns,
                           &self->actions);
    if (!act(self, error)) {
        return false;
    }
    while (self->machine.phase != LAB_HEAL_ENDED) {
        if (!round_once(self, error)) {
            return false;
        }
    }
    return true;
}

static void fill_job(struct lab_heal_running *self)
{
    const struct lab_heal_rack *rack = self->rack;
    const struct lab_heal_run_options *options = self->options;
    self->job = (struct lab_heal_job){
        .lab = self->network.lab->name,
        .rank_count = rack->rank_count,
        .host_count = rack->spare_end,
        .plane_count = rack->plane_count,
        .spare_first = rack->spare_first,
        .spare_end = rack->spare_end,
        .chunk_elements = options->chunk_elements,
        .compute_ns = options->compute_ns,
        .beat_ns = options->beat_ns,
        .stands_by = options->machine.source == LAB_HEAL_HOT,
        .checkpoint = options->checkpoint,
    };
    memcpy(self->job.first_plane, rack->plane, sizeof self->job.first_plane);
}

bool lab_heal_run(struct lab_heal_result *result, const struct lab_heal_run_options *options,
                  const struct lab_heal_rack *rack, const struct weft_lab *lab,
                  struct weft_arena scratch, struct weft_error *error)
{
    uint8_t nonce[LAB_KEY_BYTES];
    struct lab_heal_result made = {.saved_step = WEFT_NONE};
    struct lab_heal_running *self = WEFT_NEW(&scratch, struct lab_heal_running, 1);
    *self = (struct lab_heal_running){.options = options,
                                      .rack = rack,
                                      .result = &made,
                                      .lit_ns = WEFT_NEVER,
                                      .fault_ns = WEFT_NEVER,
                                      .wake_ns = WEFT_NEVER};
    self->step_ns = WEFT_NEW(&scratch, uint64_t, (size_t)options->machine.steps + 1);
    weft_rng_init(&self->rng, options->seed);
    if (!lab_nonce(nonce, error) ||
        !lab_heal_network_open(&self->network, lab, rack, &scratch, error)) {
        return false;
    }
    self->scratch = scratch;
    self->network.detour = options->detour;
    fill_job(self);
    memcpy(&self->job.token, nonce, sizeof self->job.token);
    // Before its hosts' processes, which would keep it waiting: it has little to do, and at once.
    struct lab_real_time before;
    lab_real_time_begin(&before, SCHED_FIFO, 2);
    bool fine = run_all(self, error);
    made.real_time = lab_real_time_end(&before);
    if (!fine) {
        for (uint32_t h = 0; h < LAB_HEAL_HOSTS_MAX; h++) {
            self->processes[h].stopped = true; // nothing to wait for
        }
    }
    end_hosts(self);
    lab_heal_network_close(&self->network);
    if (fine) {
        lab_heal_sum_up(self, scratch);
        *result = made;
    }
    return fine;
}
