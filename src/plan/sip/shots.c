// SPDX-License-Identifier: Apache-2.0
// SiP-OCS, multi-shot: circuits that follow what waits, as a circuit controller of the flow engine.
//
// Circuits are max-min circuits again, of what has begun and is not carried yet, and of a trace of
// everything else. Together: all switches change at once, after four dark times of light (the
// released code: every five dark times), divided among them so that few ports move; relays are
// found anew. Staggered: one switch after the other changes to what the others lack most, so that
// at most one is dark and no pair with two circuits is cut off; every pair that has a circuit at
// the beginning keeps one, and relays stay where they are.
//
// A port that keeps its peer carries on. A change is asked for (command), then the ports that move
// are dark. The least time between two changes is a part of the iteration: what follows faster
// gains nothing and takes long to play.

#include "sip.h"

#include <stdlib.h>
#include <string.h>

// The released code changes every five dark times.
#define LIGHT_RATIO 4u
#define TRACE_RATIO 1e-9
#define CHANGES_MAX 1000u // of an iteration without changes, at most

enum phase {
    PHASE_LIGHT,   // all circuits carry; when it ends, new ones are chosen
    PHASE_COMMAND, // chosen, and the ports still carry
    PHASE_DARK,    // ports that move are dark
};

struct controller {
    const struct sip_circuits *first;
    const struct sip_timing *timing;
    uint32_t n, planes;
    uint64_t command_ps, dark_ps;
    uint64_t light_ps; // after a change
    uint64_t idle_ps;  // after a choice that moved nothing
    const double *plane_Bps;
    uint32_t *peers; // planes * n, now
    uint32_t *next;  // planes * n, after the change under way
    uint32_t *relay; // n*n, now
    uint32_t *next_relay;
    enum phase phase;
    uint32_t turn; // STAGGERED: the plane that changes next
    const uint32_t *link_of;
    double *rate_Bps;    // per link
    uint32_t *next_link; // n*n
    // What happened.
    double dark_port_ps;
    uint64_t change_count;
    struct weft_arena *arena;
    struct weft_circuit_change *changes;
    uint32_t changes_room, changes_listed;
};

// ---- which circuits ----

// What waits, and a trace of what every pair with bytes in the iteration carries, so that no pair
// is left without a way. STAGGERED: of circuits, as relays stay.
static double *wanted(const struct controller *c, const double *unserved, struct weft_arena *arena)
{
    size_t cells = (size_t)c->n * c->n;
    bool staggered = c->timing->shots == WEFT_SIP_STAGGERED;
    const double *all = staggered ? c->first->demand : c->first->bytes;
    double *demand = WEFT_NEW(arena, double, cells);
    double most = 0;
    for (size_t pair = 0; pair < cells; pair++) {
        if (unserved[pair] <= 0 || pair / c->n == pair % c->n) {
            continue;
        }
        uint32_t over = staggered ? c->first->relay[pair] : WEFT_NONE;
        if (over == WEFT_NONE) {
            demand[pair] += unserved[pair];
        } else {
            demand[pair / c->n * c->n + over] += unserved[pair];
            demand[(size_t)over * c->n + pair % c->n] += unserved[pair];
        }
    }
    for (size_t pair = 0; pair < cells; pair++) {
        most = demand[pair] > most ? demand[pair] : most;
    }
    for (size_t pair = 0; most > 0 && pair < cells; pair++) {
        if (all[pair] > 0 && demand[pair] < most * TRACE_RATIO) {
            demand[pair] = most * TRACE_RATIO;
        }
    }
    return demand;
}

struct gain {
    double gain;
    uint32_t from, to;
};

static int by_gain(const void *a, const void *b)
{
    const struct gain *x = a;
    const struct gain *y = b;
    if (x->gain != y->gain) {
        return x->gain > y->gain ? -1 : 1;
    }
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

// Ports that are left keep their peer where it is free too, and others take what is left.
static void close_permutation(uint32_t *next, const uint32_t *own, bool *taken, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (next[i] == WEFT_NONE && !taken[own[i]]) {
            next[i] = own[i];
            taken[own[i]] = true;
        }
    }
    uint32_t free = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (next[i] != WEFT_NONE) {
            continue;
        }
        while (taken[free]) {
            free++;
        }
        next[i] = free;
        taken[free] = true;
    }
}

// One plane takes what the others lack of the new circuits: first pairs that it alone joins, then
// those with the most bytes for their circuits.
static void turn_plane(struct controller *c, const uint32_t *target, const double *demand,
                       struct weft_arena scratch)
{
    uint32_t n = c->n;
    uint32_t *next = c->next + (size_t)c->turn * n;
    const uint32_t *own = c->peers + (size_t)c->turn * n;
    uint32_t *others = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    bool *taken = WEFT_NEW(&scratch, bool, n);
    struct gain *gains = WEFT_NEW_RAW(&scratch, struct gain, (size_t)n * n);
    uint32_t count = 0;
    for (uint32_t plane = 0; plane < c->planes; plane++) {
        for (uint32_t i = 0; plane != c->turn && i < n; i++) {
            others[(size_t)i * n + c->peers[(size_t)plane * n + i]]++;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = own[i];
        size_t pair = (size_t)i * n + j;
        next[i] = WEFT_NONE;
        if (i != j && others[pair] == 0 && c->first->demand[pair] > 0) {
            next[i] = j;
            taken[j] = true;
        }
    }
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        if (pair / n != pair % n && target[pair] > others[pair]) {
            gains[count++] = (struct gain){demand[pair] / (others[pair] + 1), (uint32_t)(pair / n),
                                           (uint32_t)(pair % n)};
        }
    }
    qsort(gains, count, sizeof *gains, by_gain);
    for (uint32_t g = 0; g < count; g++) {
        if (next[gains[g].from] == WEFT_NONE && !taken[gains[g].to]) {
            next[gains[g].from] = gains[g].to;
            taken[gains[g].to] = true;
        }
    }
    close_permutation(next, own, taken, n);
}

// All planes: circuits and relays anew. Where these cannot be, everything stays.
static void turn_all(struct controller *c, const double *demand, struct weft_arena scratch)
{
    struct sip_circuits fresh;
    struct weft_error ignored;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (sip_circuits_build(&fresh, demand, c->n, c->planes, &kept, scratch, &ignored)) {
        struct weft_circuit_moves moves;
        weft_circuit_reassign(c->next, &moves, fresh.circuits, c->peers, c->n, c->planes, scratch);
        memcpy(c->next_relay, fresh.relay, (size_t)c->n * c->n * sizeof *c->next_relay);
    }
}

static bool choose(struct controller *c, const double *unserved, struct weft_arena scratch,
                   struct weft_error *error)
{
    size_t cells = (size_t)c->n * c->n;
    double *demand = wanted(c, unserved, &scratch);
    bool any = false;
    memcpy(c->next, c->peers, (size_t)c->planes * c->n * sizeof *c->next);
    for (size_t pair = 0; pair < cells; pair++) {
        any |= demand[pair] > 0;
    }
    if (any && c->timing->shots == WEFT_SIP_STAGGERED) {
        double ratio;
        uint32_t *circuits = WEFT_NEW(&scratch, uint32_t, cells);
        if (!weft_circuit_maxmin(circuits, &ratio, demand, c->n, c->planes, scratch, error)) {
            return false;
        }
        turn_plane(c, circuits, demand, scratch);
        c->turn = (c->turn + 1) % c->planes;
    } else if (any) {
        turn_all(c, demand, scratch);
    }
    return true;
}

// ---- what the engine is told ----

// Rates of all links: circuits of the planes, in the dark those that do not move.
static void light_up(struct controller *c, bool dark)
{
    uint32_t n = c->n;
    WEFT_ASSERT(n > 0);
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        if (c->link_of[pair] != WEFT_NONE) {
            c->rate_Bps[c->link_of[pair]] = 0;
        }
    }
    for (uint32_t plane = 0; plane < c->planes; plane++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t j = c->peers[(size_t)plane * n + i];
            bool moves = dark && c->next[(size_t)plane * n + i] != j;
            if (i != j && !moves) {
                c->rate_Bps[c->link_of[(size_t)i * n + j]] += c->plane_Bps[plane];
            }
        }
    }
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t link = c->link_of[pair];
        uint32_t over = c->relay[pair];
        bool direct = link != WEFT_NONE && c->rate_Bps[link] > 0;
        c->next_link[pair] = direct              ? link
                             : over != WEFT_NONE ? c->link_of[pair / n * n + over]
                                                 : WEFT_NONE;
        if (!direct && over != WEFT_NONE && c->rate_Bps[c->next_link[pair]] == 0) {
            c->next_link[pair] = WEFT_NONE;
        }
    }
}

// Counts and lists what moves; returns how many ports do.
static uint32_t list_changes(struct controller *c, uint64_t now_ps)
{
    uint32_t moved = 0;
    for (uint32_t plane = 0; plane < c->planes; plane++) {
        const uint32_t *next = c->next + (size_t)plane * c->n;
        uint32_t here = 0;
        for (uint32_t i = 0; i < c->n; i++) {
            here += next[i] != c->peers[(size_t)plane * c->n + i];
        }
        moved += here;
        if (here == 0) {
            continue;
        }
        c->change_count++;
        if (c->changes_listed == c->changes_room) {
            uint32_t room = 2 * c->changes_room + 64;
            struct weft_circuit_change *more =
                WEFT_NEW_RAW(c->arena, struct weft_circuit_change, room);
            for (uint32_t i = 0; i < c->changes_listed; i++) {
                more[i] = c->changes[i];
            }
            c->changes = more;
            c->changes_room = room;
        }
        uint32_t *peers = WEFT_NEW_RAW(c->arena, uint32_t, c->n);
        memcpy(peers, next, c->n * sizeof *peers);
        c->changes[c->changes_listed++] = (struct weft_circuit_change){now_ps, plane, peers};
    }
    return moved;
}

// How long until the next question: choosing begins a change, a change goes through its phases.
static bool advance(struct controller *c, uint64_t *until_ps,
                    const struct weft_circuit_demand *demand, struct weft_arena scratch,
                    struct weft_error *error)
{
    *until_ps = c->light_ps;
    if (c->phase == PHASE_LIGHT && demand->now_ps > 0) {
        if (!choose(c, demand->unserved_bytes, scratch, error)) {
            return false;
        }
        uint32_t moved = list_changes(c, demand->now_ps);
        if (moved == 0) {
            *until_ps = c->idle_ps;
            return true;
        }
        c->dark_port_ps += (double)moved * (double)c->dark_ps;
        c->phase = PHASE_COMMAND;
        *until_ps = c->command_ps;
        if (c->command_ps > 0) {
            return true;
        }
    }
    if (c->phase == PHASE_COMMAND) {
        c->phase = PHASE_DARK;
        *until_ps = c->dark_ps;
        if (c->dark_ps > 0) {
            return true;
        }
    }
    if (c->phase == PHASE_DARK) {
        memcpy(c->peers, c->next, (size_t)c->planes * c->n * sizeof *c->peers);
        memcpy(c->relay, c->next_relay, (size_t)c->n * c->n * sizeof *c->relay);
        c->phase = PHASE_LIGHT;
        *until_ps = c->light_ps;
    }
    return true;
}

static bool decide(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error)
{
    struct controller *c = state;
    uint64_t until_ps;
    if (!advance(c, &until_ps, demand, scratch, error)) {
        return false;
    }
    light_up(c, c->phase == PHASE_DARK);
    *answer = (struct weft_circuit_answer){
        .rate_Bps = c->rate_Bps, .next_link = c->next_link, .until_ps = demand->now_ps + until_ps};
    return true;
}

// ---- playing ----

// Every circuit that there may be, and its number.
static bool build_fabric(struct weft_network *network, uint32_t **link_of, double rate_Bps,
                         const struct weft_cluster *cluster, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    double *rates = WEFT_NEW_RAW(&scratch, double, (size_t)n *n);
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        rates[pair] = rate_Bps;
    }
    if (!sip_network_build(network, rates, NULL, cluster, arena, scratch, error)) {
        return false;
    }
    *link_of = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n);
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t from = (uint32_t)(pair / n);
        uint32_t to = (uint32_t)(pair % n);
        (*link_of)[pair] =
            from == to ? WEFT_NONE : weft_fabric_find_link(&network->fabric, from, to);
    }
    return true;
}

static uint64_t light_time(const struct sip_timing *timing, uint64_t dark_ps)
{
    uint64_t least_ps = weft_picoseconds(timing->single_s / CHANGES_MAX);
    if (timing->shots == WEFT_SIP_TOGETHER) {
        return LIGHT_RATIO * dark_ps > least_ps ? LIGHT_RATIO * dark_ps : least_ps;
    }
    return least_ps > dark_ps ? least_ps - dark_ps : 1;
}

static struct controller *controller_new(const struct sip_circuits *circuits,
                                         const struct weft_sip_options *sip,
                                         const struct sip_timing *timing, bool still,
                                         struct weft_arena *arena)
{
    struct controller *c = WEFT_NEW(arena, struct controller, 1);
    uint32_t n = circuits->node_count;
    uint32_t planes = circuits->port_count;
    const struct weft_circuit_delays *delays = &timing->delays;
    double *plane_Bps = WEFT_NEW_RAW(arena, double, planes);
    uint64_t dark_ps = delays->dark_ps + delays->retrain_ps + delays->first_ps;
    *c = (struct controller){
        .first = circuits,
        .timing = timing,
        .n = n,
        .planes = planes,
        .command_ps = still ? 0 : delays->command_ps,
        .dark_ps = still ? 0 : dark_ps,
        .light_ps = light_time(timing, dark_ps),
        .idle_ps = light_time(timing, dark_ps) + dark_ps,
        .plane_Bps = plane_Bps,
        .peers = WEFT_NEW_RAW(arena, uint32_t, (size_t)planes * n),
        .next = WEFT_NEW_RAW(arena, uint32_t, (size_t)planes * n),
        .relay = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n),
        .next_relay = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n),
        .rate_Bps = WEFT_NEW(arena, double, (size_t)n *n),
        .next_link = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n),
        .arena = arena,
    };
    for (uint32_t plane = 0; plane < planes; plane++) {
        plane_Bps[plane] = sip_switch_waves(sip->wavelengths, planes, plane) * sip->wave_Bps;
    }
    memcpy(c->peers, circuits->permutations, (size_t)planes * n * sizeof *c->peers);
    memcpy(c->relay, circuits->relay, (size_t)n * n * sizeof *c->relay);
    memcpy(c->next_relay, circuits->relay, (size_t)n * n * sizeof *c->relay);
    return c;
}

// One iteration, with the delays or without.
static bool play(double *iteration_s, const struct sip_fold *fold, struct controller *c,
                 const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_network network;
    uint32_t *link_of;
    if (!build_fabric(&network, &link_of, c->plane_Bps[0], &fold->cluster, &kept, scratch,
                      environment->error)) {
        return false;
    }
    c->link_of = link_of;
    const struct weft_circuit_controller controller = {.state = c, .decide = decide};
    const struct weft_sim_options options = {
        .one_round = true, .circuits = &controller, .stop = environment->stop};
    const struct weft_sim_job job = {.graph = &fold->graph};
    const struct weft_environment inner = {
        .arena = &kept, .scratch = scratch, .error = environment->error};
    struct weft_sim_result result;
    if (!weft_sim_run_jobs(&result, &network, &job, 1, &options, &inner)) {
        return false;
    }
    *iteration_s = weft_seconds(result.end_ps);
    return true;
}

bool sip_shots_play(struct sip_run *run, const struct sip_fold *fold,
                    const struct sip_circuits *circuits, const struct weft_sip_options *sip,
                    const struct sip_timing *timing, const struct weft_environment *environment)
{
    struct controller *moved = controller_new(circuits, sip, timing, false, environment->arena);
    struct controller *still = controller_new(circuits, sip, timing, true, environment->arena);
    double iteration_s;
    double still_s;
    if (!play(&iteration_s, fold, moved, environment) ||
        !play(&still_s, fold, still, environment)) {
        return false;
    }
    double port_ps = (double)moved->n * moved->planes * iteration_s * WEFT_PS_PER_S;
    *run = (struct sip_run){
        .iteration_s = iteration_s,
        .still_s = still_s,
        .dark_share = moved->dark_port_ps / port_ps,
        .change_count = moved->change_count,
        .shots = timing->shots,
        .schedule = {.node_count = moved->n,
                     .plane_count = moved->planes,
                     .first = circuits->permutations,
                     .change_count = moved->changes_listed,
                     .changes = moved->changes,
                     .delays = timing->delays,
                     .end_ps = weft_picoseconds(iteration_s)},
        .circuits = circuits,
    };
    return true;
}
