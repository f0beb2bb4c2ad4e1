// SPDX-License-Identifier: Apache-2.0
// From what commands print to a figure and its verdict.
//
// A figure is found by a JSON pointer (RFC 6901), with two additions that lists of results need:
// "name=weft" is the item of a list whose member says so, since the place of an item in a list is
// no promise, and "*" the mean over all items. O(size of the document).

#include "reproduce.h"

#include <math.h>
#include <string.h>

// Whether a member's value reads as that text.
static bool reads_as(const json_t *value, const char *text)
{
    char number[64];
    if (json_is_string(value)) {
        return strcmp(json_string_value(value), text) == 0;
    }
    if (json_is_number(value)) {
        snprintf(number, sizeof number, "%.15g", json_number_value(value));
        return strcmp(number, text) == 0;
    }
    return false;
}

// The item of a list that a token of the pointer chooses: its place, or "key=text".
static const json_t *choose(const json_t *list, const char *token)
{
    struct weft_error error;
    uint64_t index = 0;
    const char *equals = strchr(token, '=');
    if (equals == NULL) {
        return weft_parse_count(&index, token, 0, UINT32_MAX, &error) ? json_array_get(list, index)
                                                                      : NULL;
    }
    char key[128];
    snprintf(key, sizeof key, "%.*s", (int)(equals - token), token);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (reads_as(json_object_get(item, key), equals + 1)) {
            return item;
        }
    }
    return NULL;
}

// "~1" is a slash in a key and "~0" a tilde, as RFC 6901 has it.
static const char *unescape(const char *token, size_t length, struct weft_arena *arena)
{
    char *out = weft_arena_text(arena, token, length);
    char *to = out;
    for (const char *at = out; *at != '\0'; at++) {
        bool escaped = at[0] == '~' && (at[1] == '0' || at[1] == '1');
        *to++ = !escaped ? *at : at[1] == '1' ? '/' : '~';
        at += escaped ? 1 : 0;
    }
    *to = '\0';
    return out;
}

static bool number_of(double *value, const json_t *node)
{
    if (json_is_boolean(node)) {
        *value = json_is_true(node) ? 1 : 0;
        return true;
    }
    *value = json_number_value(node);
    return json_is_number(node);
}

bool reproduce_find(double *value, const json_t *root, const char *pointer,
                    struct weft_arena scratch)
{
    const json_t *node = root;
    while (node != NULL && *pointer == '/') {
        size_t length = strcspn(pointer + 1, "/");
        const char *token = unescape(pointer + 1, length, &scratch);
        pointer += 1 + length;
        if (json_is_array(node) && strcmp(token, "*") == 0) {
            size_t count = json_array_size(node);
            double sum = 0;
            for (size_t i = 0; i < count; i++) {
                double one = 0;
                if (!reproduce_find(&one, json_array_get(node, i), pointer, scratch)) {
                    return false;
                }
                sum += one;
            }
            *value = sum / (double)count;
            return count > 0;
        }
        node = json_is_array(node) ? choose(node, token) : json_object_get(node, token);
    }
    return node != NULL && number_of(value, node);
}

// By how much of the published figure ours misses its goal; 0 = it does not. What rounds to the
// published digits is equal to them.
static double gap_of(const struct weft_claim *claim, double ours)
{
    const struct weft_claim_published *published = &claim->published;
    double above = (ours - published->value) / published->value;
    if (fabs(ours - published->value) <= published->half_digit) {
        return 0;
    }
    switch (claim->goal) {
    case WEFT_CLAIM_AT_MOST:
        return fmax(0, above);
    case WEFT_CLAIM_AT_LEAST:
        return fmax(0, -above);
    case WEFT_CLAIM_WITHIN:
        return fmax(0, fabs(above) - claim->within_ratio);
    }
    WEFT_ASSERT(false);
}

// How good a figure is, the less the better: it goes on where the goal is met.
static double loss_of(const struct weft_claim *claim, double ours)
{
    switch (claim->goal) {
    case WEFT_CLAIM_AT_MOST:
        return ours;
    case WEFT_CLAIM_AT_LEAST:
        return -ours;
    case WEFT_CLAIM_WITHIN:
        return fabs(ours / claim->published.value - 1);
    }
    WEFT_ASSERT(false);
}

void reproduce_judge(struct reproduce_outcome *outcome, const struct weft_claim *claim,
                     const double *figures, uint32_t count)
{
    double worst = figures[0];
    double best = figures[0];
    double sum = 0;
    outcome->low = figures[0];
    outcome->high = figures[0];
    for (uint32_t i = 0; i < count; i++) {
        worst = loss_of(claim, figures[i]) > loss_of(claim, worst) ? figures[i] : worst;
        best = loss_of(claim, figures[i]) < loss_of(claim, best) ? figures[i] : best;
        sum += figures[i];
        outcome->low = fmin(outcome->low, figures[i]);
        outcome->high = fmax(outcome->high, figures[i]);
    }
    const double choices[] = {
        [WEFT_CLAIM_WORST] = worst,
        [WEFT_CLAIM_FIRST] = figures[0],
        [WEFT_CLAIM_BEST] = best,
        [WEFT_CLAIM_MEAN] = sum / count,
    };
    outcome->ours = choices[claim->reading.choice];
    outcome->verdict = REPRODUCE_NOT_COMPARABLE;
    if (claim->not_comparable == NULL) {
        outcome->gap_ratio = gap_of(claim, outcome->ours);
        outcome->verdict = outcome->gap_ratio > 0 ? REPRODUCE_SHORT : REPRODUCE_MET;
    }
}

const char *reproduce_verdict_text(const struct reproduce_outcome *outcome,
                                   struct weft_arena *arena)
{
    switch (outcome->verdict) {
    case REPRODUCE_NOT_RUN:
        return "not run";
    case REPRODUCE_MET:
        return "met";
    case REPRODUCE_SHORT:
        return weft_arena_format(arena, "short by %.3g %%", 100 * outcome->gap_ratio);
    case REPRODUCE_NOT_COMPARABLE:
        return "not comparable";
    }
    WEFT_ASSERT(false);
}

int reproduce_exit_code(const struct reproduce *reproduce)
{
    int code = CLI_EXIT_YES;
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        enum reproduce_verdict verdict = reproduce->outcomes[i].verdict;
        if (verdict == REPRODUCE_NOT_RUN) {
            return WEFT_UNSUPPORTED;
        }
        code = verdict == REPRODUCE_SHORT ? CLI_EXIT_NO : code;
    }
    return code;
}
