// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_RACK_TENANTS_H
#define WEFT_REQUEST_RACK_TENANTS_H

// Tenants of racks over time on several fabrics, with the same arrivals on each: who is rejected
// and why, and what the others get.

#include "weft/request.h"
#include "weft/scheduler/tenants.h"

WEFT_API_BEGIN

// Parameters by name: weft_rack_tenants_parameters.
struct weft_rack_tenants_request {
    const char *rack_path;           // NULL = 16 servers of 2 x 2 chips, 2 x 2 x 4, 4 fibers a pair
    const char *trace_path;          // arrivals (CSV); NULL = drawn
    uint32_t requests;               // drawn; 0 = 10,000
    struct weft_number_list loads;   // drawn; none = 0.7 and 0.85
    struct weft_given_time lifetime; // mean, drawn; 1h
    bool holds;                      // drawn: as many as keep the racks at the load
    const char *mix;                 // "2x2x1:0.25,2x2x2:0.2": slices and weights; NULL = published
    uint32_t racks;                  // 0 = 1
    const char *fabrics;             // "torus,photonic"; NULL = torus, scattered and photonic
    uint32_t order;                  // of enum weft_tenant_order
    bool rotates;
    struct weft_given_count fibers;      // of each pair that has any; 0 = any number
    struct weft_given_count wavelengths; // of a fiber
    struct weft_given_bytes size;        // of the AllReduce; 1 MiB
    struct weft_given_time message;      // latency; 1us
    bool follows;                        // circuits follow collectives' steps
    const char *model;                   // that each tenant trains; NULL = gpt2-355m
    const char *accelerator;             // NULL = H100
    uint32_t batch;                      // samples of a chip; 0 = 1
    bool overlaps;                       // the backward pass hides the exchange
};
extern const struct weft_parameter_group weft_rack_tenants_parameters[];

#define WEFT_TENANT_LOADS_MAX 32u

// Beside the first fabric, at the same load: means of ratios over the sizes that both have placed,
// by how often they are asked for. 1 = the same.
struct weft_tenant_gains {
    double bandwidth;  // of a chip
    double allreduce;  // time
    double training;   // iterations a second
    double refused;    // tenants rejected though a rack had enough free chips
    double fragmented; // tenants rejected though all racks together had
};
struct weft_tenants_case {
    double load; // 0 = of the trace
    enum weft_tenant_fabric fabric;
    struct weft_tenants_run run;
    struct weft_tenant_gains gains; // of the first fabric: all 1
};
struct weft_rack_tenants_result {
    const struct weft_rack *rack;
    struct weft_tenants_options asked; // fabric is each case's own
    const char *trace_path;            // NULL = drawn
    const char *model;
    const char *accelerator;
    uint32_t fabric_count;
    uint32_t case_count; // by load, then by fabric
    const struct weft_tenants_case *cases;
    const struct weft_tenant_source *source; // of the first load
};
// Cases are played on the environment's threads; the result does not depend on their number. Fails
// with USAGE and INPUT where what is asked does not fit together, with STOPPED.
bool weft_request_rack_tenants(struct weft_rack_tenants_result *result,
                               const struct weft_rack_tenants_request *request,
                               struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-rack-tenants/1"
const char *weft_request_rack_tenants_json(const struct weft_rack_tenants_result *result,
                                           struct weft_arena *arena);
// The requests of the first load as a trace (CSV) that placing and playing read back. Where racks
// are held full, arrivals depend on the fabric and stand as 0.
const char *weft_request_rack_tenants_trace(const struct weft_rack_tenants_result *result,
                                            struct weft_arena *arena);

WEFT_API_END

#endif
