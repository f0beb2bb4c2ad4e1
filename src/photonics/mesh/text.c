// SPDX-License-Identifier: Apache-2.0
// Settings of a mesh as hexadecimal numbers: bit e is one where cell e is cross.

#include "weft/photonics/mesh.h"

#include <string.h>

const char *weft_mesh_show(const struct weft_mesh *mesh, const uint8_t *cells,
                           struct weft_arena *arena)
{
    uint32_t digits = (mesh->cell_count + 3) / 4;
    char *text = WEFT_NEW(arena, char, digits + 1);
    for (uint32_t d = 0; d < digits; d++) {
        unsigned value = 0;
        for (uint32_t bit = 0; bit < 4; bit++) {
            uint32_t e = 4 * d + bit;
            value |= e < mesh->cell_count && cells[e] != 0 ? 1u << bit : 0;
        }
        text[digits - 1 - d] = "0123456789abcdef"[value];
    }
    return text;
}

static bool digit_of(unsigned *value, char letter)
{
    static const char digits[] = "0123456789abcdef";
    char low = letter >= 'A' && letter <= 'F' ? (char)(letter - 'A' + 'a') : letter;
    const char *at = low == '\0' ? NULL : strchr(digits, low);
    *value = at == NULL ? 0 : (unsigned)(at - digits);
    return at != NULL;
}

bool weft_mesh_read(uint8_t *cells, const struct weft_mesh *mesh, const char *text,
                    struct weft_error *error)
{
    size_t length = strlen(text);
    if (length == 0) {
        return weft_fail(error, WEFT_INPUT, "no cells; write them as a hexadecimal number");
    }
    memset(cells, 0, mesh->cell_count);
    for (size_t i = 0; i < length; i++) {
        unsigned value;
        if (!digit_of(&value, text[length - 1 - i])) {
            return weft_fail(error, WEFT_INPUT,
                             "digit %zu, '%c', is not hexadecimal; write 0 to 9 and a to f",
                             length - i, text[length - 1 - i]);
        }
        for (uint32_t bit = 0; bit < 4; bit++) {
            size_t e = 4 * i + bit;
            if ((value >> bit & 1) != 0 && e >= mesh->cell_count) {
                return weft_fail(error, WEFT_INPUT,
                                 "cell %zu is cross, but a mesh of %u x %u has %u cells, %u digits",
                                 e, mesh->rows, mesh->columns, mesh->cell_count,
                                 (mesh->cell_count + 3) / 4);
            }
            if (e < mesh->cell_count) {
                cells[e] = (uint8_t)(value >> bit & 1);
            }
        }
    }
    return true;
}
