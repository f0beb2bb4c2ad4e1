// SPDX-License-Identifier: Apache-2.0
// What each bound holds for, by its name: which fabrics, which collectives, which strategies.
//
// Every bound of the planner begins as a row of this table, so that a name cannot stand for two
// classes. docs/certificate.md has the proofs. The checker (src/verify/bounds.c) has a table of its
// own, on purpose. O(rows).
//
// And what follows from classes: a bound says something that no other says unless another holds for
// all the plans that it holds for and is as large. Those that are left are the headline: the
// largest is of the narrowest class, and each that follows is smaller and holds for more.

#include "weft/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Bounds that differ by less differ by rounding.
#define EQUAL_RATIO 1e-9

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
    // What the wavelengths of a fiber ring carry (src/plan/sip/certify.c).
    {.name = "ring-cut", .scope = WEFT_BOUND_THIS_FABRIC},
    // Its collectives on this fabric's rings.
    {.name = "fabric-hops", .scope = WEFT_BOUND_THIS_FABRIC},
    {.name = "fabric-concurrent-flow", .scope = WEFT_BOUND_THIS_FABRIC},
    // On photonic rails, whatever their changes.
    {.name = "rails-critical-path", .scope = WEFT_BOUND_THIS_FABRIC},
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

const char *weft_bound_holds_for(char text[WEFT_BOUND_TEXT], const struct weft_bound *bound)
{
    static const char *const fabrics[] = {"this fabric", "any direct fabric", "any fabric"};
    WEFT_ASSERT(bound->scope <= WEFT_BOUND_ANY_FABRIC);
    snprintf(text, WEFT_BOUND_TEXT, "%s strategy, %s collectives, %s",
             bound->any_strategy ? "any" : "this", bound->any_collectives ? "any" : "balanced",
             fabrics[bound->scope]);
    return text;
}

// ---- what follows from classes ----

// Whether `a` holds for all plans that `b` holds for.
static bool covers(const struct weft_bound *a, const struct weft_bound *b)
{
    return a->scope >= b->scope && a->any_collectives >= b->any_collectives &&
           a->any_strategy >= b->any_strategy;
}

// Whether bound i says nothing beside another: one that covers it is as large. Of two of one class
// that are equal the first stays.
static bool is_covered(const struct weft_bound *bounds, uint32_t count, uint32_t i)
{
    for (uint32_t other = 0; other < count; other++) {
        if (other == i || !covers(&bounds[other], &bounds[i])) {
            continue;
        }
        bool same = covers(&bounds[i], &bounds[other]);
        double least_s = bounds[i].seconds * (1 - EQUAL_RATIO);
        bool larger = bounds[other].seconds * (1 - EQUAL_RATIO) > bounds[i].seconds;
        if (larger || (bounds[other].seconds >= least_s && (!same || other < i))) {
            return true;
        }
    }
    return false;
}

uint32_t weft_certificate_headline(uint32_t *order, const struct weft_certificate *certificate)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        if (!certificate->bounds[i].headline) {
            continue;
        }
        uint32_t at = count++;
        while (at > 0 &&
               certificate->bounds[order[at - 1]].seconds < certificate->bounds[i].seconds) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return count;
}

static double gap_of(double iteration_s, double bound_s)
{
    return iteration_s > 0 && bound_s > 0 ? iteration_s / bound_s - 1 : 0;
}

void weft_certificate_conclude(struct weft_certificate *certificate, struct weft_bound *bounds,
                               uint32_t bound_count, double iteration_s)
{
    uint32_t binding = WEFT_NONE;
    for (uint32_t i = 0; i < bound_count; i++) {
        bounds[i].gap_ratio = gap_of(iteration_s, bounds[i].seconds);
        bounds[i].headline = !is_covered(bounds, bound_count, i);
        if (weft_bound_may_bind(&bounds[i]) &&
            (binding == WEFT_NONE || bounds[i].seconds > bounds[binding].seconds)) {
            binding = i;
        }
    }
    WEFT_ASSERT(binding != WEFT_NONE);
    *certificate = (struct weft_certificate){bound_count, bounds, binding, bounds[binding].seconds,
                                             bounds[binding].gap_ratio};
}
