// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_MESH_H
#define WEFT_PHOTONICS_MESH_H

// A mesh of interferometers as a switch, after PipSwitch (arXiv 2501.18136).
//
//   rows x columns ──► mesh ──► routes for a matching of ports ──► bar or cross of every cell
//                       ▲                                              │
//                       └── light traced from each port ◄──────────────┘
//
// The mesh is a honeycomb whose edges are *cells*, tunable couplers of two waveguides that are used
// bar or cross alone. A cell has four *stubs*, one for each of its ends and each of the two faces
// that it borders: bar joins the two stubs of a face, cross joins each to the other face's. At a
// vertex the two stubs of one face are one *wire*; the two outer stubs of a vertex of degree two
// are *ports*. Every setting joins the ports two by two, and leaves loops. Two routes may share a
// cell but no wire: routes that share none agree on every cell, as bar and cross of one cell have a
// wire in common. docs/photonic-mesh.md has the proofs, and how cells and ports are numbered.

#include "weft/base.h"
#include "weft/circuit.h"

WEFT_API_BEGIN

// ---- geometry ----

enum { WEFT_MESH_SIDE_MAX = 32 };

// Stub 4e + 2 end + side belongs to cell e: `end` is the vertex, `side` the face. Wires 0 to
// port_count - 1 are the ports.
struct weft_mesh {
    uint32_t rows, columns; // of hexagons
    uint32_t vertex_count;
    uint32_t cell_count;           // 3 R C + 2 R + 2 C - 1
    uint32_t port_count;           // 4 (R + C) + 4
    uint32_t wire_count;           // ports among them
    const uint32_t *cell_vertices; // 2 of each cell
    const uint32_t *cell_faces;    // 2 of each cell; hexagon r C + c, R C = outside
    const uint32_t *vertex_x;      // place of a vertex in its chain
    const uint32_t *vertex_chain;  // 0 to R
    const uint32_t *stub_wires;    // 4 of each cell
    const uint32_t *stub_mates;    // the other stub of its wire; of a port WEFT_NONE
    const uint32_t *port_stubs;
};
// Fails with INPUT where a side is 0 or more than WEFT_MESH_SIDE_MAX. O(cells).
bool weft_mesh_build(struct weft_mesh *mesh, uint32_t rows, uint32_t columns,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The stub by which light leaves a cell that it entered by `stub`.
static inline uint32_t weft_mesh_through(uint32_t stub, bool cross)
{
    return stub ^ 2u ^ (cross ? 1u : 0u);
}

// ---- settings as text ----

// One byte a cell: 0 is bar, 1 is cross.
// As hexadecimal, ceil(cells / 4) digits, bit e (from the right) of cell e.
const char *weft_mesh_show(const struct weft_mesh *mesh, const uint8_t *cells,
                           struct weft_arena *arena);
// Reads digits in either case, leading zeros left out or not. Fails with INPUT where they are none,
// or name a cell that the mesh lacks.
bool weft_mesh_read(uint8_t *cells, const struct weft_mesh *mesh, const char *text,
                    struct weft_error *error) WEFT_MUST_USE;

// ---- light ----

// Follows light from every port: peers[p] is where that of port p comes out, lengths[p] (NULL: not
// wanted) how many cells it passes, a cell that it passes twice twice. O(cells).
void weft_mesh_trace(uint32_t *peers, uint32_t *lengths, const struct weft_mesh *mesh,
                     const uint8_t *cells);

struct weft_mesh_pair {
    uint32_t from, to; // ports
};
struct weft_mesh_route {
    uint32_t from, to;
    uint32_t length;       // cells that are passed
    const uint32_t *stubs; // by which each is entered, from `from` on
};
// The route of the light of one port. O(its length).
void weft_mesh_follow(struct weft_mesh_route *route, const struct weft_mesh *mesh,
                      const uint8_t *cells, uint32_t port, struct weft_arena *arena);

// What light meets on its way; all in dB and >= 0.
struct weft_mesh_light {
    double cell_db;      // lost in each cell
    double port_db;      // lost at each of the two ports
    double crosstalk_db; // of a cell: how far what leaks into the other waveguide is below the
                         // light that it leaks from; 0 = nothing leaks
};
double weft_mesh_loss_db(const struct weft_mesh_light *light, uint32_t length);
// Per route: how far what leaks into it is below its own light where it comes out, the worse of
// both ends; HUGE_VAL where nothing leaks. All routes carry light of equal power both ways, leaks
// of leaks are not counted. O(cells of all routes).
void weft_mesh_crosstalk(double *signal_db, const struct weft_mesh *mesh,
                         const struct weft_mesh_route *routes, uint32_t route_count,
                         const struct weft_mesh_light *light, struct weft_arena scratch);

// ---- cuts ----

// Ports `first` to `last` (along the boundary, which may pass port 0) have `wires` wires to the
// rest of the mesh; `crossing` pairs have to leave.
struct weft_mesh_cut {
    uint32_t first, last;
    uint32_t wires, crossing;
    bool corner; // not the wires are too few: the cells of a corner join two of its idle ports
};
// The wires between every run of ports and the others: capacity[first * port_count + count - 1] for
// `count` ports from `first` on, by max-flow (Ford and Fulkerson, 1956) on cells as vertices and
// wires as edges. O(ports^2 cells ports).
void weft_mesh_capacities(uint16_t *capacity, const struct weft_mesh *mesh,
                          struct weft_arena scratch);
// Whether a matching needs more than a cut has: the run of ports that lacks most, corners first.
// Necessary, not sufficient. O(ports^2).
bool weft_mesh_find_cut(struct weft_mesh_cut *cut, const struct weft_mesh *mesh,
                        const uint16_t *capacity, const struct weft_mesh_pair *pairs,
                        uint32_t pair_count, struct weft_arena scratch) WEFT_MUST_USE;

// ---- routes ----

enum weft_mesh_stuck { WEFT_MESH_FREE, WEFT_MESH_BAR, WEFT_MESH_CROSS };
// Searches of the local search for each pair; a table of docs/photonic-mesh.md chose it.
enum { WEFT_MESH_EFFORT = 200 };
enum weft_mesh_goal { WEFT_MESH_TOTAL, WEFT_MESH_WORST }; // what is shortest; then the other

struct weft_mesh_options {
    const uint8_t *stuck;  // enum weft_mesh_stuck per cell; NULL = all are free
    const uint8_t *former; // setting before this one; NULL = all bar
    enum weft_mesh_goal goal;
    double toggle_cells; // cells of length that a cell which need not toggle is worth; 0 = none
    uint32_t length_max; // of a route; 0 = any
    uint64_t effort;     // searches for ways that shorten; 0 = WEFT_MESH_EFFORT a pair
    bool no_solver;      // the router alone
    bool solver_alone;   // the solver alone, whose routes are not shortened: the oracle
};

enum weft_mesh_answer {
    WEFT_MESH_ROUTED,
    WEFT_MESH_CUT,        // a cut is too narrow
    WEFT_MESH_REFUTED,    // the solver proves that there is no setting
    WEFT_MESH_BLOCKED,    // a pair has no way past the stuck cells, even alone
    WEFT_MESH_UNANSWERED, // no setting was found; nothing is proved
};
struct weft_mesh_setting {
    enum weft_mesh_answer answer;
    struct weft_mesh_cut cut;   // where that is the answer
    struct weft_mesh_pair pair; // that is blocked
    const uint8_t *cells;
    uint32_t route_count;
    const struct weft_mesh_route *routes; // in the order of the pairs
    uint32_t total, worst;                // cells
    bool solved;                          // by the solver
    uint64_t searches;                    // of routes
};

// Whether pairs are a matching of the mesh's ports, as all that routes them asks for. O(ports).
bool weft_mesh_check_pairs(const struct weft_mesh *mesh, const struct weft_mesh_pair *pairs,
                           uint32_t pair_count, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// What routing needs of a mesh, made once.
struct weft_mesh_router;
struct weft_mesh_router *weft_mesh_router_open(const struct weft_mesh *mesh,
                                               struct weft_arena *arena);
// Routes a matching of ports: negotiated congestion on wires (after PathFinder, McMurchie and
// Ebeling, FPGA 1995), then shortened by local search; a solver (CaDiCaL) where that finds none.
// Cells of no route keep their former state. The setting is traced before it is returned. Fails
// with INPUT where the pairs are no matching of the mesh's ports; that there is none is an answer.
bool weft_mesh_route(struct weft_mesh_setting *setting, struct weft_mesh_router *router,
                     const struct weft_mesh_pair *pairs, uint32_t pair_count,
                     const struct weft_mesh_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;

// ---- ports ----

// Whether ports may be used by the rule of the corner around the k-th vertex of degree two, 0 to
// port_count / 2 - 1; peers[p] is a port's peer, port_count where that is not known yet,
// WEFT_NONE where it is idle. `corner` is filled where there is one.
bool weft_mesh_corner_holds(const struct weft_mesh *mesh, uint32_t k, const uint32_t *peers,
                            uint32_t corner[4]);
// Chooses ports, as many as `count`, for matchings that may join any two: by the corners' rule,
// then so that no run of ports holds more than its wires carry, then for short routes; local
// search, deterministic for a seed. Their order is the players' and is chosen for round robin: few
// chords over any run of ports in the worst round. Fails with INPUT where `count` is odd, 0 or more
// than the mesh has by that rule.
bool weft_mesh_choose_ports(uint32_t *ports, uint32_t count, const struct weft_mesh *mesh,
                            const struct weft_environment *environment) WEFT_MUST_USE;

// ---- rounds ----

// All pairs of `count` players, even, in count - 1 rounds of count / 2 pairs (1-factorization of
// K_n, Kirkman 1847): round r pairs i and j < count - 1 with i + j = r mod (count - 1), i != j,
// ascending by i, and last the player count - 1 with r count / 2 mod (count - 1).
void weft_mesh_round_robin(struct weft_mesh_pair *pairs, uint32_t count);

// An order of rounds in which few cells toggle: cells that no route of a round passes keep their
// state, which is fewest for an order; the order by insertion and 2-opt. Of a setting before the
// first round (NULL: none is counted). cells[] are replaced by those of the order, in the places of
// their rounds. toggled[r]: cells of round r that toggle when it follows the one before it.
// stuck as in weft_mesh_options. O(rounds^3 cells).
struct weft_mesh_order {
    const uint8_t *former; // NULL: the first round toggles nothing
    const uint8_t *stuck;
    bool keep; // the order as it is
};
void weft_mesh_order_rounds(uint32_t *order, uint32_t *toggled, struct weft_mesh_setting *settings,
                            uint32_t round_count, const struct weft_mesh *mesh,
                            const struct weft_mesh_order *options, struct weft_arena *arena,
                            struct weft_arena scratch);

// ---- a library of matchings ----

// Settings that were found before, for matchings that come while the switch runs.
struct weft_mesh_library;
// With room for so many settings (> 0); the one used the longest ago makes room. O(its memory).
struct weft_mesh_library *weft_mesh_library_open(const struct weft_mesh *mesh,
                                                 uint32_t setting_count, struct weft_arena *arena);
void weft_mesh_library_add(struct weft_mesh_library *library, const struct weft_mesh_pair *pairs,
                           uint32_t pair_count, const uint8_t *cells);
// As weft_mesh_route, but routes of the setting with the most pairs in common stay where they lie
// unless another needs their wires; only where that fails all are routed anew. `moved` pairs have
// another route than there. Routes are not shortened. The setting is not added.
bool weft_mesh_library_route(struct weft_mesh_setting *setting, uint32_t *moved,
                             struct weft_mesh_library *library, const struct weft_mesh_pair *pairs,
                             uint32_t pair_count, const struct weft_mesh_options *options,
                             const struct weft_environment *environment) WEFT_MUST_USE;

// ---- other fabrics of such cells ----

// A planar triangle of N (N - 2) / 4 cells (N even, >= 2) that realizes every matching. peers is
// one of all ports (asserted). lengths[p]: cells on the route of p's pair. O(cells).
uint32_t weft_triangle_cells(uint32_t ports);
void weft_triangle_set(uint8_t *cells, const uint32_t *peers, uint32_t ports,
                       struct weft_arena scratch);
void weft_triangle_trace(uint32_t *peers, uint32_t *lengths, const uint8_t *cells, uint32_t ports,
                         struct weft_arena scratch);
// The network of Benes, N log2 N - N / 2 cells (N a power of two), that realizes every permutation
// (asserted); each input passes 2 log2 N - 1 cells. Not planar. O(cells).
uint32_t weft_benes_cells(uint32_t lines);
void weft_benes_set(uint8_t *cells, const uint32_t *to, uint32_t lines, struct weft_arena scratch);
uint32_t weft_benes_trace(const uint8_t *cells, uint32_t lines, uint32_t input);

// ---- under circuits ----

// What each route of a setting loses, into switch_db[route_count], and whether every circuit is
// within the budget of `losses` (NULL: no budget; its switch_db is not looked at). Fails with
// INFEASIBLE as weft_circuit_check_loss does: a matching with such a route is no circuit.
bool weft_mesh_check_losses(double *switch_db, const struct weft_mesh_setting *setting,
                            const struct weft_mesh_light *light,
                            const struct weft_circuit_losses *losses, struct weft_error *error)
    WEFT_MUST_USE;

// What a change from one setting to another does. Cells toggle all at once, so that the dark time
// is a cell's; light of a pair that both have stays where no cell of its route toggles.
struct weft_mesh_change {
    uint32_t toggled;   // cells
    uint32_t kept;      // pairs of both that are lit all along
    uint32_t disturbed; // pairs of both that are dark for a time
    uint32_t made;      // pairs that are new
};
// O(cells + routes^2).
void weft_mesh_compare(struct weft_mesh_change *change, const struct weft_mesh *mesh,
                       const struct weft_mesh_setting *before,
                       const struct weft_mesh_setting *after);
// Rounds (>= 1), each lit for hold_ps, as a schedule of one plane whose node i is port ports[i].
void weft_mesh_schedule(struct weft_circuit_schedule *schedule, const uint32_t *ports,
                        uint32_t port_count, const struct weft_mesh_setting *settings,
                        uint32_t round_count, uint64_t hold_ps,
                        const struct weft_circuit_delays *delays, struct weft_arena *arena);

WEFT_API_END

#endif
