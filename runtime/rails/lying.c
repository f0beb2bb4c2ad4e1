// SPDX-License-Identifier: Apache-2.0
// A switch that may lie (lying.h).
//
// What it reports and what light follows are kept apart, as in the emulator's core: the inner
// switch holds the truth, by which light is told. Changes end when the last circuit has light, so
// that an answer never comes before the dark time is over.

#include "lying.h"
#include "runtime/clock.h"

#include <stdatomic.h>
#include <string.h>

#define LIT_DBM (-1.0)
#define DARK_DBM (-60.0)
#define DOUBLE_DB 3.0
// Default faults: one port's mirror; an answer that is late for every change time of a lab.
#define DEFAULT_STUCK "stuck:0"
#define DEFAULT_SLOW "slow:400ms"

static bool is_ill(const struct lab_lying *self)
{
    uint64_t at_ns = self->lie.at != NULL ? atomic_load(self->lie.at) : 0;
    return at_ns != 0 && lab_now_ns() >= at_ns;
}

static bool stays(const struct lab_lying *self, uint32_t input, bool goes)
{
    const struct weft_ocs_fault *fault = &self->lie.fault;
    bool faulty = fault->port == WEFT_NONE || fault->port == input;
    return is_ill(self) && !self->lie.is_dark && faulty &&
           (fault->kind == WEFT_OCS_STUCK || (fault->kind == WEFT_OCS_STALE && goes));
}

void lab_lying_tick(struct lab_lying *self, uint64_t now_ns)
{
    struct weft_error ignored;
    (void)now_ns;
    if (!self->lie.is_dark || self->went_dark || !is_ill(self)) {
        return;
    }
    self->went_dark = true;
    pthread_mutex_lock(&self->lock);
    for (uint32_t i = 0; i < self->inner.port_count; i++) {
        const struct weft_ocs_circuit circuit = {i, self->reported[i]};
        bool gone = circuit.output == WEFT_NONE ||
                    self->inner.driver->remove(self->inner.device, &circuit, 1, &ignored);
        (void)gone;
    }
    pthread_mutex_unlock(&self->lock);
}

// The answer to a change: late, or never.
static bool answer(struct lab_lying *self, struct weft_error *error)
{
    const struct weft_ocs_fault *fault = &self->lie.fault;
    self->change_count++;
    if (!is_ill(self) || self->lie.is_dark) {
        return true;
    }
    if (fault->kind == WEFT_OCS_SLOW) {
        lab_sleep_until(lab_now_ns() + fault->time_ms * 1000000ull);
    } else if (fault->kind == WEFT_OCS_MUTE &&
               (fault->number == 0 || fault->number == self->change_count)) {
        lab_sleep_until(lab_now_ns() + self->answer_ms * 1000000ull);
        return weft_fail(error, WEFT_IO, "the switch did not answer within %u ms", self->answer_ms);
    }
    return true;
}

// What of a batch the mirrors really do.
static uint32_t obeyed(struct weft_ocs_circuit *real, struct lab_lying *self,
                       const struct weft_ocs_circuit *circuits, uint32_t count, bool goes)
{
    uint32_t kept = 0;
    bool dark = !goes && self->lie.is_dark && is_ill(self);
    for (uint32_t i = 0; i < count && !dark; i++) {
        if (!stays(self, circuits[i].input, goes)) {
            real[kept++] = circuits[i];
        }
    }
    return kept;
}

static bool lying_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                         struct weft_error *error)
{
    struct lab_lying *self = device;
    struct weft_ocs_circuit real[WEFT_OCS_PORTS_MAX];
    pthread_mutex_lock(&self->lock);
    for (uint32_t i = 0; i < count; i++) {
        self->reported[circuits[i].input] = WEFT_NONE;
    }
    uint32_t kept = obeyed(real, self, circuits, count, true);
    bool fine = kept == 0 || self->inner.driver->remove(self->inner.device, real, kept, error);
    pthread_mutex_unlock(&self->lock);
    return fine;
}

static bool lying_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                       struct weft_error *error)
{
    struct lab_lying *self = device;
    struct weft_ocs_circuit real[WEFT_OCS_PORTS_MAX];
    pthread_mutex_lock(&self->lock);
    uint64_t lit_ns = lab_now_ns() + self->dark_ns;
    for (uint32_t i = 0; i < count; i++) {
        self->reported[circuits[i].input] = circuits[i].output;
    }
    uint32_t kept = obeyed(real, self, circuits, count, false);
    bool fine = kept == 0 || self->inner.driver->make(self->inner.device, real, kept, error);
    pthread_mutex_unlock(&self->lock);
    if (!fine) {
        return false;
    }
    lab_sleep_until(lit_ns);
    return answer(self, error);
}

static bool lying_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct lab_lying *self = device;
    (void)error;
    memcpy(outputs, self->reported, self->inner.port_count * sizeof *outputs);
    return true;
}

// Light at an output where some input leads to it, whatever is reported.
static bool lying_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct lab_lying *self = device;
    uint32_t n = self->inner.port_count;
    uint32_t truth[WEFT_OCS_PORTS_MAX];
    pthread_mutex_lock(&self->lock);
    bool fine = self->inner.driver->statistics(self->inner.device, ports, error) &&
                self->inner.driver->read(self->inner.device, truth, error);
    pthread_mutex_unlock(&self->lock);
    if (!fine) {
        return false;
    }
    for (uint32_t p = 0; p < n; p++) {
        ports[p].has_input_dbm = true;
        ports[p].has_output_dbm = true;
        ports[p].input_dbm = 0;
        ports[p].output_dbm = DARK_DBM;
    }
    for (uint32_t p = 0; p < n; p++) {
        if (truth[p] != WEFT_NONE) { // two circuits give twice the light
            double *output_dbm = &ports[truth[p]].output_dbm;
            *output_dbm = *output_dbm > DARK_DBM ? LIT_DBM + DOUBLE_DB : LIT_DBM;
        }
    }
    return true;
}

static void lying_close(void *device)
{
    struct lab_lying *self = device;
    weft_ocs_close(&self->inner);
}

void lab_lying_open(struct weft_ocs *ocs, struct lab_lying *self, const uint32_t *outputs,
                    struct weft_arena *arena)
{
    static const struct weft_ocs_driver driver = {
        .name = "lab",
        .measures_light = true,
        .remove = lying_remove,
        .make = lying_make,
        .read = lying_read,
        .statistics = lying_statistics,
        .close = lying_close,
    };
    uint32_t n = self->inner.port_count;
    self->reported = WEFT_NEW(arena, uint32_t, n);
    pthread_mutex_init(&self->lock, NULL);
    memcpy(self->reported, outputs, n * sizeof *self->reported);
    *ocs = (struct weft_ocs){.driver = &driver, .device = self, .port_count = n};
}

bool lab_lie_parse(struct lab_lie *lie, uint64_t *after_ps, const char *text,
                   struct weft_arena scratch, struct weft_error *error)
{
    const char *at = strchr(text, '@');
    size_t length = at != NULL ? (size_t)(at - text) : strlen(text);
    const char *name = weft_arena_format(&scratch, "%.*s", (int)length, text);
    struct lab_lie found = {.fault = {.port = WEFT_NONE}};
    uint64_t time_ps = 0;
    if (at != NULL && !weft_parse_time(&time_ps, at + 1, error)) {
        return false;
    }
    if (time_ps > 3600 * WEFT_PS_PER_S) {
        return weft_fail(error, WEFT_INPUT, "'%.40s' is more than 3600s", at + 1);
    }
    found.is_dark = strcmp(name, "dark") == 0;
    name = strcmp(name, "stuck") == 0  ? DEFAULT_STUCK
           : strcmp(name, "slow") == 0 ? DEFAULT_SLOW
                                       : name;
    if (!found.is_dark && !weft_ocs_parse_fault(&found.fault, name, error)) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no fault; write stuck[:PORT], stale[:PORT], slow[:TIME], "
                         "mute[:N] or dark, then @TIME",
                         text);
    }
    *lie = found;
    *after_ps = time_ps;
    return true;
}
