// SPDX-License-Identifier: Apache-2.0
// A matching as a formula for CaDiCaL (Biere et al., "CaDiCaL, Kissat, Paracooba, Plingeling and
// Treengeling entering the SAT Competition 2020").
//
// A variable says whether a cell is cross; L = ceil(log2(pairs + 1)) more say which pair's light is
// on a wire, 0 for none. Labels of the ports are given: both of a pair have its number, idle ones
// 0. Where a cell is bar the labels of the two stubs of a face are equal, where it is cross those
// of opposite stubs: 8 L clauses a cell. A model's light from a port keeps its label to the end,
// which is the other port of that label; a setting that joins the pairs, with every wire labelled
// by the pair whose light it carries or 0, is a model. So models and settings are the same.

#include "solver.h"

#include <ccadical.h>

struct formula {
    CCaDiCaL *solver;
    uint32_t cell_count;
    uint32_t bits;
};

static int cell_variable(uint32_t cell)
{
    return (int)cell + 1;
}

static int label_variable(const struct formula *formula, uint32_t wire, uint32_t bit)
{
    return (int)(1 + formula->cell_count + wire * formula->bits + bit);
}

static void add_clause(const struct formula *formula, int a, int b, int c)
{
    ccadical_add(formula->solver, a);
    ccadical_add(formula->solver, b);
    ccadical_add(formula->solver, c);
    ccadical_add(formula->solver, 0);
}

static void add_unit(const struct formula *formula, int literal)
{
    ccadical_add(formula->solver, literal);
    ccadical_add(formula->solver, 0);
}

// Where `unless` is false, the labels of two wires are equal.
static void add_equal(const struct formula *formula, int unless, uint32_t one, uint32_t other)
{
    for (uint32_t bit = 0; bit < formula->bits && one != other; bit++) {
        int a = label_variable(formula, one, bit);
        int b = label_variable(formula, other, bit);
        add_clause(formula, unless, -a, b);
        add_clause(formula, unless, a, -b);
    }
}

static void write_formula(const struct formula *formula, const struct weft_mesh *mesh,
                          const uint32_t *labels, const uint8_t *stuck)
{
    for (uint32_t e = 0; e < mesh->cell_count; e++) {
        int cross = cell_variable(e);
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t stub = 4 * e + side;
            uint32_t wire = mesh->stub_wires[stub];
            add_equal(formula, cross, wire, mesh->stub_wires[weft_mesh_through(stub, false)]);
            add_equal(formula, -cross, wire, mesh->stub_wires[weft_mesh_through(stub, true)]);
        }
        if (stuck != NULL && stuck[e] != WEFT_MESH_FREE) {
            add_unit(formula, stuck[e] == WEFT_MESH_CROSS ? cross : -cross);
        }
    }
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        for (uint32_t bit = 0; bit < formula->bits; bit++) {
            int label = label_variable(formula, p, bit);
            add_unit(formula, (labels[p] >> bit & 1) != 0 ? label : -label);
        }
    }
}

static int is_stopped(void *state)
{
    return weft_stopped((weft_stop)state);
}

enum weft_mesh_answer mesh_solve(uint8_t *cells, const struct weft_mesh *mesh,
                                 const struct weft_mesh_pair *pairs, uint32_t pair_count,
                                 const uint8_t *stuck, uint64_t conflicts, weft_stop stop,
                                 struct weft_arena scratch)
{
    uint32_t *labels = WEFT_NEW(&scratch, uint32_t, mesh->port_count);
    for (uint32_t i = 0; i < pair_count; i++) {
        labels[pairs[i].from] = labels[pairs[i].to] = i + 1;
    }
    struct formula formula = {.solver = ccadical_init(), .cell_count = mesh->cell_count};
    ccadical_set_option(formula.solver, "quiet", 1);
    while (pair_count >> formula.bits != 0) {
        formula.bits++;
    }
    write_formula(&formula, mesh, labels, stuck);
    if (stop != NULL) {
        ccadical_set_terminate(formula.solver, (void *)stop, is_stopped);
    }
    if (conflicts > 0) {
        ccadical_limit(formula.solver, "conflicts",
                       conflicts < INT32_MAX ? (int)conflicts : INT32_MAX);
    }
    enum { SATISFIABLE = 10, UNSATISFIABLE = 20 };
    int status = ccadical_solve(formula.solver);
    for (uint32_t e = 0; e < mesh->cell_count && status == SATISFIABLE; e++) {
        cells[e] = ccadical_val(formula.solver, cell_variable(e)) > 0;
    }
    ccadical_release(formula.solver);
    return status == SATISFIABLE     ? WEFT_MESH_ROUTED
           : status == UNSATISFIABLE ? WEFT_MESH_REFUTED
                                     : WEFT_MESH_UNANSWERED;
}
