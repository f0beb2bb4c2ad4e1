// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_MODEL_ZOO_H
#define WEFT_SRC_MODEL_ZOO_H

// How a network of the zoo is made: a family and its numbers.

#include "weft/model.h"

enum weft_family {
    WEFT_FAMILY_DLRM,
    WEFT_FAMILY_CANDLE,
    WEFT_FAMILY_NCF,
    WEFT_FAMILY_VGG,
    WEFT_FAMILY_RESNET,
    WEFT_FAMILY_SEQ2SEQ,
    WEFT_FAMILY_TRANSFORMER,
};

struct weft_recipe {
    enum weft_family family;
    const void *numbers; // the family's struct
    const char *source;
    uint64_t batch;
};

#endif
