// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CONFIG_MODEL_NUMBERS_H
#define WEFT_FORMAT_CONFIG_MODEL_NUMBERS_H

// The numbers of a family of networks, as texts and as its struct.
//
// All families' keys stand flat under "numbers", and libcyaml fills one struct by the offsets
// of its members: hence more fields in one struct than anywhere else.

#include "weft/model.h"
#include "yaml_schema.h"

struct weft_raw_numbers {
    char *dense_features, *bottom_layers, *bottom_units, *tables, *rows, *dim, *bag, *top_layers,
        *top_units;
    char **tower_features;
    unsigned tower_features_count;
    char *doses, *tower_layers, *tower_units;
    char *users, *items, *factor, *layers, *units;
    char *depth, *image, *padding, *pool, *norms, *classes;
    char *sequence, *hidden, *heads, *kv_heads, *head_dim, *vocabulary, *tied_embeddings,
        *learned_positions, *ffn_units, *gated, *bias, *causal, *post_norm, *token_types, *pooler,
        *patch_elements, *experts, *experts_active, *experts_shared, *expert_units, *dense_layers,
        *q_rank, *kv_rank, *rope_dim, *nope_dim, *value_dim, *dtype;
};

extern const cyaml_schema_field_t weft_raw_numbers_fields[];

// A family's numbers: those of `start` (NULL = the family's defaults) with those of `raw` (NULL =
// none) in their place. Fails with INPUT at numbers.KEY.
bool weft_model_numbers(const void **numbers, enum weft_family family, const void *start,
                        const struct weft_raw_numbers *raw, const struct weft_yaml_source *source)
    WEFT_MUST_USE;

#endif
