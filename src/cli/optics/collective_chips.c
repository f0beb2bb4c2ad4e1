// SPDX-License-Identifier: Apache-2.0
// weft optics collective --circuits: a collective over a chip's own circuits, by size.

#include "optics.h"

#include <math.h>
#include <string.h>

static const uint64_t default_sizes[] = {1u << 16, 1u << 20, 1u << 22,
                                         1u << 24, 1u << 26, 1u << 28};
enum { DEFAULT_SIZES = sizeof default_sizes / sizeof default_sizes[0] };

static const char *show_size(struct cli *cli, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    uint32_t unit = 0;
    while (unit < 3 && bytes >= 1024) {
        bytes /= 1024;
        unit++;
    }
    return weft_arena_format(&cli->arena, "%.4g %s", bytes, units[unit]);
}

static const char *show_radices(struct cli *cli, const struct weft_recursive_plan *plan)
{
    struct weft_text text;
    weft_text_init(&text, &cli->arena);
    if (plan->is_ring) {
        return "ring";
    }
    for (uint32_t k = 0; k < plan->radix_count; k++) {
        weft_text_add(&text, "%s%u", k > 0 ? "x" : "", plan->radices[k]);
    }
    return text.data;
}

static uint32_t count_stays(const struct weft_recursive_plan *plan)
{
    return (uint32_t)__builtin_popcountll(plan->stays);
}

// A line a size: what the rows take, and of the last one how.
static void print_cases(struct cli *cli, const struct weft_recursive_result *result,
                        const struct weft_recursive_setting *setting)
{
    uint32_t columns_count = result->row_count + 5;
    struct weft_table_column *columns =
        WEFT_NEW(&cli->arena, struct weft_table_column, columns_count);
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)setting->case_count * columns_count);
    const struct weft_recursive_row *names = setting->cases[0].rows;
    uint32_t at = 0;
    columns[at++] = (struct weft_table_column){"size", WEFT_ALIGN_RIGHT};
    for (uint32_t r = 0; r < result->row_count; r++) {
        columns[at++] = (struct weft_table_column){names[r].name, WEFT_ALIGN_RIGHT};
    }
    columns[at++] = (struct weft_table_column){"saved", WEFT_ALIGN_RIGHT};
    columns[at++] = (struct weft_table_column){"radices", WEFT_ALIGN_LEFT};
    columns[at++] = (struct weft_table_column){"changes", WEFT_ALIGN_RIGHT};
    columns[at++] = (struct weft_table_column){"on ring", WEFT_ALIGN_RIGHT};
    for (uint32_t c = 0; c < setting->case_count; c++) {
        const struct weft_recursive_case *one = &setting->cases[c];
        const struct weft_recursive_plan *best = &one->rows[result->row_count - 1].plan;
        struct weft_table_cell *cell = cells + (size_t)c * columns_count;
        *cell++ = weft_cell_figure(show_size(cli, (double)one->size_bytes), "bytes",
                                   (double)one->size_bytes);
        for (uint32_t r = 0; r < result->row_count; r++) {
            *cell++ = weft_cell_time(&cli->arena, one->rows[r].plan.seconds);
        }
        *cell++ = weft_cell_percent(&cli->arena, 1, 1 - best->seconds / one->rows[0].plan.seconds);
        (cell++)->text = show_radices(cli, best);
        *cell++ = weft_cell_count(&cli->arena, best->change_count);
        *cell++ = weft_cell_count(&cli->arena, count_stays(best));
    }
    cli_table(cli, columns, at, cells, setting->case_count);
}

static void print_regimes(struct cli *cli, const struct weft_recursive_result *result,
                          const struct weft_recursive_setting *setting)
{
    for (uint32_t r = 1; r < result->row_count; r++) {
        cli_say(cli, "%s%s saves", r == 1 ? "\n" : "", setting->cases[0].rows[r].name);
        for (uint32_t g = 0; g < WEFT_RECURSIVE_SAVED_COUNT; g++) {
            double bytes = setting->regimes_bytes[r - 1][g];
            cli_say(cli, "%s %g %% %s%s", g > 0 ? "," : "", 100 * result->saved_ratios[g],
                    bytes <= 0     ? "at no size"
                    : isinf(bytes) ? "at any size"
                                   : "up to ",
                    bytes <= 0 || isinf(bytes) ? "" : show_size(cli, bytes));
        }
        cli_say(cli, "\n");
    }
}

// How far the engine is from the formula at the most, row by row.
static void print_played(struct cli *cli, const struct weft_recursive_result *result,
                         const struct weft_recursive_setting *setting, bool packets)
{
    cli_say(cli, "\n%s engine against the formula:", packets ? "packet" : "flow");
    for (uint32_t r = 0; r < result->row_count; r++) {
        double widest = 0;
        for (uint32_t c = 0; c < setting->case_count; c++) {
            const struct weft_recursive_row *row = &setting->cases[c].rows[r];
            double ratio = row->played_s / row->plan.seconds - 1;
            widest = fabs(ratio) > fabs(widest) ? ratio : widest;
        }
        cli_say(cli, "%s %s %+.3f %%", r > 0 ? "," : "", setting->cases[0].rows[r].name,
                100 * widest + 0.0);
    }
    cli_say(cli, " at most\n");
}

static void print(struct cli *cli, const struct weft_recursive_request *request,
                  const struct weft_recursive_result *result)
{
    const struct weft_recursive_options *options = &request->options;
    for (uint32_t s = 0; s < result->setting_count; s++) {
        const struct weft_recursive_setting *setting = &result->settings[s];
        char rate[WEFT_UNIT_TEXT];
        char latency[WEFT_UNIT_TEXT];
        char change[WEFT_UNIT_TEXT];
        cli_say(cli, "%s%s on %u chips of %s, %u circuit%s at once; %s a message, %s a change\n\n",
                s > 0 ? "\n" : "", weft_collective_name(options->kind), options->chip_count,
                weft_show_rate(rate, setting->rate_Bps), options->circuits_max,
                options->circuits_max == 1 ? "" : "s",
                weft_show_time(latency, weft_picoseconds(options->hop_s)),
                weft_show_time(change, weft_picoseconds(setting->change_s)));
        print_cases(cli, result, setting);
        print_regimes(cli, result, setting);
        if (request->plays) {
            print_played(cli, result, setting, request->packets);
        }
    }
}

bool optics_collective_chips(struct cli *cli, struct weft_recursive_request *chips,
                             const struct weft_rewired_request *planes)
{
    chips->options.kind = planes->options.kind;
    chips->options.chip_count = planes->options.rank_count;
    chips->options.hop_s = planes->options.hop_s;
    chips->rate_count = planes->rate_count;
    chips->change_count = planes->change_count;
    memcpy(chips->rates_Bps, planes->rates_Bps, sizeof chips->rates_Bps);
    memcpy(chips->changes_ps, planes->changes_ps, sizeof chips->changes_ps);
    if (chips->size_count == 0) {
        chips->size_count = DEFAULT_SIZES;
        memcpy(chips->sizes_bytes, default_sizes, sizeof default_sizes);
    }
    struct weft_recursive_result result;
    if (!weft_request_recursive(&result, chips, cli_environment(cli, NULL))) {
        return false;
    }
    if (cli->json) {
        cli_say(cli, "%s", weft_request_recursive_json(&result, chips, &cli->arena));
    } else {
        print(cli, chips, &result);
    }
    return true;
}
