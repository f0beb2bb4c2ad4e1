// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_RESERVED_H
#define WEFT_PHOTONICS_COUNTACTION_RESERVED_H

#include "weft/base.h"

// Whether a module's signals and counts may not be named so: words of the language, of Verilog, and
// endings of what the emission makes of a count.
bool is_reserved(const char *name, size_t length);

#endif
