// SPDX-License-Identifier: Apache-2.0
// Signals of the datapath of light over cycles: a row a signal, in the order in which they are true
// first, so that a layer reads as a stair from its begin to its sums. Layers are bands behind the
// rows; what modules drive and what the datapath does have colors of their own. Spans that are less
// than a pixel apart are one, so that a picture of a long run stays small. O(signals * spans).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define LEFT 150.0
#define RIGHT 984.0
#define TOP 92.0
#define ROW 17.0
#define BAR 11.0
#define LETTER 7.0    // of a label, about
#define NARROWEST 1.0 // bar, in pixels

struct cycles {
    const struct weft_photonic_trace *trace;
    struct weft_text *text;
    double scale;                 // pixels a cycle
    uint64_t *first, *count, *on; // [signals]: cycle of the first span, spans, cycles in them
    uint32_t *rows;               // [row_count]: signals
    uint32_t row_count;
};

static void count_spans(struct cycles *cycles, struct weft_arena *arena)
{
    const struct weft_photonic_trace *trace = cycles->trace;
    cycles->first = WEFT_NEW(arena, uint64_t, trace->signal_count);
    cycles->count = WEFT_NEW(arena, uint64_t, trace->signal_count);
    cycles->on = WEFT_NEW(arena, uint64_t, trace->signal_count);
    cycles->rows = WEFT_NEW(arena, uint32_t, trace->signal_count);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const struct weft_photonic_span *span = &trace->spans[s];
        if (cycles->count[span->signal]++ == 0) { // a signal's spans end in their order
            cycles->first[span->signal] = span->begin;
        }
        cycles->on[span->signal] += span->end - span->begin;
    }
    for (uint32_t n = 0; n < trace->signal_count; n++) {
        if (cycles->count[n] == 0) {
            continue;
        }
        uint32_t row = cycles->row_count++;
        for (; row > 0 && cycles->first[cycles->rows[row - 1]] > cycles->first[n]; row--) {
            cycles->rows[row] = cycles->rows[row - 1];
        }
        cycles->rows[row] = n;
    }
}

static double x_of(const struct cycles *cycles, uint64_t cycle)
{
    return LEFT + cycles->scale * (double)cycle;
}

// Bands, with names where they have room.
static void add_layers(const struct cycles *cycles, const char *const *names, double bottom)
{
    const struct weft_photonic_trace *trace = cycles->trace;
    for (uint32_t i = 0; i < trace->layer_count; i++) {
        uint64_t end = i + 1 < trace->layer_count ? trace->layers[i + 1] : trace->cycles;
        double left = x_of(cycles, trace->layers[i]), right = x_of(cycles, end);
        if (i % 2 == 0) {
            svg_rect(cycles->text, left, TOP, right - left, bottom - TOP, "p");
        }
        svg_line(cycles->text, left, TOP - 20, left, bottom, "x");
        if (right - left > LETTER * (double)strlen(names[i]) + 8) {
            svg_label(cycles->text, svg_at(left + 5, TOP - 8, SVG_START), "t b", "%s", names[i]);
        }
    }
}

static void add_row(const struct cycles *cycles, uint32_t row)
{
    const struct weft_photonic_trace *trace = cycles->trace;
    uint32_t signal = cycles->rows[row];
    const char *module = trace->modules[signal];
    double y = TOP + ROW * row + (ROW - BAR) / 2;
    svg_label(cycles->text, svg_at(LEFT - 8, y + BAR - 1.5, SVG_END), "t", "%s",
              trace->signals[signal]);
    svg_item_begin(cycles->text, "", "%s of %s: cycles %llu of %llu, spans %llu",
                   trace->signals[signal], module == NULL ? "the datapath" : module,
                   (unsigned long long)cycles->on[signal], (unsigned long long)trace->cycles,
                   (unsigned long long)cycles->count[signal]);
    weft_text_add(cycles->text, "<path class=\"fill %s\" d=\"", module == NULL ? "f1" : "f0");
    double begin = -1, end = -1; // of the bar that is still growing
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const struct weft_photonic_span *span = &trace->spans[s];
        if (span->signal != signal) {
            continue;
        }
        double from = x_of(cycles, span->begin), to = x_of(cycles, span->end);
        if (begin >= 0 && from - end >= NARROWEST) {
            weft_text_add(cycles->text, "M%.1f %.1fH%.1fv%gH%.1fZ", begin, y, end, BAR, begin);
            begin = -1;
        }
        begin = begin < 0 ? from : begin;
        end = fmax(to, begin + NARROWEST);
    }
    weft_text_add(cycles->text, "M%.1f %.1fH%.1fv%gH%.1fZ\"/>", begin, y, end, BAR, begin);
    svg_item_end(cycles->text);
}

// Signals without a span, one behind the other.
static const char *silent(const struct cycles *cycles, struct weft_arena *arena)
{
    const char *names = "";
    for (uint32_t n = 0; n < cycles->trace->signal_count; n++) {
        if (cycles->count[n] == 0) {
            names = weft_arena_format(arena, "%s%s %s", names, *names == '\0' ? "" : ",",
                                      cycles->trace->signals[n]);
        }
    }
    return names;
}

static void add_legend(struct weft_text *text)
{
    svg_rect(text, LEFT, 34, 12, 12, "f0");
    svg_label(text, svg_at(LEFT + 18, 44, SVG_START), "t", "of a count-action module");
    svg_rect(text, LEFT + 190, 34, 12, 12, "f1");
    svg_label(text, svg_at(LEFT + 208, 44, SVG_START), "t",
              "of the datapath: memories, light, sums");
}

const char *weft_report_svg_cycles(const struct weft_photonic_trace *trace,
                                   const char *const *layers, const char *title,
                                   struct weft_arena *arena)
{
    struct weft_text text;
    struct cycles cycles = {.trace = trace, .text = &text};
    count_spans(&cycles, arena);
    const char *never = silent(&cycles, arena);
    weft_text_init(&text, arena);
    double last = (double)(trace->cycles > 0 ? trace->cycles : 1);
    double bottom = TOP + ROW * cycles.row_count;
    cycles.scale = (RIGHT - LEFT) / last;
    svg_begin(&text, WIDTH, bottom + 42, title, true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t b l", "%s", title);
    add_legend(&text);
    add_layers(&cycles, layers, bottom);
    svg_axis_x(&text, svg_field(LEFT, RIGHT, TOP, bottom), 0, last, "cycles");
    for (uint32_t row = 0; row < cycles.row_count; row++) {
        add_row(&cycles, row);
    }
    svg_label(&text, svg_at(LEFT, bottom + 32, SVG_START), "m n", "never:%s",
              *never != '\0' ? never : " none");
    svg_end(&text);
    return text.data;
}
