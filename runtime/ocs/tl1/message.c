// SPDX-License-Identifier: Apache-2.0
// Messages of TL1 as values (message.h). O(bytes).

#include "message.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- where messages end ----

// Walks over text and knows whether it is inside quotes or a comment.
struct walk {
    bool in_quotes;
    bool in_comment;
    bool escaped;
};

// Steps over the character at `at`; whether it is neither quoted nor in a comment.
static bool step(struct walk *walk, const char *text, size_t at, size_t bytes)
{
    char c = text[at];
    if (walk->in_quotes) {
        bool ends = c == '"' && !walk->escaped;
        walk->escaped = c == '\\' && !walk->escaped;
        walk->in_quotes = !ends;
        return false;
    }
    if (walk->in_comment) {
        walk->in_comment = !(c == '/' && text[at - 1] == '*');
        return false;
    }
    walk->in_quotes = c == '"';
    walk->in_comment = c == '/' && at + 2 < bytes && text[at + 1] == '*' && text[at + 2] != '/';
    return !walk->in_quotes && !walk->in_comment;
}

static bool begins_line(const char *text, size_t at)
{
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) {
        at--;
    }
    return at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
}

// ---- answers ----

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

static struct weft_tl1_span take_word(const char **at, const char *end, int (*belongs)(int c))
{
    const char *begin = skip_blanks(*at, end);
    *at = begin;
    while (*at < end && belongs((unsigned char)**at) != 0) {
        (*at)++;
    }
    return (struct weft_tl1_span){begin, (size_t)(*at - begin)};
}

// Finds the line "M  TAG COMPLD" of a message; without one it is of another kind.
static void read_head(struct weft_tl1_message *message, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    for (const char *at = text; at < end; at++) {
        if (*at != 'M' || !begins_line(text, (size_t)(at - text))) {
            continue;
        }
        const char *next = at + 1;
        struct weft_tl1_span tag = take_word(&next, end, isdigit);
        struct weft_tl1_span code = take_word(&next, end, isupper);
        if (!weft_tl1_count(&message->tag, &tag, 0, UINT32_MAX - 1) || code.length == 0) {
            continue;
        }
        bool completed = weft_tl1_is(&code, "COMPLD") || weft_tl1_is(&code, "PRTL");
        message->kind = completed                    ? WEFT_TL1_COMPLETED
                        : weft_tl1_is(&code, "DENY") ? WEFT_TL1_DENIED
                                                     : WEFT_TL1_OTHER;
        message->body = (struct weft_tl1_span){next, (size_t)(end - next)};
        return;
    }
}

size_t weft_tl1_read_message(struct weft_tl1_message *message, const char *text, size_t bytes)
{
    struct walk walk = {0};
    for (size_t at = 0; at < bytes; at++) {
        bool outside = step(&walk, text, at, bytes);
        char c = text[at];
        bool ends = c == ';' || ((c == '>' || c == '<') && begins_line(text, at));
        if (!outside || !ends) {
            continue;
        }
        *message = (struct weft_tl1_message){.kind = WEFT_TL1_OTHER, .is_last = c == ';'};
        if (c != '<') {
            read_head(message, text, at);
        }
        return at + 1;
    }
    return 0;
}

bool weft_tl1_next_line(struct weft_tl1_span *line, size_t *at, const struct weft_tl1_span *body)
{
    struct walk walk = {0};
    const char *begin = NULL;
    for (; *at < body->length; ++*at) {
        bool was_inside = walk.in_quotes;
        step(&walk, body->text, *at, body->length);
        if (!was_inside && walk.in_quotes) {
            begin = body->text + *at + 1;
        } else if (was_inside && !walk.in_quotes) {
            *line = (struct weft_tl1_span){begin, (size_t)(body->text + *at - begin)};
            ++*at;
            return true;
        }
    }
    return false;
}

// ---- lines ----

bool weft_tl1_is(const struct weft_tl1_span *span, const char *text)
{
    return span->length == strlen(text) && strncasecmp(span->text, text, span->length) == 0;
}

bool weft_tl1_split(struct weft_tl1_span *head, struct weft_tl1_span *rest,
                    const struct weft_tl1_span *line, const char *marks)
{
    for (size_t i = 0; i < line->length; i++) {
        if (line->text[i] != '\0' && strchr(marks, line->text[i]) != NULL) {
            const struct weft_tl1_span whole = *line;
            *head = (struct weft_tl1_span){whole.text, i};
            *rest = (struct weft_tl1_span){whole.text + i + 1, whole.length - i - 1};
            return true;
        }
    }
    return false;
}

bool weft_tl1_part(struct weft_tl1_span *part, const struct weft_tl1_span *span, char mark,
                   uint32_t n)
{
    const char marks[2] = {mark, '\0'};
    struct weft_tl1_span rest = *span;
    for (uint32_t i = 0;; i++) {
        struct weft_tl1_span next = rest;
        bool more = weft_tl1_split(part, &next, &rest, marks);
        if (!more) {
            *part = rest;
        }
        if (i == n || !more) {
            return i == n;
        }
        rest = next;
    }
}

struct weft_tl1_span weft_tl1_field(const struct weft_tl1_span *line, const char *key)
{
    struct weft_tl1_span rest = *line;
    struct weft_tl1_span part = {"", 0};
    for (bool more = true; more;) {
        struct weft_tl1_span name;
        struct weft_tl1_span value;
        struct weft_tl1_span next = rest;
        more = weft_tl1_split(&part, &next, &rest, ",:");
        if (!more) {
            part = rest;
        }
        rest = next;
        if (weft_tl1_split(&name, &value, &part, "=") && weft_tl1_is(&name, key)) {
            return value;
        }
    }
    return (struct weft_tl1_span){"", 0};
}

bool weft_tl1_count(uint32_t *value, const struct weft_tl1_span *span, uint32_t low, uint32_t high)
{
    uint64_t number = 0;
    for (size_t i = 0; i < span->length; i++) {
        if (span->text[i] < '0' || span->text[i] > '9' || number > UINT32_MAX) {
            return false;
        }
        number = 10 * number + (uint64_t)(span->text[i] - '0');
    }
    if (span->length == 0 || number < low || number > high) {
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

bool weft_tl1_number(double *value, const struct weft_tl1_span *span)
{
    char text[32];
    char *end = NULL;
    if (span->length == 0 || span->length >= sizeof text) {
        return false;
    }
    memcpy(text, span->text, span->length);
    text[span->length] = '\0';
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number)) {
        return false;
    }
    *value = number;
    return true;
}

// ---- commands ----

// Blocks of a command, divided by colons outside of quotes. False: more than there may be.
static bool split_blocks(struct weft_tl1_span blocks[WEFT_TL1_BLOCKS], const char *text,
                         size_t bytes)
{
    struct walk walk = {0};
    uint32_t count = 0;
    size_t begin = 0;
    for (size_t at = 0; at <= bytes; at++) {
        if (at < bytes && !(step(&walk, text, at, bytes) && text[at] == ':')) {
            continue;
        }
        if (count == WEFT_TL1_BLOCKS) {
            return false;
        }
        blocks[count++] = (struct weft_tl1_span){text + begin, at - begin};
        begin = at + 1;
    }
    return true;
}

static bool copy_word(char *word, size_t size, const struct weft_tl1_span *span)
{
    for (size_t i = 0; i < span->length && i + 1 < size; i++) {
        char c = span->text[i];
        if (isalnum((unsigned char)c) == 0 && c != '-') {
            return false;
        }
        word[i] = (char)toupper((unsigned char)c);
        word[i + 1] = '\0';
    }
    return span->length > 0 && span->length < size;
}

size_t weft_tl1_read_command(struct weft_tl1_command *command, const char *text, size_t bytes)
{
    struct walk walk = {0};
    size_t begin = 0;
    while (begin < bytes && isspace((unsigned char)text[begin]) != 0) {
        begin++;
    }
    size_t end = begin;
    while (end < bytes && !(step(&walk, text, end, bytes) && text[end] == ';')) {
        end++;
    }
    if (end == bytes) {
        return 0;
    }
    struct weft_tl1_span blocks[WEFT_TL1_BLOCKS];
    for (uint32_t i = 0; i < WEFT_TL1_BLOCKS; i++) {
        blocks[i] = (struct weft_tl1_span){"", 0};
    }
    struct weft_tl1_command found = {
        .tag = "0", .target = {"", 0}, .general = {"", 0}, .payload = {"", 0}};
    if (split_blocks(blocks, text + begin, end - begin) &&
        copy_word(found.verb, sizeof found.verb, &blocks[0]) &&
        (blocks[3].length == 0 || copy_word(found.tag, sizeof found.tag, &blocks[3]))) {
        found.target = blocks[2];
        found.general = blocks[4];
        found.payload = blocks[5];
    } else {
        found.verb[0] = '\0';
        found.tag[0] = '0';
        found.tag[1] = '\0';
    }
    *command = found;
    return end + 1;
}

// ---- quotes ----

const char *weft_tl1_quote(const char *text, struct weft_arena *arena)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    if (text[0] != '\0' && strspn(text, plain) == strlen(text)) {
        return text;
    }
    char *quoted = WEFT_NEW(arena, char, 2 * strlen(text) + 3);
    char *at = quoted;
    *at++ = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            *at++ = '\\';
        }
        *at++ = *text;
    }
    *at = '"';
    return quoted;
}

const char *weft_tl1_unquote(const struct weft_tl1_span *span, struct weft_arena *arena)
{
    if (span->length < 2 || span->text[0] != '"' || span->text[span->length - 1] != '"') {
        return weft_arena_text(arena, span->text, span->length);
    }
    char *plain = WEFT_NEW(arena, char, span->length);
    size_t length = 0;
    for (size_t i = 1; i + 1 < span->length; i++) {
        if (span->text[i] == '\\' && i + 2 < span->length) {
            i++;
        }
        plain[length++] = span->text[i];
    }
    return plain;
}
