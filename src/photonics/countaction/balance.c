// SPDX-License-Identifier: Apache-2.0
// How often each event comes in a layer (synchronous data flow: Lee and Messerschmitt, "Synchronous
// Data Flow", Proceedings of the IEEE 1987, where a repetition vector solves the balance equations
// of rates). Here words streamed are known from the row, and every other event follows from them:
//
//   events(a & b) = the fewer of both     events(!a), events(full n) = any number
//   events(a | b) = both together         events(at n) = events(n) / target, or 1 where n is
//   cleared
//                                                        at a layer's begin alone
//
// An event of "any number" bounds nothing: a preamble's cycle comes as often as it is waited for.

#include <string.h>

#include "photonics/countaction/check.h"
#include "photonics/countaction/field.h"
#include "photonics/countaction/prove.h"
#include "photonics/net/stages.h"

enum amount_kind { KNOWN, LEVEL, UNKNOWN };
struct amount {
    enum amount_kind kind;
    bool exact; // not one more may come, even where the module would not count it
    uint64_t events;
};
struct balance {
    struct checking *checking;
    const struct weft_photonic_check_options *options;
    const struct weft_photonic_row *row;
    uint32_t number; // of the row
    struct prover prover;
    bool *busy; // [net_count]: being computed
    uint32_t fifo;
};

static const struct amount level = {LEVEL, false, 0};
static const struct amount unknown = {UNKNOWN, false, 0};

static struct amount of_net(struct balance *balance, uint32_t net, uint32_t line);
static struct amount of_term(struct balance *balance, uint32_t module, uint32_t place,
                             uint32_t index);

static struct amount fewer(struct amount a, struct amount b)
{
    if (a.kind == UNKNOWN || b.kind == UNKNOWN) {
        return unknown;
    }
    if (a.kind == LEVEL || b.kind == LEVEL) {
        return a.kind == LEVEL ? b : a;
    }
    return a.events < b.events ? a : b;
}

static struct amount together(struct amount a, struct amount b)
{
    if (a.kind != KNOWN || b.kind != KNOWN) {
        return a.kind == UNKNOWN || b.kind == UNKNOWN ? unknown : level;
    }
    return (struct amount){KNOWN, a.exact || b.exact, a.events + b.events};
}

// ---- counts ----

static int64_t target_of(const struct balance *balance, const struct weft_photonic_count *count,
                         uint32_t index)
{
    return target_value(&count->targets[index], balance->row, balance->fifo);
}

static bool term_is_at(const struct weft_photonic_module *module, uint32_t place, uint32_t count)
{
    const struct weft_photonic_term *term = &module->terms[place];
    return term->op == WEFT_PHOTONIC_OP_AT && term->left == count;
}

// Whether the count begins anew whenever it meets its target.
static bool wraps(const struct weft_photonic_module *module, uint32_t count)
{
    for (uint32_t a = 0; a < module->action_count; a++) {
        const struct weft_photonic_action *action = &module->actions[a];
        for (uint32_t e = 0; e < action->effect_count; e++) {
            if (action->effects[e].clear && action->effects[e].subject == count &&
                term_is_at(module, action->condition, count)) {
                return true;
            }
        }
    }
    return false;
}

// Whether anything else clears it in the layer.
static bool is_cleared(struct balance *balance, uint32_t module, uint32_t number, uint32_t index)
{
    const struct weft_photonic_module *text = &balance->checking->system->text->modules[module];
    const struct weft_photonic_count *count = &text->counts[number];
    if (count->until != WEFT_NONE) {
        struct amount amount = of_term(balance, module, count->until, index);
        return amount.kind != KNOWN || amount.events > 0;
    }
    for (uint32_t a = 0; a < text->action_count; a++) {
        for (uint32_t e = 0; e < text->actions[a].effect_count; e++) {
            const struct weft_photonic_effect *effect = &text->actions[a].effects[e];
            if (effect->clear && effect->subject == number) {
                return true;
            }
        }
    }
    return false;
}

static struct amount of_at(struct balance *balance, uint32_t module, uint32_t number,
                           uint32_t index)
{
    const struct weft_photonic_module *text = &balance->checking->system->text->modules[module];
    const struct weft_photonic_count *count = &text->counts[number];
    struct amount events = of_term(balance, module, count->event, index);
    int64_t target = target_of(balance, count, index);
    if (events.kind == UNKNOWN || target < 1) {
        return unknown;
    }
    if (wraps(text, number)) {
        return events.kind == LEVEL
                   ? level
                   : (struct amount){KNOWN, false, events.events / (uint64_t)target};
    }
    bool met = events.kind == LEVEL || events.events >= (uint64_t)target;
    return (struct amount){KNOWN, false, met};
}

// ---- nets and terms ----

static uint32_t net_named(const struct link_system *system, const char *name)
{
    for (uint32_t i = 0; i < system->net_count; i++) {
        if (strcmp(system->nets[i].name, name) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

static struct amount of_words(const struct weft_photonic_row *row)
{
    return (struct amount){KNOWN, false, (uint64_t)row->words * row->outputs * row->pixels};
}

static struct amount of_part(struct balance *balance, const struct part *part, uint32_t line)
{
    const struct weft_photonic_row *row = balance->row;
    switch (part->rate) {
    case PART_LEVEL:
        return level;
    case PART_ONCE:
        return (struct amount){KNOWN, false, 1};
    case PART_WORDS:
        return of_words(row);
    case PART_MATCHES:
        // A word that came so late that fewer than its 8 bright samples are in it is no match.
        return (struct amount){KNOWN, true, row->preamble - (line > 8)};
    case PART_SAME:
        break;
    }
    uint32_t other = net_named(balance->checking->system, part->same);
    if (other != WEFT_NONE) {
        return of_net(balance, other, 0);
    }
    uint32_t same = part_find(part->same);
    return same == WEFT_NONE ? unknown : of_part(balance, part_get(same), 0);
}

static struct amount of_drives(struct balance *balance, const struct link_net *net, uint32_t line)
{
    const struct weft_photonic_module *text =
        &balance->checking->system->text->modules[net->module];
    struct amount sum = {KNOWN, false, 0};
    for (uint32_t i = 0; i < net->drive_count; i++) {
        const struct link_drive *drive = &net->drives[i];
        const struct weft_photonic_action *action = &text->actions[drive->action];
        bool each = drive->line == WEFT_PHOTONIC_INDEX;
        if (!each && drive->line != line) {
            continue;
        }
        for (uint32_t k = each ? line : 0; k < (each ? line + 1 : action->repeats); k++) {
            sum = together(sum, of_term(balance, net->module, action->condition, k));
        }
    }
    return sum;
}

static struct amount of_net(struct balance *balance, uint32_t place, uint32_t line)
{
    const struct link_net *net = &balance->checking->system->nets[place];
    if (net->part != WEFT_NONE && balance->busy[place] == false) {
        balance->busy[place] = true;
        struct amount amount = of_part(balance, part_get(net->part), line);
        balance->busy[place] = false;
        return amount;
    }
    if (net->module == WEFT_NONE || balance->busy[place]) {
        return unknown;
    }
    balance->busy[place] = true;
    struct amount amount = of_drives(balance, net, line);
    balance->busy[place] = false;
    return amount;
}

static struct amount of_term(struct balance *balance, uint32_t module, uint32_t place,
                             uint32_t index)
{
    const struct link_system *system = balance->checking->system;
    const struct weft_photonic_term *term = &system->text->modules[module].terms[place];
    uint32_t line = term->index == WEFT_PHOTONIC_INDEX ? index : term->index;
    switch (term->op) {
    case WEFT_PHOTONIC_OP_SIGNAL:
        return of_net(balance, system->net_of[module][term->left], line);
    case WEFT_PHOTONIC_OP_AT:
        return of_at(balance, module, term->left, line);
    case WEFT_PHOTONIC_OP_AND:
        return fewer(of_term(balance, module, term->left, index),
                     of_term(balance, module, term->right, index));
    case WEFT_PHOTONIC_OP_OR:
        return together(of_term(balance, module, term->left, index),
                        of_term(balance, module, term->right, index));
    case WEFT_PHOTONIC_OP_NOT:
    case WEFT_PHOTONIC_OP_ANY:
    case WEFT_PHOTONIC_OP_FULL:
    case WEFT_PHOTONIC_OP_SHORT:
    case WEFT_PHOTONIC_OP_OVER:
    case WEFT_PHOTONIC_OP_EMPTY:
        break;
    }
    return level;
}

// ---- verdicts ----

static void found(struct balance *balance, uint32_t module, enum weft_photonic_flaw flaw,
                  const struct weft_photonic_count *count, const char *message)
{
    struct checking *checking = balance->checking;
    bool first = checking->verdicts[module].flaw == WEFT_PHOTONIC_SOUND;
    const char *layer = balance->options->program->names == NULL
                            ? NULL
                            : balance->options->program->names[balance->number];
    check_found(checking, module, flaw, count->name, count->line,
                layer == NULL
                    ? weft_arena_format(checking->arena, "layer %u: %s", balance->number, message)
                    : weft_arena_format(checking->arena, "layer %u (%s): %s", balance->number,
                                        layer, message));
    if (first) {
        checking->verdicts[module].row = balance->number;
    }
}

// Whether the module itself keeps events away from a full register.
static bool is_gated(struct balance *balance, uint32_t module, uint32_t number, uint32_t index)
{
    const struct link_system *system = balance->checking->system;
    const struct weft_photonic_count *count = &system->text->modules[module].counts[number];
    struct prove_goal goal = {module, count->event, index};
    return prove_together(&balance->prover, &goal, 1, link_value(system, module, number, index),
                          WEFT_NONE) == PROVE_NEVER;
}

// Words and bubbles under way when the first one comes back.
static void judge_fifo(struct balance *balance, uint32_t module,
                       const struct weft_photonic_count *count, int64_t target)
{
    uint32_t samples = balance->options->path_samples;
    int64_t under_way = (int64_t)(samples / 16) + (samples % 16 > 0) +
                        WEFT_PHOTONIC_STAGE_CONVERTER + WEFT_PHOTONIC_STAGE_DETECTOR +
                        WEFT_PHOTONIC_STAGE_REALIGN;
    if (target < under_way) {
        found(balance, module, WEFT_PHOTONIC_FIFO, count,
              weft_arena_format(balance->checking->arena,
                                "light has %lld words under way, and the FIFO beside it holds "
                                "%lld; make it deeper",
                                (long long)under_way, (long long)target));
    }
}

static void judge_level(struct balance *balance, uint32_t module, uint32_t number, uint32_t index)
{
    const struct weft_photonic_module *text = &balance->checking->system->text->modules[module];
    if (!wraps(text, number) && !is_gated(balance, module, number, index)) {
        found(balance, module, WEFT_PHOTONIC_OVERRUN, &text->counts[number],
              weft_arena_format(balance->checking->arena,
                                "nothing keeps events away when it is at its target: an overrun; "
                                "add '& short %s' to its condition",
                                text->counts[number].name));
    }
}

static void judge_known(struct balance *balance, uint32_t module, uint32_t number, uint32_t index,
                        struct amount events)
{
    struct weft_arena *arena = balance->checking->arena;
    const struct weft_photonic_module *text = &balance->checking->system->text->modules[module];
    const struct weft_photonic_count *count = &text->counts[number];
    uint64_t target = (uint64_t)target_of(balance, count, index);
    unsigned long long come = events.events, wanted = target;
    bool wrap = wraps(text, number);
    if (events.events < target) {
        found(balance, module, WEFT_PHOTONIC_DEADLOCK, count,
              weft_arena_format(arena,
                                "%llu events come and its target is %llu: it waits for "
                                "ever; lower the target",
                                come, wanted));
    } else if (wrap && events.events % target != 0) {
        found(balance, module, WEFT_PHOTONIC_OVERRUN, count,
              weft_arena_format(arena,
                                "%llu events come, no multiple of its target %llu: %llu are "
                                "left over; make the target divide them",
                                come, wanted, come % wanted));
    } else if (!wrap && !is_cleared(balance, module, number, index)) {
        found(balance, module, WEFT_PHOTONIC_OVERRUN, count,
              weft_arena_format(arena, "it is never cleared, and the next layer's events come on "
                                       "top; add 'until next_layer'"));
    } else if (!wrap && events.events > target &&
               (events.exact || !is_gated(balance, module, number, index))) {
        found(balance, module, WEFT_PHOTONIC_OVERRUN, count,
              weft_arena_format(arena,
                                "%llu events come and its target is %llu: %llu too many; "
                                "raise the target",
                                come, wanted, come - wanted));
    }
}

static void judge(struct balance *balance, uint32_t module, uint32_t number, uint32_t index)
{
    const struct weft_photonic_count *count =
        &balance->checking->system->text->modules[module].counts[number];
    int64_t target = target_of(balance, count, index);
    if (target < 1 || target > UINT32_MAX) {
        found(balance, module, WEFT_PHOTONIC_TARGET, count,
              weft_arena_format(balance->checking->arena,
                                "its target is %lld; 1 to 4294967295 can be reached",
                                (long long)target));
        return;
    }
    if (count->tally) {
        return;
    }
    if (count->less != WEFT_NONE) {
        judge_fifo(balance, module, count, target);
        return;
    }
    struct amount events = of_term(balance, module, count->event, index);
    if (events.kind == LEVEL) {
        judge_level(balance, module, number, index);
    } else if (events.kind == KNOWN) {
        judge_known(balance, module, number, index, events);
        struct amount times = of_at(balance, module, number, index);
        balance->checking->occurrences[balance->checking->occurrence_count++] =
            (struct weft_photonic_occurrence){balance->number, module,           number,      index,
                                              events.events,   (uint64_t)target, times.events};
    }
}

void check_balance(struct checking *checking, const struct weft_photonic_check_options *options,
                   uint32_t row, struct weft_arena scratch)
{
    const struct link_system *system = checking->system;
    struct balance balance = {.checking = checking,
                              .options = options,
                              .row = &options->program->rows[row],
                              .number = row,
                              .fifo =
                                  options->fifo == 0 ? WEFT_PHOTONIC_FIFO_ENTRIES : options->fifo};
    prove_init(&balance.prover, system, &scratch);
    balance.busy = WEFT_NEW(&scratch, bool, system->net_count);
    for (uint32_t m = 0; m < system->text->module_count; m++) {
        for (uint32_t c = 0; c < system->text->modules[m].count_count; c++) {
            for (uint32_t i = 0; i < system->text->modules[m].counts[c].size; i++) {
                judge(&balance, m, c, i);
            }
        }
    }
}
