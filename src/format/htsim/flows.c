// SPDX-License-Identifier: Apache-2.0
// Loads in words: "allreduce:100MB", "poisson:1MB:load=0.3:count=100000:7".
//
// The words only name a kind of load and its numbers; what flows they stand for is decided by
// who plays them. A text whose first word is no kind is taken for a file's name.

#include "weft/format.h"

#include <string.h>

#define PARTS_MAX 8u
#define PART_TEXT_MAX 40u
#define SIZE_MAX_BYTES ((uint64_t)1 << 50)
#define COUNT_MAX 1000000000u

struct kind {
    const char *name;
    enum weft_flows_kind kind;
    bool seeded;
    bool poisson;
    const char *form;
};

static const struct kind kinds[] = {
    {"allreduce", WEFT_FLOWS_ALLREDUCE, false, false, "allreduce:100MB"},
    {"reducescatter", WEFT_FLOWS_REDUCE_SCATTER, false, false, "reducescatter:100MB"},
    {"allgather", WEFT_FLOWS_ALL_GATHER, false, false, "allgather:100MB"},
    {"permutation", WEFT_FLOWS_PERMUTATION, true, false, "permutation:10MB:SEED"},
    {"alltoall", WEFT_FLOWS_ALLTOALL, false, false, "alltoall:1MB"},
    {"poisson", WEFT_FLOWS_POISSON, true, true, "poisson:1MB:load=0.3:count=100000:SEED"},
};

// The parts between colons, the kind's name first.
struct parts {
    uint32_t count;
    char text[PARTS_MAX][PART_TEXT_MAX];
};

static bool split(struct parts *parts, const char *text, const struct kind *kind,
                  struct weft_error *error)
{
    parts->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ":");
        if (parts->count == PARTS_MAX || length >= PART_TEXT_MAX) {
            return weft_fail(error, WEFT_INPUT, "more than flows of this kind say; write %s",
                             kind->form);
        }
        memcpy(parts->text[parts->count], at, length);
        parts->text[parts->count++][length] = '\0';
        at += length;
        if (*at == '\0') {
            return true;
        }
    }
}

// What a part may set: its name, or its place when it has none.
enum field { SIZE, LOAD, COUNT, SEED, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"size", "load", "count", "seed"};

// Sets one field of a flow list by its text, held against its bounds.
static bool set_field(struct weft_flows_spec *spec, enum field field, const char *text,
                      struct weft_error *error)
{
    uint64_t number = 0;
    bool good = false;
    switch (field) {
    case SIZE:
        good = weft_parse_bytes(&spec->size_bytes, text, error);
        if (good && (spec->size_bytes == 0 || spec->size_bytes > SIZE_MAX_BYTES)) {
            return weft_fail(error, WEFT_INPUT, "size: '%s' is not between 1B and 1024TiB", text);
        }
        break;
    case LOAD:
        good = weft_parse_number(&spec->load_ratio, text, 1e-6, 1, error);
        break;
    case COUNT:
        good = weft_parse_count(&number, text, 1, COUNT_MAX, error);
        spec->count = (uint32_t)number;
        break;
    case SEED:
        // The word itself, as the usage writes it, leaves the seed as it is.
        spec->seeded = strcmp(text, field_names[SEED]) != 0;
        good = !spec->seeded || weft_parse_count(&spec->seed, text, 0, UINT64_MAX, error);
        break;
    case FIELD_COUNT:
        WEFT_ASSERT(field < FIELD_COUNT);
    }
    return good || weft_wrap(error, "%s", field_names[field]);
}

static enum field name_field(const char *part, const char **value)
{
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        size_t length = strlen(field_names[i]);
        if (strncmp(part, field_names[i], length) == 0 && part[length] == '=') {
            *value = part + length + 1;
            return (enum field)i;
        }
    }
    return FIELD_COUNT;
}

static bool takes(const struct kind *kind, enum field field)
{
    return field == SIZE || (field == SEED && kind->seeded) || (field != SEED && kind->poisson);
}

// The first field of this kind that is still open: size, (load, count,) seed.
static enum field next_open(const struct kind *kind, const bool *set)
{
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        if (takes(kind, (enum field)i) && !set[i]) {
            return (enum field)i;
        }
    }
    return FIELD_COUNT;
}

// Reads the parts behind the kind: a part with a name sets that field, a part without one the
// next field of the kind that is not set yet.
static bool read_parts(struct weft_flows_spec *spec, const struct parts *parts,
                       const struct kind *kind, struct weft_error *error)
{
    bool set[FIELD_COUNT] = {false};
    for (uint32_t i = 1; i < parts->count; i++) {
        const char *value = parts->text[i];
        enum field field = name_field(parts->text[i], &value);
        if (field == FIELD_COUNT && strchr(value, '=') == NULL) {
            field = next_open(kind, set);
        }
        if (field == FIELD_COUNT || !takes(kind, field)) {
            return weft_fail(error, WEFT_INPUT, "'%s' is not part of such flows; write %s",
                             parts->text[i], kind->form);
        }
        if (set[field]) {
            return weft_fail(error, WEFT_INPUT, "%s: given twice; write %s", field_names[field],
                             kind->form);
        }
        set[field] = true;
        if (!set_field(spec, field, value, error)) {
            return false;
        }
    }
    set[SEED] = true; // may be left out
    enum field open = next_open(kind, set);
    if (open != FIELD_COUNT) {
        return weft_fail(error, WEFT_INPUT, "%s: missing; write %s", field_names[open], kind->form);
    }
    return true;
}

const char *weft_flows_meant(const char *text, struct weft_arena *arena)
{
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    const char *names[KINDS];
    const char *list = "";
    for (uint32_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        list = weft_arena_format(arena, "%s%s%s", list, i == 0 ? "" : ", ", names[i]);
    }
    size_t length = strcspn(text, ":");
    bool colon = text[length] == ':';
    const char *near = weft_nearest_word(weft_arena_text(arena, text, length), names, KINDS);
    for (uint32_t i = 0; near != NULL && i < KINDS; i++) {
        if (names[i] == near && (colon || weft_word_edits(text, length, near) < 3)) {
            return weft_arena_format(arena, "do you mean %s%s?", colon ? near : kinds[i].form,
                                     text + length);
        }
    }
    return colon ? weft_arena_format(arena, "flows are %s, as %s", list, kinds[0].form) : NULL;
}

bool weft_flows_parse(struct weft_flows_spec *spec, bool *matches, const char *text,
                      struct weft_error *error)
{
    *matches = false;
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct kind *kind = &kinds[i];
        size_t length = strlen(kind->name);
        if (strncmp(text, kind->name, length) != 0 || text[length] != ':') {
            continue;
        }
        *matches = true;
        struct weft_flows_spec read = {.kind = kind->kind, .seed = 1};
        struct parts parts;
        if (!split(&parts, text, kind, error) || !read_parts(&read, &parts, kind, error)) {
            return weft_wrap(error, "%.80s", text);
        }
        *spec = read;
        return true;
    }
    return true;
}
