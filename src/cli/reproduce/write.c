// SPDX-License-Identifier: Apache-2.0
// What the verb says: the list of claims and the outcomes, as text and as JSON.
//
// With --json an object has "claims"; where one claim alone was asked for, its fields stand in the
// object itself, too, so that a script reads "ours" and "verdict" without a list.

#include "reproduce.h"
#include "request/json/json.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

const char *reproduce_command_text(const struct weft_claim *claim, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < claim->runs.command_count; i++) {
        weft_text_add(&text, "%s%s", i > 0 ? " && " : "", claim->runs.commands[i].text);
    }
    return text.data;
}

static struct weft_table_cell figure_cell(double figure, struct weft_arena *arena)
{
    const char *text = isfinite(figure) ? weft_arena_format(arena, "%.5g", figure) : "-";
    return weft_cell_figure(text, "", figure);
}

// What ours is held against; a star: it is of Weft's makers, too.
static struct weft_table_cell reference_cell(const struct weft_claim_published *published,
                                             struct weft_arena *arena)
{
    struct weft_table_cell cell = figure_cell(published->value, arena);
    cell.text = published->own ? weft_arena_format(arena, "%s*", cell.text) : cell.text;
    return cell;
}

static void explain_star(struct reproduce *reproduce)
{
    bool own = false;
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        own = own || reproduce->claims[i].published.own;
    }
    if (own && reproduce->cli->form == CLI_TEXT) {
        cli_say(reproduce->cli, "* measured or derived for Weft, published nowhere\n");
    }
}

// Seconds of a core, or "-" where they were never measured.
static struct weft_table_cell cost_cell(double seconds, struct weft_arena *arena)
{
    return seconds > 0 ? weft_cell_time(arena, seconds) : (struct weft_table_cell){.text = "-"};
}

// ---- text ----

static void print_claims(struct reproduce *reproduce)
{
    static const struct weft_table_column columns[] = {
        {"claim", WEFT_ALIGN_LEFT}, {"reference", WEFT_ALIGN_RIGHT}, {"unit", WEFT_ALIGN_LEFT},
        {"goal", WEFT_ALIGN_LEFT},  {"cost", WEFT_ALIGN_RIGHT},      {"short", WEFT_ALIGN_LEFT},
        {"needs", WEFT_ALIGN_LEFT}, {"what", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &reproduce->cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)reproduce->claim_count * COLUMNS + 1);
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        const struct weft_claim *claim = &reproduce->claims[i];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        row[0].text = claim->name;
        row[1] = reference_cell(&claim->published, arena);
        row[2].text = claim->published.unit;
        row[3].text = claim->not_comparable != NULL ? "not comparable" : claim->goal_text;
        row[4] = cost_cell(claim->cost_s, arena);
        row[5].text = claim->brief ? "yes" : "";
        row[6].text = claim->runs.need_count > 0 ? claim->runs.needs[0] : "";
        row[7].text = claim->sentence;
    }
    cli_table(reproduce->cli, columns, COLUMNS, cells, reproduce->claim_count);
    explain_star(reproduce);
}

static void print_table(struct reproduce *reproduce)
{
    static const struct weft_table_column columns[] = {
        {"claim", WEFT_ALIGN_LEFT}, {"reference", WEFT_ALIGN_RIGHT}, {"ours", WEFT_ALIGN_RIGHT},
        {"unit", WEFT_ALIGN_LEFT},  {"goal", WEFT_ALIGN_LEFT},       {"verdict", WEFT_ALIGN_LEFT},
        {"CPU", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &reproduce->cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)reproduce->claim_count * COLUMNS + 1);
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        const struct weft_claim *claim = &reproduce->claims[i];
        const struct reproduce_outcome *outcome = &reproduce->outcomes[i];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        row[0].text = claim->name;
        row[1] = reference_cell(&claim->published, arena);
        row[2] = figure_cell(outcome->ours, arena);
        row[3].text = claim->published.unit;
        row[4].text = claim->not_comparable != NULL ? "" : claim->goal_text;
        row[5].text = reproduce_verdict_text(outcome, arena);
        row[6] = cost_cell(outcome->cpu_s, arena);
    }
    cli_table(reproduce->cli, columns, COLUMNS, cells, reproduce->claim_count);
    explain_star(reproduce);
}

// Why a claim has no verdict of its figure; NULL = it has one.
static const char *reason_of(const struct reproduce *reproduce, uint32_t claim)
{
    const struct reproduce_outcome *outcome = &reproduce->outcomes[claim];
    return outcome->verdict == REPRODUCE_NOT_RUN          ? outcome->reason
           : outcome->verdict == REPRODUCE_NOT_COMPARABLE ? reproduce->claims[claim].not_comparable
                                                          : NULL;
}

// A reason once, with the claims that have it.
static void print_reason(struct reproduce *reproduce, uint32_t first)
{
    struct cli *cli = reproduce->cli;
    const char *reason = reason_of(reproduce, first);
    for (uint32_t i = 0; i < first; i++) {
        const char *before = reason_of(reproduce, i);
        if (before != NULL && strcmp(before, reason) == 0) {
            return;
        }
    }
    cli_say(cli, "\n%s: %s:", reproduce_verdict_text(&reproduce->outcomes[first], &cli->arena),
            reason);
    for (uint32_t i = first; i < reproduce->claim_count; i++) {
        const char *other = reason_of(reproduce, i);
        if (other != NULL && strcmp(other, reason) == 0) {
            cli_say(cli, " %s", reproduce->claims[i].name);
        }
    }
    cli_say(cli, "\n");
}

// Of several seeds: which, what they gave, and which counts.
static void print_seeds(struct cli *cli, const struct weft_claim *claim,
                        const struct reproduce_outcome *outcome)
{
    static const char *const choices[] = {[WEFT_CLAIM_WORST] = "the worst counts",
                                          [WEFT_CLAIM_FIRST] = "the first counts",
                                          [WEFT_CLAIM_BEST] = "the best counts",
                                          [WEFT_CLAIM_MEAN] = "their mean counts"};
    if (claim->runs.seed_count < 2 || outcome->verdict == REPRODUCE_NOT_RUN) {
        return;
    }
    cli_say(cli, "seeds:  ");
    for (uint32_t i = 0; i < claim->runs.seed_count; i++) {
        cli_say(cli, " %llu", (unsigned long long)claim->runs.seeds[i]);
    }
    cli_say(cli, ": %.5g to %.5g %s, %s\n", outcome->low, outcome->high, claim->published.unit,
            choices[claim->reading.choice]);
}

// Why claims were not run or are not comparable, and the verdicts counted; of one claim alone also
// what it is.
static void print_reasons(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    uint32_t counts[4] = {0};
    if (reproduce->claim_count == 1) {
        const struct weft_claim *claim = &reproduce->claims[0];
        cli_say(cli, "\n%s\nsource:  %s\ncommand: %s\n", claim->sentence, claim->published.source,
                reproduce_command_text(claim, &cli->arena));
        print_seeds(cli, claim, &reproduce->outcomes[0]);
    }
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        counts[reproduce->outcomes[i].verdict]++;
        if (reason_of(reproduce, i) != NULL) {
            print_reason(reproduce, i);
        }
    }
    cli_say(cli, "\n%u met, %u short, %u not comparable, %u not run\n", counts[REPRODUCE_MET],
            counts[REPRODUCE_SHORT], counts[REPRODUCE_NOT_COMPARABLE], counts[REPRODUCE_NOT_RUN]);
}

// ---- JSON ----

static json_t *list_commands(const struct weft_claim *claim)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < claim->runs.command_count; i++) {
        json_array_append_new(list, json_string(claim->runs.commands[i].text));
    }
    return list;
}

static json_t *list_seeds(const struct weft_claim *claim)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < claim->runs.seed_count; i++) {
        json_array_append_new(list, json_integer((json_int_t)claim->runs.seeds[i]));
    }
    return list;
}

static void set_claim(json_t *object, const struct weft_claim *claim, struct weft_arena *arena)
{
    weft_set_text(object, "name", claim->name);
    weft_set_text(object, "system", claim->system);
    weft_set_text(object, "claim", claim->sentence);
    weft_set_real(object, "published", claim->published.value);
    weft_set_text(object, "unit", claim->published.unit);
    weft_set_text(object, "source", claim->published.source);
    weft_set_truth(object, "own", claim->published.own);
    weft_set_text(object, "goal", claim->goal_text);
    weft_set_text(object, "command", reproduce_command_text(claim, arena));
    weft_set(object, "commands", list_commands(claim));
    weft_set(object, "seeds", list_seeds(claim));
    weft_set_real(object, "cost_s", claim->cost_s > 0 ? claim->cost_s : (double)NAN);
    weft_set_truth(object, "short", claim->brief);
    if (claim->not_comparable != NULL) {
        weft_set_text(object, "not_comparable", claim->not_comparable);
    }
}

static void set_outcome(json_t *object, const struct reproduce_outcome *outcome)
{
    static const char *const verdicts[] = {"not-run", "met", "short", "not-comparable"};
    weft_set_real(object, "ours", outcome->ours);
    weft_set_text(object, "verdict", verdicts[outcome->verdict]);
    if (outcome->verdict != REPRODUCE_NOT_RUN) {
        weft_set_real(object, "ours_least", outcome->low);
        weft_set_real(object, "ours_most", outcome->high);
    }
    if (outcome->verdict == REPRODUCE_SHORT) {
        weft_set_real(object, "short_by_ratio", outcome->gap_ratio);
    }
    if (outcome->reason != NULL) {
        weft_set_text(object, "reason", outcome->reason);
    }
    weft_set_real(object, "cpu_s", outcome->cpu_s);
    weft_set_real(object, "wall_s", outcome->wall_s);
}

const char *reproduce_json(const struct reproduce *reproduce, struct weft_arena *arena)
{
    bool lists = reproduce->input.lists;
    json_t *object = weft_set_object(lists ? "weft.claims/1" : "weft.reproduction/1");
    weft_set_text(object, "version", WEFT_VERSION);
    json_t *list = json_array();
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        json_t *row = json_object();
        set_claim(row, &reproduce->claims[i], arena);
        if (!lists) {
            set_outcome(row, &reproduce->outcomes[i]);
        }
        if (reproduce->claim_count == 1) {
            json_object_update_missing(object, row);
        }
        json_array_append_new(list, row);
    }
    weft_set(object, "claims", list);
    return weft_set_finish(object, arena);
}

void reproduce_print_list(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    if (cli->json) {
        cli_say(cli, "%s", reproduce_json(reproduce, &cli->arena));
        return;
    }
    print_claims(reproduce);
}

void reproduce_print_outcomes(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    if (cli->json) {
        cli_say(cli, "%s", reproduce_json(reproduce, &cli->arena));
        return;
    }
    print_table(reproduce);
    print_reasons(reproduce);
}
