// SPDX-License-Identifier: Apache-2.0
// Text of words on lines, as simulators' hand-written formats have it: one pass, no copies.
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

bool lines_next(struct lines *lines, bool *more, struct weft_error *error)
{
    weft_poll();
    for (;;) {
        if (lines->at == lines->end) {
            *more = false;
            return true;
        }
        const char *line = lines->at;
        const char *stop = memchr(line, '\n', (size_t)(lines->end - line));
        lines->at = stop == NULL ? lines->end : stop + 1;
        stop = stop == NULL ? lines->end : stop;
        lines->number++;
        lines->word_count = 0;
        while (line < stop) {
            const char *begin = line;
            while (line < stop && !is_space(*line)) {
                line++;
            }
            if (line > begin && lines->word_count == LINE_WORDS) {
                return weft_fail(error, WEFT_INPUT, "line %u: more than %u words", lines->number,
                                 LINE_WORDS);
            }
            if (line > begin) {
                lines->words[lines->word_count++] =
                    (struct line_word){begin, (size_t)(line - begin)};
            }
            line += line < stop;
        }
        if (lines->word_count > 0 && lines->words[0].text[0] != '#') {
            *more = true;
            return true;
        }
    }
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
