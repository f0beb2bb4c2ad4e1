// SPDX-License-Identifier: Apache-2.0
// Models over fabrics: iteration time or bandwidth tax by rate or by batch, a panel for each
// model.
//
// Rates or batches stand at equal distances, as sweeps double them; the vertical axis is
// logarithmic, each panel has its own. O(rows).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define TOP 64.0
#define PANEL_HEIGHT 250.0
#define PLOT_TOP 34.0 // within a panel
#define PLOT_BOTTOM 202.0
#define PLOT_LEFT 50.0
#define PLOT_MARGIN 14.0
#define LEGEND_COLUMNS 4u

// Which fabrics have a line, in the order of the legend, the most important drawn last.
static const struct {
    const char *name;
    const char *color; // s and f of it are stroke and fill
    double width;
    const char *dashes;
} lines[] = {
    {"ideal", "o", 1.5, "5 4"},      {"fat-tree", "6", 1.5, ""}, {"oversubscribed", "1", 1.5, ""},
    {"cost-equivalent", "5", 2, ""}, {"expander", "2", 1.5, ""}, {"ocs-reconfig", "3", 1.5, ""},
    {"topoopt", "4", 2, ""},         {"weft", "0", 3, ""},
};
#define LINE_COUNT (sizeof lines / sizeof lines[0])

struct sweep {
    const struct weft_model_comparison *comparisons;
    uint32_t count;
    enum weft_sweep_axis axis;
    enum weft_sweep_metric metric;
    uint32_t *panel_of; // of each comparison
    uint32_t panel_count;
    double *xs; // the distinct rates or batches of all, ascending
    uint32_t x_count;
};

struct panel {
    double left, right, top, bottom; // of the plot
    double low, high;                // of the values shown
    struct svg_unit unit;
};

static double x_value(const struct sweep *sweep, uint32_t i)
{
    const struct weft_model_comparison *cell = &sweep->comparisons[i];
    return sweep->axis == WEFT_SWEEP_RATE ? cell->rate_Bps : (double)cell->batch;
}

static bool same_panel(const struct sweep *sweep, uint32_t i, uint32_t j)
{
    const struct weft_model_comparison *a = &sweep->comparisons[i];
    const struct weft_model_comparison *b = &sweep->comparisons[j];
    return strcmp(a->model, b->model) == 0 && a->server_count == b->server_count &&
           a->degree == b->degree &&
           (sweep->axis == WEFT_SWEEP_RATE ? a->batch == b->batch
                                           : fabs(a->rate_Bps - b->rate_Bps) < 1);
}

static void find_panels(struct sweep *sweep, struct weft_arena *arena)
{
    sweep->panel_of = WEFT_NEW(arena, uint32_t, (size_t)sweep->count + 1);
    sweep->xs = WEFT_NEW(arena, double, (size_t)sweep->count + 1);
    for (uint32_t i = 0; i < sweep->count; i++) {
        uint32_t before = 0;
        while (before < i && !same_panel(sweep, before, i)) {
            before++;
        }
        sweep->panel_of[i] = before < i ? sweep->panel_of[before] : sweep->panel_count++;
        double x = x_value(sweep, i);
        uint32_t at = 0;
        while (at < sweep->x_count && sweep->xs[at] < x) {
            at++;
        }
        if (at < sweep->x_count && sweep->xs[at] <= x) {
            continue;
        }
        memmove(sweep->xs + at + 1, sweep->xs + at, (sweep->x_count - at) * sizeof *sweep->xs);
        sweep->xs[at] = x;
        sweep->x_count++;
    }
}

// The value of a fabric in a comparison; 0 where it is not built or not asked for.
static double value_of(const struct sweep *sweep, uint32_t i, const char *name)
{
    const struct weft_model_comparison *cell = &sweep->comparisons[i];
    for (uint32_t r = 0; r < cell->row_count; r++) {
        const struct weft_comparison *row = &cell->rows[r];
        if (strcmp(row->name, name) == 0 && row->why_not == NULL) {
            return sweep->metric == WEFT_SWEEP_TIME ? row->iteration_s : row->bandwidth_tax_ratio;
        }
    }
    return 0;
}

static bool shown_anywhere(const struct sweep *sweep, uint32_t line)
{
    for (uint32_t i = 0; i < sweep->count; i++) {
        if (value_of(sweep, i, lines[line].name) > 0) {
            return true;
        }
    }
    return false;
}

static void find_range(struct panel *panel, const struct sweep *sweep, uint32_t index)
{
    double low = (double)INFINITY;
    double high = 0;
    for (uint32_t i = 0; i < sweep->count; i++) {
        for (uint32_t l = 0; l < LINE_COUNT && sweep->panel_of[i] == index; l++) {
            double value = value_of(sweep, i, lines[l].name);
            low = value > 0 ? fmin(low, value) : low;
            high = fmax(high, value);
        }
    }
    low = high > 0 ? low : 1;
    high = high > 0 ? high : 1;
    panel->unit = sweep->metric == WEFT_SWEEP_TIME ? svg_time_unit(high) : (struct svg_unit){1, ""};
    if (sweep->metric == WEFT_SWEEP_TIME) {
        // At least a factor of two, so that small differences do not look large.
        double factor = fmax(1.08, sqrt(fmax(1, 2.2 * low / high)));
        panel->low = low / factor;
        panel->high = high * factor;
    } else {
        panel->low = 0;
        panel->high = high * 1.08;
    }
}

static double y_of(const struct panel *panel, const struct sweep *sweep, double value)
{
    double share = sweep->metric == WEFT_SWEEP_TIME
                       ? log(value / panel->low) / log(panel->high / panel->low)
                       : (value - panel->low) / (panel->high - panel->low);
    return panel->bottom - (panel->bottom - panel->top) * share;
}

static double x_of(const struct panel *panel, const struct sweep *sweep, uint32_t at)
{
    double inset = 18;
    double width = panel->right - panel->left - 2 * inset;
    return sweep->x_count > 1 ? panel->left + inset + width * at / (sweep->x_count - 1)
                              : (panel->left + panel->right) / 2;
}

// Ticks of a logarithmic axis: 1, 2, 5 times powers of ten, and 3, 4, 6, 8 where those are few.
static void add_log_ticks(struct weft_text *text, const struct panel *panel,
                          const struct sweep *sweep)
{
    static const double steps[] = {1, 2, 5, 3, 4, 1.5, 7, 2.5};
    double ratio = panel->high / panel->low;
    uint32_t step_count = ratio > 30 ? 3 : ratio > 6 ? 4 : 8;
    double first = pow(10, floor(log10(panel->low / panel->unit.scale)));
    for (double decade = first; decade * panel->unit.scale <= panel->high; decade *= 10) {
        for (uint32_t s = 0; s < step_count; s++) {
            double value = decade * steps[s] * panel->unit.scale;
            if (value < panel->low || value > panel->high) {
                continue;
            }
            double y = y_of(panel, sweep, value);
            svg_line(text, panel->left, y, panel->right, y, "g");
            svg_label(text, svg_at(panel->left - 6, y + 4, SVG_END), "m n", "%g",
                      decade * steps[s]);
        }
    }
}

// Draws both axes of a panel: times on a logarithmic one, since fabrics differ by factors, and the
// tax on a linear one from 0; the other axis has a tick for each value that was swept.
static void add_axes(struct weft_text *text, const struct panel *panel, const struct sweep *sweep)
{
    if (sweep->metric == WEFT_SWEEP_TIME) {
        add_log_ticks(text, panel, sweep);
    } else {
        double step = svg_step(panel->high, 5);
        for (uint32_t i = 0; i * step <= panel->high; i++) {
            double y = y_of(panel, sweep, i * step);
            svg_line(text, panel->left, y, panel->right, y, "g");
            svg_label(text, svg_at(panel->left - 6, y + 4, SVG_END), "m n", "%g", i * step);
        }
    }
    svg_label(text, svg_at(panel->left - 6, panel->top - 6, SVG_END), "m n", "%s",
              sweep->metric == WEFT_SWEEP_TIME ? panel->unit.name : "tax");
    svg_line(text, panel->left, panel->bottom, panel->right, panel->bottom, "x");
    for (uint32_t at = 0; at < sweep->x_count; at++) {
        char label[WEFT_UNIT_TEXT];
        if (sweep->axis == WEFT_SWEEP_RATE) {
            snprintf(label, sizeof label, "%g", sweep->xs[at] * 8 / 1e9);
        } else {
            snprintf(label, sizeof label, "%.0f", sweep->xs[at]);
        }
        svg_label(text, svg_at(x_of(panel, sweep, at), panel->bottom + 14, SVG_MIDDLE), "m n", "%s",
                  label);
    }
    svg_label(text, svg_at(panel->right, panel->bottom + 28, SVG_END), "m n", "%s",
              sweep->axis == WEFT_SWEEP_RATE ? "Gbps a port" : "samples an iteration");
}

// Draws the line of a fabric in a panel, broken where a value lacks, with a dot at each value.
static void add_line(struct weft_text *text, const struct panel *panel, const struct sweep *sweep,
                     uint32_t index, uint32_t line, struct weft_arena scratch)
{
    uint32_t dots = 0;
    bool open = false;
    uint32_t x_count = sweep->x_count;
    double *values = WEFT_NEW(&scratch, double, (size_t)x_count + 1);
    for (uint32_t i = 0; i < sweep->count; i++) {
        for (uint32_t at = 0; at < x_count && sweep->panel_of[i] == index; at++) {
            if (sweep->xs[at] <= x_value(sweep, i) && sweep->xs[at] >= x_value(sweep, i)) {
                values[at] = value_of(sweep, i, lines[line].name);
            }
        }
    }
    for (uint32_t at = 0; at < x_count; at++) {
        if (values[at] > 0) {
            if (dots == 0) {
                weft_text_add(text,
                              "<path class=\"s%s\" stroke-width=\"%g\" stroke-dasharray=\"%s\" "
                              "stroke-linejoin=\"round\" d=\"",
                              lines[line].color, lines[line].width,
                              lines[line].dashes[0] != '\0' ? lines[line].dashes : "none");
            }
            weft_text_add(text, "%c%.1f %.1f", open ? 'L' : 'M', x_of(panel, sweep, at),
                          y_of(panel, sweep, values[at]));
            dots++;
        }
        open = values[at] > 0;
    }
    if (dots == 0) {
        return;
    }
    weft_text_add(text, "\"/>\n");
    for (uint32_t at = 0; at < x_count; at++) {
        if (values[at] > 0) {
            weft_text_add(text, "<circle class=\"f%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>\n",
                          lines[line].color, x_of(panel, sweep, at), y_of(panel, sweep, values[at]),
                          1.2 + lines[line].width * 0.9);
        }
    }
}

static void add_panel(struct weft_text *text, const struct sweep *sweep, uint32_t index,
                      uint32_t columns, struct weft_arena scratch)
{
    double width = WIDTH / columns;
    double x = index % columns * width;
    double y = TOP + index / columns * PANEL_HEIGHT;
    struct panel panel = {.left = x + PLOT_LEFT,
                          .right = x + width - PLOT_MARGIN,
                          .top = y + PLOT_TOP,
                          .bottom = y + PLOT_BOTTOM};
    find_range(&panel, sweep, index);
    uint32_t first = 0;
    while (sweep->panel_of[first] != index) {
        first++;
    }
    const struct weft_model_comparison *cell = &sweep->comparisons[first];
    char rate[WEFT_UNIT_TEXT];
    svg_label(text, svg_at(panel.left, y + 16, SVG_START), "t b", "%s, d = %u%s%s", cell->model,
              cell->degree, sweep->axis == WEFT_SWEEP_BATCH ? ", " : "",
              sweep->axis == WEFT_SWEEP_BATCH ? weft_show_rate(rate, cell->rate_Bps) : "");
    add_axes(text, &panel, sweep);
    for (uint32_t line = 0; line < LINE_COUNT; line++) {
        add_line(text, &panel, sweep, index, line, scratch);
    }
}

static void add_legend(struct weft_text *text, const struct sweep *sweep)
{
    uint32_t shown = 0;
    for (uint32_t line = 0; line < LINE_COUNT; line++) {
        if (!shown_anywhere(sweep, line)) {
            continue;
        }
        double x = PLOT_LEFT + shown % LEGEND_COLUMNS * 230.0;
        double y = 20 + shown / LEGEND_COLUMNS * 20.0;
        weft_text_add(text,
                      "<path class=\"s%s\" stroke-width=\"%g\" stroke-dasharray=\"%s\" "
                      "d=\"M%.1f %.1fh26\"/>\n",
                      lines[line].color, lines[line].width,
                      lines[line].dashes[0] != '\0' ? lines[line].dashes : "none", x, y - 4);
        svg_label(text, svg_at(x + 34, y, SVG_START),
                  strcmp(lines[line].name, "weft") == 0 ? "t b" : "t", "%s", lines[line].name);
        shown++;
    }
}

const char *weft_report_svg_sweep(const struct weft_model_comparison *comparisons, uint32_t count,
                                  enum weft_sweep_axis axis, enum weft_sweep_metric metric,
                                  struct weft_arena *arena, struct weft_arena scratch)
{
    struct sweep sweep = {
        .comparisons = comparisons, .count = count, .axis = axis, .metric = metric};
    find_panels(&sweep, &scratch);
    uint32_t columns = sweep.panel_count > 4 ? 4 : 2;
    uint32_t rows = (sweep.panel_count + columns - 1) / columns;
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, TOP + rows * PANEL_HEIGHT,
              metric == WEFT_SWEEP_TIME ? "Iteration time of models over fabrics"
                                        : "Bandwidth tax of models over fabrics",
              true);
    add_legend(&text, &sweep);
    for (uint32_t panel = 0; panel < sweep.panel_count; panel++) {
        add_panel(&text, &sweep, panel, columns, scratch);
    }
    svg_end(&text);
    return text.data;
}
