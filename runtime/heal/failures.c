// SPDX-License-Identifier: Apache-2.0
// Failures of a job that heals, made at their moments, and how long it took to heal them.

#include "run_private.h"
#include "runtime/clock.h"
#include "runtime/testbed/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

// Of a step's length: a failure that was meant for it should not come when it is over.
static const double latest_part = 0.85;

// ---- making them ----

// The shortest step so far; a longer one may have had a healing in it.
static uint64_t step_length_ns(const struct lab_heal_running *self)
{
    uint64_t shortest_ns = self->step_ns[0] - self->begun_ns;
    for (uint32_t s = 1; s < self->machine.step; s++) {
        uint64_t length_ns = self->step_ns[s] - self->step_ns[s - 1];
        shortest_ns = length_ns < shortest_ns ? length_ns : shortest_ns;
    }
    return shortest_ns;
}

// The next failure comes at a moment of its step that the seed says; those of the same step follow
// one another at once. One whose step was over before its moment came is made in a later one.
static void schedule(struct lab_heal_running *self, uint64_t now_ns)
{
    const struct lab_heal_run_options *options = self->options;
    uint32_t next = self->faults_made;
    if (self->fault_ns != WEFT_NEVER || next == options->fault_count ||
        options->faults[next].step > self->machine.step + 1) {
        return;
    }
    self->fault_ns =
        now_ns + (uint64_t)(latest_part * weft_rng_unit(&self->rng) * (double)step_length_ns(self));
}

void lab_heal_note_step(struct lab_heal_running *self, uint64_t now_ns)
{
    uint32_t step = self->machine.step;
    self->step_ns[step - 1] = now_ns;
    self->committed_digest = self->machine.digest;
    // Who was silent wakes up when the others have gone on without it.
    for (uint32_t h = 0; h < self->job.host_count; h++) {
        if (self->processes[h].stopped && self->machine.rack.host_lost[h]) {
            self->wake_ns = now_ns;
        }
    }
    schedule(self, now_ns);
}

static bool cut(struct lab_heal_running *self, const struct lab_heal_fault *fault, uint32_t host,
                struct weft_error *error)
{
    struct weft_lab_fault_times times;
    struct weft_lab_fault cables = {.kind = WEFT_LAB_FAULT_SERVER, .server = host};
    if (fault->kind == LAB_HEAL_FAULT_PORT) {
        cables = (struct weft_lab_fault){WEFT_LAB_FAULT_LINK, host, fault->port};
    } else if (fault->kind == LAB_HEAL_FAULT_SWITCH) {
        cables = (struct weft_lab_fault){.kind = WEFT_LAB_FAULT_OCS, .port = fault->which};
    }
    if (!weft_lab_fail(&times, self->network.lab, &cables, error)) {
        return false;
    }
    self->made_ns[self->faults_made] = times.begun_ns;
    return true;
}

// Whether a port or a switch that fails has no circuit, so that nobody can notice.
static bool is_dark(const struct lab_heal_running *self, const struct lab_heal_fault *fault,
                    uint32_t host)
{
    uint32_t outputs[LAB_HEAL_HOSTS_MAX];
    const struct lab_heal_rack *rack = &self->machine.rack;
    bool dark = true;
    lab_heal_circuits(outputs, rack,
                      fault->kind == LAB_HEAL_FAULT_PORT ? fault->port : fault->which);
    for (uint32_t h = 0; h < rack->host_count; h++) {
        bool meant = fault->kind == LAB_HEAL_FAULT_SWITCH || h == host;
        dark = dark && (!meant || outputs[h] == WEFT_NONE);
    }
    return dark;
}

static bool make(struct lab_heal_running *self, const struct lab_heal_fault *fault,
                 struct weft_error *error)
{
    const struct lab_heal_rack *rack = &self->machine.rack;
    uint32_t host = fault->kind == LAB_HEAL_FAULT_SPARE    ? rack->spare_first + fault->which
                    : fault->kind == LAB_HEAL_FAULT_SWITCH ? 0
                                                           : rack->host[fault->which];
    struct lab_heal_process *process = &self->processes[host];
    bool *harmless = &self->harmless[self->faults_made];
    switch (fault->kind) {
    case LAB_HEAL_FAULT_SPARE:
        *harmless = !self->machine.active[host];
        kill(process->pid, SIGKILL);
        return true;
    case LAB_HEAL_FAULT_KILL:
        kill(process->pid, SIGKILL);
        return true;
    case LAB_HEAL_FAULT_SILENT:
        process->stopped = true;
        kill(process->pid, SIGSTOP);
        return true;
    case LAB_HEAL_FAULT_PORT:
    case LAB_HEAL_FAULT_SWITCH:
        *harmless = is_dark(self, fault, host);
        return cut(self, fault, host, error);
    case LAB_HEAL_FAULT_CUT:
        break;
    }
    return cut(self, fault, host, error);
}

bool lab_heal_inject(struct lab_heal_running *self, uint64_t now_ns, struct weft_error *error)
{
    const struct lab_heal_run_options *options = self->options;
    if (now_ns >= self->wake_ns) {
        self->wake_ns = WEFT_NEVER;
        for (uint32_t h = 0; h < self->job.host_count; h++) {
            struct lab_heal_process *process = &self->processes[h];
            if (process->stopped && process->lives && self->machine.rack.host_lost[h]) {
                kill(process->pid, SIGCONT);
            }
        }
    }
    if (now_ns < self->fault_ns || self->machine.phase == LAB_HEAL_ENDED) {
        return true;
    }
    self->fault_ns = WEFT_NEVER;
    uint32_t step = options->faults[self->faults_made].step;
    while (self->faults_made < options->fault_count &&
           options->faults[self->faults_made].step == step) {
        self->made_ns[self->faults_made] = lab_now_ns();
        if (!make(self, &options->faults[self->faults_made], error)) {
            return false;
        }
        self->faults_made++;
    }
    return true;
}

// ---- what came of it ----

static double between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? 1e-9 * (double)(to_ns - from_ns) : 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median length of the steps from `first` up to and without `end`; 0: there are none.
static double median_step(const struct lab_heal_running *self, uint32_t first, uint32_t end,
                          struct weft_arena scratch)
{
    double *lengths = WEFT_NEW(&scratch, double, (size_t)self->options->machine.steps + 1);
    uint32_t count = 0;
    for (uint32_t s = first > 0 ? first : 1; s < end; s++) {
        if (self->step_ns[s] > self->step_ns[s - 1]) {
            lengths[count++] = between(self->step_ns[s - 1], self->step_ns[s]);
        }
    }
    qsort(lengths, count, sizeof *lengths, by_value);
    return count > 0 ? lengths[count / 2] : 0;
}

// The first failure that no episode before has begun with.
static uint64_t failure_of(const struct lab_heal_running *self, uint32_t episode)
{
    uint64_t after_ns = episode > 0 ? self->machine.episodes[episode - 1].decided_ns : 0;
    const struct lab_heal_episode *at = &self->machine.episodes[episode];
    for (uint32_t i = 0; i < self->faults_made; i++) {
        if (!self->harmless[i] && self->made_ns[i] >= after_ns &&
            self->made_ns[i] <= at->decided_ns) {
            return self->made_ns[i];
        }
    }
    return at->noticed_ns; // nobody made it: a false alarm, or a failure of the machine's own
}

// Whether the parameters at the end are what they have to be.
static bool is_right(const struct lab_heal_running *self, struct weft_arena scratch)
{
    const struct lab_heal_machine *machine = &self->machine;
    struct lab_heal_work work;
    if (machine->wrong > 0 || machine->digests_differ || machine->step == 0) {
        return machine->wrong == 0 && !machine->digests_differ;
    }
    lab_heal_work_init(&work, 0, self->job.rank_count, self->job.chunk_elements, &scratch);
    size_t elements = lab_heal_elements(&work);
    lab_heal_expected(work.state, elements, work.count, machine->step - 1);
    lab_heal_expected(work.sums, elements, work.count, machine->step);
    for (size_t i = 0; i < elements; i++) {
        work.sums[i] -= work.state[i];
    }
    return lab_heal_step_digest(&work) == self->committed_digest;
}

void lab_heal_sum_up(struct lab_heal_running *self, struct weft_arena scratch)
{
    const struct lab_heal_machine *machine = &self->machine;
    struct lab_heal_result *result = self->result;
    uint32_t last = 0;
    result->outcome = machine->outcome;
    result->steps = machine->step;
    result->saved_step = machine->saved_step;
    result->failures = self->faults_made;
    result->episode_count = machine->episode_count;
    memcpy(result->episodes, machine->episodes, sizeof result->episodes);
    for (uint32_t i = 0; i < machine->episode_count; i++) {
        const struct lab_heal_episode *episode = &machine->episodes[i];
        uint64_t planned_ns = self->planned_ns[i];
        result->times[i] = (struct lab_heal_times){
            .detect_s = between(failure_of(self, i), episode->decided_ns),
            .plan_s = between(episode->decided_ns, planned_ns),
            .rewire_s = between(planned_ns, episode->lit_ns),
            .rejoin_s = between(episode->lit_ns, episode->joined_ns),
            .first_step_s = between(episode->joined_ns, episode->stepped_ns),
        };
        last = episode->step > last ? episode->step : last;
    }
    result->checked = machine->checked;
    result->wrong = machine->wrong;
    result->dropped = machine->dropped;
    result->refused = machine->refused;
    result->sums_right = is_right(self, scratch);
    result->pids_kept = true;
    for (uint32_t r = 0; r < self->job.rank_count; r++) {
        if (machine->rack.host[r] == self->rack->host[r] &&
            !machine->rack.host_lost[machine->rack.host[r]]) {
            result->survivors++;
            result->pids_kept = result->pids_kept && self->first_pid[r] == self->last_pid[r] &&
                                self->first_pid[r] != 0;
        }
    }
    uint32_t failed =
        self->options->fault_count > 0 ? self->options->faults[0].step - 1 : machine->step;
    result->before_s =
        median_step(self, 1, failed < machine->step ? failed : machine->step, scratch);
    result->after_s =
        machine->episode_count > 0 ? median_step(self, last + 1, machine->step, scratch) : 0;
}
