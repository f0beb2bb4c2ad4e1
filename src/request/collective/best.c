// SPDX-License-Identifier: Apache-2.0
// The quickest algorithm of a collective by size: by the closed forms of the alpha-beta model, or
// by schedules that an engine plays on a fabric (docs/collectives.md). Sizes double, or quadruple
// where they are played, since each then costs a run of every algorithm and sub-chunk factor.

#include "weft/format.h"
#include "weft/request/collective.h"

#include <math.h>
#include <string.h>

#define SIZES_MAX 64u
// Schedules of more transfers are not played: the ranking of all sizes would take minutes.
#define TRANSFERS_MAX (1u << 18)
// The largest sub-chunk factors that are tried; not measured beyond.
#define CLOSED_FACTOR_MAX 1024u
#define PLAYED_FACTOR_MAX 64u

const char *weft_best_engine_name(enum weft_best_engine engine)
{
    static const char *const names[] = {
        [WEFT_BEST_CLOSED] = "closed", [WEFT_BEST_FLOW] = "flow", [WEFT_BEST_PACKET] = "packet"};
    return names[engine];
}

// The rings of the first group of all servers.
static void take_rings(struct weft_algorithm_options *options, const struct weft_ring_set *set,
                       uint32_t server_count)
{
    uint32_t first = 0;
    while (first < set->ring_count && set->rings[first].member_count != server_count) {
        first++;
    }
    options->rings = first < set->ring_count ? set->rings + first : NULL;
    while (first + options->ring_count < set->ring_count &&
           set->rings[first + options->ring_count].group == set->rings[first].group) {
        options->ring_count++;
    }
}

// One switch whose paths take what a message does.
static bool use_switch(struct weft_best_result *best, const struct weft_request_hardware *hardware,
                       const struct weft_environment *base)
{
    struct weft_network *network = WEFT_NEW(base->arena, struct weft_network, 1);
    struct weft_cluster cluster;
    if (!weft_cluster_build(&cluster, best->question.options.rank_count, 1, hardware->rate_Bps,
                            base->error)) {
        return false;
    }
    cluster.latency_ps = hardware->latency_ps / 2;
    best->question.network = network;
    return weft_fabric_build_ideal(network, &cluster, NULL, base->arena, base->error);
}

// The network of the fabric that is named, whose servers are the ranks; a torus' sides and a plan's
// rings become options of the algorithms that can use them.
static bool use_fabric(struct weft_best_result *best, const struct weft_best_request *request,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_algorithm_options *options = &best->question.options;
    const struct weft_network *network = NULL;
    uint32_t requested = options->rank_count;
    const struct weft_request_fabric wanted = {.specification = request->fabric,
                                               .hardware = &request->hardware,
                                               .server_count = requested,
                                               .shape = {.seed = base->seed},
                                               .one_path = best->engine == WEFT_BEST_PACKET};
    if (!weft_request_network(&network, &wanted, environment)) {
        return false;
    }
    options->rank_count = network->fabric.server_count;
    if (requested > 0 && requested != options->rank_count) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{ranks}: the fabric has %u servers, not %u; give one of the two",
                         options->rank_count, requested);
    }
    struct weft_fabric_specification named;
    if (strncmp(request->fabric, "torus", 5) == 0 &&
        weft_fabric_specification_parse(&named, request->fabric, base->arena, base->error)) {
        memcpy(options->shape, named.sides, sizeof options->shape);
    }
    take_rings(options, &network->rings, options->rank_count);
    best->question.network = network;
    return true;
}

// Closed forms on a fabric: what a rank has of it without others in its way.
static void set_model(struct weft_best_result *best, const struct weft_best_request *request)
{
    const struct weft_network *network = best->question.network;
    struct weft_cost_model *model = &best->question.model;
    const struct weft_request_hardware *hardware = &request->hardware;
    if (request->fabric == NULL) {
        *model = (struct weft_cost_model){.alpha_s = weft_seconds(hardware->latency_ps),
                                          .beta_s_per_byte = 1 / hardware->rate_Bps};
        return;
    }
    const struct weft_fabric *fabric = &network->fabric;
    double rate_Bps = 0;
    uint64_t latency_ps = 0;
    for (uint32_t e = fabric->first[0]; e < fabric->first[1]; e++) {
        rate_Bps += fabric->links[e].rate_Bps;
        latency_ps = fabric->links[e].latency_ps;
    }
    uint32_t hops = fabric->node_count > fabric->server_count ? 2 : 1;
    *model = (struct weft_cost_model){.alpha_s = hops * weft_seconds(latency_ps),
                                      .beta_s_per_byte = 1 / rate_Bps};
}

// Chooses what the schedules are played on, and by which engine: a fabric that is named, one switch
// for a rate and a latency that are given, or nothing for closed forms.
static bool set_network(struct weft_best_result *best, const struct weft_best_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_collective_question *question = &best->question;
    if (request->fabric != NULL) {
        if (!request->engine_given) {
            best->engine = WEFT_BEST_FLOW;
        } else if (best->engine == WEFT_BEST_CLOSED) {
            return weft_fail(base->error, WEFT_USAGE,
                             "closed forms know no fabric; leave out {fabric} or write "
                             "{engine=flow}");
        }
        if (!use_fabric(best, request, environment)) {
            return false;
        }
    } else if (request->hardware.cluster_path != NULL || request->hardware.degree > 0 ||
               request->hardware.server_count > 0 || request->hardware.host_given ||
               request->hardware.balance_given) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{cluster}, {servers}, {degree}, {host-rate} and {balance} are of a "
                         "{fabric}; without one write {ranks}, {rate} and {latency}");
    } else {
        const char *missing = question->options.rank_count == 0 ? "ranks"
                              : !(request->hardware.rate_given && request->hardware.rate_Bps > 0)
                                  ? "rate"
                              : !request->hardware.latency_given ? "latency"
                                                                 : NULL;
        if (missing != NULL) {
            return weft_fail(base->error, WEFT_USAGE, "{%s} is missing or 0", missing);
        }
        if (best->engine != WEFT_BEST_CLOSED && question->options.rank_count > 1 &&
            !use_switch(best, &request->hardware, base)) {
            return false;
        }
    }
    set_model(best, request);
    if (best->engine == WEFT_BEST_PACKET) {
        question->sim = weft_request_task_packets(base->seed);
        question->sim.engine = WEFT_ENGINE_PACKET;
        question->sim.transport = WEFT_TRANSPORT_RENO;
        question->sim.packet = &weft_collective_packets;
    }
    question->sim.seed = question->seed = base->seed;
    question->threads = base->threads;
    question->transfers_max = TRANSFERS_MAX;
    if (question->chunk_factor_max == 0) {
        question->chunk_factor_max =
            best->engine == WEFT_BEST_CLOSED ? CLOSED_FACTOR_MAX : PLAYED_FACTOR_MAX;
    }
    return true;
}

// What no algorithm is below, played in packets by all that take part: 16 ranks, 1 KiB to 4 GiB (19
// million packets for each algorithm at least), took 33 s, and 64 (81 million) 166 s.
static bool afford(const struct weft_best_result *best, const uint64_t *sizes,
                   struct weft_request_environment *environment)
{
    const struct weft_sim_options *sim = &best->question.sim;
    const struct weft_algorithm_options *options = &best->question.options;
    double passes = options->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
    double bytes = 0;
    for (uint32_t i = 0; i < best->count; i++) {
        bytes += passes * (options->rank_count - 1.0) * (double)sizes[i];
    }
    if (best->engine != WEFT_BEST_PACKET) {
        return true;
    }
    const struct weft_request_cost cost = {
        .things = "packets for each algorithm",
        .count = bytes / (sim->packet_bytes - sim->header_bytes),
        .per_s = 5.5e5,
        .remedy = "take a smaller {size}, fewer ranks or {engine=flow}",
    };
    return weft_request_afford(&cost, environment);
}

// Ranks the algorithms for every size of the range.
static bool rank(struct weft_best_result *best, const struct weft_best_request *request,
                 struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    uint64_t sizes[SIZES_MAX];
    uint32_t factor = best->engine == WEFT_BEST_CLOSED ? 2 : 4;
    for (uint64_t size = request->size_low_bytes; size < request->size_high_bytes; size *= factor) {
        WEFT_ASSERT(best->count + 1 < SIZES_MAX);
        sizes[best->count++] = size;
    }
    sizes[best->count++] = request->size_high_bytes;
    if (!afford(best, sizes, environment)) {
        return false;
    }
    struct weft_collective_ranking *rankings =
        WEFT_NEW(base->arena, struct weft_collective_ranking, best->count);
    best->rankings = rankings;
    best->question.tally = &environment->progress.tally;
    weft_request_step_begin(environment, "ranking", "sizes");
    bool fine = weft_collective_rank(rankings, sizes, best->count, &best->question, base->error);
    weft_request_step_end(environment);
    return fine;
}

bool weft_request_best(struct weft_best_result *result, const struct weft_best_request *request,
                       struct weft_request_environment *environment)
{
    *result = (struct weft_best_result){.engine = request->engine};
    result->question.options = request->options;
    result->question.chunk_factor_max = request->chunk_factor_max;
    return weft_request_refuse_root(request->options.kind, request->options.root,
                                    environment->base.error) &&
           set_network(result, request, environment) && rank(result, request, environment);
}

// NCCL knows rings and, for all-reduce, double trees: the quicker of them by size.
const char *weft_request_best_tuner(const struct weft_best_result *result, struct weft_arena *arena)
{
    enum weft_collective_kind kind = result->question.options.kind;
    struct weft_nccl_choice *rows = WEFT_NEW(arena, struct weft_nccl_choice, result->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->count; i++) {
        const struct weft_collective_time *times = result->rankings[i].times;
        double ring_s = times[WEFT_ALGORITHM_RING].seconds;
        double tree_s = times[WEFT_ALGORITHM_DOUBLE_TREE].seconds;
        bool tree =
            kind == WEFT_COLLECTIVE_ALLREDUCE && tree_s >= 0 && (ring_s < 0 || tree_s < ring_s);
        const char *name = tree ? "tree" : "ring";
        if (count > 0 && strcmp(rows[count - 1].algorithm, name) == 0) {
            continue;
        }
        // Between two sizes the change is in their middle, as they grow by factors.
        uint64_t from = 0;
        if (count > 0) {
            from = (uint64_t)sqrt((double)result->rankings[i - 1].size_bytes *
                                  (double)result->rankings[i].size_bytes);
            rows[count - 1].size_max_bytes = from - 1;
        }
        rows[count++] = (struct weft_nccl_choice){
            .kind = kind,
            .size_min_bytes = from,
            .size_max_bytes = (uint64_t)1 << 40,
            .algorithm = name,
            .protocol = "simple",
            .channels = -1,
            .node_count = -1,
            .rank_count = (int32_t)result->question.options.rank_count,
            .pipe_ops = -1,
            .registered = -1,
        };
    }
    return weft_nccl_tuner_write(rows, count, arena);
}
