// SPDX-License-Identifier: Apache-2.0
// weft lab heal: what came of it, as text and as JSON. Of several runs the five times are medians
// and worst, of the healings of all runs.

#include "heal.h"
#include "request/json/json.h"

#include <stdlib.h>
#include <string.h>

static const char *const causes[] = {"reset", "silence", "carrier", "control", "late"};
static const char *const outcomes[] = {"finished", "no spare", "wrong sums", "stuck"};
static const char *const distances[] = {"server", "rack", "other rack"};
enum { TIMES = 7, BACK = 5, HEALED = 6 }; // five, the first four together, and all five
static const char *const time_keys[TIMES] = {"t_detect_s", "t_plan_s",       "t_rewire_s",
                                             "t_rejoin_s", "t_first_step_s", "t_back_s",
                                             "t_healed_s"};

static void spread(double values[TIMES], const struct lab_heal_times *times)
{
    const double five[] = {times->detect_s, times->plan_s, times->rewire_s, times->rejoin_s,
                           times->first_step_s};
    values[BACK] = 0;
    for (uint32_t i = 0; i < BACK; i++) {
        values[i] = five[i];
        values[BACK] += i + 1 < BACK ? five[i] : 0;
    }
    values[HEALED] = values[BACK] + five[BACK - 1];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of all healings of all runs; 0 where there are none. Returns how many there were.
static uint32_t sum_up(double medians[TIMES], double worst[TIMES],
                       const struct lab_heal_request *request)
{
    struct weft_arena scratch = request->cli->scratch;
    size_t room = (size_t)request->runs * LAB_HEAL_EPISODES_MAX + 1;
    double *values = WEFT_NEW(&scratch, double, room);
    uint32_t count = 0;
    for (uint32_t t = 0; t < TIMES; t++) {
        count = 0;
        for (uint32_t run = 0; run < request->runs; run++) {
            const struct lab_heal_result *result = &request->results[run];
            for (uint32_t e = 0; e < result->episode_count; e++) {
                double five[TIMES];
                spread(five, &result->times[e]);
                if (result->episodes[e].stepped_ns > 0) {
                    values[count++] = five[t];
                }
            }
        }
        qsort(values, count, sizeof *values, by_value);
        medians[t] = count == 0 ? 0 : 0.5 * (values[(count - 1) / 2] + values[count / 2]);
        worst[t] = count == 0 ? 0 : values[count - 1];
    }
    return count;
}

static uint32_t lost_steps(const struct lab_heal_result *result)
{
    uint32_t lost = 0;
    for (uint32_t e = 0; e < result->episode_count; e++) {
        lost += result->episodes[e].lost_steps;
    }
    return lost;
}

static json_t *episode_json(const struct lab_heal_result *result, uint32_t index)
{
    const struct lab_heal_episode *episode = &result->episodes[index];
    double five[TIMES];
    json_t *row = json_object();
    spread(five, &result->times[index]);
    weft_set_count(row, "step", episode->step + 1);
    weft_set_text(row, "noticed_by", causes[episode->cause]);
    weft_set_truth(row, "healed", episode->stepped_ns > 0);
    for (uint32_t t = 0; t < TIMES; t++) {
        weft_set_real(row, time_keys[t], five[t]);
    }
    weft_set_count(row, "attempts", episode->attempts);
    weft_set_count(row, "replaced", episode->replaced);
    weft_set_count(row, "moved", episode->moved);
    if (episode->replaced > 0) {
        weft_set_text(row, "spare_from", distances[episode->farthest]);
        weft_set_text(row, "state_from", lab_heal_source_names[episode->source]);
    }
    weft_set_count(row, "lost_steps", episode->lost_steps);
    weft_set_truth(row, "from_last_chunk", !episode->restarted);
    return row;
}

static json_t *run_json(const struct lab_heal_result *result)
{
    json_t *row = json_object();
    weft_set_text(row, "outcome", outcomes[result->outcome]);
    weft_set_count(row, "steps", result->steps);
    if (result->saved_step != WEFT_NONE) {
        weft_set_count(row, "saved_step", result->saved_step);
    }
    weft_set_count(row, "failures", result->failures);
    weft_set_count(row, "lost_steps", lost_steps(result));
    weft_set_truth(row, "sums_right", result->sums_right);
    weft_set_count(row, "checked_elements", result->checked);
    weft_set_count(row, "wrong_elements", result->wrong);
    weft_set_count(row, "survivors", result->survivors);
    weft_set_truth(row, "pids_kept", result->pids_kept);
    weft_set_truth(row, "real_time_priority", result->real_time);
    weft_set_count(row, "circuits_changed", result->changed);
    weft_set_count(row, "dropped_frames", result->dropped);
    weft_set_count(row, "strangers_refused", result->refused);
    weft_set_real(row, "step_before_s", result->before_s);
    weft_set_real(row, "step_after_s", result->after_s);
    json_t *list = weft_set_list(row, "healings");
    for (uint32_t e = 0; e < result->episode_count; e++) {
        json_array_append_new(list, episode_json(result, e));
    }
    return row;
}

// The object "weft.lab-heal/1". What a script asks first stands at the top: medians of the five
// times, and what all runs together came to.
static void print_json(const struct lab_heal_request *request)
{
    json_t *object = weft_set_object("weft.lab-heal/1");
    double medians[TIMES];
    double worst[TIMES];
    uint32_t healings = sum_up(medians, worst, request);
    uint32_t lost = 0;
    bool right = true;
    bool kept = true;
    for (uint32_t run = 0; run < request->runs; run++) {
        const struct lab_heal_result *result = &request->results[run];
        lost = lost_steps(result) > lost ? lost_steps(result) : lost;
        right = right && result->sums_right;
        kept = kept && result->pids_kept;
    }
    weft_set_text(object, "plan", request->plan_path);
    weft_set_count(object, "ranks", request->rack.rank_count);
    weft_set_count(object, "spares", request->spares);
    weft_set_count(object, "switches", request->rack.plane_count);
    weft_set_real(object, "dark_s", 1e-9 * (double)request->dark_ns);
    weft_set_real(object, "rate_Bps", request->rate_Bps);
    weft_set_text(object, "outcome", outcomes[request->results[0].outcome]);
    weft_set_count(object, "healings", healings);
    for (uint32_t t = 0; t < TIMES; t++) {
        weft_set_real(object, time_keys[t], medians[t]);
    }
    json_t *most = json_object();
    for (uint32_t t = 0; t < TIMES; t++) {
        weft_set_real(most, time_keys[t], worst[t]);
    }
    weft_set(object, "worst", most);
    weft_set_count(object, "lost_steps", lost);
    weft_set_truth(object, "sums_right", right);
    weft_set_truth(object, "pids_kept", kept);
    json_t *runs = weft_set_list(object, "runs");
    for (uint32_t run = 0; run < request->runs; run++) {
        json_array_append_new(runs, run_json(&request->results[run]));
    }
    cli_say(request->cli, "%s", weft_set_finish(object, &request->cli->arena));
}

// ---- text ----

static void print_end(const struct lab_heal_request *request, const struct lab_heal_result *result)
{
    struct cli *cli = request->cli;
    if (result->outcome != LAB_HEAL_FINISHED) {
        cli_say(cli, "ended in step %u: %s; ", result->steps + 1, outcomes[result->outcome]);
        if (result->saved_step != WEFT_NONE) {
            cli_say(cli, "%s has the parameters after step %u\n", request->checkpoint,
                    result->saved_step);
        } else {
            cli_say(cli, "nobody was left to save the parameters\n");
        }
    }
    cli_say(cli,
            "%u of %u steps, %llu sums %s; %u of %u ranks kept their host and %s; %u ends of "
            "circuits changed, %llu frames of former epochs dropped\n",
            result->steps, request->steps, (unsigned long long)result->checked,
            result->sums_right ? "right" : "WRONG", result->survivors, request->rack.rank_count,
            result->pids_kept ? "their process" : "NOT their process", result->changed,
            (unsigned long long)result->dropped);
    if (result->refused > 0) {
        cli_say(cli, "%llu connections or heartbeats of strangers refused\n",
                (unsigned long long)result->refused);
    }
    if (result->failures < request->fault_count) {
        cli_say(cli, "%u of %u failures were made before the end\n", result->failures,
                request->fault_count);
    }
    if (result->after_s > 0) {
        cli_say(cli, "a step before %.1f ms, after %.1f ms\n", 1e3 * result->before_s,
                1e3 * result->after_s);
    }
}

static void set_times(struct weft_table_cell *row, struct weft_arena *arena,
                      const double five[TIMES])
{
    for (uint32_t t = 0; t < TIMES; t++) {
        row[t] = weft_cell_time(arena, five[t]);
    }
}

static void print_text(const struct lab_heal_request *request)
{
    static const struct weft_table_column columns[] = {
        {"healing", WEFT_ALIGN_LEFT}, {"noticed by", WEFT_ALIGN_LEFT}, {"detect", WEFT_ALIGN_RIGHT},
        {"plan", WEFT_ALIGN_RIGHT},   {"rewire", WEFT_ALIGN_RIGHT},    {"rejoin", WEFT_ALIGN_RIGHT},
        {"step", WEFT_ALIGN_RIGHT},   {"back", WEFT_ALIGN_RIGHT},      {"healed", WEFT_ALIGN_RIGHT},
        {"lost", WEFT_ALIGN_RIGHT},   {"state", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0], SHOWN = 8 };
    struct cli *cli = request->cli;
    double medians[TIMES];
    double worst[TIMES];
    uint32_t healings = sum_up(medians, worst, request);
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)(SHOWN + 2) * COLUMNS);
    uint32_t rows = 0;
    const struct lab_heal_result *first = &request->results[0];
    for (uint32_t e = 0; e < first->episode_count && e < SHOWN && request->runs == 1; e++) {
        const struct lab_heal_episode *episode = &first->episodes[e];
        struct weft_table_cell *row = cells + (size_t)COLUMNS * rows++;
        double five[TIMES];
        spread(five, &first->times[e]);
        row[0].text = weft_arena_format(&cli->arena, "step %u", episode->step + 1);
        row[1].text = causes[episode->cause];
        set_times(row + 2, &cli->arena, five);
        row[9] = weft_cell_count(&cli->arena, episode->lost_steps);
        row[10].text = episode->replaced > 0 ? lab_heal_source_names[episode->source] : "";
    }
    if (request->runs > 1) {
        struct weft_table_cell *row = cells + (size_t)COLUMNS * rows++;
        row[0].text = weft_arena_format(&cli->arena, "median of %u", healings);
        row[1].text = row[9].text = row[10].text = "";
        set_times(row + 2, &cli->arena, medians);
        row = cells + (size_t)COLUMNS * rows++;
        row[0].text = "worst";
        row[1].text = row[9].text = row[10].text = "";
        set_times(row + 2, &cli->arena, worst);
    }
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%s: %u ranks, %u spares, %u switches, ports of %s, dark %.1f ms\n",
            request->plan_path, request->rack.rank_count, request->spares,
            request->rack.plane_count, weft_show_rate(rate, request->rate_Bps),
            1e-6 * (double)request->dark_ns);
    if (rows > 0) {
        cli_table(cli, columns, COLUMNS, cells, rows);
    }
    for (uint32_t run = 0; run < request->runs; run++) {
        if (request->runs == 1 || request->results[run].outcome != LAB_HEAL_FINISHED) {
            print_end(request, &request->results[run]);
        }
    }
}

void lab_heal_print(const struct lab_heal_request *request)
{
    if (request->cli->json) {
        print_json(request);
    } else {
        print_text(request);
    }
}
