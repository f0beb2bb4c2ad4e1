// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_H
#define WEFT_CLI_LAB_H

// weft lab SUB: each sub-verb is one file, lab_<sub>.c, with one function here and one row in
// lab.c. argv[0] is the sub-verb.

#include "cli.h"

int lab_mltcp(int argc, char **argv);

#endif
