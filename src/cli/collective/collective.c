// SPDX-License-Identifier: Apache-2.0
// weft collective SUB: the family of verbs about schedules of collectives. This file has the table
// of sub-verbs; each is a file beside it and a request of weft/request/collective.h.
// docs/collectives.md says what a schedule is and how one is proved.

#include "collective.h"

#include <string.h>

// A row a sub-verb; ends with a NULL name.
static const struct cli_entry subs[] = {
    {"show", "a schedule as text: a line a step, or a line a transfer", collective_show},
    {"check", "execute a schedule and prove what it does", collective_check},
    {"best", "the quickest algorithm by size, by formula or played on a fabric", collective_best},
    {"synthesize", "a schedule for any fabric, and its gap to what none can be below",
     collective_synthesize},
    {"export", "an algorithm or a plan's rings in the files of NCCL, MSCCL and MSCCL++",
     collective_export},
    {"fit", "latency and bandwidth from what nccl-tests or NCCL's Inspector measured",
     collective_fit},
    {"straggler", "what StragglAR gains when one rank is late", collective_straggler},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Schedules of collectives (AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, AllToAll), "
    "chunk by chunk and rank by rank.\v"
    "Sub-verbs, each with its own --help:\n";

static const char advice[] =
    "\n"
    "Names of collectives: allreduce, reduce-scatter, allgather, broadcast, "
    "reduce, alltoall.\n";

int cli_collective(int argc, char **argv)
{
    static const struct cli_family family = {"weft collective", intent, advice, subs, NULL};
    return cli_family(&family, argc, argv);
}
