// SPDX-License-Identifier: Apache-2.0
// Shorter routes by local search: one net looks for a way with wires of others at a small price and
// every wire a little dearer at random; who is ejected looks for another. The move is kept where
// all have routes again and together cost little more, with less and less patience (simulated
// annealing, Kirkpatrick, Gelatt and Vecchi, 1983).

#include "negotiate.h"

#include <math.h>
#include <string.h>

#define HOT_CELLS 2.0
#define COLD_CELLS 0.15

struct course {
    struct mesh_table *table;
    uint32_t knee;    // cells from which on a route costs more
    double steepness; // per cell beyond it
    struct weft_rng *rng;
    double best;
    struct mesh_net *best_nets;
};

static double cost_of(const struct course *course, const struct mesh_net *net)
{
    double over = net->length > course->knee ? net->length - course->knee : 0;
    double cost = net->length + course->steepness * over;
    if (course->table->toggle > 0) {
        cost += (double)course->table->toggle / MESH_UNIT * mesh_table_toggles(course->table, net);
    }
    return cost;
}

static double cost_of_all(const struct course *course)
{
    double sum = 0;
    for (uint32_t n = 0; n < course->table->net_count; n++) {
        sum += cost_of(course, &course->table->nets[n]);
    }
    return sum;
}

static void remember(struct course *course)
{
    for (uint32_t n = 0; n < course->table->net_count; n++) {
        const struct mesh_net *net = &course->table->nets[n];
        course->best_nets[n].length = net->length;
        memcpy(course->best_nets[n].stubs, net->stubs, net->length * sizeof *net->stubs);
    }
}

static void recall(struct course *course)
{
    struct mesh_table *table = course->table;
    for (uint32_t n = 0; n < table->net_count; n++) {
        mesh_table_lift(table, n);
    }
    for (uint32_t n = 0; n < table->net_count; n++) {
        mesh_table_lay(table, n, course->best_nets[n].stubs, course->best_nets[n].length);
    }
}

// Of two nets drawn the one that is further from its shortest way.
static uint32_t draw_net(const struct course *course)
{
    const struct mesh_table *table = course->table;
    uint32_t a = weft_rng_below(course->rng, table->net_count);
    uint32_t b = weft_rng_below(course->rng, table->net_count);
    const struct mesh_net *first = &table->nets[a];
    const struct mesh_net *second = &table->nets[b];
    return first->length - first->shortest >= second->length - second->shortest ? a : b;
}

static double move(struct course *course, double now, double limit)
{
    struct mesh_table *table = course->table;
    uint32_t net = draw_net(course);
    memset(table->history, 0, table->mesh->wire_count * sizeof *table->history);
    table->prices.salt = weft_rng_next(course->rng);
    table->prices.eject = MESH_UNIT * weft_rng_below(course->rng, 8);
    mesh_table_begin(table);
    mesh_table_lift(table, net);
    mesh_table_queue(table, net);
    bool fine = mesh_table_negotiate(table, 12);
    double after = now;
    for (uint32_t i = 0; i < table->touched_count && fine; i++) {
        uint32_t n = table->touched[i];
        after += cost_of(course, &table->nets[n]) - cost_of(course, &table->saved[n]);
    }
    if (!fine || after > limit) {
        mesh_table_undo(table);
        return now;
    }
    mesh_table_keep(table);
    return after;
}

void mesh_shorten(struct mesh_table *table, uint64_t effort, struct weft_rng *rng, weft_stop stop,
                  struct weft_arena scratch)
{
    struct course course = {.table = table, .rng = rng};
    course.best_nets = WEFT_NEW(&scratch, struct mesh_net, table->net_count);
    uint32_t longest = 0;
    for (uint32_t n = 0; n < table->net_count; n++) {
        course.best_nets[n].stubs = WEFT_NEW_RAW(&scratch, uint32_t, table->mesh->wire_count);
        longest = table->nets[n].shortest > longest ? table->nets[n].shortest : longest;
    }
    course.knee = longest;
    course.steepness = table->options->goal == WEFT_MESH_WORST ? 8 : 0.5;
    if (table->options->length_max > 0) {
        course.knee = table->options->length_max;
        course.steepness = 8;
    }
    table->prices = (struct mesh_prices){.noise = MESH_UNIT / 4 - 1, .grudge = MESH_UNIT};
    double now = cost_of_all(&course);
    course.best = now;
    remember(&course);
    uint64_t first = table->searches;
    while (table->searches - first < effort && !weft_stopped(stop)) {
        double spent = (double)(table->searches - first) / (double)effort;
        double heat = HOT_CELLS * pow(COLD_CELLS / HOT_CELLS, spent);
        now = move(&course, now, now + weft_rng_exponential(rng, heat));
        if (now < course.best - 1e-9) {
            course.best = now;
            remember(&course);
        }
    }
    recall(&course);
}
