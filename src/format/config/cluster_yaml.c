// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML (docs/clusters.md): what a user writes of servers, ports, rates and prices.
//
// libcyaml holds the document against a schema of texts, and units are read from these texts
// afterwards, so that every message names the key and its line. O(bytes + keys^2), as
// yaml_index.c.

#include "weft/format.h"
#include "yaml_schema.h"

#include <string.h>

#define ROWS_MAX 64u

// ---- the schema ----

struct raw_row {
    char *rate, *transceiver, *transceiver_power, *nic, *nic_power, *switch_port,
        *switch_port_power, *patch_panel_port, *ocs_port, *ocs_port_power, *mechanical_switch;
};

struct raw_prices {
    char *source;
    struct raw_row *rows;
    unsigned rows_count;
};

struct raw_accelerators {
    char *per_server, *kind, *memory;
};

struct raw_cluster {
    char *name, *servers, *degree, *rate, *latency;
    struct raw_accelerators *accelerators;
    struct raw_prices *prices;
};

static const cyaml_schema_field_t row_fields[] = {
    WEFT_YAML_WORD(rate, WEFT_YAML_NEEDED, raw_row),
    WEFT_YAML_WORD(transceiver, WEFT_YAML_NEEDED, raw_row),
    WEFT_YAML_WORD(transceiver_power, WEFT_YAML_OPTIONAL, raw_row),
    WEFT_YAML_WORD(nic, WEFT_YAML_NEEDED, raw_row),
    WEFT_YAML_WORD(nic_power, WEFT_YAML_OPTIONAL, raw_row),
    WEFT_YAML_WORD(switch_port, WEFT_YAML_NEEDED, raw_row),
    WEFT_YAML_WORD(switch_port_power, WEFT_YAML_OPTIONAL, raw_row),
    WEFT_YAML_WORD(patch_panel_port, WEFT_YAML_OPTIONAL, raw_row),
    WEFT_YAML_WORD(ocs_port, WEFT_YAML_OPTIONAL, raw_row),
    WEFT_YAML_WORD(ocs_port_power, WEFT_YAML_OPTIONAL, raw_row),
    WEFT_YAML_WORD(mechanical_switch, WEFT_YAML_OPTIONAL, raw_row),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t row_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_row, row_fields)};
static const cyaml_schema_field_t prices_fields[] = {
    WEFT_YAML_TEXT(source, WEFT_YAML_OPTIONAL, raw_prices),
    CYAML_FIELD_SEQUENCE("rows", CYAML_FLAG_POINTER, struct raw_prices, rows, &row_value, 1,
                         ROWS_MAX),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t accelerators_fields[] = {
    WEFT_YAML_WORD(per_server, WEFT_YAML_NEEDED, raw_accelerators),
    WEFT_YAML_TEXT(kind, WEFT_YAML_OPTIONAL, raw_accelerators),
    WEFT_YAML_WORD(memory, WEFT_YAML_OPTIONAL, raw_accelerators),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t cluster_fields[] = {
    WEFT_YAML_TEXT(name, WEFT_YAML_OPTIONAL, raw_cluster),
    WEFT_YAML_WORD(servers, WEFT_YAML_NEEDED, raw_cluster),
    WEFT_YAML_WORD(degree, WEFT_YAML_NEEDED, raw_cluster),
    WEFT_YAML_WORD(rate, WEFT_YAML_NEEDED, raw_cluster),
    WEFT_YAML_WORD(latency, WEFT_YAML_OPTIONAL, raw_cluster),
    CYAML_FIELD_MAPPING_PTR("accelerators", WEFT_YAML_OPTIONAL, struct raw_cluster, accelerators,
                            accelerators_fields),
    CYAML_FIELD_MAPPING_PTR("prices", WEFT_YAML_OPTIONAL, struct raw_cluster, prices,
                            prices_fields),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t cluster_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_cluster, cluster_fields)};

static const cyaml_schema_field_t *fields_at(const char *path)
{
    if (strncmp(path, "prices.rows", strlen("prices.rows")) == 0) {
        return row_fields;
    }
    if (strcmp(path, "prices") == 0) {
        return prices_fields;
    }
    return strcmp(path, "accelerators") == 0 ? accelerators_fields : cluster_fields;
}

static const struct weft_yaml_schema schema = {
    .value = &cluster_value,
    .fields_at = fields_at,
    .needed = "servers, degree and rate",
    .manual = "docs/clusters.md",
};

// ---- texts to values ----

static bool read_u32(uint32_t *value, const char *text, uint32_t low, uint32_t high,
                     const char *path, const struct weft_yaml_source *source)
{
    uint64_t wide = 0;
    if (!weft_parse_count(&wide, text, low, high, source->error)) {
        return weft_yaml_fail_at(source, path);
    }
    *value = (uint32_t)wide;
    return true;
}

static bool read_accelerators(struct weft_cluster *cluster, const struct raw_accelerators *raw,
                              const struct weft_yaml_source *source)
{
    uint64_t memory_bytes = 0;
    if (!read_u32(&cluster->accelerators_per_server, raw->per_server, 0, 1024,
                  "accelerators.per_server", source)) {
        return false;
    }
    if (raw->memory != NULL && !weft_parse_bytes(&memory_bytes, raw->memory, source->error)) {
        return weft_yaml_fail_at(source, "accelerators.memory");
    }
    if (raw->kind != NULL) {
        cluster->accelerator = weft_arena_text(source->arena, raw->kind, strlen(raw->kind));
    }
    cluster->accelerator_memory_bytes = (double)memory_bytes;
    return true;
}

enum quantity { PRICE, POWER };

struct column {
    const char *key;
    const char *text; // NULL = left out: `value` keeps what it has
    double *value;
    enum quantity quantity;
};

// Reads a row of prices. Power that the row leaves out is the typical one of its rate in Weft's
// own book; prices have no default, and what may lack is checked at the end.
static bool read_row(struct weft_price_row *row, const struct raw_row *raw, uint32_t index,
                     const struct weft_yaml_source *source)
{
    const char *place = weft_arena_format(source->arena, "prices.rows[%u]", index);
    double rate_Bps = 0;
    if (!weft_parse_rate(&rate_Bps, raw->rate, source->error)) {
        return weft_yaml_fail_at(source, weft_yaml_join(place, "rate", source->arena));
    }
    struct weft_price_row typical = weft_cluster_price_at(weft_cluster_default_prices(), rate_Bps);
    *row = (struct weft_price_row){
        .rate_Bps = rate_Bps,
        .transceiver_watts = typical.transceiver_watts,
        .nic_watts = typical.nic_watts,
        .switch_port_watts = typical.switch_port_watts,
        .ocs_port_watts = typical.ocs_port_watts,
    };
    const struct column columns[] = {
        {"transceiver", raw->transceiver, &row->transceiver_usd, PRICE},
        {"transceiver_power", raw->transceiver_power, &row->transceiver_watts, POWER},
        {"nic", raw->nic, &row->nic_usd, PRICE},
        {"nic_power", raw->nic_power, &row->nic_watts, POWER},
        {"switch_port", raw->switch_port, &row->switch_port_usd, PRICE},
        {"switch_port_power", raw->switch_port_power, &row->switch_port_watts, POWER},
        {"patch_panel_port", raw->patch_panel_port, &row->patch_panel_port_usd, PRICE},
        {"ocs_port", raw->ocs_port, &row->ocs_port_usd, PRICE},
        {"ocs_port_power", raw->ocs_port_power, &row->ocs_port_watts, POWER},
        {"mechanical_switch", raw->mechanical_switch, &row->mechanical_switch_usd, PRICE},
    };
    for (uint32_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const struct column *column = &columns[i];
        if (column->text == NULL) {
            continue;
        }
        bool good = column->quantity == PRICE
                        ? weft_parse_price(column->value, column->text, source->error)
                        : weft_parse_power(column->value, column->text, source->error);
        if (!good) {
            return weft_yaml_fail_at(source, weft_yaml_join(place, column->key, source->arena));
        }
    }
    return weft_cluster_check_price_row(row, source->error) || weft_yaml_fail_at(source, place);
}

// Rows stand in the file as people like; the book wants them ascending.
static bool insert_row(struct weft_price_row *rows, uint32_t count, struct weft_price_row row,
                       const struct weft_yaml_source *source)
{
    uint32_t at = count;
    while (at > 0 && rows[at - 1].rate_Bps >= row.rate_Bps) {
        if (rows[at - 1].rate_Bps == row.rate_Bps) {
            char rate[WEFT_UNIT_TEXT];
            weft_fail(source->error, WEFT_INPUT, "two rows for %s; keep one",
                      weft_show_rate(rate, row.rate_Bps));
            return weft_yaml_fail_at(
                source, weft_arena_format(source->arena, "prices.rows[%u].rate", count));
        }
        at--;
    }
    memmove(rows + at + 1, rows + at, (count - at) * sizeof rows[0]);
    rows[at] = row;
    return true;
}

static bool read_prices(struct weft_price_book *book, const struct raw_prices *raw,
                        const struct weft_yaml_source *source)
{
    struct weft_price_row *rows = WEFT_NEW(source->arena, struct weft_price_row, raw->rows_count);
    for (uint32_t i = 0; i < raw->rows_count; i++) {
        struct weft_price_row row;
        if (!read_row(&row, &raw->rows[i], i, source) || !insert_row(rows, i, row, source)) {
            return false;
        }
    }
    const char *text = raw->source != NULL ? raw->source : "the cluster file";
    *book = (struct weft_price_book){raw->rows_count, rows,
                                     weft_arena_text(source->arena, text, strlen(text))};
    return true;
}

// A check's message starts with the key it is about.
static bool fail_check(const struct weft_yaml_source *source)
{
    char key[64];
    size_t length = strcspn(source->error->message, ":");
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), source->error->message);
    return weft_wrap(source->error, "line %u", weft_yaml_index_line(source->index, key));
}

static bool read_cluster(struct weft_cluster *cluster, const struct raw_cluster *raw,
                         const struct weft_yaml_source *source)
{
    const char *name = raw->name != NULL ? raw->name : "cluster";
    struct weft_cluster read = {
        .name = weft_arena_text(source->arena, name, strlen(name)),
        .latency_ps = 1000000,
        .accelerator = "",
        .prices = *weft_cluster_default_prices(),
    };
    if (!read_u32(&read.server_count, raw->servers, 2, WEFT_CLUSTER_SERVERS_MAX, "servers",
                  source) ||
        !read_u32(&read.degree, raw->degree, 1, WEFT_CLUSTER_SERVERS_MAX - 1, "degree", source)) {
        return false;
    }
    if (!weft_parse_rate(&read.rate_Bps, raw->rate, source->error)) {
        return weft_yaml_fail_at(source, "rate");
    }
    if (raw->latency != NULL && !weft_parse_time(&read.latency_ps, raw->latency, source->error)) {
        return weft_yaml_fail_at(source, "latency");
    }
    if (raw->accelerators != NULL && !read_accelerators(&read, raw->accelerators, source)) {
        return false;
    }
    if (raw->prices != NULL && !read_prices(&read.prices, raw->prices, source)) {
        return false;
    }
    if (!weft_cluster_check(&read, source->error)) {
        return fail_check(source);
    }
    *cluster = read;
    return true;
}

bool weft_cluster_read(struct weft_cluster *cluster, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error)
{
    struct weft_yaml_index index;
    void *raw = NULL;
    if (!weft_yaml_index_build(&index, data, length, arena, error)) {
        return false;
    }
    const struct weft_yaml_source source = {&index, arena, error};
    return weft_yaml_load(&raw, data, length, &schema, &source) &&
           read_cluster(cluster, raw, &source);
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
