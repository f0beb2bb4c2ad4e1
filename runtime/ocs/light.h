// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_LIGHT_H
#define WEFT_RUNTIME_OCS_LIGHT_H

// What the monitors of a switch say about the circuits that it claims to have.
//
// A switch adds no light. So an output with a circuit has what enters at the input, less a loss;
// an output without one has none; and an output with more light than its input gives has a second
// circuit. Where no light enters, or nothing measures it, nothing can be said.

#include "ocs.h"

enum weft_ocs_light {
    WEFT_LIGHT_UNKNOWN, // not measured, or none enters
    WEFT_LIGHT_FINE,    // as the circuit, or its absence, says
    WEFT_LIGHT_MISSING, // a circuit leads here, and its light does not come
    WEFT_LIGHT_STRAY,   // light without a circuit, or where its input has none
    WEFT_LIGHT_DOUBLE,  // more light than the input gives
};

// The two ends of the circuit to an output, for messages; inputs are WEFT_NONE where none leads
// there.
struct weft_ocs_sight {
    enum weft_ocs_light light;
    uint32_t input;
};

// sights[port_count], by output, of circuits of this switch as outputs[port_count] has them, with
// what is measured in ports[port_count]. O(ports).
void weft_ocs_see(struct weft_ocs_sight *sights, const struct weft_ocs *ocs,
                  const uint32_t *outputs, const struct weft_ocs_port *ports);

// Whether the light contradicts the circuits.
static inline bool weft_ocs_is_wrong(enum weft_ocs_light light)
{
    return light >= WEFT_LIGHT_MISSING;
}

// What is wrong with an output, in words without an end: "output 5 has ...".
void weft_ocs_tell_light(char *text, size_t size, uint32_t output,
                         const struct weft_ocs_sight *sight, const struct weft_ocs_port *ports);

#endif
