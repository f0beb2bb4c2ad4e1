// SPDX-License-Identifier: Apache-2.0
// Style, texts and axes that all pictures share.
//
// Classes stand for colors, each with a light and a dark value, so that a picture is the same
// inside a page and alone: Okabe and Ito's for kinds of tasks, with the yellow and the sky blue
// darkened to a contrast of 3 on white, and hues after Tol's "muted" scheme for what is numbered.
// WCAG 2.1 asks for 3 for shapes and 4.5 for words, tests/golden/page.py measures both. Coordinates
// have one decimal place: the same values give the same bytes.

#include "svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

// Class, property, value on light paper, value on a dark screen.
static const char *const rules[][4] = {
    {"t", "fill", "#1b1f24", "#e6edf3"},   {"m", "fill", "#57606a", "#9aa7b4"},
    {"x", "stroke", "#57606a", "#9aa7b4"}, {"g", "stroke", "#dfe3e8", "#2b3138"},
    {"bg", "fill", "#ffffff", "#0f1419"},  {"bs", "stroke", "#ffffff", "#0f1419"},
    {"p", "fill", "#eef1f4", "#1b222b"},   {"h", "fill", "#08519c", "#6cb6ff"},
    {"e", "stroke", "#b42318", "#ff8a80"}, {"ef", "fill", "#b42318", "#ff8a80"},
    {"f0", "fill", "#0072b2", "#3d9fdb"},  {"s0", "stroke", "#0072b2", "#3d9fdb"},
    {"f1", "fill", "#c58800", "#f0b429"},  {"s1", "stroke", "#c58800", "#f0b429"},
    {"f2", "fill", "#009e73", "#2fc79b"},  {"s2", "stroke", "#009e73", "#2fc79b"},
    {"f3", "fill", "#cc79a7", "#e39fc4"},  {"s3", "stroke", "#cc79a7", "#e39fc4"},
    {"f4", "fill", "#3d9ccf", "#8fd0f5"},  {"s4", "stroke", "#3d9ccf", "#8fd0f5"},
    {"f5", "fill", "#d55e00", "#ff8c42"},  {"s5", "stroke", "#d55e00", "#ff8c42"},
    {"f6", "fill", "#7d6b00", "#d8c94a"},  {"s6", "stroke", "#7d6b00", "#d8c94a"},
    {"fo", "fill", "#848d96", "#77818c"},  {"so", "stroke", "#848d96", "#77818c"},
    {"o0", "fill", "#332288", "#8c9eff"},  {"q0", "stroke", "#332288", "#8c9eff"},
    {"o1", "fill", "#aa4499", "#e08bd2"},  {"q1", "stroke", "#aa4499", "#e08bd2"},
    {"o2", "fill", "#117733", "#5cc98a"},  {"q2", "stroke", "#117733", "#5cc98a"},
    {"o3", "fill", "#cc6677", "#ff9fae"},  {"q3", "stroke", "#cc6677", "#ff9fae"},
    {"o4", "fill", "#2e8b80", "#66d9c8"},  {"q4", "stroke", "#2e8b80", "#66d9c8"},
    {"o5", "fill", "#7a7a1f", "#c9c95a"},  {"q5", "stroke", "#7a7a1f", "#c9c95a"},
    {"o6", "fill", "#882255", "#d0749c"},  {"q6", "stroke", "#882255", "#d0749c"},
    {"m0", "fill", "#2f2350", "#e9e2ff"},  {"m1", "fill", "#5b3f99", "#c2b0f5"},
    {"m2", "fill", "#8a6fc2", "#9c84dd"},  {"m3", "fill", "#9a88cf", "#7f66c8"},
    {"m4", "fill", "#6e6e7e", "#9a9aa8"},  {"fc", "fill", "#3a5068", "#a9bdd3"},
};
#define RULE_COUNT (sizeof rules / sizeof rules[0])

static void add_rules(struct weft_text *text, uint32_t column)
{
    for (size_t i = 0; i < RULE_COUNT; i++) {
        weft_text_add(text, "svg .%s{%s:%s}", rules[i][0], rules[i][1], rules[i][column]);
    }
}

void svg_add_style(struct weft_text *text)
{
    weft_text_add(text, "svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
                        "sans-serif;font-variant-numeric:tabular-nums}"
                        "svg .b{font-weight:600}svg .l{font-size:14px}svg .n{font-size:10px}"
                        "svg .nn{font-size:9px}"
                        "svg path,svg line{fill:none}svg path.fill{stroke:none}");
    add_rules(text, 2);
    weft_text_add(text, "@media (prefers-color-scheme:dark){@media screen{");
    add_rules(text, 3);
    weft_text_add(text, "}}");
}

void svg_begin(struct weft_text *text, double width, double height, const char *name, bool alone)
{
    weft_text_add(text,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" role=\"img\" "
                  "aria-label=\"",
                  width, height);
    weft_text_add_escaped(text, name);
    weft_text_add(text, "\"");
    if (!alone) {
        weft_text_add(text, ">\n");
        return;
    }
    weft_text_add(text, " width=\"%g\" height=\"%g\">\n<style>", width, height);
    svg_add_style(text);
    weft_text_add(text, "</style>\n<rect class=\"bg\" width=\"%g\" height=\"%g\"/>\n", width,
                  height);
}

void svg_end(struct weft_text *text)
{
    weft_text_add(text, "</svg>\n");
}

const char *svg_task_class(enum weft_task_kind kind)
{
    static const char *const classes[WEFT_TASK_KIND_COUNT] = {
        [WEFT_TASK_FORWARD] = "f4",    [WEFT_TASK_BACKWARD] = "f0",
        [WEFT_TASK_UPDATE] = "f2",     [WEFT_TASK_BARRIER] = "fo",
        [WEFT_TASK_LOCAL] = "f2",      [WEFT_TASK_TRANSFER] = "f1",
        [WEFT_TASK_ALLREDUCE] = "f5",  [WEFT_TASK_REDUCE_SCATTER] = "f6",
        [WEFT_TASK_ALL_GATHER] = "f3",
    };
    return classes[kind];
}

void svg_item_begin(struct weft_text *text, const char *keys, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    weft_text_add(text, "<g class=\"i\"%s%s><title>", *keys != '\0' ? " " : "", keys);
    char *rest = line; // a line break stays one
    for (char *at = strsep(&rest, "\n"); at != NULL; at = strsep(&rest, "\n")) {
        weft_text_add_escaped(text, at);
        weft_text_add(text, "%s", rest != NULL ? "\n" : "");
    }
    weft_text_add(text, "</title>");
}

void svg_item_end(struct weft_text *text)
{
    weft_text_add(text, "</g>\n");
}

void svg_label(struct weft_text *text, struct svg_place at, const char *classes, const char *format,
               ...)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    weft_text_add(text, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\"", at.x, at.y, classes);
    if (at.anchor != SVG_START) {
        weft_text_add(text, " text-anchor=\"%s\"", anchors[at.anchor]);
    }
    weft_text_add(text, ">");
    weft_text_add_escaped(text, line);
    weft_text_add(text, "</text>\n");
}

void svg_line(struct weft_text *text, double x1, double y1, double x2, double y2,
              const char *classes)
{
    weft_text_add(text, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", classes, x1, y1, x2,
                  y2);
}

void svg_rect(struct weft_text *text, double x, double y, double width, double height,
              const char *classes)
{
    weft_text_add(text,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x,
                  y, width, height, classes);
}

struct svg_unit svg_time_unit(double seconds)
{
    static const struct svg_unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    uint32_t i = 0;
    while (i < 3 && seconds < units[i].scale) {
        i++;
    }
    return units[i];
}

struct svg_unit svg_byte_unit(double size_bytes)
{
    static const struct svg_unit units[] = {
        {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    uint32_t i = 0;
    while (i < 4 && size_bytes < units[i].scale) {
        i++;
    }
    return units[i];
}

double svg_step(double range, uint32_t parts)
{
    WEFT_ASSERT(parts > 0);
    if (!(range > 0)) {
        return 1;
    }
    double decade = pow(10, floor(log10(range / parts)));
    static const double factors[] = {1, 2, 5, 10};
    for (uint32_t i = 0; i < 4; i++) {
        if (range / (factors[i] * decade) <= parts) {
            return factors[i] * decade;
        }
    }
    return 20 * decade;
}

void svg_axis_x(struct weft_text *text, struct svg_field field, double low, double high,
                const char *title)
{
    double left = field.left;
    double y = field.bottom;
    double range = high > low ? high - low : 1;
    double step = svg_step(range, 8);
    for (double i = ceil(low / step - 1e-9); i * step <= low + range * (1 + 1e-9); i++) {
        double x = left + (field.right - left) * (i * step - low) / range;
        svg_line(text, x, field.top, x, y, "g");
        svg_label(text, svg_at(x, y + 15, SVG_MIDDLE), "m", "%.10g", i * step + 0.0); // no -0
    }
    svg_line(text, left, y, field.right, y, "x");
    svg_label(text, svg_at(field.right, y + 32, SVG_END), "m", "%s", title);
}

void svg_axis_y(struct weft_text *text, struct svg_field field, double low, double high,
                const char *title)
{
    double left = field.left;
    double range = high > low ? high - low : 1;
    double step = svg_step(range, 6);
    for (double i = ceil(low / step - 1e-9); i * step <= low + range * (1 + 1e-9); i++) {
        double y = field.bottom - (field.bottom - field.top) * (i * step - low) / range;
        svg_line(text, left, y, field.right, y, "g");
        svg_label(text, svg_at(left - 8, y + 4, SVG_END), "m", "%.10g", i * step + 0.0); // no -0
    }
    svg_label(text, svg_at(left - 8, field.top - 12, SVG_END), "m", "%s", title);
}
