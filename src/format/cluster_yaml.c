// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML (docs/clusters.md): libcyaml holds the document against a schema of texts, and
// the units in words are read from these texts.

#include "weft/format.h"
#include "yaml_index.h"

#include <cyaml/cyaml.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 64u
#define WORD_MAX 64u
#define TEXT_MAX 256u
#define FRAMES_MAX 8u

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

#define NEEDED CYAML_FLAG_POINTER
#define OPTIONAL (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define WORD(key, flags, type) CYAML_FIELD_STRING_PTR(#key, flags, struct type, key, 0, WORD_MAX)
#define TEXT(key, flags, type) CYAML_FIELD_STRING_PTR(#key, flags, struct type, key, 0, TEXT_MAX)

static const cyaml_schema_field_t row_fields[] = {
    WORD(rate, NEEDED, raw_row),
    WORD(transceiver, NEEDED, raw_row),
    WORD(transceiver_power, OPTIONAL, raw_row),
    WORD(nic, NEEDED, raw_row),
    WORD(nic_power, OPTIONAL, raw_row),
    WORD(switch_port, NEEDED, raw_row),
    WORD(switch_port_power, OPTIONAL, raw_row),
    WORD(patch_panel_port, OPTIONAL, raw_row),
    WORD(ocs_port, OPTIONAL, raw_row),
    WORD(ocs_port_power, OPTIONAL, raw_row),
    WORD(mechanical_switch, OPTIONAL, raw_row),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t row_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_row, row_fields)};
static const cyaml_schema_field_t prices_fields[] = {
    TEXT(source, OPTIONAL, raw_prices),
    CYAML_FIELD_SEQUENCE("rows", CYAML_FLAG_POINTER, struct raw_prices, rows, &row_value, 1,
                         ROWS_MAX),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t accelerators_fields[] = {
    WORD(per_server, NEEDED, raw_accelerators),
    TEXT(kind, OPTIONAL, raw_accelerators),
    WORD(memory, OPTIONAL, raw_accelerators),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t cluster_fields[] = {
    TEXT(name, OPTIONAL, raw_cluster),
    WORD(servers, NEEDED, raw_cluster),
    WORD(degree, NEEDED, raw_cluster),
    WORD(rate, NEEDED, raw_cluster),
    WORD(latency, OPTIONAL, raw_cluster),
    CYAML_FIELD_MAPPING_PTR("accelerators", OPTIONAL, struct raw_cluster, accelerators,
                            accelerators_fields),
    CYAML_FIELD_MAPPING_PTR("prices", OPTIONAL, struct raw_cluster, prices, prices_fields),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t cluster_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_cluster, cluster_fields)};

// ---- what libcyaml says, in our words ----

// libcyaml reports by a log: the fault first, then the place from the inside out.
struct report {
    char fault[256];
    bool in_backtrace;
    char frames[FRAMES_MAX][160]; // "key" or "[3]", innermost first
    uint32_t frame_count;
};

static void read_frame(struct report *report, const char *text)
{
    char *frame = report->frames[report->frame_count];
    const char *quote = strchr(text, '\'');
    const char *end = quote != NULL ? strrchr(text, '\'') : NULL;
    if (report->frame_count == FRAMES_MAX) {
        return;
    }
    if (end == NULL || end == quote) {
        frame[0] = '\0';
    } else if (strstr(text, "sequence entry") != NULL) {
        // libcyaml counts entries from 1.
        unsigned long entry = strtoul(quote + 1, NULL, 10);
        snprintf(frame, sizeof report->frames[0], "[%lu]", entry > 0 ? entry - 1 : 0);
    } else {
        snprintf(frame, sizeof report->frames[0], "%.*s", (int)(end - quote - 1), quote + 1);
    }
    report->frame_count++;
}

static void WEFT_PRINTF(3, 0)
    take_log(cyaml_log_t level, void *context, const char *format, va_list arguments)
{
    struct report *report = context;
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    if (level < CYAML_LOG_ERROR) {
        return;
    }
    if (strstr(text, "Backtrace:") != NULL) {
        report->in_backtrace = true;
    } else if (report->in_backtrace) {
        read_frame(report, text);
    } else if (report->fault[0] == '\0') {
        const char *prefix = "Load: ";
        bool prefixed = strncmp(text, prefix, strlen(prefix)) == 0;
        snprintf(report->fault, sizeof report->fault, "%s", text + (prefixed ? strlen(prefix) : 0));
    }
}

// The path of the frames from `innermost` outward, "prices.rows[2].nic".
static const char *join_frames(const struct report *report, uint32_t innermost,
                               struct weft_arena *arena)
{
    const char *path = "";
    for (uint32_t i = report->frame_count; i > innermost; i--) {
        const char *frame = report->frames[i - 1];
        bool dot = path[0] != '\0' && frame[0] != '[' && frame[0] != '\0';
        path = weft_arena_format(arena, "%s%s%s", path, dot ? "." : "", frame);
    }
    return path;
}

static const char *join_path(const char *path, const char *key, struct weft_arena *arena)
{
    return weft_arena_format(arena, "%s%s%s", path, path[0] == '\0' ? "" : ".", key);
}

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

static const char *list_keys(const char *path, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (const cyaml_schema_field_t *field = fields_at(path); field->key != NULL; field++) {
        weft_text_add(&text, "%s%s", text.length == 0 ? "" : ", ", field->key);
    }
    return text.data;
}

static const char *after_colon(const char *fault)
{
    const char *colon = strstr(fault, ": ");
    return colon != NULL ? colon + 2 : "?";
}

static bool fail_schema(cyaml_err_t code, const struct report *report,
                        const struct weft_yaml_index *index, struct weft_arena scratch,
                        struct weft_error *error)
{
    // The innermost frame of a bad or missing key is a neighbor in the same mapping.
    const char *mapping = join_frames(report, 1, &scratch);
    const char *path = join_frames(report, 0, &scratch);
    const char *key = after_colon(report->fault);
    if (code == CYAML_ERR_INVALID_KEY) {
        const char *bad = join_path(mapping, key, &scratch);
        return weft_fail(error, WEFT_INPUT, "line %u: %.96s: unknown key; the keys here are %s",
                         weft_yaml_index_line(index, bad), bad, list_keys(mapping, &scratch));
    }
    if (code == CYAML_ERR_MAPPING_FIELD_MISSING) {
        const char *missing = join_path(mapping, key, &scratch);
        return weft_fail(error, WEFT_INPUT, "line %u: %s: missing; add it",
                         weft_yaml_index_line(index, missing), missing);
    }
    uint32_t line = weft_yaml_index_line(index, path);
    const char *subject = path[0] == '\0' ? "the document" : path;
    if (strncmp(report->fault, "Expecting MAPPING", strlen("Expecting MAPPING")) == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s: not a mapping; write key: value lines",
                         line, subject);
    }
    if (strncmp(report->fault, "Expecting SEQUENCE", strlen("Expecting SEQUENCE")) == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s: not a list; write one '- ' a row", line,
                         subject);
    }
    if (strncmp(report->fault, "Expecting STRING", strlen("Expecting STRING")) == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s: not a single value; write %s: VALUE",
                         line, subject, report->frames[0]);
    }
    if (code == CYAML_ERR_STRING_LENGTH_MAX) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s: too long a text; shorten it", line,
                         subject);
    }
    if (code == CYAML_ERR_SEQUENCE_ENTRIES_MIN || code == CYAML_ERR_SEQUENCE_ENTRIES_MAX) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s: not 1 to %u rows; add or remove some",
                         weft_yaml_index_line(index, mapping), mapping, ROWS_MAX);
    }
    return weft_fail(error, WEFT_INPUT, "line %u: %s: %s; see docs/clusters.md", line, subject,
                     report->fault[0] != '\0' ? report->fault : cyaml_strerror(code));
}

// libcyaml's memory comes from the arena, so that nothing is left to free.
static void *arena_memory(void *context, void *old, size_t size)
{
    struct weft_arena *arena = context;
    if (size == 0) {
        return NULL;
    }
    size_t *block = weft_arena_alloc_raw(arena, size + sizeof(max_align_t), 1);
    block[0] = size;
    char *memory = (char *)block + sizeof(max_align_t);
    if (old != NULL) {
        size_t old_size = *(size_t *)(void *)((char *)old - sizeof(max_align_t));
        memcpy(memory, old, old_size < size ? old_size : size);
    }
    return memory;
}

static bool load_raw(struct raw_cluster **raw, const char *data, size_t length,
                     const struct weft_yaml_index *index, struct weft_arena *arena,
                     struct weft_error *error)
{
    struct report report = {.in_backtrace = false};
    const cyaml_config_t config = {
        .log_fn = take_log,
        .log_ctx = &report,
        .mem_fn = arena_memory,
        .mem_ctx = arena,
        .log_level = CYAML_LOG_ERROR,
        .flags = CYAML_CFG_NO_ALIAS,
    };
    cyaml_data_t *loaded = NULL;
    cyaml_err_t code =
        cyaml_load_data((const uint8_t *)data, length, &config, &cluster_value, &loaded, NULL);
    if (code != CYAML_OK) {
        return fail_schema(code, &report, index, *arena, error);
    }
    if (loaded == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "line 1: the document is empty; give servers, degree and rate");
    }
    *raw = loaded;
    return true;
}

// ---- texts to values ----

struct source {
    const struct weft_yaml_index *index;
    struct weft_arena *arena;
    struct weft_error *error;
};

// Puts "line N: path: " before the message.
static bool fail_at(const struct source *source, const char *path)
{
    return weft_wrap(source->error, "line %u: %s", weft_yaml_index_line(source->index, path), path);
}

static bool read_u32(uint32_t *value, const char *text, uint32_t low, uint32_t high,
                     const char *path, const struct source *source)
{
    uint64_t wide = 0;
    if (!weft_parse_count(&wide, text, low, high, source->error)) {
        return fail_at(source, path);
    }
    *value = (uint32_t)wide;
    return true;
}

static bool read_accelerators(struct weft_cluster *cluster, const struct raw_accelerators *raw,
                              const struct source *source)
{
    uint64_t memory_bytes = 0;
    if (!read_u32(&cluster->accelerators_per_server, raw->per_server, 0, 1024,
                  "accelerators.per_server", source)) {
        return false;
    }
    if (raw->memory != NULL && !weft_parse_bytes(&memory_bytes, raw->memory, source->error)) {
        return fail_at(source, "accelerators.memory");
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

static bool read_row(struct weft_price_row *row, const struct raw_row *raw, uint32_t index,
                     const struct source *source)
{
    const char *place = weft_arena_format(source->arena, "prices.rows[%u]", index);
    double rate_Bps = 0;
    if (!weft_parse_rate(&rate_Bps, raw->rate, source->error)) {
        return fail_at(source, join_path(place, "rate", source->arena));
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
            return fail_at(source, join_path(place, column->key, source->arena));
        }
    }
    return weft_cluster_check_price_row(row, source->error) || fail_at(source, place);
}

// Rows stand in the file as people like; the book wants them ascending.
static bool insert_row(struct weft_price_row *rows, uint32_t count, struct weft_price_row row,
                       const struct source *source)
{
    uint32_t at = count;
    while (at > 0 && rows[at - 1].rate_Bps >= row.rate_Bps) {
        if (rows[at - 1].rate_Bps == row.rate_Bps) {
            char rate[WEFT_UNIT_TEXT];
            weft_fail(source->error, WEFT_INPUT, "two rows for %s; keep one",
                      weft_show_rate(rate, row.rate_Bps));
            return fail_at(source, weft_arena_format(source->arena, "prices.rows[%u].rate", count));
        }
        at--;
    }
    memmove(rows + at + 1, rows + at, (count - at) * sizeof rows[0]);
    rows[at] = row;
    return true;
}

static bool read_prices(struct weft_price_book *book, const struct raw_prices *raw,
                        const struct source *source)
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
static bool fail_check(const struct source *source)
{
    char key[64];
    size_t length = strcspn(source->error->message, ":");
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), source->error->message);
    return weft_wrap(source->error, "line %u", weft_yaml_index_line(source->index, key));
}

static bool read_cluster(struct weft_cluster *cluster, const struct raw_cluster *raw,
                         const struct source *source)
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
        return fail_at(source, "rate");
    }
    if (raw->latency != NULL && !weft_parse_time(&read.latency_ps, raw->latency, source->error)) {
        return fail_at(source, "latency");
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
    struct raw_cluster *raw = NULL;
    if (!weft_yaml_index_build(&index, data, length, arena, error) ||
        !load_raw(&raw, data, length, &index, arena, error)) {
        return false;
    }
    WEFT_ASSERT(raw != NULL);
    const struct source source = {&index, arena, error};
    return read_cluster(cluster, raw, &source);
}

bool weft_cluster_load(struct weft_cluster *cluster, const char *path, struct weft_arena *arena,
                       struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_YAML_BYTES_MAX + 1, arena, error)) {
        return false;
    }
    return weft_cluster_read(cluster, data, length, arena, error) || weft_wrap(error, "%s", path);
}
