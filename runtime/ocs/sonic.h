// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_SONIC_H
#define WEFT_RUNTIME_OCS_SONIC_H

// The tables of a SONiC optical circuit switch (YANG modules sonic-ocs and sonic-ocs-states) as
// JSON. Inputs are ports 1A..NA, outputs 1B..NB; a cross-connect leads from an A side to a B side.
// All fail with INPUT and name the entry.

#include "yang.h"

// How many ports a side OCS_PORT of CONFIG_DB has.
bool weft_sonic_read_ports(uint32_t *count, const struct weft_yang_text *config,
                           struct weft_error *error) WEFT_MUST_USE;
// outputs[count] by OCS_CROSS_CONNECT of CONFIG_DB: what is configured.
bool weft_sonic_read_config(uint32_t *outputs, uint32_t count, const struct weft_yang_text *config,
                            struct weft_error *error) WEFT_MUST_USE;
// outputs[count] by OCS_CROSS_CONNECT_TABLE of STATE_DB: what there is. Tables may stand by their
// names, or as keys TABLE|ENTRY with the fields themselves or below "value", as dumps have them.
bool weft_sonic_read_state(uint32_t *outputs, uint32_t count, const struct weft_yang_text *state,
                           struct weft_error *error) WEFT_MUST_USE;
// CONFIG_DB with cross-connects taken out or put in; all else in it stays. INFEASIBLE where a port
// is blocked or off.
bool weft_sonic_edit(const char **edited, uint32_t count, const struct weft_yang_text *config,
                     const struct weft_yang_edit *edit, struct weft_arena *arena,
                     struct weft_error *error) WEFT_MUST_USE;

#endif
