// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_REPRODUCE_H
#define WEFT_CLI_REPRODUCE_H

// weft reproduce: published claims, the commands that answer them, and what these say.
//
//   claims/*.yaml ──► [claims.c] ──► [play.c ──► command.c] ──► [figure.c] ──► [write.c]
//
// The verb runs weft's own commands as a person would, by fork and exec of its own program, so that
// a figure in its table is what the command beside it prints. That needs processes, which belong to
// the door: it has no request (docs/house.md).

#include "cli/cli.h"
#include "weft/format/claims.h"

#include <sys/types.h>

enum reproduce_verdict {
    REPRODUCE_NOT_RUN, // why stands in the outcome
    REPRODUCE_MET,
    REPRODUCE_SHORT,
    REPRODUCE_NOT_COMPARABLE,
};

// What became of a claim.
struct reproduce_outcome {
    enum reproduce_verdict verdict;
    double ours; // NAN = there is none
    double low;  // over the seeds
    double high;
    double gap_ratio;   // by how much ours misses its goal; 0 = it does not
    double wall_s;      // of all its commands
    double cpu_s;       // of them and their children
    const char *reason; // of what was not run; NULL = none
};

// What the options say.
struct reproduce_input {
    bool lists;
    bool all;
    bool brief;
    const char *claims_path; // NULL = where the program finds it
    const char *inputs_path; // NULL = where the environment says, or beside the repository
    const char *output_path; // a folder; NULL = none
    uint32_t name_count;
    const char **names; // of claims or systems
};

struct reproduce {
    struct cli *cli;
    struct reproduce_input input;
    const char *root;   // the folder in which commands run: the one in which claims/ lies
    const char *inputs; // an absolute path; NULL = there is no such folder
    uint32_t claim_count;
    const struct weft_claim *claims; // those that were asked for, in order of files and lines
    struct reproduce_outcome *outcomes;
};

// ---- claims.c ----

// Finds and reads the claims, and keeps those that are asked for. Fails with INPUT, "FILE: line N:
// ..."; with USAGE where a name is none.
bool reproduce_claims(struct reproduce *reproduce) WEFT_MUST_USE;
// Why the claim cannot be run here: a missing input and where it comes from, a missing program or
// permission. NULL = it can.
const char *reproduce_lack(const struct reproduce *reproduce, const struct weft_claim *claim);
// A word of a command with its braces replaced.
const char *reproduce_word(const struct reproduce *reproduce, const char *word, const char *work,
                           struct weft_arena *arena);

// ---- command.c ----

// A command under way.
struct reproduce_command {
    pid_t pid; // 0 = none
    int output;
    int errors;
    double started_s;
};
// What it left.
struct reproduce_end {
    int exit_code; // 128 and more: a signal
    double wall_s;
    double cpu_s;
    const char *output;
    size_t output_length;
    const char *complaint; // the first line of what it said on stderr
};
// Starts weft with these words, which end with NULL, in `folder`. Fails with IO.
bool reproduce_start(struct reproduce_command *command, const char *const *words,
                     const char *folder, const struct cli *cli, struct weft_error *error)
    WEFT_MUST_USE;
// Whether it has ended; then `end` is filled.
bool reproduce_ended(struct reproduce_command *command, struct reproduce_end *end,
                     const struct cli *cli, struct weft_arena *arena) WEFT_MUST_USE;
// Ends it and what it started, and waits for it: first by asking, so that a lab is taken away.
void reproduce_kill(struct reproduce_command *command);

// ---- play.c ----

// Runs the claims, as many at once as there are threads; fills all outcomes. Stops early where
// `stop` says so: what did not end was not run. Fails where nothing can be run at all.
bool reproduce_play(struct reproduce *reproduce, weft_stop stop) WEFT_MUST_USE;

// ---- figure.c ----

// The number at a pointer (struct weft_claim_figure). False: there is none.
bool reproduce_find(double *value, const json_t *root, const char *pointer,
                    struct weft_arena scratch) WEFT_MUST_USE;
// Ours of the figures of `count` seeds, and its verdict.
void reproduce_judge(struct reproduce_outcome *outcome, const struct weft_claim *claim,
                     const double *figures, uint32_t count);
// "met", "short by 12 %".
const char *reproduce_verdict_text(const struct reproduce_outcome *outcome,
                                   struct weft_arena *arena);
// 0, 4 where a claim was not run, else 1 where one is short.
int reproduce_exit_code(const struct reproduce *reproduce);

// ---- write.c, pages.c ----

void reproduce_print_list(struct reproduce *reproduce);
void reproduce_print_outcomes(struct reproduce *reproduce);
// The commands of a claim in one line, joined as a shell would take them.
const char *reproduce_command_text(const struct weft_claim *claim, struct weft_arena *arena);
// The outcomes as weft.reproduction/1.
const char *reproduce_json(const struct reproduce *reproduce, struct weft_arena *arena);
// Whether the folder of --output can be made: asked before anything is run. Fails with IO.
bool reproduce_can_save(const struct reproduce *reproduce) WEFT_MUST_USE;
// Writes table.md, results.json and a picture a system into that folder, whole or not at all.
bool reproduce_save(struct reproduce *reproduce) WEFT_MUST_USE;

#endif
