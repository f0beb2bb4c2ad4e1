// SPDX-License-Identifier: Apache-2.0
// The driver of a box with RESTCONF (RFC 8040) and the module `optical-switch`.
//
// Circuits are one resource, read and replaced whole: a PUT of all pairs is one transaction, in
// which pairs that stay are the same as before.

#include "http.h"
#include "ocs.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "/api/data/optical-switch:"
#define CIRCUITS "optical-switch:cross-connects"
#define CONFIG "optical-switch:port-config"
#define POWER "optical-switch:opm-power"

struct box {
    struct weft_ocs_box said;
    uint32_t port_count;
    struct weft_arena arena; // each exchange begins anew in it
};

// One exchange; anything but the wanted status is a failure that quotes the box.
static bool exchange(struct weft_http_reply *reply, const struct box *box, const char *method,
                     const char *path, const char *body, struct weft_arena *arena,
                     struct weft_error *error)
{
    const struct weft_http_request request = {
        .address = box->said.address,
        .default_port = "8008",
        .method = method,
        .path = path,
        .user = box->said.user,
        .password = box->said.password,
        .body = body,
        .timeout_ms = box->said.timeout_ms,
    };
    if (!weft_http_ask(reply, &request, arena, error)) {
        return false;
    }
    if (reply->status == 401 || reply->status == 403) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%s: %s %s is not permitted (%u); give --user "
                         "NAME:PASSWORD",
                         box->said.address, method, path, reply->status);
    }
    return reply->status / 100 == 2 ||
           weft_fail(error, WEFT_IO, "%s: %s %s: status %u: %.120s", box->said.address, method,
                     path, reply->status, reply->body);
}

// The list `list` inside the container `name` of a reply; an empty or missing one is none. The
// caller gives *document back.
static bool read_list(json_t **document, json_t **rows, const struct box *box, const char *name,
                      const char *list, const struct weft_http_reply *reply,
                      struct weft_error *error)
{
    *document = NULL;
    *rows = NULL;
    if (reply->body_bytes == 0) {
        return true; // 204: the container is empty
    }
    *document = json_loadb(reply->body, reply->body_bytes, JSON_REJECT_DUPLICATES, NULL);
    json_t *container = json_object_get(*document, name);
    *rows = json_object_get(container, list);
    bool empty = json_is_object(container) && *rows == NULL;
    if (!json_is_array(*rows) && !empty) {
        json_decref(*document);
        return weft_fail(error, WEFT_IO, "%s: the answer has no %s; is it an optical switch?",
                         box->said.address, name);
    }
    return true;
}

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

static bool box_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct box *box = device;
    struct weft_arena arena = box->arena;
    struct weft_http_reply reply;
    json_t *document = NULL;
    json_t *rows = NULL;
    uint32_t n = box->port_count;
    if (!exchange(&reply, box, "GET", ROOT "cross-connects", NULL, &arena, error) ||
        !read_list(&document, &rows, box, CIRCUITS, "pair", &reply, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = WEFT_NONE;
    }
    bool fine = true;
    for (size_t i = 0; i < json_array_size(rows) && fine; i++) {
        const json_t *row = json_array_get(rows, i);
        uint32_t input = 0;
        uint32_t output = 0;
        fine = read_count(&input, row, "ingress", 1, n) &&
               read_count(&output, row, "egress", n + 1, 2 * n) && outputs[input - 1] == WEFT_NONE;
        if (fine) {
            outputs[input - 1] = output - n - 1;
        }
    }
    json_decref(document);
    return fine || weft_fail(error, WEFT_IO,
                             "%s: a cross-connect is not from ports 1 to %u to "
                             "ports %u to %u, or stands twice",
                             box->said.address, n, n + 1, 2 * n);
}

static bool box_change(void *device, const struct weft_ocs_circuit *changes, uint32_t count,
                       struct weft_error *error)
{
    struct box *box = device;
    struct weft_arena arena = box->arena;
    uint32_t n = box->port_count;
    uint32_t *outputs = WEFT_NEW(&arena, uint32_t, n);
    if (!box_read(box, outputs, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(changes[i].input < n);
        outputs[changes[i].input] = changes[i].output;
    }
    struct weft_arena texts = weft_arena_split(&arena);
    struct weft_text text;
    const char *comma = "";
    weft_text_init(&text, &texts);
    weft_text_add(&text, "{\"" CIRCUITS "\":{\"pair\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (outputs[i] != WEFT_NONE) {
            weft_text_add(&text, "%s{\"ingress\":%u,\"egress\":%u}", comma, i + 1,
                          n + 1 + outputs[i]);
            comma = ",";
        }
    }
    weft_text_add(&text, "]}}");
    struct weft_http_reply reply;
    return exchange(&reply, box, "PUT", ROOT "cross-connects", text.data, &arena, error);
}

static bool box_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct box *box = device;
    struct weft_arena arena = box->arena;
    struct weft_http_reply reply;
    json_t *document = NULL;
    json_t *rows = NULL;
    uint32_t n = box->port_count;
    if (!exchange(&reply, box, "GET", ROOT "opm-power", NULL, &arena, error) ||
        !read_list(&document, &rows, box, POWER, "port", &reply, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        ports[i] = (struct weft_ocs_port){0};
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *power = json_object_get(row, "power");
        uint32_t port = 0;
        if (!read_count(&port, row, "port-id", 1, 2 * n)) {
            continue; // of no cable of ours
        }
        // Numbers with fractions are texts in YANG's JSON (RFC 7951).
        double dbm = json_is_string(power) ? strtod(json_string_value(power), NULL)
                                           : json_number_value(power);
        struct weft_ocs_port *found = &ports[(port - 1) % n];
        found->has_power = true;
        *(port <= n ? &found->input_dbm : &found->output_dbm) = dbm;
    }
    json_decref(document);
    return true;
}

static void box_close(void *device)
{
    struct box *box = device;
    weft_arena_release(&box->arena);
}

// As many inputs as half of the ports that the box lists.
static bool count_ports(struct box *box, struct weft_error *error)
{
    struct weft_arena arena = box->arena;
    struct weft_http_reply reply;
    json_t *document = NULL;
    json_t *rows = NULL;
    if (!exchange(&reply, box, "GET", ROOT "port-config", NULL, &arena, error) ||
        !read_list(&document, &rows, box, CONFIG, "port", &reply, error)) {
        return false;
    }
    size_t count = json_array_size(rows);
    json_decref(document);
    if (count < 2 || count % 2 != 0 || count / 2 > WEFT_OCS_PORTS_MAX) {
        return weft_fail(error, WEFT_IO, "%s: %zu ports; N inputs and as many outputs are expected",
                         box->said.address, count);
    }
    box->port_count = (uint32_t)(count / 2);
    return true;
}

bool weft_ocs_open_restconf(struct weft_ocs *ocs, const struct weft_ocs_box *said,
                            struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        "RESTCONF", box_change, box_read, box_statistics, box_close,
    };
    struct box *box = WEFT_NEW(arena, struct box, 1);
    *box = (struct box){.said = *said};
    if (box->said.timeout_ms == 0) {
        box->said.timeout_ms = 5000;
    }
    if (!weft_arena_init(&box->arena, 4 * WEFT_HTTP_BYTES_MAX, error)) {
        return false;
    }
    if (!count_ports(box, error)) {
        weft_arena_release(&box->arena);
        return false;
    }
    *ocs = (struct weft_ocs){&driver, box, box->port_count};
    return true;
}
