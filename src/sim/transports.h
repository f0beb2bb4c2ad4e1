// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_TRANSPORTS_H
#define WEFT_SIM_TRANSPORTS_H

// What both engines check of a transport's parameters. MLTCP is played by both, as packets and as
// shares of a fluid (flow/shares.c), with one set of parameters; those of the other transports are
// the packet engine's alone and checked there (packet/engine/check.c).

#include "weft/sim.h"

// Fails with INPUT when MLTCP's slope or intercept makes no sense.
bool weft_mltcp_check(const struct weft_mltcp_options *mltcp, struct weft_error *error)
    WEFT_MUST_USE;

#endif
