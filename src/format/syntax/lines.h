// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_LINES_H
#define WEFT_FORMAT_SYNTAX_LINES_H

// Text of words on lines, as simulators' hand-written formats have it (htsim's matrices and
// topologies), or of fields between commas.
//
// A reader goes from line to line and looks at its words or fields; messages name the line's
// number.

#include "weft/base.h"

#define LINE_WORDS 24u

struct line_word {
    const char *text; // not ended by a zero
    size_t length;
};

struct lines {
    const char *at; // the next line
    const char *end;
    uint32_t number;       // of the line, from 1
    struct line_word line; // without blanks around it
    uint32_t word_count;
    struct line_word words[LINE_WORDS];
};

// Goes to the next line with something on it; those that begin with '#' do not count. False at the
// end.
bool lines_find(struct lines *lines);
// The same, with the line's words. False in *more at the end. Fails with INPUT on a line with more
// than LINE_WORDS words.
bool lines_next(struct lines *lines, bool *more, struct weft_error *error) WEFT_MUST_USE;
// How many lines lines_next will find at most; empty ones take no room of who sizes arrays by it.
// O(bytes).
uint32_t lines_count(const char *data, size_t length);
// Cuts blanks off both ends.
void word_trim(struct line_word *word);
// Cuts the first field off the rest of a line: up to the comma, without blanks around it. False:
// none is left.
bool word_field(struct line_word *field, struct line_word *rest);
// Whether the words are the same, case aside.
bool word_is(const struct line_word *word, const char *text);
// A number without a unit within [low, high]: a whole one, or a decimal one rounded up. Fails with
// INPUT naming `what`.
bool word_count(uint64_t *value, const struct line_word *word, const char *what, uint64_t low,
                uint64_t high, struct weft_error *error) WEFT_MUST_USE;
bool word_decimal(uint64_t *value, const struct line_word *word, const char *what, uint64_t high,
                  struct weft_error *error) WEFT_MUST_USE;
// The word behind words[i], which names `what`. Fails with INPUT where there is none.
bool word_behind(const struct line_word **word, const struct lines *lines, uint32_t i,
                 struct weft_error *error) WEFT_MUST_USE;

// For messages: at most 40 letters of a word.
#define WORD_SHOWN(word) (int)((word)->length < 40 ? (word)->length : 40), (word)->text

#endif
