// SPDX-License-Identifier: Apache-2.0
// weft lab fail, weft lab mend: cables that lose their light, and get it back. Both verbs parse the
// same arguments (a kind of fault and which one) and differ in one call of runtime/testbed/fault.c.
// A fault stays until it is mended or the lab is taken away. A port that loses packets by chance is
// a fault of its own kind, which leaves carriers alone.

#include "lab.h"
#include "request/json/json.h"

#include "runtime/testbed/fault.h"

#include <string.h>

struct request {
    struct cli *cli;
    const char *name;
    const char *kind;
    const char *which;
    bool mend;
};

static const struct argp_option options[] = {
    LAB_NAME_OPTION,
    {0},
};

static const char fail_doc[] =
    "Takes the light away: from the cable of one port (link SERVER:PORT), from all cables of a "
    "server or of an optical switch (ocs). Or lets a port lose what comes in, packet by packet "
    "with "
    "probability P (loss NODE:PORT:P, w0 is packet switch 0): a gray failure, of which nobody is "
    "told. weft lab status has the counts.\v"
    "Examples:\n"
    "  $ weft lab fail link 3:1\n"
    "  $ weft lab fail ocs 2\n"
    "  $ weft lab fail loss w0:2:1%\n"
    "  $ weft lab mend ocs 2\n";
static const char mend_doc[] =
    "Brings the light back that weft lab fail took, or lets a port lose nothing any more.\v"
    "Examples:\n"
    "  $ weft lab mend link 3:1\n"
    "  $ weft lab mend server 5\n"
    "  $ weft lab mend loss w0:2\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case LAB_NAME:
        return lab_take_name(cli, &request->name, argument);
    case ARGP_KEY_ARG:
        return request->kind == NULL ? cli_take(cli, &request->kind, argument, "kind")
                                     : cli_take(cli, &request->which, argument, "fault");
    case ARGP_KEY_END:
        return request->which != NULL
                   ? 0
                   : cli_usage(cli,
                               "what? write link SERVER:PORT, server S, ocs P or loss NODE:PORT%s",
                               request->mend ? "" : ":P");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Sets the probability of a port's losses, and prints what it lost so far.
static bool run_loss(const struct request *request, const struct weft_lab *lab)
{
    struct cli *cli = request->cli;
    struct weft_lab_loss loss;
    struct classes_loss counts;
    if (!weft_lab_loss_parse(&loss, request->which, request->mend, lab, &cli->error) ||
        !weft_lab_lose(lab, loss.node, loss.port, loss.probability, &cli->error) ||
        !weft_lab_losses(&counts, lab, loss.node, loss.port, &cli->error)) {
        return false;
    }
    if (cli->json) {
        json_t *object = weft_set_object("weft.lab-fault/1");
        weft_set_text(object, "kind", request->kind);
        weft_set_text(object, "which", request->which);
        weft_set_truth(object, "mended", request->mend);
        weft_set_real(object, "probability", loss.probability);
        weft_set_count(object, "packets", counts.packets);
        weft_set_count(object, "lost_packets", counts.lost);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return true;
    }
    cli_say(cli, "loss %s: %g%% of what comes in; so far %llu of %llu packets lost\n",
            request->which, 100 * loss.probability, counts.lost, counts.packets);
    return true;
}

// Takes the light or brings it back, and prints how many cables that touched and how long it took
// by the monotonic clock, which the other processes of a lab measure with, too.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    struct weft_lab_fault fault;
    struct weft_lab_fault_times times;
    if (!weft_lab_load(lab, request->name, cli->scratch, &cli->error)) {
        return false;
    }
    if (strcmp(request->kind, "loss") == 0) {
        return run_loss(request, lab);
    }
    if (!weft_lab_fault_parse(&fault, request->kind, request->which, lab, &cli->error) ||
        !(request->mend ? weft_lab_mend(&times, lab, &fault, &cli->error)
                        : weft_lab_fail(&times, lab, &fault, &cli->error))) {
        return false;
    }
    double seconds = 1e-9 * (double)(times.ended_ns - times.begun_ns);
    if (cli->json) {
        json_t *object = weft_set_object("weft.lab-fault/1");
        weft_set_text(object, "kind", request->kind);
        weft_set_text(object, "which", request->which);
        weft_set_truth(object, "mended", request->mend);
        weft_set_count(object, "cables", times.cable_count);
        weft_set_real(object, "begun_monotonic_s", 1e-9 * (double)times.begun_ns);
        weft_set_real(object, "seconds", seconds);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return true;
    }
    cli_say(cli, "%s %s: %u cable%s %s within %.3f ms\n", request->kind, request->which,
            times.cable_count, times.cable_count == 1 ? "" : "s",
            request->mend ? "lit again" : "dark", 1e3 * seconds);
    return true;
}

static int run_verb(const struct cli_verb *verb, bool mend, int argc, char **argv)
{
    struct cli cli;
    struct request request = {.cli = &cli, .name = WEFT_LAB_DEFAULT, .mend = mend};
    bool fine = cli_parse(&cli, verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}

int lab_fail(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab fail",
        .arguments = "link SERVER:PORT|server S|ocs P|loss NODE:PORT:P",
        .doc = fail_doc,
        .options = options,
        .parser = parse,
    };
    return run_verb(&verb, false, argc, argv);
}

int lab_mend(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab mend",
        .arguments = "link SERVER:PORT|server S|ocs P|loss NODE:PORT",
        .doc = mend_doc,
        .options = options,
        .parser = parse,
    };
    return run_verb(&verb, true, argc, argv);
}
