// SPDX-License-Identifier: Apache-2.0
// weft optics mesh SUB: a mesh of interferometers as a switch. docs/photonic-mesh.md has the
// method, and how cells and ports are numbered.

#include "optics.h"

static const struct cli_entry subs[] = {
    {"route", "settings of all cells that join pairs of ports, by short routes", optics_mesh_route},
    {"trace", "where light from each port comes out of a given setting", optics_mesh_trace},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "A honeycomb of tunable couplers, each bar or cross, as a switch whose ports are on its rim: "
    "what PipSwitch programs.\v"
    "Sub-verbs, each with its own --help:\n";

static const char advice[] =
    "\n"
    "A setting is a hexadecimal number: bit e is one where cell e is cross.\n";

int optics_mesh(int argc, char **argv)
{
    static const struct cli_family family = {"weft optics mesh", intent, advice, subs, NULL};
    return cli_family(&family, argc, argv);
}
