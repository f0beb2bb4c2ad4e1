// SPDX-License-Identifier: Apache-2.0
// Fat-trees of two or three tiers with any radices, bundles and rates (leaf-spine, Clos): the
// generalised form of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008) that the topology files of
// other simulators describe tier by tier, with cables that failed left out.
//
// Nodes stand as routes.c wants them for its computed routes: servers, ToRs, aggregation switches
// by pod, cores by the place in a pod that they join. Every count is checked before a link is made,
// so that wiring cannot fail half-way. O(cables).

#include "cabling.h"
#include "fabric/routes_kinds.h"

#define RADIX_MAX 65536u
#define SERVERS_MAX (1u << 20)

struct shape {
    uint32_t tor_servers;
    uint32_t pod_tors;
    uint32_t pods;
    uint32_t tors;
    uint32_t pod_aggregations;
    uint32_t aggregation_cores; // 0 with two tiers
};

// Whether a tier stands by itself: ports and rates in range, none up at the top, and ports that
// divide into the bundles of this tier and of the one above.
static bool check_tier(const struct weft_tiers *tiers, uint32_t t, struct weft_error *error)
{
    const struct weft_tier *tier = &tiers->tiers[t];
    bool top = t + 1 == tiers->tier_count;
    if (!(tier->rate_Bps > 0)) {
        return weft_fail(error, WEFT_INPUT, "its cables carry nothing; give a speed above 0");
    }
    if (tier->radix_down == 0 || tier->radix_down > RADIX_MAX || tier->radix_up > RADIX_MAX ||
        (!top && tier->radix_up == 0)) {
        return weft_fail(error, WEFT_INPUT, "%u ports down and %u up; give 1 to %u of each",
                         tier->radix_down, tier->radix_up, RADIX_MAX);
    }
    if (top && tier->radix_up != 0) {
        return weft_fail(error, WEFT_INPUT, "%u ports up, but no tier is above; leave them out",
                         tier->radix_up);
    }
    if (tier->bundle == 0 || tier->radix_down % tier->bundle != 0) {
        return weft_fail(error, WEFT_INPUT, "%u ports down do not divide into bundles of %u",
                         tier->radix_down, tier->bundle);
    }
    if (!top && tier->radix_up % tiers->tiers[t + 1].bundle != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u ports up do not divide into the bundles of %u that tier %u has",
                         tier->radix_up, tiers->tiers[t + 1].bundle, t + 1);
    }
    return true;
}

// Whether the switches of tier t reach as many below as there are.
static bool check_reach(const struct weft_tiers *tiers, uint32_t t, uint32_t below,
                        struct weft_error *error)
{
    const struct weft_tier *tier = &tiers->tiers[t];
    return tier->radix_down / tier->bundle == below ||
           weft_fail(error, WEFT_INPUT,
                     "tier %u: %u ports down in bundles of %u reach %u %s, but there are %u; write "
                     "Radix_Down %llu",
                     t, tier->radix_down, tier->bundle, tier->radix_down / tier->bundle,
                     t == 1 ? "ToRs of a pod" : "pods", below,
                     (unsigned long long)below * tier->bundle);
}

// Counts switches of all tiers from the description. Each ratio must come out whole: what does not
// divide, or reaches more or fewer switches than there are, is refused with the number that would
// do.
static bool plan_shape(struct shape *shape, const struct weft_tiers *tiers,
                       struct weft_error *error)
{
    const struct weft_tier *tier = tiers->tiers;
    uint32_t n = tiers->server_count;
    uint32_t pod = tiers->pod_servers;
    if (tiers->tier_count < 2 || tiers->tier_count > WEFT_TIERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u tiers; give 2 or 3", tiers->tier_count);
    }
    if (n < 2 || n > SERVERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u servers; give 2 to %u", n, SERVERS_MAX);
    }
    for (uint32_t t = 0; t < tiers->tier_count; t++) {
        if (!check_tier(tiers, t, error)) {
            return weft_wrap(error, "tier %u", t);
        }
    }
    if (tier[0].bundle != 1) {
        return weft_fail(error, WEFT_INPUT, "tier 0: a server has one cable; write Bundle 1");
    }
    if (pod == 0 || n % pod != 0 || pod % tier[0].radix_down != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u servers do not divide into pods of %u, or these into ToRs of %u", n,
                         pod, tier[0].radix_down);
    }
    *shape = (struct shape){
        .tor_servers = tier[0].radix_down,
        .pod_tors = pod / tier[0].radix_down,
        .pods = n / pod,
        .tors = n / tier[0].radix_down,
        .pod_aggregations = tier[0].radix_up / tier[1].bundle,
    };
    if (!check_reach(tiers, 1, shape->pod_tors, error)) {
        return false;
    }
    if (tiers->tier_count == 3) {
        shape->aggregation_cores = tier[1].radix_up / tier[2].bundle;
        return check_reach(tiers, 2, shape->pods, error);
    }
    return shape->pods == 1 ||
           weft_fail(error, WEFT_INPUT,
                     "two tiers join one pod, not %u of %u servers; write Podsize %u", shape->pods,
                     pod, n);
}

// Joins a switch of tier `tier` to a node below; 0 cables: not at all.
static void join(struct wiring *wiring, const struct weft_tiers *tiers, uint32_t tier, uint32_t low,
                 uint32_t high, uint32_t cables)
{
    const struct weft_tier *own = &tiers->tiers[tier];
    uint64_t below_ps = tier == 0 ? 0 : tiers->tiers[tier - 1].switch_latency_ps;
    if (cables == 0) {
        return;
    }
    wiring_join(wiring, low, high, cables, own->rate_Bps);
    wiring->links[wiring->count - 2].latency_ps = own->latency_ps + own->switch_latency_ps;
    wiring->links[wiring->count - 1].latency_ps = own->latency_ps + below_ps;
}

// Takes the failures from the cables between each aggregation switch and its cores.
static bool break_cables(uint32_t *cables, const struct weft_tiers *tiers,
                         const struct shape *shape, const struct weft_tier_failure *failures,
                         uint32_t failure_count, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    uint32_t up = tiers->tiers[1].radix_up;
    uint32_t switches = shape->pods * shape->pod_aggregations;
    uint32_t bundle = tiers->tiers[2].bundle;
    bool *broken = WEFT_NEW(&scratch, bool, (size_t)switches *up);
    for (uint32_t i = 0; i < failure_count; i++) {
        const struct weft_tier_failure *failure = &failures[i];
        if (failure->aggregation >= switches || failure->cable >= up) {
            return weft_fail(error, WEFT_INPUT,
                             "failure %u: cable %u of aggregation switch %u; there are %u such "
                             "switches with %u cables up",
                             i, failure->cable, failure->aggregation, switches, up);
        }
        size_t cable = (size_t)failure->aggregation * up + failure->cable;
        if (broken[cable]) {
            return weft_fail(error, WEFT_INPUT,
                             "failure %u: cable %u of aggregation switch %u is broken already; "
                             "name it once",
                             i, failure->cable, failure->aggregation);
        }
        broken[cable] = true;
        cables[cable / bundle]--;
    }
    return true;
}

static void wire(struct wiring *wiring, const struct weft_tiers *tiers, const struct shape *shape,
                 const uint32_t *cables)
{
    WEFT_ASSERT(shape->tor_servers > 0);
    uint32_t tor_base = tiers->server_count;
    uint32_t aggregation_base = tor_base + shape->tors;
    uint32_t core_base = aggregation_base + shape->pods * shape->pod_aggregations;
    for (uint32_t s = 0; s < tiers->server_count; s++) {
        join(wiring, tiers, 0, s, tor_base + s / shape->tor_servers, 1);
    }
    for (uint32_t tor = 0; tor < shape->tors; tor++) {
        uint32_t pod_base = aggregation_base + tor / shape->pod_tors * shape->pod_aggregations;
        for (uint32_t j = 0; j < shape->pod_aggregations; j++) {
            join(wiring, tiers, 1, tor_base + tor, pod_base + j, tiers->tiers[1].bundle);
        }
    }
    uint32_t cores = shape->aggregation_cores;
    for (uint32_t a = 0; a < shape->pods * shape->pod_aggregations; a++) {
        uint32_t place = a % shape->pod_aggregations;
        for (uint32_t i = 0; i < cores; i++) {
            join(wiring, tiers, 2, aggregation_base + a, core_base + place * cores + i,
                 cables[(size_t)a * cores + i]);
        }
    }
}

// What the ports of switches hold, per link; NULL: nothing is said.
static const uint64_t *lay_out_queues(const struct weft_fabric *fabric,
                                      const struct weft_tiers *tiers, const struct shape *shape,
                                      struct weft_arena *arena)
{
    const uint32_t base[] = {tiers->server_count, tiers->server_count + shape->tors,
                             tiers->server_count + shape->tors +
                                 shape->pods * shape->pod_aggregations};
    uint64_t *bytes = WEFT_NEW(arena, uint64_t, fabric->link_count);
    bool any = false;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (link->from < base[0]) {
            continue; // a server's own
        }
        const struct weft_tier *tier =
            &tiers->tiers[(link->from >= base[1]) + (link->from >= base[2])];
        bool up = link->to > link->from;
        bytes[l] = link->width * (up ? tier->queue_up_bytes : tier->queue_down_bytes);
        any |= bytes[l] > 0;
    }
    return any ? bytes : NULL;
}

static uint64_t count_cables(const struct weft_tiers *tiers, const struct shape *shape)
{
    return tiers->server_count + (uint64_t)shape->tors * tiers->tiers[0].radix_up +
           (uint64_t)shape->pods * shape->pod_aggregations * tiers->tiers[1].radix_up;
}

// Every cable above the servers has a transceiver and a switch port at each end; a server's has its
// NIC at one.
static struct weft_parts count_parts(const struct weft_tiers *tiers, const struct shape *shape)
{
    uint64_t cables = count_cables(tiers, shape);
    return (struct weft_parts){
        .nics = tiers->server_count,
        .transceivers = 2 * cables,
        .switch_ports = 2 * cables - tiers->server_count,
        .rate_Bps = tiers->tiers[0].rate_Bps,
    };
}

bool weft_fabric_build_tiers(struct weft_network *network, const struct weft_tiers *tiers,
                             const struct weft_tier_failure *failures, uint32_t failure_count,
                             const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    struct shape shape = {0};
    if (!plan_shape(&shape, tiers, error)) {
        return false;
    }
    if (failure_count > 0 && tiers->tier_count < 3) {
        return weft_fail(error, WEFT_INPUT, "failures break cables to cores; two tiers have none");
    }
    uint32_t aggregations = shape.pods * shape.pod_aggregations;
    uint64_t core_links = (uint64_t)aggregations * shape.aggregation_cores;
    uint64_t joints =
        tiers->server_count + (uint64_t)shape.tors * shape.pod_aggregations + core_links;
    if (!wiring_fits("topology", count_cables(tiers, &shape), error)) {
        return false;
    }
    uint32_t *cables = WEFT_NEW_RAW(&scratch, uint32_t, core_links);
    for (uint64_t i = 0; i < core_links; i++) {
        cables[i] = tiers->tiers[2].bundle;
    }
    if (failure_count > 0 &&
        !break_cables(cables, tiers, &shape, failures, failure_count,
                      &(struct weft_environment){.scratch = scratch, .error = error})) {
        return false;
    }
    struct wiring wiring = wiring_start("topology", joints, 0, arena);
    wire(&wiring, tiers, &shape, cables);
    uint32_t cores = shape.pod_aggregations * shape.aggregation_cores;
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, tiers->server_count,
                       tiers->server_count + shape.tors + aggregations + cores, arena, error)) {
        return false;
    }
    fabric.parts = count_parts(tiers, &shape);
    fabric.buffer_bytes = lay_out_queues(&fabric, tiers, &shape, arena);
    *network = (struct weft_network){.fabric = fabric};
    bool parted = false; // some switch has no cable left to one of its cores
    for (uint64_t i = 0; failure_count > 0 && i < core_links; i++) {
        parted |= cables[i] == 0;
    }
    if (parted) {
        return weft_routes_build_shortest(&network->routes, &network->fabric, arena, scratch,
                                          error);
    }
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_TREE,
        .fabric = &network->fabric,
        .hop_max = shape.pods > 1   ? 6
                   : shape.tors > 1 ? 4
                                    : 2,
        .shape = {[TREE_RAILS] = 1,
                  [TREE_SIZE] = shape.tor_servers,
                  [TREE_MEET] = 1,
                  [TREE_SPINES] = shape.pod_aggregations,
                  [TREE_CORES] = shape.aggregation_cores,
                  [TREE_GROUPS] = shape.tors,
                  [TREE_POD_GROUPS] = shape.pod_tors},
    };
    return true;
}
