// SPDX-License-Identifier: Apache-2.0
// weft simulate: plays jobs or flows on a fabric.

#include "simulate.h"

enum {
    KEY_FABRIC = 1,
    KEY_PLAN,
    KEY_RADIX,
    KEY_OVERSUBSCRIPTION,
    KEY_NAMES,
    KEY_ACKNOWLEDGED,
    KEY_ROUNDS,
    KEY_TOPOLOGY,
    KEY_SHARING,
    KEY_SHIFTS,
    KEY_REALIGN,
    KEY_ROOT,
    KEY_STEPS,
};

static const struct argp_option options[] = {
    {"fabric", KEY_FABRIC, "F", 0, "the fabric (ideal); --fabrics lists them; file: the job's own",
     0},
    {"plan", KEY_PLAN, "PLAN.json", 0,
     "the fabric, routes and rings of a plan, for its job; a plan made for a model brings the job",
     0},
    {"topology", KEY_TOPOLOGY, "FILE.topo", 0, "a Fat-tree by its tiers, as htsim has it", 0},
    {"fabrics", KEY_NAMES, NULL, 0, "list the fabrics", 0},
    {"radix", KEY_RADIX, "K", 0, "ports of a switch (the smallest that fits)", 0},
    {"acknowledged", KEY_ACKNOWLEDGED, NULL, 0, "a transfer ends when its sender knows", 0},
    {"all-rounds", KEY_ROUNDS, NULL, 0,
     "an AllReduce takes 2(k-1) rounds even with less than a packet for each member", 0},
    {"sharing", KEY_SHARING, "WAY", 0,
     "how a snapshot's jobs share links: fair, unfair:60/40, mltcp", 0},
    {"shifts", KEY_SHIFTS, "FILE.json", 0,
     "a snapshot's jobs begin at the time-shifts that weft interleave --json found; find: at those "
     "that it would find",
     0},
    {"realign", KEY_REALIGN, "RATIO", 0,
     "a snapshot's job that is ahead of the others by more than this of its iteration waits (0: "
     "never)",
     0},
    {"mltcp-root", KEY_ROOT, NULL, 0, "of the flow engine: shares follow the root of growth", 0},
    {"mltcp-steps", KEY_STEPS, "N", 0,
     "of the flow engine: steps of a share over an iteration's bytes (256)", 0},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "X", 0, "ports down for each port up at a leaf", 0},
    {0},
};

static const char doc[] =
    "Plays one training iteration of each job, or a list of flows, on a fabric. Every flow gets "
    "its max-min fair rate or, with --engine packet, what its packets make of queues and windows; "
    "an AllReduce runs its rounds along the rings; a device does one task at a "
    "time.\v"
    "A job is a TopoOpt task graph (FILE.fbuf), a Chakra trace (PREFIX of PREFIX.<rank>.et,\n"
    "PREFIX.%r.et, or a folder that holds one), a traffic matrix of htsim (FILE.cm) or a GOAL\n"
    "schedule, text or binary (FILE.goal, FILE.bin); a rank, a node is a server.\n"
    "\n"
    "A snapshot (FILE.json, as weft interleave takes it) says what jobs ask of which links. Its\n"
    "jobs play 60 iterations, the first ones 1 ms after each other (at most a hundredth of the\n"
    "shortest iteration) unless --start, --shifts or the file say otherwise; the later half "
    "counts.\n"
    "\n"
    "Flows:\n"
    "  allreduce:SIZE            one ring over all servers; SIZE on each of them\n"
    "  permutation:SIZE:SEED     from every server to another one\n"
    "  alltoall:SIZE             from every server to every other one\n"
    "  poisson:MEAN:load=L:count=C:SEED   random pairs, random sizes\n"
    "\n"
    "A Poisson load L of 1 is what the ports of all servers carry. "
    "--rate is the rate of a server's NIC on switched fabrics (one NIC, unless --degree says more) "
    "and of each port on direct ones (--degree: 2 for a ring, 4 for others). Jobs use packets of "
    "9000 bytes, 64 of them header, and one round for an AllReduce of less than a packet for each "
    "member; flows are fluid unless --mtu or --engine packet says otherwise. Several jobs stand "
    "side by side on one fabric, in the order given.\n"
    "\n"
    "Examples:\n"
    "  $ weft simulate job.fbuf --fabric ideal --rate 100Gbps\n"
    "  $ weft simulate job.fbuf --fabric file --rate 25Gbps --json\n"
    "  $ weft simulate job.fbuf --plan plan.json\n"
    "  $ weft simulate --plan plan-of-a-model.json\n"
    "  $ weft simulate job.fbuf --rate 400Gbps --engine packet --transport dctcp\n"
    "  $ weft simulate permutation:10MB:1 --fabric leaf-spine --servers 128 --rate 400Gbps \\\n"
    "      --engine packet --mtu 4160 --trace t.pftrace\n"
    "  $ weft simulate a.fbuf b.fbuf --fabric fat-tree --servers 432 --rate 100Gbps\n"
    "  $ weft simulate a.fbuf b.fbuf --rate 100Gbps --engine packet --persistent \\\n"
    "      --transport mltcp-reno --iterations 50 --start 0,1ms --jitter 0.01\n"
    "  $ weft simulate traces/step --rate 400Gbps --accelerator H100\n"
    "  $ weft simulate perm.cm --topology leaf_spine.topo --engine packet --mtu 4096\n"
    "  $ weft simulate jobs.json --sharing mltcp --json\n"
    "  $ weft simulate jobs.json --sharing unfair:60/40 --engine packet --transport dcqcn\n"
    "  $ weft simulate allreduce.goal --fabric fat-tree --rate 200Gbps\n"
    "  $ weft simulate allreduce:100MB --fabric ring --servers 64 --rate 400Gbps\n";

static error_t list_fabrics(struct simulate *simulate)
{
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    for (uint32_t i = 0; i < count; i++) {
        cli_say(simulate->cli, "%-16s %s\n", references[i].name, references[i].summary);
    }
    cli_say(simulate->cli, "%-16s %s\n", "file",
            "the topology, routes and rings in the job's file");
    return 0;
}

static error_t take_path(struct simulate *simulate, const char *path)
{
    if (simulate->path_count == SIMULATE_JOBS_MAX) {
        return cli_usage(simulate->cli, "'%.100s': at most %d jobs", path, SIMULATE_JOBS_MAX);
    }
    simulate->paths[simulate->path_count++] = path;
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct simulate *simulate = state->input;
    struct cli *cli = simulate->cli;
    switch (key) {
    case KEY_FABRIC:
        simulate->fabric_given = true;
        simulate->fabric = argument;
        return 0;
    case KEY_PLAN:
        return cli_take(cli, &simulate->plan_path, argument, "plan");
    case KEY_TOPOLOGY:
        return cli_take(cli, &simulate->topology_path, argument, "--topology");
    case KEY_ACKNOWLEDGED:
        simulate->packets.acknowledged = true;
        return 0;
    case KEY_ROUNDS:
        simulate->all_rounds = true;
        return 0;
    case KEY_NAMES:
        return list_fabrics(simulate);
    case KEY_SHARING:
        simulate->sharing.way = argument;
        return 0;
    case KEY_SHIFTS:
        simulate->sharing.shifts = argument;
        return 0;
    case KEY_REALIGN:
        simulate->sharing.realign = argument;
        return 0;
    case KEY_ROOT:
        simulate->sharing.root = true;
        return 0;
    case KEY_STEPS:
        return cli_count(cli, &simulate->sharing.steps, "mltcp-steps", argument, 1, 1u << 20);
    case KEY_RADIX:
        return cli_count(cli, &simulate->shape.radix, "radix", argument, 2, 4096);
    case KEY_OVERSUBSCRIPTION:
        return cli_value(
            cli,
            weft_parse_number(&simulate->shape.oversubscription, argument, 1, 1000, &cli->error),
            "oversubscription");
    case ARGP_KEY_ARG:
        return take_path(simulate, argument);
    case ARGP_KEY_END:
        if (simulate->path_count == 0 && simulate->plan_path == NULL && cli->text.length == 0) {
            return cli_usage(cli, "what? write %s FILE.fbuf --fabric ideal --rate 100Gbps",
                             cli->program);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool simulate_network(struct simulate *simulate, uint32_t server_count)
{
    struct cli *cli = simulate->cli;
    if (simulate->topology_path != NULL) {
        return simulate_use_topology(simulate, server_count);
    }
    if (cli->loaded.failure_count > 0) {
        return cli_misuse(cli,
                          "the matrix breaks cables of a Fat-tree; write --topology FILE.topo");
    }
    simulate->shape.seed = cli->seed;
    simulate->network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    return cli_network(simulate->network, &simulate->cluster, cli, simulate->fabric, server_count,
                       &simulate->shape);
}

static void set_counts(json_t *object, const struct weft_packet_counts *counts)
{
    cli_set_count(object, "packets", counts->packets);
    cli_set_count(object, "drops", counts->drops);
    cli_set_count(object, "ecn_marks", counts->ecn_marks);
    cli_set_count(object, "retransmits", counts->retransmits);
    cli_set_count(object, "timeouts", counts->timeouts);
    cli_set_count(object, "trims", counts->trims);
    cli_set_count(object, "pauses", counts->pauses);
}

json_t *simulate_object(struct simulate *simulate, const struct weft_sim_result *result)
{
    const struct weft_fabric *fabric = &simulate->network->fabric;
    double largest_bytes = 0;
    double total_bytes = 0;
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        double bytes = result->link_bytes[i];
        largest_bytes = bytes > largest_bytes ? bytes : largest_bytes;
        total_bytes += bytes;
    }
    bool is_packet = simulate->packets.engine == WEFT_ENGINE_PACKET;
    json_t *object = cli_object("weft.simulation/1");
    cli_set_text(object, "fabric", simulate->fabric);
    cli_set_count(object, "servers", fabric->server_count);
    cli_set_count(object, "links", fabric->link_count);
    cli_set_count(object, "flows", result->flow_count);
    cli_set_text(object, "engine", is_packet ? "packet" : "flow");
    cli_set_text(object, "transport", weft_transport_name(simulate->packets.transport));
    cli_set_count(object, "events", result->event_count);
    if (is_packet) {
        set_counts(object, &result->packets);
        if (simulate->packets.parts > 0) {
            cli_set_count(object, "parts", result->part_count);
        }
        simulate_tell_drops(simulate, object, result);
    }
    cli_set_count(object, "solves", result->solve_count);
    cli_set_real(object, "max_link_load_bytes", largest_bytes);
    cli_set_real(object, "mean_link_load_bytes",
                 fabric->link_count > 0 ? total_bytes / fabric->link_count : 0);
    return object;
}

void simulate_headline(const struct simulate *simulate)
{
    const struct weft_fabric *fabric = &simulate->network->fabric;
    char unit[WEFT_UNIT_TEXT];
    cli_say(simulate->cli, "%s: %u servers, %u links, %s a port\n", simulate->fabric,
            fabric->server_count, fabric->link_count,
            weft_show_rate(unit, simulate->cluster.rate_Bps));
}

void simulate_last_line(struct simulate *simulate, const struct weft_sim_result *result)
{
    struct cli *cli = simulate->cli;
    const struct weft_packet_counts *counts = &result->packets;
    if (simulate->packets.engine == WEFT_ENGINE_PACKET) {
        cli_say(cli, "%s: %llu packets, %llu drops, %llu marked, %llu sent again, %llu timeouts\n",
                weft_transport_name(simulate->packets.transport),
                (unsigned long long)counts->packets, (unsigned long long)counts->drops,
                (unsigned long long)counts->ecn_marks, (unsigned long long)counts->retransmits,
                (unsigned long long)counts->timeouts);
        simulate_tell_drops(simulate, NULL, result);
    }
    if (simulate->packets.parts > 0) {
        cli_say(cli, "played in %u of %u parts\n", result->part_count, simulate->packets.parts);
    }
    cli_say(cli, "%llu flows, %llu events, %.3f s\n", (unsigned long long)result->flow_count,
            (unsigned long long)result->event_count, cli_elapsed_s(cli));
}

static bool run(struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    if (simulate->path_count == 0) {
        // The plan's own job, or the list of fabrics.
        return simulate->plan_path == NULL || simulate_jobs(simulate);
    }
    if (simulate_is_snapshot(simulate)) {
        return simulate_refuse_snapshot(simulate) && simulate_sharing(simulate);
    }
    if (!simulate_refuse_sharing(simulate)) {
        return false;
    }
    struct weft_flows_spec spec;
    bool matches = false;
    if (!weft_flows_parse(&spec, &matches, simulate->paths[0], &cli->error)) {
        return false;
    }
    if (!matches) {
        return simulate_jobs(simulate);
    }
    if (simulate->plan_path != NULL) {
        return cli_misuse(cli, "--plan takes a job's file, not '%.60s'", simulate->paths[0]);
    }
    if (simulate->path_count > 1) {
        return cli_misuse(cli, "'%.60s' stands alone; flows and jobs do not mix",
                          simulate->paths[0]);
    }
    return simulate_refuse_snapshot(simulate) && simulate_flows(simulate, &spec);
}

static void ready(void *input, struct cli *cli)
{
    *(struct simulate *)input = (struct simulate){.cli = cli, .fabric = "ideal"};
}

static bool run_input(void *input)
{
    return run(input);
}

const struct cli_runner simulate_runner = {
    .verb =
        {
            .name = "weft simulate",
            .arguments = "JOB... --rate R\nFLOWS --servers N --rate R\nSNAPSHOT.json --sharing WAY",
            .doc = doc,
            .options = options,
            .parser = parse,
            .groups = CLI_HARDWARE | CLI_TRACE | CLI_PACKETS | CLI_PACES | CLI_RECORDS,
        },
    .input_bytes = sizeof(struct simulate),
    .ready = ready,
    .run = run_input,
};

int cli_simulate(int argc, char **argv)
{
    return cli_run(&simulate_runner, argc, argv);
}
