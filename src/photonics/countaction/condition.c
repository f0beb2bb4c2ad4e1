// SPDX-License-Identifier: Apache-2.0
// Conditions of the text form, by recursive descent. Each nested sign counts, so that a hostile
// text cannot make the stack deep.

#include <string.h>

#include "photonics/countaction/parse.h"

static bool named(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

uint32_t draft_signal(const struct draft *draft, const char *name, size_t length)
{
    for (uint32_t i = 0; i < draft->module.signal_count; i++) {
        if (named(draft->signals[i].name, name, length)) {
            return i;
        }
    }
    return WEFT_NONE;
}

uint32_t draft_count(const struct draft *draft, const char *name, size_t length)
{
    for (uint32_t i = 0; i < draft->module.count_count; i++) {
        if (named(draft->counts[i].name, name, length)) {
            return i;
        }
    }
    return WEFT_NONE;
}

// All arrays that 'index' names in one condition, count or action have the same number of lines.
static bool take_index(struct draft *draft, uint32_t lines)
{
    if (draft->repeats != 0 && draft->repeats != lines) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: 'index' names arrays of %u and of %u lines; make them alike",
                         draft->lex.line, draft->repeats, lines);
    }
    draft->repeats = lines;
    lex_next(&draft->lex);
    return true;
}

bool draft_place(struct draft *draft, uint32_t *index, bool array, uint32_t lines)
{
    *index = 0;
    if (!array) {
        return true;
    }
    if (!lex_is(&draft->lex, "[")) {
        return lex_fail(&draft->lex, "'[index]' behind an array", draft->error);
    }
    lex_next(&draft->lex);
    if (lex_is(&draft->lex, "index")) {
        *index = WEFT_PHOTONIC_INDEX;
        return take_index(draft, lines) && lex_expect(&draft->lex, "]", draft->error);
    }
    uint64_t place;
    if (!lex_number(&place, &draft->lex, 0, lines - 1, draft->error)) {
        return false;
    }
    *index = (uint32_t)place;
    return lex_expect(&draft->lex, "]", draft->error);
}

static bool add_term(struct draft *draft, uint32_t *term, struct weft_photonic_term value)
{
    if (draft->module.term_count == MODULE_TERMS) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: the module's conditions have more than %u terms; make two of it",
                         draft->lex.line, MODULE_TERMS);
    }
    *term = draft->module.term_count++;
    draft->terms[*term] = value;
    return true;
}

// state NAME, or NAME of a signal.
static bool read_state(struct draft *draft, uint32_t *term)
{
    static const struct {
        const char *word;
        enum weft_photonic_op op;
    } states[] = {
        {"at", WEFT_PHOTONIC_OP_AT},       {"full", WEFT_PHOTONIC_OP_FULL},
        {"short", WEFT_PHOTONIC_OP_SHORT}, {"over", WEFT_PHOTONIC_OP_OVER},
        {"empty", WEFT_PHOTONIC_OP_EMPTY},
    };
    struct lex *lex = &draft->lex;
    enum weft_photonic_op op = WEFT_PHOTONIC_OP_SIGNAL;
    for (uint32_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (lex_is(lex, states[i].word)) {
            op = states[i].op;
        }
    }
    if (op == WEFT_PHOTONIC_OP_SIGNAL) {
        uint32_t signal = draft_signal(draft, lex->word, lex->length);
        if (signal == WEFT_NONE) {
            return lex_fail(lex,
                            draft_count(draft, lex->word, lex->length) == WEFT_NONE
                                ? "a signal of the module, or at, full, short, over or empty"
                                : "at, full, short, over or empty before a count",
                            draft->error);
        }
        lex_next(lex);
        uint32_t index;
        const struct weft_photonic_signal *found = &draft->signals[signal];
        return draft_place(draft, &index, found->array, found->lines) &&
               add_term(draft, term, (struct weft_photonic_term){op, signal, 0, index});
    }
    lex_next(lex);
    uint32_t count = draft_count(draft, lex->word, lex->length);
    if (count == WEFT_NONE) {
        return lex_fail(lex, "a count of the module", draft->error);
    }
    const struct weft_photonic_count *found = &draft->counts[count];
    if (found->tally ? op == WEFT_PHOTONIC_OP_AT : op == WEFT_PHOTONIC_OP_OVER) {
        return lex_fail(lex,
                        found->tally ? "'full', since a tally has no event to be at,"
                                     : "'full', since a register never is over its target,",
                        draft->error);
    }
    lex_next(lex);
    uint32_t index;
    return draft_place(draft, &index, found->array, found->size) &&
           add_term(draft, term, (struct weft_photonic_term){op, count, 0, index});
}

static bool read_factor(struct draft *draft, uint32_t *term);

// 'any' binds an index of its own.
static bool read_any(struct draft *draft, uint32_t *term)
{
    if (draft->index_is_bound) {
        return weft_fail(draft->error, WEFT_INPUT, "line %u: 'any' inside 'any'; leave one out",
                         draft->lex.line);
    }
    uint32_t outer = draft->repeats;
    draft->repeats = 0;
    draft->index_is_bound = true;
    lex_next(&draft->lex);
    uint32_t child;
    if (!read_factor(draft, &child)) {
        return false;
    }
    if (draft->repeats == 0) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: 'any' without an array; write any NAME[index]", draft->lex.line);
    }
    uint32_t lines = draft->repeats;
    draft->repeats = outer;
    draft->index_is_bound = false;
    return add_term(draft, term,
                    (struct weft_photonic_term){WEFT_PHOTONIC_OP_ANY, child, lines, 0});
}

static bool read_nested(struct draft *draft, uint32_t *term)
{
    if (lex_take(&draft->lex, "(")) {
        return draft_condition(draft, term) && lex_expect(&draft->lex, ")", draft->error);
    }
    if (lex_is(&draft->lex, "any")) {
        return read_any(draft, term);
    }
    if (!lex_take(&draft->lex, "!")) {
        return read_state(draft, term);
    }
    uint32_t child;
    return read_factor(draft, &child) &&
           add_term(draft, term, (struct weft_photonic_term){WEFT_PHOTONIC_OP_NOT, child, 0, 0});
}

static bool read_factor(struct draft *draft, uint32_t *term)
{
    if (draft->depth == MODULE_DEPTH) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: a condition is nested deeper than %u; write it flat",
                         draft->lex.line, MODULE_DEPTH);
    }
    draft->depth++;
    bool ok = read_nested(draft, term);
    draft->depth--;
    return ok;
}

static bool read_conjunction(struct draft *draft, uint32_t *term)
{
    if (!read_factor(draft, term)) {
        return false;
    }
    while (lex_take(&draft->lex, "&")) {
        uint32_t right;
        if (!read_factor(draft, &right) ||
            !add_term(draft, term,
                      (struct weft_photonic_term){WEFT_PHOTONIC_OP_AND, *term, right, 0})) {
            return false;
        }
    }
    return true;
}

bool draft_condition(struct draft *draft, uint32_t *term)
{
    if (!read_conjunction(draft, term)) {
        return false;
    }
    while (lex_take(&draft->lex, "|")) {
        uint32_t right;
        if (!read_conjunction(draft, &right) ||
            !add_term(draft, term,
                      (struct weft_photonic_term){WEFT_PHOTONIC_OP_OR, *term, right, 0})) {
            return false;
        }
    }
    return true;
}
