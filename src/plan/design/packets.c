// SPDX-License-Identifier: Apache-2.0
// The last candidates of a search, evaluated by packets: the best by packets is the plan.
//
// A fluid shares links at once and without loss; windows that are halved by marks do not. Where
// many servers send to one at a time (CANDLE-16), packets take 3 to 23 % longer, and the order of
// candidates changes: what the flow engine likes best need not be best. Playing packets costs a
// hundred times as much, so that the search stays with the flow engine, and only those it ends with
// are played as the recorded simulator of TopoOpt plays (docs/packet-engine.md), in the order of
// their flow times, until one is behind by more than the engines differ in favor of packets.
// docs/plan.md, "Evaluated by packets".

#include "packets.h"

#include <math.h>

// The share of the effort: enough for the four or five candidates of `--effort 10` and the twenty
// of `--effort 45` on CANDLE-16, the dearest of the four jobs (1.7 s of one core each).
#define PACKET_SHARE 0.4
// Finalists evaluated side by side; not the number of threads, so that it changes nothing.
#define BATCH 4u
// What the flow engine sees further behind the best by packets cannot win. Packets are at times
// quicker than the fluid: a port that serves in order lets one flow end before the next, where
// max-min shares let both end late (task graph 400dlrm_16 on 4 ports: 21.97 ms, 20.78 in packets).
#define QUICKER_RATIO 1.08

double packets_share(const struct weft_plan_options *options)
{
    return options->last_sim != NULL ? PACKET_SHARE : 0;
}

struct search packets_open(const struct search *search, const struct weft_plan_options *options)
{
    struct search own = *search;
    own.sim = *options->last_sim;
    own.sim.timeline = false;
    return own;
}

static void evaluate(void *context, uint32_t index, struct weft_arena scratch)
{
    struct finalist *finalist = (struct finalist *)context + index;
    struct search search = finalist->search;
    search.sim.stop = search.stop; // packets take seconds
    finalist->score = search_evaluate(&search, &finalist->design, false, scratch);
}

// How many of the next finalists are evaluated side by side: those that the effort affords, and
// that can still win.
static uint32_t next_batch(const struct finalist *next, uint32_t count, double affordable,
                           double best_s)
{
    uint32_t most = affordable < BATCH ? (uint32_t)fmax(affordable, 0) : BATCH;
    uint32_t batch = 0;
    while (batch < most && batch < count &&
           next[batch].flow.iteration_s <= best_s * QUICKER_RATIO) {
        batch++;
    }
    return batch;
}

// Offers a finalist, the count-th that packets have judged.
static void offer(const struct finalist *finalist, uint32_t count)
{
    struct incumbent *incumbent = finalist->search.incumbent;
    const struct offer said = {.score = finalist->score,
                               .finals = {.count = count, .flow_s = finalist->flow.iteration_s},
                               .flow_units = finalist->flow.work_units};
    if (incumbent == NULL) {
        return;
    }
    incumbent->now = finalist->now;
    incumbent_work(incumbent, finalist->score.work_units);
    if (finalist->score.iteration_s < HUGE_VAL) {
        incumbent_offer(incumbent, &finalist->design, &said);
    }
}

// Evaluates a batch, as many side by side as there are threads, and offers them in their order: so
// what has been judged is not lost when the rest of the batch is left.
static void evaluate_batch(struct finalist *finalists, uint32_t done, uint32_t count)
{
    uint32_t threads = finalists[0].search.threads;
    uint32_t most = threads > 0 ? threads : 1;
    for (uint32_t first = done; first < done + count;) {
        uint32_t step = done + count - first < most ? done + count - first : most;
        weft_parallel_for(step, threads, evaluate, finalists + first);
        for (uint32_t end = first + step; first < end; first++) {
            offer(&finalists[first], first + 1);
        }
    }
}

uint32_t packets_evaluate(struct finalist *finalists, uint32_t count, double work_units,
                          uint32_t *evaluated)
{
    WEFT_ASSERT(count > 0);
    const struct search *search = &finalists[0].search;
    struct finalist *best = &finalists[0];
    double costliest = 0;
    double left = work_units;
    uint32_t done = 0;
    for (uint32_t batch = 1; batch > 0;
         batch = next_batch(finalists + done, count - done, left / costliest,
                            best->score.iteration_s)) {
        evaluate_batch(finalists, done, batch);
        for (uint32_t end = done + batch; done < end; done++) {
            const struct score *score = &finalists[done].score;
            left -= score->work_units;
            costliest = fmax(costliest, fmax(score->work_units, 1));
            best = score->iteration_s < best->score.iteration_s ? &finalists[done] : best;
        }
        if (weft_stopped(search->stop)) {
            break;
        }
    }
    *evaluated = done;
    return best->score.iteration_s < HUGE_VAL ? (uint32_t)(best - finalists) : WEFT_NONE;
}
