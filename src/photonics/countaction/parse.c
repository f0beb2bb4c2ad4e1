// SPDX-License-Identifier: Apache-2.0
// The text form of count-action modules, by recursive descent. Names of counts are looked for
// before their conditions are read, since events may name counts that stand further down. O(length)
// of a module's bounded size.

#include "photonics/countaction/parse.h"

#include <string.h>

#include "photonics/countaction/field.h"
#include "photonics/countaction/reserved.h"

// ---- names ----

// Takes a new name of the module; it must be one in Verilog, too.
static bool take_name(struct draft *draft, const char **name, const char *what)
{
    struct lex *lex = &draft->lex;
    if (!lex_is_name(lex) || memchr(lex->word, '.', lex->length) != NULL) {
        return lex_fail(lex, what, draft->error);
    }
    if (lex->length > LEX_NAME) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: a name of %zu letters; %u are the most", lex->line, lex->length,
                         LEX_NAME);
    }
    bool taken = field_has_port(lex->word, lex->length) || is_reserved(lex->word, lex->length);
    if (taken) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: '%.*s' is a word of the language, of Verilog or of what Weft "
                         "makes of counts; choose another name",
                         lex->line, (int)lex->length, lex->word);
    }
    if (draft_signal(draft, lex->word, lex->length) != WEFT_NONE ||
        draft_count(draft, lex->word, lex->length) != WEFT_NONE) {
        return weft_fail(draft->error, WEFT_INPUT, "line %u: there are two '%.*s'; rename one",
                         lex->line, (int)lex->length, lex->word);
    }
    *name = weft_arena_text(draft->arena, lex->word, lex->length);
    lex_next(lex);
    return true;
}

static bool too_many(struct draft *draft, const char *what, uint32_t most)
{
    return weft_fail(draft->error, WEFT_INPUT,
                     "line %u: the module has more than %u %s; make two of it", draft->lex.line,
                     most, what);
}

// '[' NUMBER ']' behind a name that is declared.
static bool take_size(struct draft *draft, bool *array, uint32_t *size)
{
    *size = 1;
    *array = lex_take(&draft->lex, "[");
    if (!*array) {
        return true;
    }
    uint64_t lines;
    if (!lex_number(&lines, &draft->lex, 1, WEFT_PHOTONIC_LINES, draft->error)) {
        return false;
    }
    *size = (uint32_t)lines;
    return lex_expect(&draft->lex, "]", draft->error);
}

// ---- ports ----

static bool read_ports(struct draft *draft, bool output)
{
    do {
        if (draft->module.signal_count == MODULE_SIGNALS) {
            return too_many(draft, "signals", MODULE_SIGNALS);
        }
        struct weft_photonic_signal signal = {.output = output, .line = draft->lex.line};
        if (!take_name(draft, &signal.name, "the name of a port") ||
            !take_size(draft, &signal.array, &signal.lines)) {
            return false;
        }
        signal.one_hot = signal.array && lex_take(&draft->lex, "onehot");
        if (signal.one_hot && output) {
            return weft_fail(draft->error, WEFT_INPUT,
                             "line %u: only inputs are declared onehot, since actions decide what "
                             "outputs are; leave it out",
                             draft->lex.line);
        }
        draft->signals[draft->module.signal_count++] = signal;
    } while (lex_take(&draft->lex, ","));
    return lex_expect(&draft->lex, ";", draft->error);
}

// ---- counts ----

// The names of all counts; what stands behind them is skipped.
static bool read_count_names(struct draft *draft)
{
    struct lex *lex = &draft->lex;
    struct lex begin = *lex;
    while (!lex_is(lex, "}")) {
        if (draft->module.count_count == MODULE_COUNTS) {
            return too_many(draft, "counts", MODULE_COUNTS);
        }
        struct weft_photonic_count count = {
            .event = WEFT_NONE, .less = WEFT_NONE, .until = WEFT_NONE, .line = lex->line};
        if (!take_name(draft, &count.name, "the name of a count, or '}'") ||
            !take_size(draft, &count.array, &count.size) || !lex_expect(lex, "=", draft->error)) {
            return false;
        }
        count.tally = lex_is(lex, "tally");
        if (count.tally && count.array) {
            return weft_fail(draft->error, WEFT_INPUT,
                             "line %u: an array of tallies; give each a name", lex->line);
        }
        draft->counts[draft->module.count_count++] = count;
        while (lex->length > 0 && !lex_is(lex, ";")) {
            lex_next(lex);
        }
        if (!lex_expect(lex, ";", draft->error)) {
            return false;
        }
    }
    *lex = begin;
    return true;
}

static bool read_tally(struct draft *draft, struct weft_photonic_count *count)
{
    uint32_t signals[MODULE_SIGNALS], taken = 0;
    do {
        uint32_t signal = draft_signal(draft, draft->lex.word, draft->lex.length);
        if (signal == WEFT_NONE) {
            return lex_fail(&draft->lex, "a signal of the module", draft->error);
        }
        for (uint32_t i = 0; i < taken; i++) {
            if (signals[i] == signal) {
                return weft_fail(draft->error, WEFT_INPUT,
                                 "line %u: '%s' is counted twice; leave one out", draft->lex.line,
                                 draft->signals[signal].name);
            }
        }
        signals[taken++] = signal;
        lex_next(&draft->lex);
    } while (lex_take(&draft->lex, ","));
    uint32_t *kept = WEFT_NEW(draft->arena, uint32_t, taken);
    memcpy(kept, signals, taken * sizeof signals[0]);
    count->signals = kept;
    count->signal_count = taken;
    return lex_expect(&draft->lex, ")", draft->error);
}

// A condition of a count whose index, if any, is that of the count.
static bool count_condition(struct draft *draft, const struct weft_photonic_count *count,
                            uint32_t *term)
{
    draft->repeats = 0;
    if (!draft_condition(draft, term)) {
        return false;
    }
    if (draft->repeats != 0 && (!count->array || draft->repeats != count->size)) {
        return weft_fail(draft->error, WEFT_INPUT,
                         "line %u: 'index' goes to %u and count '%s' has %u; make them alike",
                         count->line, draft->repeats, count->name, count->size);
    }
    return true;
}

static bool read_cycles(struct draft *draft, struct weft_photonic_count *count)
{
    return count_condition(draft, count, &count->event) &&
           lex_expect(&draft->lex, ")", draft->error) &&
           (!lex_take(&draft->lex, "less") || count_condition(draft, count, &count->less)) &&
           (!lex_take(&draft->lex, "until") || count_condition(draft, count, &count->until));
}

static bool read_counts(struct draft *draft)
{
    if (!lex_expect(&draft->lex, "counts", draft->error) ||
        !lex_expect(&draft->lex, "{", draft->error) || !read_count_names(draft)) {
        return false;
    }
    for (uint32_t i = 0; i < draft->module.count_count; i++) {
        struct weft_photonic_count *count = &draft->counts[i];
        while (!lex_take(&draft->lex, "=")) {
            lex_next(&draft->lex); // name and size, which are known
        }
        bool ok;
        if (lex_take(&draft->lex, "tally")) {
            ok = lex_expect(&draft->lex, "(", draft->error) && read_tally(draft, count);
        } else if (lex_take(&draft->lex, "cycles")) {
            ok = lex_expect(&draft->lex, "(", draft->error) && read_cycles(draft, count);
        } else {
            return lex_fail(&draft->lex, "tally(...) or cycles(...)", draft->error);
        }
        if (!ok || !lex_expect(&draft->lex, ";", draft->error)) {
            return false;
        }
    }
    return lex_expect(&draft->lex, "}", draft->error);
}

// ---- targets ----

static bool read_target(struct draft *draft, struct weft_photonic_target *target)
{
    struct lex *lex = &draft->lex;
    *target = (struct weft_photonic_target){.field = WEFT_NONE};
    uint64_t number;
    if (!lex_is_name(lex)) {
        if (!lex_number(&number, lex, 0, UINT32_MAX, draft->error)) {
            return false;
        }
        target->offset = (int64_t)number;
        return true;
    }
    target->field = field_find(lex->word, lex->length);
    if (target->field == WEFT_NONE) {
        return lex_fail(lex, "a number, program.fifo or a field of the row such as layer.words",
                        draft->error);
    }
    lex_next(lex);
    bool minus = lex_is(lex, "-");
    if (!minus && !lex_is(lex, "+")) {
        return true;
    }
    lex_next(lex);
    if (!lex_number(&number, lex, 0, UINT32_MAX, draft->error)) {
        return false;
    }
    target->offset = minus ? -(int64_t)number : (int64_t)number;
    return true;
}

// '[' NUMBER [ '..' NUMBER ] ']' behind the name of an array.
static bool read_range(struct draft *draft, const struct weft_photonic_count *count,
                       uint64_t *first, uint64_t *last)
{
    *first = 0;
    *last = count->size - 1;
    if (!count->array || !lex_take(&draft->lex, "[")) {
        return true;
    }
    if (!lex_number(first, &draft->lex, 0, count->size - 1, draft->error)) {
        return false;
    }
    *last = *first;
    return (!lex_take(&draft->lex, "..") ||
            lex_number(last, &draft->lex, *first, count->size - 1, draft->error)) &&
           lex_expect(&draft->lex, "]", draft->error);
}

// Sets has[i] where index i of the count got a target, once.
static bool read_one_target(struct draft *draft, uint64_t has[MODULE_COUNTS],
                            struct weft_photonic_target *targets[MODULE_COUNTS])
{
    struct lex *lex = &draft->lex;
    uint32_t line = lex->line;
    uint32_t subject = draft_count(draft, lex->word, lex->length);
    if (subject == WEFT_NONE) {
        return lex_fail(lex, "a count of the module, or '}'", draft->error);
    }
    lex_next(lex);
    uint64_t first, last;
    struct weft_photonic_target target;
    if (!read_range(draft, &draft->counts[subject], &first, &last) ||
        !lex_expect(lex, "=", draft->error) || !read_target(draft, &target) ||
        !lex_expect(lex, ";", draft->error)) {
        return false;
    }
    for (uint64_t i = first; i <= last; i++) {
        if (has[subject] >> i & 1) {
            return weft_fail(draft->error, WEFT_INPUT,
                             "line %u: count '%s' has two targets; leave one out", line,
                             draft->counts[subject].name);
        }
        has[subject] |= 1ull << i;
        targets[subject][i] = target;
    }
    return true;
}

static bool read_targets(struct draft *draft)
{
    uint64_t has[MODULE_COUNTS] = {0};
    struct weft_photonic_target *targets[MODULE_COUNTS];
    for (uint32_t i = 0; i < draft->module.count_count; i++) {
        targets[i] = WEFT_NEW(draft->arena, struct weft_photonic_target, draft->counts[i].size);
        draft->counts[i].targets = targets[i];
    }
    if (!lex_expect(&draft->lex, "targets", draft->error) ||
        !lex_expect(&draft->lex, "{", draft->error)) {
        return false;
    }
    while (!lex_is(&draft->lex, "}")) {
        if (!read_one_target(draft, has, targets)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < draft->module.count_count; i++) {
        const struct weft_photonic_count *count = &draft->counts[i];
        uint64_t all = count->size == 64 ? UINT64_MAX : (1ull << count->size) - 1;
        if (has[i] != all) {
            return weft_fail(draft->error, WEFT_INPUT,
                             "line %u: count '%s' has no target; add '%s = NUMBER;' to the targets",
                             count->line, count->name, count->name);
        }
    }
    lex_next(&draft->lex);
    return true;
}

// ---- actions ----

static bool read_effect(struct draft *draft, struct weft_photonic_effect *effect)
{
    struct lex *lex = &draft->lex;
    effect->clear = lex_take(lex, "clear");
    if (effect->clear) {
        effect->subject = draft_count(draft, lex->word, lex->length);
        if (effect->subject == WEFT_NONE || draft->counts[effect->subject].tally) {
            return lex_fail(lex, "a count of cycles to clear", draft->error);
        }
        lex_next(lex);
        const struct weft_photonic_count *count = &draft->counts[effect->subject];
        return draft_place(draft, &effect->index, count->array, count->size);
    }
    effect->subject = draft_signal(draft, lex->word, lex->length);
    if (effect->subject == WEFT_NONE || !draft->signals[effect->subject].output) {
        return lex_fail(lex, "an output of the module, or 'clear' and a count", draft->error);
    }
    lex_next(lex);
    const struct weft_photonic_signal *signal = &draft->signals[effect->subject];
    return draft_place(draft, &effect->index, signal->array, signal->lines);
}

static bool read_action(struct draft *draft)
{
    if (draft->module.action_count == MODULE_ACTIONS) {
        return too_many(draft, "actions", MODULE_ACTIONS);
    }
    struct weft_photonic_action action = {.line = draft->lex.line};
    draft->repeats = 0;
    if (!draft_condition(draft, &action.condition) || !lex_expect(&draft->lex, ":", draft->error)) {
        return false;
    }
    struct weft_photonic_effect effects[MODULE_EFFECTS];
    do {
        if (action.effect_count == MODULE_EFFECTS) {
            return too_many(draft, "effects of an action", MODULE_EFFECTS);
        }
        if (!read_effect(draft, &effects[action.effect_count++])) {
            return false;
        }
    } while (lex_take(&draft->lex, ","));
    struct weft_photonic_effect *kept =
        WEFT_NEW(draft->arena, struct weft_photonic_effect, action.effect_count);
    memcpy(kept, effects, action.effect_count * sizeof effects[0]);
    action.effects = kept;
    action.repeats = draft->repeats == 0 ? 1 : draft->repeats;
    draft->actions[draft->module.action_count++] = action;
    return lex_expect(&draft->lex, ";", draft->error);
}

// ---- modules ----

static bool read_body(struct draft *draft)
{
    struct lex *lex = &draft->lex;
    if (!lex_expect(lex, "{", draft->error)) {
        return false;
    }
    while (lex_is(lex, "input") || lex_is(lex, "output")) {
        bool output = lex_is(lex, "output");
        lex_next(lex);
        if (!read_ports(draft, output)) {
            return false;
        }
    }
    if (!read_counts(draft) || !read_targets(draft) || !lex_expect(lex, "actions", draft->error) ||
        !lex_expect(lex, "{", draft->error)) {
        return false;
    }
    while (!lex_is(lex, "}")) {
        if (!read_action(draft)) {
            return false;
        }
    }
    lex_next(lex);
    return lex_expect(lex, "}", draft->error);
}

static void *keep(struct weft_arena *arena, const void *from, size_t count, size_t size)
{
    void *copy = weft_arena_alloc(arena, count, size);
    memcpy(copy, from, count * size);
    return copy;
}

static bool read_module(struct draft *draft)
{
    draft->module = (struct weft_photonic_module){.line = draft->lex.line};
    draft->depth = 0;
    draft->index_is_bound = false;
    if (!lex_expect(&draft->lex, "module", draft->error) ||
        !take_name(draft, &draft->module.name, "the name of the module")) {
        return false;
    }
    if (!read_body(draft)) {
        return weft_wrap(draft->error, "module %s", draft->module.name);
    }
    struct weft_photonic_module *module = &draft->module;
    module->signals =
        keep(draft->arena, draft->signals, module->signal_count, sizeof draft->signals[0]);
    module->counts =
        keep(draft->arena, draft->counts, module->count_count, sizeof draft->counts[0]);
    module->actions =
        keep(draft->arena, draft->actions, module->action_count, sizeof draft->actions[0]);
    module->terms = keep(draft->arena, draft->terms, module->term_count, sizeof draft->terms[0]);
    return true;
}

bool weft_photonic_countaction_parse(struct weft_photonic_countaction *modules, const char *data,
                                     size_t length, struct weft_arena *arena,
                                     struct weft_error *error)
{
    struct weft_photonic_module list[MODULE_MODULES];
    uint32_t count = 0;
    struct draft *draft = WEFT_NEW(arena, struct draft, 1);
    draft->arena = arena;
    draft->error = error;
    lex_begin(&draft->lex, data, length);
    do {
        if (count == MODULE_MODULES) {
            return weft_fail(error, WEFT_INPUT, "line %u: more than %u modules; make two files",
                             draft->lex.line, MODULE_MODULES);
        }
        if (!read_module(draft)) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(list[i].name, draft->module.name) == 0) {
                return weft_fail(error, WEFT_INPUT,
                                 "line %u: there are two modules '%s'; rename one",
                                 draft->module.line, draft->module.name);
            }
        }
        list[count++] = draft->module;
    } while (draft->lex.length > 0);
    *modules = (struct weft_photonic_countaction){count, keep(arena, list, count, sizeof list[0])};
    return true;
}
