// SPDX-License-Identifier: Apache-2.0
// The core of the switch emulator (core.h).
//
// Two sets of circuits are kept apart: the one that is reported, and the one that light follows.
// They differ by the fault alone. Powers that meet at an output add up. O(ports).

#include "core.h"

#include <math.h>
#include <string.h>

#define TRANSMITTER_DBM 0.0
#define LOSS_DB 1.0
#define DARK_DBM (-60.0)

bool weft_ocs_core_init(struct weft_ocs_core *self, const struct weft_ocs_emulator *options,
                        struct weft_arena *arena, struct weft_error *error)
{
    uint32_t n = options->port_count;
    if (n == 0 || n > WEFT_OCS_PORTS_MAX) {
        return weft_fail(error, WEFT_INPUT, "a switch of %u ports; 1 to %u are possible", n,
                         WEFT_OCS_PORTS_MAX);
    }
    if (options->fault.port != WEFT_NONE && options->fault.port >= n) {
        return weft_fail(error, WEFT_INPUT, "a fault at input %u; inputs are 0 to %u",
                         options->fault.port, n - 1);
    }
    *self = (struct weft_ocs_core){
        .port_count = n,
        .reported = WEFT_NEW(arena, uint32_t, n),
        .mirrors = WEFT_NEW(arena, uint32_t, n),
        .moves = WEFT_NEW(arena, uint32_t, n),
        .switch_ms = options->switch_ms,
        .fault = options->fault,
    };
    memset(self->reported, 0xff, n * sizeof *self->reported);
    memset(self->mirrors, 0xff, n * sizeof *self->mirrors);
    return true;
}

// Whether the mirror of this input stays where it is.
static bool stays(const struct weft_ocs_core *self, uint32_t input, uint32_t output)
{
    bool is_faulty = self->fault.port == WEFT_NONE || self->fault.port == input;
    return is_faulty && (self->fault.kind == WEFT_OCS_STUCK ||
                         (self->fault.kind == WEFT_OCS_STALE && output == WEFT_NONE));
}

bool weft_ocs_core_change(struct weft_ocs_core *self, struct weft_ocs_core_answer *answer,
                          const uint32_t *outputs, struct weft_arena scratch,
                          struct weft_error *error)
{
    bool changed = false;
    if (!weft_ocs_check_matching(outputs, self->port_count, scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < self->port_count; i++) {
        if (outputs[i] == self->reported[i]) {
            continue;
        }
        changed = true;
        self->moves[i]++;
        self->reported[i] = outputs[i];
        if (!stays(self, i, outputs[i])) {
            self->mirrors[i] = outputs[i];
        }
    }
    *answer = (struct weft_ocs_core_answer){0};
    if (changed) {
        const struct weft_ocs_fault *fault = &self->fault;
        self->change_count++;
        answer->wait_ms = self->switch_ms + (fault->kind == WEFT_OCS_SLOW ? fault->time_ms : 0);
        answer->is_lost = fault->kind == WEFT_OCS_MUTE &&
                          (fault->number == 0 || fault->number == self->change_count);
    }
    return true;
}

void weft_ocs_core_measure(const struct weft_ocs_core *self, struct weft_ocs_port *levels,
                           struct weft_arena scratch)
{
    uint32_t n = self->port_count;
    double *milliwatts = WEFT_NEW(&scratch, double, n);
    for (uint32_t i = 0; i < n; i++) {
        if (self->mirrors[i] != WEFT_NONE) {
            milliwatts[self->mirrors[i]] += pow(10, (TRANSMITTER_DBM - LOSS_DB) / 10);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        levels[i] = (struct weft_ocs_port){
            .has_input_dbm = true,
            .has_output_dbm = true,
            .input_dbm = TRANSMITTER_DBM,
            .output_dbm = milliwatts[i] > 0 ? 10 * log10(milliwatts[i]) : DARK_DBM,
        };
    }
}

// ---- faults by their names ----

bool weft_ocs_parse_fault(struct weft_ocs_fault *fault, const char *text, struct weft_error *error)
{
    static const char *const names[] = {"", "stuck", "stale", "slow", "mute"};
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    const char *rest = colon != NULL ? colon + 1 : NULL;
    struct weft_ocs_fault found = {.port = WEFT_NONE};
    uint64_t value = 0;
    for (int k = WEFT_OCS_STUCK; k <= WEFT_OCS_MUTE; k++) {
        if (strlen(names[k]) == length && strncmp(names[k], text, length) == 0) {
            found.kind = (enum weft_ocs_fault_kind)k;
        }
    }
    bool needs_value = found.kind == WEFT_OCS_STUCK || found.kind == WEFT_OCS_SLOW;
    if (found.kind == WEFT_OCS_HEALTHY || (needs_value && rest == NULL)) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no fault; write stuck:PORT, stale[:PORT], slow:TIME or "
                         "mute[:N]",
                         text);
    }
    if (found.kind == WEFT_OCS_SLOW) {
        if (!weft_parse_time(&value, rest, error)) {
            return false;
        }
        if (value > 600 * WEFT_PS_PER_S) {
            return weft_fail(error, WEFT_INPUT, "'%.40s' is more than 600s", rest);
        }
        found.time_ms = (uint32_t)(value / 1000000000);
    } else if (rest != NULL) {
        bool counts = found.kind == WEFT_OCS_MUTE;
        if (!weft_parse_count(&value, rest, counts, counts ? UINT32_MAX : WEFT_OCS_PORTS_MAX - 1,
                              error)) {
            return false;
        }
        *(counts ? &found.number : &found.port) = (uint32_t)value;
    }
    *fault = found;
    return true;
}
