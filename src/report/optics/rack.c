// SPDX-License-Identifier: Apache-2.0
// A photonic rack: servers on a grid (z along x, the x and y of the torus down; without a torus row
// by row), their chips as squares in the colors of their slices, pairs of servers with fibers as
// gray lines, and over them a line in a slice's color for each slice that lights some. Lines
// between servers that are not side by side bend around those between them. With a failure the
// rack is drawn twice. O(chips + routes * hops).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>

#define CHIP 15.0
#define CHIP_GAP 3.0
#define PAD 7.0
#define LABEL 13.0
#define GAP_X 56.0
#define GAP_Y 38.0
#define MARGIN 44.0
#define TITLE 30.0
#define LEGEND_ROW 20.0
#define LEGEND_COLUMN 150.0
#define LINE_STEP 3.5
#define LINES_MAX 8u // of a pair, beside each other

// Where servers stand, in one of the two drawings.
struct grid {
    const struct weft_rack *rack;
    uint32_t columns, rows;
    uint32_t chip_columns;
    double box_width, box_height;
    double top;
};

struct point {
    double x, y;
};

static struct grid grid_of(const struct weft_rack *rack)
{
    struct grid grid = {.rack = rack};
    bool torus = rack->sides[0] > 0;
    grid.columns = torus ? rack->sides[2] : (uint32_t)ceil(sqrt(rack->server_count));
    grid.rows = torus ? rack->sides[0] * rack->sides[1]
                      : (rack->server_count + grid.columns - 1) / grid.columns;
    if (torus && grid.columns == 1) { // a plane: its x along x
        grid.columns = rack->sides[0];
        grid.rows = rack->sides[1];
    }
    grid.chip_columns = rack->block[0];
    uint32_t chip_rows = rack->block[1] * rack->block[2];
    grid.box_width = 2 * PAD + grid.chip_columns * (CHIP + CHIP_GAP) - CHIP_GAP;
    grid.box_width = grid.box_width < 40 ? 40 : grid.box_width;
    grid.box_height = 2 * PAD + LABEL + chip_rows * (CHIP + CHIP_GAP) - CHIP_GAP;
    return grid;
}

static double width_of(const struct grid *grid)
{
    return 2 * MARGIN + grid->columns * (grid->box_width + GAP_X) - GAP_X;
}

static double height_of(const struct grid *grid)
{
    return TITLE + 2 * MARGIN + grid->rows * (grid->box_height + GAP_Y) - GAP_Y;
}

static void cell_of(uint32_t *column, uint32_t *row, const struct grid *grid, uint32_t server)
{
    const struct weft_rack *rack = grid->rack;
    if (rack->sides[0] > 0 && rack->sides[2] > 1) {
        *column = server / (rack->sides[0] * rack->sides[1]);
        *row = server % (rack->sides[0] * rack->sides[1]);
    } else {
        *column = server % grid->columns;
        *row = server / grid->columns;
    }
}

static struct point corner_of(const struct grid *grid, uint32_t server)
{
    uint32_t column = 0;
    uint32_t row = 0;
    cell_of(&column, &row, grid, server);
    return (struct point){MARGIN + column * (grid->box_width + GAP_X),
                          grid->top + TITLE + MARGIN + row * (grid->box_height + GAP_Y)};
}

// A line between two servers, beside others by `shift`; it bends where others stand between.
static void add_line(struct weft_text *text, const struct grid *grid, uint32_t a, uint32_t b,
                     double shift, const char *style)
{
    struct point from = corner_of(grid, a);
    struct point to = corner_of(grid, b);
    uint32_t columns[2];
    uint32_t rows[2];
    cell_of(&columns[0], &rows[0], grid, a);
    cell_of(&columns[1], &rows[1], grid, b);
    from.x += grid->box_width / 2;
    from.y += grid->box_height / 2;
    to.x += grid->box_width / 2;
    to.y += grid->box_height / 2;
    double length = hypot(to.x - from.x, to.y - from.y);
    double across_x = -(to.y - from.y) / length;
    double across_y = (to.x - from.x) / length;
    uint32_t down = rows[1] > rows[0] ? rows[1] - rows[0] : rows[0] - rows[1];
    uint32_t along = columns[1] > columns[0] ? columns[1] - columns[0] : columns[0] - columns[1];
    double bend = along + down <= 1 ? 0
                  : along == 0      ? grid->box_width + 26 + 10.0 * down
                  : down == 0       ? grid->box_height + 22 + 10.0 * along
                                    : 30;
    double out = 2 * shift;
    double side = along == 0 ? -1 : 1; // to the right and up
    side = across_y * (along == 0 ? 0 : 1) + across_x * (along == 0 ? 1 : 0) > 0 ? -side : side;
    side = along == 0 ? -side : side;
    weft_text_add(text, "<path %s d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>\n", style,
                  from.x + across_x * shift, from.y + across_y * shift,
                  (from.x + to.x) / 2 + across_x * (side * bend + out),
                  (from.y + to.y) / 2 + across_y * (side * bend + out), to.x + across_x * shift,
                  to.y + across_y * shift);
}

static void add_fibers(struct weft_text *text, const struct grid *grid)
{
    for (uint32_t l = 0; l < grid->rack->link_count; l++) {
        const struct weft_rack_link *link = &grid->rack->links[l];
        add_line(text, grid, link->a, link->b, 0,
                 "class=\"g\" style=\"fill:none;stroke:#8888;stroke-width:1\"");
    }
}

// Whether a slice lights fibers of a pair, and by how many circuits.
static uint32_t circuits_of(const struct weft_rack_slice *slice, uint32_t a, uint32_t b)
{
    uint32_t circuits = 0;
    for (uint32_t r = 0; r < slice->route_count; r++) {
        const struct weft_rack_route *route = &slice->routes[r];
        for (uint32_t h = 0; h < route->hops; h++) {
            uint32_t from = route->servers[h];
            uint32_t to = route->servers[h + 1];
            circuits += (from == a && to == b) || (from == b && to == a) ? route->circuits : 0;
        }
    }
    return circuits;
}

static void add_routes(struct weft_text *text, const struct grid *grid,
                       const struct weft_rack_sight *sight, uint32_t slice_count)
{
    for (uint32_t l = 0; l < grid->rack->link_count; l++) {
        const struct weft_rack_link *link = &grid->rack->links[l];
        uint32_t drawn = 0;
        for (uint32_t s = 0; s < slice_count && drawn < LINES_MAX; s++) {
            const struct weft_rack_slice *slice = &sight->slices[s];
            uint32_t circuits =
                slice->tenant == WEFT_NONE ? 0 : circuits_of(slice, link->a, link->b);
            if (circuits == 0) {
                continue;
            }
            char style[96];
            snprintf(style, sizeof style, "class=\"s%u\" style=\"fill:none;stroke-width:%.1f\"",
                     s % SVG_COLOR_COUNT, 1.5 + fmin(circuits, 8) / 4);
            svg_item_begin(text, "", "%s: %u circuit%s between servers %u and %u", slice->name,
                           circuits, circuits == 1 ? "" : "s", link->a, link->b);
            add_line(text, grid, link->a, link->b,
                     LINE_STEP * ((drawn + 1) / 2) * (drawn % 2 == 0 ? 1 : -1), style);
            svg_item_end(text);
            drawn++;
        }
    }
}

static void add_server(struct weft_text *text, const struct grid *grid,
                       const struct weft_rack_sight *sight, uint32_t server)
{
    const struct weft_rack *rack = grid->rack;
    struct point at = corner_of(grid, server);
    weft_text_add(text,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" "
                  "class=\"bg\" style=\"stroke:#888;stroke-width:1\"/>\n",
                  at.x, at.y, grid->box_width, grid->box_height);
    svg_label(text, svg_at(at.x + PAD, at.y + PAD + 8, SVG_START), "t m", "%u", server);
    for (uint32_t c = 0; c < rack->chips_per_server; c++) {
        uint32_t chip = server * rack->chips_per_server + c;
        double x = at.x + PAD + c % grid->chip_columns * (CHIP + CHIP_GAP);
        double y = at.y + PAD + LABEL + c / grid->chip_columns * (CHIP + CHIP_GAP);
        uint32_t holder = sight->holders[chip];
        char classes[8] = "";
        if (holder != WEFT_NONE) {
            snprintf(classes, sizeof classes, "f%u", holder % SVG_COLOR_COUNT);
        }
        svg_item_begin(text, "", "chip %u: %s%s", chip,
                       holder == WEFT_NONE ? "free" : sight->slices[holder].name,
                       sight->lost[chip] ? ", failed" : "");
        weft_text_add(text, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s%s%s/>\n",
                      x, y, CHIP, CHIP, holder == WEFT_NONE ? "" : "class=\"", classes,
                      holder == WEFT_NONE ? "style=\"fill:none;stroke:#888;stroke-width:1\""
                                          : "\"");
        if (sight->lost[chip]) {
            weft_text_add(text,
                          "<path class=\"s6\" style=\"fill:none;stroke-width:2.5\" d=\"M%.1f "
                          "%.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f\"/>\n",
                          x, y, x + CHIP, y + CHIP, x + CHIP, y, x, y + CHIP);
        }
        svg_item_end(text);
    }
}

static void add_rack(struct weft_text *text, const struct grid *grid,
                     const struct weft_rack_sight *sight, uint32_t slice_count)
{
    add_fibers(text, grid);
    add_routes(text, grid, sight, slice_count);
    for (uint32_t s = 0; s < grid->rack->server_count; s++) {
        add_server(text, grid, sight, s);
    }
}

static bool holds(const struct weft_rack_picture *picture, uint32_t slice)
{
    return picture->before.slices[slice].tenant != WEFT_NONE ||
           picture->after.slices[slice].tenant != WEFT_NONE;
}

static void add_legend(struct weft_text *text, const struct weft_rack_picture *picture,
                       uint32_t columns, double top)
{
    uint32_t shown = 0;
    for (uint32_t s = 0; s < picture->slice_count; s++) {
        if (!holds(picture, s)) {
            continue;
        }
        const struct weft_rack_slice *slice = picture->after.slices[s].tenant != WEFT_NONE
                                                  ? &picture->after.slices[s]
                                                  : &picture->before.slices[s];
        double x = MARGIN + shown % columns * LEGEND_COLUMN;
        double y = top + shown / columns * LEGEND_ROW;
        char classes[8];
        snprintf(classes, sizeof classes, "f%u", s % SVG_COLOR_COUNT);
        svg_rect(text, x, y, 12, 12, classes);
        svg_label(text, svg_at(x + 18, y + 10, SVG_START), "t", "%.12s %ux%ux%u", slice->name,
                  slice->sides[0], slice->sides[1], slice->sides[2]);
        shown++;
    }
}

const char *weft_report_svg_rack(const struct weft_rack_picture *picture, struct weft_arena *arena)
{
    struct grid grid = grid_of(picture->rack);
    struct weft_text text;
    double width = fmax(width_of(&grid), 360);
    uint32_t columns = (uint32_t)fmax(1, floor((width - 2 * MARGIN) / LEGEND_COLUMN));
    uint32_t held = 0;
    for (uint32_t s = 0; s < picture->slice_count; s++) {
        held += holds(picture, s);
    }
    double drawings = (picture->fails ? 2 : 1) * height_of(&grid);
    double legend = (held + columns - 1) / columns * LEGEND_ROW + 16;
    weft_text_init(&text, arena);
    svg_begin(&text, width, drawings + legend, "Slices of a photonic rack", true);
    svg_label(&text, svg_at(16, 22, SVG_START), "t b", "%.40s%s", picture->rack->name,
              picture->fails ? " before the failure" : "");
    add_rack(&text, &grid, &picture->before, picture->slice_count);
    if (picture->fails) {
        grid.top = height_of(&grid);
        svg_label(&text, svg_at(16, grid.top + 22, SVG_START), "t b", "and after it");
        add_rack(&text, &grid, &picture->after, picture->slice_count);
    }
    add_legend(&text, picture, columns, drawings);
    svg_end(&text);
    return text.data;
}
