// SPDX-License-Identifier: Apache-2.0
// The process groups of a Chakra trace: from the JSON that ASTRA-sim takes as its communicator
// groups, {"1": [0, 1], ...}, and from METADATA nodes of PyTorch's Kineto traces, whose inputs hold
// [{"pg_name": "1", "ranks": [0, 1]}, ...].
//
// Every rank that uses a group states it anew, so most of the lists are equal; names of equal lists
// come to mean the first of them, found by sorting: O(members log lists).

#include "format/syntax/json.h"
#include "read.h"

#include <stdlib.h>
#include <string.h>

// Groups as they are named; equal members are joined at the end.
struct collector {
    uint32_t rank_count;
    uint32_t group_count;
    uint32_t *group_first;
    uint32_t *group_members;
    uint32_t name_count;
    struct weft_chakra_group_name *names;
    uint32_t *seen; // by rank: number of the last group that named it
    size_t members_room;
    struct weft_error *error;
};

static bool add_members(struct collector *collector, const json_t *ranks)
{
    size_t count = json_array_size(ranks);
    uint32_t first = collector->group_first[collector->group_count];
    WEFT_ASSERT(count <= collector->members_room - first);
    uint32_t *members = collector->group_members + first;
    if (!weft_json_indices(members, ranks, collector->rank_count, collector->error)) {
        return false;
    }
    collector->group_count++;
    for (size_t i = 0; i < count; i++) {
        if (collector->seen[members[i]] == collector->group_count) {
            return weft_fail(collector->error, WEFT_INPUT, "names rank %u twice", members[i]);
        }
        collector->seen[members[i]] = collector->group_count;
    }
    collector->group_first[collector->group_count] = first + (uint32_t)count;
    return true;
}

static bool add_group(struct collector *collector, const char *name, uint32_t rank,
                      const json_t *ranks, struct weft_arena *arena)
{
    uint32_t group = 0; // no ranks: all of them
    if (!json_is_array(ranks)) {
        weft_fail(collector->error, WEFT_INPUT, "is no list of ranks; write [0, 1]");
        return weft_wrap(collector->error, "group '%.40s'", name);
    }
    if (json_array_size(ranks) > 0) {
        group = collector->group_count;
        if (!add_members(collector, ranks)) {
            return weft_wrap(collector->error, "group '%.40s'", name);
        }
    }
    collector->names[collector->name_count++] = (struct weft_chakra_group_name){
        .name = weft_arena_text(arena, name, strlen(name)), .rank = rank, .group = group};
    return true;
}

static bool read_file(struct collector *collector, json_t *root, struct weft_arena *arena)
{
    const char *name;
    json_t *ranks;
    json_object_foreach(root, name, ranks)
    {
        if (!add_group(collector, name, WEFT_NONE, ranks, arena)) {
            return false;
        }
    }
    return true;
}

static bool add_item(struct collector *collector, const json_t *item, uint32_t rank,
                     struct weft_arena *arena)
{
    const json_t *name = json_object_get(item, "pg_name");
    if (!json_is_string(name)) {
        return true; // not about groups
    }
    return add_group(collector, json_string_value(name), rank, json_object_get(item, "ranks"),
                     arena);
}

// The list lies within brackets and quotes of PyTorch's own.
static bool read_note(struct collector *collector, const char *text,
                      const struct weft_chakra_node *node, struct weft_arena *arena)
{
    const char *start = strstr(text, "[{");
    const char *end = start != NULL ? strrchr(start, ']') : NULL;
    while (end > start && end[-1] != '}') {
        end--;
    }
    if (end == NULL || end <= start) {
        return true;
    }
    json_error_t fault;
    json_t *list = json_loadb(start, (size_t)(end - start) + 1, JSON_REJECT_DUPLICATES, &fault);
    bool good = true;
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        good = add_item(collector, json_array_get(list, i), node->rank, arena);
    }
    json_decref(list);
    return good || weft_chakra_wrap(collector->error, node);
}

// ---- one group for equal members, and names in order ----

struct member_list {
    const uint32_t *members;
    uint32_t count;
    uint32_t group;
};

static int compare_members(const struct member_list *a, const struct member_list *b)
{
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->members[i] != b->members[i]) {
            return a->members[i] < b->members[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_lists(const void *a, const void *b)
{
    const struct member_list *x = a;
    const struct member_list *y = b;
    int order = compare_members(x, y);
    return order != 0 ? order : (x->group > y->group) - (x->group < y->group);
}

static int compare_names(const void *a, const void *b)
{
    const struct weft_chakra_group_name *x = a;
    const struct weft_chakra_group_name *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

// Names of equal groups come to mean the first of them.
static void join_groups(struct collector *collector, struct weft_arena scratch)
{
    struct member_list *lists = WEFT_NEW_RAW(&scratch, struct member_list, collector->group_count);
    uint32_t *first_of = WEFT_NEW_RAW(&scratch, uint32_t, collector->group_count);
    for (uint32_t g = 0; g < collector->group_count; g++) {
        uint32_t first = collector->group_first[g];
        lists[g] = (struct member_list){collector->group_members + first,
                                        collector->group_first[g + 1] - first, g};
    }
    qsort(lists, collector->group_count, sizeof *lists, compare_lists);
    for (uint32_t i = 0; i < collector->group_count; i++) {
        bool same = i > 0 && compare_members(&lists[i - 1], &lists[i]) == 0;
        first_of[lists[i].group] = same ? first_of[lists[i - 1].group] : lists[i].group;
    }
    for (uint32_t i = 0; i < collector->name_count; i++) {
        collector->names[i].group = first_of[collector->names[i].group];
    }
    qsort(collector->names, collector->name_count, sizeof *collector->names, compare_names);
}

// ---- the whole ----

// Takes room for every rank of every list: each is two bytes or more where it is written.
static struct collector begin(const struct chakra_reading *reading,
                              const struct weft_chakra_files *files, struct weft_arena *arena,
                              struct weft_error *error)
{
    size_t bytes = files->groups != NULL ? files->groups_length : 0;
    for (uint32_t i = 0; i < reading->note_count; i++) {
        bytes += strlen(reading->notes[i].text);
    }
    size_t members_room = bytes + reading->rank_count;
    struct collector collector = {
        .rank_count = reading->rank_count,
        .seen = WEFT_NEW(arena, uint32_t, reading->rank_count),
        .group_members = WEFT_NEW_RAW(arena, uint32_t, members_room),
        .group_first = WEFT_NEW_RAW(arena, uint32_t, bytes + 2),
        .names = WEFT_NEW_RAW(arena, struct weft_chakra_group_name, bytes),
        .members_room = members_room,
        .error = error,
    };
    collector.group_first[0] = 0;
    for (uint32_t rank = 0; rank < reading->rank_count; rank++) {
        collector.group_members[rank] = rank;
    }
    collector.group_count = 1;
    collector.group_first[1] = reading->rank_count;
    return collector;
}

static bool read_json(struct collector *collector, const struct weft_chakra_files *files,
                      struct weft_arena *arena)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, files->groups, files->groups_length, collector->error)) {
        return weft_wrap(collector->error, "groups");
    }
    bool good = read_file(collector, root, arena);
    json_decref(root);
    return good || weft_wrap(collector->error, "groups");
}

bool chakra_read_groups(struct weft_chakra_trace *trace, const struct chakra_reading *reading,
                        const struct weft_chakra_files *files, struct weft_arena *arena,
                        struct weft_error *error)
{
    struct collector collector = begin(reading, files, arena, error);
    if (files->groups != NULL && !read_json(&collector, files, arena)) {
        return false;
    }
    for (uint32_t i = 0; i < reading->note_count; i++) {
        const struct chakra_note *note = &reading->notes[i];
        if (!read_note(&collector, note->text, &reading->nodes[note->node], arena)) {
            return false;
        }
    }
    join_groups(&collector, *arena);
    trace->group_count = collector.group_count;
    trace->group_first = collector.group_first;
    trace->group_members = collector.group_members;
    trace->name_count = collector.name_count;
    trace->names = collector.names;
    return true;
}
