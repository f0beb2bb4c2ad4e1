// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_XML_H
#define WEFT_FORMAT_SYNTAX_XML_H

// XML as a tree of elements with attributes, for the files of NCCL and MSCCL: expat reads, an
// arena holds the elements.
//
// A document type declaration is refused, so that no entity is ever defined or expanded. Of text
// between elements only that of an element without children is kept.

#include "weft/base.h"

#define WEFT_XML_DEPTH_MAX 64u
#define WEFT_XML_ATTRIBUTES_MAX 64u
#define WEFT_XML_BYTES_MAX ((size_t)256 << 20)

struct weft_xml_attribute {
    const char *name;
    const char *value;
};

struct weft_xml_node {
    const char *name;
    uint32_t line;
    uint32_t attribute_count;
    const struct weft_xml_attribute *attributes;
    const char *text;             // inside it, without space around; NULL: none, or it has children
    struct weft_xml_node *parent; // NULL: the root
    struct weft_xml_node *first;  // child
    struct weft_xml_node *last;
    struct weft_xml_node *next; // sibling
};

// Parses a document whose root element is `root_name`. Fails with INPUT, "line N: ...". O(length).
bool weft_xml_parse(struct weft_xml_node **root, const char *root_name, const char *data,
                    size_t length, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

bool weft_xml_is(const struct weft_xml_node *node, const char *name);
// An attribute's value, or NULL.
const char *weft_xml_find(const struct weft_xml_node *node, const char *name);
// Whether an element has all of these attributes, the last NULL. Fails with INPUT naming all that
// it lacks, "line N: <step> has no 'cnt', 'depid'; add them". O(names * attributes).
bool weft_xml_require(const struct weft_xml_node *node, const char *const *names,
                      struct weft_error *error) WEFT_MUST_USE;
// An attribute that must be there. Fails with INPUT, "line N: <step> has no 'cnt'; ...".
bool weft_xml_text(const char **value, const struct weft_xml_node *node, const char *name,
                   struct weft_error *error) WEFT_MUST_USE;
// A whole number within [low, high], which may be negative.
bool weft_xml_integer(int64_t *value, const struct weft_xml_node *node, const char *name,
                      int64_t low, int64_t high, struct weft_error *error) WEFT_MUST_USE;
// The same where there is such an attribute; else *value stays what it is.
bool weft_xml_integer_or(int64_t *value, const struct weft_xml_node *node, const char *name,
                         int64_t low, int64_t high, struct weft_error *error) WEFT_MUST_USE;
// A number within [low, high], likewise.
bool weft_xml_real_or(double *value, const struct weft_xml_node *node, const char *name, double low,
                      double high, struct weft_error *error) WEFT_MUST_USE;

#endif
