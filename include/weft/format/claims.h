// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CLAIMS_H
#define WEFT_FORMAT_CLAIMS_H

// Claims (YAML): the published figures of a system, and the commands of Weft whose figure stands
// beside each: docs/reproduce.md.

#include "weft/base.h"

WEFT_API_BEGIN

// What our figure has to be.
enum weft_claim_goal {
    WEFT_CLAIM_WITHIN,   // within a ratio of the published one, either way
    WEFT_CLAIM_AT_MOST,  // no larger than the published one
    WEFT_CLAIM_AT_LEAST, // no smaller
};
// Which of the figures of several seeds is ours.
enum weft_claim_choice {
    WEFT_CLAIM_WORST, // the one that is furthest from the goal
    WEFT_CLAIM_FIRST,
    WEFT_CLAIM_BEST,
    WEFT_CLAIM_MEAN,
};

// A command as a person types it from the folder in which the claims' folder lies. "{inputs}" in a
// word stands for the folder of inputs that do not ship, "{work}" for a folder of the run's own.
struct weft_claim_command {
    const char *text;
    uint32_t word_count; // at least 2
    const char *const *words;
};
// A figure of what a command prints with --json: a JSON pointer (RFC 6901) in which "key=text"
// chooses the item of a list whose `key` is `text`, and "*" the mean of all items.
struct weft_claim_figure {
    uint32_t command;    // index
    const char *pointer; // NULL = no such figure
};
// A text that is written into {work} before the first command.
struct weft_claim_file {
    const char *name;
    const char *text;
};

// What was published, in the words of the source.
struct weft_claim_published {
    double value;      // NAN = the source states none
    double half_digit; // half of its last digit: what rounds to it is equal to it
    const char *unit;
    const char *source;
    bool own; // measured or derived for Weft and published nowhere
};
struct weft_claim_runs {
    uint32_t command_count; // at least 1; played in order
    const struct weft_claim_command *commands;
    uint32_t seed_count; // all commands are played once with each; 0 = once, as they stand
    const uint64_t *seeds;
    uint32_t file_count;
    const struct weft_claim_file *files;
    uint32_t need_count;
    const char *const *needs; // "root", or a program in PATH
};
// Ours is value / over * factor.
struct weft_claim_reading {
    struct weft_claim_figure value;
    struct weft_claim_figure over;
    double factor;
    enum weft_claim_choice choice;
};

struct weft_claim {
    const char *name;     // "topoopt-cost": letters, digits and dashes
    const char *system;   // of its file
    const char *sentence; // what is claimed
    struct weft_claim_published published;
    enum weft_claim_goal goal;
    const char *goal_text; // as it is written
    // Of WEFT_CLAIM_WITHIN: 0.05 for 5 %, points over the published figure; NAN where none was.
    double within_ratio;
    struct weft_claim_runs runs;
    struct weft_claim_reading reading;
    const char *not_comparable; // why the figures are not of the same thing; NULL = they are
    const char *inputs_from;    // of its file: where {inputs} come from; NULL = it needs none
    double cost_s;              // of one core, measured; 0 = never measured
    bool brief;                 // part of the short suite
    uint32_t line;
};
struct weft_claims {
    uint32_t claim_count; // at least 1
    const struct weft_claim *claims;
};

// Fails with INPUT, "line N: ...; remedy". What commands mean is not looked at. O(length + claims^2
// + keys^2). The result lives in `arena`.
bool weft_claims_read(struct weft_claims *claims, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
