// SPDX-License-Identifier: Apache-2.0
// What a part of an operator costs: measured, or by the roofline (docs/costs.md).

#include "profile.h"

#include <math.h>
#include <string.h>

// Rows of a table that are gathered at random reach this share of the streaming rate.
#define GATHER_RATIO 0.6

const char *weft_cost_source_name(enum weft_cost_source source)
{
    return source == WEFT_COST_MEASURED ? "measured" : "roofline";
}

const char *weft_cost_limit_name(enum weft_cost_limit limit)
{
    static const char *const names[] = {
        [WEFT_LIMIT_NONE] = "none",
        [WEFT_LIMIT_FLOPS] = "flops",
        [WEFT_LIMIT_MEMORY] = "memory",
        [WEFT_LIMIT_LAUNCH] = "launch",
    };
    WEFT_ASSERT((size_t)limit < sizeof names / sizeof names[0]);
    return names[limit];
}

// How a kind of operator runs: kernels that nothing overlaps, and whether each of its parts reads
// the whole input when the parameters are divided.
struct habit {
    uint32_t forward_kernels;
    uint32_t backward_kernels;
    bool whole_input;
    bool parameters_divide; // a search may divide them
};

static struct habit habit_of(enum weft_operator_kind kind)
{
    static const struct habit habits[WEFT_OP_KIND_COUNT] = {
        [WEFT_OP_CONV2D] = {2, 3, true, true},     // product, bias
        [WEFT_OP_POOL2D] = {1, 1, false, false},   //
        [WEFT_OP_FLAT] = {1, 1, false, false},     // a copy
        [WEFT_OP_DENSE] = {2, 4, true, true},      // product, bias; two products, two sums
        [WEFT_OP_EMBEDDING] = {1, 1, true, true},  //
        [WEFT_OP_CONCAT] = {1, 1, false, false},   //
        [WEFT_OP_ADD] = {1, 2, false, false},      //
        [WEFT_OP_MULTIPLY] = {1, 2, false, false}, //
        [WEFT_OP_UNARY] = {1, 1, false, false},    //
        [WEFT_OP_NORM] = {1, 2, false, false},     //
        [WEFT_OP_SOFTMAX] = {1, 1, false, false},  //
        [WEFT_OP_ATTENTION] = {7, 14, true, true}, // four projections, scores, softmax, context
        [WEFT_OP_EXPERTS] = {6, 12, true, false},  // router, dispatch, three products, combine
    };
    WEFT_ASSERT(kind < WEFT_OP_KIND_COUNT);
    return habits[kind];
}

static bool fail_part(const struct weft_model *model, uint32_t op, struct weft_error *error)
{
    return weft_wrap(error, "operator '%.64s'", model->operators[op].spec.name);
}

// ---- splits ----

// What parameter_parts divide: heads, channels or the innermost dimension.
static bool parameters_divide(const struct weft_operator *op, uint32_t parts)
{
    if (op->spec.kind == WEFT_OP_ATTENTION) {
        uint32_t kv_heads = op->spec.kv_heads > 0 ? op->spec.kv_heads : op->spec.heads;
        return op->spec.heads % parts == 0 && kv_heads % parts == 0;
    }
    uint64_t size = op->rank == 3 ? op->shape[0] : op->rank > 0 ? op->shape[op->rank - 1] : 1;
    return size % parts == 0;
}

static bool check_split(const struct weft_model *model, uint32_t op, struct weft_split split,
                        struct weft_error *error)
{
    WEFT_ASSERT(split.sample_parts > 0 && split.parameter_parts > 0);
    if (model->batch % split.sample_parts != 0) {
        weft_fail(error, WEFT_INPUT,
                  "a batch of %llu does not divide into %u parts of equal size; change the batch",
                  (unsigned long long)model->batch, split.sample_parts);
        return fail_part(model, op, error);
    }
    if (!parameters_divide(&model->operators[op], split.parameter_parts)) {
        weft_fail(error, WEFT_INPUT, "its %s do not divide into %u parts of equal size",
                  model->operators[op].spec.kind == WEFT_OP_ATTENTION ? "heads" : "columns",
                  split.parameter_parts);
        return fail_part(model, op, error);
    }
    return true;
}

// ---- the roofline ----

// What one accelerator does in one pass over its share of a part.
struct work {
    double flops;
    double bytes;
    uint32_t kernels;
};

// FLOP/s that kernels reach; 0 = the accelerator lacks the dtype.
static double reached_flops_per_s(const struct weft_operator *op,
                                  const struct weft_accelerator *accelerator)
{
    enum weft_dtype dtype = op->spec.dtype;
    bool cudnn = op->spec.kind == WEFT_OP_CONV2D || op->spec.kind == WEFT_OP_ATTENTION;
    if (dtype == WEFT_FP32 && cudnn && accelerator->flops_per_s[WEFT_TF32] > 0) {
        dtype = WEFT_TF32;
    }
    if (dtype == WEFT_FP32 || dtype == WEFT_INT64) {
        return accelerator->flops_per_s[WEFT_FP32] * accelerator->fp32_efficiency;
    }
    return accelerator->flops_per_s[dtype] * accelerator->matmul_efficiency;
}

// Bytes of the forward pass of `samples` samples in one of `parts` parameter parts.
static double forward_bytes(const struct weft_model *model, const struct weft_operator *op,
                            double samples, double parts)
{
    double kept = 0; // what each part reads whole
    if (habit_of(op->spec.kind).whole_input) {
        for (uint32_t i = 0; i < op->spec.input_count; i++) {
            const struct weft_operator *input = &model->operators[op->spec.inputs[i]];
            kept += (double)input->output_elements * weft_dtype_bytes(input->spec.dtype);
        }
    }
    double a_sample = op->forward_bytes - (double)op->parameter_bytes_read;
    kept = fmin(kept, a_sample);
    double bytes = samples * (kept + (a_sample - kept) / parts);
    bytes += (double)op->parameter_bytes_read / parts;
    return op->spec.kind == WEFT_OP_EMBEDDING ? bytes / GATHER_RATIO : bytes;
}

static uint64_t roofline_ps(enum weft_cost_limit *limit, const struct work *work,
                            double flops_per_s, const struct weft_accelerator *accelerator)
{
    double compute_s = work->flops > 0 ? work->flops / flops_per_s : 0;
    double memory_s = work->bytes / (accelerator->memory_Bps * accelerator->memory_efficiency);
    double launch_s = (double)work->kernels * weft_seconds(accelerator->launch_ps);
    double busy_s = fmax(compute_s, memory_s);
    *limit = launch_s > busy_s      ? WEFT_LIMIT_LAUNCH
             : compute_s > memory_s ? WEFT_LIMIT_FLOPS
                                    : WEFT_LIMIT_MEMORY;
    return weft_picoseconds(busy_s + launch_s);
}

bool weft_operator_roofline(struct weft_operator_cost *cost, const struct weft_model *model,
                            uint32_t op, uint32_t sample_parts, uint32_t parameter_parts,
                            const struct weft_cost_options *options, struct weft_error *error)
{
    WEFT_ASSERT(op < model->operator_count);
    WEFT_ASSERT(options->accelerator != NULL && options->accelerators_per_server > 0);
    const struct weft_operator *operator= & model->operators[op];
    const struct weft_accelerator *accelerator = options->accelerator;
    struct weft_split split = {sample_parts, parameter_parts};
    if (!check_split(model, op, split, error)) {
        return false;
    }
    struct weft_operator_cost found = {.source = WEFT_COST_ROOFLINE};
    if (operator->spec.kind == WEFT_OP_INPUT) {
        *cost = found;
        return true;
    }
    double flops_per_s = reached_flops_per_s(operator, accelerator);
    if (operator->forward_flops> 0 && flops_per_s <= 0) {
        weft_fail(error, WEFT_INPUT, "%s does not compute in %s; choose another dtype",
                  accelerator->name, weft_dtype_name(operator->spec.dtype));
        return fail_part(model, op, error);
    }
    // Tables are shared by columns, all else by samples.
    uint32_t sharers = options->accelerators_per_server;
    bool columns = operator->spec.kind == WEFT_OP_EMBEDDING;
    double parts = (double)parameter_parts * (columns ? sharers : 1);
    double samples = (double)(model->batch / sample_parts);
    samples = columns ? samples : ceil(samples / sharers);
    struct habit habit = habit_of(operator->spec.kind);
    struct work forward = {
        .flops = samples * operator->forward_flops / parts,
        .bytes = forward_bytes(model, operator, samples, parts),
        .kernels = habit.forward_kernels,
    };
    // The gradient of the output is read for both products; inputs and parameters are read and
    // their gradients written.
    struct work backward = {
        .flops = samples * operator->backward_flops / parts,
        .bytes = 2 * forward.bytes,
        .kernels = habit.backward_kernels,
    };
    found.forward_ps = roofline_ps(&found.forward_limit, &forward, flops_per_s, accelerator);
    found.backward_ps = roofline_ps(&found.backward_limit, &backward, flops_per_s, accelerator);
    *cost = found;
    return true;
}

// ---- measured ----

// Lists the splits that a profile has for a name, "4x1, 8x1", cut short with "...".
static void list_splits(char *buffer, size_t room, const struct weft_profile *profile,
                        const char *name)
{
    size_t length = 0;
    buffer[0] = '\0';
    for (uint32_t i = weft_profile_first(profile, name);
         i < profile->count && strcmp(profile->measurements[i].name, name) == 0; i++) {
        struct weft_split split;
        if (!weft_measurement_split(&split, &profile->measurements[i])) {
            continue;
        }
        if (length + 40 > room) {
            snprintf(buffer + length, room - length, ", ...");
            return;
        }
        length +=
            (size_t)snprintf(buffer + length, room - length, "%s%ux%u", length == 0 ? "" : ", ",
                             split.sample_parts, split.parameter_parts);
    }
}

static bool fail_missing(const struct weft_model *model, uint32_t op, const char *name,
                         const char *splits, const char *wanted, struct weft_error *error)
{
    if (splits[0] == '\0') {
        weft_fail(error, WEFT_INPUT,
                  "the profile has no %s; measure it, or fill the gap from the roofline with weft "
                  "profile MODEL --profile FILE -o FULL.json",
                  name);
    } else {
        weft_fail(error, WEFT_INPUT,
                  "the profile has %s in %s (sample x parameter) parts, not %s; measure that, or "
                  "choose one of them",
                  name, splits, wanted);
    }
    return fail_part(model, op, error);
}

static bool check_batch(const struct weft_model *model, const struct weft_profile *profile,
                        struct weft_error *error)
{
    if (profile->batch == model->batch) {
        return true;
    }
    return weft_fail(error, WEFT_INPUT,
                     "the profile was measured with a batch of %llu, the model has %llu; set the "
                     "model's batch to %llu or take another profile",
                     (unsigned long long)profile->batch, (unsigned long long)model->batch,
                     (unsigned long long)profile->batch);
}

static bool measured_time(struct weft_operator_cost *cost, const struct weft_model *model,
                          uint32_t op, struct weft_split split, const struct weft_profile *profile,
                          struct weft_error *error)
{
    char name[WEFT_PROFILE_NAME];
    if (!check_batch(model, profile, error)) {
        return false;
    }
    weft_profile_name_into(name, model, op);
    const struct weft_measurement *found =
        weft_profile_find(profile, name, split.sample_parts, split.parameter_parts);
    if (found == NULL) {
        char splits[160];
        char wanted[32];
        list_splits(splits, sizeof splits, profile, name);
        snprintf(wanted, sizeof wanted, "%ux%u", split.sample_parts, split.parameter_parts);
        return fail_missing(model, op, name, splits, wanted, error);
    }
    *cost = (struct weft_operator_cost){
        .forward_ps = found->forward_ps,
        .backward_ps = found->backward_ps,
        .source = WEFT_COST_MEASURED,
    };
    return true;
}

bool weft_operator_time(struct weft_operator_cost *cost, const struct weft_model *model,
                        uint32_t op, uint32_t sample_parts, uint32_t parameter_parts,
                        const struct weft_cost_options *options, struct weft_error *error)
{
    WEFT_ASSERT(op < model->operator_count);
    struct weft_split split = {sample_parts, parameter_parts};
    if (options->profile == NULL || model->operators[op].spec.kind == WEFT_OP_INPUT) {
        return weft_operator_roofline(cost, model, op, sample_parts, parameter_parts, options,
                                      error);
    }
    return check_split(model, op, split, error) &&
           measured_time(cost, model, op, split, options->profile, error);
}

// ---- splits to choose from ----

// The measured splits of at most server_count parts that divide the operator evenly.
static uint32_t measured_splits(struct weft_split *splits, const struct weft_model *model,
                                uint32_t op, uint32_t server_count,
                                const struct weft_profile *profile, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = weft_profile_first(profile, name);
         i < profile->count && strcmp(profile->measurements[i].name, name) == 0; i++) {
        struct weft_split split;
        if (!weft_measurement_split(&split, &profile->measurements[i]) ||
            (uint64_t)split.sample_parts * split.parameter_parts > server_count ||
            model->batch % split.sample_parts != 0 ||
            !parameters_divide(&model->operators[op], split.parameter_parts)) {
            continue;
        }
        uint32_t at = count++;
        while (at > 0 && (splits[at - 1].sample_parts > split.sample_parts ||
                          (splits[at - 1].sample_parts == split.sample_parts &&
                           splits[at - 1].parameter_parts > split.parameter_parts))) {
            splits[at] = splits[at - 1];
            at--;
        }
        splits[at] = split;
    }
    return count;
}

static bool splits_by_profile(const struct weft_split **splits, uint32_t *count,
                              const struct weft_model *model, uint32_t op, uint32_t server_count,
                              const struct weft_profile *profile, struct weft_arena *arena,
                              struct weft_error *error)
{
    char name[WEFT_PROFILE_NAME];
    if (!check_batch(model, profile, error)) {
        return false;
    }
    weft_profile_name_into(name, model, op);
    uint32_t room = 0;
    uint32_t first = weft_profile_first(profile, name);
    while (first + room < profile->count &&
           strcmp(profile->measurements[first + room].name, name) == 0) {
        room++;
    }
    struct weft_split *found = WEFT_NEW(arena, struct weft_split, (size_t)room + 1);
    uint32_t found_count = measured_splits(found, model, op, server_count, profile, name);
    if (found_count == 0) {
        char listed[160];
        char wanted[64];
        list_splits(listed, sizeof listed, profile, name);
        snprintf(wanted, sizeof wanted, "in parts that fit %u servers", server_count);
        return fail_missing(model, op, name, listed, wanted, error);
    }
    *splits = found;
    *count = found_count;
    return true;
}

// Ascending. O(sqrt(number)).
static const uint32_t *divisors_of(uint32_t *count, uint32_t number, struct weft_arena *arena)
{
    uint32_t low_count = 0;
    for (uint32_t i = 1; (uint64_t)i * i <= number; i++) {
        low_count += number % i == 0;
    }
    uint32_t *divisors = WEFT_NEW(arena, uint32_t, (size_t)2 * low_count);
    uint32_t low = 0;
    for (uint32_t i = 1; (uint64_t)i * i <= number; i++) {
        if (number % i == 0) {
            divisors[low++] = i;
        }
    }
    uint32_t total = low;
    for (uint32_t i = low; i-- > 0;) {
        if (divisors[i] != number / divisors[i]) {
            divisors[total++] = number / divisors[i];
        }
    }
    *count = total;
    return divisors;
}

bool weft_operator_splits(const struct weft_split **splits, uint32_t *count,
                          const struct weft_model *model, uint32_t op, uint32_t server_count,
                          const struct weft_cost_options *options, struct weft_arena *arena,
                          struct weft_error *error)
{
    WEFT_ASSERT(op < model->operator_count && server_count > 0);
    const struct weft_operator *operator= & model->operators[op];
    bool input = operator->spec.kind == WEFT_OP_INPUT;
    if (options->profile != NULL && !input) {
        return splits_by_profile(splits, count, model, op, server_count, options->profile, arena,
                                 error);
    }
    uint32_t divisor_count = 0;
    const uint32_t *divisors = divisors_of(&divisor_count, input ? 1 : server_count, arena);
    struct weft_split *found =
        WEFT_NEW(arena, struct weft_split, (size_t)divisor_count * divisor_count);
    uint32_t found_count = 0;
    bool divide = habit_of(operator->spec.kind).parameters_divide;
    for (uint32_t i = 0; i < divisor_count; i++) {
        uint32_t s = divisors[i];
        for (uint32_t j = 0; j < (divide ? divisor_count : 1) && model->batch % s == 0; j++) {
            uint32_t p = divisors[j];
            if (server_count / s % p == 0 && parameters_divide(operator, p)) {
                found[found_count++] = (struct weft_split){s, p};
            }
        }
    }
    WEFT_ASSERT(found_count > 0);
    *splits = found;
    *count = found_count;
    return true;
}
