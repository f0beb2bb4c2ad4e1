// SPDX-License-Identifier: Apache-2.0
// weft optics change: from one matrix of circuits to another.

#include "optics.h"

#define PORTS_MAX 4096u
// Nodes whose switches the text shows; --json has all.
#define NODES_SHOWN 32u
#define DARK_PS 25000000000u // a piezo switch (MixNet, SIGCOMM 2025, table 2)

enum { KEY_PORTS = 1, KEY_DARK_TIME, KEY_DUPLEX, KEY_STAGGER };

static const struct argp_option options[] = {
    {"ports", KEY_PORTS, "Q", 0, "of every node, one on each of Q switches", 0},
    {"dark-time", KEY_DARK_TIME, "TIME", 0, "of a port that changes (25ms)", 0},
    {"duplex", KEY_DUPLEX, NULL, 0, "circuits carry both ways; the matrices are symmetric", 0},
    {"stagger", KEY_STAGGER, NULL, 0,
     "one switch after the other, so that at most 1/Q of the ports are dark", 0},
    {0},
};

static const char doc[] =
    "Says which ports move on which switch to get from the circuits of one matrix to those of "
    "another, so that few do: a port that keeps its peer carries on. Each change takes 0.1 ms of "
    "command, in which the old circuits carry, and the dark time.\v"
    "FROM and TO have n lines of n counts of circuits. With --stagger switches change in the order "
    "that cuts off the fewest pairs.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics change before.txt after.txt --ports 4\n"
    "  $ weft optics change before.txt after.txt --ports 4 --stagger --dark-time 10ms --json\n";

struct change_input {
    struct cli *cli;
    struct weft_change_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct change_input *input = state->input;
    struct weft_change_request *request = &input->request;
    switch (key) {
    case KEY_PORTS:
        return cli_count(input->cli, &request->ports, "ports", argument, 1, PORTS_MAX);
    case KEY_DARK_TIME:
        return cli_value(input->cli,
                         weft_parse_time(&request->delays.dark_ps, argument, &input->cli->error),
                         "dark-time");
    case KEY_DUPLEX:
        request->duplex = true;
        return 0;
    case KEY_STAGGER:
        request->stagger = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(input->cli, request->from == NULL ? &request->from : &request->to, argument,
                        "matrix");
    case ARGP_KEY_END:
        if (request->to == NULL) {
            return cli_usage(input->cli, "from which matrix to which? write %s FROM TO --ports Q",
                             input->cli->program);
        }
        return request->ports > 0
                   ? 0
                   : cli_usage(input->cli, "how many ports has a node? write --ports Q");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_changes(struct cli *cli, const struct weft_change_result *result)
{
    const struct weft_circuit_schedule *schedule = &result->schedule;
    uint32_t n = result->node_count;
    for (uint32_t c = 0; c < schedule->change_count; c++) {
        const struct weft_circuit_change *change = &schedule->changes[c];
        const uint32_t *before = &result->before[(size_t)change->plane * n];
        char start[WEFT_UNIT_TEXT];
        cli_say(cli, "%8s  switch %u:", weft_show_time(start, change->start_ps), change->plane);
        for (uint32_t i = 0; i < n; i++) {
            if (before[i] == change->peers[i]) {
                continue;
            }
            cli_say(cli, before[i] == i ? " %u -" : " %u %u", i, before[i]);
            cli_say(cli, change->peers[i] == i ? ">-" : ">%u", change->peers[i]);
        }
        cli_say(cli, "\n");
    }
}

static void print(struct cli *cli, const struct weft_change_result *result)
{
    const struct weft_circuit_stagger *stagger = &result->stagger;
    uint32_t ports = result->node_count * result->plane_count;
    char time[WEFT_UNIT_TEXT];
    cli_say(cli, "%u of %u ports move, %u carry on", result->moved, ports, ports - result->moved);
    if (!result->duplex) {
        cli_say(cli,
                result->moved == result->bound ? " (proved fewest)" : " (at least %u have to move)",
                result->bound);
    }
    cli_say(cli, "; all is lit after %s\n", weft_show_time(time, stagger->end_ps));
    cli_say(cli, "pairs with circuits before and after that are cut off for a time: %u%s\n",
            stagger->cut_single + stagger->cut_double,
            stagger->is_proved ? "" : " (the order is a heuristic's)");
    if (result->node_count > NODES_SHOWN) {
        cli_say(cli, "--json has the changes\n");
    } else if (stagger->count > 0) {
        cli_say(cli, "\n   start  ports that move: port, old peer>new peer, - idle\n");
        print_changes(cli, result);
    }
}

int optics_change(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics change",
        .arguments = "FROM TO",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct change_input input = {.cli = &cli, .request = {.delays = WEFT_CIRCUIT_IDEAL(DARK_PS)}};
    struct weft_change_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_change(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_change_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
