// SPDX-License-Identifier: Apache-2.0
// weft lab check: sends probes from every server to every other in a lab that stands, hop by hop,
// and compares who answers with the planned paths. The lab's wiring is derived from its state
// again, so that the verb needs no plan; runtime/testbed/probe.c sends the probes.

#include "lab.h"
#include "request/json/json.h"

#include "runtime/testbed/probe.h"

struct request {
    struct cli *cli;
    const char *name;
    uint32_t flow_count;
};

enum { KEY_FLOWS = 1 };

static const struct argp_option options[] = {
    {"flows", KEY_FLOWS, "N", 0,
     "flows that a pair of servers sends, which divide over its paths (8)", 0},
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Sends probes from every server to every other, hop by hop, and compares who answers with the "
    "planned paths. Exits 1 when a probe is lost or strays.\v"
    "Examples:\n"
    "  $ weft lab up plan.json\n"
    "  $ weft lab check\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_FLOWS:
        return cli_count(request->cli, &request->flow_count, "flows", argument, 1, 64);
    case LAB_NAME:
        return lab_take_name(request->cli, &request->name, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *describe(const struct weft_lab *lab, const struct weft_lab_report *report)
{
    json_t *object = weft_set_object("weft.lab-check/1");
    weft_set_text(object, "name", lab->name);
    weft_set_count(object, "pairs", report->pair_count);
    weft_set_count(object, "reached", report->reached_count);
    weft_set_count(object, "flows", report->flow_count);
    weft_set_count(object, "lost", report->lost_count);
    weft_set_count(object, "strayed", report->strayed_count);
    weft_set_real(object, "mean_hops", report->mean_hops);
    weft_set_count(object, "max_hops", report->max_hops);
    weft_set_count(object, "next_hops", report->way_count);
    weft_set_count(object, "next_hops_used", report->used_count);
    weft_set_text(object, "first", report->first);
    return object;
}

// Loads the lab, probes it and prints the counts. Exits 1 where a pair was not reached as planned:
// the answer is no, and not a failure of the verb.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    struct weft_lab_wiring wiring;
    struct weft_lab_report report;
    if (!weft_lab_load(lab, request->name, cli->scratch, &cli->error) ||
        !weft_lab_rewire(&wiring, lab, &cli->arena, cli->scratch, &cli->error) ||
        !weft_lab_probe(&report, lab, &wiring, request->flow_count, cli->scratch, &cli->error)) {
        return false;
    }
    bool fine = report.reached_count == report.pair_count;
    cli->exit_code = fine ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s", weft_set_finish(describe(lab, &report), &cli->arena));
        return true;
    }
    cli_say(cli, "%u of %u pairs reached as planned; %.3f hops on average, %u at most\n",
            report.reached_count, report.pair_count, report.mean_hops, report.max_hops);
    cli_say(cli, "%llu flows: %llu lost, %llu strayed", (unsigned long long)report.flow_count,
            (unsigned long long)report.lost_count, (unsigned long long)report.strayed_count);
    if (report.way_count > 0) {
        cli_say(cli, "; they took %llu of %llu planned next hops",
                (unsigned long long)report.used_count, (unsigned long long)report.way_count);
    }
    cli_say(cli, "\n%s%s", report.first, report.first[0] != '\0' ? "\n" : "");
    return true;
}

int lab_check_routes(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab check",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli, .name = WEFT_LAB_DEFAULT, .flow_count = 8};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
