// SPDX-License-Identifier: Apache-2.0
// Traffic in words as lists of flows, or as the tasks of a collective: a random cycle over all
// servers (Sattolo, "An algorithm to generate a random cyclic permutation", 1986), all pairs, or
// Poisson arrivals with exponential sizes between random pairs. One seed gives one list. O(flows).

#include "patterns.h"

#include <math.h>

static const uint64_t flows_max = 100000000;

struct lists {
    uint32_t *from;
    uint32_t *to;
    uint64_t *size_bytes;
    uint64_t *start_ps;
};

static struct lists new_lists(uint32_t count, struct weft_arena *arena)
{
    return (struct lists){
        .from = WEFT_NEW(arena, uint32_t, count),
        .to = WEFT_NEW(arena, uint32_t, count),
        .size_bytes = WEFT_NEW(arena, uint64_t, count),
        .start_ps = WEFT_NEW(arena, uint64_t, count),
    };
}

static void fill_permutation(struct lists *lists, const struct weft_flows_spec *spec, uint32_t n)
{
    struct weft_rng rng;
    weft_rng_init(&rng, spec->seed);
    for (uint32_t i = 0; i < n; i++) {
        lists->from[i] = i;
        lists->to[i] = i;
        lists->size_bytes[i] = spec->size_bytes;
    }
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = weft_rng_below(&rng, i);
        uint32_t swapped = lists->to[i];
        lists->to[i] = lists->to[j];
        lists->to[j] = swapped;
    }
}

static void fill_alltoall(struct lists *lists, const struct weft_flows_spec *spec, uint32_t n)
{
    uint32_t flow = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t step = 1; step < n; step++) {
            lists->from[flow] = i;
            lists->to[flow] = (i + step) % n;
            lists->size_bytes[flow] = spec->size_bytes;
            flow++;
        }
    }
}

static bool fill_poisson(struct lists *lists, const struct weft_flows_spec *spec, uint32_t n,
                         double host_rate_Bps, struct weft_error *error)
{
    struct weft_rng rng;
    weft_rng_init(&rng, spec->seed);
    double mean_bytes = (double)spec->size_bytes;
    double mean_gap_s = mean_bytes / (spec->load_ratio * n * host_rate_Bps);
    double start_s = 0;
    for (uint32_t i = 0; i < spec->count; i++) {
        start_s += weft_rng_exponential(&rng, mean_gap_s);
        double size_bytes = ceil(weft_rng_exponential(&rng, mean_bytes));
        lists->start_ps[i] = weft_picoseconds(start_s);
        lists->size_bytes[i] = size_bytes > 1 ? (uint64_t)size_bytes : 1;
        lists->from[i] = weft_rng_below(&rng, n);
        lists->to[i] = (lists->from[i] + 1 + weft_rng_below(&rng, n - 1)) % n;
    }
    if (start_s > 0x1p62 / (double)WEFT_PS_PER_S) {
        return weft_fail(error, WEFT_INPUT,
                         "the last flow would start after 53 days; use fewer or "
                         "smaller flows, or a faster host");
    }
    return true;
}

// Accelerators give those beside them what is for the others of their rail, from all servers'
// parts; theirs is among it.
static uint32_t fill_inside(struct lists *lists, const struct weft_flows_spec *spec,
                            const struct patterns_ranks *ranks)
{
    uint32_t a = ranks->accelerators;
    uint32_t flow = 0;
    for (uint32_t i = 0; i < ranks->servers * a; i++) {
        for (uint32_t step = 1; step < a; step++) {
            lists->from[flow] = i;
            lists->to[flow] = i / a * a + (i + step) % a;
            lists->size_bytes[flow] = spec->size_bytes * ranks->servers;
            flow++;
        }
    }
    return flow;
}

// Every accelerator sends to the others of its rail what its whole server has for them.
static void fill_rails(struct lists *lists, uint32_t flow, const struct weft_flows_spec *spec,
                       const struct patterns_ranks *ranks, uint64_t inside_ps)
{
    uint32_t a = ranks->accelerators;
    for (uint32_t i = 0; i < ranks->servers * a; i++) {
        for (uint32_t step = 1; step < ranks->servers; step++) {
            lists->from[flow] = i;
            lists->to[flow] = (i + step * a) % (ranks->servers * a);
            lists->size_bytes[flow] = spec->size_bytes * a;
            lists->start_ps[flow] = inside_ps;
            flow++;
        }
    }
}

static struct weft_flow_list as_flows(const struct lists *lists, uint64_t count)
{
    return (struct weft_flow_list){
        .count = (uint32_t)count,
        .from = lists->from,
        .to = lists->to,
        .size_bytes = lists->size_bytes,
        .start_ps = lists->start_ps,
    };
}

static bool check_count(uint64_t count, struct weft_error *error)
{
    return count <= flows_max ||
           weft_fail(error, WEFT_INPUT, "%llu flows are more than %llu; use fewer servers",
                     (unsigned long long)count, (unsigned long long)flows_max);
}

static bool is_by_rails(const struct weft_flows_spec *spec, const struct patterns_ranks *ranks)
{
    return spec->kind == WEFT_FLOWS_ALLTOALL && ranks->accelerators > 1;
}

bool patterns_have_inside(const struct weft_flows_spec *spec, const struct patterns_ranks *ranks)
{
    return is_by_rails(spec, ranks) && ranks->servers > 1;
}

bool patterns_build_inside(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                           const struct patterns_ranks *ranks, struct weft_arena *arena,
                           struct weft_error *error)
{
    WEFT_ASSERT(patterns_have_inside(spec, ranks));
    uint64_t count = (uint64_t)ranks->servers * ranks->accelerators * (ranks->accelerators - 1);
    if (!check_count(count, error)) {
        return false;
    }
    struct lists lists = new_lists((uint32_t)count, arena);
    fill_inside(&lists, spec, ranks);
    *flows = as_flows(&lists, count);
    return true;
}

bool patterns_build(struct weft_flow_list *flows, const struct weft_flows_spec *spec,
                    const struct patterns_ranks *ranks, uint64_t inside_ps,
                    struct weft_arena *arena, struct weft_error *error)
{
    uint64_t n = (uint64_t)ranks->servers * ranks->accelerators;
    WEFT_ASSERT(n >= 2 && !weft_flows_reduce(spec->kind));
    bool by_rails = is_by_rails(spec, ranks);
    uint64_t peers = by_rails ? ranks->servers - 1 + ranks->accelerators - 1 : n - 1;
    uint64_t count = spec->kind == WEFT_FLOWS_PERMUTATION ? n
                     : spec->kind == WEFT_FLOWS_ALLTOALL  ? n * peers
                                                          : spec->count;
    if (!check_count(count, error)) {
        return false;
    }
    struct lists lists = new_lists((uint32_t)count, arena);
    if (by_rails) {
        uint32_t flow = fill_inside(&lists, spec, ranks);
        fill_rails(&lists, flow, spec, ranks, inside_ps);
    } else if (spec->kind == WEFT_FLOWS_PERMUTATION) {
        fill_permutation(&lists, spec, (uint32_t)n);
    } else if (spec->kind == WEFT_FLOWS_ALLTOALL) {
        fill_alltoall(&lists, spec, (uint32_t)n);
    } else if (!fill_poisson(&lists, spec, (uint32_t)n,
                             ranks->server_rate_Bps / ranks->accelerators, error)) {
        return false;
    }
    *flows = as_flows(&lists, count);
    return true;
}

// ---- collectives ----

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
        members[i] = first + (tour->cycle != NULL ? tour->cycle[place] : place) * tour->step;
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
static void add_all(struct drafting *drafting, enum weft_task_kind kind, uint64_t size_bytes)
{
    const struct patterns_ranks *ranks = drafting->ranks;
    uint32_t barrier = add_barrier(drafting);
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
        add_level(drafting, &inside, 0, barrier);
    }
}

bool patterns_build_collective(struct weft_taskgraph *graph, const struct weft_flows_spec *spec,
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
    // Per lane and level the groups of a dimension and a barrier, and twice the servers' insides.
    uint32_t shortest = ranks->servers;
    for (uint32_t i = 0; i < ranks->dimensions; i++) {
        shortest = ranks->sides[i] < shortest ? ranks->sides[i] : shortest;
    }
    size_t groups = ranks->servers / shortest + 1;
    size_t room = (2 * ranks->dimensions - 1) * groups * drafting.lane_count;
    room += 2 * ((size_t)ranks->servers + 1) + 2;
    drafting.tasks = WEFT_NEW(&scratch, struct weft_task, room);
    drafting.before = WEFT_NEW_RAW(&scratch, uint32_t, 2 * room + drafting.lane_count);
    drafting.after = WEFT_NEW_RAW(&scratch, uint32_t, 2 * room + drafting.lane_count);
    add_all(&drafting, kinds[spec->kind], spec->size_bytes);
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
