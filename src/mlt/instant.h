// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MLT_INSTANT_H
#define WEFT_MLT_INSTANT_H

#include "weft/base.h"

// An instant so much later, WEFT_NEVER where clocks do not go so far.
static inline uint64_t later_ps(uint64_t instant_ps, uint64_t span_ps)
{
    return span_ps > WEFT_NEVER - instant_ps ? WEFT_NEVER : instant_ps + span_ps;
}

#endif
