// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_HYBRID_LAYERS_H
#define WEFT_STRATEGY_HYBRID_LAYERS_H

// What a layer's price is put together from, between layers.c and experts.c: work on one
// accelerator, exchanges of its tensor group, and what a mixture of experts adds to both. Private
// to the hybrid chamber.

#include "hybrid.h"

// Multiprocessors that an overlapped all to all of experts keeps busy (DeepSeek-V3, 2024, section
// 3.2.2: 20 of 132).
#define WEFT_EXCHANGE_PROCESSORS 20.0

struct weft_hybrid_machine {
    const struct weft_hybrid *hybrid;
    const struct weft_hybrid_mesh *mesh;
    const struct weft_transformer *stack;
    const struct weft_hybrid_rates *rates;
    const struct weft_stack *software;
    double peak_flops;     // times its efficiency
    double product_flops;  // the same of the products that FP8 is for, which may be in FP8
    double exchange_share; // of the processors, while experts' exchanges overlap
    double tensor_overlap;
    double router_flops; // of products in FP32, where the software routes so; else 0
    double fp8_bytes;    // read and written to bring an element into FP8; 0 = the model's type
    double memory_Bps;
    double link_Bps;
    double launch_s;
    double width;    // bytes an element
    double sharers;  // ranks of a server that use the network at a time
    double pipeline; // pipeline ranks of a server: they take turns
};

// Forward work: seconds and FLOPs.
struct weft_hybrid_work {
    double seconds, flops;
};

struct weft_hybrid_layer {
    struct weft_hybrid_work plain;     // products and sweeps: backward takes twice as long
    struct weft_hybrid_work attention; // forward
    struct weft_hybrid_work attention_backward;
    struct weft_hybrid_work light; // what recompute=norms runs again
    double mixing_s;               // of plain: what stands before the feed-forward or the experts
    double tensor_s, ring_s, ring_backward_s;
    double dispatch_s, combine_s;              // of experts' exchange, there and back
    double exchange_network_s, ring_network_s; // between servers, forward
    double kernels;                            // that the host launches, forward; 0 = not counted
};

// Ranks of a tensor group among which the experts of a layer are dealt out; 1: each is split.
double weft_hybrid_expert_holders(const struct weft_hybrid_machine *machine);
// Copies of a token that an exchange carries between servers, if it had to leave for all of them.
double weft_hybrid_server_copies(const struct weft_hybrid_machine *machine);
// Seconds of one direction of an expert layer's all to all of `copies_bytes` of a tensor group;
// *network_s of it between servers.
double weft_hybrid_expert_exchange(const struct weft_hybrid_machine *machine, double copies_bytes,
                                   double *network_s);
// Hides a layer's exchanges under another micro-batch's pass, with overlap=ep.
void weft_hybrid_overlap_exchanges(const struct weft_hybrid_machine *machine,
                                   const struct weft_hybrid_layer *layer,
                                   struct weft_hybrid_pass *pass);
// Kernels of the forward pass of a layer with so many experts on a rank.
double weft_hybrid_layer_kernels(const struct weft_hybrid_machine *machine, double local_experts);
// Lengthens passes that the host cannot launch as fast as they would run.
void weft_hybrid_wait_for_host(const struct weft_hybrid_machine *machine,
                               const struct weft_hybrid_layer *layer,
                               struct weft_hybrid_pass *pass);

#endif
