// SPDX-License-Identifier: Apache-2.0
// weft topology: the algorithm side alone, for uniform demand or a job's traffic.

#include "cli.h"
#include "weft/format.h"
#include "weft/workload.h"

struct request {
    struct cli *cli;
    const char *path;
    bool uniform;
    bool links;
    double demand_hops; // of a job's transfers, by shortest paths
};

enum { KEY_UNIFORM = 1, KEY_LINKS };

static const struct argp_option options[] = {
    {"uniform", KEY_UNIFORM, NULL, 0, "every pair asks the same: all ports to rings", 0},
    {"links", KEY_LINKS, NULL, 0, "list the planes, too: to which server each port sends", 0},
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
    "  $ weft topology job.fbuf --degree 4\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_UNIFORM:
        request->uniform = true;
        return 0;
    case KEY_LINKS:
        request->links = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(request->cli, &request->path, argument, "task graph");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *generators_of(const struct weft_topology *topology)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < topology->generator_count; i++) {
        json_array_append_new(list, json_integer(topology->generators[i]));
    }
    return list;
}

static json_t *planes_of(const struct weft_topology *topology)
{
    json_t *planes = json_array();
    for (uint32_t p = 0; p < topology->degree; p++) {
        json_t *plane = json_array();
        const uint32_t *to = topology->planes + (size_t)p * topology->server_count;
        for (uint32_t i = 0; i < topology->server_count; i++) {
            json_array_append_new(plane, json_integer(to[i]));
        }
        json_array_append_new(planes, plane);
    }
    return planes;
}

static void tell_json(const struct request *request, const struct weft_topology *topology,
                      double moore_mean_hops, uint32_t moore_diameter)
{
    struct cli *cli = request->cli;
    json_t *object = cli_object("weft.topology/1");
    cli_set_count(object, "servers", topology->server_count);
    cli_set_count(object, "degree", topology->degree);
    cli_set_text(object, "method",
                 cli->search.method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft");
    cli_set_truth(object, "simplex", topology->simplex);
    cli_set_count(object, "seed", cli->seed);
    cli_set_real(object, "mean_hops", topology->mean_hops);
    cli_set_count(object, "diameter", topology->diameter);
    if (!request->uniform) {
        cli_set_real(object, "demand_weighted_hops", request->demand_hops);
    }
    cli_set_real(object, "moore_mean_hops", moore_mean_hops);
    cli_set_count(object, "moore_diameter", moore_diameter);
    cli_set_count(object, "allreduce_degree", topology->allreduce_degree);
    cli_set(object, "generators", generators_of(topology));
    if (request->links) {
        cli_set(object, "planes", planes_of(topology));
    }
    cli_set_count(object, "steps", topology->steps);
    cli_set_truth(object, "stopped", topology->stopped);
    cli_set_real(object, "wall_s", cli_elapsed_s(cli));
    cli_json(cli, object);
}

static void tell(const struct request *request, const struct weft_topology *topology,
                 double moore_mean_hops, uint32_t moore_diameter)
{
    struct cli *cli = request->cli;
    cli_say(cli, "%u servers, %u ports each, %s\n", topology->server_count, topology->degree,
            topology->simplex ? "simplex" : "duplex");
    cli_say(cli, "mean hops   %.4f (no network has less than %.4f: %+.1f %%)\n",
            topology->mean_hops, moore_mean_hops,
            100 * (topology->mean_hops / moore_mean_hops - 1));
    cli_say(cli, "diameter    %u (no network has less than %u)\n", topology->diameter,
            moore_diameter);
    if (!request->uniform) {
        cli_say(cli, "transfers   %.4f hops, weighted by bytes\n", request->demand_hops);
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
            cli_elapsed_s(cli), topology->stopped ? ", ended by the clock" : "");
    for (uint32_t p = 0; request->links && p < topology->degree; p++) {
        cli_say(cli, "plane %u    ", p);
        for (uint32_t i = 0; i < topology->server_count; i++) {
            cli_say(cli, " %u", topology->planes[(size_t)p * topology->server_count + i]);
        }
        cli_say(cli, "\n");
    }
}

// Hops that the transfers of a job need at least on the links of a topology.
static bool count_demand_hops(struct request *request, const struct weft_topology *topology,
                              const struct weft_traffic *traffic)
{
    struct cli *cli = request->cli;
    struct weft_cluster cluster;
    struct weft_fabric fabric;
    if (!weft_cluster_build(&cluster, topology->server_count, topology->degree, 125e6,
                            &cli->error) ||
        !weft_topology_fabric(&fabric, topology, &cluster, &cli->arena, cli->scratch,
                              &cli->error)) {
        return false;
    }
    request->demand_hops = weft_fabric_demand_hops(&fabric, traffic->transfer_bytes, cli->scratch);
    return true;
}

static bool run(struct request *request)
{
    struct cli *cli = request->cli;
    const struct cli_hardware *hardware = &cli->hardware;
    if (request->uniform == (request->path != NULL)) {
        return cli_misuse(cli, "for which demand? write --uniform, or name a task graph");
    }
    if (hardware->degree == 0) {
        return cli_misuse(cli, "how many ports has a server? write --degree 4");
    }
    if (request->uniform && hardware->server_count == 0) {
        return cli_misuse(cli, "how many servers? write --servers 128");
    }
    uint32_t server_count = hardware->server_count;
    struct weft_traffic traffic;
    if (request->path != NULL) {
        struct weft_fbuf fbuf;
        if (!weft_fbuf_load(&fbuf, request->path, &cli->arena, cli->scratch, &cli->error)) {
            return false;
        }
        weft_traffic_build(&traffic, &fbuf.graph, &cli->arena, cli->scratch);
        server_count = fbuf.graph.server_count;
    }
    struct weft_topology topology;
    weft_stop stop = cli_clock_start(cli, "searching", cli_deadline_s(cli));
    struct weft_topology_options search = cli_topology_options(cli, stop);
    bool found =
        weft_topology_find(&topology, request->uniform ? NULL : &traffic, server_count,
                           hardware->degree, &search, &cli->arena, cli->scratch, &cli->error);
    cli_clock_stop(cli);
    if (!found || (!request->uniform && !count_demand_hops(request, &topology, &traffic))) {
        return false;
    }
    double moore_mean_hops = 0;
    uint32_t moore_diameter = 0;
    weft_fabric_moore(server_count, hardware->degree, topology.simplex, &moore_mean_hops,
                      &moore_diameter);
    if (cli->json) {
        tell_json(request, &topology, moore_mean_hops, moore_diameter);
    } else {
        tell(request, &topology, moore_mean_hops, moore_diameter);
    }
    return true;
}

int cli_topology(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft topology",
        .arguments = "--uniform --servers N --degree D\nFILE.fbuf --degree D",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_SEARCH,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
