// SPDX-License-Identifier: Apache-2.0
// Bounds that hold for every strategy of the operators space.

#include "plan/joint/joint.h"

#include <math.h>

// As in certificate.c: what a sum of many doubles may come out too large.
#define ROUNDING_RATIO 1e-11

// What an operator takes at least, over all its splits.
struct least {
    double device_s;  // of all its parts together, forward and backward
    double forward_s; // of its quickest part
    double backward_s;
};

static bool find_least(struct least *least, const struct weft_model *model, uint32_t op,
                       uint32_t server_count, const struct weft_cost_options *costs,
                       struct weft_arena scratch, struct weft_error *error)
{
    struct weft_split_list list;
    const struct weft_environment inner = {.arena = &scratch, .error = error};
    if (!weft_operator_splits(&list, model, op, server_count, costs, &inner)) {
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
// is the longest way from the inputs to its forward pass, there included; behind[op] the longest
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

bool weft_coplan_bounds(struct weft_bound *bounds, uint32_t bounds_max, uint32_t *bound_count,
                        const struct weft_model *model, const struct weft_cluster *cluster,
                        const struct weft_strategy_setting *setting, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    *bound_count = 0;
    struct least *least = WEFT_NEW(&scratch, struct least, model->operator_count);
    double device_s = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        if (!find_least(&least[op], model, op, n, &setting->cost, scratch, error)) {
            return false;
        }
        device_s += least[op].device_s;
    }
    char text[WEFT_UNIT_TEXT];
    const struct weft_bound found[] = {
        {"any-strategy-work", device_s / n * (1 - ROUNDING_RATIO),
         weft_arena_format(arena,
                           "however operators are split, their parts take devices %s in all, and "
                           "there are %u servers",
                           weft_show_time(text, weft_picoseconds(device_s)), n),
         WEFT_BOUND_ANY_STRATEGY, true},
        {"any-strategy-chain", longest_chain(model, least, scratch) * (1 - ROUNDING_RATIO),
         "a part waits for a part of each operator before it, and the backward pass for the "
         "forward pass, each as quick as any split makes it",
         WEFT_BOUND_ANY_STRATEGY, true},
    };
    for (uint32_t i = 0; i < sizeof found / sizeof found[0] && i < bounds_max; i++) {
        bounds[(*bound_count)++] = found[i];
    }
    return true;
}
