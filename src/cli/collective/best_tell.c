// SPDX-License-Identifier: Apache-2.0
// weft collective best: the ranking as a table, JSON, NCCL's tuner rows or a picture.

#include "best.h"
#include "weft/format.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

const char *const best_engine_names[BEST_ENGINES] = {"closed", "flow", "packet"};

static json_t *algorithm_object(const struct weft_collective_ranking *ranking,
                                enum weft_algorithm algorithm)
{
    json_t *object = json_object();
    cli_set_text(object, "algorithm", weft_algorithm_name(algorithm));
    cli_set_real(object, "seconds", ranking->times[algorithm].seconds);
    cli_set_count(object, "chunk_factor", ranking->times[algorithm].chunk_factor);
    return object;
}

static json_t *choice_object(const struct weft_collective_ranking *ranking)
{
    json_t *object = json_object();
    cli_set_count(object, "size_bytes", ranking->size_bytes);
    bool found = ranking->best < WEFT_ALGORITHM_COUNT;
    const struct weft_collective_time *time = &ranking->times[found ? ranking->best : 0];
    cli_set(object, "algorithm",
            found ? json_string(weft_algorithm_name(ranking->best)) : json_null());
    cli_set_real(object, "seconds", found ? time->seconds : (double)NAN);
    cli_set_count(object, "chunk_factor", time->chunk_factor);
    cli_set_real(object, "bound_s", ranking->bound_s);
    cli_set_real(object, "gap_ratio", found ? time->seconds / ranking->bound_s - 1 : (double)NAN);
    cli_set(object, "second",
            ranking->second < WEFT_ALGORITHM_COUNT ? algorithm_object(ranking, ranking->second)
                                                   : json_null());
    json_t *all = json_array();
    for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        if (ranking->times[a].seconds >= 0) {
            json_array_append_new(all, algorithm_object(ranking, a));
        }
    }
    cli_set(object, "algorithms", all);
    return object;
}

static void tell_json(const struct best *best)
{
    struct cli *cli = best->cli;
    const struct weft_collective_question *question = &best->question;
    json_t *object = cli_object("weft.collective-best/1");
    cli_set_text(object, "collective", weft_collective_name(question->options.kind));
    cli_set_count(object, "ranks", question->options.rank_count);
    cli_set(object, "fabric", best->fabric == NULL ? json_null() : json_string(best->fabric));
    cli_set_text(object, "engine", best_engine_names[best->engine]);
    cli_set_real(object, "rate_Bps", 1 / question->model.beta_s_per_byte);
    cli_set_real(object, "latency_s", question->model.alpha_s);
    json_t *choices = json_array();
    for (uint32_t i = 0; i < best->count; i++) {
        json_array_append_new(choices, choice_object(&best->rankings[i]));
    }
    cli_set(object, "choices", choices);
    cli_set_real(object, "wall_s", cli_elapsed_s(cli));
    cli_json(cli, object);
}

static const char *show(struct cli *cli, double seconds)
{
    char *buffer = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    return weft_show_time(buffer, weft_picoseconds(seconds));
}

// "64 KiB" where it is a whole number of them.
static const char *show_size(struct cli *cli, uint64_t size_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint32_t unit = 0;
    while (unit < 4 && size_bytes > 0 && size_bytes % 1024 == 0) {
        size_bytes /= 1024;
        unit++;
    }
    char *buffer = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    if (unit == 0) {
        return weft_show_bytes(buffer, (double)size_bytes);
    }
    return weft_arena_format(&cli->arena, "%llu %s", (unsigned long long)size_bytes, units[unit]);
}

static void fill_row(const char **row, struct cli *cli,
                     const struct weft_collective_ranking *ranking)
{
    row[0] = show_size(cli, ranking->size_bytes);
    row[5] = show(cli, ranking->bound_s);
    if (ranking->best == WEFT_ALGORITHM_COUNT) {
        row[1] = "none can";
        return;
    }
    const struct weft_collective_time *time = &ranking->times[ranking->best];
    row[1] = weft_algorithm_name(ranking->best);
    row[2] = weft_arena_format(&cli->arena, "%u", time->chunk_factor);
    row[3] = show(cli, time->seconds);
    row[4] =
        weft_arena_format(&cli->arena, "%.1f %%", 100 * (time->seconds / ranking->bound_s - 1));
    if (ranking->second < WEFT_ALGORITHM_COUNT) {
        const struct weft_collective_time *second = &ranking->times[ranking->second];
        row[6] = weft_algorithm_name(ranking->second);
        row[7] =
            weft_arena_format(&cli->arena, "+%.1f %%", 100 * (second->seconds / time->seconds - 1));
    }
}

void best_tell(const struct best *best)
{
    static const struct weft_table_column columns[] = {
        {"size", WEFT_ALIGN_RIGHT},  {"quickest", WEFT_ALIGN_LEFT}, {"chunks", WEFT_ALIGN_RIGHT},
        {"time", WEFT_ALIGN_RIGHT},  {"above", WEFT_ALIGN_RIGHT},   {"bound", WEFT_ALIGN_RIGHT},
        {"second", WEFT_ALIGN_LEFT}, {"takes", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct cli *cli = best->cli;
    if (cli->json) {
        tell_json(best);
        return;
    }
    const struct weft_collective_question *question = &best->question;
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%s of %u ranks%s%s, %s a rank, %s a message, %s\n",
            weft_collective_name(question->options.kind), question->options.rank_count,
            best->fabric == NULL ? "" : " on ", best->fabric == NULL ? "" : best->fabric,
            weft_show_rate(rate, 1 / question->model.beta_s_per_byte),
            show(cli, question->model.alpha_s),
            best->engine == BEST_CLOSED ? "closed forms"
            : best->engine == BEST_FLOW ? "flow engine"
                                        : "packet engine");
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)best->count *COLUMNS);
    for (uint32_t i = 0; i < best->count; i++) {
        fill_row(cells + (size_t)i * COLUMNS, cli, &best->rankings[i]);
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, best->count, &cli->arena));
}

bool best_plot(const struct best *best)
{
    struct cli *cli = best->cli;
    const struct weft_collective_question *question = &best->question;
    const char *title = weft_arena_format(
        &cli->arena, "%s of %u ranks%s%s: time by size (%s)",
        weft_collective_name(question->options.kind), question->options.rank_count,
        best->fabric == NULL ? "" : " on ", best->fabric == NULL ? "" : best->fabric,
        best_engine_names[best->engine]);
    const char *svg = weft_report_svg_ranking(best->rankings, best->count, title, &cli->arena);
    return weft_file_save(best->plot_path, svg, strlen(svg), &cli->error);
}

// ---- NCCL ----

void best_tell_tuner(const struct best *best)
{
    struct cli *cli = best->cli;
    enum weft_collective_kind kind = best->question.options.kind;
    struct weft_nccl_choice *rows = WEFT_NEW(&cli->arena, struct weft_nccl_choice, best->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < best->count; i++) {
        const struct weft_collective_time *times = best->rankings[i].times;
        double ring_s = times[WEFT_ALGORITHM_RING].seconds;
        double tree_s = times[WEFT_ALGORITHM_DOUBLE_TREE].seconds;
        bool tree =
            kind == WEFT_COLLECTIVE_ALLREDUCE && tree_s >= 0 && (ring_s < 0 || tree_s < ring_s);
        const char *name = tree ? "tree" : "ring";
        if (count > 0 && strcmp(rows[count - 1].algorithm, name) == 0) {
            continue;
        }
        // Between two sizes the change is in their middle, as they grow by factors.
        uint64_t from = 0;
        if (count > 0) {
            from = (uint64_t)sqrt((double)best->rankings[i - 1].size_bytes *
                                  (double)best->rankings[i].size_bytes);
            rows[count - 1].size_max_bytes = from - 1;
        }
        rows[count++] = (struct weft_nccl_choice){
            .kind = kind,
            .size_min_bytes = from,
            .size_max_bytes = (uint64_t)1 << 40,
            .algorithm = name,
            .protocol = "simple",
            .channels = -1,
            .node_count = -1,
            .rank_count = (int32_t)best->question.options.rank_count,
            .pipe_ops = -1,
            .registered = -1,
        };
    }
    cli_say(cli, "%s", weft_nccl_tuner_write(rows, count, &cli->arena));
}
