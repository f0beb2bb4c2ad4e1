// SPDX-License-Identifier: Apache-2.0
// The controller's state machine (phases.h).
//
// A phase has one generation open at a time, since a rank announces a phase anew only when it has
// an order for the last time. So any other generation is stale, or of another schedule; that is
// known at once and holds nobody up. O(phases * ranks) a call.

#include "phases.h"

#include <string.h>

const char *const lab_verdict_names[LAB_VERDICTS] = {
    "lit", "stale", "strange", "absent", "gone", "failed", "late", "busy", "given up", "stalled",
};

enum stage {
    WAITS,   // for members, of which none or some have come
    QUEUED,  // all have come
    TURNING, // the switch is at it
};

struct phase {
    enum stage stage;
    uint64_t generation; // that is open
    uint64_t first_ns;   // of the first announcement
    uint64_t queued_ns;  // of the last one
    uint32_t member_count;
    uint32_t come_count;
    bool *come; // by rank
};

struct lab_phases {
    const struct lab_phases_options *options;
    const struct lab_phases_sink *sink;
    struct phase *phases;
    bool *gone;        // by rank
    uint32_t *outputs; // as the switch has them
    uint32_t *wanted;  // of the change under way
    bool turning;      // the switch has not answered yet
    bool overdue;      // and those who waited for it have been told
    bool given_up;
    uint32_t failures;
    uint64_t begun_ns; // of the change under way
    uint32_t turned;   // its ports
    struct lab_phases_counts counts;
};

bool lab_phases_is_member(const struct lab_phases_options *options, uint32_t phase, uint32_t rank)
{
    const struct lab_phase_plan *plan = &options->phases[phase];
    uint32_t n = options->rank_count;
    for (uint32_t c = 0; c < plan->circuit_count; c++) {
        if (plan->circuits[c].from % n == rank || plan->circuits[c].to % n == rank) {
            return true;
        }
    }
    return false;
}

struct lab_phases *lab_phases_open(const struct lab_phases_options *options,
                                   const struct lab_phases_sink *sink, struct weft_arena *arena)
{
    uint32_t n = options->rank_count;
    uint32_t ports = lab_phases_port_count(options);
    struct lab_phases *self = WEFT_NEW(arena, struct lab_phases, 1);
    *self = (struct lab_phases){
        .options = options,
        .sink = sink,
        .phases = WEFT_NEW(arena, struct phase, (size_t)options->phase_count + 1),
        .gone = WEFT_NEW(arena, bool, n),
        .outputs = WEFT_NEW(arena, uint32_t, ports),
        .wanted = WEFT_NEW(arena, uint32_t, ports),
    };
    memcpy(self->outputs, options->outputs, ports * sizeof *self->outputs);
    for (uint32_t p = 0; p < options->phase_count; p++) {
        struct phase *phase = &self->phases[p];
        *phase = (struct phase){.generation = p, .come = WEFT_NEW(arena, bool, n)};
        for (uint32_t r = 0; r < n; r++) {
            phase->member_count += lab_phases_is_member(options, p, r);
        }
    }
    return self;
}

static void tell(const struct lab_phases *self, uint32_t rank, enum lab_verdict verdict,
                 uint64_t generation)
{
    const struct lab_order order = {rank, verdict, generation};
    if (self->sink->order != NULL && !self->gone[rank]) {
        self->sink->order(self->sink->context, &order);
    }
}

static void note(const struct lab_phases *self, const struct lab_notice *notice)
{
    if (self->sink->notice != NULL) {
        self->sink->notice(self->sink->context, notice);
    }
}

// Ends a phase's open generation: those who have come get their order, the next one opens. Members
// that come later for this one are behind and are told so when they come.
static void close_phase(struct lab_phases *self, struct phase *phase, enum lab_verdict verdict)
{
    uint64_t generation = phase->generation;
    self->counts.lit += verdict == LAB_LIT;
    self->counts.fallen += verdict != LAB_LIT;
    phase->generation += self->options->phase_count;
    phase->stage = WAITS;
    phase->come_count = 0;
    for (uint32_t r = 0; r < self->options->rank_count; r++) {
        if (phase->come[r]) {
            phase->come[r] = false;
            tell(self, r, verdict, generation);
        }
    }
}

// ---- the switch ----

// Joins a phase's circuits into `wanted`, whose ports lose what they had.
static void add_circuits(struct lab_phases *self, const struct lab_phase_plan *plan)
{
    for (uint32_t c = 0; c < plan->circuit_count; c++) {
        const struct lab_circuit *circuit = &plan->circuits[c];
        for (uint32_t i = 0; i < lab_phases_port_count(self->options); i++) {
            if (self->wanted[i] == circuit->to) {
                self->wanted[i] = WEFT_NONE;
            }
        }
        self->wanted[circuit->from] = circuit->to;
    }
}

// Begins a change for all phases that are complete. One whose circuits are there all the same
// (an earlier change of theirs failed) needs none.
static void start(struct lab_phases *self, uint64_t now_ns)
{
    uint32_t count = lab_phases_port_count(self->options);
    memcpy(self->wanted, self->outputs, count * sizeof *self->wanted);
    bool any = false;
    for (uint32_t p = 0; p < self->options->phase_count; p++) {
        struct phase *phase = &self->phases[p];
        if (phase->stage != QUEUED) {
            continue;
        }
        if (self->given_up) {
            close_phase(self, phase, LAB_GIVEN_UP);
            continue;
        }
        phase->stage = TURNING;
        add_circuits(self, &self->options->phases[p]);
        any = true;
    }
    if (!any) {
        return;
    }
    self->turned = 0;
    for (uint32_t i = 0; i < count; i++) {
        self->turned += self->wanted[i] != self->outputs[i] && self->wanted[i] != WEFT_NONE;
    }
    self->turning = true;
    self->overdue = false;
    self->begun_ns = now_ns;
    self->counts.changes += self->turned > 0;
    self->sink->apply(self->sink->context, self->wanted);
}

static bool any_queued(const struct lab_phases *self)
{
    bool any = false;
    for (uint32_t p = 0; p < self->options->phase_count; p++) {
        any = any || self->phases[p].stage == QUEUED;
    }
    return any;
}

// Ends all phases that wait for the switch in this stage.
static void end_turning(struct lab_phases *self, enum stage stage, enum lab_verdict verdict,
                        uint64_t now_ns)
{
    for (uint32_t p = 0; p < self->options->phase_count; p++) {
        struct phase *phase = &self->phases[p];
        if (phase->stage != stage) {
            continue;
        }
        if (verdict != LAB_LIT) {
            note(self, &(struct lab_notice){verdict, WEFT_NONE, phase->generation, now_ns,
                                            now_ns - self->begun_ns});
        }
        close_phase(self, phase, verdict);
    }
}

// One more failure of the switch.
static void count_failure(struct lab_phases *self)
{
    self->failures++;
    self->given_up = self->given_up || self->failures >= self->options->failures_max;
}

void lab_phases_applied(struct lab_phases *self, bool fine, const uint32_t *outputs,
                        uint64_t now_ns)
{
    if (!self->turning) {
        return;
    }
    bool was_overdue = self->overdue;
    self->turning = false;
    self->overdue = false;
    self->counts.port_ns += (now_ns - self->begun_ns) * self->turned;
    memcpy(self->outputs, outputs, lab_phases_port_count(self->options) * sizeof *self->outputs);
    if (!was_overdue && !fine) {
        count_failure(self);
    } else if (!was_overdue) {
        self->failures = 0;
    }
    end_turning(self, TURNING, fine ? LAB_LIT : LAB_FAILED, now_ns);
    if (any_queued(self)) {
        start(self, now_ns); // they have waited already
    }
}

// ---- ranks ----

// Tells a rank that its announcement is none that can be waited for, and notes it.
static void refuse(struct lab_phases *self, uint32_t rank, uint64_t generation,
                   enum lab_verdict verdict, uint64_t now_ns)
{
    note(self, &(struct lab_notice){verdict, rank, generation, now_ns, 0});
    tell(self, rank, verdict, generation);
}

static bool any_gone(const struct lab_phases *self, uint32_t phase)
{
    for (uint32_t r = 0; r < self->options->rank_count; r++) {
        if (self->gone[r] && lab_phases_is_member(self->options, phase, r)) {
            return true;
        }
    }
    return false;
}

void lab_phases_announce(struct lab_phases *self, uint32_t rank, uint64_t generation,
                         uint64_t now_ns)
{
    const struct lab_phases_options *options = self->options;
    if (rank >= options->rank_count || self->gone[rank]) {
        return;
    }
    uint32_t number = options->phase_count > 0 ? (uint32_t)(generation % options->phase_count) : 0;
    if (options->phase_count == 0 || !lab_phases_is_member(options, number, rank)) {
        refuse(self, rank, generation, LAB_STRANGE, now_ns);
        return;
    }
    struct phase *phase = &self->phases[number];
    if (generation != phase->generation || phase->come[rank]) {
        refuse(self, rank, generation, LAB_STALE, now_ns);
        return;
    }
    phase->first_ns = phase->come_count == 0 ? now_ns : phase->first_ns;
    phase->come[rank] = true;
    phase->come_count++;
    if (any_gone(self, number)) {
        close_phase(self, phase, LAB_GONE);
    } else if (phase->come_count == phase->member_count) {
        phase->stage = QUEUED;
        phase->queued_ns = now_ns;
        if (self->given_up) {
            close_phase(self, phase, LAB_GIVEN_UP);
        } else if (self->overdue) {
            end_turning(self, QUEUED, LAB_BUSY, now_ns);
        }
    }
}

void lab_phases_stall(struct lab_phases *self, uint32_t rank, uint64_t generation,
                      uint64_t after_ns, uint64_t now_ns)
{
    if (rank >= self->options->rank_count || self->gone[rank]) {
        return;
    }
    note(self, &(struct lab_notice){LAB_STALLED, rank, generation, now_ns, after_ns});
}

void lab_phases_lose(struct lab_phases *self, uint32_t rank, uint64_t now_ns)
{
    if (rank >= self->options->rank_count || self->gone[rank]) {
        return;
    }
    self->gone[rank] = true;
    for (uint32_t p = 0; p < self->options->phase_count; p++) {
        struct phase *phase = &self->phases[p];
        bool waits = phase->stage == WAITS && phase->come_count > 0;
        if (waits && lab_phases_is_member(self->options, p, rank)) {
            note(self, &(struct lab_notice){LAB_GONE, rank, phase->generation, now_ns,
                                            now_ns - phase->first_ns});
            close_phase(self, phase, LAB_GONE);
        }
    }
}

// ---- time ----

// Closes phases whose members do not come. Returns when the next one is due.
static uint64_t close_absent(struct lab_phases *self, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t p = 0; p < self->options->phase_count; p++) {
        struct phase *phase = &self->phases[p];
        if (phase->stage != WAITS || phase->come_count == 0) {
            continue;
        }
        uint64_t end_ns = phase->first_ns + self->options->absent_ns;
        if (end_ns > now_ns) {
            next_ns = end_ns < next_ns ? end_ns : next_ns;
            continue;
        }
        uint32_t absent = 0;
        while (phase->come[absent] || !lab_phases_is_member(self->options, p, absent)) {
            absent++;
        }
        note(self, &(struct lab_notice){LAB_ABSENT, absent, phase->generation, now_ns,
                                        now_ns - phase->first_ns});
        close_phase(self, phase, LAB_ABSENT);
    }
    return next_ns;
}

// Begins a change when the first phase of the queue has waited for others. Returns when that is.
static uint64_t start_queued(struct lab_phases *self, uint64_t now_ns)
{
    uint64_t begin_ns = UINT64_MAX;
    for (uint32_t p = 0; p < self->options->phase_count; p++) {
        const struct phase *phase = &self->phases[p];
        uint64_t own_ns = phase->queued_ns + self->options->gather_ns;
        begin_ns = phase->stage == QUEUED && own_ns < begin_ns ? own_ns : begin_ns;
    }
    if (begin_ns <= now_ns) {
        start(self, now_ns);
        return UINT64_MAX;
    }
    return begin_ns;
}

uint64_t lab_phases_tick(struct lab_phases *self, uint64_t now_ns)
{
    uint64_t next_ns = close_absent(self, now_ns);
    uint64_t other_ns = UINT64_MAX;
    if (!self->turning) {
        other_ns = start_queued(self, now_ns);
        next_ns = other_ns < next_ns ? other_ns : next_ns;
    }
    if (self->turning && !self->overdue) {
        other_ns = self->begun_ns + self->options->late_ns;
        if (other_ns > now_ns) {
            return other_ns < next_ns ? other_ns : next_ns;
        }
        self->overdue = true;
        count_failure(self);
        end_turning(self, TURNING, LAB_LATE, now_ns);
        end_turning(self, QUEUED, LAB_BUSY, now_ns);
    }
    return next_ns;
}

struct lab_phases_counts lab_phases_counts(const struct lab_phases *self)
{
    return self->counts;
}
