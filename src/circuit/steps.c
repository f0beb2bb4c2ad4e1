// SPDX-License-Identifier: Apache-2.0
// Which circuits each step of a collective runs over, where changing them takes time: a shortest
// path through steps and topologies. The best way to a step on a topology comes from the same
// topology, or by a change from the best of all.

#include "weft/circuit.h"

#include <math.h>

void weft_circuit_steps(struct weft_step_plan *plan, const struct weft_step_costs *costs,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t steps = costs->step_count;
    uint32_t topologies = costs->topology_count;
    uint32_t *before = WEFT_NEW(&scratch, uint32_t, (size_t)steps * topologies);
    double *time = WEFT_NEW(&scratch, double, topologies);
    double *next = WEFT_NEW(&scratch, double, topologies);
    uint32_t best = costs->first == WEFT_NONE ? 0 : costs->first;
    for (uint32_t g = 0; g < topologies; g++) {
        time[g] = costs->first == WEFT_NONE || g == best ? 0 : (double)INFINITY;
    }
    for (uint32_t s = 0; s < steps; s++) {
        uint32_t least = best;
        best = 0;
        for (uint32_t g = 0; g < topologies; g++) {
            bool changes = time[least] + costs->change < time[g];
            before[(size_t)s * topologies + g] = changes ? least : g;
            next[g] = costs->costs[(size_t)s * topologies + g] +
                      (changes ? time[least] + costs->change : time[g]);
            best = next[g] < next[best] ? g : best;
        }
        double *swap = time;
        time = next;
        next = swap;
    }
    *plan = (struct weft_step_plan){
        .time = steps > 0 ? time[best] : 0,
        .topologies = WEFT_NEW(arena, uint32_t, steps),
    };
    for (uint32_t s = steps; s-- > 0;) {
        plan->topologies[s] = best;
        best = before[(size_t)s * topologies + best];
        plan->changes += best != plan->topologies[s];
    }
}
