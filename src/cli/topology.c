// SPDX-License-Identifier: Apache-2.0
// weft topology: the algorithm side alone, a topology for uniform demand or for a job's traffic,
// without playing the job. The options become a request of weft/request/topology.h; the text shows
// the Moore bounds beside what was found.

#include "weft/request/topology.h"
#include "cli.h"
#include "weft/graph.h"

// What the options say.
struct options {
    struct cli *cli;
    struct weft_topology_request request;
};

enum { KEY_UNIFORM = 1, KEY_LINKS };

static const struct argp_option options[] = {
    {"uniform", KEY_UNIFORM, NULL, 0,
     "every pair of servers demands the same, so that all ports go to rings", 0},
    {"links", KEY_LINKS, NULL, 0, "list the planes, too: the server that each port sends to", 0},
    {0},
};

static const char doc[] =
    "Finds which server each port of every server is joined to, and says how far apart the servers "
    "are then. A topology is D optical planes; each plane is a permutation of the servers, so that "
    "D "
    "optical switches or patch panels can hold it.\v"
    "mean_hops is the mean number of links between two servers, over all ordered pairs; "
    "moore_mean_hops is the least that any network with as many ports can have; generators (method "
    "topoopt) are the jumps p of the rings i -> i + p; demand_weighted_hops, of a job, is the mean "
    "over the bytes of its transfers.\n"
    "\n"
    "Examples:\n"
    "  $ weft topology --servers 128 --degree 4 --uniform\n"
    "  $ weft topology --servers 16 --degree 3 --uniform --method topoopt --simplex\n"
    "  $ weft topology job.fbuf cluster.yaml\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *input = state->input;
    switch (key) {
    case KEY_UNIFORM:
        input->request.uniform = true;
        return 0;
    case KEY_LINKS:
        input->request.links = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.path, argument, "job");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The topology beside its bounds; with --links the planes, a line each.
static void print(struct cli *cli, const struct weft_topology_result *result,
                  const struct weft_topology_request *request)
{
    const struct weft_topology *topology = &result->topology;
    cli_say(cli, "%u servers, %u ports each, %s\n", topology->server_count, topology->degree,
            topology->simplex ? "simplex" : "duplex");
    cli_say(cli, "mean hops   %.4f (no network has less than %.4f: %+.1f %%)\n",
            topology->mean_hops, result->moore_mean_hops,
            100 * (topology->mean_hops / result->moore_mean_hops - 1));
    cli_say(cli, "diameter    %u (no network has less than %u)\n", topology->diameter,
            result->moore_diameter);
    if (!request->uniform) {
        cli_say(cli, "transfers   %.4f hops, weighted by bytes\n", result->demand_hops);
    }
    cli_say(cli, "ports       %u for rings, %u for transfers\n", topology->allreduce_degree,
            topology->degree - topology->allreduce_degree);
    if (topology->generator_count > 0) {
        cli_say(cli, "generators ");
        for (uint32_t i = 0; i < topology->generator_count; i++) {
            cli_say(cli, " %u", topology->generators[i]);
        }
        cli_say(cli, "\n");
    }
    cli_say(cli, "search      %llu steps in %.2f s%s\n", (unsigned long long)topology->steps,
            result->wall_s, topology->stopped ? ", ended by the clock" : "");
    for (uint32_t p = 0; request->links && p < topology->degree; p++) {
        cli_say(cli, "plane %u    ", p);
        for (uint32_t i = 0; i < topology->server_count; i++) {
            cli_say(cli, " %u", topology->planes[(size_t)p * topology->server_count + i]);
        }
        cli_say(cli, "\n");
    }
}

// The search is under the clock: Ctrl-C and --seconds end it, and the best so far is the result.
int cli_topology(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft topology",
        .arguments = "JOB [CLUSTER.yaml]\n--uniform --servers N --degree D",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_SEARCH,
        .servers_max = WEFT_GRAPH_UNREACHED - 1,
    };
    struct cli cli;
    struct options input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    struct weft_topology_request *request = &input.request;
    request->hardware = cli.given.hardware;
    request->search = cli.given.search;
    struct weft_topology_result result;
    struct weft_request_environment *environment = cli_environment(&cli, cli_clock_watch(&cli));
    bool found = weft_request_topology(&result, request, environment);
    cli_clock_stop(&cli);
    if (!found) {
        return cli_finish(&cli, false);
    }
    result.wall_s = cli_elapsed_s(&cli);
    if (cli.json) {
        cli_say(&cli, "%s", weft_request_topology_json(&result, request, &cli.arena));
    } else {
        print(&cli, &result, request);
    }
    return cli_finish(&cli, true);
}
