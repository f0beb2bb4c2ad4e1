// SPDX-License-Identifier: Apache-2.0
// weft optics sip: SiP-ML over numbers of accelerators, wavelengths and dark times.

#include "weft/request/sip.h"
#include "cli/optics/optics.h"

// Each is the parameter of its name (weft_sip_parameters).
enum {
    KEY_GPUS = 1000,
    KEY_WAVELENGTHS,
    KEY_FABRIC,
    KEY_DARK_TIME,
    KEY_COMMODITY,
    KEY_SHOTS,
    KEY_SWITCHES,
    KEY_REACH,
    KEY_DP,
    KEY_BATCHES,
    KEY_WEIGHTS,
    KEY_LATENCY,
    KEY_ELECTRICAL,
    KEY_CAP,
};

static const struct argp_option options[] = {
    {"gpus", KEY_GPUS, "N,...", 0, "accelerators (the cluster's; 64)", 0},
    {"wavelengths", KEY_WAVELENGTHS, "W,...", 0, "of an accelerator, 25 Gbps each (20)", 0},
    {"fabric", KEY_FABRIC, "NAMES", 0, "sip-ocs, sip-ring or both (both)", 0},
    {"dark-time", KEY_DARK_TIME, "TIME,...", 0, "of a circuit that changes (20us)", 0},
    {"commodity", KEY_COMMODITY, NULL, 0,
     "changes also take today's 16 ms of command and 5.67 s of re-training", 0},
    {"shots", KEY_SHOTS, "WHEN", 0,
     "circuits change: single (never), together, staggered, or the best of them (best)", 0},
    {"switches", KEY_SWITCHES, "Q", 0, "parallel circuit switches (20)", 0},
    {"reach", KEY_REACH, "D", 0,
     "ids that an operator may lie behind what it reads (16, and any number)", 0},
    {"dp", KEY_DP, "N", 0, "replicas (the best of 1, 2, 4, ...)", 0},
    {"batches", KEY_BATCHES, "B:I,...", 0,
     "global batches to choose from, with their iterations to accuracy", 0},
    {"weights", KEY_WEIGHTS, "BYTES", 0, "gradients of a replica, whatever the model has", 0},
    {"latency", KEY_LATENCY, "TIME", 0, "of light (the cluster's; 100ns)", 0},
    {"electrical", KEY_ELECTRICAL, "RATE,...", 0,
     "of accelerators on electrical switches (128Gbps, doubled up to 8192Gbps)", 0},
    {"cap", KEY_CAP, "RATE", 0, "between replicas there (400Gbps; 0: none)", 0},
    {0},
};

static const char doc[] =
    "Splits a model's operators over accelerators with silicon photonics, places them so that each "
    "talks to few others, and joins them by circuits of parallel switches (sip-ocs) or wavelengths "
    "of fiber rings (sip-ring), as SiP-ML does; the iteration is played, and held against "
    "electrical fabrics.\v"
    "CLUSTER says which accelerators (A100-80GB where there is none) and how many. Speed-ups are "
    "times to accuracy on an electrical fabric of that rate over those here; the best strategy is "
    "chosen for each. lower_bound is proved.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics sip resnet50 --gpus 64,1024 --wavelengths 20,320\n"
    "  $ weft optics sip gpt2-355m --fabric sip-ocs --dark-time 1us,100us,10ms --csv\n";

struct sip_input {
    struct cli *cli;
    struct weft_sip_request request;
};

static error_t take_word(struct sip_input *input, const char *word)
{
    if (input->request.job.model == NULL) {
        input->request.job.model = word;
        return 0;
    }
    return cli_take(input->cli, &input->request.cluster_path, word, "cluster");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct sip_input *input = state->input;
    const struct cli_parameters parameters = {&input->request, weft_sip_parameters,
                                              weft_sip_parameter_count};
    for (uint32_t o = 0; options[o].name != NULL; o++) {
        if (options[o].key == key) {
            return cli_parameter(input->cli, &parameters, options[o].name, argument);
        }
    }
    switch (key) {
    case ARGP_KEY_ARG:
        return take_word(input, argument);
    case ARGP_KEY_END:
        return input->request.job.model != NULL
                   ? 0
                   : cli_usage(input->cli, "which model? write %s MODEL; weft models lists them",
                               input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_row(struct weft_table_cell *cells, const struct weft_sip_row *row,
                      uint32_t rate_count, struct weft_arena *arena)
{
    const struct weft_sip_result *found = &row->found;
    const struct weft_moving_plan *plan = &found->plan;
    bool ring = plan->fabric == WEFT_MOVING_SIP_RING;
    cells[0] = weft_cell_count(arena, row->accelerators);
    cells[1] = weft_cell_count(arena, row->wavelengths);
    cells[2].text = weft_moving_name(plan->fabric);
    cells[3] = ring ? (struct weft_table_cell){.text = "-"}
                    : weft_cell_time(arena, weft_seconds(row->dark_ps));
    for (uint32_t c = 4; row->why_not != NULL && c < 9 + rate_count; c++) {
        cells[c].text = "-";
    }
    if (row->why_not != NULL) {
        return;
    }
    cells[4].text = weft_arena_format(arena, "%u:%u", found->dp, found->mp);
    if (found->micro_batches > 1) {
        cells[4].text = weft_arena_format(arena, "%s x%u", cells[4].text, found->micro_batches);
    }
    cells[5].text = ring ? "-" : weft_sip_shots_words[found->shots];
    cells[6] = weft_cell_time(arena, plan->iteration_s);
    cells[7] = weft_cell_time(arena, plan->certificate.lower_bound_s);
    cells[8] = weft_cell_percent(arena, 2, plan->dark_share);
    for (uint32_t r = 0; r < rate_count; r++) {
        cells[9 + r] = weft_cell_number(arena, 2, row->speedups[r]);
    }
}

static void print(struct cli *cli, const struct weft_sip_study *result)
{
    static const struct weft_table_column first[] = {
        {"gpus", WEFT_ALIGN_RIGHT},      {"waves", WEFT_ALIGN_RIGHT},
        {"fabric", WEFT_ALIGN_LEFT},     {"dark time", WEFT_ALIGN_RIGHT},
        {"dp:mp", WEFT_ALIGN_RIGHT},     {"shots", WEFT_ALIGN_LEFT},
        {"iteration", WEFT_ALIGN_RIGHT}, {"lower bound", WEFT_ALIGN_RIGHT},
        {"dark", WEFT_ALIGN_RIGHT},
    };
    enum { FIRST = sizeof first / sizeof first[0] };
    uint32_t count = FIRST + result->rate_count;
    struct weft_table_column *columns = WEFT_NEW(&cli->arena, struct weft_table_column, count);
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->row_count * count);
    for (uint32_t c = 0; c < FIRST; c++) {
        columns[c] = first[c];
    }
    for (uint32_t r = 0; r < result->rate_count; r++) {
        columns[FIRST + r] = (struct weft_table_column){
            weft_arena_format(&cli->arena, "x %.0fG", result->rates_Bps[r] * 8e-9),
            WEFT_ALIGN_RIGHT};
    }
    for (uint32_t r = 0; r < result->row_count; r++) {
        print_row(cells + (size_t)r * count, &result->rows[r], result->rate_count, &cli->arena);
    }
    cli_say(cli, "%s, %llu samples, %s; speed-ups over electrical fabrics of a rate\n\n",
            result->model.name, (unsigned long long)result->model.batch, result->accelerator);
    cli_table(cli, columns, count, cells, result->row_count);
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct weft_sip_row *row = &result->rows[r];
        if (row->why_not != NULL) {
            cli_say(cli, "%u gpus, %u waves, %s: %s\n", row->accelerators, row->wavelengths,
                    weft_moving_name(row->found.plan.fabric), row->why_not);
        }
    }
}

int optics_sip(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics sip",
        .arguments = "MODEL [CLUSTER]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES | CLI_JOB,
    };
    struct cli cli;
    struct sip_input input = {.cli = &cli};
    struct weft_sip_study result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input);
    if (fine) {
        const char *model = input.request.job.model;
        input.request.job = cli.given.job;
        input.request.job.model = model;
        fine = weft_request_sip(&result, &input.request, cli_environment(&cli, NULL));
    }
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_sip_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
