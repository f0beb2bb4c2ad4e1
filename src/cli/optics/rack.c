// SPDX-License-Identifier: Apache-2.0
// weft optics rack SUB: the family of verbs about photonic racks. docs/photonic-rack.md has the
// methods.

#include "rack.h"

static const struct cli_entry subs[] = {
    {"place", "slices of a rack for requests: which chips, which routes of light, or why not",
     optics_rack_place},
    {"spares", "how many accelerators to keep free for those that fail", optics_rack_spares},
    {"tenants", "tenants that come and go, on optical and electrical racks", optics_rack_tenants},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Racks of accelerators whose fabric is optical: slices for tenants, and spares.\v"
    "Sub-verbs, each with its own --help:\n";

int optics_rack(int argc, char **argv)
{
    static const struct cli_family family = {"weft optics rack", intent, "", subs, NULL};
    return cli_family(&family, argc, argv);
}
