// SPDX-License-Identifier: Apache-2.0
// Rounds of rings that repeat are skipped: collectives of thousands of members that have the
// network to themselves play two rounds, and time jumps to where something else happens. A ring of
// 65,536 has 131,070 rounds of as many messages.
//
// What happens next follows from what there is. At an instant when nothing flows, and rounds begin
// while all other events are due later, that is which rings begin. If the same rings began so at an
// instant before, and no event but their rounds has come since, the time between the two is a
// period: it comes again until a ring has had its last round or the next event is due. As many
// periods are skipped as end before that; the last one is played. Counts and bytes of links go on
// as if all had been. O(events) a look, O(paths) a jump.

#include "executor.h"

#include <math.h>

// Rings of fewer rounds (AllReduce of 128 members) cost little, and keep their last digits.
#define ROUNDS_LEAST 256u

static bool may_skip(const struct executor *executor)
{
    const struct weft_sim_options *options = executor->net.options;
    const struct weft_active_flows *active = &executor->net.active;
    return executor->events.count > 0 && executor->events.entries[0].kind == EXECUTOR_ROUND_START &&
           active->flow_count == active->free_flow_count && !options->unfolded &&
           options->circuits == NULL && options->records.sample_ps == 0 && active->job == NULL;
}

// The rounds that begin at an instant.
struct rounds {
    uint64_t rings; // the sum of their hashes
    uint32_t ring_count;
    uint32_t left;   // of the ring that has the fewest
    double other_ps; // when the next other event is due
};

// False where something else is due as well.
static bool find_rounds(struct rounds *rounds, const struct executor *executor, double until_ps)
{
    *rounds = (struct rounds){.left = UINT32_MAX, .other_ps = (double)INFINITY};
    for (uint32_t i = 0; i < executor->events.count; i++) {
        const struct executor_event *event = &executor->events.entries[i];
        if (event->time_ps > until_ps) {
            rounds->other_ps = fmin(rounds->other_ps, event->time_ps);
            continue;
        }
        if (event->kind != EXECUTOR_ROUND_START) {
            return false;
        }
        uint32_t left = executor->rings.runs[event->id].rounds_left;
        rounds->rings += weft_hash(event->id);
        rounds->ring_count++;
        rounds->left = left < rounds->left ? left : rounds->left;
    }
    return true;
}

static void add_bytes(struct executor *executor, const struct executor_run *run, uint32_t times)
{
    struct weft_active_flows *active = &executor->net.active;
    for (uint32_t i = 0; i < run->path_count; i++) {
        const struct weft_simnet_path *own = &executor->rings.paths[run->first_path + i];
        const struct weft_maxmin_class *path = weft_maxmin_class_at(&active->maxmin, own->class_id);
        for (uint32_t hop = 0; hop < path->hop_count; hop++) {
            active->link_bytes[path->path[hop]] += run->wire_bytes * own->share_ratio * times;
        }
    }
}

// The rings' events move on by so many periods, which leaves them before all others.
static void jump(struct executor *executor, double until_ps, double period_ps, uint32_t times)
{
    const struct executor_steady *last = &executor->steady;
    struct weft_active_flows *active = &executor->net.active;
    struct weft_maxmin_counts *counts = &active->maxmin.counts;
    for (uint32_t i = 0; i < executor->events.count; i++) {
        struct executor_event *event = &executor->events.entries[i];
        if (event->time_ps <= until_ps) {
            struct executor_run *run = &executor->rings.runs[event->id];
            event->time_ps += times * period_ps;
            run->rounds_left -= times;
            add_bytes(executor, run, times);
        }
    }
    executor->event_count += times * (executor->event_count - last->event_count);
    active->started_count += times * (active->started_count - last->started_count);
    counts->solves += times * (counts->solves - last->counts.solves);
    counts->evaluations += times * (counts->evaluations - last->counts.evaluations);
    counts->work += times * (counts->work - last->counts.work);
}

bool executor_skip_rounds(struct executor *executor, double now_ps)
{
    struct executor_steady *steady = &executor->steady;
    const struct weft_active_flows *active = &executor->net.active;
    struct rounds rounds;
    double until_ps = now_ps * (1 + 1e-14) + 1e-4; // as weft_active_window_ps
    if (!may_skip(executor) || !find_rounds(&rounds, executor, until_ps) ||
        rounds.left < ROUNDS_LEAST) {
        return false;
    }
    double period_ps = now_ps - steady->since_ps;
    if (steady->ring_count == rounds.ring_count && steady->rings == rounds.rings &&
        executor->event_count - steady->event_count == rounds.ring_count && period_ps > 0) {
        double times = rounds.left - 1;
        times = fmin(times, floor((rounds.other_ps - now_ps) / period_ps) - 1);
        if (times >= 1) {
            jump(executor, until_ps, period_ps, (uint32_t)times);
            steady->ring_count = 0;
            steady->has_skipped = true;
            return true;
        }
    }
    *steady = (struct executor_steady){.since_ps = now_ps,
                                       .rings = rounds.rings,
                                       .ring_count = rounds.ring_count,
                                       .event_count = executor->event_count,
                                       .started_count = active->started_count,
                                       .counts = active->maxmin.counts,
                                       .has_skipped = steady->has_skipped};
    return false;
}
