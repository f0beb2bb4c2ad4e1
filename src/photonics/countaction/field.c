// SPDX-License-Identifier: Apache-2.0
// Fields of the row by name. They stand in the order of struct weft_photonic_row, each a word.

#include "photonics/countaction/field.h"

#include <string.h>

static const char *const names[] = {
    "layer.flags",        "layer.words",         "layer.outputs",       "layer.pixels",
    "layer.sums",         "layer.results",       "layer.inputs",        "layer.height",
    "layer.width",        "layer.channels_in",   "layer.kernel",        "layer.stride",
    "layer.padding",      "layer.run_bytes",     "layer.out_width",     "layer.pool",
    "layer.pooled_width", "layer.pooled_height", "layer.weight_first",  "layer.bias_first",
    "layer.bias_shift",   "layer.softmax_scale", "layer.softmax_shift", "layer.preamble",
};
#define FIELD_COUNT (sizeof names / sizeof names[0])
_Static_assert(FIELD_COUNT <= WEFT_PHOTONIC_FIELDS, "a row has no more words");

const char *weft_photonic_field_name(uint32_t field)
{
    if (field == WEFT_PHOTONIC_FIELD_FIFO) {
        return "program.fifo";
    }
    return field < FIELD_COUNT ? names[field] : NULL;
}

uint32_t field_find(const char *name, size_t length)
{
    for (uint32_t i = 0; i <= WEFT_PHOTONIC_FIELD_FIFO; i++) {
        const char *known = weft_photonic_field_name(i);
        if (known != NULL && strlen(known) == length && memcmp(known, name, length) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

void field_port(char port[32], uint32_t field)
{
    snprintf(port, 32, "%s", weft_photonic_field_name(field));
    *strchr(port, '.') = '_';
}

bool field_has_port(const char *name, size_t length)
{
    for (uint32_t i = 0; i <= WEFT_PHOTONIC_FIELD_FIFO; i++) {
        if (weft_photonic_field_name(i) != NULL) {
            char port[32];
            field_port(port, i);
            if (strlen(port) == length && memcmp(port, name, length) == 0) {
                return true;
            }
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
