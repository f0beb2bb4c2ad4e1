// SPDX-License-Identifier: Apache-2.0
// Modules become one system. Nets and events of counts are the nodes of a graph whose arcs are
// "depends on, in the same cycle"; depth-first search finds a circle, and otherwise leaves an order
// in which a cycle is settled by one pass. O(nets^2 + terms).

#include "photonics/countaction/link.h"

#include <string.h>

struct search {
    struct link_system *system;
    struct link_net *nets;
    uint32_t count_count; // of all modules
    uint8_t *color;       // [nets, then counts]: 0 new, 1 on the path, 2 done
    uint32_t *path;
    uint32_t depth;
    uint32_t *order;
    uint32_t ordered;
    bool circle;
};

// ---- nets ----

static uint32_t find_net(const struct link_net *nets, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(nets[i].name, name) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

static const struct link_drive *collect_drives(const struct weft_photonic_module *module,
                                               uint32_t number, uint32_t signal, uint32_t *count,
                                               struct weft_arena *arena)
{
    uint32_t most = 0;
    for (uint32_t a = 0; a < module->action_count; a++) {
        most += module->actions[a].effect_count;
    }
    struct link_drive *drives = WEFT_NEW(arena, struct link_drive, most);
    *count = 0;
    for (uint32_t a = 0; a < module->action_count; a++) {
        for (uint32_t e = 0; e < module->actions[a].effect_count; e++) {
            const struct weft_photonic_effect *effect = &module->actions[a].effects[e];
            if (!effect->clear && effect->subject == signal) {
                drives[(*count)++] = (struct link_drive){number, a, effect->index, e};
            }
        }
    }
    return drives;
}

static bool fail(struct link_problem *problem, enum link_flaw flaw, uint32_t module,
                 const char *name, const char *message)
{
    *problem = (struct link_problem){flaw, module, name, message};
    return false;
}

// A signal of a module joins the net of its name.
static bool join(struct search *search, uint32_t module, uint32_t number, struct weft_arena *arena,
                 struct link_problem *problem)
{
    struct link_system *system = search->system;
    const struct weft_photonic_module *text = &system->text->modules[module];
    const struct weft_photonic_signal *signal = &text->signals[number];
    uint32_t place = find_net(search->nets, system->net_count, signal->name);
    if (place == WEFT_NONE) {
        place = system->net_count++;
        search->nets[place] = (struct link_net){.name = signal->name,
                                                .lines = signal->lines,
                                                .module = WEFT_NONE,
                                                .part = part_find(signal->name)};
    }
    struct link_net *net = &search->nets[place];
    if (net->lines != signal->lines) {
        return fail(problem, LINK_LINES, module, signal->name,
                    weft_arena_format(arena,
                                      "'%s' has %u lines here and %u elsewhere; make them "
                                      "alike",
                                      signal->name, signal->lines, net->lines));
    }
    net->one_hot |= signal->one_hot;
    if (signal->output) {
        if (net->module != WEFT_NONE ||
            (net->part != WEFT_NONE && !part_get(net->part)->from_module)) {
            return fail(problem, LINK_DOUBLE, module, signal->name,
                        weft_arena_format(
                            arena, "'%s' is driven by %s, too; rename one output", signal->name,
                            net->module != WEFT_NONE ? system->text->modules[net->module].name
                                                     : "the datapath"));
        }
        net->module = module;
        net->signal = number;
        net->drives = collect_drives(text, module, number, &net->drive_count, arena);
    }
    ((uint32_t *)(uintptr_t)system->net_of[module])[number] = place;
    return true;
}

// ---- circles and order ----

static void visit(struct search *search, uint32_t node);

static void visit_tally(struct search *search, uint32_t module, uint32_t count)
{
    const struct weft_photonic_count *tally = &search->system->text->modules[module].counts[count];
    for (uint32_t i = 0; i < tally->signal_count; i++) {
        visit(search, search->system->net_of[module][tally->signals[i]]);
    }
}

static void visit_term(struct search *search, uint32_t module, uint32_t place)
{
    const struct weft_photonic_module *text = &search->system->text->modules[module];
    const struct weft_photonic_term *term = &text->terms[place];
    switch (term->op) {
    case WEFT_PHOTONIC_OP_SIGNAL:
        visit(search, search->system->net_of[module][term->left]);
        break;
    case WEFT_PHOTONIC_OP_AT:
        visit(search, search->system->net_count + search->system->first_count[module] + term->left);
        break;
    case WEFT_PHOTONIC_OP_FULL:
    case WEFT_PHOTONIC_OP_SHORT:
    case WEFT_PHOTONIC_OP_OVER:
    case WEFT_PHOTONIC_OP_EMPTY:
        if (text->counts[term->left].tally) {
            visit_tally(search, module, term->left);
        }
        break;
    case WEFT_PHOTONIC_OP_NOT:
    case WEFT_PHOTONIC_OP_ANY:
        visit_term(search, module, term->left);
        break;
    case WEFT_PHOTONIC_OP_AND:
    case WEFT_PHOTONIC_OP_OR:
        visit_term(search, module, term->left);
        visit_term(search, module, term->right);
        break;
    }
}

static uint32_t module_of(const struct link_system *system, uint32_t count)
{
    uint32_t module = 0;
    while (module + 1 < system->text->module_count && system->first_count[module + 1] <= count) {
        module++;
    }
    return module;
}

static void visit_net(struct search *search, uint32_t place)
{
    const struct link_net *net = &search->nets[place];
    for (uint32_t i = 0; i < net->drive_count && !search->circle; i++) {
        const struct link_drive *drive = &net->drives[i];
        visit_term(search, drive->module,
                   search->system->text->modules[drive->module].actions[drive->action].condition);
    }
    if (!search->circle) {
        search->order[search->ordered++] = place;
    }
}

// The event of a count, and what takes from it.
static void visit_event(struct search *search, uint32_t number)
{
    uint32_t module = module_of(search->system, number);
    const struct weft_photonic_count *count =
        &search->system->text->modules[module].counts[number - search->system->first_count[module]];
    if (count->tally) {
        return;
    }
    visit_term(search, module, count->event);
    if (count->less != WEFT_NONE && !search->circle) {
        visit_term(search, module, count->less);
    }
}

// What is on the path already closes a circle; the path then stays as it is.
static void visit(struct search *search, uint32_t node)
{
    if (search->circle || search->color[node] == 2) {
        return;
    }
    search->path[search->depth] = node;
    if (search->color[node] == 1) {
        search->circle = true;
        return;
    }
    search->color[node] = 1;
    search->depth++;
    uint32_t nets = search->system->net_count;
    if (node < nets) {
        visit_net(search, node);
    } else {
        visit_event(search, node - nets);
    }
    if (!search->circle) {
        search->depth--;
        search->color[node] = 2;
    }
}

static const char *node_name(const struct search *search, uint32_t node, uint32_t *module)
{
    const struct link_system *system = search->system;
    if (node < system->net_count) {
        if (search->nets[node].module != WEFT_NONE) {
            *module = search->nets[node].module;
        }
        return search->nets[node].name;
    }
    *module = module_of(system, node - system->net_count);
    return system->text->modules[*module]
        .counts[node - system->net_count - system->first_count[*module]]
        .name;
}

static bool fail_circle(const struct search *search, struct weft_arena *arena,
                        struct link_problem *problem)
{
    uint32_t first = 0;
    while (search->path[first] != search->path[search->depth]) {
        first++;
    }
    uint32_t module = 0;
    const char *name = node_name(search, search->path[first], &module);
    const char *text = name;
    for (uint32_t i = first + 1; i <= search->depth; i++) {
        uint32_t other = 0;
        text = weft_arena_format(arena, "%s needs %s", text,
                                 node_name(search, search->path[i], &other));
        if (i < search->depth) {
            text = weft_arena_format(arena, "%s, which", text);
        }
    }
    return fail(problem, LINK_CIRCLE, module, name,
                weft_arena_format(arena,
                                  "%s, all in one cycle: a circle; count the event in a "
                                  "register and ask for full",
                                  text));
}

// ---- the system ----

static void number_counts(struct link_system *system, struct weft_arena *arena, uint32_t *total)
{
    uint32_t modules = system->text->module_count;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)modules + 1);
    for (uint32_t m = 0; m < modules; m++) {
        first[m + 1] = first[m] + system->text->modules[m].count_count;
    }
    *total = first[modules];
    uint32_t *values = WEFT_NEW(arena, uint32_t, (size_t)*total + 1);
    for (uint32_t m = 0; m < modules; m++) {
        for (uint32_t c = 0; c < system->text->modules[m].count_count; c++) {
            uint32_t number = first[m] + c;
            values[number + 1] = values[number] + system->text->modules[m].counts[c].size;
        }
    }
    system->first_count = first;
    system->first_value = values;
    system->value_count = values[*total];
}

bool link_build(struct link_system *system, const struct weft_photonic_countaction *text,
                struct weft_arena *arena, struct link_problem *problem)
{
    *system = (struct link_system){.text = text};
    struct search search = {.system = system};
    number_counts(system, arena, &search.count_count);
    uint32_t signals = 0;
    const uint32_t **net_of = WEFT_NEW(arena, const uint32_t *, text->module_count);
    for (uint32_t m = 0; m < text->module_count; m++) {
        signals += text->modules[m].signal_count;
        net_of[m] = WEFT_NEW(arena, uint32_t, text->modules[m].signal_count);
    }
    system->net_of = net_of;
    search.nets = WEFT_NEW(arena, struct link_net, signals);
    system->nets = search.nets;
    for (uint32_t m = 0; m < text->module_count; m++) {
        for (uint32_t s = 0; s < text->modules[m].signal_count; s++) {
            if (!join(&search, m, s, arena, problem)) {
                return false;
            }
        }
    }
    uint32_t nodes = system->net_count + search.count_count;
    search.color = WEFT_NEW(arena, uint8_t, nodes);
    search.path = WEFT_NEW(arena, uint32_t, (size_t)nodes + 1);
    search.order = WEFT_NEW(arena, uint32_t, system->net_count);
    system->order = search.order;
    for (uint32_t node = 0; node < nodes && !search.circle; node++) {
        visit(&search, node);
    }
    return search.circle ? fail_circle(&search, arena, problem) : true;
}
