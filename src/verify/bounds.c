// SPDX-License-Identifier: Apache-2.0
// The certificate: every bound by its name, its class, its seconds, and who binds.
//
// The names and what each holds for stand in one table, after docs/certificate.md; a name that is
// not in it is refused, and so is a bound of another class than its name's. Each is computed again
// from the task graph: heads and tails of ideal.c, then all tasks of one resource as one machine.
// The LP of "fabric-concurrent-flow" is not solved again: the file has its prices, from which
// shortest paths give the bound, whoever found them. O(tasks log tasks + n (n + m) log n) and
// heads.

#include "checks.h"
#include "ideal.h"
#include "loads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Doubles round sums of many up; every bound is stated lower by this.
#define ROUNDING_RATIO 1e-11
// Times that are equal but for the rounding of their sums.
#define EQUAL_RATIO 1e-9
// An iteration is rounded to whole picoseconds.
#define ABOVE_S 1e-12
// The subsets of the hop bound, docs/certificate.md, "Moore".
#define HEADS_MAX 16u
#define TAILS_MAX 4u

// How far a bound reaches.
struct reach {
    const char *name;
    enum weft_bound_scope scope;
    bool any_collectives;
    bool any_strategy;
    bool needs_rings; // counts on the plan's rings, so that no schedule may stand in for them
};

static const struct reach table[] = {
    {"any-strategy-work", WEFT_BOUND_ANY_FABRIC, true, true, false},
    {"any-strategy-chain", WEFT_BOUND_ANY_FABRIC, true, true, false},
    {"compute-critical-path", WEFT_BOUND_ANY_FABRIC, true, false, false},
    {"device-load", WEFT_BOUND_ANY_FABRIC, true, false, false},
    {"total-bytes", WEFT_BOUND_ANY_FABRIC, true, false, false},
    {"server-sends-any-allreduce", WEFT_BOUND_ANY_FABRIC, true, false, false},
    {"server-receives-any-allreduce", WEFT_BOUND_ANY_FABRIC, true, false, false},
    {"moore-hops", WEFT_BOUND_DIRECT_FABRIC, true, false, false},
    {"ideal-network-critical-path", WEFT_BOUND_ANY_FABRIC, false, false, false},
    {"server-sends", WEFT_BOUND_ANY_FABRIC, false, false, false},
    {"server-receives", WEFT_BOUND_ANY_FABRIC, false, false, false},
    {"fabric-hops", WEFT_BOUND_THIS_FABRIC, false, false, true},
    {"fabric-concurrent-flow", WEFT_BOUND_THIS_FABRIC, false, false, true},
};
#define TABLE_COUNT (sizeof table / sizeof table[0])

static const struct reach *find_reach(const char *name)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

// ---- the certificate against itself ----

static bool may_bind(const struct weft_bound *bound)
{
    return !bound->any_strategy && bound->scope != WEFT_BOUND_THIS_FABRIC;
}

// Whether the gap to a bound, or to the one that binds, is what the iteration is above it.
static bool check_gap(struct findings *findings, const char *name, double stated, double bound_s,
                      double iteration_s)
{
    double gap_ratio = bound_s > 0 ? iteration_s / bound_s - 1 : 0;
    bool fits = fabs(stated - gap_ratio) <= EQUAL_RATIO * (1 + gap_ratio);
    if (!fits) {
        findings_add(findings, "%s.gap_ratio is stated as %.12g, but is %.12g", name, stated,
                     gap_ratio);
    }
    return fits;
}

// All gaps. They go wrong together where the iteration does, so that the first is enough.
static void check_gaps(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_certificate *certificate = &plan->certificate;
    bool fits = check_gap(findings, "certificate", certificate->gap_ratio,
                          certificate->lower_bound_s, plan->iteration_s);
    for (uint32_t i = 0; i < certificate->bound_count && fits; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        fits =
            check_gap(findings, bound->name, bound->gap_ratio, bound->seconds, plan->iteration_s);
    }
}

// How much a bound holds for, as a set of steps up from the narrowest class; one holds for all that
// another does if it has the other's bits.
static unsigned breadth(const struct weft_bound *bound)
{
    return (bound->scope >= WEFT_BOUND_DIRECT_FABRIC ? 1u : 0) |
           (bound->scope >= WEFT_BOUND_ANY_FABRIC ? 2u : 0) | (bound->any_collectives ? 4u : 0) |
           (bound->any_strategy ? 8u : 0);
}

// Whether none of the others that hold for all that this one does is as large, the first of equals
// counting as the larger.
static bool says_most(const struct weft_certificate *certificate, const struct weft_bound *bound)
{
    unsigned own = breadth(bound);
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *other = &certificate->bounds[i];
        unsigned its = breadth(other);
        double less_s = bound->seconds - other->seconds;
        bool near = fabs(less_s) <= EQUAL_RATIO * fmax(bound->seconds, other->seconds);
        bool first = its != own || other < bound;
        if (other != bound && (its & own) == own && (near ? first : less_s < 0)) {
            return false;
        }
    }
    return true;
}

// One bound: known, once, of its name's class, not above the iteration.
static void check_one(struct findings *findings, const struct weft_plan *plan, uint32_t index)
{
    const struct weft_bound *bound = &plan->certificate.bounds[index];
    const struct reach *reach = find_reach(bound->name);
    if (reach == NULL) {
        findings_add(findings, "the certificate has an unknown bound '%.60s'", bound->name);
        return;
    }
    if (bound->scope != reach->scope || bound->any_collectives != reach->any_collectives ||
        bound->any_strategy != reach->any_strategy) {
        findings_add(findings,
                     "the bound %s is stated for plans that it does not hold for: its scope, "
                     "collectives and strategy are those of its name",
                     bound->name);
    }
    if (!(bound->seconds >= 0 &&
          bound->seconds <= plan->iteration_s * (1 + EQUAL_RATIO) + ABOVE_S)) {
        findings_add(findings, "the bound %s of %.12g s is above the iteration time of %.12g s",
                     bound->name, bound->seconds, plan->iteration_s);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(plan->certificate.bounds[i].name, bound->name) == 0) {
            findings_add(findings, "the certificate has the bound %s twice", bound->name);
        }
    }
    bool headline = says_most(&plan->certificate, bound);
    if (bound->headline != headline) {
        findings_add(findings, "the bound %s %s", bound->name,
                     headline ? "belongs to the headline: none that holds for as much is as large"
                              : "is of the headline, but one that holds for as much is as large");
    }
}

void check_certificate(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_certificate *certificate = &plan->certificate;
    if (certificate->bound_count == 0 || certificate->binding >= certificate->bound_count) {
        findings_add(findings, "the certificate names bound %u as binding, but has %u bounds",
                     certificate->binding, certificate->bound_count);
        return;
    }
    const struct weft_bound *binding = &certificate->bounds[certificate->binding];
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        check_one(findings, plan, i);
        if (may_bind(bound) && may_bind(binding) &&
            bound->seconds > binding->seconds * (1 + EQUAL_RATIO)) {
            findings_add(findings, "the bound %s binds, but %s is larger", binding->name,
                         bound->name);
        }
    }
    if (!may_bind(binding)) {
        findings_add(findings,
                     "the bound %s binds, but only bounds for this strategy that hold for every "
                     "direct fabric may",
                     binding->name);
    }
    findings_compare(findings, "certificate.lower_bound_s", certificate->lower_bound_s,
                     binding->seconds);
    check_gaps(findings, plan);
}

// ---- resources ----

// A network, its times, and room for the items of one machine.
struct bench {
    struct ideal ideal;
    struct ideal_times times;
    struct ideal_item *items;
    uint32_t server_count; // of the cluster
    uint32_t degree;
};

static struct bench open_bench(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                               bool network, bool balanced, struct weft_arena *arena)
{
    struct bench bench = {
        .ideal = {.graph = graph,
                  .port_Bps = plan->cluster.degree * plan->cluster.rate_Bps,
                  .latency_s = network ? weft_seconds(plan->cluster.latency_ps) : 0,
                  .network = network,
                  .balanced = balanced},
        .items = WEFT_NEW_RAW(arena, struct ideal_item, (size_t)graph->task_count + 1),
        .server_count = plan->cluster.server_count,
        .degree = plan->cluster.degree};
    return bench;
}

// A task's use of the network as an item: `body_s` from its network head on.
static struct ideal_item item_of(const struct bench *bench, uint32_t task, double body_s)
{
    return (struct ideal_item){bench->times.network_s[task], body_s,
                               bench->times.tail_s[task] + bench->ideal.latency_s};
}

static bool is_member(const struct weft_taskgraph *graph, uint32_t task, uint32_t server)
{
    uint32_t group = graph->group[task];
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        if (graph->group_members[i] == server) {
            return true;
        }
    }
    return false;
}

// Whether a task uses a server's ports one way.
static bool uses_port(const struct weft_taskgraph *graph, uint32_t task, uint32_t server,
                      bool receive)
{
    if (ideal_is_collective(graph, task)) {
        return is_member(graph, task, server);
    }
    return (receive ? graph->to[task] : graph->from[task]) == server;
}

static double longest_port(const struct bench *bench, bool receive, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = bench->ideal.graph;
    double longest_s = 0;
    for (uint32_t s = 0; s < graph->server_count; s++) {
        uint32_t count = 0;
        for (uint32_t t = 0; t < graph->task_count; t++) {
            double bytes = ideal_bytes(&bench->ideal, t, receive);
            if (bytes > 0 && uses_port(graph, t, s, receive)) {
                bench->items[count++] = item_of(bench, t, bytes / bench->ideal.port_Bps);
            }
        }
        longest_s = fmax(longest_s, ideal_machine(bench->items, count, scratch));
    }
    return longest_s;
}

static double longest_device(const struct bench *bench, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = bench->ideal.graph;
    double longest_s = 0;
    for (uint32_t d = 0; d < graph->device_count; d++) {
        uint32_t count = 0;
        for (uint32_t t = 0; t < graph->task_count; t++) {
            if (graph->device[t] == d && graph->runtime_ps[t] > 0) {
                bench->items[count++] =
                    (struct ideal_item){bench->times.head_s[t], weft_seconds(graph->runtime_ps[t]),
                                        bench->times.tail_s[t]};
            }
        }
        longest_s = fmax(longest_s, ideal_machine(bench->items, count, scratch));
    }
    return longest_s;
}

static double all_ports(const struct bench *bench, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = bench->ideal.graph;
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double bytes = ideal_all_bytes(graph, t);
        if (bytes > 0) {
            bench->items[count++] =
                item_of(bench, t, bytes / (bench->server_count * bench->ideal.port_Bps));
        }
    }
    return ideal_machine(bench->items, count, scratch);
}

// ---- hops ----

static int compare_reals(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

// Up to `most` of the distinct values, evenly among them in rising order, the first one too.
static uint32_t pick(double *picked, uint32_t most, double *values, uint32_t count)
{
    uint32_t distinct = 0;
    qsort(values, count, sizeof *values, compare_reals);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || values[i] > values[distinct - 1] * (1 + EQUAL_RATIO)) {
            values[distinct++] = values[i];
        }
    }
    uint32_t kept = distinct < most ? distinct : most;
    for (uint32_t i = 0; i < kept; i++) {
        picked[i] = values[(size_t)i * distinct / kept];
    }
    return kept;
}

// Bytes times hops of one server's partners, the heaviest nearest: d at one hop, d^2 at two, ...
static double nearest(double *bytes, uint32_t count, uint32_t degree)
{
    qsort(bytes, count, sizeof *bytes, compare_reals);
    double sum = 0;
    double left = degree; // places at this many hops
    double shell = degree;
    double hops = 1;
    for (uint32_t i = count; i-- > 0 && bytes[i] > 0; left--) {
        if (left < 1) {
            shell *= degree;
            left = shell;
            hops++;
        }
        sum += bytes[i] * hops;
    }
    return sum;
}

// Least bytes times hops of a matrix, from by to, n*n; what senders say, or receivers.
static double least_hop_bytes(const double *matrix, uint32_t n, uint32_t degree, double *line)
{
    double sum[2] = {0, 0};
    for (uint32_t s = 0; s < n; s++) {
        for (int way = 0; way < 2; way++) {
            for (uint32_t t = 0; t < n; t++) {
                line[t] = way == 0 ? matrix[(size_t)s * n + t] : matrix[(size_t)t * n + s];
            }
            sum[way] += nearest(line, n, degree);
        }
    }
    return fmax(sum[0], sum[1]);
}

// The hop bound of the tasks with these heads and tails at least.
static double hops_of_subset(const struct bench *bench, double head_s, double tail_s,
                             double *matrix, double *line)
{
    const struct weft_taskgraph *graph = bench->ideal.graph;
    uint32_t n = graph->server_count;
    double least_head_s = HUGE_VAL;
    double least_tail_s = HUGE_VAL;
    double bytes = 0;
    memset(matrix, 0, (size_t)n * n * sizeof *matrix);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double own = ideal_all_bytes(graph, t);
        if (!(own > 0) || bench->times.network_s[t] < head_s * (1 - EQUAL_RATIO) ||
            bench->times.tail_s[t] < tail_s * (1 - EQUAL_RATIO)) {
            continue;
        }
        least_head_s = fmin(least_head_s, bench->times.network_s[t]);
        least_tail_s = fmin(least_tail_s, bench->times.tail_s[t]);
        if (ideal_is_collective(graph, t)) {
            bytes += own;
        } else {
            matrix[(size_t)graph->from[t] * n + graph->to[t]] += own;
        }
    }
    if (!isfinite(least_head_s)) {
        return 0;
    }
    bytes += least_hop_bytes(matrix, n, bench->degree, line);
    return least_head_s + bytes / (bench->server_count * bench->ideal.port_Bps) + least_tail_s +
           bench->ideal.latency_s;
}

static double hop_bound(const struct bench *bench, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = bench->ideal.graph;
    size_t n = graph->server_count;
    double *heads = WEFT_NEW_RAW(&scratch, double, (size_t)graph->task_count + 1);
    double *tails = WEFT_NEW_RAW(&scratch, double, (size_t)graph->task_count + 1);
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (ideal_all_bytes(graph, t) > 0) {
            heads[count] = bench->times.network_s[t];
            tails[count++] = bench->times.tail_s[t];
        }
    }
    double head[HEADS_MAX];
    double tail[TAILS_MAX];
    uint32_t head_count = pick(head, HEADS_MAX, heads, count);
    uint32_t tail_count = pick(tail, TAILS_MAX, tails, count);
    double *matrix = WEFT_NEW_RAW(&scratch, double, n *n + n);
    double best_s = 0;
    for (uint32_t i = 0; i < head_count * tail_count; i++) {
        best_s = fmax(best_s, hops_of_subset(bench, head[i / tail_count], tail[i % tail_count],
                                             matrix, matrix + n * n));
    }
    return best_s;
}

// ---- this fabric ----

// The best that any server of this fabric can do, both ways, and its quickest link.
static void widen(struct bench *bench, const struct weft_fabric *fabric, struct weft_arena scratch)
{
    double *rate_Bps = WEFT_NEW(&scratch, double, 2 * (size_t)fabric->node_count);
    double latency_s = HUGE_VAL;
    bench->ideal.port_Bps = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *link = &fabric->links[e];
        rate_Bps[link->from] += link->rate_Bps;
        rate_Bps[fabric->node_count + link->to] += link->rate_Bps;
        latency_s = fmin(latency_s, weft_seconds(link->latency_ps));
    }
    for (uint32_t s = 0; s < fabric->server_count; s++) {
        bench->ideal.port_Bps =
            fmax(bench->ideal.port_Bps, fmax(rate_Bps[s], rate_Bps[fabric->node_count + s]));
    }
    bench->ideal.latency_s = isfinite(latency_s) ? latency_s : 0;
}

// Cheapest ways from a server to all nodes at a price a byte of each link: passes over all links
// until nothing gets cheaper (Bellman and Ford).
static void find_cheapest(double *cheapest, const struct weft_fabric *fabric, const double *prices,
                          uint32_t from)
{
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        cheapest[v] = v == from ? 0 : HUGE_VAL;
    }
    for (bool cheaper = true; cheaper;) {
        cheaper = false;
        for (uint32_t e = 0; e < fabric->link_count; e++) {
            const struct weft_link *link = &fabric->links[e];
            double price = cheapest[link->from] + prices[e];
            if (price < cheapest[link->to]) {
                cheapest[link->to] = price;
                cheaper = true;
            }
        }
    }
}

// All links at these prices as one machine. O(n links passes + tasks * messages).
static double priced_bound(const struct bench *bench, const struct weft_plan *plan,
                           const double *prices, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = bench->ideal.graph;
    const struct weft_fabric *fabric = &plan->network.fabric;
    size_t nodes = fabric->node_count;
    double *cheapest = WEFT_NEW_RAW(&scratch, double, graph->server_count *nodes + 1);
    const uint32_t *first_ring = message_rings(plan, graph, &scratch);
    double capacity_Bps = 0;
    for (uint32_t s = 0; s < graph->server_count; s++) {
        find_cheapest(cheapest + s * nodes, fabric, prices, s);
    }
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        capacity_Bps += prices[e] * fabric->links[e].rate_Bps;
    }
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double price = 0;
        struct message message;
        double bytes = ideal_bytes(&bench->ideal, t, false);
        for (uint32_t i = 0; message_get(&message, plan, graph, first_ring, t, i); i++) {
            double a_byte = message.links == NULL ? cheapest[message.from * nodes + message.to] : 0;
            for (uint32_t l = 0; l < message.link_count; l++) {
                a_byte += prices[message.links[l]];
            }
            price += bytes * message.share * a_byte;
        }
        if (price > 0 && isfinite(price)) {
            bench->items[count++] = item_of(bench, t, price / capacity_Bps);
        }
    }
    return capacity_Bps > 0 ? ideal_machine(bench->items, count, scratch) : 0;
}

// ---- all of it ----

static const struct weft_bound *stated(const struct weft_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->certificate.bound_count; i++) {
        if (strcmp(plan->certificate.bounds[i].name, name) == 0) {
            return &plan->certificate.bounds[i];
        }
    }
    return NULL;
}

static void expect(struct findings *findings, const struct weft_plan *plan, const char *name,
                   double seconds)
{
    const struct weft_bound *bound = stated(plan, name);
    double found_s = seconds * (1 - ROUNDING_RATIO);
    if (bound == NULL) {
        findings_add(findings, "the certificate lacks the bound %s, %.12g s", name, found_s);
    } else if (figures_differ(bound->seconds, found_s)) {
        findings_add(findings, "the bound %s is stated as %.12g s, but is %.12g s", name,
                     bound->seconds, found_s);
    }
}

// Bounds that hold whatever the collectives, from those of each resource.
static void check_any(struct findings *findings, const struct weft_plan *plan,
                      const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    struct bench bench = open_bench(plan, graph, false, false, &scratch);
    struct weft_arena kept = scratch;
    bench.times = ideal_times(&bench.ideal, &kept);
    expect(findings, plan, "compute-critical-path", bench.times.longest_s);
    bench = open_bench(plan, graph, true, false, &scratch);
    bench.times = ideal_times(&bench.ideal, &scratch);
    expect(findings, plan, "device-load", longest_device(&bench, scratch));
    expect(findings, plan, "total-bytes", all_ports(&bench, scratch));
    expect(findings, plan, "server-sends-any-allreduce", longest_port(&bench, false, scratch));
    expect(findings, plan, "server-receives-any-allreduce", longest_port(&bench, true, scratch));
    expect(findings, plan, "moore-hops", hop_bound(&bench, scratch));
}

static void check_balanced(struct findings *findings, const struct weft_plan *plan,
                           const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    struct bench bench = open_bench(plan, graph, true, true, &scratch);
    bench.times = ideal_times(&bench.ideal, &scratch);
    expect(findings, plan, "ideal-network-critical-path", bench.times.longest_s);
    expect(findings, plan, "server-sends", longest_port(&bench, false, scratch));
    expect(findings, plan, "server-receives", longest_port(&bench, true, scratch));
}

// Bounds of this fabric. The one of the LP may be missing where it was too large to solve.
static void check_this_fabric(struct findings *findings, const struct weft_plan *plan,
                              const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    struct bench bench = open_bench(plan, graph, true, true, &scratch);
    widen(&bench, fabric, scratch);
    bench.times = ideal_times(&bench.ideal, &scratch);
    double *ones = WEFT_NEW_RAW(&scratch, double, (size_t)fabric->link_count + 1);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        ones[e] = 1;
    }
    expect(findings, plan, "fabric-hops", priced_bound(&bench, plan, ones, scratch));
    const struct weft_bound *flow = stated(plan, "fabric-concurrent-flow");
    if (flow != NULL && flow->prices == NULL) {
        findings_add(findings, "the bound fabric-concurrent-flow has no prices to follow from");
    } else if (flow != NULL) {
        expect(findings, plan, flow->name, priced_bound(&bench, plan, flow->prices, scratch));
    }
}

void check_bounds(struct findings *findings, const struct weft_plan *plan,
                  const struct weft_taskgraph *graph, bool balanced, struct weft_arena scratch)
{
    bool rings = plan->collective_count == 0;
    check_any(findings, plan, graph, scratch);
    if (balanced) {
        check_balanced(findings, plan, graph, scratch);
    }
    if (rings) {
        check_this_fabric(findings, plan, graph, scratch);
    }
    for (uint32_t i = 0; i < plan->certificate.bound_count; i++) {
        const struct weft_bound *bound = &plan->certificate.bounds[i];
        const struct reach *reach = find_reach(bound->name);
        if (reach != NULL &&
            ((!reach->any_collectives && !balanced) || (reach->needs_rings && !rings))) {
            findings_add(findings, "the bound %s does not hold for the collectives of this plan",
                         bound->name);
        }
    }
}
