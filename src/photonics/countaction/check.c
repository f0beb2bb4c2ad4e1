// SPDX-License-Identifier: Apache-2.0
// Whether modules can go wrong: targets, drives, circles, and reachability by a fixed point: a
// register can be full if an event can come while it is not, given the registers that can be full.

#include "photonics/countaction/check.h"

#include <string.h>

#include "photonics/countaction/prove.h"

// ---- a module alone ----

static uint32_t tally_lines(const struct weft_photonic_module *module,
                            const struct weft_photonic_count *count)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < count->signal_count; i++) {
        lines += module->signals[count->signals[i]].lines;
    }
    return lines;
}

static void check_targets(struct checking *checking, uint32_t number)
{
    const struct weft_photonic_module *module = &checking->system->text->modules[number];
    for (uint32_t c = 0; c < module->count_count; c++) {
        const struct weft_photonic_count *count = &module->counts[c];
        const char *message = NULL;
        for (uint32_t i = 0; i < count->size; i++) {
            if (count->targets[i].field == WEFT_NONE && count->targets[i].offset == 0) {
                message = "a target of 0 is met before anything happens; write 1 or more";
            }
        }
        if (count->tally && count->targets[0].field != WEFT_NONE) {
            message = "the target of a tally is a number; write it";
        } else if (count->tally && count->targets[0].offset > tally_lines(module, count)) {
            message =
                weft_arena_format(checking->arena,
                                  "its target is %lld, and %u signals are counted; write at "
                                  "most that",
                                  (long long)count->targets[0].offset, tally_lines(module, count));
        }
        if (message != NULL) {
            check_found(checking, number, WEFT_PHOTONIC_TARGET, count->name, count->line, message);
        }
    }
}

static uint64_t driven_lines(const struct weft_photonic_module *module, uint32_t signal)
{
    uint64_t lines = 0;
    for (uint32_t a = 0; a < module->action_count; a++) {
        const struct weft_photonic_action *action = &module->actions[a];
        for (uint32_t e = 0; e < action->effect_count; e++) {
            const struct weft_photonic_effect *effect = &action->effects[e];
            if (!effect->clear && effect->subject == signal) {
                lines |= effect->index == WEFT_PHOTONIC_INDEX ? UINT64_MAX : 1ull << effect->index;
            }
        }
    }
    return lines;
}

static void check_used(struct checking *checking, uint32_t number)
{
    const struct weft_photonic_module *module = &checking->system->text->modules[number];
    for (uint32_t s = 0; s < module->signal_count; s++) {
        const struct weft_photonic_signal *signal = &module->signals[s];
        uint64_t all = signal->lines == 64 ? UINT64_MAX : (1ull << signal->lines) - 1;
        if (signal->output && (driven_lines(module, s) & all) != all) {
            check_found(checking, number, WEFT_PHOTONIC_UNUSED, signal->name, signal->line,
                        "no action drives it; add one or leave the output out");
        }
    }
}

// ---- two actions, one output ----

static bool same_line(const struct link_drive *a, uint32_t i, const struct link_drive *b,
                      uint32_t k)
{
    uint32_t first = a->line == WEFT_PHOTONIC_INDEX ? i : a->line;
    uint32_t second = b->line == WEFT_PHOTONIC_INDEX ? k : b->line;
    return first == second;
}

static bool check_pair(struct checking *checking, struct prover *prover, const struct link_net *net,
                       const struct prove_goal goals[2], const uint32_t lines[2])
{
    enum prove_answer answer = prove_together(prover, goals, 2, WEFT_NONE, WEFT_NONE);
    if (answer == PROVE_NEVER) {
        return true;
    }
    const char *can = answer == PROVE_CAN ? "can both drive it in one cycle"
                                          : "may both drive it: too many signals to prove that "
                                            "they cannot";
    const char *message =
        lines[0] == lines[1]
            ? weft_arena_format(checking->arena,
                                "indices %u and %u of the action in line %u %s; make their "
                                "conditions exclude each other",
                                goals[0].index, goals[1].index, lines[0], can)
            : weft_arena_format(checking->arena,
                                "the actions in lines %u and %u %s; join them with '|', or make "
                                "their conditions exclude each other",
                                lines[0], lines[1], can);
    check_found(checking, net->module, WEFT_PHOTONIC_DRIVE, net->name, lines[1], message);
    return false;
}

// All pairs of actions, and of their indices, that drive one line.
static bool check_drive_pair(struct checking *checking, struct prover *prover,
                             const struct link_net *net, uint32_t a, uint32_t b)
{
    const struct weft_photonic_module *module = &checking->system->text->modules[net->module];
    const struct link_drive *first = &net->drives[a], *second = &net->drives[b];
    const struct weft_photonic_action *one = &module->actions[first->action];
    const struct weft_photonic_action *two = &module->actions[second->action];
    for (uint32_t i = 0; i < one->repeats; i++) {
        for (uint32_t k = a == b ? i + 1 : 0; k < two->repeats; k++) {
            struct prove_goal goals[2] = {{net->module, one->condition, i},
                                          {net->module, two->condition, k}};
            if (same_line(first, i, second, k) &&
                !check_pair(checking, prover, net, goals, (uint32_t[2]){one->line, two->line})) {
                return false;
            }
        }
    }
    return true;
}

static void check_drives(struct checking *checking, struct prover *prover,
                         const struct link_net *net)
{
    for (uint32_t a = 0; a < net->drive_count; a++) {
        for (uint32_t b = a; b < net->drive_count; b++) {
            if (!check_drive_pair(checking, prover, net, a, b)) {
                return;
            }
        }
    }
}

// ---- reachability ----

static bool can_come(struct prover *prover, uint32_t module, uint32_t count, uint32_t index)
{
    const struct link_system *system = prover->system;
    uint32_t event = system->text->modules[module].counts[count].event;
    return prove_together(prover, &(struct prove_goal){module, event, index}, 1, WEFT_NONE,
                          link_value(system, module, count, index)) != PROVE_NEVER;
}

static bool reach_more(struct prover *prover, bool *reached)
{
    bool more = false;
    for (uint32_t m = 0; m < prover->system->text->module_count; m++) {
        const struct weft_photonic_module *module = &prover->system->text->modules[m];
        for (uint32_t c = 0; c < module->count_count; c++) {
            for (uint32_t i = 0; i < module->counts[c].size; i++) {
                uint32_t value = link_value(prover->system, m, c, i);
                if (!module->counts[c].tally && !reached[value] && can_come(prover, m, c, i)) {
                    reached[value] = true;
                    more = true;
                }
            }
        }
    }
    return more;
}

static void check_reached(struct checking *checking, struct prover *prover)
{
    bool *reached = WEFT_NEW(checking->arena, bool, checking->system->value_count);
    prover->reached = reached;
    while (reach_more(prover, reached)) {
    }
    prover->reached = NULL;
    for (uint32_t m = 0; m < checking->system->text->module_count; m++) {
        const struct weft_photonic_module *module = &checking->system->text->modules[m];
        for (uint32_t c = 0; c < module->count_count; c++) {
            const struct weft_photonic_count *count = &module->counts[c];
            for (uint32_t i = 0; i < count->size && !count->tally; i++) {
                if (!reached[link_value(checking->system, m, c, i)]) {
                    check_found(checking, m, WEFT_PHOTONIC_UNREACHABLE, count->name, count->line,
                                "its event can never come while it is short of its target; "
                                "change the condition in cycles(...)");
                }
            }
        }
    }
}

// ---- all ----

static void check_system(struct checking *checking, struct weft_arena scratch)
{
    const struct link_system *system = checking->system;
    struct prover prover;
    prove_init(&prover, system, &scratch);
    for (uint32_t n = 0; n < system->net_count; n++) {
        if (system->nets[n].module != WEFT_NONE) {
            check_drives(checking, &prover, &system->nets[n]);
        }
    }
    check_reached(checking, &prover);
}

static bool module_is_sound(const struct checking *checking)
{
    for (uint32_t m = 0; m < checking->system->text->module_count; m++) {
        if (checking->verdicts[m].flaw != WEFT_PHOTONIC_SOUND) {
            return false;
        }
    }
    return true;
}

void weft_photonic_countaction_check(struct weft_photonic_countaction_report *report,
                                     const struct weft_photonic_countaction *modules,
                                     const struct weft_photonic_check_options *options,
                                     struct weft_arena *arena, struct weft_arena scratch)
{
    struct link_system system;
    struct checking checking = {.system = &system, .arena = arena};
    checking.verdicts = WEFT_NEW(arena, struct weft_photonic_verdict, modules->module_count);
    for (uint32_t m = 0; m < modules->module_count; m++) {
        checking.verdicts[m] =
            (struct weft_photonic_verdict){.module = modules->modules[m].name, .row = WEFT_NONE};
    }
    struct link_problem problem;
    if (!link_build(&system, modules, arena, &problem)) {
        check_found(&checking, problem.module,
                    problem.flaw == LINK_CIRCLE ? WEFT_PHOTONIC_CIRCLE : WEFT_PHOTONIC_DRIVE,
                    problem.name, modules->modules[problem.module].line, problem.message);
    } else {
        for (uint32_t m = 0; m < modules->module_count; m++) {
            check_targets(&checking, m);
            check_used(&checking, m);
        }
        check_system(&checking, scratch);
    }
    if (options->program != NULL && module_is_sound(&checking)) {
        uint32_t rows = options->program->row_count;
        checking.occurrences =
            WEFT_NEW(arena, struct weft_photonic_occurrence, (size_t)rows * system.value_count);
        for (uint32_t row = 0; row < rows; row++) {
            check_balance(&checking, options, row, scratch);
        }
    }
    *report = (struct weft_photonic_countaction_report){
        module_is_sound(&checking), modules->module_count, checking.verdicts,
        checking.occurrence_count, checking.occurrences};
}
