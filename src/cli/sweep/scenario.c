// SPDX-License-Identifier: Apache-2.0
// One scenario: its parameters as a typed request, and what the request answers as a line of JSON.
//
// A scenario runs on a worker's thread with two arenas of its own, so that scenarios share nothing
// but the specification; where memory is out the scenario fails, and the sweep goes on. The verbs
// that sweep are rows of a table in sweep_find_verb: a new one needs its parameters, and a function
// that answers its request.

#include "cli/plan/plan.h"
#include "request/json/json.h"
#include "sweep.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- verbs ----

static bool name_loads(union sweep_request *request, const char *const *names, uint32_t count,
                       struct weft_error *error)
{
    request->simulate.loads = names;
    request->simulate.load_count = count;
    return weft_request_simulate_check(&request->simulate, error);
}

static const char *simulate(const union sweep_request *request,
                            struct weft_request_environment *environment)
{
    struct weft_simulate_result result;
    return weft_request_simulate(&result, &request->simulate, environment)
               ? weft_request_simulate_json(&result, environment->base.arena)
               : NULL;
}

static bool name_job(union sweep_request *request, const char *const *names, uint32_t count,
                     struct weft_error *error)
{
    return cli_plan_name(&request->plan, names, count, error);
}

static const char *plan(const union sweep_request *request,
                        struct weft_request_environment *environment)
{
    struct weft_plan_result result;
    if (!weft_request_plan(&result, &request->plan, environment)) {
        return NULL;
    }
    result.wall_s = 0;
    return weft_request_plan_json(&result, environment->base.arena);
}

static bool name_traces(union sweep_request *request, const char *const *names, uint32_t count,
                        struct weft_error *error)
{
    (void)error;
    request->serve.arrivals = names;
    request->serve.arrival_count = count;
    return true;
}

static const char *serve(const union sweep_request *request,
                         struct weft_request_environment *environment)
{
    struct weft_serve_study_result result;
    return weft_request_serve_study(&result, &request->serve, environment)
               ? weft_request_serve_study_json(&result, environment->base.arena)
               : NULL;
}

const struct sweep_verb *sweep_find_verb(const char *name)
{
    static const struct sweep_verb verbs[] = {
        {"simulate", "weft simulate", weft_simulate_parameters, name_loads, simulate},
        {"plan", "weft plan", weft_plan_parameters, name_job, plan},
        {"serve-study", "weft photonic serve-study", weft_serve_study_parameters, name_traces,
         serve},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(name, verbs[i].name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

// ---- parameters ----

bool sweep_is_argument(const char *key)
{
    return strcmp(key, "flows") == 0 || strcmp(key, "job") == 0 || strcmp(key, "load") == 0;
}

static bool says_no(const char *word)
{
    return strcmp(word, "no") == 0 || strcmp(word, "false") == 0;
}

// What a parameter is called now; its older name is kept until 0.5.
static const char *current_name(const char *key)
{
    static const char *const renamed[][2] = {
        {"acks-first", "ack-priority"},
        {"alternate", "rounds"},
        {"inside", "intra-server-rate"},
        {"like", "preset"},
        {"mark", "ecn-kmin"},
        {"mark-chance", "ecn-pmax"},
        {"mark-full", "ecn-kmax"},
    };
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        if (strcmp(key, renamed[i][0]) == 0) {
            return renamed[i][1];
        }
    }
    return key;
}

static bool read_seed(void *field, const struct weft_parameter *parameter, const char *text,
                      struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    return weft_parse_count(field, text, 0, INT64_MAX, error);
}

// The seed is of the environment, not of a request.
static const struct weft_parameter seed_rows[] = {
    {"seed", read_seed, offsetof(struct sweep_reading, seed), 0, 0, NULL}};
static const struct weft_parameter_group seed_group[] = {{seed_rows, 1, 0}, {NULL, 0, 0}};

const struct weft_parameter *sweep_find_parameter(const struct sweep *sweep, const char *key)
{
    const struct weft_parameter_group *group = NULL;
    const struct weft_parameter *found =
        weft_parameter_find(&group, sweep->verb->groups, current_name(key));
    found = found != NULL ? found : weft_parameter_find(&group, seed_group, key);
    return found != NULL && sweep_allows(found->name) ? found : NULL;
}

static bool read_parameter(union sweep_request *request, struct sweep_reading *reading,
                           const struct sweep *sweep, const char *key, const char *word)
{
    const struct weft_parameter_group *group = NULL;
    const struct weft_parameter *parameter =
        weft_parameter_find(&group, sweep->verb->groups, current_name(key));
    if (parameter == NULL) {
        parameter = weft_parameter_find(&group, seed_group, key);
        WEFT_ASSERT(parameter != NULL); // keys are checked before values
        return weft_parameter_set(reading, parameter, word, reading->arena, &reading->error);
    }
    return (parameter->read == NULL && says_no(word)) ||
           weft_parameter_set((char *)request + group->offset, parameter, word, reading->arena,
                              &reading->error);
}

// A file that a scenario names lies in the specification's folder. What is neither there nor has a
// slash may be no file at all, as alltoall:1MB; what is opened is looked at once more.
static bool check_path(struct sweep_reading *reading, const struct sweep *sweep, const char *key,
                       const char *word)
{
    bool file = sweep->folder != NULL && sweep_names_file(current_name(key)) &&
                (strchr(word, '/') != NULL || access(word, F_OK) == 0);
    return !file || weft_file_is_within(sweep->folder, word) ||
           weft_fail(&reading->error, WEFT_INPUT,
                     "%s: '%.100s' lies outside of the specification's folder; put it there, or "
                     "write --allow-paths if you trust the specification",
                     key, word);
}

bool sweep_read(union sweep_request *request, struct sweep_reading *reading,
                const struct sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, &sweep->spec, index);
    memset(request, 0, sizeof *request); // the defaults of every verb
    reading->seed = 1;
    uint32_t room = 0;
    for (uint32_t i = 0; i < grid->key_count; i++) {
        room += values[i]->word_count;
    }
    const char **names = WEFT_NEW(reading->arena, const char *, (size_t)room + 1);
    uint32_t count = 0;
    bool fine = true;
    for (uint32_t i = 0; fine && i < grid->key_count; i++) {
        const char *key = grid->keys[i].name;
        reading->line = values[i]->line;
        for (uint32_t w = 0; fine && w < values[i]->word_count; w++) {
            fine = check_path(reading, sweep, key, values[i]->words[w]);
        }
        for (uint32_t w = 0; sweep_is_argument(key) && w < values[i]->word_count; w++) {
            names[count++] = values[i]->words[w];
        }
        fine = fine && (sweep_is_argument(key) ||
                        read_parameter(request, reading, sweep, key, values[i]->words[0]));
    }
    if (fine) {
        reading->line = grid->line;
        fine = sweep->verb->name_arguments(request, names, count, &reading->error);
    }
    if (!fine) {
        cli_spell_for(sweep->verb->groups, reading->error.message);
    }
    return fine;
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

static bool takes_value(const struct sweep *sweep, const char *key)
{
    const struct weft_parameter *parameter = sweep_find_parameter(sweep, key);
    return parameter == NULL || parameter->read != NULL;
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
        weft_set(object, grid->keys[i].name, value_json(sweep, grid->keys[i].name, values[i]));
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
    weft_set_text(object, "text", text); // mends what is no UTF-8
    json_dumpf(json_object_get(object, "text"), out, JSON_ENCODE_ANY);
    json_decref(object);
}

static void write_notes(FILE *out, const struct weft_notes *notes,
                        const struct weft_parameter_group *groups, struct weft_arena *arena)
{
    const char *before = ",\"notes\":[";
    for (const struct weft_note *note = notes->first; note != NULL; note = note->next) {
        char *text = weft_arena_text(arena, note->text, strlen(note->text));
        cli_spell_for(groups, text);
        fputs(before, out);
        write_text(out, text);
        before = ",";
    }
    if (before[1] == '\0') {
        fputc(']', out);
    }
}

// A scenario under way: what weft_guard comes back from where memory is out.
struct scenario {
    const struct sweep *sweep;
    uint32_t index;
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    struct weft_request_environment environment;
    const char *json; // what the request answered; NULL: nothing, `error` says why
    FILE *out;
    double started_s;
};

static bool answer(void *context)
{
    struct scenario *scenario = context;
    const struct sweep *sweep = scenario->sweep;
    struct sweep_reading reading = {.arena = &scenario->arena};
    union sweep_request request;
    if (!sweep_read(&request, &reading, sweep, scenario->index)) {
        scenario->error = reading.error;
        return false;
    }
    scenario->environment.base = (struct weft_environment){
        .arena = &scenario->arena,
        .scratch = scenario->scratch,
        .seed = reading.seed,
        .threads = 1, // the sweep has the others
        .error = &scenario->error,
    };
    scenario->json = sweep->verb->answer(&request, &scenario->environment);
    return scenario->json != NULL;
}

static void write_answer(struct scenario *scenario)
{
    FILE *out = scenario->out;
    const struct weft_parameter_group *groups = scenario->sweep->verb->groups;
    write_parameters(out, scenario->sweep, scenario->index);
    write_notes(out, &scenario->environment.notes, groups, &scenario->arena);
    if (scenario->json != NULL) {
        fputs(",\"result\":", out);
        write_result(out, scenario->json);
        return;
    }
    cli_spell_for(groups, scenario->error.message);
    fputs(",\"error\":", out);
    write_text(out, scenario->error.message);
    fprintf(out, ",\"exit\":%d", weft_exit_code(scenario->error.code));
}

static bool write_line(void *context)
{
    struct scenario *scenario = context;
    const struct sweep *sweep = scenario->sweep;
    write_answer(scenario);
    if (sweep->adds_wall) {
        fprintf(scenario->out, ",\"wall_s\":%.3f", cli_elapsed_s(sweep->cli) - scenario->started_s);
    }
    fputs(SWEEP_LINE_ENDS, scenario->out);
    return true;
}

static bool write_list_line(void *context)
{
    struct scenario *scenario = context;
    write_parameters(scenario->out, scenario->sweep, scenario->index);
    fputc('}', scenario->out);
    return true;
}

// The text that `write` puts into scenario->out, for the caller to free; NULL and of no length
// where the system has no memory for it. The stream is memory too, and stands outside of the guard.
static char *to_text(size_t *length, bool (*write)(void *context), struct scenario *scenario)
{
    char *text = NULL;
    struct weft_error refused;
    *length = 0;
    scenario->out = open_memstream(&text, length);
    if (scenario->out == NULL) {
        return NULL;
    }
    bool fine = weft_guard(write, scenario, &refused) && ferror(scenario->out) == 0;
    fine = fclose(scenario->out) == 0 && text != NULL && fine;
    if (!fine) {
        free(text);
        text = NULL;
        *length = 0;
    }
    return text;
}

// Plays and writes one scenario. What it is refused of memory fails this scenario alone, whose line
// says so; only where there is no memory for that line either it has none. Raises nothing, since
// workers call it without a guard of their own that could make a line of it.
struct sweep_line sweep_run(const struct sweep *sweep, uint32_t index)
{
    struct sweep_line line = {.index = index, .key = sweep->keys[index]};
    struct scenario scenario = {
        .sweep = sweep, .index = index, .started_s = cli_elapsed_s(sweep->cli)};
    bool ready = weft_arena_init(&scenario.arena, 0, &scenario.error) &&
                 weft_arena_init(&scenario.scratch, 0, &scenario.error);
    struct weft_arena all = scenario.arena;
    line.failed = !ready || !weft_guard_within(answer, &scenario, sweep->folder, weft_guard_stop(),
                                               &scenario.error);
    weft_arena_release(&scenario.scratch); // a line that says that memory is out needs some
    line.text = to_text(&line.length, write_line, &scenario);
    if (line.text != NULL) {
        sweep_seal(line.text, line.length);
    }
    weft_arena_release(&all);
    return line;
}

char *sweep_list_line(const struct sweep *sweep, uint32_t index)
{
    struct scenario scenario = {.sweep = sweep, .index = index};
    size_t length = 0;
    return to_text(&length, write_list_line, &scenario);
}

bool sweep_refuse_line(struct cli *cli)
{
    return weft_fail(&cli->error, WEFT_UNSUPPORTED,
                     "out of memory: the system refuses more for a line of results; raise 'ulimit "
                     "-v', take a machine with more memory or run fewer --threads");
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
