// SPDX-License-Identifier: Apache-2.0
// Values out of JSON objects, with one line of complaint that names the key and the bounds.
//
// jansson parses; duplicates are refused. Reals are written with the fewest digits that read
// back as the same number. Each look-up is O(1), a list of indices O(its length).

#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

// What a byte of text takes as a tree: the plan of 1,024 servers, 82.6 MB of mostly numbers of few
// digits, took 1.2 GB.
#define TREE_RATIO 14.6
#define TEXT_MAX 1024u
#define REAL_MAX 1e30
#define EXACT_MAX ((uint64_t)1 << 53)

// jansson would go on until the system ends the program.
static bool check_memory(size_t length, struct weft_error *error)
{
    double wanted = TREE_RATIO * (double)length;
    struct sysinfo machine;
    if (sysinfo(&machine) != 0 || wanted < (double)machine.totalram * machine.mem_unit) {
        return true;
    }
    char bytes[WEFT_UNIT_TEXT];
    char needed[WEFT_UNIT_TEXT];
    return weft_fail(error, WEFT_UNSUPPORTED,
                     "%s of JSON take some %s of memory to read, more than this machine has; take "
                     "a larger one",
                     weft_show_bytes(bytes, (double)length), weft_show_bytes(needed, wanted));
}

bool weft_json_parse(json_t **root, const char *data, size_t length, struct weft_error *error)
{
    json_error_t cause;
    if (!check_memory(length, error)) {
        return false;
    }
    json_t *parsed = json_loadb(data, length, JSON_REJECT_DUPLICATES, &cause);
    if (parsed == NULL) {
        return weft_fail(error, WEFT_INPUT, "line %d: not JSON: %s", cause.line, cause.text);
    }
    if (!json_is_object(parsed)) {
        json_decref(parsed);
        return weft_fail(error, WEFT_INPUT, "line 1: not a JSON object; it should start with {");
    }
    *root = parsed;
    return true;
}

static bool fail_missing(const char *key, const char *what, const json_t *found,
                         struct weft_error *error)
{
    return weft_fail(error, WEFT_INPUT, "%s: %s; write %s", key,
                     found == NULL ? "missing" : "of another type", what);
}

bool weft_json_object(const json_t **value, const json_t *object, const char *key,
                      struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_object(found)) {
        return fail_missing(key, "an object", found, error);
    }
    *value = found;
    return true;
}

bool weft_json_array(const json_t **value, const json_t *object, const char *key,
                     struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_array(found)) {
        return fail_missing(key, "an array", found, error);
    }
    *value = found;
    return true;
}

bool weft_json_u32(uint32_t *value, const json_t *object, const char *key, uint32_t low,
                   uint32_t high, struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_integer(found)) {
        return fail_missing(key, "a whole number", found, error);
    }
    json_int_t number = json_integer_value(found);
    if (number < (json_int_t)low || number > (json_int_t)high) {
        return weft_fail(error, WEFT_INPUT, "%s: %" JSON_INTEGER_FORMAT " is not from %u to %u",
                         key, number, low, high);
    }
    *value = (uint32_t)number;
    return true;
}

bool weft_json_u64(uint64_t *value, const json_t *object, const char *key, struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (json_is_string(found)) {
        return weft_parse_count(value, json_string_value(found), 0, UINT64_MAX, error) ||
               weft_wrap(error, "%s", key);
    }
    if (!json_is_integer(found)) {
        return fail_missing(key, "a whole number", found, error);
    }
    json_int_t number = json_integer_value(found);
    if (number < 0) {
        return weft_fail(error, WEFT_INPUT, "%s: %" JSON_INTEGER_FORMAT " is negative", key,
                         number);
    }
    *value = (uint64_t)number;
    return true;
}

bool weft_json_real(double *value, const json_t *object, const char *key, double low, double high,
                    struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_number(found)) {
        return fail_missing(key, "a number", found, error);
    }
    double number = json_number_value(found);
    if (!(number >= low && number <= high)) {
        return weft_fail(error, WEFT_INPUT, "%s: %g is not from %g to %g", key, number, low, high);
    }
    *value = number;
    return true;
}

bool weft_json_bool(bool *value, const json_t *object, const char *key, struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_boolean(found)) {
        return fail_missing(key, "true or false", found, error);
    }
    *value = json_is_true(found);
    return true;
}

bool weft_json_text(const char **value, const json_t *object, const char *key,
                    struct weft_arena *arena, struct weft_error *error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_string(found)) {
        return fail_missing(key, "a text", found, error);
    }
    size_t length = json_string_length(found);
    if (length > TEXT_MAX) {
        return weft_fail(error, WEFT_INPUT, "%s: a text of %zu bytes, more than %u; shorten it",
                         key, length, TEXT_MAX);
    }
    *value = weft_arena_text(arena, json_string_value(found), length);
    return true;
}

bool weft_json_indices(uint32_t *values, const json_t *array, uint32_t limit,
                       struct weft_error *error)
{
    size_t count = json_array_size(array);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t number = json_is_integer(item) ? json_integer_value(item) : -1;
        if (number < 0 || number >= (json_int_t)limit) {
            return weft_fail(error, WEFT_INPUT, "[%zu]: not a whole number below %u", i, limit);
        }
        values[i] = (uint32_t)number;
    }
    return true;
}

void weft_json_add_real(struct weft_text *text, double value)
{
    WEFT_ASSERT(isfinite(value));
    if (value >= 1 && value < 1e15 && value == floor(value)) { // most weights of paths are 1
        weft_text_add(text, "%llu", (unsigned long long)value);
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    weft_text_add(text, "%s", digits);
}

bool weft_json_read_reals(void *value, const json_t *object, const struct weft_json_real *members,
                          struct weft_error *error)
{
    for (; members->key != NULL; members++) {
        double *real = (void *)((char *)value + members->at);
        if (!weft_json_real(real, object, members->key, 0, REAL_MAX, error)) {
            return false;
        }
    }
    return true;
}

void weft_json_add_reals(struct weft_text *text, const void *value,
                         const struct weft_json_real *members)
{
    for (uint32_t i = 0; members[i].key != NULL; i++) {
        const double *real = (const void *)((const char *)value + members[i].at);
        weft_text_add(text, "%s", i == 0 ? "" : ", ");
        weft_json_field_real(text, members[i].key, *real, "");
    }
}

void weft_json_add_u64(struct weft_text *text, uint64_t value)
{
    const char *quote = value > EXACT_MAX ? "\"" : "";
    weft_text_add(text, "%s%llu%s", quote, (unsigned long long)value, quote);
}

void weft_json_add_text(struct weft_text *text, const char *value)
{
    weft_text_add(text, "\"");
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            weft_text_add(text, "\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            weft_text_add(text, "\\u%04x", (unsigned)*c);
        } else {
            weft_text_add(text, "%c", *c);
        }
    }
    weft_text_add(text, "\"");
}

void weft_json_field_real(struct weft_text *text, const char *key, double value, const char *end)
{
    weft_text_add(text, "\"%s\": ", key);
    weft_json_add_real(text, value);
    weft_text_add(text, "%s", end);
}

void weft_json_field_u64(struct weft_text *text, const char *key, uint64_t value, const char *end)
{
    weft_text_add(text, "\"%s\": ", key);
    weft_json_add_u64(text, value);
    weft_text_add(text, "%s", end);
}

void weft_json_field_text(struct weft_text *text, const char *key, const char *value,
                          const char *end)
{
    weft_text_add(text, "\"%s\": ", key);
    weft_json_add_text(text, value);
    weft_text_add(text, "%s", end);
}

void weft_json_add_indices(struct weft_text *text, const uint32_t *values, size_t count)
{
    weft_text_add(text, "[");
    for (size_t i = 0; i < count; i++) {
        weft_text_add(text, "%s%u", i == 0 ? "" : ",", values[i]);
    }
    weft_text_add(text, "]");
}
