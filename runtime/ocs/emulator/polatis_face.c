// SPDX-License-Identifier: Apache-2.0
// The switch emulator as a Polatis switch with TL1 (runtime/ocs/tl1/polatis.c has the commands).

#include "emulator.h"

#include <string.h>

static const char invalid[] = "IIAC,Input, Invalid Access Identifier";

// "1&3&&5" as ports 1, 3, 4 and 5, from 1; how many, 0 = it is no list of ports 1 to most.
static uint32_t read_list(uint32_t *ports, uint32_t room, const struct weft_tl1_span *list,
                          uint32_t most)
{
    uint32_t count = 0;
    uint32_t last = 0;
    bool is_range = false;
    struct weft_tl1_span part;
    for (uint32_t i = 0; weft_tl1_part(&part, list, '&', i); i++) {
        uint32_t port = 0;
        if (part.length == 0 && !is_range && count > 0) {
            is_range = true;
            continue;
        }
        if (!weft_tl1_count(&port, &part, 1, most) || (is_range && port < last)) {
            return 0;
        }
        for (uint32_t p = is_range ? last + 1 : port; p <= port; p++) {
            if (count == room) {
                return 0;
            }
            ports[count++] = p;
        }
        last = port;
        is_range = false;
    }
    return is_range ? 0 : count;
}

static void apply(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                  const uint32_t *outputs, struct weft_arena *arena)
{
    struct weft_ocs_core_answer made;
    struct weft_error error;
    if (!weft_ocs_core_change(&self->core, &made, outputs, *arena, &error)) {
        answer->denial = "SROF,Status, Requested Operation Failed";
        return;
    }
    answer->is_lost = made.is_lost;
    answer->wait_ms = made.wait_ms;
}

// ENT-PATCH::INPUTS,OUTPUTS. A port that has a circuit is not taken from it.
static void enter(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                  const struct weft_tl1_command *command, struct weft_arena *arena)
{
    uint32_t n = self->core.port_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    uint32_t *ends[2] = {WEFT_NEW(arena, uint32_t, 2 * n), WEFT_NEW(arena, uint32_t, 2 * n)};
    uint32_t counts[2] = {0, 0};
    struct weft_tl1_span lists[2];
    if (weft_tl1_split(&lists[0], &lists[1], &command->target, ",")) {
        counts[0] = read_list(ends[0], 2 * n, &lists[0], n);
        counts[1] = read_list(ends[1], 2 * n, &lists[1], 2 * n);
    }
    memcpy(outputs, self->core.reported, n * sizeof *outputs);
    bool fine = counts[0] > 0 && counts[0] == counts[1];
    for (uint32_t i = 0; i < counts[0] && fine; i++) {
        fine = ends[1][i] > n && outputs[ends[0][i] - 1] == WEFT_NONE;
        if (fine) {
            outputs[ends[0][i] - 1] = ends[1][i] - n - 1;
        }
    }
    if (fine) {
        apply(self, answer, outputs, arena);
    } else {
        answer->denial = invalid;
    }
}

// DLT-PATCH::PORTS, of inputs or outputs, or ALL.
static void leave(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                  const struct weft_tl1_command *command, struct weft_arena *arena)
{
    uint32_t n = self->core.port_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    uint32_t *ports = WEFT_NEW(arena, uint32_t, 2 * n);
    bool all = weft_tl1_is(&command->target, "ALL");
    uint32_t count = all ? 0 : read_list(ports, 2 * n, &command->target, 2 * n);
    memcpy(outputs, self->core.reported, n * sizeof *outputs);
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = all ? WEFT_NONE : outputs[i];
    }
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < n; i++) {
            bool is_end =
                ports[k] == i + 1 || (outputs[i] != WEFT_NONE && ports[k] == n + outputs[i] + 1);
            outputs[i] = is_end ? WEFT_NONE : outputs[i];
        }
    }
    if (all || count > 0) {
        apply(self, answer, outputs, arena);
    } else {
        answer->denial = invalid;
    }
}

static const char *list_patches(const struct weft_ocs_emulation *self, struct weft_arena *arena)
{
    uint32_t n = self->core.port_count;
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < n; i++) {
        if (self->core.reported[i] != WEFT_NONE) {
            weft_text_add(&text, "   \"%u,%u\"\r\n", i + 1, n + 1 + self->core.reported[i]);
        }
    }
    return text.data;
}

static void list_power(const struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                       const struct weft_tl1_command *command, struct weft_arena *arena)
{
    uint32_t n = self->core.port_count;
    uint32_t *ports = WEFT_NEW(arena, uint32_t, 2 * n);
    struct weft_ocs_port *levels = WEFT_NEW(arena, struct weft_ocs_port, n);
    uint32_t count = read_list(ports, 2 * n, &command->target, 2 * n);
    weft_ocs_core_measure(&self->core, levels, *arena);
    if (count == 0) {
        answer->denial = invalid;
        return;
    }
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < count; i++) {
        double dbm =
            ports[i] <= n ? levels[ports[i] - 1].input_dbm : levels[ports[i] - n - 1].output_dbm;
        weft_text_add(&text, "   \"%u:%.2f\"\r\n", ports[i], dbm);
    }
    answer->lines = text.data;
}

void weft_ocs_face_polatis(struct weft_ocs_emulation *self, struct weft_line_answer *answer,
                           const struct weft_tl1_command *command, struct weft_arena *arena)
{
    if (strcmp(command->verb, "ENT-PATCH") == 0) {
        enter(self, answer, command, arena);
    } else if (strcmp(command->verb, "DLT-PATCH") == 0) {
        leave(self, answer, command, arena);
    } else if (strcmp(command->verb, "RTRV-PATCH") == 0) {
        answer->lines = list_patches(self, arena);
    } else if (strcmp(command->verb, "RTRV-PORT-POWER") == 0) {
        list_power(self, answer, command, arena);
    } else if (strcmp(command->verb, "RTRV-EQPT") == 0) {
        answer->lines = weft_arena_format(arena, "   \"SYSTEM:SIZE=%ux%u\"\r\n",
                                          self->core.port_count, self->core.port_count);
    } else {
        answer->denial = "ICNV,Input, Command Not Valid";
    }
}
