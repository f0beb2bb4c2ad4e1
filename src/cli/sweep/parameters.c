// SPDX-License-Identifier: Apache-2.0
// What a specification may say: parameters that are values, and those that name files to be read.
//
// A specification may be of somebody else. So it may say only what is listed here; a parameter that
// a request gains is none of a sweep's until somebody has thought about it. What is a file is known
// here, too, so that files can be confined to the specification's folder. Nothing here writes one.

#include "sweep.h"

#include <string.h>

static const char *const values[] = {
    // hardware
    "servers",
    "degree",
    "rate",
    "latency",
    "host-rate",
    "balance",
    // fabrics, collectives, snapshots
    "fabric",
    "radix",
    "acknowledged",
    "all-rounds",
    "sharing",
    "realign",
    "mltcp-root",
    "mltcp-steps",
    "oversubscription",
    "accelerators",
    "scale-up-rate",
    "scale-up-latency",
    "one-port",
    "algorithm",
    // traces
    "accelerator",
    "lenient",
    "ranks",
    // packets
    "engine",
    "transport",
    "preset",
    "mtu",
    "header",
    "ack",
    "host-queue",
    "initial-window",
    "buffer",
    "ecn-kmin",
    "mark-at",
    "rto-min",
    "rto-first",
    "slow-start",
    "no-slow-start",
    "handshake",
    "no-handshake",
    "ecn-kmax",
    "ecn-pmax",
    "red",
    "lossless",
    "trim",
    "ack-priority",
    "cut-through",
    "spray",
    "spray-by",
    "spray-hashed",
    "xon",
    "headroom",
    "control-bytes",
    "persistent",
    "connections",
    "idle-restart",
    "restart-window",
    "mltcp-slope",
    "mltcp-intercept",
    "mltcp-per-job",
    "dcqcn-timer",
    "dcqcn-step",
    "dctcp-gain",
    "dctcp-rfc",
    "target-delay",
    "reorder",
    "window-limit",
    "ack-bytes",
    "early-drops",
    "link-loss",
    "lossy-link",
    "loss-bound",
    "unimportant",
    "loss-budget",
    "layer-queues",
    "parts",
    "skip",
    // job timing
    "iterations",
    "start",
    "jitter",
    "weight",
    "priority",
    // plans
    "variant",
    "rounds",
    "collectives",
    "judge",
    "strategy",
    // models
    "batch",
    "optimizer",
    "tables",
    "memory",
    "intra-server-rate",
    "stack",
    "overlap",
    "search",
    "budget",
    // search
    "method",
    "simplex",
    "effort",
    // serving studies
    "requests",
    "traces",
    "until",
    "count",
    "processors",
    "cores",
    "clock",
    "datapath",
    "objective",
    "idle-power",
    "granularity",
    // all
    "seed",
};

// Files, or words of which some are files.
static const char *const files[] = {
    "cluster", "groups", "model", "plan", "profile", "shifts", "topology", // parameters
    "flows",   "job",    "load",                                           // arguments
};

// Why an option of the verb is no parameter of a scenario.
static const struct {
    const char *key;
    const char *why;
} refused[] = {
    {"output", "results are lines of the sweep's own -o"},
    {"json", "results are JSON as it is"},
    {"threads", "write weft sweep --threads; a scenario has one"},
    {"quiet", "write weft sweep --quiet"},
    {"help", "it runs nothing"},
    {"version", "it runs nothing"},
    {"fabrics", "it runs nothing"},
    {"seconds", "a clock makes no two runs equal; write effort"},
    {"report", "scenarios write no files; run the one that you want drawn"},
    {"flow-records", "scenarios write no files; run the one whose flows you want to see"},
    {"series", "scenarios write no files; run the one whose links you want to see"},
    {"every", "scenarios write no files; run the one whose links you want to see"},
    {"trace", "scenarios write no files; run the one that you want to see"},
    {"step", "scenarios write no files; run the one that you want drawn"},
    {"snapshot", "scenarios write no files; run the one whose job you want to see"},
    {"job-name", "scenarios write no files; run the one whose job you want to see"},
    {"progress", "the sweep tells how far it is"},
    {"loads", "write the rates as values of rate"},
};
enum {
    VALUES = sizeof values / sizeof values[0],
    FILES = sizeof files / sizeof files[0],
    REFUSED = sizeof refused / sizeof refused[0],
};

static bool has_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i < count;
}

bool sweep_names_file(const char *name)
{
    return has_name(files, FILES, name);
}

bool sweep_allows(const char *name)
{
    return has_name(values, VALUES, name) || sweep_names_file(name);
}

const char *sweep_refusal(const char *key)
{
    for (size_t i = 0; i < REFUSED; i++) {
        if (strcmp(key, refused[i].key) == 0) {
            return refused[i].why;
        }
    }
    return NULL;
}

// The nearest of what a key may have meant.
struct nearest {
    const char *name;
    uint32_t distance;
};

static void see(struct nearest *nearest, const char *key, const char *name)
{
    uint32_t away = weft_word_edits(key, strlen(key), name);
    if (away < nearest->distance) {
        *nearest = (struct nearest){name, away};
    }
}

const char *sweep_nearest(const struct sweep_verb *verb, const char *key)
{
    struct nearest nearest = {.distance = 3};
    for (const struct weft_parameter_group *group = verb->groups; group->rows != NULL; group++) {
        for (size_t i = 0; i < group->count; i++) {
            see(&nearest, key, group->rows[i].name);
        }
    }
    for (size_t i = 0; i < REFUSED; i++) {
        see(&nearest, key, refused[i].key);
    }
    return nearest.name;
}

bool sweep_knows_all(const struct sweep_verb *verb)
{
    for (const struct weft_parameter_group *group = verb->groups; group->rows != NULL; group++) {
        for (size_t i = 0; i < group->count; i++) {
            const char *name = group->rows[i].name;
            if (!sweep_allows(name) && sweep_refusal(name) == NULL) {
                return false;
            }
        }
    }
    return true;
}
