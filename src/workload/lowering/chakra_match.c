// SPDX-License-Identifier: Apache-2.0
// Which send of a Chakra trace belongs to which receive, and which nodes of the ranks are one
// collective.
//
// Messages match by sender, receiver and tag, in ascending order of node ids where several agree.
// Collectives of a group match by name where every member has as many nodes of that name, else by
// their order on each rank, as NCCL and MPI have it. O(nodes log nodes).

#include "chakra.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool weft_chakra_wrap(struct weft_error *error, const struct weft_chakra_node *node)
{
    return weft_wrap(error, "rank %u: node %" PRIu64 " '%.60s'", node->rank, node->id, node->name);
}

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

static bool check_message(const struct weft_chakra_trace *trace,
                          const struct weft_chakra_node *node, struct weft_error *error)
{
    bool send = node->type == WEFT_CHAKRA_SEND;
    uint32_t own = send ? node->comm.from : node->comm.to;
    uint32_t peer = send ? node->comm.to : node->comm.from;
    const char *peer_name = send ? "comm_dst" : "comm_src";
    bool good = true;
    if (own != WEFT_NONE && own != node->rank) {
        good = weft_fail(error, WEFT_INPUT, "its %s is rank %u; it belongs into the trace of that",
                         send ? "comm_src" : "comm_dst", own);
    } else if (peer == WEFT_NONE) {
        good = weft_fail(error, WEFT_INPUT, "it lacks %s", peer_name);
    } else if (peer >= trace->rank_count) {
        good = weft_fail(error, WEFT_INPUT, "its %s is rank %u, but ranks are 0 to %u", peer_name,
                         peer, trace->rank_count - 1);
    } else if (send && node->comm.size_bytes == WEFT_NEVER) {
        good = weft_fail(error, WEFT_INPUT, "it lacks comm_size");
    }
    return good || weft_chakra_wrap(error, node);
}

static bool gather(struct message **messages, uint32_t *count,
                   const struct weft_chakra_trace *trace, enum weft_chakra_node_type type,
                   struct weft_arena *arena, struct weft_error *error)
{
    *messages = WEFT_NEW_RAW(arena, struct message, trace->node_count);
    *count = 0;
    for (uint32_t n = 0; n < trace->node_count; n++) {
        const struct weft_chakra_node *node = &trace->nodes[n];
        if (node->type != type) {
            continue;
        }
        if (!check_message(trace, node, error)) {
            return false;
        }
        bool send = type == WEFT_CHAKRA_SEND;
        (*messages)[(*count)++] =
            (struct message){send ? node->rank : node->comm.from, send ? node->comm.to : node->rank,
                             node->comm.tag, n, node->id};
    }
    qsort(*messages, *count, sizeof **messages, compare_messages);
    return true;
}

static bool fail_alone(const struct weft_chakra_trace *trace, const struct message *message,
                       struct weft_error *error)
{
    const struct weft_chakra_node *node = &trace->nodes[message->node];
    if (node->type == WEFT_CHAKRA_SEND) {
        weft_fail(error, WEFT_INPUT, "sends to rank %u with tag %u, but nothing there receives it",
                  message->to, message->tag);
    } else {
        weft_fail(error, WEFT_INPUT,
                  "receives from rank %u with tag %u, but nothing there sends it", message->from,
                  message->tag);
    }
    return weft_chakra_wrap(error, node);
}

static bool pair_up(struct chakra_matches *matches, const struct message *send,
                    const struct message *receive, struct weft_error *error)
{
    const struct weft_chakra_trace *trace = matches->trace;
    const struct weft_chakra_node *node = &trace->nodes[receive->node];
    uint64_t sent_bytes = trace->nodes[send->node].comm.size_bytes;
    if (node->comm.size_bytes != WEFT_NEVER && node->comm.size_bytes != sent_bytes) {
        weft_fail(error, WEFT_INPUT,
                  "receives %" PRIu64 " bytes, but node %" PRIu64 " of rank %u sends %" PRIu64,
                  node->comm.size_bytes, send->id, send->from, sent_bytes);
        return weft_chakra_wrap(error, node);
    }
    matches->peer[send->node] = receive->node;
    matches->peer[receive->node] = send->node;
    return true;
}

static bool match_messages(struct chakra_matches *matches, struct weft_arena scratch,
                           struct weft_error *error)
{
    const struct weft_chakra_trace *trace = matches->trace;
    struct message *sends;
    struct message *receives;
    uint32_t send_count = 0;
    uint32_t receive_count = 0;
    if (!gather(&sends, &send_count, trace, WEFT_CHAKRA_SEND, &scratch, error) ||
        !gather(&receives, &receive_count, trace, WEFT_CHAKRA_RECV, &scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < send_count || i < receive_count; i++) {
        if (i == receive_count || (i < send_count && compare_ends(&sends[i], &receives[i]) < 0)) {
            return fail_alone(trace, &sends[i], error);
        }
        if (i == send_count || compare_ends(&sends[i], &receives[i]) > 0) {
            return fail_alone(trace, &receives[i], error);
        }
        if (!pair_up(matches, &sends[i], &receives[i], error)) {
            return false;
        }
    }
    return true;
}

// ---- process groups ----

static int compare_names(const void *a, const void *b)
{
    const struct weft_chakra_group_name *x = a;
    const struct weft_chakra_group_name *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static const struct weft_chakra_group_name *find_name(const struct weft_chakra_trace *trace,
                                                      const char *name, uint32_t rank)
{
    const struct weft_chakra_group_name key = {.name = name, .rank = rank};
    return bsearch(&key, trace->names, trace->name_count, sizeof key, compare_names);
}

// As ASTRA-sim has it, no name and "0" mean all ranks unless they are given otherwise.
static bool find_group(uint32_t *group, const struct weft_chakra_trace *trace,
                       const struct weft_chakra_node *node, struct weft_error *error)
{
    const char *name = node->comm.group_name != NULL ? node->comm.group_name : "";
    const struct weft_chakra_group_name *found = find_name(trace, name, node->rank);
    found = found != NULL ? found : find_name(trace, name, WEFT_NONE);
    if (found == NULL && strcmp(name, "") != 0 && strcmp(name, "0") != 0) {
        weft_fail(error, WEFT_INPUT,
                  "is of process group '%.40s', which is not known; give its ranks as {\"%.40s\": "
                  "[0, 1]} in PREFIX.json or in a file of groups",
                  name, name);
        weft_remedy(error, "groups", "FILE.json");
        return weft_chakra_wrap(error, node);
    }
    *group = found != NULL ? found->group : 0;
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

static uint32_t mark_group(struct membership *membership, const struct weft_chakra_trace *trace,
                           uint32_t group)
{
    membership->stamp++;
    uint32_t first = trace->group_first[group];
    uint32_t end = trace->group_first[group + 1];
    for (uint32_t i = first; i < end; i++) {
        membership->marks[trace->group_members[i]] = membership->stamp;
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
static bool fail_irregular(const struct weft_chakra_trace *trace, const struct part *parts,
                           uint32_t count, uint32_t *counts, struct weft_error *error)
{
    uint32_t first = trace->group_first[parts[0].group];
    uint32_t end = trace->group_first[parts[0].group + 1];
    memset(counts, 0, sizeof *counts * trace->rank_count);
    for (uint32_t i = 0; i < count; i++) {
        counts[parts[i].rank]++;
    }
    uint32_t lacking = trace->group_members[first];
    uint32_t having = lacking;
    for (uint32_t i = first; i < end; i++) {
        uint32_t rank = trace->group_members[i];
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
    return weft_chakra_wrap(error, &trace->nodes[part->node]);
}

static bool check_alike(const struct weft_chakra_trace *trace, uint32_t first, uint32_t other,
                        struct weft_error *error)
{
    const struct weft_chakra_node *a = &trace->nodes[first];
    const struct weft_chakra_node *b = &trace->nodes[other];
    bool any_size = a->comm.collective == WEFT_CHAKRA_ALL_TO_ALL; // each member has its own
    if (a->comm.collective == b->comm.collective &&
        (any_size || a->comm.size_bytes == b->comm.size_bytes)) {
        return true;
    }
    weft_fail(error, WEFT_INPUT,
              "has comm_type %u and comm_size %" PRIu64 ", but node %" PRIu64
              " '%.40s' of rank %u, "
              "the same collective, %u and %" PRIu64,
              b->comm.collective, b->comm.size_bytes, a->id, a->name, a->rank, a->comm.collective,
              a->comm.size_bytes);
    return weft_chakra_wrap(error, b);
}

// The k-th part of every member is the k-th collective.
static bool publish(struct chakra_matches *matches, const struct part *parts, uint32_t count,
                    uint32_t member_count, struct weft_error *error)
{
    const struct weft_chakra_trace *trace = matches->trace;
    uint32_t each = count / member_count;
    for (uint32_t k = 0; k < each; k++) {
        uint32_t collective = matches->collective_count++;
        uint32_t first = matches->collective_first[collective];
        matches->collective_group[collective] = parts[0].group;
        for (uint32_t m = 0; m < member_count; m++) {
            uint32_t node = parts[m * each + k].node;
            matches->collective_nodes[first + m] = node;
            matches->collective[node] = collective;
            if (!check_alike(trace, parts[k].node, node, error)) {
                return false;
            }
        }
        matches->collective_first[collective + 1] = first + member_count;
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
static bool match_group(struct chakra_matches *matches, struct part *parts, uint32_t count,
                        struct membership *membership, struct weft_error *error)
{
    const struct weft_chakra_trace *trace = matches->trace;
    uint32_t member_count = mark_group(membership, trace, parts[0].group);
    for (uint32_t i = 0; i < count; i++) {
        if (membership->marks[parts[i].rank] != membership->stamp) {
            const struct weft_chakra_node *node = &trace->nodes[parts[i].node];
            weft_fail(error, WEFT_INPUT, "its rank is no member of its process group '%.40s'",
                      node->comm.group_name != NULL ? node->comm.group_name : "");
            return weft_chakra_wrap(error, node);
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
                   ? publish(matches, parts, count, member_count, error)
                   : fail_irregular(trace, parts, count, membership->marks, error);
    }
    for (uint32_t i = 0; i < count;) {
        uint32_t end = name_end(parts, i, count);
        if (!publish(matches, parts + i, end - i, member_count, error)) {
            return false;
        }
        i = end;
    }
    return true;
}

static bool check_part(const struct weft_chakra_node *node, struct weft_error *error)
{
    if (node->comm.collective >= WEFT_CHAKRA_COLLECTIVE_COUNT) {
        weft_fail(error, WEFT_INPUT, "its comm_type %u is none of 0 to %d", node->comm.collective,
                  WEFT_CHAKRA_COLLECTIVE_COUNT - 1);
        return weft_chakra_wrap(error, node);
    }
    if (node->comm.size_bytes == WEFT_NEVER && node->comm.collective != WEFT_CHAKRA_BARRIER) {
        weft_fail(error, WEFT_INPUT, "it lacks comm_size");
        return weft_chakra_wrap(error, node);
    }
    return true;
}

// Matches collectives group by group: their nodes, sorted by group, name, rank and id.
static bool match_collectives(struct chakra_matches *matches, struct weft_arena scratch,
                              struct weft_error *error)
{
    const struct weft_chakra_trace *trace = matches->trace;
    struct part *parts = WEFT_NEW_RAW(&scratch, struct part, trace->node_count);
    uint32_t count = 0;
    for (uint32_t n = 0; n < trace->node_count; n++) {
        const struct weft_chakra_node *node = &trace->nodes[n];
        if (node->type != WEFT_CHAKRA_COLLECTIVE) {
            continue;
        }
        uint32_t group = 0;
        if (!check_part(node, error) || !find_group(&group, trace, node, error)) {
            return false;
        }
        parts[count++] = (struct part){node->name, node->id, group, node->rank, n};
    }
    qsort(parts, count, sizeof *parts, compare_by_name);
    struct membership membership = {.marks = WEFT_NEW(&scratch, uint32_t, trace->rank_count)};
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i;
        while (end < count && parts[end].group == parts[i].group) {
            end++;
        }
        if (!match_group(matches, parts + i, end - i, &membership, error)) {
            return false;
        }
        i = end;
    }
    return true;
}

bool chakra_match(struct chakra_matches *matches, const struct weft_chakra_trace *trace,
                  struct weft_arena *arena, struct weft_error *error)
{
    uint32_t nodes = trace->node_count;
    *matches = (struct chakra_matches){
        .trace = trace,
        .peer = WEFT_NEW_RAW(arena, uint32_t, nodes),
        .collective = WEFT_NEW_RAW(arena, uint32_t, nodes),
        .collective_group = WEFT_NEW_RAW(arena, uint32_t, nodes),
        .collective_first = WEFT_NEW(arena, uint32_t, (size_t)nodes + 1),
        .collective_nodes = WEFT_NEW_RAW(arena, uint32_t, nodes),
    };
    memset(matches->peer, 0xff, sizeof *matches->peer * nodes);
    memset(matches->collective, 0xff, sizeof *matches->collective * nodes);
    return match_messages(matches, *arena, error) && match_collectives(matches, *arena, error);
}
