// SPDX-License-Identifier: Apache-2.0
// The folder of --output: table.md, results.json and a picture a system.
//
// The folder is made whole or not at all (weft_files_save). The picture shows by how much each
// figure misses its goal, or is beyond what was published.

#include "reproduce.h"
#include "weft/format.h"
#include "weft/report.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the table ----

// A cell and its end: bars within would end it.
static void add_cell(struct weft_text *text, const char *value)
{
    for (const char *at = value; *at != '\0'; at++) {
        weft_text_add(text, *at == '|' ? "\\%c" : "%c", *at);
    }
    weft_text_add(text, " |");
}

static void add_figure(struct weft_text *text, double figure, const char *unit)
{
    if (isfinite(figure)) {
        weft_text_add(text, " %.5g %s |", figure, unit);
    } else {
        weft_text_add(text, " - |");
    }
}

static void add_row(struct weft_text *text, const struct weft_claim *claim,
                    const struct reproduce_outcome *outcome, struct weft_arena *arena)
{
    weft_text_add(text, "| `%s`: ", claim->name);
    add_cell(text, claim->sentence);
    add_figure(text, claim->published.value, claim->published.unit);
    add_figure(text, outcome->ours, claim->published.unit);
    const char *why = outcome->verdict == REPRODUCE_NOT_RUN          ? outcome->reason
                      : outcome->verdict == REPRODUCE_NOT_COMPARABLE ? claim->not_comparable
                                                                     : "";
    weft_text_add(text, " %s%s", reproduce_verdict_text(outcome, arena),
                  why[0] != '\0' ? ": " : "");
    add_cell(text, why);
    weft_text_add(text, " %.3g | `", outcome->cpu_s);
    const char *seeds = claim->runs.seed_count > 1
                            ? weft_arena_format(arena, ", %u seeds", claim->runs.seed_count)
                            : "";
    add_cell(text, weft_arena_format(arena, "%s`%s", reproduce_command_text(claim, arena), seeds));
    weft_text_add(text, " ");
    add_cell(text, claim->published.source);
    weft_text_add(text, "\n");
}

// The table in Markdown. Cells are made in the scratch arena, since the text grows in the other.
static const char *make_table(const struct reproduce *reproduce, struct weft_arena *arena,
                              struct weft_arena scratch)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "| claim | reference | ours | verdict | CPU s | command | source |\n");
    weft_text_add(&text, "|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        add_row(&text, &reproduce->claims[i], &reproduce->outcomes[i], &scratch);
    }
    return text.data;
}

// ---- pictures ----

// The claims of the system from `first` on, as bars: series 0 how far a figure is beyond what was
// published, 1 how far it misses its goal. NULL = none of them can be compared.
static const char *make_picture(const struct reproduce *reproduce, uint32_t first, uint32_t count,
                                struct weft_arena *arena)
{
    static const char *const series[] = {"beyond the published figure", "short of the goal"};
    const char **groups = WEFT_NEW(arena, const char *, count);
    struct weft_ratio *ratios = WEFT_NEW(arena, struct weft_ratio, 2 * (size_t)count);
    uint32_t shown = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const struct weft_claim *claim = &reproduce->claims[i];
        const struct reproduce_outcome *outcome = &reproduce->outcomes[i];
        if (outcome->verdict != REPRODUCE_MET && outcome->verdict != REPRODUCE_SHORT) {
            continue;
        }
        double beyond = outcome->verdict == REPRODUCE_MET
                            ? fabs(outcome->ours / claim->published.value - 1)
                            : 0;
        ratios[2 * (size_t)shown] = (struct weft_ratio){1 + beyond, 1 + beyond, 1 + beyond};
        double gap = 1 + outcome->gap_ratio;
        ratios[2 * (size_t)shown + 1] = (struct weft_ratio){gap, gap, gap};
        groups[shown++] = claim->name;
    }
    const struct weft_ratio_chart chart = {
        .title = reproduce->claims[first].system,
        .axis = "% of the published figure",
        .group_count = shown,
        .series_count = 2,
        .groups = groups,
        .series = series,
        .ratios = ratios,
    };
    return shown > 0 ? weft_report_svg_ratios(&chart, arena) : NULL;
}

// ---- the folder ----

// The folder that is to hold the new one.
static const char *parent_of(const char *path, struct weft_arena *arena)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    return length == 0 ? "." : weft_arena_text(arena, path, length);
}

// Whether a folder has nothing in it; false where it cannot be looked through.
static bool is_empty(const char *path)
{
    DIR *folder = opendir(path);
    uint32_t count = 0;
    // No other thread reads this folder's stream.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return folder != NULL && count <= 2; // itself and its parent
}

bool reproduce_can_save(const struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    const char *path = reproduce->input.output_path;
    struct stat status;
    if (path == NULL) {
        return true;
    }
    bool there = stat(path, &status) == 0;
    if (there && !S_ISDIR(status.st_mode)) {
        return weft_fail(&cli->error, WEFT_IO, "%s: a file; name a folder that is new or empty",
                         path);
    }
    // What other runs wrote would stand beside this one's.
    if (there && !is_empty(path)) {
        return weft_fail(&cli->error, WEFT_IO, "%s: %s; name a folder that is new or empty", path,
                         strerrordesc_np(ENOTEMPTY));
    }
    const char *parent = there ? path : parent_of(path, &cli->arena);
    return access(parent, W_OK | X_OK) == 0 ||
           weft_fail(&cli->error, WEFT_IO, "%s: cannot be made in %s: %s", path, parent,
                     strerrordesc_np(errno));
}

// Adds a file of that name to those that are to be written.
static void add_file(struct weft_file *files, uint32_t *count, const char *name, const char *text)
{
    files[(*count)++] = (struct weft_file){name, text, strlen(text)};
}

bool reproduce_save(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    struct weft_arena *arena = &cli->arena;
    if (reproduce->input.output_path == NULL) {
        return true;
    }
    struct weft_file *files = WEFT_NEW(arena, struct weft_file, (size_t)reproduce->claim_count + 2);
    uint32_t count = 0;
    add_file(files, &count, "table.md", make_table(reproduce, arena, cli->scratch));
    add_file(files, &count, "results.json", reproduce_json(reproduce, arena));
    for (uint32_t first = 0, end = 0; first < reproduce->claim_count; first = end) {
        const char *system = reproduce->claims[first].system;
        while (end < reproduce->claim_count && strcmp(reproduce->claims[end].system, system) == 0) {
            end++;
        }
        const char *picture = make_picture(reproduce, first, end - first, arena);
        if (picture != NULL) {
            add_file(files, &count, weft_arena_format(arena, "%s.svg", system), picture);
        }
    }
    return weft_files_save(reproduce->input.output_path, files, count, cli->scratch, &cli->error);
}
