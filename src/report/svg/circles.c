// SPDX-License-Identifier: Apache-2.0
// Unified circles (CASSINI; Rajasekaran et al., NSDI 2024): each job on a link a ring with its
// phases, around them what all of them demand of the link together.
//
// The circle's perimeter is a common multiple of the iterations; a job's pattern stands on its
// ring as often as it fits. Where the outer ring is red, demands exceed the link. O(jobs *
// phases * pieces).

#include "svg.h"
#include "weft/report.h"

#include <math.h>
#include <stdlib.h>

#define LINKS_MAX 12u
#define RINGS_MAX 14u // jobs drawn of one link
#define TOP 56.0
#define ROW 268.0
#define RADIUS 96.0
#define INNER 34.0
#define BAND 12.0 // of the outer ring
#define BEFORE_X 330.0
#define AFTER_X 590.0
#define WIDTH 720.0
#define PIECES 720u // of the outer ring
#define TURN 6.283185307179586

struct drawing {
    struct weft_text *text;
    const struct weft_snapshot *snapshot;
    uint32_t link;
    double perimeter_ps;
    double x;
    double y;
};

// The ring of a job: between two radii, of one color.
struct ring {
    double inner;
    double outer; // as `inner` = not drawn
    const char *classes;
};

// Part of a ring, in turns from the top clockwise.
struct arc {
    double from;
    double to;
    double opacity;
};

static void add_arc(const struct drawing *at, const struct ring *ring, const struct arc *arc)
{
    double inner = ring->inner;
    double outer = ring->outer;
    double length = fmin(arc->to - arc->from, 0.99999); // an arc that closes would be none
    double a = TURN * arc->from;
    double b = TURN * (arc->from + length);
    int large = length > 0.5 ? 1 : 0;
    weft_text_add(at->text,
                  "<path class=\"%s fill\" style=\"fill-opacity:%.2f\" d=\"M%.2f %.2fA%.2f %.2f 0 "
                  "%d 1 %.2f %.2fL%.2f %.2fA%.2f %.2f 0 %d 0 %.2f %.2fZ\"/>\n",
                  ring->classes, arc->opacity, at->x + outer * sin(a), at->y - outer * cos(a),
                  outer, outer, large, at->x + outer * sin(b), at->y - outer * cos(b),
                  at->x + inner * sin(b), at->y - inner * cos(b), inner, inner, large,
                  at->x + inner * sin(a), at->y - inner * cos(a));
}

static const struct weft_demand *demand_on(const struct weft_sharing_job *job, uint32_t link)
{
    for (uint32_t i = 0; i < job->link_count; i++) {
        if (job->links[i] == link) {
            return job->link_demands == NULL ? &job->demand : &job->link_demands[i];
        }
    }
    return NULL;
}

// Draws the job's ring, and adds its demand to `loads` of the outer one.
static void draw_job(const struct drawing *at, const struct weft_demand *demand, uint64_t shift_ps,
                     const struct ring *ring, double *loads)
{
    double capacity_Bps = at->snapshot->links[at->link].capacity_Bps;
    double turns = fmax(1, nearbyint(at->perimeter_ps / (double)demand->iteration_ps));
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        double load = phase->rate_Bps / capacity_Bps;
        double start = (double)(phase->start_ps + shift_ps) / (double)demand->iteration_ps;
        double length = (double)phase->duration_ps / (double)demand->iteration_ps;
        if (load <= 0 || length <= 0) {
            continue;
        }
        for (double turn = 0; turn < turns; turn++) {
            double from = fmod((start + turn) / turns, 1);
            double to = from + length / turns;
            if (ring->outer > ring->inner) {
                add_arc(at, ring, &(struct arc){from, to, 0.25 + 0.75 * fmin(1, load)});
            }
            for (uint32_t i = 0; i < PIECES; i++) {
                double middle = (i + 0.5) / PIECES;
                bool there = (middle >= from && middle < to) || middle + 1 < to;
                loads[i] += there ? load : 0;
            }
        }
    }
}

static void draw_outer(const struct drawing *at, const double *loads)
{
    const double outer = RADIUS + 4 + BAND;
    uint32_t from = 0;
    for (uint32_t i = 1; i <= PIECES; i++) {
        if (i < PIECES && fabs(loads[i] - loads[from]) < 1e-9) {
            continue;
        }
        double load = loads[from];
        bool over = load > 1 + 1e-9;
        double height = BAND * fmin(1, load);
        if (load > 1e-9) {
            const struct ring band = {outer - BAND, outer - BAND + height, over ? "ef" : "fo"};
            add_arc(at, &band,
                    &(struct arc){(double)from / PIECES, (double)i / PIECES, over ? 1 : 0.8});
        }
        from = i;
    }
    weft_text_add(at->text,
                  "<circle class=\"x\" fill=\"none\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", at->x,
                  at->y, outer);
}

// Draws the circle of a link: the rings of at most RINGS_MAX jobs from the outside in, what all
// jobs demand together around them, and the score in the middle.
static void draw_circle(struct drawing *at, const uint64_t *time_shift_ps, double score,
                        const char *title, struct weft_arena scratch)
{
    static const char *const colors[] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6"};
    double *loads = WEFT_NEW(&scratch, double, PIECES);
    uint32_t jobs = 0;
    for (uint32_t j = 0; j < at->snapshot->job_count; j++) {
        jobs += demand_on(&at->snapshot->jobs[j], at->link) == NULL ? 0 : 1;
    }
    uint32_t rings = jobs < RINGS_MAX ? jobs : RINGS_MAX;
    double step = fmin(24, (RADIUS - INNER) / rings);
    uint32_t ring = 0;
    for (uint32_t j = 0; j < at->snapshot->job_count; j++) {
        const struct weft_demand *demand = demand_on(&at->snapshot->jobs[j], at->link);
        if (demand == NULL) {
            continue;
        }
        double outer = ring < rings ? RADIUS - step * ring : 0;
        double inner = ring < rings ? outer - step + 2 : 0;
        if (ring < rings) {
            add_arc(at, &(struct ring){inner, outer, "p"}, &(struct arc){0, 1, 1});
        }
        const struct ring own = {inner, outer, colors[j % SVG_COLOR_COUNT]};
        draw_job(at, demand, time_shift_ps == NULL ? 0 : time_shift_ps[j], &own, loads);
        ring++;
    }
    draw_outer(at, loads);
    svg_label(at->text, svg_at(at->x, at->y - 4, SVG_MIDDLE), "m", "%s", title);
    svg_label(at->text, svg_at(at->x, at->y + 13, SVG_MIDDLE), "t b", "%.3f", score);
}

// Names the link, and its jobs with their time-shifts in the colors of their rings; as many as fit
// beside the circle.
static void draw_names(const struct drawing *at, const struct weft_interleaving *found, double y)
{
    static const char *const colors[] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6"};
    char unit[WEFT_UNIT_TEXT];
    const struct weft_link_score *link = &found->links[at->link];
    svg_label(at->text, svg_at(20, y, SVG_START), "t b l", "%.28s",
              at->snapshot->links[at->link].name);
    svg_label(at->text, svg_at(20, y + 18, SVG_START), "m", "%s, circle of %s",
              weft_show_rate(unit, at->snapshot->links[at->link].capacity_Bps),
              weft_show_time((char[WEFT_UNIT_TEXT]){0}, link->perimeter_ps));
    double line = y + 42;
    uint32_t shown = 0;
    for (uint32_t j = 0; j < at->snapshot->job_count; j++) {
        const struct weft_demand *demand = demand_on(&at->snapshot->jobs[j], at->link);
        if (demand == NULL || ++shown > RINGS_MAX - 4) {
            continue;
        }
        svg_rect(at->text, 20, line - 9, 10, 10, colors[j % SVG_COLOR_COUNT]);
        svg_label(at->text, svg_at(36, line, SVG_START), "t", "%.22s  +%s",
                  at->snapshot->jobs[j].name, weft_show_time(unit, found->time_shift_ps[j]));
        line += 17;
    }
    if (shown > RINGS_MAX - 4) {
        svg_label(at->text, svg_at(36, line, SVG_START), "m", "and %u more",
                  shown - (RINGS_MAX - 4));
    }
}

// Shared links, the worst first.
struct worst {
    double score;
    uint32_t link;
};

static int by_score(const void *a, const void *b)
{
    const struct worst *x = a;
    const struct worst *y = b;
    if (x->score != y->score) {
        return x->score < y->score ? -1 : 1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

const char *weft_report_svg_circles(const struct weft_snapshot *snapshot,
                                    const struct weft_interleaving *found, struct weft_arena *arena,
                                    struct weft_arena scratch)
{
    struct worst *links = WEFT_NEW(&scratch, struct worst, snapshot->link_count);
    uint32_t count = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        if (found->links[l].group != WEFT_NONE) {
            links[count++] = (struct worst){found->links[l].score, l};
        }
    }
    qsort(links, count, sizeof links[0], by_score);
    uint32_t shown = count < LINKS_MAX ? count : LINKS_MAX;
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, TOP + ROW * shown + 30, "Unified circles before and after", true);
    svg_label(&text, svg_at(20, 30, SVG_START), "t b l", "Score %.4f, at most %.4f", found->score,
              found->upper_bound);
    svg_label(&text, svg_at(20, 48, SVG_START), "m",
              "a ring a job, clockwise from the top; outside: demand of all, red above capacity");
    for (uint32_t i = 0; i < shown; i++) {
        struct drawing at = {
            .text = &text,
            .snapshot = snapshot,
            .link = links[i].link,
            .perimeter_ps = (double)found->links[links[i].link].perimeter_ps,
            .x = BEFORE_X,
            .y = TOP + ROW * i + ROW / 2,
        };
        draw_names(&at, found, at.y - 60);
        draw_circle(&at, NULL, found->links[at.link].unshifted, "before", scratch);
        at.x = AFTER_X;
        draw_circle(&at, found->time_shift_ps, found->links[at.link].score, "after", scratch);
    }
    if (shown < count) {
        svg_label(&text, svg_at(20, TOP + ROW * shown + 10, SVG_START), "m",
                  "and %u links that score no worse", count - shown);
    }
    svg_end(&text);
    return text.data;
}
