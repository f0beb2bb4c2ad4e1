// SPDX-License-Identifier: Apache-2.0
// What TopoOpt's task graphs have no words for, in three fields that Weft adds at the end of the
// root table: numbers of 4 bytes, which other readers of the format skip.
//
// rings: 1 if flows divide over the paths of a pair, 0 if each picks one. Then for each ring its
//     group, its members' number k, 1 if its walks are listed else 0, its share (the two halves of
//     a double, low first), the k members; and for each member the number of nodes on the walk to
//     the next one, and these.
// next: pairs of a collective and a task that waits for it, by place, in ascending order.
// kinds: pairs of an AllReduce of the file, by place, in ascending order, and what it stands for:
//     2 * (0 ReduceScatter, 1 AllGather), plus 1 where the file's bytes, half of its own, are
//     rounded up.

#include "fbuf.h"

#include <inttypes.h>

#define RING_HEAD_WORDS 5u

// ---- rings as words ----

static uint32_t ring_words(const struct weft_ring *ring)
{
    uint32_t walks = 0;
    if (ring->hop_first != NULL) {
        walks = ring->member_count + ring->hop_first[ring->member_count];
    }
    return RING_HEAD_WORDS + ring->member_count + walks;
}

static uint32_t *pack_ring(uint32_t *words, const struct weft_ring *ring,
                           const struct weft_fabric *fabric)
{
    uint64_t share;
    memcpy(&share, &ring->share_ratio, sizeof share);
    *words++ = ring->group;
    *words++ = ring->member_count;
    *words++ = ring->hop_first != NULL;
    *words++ = (uint32_t)share;
    *words++ = (uint32_t)(share >> 32);
    for (uint32_t i = 0; i < ring->member_count; i++) {
        *words++ = ring->members[i];
    }
    for (uint32_t i = 0; ring->hop_first != NULL && i < ring->member_count; i++) {
        *words++ = ring->hop_first[i + 1] - ring->hop_first[i];
        for (uint32_t h = ring->hop_first[i]; h < ring->hop_first[i + 1]; h++) {
            *words++ = fabric->links[ring->hop_links[h]].to;
        }
    }
    return words;
}

void weft_fbuf_pack_rings(struct weft_fbuf *fbuf, const struct weft_network *network,
                          struct weft_arena *arena)
{
    const struct weft_ring_set *set = &network->rings;
    uint32_t count = 1;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        count += ring_words(&set->rings[r]);
    }
    uint32_t *words = WEFT_NEW_RAW(arena, uint32_t, count);
    uint32_t *end = words;
    *end++ = network->routes.spread == WEFT_SPREAD_SPLIT;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        end = pack_ring(end, &set->rings[r], &network->fabric);
    }
    WEFT_ASSERT(end == words + count);
    fbuf->ring_word_count = count;
    fbuf->ring_words = words;
}

// ---- and back ----

struct unpacker {
    const struct weft_fbuf *fbuf;
    const struct weft_fabric *fabric;
    uint32_t at;        // among the words
    uint32_t *group_of; // by server: the last ring's group that has it, plus one
    uint32_t *seen_by;  // by server: the last ring that names it, plus one
    uint32_t ring_count;
    struct weft_arena *arena;
    struct weft_error *error;
};

static uint32_t words_left(const struct unpacker *unpacker)
{
    return unpacker->fbuf->ring_word_count - unpacker->at;
}

static uint32_t take(struct unpacker *unpacker)
{
    return unpacker->fbuf->ring_words[unpacker->at++];
}

// The members: those of the group, each once.
static bool unpack_members(uint32_t *members, struct unpacker *unpacker, uint32_t group,
                           uint32_t count)
{
    const struct weft_taskgraph *graph = &unpacker->fbuf->graph;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        unpacker->group_of[graph->group_members[i]] = unpacker->ring_count + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        members[i] = take(unpacker);
        if (members[i] >= graph->server_count ||
            unpacker->group_of[members[i]] != unpacker->ring_count + 1 ||
            unpacker->seen_by[members[i]] == unpacker->ring_count + 1) {
            return weft_fail(unpacker->error, WEFT_INPUT,
                             "server %u is no member of group %u, or stands there twice",
                             members[i], group);
        }
        unpacker->seen_by[members[i]] = unpacker->ring_count + 1;
    }
    return true;
}

// Reads the nodes between two members of a ring and finds the links between them; the walk must
// end at the second member.
static bool unpack_walk(uint32_t *hop_links, uint32_t *hop_count, struct unpacker *unpacker,
                        uint32_t from, uint32_t to)
{
    uint32_t count = words_left(unpacker) > 0 ? take(unpacker) : 0;
    if (count == 0 || count > words_left(unpacker)) {
        return weft_fail(unpacker->error, WEFT_INPUT, "the walk from server %u to %u is cut", from,
                         to);
    }
    uint32_t node = from;
    for (uint32_t h = 0; h < count; h++) {
        uint32_t next = take(unpacker);
        hop_links[h] = next < unpacker->fabric->node_count
                           ? weft_fabric_find_link(unpacker->fabric, node, next)
                           : WEFT_NONE;
        if (hop_links[h] == WEFT_NONE) {
            return weft_fail(unpacker->error, WEFT_INPUT,
                             "the walk from server %u to %u takes a link from %u to %u, which is "
                             "not there",
                             from, to, node, next);
        }
        node = next;
    }
    *hop_count = count;
    return node == to || weft_fail(unpacker->error, WEFT_INPUT,
                                   "the walk from server %u to %u ends at %u", from, to, node);
}

static bool unpack_walks(struct weft_ring *ring, struct unpacker *unpacker)
{
    uint32_t *hop_first = WEFT_NEW(unpacker->arena, uint32_t, (size_t)ring->member_count + 1);
    uint32_t *hop_links = WEFT_NEW_RAW(unpacker->arena, uint32_t, words_left(unpacker));
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t count = 0;
        uint32_t to = ring->members[(i + 1) % ring->member_count];
        if (!unpack_walk(hop_links + hop_first[i], &count, unpacker, ring->members[i], to)) {
            return false;
        }
        hop_first[i + 1] = hop_first[i] + count;
    }
    // What the walks did not take goes back.
    unpacker->arena->next = (char *)(hop_links + hop_first[ring->member_count]);
    ring->hop_first = hop_first;
    ring->hop_links = hop_links;
    return true;
}

// Reads one ring: group, number of members, whether walks follow, the share as the two halves
// of a double's bits, then members and walks.
static bool unpack_ring(struct weft_ring *ring, struct unpacker *unpacker)
{
    const struct weft_taskgraph *graph = &unpacker->fbuf->graph;
    if (words_left(unpacker) < RING_HEAD_WORDS) {
        return weft_fail(unpacker->error, WEFT_INPUT, "is cut");
    }
    uint32_t group = take(unpacker);
    uint32_t count = take(unpacker);
    bool walks = take(unpacker) != 0;
    uint64_t share = take(unpacker);
    share |= (uint64_t)take(unpacker) << 32;
    if (group >= graph->group_count || count < 2 ||
        count != graph->group_first[group + 1] - graph->group_first[group] ||
        count > words_left(unpacker)) {
        return weft_fail(unpacker->error, WEFT_INPUT,
                         "%u members of group %u; it is cut or no such group is there", count,
                         group);
    }
    uint32_t *members = WEFT_NEW_RAW(unpacker->arena, uint32_t, count);
    *ring = (struct weft_ring){.group = group, .member_count = count, .members = members};
    memcpy(&ring->share_ratio, &share, sizeof share);
    if (!(ring->share_ratio > 0 && ring->share_ratio <= 1)) {
        return weft_fail(unpacker->error, WEFT_INPUT, "a share of %g; it is to be in (0, 1]",
                         ring->share_ratio);
    }
    return unpack_members(members, unpacker, group, count) &&
           (!walks || unpack_walks(ring, unpacker));
}

bool weft_fbuf_unpack_rings(struct weft_ring_set *set, const struct weft_fbuf *fbuf,
                            const struct weft_fabric *fabric, struct weft_arena *arena,
                            struct weft_arena scratch, struct weft_error *error)
{
    uint32_t most = fbuf->ring_word_count / (RING_HEAD_WORDS + 2) + 1;
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, most);
    struct unpacker unpacker = {
        .fbuf = fbuf,
        .fabric = fabric,
        .at = 1,
        .group_of = WEFT_NEW(&scratch, uint32_t, fbuf->graph.server_count),
        .seen_by = WEFT_NEW(&scratch, uint32_t, fbuf->graph.server_count),
        .arena = arena,
        .error = error,
    };
    while (words_left(&unpacker) > 0) {
        if (unpacker.ring_count == most || !unpack_ring(&rings[unpacker.ring_count], &unpacker)) {
            return weft_wrap(error, "Weft's ring %u", unpacker.ring_count);
        }
        unpacker.ring_count++;
    }
    *set = (struct weft_ring_set){unpacker.ring_count, rings};
    return true;
}

bool weft_fbuf_read_ring_words(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_WEFT_RINGS, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "Weft's rings");
    }
    uint32_t *words = WEFT_NEW_RAW(reader->arena, uint32_t, vector.count);
    for (uint32_t i = 0; i < vector.count; i++) {
        words[i] = weft_flatbuf_u32_at(&reader->flatbuf, vector.at + 4 * (size_t)i);
    }
    fbuf->ring_word_count = vector.count;
    fbuf->ring_words = words;
    return true;
}

// ---- collectives other than AllReduce ----

static const enum weft_task_kind kinds[] = {WEFT_TASK_REDUCE_SCATTER, WEFT_TASK_ALL_GATHER};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

uint32_t weft_fbuf_kind_word(const struct weft_taskgraph *graph, uint32_t task)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        if (graph->kind[task] == kinds[i]) {
            return 2 * i + (uint32_t)(graph->size_bytes[task] % 2);
        }
    }
    return WEFT_NONE;
}

uint64_t weft_fbuf_file_bytes(const struct weft_taskgraph *graph, uint32_t task)
{
    uint64_t bytes = graph->size_bytes[task];
    return weft_fbuf_kind_word(graph, task) == WEFT_NONE ? bytes : bytes / 2 + bytes % 2;
}

bool weft_fbuf_read_kinds(struct weft_task *tasks, uint32_t task_count,
                          struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_WEFT_KINDS, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "Weft's kinds");
    }
    for (uint32_t i = 0; i + 1 < vector.count; i += 2) {
        size_t at = vector.at + 4 * (size_t)i;
        uint32_t task = weft_flatbuf_u32_at(&reader->flatbuf, at);
        uint32_t word = weft_flatbuf_u32_at(&reader->flatbuf, at + 4);
        bool there = task < task_count && tasks[task].kind == WEFT_TASK_ALLREDUCE;
        if (!there || word >= 2 * KINDS) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "Weft's kinds: pair %u: task %u is no AllReduce, stands there twice, "
                             "or %u is no kind",
                             i / 2, task, word);
        }
        uint64_t *bytes = &tasks[task].size_bytes;
        if (*bytes > INT64_MAX || *bytes < word % 2) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "Weft's kinds: pair %u: task %u has %" PRIu64
                             " bytes, which are half of no buffer",
                             i / 2, task, *bytes);
        }
        *bytes = 2 * *bytes - word % 2;
        tasks[task].kind = kinds[word / 2];
    }
    return true;
}

// ---- what waits for collectives ----

bool weft_fbuf_read_reduce_next(struct weft_task *tasks, uint32_t task_count,
                                struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_WEFT_NEXT, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "Weft's successors");
    }
    uint32_t *next = WEFT_NEW_RAW(reader->scratch, uint32_t, vector.count / 2);
    uint32_t last = 0;
    for (uint32_t i = 0; i + 1 < vector.count; i += 2) {
        size_t at = vector.at + 4 * (size_t)i;
        uint32_t task = weft_flatbuf_u32_at(&reader->flatbuf, at);
        next[i / 2] = weft_flatbuf_u32_at(&reader->flatbuf, at + 4);
        if (task < last || task >= task_count || !weft_task_facts[tasks[task].kind].is_collective) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "Weft's successors: pair %u: task %u is no collective, or stands "
                             "behind a later one",
                             i / 2, task);
        }
        if (tasks[task].next_count++ == 0) {
            tasks[task].next = &next[i / 2];
        }
        last = task;
    }
    return true;
}
