// SPDX-License-Identifier: Apache-2.0
// weft collective best: the quickest algorithm by size.

#include "best.h"
#include "weft/format.h"

#include <string.h>

static const char doc[] =
    "Ranks the algorithms of a collective by what they take, for sizes that double (that "
    "quadruple, where they are played). Sub-chunk factors are tried where they change the time.\v"
    "--rate and --latency are a rank's, of a message, as in the alpha-beta model: closed forms "
    "(--engine closed, the default), or schedules played on one switch with just these (flow, "
    "packet). With --fabric, --rate and --latency are those of links, and schedules are played "
    "(flow, the default, or packet): a transfer begins when what it sends is there; synthesize "
    "takes part; multi-ring takes the rings of a plan. The packet engine has packets of 9000 "
    "bytes, windows that are never full and buffers without end.\n"
    "\n"
    "Fabrics: torus:AxB, torus:AxBxC, mesh:AxB, ring:N, hypercube:D, full-mesh:N, ideal:N, any of "
    "weft fabrics, or a plan's file.\n"
    "\n"
    "Nobody is late in stragglar's times; see weft collective straggler.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective best --ranks 64 --rate 400Gbps --latency 5us\n"
    "  $ weft collective best --ranks 64 --rate 400Gbps --latency 5us --kind allgather "
    "--size 1KiB..1GiB --json\n"
    "  $ weft collective best --fabric torus:4x4 --rate 100Gbps --size 64KiB..64MiB "
    "--plot best.svg\n"
    "  $ weft collective best --fabric plan.json --engine packet --size 1MiB\n"
    "  $ weft collective best --ranks 64 --rate 400Gbps --latency 5us --format nccl-tuner "
    "-o tuner.csv\n";

enum {
    KEY_KIND = 1,
    KEY_RANKS,
    KEY_SIZE,
    KEY_FABRIC,
    KEY_ENGINE,
    KEY_CHUNKS,
    KEY_PLOT,
    KEY_FORMAT,
    KEY_ROOT
};

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "K", 0,
     "allreduce (default), reduce-scatter, allgather, broadcast, reduce, alltoall", 0},
    {"ranks", KEY_RANKS, "N", 0, "ranks; not needed where --fabric says", 0},
    {"size", KEY_SIZE, "S|LOW..HIGH", 0, "of the collective (1KiB..4GiB)", 0},
    {"fabric", KEY_FABRIC, "F", 0, "play the schedules here", 0},
    {"engine", KEY_ENGINE, "E", 0, "closed, flow or packet", 0},
    {"chunks", KEY_CHUNKS, "K", 0, "largest sub-chunk factor (1024; played: 64)", 0},
    {"root", KEY_ROOT, "R", 0, "of broadcast and reduce (0)", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw times over sizes, too", 0},
    {"format", KEY_FORMAT, "nccl-tuner", 0,
     "rows for NCCL's example tuner plugin: ring or tree, whichever is quicker", 0},
    {0},
};

#define RANKS_MAX (1u << 16)
#define SIZES_MAX 64u
#define TRANSFERS_MAX (1u << 18)
#define CLOSED_FACTOR_MAX 1024u
#define PLAYED_FACTOR_MAX 64u

static error_t take_size(struct best *best, const char *argument)
{
    struct cli *cli = best->cli;
    const char *dots = strstr(argument, "..");
    const char *low =
        dots == NULL ? argument : weft_arena_text(&cli->arena, argument, (size_t)(dots - argument));
    const char *high = dots == NULL ? argument : dots + 2;
    bool fine = weft_parse_bytes(&best->size_low_bytes, low, &cli->error) &&
                weft_parse_bytes(&best->size_high_bytes, high, &cli->error);
    if (fine && (best->size_low_bytes == 0 || best->size_high_bytes < best->size_low_bytes ||
                 best->size_high_bytes > 1ull << 50)) {
        fine = weft_fail(&cli->error, WEFT_INPUT,
                         "'%.60s': write sizes that ascend, from a byte to 2^50: 1KiB..4GiB",
                         argument);
    }
    return cli_value(cli, fine, "size");
}

static error_t take_engine(struct best *best, const char *argument)
{
    best->engine_given = true;
    for (best->engine = 0; best->engine < BEST_ENGINES; best->engine++) {
        if (strcmp(argument, best_engine_names[best->engine]) == 0) {
            return 0;
        }
    }
    return cli_usage(best->cli, "--engine: '%.40s' is none; write closed, flow or packet",
                     argument);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct best *best = state->input;
    struct cli *cli = best->cli;
    struct weft_algorithm_options *algorithm = &best->question.options;
    switch (key) {
    case KEY_KIND:
        return cli_value(cli, collective_kind(&algorithm->kind, cli, argument), "kind");
    case KEY_RANKS:
        return cli_count(cli, &algorithm->rank_count, "ranks", argument, 1, RANKS_MAX);
    case KEY_SIZE:
        return take_size(best, argument);
    case KEY_FABRIC:
        return cli_take(cli, &best->fabric, argument, "fabric");
    case KEY_ENGINE:
        return take_engine(best, argument);
    case KEY_CHUNKS:
        return cli_count(cli, &best->question.chunk_factor_max, "chunks", argument, 1, 4096);
    case KEY_ROOT:
        return cli_count(cli, &algorithm->root, "root", argument, 0, RANKS_MAX);
    case KEY_PLOT:
        return cli_take(cli, &best->plot_path, argument, "plot");
    case KEY_FORMAT:
        best->tuner = strcmp(argument, "nccl-tuner") == 0;
        return best->tuner
                   ? 0
                   : cli_usage(cli, "--format: '%.40s' is none; write nccl-tuner", argument);
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' has no place here; see %s --help", argument, cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- where to play ----

// The rings of the first group of all servers.
static void take_rings(struct weft_algorithm_options *asked, const struct weft_ring_set *set,
                       uint32_t server_count)
{
    uint32_t first = 0;
    while (first < set->ring_count && set->rings[first].member_count != server_count) {
        first++;
    }
    asked->rings = first < set->ring_count ? set->rings + first : NULL;
    while (first + asked->ring_count < set->ring_count &&
           set->rings[first + asked->ring_count].group == set->rings[first].group) {
        asked->ring_count++;
    }
}

// One switch whose paths take what a message does.
static bool use_switch(struct best *best)
{
    struct cli *cli = best->cli;
    struct weft_network *network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    struct weft_cluster cluster;
    if (!weft_cluster_build(&cluster, best->question.options.rank_count, 1, cli->hardware.rate_Bps,
                            &cli->error)) {
        return false;
    }
    cluster.latency_ps = cli->hardware.latency_ps / 2;
    best->question.network = network;
    return weft_fabric_build_ideal(network, &cluster, NULL, &cli->arena, &cli->error);
}

static bool use_fabric(struct best *best)
{
    struct cli *cli = best->cli;
    struct weft_algorithm_options *options_of = &best->question.options;
    const struct weft_network *network = NULL;
    uint32_t asked = options_of->rank_count;
    if (!cli_fabric_network(&network, cli, best->fabric, asked)) {
        return false;
    }
    options_of->rank_count = network->fabric.server_count;
    if (asked > 0 && asked != options_of->rank_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--ranks: the fabric has %u servers, not %u; give one of the two",
                         options_of->rank_count, asked);
    }
    struct weft_fabric_specification words;
    if (strncmp(best->fabric, "torus", 5) == 0 && cli_specification(&words, cli, best->fabric)) {
        memcpy(options_of->shape, words.sides, sizeof options_of->shape);
    }
    take_rings(options_of, &network->rings, options_of->rank_count);
    best->question.network = network;
    return true;
}

// Closed forms on a fabric: what a rank has of it without others in its way.
static void set_model(struct best *best)
{
    const struct weft_network *network = best->question.network;
    struct weft_cost_model *model = &best->question.model;
    const struct weft_request_hardware *hardware = &best->cli->hardware;
    if (best->fabric == NULL) {
        *model = (struct weft_cost_model){.alpha_s = weft_seconds(hardware->latency_ps),
                                          .beta_s_per_byte = 1 / hardware->rate_Bps};
        return;
    }
    const struct weft_fabric *fabric = &network->fabric;
    double rate_Bps = 0;
    uint64_t latency_ps = 0;
    for (uint32_t e = fabric->first[0]; e < fabric->first[1]; e++) {
        rate_Bps += fabric->links[e].rate_Bps;
        latency_ps = fabric->links[e].latency_ps;
    }
    uint32_t hops = fabric->node_count > fabric->server_count ? 2 : 1;
    *model = (struct weft_cost_model){.alpha_s = hops * weft_seconds(latency_ps),
                                      .beta_s_per_byte = 1 / rate_Bps};
}

static bool set_network(struct best *best)
{
    struct cli *cli = best->cli;
    struct weft_collective_question *question = &best->question;
    if (best->fabric != NULL) {
        if (!best->engine_given) {
            best->engine = BEST_FLOW;
        } else if (best->engine == BEST_CLOSED) {
            return cli_misuse(cli, "closed forms know no fabric; leave out --fabric or write "
                                   "--engine flow");
        }
        if (!use_fabric(best)) {
            return false;
        }
    } else {
        const char *missing = question->options.rank_count == 0 ? "--ranks"
                              : !(cli->hardware.rate_given && cli->hardware.rate_Bps > 0) ? "--rate"
                              : !cli->hardware.latency_given ? "--latency"
                                                             : NULL;
        if (missing != NULL) {
            return cli_misuse(cli, "%s is missing or 0; see %s --help", missing, cli->program);
        }
        if (best->engine != BEST_CLOSED && question->options.rank_count > 1 && !use_switch(best)) {
            return false;
        }
    }
    set_model(best);
    if (best->engine == BEST_PACKET) {
        question->sim = weft_request_task_packets(cli->seed);
        question->sim.engine = WEFT_ENGINE_PACKET;
        question->sim.transport = WEFT_TRANSPORT_RENO;
        question->sim.packet = &weft_collective_packets;
    }
    question->sim.seed = question->seed = cli->seed;
    question->threads = cli->threads;
    question->transfers_max = TRANSFERS_MAX;
    if (question->chunk_factor_max == 0) {
        question->chunk_factor_max =
            best->engine == BEST_CLOSED ? CLOSED_FACTOR_MAX : PLAYED_FACTOR_MAX;
    }
    return true;
}

static bool rank(struct best *best)
{
    struct cli *cli = best->cli;
    uint64_t sizes[SIZES_MAX];
    uint32_t factor = best->engine == BEST_CLOSED ? 2 : 4;
    uint64_t size = best->size_low_bytes;
    while (size < best->size_high_bytes) {
        WEFT_ASSERT(best->count + 1 < SIZES_MAX);
        sizes[best->count++] = size;
        size *= factor;
    }
    sizes[best->count++] = best->size_high_bytes;
    best->rankings = WEFT_NEW(&cli->arena, struct weft_collective_ranking, best->count);
    cli_clock_start(cli, "ranking", 0);
    bool fine =
        weft_collective_rank(best->rankings, sizes, best->count, &best->question, &cli->error);
    cli_clock_stop(cli);
    return fine;
}

static bool run(struct best *best)
{
    struct cli *cli = best->cli;
    if (best->tuner && cli->json) {
        return cli_misuse(cli, "--format nccl-tuner is no JSON; leave out one of the two");
    }
    if (best->plot_path != NULL && best->size_low_bytes == best->size_high_bytes) {
        return cli_misuse(cli, "--plot takes a range of sizes: write --size 1KiB..4GiB");
    }
    if (best->tuner && best->question.options.kind == WEFT_COLLECTIVE_ALLTOALL) {
        return cli_misuse(cli, "NCCL has no all-to-all of its own to tune");
    }
    if (!cli_can_write(cli, best->plot_path) || !set_network(best) || !rank(best)) {
        return false;
    }
    if (best->tuner) {
        best_tell_tuner(best);
    } else {
        best_tell(best);
    }
    return best->plot_path == NULL || best_plot(best);
}

int collective_best(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective best",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct best best = {.cli = &cli, .size_low_bytes = 1u << 10, .size_high_bytes = 4ull << 30};
    bool fine = cli_parse(&cli, &verb, argc, argv, &best) && run(&best);
    return cli_finish(&cli, fine);
}
