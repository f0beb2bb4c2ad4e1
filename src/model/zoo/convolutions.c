// SPDX-License-Identifier: Apache-2.0
// Image networks: VGG (Simonyan and Zisserman, ICLR 2015) and ResNet with bottlenecks (He et al.,
// CVPR 2016; the stride on the 3 x 3, as frameworks have it). Activations are part of the operators
// they follow.

#include "model/operators/net.h"

static uint32_t add_image(struct weft_net *net, uint64_t size)
{
    const struct weft_operator_spec spec = {
        .name = "image", .kind = WEFT_OP_INPUT, .rank = 3, .shape = {3, size, size}};
    return weft_net_add(net, &spec);
}

static struct weft_operator_spec window(const char *name, enum weft_operator_kind kind,
                                        uint32_t kernel, uint32_t stride, uint32_t padding)
{
    return (struct weft_operator_spec){
        .name = name,
        .kind = kind,
        .kernel = {kernel, kernel},
        .stride = {stride, stride},
        .padding = {padding, padding},
    };
}

static uint32_t add_classes(struct weft_net *net, uint32_t at, uint64_t classes)
{
    at = weft_net_mlp(net, at, "classes", 1, classes);
    return weft_net_after(net, at,
                          (struct weft_operator_spec){.name = "softmax", .kind = WEFT_OP_SOFTMAX});
}

// Five blocks of 3 x 3 convolutions with a pool behind each, two dense layers and the classes;
// configuration D has 16 layers with weights, E has 19.
bool weft_model_build_vgg(struct weft_model *model, const struct weft_model_head *head,
                          const struct weft_vgg *numbers, struct weft_arena *arena,
                          struct weft_error *error)
{
    static const uint64_t channels[5] = {64, 128, 256, 512, 512};
    static const uint32_t layers[2][5] = {{2, 2, 3, 3, 3}, {2, 2, 4, 4, 4}};
    if (numbers->depth != 16 && numbers->depth != 19) {
        return weft_fail(error, WEFT_INPUT, "depth: %u; VGG has 16 or 19 layers", numbers->depth);
    }
    struct weft_net net;
    weft_net_init(&net, 32, arena);
    uint32_t at = add_image(&net, numbers->image);
    uint32_t conv_count = 0;
    for (uint32_t block = 0; block < 5; block++) {
        for (uint32_t i = 0; i < layers[numbers->depth == 19][block]; i++) {
            struct weft_operator_spec conv = window(weft_net_name(&net, "conv", conv_count++),
                                                    WEFT_OP_CONV2D, 3, 1, numbers->padding);
            conv.units = channels[block];
            conv.bias = true;
            at = weft_net_after(&net, at, conv);
        }
        at = weft_net_after(
            &net, at,
            window(weft_net_name(&net, "pool", block), WEFT_OP_POOL2D, numbers->pool, 2, 0));
    }
    at =
        weft_net_after(&net, at, (struct weft_operator_spec){.name = "flat", .kind = WEFT_OP_FLAT});
    at = weft_net_mlp(&net, at, "dense", 2, numbers->units);
    add_classes(&net, at, numbers->classes);
    return weft_net_build(model, head, &net, error);
}

// A convolution, and its norm where the network has norms.
static uint32_t convolve(struct weft_net *net, uint32_t at, const char *name, bool norms,
                         struct weft_operator_spec conv)
{
    conv.name = name;
    conv.bias = !norms;
    at = weft_net_after(net, at, conv);
    if (!norms) {
        return at;
    }
    return weft_net_after(
        net, at,
        (struct weft_operator_spec){.name = weft_arena_format(net->arena, "%s_norm", name),
                                    .kind = WEFT_OP_NORM,
                                    .bias = true});
}

struct bottleneck {
    uint64_t channels; // of its inner convolutions; it ends in 4 times as many
    uint32_t stride;   // of its 3 x 3
    bool project;      // the shortcut is a convolution, because the shape changes
    bool norms;
    uint32_t index;
};

// He et al., figure 5, right: three convolutions beside a shortcut.
static uint32_t add_bottleneck(struct weft_net *net, uint32_t at, const struct bottleneck *block)
{
    const char *prefix = weft_net_name(net, "block", block->index);
    uint32_t sum[2] = {at, at};
    for (uint32_t i = 0; i < 3; i++) {
        struct weft_operator_spec conv = window(NULL, WEFT_OP_CONV2D, i == 1 ? 3 : 1,
                                                i == 1 ? block->stride : 1, i == 1 ? 1 : 0);
        conv.units = i == 2 ? 4 * block->channels : block->channels;
        const char *name = weft_arena_format(net->arena, "%s_conv_%u", prefix, i);
        sum[0] = convolve(net, sum[0], name, block->norms, conv);
    }
    if (block->project) {
        struct weft_operator_spec conv = window(NULL, WEFT_OP_CONV2D, 1, block->stride, 0);
        conv.units = 4 * block->channels;
        sum[1] = convolve(net, at, weft_arena_format(net->arena, "%s_shortcut", prefix),
                          block->norms, conv);
    }
    at = weft_net_join(net, sum, 2,
                       (struct weft_operator_spec){
                           .name = weft_arena_format(net->arena, "%s_sum", prefix),
                           .kind = WEFT_OP_ADD,
                       });
    return weft_net_after(net, at,
                          (struct weft_operator_spec){
                              .name = weft_arena_format(net->arena, "%s_relu", prefix),
                              .kind = WEFT_OP_UNARY,
                          });
}

// A stem, four stages of bottlenecks whose channels double and whose images halve, the mean of each
// channel, and the classes.
bool weft_model_build_resnet(struct weft_model *model, const struct weft_model_head *head,
                             const struct weft_resnet *numbers, struct weft_arena *arena,
                             struct weft_error *error)
{
    static const struct {
        uint32_t depth, blocks[4];
    } shapes[] = {{50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}};
    const uint32_t *blocks = NULL;
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        blocks = shapes[i].depth == numbers->depth ? shapes[i].blocks : blocks;
    }
    if (blocks == NULL) {
        return weft_fail(error, WEFT_INPUT, "depth: %u; there are 50, 101 and 152", numbers->depth);
    }
    struct weft_net net;
    weft_net_init(&net, 4 * numbers->depth, arena);
    struct weft_operator_spec stem = window(NULL, WEFT_OP_CONV2D, 7, 2, 3);
    stem.units = 64;
    uint32_t at = convolve(&net, add_image(&net, numbers->image), "stem", numbers->norms, stem);
    at = weft_net_after(&net, at, window("pool", WEFT_OP_POOL2D, 3, 2, 1));
    uint32_t index = 0;
    for (uint32_t stage = 0; stage < 4; stage++) {
        for (uint32_t i = 0; i < blocks[stage]; i++) {
            const struct bottleneck block = {
                .channels = 64ull << stage,
                .stride = stage > 0 && i == 0 ? 2 : 1,
                .project = i == 0,
                .norms = numbers->norms,
                .index = index++,
            };
            at = add_bottleneck(&net, at, &block);
        }
    }
    at = weft_net_after(&net, at, window("mean", WEFT_OP_POOL2D, 7, 1, 0));
    at =
        weft_net_after(&net, at, (struct weft_operator_spec){.name = "flat", .kind = WEFT_OP_FLAT});
    add_classes(&net, at, numbers->classes);
    return weft_net_build(model, head, &net, error);
}
