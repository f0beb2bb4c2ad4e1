// SPDX-License-Identifier: Apache-2.0
// weft collective fit: latency and bandwidth from measured collectives. The options become a
// weft_fit_request; each fit is printed with what Weft takes of it and what is left at each size,
// since one line through all sizes does not follow NCCL's changes of protocol.

#include "collective.h"
#include "weft/report.h"

#include <math.h>

#define PATHS_MAX 256u
#define RANKS_MAX (1u << 20)

static const char doc[] =
    "Fits the latency and the bandwidth of a cluster to collectives that ran on it: what "
    "all_reduce_perf and the other programs of nccl-tests or rccl-tests printed, or files of "
    "NCCL's Inspector. Prints what Weft takes, and how far the fit is off at each size.\v"
    "Least squares of relative errors over sizes, each by the median of what was measured (out of "
    "place and in place, all ranks of Inspector). The rate is a rank's, nccl-tests' bus "
    "bandwidth; the latency of a message is told as a ring's and as a tree's. NCCL changes "
    "protocol and algorithm with the size, which no line through all sizes shows: where the fit "
    "is far off, fit the sizes of your job by --size.\n"
    "\n"
    "Examples:\n"
    "  $ mpirun ... all_reduce_perf -b 8 -e 8G -f 2 -g 1 > allreduce.txt\n"
    "  $ weft collective fit allreduce.txt --rate 400Gbps\n"
    "  $ weft collective fit allreduce.txt alltoall.txt --size 1MiB..8GiB --json\n"
    "  $ weft collective fit old.txt --kind allgather --ranks 16\n";

enum { KEY_KIND = 1, KEY_RANKS, KEY_SIZE, KEY_RATE };

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "K", 0,
     "of files that do not say it (nccl-tests before 2.17): allreduce, reduce-scatter, allgather, "
     "broadcast, reduce, alltoall",
     0},
    {"ranks", KEY_RANKS, "N", 0, "of files that do not say them", 0},
    {"size", KEY_SIZE, "LOW..HIGH", 0, "fit these sizes alone", 0},
    {"rate", KEY_RATE, "R", 0,
     "of a port (or of a link inside a server), to tell what share of it is reached", 0},
    {0},
};

// What the options say.
struct fit_input {
    struct cli *cli;
    const char *paths[PATHS_MAX];
    struct weft_fit_request request;
};

// Options of the request, and the files, which are all its arguments.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct fit_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_fit_request *request = &input->request;
    switch (key) {
    case KEY_KIND:
        request->kind_given = true;
        return collective_take_kind(cli, &request->kind, argument);
    case KEY_RANKS:
        return cli_count(cli, &request->rank_count, "ranks", argument, 2, RANKS_MAX);
    case KEY_SIZE:
        return collective_take_sizes(cli, &request->size_low_bytes, &request->size_high_bytes,
                                     argument);
    case KEY_RATE:
        return cli_value(cli, weft_parse_rate(&request->rate_Bps, argument, &cli->error), "rate");
    case ARGP_KEY_ARG:
        if (request->path_count == PATHS_MAX) {
            return cli_usage(cli, "more than %u files", PATHS_MAX);
        }
        input->paths[request->path_count++] = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which file? write what all_reduce_perf printed, or Inspector's");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *show(struct cli *cli, double seconds)
{
    char *buffer = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    return weft_show_time(buffer, weft_picoseconds(seconds));
}

static double off(const struct weft_collective_fit_size *size)
{
    return 100 * (size->fit_s / size->seconds - 1);
}

// More than a fit is off by.
#define BEYOND_A_PORT 1.05

// What the fit says, and where it goes.
static void print_fit(struct cli *cli, const struct weft_collective_fit *fit, double port_Bps)
{
    char rate[WEFT_UNIT_TEXT];
    const struct weft_collective_fit_size *worst = &fit->sizes[fit->worst];
    bool bytes_cost = isfinite(fit->rate_Bps);
    weft_show_rate(rate, bytes_cost ? fit->rate_Bps : 0);
    cli_say(cli, "%s of %u ranks", weft_collective_name(fit->kind), fit->rank_count);
    if (fit->server_count > 0) {
        cli_say(cli, " on %u server%s", fit->server_count, plural(fit->server_count));
    }
    cli_say(cli, "\nlatency       %s; of a message %s in a ring, %s in a tree\n",
            show(cli, fit->latency_s), show(cli, fit->ring_message_s),
            show(cli, fit->tree_message_s));
    if (!bytes_cost) {
        cli_say(cli, "rate          not told: bytes take no time at these sizes\n");
    } else {
        cli_say(cli, "rate          %s a rank", rate);
        if (port_Bps > 0) {
            cli_say(cli, ", %.1f %% of %s", 100 * fit->rate_Bps / port_Bps,
                    weft_show_rate(rate, port_Bps));
        }
        cli_say(cli, "\n");
    }
    cli_say(cli, "fit           off by %.1f %% (root mean square), at %s by %+.1f %%\n",
            100 * fit->rms_ratio, collective_show_size(cli, worst->size_bytes), off(worst));
    if (bytes_cost && fit->server_count == 1) {
        cli_say(cli, "for Weft      --scale-up-rate %.6gGB/s --scale-up-latency %.6gus\n",
                fit->rate_Bps / 1e9, 1e6 * fit->ring_message_s);
    } else if (bytes_cost && port_Bps > 0 && fit->rate_Bps > BEYOND_A_PORT * port_Bps) {
        cli_say(cli,
                "for Weft      keep your --rate: a rank reaches more than one port carries, as "
                "ranks do that share the ports of their server\n");
    } else if (bytes_cost) {
        cli_say(cli,
                "for Weft      weft collective: --rate %.6gGbps --latency %.6gus; cluster file: ",
                fit->rate_Bps / 125e6, 1e6 * fit->ring_message_s);
        cli_say(cli, "rate: %.6gGbps, latency: %.6gus\n", fit->rate_Bps / 125e6,
                1e6 * weft_fit_link_latency_s(fit));
    }
}

static void print_sizes(struct cli *cli, const struct weft_collective_fit *fit)
{
    static const struct weft_table_column columns[] = {
        {"size", WEFT_ALIGN_RIGHT}, {"samples", WEFT_ALIGN_RIGHT}, {"measured", WEFT_ALIGN_RIGHT},
        {"fit", WEFT_ALIGN_RIGHT},  {"off", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)fit->size_count * COLUMNS);
    for (uint32_t i = 0; i < fit->size_count; i++) {
        const struct weft_collective_fit_size *size = &fit->sizes[i];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        row[0] = collective_size_cell(cli, size->size_bytes);
        row[1] = weft_cell_count(&cli->arena, size->sample_count);
        row[2] = weft_cell_time(&cli->arena, size->seconds);
        row[3] = weft_cell_time(&cli->arena, size->fit_s);
        row[4] = weft_cell_change(&cli->arena, 1, off(size) / 100);
    }
    cli_table(cli, columns, COLUMNS, cells, fit->size_count);
}

static bool run(struct fit_input *input)
{
    struct cli *cli = input->cli;
    struct weft_fit_result result;
    input->request.paths = input->paths;
    if (!weft_request_fit(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    if (cli->json) {
        cli_say(cli, "%s", weft_request_fit_json(&result, &cli->arena));
        return true;
    }
    for (uint32_t i = 0; i < result.fits.count; i++) {
        cli_say(cli, "%s", i > 0 ? "\n" : "");
        print_fit(cli, &result.fits.fits[i], result.rate_Bps);
        print_sizes(cli, &result.fits.fits[i]);
    }
    return true;
}

int collective_fit(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective fit",
        .arguments = "FILE...",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct fit_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
