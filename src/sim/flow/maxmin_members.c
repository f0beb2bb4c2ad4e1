// SPDX-License-Identifier: Apache-2.0
// The records of the max-min solver: classes, links, and which classes are members of which link.
//
// A link's members stand in a block of a power of two, which grows and shrinks with their number;
// blocks are used again by size. Each class knows its place among the members of every link of its
// path, so that it joins and leaves in O(hops).

#include "maxmin.h"

#include <math.h>
#include <string.h>

#define SMALLEST_BLOCK_LOG2 2

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

static struct weft_maxmin_limits new_limits(size_t member_max, struct weft_arena *arena)
{
    return (struct weft_maxmin_limits){.rate_Bps = WEFT_NEW_RAW(arena, double, member_max),
                                       .weight = WEFT_NEW_RAW(arena, double, member_max),
                                       .link = WEFT_NEW_RAW(arena, uint32_t, member_max)};
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
    m.level_Bps = WEFT_NEW_RAW(arena, double, link_count);
    for (uint32_t link = 0; link < link_count; link++) {
        WEFT_ASSERT(capacity_Bps[link] > 0 && isfinite(capacity_Bps[link]));
        m.level_Bps[link] = capacity_Bps[link];
        m.links[link] = (struct weft_maxmin_link){
            .capacity_Bps = capacity_Bps[link],
            .calm_Bps = weft_maxmin_calm_load(capacity_Bps[link], capacity_Bps[link]),
            .per_held = 1};
    }
    m.classes = weft_arena_alloc_raw(arena, class_capacity, m.class_bytes);
    m.position = WEFT_NEW_RAW(arena, uint32_t, (size_t)class_capacity * stride);
    m.free.classes = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    m.queue = (struct weft_maxmin_queue){
        .entries = WEFT_NEW_RAW(arena, struct weft_maxmin_entry, link_count),
        .place = WEFT_NEW_RAW(arena, uint32_t, link_count)};
    memset(m.queue.place, 0xff, link_count * sizeof(uint32_t)); // WEFT_NONE
    m.touched = WEFT_NEW_RAW(arena, uint32_t, class_capacity);
    m.before_Bps = WEFT_NEW_RAW(arena, double, class_capacity);
    m.is_touched = WEFT_NEW_RAW(arena, bool, class_capacity);
    m.filling.room_Bps = WEFT_NEW_RAW(arena, double, link_count);
    m.filling.rising = WEFT_NEW_RAW(arena, double, link_count);
    m.limits = new_limits(class_capacity, arena);
    *maxmin = m;
}

void weft_maxmin_set_capacity(struct weft_maxmin *maxmin, uint32_t id, double capacity_Bps)
{
    struct weft_maxmin_link *link = &maxmin->links[id];
    WEFT_ASSERT(capacity_Bps > 0 && isfinite(capacity_Bps) && link->member_count == 0);
    link->capacity_Bps = capacity_Bps;
    maxmin->level_Bps[id] = capacity_Bps;
    link->load_Bps = 0;
    link->calm_Bps = weft_maxmin_calm_load(capacity_Bps, capacity_Bps);
    link->per_held = 1;
}

void weft_maxmin_use_shares(struct weft_maxmin *maxmin)
{
    WEFT_ASSERT(maxmin->class_count == 0);
    maxmin->shares = WEFT_NEW_RAW(maxmin->arena, struct weft_maxmin_share, maxmin->class_capacity);
}

void weft_maxmin_use_repeats(struct weft_maxmin *maxmin)
{
    WEFT_ASSERT(maxmin->class_count == 0);
    maxmin->limits = new_limits((size_t)maxmin->class_capacity * maxmin->stride, maxmin->arena);
}

uint32_t weft_maxmin_open(struct weft_maxmin *maxmin, const uint32_t *links, uint32_t hop_count)
{
    WEFT_ASSERT(hop_count >= 1 && hop_count <= maxmin->stride);
    uint32_t id;
    if (maxmin->free.class_count > 0) {
        id = maxmin->free.classes[--maxmin->free.class_count];
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
    maxmin->free.classes[maxmin->free.class_count++] = class_id;
}

// ---- member lists ----

static struct weft_maxmin_member *take_block(struct weft_maxmin *maxmin, uint8_t size_log2)
{
    void *block = maxmin->free.blocks[size_log2];
    if (block == NULL) {
        return WEFT_NEW_RAW(maxmin->arena, struct weft_maxmin_member, (size_t)1 << size_log2);
    }
    memcpy(&maxmin->free.blocks[size_log2], block, sizeof(void *));
    return block;
}

static void give_block(struct weft_maxmin *maxmin, void *block, uint8_t size_log2)
{
    memcpy(block, &maxmin->free.blocks[size_log2], sizeof(void *));
    maxmin->free.blocks[size_log2] = block;
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

void weft_maxmin_attach(struct weft_maxmin *maxmin, uint32_t class_id)
{
    const struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    uint32_t *position = &maxmin->position[(size_t)class_id * maxmin->stride];
    maxmin->member_total += class->hop_count;
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

void weft_maxmin_detach(struct weft_maxmin *maxmin, uint32_t class_id)
{
    const struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
    const uint32_t *position = &maxmin->position[(size_t)class_id * maxmin->stride];
    maxmin->member_total -= class->hop_count;
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
