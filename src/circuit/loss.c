// SPDX-License-Identifier: Apache-2.0
// Light that a circuit loses on its way, against what its receiver can still read. The worst
// circuit decides, not the average one, so that each is looked at by itself.

#include "weft/circuit.h"

bool weft_circuit_check_loss(const struct weft_circuit_losses *losses, uint32_t plane,
                             uint32_t from, uint32_t to, struct weft_error *error)
{
    double km = losses->fiber_km == NULL ? 0 : losses->fiber_km[from] + losses->fiber_km[to];
    double fiber_db = km * losses->fiber_db_per_km;
    double switch_db = losses->switch_db == NULL ? 0 : losses->switch_db[plane];
    double sum_db = losses->connectors_db + fiber_db + switch_db;
    return sum_db <= losses->budget_db * (1 + 1e-12) ||
           weft_fail(error, WEFT_INFEASIBLE,
                     "plane %u: the circuit from port %u to port %u loses %.4g dB of %.4g: switch "
                     "%.4g, connectors %.4g, %.4g km of fiber %.4g; take a shorter or a better way",
                     plane, from, to, sum_db, losses->budget_db, switch_db, losses->connectors_db,
                     km, fiber_db);
}
