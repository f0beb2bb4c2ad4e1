// SPDX-License-Identifier: Apache-2.0
// The driver of Polatis' optical switches by TL1.
//
// Inputs are ports 1..N, outputs N+1..2N. Commands and answers are those that public drivers and
// scripts for these switches use:
//
//   RTRV-EQPT::SYSTEM:TAG:::PARAMETER=SIZE;   "SYSTEM:SIZE=16x16"
//   RTRV-PATCH:::TAG:;                        "1,17"
//   ENT-PATCH::1&2,17&18:TAG:;                circuits 1-17 and 2-18
//   DLT-PATCH::1&2:TAG:;
//   RTRV-PORT-POWER::1&&32:TAG:;              "1:-3.12"; denied where no monitors are fitted
//
// Not confirmed: how many ports a list may have (64 a command here; commands go out together), and
// whether a command with a list is carried out as one.

#include "session.h"

#include <string.h>

enum { SETTLE_MS = 500, LIST_MAX = 64 };

struct polatis_switch {
    struct weft_ocs_access access;
    struct weft_tl1_session session;
    uint32_t port_count;
    bool measures_light;
};

static void polatis_begin(void *device)
{
    struct polatis_switch *self = device;
    weft_tl1_begin(&self->session);
}

// ---- reading ----

struct reading {
    const struct polatis_switch *self;
    uint32_t *outputs;
    struct weft_ocs_port *ports;
};

// "1,17"; the order of the two is not relied upon.
static bool take_patch(void *context, const struct weft_tl1_span *line, struct weft_error *error)
{
    const struct reading *reading = context;
    uint32_t n = reading->self->port_count;
    struct weft_tl1_span ends[2];
    uint32_t ports[2] = {0, 0};
    if (!weft_tl1_split(&ends[0], &ends[1], line, ",") ||
        !weft_tl1_count(&ports[0], &ends[0], 1, 2 * n) ||
        !weft_tl1_count(&ports[1], &ends[1], 1, 2 * n)) {
        return weft_fail(error, WEFT_IO, "'%.*s' is no patch of ports 1 to %u",
                         (int)(line->length < 40 ? line->length : 40), line->text, 2 * n);
    }
    uint32_t input = (ports[0] <= n ? ports[0] : ports[1]) - 1;
    uint32_t output = ports[0] <= n ? ports[1] : ports[0];
    if (input >= n || output <= n || reading->outputs[input] != WEFT_NONE) {
        return weft_fail(error, WEFT_IO,
                         "patch %u,%u is not from ports 1 to %u to ports %u to %u, or stands twice",
                         ports[0], ports[1], n, n + 1, 2 * n);
    }
    reading->outputs[input] = output - n - 1;
    return true;
}

static bool polatis_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct polatis_switch *self = device;
    struct reading reading = {.self = self, .outputs = outputs};
    memset(outputs, 0xff, self->port_count * sizeof *outputs);
    return weft_tl1_ask_one(&self->session, "RTRV-PATCH::\n", take_patch, &reading, error);
}

// "17:-3.12"; ports without a monitor say something else, or nothing.
static bool take_power(void *context, const struct weft_tl1_span *line, struct weft_error *error)
{
    (void)error;
    const struct reading *reading = context;
    uint32_t n = reading->self->port_count;
    struct weft_tl1_span head;
    struct weft_tl1_span rest;
    uint32_t port = 0;
    double dbm = 0;
    if (weft_tl1_split(&head, &rest, line, ":") && weft_tl1_count(&port, &head, 1, 2 * n) &&
        weft_tl1_number(&dbm, &rest)) {
        struct weft_ocs_port *found = &reading->ports[(port - 1) % n];
        *(port <= n ? &found->has_input_dbm : &found->has_output_dbm) = true;
        *(port <= n ? &found->input_dbm : &found->output_dbm) = dbm;
    }
    return true;
}

static bool polatis_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct polatis_switch *self = device;
    struct weft_arena arena = self->session.arena;
    struct reading reading = {.self = self, .ports = ports};
    memset(ports, 0, self->port_count * sizeof *ports);
    if (!self->measures_light) {
        return true;
    }
    const char *command =
        weft_arena_format(&arena, "RTRV-PORT-POWER::1&&%u\n", 2 * self->port_count);
    return weft_tl1_ask_one(&self->session, command, take_power, &reading, error);
}

// ---- changing ----

// "1&2" of inputs, or "17&18" of outputs.
static void add_list(struct weft_text *text, const struct weft_ocs_circuit *circuits,
                     uint32_t count, uint32_t port_count, bool of_outputs)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = of_outputs ? port_count + circuits[i].output : circuits[i].input;
        weft_text_add(text, "%s%u", i > 0 ? "&" : "", port + 1);
    }
}

static bool change(struct polatis_switch *self, const struct weft_ocs_circuit *circuits,
                   uint32_t count, bool makes, struct weft_error *error)
{
    struct weft_arena arena = self->session.arena;
    uint32_t command_count = (count + LIST_MAX - 1) / LIST_MAX;
    const char **commands = WEFT_NEW(&arena, const char *, command_count);
    for (uint32_t i = 0; i < command_count; i++) {
        const struct weft_ocs_circuit *first = circuits + (size_t)i * LIST_MAX;
        uint32_t left = count - i * LIST_MAX;
        uint32_t here = left < LIST_MAX ? left : LIST_MAX;
        struct weft_text text;
        weft_text_init(&text, &arena);
        weft_text_add(&text, makes ? "ENT-PATCH::" : "DLT-PATCH::");
        add_list(&text, first, here, self->port_count, false);
        if (makes) {
            weft_text_add(&text, ",");
            add_list(&text, first, here, self->port_count, true);
        }
        weft_text_add(&text, "\n");
        commands[i] = text.data;
    }
    const struct weft_tl1_batch batch = {.commands = commands, .count = command_count};
    return weft_tl1_ask(&self->session, &batch, error);
}

static bool polatis_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                           struct weft_error *error)
{
    return change(device, circuits, count, false, error);
}

static bool polatis_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                         struct weft_error *error)
{
    return change(device, circuits, count, true, error);
}

// ---- opening ----

static void polatis_close(void *device)
{
    struct polatis_switch *self = device;
    weft_tl1_close(&self->session);
}

// "SYSTEM:SIZE=16x16"
static bool take_size(void *context, const struct weft_tl1_span *line, struct weft_error *error)
{
    struct polatis_switch *self = context;
    struct weft_tl1_span size = weft_tl1_field(line, "SIZE");
    struct weft_tl1_span sides[2];
    uint32_t counts[2] = {0, 0};
    if (!weft_tl1_split(&sides[0], &sides[1], &size, "xX") ||
        !weft_tl1_count(&counts[0], &sides[0], 1, WEFT_OCS_PORTS_MAX) ||
        !weft_tl1_count(&counts[1], &sides[1], 1, WEFT_OCS_PORTS_MAX) || counts[0] != counts[1]) {
        return weft_fail(error, WEFT_IO,
                         "'%.*s' is no size; N inputs and as many outputs are expected",
                         (int)(line->length < 40 ? line->length : 40), line->text);
    }
    self->port_count = counts[0];
    return true;
}

static bool look_around(struct polatis_switch *self, struct weft_error *error)
{
    struct weft_error refusal;
    struct reading reading = {.self = self};
    if (!weft_tl1_ask_one(&self->session, "RTRV-EQPT::SYSTEM\n::PARAMETER=SIZE", take_size, self,
                          error)) {
        return false;
    }
    if (self->port_count == 0) {
        return weft_fail(error, WEFT_IO, "%s: the switch says no size", self->session.host);
    }
    // A switch without monitors denies this.
    struct weft_arena arena = self->session.arena;
    reading.ports = WEFT_NEW(&arena, struct weft_ocs_port, self->port_count);
    self->measures_light =
        weft_tl1_ask_one(&self->session, "RTRV-PORT-POWER::1&&1\n", take_power, &reading, &refusal);
    if (!self->measures_light && self->session.fd < 0) {
        *error = refusal;
        return false;
    }
    return true;
}

bool weft_ocs_open_polatis(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                           struct weft_arena *arena, struct weft_error *error)
{
    struct polatis_switch *self = WEFT_NEW(arena, struct polatis_switch, 1);
    struct weft_ocs_driver *driver = WEFT_NEW(arena, struct weft_ocs_driver, 1);
    self->access = *access;
    if (!weft_tl1_open(&self->session, &self->access, arena, error)) {
        return false;
    }
    if (!look_around(self, error)) {
        weft_tl1_close(&self->session);
        return false;
    }
    *driver = (struct weft_ocs_driver){
        .name = "Polatis TL1",
        .measures_light = self->measures_light,
        .settle_ms = SETTLE_MS,
        .begin = polatis_begin,
        .remove = polatis_remove,
        .make = polatis_make,
        .read = polatis_read,
        .statistics = polatis_statistics,
        .close = polatis_close,
    };
    *ocs = (struct weft_ocs){.driver = driver,
                             .device = self,
                             .port_count = self->port_count,
                             .address = self->session.host};
    return true;
}
