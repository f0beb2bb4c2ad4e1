// SPDX-License-Identifier: Apache-2.0
// weft collective synthesize: a schedule for any fabric.

#include "collective.h"

#include <string.h>

static const char doc[] =
    "Finds a schedule of a collective for a fabric: which link carries which chunk when. Ranks are "
    "the fabric's servers. The schedule is executed symbolically before it is told.\v"
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
    {"fabric", KEY_FABRIC, "WORDS|PLAN", 0, "the fabric, see below", 0},
    {"size", KEY_SIZE, "BYTES", 0, "of the collective: what allreduce sums on every rank", 0},
    {"chunks", KEY_CHUNKS, "K", 0,
     "chunks a rank (broadcast, reduce: in all); default: the quickest of some", 0},
    {"tries", KEY_TRIES, "N", 0, "seeds to try, the quickest counts (default 4)", 0},
    {"root", KEY_ROOT, "RANK", 0, "of broadcast and reduce (default 0)", 0},
    {"hold", KEY_HOLD, NULL, 0, "links are taken for the latency, too", 0},
    {"schedule", KEY_SCHEDULE, NULL, 0, "write the schedule, too", 0},
    {0},
};

struct request {
    struct cli *cli;
    const char *kind;
    const char *fabric;
    uint32_t chunks;
    bool schedule;
    struct weft_synthesis_options synthesis;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    struct cli *cli = request->cli;
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

// Whether more chunks could save no more than a five-hundredth.
static bool is_close(const struct weft_synthesis *made)
{
    return made->completion_ps - made->bound_ps <= made->bound_ps / 500;
}

// Without --chunks: counts for which the time to plan stays short, the fewest of the quickest.
static bool find(struct weft_synthesis *best, struct request *request,
                 const struct weft_fabric *fabric)
{
    static const uint32_t spread[] = {1, 2, 4, 8};
    static const uint32_t rooted[] = {1, 4, 16, 64, 256, 1024};
    struct cli *cli = request->cli;
    struct weft_synthesis_options *asked = &request->synthesis;
    bool is_rooted =
        asked->kind == WEFT_COLLECTIVE_BROADCAST || asked->kind == WEFT_COLLECTIVE_REDUCE;
    const uint32_t *factors = is_rooted ? rooted : spread;
    size_t count = is_rooted ? sizeof rooted / sizeof rooted[0] : sizeof spread / sizeof spread[0];
    asked->chunk_factor = request->chunks > 0 ? request->chunks : 1;
    if (!weft_synthesize(best, fabric, asked, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    uint32_t used = asked->chunk_factor;
    for (size_t i = 1; request->chunks == 0 && i < count; i++) {
        struct weft_synthesis made;
        struct weft_error ignored; // more chunks than it can do: the fewer stand
        asked->chunk_factor = factors[i];
        uint64_t steps = (uint64_t)best->schedule.step_count / used * factors[i];
        if (is_close(best) || steps > 1u << 19 ||
            !weft_synthesize(&made, fabric, asked, &cli->arena, cli->scratch, &ignored)) {
            break;
        }
        if (made.completion_ps < best->completion_ps) {
            *best = made;
            used = factors[i];
        }
    }
    asked->chunk_factor = used;
    return true;
}

static void tell_json(const struct request *request, const struct weft_synthesis *made,
                      const struct weft_schedule_report *report, const char *fabric, double wall_s)
{
    struct cli *cli = request->cli;
    json_t *object = cli_object("weft.synthesis/1");
    cli_set_text(object, "collective", weft_collective_name(made->schedule.kind));
    cli_set_text(object, "fabric", fabric);
    cli_set_count(object, "ranks", made->schedule.rank_count);
    cli_set_count(object, "size_bytes", request->synthesis.size_bytes);
    cli_set_count(object, "chunks", request->synthesis.chunk_factor);
    cli_set_truth(object, "holds_links", request->synthesis.holds_links);
    cli_set_count(object, "seed", cli->seed);
    cli_set_real(object, "completion_s", weft_seconds(made->completion_ps));
    cli_set_real(object, "lower_bound_s", weft_seconds(made->bound_ps));
    cli_set_real(object, "latency_bound_s", weft_seconds(made->latency_bound_ps));
    cli_set_real(object, "cut_bound_s", weft_seconds(made->cut_bound_ps));
    cli_set_real(object, "chunk_bound_s", weft_seconds(made->chunk_bound_ps));
    cli_set_real(object, "gap_ratio", (double)made->completion_ps / (double)made->bound_ps - 1);
    cli_set_count(object, "rounds", made->schedule.round_count);
    cli_set_count(object, "steps", made->schedule.step_count);
    cli_set_count(object, "transfers", report->transfer_count);
    cli_set_truth(object, "valid", report->valid);
    cli_set_real(object, "wall_s", wall_s);
    if (request->schedule) {
        struct weft_text text;
        weft_text_init(&text, &cli->arena);
        weft_schedule_write(&text, &made->schedule, false, cli->scratch);
        cli_set_text(object, "schedule", text.data);
    }
    cli_json(cli, object);
}

static void tell(const struct request *request, const struct weft_synthesis *made,
                 const struct weft_schedule_report *report, const char *fabric, double wall_s)
{
    struct cli *cli = request->cli;
    char text[WEFT_UNIT_TEXT];
    const struct weft_schedule *schedule = &made->schedule;
    cli_say(cli, "%s of %s on %s, %u ranks, %u chunks of each%s\n",
            weft_collective_name(schedule->kind),
            weft_show_bytes(text, (double)request->synthesis.size_bytes), fabric,
            schedule->rank_count, request->synthesis.chunk_factor,
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
    cli_say(cli, "synthesis   %.4f s\n", wall_s);
    if (request->schedule) {
        struct weft_text lines;
        weft_text_init(&lines, &cli->arena);
        weft_schedule_write(&lines, schedule, false, cli->scratch);
        cli_say(cli, "\n%s", lines.data);
    }
}

static bool run(struct request *request)
{
    struct cli *cli = request->cli;
    const struct weft_fabric *fabric = NULL;
    if (request->kind == NULL) {
        return cli_misuse(cli, "which collective? write for example all-gather");
    }
    if (request->fabric == NULL) {
        return cli_misuse(cli, "on which fabric? write --fabric torus:8x8 or --fabric PLAN");
    }
    if (request->synthesis.size_bytes == 0) {
        return cli_misuse(cli, "of how many bytes? write --size 100MB");
    }
    if (!collective_kind(&request->synthesis.kind, cli, request->kind) ||
        !cli_fabric(&fabric, cli, request->fabric, 0)) {
        return false;
    }
    request->synthesis.seed = cli->seed;
    struct weft_synthesis made;
    double start_s = cli_elapsed_s(cli);
    if (!find(&made, request, fabric)) {
        return false;
    }
    double wall_s = cli_elapsed_s(cli) - start_s;
    struct weft_schedule_report report;
    if (!weft_schedule_check(&report, &made.schedule, cli->scratch, &cli->error)) {
        return false;
    }
    cli->exit_code = report.valid ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        tell_json(request, &made, &report, request->fabric, wall_s);
    } else {
        tell(request, &made, &report, request->fabric, wall_s);
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
    struct request request = {.cli = &cli, .synthesis = {.tries = 4}};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
