// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PLAN_BUY_H
#define WEFT_CLI_PLAN_BUY_H

// A model on fabrics that one buys, as weft plan --fabric and weft compare MODEL answer: the
// options that both have, and the answer in words, as Markdown or as CSV. The request is
// weft/request/buy.h.

#include "cli/cli.h"
#include "weft/request/buy.h"

// What the options say.
struct cli_buy {
    struct weft_buy_request request; // without what groups of options say
    bool given;                      // one of them was
    const char *last;                // its name
    const char *report_path;         // of the page; NULL = none
    const char *plot_path;           // of iterations by dark time; NULL = none
};

// The keys of these options, for argp; each verb lists those it takes.
enum {
    CLI_KEY_TOKENS = 5000,
    CLI_KEY_RADIX,
    CLI_KEY_OVERSUBSCRIPTION,
    CLI_KEY_SWITCH,
    CLI_KEY_DARK_TIME,
    CLI_KEY_DELAYS,
};
#define CLI_BUY_OPTIONS                                                                            \
    {"radix",                                                                                      \
     CLI_KEY_RADIX,                                                                                \
     "K",                                                                                          \
     0,                                                                                            \
     "ports of a switch of a fabric that one buys (the smallest that fits)",                       \
     0},                                                                                           \
        {"oversubscription",                                                                       \
         CLI_KEY_OVERSUBSCRIPTION,                                                                 \
         "X",                                                                                      \
         0,                                                                                        \
         "ports down for each port up at its leaves (1)",                                          \
         0},                                                                                       \
        {"switch",                                                                                 \
         CLI_KEY_SWITCH,                                                                           \
         "MODEL",                                                                                  \
         0,                                                                                        \
         "build it from this switch: 64x400G, or one of the cluster file",                         \
         0},                                                                                       \
        {"dark-time",                                                                              \
         CLI_KEY_DARK_TIME,                                                                        \
         "T[,T]",                                                                                  \
         0,                                                                                        \
         "how long switches turn where circuits move; of several, iterations at each (25ms)",      \
         0},                                                                                       \
        {"delays",                                                                                 \
         CLI_KEY_DELAYS,                                                                           \
         "D",                                                                                      \
         0,                                                                                        \
         "what a change takes besides: ideal (a command, 0.1 ms) or commodity (16 ms, and 5.67 s " \
         "until NICs find the light again)",                                                       \
         0},                                                                                       \
    {                                                                                              \
        "tokens", CLI_KEY_TOKENS, "N", 0,                                                          \
            "of a fabric that one buys: what a training of so many tokens takes: 300G, 15T", 0     \
    }
error_t cli_buy_parse(struct cli *cli, struct cli_buy *buy, int key, const char *argument);

// Asks, writes the page and prints. Whether its path can be written is looked at before.
bool cli_buy_run(struct cli *cli, struct cli_buy *buy) WEFT_MUST_USE;

#endif
