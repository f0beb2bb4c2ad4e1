// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_COLLECTIVE_H
#define WEFT_CLI_COLLECTIVE_H

// weft collective SUB: each sub-verb is one file, collective_<sub>.c, with one function here and
// one row in collective.c. argv[0] is the sub-verb.

#include "cli.h"
#include "weft/collective.h"

// The kind of this name. Fails with INPUT and the nearest one.
bool collective_kind(enum weft_collective_kind *kind, struct cli *cli, const char *name)
    WEFT_MUST_USE;

int collective_synthesize(int argc, char **argv);

#endif
