// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML (docs/clusters.md): what a user writes of servers, ports, rates, prices and
// switches.
//
// A table for each mapping says its keys and reads their units (yaml_keys.c), so that every
// message names the key and its line. O(bytes + keys^2), as syntax/yaml.c.

#include "cluster_yaml.h"
#include "weft/format.h"
#include "weft/model.h"

#include <string.h>

#define ROWS_MAX 64u
// Whose efficiencies an accelerator has that the file describes and likens to none.
#define LIKE_DEFAULT "H100"

// What a file says of an accelerator of its own.
struct own_accelerator {
    const struct weft_yaml_node *peak;
    const char *like;
    double memory_Bps;
    double link_Bps;
    double watts;
};

// The peaks of each kind of numbers; what is left out cannot be computed in.
static bool read_peak(struct weft_accelerator *accelerator, const struct weft_yaml_node *mapping,
                      const struct weft_yaml_source *source)
{
    double *flops_per_s = accelerator->flops_per_s;
    memset(flops_per_s, 0, sizeof accelerator->flops_per_s);
    const struct weft_yaml_item items[] = {
        {"fp32", WEFT_YAML_FLOPS, WEFT_YAML_OPTIONAL, &flops_per_s[WEFT_FP32], 0, 0},
        {"tf32", WEFT_YAML_FLOPS, WEFT_YAML_OPTIONAL, &flops_per_s[WEFT_TF32], 0, 0},
        {"bf16", WEFT_YAML_FLOPS, WEFT_YAML_OPTIONAL, &flops_per_s[WEFT_BF16], 0, 0},
        {"fp16", WEFT_YAML_FLOPS, WEFT_YAML_OPTIONAL, &flops_per_s[WEFT_FP16], 0, 0},
        {"fp8", WEFT_YAML_FLOPS, WEFT_YAML_OPTIONAL, &flops_per_s[WEFT_FP8], 0, 0},
    };
    return WEFT_YAML_READ(mapping, items, source);
}

// An accelerator by its own peaks. The shares of them that kernels reach, the time of a launch and
// the processors are those of the known one that it is said to be like.
static bool read_own(struct weft_cluster *cluster, const struct own_accelerator *own,
                     const struct weft_yaml_node *mapping, const struct weft_yaml_source *source)
{
    const struct weft_accelerator *like = NULL;
    struct weft_error unknown;
    if (!weft_accelerator_named(&like, own->like, source->error)) {
        return weft_yaml_fail_key(mapping, "like", source);
    }
    if (cluster->accelerator[0] == '\0' ||
        weft_accelerator_named(&(const struct weft_accelerator *){NULL}, cluster->accelerator,
                               &unknown)) {
        weft_fail(source->error, WEFT_INPUT,
                  "'%.64s' has no peak to be stated; give the accelerator a name of its own",
                  cluster->accelerator);
        return weft_yaml_fail_key(mapping, "kind", source);
    }
    struct weft_accelerator *accelerator = WEFT_NEW(source->arena, struct weft_accelerator, 1);
    *accelerator = *like;
    if (!read_peak(accelerator, own->peak, source)) {
        return false;
    }
    if (!(own->memory_Bps > 0)) {
        weft_fail(source->error, WEFT_INPUT, "missing beside peak; write for example 3.35TB/s");
        return weft_yaml_fail_key(mapping, "memory_bandwidth", source);
    }
    accelerator->name = cluster->accelerator;
    accelerator->alias = NULL;
    accelerator->source = "the cluster file";
    accelerator->memory_Bps = own->memory_Bps;
    accelerator->memory_bytes = cluster->accelerator_memory_bytes;
    accelerator->link_Bps = own->link_Bps;
    accelerator->host_Bps = 0;
    accelerator->watts = own->watts;
    if (!weft_accelerator_check(accelerator, source->error)) {
        return weft_yaml_fail_at(mapping, source);
    }
    cluster->own_accelerator = accelerator;
    return true;
}

// The section `accelerators`: how many, which kind and memory, and the peaks of a kind that Weft
// does not know.
static bool read_accelerators(struct weft_cluster *cluster, const struct weft_yaml_node *mapping,
                              const struct weft_yaml_source *source)
{
    uint64_t memory_bytes = 0;
    const double unsaid = -1;
    double host_Bps = unsaid;
    struct own_accelerator own = {.like = NULL};
    const struct weft_yaml_item items[] = {
        {"per_server", WEFT_YAML_U32, WEFT_YAML_NEEDED, &cluster->accelerators_per_server, 0, 1024},
        {"kind", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &cluster->accelerator, 0, 0},
        {"memory", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &memory_bytes, 0, 0},
        {"host_rate", WEFT_YAML_RATE, WEFT_YAML_OPTIONAL, &host_Bps, 0, 0},
        {"peak", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &own.peak, 0, 0},
        {"memory_bandwidth", WEFT_YAML_RATE, WEFT_YAML_OPTIONAL, &own.memory_Bps, 0, 0},
        {"link_rate", WEFT_YAML_RATE, WEFT_YAML_OPTIONAL, &own.link_Bps, 0, 0},
        {"power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &own.watts, 0, 0},
        {"like", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &own.like, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    cluster->accelerator_memory_bytes = (double)memory_bytes;
    cluster->host_stated = host_Bps != unsaid;
    cluster->host_Bps = cluster->host_stated ? host_Bps : 0;
    if (own.peak == NULL) {
        const char *lone = own.memory_Bps > 0 ? "memory_bandwidth"
                           : own.link_Bps > 0 ? "link_rate"
                           : own.watts > 0    ? "power"
                           : own.like != NULL ? "like"
                                              : NULL;
        if (lone != NULL) {
            weft_fail(source->error, WEFT_INPUT,
                      "is of an accelerator with peaks of its own; add peak, or leave it out");
            return weft_yaml_fail_key(mapping, lone, source);
        }
        return true;
    }
    own.like = own.like == NULL ? LIKE_DEFAULT : own.like;
    return read_own(cluster, &own, mapping, source);
}

// The section `storage`: NICs that carry no training.
static bool read_storage(struct weft_storage *storage, const struct weft_yaml_node *mapping,
                         const struct weft_yaml_source *source)
{
    const struct weft_yaml_item items[] = {
        {"ports", WEFT_YAML_U32, WEFT_YAML_NEEDED, &storage->ports, 1, 64},
        {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &storage->rate_Bps, 0, 0},
    };
    return WEFT_YAML_READ(mapping, items, source);
}

// Reads a row of prices. Power that the row leaves out, and the price of copper cables, is the
// typical one of its rate in Weft's own book; other prices have no default, and what may lack is
// checked at the end.
static bool read_row(struct weft_price_row *row, const struct weft_yaml_node *mapping,
                     const struct weft_yaml_source *source)
{
    const double left_out = -1;
    *row = (struct weft_price_row){
        .transceiver_watts = left_out,
        .nic_watts = left_out,
        .switch_port_watts = left_out,
        .ocs_port_watts = left_out,
        .dac_usd = left_out,
    };
    const struct weft_yaml_item items[] = {
        {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &row->rate_Bps, 0, 0},
        {"transceiver", WEFT_YAML_PRICE, WEFT_YAML_NEEDED, &row->transceiver_usd, 0, 0},
        {"transceiver_power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &row->transceiver_watts, 0, 0},
        {"nic", WEFT_YAML_PRICE, WEFT_YAML_NEEDED, &row->nic_usd, 0, 0},
        {"nic_power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &row->nic_watts, 0, 0},
        {"switch_port", WEFT_YAML_PRICE, WEFT_YAML_NEEDED, &row->switch_port_usd, 0, 0},
        {"switch_port_power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &row->switch_port_watts, 0, 0},
        {"patch_panel_port", WEFT_YAML_PRICE, WEFT_YAML_OPTIONAL, &row->patch_panel_port_usd, 0, 0},
        {"ocs_port", WEFT_YAML_PRICE, WEFT_YAML_OPTIONAL, &row->ocs_port_usd, 0, 0},
        {"ocs_port_power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &row->ocs_port_watts, 0, 0},
        {"mechanical_switch", WEFT_YAML_PRICE, WEFT_YAML_OPTIONAL, &row->mechanical_switch_usd, 0,
         0},
        {"dac", WEFT_YAML_PRICE, WEFT_YAML_OPTIONAL, &row->dac_usd, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    struct weft_price_row typical =
        weft_cluster_price_at(weft_cluster_default_prices(), row->rate_Bps);
    const struct {
        double *value;
        double typical;
    } defaults[] = {
        {&row->transceiver_watts, typical.transceiver_watts},
        {&row->nic_watts, typical.nic_watts},
        {&row->switch_port_watts, typical.switch_port_watts},
        {&row->ocs_port_watts, typical.ocs_port_watts},
        {&row->dac_usd, typical.dac_usd},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        if (*defaults[i].value == left_out) {
            *defaults[i].value = defaults[i].typical;
        }
    }
    return weft_cluster_check_price_row(row, source->error) || weft_yaml_fail_at(mapping, source);
}

// Puts a row where its rate belongs; two of one rate are refused.
static bool insert_row(struct weft_price_row *rows, uint32_t count, struct weft_price_row row,
                       struct weft_error *error)
{
    uint32_t at = count;
    while (at > 0 && rows[at - 1].rate_Bps >= row.rate_Bps) {
        if (rows[at - 1].rate_Bps == row.rate_Bps) {
            char rate[WEFT_UNIT_TEXT];
            return weft_fail(error, WEFT_INPUT, "two rows for %s; keep one",
                             weft_show_rate(rate, row.rate_Bps));
        }
        at--;
    }
    memmove(rows + at + 1, rows + at, (count - at) * sizeof rows[0]);
    rows[at] = row;
    return true;
}

// Reads the price book of the file, which stands in the place of Weft's own: its rows ascend by
// rate, whatever their order in the file.
static bool read_prices(struct weft_price_book *book, const struct weft_yaml_node *mapping,
                        const struct weft_yaml_source *source)
{
    const struct weft_yaml_node *list = NULL;
    struct weft_price_book read = {.source = "the cluster file"};
    const struct weft_yaml_item items[] = {
        {"source", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.source, 0, 0},
        {"rows", WEFT_YAML_LIST, WEFT_YAML_NEEDED, &list, 0, ROWS_MAX},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    struct weft_price_row *rows = WEFT_NEW(source->arena, struct weft_price_row, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        struct weft_price_row row;
        if (!read_row(&row, node, source)) {
            return false;
        }
        if (!insert_row(rows, read.row_count++, row, source->error)) {
            return weft_yaml_fail_key(node, "rate", source);
        }
    }
    read.rows = rows;
    *book = read;
    return true;
}

// Reads the switches of the file, which stand in the place of Weft's own catalogue.
static bool read_switches(struct weft_switch_catalogue *catalogue,
                          const struct weft_yaml_node *list, const struct weft_yaml_source *source)
{
    struct weft_switch_model *models =
        WEFT_NEW(source->arena, struct weft_switch_model, list->child_count);
    uint32_t count = 0;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        struct weft_switch_model *model = &models[count++];
        *model = (struct weft_switch_model){.breakout = 1};
        const struct weft_yaml_item items[] = {
            {"name", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &model->name, 0, 0},
            {"ports", WEFT_YAML_U32, WEFT_YAML_NEEDED, &model->ports, 1, WEFT_SWITCH_PORTS_MAX},
            {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &model->rate_Bps, 0, 0},
            {"breakout", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &model->breakout, 1,
             WEFT_SWITCH_BREAKOUT_MAX},
            {"price", WEFT_YAML_PRICE, WEFT_YAML_OPTIONAL, &model->usd, 0, 0},
            {"power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &model->watts, 0, 0},
        };
        if (!WEFT_YAML_READ(node, items, source)) {
            return false;
        }
        if (!weft_cluster_check_switch(model, source->error)) {
            return weft_yaml_fail_at(node, source);
        }
        for (uint32_t i = 0; i + 1 < count; i++) {
            if (strcmp(models[i].name, model->name) == 0) {
                weft_fail(source->error, WEFT_INPUT, "two switches of the name '%.64s'; keep one",
                          model->name);
                return weft_yaml_fail_key(node, "name", source);
            }
        }
    }
    *catalogue = (struct weft_switch_catalogue){count, models};
    return true;
}

// A check's message starts with the key it is about.
static bool fail_check(const struct weft_yaml_node *mapping, struct weft_error *error)
{
    char key[320];
    size_t length = strcspn(error->message, ":");
    const char *within = mapping->path;
    snprintf(key, sizeof key, "%.200s%s%.*s", within, *within == '\0' ? "" : ".",
             (int)(length < 63 ? length : 63), error->message);
    return *within == '\0' ? weft_wrap(error, "line %u", weft_yaml_line(mapping, key))
                           : weft_yaml_fail_at(mapping, &(struct weft_yaml_source){.error = error});
}

static bool read_balance(struct weft_cluster *cluster, const char *balance,
                         const struct weft_yaml_node *mapping,
                         const struct weft_yaml_source *source)
{
    while (weft_balance_words[cluster->balance] != NULL &&
           strcmp(balance, weft_balance_words[cluster->balance]) != 0) {
        cluster->balance++;
    }
    if (weft_balance_words[cluster->balance] != NULL) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT, "'%.32s' is no balance; write hash or even", balance);
    return weft_yaml_fail_key(mapping, "balance", source);
}

// Reads a cluster: a file of its own, or a mapping inside another document. What it leaves out
// keeps a default: a microsecond of latency, no accelerators, Weft's own book of prices.
static bool read_cluster(struct weft_cluster *cluster, const struct weft_yaml_node *mapping,
                         bool inside, const struct weft_yaml_source *source)
{
    struct weft_cluster read = {
        .name = "cluster",
        .degree = 1,
        .latency_ps = 1000000,
        .accelerator = "",
        .prices = *weft_cluster_default_prices(),
    };
    const struct weft_yaml_node *accelerators = NULL;
    const struct weft_yaml_node *prices = NULL;
    const struct weft_yaml_node *switches = NULL;
    const struct weft_yaml_node *storage = NULL;
    const char *const unsaid = weft_balance_words[read.balance];
    const char *balance = unsaid;
    const uint32_t servers_max = WEFT_CLUSTER_SERVERS_MAX;
    const enum weft_yaml_presence degree = inside ? WEFT_YAML_OPTIONAL : WEFT_YAML_NEEDED;
    uint32_t gpus = 0;
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.name, 0, 0},
        {"servers", WEFT_YAML_U32, WEFT_YAML_NEEDED, &read.server_count, 2, servers_max},
        {"degree", WEFT_YAML_U32, degree, &read.degree, 1, servers_max - 1},
        {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &read.rate_Bps, 0, 0},
        {"latency", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.latency_ps, 0, 0},
        {"balance", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &balance, 0, 0},
        {"accelerators", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &accelerators, 0, 0},
        {"storage", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &storage, 0, 0},
        {"stack", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.stack, 0, 0},
        {"prices", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &prices, 0, 0},
        {"switches", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &switches, 0, ROWS_MAX},
        {"gpus", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &gpus, 0, 1024}, // inside alone
    };
    size_t count = sizeof items / sizeof items[0] - (inside ? 0 : 1);
    if (!weft_yaml_read(mapping, items, count, source) ||
        (accelerators != NULL && !read_accelerators(&read, accelerators, source)) ||
        (storage != NULL && !read_storage(&read.storage, storage, source)) ||
        (prices != NULL && !read_prices(&read.prices, prices, source)) ||
        (switches != NULL && !read_switches(&read.switches, switches, source))) {
        return false;
    }
    if (accelerators != NULL && gpus > 0) {
        weft_fail(source->error, WEFT_INPUT, "accelerators say it, too; leave one out");
        return weft_yaml_fail_key(mapping, "gpus", source);
    }
    read.accelerators_per_server = gpus > 0 ? gpus : read.accelerators_per_server;
    read.balance_stated = balance != unsaid; // the reader leaves what the file does not have
    if (!read_balance(&read, balance, mapping, source)) {
        return false;
    }
    if (!weft_cluster_check(&read, source->error)) {
        return fail_check(mapping, source->error);
    }
    *cluster = read;
    return true;
}

bool cluster_yaml_read(struct weft_cluster *cluster, const struct weft_yaml_node *mapping,
                       const struct weft_yaml_source *source)
{
    return read_cluster(cluster, mapping, true, source);
}

bool weft_cluster_read(struct weft_cluster *cluster, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    return weft_yaml_open(&root, data, length, "servers, degree and rate", &source) &&
           read_cluster(cluster, root, false, &source);
}

bool weft_cluster_load(struct weft_cluster *cluster, const char *path, struct weft_arena *arena,
                       struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error)) {
        // A plan in its place is larger than any cluster, but what it is says more.
        return error->code == WEFT_INPUT && weft_file_kind(path) != WEFT_FILE_UNKNOWN &&
               weft_file_mistaken(error, path, WEFT_FILE_CLUSTER);
    }
    return weft_cluster_read(cluster, data, length, arena, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_CLUSTER);
}
