// SPDX-License-Identifier: Apache-2.0
// How jobs of weft simulate repeat themselves and share links: iterations, starts, jitter, weights,
// priorities.

#include "simulate.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_FIRST = 6000, WORD_MAX = 64 };

enum { OPTION_ITERATIONS, OPTION_START, OPTION_JITTER, OPTION_WEIGHT, OPTION_PRIORITY };

static const struct argp_option options[] = {
    {"iterations", KEY_FIRST + OPTION_ITERATIONS, "N", 0,
     "each job plays so many, one when the one before has ended (1); their mean and 99th "
     "percentile are told",
     0},
    {"start", KEY_FIRST + OPTION_START, "TIME,...", 0,
     "when jobs begin (0): one for all, or one for each", 0},
    {"jitter", KEY_FIRST + OPTION_JITTER, "RATIO,...", 0,
     "standard deviation of an iteration's compute times, all by one factor (0), likewise; of a "
     "snapshot's jobs also a time",
     0},
    {"weight", KEY_FIRST + OPTION_WEIGHT, "W,...", 0,
     "of a job's flows on links, or of the growth of its windows or rates (packets), of 1, "
     "likewise",
     0},
    {"priority", KEY_FIRST + OPTION_PRIORITY, "P,...", 0,
     "a job's queue at each port, 0 the most urgent, at most 6 (packets), likewise; of flows in "
     "words in turn",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_FIRST || key >= KEY_FIRST + CLI_PACE_WORDS) {
        return ARGP_ERR_UNKNOWN;
    }
    cli->pace_words[key - KEY_FIRST] = argument;
    return 0;
}

const struct argp cli_paces_argp = {.options = options, .parser = parse};

// ---- lists ----

// The value for one of `count` in a list of one or of so many; `turns`: of any number, in turn.
static bool pick(char word[WORD_MAX], struct cli *cli, const char *name, const char *list,
                 uint32_t index, uint32_t count, bool turns)
{
    uint32_t values = 1;
    for (const char *c = list; *c != '\0'; c++) {
        values += *c == ',';
    }
    if (!turns && values != 1 && values != count) {
        return cli_misuse(cli, "--%s: %u values for %u jobs; write one, or one for each", name,
                          values, count);
    }
    for (uint32_t skip = index % values; skip > 0; skip--) {
        list = strchr(list, ',') + 1;
    }
    size_t length = strcspn(list, ",");
    if (length == 0 || length >= WORD_MAX) {
        cli->exit_code = CLI_EXIT_USAGE;
        return weft_fail(&cli->error, WEFT_INPUT, "--%s: value %u is %s; write for example 1,2",
                         name, index % values + 1, length == 0 ? "empty" : "too long");
    }
    memcpy(word, list, length);
    word[length] = '\0';
    return true;
}

static bool take_number(double *value, struct cli *cli, int option, uint32_t index, uint32_t count,
                        double low, double high)
{
    char word[WORD_MAX];
    const char *list = cli->pace_words[option];
    const char *name = options[option].name;
    return list == NULL ||
           (pick(word, cli, name, list, index, count, false) &&
            cli_value(cli, weft_parse_number(value, word, low, high, &cli->error), name) == 0);
}

static bool take_time(uint64_t *time_ps, struct cli *cli, const char *name, const char *list,
                      uint32_t index, uint32_t count)
{
    char word[WORD_MAX];
    return list == NULL || (pick(word, cli, name, list, index, count, false) &&
                            cli_value(cli, weft_parse_time(time_ps, word, &cli->error), name) == 0);
}

static bool take_priorities(struct simulate *simulate, uint32_t count, bool turns)
{
    struct cli *cli = simulate->cli;
    const char *list = cli->pace_words[OPTION_PRIORITY];
    if (list == NULL) {
        return true;
    }
    if (simulate->packets.engine != WEFT_ENGINE_PACKET) {
        return cli_misuse(cli, "--priority is for packets; write --engine packet, too");
    }
    uint8_t *priority = WEFT_NEW(&cli->arena, uint8_t, count);
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        char word[WORD_MAX];
        uint32_t value = 0;
        if (!pick(word, cli, "priority", list, i, count, turns) ||
            cli_count(cli, &value, "priority", word, 0, 6) != 0) {
            return false;
        }
        priority[i] = (uint8_t)value;
        most = value > most ? value : most;
    }
    cli->packet.port.priority = priority;
    cli->packet.port.priority_count = most + 1;
    return true;
}

// A ratio; or a time, of what the job computes.
static bool take_jitter(double *ratio, struct simulate *simulate, uint32_t index, uint32_t count)
{
    struct cli *cli = simulate->cli;
    const char *list = cli->pace_words[OPTION_JITTER];
    char word[WORD_MAX];
    if (list == NULL) {
        return true;
    }
    if (!pick(word, cli, "jitter", list, index, count, false)) {
        return false;
    }
    size_t length = strlen(word);
    if (simulate->compute_ps == NULL || word[length - 1] != 's') {
        return cli_value(cli, weft_parse_number(ratio, word, 0, 0.299, &cli->error), "jitter") == 0;
    }
    uint64_t time_ps = 0;
    if (cli_value(cli, weft_parse_time(&time_ps, word, &cli->error), "jitter") != 0) {
        return false;
    }
    *ratio = simulate_jitter_ratio(time_ps, simulate->compute_ps[index]);
    return *ratio < 0.3 ||
           cli_misuse(cli, "--jitter: %s is more than 0.3 of what a job computes", word);
}

double simulate_jitter_ratio(uint64_t jitter_ps, uint64_t compute_ps)
{
    return jitter_ps == 0 || compute_ps == 0 ? 0 : (double)jitter_ps / (double)compute_ps;
}

bool simulate_paces(struct simulate *simulate, uint32_t job_count)
{
    struct cli *cli = simulate->cli;
    struct weft_sim_options *sim = &simulate->packets;
    const char *iterations = cli->pace_words[OPTION_ITERATIONS];
    if (iterations != NULL &&
        cli_count(cli, &sim->iterations, "iterations", iterations, 1, 1u << 20) != 0) {
        return false;
    }
    struct weft_sim_pace *paces = simulate->paces != NULL
                                      ? simulate->paces
                                      : WEFT_NEW(&cli->arena, struct weft_sim_pace, job_count);
    for (uint32_t job = 0; job < job_count; job++) {
        struct weft_sim_pace *pace = &paces[job];
        if (!take_time(&pace->start_ps, cli, "start", cli->pace_words[OPTION_START], job,
                       job_count) ||
            !take_time(&pace->dcqcn_timer_ps, cli, "dcqcn-timer", cli_dcqcn_timers(cli), job,
                       job_count) ||
            !take_jitter(&pace->jitter_ratio, simulate, job, job_count) ||
            !take_number(&pace->weight_ratio, cli, OPTION_WEIGHT, job, job_count, 1e-3, 1e3)) {
            return false;
        }
    }
    sim->paces = paces;
    return take_priorities(simulate, job_count, false);
}

bool simulate_flow_paces(struct simulate *simulate, uint32_t flow_count)
{
    struct cli *cli = simulate->cli;
    for (int i = 0; i < OPTION_PRIORITY; i++) {
        if (cli->pace_words[i] != NULL) {
            return cli_misuse(cli, "--%s is for jobs, not for '%.60s'", options[i].name,
                              simulate->paths[0]);
        }
    }
    const char *timers = cli_dcqcn_timers(cli);
    if (timers != NULL && strchr(timers, ',') != NULL) {
        return cli_misuse(cli, "--dcqcn-timer: flows are of one job; write one value");
    }
    return take_priorities(simulate, flow_count, true);
}

// ---- what came of it ----

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool simulate_repeats(const struct simulate *simulate)
{
    return simulate->packets.iterations > 1;
}

uint64_t simulate_p99_ps(const struct simulate *simulate, const struct weft_sim_result *result,
                         uint32_t job)
{
    uint32_t count = simulate->packets.iterations;
    struct weft_arena scratch = simulate->cli->scratch;
    uint64_t *times_ps = WEFT_NEW_RAW(&scratch, uint64_t, count);
    const struct weft_sim_pace *paces = simulate->packets.paces;
    uint64_t before_ps = paces == NULL ? 0 : paces[job].start_ps;
    for (uint32_t i = 0; i < count; i++) {
        times_ps[i] = result->iteration_end_ps[job][i] - before_ps;
        before_ps = result->iteration_end_ps[job][i];
    }
    qsort(times_ps, count, sizeof *times_ps, compare_times);
    return times_ps[(uint32_t)(0.99 * (count - 1) + 0.5)];
}

double simulate_iteration_s(const struct simulate *simulate, const struct weft_sim_result *result,
                            uint32_t job_count)
{
    uint64_t longest_ps = 0;
    for (uint32_t job = 0; job < job_count; job++) {
        uint64_t mean_ps = result->iteration_ps[job];
        longest_ps = mean_ps > longest_ps ? mean_ps : longest_ps;
    }
    return weft_seconds(simulate_repeats(simulate) ? longest_ps : result->end_ps);
}
