// SPDX-License-Identifier: Apache-2.0
// Families of networks by name, and the builder of each. A new family is its struct and builder in
// weft/model.h, a file of this chamber, a name in the table below and a case in weft_model_cook;
// models of it are rows of zoo.c.

#include "model/operators/names.h"

static const char *const names[WEFT_FAMILY_COUNT] = {
    [WEFT_FAMILY_DLRM] = "dlrm",
    [WEFT_FAMILY_CANDLE] = "candle",
    [WEFT_FAMILY_NCF] = "ncf",
    [WEFT_FAMILY_VGG] = "vgg",
    [WEFT_FAMILY_RESNET] = "resnet",
    [WEFT_FAMILY_SEQ2SEQ] = "seq2seq",
    [WEFT_FAMILY_TRANSFORMER] = "transformer",
};

const char *weft_family_name(enum weft_family family)
{
    WEFT_ASSERT(family < WEFT_FAMILY_COUNT);
    return names[family];
}

bool weft_family_named(enum weft_family *family, const char *name, struct weft_error *error)
{
    uint32_t index = 0;
    if (!weft_model_find_name(&index, name, "preset", names, WEFT_FAMILY_COUNT, error)) {
        return false;
    }
    *family = (enum weft_family)index;
    return true;
}

// Hands the numbers of a recipe to the builder of its family, whose struct they are.
bool weft_model_cook(struct weft_model *model, const char *name, const struct weft_recipe *recipe,
                     struct weft_arena *arena, struct weft_error *error)
{
    const void *numbers = recipe->numbers;
    const struct weft_model_head head = {name, recipe->source, recipe->batch};
    switch (recipe->family) {
    case WEFT_FAMILY_DLRM:
        return weft_model_build_dlrm(model, &head, numbers, arena, error);
    case WEFT_FAMILY_CANDLE:
        return weft_model_build_candle(model, &head, numbers, arena, error);
    case WEFT_FAMILY_NCF:
        return weft_model_build_ncf(model, &head, numbers, arena, error);
    case WEFT_FAMILY_VGG:
        return weft_model_build_vgg(model, &head, numbers, arena, error);
    case WEFT_FAMILY_RESNET:
        return weft_model_build_resnet(model, &head, numbers, arena, error);
    case WEFT_FAMILY_SEQ2SEQ:
        return weft_model_build_seq2seq(model, &head, numbers, arena, error);
    case WEFT_FAMILY_TRANSFORMER:
        return weft_model_build_transformer(model, &head, numbers, arena, error);
    case WEFT_FAMILY_COUNT:
        break;
    }
    WEFT_ASSERT(false);
}
