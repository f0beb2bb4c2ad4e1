// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: process groups, from the JSON that ASTRA-sim takes ({"1": [0, 1], ...})
// and from METADATA nodes of PyTorch, whose inputs hold [{"pg_name": "1", "ranks": [0, 1]}, ...].

#include "read.h"
#include "format/syntax/json.h"

#include <stdlib.h>
#include <string.h>

// Groups as they are named; equal members are joined at the end.
struct collector {
    struct chakra_set *set;
    uint32_t *seen; // by rank: number of the last group that named it
    size_t members_room;
    struct weft_error *error;
};

static bool add_members(struct collector *collector, const json_t *ranks)
{
    struct chakra_set *set = collector->set;
    size_t count = json_array_size(ranks);
    uint32_t first = set->group_first[set->group_count];
    WEFT_ASSERT(count <= collector->members_room - first);
    uint32_t *members = set->group_members + first;
    if (!weft_json_indices(members, ranks, set->rank_count, collector->error)) {
        return false;
    }
    set->group_count++;
    for (size_t i = 0; i < count; i++) {
        if (collector->seen[members[i]] == set->group_count) {
            return weft_fail(collector->error, WEFT_INPUT, "names rank %u twice", members[i]);
        }
        collector->seen[members[i]] = set->group_count;
    }
    set->group_first[set->group_count] = first + (uint32_t)count;
    return true;
}

static bool add_group(struct collector *collector, const char *name, uint32_t rank,
                      const json_t *ranks, struct weft_arena *arena)
{
    struct chakra_set *set = collector->set;
    uint32_t group = 0; // no ranks: all of them
    if (!json_is_array(ranks)) {
        weft_fail(collector->error, WEFT_INPUT, "is no list of ranks; write [0, 1]");
        return weft_wrap(collector->error, "group '%.40s'", name);
    }
    if (json_array_size(ranks) > 0) {
        group = set->group_count;
        if (!add_members(collector, ranks)) {
            return weft_wrap(collector->error, "group '%.40s'", name);
        }
    }
    set->names[set->name_count++] = (struct chakra_group_name){
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
static bool read_node(struct collector *collector, const struct chakra_node *node,
                      struct weft_arena *arena)
{
    const char *start = strstr(node->inputs, "[{");
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
    return good || chakra_blame(collector->error, node);
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
    const struct chakra_group_name *x = a;
    const struct chakra_group_name *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

// Names of equal groups come to mean the first of them.
static void join_groups(struct chakra_set *set, struct weft_arena scratch)
{
    struct member_list *lists = WEFT_NEW_RAW(&scratch, struct member_list, set->group_count);
    uint32_t *first_of = WEFT_NEW_RAW(&scratch, uint32_t, set->group_count);
    for (uint32_t g = 0; g < set->group_count; g++) {
        uint32_t first = set->group_first[g];
        lists[g] =
            (struct member_list){set->group_members + first, set->group_first[g + 1] - first, g};
    }
    qsort(lists, set->group_count, sizeof *lists, compare_lists);
    for (uint32_t i = 0; i < set->group_count; i++) {
        bool same = i > 0 && compare_members(&lists[i - 1], &lists[i]) == 0;
        first_of[lists[i].group] = same ? first_of[lists[i - 1].group] : lists[i].group;
    }
    for (uint32_t i = 0; i < set->name_count; i++) {
        set->names[i].group = first_of[set->names[i].group];
    }
    qsort(set->names, set->name_count, sizeof *set->names, compare_names);
}

// ---- the whole ----

// Room for every rank of every list: two bytes and more each, where they are written.
static void make_room(struct collector *collector, const struct weft_chakra_input *input,
                      struct weft_arena *arena)
{
    struct chakra_set *set = collector->set;
    size_t bytes = input->groups != NULL ? input->groups_length : 0;
    for (uint32_t n = 0; n < set->node_count; n++) {
        bytes += set->nodes[n].inputs != NULL ? strlen(set->nodes[n].inputs) : 0;
    }
    collector->members_room = bytes + set->rank_count;
    collector->seen = WEFT_NEW(arena, uint32_t, set->rank_count);
    set->group_members = WEFT_NEW_RAW(arena, uint32_t, collector->members_room);
    set->group_first = WEFT_NEW_RAW(arena, uint32_t, bytes + 2);
    set->names = WEFT_NEW_RAW(arena, struct chakra_group_name, bytes);
    set->group_first[0] = 0;
    for (uint32_t rank = 0; rank < set->rank_count; rank++) {
        set->group_members[rank] = rank;
    }
    set->group_count = 1;
    set->group_first[1] = set->rank_count;
}

bool chakra_read_groups(struct chakra_set *set, const struct weft_chakra_input *input,
                        struct weft_arena *arena, struct weft_error *error)
{
    struct collector collector = {.set = set, .error = error};
    make_room(&collector, input, arena);
    if (input->groups != NULL) {
        json_t *root = NULL;
        if (!weft_json_parse(&root, input->groups, input->groups_length, error)) {
            return weft_wrap(error, "groups");
        }
        bool good = read_file(&collector, root, arena);
        json_decref(root);
        if (!good) {
            return weft_wrap(error, "groups");
        }
    }
    for (uint32_t n = 0; n < set->node_count; n++) {
        if (set->nodes[n].inputs != NULL && !read_node(&collector, &set->nodes[n], arena)) {
            return false;
        }
    }
    join_groups(set, *arena);
    return true;
}

static const struct chakra_group_name *find_name(const struct chakra_set *set, const char *name,
                                                 uint32_t rank)
{
    const struct chakra_group_name key = {.name = name, .rank = rank};
    return bsearch(&key, set->names, set->name_count, sizeof key, compare_names);
}

// As ASTRA-sim has it, no name and "0" mean all ranks unless they are given otherwise.
bool chakra_find_group(uint32_t *group, const struct chakra_set *set,
                       const struct chakra_node *node, struct weft_error *error)
{
    const char *name = node->pg_name != NULL ? node->pg_name : "";
    const struct chakra_group_name *found = find_name(set, name, node->rank);
    found = found != NULL ? found : find_name(set, name, WEFT_NONE);
    if (found == NULL && strcmp(name, "") != 0 && strcmp(name, "0") != 0) {
        weft_fail(error, WEFT_INPUT,
                  "is of process group '%.40s', which is not known; give its ranks as {\"%.40s\": "
                  "[0, 1]} in PREFIX.json or by --groups",
                  name, name);
        return chakra_blame(error, node);
    }
    *group = found != NULL ? found->group : 0;
    return true;
}
