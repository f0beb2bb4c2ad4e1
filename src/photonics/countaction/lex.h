// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_LEX_H
#define WEFT_PHOTONICS_COUNTACTION_LEX_H

// Words of the text form: names (with dots), numbers, and single marks, ".." among them.

#include "weft/base.h"

#define LEX_NAME 40u // letters of a name, at most

struct lex {
    const char *at;
    const char *end;
    uint32_t line; // of the word
    // The word that comes next; length 0 at the end of the text.
    const char *word;
    size_t length;
    uint32_t next_line; // of what follows it
};

void lex_begin(struct lex *lex, const char *data, size_t length);
void lex_next(struct lex *lex);
bool lex_is(const struct lex *lex, const char *word);
// Whether the word can be a name: a letter, then letters, digits and '_'; fields have a dot.
bool lex_is_name(const struct lex *lex);
// Goes on if the word is that, and says whether it was.
bool lex_take(struct lex *lex, const char *word);
// Fails with INPUT: "line 7: expected X, found 'Y'".
bool lex_fail(const struct lex *lex, const char *expected, struct weft_error *error);
bool lex_expect(struct lex *lex, const char *word, struct weft_error *error) WEFT_MUST_USE;
// A number in [low, high].
bool lex_number(uint64_t *value, struct lex *lex, uint64_t low, uint64_t high,
                struct weft_error *error) WEFT_MUST_USE;

#endif
