// SPDX-License-Identifier: Apache-2.0
// YAML documents against libcyaml schemas, with messages of our own.
//
// libcyaml reports a fault by log lines: what is wrong first, then the place from the inside
// out. They are gathered and turned into one line that names the key, its line in the file
// (yaml_index.c) and the nearest key that would be right.

#include "yaml_schema.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 8u

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

const char *weft_yaml_join(const char *path, const char *key, struct weft_arena *arena)
{
    return weft_arena_format(arena, "%s%s%s", path, path[0] == '\0' ? "" : ".", key);
}

static const char *list_keys(const cyaml_schema_field_t *fields, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (const cyaml_schema_field_t *field = fields; field->key != NULL; field++) {
        weft_text_add(&text, "%s%s", text.length == 0 ? "" : ", ", field->key);
    }
    return text.data;
}

static const char *after_colon(const char *fault)
{
    const char *colon = strstr(fault, ": ");
    return colon != NULL ? colon + 2 : "?";
}

// The most entries of the list at a path.
static uint32_t entries_max(const struct weft_yaml_schema *schema, const char *path,
                            struct weft_arena scratch)
{
    const char *dot = strrchr(path, '.');
    const char *key = dot != NULL ? dot + 1 : path;
    const char *parent = weft_arena_text(&scratch, path, dot != NULL ? (size_t)(dot - path) : 0);
    const cyaml_schema_field_t *field = schema->fields_at(parent);
    while (field->key != NULL && strcmp(field->key, key) != 0) {
        field++;
    }
    return field->key != NULL ? field->value.sequence.max : 0;
}

// Says in our words what libcyaml found: it names the mapping or the value at fault, its line,
// and what would be right there.
static bool fail_schema(cyaml_err_t code, const struct report *report,
                        const struct weft_yaml_index *index, const struct weft_yaml_schema *schema,
                        struct weft_arena scratch, struct weft_error *error)
{
    // The innermost frame of a bad or missing key is a neighbor in the same mapping.
    const char *mapping = join_frames(report, 1, &scratch);
    const char *path = join_frames(report, 0, &scratch);
    const char *key = after_colon(report->fault);
    if (code == CYAML_ERR_INVALID_KEY) {
        const char *bad = weft_yaml_join(mapping, key, &scratch);
        return weft_fail(error, WEFT_INPUT, "line %u: %.96s: unknown key; the keys here are %s",
                         weft_yaml_index_line(index, bad), bad,
                         list_keys(schema->fields_at(mapping), &scratch));
    }
    if (code == CYAML_ERR_MAPPING_FIELD_MISSING) {
        const char *missing = weft_yaml_join(mapping, key, &scratch);
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
                         weft_yaml_index_line(index, mapping), mapping,
                         entries_max(schema, mapping, scratch));
    }
    return weft_fail(error, WEFT_INPUT, "line %u: %s: %s; see %s", line, subject,
                     report->fault[0] != '\0' ? report->fault : cyaml_strerror(code),
                     schema->manual);
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

bool weft_yaml_load(void **raw, const char *data, size_t length,
                    const struct weft_yaml_schema *schema, const struct weft_yaml_source *source)
{
    struct report report = {.in_backtrace = false};
    const cyaml_config_t config = {
        .log_fn = take_log,
        .log_ctx = &report,
        .mem_fn = arena_memory,
        .mem_ctx = source->arena,
        .log_level = CYAML_LOG_ERROR,
        .flags = CYAML_CFG_NO_ALIAS,
    };
    cyaml_data_t *loaded = NULL;
    cyaml_err_t code =
        cyaml_load_data((const uint8_t *)data, length, &config, schema->value, &loaded, NULL);
    if (code != CYAML_OK) {
        return fail_schema(code, &report, source->index, schema, *source->arena, source->error);
    }
    if (loaded == NULL) {
        return weft_fail(source->error, WEFT_INPUT, "line 1: the document is empty; give %s",
                         schema->needed);
    }
    *raw = loaded;
    return true;
}

bool weft_yaml_fail_at(const struct weft_yaml_source *source, const char *path)
{
    return weft_wrap(source->error, "line %u: %s", weft_yaml_index_line(source->index, path), path);
}
