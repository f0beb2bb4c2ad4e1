// SPDX-License-Identifier: Apache-2.0
// weft lab SUB: the family of verbs that run a plan, or contending jobs, on this machine's kernel.
// This file has the table of sub-verbs; each is a file of its own beside it, and what they drive is
// in runtime/.

#include "lab.h"

#include "runtime/testbed/testbed.h"

#include <string.h>

// A row a sub-verb; ends with a NULL name.
static const struct cli_entry subs[] = {
    {"up", "raise a plan, a ring or a switch: a network namespace a server", lab_up},
    {"run", "a plan's job, iteration by iteration, beside what was predicted", lab_run},
    {"heal", "a job whose failures are healed in place, in processes that go on", lab_heal},
    {"train", "a net trained by workers whose gradients cross the lab, beside trouble", lab_train},
    {"check", "send probes along every planned path and compare the hops", lab_check_routes},
    {"exec", "a command inside a server", lab_exec},
    {"ocs", "show and change the circuits of optical switches, emulated or real", lab_ocs},
    {"fail", "take the light away from a cable, a server or an optical switch", lab_fail},
    {"mend", "bring it back", lab_mend},
    {"status", "the labs that stand, with their counters", lab_status},
    {"mltcp", "jobs that contend for one link on real TCP, by MLTCP, Reno or CUBIC", lab_mltcp},
    {"down", "take a lab away, complete or not", lab_down},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Runs a plan on this machine, with real sockets, kernel routes and emulated optical circuit "
    "switches, or lets jobs contend for a link. It needs root; run and mltcp have --rootless.\v"
    "Sub-verbs, each with its own --help:\n";

int cli_lab(int argc, char **argv)
{
    static const struct cli_family family = {"weft lab", intent, "", subs, NULL};
    return cli_family(&family, argc, argv);
}
