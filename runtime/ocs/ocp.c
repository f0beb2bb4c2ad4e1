// SPDX-License-Identifier: Apache-2.0
// Circuits, ports and light as JSON of the Open Compute Project's YANG model (ocp.h).
//
// A circuit is there when its status is CONNECTED, and until it is gone when PENDING_DELETION; all
// others are not. An edit keeps the entries of circuits that stay as they are, with their names, so
// that a device which compares what is configured touches none of them. O(ports), with port names
// that end in their number; O(ports^2) without.

#include "ocp.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- names ----

// The index of a name. Its last digits are most often its number, which is tried first.
static bool find_port(uint32_t *index, const char *name, const char *const *names, uint32_t count)
{
    size_t digits = 0;
    size_t length = strlen(name);
    while (digits < length && name[length - digits - 1] >= '0' &&
           name[length - digits - 1] <= '9') {
        digits++;
    }
    unsigned long guess = strtoul(name + length - digits, NULL, 10);
    if (guess >= 1 && guess <= count && strcmp(names[guess - 1], name) == 0) {
        *index = (uint32_t)guess - 1;
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

// ---- reading ----

// The container MODULE:name of a document, whatever the module, for a list in it that may be absent
// where it is empty. The caller gives the document back.
static bool open_container(json_t **document, json_t **container, const char *name,
                           const char *list, const struct weft_yang_text *text,
                           struct weft_error *error)
{
    const char *key = NULL;
    json_t *value = NULL;
    *container = NULL;
    if (text->bytes == 0) { // status 204: nothing is there
        *document = json_pack("{s+:{}}", WEFT_OCP_MODULE, name);
        *container = json_object_iter_value(json_object_iter(*document));
        return true;
    }
    *document = json_loadb(text->data, text->bytes, JSON_REJECT_DUPLICATES, NULL);
    json_object_foreach(*document, key, value)
    {
        const char *colon = strchr(key, ':');
        const json_t *rows = json_object_get(value, list);
        if (colon != NULL && strcmp(colon + 1, name) == 0 && json_is_object(value) &&
            (rows == NULL || json_is_array(rows))) {
            *container = value;
        }
    }
    if (*container == NULL) {
        json_decref(*document);
        return weft_fail(error, WEFT_IO, "the answer has no %s; is it a switch of OCP's model?",
                         name);
    }
    return true;
}

static const char *text_of(const json_t *row, const char *container, const char *leaf)
{
    const char *text = json_string_value(json_object_get(json_object_get(row, container), leaf));
    return text != NULL ? text : "";
}

// The two ends of a connection.
static bool read_ends(uint32_t *input, uint32_t *output, const json_t *row,
                      const struct weft_yang_ports *ports)
{
    return find_port(input, text_of(row, "config", "input-port-name"), ports->inputs,
                     ports->count) &&
           find_port(output, text_of(row, "config", "output-port-name"), ports->outputs,
                     ports->count);
}

static bool fail_connection(const json_t *row, struct weft_error *error)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    return weft_fail(error, WEFT_IO,
                     "connection '%.40s' is not from an input to an output of this switch, or its "
                     "input has another one",
                     name != NULL ? name : "");
}

// Whether an entry stands for light that passes.
static bool is_there(const json_t *row)
{
    const char *status = text_of(row, "state", "status");
    return strcmp(status, "CONNECTED") == 0 || strcmp(status, "PENDING_DELETION") == 0;
}

static bool read_connections(uint32_t *outputs, const struct weft_yang_ports *ports,
                             const struct weft_yang_text *text, bool all, struct weft_error *error)
{
    json_t *document = NULL;
    json_t *container = NULL;
    bool fine = true;
    for (uint32_t i = 0; i < ports->count; i++) {
        outputs[i] = WEFT_NONE;
    }
    if (!open_container(&document, &container, "connections", "port-connection", text, error)) {
        return false;
    }
    const json_t *rows = json_object_get(container, "port-connection");
    for (size_t i = 0; i < json_array_size(rows) && fine; i++) {
        const json_t *row = json_array_get(rows, i);
        uint32_t input = 0;
        uint32_t output = 0;
        if (!all && !is_there(row)) {
            continue;
        }
        fine = (read_ends(&input, &output, row, ports) && outputs[input] == WEFT_NONE) ||
               fail_connection(row, error);
        if (fine) {
            outputs[input] = output;
        }
    }
    json_decref(document);
    return fine;
}

static bool read_circuits(uint32_t *outputs, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, struct weft_error *error)
{
    return read_connections(outputs, ports, text, false, error);
}

bool weft_ocp_read_config(uint32_t *outputs, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, struct weft_error *error)
{
    return read_connections(outputs, ports, text, true, error);
}

static bool read_ports(struct weft_yang_ports *ports, const struct weft_yang_text *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    json_t *document = NULL;
    json_t *container = NULL;
    if (!open_container(&document, &container, "ports", "port", text, error)) {
        return false;
    }
    const json_t *rows = json_object_get(container, "port");
    size_t count = json_array_size(rows);
    size_t half = count / 2;
    const char *first = text_of(json_array_get(rows, 0), "state", "port-group");
    bool fine = count >= 2 && count % 2 == 0 && half <= WEFT_OCS_PORTS_MAX && first[0] != '\0';
    const char **names[2] = {WEFT_NEW(arena, const char *, fine ? half : 0),
                             WEFT_NEW(arena, const char *, fine ? half : 0)};
    size_t filled[2] = {0, 0};
    for (size_t i = 0; i < count && fine; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        int side = strcmp(text_of(row, "state", "port-group"), first) != 0;
        fine = name != NULL && name[0] != '\0' && filled[side] < half;
        if (fine) {
            names[side][filled[side]++] = weft_arena_text(arena, name, strlen(name));
        }
    }
    json_decref(document);
    if (!fine) {
        return weft_fail(error, WEFT_IO,
                         "%zu ports; two groups of as many named ports each are expected", count);
    }
    *ports = (struct weft_yang_ports){(uint32_t)half, names[0], names[1]};
    return true;
}

static bool read_power(struct weft_ocs_port *levels, const struct weft_yang_ports *ports,
                       const struct weft_yang_text *text, struct weft_error *error)
{
    json_t *document = NULL;
    json_t *container = NULL;
    if (!open_container(&document, &container, "ports", "port", text, error)) {
        return false;
    }
    const json_t *rows = json_object_get(container, "port");
    for (uint32_t i = 0; i < ports->count; i++) {
        levels[i] = (struct weft_ocs_port){0};
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        const char *power = text_of(row, "state", "optical-power");
        char *end = NULL;
        double dbm = strtod(power, &end);
        uint32_t port = 0;
        if (name == NULL || end == power || *end != '\0' || !isfinite(dbm)) {
            continue; // no measurement
        }
        if (find_port(&port, name, ports->inputs, ports->count)) {
            levels[port].has_input_dbm = true;
            levels[port].input_dbm = dbm;
        } else if (find_port(&port, name, ports->outputs, ports->count)) {
            levels[port].has_output_dbm = true;
            levels[port].output_dbm = dbm;
        }
    }
    json_decref(document);
    return true;
}

// ---- writing ----

static json_t *make_entry(const struct weft_yang_ports *ports,
                          const struct weft_ocs_circuit *circuit)
{
    const char *input = ports->inputs[circuit->input];
    const char *output = ports->outputs[circuit->output];
    json_t *name = json_sprintf("%s_%s", input, output);
    return json_pack("{s:O,s:{s:o,s:s,s:s}}", "name", name, "config", "name", name,
                     "input-port-name", input, "output-port-name", output);
}

// Whether an entry goes: it is not valid, it has an end of a circuit that is made, or it is one
// that is removed.
static bool goes(const json_t *row, const struct weft_yang_ports *ports,
                 const struct weft_yang_edit *edit, const uint32_t *by_input,
                 const uint32_t *by_output)
{
    uint32_t input = 0;
    uint32_t output = 0;
    return strcmp(text_of(row, "state", "status"), "INVALID") == 0 ||
           !read_ends(&input, &output, row, ports) || by_input[input] == output ||
           (edit->makes && (by_input[input] != WEFT_NONE || by_output[output] != WEFT_NONE));
}

static bool edit_circuits(const char **edited, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, const struct weft_yang_edit *edit,
                          struct weft_arena *arena, struct weft_error *error)
{
    json_t *document = NULL;
    json_t *container = NULL;
    uint32_t *by_input = WEFT_NEW(arena, uint32_t, ports->count);
    uint32_t *by_output = WEFT_NEW(arena, uint32_t, ports->count);
    memset(by_input, 0xff, ports->count * sizeof *by_input);
    memset(by_output, 0xff, ports->count * sizeof *by_output);
    for (uint32_t i = 0; i < edit->count; i++) {
        by_input[edit->circuits[i].input] = edit->circuits[i].output;
        by_output[edit->circuits[i].output] = edit->circuits[i].input;
    }
    if (!open_container(&document, &container, "connections", "port-connection", text, error)) {
        return false;
    }
    const json_t *rows = json_object_get(container, "port-connection");
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (!goes(row, ports, edit, by_input, by_output)) {
            json_object_del(row, "state"); // the device's, not ours to write
            json_array_append(kept, row);
        }
    }
    for (uint32_t i = 0; i < edit->count && edit->makes; i++) {
        json_array_append_new(kept, make_entry(ports, &edit->circuits[i]));
    }
    json_object_set_new(container, "port-connection", kept);
    char *body = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    if (body == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED, "no memory for the connections");
    }
    *edited = weft_arena_text(arena, body, strlen(body));
    free(body);
    return true;
}

// ---- the vocabulary ----

const struct weft_yang_vocabulary weft_yang_ocp = {
    .driver = "OCP",
    .root = WEFT_OCP_ROOT,
    .circuits = "connections",
    .ports = "ports",
    .power = "ports",
    .read_ports = read_ports,
    .read_circuits = read_circuits,
    .edit = edit_circuits,
    .read_power = read_power,
};
