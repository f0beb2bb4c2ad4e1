// SPDX-License-Identifier: Apache-2.0
// Shifts and scores as tables or JSON.

#include "interleave.h"
#include "weft/report.h"

#include <math.h>
#include <stdlib.h>

enum { LINKS_SHOWN = 20, JOBS_SHOWN = 50 };

static const char *const verdict_words[] = {
    [WEFT_COMPATIBLE] = "fully compatible",
    [WEFT_PARTLY_COMPATIBLE] = "partially compatible",
    [WEFT_NOT_COMPATIBLE] = "not compatible",
};

static json_t *link_object(const struct weft_shared_link *link, const struct weft_link_score *score)
{
    json_t *object = json_object();
    cli_set_text(object, "name", link->name);
    cli_set_real(object, "score", score->score);
    cli_set_real(object, "upper_bound", score->upper_bound);
    cli_set_text(object, "verdict", verdict_words[score->verdict]);
    cli_set_real(object, "unshifted_score", score->unshifted);
    cli_set_real(object, "mean_score", score->mean);
    cli_set_count(object, "jobs", score->job_count);
    if (score->group != WEFT_NONE) {
        cli_set_count(object, "group", score->group);
        cli_set_real(object, "perimeter_s", weft_seconds(score->perimeter_ps));
        cli_set_count(object, "angles", score->angle_count);
        cli_set_real(object, "period_error_ratio", score->period_error_ratio);
    }
    return object;
}

static void tell_json(const struct interleave_request *request,
                      const struct weft_snapshot *snapshot, const struct weft_interleaving *found)
{
    json_t *object = cli_object("weft.interleave/1");
    cli_set_real(object, "score", found->score);
    cli_set_real(object, "upper_bound", found->upper_bound);
    cli_set_truth(object, "exact", found->exact);
    json_t *links = json_array();
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        json_array_append_new(links, link_object(&snapshot->links[l], &found->links[l]));
    }
    cli_set(object, "links", links);
    json_t *jobs = json_array();
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        json_t *job = json_object();
        cli_set_text(job, "name", snapshot->jobs[j].name);
        cli_set_real(job, "time_shift_s", weft_seconds(found->time_shift_ps[j]));
        cli_set_real(job, "slack_s", weft_seconds(found->slack_ps[j]));
        json_array_append_new(jobs, job);
    }
    cli_set(object, "jobs", jobs);
    cli_set_count(object, "groups", found->group_count);
    cli_set_count(object, "loops", found->loop_count);
    cli_set_count(object, "cells", found->work);
    cli_set_real(object, "wall_s", cli_elapsed_s(request->cli));
    cli_json(request->cli, object);
}

// A shared link, by its score.
struct row {
    double score;
    uint32_t link;
};

static int by_score(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->score != y->score) {
        return x->score < y->score ? -1 : 1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

static void tell_links(struct cli *cli, const struct weft_snapshot *snapshot,
                       const struct weft_interleaving *found)
{
    static const struct weft_table_column columns[] = {
        {"link", WEFT_ALIGN_LEFT},       {"jobs", WEFT_ALIGN_RIGHT},
        {"capacity", WEFT_ALIGN_RIGHT},  {"circle", WEFT_ALIGN_RIGHT},
        {"unshifted", WEFT_ALIGN_RIGHT}, {"score", WEFT_ALIGN_RIGHT},
        {"at most", WEFT_ALIGN_RIGHT},   {"verdict", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct row *rows = WEFT_NEW(&cli->arena, struct row, snapshot->link_count);
    uint32_t count = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        if (found->links[l].group != WEFT_NONE) {
            rows[count++] = (struct row){found->links[l].score, l};
        }
    }
    if (count == 0) {
        return;
    }
    qsort(rows, count, sizeof rows[0], by_score);
    uint32_t shown = count < LINKS_SHOWN ? count : LINKS_SHOWN;
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)shown *COLUMNS);
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < shown; i++) {
        const struct weft_link_score *link = &found->links[rows[i].link];
        const struct weft_shared_link *shared = &snapshot->links[rows[i].link];
        const char **row = cells + (size_t)i * COLUMNS;
        row[0] = shared->name;
        row[1] = weft_arena_format(&cli->arena, "%u", link->job_count);
        row[2] = weft_arena_format(&cli->arena, "%s", weft_show_rate(unit, shared->capacity_Bps));
        row[3] = weft_arena_format(&cli->arena, "%s", weft_show_time(unit, link->perimeter_ps));
        row[4] = weft_arena_format(&cli->arena, "%.4f", link->unshifted);
        row[5] = weft_arena_format(&cli->arena, "%.4f", link->score);
        row[6] = weft_arena_format(&cli->arena, "%.4f", link->upper_bound);
        row[7] = verdict_words[link->verdict];
    }
    cli_say(cli, "\n%s", weft_report_table(columns, COLUMNS, cells, shown, &cli->arena));
    if (shown < count) {
        cli_say(cli, "and %u links that score no worse\n", count - shown);
    }
}

// Share of the time that a job asks for anything on the link where it does most.
static double busy_ratio(const struct weft_sharing_job *job)
{
    double most = 0;
    for (uint32_t i = 0; i == 0 || i < job->link_count; i++) {
        const struct weft_demand *demand =
            job->link_demands == NULL ? &job->demand : &job->link_demands[i];
        uint64_t busy_ps = 0;
        for (uint32_t p = 0; p < demand->phase_count; p++) {
            busy_ps += demand->phases[p].rate_Bps > 0 ? demand->phases[p].duration_ps : 0;
        }
        most = fmax(most, (double)busy_ps / (double)demand->iteration_ps);
    }
    return most;
}

static void tell_jobs(struct cli *cli, const struct weft_snapshot *snapshot,
                      const struct weft_interleaving *found)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},    {"iteration", WEFT_ALIGN_RIGHT}, {"sends", WEFT_ALIGN_RIGHT},
        {"links", WEFT_ALIGN_RIGHT}, {"shift", WEFT_ALIGN_RIGHT},     {"slack", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t shown = snapshot->job_count < JOBS_SHOWN ? snapshot->job_count : JOBS_SHOWN;
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)shown *COLUMNS);
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t j = 0; j < shown; j++) {
        const struct weft_sharing_job *job = &snapshot->jobs[j];
        const char **row = cells + (size_t)j * COLUMNS;
        row[0] = job->name;
        row[1] =
            weft_arena_format(&cli->arena, "%s", weft_show_time(unit, job->demand.iteration_ps));
        row[2] = weft_arena_format(&cli->arena, "%.0f %%", 100 * busy_ratio(job));
        row[3] = weft_arena_format(&cli->arena, "%u", job->link_count);
        row[4] =
            weft_arena_format(&cli->arena, "%s", weft_show_time(unit, found->time_shift_ps[j]));
        row[5] = weft_arena_format(&cli->arena, "%s", weft_show_time(unit, found->slack_ps[j]));
    }
    cli_say(cli, "\n%s", weft_report_table(columns, COLUMNS, cells, shown, &cli->arena));
    if (shown < snapshot->job_count) {
        cli_say(cli, "and %u more jobs; --json lists all\n", snapshot->job_count - shown);
    }
}

static void tell_rounding(struct cli *cli, const struct weft_snapshot *snapshot,
                          const struct weft_interleaving *found)
{
    double error = 0;
    uint32_t worst = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        if (found->links[l].period_error_ratio > error) {
            error = found->links[l].period_error_ratio;
            worst = l;
        }
    }
    if (error > 1e-9) {
        cli_say(cli,
                "iteration times are rounded by up to %.3g %% (link %s) to close the circle: the "
                "shifts hold until the jobs have drifted apart by their slack\n",
                100 * error, snapshot->links[worst].name);
    }
}

void interleave_tell(const struct interleave_request *request, const struct weft_snapshot *snapshot,
                     const struct weft_interleaving *found)
{
    struct cli *cli = request->cli;
    if (cli->json) {
        tell_json(request, snapshot, found);
        return;
    }
    uint32_t shared = 0;
    enum weft_compatibility worst = WEFT_COMPATIBLE;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        shared += found->links[l].group == WEFT_NONE ? 0 : 1;
        worst = found->links[l].verdict > worst ? found->links[l].verdict : worst;
    }
    cli_say(cli, "%s: score %.4f, at most %.4f%s\n", verdict_words[worst], found->score,
            found->upper_bound, found->exact ? " (proved best)" : " (not proved best)");
    cli_say(cli, "%u job%s, %u of %u link%s shared%s", snapshot->job_count,
            snapshot->job_count == 1 ? "" : "s", shared, snapshot->link_count,
            snapshot->link_count == 1 ? "" : "s", found->loop_count == 0 ? "\n" : "");
    if (found->loop_count > 0) {
        cli_say(cli, ", %u loop%s solved jointly\n", found->loop_count,
                found->loop_count == 1 ? "" : "s");
    }
    tell_rounding(cli, snapshot, found);
    tell_links(cli, snapshot, found);
    tell_jobs(cli, snapshot, found);
}
