// SPDX-License-Identifier: Apache-2.0
// The switch emulator as a Calient switch with TL1 (runtime/ocs/tl1/calient.c has the commands).
//
// Connections are provisioned first (ENT-CRS), then taken into service (ACT-CRS), and the other way
// round (CANC-CRS, DLT-CRS). The core knows those in service.

#include "emulator.h"

#include <string.h>

enum { NAME_BYTES = 24 };

static const char invalid[] = "IIAC,Input, Invalid Access Identifier";
static const char in_use[] = "SROF,Status, Invalid Connection, port in use";

// Ports are called as by the switches: a group of 64, a row of 8, a place.
static const char *name_port(char name[NAME_BYTES], uint32_t port)
{
    snprintf(name, NAME_BYTES, "%u.%u.%u", port / 64 + 1, port / 8 % 8 + 1, port % 8 + 1);
    return name;
}

static bool read_port(uint32_t *port, const struct weft_tl1_span *name, uint32_t port_count)
{
    uint32_t parts[3] = {0, 0, 0};
    const uint32_t most[3] = {WEFT_OCS_PORTS_MAX / 64, 8, 8};
    struct weft_tl1_span part;
    for (uint32_t i = 0; i < 3; i++) {
        if (!weft_tl1_part(&part, name, '.', i) || !weft_tl1_count(&parts[i], &part, 1, most[i])) {
            return false;
        }
    }
    *port = 64 * (parts[0] - 1) + 8 * (parts[1] - 1) + parts[2] - 1;
    return !weft_tl1_part(&part, name, '.', 3) && *port < port_count;
}

// The two ports of a command's access identifier, "1.1.1,1.2.3".
static bool read_ends(struct weft_ocs_circuit *circuit, const struct weft_tl1_command *command,
                      uint32_t port_count)
{
    struct weft_tl1_span ends[2];
    return weft_tl1_split(&ends[0], &ends[1], &command->target, ",") &&
           read_port(&circuit->input, &ends[0], port_count) &&
           read_port(&circuit->output, &ends[1], port_count);
}

// Takes a connection into service, or out of it.
static void activate(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                     const struct weft_ocs_circuit *circuit, bool in_service,
                     struct weft_arena *arena)
{
    struct weft_ocs_core_answer made;
    struct weft_error error;
    uint32_t n = self->core.port_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    memcpy(outputs, self->core.reported, n * sizeof *outputs);
    outputs[circuit->input] = in_service ? circuit->output : WEFT_NONE;
    if (!weft_ocs_core_change(&self->core, &made, outputs, *arena, &error)) {
        answer->denial = in_use;
        return;
    }
    answer->is_lost = made.is_lost;
    answer->wait_ms = made.wait_ms;
}

static bool is_taken(const struct weft_ocs_emulation *self, const struct weft_ocs_circuit *circuit)
{
    bool taken = self->provisioned[circuit->input] != WEFT_NONE;
    for (uint32_t i = 0; i < self->core.port_count; i++) {
        taken = taken || self->provisioned[i] == circuit->output;
    }
    return taken;
}

static void change(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                   const struct weft_tl1_command *command, struct weft_arena *arena)
{
    struct weft_ocs_circuit circuit;
    if (!read_ends(&circuit, command, self->core.port_count)) {
        answer->denial = invalid;
        return;
    }
    uint32_t *provisioned = &self->provisioned[circuit.input];
    if (strcmp(command->verb, "ENT-CRS") == 0) {
        answer->denial = is_taken(self, &circuit) ? in_use : NULL;
        *provisioned = answer->denial == NULL ? circuit.output : *provisioned;
        return;
    }
    bool is_active = self->core.reported[circuit.input] == circuit.output;
    if (*provisioned != circuit.output) {
        answer->denial = "SROF,Status, Invalid Connection, there is none";
    } else if (strcmp(command->verb, "ACT-CRS") == 0) {
        activate(self, answer, &circuit, true, arena);
    } else if (strcmp(command->verb, "CANC-CRS") == 0) {
        activate(self, answer, &circuit, false, arena);
    } else if (is_active) {
        answer->denial = "SROF,Status, Invalid Connection, in service";
    } else {
        *provisioned = WEFT_NONE;
    }
}

static const char *list_connections(const struct weft_ocs_emulation *self, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < self->core.port_count; i++) {
        char from[NAME_BYTES];
        char to[NAME_BYTES];
        if (self->provisioned[i] == WEFT_NONE) {
            continue;
        }
        bool is_active = self->core.reported[i] == self->provisioned[i];
        name_port(from, i);
        name_port(to, self->provisioned[i]);
        weft_text_add(&text,
                      "   \"%s>%s:SRCPORT=%s,DSTPORT=%s,GRPNAME=SYSTEM,CONNNAME=%s>%s,"
                      "CONNTYPE=1WAY,AS=%s,OS=%s,OC=OK,PS=UPR,AL=CL\"\r\n",
                      from, to, from, to, from, to, is_active ? "IS" : "UMA",
                      is_active ? "IS" : "RDY");
    }
    return text.data;
}

static const char *list_ports(const struct weft_ocs_emulation *self, struct weft_arena *arena)
{
    uint32_t n = self->core.port_count;
    struct weft_ocs_port *levels = WEFT_NEW(arena, struct weft_ocs_port, n);
    struct weft_text text;
    weft_ocs_core_measure(&self->core, levels, *arena);
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < n; i++) {
        char name[NAME_BYTES];
        weft_text_add(&text, "   \"%s:ALIAS=NONE,INPWR=%.2f,OUTPWR=%.2f\"\r\n", name_port(name, i),
                      levels[i].input_dbm, levels[i].output_dbm);
    }
    return text.data;
}

void weft_ocs_face_calient(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                           const struct weft_tl1_command *command, struct weft_arena *arena)
{
    static const char *const changes[] = {"ENT-CRS", "ACT-CRS", "CANC-CRS", "DLT-CRS"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(command->verb, changes[i]) == 0) {
            change(self, answer, command, arena);
            return;
        }
    }
    if (strcmp(command->verb, "RTRV-CRS") == 0) {
        answer->lines = list_connections(self, arena);
    } else if (strcmp(command->verb, "RTRV-PORT-SUM") == 0) {
        answer->lines = list_ports(self, arena);
    } else {
        answer->denial = "ICNV,Input, Command Not Valid";
    }
}
