// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_BUY_BUY_H
#define WEFT_REQUEST_BUY_BUY_H

// What the files of the request share: buy.c finds the rows and asks for what a fabric is made of
// (parts.c) and what storage takes (storage.c), for direct fabrics that are planned (own.c), for
// fabrics whose circuits move (moving.c), for what would change (sensitivity.c), for the answer in
// sentences (words.c) and on a page (page.c).

#include "request/plan/strategy.h"
#include "weft/request/buy.h"

// Times are by different means (flow engine, replay, estimate): within so much they are alike.
#define AS_FAST_RATIO 1.01

// Direct fabrics in a row that are planned for the model: by Weft, and as TopoOpt published it.
#define WEFT_BUY_OWN "weft"
#define WEFT_BUY_PAPER "topoopt"
// Larger clusters have no such plan beside the others: a transformer's task graphs are too large
// to search by simulation, and the direct fabrics of operators take hours.
#define WEFT_BUY_PLANNED_SERVERS_MAX 128u

// Whether the fabric of that name is planned by weft_buy_plan_own.
bool weft_buy_is_planned(const char *fabric);

// Whether there is a link between two switches.
bool weft_buy_joins_switches(const struct weft_fabric *fabric);

// The fabric's parts with dollars and watts, and their sums. Fails as its builder does.
bool weft_buy_fill_parts(struct weft_buy_row *row, const struct weft_cluster *cluster,
                         const struct weft_environment *environment) WEFT_MUST_USE;
// The same of a network that stands.
bool weft_buy_count_parts(struct weft_buy_row *row, const struct weft_network *network,
                          const struct weft_cluster *cluster,
                          const struct weft_environment *environment) WEFT_MUST_USE;
// The same of a plan, with ports of the cluster's rate.
bool weft_buy_count_own(struct weft_buy_row *row, const struct weft_plan *plan,
                        const struct weft_cluster *cluster,
                        const struct weft_environment *environment) WEFT_MUST_USE;
// Fills found and parts of a row, whose model, cluster and setting are filled, by a plan. Fails as
// weft_coplan_build does.
bool weft_buy_plan_own(struct weft_buy_row *row, const struct weft_buy_request *request,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// Likewise by the planner of a fabric whose circuits move, which take dark_ps to turn (WEFT_NEVER:
// not said, 25 ms).
bool weft_buy_plan_moving(struct weft_buy_row *row, const struct weft_buy_request *request,
                          uint64_t dark_ps, struct weft_request_environment *environment)
    WEFT_MUST_USE;
// result->moved, where several dark times are asked for.
bool weft_buy_fill_moved(struct weft_buy_result *result, const struct weft_buy_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// Puts parts with their prices on the row's bill: no bill of switches.
void weft_buy_price_parts(struct weft_buy_row *row, const struct weft_parts *parts,
                          const struct weft_price_book *book, struct weft_arena *arena);
// result->storage, with names that say so, where the cluster states storage ports. Fails with INPUT
// where no switch takes them.
bool weft_buy_fill_storage(struct weft_buy_result *result,
                           const struct weft_environment *environment) WEFT_MUST_USE;
// Puts the storage network's rows behind those of the row's bill, and into its sums.
void weft_buy_add_storage(struct weft_buy_row *row, const struct weft_bill *storage,
                          struct weft_arena *arena);
// result->changes, of a row of result's first batch; a strategy that was given stays.
void weft_buy_fill_changes(struct weft_buy_result *result, const struct weft_buy_row *row,
                           bool given, const struct weft_environment *environment);
// The page of a result that has all else; `answer` may be NULL.
const char *weft_buy_draw(const struct weft_buy_result *result, const struct weft_buy_row *answer,
                          const struct weft_report_origin *origin,
                          const struct weft_environment *environment);

#endif
