// SPDX-License-Identifier: Apache-2.0
// A Kineto trace of one rank, with the host's trace where there is one, as the JSON that Chakra's
// feeder reads: what chakra_trace_link and chakra_converter of MLCommons make of the two.

#include "kineto.h"

#include <stdlib.h>

// The head names the rank's devices: those that its nodes have numbered.
static json_t *head_of(uint64_t first, uint64_t end)
{
    json_t *devices = json_array();
    for (uint64_t d = first; d < end; d++) {
        json_array_append_new(devices, json_integer((json_int_t)d));
    }
    return json_pack("{s:s, s:[{s:s, s:{s:o}}]}", "version", "kineto", "attr", "name",
                     CHAKRA_ATTR_DEVICES, "uint64_list", "values", devices);
}

// As PyTorch's own metadata has them, which groups.c reads.
static json_t *groups_node(const json_t *groups, uint32_t event_count)
{
    const char *name;
    json_t *ranks;
    json_t *list = json_array();
    json_object_foreach((json_t *)(uintptr_t)groups, name, ranks)
    {
        json_array_append_new(list, json_pack("{s:s, s:O}", "pg_name", name, "ranks", ranks));
    }
    char *text = json_dumps(list, 0);
    json_t *node =
        json_pack("{s:I, s:s, s:i, s:{s:s}}", "Id", 2 * (json_int_t)event_count, "Name",
                  "process groups", "NodeType", WEFT_CHAKRA_METADATA, "inputs", "values", text);
    free(text);
    json_decref(list);
    return node;
}

static bool join(json_t *graph, struct chakra_pair *pair, const json_t *document,
                 const json_t *host, struct weft_error *error)
{
    struct weft_arena scratch = pair->scratch;
    struct kineto kineto;
    uint64_t first = pair->device_count;
    json_t *list = json_object_get(graph, CHAKRA_FEEDER_NODES);
    json_t *groups = json_object_get(graph, "groups");
    if (!kineto_read(&kineto, document, pair->rank_count, &scratch, error) ||
        (host != NULL && !kineto_read_host(&kineto, host, pair->joined, error))) {
        return false;
    }
    kineto_read_groups(groups, document, host);
    if (!kineto_add_nodes(list, groups, &kineto, pair, scratch, error)) {
        return false;
    }
    json_array_append_new(list, groups_node(groups, kineto.event_count));
    json_object_set_new(graph, "head", head_of(first, pair->device_count));
    pair->joined->kineto_count++;
    return true;
}

bool chakra_join(json_t **graph, struct chakra_pair *pair, const json_t *document,
                 struct weft_error *error)
{
    json_t *host = NULL;
    json_t *made = json_pack("{s:[], s:{}}", CHAKRA_FEEDER_NODES, "groups");
    bool good = true;
    if (pair->host != NULL) {
        json_error_t cause;
        host = json_loadb(pair->host, pair->host_length, JSON_DECODE_INT_AS_REAL, &cause);
        good =
            host != NULL || weft_fail(error, WEFT_INPUT, "the host's trace: line %d: not JSON: %s",
                                      cause.line, cause.text);
    }
    good = good && join(made, pair, document, host, error);
    json_decref(host);
    if (!good) {
        json_decref(made);
        return false;
    }
    *graph = made;
    return true;
}
