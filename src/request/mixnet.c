// SPDX-License-Identifier: Apache-2.0
// A model with experts on circuits beside packets, rate by rate: the planner's iteration, the same
// with the published choice of circuits, the Fat-tree and rails of the same ports, and prices.

#include "weft/request/mixnet.h"
#include "request/plan/strategy.h"
#include "weft/format.h"
#include "weft/plan.h"

#include <string.h>

#define GBPS 125e6
#define SERVERS 128u
#define NICS 8u
#define ACCELERATORS 8u
#define ACCELERATOR "H800"

// Normalized iterations of the project site of MixNet (SIGCOMM 2025), 1,024 GPUs; LLaMA-MoE stands
// there where the paper prints DeepSeek-R1.
static const struct weft_mixnet_published published[] = {
    {"mixtral-8x22b", 100 * GBPS, 1.374, 1.454, 1.361, 2.697},
    {"mixtral-8x22b", 200 * GBPS, 1.194, 1.201, 1.163, 1.976},
    {"mixtral-8x22b", 400 * GBPS, 1.082, 1.114, 1.096, 1.575},
    {"mixtral-8x22b", 800 * GBPS, 1.024, 1.013, 1.000, 1.267},
    {"mixtral-8x7b", 100 * GBPS, 1.210, 1.249, 1.189, 2.273},
    {"mixtral-8x7b", 200 * GBPS, 1.079, 1.098, 1.057, 1.625},
    {"mixtral-8x7b", 400 * GBPS, 1.030, 1.031, 1.013, 1.268},
    {"mixtral-8x7b", 800 * GBPS, 1.000, 1.001, 1.000, 1.143},
    {"llama-moe", 100 * GBPS, 3.932, 5.010, 5.314, 9.531},
    {"llama-moe", 200 * GBPS, 2.188, 2.727, 2.932, 5.737},
    {"llama-moe", 400 * GBPS, 1.346, 1.599, 1.675, 3.981},
    {"llama-moe", 800 * GBPS, 1.000, 1.192, 1.124, 2.303},
    {"qwen-moe", 100 * GBPS, 5.094, 6.174, 6.110, 7.775},
    {"qwen-moe", 200 * GBPS, 2.730, 3.205, 3.238, 4.553},
    {"qwen-moe", 400 * GBPS, 1.563, 1.764, 1.830, 2.802},
    {"qwen-moe", 800 * GBPS, 1.000, 1.053, 1.155, 1.789},
};

const struct weft_mixnet_published *weft_mixnet_published_at(const char *model, double rate_Bps)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        if (strcmp(published[i].model, model) == 0 && published[i].rate_Bps == rate_Bps) {
            return &published[i];
        }
    }
    return NULL;
}

// Degrees of the four models: expert, tensor and pipeline parallelism of Mixtral 8x7B and the
// groups of 16 of the other two are MixNet's; the rest is ours, so that regions have four and eight
// servers and everything fits into 80 GB.
static const struct {
    const char *model, *degrees;
} strategies[] = {
    {"mixtral-8x22b", "tp=8,pp=8,ep=8,micro=8,recompute=full"},
    {"mixtral-8x7b", "tp=4,pp=4,ep=8,micro=8,recompute=full"},
    {"llama-moe", "tp=4,ep=16,micro=8"},
    {"qwen-moe", "tp=4,ep=16,micro=8"},
};

static const char *degrees_of(const struct weft_mixnet_request *request)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        if (request->strategy == NULL && strcmp(strategies[i].model, request->model) == 0) {
            return strategies[i].degrees;
        }
    }
    return request->strategy;
}

// The cluster of the file, or servers as the paper's.
static bool find_cluster(struct weft_cluster *cluster, const struct weft_mixnet_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_request_cluster_need need = {.server_count = 1, .bought = true};
    const bool file = request->cluster_path != NULL;
    const struct weft_request_hardware hardware = {
        .cluster_path = request->cluster_path,
        .server_count = request->server_count > 0 ? request->server_count
                        : file                    ? 0
                                                  : SERVERS,
        .degree = file ? 0 : NICS,
        .rate_Bps = 100 * GBPS,
        .rate_given = !file,
        .host_given = !file, // no limit
    };
    if (!weft_request_cluster(cluster, &hardware, &need, environment)) {
        return false;
    }
    if (!file) {
        cluster->accelerators_per_server = ACCELERATORS;
        cluster->accelerator = ACCELERATOR;
        cluster->accelerator_memory_bytes = 80e9;
    }
    return true;
}

// What stays the same at all rates.
struct asking {
    const struct weft_mixnet_request *request;
    struct weft_request_environment *environment;
    struct weft_mixnet_options options;
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    struct weft_strategy strategy;
};

static struct weft_study study_of(const struct asking *asking)
{
    return (struct weft_study){
        .model = &asking->model, .cluster = &asking->cluster, .setting = &asking->setting};
}

// Reads what the request names, and a strategy: given, published, or the planner's at this rate.
static bool prepare(struct asking *asking)
{
    const struct weft_mixnet_request *request = asking->request;
    const struct weft_environment *base = &asking->environment->base;
    const struct weft_request_job job = {.model = request->model, .batch = request->batch};
    asking->options = request->options;
    if (!weft_request_job_model(&asking->model, &job, asking->environment) ||
        !find_cluster(&asking->cluster, request, asking->environment) ||
        !weft_request_setting(&asking->setting, &job, &asking->model, &asking->cluster,
                              request->cluster_path, asking->environment)) {
        return false;
    }
    if (request->trace_path != NULL) {
        struct weft_expert_trace *trace = WEFT_NEW(base->arena, struct weft_expert_trace, 1);
        if (!weft_experts_load(trace, request->trace_path, base->arena, base->scratch,
                               base->error)) {
            return false;
        }
        asking->options.trace = trace;
    }
    const struct weft_study study = study_of(asking);
    const char *degrees = degrees_of(request);
    if (degrees != NULL) {
        return weft_request_hybrid(&asking->strategy, &study, degrees, base->error);
    }
    struct weft_moving_plan plan;
    const struct weft_moving_options moving = {.delays = request->delays};
    if (!weft_mixnet_plan(&plan, &study, &asking->options, &moving, base)) {
        return false;
    }
    asking->strategy = plan.strategy;
    return true;
}

static bool iterate(struct weft_mixnet_iteration *iteration, const struct asking *asking,
                    const struct weft_mixnet_options *options)
{
    const struct weft_study study = study_of(asking);
    return weft_mixnet_iterate(iteration, &asking->strategy.hybrid, &study, options,
                               &asking->request->delays, &asking->environment->base);
}

// Rails on leaves and spines, whose routes the exchanges share.
static bool iterate_rails(struct weft_mixnet_row *row, const struct asking *asking)
{
    const struct weft_environment *base = &asking->environment->base;
    struct weft_environment inner = *base;
    struct weft_arena found = weft_arena_split(&inner.scratch);
    inner.arena = &found;
    struct weft_network network;
    const struct weft_fabric_options shape = {.seed = base->seed};
    struct weft_study study = study_of(asking);
    study.network = &network;
    return weft_fabric_build_named(&network, "leaf-spine", &asking->cluster, &shape, &inner) &&
           weft_mixnet_iterate_on(&row->rail_s, &asking->strategy.hybrid, &study, &row->weft,
                                  inner.scratch, base->error);
}

static bool fill_row(struct weft_mixnet_row *row, struct asking *asking, double rate_Bps)
{
    struct weft_mixnet_options greedy = asking->options;
    greedy.published = true;
    greedy.first = WEFT_FIRST_KEEP;
    greedy.fault = WEFT_FAULT_NONE;
    weft_request_set_rate(&asking->cluster, rate_Bps, asking->environment);
    row->rate_Bps = rate_Bps;
    if (!iterate(&row->weft, asking, &asking->options) || !iterate(&row->greedy, asking, &greedy) ||
        !iterate_rails(row, asking)) {
        return false;
    }
    uint32_t ports = asking->options.circuit_ports > 0 ? asking->options.circuit_ports : 6;
    const struct weft_price_book *prices = &asking->cluster.prices;
    struct weft_parts fat = weft_mixnet_parts(&asking->cluster, 0);
    struct weft_parts circuits = weft_mixnet_parts(&asking->cluster, ports);
    row->price_ratio =
        weft_fabric_cost(&fat, prices).total_usd / weft_fabric_cost(&circuits, prices).total_usd;
    row->value_ratio = row->price_ratio * row->weft.fat_s / row->weft.iteration_s;
    row->published = weft_mixnet_published_at(asking->model.name, rate_Bps);
    return true;
}

static bool fill_variants(struct weft_mixnet_result *result, struct asking *asking)
{
    struct weft_arena *arena = asking->environment->base.arena;
    struct weft_mixnet_options options = asking->options;
    if (asking->request->all_first) {
        struct weft_mixnet_iteration *firsts =
            WEFT_NEW(arena, struct weft_mixnet_iteration, WEFT_FIRST_COUNT);
        for (uint32_t f = 0; f < WEFT_FIRST_COUNT; f++) {
            options.first = (enum weft_mixnet_first)f;
            if (!iterate(&firsts[f], asking, &options)) {
                return false;
            }
        }
        result->firsts = firsts;
    }
    options = asking->options;
    if (asking->request->faults) {
        struct weft_mixnet_iteration *faults =
            WEFT_NEW(arena, struct weft_mixnet_iteration, WEFT_FAULT_COUNT);
        for (uint32_t f = 0; f < WEFT_FAULT_COUNT; f++) {
            options.fault = (enum weft_mixnet_fault)f;
            if (!iterate(&faults[f], asking, &options)) {
                return false;
            }
        }
        result->faults = faults;
    }
    return true;
}

#define PLAY_S 5.0 // of processor time, in packets
#define PACKET_BYTES 4160u
#define HEADER_BYTES 64u

// All-to-alls of the first stage's first micro-batch in an engine, with the rates of the last row.
static bool play(struct weft_mixnet_result *result, const struct asking *asking)
{
    struct weft_request_environment *environment = asking->environment;
    const struct weft_environment *base = &environment->base;
    const struct weft_mixnet_row *row = &result->rows[result->row_count - 1];
    const struct weft_mixnet_replay *replay = &row->weft.replay;
    result->engine = asking->request->engine;
    if (replay->turn_count == 0) {
        weft_request_note(environment,
                          "groups of experts lie inside one server: nothing is played");
        return true;
    }
    bool packets = result->engine == WEFT_ENGINE_PACKET;
    const struct weft_mixnet_sequence sequence = {
        .node_count = replay->node_count,
        .first = replay->wirings[0].circuits,
        .turn_count = replay->turn_count,
        .turns = replay->turns,
        .ports = replay->ports,
        .rate_Bps = row->rate_Bps,
        .delays = asking->request->delays,
        .packets_max =
            environment->goes_on ? 0 : PLAY_S * weft_request_packets_per_s(replay->node_count),
    };
    const struct weft_sim_options sim = {
        .engine = result->engine,
        .packet_bytes = packets ? PACKET_BYTES : 0,
        .header_bytes = packets ? HEADER_BYTES : 0,
        .transport = packets ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_IDEAL,
        .dctcp = WEFT_DCTCP_DEFAULTS,
        .progress = &environment->progress.simulation,
        .stop = base->stop,
    };
    struct weft_mixnet_played *played = WEFT_NEW(base->arena, struct weft_mixnet_played, 1);
    weft_request_step_begin(environment, "simulating", NULL);
    bool fine = weft_mixnet_play(played, &sequence, &sim, base);
    weft_request_step_end(environment);
    result->played = played;
    return fine;
}

// The loads that a row played, as a file.
static bool save_trace(const struct asking *asking, const struct weft_mixnet_iteration *iteration)
{
    const struct weft_environment *base = &asking->environment->base;
    const struct weft_mixnet_options *options = &asking->options;
    struct weft_arena scratch = base->scratch;
    struct weft_arena found = weft_arena_split(&scratch);
    struct weft_arena text = weft_arena_split(&scratch);
    const struct weft_expert_law law = {asking->model.transformer->experts,
                                        iteration->exchange.layers,
                                        iteration->exchange.ranks,
                                        options->steps,
                                        options->skew,
                                        options->drift,
                                        base->seed};
    struct weft_expert_trace trace;
    weft_experts_generate(&trace, &law, &found, scratch);
    const char *data = weft_experts_write(&trace, &text);
    return weft_file_save(asking->request->save_path, data, strlen(data), base->error);
}

bool weft_request_mixnet(struct weft_mixnet_result *result,
                         const struct weft_mixnet_request *request,
                         struct weft_request_environment *environment)
{
    static const double usual[] = {100 * GBPS, 200 * GBPS, 400 * GBPS, 800 * GBPS};
    const struct weft_environment *base = &environment->base;
    struct asking asking = {.request = request, .environment = environment};
    if (!prepare(&asking)) {
        return false;
    }
    uint32_t count = request->rate_count > 0 ? request->rate_count : 4;
    const double *rates_Bps = request->rate_count > 0 ? request->rates_Bps : usual;
    struct weft_mixnet_row *rows = WEFT_NEW(base->arena, struct weft_mixnet_row, count);
    for (uint32_t r = 0; r < count; r++) {
        if (!fill_row(&rows[r], &asking, rates_Bps[r])) {
            return false;
        }
    }
    struct weft_mixnet_result found = {
        .model = asking.model.name,
        .batch = asking.model.batch,
        .server_count = asking.cluster.server_count,
        .accelerators = asking.cluster.accelerators_per_server,
        .accelerator = asking.cluster.accelerator,
        .hybrid = asking.strategy.hybrid,
        .row_count = count,
        .rows = rows,
    };
    const struct weft_study study = study_of(&asking);
    uint32_t rank = 0;
    if (!weft_hybrid_memory(&found.memory, &rank, &found.hybrid, &study, base->error) ||
        !fill_variants(&found, &asking) || (request->plays && !play(&found, &asking)) ||
        (request->save_path != NULL && !save_trace(&asking, &rows[0].weft))) {
        return false;
    }
    *result = found;
    return true;
}
