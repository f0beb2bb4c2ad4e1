// SPDX-License-Identifier: Apache-2.0
// weft optics rails: a described job on photonic rails, boundary by boundary.

#include "weft/request/rails.h"
#include "optics.h"
#include "weft/format.h"

#include <string.h>

// Boundaries that the text shows; --csv and --json have all.
#define BOUNDARIES_SHOWN 40u
#define DARK_DEFAULT_PS 25000000000ull

enum {
    KEY_DARK = 1,
    KEY_MODE,
    KEY_DELAYS,
    KEY_COMMAND,
    KEY_RETRAIN,
    KEY_FIRST,
    KEY_WITHIN,
    KEY_PLOT,
    KEY_ENGINE,
};

static const struct argp_option options[] = {
    {"dark-time", KEY_DARK, "TIME", 0, "nothing passes while the switch turns; 25ms", 0},
    {"mode", KEY_MODE, "MODE", 0,
     "demand (asked when an operation is ready), provision (when the phase before has ended) or "
     "best (and each operation switches, forwards or keeps to half of the ports); best",
     0},
    {"delays", KEY_DELAYS, "NAME", 0,
     "of the switch: none but the dark time, ideal (0.1 ms of command) or commodity (16 ms of "
     "command, 5.67 s until links are up again); none",
     0},
    {"command-time", KEY_COMMAND, "TIME", 0, "until the switch begins to turn, which still carries",
     0},
    {"retrain-time", KEY_RETRAIN, "TIME", 0, "until transceivers and NICs find the light again", 0},
    {"first-packet", KEY_FIRST, "TIME", 0, "that the first packet over a new circuit waits", 0},
    {"within-iteration", KEY_WITHIN, NULL, 0,
     "ask for nothing before the iteration begins, as published", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw what the ports do over an iteration into a file, too",
     0},
    {"engine", KEY_ENGINE, "flow|packet", 0,
     "play the plan in this engine, too, over circuits that change", 0},
    {0},
};

static const char doc[] =
    "Replays a job of data, pipeline and expert parallelism whose rails are optical switches that "
    "are re-wired between its phases: when each change is asked for, what is dark when, what it "
    "costs, and a lower bound.\v"
    "JOB.yaml says how many replicas and stages, times of passes and bytes; examples/rails has "
    "some.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics rails examples/rails/job-a.yaml --dark-time 25ms --mode demand\n"
    "  $ weft optics rails examples/rails/job-b.yaml --dark-time 100ms --mode best --json\n";

struct rails_input {
    struct cli *cli;
    struct weft_rails_request request;
    uint64_t given[4]; // command, dark, retrain, first; WEFT_NEVER = not
    uint32_t named;
    const char *plot_path;
};

static error_t take_time(struct rails_input *input, int key, const char *argument)
{
    static const char *const names[] = {"command-time", "dark-time", "retrain-time",
                                        "first-packet"};
    uint32_t which = key == KEY_COMMAND ? 0 : key == KEY_DARK ? 1 : key == KEY_RETRAIN ? 2 : 3;
    return cli_value(input->cli,
                     weft_parse_time(&input->given[which], argument, &input->cli->error),
                     names[which]);
}

// The named delays, each replaced by what is given.
static void settle(struct rails_input *input)
{
    struct weft_circuit_delays delays = {.dark_ps = DARK_DEFAULT_PS};
    if (input->named == 1) {
        delays = WEFT_CIRCUIT_IDEAL(DARK_DEFAULT_PS);
    } else if (input->named == 2) {
        delays = WEFT_CIRCUIT_COMMODITY;
    }
    uint64_t *fields[4] = {&delays.command_ps, &delays.dark_ps, &delays.retrain_ps,
                           &delays.first_ps};
    for (uint32_t i = 0; i < 4; i++) {
        *fields[i] = input->given[i] == WEFT_NEVER ? *fields[i] : input->given[i];
    }
    input->request.delays = delays;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const char *const modes[] = {"demand", "provision", "best"};
    static const char *const delays[] = {"none", "ideal", "commodity"};
    static const char *const engines[] = {"flow", "packet"};
    struct rails_input *input = state->input;
    uint32_t choice = 0;
    switch (key) {
    case KEY_DARK:
    case KEY_COMMAND:
    case KEY_RETRAIN:
    case KEY_FIRST:
        return take_time(input, key, argument);
    case KEY_MODE:
        if (cli_choose(input->cli, &choice, "mode", argument, modes, 3) != 0) {
            return EINVAL;
        }
        input->request.mode = (enum weft_rail_mode)choice;
        return 0;
    case KEY_DELAYS:
        return cli_choose(input->cli, &input->named, "delays", argument, delays, 3);
    case KEY_WITHIN:
        input->request.within = true;
        return 0;
    case KEY_ENGINE:
        if (cli_choose(input->cli, &choice, "engine", argument, engines, 2) != 0) {
            return EINVAL;
        }
        input->request.plays = true;
        input->request.engine = choice == 1 ? WEFT_ENGINE_PACKET : WEFT_ENGINE_FLOW;
        return 0;
    case KEY_PLOT:
        input->plot_path = argument;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.path, argument, "job");
    case ARGP_KEY_END:
        settle(input);
        return input->request.path != NULL
                   ? 0
                   : cli_usage(input->cli, "which job? write %s JOB.yaml --dark-time 25ms",
                               input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// What an engine makes of the plan.
static void print_play(struct cli *cli, const struct weft_rails_result *result)
{
    const struct weft_rail_play *play = result->play;
    char text[WEFT_UNIT_TEXT];
    bool packets = result->engine == WEFT_ENGINE_PACKET;
    cli_say(cli, "simulated in the %s engine: %s, %+.3g %% against the plan; ",
            packets ? "packet" : "flow", weft_show_time(text, play->iteration_ps),
            100 * ((double)play->iteration_ps / (double)result->run.iteration_ps - 1));
    if (packets) {
        cli_say(cli, "%.3g million packets an iteration", 1e-6 * (double)play->packet_count);
    } else {
        cli_say(cli, "%u messages an iteration", play->message_count);
    }
    if (play->divisor > 1) {
        cli_say(cli, ", bytes and rates divided by %g to play no more (--yes: all)", play->divisor);
    }
    cli_say(cli, "; its changes passed the checker\n");
}

static void print_head(struct cli *cli, const struct weft_rails_result *result)
{
    const struct weft_rail_result *run = &result->run;
    const struct weft_rail_job *job = &result->job;
    char text[4][WEFT_UNIT_TEXT];
    cli_say(cli, "%s: %u accelerators, dp %u, pp %u, tp %u, ep %u; rails asked %s\n", job->name,
            job->dp * job->pp * job->tp, job->dp, job->pp, job->tp, job->ep,
            run->mode == WEFT_RAIL_DEMAND      ? "on demand"
            : run->mode == WEFT_RAIL_PROVISION ? "ahead"
                                               : "ahead, the best at each boundary");
    cli_say(cli, "iteration %s, %.3g %% over electrical rails (%s); without dark time %s\n",
            weft_show_time(text[0], run->iteration_ps),
            100 * ((double)run->iteration_ps / (double)run->electrical_ps - 1),
            weft_show_time(text[1], run->electrical_ps), weft_show_time(text[2], run->still_ps));
    cli_say(cli, "%u changes, %u phase starts on the critical path, ports dark %.3g %% of the time",
            run->boundary_count, run->phase_starts, 100 * run->dark_share);
    if (run->split + run->forwarded > 0) {
        cli_say(cli, "; %llu operations on half of the ports, %llu relayed",
                (unsigned long long)run->split, (unsigned long long)run->forwarded);
    }
    cli_say(cli, "\nno choice, order or time of changes is quicker than %s (gap %.3g %%)\n",
            weft_show_time(text[0], run->bound_ps),
            100 * ((double)run->iteration_ps / (double)run->bound_ps - 1));
    if (result->play != NULL) {
        print_play(cli, result);
    }
    if (run->overlap.cost_ps > 0 && run->overlap.count > 0) {
        cli_say(cli,
                "phases overlap: %llu operations are ready while another phase has their port, the "
                "first %s behind %s on server %u at %s; waiting for ports costs %s\n",
                (unsigned long long)run->overlap.count, run->overlap.waits, run->overlap.holds,
                run->overlap.server, weft_show_time(text[0], run->overlap.at_ps),
                weft_show_time(text[1], run->overlap.cost_ps));
    }
    cli_say(cli, "\n");
}

static void print(struct cli *cli, const struct weft_rails_result *result)
{
    static const struct weft_table_column columns[] = {
        {"asked", WEFT_ALIGN_RIGHT}, {"dark from", WEFT_ALIGN_RIGHT}, {"to", WEFT_ALIGN_RIGHT},
        {"phases", WEFT_ALIGN_LEFT}, {"servers", WEFT_ALIGN_RIGHT},   {"window", WEFT_ALIGN_RIGHT},
        {"cost", WEFT_ALIGN_RIGHT},  {"decision", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_rail_result *run = &result->run;
    uint32_t shown = cli->form == CLI_CSV || run->boundary_count < BOUNDARIES_SHOWN
                         ? run->boundary_count
                         : BOUNDARIES_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS);
    print_head(cli, result);
    for (uint32_t b = 0; b < shown; b++) {
        const struct weft_rail_boundary *boundary = &run->boundaries[b];
        struct weft_table_cell *row = cells + (size_t)b * COLUMNS;
        row[0] = weft_cell_time(&cli->arena, weft_seconds(boundary->asked_ps));
        row[1] = weft_cell_time(&cli->arena, weft_seconds(boundary->dark_from_ps));
        row[2] = weft_cell_time(&cli->arena, weft_seconds(boundary->dark_to_ps));
        row[3].text = weft_arena_format(&cli->arena, "%s to %s%s", boundary->before,
                                        boundary->after, boundary->early ? ", next step" : "");
        row[4] = weft_cell_count(&cli->arena, boundary->servers);
        row[5] = weft_cell_time(&cli->arena, weft_seconds(boundary->window_ps));
        row[6] = weft_cell_time(&cli->arena, weft_seconds(boundary->cost_ps));
        row[7].text = weft_rail_decision_name(boundary->decision);
    }
    cli_table(cli, columns, COLUMNS, cells, shown);
    if (shown < run->boundary_count) {
        cli_say(cli, "and %u more changes; --json lists all\n", run->boundary_count - shown);
    }
}

static bool plot(const struct rails_input *input, const struct weft_rails_result *result)
{
    struct cli *cli = input->cli;
    const char *svg = weft_report_svg_rails(&result->run, result->job.name, &cli->arena);
    return weft_file_save(input->plot_path, svg, strlen(svg), &cli->error);
}

int optics_rails(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics rails",
        .arguments = "JOB.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct rails_input input = {
        .cli = &cli,
        .request = {.mode = WEFT_RAIL_BEST},
        .given = {WEFT_NEVER, WEFT_NEVER, WEFT_NEVER, WEFT_NEVER},
    };
    struct weft_rails_result result;
    if (!cli_parse(&cli, &verb, argc, argv, &input) ||
        (input.plot_path != NULL && !cli_can_write(&cli, input.plot_path))) {
        return cli_finish(&cli, false);
    }
    bool fine =
        weft_request_rails(&result, &input.request, cli_environment(&cli, cli_clock_watch(&cli)));
    cli_clock_stop(&cli);
    fine = fine && (input.plot_path == NULL || plot(&input, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_rails_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
