// SPDX-License-Identifier: Apache-2.0
// XML into a tree: expat parses, an arena holds elements and attributes.
//
// A document type declaration is refused, so that no entity is ever defined or expanded; depth
// and size are bounded by the bytes read. Values are looked up by name and held against bounds.
// O(length).

#include "xml.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTRIBUTE_BYTES_MAX ((size_t)64 << 10)
#define NAME_BYTES_MAX 256
#define TEXT_BYTES_MAX 256u // of an element: a value; longer texts are nobody's value

struct reader {
    XML_Parser parser;
    struct weft_arena *arena;
    struct weft_error *error;
    struct weft_xml_node *root;
    struct weft_xml_node *open;
    uint32_t depth;
    bool failed;
    size_t text_length; // of the open element, in `text`
    char text[TEXT_BYTES_MAX];
};

static uint32_t line_of(const struct reader *reader)
{
    return (uint32_t)XML_GetCurrentLineNumber(reader->parser);
}

// The first complaint stands; expat calls no handler after XML_StopParser but those of the element
// it is in.
static void refuse(struct reader *reader, const char *what)
{
    if (!reader->failed) {
        weft_fail(reader->error, WEFT_INPUT, "line %u: %s", line_of(reader), what);
        reader->failed = true;
    }
    XML_StopParser(reader->parser, XML_FALSE);
}

// A copy at *next, which moves behind it.
static const char *put_text(char **next, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = *next;
    memcpy(copy, text, bytes);
    *next = copy + bytes;
    return copy;
}

// Copies the attributes of an element into the arena, names and values in one block. NULL:
// there are too many of them.
static const struct weft_xml_attribute *copy_attributes(uint32_t *count, struct reader *reader,
                                                        const XML_Char **pairs)
{
    uint32_t found = 0;
    while (pairs[2 * (size_t)found] != NULL && found <= WEFT_XML_ATTRIBUTES_MAX) {
        found++;
    }
    *count = 0;
    if (found > WEFT_XML_ATTRIBUTES_MAX) {
        refuse(reader, "an element with more than 64 attributes; no such file has them");
        return NULL;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < 2 * (size_t)found; i++) {
        bytes += strlen(pairs[i]) + 1;
    }
    if (bytes > ATTRIBUTE_BYTES_MAX) {
        refuse(reader, "an element with attributes of more than 64 KiB; no such file has them");
        return NULL;
    }
    struct weft_xml_attribute *attributes =
        WEFT_NEW_RAW(reader->arena, struct weft_xml_attribute, found);
    char *next = WEFT_NEW_RAW(reader->arena, char, bytes);
    for (uint32_t i = 0; i < found; i++) {
        attributes[i].name = put_text(&next, pairs[2 * (size_t)i]);
        attributes[i].value = put_text(&next, pairs[2 * (size_t)i + 1]);
    }
    *count = found;
    return attributes;
}

// Called by expat where an element begins: appends it to its parent's children. After a refusal
// expat may still call; nothing is done then.
static void XMLCALL begin(void *context, const XML_Char *name, const XML_Char **pairs)
{
    struct reader *reader = context;
    if (reader->failed) {
        return;
    }
    if (++reader->depth > WEFT_XML_DEPTH_MAX) {
        refuse(reader, "elements within elements deeper than 64; no such file has them");
        return;
    }
    if (strlen(name) > NAME_BYTES_MAX) {
        refuse(reader, "an element with a name of more than 256 bytes; no such file has it");
        return;
    }
    struct weft_xml_node *node = WEFT_NEW(reader->arena, struct weft_xml_node, 1);
    node->name = weft_arena_text(reader->arena, name, strlen(name));
    node->line = line_of(reader);
    node->parent = reader->open;
    node->attributes = copy_attributes(&node->attribute_count, reader, pairs);
    struct weft_xml_node *parent = reader->open;
    if (parent == NULL) {
        reader->root = node;
    } else if (parent->last == NULL) {
        parent->first = node;
        parent->last = node;
    } else {
        parent->last->next = node;
        parent->last = node;
    }
    reader->open = node;
    reader->text_length = 0;
}

// Gathers the text of the open element; what is too long to be a value is marked so.
static void XMLCALL gather(void *context, const XML_Char *text, int length)
{
    struct reader *reader = context;
    size_t count = (size_t)length;
    if (reader->text_length + count > TEXT_BYTES_MAX) {
        reader->text_length = TEXT_BYTES_MAX + 1;
        return;
    }
    memcpy(reader->text + reader->text_length, text, count);
    reader->text_length += count;
}

// Gives an element without children its text, without the space around it.
static void keep_text(struct reader *reader)
{
    const char *begin = reader->text;
    const char *end = begin + reader->text_length;
    while (begin < end && isspace((unsigned char)*begin)) {
        begin++;
    }
    while (begin < end && isspace((unsigned char)end[-1])) {
        end--;
    }
    if (begin < end) {
        reader->open->text = weft_arena_text(reader->arena, begin, (size_t)(end - begin));
    }
}

static void XMLCALL end(void *context, const XML_Char *name)
{
    (void)name;
    struct reader *reader = context;
    if (reader->failed) {
        return;
    }
    if (reader->open->first == NULL && reader->text_length <= TEXT_BYTES_MAX) {
        keep_text(reader);
    }
    reader->text_length = 0;
    reader->depth--;
    reader->open = reader->open->parent;
}

static void XMLCALL begin_doctype(void *context, const XML_Char *name, const XML_Char *system,
                                  const XML_Char *public, int has_internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    refuse(context, "a document type declaration; take <!DOCTYPE ...> out");
}

static bool parse_all(struct reader *reader, const char *data, size_t length)
{
    // expat takes lengths as int.
    const size_t piece = (size_t)1 << 24;
    size_t at = 0;
    do {
        size_t count = length - at < piece ? length - at : piece;
        bool last = at + count == length;
        if (XML_Parse(reader->parser, data + at, (int)count, last) != XML_STATUS_OK) {
            if (!reader->failed && XML_GetErrorCode(reader->parser) == XML_ERROR_NO_MEMORY) {
                weft_fail(reader->error, WEFT_UNSUPPORTED,
                          "out of memory for XML; raise 'ulimit -v'");
            } else if (!reader->failed) {
                weft_fail(reader->error, WEFT_INPUT, "line %u: no XML: %s", line_of(reader),
                          XML_ErrorString(XML_GetErrorCode(reader->parser)));
            }
            return false;
        }
        at += count;
    } while (at < length);
    return true;
}

bool weft_xml_parse(struct weft_xml_node **root, const char *root_name, const char *data,
                    size_t length, struct weft_arena *arena, struct weft_error *error)
{
    if (length > WEFT_XML_BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%zu bytes, more than the %zu that such a file may have", length,
                         WEFT_XML_BYTES_MAX);
    }
    struct reader reader = {.arena = arena, .error = error};
    reader.parser = XML_ParserCreate(NULL);
    if (reader.parser == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED, "no memory for a parser");
    }
    XML_SetUserData(reader.parser, &reader);
    XML_SetElementHandler(reader.parser, begin, end);
    XML_SetCharacterDataHandler(reader.parser, gather);
    XML_SetStartDoctypeDeclHandler(reader.parser, begin_doctype);
    bool fine = parse_all(&reader, data, length);
    XML_ParserFree(reader.parser);
    if (!fine) {
        return false;
    }
    WEFT_ASSERT(reader.root != NULL);
    if (strcmp(reader.root->name, root_name) != 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: begins with <%.40s>; such a file has <%s>",
                         reader.root->line, reader.root->name, root_name);
    }
    *root = reader.root;
    return true;
}

// ---- attributes ----

bool weft_xml_is(const struct weft_xml_node *node, const char *name)
{
    return strcmp(node->name, name) == 0;
}

const char *weft_xml_find(const struct weft_xml_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return node->attributes[i].value;
        }
    }
    return NULL;
}

bool weft_xml_require(const struct weft_xml_node *node, const char *const *names,
                      struct weft_error *error)
{
    char lacks[200] = "";
    size_t length = 0;
    uint32_t count = 0;
    for (; *names != NULL; names++) {
        if (weft_xml_find(node, *names) == NULL && length < sizeof lacks) {
            length += (size_t)snprintf(lacks + length, sizeof lacks - length, "%s'%s'",
                                       count > 0 ? ", " : "", *names);
            count++;
        }
    }
    return count == 0 || weft_fail(error, WEFT_INPUT, "line %u: <%.40s> has no %s; add %s",
                                   node->line, node->name, lacks, count > 1 ? "them" : "it");
}

bool weft_xml_text(const char **value, const struct weft_xml_node *node, const char *name,
                   struct weft_error *error)
{
    const char *found = weft_xml_find(node, name);
    if (found == NULL) {
        return weft_fail(error, WEFT_INPUT, "line %u: <%.40s> has no '%s'; add it", node->line,
                         node->name, name);
    }
    *value = found;
    return true;
}

bool weft_xml_integer(int64_t *value, const struct weft_xml_node *node, const char *name,
                      int64_t low, int64_t high, struct weft_error *error)
{
    const char *text = NULL;
    if (!weft_xml_text(&text, node, name, error)) {
        return false;
    }
    char *rest = NULL;
    errno = 0;
    long long parsed = strtoll(text, &rest, 10);
    if (rest == text || *rest != '\0' || errno != 0 || parsed < low || parsed > high) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: <%.40s> %s=\"%.40s\" is no whole number from %lld to %lld",
                         node->line, node->name, name, text, (long long)low, (long long)high);
    }
    *value = parsed;
    return true;
}

bool weft_xml_integer_or(int64_t *value, const struct weft_xml_node *node, const char *name,
                         int64_t low, int64_t high, struct weft_error *error)
{
    return weft_xml_find(node, name) == NULL ||
           weft_xml_integer(value, node, name, low, high, error);
}

bool weft_xml_real_or(double *value, const struct weft_xml_node *node, const char *name, double low,
                      double high, struct weft_error *error)
{
    const char *text = weft_xml_find(node, name);
    if (text == NULL) {
        return true;
    }
    char *rest = NULL;
    double parsed = strtod(text, &rest);
    if (rest == text || *rest != '\0' || !isfinite(parsed) || parsed < low || parsed > high) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: <%.40s> %s=\"%.40s\" is no number from %g to %g", node->line,
                         node->name, name, text, low, high);
    }
    *value = parsed;
    return true;
}
