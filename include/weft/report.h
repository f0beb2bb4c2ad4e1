// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

// Reports: results as text and pictures for people. Values in, text out; nothing here computes or
// prints.
//
//   plan, sim, traffic ──► [report] ──► cli

#include "weft/base.h"
#include "weft/circuit.h"
#include "weft/interleave.h"
#include "weft/photonics/execute.h"
#include "weft/photonics/lab.h"
#include "weft/photonics/mesh.h"
#include "weft/plan.h"
#include "weft/plan/rack.h"
#include "weft/plan/rails.h"
#include "weft/scheduler.h"
#include "weft/sim.h"
#include "weft/strategy.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// ---- tables ----

enum weft_align {
    WEFT_ALIGN_LEFT,  // words
    WEFT_ALIGN_RIGHT, // figures
    WEFT_ALIGN_SHOWN, // figures for people alone, which other columns give to sheets
    WEFT_ALIGN_SHEET, // of sheets alone
};

struct weft_table_column {
    const char *title;
    enum weft_align align;
};

// A cell: what people read, and of a figure what it was made of.
struct weft_table_cell {
    const char *text; // NULL: empty
    const char *unit; // of the value, in SI: "s"; "": it has none; NULL: the text is all there is
    double value;
};

// Figures with their texts, which live in the arena; `digits` stand behind the point.
struct weft_table_cell weft_cell_time(struct weft_arena *arena, double seconds);  // "61.4 ms"
struct weft_table_cell weft_cell_bytes(struct weft_arena *arena, double bytes);   // "1.2 GB"
struct weft_table_cell weft_cell_rate(struct weft_arena *arena, double rate_Bps); // "100 Gbps"
struct weft_table_cell weft_cell_usd(struct weft_arena *arena, double usd);       // "$1,234"
struct weft_table_cell weft_cell_power(struct weft_arena *arena, double watts);   // "12.8 kW"
struct weft_table_cell weft_cell_count(struct weft_arena *arena, uint64_t count); // "1234"
struct weft_table_cell weft_cell_number(struct weft_arena *arena, int digits, double value);
struct weft_table_cell weft_cell_percent(struct weft_arena *arena, int digits, double ratio);
// The same with its sign: "+3.1 %".
struct weft_table_cell weft_cell_change(struct weft_arena *arena, int digits, double ratio);
// Any other figure with the text that shows it.
struct weft_table_cell weft_cell_figure(const char *text, const char *unit, double value);

// A table with a line of titles, columns two blanks apart, no line ending in a blank. cells holds
// row_count * column_count cells in rows. Widths are counted in UTF-8 code points. Control bytes
// become '?', so that a hostile name cannot break the table. O(bytes).
const char *weft_report_table(const struct weft_table_column *columns, uint32_t column_count,
                              const struct weft_table_cell *cells, uint32_t row_count,
                              struct weft_arena *arena);

// The same table for documents, as people read it.
const char *weft_report_markdown(const struct weft_table_column *columns, uint32_t column_count,
                                 const struct weft_table_cell *cells, uint32_t row_count,
                                 struct weft_arena *arena);
// And for sheets: values in place of texts, with the 15 digits that JSON has, their unit in the
// title in parentheses ("iteration (s)"); the figures of a column have one unit. Fields are quoted
// by RFC 4180, lines end in '\n'. "-" and what JSON has as null are empty fields. O(bytes).
const char *weft_report_csv(const struct weft_table_column *columns, uint32_t column_count,
                            const struct weft_table_cell *cells, uint32_t row_count,
                            struct weft_arena *arena);

// An n*n matrix as rows of characters, darker for larger: at most `side` rows and columns, each the
// largest value of the square it stands for. The scale is linear up to the largest value. O(n^2).
const char *weft_report_heat(const double *values, uint32_t count, uint32_t side,
                             struct weft_arena *arena);

// ---- pictures and pages ----

// `scratch` must not be of the same memory as `arena`. Same values in, same bytes out.

// Where a page came from, as whoever asked for it says; NULL = not said. The same plan gives the
// same page only where these are the same.
struct weft_report_origin {
    const char *command;
    const char *date;
};

// One round of the loop between strategy and topology.
struct weft_report_round {
    uint32_t start;     // which start it belongs to; rounds of one start stand together, in order
    double iteration_s; // of that round's strategy on that round's network
};

// What a page is made of. Parts that are NULL or empty are left out.
struct weft_report {
    const char *title; // of the job: its file's name, for people
    struct weft_report_origin origin;
    const struct weft_plan *plan;
    const struct weft_taskgraph *graph;
    const struct weft_traffic *traffic;
    const struct weft_sim_result *result; // one job on the plan's fabric; with its timeline
    const struct weft_comparison *comparisons;
    uint32_t comparison_count;
    // Of a plan that began with a model. A strategy needs its model.
    const struct weft_model *model;
    const struct weft_strategy *strategy;
    const struct weft_strategy_setting *setting;
    const struct weft_report_round *rounds;
    uint32_t round_count;
};

// One HTML page that needs nothing else: metrics, strategy, ranks, certificate, comparison,
// timeline, link loads, traffic, rings and parts. Its script only adds (docs/report.md). O(links +
// n^2 + tasks * columns + parts of operators).
const char *weft_report_html(const struct weft_report *report, struct weft_arena *arena,
                             struct weft_arena scratch);
// The fabric alone, as an SVG file.
const char *weft_report_svg_fabric(const struct weft_plan *plan, struct weft_arena *arena,
                                   struct weft_arena scratch);
// The traffic alone, as an SVG file. `rings` (index = traffic group) may be NULL: then each group
// goes round in the order of its members.
const char *weft_report_svg_heat(const struct weft_traffic *traffic,
                                 const struct weft_ring_set *rings, struct weft_arena *arena,
                                 struct weft_arena scratch);

// Circuits over the matrix of an all-to-all, as an SVG file.
struct weft_circuit_chart {
    uint32_t node_count;
    const double *bytes;      // node_count^2, row = sender
    const uint32_t *circuits; // node_count^2
    double time, ideal;
};
const char *weft_report_svg_circuits(const struct weft_circuit_chart *chart,
                                     struct weft_arena *arena);

// What MLT sent over time, by class, as an SVG file. O(spans).
const char *weft_report_svg_step(const struct weft_step_trace *step, const char *title,
                                 struct weft_arena *arena);

// A mesh of interferometers with the routes of one setting, as an SVG file. O(cells).
struct weft_mesh_picture {
    const struct weft_mesh *mesh;
    const uint8_t *cells;
    const uint8_t *stuck; // enum weft_mesh_stuck per cell; NULL
    uint32_t route_count;
    const struct weft_mesh_route *routes;
    const char *title;
};
const char *weft_report_svg_mesh(const struct weft_mesh_picture *picture, struct weft_arena *arena);

// ---- fabrics that one buys ----

// "What binds" and "computation 99.6 %": a sentence in two parts, without colon and full stop.
struct weft_report_sentence {
    const char *name;
    const char *words; // NULL = it does not apply
};

// What moving circuits cost a fabric.
struct weft_report_moving {
    double dark_s;           // that a switch turns
    double still_s, bound_s; // of an iteration: without changes, and at the least
    double dark_share;
    uint64_t change_count;
};
// A fabric with one batch.
struct weft_report_offer {
    const char *fabric;
    const char *why_not; // NULL; or why it has no answer: nothing of what follows is filled then
    bool sold;           // its ports and switches are
    bool estimate;       // iteration_s was not played
    const char *by;      // what iteration_s is by: "flow engine", "replay", "estimate"
    double iteration_s, estimate_s;
    double samples_per_s, tokens_per_s, mfu; // the last two 0 where samples are none of tokens
    double memory_bytes;                     // of the fullest accelerator
    const struct weft_hybrid *hybrid;        // NULL: operator by operator
    const char *binding;                     // what its time goes to; NULL: not known
    const char *launch;                      // the command, in lines; NULL: none
    const char *without_flag;                // what no flag of it says; NULL: nothing
    const struct weft_bill *bill;
    const char *no_bill;    // why its switches are not on it; NULL: they are
    const char *price_note; // of ports whose rate the price book lacks; NULL: it has them
    const char *time_note;  // why its time is by other means; NULL: it is not
    const struct weft_report_moving *moving; // NULL: its circuits stand
};
struct weft_report_batch {
    uint64_t batch; // samples of an iteration
    uint32_t offer_count;
    const struct weft_report_offer *offers;
    uint32_t advised; // WEFT_NONE: no offer has a time
};
// The advised offer of the first batch, were it otherwise.
struct weft_report_change {
    const char *what;
    double iteration_s, tokens_per_s, usd;
    const char *why_not; // NULL; else there are no figures
};
struct weft_dark_chart;
struct weft_report_market {
    const char *title;   // the model
    const char *cluster; // its file
    const char *head;    // servers, accelerators and ports in words
    const char *prices;  // whose they are; NULL: not said
    struct weft_report_origin origin;
    bool stopped;                                 // a search was left before its end
    uint32_t batch_count;                         // >= 1
    const struct weft_report_batch *batches;      // the first one's advised offer is the answer
    uint32_t sentence_count;                      // that say the answer
    const struct weft_report_sentence *sentences; // without words: left out
    uint32_t change_count;
    const struct weft_report_change *changes;
    const struct weft_dark_chart *dark; // iterations by dark time; NULL: one at most
};
// One HTML page that needs nothing else: the answer, dollars over time, the fabrics as a table that
// the script sorts, strategies, bills, launch commands, what would change. O(rows of all bills).
const char *weft_report_market_html(const struct weft_report_market *market,
                                    struct weft_arena *arena, struct weft_arena scratch);

// ---- models over fabrics ----

enum weft_sweep_axis {
    WEFT_SWEEP_RATE,  // a panel for each model, batch and degree
    WEFT_SWEEP_BATCH, // a panel for each model, degree and rate
};
enum weft_sweep_metric {
    WEFT_SWEEP_TIME, // of an iteration, on a logarithmic scale
    WEFT_SWEEP_TAX,
};
// What is drawn of them. Without all_fabrics the lines are those of the fabrics that buyers weigh
// (the ideal switch, Fat-trees, the expander, the rewired one, both methods'), and tables have the
// others; who names fabrics wants all of them.
struct weft_sweep_view {
    enum weft_sweep_axis axis;
    enum weft_sweep_metric metric;
    bool all_fabrics;
};
// Lines over rates or batches, one a fabric, as an SVG file. Lines that lie on each other take
// turns along their length. Panels and points stand in the order in which `comparisons` has them.
// O(rows * lines^2).
const char *weft_report_svg_sweep(const struct weft_model_comparison *comparisons, uint32_t count,
                                  const struct weft_sweep_view *view, struct weft_arena *arena,
                                  struct weft_arena scratch);

// ---- many jobs ----

// Who had which servers when, as an SVG file: time across, servers down, a color for each class,
// grey while a job has servers but does not iterate yet, a mark where a failure ended it; below,
// how many jobs wait. `trace` is the expanded one. O(spans * servers + jobs).
const char *weft_report_svg_gantt(const struct weft_timetable *schedule,
                                  const struct weft_job_trace *trace, const char *title,
                                  struct weft_arena *arena);

// ---- rails ----

// The ports of a photonic rail over an iteration, as an SVG file: a row a server. O(spans).
const char *weft_report_svg_rails(const struct weft_rail_result *rail, const char *name,
                                  struct weft_arena *arena);

// ---- a late rank ----

// Seconds of an AllReduce by how late its last rank is, as an SVG file: StragglAR, a ring, and
// where they cross (break_even_s; INFINITY: nowhere). delay_s ascends. O(count).
struct weft_delay_curve {
    uint32_t rank_count;
    uint32_t count; // >= 2
    const double *delay_s;
    const double *stragglar_s;
    const double *ring_s;
    double break_even_s;
    double hidden_s; // from this delay on the others' reduce-scatter is wholly hidden
};
const char *weft_report_svg_delays(const struct weft_delay_curve *curve, struct weft_arena *arena);

// Seconds of each algorithm by size on logarithmic scales, as an SVG file, marks on the quickest
// and the bound below. Sizes ascend; rankings as weft_collective_rank makes them. O(count).
const char *weft_report_svg_ranking(const struct weft_collective_ranking *rankings, uint32_t count,
                                    const char *title, struct weft_arena *arena);

// ---- circuits that move ----

// Seconds of an iteration on each fabric by how long switches turn, as an SVG file; 0: no plan
// there. dark_s ascends, is above 0 and has at least two values. O(lines * points).
struct weft_dark_chart {
    const char *title;
    uint32_t line_count;
    const char *const *names;
    uint32_t point_count;
    const double *dark_s;
    const double *iteration_s; // [point * line_count + line]
    const double *dark_share;  // likewise: of the time of ports
    const uint32_t *fastest;   // per point: the line with a dot; WEFT_NONE: none
};
const char *weft_report_svg_dark(const struct weft_dark_chart *chart, struct weft_arena *arena);

// ---- requests served ----

// Mean latencies over load, as an SVG file. load_Bps ascends; [point * line_count + line]; means
// above 0. Where rho >= 1 a mean is of the requests counted alone. O(lines * points).
struct weft_serving_chart {
    const char *title;
    uint32_t line_count; // >= 1
    const char *const *names;
    uint32_t point_count; // >= 1
    const double *load_Bps;
    const double *mean_s;
    const double *rho;
    double objective_s;
};
const char *weft_report_svg_serving(const struct weft_serving_chart *chart,
                                    struct weft_arena *arena);

// ---- gradients that lose segments ----

// Accuracy of a net over the share of segments that is lost, a line for each kind of loss, as an
// SVG file. Errors are standard errors of the difference to what loses nothing; NaN: not known.
// Shares of a line ascend. O(points).
struct weft_loss_point {
    double share, accuracy, error;
};
struct weft_loss_line {
    const char *name;
    uint32_t count;
    const struct weft_loss_point *points;
};
struct weft_loss_chart {
    const char *title;
    struct weft_loss_point whole; // nothing is lost
    uint32_t line_count;
    const struct weft_loss_line *lines;
};
const char *weft_report_svg_accuracy(const struct weft_loss_chart *chart, struct weft_arena *arena);

// ---- jobs that share links ----

// Unified circles of the links that are shared, before and after the shifts, as an SVG file; the
// dozen that score worst. O(links log links + circles * phases).
const char *weft_report_svg_circles(const struct weft_snapshot *snapshot,
                                    const struct weft_interleaving *found, struct weft_arena *arena,
                                    struct weft_arena scratch);

// ---- measured ratios ----

// How many times the ideal something took: of several runs the mean, the least and the most. A mean
// that is not finite is one that was not measured.
struct weft_ratio {
    double mean;
    double low;
    double high;
};
struct weft_ratio_chart {
    const char *title;
    const char *axis; // "% longer than ideal"
    uint32_t group_count;
    uint32_t series_count; // 4 at most; the last stands out
    const char *const *groups;
    const char *const *series;
    const struct weft_ratio *ratios; // [group * series_count + series]
};
// What is lost against the ideal, in per cent, as bars in groups, an SVG file. O(bars).
const char *weft_report_svg_ratios(const struct weft_ratio_chart *chart, struct weft_arena *arena);

// ---- experiments in the lab ----

// A phase of an iteration: what both engines predict, and what was measured.
struct weft_report_phase {
    const char *name;
    double flow_s;
    double packet_s;
    double mean_s;
    double p99_s;
};
struct weft_report_experiment {
    const char *fabric;
    uint32_t phase_count; // >= 1; the last is the whole iteration
    const struct weft_report_phase *phases;
    uint64_t retransmits;
    uint64_t ecn_marks;
    uint64_t drops;
    double rate_Bps; // of a port in the lab
};
// What came over the job, a fault or another plan: what was done, step after step, and whole
// iterations before and after.
struct weft_report_step {
    const char *name;
    double seconds;
};
struct weft_report_event {
    const char *title; // "link 3:1 at iteration 4"
    const char *words; // what was lost and what was done about it
    uint32_t step_count;
    const struct weft_report_step *steps; // each from the end of the one before
    struct weft_report_phase before;
    struct weft_report_phase after;
};
struct weft_report_lab {
    const char *title;   // the plan's file, for people
    const char *cluster; // of the plan
    struct weft_report_origin origin;
    const char *congestion; // control of TCP
    uint32_t iterations;
    double rate_ratio; // planned rate over the lab's
    double time_ratio; // time in the lab over the plan's
    uint32_t experiment_count;
    const struct weft_report_experiment *experiments;
    uint32_t event_count;
    const struct weft_report_event *events;
};
// One HTML page that needs nothing else: iterations of each fabric, then events with their steps,
// then each fabric's phases, predicted and measured side by side. O(phases).
const char *weft_report_lab_html(const struct weft_report_lab *lab, struct weft_arena *arena,
                                 struct weft_arena scratch);

// Wavelengths of a fiber ring: a track each, with its arcs. A whole file.
struct weft_ring_picture {
    uint32_t ring;
    uint32_t arc_count;
    const struct weft_ring_arc *arcs;
    const struct weft_ring_coloring *coloring;
    bool both_ways;
};
const char *weft_report_svg_wavelengths(const struct weft_ring_picture *picture,
                                        struct weft_arena *arena);

// A photonic rack at one time.
struct weft_rack_sight {
    const uint32_t *holders;              // of a chip: the slice, WEFT_NONE = free
    const bool *lost;                     // of a chip
    const struct weft_rack_slice *slices; // tenant WEFT_NONE = holds nothing
};
struct weft_rack_picture {
    const struct weft_rack *rack;
    uint32_t slice_count;
    struct weft_rack_sight before, after; // a failure
    bool fails;                           // else `before` alone is drawn
};
// Servers with their chips in the colors of their slices, fibers between them, and those that
// slices light. A whole file.
const char *weft_report_svg_rack(const struct weft_rack_picture *picture, struct weft_arena *arena);

// Both converters and the detectors of a dot product over time, sample by sample; four wavelengths
// at most. A whole file.
const char *weft_report_svg_waveform(const struct weft_photonic_dot *dot, const char *title,
                                     struct weft_arena *arena);
// Signals of a program over its cycles, a row each, by when they come first. A whole file.
const char *weft_report_svg_cycles(const struct weft_photonic_trace *trace,
                                   const char *const *layers, const char *title,
                                   struct weft_arena *arena);

WEFT_API_END

#endif
