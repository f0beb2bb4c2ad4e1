// SPDX-License-Identifier: Apache-2.0
// What is peculiar to layers with experts (docs/hybrid.md, "Time"): who holds them, how many copies
// of a token an exchange carries and for how long (Lepikhin et al., GShard, ICLR 2021; DeepSeek-V3,
// 2024, section 3.2.2), what of it another micro-batch's pass hides, and how many kernels the host
// launches. O(1) a layer.

#include "layers.h"

#include <math.h>

// Kernels of a layer's forward pass that are not its experts': attention and its projections about
// 10, norms and sums 4, router and its loss 8, counting and sorting copies 12, exchanges 4,
// activation function 2. Counted in Megatron-Core; only whether a pass waits for the host hangs on
// it, together with a stack's kernel_s, which is fitted with it.
#define LAYER_KERNELS 40.0

static double larger(double a, double b)
{
    return a > b ? a : b;
}

// Ranks of an expert group on one server.
static double local_members(const struct weft_hybrid_machine *machine)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA};
    return weft_hybrid_local_members(machine->mesh, axes, 2, machine->hybrid->ep);
}

// Ranks of a tensor group among which the experts of a layer are dealt out; 1: each is split.
double weft_hybrid_expert_holders(const struct weft_hybrid_machine *machine)
{
    return machine->hybrid->whole_experts ? machine->hybrid->tp : 1;
}

// Of `members` with experts, how many hold some of a token's: all different where every copy goes
// by itself, else as many as balanced choices hit on average.
static double members_hit(const struct weft_hybrid_machine *machine, double members)
{
    double copies = machine->stack->experts_active;
    return machine->software->merges_copies ? members * (1 - pow(1 - 1 / members, copies)) : copies;
}

// Copies of a token that an exchange carries between servers, if it had to leave for all of them:
// as many as experts, or, where a server gets one for all, as many as servers that hold its experts
// or may hold them.
double weft_hybrid_server_copies(const struct weft_hybrid_machine *machine)
{
    double local = local_members(machine);
    double copies = members_hit(machine, machine->hybrid->ep / larger(local, 1));
    double limit = machine->stack->expert_servers;
    return limit > 0 && limit < copies ? limit : copies;
}

// One direction of an expert layer's all to all; *network_s of it between servers.
double weft_hybrid_expert_exchange(const struct weft_hybrid_machine *machine, double copies_bytes,
                                   double *network_s)
{
    double ep = machine->hybrid->ep;
    double holders = weft_hybrid_expert_holders(machine);
    *network_s = 0;
    if (ep * holders <= 1) {
        return 0;
    }
    double local = local_members(machine);
    double rank_bytes = copies_bytes / machine->hybrid->tp;
    double copy_bytes = rank_bytes / machine->stack->experts_active;
    // A copy that is merged comes to its rank from one beside, wherever its token is from.
    double beside = machine->software->merges_copies ? holders * local : holders * ep;
    double inside_s = copy_bytes * members_hit(machine, holders * ep) * (holders * local - 1) /
                      beside / machine->link_Bps;
    double outer_bytes = copy_bytes * weft_hybrid_server_copies(machine) * (ep - local) / ep;
    *network_s = outer_bytes * machine->sharers / machine->rates->exchange_Bps;
    return larger(inside_s, *network_s) + machine->launch_s +
           (ep > local ? machine->rates->latency_s : 0);
}

// Experts' exchanges under another micro-batch's pass: the forward pass of one runs beside the
// backward pass of another, each in its order, so that every exchange has one part of the other's
// products to hide under (DeepSeek-V3, 2024, figure 4; Megatron-Core's combined 1F1B): what goes
// out and its gradient under the other's experts, what comes back and its gradient under the
// other's attention. What is longer stays. Some of the processors are set apart for them.
void weft_hybrid_overlap_exchanges(const struct weft_hybrid_machine *machine,
                                   const struct weft_hybrid_layer *layer,
                                   struct weft_hybrid_pass *pass)
{
    if (!machine->hybrid->overlap_experts || layer->dispatch_s <= 0) {
        return;
    }
    double slower = 1 / (1 - machine->exchange_share);
    double attention_s = slower * (layer->mixing_s + layer->attention.seconds);
    double attention_back_s = slower * (2 * layer->mixing_s + layer->attention_backward.seconds);
    double experts_s = slower * (layer->plain.seconds - layer->mixing_s);
    double forward_s = larger(0, layer->dispatch_s - 2 * experts_s) +
                       larger(0, layer->combine_s - attention_back_s);
    double backward_s =
        larger(0, layer->dispatch_s - experts_s) + larger(0, layer->combine_s - attention_s);
    double exchange_s = layer->dispatch_s + layer->combine_s;
    pass->forward.compute_s *= slower;
    pass->backward.compute_s *= slower;
    pass->forward.hidden_s = exchange_s - forward_s;
    pass->backward.hidden_s = exchange_s - backward_s;
    pass->forward.expert_s -= pass->forward.hidden_s;
    pass->backward.expert_s -= pass->backward.hidden_s;
}

// A pass lasts at least until the host has launched its kernels one by one: with many experts on a
// rank, each with kernels of its own, small ones wait for it. The backward pass has two products
// for one, and what is run again.
void weft_hybrid_wait_for_host(const struct weft_hybrid_machine *machine,
                               const struct weft_hybrid_layer *layer, struct weft_hybrid_pass *pass)
{
    bool again = machine->hybrid->recompute == WEFT_RECOMPUTE_FULL;
    double forward_s = layer->kernels * machine->software->kernel_s;
    double backward_s = (again ? 3 : 2) * forward_s;
    pass->forward.compute_s += larger(0, forward_s - weft_hybrid_piece_seconds(&pass->forward));
    pass->backward.compute_s += larger(0, backward_s - weft_hybrid_piece_seconds(&pass->backward));
}

// Kernels of the forward pass of a layer with experts: every expert's two products, and in FP8 what
// brings the inputs of each into it; LAYER_KERNELS for all else.
double weft_hybrid_layer_kernels(const struct weft_hybrid_machine *machine, double local_experts)
{
    double casts = machine->fp8_bytes > 0 ? machine->software->cast_kernels : 0;
    return LAYER_KERNELS + local_experts * 2 * (1 + casts);
}
