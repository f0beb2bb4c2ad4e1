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

#include "hybrid.h"

// A matrix product of m x k by k x n reaches its share of the peak times x / (x + this) for each of
// m, n, k: tiles that are not full and pipelines that fill. Half a tile of 128; assumed, and
// checked only by the whole (oracle_published_runs).
#define HALF_SIZE 64.0
// Fused attention reaches this share of what large matrix products do: its two products are short
// (head_dim) and softmax stands between them (Dao, FlashAttention-2, ICLR 2024, section 4).
#define FUSED_SHARE 0.7
// FLOPs of its backward pass to its forward pass: five products, one of them the scores again.
#define FUSED_BACKWARD 2.5

struct machine {
    const struct weft_hybrid *hybrid;
    const struct weft_hybrid_mesh *mesh;
    const struct weft_transformer *stack;
    const struct weft_hybrid_rates *rates;
    double peak_flops; // times its efficiency
    double memory_Bps;
    double link_Bps;
    double launch_s;
    double width;    // bytes an element
    double sharers;  // ranks of a server that use the network at a time
    double pipeline; // pipeline ranks of a server: they take turns
};

// Forward work: seconds and FLOPs.
struct work {
    double seconds, flops;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double fill(double size)
{
    return size / (size + HALF_SIZE);
}

static struct work add(struct work a, struct work b)
{
    return (struct work){a.seconds + b.seconds, a.flops + b.flops};
}

// `count` products of m x k by k x n in one kernel.
static struct work matmul(const struct machine *machine, double count, double m, double n, double k)
{
    if (count * m * n * k <= 0) {
        return (struct work){0};
    }
    double flops = 2 * count * m * n * k;
    double compute_s = flops / (machine->peak_flops * fill(m) * fill(n) * fill(k));
    double bytes = machine->width * count * (m * k + k * n + m * n);
    double seconds = larger(compute_s, bytes / machine->memory_Bps);
    return (struct work){larger(seconds, machine->launch_s), flops};
}

static struct work sweep(const struct machine *machine, double bytes)
{
    return (struct work){bytes > 0 ? larger(bytes / machine->memory_Bps, machine->launch_s) : 0, 0};
}

// ---- exchanges ----

// Seconds until each rank of a tensor group holds the sum of the others' `bytes` (an AllReduce, or
// the AllGather and ReduceScatter that stand for one with sequence parallelism).
static double tensor_sum(const struct machine *machine, double bytes)
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
static double neighbor_rate(const struct machine *machine, double server_Bps, double sharers,
                            uint32_t local, uint32_t size)
{
    if (local >= size) {
        return machine->link_Bps;
    }
    double rate_Bps = server_Bps * local / sharers;
    return rate_Bps < machine->link_Bps ? rate_Bps : machine->link_Bps;
}

// One direction of an expert layer's all to all; *network_s of it between servers.
static double expert_exchange(const struct machine *machine, double copies_bytes, double *network_s)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA};
    double ep = machine->hybrid->ep;
    *network_s = 0;
    if (ep <= 1) {
        return 0;
    }
    double local = weft_hybrid_local_members(machine->mesh, axes, 2, machine->hybrid->ep);
    double rank_bytes = copies_bytes / machine->hybrid->tp;
    double inside_s = rank_bytes * (local - 1) / ep / machine->link_Bps;
    *network_s = rank_bytes * (ep - local) / ep * machine->sharers / machine->rates->exchange_Bps;
    return larger(inside_s, *network_s) + machine->launch_s +
           (ep > local ? machine->rates->latency_s : 0);
}

// The ring in which context ranks pass on their keys and values, one pass of a layer; *network_s of
// it between servers.
static double context_ring(const struct machine *machine, double bytes, double *network_s)
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
static double kv_elements(const struct machine *machine)
{
    const struct weft_transformer *stack = machine->stack;
    if (stack->kv_rank != 0) {
        return stack->kv_rank + (double)stack->rope_dim;
    }
    return 2 * larger(kv_heads(stack) / machine->hybrid->tp, 1) * head_dim(stack);
}

static struct work projections(const struct machine *machine, double tokens)
{
    const struct weft_transformer *stack = machine->stack;
    double hidden = (double)stack->hidden;
    double tp = machine->hybrid->tp;
    double heads = stack->heads / tp;
    if (stack->kv_rank == 0) {
        double queries = heads * head_dim(stack);
        double keys = larger(kv_heads(stack) / tp, 1) * head_dim(stack);
        struct work in = matmul(machine, 1, tokens, queries + 2 * keys, hidden);
        struct work turn = sweep(machine, 2 * machine->width * tokens * (queries + 2 * keys));
        return add(add(in, turn), matmul(machine, 1, tokens, hidden, queries));
    }
    double query = heads * (stack->nope_dim + (double)stack->rope_dim);
    double key_value = heads * (stack->nope_dim + (double)stack->value_dim);
    double latent = stack->kv_rank + (double)stack->rope_dim;
    struct work down = matmul(machine, 1, tokens, stack->q_rank + latent, hidden);
    double query_rank = stack->q_rank != 0 ? stack->q_rank : hidden;
    struct work up = add(matmul(machine, 1, tokens, query, query_rank),
                         matmul(machine, 1, tokens, key_value, stack->kv_rank));
    struct work turn = sweep(machine, 2 * machine->width * tokens * (query + key_value));
    struct work out = matmul(machine, 1, tokens, hidden, heads * stack->value_dim);
    return add(add(down, up), add(turn, out));
}

// Scores, softmax and their product with the values; *backward the same of the backward pass.
static struct work attention(const struct machine *machine, struct work *backward)
{
    const struct weft_transformer *stack = machine->stack;
    double samples = (double)machine->hybrid->micro_batch;
    double rows = (double)stack->sequence / machine->hybrid->cp;
    double columns = (double)stack->sequence;
    double heads = samples * stack->heads / machine->hybrid->tp;
    bool latent = stack->kv_rank != 0;
    double query = latent ? stack->nope_dim + (double)stack->rope_dim : head_dim(stack);
    double value = latent ? stack->value_dim : head_dim(stack);
    if (machine->hybrid->fused_attention) {
        double share = stack->causal ? 0.5 : 1; // masked blocks are skipped
        double flops = 2 * heads * rows * columns * (query + value) * share;
        double seconds = flops / (machine->peak_flops * FUSED_SHARE);
        *backward = (struct work){larger(FUSED_BACKWARD * seconds, machine->launch_s),
                                  FUSED_BACKWARD * flops};
        return (struct work){larger(seconds, machine->launch_s), flops};
    }
    struct work products = add(matmul(machine, heads, rows, columns, query),
                               matmul(machine, heads, rows, value, columns));
    // Softmax reads and writes the scores; dropout does too and writes a mask of bytes.
    double width = machine->width;
    struct work passes = sweep(machine, heads * rows * columns * (4 * width + 1));
    struct work all = add(products, passes);
    *backward = (struct work){2 * all.seconds, 2 * all.flops};
    return all;
}

static struct work feed_forward(const struct machine *machine, double count, double tokens,
                                double units)
{
    const struct weft_transformer *stack = machine->stack;
    double hidden = (double)stack->hidden;
    double here = units / machine->hybrid->tp;
    double up = stack->gated ? 2 : 1;
    struct work in = matmul(machine, count, tokens, up * here, hidden);
    struct work activation = sweep(machine, machine->width * count * tokens * here * (up + 1));
    struct work out = matmul(machine, count, tokens, hidden, here);
    return add(add(in, activation), out);
}

// Norms, residual sums and dropouts of a layer: two of each, r/w/r/r/w passes over the hidden
// values, split over the tensor ranks with sequence parallelism.
static struct work norms(const struct machine *machine, double tokens)
{
    double split = machine->hybrid->sequence_parallel ? machine->hybrid->tp : 1;
    double bytes = 10 * machine->width * tokens * (double)machine->stack->hidden / split;
    return sweep(machine, bytes);
}

// ---- pieces ----

double weft_hybrid_piece_seconds(const struct weft_hybrid_piece *piece)
{
    return piece->compute_s + piece->tensor_s + piece->context_s + piece->expert_s;
}

static void add_piece(struct weft_hybrid_piece *sum, const struct weft_hybrid_piece *piece,
                      double times)
{
    sum->compute_s += piece->compute_s * times;
    sum->tensor_s += piece->tensor_s * times;
    sum->context_s += piece->context_s * times;
    sum->expert_s += piece->expert_s * times;
    sum->network_s += piece->network_s * times;
    sum->flops += piece->flops * times;
}

struct layer {
    struct work plain;     // products and sweeps: backward takes twice as long
    struct work attention; // forward
    struct work attention_backward;
    double tensor_s, expert_s, ring_s, ring_backward_s;
    double exchange_network_s, ring_network_s; // between servers, forward
};

// The pipeline ranks of a server use its network in turns; where that takes longer than the pass,
// the pass waits.
static void wait_for_network(const struct machine *machine, struct weft_hybrid_piece *piece,
                             bool exchanges)
{
    double longer_s = machine->pipeline * piece->network_s - weft_hybrid_piece_seconds(piece);
    double *waits = exchanges ? &piece->expert_s : &piece->context_s;
    *waits += larger(0, longer_s);
}

// Puts a layer's pieces together. The backward pass takes twice the products (one for the inputs'
// gradients, one for the parameters'), its own attention, and what recomputation runs again: the
// whole forward pass, or the attention's scores alone.
static struct weft_hybrid_pass layer_pass(const struct machine *machine, const struct layer *layer)
{
    struct weft_hybrid_pass pass = {
        .forward = {.compute_s = layer->plain.seconds + layer->attention.seconds,
                    .tensor_s = layer->tensor_s,
                    .expert_s = layer->expert_s,
                    .context_s = larger(0, layer->ring_s - layer->attention.seconds),
                    .network_s = layer->exchange_network_s + layer->ring_network_s,
                    .flops = layer->plain.flops + layer->attention.flops},
        .backward = {.compute_s = 2 * layer->plain.seconds + layer->attention_backward.seconds,
                     .tensor_s = layer->tensor_s,
                     .expert_s = layer->expert_s,
                     .context_s =
                         larger(0, layer->ring_backward_s - layer->attention_backward.seconds),
                     .network_s = layer->exchange_network_s + 2 * layer->ring_network_s,
                     .flops = 2 * layer->plain.flops + layer->attention_backward.flops},
    };
    wait_for_network(machine, &pass.forward, layer->exchange_network_s > 0);
    wait_for_network(machine, &pass.backward, layer->exchange_network_s > 0);
    if (machine->hybrid->recompute == WEFT_RECOMPUTE_FULL) {
        add_piece(&pass.backward, &pass.forward, 1);
    } else if (machine->hybrid->recompute == WEFT_RECOMPUTE_SELECTIVE &&
               !machine->hybrid->fused_attention) {
        pass.backward.compute_s += layer->attention.seconds;
        pass.backward.flops += layer->attention.flops;
    }
    return pass;
}

// What a layer's attention puts on the network, and how long it takes beside that.
static void set_network(const struct machine *machine, struct weft_hybrid_costs *costs,
                        const struct layer *layer, double ring_bytes)
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

// One layer, dense or with experts: attention and its ring, then a feed-forward, or router, experts
// and shared experts with their exchange. Also notes in `costs` what the layer puts on the network,
// for the task graph.
static struct weft_hybrid_pass transformer_layer(const struct machine *machine,
                                                 struct weft_hybrid_costs *costs, bool experts)
{
    const struct weft_transformer *stack = machine->stack;
    double tokens = machine->mesh->tokens;
    double hidden_bytes = tokens * (double)stack->hidden * machine->width;
    struct layer layer = {0};
    layer.plain = add(projections(machine, tokens), norms(machine, tokens));
    layer.attention = attention(machine, &layer.attention_backward);
    layer.tensor_s = tensor_sum(machine, hidden_bytes);
    double ring_bytes = tokens * kv_elements(machine) * machine->width;
    double twice_s;
    layer.ring_s = context_ring(machine, ring_bytes, &layer.ring_network_s);
    layer.ring_backward_s = context_ring(machine, 2 * ring_bytes, &twice_s);
    set_network(machine, costs, &layer, ring_bytes);
    if (!experts) {
        layer.plain = add(layer.plain, feed_forward(machine, 1, tokens, (double)stack->ffn_units));
        layer.tensor_s += tensor_sum(machine, hidden_bytes);
        return layer_pass(machine, &layer);
    }
    // Balanced routing: every rank gets as many token copies as it sends.
    double copies = tokens * stack->experts_active;
    double copies_bytes = copies * (double)stack->hidden * machine->width;
    double local_experts = (double)stack->experts / machine->hybrid->ep;
    layer.plain =
        add(layer.plain, matmul(machine, 1, tokens, stack->experts, (double)stack->hidden));
    layer.plain = add(layer.plain, feed_forward(machine, local_experts, copies / local_experts,
                                                (double)stack->expert_units));
    if (stack->experts_shared > 0) {
        layer.plain =
            add(layer.plain, feed_forward(machine, 1, tokens,
                                          stack->experts_shared * (double)stack->expert_units));
    }
    // Copies are sorted by expert and put back; each tensor rank moves its share of each.
    layer.plain = add(layer.plain, sweep(machine, 4 * copies_bytes / machine->hybrid->tp));
    layer.tensor_s += tensor_sum(machine, copies_bytes);
    layer.expert_s = 2 * expert_exchange(machine, copies_bytes, &layer.exchange_network_s);
    layer.exchange_network_s *= 2; // there and back
    if (machine->hybrid->ep > 1) {
        double again = machine->hybrid->recompute == WEFT_RECOMPUTE_FULL ? 2 : 1;
        costs->exchange_bytes[0] = 2 * copies_bytes; // there and back
        costs->exchange_bytes[1] = 2 * copies_bytes * again;
    }
    return layer_pass(machine, &layer);
}

static struct weft_hybrid_pass embedding_pass(const struct machine *machine)
{
    double bytes = machine->mesh->tokens * (double)machine->stack->hidden * machine->width;
    double inputs = machine->stack->vocabulary != 0 ? 0 : (double)machine->stack->patch_elements;
    struct work patches = matmul(machine, 1, machine->mesh->tokens,
                                 (double)machine->stack->hidden / machine->hybrid->tp, inputs);
    double seconds = sweep(machine, 3 * bytes).seconds + patches.seconds;
    double tensor_s = tensor_sum(machine, bytes);
    return (struct weft_hybrid_pass){
        .forward = {.compute_s = seconds, .tensor_s = tensor_s, .flops = patches.flops},
        .backward = {.compute_s = seconds, .flops = patches.flops},
    };
}

static struct weft_hybrid_pass head_pass(const struct machine *machine)
{
    const struct weft_transformer *stack = machine->stack;
    double tokens = machine->mesh->tokens;
    double classes = (double)stack->vocabulary / machine->hybrid->tp;
    if (stack->vocabulary == 0) { // one vector a sample
        tokens = (double)machine->hybrid->micro_batch;
        classes = (double)stack->classes / machine->hybrid->tp;
    }
    struct work product = matmul(machine, 1, tokens, classes, (double)stack->hidden);
    // The loss reads and writes the logits in FP32: largest, exponentials and sum; their gradient.
    struct work loss = sweep(machine, 12 * tokens * classes);
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

static double send_seconds(const struct machine *machine, double bytes)
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

// Fills the costs of all pieces of the model. The embedding and head lie outside of layers; a send
// is the activations of one micro-batch, divided over the tensor ranks.
void weft_hybrid_cost(struct weft_hybrid_costs *costs, const struct weft_hybrid *hybrid,
                      const struct weft_hybrid_mesh *mesh, const struct weft_model *model,
                      const struct weft_accelerator *accelerator,
                      const struct weft_hybrid_rates *rates)
{
    const struct weft_transformer *stack = model->transformer;
    struct machine machine = {
        .hybrid = hybrid,
        .mesh = mesh,
        .stack = stack,
        .rates = rates,
        .peak_flops = accelerator->flops_per_s[stack->dtype] * accelerator->matmul_efficiency,
        .memory_Bps = accelerator->memory_Bps * accelerator->memory_efficiency,
        .link_Bps = accelerator->link_Bps * accelerator->link_efficiency,
        .launch_s = weft_seconds(accelerator->launch_ps),
        .width = weft_dtype_bytes(stack->dtype),
    };
    machine.pipeline = weft_hybrid_pipeline_beside(mesh);
    machine.sharers = mesh->per_server / machine.pipeline;
    struct weft_hybrid_costs result = {0};
    result.dense = transformer_layer(&machine, &result, false);
    if (stack->experts != 0) {
        result.experts = transformer_layer(&machine, &result, true);
    }
    result.embedding = embedding_pass(&machine);
    result.head = head_pass(&machine);
    result.send_bytes = hybrid->pp > 1 ? mesh->tokens * (double)stack->hidden * machine.width : 0;
    result.send_s = send_seconds(&machine, result.send_bytes);
    result.model_flops = 3 * model->forward_flops * (double)model->batch;
    *costs = result;
}

// ---- stages ----

struct weft_hybrid_pass weft_hybrid_stage_pass(const struct weft_hybrid_costs *costs,
                                               const struct weft_hybrid_stage *stage)
{
    const struct weft_hybrid_pass *parts[] = {&costs->dense, &costs->experts, &costs->embedding,
                                              &costs->head};
    const double times[] = {stage->dense_layers, stage->expert_layers, stage->embedding ? 1 : 0,
                            stage->head ? 1 : 0};
    struct weft_hybrid_pass sum = {0};
    for (uint32_t i = 0; i < 4; i++) {
        add_piece(&sum.forward, &parts[i]->forward, times[i]);
        add_piece(&sum.backward, &parts[i]->backward, times[i]);
    }
    return sum;
}
