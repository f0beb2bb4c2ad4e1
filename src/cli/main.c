// SPDX-License-Identifier: Apache-2.0
// The program weft: finds the verb in the table below and runs it behind the door (door.c), which
// turns a refusal of memory into an error. A new verb is a row here, with the summary that weft
// help shows.

#include "cli.h"

#include <signal.h>
#include <string.h>

static int help(int argc, char **argv);

static const struct cli_entry entries[] = {
    {"init", "write a commented cluster file, to be changed and planned on", cli_init},
    {"models", "the models known by name, or one operator by operator", cli_models},
    {"help", "explain a verb", help},
    {"version", "print the version", cli_version},
    {"compare", "one job on every reference fabric: time, cost, power, load", cli_compare},
    {"fabrics", "the reference fabrics of a cluster, counted and priced", cli_fabrics},
    {"plan", "plan a fabric for a job: links, rings, routes, circuits and a certificate", cli_plan},
    {"strategy", "how a model is split and placed on a given fabric", cli_strategy},
    {"topology", "find a topology and its hops, without playing a job", cli_topology},
    {"check", "verify everything that a plan claims", cli_check},
    {"diff", "what two plans have differently: links, strategy, times, bill", cli_diff},
    {"export", "a plan as DOT, circuits, routing scripts or task graph", cli_export},
    {"simulate", "play jobs or flows on a fabric", cli_simulate},
    {"sweep", "many simulations or plans of a grid, over threads and machines", cli_sweep},
    {"collective", "schedules of AllReduce and its kin, chunk by chunk", cli_collective},
    {"optics", "circuits of optical switches and wavelengths of rings, chosen for a demand",
     cli_optics},
    {"photonic", "neural networks computed by light: compile, run, serve, study", cli_photonic},
    {"traffic", "what a job demands of the network: groups, transfers, heat map", cli_traffic},
    {"train", "a small net whose gradients lose segments: what that costs its accuracy", cli_train},
    {"profile", "what each operator of a model costs: measured or by the roofline", cli_profile},
    {"interleave", "when jobs that share links should start, so that their bursts miss each other",
     cli_interleave},
    {"schedule", "many jobs on one cluster over time: placement, sharing, failures", cli_schedule},
    {"lab", "a plan or contending jobs on this machine's kernel, with real sockets", cli_lab},
    {"cc", "MLTCP as a congestion control of this kernel: load, status, tune, unload", cli_cc},
    {"reproduce", "published claims run again: theirs, ours, and whether they hold", cli_reproduce},
    {NULL, NULL, NULL},
};

static int help(int argc, char **argv)
{
    return cli_help(entries, argc, argv);
}

static const struct cli_entry *find_verb(const char *name)
{
    for (const struct cli_entry *entry = entries; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    // A full quota shows as a failed write, which is reported and leaves no half file.
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        fprintf(stderr, "weft: which verb? try weft help\n");
        return CLI_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = "help";
    } else if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    const struct cli_entry *entry = find_verb(name);
    if (entry == NULL) {
        struct weft_error error;
        const char *near = cli_meant(name, entries);
        if (name[0] == '-') {
            fprintf(stderr, "weft: a verb stands first, its options behind it; see weft help\n");
            return CLI_EXIT_USAGE;
        }
        weft_fail(&error, WEFT_INPUT, "'%.40s' is no verb; %s%s", name,
                  near != NULL ? "do you mean weft " : "see weft help", near != NULL ? near : "");
        fprintf(stderr, "weft: %s%s\n", error.message, near != NULL ? "?" : "");
        return CLI_EXIT_USAGE;
    }
    char program[64];
    snprintf(program, sizeof program, "weft %s", name);
    return cli_door(entry->main, program, argc - 1, argv + 1);
}
