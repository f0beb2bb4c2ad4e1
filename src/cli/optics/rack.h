// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_OPTICS_RACK_H
#define WEFT_CLI_OPTICS_RACK_H

// weft optics rack SUB: each sub-verb is one file, rack_<sub>.c, with one function here and one row
// in rack.c.

#include "optics.h"

int optics_rack_place(int argc, char **argv);
int optics_rack_spares(int argc, char **argv);
int optics_rack_tenants(int argc, char **argv);

#endif
