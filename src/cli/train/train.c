// SPDX-License-Identifier: Apache-2.0
// weft train: what a net's accuracy loses when gradients lose segments. The options become a
// weft_train_request; the text puts each loss beside none, seed by seed, and says what of it is
// more than chance.

#include "weft/request/train.h"
#include "cli/cli.h"
#include "weft/format/file.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

enum {
    KEY_NET = 1,
    KEY_WORKERS,
    KEY_BATCH,
    KEY_EPOCHS,
    KEY_TEST,
    KEY_SEEDS,
    KEY_SEGMENT,
    KEY_RATE,
    KEY_MOMENTUM,
    KEY_LOSE,
    KEY_RESCALE,
    KEY_PLOT,
};

static const struct argp_option options[] = {
    {"net", KEY_NET, "NET", 0,
     "mlp (dense:300,dense:100,dense:10), cnn (conv:8x5,pool:2,conv:16x5,pool:2,dense:128,"
     "dense:10) or layers as these (mlp)",
     0},
    {"workers", KEY_WORKERS, "N", 0, "that share a batch; each loses segments of its own (8)", 0},
    {"batch", KEY_BATCH, "N", 0, "images of a step, of all workers together (128)", 0},
    {"epochs", KEY_EPOCHS, "N", 0, "how often all images are seen (12)", 0},
    {"test", KEY_TEST, "N", 0, "images kept for the test, other ones for each seed (a tenth)", 0},
    {"seeds", KEY_SEEDS, "N", 0, "runs of each loss, from --seed on (5)", 0},
    {"segment", KEY_SEGMENT, "N", 0, "numbers of a segment, which is lost or arrives (256)", 0},
    {"learning-rate", KEY_RATE, "R", 0, "of the mean gradient of a batch (0.05)", 0},
    {"momentum", KEY_MOMENTUM, "M", 0, "of the descent; 0 = none (0.9)", 0},
    {"lose", KEY_LOSE, "KIND:SHARE,...", 0,
     "what is lost, a row each; may be given again (random:10%,smallest:10%,largest:10%)", 0},
    {"rescale", KEY_RESCALE, NULL, 0,
     "divide each segment's sum by the share of workers that are in it; else what is lost counts "
     "as 0",
     0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw accuracy over the share that is lost, too", 0},
    {0},
};

static const char doc[] =
    "Trains a small net by workers that share each batch, whose gradients lose segments on the way "
    "to their sum, and says what that costs its accuracy: each loss with several seeds, beside "
    "runs of the same seeds without loss.\v"
    "IMAGES and LABELS are IDX files as MNIST has them, packed by gzip or not, or bare images of "
    "28 x 28 bytes with a byte each as label. Without them: the 2,000 digits that ship with Weft.\n"
    "\n"
    "Kinds of loss; SHARE is of the segments of each worker's gradient, in every step:\n"
    "  random:10%    any of them\n"
    "  smallest:10%  those of the least L2 norm, as a transport drops that knows gradients\n"
    "  largest:10%   those of the largest\n"
    "  layer:1:10%   any of one layer, counted from the front\n"
    "  last:10%      the end of the vector: the same ones in every step\n"
    "  ring:1.4%     any at each hop of a ring all-reduce, with all that was summed before it\n"
    "\n"
    "The accuracy is that of the test after the last epoch. The difference is to no loss, a pair "
    "for each seed; `errors` is it in its standard errors, and `chance` how likely runs without "
    "any effect differ by as much (Student's t). An effect is called one below 0.05, which one row "
    "in twenty is without any.\n"
    "\n"
    "Examples:\n"
    "  $ weft train\n"
    "  $ weft train --net cnn --lose random:3%,random:10%,random:30% --lose smallest:30%\n"
    "  $ weft train --lose ring:1.4% --rescale --seeds 10 --plot accuracy.svg\n"
    "  $ weft train train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz --test 10000 --yes\n";

struct train_input {
    struct cli *cli;
    struct weft_train_request request;
    const char *plot_path; // NULL = none
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct train_input *input = state->input;
    const struct weft_parameter_group *group = weft_train_parameters;
    const struct cli_parameters parameters = {&input->request, group->rows, group->count};
    for (uint32_t o = 0; key >= KEY_NET && key < KEY_PLOT && options[o].name != NULL; o++) {
        if (options[o].key == key) {
            return cli_parameter(input->cli, &parameters, options[o].name, argument);
        }
    }
    switch (key) {
    case KEY_PLOT:
        return cli_take(input->cli, &input->plot_path, argument, "picture");
    case ARGP_KEY_ARG:
        return input->request.images_path == NULL
                   ? cli_take(input->cli, &input->request.images_path, argument, "file of images")
                   : cli_take(input->cli, &input->request.labels_path, argument, "file of labels");
    case ARGP_KEY_END:
        if (input->request.images_path != NULL && input->request.labels_path == NULL) {
            return cli_usage(input->cli, "images need labels: write %s IMAGES LABELS",
                             input->cli->program);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- what people read ----

// What one seed does not have.
static struct weft_table_cell unless_single(struct weft_table_cell cell)
{
    return isfinite(cell.value) ? cell : (struct weft_table_cell){.text = "-"};
}

static const char *effect_of(const struct weft_train_effect *effect)
{
    return !isfinite(effect->chance)                  ? "one seed shows none"
           : effect->chance >= WEFT_TRAIN_SIGNIFICANT ? "none shown"
           : effect->difference < 0                   ? "worse"
                                                      : "better";
}

static void print_rows(struct cli *cli, const struct weft_train_result *result)
{
    static const struct weft_table_column columns[] = {
        {"lost", WEFT_ALIGN_LEFT},        {"of segments", WEFT_ALIGN_RIGHT},
        {"accuracy", WEFT_ALIGN_RIGHT},   {"std. error", WEFT_ALIGN_RIGHT},
        {"difference", WEFT_ALIGN_RIGHT}, {"its std. error", WEFT_ALIGN_RIGHT},
        {"errors", WEFT_ALIGN_RIGHT},     {"chance", WEFT_ALIGN_RIGHT},
        {"effect", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->row_count * COLUMNS);
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct weft_train_row *row = &result->rows[r];
        const struct weft_train_effect *effect = &row->effect;
        struct weft_table_cell *cell = cells + (size_t)r * COLUMNS;
        cell[0].text = row->name;
        cell[1] = weft_cell_percent(arena, 2, row->lost_share);
        cell[2] = weft_cell_percent(arena, 2, effect->mean);
        cell[3] = unless_single(weft_cell_percent(arena, 2, effect->mean_error));
        if (r == 0) {
            continue;
        }
        double errors = effect->difference / effect->difference_error;
        cell[4] = weft_cell_change(arena, 2, effect->difference);
        cell[5] = unless_single(weft_cell_percent(arena, 2, effect->difference_error));
        cell[6] = unless_single(weft_cell_number(arena, 1, errors));
        cell[7] = unless_single(
            weft_cell_figure(weft_arena_format(arena, "%.2g", effect->chance), "", effect->chance));
        cell[8].text = effect_of(effect);
    }
    cli_table(cli, columns, COLUMNS, cells, result->row_count);
}

static void print(struct cli *cli, const struct weft_train_result *result)
{
    const struct weft_train_options *asked = &result->asked;
    cli_say(cli, "%s: %u numbers, %u segments of %u\n", asked->net, result->number_count,
            result->segment_count, asked->segment_floats);
    cli_say(
        cli,
        "%u images, %u more for the test; %u workers, batches of %u, %u epoch%s, %u seed%s%s\n\n",
        result->train_count, result->test_count, asked->worker_count, asked->batch, asked->epochs,
        asked->epochs == 1 ? "" : "s", result->seed_count, result->seed_count == 1 ? "" : "s",
        asked->rescales ? "; sums rescaled" : "; what is lost counts as 0");
    print_rows(cli, result);
    if (result->stopped) {
        cli_say(cli, "\nleft unfinished: rows whose runs had not all ended are not here\n");
    }
    cli_say(cli, "\nerrors  the difference to no loss in its standard errors, over the seeds\n");
    cli_say(cli, "chance  that runs without any effect differ by as much; an effect below %g\n",
            WEFT_TRAIN_SIGNIFICANT);
    cli_say(cli, "One run's accuracy has a standard error of %.2f points by its %u images alone.\n",
            100 * result->test_error, result->test_count);
}

// ---- the picture ----

// The kind, and of a layer which: what a line is of.
static const char *line_of(const struct weft_train_row *row, struct cli *cli)
{
    const char *word = weft_lost_words[row->lost.kind];
    return row->lost.kind == WEFT_LOST_LAYER
               ? weft_arena_format(&cli->arena, "%s %u", word, row->lost.tensor + 1)
               : word;
}

static struct weft_loss_point point_of(const struct weft_train_row *row)
{
    return (struct weft_loss_point){row->lost_share, row->effect.mean,
                                    row->effect.difference_error};
}

// Adds the row's point to the line of its kind, in order of shares.
static void add_point(struct weft_loss_line *line, struct weft_loss_point *points,
                      const struct weft_train_row *row)
{
    uint32_t at = line->count++;
    while (at > 0 && points[at - 1].share > row->lost_share) {
        points[at] = points[at - 1];
        at--;
    }
    points[at] = point_of(row);
    line->points = points;
}

static bool plot(struct cli *cli, const char *path, const struct weft_train_result *result)
{
    struct weft_arena *arena = &cli->arena;
    uint32_t rows = result->row_count, lines = 0;
    struct weft_loss_point *points = WEFT_NEW(arena, struct weft_loss_point, (size_t)rows * rows);
    struct weft_loss_line *list = WEFT_NEW(arena, struct weft_loss_line, rows);
    for (uint32_t r = 1; r < rows; r++) {
        const char *name = line_of(&result->rows[r], cli);
        uint32_t l = 0;
        while (l < lines && strcmp(list[l].name, name) != 0) {
            l++;
        }
        if (l == lines) {
            list[lines++].name = name;
        }
        add_point(&list[l], points + (size_t)l * rows, &result->rows[r]);
    }
    const struct weft_loss_chart chart = {
        .title =
            weft_arena_format(arena, "Accuracy of %s after %u epochs, %u workers",
                              result->asked.net, result->asked.epochs, result->asked.worker_count),
        .whole = point_of(&result->rows[0]),
        .line_count = lines,
        .lines = list,
    };
    const char *svg = weft_report_svg_accuracy(&chart, arena);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

static bool find_images(struct train_input *input)
{
    struct weft_train_request *request = &input->request;
    if (request->images_path == NULL) {
        request->images_path = cli_shipped(input->cli, "examples/digits/images.idx.gz");
        request->labels_path = cli_shipped(input->cli, "examples/digits/labels.idx.gz");
    }
    return request->images_path != NULL && request->labels_path != NULL;
}

int cli_train(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft train",
        .arguments = "[IMAGES LABELS]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct train_input input = {.cli = &cli};
    struct weft_train_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                cli_can_write(&cli, input.plot_path) && find_images(&input);
    if (fine) {
        fine = weft_request_train(&result, &input.request,
                                  cli_environment(&cli, cli_clock_watch(&cli)));
        cli_clock_stop(&cli);
    }
    fine = fine && (input.plot_path == NULL || plot(&cli, input.plot_path, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_train_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
