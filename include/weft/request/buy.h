// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_BUY_H
#define WEFT_REQUEST_BUY_H

// A model on fabrics that one buys: what each gives and costs, and what to launch on it.
//
// Of each fabric the best strategy that weft_request_strategy finds, its time by the flow engine
// where that plays it, else by estimate; the fabric's parts with dollars and watts; flags that
// launch the strategy; how long a training of so many tokens takes. Of the fabric that is advised,
// what changes where an assumption is wrong.

#include "weft/fabric.h"
#include "weft/format/export.h"
#include "weft/plan/moving.h"
#include "weft/report.h"
#include "weft/request.h"
#include "weft/request/parameter.h"
#include "weft/request/strategy.h"

WEFT_API_BEGIN

struct weft_buy_request {
    struct weft_request_job job;           // its model is asked for
    struct weft_request_hardware hardware; // its cluster, too; balance: even unless it is stated
    struct weft_buy_fabrics {              // reference fabrics by name; none: all of them
        uint32_t count;
        const char *const *names;
    } fabrics;
    struct weft_fabric_options shape; // radix and oversubscription, where a fabric has them
    const char *switch_name;          // all switches are of this model; NULL: of the cluster's
    const char *strategy;             // of a transformer: this one ("tp=8,pp=4"), not searched
    struct weft_count_list batches;   // samples of an iteration, one answer each; none: the job's
    double tokens;                    // of the training; 0 = not said
    double seconds;                   // effort of the search on each fabric; 0: 10
    // Of fabrics whose circuits move: how long a switch turns (none: 25 ms); several rise from
    // above 0: the rows are of the first, and `moved` of the result of each.
    struct weft_time_list dark_times;
    uint32_t delays; // by weft_delays_words
    bool own;        // Weft's own plan has a row, too, the last one, up to 128 servers
    bool report;     // the result has a page, too
    struct weft_report_origin origin; // that the page states
};
// fabric, radix, oversubscription, switch, strategy, batches, tokens, dark-time and delays by name.
enum { WEFT_BUY_PARAMETERS = 9 };
enum weft_delays { WEFT_DELAYS_IDEAL, WEFT_DELAYS_COMMODITY, WEFT_DELAYS_COUNT };
extern const char *const weft_delays_words[]; // "ideal", "commodity"
extern const struct weft_parameter weft_buy_parameters[WEFT_BUY_PARAMETERS];

// A training of so many tokens. Energy: accelerators at their makers' watts and the network,
// without hosts and cooling.
struct weft_buy_training {
    double days, accelerator_hours;
    double kwh; // 0: the accelerator's maker states no watts
};

// One batch on one fabric.
struct weft_buy_row {
    const char *fabric;
    struct weft_fabric_options shape; // of the request, as far as this fabric has it
    uint32_t radix;      // it was built with: the shape's, else that of the only switch; 0: its own
    bool one_tier;       // its switches are joined by nothing but servers
    const char *why_not; // NULL; or why there is none: of what follows nothing is filled then
    bool sold;           // it has a bill of switches, and ports of a rate that is sold
    struct weft_strategy_result found; // the best strategy first
    double iteration_s, estimate_s;
    bool estimate;                      // iteration_s was not played
    double mfu;                         // 0 where it is no transformer
    double samples_per_s, tokens_per_s; // tokens: 0 where samples are none of tokens
    struct weft_bill bill;
    const char
        *no_bill; // why its switches are not on it but ports by the price book; NULL: they are
    const char *price_note; // of ports whose rate the price book lacks; NULL: it has them
    const char *time_note;  // why its time is not by the means of the others; NULL: it is
    struct weft_launch launch;
    struct weft_hybrid_rails rails; // of transformers
    const char *rails_note; // what of NCCL follows from rails that do not meet; NULL: nothing
    struct weft_buy_training training;     // 0 where tokens are not said
    const struct weft_plan *own;           // where it was planned; NULL: of a fabric that one buys
    const struct weft_moving_plan *moving; // likewise, where circuits move; NULL: they do not
};

// The first batch on the rows' fabrics at one dark time.
struct weft_buy_moved {
    uint64_t dark_ps;
    const double *iteration_s; // by row; those that do not move as their row; 0: none
    const double *dark_share;  // by row
    uint32_t fastest;          // the first row within 1 % of the fastest, the ideal switch aside
};

// The rows of one batch.
struct weft_buy_batch {
    uint64_t batch;
    uint32_t row_count;
    const struct weft_buy_row *rows; // as they were named, else as weft_fabric_references has them
    uint32_t advised; // of those that are sold the cheapest within 1 % of the fastest; where none
                      // is sold, of all; WEFT_NONE: no row has a time
    uint32_t bought;  // the same among fabrics that one buys, without those that are planned
};

// The advised row of the first batch, were an assumption wrong.
struct weft_buy_change {
    const char *what;
    double iteration_s; // by estimate, scaled as the row's own; 0 = why_not
    double tokens_per_s;
    double usd; // of the fabric; 0: the price book lacks its rate
    const char *why_not;
};

// The network of the servers' storage ports, which is on the bill of every row, and what it takes.
struct weft_buy_storage {
    struct weft_bill bill;   // its rows; none: the cluster states no storage ports
    double rate_Bps;         // of all servers' ports together
    double checkpoint_bytes; // parameters and the optimizer's state, once
    double checkpoint_s;     // at the least: all servers write as fast as their ports
};

struct weft_buy_result {
    struct weft_model model; // with the first batch
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    double tokens;
    struct weft_buy_storage storage;
    uint32_t batch_count;
    const struct weft_buy_batch *batches;
    uint32_t moved_count; // 0: one dark time at most
    const struct weft_buy_moved *moved;
    uint32_t change_count;
    const struct weft_buy_change *changes;
    const char *sureness; // how far off such answers were of published runs, or why nobody knows
    const char *page;     // HTML that needs no other file; NULL: not asked for
    bool stopped;         // left before its end
    double wall_s;        // how long it took; the door, which has a clock, fills it
};

// The row that answers: that of the fabric that was named, or the first batch's advised one.
const struct weft_buy_row *weft_buy_answer(const struct weft_buy_result *result);

// Fails as weft_request_strategy does where no fabric has an answer, with the first one's reason;
// with USAGE where the fabric is unknown or tokens are asked of a model without them.
bool weft_request_buy(struct weft_buy_result *result, const struct weft_buy_request *request,
                      struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.buy/1"
const char *weft_request_buy_json(const struct weft_buy_result *result, struct weft_arena *arena);

// Iterations by dark time, as the report draws them; NULL where fewer than two were asked for.
const struct weft_dark_chart *weft_buy_dark_chart(const struct weft_buy_result *result,
                                                  struct weft_arena *arena);

// ---- in words ----

// The sentences of an answer, in the order in which they are said; those that do not apply have no
// words.
enum weft_buy_sentence {
    WEFT_BUY_ESTIMATED, // why the time is by estimate
    WEFT_BUY_ADVICE,    // of several fabrics
    WEFT_BUY_DARK,      // of several dark times: which fabric wins from which on
    WEFT_BUY_NETWORK,   // dollars, watts and whose prices
    WEFT_BUY_BINDS,
    WEFT_BUY_RAILS,
    WEFT_BUY_TRAINING, // where no tokens are stated, how to state them
    WEFT_BUY_STORAGE,
    WEFT_BUY_SURENESS,
    WEFT_BUY_SENTENCES,
};
// `row` is the one that answers. O(text).
void weft_buy_say(struct weft_report_sentence said[WEFT_BUY_SENTENCES],
                  const struct weft_buy_result *result, const struct weft_buy_row *row,
                  struct weft_arena *arena);
// What the time of a row is by: "flow engine", "replay" of a schedule, "estimate".
const char *weft_buy_by(const struct weft_buy_row *row);
// Servers, accelerators, ports and how traffic is balanced.
const char *weft_buy_head(const struct weft_buy_result *result, struct weft_arena *arena);
// What the row's iteration goes to by its estimate, the largest first, as far as it counts:
// "computation 99.6 %, experts 0.3 %"; NULL where no estimate says so.
const char *weft_buy_causes(const struct weft_buy_row *row, struct weft_arena *arena);
// The command that launches it, in lines for a shell; NULL for a strategy of operators.
const char *weft_buy_launch(const struct weft_launch *launch, struct weft_arena *arena);

WEFT_API_END

#endif
