// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_RECORDS_H
#define WEFT_FORMAT_RECORDS_H

// Records of a simulation: what each flow and each link did (docs/simulation-outputs.md).

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/sim.h"

WEFT_API_BEGIN

// Records of flows: JSON where the name ends in .json, else CSV. IO.
bool weft_records_save_flows(const char *path, const struct weft_records *records,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Samples of links as CSV. IO.
bool weft_records_save_series(const char *path, const struct weft_records *records,
                              const struct weft_fabric *fabric, struct weft_arena scratch,
                              struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
