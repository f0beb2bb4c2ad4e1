// SPDX-License-Identifier: Apache-2.0
// Words for what was searched.

#include "weft/plan.h"

const char *weft_coplan_variant_name(enum weft_coplan_variant variant)
{
    static const char *const names[WEFT_COPLAN_VARIANT_COUNT] = {
        [WEFT_COPLAN_BOTH] = "both",
        [WEFT_COPLAN_STRATEGY] = "strategy",
        [WEFT_COPLAN_TOPOLOGY] = "topology",
        [WEFT_COPLAN_DATA_PARALLEL] = "data-parallel",
    };
    WEFT_ASSERT((unsigned)variant < WEFT_COPLAN_VARIANT_COUNT);
    return names[variant];
}
