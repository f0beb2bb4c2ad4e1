// SPDX-License-Identifier: Apache-2.0
// What one micro-batch costs in a layer, in the embedding and in the head, on one rank
// (docs/hybrid.md).
//
// Matrix products take max(FLOPs / (peak * efficiency * fill), bytes / HBM, a launch), fill falling
// for short sides; norms, sums and losses are passes over memory. Tensor parallelism adds two sums
// over the group a layer and direction (Shoeybi et al., Megatron-LM, 2019; with sequence
// parallelism as reduce-scatter and all-gather, Korthikanti et al., MLSys 2023), context
// parallelism a ring of keys and values beside the attention (Liu et al., Ring Attention, ICLR
// 2024), experts an all-to-all there and back (Lepikhin et al., GShard, ICLR 2021). Grouped heads
// (Ainslie et al., GQA, EMNLP 2023) and latent attention (DeepSeek-V2) enter by their shapes. O(1)
// a kind of layer.

#include "layers.h"

#include <math.h>

// A matrix product of m x k by k x n reaches its share of the peak times x / (x + this) for each of
// m, n, k: tiles that are not full and pipelines that fill. Half a tile of 128; assumed, and
// checked only by the whole (oracle_published_runs).
#define HALF_SIZE 64.0
// Fused attention reaches this share of what large matrix products do: its two products are short
// (head_dim) and softmax stands between them (Dao, FlashAttention-2, ICLR 2024, section 4).
#define FUSED_SHARE 0.7
// FLOPs of its backward pass to its forward pass: five products, one of them the scores again.
#define FUSED_BACKWARD 2.5
static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double fill(double size)
{
    return size / (size + HALF_SIZE);
}

static struct weft_hybrid_work add(struct weft_hybrid_work a, struct weft_hybrid_work b)
{
    return (struct weft_hybrid_work){a.seconds + b.seconds, a.flops + b.flops};
}

// `count` products of m x k by k x n in one kernel, at the speed `peak_flops`.
static struct weft_hybrid_work product_at(const struct weft_hybrid_machine *machine,
                                          double peak_flops, double count, const double sides[3])
{
    double m = sides[0];
    double n = sides[1];
    double k = sides[2];
    if (count * m * n * k <= 0) {
        return (struct weft_hybrid_work){0};
    }
    double flops = 2 * count * m * n * k;
    double deep = k * machine->peak_flops / peak_flops; // a tile of FP8 is as many bytes deep
    double compute_s = flops / (peak_flops * fill(m) * fill(n) * fill(deep));
    double bytes = machine->width * count * (m * k + k * n + m * n);
    double seconds = larger(compute_s, bytes / machine->memory_Bps);
    return (struct weft_hybrid_work){larger(seconds, machine->launch_s), flops};
}

// In the model's own type.
static struct weft_hybrid_work matmul(const struct weft_hybrid_machine *machine, double count,
                                      double m, double n, double k)
{
    return product_at(machine, machine->peak_flops, count, (const double[]){m, n, k});
}

static struct weft_hybrid_work sweep(const struct weft_hybrid_machine *machine, double bytes)
{
    return (struct weft_hybrid_work){
        bytes > 0 ? larger(bytes / machine->memory_Bps, machine->launch_s) : 0, 0};
}

// A product with parameters, which may run in FP8: its left side is brought into FP8 first.
static struct weft_hybrid_work layer_product(const struct weft_hybrid_machine *machine,
                                             double count, double m, double n, double k)
{
    return add(product_at(machine, machine->product_flops, count, (const double[]){m, n, k}),
               sweep(machine, machine->fp8_bytes * count * m * k));
}

// ---- exchanges ----

// Seconds until each rank of a tensor group holds the sum of the others' `bytes` (an AllReduce, or
// the AllGather and ReduceScatter that stand for one with sequence parallelism).
static double tensor_sum(const struct weft_hybrid_machine *machine, double bytes)
{
    double tp = machine->hybrid->tp;
    if (tp <= 1) {
        return 0;
    }
    double rate_Bps = machine->link_Bps;
    double latency_s = machine->launch_s;
    if (tp > machine->mesh->per_server) {
        rate_Bps = rate_Bps < machine->rates->ring_Bps ? rate_Bps : machine->rates->ring_Bps;
        latency_s += 2 * (tp / machine->mesh->per_server - 1) * machine->rates->latency_s;
    }
    return 2 * (tp - 1) / tp * bytes / rate_Bps + latency_s;
}

// The rate at which each rank hands on bytes along an axis, when `sharers` ranks on a server share
// server_Bps and `local` of a group lie beside one another, so that only the last of them leaves.
static double neighbor_rate(const struct weft_hybrid_machine *machine, double server_Bps,
                            double sharers, uint32_t local, uint32_t size)
{
    if (local >= size) {
        return machine->link_Bps;
    }
    double rate_Bps = server_Bps * local / sharers;
    return rate_Bps < machine->link_Bps ? rate_Bps : machine->link_Bps;
}

// What of a sum stays when products of `hide_s` run beside it: chunks leave the first one bare.
static double exposed_sum(const struct weft_hybrid_machine *machine, double tensor_s, double hide_s)
{
    if (!machine->hybrid->overlap_tensor) {
        return tensor_s;
    }
    return larger((1 - machine->tensor_overlap) * tensor_s, tensor_s - hide_s);
}

// The ring in which context ranks pass on their keys and values, one pass of a layer; *network_s of
// it between servers.
static double context_ring(const struct weft_hybrid_machine *machine, double bytes,
                           double *network_s)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_CONTEXT};
    uint32_t cp = machine->hybrid->cp;
    *network_s = 0;
    if (cp <= 1) {
        return 0;
    }
    uint32_t local = weft_hybrid_local_members(machine->mesh, axes, 1, cp);
    double rate_Bps =
        neighbor_rate(machine, machine->rates->context_Bps, machine->sharers, local, cp);
    double hop_s = local < cp ? machine->rates->latency_s : 0;
    *network_s = local < cp ? (cp - 1.0) * bytes / rate_Bps : 0;
    return (cp - 1.0) * (bytes / rate_Bps + machine->launch_s + hop_s);
}

// ---- a layer's parts ----

static double kv_heads(const struct weft_transformer *stack)
{
    return stack->kv_heads != 0 ? stack->kv_heads : stack->heads;
}

static double head_dim(const struct weft_transformer *stack)
{
    return stack->head_dim != 0 ? stack->head_dim : (double)stack->hidden / stack->heads;
}

// Elements of keys and values a token hands to the other context ranks, on one tensor rank.
static double kv_elements(const struct weft_hybrid_machine *machine)
{
    const struct weft_transformer *stack = machine->stack;
    if (stack->kv_rank != 0) {
        return stack->kv_rank + (double)stack->rope_dim;
    }
    return 2 * larger(kv_heads(stack) / machine->hybrid->tp, 1) * head_dim(stack);
}

// The products that bring latents up to queries, keys and values; none without latents.
static struct weft_hybrid_work latent_up(const struct weft_hybrid_machine *machine, double tokens)
{
    const struct weft_transformer *stack = machine->stack;
    if (stack->kv_rank == 0) {
        return (struct weft_hybrid_work){0};
    }
    double heads = (double)stack->heads / machine->hybrid->tp;
    double query = heads * (stack->nope_dim + (double)stack->rope_dim);
    double key_value = heads * (stack->nope_dim + (double)stack->value_dim);
    double query_rank = stack->q_rank != 0 ? stack->q_rank : (double)stack->hidden;
    return add(layer_product(machine, 1, tokens, query, query_rank),
               layer_product(machine, 1, tokens, key_value, stack->kv_rank));
}

// Queries, keys, values and the output of attention as products; latent attention (kv_rank) has its
// down and up projections in their place.
static struct weft_hybrid_work projections(const struct weft_hybrid_machine *machine, double tokens)
{
    const struct weft_transformer *stack = machine->stack;
    double hidden = (double)stack->hidden;
    double tp = machine->hybrid->tp;
    double heads = stack->heads / tp;
    if (stack->kv_rank == 0) {
        double queries = heads * head_dim(stack);
        double keys = larger(kv_heads(stack) / tp, 1) * head_dim(stack);
        struct weft_hybrid_work in = layer_product(machine, 1, tokens, queries + 2 * keys, hidden);
        struct weft_hybrid_work turn =
            sweep(machine, 2 * machine->width * tokens * (queries + 2 * keys));
        return add(add(in, turn), layer_product(machine, 1, tokens, hidden, queries));
    }
    double query = heads * (stack->nope_dim + (double)stack->rope_dim);
    double key_value = heads * (stack->nope_dim + (double)stack->value_dim);
    double latent = stack->kv_rank + (double)stack->rope_dim;
    struct weft_hybrid_work down =
        layer_product(machine, 1, tokens, stack->q_rank + latent, hidden);
    struct weft_hybrid_work up = latent_up(machine, tokens);
    struct weft_hybrid_work turn =
        sweep(machine, 2 * machine->width * tokens * (query + key_value));
    struct weft_hybrid_work out =
        layer_product(machine, 1, tokens, hidden, heads * stack->value_dim);
    return add(add(down, up), add(turn, out));
}

// Scores, softmax and their product with the values; *backward the same of the backward pass.
static struct weft_hybrid_work attention(const struct weft_hybrid_machine *machine,
                                         struct weft_hybrid_work *backward)
{
    const struct weft_transformer *stack = machine->stack;
    double samples = (double)machine->hybrid->micro_batch;
    double rows = (double)stack->sequence / machine->hybrid->cp;
    double columns = weft_attention_keys((double)stack->sequence, (double)stack->window, false);
    double heads = samples * stack->heads / machine->hybrid->tp;
    bool latent = stack->kv_rank != 0;
    double query = latent ? stack->nope_dim + (double)stack->rope_dim : head_dim(stack);
    double value = latent ? stack->value_dim : head_dim(stack);
    if (machine->hybrid->fused_attention) {
        double seen = weft_attention_keys((double)stack->sequence, (double)stack->window,
                                          stack->causal); // masked blocks are skipped
        double flops = 2 * heads * rows * seen * (query + value);
        double seconds = flops / (machine->peak_flops * FUSED_SHARE);
        *backward = (struct weft_hybrid_work){larger(FUSED_BACKWARD * seconds, machine->launch_s),
                                              FUSED_BACKWARD * flops};
        return (struct weft_hybrid_work){larger(seconds, machine->launch_s), flops};
    }
    struct weft_hybrid_work products = add(matmul(machine, heads, rows, columns, query),
                                           matmul(machine, heads, rows, value, columns));
    // Softmax reads and writes the scores; dropout does too and writes a mask of bytes.
    double width = machine->width;
    struct weft_hybrid_work passes = sweep(machine, heads * rows * columns * (4 * width + 1));
    struct weft_hybrid_work all = add(products, passes);
    *backward = (struct weft_hybrid_work){2 * all.seconds, 2 * all.flops};
    return all;
}

static struct weft_hybrid_work feed_forward(const struct weft_hybrid_machine *machine, double count,
                                            double tokens, double units)
{
    const struct weft_transformer *stack = machine->stack;
    double hidden = (double)stack->hidden;
    double here = units / machine->hybrid->tp;
    double up = stack->gated ? 2 : 1;
    struct weft_hybrid_work in = layer_product(machine, count, tokens, up * here, hidden);
    struct weft_hybrid_work activation =
        sweep(machine, machine->width * count * tokens * here * (up + 1));
    struct weft_hybrid_work out = layer_product(machine, count, tokens, hidden, here);
    return add(add(in, activation), out);
}

// Norms, residual sums and dropouts of a layer: two of each, r/w/r/r/w passes over the hidden
// values, split over the tensor ranks with sequence parallelism. A parallel block has one norm and
// one sum of three: r/w/r/r/r/w.
static struct weft_hybrid_work norms(const struct weft_hybrid_machine *machine, double tokens)
{
    double split = machine->hybrid->sequence_parallel ? machine->hybrid->tp : 1;
    double passes = machine->stack->parallel_block ? 6 : 10;
    double bytes = passes * machine->width * tokens * (double)machine->stack->hidden / split;
    return sweep(machine, bytes);
}

// What recompute=norms runs again of a layer: norms, the activation function of what a token
// passes, and the products that bring latents back to heads.
static struct weft_hybrid_work light_work(const struct weft_hybrid_machine *machine, double tokens,
                                          bool experts)
{
    const struct weft_transformer *stack = machine->stack;
    double units = experts ? (double)(stack->experts_active + stack->experts_shared) *
                                 (double)stack->expert_units
                           : (double)stack->ffn_units;
    double passes = stack->gated ? 3 : 2;
    double bytes = machine->width * tokens * passes * units / machine->hybrid->tp;
    return add(add(norms(machine, tokens), sweep(machine, bytes)), latent_up(machine, tokens));
}

// ---- pieces ----

// The pipeline ranks of a server use its network in turns; where that takes longer than the pass,
// the pass waits.
static void wait_for_network(const struct weft_hybrid_machine *machine,
                             struct weft_hybrid_piece *piece, bool exchanges)
{
    double longer_s = machine->pipeline * piece->network_s - weft_hybrid_piece_seconds(piece);
    double *waits = exchanges ? &piece->expert_s : &piece->context_s;
    *waits += larger(0, longer_s);
}

// Puts a layer's pieces together. The backward pass takes twice the products (one for the inputs'
// gradients, one for the parameters'), its own attention, and what recomputation runs again: the
// whole forward pass, or the attention's scores alone.
static struct weft_hybrid_pass layer_pass(const struct weft_hybrid_machine *machine,
                                          const struct weft_hybrid_layer *layer)
{
    struct weft_hybrid_pass pass = {
        .forward = {.compute_s = layer->plain.seconds + layer->attention.seconds,
                    .tensor_s = layer->tensor_s,
                    .expert_s = layer->dispatch_s + layer->combine_s,
                    .context_s = larger(0, layer->ring_s - layer->attention.seconds),
                    .network_s = layer->exchange_network_s + layer->ring_network_s,
                    .flops = layer->plain.flops + layer->attention.flops},
        .backward = {.compute_s = 2 * layer->plain.seconds + layer->attention_backward.seconds,
                     .tensor_s = layer->tensor_s,
                     .expert_s = layer->dispatch_s + layer->combine_s,
                     .context_s =
                         larger(0, layer->ring_backward_s - layer->attention_backward.seconds),
                     .network_s = layer->exchange_network_s + 2 * layer->ring_network_s,
                     .flops = 2 * layer->plain.flops + layer->attention_backward.flops},
    };
    if (!machine->hybrid->overlap_experts) {
        wait_for_network(machine, &pass.forward, layer->exchange_network_s > 0);
        wait_for_network(machine, &pass.backward, layer->exchange_network_s > 0);
    }
    if (machine->hybrid->recompute == WEFT_RECOMPUTE_FULL) {
        weft_hybrid_add_piece(&pass.backward, &pass.forward, 1);
    } else if (machine->hybrid->recompute == WEFT_RECOMPUTE_SELECTIVE &&
               !machine->hybrid->fused_attention) {
        pass.backward.compute_s += layer->attention.seconds;
        pass.backward.flops += layer->attention.flops;
    }
    if (machine->hybrid->recompute == WEFT_RECOMPUTE_NORMS) {
        pass.backward.compute_s += layer->light.seconds;
        pass.backward.flops += layer->light.flops;
    }
    weft_hybrid_overlap_exchanges(machine, layer, &pass);
    weft_hybrid_wait_for_host(machine, layer, &pass);
    return pass;
}

// What a layer's attention puts on the network, and how long it takes beside that.
static void set_network(const struct weft_hybrid_machine *machine, struct weft_hybrid_costs *costs,
                        const struct weft_hybrid_layer *layer, double ring_bytes)
{
    const struct weft_hybrid *hybrid = machine->hybrid;
    bool again = hybrid->recompute == WEFT_RECOMPUTE_FULL;
    double hops_bytes = (hybrid->cp - 1.0) * ring_bytes * hybrid->tp;
    costs->ring_bytes[0] = hops_bytes;
    costs->ring_bytes[1] = (again ? 3 : 2) * hops_bytes;
    double network_s;
    double fixed_s = context_ring(machine, 0, &network_s);
    costs->ring_fixed_s[0] = fixed_s;
    costs->ring_fixed_s[1] = (again ? 2 : 1) * fixed_s;
    costs->attention_s[0] = layer->attention.seconds;
    costs->attention_s[1] =
        layer->attention_backward.seconds + (again ? layer->attention.seconds : 0);
}

// The product that scores every expert for every token. In FP32 it runs beside the tensor cores, on
// tokens that are first brought into FP32 and, with sequence parallelism, are split over the tensor
// ranks.
static struct weft_hybrid_work router(const struct weft_hybrid_machine *machine, double tokens)
{
    const struct weft_transformer *stack = machine->stack;
    double hidden = (double)stack->hidden;
    if (machine->router_flops <= 0) {
        return matmul(machine, 1, tokens, stack->experts, hidden);
    }
    double here = tokens / (machine->hybrid->sequence_parallel ? machine->hybrid->tp : 1);
    double flops = 2 * here * stack->experts * hidden;
    struct weft_hybrid_work casts =
        sweep(machine, here * hidden * (machine->width + 2 * sizeof(float)));
    return add(casts, (struct weft_hybrid_work){flops / machine->router_flops, flops});
}

// Copies are sorted by expert before they leave and put back when they return: read and written
// twice. A dispatcher that sorts once more where they arrive, by expert in place of by sender, does
// the same again where there are experts to sort by (Megatron-Core's all to all dispatcher). Each
// tensor rank moves its share.
static struct weft_hybrid_work sort_copies(const struct weft_hybrid_machine *machine,
                                           double copies_bytes, double local_experts)
{
    double passes = machine->software->sorts_again && local_experts > 1 ? 8 : 4;
    return sweep(machine, passes * copies_bytes / machine->hybrid->tp);
}

// What a layer with experts computes between its exchanges, in which circuits may be changed. Sums
// over tensor ranks are left out: they make the time longer.
static void set_windows(const struct weft_hybrid_machine *machine, struct weft_hybrid_costs *costs,
                        const struct weft_hybrid_layer *layer, double copies_bytes)
{
    double again = machine->hybrid->recompute == WEFT_RECOMPUTE_FULL ? 1 : 0;
    double experts_s = layer->plain.seconds - layer->mixing_s;
    double forward_s = layer->mixing_s + layer->attention.seconds;
    costs->mixing_s[0] = forward_s;
    costs->mixing_s[1] =
        2 * layer->mixing_s + layer->attention_backward.seconds + again * forward_s;
    costs->experts_s[0] = experts_s;
    costs->experts_s[1] = (2 + again) * experts_s;
    costs->copies_bytes = copies_bytes / machine->hybrid->tp / machine->stack->experts_active *
                          weft_hybrid_server_copies(machine) * machine->sharers;
}

// One layer, dense or with experts: attention and its ring, then a feed-forward, or router, experts
// and shared experts with their exchange. Also notes in `costs` what the layer puts on the network,
// for the task graph.
static struct weft_hybrid_pass transformer_layer(const struct weft_hybrid_machine *machine,
                                                 struct weft_hybrid_costs *costs, bool experts)
{
    const struct weft_transformer *stack = machine->stack;
    double tokens = machine->mesh->tokens;
    double hidden_bytes = tokens * (double)stack->hidden * machine->width;
    struct weft_hybrid_layer layer = {0};
    layer.plain = add(projections(machine, tokens), norms(machine, tokens));
    layer.attention = attention(machine, &layer.attention_backward);
    layer.light = light_work(machine, tokens, experts);
    layer.mixing_s = layer.plain.seconds;
    layer.tensor_s = exposed_sum(machine, tensor_sum(machine, hidden_bytes), layer.mixing_s);
    double ring_bytes = tokens * kv_elements(machine) * machine->width;
    double twice_s;
    layer.ring_s = context_ring(machine, ring_bytes, &layer.ring_network_s);
    layer.ring_backward_s = context_ring(machine, 2 * ring_bytes, &twice_s);
    set_network(machine, costs, &layer, ring_bytes);
    if (!experts) {
        layer.plain = add(layer.plain, feed_forward(machine, 1, tokens, (double)stack->ffn_units));
        double feed_s = layer.plain.seconds - layer.mixing_s;
        // A parallel block sums both branches at once.
        layer.tensor_s += stack->parallel_block
                              ? 0
                              : exposed_sum(machine, tensor_sum(machine, hidden_bytes), feed_s);
        return layer_pass(machine, &layer);
    }
    // Balanced routing: every rank gets as many token copies as it sends.
    double copies = tokens * stack->experts_active;
    double copies_bytes = copies * (double)stack->hidden * machine->width;
    double holders = weft_hybrid_expert_holders(machine);
    double local_experts = (double)stack->experts / machine->hybrid->ep / holders;
    layer.plain = add(layer.plain, router(machine, tokens));
    // A feed-forward takes its width to be split over the tensor ranks.
    layer.plain =
        add(layer.plain, feed_forward(machine, local_experts, copies / holders / local_experts,
                                      holders * (double)stack->expert_units));
    if (stack->experts_shared > 0) {
        layer.plain =
            add(layer.plain, feed_forward(machine, 1, tokens,
                                          stack->experts_shared * (double)stack->expert_units));
    }
    layer.kernels = weft_hybrid_layer_kernels(machine, local_experts);
    layer.plain = add(layer.plain, sort_copies(machine, copies_bytes, local_experts));
    // Whole experts have no sums; shared ones are split like other layers.
    double sum_bytes = holders == 1 ? copies_bytes : stack->experts_shared > 0 ? hidden_bytes : 0;
    layer.tensor_s += sum_bytes > 0 ? tensor_sum(machine, sum_bytes) : 0;
    // There, in FP8 where products are, and back.
    double there =
        machine->fp8_bytes > 0 && machine->software->fp8_dispatch ? 1 / machine->width : 1;
    double back_network_s;
    layer.dispatch_s =
        weft_hybrid_expert_exchange(machine, there * copies_bytes, &layer.exchange_network_s);
    layer.combine_s = weft_hybrid_expert_exchange(machine, copies_bytes, &back_network_s);
    layer.exchange_network_s += back_network_s;
    if (machine->hybrid->ep > 1) {
        double again = machine->hybrid->recompute == WEFT_RECOMPUTE_FULL ? 2 : 1;
        double outer = weft_hybrid_server_copies(machine) / stack->experts_active;
        costs->exchange_bytes[0] = (there + 1) * outer * copies_bytes;
        costs->exchange_bytes[1] = costs->exchange_bytes[0] * again;
    }
    set_windows(machine, costs, &layer, copies_bytes);
    return layer_pass(machine, &layer);
}

static struct weft_hybrid_pass embedding_pass(const struct weft_hybrid_machine *machine)
{
    double bytes = machine->mesh->tokens * (double)machine->stack->hidden * machine->width;
    double inputs = machine->stack->vocabulary != 0 ? 0 : (double)machine->stack->patch_elements;
    struct weft_hybrid_work patches =
        matmul(machine, 1, machine->mesh->tokens,
               (double)machine->stack->hidden / machine->hybrid->tp, inputs);
    double seconds = sweep(machine, 3 * bytes).seconds + patches.seconds;
    double tensor_s = tensor_sum(machine, bytes);
    return (struct weft_hybrid_pass){
        .forward = {.compute_s = seconds, .tensor_s = tensor_s, .flops = patches.flops},
        .backward = {.compute_s = seconds, .flops = patches.flops},
    };
}

static struct weft_hybrid_pass head_pass(const struct weft_hybrid_machine *machine)
{
    const struct weft_transformer *stack = machine->stack;
    double tokens = machine->mesh->tokens;
    double classes = (double)stack->vocabulary / machine->hybrid->tp;
    if (stack->vocabulary == 0) { // one vector a sample
        tokens = (double)machine->hybrid->micro_batch;
        classes = (double)stack->classes / machine->hybrid->tp;
    }
    struct weft_hybrid_work product = matmul(machine, 1, tokens, classes, (double)stack->hidden);
    // The loss reads and writes the logits in FP32: largest, exponentials and sum; their gradient.
    struct weft_hybrid_work loss = sweep(machine, 12 * tokens * classes);
    double tensor_s = tensor_sum(machine, tokens * (double)stack->hidden * machine->width) / 2;
    return (struct weft_hybrid_pass){
        .forward = {.compute_s = product.seconds + loss.seconds,
                    .tensor_s = tensor_s,
                    .flops = product.flops},
        .backward = {.compute_s = 2 * product.seconds + loss.seconds,
                     .tensor_s = tensor_s,
                     .flops = 2 * product.flops},
    };
}

static double send_seconds(const struct weft_hybrid_machine *machine, double bytes)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_PIPELINE};
    uint32_t pp = machine->hybrid->pp;
    if (pp <= 1) {
        return 0;
    }
    uint32_t local = weft_hybrid_local_members(machine->mesh, axes, 1, pp);
    double tp = machine->hybrid->tp;
    double server_Bps =
        machine->hybrid->chunks > 1 ? machine->rates->wrap_Bps : machine->rates->shift_Bps;
    double rate_Bps = neighbor_rate(machine, server_Bps, machine->mesh->per_server, local, pp);
    // Each tensor rank sends its share; without sequence parallelism they gather it on arrival.
    double gather_s = 0;
    if (tp > 1 && !machine->hybrid->sequence_parallel) {
        gather_s = bytes * (tp - 1) / tp / machine->link_Bps + machine->launch_s;
    }
    return bytes / tp / rate_Bps + (local < pp ? machine->rates->latency_s : machine->launch_s) +
           gather_s;
}

// How much longer passes are because everybody waits for a slow server: the chance that there is
// one among those of the job, times by how much it is slower.
static double slowed(const struct weft_stack *software, uint32_t servers)
{
    return 1 + software->slow_ratio * (1 - pow(1 - software->slow_share, servers));
}

// The rates that a job's passes are priced by: those of its accelerator, times what the software's
// stack reaches of them. Products may run in FP8, which leaves everything else in the model's type.
static struct weft_hybrid_machine machine_of(const struct weft_hybrid_job *job)
{
    const struct weft_accelerator *accelerator = job->accelerator;
    const struct weft_stack *software = job->stack;
    const struct weft_transformer *stack = job->model->transformer;
    double share = software->compute_efficiency / slowed(software, job->mesh.server_count);
    double efficiency = accelerator->matmul_efficiency * share;
    enum weft_dtype products = job->hybrid.fp8 ? WEFT_FP8 : stack->dtype;
    double width = weft_dtype_bytes(stack->dtype);
    struct weft_hybrid_machine machine = {
        .hybrid = &job->hybrid,
        .mesh = &job->mesh,
        .stack = stack,
        .rates = &job->rates,
        .peak_flops = accelerator->flops_per_s[stack->dtype] * efficiency,
        .product_flops = accelerator->flops_per_s[products] * efficiency,
        .router_flops = software->router_fp32 ? accelerator->flops_per_s[WEFT_FP32] *
                                                    accelerator->fp32_efficiency * share
                                              : 0,
        .exchange_share = WEFT_EXCHANGE_PROCESSORS / accelerator->processors,
        .tensor_overlap = software->tensor_overlap,
        .software = software,
        .fp8_bytes = job->hybrid.fp8 ? width + 1 : 0,
        .memory_Bps = accelerator->memory_Bps * accelerator->memory_efficiency * share,
        .link_Bps = accelerator->link_Bps * accelerator->link_efficiency,
        .launch_s = weft_seconds(accelerator->launch_ps),
        .width = width,
    };
    machine.pipeline = weft_hybrid_pipeline_beside(&job->mesh);
    machine.sharers = job->mesh.per_server / machine.pipeline;
    return machine;
}

// The embedding and head lie outside of layers; a send is the activations of one micro-batch,
// divided over the tensor ranks.
void weft_hybrid_cost(struct weft_hybrid_job *job)
{
    const struct weft_model *model = job->model;
    const struct weft_transformer *stack = model->transformer;
    struct weft_hybrid_machine machine = machine_of(job);
    struct weft_hybrid_costs result = {0};
    result.dense = transformer_layer(&machine, &result, false);
    if (stack->experts != 0) {
        result.experts = transformer_layer(&machine, &result, true);
    }
    result.embedding = embedding_pass(&machine);
    result.head = head_pass(&machine);
    result.send_bytes =
        job->hybrid.pp > 1 ? job->mesh.tokens * (double)stack->hidden * machine.width : 0;
    result.send_s = send_seconds(&machine, result.send_bytes);
    result.model_flops = 3 * model->forward_flops * (double)model->batch;
    job->costs = result;
}
