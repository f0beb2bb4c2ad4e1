// SPDX-License-Identifier: Apache-2.0
// The driver of Calient's optical switches by TL1.
//
// A port has an input and an output under one name ("1.1.1"), so that input i and output i are the
// i-th port that the switch lists. Commands and answers are those of public drivers for these
// switches, whose recorded answers are of software 6.0:
//
//   RTRV-PORT-SUM::0:TAG;            "1.1.1:ALIAS=NONE,INPWR=-2.1,OUTPWR=NONE,CONNNAME1=..."
//   RTRV-CRS:::TAG::ALL;             "1.1.1>1.2.3:SRCPORT=1.1.1,DSTPORT=1.2.3,GRPNAME=SYSTEM,
//                                    CONNNAME=1.1.1>1.2.3,CONNTYPE=1WAY,AS=IS,OS=IS,OC=OK,..."
//   ENT-CRS::1.1.1,1.2.3:TAG::,1WAY; provisions a connection
//   ACT-CRS::1.1.1,1.2.3:TAG::1.1.1>1.2.3;             takes it into service
//   CANC-CRS::1.1.1,1.2.3:TAG::1.1.1>1.2.3;            takes it out of service
//   DLT-CRS::1.1.1,1.2.3:TAG::,SYSTEM,1.1.1>1.2.3;     deletes it
//
// A circuit is a connection whose administrative state is IS. Commands of a batch go out together.
// ENT-CRS-BULK and DLT-CRS-BULK exist and are not used, as the form of their lists is not
// confirmed; nor is it that CANC-CRS takes connections of all groups by their name alone.

#include "session.h"

#include <string.h>

enum { SETTLE_MS = 500, NAME_BYTES = 24, COMMANDS_EACH = 3 };

// A connection of an input, in service or not.
struct connection {
    uint32_t output; // WEFT_NONE = none
    bool is_active;
    bool is_two_way;
    char group[NAME_BYTES];
    char name[2 * NAME_BYTES];
};
struct calient_switch {
    struct weft_ocs_access access;
    struct weft_tl1_session session;
    uint32_t port_count;
    uint32_t next_port; // where find_port begins
    char (*names)[NAME_BYTES];
    struct connection *connections; // by input, as read last
    struct weft_ocs_port *levels;   // what is being measured
};

static void calient_begin(void *device)
{
    struct calient_switch *self = device;
    weft_tl1_begin(&self->session);
}

static bool copy(char *to, size_t size, const struct weft_tl1_span *span)
{
    bool fits = span->length > 0 && span->length < size &&
                memchr(span->text, ';', span->length) == NULL &&
                memchr(span->text, '\n', span->length) == NULL;
    if (fits) {
        memcpy(to, span->text, span->length);
        to[span->length] = '\0';
    }
    return fits;
}

// Lists are in order most often, so that the port behind the last one is looked at first.
static bool find_port(uint32_t *port, struct calient_switch *self, const struct weft_tl1_span *name)
{
    for (uint32_t i = 0; i < self->port_count; i++) {
        uint32_t at = (self->next_port + i) % self->port_count;
        if (weft_tl1_is(name, self->names[at])) {
            *port = at;
            self->next_port = at + 1;
            return true;
        }
    }
    return false;
}

// ---- reading ----

static bool take_connection(void *context, const struct weft_tl1_span *line,
                            struct weft_error *error)
{
    struct calient_switch *self = context;
    struct weft_tl1_span source = weft_tl1_field(line, "SRCPORT");
    struct weft_tl1_span target = weft_tl1_field(line, "DSTPORT");
    struct weft_tl1_span group = weft_tl1_field(line, "GRPNAME");
    struct weft_tl1_span name = weft_tl1_field(line, "CONNNAME");
    struct weft_tl1_span type = weft_tl1_field(line, "CONNTYPE");
    struct weft_tl1_span state = weft_tl1_field(line, "AS");
    uint32_t ends[2];
    bool known = find_port(&ends[0], self, &source) && find_port(&ends[1], self, &target);
    bool two_way = weft_tl1_is(&type, "2WAY");
    for (int i = 0; i < 1 + two_way && known; i++) {
        struct connection *connection = &self->connections[ends[i]];
        known = connection->output == WEFT_NONE &&
                copy(connection->group, sizeof connection->group, &group) &&
                copy(connection->name, sizeof connection->name, &name);
        connection->output = ends[1 - i];
        connection->is_active = weft_tl1_is(&state, "IS");
        connection->is_two_way = two_way;
    }
    return known || weft_fail(error, WEFT_IO, "'%.*s' is no connection of ports of this switch",
                              (int)(line->length < 60 ? line->length : 60), line->text);
}

static bool calient_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct calient_switch *self = device;
    for (uint32_t i = 0; i < self->port_count; i++) {
        self->connections[i] = (struct connection){.output = WEFT_NONE};
    }
    if (!weft_tl1_ask_one(&self->session, "RTRV-CRS::\n:ALL", take_connection, self, error)) {
        return false;
    }
    for (uint32_t i = 0; i < self->port_count; i++) {
        outputs[i] = self->connections[i].is_active ? self->connections[i].output : WEFT_NONE;
    }
    return true;
}

static bool take_levels(void *context, const struct weft_tl1_span *line, struct weft_error *error)
{
    (void)error;
    struct calient_switch *self = context;
    struct weft_tl1_span name;
    struct weft_tl1_span rest;
    uint32_t port = 0;
    if (weft_tl1_split(&name, &rest, line, ":") && find_port(&port, self, &name)) {
        struct weft_tl1_span input = weft_tl1_field(&rest, "INPWR");
        struct weft_tl1_span output = weft_tl1_field(&rest, "OUTPWR");
        struct weft_ocs_port *found = &self->levels[port];
        found->has_input_dbm = weft_tl1_number(&found->input_dbm, &input);
        found->has_output_dbm = weft_tl1_number(&found->output_dbm, &output);
    }
    return true;
}

static bool calient_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct calient_switch *self = device;
    self->levels = ports;
    memset(ports, 0, self->port_count * sizeof *ports);
    return weft_tl1_ask_one(&self->session, "RTRV-PORT-SUM::0\n", take_levels, self, error);
}

// ---- changing ----

static bool send_all(struct calient_switch *self, const char *const *commands, uint32_t count,
                     struct weft_error *error)
{
    return weft_tl1_ask(&self->session, &(struct weft_tl1_batch){commands, count, NULL, NULL},
                        error);
}

// CANC-CRS where it is in service, then DLT-CRS.
static uint32_t write_removal(const char **commands, const struct calient_switch *self,
                              uint32_t input, struct weft_arena *arena)
{
    const struct connection *connection = &self->connections[input];
    const char *from = self->names[input];
    const char *to = self->names[connection->output];
    uint32_t count = 0;
    if (connection->is_active) {
        commands[count++] =
            weft_arena_format(arena, "CANC-CRS::%s,%s\n:%s", from, to, connection->name);
    }
    commands[count++] = weft_arena_format(arena, "DLT-CRS::%s,%s\n:,%s,%s", from, to,
                                          connection->group, connection->name);
    return count;
}

static bool calient_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                           struct weft_error *error)
{
    struct calient_switch *self = device;
    struct weft_arena arena = self->session.arena;
    const char **commands = WEFT_NEW(&arena, const char *, (size_t)COMMANDS_EACH *count);
    bool *goes = WEFT_NEW(&arena, bool, self->port_count);
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) {
        goes[circuits[i].input] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t input = circuits[i].input;
        const struct connection *connection = &self->connections[input];
        WEFT_ASSERT(connection->output == circuits[i].output); // as was read just before
        if (connection->is_two_way && !goes[connection->output]) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "%s: connection %s has two ways; take away both, inputs %u and %u",
                             self->session.host, connection->name, input, connection->output);
        }
        // One command takes both ways of a connection away.
        if (!connection->is_two_way || input < connection->output) {
            written += write_removal(commands + written, self, input, &arena);
        }
    }
    return send_all(self, commands, written, error);
}

// Connections that are provisioned and not in service stand in the way of new ones.
static bool clear_way(struct calient_switch *self, const struct weft_ocs_circuit *circuits,
                      uint32_t count, struct weft_error *error)
{
    struct weft_arena arena = self->session.arena;
    const char **commands = WEFT_NEW(&arena, const char *, (size_t)COMMANDS_EACH *count);
    bool *is_target = WEFT_NEW(&arena, bool, self->port_count);
    bool *is_source = WEFT_NEW(&arena, bool, self->port_count);
    uint32_t *now = WEFT_NEW(&arena, uint32_t, self->port_count);
    uint32_t written = 0;
    if (!calient_read(self, now, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        is_source[circuits[i].input] = true;
        is_target[circuits[i].output] = true;
    }
    for (uint32_t i = 0; i < self->port_count; i++) {
        const struct connection *connection = &self->connections[i];
        if (connection->output != WEFT_NONE && !connection->is_active &&
            (is_source[i] || is_target[connection->output]) && written < 2 * count) {
            written += write_removal(commands + written, self, i, &arena);
        }
    }
    return written == 0 || send_all(self, commands, written, error);
}

static bool calient_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                         struct weft_error *error)
{
    struct calient_switch *self = device;
    struct weft_arena arena = self->session.arena;
    if (!clear_way(self, circuits, count, error)) {
        return false;
    }
    const char **commands = WEFT_NEW(&arena, const char *, (size_t)COMMANDS_EACH *count);
    for (uint32_t i = 0; i < count; i++) {
        const char *from = self->names[circuits[i].input];
        const char *to = self->names[circuits[i].output];
        commands[i] = weft_arena_format(&arena, "ENT-CRS::%s,%s\n:,1WAY", from, to);
        commands[count + i] =
            weft_arena_format(&arena, "ACT-CRS::%s,%s\n:%s>%s", from, to, from, to);
    }
    return send_all(self, commands, 2 * count, error);
}

// ---- opening ----

static void calient_close(void *device)
{
    struct calient_switch *self = device;
    weft_tl1_close(&self->session);
}

static bool take_name(void *context, const struct weft_tl1_span *line, struct weft_error *error)
{
    struct calient_switch *self = context;
    struct weft_tl1_span name;
    struct weft_tl1_span rest;
    uint32_t other = 0;
    if (!weft_tl1_split(&name, &rest, line, ":") || find_port(&other, self, &name) ||
        self->port_count == WEFT_OCS_PORTS_MAX ||
        !copy(self->names[self->port_count], NAME_BYTES, &name)) {
        return weft_fail(error, WEFT_IO, "'%.*s' is no port, or stands twice",
                         (int)(line->length < 40 ? line->length : 40), line->text);
    }
    self->port_count++;
    return true;
}

bool weft_ocs_open_calient(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                           struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        .name = "Calient TL1",
        .measures_light = true,
        .settle_ms = SETTLE_MS,
        .begin = calient_begin,
        .remove = calient_remove,
        .make = calient_make,
        .read = calient_read,
        .statistics = calient_statistics,
        .close = calient_close,
    };
    struct calient_switch *self = WEFT_NEW(arena, struct calient_switch, 1);
    self->access = *access;
    if (!weft_tl1_open(&self->session, &self->access, arena, error)) {
        return false;
    }
    self->names = weft_arena_alloc(arena, WEFT_OCS_PORTS_MAX, NAME_BYTES);
    if (!weft_tl1_ask_one(&self->session, "RTRV-PORT-SUM::0\n", take_name, self, error) ||
        (self->port_count == 0 &&
         !weft_fail(error, WEFT_IO, "%s: the switch lists no ports", self->session.host))) {
        weft_tl1_close(&self->session);
        return false;
    }
    self->connections = WEFT_NEW(arena, struct connection, self->port_count);
    *ocs = (struct weft_ocs){.driver = &driver,
                             .device = self,
                             .port_count = self->port_count,
                             .address = self->session.host};
    return true;
}
