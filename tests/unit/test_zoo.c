// SPDX-License-Identifier: Apache-2.0
// The zoo against published counts.

#include "weft/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
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

static struct weft_model need(const char *name, struct weft_arena *arena)
{
    struct weft_model model;
    struct weft_error error = {.message = ""};
    if (!weft_model_named(&model, name, arena, &error)) {
        fail_msg("%s: %s", name, error.message);
    }
    return model;
}

static bool near(double value, double published, double tolerance)
{
    return fabs(value - published) <= tolerance * published;
}

static void the_whole_zoo_builds_and_says_where_it_comes_from(void **state)
{
    uint32_t count = 0;
    const struct weft_zoo_entry *zoo = weft_model_zoo(&count);
    assert_true(count >= 40);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(zoo[i].name, &arena);
        assert_string_equal(model.name, zoo[i].name);
        assert_true(strlen(model.source) > 10);
        assert_true(strlen(zoo[i].summary) < 72);
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(zoo[i].name, zoo[k].name);
        }
        uint64_t parameters = 0;
        for (uint32_t k = 0; k < model.operator_count; k++) {
            const struct weft_operator *op = &model.operators[k];
            parameters += op->parameters;
            for (uint32_t in = 0; in < op->spec.input_count; in++) {
                assert_true(op->spec.inputs[in] < k);
            }
        }
        assert_int_equal(parameters, model.parameters);
    }
}

// Whole numbers of parameters as the checkpoints of these networks have them.
static void parameters_are_those_published(void **state)
{
    static const struct {
        const char *name;
        uint64_t parameters;
        const char *source;
    } published[] = {
        {"vgg16", 138357544, "torchvision vgg16"},
        {"vgg19", 143667240, "torchvision vgg19"},
        {"resnet50", 25557032, "torchvision resnet50"},
        {"vit-b16", 86567656, "torchvision vit_b_16"},
        {"vit-l16", 304326632, "torchvision vit_l_16"},
        {"vit-h14", 632045800, "torchvision vit_h_14 at 224"},
        {"bert-base", 109482240, "bert-base-uncased with its pooler"},
        {"bert-large", 335141888, "bert-large-uncased with its pooler"},
        {"gpt2-355m", 354823168, "gpt2-medium"},
        {"llama3-8b", 8030261248, "Meta-Llama-3-8B"},
        {"llama3-70b", 70553706496, "Meta-Llama-3-70B"},
        {"llama3-405b", 405853388800, "Llama-3.1-405B"},
        {"mixtral-8x7b", 46702792704, "Mixtral-8x7B-v0.1"},
        {"mixtral-8x22b", 140620634112, "Mixtral-8x22B-v0.1"},
        {"deepseek-v3", 671026404352, "DeepSeek-V3 without multi-token prediction"},
    };
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(published[i].name, &arena);
        if (model.parameters != published[i].parameters) {
            fail_msg("%s: %llu parameters, not %llu (%s)", model.name,
                     (unsigned long long)model.parameters,
                     (unsigned long long)published[i].parameters, published[i].source);
        }
    }
}

// Vaswani et al., table 3: 213 million, for about 37000 tokens. Beside it the count by their
// formulas, and what a stripped network of the same numbers has not: ends, norms, wider layers.
static void the_transformer_is_that_of_its_paper(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model = need("transformer-big", &arena);
    uint64_t d = 1024;
    uint64_t attention = 4 * d * d;
    uint64_t feed = 2 * d * 4096 + 4096 + d;
    assert_int_equal(model.parameters, 37000 * d + 18 * attention + 12 * feed + 30 * 2 * d);
    assert_true(near((double)model.parameters, 213e6, 0.01));
    uint32_t crossing = 0;
    for (uint32_t i = 0; i < model.operator_count; i++) {
        const struct weft_operator *op = &model.operators[i];
        if (op->spec.kind == WEFT_OP_ATTENTION && op->spec.input_count == 2) {
            const char *seen = model.operators[op->spec.inputs[1]].spec.name;
            assert_string_equal(seen, "encoder_feed_5_norm"); // the last layer's, of every decoder
            crossing++;
        }
    }
    assert_int_equal(crossing, 6);
    // Two FLOPs a weight and token of the layers, four times the sequence a score and layer, the
    // output matrix; sums, norms and the softmax are small.
    double tokens = 256;
    double layers = 2.0 * (double)(18 * attention + 12 * feed) + 4.0 * 18 * tokens * (double)d;
    double flops = tokens * (layers + 2.0 * 37000 * (double)d);
    assert_true(near(model.forward_flops, flops, 0.01));
}

// GPT-3's table 2.1, in 1e9; its 1.3B and 2.7B rows count with heads that make the hidden size.
static void gpt3_has_the_sizes_of_its_table(void **state)
{
    static const struct {
        const char *name;
        double billions;
    } rows[] = {
        {"gpt3-125m", 0.125}, {"gpt3-350m", 0.356}, {"gpt3-760m", 0.760}, {"gpt3-1.3b", 1.3},
        {"gpt3-2.7b", 2.7},   {"gpt3-6.7b", 6.7},   {"gpt3-13b", 13.0},   {"gpt3-175b", 174.6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(rows[i].name, &arena);
        assert_true(near((double)model.parameters, 1e9 * rows[i].billions, 0.02));
    }
}

// Multiply-adds in 1e9 an image: the papers' and torchvision's figures, which leave out
// element-wise work (below 1 %).
static void image_networks_have_the_published_flops(void **state)
{
    static const struct {
        const char *name;
        double gmacs;
    } published[] = {
        {"vgg16", 15.47},   {"vgg19", 19.63},   {"resnet50", 4.09},
        {"vit-b16", 17.56}, {"vit-l16", 61.55}, {"vit-h14", 167.29},
    };
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(published[i].name, &arena);
        assert_true(near(model.forward_flops / 2e9, published[i].gmacs, 0.01));
    }
}

// Narayanan et al., SC 2021: P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)) (equation 2; it leaves
// out the last norm, 2 h), and 24 s l h^2 (1 + s/(6 h) + V/(12 l h)) FLOPs of a sample's forward
// pass: with two backward and one more forward, their 96 B s l h^2 (1 + s/(6 h) + V/(16 l h)), in
// which the output matrix is not run again.
static void gpt_follows_megatrons_formulas(void **state)
{
    static const struct {
        const char *name;
        double billions; // as their table 1 has it
    } rows[] = {
        {"gpt-1.7b", 1.7},     {"gpt-3.6b", 3.6},   {"gpt-7.5b", 7.5},     {"gpt-18.4b", 18.4},
        {"gpt-39.1b", 39.1},   {"gpt-76.1b", 76.1}, {"gpt-145.6b", 145.6}, {"gpt-310.1b", 310.1},
        {"gpt-529.6b", 529.6}, {"gpt-1t", 1008.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(rows[i].name, &arena);
        const struct weft_transformer *t = model.transformer;
        double l = t->layers;
        double h = (double)t->hidden;
        double s = (double)t->sequence;
        double v = (double)t->vocabulary;
        double parameters = 12 * l * h * h + 13 * l * h + (v + s) * h;
        double flops = 24 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
        assert_true((double)model.parameters == parameters + 2 * h);
        assert_true(near((double)model.parameters, 1e9 * rows[i].billions, 0.03));
        // The rest is norms, sums, activations and the softmax.
        assert_true(near(model.forward_flops, flops, 0.002));
        assert_true(model.forward_flops > flops);
    }
}

// 6 N D of Kaplan et al. (2020): two FLOPs a parameter and token in the forward pass, where lookups
// and scores are small.
static void big_dense_models_take_two_flops_a_parameter(void **state)
{
    static const char *const names[] = {"gpt3-175b", "llama3-405b", "gpt-1t"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(names[i], &arena);
        double tokens = (double)model.transformer->sequence;
        assert_true(near(model.forward_flops / tokens, 2 * (double)model.parameters, 0.05));
    }
}

// "47B parameters, uses 13B active", "141B and 39B", "671B of which 37B are activated".
static void mixtures_have_the_published_active_parameters(void **state)
{
    static const struct {
        const char *name;
        double billions;
    } published[] = {{"mixtral-8x7b", 12.9},
                     {"mixtral-8x22b", 39.1},
                     {"llama-moe", 3.5},
                     {"qwen-moe", 2.7},
                     {"deepseek-v3", 37}};
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_model model = need(published[i].name, &arena);
        double active = (double)weft_model_active_parameters(&model);
        assert_true(near(active, 1e9 * published[i].billions, 0.02));
    }
}

static void dense_networks_are_active_as_a_whole(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model = need("bert-16", &arena);
    assert_int_equal(weft_model_active_parameters(&model), model.parameters);
    // 61 operators of 256 x 768 values but the last, of 256 x 1, and queries, keys, values and
    // context of 18 attentions.
    assert_true(weft_model_kept_bytes(&model) == 4.0 * 256 * (60 * 768 + 1 + 18 * 4 * 768));
}

static void transformers_out_of_shape_are_refused(void **state)
{
    const struct weft_transformer good = {
        .layers = 2,
        .hidden = 8,
        .heads = 2,
        .sequence = 4,
        .vocabulary = 10,
        .ffn_units = 16,
    };
    struct weft_transformer bad[6] = {good, good, good, good, good, good};
    bad[0].layers = 0;
    bad[1].heads = 3;
    bad[2].ffn_units = 0;
    bad[3].patch_elements = 12;
    bad[4].vocabulary = 0;
    bad[5].dense_layers = 3;
    static const char *const messages[6] = {
        "layers: 0; give 1 to 4096",
        "operator 'layer_0_attention': 3 heads do not divide the hidden size 8; give head_dim, or "
        "heads that do",
        "no ffn_units; give at least 1",
        "a vocabulary and patches; give one of them, patches with classes",
        "no vocabulary; give one, or patch_elements, classes and a sequence of the patches and one "
        "more",
        "dense_layers: 3; give 0 to 2",
    };
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model;
    struct weft_error error = {.message = ""};
    assert_true(weft_model_build_transformer(&model, &(struct weft_model_head){"t", "test", 1},
                                             &good, &arena, &error));
    assert_int_equal(model.transformer->kv_heads, 2);
    assert_int_equal(model.transformer->head_dim, 4);
    for (uint32_t i = 0; i < 6; i++) {
        assert_false(weft_model_build_transformer(&model, &(struct weft_model_head){"t", "test", 1},
                                                  &bad[i], &arena, &error));
        assert_string_equal(error.message, messages[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_zoo_builds_and_says_where_it_comes_from),
        cmocka_unit_test(parameters_are_those_published),
        cmocka_unit_test(the_transformer_is_that_of_its_paper),
        cmocka_unit_test(gpt3_has_the_sizes_of_its_table),
        cmocka_unit_test(image_networks_have_the_published_flops),
        cmocka_unit_test(gpt_follows_megatrons_formulas),
        cmocka_unit_test(big_dense_models_take_two_flops_a_parameter),
        cmocka_unit_test(mixtures_have_the_published_active_parameters),
        cmocka_unit_test(dense_networks_are_active_as_a_whole),
        cmocka_unit_test(transformers_out_of_shape_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
