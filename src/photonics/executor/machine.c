// SPDX-License-Identifier: Apache-2.0
// Count-action modules cycle by cycle. Conditions are walked as the trees they are: a cycle of the
// ten modules is some 300 terms, about a microsecond.

#include "photonics/executor/machine.h"

#include <string.h>

#include "photonics/countaction/field.h"

void machine_build(struct machine *machine, const struct link_system *system,
                   struct weft_arena *arena)
{
    *machine = (struct machine){
        .system = system,
        .nets = WEFT_NEW(arena, uint64_t, system->net_count),
        .values = WEFT_NEW(arena, uint32_t, system->value_count),
        .targets = WEFT_NEW(arena, uint32_t, system->value_count),
        .next = WEFT_NEW(arena, uint32_t, system->value_count),
        .overrun_value = WEFT_NONE,
    };
}

bool machine_load(struct machine *machine, const struct weft_photonic_row *row, uint32_t fifo,
                  uint32_t *bad_value)
{
    const struct weft_photonic_countaction *text = machine->system->text;
    for (uint32_t m = 0; m < text->module_count; m++) {
        for (uint32_t c = 0; c < text->modules[m].count_count; c++) {
            const struct weft_photonic_count *count = &text->modules[m].counts[c];
            for (uint32_t i = 0; i < count->size; i++) {
                uint32_t value = link_value(machine->system, m, c, i);
                int64_t target = target_value(&count->targets[i], row, fifo);
                if (target < 1 || target > UINT32_MAX) {
                    *bad_value = value;
                    return false;
                }
                machine->targets[value] = (uint32_t)target;
            }
        }
    }
    return true;
}

static uint32_t tally(const struct machine *machine, uint32_t module,
                      const struct weft_photonic_count *count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count->signal_count; i++) {
        sum += (uint32_t)__builtin_popcountll(
            machine->nets[machine->system->net_of[module][count->signals[i]]]);
    }
    return sum;
}

static bool holds_state(const struct machine *machine, uint32_t module,
                        const struct weft_photonic_term *term, uint32_t index)
{
    const struct weft_photonic_count *count =
        &machine->system->text->modules[module].counts[term->left];
    uint32_t place = link_value(machine->system, module, term->left, index);
    uint32_t value = count->tally ? tally(machine, module, count) : machine->values[place];
    uint32_t target = machine->targets[place];
    switch (term->op) {
    case WEFT_PHOTONIC_OP_AT:
        return value + 1 == target && machine_holds(machine, module, count->event, index) &&
               !(count->less != WEFT_NONE && machine_holds(machine, module, count->less, index));
    case WEFT_PHOTONIC_OP_FULL:
        return count->tally ? value == target : value >= target;
    case WEFT_PHOTONIC_OP_SHORT:
        return value < target;
    case WEFT_PHOTONIC_OP_OVER:
        return value > target;
    case WEFT_PHOTONIC_OP_SIGNAL:
    case WEFT_PHOTONIC_OP_NOT:
    case WEFT_PHOTONIC_OP_ANY:
    case WEFT_PHOTONIC_OP_AND:
    case WEFT_PHOTONIC_OP_OR:
    case WEFT_PHOTONIC_OP_EMPTY:
        break;
    }
    return value == 0;
}

static bool holds_any(const struct machine *machine, uint32_t module,
                      const struct weft_photonic_term *term)
{
    for (uint32_t i = 0; i < term->right; i++) {
        if (machine_holds(machine, module, term->left, i)) {
            return true;
        }
    }
    return false;
}

bool machine_holds(const struct machine *machine, uint32_t module, uint32_t place, uint32_t index)
{
    const struct weft_photonic_term *term = &machine->system->text->modules[module].terms[place];
    uint32_t line = term->index == WEFT_PHOTONIC_INDEX ? index : term->index;
    switch (term->op) {
    case WEFT_PHOTONIC_OP_SIGNAL:
        return machine->nets[machine->system->net_of[module][term->left]] >> line & 1;
    case WEFT_PHOTONIC_OP_NOT:
        return !machine_holds(machine, module, term->left, index);
    case WEFT_PHOTONIC_OP_ANY:
        return holds_any(machine, module, term);
    case WEFT_PHOTONIC_OP_AND:
        return machine_holds(machine, module, term->left, index) &&
               machine_holds(machine, module, term->right, index);
    case WEFT_PHOTONIC_OP_OR:
        return machine_holds(machine, module, term->left, index) ||
               machine_holds(machine, module, term->right, index);
    case WEFT_PHOTONIC_OP_AT:
    case WEFT_PHOTONIC_OP_FULL:
    case WEFT_PHOTONIC_OP_SHORT:
    case WEFT_PHOTONIC_OP_OVER:
    case WEFT_PHOTONIC_OP_EMPTY:
        break;
    }
    return holds_state(machine, module, term, line);
}

void machine_drive(struct machine *machine, uint32_t place)
{
    const struct link_net *net = &machine->system->nets[place];
    uint64_t lines = 0;
    for (uint32_t i = 0; i < net->drive_count; i++) {
        const struct link_drive *drive = &net->drives[i];
        const struct weft_photonic_action *action =
            &machine->system->text->modules[drive->module].actions[drive->action];
        for (uint32_t k = 0; k < action->repeats; k++) {
            uint32_t line = drive->line == WEFT_PHOTONIC_INDEX ? k : drive->line;
            if (machine_holds(machine, drive->module, action->condition, k)) {
                lines |= 1ull << line;
            }
        }
    }
    machine->nets[place] = lines;
}

static void clear(struct machine *machine, uint32_t module)
{
    const struct weft_photonic_module *text = &machine->system->text->modules[module];
    for (uint32_t a = 0; a < text->action_count; a++) {
        const struct weft_photonic_action *action = &text->actions[a];
        for (uint32_t e = 0; e < action->effect_count; e++) {
            const struct weft_photonic_effect *effect = &action->effects[e];
            for (uint32_t k = 0; effect->clear && k < action->repeats; k++) {
                uint32_t index = effect->index == WEFT_PHOTONIC_INDEX ? k : effect->index;
                if (machine_holds(machine, module, action->condition, k)) {
                    machine->next[link_value(machine->system, module, effect->subject, index)] = 0;
                }
            }
        }
    }
}

// What the register becomes if no action clears it.
static uint32_t advance(const struct machine *machine, uint32_t module, uint32_t number,
                        uint32_t index)
{
    const struct weft_photonic_count *count =
        &machine->system->text->modules[module].counts[number];
    uint32_t place = link_value(machine->system, module, number, index);
    uint32_t value = machine->values[place];
    if (count->until != WEFT_NONE && machine_holds(machine, module, count->until, index)) {
        return 0;
    }
    bool event = machine_holds(machine, module, count->event, index);
    bool less = count->less != WEFT_NONE && machine_holds(machine, module, count->less, index);
    if (event && !less) {
        return value + 1;
    }
    return less && !event && value > 0 ? value - 1 : value;
}

// Events that come at a full target leave the register as it is; they are overruns, unless it is
// cleared.
void machine_clock(struct machine *machine)
{
    const struct weft_photonic_countaction *text = machine->system->text;
    for (uint32_t m = 0; m < text->module_count; m++) {
        for (uint32_t c = 0; c < text->modules[m].count_count; c++) {
            const struct weft_photonic_count *count = &text->modules[m].counts[c];
            for (uint32_t i = 0; !count->tally && i < count->size; i++) {
                machine->next[link_value(machine->system, m, c, i)] = advance(machine, m, c, i);
            }
        }
        clear(machine, m);
    }
    for (uint32_t i = 0; i < machine->system->value_count; i++) {
        if (machine->next[i] > machine->values[i] && machine->values[i] >= machine->targets[i]) {
            machine->next[i] = machine->values[i];
            machine->overruns++;
            machine->overrun_value =
                machine->overrun_value == WEFT_NONE ? i : machine->overrun_value;
        }
    }
    memcpy(machine->values, machine->next, machine->system->value_count * sizeof machine->next[0]);
}
