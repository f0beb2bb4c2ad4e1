// SPDX-License-Identifier: Apache-2.0
// A module as Verilog-2001. Every count becomes a register and wires named after it: its event,
// whether it is full, what clears it; indices are written out. Outputs are assignments, so that
// what is a Mealy output in the language is one in hardware. Only wires that are used are made:
// verilator -Wall has nothing to say.

#include "photonics/countaction/field.h"
#include "weft/photonics/countaction.h"

struct emission {
    struct weft_text *text;
    const struct weft_photonic_module *module;
};

// ---- conditions ----

static void add_line(struct weft_text *text, const char *name, const char *ending, bool array,
                     uint32_t index)
{
    weft_text_add(text, "%s%s", name, ending);
    if (array) {
        weft_text_add(text, "[%u]", index);
    }
}

static void add_register(struct weft_text *text, const struct weft_photonic_count *count,
                         uint32_t index)
{
    weft_text_add(text, "%s%s", count->name, count->tally ? "_count" : "_value");
    if (count->array) {
        weft_text_add(text, "_%u", index);
    }
}

static void add_target(struct weft_text *text, const struct weft_photonic_target *target)
{
    if (target->field == WEFT_NONE) {
        weft_text_add(text, "32'd%lld", (long long)target->offset);
        return;
    }
    char port[FIELD_TEXT];
    field_port(port, target->field);
    if (target->offset == 0) {
        weft_text_add(text, "%s", port);
    } else {
        weft_text_add(text, "(%s %c 32'd%lld)", port, target->offset < 0 ? '-' : '+',
                      target->offset < 0 ? -(long long)target->offset : (long long)target->offset);
    }
}

static void add_compare(const struct emission *emission, const char *sign,
                        const struct weft_photonic_count *count, uint32_t index)
{
    weft_text_add(emission->text, "(");
    add_register(emission->text, count, index);
    weft_text_add(emission->text, " %s ", sign);
    add_target(emission->text, &count->targets[index]);
    weft_text_add(emission->text, ")");
}

static void add_state(const struct emission *emission, const struct weft_photonic_term *term,
                      uint32_t index)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_count *count = &emission->module->counts[term->left];
    if (term->op == WEFT_PHOTONIC_OP_EMPTY) {
        weft_text_add(text, "(");
        add_register(text, count, index);
        weft_text_add(text, " == 32'd0)");
    } else if (count->tally) {
        add_compare(emission,
                    term->op == WEFT_PHOTONIC_OP_FULL    ? "=="
                    : term->op == WEFT_PHOTONIC_OP_SHORT ? "<"
                                                         : ">",
                    count, index);
    } else {
        weft_text_add(text, "%s", term->op == WEFT_PHOTONIC_OP_SHORT ? "!" : "");
        add_line(text, count->name, term->op == WEFT_PHOTONIC_OP_AT ? "_at" : "_full", count->array,
                 index);
    }
}

static void add_condition(const struct emission *emission, uint32_t place, uint32_t repeat);

static void add_any(const struct emission *emission, const struct weft_photonic_term *term)
{
    weft_text_add(emission->text, "(");
    for (uint32_t i = 0; i < term->right; i++) {
        weft_text_add(emission->text, "%s", i == 0 ? "" : " | ");
        add_condition(emission, term->left, i);
    }
    weft_text_add(emission->text, ")");
}

static void add_condition(const struct emission *emission, uint32_t place, uint32_t repeat)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_term *term = &emission->module->terms[place];
    uint32_t index = term->index == WEFT_PHOTONIC_INDEX ? repeat : term->index;
    switch (term->op) {
    case WEFT_PHOTONIC_OP_SIGNAL: {
        const struct weft_photonic_signal *signal = &emission->module->signals[term->left];
        add_line(text, signal->name, "", signal->array, index);
        break;
    }
    case WEFT_PHOTONIC_OP_AT:
    case WEFT_PHOTONIC_OP_FULL:
    case WEFT_PHOTONIC_OP_SHORT:
    case WEFT_PHOTONIC_OP_OVER:
    case WEFT_PHOTONIC_OP_EMPTY:
        add_state(emission, term, index);
        break;
    case WEFT_PHOTONIC_OP_ANY:
        add_any(emission, term);
        break;
    case WEFT_PHOTONIC_OP_NOT:
        weft_text_add(text, "!(");
        add_condition(emission, term->left, repeat);
        weft_text_add(text, ")");
        break;
    case WEFT_PHOTONIC_OP_AND:
    case WEFT_PHOTONIC_OP_OR:
        weft_text_add(text, "(");
        add_condition(emission, term->left, repeat);
        weft_text_add(text, " %c ", term->op == WEFT_PHOTONIC_OP_AND ? '&' : '|');
        add_condition(emission, term->right, repeat);
        weft_text_add(text, ")");
        break;
    }
}

// ---- what a module uses ----

static bool uses_at(const struct weft_photonic_module *module, uint32_t count)
{
    for (uint32_t i = 0; i < module->term_count; i++) {
        if (module->terms[i].op == WEFT_PHOTONIC_OP_AT && module->terms[i].left == count) {
            return true;
        }
    }
    return false;
}

static bool uses_field(const struct weft_photonic_module *module, uint32_t field)
{
    for (uint32_t i = 0; i < module->count_count; i++) {
        for (uint32_t k = 0; k < module->counts[i].size; k++) {
            if (module->counts[i].targets[k].field == field) {
                return true;
            }
        }
    }
    return false;
}

static bool has_registers(const struct weft_photonic_module *module)
{
    for (uint32_t i = 0; i < module->count_count; i++) {
        if (!module->counts[i].tally) {
            return true;
        }
    }
    return false;
}

// ---- parts of the module ----

static void add_ports(const struct emission *emission)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_module *module = emission->module;
    weft_text_add(text, "module %s (\n    input wire clock,\n    input wire reset,\n",
                  module->name);
    for (uint32_t i = 0; i <= WEFT_PHOTONIC_FIELD_FIFO; i++) {
        if (uses_field(module, i)) {
            char port[FIELD_TEXT];
            field_port(port, i);
            weft_text_add(text, "    input wire [31:0] %s,\n", port);
        }
    }
    for (uint32_t i = 0; i < module->signal_count; i++) {
        const struct weft_photonic_signal *signal = &module->signals[i];
        weft_text_add(text, "    %s wire ", signal->output ? "output" : "input");
        if (signal->array) {
            weft_text_add(text, "[%u:0] ", signal->lines - 1);
        }
        weft_text_add(text, "%s,\n", signal->name);
    }
    for (uint32_t i = 0; i < module->count_count; i++) {
        if (!module->counts[i].array) {
            weft_text_add(text, "    output wire [31:0] %s_count,\n", module->counts[i].name);
        }
    }
    weft_text_add(text, "    output wire overrun\n);\n");
}

static void add_tally(const struct emission *emission, const struct weft_photonic_count *count)
{
    struct weft_text *text = emission->text;
    weft_text_add(text, "    assign %s_count = ", count->name);
    for (uint32_t i = 0; i < count->signal_count; i++) {
        const struct weft_photonic_signal *signal = &emission->module->signals[count->signals[i]];
        for (uint32_t k = 0; k < signal->lines; k++) {
            weft_text_add(text, "%s{31'd0, ", i + k == 0 ? "" : " + ");
            add_line(text, signal->name, "", signal->array, k);
            weft_text_add(text, "}");
        }
    }
    weft_text_add(text, ";\n");
}

static void declare(const struct emission *emission, const struct weft_photonic_count *count,
                    const char *ending)
{
    if (count->array) {
        weft_text_add(emission->text, "    wire [%u:0] %s%s;\n", count->size - 1, count->name,
                      ending);
    } else {
        weft_text_add(emission->text, "    wire %s%s;\n", count->name, ending);
    }
}

static void assign(const struct emission *emission, const struct weft_photonic_count *count,
                   const char *ending, uint32_t index)
{
    weft_text_add(emission->text, "    assign ");
    add_line(emission->text, count->name, ending, count->array, index);
    weft_text_add(emission->text, " = ");
}

// What clears a count: 'until', and each action that clears it.
static void add_clear(const struct emission *emission, uint32_t subject, uint32_t index)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_module *module = emission->module;
    const struct weft_photonic_count *count = &module->counts[subject];
    assign(emission, count, "_clear", index);
    weft_text_add(text, "reset");
    if (count->until != WEFT_NONE) {
        weft_text_add(text, " | ");
        add_condition(emission, count->until, index);
    }
    for (uint32_t a = 0; a < module->action_count; a++) {
        const struct weft_photonic_action *action = &module->actions[a];
        for (uint32_t e = 0; e < action->effect_count; e++) {
            const struct weft_photonic_effect *effect = &action->effects[e];
            bool all = effect->index == WEFT_PHOTONIC_INDEX;
            if (!effect->clear || effect->subject != subject || (!all && effect->index != index)) {
                continue;
            }
            for (uint32_t k = all ? index : 0; k < (all ? index + 1 : action->repeats); k++) {
                weft_text_add(text, " | ");
                add_condition(emission, action->condition, k);
            }
        }
    }
    weft_text_add(text, ";\n");
}

static void add_clock(const struct emission *emission, const struct weft_photonic_count *count,
                      uint32_t index)
{
    struct weft_text *text = emission->text;
    weft_text_add(text, "    always @(posedge clock) begin\n        if (");
    add_line(text, count->name, "_clear", count->array, index);
    weft_text_add(text, ") begin\n            ");
    add_register(text, count, index);
    weft_text_add(text, " <= 32'd0;\n        end else if (");
    add_line(text, count->name, "_event", count->array, index);
    weft_text_add(text, " & !");
    add_line(text, count->name, "_full", count->array, index);
    if (count->less != WEFT_NONE) {
        weft_text_add(text, " & !");
        add_condition(emission, count->less, index);
    }
    weft_text_add(text, ") begin\n            ");
    add_register(text, count, index);
    weft_text_add(text, " <= ");
    add_register(text, count, index);
    weft_text_add(text, " + 32'd1;\n        end");
    if (count->less != WEFT_NONE) {
        weft_text_add(text, " else if (");
        add_condition(emission, count->less, index);
        weft_text_add(text, " & !");
        add_line(text, count->name, "_event", count->array, index);
        weft_text_add(text, " & (");
        add_register(text, count, index);
        weft_text_add(text, " != 32'd0)) begin\n            ");
        add_register(text, count, index);
        weft_text_add(text, " <= ");
        add_register(text, count, index);
        weft_text_add(text, " - 32'd1;\n        end");
    }
    weft_text_add(text, "\n    end\n");
}

static void add_wires(const struct emission *emission, uint32_t subject, uint32_t index)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_count *count = &emission->module->counts[subject];
    weft_text_add(text, "    reg [31:0] ");
    add_register(text, count, index);
    weft_text_add(text, ";\n");
    assign(emission, count, "_full", index);
    add_compare(emission, ">=", count, index);
    weft_text_add(text, ";\n");
    assign(emission, count, "_event", index);
    add_condition(emission, count->event, index);
    weft_text_add(text, ";\n");
    if (uses_at(emission->module, subject)) {
        assign(emission, count, "_at", index);
        add_line(text, count->name, "_event", count->array, index);
        if (count->less != WEFT_NONE) {
            weft_text_add(text, " & !");
            add_condition(emission, count->less, index);
        }
        weft_text_add(text, " & (");
        add_register(text, count, index);
        weft_text_add(text, " + 32'd1 == ");
        add_target(text, &count->targets[index]);
        weft_text_add(text, ");\n");
    }
    add_clear(emission, subject, index);
}

static void add_count(const struct emission *emission, uint32_t subject)
{
    const struct weft_photonic_count *count = &emission->module->counts[subject];
    weft_text_add(emission->text, "\n    // %s\n", count->name);
    if (count->tally) {
        add_tally(emission, count);
        return;
    }
    for (uint32_t index = 0; index < count->size; index++) {
        add_wires(emission, subject, index);
    }
    for (uint32_t index = 0; index < count->size; index++) {
        add_clock(emission, count, index);
    }
    if (!count->array) {
        weft_text_add(emission->text, "    assign %s_count = %s_value;\n", count->name,
                      count->name);
    }
}

// One line of an output: whatever actions drive it.
static void add_drives(const struct emission *emission, uint32_t subject, uint32_t line)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_module *module = emission->module;
    const struct weft_photonic_signal *signal = &module->signals[subject];
    weft_text_add(text, "    assign ");
    add_line(text, signal->name, "", signal->array, line);
    weft_text_add(text, " = ");
    uint32_t drives = 0;
    for (uint32_t a = 0; a < module->action_count; a++) {
        const struct weft_photonic_action *action = &module->actions[a];
        for (uint32_t e = 0; e < action->effect_count; e++) {
            const struct weft_photonic_effect *effect = &action->effects[e];
            bool all = effect->index == WEFT_PHOTONIC_INDEX;
            if (effect->clear || effect->subject != subject || (!all && effect->index != line)) {
                continue;
            }
            for (uint32_t k = all ? line : 0; k < (all ? line + 1 : action->repeats); k++) {
                weft_text_add(text, "%s", drives++ == 0 ? "" : " | ");
                add_condition(emission, action->condition, k);
            }
        }
    }
    weft_text_add(text, "%s;\n", drives == 0 ? "1'b0" : "");
}

static void add_overrun(const struct emission *emission)
{
    struct weft_text *text = emission->text;
    const struct weft_photonic_module *module = emission->module;
    if (!has_registers(module)) {
        weft_text_add(text, "    assign overrun = 1'b0;\n"
                            "    wire unused = &{1'b0, clock, reset};\n");
        return;
    }
    weft_text_add(text, "    assign overrun = ");
    uint32_t written = 0;
    for (uint32_t i = 0; i < module->count_count; i++) {
        const struct weft_photonic_count *count = &module->counts[i];
        for (uint32_t k = 0; !count->tally && k < count->size; k++) {
            weft_text_add(text, "%s(", written++ == 0 ? "" : "\n        | ");
            add_line(text, count->name, "_event", count->array, k);
            weft_text_add(text, " & ");
            add_line(text, count->name, "_full", count->array, k);
            weft_text_add(text, " & !");
            add_line(text, count->name, "_clear", count->array, k);
            if (count->less != WEFT_NONE) {
                weft_text_add(text, " & !");
                add_condition(emission, count->less, k);
            }
            weft_text_add(text, ")");
        }
    }
    weft_text_add(text, ";\n");
}

void weft_photonic_countaction_verilog(struct weft_text *text,
                                       const struct weft_photonic_module *module)
{
    struct emission emission = {text, module};
    weft_text_add(text, "// Generated by weft photonic compile from the count-action module.\n");
    add_ports(&emission);
    for (uint32_t i = 0; i < module->count_count; i++) {
        const struct weft_photonic_count *count = &module->counts[i];
        if (!count->tally) {
            declare(&emission, count, "_full");
            declare(&emission, count, "_event");
            declare(&emission, count, "_clear");
            if (uses_at(module, i)) {
                declare(&emission, count, "_at");
            }
        }
    }
    for (uint32_t i = 0; i < module->count_count; i++) {
        add_count(&emission, i);
    }
    weft_text_add(text, "\n");
    for (uint32_t i = 0; i < module->signal_count; i++) {
        for (uint32_t k = 0; module->signals[i].output && k < module->signals[i].lines; k++) {
            add_drives(&emission, i, k);
        }
    }
    add_overrun(&emission);
    weft_text_add(text, "endmodule\n");
}
