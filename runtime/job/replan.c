// SPDX-License-Identifier: Apache-2.0
// What a fault leaves of a plan, and the best that was found to do with it (replan.h).
//
// First who plays the lost server's place, then the circuits that go with it, then rings by each of
// the three choices with transfers routed anew by least link load; the flow engine says how long an
// iteration takes with each, and the quickest is taken.

#include "replan.h"

#include "weft/routing.h"
#include "weft/topology.h"

#include <stdlib.h>
#include <string.h>

// As plans are routed (src/plan/design).
static const uint32_t paths_max = 8;
static const uint32_t extra_hops = 1;
static const double routing_epsilon = 0.02;
static const uint32_t routing_rounds = 200;

const char *lab_ring_choice_name(enum lab_ring_choice choice)
{
    static const char *const names[] = {"around", "fewer", "new"};
    return names[choice];
}

// ---- places and servers ----

static int by_node(const void *a, const void *b)
{
    const struct weft_pair_hop *x = a;
    const struct weft_pair_hop *y = b;
    const uint32_t left[] = {x->node, x->source, x->target, x->next, x->port};
    const uint32_t right[] = {y->node, y->source, y->target, y->next, y->port};
    int order = 0;
    for (int i = 0; i < 5 && order == 0; i++) {
        order = (left[i] > right[i]) - (left[i] < right[i]);
    }
    return order;
}

void lab_spread_wiring(struct weft_lab_wiring *servers, const struct weft_lab_wiring *wiring,
                       const uint32_t *place, uint32_t server_count, struct weft_arena *arena)
{
    uint32_t n = wiring->server_count;
    struct weft_lab_wiring made = *wiring;
    made.server_count = server_count;
    if (wiring->planes != NULL) {
        uint32_t *planes = WEFT_NEW(arena, uint32_t, (size_t)wiring->port_count * server_count);
        struct weft_pair_hop *hops =
            WEFT_NEW(arena, struct weft_pair_hop, wiring->next_hops.count + 1);
        for (uint32_t p = 0; p < wiring->port_count; p++) {
            uint32_t *plane = planes + (size_t)p * server_count;
            for (uint32_t s = 0; s < server_count; s++) {
                plane[s] = s;
            }
            for (uint32_t i = 0; i < n; i++) {
                uint32_t to = wiring->planes[(size_t)p * n + i];
                plane[lab_server_at(place, i)] = lab_server_at(place, to);
            }
        }
        for (size_t i = 0; i < wiring->next_hops.count; i++) {
            hops[i] = wiring->next_hops.hops[i];
            hops[i].node = lab_server_at(place, hops[i].node);
            hops[i].source = lab_server_at(place, hops[i].source);
            hops[i].target = lab_server_at(place, hops[i].target);
            hops[i].next = lab_server_at(place, hops[i].next);
        }
        qsort(hops, wiring->next_hops.count, sizeof *hops, by_node);
        made.planes = planes;
        made.next_hops.hops = hops;
    }
    *servers = made;
}

// A server of the lab that stands without a place; WEFT_NONE = none.
static uint32_t find_spare(const struct lab_experiment_options *options)
{
    const uint64_t *dark = options->failure.dark_interfaces;
    for (uint32_t s = 0; s < options->lab->server_count; s++) {
        bool lost = dark != NULL && dark[s] == UINT64_MAX;
        if (!lost && lab_place_of(options->place, options->wiring->server_count, s) == WEFT_NONE) {
            return s;
        }
    }
    return WEFT_NONE;
}

struct replanning {
    struct lab_replanned *replanned;
    const struct lab_experiment_options *options;
    uint32_t gone; // the place that is given up; WEFT_NONE = none
    uint32_t *group_of;
    const uint32_t *planes; // of the places that stay
    uint32_t place_count;
    uint32_t circuits_new;
    struct weft_arena *arena;
};

// Who takes the place of a lost server, or which place is given up for it.
static bool move_server(struct replanning *self, uint32_t server, struct weft_arena scratch,
                        struct weft_error *error)
{
    const struct lab_experiment_options *options = self->options;
    struct lab_replanned *replanned = self->replanned;
    uint32_t n = options->wiring->server_count;
    uint32_t lost = lab_place_of(options->place, n, server);
    if (lost == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "server %u has no place in the job; its loss changes nothing", server);
    }
    uint32_t *place = WEFT_NEW(self->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        place[i] = lab_server_at(options->place, i);
    }
    replanned->lost_server = server;
    replanned->place = place;
    replanned->spare_server = find_spare(options);
    if (replanned->spare_server != WEFT_NONE) {
        place[lost] = replanned->spare_server;
        return true;
    }
    self->gone = lost;
    const struct weft_taskgraph *graph = options->job_graph;
    for (uint32_t i = 0; i < n; i++) {
        if (i != lost && !lab_graph_uses(options->graph, i)) {
            replanned->spare_server = place[i];
            place[lost] = place[i];
            self->gone = i;
            graph = options->graph;
            break;
        }
    }
    struct lab_smaller_graph *smaller = WEFT_NEW(self->arena, struct lab_smaller_graph, 1);
    memmove(place + self->gone, place + self->gone + 1, (n - self->gone - 1) * sizeof *place);
    self->place_count = n - 1;
    if (n < 3) {
        return weft_fail(error, WEFT_INFEASIBLE, "one server is left; the job takes two");
    }
    if (!lab_graph_without(smaller, graph, self->gone, self->arena, scratch, error)) {
        return false;
    }
    self->group_of = smaller->group_of;
    replanned->graph = &smaller->graph;
    return true;
}

// ---- circuits ----

static uint32_t source_of(const uint32_t *plane, uint32_t n, uint32_t target)
{
    for (uint32_t i = 0; i < n; i++) {
        if (plane[i] == target && i != target) {
            return i;
        }
    }
    return WEFT_NONE;
}

// Takes the circuits of a place out of a plane, and joins (if asked for) what came to what left.
static void lose_port(struct replanning *self, uint32_t *plane, uint32_t place, bool join)
{
    uint32_t n = self->options->wiring->server_count;
    uint32_t from = source_of(plane, n, place);
    uint32_t to = plane[place];
    bool both = from != WEFT_NONE && to != place && from != to;
    self->replanned->circuits_lost += (from != WEFT_NONE ? 1u : 0u) + (to != place ? 1u : 0u);
    plane[place] = place;
    if (from != WEFT_NONE) {
        plane[from] = both && join ? to : from;
        self->circuits_new += both && join;
    }
}

// A plane without a place; the later ones move up.
static void close_gap(uint32_t *target, const uint32_t *plane, uint32_t n, uint32_t gone)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i != gone) {
            uint32_t to = plane[i];
            target[i > gone ? i - 1 : i] = to > gone ? to - 1 : to;
        }
    }
}

// Circuits after a fault: those of a lost server are joined where it gave up its place, or pass to
// its spare; those of a link or a switch are gone, and with `join` the circuits on either side of a
// lost port are joined.
static void change_circuits(struct replanning *self, const struct weft_lab_fault *fault, bool join)
{
    const struct weft_lab_wiring *wiring = self->options->wiring;
    uint32_t n = wiring->server_count;
    size_t size = (size_t)wiring->port_count * n;
    uint32_t *planes = WEFT_NEW(self->arena, uint32_t, size);
    memcpy(planes, wiring->planes, size * sizeof *planes);
    self->replanned->circuits_lost = 0;
    self->circuits_new = 0;
    for (uint32_t p = 0; p < wiring->port_count; p++) {
        uint32_t *plane = planes + (size_t)p * n;
        if (fault->kind == WEFT_LAB_FAULT_SERVER) {
            uint32_t lost = lab_place_of(self->options->place, n, fault->server);
            if (self->gone != WEFT_NONE) {
                lose_port(self, plane, self->gone, true);
                close_gap(planes + (size_t)p * (n - 1), plane, n, self->gone);
            } else {
                // The spare has them.
                uint32_t lit = (source_of(plane, n, lost) != WEFT_NONE ? 1u : 0u) +
                               (plane[lost] != lost ? 1u : 0u);
                self->replanned->circuits_lost += lit;
                self->circuits_new += lit;
            }
        } else if (p == fault->port) {
            bool whole = fault->kind == WEFT_LAB_FAULT_OCS;
            for (uint32_t i = 0; i < n; i++) {
                if (whole || lab_server_at(self->options->place, i) == fault->server) {
                    lose_port(self, plane, i, join && !whole);
                }
            }
        }
    }
    self->planes = planes;
}

// ---- networks ----

// What the rings put on each link; task graph groups of the same members are one in the traffic.
static double *ring_load(const struct weft_network *network, const struct weft_traffic *traffic,
                         struct weft_arena *arena)
{
    const struct weft_ring_set *set = &network->rings;
    double *load_bytes = WEFT_NEW(arena, double, (size_t)network->fabric.link_count + 1);
    uint32_t *group_of = WEFT_NEW(arena, uint32_t, (size_t)traffic->group_count + 1);
    memset(group_of, 0xff, ((size_t)traffic->group_count + 1) * sizeof *group_of);
    for (uint32_t r = 0; r < set->ring_count; r++) {
        const struct weft_ring *ring = &set->rings[r];
        uint32_t g = traffic->group_of[ring->group];
        if (g == WEFT_NONE || ring->hop_first == NULL) {
            continue;
        }
        group_of[g] = group_of[g] == WEFT_NONE ? ring->group : group_of[g];
        if (group_of[g] != ring->group) {
            continue;
        }
        const struct weft_traffic_group *group = &traffic->groups[g];
        double bytes = group->wire_bytes / group->member_count * ring->share_ratio;
        for (uint32_t l = 0; l < ring->hop_first[ring->member_count]; l++) {
            load_bytes[ring->hop_links[l]] += bytes;
        }
    }
    return load_bytes;
}

static struct weft_topology topology_of(const struct replanning *self)
{
    return (struct weft_topology){.server_count = self->place_count,
                                  .degree = self->options->wiring->port_count,
                                  .planes = self->planes};
}

// The network that `choice` makes of the planes.
static bool build_network(struct weft_network *network, struct lab_ring_counts *counts,
                          const struct replanning *self, enum lab_ring_choice choice,
                          struct weft_arena scratch, struct weft_error *error)
{
    const struct lab_experiment_options *options = self->options;
    const struct weft_topology topology = topology_of(self);
    const struct weft_cluster cluster = {
        .server_count = self->place_count,
        .rate_Bps = options->scale.rate_Bps,
        .latency_ps = options->network->fabric.links[0].latency_ps,
    };
    struct weft_fabric *fabric = &network->fabric;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_routes shortest;
    struct weft_traffic traffic;
    if (!weft_topology_fabric(fabric, &topology, &cluster, self->arena, scratch, error) ||
        !weft_fabric_check_connected(fabric, scratch, error) ||
        !weft_routing_shortest(
            &shortest, fabric,
            &(struct weft_environment){
                .arena = &kept, .scratch = scratch, .seed = options->seed, .error = error})) {
        return weft_wrap(error, "what the fault leaves");
    }
    const struct lab_ring_change change = {
        .old = options->network,
        .fabric = fabric,
        .shortest = &shortest,
        .gone = self->gone,
        .group_of = self->group_of,
        .choice = choice,
    };
    lab_change_rings(&network->rings, counts, &change, self->arena, scratch);
    weft_traffic_build(&traffic, self->replanned->graph, &kept, scratch);
    const struct weft_minmax_options routing = {
        .paths_max = paths_max,
        .extra_hops = extra_hops,
        .link_base_bytes = ring_load(network, &traffic, &kept),
        .epsilon = routing_epsilon,
        .rounds_max = routing_rounds,
    };
    struct weft_minmax_result result;
    return weft_routing_minmax(
        &network->routes, &result, fabric, traffic.transfer_bytes, &routing,
        &(struct weft_environment){.arena = self->arena, .scratch = scratch, .error = error});
}

// Seconds of an iteration by the flow engine.
static bool predict(double *seconds, const struct replanning *self,
                    const struct weft_network *network, struct weft_arena scratch,
                    struct weft_error *error)
{
    struct weft_arena arena = weft_arena_split(&scratch);
    const struct weft_sim_job job = {.graph = self->replanned->graph, .rings = network->rings};
    const struct weft_sim_options sim = {
        .seed = self->options->seed,
        .small_in_one_round = self->options->small_in_one_round,
        .one_round = true, // as planners do
        .iterations = 1,
    };
    struct weft_sim_result result;
    if (!weft_sim_run_jobs(
            &result, network, &job, 1, &sim,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = error})) {
        return false;
    }
    *seconds = weft_seconds(result.iteration_ps[0]);
    return true;
}

// ---- all ----

// One more choice of rings; takes it if it is the quickest so far. False where it does not join
// all.
static bool try_choice(struct replanning *self, enum lab_ring_choice choice, double *best_s,
                       struct weft_arena scratch, struct weft_error *error)
{
    struct lab_replanned *replanned = self->replanned;
    struct weft_network *network = WEFT_NEW(self->arena, struct weft_network, 1);
    struct lab_ring_counts counts;
    double seconds = 0;
    if (!build_network(network, &counts, self, choice, scratch, error) ||
        !predict(&seconds, self, network, scratch, error)) {
        return false;
    }
    double *own_s = &replanned->choice_s[choice];
    *own_s = *own_s > 0 && *own_s < seconds ? *own_s : seconds;
    if (replanned->network == NULL || seconds < *best_s) {
        *best_s = seconds;
        replanned->network = network;
        replanned->choice = choice;
        replanned->detours = counts.detours;
        replanned->rings_broken = counts.broken;
        replanned->circuits_new = self->circuits_new;
        replanned->wiring = *self->options->wiring;
        replanned->wiring.server_count = self->place_count;
        replanned->wiring.planes = self->planes;
    }
    return true;
}

// A new plan where a spare has the lost one's place: the old one.
static void keep_plan(struct replanning *self)
{
    struct lab_replanned *replanned = self->replanned;
    replanned->network = self->options->network;
    replanned->wiring = *self->options->wiring;
    replanned->circuits_new = self->circuits_new;
}

bool lab_replan(struct lab_replanned *replanned, const struct lab_experiment_options *options,
                const struct weft_lab_fault *fault, struct weft_arena *arena,
                struct weft_arena scratch, struct weft_error *error)
{
    *replanned = (struct lab_replanned){.graph = options->graph,
                                        .place = options->place,
                                        .lost_server = WEFT_NONE,
                                        .spare_server = WEFT_NONE};
    struct replanning self = {
        .replanned = replanned,
        .options = options,
        .gone = WEFT_NONE,
        .place_count = options->wiring->server_count,
        .arena = arena,
    };
    bool server = fault->kind == WEFT_LAB_FAULT_SERVER;
    if (server && !move_server(&self, fault->server, scratch, error)) {
        return false;
    }
    if (server && self.gone == WEFT_NONE) {
        change_circuits(&self, fault, false);
        keep_plan(&self);
    } else {
        double best_s = 0;
        // With the loose ends of a cut cable joined, or not.
        for (int join = 0; join < (fault->kind == WEFT_LAB_FAULT_LINK ? 2 : 1); join++) {
            change_circuits(&self, fault, join == 1);
            for (int choice = 0; choice < LAB_RING_CHOICES; choice++) {
                if (!try_choice(&self, (enum lab_ring_choice)choice, &best_s, scratch, error)) {
                    break;
                }
            }
        }
        const struct weft_port_map ports = {self.place_count, options->wiring->port_count,
                                            replanned->wiring.planes};
        if (replanned->network == NULL ||
            !weft_routing_next_hops(
                &replanned->wiring.next_hops, &replanned->network->routes, &ports,
                &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error})) {
            return false;
        }
    }
    lab_spread_wiring(&replanned->servers, &replanned->wiring, replanned->place,
                      options->lab->server_count, arena);
    return true;
}
