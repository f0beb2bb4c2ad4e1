// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML (docs/clusters.md): what a user writes of servers, ports, rates and prices.
//
// A table for each mapping says its keys and reads their units (yaml_keys.c), so that every
// message names the key and its line. O(bytes + keys^2), as syntax/yaml.c.

#include "weft/format.h"
#include "yaml_keys.h"

#include <string.h>

#define ROWS_MAX 64u

static bool read_accelerators(struct weft_cluster *cluster, const struct weft_yaml_node *mapping,
                              const struct weft_yaml_source *source)
{
    uint64_t memory_bytes = 0;
    const struct weft_yaml_item items[] = {
        {"per_server", WEFT_YAML_U32, WEFT_YAML_NEEDED, &cluster->accelerators_per_server, 0, 1024},
        {"kind", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &cluster->accelerator, 0, 0},
        {"memory", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &memory_bytes, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    cluster->accelerator_memory_bytes = (double)memory_bytes;
    return true;
}

// Reads a row of prices. Power that the row leaves out is the typical one of its rate in Weft's
// own book; prices have no default, and what may lack is checked at the end.
static bool read_row(struct weft_price_row *row, const struct weft_yaml_node *mapping,
                     const struct weft_yaml_source *source)
{
    const double left_out = -1;
    *row = (struct weft_price_row){
        .transceiver_watts = left_out,
        .nic_watts = left_out,
        .switch_port_watts = left_out,
        .ocs_port_watts = left_out,
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
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    struct weft_price_row typical =
        weft_cluster_price_at(weft_cluster_default_prices(), row->rate_Bps);
    const struct {
        double *watts;
        double typical_watts;
    } powers[] = {
        {&row->transceiver_watts, typical.transceiver_watts},
        {&row->nic_watts, typical.nic_watts},
        {&row->switch_port_watts, typical.switch_port_watts},
        {&row->ocs_port_watts, typical.ocs_port_watts},
    };
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        if (*powers[i].watts == left_out) {
            *powers[i].watts = powers[i].typical_watts;
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

// A check's message starts with the key it is about.
static bool fail_check(const struct weft_yaml_node *root, struct weft_error *error)
{
    char key[64];
    size_t length = strcspn(error->message, ":");
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), error->message);
    return weft_wrap(error, "line %u", weft_yaml_line(root, key));
}

// Reads a cluster. What the file leaves out keeps a default: a microsecond of latency, no
// accelerators, Weft's own book of prices.
static bool read_cluster(struct weft_cluster *cluster, const struct weft_yaml_node *root,
                         const struct weft_yaml_source *source)
{
    struct weft_cluster read = {
        .name = "cluster",
        .latency_ps = 1000000,
        .accelerator = "",
        .prices = *weft_cluster_default_prices(),
    };
    const struct weft_yaml_node *accelerators = NULL;
    const struct weft_yaml_node *prices = NULL;
    const char *balance = weft_balance_words[read.balance];
    const uint32_t servers_max = WEFT_CLUSTER_SERVERS_MAX;
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.name, 0, 0},
        {"servers", WEFT_YAML_U32, WEFT_YAML_NEEDED, &read.server_count, 2, servers_max},
        {"degree", WEFT_YAML_U32, WEFT_YAML_NEEDED, &read.degree, 1, servers_max - 1},
        {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &read.rate_Bps, 0, 0},
        {"latency", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.latency_ps, 0, 0},
        {"balance", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &balance, 0, 0},
        {"accelerators", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &accelerators, 0, 0},
        {"stack", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.stack, 0, 0},
        {"prices", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &prices, 0, 0},
    };
    if (!WEFT_YAML_READ(root, items, source) ||
        (accelerators != NULL && !read_accelerators(&read, accelerators, source)) ||
        (prices != NULL && !read_prices(&read.prices, prices, source))) {
        return false;
    }
    while (weft_balance_words[read.balance] != NULL &&
           strcmp(balance, weft_balance_words[read.balance]) != 0) {
        read.balance++;
    }
    if (weft_balance_words[read.balance] == NULL) {
        weft_fail(source->error, WEFT_INPUT, "'%.32s' is no balance; write hash or even", balance);
        return weft_yaml_fail_key(root, "balance", source);
    }
    if (!weft_cluster_check(&read, source->error)) {
        return fail_check(root, source->error);
    }
    *cluster = read;
    return true;
}

bool weft_cluster_read(struct weft_cluster *cluster, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    return weft_yaml_open(&root, data, length, "servers, degree and rate", &source) &&
           read_cluster(cluster, root, &source);
}

bool weft_cluster_load(struct weft_cluster *cluster, const char *path, struct weft_arena *arena,
                       struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_YAML_BYTES_MAX, arena, error)) {
        return false;
    }
    return weft_cluster_read(cluster, data, length, arena, error) || weft_wrap(error, "%s", path);
}
