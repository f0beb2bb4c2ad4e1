// SPDX-License-Identifier: Apache-2.0
// How operators are divided inside a replica: SiP-ML, section 4 ("2^floor(log2(time / quantum))
// parts"), with the dimension chosen as Weft's operators can be divided.
//
// The released code divides time and bytes of an operator by its number of parts whatever it
// computes. A layer whose outputs are divided still reads all of its inputs, and one whose samples
// are divided still adds up all of its gradients, so the dimension matters here: three rules are
// tried (enum sip_rule), and the search keeps what is quickest. O(divisors) an operator.

#include "sip.h"

#include <math.h>

// As in the released scripts.
#define QUANTUM_PS 1000000ull

static uint32_t part_target(uint64_t forward_ps, uint32_t mp)
{
    uint32_t parts = 1;
    while (parts * 2 <= mp && forward_ps / QUANTUM_PS >= (uint64_t)parts * 2) {
        parts *= 2;
    }
    return parts;
}

// The largest divisor of the samples of a replica up to `most`.
static uint32_t sample_parts(uint64_t samples, uint32_t most)
{
    uint32_t parts = most;
    while (samples % parts != 0) {
        parts--;
    }
    return parts;
}

static bool can_divide(const struct sip_fold *fold, uint32_t op, struct weft_split split)
{
    struct weft_operator_cost cost;
    struct weft_error ignored;
    split.sample_parts *= fold->replicas;
    return fold->model.batch % split.sample_parts == 0 &&
           weft_operator_extent(&fold->model.operators[op]) % split.parameter_parts == 0 &&
           weft_operator_time(&cost, &fold->model, op, split, &fold->setting.cost, &ignored);
}

// Bytes that an accelerator sends for its part: its share of the gradients' AllReduce, and inputs
// that are gathered forth, with their gradients back.
static double moved_bytes(const struct sip_fold *fold, uint32_t op, struct weft_split split)
{
    const struct weft_operator *self = &fold->model.operators[op];
    double width_bytes = weft_dtype_bytes(self->spec.dtype);
    double members = (double)fold->choice.dp * split.sample_parts;
    double samples = (double)fold->model.batch / ((double)fold->replicas * split.sample_parts);
    double gradients = (double)self->parameters / split.parameter_parts * width_bytes;
    double gathered = samples * (double)self->input_elements * width_bytes *
                      (split.parameter_parts - 1) / split.parameter_parts;
    return 2 * gradients * (members - 1) / members + 2 * gathered;
}

// Whether `split` goes before the best so far: more parts, then as the rule says.
static bool is_better(const struct sip_fold *fold, uint32_t op, struct weft_split split,
                      struct weft_split best)
{
    uint32_t parts = split.sample_parts * split.parameter_parts;
    uint32_t best_parts = best.sample_parts * best.parameter_parts;
    if (parts != best_parts) {
        return parts > best_parts;
    }
    if (fold->choice.rule == SIP_RULE_BYTES) {
        return moved_bytes(fold, op, split) < moved_bytes(fold, op, best);
    }
    return fold->choice.rule == SIP_RULE_PARAMETERS && split.parameter_parts > best.parameter_parts;
}

// What has no parameters is divided as what it reads, where it can be: nothing moves then.
static bool follow(struct weft_split *split, const struct sip_fold *fold, uint32_t op,
                   const struct weft_split *splits)
{
    const struct weft_operator *self = &fold->model.operators[op];
    for (uint32_t slot = 0; self->parameters == 0 && slot < self->spec.input_count; slot++) {
        uint32_t input = self->spec.inputs[slot];
        if (fold->model.operators[input].spec.kind != WEFT_OP_INPUT &&
            can_divide(fold, op, splits[input])) {
            *split = splits[input];
            return true;
        }
    }
    return false;
}

bool sip_split(struct weft_split *split, const struct sip_fold *fold, uint32_t op,
               const struct weft_split *splits, struct weft_error *error)
{
    struct weft_operator_cost cost;
    struct weft_split whole = {fold->replicas, 1};
    if (!weft_operator_time(&cost, &fold->model, op, whole, &fold->setting.cost, error)) {
        return false;
    }
    if (follow(split, fold, op, splits)) {
        return true;
    }
    uint64_t samples = fold->model.batch / fold->replicas;
    uint32_t most = part_target(cost.forward_ps, fold->choice.mp);
    uint32_t peers = fold->choice.reach < WEFT_SIP_REACH ? fold->choice.reach : WEFT_SIP_REACH;
    struct weft_split best = {1, 1};
    for (uint32_t parameters = 1; parameters <= most && parameters <= peers; parameters *= 2) {
        struct weft_split next = {sample_parts(samples, most / parameters), parameters};
        if (can_divide(fold, op, next) && is_better(fold, op, next, best)) {
            best = next;
        }
    }
    *split = best;
    return true;
}
