// SPDX-License-Identifier: Apache-2.0
// "weft.buy/1": a model on fabrics that one buys. The members of the row that answers stand at the
// top, too, so that a script that wants one answer need not look into the lists; fabrics[] has the
// rows of the first batch, batches[] those of each.

#include "weft/request/buy.h"
#include "request/json/json.h"
#include "weft/format/plan.h"
#include "weft/plan/rails.h"

static json_t *launch_object(const struct weft_launch *launch)
{
    json_t *object = json_object();
    const struct {
        const char *key;
        const char *text;
    } members[] = {{"environment", launch->environment},
                   {"torchrun", launch->torchrun},
                   {"megatron-lm", launch->megatron},
                   {"megatron-lm-model", launch->model},
                   {"without-flag", launch->without_flag}};
    for (uint32_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (members[i].text != NULL) {
            weft_set_text(object, members[i].key, members[i].text);
        }
    }
    return object;
}

// The degrees that a person would name.
static json_t *degrees_object(const struct weft_hybrid *hybrid)
{
    static const char *const recomputes[] = {[WEFT_RECOMPUTE_NONE] = "none",
                                             [WEFT_RECOMPUTE_SELECTIVE] = "selective",
                                             [WEFT_RECOMPUTE_FULL] = "full",
                                             [WEFT_RECOMPUTE_NORMS] = "norms"};
    json_t *object = json_object();
    weft_set_count(object, "dp", hybrid->dp);
    weft_set_count(object, "tp", hybrid->tp);
    weft_set_count(object, "pp", hybrid->pp);
    weft_set_count(object, "ep", hybrid->ep);
    weft_set_count(object, "cp", hybrid->cp);
    weft_set_count(object, "chunks", hybrid->chunks);
    weft_set_count(object, "micro_batch", hybrid->micro_batch);
    weft_set_count(object, "zero_stage", hybrid->zero_stage);
    weft_set_text(object, "recompute", recomputes[hybrid->recompute]);
    weft_set_text(object, "order", hybrid->order);
    return object;
}

// What the estimate spends its time on, as shares of it.
static json_t *shares_object(const struct weft_hybrid_estimate *estimate)
{
    json_t *object = json_object();
    double all = (double)estimate->iteration_ps;
    weft_set_real(object, "compute", (double)estimate->compute_ps / all);
    weft_set_real(object, "bubble", (double)estimate->bubble_ps / all);
    weft_set_real(object, "tensor", (double)estimate->tensor_ps / all);
    weft_set_real(object, "pipe", (double)estimate->pipeline_ps / all);
    weft_set_real(object, "expert", (double)estimate->expert_ps / all);
    weft_set_real(object, "context", (double)estimate->context_ps / all);
    weft_set_real(object, "data", (double)estimate->data_ps / all);
    weft_set_real(object, "optimizer", (double)estimate->optimizer_ps / all);
    weft_set_real(object, "step", (double)estimate->step_ps / all);
    return object;
}

static json_t *rails_object(const struct weft_buy_row *row)
{
    json_t *object = json_object();
    weft_set_count(object, "exchanges", row->rails.exchanges);
    weft_set_count(object, "crossing", row->rails.crossing);
    if (row->rails.crosses != NULL) {
        weft_set_text(object, "crosses", row->rails.crosses);
    }
    if (row->rails_note != NULL) {
        weft_set_text(object, "note", row->rails_note);
    }
    return object;
}

static void set_training(json_t *object, const struct weft_buy_row *row, double tokens)
{
    if (!(tokens > 0)) {
        return;
    }
    json_t *training = json_object();
    weft_set_real(training, "tokens", tokens);
    weft_set_real(training, "days", row->training.days);
    weft_set_real(training, "accelerator_hours", row->training.accelerator_hours);
    weft_set(training, "kwh", row->training.kwh > 0 ? json_real(row->training.kwh) : json_null());
    weft_set(object, "training", training);
}

// What circuits that move have more.
static void set_moving(json_t *object, const struct weft_moving_plan *plan)
{
    weft_set_real(object, "still_s", plan->still_s);
    weft_set_real(object, "dark_share", plan->dark_share);
    weft_set_count(object, "changes", plan->change_count);
    const struct weft_circuit_delays *delays = &plan->schedule.delays;
    weft_set_real(object, "dark_s", weft_seconds(delays->dark_ps));
    weft_set_real(object, "command_s", weft_seconds(delays->command_ps));
    weft_set_real(object, "retrain_s", weft_seconds(delays->retrain_ps));
    json_t *certificate = json_object();
    weft_set_real(certificate, "lower_bound_s", plan->certificate.lower_bound_s);
    weft_set_real(certificate, "gap_ratio", plan->certificate.gap_ratio);
    weft_set(certificate, "bounds", weft_bounds_list(&plan->certificate));
    weft_set(object, "certificate", certificate);
}

// One rail by itself, from which weft lab run runs the plan.
static void set_rail(json_t *object, const struct weft_rail_alone *alone, struct weft_arena *arena)
{
    json_t *rail = json_object();
    weft_set(object, "rail", rail);
    weft_set_count(rail, "alike", alone->rail_count);
    weft_set_count(rail, "ports", alone->port_count);
    weft_set_real(rail, "rate_Bps", alone->rate_Bps);
    weft_set_count(rail, "latency_ps", alone->latency_ps);
    if (alone->why_not != NULL) {
        weft_set_text(rail, "why_not", alone->why_not);
        return;
    }
    weft_set(rail, "graph", json_loads(weft_taskgraph_write(&alone->graph, arena), 0, NULL));
}

// A fabric's answer, as keys of any object: of the whole result, of its list of fabrics, of a
// batch.
static void set_row(json_t *object, const struct weft_buy_row *row,
                    const struct weft_buy_result *result)
{
    weft_set_text(object, "fabric", row->fabric);
    if (row->why_not != NULL) {
        weft_set_text(object, "why_not", row->why_not);
        return;
    }
    weft_set_truth(object, "sold", row->sold);
    const struct weft_strategy *best = &row->found.found.candidates[0].strategy;
    weft_set_real(object, "iteration_s", row->iteration_s);
    weft_set_real(object, "estimate_s", row->estimate_s);
    weft_set_truth(object, "estimate", row->estimate);
    weft_set_text(object, "by", weft_buy_by(row));
    if (row->found.why_estimated != NULL) {
        weft_set_text(object, "why_estimated", row->found.why_estimated);
    }
    weft_set(object, "mfu", row->found.hybrid ? json_real(row->mfu) : json_null());
    weft_set(object, "tokens_per_s",
             row->tokens_per_s > 0 ? json_real(row->tokens_per_s) : json_null());
    weft_set_real(object, "samples_per_s", row->samples_per_s);
    weft_set_real(object, "peak_memory_bytes", best->memory_max_bytes);
    if (row->found.hybrid) {
        weft_set(object, "strategy", degrees_object(&best->hybrid));
        weft_set(object, "shares", shares_object(&row->found.estimates[0]));
        weft_set(object, "rails", rails_object(row));
    }
    if (row->moving != NULL) {
        set_moving(object, row->moving);
    }
    weft_set(object, "launch", launch_object(&row->launch));
    weft_set(object, "bill", weft_bill_list(&row->bill));
    if (row->no_bill != NULL) {
        weft_set_text(object, "why_no_switches", row->no_bill);
    }
    if (row->time_note != NULL) {
        weft_set_text(object, "time_note", row->time_note);
    }
    if (row->price_note != NULL) {
        weft_set_text(object, "price_note", row->price_note);
    }
    weft_set_real(object, "usd", row->bill.usd);
    weft_set_real(object, "watts", row->bill.watts);
    set_training(object, row, result->tokens);
}

// Iterations by dark time, each fabric by its name; a fabric without a plan there has none.
static void set_moved(json_t *object, const struct weft_buy_result *result)
{
    if (result->moved_count == 0) {
        return;
    }
    const struct weft_buy_batch *batch = &result->batches[0];
    json_t *list = weft_set_list(object, "dark_times");
    for (uint32_t i = 0; i < result->moved_count; i++) {
        const struct weft_buy_moved *moved = &result->moved[i];
        json_t *point = json_object();
        json_t *times = json_object();
        json_t *shares = json_object();
        weft_set_real(point, "dark_s", weft_seconds(moved->dark_ps));
        for (uint32_t r = 0; r < batch->row_count; r++) {
            if (moved->iteration_s[r] > 0) {
                weft_set_real(times, batch->rows[r].fabric, moved->iteration_s[r]);
                weft_set_real(shares, batch->rows[r].fabric, moved->dark_share[r]);
            }
        }
        weft_set(point, "iteration_s", times);
        weft_set(point, "dark_share", shares);
        if (moved->fastest != WEFT_NONE) {
            weft_set_text(point, "fastest", batch->rows[moved->fastest].fabric);
        }
        json_array_append_new(list, point);
    }
}

static void set_rows(json_t *object, const struct weft_buy_batch *batch,
                     const struct weft_buy_result *result)
{
    json_t *list = weft_set_list(object, "fabrics");
    for (uint32_t i = 0; i < batch->row_count; i++) {
        json_t *row = json_object();
        weft_set_text(row, "name", batch->rows[i].fabric);
        set_row(row, &batch->rows[i], result);
        json_array_append_new(list, row);
    }
}

// The rows of its network are on the bill of every fabric.
static void set_storage(json_t *object, const struct weft_buy_result *result)
{
    const struct weft_buy_storage *storage = &result->storage;
    if (storage->bill.row_count == 0) {
        return;
    }
    json_t *member = json_object();
    weft_set_count(member, "ports", result->cluster.storage.ports);
    weft_set_real(member, "rate_Bps", result->cluster.storage.rate_Bps);
    weft_set_real(member, "usd", storage->bill.usd);
    weft_set_real(member, "watts", storage->bill.watts);
    weft_set_real(member, "checkpoint_bytes", storage->checkpoint_bytes);
    weft_set_real(member, "checkpoint_s", storage->checkpoint_s);
    weft_set(object, "storage", member);
}

static json_t *change_object(const struct weft_buy_change *change)
{
    json_t *object = json_object();
    weft_set_text(object, "what", change->what);
    if (change->why_not != NULL) {
        weft_set_text(object, "why_not", change->why_not);
        return object;
    }
    weft_set_real(object, "iteration_s", change->iteration_s);
    weft_set_real(object, "tokens_per_s", change->tokens_per_s);
    weft_set(object, "usd", change->usd > 0 ? json_real(change->usd) : json_null());
    return object;
}

const char *weft_request_buy_json(const struct weft_buy_result *result, struct weft_arena *arena)
{
    const struct weft_cluster *cluster = &result->cluster;
    json_t *object = weft_set_object("weft.buy/1");
    weft_set_text(object, "model", result->model.name);
    weft_set_count(object, "batch", result->batches[0].batch);
    weft_set_count(object, "servers", cluster->server_count);
    weft_set_count(object, "accelerators",
                   (uint64_t)cluster->server_count * cluster->accelerators_per_server);
    weft_set_count(object, "degree", cluster->degree);
    weft_set_real(object, "rate_Bps", weft_cluster_nic_rate(cluster));
    if (cluster->nic_Bps > 0) {
        weft_set_real(object, "host_limited_rate_Bps", cluster->rate_Bps);
    }
    weft_set_text(object, "balance", weft_balance_words[cluster->balance]);
    weft_set_text(object, "prices", cluster->prices.source != NULL ? cluster->prices.source : "");
    weft_set_text(object, "stack",
                  result->setting.stack != NULL ? result->setting.stack->name : "none");
    if (result->stopped) {
        weft_set_truth(object, "finished", false);
    }
    const struct weft_buy_row *answer = weft_buy_answer(result);
    if (answer != NULL) {
        set_row(object, answer, result);
    }
    if (answer != NULL && answer->moving != NULL && answer->moving->alone != NULL) {
        set_rail(object, answer->moving->alone, arena);
    }
    set_storage(object, result);
    set_rows(object, &result->batches[0], result);
    set_moved(object, result);
    json_t *batches = weft_set_list(object, "batches");
    for (uint32_t i = 0; i < result->batch_count; i++) {
        const struct weft_buy_batch *batch = &result->batches[i];
        json_t *one = json_object();
        weft_set_count(one, "batch", batch->batch);
        if (batch->advised != WEFT_NONE) {
            set_row(one, &batch->rows[batch->advised], result);
        }
        if (i > 0) {
            set_rows(one, batch, result);
        }
        json_array_append_new(batches, one);
    }
    json_t *changes = weft_set_list(object, "sensitivity");
    for (uint32_t i = 0; i < result->change_count; i++) {
        json_array_append_new(changes, change_object(&result->changes[i]));
    }
    weft_set_text(object, "sureness", result->sureness);
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}
