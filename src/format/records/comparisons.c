// SPDX-License-Identifier: Apache-2.0
// Comparisons of models over fabrics, weft.comparisons/1: out as text, and in again, so that
// long tables can be made in several runs.
//
// One table of keys and offsets serves both directions, so that what is written is what is
// read. O(bytes).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <stddef.h>
#include <string.h>

#define SCHEMA "weft.comparisons/1"
#define COUNT_MAX 4096u
#define ROWS_MAX 64u
#define LARGE 1e30

// ---- out ----

static const struct weft_json_real metrics[] = {
    {"iteration_s", offsetof(struct weft_comparison, iteration_s)},
    {"ratio_to_ideal", offsetof(struct weft_comparison, ratio_to_ideal)},
    {"cost_usd", offsetof(struct weft_comparison, cost_usd)},
    {"power_watts", offsetof(struct weft_comparison, power_watts)},
    {"bandwidth_tax", offsetof(struct weft_comparison, bandwidth_tax_ratio)},
    {"mean_hops", offsetof(struct weft_comparison, mean_hops)},
    {"max_link_load_bytes", offsetof(struct weft_comparison, max_link_load_bytes)},
    {"mean_link_load_bytes", offsetof(struct weft_comparison, mean_link_load_bytes)},
    {"port_rate_Bps", offsetof(struct weft_comparison, port_rate_Bps)},
    {NULL, 0},
};

static void add_row(struct weft_text *text, const struct weft_comparison *row)
{
    weft_text_add(text, "{");
    weft_json_field_text(text, "name", row->name, "");
    if (row->why_not != NULL) {
        weft_text_add(text, ", ");
        weft_json_field_text(text, "why_not", row->why_not, "}");
        return;
    }
    weft_text_add(text, ", ");
    weft_json_add_reals(text, row, metrics);
    weft_text_add(text, ", \"max_hops\": %u", row->max_hops);
    if (row->found_for != NULL) {
        weft_text_add(text, ", ");
        weft_json_field_text(text, "found_for", row->found_for, "");
    }
    weft_text_add(text, "}");
}

// Writes one comparison; variants that were not tried and a reason that is not there are left
// out.
static void add_comparison(struct weft_text *text, const struct weft_model_comparison *comparison)
{
    weft_text_add(text, "\n    {");
    weft_json_field_text(text, "model", comparison->model, ", ");
    weft_json_field_u64(text, "batch", comparison->batch, ", ");
    weft_text_add(text, "\"servers\": %u, \"degree\": %u, ", comparison->server_count,
                  comparison->degree);
    weft_json_field_real(text, "rate_Bps", comparison->rate_Bps, ", ");
    weft_json_field_text(text, "costs", comparison->costs, ", ");
    weft_json_field_u64(text, "seed", comparison->seed, ", ");
    weft_json_field_real(text, "effort_s", comparison->effort_s, ", ");
    weft_json_field_u64(text, "evaluations", comparison->evaluations, ",\n     \"variants\": {");
    bool first = true;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        if (comparison->variant_s[v] > 0) {
            weft_text_add(text, "%s", first ? "" : ", ");
            weft_json_field_real(text, weft_coplan_variant_name(v), comparison->variant_s[v], "");
            first = false;
        }
    }
    weft_text_add(text, "},\n     ");
    if (comparison->stopped) {
        weft_text_add(text, "\"finished\": false,\n     ");
    }
    if (comparison->why_not != NULL) {
        weft_json_field_text(text, "why_not", comparison->why_not, ",\n     ");
    }
    weft_text_add(text, "\"fabrics\": [");
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        weft_text_add(text, "%s\n       ", r == 0 ? "" : ",");
        add_row(text, &comparison->rows[r]);
    }
    weft_text_add(text, "\n     ]}");
}

const char *weft_comparisons_write(const struct weft_model_comparison *comparisons, uint32_t count,
                                   struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\n  \"schema\": \"" SCHEMA "\",\n  \"comparisons\": [");
    for (uint32_t i = 0; i < count; i++) {
        weft_text_add(&text, "%s", i == 0 ? "" : ",");
        add_comparison(&text, &comparisons[i]);
    }
    weft_text_add(&text, "\n  ]\n}\n");
    return text.data;
}

// ---- in ----

static bool read_row(struct weft_comparison *row, const json_t *object, struct weft_arena *arena,
                     struct weft_error *error)
{
    *row = (struct weft_comparison){0};
    if (!weft_json_text(&row->name, object, "name", arena, error)) {
        return false;
    }
    if (json_object_get(object, "why_not") != NULL) {
        return weft_json_text(&row->why_not, object, "why_not", arena, error);
    }
    if (!weft_json_read_reals(row, object, metrics, error)) {
        return false;
    }
    if (json_object_get(object, "found_for") != NULL &&
        !weft_json_text(&row->found_for, object, "found_for", arena, error)) {
        return false;
    }
    return weft_json_u32(&row->max_hops, object, "max_hops", 0, UINT32_MAX - 1, error);
}

static bool read_variants(double *variant_s, const json_t *object, struct weft_error *error)
{
    const json_t *variants = NULL;
    if (!weft_json_object(&variants, object, "variants", error)) {
        return false;
    }
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        const char *name = weft_coplan_variant_name(v);
        variant_s[v] = 0;
        if (json_object_get(variants, name) != NULL &&
            !weft_json_real(&variant_s[v], variants, name, 0, LARGE, error)) {
            return weft_wrap(error, "variants");
        }
    }
    return true;
}

// Reads the comparison of one model; a row of a fabric that could not be built has its reason
// alone.
static bool read_comparison(struct weft_model_comparison *comparison, const json_t *object,
                            struct weft_arena *arena, struct weft_error *error)
{
    *comparison = (struct weft_model_comparison){0};
    const json_t *fabrics = NULL;
    if (!weft_json_text(&comparison->model, object, "model", arena, error) ||
        !weft_json_u64(&comparison->batch, object, "batch", error) ||
        !weft_json_u32(&comparison->server_count, object, "servers", 1, WEFT_CLUSTER_SERVERS_MAX,
                       error) ||
        !weft_json_u32(&comparison->degree, object, "degree", 1, WEFT_CLUSTER_SERVERS_MAX, error) ||
        !weft_json_real(&comparison->rate_Bps, object, "rate_Bps", 1, LARGE, error) ||
        !weft_json_text(&comparison->costs, object, "costs", arena, error) ||
        !weft_json_u64(&comparison->seed, object, "seed", error) ||
        !weft_json_real(&comparison->effort_s, object, "effort_s", 0, LARGE, error) ||
        !weft_json_u64(&comparison->evaluations, object, "evaluations", error) ||
        !read_variants(comparison->variant_s, object, error) ||
        !weft_json_array(&fabrics, object, "fabrics", error)) {
        return false;
    }
    comparison->stopped = json_is_false(json_object_get(object, "finished"));
    size_t count = json_array_size(fabrics);
    if (count == 0 || count > ROWS_MAX) {
        return weft_fail(error, WEFT_INPUT, "fabrics: %zu rows; there are 1 to %u", count,
                         ROWS_MAX);
    }
    struct weft_comparison *rows = WEFT_NEW(arena, struct weft_comparison, count);
    for (size_t r = 0; r < count; r++) {
        if (!read_row(&rows[r], json_array_get(fabrics, r), arena, error)) {
            return weft_wrap(error, "fabrics[%zu]", r);
        }
    }
    comparison->rows = rows;
    comparison->row_count = (uint32_t)count;
    return true;
}

// Reads all comparisons; the schema is looked at first, since any JSON may have been named.
static bool read_root(struct weft_model_comparison **comparisons, uint32_t *count,
                      const json_t *root, struct weft_arena *arena, struct weft_error *error)
{
    const char *schema = NULL;
    const json_t *array = NULL;
    if (!weft_json_text(&schema, root, "schema", arena, error)) {
        return false;
    }
    if (strcmp(schema, SCHEMA) != 0) {
        return weft_fail(error, WEFT_INPUT, "schema: '%.40s' is not " SCHEMA, schema);
    }
    if (!weft_json_array(&array, root, "comparisons", error)) {
        return false;
    }
    size_t found = json_array_size(array);
    if (found > COUNT_MAX) {
        return weft_fail(error, WEFT_INPUT, "comparisons: %zu are more than %u", found, COUNT_MAX);
    }
    struct weft_model_comparison *list = WEFT_NEW(arena, struct weft_model_comparison, found + 1);
    for (size_t i = 0; i < found; i++) {
        if (!read_comparison(&list[i], json_array_get(array, i), arena, error)) {
            return weft_wrap(error, "comparisons[%zu]", i);
        }
    }
    *comparisons = list;
    *count = (uint32_t)found;
    return true;
}

bool weft_comparisons_read(struct weft_model_comparison **comparisons, uint32_t *count,
                           const char *data, size_t length, struct weft_arena *arena,
                           struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    bool read = read_root(comparisons, count, root, arena, error);
    json_decref(root);
    return read;
}
