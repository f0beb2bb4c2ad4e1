// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_FBUF_SAME_H
#define WEFT_TESTS_FBUF_SAME_H

// Whether two task graph files hold the same value.

#include "weft/format.h"

#include <string.h>

#define SAME_ARRAY(a, b, count)                                                                    \
    ((count) == 0 || memcmp((a), (b), sizeof *(a) * (size_t)(count)) == 0)

// NULL when they do, else what differs first.
static inline const char *graph_difference(const struct weft_taskgraph *a,
                                           const struct weft_taskgraph *b)
{
    if (a->server_count != b->server_count || a->device_count != b->device_count ||
        !SAME_ARRAY(a->device_server, b->device_server, a->device_count)) {
        return "devices";
    }
    if (a->task_count != b->task_count || !SAME_ARRAY(a->kind, b->kind, a->task_count)) {
        return "kinds";
    }
    if (!SAME_ARRAY(a->device, b->device, a->task_count)) {
        return "devices of tasks";
    }
    if (!SAME_ARRAY(a->runtime_ps, b->runtime_ps, a->task_count)) {
        return "runtimes";
    }
    if (!SAME_ARRAY(a->size_bytes, b->size_bytes, a->task_count)) {
        return "sizes";
    }
    if (!SAME_ARRAY(a->from, b->from, a->task_count) || !SAME_ARRAY(a->to, b->to, a->task_count)) {
        return "ends of transfers";
    }
    if (!SAME_ARRAY(a->next_first, b->next_first, (size_t)a->task_count + 1) ||
        !SAME_ARRAY(a->next, b->next, a->next_first[a->task_count]) ||
        !SAME_ARRAY(a->prev_count, b->prev_count, a->task_count)) {
        return "successors";
    }
    if (a->group_count != b->group_count || !SAME_ARRAY(a->group, b->group, a->task_count) ||
        !SAME_ARRAY(a->group_first, b->group_first, (size_t)a->group_count + 1) ||
        !SAME_ARRAY(a->group_members, b->group_members, a->group_first[a->group_count])) {
        return "groups";
    }
    return NULL;
}

static inline const char *fbuf_difference(const struct weft_fbuf *a, const struct weft_fbuf *b)
{
    const char *graph = graph_difference(&a->graph, &b->graph);
    if (graph != NULL) {
        return graph;
    }
    if (a->gpus_per_server != b->gpus_per_server || a->inter_gpu_Bps != b->inter_gpu_Bps ||
        a->dram_Bps != b->dram_Bps || a->rate_Bps != b->rate_Bps) {
        return "rates";
    }
    if (a->node_count != b->node_count || a->link_count != b->link_count) {
        return "counts of nodes and links";
    }
    for (uint32_t i = 0; i < a->link_count; i++) {
        const struct weft_link *one = &a->links[i];
        const struct weft_link *two = &b->links[i];
        if (one->from != two->from || one->to != two->to || one->width != two->width ||
            one->rate_Bps != two->rate_Bps || one->latency_ps != two->latency_ps) {
            return "links";
        }
    }
    if (a->path_count != b->path_count) {
        return "count of paths";
    }
    if (a->path_count > 0 &&
        (!SAME_ARRAY(a->path_node_first, b->path_node_first, (size_t)a->path_count + 1) ||
         !SAME_ARRAY(a->path_nodes, b->path_nodes, a->path_node_first[a->path_count]) ||
         !SAME_ARRAY(a->path_weights, b->path_weights, a->path_count))) {
        return "paths";
    }
    if (a->ring_size_count != b->ring_size_count || a->descriptor_count != b->descriptor_count) {
        return "counts of rings";
    }
    if (a->ring_size_count > 0 &&
        (!SAME_ARRAY(a->ring_sizes, b->ring_sizes, a->ring_size_count) ||
         !SAME_ARRAY(a->ring_first, b->ring_first, (size_t)a->ring_size_count + 1) ||
         !SAME_ARRAY(a->jump_first, b->jump_first, (size_t)a->descriptor_count + 1) ||
         !SAME_ARRAY(a->jumps, b->jumps, a->jump_first[a->descriptor_count]))) {
        return "rings";
    }
    if (a->ring_word_count != b->ring_word_count ||
        !SAME_ARRAY(a->ring_words, b->ring_words, a->ring_word_count)) {
        return "Weft's rings";
    }
    return NULL;
}

#endif
