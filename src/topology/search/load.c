// SPDX-License-Identifier: Apache-2.0
// Loads of a design's links when demand takes its shortest paths, and the score of a design.
//
// The loads of one source follow from one breadth-first search and one pass over the servers in
// order of falling distance, in which every server hands what passes through it to those one hop
// nearer (Brandes, "A faster algorithm for betweenness centrality", 2001, with bytes for weights).
// All sources: O(n^2 d). docs/weft-topology.md derives the score ("Mixed designs").

#include "load.h"

#include <math.h>
#include <string.h>

#define LANES WEFT_LOAD_LANES
// A pair without a path costs as much as a hundred times the mean load of a link: more than any
// design that connects all servers, so that one is found first.
#define NO_PATH_COST 100.0
// What a mean hop of the transfers costs, in mean loads of a link. Not measured: it breaks ties
// between designs whose links are equally loaded in favor of latency.
#define HOPS_COST 0.2

void weft_load_init(struct weft_load *load, uint32_t server_count, uint32_t degree,
                    struct weft_arena *arena)
{
    size_t pairs = (size_t)server_count * server_count;
    size_t links = (size_t)server_count * degree;
    *load = (struct weft_load){
        .server_count = server_count,
        .degree = degree,
        .demand_bytes = WEFT_NEW(arena, double, pairs *LANES),
        .link_bytes = WEFT_NEW(arena, double, links *LANES),
        .server_bytes = WEFT_NEW(arena, double, (size_t)server_count *LANES),
        .previous = WEFT_NEW(arena, uint32_t, links),
        .distance = WEFT_NEW(arena, uint32_t, server_count),
        .queue = WEFT_NEW(arena, uint32_t, (size_t)server_count + 1),
        .parents = WEFT_NEW(arena, uint32_t, (size_t)degree + 1),
        .scale_bytes = 1,
    };
}

// Servers in order of their distance from `source` into the queue. Returns how many are reached.
static uint32_t search_from(struct weft_load *load, const struct weft_design *design,
                            uint32_t source)
{
    uint32_t degree = load->degree;
    uint32_t *distance = load->distance;
    memset(distance, 0xff, load->server_count * sizeof *distance);
    distance[source] = 0;
    load->queue[0] = source;
    uint32_t tail = 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t v = load->queue[head];
        const uint32_t *next = design->next + (size_t)v * degree;
        uint32_t farther = distance[v] + 1;
        for (uint32_t p = 0; p < degree; p++) { // no branch: it would be a toss-up
            uint32_t u = next[p];
            bool fresh = distance[u] == UINT32_MAX;
            distance[u] = fresh ? farther : distance[u];
            load->queue[tail] = u;
            tail += fresh;
        }
    }
    return tail;
}

// Sends what `source` asks for along the shortest paths, farthest server first.
static void send_from(struct weft_load *load, uint32_t source, uint32_t reached)
{
    uint32_t n = load->server_count;
    uint32_t degree = load->degree;
    double *through = load->server_bytes;
    memcpy(through, load->demand_bytes + (size_t)source * n * LANES,
           (size_t)n * LANES * sizeof *through);
    for (uint32_t i = reached; i > 1; i--) {
        uint32_t v = load->queue[i - 1];
        const uint32_t *previous = load->previous + (size_t)v * degree;
        uint32_t nearer = load->distance[v] - 1;
        uint32_t parents = 0;
        for (uint32_t p = 0; p < degree; p++) {
            load->parents[parents] = p;
            parents += load->distance[previous[p]] == nearer;
        }
        double share = 1.0 / parents;
        double part[LANES];
        for (uint32_t l = 0; l < LANES; l++) {
            part[l] = through[v * LANES + l] * share;
        }
        for (uint32_t w = 0; w < parents; w++) {
            uint32_t p = load->parents[w];
            uint32_t u = previous[p];
            double *link = load->link_bytes + ((size_t)u * degree + p) * LANES;
            for (uint32_t l = 0; l < LANES; l++) {
                link[l] += part[l];
                through[u * LANES + l] += part[l];
            }
        }
    }
}

static double eighth_power(double x)
{
    double square = x * x;
    double fourth = square * square;
    return fourth * fourth;
}

static double eighth_root(double x)
{
    return sqrt(sqrt(sqrt(x)));
}

double weft_load_measure(struct weft_load *load, const struct weft_design *design)
{
    uint32_t n = load->server_count;
    uint32_t degree = load->degree;
    WEFT_ASSERT(design->server_count == n && design->degree == degree);
    size_t links = (size_t)n * degree;
    memset(load->link_bytes, 0, links * LANES * sizeof load->link_bytes[0]);
    for (uint32_t v = 0; v < n; v++) {
        for (uint32_t p = 0; p < degree; p++) {
            load->previous[(size_t)design->next[(size_t)v * degree + p] * degree + p] = v;
        }
    }
    double score = 0;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t reached = search_from(load, design, s);
        score += NO_PATH_COST * (n - reached);
        send_from(load, s, reached);
    }
    load->work += (uint64_t)n * n * (4 + 6 * (uint64_t)degree) + 32 * links;
    double transfer_hop_bytes = 0;
    double power[LANES + 1] = {0};
    double factor = 1 / load->scale_bytes;
    for (size_t i = 0; i < links; i++) {
        double sum = 0;
        for (uint32_t l = 0; l < LANES; l++) {
            double bytes = load->link_bytes[i * LANES + l] * factor;
            power[l] += eighth_power(bytes);
            sum += bytes;
        }
        power[LANES] += eighth_power(sum);
        transfer_hop_bytes += load->link_bytes[i * LANES];
    }
    double apart = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        apart += eighth_root(power[l] / (double)links);
    }
    double together = eighth_root(power[LANES] / (double)links);
    double hops = load->transfer_bytes > 0 ? transfer_hop_bytes / load->transfer_bytes : 0;
    return score + 0.5 * (apart + together) + HOPS_COST * hops;
}
