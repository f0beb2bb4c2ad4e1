// SPDX-License-Identifier: Apache-2.0
// The tables of a SONiC optical circuit switch (sonic.h), by jansson. O(entries).
//
// Names of tables and fields are those of SONiC's OCS design, a draft. Not confirmed are the words
// of a cross-connect's status: `tuned` of its two sides, or `tuned` or `connected` of its own, is
// taken for a circuit.

#include "sonic.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 16 };

// ---- names ----

// "12A" as 11; side is 'A' or 'B'.
static bool read_port(uint32_t *port, const char *name, char side, uint32_t count)
{
    char *end = NULL;
    if (name == NULL || name[0] < '1' || name[0] > '9') {
        return false;
    }
    unsigned long number = strtoul(name, &end, 10);
    if (number > count || end[0] != side || end[1] != '\0') {
        return false;
    }
    *port = (uint32_t)number - 1;
    return true;
}

// The two sides of a cross-connect: its fields, or where it has none its name, "1A-2B".
static bool read_sides(struct weft_ocs_circuit *circuit, const char *key, const json_t *fields,
                       uint32_t count)
{
    const char *sides[2] = {json_string_value(json_object_get(fields, "a_side")),
                            json_string_value(json_object_get(fields, "b_side"))};
    char name[2 * NAME_BYTES];
    const char *dash = strchr(key, '-');
    if (sides[0] == NULL && sides[1] == NULL && dash != NULL && strlen(key) < sizeof name) {
        snprintf(name, sizeof name, "%s", key);
        name[dash - key] = '\0';
        sides[0] = name;
        sides[1] = name + (dash - key) + 1;
    }
    return read_port(&circuit->input, sides[0], 'A', count) &&
           read_port(&circuit->output, sides[1], 'B', count);
}

// ---- tables ----

static bool load(json_t **document, const struct weft_yang_text *text, struct weft_error *error)
{
    json_error_t fault;
    *document = json_loadb(text->data, text->bytes, JSON_REJECT_DUPLICATES, &fault);
    if (json_is_object(*document)) {
        return true;
    }
    json_decref(*document);
    return weft_fail(error, WEFT_INPUT, "line %d: no JSON of a database's tables", fault.line);
}

// Whether an entry of the state stands for light that passes.
static bool is_made(const json_t *fields)
{
    const char *own = json_string_value(json_object_get(fields, "status"));
    const char *sides[2] = {json_string_value(json_object_get(fields, "a_side_status")),
                            json_string_value(json_object_get(fields, "b_side_status"))};
    if (own != NULL) {
        return strcmp(own, "tuned") == 0 || strcmp(own, "connected") == 0;
    }
    return sides[0] != NULL && sides[1] != NULL && strcmp(sides[0], "tuned") == 0 &&
           strcmp(sides[1], "tuned") == 0;
}

static bool add_circuit(uint32_t *outputs, uint32_t count, const char *key, const json_t *fields,
                        struct weft_error *error)
{
    struct weft_ocs_circuit circuit = {0, 0};
    if (!read_sides(&circuit, key, fields, count) || outputs[circuit.input] != WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "cross-connect %.40s: not from a port 1A to %uA to a port 1B to %uB, or "
                         "its A side has another one",
                         key, count, count);
    }
    outputs[circuit.input] = circuit.output;
    return true;
}

bool weft_sonic_read_ports(uint32_t *count, const struct weft_yang_text *config,
                           struct weft_error *error)
{
    json_t *document = NULL;
    const char *key = NULL;
    json_t *fields = NULL;
    uint32_t counts[2] = {0, 0};
    uint32_t port = 0;
    bool fine = true;
    if (!load(&document, config, error)) {
        return false;
    }
    json_t *table = json_object_get(document, "OCS_PORT");
    size_t half = json_object_size(table) / 2;
    json_object_foreach(table, key, fields)
    {
        // As names differ, N of either side below N+1 are all of them.
        bool is_a = read_port(&port, key, 'A', (uint32_t)half);
        fine = fine && half <= WEFT_OCS_PORTS_MAX &&
               (is_a || read_port(&port, key, 'B', (uint32_t)half));
        counts[is_a ? 0 : 1]++;
    }
    json_decref(document);
    if (!fine || counts[0] == 0 || counts[0] != counts[1]) {
        return weft_fail(error, WEFT_INPUT,
                         "OCS_PORT has no ports 1A to NA and 1B to NB, N up to "
                         "%u; is it a switch of type SonicOCS?",
                         WEFT_OCS_PORTS_MAX);
    }
    *count = counts[0];
    return true;
}

bool weft_sonic_read_config(uint32_t *outputs, uint32_t count, const struct weft_yang_text *config,
                            struct weft_error *error)
{
    json_t *document = NULL;
    const char *key = NULL;
    json_t *fields = NULL;
    bool fine = true;
    memset(outputs, 0xff, count * sizeof *outputs);
    if (!load(&document, config, error)) {
        return false;
    }
    json_object_foreach(json_object_get(document, "OCS_CROSS_CONNECT"), key, fields)
    {
        fine = fine && add_circuit(outputs, count, key, fields, error);
    }
    json_decref(document);
    return fine;
}

bool weft_sonic_read_state(uint32_t *outputs, uint32_t count, const struct weft_yang_text *state,
                           struct weft_error *error)
{
    static const char table[] = "OCS_CROSS_CONNECT_TABLE";
    json_t *document = NULL;
    const char *key = NULL;
    json_t *fields = NULL;
    bool fine = true;
    memset(outputs, 0xff, count * sizeof *outputs);
    if (!load(&document, state, error)) {
        return false;
    }
    json_object_foreach(json_object_get(document, table), key, fields)
    {
        fine = fine && (!is_made(fields) || add_circuit(outputs, count, key, fields, error));
    }
    json_object_foreach(document, key, fields)
    {
        const json_t *value = json_object_get(fields, "value");
        if (strncmp(key, table, sizeof table - 1) == 0 && key[sizeof table - 1] == '|' && fine) {
            fields = json_is_object(value) ? json_object_get(fields, "value") : fields;
            fine =
                !is_made(fields) || add_circuit(outputs, count, key + sizeof table, fields, error);
        }
    }
    json_decref(document);
    return fine;
}

// ---- editing ----

static bool check_port(const json_t *ports, const char *name, struct weft_error *error)
{
    const json_t *fields = json_object_get(ports, name);
    const char *state = json_string_value(json_object_get(fields, "state"));
    if (state == NULL) { // earlier drafts
        state = json_string_value(json_object_get(fields, "config_status"));
    }
    return state == NULL || strcmp(state, "normal") == 0 ||
           weft_fail(error, WEFT_INFEASIBLE, "OCS_PORT|%s is %.20s; set its state to normal", name,
                     state);
}

static bool put_in(json_t *document, json_t *table, const struct weft_ocs_circuit *circuit,
                   struct weft_error *error)
{
    const json_t *ports = json_object_get(document, "OCS_PORT");
    char sides[2][NAME_BYTES];
    char key[2 * NAME_BYTES];
    snprintf(sides[0], NAME_BYTES, "%uA", circuit->input + 1);
    snprintf(sides[1], NAME_BYTES, "%uB", circuit->output + 1);
    snprintf(key, sizeof key, "%s-%s", sides[0], sides[1]);
    if (!check_port(ports, sides[0], error) || !check_port(ports, sides[1], error)) {
        return false;
    }
    json_t *fields = json_pack("{s:s,s:s}", "a_side", sides[0], "b_side", sides[1]);
    return json_object_set_new(table, key, fields) == 0 ||
           weft_fail(error, WEFT_UNSUPPORTED, "no memory for the cross-connects");
}

// Takes out entries of these inputs, whatever they are called.
static void take_out(json_t *table, const struct weft_yang_edit *edit, uint32_t count,
                     struct weft_arena scratch)
{
    bool *goes = WEFT_NEW(&scratch, bool, count);
    const char *key = NULL;
    json_t *fields = NULL;
    void *next = NULL;
    for (uint32_t i = 0; i < edit->count; i++) {
        goes[edit->circuits[i].input] = true;
    }
    json_object_foreach_safe(table, next, key, fields)
    {
        struct weft_ocs_circuit circuit;
        if (read_sides(&circuit, key, fields, count) && goes[circuit.input]) {
            json_object_del(table, key);
        }
    }
}

bool weft_sonic_edit(const char **edited, uint32_t count, const struct weft_yang_text *config,
                     const struct weft_yang_edit *edit, struct weft_arena *arena,
                     struct weft_error *error)
{
    json_t *document = NULL;
    bool fine = true;
    if (!load(&document, config, error)) {
        return false;
    }
    json_t *table = json_object_get(document, "OCS_CROSS_CONNECT");
    if (!json_is_object(table)) {
        table = json_object();
        json_object_set_new(document, "OCS_CROSS_CONNECT", table);
    }
    if (!edit->makes) {
        take_out(table, edit, count, *arena);
    }
    for (uint32_t i = 0; i < edit->count && edit->makes && fine; i++) {
        fine = put_in(document, table, &edit->circuits[i], error);
    }
    char *text = fine ? json_dumps(document, JSON_INDENT(4)) : NULL;
    json_decref(document);
    if (text != NULL) {
        *edited = weft_arena_format(arena, "%s\n", text);
    }
    free(text);
    return fine && (text != NULL || weft_fail(error, WEFT_UNSUPPORTED, "no memory for the file"));
}
