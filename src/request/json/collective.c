// SPDX-License-Identifier: Apache-2.0
// "weft.collective/1", "weft.synthesis/1", "weft.collective-best/1", "weft.straggler/1",
// "weft.collective-fit/1" and "weft.collective-export/1": one function for each, since they have
// only the name of the collective in common.

#include "weft/request/collective.h"
#include "request/json/json.h"

#include <math.h>

// ---- show ----

// What is known of a schedule before it is executed.
static json_t *schedule_object(const struct weft_schedule *schedule,
                               const struct weft_collective_request *request,
                               struct weft_arena scratch)
{
    json_t *object = weft_set_object("weft.collective/1");
    if (weft_collective_is_file(request->source)) {
        weft_set_text(object, "file", request->source);
    }
    weft_set_text(object, "algorithm", schedule->name);
    weft_set_text(object, "collective", weft_collective_name(schedule->kind));
    weft_set_count(object, "ranks", schedule->rank_count);
    weft_set_count(object, "chunks", schedule->chunk_count);
    weft_set_count(object, "slots", schedule->slot_count);
    weft_set_count(object, "output_first", schedule->output_first);
    weft_set_truth(object, "packed", schedule->packed);
    weft_set_count(object, "root", schedule->root);
    weft_set_count(object, "ports_claimed", schedule->port_count);
    weft_set_count(object, "rounds", weft_schedule_network_rounds(schedule, scratch));
    weft_set_count(object, "rounds_with_moves", schedule->round_count);
    weft_set_count(object, "steps", schedule->step_count);
    weft_set_count(object, "transfers", weft_schedule_transfer_count(schedule));
    return object;
}

static json_t *index_object(const struct weft_index *index)
{
    json_t *object = json_object();
    weft_set_count(object, "base", index->base);
    weft_set_count(object, "start", index->start);
    weft_set_count(object, "per_item", index->per_item);
    weft_set_count(object, "per_round", index->per_round);
    weft_set_count(object, "modulus", index->modulus);
    return object;
}

static const char *op_name(enum weft_step_op op)
{
    return op == WEFT_STEP_COPY ? "copy" : "reduce";
}

static json_t *step_list(const struct weft_schedule *schedule)
{
    json_t *list = json_array();
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        json_t *object = json_object();
        weft_set_text(object, "op", op_name(step->op));
        weft_set_count(object, "first_round", step->first_round);
        weft_set_count(object, "rounds", step->round_count);
        weft_set_count(object, "items", step->item_count);
        weft_set_count(object, "slots", step->slot_count);
        weft_set_index(object, "label", step->label);
        weft_set_count(object, "channel", step->channel);
        weft_set(object, "from", index_object(&step->from));
        weft_set(object, "to", index_object(&step->to));
        weft_set(object, "from_slot", index_object(&step->from_slot));
        weft_set(object, "to_slot", index_object(&step->to_slot));
        if (schedule->start_ps != NULL) {
            weft_set_real(object, "start_s", weft_seconds(schedule->start_ps[s]));
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *label_list(const struct weft_schedule *schedule)
{
    json_t *list = json_array();
    for (uint32_t table = 0; table < schedule->label_count; table++) {
        json_array_append_new(list, weft_counts(schedule->labels[table], schedule->rank_count));
    }
    return list;
}

static json_t *transfer_list(const struct weft_schedule *schedule, struct weft_arena scratch)
{
    json_t *list = json_array();
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            json_t *object = json_object();
            weft_set_count(object, "round", walk.round);
            weft_set_count(object, "step", transfer->step);
            weft_set_text(object, "op", op_name(transfer->op));
            weft_set_count(object, "from", transfer->from);
            weft_set_count(object, "to", transfer->to);
            weft_set_count(object, "from_slot", transfer->from_slot);
            weft_set_count(object, "to_slot", transfer->to_slot);
            weft_set_count(object, "slots", transfer->slot_count);
            json_array_append_new(list, object);
        }
    }
    return list;
}

const char *weft_request_collective_show_json(const struct weft_collective_show_result *result,
                                              const struct weft_collective_request *request,
                                              struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_schedule *schedule = &result->schedule;
    const struct weft_schedule_report *report = result->executed ? &result->report : NULL;
    json_t *object = schedule_object(schedule, request, scratch);
    weft_set(object, "valid", report == NULL ? json_null() : json_boolean(report->valid));
    weft_set_text(object, "error", report == NULL || report->valid ? NULL : report->why);
    weft_set(object, "labels", label_list(schedule));
    weft_set(object, "step_list", step_list(schedule));
    if (request->expanded) {
        weft_set(object, "transfer_list", transfer_list(schedule, scratch));
    }
    return weft_set_finish(object, arena);
}

// ---- check ----

static json_t *algorithm_check(const struct weft_collective_check_result *result,
                               const struct weft_collective_request *request,
                               struct weft_arena scratch)
{
    const struct weft_schedule_report *report = &result->report;
    const char *why = result->why;
    json_t *object = schedule_object(&result->schedule, request, scratch);
    weft_set_truth(object, "valid", why[0] == '\0');
    weft_set_text(object, "error", why[0] == '\0' ? NULL : why);
    weft_set_index(object, "bad_round", report->bad_round);
    weft_set_index(object, "bad_step", report->bad_step);
    weft_set_index(object, "bad_item", report->bad_item);
    weft_set(object, "buffers_equal",
             result->buffers == WEFT_BUFFERS_SKIPPED
                 ? json_null()
                 : json_boolean(result->buffers == WEFT_BUFFERS_EQUAL));
    weft_set_count(object, "buffer_words", result->buffer_words);
    weft_set_count(object, "slots_sent", report->slots_sent);
    weft_set_count(object, "send_slots_max", report->send_slots_max);
    weft_set_count(object, "send_ports", report->send_port_max);
    weft_set_count(object, "receive_ports", report->receive_port_max);
    return object;
}

static json_t *program_check(const struct weft_collective_check_result *result,
                             const struct weft_collective_request *request)
{
    const struct weft_program *program = &result->program;
    const struct weft_program_report *report = &result->program_report;
    json_t *object = weft_set_object("weft.collective/1");
    weft_set_text(object, "file", request->source);
    weft_set_text(object, "algorithm", program->name);
    weft_set_text(object, "protocol", program->protocol);
    weft_set_text(object, "collective", weft_collective_name(program->kind));
    weft_set_count(object, "ranks", program->rank_count);
    weft_set_count(object, "chunks", program->chunk_count);
    weft_set_count(object, "rounds", report->round_count);
    uint32_t blocks;
    uint32_t steps;
    weft_program_count(program, &blocks, &steps);
    weft_set_count(object, "steps", steps);
    weft_set_count(object, "transfers", report->transfer_count);
    weft_set_truth(object, "in_place", program->in_place);
    weft_set_truth(object, "out_of_place", program->out_of_place);
    weft_set_count(object, "min_bytes", program->size_min_bytes);
    if (program->size_max_bytes != UINT64_MAX) {
        weft_set_count(object, "max_bytes", program->size_max_bytes);
    }
    weft_set_text(object, "defaulted", program->defaulted);
    weft_set_truth(object, "valid", report->valid);
    weft_set_text(object, "error", report->valid ? NULL : report->why);
    weft_set_index(object, "bad_rank", report->valid ? WEFT_NONE : report->bad_rank);
    weft_set_index(object, "bad_block", report->valid ? WEFT_NONE : report->bad_block);
    weft_set_index(object, "bad_step", report->valid ? WEFT_NONE : report->bad_step);
    if (program->one_sided && report->valid) {
        weft_set_text(object, "repeats", report->repeats[0] == '\0' ? NULL : report->repeats);
    }
    return object;
}

static json_t *graphs_check(const struct weft_collective_check_result *result,
                            const struct weft_collective_request *request)
{
    json_t *object = weft_set_object("weft.collective/1");
    weft_set_text(object, "file", request->source);
    json_t *list = weft_set_list(object, "graphs");
    for (uint32_t g = 0; g < result->graphs.graph_count; g++) {
        const struct weft_nccl_graph *graph = &result->graphs.graphs[g];
        json_t *row = json_object();
        weft_set_count(row, "id", graph->id);
        weft_set_count(row, "pattern", graph->pattern);
        weft_set_count(row, "channels", graph->channel_count);
        weft_set_count(row, "gpus", graph->channel_count > 0 ? graph->channels[0].gpu_count : 0);
        weft_set_real(row, "intra_Bps", graph->intra_Bps);
        weft_set_real(row, "inter_Bps", graph->inter_Bps);
        json_array_append_new(list, row);
    }
    weft_set_truth(object, "valid", result->why[0] == '\0');
    weft_set_text(object, "error", result->why[0] == '\0' ? NULL : result->why);
    return object;
}

const char *weft_request_collective_check_json(const struct weft_collective_check_result *result,
                                               const struct weft_collective_request *request,
                                               struct weft_arena *arena, struct weft_arena scratch)
{
    bool file = result->source.algorithm == WEFT_ALGORITHM_COUNT;
    return weft_set_finish(result->is_graphs ? graphs_check(result, request)
                           : file            ? program_check(result, request)
                                             : algorithm_check(result, request, scratch),
                           arena);
}

// ---- synthesize ----

const char *weft_request_synthesize_json(const struct weft_synthesize_result *result,
                                         const struct weft_synthesize_request *request,
                                         struct weft_arena *arena, struct weft_arena scratch)
{
    json_t *object = weft_set_object("weft.synthesis/1");
    weft_set_text(object, "collective", weft_collective_name(result->made.schedule.kind));
    weft_set_text(object, "fabric", request->fabric);
    weft_set_count(object, "ranks", result->made.schedule.rank_count);
    weft_set_count(object, "size_bytes", request->synthesis.size_bytes);
    weft_set_count(object, "chunks", result->chunks);
    weft_set_truth(object, "holds_links", request->synthesis.holds_links);
    weft_set_count(object, "seed", result->seed);
    weft_set_real(object, "completion_s", weft_seconds(result->made.completion_ps));
    weft_set_real(object, "lower_bound_s", weft_seconds(result->made.bound_ps));
    weft_set_real(object, "latency_bound_s", weft_seconds(result->made.latency_bound_ps));
    weft_set_real(object, "cut_bound_s", weft_seconds(result->made.cut_bound_ps));
    weft_set_real(object, "chunk_bound_s", weft_seconds(result->made.chunk_bound_ps));
    weft_set_real(object, "gap_ratio",
                  (double)result->made.completion_ps / (double)result->made.bound_ps - 1);
    weft_set_count(object, "rounds", result->made.schedule.round_count);
    weft_set_count(object, "steps", result->made.schedule.step_count);
    weft_set_count(object, "transfers", result->report.transfer_count);
    weft_set_truth(object, "valid", result->report.valid);
    weft_set_real(object, "wall_s", result->wall_s);
    if (request->schedule) {
        struct weft_text text;
        weft_text_init(&text, arena);
        weft_schedule_write(&text, &result->made.schedule, false, scratch);
        weft_set_text(object, "schedule", text.data);
    }
    return weft_set_finish(object, arena);
}

// ---- best ----

static json_t *algorithm_object(const struct weft_collective_ranking *ranking,
                                enum weft_algorithm algorithm)
{
    json_t *object = json_object();
    weft_set_text(object, "algorithm", weft_algorithm_name(algorithm));
    weft_set_real(object, "seconds", ranking->times[algorithm].seconds);
    weft_set_count(object, "chunk_factor", ranking->times[algorithm].chunk_factor);
    return object;
}

static json_t *choice_object(const struct weft_collective_ranking *ranking)
{
    json_t *object = json_object();
    weft_set_count(object, "size_bytes", ranking->size_bytes);
    bool found = ranking->best < WEFT_ALGORITHM_COUNT;
    const struct weft_collective_time *time = &ranking->times[found ? ranking->best : 0];
    weft_set_text(object, "algorithm", found ? weft_algorithm_name(ranking->best) : NULL);
    weft_set_real(object, "seconds", found ? time->seconds : (double)NAN);
    weft_set_count(object, "chunk_factor", time->chunk_factor);
    weft_set_real(object, "bound_s", ranking->bound_s);
    weft_set_real(object, "gap_ratio", found ? time->seconds / ranking->bound_s - 1 : (double)NAN);
    weft_set(object, "second",
             ranking->second < WEFT_ALGORITHM_COUNT ? algorithm_object(ranking, ranking->second)
                                                    : json_null());
    json_t *all = weft_set_list(object, "algorithms");
    for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        if (ranking->times[a].seconds >= 0) {
            json_array_append_new(all, algorithm_object(ranking, a));
        }
    }
    return object;
}

const char *weft_request_best_json(const struct weft_best_result *result,
                                   const struct weft_best_request *request,
                                   struct weft_arena *arena)
{
    const struct weft_collective_question *question = &result->question;
    json_t *object = weft_set_object("weft.collective-best/1");
    weft_set_text(object, "collective", weft_collective_name(question->options.kind));
    weft_set_count(object, "ranks", question->options.rank_count);
    weft_set_text(object, "fabric", request->fabric);
    weft_set_text(object, "engine", weft_best_engine_name(result->engine));
    weft_set_real(object, "rate_Bps", 1 / question->model.beta_s_per_byte);
    weft_set_real(object, "latency_s", question->model.alpha_s);
    json_t *choices = weft_set_list(object, "choices");
    for (uint32_t i = 0; i < result->count; i++) {
        json_array_append_new(choices, choice_object(&result->rankings[i]));
    }
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}

// ---- straggler ----

static json_t *row_object(const struct weft_straggler_cost *cost, double delay_s)
{
    json_t *object = json_object();
    weft_set_real(object, "delay_s", delay_s);
    weft_set_real(object, "stragglar_s", cost->stragglar_s);
    weft_set_real(object, "ring_s", cost->ring_s);
    weft_set_real(object, "partial_s", cost->partial_s);
    weft_set_text(object, "algorithm", weft_straggler_quicker(cost));
    return object;
}

const char *weft_request_straggler_json(const struct weft_straggler_result *result,
                                        const struct weft_straggler_request *request,
                                        struct weft_arena *arena)
{
    const struct weft_straggler_cost *cost = &result->cost;
    json_t *object = weft_set_object("weft.straggler/1");
    weft_set_count(object, "ranks", request->rank_count);
    weft_set_count(object, "size_bytes", request->size_bytes);
    weft_set_real(object, "rate_Bps", request->rate_Bps);
    weft_set_real(object, "latency_s", result->model.alpha_s);
    weft_set_count(object, "rounds", result->round_count);
    weft_set_count(object, "bound_rounds", cost->round_count);
    weft_set_count(object, "steps", result->step_count);
    weft_set_count(object, "chunk_factor", cost->chunk_factor);
    weft_set_real(object, "speedup", result->speedup);
    weft_set_real(object, "plain_speedup", result->plain_speedup);
    weft_set_real(object, "reduce_s", cost->reduce_s);
    weft_set_real(object, "finish_s", cost->finish_s);
    weft_set_real(object, "ring_s", result->ring_s);
    weft_set_real(object, "break_even_delay_s", cost->break_even_delay_s);
    weft_set_truth(object, "begin_at_once", weft_straggler_begins_at_once(result));
    if (request->delay_given) {
        weft_set(object, "asked", row_object(cost, weft_seconds(request->delay_ps)));
    }
    json_t *rows = weft_set_list(object, "delays");
    for (uint32_t i = 0; i < result->row_count; i++) {
        json_array_append_new(rows, row_object(&result->rows[i], result->delays_s[i]));
    }
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}

// ---- fit ----

// A fit with its latencies under both readings of m, and what is left at each size.
static json_t *fit_object(const struct weft_collective_fit *fit, double port_Bps)
{
    json_t *object = json_object();
    weft_set_text(object, "kind", weft_collective_name(fit->kind));
    weft_set_count(object, "ranks", fit->rank_count);
    weft_set(object, "servers",
             fit->server_count > 0 ? json_integer(fit->server_count) : json_null());
    weft_set_real(object, "latency_s", fit->latency_s);
    weft_set_real(object, "rate_Bps", fit->rate_Bps);
    if (port_Bps > 0) {
        weft_set_real(object, "rate_share", fit->rate_Bps / port_Bps);
    }
    weft_set_real(object, "ring_message_s", fit->ring_message_s);
    weft_set_real(object, "tree_message_s", fit->tree_message_s);
    weft_set_real(object, "link_latency_s", weft_fit_link_latency_s(fit));
    weft_set_real(object, "rms_ratio", fit->rms_ratio);
    json_t *sizes = weft_set_list(object, "sizes");
    for (uint32_t i = 0; i < fit->size_count; i++) {
        const struct weft_collective_fit_size *size = &fit->sizes[i];
        json_t *one = json_object();
        weft_set_count(one, "size_bytes", size->size_bytes);
        weft_set_count(one, "samples", size->sample_count);
        weft_set_real(one, "seconds", size->seconds);
        weft_set_real(one, "fit_s", size->fit_s);
        weft_set_real(one, "off_ratio", size->fit_s / size->seconds - 1);
        json_array_append_new(sizes, one);
    }
    return object;
}

const char *weft_request_fit_json(const struct weft_fit_result *result, struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.collective-fit/1");
    json_t *fits = weft_set_list(object, "fits");
    for (uint32_t i = 0; i < result->fits.count; i++) {
        json_array_append_new(fits, fit_object(&result->fits.fits[i], result->rate_Bps));
    }
    return weft_set_finish(object, arena);
}

// ---- export ----

// How rings cross each tier: as written, in the order given, and at least.
static json_t *rails_object(const struct weft_rail_report *report)
{
    json_t *object = json_object();
    weft_set_count(object, "servers", report->server_count);
    weft_set_count(object, "rails", report->nic_count);
    weft_set_count(object, "hops", report->crossings.hop_count);
    json_t *tiers = weft_set_list(object, "tiers");
    for (uint32_t t = 0; t < report->tier_count; t++) {
        json_t *tier = json_object();
        weft_set_text(tier, "tier", report->tiers[t]);
        weft_set_count(tier, "crossings", report->crossings.crossings[t]);
        weft_set_count(tier, "least", report->crossings.least[t]);
        weft_set_count(tier, "given", report->given.crossings[t]);
        json_array_append_new(tiers, tier);
    }
    return object;
}

const char *
weft_request_collective_export_json(const struct weft_collective_export_result *result,
                                    const struct weft_collective_export_request *request,
                                    const char *output, struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.collective-export/1");
    weft_set_text(object, "source", request->source);
    weft_set_text(object, "kind", weft_collective_export_name(request->kind));
    weft_set_text(object, "output", output);
    if (result->rails.server_count > 0) {
        weft_set(object, "rings", rails_object(&result->rails));
    }
    return weft_set_finish(object, arena);
}
