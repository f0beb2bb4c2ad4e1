// SPDX-License-Identifier: Apache-2.0
// Results as JSON: the setters that all results share.
//
// jansson keeps the document on its own heap until weft_set_finish has written it into an arena, so
// that neither its types nor its memory reach the caller.

#include "request/json/json.h"

#include <math.h>

json_t *weft_set_object(const char *schema)
{
    json_t *object = json_object();
    weft_set_text(object, "schema", schema);
    return object;
}

void weft_set(json_t *object, const char *key, json_t *value)
{
    int failed = json_object_set_new(object, key, value);
    WEFT_ASSERT(failed == 0);
}

void weft_set_real(json_t *object, const char *key, double value)
{
    weft_set(object, key, isfinite(value) ? json_real(value) : json_null());
}

void weft_set_count(json_t *object, const char *key, uint64_t value)
{
    WEFT_ASSERT(value <= INT64_MAX);
    weft_set(object, key, json_integer((json_int_t)value));
}

void weft_set_index(json_t *object, const char *key, uint32_t index)
{
    weft_set(object, key, index == WEFT_NONE ? json_null() : json_integer(index));
}

void weft_set_truth(json_t *object, const char *key, bool value)
{
    weft_set(object, key, json_boolean(value));
}

void weft_set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text != NULL ? json_string(text) : json_null();
    if (value == NULL) {
        // A file's name may be any bytes. jansson copies them; its copy is made valid in place.
        value = json_string_nocheck(text);
        for (char *c = (char *)(uintptr_t)json_string_value(value); *c != '\0'; c++) {
            *c = (unsigned char)*c >= 0x80 ? '?' : *c;
        }
    }
    weft_set(object, key, value);
}

json_t *weft_set_list(json_t *object, const char *key)
{
    json_t *list = json_array();
    weft_set(object, key, list);
    return list;
}

json_t *weft_counts(const uint32_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_integer(values[i]));
    }
    return list;
}

void weft_set_counts(json_t *object, const char *key, const uint32_t *values, size_t count)
{
    weft_set(object, key, weft_counts(values, count));
}

json_t *weft_bill_list(const struct weft_bill *bill)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < bill->row_count; i++) {
        const struct weft_bill_row *row = &bill->rows[i];
        json_t *part = json_object();
        weft_set_text(part, "part", row->part);
        weft_set_count(part, "count", row->count);
        weft_set_real(part, "usd", row->usd);
        weft_set_real(part, "watts", row->watts);
        weft_set_text(part, "source", row->source);
        if (row->model != NULL) {
            weft_set_text(part, "model", row->model->name);
            weft_set_count(part, "tier", row->tier);
            weft_set_count(part, "ports_used", row->ports_used);
            weft_set_count(part, "ports_free", row->ports_free);
        }
        json_array_append_new(list, part);
    }
    return list;
}

json_t *weft_bounds_list(const struct weft_certificate *bounds)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < bounds->bound_count; i++) {
        const struct weft_bound *bound = &bounds->bounds[i];
        json_t *row = json_object();
        weft_set_text(row, "name", bound->name);
        weft_set_real(row, "seconds", bound->seconds);
        weft_set_text(row, "scope", weft_bound_scope_name(bound->scope));
        weft_set_text(row, "collectives", bound->any_collectives ? "any" : "balanced");
        weft_set_text(row, "strategy", bound->any_strategy ? "any" : "this");
        weft_set_truth(row, "binding", i == bounds->binding);
        weft_set_text(row, "reason", bound->reason);
        json_array_append_new(list, row);
    }
    return list;
}

const char *weft_set_finish(json_t *object, struct weft_arena *arena)
{
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(15);
    size_t length = json_dumpb(object, NULL, 0, flags);
    WEFT_ASSERT(length > 0);
    char *text = WEFT_NEW_RAW(arena, char, length + 2);
    size_t written = json_dumpb(object, text, length, flags);
    WEFT_ASSERT(written == length);
    text[length] = '\n';
    text[length + 1] = '\0';
    json_decref(object);
    return text;
}
