// SPDX-License-Identifier: Apache-2.0
// "weft.optics-rack-tenants/1": docs/photonic-rack.md says what each key means.

#include "request/json/json.h"
#include "weft/request/rack_tenants.h"

static void set_row(json_t *object, const struct weft_tenant_row *row)
{
    weft_set_count(object, "asked", row->asked);
    weft_set_count(object, "placed", row->placed);
    json_t *rejected = json_object();
    for (uint32_t r = WEFT_RACK_CAPACITY; r < WEFT_RACK_REASON_COUNT; r++) {
        weft_set_count(rejected, weft_rack_reason_name((enum weft_rack_reason)r), row->rejected[r]);
    }
    weft_set(object, "rejected", rejected);
    weft_set_count(object, "rejections", row->asked - row->placed);
    weft_set_count(object, "across", row->across);
    weft_set_real(object, "rejected_share",
                  row->asked > 0 ? (double)(row->asked - row->placed) / (double)row->asked : 0);
    weft_set_real(object, "chips_rejected_share", row->chips_rejected);
    weft_set_real(object, "bandwidth_Bps", row->bandwidth_Bps);
    weft_set_real(object, "chip_bandwidth_Bps", row->chip_Bps);
    weft_set_real(object, "allreduce_s", row->allreduce_s);
    weft_set_real(object, "iteration_s", row->iteration_s);
}

static json_t *case_of(const struct weft_tenants_case *one)
{
    const struct weft_tenants_run *run = &one->run;
    json_t *object = json_object();
    if (one->load > 0) {
        weft_set_real(object, "load", one->load);
    }
    weft_set_text(object, "fabric", weft_tenant_fabric_words[one->fabric]);
    set_row(object, &run->all);
    weft_set_real(object, "utilization", run->utilization);
    weft_set_real(object, "span_s", run->span_s);
    weft_set_count(object, "running_max", run->running_max);
    weft_set_real(object, "scattered_share", run->scattered_share);
    weft_set_count(object, "fiber_load_max", run->fiber_load_max);
    json_t *gains = json_object();
    weft_set_real(gains, "bandwidth", one->gains.bandwidth);
    weft_set_real(gains, "allreduce", one->gains.allreduce);
    weft_set_real(gains, "training", one->gains.training);
    weft_set_real(gains, "refused", one->gains.refused);
    weft_set_real(gains, "fragmented", one->gains.fragmented);
    weft_set(object, "gains", gains);
    json_t *sizes = weft_set_list(object, "sizes");
    for (uint32_t s = 0; s < run->row_count; s++) {
        json_t *size = json_object();
        weft_set_counts(size, "sides", run->rows[s].sides, 3);
        weft_set_count(size, "chips", run->rows[s].chips);
        set_row(size, &run->rows[s]);
        json_array_append_new(sizes, size);
    }
    return object;
}

const char *weft_request_rack_tenants_json(const struct weft_rack_tenants_result *result,
                                           struct weft_arena *arena)
{
    const struct weft_tenants_options *asked = &result->asked;
    const struct weft_rack *rack = result->rack;
    json_t *object = weft_set_object("weft.optics-rack-tenants/1");
    weft_set_text(object, "rack", rack->name);
    weft_set_count(object, "racks", asked->rack_count);
    weft_set_count(object, "chips", (uint64_t)rack->server_count * rack->chips_per_server);
    weft_set_text(object, "order", weft_tenant_order_words[asked->order]);
    weft_set_real(object, "injection_Bps", rack->chip_wavelengths * rack->wavelength_Bps);
    weft_set_text(object, "model", result->model);
    weft_set_text(object, "accelerator", result->accelerator);
    weft_set_real(object, "compute_s", asked->job.compute_s);
    weft_set_real(object, "gradient_bytes", asked->job.gradient_bytes);
    weft_set_real(object, "allreduce_bytes", asked->job.allreduce_bytes);
    json_t *cases = weft_set_list(object, "cases");
    for (uint32_t c = 0; c < result->case_count; c++) {
        json_array_append_new(cases, case_of(&result->cases[c]));
    }
    return weft_set_finish(object, arena);
}
