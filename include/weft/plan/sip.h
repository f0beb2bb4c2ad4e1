// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_SIP_H
#define WEFT_PLAN_SIP_H

// SiP-ML (Khani et al., SIGCOMM 2021): training over silicon photonics at every accelerator, with
// few peers for each, on parallel circuit switches or on fiber rings.
//
//   model + accelerators ──► split, place ──► circuits or wavelengths ──► played ──► moving plan
//
// Replicas are alike, so two that send their gradients round to each other stand for all of them.
// docs/sip-ml.md has the method, why two stand for all, and where it differs from the released
// code.

#include "weft/plan/moving.h"

WEFT_API_BEGIN

// When circuits of the switches change.
enum weft_sip_shots {
    WEFT_SIP_BEST,      // the quickest of the following
    WEFT_SIP_SINGLE,    // never: chosen once for the job
    WEFT_SIP_TOGETHER,  // all switches at once, after five dark times, as published
    WEFT_SIP_STAGGERED, // one switch after the other, so that the others carry on
    WEFT_SIP_SHOTS_COUNT,
};
extern const char *const weft_sip_shots_words[]; // by it: "best", ...; NULL ends them

// A global batch, and how many iterations of it the model takes to its accuracy.
struct weft_sip_batch {
    uint64_t samples;
    double iterations;
};

struct weft_sip_options {
    uint32_t wavelengths; // of an accelerator, W; 0 = 20
    double wave_Bps;      // of a wavelength; 0 = 25 Gbps
    uint32_t switches;    // parallel, each with a port of every accelerator, Q; 0 = 20
    uint32_t reach;  // ids that an operator may lie behind what it reads; 0 = 16, and any number
    uint32_t mp_max; // accelerators of a replica at most; 0 = 64
    uint32_t dp;     // replicas; 0 = the best of 1, 2, 4 ...
    enum weft_sip_shots shots;
    double gradient_bytes; // of a replica; 0 = as the model has parameters
    // The batches to choose from by time to accuracy; 0 = the model's own.
    uint32_t batch_count;
    const struct weft_sip_batch *batches;
};
#define WEFT_SIP_WAVELENGTHS 20u
#define WEFT_SIP_WAVE_BPS 3.125e9
#define WEFT_SIP_SWITCHES 20u
#define WEFT_SIP_REACH 16u
#define WEFT_SIP_MP_MAX 64u

// One fiber ring's wavelength of one pair: an arc of the fold's ring of accelerators.
struct weft_sip_arc {
    uint32_t from, to; // of the fold
    bool counter;      // on the fiber that goes counter-clockwise
    uint32_t color;
};

// The plan, and what was chosen. The fold is what was played: replicas * mp accelerators, the
// accelerators of replica r from r * mp on; a job of more replicas repeats it, accelerator by
// accelerator.
struct weft_sip_result {
    struct weft_moving_plan plan;
    uint32_t accelerators;
    uint32_t dp, mp;
    uint32_t micro_batches; // of a replica, one after the other: as few as fit into memory
    uint64_t batch;
    double iterations;         // to accuracy; 1 where no batches were given
    enum weft_sip_shots shots; // SiP-OCS: what was quickest
    struct weft_sip_fold {
        uint32_t replicas; // 1 or 2
        uint32_t node_count;
        const double *bytes; // n*n, what a pair carries in an iteration
        struct weft_strategy strategy;
        struct weft_taskgraph graph;
    } fold;
    uint32_t hop_max;         // 2 where pairs without a circuit go over others
    const uint32_t *circuits; // SiP-OCS: n*n at the beginning
    const uint32_t *permutations;
    uint32_t arc_count; // SiP-Ring
    const struct weft_sip_arc *arcs;
    uint32_t fiber_wavelengths; // of each of the two directions, at most W / 2
    double estimate_s;          // by the list schedule that chose among placements
};

// Splits, places and joins a model's operators on the accelerators of the study's cluster, for the
// least time to accuracy (of the list schedules' best few, by the flow engine). The network of the
// study is not looked at, ports are `sip`'s (NULL: as published). Fails with
// INFEASIBLE where nothing fits into memory, a pair is joined by no two circuits, or the
// wavelengths are too few for the ring; with INPUT as the costs of operators do. Deterministic.
bool weft_sip_search(struct weft_sip_result *result, const struct weft_study *study,
                     enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                     const struct weft_moving_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;
// The plan alone.
bool weft_sip_plan(struct weft_moving_plan *plan, const struct weft_study *study,
                   enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                   const struct weft_moving_options *options,
                   const struct weft_environment *environment) WEFT_MUST_USE;

// An electrical fabric as SiP-ML compares with: every replica on a switch at this rate, replicas
// joined at the rate or the cap, whichever is less.
struct weft_sip_electrical {
    double rate_Bps;
    double cap_Bps; // 0 = no cap
};
struct weft_sip_switched {
    uint32_t dp, mp;
    uint64_t batch;
    double iteration_s;
    double iterations;
};
// The best strategy there, with placements that know no bound on peers. Fails as weft_sip_search.
bool weft_sip_switch(struct weft_sip_switched *result, const struct weft_study *study,
                     const struct weft_sip_electrical *electrical,
                     const struct weft_sip_options *sip, const struct weft_environment *environment)
    WEFT_MUST_USE;

WEFT_API_END

#endif
