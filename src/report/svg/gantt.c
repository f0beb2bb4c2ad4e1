// SPDX-License-Identifier: Apache-2.0
// Who had which servers when: time across, servers down, a color for each class of jobs.
//
// A box is one stay of one job on neighboring servers; its name stands inside where it fits.
// O(stays).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define LEFT 78.0
#define RIGHT 980.0
#define TOP 64.0
#define HEIGHT_MIN 220.0
#define HEIGHT_MAX 720.0
// Names stand in boxes of at least this size.
#define NAME_HEIGHT 11.0
#define LETTER 6.2

struct gantt {
    const struct weft_timetable *schedule;
    const struct weft_job_trace *trace;
    struct weft_text *text;
    double scale; // pixels a ps
    double row;   // pixels a server
};

static double x_at(const struct gantt *gantt, uint64_t time_ps)
{
    return LEFT + gantt->scale * (double)time_ps;
}

// Servers first .. last of a span.
static void add_box(const struct gantt *gantt, const struct weft_job_span *span, uint32_t first,
                    uint32_t last, bool named)
{
    const struct weft_job_record *job = &gantt->schedule->jobs[span->job];
    double x = x_at(gantt, span->start_ps);
    double begin = x_at(gantt, span->begin_ps);
    double end = x_at(gantt, span->end_ps);
    double y = TOP + gantt->row * first;
    double height = gantt->row * (last - first + 1);
    // A hair between neighbours, where there is room for one.
    double gap = height > 3 ? 0.6 : 0;
    weft_text_add(gantt->text,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"f%u\">"
                  "<title>",
                  begin, y + gap / 2, fmax(end - begin - gap, 0.3), height - gap,
                  job->class_id % SVG_COLOR_COUNT);
    weft_text_add_escaped(gantt->text, job->name);
    weft_text_add(gantt->text, "</title></rect>\n");
    if (begin - x > 0.5) {
        weft_text_add(gantt->text,
                      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"fo\"/>\n",
                      x, y + gap / 2, begin - x, height - gap);
    }
    double letters = 0;
    for (const char *c = job->name; *c != '\0'; c++) {
        letters++;
    }
    if (named && height >= NAME_HEIGHT && end - begin > letters * LETTER + 6) {
        // White on the dark colors, black on the others.
        bool dark =
            job->class_id % SVG_COLOR_COUNT % 5 == 0 || job->class_id % SVG_COLOR_COUNT == 2;
        svg_label(gantt->text, svg_at(begin + 3, y + height / 2 + 3.6, SVG_START), dark ? "bg" : "",
                  "%s", job->name);
    }
    if (span->interrupted) {
        weft_text_add(gantt->text, "<path class=\"e\" stroke-width=\"2\" d=\"M%.2f %.2fV%.2f\"/>\n",
                      end, y, y + height);
    }
}

static void add_span(const struct gantt *gantt, const struct weft_job_span *span, bool *has,
                     uint32_t server_count)
{
    for (uint32_t v = 0; v < server_count; v++) {
        has[v] = false;
    }
    for (uint32_t i = 0; i < span->server_count; i++) {
        has[span->servers[i]] = true;
    }
    bool named = true;
    for (uint32_t v = 0; v < server_count; v++) {
        if (!has[v]) {
            continue;
        }
        uint32_t first = v;
        while (v + 1 < server_count && has[v + 1]) {
            v++;
        }
        add_box(gantt, span, first, v, named);
        named = false;
    }
}

// A server, or both ends of a link, while it was down.
static void add_failure(const struct gantt *gantt, const struct weft_trace_failure *failure)
{
    uint64_t end_ps = failure->time_ps + failure->repair_ps;
    end_ps = end_ps < gantt->schedule->end_ps ? end_ps : gantt->schedule->end_ps;
    uint32_t ends[] = {failure->server, failure->peer};
    bool both = failure->is_link && !gantt->trace->shards.dedicated;
    for (uint32_t i = 0; i < (both ? 2u : 1u); i++) {
        if (ends[i] < gantt->trace->cluster.server_count && failure->time_ps < end_ps) {
            double x = x_at(gantt, failure->time_ps);
            weft_text_add(gantt->text,
                          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                          "class=\"e\" fill=\"none\" stroke-width=\"1.5\"><title>%s down"
                          "</title></rect>\n",
                          x, TOP + gantt->row * ends[i], x_at(gantt, end_ps) - x, gantt->row,
                          failure->is_link ? "link" : "server");
        }
    }
}

// Jobs that wait, as steps over time.
static uint32_t waiting_at(const struct weft_timetable *schedule, uint64_t time_ps)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < schedule->job_count; j++) {
        const struct weft_job_record *job = &schedule->jobs[j];
        count += job->arrival_ps <= time_ps && time_ps < job->start_ps;
    }
    return count;
}

static void add_queue(const struct gantt *gantt, double top, double height)
{
    enum { STEPS = 400 };
    const struct weft_timetable *schedule = gantt->schedule;
    uint32_t counts[STEPS];
    uint32_t most = 1;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint64_t time_ps = (uint64_t)((double)schedule->end_ps * (i + 0.5) / STEPS);
        counts[i] = waiting_at(schedule, time_ps);
        most = counts[i] > most ? counts[i] : most;
    }
    svg_label(gantt->text, svg_at(LEFT - 8, top + height / 2 + 4, SVG_END), "t", "waiting");
    weft_text_add(gantt->text, "<path class=\"fo\" d=\"M%g %.2f", LEFT, top + height);
    for (uint32_t i = 0; i < STEPS; i++) {
        double x = LEFT + (RIGHT - LEFT) * i / STEPS;
        double y = top + height - height * counts[i] / most;
        weft_text_add(gantt->text, "L%.2f %.2fH%.2f", x, y, x + (RIGHT - LEFT) / STEPS);
    }
    weft_text_add(gantt->text, "L%g %.2fZ\"/>\n", RIGHT, top + height);
    svg_label(gantt->text, svg_at(RIGHT + 4, top + 9, SVG_START), "m", "%u", most);
}

static void add_legend(const struct gantt *gantt)
{
    double x = LEFT;
    for (uint32_t c = 0; c < gantt->trace->class_count && c < SVG_COLOR_COUNT; c++) {
        const char *name = gantt->trace->classes[c].name;
        char class[8];
        snprintf(class, sizeof class, "f%u", c);
        svg_rect(gantt->text, x, 36, 12, 12, class);
        svg_label(gantt->text, svg_at(x + 17, 46, SVG_START), "t", "%s", name);
        double letters = 0;
        for (const char *at = name; *at != '\0'; at++) {
            letters++;
        }
        x += 34 + letters * 7;
    }
}

const char *weft_report_svg_gantt(const struct weft_timetable *schedule,
                                  const struct weft_job_trace *trace, const char *title,
                                  struct weft_arena *arena)
{
    uint32_t servers = trace->cluster.server_count;
    bool *has = WEFT_NEW(arena, bool, servers);
    struct weft_text text;
    weft_text_init(&text, arena);
    double height = fmin(fmax(16.0 * servers, HEIGHT_MIN), HEIGHT_MAX);
    double end_s = weft_seconds(schedule->end_ps);
    struct svg_unit unit = end_s >= 7200  ? (struct svg_unit){3600, "h"}
                           : end_s >= 240 ? (struct svg_unit){60, "min"}
                                          : svg_time_unit(end_s);
    struct gantt gantt = {
        .schedule = schedule,
        .trace = trace,
        .text = &text,
        .scale = schedule->end_ps > 0 ? (RIGHT - LEFT) / (double)schedule->end_ps : 0,
        .row = height / servers,
    };
    double queue_top = TOP + height + 46;
    svg_begin(&text, 1020, queue_top + 54, "Who had which servers when", true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t l b", "%s: %u jobs on %u servers", title,
              schedule->job_count, servers);
    add_legend(&gantt);
    svg_axis_x(&text, svg_field(LEFT, RIGHT, TOP, TOP + height), 0, end_s / unit.scale, unit.name);
    double step = fmax(svg_step(servers, 8), 1);
    for (double v = 0; v < servers; v += step) {
        svg_label(&text, svg_at(LEFT - 8, TOP + gantt.row * (v + 0.5) + 4, SVG_END), "m", "%.0f",
                  v);
    }
    svg_label(&text, svg_at(LEFT - 8, TOP - 6, SVG_END), "t", "server");
    for (uint32_t s = 0; s < schedule->span_count; s++) {
        add_span(&gantt, &schedule->spans[s], has, servers);
    }
    for (uint32_t f = 0; f < schedule->failure_count; f++) {
        add_failure(&gantt, &schedule->failures[f]);
    }
    add_queue(&gantt, queue_top, 40);
    svg_end(&text);
    return text.data;
}
