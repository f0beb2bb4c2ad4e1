// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_SIP_H
#define WEFT_REQUEST_SIP_H

// SiP-ML on accelerators of silicon photonics, swept over their number, wavelengths and dark times,
// beside electrical fabrics.

#include "weft/plan/sip.h"
#include "weft/request.h"

WEFT_API_BEGIN

#define WEFT_SIP_ACCELERATORS_MAX 16384u
#define WEFT_SIP_ROWS_MAX 1024u

struct weft_sip_request {
    struct weft_request_job job; // its model is asked for
    const char *cluster_path;    // whose accelerators they are; NULL = A100-80GB
    struct weft_count_list gpus; // {gpus}; none: the cluster's, else 64
    struct weft_count_list wavelengths;
    const char *fabrics; // {fabric}: "sip-ocs,sip-ring"; NULL = both
    struct weft_time_list dark_times;
    const char *electrical; // {electrical}: rates of the fabrics beside it; NULL = 128 to 8192 Gbps
    struct weft_given_rate cap;      // {cap}: between replicas there; not given: 400 Gbps, 0: none
    struct weft_given_time latency;  // {latency} of light; not given: the cluster's, else 100 ns
    const char *batches;             // {batches}: "1024:8192,2048:5000"; NULL = the job's own
    struct weft_given_bytes weights; // {weights}: gradients of a replica
    uint32_t switches;               // 0 = 20
    uint32_t reach;                  // 0 = 16
    uint32_t dp;                     // 0 = the best
    enum weft_sip_shots shots;
    bool commodity; // {commodity}: command and re-training of today's equipment beside dark times
};
extern const struct weft_parameter weft_sip_parameters[];
extern const uint32_t weft_sip_parameter_count;

struct weft_sip_row {
    uint32_t accelerators;
    uint32_t wavelengths;
    uint64_t dark_ps; // of SiP-OCS; 0 of rings
    struct weft_sip_result found;
    const char *why_not;    // NULL, or why there is no plan
    const double *speedups; // per electrical rate: its time to accuracy over the row's
};
// The electrical fabrics of one number of accelerators.
struct weft_sip_baseline {
    uint32_t accelerators;
    const struct weft_sip_switched *switched; // per rate
};
struct weft_sip_study {
    struct weft_model model;
    const char *accelerator;
    uint32_t rate_count;
    const double *rates_Bps;
    double cap_Bps;
    uint32_t baseline_count;
    const struct weft_sip_baseline *baselines;
    uint32_t row_count;
    const struct weft_sip_row *rows;
};
// Plans every combination. A combination without a plan is a row with its reason, unless it is the
// only one: then that is the failure. Fails with USAGE on lists that are none.
bool weft_request_sip(struct weft_sip_study *result, const struct weft_sip_request *request,
                      struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-sip/1"
const char *weft_request_sip_json(const struct weft_sip_study *result, struct weft_arena *arena);

WEFT_API_END

#endif
