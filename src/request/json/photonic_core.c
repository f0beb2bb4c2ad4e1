// SPDX-License-Identifier: Apache-2.0
// "weft.photonic-multiply/1", "-calibrate/1", "-energy/1" and "-stop-and-go/1". docs/lightning.md
// says what each key means.

#include "weft/request/photonic_core.h"
#include "request/json/json.h"

// Samples, wavelength after wavelength.
static void set_samples(json_t *object, const char *key, const uint8_t *samples,
                        const struct weft_photonic_streams *streams)
{
    json_t *list = weft_set_list(object, key);
    for (uint32_t k = 0; k < streams->wavelengths; k++) {
        json_t *one = json_array();
        for (uint32_t t = 0; t < streams->samples; t++) {
            json_array_append_new(one, json_integer(samples[(size_t)k * streams->samples + t]));
        }
        json_array_append_new(list, one);
    }
}

const char *weft_request_photonic_multiply_json(const struct weft_photonic_multiply_result *result,
                                                struct weft_arena *arena)
{
    const struct weft_photonic_dot *dot = &result->dot;
    json_t *root = weft_set_object("weft.photonic-multiply/1");
    json_t *activations = weft_set_list(root, "activations");
    json_t *weights = weft_set_list(root, "weights");
    json_t *products = weft_set_list(root, "products");
    for (uint32_t i = 0; i < result->count; i++) {
        int32_t product = result->weights[i] < 0 ? -dot->products[i] : dot->products[i];
        json_array_append_new(activations, json_integer(result->activations[i]));
        json_array_append_new(weights, json_integer(result->weights[i]));
        json_array_append_new(products, json_integer(product));
    }
    weft_set(root, "sum", json_integer(dot->sum));
    weft_set(root, "exact_sum", json_integer(dot->exact));
    weft_set_truth(root, "found", dot->found);
    weft_set_count(root, "rotation", dot->rotation);
    weft_set_count(root, "pattern_errors", dot->errors);
    weft_set_count(root, "preamble_cycles", dot->preamble);
    weft_set_count(root, "wavelengths", dot->streams.wavelengths);
    weft_set_count(root, "samples", dot->streams.samples);
    weft_set_count(root, "first_data_sample", dot->first);
    weft_set_count(root, "arrival_samples", dot->arrival);
    weft_set_count(root, "delay_activation", dot->delay_activation);
    weft_set_count(root, "delay_weight", dot->delay_weight);
    json_t *waveform = json_object();
    set_samples(waveform, "dac_0", dot->streams.activation, &dot->streams);
    set_samples(waveform, "dac_1", dot->streams.weight, &dot->streams);
    set_samples(waveform, "detector", dot->detector, &dot->streams);
    weft_set(root, "waveform", waveform);
    return weft_set_finish(root, arena);
}

static void set_estimate(json_t *object, const char *key,
                         const struct weft_photonic_estimate *estimate)
{
    json_t *one = json_object();
    weft_set_real(one, "value", estimate->value);
    weft_set_real(one, "low", estimate->low);
    weft_set_real(one, "high", estimate->high);
    weft_set(object, key, one);
}

const char *
weft_request_photonic_calibrate_json(const struct weft_photonic_calibrate_result *result,
                                     struct weft_arena *arena)
{
    const struct weft_photonic_calibration *found = &result->found;
    json_t *root = weft_set_object("weft.photonic-calibrate/1");
    weft_set_count(root, "seed", result->seed);
    weft_set_count(root, "wavelengths", result->wavelengths);
    weft_set_count(root, "delay_activation", found->delay_activation);
    weft_set_count(root, "delay_weight", found->delay_weight);
    weft_set(root, "skew_samples", json_integer(found->skew));
    weft_set_count(root, "arrival_samples", found->arrival);
    weft_set_real(root, "peak_ratio", found->peak_ratio);
    set_estimate(root, "loss_db", &found->loss_db);
    weft_set_count(root, "gain_register", found->gain);
    set_estimate(root, "sigma", &found->sigma);
    set_estimate(root, "crosstalk_ratio", &found->crosstalk);
    weft_set_real(root, "accuracy_ratio", found->accuracy_ratio);
    weft_set_real(root, "noise_ratio", found->noise_ratio);
    weft_set_count(root, "bursts", found->bursts);
    json_t *truth = json_object();
    weft_set_count(truth, "latency_samples", result->path.latency);
    weft_set(truth, "skew_samples",
             json_integer((json_int_t)result->path.skew_activation - result->path.skew_weight));
    weft_set_real(truth, "loss_db", result->core.loss_db);
    weft_set_real(truth, "sigma", result->core.product_sigma);
    weft_set_real(truth, "crosstalk_ratio", result->core.crosstalk_ratio);
    weft_set(root, "truth", truth);
    return weft_set_finish(root, arena);
}

// ---- energy ----

static json_t *energy_root(const char *schema, const struct weft_photonic_energy_result *result)
{
    json_t *root = weft_set_object(schema);
    weft_set_text(root, "net", result->program.name);
    weft_set_count(root, "wavelengths", result->program.wavelengths);
    weft_set_text(root, "power", result->power.name);
    weft_set_text(root, "source", result->power.source);
    weft_set_real(root, "samples_per_s", result->power.samples_per_s);
    return root;
}

const char *weft_request_photonic_energy_json(const struct weft_photonic_energy_result *result,
                                              struct weft_arena *arena)
{
    const struct weft_photonic_energy *energy = &result->energy;
    json_t *root = energy_root("weft.photonic-energy/1", result);
    weft_set_truth(root, "dram", result->dram);
    weft_set_count(root, "macs", energy->macs);
    weft_set_count(root, "cycles", energy->cycles);
    weft_set_real(root, "seconds", energy->seconds);
    weft_set_real(root, "inference_joules", energy->total_joules);
    weft_set_real(root, "mac_joules", energy->mac_joules);
    json_t *parts = weft_set_list(root, "parts");
    for (uint32_t p = 0; p < WEFT_PHOTONIC_PARTS; p++) {
        if (result->power.sources[p] == NULL) {
            continue;
        }
        json_t *part = json_object();
        weft_set_text(part, "name", weft_photonic_part_names[p]);
        weft_set_real(part, "per_unit", result->power.per_unit[p]);
        weft_set_real(part, "inference_joules", energy->part_joules[p]);
        weft_set_text(part, "source", result->power.sources[p]);
        json_array_append_new(parts, part);
    }
    return weft_set_finish(root, arena);
}

const char *weft_request_photonic_stop_json(const struct weft_photonic_energy_result *result,
                                            struct weft_arena *arena)
{
    const struct weft_photonic_host *host = &result->host;
    json_t *root = energy_root("weft.photonic-stop-and-go/1", result);
    json_t *given = json_object();
    weft_set_real(given, "bus_s", host->bus_s);
    weft_set_real(given, "bus_Bps", host->bus_Bps);
    weft_set_real(given, "wake_s", host->wake_s);
    weft_set_real(given, "value_s", host->value_s);
    weft_set_real(given, "rearm_s", host->rearm_s);
    weft_set_real(given, "watts", host->watts);
    weft_set_truth(given, "weights_too", host->weights_too);
    weft_set(root, "host", given);
    json_t *rows = weft_set_list(root, "layers");
    for (uint32_t r = 0; r < result->program.row_count; r++) {
        const struct weft_photonic_stop_row *row = &result->rows[r];
        json_t *one = json_object();
        weft_set_text(one, "name", row->name);
        weft_set_count(one, "data_cycles", row->data_cycles);
        weft_set_real(one, "light_s", row->light_s);
        weft_set_real(one, "count_action_s", row->count_s);
        weft_set_real(one, "stop_and_go_s", row->stop_s);
        weft_set_real(one, "count_action_joules", row->count_joules);
        weft_set_real(one, "stop_and_go_joules", row->stop_joules);
        weft_set_real(one, "host_joules", row->host_joules);
        json_array_append_new(rows, one);
    }
    return weft_set_finish(root, arena);
}
