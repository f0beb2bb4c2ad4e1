// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_EXPERIMENT_EXPERIMENT_H
#define WEFT_RUNTIME_EXPERIMENT_EXPERIMENT_H

// Experiments: iterations of a job in a lab, beside what the engines predict for them.
//
//   network + task graph ──► scale ──► sim (flow, packet)
//                              └─────► program ──► workers in a lab ──► phases
//
// A lab is slower than what it stands for, so time is stretched: with rates r times lower and bytes
// s times as many (s <= 1), every time is s * r times as long. What is predicted is the scaled job
// on the scaled fabric with the lab's packets.

#include "runtime/job/worker.h"
#include "runtime/testbed/fault.h"
#include "runtime/testbed/testbed.h"

#include "weft/sim.h"

struct lab_experiment_options {
    const struct weft_network *network; // as planned; its rings are those of the job's groups
    const struct weft_taskgraph *graph;
    const struct weft_taskgraph *job_graph; // before collectives became transfers; NULL = `graph`
    const struct weft_lab_wiring *wiring;   // of places, as many as the network has servers
    const uint32_t *place;      // the lab's server that takes each of them; NULL = the same number
    const struct weft_lab *lab; // up; may have more servers
    bool one_lane;              // parallel cables of the plan are one port of the lab
    struct {
        double rate_Bps;    // in the plan, of what is a port in the lab
        double iteration_s; // as planned, by which bytes are scaled down so that it
        double target_s;    // takes about so long in the lab; 0 = bytes as they are
    } scale;
    bool small_in_one_round; // as the plan was simulated
    uint32_t iterations;     // measured; one more goes before
    const char *congestion;  // NULL = the system's
    bool check;
    uint32_t stall_ms;
    uint32_t timeout_ms;
    uint64_t seed;
    weft_stop stop;
    struct {
        // At the begin of one more iteration, whose failure is what is expected; NULL = none.
        const struct weft_lab_fault *fault;
        bool is_first; // in the iteration before the measured ones, of which there are then none
        // Workers also fail when a port of their server loses its carrier, and the coordinator sees
        // workers die; else only what peers no longer acknowledge tells.
        bool watch_carrier;
        const uint64_t *dark_interfaces; // by the lab's server: bits of ports that are dark
                                         // already; all of a server that is lost
    } failure;
    bool predict_last;     // after the run, where time counts until then
    uint32_t tunnel_first; // number of the first tunnel; those of an earlier run may still stand
};

enum lab_noticed {
    LAB_NOTICED_CARRIER, // a worker, by a port of its server
    LAB_NOTICED_STALL,   // a worker, by a peer that took nothing
    LAB_NOTICED_DEATH,   // the coordinator, by a worker that is gone
};

// Of a fault and what follows, by lab_now_ns; 0 = did not happen.
struct lab_timestamps {
    uint64_t fault_ns;   // just before the first cable was cut
    uint64_t noticed_ns; // by the first worker
    uint64_t stopped_ns; // all workers have ended
    uint64_t opened_ns;  // all connections stand
    uint64_t begun_ns;   // the first task of the iteration before the measured ones has begun
    uint64_t first_ns;   // and its last has ended
    uint32_t cable_count;
    uint32_t rank; // of the worker that noticed first, or died
    enum lab_noticed noticed;
};

enum { LAB_PHASE_NAME = 48, LAB_PHASES_MAX = 64 };
// The time in which any task of the phase is under way.
struct lab_phase {
    char name[LAB_PHASE_NAME];
    uint32_t task_count;
    double predicted_flow_s;
    double predicted_packet_s;
    double measured_mean_s;
    double measured_p99_s;
    double *measured_s; // of each iteration
};

struct lab_experiment {
    double rate_ratio;  // planned rate over the lab's
    double bytes_ratio; // bytes of the lab over the plan's
    double time_ratio;  // time of the lab over the plan's
    double lab_rate_Bps;
    uint32_t iteration_count;
    uint32_t phase_count;
    struct lab_phase phases[LAB_PHASES_MAX]; // the last is the whole iteration
    struct weft_packet_counts predicted;     // by the packet engine, an iteration in mean
    struct lab_tcp_counts tcp;               // of the measured iterations together
    uint64_t drops;                          // at ports
    uint64_t marks;                          // likewise, by ECN
    uint64_t checked_count;                  // elements of AllReduces that were held against sums
    uint64_t sent_bytes;                     // an iteration, all workers
    uint32_t stream_count;
    uint32_t signal_count;
    uint32_t tunnel_end; // after the last tunnel
    struct lab_timestamps timestamps;
    double cpu_s; // of all workers, all iterations
};

static inline uint32_t lab_server_at(const uint32_t *place, uint32_t at)
{
    return place != NULL ? place[at] : at;
}
// The place of a server, of `count`; WEFT_NONE = it has none.
static inline uint32_t lab_place_of(const uint32_t *place, uint32_t count, uint32_t server)
{
    uint32_t at = 0;
    while (at < count && lab_server_at(place, at) != server) {
        at++;
    }
    return at < count ? at : WEFT_NONE;
}

// Scales, predicts and runs it. Fails as the engines and workers do.
bool lab_experiment_run(struct lab_experiment *experiment,
                        const struct lab_experiment_options *options, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- where streams go: tunnels.c ----

// A path of several links, which has an address of its own.
struct lab_tunnel {
    uint32_t from; // place
    uint32_t to;
    uint32_t link_count;
    uint32_t *links;
};
enum { LAB_TUNNELS_MAX = 1 << 16 };
struct lab_tunnels {
    const struct lab_experiment_options *options;
    struct weft_arena *arena;
    uint32_t tunnel_count;
    struct lab_tunnel *tunnels; // room for LAB_TUNNELS_MAX
};
void lab_tunnels_init(struct lab_tunnels *tunnels, const struct lab_experiment_options *options,
                      struct weft_arena *arena);
// A lab_address; its context is the struct lab_tunnels.
void lab_tunnels_address(void *context, struct lab_stream *stream, const uint32_t *links,
                         uint32_t link_count, uint32_t lane);
// Sets the routes of all tunnels, and to the ports of neighbors.
bool lab_tunnels_route(const struct lab_tunnels *tunnels, struct weft_error *error) WEFT_MUST_USE;

// When the tasks of an iteration ran, and which phase each is of. By task.
struct lab_task_times {
    uint32_t task_count;
    uint8_t *phase;
    double *start_s;
    double *end_s; // 0 = it never ran
};

// ---- sessions: workers that run one job after another ----

// A job made ready. Does not move.
struct lab_prepared {
    struct lab_experiment *experiment;
    const struct lab_experiment_options *options;
    struct weft_taskgraph graph; // scaled
    struct lab_task_times times; // of the iteration that was measured last
    struct lab_tunnels tunnels;
    struct lab_program program;
};
// Does not move.
struct lab_session {
    const struct lab_prepared *prepared; // that runs now
    struct lab_coordinator coordinator;
    struct lab_work work;
    struct lab_work_report *reports;
    double cpu_s; // of children, when it began
    struct weft_arena scratch;
};
// Scales and compiles; fills the experiment's figures of the scale.
bool lab_prepare(struct lab_prepared *prepared, struct lab_experiment *experiment,
                 const struct lab_experiment_options *options, struct weft_arena *arena,
                 struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// What the flow engine and the packet engine say of each phase, into the experiment (predict.c).
bool lab_prepared_predict(const struct lab_prepared *prepared, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Starts workers for `prepared`, which can go on with `next` (NULL = none) in the same servers.
bool lab_session_open(struct lab_session *session, const struct lab_prepared *prepared,
                      const struct lab_prepared *next, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Connects the workers and runs the prepared iterations, and the fault.
bool lab_session_run(struct lab_session *session, struct weft_error *error) WEFT_MUST_USE;
// Lets all connections run dry and closes them; lab_session_run runs `next` from then on.
bool lab_session_drain(struct lab_session *session, const struct lab_prepared *next,
                       struct weft_error *error) WEFT_MUST_USE;
void lab_session_close(struct lab_session *session);
// Means of what was measured.
void lab_experiment_summarize(struct lab_experiment *experiment, struct weft_arena scratch);

// ---- parts of it ----

// Phases of a task graph's tasks: their names, and each task's number.
void lab_phases_name(struct lab_experiment *experiment, uint8_t *phase,
                     const struct weft_taskgraph *graph);
// Seconds of each phase: the length of the union of its tasks' times.
void lab_phases_measure(double *seconds, const struct lab_experiment *experiment,
                        const struct lab_task_times *times, struct weft_arena scratch);
// The graph with bytes times bytes_ratio and times times time_ratio.
void lab_scale_graph(struct weft_taskgraph *scaled, const struct weft_taskgraph *graph,
                     double bytes_ratio, double time_ratio, struct weft_arena *arena);

#endif
