// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates, solved again only where an arrival or a departure changes them: the links
// that a change touches are evaluated, lowest level first, each by Newton's method on its own
// water-filling equation, and a change of a rate is passed on along the class's path. A solve costs
// the members of the links that it evaluates, not those of the network; maxmin.h has the equations
// and which links those are.

#include "maxmin.h"

#include "weft/base/heap.h"

#include <math.h>
#include <string.h>

// In order of level a link is evaluated about once a solve. Where very much changes at once, as
// when a million flows begin together, the levels that links are filed under say little, and each
// may be evaluated a hundred times. A solve that has looked at all members of all links so many
// times, and at so many members besides, or that would look at more than those at first, is ended
// by filling all links at once, which looks at each a few times. The second figure (0.1 s) keeps
// smaller solves to evaluations, which give equal links the same level to the last bit, so that
// their flows end at one instant.
#define PASSES_MAX 2u
#define MEMBERS_MAX (1u << 22)
// How many members ahead of the one in hand an evaluation asks for.
#define PREFETCHED 12u

// ---- links to evaluate ----

// Of equal keys any may come first: the rates that a solve ends with are unique up to rounding, and
// the order is the same in equal runs.
static inline bool is_lower(const struct weft_maxmin_entry *a, const struct weft_maxmin_entry *b)
{
    return a->key_Bps < b->key_Bps;
}

static inline void note_place(struct weft_maxmin_queue *queue, uint32_t place)
{
    queue->place[queue->entries[place].link] = place;
}

WEFT_HEAP(queue, struct weft_maxmin_queue, struct weft_maxmin_entry, 2, is_lower, note_place)

static uint32_t take_lowest(struct weft_maxmin *maxmin)
{
    uint32_t top = queue_pop(&maxmin->queue).link;
    maxmin->queue.place[top] = WEFT_NONE;
    return top;
}

// What the link's level will be: one step of Newton's method from the load that its members make
// now, those held as when it was last evaluated.
static double newton_guess(const struct weft_maxmin_link *link, double level_Bps)
{
    return level_Bps + (link->capacity_Bps - link->load_Bps) * link->per_held;
}

// Queues a link for evaluation, by the lesser of its level and what that will be.
static void queue_link(struct weft_maxmin *maxmin, uint32_t id)
{
    const struct weft_maxmin_link *link = &maxmin->links[id];
    double level_Bps = maxmin->level_Bps[id];
    double guess_Bps = newton_guess(link, level_Bps);
    struct weft_maxmin_entry entry = {level_Bps < guess_Bps ? level_Bps : guess_Bps, id};
    uint32_t place = maxmin->queue.place[id];
    if (place == WEFT_NONE) {
        __builtin_prefetch(link->members);
        queue_push(&maxmin->queue, entry);
    } else if (is_lower(&entry, &maxmin->queue.entries[place])) {
        queue_rise(&maxmin->queue, place, entry);
    } else {
        queue_sink(&maxmin->queue, place, entry);
    }
}

// ---- arrivals and departures ----

// Remembers a class's rate for the list `touched`, before its first change.
static void touch(struct weft_maxmin *maxmin, uint32_t class_id, double before_Bps)
{
    if (!maxmin->is_touched[class_id]) {
        maxmin->is_touched[class_id] = true;
        maxmin->before_Bps[class_id] = before_Bps;
        maxmin->touched[maxmin->touched_count++] = class_id;
    }
}

// What the class weighs with `step` flows more; the weight of one flow goes to *one.
static double change_flows(struct weft_maxmin *maxmin, uint32_t class_id, int step, double *one)
{
    if (maxmin->shares == NULL) {
        *one = 1;
        return weft_maxmin_class_at(maxmin, class_id)->weight + step;
    }
    struct weft_maxmin_share *share = &maxmin->shares[class_id];
    share->flow_count += (uint32_t)step;
    *one = share->ratio;
    return share->flow_count * share->ratio;
}

void weft_maxmin_join(struct weft_maxmin *maxmin, uint32_t class_id)
{
    struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    double one;
    double weight = change_flows(maxmin, class_id, 1, &one);
    bool is_first = class->weight == 0;
    class->weight = weight;
    if (is_first) {
        uint32_t bottleneck = class->path[0];
        double least = maxmin->level_Bps[bottleneck];
        for (uint32_t hop = 1; hop < class->hop_count; hop++) {
            if (maxmin->level_Bps[class->path[hop]] < least) {
                bottleneck = class->path[hop];
                least = maxmin->level_Bps[bottleneck];
            }
        }
        weft_maxmin_attach(maxmin, class_id);
        touch(maxmin, class_id, 0);
        class->bottleneck = bottleneck;
        class->rate_Bps = least;
    }
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        struct weft_maxmin_link *link = &maxmin->links[class->path[hop]];
        link->load_Bps += class->rate_Bps * one;
        if (link->load_Bps >= link->calm_Bps) {
            queue_link(maxmin, class->path[hop]);
        }
    }
}

void weft_maxmin_leave(struct weft_maxmin *maxmin, uint32_t class_id)
{
    struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    WEFT_ASSERT(class->weight > 0);
    double one;
    double weight = change_flows(maxmin, class_id, -1, &one);
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        struct weft_maxmin_link *link = &maxmin->links[class->path[hop]];
        link->load_Bps -= class->rate_Bps * one;
        if (link->calm_Bps < 0) {
            queue_link(maxmin, class->path[hop]);
        }
    }
    class->weight = weight;
    if (weight == 0) {
        weft_maxmin_detach(maxmin, class_id);
        class->rate_Bps = 0;
    }
}

// The flows' own rates, and with them the loads, stay as they are until the link that holds the
// class is evaluated.
void weft_maxmin_set_share(struct weft_maxmin *maxmin, uint32_t class_id, double ratio)
{
    WEFT_ASSERT(ratio >= 1 && isfinite(ratio));
    struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    struct weft_maxmin_share *share = &maxmin->shares[class_id];
    double scale = share->ratio / ratio;
    share->ratio = ratio;
    if (class->weight == 0) {
        return;
    }
    class->weight = share->flow_count * ratio;
    class->rate_Bps *= scale;
    if (maxmin->is_touched[class_id]) {
        maxmin->before_Bps[class_id] *= scale;
    } else {
        touch(maxmin, class_id, class->rate_Bps);
    }
    queue_link(maxmin, class->bottleneck);
}

// ---- one link ----

// The members of a link divided at a trial level: those that other links hold below it, and those
// that the link would hold.
struct division {
    double below_Bps;
    double max_below_Bps;
    double held_weight;
    double min_held_Bps;
};

static inline void divide_one(struct division *d, double limit_Bps, double weight, double level_Bps)
{
    bool below = limit_Bps < level_Bps; // no branches: the order of the limits is random
    double low = below ? limit_Bps : 0;
    double high = below ? (double)INFINITY : limit_Bps;
    d->below_Bps += weight * low;
    d->held_weight += below ? 0 : weight;
    d->max_below_Bps = low > d->max_below_Bps ? low : d->max_below_Bps;
    d->min_held_Bps = high < d->min_held_Bps ? high : d->min_held_Bps;
}

static struct division divide(const double *limit_Bps, const double *weight, uint32_t count,
                              double level_Bps)
{
    struct division d = {.min_held_Bps = (double)INFINITY};
    for (uint32_t i = 0; i < count; i++) {
        divide_one(&d, limit_Bps[i], weight[i], level_Bps);
    }
    return d;
}

// The level x at which sum of weight * min(x, limit) is the capacity, given that the sum exceeds it
// for large x; `d` divides them at the guess. Newton's method on that concave, piecewise linear
// sum: a step from anywhere lands at or below the answer, later ones rise towards it and each frees
// members of those it held back. So it ends after as many steps as members at most; from a good
// guess after one. The answer depends on the final division of the members only, not on the guess.
static double fill(const double *limit_Bps, const double *weight, uint32_t count,
                   double capacity_Bps, double guess_Bps, struct division d)
{
    double level = guess_Bps;
    double held_before = (double)INFINITY;
    for (uint32_t step = 0;; step++) {
        if (step > 0) {
            d = divide(limit_Bps, weight, count, level);
        }
        if (d.held_weight <= 0 && step == 0) { // the guess was above every limit
            level = 0;
            continue;
        }
        // No fewer held than before, from the second step on, is rounding among equal limits.
        if (d.held_weight <= 0 || (step > 1 && d.held_weight >= held_before)) {
            return level;
        }
        held_before = d.held_weight;
        level = (capacity_Bps - d.below_Bps) / d.held_weight;
        if (d.max_below_Bps < level && level <= d.min_held_Bps) {
            return level;
        }
    }
}

static void pass_on(struct weft_maxmin *maxmin, const struct weft_maxmin_class *class,
                    uint32_t from, double change_Bps)
{
    change_Bps *= class->weight;
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        uint32_t id = class->path[hop];
        struct weft_maxmin_link *link = &maxmin->links[id];
        if (id != from) {
            link->load_Bps += change_Bps;
            if (link->load_Bps >= link->calm_Bps) {
                queue_link(maxmin, id);
            }
        }
    }
}

// Gives the members of a link the rates that its new level leaves them.
static void apply_level(struct weft_maxmin *maxmin, uint32_t id, double level)
{
    struct weft_maxmin_link *link = &maxmin->links[id];
    double load_Bps = 0;
    double held_weight = 0;
    for (uint32_t i = 0; i < link->member_count; i++) {
        double limit = maxmin->limits.rate_Bps[i];
        if (level >= limit && maxmin->limits.link[i] == WEFT_NONE) { // held elsewhere, and still
            load_Bps += maxmin->limits.weight[i] * limit;
            continue;
        }
        uint32_t class_id = link->members[i].class_id;
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
        bool here = level < limit || (level <= limit && class->bottleneck == id);
        double rate = here ? level : limit;
        double before = class->rate_Bps;
        class->bottleneck = here ? id : maxmin->limits.link[i];
        if (fabs(rate - before) > WEFT_MAXMIN_SAME * before) {
            touch(maxmin, class_id, before);
            class->rate_Bps = rate;
            pass_on(maxmin, class, id, rate - before);
        }
        load_Bps += maxmin->limits.weight[i] * class->rate_Bps;
        held_weight += here ? maxmin->limits.weight[i] : 0;
    }
    link->load_Bps = load_Bps;
    link->per_held = held_weight > 1 ? 1 / held_weight : 1;
    link->calm_Bps = weft_maxmin_calm_load(link->capacity_Bps, level);
}

// Members stand in no order in memory; what is asked for this early has come when it is read.
static inline void prefetch_class(const struct weft_maxmin *maxmin,
                                  const struct weft_maxmin_link *link, uint32_t member)
{
    if (member < link->member_count) {
        __builtin_prefetch(weft_maxmin_class_at(maxmin, link->members[member].class_id));
    }
}

// Finds what the rest of its path allows each member of the link: its rate where another link holds
// it, whose name does not matter then, else the least level on the path without this one, which
// stands at infinity meanwhile. Returns their sum; *d divides them at the guess.
static double gather_limits(const struct weft_maxmin *maxmin, uint32_t id, double guess_Bps,
                            struct division *d)
{
    const struct weft_maxmin_link *link = &maxmin->links[id];
    const double *levels = maxmin->level_Bps;
    double *limit_Bps = maxmin->limits.rate_Bps;
    double *limit_weight = maxmin->limits.weight;
    uint32_t *limit_link = maxmin->limits.link;
    double total_Bps = 0;
    for (uint32_t i = 0; i < PREFETCHED; i++) {
        prefetch_class(maxmin, link, i);
    }
    for (uint32_t i = 0; i < link->member_count; i++) {
        prefetch_class(maxmin, link, i + PREFETCHED);
        const struct weft_maxmin_class *class =
            weft_maxmin_class_at(maxmin, link->members[i].class_id);
        double limit = class->rate_Bps;
        uint32_t where = WEFT_NONE;
        if (class->bottleneck == id) {
            limit = (double)INFINITY;
            where = id;
            for (uint32_t hop = 0; hop < class->hop_count; hop++) {
                __builtin_prefetch(&maxmin->links[class->path[hop]], 1);
                double level = levels[class->path[hop]];
                where = level < limit ? class->path[hop] : where;
                limit = level < limit ? level : limit;
            }
        }
        double weight = class->weight;
        limit_Bps[i] = limit;
        limit_weight[i] = weight;
        limit_link[i] = where;
        total_Bps += weight * limit;
        divide_one(d, limit, weight, guess_Bps);
    }
    return total_Bps;
}

static void evaluate(struct weft_maxmin *maxmin, uint32_t id)
{
    maxmin->counts.evaluations++;
    struct weft_maxmin_link *link = &maxmin->links[id];
    maxmin->counts.work += link->member_count;
    double guess_Bps = newton_guess(link, maxmin->level_Bps[id]);
    maxmin->level_Bps[id] = (double)INFINITY;
    struct division d = {.min_held_Bps = (double)INFINITY};
    double total_Bps = gather_limits(maxmin, id, guess_Bps, &d);
    double level = link->capacity_Bps;
    if (total_Bps > level * (1 + 4 * WEFT_MAXMIN_SAME)) {
        level = fill(maxmin->limits.rate_Bps, maxmin->limits.weight, link->member_count, level,
                     guess_Bps, d);
    }
    maxmin->level_Bps[id] = level;
    apply_level(maxmin, id, level);
}

// ---- all links at once ----
//
// Progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): all classes rise together,
// and those of a link that fills stop.

#define RISING (-1.0) // the rate of a class that no full link holds yet
#define SOME 0.5      // what rises weighs at least 1; less is what rounding left

// Every class rises; the queue is emptied.
static void begin_filling(struct weft_maxmin *maxmin)
{
    for (uint32_t id = 0; id < maxmin->link_count; id++) {
        maxmin->queue.place[id] = WEFT_NONE;
    }
    maxmin->queue.count = 0;
    for (uint32_t id = 0; id < maxmin->link_count; id++) {
        struct weft_maxmin_link *link = &maxmin->links[id];
        maxmin->level_Bps[id] = link->capacity_Bps;
        link->load_Bps = 0;
        link->per_held = 1;
        maxmin->filling.room_Bps[id] = link->capacity_Bps;
        maxmin->filling.rising[id] = 0;
        for (uint32_t i = 0; i < link->member_count; i++) {
            uint32_t class_id = link->members[i].class_id;
            struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
            maxmin->filling.rising[id] += class->weight;
            if (class->rate_Bps >= 0) {
                touch(maxmin, class_id, class->rate_Bps);
                class->rate_Bps = RISING;
            }
        }
        if (maxmin->filling.rising[id] > SOME) {
            double share_Bps = link->capacity_Bps / maxmin->filling.rising[id];
            queue_push(&maxmin->queue, (struct weft_maxmin_entry){share_Bps, id});
        }
    }
}

// The link that fills first, WEFT_NONE when nothing rises any more. What a link's share was when it
// was filed is a lower bound: those that stop meanwhile take less than it of the room. So one whose
// share has grown beyond the next one's bound is filed anew.
static uint32_t first_to_fill(struct weft_maxmin *maxmin, double *level_Bps)
{
    while (maxmin->queue.count > 0) {
        uint32_t id = take_lowest(maxmin);
        if (maxmin->filling.rising[id] <= SOME) {
            continue;
        }
        double share_Bps = maxmin->filling.room_Bps[id] / maxmin->filling.rising[id];
        if (maxmin->queue.count == 0 || share_Bps <= maxmin->queue.entries[0].key_Bps) {
            *level_Bps = share_Bps;
            return id;
        }
        queue_push(&maxmin->queue, (struct weft_maxmin_entry){share_Bps, id});
    }
    return WEFT_NONE;
}

// The members that still rise on a full link stop at `level`.
static void stop_members(struct weft_maxmin *maxmin, uint32_t id, double level_Bps)
{
    struct weft_maxmin_link *link = &maxmin->links[id];
    double held = maxmin->filling.rising[id];
    for (uint32_t i = 0; i < link->member_count; i++) {
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, link->members[i].class_id);
        if (class->rate_Bps >= 0) {
            continue;
        }
        class->rate_Bps = level_Bps;
        class->bottleneck = id;
        for (uint32_t hop = 0; hop < class->hop_count; hop++) {
            uint32_t other = class->path[hop];
            double room_Bps = maxmin->filling.room_Bps[other] - level_Bps * class->weight;
            maxmin->filling.room_Bps[other] = room_Bps > 0 ? room_Bps : 0;
            maxmin->filling.rising[other] -= class->weight;
            maxmin->links[other].load_Bps += level_Bps * class->weight;
        }
    }
    maxmin->level_Bps[id] = level_Bps;
    link->per_held = 1 / held;
}

void weft_maxmin_refill(struct weft_maxmin *maxmin)
{
    maxmin->counts.refills++;
    begin_filling(maxmin);
    double level_Bps = 0;
    for (uint32_t id; (id = first_to_fill(maxmin, &level_Bps)) != WEFT_NONE;) {
        maxmin->counts.work += 2 * maxmin->links[id].member_count;
        // Room that rounding has eaten up leaves crumbs rather than nothing.
        double crumb_Bps = maxmin->links[id].capacity_Bps * WEFT_MAXMIN_SAME;
        stop_members(maxmin, id, level_Bps > crumb_Bps ? level_Bps : crumb_Bps);
    }
    for (uint32_t id = 0; id < maxmin->link_count; id++) {
        struct weft_maxmin_link *link = &maxmin->links[id];
        link->calm_Bps = weft_maxmin_calm_load(link->capacity_Bps, maxmin->level_Bps[id]);
    }
}

static uint64_t queued_members(const struct weft_maxmin *maxmin)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < maxmin->queue.count; i++) {
        count += maxmin->links[maxmin->queue.entries[i].link].member_count;
    }
    return count;
}

void weft_maxmin_solve(struct weft_maxmin *maxmin)
{
    maxmin->counts.solves++;
    bool is_much = maxmin->member_total > MEMBERS_MAX && queued_members(maxmin) > MEMBERS_MAX;
    uint64_t enough = maxmin->counts.work + MEMBERS_MAX + PASSES_MAX * maxmin->member_total;
    while (maxmin->queue.count > 0 && maxmin->counts.work < enough && !is_much) {
        evaluate(maxmin, take_lowest(maxmin));
    }
    if (maxmin->queue.count > 0) {
        weft_maxmin_refill(maxmin);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < maxmin->touched_count; i++) {
        uint32_t id = maxmin->touched[i];
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, id);
        double before = maxmin->before_Bps[id];
        maxmin->is_touched[id] = false;
        if (class->weight == 0) {
            continue;
        }
        if (fabs(class->rate_Bps - before) > WEFT_MAXMIN_SAME * before) {
            maxmin->touched[kept++] = id;
        } else {
            class->rate_Bps = before;
        }
    }
    maxmin->touched_count = kept;
}
