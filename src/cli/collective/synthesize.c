// SPDX-License-Identifier: Apache-2.0
// weft collective synthesize: a schedule for any fabric, and its gap to a bound that no schedule
// can be below. The options become a weft_synthesize_request (docs/synthesis.md); with --schedule
// the steps of the schedule are printed, too.

#include "collective.h"

static const char doc[] =
    "Finds a schedule of a collective for a fabric: which link carries which chunk when. Ranks are "
    "the fabric's servers. The schedule is executed symbolically before it is printed.\v"
    "Fabrics: torus:AxB, torus:AxBxC, mesh:AxB, ring:N, hypercube:D, full-mesh:N, ideal:N, any of "
    "weft fabrics (fat-tree:N, leaf-spine:N, expander:N; --degree and --rate are a server's), or a "
    "plan's file. --rate and --latency are those of each link.\n"
    "\n"
    "A link carries one chunk at a time, for its bytes over its rate; it is free at once, and the "
    "chunk is there a latency later. With --hold a link is taken for the latency, too, as TACOS "
    "has it. lower_bound_s holds for every schedule, chunk_bound_s for every one of whole chunks "
    "of this size.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective synthesize all-gather --fabric torus:16x16 --rate 50GiB/s "
    "--latency 500ns --size 100MB\n"
    "  $ weft collective synthesize allreduce --fabric plan.json --size 1GB --json\n"
    "  $ weft collective synthesize broadcast --fabric mesh:4x4 --rate 100Gbps --size 64MiB "
    "--schedule\n";

enum {
    KEY_FABRIC = 1,
    KEY_SIZE,
    KEY_CHUNKS,
    KEY_TRIES,
    KEY_ROOT,
    KEY_HOLD,
    KEY_SCHEDULE,
};

static const struct argp_option options[] = {
    {"fabric", KEY_FABRIC, "FABRIC|PLAN", 0, "fabric to find a schedule for, see below", 0},
    {"size", KEY_SIZE, "BYTES", 0, "size of the collective: what allreduce sums on every rank", 0},
    {"chunks", KEY_CHUNKS, "K", 0,
     "chunks of a rank (broadcast, reduce: in all); default: the quickest of some numbers", 0},
    {"tries", KEY_TRIES, "N", 0, "seeds to try, of which the quickest counts (default 4)", 0},
    {"root", KEY_ROOT, "RANK", 0, "root of broadcast and reduce (default 0)", 0},
    {"hold", KEY_HOLD, NULL, 0, "a transfer takes its link for the latency, too", 0},
    {"schedule", KEY_SCHEDULE, NULL, 0, "print the schedule, too", 0},
    {0},
};

// What the options say.
struct synthesize_input {
    struct cli *cli;
    struct weft_synthesize_request request;
};

// Takes the options straight into the request.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct synthesize_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_synthesize_request *request = &input->request;
    switch (key) {
    case KEY_FABRIC:
        request->fabric = argument;
        return 0;
    case KEY_SIZE:
        return cli_value(
            cli, weft_parse_bytes(&request->synthesis.size_bytes, argument, &cli->error), "size");
    case KEY_CHUNKS:
        return cli_count(cli, &request->chunks, "chunks", argument, 1, 1u << 20);
    case KEY_TRIES:
        return cli_count(cli, &request->synthesis.tries, "tries", argument, 1, 1u << 16);
    case KEY_ROOT:
        return cli_count(cli, &request->synthesis.root, "root", argument, 0, UINT32_MAX - 1);
    case KEY_HOLD:
        request->synthesis.holds_links = true;
        return 0;
    case KEY_SCHEDULE:
        request->schedule = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(cli, &request->kind, argument, "collective");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The schedule's size, and its completion time beside the bounds.
static void print(struct cli *cli, const struct weft_synthesize_result *result,
                  const struct weft_synthesize_request *request)
{
    const struct weft_synthesis *made = &result->made;
    const struct weft_schedule_report *report = &result->report;
    char text[WEFT_UNIT_TEXT];
    const struct weft_schedule *schedule = &made->schedule;
    cli_say(cli, "%s of %s on %s, %u ranks, %u chunks of each%s\n",
            weft_collective_name(schedule->kind),
            weft_show_bytes(text, (double)request->synthesis.size_bytes), request->fabric,
            schedule->rank_count, result->chunks,
            request->synthesis.holds_links ? ", links held for their latency" : "");
    cli_say(cli, "completion  %s\n", weft_show_time(text, made->completion_ps));
    cli_say(cli, "bound       %s, %.2f %% below", weft_show_time(text, made->bound_ps),
            100 * (1 - (double)made->bound_ps / (double)made->completion_ps));
    cli_say(cli, " (%s by latency,", weft_show_time(text, made->latency_bound_ps));
    cli_say(cli, " %s by cuts", weft_show_time(text, made->cut_bound_ps));
    cli_say(cli, "; %s for these chunks)\n", weft_show_time(text, made->chunk_bound_ps));
    cli_say(cli, "schedule    %u rounds, %u steps, %llu transfers, %s\n", schedule->round_count,
            schedule->step_count, (unsigned long long)report->transfer_count,
            report->valid ? "checked" : report->why);
    cli_say(cli, "synthesis   %.4f s\n", result->wall_s);
    if (request->schedule) {
        struct weft_text lines;
        weft_text_init(&lines, &cli->arena);
        weft_schedule_write(&lines, schedule, false, cli->scratch);
        cli_say(cli, "\n%s", lines.data);
    }
}

static bool run(struct synthesize_input *input)
{
    struct cli *cli = input->cli;
    struct weft_synthesize_request *request = &input->request;
    struct weft_synthesize_result result;
    request->hardware = cli->given.hardware;
    double start_s = cli_elapsed_s(cli);
    cli_clock_show(cli, "synthesizing", NULL);
    bool made = weft_request_synthesize(&result, request, cli_environment(cli, NULL));
    cli_clock_stop(cli);
    if (!made) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli) - start_s;
    cli->exit_code = result.report.valid ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s",
                weft_request_synthesize_json(&result, request, &cli->arena, cli->scratch));
    } else {
        print(cli, &result, request);
    }
    return true;
}

int collective_synthesize(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective synthesize",
        .arguments = "COLLECTIVE",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct synthesize_input input = {.cli = &cli, .request = {.synthesis = {.tries = 4}}};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
