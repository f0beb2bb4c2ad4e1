// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: which send belongs to which receive, and which nodes of the ranks are
// one collective.
//
// Messages match by sender, receiver and tag, in ascending order of node ids where several agree.
// Collectives of a group match by name where every member has as many nodes of that name, else by
// their order on each rank.

#include "read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- messages ----

struct message {
    uint32_t from;
    uint32_t to;
    uint32_t tag;
    uint32_t node;
    uint64_t id;
};

static int compare_ends(const struct message *a, const struct message *b)
{
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    if (a->to != b->to) {
        return a->to < b->to ? -1 : 1;
    }
    return (a->tag > b->tag) - (a->tag < b->tag);
}

static int compare_messages(const void *a, const void *b)
{
    const struct message *x = a;
    const struct message *y = b;
    int order = compare_ends(x, y);
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static bool check_message(const struct chakra_set *set, const struct chakra_node *node,
                          struct weft_error *error)
{
    bool send = node->type == CHAKRA_SEND;
    uint32_t own = send ? node->from : node->to;
    uint32_t peer = send ? node->to : node->from;
    const char *peer_name = send ? "comm_dst" : "comm_src";
    bool good = true;
    if (own != WEFT_NONE && own != node->rank) {
        good = weft_fail(error, WEFT_INPUT, "its %s is rank %u; it belongs into the trace of that",
                         send ? "comm_src" : "comm_dst", own);
    } else if (peer == WEFT_NONE) {
        good = weft_fail(error, WEFT_INPUT, "it lacks %s", peer_name);
    } else if (peer >= set->rank_count) {
        good = weft_fail(error, WEFT_INPUT, "its %s is rank %u, but ranks are 0 to %u", peer_name,
                         peer, set->rank_count - 1);
    } else if (send && node->size_bytes == WEFT_NEVER) {
        good = weft_fail(error, WEFT_INPUT, "it lacks comm_size");
    }
    return good || chakra_blame(error, node);
}

static bool gather(struct message **messages, uint32_t *count, const struct chakra_set *set,
                   enum chakra_node_type type, struct weft_arena *arena, struct weft_error *error)
{
    *messages = WEFT_NEW_RAW(arena, struct message, set->node_count);
    *count = 0;
    for (uint32_t n = 0; n < set->node_count; n++) {
        const struct chakra_node *node = &set->nodes[n];
        if (node->type != type) {
            continue;
        }
        if (!check_message(set, node, error)) {
            return false;
        }
        bool send = type == CHAKRA_SEND;
        (*messages)[(*count)++] = (struct message){
            send ? node->rank : node->from, send ? node->to : node->rank, node->tag, n, node->id};
    }
    qsort(*messages, *count, sizeof **messages, compare_messages);
    return true;
}

static bool fail_alone(const struct chakra_set *set, const struct message *message,
                       struct weft_error *error)
{
    const struct chakra_node *node = &set->nodes[message->node];
    if (node->type == CHAKRA_SEND) {
        weft_fail(error, WEFT_INPUT, "sends to rank %u with tag %u, but nothing there receives it",
                  message->to, message->tag);
    } else {
        weft_fail(error, WEFT_INPUT,
                  "receives from rank %u with tag %u, but nothing there sends it", message->from,
                  message->tag);
    }
    return chakra_blame(error, node);
}

static bool pair_up(struct chakra_set *set, const struct message *send,
                    const struct message *receive, struct weft_error *error)
{
    const struct chakra_node *node = &set->nodes[receive->node];
    uint64_t sent_bytes = set->nodes[send->node].size_bytes;
    if (node->size_bytes != WEFT_NEVER && node->size_bytes != sent_bytes) {
        weft_fail(error, WEFT_INPUT,
                  "receives %" PRIu64 " bytes, but node %" PRIu64 " of rank %u sends %" PRIu64,
                  node->size_bytes, send->id, send->from, sent_bytes);
        return chakra_blame(error, node);
    }
    set->peer[send->node] = receive->node;
    set->peer[receive->node] = send->node;
    return true;
}

static bool match_messages(struct chakra_set *set, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct message *sends;
    struct message *receives;
    uint32_t send_count = 0;
    uint32_t receive_count = 0;
    if (!gather(&sends, &send_count, set, CHAKRA_SEND, &scratch, error) ||
        !gather(&receives, &receive_count, set, CHAKRA_RECV, &scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < send_count || i < receive_count; i++) {
        if (i == receive_count || (i < send_count && compare_ends(&sends[i], &receives[i]) < 0)) {
            return fail_alone(set, &sends[i], error);
        }
        if (i == send_count || compare_ends(&sends[i], &receives[i]) > 0) {
            return fail_alone(set, &receives[i], error);
        }
        if (!pair_up(set, &sends[i], &receives[i], error)) {
            return false;
        }
    }
    return true;
}

// ---- collectives ----

// A rank's part in a collective.
struct part {
    const char *name;
    uint64_t id;
    uint32_t group;
    uint32_t rank;
    uint32_t node;
};

static int compare_places(const struct part *a, const struct part *b)
{
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

static int compare_by_name(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : compare_places(x, y);
}

static int compare_by_place(const void *a, const void *b)
{
    return compare_places(a, b);
}

// Which ranks are members of a group: marks by rank.
struct membership {
    uint32_t *marks;
    uint32_t stamp;
};

static uint32_t mark_group(struct membership *membership, const struct chakra_set *set,
                           uint32_t group)
{
    membership->stamp++;
    uint32_t first = set->group_first[group];
    uint32_t end = set->group_first[group + 1];
    for (uint32_t i = first; i < end; i++) {
        membership->marks[set->group_members[i]] = membership->stamp;
    }
    return end - first;
}

// Whether every member has the same number of the parts, which are in order of ranks. All parts are
// of members.
static bool is_regular(const struct part *parts, uint32_t count, uint32_t member_count)
{
    if (count % member_count != 0) {
        return false;
    }
    uint32_t each = count / member_count;
    for (uint32_t i = 0; i < count; i += each) {
        if (parts[i].rank != parts[i + each - 1].rank ||
            (i > 0 && parts[i].rank == parts[i - 1].rank)) {
            return false;
        }
    }
    return true;
}

// Names the member that has fewest of the group's parts. Takes the marks as counters.
static bool fail_irregular(const struct chakra_set *set, const struct part *parts, uint32_t count,
                           uint32_t *counts, struct weft_error *error)
{
    uint32_t first = set->group_first[parts[0].group];
    uint32_t end = set->group_first[parts[0].group + 1];
    memset(counts, 0, sizeof *counts * set->rank_count);
    for (uint32_t i = 0; i < count; i++) {
        counts[parts[i].rank]++;
    }
    uint32_t lacking = set->group_members[first];
    uint32_t having = lacking;
    for (uint32_t i = first; i < end; i++) {
        uint32_t rank = set->group_members[i];
        lacking = counts[rank] < counts[lacking] ? rank : lacking;
        having = counts[rank] > counts[having] ? rank : having;
    }
    const struct part *part = parts;
    while (part->rank != having) {
        part++;
    }
    weft_fail(error, WEFT_INPUT,
              "its rank takes part in %u collectives of its group, rank %u in %u; each member "
              "needs a node for each",
              counts[having], lacking, counts[lacking]);
    return chakra_blame(error, &set->nodes[part->node]);
}

static bool check_alike(const struct chakra_set *set, uint32_t first, uint32_t other,
                        struct weft_error *error)
{
    const struct chakra_node *a = &set->nodes[first];
    const struct chakra_node *b = &set->nodes[other];
    bool any_size = a->collective == CHAKRA_ALL_TO_ALL; // each member has its own
    if (a->collective == b->collective && (any_size || a->size_bytes == b->size_bytes)) {
        return true;
    }
    weft_fail(error, WEFT_INPUT,
              "has comm_type %u and comm_size %" PRIu64 ", but node %" PRIu64
              " '%.40s' of rank %u, "
              "the same collective, %u and %" PRIu64,
              b->collective, b->size_bytes, a->id, a->name, a->rank, a->collective, a->size_bytes);
    return chakra_blame(error, b);
}

// The k-th part of every member is the k-th collective.
static bool publish(struct chakra_set *set, const struct part *parts, uint32_t count,
                    uint32_t member_count, struct weft_error *error)
{
    uint32_t each = count / member_count;
    for (uint32_t k = 0; k < each; k++) {
        uint32_t collective = set->collective_count++;
        uint32_t first = set->collective_first[collective];
        set->collective_group[collective] = parts[0].group;
        for (uint32_t m = 0; m < member_count; m++) {
            uint32_t node = parts[m * each + k].node;
            set->collective_nodes[first + m] = node;
            set->collective[node] = collective;
            if (!check_alike(set, parts[k].node, node, error)) {
                return false;
            }
        }
        set->collective_first[collective + 1] = first + member_count;
    }
    return true;
}

static uint32_t name_end(const struct part *parts, uint32_t first, uint32_t end)
{
    uint32_t i = first;
    while (i < end && strcmp(parts[i].name, parts[first].name) == 0) {
        i++;
    }
    return i;
}

// All parts of one group.
static bool match_group(struct chakra_set *set, struct part *parts, uint32_t count,
                        struct membership *membership, struct weft_error *error)
{
    uint32_t member_count = mark_group(membership, set, parts[0].group);
    for (uint32_t i = 0; i < count; i++) {
        if (membership->marks[parts[i].rank] != membership->stamp) {
            const struct chakra_node *node = &set->nodes[parts[i].node];
            weft_fail(error, WEFT_INPUT, "its rank is no member of its process group '%.40s'",
                      node->pg_name != NULL ? node->pg_name : "");
            return chakra_blame(error, node);
        }
    }
    bool by_name = true;
    for (uint32_t i = 0; i < count && by_name;) {
        uint32_t end = name_end(parts, i, count);
        by_name = is_regular(parts + i, end - i, member_count);
        i = end;
    }
    if (!by_name) {
        qsort(parts, count, sizeof *parts, compare_by_place);
        return is_regular(parts, count, member_count)
                   ? publish(set, parts, count, member_count, error)
                   : fail_irregular(set, parts, count, membership->marks, error);
    }
    for (uint32_t i = 0; i < count;) {
        uint32_t end = name_end(parts, i, count);
        if (!publish(set, parts + i, end - i, member_count, error)) {
            return false;
        }
        i = end;
    }
    return true;
}

static bool check_part(const struct chakra_node *node, struct weft_error *error)
{
    if (node->collective >= CHAKRA_COLLECTIVE_COUNT) {
        weft_fail(error, WEFT_INPUT, "its comm_type %u is none of 0 to %d", node->collective,
                  CHAKRA_COLLECTIVE_COUNT - 1);
        return chakra_blame(error, node);
    }
    if (node->size_bytes == WEFT_NEVER && node->collective != CHAKRA_BARRIER) {
        weft_fail(error, WEFT_INPUT, "it lacks comm_size");
        return chakra_blame(error, node);
    }
    return true;
}

static bool match_collectives(struct chakra_set *set, struct weft_arena scratch,
                              struct weft_error *error)
{
    struct part *parts = WEFT_NEW_RAW(&scratch, struct part, set->node_count);
    uint32_t count = 0;
    for (uint32_t n = 0; n < set->node_count; n++) {
        const struct chakra_node *node = &set->nodes[n];
        if (node->type != CHAKRA_COLLECTIVE) {
            continue;
        }
        uint32_t group = 0;
        if (!check_part(node, error) || !chakra_find_group(&group, set, node, error)) {
            return false;
        }
        parts[count++] = (struct part){node->name, node->id, group, node->rank, n};
    }
    qsort(parts, count, sizeof *parts, compare_by_name);
    struct membership membership = {.marks = WEFT_NEW(&scratch, uint32_t, set->rank_count)};
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        while (end < count && parts[end].group == parts[i].group) {
            end++;
        }
        if (!match_group(set, parts + i, end - i, &membership, error)) {
            return false;
        }
        i = end;
    }
    return true;
}

bool chakra_match(struct chakra_set *set, struct weft_arena *arena, struct weft_error *error)
{
    set->peer = WEFT_NEW_RAW(arena, uint32_t, set->node_count);
    set->collective = WEFT_NEW_RAW(arena, uint32_t, set->node_count);
    set->collective_group = WEFT_NEW_RAW(arena, uint32_t, set->node_count);
    set->collective_first = WEFT_NEW(arena, uint32_t, (size_t)set->node_count + 1);
    set->collective_nodes = WEFT_NEW_RAW(arena, uint32_t, set->node_count);
    memset(set->peer, 0xff, sizeof *set->peer * set->node_count);
    memset(set->collective, 0xff, sizeof *set->collective * set->node_count);
    return match_messages(set, *arena, error) && match_collectives(set, *arena, error);
}
