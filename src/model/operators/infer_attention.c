// SPDX-License-Identifier: Apache-2.0
// Attention and mixtures of experts: parameters, FLOPs and what is kept for the backward pass.
// Attention costs its four projections for each token and its scores for each pair of tokens, half
// of them when causal; grouped heads (Ainslie et al., GQA, EMNLP 2023) share keys and values,
// latents (DeepSeek-V2, 2024, section 2.1) replace their matrices. Experts cost a token the active
// and the shared ones and the router. O(1).

#include "infer.h"

// Widths of one attention, all heads together.
struct widths {
    uint64_t query;   // of the scores, queries' side
    uint64_t key;     // of the scores, keys' side
    uint64_t value;   // keys' side
    uint64_t context; // what the output matrix takes
};

// Checks the heads and fills in their defaults: as many heads of keys and values as of queries, and
// a head's share of the hidden size.
static bool check_heads(struct weft_operator_spec *spec, uint64_t hidden, struct weft_error *error)
{
    if (spec->heads == 0) {
        return weft_fail(error, WEFT_INPUT, "no heads; give at least 1");
    }
    spec->kv_heads = spec->kv_heads == 0 ? spec->heads : spec->kv_heads;
    if (spec->heads % spec->kv_heads != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u heads share %u heads of keys and values; the second must divide the "
                         "first",
                         spec->heads, spec->kv_heads);
    }
    if (spec->kv_rank > 0) {
        bool whole = spec->rope_dim > 0 && spec->nope_dim > 0 && spec->value_dim > 0;
        return whole || weft_fail(error, WEFT_INPUT,
                                  "attention with latents needs rope_dim, nope_dim and value_dim");
    }
    if (spec->head_dim == 0) {
        if (hidden % spec->heads != 0 || hidden / spec->heads > UINT32_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "%u heads do not divide the hidden size %llu; give head_dim, or heads "
                             "that do",
                             spec->heads, (unsigned long long)hidden);
        }
        spec->head_dim = (uint32_t)(hidden / spec->heads);
    }
    return true;
}

static bool check_attention(struct weft_operator *op, const struct weft_operator *queries,
                            const struct weft_operator *keys, struct weft_error *error)
{
    if (queries->rank != 2 || keys->rank != 2) {
        return weft_fail(error, WEFT_INPUT,
                         "an input of %u dimensions; it takes [sequence, hidden]",
                         queries->rank != 2 ? queries->rank : keys->rank);
    }
    if (queries->shape[1] != keys->shape[1]) {
        return weft_fail(error, WEFT_INPUT, "hidden sizes %llu and %llu; make them equal",
                         (unsigned long long)queries->shape[1], (unsigned long long)keys->shape[1]);
    }
    if (op->spec.causal && op->spec.input_count == 2) {
        return weft_fail(error, WEFT_INPUT,
                         "causal attention looks at its own sequence; give one input");
    }
    if (op->spec.kv_rank > 0 && op->spec.input_count == 2) {
        return weft_fail(error, WEFT_INPUT,
                         "attention with latents looks at its own sequence; give one input");
    }
    return check_heads(&op->spec, queries->shape[1], error);
}

static struct widths add_plain_tensors(struct weft_operator *op, uint64_t hidden)
{
    const struct weft_operator_spec *spec = &op->spec;
    uint64_t query = weft_times(spec->heads, spec->head_dim);
    uint64_t key = weft_times(spec->kv_heads, spec->head_dim);
    uint64_t wide = weft_plus(weft_times(2, query), weft_times(2, key));
    weft_operator_add_tensor(op, weft_times(hidden, wide));
    if (spec->bias) {
        weft_operator_add_tensor(op, weft_plus(weft_plus(query, weft_times(2, key)), hidden));
    }
    return (struct widths){query, key, key, query};
}

// DeepSeek-V2, section 2.1.2: queries, keys and values come from latents with a norm each; the part
// of a key that turns with the position is one for all heads.
static struct widths add_latent_tensors(struct weft_operator *op, uint64_t hidden)
{
    const struct weft_operator_spec *spec = &op->spec;
    uint64_t heads = spec->heads;
    uint64_t query = weft_times(heads, (uint64_t)spec->nope_dim + spec->rope_dim);
    uint64_t up = weft_times(heads, (uint64_t)spec->nope_dim + spec->value_dim);
    uint64_t value = weft_times(heads, spec->value_dim);
    uint64_t matrices = weft_times(hidden, (uint64_t)spec->kv_rank + spec->rope_dim);
    matrices = weft_plus(matrices, weft_times(spec->kv_rank, up));
    matrices = weft_plus(matrices, weft_times(value, hidden));
    if (spec->q_rank > 0) {
        uint64_t latent = weft_times(spec->q_rank, weft_plus(hidden, query));
        matrices = weft_plus(matrices, latent);
    } else {
        matrices = weft_plus(matrices, weft_times(hidden, query));
    }
    weft_operator_add_tensor(op, matrices);
    weft_operator_add_tensor(op, (uint64_t)spec->q_rank + spec->kv_rank);
    return (struct widths){query, query, value, value};
}

double weft_attention_keys(double keys, double window, bool causal)
{
    double seen = window > 0 && window < keys ? window : keys;
    return causal ? seen - seen * seen / (2 * keys) : seen;
}

bool weft_operator_infer_attention(struct weft_operator *op, const struct weft_operator *operators,
                                   struct weft_error *error)
{
    const struct weft_operator_spec *spec = &op->spec;
    const struct weft_operator *queries = &operators[spec->inputs[0]];
    const struct weft_operator *keys = &operators[spec->inputs[spec->input_count - 1]];
    if (!check_attention(op, queries, keys, error)) {
        return false;
    }
    uint64_t hidden = queries->shape[1];
    bool latent = spec->kv_rank > 0;
    struct widths widths = latent ? add_latent_tensors(op, hidden) : add_plain_tensors(op, hidden);
    op->rank = 2;
    op->shape[0] = queries->shape[0];
    op->shape[1] = hidden;
    double tokens = (double)queries->shape[0];
    double others = (double)keys->shape[0];
    // Queries and the output matrix work on this sequence, keys and values on the other.
    double own = (double)hidden * (double)(widths.query + widths.context);
    double kept = (double)hidden * (double)(widths.key + widths.value);
    double matrices = tokens * own + others * kept;
    if (latent) {
        matrices = tokens * (double)op->tensor_elements[0];
    }
    double pairs = tokens * weft_attention_keys(others, (double)spec->window, spec->causal);
    // Scores take every head's query and key, the context every head's value.
    double scores = pairs * (double)(widths.query + widths.context);
    op->forward_flops = 2 * (matrices + scores);
    op->kept_elements =
        weft_plus(weft_times(queries->shape[0], weft_plus(widths.query, widths.context)),
                  weft_times(keys->shape[0], weft_plus(widths.key, widths.value)));
    return true;
}

// Counts all experts' parameters, but the FLOPs and the kept values of those only that a token
// passes.
bool weft_operator_infer_experts(struct weft_operator *op, const struct weft_operator *operators,
                                 struct weft_error *error)
{
    const struct weft_operator_spec *spec = &op->spec;
    const struct weft_operator *input = &operators[spec->inputs[0]];
    if (spec->experts == 0 || spec->experts_active == 0 || spec->experts_active > spec->experts) {
        return weft_fail(error, WEFT_INPUT, "%u experts of which %u are active; give 1 to all",
                         spec->experts, spec->experts_active);
    }
    if (spec->expert_units == 0) {
        return weft_fail(error, WEFT_INPUT, "no expert_units; give at least 1");
    }
    uint64_t hidden = input->shape[input->rank - 1];
    uint64_t tokens = input->output_elements / hidden;
    uint64_t matrices = spec->gated ? 3 : 2;
    uint64_t expert = weft_times(matrices, weft_times(hidden, spec->expert_units));
    op->rank = input->rank;
    for (uint32_t i = 0; i < WEFT_SHAPE_MAX; i++) {
        op->shape[i] = input->shape[i];
    }
    weft_operator_add_tensor(op, weft_times(hidden, spec->experts)); // the router
    weft_operator_add_tensor(op, weft_times(spec->experts, expert));
    weft_operator_add_tensor(op, weft_times(spec->experts_shared, expert));
    uint64_t passed = (uint64_t)spec->experts_active + spec->experts_shared;
    op->forward_flops =
        2 * (double)tokens * ((double)hidden * spec->experts + (double)passed * (double)expert);
    // Up, gate and their product; or up and its activation.
    op->kept_elements =
        weft_times(weft_times(tokens, passed), weft_times(matrices, spec->expert_units));
    return true;
}
