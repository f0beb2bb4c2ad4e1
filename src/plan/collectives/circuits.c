// SPDX-License-Identifier: Apache-2.0
// A schedule over circuits that follow its rounds, in an engine: the schedule in lock step as a
// task graph, a barrier behind each round, and planes of switches whose policy hears of the
// barriers and orders the circuits of the next round. Between a barrier and the messages behind it
// are a few picoseconds, so that none of them sets out over circuits that are about to go.

#include "weft/plan/circuits.h"
#include "weft/plan.h"

#include <math.h>
#include <string.h>

#define TRANSFERS_MAX (1u << 20)
#define PORTS_MAX ((uint64_t)1 << 24)
#define PACKET_BYTES 4096u
#define RING_ROUND 2u // peers of a round that runs over the ring

// Circuits of one round, as permutations.
struct round {
    uint32_t peer_count; // of a server at most
    uint32_t *peers;     // [permutation * servers + server]; itself: idle
    bool stays;
    uint32_t end; // task: the barrier behind it
};

#define PAUSE_PS 2u

struct player {
    const struct weft_schedule *schedule;
    const struct weft_circuit_play_options *options;
    uint32_t n;
    uint32_t round_count;
    struct round *rounds;
    uint32_t planes;
    bool any_stays;
    double divisor;
    struct weft_network network;
    struct weft_taskgraph graph;
    // The policy.
    uint32_t next; // round
    uint32_t *now; // peers, plane by plane
    uint32_t *ordered;
    uint32_t *idle; // of one plane
    struct weft_circuit_change *orders;
    uint32_t change_count;
};

// ---- rounds ----

// Circuits for all pairs of the round, as few permutations as the busiest server has peers; 0:
// nothing goes between servers.
static uint32_t list_peers(struct round *round, const struct weft_round_walk *walk, uint32_t n,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t *circuits = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    uint32_t *degree = WEFT_NEW(&scratch, uint32_t, 2 * (size_t)n);
    uint32_t most = 0;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        uint32_t *circuit = &circuits[(size_t)transfer->from * n + transfer->to];
        if (transfer->from != transfer->to && *circuit == 0) {
            *circuit = 1;
            uint32_t out = ++degree[transfer->from];
            uint32_t in = ++degree[n + transfer->to];
            most = out > most ? out : most;
            most = in > most ? in : most;
        }
    }
    if (most == 0) {
        return 0;
    }
    uint32_t *wanted = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)n * n);
    uint32_t *peers = WEFT_NEW_RAW(arena, uint32_t, (size_t)most * n);
    memcpy(wanted, circuits, (size_t)n * n * sizeof *wanted);
    weft_circuit_decompose(peers, circuits, n, most, scratch);
    for (size_t at = 0; at < (size_t)most * n; at++) {
        uint32_t from = (uint32_t)(at % n);
        peers[at] = wanted[(size_t)from * n + peers[at]] > 0 ? peers[at] : from;
    }
    *round = (struct round){.peer_count = most, .peers = peers};
    return most;
}

static void set_ring(struct round *round, uint32_t n, struct weft_arena *arena)
{
    round->stays = true;
    round->peer_count = RING_ROUND;
    round->peers = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * RING_ROUND);
    for (uint32_t s = 0; s < n; s++) {
        round->peers[s] = (s + 1) % n;
        round->peers[n + s] = (s + n - 1) % n;
    }
}

static uint32_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a;
    uint32_t y = b;
    while (y > 0) {
        uint32_t rest = x % y;
        x = y;
        y = rest;
    }
    uint64_t multiple = (uint64_t)a / x * b;
    return multiple > UINT32_MAX ? UINT32_MAX : (uint32_t)multiple;
}

static bool read_rounds(struct player *player, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    const struct weft_circuit_play_options *options = player->options;
    struct weft_round_walk walk;
    uint32_t most = 1;
    uint32_t multiple = 1;
    player->rounds = WEFT_NEW(arena, struct round, player->schedule->round_count);
    weft_round_walk_begin(&walk, player->schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        struct round *round = &player->rounds[player->round_count];
        if (list_peers(round, &walk, player->n, arena, scratch) == 0) {
            continue;
        }
        if (player->round_count < 64 && (options->stays >> player->round_count & 1) != 0) {
            set_ring(round, player->n, arena);
            player->any_stays = true;
        }
        most = round->peer_count > most ? round->peer_count : most;
        multiple = common_multiple(multiple, round->peer_count);
        player->round_count++;
    }
    player->planes = options->wavelengths > 0 ? options->wavelengths : multiple;
    if (player->planes < most && !(player->planes == 1 && player->any_stays)) {
        return weft_fail(error, WEFT_INPUT,
                         "a round has %u peers, more than %u wavelengths; take smaller radices",
                         most, player->planes);
    }
    return (uint64_t)player->planes * player->n <= PORTS_MAX ||
           weft_fail(error, WEFT_UNSUPPORTED,
                     "%u wavelengths of %u servers are more than %llu ports; take fewer",
                     player->planes, player->n, (unsigned long long)PORTS_MAX);
}

// ---- planes ----

// Each peer of a round has an equal number of planes.
static void set_planes(uint32_t *planes, const struct player *player, const struct round *round)
{
    uint32_t n = player->n;
    uint32_t width = player->planes / round->peer_count;
    uint32_t most = width == 0 ? 1 : round->peer_count; // of a ring with one wavelength: up
    width = width == 0 ? 1 : width;
    for (uint32_t plane = 0; plane < player->planes; plane++) {
        uint32_t index = plane / width;
        const uint32_t *peers = index < most ? round->peers + (size_t)index * n : player->idle;
        memcpy(planes + (size_t)plane * n, peers, n * sizeof *planes);
    }
}

static bool order(void *state, struct weft_plane_orders *orders,
                  const struct weft_circuit_demand *demand, struct weft_arena scratch,
                  struct weft_error *error)
{
    (void)scratch;
    (void)error;
    struct player *player = state;
    uint32_t n = player->n;
    bool due = player->next == 0; // at the beginning
    for (uint32_t b = 0; b < demand->barrier_count; b++) {
        due |= player->next > 0 && demand->barriers[b] == player->rounds[player->next - 1].end;
    }
    if (!due || player->next == player->round_count) {
        return true;
    }
    bool first_is_there = player->next == 0 && player->options->is_set;
    const struct round *round = &player->rounds[player->next++];
    set_planes(player->ordered, player, round);
    orders->changes = player->orders;
    bool anew = player->options->sets_anew && !first_is_there;
    for (uint32_t plane = 0; plane < player->planes; plane++) {
        uint32_t *now = player->now + (size_t)plane * n;
        const uint32_t *after = player->ordered + (size_t)plane * n;
        bool same = memcmp(now, after, n * sizeof *now) == 0;
        if (same && (!anew || memcmp(after, player->idle, n * sizeof *after) == 0)) {
            continue;
        }
        if (same) { // it is let go, and a picosecond later set again
            player->orders[orders->change_count++] =
                (struct weft_circuit_change){demand->now_ps, plane, player->idle};
        }
        player->orders[orders->change_count++] =
            (struct weft_circuit_change){demand->now_ps + same, plane, after};
    }
    player->change_count += orders->change_count > 0;
    memcpy(player->now, player->ordered, (size_t)player->planes * n * sizeof *player->now);
    return true;
}

static bool build_controller(struct weft_circuit_controller *controller, struct player *player,
                             struct weft_arena *arena, struct weft_error *error)
{
    size_t ports = (size_t)player->planes * player->n;
    player->now = WEFT_NEW_RAW(arena, uint32_t, ports);
    player->ordered = WEFT_NEW_RAW(arena, uint32_t, ports);
    player->idle = WEFT_NEW_RAW(arena, uint32_t, player->n);
    player->orders = WEFT_NEW(arena, struct weft_circuit_change, 2 * (size_t)player->planes);
    for (size_t port = 0; port < ports; port++) {
        player->now[port] = (uint32_t)(port % player->n);
        player->idle[port % player->n] = (uint32_t)(port % player->n);
    }
    if (player->options->is_set || player->rounds[0].stays) {
        set_planes(player->now, player, &player->rounds[0]);
    }
    const struct weft_plane_setting setting = {
        .plane_count = player->planes,
        .first = player->now,
        .rate_Bps = player->options->rate_Bps / player->planes / player->divisor,
        .delays = player->options->delays,
        .forwards = player->any_stays,
        .state = player,
        .order = order,
    };
    bool built = weft_planes_build(controller, &setting, &player->network.fabric, arena, error);
    controller->at_barriers = true;
    return built;
}

// ---- the network ----

// A link for every circuit that there ever is.
static bool build_network(struct player *player, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = player->n;
    bool *joined = WEFT_NEW(&scratch, bool, (size_t)n *n);
    uint32_t count = 0;
    for (uint32_t r = 0; r < player->round_count; r++) {
        const struct round *round = &player->rounds[r];
        for (size_t at = 0; at < (size_t)n * round->peer_count; at++) {
            bool *pair = &joined[at % n * n + round->peers[at]];
            count += !*pair && at % n != round->peers[at];
            *pair = at % n != round->peers[at];
        }
    }
    struct weft_link *links = WEFT_NEW(&scratch, struct weft_link, count);
    count = 0;
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        if (joined[pair]) {
            links[count++] =
                (struct weft_link){.from = (uint32_t)(pair / n),
                                   .to = (uint32_t)(pair % n),
                                   .rate_Bps = player->options->rate_Bps / player->divisor,
                                   .latency_ps = player->options->latency_ps,
                                   .width = 1};
        }
    }
    const struct weft_fabric_links input = {"circuits", n, n, links, count};
    return weft_fabric_build(&player->network.fabric, &input, arena, error) &&
           weft_routes_build_shortest(&player->network.routes, &player->network.fabric, arena,
                                      scratch, error);
}

// ---- the task graph ----

struct builder {
    struct weft_task *tasks;
    uint32_t *before, *after;
    uint32_t task_count;
    size_t edge_count;
};

static uint32_t add(struct builder *builder, struct weft_task task)
{
    builder->tasks[builder->task_count] = task;
    return builder->task_count++;
}

static void edge(struct builder *builder, uint32_t from, uint32_t to)
{
    builder->before[builder->edge_count] = from;
    builder->after[builder->edge_count++] = to;
}

// A pause behind the round before, the round's messages, and a barrier. Rounds inside servers take
// no time and are left out.
static void add_round(struct player *player, struct builder *builder,
                      const struct weft_round_walk *walk, uint32_t index)
{
    double slot_bytes =
        (double)player->options->size_bytes / player->divisor / player->schedule->chunk_count;
    uint32_t pause =
        add(builder, (struct weft_task){.kind = WEFT_TASK_FORWARD, .runtime_ps = PAUSE_PS});
    if (index > 0) {
        edge(builder, player->rounds[index - 1].end, pause);
    }
    uint32_t first = builder->task_count;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        if (transfer->from != transfer->to) {
            double bytes = ceil(transfer->slot_count * slot_bytes * (1 - 1e-12));
            edge(builder, pause,
                 add(builder, (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                                 .size_bytes = (uint64_t)bytes,
                                                 .from = transfer->from,
                                                 .to = transfer->to}));
        }
    }
    uint32_t end = add(builder, (struct weft_task){.kind = WEFT_TASK_BARRIER});
    for (uint32_t task = first; task < end; task++) {
        edge(builder, task, end);
    }
    player->rounds[index].end = end;
}

static bool build_graph(struct player *player, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    static const uint32_t device_server[1] = {0};
    size_t most = (size_t)weft_schedule_transfer_count(player->schedule) +
                  2 * (size_t)player->schedule->round_count;
    struct builder builder = {.tasks = WEFT_NEW(&scratch, struct weft_task, most),
                              .before = WEFT_NEW(&scratch, uint32_t, 2 * most),
                              .after = WEFT_NEW(&scratch, uint32_t, 2 * most)};
    struct weft_round_walk walk;
    uint32_t index = 0;
    weft_round_walk_begin(&walk, player->schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        bool crosses = false;
        for (uint32_t i = 0; i < walk.transfer_count && !crosses; i++) {
            crosses = walk.transfers[i].from != walk.transfers[i].to;
        }
        if (crosses) {
            add_round(player, &builder, &walk, index++);
        }
    }
    weft_task_connect(builder.tasks, builder.task_count, builder.before, builder.after,
                      builder.edge_count, &scratch);
    const struct weft_taskgraph_draft draft = {player->n, 1, device_server, builder.task_count,
                                               builder.tasks};
    return weft_taskgraph_build(&player->graph, &draft, arena, scratch, error);
}

// ---- the run ----

static double bytes_of(const struct weft_schedule *schedule, uint64_t size_bytes,
                       struct weft_arena scratch)
{
    struct weft_round_walk walk;
    double slots = 0;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            bool crosses = walk.transfers[i].from != walk.transfers[i].to;
            slots += crosses ? walk.transfers[i].slot_count : 0;
        }
    }
    return slots * (double)size_bytes / schedule->chunk_count;
}

static bool simulate(struct weft_sim_result *result, struct player *player,
                     const struct weft_environment *environment)
{
    struct weft_circuit_controller controller;
    const struct weft_circuit_play_options *options = player->options;
    bool packets = options->engine == WEFT_ENGINE_PACKET;
    const struct weft_sim_options sim = {
        .packet_bytes = packets ? PACKET_BYTES : 0,
        .engine = options->engine,
        .transport = packets ? WEFT_TRANSPORT_RENO : WEFT_TRANSPORT_IDEAL,
        .packet = &weft_collective_packets,
        .circuits = &controller,
        .stop = options->stop,
    };
    const struct weft_sim_job job = {.graph = &player->graph};
    return build_controller(&controller, player, environment->arena, environment->error) &&
           weft_sim_run_jobs(result, &player->network, &job, 1, &sim, environment);
}

bool weft_circuit_play(struct weft_circuit_play *play, const struct weft_schedule *schedule,
                       const struct weft_circuit_play_options *options,
                       const struct weft_environment *environment)
{
    struct weft_error *error = environment->error;
    struct weft_arena scratch = environment->scratch;
    struct weft_arena own = weft_arena_split(&scratch);
    struct player player = {
        .schedule = schedule, .options = options, .n = schedule->rank_count, .divisor = 1};
    if (weft_schedule_transfer_count(schedule) > TRANSFERS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "schedule '%s' has more than %u transfers, too many to play; take fewer "
                         "ranks",
                         schedule->name, TRANSFERS_MAX);
    }
    if (options->engine == WEFT_ENGINE_PACKET && options->packets_max > 0) {
        double packets = bytes_of(schedule, options->size_bytes, scratch) / PACKET_BYTES;
        player.divisor = fmax(1, ceil(packets / options->packets_max));
    }
    struct weft_sim_result result;
    const struct weft_environment inner = {
        .arena = &own, .scratch = scratch, .seed = environment->seed, .threads = 1, .error = error};
    if (!read_rounds(&player, &own, scratch, error) ||
        !build_network(&player, &own, scratch, error) ||
        !build_graph(&player, &own, scratch, error) || !simulate(&result, &player, &inner)) {
        return false;
    }
    *play = (struct weft_circuit_play){.seconds = weft_seconds(result.end_ps),
                                       .change_count = player.change_count,
                                       .packet_count = result.packets.packets,
                                       .divisor = player.divisor};
    return true;
}
