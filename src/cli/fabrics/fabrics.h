// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_FABRICS_H
#define WEFT_CLI_FABRICS_H

// weft fabrics alone lists the reference fabrics (fabrics.c); its sub-verbs are one file each, with
// one function here and one row there; argv[0] is the sub-verb. What both print of a bill is in
// bill.c.

#include "cli/cli.h"
#include "weft/request/fabrics.h"

int fabrics_ecmp(int argc, char **argv);

// A result with bills, as text with what is assumed, and as CSV (bill.c).
void fabrics_print_bills(struct cli *cli, const struct weft_fabrics_result *result,
                         const struct weft_bill_options *options);
void fabrics_print_csv(struct cli *cli, const struct weft_fabrics_result *result);

#endif
