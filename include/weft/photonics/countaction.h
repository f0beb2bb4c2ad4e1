// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_H
#define WEFT_PHOTONICS_COUNTACTION_H

// Count-action: a datapath's control as counts, targets and actions (Lightning, SIGCOMM 2023).
//
//   text ──parse──► [modules] ──check──► verdicts; Verilog; executor, cycle by cycle
//
// A module counts events, compares counts with targets that the control plane loads for a layer,
// and acts where a target is met; nothing is ever asked of a processor. Signals are bits.
// A count is one of two kinds: a tally, how many of some signals are true in this cycle, or a
// register of the cycles in which a condition held. Outputs are those of a Mealy machine: they
// follow inputs and registers in the same cycle; registers change at the clock's edge, and all are
// 0 after reset. Where the same cycle brings an event and clears the count, it is cleared. An event
// that comes when its count is at its target, and is not cleared, is an overrun: the register
// stays, the error output of the module is true. Modules are connected by the names of signals.
//
//   modules     = { "module" NAME "{" { ports } counts targets actions "}" } .
//   ports       = ( "input" | "output" ) port { "," port } ";" .
//   port        = NAME [ "[" NUMBER "]" [ "onehot" ] ] .
//   counts      = "counts" "{" { NAME [ "[" NUMBER "]" ] "=" count ";" } "}" .
//   count       = "tally" "(" NAME { "," NAME } ")"
//               | "cycles" "(" condition ")" [ "less" condition ] [ "until" condition ] .
//   targets     = "targets" "{" { NAME [ "[" NUMBER [ ".." NUMBER ] "]" ] "=" target ";" } "}" .
//   target      = NUMBER | FIELD [ ( "+" | "-" ) NUMBER ] .
//   actions     = "actions" "{" { condition ":" effect { "," effect } ";" } "}" .
//   effect      = [ "clear" ] NAME [ "[" place "]" ] .
//   condition   = conjunction { "|" conjunction } .
//   conjunction = factor { "&" factor } .
//   factor      = ( "!" | "any" ) factor | "(" condition ")"
//               | [ "at" | "full" | "short" | "over" | "empty" ] NAME [ "[" place "]" ] .
//   place       = NUMBER | "index" .
//
// A FIELD is layer.X, field X of the program's row (program.h), or program.fifo, the entries of the
// FIFO beside the light. '#' begins a comment. docs/lightning.md has examples.

#include "weft/photonics/program.h"

WEFT_API_BEGIN

// ---- modules as values ----

#define WEFT_PHOTONIC_LINES 64u // of an array, at most
// The place of a term or effect that is repeated for every index.
#define WEFT_PHOTONIC_INDEX UINT32_MAX

struct weft_photonic_signal {
    const char *name;
    bool output;
    bool array;
    bool one_hot;   // at most one line is true in a cycle; whoever drives it promises that
    uint32_t lines; // 1 where it is no array
    uint32_t line;  // of the text
};

// A condition is a tree of terms; children stand before their parents.
enum weft_photonic_op {
    WEFT_PHOTONIC_OP_SIGNAL,
    WEFT_PHOTONIC_OP_AT,    // this cycle's event brings the register to its target
    WEFT_PHOTONIC_OP_FULL,  // register or tally is at its target
    WEFT_PHOTONIC_OP_SHORT, // below it
    WEFT_PHOTONIC_OP_OVER,  // a tally above it
    WEFT_PHOTONIC_OP_EMPTY, // register or tally is 0
    WEFT_PHOTONIC_OP_NOT,
    WEFT_PHOTONIC_OP_ANY, // true where `left` is for some index
    WEFT_PHOTONIC_OP_AND,
    WEFT_PHOTONIC_OP_OR,
};
struct weft_photonic_term {
    enum weft_photonic_op op;
    uint32_t left;  // signal, count or term
    uint32_t right; // term of AND and OR; of ANY the number of indices
    uint32_t index; // of signal or count; WEFT_PHOTONIC_INDEX = the one that is repeated
};

// Targets: an offset, beside a field of the row where `field` is not WEFT_NONE.
#define WEFT_PHOTONIC_FIELD_FIFO WEFT_PHOTONIC_FIELDS // program.fifo
struct weft_photonic_target {
    uint32_t field; // word of the row's memory image, WEFT_PHOTONIC_FIELD_FIFO or WEFT_NONE
    int64_t offset;
};
struct weft_photonic_count {
    const char *name;
    bool tally;
    bool array;
    uint32_t size; // registers, 1 where it is no array
    // A tally's signals; of an array all lines count.
    uint32_t signal_count;
    const uint32_t *signals;
    uint32_t event;                             // terms; less and until may be WEFT_NONE
    uint32_t less;                              // takes one away
    uint32_t until;                             // clears
    const struct weft_photonic_target *targets; // [size]
    uint32_t line;
};
struct weft_photonic_effect {
    bool clear; // of a count, else an output is driven
    uint32_t subject;
    uint32_t index;
};
struct weft_photonic_action {
    uint32_t condition;
    uint32_t repeats; // for each index below that; 1 where it has no index
    uint32_t effect_count;
    const struct weft_photonic_effect *effects;
    uint32_t line;
};
struct weft_photonic_module {
    const char *name;
    uint32_t line;
    uint32_t signal_count, count_count, action_count, term_count;
    const struct weft_photonic_signal *signals;
    const struct weft_photonic_count *counts;
    const struct weft_photonic_action *actions;
    const struct weft_photonic_term *terms;
};
struct weft_photonic_countaction {
    uint32_t module_count;
    const struct weft_photonic_module *modules;
};

// ---- text ----

// Lightning's ten modules: streamer, preamble generator, preamble detector, adder-subtractor, its
// output counter, selector of the non-linear unit, inter-layer buffer, its read counters,
// normalizer, final layer.
extern const char weft_photonic_countaction_text[];

// Reads modules. Fails with INPUT naming the line and what would do. O(length).
bool weft_photonic_countaction_parse(struct weft_photonic_countaction *modules, const char *data,
                                     size_t length, struct weft_arena *arena,
                                     struct weft_error *error) WEFT_MUST_USE;
// Modules as text that reads back as the same modules.
void weft_photonic_countaction_write(struct weft_text *text,
                                     const struct weft_photonic_countaction *modules);

// One module as synthesizable Verilog-2001. Ports: clock, reset (synchronous), the fields of its
// targets (layer_words), inputs, outputs, the value of each count that is no array (words_count),
// overrun.
void weft_photonic_countaction_verilog(struct weft_text *text,
                                       const struct weft_photonic_module *module);

// ---- check ----

enum weft_photonic_flaw {
    WEFT_PHOTONIC_SOUND,
    WEFT_PHOTONIC_TARGET,      // a target that is 0 or that a tally cannot have
    WEFT_PHOTONIC_UNREACHABLE, // no event can come before a count is at its target
    WEFT_PHOTONIC_UNUSED,      // an output that nothing drives
    WEFT_PHOTONIC_DRIVE,       // two actions can drive one output in one cycle
    WEFT_PHOTONIC_CIRCLE,      // signals that need each other in one cycle
    WEFT_PHOTONIC_DEADLOCK,    // fewer events in a layer than the target
    WEFT_PHOTONIC_OVERRUN,     // more, or some left over
    WEFT_PHOTONIC_FIFO,        // less room than light is under way
};
const char *weft_photonic_flaw_name(enum weft_photonic_flaw flaw);

struct weft_photonic_verdict {
    const char *module;
    enum weft_photonic_flaw flaw;
    const char *subject; // the count or signal, NULL where the module is sound
    uint32_t line;
    uint32_t row;        // of the program; WEFT_NONE where the flaw is in every program
    const char *message; // one line, with the remedy
};
// How often a count's event comes in a layer.
struct weft_photonic_occurrence {
    uint32_t row, module, count, index;
    uint64_t events, target;
    uint64_t times; // that it meets its target
};
struct weft_photonic_countaction_report {
    bool sound;
    uint32_t verdict_count; // of modules: the first flaw of each
    const struct weft_photonic_verdict *verdicts;
    uint32_t occurrence_count; // where a program was given
    const struct weft_photonic_occurrence *occurrences;
};
struct weft_photonic_check_options {
    const struct weft_photonic_program *program; // NULL: modules alone
    uint32_t path_samples;                       // of the program's light
    uint32_t fifo;                               // entries; 0 = WEFT_PHOTONIC_FIFO_ENTRIES
};
#define WEFT_PHOTONIC_FIFO_ENTRIES 64u // entries of the FIFO beside the light in Weft's datapath
// What a program can go wrong by, before it runs. Of modules: each count has a target that it can
// reach; no two actions can drive an output in one cycle, by search over all inputs and what
// registers can hold; no circle within a cycle, through other modules and the datapath either. Of
// a program: events of each count per layer follow from the rows, as repetitions do in
// synchronous data flow (Lee and Messerschmitt 1987); fewer than the target are a deadlock, more
// an overrun. docs/lightning.md says what is not proved. O(rows * counts), and the searches.
void weft_photonic_countaction_check(struct weft_photonic_countaction_report *report,
                                     const struct weft_photonic_countaction *modules,
                                     const struct weft_photonic_check_options *options,
                                     struct weft_arena *arena, struct weft_arena scratch);

WEFT_API_END

#endif
