// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_EMULATOR_LOOPBACK_H
#define WEFT_RUNTIME_OCS_EMULATOR_LOOPBACK_H

#include "weft/base.h"

// Listens on the loopback address, and nowhere else, at this port (0 = the kernel's choice),
// without ever blocking. Returns the port; 0 with an error of IO.
uint16_t weft_loopback_listen(int *listener, uint16_t port, struct weft_error *error) WEFT_MUST_USE;

#endif
