// SPDX-License-Identifier: Apache-2.0
// What plans with moving circuits share.

#include "weft/plan/moving.h"

#include <string.h>

const char *weft_moving_name(enum weft_moving_fabric fabric)
{
    static const char *const names[WEFT_MOVING_COUNT] = {
        [WEFT_MOVING_RAILS] = "photonic-rails",
        [WEFT_MOVING_MIXNET] = "mixnet",
        [WEFT_MOVING_SIP_OCS] = "sip-ocs",
        [WEFT_MOVING_SIP_RING] = "sip-ring",
    };
    WEFT_ASSERT(fabric < WEFT_MOVING_COUNT);
    return names[fabric];
}

enum weft_moving_fabric weft_moving_named(const char *name)
{
    enum weft_moving_fabric fabric = 0;
    while (fabric < WEFT_MOVING_COUNT && strcmp(weft_moving_name(fabric), name) != 0) {
        fabric++;
    }
    return fabric;
}
