// SPDX-License-Identifier: Apache-2.0
// Models in YAML: what is read, and what each bad file is told.

#include "weft/format.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    static struct weft_arena arena;
    struct weft_error error;
    *state = &arena;
    return weft_arena_init(&arena, 0, &error) ? 0 : 1;
}

static int tear_down(void **state)
{
    weft_arena_release(*state);
    return 0;
}

static struct weft_model read_text(const char *text, struct weft_arena *arena)
{
    struct weft_model model;
    struct weft_error error = {.message = ""};
    if (!weft_model_read(&model, text, strlen(text), arena, &error)) {
        fail_msg("%s", error.message);
    }
    return model;
}

static void operators_are_read_with_all_their_numbers(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model =
        read_text("name: zigzag\n"
                  "source: me\n"
                  "batch: 64\n"
                  "dtype: bf16\n"
                  "operators:\n"
                  "  - {name: image, kind: input, shape: [3, 32, 28]}\n"
                  "  - name: conv\n"
                  "    kind: conv2d\n"
                  "    kernel: 3x5\n"
                  "    stride: 2x1\n"
                  "    padding: 1x2\n"
                  "    units: 8\n"
                  "    bias: yes\n"
                  "  - {kind: pool2d, kernel: 3, stride: 2, ceil_mode: true}\n"
                  "  - {name: flat, kind: flat, inputs: [conv]}\n"
                  "  - {kind: dense, units: 5, dtype: fp32}\n"
                  "  - {name: sum, kind: add, inputs: [dense_4, dense_4]}\n",
                  &arena);
    assert_string_equal(model.name, "zigzag");
    assert_string_equal(model.source, "me");
    assert_int_equal(model.batch, 64);
    assert_int_equal(model.operator_count, 6);
    const struct weft_operator *conv = &model.operators[1];
    assert_int_equal(conv->spec.dtype, WEFT_BF16);
    assert_int_equal(conv->shape[0], 8);
    assert_int_equal(conv->shape[1], 16);
    assert_int_equal(conv->shape[2], 28);
    assert_int_equal(conv->parameters, 3 * 3 * 5 * 8 + 8);
    const struct weft_operator *pool = &model.operators[2];
    assert_string_equal(pool->spec.name, "pool2d_2");
    assert_int_equal(pool->shape[1], 8); // (16 - 3) / 2 + 1, rounded up
    assert_int_equal(model.operators[3].spec.inputs[0], 1);
    assert_int_equal(model.operators[4].spec.inputs[0], 3);
    assert_int_equal(model.operators[4].spec.dtype, WEFT_FP32);
    assert_int_equal(model.operators[5].spec.input_count, 2);
}

static void operators_of_transformers_are_read(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model = read_text(
        "batch: 1\n"
        "operators:\n"
        "  - {name: ids, kind: input, dtype: int64, shape: [10, 1]}\n"
        "  - {kind: embedding, rows: 100, dim: 8}\n"
        "  - {kind: attention, heads: 4, kv_heads: 2, head_dim: 3, causal: yes, bias: no}\n"
        "  - {kind: attention, heads: 2, q_rank: 6, kv_rank: 5, rope_dim: 2, nope_dim: 3,"
        " value_dim: 4}\n"
        "  - {kind: experts, experts: 16, experts_active: 2, experts_shared: 1, expert_units: 5,"
        " gated: yes}\n"
        "  - {kind: dense, units: 100, tied: yes}\n",
        &arena);
    assert_string_equal(model.name, "model");
    assert_int_equal(model.operators[1].parameters, 800);
    assert_int_equal(model.operators[2].parameters, 8 * 36);
    assert_true(model.operators[2].spec.causal);
    assert_int_equal(model.operators[3].parameters, 298 + 11);
    assert_int_equal(model.operators[4].parameters, 128 + 17 * 120);
    assert_int_equal(model.operators[5].parameters, 0);
}

// Two models with the same operators.
static void assert_same(const struct weft_model *a, const struct weft_model *b)
{
    assert_int_equal(a->operator_count, b->operator_count);
    assert_int_equal(a->parameters, b->parameters);
    assert_true(a->forward_flops == b->forward_flops);
    for (uint32_t i = 0; i < a->operator_count; i++) {
        assert_string_equal(a->operators[i].spec.name, b->operators[i].spec.name);
        assert_int_equal(a->operators[i].spec.kind, b->operators[i].spec.kind);
        assert_memory_equal(a->operators[i].shape, b->operators[i].shape,
                            sizeof a->operators[i].shape);
    }
}

// Every preset, with numbers that make a network of the zoo.
static void presets_make_the_networks_of_the_zoo(void **state)
{
    static const struct {
        const char *name;
        const char *text;
    } same[] = {
        {"dlrm-16", "preset: dlrm\nbatch: 2\nnumbers: {dense_features: 1024, bottom_layers: 7, "
                    "bottom_units: 1024, tables: 16, rows: 10000000, dim: 256, bag: 100, "
                    "top_layers: 15, top_units: 2048}\n"},
        {"candle-16", "preset: candle\nbatch: 2\nnumbers: {tower_features: [942, 5270, 2048, 5270, "
                      "2048], doses: 2, tower_layers: 12, tower_units: 4096, top_layers: 8, "
                      "top_units: 4096}\n"},
        {"ncf-128", "preset: ncf\nbatch: 2\nnumbers: {tables: 32, users: 1000000, items: 1000000, "
                    "factor: 64, dim: 128, bag: 100, layers: 8, units: 4096}\n"},
        {"vgg16", "preset: vgg\nbatch: 2\n"},
        {"vgg16-16", "preset: vgg\nbatch: 2\nnumbers: {image: 229, padding: 2, pool: 3}\n"},
        {"vgg19", "preset: vgg\nbatch: 2\nnumbers: {depth: 19, units: 4096, classes: 1000}\n"},
        {"resnet50", "preset: resnet\nbatch: 2\n"},
        {"resnet50-128", "preset: resnet\nbatch: 2\nnumbers: {depth: 50, image: 229, norms: no, "
                         "classes: 10}\n"},
        {"bert-16", "preset: seq2seq\nbatch: 2\nnumbers: {layers: 6, sequence: 256, hidden: 768, "
                    "heads: 12}\n"},
        {"bert-base", "preset: transformer\nbatch: 2\nnumbers: {layers: 12, hidden: 768, heads: 12,"
                      " sequence: 512, vocabulary: 30522, tied_embeddings: yes, "
                      "learned_positions: yes, ffn_units: 3072, bias: yes, post_norm: yes, "
                      "token_types: 2, pooler: yes, dtype: fp16}\n"},
        {"vit-b16", "preset: transformer\nbatch: 2\nnumbers: {layers: 12, hidden: 768, heads: 12, "
                    "sequence: 197, learned_positions: yes, ffn_units: 3072, bias: yes, "
                    "patch_elements: 768, classes: 1000}\n"},
        {"llama3-70b", "preset: transformer\nbatch: 2\nnumbers: {layers: 80, hidden: 8192, heads: "
                       "64, kv_heads: 8, head_dim: 128, sequence: 8192, vocabulary: 128256, "
                       "ffn_units: 28672, gated: yes, causal: yes, dtype: bf16}\n"},
        {"deepseek-v3", "preset: transformer\nbatch: 2\nnumbers: {layers: 61, hidden: 7168, heads: "
                        "128, sequence: 4096, vocabulary: 129280, ffn_units: 18432, gated: yes, "
                        "causal: yes, experts: 256, experts_active: 8, experts_shared: 1, "
                        "expert_units: 2048, dense_layers: 3, q_rank: 1536, kv_rank: 512, "
                        "rope_dim: 64, nope_dim: 128, value_dim: 128}\n"},
        {"mixtral-8x7b", "zoo: mixtral-8x7b\nbatch: 2\n"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model ours = read_text(same[i].text, &arena);
        struct weft_model zoo;
        struct weft_error error;
        assert_true(weft_model_named(&zoo, same[i].name, &arena, &error));
        print_message("%s\n", same[i].name);
        assert_same(&ours, &zoo);
        assert_int_equal(ours.batch, 2);
    }
}

static void a_network_of_the_zoo_takes_other_numbers(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model plain = read_text("zoo: llama3-8b\n", &arena);
    assert_string_equal(plain.name, "llama3-8b");
    assert_int_equal(plain.batch, 1024);
    struct weft_model other = read_text("zoo: llama3-8b\n"
                                        "name: long\n"
                                        "batch: 7\n"
                                        "numbers: {sequence: 100, kv_heads: 32}\n",
                                        &arena);
    assert_string_equal(other.name, "long");
    assert_int_equal(other.batch, 7);
    assert_int_equal(other.transformer->sequence, 100);
    assert_int_equal(other.transformer->layers, 32);
    assert_int_equal(other.parameters, plain.parameters + 32ull * 4096 * 2 * 24 * 128);
}

#define HEAD "batch: 8\noperators:\n  - {name: image, kind: input, shape: [3, 8, 8]}\n"
#define STACK "batch: 8\npreset: transformer\nnumbers:\n"

static const struct {
    const char *text;
    const char *message;
} bad_files[] = {
    {"",
     "line 1: the document is empty; give operators and a batch, a preset or a name of the zoo"},
    {"name: x\n", "line 1: none of operators, preset and zoo; give one of them"},
    {"zoo: vgg16\npreset: vgg\n",
     "line 1: more than one of operators, preset and zoo; give one of them"},
    {"preset: vgg\n",
     "line 1: batch: missing; add the samples of one iteration, all servers together"},
    {"preset: vgg\nbatch: 0\n", "line 2: batch: '0' is not a whole number from 1 to 1099511627776"},
    {"zoo: vgg61\n", "line 1: zoo: 'vgg61' is no model of the zoo; did you mean vgg16? weft models "
                     "lists it"},
    {"batch: 1\npreset: dlmr\n",
     "line 2: preset: 'dlmr' is no preset; did you mean dlrm? there are dlrm, candle, ncf, vgg, "
     "resnet, seq2seq, transformer"},
    {"batch: 1\nlayers: 3\n",
     "line 2: layers: unknown key; the keys here are name, source, batch, dtype, preset, zoo, "
     "numbers, operators"},
    {"batch: 1\noperators: 3\n", "line 2: operators: not a list; write one '- ' a row"},
    {"batch: 1\noperators: []\n", "line 2: operators: not 1 to 2048 rows; add or remove some"},
    {"batch: 1\nzoo: vgg16\nnumbers: {depth: 7}\n", "line 3: depth: 7; VGG has 16 or 19 layers"},
    {"batch: 1\nzoo: vgg16\nnumbers: {hidden: 7}\n",
     "line 3: numbers.hidden: vgg has no such number; it has depth, image, padding, pool, units, "
     "classes"},
    {"batch: 1\nzoo: vgg16\nnumbers:\n  tower_features: [1]\n",
     "line 4: numbers.tower_features: vgg has no towers; remove it"},
    {"batch: 1\npreset: candle\nnumbers:\n  tower_features: [1, x]\n",
     "line 4: numbers.tower_features[1]: 'x' is not a whole number from 1 to 1099511627776"},
    {"batch: 1\nzoo: vgg16\ndtype: bf16\n",
     "line 3: dtype: it is for operators; transformers take it among their numbers"},
    {"batch: 1\npreset: dlrm\n", "line 1: bottom_layers: 0; give 1 to 4096"},
    {"batch: 1\nzoo: transformer-big\nnumbers: {vocabulary: 0}\n",
     "line 3: vocabulary and ffn_units belong to the published network; give both, or none for the "
     "stripped one"},
    {STACK "  layers: 2\n  hidden: 8\n  heads: 3\n  sequence: 4\n  vocabulary: 9\n"
           "  ffn_units: 9\n",
     "line 3: operator 'layer_0_attention': 3 heads do not divide the hidden size 8; give "
     "head_dim, "
     "or heads that do"},
    {STACK "  layers: 2\n  hidden: 0\n", "line 5: hidden: 0; give 1 to 16777216"},
    {STACK "  layers: two\n",
     "line 4: numbers.layers: 'two' is not a whole number from 0 to 1000000000"},
    {STACK "  gated: maybe\n",
     "line 4: numbers.gated: 'maybe' is neither yes nor no; write one of them"},
    {STACK "  dtype: bf61\n",
     "line 4: numbers.dtype: 'bf61' is no dtype; did you mean bf16? there are fp32, tf32, bf16, "
     "fp16, fp8, int64"},
    {HEAD "numbers: {layers: 3}\n",
     "line 4: numbers: they belong to a preset or to zoo; remove them"},
    {HEAD "dtype: half\n", "line 4: dtype: 'half' is no dtype; there are fp32, tf32, bf16, fp16, "
                           "fp8, int64"},
    {HEAD "  - {units: 3}\n", "line 4: operators[1].kind: missing; add it"},
    {HEAD "  - {kind: convd, units: 3}\n",
     "line 4: operators[1].kind: 'convd' is no kind of operator; did you mean conv2d? there are "
     "input, conv2d, pool2d, flat, dense, embedding, concat, add, multiply, unary, norm, softmax, "
     "attention, experts"},
    {HEAD "  - {kind: flat, kernel: 3}\n",
     "line 4: operators[1].kernel: flat has no such number; remove it"},
    {HEAD "  - {kind: dense, kernel: 3}\n",
     "line 4: operators[1].kernel: dense has no such number; it has units, bias, tied"},
    {HEAD "  - {kind: pool2d, kernel: 3, stride: 0}\n",
     "line 4: operators[1].stride: height and width, as 3 or 3x5: '0' is not a whole number from 1 "
     "to 65536"},
    {HEAD "  - {kind: pool2d, kernel: 3x}\n",
     "line 4: operators[1].kernel: height and width, as 3 or 3x5: '' is not a whole number from 0 "
     "to 65536"},
    {HEAD "  - {name: image, kind: flat}\n",
     "line 4: operators[1].name: 'image' is the name of an operator above, too; give it another"},
    {HEAD "  - {name: '', kind: flat}\n",
     "line 4: operators[1].name: '' is no name; give it another"},
    {HEAD "  - {kind: flat, inputs: [imgae]}\n",
     "line 4: operators[1].inputs[0]: 'imgae' is no operator above this one; did you mean image?"},
    {HEAD "  - {kind: flat, inputs: [later]}\n  - {name: later, kind: flat}\n",
     "line 4: operators[1].inputs[0]: 'later' is no operator above this one; order operators after "
     "their inputs"},
    {HEAD "  - {kind: input, shape: [3], inputs: [image]}\n",
     "line 4: operators[1].inputs: an input has none; remove them"},
    {HEAD "  - {kind: flat, shape: [192]}\n",
     "line 4: operators[1].shape: only inputs state their shape, others follow from it; remove it"},
    {HEAD "  - {kind: input, shape: [3, 0]}\n",
     "line 4: operators[1].shape[1]: '0' is not a whole number from 1 to 1125899906842624"},
    {HEAD "  - {kind: input, shape: [1, 1, 1, 1]}\n",
     "line 4: operators[1].shape: not 1 to 3 rows; add or remove some"},
    {HEAD "  - {name: big, kind: conv2d, units: 3, kernel: 9}\n",
     "line 4: operator 'big': a kernel of 9 over 8 values; use a smaller kernel or more padding"},
    {HEAD "  - {kind: flat}\n  - {kind: add, inputs: [image, flat_1]}\n",
     "line 5: operator 'add_2': 'image' and 'flat_1' have different shapes; make them equal"},
    {"batch: 1\noperators:\n  - {kind: flat}\n",
     "line 3: operator 'flat_0': 0 inputs; flat takes 1"},
};

static void bad_files_are_told_where_and_what_to_do(void **state)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = {.batch = 77};
        struct weft_error error = {.code = WEFT_OK};
        if (weft_model_read(&model, bad_files[i].text, strlen(bad_files[i].text), &arena, &error)) {
            fail_msg("read: %s", bad_files[i].text);
        }
        assert_string_equal(error.message, bad_files[i].message);
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(model.batch, 77);
    }
}

static void the_examples_are_read(void **state)
{
    struct dirent **entries = NULL;
    int entry_count = scandir(SOURCE_ROOT "/examples/models", &entries, NULL, alphasort);
    uint32_t found = 0;
    for (int i = 0; i < entry_count; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model;
        struct weft_error error;
        if (entries[i]->d_name[0] != '.') {
            const char *path =
                weft_arena_format(&arena, "%s/examples/models/%s", SOURCE_ROOT, entries[i]->d_name);
            if (!weft_model_load(&model, path, &arena, &error)) {
                fail_msg("%s", error.message);
            }
            // A file is named like its model.
            assert_int_equal(strncmp(entries[i]->d_name, model.name, strlen(model.name)), 0);
            found++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(found >= 3);
}

static void errors_of_a_file_start_with_its_name(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model;
    struct weft_error error;
    assert_false(weft_model_load(&model, "/dev/null", &arena, &error));
    assert_int_equal(strncmp(error.message, "/dev/null: line 1: ", 19), 0);
    assert_false(weft_model_load(&model, "no/such.yaml", &arena, &error));
    assert_int_equal(error.code, WEFT_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_read_with_all_their_numbers),
        cmocka_unit_test(operators_of_transformers_are_read),
        cmocka_unit_test(presets_make_the_networks_of_the_zoo),
        cmocka_unit_test(a_network_of_the_zoo_takes_other_numbers),
        cmocka_unit_test(bad_files_are_told_where_and_what_to_do),
        cmocka_unit_test(the_examples_are_read),
        cmocka_unit_test(errors_of_a_file_start_with_its_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
