// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_MESH_H
#define WEFT_REQUEST_MESH_H

// Meshes of interferometers as switches: matchings of ports routed, settings traced.

#include "weft/photonics/mesh.h"
#include "weft/request.h"

WEFT_API_BEGIN

// ---- a setting traced ----

struct weft_mesh_trace_request {
    uint32_t rows, columns;
    const char *cells; // hexadecimal
};
struct weft_mesh_trace_result {
    struct weft_mesh mesh;
    uint32_t cross_count;
    uint32_t loop_count;     // light that no port sees
    const uint32_t *peers;   // per port
    const uint32_t *lengths; // per port, cells
};
// Fails with USAGE where {rows}, {columns} or {cells} are missing, with INPUT where they are wrong.
bool weft_request_mesh_trace(struct weft_mesh_trace_result *result,
                             const struct weft_mesh_trace_request *request,
                             struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-mesh-trace/1"
const char *weft_request_mesh_trace_json(const struct weft_mesh_trace_result *result,
                                         struct weft_arena *arena);

// ---- matchings routed ----

enum weft_mesh_solver { WEFT_MESH_SOLVER_LAST, WEFT_MESH_SOLVER_NEVER, WEFT_MESH_SOLVER_ALONE };
extern const char *const weft_mesh_solver_names[]; // "last", "never", "alone", NULL
extern const char *const weft_mesh_goal_names[];   // "total", "worst", NULL

struct weft_mesh_route_request {
    uint32_t rows, columns;
    const char *ports;    // "32" or "3,45,6"; NULL: those of the matchings
    const char *matching; // "round-robin", or "4-7,11-17", several with a / between them
    const char *stuck;    // "12:bar,40:cross"; NULL = none
    const char *former;   // cells before, hexadecimal; NULL = the first round toggles nothing
    enum weft_mesh_goal goal;
    enum weft_mesh_solver solver;
    double toggle_cells; // a toggle is worth so many cells of length
    uint64_t effort;     // searches a pair; 0 = WEFT_MESH_EFFORT
    bool reorder;        // rounds, so that few cells toggle
    struct weft_mesh_light light;
    double budget_db;   // of a pair; 0 = none
    uint64_t change_ps; // a cell that toggles takes so long; pairs through it are dark
};
struct weft_mesh_round {
    uint32_t index; // in the matchings as given
    const struct weft_mesh_pair *pairs;
    struct weft_mesh_setting setting;
    const double *loss_db;      // per route
    const double *crosstalk_db; // per route; HUGE_VAL: none
    uint32_t toggled;
    uint32_t over;                  // routes that lose more than the budget
    struct weft_mesh_change change; // from the round before
};
struct weft_mesh_route_result {
    struct weft_mesh mesh;
    const uint8_t *stuck; // NULL
    uint32_t port_count;
    const uint32_t *ports; // in the order of players
    bool chosen;           // by Weft
    uint32_t round_count;
    const struct weft_mesh_round *rounds; // in the order to be set
    uint32_t worst;
    double mean;
    uint32_t solved; // rounds by the solver
    uint32_t over;   // routes over the budget
};
// Fails with USAGE where a part is missing, with INPUT where it is wrong, with INFEASIBLE where a
// matching cannot be realized, naming the round and the cut, or what the solver says.
bool weft_request_mesh_route(struct weft_mesh_route_result *result,
                             const struct weft_mesh_route_request *request,
                             struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-mesh-route/1"
const char *weft_request_mesh_route_json(const struct weft_mesh_route_result *result,
                                         const struct weft_mesh_route_request *request,
                                         struct weft_arena *arena);

WEFT_API_END

#endif
