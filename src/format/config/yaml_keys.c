// SPDX-License-Identifier: Apache-2.0
// Mappings of a YAML document into values, by tables of keys: what each may be, and where it goes.
//
// A mapping's keys are looked at in the order of the file, then what is missing, then the values
// in the order of the table. O(keys * rows) a mapping.

#include "yaml_keys.h"

#include "weft/model.h"

#include <string.h>

#define U32_MAX 1e9
#define U64_MAX ((double)(1ull << 50))
#define PAIR_MAX 65536u

bool weft_yaml_open(const struct weft_yaml_node **root, const char *data, size_t length,
                    const char *needed, const struct weft_yaml_source *source)
{
    return weft_yaml_parse(root, data, length, source->arena, source->error) &&
           (*root != NULL ||
            weft_fail(source->error, WEFT_INPUT, "line 1: the document is empty; give %s", needed));
}

bool weft_yaml_fail_at(const struct weft_yaml_node *node, const struct weft_yaml_source *source)
{
    const char *subject = node->path[0] == '\0' ? "the document" : node->path;
    return weft_wrap(source->error, "line %u: %.96s", node->line, subject);
}

bool weft_yaml_fail_key(const struct weft_yaml_node *mapping, const char *key,
                        const struct weft_yaml_source *source)
{
    const struct weft_yaml_node *child = weft_yaml_child(mapping, key);
    const char *dot = mapping->path[0] == '\0' ? "" : ".";
    return weft_wrap(source->error, "line %u: %s%s%s", child != NULL ? child->line : mapping->line,
                     mapping->path, dot, key);
}

// ---- keys ----

static const struct weft_yaml_item *find_item(const struct weft_yaml_item *items, size_t count,
                                              const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(items[i].key, key) == 0) {
            return &items[i];
        }
    }
    return NULL;
}

static bool fail_unknown(const struct weft_yaml_node *node, const struct weft_yaml_item *items,
                         size_t count, const struct weft_yaml_source *source)
{
    struct weft_arena scratch = *source->arena;
    struct weft_text list;
    const char **keys = WEFT_NEW(&scratch, const char *, count);
    uint32_t key_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (find_item(items, i, items[i].key) == NULL) {
            keys[key_count++] = items[i].key;
        }
    }
    weft_text_init(&list, &scratch);
    for (uint32_t i = 0; i < key_count; i++) {
        weft_text_add(&list, "%s%s", i == 0 ? "" : ", ", keys[i]);
    }
    const char *near = weft_nearest_word(node->key, keys, key_count);
    if (strspn(node->key, "0123456789") == 3 && node->key[3] == '\0') {
        weft_fail(source->error, WEFT_INPUT,
                  "unknown key; was it the end of a number? write 41000 for 41,000");
    } else if (near != NULL) {
        weft_fail(source->error, WEFT_INPUT, "unknown key; do you mean %s? The keys here are %s",
                  near, list.data);
    } else {
        weft_fail(source->error, WEFT_INPUT, "unknown key; the keys here are %s", list.data);
    }
    return weft_yaml_fail_at(node, source);
}

static bool check_text(const struct weft_yaml_node *node, size_t max,
                       const struct weft_yaml_source *source)
{
    if (node->text == NULL) {
        weft_fail(source->error, WEFT_INPUT, "not a single value; write %s: VALUE", node->key);
        return weft_yaml_fail_at(node, source);
    }
    if (strlen(node->text) > max) {
        weft_fail(source->error, WEFT_INPUT, "too long a text; shorten it");
        return weft_yaml_fail_at(node, source);
    }
    return true;
}

static bool check_list(const struct weft_yaml_node *node, const struct weft_yaml_item *item,
                       const struct weft_yaml_source *source)
{
    uint32_t max = (uint32_t)item->high;
    if (!node->is_list) {
        weft_fail(source->error, WEFT_INPUT, "not a list; write one '- ' a row");
        return weft_yaml_fail_at(node, source);
    }
    if (node->child_count < 1 || node->child_count > max) {
        weft_fail(source->error, WEFT_INPUT, "not 1 to %u rows; add or remove some", max);
        return weft_yaml_fail_at(node, source);
    }
    const struct weft_yaml_node *word = item->kind == WEFT_YAML_WORDS ? node->children : NULL;
    while (word != NULL && check_text(word, WEFT_YAML_WORD_MAX, source)) {
        word = word->next;
    }
    return word == NULL;
}

// Holds a mapping against its table before any value is read: that it is one, that each key is
// known and has a value of the right form, and that what is needed stands there. Nested mappings
// are held against their own tables, when these are read.
static bool check_keys(const struct weft_yaml_node *mapping, const struct weft_yaml_item *items,
                       size_t count, const struct weft_yaml_source *source)
{
    if (mapping->text != NULL || mapping->is_list) {
        weft_fail(source->error, WEFT_INPUT, "not a mapping; write key: value lines");
        return weft_yaml_fail_at(mapping, source);
    }
    for (const struct weft_yaml_node *node = mapping->children; node != NULL; node = node->next) {
        const struct weft_yaml_item *item = find_item(items, count, node->key);
        if (item == NULL) {
            return fail_unknown(node, items, count, source);
        }
        bool list = item->kind == WEFT_YAML_LIST || item->kind == WEFT_YAML_WORDS;
        size_t max = item->kind == WEFT_YAML_TEXT ? WEFT_YAML_TEXT_MAX : WEFT_YAML_WORD_MAX;
        if (list ? !check_list(node, item, source)
                 : item->kind != WEFT_YAML_MAPPING && !check_text(node, max, source)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].presence == WEFT_YAML_NEEDED &&
            weft_yaml_child(mapping, items[i].key) == NULL) {
            weft_fail(source->error, WEFT_INPUT, "missing; add it");
            return weft_yaml_fail_key(mapping, items[i].key, source);
        }
    }
    return true;
}

// ---- values ----

static bool read_truth(bool *value, const char *text, struct weft_error *error)
{
    *value = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    return *value || strcmp(text, "no") == 0 || strcmp(text, "false") == 0 ||
           weft_fail(error, WEFT_INPUT, "'%.40s' is neither yes nor no; write one of them", text);
}

static bool read_u32(uint32_t *value, const char *text, uint64_t low, uint64_t high,
                     struct weft_error *error)
{
    uint64_t wide = 0;
    if (!weft_parse_count(&wide, text, low, high, error)) {
        return false;
    }
    *value = (uint32_t)wide;
    return true;
}

static bool read_pair(uint32_t value[2], const char *text, uint64_t low, struct weft_error *error)
{
    const char *cross = strchr(text, 'x');
    char first[WEFT_YAML_WORD_MAX + 1];
    snprintf(first, sizeof first, "%.*s", cross != NULL ? (int)(cross - text) : (int)strlen(text),
             text);
    return (read_u32(&value[0], first, low, PAIR_MAX, error) &&
            read_u32(&value[1], cross != NULL ? cross + 1 : first, low, PAIR_MAX, error)) ||
           weft_wrap(error, "height and width, as 3 or 3x5");
}

// Reads one node into the value that its kind says; the kind is what the node was held against.
static bool read_value(void *value, const struct weft_yaml_item *item,
                       const struct weft_yaml_node *node, struct weft_error *error)
{
    uint64_t low = (uint64_t)item->low;
    double high = item->high;
    switch (item->kind) {
    case WEFT_YAML_U32:
        return read_u32(value, node->text, low, (uint64_t)(high > 0 ? high : U32_MAX), error);
    case WEFT_YAML_U64:
        return weft_parse_count(value, node->text, low, (uint64_t)(high > 0 ? high : U64_MAX),
                                error);
    case WEFT_YAML_REAL:
        return weft_parse_number(value, node->text, item->low, high, error);
    case WEFT_YAML_TIME:
        return weft_parse_time(value, node->text, error);
    case WEFT_YAML_RATE:
        return weft_parse_rate(value, node->text, error);
    case WEFT_YAML_BYTES:
        return weft_parse_bytes(value, node->text, error);
    case WEFT_YAML_PRICE:
        return weft_parse_price(value, node->text, error);
    case WEFT_YAML_POWER:
        return weft_parse_power(value, node->text, error);
    case WEFT_YAML_FLOPS:
        return weft_parse_flops(value, node->text, error);
    case WEFT_YAML_PAIR:
    case WEFT_YAML_STEPS:
        return read_pair(value, node->text, item->kind == WEFT_YAML_STEPS, error);
    case WEFT_YAML_TRUTH:
        return read_truth(value, node->text, error);
    case WEFT_YAML_DTYPE:
        return weft_dtype_named(value, node->text, error);
    case WEFT_YAML_WORD:
    case WEFT_YAML_TEXT:
        *(const char **)value = node->text;
        return true;
    case WEFT_YAML_MAPPING:
    case WEFT_YAML_LIST:
    case WEFT_YAML_WORDS:
        *(const struct weft_yaml_node **)value = node;
        return true;
    }
    WEFT_ASSERT(false);
}

bool weft_yaml_read(const struct weft_yaml_node *mapping, const struct weft_yaml_item *items,
                    size_t count, const struct weft_yaml_source *source)
{
    if (!check_keys(mapping, items, count, source)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct weft_yaml_node *node = weft_yaml_child(mapping, items[i].key);
        if (node != NULL && items[i].value != NULL &&
            !read_value(items[i].value, &items[i], node, source->error)) {
            return weft_yaml_fail_at(node, source);
        }
    }
    return true;
}

// ---- members ----

void weft_yaml_permit(struct weft_yaml_item *items, const struct weft_yaml_member *members,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct weft_yaml_item){.key = members[i].key, .kind = WEFT_YAML_WORD};
    }
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

bool weft_yaml_read_members(void *value, const struct weft_yaml_node *mapping,
                            const struct weft_yaml_member *members, uint32_t count,
                            const struct weft_yaml_owner *owner,
                            const struct weft_yaml_source *source)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_yaml_member *member = &members[i];
        const struct weft_yaml_node *node = weft_yaml_child(mapping, member->key);
        bool fine = true;
        if (node == NULL) {
            continue;
        }
        if ((member->owners & owner->bit) != 0) {
            const struct weft_yaml_item item = {.kind = member->kind};
            fine = read_value((char *)value + member->at, &item, node, source->error);
        } else if (!owns(members, count, member->key, owner->bit)) {
            fine = fail_foreign(members, count, owner, source);
        }
        if (!fine) {
            return weft_yaml_fail_at(node, source);
        }
    }
    return true;
}
