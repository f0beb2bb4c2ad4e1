// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_BANK_H
#define WEFT_RUNTIME_RAILS_BANK_H

// The switches of a lab as one: port p * servers + s is that of server s on switch p.

#include "runtime/testbed/testbed.h"

// Fails with UNSUPPORTED for several switches that are no programs of the kernel: such a change
// lasts while circuits are dark, so that they would turn one after the other.
bool lab_bank_open(struct weft_ocs *ocs, const struct weft_lab *lab, struct weft_arena *arena,
                   struct weft_error *error) WEFT_MUST_USE;

#endif
