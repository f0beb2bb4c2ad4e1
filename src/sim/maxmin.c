// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates, re-solved only where an arrival or a departure changes them.

#include "maxmin.h"

#include <math.h>
#include <string.h>

// A link counts as full, and is evaluated, from this share of its capacity on. Loads are kept by
// differences, whose rounding is some 1e-16 of the capacity each and is wiped out at every
// evaluation, so the margin is never reached by drift.
#define NEARLY_FULL 0.999999
#define SMALLEST_BLOCK_LOG2 2

// Records of a power of two up to a cache line, then whole lines.
static size_t record_bytes(uint32_t stride)
{
    size_t need = sizeof(struct weft_maxmin_class) + stride * sizeof(uint32_t);
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
        m.links[link] = (struct weft_maxmin_link){.capacity_Bps = capacity_Bps[link],
                                                  .level_Bps = capacity_Bps[link],
                                                  .queue_place = WEFT_NONE};
    }
    m.classes = weft_arena_alloc_raw(arena, class_capacity, m.class_bytes);
    m.position = WEFT_NEW_RAW(arena, uint32_t, (size_t)class_capacity * stride);
    m.free_classes = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    m.queue = WEFT_NEW_RAW(arena, struct weft_maxmin_entry, link_count);
    m.touched = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    m.limit_Bps = WEFT_NEW_RAW(arena, double, class_capacity);
    m.limit_weight = WEFT_NEW_RAW(arena, double, class_capacity);
    m.limit_link = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    *maxmin = m;
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
    *class = (struct weft_maxmin_class){.hop_count = hop_count, .bottleneck = WEFT_NONE};
    memcpy(class->path, links, hop_count * sizeof(uint32_t));
    return id;
}

void weft_maxmin_close(struct weft_maxmin *maxmin, uint32_t class_id)
{
    const struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    WEFT_ASSERT(class->weight == 0 && !class->is_touched);
    maxmin->free_classes[maxmin->free_count++] = class_id;
}

// ---- member lists ----

static struct weft_maxmin_member *take_block(struct weft_maxmin *maxmin, uint8_t size_log2)
{
    struct weft_maxmin_member *block = maxmin->free_blocks[size_log2];
    if (block == NULL) {
        return WEFT_NEW_RAW(maxmin->arena, struct weft_maxmin_member, (size_t)1 << size_log2);
    }
    memcpy(&maxmin->free_blocks[size_log2], block, sizeof(block));
    return block;
}

static void give_block(struct weft_maxmin *maxmin, struct weft_maxmin_member *block,
                       uint8_t size_log2)
{
    memcpy(block, &maxmin->free_blocks[size_log2], sizeof(block));
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

static void queue_put(struct weft_maxmin *maxmin, uint32_t place, struct weft_maxmin_entry entry)
{
    maxmin->queue[place] = entry;
    maxmin->links[entry.link].queue_place = place;
}

static void queue_rise(struct weft_maxmin *maxmin, uint32_t place, struct weft_maxmin_entry entry)
{
    while (place > 0 && maxmin->queue[(place - 1) / 2].key_Bps > entry.key_Bps) {
        queue_put(maxmin, place, maxmin->queue[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    queue_put(maxmin, place, entry);
}

static uint32_t queue_pop(struct weft_maxmin *maxmin)
{
    const struct weft_maxmin_entry *queue = maxmin->queue;
    uint32_t top = queue[0].link;
    maxmin->links[top].queue_place = WEFT_NONE;
    uint32_t count = --maxmin->queue_count;
    if (count == 0) {
        return top;
    }
    struct weft_maxmin_entry last = queue[count];
    uint32_t place = 0;
    for (uint32_t child = 1; child < count; child = 2 * place + 1) {
        if (child + 1 < count && queue[child + 1].key_Bps < queue[child].key_Bps) {
            child++;
        }
        if (queue[child].key_Bps >= last.key_Bps) {
            break;
        }
        queue_put(maxmin, place, queue[child]);
        place = child;
    }
    queue_put(maxmin, place, last);
    return top;
}

// Queues a link for evaluation. `key_Bps` estimates the least level that the change can concern.
static void queue_link(struct weft_maxmin *maxmin, uint32_t link, double key_Bps)
{
    uint32_t place = maxmin->links[link].queue_place;
    if (place == WEFT_NONE) {
        place = maxmin->queue_count++;
    } else if (key_Bps >= maxmin->queue[place].key_Bps) {
        return;
    }
    queue_rise(maxmin, place, (struct weft_maxmin_entry){key_Bps, link});
}

static bool holds_nobody(const struct weft_maxmin_link *link)
{
    return link->level_Bps >= link->capacity_Bps &&
           link->load_Bps < NEARLY_FULL * link->capacity_Bps;
}

// ---- arrivals and departures ----

static void touch(struct weft_maxmin *maxmin, uint32_t class_id, struct weft_maxmin_class *class,
                  double before_Bps)
{
    if (!class->is_touched) {
        class->is_touched = true;
        class->before_Bps = before_Bps;
        maxmin->touched[maxmin->touched_count++] = class_id;
    }
}

void weft_maxmin_join(struct weft_maxmin *maxmin, uint32_t class_id)
{
    struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    if (class->weight++ == 0) {
        uint32_t bottleneck = class->path[0];
        double least = maxmin->links[bottleneck].level_Bps;
        for (uint32_t hop = 1; hop < class->hop_count; hop++) {
            if (maxmin->links[class->path[hop]].level_Bps < least) {
                bottleneck = class->path[hop];
                least = maxmin->links[bottleneck].level_Bps;
            }
        }
        attach(maxmin, class_id);
        touch(maxmin, class_id, class, 0);
        class->bottleneck = bottleneck;
        class->rate_Bps = least;
    }
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        struct weft_maxmin_link *link = &maxmin->links[class->path[hop]];
        link->load_Bps += class->rate_Bps;
        if (!holds_nobody(link)) {
            queue_link(maxmin, class->path[hop], link->level_Bps);
        }
    }
}

void weft_maxmin_leave(struct weft_maxmin *maxmin, uint32_t class_id)
{
    struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    WEFT_ASSERT(class->weight > 0);
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        struct weft_maxmin_link *link = &maxmin->links[class->path[hop]];
        link->load_Bps -= class->rate_Bps;
        if (link->level_Bps < link->capacity_Bps) {
            queue_link(maxmin, class->path[hop], link->level_Bps);
        }
    }
    if (--class->weight == 0) {
        detach(maxmin, class_id);
        class->rate_Bps = 0;
    }
}

// ---- one link ----

// What the rest of the class's path allows it: the least level on it without `link`.
static double limit_without(const struct weft_maxmin_link *links,
                            const struct weft_maxmin_class *class, uint32_t link, uint32_t *where)
{
    double least = INFINITY;
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        uint32_t other = class->path[hop];
        if (other != link && links[other].level_Bps < least) {
            least = links[other].level_Bps;
            *where = other;
        }
    }
    return least;
}

// The level x at which sum of weight * min(x, limit) is the capacity, given that the sum exceeds it
// for large x. Newton's method on that concave, piecewise linear sum: a step from anywhere lands at
// or below the answer, later ones rise towards it and each frees members of those it held back. So
// it ends after as many steps as members at most; from a good guess after one or two. The answer
// depends on the final division of the members only, not on the guess.
static double fill(const double *limit_Bps, const double *weight, uint32_t count,
                   double capacity_Bps, double guess_Bps)
{
    double level = guess_Bps;
    double held_before = 0;
    for (uint32_t step = 0;; step++) {
        double below_Bps = 0;
        double held = 0;
        for (uint32_t i = 0; i < count; i++) {
            bool below = limit_Bps[i] < level;
            below_Bps += below ? weight[i] * limit_Bps[i] : 0;
            held += below ? 0 : weight[i];
        }
        if (held <= 0 && step == 0) { // the guess was above every limit
            level = 0;
            continue;
        }
        // More held than before, after the first step, is rounding among equal limits.
        if (held <= 0 || held == held_before || (step > 1 && held > held_before)) {
            return level;
        }
        held_before = held;
        level = (capacity_Bps - below_Bps) / held;
    }
}

static void pass_on(struct weft_maxmin *maxmin, const struct weft_maxmin_class *class,
                    uint32_t from, double change_Bps, double least_Bps)
{
    change_Bps *= class->weight;
    for (uint32_t hop = 0; hop < class->hop_count; hop++) {
        uint32_t id = class->path[hop];
        struct weft_maxmin_link *link = &maxmin->links[id];
        if (id != from) {
            link->load_Bps += change_Bps;
            if (!holds_nobody(link)) {
                queue_link(maxmin, id, link->level_Bps < least_Bps ? link->level_Bps : least_Bps);
            }
        }
    }
}

// Gives the members of a link the rates that its new level leaves them.
static void apply_level(struct weft_maxmin *maxmin, uint32_t id, double level)
{
    struct weft_maxmin_link *link = &maxmin->links[id];
    double load_Bps = 0;
    for (uint32_t i = 0; i < link->member_count; i++) {
        uint32_t class_id = link->members[i].class_id;
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
        double limit = maxmin->limit_Bps[i];
        bool here = level < limit || (level <= limit && class->bottleneck == id);
        double rate = here ? level : limit;
        double before = class->rate_Bps;
        class->bottleneck = here ? id : maxmin->limit_link[i];
        if (fabs(rate - before) > WEFT_MAXMIN_SAME * before) {
            touch(maxmin, class_id, class, before);
            class->rate_Bps = rate;
            pass_on(maxmin, class, id, rate - before, rate < before ? rate : before);
        }
        load_Bps += maxmin->limit_weight[i] * class->rate_Bps;
    }
    link->load_Bps = load_Bps;
    link->level_Bps = level;
}

static void evaluate(struct weft_maxmin *maxmin, uint32_t id)
{
    maxmin->evaluation_count++;
    const struct weft_maxmin_link *links = maxmin->links;
    const struct weft_maxmin_link *link = &links[id];
    double *limit = maxmin->limit_Bps;
    double *weight = maxmin->limit_weight;
    double total_Bps = 0;
    for (uint32_t i = 0; i < link->member_count; i++) {
        const struct weft_maxmin_class *class =
            weft_maxmin_class_at(maxmin, link->members[i].class_id);
        uint32_t where = class->bottleneck;
        limit[i] = where == id ? limit_without(links, class, id, &where) : class->rate_Bps;
        weight[i] = class->weight;
        maxmin->limit_link[i] = where;
        total_Bps += weight[i] * limit[i];
    }
    double level = link->capacity_Bps;
    if (total_Bps > level * (1 + 4 * WEFT_MAXMIN_SAME)) {
        level = fill(limit, weight, link->member_count, level, link->level_Bps);
    }
    apply_level(maxmin, id, level);
}

void weft_maxmin_solve(struct weft_maxmin *maxmin)
{
    maxmin->solve_count++;
    while (maxmin->queue_count > 0) {
        evaluate(maxmin, queue_pop(maxmin));
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < maxmin->touched_count; i++) {
        uint32_t id = maxmin->touched[i];
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, id);
        class->is_touched = false;
        if (class->weight == 0) {
            continue;
        }
        if (fabs(class->rate_Bps - class->before_Bps) > WEFT_MAXMIN_SAME * class->before_Bps) {
            maxmin->touched[kept++] = id;
        } else {
            class->rate_Bps = class->before_Bps;
        }
    }
    maxmin->touched_count = kept;
}
