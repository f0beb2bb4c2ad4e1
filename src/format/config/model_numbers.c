// SPDX-License-Identifier: Apache-2.0
// The numbers of the zoo's families of networks, under "numbers" in a model file: texts in, the
// family's struct out.
//
// A table for each family says which keys it has and what each may be, so that a new family is
// a table and a struct (weft/model.h). Numbers that are left out keep the value of a preset or
// of the family's defaults.

#include "model_numbers.h"

#include <stddef.h>
#include <string.h>

#define MEMBER(family, type, key, kind)                                                            \
    {                                                                                              \
#key, kind, offsetof(struct type, key), 1u << (family)                                     \
    }
#define DLRM(key, kind) MEMBER(WEFT_FAMILY_DLRM, weft_dlrm, key, kind)
#define CANDLE(key, kind) MEMBER(WEFT_FAMILY_CANDLE, weft_candle, key, kind)
#define NCF(key, kind) MEMBER(WEFT_FAMILY_NCF, weft_ncf, key, kind)
#define VGG(key, kind) MEMBER(WEFT_FAMILY_VGG, weft_vgg, key, kind)
#define RESNET(key, kind) MEMBER(WEFT_FAMILY_RESNET, weft_resnet, key, kind)
#define SEQ2SEQ(key, kind) MEMBER(WEFT_FAMILY_SEQ2SEQ, weft_seq2seq, key, kind)
#define STACK(key, kind) MEMBER(WEFT_FAMILY_TRANSFORMER, weft_transformer, key, kind)

static const struct weft_yaml_member members[] = {
    DLRM(dense_features, WEFT_YAML_U64),
    DLRM(bottom_layers, WEFT_YAML_U32),
    DLRM(bottom_units, WEFT_YAML_U64),
    DLRM(tables, WEFT_YAML_U32),
    DLRM(rows, WEFT_YAML_U64),
    DLRM(dim, WEFT_YAML_U64),
    DLRM(bag, WEFT_YAML_U64),
    DLRM(top_layers, WEFT_YAML_U32),
    DLRM(top_units, WEFT_YAML_U64),
    CANDLE(doses, WEFT_YAML_U32),
    CANDLE(tower_layers, WEFT_YAML_U32),
    CANDLE(tower_units, WEFT_YAML_U64),
    CANDLE(top_layers, WEFT_YAML_U32),
    CANDLE(top_units, WEFT_YAML_U64),
    NCF(tables, WEFT_YAML_U32),
    NCF(users, WEFT_YAML_U64),
    NCF(items, WEFT_YAML_U64),
    NCF(factor, WEFT_YAML_U64),
    NCF(dim, WEFT_YAML_U64),
    NCF(bag, WEFT_YAML_U64),
    NCF(layers, WEFT_YAML_U32),
    NCF(units, WEFT_YAML_U64),
    VGG(depth, WEFT_YAML_U32),
    VGG(image, WEFT_YAML_U64),
    VGG(padding, WEFT_YAML_U32),
    VGG(pool, WEFT_YAML_U32),
    VGG(units, WEFT_YAML_U64),
    RESNET(depth, WEFT_YAML_U32),
    RESNET(image, WEFT_YAML_U64),
    RESNET(norms, WEFT_YAML_TRUTH),
    VGG(classes, WEFT_YAML_U64),
    RESNET(classes, WEFT_YAML_U64),
    SEQ2SEQ(layers, WEFT_YAML_U32),
    SEQ2SEQ(sequence, WEFT_YAML_U64),
    SEQ2SEQ(hidden, WEFT_YAML_U64),
    SEQ2SEQ(heads, WEFT_YAML_U32),
    SEQ2SEQ(ffn_units, WEFT_YAML_U64),
    SEQ2SEQ(vocabulary, WEFT_YAML_U64),
    STACK(layers, WEFT_YAML_U32),
    STACK(hidden, WEFT_YAML_U64),
    STACK(heads, WEFT_YAML_U32),
    STACK(kv_heads, WEFT_YAML_U32),
    STACK(head_dim, WEFT_YAML_U32),
    STACK(sequence, WEFT_YAML_U64),
    STACK(vocabulary, WEFT_YAML_U64),
    STACK(tied_embeddings, WEFT_YAML_TRUTH),
    STACK(learned_positions, WEFT_YAML_TRUTH),
    STACK(ffn_units, WEFT_YAML_U64),
    STACK(gated, WEFT_YAML_TRUTH),
    STACK(bias, WEFT_YAML_TRUTH),
    STACK(causal, WEFT_YAML_TRUTH),
    STACK(post_norm, WEFT_YAML_TRUTH),
    STACK(parallel_block, WEFT_YAML_TRUTH),
    STACK(window, WEFT_YAML_U64),
    STACK(token_types, WEFT_YAML_U32),
    STACK(pooler, WEFT_YAML_TRUTH),
    STACK(patch_elements, WEFT_YAML_U64),
    STACK(classes, WEFT_YAML_U64),
    STACK(experts, WEFT_YAML_U32),
    STACK(experts_active, WEFT_YAML_U32),
    STACK(experts_shared, WEFT_YAML_U32),
    STACK(expert_units, WEFT_YAML_U64),
    STACK(dense_layers, WEFT_YAML_U32),
    STACK(expert_servers, WEFT_YAML_U32),
    STACK(predictions, WEFT_YAML_U32),
    STACK(q_rank, WEFT_YAML_U32),
    STACK(kv_rank, WEFT_YAML_U32),
    STACK(rope_dim, WEFT_YAML_U32),
    STACK(nope_dim, WEFT_YAML_U32),
    STACK(value_dim, WEFT_YAML_U32),
    STACK(dtype, WEFT_YAML_DTYPE),
};

#define MEMBER_COUNT ((uint32_t)(sizeof members / sizeof members[0]))

// What a preset has where its numbers do not say; 0 = must be said.
static const struct weft_dlrm dlrm = {.bag = 1};
static const struct weft_candle candle = {.doses = 0};
static const struct weft_ncf ncf = {.bag = 1};
static const struct weft_vgg vgg = {
    .depth = 16, .image = 224, .padding = 1, .pool = 2, .units = 4096, .classes = 1000};
static const struct weft_resnet resnet = {
    .depth = 50, .image = 224, .norms = true, .classes = 1000};
static const struct weft_seq2seq seq2seq = {.layers = 0};
static const struct weft_transformer transformer = {.dtype = WEFT_BF16};

static const struct {
    const void *start;
    size_t size;
} defaults[WEFT_FAMILY_COUNT] = {
    [WEFT_FAMILY_DLRM] = {&dlrm, sizeof dlrm},
    [WEFT_FAMILY_CANDLE] = {&candle, sizeof candle},
    [WEFT_FAMILY_NCF] = {&ncf, sizeof ncf},
    [WEFT_FAMILY_VGG] = {&vgg, sizeof vgg},
    [WEFT_FAMILY_RESNET] = {&resnet, sizeof resnet},
    [WEFT_FAMILY_SEQ2SEQ] = {&seq2seq, sizeof seq2seq},
    [WEFT_FAMILY_TRANSFORMER] = {&transformer, sizeof transformer},
};

static bool read_towers(struct weft_candle *numbers, const struct weft_yaml_node *list,
                        const struct weft_yaml_source *source)
{
    numbers->tower_count = 0;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        uint64_t *features = &numbers->tower_features[numbers->tower_count++];
        if (!weft_parse_count(features, node->text, 1, 1ull << 40, source->error)) {
            return weft_yaml_fail_at(node, source);
        }
    }
    return true;
}

// Reads what stands in the file into `numbers`, whose family is the owner.
static bool read_numbers(void *numbers, enum weft_family family,
                         const struct weft_yaml_node *mapping,
                         const struct weft_yaml_source *source)
{
    const struct weft_yaml_owner owner = {1u << family, weft_family_name(family)};
    const struct weft_yaml_node *towers = NULL;
    struct weft_yaml_item items[MEMBER_COUNT + 1] = {
        {"tower_features", WEFT_YAML_WORDS, WEFT_YAML_OPTIONAL, &towers, 0, WEFT_TOWERS_MAX}};
    weft_yaml_permit(items + 1, members, MEMBER_COUNT);
    if (!WEFT_YAML_READ(mapping, items, source) ||
        !weft_yaml_read_members(numbers, mapping, members, MEMBER_COUNT, &owner, source)) {
        return false;
    }
    if (towers != NULL && family != WEFT_FAMILY_CANDLE) {
        weft_fail(source->error, WEFT_INPUT, "%s has no towers; remove it", owner.name);
        return weft_yaml_fail_at(towers, source);
    }
    return towers == NULL || read_towers(numbers, towers, source);
}

bool weft_model_numbers(const void **numbers, enum weft_family family, const void *start,
                        const struct weft_yaml_node *mapping, const struct weft_yaml_source *source)
{
    size_t size = defaults[family].size;
    void *read = weft_arena_alloc(source->arena, size, 1);
    memcpy(read, start != NULL ? start : defaults[family].start, size);
    if (mapping != NULL && !read_numbers(read, family, mapping, source)) {
        return false;
    }
    *numbers = read;
    return true;
}
