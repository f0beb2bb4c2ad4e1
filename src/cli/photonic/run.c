// SPDX-License-Identifier: Apache-2.0
// weft photonic run: a compiled program over images, by its twin in C and by its modules.

#include "photonic.h"
#include "weft/report.h"
#include "weft/request/photonic_net.h"

#include <string.h>

enum {
    KEY_INPUT = 1,
    KEY_COUNT,
    KEY_LABELS,
    KEY_NOISE_PRODUCT,
    KEY_DARK_CODE,
    KEY_NOISE_SUM,
    KEY_BENCH,
    KEY_EXECUTE,
    KEY_STALL,
    KEY_TIMELINE,
};

static const struct argp_option options[] = {
    {"input", KEY_INPUT, "FILE", 0, "of bytes, an activation each, image after image", 0},
    {"count", KEY_COUNT, "N", 0, "the first N images alone", 0},
    {"labels", KEY_LABELS, "FILE", 0, "of bytes, the class of each image: says how many are right",
     0},
    {"noise-product", KEY_NOISE_PRODUCT, "SIGMA", 0,
     "Gaussian noise of each product, in steps of 256 (0)", 0},
    {"dark-code", KEY_DARK_CODE, "N", 0,
     "what a detector's converter of 8 bits reads of dark, 0 to 128; digital logic takes it off "
     "(16 with --noise-product, else 0)",
     0},
    {"noise-sum", KEY_NOISE_SUM, "SIGMA", 0,
     "of each sum, on the scale on which the layer's largest is from 128 to 255 (0)", 0},
    {"bench", KEY_BENCH, "N", 0,
     "write the first N images and what the Verilog bench must find into DIR", 0},
    {"cycle-by-cycle", KEY_EXECUTE, NULL, 0,
     "run DIR's count-action modules, too: they must leave what the twin does, and as soon", 0},
    {"stall", KEY_STALL, "SEED", 0, "of memories that make them wait by chance", 0},
    {"timeline", KEY_TIMELINE, "FILE.svg", 0,
     "draw what the modules did in each cycle of the first image", 0},
    {0},
};

static const char doc[] =
    "Runs a compiled program over images, equal to the hardware in every sum: classes, sums, "
    "log-probabilities where the last layer has softmax, and cycles.\v"
    "DIR is what weft photonic compile -o wrote. With --noise-product or --noise-sum light "
    "multiplies with noise; --seed chooses it.\n"
    "\n"
    "A product cannot be less than what --dark-code leaves below dark. 16 is five sigma of noise "
    "of "
    "3 steps; more noise needs more, and products end at 255 - N. With 0, noise below dark is "
    "lost: "
    "every dark product gains up to 0.4 sigma with its weight's sign, which no sum averages "
    "out.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic run digits --input digits.u8 --labels labels.u8\n"
    "  $ weft photonic run digits --input digits.u8 --noise-product 1.66 --json\n"
    "  $ weft photonic run digits --input digits.u8 --noise-product 3 --dark-code 0\n"
    "  $ weft photonic run digits --input digits.u8 --bench 50\n"
    "  $ weft photonic run digits --input digits.u8 --cycle-by-cycle --stall 7 --count 20\n"
    "  $ weft photonic run digits --input digits.u8 --timeline cycles.svg\n";

enum { SHOWN = 10 };
#define SIGMA_MAX 1000.0

struct run_input {
    struct cli *cli;
    struct weft_photonic_run_request request;
    const char *timeline_path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct run_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_photonic_run_request *request = &input->request;
    switch (key) {
    case KEY_INPUT:
        request->input = argument;
        return 0;
    case KEY_COUNT:
        return cli_count(cli, &request->count, "count", argument, 1, UINT32_MAX);
    case KEY_LABELS:
        request->labels = argument;
        return 0;
    case KEY_NOISE_PRODUCT:
        return cli_value(
            cli,
            weft_parse_number(&request->light.product_sigma, argument, 0, SIGMA_MAX, &cli->error),
            "noise-product");
    case KEY_DARK_CODE:
        request->dark_code.given = true;
        return cli_count(cli, &request->dark_code.value, "dark-code", argument, 0,
                         WEFT_PHOTONIC_DARK_CODE_MAX);
    case KEY_NOISE_SUM:
        return cli_value(
            cli, weft_parse_number(&request->light.sum_sigma, argument, 0, SIGMA_MAX, &cli->error),
            "noise-sum");
    case KEY_BENCH:
        return cli_count(cli, &request->bench, "bench", argument, 1, 1u << 20);
    case KEY_EXECUTE:
        request->cycle_by_cycle = true;
        return 0;
    case KEY_STALL:
        return cli_count(cli, &request->stall, "stall", argument, 1, UINT32_MAX);
    case KEY_TIMELINE:
        request->timeline = true;
        input->timeline_path = argument;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(cli, &request->folder, argument, "program");
    case ARGP_KEY_END:
        if (request->folder == NULL) {
            return cli_usage(cli, "which program? write %s DIR --input FILE.u8", cli->program);
        }
        return request->input != NULL
                   ? 0
                   : cli_usage(cli, "which images? write --input FILE.u8, a byte an activation");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_executor(struct cli *cli, const struct weft_photonic_run_result *result)
{
    const struct weft_photonic_run_executor *executor = &result->executor;
    if (executor->image_count == 0) {
        return;
    }
    bool longer = executor->cycles > result->cycles;
    cli_say(cli, "executor: %u image%s, %s%llu cycles%s", executor->image_count,
            executor->image_count == 1 ? "" : "s", longer ? "at most " : "",
            (unsigned long long)executor->cycles, longer ? "" : " each, as the twin");
    cli_say(cli, "; %llu bubble%s; classes and sums are the twin's\n",
            (unsigned long long)executor->stalls, executor->stalls == 1 ? "" : "s");
}

static bool draw(struct cli *cli, const struct run_input *input,
                 const struct weft_photonic_run_result *result)
{
    const char *name = result->program.name;
    const char *title = weft_arena_format(&cli->arena, "%s, cycle by cycle",
                                          *name != '\0' ? name : input->request.folder);
    const char *svg =
        weft_report_svg_cycles(&result->executor.trace, result->program.names, title, &cli->arena);
    return weft_file_save(input->timeline_path, svg, strlen(svg), &cli->error);
}

static void print(struct cli *cli, const struct weft_photonic_run_result *result)
{
    for (uint32_t i = 0; i < result->image_count && i < SHOWN; i++) {
        const int32_t *sums = result->sums + (size_t)i * result->sum_count;
        cli_say(cli, "image %u: class %u, sums", i, result->classes[i]);
        for (uint32_t j = 0; j < result->sum_count && j < SHOWN; j++) {
            cli_say(cli, " %d", sums[j]);
        }
        cli_say(cli, result->sum_count > SHOWN ? " ...\n" : "\n");
    }
    if (result->image_count > SHOWN) {
        cli_say(cli, "... (--json has all)\n");
    }
    cli_say(cli, "%u image%s, %llu cycles each\n", result->image_count,
            result->image_count == 1 ? "" : "s", (unsigned long long)result->cycles);
    print_executor(cli, result);
    if (result->has_labels) {
        cli_say(cli, "%u of %u right: %.2f %%\n", result->right_count, result->image_count,
                100.0 * result->right_count / result->image_count);
    }
    for (uint32_t i = 0; i < result->file_count; i++) {
        cli_say(cli, i == 0 ? "for the bench: %s" : ", %s", result->files[i]);
    }
    cli_say(cli, result->file_count > 0 ? "\n" : "");
}

int photonic_run(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic run",
        .arguments = "DIR --input FILE.u8",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct run_input input = {.cli = &cli};
    struct weft_photonic_run_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                (input.timeline_path == NULL || cli_can_write(&cli, input.timeline_path)) &&
                weft_request_photonic_run(&result, &input.request, cli_environment(&cli, NULL)) &&
                (input.timeline_path == NULL || draw(&cli, &input, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_photonic_run_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
