// SPDX-License-Identifier: Apache-2.0
// Bounds by one machine: a device, a server's ports, all ports, or a priced sum of links.
//
// For any subset of the tasks on a machine, the iteration takes at least its least head, plus the
// sum of its bodies, plus its least tail. Jackson's preemptive schedule, which always runs the
// available task of the longest tail, ends exactly at the largest of these over all subsets
// (Carlier, "The one-machine sequencing problem", EJOR 1982): one sort and a heap, O(n log n),
// instead of 2^n subsets. A port is shared fluidly; the argument holds for it as it stands
// (docs/certificate.md).

#include "bounds.h"

#include "weft/base/heap.h"

#include <math.h>
#include <stdlib.h>

static int compare_heads(const void *left, const void *right)
{
    const struct bound_item *a = left;
    const struct bound_item *b = right;
    return (a->head_s > b->head_s) - (a->head_s < b->head_s);
}

// Items that have begun, the longest tail first; of equal tails any, the bound is the same.
struct tail_heap {
    struct bound_item *entries;
    uint32_t count;
};

static inline bool has_longer_tail(const struct bound_item *a, const struct bound_item *b)
{
    return a->tail_s > b->tail_s;
}

// A binary heap of them (weft/base/heap.h makes its functions: tails_push, tails_pop).
WEFT_HEAP(tails, struct tail_heap, struct bound_item, 2, has_longer_tail, weft_heap_no_places)

// Plays Jackson's schedule: from one instant at which an item begins or ends to the next, the one
// with the longest tail runs. Sorts the items by their heads and shortens what was interrupted.
double bound_one_machine(struct bound_item *items, uint32_t count, struct weft_arena scratch)
{
    qsort(items, count, sizeof *items, compare_heads);
    struct tail_heap heap = {WEFT_NEW_RAW(&scratch, struct bound_item, (size_t)count + 1), 0};
    double now_s = 0;
    double end_s = 0;
    for (uint32_t next = 0; next < count || heap.count > 0;) {
        weft_poll();
        if (heap.count == 0) {
            now_s = fmax(now_s, items[next].head_s);
        }
        while (next < count && items[next].head_s <= now_s) {
            tails_push(&heap, items[next++]);
        }
        double until_s = next < count ? items[next].head_s : HUGE_VAL;
        struct bound_item *top = &heap.entries[0];
        if (now_s + top->body_s <= until_s) {
            now_s += top->body_s;
            end_s = fmax(end_s, now_s + top->tail_s);
            tails_pop(&heap);
        } else {
            top->body_s -= until_s - now_s;
            now_s = until_s;
        }
    }
    return end_s;
}

// ---- items by server or device ----

struct item_lists {
    uint32_t *first; // CSR over keys
    struct bound_item *items;
    double *bytes; // or seconds, a key
};

// What a task demands of each port that it uses.
struct item_source {
    const struct bound_model *model;
    const struct bound_times *times;
    bool receive;
};

static struct bound_item port_item(const struct item_source *source, uint32_t task)
{
    const struct bound_model *model = source->model;
    double head_s = bound_network_head(model, source->times, task);
    double tail_s = source->times->tail_s[task] + model->latency_s;
    return (struct bound_item){
        head_s, bound_port_bytes(model, task, source->receive) / model->port_Bps, tail_s};
}

// The servers whose ports a task uses in the direction at hand.
static const uint32_t *port_servers(const struct item_source *source, uint32_t task,
                                    uint32_t *count)
{
    const struct weft_taskgraph *graph = source->model->graph;
    if (bound_port_bytes(source->model, task, source->receive) <= 0) {
        *count = 0;
        return NULL;
    }
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        *count = 1;
        return source->receive ? &graph->to[task] : &graph->from[task];
    }
    uint32_t group = graph->group[task];
    *count = graph->group_first[group + 1] - graph->group_first[group];
    return graph->group_members + graph->group_first[group];
}

// The items of every server's ports one way, as CSR by server: counted, then filled.
static struct item_lists list_ports(const struct item_source *source, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = source->model->graph;
    uint32_t server_count = graph->server_count;
    struct item_lists lists = {WEFT_NEW(arena, uint32_t, (size_t)server_count + 2), NULL,
                               WEFT_NEW(arena, double, (size_t)server_count + 1)};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t count;
        const uint32_t *servers = port_servers(source, t, &count);
        for (uint32_t i = 0; i < count; i++) {
            lists.first[servers[i] + 2]++;
        }
    }
    for (uint32_t s = 0; s < server_count; s++) {
        lists.first[s + 2] += lists.first[s + 1];
    }
    lists.items = WEFT_NEW_RAW(arena, struct bound_item, (size_t)lists.first[server_count + 1] + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t count;
        const uint32_t *servers = port_servers(source, t, &count);
        for (uint32_t i = 0; i < count; i++) {
            lists.items[lists.first[servers[i] + 1]++] = port_item(source, t);
            lists.bytes[servers[i]] += bound_port_bytes(source->model, t, source->receive);
        }
    }
    return lists;
}

static struct bound_port longest(const struct item_lists *lists, uint32_t key_count,
                                 struct weft_arena scratch)
{
    struct bound_port worst = {0, 0, 0};
    for (uint32_t key = 0; key < key_count; key++) {
        uint32_t first = lists->first[key];
        double seconds =
            bound_one_machine(lists->items + first, lists->first[key + 1] - first, scratch);
        if (seconds > worst.seconds) {
            worst = (struct bound_port){seconds, key, lists->bytes[key]};
        }
    }
    return worst;
}

struct bound_port bound_ports(const struct bound_model *model, const struct bound_times *times,
                              bool receive, struct weft_arena scratch)
{
    struct item_source source = {model, times, receive};
    struct item_lists lists = list_ports(&source, &scratch);
    return longest(&lists, model->graph->server_count, scratch);
}

// The items of every device, as CSR by device like those of ports, and the longest of them.
struct bound_port bound_devices(const struct bound_model *model, const struct bound_times *times,
                                struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = model->graph;
    uint32_t device_count = graph->device_count;
    struct item_lists lists = {
        WEFT_NEW(&scratch, uint32_t, (size_t)device_count + 2),
        WEFT_NEW_RAW(&scratch, struct bound_item, (size_t)graph->task_count + 1),
        WEFT_NEW(&scratch, double, (size_t)device_count + 1)};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->device[t] != WEFT_NONE && graph->runtime_ps[t] > 0) {
            lists.first[graph->device[t] + 2]++;
        }
    }
    for (uint32_t d = 0; d < device_count; d++) {
        lists.first[d + 2] += lists.first[d + 1];
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->device[t] != WEFT_NONE && graph->runtime_ps[t] > 0) {
            uint32_t device = graph->device[t];
            double body_s = weft_seconds(graph->runtime_ps[t]);
            lists.items[lists.first[device + 1]++] =
                (struct bound_item){times->head_s[t], body_s, times->tail_s[t]};
            lists.bytes[device] += body_s;
        }
    }
    return longest(&lists, device_count, scratch);
}

double bound_total_bytes(const struct bound_model *model, const struct bound_times *times,
                         uint32_t server_count, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = model->graph;
    struct item_source source = {model, times, false};
    struct bound_item *items =
        WEFT_NEW_RAW(&scratch, struct bound_item, (size_t)graph->task_count + 1);
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double bytes = bound_wire_bytes(graph, t);
        if (bytes > 0) {
            items[count] = port_item(&source, t);
            items[count++].body_s = bytes / (server_count * model->port_Bps);
        }
    }
    return bound_one_machine(items, count, scratch);
}
