// SPDX-License-Identifier: Apache-2.0
// A stacked column for each server: memory by use against the limit, time by use.
//
// With more servers than columns fit, a column stands for a block of them and shows its
// fullest. O(servers * uses).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define LEFT 66.0
#define RIGHT 980.0
#define TOP 44.0
#define HEIGHT 230.0
#define BARS_MAX 128u
#define SERIES_MAX 5u

struct stacks {
    const char *name; // for screen readers
    const char *unit; // of the axis
    const char *names[SERIES_MAX];
    const char *colors[SERIES_MAX];
    uint32_t series_count;
    uint32_t bar_count;
    const double *values;   // [bar][series], in units
    double limit;           // a dashed line, in units; 0 = none
    const char *limit_text; // "80 GB", in a unit of its own
};

static double total_of(const struct stacks *stacks, uint32_t bar)
{
    double sum = 0;
    for (uint32_t s = 0; s < stacks->series_count; s++) {
        sum += stacks->values[(size_t)bar * stacks->series_count + s];
    }
    return sum;
}

// The fullest of the servers that share a column.
static uint32_t fullest(const struct stacks *stacks, uint32_t from, uint32_t to)
{
    uint32_t best = from;
    for (uint32_t bar = from + 1; bar < to; bar++) {
        best = total_of(stacks, bar) > total_of(stacks, best) ? bar : best;
    }
    return best;
}

static void add_legend(struct weft_text *text, const struct stacks *stacks)
{
    double x = LEFT;
    for (uint32_t s = 0; s < stacks->series_count; s++) {
        svg_rect(text, x, 8, 14, 12, stacks->colors[s]);
        svg_label(text, svg_at(x + 20, 18, SVG_START), "t", "%s", stacks->names[s]);
        x += 44 + 6.6 * (double)strlen(stacks->names[s]);
    }
}

// What a column stands for, in figures.
static void add_item(struct weft_text *text, const struct stacks *stacks, uint32_t bar)
{
    char line[320];
    int length =
        snprintf(line, sizeof line, "server %u: %.4g %s", bar, total_of(stacks, bar), stacks->unit);
    for (uint32_t s = 0; s < stacks->series_count; s++) {
        length +=
            snprintf(line + length, sizeof line - (size_t)length, "\n%s %.4g %s", stacks->names[s],
                     stacks->values[(size_t)bar * stacks->series_count + s], stacks->unit);
        WEFT_ASSERT((size_t)length < sizeof line);
    }
    svg_item_begin(text, "", "%s", line);
}

// Draws the columns; with `step` servers to a column the fullest of them stands for all.
static void add_columns(struct weft_text *text, const struct stacks *stacks, uint32_t step,
                        double high)
{
    uint32_t count = (stacks->bar_count + step - 1) / step;
    double slot = (RIGHT - LEFT) / count;
    double width = slot > 60 ? 46 : slot * 0.78;
    double bottom = TOP + HEIGHT;
    for (uint32_t c = 0; c < count; c++) {
        uint32_t to = (c + 1) * step;
        uint32_t bar = fullest(stacks, c * step, to < stacks->bar_count ? to : stacks->bar_count);
        double x = LEFT + (c + 0.5) * slot - width / 2;
        double y = bottom;
        add_item(text, stacks, bar);
        for (uint32_t s = 0; s < stacks->series_count; s++) {
            double value = stacks->values[(size_t)bar * stacks->series_count + s];
            double height = high > 0 ? HEIGHT * value / high : 0;
            y -= height;
            if (height >= 0.05) {
                svg_rect(text, x, y, width, height, stacks->colors[s]);
            }
        }
        svg_item_end(text);
        uint32_t every = (uint32_t)ceil(24 / slot);
        if (c % every == 0) {
            svg_label(text, svg_at(LEFT + (c + 0.5) * slot, bottom + 15, SVG_MIDDLE), "m n", "%u",
                      c * step);
        }
    }
    svg_line(text, LEFT, bottom, RIGHT, bottom, "x");
    svg_label(text, svg_at(RIGHT, bottom + 32, SVG_END), "m", "%s",
              step > 1 ? "server (the fullest of each block)" : "server");
}

// Draws the columns under one axis, with their limit as a line across.
static void add_stacks(struct weft_text *text, const struct stacks *stacks)
{
    double high = 0;
    for (uint32_t bar = 0; bar < stacks->bar_count; bar++) {
        high = fmax(high, total_of(stacks, bar));
    }
    // A limit far above the columns would flatten them: then it is told, not drawn.
    bool drawn = stacks->limit > 0 && stacks->limit <= 2.5 * high;
    high = drawn ? fmax(high, stacks->limit * 1.06) : high * 1.06;
    svg_begin(text, WIDTH, TOP + HEIGHT + 40, stacks->name, false);
    add_legend(text, stacks);
    svg_axis_y(text, svg_field(LEFT, RIGHT, TOP, TOP + HEIGHT), 0, high, stacks->unit);
    add_columns(text, stacks, (stacks->bar_count + BARS_MAX - 1) / BARS_MAX, high);
    if (drawn) {
        double y = TOP + HEIGHT * (1 - stacks->limit / high);
        weft_text_add(text,
                      "<path class=\"e\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\" "
                      "d=\"M%g %.1fH%g\"/>\n",
                      LEFT, y, RIGHT);
    }
    if (stacks->limit > 0) {
        svg_label(text, svg_at(RIGHT, 18, SVG_END), "ef b", "limit %s", stacks->limit_text);
    }
    svg_end(text);
}

void picture_memory(struct weft_text *text, const struct weft_memory *memory, uint32_t server_count,
                    double limit_bytes, struct weft_arena scratch)
{
    double high = 0;
    size_t kinds = 4; // and libraries where a software stack is stated
    for (uint32_t s = 0; s < server_count; s++) {
        high = fmax(high, memory[s].total_bytes);
        kinds = memory[s].library_bytes > 0 ? 5 : kinds;
    }
    struct svg_unit unit = svg_byte_unit(high);
    double *values = WEFT_NEW(&scratch, double, server_count *kinds + 1);
    for (uint32_t s = 0; s < server_count; s++) {
        const double bytes[] = {memory[s].parameters_bytes, memory[s].gradients_bytes,
                                memory[s].optimizer_bytes, memory[s].activations_bytes,
                                memory[s].library_bytes};
        for (size_t kind = 0; kind < kinds; kind++) {
            values[kinds * s + kind] = bytes[kind] / unit.scale;
        }
    }
    char limit_text[WEFT_UNIT_TEXT];
    struct stacks stacks = {
        .name = "Memory of the fullest accelerator of each server",
        .unit = unit.name,
        .names = {"parameters", "gradients", "optimizer state", "activations", "libraries"},
        .colors = {"m0", "m1", "m2", "m3", "m4"},
        .series_count = (uint32_t)kinds,
        .bar_count = server_count,
        .values = values,
        .limit = limit_bytes / unit.scale,
        .limit_text = weft_show_bytes(limit_text, limit_bytes),
    };
    add_stacks(text, &stacks);
}

void picture_uses(struct weft_text *text, const struct weft_breakdown *breakdown,
                  uint32_t server_count, uint64_t iteration_ps, struct weft_arena scratch)
{
    struct svg_unit unit = svg_time_unit(weft_seconds(iteration_ps));
    size_t count = (size_t)server_count * WEFT_TIME_USE_COUNT;
    double *values = WEFT_NEW(&scratch, double, count + 1);
    for (size_t i = 0; i < count; i++) {
        values[i] = weft_seconds(breakdown->use_ps[i]) / unit.scale;
    }
    struct stacks stacks = {
        .name = "What each server does with the iteration",
        .unit = unit.name,
        .names = {"computes", "waits for transfers", "waits for collectives", "idle"},
        .colors = {"fc", "f1", "f5", "fo"},
        .series_count = WEFT_TIME_USE_COUNT,
        .bar_count = server_count,
        .values = values,
    };
    add_stacks(text, &stacks);
}

// ---- the critical path ----

struct slice {
    const char *color;
    double share;
    char label[96];
    double label_x; // in its row of the legend
    uint32_t row;
};

// Shares that round to nothing are said as "< 0.1 %", since what is shown took some time.
static void name_slice(struct slice *slice, const char *what, uint64_t time_ps)
{
    char time[WEFT_UNIT_TEXT];
    char share[WEFT_UNIT_TEXT];
    snprintf(share, sizeof share, "%.1f", 100 * slice->share);
    snprintf(slice->label, sizeof slice->label, "%s %s (%s %%)", what,
             weft_show_time(time, time_ps), slice->share < 0.0005 ? "< 0.1" : share);
}

// What the iteration waited for, without what it did not; returns the number of slices.
static uint32_t cut_slices(struct slice *slices, const struct weft_breakdown *breakdown)
{
    uint64_t total_ps = breakdown->path_gap_ps;
    for (uint32_t k = 0; k < WEFT_TASK_KIND_COUNT; k++) {
        total_ps += breakdown->path_ps[k];
    }
    uint32_t count = 0;
    double x = LEFT;
    uint32_t row = 0;
    for (uint32_t k = 0; k <= WEFT_TASK_KIND_COUNT; k++) {
        bool gap = k == WEFT_TASK_KIND_COUNT;
        uint64_t time_ps = gap ? breakdown->path_gap_ps : breakdown->path_ps[k];
        if (time_ps == 0) {
            continue;
        }
        struct slice *slice = &slices[count++];
        slice->color = gap ? "fo" : svg_task_class((enum weft_task_kind)k);
        slice->share = (double)time_ps / (double)total_ps;
        name_slice(slice, gap ? "waiting" : weft_task_facts[k].name, time_ps);
        double width = 36 + 6.6 * (double)strlen(slice->label);
        if (x + width > RIGHT) {
            x = LEFT;
            row++;
        }
        slice->label_x = x;
        slice->row = row;
        x += width;
    }
    return count;
}

void picture_path(struct weft_text *text, const struct weft_breakdown *breakdown)
{
    enum { ROW_HEIGHT = 20 };
    struct slice slices[WEFT_TASK_KIND_COUNT + 1];
    uint32_t count = cut_slices(slices, breakdown);
    double below = count > 0 ? ROW_HEIGHT * slices[count - 1].row : 0;
    svg_begin(text, WIDTH, 66 + below, "What the iteration waited for", false);
    double x = LEFT;
    for (uint32_t i = 0; i < count; i++) {
        const struct slice *slice = &slices[i];
        double y = 42 + ROW_HEIGHT * slice->row;
        svg_item_begin(text, "", "%s", slice->label);
        svg_rect(text, x, 8, (RIGHT - LEFT) * slice->share, 22, slice->color);
        svg_item_end(text);
        x += (RIGHT - LEFT) * slice->share;
        svg_rect(text, slice->label_x, y, 14, 12, slice->color);
        svg_label(text, svg_at(slice->label_x + 20, y + 10, SVG_START), "t", "%s", slice->label);
    }
    svg_end(text);
}
