// SPDX-License-Identifier: Apache-2.0
// A step of MLT: what its senders and receivers sent over time, by class, as stacked bars.
//
// The legend has each class's bytes in all, and how many of its packets were lost: a reader sees
// what the first pass, the resends and the control of a step took. O(spans).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 900.0
#define HEIGHT 380.0
#define LEFT 76.0
#define RIGHT 870.0
#define TOP 96.0
#define BOTTOM 326.0
#define LEGEND_STEP 180.0

enum { CLASSES = 4 };
static const struct {
    const char *name;
    const char *color;
} classes[CLASSES] = {
    {"important", "f0"}, {"unimportant", "f4"}, {"sent again", "f5"}, {"control", "f2"}};

static uint32_t class_of(uint32_t kind)
{
    switch ((enum weft_step_kind)kind) {
    case WEFT_STEP_IMPORTANT:
        return 0;
    case WEFT_STEP_UNIMPORTANT:
        return 1;
    case WEFT_STEP_RESENT_IMPORTANT:
    case WEFT_STEP_RESENT_UNIMPORTANT:
        return 2;
    case WEFT_STEP_PROBE:
    case WEFT_STEP_BITMAP:
    case WEFT_STEP_STOP:
    case WEFT_STEP_REPORT:
    case WEFT_STEP_KINDS:
        break;
    }
    return 3;
}

static void sum_span(double sums[CLASSES], const struct weft_step_span *span)
{
    for (uint32_t c = 0; c < CLASSES; c++) {
        sums[c] = 0;
    }
    for (uint32_t kind = 0; kind < WEFT_STEP_KINDS; kind++) {
        sums[class_of(kind)] += (double)span->bytes[kind];
    }
}

static void add_legend(struct weft_text *text, const struct weft_step_trace *step)
{
    double bytes[CLASSES] = {0};
    uint64_t lost[CLASSES] = {0};
    for (uint32_t kind = 0; kind < WEFT_STEP_KINDS; kind++) {
        bytes[class_of(kind)] += (double)step->sent[kind].bytes;
        lost[class_of(kind)] += step->sent[kind].lost;
    }
    for (uint32_t c = 0; c < CLASSES; c++) {
        char shown[WEFT_UNIT_TEXT];
        double x = LEFT + LEGEND_STEP * c;
        svg_rect(text, x, 37, 10, 10, classes[c].color);
        svg_label(text, svg_at(x + 15, 46, SVG_START), "t", "%s %s", classes[c].name,
                  weft_show_bytes(shown, bytes[c]));
        svg_label(text, svg_at(x + 15, 61, SVG_START), "m", "%llu packets lost",
                  (unsigned long long)lost[c]);
    }
}

static void add_bars(struct weft_text *text, const struct weft_step_trace *step, double high)
{
    double width = (RIGHT - LEFT) / step->span_count;
    for (uint32_t i = 0; i < step->span_count; i++) {
        double sums[CLASSES];
        double y = BOTTOM;
        sum_span(sums, &step->spans[i]);
        for (uint32_t c = 0; c < CLASSES; c++) {
            double height = (BOTTOM - TOP) * sums[c] / high;
            if (sums[c] > 0) {
                svg_rect(text, LEFT + i * width, y - height, width, height, classes[c].color);
            }
            y -= height;
        }
    }
}

const char *weft_report_svg_step(const struct weft_step_trace *step, const char *title,
                                 struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, "Bytes sent over time, by class", true);
    svg_label(&text, svg_at(LEFT, 24, SVG_START), "t b", "%s", title);
    add_legend(&text, step);
    double high = 1;
    for (uint32_t i = 0; i < step->span_count; i++) {
        double sums[CLASSES];
        sum_span(sums, &step->spans[i]);
        high = fmax(high, sums[0] + sums[1] + sums[2] + sums[3]);
    }
    double end_s = weft_seconds(step->span_ps * (step->span_count > 0 ? step->span_count : 1));
    struct svg_unit time = svg_time_unit(end_s);
    // A rate says the same of every length of span.
    double Gbps = 8e-9 / weft_seconds(step->span_ps);
    char span[WEFT_UNIT_TEXT];
    svg_axis_y(&text, svg_field(LEFT, RIGHT, TOP, BOTTOM), 0, high * Gbps, "Gbit/s");
    svg_axis_x(&text, svg_field(LEFT, RIGHT, BOTTOM, BOTTOM), 0, end_s / time.scale, time.name);
    svg_label(&text, svg_at(RIGHT, 24, SVG_END), "m", "all servers together, means over %s",
              weft_show_time(span, step->span_ps));
    add_bars(&text, step, high);
    svg_end(&text);
    return text.data;
}
