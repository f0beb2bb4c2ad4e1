// SPDX-License-Identifier: Apache-2.0
// Light that a circuit loses on its way, against what its receiver can still read. The worst
// circuit decides, not the average one, so that each is looked at by itself.

#include "weft/circuit.h"

bool weft_circuit_check_loss(const struct weft_circuit_losses *losses, uint32_t plane,
                             uint32_t from, uint32_t to, struct weft_error *error)
{
    double km = losses->fiber_km == NULL ? 0 : losses->fiber_km[from] + losses->fiber_km[to];
    double fiber_dB = km * losses->fiber_dB_per_km;
    double switch_dB = losses->switch_dB == NULL ? 0 : losses->switch_dB[plane];
    double sum_dB = losses->connectors_dB + fiber_dB + switch_dB;
    return sum_dB <= losses->budget_dB * (1 + 1e-12) ||
           weft_fail(error, WEFT_INFEASIBLE,
                     "plane %u: the circuit from port %u to port %u loses %.4g dB of %.4g: switch "
                     "%.4g, connectors %.4g, %.4g km of fiber %.4g; take a shorter or a better way",
                     plane, from, to, sum_dB, losses->budget_dB, switch_dB, losses->connectors_dB,
                     km, fiber_dB);
}
