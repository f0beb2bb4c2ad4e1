// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_SVG_PICTURES_H
#define WEFT_REPORT_SVG_PICTURES_H

// The pictures of a report, each added to a text; one file of this folder each.
//
// `alone` makes a picture a file of its own, with its style and background; inside a page the
// page has them.

#include "weft/report.h"

// `link_bytes` of an iteration, NULL = not known.
void picture_fabric(struct weft_text *text, const struct weft_plan *plan, const double *link_bytes,
                    bool alone, struct weft_arena scratch);
// Two maps of n*n bytes side by side; rings decide which servers an AllReduce joins.
void picture_heat(struct weft_text *text, const struct weft_traffic *traffic,
                  const struct weft_ring_set *rings, bool alone, struct weft_arena scratch);
void picture_loads(struct weft_text *text, const struct weft_fabric *fabric,
                   const double *link_bytes, struct weft_arena scratch);
void picture_timeline(struct weft_text *text, const struct weft_taskgraph *graph,
                      const uint64_t *start_ps, const uint64_t *end_ps, uint64_t iteration_ps,
                      struct weft_arena scratch);
// The same tasks as data for the page's script.
void picture_tasks(struct weft_text *text, const struct weft_taskgraph *graph,
                   const uint64_t *start_ps, const uint64_t *end_ps, uint64_t iteration_ps,
                   struct weft_arena scratch);
void picture_comparison(struct weft_text *text, const struct weft_comparison *rows,
                        uint32_t row_count);
void picture_certificate(struct weft_text *text, const struct weft_certificate *certificate,
                         double iteration_s);
// Dollars over iteration time, a point for each fabric; at least two of them have a time.
void picture_market(struct weft_text *text, const struct weft_report_batch *batch,
                    struct weft_arena scratch);

// Iterations by how long switches turn, with labels beside the lines.
void picture_dark(struct weft_text *text, const struct weft_dark_chart *chart, bool alone);

// Placements of operators: servers down, operators across.
void picture_operators(struct weft_text *text, const struct weft_model *model,
                       const struct weft_strategy *strategy, struct weft_arena scratch);
// By how much the rank, which is the accelerator, grows with a step on each axis of parallelism.
struct picture_strides {
    uint64_t tp, cp, dp, pp;
};
struct picture_strides picture_hybrid_strides(const struct weft_hybrid *hybrid);
// Ranks of a hybrid strategy on servers of so many accelerators.
void picture_hybrid(struct weft_text *text, const struct weft_hybrid *hybrid, uint32_t per_server);
// A column a server; limit 0 = none.
void picture_memory(struct weft_text *text, const struct weft_memory *memory, uint32_t server_count,
                    double limit_bytes, struct weft_arena scratch);
void picture_uses(struct weft_text *text, const struct weft_breakdown *breakdown,
                  uint32_t server_count, uint64_t iteration_ps, struct weft_arena scratch);
void picture_path(struct weft_text *text, const struct weft_breakdown *breakdown);
// The best iteration by round, a line for each start.
void picture_rounds(struct weft_text *text, const struct weft_report_round *rounds, uint32_t count);

#endif
