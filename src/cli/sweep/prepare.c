// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a sweep is said before any scenario runs.
//
// Keys are looked up in the parameters of the verb's request, then each scenario is read into a
// request that is thrown away, which finds every value that is none. Last, scenarios get the keys
// by which a file of results knows them. Cost: all scenarios are read once more than they run.

#include "sweep.h"

#include <stdlib.h>
#include <string.h>

static bool find_verb(struct sweep *sweep)
{
    sweep->verb = sweep_find_verb(sweep->spec.verb);
    if (sweep->verb == NULL) {
        return weft_fail(
            &sweep->cli->error, WEFT_INPUT,
            "line %u: verb: '%.40s' is none that sweeps; write simulate, plan or serve-study",
            sweep->spec.verb_line, sweep->spec.verb);
    }
    WEFT_ASSERT(sweep_knows_all(sweep->verb));
    return true;
}

static bool check_switch(struct cli *cli, const struct weft_sweep_key *key)
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

// A key is an argument or a parameter of the verb's request. What only a command line has is
// refused with its reason, and a misspelled key with the name that is nearest.
static bool check_key(const struct sweep *sweep, const struct weft_sweep_key *key)
{
    struct cli *cli = sweep->cli;
    const char *program = sweep->verb->program;
    if (sweep_is_argument(key->name)) {
        return true;
    }
    const char *why = sweep_refusal(key->name);
    if (why != NULL) {
        return weft_fail(&cli->error, WEFT_INPUT, "line %u: %s: no parameter of a scenario: %s",
                         key->line, key->name, why);
    }
    const struct weft_parameter *parameter = sweep_find_parameter(sweep, key->name);
    const char *near = sweep_nearest(sweep->verb, key->name);
    if (parameter == NULL && near != NULL) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "line %u: '%.40s' is no parameter of %s; did you mean %s?", key->line,
                         key->name, program, near);
    }
    if (parameter == NULL) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "line %u: '%.40s' is no parameter of %s; write flows, job or an option "
                         "that %s --help lists",
                         key->line, key->name, program, program);
    }
    for (uint32_t i = 0; i < key->value_count; i++) {
        if (key->values[i].word_count > 1) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "line %u: %s: takes one value; a list to choose from stands in grid",
                             key->values[i].line, key->name);
        }
    }
    return parameter->read != NULL || check_switch(cli, key);
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

// ---- values ----

// Reads every scenario into its request, which is then forgotten: it is read again when it runs.
static bool check_values(const struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    for (uint32_t i = 0; i < sweep->spec.scenario_count; i++) {
        struct weft_arena scratch = cli->scratch;
        union sweep_request request;
        struct sweep_reading reading = {.arena = &scratch};
        if (!sweep_read(&request, &reading, sweep, i)) {
            return weft_fail(&cli->error, WEFT_INPUT, "line %u: scenario %u: %s", reading.line, i,
                             reading.error.message);
        }
    }
    return true;
}

// ---- keys ----

// The end of a word counts.
static uint64_t add_word(uint64_t hash, const char *word)
{
    return sweep_hash(hash, word, strlen(word) + 1);
}

// The same for the same parameters in another order.
static uint64_t scenario_key(const struct sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, &sweep->spec, index);
    uint64_t sum = add_word(add_word(SWEEP_HASH_BEGIN, WEFT_VERSION), sweep->spec.verb);
    for (uint32_t i = 0; i < grid->key_count; i++) {
        uint64_t hash = add_word(SWEEP_HASH_BEGIN, grid->keys[i].name);
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
