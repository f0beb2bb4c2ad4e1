// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SCHEDULER_TENANTS_H
#define WEFT_SCHEDULER_TENANTS_H

// Tenants of accelerator racks over time: they arrive, ask for a slice, hold it, and leave.
//
//   racks + arrivals (drawn or read) ──► [tenants] ──► rejections by reason, bandwidth, times
//
// A tenant that finds no slice leaves at once (a loss system, as the published simulations have
// it), so that the same arrivals meet every fabric. docs/photonic-rack.md has the model and what it
// leaves out.

#include "weft/base.h"
#include "weft/plan/rack.h"

WEFT_API_BEGIN

// ---- who comes ----

// A slice that tenants ask for, and how often.
struct weft_tenant_size {
    uint32_t sides[3]; // chips
    double weight;
};
#define WEFT_TENANT_SIZES_MAX 32u

// Where tenants come from: a trace, or where that is empty a generator: Poisson arrivals,
// exponential lifetimes, sizes by weight. The load is the mean of chips asked for at a time over
// the chips of all racks, were nobody rejected; it sets the rate of arrivals.
struct weft_tenant_source {
    uint64_t trace_count;
    const struct weft_rack_request *trace; // in order of arrival
    uint64_t count;                        // that are drawn
    double load;
    // Drawn: the next arrives as soon as less than `load` of all chips is held, so that racks are
    // kept that full, whatever is rejected; else arrivals are Poisson.
    bool holds;
    double lifetime_s; // mean
    uint32_t size_count;
    const struct weft_tenant_size *sizes; // a trace's: those that it asks for, weights are not used
    uint64_t seed;
};
// The mix of sizes of the published simulation: 4, 8, 16, 32 and 64 chips of a 4 x 4 x 4 rack with
// weights .25 .2 .25 .2 .1. Static storage.
extern const struct weft_tenant_size weft_tenant_mix[];
#define WEFT_TENANT_MIX_SIZES 5u

// A generator's state: requests come one by one, so that a long run takes no memory for them.
struct weft_tenant_draw {
    const struct weft_tenant_source *source;
    double gap_s; // mean time between arrivals
    double weight_sum;
    struct weft_rng rng;
    uint64_t next;
    double clock_s;
};
// chip_count: of all racks together.
void weft_tenant_draw_init(struct weft_tenant_draw *draw, const struct weft_tenant_source *source,
                           uint32_t chip_count);
// The next request, of the trace or drawn; false: there is none. Its size is sizes[*size].
bool weft_tenant_draw_next(struct weft_tenant_draw *draw, struct weft_rack_request *request,
                           uint32_t *size);
// The distinct sizes of a trace, in order of chips, then sides. Fails with INPUT: more than
// WEFT_TENANT_SIZES_MAX, arrivals that go back, a slice without chips.
bool weft_tenant_sizes(struct weft_tenant_source *source, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;

// ---- what they get ----

enum weft_tenant_fabric {
    WEFT_TENANT_TORUS,     // electrical torus of chips: aligned boxes alone
    WEFT_TENANT_SCATTERED, // the same; where no box is free, any chips, whose ring shares links
    WEFT_TENANT_PUBLISHED, // photonic, by Morphlux' allocator
    WEFT_TENANT_PHOTONIC,  // photonic, exact
    WEFT_TENANT_FABRICS,
};
extern const char *const weft_tenant_fabric_words[]; // by it; NULL ends them

// In which rack a slice is looked for first, of those with enough free chips.
enum weft_tenant_order {
    WEFT_TENANT_FULLEST, // best fit
    WEFT_TENANT_FIRST,   // in the order of racks
    WEFT_TENANT_EMPTIEST,
    WEFT_TENANT_RANDOM, // by hashes of the request's number
};
extern const char *const weft_tenant_order_words[]; // by it; NULL ends them

// The job of each tenant: data parallel, weak scaling, a sum of gradients an iteration.
struct weft_tenant_job {
    double allreduce_bytes; // of the collective that is timed on every slice
    double message_s;       // latency of one message: alpha
    bool follows;    // photonic: circuits may follow the steps of a collective (LUMORPH), each
    double change_s; // step then takes so much longer
    double gradient_bytes; // of an iteration, and
    double compute_s;      // how long a chip computes in it, of which
    double hidden_s;       // so much may hide the exchange: the backward pass, or 0
};

struct weft_tenants_options {
    const struct weft_rack *rack; // all racks are alike
    uint32_t rack_count;
    enum weft_tenant_fabric fabric;
    enum weft_tenant_order order;
    bool rotates; // boxes in all orientations; as published: as asked alone
    struct weft_tenant_job job;
    struct weft_tally *tally; // requests; NULL = nobody looks
    weft_stop stop;
};

// Of one size; means are over the tenants placed, each over its stay.
struct weft_tenant_row {
    uint32_t sides[3]; // 0: of all sizes together
    uint32_t chips;
    uint64_t asked, placed;
    uint64_t rejected[WEFT_RACK_WAVELENGTHS + 1]; // by enum weft_rack_reason
    uint64_t across;       // of those for capacity: all racks together had enough free chips
    double bandwidth_Bps;  // that a chip's collectives can use
    double allreduce_s;    // of job.allreduce_bytes
    double iteration_s;    // harmonic: iterations done over time
    double chip_Bps;       // bandwidth weighted by chips
    double chips_rejected; // share of the chips asked for
};
struct weft_tenants_run {
    uint32_t row_count;                 // sizes
    const struct weft_tenant_row *rows; // as the source has its sizes
    struct weft_tenant_row all;
    double span_s;           // to the last arrival
    double utilization;      // of chips, over it
    uint32_t fiber_load_max; // photonic: routes over a pair of servers at the most
    uint32_t running_max;
    double scattered_share; // of the placed tenants: without a box of their own
};
// Plays all requests. Memory does not grow with their number. Fails with INPUT: a rack without a
// torus on an electrical fabric, a slice larger than the rack; with STOPPED. O(requests * work of a
// placement).
bool weft_tenants_play(struct weft_tenants_run *run, const struct weft_tenant_source *source,
                       const struct weft_tenants_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- times on a slice ----

// What a slice's chips can send in collectives: so many bytes a second in the ring along each side,
// both ways together, and in one ring through all chips. A ring of two is one link.
struct weft_slice_rates {
    uint32_t chips;
    uint32_t sides[3];
    double side_Bps[3];
    double ring_Bps;
    double direct_Bps; // over circuits that follow a collective's steps; 0 = they cannot
};
// A box of a torus of chips whose links carry link_Bps each way. O(1).
void weft_slice_box(struct weft_slice_rates *rates, const uint32_t sides[3],
                    const uint32_t torus[3], double link_Bps);
// A slice of a photonic rack, with the injection of its chips given to the sides that it has
// (weft_rack_slice_rates). O(its routes).
void weft_slice_light(struct weft_slice_rates *rates, const struct weft_rack *rack,
                      const struct weft_rack_slice *slice);
// An AllReduce by the best of: one ring, a phase a dimension with all dimensions busy, and where
// circuits follow the steps recursive halving and doubling by 2 and by 4. `share` of the rates is
// the slice's. O(1).
double weft_slice_allreduce(const struct weft_slice_rates *rates, double bytes, double share,
                            const struct weft_tenant_job *job);
double weft_slice_iteration(const struct weft_slice_rates *rates, double share,
                            const struct weft_tenant_job *job);

WEFT_API_END

#endif
