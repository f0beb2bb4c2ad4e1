// SPDX-License-Identifier: Apache-2.0
// The page of experiments in the lab: iteration times that both engines predict beside those
// measured on real sockets.
//
// Bars of one phase stand together, flow engine, packet engine, measured mean with its 99th
// percentile; a table repeats the numbers, and changes and faults show their steps on a line of
// time.

#include "html.h"
#include "report/svg/svg.h"

#include <inttypes.h>
#include <math.h>

#define WIDTH 860.0
#define LEFT 210.0
#define RIGHT 790.0
#define TOP 44.0
#define BAR 13.0
#define GAP 16.0
#define LABEL 60.0 // the widest time
#define STEP 20.0
#define STEPS_TOP 18.0

// A row of three bars.
struct row {
    const char *name;
    const struct weft_report_phase *phase;
};

static const char *const series[] = {"o4", "o5", "h"};
static const char *const series_names[] = {"flow engine", "packet engine", "measured"};

static void add_row(struct weft_text *text, const struct row *row, double y, double high_s)
{
    const double seconds[] = {row->phase->flow_s, row->phase->packet_s, row->phase->mean_s};
    char label[WEFT_UNIT_TEXT];
    char times[3][WEFT_UNIT_TEXT];
    double tail = LEFT + (RIGHT - LEFT) * row->phase->p99_s / high_s;
    for (int i = 0; i < 3; i++) {
        weft_show_time(times[i], weft_picoseconds(seconds[i]));
    }
    svg_item_begin(text, "", "%s: flow engine %s, packet engine %s, measured %s (p99 %s)",
                   row->name, times[0], times[1], times[2],
                   weft_show_time(label, weft_picoseconds(row->phase->p99_s)));
    svg_label(text, svg_at(LEFT - 10, y + 1.5 * BAR + 4, SVG_END), "t", "%s", row->name);
    for (int i = 0; i < 3; i++) {
        double width = (RIGHT - LEFT) * seconds[i] / high_s;
        svg_rect(text, LEFT, y + i * BAR, fmax(width, 0.5), BAR - 2, series[i]);
        // The tail's mark is none of the mean's: its label stands between them where there is room.
        double end = LEFT + width;
        end = i == 2 && tail < end + LABEL ? fmax(end, tail) : end;
        svg_label(text, svg_at(end + 6, y + i * BAR + 10, SVG_START), "m", "%s", times[i]);
    }
    svg_line(text, tail, y + 2 * BAR - 1, tail, y + 3 * BAR - 1, "e");
    svg_item_end(text);
}

// Draws a group of three bars for each row, flow, packet and measured, on one axis that has room
// for the longest tail.
static void add_bars(struct weft_text *text, const char *name, const struct row *rows,
                     uint32_t count)
{
    double high_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_report_phase *phase = rows[i].phase;
        high_s = fmax(high_s, fmax(fmax(phase->flow_s, phase->packet_s), phase->p99_s));
    }
    high_s = high_s > 0 ? 1.12 * high_s : 1;
    struct svg_unit unit = svg_time_unit(high_s);
    double bottom = TOP + count * (3 * BAR + GAP);
    html_figure(text, "");
    svg_begin(text, WIDTH, bottom + 40, name, false);
    for (int i = 0; i < 3; i++) {
        svg_rect(text, LEFT + 150 * i, 10, 12, 12, series[i]);
        svg_label(text, svg_at(LEFT + 150 * i + 18, 20, SVG_START), "t", "%s", series_names[i]);
    }
    svg_axis_x(text, svg_field(LEFT, RIGHT, TOP - 8, bottom), 0, high_s / unit.scale, unit.name);
    for (uint32_t i = 0; i < count; i++) {
        add_row(text, &rows[i], TOP + i * (3 * BAR + GAP), high_s);
    }
    svg_end(text);
    html_figure_end(text, NULL);
}

static void add_table(struct weft_text *text, const struct weft_report_experiment *experiment)
{
    char cell[WEFT_UNIT_TEXT];
    html_table(text, "Phases, predicted by both engines and measured",
               "phase|>flow|>packet|>measured|>p99|>to packet");
    for (uint32_t i = 0; i < experiment->phase_count; i++) {
        const struct weft_report_phase *phase = &experiment->phases[i];
        const double seconds[] = {phase->flow_s, phase->packet_s, phase->mean_s, phase->p99_s};
        weft_text_add(text, "<tr%s><th scope=\"row\">",
                      i + 1 == experiment->phase_count ? " class=\"on\"" : "");
        weft_text_add_escaped(text, phase->name);
        weft_text_add(text, "</th>");
        for (int c = 0; c < 4; c++) {
            weft_text_add(text, "<td class=\"r\">%s</td>",
                          weft_show_time(cell, weft_picoseconds(seconds[c])));
        }
        if (phase->packet_s > 0) {
            weft_text_add(text, "<td class=\"r\">%+.1f %%</td></tr>\n",
                          100 * (phase->mean_s / phase->packet_s - 1));
        } else {
            weft_text_add(text, "<td class=\"r\"></td></tr>\n");
        }
    }
    html_table_end(text);
}

static void add_experiment(struct weft_text *text, const struct weft_report_experiment *experiment,
                           struct row *rows)
{
    char words[160];
    char rate[WEFT_UNIT_TEXT];
    snprintf(words, sizeof words,
             "Ports of %s; %" PRIu64 " retransmits, %" PRIu64 " ECN marks, %" PRIu64 " drops.",
             weft_show_rate(rate, experiment->rate_Bps), experiment->retransmits,
             experiment->ecn_marks, experiment->drops);
    html_heading(text, experiment->fabric, words);
    for (uint32_t i = 0; i < experiment->phase_count; i++) {
        rows[i] = (struct row){experiment->phases[i].name, &experiment->phases[i]};
    }
    add_bars(text, "Seconds of each phase, predicted and measured", rows, experiment->phase_count);
    add_table(text, experiment);
    weft_text_add(text, "</section>\n");
}

// ---- events ----

// Steps one under the other, each from where the one before ended.
static void add_steps(struct weft_text *text, const struct weft_report_event *event)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < event->step_count; i++) {
        sum_s += event->steps[i].seconds;
    }
    double high_s = sum_s > 0 ? 1.15 * sum_s : 1;
    struct svg_unit unit = svg_time_unit(high_s);
    double bottom = STEPS_TOP + event->step_count * STEP;
    double at_s = 0;
    html_figure(text, "");
    svg_begin(text, WIDTH, bottom + 40, "Steps, each from the end of the one before", false);
    svg_axis_x(text, svg_field(LEFT, RIGHT, STEPS_TOP - 8, bottom), 0, high_s / unit.scale,
               unit.name);
    for (uint32_t i = 0; i < event->step_count; i++) {
        const struct weft_report_step *step = &event->steps[i];
        char label[WEFT_UNIT_TEXT];
        char begin[WEFT_UNIT_TEXT];
        double y = STEPS_TOP + i * STEP;
        double x = LEFT + (RIGHT - LEFT) * at_s / high_s;
        double width = fmax((RIGHT - LEFT) * step->seconds / high_s, 1);
        svg_label(text, svg_at(LEFT - 10, y + 11, SVG_END), "t", "%s", step->name);
        weft_show_time(label, weft_picoseconds(step->seconds));
        svg_item_begin(text, "", "%s: %s, from %s", step->name, label,
                       weft_show_time(begin, weft_picoseconds(at_s)));
        svg_rect(text, x, y, width, STEP - 6, "h");
        svg_item_end(text);
        svg_label(text, svg_at(x + width + 6, y + 11, SVG_START), "m", "%s", label);
        at_s += step->seconds;
    }
    svg_end(text);
    html_figure_end(text, NULL);
}

static void add_event(struct weft_text *text, const struct weft_report_event *event)
{
    const struct row rows[] = {{event->before.name, &event->before},
                               {event->after.name, &event->after}};
    html_heading(text, event->title, event->words);
    add_steps(text, event);
    add_bars(text, "Seconds of an iteration before and after", rows, 2);
    weft_text_add(text, "</section>\n");
}

const char *weft_report_lab_html(const struct weft_report_lab *lab, struct weft_arena *arena,
                                 struct weft_arena scratch)
{
    uint32_t most = lab->experiment_count;
    for (uint32_t i = 0; i < lab->experiment_count; i++) {
        uint32_t count = lab->experiments[i].phase_count;
        WEFT_ASSERT(count >= 1);
        most = count > most ? count : most;
    }
    struct row *rows = WEFT_NEW(&scratch, struct row, (size_t)most + 1);
    struct weft_text text;
    struct weft_text body;
    weft_text_init(&text, arena);
    weft_text_init(&body, &scratch);
    html_begin(&text, lab->title, "Weft lab");
    weft_text_add(&text, "<p class=\"muted\">Run on real Linux networking</p><h1>");
    weft_text_add_escaped(&text, lab->title);
    char slower[WEFT_UNIT_TEXT];
    char longer[WEFT_UNIT_TEXT];
    weft_text_add(&text,
                  "</h1>\n<p>%u iterations a fabric over TCP (%s). Ports carry 1/%s of what is "
                  "planned, and times are %s times the plan's; predictions are for the same "
                  "scaled job.</p>\n",
                  lab->iterations, lab->congestion, html_count(slower, lab->rate_ratio),
                  html_count(longer, lab->time_ratio));
    html_origin(&text, "Plan", lab->title, lab->cluster, &lab->origin);
    html_heading(&body, "Iterations", "Mean of the measured ones; the mark is their p99.");
    for (uint32_t i = 0; i < lab->experiment_count; i++) {
        const struct weft_report_experiment *experiment = &lab->experiments[i];
        rows[i] =
            (struct row){experiment->fabric, &experiment->phases[experiment->phase_count - 1]};
    }
    add_bars(&body, "Seconds of an iteration by fabric", rows, lab->experiment_count);
    weft_text_add(&body, "</section>\n");
    for (uint32_t i = 0; i < lab->event_count; i++) {
        add_event(&body, &lab->events[i]);
    }
    for (uint32_t i = 0; i < lab->experiment_count; i++) {
        add_experiment(&body, &lab->experiments[i], rows);
    }
    html_end(&text, body.data);
    return text.data;
}
