// SPDX-License-Identifier: Apache-2.0
// One scenario: its parameters as the command line of its verb, and what the verb answers as a line
// of JSON.

#include "sweep.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool sweep_is_argument(const char *key)
{
    return strcmp(key, "flows") == 0 || strcmp(key, "job") == 0 || strcmp(key, "load") == 0;
}

static bool says_no(const char *word)
{
    return strcmp(word, "no") == 0 || strcmp(word, "false") == 0;
}

static bool takes_value(const struct sweep *sweep, const char *key)
{
    const struct argp_option *near = NULL;
    const struct argp_option *option = cli_verb_option(&sweep->runner->verb, key, &near);
    return option == NULL || option->arg != NULL;
}

int sweep_arguments(char ***argv, const struct sweep *sweep, uint32_t index,
                    struct weft_arena *arena)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, &sweep->spec, index);
    size_t room = 8 + grid->key_count;
    for (uint32_t i = 0; i < grid->key_count; i++) {
        room += values[i]->word_count;
    }
    const char **words = WEFT_NEW(arena, const char *, room);
    int count = 0;
    words[count++] = sweep->runner->verb.name;
    for (uint32_t i = 0; i < grid->key_count; i++) {
        const char *key = grid->keys[i].name;
        const char *word = values[i]->words[0];
        if (sweep_is_argument(key)) {
            continue;
        }
        if (takes_value(sweep, key)) {
            words[count++] = weft_arena_format(arena, "--%s=%s", key, word);
        } else if (!says_no(word)) {
            words[count++] = weft_arena_format(arena, "--%s", key);
        }
    }
    words[count++] = "--json";
    words[count++] = "--quiet";
    words[count++] = "--threads=1"; // the sweep has the others
    words[count++] = "--";
    for (uint32_t i = 0; i < grid->key_count; i++) {
        for (uint32_t w = 0; w < values[i]->word_count && sweep_is_argument(grid->keys[i].name);
             w++) {
            words[count++] = values[i]->words[w];
        }
    }
    *argv = (char **)(uintptr_t)words; // argp reads them only
    return count;
}

// ---- a line ----

// A whole number as JSON has it, else a text.
static json_t *word_json(const char *word)
{
    size_t length = strlen(word);
    bool whole = length > 0 && length < 16 && strspn(word, "0123456789") == length &&
                 (word[0] != '0' || length == 1);
    json_t *text = whole ? json_integer((json_int_t)strtoll(word, NULL, 10)) : json_string(word);
    WEFT_ASSERT(text != NULL); // YAML was UTF-8
    return text;
}

static json_t *value_json(const struct sweep *sweep, const char *key,
                          const struct weft_sweep_value *value)
{
    if (!sweep_is_argument(key) && !takes_value(sweep, key)) {
        return json_boolean(!says_no(value->words[0]));
    }
    if (value->word_count == 1) {
        return word_json(value->words[0]);
    }
    json_t *list = json_array();
    for (uint32_t i = 0; i < value->word_count; i++) {
        json_array_append_new(list, word_json(value->words[i]));
    }
    return list;
}

static void write_parameters(FILE *out, const struct sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, &sweep->spec, index);
    json_t *object = json_object();
    for (uint32_t i = 0; i < grid->key_count; i++) {
        cli_set(object, grid->keys[i].name, value_json(sweep, grid->keys[i].name, values[i]));
    }
    fprintf(out, SWEEP_LINE_BEGINS "%u,\"key\":\"%016llx\",\"verb\":\"%s\",\"parameters\":", index,
            (unsigned long long)sweep->keys[index], sweep->spec.verb);
    json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
}

// Writes the verb's JSON without white space, and without its wall_s: what takes another time in
// each run would not let two runs be compared.
static void write_result(FILE *out, const char *json)
{
    static const char wall[] = "\"wall_s\"";
    uint32_t depth = 0;
    bool quoted = false;
    bool comma = false; // read, not yet written
    for (const char *c = json; *c != '\0'; c++) {
        if (!quoted && depth == 1 && strncmp(c, wall, sizeof wall - 1) == 0) {
            c += strcspn(c, ",}") - 1;
            continue;
        }
        if (!quoted && (isspace((unsigned char)*c) || *c == ',')) {
            comma = comma || *c == ',';
            continue;
        }
        depth += !quoted && (*c == '{' || *c == '[');
        depth -= !quoted && (*c == '}' || *c == ']');
        if (comma && (quoted || (*c != '}' && *c != ']'))) {
            fputc(',', out);
        }
        comma = false;
        fputc(*c, out);
        if (quoted && *c == '\\') {
            fputc(*++c, out);
        } else if (*c == '"') {
            quoted = !quoted;
        }
    }
}

static void write_text(FILE *out, const char *text)
{
    json_t *object = json_object();
    cli_set_text(object, "text", text); // mends what is no UTF-8
    json_dumpf(json_object_get(object, "text"), out, JSON_ENCODE_ANY);
    json_decref(object);
}

static void write_notes(FILE *out, char *notes)
{
    const char *before = ",\"notes\":[";
    while (*notes != '\0') {
        char *end = strchrnul(notes, '\n');
        char *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        fputs(before, out);
        write_text(out, notes);
        before = ",";
        notes = next;
    }
    if (before[1] == '\0') {
        fputc(']', out);
    }
}

struct scenario {
    const struct sweep *sweep;
    uint32_t index;
    struct cli *cli;
    void *input; // of the runner
    FILE *notes;
    struct weft_arena arena;
};

static bool play(void *context)
{
    struct scenario *scenario = context;
    const struct sweep *sweep = scenario->sweep;
    struct cli *cli = scenario->cli;
    char **argv = NULL;
    int argc = sweep_arguments(&argv, sweep, scenario->index, &scenario->arena);
    sweep->runner->ready(scenario->input, cli);
    if (!cli_parse(cli, &sweep->runner->verb, argc, argv, scenario->input)) {
        return false;
    }
    cli->nested = true;
    cli->notes = scenario->notes;
    return sweep->runner->run(scenario->input);
}

struct sweep_line sweep_run(const struct sweep *sweep, uint32_t index)
{
    struct cli cli = {.exit_code = 0};
    struct weft_arena arena;
    struct weft_error error;
    char *notes = NULL;
    size_t notes_length = 0;
    struct sweep_line line = {.index = index, .key = sweep->keys[index]};
    FILE *out = open_memstream(&line.text, &line.length);
    FILE *noted = open_memstream(&notes, &notes_length);
    void *input = calloc(1, sweep->runner->input_bytes);
    bool ready = weft_arena_init(&arena, (size_t)16 << 20, &error);
    WEFT_ASSERT(out != NULL && noted != NULL && input != NULL && ready);
    struct scenario scenario = {sweep, index, &cli, input, noted, arena};
    bool fine = weft_guard(play, &scenario, &cli.error);
    write_parameters(out, sweep, index);
    fclose(noted);
    write_notes(out, notes);
    if (fine) {
        fputs(",\"result\":", out);
        write_result(out, cli.text.data);
    } else {
        fputs(",\"error\":", out);
        write_text(out, cli.error.message);
    }
    int code = fine || cli.exit_code != 0 ? cli.exit_code : weft_exit_code(cli.error.code);
    if (code != 0) {
        fprintf(out, ",\"exit\":%d", code);
    }
    if (sweep->tells_wall) {
        fprintf(out, ",\"wall_s\":%.3f", cli_elapsed_s(&cli));
    }
    fputc('}', out);
    fclose(out);
    line.failed = !fine;
    cli_release(&cli);
    weft_arena_release(&arena);
    free(notes);
    free(input);
    return line;
}

char *sweep_list_line(const struct sweep *sweep, uint32_t index)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    WEFT_ASSERT(out != NULL);
    write_parameters(out, sweep, index);
    fputc('}', out);
    fclose(out);
    return text;
}

uint32_t sweep_line_in_spec(const struct sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    return weft_sweep_scenario(values, &sweep->spec, index)->line;
}

const char *sweep_complaint(const struct sweep *sweep, const struct sweep_line *line,
                            struct weft_arena *arena)
{
    json_t *object = json_loadb(line->text, line->length, 0, NULL);
    const char *error = json_string_value(json_object_get(object, "error"));
    const char *text = weft_arena_format(arena, "%s: line %u: scenario %u: %s", sweep->paths[0],
                                         sweep_line_in_spec(sweep, line->index), line->index,
                                         error != NULL ? error : "failed");
    json_decref(object);
    return text;
}
