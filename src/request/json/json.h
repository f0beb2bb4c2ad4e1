// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_JSON_H
#define WEFT_REQUEST_JSON_H

// Results as JSON: one object with its schema, built by jansson and left as text in an arena.
//
// Each setter takes over the value it is given. Numbers that JSON lacks (infinity, NaN) become
// null; text that is no UTF-8 loses its odd bytes.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/plan.h"

#include <jansson.h>

// A new object with its schema: "weft.<thing>/1".
json_t *weft_set_object(const char *schema);
void weft_set(json_t *object, const char *key, json_t *value);
void weft_set_real(json_t *object, const char *key, double value);
void weft_set_count(json_t *object, const char *key, uint64_t value);
// An index; WEFT_NONE becomes null.
void weft_set_index(json_t *object, const char *key, uint32_t index);
// A text; NULL becomes null.
void weft_set_text(json_t *object, const char *key, const char *text);
void weft_set_truth(json_t *object, const char *key, bool value);
// An empty array to append to, which belongs to the object.
json_t *weft_set_list(json_t *object, const char *key);
// An array of counts, and one as a member.
json_t *weft_counts(const uint32_t *values, size_t count);
void weft_set_counts(json_t *object, const char *key, const uint32_t *values, size_t count);
// The rows of a bill: "part", "count", "usd" and "watts" of all of the row, "source"; of switches
// their model, tier and ports.
json_t *weft_bill_list(const struct weft_bill *bill);
// The bounds of a certificate, each with what it holds for.
json_t *weft_bounds_list(const struct weft_certificate *bounds);
// The object, which is released, as indented text with a newline at its end.
const char *weft_set_finish(json_t *object, struct weft_arena *arena);

#endif
