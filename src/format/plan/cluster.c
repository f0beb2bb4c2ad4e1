// SPDX-License-Identifier: Apache-2.0
// The cluster of a plan's file, written and read: hardware, the price book, and the figures of an
// accelerator that the cluster file described. One table of members for both directions, so that
// what is written is what is read. O(rows of the price book).

#include "read.h"
#include "weft/model.h"

#include <math.h>
#include <stddef.h>

#define SERVERS_MAX 8192u
#define LARGE 1e30
#define PRICE_ROWS_MAX 4096u

static const struct weft_json_real price_members[] = {
    {"rate_Bps", offsetof(struct weft_price_row, rate_Bps)},
    {"transceiver_usd", offsetof(struct weft_price_row, transceiver_usd)},
    {"transceiver_watts", offsetof(struct weft_price_row, transceiver_watts)},
    {"nic_usd", offsetof(struct weft_price_row, nic_usd)},
    {"nic_watts", offsetof(struct weft_price_row, nic_watts)},
    {"switch_port_usd", offsetof(struct weft_price_row, switch_port_usd)},
    {"switch_port_watts", offsetof(struct weft_price_row, switch_port_watts)},
    {"patch_panel_port_usd", offsetof(struct weft_price_row, patch_panel_port_usd)},
    {"ocs_port_usd", offsetof(struct weft_price_row, ocs_port_usd)},
    {"ocs_port_watts", offsetof(struct weft_price_row, ocs_port_watts)},
    {"mechanical_switch_usd", offsetof(struct weft_price_row, mechanical_switch_usd)},
    {NULL, 0},
};

// What of an accelerator that no table knows is a real number; the rest stands beside.
static const struct weft_json_real accelerator_members[] = {
    {"fp32_flops", offsetof(struct weft_accelerator, flops_per_s[WEFT_FP32])},
    {"tf32_flops", offsetof(struct weft_accelerator, flops_per_s[WEFT_TF32])},
    {"bf16_flops", offsetof(struct weft_accelerator, flops_per_s[WEFT_BF16])},
    {"fp16_flops", offsetof(struct weft_accelerator, flops_per_s[WEFT_FP16])},
    {"fp8_flops", offsetof(struct weft_accelerator, flops_per_s[WEFT_FP8])},
    {"memory_Bps", offsetof(struct weft_accelerator, memory_Bps)},
    {"link_Bps", offsetof(struct weft_accelerator, link_Bps)},
    {"matmul_efficiency", offsetof(struct weft_accelerator, matmul_efficiency)},
    {"tf32_efficiency", offsetof(struct weft_accelerator, tf32_efficiency)},
    {"fp32_efficiency", offsetof(struct weft_accelerator, fp32_efficiency)},
    {"memory_efficiency", offsetof(struct weft_accelerator, memory_efficiency)},
    {"link_efficiency", offsetof(struct weft_accelerator, link_efficiency)},
    {"watts", offsetof(struct weft_accelerator, watts)},
    {NULL, 0},
};

static void add_own_accelerator(struct weft_text *text, const struct weft_accelerator *own)
{
    weft_text_add(text, "\"own_accelerator\": {");
    weft_json_field_u64(text, "processors", own->processors, ", ");
    weft_json_field_u64(text, "launch_ps", own->launch_ps, ", ");
    weft_json_add_reals(text, own, accelerator_members);
    weft_text_add(text, "},\n    ");
}

void weft_plan_add_cluster(struct weft_text *text, const struct weft_cluster *cluster)
{
    weft_text_add(text, "  \"cluster\": {\n    ");
    weft_json_field_text(text, "name", cluster->name, ",\n    ");
    weft_text_add(text, "\"servers\": %u,\n    \"degree\": %u,\n    ", cluster->server_count,
                  cluster->degree);
    weft_json_field_real(text, "rate_Bps", cluster->rate_Bps, ",\n    ");
    if (cluster->nic_Bps > 0) {
        weft_json_field_real(text, "nic_rate_Bps", cluster->nic_Bps, ",\n    ");
    }
    weft_json_field_real(text, "latency_s", weft_seconds(cluster->latency_ps), ",\n    ");
    weft_text_add(text, "\"accelerators_per_server\": %u,\n    ", cluster->accelerators_per_server);
    weft_json_field_text(text, "accelerator",
                         cluster->accelerator == NULL ? "" : cluster->accelerator, ",\n    ");
    weft_json_field_real(text, "accelerator_memory_bytes", cluster->accelerator_memory_bytes,
                         ",\n    ");
    if (cluster->own_accelerator != NULL) {
        add_own_accelerator(text, cluster->own_accelerator);
    }
    if (cluster->stack != NULL && cluster->stack[0] != '\0') {
        weft_json_field_text(text, "stack", cluster->stack, ",\n    ");
    }
    weft_text_add(text, "\"prices\": {\n      ");
    weft_json_field_text(text, "source", cluster->prices.source, ",\n      \"rows\": [");
    for (uint32_t i = 0; i < cluster->prices.row_count; i++) {
        weft_text_add(text, "%s\n        {", i == 0 ? "" : ",");
        weft_json_add_reals(text, &cluster->prices.rows[i], price_members);
        weft_text_add(text, "}");
    }
    weft_text_add(text, "\n      ]\n    }\n  },\n");
}

// ---- reading ----

// Reads the price book; that its rows ascend is for weft_cluster_check to find.
static bool read_prices(struct weft_price_book *book, const json_t *cluster,
                        struct weft_arena *arena, struct weft_error *error)
{
    const json_t *prices = NULL;
    const json_t *items = NULL;
    const char *text = NULL;
    if (!weft_json_object(&prices, cluster, "prices", error)) {
        return false;
    }
    if (!weft_json_array(&items, prices, "rows", error) ||
        !weft_json_text(&text, prices, "source", arena, error)) {
        return weft_wrap(error, "prices");
    }
    size_t count = json_array_size(items);
    if (count > PRICE_ROWS_MAX) {
        return weft_fail(error, WEFT_INPUT, "prices: rows: %zu rows, more than %u", count,
                         PRICE_ROWS_MAX);
    }
    struct weft_price_row *rows = WEFT_NEW(arena, struct weft_price_row, count);
    for (size_t i = 0; i < count; i++) {
        if (!weft_json_read_reals(&rows[i], json_array_get(items, i), price_members, error)) {
            return weft_wrap(error, "prices: rows[%zu]", i);
        }
    }
    *book = (struct weft_price_book){(uint32_t)count, rows, text};
    return true;
}

// Reads the accelerator that the cluster file described, if it did.
static bool read_own_accelerator(struct weft_cluster *cluster, const json_t *object,
                                 struct weft_arena *arena, struct weft_error *error)
{
    const json_t *own = NULL;
    if (json_object_get(object, "own_accelerator") == NULL) {
        return true;
    }
    if (!weft_json_object(&own, object, "own_accelerator", error)) {
        return false;
    }
    struct weft_accelerator *read = WEFT_NEW(arena, struct weft_accelerator, 1);
    uint32_t launch_ps = 0;
    if (!weft_json_u32(&read->processors, own, "processors", 1, UINT32_MAX, error) ||
        !weft_json_u32(&launch_ps, own, "launch_ps", 0, UINT32_MAX, error) ||
        !weft_json_read_reals(read, own, accelerator_members, error)) {
        return weft_wrap(error, "own_accelerator");
    }
    read->launch_ps = launch_ps;
    read->name = cluster->accelerator;
    read->source = "the cluster file";
    read->memory_bytes = cluster->accelerator_memory_bytes;
    if (!weft_accelerator_check(read, error)) {
        return weft_wrap(error, "own_accelerator");
    }
    cluster->own_accelerator = read;
    return true;
}

static bool read_cluster_keys(struct weft_cluster *cluster, const json_t *object,
                              struct weft_arena *arena, struct weft_error *error)
{
    double latency_s = 0;
    if (!weft_json_text(&cluster->name, object, "name", arena, error) ||
        !weft_json_u32(&cluster->server_count, object, "servers", 2, SERVERS_MAX, error) ||
        !weft_json_u32(&cluster->degree, object, "degree", 1, SERVERS_MAX - 1, error) ||
        !weft_json_real(&cluster->rate_Bps, object, "rate_Bps", 0, LARGE, error) ||
        (json_object_get(object, "nic_rate_Bps") != NULL && // where host links carry less
         !weft_json_real(&cluster->nic_Bps, object, "nic_rate_Bps", 0, LARGE, error)) ||
        !weft_json_real(&latency_s, object, "latency_s", 0, 1, error) ||
        !weft_json_u32(&cluster->accelerators_per_server, object, "accelerators_per_server", 0,
                       UINT32_MAX, error) ||
        !weft_json_text(&cluster->accelerator, object, "accelerator", arena, error) ||
        !weft_json_real(&cluster->accelerator_memory_bytes, object, "accelerator_memory_bytes", 0,
                        LARGE, error) ||
        !read_own_accelerator(cluster, object, arena, error) ||
        (json_object_get(object, "stack") != NULL && // where one is stated
         !weft_json_text(&cluster->stack, object, "stack", arena, error)) ||
        !read_prices(&cluster->prices, object, arena, error)) {
        return false;
    }
    cluster->latency_ps = (uint64_t)llround(latency_s * (double)WEFT_PS_PER_S);
    return weft_cluster_check_direct(cluster, error);
}

bool weft_plan_read_cluster(struct weft_cluster *cluster, const struct weft_plan_source *source)
{
    const json_t *object = NULL;
    if (!weft_json_object(&object, source->root, "cluster", source->error)) {
        return false;
    }
    return read_cluster_keys(cluster, object, source->arena, source->error) ||
           weft_wrap(source->error, "cluster");
}
