// SPDX-License-Identifier: Apache-2.0
// The nearest of some words, for messages about misspelt names ("did you mean --fabric?").
//
// The distance is Levenshtein's ("Binary codes capable of correcting deletions, insertions, and
// reversals", Soviet Physics Doklady 10(8), 1966), by dynamic programming over one row, case aside.
// It costs the product of both lengths, of which 63 letters at most are looked at.

#include "weft/base.h"

#include <string.h>
#include <strings.h>

#define LENGTH_MAX 63u

static uint32_t least(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t low = a < b ? a : b;
    return low < c ? low : c;
}

// Levenshtein's distance, row by row.
uint32_t weft_word_edits(const char *a, size_t a_length, const char *b)
{
    uint32_t row[LENGTH_MAX + 1];
    a_length = strnlen(a, a_length < LENGTH_MAX ? a_length : LENGTH_MAX);
    uint32_t b_length = (uint32_t)strnlen(b, LENGTH_MAX);
    for (uint32_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            bool same = strncasecmp(a + i - 1, b + j - 1, 1) == 0;
            uint32_t cost = least(row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1));
            diagonal = row[j];
            row[j] = cost;
        }
    }
    return row[b_length];
}

const char *weft_nearest_word(const char *word, const char *const *words, uint32_t count)
{
    const char *nearest = NULL;
    uint32_t fewest = (uint32_t)strnlen(word, LENGTH_MAX) / 2 + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t edits = weft_word_edits(word, LENGTH_MAX, words[i]);
        if (edits < fewest) {
            fewest = edits;
            nearest = words[i];
        }
    }
    size_t length = strnlen(word, LENGTH_MAX);
    for (uint32_t i = 0; nearest == NULL && length > 1 && i < count; i++) {
        nearest = strncasecmp(word, words[i], length) == 0 ? words[i] : NULL;
    }
    return nearest;
}

bool weft_fail_word(struct weft_error *error, const char *what, const char *word,
                    const char *const *words, uint32_t count)
{
    const char *near = weft_nearest_word(word, words, count);
    if (near != NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.64s' is no %s; do you mean %s?", word, what, near);
    }
    char list[sizeof error->message] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < count && length < sizeof list; i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "",
                                   words[i]);
    }
    return weft_fail(error, WEFT_INPUT, "'%.64s' is no %s; choose one of %s", word, what, list);
}
