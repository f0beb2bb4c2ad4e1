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
#define TOP 64.0 // with a legend of two rows
#define PANEL_HEIGHT 250.0
#define PLOT_TOP 34.0 // within a panel
#define PLOT_BOTTOM 202.0
#define PLOT_LEFT 50.0
#define PLOT_MARGIN 14.0
#define LEGEND_COLUMNS 4u

struct line {
    const char *name;
    const char *color; // s and f of it are stroke and fill
    double width;
    const char *dashes;
};
// Fabrics with a line of their own look, in the order of the legend, the most important drawn last.
static const struct line known[] = {
    {"ideal", "o", 1.5, "5 4"},      {"fat-tree", "6", 1.5, ""}, {"oversubscribed", "1", 1.5, ""},
    {"cost-equivalent", "5", 2, ""}, {"expander", "2", 1.5, ""}, {"ocs-reconfig", "3", 1.5, ""},
    {"topoopt", "4", 2, ""},         {"weft", "0", 3, ""},
};
#define KNOWN_COUNT (sizeof known / sizeof known[0])
#define LINES_MAX (KNOWN_COUNT + WEFT_COMPARISON_ROWS_MAX)

struct sweep {
    const struct weft_model_comparison *comparisons;
    uint32_t count;
    enum weft_sweep_axis axis;
    enum weft_sweep_metric metric;
    struct line lines[LINES_MAX];
    uint32_t line_count;
    double top;         // of the panels
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

// Those that were asked for by name and are not among the known ones come first: thin, in the
// colors that are left, and dashed, each in its way.
static void find_lines(struct sweep *sweep, bool all)
{
    static const char *const dashes[] = {"2 3", "8 3", "8 3 2 3", "12 4"};
    for (uint32_t i = 0; all && i < sweep->count; i++) {
        for (uint32_t r = 0; r < sweep->comparisons[i].row_count; r++) {
            const char *name = sweep->comparisons[i].rows[r].name;
            bool there = sweep->line_count + KNOWN_COUNT >= LINES_MAX;
            for (uint32_t l = 0; l < KNOWN_COUNT; l++) {
                there = there || strcmp(known[l].name, name) == 0;
            }
            for (uint32_t l = 0; l < sweep->line_count; l++) {
                there = there || strcmp(sweep->lines[l].name, name) == 0;
            }
            if (!there) {
                static const char *const colors[] = {"3", "2", "5", "6", "1"};
                uint32_t at = sweep->line_count++;
                sweep->lines[at] = (struct line){name, colors[at % 5], 1.5, dashes[at / 5 % 4]};
            }
        }
    }
    memcpy(sweep->lines + sweep->line_count, known, sizeof known);
    sweep->line_count += KNOWN_COUNT;
}

static bool shown_anywhere(const struct sweep *sweep, uint32_t line)
{
    for (uint32_t i = 0; i < sweep->count; i++) {
        if (value_of(sweep, i, sweep->lines[line].name) > 0) {
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
        for (uint32_t l = 0; l < sweep->line_count && sweep->panel_of[i] == index; l++) {
            double value = value_of(sweep, i, sweep->lines[l].name);
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

// The values of a line in a panel by their place on the axis; 0 where one lacks. Returns how many
// there are.
static uint32_t find_values(double *values, const struct sweep *sweep, uint32_t index,
                            uint32_t line)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < sweep->x_count; at++) {
        values[at] = 0;
        for (uint32_t i = 0; i < sweep->count; i++) {
            if (sweep->panel_of[i] == index && sweep->xs[at] <= x_value(sweep, i) &&
                sweep->xs[at] >= x_value(sweep, i)) {
                values[at] = value_of(sweep, i, sweep->lines[line].name);
            }
        }
        count += values[at] > 0;
    }
    return count;
}

// How many lines of a panel lie on each other, this one among them, and which of them it is.
struct pile {
    uint32_t count;
    uint32_t at;
};

static struct pile find_pile(const struct sweep *sweep, const struct panel *panel, uint32_t index,
                             uint32_t line, const double *values, struct weft_arena scratch)
{
    struct pile pile = {0, 0};
    double *others = WEFT_NEW(&scratch, double, (size_t)sweep->x_count + 1);
    for (uint32_t l = 0; l < sweep->line_count; l++) {
        bool same = find_values(others, sweep, index, l) > 0;
        for (uint32_t at = 0; at < sweep->x_count; at++) {
            bool both = values[at] > 0 && others[at] > 0;
            same = same &&
                   (both ? fabs(y_of(panel, sweep, values[at]) - y_of(panel, sweep, others[at])) < 2
                         : !(values[at] > 0) && !(others[at] > 0));
        }
        pile.at += same && l < line;
        pile.count += same;
    }
    return pile;
}

// Draws the line of a fabric in a panel, broken where a value lacks, with a dot at each value.
// Lines that lie on each other take turns along their length, so that none hides another.
static void add_line(struct weft_text *text, const struct panel *panel, const struct sweep *sweep,
                     uint32_t index, uint32_t line, struct weft_arena scratch)
{
    const struct line *look = &sweep->lines[line];
    uint32_t x_count = sweep->x_count;
    double *values = WEFT_NEW(&scratch, double, (size_t)x_count + 1);
    char turns[64];
    if (find_values(values, sweep, index, line) == 0) {
        return;
    }
    const char *dashes = look->dashes[0] != '\0' ? look->dashes : "none";
    struct pile pile = find_pile(sweep, panel, index, line, values, scratch);
    if (pile.count > 1) {
        snprintf(turns, sizeof turns, "8 %u\" stroke-dashoffset=\"-%u", 8 * (pile.count - 1),
                 8 * pile.at);
        dashes = turns;
    }
    svg_item_begin(text, "", "%s", look->name);
    weft_text_add(text,
                  "<path class=\"s%s\" stroke-width=\"%g\" stroke-dasharray=\"%s\" "
                  "stroke-linejoin=\"round\" d=\"",
                  look->color, look->width, dashes);
    bool open = false;
    for (uint32_t at = 0; at < x_count; at++) {
        if (values[at] > 0) {
            weft_text_add(text, "%c%.1f %.1f", open ? 'L' : 'M', x_of(panel, sweep, at),
                          y_of(panel, sweep, values[at]));
        }
        open = values[at] > 0;
    }
    weft_text_add(text, "\"/>\n");
    for (uint32_t at = 0; at < x_count; at++) {
        if (values[at] > 0) {
            weft_text_add(text, "<circle class=\"f%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>\n",
                          look->color, x_of(panel, sweep, at), y_of(panel, sweep, values[at]),
                          1.2 + look->width * 0.9);
        }
    }
    svg_item_end(text);
}

static void add_panel(struct weft_text *text, const struct sweep *sweep, uint32_t index,
                      uint32_t columns, struct weft_arena scratch)
{
    double width = WIDTH / columns;
    double x = index % columns * width;
    double y = sweep->top + index / columns * PANEL_HEIGHT;
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
    for (uint32_t line = 0; line < sweep->line_count; line++) {
        add_line(text, &panel, sweep, index, line, scratch);
    }
}

static void add_legend(struct weft_text *text, const struct sweep *sweep)
{
    uint32_t shown = 0;
    for (uint32_t line = 0; line < sweep->line_count; line++) {
        if (!shown_anywhere(sweep, line)) {
            continue;
        }
        const struct line *look = &sweep->lines[line];
        double x = PLOT_LEFT + shown % LEGEND_COLUMNS * 230.0;
        double y = 20 + shown / LEGEND_COLUMNS * 20.0;
        weft_text_add(text,
                      "<path class=\"s%s\" stroke-width=\"%g\" stroke-dasharray=\"%s\" "
                      "d=\"M%.1f %.1fh26\"/>\n",
                      look->color, look->width, look->dashes[0] != '\0' ? look->dashes : "none", x,
                      y - 4);
        svg_label(text, svg_at(x + 34, y, SVG_START), strcmp(look->name, "weft") == 0 ? "t b" : "t",
                  "%s", look->name);
        shown++;
    }
}

const char *weft_report_svg_sweep(const struct weft_model_comparison *comparisons, uint32_t count,
                                  const struct weft_sweep_view *view, struct weft_arena *arena,
                                  struct weft_arena scratch)
{
    struct sweep sweep = {
        .comparisons = comparisons, .count = count, .axis = view->axis, .metric = view->metric};
    find_lines(&sweep, view->all_fabrics);
    find_panels(&sweep, &scratch);
    uint32_t legend_rows = 0;
    for (uint32_t line = 0, shown = 0; line < sweep.line_count; line++) {
        shown += shown_anywhere(&sweep, line);
        legend_rows = (shown + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
    }
    sweep.top = TOP + (legend_rows > 2 ? 20 * (legend_rows - 2) : 0);
    uint32_t columns = sweep.panel_count > 4 ? 4 : 2;
    uint32_t rows = (sweep.panel_count + columns - 1) / columns;
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, sweep.top + rows * PANEL_HEIGHT,
              view->metric == WEFT_SWEEP_TIME ? "Iteration time of models over fabrics"
                                              : "Bandwidth tax of models over fabrics",
              true);
    add_legend(&text, &sweep);
    for (uint32_t panel = 0; panel < sweep.panel_count; panel++) {
        add_panel(&text, &sweep, panel, columns, scratch);
    }
    svg_end(&text);
    return text.data;
}
