// SPDX-License-Identifier: Apache-2.0
// "weft.optics-maxmin/1", "weft.optics-color/1", "weft.optics-moe/1", "weft.optics-collective/1",
// "weft.optics-recursive/1", "weft.optics-change/1": circuits as matrices, switches as
// permutations, wavelengths of arcs, times of collectives, changes over time. docs/circuits.md says
// what each key means.

#include "weft/request/optics.h"
#include "request/json/json.h"

#include <math.h>

static void set_matrix(json_t *object, const char *key, const uint32_t *values, uint32_t rows,
                       uint32_t columns)
{
    json_t *list = weft_set_list(object, key);
    for (uint32_t i = 0; i < rows; i++) {
        json_array_append_new(list, weft_counts(values + (size_t)i * columns, columns));
    }
}

const char *weft_request_maxmin_json(const struct weft_maxmin_result *result,
                                     struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-maxmin/1");
    weft_set_count(object, "nodes", result->node_count);
    weft_set_count(object, "ports", result->port_count);
    weft_set_real(object, "ratio", result->ratio);
    set_matrix(object, "circuits", result->circuits, result->node_count, result->node_count);
    set_matrix(object, "permutations", result->permutations, result->port_count,
               result->node_count);
    return weft_set_finish(object, arena);
}

const char *weft_request_color_json(const struct weft_color_result *result,
                                    struct weft_arena *arena)
{
    const struct weft_ring_coloring *coloring = &result->coloring;
    json_t *object = weft_set_object("weft.optics-color/1");
    weft_set_count(object, "ring", result->ring);
    weft_set_count(object, "wavelengths", coloring->wavelengths);
    weft_set_count(object, "load", coloring->load);
    weft_set_count(object, "lower_bound", coloring->bound);
    weft_set_truth(object, "exact", coloring->wavelengths == coloring->bound);
    weft_set_counts(object, "colors", coloring->colors, result->arc_count);
    if (result->both_ways) {
        json_t *turned = weft_set_list(object, "turned");
        for (uint32_t a = 0; a < result->arc_count; a++) {
            json_array_append_new(turned, json_boolean(coloring->turned[a]));
        }
    }
    return weft_set_finish(object, arena);
}

const char *weft_request_moe_json(const struct weft_moe_result *result, struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-moe/1");
    weft_set_count(object, "nodes", result->node_count);
    weft_set_real(object, "time", result->split.time);
    weft_set_real(object, "ideal", result->split.ideal);
    weft_set_real(object, "lower_bound", result->split.bound);
    set_matrix(object, "circuits", result->circuits, result->node_count, result->node_count);
    return weft_set_finish(object, arena);
}

static void set_rewired_case(json_t *object, const struct weft_rewired_case *one)
{
    const struct weft_rewired *rewired = &one->rewired;
    const struct weft_rewired_row *best = &rewired->rows[rewired->best];
    weft_set_real(object, "rate_Bps", one->rate_Bps);
    weft_set_real(object, "dark_s", one->change_s);
    weft_set_text(object, "best", weft_algorithm_name(best->algorithm));
    weft_set_real(object, "seconds", best->seconds);
    weft_set_real(object, "one_shot_s", rewired->one_shot.seconds);
    weft_set_real(object, "bound_s", rewired->bound_s);
    if (!isinf(one->crossover_s)) { // else it pays at any time
        weft_set_real(object, "crossover_s", one->crossover_s);
    }
    json_t *rows = weft_set_list(object, "algorithms");
    for (uint32_t r = 0; r < rewired->row_count; r++) {
        const struct weft_rewired_row *row = &rewired->rows[r];
        json_t *item = json_object();
        weft_set_text(item, "algorithm", weft_algorithm_name(row->algorithm));
        weft_set_count(item, "steps", row->step_count);
        weft_set_real(item, "stay_s", row->stay_s);
        weft_set_real(item, "always_s", row->always_s);
        weft_set_real(item, "seconds", row->seconds);
        weft_set_count(item, "changes", row->changes);
        weft_set_truth(item, "exact", !row->cut);
        json_array_append_new(rows, item);
    }
}

const char *weft_request_rewired_json(const struct weft_rewired_result *result,
                                      const struct weft_rewired_request *request,
                                      struct weft_arena *arena)
{
    const struct weft_rewired_options *options = &request->options;
    json_t *object = weft_set_object("weft.optics-collective/1");
    weft_set_text(object, "kind", weft_collective_name(options->kind));
    weft_set_count(object, "ranks", options->rank_count);
    weft_set_count(object, "planes", options->plane_count);
    weft_set_real(object, "size_bytes", options->size_bytes);
    weft_set_real(object, "latency_s", options->hop_s);
    json_t *cases = weft_set_list(object, "cases");
    for (uint32_t c = 0; c < result->case_count; c++) {
        json_t *item = json_object();
        set_rewired_case(item, &result->cases[c]);
        json_array_append_new(cases, item);
    }
    return weft_set_finish(object, arena);
}

static void set_recursive_row(json_t *item, const struct weft_recursive_row *row, double ring_s)
{
    const struct weft_recursive_plan *plan = &row->plan;
    weft_set_text(item, "name", row->name);
    weft_set_text(item, "algorithm", plan->is_ring ? "ring" : "recursive-exchange");
    weft_set_counts(item, "radices", plan->radices, plan->radix_count);
    weft_set_real(item, "seconds", plan->seconds);
    weft_set_real(item, "saved_ratio", 1 - plan->seconds / ring_s);
    weft_set_count(item, "rounds", plan->round_count);
    weft_set_count(item, "changes", plan->change_count);
    json_t *stays = weft_set_list(item, "stays");
    for (uint32_t t = 0; t < plan->round_count && plan->stays >> t != 0; t++) {
        if ((plan->stays >> t & 1) != 0) {
            json_array_append_new(stays, json_integer(t));
        }
    }
    if (row->played_s >= 0) {
        weft_set_real(item, "played_s", row->played_s);
        weft_set_real(item, "played_ratio", row->played_s / plan->seconds - 1);
    }
}

static void set_regimes(json_t *object, const struct weft_recursive_result *result,
                        const struct weft_recursive_setting *setting)
{
    json_t *list = weft_set_list(object, "regimes");
    for (uint32_t r = 1; r < result->row_count; r++) {
        json_t *item = json_object();
        weft_set_text(item, "name", setting->cases[0].rows[r].name);
        json_t *sizes = weft_set_list(item, "up_to_bytes");
        for (uint32_t g = 0; g < WEFT_RECURSIVE_SAVED_COUNT; g++) {
            double bytes = setting->regimes_bytes[r - 1][g];
            json_array_append_new(sizes, isinf(bytes) ? json_null() : json_real(bytes)); // any
        }
        json_array_append_new(list, item);
    }
}

const char *weft_request_recursive_json(const struct weft_recursive_result *result,
                                        const struct weft_recursive_request *request,
                                        struct weft_arena *arena)
{
    const struct weft_recursive_options *options = &request->options;
    json_t *object = weft_set_object("weft.optics-recursive/1");
    weft_set_text(object, "kind", weft_collective_name(options->kind));
    weft_set_count(object, "chips", options->chip_count);
    weft_set_count(object, "circuits", options->circuits_max);
    weft_set_count(object, "wavelengths", options->wavelengths);
    weft_set_real(object, "latency_s", options->hop_s);
    json_t *ratios = weft_set_list(object, "saved_ratios");
    for (uint32_t g = 0; g < WEFT_RECURSIVE_SAVED_COUNT; g++) {
        json_array_append_new(ratios, json_real(result->saved_ratios[g]));
    }
    json_t *settings = weft_set_list(object, "settings");
    for (uint32_t s = 0; s < result->setting_count; s++) {
        const struct weft_recursive_setting *setting = &result->settings[s];
        json_t *entry = json_object();
        weft_set_real(entry, "rate_Bps", setting->rate_Bps);
        weft_set_real(entry, "dark_s", setting->change_s);
        set_regimes(entry, result, setting);
        json_t *cases = weft_set_list(entry, "cases");
        for (uint32_t c = 0; c < setting->case_count; c++) {
            json_t *one = json_object();
            weft_set_count(one, "size_bytes", setting->cases[c].size_bytes);
            json_t *rows = weft_set_list(one, "algorithms");
            for (uint32_t r = 0; r < result->row_count; r++) {
                json_t *item = json_object();
                set_recursive_row(item, &setting->cases[c].rows[r],
                                  setting->cases[c].rows[0].plan.seconds);
                json_array_append_new(rows, item);
            }
            json_array_append_new(cases, one);
        }
        json_array_append_new(settings, entry);
    }
    return weft_set_finish(object, arena);
}

static void set_changes(json_t *object, const struct weft_change_result *result)
{
    const struct weft_circuit_schedule *schedule = &result->schedule;
    json_t *changes = weft_set_list(object, "changes");
    for (uint32_t c = 0; c < schedule->change_count; c++) {
        const struct weft_circuit_change *change = &schedule->changes[c];
        json_t *entry = json_object();
        uint32_t n = schedule->node_count;
        weft_set_real(entry, "start_s", weft_seconds(change->start_ps));
        weft_set_count(entry, "switch", change->plane);
        weft_set_count(
            entry, "moved",
            weft_circuit_difference(&result->before[(size_t)change->plane * n], change->peers, n));
        weft_set_counts(entry, "peers", change->peers, n);
        json_array_append_new(changes, entry);
    }
}

const char *weft_request_change_json(const struct weft_change_result *result,
                                     struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-change/1");
    weft_set_count(object, "nodes", result->node_count);
    weft_set_count(object, "switches", result->plane_count);
    weft_set_count(object, "moved", result->moved);
    weft_set_count(object, "kept", result->node_count * result->plane_count - result->moved);
    if (!result->duplex) {
        weft_set_count(object, "lower_bound", result->bound);
    }
    weft_set_real(object, "time_s", weft_seconds(result->stagger.end_ps));
    weft_set_count(object, "cut_pairs", result->stagger.cut_single + result->stagger.cut_double);
    weft_set_count(object, "cut_pairs_of_two", result->stagger.cut_double);
    weft_set_truth(object, "order_proved", result->stagger.is_proved);
    const struct weft_circuit_delays *delays = &result->schedule.delays;
    json_t *parts = json_object();
    weft_set_real(parts, "command_s", weft_seconds(delays->command_ps));
    weft_set_real(parts, "dark_s", weft_seconds(delays->dark_ps));
    weft_set_real(parts, "retrain_s", weft_seconds(delays->retrain_ps));
    weft_set_real(parts, "first_s", weft_seconds(delays->first_ps));
    weft_set(object, "delays", parts);
    set_matrix(object, "first", result->before, result->plane_count, result->node_count);
    set_changes(object, result);
    return weft_set_finish(object, arena);
}

const char *weft_request_circuit_check_json(const struct weft_circuit_check_result *result,
                                            struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-check/1");
    weft_set_count(object, "nodes", result->node_count);
    weft_set_count(object, "switches", result->plane_count);
    weft_set_count(object, "changes", result->change_count);
    weft_set_count(object, "bursts", result->burst_count);
    weft_set_truth(object, "demand", result->demand);
    weft_set_truth(object, "losses", result->losses);
    weft_set_truth(object, "holds", result->breaches.count == 0);
    json_t *list = weft_set_list(object, "breaches");
    for (uint32_t i = 0; i < result->breaches.count; i++) {
        json_array_append_new(list, json_string(result->breaches.lines[i]));
    }
    return weft_set_finish(object, arena);
}
