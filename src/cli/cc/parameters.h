// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_CC_PARAMETERS_H
#define WEFT_CLI_CC_PARAMETERS_H

// Parameters of MLTCP in the kernel that weft cc and weft lab mltcp both take. Each function parses
// the value of the option of its name into `given`, and returns 0, or EINVAL with cli->error
// filled; whether the value was given is for the caller to remember.

#include "cli/cli.h"

struct weft_cc_parameters; // cc.h

error_t cc_take_slope(struct cli *cli, struct weft_cc_parameters *given, const char *text);
error_t cc_take_intercept(struct cli *cli, struct weft_cc_parameters *given, const char *text);
error_t cc_take_restart(struct cli *cli, struct weft_cc_parameters *given, const char *text);

#endif
