// SPDX-License-Identifier: Apache-2.0
// Circuits, ports and light as JSON of the YANG module `optical-switch`.
//
// A container of YANG is an object named MODULE:CONTAINER, a list in it an array; numbers with
// fractions are texts (RFC 7951, 6.1), and an empty list may be left out. jansson parses; every
// number is held against the ports that there are. O(ports).

#include "yang.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#define MODULE "optical-switch:"

// ---- reading ----

// A list of a document, which json_decref gives back; no rows where it is empty or absent.
struct list {
    json_t *document;
    const json_t *rows;
};

// The list `member` of the container `name` (NULL: of the document itself).
static bool open_list(struct list *list, const char *name, const char *member, const char *text,
                      size_t bytes, struct weft_error *error)
{
    *list = (struct list){NULL, NULL};
    if (bytes == 0) {
        return true; // status 204: the container is empty
    }
    json_t *document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    const json_t *container = name == NULL ? document : json_object_get(document, name);
    const json_t *rows = json_object_get(container, member);
    bool is_empty = json_is_object(container) && rows == NULL;
    if (!json_is_array(rows) && !is_empty) {
        json_decref(document);
        return weft_fail(error, WEFT_IO, "the answer has no %s; is it an optical switch?",
                         name == NULL ? member : name);
    }
    *list = (struct list){document, rows};
    return true;
}

// A whole number within limits.
static bool read_count(uint32_t *value, const json_t *row, const char *key, uint32_t low,
                       uint32_t high)
{
    const json_t *found = json_object_get(row, key);
    json_int_t number = json_integer_value(found);
    if (!json_is_integer(found) || number < low || number > high) {
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

// Joins inputs to outputs by a list of pairs.
static bool add_pairs(uint32_t *outputs, uint32_t n, const json_t *rows, struct weft_error *error)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        uint32_t input = 0;
        uint32_t output = 0;
        if (!read_count(&input, row, "ingress", 1, n) ||
            !read_count(&output, row, "egress", n + 1, 2 * n) || outputs[input - 1] != WEFT_NONE) {
            return weft_fail(error, WEFT_IO,
                             "a cross-connect is not from ports 1 to %u to ports %u to %u, or "
                             "stands twice",
                             n, n + 1, 2 * n);
        }
        outputs[input - 1] = output - n - 1;
    }
    return true;
}

bool weft_yang_read_circuits(uint32_t *outputs, uint32_t port_count, const char *text, size_t bytes,
                             struct weft_error *error)
{
    struct list list;
    for (uint32_t i = 0; i < port_count; i++) {
        outputs[i] = WEFT_NONE;
    }
    if (!open_list(&list, MODULE "cross-connects", "pair", text, bytes, error)) {
        return false;
    }
    bool fine = add_pairs(outputs, port_count, list.rows, error);
    json_decref(list.document);
    return fine;
}

bool weft_yang_read_pairs(uint32_t *outputs, uint32_t port_count, const char *text, size_t bytes,
                          struct weft_error *error)
{
    struct list list;
    if (!open_list(&list, NULL, MODULE "pair", text, bytes, error)) {
        return false;
    }
    bool fine = add_pairs(outputs, port_count, list.rows, error);
    json_decref(list.document);
    return fine;
}

bool weft_yang_read_port_count(uint32_t *port_count, const char *text, size_t bytes,
                               struct weft_error *error)
{
    struct list list;
    if (!open_list(&list, MODULE "port-config", "port", text, bytes, error)) {
        return false;
    }
    size_t count = json_array_size(list.rows);
    json_decref(list.document);
    if (count < 2 || count % 2 != 0 || count / 2 > WEFT_OCS_PORTS_MAX) {
        return weft_fail(error, WEFT_IO, "%zu ports; N inputs and as many outputs are expected",
                         count);
    }
    *port_count = (uint32_t)(count / 2);
    return true;
}

bool weft_yang_read_power(struct weft_ocs_port *ports, uint32_t port_count, const char *text,
                          size_t bytes, struct weft_error *error)
{
    struct list list;
    if (!open_list(&list, MODULE "opm-power", "port", text, bytes, error)) {
        return false;
    }
    for (uint32_t i = 0; i < port_count; i++) {
        ports[i] = (struct weft_ocs_port){0};
    }
    for (size_t i = 0; i < json_array_size(list.rows); i++) {
        const json_t *row = json_array_get(list.rows, i);
        const json_t *power = json_object_get(row, "power");
        uint32_t port = 0;
        double dbm = json_is_string(power) ? strtod(json_string_value(power), NULL)
                                           : json_number_value(power);
        if (!read_count(&port, row, "port-id", 1, 2 * port_count) || !isfinite(dbm) ||
            (!json_is_string(power) && !json_is_number(power))) {
            continue; // a port beyond ours, or no measurement
        }
        struct weft_ocs_port *found = &ports[(port - 1) % port_count];
        if (port <= port_count) {
            found->has_input_dbm = true;
            found->input_dbm = dbm;
        } else {
            found->has_output_dbm = true;
            found->output_dbm = dbm;
        }
    }
    json_decref(list.document);
    return true;
}

// ---- writing ----

const char *weft_yang_write_circuits(const uint32_t *outputs, uint32_t port_count,
                                     struct weft_arena *arena)
{
    struct weft_text text;
    const char *comma = "";
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"" MODULE "cross-connects\":{\"pair\":[");
    for (uint32_t i = 0; i < port_count; i++) {
        if (outputs[i] != WEFT_NONE) {
            weft_text_add(&text, "%s{\"ingress\":%u,\"egress\":%u}", comma, i + 1,
                          port_count + 1 + outputs[i]);
            comma = ",";
        }
    }
    weft_text_add(&text, "]}}");
    return text.data;
}

const char *weft_yang_write_ports(uint32_t port_count, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"" MODULE "port-config\":{\"port\":[");
    for (uint32_t port = 1; port <= 2 * port_count; port++) {
        weft_text_add(&text, "%s{\"port-id\":%u,\"status\":\"ENABLED\"}", port > 1 ? "," : "",
                      port);
    }
    weft_text_add(&text, "]}}");
    return text.data;
}

const char *weft_yang_write_power(const struct weft_ocs_port *ports, uint32_t port_count,
                                  struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"" MODULE "opm-power\":{\"port\":[");
    for (uint32_t port = 1; port <= 2 * port_count; port++) {
        double dbm = port <= port_count ? ports[port - 1].input_dbm
                                        : ports[port - port_count - 1].output_dbm;
        weft_text_add(&text, "%s{\"port-id\":%u,\"power\":\"%.1f\"}", port > 1 ? "," : "", port,
                      dbm);
    }
    weft_text_add(&text, "]}}");
    return text.data;
}

// ---- the vocabulary ----

static bool read_ports(struct weft_yang_ports *ports, const struct weft_yang_text *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    (void)arena;
    struct weft_yang_ports found = {0};
    if (!weft_yang_read_port_count(&found.count, text->data, text->bytes, error)) {
        return false;
    }
    *ports = found;
    return true;
}

static bool read_circuits(uint32_t *outputs, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, struct weft_error *error)
{
    return weft_yang_read_circuits(outputs, ports->count, text->data, text->bytes, error);
}

static bool edit_circuits(const char **edited, const struct weft_yang_ports *ports,
                          const struct weft_yang_text *text, const struct weft_yang_edit *edit,
                          struct weft_arena *arena, struct weft_error *error)
{
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, ports->count);
    if (!read_circuits(outputs, ports, text, error)) {
        return false;
    }
    for (uint32_t i = 0; i < edit->count; i++) {
        WEFT_ASSERT(edit->circuits[i].input < ports->count);
        outputs[edit->circuits[i].input] = edit->makes ? edit->circuits[i].output : WEFT_NONE;
    }
    *edited = weft_yang_write_circuits(outputs, ports->count, arena);
    return true;
}

static bool read_power(struct weft_ocs_port *levels, const struct weft_yang_ports *ports,
                       const struct weft_yang_text *text, struct weft_error *error)
{
    return weft_yang_read_power(levels, ports->count, text->data, text->bytes, error);
}

const struct weft_yang_vocabulary weft_yang_polatis = {
    .driver = "RESTCONF",
    .root = WEFT_YANG_ROOT,
    .circuits = "cross-connects",
    .ports = "port-config",
    .power = "opm-power",
    .read_ports = read_ports,
    .read_circuits = read_circuits,
    .edit = edit_circuits,
    .read_power = read_power,
};
