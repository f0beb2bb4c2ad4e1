// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_OPTICS_H
#define WEFT_CLI_OPTICS_H

// weft optics SUB: each sub-verb is one file, <sub>.c, with one function here and one row in
// optics.c.

#include "cli/cli.h"
#include "weft/request/optics.h"

int optics_collective(int argc, char **argv);
// Over a chip's own circuits: answers and prints; what `planes` says of kind, ranks, latency, rates
// and times goes for `chips`, too.
bool optics_collective_chips(struct cli *cli, struct weft_recursive_request *chips,
                             const struct weft_rewired_request *planes);
int optics_change(int argc, char **argv);
int optics_check(int argc, char **argv);
int optics_color(int argc, char **argv);
int optics_maxmin(int argc, char **argv);
int optics_moe(int argc, char **argv);
int optics_mesh(int argc, char **argv);
int optics_mesh_route(int argc, char **argv);
int optics_mesh_trace(int argc, char **argv);
int optics_mixnet(int argc, char **argv);
int optics_sip(int argc, char **argv);
int optics_rack(int argc, char **argv);
int optics_rails(int argc, char **argv);
int optics_rails_cost(int argc, char **argv);

#endif
