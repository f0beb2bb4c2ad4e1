// SPDX-License-Identifier: Apache-2.0
// The page of fabrics that one buys for a model: the answer first, then what it was chosen from.
//
// What the terminal says in words stands here in the same words; figures of the table have the
// names and units of the text. Bills and commands fold, and those that are alike stand once. Times
// say what gave them, as in the text. O(offers^2).

#include "html.h"
#include "report/svg/pictures.h"

#include <math.h>
#include <string.h>

// All offers of all batches that have an answer or a reason, in order.
struct line {
    const struct weft_report_offer *offer;
    uint64_t batch;
    bool advised;
};
struct lines {
    uint32_t count;
    const struct line *at;
    bool batches; // there are several
    bool tokens;  // samples are of tokens
    bool hybrid;  // strategies are degrees
};

static struct lines find_lines(const struct weft_report_market *market, struct weft_arena *arena)
{
    uint32_t most = 0;
    for (uint32_t b = 0; b < market->batch_count; b++) {
        most += market->batches[b].offer_count;
    }
    struct line *at = WEFT_NEW(arena, struct line, (size_t)most + 1);
    struct lines lines = {.at = at, .batches = market->batch_count > 1};
    for (uint32_t b = 0; b < market->batch_count; b++) {
        const struct weft_report_batch *batch = &market->batches[b];
        for (uint32_t i = 0; i < batch->offer_count; i++) {
            const struct weft_report_offer *offer = &batch->offers[i];
            at[lines.count++] = (struct line){offer, batch->batch, i == batch->advised};
            lines.tokens = lines.tokens || offer->tokens_per_s > 0;
            lines.hybrid = lines.hybrid || offer->hybrid != NULL;
        }
    }
    return lines;
}

static void add_tiles(struct weft_text *text, const struct weft_report_offer *answer)
{
    char value[WEFT_UNIT_TEXT];
    char small[96];
    bool tokens = answer->tokens_per_s > 0;
    weft_text_add(text, "<dl class=\"tiles\">\n");
    html_tile(text, "Fabric", answer->fabric,
              answer->sold ? "the cheapest of the fastest" : "no such ports are sold");
    snprintf(small, sizeof small, "%s samples a second", html_count(value, answer->samples_per_s));
    html_tile(text, tokens ? "Tokens a second" : "Samples a second",
              html_count(value, tokens ? answer->tokens_per_s : answer->samples_per_s),
              tokens ? small : "&nbsp;");
    if (tokens) {
        html_tile(text, "MFU", html_percent(value, answer->mfu),
                  "of the accelerators' peak FLOP/s");
    }
    html_tile(text, "Network cost", weft_show_usd(value, answer->bill->usd), "by the price book");
    html_tile(text, "Network power", weft_show_watts(value, answer->bill->watts),
              "by the price book");
    snprintf(small, sizeof small, "by %s", answer->by);
    html_tile(text, "Iteration", weft_show_time(value, weft_picoseconds(answer->iteration_s)),
              small);
    weft_text_add(text, "</dl>\n");
}

static void add_answer(struct weft_text *text, const struct weft_report_market *market)
{
    html_heading(text, "Answer",
                 market->stopped
                     ? "A search was left unfinished: this is what was found until then."
                     : "What to buy for this model, and what that rests on.");
    for (uint32_t i = 0; i < market->sentence_count; i++) {
        const struct weft_report_sentence *sentence = &market->sentences[i];
        if (sentence->words == NULL) {
            continue;
        }
        weft_text_add(text, "<p><b>");
        weft_text_add_escaped(text, sentence->name);
        weft_text_add(text, ":</b> ");
        weft_text_add_escaped(text, sentence->words);
        weft_text_add(text, ".</p>\n");
    }
    weft_text_add(text, "</section>\n");
}

// Opens a row; the fabric's name is its head.
static void begin_row(struct weft_text *text, const struct line *line, const struct lines *lines)
{
    char batch[WEFT_UNIT_TEXT];
    weft_text_add(text, "<tr%s><th scope=\"row\">%s", line->advised ? " class=\"on\"" : "",
                  line->offer->fabric);
    if (lines->batches) {
        weft_text_add(text, "<td class=\"r\">%s", html_count(batch, (double)line->batch));
    }
}

static void add_fabric_row(struct weft_text *text, const struct line *line,
                           const struct lines *lines)
{
    const struct weft_report_offer *offer = line->offer;
    char unit[WEFT_UNIT_TEXT];
    begin_row(text, line, lines);
    if (offer->why_not != NULL) {
        weft_text_add(text, "<td colspan=\"%u\">not here: ", lines->tokens ? 9u : 8u);
        weft_text_add_escaped(text, offer->why_not);
        weft_text_add(text, "</tr>\n");
        return;
    }
    weft_text_add(text, "<td class=\"r\">%s",
                  weft_show_time(unit, weft_picoseconds(offer->iteration_s)));
    weft_text_add(text, "<td class=\"w\">%s", offer->by);
    weft_text_add(text, "<td class=\"r\">%s",
                  weft_show_time(unit, weft_picoseconds(offer->estimate_s)));
    weft_text_add(text, "<td class=\"r\">%s",
                  html_count(unit, lines->tokens ? offer->tokens_per_s : offer->samples_per_s));
    if (lines->tokens) {
        weft_text_add(text, "<td class=\"r\">%s", html_percent(unit, offer->mfu));
    }
    weft_text_add(text, "<td class=\"r\">%s", weft_show_bytes(unit, offer->memory_bytes));
    weft_text_add(text, "<td class=\"r\">%s", weft_show_usd(unit, offer->bill->usd));
    weft_text_add(text, "<td class=\"r\">%s", weft_show_watts(unit, offer->bill->watts));
    weft_text_add(text, "<td>%s</tr>\n", offer->sold ? "yes" : "no");
}

static void add_fabrics(struct weft_text *text, const struct weft_report_market *market,
                        const struct lines *lines, struct weft_arena scratch)
{
    char columns[192];
    char batch[WEFT_UNIT_TEXT];
    html_heading(
        text, "Fabrics",
        "Each with the best strategy that was found for it. A time is what the flow engine "
        "played, or the estimate where it could not; of circuits that move, a replay.");
    for (uint32_t b = 0; b < market->batch_count; b++) {
        char caption[160];
        uint32_t drawn = 0;
        for (uint32_t i = 0; i < market->batches[b].offer_count; i++) {
            drawn += market->batches[b].offers[i].why_not == NULL;
        }
        if (drawn < 2) { // nothing to choose from
            continue;
        }
        snprintf(caption, sizeof caption,
                 "%s samples an iteration. Of the points on the shaded strip the lowest whose "
                 "ports are sold is the one to take.",
                 html_count(batch, (double)market->batches[b].batch));
        html_figure(text, "market");
        picture_market(text, &market->batches[b], scratch);
        html_figure_end(text, caption);
    }
    snprintf(columns, sizeof columns,
             "^fabric%s|>iteration|by|>estimate|%s|>memory|>cost|>power|ports sold",
             lines->batches ? "|>batch" : "", lines->tokens ? ">tokens/s|>MFU" : ">samples/s");
    html_table(text, "Fabrics; the one to take stands out", columns);
    for (uint32_t i = 0; i < lines->count; i++) {
        add_fabric_row(text, &lines->at[i], lines);
    }
    html_table_end(text);
    weft_text_add(text, "</section>\n");
}

// ---- circuits that move ----

static bool any_moves(const struct lines *lines)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        if (lines->at[i].offer->why_not == NULL && lines->at[i].offer->moving != NULL) {
            return true;
        }
    }
    return false;
}

static void add_moving_row(struct weft_text *text, const struct line *line,
                           const struct lines *lines)
{
    const struct weft_report_moving *moving = line->offer->moving;
    char unit[WEFT_UNIT_TEXT];
    const double times_s[] = {moving->dark_s, line->offer->iteration_s, moving->still_s,
                              moving->bound_s};
    begin_row(text, line, lines);
    for (uint32_t i = 0; i < sizeof times_s / sizeof times_s[0]; i++) {
        weft_text_add(text, "<td class=\"r\">%s",
                      weft_show_time(unit, weft_picoseconds(times_s[i])));
    }
    weft_text_add(text, "<td class=\"r\">%s", html_count(unit, (double)moving->change_count));
    weft_text_add(text, "<td class=\"r\">%s</tr>\n", html_percent(unit, moving->dark_share));
}

// A row for each dark time: iterations, of those whose circuits move with the share in the dark.
static void add_dark_times(struct weft_text *text, const struct weft_dark_chart *chart,
                           struct weft_arena scratch)
{
    char unit[WEFT_UNIT_TEXT];
    struct weft_text columns;
    weft_text_init(&columns, &scratch);
    weft_text_add(&columns, ">dark time");
    for (uint32_t l = 0; l < chart->line_count; l++) {
        weft_text_add(&columns, "|>%s", chart->names[l]);
    }
    weft_text_add(&columns, "|fastest");
    html_table(text,
               "Iterations by how long switches turn; in brackets the share of time that ports are "
               "dark",
               columns.data);
    for (uint32_t p = 0; p < chart->point_count; p++) {
        weft_text_add(text, "<tr><th scope=\"row\" class=\"r\">%s",
                      weft_show_time(unit, weft_picoseconds(chart->dark_s[p])));
        for (uint32_t l = 0; l < chart->line_count; l++) {
            double seconds = chart->iteration_s[(size_t)p * chart->line_count + l];
            double dark = chart->dark_share[(size_t)p * chart->line_count + l];
            weft_text_add(text, "<td class=\"r\">%s",
                          seconds > 0 ? weft_show_time(unit, weft_picoseconds(seconds)) : "-");
            if (dark > 0) {
                weft_text_add(text, " (%s)", html_percent(unit, dark));
            }
        }
        weft_text_add(text, "<td>%s</tr>\n",
                      chart->fastest[p] != WEFT_NONE ? chart->names[chart->fastest[p]] : "-");
    }
    html_table_end(text);
}

static void add_moving(struct weft_text *text, const struct weft_report_market *market,
                       const struct lines *lines, struct weft_arena scratch)
{
    if (!any_moves(lines)) {
        return;
    }
    html_heading(text, "Circuits that move",
                 "What the time in which switches turn costs each fabric, and from which dark time "
                 "on which is the fastest.");
    if (market->dark != NULL) {
        html_figure(text, "");
        picture_dark(text, market->dark, false);
        html_figure_end(text, "A dot is the fastest of those that one can have, at each dark time: "
                              "the first of those within 1 %.");
        add_dark_times(text, market->dark, scratch);
    }
    html_table(text, "What moving costs",
               lines->batches ? "^fabric|>batch|>dark time|>iteration|>without it|>lower bound|"
                                ">changes|>ports dark"
                              : "^fabric|>dark time|>iteration|>without it|>lower bound|>changes|"
                                ">ports dark");
    for (uint32_t i = 0; i < lines->count; i++) {
        if (lines->at[i].offer->why_not == NULL && lines->at[i].offer->moving != NULL) {
            add_moving_row(text, &lines->at[i], lines);
        }
    }
    html_table_end(text);
    weft_text_add(text, "</section>\n");
}

// ---- strategies ----

#define DEGREES "|>data|>tensor|>stages|>context|>experts|>chunks|>micro-batch|>ZeRO|computed again"

static void add_strategy_row(struct weft_text *text, const struct line *line,
                             const struct lines *lines)
{
    const struct weft_hybrid *hybrid = line->offer->hybrid;
    const uint64_t degrees[] = {hybrid->dp,          hybrid->tp,        hybrid->pp,
                                hybrid->cp,          hybrid->ep,        hybrid->chunks,
                                hybrid->micro_batch, hybrid->zero_stage};
    begin_row(text, line, lines);
    for (uint32_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        weft_text_add(text, "<td class=\"r\">%llu", (unsigned long long)degrees[i]);
    }
    weft_text_add(text, "<td>%s</tr>\n", html_recompute(hybrid->recompute));
}

static void add_strategies(struct weft_text *text, const struct lines *lines)
{
    html_heading(
        text, "Strategies",
        lines->hybrid
            ? "Degrees of parallelism on each fabric, and what an iteration goes to by the "
              "estimate. Chunks are stages that a device holds; ZeRO divides the optimizer "
              "(1), gradients (2) and parameters (3), too."
            : "Each operator is divided by itself; weft strategy tells how for one "
              "fabric.");
    if (lines->hybrid) {
        html_table(text, "Strategies by fabric",
                   lines->batches ? "^fabric|>batch" DEGREES : "^fabric" DEGREES);
        for (uint32_t i = 0; i < lines->count; i++) {
            if (lines->at[i].offer->hybrid != NULL) {
                add_strategy_row(text, &lines->at[i], lines);
            }
        }
        html_table_end(text);
        html_table(text, "Where the time goes",
                   lines->batches ? "fabric|>batch|<by the estimate" : "fabric|<by the estimate");
        for (uint32_t i = 0; i < lines->count; i++) {
            if (lines->at[i].offer->binding != NULL) {
                begin_row(text, &lines->at[i], lines);
                weft_text_add(text, "<td>%s</tr>\n", lines->at[i].offer->binding);
            }
        }
        html_table_end(text);
    }
    weft_text_add(text, "</section>\n");
}

// ---- bills and commands, which fold ----

// Opens what folds, of this fabric or, where `batch` says so, of this batch.
static void begin_fold(struct weft_text *text, const struct line *line, bool open, bool batch)
{
    char count[WEFT_UNIT_TEXT];
    weft_text_add(text, "<details%s><summary>", open ? " open" : "");
    if (batch) {
        weft_text_add(text, "Batch %s on ", html_count(count, (double)line->batch));
    }
    weft_text_add(text, "%s", line->offer->fabric);
}

static void add_note(struct weft_text *text, const char *of, const char *note)
{
    if (note != NULL) {
        weft_text_add(text, "<p class=\"muted\">%s", of);
        weft_text_add_escaped(text, note);
        weft_text_add(text, ".</p>\n");
    }
}

// `batches`: the fabric has another bill with another batch.
static void add_bill(struct weft_text *text, const struct line *line, bool batches)
{
    const struct weft_bill *bill = line->offer->bill;
    char usd[WEFT_UNIT_TEXT];
    char watts[WEFT_UNIT_TEXT];
    char caption[128];
    begin_fold(text, line, line->advised, batches);
    weft_text_add(text, ": %s, %s</summary>\n", weft_show_usd(usd, bill->usd),
                  weft_show_watts(watts, bill->watts));
    add_note(text, "No switches are on it: ", line->offer->no_bill);
    add_note(text, "Prices: ", line->offer->price_note);
    add_note(text, "Time: ", line->offer->time_note);
    snprintf(caption, sizeof caption, "Parts of %s", line->offer->fabric);
    html_table(text, caption, "part|>count|>cost|>power");
    for (uint32_t i = 0; i < bill->row_count; i++) {
        char count[WEFT_UNIT_TEXT];
        const struct weft_bill_row *row = &bill->rows[i];
        weft_text_add(text, "<tr><th scope=\"row\">");
        weft_text_add_escaped(text, row->part);
        weft_text_add(text, "<td class=\"r\">%s<td class=\"r\">%s<td class=\"r\">%s</tr>\n",
                      html_count(count, (double)row->count),
                      row->usd > 0 ? weft_show_usd(usd, row->usd) : "",
                      row->watts > 0 ? weft_show_watts(watts, row->watts) : "");
    }
    weft_text_add(text,
                  "<tr class=\"on\"><th scope=\"row\">all<td><td class=\"r\">%s<td class=\"r\">%s"
                  "</tr>\n",
                  weft_show_usd(usd, bill->usd), weft_show_watts(watts, bill->watts));
    html_table_end(text);
    weft_text_add(text, "</details>\n");
}

static bool bills_alike(const struct weft_bill *a, const struct weft_bill *b)
{
    return fabs(a->usd - b->usd) < 0.5 && fabs(a->watts - b->watts) < 0.5;
}

// How many of the fabric's bills up to `end` are other than, or the same as, that of line i.
static uint32_t count_bills(const struct lines *lines, uint32_t i, uint32_t end, bool same)
{
    const struct weft_report_offer *offer = lines->at[i].offer;
    uint32_t count = 0;
    for (uint32_t j = 0; j < end; j++) {
        const struct weft_report_offer *other = lines->at[j].offer;
        count += other->why_not == NULL && strcmp(other->fabric, offer->fabric) == 0 &&
                 bills_alike(other->bill, offer->bill) == same;
    }
    return count;
}

static void add_bills(struct weft_text *text, const struct weft_report_market *market,
                      const struct lines *lines)
{
    html_heading(text, "Bills", "What each fabric is bought as.");
    for (uint32_t i = 0; i < lines->count; i++) {
        if (lines->at[i].offer->why_not == NULL && count_bills(lines, i, i, true) == 0) {
            add_bill(text, &lines->at[i], count_bills(lines, i, lines->count, false) > 0);
        }
    }
    if (market->prices != NULL) {
        weft_text_add(text, "<p class=\"muted\">Price book: ");
        weft_text_add_escaped(text, market->prices);
        weft_text_add(text, ".</p>\n");
    }
    weft_text_add(text, "</section>\n");
}

static bool launches_alike(const struct weft_report_offer *a, const struct weft_report_offer *b)
{
    return a->launch != NULL && b->launch != NULL && strcmp(a->launch, b->launch) == 0;
}

static void add_launches(struct weft_text *text, const struct lines *lines)
{
    html_heading(text, "Launch", "Commands for Megatron-LM; fabrics with one strategy have one.");
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct weft_report_offer *offer = lines->at[i].offer;
        bool listed = offer->launch == NULL;
        bool advised = false;
        for (uint32_t j = 0; j < lines->count; j++) {
            bool alike = launches_alike(offer, lines->at[j].offer);
            listed = listed || (j < i && alike);
            advised = advised || (alike && lines->at[j].advised);
        }
        if (listed) {
            continue;
        }
        begin_fold(text, &lines->at[i], advised, lines->batches);
        for (uint32_t j = i + 1; j < lines->count; j++) { // of the same batch, which is a flag
            if (launches_alike(offer, lines->at[j].offer)) {
                weft_text_add(text, ", %s", lines->at[j].offer->fabric);
            }
        }
        weft_text_add(text, "</summary>\n");
        weft_text_add(text, "<pre>");
        html_command(text, offer->launch);
        weft_text_add(text, "</pre>\n");
        if (offer->without_flag != NULL) {
            weft_text_add(text, "<p>Without a flag: ");
            weft_text_add_escaped(text, offer->without_flag);
            weft_text_add(text, ".</p>\n");
        }
        weft_text_add(text, "</details>\n");
    }
    weft_text_add(text, "</section>\n");
}

static void add_changes(struct weft_text *text, const struct weft_report_market *market)
{
    if (market->change_count == 0) {
        return;
    }
    html_heading(text, "What would change",
                 "Of the fabric to take, were an assumption wrong. Times are by estimate.");
    html_table(text, "One assumption changed at a time",
               "were it so that|>iteration|>tokens/s|>cost");
    for (uint32_t i = 0; i < market->change_count; i++) {
        const struct weft_report_change *change = &market->changes[i];
        char unit[WEFT_UNIT_TEXT];
        weft_text_add(text, "<tr><th scope=\"row\">");
        weft_text_add_escaped(text, change->what);
        if (change->why_not != NULL) {
            weft_text_add(text, "<td colspan=\"3\">not here: ");
            weft_text_add_escaped(text, change->why_not);
            weft_text_add(text, "</tr>\n");
            continue;
        }
        weft_text_add(text, "<td class=\"r\">%s",
                      weft_show_time(unit, weft_picoseconds(change->iteration_s)));
        weft_text_add(text, "<td class=\"r\">%s", html_count(unit, change->tokens_per_s));
        weft_text_add(text, "<td class=\"r\">%s</tr>\n",
                      change->usd > 0 ? weft_show_usd(unit, change->usd) : "not in the price book");
    }
    html_table_end(text);
    weft_text_add(text, "</section>\n");
}

const char *weft_report_market_html(const struct weft_report_market *market,
                                    struct weft_arena *arena, struct weft_arena scratch)
{
    WEFT_ASSERT(market->batch_count >= 1);
    struct weft_text text;
    struct weft_text body;
    struct weft_arena inner = weft_arena_split(&scratch); // holds the sections
    const struct weft_report_batch *first = &market->batches[0];
    const struct lines lines = find_lines(market, &scratch);
    weft_text_init(&text, arena);
    weft_text_init(&body, &inner);
    html_begin(&text, market->title, "Weft compare");
    weft_text_add(&text, "<header>\n<p class=\"muted\">What to buy</p>\n<h1>");
    weft_text_add_escaped(&text, market->title);
    weft_text_add(&text, " on ");
    weft_text_add_escaped(&text, market->cluster);
    weft_text_add(&text, "</h1>\n<p>");
    weft_text_add_escaped(&text, market->head);
    weft_text_add(&text, ".</p>\n");
    html_origin(&text, "Model", market->title, market->cluster, &market->origin);
    if (first->advised != WEFT_NONE) {
        add_tiles(&text, &first->offers[first->advised]);
    }
    weft_text_add(&text, "</header>\n");
    add_answer(&body, market);
    add_fabrics(&body, market, &lines, scratch);
    add_moving(&body, market, &lines, scratch);
    add_strategies(&body, &lines);
    add_bills(&body, market, &lines);
    if (lines.hybrid) {
        add_launches(&body, &lines);
    }
    add_changes(&body, market);
    html_end(&text, body.data);
    return text.data;
}
