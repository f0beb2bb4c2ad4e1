// SPDX-License-Identifier: Apache-2.0
// The page of an answer: what the request found, as the values that the report draws. O(rows).

#include "request/buy/buy.h"

static const struct weft_report_moving *moving_of(const struct weft_moving_plan *plan,
                                                  struct weft_arena *arena)
{
    struct weft_report_moving *moving = WEFT_NEW(arena, struct weft_report_moving, 1);
    *moving = (struct weft_report_moving){
        .dark_s = weft_seconds(plan->schedule.delays.dark_ps),
        .still_s = plan->still_s,
        .bound_s = plan->certificate.lower_bound_s,
        .dark_share = plan->dark_share,
        .change_count = plan->change_count,
    };
    return moving;
}

const struct weft_dark_chart *weft_buy_dark_chart(const struct weft_buy_result *result,
                                                  struct weft_arena *arena)
{
    const struct weft_buy_batch *batch = &result->batches[0];
    uint32_t lines = batch->row_count;
    uint32_t points = result->moved_count;
    if (points < 2) {
        return NULL;
    }
    const char **names = WEFT_NEW(arena, const char *, lines);
    double *dark_s = WEFT_NEW(arena, double, points);
    double *iteration_s = WEFT_NEW(arena, double, (size_t)points *lines);
    double *dark_share = WEFT_NEW(arena, double, (size_t)points *lines);
    uint32_t *fastest = WEFT_NEW(arena, uint32_t, points);
    for (uint32_t l = 0; l < lines; l++) {
        names[l] = batch->rows[l].fabric;
    }
    for (uint32_t p = 0; p < points; p++) {
        dark_s[p] = weft_seconds(result->moved[p].dark_ps);
        fastest[p] = result->moved[p].fastest;
        for (uint32_t l = 0; l < lines; l++) {
            iteration_s[(size_t)p * lines + l] = result->moved[p].iteration_s[l];
            dark_share[(size_t)p * lines + l] = result->moved[p].dark_share[l];
        }
    }
    struct weft_dark_chart *chart = WEFT_NEW(arena, struct weft_dark_chart, 1);
    *chart = (struct weft_dark_chart){
        .title =
            weft_arena_format(arena, "%s on %s", result->model.name, weft_buy_head(result, arena)),
        .line_count = lines,
        .names = names,
        .point_count = points,
        .dark_s = dark_s,
        .iteration_s = iteration_s,
        .dark_share = dark_share,
        .fastest = fastest,
    };
    return chart;
}

static struct weft_report_offer offer_of(const struct weft_buy_row *row, struct weft_arena *arena)
{
    if (row->why_not != NULL) {
        return (struct weft_report_offer){.fabric = row->fabric, .why_not = row->why_not};
    }
    const struct weft_strategy *best = &row->found.found.candidates[0].strategy;
    return (struct weft_report_offer){
        .fabric = row->fabric,
        .sold = row->sold,
        .estimate = row->estimate,
        .by = weft_buy_by(row),
        .iteration_s = row->iteration_s,
        .estimate_s = row->estimate_s,
        .samples_per_s = row->samples_per_s,
        .tokens_per_s = row->tokens_per_s,
        .mfu = row->mfu,
        .memory_bytes = best->memory_max_bytes,
        .hybrid = row->found.hybrid ? &best->hybrid : NULL,
        .binding = weft_buy_causes(row, arena),
        .launch = weft_buy_launch(&row->launch, arena),
        .without_flag = row->launch.without_flag,
        .bill = &row->bill,
        .no_bill = row->no_bill,
        .price_note = row->price_note,
        .time_note = row->time_note,
        .moving = row->moving != NULL ? moving_of(row->moving, arena) : NULL,
    };
}

static const struct weft_report_batch *batches_of(const struct weft_buy_result *result,
                                                  struct weft_arena *arena)
{
    struct weft_report_batch *batches =
        WEFT_NEW(arena, struct weft_report_batch, result->batch_count);
    for (uint32_t b = 0; b < result->batch_count; b++) {
        const struct weft_buy_batch *batch = &result->batches[b];
        struct weft_report_offer *offers =
            WEFT_NEW(arena, struct weft_report_offer, batch->row_count);
        for (uint32_t i = 0; i < batch->row_count; i++) {
            offers[i] = offer_of(&batch->rows[i], arena);
        }
        batches[b] =
            (struct weft_report_batch){batch->batch, batch->row_count, offers, batch->advised};
    }
    return batches;
}

const char *weft_buy_draw(const struct weft_buy_result *result, const struct weft_buy_row *answer,
                          const struct weft_report_origin *origin,
                          const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_report_change *changes =
        WEFT_NEW(arena, struct weft_report_change, (size_t)result->change_count + 1);
    for (uint32_t i = 0; i < result->change_count; i++) {
        const struct weft_buy_change *change = &result->changes[i];
        changes[i] = (struct weft_report_change){
            change->what, change->iteration_s, change->tokens_per_s, change->usd, change->why_not};
    }
    struct weft_report_sentence said[WEFT_BUY_SENTENCES] = {{.words = NULL}};
    if (answer != NULL) {
        weft_buy_say(said, result, answer, arena);
        said[WEFT_BUY_NETWORK].words = NULL; // the bills say it
    }
    if (!(result->tokens > 0)) {
        said[WEFT_BUY_TRAINING].words = NULL; // names an option, which a page has not
    }
    const struct weft_report_market market = {
        .title = result->model.name,
        .cluster = result->cluster.name,
        .head = weft_buy_head(result, arena),
        .prices = result->cluster.prices.source,
        .origin = *origin,
        .stopped = result->stopped,
        .batch_count = result->batch_count,
        .batches = batches_of(result, arena),
        .sentence_count = WEFT_BUY_SENTENCES,
        .sentences = said,
        .change_count = result->change_count,
        .changes = changes,
        .dark = weft_buy_dark_chart(result, arena),
    };
    return weft_report_market_html(&market, arena, environment->scratch);
}
