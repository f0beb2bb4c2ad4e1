// SPDX-License-Identifier: Apache-2.0
// Words of the text form of count-action modules. O(length).

#include "photonics/countaction/lex.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(struct lex *lex)
{
    while (lex->at < lex->end) {
        char c = *lex->at;
        if (c == '\n') {
            lex->next_line++;
        } else if (c == '#') {
            const char *newline = memchr(lex->at, '\n', (size_t)(lex->end - lex->at));
            lex->at = newline == NULL ? lex->end : newline;
            continue;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
        lex->at++;
    }
}

// A dot belongs to a name where a letter follows; between numbers two dots are a mark.
void lex_next(struct lex *lex)
{
    skip_space(lex);
    lex->line = lex->next_line;
    lex->word = lex->at;
    const char *at = lex->at;
    const char *end = lex->end;
    if (at < end && is_letter(*at)) {
        while (at < end && (is_letter(*at) || is_digit(*at) ||
                            (*at == '.' && end - at > 1 && is_letter(at[1])))) {
            at++;
        }
    } else if (at < end && is_digit(*at)) {
        while (at < end && is_digit(*at)) {
            at++;
        }
    } else if (end - at > 1 && at[0] == '.' && at[1] == '.') {
        at += 2;
    } else if (at < end) {
        at++;
    }
    lex->length = (size_t)(at - lex->word);
    lex->at = at;
}

void lex_begin(struct lex *lex, const char *data, size_t length)
{
    *lex = (struct lex){.at = data, .end = data + length, .next_line = 1};
    lex_next(lex);
}

bool lex_is(const struct lex *lex, const char *word)
{
    return lex->length == strlen(word) && memcmp(lex->word, word, lex->length) == 0;
}

bool lex_is_name(const struct lex *lex)
{
    return lex->length > 0 && is_letter(*lex->word);
}

bool lex_take(struct lex *lex, const char *word)
{
    if (!lex_is(lex, word)) {
        return false;
    }
    lex_next(lex);
    return true;
}

bool lex_fail(const struct lex *lex, const char *expected, struct weft_error *error)
{
    if (lex->length == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: expected %s, found the end of the text",
                         lex->line, expected);
    }
    int shown = lex->length < LEX_NAME ? (int)lex->length : (int)LEX_NAME;
    return weft_fail(error, WEFT_INPUT, "line %u: expected %s, found '%.*s'", lex->line, expected,
                     shown, lex->word);
}

bool lex_expect(struct lex *lex, const char *word, struct weft_error *error)
{
    if (lex_take(lex, word)) {
        return true;
    }
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", word);
    return lex_fail(lex, quoted, error);
}

bool lex_number(uint64_t *value, struct lex *lex, uint64_t low, uint64_t high,
                struct weft_error *error)
{
    uint64_t number = 0;
    bool fits = lex->length > 0 && lex->length <= 10 && is_digit(*lex->word);
    for (size_t i = 0; fits && i < lex->length; i++) {
        number = number * 10 + (uint64_t)(lex->word[i] - '0');
    }
    if (!fits || number < low || number > high) {
        char range[64];
        snprintf(range, sizeof range, "a number from %llu to %llu", (unsigned long long)low,
                 (unsigned long long)high);
        return lex_fail(lex, range, error);
    }
    *value = number;
    lex_next(lex);
    return true;
}
