// SPDX-License-Identifier: Apache-2.0
// Which algorithm of a collective is the quickest for a size: by closed forms, or played.
//
// In the alpha-beta model every algorithm has a closed form, and a pipelined one is tried with a
// few numbers of chunks. On a given fabric a schedule's links meet, so that it is lowered to
// transfers and played by an engine; only numbers of chunks about the closed form's best are tried.
// The bound beside them is what no schedule is below: bytes through the best connected port, and
// the latency of the last of them (docs/collectives.md). O(sizes * algorithms * plays).

#include "weft/plan.h"

#include <math.h>

const struct weft_packet_options weft_collective_packets = {
    .ack_at_once = true,
    .window.initial_packets = 1u << 16,
    .window.limit_packets = 1u << 16,
    .buffer_bytes = 1ull << 40,
    .mark_bytes = 1ull << 40,
    .loss.timeout_min_ps = WEFT_PS_PER_S,
    .loss.timeout_first_ps = WEFT_PS_PER_S,
    .loss.reorder_packets = 1u << 30,
};

// Synthesis tries so many sub-chunk factors: 1, 2, 4.
#define SYNTHESIS_FACTOR_MAX 4u

struct ranking_work {
    struct weft_collective_ranking *rankings;
    const struct weft_collective_question *question;
};

// Whether more chunks change what an algorithm takes.
static bool is_pipelined(enum weft_algorithm algorithm, enum weft_collective_kind kind)
{
    bool rooted = kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE;
    return algorithm == WEFT_ALGORITHM_BINARY_TREE || algorithm == WEFT_ALGORITHM_DOUBLE_TREE ||
           algorithm == WEFT_ALGORITHM_STRAGGLAR || (algorithm == WEFT_ALGORITHM_RING && rooted);
}

// 1, 2, 3, 4, 6, 8, 12, 16, ...
static uint32_t next_factor(uint32_t factor)
{
    bool power = (factor & (factor - 1)) == 0;
    return power && factor > 1 ? factor / 2 * 3 : power ? 2 * factor : factor / 3 * 4;
}

static struct weft_collective_time closed_time(const struct weft_collective_question *question,
                                               enum weft_algorithm algorithm, uint64_t size_bytes)
{
    struct weft_algorithm_options options = question->options;
    struct weft_collective_time best = {-1, 1};
    uint32_t most = is_pipelined(algorithm, options.kind) ? question->chunk_factor_max : 1;
    for (uint32_t factor = 1; factor <= most; factor = next_factor(factor)) {
        options.chunk_factor = factor;
        double seconds =
            weft_algorithm_seconds(algorithm, &options, (double)size_bytes, &question->model);
        if (seconds >= 0 && (best.seconds < 0 || seconds < best.seconds)) {
            best = (struct weft_collective_time){seconds, factor};
        }
    }
    return best;
}

// ---- played ----

bool weft_collective_play(double *seconds, const struct weft_schedule *schedule,
                          uint64_t size_bytes, const struct weft_network *network,
                          const struct weft_sim_options *sim,
                          const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    struct weft_arena kept = weft_arena_split(&scratch);
    const struct weft_lower_options lower = {.size_bytes = size_bytes,
                                             .server_count = network->fabric.server_count};
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    const struct weft_sim_job job = {.graph = &graph};
    if (!weft_schedule_lower(&graph, schedule, &lower, &kept, scratch, error) ||
        !weft_sim_run_jobs(
            &result, network, &job, 1, sim,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = error})) {
        return false;
    }
    *seconds = weft_seconds(result.iteration_ps[0]);
    return true;
}

// One schedule that is played.
struct contender {
    enum weft_algorithm algorithm;
    uint32_t chunk_factor;
    uint64_t size_bytes;
};

static bool make_schedule(struct weft_schedule *schedule,
                          const struct weft_collective_question *question,
                          const struct contender *contender, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    struct weft_error error; // it cannot: then it does not take part
    struct weft_algorithm_options options = question->options;
    options.chunk_factor = contender->chunk_factor;
    if (contender->algorithm != WEFT_ALGORITHM_SYNTHESIZE) {
        return weft_algorithm_build(schedule, contender->algorithm, &options, arena, scratch,
                                    &error);
    }
    const struct weft_synthesis_options synthesis = {.kind = options.kind,
                                                     .size_bytes = contender->size_bytes,
                                                     .chunk_factor = contender->chunk_factor,
                                                     .root = options.root,
                                                     .seed = question->seed};
    struct weft_synthesis made;
    if (!weft_synthesize(&made, &question->network->fabric, &synthesis, arena, scratch, &error)) {
        return false;
    }
    *schedule = made.schedule;
    return true;
}

static void try_factor(struct weft_collective_time *best,
                       const struct weft_collective_question *question,
                       enum weft_algorithm algorithm, uint32_t factor, uint64_t size_bytes,
                       struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    const struct contender contender = {algorithm, factor, size_bytes};
    struct weft_schedule schedule;
    struct weft_error error;
    const struct weft_environment environment = {.scratch = scratch, .error = &error};
    double seconds;
    if (make_schedule(&schedule, question, &contender, &kept, scratch) &&
        weft_schedule_transfer_count(&schedule) <= question->transfers_max &&
        weft_collective_play(&seconds, &schedule, size_bytes, question->network, &question->sim,
                             &environment) &&
        (best->seconds < 0 || seconds < best->seconds)) {
        *best = (struct weft_collective_time){seconds, factor};
    }
}

// Every pair of ranks times a chunk for each is more than synthesis is worth.
static bool affords_synthesis(const struct weft_collective_question *question, uint32_t factor)
{
    uint64_t n = question->options.rank_count;
    return n * n * factor <= question->transfers_max;
}

static struct weft_collective_time played_time(const struct weft_collective_question *question,
                                               enum weft_algorithm algorithm, uint64_t size_bytes,
                                               struct weft_arena scratch)
{
    struct weft_collective_time best = {-1, 1};
    enum weft_collective_kind kind = question->options.kind;
    if (algorithm == WEFT_ALGORITHM_SYNTHESIZE) {
        for (uint32_t factor = 1;
             factor <= SYNTHESIS_FACTOR_MAX && affords_synthesis(question, factor); factor *= 2) {
            try_factor(&best, question, algorithm, factor, size_bytes, scratch);
        }
        return best;
    }
    uint32_t factor = closed_time(question, algorithm, size_bytes).chunk_factor;
    try_factor(&best, question, algorithm, factor, size_bytes, scratch);
    if (is_pipelined(algorithm, kind)) {
        if (factor > 1) {
            try_factor(&best, question, algorithm, factor / 2, size_bytes, scratch);
        }
        if (2 * factor <= question->chunk_factor_max) {
            try_factor(&best, question, algorithm, 2 * factor, size_bytes, scratch);
        }
    }
    return best;
}

// ---- what no schedule is below ----

// Least latency between two servers, or from a server to a switch and on.
static double shortest_s(const struct weft_fabric *fabric)
{
    uint64_t direct_ps = WEFT_NEVER;
    uint64_t up_ps = WEFT_NEVER;
    uint64_t down_ps = WEFT_NEVER;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *link = &fabric->links[e];
        bool from_server = link->from < fabric->server_count;
        bool to_server = link->to < fabric->server_count;
        uint64_t *least = from_server && to_server ? &direct_ps : from_server ? &up_ps : &down_ps;
        *least = link->latency_ps < *least ? link->latency_ps : *least;
    }
    bool switched = up_ps < WEFT_NEVER && down_ps < WEFT_NEVER;
    uint64_t over_ps = switched ? up_ps + down_ps : WEFT_NEVER;
    return weft_seconds(direct_ps < over_ps ? direct_ps : over_ps);
}

// On a fabric: the bytes through the ports of the best connected server, and the latency of the
// last of them to or from another server.
static double bound_of(const struct weft_collective_question *question, uint64_t size_bytes)
{
    const struct weft_network *network = question->network;
    const struct weft_algorithm_options *options = &question->options;
    struct weft_cost_model model = question->model;
    double latency_s = 0;
    if (network != NULL) {
        const struct weft_fabric *fabric = &network->fabric;
        double widest_Bps = 0;
        for (uint32_t s = 0; s < fabric->server_count; s++) {
            double rate_Bps = 0;
            for (uint32_t e = fabric->first[s]; e < fabric->first[s + 1]; e++) {
                rate_Bps += fabric->links[e].rate_Bps;
            }
            widest_Bps = fmax(widest_Bps, rate_Bps);
        }
        latency_s = shortest_s(fabric);
        model = (struct weft_cost_model){.beta_s_per_byte = 1 / widest_Bps};
    }
    return latency_s + weft_collective_bound_seconds(options->kind, options->rank_count,
                                                     (double)size_bytes, &model);
}

// By more than rounding.
static bool is_less(const struct weft_collective_ranking *ranking, double seconds,
                    enum weft_algorithm than)
{
    return than == WEFT_ALGORITHM_COUNT || seconds < ranking->times[than].seconds * (1 - 1e-9);
}

// Fills the ranking of one size: its bound, what each algorithm takes, the best and the second.
static void rank_size(void *context, uint32_t index, struct weft_arena scratch)
{
    const struct ranking_work *work = context;
    const struct weft_collective_question *question = work->question;
    struct weft_collective_ranking *ranking = &work->rankings[index];
    enum weft_collective_kind kind = question->options.kind;
    ranking->bound_s = bound_of(question, ranking->size_bytes);
    ranking->best = ranking->second = WEFT_ALGORITHM_COUNT;
    for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        struct weft_collective_time *time = &ranking->times[a];
        *time = (struct weft_collective_time){-1, 1};
        if (!weft_algorithm_supports(a, kind) || a == WEFT_ALGORITHM_PACKED_TREES ||
            a == WEFT_ALGORITHM_RECURSIVE_EXCHANGE) {
            continue; // these are for what else a plan's network carries, and for several circuits
        }
        *time = question->network == NULL ? closed_time(question, a, ranking->size_bytes)
                                          : played_time(question, a, ranking->size_bytes, scratch);
        if (time->seconds < 0) {
            continue;
        }
        if (is_less(ranking, time->seconds, ranking->best)) {
            ranking->second = ranking->best;
            ranking->best = a;
        } else if (is_less(ranking, time->seconds, ranking->second)) {
            ranking->second = a;
        }
    }
    weft_tally_add(work->question->tally, 1);
}

bool weft_collective_rank(struct weft_collective_ranking *rankings, const uint64_t *sizes_bytes,
                          uint32_t size_count, const struct weft_collective_question *question,
                          struct weft_error *error)
{
    if (question->options.rank_count < 2) {
        return weft_fail(error, WEFT_INPUT, "a collective takes at least 2 ranks, not %u",
                         question->options.rank_count);
    }
    WEFT_ASSERT(question->network == NULL ||
                question->network->fabric.server_count == question->options.rank_count);
    for (uint32_t i = 0; i < size_count; i++) {
        rankings[i].size_bytes = sizes_bytes[i];
    }
    struct ranking_work work = {rankings, question};
    weft_tally_begin(question->tally, size_count);
    weft_parallel_for(size_count, question->threads, rank_size, &work);
    return true;
}
