// SPDX-License-Identifier: Apache-2.0
// A mesh of interferometers with its routes: hexagons as they are built, a line for each cell, and
// each route on its side of the cells that it passes, so that bar runs beside a cell and cross goes
// over it. O(cells).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>

#define MARGIN 44.0
#define TOP 76.0
#define COLOR_COUNT 14u
#define ASIDE 0.24 // of a cell's length: how far a waveguide is from its vertex
#define OUTSIDE 0.34

struct place {
    double x, y;
};

struct sheet {
    const struct weft_mesh *mesh;
    double side; // of a hexagon
    struct place *hexagons;
};

static struct place vertex_place(const struct sheet *sheet, uint32_t v)
{
    double chain = sheet->mesh->vertex_chain[v];
    double x = sheet->mesh->vertex_x[v];
    bool lower = (sheet->mesh->vertex_x[v] + sheet->mesh->vertex_chain[v]) % 2 == 0;
    return (struct place){MARGIN + x * sqrt(3) / 2 * sheet->side,
                          TOP + (1.5 * chain + (lower ? 0.25 : -0.25)) * sheet->side};
}

// The middle of each hexagon is that of its cells.
static void find_hexagons(struct sheet *sheet)
{
    const struct weft_mesh *mesh = sheet->mesh;
    for (uint32_t s = 0; s < 4 * mesh->cell_count; s++) {
        uint32_t face = mesh->cell_faces[2 * (s / 4) + s % 2];
        struct place at = vertex_place(sheet, mesh->cell_vertices[2 * (s / 4) + s / 2 % 2]);
        if (face < mesh->rows * mesh->columns) { // each corner is that of two cells
            sheet->hexagons[face].x += at.x / 12;
            sheet->hexagons[face].y += at.y / 12;
        }
    }
}

// Where a stub is drawn: beside its vertex, on its face's side of the cell.
static struct place stub_place(const struct sheet *sheet, uint32_t stub)
{
    const struct weft_mesh *mesh = sheet->mesh;
    uint32_t e = stub / 4;
    struct place at = vertex_place(sheet, mesh->cell_vertices[2 * e + stub / 2 % 2]);
    struct place far = vertex_place(sheet, mesh->cell_vertices[2 * e + 1 - stub / 2 % 2]);
    uint32_t face = mesh->cell_faces[2 * e + stub % 2];
    uint32_t other = mesh->cell_faces[2 * e + 1 - stub % 2];
    bool outside = face == mesh->rows * mesh->columns;
    struct place middle = sheet->hexagons[outside ? other : face];
    double away = outside ? -1 : 1;
    double x = away * (middle.x - at.x) / sheet->side;
    double y = away * (middle.y - at.y) / sheet->side;
    double distance = (mesh->stub_mates[stub] == WEFT_NONE ? OUTSIDE : ASIDE) * sheet->side;
    struct place place = {at.x + distance * x, at.y + distance * y};
    if (mesh->stub_mates[stub] == WEFT_NONE) { // two ports of a vertex, each toward its cell
        place.x += 0.22 * (far.x - at.x);
        place.y += 0.22 * (far.y - at.y);
    }
    return place;
}

// A wire is drawn between its two stubs: on the rim these differ a little.
static struct place wire_place(const struct sheet *sheet, uint32_t stub)
{
    struct place one = stub_place(sheet, stub);
    uint32_t mate = sheet->mesh->stub_mates[stub];
    if (mate == WEFT_NONE) {
        return one;
    }
    struct place other = stub_place(sheet, mate);
    return (struct place){(one.x + other.x) / 2, (one.y + other.y) / 2};
}

static void add_cells(struct weft_text *text, const struct sheet *sheet,
                      const struct weft_mesh_picture *picture)
{
    const struct weft_mesh *mesh = sheet->mesh;
    for (uint32_t e = 0; e < mesh->cell_count; e++) {
        struct place a = vertex_place(sheet, mesh->cell_vertices[2 * e]);
        struct place b = vertex_place(sheet, mesh->cell_vertices[2 * e + 1]);
        bool stuck = picture->stuck != NULL && picture->stuck[e] != WEFT_MESH_FREE;
        svg_item_begin(text, "", "cell %u: %s%s", e, picture->cells[e] != 0 ? "cross" : "bar",
                       stuck ? ", stuck" : "");
        weft_text_add(text,
                      "<line class=\"%s\" stroke-width=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                      "y2=\"%.1f\"/>\n",
                      stuck ? "e" : "so", stuck ? "4" : "1", a.x, a.y, b.x, b.y);
        svg_item_end(text);
    }
}

static void add_route(struct weft_text *text, const struct sheet *sheet,
                      const struct weft_mesh_route *route, uint32_t index)
{
    const char *color = index % COLOR_COUNT < SVG_COLOR_COUNT ? "s" : "q";
    svg_item_begin(text, "", "%u-%u: %u cells", route->from, route->to, route->length);
    weft_text_add(text, "<path class=\"%s%u\" stroke-width=\"2.2\" stroke-linejoin=\"round\" d=\"M",
                  color, index % SVG_COLOR_COUNT);
    for (uint32_t i = 0; i <= route->length; i++) {
        uint32_t stub = i < route->length ? route->stubs[i] : sheet->mesh->port_stubs[route->to];
        struct place at = wire_place(sheet, stub);
        weft_text_add(text, "%s%.1f %.1f", i > 0 ? "L" : "", at.x, at.y);
    }
    weft_text_add(text, "\"/>\n");
    svg_item_end(text);
}

static void add_ports(struct weft_text *text, const struct sheet *sheet,
                      const struct weft_mesh_picture *picture, struct weft_arena scratch)
{
    const struct weft_mesh *mesh = sheet->mesh;
    bool *used = WEFT_NEW(&scratch, bool, mesh->port_count);
    for (uint32_t r = 0; r < picture->route_count; r++) {
        used[picture->routes[r].from] = used[picture->routes[r].to] = true;
    }
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        uint32_t stub = mesh->port_stubs[p];
        struct place at = stub_place(sheet, stub);
        struct place vertex =
            vertex_place(sheet, mesh->cell_vertices[2 * (stub / 4) + stub / 2 % 2]);
        double x = at.x + 0.62 * (at.x - vertex.x);
        double y = at.y + 0.62 * (at.y - vertex.y) + 3;
        svg_label(text, svg_at(x, y, SVG_MIDDLE), used[p] ? "t n b" : "m nn", "%u", p);
    }
}

const char *weft_report_svg_mesh(const struct weft_mesh_picture *picture, struct weft_arena *arena)
{
    const struct weft_mesh *mesh = picture->mesh;
    uint32_t larger = mesh->rows > mesh->columns ? mesh->rows : mesh->columns;
    struct sheet sheet = {.mesh = mesh, .side = larger < 10 ? 40 : larger < 20 ? 30 : 22};
    sheet.hexagons = WEFT_NEW(arena, struct place, (size_t)mesh->rows * mesh->columns);
    struct weft_arena scratch = weft_arena_split(arena);
    find_hexagons(&sheet);
    double width = 2 * MARGIN + (2 * mesh->columns + mesh->rows - 1) * sqrt(3) / 2 * sheet.side;
    double height = TOP + MARGIN + 1.5 * mesh->rows * sheet.side;
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, width < 560 ? 560 : width, height, "A mesh of interferometers with its routes",
              true);
    svg_label(&text, svg_at(16, 24, SVG_START), "t b l", "%s", picture->title);
    add_cells(&text, &sheet, picture);
    for (uint32_t r = 0; r < picture->route_count; r++) {
        add_route(&text, &sheet, &picture->routes[r], r);
    }
    add_ports(&text, &sheet, picture, scratch);
    svg_end(&text);
    return text.data;
}
