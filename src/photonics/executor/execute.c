// SPDX-License-Identifier: Apache-2.0
// A program cycle by cycle: the datapath's registers offer their nets, the modules settle theirs in
// the order of their dependence, then the clock changes both.

#include "weft/photonics/execute.h"
#include "weft/photonics/layer.h"

#include <string.h>

#include "photonics/executor/datapath.h"

// A run that takes this many times its closed form, and as many cycles more, waits for ever: memory
// that makes the streamer wait by chance takes less than twice.
#define EXECUTE_PATIENCE 4u
#define EXECUTE_SLACK 4096u
// Cycles behind a preamble in which it must have been seen, as the hardware's monitor has it.
#define EXECUTE_MONITOR 96u

struct execution {
    const struct weft_photonic_program *program;
    const struct weft_photonic_execute_options *options;
    struct machine machine;
    struct datapath datapath;
    uint32_t nets[WIRE_COUNT]; // WEFT_NONE: the modules have none of that name
    uint64_t wires[WIRE_COUNT];
    uint32_t output_value; // the register of the output that is summed
    struct weft_photonic_registers registers;
    uint8_t *highest;
    bool fresh;       // the first cycle of a layer
    uint64_t waiting; // cycles of data without a lock
    // trace
    struct weft_arena *arena;
    struct weft_photonic_span *spans; // the arena's last allocation
    uint32_t span_room;
    uint64_t *layers;
    uint64_t *begins; // [net_count], UINT64_MAX: false now
};

// ---- building ----

static bool find_output(struct execution *execution, struct weft_error *error)
{
    const struct weft_photonic_countaction *text = execution->machine.system->text;
    for (uint32_t m = 0; m < text->module_count; m++) {
        const struct weft_photonic_module *module = &text->modules[m];
        for (uint32_t c = 0; strcmp(module->name, "output_counter") == 0 && c < module->count_count;
             c++) {
            if (strcmp(module->counts[c].name, "outputs") == 0) {
                execution->output_value = link_value(execution->machine.system, m, c, 0);
                return true;
            }
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "no count 'outputs' of a module 'output_counter', which says whose bias is "
                     "next; add it");
}

static bool find_wires(struct execution *execution, struct weft_error *error)
{
    const struct link_system *system = execution->machine.system;
    for (uint32_t w = 0; w < WIRE_COUNT; w++) {
        execution->nets[w] = WEFT_NONE;
        for (uint32_t n = 0; n < system->net_count; n++) {
            if (strcmp(system->nets[n].name, wire_names[w]) == 0) {
                execution->nets[w] = n;
            }
        }
        uint32_t net = execution->nets[w];
        if (w > WIRE_WRITTEN && (net == WEFT_NONE || system->nets[net].module == WEFT_NONE)) {
            return weft_fail(error, WEFT_INPUT,
                             "the datapath needs signal '%s', and no module drives it; add an "
                             "output of that name",
                             wire_names[w]);
        }
        uint32_t lines = w == WIRE_PATTERN || w == WIRE_ROTATED ? 16 : w == WIRE_ABOVE ? 30 : 1;
        if (net != WEFT_NONE && system->nets[net].lines != lines) {
            return weft_fail(error, WEFT_INPUT, "signal '%s' has %u lines; the datapath's has %u",
                             wire_names[w], system->nets[net].lines, lines);
        }
    }
    return find_output(execution, error);
}

static bool load(struct execution *execution, struct weft_error *error)
{
    uint32_t fifo =
        execution->options->fifo == 0 ? WEFT_PHOTONIC_FIFO_ENTRIES : execution->options->fifo;
    uint32_t bad;
    if (!machine_load(&execution->machine, execution->datapath.row, fifo, &bad)) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "layer %u: a count has no target that can be reached; weft photonic check "
                         "names it",
                         execution->datapath.row_number);
    }
    return true;
}

static bool build(struct execution *execution, const struct link_system *system,
                  const uint8_t *input, struct weft_arena *scratch, struct weft_error *error)
{
    machine_build(&execution->machine, system, scratch);
    datapath_build(&execution->datapath, execution->program, input, execution->options, scratch);
    execution->highest = WEFT_NEW(execution->arena, uint8_t, execution->program->row_count);
    execution->layers = WEFT_NEW(execution->arena, uint64_t, execution->program->row_count);
    execution->begins = WEFT_NEW(scratch, uint64_t, system->net_count);
    memset(execution->begins, 0xff, system->net_count * sizeof execution->begins[0]);
    return find_wires(execution, error) && load(execution, error);
}

// ---- a cycle ----

static void settle(struct execution *execution)
{
    struct machine *machine = &execution->machine;
    datapath_offer(&execution->datapath, execution->wires);
    for (uint32_t w = 0; w <= WIRE_WRITTEN; w++) {
        if (execution->nets[w] != WEFT_NONE) {
            machine->nets[execution->nets[w]] = execution->wires[w];
        }
    }
    for (uint32_t i = 0; i < machine->system->net_count; i++) {
        if (machine->system->nets[machine->system->order[i]].module != WEFT_NONE) {
            machine_drive(machine, machine->system->order[i]);
        }
    }
    for (uint32_t w = WIRE_WRITTEN + 1; w < WIRE_COUNT; w++) {
        execution->wires[w] = machine->nets[execution->nets[w]];
    }
}

// The normalizer says whether the last layer's values go left or right.
static void begin_layer(struct execution *execution)
{
    struct datapath *datapath = &execution->datapath;
    execution->layers[datapath->row_number] = datapath->cycle - 1;
    execution->waiting = 0;
    if (datapath->row_number > 0) {
        uint32_t highest = weft_photonic_highest_bit(datapath->largest);
        execution->highest[datapath->row_number - 1] = (uint8_t)highest;
        datapath->left = execution->wires[WIRE_LEFT] && highest < 7 ? 7 - highest : 0;
        datapath->right = execution->wires[WIRE_RIGHT] && highest > 7 ? highest - 7 : 0;
        datapath->exponent += (int32_t)datapath->right - (int32_t)datapath->left;
    }
    datapath->largest = 0;
}

static void count_registers(struct execution *execution)
{
    struct weft_photonic_registers *registers = &execution->registers;
    registers->cycles += execution->wires[WIRE_BUSY];
    registers->stalls += execution->wires[WIRE_BUBBLE];
    registers->pattern_errors += execution->wires[WIRE_MISMATCH];
    if (execution->wires[WIRE_ROTATED] != 0) {
        registers->rotation = (uint32_t)__builtin_ctzll(execution->wires[WIRE_ROTATED]);
    }
    bool waits = execution->wires[WIRE_BUSY] && !execution->wires[WIRE_PREAMBLE] &&
                 !execution->wires[WIRE_LOCKED];
    execution->waiting += waits;
}

static void add_span(struct execution *execution, struct weft_photonic_span span)
{
    struct weft_photonic_trace *trace = &execution->registers.trace;
    if (trace->span_count == execution->span_room) {
        size_t bytes = execution->span_room * sizeof span;
        execution->spans = weft_arena_grow(execution->arena, execution->spans, bytes, 2 * bytes);
        execution->span_room *= 2;
    }
    execution->spans[trace->span_count++] = span;
}

// Ends of spans, and begins of new ones.
static void trace_cycle(struct execution *execution, bool last)
{
    const struct link_system *system = execution->machine.system;
    uint64_t now = execution->datapath.cycle - 1; // the cycle behind `start` is 0
    for (uint32_t n = 0; n < system->net_count; n++) {
        bool on = execution->machine.nets[n] != 0 && !last;
        if (on == (execution->begins[n] != UINT64_MAX)) {
            continue;
        }
        if (!on) {
            add_span(execution, (struct weft_photonic_span){n, execution->begins[n], now});
        }
        execution->begins[n] = on ? now : UINT64_MAX;
    }
}

static bool step(struct execution *execution, struct weft_error *error)
{
    struct datapath *datapath = &execution->datapath;
    settle(execution);
    if (execution->fresh) {
        begin_layer(execution);
        execution->fresh = false;
    }
    count_registers(execution);
    if (execution->options->trace && datapath->cycle > 0) {
        trace_cycle(execution, false);
    }
    datapath_clock(datapath, execution->wires, execution->machine.values[execution->output_value]);
    machine_clock(&execution->machine);
    if (execution->wires[WIRE_NEXT_LAYER]) {
        datapath_change(datapath, execution->wires[WIRE_LAYER_DONE] != 0);
        execution->fresh = true;
        return load(execution, error);
    }
    return true;
}

// ---- the end ----

static uint32_t largest_of(const int32_t *values, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

static void publish(struct execution *execution)
{
    struct datapath *datapath = &execution->datapath;
    struct weft_photonic_registers *registers = &execution->registers;
    const struct weft_photonic_row *row = datapath->row;
    registers->sum_count = row->results;
    int32_t *sums = WEFT_NEW(execution->arena, int32_t, row->results);
    memcpy(sums, datapath->memory[!datapath->side], row->results * sizeof sums[0]);
    registers->sums = sums;
    registers->class_index = largest_of(sums, row->results);
    execution->highest[datapath->row_number] =
        (uint8_t)weft_photonic_highest_bit(datapath->largest);
    registers->highest = execution->highest;
    registers->overruns = execution->machine.overruns + datapath->lost;
    registers->error |= registers->overruns > 0;
    if (row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) {
        struct weft_photonic_tables tables;
        weft_photonic_tables_build(&tables);
        int32_t *logs = WEFT_NEW(execution->arena, int32_t, row->results);
        weft_photonic_log_softmax(logs, sums, row->results, row->softmax_scale,
                                  (int32_t)row->softmax_shift - datapath->exponent, &tables);
        registers->log_probabilities = logs;
    }
}

static void publish_trace(struct execution *execution)
{
    const struct link_system *system = execution->machine.system;
    struct weft_photonic_trace *trace = &execution->registers.trace;
    trace_cycle(execution, true);
    const char **signals = WEFT_NEW(execution->arena, const char *, system->net_count);
    const char **modules = WEFT_NEW(execution->arena, const char *, system->net_count);
    for (uint32_t n = 0; n < system->net_count; n++) { // names may be scratch
        uint32_t module = system->nets[n].module;
        signals[n] = weft_arena_format(execution->arena, "%s", system->nets[n].name);
        modules[n] = module == WEFT_NONE ? NULL
                                         : weft_arena_format(execution->arena, "%s",
                                                             system->text->modules[module].name);
    }
    trace->cycles = execution->registers.cycles;
    trace->signal_count = system->net_count;
    trace->signals = signals;
    trace->modules = modules;
    trace->spans = execution->spans;
    trace->layer_count = execution->datapath.row_number + 1;
    trace->layers = execution->layers;
}

// The count that has come furthest without meeting its target is what the run waits for.
static bool fail_waiting(struct execution *execution, struct weft_error *error)
{
    const struct link_system *system = execution->machine.system;
    uint32_t module = 0, found = 0, value = 0;
    for (uint32_t m = 0; m < system->text->module_count; m++) {
        for (uint32_t c = 0; c < system->text->modules[m].count_count; c++) {
            uint32_t place = link_value(system, m, c, 0);
            if (!system->text->modules[m].counts[c].tally &&
                execution->machine.values[place] > execution->machine.values[value] &&
                execution->machine.values[place] < execution->machine.targets[place]) {
                module = m;
                found = c;
                value = place;
            }
        }
    }
    return weft_fail(error, WEFT_INFEASIBLE,
                     "layer %u: nothing is done after %llu cycles: count %s of module %s waits at "
                     "%u of %u; weft photonic check says why",
                     execution->datapath.row_number, (unsigned long long)execution->datapath.cycle,
                     system->text->modules[module].counts[found].name,
                     system->text->modules[module].name, execution->machine.values[value],
                     execution->machine.targets[value]);
}

static bool run(struct execution *execution, uint64_t most, struct weft_error *error)
{
    uint32_t monitor = EXECUTE_MONITOR + execution->datapath.ring;
    while (!execution->wires[WIRE_FINISH]) {
        if (execution->waiting > monitor) {
            execution->registers.error = true;
            return true;
        }
        if (execution->datapath.cycle > most) {
            return fail_waiting(execution, error);
        }
        if (!step(execution, error)) {
            return false;
        }
        if (execution->datapath.cycle % 4096 == 0) {
            weft_poll();
        }
    }
    execution->registers.done = true;
    return true;
}

bool weft_photonic_execute(struct weft_photonic_registers *registers,
                           const struct weft_photonic_program *program, const uint8_t *input,
                           const struct weft_photonic_execute_options *options,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct weft_photonic_countaction modules;
    if (options->modules != NULL) {
        modules = *options->modules;
    } else if (!weft_photonic_countaction_parse(&modules, weft_photonic_countaction_text,
                                                strlen(weft_photonic_countaction_text), &scratch,
                                                error)) {
        return false;
    }
    struct link_system system;
    struct link_problem problem;
    if (!link_build(&system, &modules, &scratch, &problem)) {
        return weft_fail(error, WEFT_INPUT, "module %s: %s", modules.modules[problem.module].name,
                         problem.message);
    }
    struct execution execution = {.program = program, .options = options, .arena = arena};
    uint64_t cycles = weft_photonic_cycles(NULL, program, 0);
    if (!build(&execution, &system, input, &scratch, error)) {
        return false;
    }
    execution.span_room = 64;
    execution.spans = WEFT_NEW(arena, struct weft_photonic_span, execution.span_room);
    if (!run(&execution, (cycles + EXECUTE_SLACK) * EXECUTE_PATIENCE, error)) {
        return false;
    }
    if (options->trace) {
        publish_trace(&execution);
    }
    publish(&execution);
    *registers = execution.registers;
    return true;
}
