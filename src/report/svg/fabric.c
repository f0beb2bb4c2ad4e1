// SPDX-License-Identifier: Apache-2.0
// The fabric as a circle of servers: each ring has a color, other links are dashed.
//
// Servers stand in the order of the first ring that visits all of them, so that this ring is
// the circle itself and the others show their jumps. Parallel cables are drawn side by side.
// O(servers * (cables + links)).

#include "cables.h"
#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 960.0
#define HEIGHT 700.0
#define CENTER_X 350.0
#define CENTER_Y 350.0
#define RADIUS 300.0
#define LEGEND_X 712.0

struct drawing {
    const struct weft_plan *plan;
    uint32_t server_count;
    uint32_t *place; // of each server on the circle
    uint32_t *server_at;
    struct cable_list list;
    const double *link_bytes; // of an iteration; NULL = not known
    uint32_t *color_of;       // of each ring that has cables of its own: 0.., else WEFT_NONE
};

// Servers stand in the order of the first ring where it has all of them, so that the outline of the
// picture is a ring; else by number.
static void place_servers(struct drawing *drawing)
{
    const struct weft_ring_set *set = &drawing->plan->topology.rings;
    uint32_t n = drawing->server_count;
    bool by_ring = set->ring_count > 0 && set->rings[0].member_count == n;
    for (uint32_t i = 0; i < n; i++) {
        drawing->place[i] = WEFT_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t server = by_ring ? set->rings[0].members[i] : i;
        by_ring = by_ring && server < n && drawing->place[server] == WEFT_NONE;
        if (by_ring) {
            drawing->place[server] = i;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        drawing->place[i] = by_ring ? drawing->place[i] : i;
        drawing->server_at[drawing->place[i]] = i;
    }
}

static void point(const struct drawing *drawing, uint32_t server, double radius, double *x,
                  double *y)
{
    double turn = (double)drawing->place[server] / drawing->server_count;
    double angle = 2 * 3.14159265358979323846 * turn;
    *x = CENTER_X + radius * sin(angle);
    *y = CENTER_Y - radius * cos(angle);
}

// Dots that tell directions fit in small pictures only.
static bool has_dots(const struct drawing *drawing)
{
    bool one_way = false;
    for (uint32_t i = 0; i < drawing->list.count; i++) {
        one_way = one_way || !drawing->list.cables[i].both;
    }
    return one_way && drawing->server_count <= 64;
}

// The ends of a cable on the circle. Cables beside each other stand a little apart.
static void find_ends(const struct drawing *drawing, const struct cable *cable, double *x,
                      double *y)
{
    point(drawing, cable->from, RADIUS, &x[0], &y[0]);
    point(drawing, cable->to, RADIUS, &x[1], &y[1]);
    double length = hypot(x[1] - x[0], y[1] - y[0]);
    double gap = drawing->server_count <= 64 ? 5 : 2;
    double apart = (cable->lane - (cable->lanes - 1) / 2.0) * gap / (length > 0 ? length : 1);
    double across[2] = {(y[0] - y[1]) * apart, (x[1] - x[0]) * apart};
    for (uint32_t end = 0; end < 2; end++) {
        x[end] += across[0];
        y[end] += across[1];
    }
}

// Chords of large fabrics bend towards the center, so that those with a common end part early.
static void add_chord(struct weft_text *text, const struct drawing *drawing,
                      const struct cable *cable)
{
    double x[2];
    double y[2];
    find_ends(drawing, cable, x, y);
    if (drawing->server_count <= 64) {
        weft_text_add(text, "M%.1f %.1fL%.1f %.1f", x[0], y[0], x[1], y[1]);
        return;
    }
    double bend = 1 - 0.3 * hypot(x[0] - x[1], y[0] - y[1]) / (2 * RADIUS);
    double mid_x = CENTER_X + ((x[0] + x[1]) / 2 - CENTER_X) * bend;
    double mid_y = CENTER_Y + ((y[0] + y[1]) / 2 - CENTER_Y) * bend;
    weft_text_add(text, "M%.1f %.1fQ%.1f %.1f %.1f %.1f", x[0], y[0], mid_x, mid_y, x[1], y[1]);
}

// What a cable is drawn as: a color below SVG_COLOR_COUNT, or one of these.
#define FURTHER_RINGS SVG_COLOR_COUNT
#define NO_RING WEFT_NONE

static uint32_t color_of(const struct drawing *drawing, const struct cable *cable)
{
    if (cable->ring == WEFT_NONE) {
        return NO_RING;
    }
    uint32_t color = drawing->color_of[cable->ring];
    return color < SVG_COLOR_COUNT ? color : FURTHER_RINGS;
}

// Colors go by rank to the rings that have cables of their own; a ring that runs back over the
// cables of one before it needs none.
static void give_colors(struct drawing *drawing)
{
    uint32_t color = 0;
    for (uint32_t r = 0; r < drawing->plan->topology.rings.ring_count; r++) {
        bool own = drawing->list.owner_of[r] == r;
        drawing->color_of[r] = own ? color++ : WEFT_NONE;
    }
}

// What crosses a link in one direction, beside what it could carry: " 12.3 MB to 5, busy 41 %".
static int put_load(char *line, size_t size, const struct drawing *drawing, uint32_t from,
                    uint32_t to)
{
    const struct weft_fabric *fabric = &drawing->plan->network.fabric;
    uint32_t link = weft_fabric_find_link(fabric, from, to);
    if (drawing->link_bytes == NULL || link == WEFT_NONE) {
        return 0;
    }
    char bytes[WEFT_UNIT_TEXT];
    double most = fabric->links[link].rate_Bps * drawing->plan->iteration_s;
    int length =
        snprintf(line, size, "\n%s to %u", weft_show_bytes(bytes, drawing->link_bytes[link]), to);
    if (most > 0) {
        length += snprintf(line + length, size - (size_t)length, ", %.0f %% of the iteration",
                           100 * drawing->link_bytes[link] / most);
    }
    return length;
}

static void begin_cable(struct weft_text *text, const struct drawing *drawing,
                        const struct cable *cable)
{
    char keys[64];
    char ring[24] = "no ring";
    char rate[WEFT_UNIT_TEXT];
    char loads[160] = "";
    const struct weft_fabric *fabric = &drawing->plan->network.fabric;
    if (cable->ring != WEFT_NONE) {
        snprintf(ring, sizeof ring, "ring %u", cable->ring + 1);
    }
    uint32_t link = weft_fabric_find_link(fabric, cable->from, cable->to);
    WEFT_ASSERT(link != WEFT_NONE);
    int length = put_load(loads, sizeof loads, drawing, cable->from, cable->to);
    if (cable->both) {
        put_load(loads + length, sizeof loads - (size_t)length, drawing, cable->to, cable->from);
    }
    snprintf(keys, sizeof keys, "data-s=\"%u %u\" data-k=\"%s\"", cable->from, cable->to, ring);
    svg_item_begin(text, keys, "%u %s %u: %s, %s%s%s", cable->from, cable->both ? "↔" : "→",
                   cable->to, ring, weft_show_rate(rate, fabric->links[link].rate_Bps),
                   cable->lanes > 1 ? " with the cables beside it" : "", loads);
}

static uint32_t add_cables_of(struct weft_text *text, const struct drawing *drawing, uint32_t color,
                              const char *classes, const char *style)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < drawing->list.count; i++) {
        const struct cable *cable = &drawing->list.cables[i];
        if (color_of(drawing, cable) != color) {
            continue;
        }
        if (count++ == 0) {
            weft_text_add(text, "<g class=\"%s\" style=\"%s\">\n", classes, style);
        }
        begin_cable(text, drawing, cable);
        weft_text_add(text, "<path d=\"");
        add_chord(text, drawing, cable);
        weft_text_add(text, "\"/>");
        svg_item_end(text);
    }
    if (count > 0) {
        weft_text_add(text, "</g>\n");
    }
    return count;
}

// One-way links end in a dot at three quarters of their length.
static void add_directions(struct weft_text *text, const struct drawing *drawing)
{
    if (!has_dots(drawing)) {
        return;
    }
    for (uint32_t i = 0; i < drawing->list.count; i++) {
        const struct cable *cable = &drawing->list.cables[i];
        if (cable->both) {
            continue;
        }
        double x[2];
        double y[2];
        find_ends(drawing, cable, x, y);
        char color[16] = "fo";
        if (color_of(drawing, cable) < SVG_COLOR_COUNT) {
            snprintf(color, sizeof color, "o%u", color_of(drawing, cable));
        }
        weft_text_add(text, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"%s\"/>\n",
                      x[0] + (x[1] - x[0]) * 0.75, y[0] + (y[1] - y[0]) * 0.75, color);
    }
}

// A server's cables, and what it sends and receives over all of them.
static void begin_server(struct weft_text *text, const struct drawing *drawing, uint32_t server)
{
    const struct weft_fabric *fabric = &drawing->plan->network.fabric;
    uint32_t cables = 0;
    double sent = 0;
    double received = 0;
    for (uint32_t i = 0; i < drawing->list.count; i++) {
        const struct cable *cable = &drawing->list.cables[i];
        cables += cable->from == server || cable->to == server;
    }
    for (uint32_t l = 0; drawing->link_bytes != NULL && l < fabric->link_count; l++) {
        sent += fabric->links[l].from == server ? drawing->link_bytes[l] : 0;
        received += fabric->links[l].to == server ? drawing->link_bytes[l] : 0;
    }
    char keys[32];
    char loads[96] = "";
    char out[WEFT_UNIT_TEXT];
    char in[WEFT_UNIT_TEXT];
    if (drawing->link_bytes != NULL) {
        snprintf(loads, sizeof loads, "\nsends %s, receives %s", weft_show_bytes(out, sent),
                 weft_show_bytes(in, received));
    }
    snprintf(keys, sizeof keys, "data-s=\"%u\"", server);
    svg_item_begin(text, keys, "server %u: %u cables%s", server, cables, loads);
}

// Servers stand in the text as on the circle: the page's script folds neighbors into groups.
static void add_servers(struct weft_text *text, const struct drawing *drawing)
{
    uint32_t n = drawing->server_count;
    double size = n <= 16 ? 16 : n <= 32 ? 12 : n <= 64 ? 9 : n <= 200 ? 3 : 2;
    uint32_t label_every = n <= 64 ? 1 : (n + 31) / 32;
    const char *label = n <= 16 ? "t b" : n <= 32 ? "t n" : n <= 64 ? "t nn" : "m n";
    weft_text_add(text, "<g class=\"%s\">\n", n <= 64 ? "p x" : "fo");
    for (uint32_t place = 0; place < n; place++) {
        double x = 0;
        double y = 0;
        uint32_t server = drawing->server_at[place];
        point(drawing, server, RADIUS, &x, &y);
        begin_server(text, drawing, server);
        weft_text_add(text, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>", x, y, size);
        svg_item_end(text);
    }
    weft_text_add(text, "</g>\n<g pointer-events=\"none\">\n");
    for (uint32_t place = 0; place < n; place += label_every) {
        double x = 0;
        double y = 0;
        uint32_t server = drawing->server_at[place];
        point(drawing, server, n <= 64 ? RADIUS : RADIUS + 16, &x, &y);
        svg_label(text, svg_at(x, y + (n <= 16 ? 4 : 3), SVG_MIDDLE), label, "%u", server);
    }
    weft_text_add(text, "</g>\n");
}

// Lines of a legend: a stroke, then words.
static void legend_row(struct weft_text *text, double y, const char *classes, const char *style)
{
    weft_text_add(text,
                  "<path class=\"%s\" style=\"%s;opacity:1;stroke-width:3\" d=\"M%g %gh28\"/>\n",
                  classes, style, LEGEND_X, y - 4);
}

// The ring that gave the color, and those that only share its cables.
static void add_ring_names(struct weft_text *text, const struct drawing *drawing, uint32_t owner,
                           double y)
{
    char names[48];
    int length = snprintf(names, sizeof names, "ring %u", owner + 1);
    bool any = false;
    for (uint32_t r = 0; r < drawing->plan->topology.rings.ring_count && length < 24; r++) {
        if (r != owner && drawing->list.owner_of[r] == owner) {
            length += snprintf(names + length, sizeof names - (size_t)length, "%s %u",
                               any ? "" : ", with", r + 1);
            any = true;
        }
    }
    svg_label(text, svg_at(LEGEND_X + 38, y, SVG_START), "t b", "%s%s", names,
              length < 24 ? "" : " ...");
}

static double add_ring_legend(struct weft_text *text, const struct drawing *drawing, uint32_t ring,
                              uint32_t cables, double y)
{
    const struct weft_ring *of = &drawing->plan->topology.rings.rings[ring];
    char classes[16];
    snprintf(classes, sizeof classes, "q%u", drawing->color_of[ring]);
    legend_row(text, y, classes, "");
    add_ring_names(text, drawing, ring, y);
    svg_label(text, svg_at(LEGEND_X + 38, y + 15, SVG_START), "m n",
              "%u servers of group %u, %u cables", of->member_count, of->group, cables);
    svg_label(text, svg_at(LEGEND_X + 38, y + 28, SVG_START), "m n", "%.3g %% of the group's bytes",
              100 * of->share_ratio);
    return y + 52;
}

// Explains the colors of rings, then the strokes of cables that no named ring uses, then the dots,
// each only where it is drawn.
static void add_legend(struct weft_text *text, const struct drawing *drawing,
                       const uint32_t *counts, uint32_t further, uint32_t others)
{
    const struct weft_ring_set *set = &drawing->plan->topology.rings;
    double y = 64;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        uint32_t color = drawing->color_of[r];
        if (color < SVG_COLOR_COUNT) {
            y = add_ring_legend(text, drawing, r, counts[color], y);
        }
    }
    if (further > 0) {
        legend_row(text, y, "so", "");
        svg_label(text, svg_at(LEGEND_X + 38, y, SVG_START), "t", "further rings: %u cables",
                  further);
        y += 24;
    }
    if (others > 0) {
        legend_row(text, y, "so", "stroke-dasharray:5 4");
        svg_label(text, svg_at(LEGEND_X + 38, y, SVG_START), "t", "no ring: %u cables", others);
        y += 24;
    }
    if (has_dots(drawing)) {
        weft_text_add(text, "<circle cx=\"%g\" cy=\"%g\" r=\"3\" class=\"fo\"/>\n", LEGEND_X + 21,
                      y - 4);
        svg_label(text, svg_at(LEGEND_X + 38, y, SVG_START), "t",
                  "one way, to the end with the dot");
    }
}

static const char *stroke_of(uint32_t server_count)
{
    if (server_count <= 16) {
        return "stroke-width:2.2";
    }
    if (server_count <= 64) {
        return "stroke-width:1.4";
    }
    return server_count <= 200 ? "stroke-width:.9;opacity:.75" : "stroke-width:.5;opacity:.5";
}

// What has no color lies below, the first ring on top.
static void add_cables(struct weft_text *text, const struct drawing *drawing)
{
    const char *stroke = stroke_of(drawing->server_count);
    char dashed[64];
    snprintf(dashed, sizeof dashed, "%s;stroke-dasharray:5 4", stroke);
    uint32_t counts[SVG_COLOR_COUNT] = {0};
    uint32_t others = add_cables_of(text, drawing, NO_RING, "so", dashed);
    uint32_t further = add_cables_of(text, drawing, FURTHER_RINGS, "so", stroke);
    for (uint32_t color = SVG_COLOR_COUNT; color-- > 0;) {
        char classes[16];
        snprintf(classes, sizeof classes, "q%u", color);
        bool outline = color == 0 && drawing->server_count > 64;
        counts[color] =
            add_cables_of(text, drawing, color, classes, outline ? "stroke-width:1.8" : stroke);
    }
    add_legend(text, drawing, counts, further, others);
}

void picture_fabric(struct weft_text *text, const struct weft_plan *plan, const double *link_bytes,
                    bool alone, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t n = fabric->server_count;
    struct drawing drawing = {
        .plan = plan,
        .server_count = n,
        .place = WEFT_NEW(&scratch, uint32_t, n),
        .server_at = WEFT_NEW(&scratch, uint32_t, n),
        .list = cables_list(plan, &scratch),
        .link_bytes = link_bytes,
        .color_of = WEFT_NEW(&scratch, uint32_t, plan->topology.rings.ring_count),
    };
    place_servers(&drawing);
    give_colors(&drawing);
    svg_begin(text, WIDTH, HEIGHT, "The fabric: servers on a circle, rings in colors", alone);
    svg_label(text, svg_at(LEGEND_X, 30, SVG_START), "t l b", "%u servers, %llu cables", n,
              (unsigned long long)drawing.list.total);
    add_cables(text, &drawing);
    add_directions(text, &drawing);
    add_servers(text, &drawing);
    svg_end(text);
}

const char *weft_report_svg_fabric(const struct weft_plan *plan, struct weft_arena *arena,
                                   struct weft_arena scratch)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    picture_fabric(&text, plan, NULL, true, scratch);
    return text.data;
}
