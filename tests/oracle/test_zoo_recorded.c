// SPDX-License-Identifier: Apache-2.0
// The zoo's TopoOpt networks against what the artifact recorded: the operators' names in its
// profiles, and parameter tensors, order and edges of operators in its task graphs. Skips (77)
// without WEFT_SHARED.
//
// Seen to fail: with CANDLE towers of 8 layers, and with decoder layer i at encoder layer i - 1.

#include "weft/format.h"
#include "weft/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct weft_arena whole;
static struct weft_arena whole_scratch;

static const char *shared(void)
{
    const char *folder = getenv("WEFT_SHARED");
    return folder != NULL ? folder : SOURCE_ROOT "/../shared";
}

static struct weft_model need(const char *name, struct weft_arena *arena)
{
    struct weft_model model;
    struct weft_error error = {.message = ""};
    if (!weft_model_named(&model, name, arena, &error)) {
        fail_msg("%s", error.message);
    }
    return model;
}

// ---- profiles ----

static const struct {
    const char *model;
    const char *profile;
} profiles[] = {
    {"vgg16-16", "vgg16"},          {"bert-16", "transformer16"}, {"dlrm-16", "dlrm16"},
    {"candle-16", "candle16"},      {"vgg16-128", "vgg128"},      {"resnet50-128", "resnet128"},
    {"bert-128", "transformer128"}, {"dlrm-128", "dlrm128"},      {"candle-128", "candle_128"},
    {"ncf-128", "ncf128"},
};

static bool has_measurement(const struct weft_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->count; i++) {
        if (strcmp(profile->measurements[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_operator(const struct weft_model *model, const char *name, struct weft_arena arena)
{
    for (uint32_t i = 0; i < model->operator_count; i++) {
        if (model->operators[i].spec.kind != WEFT_OP_INPUT &&
            strcmp(weft_profile_name(model, i, &arena), name) == 0) {
            return true;
        }
    }
    return false;
}

static void every_operator_is_in_its_profile_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        struct weft_arena arena = whole;
        struct weft_error error = {.message = ""};
        struct weft_model model = need(profiles[i].model, &arena);
        const char *path =
            weft_arena_format(&arena, "%s/inputs/profiles/%s.json", shared(), profiles[i].profile);
        struct weft_profile profile;
        if (!weft_profile_load(&profile, path, &arena, &error)) {
            fail_msg("%s", error.message);
        }
        assert_int_equal(model.batch, profile.batch);
        for (uint32_t k = 0; k < model.operator_count; k++) {
            const char *name = weft_profile_name(&model, k, &arena);
            if (model.operators[k].spec.kind != WEFT_OP_INPUT && !has_measurement(&profile, name)) {
                fail_msg("%s: %s of %s is not measured", path, name, model.name);
            }
        }
        for (uint32_t k = 0; k < profile.count; k++) {
            if (!has_operator(&model, profile.measurements[k].name, arena)) {
                fail_msg("%s: no operator of %s is a %s", path, model.name,
                         profile.measurements[k].name);
            }
        }
    }
}

// ---- task graphs ----

static const struct {
    const char *model;
    const char *file;
} graphs[] = {
    {"vgg16-16", "100vgg_16"},   {"vgg16-16", "400vgg_16"},        {"dlrm-16", "100dlrm_16"},
    {"dlrm-16", "400dlrm_16"},   {"candle-16", "100candle_16"},    {"candle-16", "400candle_16"},
    {"dlrm-128", "100dlrm_128"}, {"bert-16", "100transformer_16"}, {"bert-16", "400transformer_16"},
};

static int compare_bytes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

// Both as sorted lists; an operator in parts of samples has one AllReduce a tensor.
static void check_tensors(const struct weft_model *model, const struct weft_taskgraph *graph,
                          struct weft_arena scratch)
{
    uint64_t *ours = WEFT_NEW(&scratch, uint64_t, (size_t)4 * model->operator_count);
    uint64_t *recorded = WEFT_NEW(&scratch, uint64_t, graph->task_count);
    uint32_t our_count = 0;
    uint32_t recorded_count = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator *op = &model->operators[i];
        for (uint32_t k = 0; k < op->tensor_count; k++) {
            ours[our_count++] = op->tensor_elements[k] * weft_dtype_bytes(op->spec.dtype);
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_ALLREDUCE) {
            recorded[recorded_count++] = graph->size_bytes[t];
        }
    }
    assert_int_equal(our_count, recorded_count);
    qsort(ours, our_count, sizeof ours[0], compare_bytes);
    qsort(recorded, recorded_count, sizeof recorded[0], compare_bytes);
    assert_memory_equal(ours, recorded, our_count * sizeof ours[0]);
}

// The AllReduces that the BACKWARD task after a FORWARD one leads to: the same for all parts of an
// operator. WEFT_NONE = none.
static uint32_t reduction_of(const struct weft_taskgraph *graph, uint32_t forward)
{
    uint32_t least = WEFT_NONE;
    for (uint32_t i = graph->next_first[forward]; i < graph->next_first[forward + 1]; i++) {
        uint32_t backward = graph->next[i];
        if (graph->kind[backward] != WEFT_TASK_BACKWARD) {
            continue;
        }
        for (uint32_t k = graph->next_first[backward]; k < graph->next_first[backward + 1]; k++) {
            uint32_t next = graph->next[k];
            least = graph->kind[next] == WEFT_TASK_ALLREDUCE && next < least ? next : least;
        }
    }
    return least;
}

// The recorded operator of each FORWARD task, in order: a new one begins where the reductions
// change, or without any where a device comes again. Returns how many.
static uint32_t name_operators(const struct weft_taskgraph *graph, uint32_t *op_of,
                               struct weft_arena scratch)
{
    uint32_t *last_seen = WEFT_NEW(&scratch, uint32_t, graph->device_count);
    uint32_t count = 0;
    uint32_t reduction = WEFT_NONE;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        op_of[t] = WEFT_NONE;
        if (graph->kind[t] != WEFT_TASK_FORWARD) {
            continue;
        }
        uint32_t here = reduction_of(graph, t);
        bool again = here == WEFT_NONE && last_seen[graph->device[t]] == count;
        if (count == 0 || here != reduction || again) {
            count++;
        }
        reduction = here;
        last_seen[graph->device[t]] = count;
        op_of[t] = count - 1;
    }
    return count;
}

static void mark_edges(const struct weft_taskgraph *graph, const uint32_t *op_of, uint32_t op_count,
                       bool *joined)
{
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t i = graph->next_first[t];
             op_of[t] != WEFT_NONE && i < graph->next_first[t + 1]; i++) {
            uint32_t next = graph->next[i];
            if (graph->kind[next] == WEFT_TASK_TRANSFER) {
                next = graph->next[graph->next_first[next]];
            }
            // What a FORWARD task feeds: another, or its own BACKWARD.
            if (op_of[next] != WEFT_NONE && op_of[next] != op_of[t]) {
                joined[op_of[t] * op_count + op_of[next]] = true;
            }
        }
    }
}

static void check_edges(const struct weft_model *model, const struct weft_taskgraph *graph,
                        struct weft_arena scratch)
{
    uint32_t *op_of = WEFT_NEW(&scratch, uint32_t, graph->task_count);
    uint32_t op_count = name_operators(graph, op_of, scratch);
    size_t cells = (size_t)op_count * op_count;
    bool *recorded = WEFT_NEW(&scratch, bool, cells);
    bool *ours = WEFT_NEW(&scratch, bool, cells);
    uint32_t *place = WEFT_NEW(&scratch, uint32_t, model->operator_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator_spec *spec = &model->operators[i].spec;
        place[i] = spec->kind == WEFT_OP_INPUT ? WEFT_NONE : count++;
    }
    assert_int_equal(count, op_count);
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator_spec *spec = &model->operators[i].spec;
        for (uint32_t k = 0; k < spec->input_count; k++) {
            if (place[spec->inputs[k]] != WEFT_NONE) {
                ours[place[spec->inputs[k]] * op_count + place[i]] = true;
            }
        }
    }
    mark_edges(graph, op_of, op_count, recorded);
    for (size_t i = 0; i < cells; i++) {
        if (ours[i] != recorded[i]) {
            fail_msg("%s: %zu -> %zu is %s", model->name, i / op_count, i % op_count,
                     ours[i] ? "not recorded" : "only recorded");
        }
    }
}

static void recorded_graphs_have_our_operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        struct weft_arena arena = whole;
        struct weft_error error = {.message = ""};
        struct weft_model model = need(graphs[i].model, &arena);
        struct weft_fbuf fbuf;
        const char *path =
            weft_arena_format(&arena, "%s/inputs/taskgraphs/%s.fbuf", shared(), graphs[i].file);
        if (!weft_fbuf_load(&fbuf, path, &arena, whole_scratch, &error)) {
            fail_msg("%s", error.message);
        }
        print_message("%s\n", graphs[i].file);
        check_tensors(&model, &fbuf.graph, whole_scratch);
        check_edges(&model, &fbuf.graph, whole_scratch);
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&whole, 0, &error) || !weft_arena_init(&whole_scratch, 0, &error)) {
        return 1;
    }
    if (access(shared(), R_OK) != 0) {
        print_message("skipped: no %s\n", shared());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_in_its_profile_and_back),
        cmocka_unit_test(recorded_graphs_have_our_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
