// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_MIXNET_H
#define WEFT_REQUEST_MIXNET_H

// One model with experts on circuits beside packets, against Fat-trees of the same ports, at
// several rates.

#include "weft/plan/mixnet.h"
#include "weft/request.h"

WEFT_API_BEGIN

#define WEFT_MIXNET_RATES_MAX 16u

struct weft_mixnet_request {
    const char *model;        // of the zoo, or FILE.yaml
    const char *cluster_path; // NULL: servers of 8 H800 with 8 NICs, no limit by their hosts
    uint32_t server_count;    // 0: the cluster's, or 128
    uint64_t batch;           // 0: the model's own
    const char *strategy;     // degrees; NULL: the published ones of the four models, else searched
    double rates_Bps[WEFT_MIXNET_RATES_MAX]; // of a NIC
    uint32_t rate_count;                     // 0: 100, 200, 400 and 800 Gbps
    struct weft_mixnet_options options;      // its trace is read from trace_path
    const char *trace_path;                  // NULL: loads are generated
    const char *save_path;                   // those loads are written there; NULL: not
    struct weft_circuit_delays delays;
    bool all_first; // every way to prepare the first all-to-all, too
    bool faults;    // every fault, too
    bool plays;     // a micro-batch's all-to-alls at the last rate, in this engine
    enum weft_sim_engine engine;
};

// What the project site of the paper shows at a rate: iterations as multiples of one of them.
struct weft_mixnet_published {
    const char *model; // of the zoo
    double rate_Bps;
    double fat, mixnet, rail, topoopt;
};
// NULL: none is published.
const struct weft_mixnet_published *weft_mixnet_published_at(const char *model, double rate_Bps);

struct weft_mixnet_row {
    double rate_Bps;
    struct weft_mixnet_iteration weft, greedy; // and with the published choice of circuits
    double rail_s;                             // leaf-spine of rails, flows by hash or evenly
    double price_ratio;                        // Fat-tree over circuits beside packets
    double value_ratio;                        // performance a dollar, over the Fat-tree's
    const struct weft_mixnet_published *published;
};
struct weft_mixnet_result {
    const char *model;
    uint64_t batch;
    uint32_t server_count;
    uint32_t accelerators; // of a server
    const char *accelerator;
    struct weft_hybrid hybrid;
    struct weft_memory memory; // of its fullest accelerator
    uint32_t row_count;
    const struct weft_mixnet_row *rows;
    // At the last rate, with the request's circuits: by weft_mixnet_first, and by
    // weft_mixnet_fault; NULL = not asked for.
    const struct weft_mixnet_iteration *firsts;
    const struct weft_mixnet_iteration *faults;
    const struct weft_mixnet_played *played; // NULL = not asked for, or nothing leaves a server
    enum weft_sim_engine engine;
};
// Fails as weft_mixnet_plan, and with INPUT where the files are wrong.
bool weft_request_mixnet(struct weft_mixnet_result *result,
                         const struct weft_mixnet_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-mixnet/1"
const char *weft_request_mixnet_json(const struct weft_mixnet_result *result,
                                     struct weft_arena *arena);

WEFT_API_END

#endif
