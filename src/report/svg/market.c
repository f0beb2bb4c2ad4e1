// SPDX-License-Identifier: Apache-2.0
// Fabrics as points: dollars up, iteration time to the right, and the strip that advice looks at.
//
// The fabric to take is the lowest point of those in the strip, a hundredth of the fastest one's
// time wide, whose ports are sold. Times mostly differ by little, so that the axis of times begins
// near the fastest one where none takes twice as long; dollars begin at 0. A name stands beside its
// point where there is room, else further away at the end of a line. O(fabrics^2).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define HEIGHT 460.0
#define LEFT 84.0
#define RIGHT 970.0
#define TOP 62.0
#define BOTTOM 412.0
#define DOT 6.0
#define LETTER 6.9 // of the widest fonts that pages name, bold
#define LINE 14.0
#define AS_FAST_RATIO 1.01 // as weft_request_buy advises
#define FROM_ZERO 3.0      // times the fastest: the axis begins at 0 where one takes so long
#define RANGE_LEAST 0.05   // of the fastest's time, so that the strip is not the picture

struct box {
    double left, right, top, bottom;
};

struct field {
    struct svg_field at;
    double low_s, high_s, high_usd;
    double fastest_s; // where the strip begins and ends
    double strip_s;
};

static double x_of(const struct field *field, double seconds)
{
    return LEFT + (RIGHT - LEFT) * (seconds - field->low_s) / (field->high_s - field->low_s);
}

static double y_of(const struct field *field, double usd)
{
    return BOTTOM - (BOTTOM - TOP) * usd / field->high_usd;
}

static struct field find_field(const struct weft_report_batch *batch)
{
    struct field field = {.at = svg_field(LEFT, RIGHT, TOP, BOTTOM)};
    double fastest_s = HUGE_VAL;
    double sold_s = HUGE_VAL;
    double slowest_s = 0;
    for (uint32_t i = 0; i < batch->offer_count; i++) {
        const struct weft_report_offer *offer = &batch->offers[i];
        if (offer->why_not == NULL) {
            fastest_s = fmin(fastest_s, offer->iteration_s);
            sold_s = offer->sold ? fmin(sold_s, offer->iteration_s) : sold_s;
            slowest_s = fmax(slowest_s, offer->iteration_s);
            field.high_usd = fmax(field.high_usd, offer->bill->usd * 1.08);
        }
    }
    double range_s = fmax(slowest_s - fastest_s, RANGE_LEAST * fastest_s);
    field.low_s = slowest_s < FROM_ZERO * fastest_s ? fastest_s - 0.08 * range_s : 0;
    field.high_s = fastest_s + 1.14 * range_s; // names of the slowest have room
    field.high_usd = field.high_usd > 0 ? field.high_usd : 1;
    field.fastest_s = fastest_s;
    field.strip_s = AS_FAST_RATIO * (isfinite(sold_s) ? sold_s : fastest_s);
    return field;
}

static void add_axes(struct weft_text *text, const struct field *field)
{
    struct svg_unit time = svg_time_unit(field->high_s);
    bool millions = field->high_usd >= 1e6;
    char title[64];
    snprintf(title, sizeof title, "iteration, %s%s", time.name,
             field->low_s > 0 ? ", not from 0" : "");
    double begin = x_of(field, field->fastest_s) - DOT;
    svg_rect(text, begin, TOP, x_of(field, field->strip_s) - begin, BOTTOM - TOP, "p");
    svg_axis_x(text, field->at, field->low_s / time.scale, field->high_s / time.scale, title);
    svg_axis_y(text, field->at, 0, field->high_usd / (millions ? 1e6 : 1e3),
               millions ? "million $" : "thousand $");
}

// What the points look like; only what there is.
static void add_legend(struct weft_text *text, const struct weft_report_batch *batch)
{
    bool played = false, estimated = false, unsold = false;
    for (uint32_t i = 0; i < batch->offer_count; i++) {
        const struct weft_report_offer *offer = &batch->offers[i];
        played = played || (offer->why_not == NULL && !offer->estimate);
        estimated = estimated || (offer->why_not == NULL && offer->estimate);
        unsold = unsold || (offer->why_not == NULL && !offer->sold);
    }
    const struct {
        bool shown;
        const char *class;
        const char *words;
        bool square;
    } entries[] = {
        {true, "p x", "within 1 % of the fastest", true},
        {batch->advised != WEFT_NONE, "h", "to take", !played},
        {played, "fo", "simulated", false},
        {estimated, "fo", "estimate", true},
        {unsold, "bg so", "outline: no such ports are sold", !played},
    };
    double x = LEFT;
    for (uint32_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (!entries[i].shown) {
            continue;
        }
        if (entries[i].square) {
            svg_rect(text, x, 14, 11, 11, entries[i].class);
        } else {
            weft_text_add(text, "<circle cx=\"%g\" cy=\"19.5\" r=\"%g\" class=\"%s\"/>\n", x + 5.5,
                          DOT, entries[i].class);
        }
        svg_label(text, svg_at(x + 18, 24, SVG_START), "t", "%s", entries[i].words);
        x += 42 + LETTER * (double)strlen(entries[i].words);
    }
}

static bool overlap(struct box a, struct box b)
{
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

static bool is_free(struct box box, const struct box *taken, uint32_t count)
{
    bool clear = box.left >= LEFT + 2 && box.right <= WIDTH - 4 && box.top >= TOP - 22 &&
                 box.bottom <= BOTTOM - 2;
    for (uint32_t i = 0; i < count && clear; i++) {
        clear = !overlap(box, taken[i]);
    }
    return clear;
}

// The nearest free place for a name: right of its point, left, then line by line up and down.
static struct box place_name(double x, double y, const char *name, const struct box *taken,
                             uint32_t count)
{
    double width = LETTER * (double)strlen(name);
    struct box nearest = {x + 10, x + 10 + width, y - 7, y + 7};
    for (int step = 0; step < 60; step++) {
        bool left = step % 2 == 1;
        int line = (step / 2 + 1) / 2 * ((step / 2) % 2 == 1 ? 1 : -1);
        double gap = line == 0 ? 10 : 16;
        struct box box = {left ? x - gap - width : x + gap, left ? x - gap : x + gap + width,
                          y - 7 + line * LINE, y + 7 + line * LINE};
        if (is_free(box, taken, count)) {
            return box;
        }
    }
    return nearest;
}

static void add_point(struct weft_text *text, const struct weft_report_offer *offer, double x,
                      double y, struct box name, bool advised)
{
    char keys[96];
    char time[WEFT_UNIT_TEXT];
    char usd[WEFT_UNIT_TEXT];
    char watts[WEFT_UNIT_TEXT];
    snprintf(keys, sizeof keys, "data-k=\"%s\"", offer->fabric);
    svg_item_begin(text, keys, "%s: %s, %s; %s, %s%s%s", offer->fabric,
                   weft_show_time(time, weft_picoseconds(offer->iteration_s)),
                   offer->estimate ? "by estimate" : "simulated",
                   weft_show_usd(usd, offer->bill->usd), weft_show_watts(watts, offer->bill->watts),
                   offer->sold ? "" : "\nno such ports are sold",
                   advised ? "\nthe cheapest of those within 1 % of the fastest" : "");
    bool left = name.right < x;
    double end = left ? name.right : name.left;
    if (fabs(name.top + 7 - y) > 1) {
        svg_line(text, x, y, end + (left ? 2 : -2), name.top + 7, "so");
    }
    const char *class = advised ? "h" : offer->sold ? "fo" : "bg so";
    if (offer->estimate) {
        weft_text_add(text,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" class=\"%s\"/>\n",
                      x - DOT, y - DOT, 2 * DOT, 2 * DOT, class);
    } else {
        weft_text_add(text, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" class=\"%s\"/>\n", x, y, DOT,
                      class);
    }
    svg_label(text, svg_at(end, name.top + 11, left ? SVG_END : SVG_START), advised ? "t b" : "t",
              "%s", offer->fabric);
    svg_item_end(text);
}

void picture_market(struct weft_text *text, const struct weft_report_batch *batch,
                    struct weft_arena scratch)
{
    struct field field = find_field(batch);
    uint32_t count = batch->offer_count;
    struct box *taken = WEFT_NEW(&scratch, struct box, 2 * (size_t)count + 1);
    uint32_t taken_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_report_offer *offer = &batch->offers[i];
        if (offer->why_not == NULL) {
            double x = x_of(&field, offer->iteration_s);
            double y = y_of(&field, offer->bill->usd);
            taken[taken_count++] = (struct box){x - DOT, x + DOT, y - DOT, y + DOT};
        }
    }
    svg_begin(text, WIDTH, HEIGHT, "Fabrics: dollars over iteration time", false);
    add_axes(text, &field);
    add_legend(text, batch);
    for (uint32_t k = 0; k < count; k++) { // the advised one last, so that it lies on top
        uint32_t from = batch->advised < count ? batch->advised + 1 : 0;
        uint32_t i = (from + k) % count;
        const struct weft_report_offer *offer = &batch->offers[i];
        if (offer->why_not == NULL) {
            double x = x_of(&field, offer->iteration_s);
            double y = y_of(&field, offer->bill->usd);
            struct box name = place_name(x, y, offer->fabric, taken, taken_count);
            taken[taken_count++] = name;
            add_point(text, offer, x, y, name, i == batch->advised);
        }
    }
    svg_end(text);
}
