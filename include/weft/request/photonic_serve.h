// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PHOTONIC_SERVE_H
#define WEFT_REQUEST_PHOTONIC_SERVE_H

// The serving study of Lightning: seven nets' requests on five processors, at a stated load.

#include "weft/request.h"
#include "weft/serving.h"

WEFT_API_BEGIN

#define WEFT_SERVE_LOADS_MAX 64u

struct weft_serve_study_request {
    const char *const *arrivals; // traces' files (CSV); none: traces are drawn at {rate}
    uint32_t arrival_count;
    struct weft_given_rate rate; // of inputs; not given: 60 Mbps of drawn traces, else the traces'
    uint32_t requests;           // the first of each trace; 0 = all, 200 of drawn ones
    uint32_t traces;             // that are drawn; 0 = 10
    uint32_t until;              // a run ends when its first so many have ended; 0 = all
    enum weft_serving_count count;
    const char *processors;              // {processors}: names, the first is the reference
    uint32_t cores;                      // Lightning's; 0 = 576
    struct weft_given_number clock;      // Lightning's GHz; 97
    struct weft_given_time datapath;     // Lightning's, a layer; 115 ns
    struct weft_given_time objective;    // 100 ms
    struct weft_given_number idle_power; // share of its watts that an idle processor draws; 1
    uint32_t granularity;                // 0 = 2048
    const char *loads; // {loads}: rates, each played with drawn traces beside the study; NULL: none
};
// A list with one group, so that sweeps take it.
extern const struct weft_parameter_group weft_serve_study_parameters[];

// A load of the curve.
struct weft_serve_load {
    double rate_Bps;
    struct weft_serving_study study;
};
struct weft_serve_study_result {
    double rate_Bps; // 0: as the traces say
    uint64_t objective_ps;
    uint32_t trace_count;
    uint32_t request_count; // of all traces
    uint32_t until;
    bool drawn;
    const struct weft_serving_net *nets;
    struct weft_serving_study study;
    uint32_t load_count;
    const struct weft_serve_load *loads;
};
// Fails with USAGE where what is asked does not fit together, with INPUT where a trace is wrong.
// Notes each processor without a stationary mean.
bool weft_request_serve_study(struct weft_serve_study_result *result,
                              const struct weft_serve_study_request *request,
                              struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-serve-study/1"
const char *weft_request_serve_study_json(const struct weft_serve_study_result *result,
                                          struct weft_arena *arena);

WEFT_API_END

#endif
