// SPDX-License-Identifier: Apache-2.0
// Text of words or fields on lines, as hand-written formats have it: one pass, no copies.
//
// The words of a line are slices of the file; comments and empty lines are passed over.
// O(bytes).

#include "lines.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

void word_trim(struct line_word *word)
{
    while (word->length > 0 && is_space(word->text[0])) {
        word->text++;
        word->length--;
    }
    while (word->length > 0 && is_space(word->text[word->length - 1])) {
        word->length--;
    }
}

bool lines_find(struct lines *lines)
{
    weft_poll();
    while (lines->at < lines->end) {
        const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
        size_t length = (size_t)((stop == NULL ? lines->end : stop) - lines->at);
        lines->line = (struct line_word){lines->at, length};
        lines->at = stop == NULL ? lines->end : stop + 1;
        lines->number++;
        word_trim(&lines->line);
        if (lines->line.length > 0 && lines->line.text[0] != '#') {
            return true;
        }
    }
    return false;
}

bool lines_next(struct lines *lines, bool *more, struct weft_error *error)
{
    lines->word_count = 0;
    *more = lines_find(lines);
    const char *stop = lines->line.text + lines->line.length;
    for (const char *at = lines->line.text; *more && at < stop;) {
        const char *begin = at;
        while (at < stop && !is_space(*at)) {
            at++;
        }
        if (lines->word_count == LINE_WORDS) {
            return weft_fail(error, WEFT_INPUT, "line %u: more than %u words", lines->number,
                             LINE_WORDS);
        }
        lines->words[lines->word_count++] = (struct line_word){begin, (size_t)(at - begin)};
        while (at < stop && is_space(*at)) {
            at++;
        }
    }
    return true;
}

bool word_field(struct line_word *field, struct line_word *rest)
{
    if (rest->text == NULL) {
        return false;
    }
    const char *comma = memchr(rest->text, ',', rest->length);
    size_t length = comma == NULL ? rest->length : (size_t)(comma - rest->text);
    *field = (struct line_word){rest->text, length};
    word_trim(field);
    *rest = comma == NULL ? (struct line_word){NULL, 0}
                          : (struct line_word){comma + 1, rest->length - length - 1};
    return true;
}

uint32_t lines_count(const char *data, size_t length)
{
    uint32_t count = 0;
    bool counted = false;
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '\n') {
            counted = false;
        } else if (!counted && !is_space(data[i])) {
            counted = true;
            count++;
        }
    }
    return count;
}

bool word_is(const struct line_word *word, const char *text)
{
    return strlen(text) == word->length && strncasecmp(word->text, text, word->length) == 0;
}

// A copy that ends with a zero; false where it is too long for a number.
static bool copy_word(char copy[40], const struct line_word *word)
{
    bool fits = word->length < 40 && memchr(word->text, '\0', word->length) == NULL;
    size_t length = fits ? word->length : 0;
    memcpy(copy, word->text, length);
    copy[length] = '\0';
    return fits;
}

bool word_count(uint64_t *value, const struct line_word *word, const char *what, uint64_t low,
                uint64_t high, struct weft_error *error)
{
    char copy[40];
    if (!copy_word(copy, word)) {
        return weft_fail(error, WEFT_INPUT, "%s: '%.*s' is no number", what, WORD_SHOWN(word));
    }
    return weft_parse_count(value, copy, low, high, error) || weft_wrap(error, "%s", what);
}

bool word_decimal(uint64_t *value, const struct line_word *word, const char *what, uint64_t high,
                  struct weft_error *error)
{
    char copy[40];
    double number = 0;
    if (!copy_word(copy, word)) {
        return weft_fail(error, WEFT_INPUT, "%s: '%.*s' is no number", what, WORD_SHOWN(word));
    }
    if (strspn(copy, "0123456789") == word->length) {
        return word_count(value, word, what, 0, high, error);
    }
    if (!weft_parse_number(&number, copy, 0, (double)high, error)) {
        return weft_wrap(error, "%s", what);
    }
    *value = number < 0x1p63 ? (uint64_t)ceil(number) : high;
    *value = *value < high ? *value : high;
    return true;
}

bool word_behind(const struct line_word **word, const struct lines *lines, uint32_t i,
                 struct weft_error *error)
{
    if (i + 1 >= lines->word_count) {
        return weft_fail(error, WEFT_INPUT, "nothing stands behind '%.*s'; write a number",
                         WORD_SHOWN(&lines->words[i]));
    }
    *word = &lines->words[i + 1];
    return true;
}
