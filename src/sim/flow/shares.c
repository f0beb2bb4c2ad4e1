// SPDX-License-Identifier: Apache-2.0
// Shares of jobs in the flow engine: fixed ones, and those that follow an iteration's progress.
//
// A learner keeps what was sent as a total that grows linearly between changes of its rate, so that
// the end of its quantum is known ahead; a heap of those ends says which share changes next. A step
// costs O(log learners) and a solve of the rates; docs/sharing.md has the model and its error.

#include "shares.h"

#include "sim/transports.h"
#include "weft/base/heap.h"

#include <math.h>

#define STEPS_DEFAULT 256u
#define STEPS_MAX (1u << 20)
#define PS_PER_S ((double)WEFT_PS_PER_S)

static double weight_of(const struct weft_job_timing *timings, uint32_t job)
{
    return timings == NULL || timings[job].weight_ratio == 0 ? 1 : timings[job].weight_ratio;
}

bool sim_shares_wanted(const struct weft_sim_options *options, uint32_t job_count)
{
    bool uneven = false;
    for (uint32_t job = 1; job < job_count; job++) {
        uneven = uneven || weight_of(options->timings, job) != weight_of(options->timings, 0);
    }
    return options->engine == WEFT_ENGINE_FLOW && (options->fluid.learns || uneven);
}

bool sim_shares_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_fluid_options *fluid = &options->fluid;
    if (!fluid->learns) {
        return true;
    }
    if (options->engine == WEFT_ENGINE_PACKET) {
        return weft_fail(error, WEFT_INPUT,
                         "MLTCP as a fluid takes the flow engine; in packets it is a transport");
    }
    if (fluid->steps > STEPS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u steps of an iteration's bytes; write at most %u",
                         fluid->steps, STEPS_MAX);
    }
    return weft_mltcp_check(&fluid->mltcp, error);
}

// F of the part of an iteration that has been sent, `part` in [0, 1].
static double growth(const struct weft_fluid_options *options, double part)
{
    double f = options->mltcp.slope * part + options->mltcp.intercept;
    return options->square_root ? sqrt(f) : f;
}

void sim_shares_init(struct sim_shares *shares, struct weft_active_flows *active,
                     const struct weft_sim_options *options, uint32_t job_count,
                     struct weft_arena *arena)
{
    struct sim_shares s = {.options = options->fluid, .timings = options->timings};
    uint32_t room = active->maxmin.class_capacity;
    s.learns = options->fluid.learns;
    s.steps = options->fluid.steps == 0 ? STEPS_DEFAULT : options->fluid.steps;
    s.least = (double)INFINITY;
    for (uint32_t job = 0; job < job_count; job++) {
        s.least = fmin(s.least, weight_of(options->timings, job));
    }
    weft_active_use_shares(active, s.learns, arena);
    if (s.learns) {
        s.least *= growth(&s.options, 0);
        s.learners = WEFT_NEW_RAW(arena, struct sim_learner, room > job_count ? room : job_count);
        s.job_first = WEFT_NEW_RAW(arena, uint32_t, job_count);
        s.is_known = WEFT_NEW(arena, bool, room);
        s.next_class = WEFT_NEW_RAW(arena, uint32_t, room);
        s.counted_Bps = WEFT_NEW(arena, double, room);
        s.due = (struct sim_due_heap){
            .entries = WEFT_NEW_RAW(arena, struct sim_due, room > job_count ? room : job_count),
            .learners = s.learners};
        for (uint32_t job = 0; job < job_count; job++) {
            s.job_first[job] = WEFT_NONE;
        }
    }
    *shares = s;
}

static uint32_t learner_of(const struct sim_shares *shares, const struct weft_active_flows *active,
                           uint32_t class_id)
{
    return shares->options.mltcp.per_job ? active->job[class_id] : class_id;
}

// ---- learners by the ends of their quanta ----

static inline bool is_due_before(const struct sim_due *a, const struct sim_due *b)
{
    return a->due_ps < b->due_ps;
}

static inline void note_place(struct sim_due_heap *heap, uint32_t place)
{
    heap->learners[heap->entries[place].learner].heap_place = place;
}

WEFT_HEAP(due, struct sim_due_heap, struct sim_due, 2, is_due_before, note_place)

// Puts a learner into the heap under due_ps, or moves it there; INFINITY takes it out.
static void file(struct sim_shares *shares, uint32_t id, double due_ps)
{
    struct sim_learner *learner = &shares->learners[id];
    double before_ps = learner->due_ps;
    uint32_t place = learner->heap_place;
    struct sim_due entry = {due_ps, id};
    learner->due_ps = due_ps;
    if (isinf(due_ps)) {
        if (place != WEFT_NONE) {
            due_remove(&shares->due, place);
            learner->heap_place = WEFT_NONE;
        }
    } else if (place == WEFT_NONE) {
        due_push(&shares->due, entry);
    } else if (due_ps < before_ps) {
        due_rise(&shares->due, place, entry);
    } else {
        due_sink(&shares->due, place, entry);
    }
}

double sim_shares_next_ps(const struct sim_shares *shares)
{
    return shares->due.count == 0 ? (double)INFINITY : shares->due.entries[0].due_ps;
}

// ---- progress ----

// How many bytes an iteration has is known when it is over. Until then it is taken for as long as
// the last one, or as what was posted so far if that is more; in the first that is all one knows.
static double total_bytes(const struct sim_learner *learner)
{
    return fmax(learner->learned_bytes, learner->posted_bytes);
}

static void advance(struct sim_learner *learner, double now_ps)
{
    learner->sent_bytes += learner->rate_Bps * ((now_ps - learner->since_ps) / PS_PER_S);
    learner->since_ps = now_ps;
}

// Sets the quantum that the bytes sent by now lie in.
static void find_quantum(const struct sim_shares *shares, struct sim_learner *learner)
{
    double total = total_bytes(learner);
    double part = total > 0 ? fmin(1, learner->sent_bytes / total) : 0;
    learner->quantum = (uint32_t)(part * shares->steps);
}

// Gives a learner's classes the share of its quantum.
static void apply(struct sim_shares *shares, struct weft_active_flows *active, uint32_t id,
                  uint32_t job)
{
    const struct sim_learner *learner = &shares->learners[id];
    double part = fmin(1, (learner->quantum + 0.5) / shares->steps);
    double ratio = weight_of(shares->timings, job) * growth(&shares->options, part) / shares->least;
    for (uint32_t c = learner->first_class; c != WEFT_NONE; c = shares->next_class[c]) {
        weft_maxmin_set_share(&active->maxmin, c, fmax(ratio, 1));
    }
}

// Files the learner under the time when its quantum ends at the present rate. The last quantum of
// an iteration has no end of its own: the next iteration ends it.
static void project(struct sim_shares *shares, uint32_t id)
{
    const struct sim_learner *learner = &shares->learners[id];
    double due_ps = (double)INFINITY;
    if (learner->rate_Bps > 0 && learner->quantum + 1 < shares->steps) {
        double end_bytes = total_bytes(learner) * (learner->quantum + 1) / shares->steps;
        double left_s = fmax(end_bytes - learner->sent_bytes, 0) / learner->rate_Bps;
        due_ps = learner->since_ps + left_s * PS_PER_S;
    }
    file(shares, id, due_ps);
}

void sim_shares_open(struct sim_shares *shares, struct weft_active_flows *active, uint32_t class_id)
{
    uint32_t job = active->job[class_id];
    if (!shares->learns) {
        double ratio = weight_of(shares->timings, job) / shares->least;
        weft_maxmin_set_share(&active->maxmin, class_id, fmax(ratio, 1));
        return;
    }
    if (shares->is_known[class_id]) {
        return;
    }
    active->classes[class_id].users++; // held for good, since its learner goes on over iterations
    shares->is_known[class_id] = true;
    uint32_t id = learner_of(shares, active, class_id);
    struct sim_learner *learner = &shares->learners[id];
    if (!shares->options.mltcp.per_job || shares->job_first[job] == WEFT_NONE) {
        *learner = (struct sim_learner){.since_ps = active->now_ps,
                                        .due_ps = (double)INFINITY,
                                        .heap_place = WEFT_NONE,
                                        .first_class = WEFT_NONE,
                                        .next = shares->job_first[job]};
        shares->job_first[job] = id;
    }
    shares->next_class[class_id] = learner->first_class;
    learner->first_class = class_id;
    apply(shares, active, id, job);
}

void sim_shares_start(struct sim_shares *shares, struct weft_active_flows *active,
                      uint32_t class_id, double wire_bytes)
{
    uint32_t id = learner_of(shares, active, class_id);
    struct sim_learner *learner = &shares->learners[id];
    advance(learner, active->now_ps);
    learner->posted_bytes += wire_bytes;
    uint32_t before = learner->quantum;
    find_quantum(shares, learner);
    if (learner->quantum != before) {
        apply(shares, active, id, active->job[class_id]);
    }
}

void sim_shares_iteration(struct sim_shares *shares, struct weft_active_flows *active, uint32_t job)
{
    if (!shares->learns) {
        return;
    }
    for (uint32_t id = shares->job_first[job]; id != WEFT_NONE; id = shares->learners[id].next) {
        struct sim_learner *learner = &shares->learners[id];
        advance(learner, active->now_ps);
        learner->learned_bytes = learner->posted_bytes;
        learner->posted_bytes = 0;
        learner->sent_bytes = 0;
        learner->quantum = 0;
        apply(shares, active, id, job);
        project(shares, id);
    }
}

void sim_shares_step(struct sim_shares *shares, struct weft_active_flows *active, double until_ps)
{
    while (sim_shares_next_ps(shares) <= until_ps) {
        uint32_t id = shares->due.entries[0].learner;
        struct sim_learner *learner = &shares->learners[id];
        advance(learner, active->now_ps);
        learner->quantum++;
        // Rounding must not leave it just before the beginning of the quantum that it enters.
        learner->sent_bytes =
            fmax(learner->sent_bytes, total_bytes(learner) * learner->quantum / shares->steps);
        shares->step_count++;
        apply(shares, active, id, active->job[learner->first_class]);
        project(shares, id);
    }
}

void sim_shares_settle(struct sim_shares *shares, struct weft_active_flows *active)
{
    for (uint32_t i = 0; i < active->changed.count; i++) {
        uint32_t class_id = active->changed.classes[i];
        uint32_t id = learner_of(shares, active, class_id);
        struct sim_learner *learner = &shares->learners[id];
        double flows = active->maxmin.shares[class_id].flow_count;
        double rate_Bps = flows * weft_active_rate(active, class_id);
        advance(learner, active->now_ps);
        learner->rate_Bps = fmax(learner->rate_Bps + rate_Bps - shares->counted_Bps[class_id], 0);
        shares->counted_Bps[class_id] = rate_Bps;
        project(shares, id);
        active->changed.is_listed[class_id] = false;
    }
    active->changed.count = 0;
}
