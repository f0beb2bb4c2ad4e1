// SPDX-License-Identifier: Apache-2.0
// Modules as text. Parentheses stand where a reader needs them, so that what is read back is the
// same tree.

#include "photonics/countaction/field.h"

static void add_place(struct weft_text *text, bool array, uint32_t index)
{
    if (array && index == WEFT_PHOTONIC_INDEX) {
        weft_text_add(text, "[index]");
    } else if (array) {
        weft_text_add(text, "[%u]", index);
    }
}

// How tightly a sign binds: a child that binds less stands in parentheses.
static uint32_t binding(enum weft_photonic_op op)
{
    return op == WEFT_PHOTONIC_OP_OR ? 0 : op == WEFT_PHOTONIC_OP_AND ? 1 : 2;
}

static void add_condition(struct weft_text *text, const struct weft_photonic_module *module,
                          uint32_t term);

static void add_child(struct weft_text *text, const struct weft_photonic_module *module,
                      uint32_t child, uint32_t least)
{
    bool nested = binding(module->terms[child].op) < least;
    weft_text_add(text, "%s", nested ? "(" : "");
    add_condition(text, module, child);
    weft_text_add(text, "%s", nested ? ")" : "");
}

static void add_state(struct weft_text *text, const struct weft_photonic_module *module,
                      const char *state, const struct weft_photonic_term *term)
{
    const struct weft_photonic_count *count = &module->counts[term->left];
    weft_text_add(text, "%s %s", state, count->name);
    add_place(text, count->array, term->index);
}

static void add_condition(struct weft_text *text, const struct weft_photonic_module *module,
                          uint32_t place)
{
    const struct weft_photonic_term *term = &module->terms[place];
    switch (term->op) {
    case WEFT_PHOTONIC_OP_SIGNAL:
        weft_text_add(text, "%s", module->signals[term->left].name);
        add_place(text, module->signals[term->left].array, term->index);
        break;
    case WEFT_PHOTONIC_OP_AT:
        add_state(text, module, "at", term);
        break;
    case WEFT_PHOTONIC_OP_FULL:
        add_state(text, module, "full", term);
        break;
    case WEFT_PHOTONIC_OP_SHORT:
        add_state(text, module, "short", term);
        break;
    case WEFT_PHOTONIC_OP_OVER:
        add_state(text, module, "over", term);
        break;
    case WEFT_PHOTONIC_OP_EMPTY:
        add_state(text, module, "empty", term);
        break;
    case WEFT_PHOTONIC_OP_NOT:
        weft_text_add(text, "!");
        add_child(text, module, term->left, 2);
        break;
    case WEFT_PHOTONIC_OP_ANY:
        weft_text_add(text, "any ");
        add_child(text, module, term->left, 2);
        break;
    case WEFT_PHOTONIC_OP_AND:
        add_child(text, module, term->left, 1);
        weft_text_add(text, " & ");
        add_child(text, module, term->right, 2);
        break;
    case WEFT_PHOTONIC_OP_OR:
        add_child(text, module, term->left, 0);
        weft_text_add(text, " | ");
        add_child(text, module, term->right, 1);
        break;
    }
}

static void add_ports(struct weft_text *text, const struct weft_photonic_module *module)
{
    for (uint32_t i = 0; i < module->signal_count; i++) {
        const struct weft_photonic_signal *signal = &module->signals[i];
        weft_text_add(text, "    %s %s", signal->output ? "output" : "input", signal->name);
        if (signal->array) {
            weft_text_add(text, "[%u]%s", signal->lines, signal->one_hot ? " onehot" : "");
        }
        weft_text_add(text, ";\n");
    }
}

static void add_count(struct weft_text *text, const struct weft_photonic_module *module,
                      const struct weft_photonic_count *count)
{
    weft_text_add(text, "        %s", count->name);
    if (count->array) {
        weft_text_add(text, "[%u]", count->size);
    }
    if (count->tally) {
        weft_text_add(text, " = tally(");
        for (uint32_t i = 0; i < count->signal_count; i++) {
            weft_text_add(text, "%s%s", i == 0 ? "" : ", ",
                          module->signals[count->signals[i]].name);
        }
        weft_text_add(text, ");\n");
        return;
    }
    weft_text_add(text, " = cycles(");
    add_condition(text, module, count->event);
    weft_text_add(text, ")");
    if (count->less != WEFT_NONE) {
        weft_text_add(text, " less ");
        add_condition(text, module, count->less);
    }
    if (count->until != WEFT_NONE) {
        weft_text_add(text, " until ");
        add_condition(text, module, count->until);
    }
    weft_text_add(text, ";\n");
}

static void add_targets(struct weft_text *text, const struct weft_photonic_count *count)
{
    for (uint32_t i = 0; i < count->size; i++) {
        const struct weft_photonic_target *target = &count->targets[i];
        weft_text_add(text, "        %s", count->name);
        add_place(text, count->array, i);
        if (target->field == WEFT_NONE) {
            weft_text_add(text, " = %lld;\n", (long long)target->offset);
            continue;
        }
        char field[FIELD_TEXT];
        weft_text_add(text, " = %s", field_text(field, target->field));
        if (target->offset != 0) {
            weft_text_add(text, " %c %lld", target->offset < 0 ? '-' : '+',
                          target->offset < 0 ? -(long long)target->offset
                                             : (long long)target->offset);
        }
        weft_text_add(text, ";\n");
    }
}

static void add_action(struct weft_text *text, const struct weft_photonic_module *module,
                       const struct weft_photonic_action *action)
{
    weft_text_add(text, "        ");
    add_condition(text, module, action->condition);
    for (uint32_t i = 0; i < action->effect_count; i++) {
        const struct weft_photonic_effect *effect = &action->effects[i];
        const struct weft_photonic_count *count = &module->counts[effect->subject];
        const struct weft_photonic_signal *signal = &module->signals[effect->subject];
        weft_text_add(text, "%s%s%s", i == 0 ? ": " : ", ", effect->clear ? "clear " : "",
                      effect->clear ? count->name : signal->name);
        add_place(text, effect->clear ? count->array : signal->array, effect->index);
    }
    weft_text_add(text, ";\n");
}

void weft_photonic_countaction_write(struct weft_text *text,
                                     const struct weft_photonic_countaction *modules)
{
    for (uint32_t m = 0; m < modules->module_count; m++) {
        const struct weft_photonic_module *module = &modules->modules[m];
        weft_text_add(text, "module %s {\n", module->name);
        add_ports(text, module);
        weft_text_add(text, "    counts {\n");
        for (uint32_t i = 0; i < module->count_count; i++) {
            add_count(text, module, &module->counts[i]);
        }
        weft_text_add(text, "    }\n    targets {\n");
        for (uint32_t i = 0; i < module->count_count; i++) {
            add_targets(text, &module->counts[i]);
        }
        weft_text_add(text, "    }\n    actions {\n");
        for (uint32_t i = 0; i < module->action_count; i++) {
            add_action(text, module, &module->actions[i]);
        }
        weft_text_add(text, "    }\n}\n");
    }
}
