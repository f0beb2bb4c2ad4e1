// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_FLOWS_H
#define WEFT_FORMAT_FLOWS_H

// Flows in words, as the command line takes them: "alltoall:1MB".

#include "weft/base.h"

WEFT_API_BEGIN

enum weft_flows_kind {
    // The buffer of one rank, as in weft_task_kind: what it gathers, or has to be reduced.
    WEFT_FLOWS_ALLREDUCE,      // allreduce:100MB
    WEFT_FLOWS_REDUCE_SCATTER, // reducescatter:100MB
    WEFT_FLOWS_ALL_GATHER,     // allgather:100MB
    WEFT_FLOWS_PERMUTATION,    // permutation:10MB:seed
    WEFT_FLOWS_ALLTOALL,       // alltoall:1MB (each pair)
    WEFT_FLOWS_POISSON,        // poisson:1MB:load=0.3:count=100000:seed
};
// Whether it is a collective that a task graph has, not a list of flows.
static inline bool weft_flows_reduce(enum weft_flows_kind kind)
{
    return kind <= WEFT_FLOWS_ALL_GATHER;
}
// A seed that is left out, or is the word "seed", is 1 and not `seeded`.
struct weft_flows_spec {
    enum weft_flows_kind kind;
    uint64_t size_bytes;
    double load_ratio;
    uint32_t count;
    uint64_t seed;
    bool seeded;
};
// True in *matches when the text names one of the kinds (so is not a file's name).
bool weft_flows_parse(struct weft_flows_spec *spec, bool *matches, const char *text,
                      struct weft_error *error) WEFT_MUST_USE;
// What to write for flows that a text means and does not spell ("allredcue:1MB"), as the end of a
// message; NULL: it does not look like flows.
const char *weft_flows_meant(const char *text, struct weft_arena *arena);

WEFT_API_END

#endif
