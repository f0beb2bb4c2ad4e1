// SPDX-License-Identifier: Apache-2.0
// weft collective check: a schedule executed on sets of contributions and on real buffers. The
// request is weft_collective_request, which show and check share; a schedule that is wrong is the
// answer no, and the exit code 1.

#include "collective.h"

#include <inttypes.h>

enum { KEY_WORDS = 1 };

static const struct argp_option options[] = {
    {"words", KEY_WORDS, "W", 0,
     "run on real buffers of W 8-byte words (2 a chunk and one, where that is little)", 0},
    COLLECTIVE_OPTIONS,
    {0},
};

static const char doc[] =
    "Proves that a schedule does its collective: every slot of every rank is followed as a chunk "
    "with the set of ranks whose addends it has, from the first round to the last. No addend is "
    "lost or added twice, nothing is read before it is there, no two transfers collide, no rank "
    "uses more ports than the schedule claims. Then it runs on random numbers in real buffers, "
    "which must come out equal to sums computed directly. The first violation is named, and the "
    "exit code is 1.\v"
    "ALGORITHM is ring, bidirectional, multi-ring, binomial-tree, binary-tree, double-tree, "
    "halving-doubling, recursive-doubling, bruck, hierarchical, torus, direct, staged, "
    "recursive-exchange, stragglar or synthesize. FILE.xml is an MSCCL program (docs/msccl.md), "
    "proved for each way it may be called, or NCCL's graphs (docs/nccl.md): every channel must "
    "pass every GPU once. FILE.json is an execution plan of MSCCL++ (docs/mscclpp.md).\n"
    "\n"
    "Examples:\n"
    "  $ weft collective check ring --ranks 1024\n"
    "  $ weft collective check halving-doubling --ranks 193 --kind reduce-scatter\n"
    "  $ weft collective check torus --fabric torus:4x4x4 --json\n"
    "  $ weft collective check stragglar --ranks 8 --straggler 3\n"
    "  $ weft collective check allreduce_a100_ring.xml --json\n"
    "  $ weft collective check allreduce_mscclpp.json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct collective_input *input = state->input;
    if (key == KEY_WORDS) {
        return cli_count(input->cli, &input->request.buffer_words, "words", argument, 1, 1u << 30);
    }
    return collective_parse(key, argument, state);
}

// The schedule's size, whether it is valid and what it sends. Traffic is stated in units of the
// collective's size, as the literature does: a ring's AllReduce sends 2 (n - 1) / n of it.
static void print_schedule(struct cli *cli, const struct weft_collective_check_result *result)
{
    const struct weft_schedule *schedule = &result->schedule;
    const struct weft_schedule_report *report = &result->report;
    uint32_t rounds = weft_schedule_network_rounds(schedule, cli->scratch);
    cli_say(cli,
            "%s: %s of %u chunk%s over %u ranks, %u round%s, %u step%s, %" PRIu64 " transfer%s\n",
            schedule->name, weft_collective_name(schedule->kind), schedule->chunk_count,
            plural(schedule->chunk_count), schedule->rank_count, rounds, plural(rounds),
            schedule->step_count, plural(schedule->step_count), report->transfer_count,
            plural(report->transfer_count));
    if (result->why[0] != '\0') {
        cli_say(cli, "invalid  %s\n", result->why);
        return;
    }
    cli_say(cli, "valid    every rank ends with what it must have, every addend once\n");
    if (result->buffers == WEFT_BUFFERS_EQUAL) {
        cli_say(cli, "buffers  equal to sums computed directly, %" PRIu64 " words a rank\n",
                result->buffer_words);
    }
    cli_say(cli,
            "sent     %.4g of the collective's size by the busiest rank, %.4g a rank in mean\n",
            (double)report->send_slots_max / schedule->chunk_count,
            (double)report->slots_sent / schedule->chunk_count / schedule->rank_count);
    cli_say(cli, "ports    %u out and %u in at most, in one round of one rank%s\n",
            report->send_port_max, report->receive_port_max,
            schedule->port_count > 0 ? ", as claimed" : "");
}

static void print_program(struct cli *cli, const struct weft_collective_check_result *result)
{
    const struct weft_program *program = &result->program;
    const struct weft_program_report *report = &result->program_report;
    uint32_t blocks;
    uint32_t steps;
    weft_program_count(program, &blocks, &steps);
    cli_say(cli, "%s: %s of %u chunk%s over %u ranks, %u thread blocks, %u %s\n", program->name,
            weft_collective_name(program->kind), program->chunk_count, plural(program->chunk_count),
            program->rank_count, blocks, steps, program->one_sided ? "operations" : "steps");
    if (!report->valid) {
        cli_say(cli, "invalid  %s\n", report->why);
        return;
    }
    cli_say(cli,
            "valid    every rank ends with what it must have, every addend once%s\n"
            "rounds   %u, %" PRIu64 " transfers\n",
            program->in_place && program->out_of_place ? ", in place or not" : "",
            report->round_count, report->transfer_count);
}

static void print_graphs(struct cli *cli, const struct weft_collective_check_result *result,
                         const char *path)
{
    cli_say(cli, "%s: %u of NCCL's graphs\n", path, result->graphs.graph_count);
    for (uint32_t g = 0; g < result->graphs.graph_count; g++) {
        const struct weft_nccl_graph *graph = &result->graphs.graphs[g];
        cli_say(cli,
                "graph %-2u %s, %u channel%s of %u GPUs, %g GB/s inside by %s, %g GB/s between by "
                "%s\n",
                graph->id,
                graph->pattern == 4  ? "ring"
                : graph->pattern < 4 ? "tree"
                                     : "other",
                graph->channel_count, plural(graph->channel_count),
                graph->channel_count > 0 ? graph->channels[0].gpu_count : 0, graph->intra_Bps / 1e9,
                graph->intra_type, graph->inter_Bps / 1e9, graph->inter_type);
    }
    bool valid = result->why[0] == '\0';
    cli_say(cli, "%s%s\n", valid ? "valid    every channel passes every GPU once" : "invalid  ",
            result->why);
}

static bool run(struct collective_input *input)
{
    struct cli *cli = input->cli;
    struct weft_collective_check_result result;
    input->request.hardware = cli->given.hardware;
    if (!weft_request_collective_check(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    cli->exit_code = result.why[0] == '\0' ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s",
                weft_request_collective_check_json(&result, &input->request, &cli->arena,
                                                   cli->scratch));
    } else if (result.is_graphs) {
        print_graphs(cli, &result, input->request.source);
    } else if (result.source.algorithm == WEFT_ALGORITHM_COUNT) {
        print_program(cli, &result);
    } else {
        print_schedule(cli, &result);
    }
    return true;
}

int collective_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective check",
        .arguments = "ALGORITHM --ranks N\nFILE.xml\nFILE.json",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct collective_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
