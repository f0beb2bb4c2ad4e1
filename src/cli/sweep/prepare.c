// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a sweep is said before any scenario runs.

#include "cli/plan/plan.h"
#include "cli/simulate/simulate.h"
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const struct cli_runner *runner;
} verbs[] = {{"simulate", &simulate_runner}, {"plan", &plan_runner}};

static bool find_verb(struct sweep *sweep)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(sweep->spec.verb, verbs[i].name) == 0) {
            sweep->runner = verbs[i].runner;
            return true;
        }
    }
    return weft_fail(&sweep->cli->error, WEFT_INPUT,
                     "line %u: verb: '%.40s' is none that sweeps; write simulate or plan",
                     sweep->spec.verb_line, sweep->spec.verb);
}

// Why an option of the verb is no parameter of a scenario; NULL: it is one.
static const char *refusal(const char *key)
{
    static const struct {
        const char *key;
        const char *why;
    } refused[] = {
        {"output", "results are lines of the sweep's own -o"},
        {"json", "results are JSON as it is"},
        {"threads", "write weft sweep --threads; a scenario has one"},
        {"quiet", "write weft sweep --quiet"},
        {"help", "it runs nothing"},
        {"version", "it runs nothing"},
        {"fabrics", "it runs nothing"},
        {"seconds", "a clock makes no two runs equal; write effort"},
        {"report", "scenarios write no files; run the one that you want drawn"},
        {"flow-records", "scenarios write no files; run the one whose flows you want to see"},
        {"series", "scenarios write no files; run the one whose links you want to see"},
        {"trace", "scenarios write no files; run the one that you want to see"},
        {"progress", "the sweep tells how far it is"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(key, refused[i].key) == 0) {
            return refused[i].why;
        }
    }
    return NULL;
}

static bool check_flag(struct cli *cli, const struct weft_sweep_key *key)
{
    static const char *const words[] = {"yes", "no", "true", "false"};
    for (uint32_t i = 0; i < key->value_count; i++) {
        uint32_t w = 0;
        while (w < 4 && strcmp(key->values[i].words[0], words[w]) != 0) {
            w++;
        }
        if (w == 4) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "line %u: %s: '%.40s' is neither yes nor no; write one of them",
                             key->values[i].line, key->name, key->values[i].words[0]);
        }
    }
    return true;
}

static bool check_key(const struct sweep *sweep, const struct weft_sweep_key *key)
{
    struct cli *cli = sweep->cli;
    if (sweep_is_argument(key->name)) {
        return true;
    }
    const struct argp_option *near = NULL;
    const struct argp_option *option = cli_verb_option(&sweep->runner->verb, key->name, &near);
    if (option == NULL && near != NULL) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "line %u: '%.40s' is no parameter of %s; did you mean %s?", key->line,
                         key->name, sweep->runner->verb.name, near->name);
    }
    if (option == NULL) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "line %u: '%.40s' is no parameter of %s; write flows, job or an option "
                         "that %s --help lists",
                         key->line, key->name, sweep->runner->verb.name, sweep->runner->verb.name);
    }
    const char *why = refusal(key->name);
    if (why != NULL) {
        return weft_fail(&cli->error, WEFT_INPUT, "line %u: %s: no parameter of a scenario: %s",
                         key->line, key->name, why);
    }
    for (uint32_t i = 0; i < key->value_count; i++) {
        if (key->values[i].word_count > 1) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "line %u: %s: takes one value; a list to choose from stands in grid",
                             key->values[i].line, key->name);
        }
    }
    return option->arg != NULL || check_flag(cli, key);
}

static bool check_keys(const struct sweep *sweep)
{
    for (uint32_t g = 0; g < sweep->spec.grid_count; g++) {
        const struct weft_sweep_grid *grid = &sweep->spec.grids[g];
        for (uint32_t i = 0; i < grid->key_count; i++) {
            if (!check_key(sweep, &grid->keys[i])) {
                return false;
            }
        }
    }
    return true;
}

// ---- values, as the verb parses them ----

// Whether the verb's parser takes these arguments; *error gets why not.
static bool parses(const struct sweep *sweep, int argc, char **argv, struct weft_error *error)
{
    struct cli cli;
    void *input = calloc(1, sweep->runner->input_bytes);
    WEFT_ASSERT(input != NULL);
    sweep->runner->ready(input, &cli);
    bool fine = cli_parse(&cli, &sweep->runner->verb, argc, argv, input);
    *error = cli.error;
    cli_release(&cli);
    free(input);
    return fine;
}

// The line of the first word that the parser refuses alone, else of the scenario.
static uint32_t line_at_fault(const struct sweep *sweep, uint32_t index, int argc, char **argv,
                              struct weft_arena scratch)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, &sweep->spec, index);
    int words = 0; // behind the options
    while (strcmp(argv[words], "--") != 0) {
        words++;
    }
    char **alone = WEFT_NEW(&scratch, char *, (size_t)argc + 1);
    alone[0] = argv[0];
    memcpy(alone + 2, argv + words, (size_t)(argc - words) * sizeof *argv);
    int option = 0;
    for (uint32_t i = 0; i < grid->key_count; i++) {
        const char *key = grid->keys[i].name;
        size_t length = strlen(key);
        option += !sweep_is_argument(key);
        if (sweep_is_argument(key) || option >= words ||
            strncmp(argv[option] + 2, key, length) != 0) {
            option -= !sweep_is_argument(key); // a flag that says no is not there
            continue;
        }
        alone[1] = argv[option];
        struct weft_error error;
        if (!parses(sweep, argc - words + 2, alone, &error)) {
            return values[i]->line;
        }
    }
    return grid->line;
}

static bool check_values(const struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    for (uint32_t i = 0; i < sweep->spec.scenario_count; i++) {
        struct weft_arena scratch = cli->scratch;
        char **argv = NULL;
        int argc = sweep_arguments(&argv, sweep, i, &scratch);
        struct weft_error error;
        if (!parses(sweep, argc, argv, &error)) {
            return weft_fail(&cli->error, WEFT_INPUT, "line %u: scenario %u: %s",
                             line_at_fault(sweep, i, argc, argv, scratch), i, error.message);
        }
    }
    return true;
}

// ---- keys ----

// FNV-1a, 64 bits: Fowler, Noll, Vo, and Eastlake, "The FNV Non-Cryptographic Hash Algorithm",
// draft-eastlake-fnv. The end of a word counts.
static uint64_t add_word(uint64_t hash, const char *word)
{
    for (size_t i = 0; i <= strlen(word); i++) {
        hash = (hash ^ (unsigned char)word[i]) * 0x100000001b3ull;
    }
    return hash;
}

// The same for the same parameters in another order.
static uint64_t scenario_key(const struct sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, &sweep->spec, index);
    uint64_t sum = add_word(add_word(0xcbf29ce484222325ull, WEFT_VERSION), sweep->spec.verb);
    for (uint32_t i = 0; i < grid->key_count; i++) {
        uint64_t hash = add_word(0xcbf29ce484222325ull, grid->keys[i].name);
        for (uint32_t w = 0; w < values[i]->word_count; w++) {
            hash = add_word(hash, values[i]->words[w]);
        }
        sum += weft_hash(hash);
    }
    return weft_hash(sum);
}

static int compare_keys(const void *a, const void *b)
{
    const struct sweep_key *x = a;
    const struct sweep_key *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->index > y->index) - (x->index < y->index);
}

static bool set_keys(struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    uint32_t count = sweep->spec.scenario_count;
    sweep->keys = WEFT_NEW(&cli->arena, uint64_t, count);
    sweep->ended = WEFT_NEW(&cli->arena, const struct sweep_line *, count);
    struct sweep_key *sorted = WEFT_NEW(&cli->arena, struct sweep_key, count);
    sweep->sorted = sorted;
    for (uint32_t i = 0; i < count; i++) {
        sweep->keys[i] = scenario_key(sweep, i);
        sorted[i] = (struct sweep_key){sweep->keys[i], i};
    }
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (uint32_t i = 1; i < count; i++) {
        if (sorted[i].key == sorted[i - 1].key) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "line %u: scenario %u is scenario %u (line %u) again; keep one",
                             sweep_line_in_spec(sweep, sorted[i].index), sorted[i].index,
                             sorted[i - 1].index, sweep_line_in_spec(sweep, sorted[i - 1].index));
        }
    }
    return true;
}

uint32_t sweep_find(const struct sweep *sweep, uint64_t key)
{
    uint32_t low = 0;
    uint32_t high = sweep->spec.scenario_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sweep->sorted[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < sweep->spec.scenario_count && sweep->sorted[low].key == key;
    return found ? sweep->sorted[low].index : WEFT_NONE;
}

bool sweep_prepare(struct sweep *sweep, const char *data, size_t length)
{
    struct cli *cli = sweep->cli;
    bool fine =
        weft_sweep_read(&sweep->spec, data, length, &cli->arena, cli->scratch, &cli->error) &&
        find_verb(sweep) && check_keys(sweep) && check_values(sweep) && set_keys(sweep);
    return fine || weft_wrap(&cli->error, "%s", sweep->paths[0]);
}
