// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_SIMULATE_H
#define WEFT_CLI_SIMULATE_H

// weft simulate: options to a request (simulate.c), the result to text (print.c), and the files
// that a run writes besides (files.c). What a simulation is and how it is played is no matter of
// the door: src/request/simulate.

#include "cli/cli.h"

// Adds the result as text for people.
void simulate_print(struct cli *cli, const struct weft_simulate_result *result);

// Whether the files of --flow-records, --series, --trace and --snapshot could be written, asked
// before the run. Fails with IO.
bool simulate_can_write(struct cli *cli) WEFT_MUST_USE;
// Writes them.
bool simulate_write(struct cli *cli, const struct weft_simulate_result *result) WEFT_MUST_USE;

#endif
