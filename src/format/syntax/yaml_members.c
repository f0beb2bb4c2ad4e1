// SPDX-License-Identifier: Apache-2.0
// Texts of a configuration into the members of structs, by a table of keys, offsets and what
// each text is: a number, a pair, a truth, a data type.
//
// For mappings whose keys depend on what they describe, where a schema of libcyaml would need a
// struct for each case.

#include "yaml_members.h"

#include "weft/model.h"

#include <string.h>

#define U32_MAX 1000000000u
#define U64_MAX (1ull << 50)
#define PAIR_MAX 65536u

static bool read_truth(bool *value, const char *text, struct weft_error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(text, words[i]) == 0) {
            *value = i % 2 == 1;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "'%.40s' is neither yes nor no; write one of them", text);
}

static bool read_pair(uint32_t value[2], const char *text, uint64_t low, struct weft_error *error)
{
    const char *cross = strchr(text, 'x');
    char first[WEFT_YAML_WORD_MAX + 1];
    uint64_t height = 0;
    uint64_t width = 0;
    snprintf(first, sizeof first, "%.*s", cross != NULL ? (int)(cross - text) : (int)strlen(text),
             text);
    if (!weft_parse_count(&height, first, low, PAIR_MAX, error) ||
        !weft_parse_count(&width, cross != NULL ? cross + 1 : first, low, PAIR_MAX, error)) {
        return weft_wrap(error, "height and width, as 3 or 3x5");
    }
    value[0] = (uint32_t)height;
    value[1] = (uint32_t)width;
    return true;
}

static bool read_count(void *value, bool wide, const char *text, struct weft_error *error)
{
    uint64_t count = 0;
    if (!weft_parse_count(&count, text, 0, wide ? U64_MAX : U32_MAX, error)) {
        return false;
    }
    if (wide) {
        *(uint64_t *)value = count;
    } else {
        *(uint32_t *)value = (uint32_t)count;
    }
    return true;
}

static bool read_member(void *value, enum weft_yaml_want want, const char *text,
                        struct weft_error *error)
{
    switch (want) {
    case WEFT_YAML_U32:
    case WEFT_YAML_U64:
        return read_count(value, want == WEFT_YAML_U64, text, error);
    case WEFT_YAML_PAIR:
        return read_pair(value, text, 0, error);
    case WEFT_YAML_STEPS:
        return read_pair(value, text, 1, error);
    case WEFT_YAML_TRUTH:
        return read_truth(value, text, error);
    case WEFT_YAML_DTYPE:
        return weft_dtype_named(value, text, error);
    }
    WEFT_ASSERT(false);
}

static const char *text_of(const void *raw, const struct weft_yaml_member *member)
{
    return *(char *const *)(const void *)((const char *)raw + member->raw_at);
}

static bool owns(const struct weft_yaml_member *members, uint32_t count, const char *key,
                 uint32_t bit)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((members[i].owners & bit) != 0 && strcmp(members[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static bool fail_foreign(const struct weft_yaml_member *members, uint32_t count,
                         const struct weft_yaml_owner *owner, const struct weft_yaml_source *source)
{
    struct weft_arena scratch = *source->arena;
    struct weft_text list;
    weft_text_init(&list, &scratch);
    for (uint32_t i = 0; i < count; i++) {
        if ((members[i].owners & owner->bit) != 0) {
            weft_text_add(&list, "%s%s", list.length > 0 ? ", " : "", members[i].key);
        }
    }
    if (list.length == 0) {
        return weft_fail(source->error, WEFT_INPUT, "%s has no such number; remove it",
                         owner->name);
    }
    return weft_fail(source->error, WEFT_INPUT, "%s has no such number; it has %s", owner->name,
                     list.data);
}

bool weft_yaml_read_members(void *value, const void *raw, const struct weft_yaml_member *members,
                            uint32_t count, const struct weft_yaml_owner *owner,
                            const struct weft_yaml_source *source)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_yaml_member *member = &members[i];
        const char *text = text_of(raw, member);
        bool fine = true;
        if (text == NULL) {
            continue;
        }
        if ((member->owners & owner->bit) != 0) {
            fine = read_member((char *)value + member->at, member->want, text, source->error);
        } else if (!owns(members, count, member->key, owner->bit)) {
            fine = fail_foreign(members, count, owner, source);
        }
        if (!fine) {
            return weft_yaml_fail_at(source,
                                     weft_yaml_join(owner->path, member->key, source->arena));
        }
    }
    return true;
}
