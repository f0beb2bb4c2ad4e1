// SPDX-License-Identifier: Apache-2.0
// Wavelengths of a fiber ring: its nodes around a circle, each wavelength a track of its own with
// the arcs that use it, those of the clockwise fiber outside the nodes and the others inside.
// Arcs of one track never meet. O(arcs + nodes).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 560.0
#define TOP 44.0
#define MIDDLE 280.0
#define NODES_RADIUS 150.0
#define OUTER_RADIUS 262.0
#define INNER_RADIUS 36.0
#define TRACK_MAX 14.0
#define LABELS_MAX 32u // nodes beyond get every so many-th label
#define TURN 6.283185307179586

struct spot {
    double x;
    double y;
};

// Node `at` of `ring` from the top clockwise, at this distance from the middle.
static struct spot spot_of(double at, uint32_t ring, double radius)
{
    double angle = TURN * at / ring;
    return (struct spot){WIDTH / 2 + radius * sin(angle), TOP + MIDDLE - radius * cos(angle)};
}

static void add_arc(struct weft_text *text, const struct weft_ring_arc *arc, uint32_t ring,
                    double radius, uint32_t color)
{
    // Ends stay a little off their nodes, so that arcs that follow each other are told apart.
    double gap = 0.12;
    struct spot from = spot_of(arc->start + gap, ring, radius);
    struct spot to = spot_of(arc->start + arc->hops - gap, ring, radius);
    int large = 2 * arc->hops > ring ? 1 : 0;
    weft_text_add(text,
                  "<path class=\"s%u\" style=\"fill:none;stroke-width:3\" d=\"M%.2f %.2fA%.2f %.2f "
                  "0 %d 1 %.2f %.2f\"/>\n",
                  color % SVG_COLOR_COUNT, from.x, from.y, radius, radius, large, to.x, to.y);
}

static void add_nodes(struct weft_text *text, uint32_t ring)
{
    uint32_t step = (ring + LABELS_MAX - 1) / LABELS_MAX;
    for (uint32_t i = 0; i < ring; i++) {
        struct spot at = spot_of(i, ring, NODES_RADIUS);
        if (i % step == 0) {
            svg_label(text, svg_at(at.x, at.y + 4, SVG_MIDDLE), "t", "%u", i);
        }
    }
}

const char *weft_report_svg_wavelengths(const struct weft_ring_picture *picture,
                                        struct weft_arena *arena)
{
    const struct weft_ring_coloring *coloring = picture->coloring;
    double tracks = coloring->wavelengths > 0 ? coloring->wavelengths : 1;
    double out = fmin(TRACK_MAX, (OUTER_RADIUS - NODES_RADIUS - 16) / tracks);
    double in = fmin(TRACK_MAX, (NODES_RADIUS - INNER_RADIUS - 16) / tracks);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, TOP + 2 * MIDDLE, "Wavelengths of a fiber ring", true);
    svg_label(&text, svg_at(16, 24, SVG_START), "t b", "%u arcs, %u wavelength%s, load %u",
              picture->arc_count, coloring->wavelengths, coloring->wavelengths == 1 ? "" : "s",
              coloring->load);
    if (picture->both_ways) {
        svg_label(&text, svg_at(WIDTH - 16, 24, SVG_END), "t m",
                  "outside clockwise, inside counter-clockwise");
    }
    add_nodes(&text, picture->ring);
    for (uint32_t a = 0; a < picture->arc_count; a++) {
        struct weft_ring_arc arc = picture->arcs[a];
        uint32_t color = coloring->colors[a];
        bool turned = coloring->turned[a];
        svg_item_begin(&text, "", "arc %u: %u to %u %s, wavelength %u", a, arc.start,
                       (arc.start + arc.hops) % picture->ring,
                       turned ? "counter-clockwise" : "clockwise", color);
        if (turned) { // the rest of the ring, from its end to its start
            arc.start = (arc.start + arc.hops) % picture->ring;
            arc.hops = picture->ring - arc.hops;
        }
        double radius = turned ? NODES_RADIUS - 14 - color * in : NODES_RADIUS + 14 + color * out;
        add_arc(&text, &arc, picture->ring, radius, color);
        svg_item_end(&text);
    }
    svg_end(&text);
    return text.data;
}
