// SPDX-License-Identifier: Apache-2.0
// "weft.optics-rails/1" and "weft.optics-rails-cost/1": docs/photonic-rails.md says what each key
// means. Times are in seconds of the iteration.

#include "weft/request/rails.h"
#include "request/json/json.h"

static void set_seconds(json_t *object, const char *key, uint64_t time_ps)
{
    weft_set_real(object, key, weft_seconds(time_ps));
}

static json_t *boundary_json(const struct weft_rail_boundary *boundary)
{
    json_t *row = json_object();
    weft_set_text(row, "before", boundary->before);
    weft_set_text(row, "after", boundary->after);
    weft_set_count(row, "servers", boundary->servers);
    weft_set_count(row, "first_server", boundary->first);
    set_seconds(row, "asked_s", boundary->asked_ps);
    weft_set_truth(row, "for_next_iteration", boundary->early);
    set_seconds(row, "dark_from_s", boundary->dark_from_ps);
    set_seconds(row, "dark_to_s", boundary->dark_to_ps);
    set_seconds(row, "window_s", boundary->window_ps);
    set_seconds(row, "cost_s", boundary->cost_ps);
    weft_set_text(row, "decision", weft_rail_decision_name(boundary->decision));
    return row;
}

static void set_overlap(json_t *object, const struct weft_rail_overlap *overlap)
{
    json_t *row = json_object();
    weft_set_count(row, "operations", overlap->count);
    set_seconds(row, "cost_s", overlap->cost_ps);
    if (overlap->count > 0) {
        weft_set_text(row, "waits", overlap->waits);
        weft_set_text(row, "holds", overlap->holds);
        weft_set_count(row, "server", overlap->server);
        set_seconds(row, "at_s", overlap->at_ps);
    }
    weft_set(object, "overlap", row);
}

static void set_certificate(json_t *object, const struct weft_rail_result *run)
{
    json_t *row = json_object();
    set_seconds(row, "lower_bound_s", run->bound_ps);
    weft_set_real(row, "gap_ratio",
                  run->bound_ps > 0 ? (double)run->iteration_ps / (double)run->bound_ps - 1 : 0);
    weft_set_text(row, "bound", "rails-critical-path");
    weft_set(object, "certificate", row);
}

static void set_words(json_t *row, const char *key, const char *unit, double value)
{
    char text[64];
    if (value > 0) {
        snprintf(text, sizeof text, "%.17g%s", value, unit);
        weft_set_text(row, key, text);
    }
}

// The job with the keys of its file, from which it can be run.
static void set_description(json_t *object, const struct weft_rail_job *job)
{
    static const char *const schedules[] = {"all-forward", "1f1b"};
    static const char *const repeats[] = {"never", "step", "backward", "pass"};
    json_t *row = json_object();
    weft_set_text(row, "name", job->name);
    weft_set_count(row, "dp", job->dp);
    weft_set_count(row, "pp", job->pp);
    weft_set_count(row, "tp", job->tp);
    weft_set_count(row, "ep", job->ep);
    weft_set_count(row, "microbatches", job->microbatches);
    weft_set_text(row, "schedule", schedules[job->schedule]);
    set_words(row, "forward", "ps", (double)job->forward_ps);
    set_words(row, "backward", "ps", (double)job->backward_ps);
    set_words(row, "update", "ps", (double)job->update_ps);
    weft_set_text(row, "gather", repeats[job->gather]);
    weft_set_text(row, "reduce", repeats[job->reduce]);
    weft_set_truth(row, "overlap", job->overlap);
    set_words(row, "parameters", "B", (double)job->parameter_bytes);
    set_words(row, "gradients", "B", (double)job->gradient_bytes);
    set_words(row, "activations", "B", (double)job->activation_bytes);
    set_words(row, "expert_bytes", "B", (double)job->expert_bytes);
    weft_set_count(row, "exchanges", job->exchanges);
    weft_set_real(row, "before_exchange", job->before_ratio);
    set_words(row, "norm", "B", (double)job->norm_bytes);
    set_words(row, "rate", "B/s", job->rate_Bps);
    weft_set_count(row, "ports", job->ports);
    weft_set_count(row, "switch_ports", job->switch_ports);
    set_words(row, "latency", "ps", (double)job->latency_ps);
    weft_set(object, "description", row);
}

static void set_play(json_t *object, const struct weft_rails_result *result)
{
    const struct weft_rail_play *play = result->play;
    weft_set_text(object, "engine", result->engine == WEFT_ENGINE_PACKET ? "packet" : "flow");
    set_seconds(object, "engine_s", play->iteration_ps);
    weft_set_real(object, "engine_difference_ratio",
                  (double)play->iteration_ps / (double)result->run.iteration_ps - 1);
    weft_set_count(object, "engine_messages", play->message_count);
    weft_set_count(object, "engine_packets", play->packet_count);
    weft_set_real(object, "engine_divisor", play->divisor);
}

const char *weft_request_rails_json(const struct weft_rails_result *result,
                                    struct weft_arena *arena)
{
    const struct weft_rail_result *run = &result->run;
    json_t *object = weft_set_object("weft.optics-rails/1");
    weft_set_text(object, "job", result->job.name);
    weft_set_count(object, "accelerators",
                   (uint64_t)result->job.dp * result->job.pp * result->job.tp);
    weft_set_text(object, "mode", weft_rail_mode_name(run->mode));
    weft_set_truth(object, "within_iteration", result->within);
    set_seconds(object, "command_time_s", result->delays.command_ps);
    set_seconds(object, "dark_time_s", result->delays.dark_ps);
    set_seconds(object, "retrain_time_s", result->delays.retrain_ps);
    set_seconds(object, "first_packet_s", result->delays.first_ps);
    set_seconds(object, "iteration_s", run->iteration_ps);
    set_seconds(object, "still_s", run->still_ps);
    set_seconds(object, "electrical_s", run->electrical_ps);
    set_seconds(object, "sum_formula_s", run->formula_ps);
    weft_set_count(object, "phase_starts", run->phase_starts);
    weft_set_count(object, "changes", run->boundary_count);
    weft_set_real(object, "dark_share", run->dark_share);
    weft_set_count(object, "split", run->split);
    weft_set_count(object, "forwarded", run->forwarded);
    if (result->play != NULL) {
        set_play(object, result);
    }
    set_description(object, &result->job);
    set_overlap(object, &run->overlap);
    set_certificate(object, run);
    json_t *list = weft_set_list(object, "boundaries");
    for (uint32_t b = 0; b < run->boundary_count; b++) {
        json_array_append_new(list, boundary_json(&run->boundaries[b]));
    }
    return weft_set_finish(object, arena);
}

static void set_bill(json_t *object, const char *key, const struct weft_rail_bill *bill,
                     const struct weft_rail_bill *photonic)
{
    json_t *row = json_object();
    weft_set_count(row, "ports", bill->ports);
    weft_set_count(row, "transceivers", bill->transceivers);
    weft_set_real(row, "usd", bill->cost.total_usd);
    weft_set_real(row, "watts", bill->cost.power_watts);
    weft_set_real(row, "usd_ratio", bill->cost.total_usd / photonic->cost.total_usd);
    weft_set_real(row, "watts_ratio", bill->cost.power_watts / photonic->cost.power_watts);
    weft_set(object, key, row);
}

const char *weft_request_rails_cost_json(const struct weft_rails_cost_result *result,
                                         struct weft_arena *arena)
{
    const struct weft_rail_bills *bills = &result->bills;
    json_t *object = weft_set_object("weft.optics-rails-cost/1");
    weft_set_text(object, "prices", result->prices->name);
    weft_set_count(object, "servers", result->servers);
    weft_set_count(object, "accelerators",
                   (uint64_t)result->servers * result->prices->accelerators);
    weft_set_count(object, "fat_tree_radix", bills->fat_tree_radix);
    weft_set_count(object, "rail_radix", bills->rail_radix);
    set_bill(object, "fat_tree", &bills->fat_tree, &bills->photonic);
    set_bill(object, "electrical_rails", &bills->rail, &bills->photonic);
    set_bill(object, "photonic_rails", &bills->photonic, &bills->photonic);
    return weft_set_finish(object, arena);
}
