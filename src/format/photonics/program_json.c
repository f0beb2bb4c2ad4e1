// SPDX-License-Identifier: Apache-2.0
// program.json: a program without its images, for people and for being read back. Rows are written
// and read field by field in the order of the memory image.

#include "format/syntax/json.h"
#include "weft/format/photonics.h"

#include <string.h>

#define SCHEMA "weft.photonic-program/1"

enum {
    FIELDS_MAX = WEFT_PHOTONIC_FIELDS,
    ROWS_MAX = 1024,
};

static bool is_signed(const char *field)
{
    return strcmp(field, "bias_shift") == 0 || strcmp(field, "softmax_shift") == 0;
}

static void add_row(struct weft_text *text, const struct weft_photonic_program *program, uint32_t i)
{
    uint32_t fields[FIELDS_MAX] = {0};
    memcpy(fields, &program->rows[i], sizeof program->rows[i]);
    weft_text_add(text, "    {");
    weft_json_field_text(text, "name", program->names[i], ", ");
    for (uint32_t f = 0; f < weft_photonic_field_count; f++) {
        const char *name = weft_photonic_row_field(f);
        if (is_signed(name)) {
            weft_text_add(text, "\"%s\": %d, ", name, (int32_t)fields[f]);
        } else {
            weft_text_add(text, "\"%s\": %u, ", name, fields[f]);
        }
    }
    weft_json_field_real(text, "scale", program->scales == NULL ? 0 : program->scales[i], "}");
}

const char *weft_photonic_program_json(const struct weft_photonic_program *program,
                                       const struct weft_photonic_images *images,
                                       struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\n  ");
    weft_json_field_text(&text, "schema", SCHEMA, ",\n  ");
    weft_json_field_text(&text, "name", program->name, ",\n  ");
    weft_json_field_u64(&text, "wavelengths", program->wavelengths, ",\n  ");
    weft_json_field_u64(&text, "lanes", program->lanes, ",\n  ");
    weft_json_field_u64(&text, "preamble", program->preamble, ",\n  ");
    weft_json_field_u64(&text, "words", program->word_count, ",\n  ");
    weft_json_field_u64(&text, "biases", program->bias_count, ",\n  ");
    weft_json_field_u64(&text, "weights_crc32", images->weights_crc, ",\n  ");
    weft_json_field_u64(&text, "biases_crc32", images->biases_crc, ",\n  ");
    weft_text_add(&text, "\"rows\": [\n");
    for (uint32_t i = 0; i < program->row_count; i++) {
        add_row(&text, program, i);
        weft_text_add(&text, i + 1 < program->row_count ? ",\n" : "\n");
    }
    weft_text_add(&text, "  ]\n}\n");
    return text.data;
}

static bool read_signed(uint32_t *value, const json_t *object, const char *key,
                        struct weft_error *error)
{
    const json_t *member = json_object_get(object, key);
    json_int_t number = json_integer_value(member);
    if (!json_is_integer(member) || number < INT32_MIN || number > INT32_MAX) {
        return weft_fail(error, WEFT_INPUT, "%s: not a whole number of 32 bits", key);
    }
    *value = (uint32_t)(int32_t)number;
    return true;
}

static bool read_row(struct weft_photonic_row *row, const char **name, double *scale,
                     const json_t *item, struct weft_arena *arena, struct weft_error *error)
{
    uint32_t fields[FIELDS_MAX] = {0};
    if (!json_is_object(item)) {
        return weft_fail(error, WEFT_INPUT, "not an object");
    }
    for (uint32_t f = 0; f < weft_photonic_field_count; f++) {
        const char *key = weft_photonic_row_field(f);
        if (is_signed(key) ? !read_signed(&fields[f], item, key, error)
                           : !weft_json_u32(&fields[f], item, key, 0, UINT32_MAX, error)) {
            return false;
        }
    }
    memcpy(row, fields, sizeof *row);
    return weft_json_text(name, item, "name", arena, error) &&
           weft_json_real(scale, item, "scale", 0, 1e300, error);
}

static bool read_root(struct weft_photonic_program *program, struct weft_photonic_images *images,
                      const json_t *root, struct weft_arena *arena, struct weft_error *error)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *items = NULL;
    if (schema == NULL || strcmp(schema, SCHEMA) != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "schema: not " SCHEMA ", which weft photonic compile writes");
    }
    if (!weft_json_text(&program->name, root, "name", arena, error) ||
        !weft_json_u32(&program->wavelengths, root, "wavelengths", 1, 64, error) ||
        !weft_json_u32(&program->lanes, root, "lanes", 16, 1024, error) ||
        !weft_json_u32(&program->preamble, root, "preamble", 1, UINT32_MAX, error) ||
        !weft_json_u32(&program->word_count, root, "words", 1, UINT32_MAX, error) ||
        !weft_json_u32(&program->bias_count, root, "biases", 0, UINT32_MAX, error) ||
        !weft_json_u32(&images->weights_crc, root, "weights_crc32", 0, UINT32_MAX, error) ||
        !weft_json_u32(&images->biases_crc, root, "biases_crc32", 0, UINT32_MAX, error) ||
        !weft_json_array(&items, root, "rows", error)) {
        return false;
    }
    size_t count = json_array_size(items);
    if (count == 0 || count > ROWS_MAX || program->lanes != 16 * program->wavelengths) {
        return weft_fail(error, WEFT_INPUT,
                         "%zu rows are not from 1 to %u, or lanes are not 16 a wavelength", count,
                         ROWS_MAX);
    }
    struct weft_photonic_row *rows = WEFT_NEW(arena, struct weft_photonic_row, count);
    const char **names = WEFT_NEW(arena, const char *, count);
    double *scales = WEFT_NEW(arena, double, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_row(&rows[i], &names[i], &scales[i], json_array_get(items, i), arena, error)) {
            return weft_wrap(error, "rows[%zu]", i);
        }
    }
    program->rows = rows;
    program->names = names;
    program->scales = scales;
    program->row_count = (uint32_t)count;
    return true;
}

bool weft_photonic_program_read(struct weft_photonic_program *program,
                                struct weft_photonic_images *images, const char *data,
                                size_t length, struct weft_arena *arena, struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    struct weft_photonic_program found = {.name = NULL};
    struct weft_photonic_images sums = {0, 0};
    bool fine = read_root(&found, &sums, root, arena, error);
    json_decref(root);
    if (fine) {
        *program = found;
        *images = sums;
    }
    return fine;
}
