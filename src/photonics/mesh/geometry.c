// SPDX-License-Identifier: Apache-2.0
// Honeycombs as brick walls: vertices, cells, wires and ports, numbered as docs/photonic-mesh.md
// says.
//
// Chain h = 0 .. R has the vertices (h, x) for x from max(0, h - 1) to min(2 C + h, 2 C + R - 1).
// Cells are its edges to (h, x + 1), chain by chain, then the edges (h, x)-(h + 1, x) for h <= x <=
// h + 2 C with x - h even. Hexagon (r, c) lies between chains r and r + 1, from x = r + 2 c to
// r + 2 c + 2. O(cells).

#include "weft/photonics/mesh.h"

struct plan {
    struct weft_mesh *mesh;
    uint32_t *base; // per chain: its first vertex
    uint32_t *vertices, *faces, *wires, *mates, *ports;
};

static uint32_t first_x(uint32_t chain)
{
    return chain == 0 ? 0 : chain - 1;
}

static uint32_t last_x(const struct weft_mesh *mesh, uint32_t chain)
{
    uint32_t end = 2 * mesh->columns + mesh->rows - 1;
    return 2 * mesh->columns + chain < end ? 2 * mesh->columns + chain : end;
}

// The hexagon of row `row` that an edge at x - row = `offset` lies on; outside where there is none.
static uint32_t hexagon(const struct weft_mesh *mesh, uint32_t row, uint32_t x)
{
    bool inside = row < mesh->rows && x >= row && (x - row) / 2 < mesh->columns;
    return inside ? row * mesh->columns + (x - row) / 2 : mesh->rows * mesh->columns;
}

static void add_cell(struct plan *plan, uint32_t from, uint32_t to, const uint32_t faces[2])
{
    uint32_t e = plan->mesh->cell_count++;
    plan->vertices[2 * e] = from;
    plan->vertices[2 * e + 1] = to;
    plan->faces[2 * e] = faces[0];
    plan->faces[2 * e + 1] = faces[1];
}

static void add_cells(struct plan *plan)
{
    const struct weft_mesh *mesh = plan->mesh;
    uint32_t outside = mesh->rows * mesh->columns;
    for (uint32_t h = 0; h <= mesh->rows; h++) {
        for (uint32_t x = first_x(h); x < last_x(mesh, h); x++) {
            uint32_t v = plan->base[h] + x - first_x(h);
            uint32_t above = h == 0 ? outside : hexagon(mesh, h - 1, x);
            add_cell(plan, v, v + 1, (uint32_t[]){above, hexagon(mesh, h, x)});
        }
    }
    for (uint32_t h = 0; h < mesh->rows; h++) {
        for (uint32_t x = h; x <= h + 2 * mesh->columns; x += 2) {
            uint32_t left = x == h ? outside : hexagon(mesh, h, x - 1);
            add_cell(plan, plan->base[h] + x - first_x(h), plan->base[h + 1] + x - first_x(h + 1),
                     (uint32_t[]){left, hexagon(mesh, h, x)});
        }
    }
}

// The stub of a cell at a vertex, on a face; WEFT_NONE where the cell has none.
static uint32_t stub_at(const struct plan *plan, uint32_t cell, uint32_t vertex, uint32_t face)
{
    uint32_t end = plan->vertices[2 * cell] == vertex ? 0 : 1;
    uint32_t side = plan->faces[2 * cell] == face ? 0 : 1;
    bool there = plan->vertices[2 * cell + end] == vertex && plan->faces[2 * cell + side] == face;
    return there ? 4 * cell + 2 * end + side : WEFT_NONE;
}

// Around a vertex, stubs of one face are one wire.
static void join_vertex(struct plan *plan, const uint32_t *cells, uint32_t count, uint32_t vertex)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t face = plan->faces[2 * cells[i] + side];
            uint32_t stub = stub_at(plan, cells[i], vertex, face);
            for (uint32_t j = i + 1; j < count; j++) {
                uint32_t other = stub_at(plan, cells[j], vertex, face);
                if (other == WEFT_NONE ||
                    (count == 2 && face == plan->mesh->rows * plan->mesh->columns)) {
                    continue; // of a vertex of degree two the outer stubs are ports
                }
                WEFT_ASSERT(plan->mates[stub] == WEFT_NONE && plan->mates[other] == WEFT_NONE);
                plan->mates[stub] = other;
                plan->mates[other] = stub;
            }
        }
    }
}

// The boundary from (0, 0) to (0, 1) and on: ports are its stubs that have no mate.
static void walk_boundary(struct plan *plan, const uint32_t *around, const uint32_t *degree)
{
    struct weft_mesh *mesh = plan->mesh;
    uint32_t outside = mesh->rows * mesh->columns;
    uint32_t v = 0;
    uint32_t ahead = 0; // cell (0,0)-(0,1)
    do {
        uint32_t behind = WEFT_NONE; // the other cell of the boundary here
        for (uint32_t i = 0; i < degree[v]; i++) {
            uint32_t cell = around[3 * v + i];
            bool outer = plan->faces[2 * cell] == outside || plan->faces[2 * cell + 1] == outside;
            behind = outer && cell != ahead ? cell : behind;
        }
        WEFT_ASSERT(behind != WEFT_NONE);
        if (degree[v] == 2) {
            plan->ports[mesh->port_count++] = stub_at(plan, behind, v, outside);
            plan->ports[mesh->port_count++] = stub_at(plan, ahead, v, outside);
        }
        v = plan->vertices[2 * ahead] == v ? plan->vertices[2 * ahead + 1]
                                           : plan->vertices[2 * ahead];
        for (uint32_t i = 0, walked = ahead; i < degree[v]; i++) {
            uint32_t cell = around[3 * v + i];
            bool outer = plan->faces[2 * cell] == outside || plan->faces[2 * cell + 1] == outside;
            ahead = outer && cell != walked ? cell : ahead;
        }
    } while (v != 0);
}

static void number_wires(struct plan *plan)
{
    struct weft_mesh *mesh = plan->mesh;
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        plan->wires[plan->ports[p]] = p;
    }
    mesh->wire_count = mesh->port_count;
    for (uint32_t s = 0; s < 4 * mesh->cell_count; s++) {
        if (plan->mates[s] != WEFT_NONE && s < plan->mates[s]) {
            plan->wires[s] = mesh->wire_count;
            plan->wires[plan->mates[s]] = mesh->wire_count++;
        }
    }
    WEFT_ASSERT(2 * mesh->wire_count == 4 * mesh->cell_count + mesh->port_count);
}

bool weft_mesh_build(struct weft_mesh *mesh, uint32_t rows, uint32_t columns,
                     struct weft_arena *arena, struct weft_error *error)
{
    if (rows < 1 || columns < 1 || rows > WEFT_MESH_SIDE_MAX || columns > WEFT_MESH_SIDE_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "a mesh of %u x %u hexagons; take 1 to %d {rows} and {columns}", rows,
                         columns, WEFT_MESH_SIDE_MAX);
    }
    struct weft_mesh made = {.rows = rows, .columns = columns};
    uint32_t *base = WEFT_NEW(arena, uint32_t, rows + 1);
    for (uint32_t h = 0; h <= rows; h++) {
        base[h] = made.vertex_count;
        made.vertex_count += last_x(&made, h) - first_x(h) + 1;
    }
    uint32_t cells = 3 * rows * columns + 2 * rows + 2 * columns - 1;
    struct plan plan = {
        .mesh = &made,
        .base = base,
        .vertices = WEFT_NEW(arena, uint32_t, 2 * cells),
        .faces = WEFT_NEW(arena, uint32_t, 2 * cells),
        .wires = WEFT_NEW(arena, uint32_t, 4 * cells),
        .mates = WEFT_NEW(arena, uint32_t, 4 * cells),
        .ports = WEFT_NEW(arena, uint32_t, 4 * (rows + columns) + 4),
    };
    uint32_t *x = WEFT_NEW(arena, uint32_t, made.vertex_count);
    uint32_t *chain = WEFT_NEW(arena, uint32_t, made.vertex_count);
    for (uint32_t h = 0; h <= rows; h++) {
        for (uint32_t i = first_x(h); i <= last_x(&made, h); i++) {
            x[base[h] + i - first_x(h)] = i;
            chain[base[h] + i - first_x(h)] = h;
        }
    }
    add_cells(&plan);
    WEFT_ASSERT(made.cell_count == cells);
    uint32_t *around = WEFT_NEW(arena, uint32_t, 3 * made.vertex_count);
    uint32_t *degree = WEFT_NEW(arena, uint32_t, made.vertex_count);
    for (uint32_t e = 0; e < cells; e++) {
        for (uint32_t end = 0; end < 2; end++) {
            uint32_t v = plan.vertices[2 * e + end];
            WEFT_ASSERT(degree[v] < 3);
            around[3 * v + degree[v]++] = e;
        }
    }
    for (uint32_t s = 0; s < 4 * cells; s++) {
        plan.mates[s] = WEFT_NONE;
    }
    for (uint32_t v = 0; v < made.vertex_count; v++) {
        join_vertex(&plan, &around[3 * v], degree[v], v);
    }
    walk_boundary(&plan, around, degree);
    WEFT_ASSERT(made.port_count == 4 * (rows + columns) + 4);
    number_wires(&plan);
    made.cell_vertices = plan.vertices;
    made.cell_faces = plan.faces;
    made.vertex_x = x;
    made.vertex_chain = chain;
    made.stub_wires = plan.wires;
    made.stub_mates = plan.mates;
    made.port_stubs = plan.ports;
    *mesh = made;
    return true;
}
