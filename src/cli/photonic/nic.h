// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PHOTONIC_NIC_H
#define WEFT_CLI_PHOTONIC_NIC_H

// weft photonic nic: what its files share.

#include "cli/cli.h"
#include "runtime/photonic/nic.h"

// The interface of that name, or NULL: all of them, with their counters.
bool photonic_show_nics(struct cli *cli, const char *name) WEFT_MUST_USE;

#endif
