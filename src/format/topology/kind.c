// SPDX-License-Identifier: Apache-2.0
// Which topology of another program a file is, or a workload beside it, by its first bytes, so that
// a name's ending need not say. Each row of the table is a test of a word near the beginning; the
// first row that holds decides, else the first line that is no comment. O(1).

#include "format/topology/kind.h"
#include "format/syntax/lines.h"

#include <string.h>

#define HEAD_BYTES 4096u

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

// A key at the beginning of a line, perhaps behind space or "- ".
static bool has_key(const char *text, const char *key)
{
    for (const char *at = strstr(text, key); at != NULL; at = strstr(at + 1, key)) {
        const char *line = at;
        while (line > text && (line[-1] == ' ' || line[-1] == '-' || line[-1] == '"')) {
            line--;
        }
        if (line == text || line[-1] == '\n' || line[-1] == '{' || line[-1] == ',') {
            return true;
        }
    }
    return false;
}

static bool is_number(const struct line_word *word)
{
    size_t digits = 0;
    while (digits < word->length && word->text[digits] >= '0' && word->text[digits] <= '9') {
        digits++;
    }
    return digits == word->length;
}

// Lines that begin with numbers: the head of ns-3's topologies has three of them, or five and the
// GPU's name; an edge has two.
static enum weft_file_kind of_numbers(const struct lines *first)
{
    bool all = true;
    for (uint32_t w = 0; w < first->word_count && w < 5; w++) {
        all &= is_number(&first->words[w]);
    }
    if (all && (first->word_count == 3 || first->word_count == 6)) {
        return WEFT_FILE_HOSTS;
    }
    return first->word_count >= 2 && is_number(&first->words[1]) ? WEFT_FILE_EDGES
                                                                 : WEFT_FILE_UNKNOWN;
}

// By the first line that is no comment.
static enum weft_file_kind of_lines(const char *text, size_t length)
{
    static const char *const policies[] = {"HYBRID_", "MICRO", "DISTRIBUTED_INFERENCE", "DATA",
                                           "MODEL"};
    struct lines first = {.at = text, .end = text + length};
    struct weft_error ignored;
    bool more = false;
    if (!lines_next(&first, &more, &ignored) || !more) {
        return WEFT_FILE_UNKNOWN;
    }
    const struct line_word *word = &first.words[0];
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        size_t own = strlen(policies[i]);
        if (word->length >= own && memcmp(word->text, policies[i], own) == 0 &&
            (i == 0 || word->length == own)) {
            return WEFT_FILE_SIMAI;
        }
    }
    if (word_is(word, "Nodes")) {
        return has(text, "Tiers") || has(text, "tiers") ? WEFT_FILE_TIERS : WEFT_FILE_UNKNOWN;
    }
    bool comma = memchr(word->text, ',', word->length) != NULL;
    if (is_number(word)) {
        return of_numbers(&first);
    }
    const char third = first.word_count > 2 ? first.words[2].text[0] : '0';
    bool plain = memchr(word->text, ':', word->length) == NULL &&
                 memchr(word->text, '=', word->length) == NULL && word->text[0] != '-';
    bool edge = comma || (first.word_count >= 2 && first.word_count <= 4);
    return plain && edge && (third == '{' || (third >= '0' && third <= '9')) ? WEFT_FILE_EDGES
                                                                             : WEFT_FILE_UNKNOWN;
}

enum weft_file_kind topology_kind(const char *data, size_t length)
{
    char text[HEAD_BYTES + 1];
    size_t count = length < HEAD_BYTES ? length : HEAD_BYTES;
    if (count > 0) {
        memcpy(text, data, count);
    }
    text[count] = '\0';
    if (memchr(text, '\0', count) != NULL) {
        return WEFT_FILE_UNKNOWN; // binary
    }
    const struct {
        bool holds;
        enum weft_file_kind kind;
    } rows[] = {
        {has(text, "<graphml"), WEFT_FILE_GRAPHML},
        {has_key(text, "SwitchName=") || has_key(text, "BlockName="), WEFT_FILE_SLURM},
        {has_key(text, "topology:") && has_key(text, "npus_count:"), WEFT_FILE_ASTRA_NETWORK},
        {has_key(text, "topology:") &&
             (has_key(text, "tree:") || has_key(text, "block:") || has_key(text, "flat:")),
         WEFT_FILE_SLURM},
        {has_key(text, "infrastructure:") || has_key(text, "infrastructure\":"),
         WEFT_FILE_INFRAGRAPH},
        {(has_key(text, "components:") || has_key(text, "components\":")) &&
             (has_key(text, "devices:") || has_key(text, "devices\":") || has_key(text, "device:")),
         WEFT_FILE_INFRAGRAPH},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].holds) {
            return rows[i].kind;
        }
    }
    return of_lines(text, count);
}
