// SPDX-License-Identifier: Apache-2.0
// Ports, matchings and stuck cells as text: numbers with one letter between them. O(characters).

#include "words.h"

#include <string.h>

// A number at *at, below `end`; its place in the text is said where it is none.
static bool read_number(uint32_t *value, const char **at, const char *text, uint32_t end,
                        const char *what, struct weft_error *error)
{
    const char *digit = *at;
    uint64_t number = 0;
    for (; *digit >= '0' && *digit <= '9' && number < UINT32_MAX; digit++) {
        number = 10 * number + (uint64_t)(*digit - '0');
    }
    if (digit == *at) {
        return weft_fail(error, WEFT_INPUT, "character %zu, '%.8s': a %s should stand there",
                         (size_t)(*at - text) + 1, *at, what);
    }
    if (number >= end) {
        return weft_fail(error, WEFT_INPUT, "character %zu: %s %.*s; the mesh has 0 to %u",
                         (size_t)(*at - text) + 1, what, (int)(digit - *at < 20 ? digit - *at : 20),
                         *at, end - 1);
    }
    *at = digit;
    *value = (uint32_t)number;
    return true;
}

static bool fail_letter(const char *at, const char *text, const char *expected,
                        struct weft_error *error)
{
    return *at == '\0'
               ? weft_fail(error, WEFT_INPUT, "it ends where %s should stand", expected)
               : weft_fail(error, WEFT_INPUT, "character %zu, '%.8s': %s should stand there",
                           (size_t)(at - text) + 1, at, expected);
}

static uint32_t count_letters(const char *text, const char *letters)
{
    uint32_t count = 0;
    for (; *text != '\0'; text++) {
        count += strchr(letters, *text) != NULL;
    }
    return count;
}

bool mesh_read_ports(struct mesh_ports *ports, const char *text, const struct weft_mesh *mesh,
                     struct weft_arena *arena, struct weft_error *error)
{
    const char *at = text;
    if (strchr(text, ',') == NULL) {
        uint32_t count;
        if (!read_number(&count, &at, text, mesh->port_count + 1, "number of ports", error)) {
            return false;
        }
        if (*at != '\0') {
            return fail_letter(at, text, "a ',' or the end", error);
        }
        *ports = (struct mesh_ports){.count = count};
        return true;
    }
    uint32_t *list = WEFT_NEW_RAW(arena, uint32_t, count_letters(text, ",") + 1);
    bool *named = WEFT_NEW(arena, bool, mesh->port_count);
    uint32_t count = 0;
    for (;; at++) {
        if (!read_number(&list[count], &at, text, mesh->port_count, "port", error)) {
            return false;
        }
        if (named[list[count]]) {
            return weft_fail(error, WEFT_INPUT, "port %u is named twice", list[count]);
        }
        named[list[count++]] = true;
        if (*at == '\0') {
            break;
        }
        if (*at != ',') {
            return fail_letter(at, text, "a ','", error);
        }
    }
    *ports = (struct mesh_ports){.count = count, .ports = list};
    return true;
}

bool mesh_read_matchings(struct mesh_matchings *matchings, const char *text,
                         const struct weft_mesh *mesh, struct weft_arena *arena,
                         struct weft_error *error)
{
    uint32_t round_count = count_letters(text, "/") + 1;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)round_count + 1);
    struct weft_mesh_pair *pairs =
        WEFT_NEW(arena, struct weft_mesh_pair, (size_t)count_letters(text, ",/") + 1);
    uint32_t *named = WEFT_NEW(arena, uint32_t, mesh->port_count); // round + 1
    uint32_t round = 0;
    uint32_t count = 0;
    for (const char *at = text;; at++) {
        uint32_t ends[2];
        for (uint32_t end = 0; end < 2; end++) {
            if (end == 1 && *at++ != '-') {
                return fail_letter(at - 1, text, "a '-' and the other port", error);
            }
            if (!read_number(&ends[end], &at, text, mesh->port_count, "port", error)) {
                return false;
            }
            if (named[ends[end]] == round + 1) {
                return weft_fail(error, WEFT_INPUT,
                                 "round %u: port %u is named twice; a port is in one pair", round,
                                 ends[end]);
            }
            named[ends[end]] = round + 1;
        }
        pairs[count++] = (struct weft_mesh_pair){ends[0], ends[1]};
        if (*at != '\0' && *at != ',' && *at != '/') {
            return fail_letter(at, text, "a ',' or a '/'", error);
        }
        if (*at != ',') {
            first[++round] = count;
        }
        if (*at == '\0') {
            break;
        }
    }
    *matchings = (struct mesh_matchings){round, first, pairs};
    return true;
}

bool mesh_read_stuck(uint8_t *stuck, const char *text, const struct weft_mesh *mesh,
                     struct weft_error *error)
{
    memset(stuck, WEFT_MESH_FREE, mesh->cell_count);
    for (const char *at = text;; at++) {
        uint32_t cell;
        if (!read_number(&cell, &at, text, mesh->cell_count, "cell", error)) {
            return false;
        }
        bool bar = strncmp(at, ":bar", 4) == 0;
        if (!bar && strncmp(at, ":cross", 6) != 0) {
            return fail_letter(at, text, "':bar' or ':cross'", error);
        }
        if (stuck[cell] != WEFT_MESH_FREE) {
            return weft_fail(error, WEFT_INPUT, "cell %u is named twice", cell);
        }
        stuck[cell] = bar ? WEFT_MESH_BAR : WEFT_MESH_CROSS;
        at += bar ? 4 : 6;
        if (*at == '\0') {
            return true;
        }
        if (*at != ',') {
            return fail_letter(at, text, "a ','", error);
        }
    }
}
