// SPDX-License-Identifier: Apache-2.0
// The hop bound: few servers can be near, so that bytes between far ones use several links.
//
// With d ports a server reaches at most d others in one hop, d^2 more in two, and so on (Moore's
// bound). The bytes times hops of a sender are least when its
// heaviest destinations are nearest, and all of them must pass the n d links. The hops depend on
// which tasks are counted, so that the set of tasks is chosen by thresholds of head and tail: up to
// 16 x 4 of them, each O(tasks + n^2 log n). docs/certificate.md, "Moore".

#include "bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// How many thresholds of earliest start and of least remaining time are tried: more of them find a
// set a little better, each at the cost of a pass. Not measured.
#define HEADS_MAX 16
#define TAILS_MAX 4
// Times that differ by less are sums of the same durations in another order: one threshold, on
// whatever machine and by whatever program the bound is computed.
#define EQUAL_RATIO 1e-9

static int compare_falling(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a < b) - (a > b);
}

// Bytes times hops when the largest of `bytes`, n of them `stride` apart, are nearest. `sorted` has
// room for n.
static double nearest_first(const double *bytes, size_t stride, uint32_t n, uint32_t degree,
                            double *sorted)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (bytes[i * stride] > 0) {
            sorted[count++] = bytes[i * stride];
        }
    }
    qsort(sorted, count, sizeof *sorted, compare_falling);
    double sum = 0;
    double reached = degree; // servers within `hops`
    double ring = degree;    // of them, at exactly `hops`
    uint32_t hops = 1;
    for (uint32_t i = 0; i < count; i++) {
        while (i >= reached) {
            ring *= degree;
            reached += ring;
            hops++;
        }
        sum += sorted[i] * hops;
    }
    return sum;
}

// The least bytes times hops of a transfer matrix: what senders and what receivers say.
static double least_hop_bytes(const double *matrix, uint32_t n, uint32_t degree, double *row)
{
    double sent = 0;
    double received = 0;
    for (uint32_t s = 0; s < n; s++) {
        sent += nearest_first(matrix + (size_t)s * n, 1, n, degree, row);
        received += nearest_first(matrix + s, n, n, degree, row);
    }
    return fmax(sent, received);
}

// One subset of the network's tasks: those with head and tail at least the thresholds.
struct subset {
    double head_s; // least of those in it
    double tail_s;
    double allreduce_bytes;
    uint32_t count;
};

// Sums up the subset of these thresholds; its transfers go to `matrix`, from by to.
static struct subset gather(double *matrix, const struct bound_model *model,
                            const struct bound_times *times, double head_min_s, double tail_min_s)
{
    const struct weft_taskgraph *graph = model->graph;
    uint32_t n = graph->server_count;
    weft_poll(); // of millions of tasks, for each pair of thresholds
    memset(matrix, 0, (size_t)n * n * sizeof *matrix);
    struct subset subset = {HUGE_VAL, HUGE_VAL, 0, 0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double bytes = bound_wire_bytes(graph, t);
        double head_s = bytes > 0 ? bound_network_head(model, times, t) : 0;
        if (bytes <= 0 || head_s < head_min_s * (1 - EQUAL_RATIO) ||
            times->tail_s[t] < tail_min_s * (1 - EQUAL_RATIO)) {
            continue;
        }
        subset.count++;
        subset.head_s = fmin(subset.head_s, head_s);
        subset.tail_s = fmin(subset.tail_s, times->tail_s[t]);
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            matrix[(size_t)graph->from[t] * n + graph->to[t]] += bytes;
        } else {
            subset.allreduce_bytes += bytes;
        }
    }
    return subset;
}

static int compare_rising(const void *left, const void *right)
{
    return compare_falling(right, left);
}

// Up to `most` values spread over the distinct ones of `values`, the smallest first.
static uint32_t spread_thresholds(double *thresholds, uint32_t most, double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare_rising);
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || values[i] > values[distinct - 1] * (1 + EQUAL_RATIO)) {
            values[distinct++] = values[i];
        }
    }
    uint32_t kept = distinct < most ? distinct : most;
    for (uint32_t i = 0; i < kept; i++) {
        thresholds[i] = values[(size_t)i * distinct / kept];
    }
    return kept;
}

// The best over all pairs of thresholds, which are spread over the heads and tails that occur.
double bound_moore(const struct bound_model *model, const struct bound_times *times,
                   uint32_t server_count, uint32_t degree, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = model->graph;
    uint32_t n = graph->server_count;
    double *heads = WEFT_NEW_RAW(&scratch, double, (size_t)graph->task_count + 1);
    double *tails = WEFT_NEW_RAW(&scratch, double, (size_t)graph->task_count + 1);
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (bound_wire_bytes(graph, t) > 0) {
            heads[count] = bound_network_head(model, times, t);
            tails[count++] = times->tail_s[t];
        }
    }
    double head_at[HEADS_MAX];
    double tail_at[TAILS_MAX];
    uint32_t head_count = spread_thresholds(head_at, HEADS_MAX, heads, count);
    uint32_t tail_count = spread_thresholds(tail_at, TAILS_MAX, tails, count);
    double *matrix = WEFT_NEW_RAW(&scratch, double, (size_t)n *n);
    double *row = WEFT_NEW_RAW(&scratch, double, n);
    double best_s = 0;
    for (uint32_t i = 0; i < head_count; i++) {
        for (uint32_t j = 0; j < tail_count; j++) {
            struct subset subset = gather(matrix, model, times, head_at[i], tail_at[j]);
            if (subset.count > 0) {
                double hop_bytes = subset.allreduce_bytes + least_hop_bytes(matrix, n, degree, row);
                double body_s = hop_bytes / (server_count * model->port_Bps);
                best_s = fmax(best_s, subset.head_s + body_s + subset.tail_s + model->latency_s);
            }
        }
    }
    return best_s;
}
