// SPDX-License-Identifier: Apache-2.0
// "weft.photonic-serve-study/1": a row for each processor; of a curve, rows for each load.

#include "request/json/json.h"
#include "weft/request/photonic_serve.h"

static void set_estimate(json_t *object, const char *key, const char *interval,
                         const struct weft_serving_estimate *estimate, double factor)
{
    weft_set_real(object, key, estimate->value * factor);
    json_t *list = weft_set_list(object, interval);
    bool known = estimate->low <= estimate->high;
    json_array_append_new(list, known ? json_real(estimate->low * factor) : json_null());
    json_array_append_new(list, known ? json_real(estimate->high * factor) : json_null());
}

static json_t *nets_of(const struct weft_serving_row *row, const struct weft_serving_net *nets)
{
    json_t *list = json_array();
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        json_t *net = json_object();
        weft_set_text(net, "name", nets[n].name);
        weft_set_count(net, "macs", nets[n].macs);
        weft_set_real(net, "isolated_us", row->isolated_ns[n] * 1e-3);
        weft_set_real(net, "mean_us", row->net_ns[n] * 1e-3);
        json_array_append_new(list, net);
    }
    return list;
}

static void set_energy(json_t *object, const struct weft_serving_row *row,
                       const struct weft_serving_row *reference)
{
    json_t *energy = json_object();
    weft_set_real(energy, "watts", row->processor->watts);
    weft_set_real(energy, "busy_J", row->busy_joules);
    weft_set_real(energy, "idle_J", row->idle_joules);
    weft_set_real(energy, "busy_share", row->busy_share);
    weft_set_real(energy, "busy_ratio", row->busy_joules / reference->busy_joules);
    weft_set_real(energy, "pJ_per_mac", row->macs_picojoules);
    weft_set_real(energy, "formula_pJ_per_mac", row->published_picojoules);
    weft_set_real(energy, "formula_ratio",
                  row->published_picojoules / reference->published_picojoules);
    double published = row->processor->published_energy;
    weft_set(energy, "published_ratio", published > 0 ? json_real(published) : json_null());
    weft_set(object, "energy", energy);
}

static json_t *row_of(const struct weft_serving_row *row, const struct weft_serving_row *reference,
                      const struct weft_serving_net *nets)
{
    const struct weft_serving_processor *processor = row->processor;
    json_t *object = json_object();
    weft_set_text(object, "name", processor->name);
    weft_set_count(object, "cores", processor->cores);
    weft_set_real(object, "clock_GHz", processor->clock_ghz);
    weft_set_real(object, "rho", row->rho);
    weft_set_real(object, "rho_trace", row->rho_trace);
    weft_set_truth(object, "stationary", row->rho < 1);
    weft_set_real(object, "work_s", row->work_ns * 1e-9);
    weft_set_count(object, "counted", row->counted);
    set_estimate(object, "mean_s", "mean_interval_s", &row->mean_ns, 1e-9);
    set_estimate(object, "ratio_of_means", "ratio_interval", &row->ratio_of_means, 1);
    weft_set_real(object, "mean_of_ratios", row->mean_of_ratios);
    weft_set_real(object, "capacity_ratio", row->capacity_ratio);
    double published = processor->published_time;
    weft_set(object, "published_ratio", published > 0 ? json_real(published) : json_null());
    weft_set(object, "sharing_s", row->rho < 1 ? json_real(row->sharing_ns * 1e-9) : json_null());
    weft_set_real(object, "p50_s", row->p50_ns * 1e-9);
    weft_set_real(object, "p99_s", row->p99_ns * 1e-9);
    weft_set_real(object, "within_objective", row->within_share);
    set_energy(object, row, reference);
    if (nets != NULL) {
        weft_set(object, "models", nets_of(row, nets));
    }
    return object;
}

static void set_rows(json_t *object, const struct weft_serving_study *study,
                     const struct weft_serving_net *nets)
{
    json_t *list = weft_set_list(object, "processors");
    for (uint32_t p = 0; p < study->row_count; p++) {
        json_array_append_new(list, row_of(&study->rows[p], &study->rows[0], nets));
    }
}

const char *weft_request_serve_study_json(const struct weft_serve_study_result *result,
                                          struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.photonic-serve-study/1");
    weft_set(object, "rate_Bps", result->rate_Bps > 0 ? json_real(result->rate_Bps) : json_null());
    weft_set_truth(object, "drawn", result->drawn);
    weft_set_count(object, "traces", result->trace_count);
    weft_set_count(object, "requests", result->request_count);
    weft_set(object, "until",
             result->until > 0 ? json_integer((json_int_t)result->until) : json_null());
    weft_set_real(object, "objective_s", weft_seconds(result->objective_ps));
    weft_set_text(object, "interval",
                  result->study.batches
                      ? "95 %, delta method, t over batches of consecutive requests"
                      : "95 %, delta method, t over traces");
    weft_set_count(object, "samples", result->study.sample_count);
    set_rows(object, &result->study, result->nets);
    json_t *loads = weft_set_list(object, "loads");
    for (uint32_t l = 0; l < result->load_count; l++) {
        json_t *load = json_object();
        weft_set_real(load, "rate_Bps", result->loads[l].rate_Bps);
        set_rows(load, &result->loads[l].study, NULL);
        json_array_append_new(loads, load);
    }
    return weft_set_finish(object, arena);
}
