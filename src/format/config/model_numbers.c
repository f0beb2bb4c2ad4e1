// SPDX-License-Identifier: Apache-2.0
// The numbers of the zoo's families of networks, under "numbers" in a model file: texts in, the
// family's struct out.
//
// A table for each family says which keys it has and what each may be, so that a new family is
// a table and a struct (weft/model.h). Numbers that are left out keep the value of a preset or
// of the family's defaults.

#include "model_numbers.h"
#include "format/syntax/yaml_members.h"

#include <stddef.h>
#include <string.h>

#define WORD(key) WEFT_YAML_WORD(key, WEFT_YAML_OPTIONAL, weft_raw_numbers)

static const cyaml_schema_value_t word_value = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, WEFT_YAML_WORD_MAX)};

const cyaml_schema_field_t weft_raw_numbers_fields[] = {
    WORD(dense_features),
    WORD(bottom_layers),
    WORD(bottom_units),
    WORD(tables),
    WORD(rows),
    WORD(dim),
    WORD(bag),
    WORD(top_layers),
    WORD(top_units),
    CYAML_FIELD_SEQUENCE("tower_features", WEFT_YAML_OPTIONAL, struct weft_raw_numbers,
                         tower_features, &word_value, 1, WEFT_TOWERS_MAX),
    WORD(doses),
    WORD(tower_layers),
    WORD(tower_units),
    WORD(users),
    WORD(items),
    WORD(factor),
    WORD(layers),
    WORD(units),
    WORD(depth),
    WORD(image),
    WORD(padding),
    WORD(pool),
    WORD(norms),
    WORD(classes),
    WORD(sequence),
    WORD(hidden),
    WORD(heads),
    WORD(kv_heads),
    WORD(head_dim),
    WORD(vocabulary),
    WORD(tied_embeddings),
    WORD(learned_positions),
    WORD(ffn_units),
    WORD(gated),
    WORD(bias),
    WORD(causal),
    WORD(post_norm),
    WORD(token_types),
    WORD(pooler),
    WORD(patch_elements),
    WORD(experts),
    WORD(experts_active),
    WORD(experts_shared),
    WORD(expert_units),
    WORD(dense_layers),
    WORD(q_rank),
    WORD(kv_rank),
    WORD(rope_dim),
    WORD(nope_dim),
    WORD(value_dim),
    WORD(dtype),
    CYAML_FIELD_END,
};

#define MEMBER(family, type, key, want)                                                            \
    {                                                                                              \
#key, offsetof(struct weft_raw_numbers, key), offsetof(struct type, key), want,            \
            1u << (family)                                                                         \
    }
#define DLRM(key, want) MEMBER(WEFT_FAMILY_DLRM, weft_dlrm, key, want)
#define CANDLE(key, want) MEMBER(WEFT_FAMILY_CANDLE, weft_candle, key, want)
#define NCF(key, want) MEMBER(WEFT_FAMILY_NCF, weft_ncf, key, want)
#define VGG(key, want) MEMBER(WEFT_FAMILY_VGG, weft_vgg, key, want)
#define RESNET(key, want) MEMBER(WEFT_FAMILY_RESNET, weft_resnet, key, want)
#define SEQ2SEQ(key, want) MEMBER(WEFT_FAMILY_SEQ2SEQ, weft_seq2seq, key, want)
#define STACK(key, want) MEMBER(WEFT_FAMILY_TRANSFORMER, weft_transformer, key, want)

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
    VGG(classes, WEFT_YAML_U64),
    RESNET(depth, WEFT_YAML_U32),
    RESNET(image, WEFT_YAML_U64),
    RESNET(norms, WEFT_YAML_TRUTH),
    RESNET(classes, WEFT_YAML_U64),
    SEQ2SEQ(layers, WEFT_YAML_U32),
    SEQ2SEQ(sequence, WEFT_YAML_U64),
    SEQ2SEQ(hidden, WEFT_YAML_U64),
    SEQ2SEQ(heads, WEFT_YAML_U32),
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
    STACK(token_types, WEFT_YAML_U32),
    STACK(pooler, WEFT_YAML_TRUTH),
    STACK(patch_elements, WEFT_YAML_U64),
    STACK(classes, WEFT_YAML_U64),
    STACK(experts, WEFT_YAML_U32),
    STACK(experts_active, WEFT_YAML_U32),
    STACK(experts_shared, WEFT_YAML_U32),
    STACK(expert_units, WEFT_YAML_U64),
    STACK(dense_layers, WEFT_YAML_U32),
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

static bool read_towers(struct weft_candle *numbers, const struct weft_raw_numbers *raw,
                        const struct weft_yaml_source *source)
{
    for (uint32_t i = 0; i < raw->tower_features_count; i++) {
        if (!weft_parse_count(&numbers->tower_features[i], raw->tower_features[i], 1, 1ull << 40,
                              source->error)) {
            return weft_yaml_fail_at(
                source, weft_arena_format(source->arena, "numbers.tower_features[%u]", i));
        }
    }
    numbers->tower_count = raw->tower_features_count;
    return true;
}

bool weft_model_numbers(const void **numbers, enum weft_family family, const void *start,
                        const struct weft_raw_numbers *raw, const struct weft_yaml_source *source)
{
    size_t size = defaults[family].size;
    void *read = weft_arena_alloc(source->arena, size, 1);
    memcpy(read, start != NULL ? start : defaults[family].start, size);
    const struct weft_yaml_owner owner = {1u << family, weft_family_name(family), "numbers"};
    if (raw != NULL) {
        if (!weft_yaml_read_members(read, raw, members, MEMBER_COUNT, &owner, source)) {
            return false;
        }
        if (raw->tower_features != NULL && family != WEFT_FAMILY_CANDLE) {
            weft_fail(source->error, WEFT_INPUT, "%s has no towers; remove it", owner.name);
            return weft_yaml_fail_at(source, "numbers.tower_features");
        }
        if (raw->tower_features != NULL && !read_towers(read, raw, source)) {
            return false;
        }
    }
    *numbers = read;
    return true;
}
