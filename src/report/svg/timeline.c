// SPDX-License-Identifier: Apache-2.0
// What every server computes and sends, over one iteration: a lane for each server, compute
// above the line, the network below it.
//
// With more than 128 servers a lane stands for several, and with more than 32 lanes compute and
// network have a panel each. O(tasks).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define LEFT 56.0
#define RIGHT 980.0
#define TOP 40.0
#define COLUMNS 924u // one for each unit of the picture's width
#define LANES_MAX 128u
#define KINDS 7u

// Above the line of a lane stands compute, below it the network. A color is a kind of task on the
// whole page.
static const struct {
    const char *name;
    enum weft_task_kind kind; // of its color
    bool network;
} kinds[KINDS] = {
    {"forward", WEFT_TASK_FORWARD, false},
    {"backward", WEFT_TASK_BACKWARD, false},
    {"other compute", WEFT_TASK_UPDATE, false},
    {"AllReduce", WEFT_TASK_ALLREDUCE, true},
    {"ReduceScatter", WEFT_TASK_REDUCE_SCATTER, true},
    {"AllGather", WEFT_TASK_ALL_GATHER, true},
    {"transfer", WEFT_TASK_TRANSFER, true},
};

struct timeline {
    const struct weft_taskgraph *graph;
    const uint64_t *start_ps;
    const uint64_t *end_ps;
    uint64_t iteration_ps;
    uint32_t lane_count;
    uint32_t lane_step; // every so manyth server has a lane
    double lane_height;
    double network_top; // of the second panel, where compute and network have one each; else 0
    uint8_t *busy;      // [lane][kind][column]
};

static uint32_t kind_of(enum weft_task_kind kind)
{
    switch (kind) {
    case WEFT_TASK_FORWARD:
        return 0;
    case WEFT_TASK_BACKWARD:
        return 1;
    case WEFT_TASK_UPDATE:
    case WEFT_TASK_LOCAL:
        return 2;
    case WEFT_TASK_ALLREDUCE:
        return 3;
    case WEFT_TASK_REDUCE_SCATTER:
        return 4;
    case WEFT_TASK_ALL_GATHER:
        return 5;
    case WEFT_TASK_TRANSFER:
        return 6;
    case WEFT_TASK_BARRIER:
    case WEFT_TASK_KIND_COUNT:
        break;
    }
    return KINDS;
}

// Fills the columns that the task's time touches.
static void fill_span(struct timeline *timeline, uint32_t server, uint32_t kind, uint32_t task)
{
    if (server % timeline->lane_step != 0) {
        return;
    }
    double per_ps = (double)COLUMNS / (double)timeline->iteration_ps;
    double from = floor((double)timeline->start_ps[task] * per_ps);
    double to = ceil((double)timeline->end_ps[task] * per_ps);
    uint8_t *columns =
        timeline->busy + ((size_t)(server / timeline->lane_step) * KINDS + kind) * COLUMNS;
    for (double column = from; column < to && column < COLUMNS; column++) {
        columns[(uint32_t)column] = 1;
    }
}

static void fill_lanes(struct timeline *timeline)
{
    const struct weft_taskgraph *graph = timeline->graph;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t kind = kind_of((enum weft_task_kind)graph->kind[t]);
        if (kind == KINDS || timeline->end_ps[t] == WEFT_NEVER ||
            timeline->end_ps[t] <= timeline->start_ps[t]) {
            continue;
        }
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            fill_span(timeline, graph->from[t], kind, t);
            fill_span(timeline, graph->to[t], kind, t);
        } else if (weft_task_is_collective(graph, t)) {
            uint32_t group = graph->group[t];
            for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
                fill_span(timeline, graph->group_members[i], kind, t);
            }
        } else {
            fill_span(timeline, graph->device_server[graph->device[t]], kind, t);
        }
    }
}

// One path a kind: its busy columns of all lanes, runs joined.
static void add_kind(struct weft_text *text, const struct timeline *timeline, uint32_t kind)
{
    double height = timeline->lane_height;
    bool panels = timeline->network_top > 0;
    double part = panels ? height : (height - 4) / 2;
    double top = TOP + 2;
    if (panels) {
        top = kinds[kind].network ? timeline->network_top : TOP;
    } else if (kinds[kind].network) {
        top += part;
    }
    bool open = false;
    for (uint32_t lane = 0; lane < timeline->lane_count; lane++) {
        const uint8_t *columns = timeline->busy + ((size_t)lane * KINDS + kind) * COLUMNS;
        double y = top + lane * height;
        for (uint32_t column = 0; column < COLUMNS; column++) {
            uint32_t end = column;
            while (end < COLUMNS && columns[end] != 0) {
                end++;
            }
            if (end == column) {
                continue;
            }
            if (!open) {
                weft_text_add(text, "<path class=\"%s\" d=\"", svg_task_class(kinds[kind].kind));
                open = true;
            }
            weft_text_add(text, "M%g %.1fh%uv%.1fh-%uz", LEFT + column, y, end - column, part,
                          end - column);
            column = end;
        }
    }
    if (open) {
        weft_text_add(text, "\"/>\n");
    }
}

// The lanes' numbers and lines of one panel, and its axis of time.
static void add_panel(struct weft_text *text, const struct timeline *timeline, double top)
{
    double height = timeline->lane_height;
    double bottom = top + timeline->lane_count * height;
    double iteration_s = weft_seconds(timeline->iteration_ps);
    struct svg_unit unit = svg_time_unit(iteration_s);
    svg_axis_x(text, svg_field(LEFT, RIGHT, top, bottom), 0, iteration_s / unit.scale, unit.name);
    uint32_t every = (uint32_t)ceil(12 / height);
    for (uint32_t lane = 0; lane < timeline->lane_count; lane++) {
        double y = top + lane * height;
        if (height > 8) {
            svg_line(text, LEFT, y + height, RIGHT, y + height, "g");
        }
        if (lane % every == 0) {
            svg_label(text, svg_at(LEFT - 8, y + height / 2 + 3, SVG_END), "m n", "%u",
                      lane * timeline->lane_step);
        }
    }
    weft_text_add(text,
                  "<text class=\"m n\" transform=\"translate(14 %g)rotate(-90)\" "
                  "text-anchor=\"end\">server</text>\n",
                  top);
}

// Only kinds that some task is of.
static void add_legend(struct weft_text *text, const struct timeline *timeline, double bottom)
{
    bool has[KINDS + 1] = {false};
    for (uint32_t t = 0; t < timeline->graph->task_count; t++) {
        has[kind_of((enum weft_task_kind)timeline->graph->kind[t])] = true;
    }
    double x = LEFT;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        if (has[kind]) {
            svg_rect(text, x, 8, 14, 12, svg_task_class(kinds[kind].kind));
            svg_label(text, svg_at(x + 20, 18, SVG_START), "t", "%s", kinds[kind].name);
            x += 44 + 6.6 * (double)strlen(kinds[kind].name);
        }
    }
    svg_label(text, svg_at(LEFT, bottom + 32, SVG_START), "m", "%s",
              timeline->network_top > 0 ? "upper panel: compute, lower: network"
                                        : "above: compute, below: network");
}

// Chooses how the lanes are laid out: at most LANES_MAX of them, and two panels, compute above
// the network, where one lane would be too thin for both.
void picture_timeline(struct weft_text *text, const struct weft_taskgraph *graph,
                      const uint64_t *start_ps, const uint64_t *end_ps, uint64_t iteration_ps,
                      struct weft_arena scratch)
{
    uint32_t n = graph->server_count;
    uint32_t step = (n + LANES_MAX - 1) / LANES_MAX;
    struct timeline timeline = {
        .graph = graph,
        .start_ps = start_ps,
        .end_ps = end_ps,
        .iteration_ps = iteration_ps > 0 ? iteration_ps : 1,
        .lane_step = step,
        .lane_count = (n + step - 1) / step,
    };
    uint32_t lanes = timeline.lane_count;
    bool panels = lanes > 32;
    double one_panel = lanes <= 16 ? 24 : 16;
    double two_panels = lanes <= 64 ? 5 : 3;
    timeline.lane_height = panels ? two_panels : one_panel;
    timeline.busy = WEFT_NEW(&scratch, uint8_t, (size_t)lanes * KINDS * COLUMNS);
    fill_lanes(&timeline);
    double bottom = TOP + lanes * timeline.lane_height;
    if (panels) {
        timeline.network_top = bottom + 44;
        bottom = timeline.network_top + lanes * timeline.lane_height;
    }
    svg_begin(text, WIDTH, bottom + 40, "Timeline of compute and communication", false);
    add_legend(text, &timeline, bottom);
    add_panel(text, &timeline, TOP);
    if (panels) {
        add_panel(text, &timeline, timeline.network_top);
    }
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        add_kind(text, &timeline, kind);
    }
    svg_end(text);
}
