// SPDX-License-Identifier: Apache-2.0
// weft optics SUB: the family of verbs about circuits that are chosen for a demand. This file has
// the table of sub-verbs; each is a file beside it and a request of weft/request/optics.h.
// docs/circuits.md has the methods.

#include "optics.h"

static const struct cli_entry subs[] = {
    {"maxmin", "circuits of optical switches by demand, the worst pair first: exact",
     optics_maxmin},
    {"color", "wavelengths of a ring for arcs that keep theirs all the way", optics_color},
    {"moe", "circuits beside a packet fabric, for an all-to-all that is skewed", optics_moe},
    {"collective", "circuits that follow the steps of a collective, or are set once",
     optics_collective},
    {"mixnet", "a model with experts on such circuits, against Fat-trees", optics_mixnet},
    {"sip", "SiP-ML: a model on accelerators of silicon photonics", optics_sip},
    {"rack", "photonic racks: slices for tenants, and spares", optics_rack},
    {"rails", "a job on rails of optical switches, re-wired between phases", optics_rails},
    {"rails-cost", "photonic rails against packet switches, in dollars and watts",
     optics_rails_cost},
    {"change", "from circuits to others: which ports move, in which order, how long",
     optics_change},
    {"check", "whether a schedule of circuits can be carried out, a line for each breach",
     optics_check},
    {"mesh", "a mesh of interferometers as a switch: matchings routed, settings traced",
     optics_mesh},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Circuits of optical switches and wavelengths of optical rings, chosen for a demand.\v"
    "Sub-verbs, each with its own --help:\n";

static const char advice[] =
    "\n"
    "A matrix is n lines of n numbers, row = sender; its diagonal is not looked at.\n";

int cli_optics(int argc, char **argv)
{
    static const struct cli_family family = {"weft optics", intent, advice, subs, NULL};
    return cli_family(&family, argc, argv);
}
