// SPDX-License-Identifier: Apache-2.0
// weft simulate: plays jobs or flows on a fabric.
//
// The options become a request of weft/request/simulate.h, by the request's own table of
// parameters; its result is written as text or JSON, and the files that were asked for beside it.

#include "simulate.h"

#include "cli/mpi.h"

// What the options say.
struct options {
    struct cli *cli;
    struct weft_simulate_request request;
    const char *loads[WEFT_SIMULATE_LOADS_MAX];
};

// Those of parameters stand together, in any order.
enum {
    KEY_FABRICS = 1,
    KEY_FABRIC,
    KEY_PLAN,
    KEY_TOPOLOGY,
    KEY_RADIX,
    KEY_ACKNOWLEDGED,
    KEY_ROUNDS,
    KEY_SHARING,
    KEY_SHIFTS,
    KEY_REALIGN,
    KEY_ROOT,
    KEY_STEPS,
    KEY_OVERSUBSCRIPTION,
    KEY_ACCELERATORS,
    KEY_SCALE_UP_RATE,
    KEY_SCALE_UP_LATENCY,
    KEY_ONE_PORT,
    KEY_ALGORITHM,
};

static const struct argp_option options[] = {
    {"fabric", KEY_FABRIC, "F", 0, "the fabric (ideal); --fabrics lists them; file: the job's own",
     0},
    {"plan", KEY_PLAN, "PLAN.json", 0,
     "the fabric, routes and rings of a plan, for its job; a plan made for a model brings the job",
     0},
    {"topology", KEY_TOPOLOGY, "FILE", 0,
     "a fabric of your own: a list of edges (CSV or words), GraphML, htsim (.topo), SimAI, HPCC, "
     "Slurm or InfraGraph",
     0},
    {"fabrics", KEY_FABRICS, NULL, 0, "list the fabrics", 0},
    {"radix", KEY_RADIX, "K", 0, "ports of a switch (the smallest that fits)", 0},
    {"acknowledged", KEY_ACKNOWLEDGED, NULL, 0, "a transfer ends when its sender knows", 0},
    {"all-rounds", KEY_ROUNDS, NULL, 0,
     "an AllReduce takes 2(k-1) rounds even with less than a packet for each member", 0},
    {"sharing", KEY_SHARING, "POLICY", 0,
     "how a snapshot's jobs share links: fair, unfair:60/40, mltcp", 0},
    {"shifts", KEY_SHIFTS, "FILE.json", 0,
     "a snapshot's jobs begin at the time-shifts that weft interleave --json found; find: at those "
     "that it would find",
     0},
    {"realign", KEY_REALIGN, "RATIO", 0,
     "a snapshot's job that is ahead of the others by more than this of its iteration waits (0: "
     "never)",
     0},
    {"mltcp-root", KEY_ROOT, NULL, 0,
     "flow engine, with --sharing mltcp: a flow weighs the square root of MLTCP's F(progress), "
     "which "
     "is what windows come to that grow by F and are halved by losses; without it F itself",
     0},
    {"mltcp-steps", KEY_STEPS, "N", 0,
     "flow engine, with --sharing mltcp: in how many steps of its bytes a flow's weight follows "
     "its "
     "progress through an iteration (256)",
     0},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "X", 0, "ports down for each port up at a leaf", 0},
    {"accelerators", KEY_ACCELERATORS, "A", 0,
     "ranks (of flows in words, or the servers of a job's file) are accelerators, A on a switch "
     "inside each server, with a NIC each unless --degree says fewer",
     0},
    {"scale-up-rate", KEY_SCALE_UP_RATE, "R", 0,
     "of an accelerator's links to that switch, each way: 450GB/s (by --accelerator, else the "
     "cluster's kind)",
     0},
    {"scale-up-latency", KEY_SCALE_UP_LATENCY, "T", 0,
     "from one accelerator of a server to another (a link's)", 0},
    {"one-port", KEY_ONE_PORT, NULL, 0,
     "collectives: one ring over all ranks in order, which keeps one port of a server busy", 0},
    {"algorithm", KEY_ALGORITHM, "A", 0,
     "collectives, between servers: ring, double-tree or best, the quicker of the two (best)", 0},
    {0},
};

static const char doc[] =
    "Plays one training iteration of each job, or a list of flows, on a fabric. Every flow gets "
    "its max-min fair rate or, with --engine packet, what its packets make of queues and windows; "
    "an AllReduce runs its rounds along the rings; a device does one task at a "
    "time.\v"
    "A job is a TopoOpt task graph (FILE.fbuf), a Chakra trace (PREFIX of PREFIX.<rank>.et,\n"
    "PREFIX.%r.et, or a folder that holds one), a folder of torch.profiler's traces, one a rank,\n"
    "alone or with ExecutionTraceObserver's, a traffic matrix of htsim (FILE.cm) or a GOAL\n"
    "schedule, text or binary (FILE.goal, FILE.bin); a rank, a node is a server.\n"
    "\n"
    "A snapshot (FILE.json, as weft interleave takes it) says what jobs ask of which links. Its\n"
    "jobs play 60 iterations, the first ones 1 ms after each other (at most a hundredth of the\n"
    "shortest iteration) unless --start, --shifts or the file say otherwise; the later half "
    "counts.\n"
    "\n"
    "Flows:\n"
    "  allreduce:SIZE            the sum of SIZE on each rank, to each, by rings on all ports\n"
    "  reducescatter:SIZE        half of that: SIZE of its own on each, which has a share of the\n"
    "                            sum then\n"
    "  allgather:SIZE            the other half: SIZE on each of them at the end\n"
    "  permutation:SIZE[:SEED]   from every rank to another one (by --seed where no SEED is)\n"
    "  alltoall:SIZE             from every rank to every other one\n"
    "  poisson:MEAN:load=L:count=C[:SEED]   random pairs, random sizes\n"
    "\n"
    "A rank is a server or, with --accelerators, an accelerator. Then the fabric joins NICs. "
    "Transfers are divided over equal paths (--balance hash: not). Servers reduce and gather "
    "inside, over --scale-up-rate, before and after the network; an all-to-all goes by rails. An "
    "NVL72 rack is one server of --accelerators 72 --degree 72. The servers of a job's file are "
    "ranks, too: rank i is accelerator i mod A of server i / A, and its collectives go inside and "
    "between servers alike.\n"
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
    "  $ weft simulate traces/step --rate 400Gbps --accelerator H100 --accelerators 8 \\\n"
    "      --fabric rail-only\n"
    "  $ weft simulate perm.cm --topology leaf_spine.topo --engine packet --mtu 4096\n"
    "  $ weft simulate jobs.json --sharing mltcp --json\n"
    "  $ weft simulate jobs.json --sharing unfair:60/40 --engine packet --transport dcqcn\n"
    "  $ weft simulate allreduce.goal --fabric fat-tree --rate 200Gbps\n"
    "  $ weft simulate allreduce:100MB --fabric ring --servers 64 --rate 400Gbps\n"
    "  $ mpirun -n 2 weft simulate allreduce:1MB --servers 8192 --fabric leaf-spine \\\n"
    "      --rate 400Gbps --engine packet --mtu 4160 --parts 2\n"
    "  $ weft simulate alltoall:1MB --fabric rail-only --servers 64 --rate 400Gbps \\\n"
    "      --accelerators 8 --scale-up-rate 450GB/s\n";

static error_t list_fabrics(struct cli *cli)
{
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    for (uint32_t i = 0; i < count; i++) {
        cli_say(cli, "%-16s %s\n", references[i].name, references[i].summary);
    }
    cli_say(cli, "%-16s %s\n", "file", "the topology, routes and rings in the job's file");
    return 0;
}

static error_t take_load(struct options *input, const char *load)
{
    struct weft_simulate_request *request = &input->request;
    if (request->load_count == WEFT_SIMULATE_LOADS_MAX) {
        return cli_usage(input->cli, "'%.100s': at most %d jobs", load, WEFT_SIMULATE_LOADS_MAX);
    }
    input->loads[request->load_count++] = load;
    return 0;
}

// What the option of that key, one of the table above, is called.
static const char *name_of(int key)
{
    const struct argp_option *option = options;
    while (option->key != key) {
        option++;
    }
    return option->name;
}

// --plan and --topology may be named once; the other options are parameters of the request, read by
// its own table.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *input = state->input;
    struct weft_simulate_request *request = &input->request;
    struct cli *cli = input->cli;
    switch (key) {
    case KEY_FABRICS:
        return list_fabrics(cli);
    case KEY_PLAN:
        return cli_take(cli, &request->plan_path, argument, "plan");
    case KEY_TOPOLOGY:
        return cli_take(cli, &request->topology_path, argument, "--topology");
    case ARGP_KEY_ARG:
        return take_load(input, argument);
    case ARGP_KEY_END:
        return cli->text.length > 0 || weft_request_simulate_check(request, &cli->error) ? 0
                                                                                         : EINVAL;
    default:
        break;
    }
    if (key < KEY_FABRIC || key > KEY_ALGORITHM) {
        return ARGP_ERR_UNKNOWN;
    }
    const struct cli_parameters parameters = {request, weft_simulate_parameters[0].rows,
                                              weft_simulate_parameters[0].count};
    return cli_parameter(cli, &parameters, name_of(key), argument);
}

// The processes of mpirun play one run together; the first of them writes.
static bool take_ranks(struct weft_partition_peers *peers, const struct cli_ranks *ranks,
                       struct cli *cli)
{
    const struct weft_given_count *parts = &cli->given.packets.partitions;
    if (ranks->mpi == NULL) {
        return true;
    }
    cli->follows = ranks->rank > 0;
    if (!parts->given || parts->value < ranks->size) {
        return weft_fail(&cli->error, WEFT_USAGE,
                         "mpirun started %u processes, which play parts of one run: give --parts "
                         "%u or more (at most 16); many runs are a 'weft sweep'",
                         ranks->size, ranks->size);
    }
    *peers = (struct weft_partition_peers){
        .rank = ranks->rank, .count = ranks->size, .gather = ranks->mpi->gather};
    cli->given.packets.peers = peers;
    return true;
}

// Fills in the request what the shared groups of options say, asks it while the clock shows its
// progress, writes the files and then the result.
static bool run(struct options *input, const struct cli_ranks *ranks)
{
    struct cli *cli = input->cli;
    struct weft_partition_peers peers;
    struct weft_simulate_request *request = &input->request;
    const struct cli_records *records = &cli->given.records;
    struct weft_simulate_result result;
    if (!take_ranks(&peers, ranks, cli)) {
        return false;
    }
    request->loads = input->loads;
    request->hardware = cli->given.hardware;
    request->trace = cli->given.trace;
    request->packets = cli->given.packets;
    request->timing = cli->given.timing;
    request->records = (struct weft_request_records){.flows = records->flows_path != NULL,
                                                     .series = records->series_path != NULL,
                                                     .trace = records->trace_path != NULL,
                                                     .snapshot = records->snapshot_path != NULL,
                                                     .name = records->job_name,
                                                     .every_ps = records->every_ps};
    const struct weft_given_word *transport = &request->packets.transport;
    bool is_mlt = transport->given && transport->value == WEFT_TRANSPORT_MLT;
    if (records->step_path != NULL && !is_mlt) {
        return weft_fail(&cli->error, WEFT_USAGE,
                         "--step draws what MLT sends; write --transport mlt, too");
    }
    if (!cli->follows && !simulate_can_write(cli)) {
        return false;
    }
    bool played =
        weft_request_simulate(&result, request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!played || cli->follows || !simulate_write(cli, &result)) {
        return played;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_simulate_json(&result, &cli->arena));
    } else {
        simulate_print(cli, &result);
    }
    return true;
}

// The door of `weft simulate`, alone or as one of the processes of mpirun.
int cli_simulate(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft simulate",
        .arguments = "JOB... CLUSTER.yaml\nJOB... --rate R\nFLOWS --servers N --rate R\n"
                     "SNAPSHOT.json --sharing POLICY",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_TRACE | CLI_PACKETS | CLI_TIMING | CLI_RECORDS | CLI_TABLES,
    };
    struct cli cli;
    struct options input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    // The list of fabrics alone is a result, too.
    bool listed =
        cli.text.length > 0 && input.request.load_count == 0 && input.request.plan_path == NULL;
    struct cli_ranks ranks = {.size = 1};
    bool fine =
        listed || (cli_ranks_begin(&ranks, &cli, "build Weft where libopenmpi-dev is installed") &&
                   run(&input, &ranks));
    int code = cli_finish(&cli, fine);
    if (fine) { // else the others may still wait for this process, which ends them
        cli_ranks_end(&ranks);
    }
    return code;
}
