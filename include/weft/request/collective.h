// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_COLLECTIVE_H
#define WEFT_REQUEST_COLLECTIVE_H

// Schedules of collectives: shown, proved, synthesised, ranked, written for other programs, and
// what one late rank costs.

#include "weft/collective.h"
#include "weft/fabric.h"
#include "weft/format/nccl.h"
#include "weft/plan.h"
#include "weft/request.h"

WEFT_API_BEGIN

// ---- names ----

// The collective, the algorithm of that name. Fail with INPUT and the nearest one.
bool weft_request_kind(enum weft_collective_kind *kind, const char *name, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_request_algorithm(enum weft_algorithm *algorithm, const char *name,
                            struct weft_error *error) WEFT_MUST_USE;
// Refuses a root of a collective that has none.
bool weft_request_refuse_root(enum weft_collective_kind kind, uint32_t root,
                              struct weft_error *error) WEFT_MUST_USE;

// ---- a schedule by its specification ----

struct weft_collective_request {
    // An algorithm's name, or a file (.xml, .json): a program of MSCCL or MSCCL++, NCCL's graphs.
    const char *source;
    bool kind_given; // else the first that the algorithm can do
    struct weft_algorithm_options options;
    const char *fabric;  // gives ranks and shape, and is what SYNTHESIZE is for; NULL = none
    uint64_t size_bytes; // of SYNTHESIZE; 0: 100 MB
    struct weft_request_hardware hardware;
    bool expanded;         // show: every transfer of every round, too
    uint32_t buffer_words; // check: 8-byte words of real buffers; 0: chosen by the schedule's size
};

// What a specification comes to.
struct weft_collective_source {
    enum weft_algorithm algorithm; // COUNT: a file
    struct weft_algorithm_options options;
    const struct weft_fabric *fabric; // NULL = none
};
// Whether the source is a file and no algorithm.
bool weft_collective_is_file(const char *source);
// Looks up names, fabric, ranks and shape. Fails with USAGE where ranks are not said.
bool weft_request_collective_source(struct weft_collective_source *source,
                                    const struct weft_collective_request *request,
                                    struct weft_request_environment *environment) WEFT_MUST_USE;
// The schedule of a source that is no file.
bool weft_request_collective_build(struct weft_schedule *schedule,
                                   const struct weft_collective_source *source, uint64_t size_bytes,
                                   const struct weft_environment *environment) WEFT_MUST_USE;
// Whether the schedule is small enough to be executed: at most 2^28 transfers and slots, which take
// seconds and 4 GiB. Fails with UNSUPPORTED.
bool weft_collective_is_executable(const struct weft_schedule *schedule, struct weft_error *error)
    WEFT_MUST_USE;

// ---- show ----

struct weft_collective_show_result {
    struct weft_collective_source source;
    struct weft_schedule schedule;
    bool executed; // small enough
    struct weft_schedule_report report;
};
bool weft_request_collective_show(struct weft_collective_show_result *result,
                                  const struct weft_collective_request *request,
                                  struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.collective/1"
const char *weft_request_collective_show_json(const struct weft_collective_show_result *result,
                                              const struct weft_collective_request *request,
                                              struct weft_arena *arena, struct weft_arena scratch);

// ---- check ----

enum weft_buffers {
    WEFT_BUFFERS_SKIPPED, // too many words
    WEFT_BUFFERS_EQUAL,
    WEFT_BUFFERS_DIFFER,
};
struct weft_collective_check_result {
    struct weft_collective_source source;
    const char *why; // what does not hold; "": all does
    // Of an algorithm.
    struct weft_schedule schedule;
    struct weft_schedule_report report;
    enum weft_buffers buffers;
    uint64_t buffer_words; // a rank
    // Of a file.
    struct weft_program program;
    struct weft_program_report program_report;
    bool is_graphs; // the file has NCCL's graphs instead, and this is all that there is
    struct weft_nccl_graphs graphs;
};
bool weft_request_collective_check(struct weft_collective_check_result *result,
                                   const struct weft_collective_request *request,
                                   struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.collective/1"
const char *weft_request_collective_check_json(const struct weft_collective_check_result *result,
                                               const struct weft_collective_request *request,
                                               struct weft_arena *arena, struct weft_arena scratch);

// ---- synthesize ----

struct weft_synthesize_request {
    const char *kind;
    const char *fabric;
    struct weft_request_hardware hardware;
    uint32_t chunks;                         // 0: the quickest of some counts
    bool schedule;                           // the JSON has the schedule's text, too
    struct weft_synthesis_options synthesis; // size, tries, root, holds_links
};
struct weft_synthesize_result {
    struct weft_synthesis made;
    uint32_t chunks;
    struct weft_schedule_report report; // the schedule executed
    uint64_t seed;
    double wall_s; // of the search; the door, which has a clock, fills it
};
bool weft_request_synthesize(struct weft_synthesize_result *result,
                             const struct weft_synthesize_request *request,
                             struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.synthesis/1"
const char *weft_request_synthesize_json(const struct weft_synthesize_result *result,
                                         const struct weft_synthesize_request *request,
                                         struct weft_arena *arena, struct weft_arena scratch);

// ---- best ----

enum weft_best_engine {
    WEFT_BEST_CLOSED, // closed forms of the alpha-beta model
    WEFT_BEST_FLOW,
    WEFT_BEST_PACKET,
    WEFT_BEST_ENGINE_COUNT
};
// "closed"
const char *weft_best_engine_name(enum weft_best_engine engine);

struct weft_best_request {
    struct weft_algorithm_options options; // kind, ranks, root
    uint32_t chunk_factor_max;             // 0: 1024, played 64
    enum weft_best_engine engine;          // only if engine_given, else CLOSED; FLOW on a fabric
    bool engine_given;
    const char *fabric;                    // schedules are played on it; NULL = one switch
    struct weft_request_hardware hardware; // a rank's rate, a message's latency; or of links
    uint64_t size_low_bytes;
    uint64_t size_high_bytes;
};
struct weft_best_result {
    struct weft_collective_question question;
    enum weft_best_engine engine;
    uint32_t count; // of sizes
    const struct weft_collective_ranking *rankings;
    double wall_s; // how long it took; the door, which has a clock, fills it
};
bool weft_request_best(struct weft_best_result *result, const struct weft_best_request *request,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.collective-best/1"
const char *weft_request_best_json(const struct weft_best_result *result,
                                   const struct weft_best_request *request,
                                   struct weft_arena *arena);
// Rows for NCCL's example tuner plugin: ring or tree, whichever is quicker, by size.
const char *weft_request_best_tuner(const struct weft_best_result *result,
                                    struct weft_arena *arena);

// ---- straggler ----

struct weft_straggler_request {
    uint32_t rank_count;
    double rate_Bps;     // what a rank sends and receives at once
    uint64_t latency_ps; // of a message, whatever its size
    uint64_t size_bytes;
    uint64_t delay_ps; // how late the rank is, for a row of its own
    bool delay_given;
    uint32_t chunk_factor_max;
};
enum { WEFT_STRAGGLER_ROWS_MAX = 10 };
struct weft_straggler_result {
    struct weft_cost_model model;
    struct weft_straggler_cost cost; // at the delay asked for, or where all is hidden
    uint32_t round_count;            // of the schedule that was built, from the rank's arrival
    uint32_t step_count;
    double ring_s; // without the delay
    double speedup;
    double plain_speedup; // without sub-chunks
    uint32_t row_count;
    double delays_s[WEFT_STRAGGLER_ROWS_MAX]; // ascending
    struct weft_straggler_cost rows[WEFT_STRAGGLER_ROWS_MAX];
    double wall_s; // how long it took; the door, which has a clock, fills it
};
bool weft_request_straggler(struct weft_straggler_result *result,
                            const struct weft_straggler_request *request,
                            struct weft_request_environment *environment) WEFT_MUST_USE;
// Times at one delay, as a row has them.
struct weft_straggler_cost weft_request_straggler_at(const struct weft_straggler_result *result,
                                                     const struct weft_straggler_request *request,
                                                     double delay_s);
// Whether one who does not know the delay should begin at once: it loses less than it gains.
bool weft_straggler_begins_at_once(const struct weft_straggler_result *result);
// "stragglar" or "ring", whichever is quicker
const char *weft_straggler_quicker(const struct weft_straggler_cost *cost);
// "weft.straggler/1"
const char *weft_request_straggler_json(const struct weft_straggler_result *result,
                                        const struct weft_straggler_request *request,
                                        struct weft_arena *arena);

// ---- fit ----

struct weft_fit_request {
    const char *const *paths; // of nccl-tests or of NCCL's Inspector
    uint32_t path_count;
    bool kind_given; // for files that do not say it
    enum weft_collective_kind kind;
    uint32_t rank_count;      // likewise; 0: not stated
    uint64_t size_low_bytes;  // only sizes from here
    uint64_t size_high_bytes; // to here; 0: all
    double rate_Bps;          // of a port, to tell what share of it is reached; 0: not stated
};
struct weft_fit_result {
    struct weft_collective_fits fits;
    double rate_Bps; // the request's
};
// Latency and bandwidth of measured collectives (weft_collective_fit), all files together. Fails
// with USAGE where a file does not say its collective or ranks and the request does not, either.
bool weft_request_fit(struct weft_fit_result *result, const struct weft_fit_request *request,
                      struct weft_request_environment *environment) WEFT_MUST_USE;
// Latency of a link of a fabric with switches, where a message between servers crosses two: half of
// a message's in a ring.
double weft_fit_link_latency_s(const struct weft_collective_fit *fit);
// "weft.collective-fit/1"
const char *weft_request_fit_json(const struct weft_fit_result *result, struct weft_arena *arena);

// ---- export ----

enum weft_collective_export_kind {
    WEFT_EXPORT_MSCCL,
    WEFT_EXPORT_MSCCLPP,
    WEFT_EXPORT_NCCL_GRAPH,
    WEFT_EXPORT_NCCL_TOPO,
    WEFT_EXPORT_NCCL_TUNER,
    WEFT_EXPORT_HOSTFILE,
    WEFT_COLLECTIVE_EXPORT_COUNT
};
// "nccl-graph"
const char *weft_collective_export_name(enum weft_collective_export_kind kind);

struct weft_collective_export_request {
    enum weft_collective_export_kind kind;
    // An algorithm's name or a plan's file; of NCCL_GRAPH and HOSTFILE also the specification of a
    // fabric with switches.
    const char *source;
    const char *collective; // NULL = allreduce
    const char *protocol;   // "Simple" (NULL), "LL" or "LL128"
    uint32_t ranks;         // of an algorithm
    uint32_t chunks;        // MSCCL, MSCCL++: times as many as the algorithm needs
    uint32_t root;
    uint32_t ring;   // NCCL_GRAPH: in the order of this one
    uint32_t server; // NCCL_GRAPH: the file of this one; WEFT_NONE: the first
    bool in_place;   // MSCCL, MSCCL++: for calls in place alone
    // Of a fabric with switches.
    struct weft_request_hardware hardware;
    struct weft_fabric_options shape; // radix, oversubscription
    uint32_t accelerators;            // of a server; 0 = as the cluster's file says
    const char *first_node;           // as server 0 is called, the others count on; NULL: node0
    const char *hosts_path; // HOSTFILE: of the job's hosts, some of those; NULL: all of them
};

// How the rings of such a fabric cross it, one a rail.
struct weft_rail_report {
    uint32_t server_count; // 0: the source is no fabric with switches
    uint32_t nic_count;
    const char *const *tiers; // what a hop may leave: "leaf", "pod"
    uint32_t tier_count;
    struct weft_rail_crossings crossings; // in the order that is written
    struct weft_rail_crossings given;     // in the order of hosts_path, else the same
};
struct weft_collective_export_result {
    const char *text; // of the file
    struct weft_rail_report rails;
};
// Notes what goes beyond what NCCL and MSCCL take as published, and how rings over rails cross the
// fabric.
bool weft_request_collective_export(struct weft_collective_export_result *result,
                                    const struct weft_collective_export_request *request,
                                    struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.collective-export/1": what was written where.
const char *
weft_request_collective_export_json(const struct weft_collective_export_result *result,
                                    const struct weft_collective_export_request *request,
                                    const char *output, struct weft_arena *arena);

WEFT_API_END

#endif
