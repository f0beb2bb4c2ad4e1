// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_TRANSPORTS_H
#define WEFT_SIM_TRANSPORTS_H

// What both engines ask of a transport's parameters.

#include "weft/sim.h"

// Fails with INPUT when MLTCP's slope or intercept makes no sense.
bool weft_mltcp_check(const struct weft_mltcp_options *mltcp, struct weft_error *error)
    WEFT_MUST_USE;

#endif
