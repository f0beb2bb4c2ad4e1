// SPDX-License-Identifier: Apache-2.0
// Three-valued evaluation of conditions, and the search that assigns atoms. Exponential in the
// atoms of the conditions at worst, of which modules have few; PROVE_STEPS bounds it.

#include "photonics/countaction/prove.h"

#include <string.h>

// Evaluations of one question: the ten modules need some hundred.
#define PROVE_STEPS 200000u

enum truth { NO, YES, OPEN };

// What a register holds: EMPTY and NEXT is a target of 1.
enum state {
    STATE_OPEN,
    STATE_EMPTY,
    STATE_BETWEEN,
    STATE_NEXT, // the next event brings it to its target
    STATE_EMPTY_NEXT,
    STATE_FULL,
    STATE_COUNT,
};

void prove_init(struct prover *prover, const struct link_system *system, struct weft_arena *arena)
{
    *prover = (struct prover){
        .system = system,
        .known = WEFT_NEW(arena, uint64_t, system->net_count),
        .lines = WEFT_NEW(arena, uint64_t, system->net_count),
        .states = WEFT_NEW(arena, uint8_t, system->value_count),
    };
}

static enum truth truth_not(enum truth a)
{
    return a == OPEN ? OPEN : a == YES ? NO : YES;
}

static enum truth truth_and(enum truth a, enum truth b)
{
    return a == NO || b == NO ? NO : a == OPEN || b == OPEN ? OPEN : YES;
}

static enum truth truth_or(enum truth a, enum truth b)
{
    return truth_not(truth_and(truth_not(a), truth_not(b)));
}

static enum truth holds(struct prover *prover, uint32_t module, uint32_t place, uint32_t index);

static enum truth open_atom(struct prover *prover, uint32_t atom, uint32_t line)
{
    if (!prover->atom_found) {
        prover->atom_found = true;
        prover->atom = atom;
        prover->line = line;
    }
    return OPEN;
}

// A line that a module drives is what its actions make of it; others are atoms.
static enum truth holds_line(struct prover *prover, uint32_t place, uint32_t line)
{
    const struct link_net *net = &prover->system->nets[place];
    if (net->module == WEFT_NONE) {
        if (prover->known[place] >> line & 1) {
            return prover->lines[place] >> line & 1 ? YES : NO;
        }
        return open_atom(prover, place, line);
    }
    enum truth result = NO;
    for (uint32_t i = 0; i < net->drive_count && result != YES; i++) {
        const struct link_drive *drive = &net->drives[i];
        const struct weft_photonic_action *action =
            &prover->system->text->modules[drive->module].actions[drive->action];
        bool each = drive->line == WEFT_PHOTONIC_INDEX;
        if (!each && drive->line != line) {
            continue;
        }
        for (uint32_t k = each ? line : 0; k < (each ? line + 1 : action->repeats); k++) {
            result = truth_or(result, holds(prover, drive->module, action->condition, k));
        }
    }
    return result;
}

static enum truth holds_tally(struct prover *prover, uint32_t module,
                              const struct weft_photonic_count *count, enum weft_photonic_op op)
{
    int64_t least = 0, most = 0;
    for (uint32_t i = 0; i < count->signal_count; i++) {
        uint32_t net = prover->system->net_of[module][count->signals[i]];
        for (uint32_t line = 0; line < prover->system->nets[net].lines; line++) {
            enum truth one = holds_line(prover, net, line);
            least += one == YES;
            most += one != NO;
        }
    }
    int64_t target = op == WEFT_PHOTONIC_OP_EMPTY ? 0 : count->targets[0].offset;
    if (op == WEFT_PHOTONIC_OP_SHORT) {
        return most < target ? YES : least >= target ? NO : OPEN;
    }
    if (op == WEFT_PHOTONIC_OP_OVER) {
        return least > target ? YES : most <= target ? NO : OPEN;
    }
    return least > target || most < target ? NO : least == most ? YES : OPEN;
}

static enum truth holds_state(struct prover *prover, uint32_t module,
                              const struct weft_photonic_term *term, uint32_t index)
{
    const struct link_system *system = prover->system;
    const struct weft_photonic_count *count = &system->text->modules[module].counts[term->left];
    if (count->tally) {
        return holds_tally(prover, module, count, term->op);
    }
    uint32_t value = link_value(system, module, term->left, index);
    enum truth result = YES;
    if (term->op == WEFT_PHOTONIC_OP_AT) {
        result = holds(prover, module, count->event, index);
        if (count->less != WEFT_NONE) {
            result = truth_and(result, truth_not(holds(prover, module, count->less, index)));
        }
        if (prover->reached != NULL && !prover->reached[value]) {
            return NO;
        }
    }
    uint8_t state = prover->states[value];
    if (result == NO || state == STATE_OPEN) {
        return result == NO ? NO : open_atom(prover, system->net_count + value, 0);
    }
    bool full = state == STATE_FULL;
    bool matches = term->op == WEFT_PHOTONIC_OP_FULL    ? full
                   : term->op == WEFT_PHOTONIC_OP_SHORT ? !full
                   : term->op == WEFT_PHOTONIC_OP_AT
                       ? state == STATE_NEXT || state == STATE_EMPTY_NEXT
                       : state == STATE_EMPTY || state == STATE_EMPTY_NEXT;
    return matches ? result : NO;
}

static enum truth holds(struct prover *prover, uint32_t module, uint32_t place, uint32_t index)
{
    const struct weft_photonic_term *term = &prover->system->text->modules[module].terms[place];
    uint32_t line = term->index == WEFT_PHOTONIC_INDEX ? index : term->index;
    enum truth result = NO;
    if (prover->steps > 0) {
        prover->steps--;
    }
    switch (term->op) {
    case WEFT_PHOTONIC_OP_SIGNAL:
        return holds_line(prover, prover->system->net_of[module][term->left], line);
    case WEFT_PHOTONIC_OP_NOT:
        return truth_not(holds(prover, module, term->left, index));
    case WEFT_PHOTONIC_OP_ANY:
        for (uint32_t i = 0; i < term->right && result != YES; i++) {
            result = truth_or(result, holds(prover, module, term->left, i));
        }
        return result;
    case WEFT_PHOTONIC_OP_AND:
        result = holds(prover, module, term->left, index);
        return result == NO ? NO : truth_and(result, holds(prover, module, term->right, index));
    case WEFT_PHOTONIC_OP_OR:
        result = holds(prover, module, term->left, index);
        return result == YES ? YES : truth_or(result, holds(prover, module, term->right, index));
    case WEFT_PHOTONIC_OP_AT:
    case WEFT_PHOTONIC_OP_FULL:
    case WEFT_PHOTONIC_OP_SHORT:
    case WEFT_PHOTONIC_OP_OVER:
    case WEFT_PHOTONIC_OP_EMPTY:
        break;
    }
    return holds_state(prover, module, term, line);
}

static enum prove_answer search(struct prover *prover, const struct prove_goal *goals,
                                uint32_t count);

// Both values of a line; where at most one line of the net is true, the others are known with it.
static enum prove_answer assign_line(struct prover *prover, const struct prove_goal *goals,
                                     uint32_t count, uint32_t net, uint32_t line)
{
    uint64_t known = prover->known[net], lines = prover->lines[net];
    enum prove_answer worst = PROVE_NEVER;
    for (uint32_t value = 0; value < 2; value++) {
        bool one_hot = value == 1 && prover->system->nets[net].one_hot;
        prover->known[net] = one_hot ? UINT64_MAX : known | 1ull << line;
        prover->lines[net] = value == 1 ? lines | 1ull << line : lines;
        enum prove_answer answer = search(prover, goals, count);
        if (answer == PROVE_CAN) {
            return answer; // what is assigned stays: it is the witness
        }
        worst = answer == PROVE_UNKNOWN ? answer : worst;
    }
    prover->known[net] = known;
    prover->lines[net] = lines;
    return worst;
}

static enum prove_answer assign_state(struct prover *prover, const struct prove_goal *goals,
                                      uint32_t count, uint32_t value)
{
    enum prove_answer worst = PROVE_NEVER;
    bool reached = prover->reached == NULL || prover->reached[value];
    for (uint32_t state = STATE_EMPTY; state < (reached ? STATE_COUNT : STATE_FULL); state++) {
        prover->states[value] = (uint8_t)state;
        enum prove_answer answer = search(prover, goals, count);
        if (answer == PROVE_CAN) {
            return answer;
        }
        worst = answer == PROVE_UNKNOWN ? answer : worst;
    }
    prover->states[value] = STATE_OPEN;
    return worst;
}

static enum prove_answer search(struct prover *prover, const struct prove_goal *goals,
                                uint32_t count)
{
    if (prover->steps == 0) {
        return PROVE_UNKNOWN;
    }
    prover->atom_found = false;
    enum truth all = YES;
    for (uint32_t i = 0; i < count && all != NO; i++) {
        all = truth_and(all, holds(prover, goals[i].module, goals[i].term, goals[i].index));
    }
    if (all != OPEN) {
        return all == YES ? PROVE_CAN : PROVE_NEVER;
    }
    uint32_t atom = prover->atom;
    return atom < prover->system->net_count
               ? assign_line(prover, goals, count, atom, prover->line)
               : assign_state(prover, goals, count, atom - prover->system->net_count);
}

enum prove_answer prove_together(struct prover *prover, const struct prove_goal *goals,
                                 uint32_t count, uint32_t full, uint32_t not_full)
{
    memset(prover->known, 0, prover->system->net_count * sizeof prover->known[0]);
    memset(prover->lines, 0, prover->system->net_count * sizeof prover->lines[0]);
    memset(prover->states, 0, prover->system->value_count);
    prover->steps = PROVE_STEPS;
    if (full != WEFT_NONE) {
        prover->states[full] = STATE_FULL;
        return search(prover, goals, count);
    }
    if (not_full == WEFT_NONE) {
        return search(prover, goals, count);
    }
    for (uint32_t state = STATE_EMPTY; state < STATE_FULL; state++) {
        prover->states[not_full] = (uint8_t)state;
        enum prove_answer answer = search(prover, goals, count);
        if (answer != PROVE_NEVER) {
            return answer;
        }
    }
    return PROVE_NEVER;
}
