// SPDX-License-Identifier: Apache-2.0
// Bounds that hold for every strategy of the operators space, and every fabric.
//
// The work that an operator takes over all its parts, at its cheapest split, must be done by n
// devices; and the longest chain of operators must be done one after the other, each at its
// quickest split. Neither looks at the network. docs/co-optimisation.md proves both ("Bounds for
// any strategy"). O(operators * splits).

#include "weft/plan.h"

#include <math.h>

// As in certificate.c: what a sum of many doubles may come out too large.
#define ROUNDING_RATIO 1e-11

// What an operator takes at least, over all its splits.
struct least {
    double device_s;  // of all its parts together, forward and backward
    double forward_s; // of its quickest part
    double backward_s;
};

// What operators are costed by.
struct costing {
    const struct weft_model *model;
    uint32_t server_count;
    const struct weft_cost_options *options;
};

// The least of an operator over all its splits. Fails as the costs do.
static bool find_least(struct least *least, const struct costing *costing, uint32_t op,
                       struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_model *model = costing->model;
    const struct weft_cost_options *costs = costing->options;
    struct weft_split_list list;
    const struct weft_environment inner = {.arena = &scratch, .error = error};
    if (!weft_operator_splits(&list, model, op, costing->server_count, costs, &inner)) {
        return false;
    }
    *least = (struct least){HUGE_VAL, HUGE_VAL, HUGE_VAL};
    for (uint32_t i = 0; i < list.count; i++) {
        struct weft_operator_cost cost;
        uint32_t samples = list.splits[i].sample_parts;
        uint32_t parameters = list.splits[i].parameter_parts;
        if (!weft_operator_time(&cost, model, op, list.splits[i], costs, error)) {
            return false;
        }
        double forward_s = weft_seconds(cost.forward_ps);
        double backward_s = weft_seconds(cost.backward_ps);
        least->device_s =
            fmin(least->device_s, (double)samples * parameters * (forward_s + backward_s));
        least->forward_s = fmin(least->forward_s, forward_s);
        least->backward_s = fmin(least->backward_s, backward_s);
    }
    return true;
}

// The longest chain of quickest parts: forward along inputs to an operator, then back. ahead[op]
// is the longest chain from the inputs to its forward pass, there included; behind[op] the longest
// from the end of its forward pass to the end of the iteration.
static double longest_chain(const struct weft_model *model, const struct least *least,
                            struct weft_arena scratch)
{
    uint32_t count = model->operator_count;
    double *forward_s = WEFT_NEW(&scratch, double, count);
    double *back_s = WEFT_NEW(&scratch, double, count); // of backward passes from op to the inputs
    double longest_s = 0;
    for (uint32_t op = 0; op < count; op++) {
        const struct weft_operator_spec *spec = &model->operators[op].spec;
        for (uint32_t i = 0; i < spec->input_count; i++) {
            forward_s[op] = fmax(forward_s[op], forward_s[spec->inputs[i]]);
            back_s[op] = fmax(back_s[op], back_s[spec->inputs[i]]);
        }
        forward_s[op] += least[op].forward_s;
        back_s[op] += least[op].backward_s;
        longest_s = fmax(longest_s, forward_s[op] + back_s[op]);
    }
    return longest_s;
}

// Both bounds, the work first.
bool weft_coplan_bounds(struct weft_bound bounds[WEFT_COPLAN_BOUND_COUNT],
                        const struct weft_study *study, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    const struct weft_model *model = study->model;
    uint32_t n = study->cluster->server_count;
    const struct costing costing = {model, n, &study->setting->cost};
    struct least *least = WEFT_NEW(&scratch, struct least, model->operator_count);
    double device_s = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        if (!find_least(&least[op], &costing, op, scratch, environment->error)) {
            return false;
        }
        device_s += least[op].device_s;
    }
    char text[WEFT_UNIT_TEXT];
    bounds[0] = weft_bound_named("any-strategy-work");
    bounds[0].seconds = device_s / n * (1 - ROUNDING_RATIO);
    bounds[0].reason = weft_arena_format(
        arena,
        "however operators are split, their parts take devices %s in all, and there are %u servers",
        weft_show_time(text, weft_picoseconds(device_s)), n);
    bounds[1] = weft_bound_named("any-strategy-chain");
    bounds[1].seconds = longest_chain(model, least, scratch) * (1 - ROUNDING_RATIO);
    bounds[1].reason = "a part waits for a part of each operator before it, and the backward pass "
                       "for the forward pass, each as quick as any split makes it";
    return true;
}
