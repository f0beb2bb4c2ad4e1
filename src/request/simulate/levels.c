// SPDX-License-Identifier: Apache-2.0
// Collectives by levels, as libraries run them, so that all ports of a server have the same to do:
// inside every server, over its rails, along the dimensions of a torus or the cycles of a random
// graph.

#include "request/simulate/levels.h"
#include "weft/graph.h"

// Of a job with its collectives by levels: a limit of memory (about 64 bytes a task), not tuned.
#define SPREAD_TASKS_MAX (1u << 24)

// ---- who stands where ----

// A random graph of servers is Hamiltonian cycles that share no cable, as many as half its ports
// where they are found, which collectives go along both ways.
static void find_cycles(struct patterns_ranks *ranks, const struct weft_fabric *fabric,
                        const struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    uint32_t n = fabric->server_count;
    uint32_t most = simulation->cluster.degree / 2;
    struct weft_arena scratch = base->scratch;
    uint32_t *tails = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    uint32_t *heads = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    uint32_t count = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        if (fabric->links[e].from < n && fabric->links[e].to < n) {
            tails[count] = fabric->links[e].from;
            heads[count++] = fabric->links[e].to;
        }
    }
    struct weft_graph graph;
    weft_graph_build(&graph, n, tails, heads, count, &scratch);
    struct weft_rng rng = weft_rng_stream(base->seed, n);
    uint32_t *cycles = WEFT_NEW_RAW(base->arena, uint32_t, (size_t)n * most + 1);
    ranks->cycle_count = weft_graph_disjoint_cycles(cycles, &graph, most, &rng, scratch);
    ranks->cycles = cycles;
    ranks->ways = ranks->cycle_count > 0 ? 2 * ranks->cycle_count : 1;
}

// Who takes part, on the network that was built.
struct patterns_ranks levels_ranks(const struct simulation *simulation)
{
    uint32_t asked = simulation->request->scale_up.accelerators;
    uint32_t accelerators = asked > 1 ? asked : 1;
    const struct weft_routes *routes = &simulation->network->routes;
    if (routes->kind == WEFT_ROUTES_SCALE_UP) {
        routes = routes->scale_up->planes;
    }
    struct patterns_ranks ranks = {
        .servers = simulation->network->fabric.server_count / accelerators,
        .accelerators = accelerators,
        .server_rate_Bps = simulation->cluster.rate_Bps * simulation->cluster.degree,
        .dimensions = 1,
        .ways = routes->kind == WEFT_ROUTES_RING || routes->kind == WEFT_ROUTES_TORUS ? 2 : 1,
    };
    if (simulation->request->one_port) {
        ranks.servers *= accelerators;
        ranks.accelerators = 1;
        ranks.ways = 1;
    }
    ranks.sides[0] = ranks.servers;
    if (routes->kind == WEFT_ROUTES_SHORTEST && !simulation->request->one_port) {
        find_cycles(&ranks, routes->fabric, simulation);
    }
    if (routes->kind == WEFT_ROUTES_TORUS && !simulation->request->one_port) {
        ranks.dimensions = 0;
        for (uint32_t i = 0; i < 3; i++) {
            ranks.sides[i] = routes->shape[i];
            ranks.dimensions += routes->shape[i] > 1;
        }
    }
    return ranks;
}

// ---- the tasks of a collective ----

// One step of a collective: in every server, or along one dimension of them.
struct level {
    enum weft_task_kind kind;
    uint32_t dimension; // INSIDE: among the accelerators of a server
    uint64_t size_bytes;
};
enum { INSIDE = 3, LEVELS_MAX = 8 };

// Servers stand in a grid, and every lane of a collective has its own order of the dimensions and
// its own way round them, so that all ports have the same to do (Sack and Gropp, "Faster topology-
// aware collective algorithms through non-minimal communication", PPoPP 2012, have the torus so). A
// lane moves its share of the buffer over one accelerator of each server.
struct drafting {
    const struct patterns_ranks *ranks;
    const uint32_t *rank_of; // [place of a server * accelerators + lane]; NULL: the place itself
    uint32_t lane_count;
    struct weft_task *tasks;
    uint32_t task_count;
    uint32_t *before; // edges
    uint32_t *after;
    size_t edge_count;
    struct weft_arena *arena;
};

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

// A lane's steps between servers: reduced along its first dimensions, all of it along the last,
// gathered back. Returns their number.
static uint32_t plan_lane(struct level *levels, const struct patterns_ranks *ranks,
                          enum weft_task_kind kind, uint64_t size_bytes, uint32_t lane)
{
    uint32_t last = ranks->dimensions - 1;
    uint64_t sizes[4] = {size_bytes};
    uint32_t order[3];
    for (uint32_t i = 0; i <= last; i++) {
        order[i] = (lane + i) % ranks->dimensions;
        sizes[i + 1] = divide_up(sizes[i], ranks->sides[order[i]]);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < last && kind != WEFT_TASK_ALL_GATHER; i++) {
        levels[count++] = (struct level){WEFT_TASK_REDUCE_SCATTER, order[i], sizes[i]};
    }
    levels[count++] = (struct level){kind, order[last], sizes[last]};
    for (uint32_t i = last; i > 0 && kind != WEFT_TASK_REDUCE_SCATTER; i--) {
        levels[count++] = (struct level){WEFT_TASK_ALL_GATHER, order[i - 1], sizes[i - 1]};
    }
    return count;
}

static void add_edge(struct drafting *drafting, uint32_t before, uint32_t after)
{
    drafting->before[drafting->edge_count] = before;
    drafting->after[drafting->edge_count++] = after;
}

static uint32_t add_barrier(struct drafting *drafting)
{
    drafting->tasks[drafting->task_count] = (struct weft_task){
        .kind = WEFT_TASK_BARRIER, .device = WEFT_NONE, .from = WEFT_NONE, .to = WEFT_NONE};
    return drafting->task_count++;
}

// How a ring goes round its group.
struct tour {
    uint32_t size;
    uint32_t step;         // from one rank to the next
    bool back;             // the other way round
    const uint32_t *cycle; // the order of the places; NULL: as they are
};

// The members of a group in the order of their ring, from rank `first`.
static void add_group(struct drafting *drafting, const struct level *level, const struct tour *tour,
                      uint32_t first)
{
    uint32_t size = tour->size;
    uint32_t *members = WEFT_NEW_RAW(drafting->arena, uint32_t, size);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t place = tour->back ? (size - i) % size : i;
        uint32_t at = first + (tour->cycle != NULL ? tour->cycle[place] : place) * tour->step;
        members[i] = drafting->rank_of != NULL ? drafting->rank_of[at] : at;
    }
    drafting->tasks[drafting->task_count++] = (struct weft_task){
        .kind = level->kind,
        .device = WEFT_NONE,
        .size_bytes = level->size_bytes,
        .from = WEFT_NONE,
        .to = WEFT_NONE,
        .members = members,
        .member_count = size,
    };
}

// A level's tasks between two barriers: behind the one given, before the one returned.
static uint32_t add_level(struct drafting *drafting, const struct level *level, uint32_t lane,
                          uint32_t barrier)
{
    const struct patterns_ranks *ranks = drafting->ranks;
    uint32_t a = ranks->accelerators;
    uint32_t first = drafting->task_count;
    if (level->dimension == INSIDE) {
        for (uint32_t s = 0; s < ranks->servers; s++) {
            add_group(drafting, level, &(struct tour){.size = a, .step = 1}, s * a);
        }
    } else {
        uint32_t stride = 1;
        for (uint32_t i = 0; i < level->dimension; i++) {
            stride *= ranks->sides[i];
        }
        uint32_t side = ranks->sides[level->dimension];
        uint32_t way = lane / ranks->dimensions % ranks->ways;
        const struct tour tour = {
            .size = side,
            .step = stride * a,
            .back = way % 2 == 1,
            .cycle =
                ranks->cycle_count > 0 ? ranks->cycles + (size_t)way / 2 * ranks->servers : NULL,
        };
        for (uint32_t s = 0; s < ranks->servers; s++) {
            if (s / stride % side == 0) {
                add_group(drafting, level, &tour, s * a + lane % a);
            }
        }
    }
    uint32_t end = drafting->task_count;
    uint32_t next = add_barrier(drafting);
    for (uint32_t task = first; task < end; task++) {
        add_edge(drafting, barrier, task);
        add_edge(drafting, task, next);
    }
    return next;
}

// As many lanes as accelerators, and dimensions and ways round them, divide alike.
static uint32_t count_lanes(const struct patterns_ranks *ranks)
{
    uint32_t ways = ranks->dimensions * ranks->ways;
    uint32_t lanes = ranks->accelerators;
    while (lanes % ways != 0) {
        lanes += ranks->accelerators;
    }
    return lanes;
}

static void add_lanes(struct drafting *drafting, enum weft_task_kind kind, uint64_t size_bytes,
                      uint32_t begin, uint32_t end)
{
    for (uint32_t lane = 0; lane < drafting->lane_count; lane++) {
        struct level levels[LEVELS_MAX];
        uint64_t share_bytes = divide_up(size_bytes, drafting->lane_count);
        uint32_t count = plan_lane(levels, drafting->ranks, kind, share_bytes, lane);
        uint32_t barrier = begin;
        for (uint32_t i = 0; i < count; i++) {
            barrier = add_level(drafting, &levels[i], lane, barrier);
        }
        add_edge(drafting, barrier, end);
    }
}

// What is reduced is reduce-scattered inside servers first, and what is gathered is gathered inside
// at the end; between the two every accelerator has the same part of its server's buffer to move.
// Behind the task given, before the one returned.
static uint32_t add_all(struct drafting *drafting, enum weft_task_kind kind, uint64_t size_bytes,
                        uint32_t barrier)
{
    const struct patterns_ranks *ranks = drafting->ranks;
    bool levels = ranks->accelerators > 1;
    if (levels && kind != WEFT_TASK_ALL_GATHER) {
        const struct level inside = {WEFT_TASK_REDUCE_SCATTER, INSIDE, size_bytes};
        barrier = add_level(drafting, &inside, 0, barrier);
    }
    if (ranks->servers > 1) {
        uint32_t end = add_barrier(drafting);
        add_lanes(drafting, kind, size_bytes, barrier, end);
        barrier = end;
    }
    if (levels && kind != WEFT_TASK_REDUCE_SCATTER) {
        const struct level inside = {WEFT_TASK_ALL_GATHER, INSIDE, size_bytes};
        barrier = add_level(drafting, &inside, 0, barrier);
    }
    return barrier;
}

// At most as many tasks as one collective comes to: per lane and level the groups of a dimension
// and a barrier, and twice the servers' insides.
static size_t room_of(const struct patterns_ranks *ranks)
{
    uint32_t shortest = ranks->servers;
    for (uint32_t i = 0; i < ranks->dimensions; i++) {
        shortest = ranks->sides[i] < shortest ? ranks->sides[i] : shortest;
    }
    size_t groups = ranks->servers / shortest + 1;
    size_t room = (2 * ranks->dimensions - 1) * groups * count_lanes(ranks);
    return room + 2 * ((size_t)ranks->servers + 1) + 2;
}

// At most as many edges: two a task, and one a lane.
static size_t edges_of(const struct patterns_ranks *ranks)
{
    return 2 * room_of(ranks) + count_lanes(ranks);
}

bool levels_build(struct weft_taskgraph *graph, const struct weft_flows_spec *spec,
                  const struct patterns_ranks *ranks, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error)
{
    static const enum weft_task_kind kinds[] = {
        [WEFT_FLOWS_ALLREDUCE] = WEFT_TASK_ALLREDUCE,
        [WEFT_FLOWS_REDUCE_SCATTER] = WEFT_TASK_REDUCE_SCATTER,
        [WEFT_FLOWS_ALL_GATHER] = WEFT_TASK_ALL_GATHER,
    };
    uint32_t rank_count = ranks->servers * ranks->accelerators;
    struct drafting drafting = {
        .ranks = ranks, .lane_count = count_lanes(ranks), .arena = &scratch};
    size_t room = room_of(ranks);
    drafting.tasks = WEFT_NEW(&scratch, struct weft_task, room);
    drafting.before = WEFT_NEW_RAW(&scratch, uint32_t, edges_of(ranks));
    drafting.after = WEFT_NEW_RAW(&scratch, uint32_t, edges_of(ranks));
    add_all(&drafting, kinds[spec->kind], spec->size_bytes, add_barrier(&drafting));
    WEFT_ASSERT(drafting.task_count <= room);
    weft_task_connect(drafting.tasks, drafting.task_count, drafting.before, drafting.after,
                      drafting.edge_count, &scratch);
    uint32_t *places = WEFT_NEW_RAW(&scratch, uint32_t, rank_count);
    for (uint32_t i = 0; i < rank_count; i++) {
        places[i] = i;
    }
    return weft_taskgraph_build(graph,
                                &(struct weft_taskgraph_draft){.server_count = rank_count,
                                                               .device_count = rank_count,
                                                               .device_server = places,
                                                               .task_count = drafting.task_count,
                                                               .tasks = drafting.tasks},
                                arena, scratch, error);
}

// ---- the collectives of a job ----

// Where the members of a group stand: place s of a server, lane l in it.
struct standing {
    struct patterns_ranks ranks; // of the group
    const uint32_t *rank_of;     // [s * ranks.accelerators + l]; NULL: no levels for it
};

// The servers of a group in the order in which they come, with how many members each has; the most
// and the least of these.
struct servers {
    uint32_t *order;
    uint32_t count;
    uint32_t least;
    uint32_t most;
};

static struct servers list_servers(const struct weft_taskgraph *graph, uint32_t group, uint32_t a,
                                   struct weft_arena *arena)
{
    uint32_t n = graph->server_count / a + 1;
    uint32_t *held = WEFT_NEW(arena, uint32_t, n);
    struct servers servers = {.order = WEFT_NEW_RAW(arena, uint32_t, n), .least = UINT32_MAX};
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        uint32_t server = graph->group_members[i] / a;
        if (held[server]++ == 0) {
            servers.order[servers.count++] = server;
        }
    }
    for (uint32_t i = 0; i < servers.count; i++) {
        uint32_t own = held[servers.order[i]];
        servers.least = own < servers.least ? own : servers.least;
        servers.most = own > servers.most ? own : servers.most;
    }
    return servers;
}

static struct standing stand(const struct weft_taskgraph *graph, uint32_t group,
                             const struct patterns_ranks *all, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    uint32_t a = all->accelerators;
    const struct servers servers = list_servers(graph, group, a, &scratch);
    struct standing standing = {.ranks = *all, .rank_of = NULL};
    bool whole = servers.count == all->servers;
    standing.ranks.accelerators = servers.most;
    if (!whole) {
        standing.ranks.servers = servers.count;
        standing.ranks.dimensions = 1;
        standing.ranks.sides[0] = servers.count;
        standing.ranks.ways = all->cycle_count > 0 ? 1 : all->ways;
        standing.ranks.cycle_count = 0;
    }
    if (servers.count < 2 || servers.least != servers.most || count_lanes(&standing.ranks) == 1) {
        return standing;
    }
    bool *is_member = WEFT_NEW(&scratch, bool, graph->server_count);
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        is_member[graph->group_members[i]] = true;
    }
    uint32_t *rank_of = WEFT_NEW_RAW(arena, uint32_t, (size_t)servers.count * servers.most);
    uint32_t at = 0;
    for (uint32_t s = 0; s < servers.count; s++) {
        uint32_t first = (whole ? s : servers.order[s]) * a;
        for (uint32_t rank = first; rank < first + a && rank < graph->server_count; rank++) {
            if (is_member[rank]) {
                rank_of[at++] = rank;
            }
        }
    }
    standing.rank_of = rank_of;
    return standing;
}

// Where a task's members stand; NULL: it keeps its ring, or has none.
static const struct standing *standing_of(const struct weft_taskgraph *graph, uint32_t task,
                                          const struct standing *standings)
{
    bool sends = weft_task_is_collective(graph, task) && graph->size_bytes[task] > 0;
    const struct standing *standing = sends ? &standings[graph->group[task]] : NULL;
    return standing != NULL && standing->rank_of != NULL ? standing : NULL;
}

static const struct standing *stand_all(const struct weft_taskgraph *graph,
                                        const struct patterns_ranks *ranks,
                                        struct weft_arena *arena, struct weft_arena scratch)
{
    struct standing *standings =
        WEFT_NEW_RAW(arena, struct standing, (size_t)graph->group_count + 1);
    for (uint32_t group = 0; group < graph->group_count; group++) {
        standings[group] = stand(graph, group, ranks, arena, scratch);
    }
    return standings;
}

// Room for the graph's own tasks and edges, and for those of its collectives. False, and nothing
// reserved, where none of them changes.
static bool reserve(struct drafting *drafting, size_t *room, const struct weft_taskgraph *graph,
                    const struct standing *standings)
{
    size_t tasks = graph->task_count;
    size_t edges = graph->next_first[graph->task_count];
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const struct standing *standing = standing_of(graph, task, standings);
        if (standing != NULL) {
            tasks += room_of(&standing->ranks);
            edges += edges_of(&standing->ranks);
        }
    }
    *room = tasks;
    if (tasks == graph->task_count || tasks > SPREAD_TASKS_MAX) {
        return tasks > graph->task_count;
    }
    drafting->tasks = WEFT_NEW(drafting->arena, struct weft_task, tasks);
    drafting->before = WEFT_NEW_RAW(drafting->arena, uint32_t, edges + 1);
    drafting->after = WEFT_NEW_RAW(drafting->arena, uint32_t, edges + 1);
    return true;
}

// The graph's tasks keep their numbers; what follows a collective waits for the end of its levels.
static void spread_tasks(struct drafting *drafting, const struct weft_taskgraph *graph,
                         const struct standing *standings)
{
    drafting->task_count = graph->task_count;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const struct standing *standing = standing_of(graph, task, standings);
        struct weft_task *own = &drafting->tasks[task];
        *own = weft_taskgraph_task(graph, task);
        uint32_t end = task;
        if (standing != NULL) {
            drafting->ranks = &standing->ranks;
            drafting->rank_of = standing->rank_of;
            drafting->lane_count = count_lanes(&standing->ranks);
            end = add_all(drafting, own->kind, own->size_bytes, task);
            own->size_bytes = 0;
        }
        for (uint32_t i = 0; i < own->next_count; i++) {
            add_edge(drafting, end, own->next[i]);
        }
        own->next_count = 0;
    }
}

bool levels_spread(const struct weft_taskgraph **spread, const struct weft_taskgraph *graph,
                   const struct patterns_ranks *ranks, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct drafting drafting = {.arena = &kept};
    const struct standing *standings = stand_all(graph, ranks, &kept, scratch);
    size_t room;
    if (!reserve(&drafting, &room, graph, standings)) {
        *spread = graph;
        return true;
    }
    if (room > SPREAD_TASKS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "collectives over accelerators come to %zu tasks, more than %u; play "
                         "fewer of them",
                         room, SPREAD_TASKS_MAX);
    }
    spread_tasks(&drafting, graph, standings);
    weft_task_connect(drafting.tasks, drafting.task_count, drafting.before, drafting.after,
                      drafting.edge_count, &kept);
    struct weft_taskgraph *built = WEFT_NEW(arena, struct weft_taskgraph, 1);
    *spread = built;
    return weft_taskgraph_build(
        built,
        &(struct weft_taskgraph_draft){.server_count = graph->server_count,
                                       .device_count = graph->device_count,
                                       .device_server = graph->device_server,
                                       .task_count = drafting.task_count,
                                       .tasks = drafting.tasks},
        arena, scratch, error);
}
