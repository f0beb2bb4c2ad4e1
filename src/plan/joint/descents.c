// SPDX-License-Identifier: Apache-2.0
// Descents from known strategies on the designs that they have, and from where changes at random
// lead.

#include "descent.h"
#include "joint.h"

#include <math.h>
#include <string.h>

// Before and after the first descents, what is so much longer than the best is judged on the
// designs of all others, the best of them first.
#define CROSS_RATIO 1.25
#define CROSSED_MAX 24u
#define CROSS_SHARE_MOST 0.15
// Descents begin at what is this much longer than the best, too, and first end after so many steps
// that gain nothing. From what got so much shorter since, one is made again.
#define DESCENT_RATIO 1.15
#define PATIENCE_QUICK 96u
#define AGAIN_RATIO 0.003
// Where they end near enough to the best, and it was worth it, a new topology with such a share of
// the effort follows.
#define WIRE_RATIO 1.01
#define WIRE_SHARE 0.03
#define WIRE_S_MOST 0.8
// While so many times what it costs is left, searches from nothing with other random choices, and
// descents from what they find, are worth more than kicks: on CANDLE-16 what a descent comes to
// depends on where it begins, and no kick leads from 133 ms to the 130 that others come to.
#define ANEW_WORTH 1.3
// Kicks: their share of what the first descents left, the strategies they begin at (how many, and
// how much longer than the best), random changes of strategy and design at most, and how many in a
// row may gain nothing.
#define KICK_SHARE 0.8
#define KICKED_FROM 6u
#define KICK_RATIO 1.02
#define KICKS_MAX 3u
#define DESIGN_MOVES_MAX 2u
#define KICKS_IDLE_MAX 64u
#define PATIENCE_KICKED 64u
#define KICK_SEED 0x6b69636bu

// What one descent may cost, and where it begins.
struct attempt {
    double work_units;
    uint32_t patience;
    uint32_t kicks;    // random changes of the strategy first
    bool kicks_design; // the design is changed first, too
    struct weft_rng *rng;
};

struct ground {
    const struct coplan *coplan;
    const struct design *design;
};

static struct descent_verdict judge(const void *context, const struct weft_taskgraph *graph,
                                    double limit_s, struct weft_arena scratch)
{
    const struct ground *ground = context;
    const struct coplan *coplan = ground->coplan;
    struct descent_verdict verdict = {.quick_s = HUGE_VAL, .iteration_s = HUGE_VAL};
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &kept, scratch);
    struct search search = method_open(graph, &traffic, coplan->cluster, &coplan->options->plan);
    struct design design = design_copy(ground->design, &kept);
    design_regroup(&design, &traffic, scratch);
    struct weft_network network;
    if (!search_network(&network, &verdict.work_units, &search, &design, &kept, scratch)) {
        return verdict;
    }
    return descent_simulate(&search, &network, limit_s, verdict.work_units, scratch);
}

// Marks the strategy of this key as one that descents lead to.
static struct settled *mark(struct coplan *coplan, uint64_t key)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        if (coplan->known[i]->key == key) {
            coplan->known[i]->descended_s = coplan->known[i]->verdict.iteration_s;
            return coplan->known[i];
        }
    }
    return NULL;
}

static void kick_design(struct design *design, struct weft_rng *rng)
{
    uint32_t moves = 1 + weft_rng_below(rng, DESIGN_MOVES_MAX);
    for (uint32_t i = 0; i < moves && design_move(design, rng); i++) {
    }
}

// Changes a known strategy step by step on the design that it has; knows what it comes to if that
// is shorter, and points there. Returns the seconds of effort.
static double descend_from(struct settled **settled_at, struct coplan *coplan,
                           const struct attempt *how, struct weft_arena scratch)
{
    struct settled *settled = *settled_at;
    settled->descended_s = settled->verdict.iteration_s;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    struct weft_network network;
    struct weft_error error;
    double units = 0;
    struct design design = design_copy(&settled->design, &kept);
    if (how->kicks_design) {
        kick_design(&design, how->rng);
        design_regroup(&design, &settled->traffic, scratch);
    }
    if (!search_network(&network, &units, &settled->search, &design, &kept, scratch) ||
        !weft_strategy_space_build(&space,
                                   &(struct weft_study){.model = coplan->model,
                                                        .cluster = coplan->cluster,
                                                        .network = &network,
                                                        .setting = coplan->setting},
                                   &kept, scratch, &error)) {
        return units / WORK_UNITS_PER_S;
    }
    const struct ground ground = {coplan, &design};
    const struct descent_job job = {
        .model = coplan->model,
        .cluster = coplan->cluster,
        .setting = coplan->setting,
        .space = space,
        .judge = judge,
        .context = &ground,
        .threads = coplan->options->search.threads,
        .stop = coplan->options->search.stop,
        .work_units = how->work_units - units,
        .patience = how->patience,
        .kicks = how->kicks,
        .rng = how->rng,
        .goal_s = coplan->known[0]->verdict.iteration_s,
    };
    struct weft_strategy strategy = settled->strategy;
    double iteration_s;
    units += descent_run(&strategy, &iteration_s, &job, &kept, scratch);
    if (iteration_s < settled->verdict.iteration_s) {
        coplan_adopt(coplan, &strategy, &design, false, scratch);
        struct settled *found = mark(coplan, coplan_key(&strategy, coplan->model));
        *settled_at = found != NULL ? found : settled;
    }
    return units / WORK_UNITS_PER_S;
}

// The shortest of those known from which no descent was made since it got so short.
static struct settled *find_undescended(const struct coplan *coplan)
{
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        struct settled *known = coplan->known[i];
        if (known->verdict.iteration_s > coplan->known[0]->verdict.iteration_s * DESCENT_RATIO) {
            return NULL;
        }
        if (known->descended_s <= 0 ||
            known->verdict.iteration_s < known->descended_s * (1 - AGAIN_RATIO)) {
            return known;
        }
    }
    return NULL;
}

// Judges a strategy on the designs of all others. Returns the seconds of effort.
static double cross(struct coplan *coplan, struct settled *settled, struct weft_arena scratch)
{
    const struct settled *others[SETTLED_MAX];
    uint32_t count = coplan->known_count;
    memcpy(others, coplan->known, count * sizeof(struct settled *)); // the order may change
    double work_units = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (others[i] != settled) {
            work_units +=
                coplan_adopt(coplan, &settled->strategy, &others[i]->design, false, scratch);
        }
    }
    return work_units / WORK_UNITS_PER_S;
}

// Judges all from which descents may begin on the designs of the others. Returns the seconds of
// effort.
static double cross_all(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    struct settled *all[CROSSED_MAX];
    uint32_t count = coplan->known_count < CROSSED_MAX ? coplan->known_count : CROSSED_MAX;
    memcpy(all, coplan->known, count * sizeof(struct settled *)); // the order may change
    double spent = 0;
    double limit_s = coplan->known[0]->verdict.iteration_s * CROSS_RATIO;
    for (uint32_t i = 0; i < count && spent < seconds; i++) {
        if (all[i]->verdict.iteration_s <= limit_s) {
            spent += cross(coplan, all[i], scratch);
        }
    }
    return spent;
}

// Descents from the best known, each followed by a new topology where it ended near the best, until
// all have ended or the effort is spent. Returns the effort left of `left`.
static double descend_all(struct coplan *coplan, double left, double wire_s, uint32_t patience,
                          struct weft_arena scratch)
{
    while (left > 0 && !weft_stopped(coplan->options->search.stop)) {
        struct settled *settled = find_undescended(coplan);
        if (settled == NULL) {
            break;
        }
        double before_s = settled->verdict.iteration_s;
        const struct attempt how = {.work_units = left * WORK_UNITS_PER_S, .patience = patience};
        left -= descend_from(&settled, coplan, &how, scratch);
        double after_s = settled->verdict.iteration_s;
        if (after_s < before_s && after_s <= coplan->known[0]->verdict.iteration_s * WIRE_RATIO) {
            coplan_wire(coplan, settled, wire_s, scratch);
            left -= wire_s;
        }
    }
    return left;
}

static bool is_good_enough(const struct coplan *coplan)
{
    return coplan->known[0]->verdict.iteration_s <= coplan->known[0]->search.good_enough_s;
}

// First searches once more, and descents from what they find, while the effort is worth it. Returns
// the effort left of `left`.
static double descend_anew(struct coplan *coplan, double left, double wire_s,
                           struct weft_arena scratch)
{
    while (left > coplan_anew_seconds(coplan) * ANEW_WORTH && !is_good_enough(coplan) &&
           !weft_stopped(coplan->options->search.stop)) {
        double before_s = coplan->seconds_left;
        bool searched = coplan_start_anew(coplan, scratch);
        left -= before_s - coplan->seconds_left;
        coplan->seconds_left = before_s; // the caller counts `left`
        if (!searched) {
            break;
        }
        left -= cross_all(coplan, left * CROSS_SHARE_MOST, scratch);
        left = descend_all(coplan, left, wire_s, PATIENCE_QUICK, scratch);
    }
    return left;
}

// One of the best known, the better ones more often.
static struct settled *draw_known(const struct coplan *coplan, struct weft_rng *rng)
{
    double limit_s = coplan->known[0]->verdict.iteration_s * KICK_RATIO;
    uint32_t near = 1;
    while (near < KICKED_FROM && near < coplan->known_count &&
           coplan->known[near]->verdict.iteration_s <= limit_s) {
        near++;
    }
    uint32_t first = weft_rng_below(rng, near);
    uint32_t second = weft_rng_below(rng, near);
    return coplan->known[first < second ? first : second];
}

// Descents from where random changes of the best lead, with `seconds` of effort. Returns what is
// left of it.
static double kick_all(struct coplan *coplan, double seconds, double wire_s,
                       struct weft_arena scratch)
{
    struct weft_rng rng;
    weft_rng_init(&rng, weft_hash(coplan->options->search.seed ^ KICK_SEED));
    double left = seconds;
    for (uint32_t idle = 0;
         left > 0 && idle < KICKS_IDLE_MAX && !weft_stopped(coplan->options->search.stop); idle++) {
        struct settled *settled = draw_known(coplan, &rng);
        double before_s = settled->verdict.iteration_s;
        uint32_t kind = weft_rng_below(&rng, 3); // the design, the strategy, both
        const struct attempt how = {.work_units = left * WORK_UNITS_PER_S,
                                    .patience = PATIENCE_KICKED,
                                    .kicks = kind == 0 ? 0 : 1 + weft_rng_below(&rng, KICKS_MAX),
                                    .kicks_design = kind != 1,
                                    .rng = &rng};
        left -= descend_from(&settled, coplan, &how, scratch);
        if (settled->verdict.iteration_s < before_s && settled == coplan->known[0]) {
            coplan_wire(coplan, settled, wire_s, scratch);
            left -= wire_s;
            idle = 0;
        }
    }
    return left;
}

double coplan_descend(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    double wire_s = fmin(WIRE_S_MOST, seconds * WIRE_SHARE);
    double left = seconds - cross_all(coplan, seconds * CROSS_SHARE_MOST, scratch);
    left = descend_all(coplan, left, wire_s, PATIENCE_QUICK, scratch);
    left = descend_anew(coplan, left, wire_s, scratch);
    left -= cross_all(coplan, left * CROSS_SHARE_MOST, scratch);
    double kick_s = left * KICK_SHARE;
    left += kick_all(coplan, kick_s, wire_s, scratch) - kick_s;
    double limit_s = coplan->known[0]->verdict.iteration_s * WIRE_RATIO;
    for (uint32_t i = 0; i < coplan->known_count; i++) {
        struct settled *known = coplan->known[i];
        known->descended_s = known->verdict.iteration_s <= limit_s ? 0 : known->verdict.iteration_s;
    }
    return descend_all(coplan, left, wire_s, UINT32_MAX, scratch);
}
