// SPDX-License-Identifier: Apache-2.0
// What each bound holds for, by its name: which fabrics, which collectives, which strategies.
//
// Every bound of the planner begins as a row of this table, so that a name cannot stand for two
// classes. docs/certificate.md has the proofs. The checker (src/verify/bounds.c) has a table of its
// own, on purpose. O(rows).

#include "weft/plan.h"

#include <string.h>

static const struct weft_bound classes[] = {
    // How operators are split and placed does not matter to these.
    {.name = "any-strategy-work",
     .scope = WEFT_BOUND_ANY_FABRIC,
     .any_collectives = true,
     .any_strategy = true},
    {.name = "any-strategy-chain",
     .scope = WEFT_BOUND_ANY_FABRIC,
     .any_collectives = true,
     .any_strategy = true},
    // One task graph, whatever carries out its collectives.
    {.name = "compute-critical-path", .scope = WEFT_BOUND_ANY_FABRIC, .any_collectives = true},
    {.name = "device-load", .scope = WEFT_BOUND_ANY_FABRIC, .any_collectives = true},
    {.name = "total-bytes", .scope = WEFT_BOUND_ANY_FABRIC, .any_collectives = true},
    {.name = "server-sends-any-allreduce", .scope = WEFT_BOUND_ANY_FABRIC, .any_collectives = true},
    {.name = "server-receives-any-allreduce",
     .scope = WEFT_BOUND_ANY_FABRIC,
     .any_collectives = true},
    {.name = "moore-hops", .scope = WEFT_BOUND_DIRECT_FABRIC, .any_collectives = true},
    // One task graph, its collectives balanced.
    {.name = "ideal-network-critical-path", .scope = WEFT_BOUND_ANY_FABRIC},
    {.name = "server-sends", .scope = WEFT_BOUND_ANY_FABRIC},
    {.name = "server-receives", .scope = WEFT_BOUND_ANY_FABRIC},
    // Its collectives on this fabric's rings.
    {.name = "fabric-hops", .scope = WEFT_BOUND_THIS_FABRIC},
    {.name = "fabric-concurrent-flow", .scope = WEFT_BOUND_THIS_FABRIC},
};

struct weft_bound weft_bound_named(const char *name)
{
    size_t at = 0;
    while (at < sizeof classes / sizeof classes[0] && strcmp(classes[at].name, name) != 0) {
        at++;
    }
    WEFT_ASSERT(at < sizeof classes / sizeof classes[0]);
    return classes[at];
}

bool weft_bound_may_bind(const struct weft_bound *bound)
{
    return !bound->any_strategy && bound->scope != WEFT_BOUND_THIS_FABRIC;
}

const char *weft_bound_scope_name(enum weft_bound_scope scope)
{
    static const char *const names[] = {"this-fabric", "direct-fabric", "any-fabric"};
    WEFT_ASSERT(scope <= WEFT_BOUND_ANY_FABRIC);
    return names[scope];
}
