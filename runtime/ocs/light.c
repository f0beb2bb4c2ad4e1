// SPDX-License-Identifier: Apache-2.0
// Circuits held against the light that their switch measures (light.h). O(ports).

#include "light.h"

// Less is no light. Monitors of optical switches show -50 to -60 dBm for a dark fiber, transceivers
// for data centers receive from about -14 dBm on.
#define LIT_DBM (-40.0)
// A circuit's loss at most, unless another is given: switches with moving mirrors or fibers lose 1
// to 3 dB by their data sheets, connectors up to 0.5 dB each; beyond twice that a port is dirty or
// not aligned.
#define LOSS_MAX_DB 6.0
// What monitors may err by: SAI (saiexperimentalocs.h) calls a port tuned within 0.5 dB.
#define GAIN_MAX_DB 0.5

static enum weft_ocs_light see_one(const struct weft_ocs_port *output,
                                   const struct weft_ocs_port *input, double loss_max_db)
{
    if (!output->has_output_dbm) {
        return WEFT_LIGHT_UNKNOWN;
    }
    bool is_lit = output->output_dbm > LIT_DBM;
    if (input == NULL) {
        return is_lit ? WEFT_LIGHT_STRAY : WEFT_LIGHT_FINE;
    }
    if (!input->has_input_dbm) {
        return is_lit ? WEFT_LIGHT_FINE : WEFT_LIGHT_UNKNOWN;
    }
    if (input->input_dbm <= LIT_DBM) {
        return is_lit ? WEFT_LIGHT_STRAY : WEFT_LIGHT_UNKNOWN;
    }
    double gain_db = output->output_dbm - input->input_dbm;
    return gain_db > GAIN_MAX_DB               ? WEFT_LIGHT_DOUBLE
           : !is_lit || gain_db < -loss_max_db ? WEFT_LIGHT_MISSING
                                               : WEFT_LIGHT_FINE;
}

void weft_ocs_see(struct weft_ocs_sight *sights, const struct weft_ocs *ocs,
                  const uint32_t *outputs, const struct weft_ocs_port *ports)
{
    uint32_t port_count = ocs->port_count;
    double loss_max_db = ocs->loss_max_db > 0 ? ocs->loss_max_db : LOSS_MAX_DB;
    for (uint32_t o = 0; o < port_count; o++) {
        sights[o].input = WEFT_NONE;
    }
    for (uint32_t i = 0; i < port_count; i++) {
        if (outputs[i] != WEFT_NONE) {
            sights[outputs[i]].input = i;
        }
    }
    for (uint32_t o = 0; o < port_count; o++) {
        uint32_t input = sights[o].input;
        sights[o].light =
            see_one(&ports[o], input == WEFT_NONE ? NULL : &ports[input], loss_max_db);
    }
}

void weft_ocs_tell_light(char *text, size_t size, uint32_t output,
                         const struct weft_ocs_sight *sight, const struct weft_ocs_port *ports)
{
    double out_dbm = ports[output].output_dbm;
    double in_dbm = sight->input == WEFT_NONE ? 0 : ports[sight->input].input_dbm;
    if (sight->light == WEFT_LIGHT_MISSING) {
        snprintf(text, size,
                 "output %u lacks the light of input %u (%.1f dBm of %.1f) that is said to lead "
                 "there: clean the port or leave it out",
                 output, sight->input, out_dbm, in_dbm);
    } else if (sight->light == WEFT_LIGHT_DOUBLE) {
        snprintf(text, size,
                 "output %u has more light (%.1f dBm) than input %u gives (%.1f): a second circuit "
                 "leads there; restart the switch",
                 output, out_dbm, sight->input, in_dbm);
    } else {
        snprintf(text, size,
                 "output %u has light (%.1f dBm) that no circuit leads there: a stale circuit; "
                 "restart the switch or leave the port out",
                 output, out_dbm);
    }
}
