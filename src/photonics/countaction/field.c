// SPDX-License-Identifier: Apache-2.0
// Fields of the row by name, as program.h has them.

#include "photonics/countaction/field.h"

#include <string.h>

const char *field_text(char text[FIELD_TEXT], uint32_t field)
{
    const char *name = field < weft_photonic_field_count ? weft_photonic_row_field(field) : NULL;
    if (field == WEFT_PHOTONIC_FIELD_FIFO) {
        snprintf(text, FIELD_TEXT, "program.fifo");
    } else if (name != NULL) {
        snprintf(text, FIELD_TEXT, "layer.%s", name);
    } else {
        text[0] = 0;
    }
    return text;
}

void field_port(char port[FIELD_TEXT], uint32_t field)
{
    field_text(port, field);
    char *dot = strchr(port, '.');
    if (dot != NULL) {
        *dot = '_';
    }
}

static bool same(const char *text, const char *name, size_t length)
{
    return strlen(text) == length && memcmp(text, name, length) == 0;
}

uint32_t field_find(const char *name, size_t length)
{
    char text[FIELD_TEXT];
    for (uint32_t i = 0; i <= WEFT_PHOTONIC_FIELD_FIFO && length > 0; i++) {
        if (same(field_text(text, i), name, length)) {
            return i;
        }
    }
    return WEFT_NONE;
}

bool field_has_port(const char *name, size_t length)
{
    char port[FIELD_TEXT];
    for (uint32_t i = 0; i <= WEFT_PHOTONIC_FIELD_FIFO && length > 0; i++) {
        field_port(port, i);
        if (same(port, name, length)) {
            return true;
        }
    }
    return false;
}

int64_t target_value(const struct weft_photonic_target *target, const struct weft_photonic_row *row,
                     uint32_t fifo)
{
    if (target->field == WEFT_NONE) {
        return target->offset;
    }
    if (target->field == WEFT_PHOTONIC_FIELD_FIFO) {
        return (int64_t)fifo + target->offset;
    }
    uint32_t word;
    memcpy(&word, (const unsigned char *)row + 4 * (size_t)target->field, sizeof word);
    return (int64_t)word + target->offset;
}
