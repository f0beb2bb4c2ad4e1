// SPDX-License-Identifier: Apache-2.0
// What NCCL's kernels communicate: name, bytes and group of a collective, from the kernel's own
// arguments in Kineto's trace, else those of the operator record_param_comms that it belongs to,
// else the node of that operator in the host's trace (pytorch,
// torch/csrc/profiler/util.cpp, saveNcclMeta, and execution_trace_observer.cpp).
//
// Bytes are those of the input ("In msg nelems"), as PyTorch states them: the whole buffer of an
// AllReduce, ReduceScatter and all-to-all, one shard of an AllGather, which is what Chakra has.

#include "kineto.h"

#include <ctype.h>

// ---- groups ----

// Keeps a list of ranks, or its text "[0, 1]"; PyTorch cuts long ones, which is then no list.
static void keep_group(json_t *groups, const char *name, const json_t *ranks)
{
    json_t *list = json_array();
    json_t *parsed = NULL;
    if (json_is_string(ranks)) {
        parsed = json_loads(json_string_value(ranks), 0, NULL);
        ranks = parsed;
    }
    bool good = json_array_size(ranks) > 0 && json_object_get(groups, name) == NULL;
    for (size_t i = 0; i < json_array_size(ranks) && good; i++) {
        int64_t rank = kineto_whole(json_array_get(ranks, i));
        good = rank >= 0;
        json_array_append_new(list, json_integer(rank));
    }
    if (good) {
        json_object_set(groups, name, list);
    }
    json_decref(list);
    json_decref(parsed);
}

static void keep_groups(json_t *groups, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "pg_name"));
        if (name != NULL) {
            keep_group(groups, name, json_object_get(item, "ranks"));
        }
    }
}

void kineto_read_groups(json_t *groups, const json_t *document, const json_t *host)
{
    const json_t *nodes = json_object_get(host, "nodes");
    keep_groups(groups, json_object_get(json_object_get(document, "distributedInfo"), "pg_config"));
    for (size_t n = 0; n < json_array_size(nodes); n++) {
        const json_t *node = json_array_get(nodes, n);
        const char *name = json_string_value(json_object_get(node, "name"));
        const json_t *values = json_object_get(json_object_get(node, "inputs"), "values");
        const char *text = json_string_value(json_array_get(values, 0));
        if (name != NULL && text != NULL && strstr(name, "process_group:init") != NULL) {
            json_t *list = json_loads(text, 0, NULL);
            keep_groups(groups, list);
            json_decref(list);
        }
    }
}

// ---- one kernel ----

// What is stated of it, in Kineto's words and in the host's ("": the host's trace has no word).
enum fact { NAME, DTYPE, IN, OUT, SIZE, GROUP, RANKS, FROM, TO, FACTS };
static const char *const keys[FACTS][2] = {
    [NAME] = {"Collective name", "collective_name"},
    [DTYPE] = {"dtype", "dtype"},
    [IN] = {"In msg nelems", "in_msg_nelems"},
    [OUT] = {"Out msg nelems", "out_msg_nelems"},
    [SIZE] = {"Group size", "pg_size"},
    [GROUP] = {"Process Group Name", "pg_name"},
    [RANKS] = {"Process Group Ranks", ""},
    [FROM] = {"Src Rank", ""},
    [TO] = {"Dst Rank", ""},
};

// Each from the first source that states it.
static void read_facts(const json_t *facts[FACTS], const struct kineto *kineto,
                       const struct kineto_event *event)
{
    uint32_t e = kineto_find(kineto, KINETO_BY_OPERATOR, kineto_number(event->args, "External id"));
    const json_t *args = e != WEFT_NONE ? kineto->events[e].args : NULL;
    const json_t *host = e != WEFT_NONE ? kineto->events[e].host : NULL;
    for (enum fact f = 0; f < FACTS; f++) {
        facts[f] = json_object_get(event->args, keys[f][0]);
        facts[f] = facts[f] != NULL ? facts[f] : json_object_get(args, keys[f][0]);
        facts[f] = facts[f] != NULL ? facts[f] : kineto_attribute(host, keys[f][1]);
    }
}

// Bytes of c10's types by the first of these that their names begin with; 0 = none of them.
static int64_t type_bytes(const char *name)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"Byte", 1},   {"Char", 1},   {"Bool", 1},   {"Float8", 1},       {"Short", 2},
                 {"Half", 2},   {"BFloat", 2}, {"UInt16", 2}, {"Int", 4},          {"Float", 4},
                 {"UInt32", 4}, {"Long", 8},   {"Double", 8}, {"ComplexFloat", 8}, {"UInt64", 8}};
    for (size_t i = 0; name != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strncmp(name, types[i].name, strlen(types[i].name)) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}

// By the first word that the collective's name holds, without bars.
static const struct type {
    const char *word;
    int node;
    int collective;
} types[] = {
    {"reducescatter", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_REDUCE_SCATTER},
    {"allreduce", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_ALL_REDUCE},
    {"allgather", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_ALL_GATHER},
    {"alltoall", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_ALL_TO_ALL},
    {"broadcast", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_BROADCAST},
    {"barrier", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_BARRIER},
    {"gather", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_GATHER},
    {"scatter", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_SCATTER},
    {"reduce", WEFT_CHAKRA_COLLECTIVE, WEFT_CHAKRA_REDUCE},
    {"send", WEFT_CHAKRA_SEND, 0},
    {"recv", WEFT_CHAKRA_RECV, 0},
};

static const struct type *type_of(const char *name)
{
    char plain[64];
    size_t length = 0;
    for (; name != NULL && *name != '\0' && length + 1 < sizeof plain; name++) {
        plain[length] = (char)tolower((unsigned char)*name);
        length += *name != '_';
    }
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strstr(plain, types[i].word) != NULL) {
            return &types[i];
        }
    }
    return NULL;
}

// Puts what is there into the node, and says what is missing; NULL = nothing.
static const char *fill(json_t *node, json_t *groups, const json_t *facts[FACTS],
                        uint32_t rank_count)
{
    const char *name = json_string_value(facts[NAME]);
    const char *group = json_string_value(facts[GROUP]);
    const struct type *type = type_of(name);
    if (type == NULL) {
        return "name";
    }
    bool receives = type->node == WEFT_CHAKRA_RECV;
    int64_t count = kineto_whole(facts[receives ? OUT : IN]);
    int64_t bytes = type_bytes(json_string_value(facts[DTYPE]));
    bool barrier = type->collective == WEFT_CHAKRA_BARRIER;
    if (!barrier && (count < 0 || bytes == 0)) {
        return count < 0 ? "number of elements" : "type of elements";
    }
    json_object_set_new(node, "NodeType", json_integer(type->node));
    json_object_set_new(node, "comm_size", json_integer(barrier ? 0 : count * bytes));
    if (type->node != WEFT_CHAKRA_COLLECTIVE) {
        int64_t peer = kineto_whole(facts[receives ? FROM : TO]);
        json_object_set_new(node, receives ? "comm_src" : "comm_dst", json_integer(peer));
        return peer < 0 || peer >= WEFT_NONE ? "peer" : NULL;
    }
    json_object_set_new(node, "Name", json_string(name));
    json_object_set_new(node, "comm_type", json_integer(type->collective));
    // Without a list of ranks it is of all where it has as many, else the groups' file may have it.
    bool all = kineto_whole(facts[SIZE]) == rank_count;
    if (group != NULL) {
        keep_group(groups, group, facts[RANKS]);
        if (!all || json_object_get(groups, group) != NULL) {
            json_object_set_new(node, "pg_name", json_string(group));
        }
    }
    return group == NULL && !all ? "group" : NULL;
}

bool kineto_read_comm(json_t *node, bool *communicates, json_t *groups, const struct kineto *kineto,
                      const struct kineto_event *event, struct weft_error *error)
{
    const json_t *facts[FACTS];
    *communicates =
        strncmp(event->name, "nccl", 4) == 0 || json_object_get(event->args, keys[NAME][0]) != NULL;
    if (!*communicates) {
        return true;
    }
    read_facts(facts, kineto, event);
    const char *missing = fill(node, groups, facts, kineto->rank_count);
    if (missing != NULL) {
        weft_fail(error, WEFT_INPUT,
                  "communicates, but neither it nor its operator, nor that in a trace of the host, "
                  "states a %s that Weft knows",
                  missing);
        kineto_wrap(error, event);
        return weft_remedy(error, "lenient", "%s", "");
    }
    return true;
}
