// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates, re-solved only where an arrival or a departure changes them.

#include "maxmin.h"

#include "weft/base/heap.h"

#include <math.h>
#include <string.h>

// A link counts as full, and is evaluated, from this share of its capacity on. Loads are kept by
// differences, whose rounding is some 1e-16 of the capacity each and is wiped out at every
// evaluation, so the margin is never reached by drift.
#define NEARLY_FULL 0.999999
#define SMALLEST_BLOCK_LOG2 2
// In order of level a link is evaluated about once a solve. A solve that takes this many times as
// long as all links would is going round in roundings.
#define EVALUATIONS_A_LINK 256u

double weft_maxmin_calm_load(double capacity_Bps, double level_Bps)
{
    return level_Bps >= capacity_Bps ? NEARLY_FULL * capacity_Bps : -(double)INFINITY;
}

// Records of a power of two up to a cache line, then whole lines.
static size_t record_bytes(uint32_t stride)
{
    size_t need = offsetof(struct weft_maxmin_class, path) + stride * sizeof(uint32_t);
    size_t size = 32;
    while (size < need && size < 64) {
        size *= 2;
    }
    return need <= size ? size : (need + 63) / 64 * 64;
}

void weft_maxmin_init(struct weft_maxmin *maxmin, const double *capacity_Bps, uint32_t link_count,
                      uint32_t class_capacity, uint32_t stride, struct weft_arena *arena)
{
    struct weft_maxmin m = {.link_count = link_count,
                            .class_capacity = class_capacity,
                            .stride = stride,
                            .class_bytes = record_bytes(stride),
                            .arena = arena};
    m.links = WEFT_NEW_RAW(arena, struct weft_maxmin_link, link_count);
    for (uint32_t link = 0; link < link_count; link++) {
        WEFT_ASSERT(capacity_Bps[link] > 0 && isfinite(capacity_Bps[link]));
        m.links[link] = (struct weft_maxmin_link){
            .capacity_Bps = capacity_Bps[link],
            .level_Bps = capacity_Bps[link],
            .calm_Bps = weft_maxmin_calm_load(capacity_Bps[link], capacity_Bps[link]),
            .per_held = 1,
            .queue_place = WEFT_NONE};
    }
    m.classes = weft_arena_alloc_raw(arena, class_capacity, m.class_bytes);
    m.position = WEFT_NEW_RAW(arena, uint32_t, (size_t)class_capacity * stride);
    m.free_classes = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    m.queue = (struct weft_maxmin_queue){
        .entries = WEFT_NEW_RAW(arena, struct weft_maxmin_entry, link_count), .links = m.links};
    m.touched = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    m.before_Bps = WEFT_NEW_RAW(arena, double, class_capacity);
    m.is_touched = WEFT_NEW_RAW(arena, bool, class_capacity);
    m.room_Bps = WEFT_NEW_RAW(arena, double, link_count);
    m.rising = WEFT_NEW_RAW(arena, double, link_count);
    m.limit_Bps = WEFT_NEW_RAW(arena, double, class_capacity);
    m.limit_weight = WEFT_NEW_RAW(arena, double, class_capacity);
    m.limit_link = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    *maxmin = m;
}

void weft_maxmin_use_shares(struct weft_maxmin *maxmin)
{
    WEFT_ASSERT(maxmin->class_count == 0);
    maxmin->shares = WEFT_NEW_RAW(maxmin->arena, struct weft_maxmin_share, maxmin->class_capacity);
}

uint32_t weft_maxmin_open(struct weft_maxmin *maxmin, const uint32_t *links, uint32_t hop_count)
{
    WEFT_ASSERT(hop_count >= 1 && hop_count <= maxmin->stride);
    uint32_t id;
    if (maxmin->free_count > 0) {
        id = maxmin->free_classes[--maxmin->free_count];
    } else {
        WEFT_ASSERT(maxmin->class_count < maxmin->class_capacity);
        id = maxmin->class_count++;
    }
    struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, id);
    class->rate_Bps = 0;
    class->bottleneck = WEFT_NONE;
    class->weight = 0;
    class->hop_count = hop_count;
    maxmin->is_touched[id] = false;
    if (maxmin->shares != NULL) {
        maxmin->shares[id] = (struct weft_maxmin_share){1, 0};
    }
    memcpy(class->path, links, hop_count * sizeof(uint32_t));
    return id;
}

void weft_maxmin_close(struct weft_maxmin *maxmin, uint32_t class_id)
{
    WEFT_ASSERT(weft_maxmin_class_at(maxmin, class_id)->weight == 0);
    WEFT_ASSERT(!maxmin->is_touched[class_id]);
    maxmin->free_classes[maxmin->free_count++] = class_id;
}

// ---- member lists ----

static struct weft_maxmin_member *take_block(struct weft_maxmin *maxmin, uint8_t size_log2)
{
    void *block = maxmin->free_blocks[size_log2];
    if (block == NULL) {
        return WEFT_NEW_RAW(maxmin->arena, struct weft_maxmin_member, (size_t)1 << size_log2);
    }
    memcpy(&maxmin->free_blocks[size_log2], block, sizeof(void *));
    return block;
}

static void give_block(struct weft_maxmin *maxmin, void *block, uint8_t size_log2)
{
    memcpy(block, &maxmin->free_blocks[size_log2], sizeof(void *));
    maxmin->free_blocks[size_log2] = block;
}

static void resize_members(struct weft_maxmin *maxmin, struct weft_maxmin_link *link,
                           uint8_t size_log2)
{
    struct weft_maxmin_member *old = link->members;
    struct weft_maxmin_member *block = take_block(maxmin, size_log2);
    if (old != NULL) {
        memcpy(block, old, link->member_count * sizeof(*block));
        give_block(maxmin, old, link->block_log2);
    }
    link->members = block;
    link->block_log2 = size_log2;
}

static void attach(struct weft_maxmin *maxmin, uint32_t class_id)
{
    const struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    uint32_t *position = &maxmin->position[(size_t)class_id * maxmin->stride];
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        struct weft_maxmin_link *link = &maxmin->links[class->path[hop]];
        if (link->members == NULL) {
            resize_members(maxmin, link, SMALLEST_BLOCK_LOG2);
        } else if (link->member_count == 1u << link->block_log2) {
            resize_members(maxmin, link, (uint8_t)(link->block_log2 + 1));
        }
        link->members[link->member_count] = (struct weft_maxmin_member){class_id, hop};
        position[hop] = link->member_count++;
    }
}

static void detach(struct weft_maxmin *maxmin, uint32_t class_id)
{
    const struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    const uint32_t *position = &maxmin->position[(size_t)class_id * maxmin->stride];
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        struct weft_maxmin_link *link = &maxmin->links[class->path[hop]];
        uint32_t last = --link->member_count;
        struct weft_maxmin_member moved = link->members[last];
        link->members[position[hop]] = moved;
        maxmin->position[(size_t)moved.class_id * maxmin->stride + moved.hop] = position[hop];
        if (link->block_log2 > SMALLEST_BLOCK_LOG2 && last < 1u << (link->block_log2 - 2)) {
            resize_members(maxmin, link, (uint8_t)(link->block_log2 - 1));
        }
    }
}

// ---- links to evaluate ----

// Of equal keys any may come first: the rates that a solve ends with are unique up to rounding, and
// the order is the same in equal runs.
static inline bool is_lower(const struct weft_maxmin_entry *a, const struct weft_maxmin_entry *b)
{
    return a->key_Bps < b->key_Bps;
}

static inline void note_place(struct weft_maxmin_queue *queue, uint32_t place)
{
    queue->links[queue->entries[place].link].queue_place = place;
}

WEFT_HEAP(queue, struct weft_maxmin_queue, struct weft_maxmin_entry, 2, is_lower, note_place)

static uint32_t take_lowest(struct weft_maxmin *maxmin)
{
    uint32_t top = queue_pop(&maxmin->queue).link;
    maxmin->links[top].queue_place = WEFT_NONE;
    return top;
}

// What the link's level will be: one step of Newton's method from the load that its members make
// now, those held as when it was last evaluated.
static double newton_guess(const struct weft_maxmin_link *link)
{
    return link->level_Bps + (link->capacity_Bps - link->load_Bps) * link->per_held;
}

// Queues a link for evaluation, by the lesser of its level and what that will be.
static void queue_link(struct weft_maxmin *maxmin, uint32_t id)
{
    const struct weft_maxmin_link *link = &maxmin->links[id];
    double guess_Bps = newton_guess(link);
    struct weft_maxmin_entry entry = {link->level_Bps < guess_Bps ? link->level_Bps : guess_Bps,
                                      id};
    uint32_t place = link->queue_place;
    if (place == WEFT_NONE) {
        queue_push(&maxmin->queue, entry);
    } else if (is_lower(&entry, &maxmin->queue.entries[place])) {
        queue_rise(&maxmin->queue, place, entry);
    } else {
        queue_sink(&maxmin->queue, place, entry);
    }
}

// ---- arrivals and departures ----

void weft_maxmin_touch(struct weft_maxmin *maxmin, uint32_t class_id, double before_Bps)
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
        double least = maxmin->links[bottleneck].level_Bps;
        for (uint32_t hop = 1; hop < class->hop_count; hop++) {
            if (maxmin->links[class->path[hop]].level_Bps < least) {
                bottleneck = class->path[hop];
                least = maxmin->links[bottleneck].level_Bps;
            }
        }
        attach(maxmin, class_id);
        weft_maxmin_touch(maxmin, class_id, 0);
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
        detach(maxmin, class_id);
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
        weft_maxmin_touch(maxmin, class_id, class->rate_Bps);
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
        double limit = maxmin->limit_Bps[i];
        if (level >= limit && maxmin->limit_link[i] == WEFT_NONE) { // held elsewhere, and still
            load_Bps += maxmin->limit_weight[i] * limit;
            continue;
        }
        uint32_t class_id = link->members[i].class_id;
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
        bool here = level < limit || (level <= limit && class->bottleneck == id);
        double rate = here ? level : limit;
        double before = class->rate_Bps;
        class->bottleneck = here ? id : maxmin->limit_link[i];
        if (fabs(rate - before) > WEFT_MAXMIN_SAME * before) {
            weft_maxmin_touch(maxmin, class_id, before);
            class->rate_Bps = rate;
            pass_on(maxmin, class, id, rate - before);
        }
        load_Bps += maxmin->limit_weight[i] * class->rate_Bps;
        held_weight += here ? maxmin->limit_weight[i] : 0;
    }
    link->load_Bps = load_Bps;
    link->per_held = held_weight > 1 ? 1 / held_weight : 1;
    link->calm_Bps = weft_maxmin_calm_load(link->capacity_Bps, level);
}

// Finds what the rest of its path allows each member of the link: its rate where another link holds
// it, whose name does not matter then, else the least level on the path without this one, which
// stands at infinity meanwhile. Returns their sum; *d divides them at the guess.
static double gather_limits(const struct weft_maxmin *maxmin, uint32_t id, double guess_Bps,
                            struct division *d)
{
    const struct weft_maxmin_link *links = maxmin->links;
    const struct weft_maxmin_link *link = &links[id];
    double *limit_Bps = maxmin->limit_Bps;
    double *limit_weight = maxmin->limit_weight;
    uint32_t *limit_link = maxmin->limit_link;
    double total_Bps = 0;
    for (uint32_t i = 0; i < link->member_count; i++) {
        const struct weft_maxmin_class *class =
            weft_maxmin_class_at(maxmin, link->members[i].class_id);
        double limit = class->rate_Bps;
        uint32_t where = WEFT_NONE;
        if (class->bottleneck == id) {
            limit = (double)INFINITY;
            where = id;
            for (uint32_t hop = 0; hop < class->hop_count; hop++) {
                double level = links[class->path[hop]].level_Bps;
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
    maxmin->evaluation_count++;
    struct weft_maxmin_link *link = &maxmin->links[id];
    maxmin->work_count += link->member_count;
    double guess_Bps = newton_guess(link);
    link->level_Bps = (double)INFINITY;
    struct division d = {.min_held_Bps = (double)INFINITY};
    double total_Bps = gather_limits(maxmin, id, guess_Bps, &d);
    double level = link->capacity_Bps;
    if (total_Bps > level * (1 + 4 * WEFT_MAXMIN_SAME)) {
        level =
            fill(maxmin->limit_Bps, maxmin->limit_weight, link->member_count, level, guess_Bps, d);
    }
    link->level_Bps = level;
    apply_level(maxmin, id, level);
}

void weft_maxmin_solve(struct weft_maxmin *maxmin)
{
    maxmin->solve_count++;
    uint64_t enough = maxmin->evaluation_count + EVALUATIONS_A_LINK * (uint64_t)maxmin->link_count;
    while (maxmin->queue.count > 0 && maxmin->evaluation_count < enough) {
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
