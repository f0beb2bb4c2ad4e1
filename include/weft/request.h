// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

// Requests: what a verb does, as a typed value in and a typed result out.
//
//   door (command line, daemon) ──► [request] ──► stages and formats
//
// A request knows no option, no terminal and no protocol. Each verb has a header of its own,
// weft/request/<verb>.h, with
//
//   struct weft_<verb>_request          what is asked; zeroed, it asks for the defaults
//   struct weft_<verb>_result           what was found, in the environment's arena
//   weft_request_<verb>()               answers it, or fails with the environment's error
//   weft_request_<verb>_json()          the result as text of the object "weft.<verb>/1"
//
// This header has what requests share: their environment, and the values by which they name a
// cluster, a fabric, a model or a job's file.
//
// Messages of failures and notes name a field of the request in braces, with a value where one is
// proposed: "{degree}", "{degree=4}". Each door spells them as its users write them; the command
// line makes "--degree" and "--degree 4" of these two. What is asked wrongly, before any input was
// found wrong, fails with WEFT_USAGE.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/format.h"
#include "weft/model.h"
#include "weft/request/parameter.h"
#include "weft/sim.h"
#include "weft/strategy.h"
#include "weft/topology.h"

WEFT_API_BEGIN

// ---- the environment of a request ----

// A line that is no failure, for people: what of an input is approximate, what was assumed.
struct weft_note {
    const char *text;
    struct weft_note *next; // only where it is counted
};

// The notes of a request, oldest first. The request appends while another thread may read the
// first `count` of them.
struct weft_notes {
    weft_atomic_u64 count;
    struct weft_note *first;
    struct weft_note *last;
};

// What a request does for longer: "searching".
struct weft_request_step {
    const char *what;
    const char *of; // what progress.tally counts: "jobs"; NULL: a share of the work, estimated
    struct weft_comparison_log rows; // of a comparison
    struct weft_request_step *next;  // only where it has begun
};

// Where a request under way is. The request writes it while another thread may read the atomics and
// the first `begun` steps.
struct weft_progress {
    weft_atomic_u64 begun; // steps that have begun, and
    weft_atomic_u64 ended; // ended: the same number where none is under way
    struct weft_request_step *first;
    struct weft_request_step *last;
    weft_atomic_u64 best_ps;  // of the step: the best iteration so far; WEFT_NEVER: none
    weft_atomic_u64 bound_ps; // and what none can be below; 0: not known
    struct weft_tally tally;  // how much of the step is done
    weft_atomic_u64 left_ms;  // of the step, where who does it knows better; 0: by the tally
    struct weft_sim_progress simulation;
};

struct weft_request_environment {
    struct weft_environment base;
    // Raised some time after base.stop, when even what is said without a plan would come too late;
    // NULL: never.
    weft_stop last_stop;
    bool goes_on; // {yes}: whatever weft_request_afford says
    struct weft_notes notes;
    struct weft_progress progress;
};

// Adds a note, whose text it formats into the arena.
void weft_request_note(struct weft_request_environment *environment, const char *format, ...)
    WEFT_PRINTF(2, 3);
// Begins a step that takes long; `what` and `of` live as long as the arena. Steps follow each
// other.
void weft_request_step_begin(struct weft_request_environment *environment, const char *what,
                             const char *of);
// Ends it: the door no longer shows it, nor stops it.
void weft_request_step_end(struct weft_request_environment *environment);

// ---- what a request costs ----

// What would take longer than ten minutes, or more than 8 GiB, is refused before it begins. Costs
// are estimated from the request alone, by rates that were measured (docs/cli.md, with how far
// estimates are off) as processor time of one core of a server of 2023.
struct weft_request_cost {
    const char *things; // that are counted: "packets"
    double count;
    double per_s;       // of them; 0: memory alone is estimated
    double bytes;       // of memory
    const char *remedy; // "take a larger {mtu}"
};
// Fails with UNSUPPORTED where that is too much, unless goes_on.
bool weft_request_afford(const struct weft_request_cost *cost,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// The same of matrices that have a row and a column for each server of a job.
bool weft_request_afford_pairs(uint32_t server_count, double pair_bytes,
                               struct weft_request_environment *environment) WEFT_MUST_USE;
// Such matrices of a plan and of a comparison before any search: rings of 5000 and 10,000 servers
// took 600 and 2380 MB; searches take up to twice that.
#define WEFT_REQUEST_PLAN_PAIR_BYTES 24.0
// Packets that the packet engine plays in a second, fewer on larger fabrics: permutations under
// DCTCP took 7.4, 2.8 and 1.0 million of 4160 bytes on leaf-spines of 16, 128 and 1024
// servers, 2.3, 1.9 and 0.6 on fat-trees, a half to three quarters of that of 1500 bytes on the
// larger ones.
double weft_request_packets_per_s(uint32_t server_count);

// ---- clusters ----

// The hardware: a file, and what wins over the file.
struct weft_request_hardware {
    const char *cluster_path; // a cluster (YAML) or a server's NCCL topology (.xml); NULL = none
    uint32_t server_count;    // {servers}; 0 = not said
    uint32_t degree;          // ports of a server; 0 = not said
    double rate_Bps;          // of a port; only if rate_given
    bool rate_given;
    uint64_t latency_ps; // propagation of one link; only if latency_given
    bool latency_given;
    double host_Bps; // {host-rate}: of an accelerator to its NICs, 0 = limits nothing
    bool host_given;
    enum weft_balance balance; // only if balance_given
    bool balance_given;
};

// What a verb needs of its cluster.
struct weft_request_cluster_need {
    uint32_t server_count;   // of the jobs together
    uint32_t degree_default; // ports of a server where nothing says; 0: it must be said
    bool shard;              // only as many servers as the jobs have, not all of the file
    bool bought; // ports are counted and priced at their NICs' rate, whatever host links carry
    uint32_t accelerators; // of a server, whatever the file says; 0 = as the file does
    bool one_path; // transfers keep to one path where nothing states a balance, as packets do
};

// The cluster that the hardware describes. It has as many servers as {servers} says, else as the
// jobs have or, unless need->shard, as the file has. Fails with USAGE where ports or rates are not
// said, with INPUT where the file is wrong or has fewer servers than jobs that nobody counted.
// Ports carry what the host link of {host-rate}, the file or else the accelerator leaves them,
// which is noted where it is less than their NICs' rate. Switches divide transfers evenly unless
// {balance} or the file says otherwise.
bool weft_request_cluster(struct weft_cluster *cluster,
                          const struct weft_request_hardware *hardware,
                          const struct weft_request_cluster_need *need,
                          struct weft_request_environment *environment) WEFT_MUST_USE;

// The same for NICs of another rate.
void weft_request_set_rate(struct weft_cluster *cluster, double nic_Bps,
                           struct weft_request_environment *environment);

// The same of a cluster that another file has described: what the hardware says besides a file
// wins, key by key, and balance where it says that. Fails with INPUT where the result is no
// cluster.
bool weft_request_cluster_over(struct weft_cluster *cluster,
                               const struct weft_request_hardware *hardware,
                               struct weft_request_environment *environment) WEFT_MUST_USE;
// Whether a file is a server's NCCL topology by its name (.xml), not a cluster.
bool weft_request_is_topology(const char *path);

// ---- fabrics ----

// A reference fabric by its specification: a name of weft_fabric_references, alone or with its
// servers ("ring:64", "ideal:16"), or a torus with its sides ("torus:16x8", "torus:4x4x4").
struct weft_fabric_specification {
    const char *name;
    uint32_t sides[3];     // of a torus; 0 = not said
    uint32_t server_count; // 0 = not said
};
// Fails with INPUT; the name is not looked up.
bool weft_fabric_specification_parse(struct weft_fabric_specification *specification,
                                     const char *text, struct weft_arena *arena,
                                     struct weft_error *error) WEFT_MUST_USE;
// Whether it names a reference fabric; its sides are not looked at.
bool weft_fabric_specification_known(const char *text, struct weft_error *error) WEFT_MUST_USE;
// "16x8", "4x4x4", "12": up to three counts of at least 1; the rest is 0. False: something else.
bool weft_parse_sides(uint32_t sides[3], const char *text) WEFT_MUST_USE;

// Whether a specification of a fabric names a plan's file.
bool weft_request_names_plan(const char *specification);

// Whether the fabric joins accelerators, so many on the switch inside a server; 0 or 1: servers. No
// rate: by the kind of accelerator that the cluster names; no latency: a link's.
struct weft_request_scale_up {
    uint32_t accelerators;
    struct weft_given_rate rate;
    struct weft_given_time latency;
};

// A fabric and the hardware that it is made of.
struct weft_request_fabric {
    const char *specification; // {fabric}
    const struct weft_request_hardware *hardware;
    uint32_t server_count;            // of the jobs; 0: as the specification or the hardware says
    bool exact;                       // it has no more servers than that
    struct weft_fabric_options shape; // of reference fabrics; `sides` come from the specification
    // NULL: it joins servers. Else accelerators, each with a NIC of its own unless {degree} says
    // fewer.
    const struct weft_request_scale_up *scale_up;
    bool one_path; // as in weft_request_cluster_need
};
// The reference fabric of that specification, with its routes, and the cluster that it joins. Where
// nothing says the ports of a server, a direct fabric takes what it needs.
bool weft_request_reference(struct weft_network *network, struct weft_cluster *cluster,
                            const struct weft_request_fabric *request,
                            struct weft_request_environment *environment) WEFT_MUST_USE;
// Refuses what a fabric of that name has no use for.
bool weft_request_refuse_shape(const struct weft_request_fabric *request, const char *name,
                               struct weft_error *error) WEFT_MUST_USE;
// Any fabric with routes: a reference fabric, "mesh:8x8", "hypercube:6", "full-mesh:8" with all
// shortest paths, or a file (with . or /): a plan with its routes, or another program's topology.
// Of request->shape only the seed counts.
bool weft_request_network(const struct weft_network **network,
                          const struct weft_request_fabric *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// The same without routes, which for meshes and the like take long to find.
bool weft_request_links(const struct weft_fabric **fabric,
                        const struct weft_request_fabric *request,
                        struct weft_request_environment *environment) WEFT_MUST_USE;

// ---- topologies of other programs ----

struct weft_topology_file;
// A topology's file, with {rate} and {latency} where it has none. Notes what was assumed. Fails
// with USAGE where a rate is missing and `rated`, or where one is given that the file brings.
bool weft_request_topology_file(struct weft_topology_file *topology, const char *path,
                                const struct weft_request_hardware *hardware, bool rated,
                                struct weft_request_environment *environment) WEFT_MUST_USE;
// Its fabric and routes, which divide a transfer over equal paths if {balance} says so.
bool weft_request_topology_build(struct weft_network *network,
                                 const struct weft_topology_file *topology,
                                 const struct weft_request_hardware *hardware, const char *path,
                                 const struct weft_environment *environment) WEFT_MUST_USE;

// ---- searches ----

struct weft_request_search {
    enum weft_topology_method method;
    bool simplex;
    double seconds; // effort; 0 = the method's default
    bool timed;     // the door raises `stop` after so many seconds
    // Leave the search of a plan after as many of them (weft_plan_cut); 0 = none. For plans alone.
    uint64_t published_most;
};
struct weft_topology_options
weft_request_topology_options(const struct weft_request_search *search);
// Refuses published_most, as a request that makes no plan does.
bool weft_request_refuse_published(const struct weft_request_search *search,
                                   struct weft_error *error) WEFT_MUST_USE;
// The packets of task graphs: 9000 bytes of which 64 are header, and AllReduces of less than a
// packet for each member in one round, as the recorded simulations have.
struct weft_sim_options weft_request_task_packets(uint64_t seed);

// ---- models ----

// Between two accelerators of a server where times are measured, as the TopoOpt artifact has it.
#define WEFT_PROFILE_INSIDE_BPS 25e9
// Accelerators of the servers that its profiles were measured for.
#define WEFT_PROFILE_ACCELERATORS 4u

// A model and what is assumed of it.
struct weft_request_job {
    const char *model;        // a name of the zoo or FILE.yaml; NULL = none
    const char *profile_path; // measured times of its operators; NULL = roofline
    uint64_t batch;           // samples of an iteration; 0 = the model's own
    bool optimizer_given;
    enum weft_optimizer optimizer;
    enum weft_tables tables;
    bool memory_given;
    uint64_t memory_bytes; // of an accelerator; 0 = no limit
    bool inside_given;
    double inside_Bps;              // between two accelerators of a server
    const struct weft_stack *stack; // NULL = the cluster's
    uint32_t overlap;               // of enum weft_overlap; 0 = not stated
    enum weft_search_method method; // {search}
    uint64_t budget;                // evaluations of one search; 0 = by effort
};

// The model of that name in the zoo; of the file where the name has a / or ends in .yaml, .yml or
// .json, or is - (stdin).
bool weft_request_model(struct weft_model *model, const char *name_or_file,
                        struct weft_request_environment *environment) WEFT_MUST_USE;
// Whether the zoo has a model of exactly that name.
bool weft_request_in_zoo(const char *name);
// Whether a word that may be a model or a job means a model: a name of the zoo, or a file by its
// content or ending; of what is no file, whatever does not look like one.
bool weft_request_means_model(const char *word);
// The job's model with the job's batch.
bool weft_request_job_model(struct weft_model *model, const struct weft_request_job *job,
                            struct weft_request_environment *environment) WEFT_MUST_USE;
// Refuses what is for models alone, as a request for a task graph, `path`, does.
bool weft_request_refuse_job(const struct weft_request_job *job, const char *path,
                             struct weft_error *error) WEFT_MUST_USE;
// The cluster's accelerator: by its own peaks, else by its name. Fails with INPUT where Weft does
// not know the name.
bool weft_request_accelerator(const struct weft_accelerator **accelerator,
                              const struct weft_cluster *cluster, struct weft_error *error)
    WEFT_MUST_USE;
// What strategies of the model assume on this cluster: costs by the profile or the accelerator's
// roofline, the memory limit, the optimizer. cluster_path, which may be NULL, is for messages.
bool weft_request_setting(struct weft_strategy_setting *setting, const struct weft_request_job *job,
                          const struct weft_model *model, const struct weft_cluster *cluster,
                          const char *cluster_path, struct weft_request_environment *environment)
    WEFT_MUST_USE;
// Notes where a profile, which does not state it, is used for other servers than the artifact's.
void weft_request_note_profile(const char *path, uint32_t accelerators,
                               struct weft_request_environment *environment);
// Refuses what is of models by operators alone, of a transformer.
bool weft_request_refuse_search(const struct weft_request_job *job, const struct weft_model *model,
                                const struct weft_strategy_setting *setting,
                                struct weft_error *error) WEFT_MUST_USE;
// Notes where no split of the batch uses all servers.
void weft_request_note_batch(const struct weft_model *model, const struct weft_cluster *cluster,
                             const struct weft_strategy_setting *setting,
                             struct weft_request_environment *environment);

// ---- files of jobs ----

// What a Chakra trace may need beside it.
struct weft_request_trace {
    const char *groups_path;                    // NULL = beside the trace, if there
    const struct weft_accelerator *accelerator; // what computes nodes that state no duration
    bool lenient;          // dependencies on nodes that are not there are taken for done
    uint32_t rank_count;   // of a SimAI workload; 0 = as its all_gpus says, else
    uint32_t rank_default; // what the fabric has; 0 = nobody says
};

// A job, and what its file says beside the task graph.
struct weft_loaded_job {
    struct weft_fbuf fbuf; // its graph; the rest only where the file is a TopoOpt task graph
    // Of a traffic matrix: cables that are broken,
    const struct weft_tier_failure *failures;
    uint32_t failure_count;
    // and how urgent each connection is (weft_matrix.priority); NULL = it does not say.
    const uint32_t *priority;
    uint32_t priority_count;
    uint64_t dangling_count;          // of a lenient trace: dependencies that were taken for done
    struct weft_chakra_joined joined; // of Kineto's traces
};
// A job from a file of any kind: a TopoOpt task graph, a Chakra trace (weft_chakra_is_trace), a
// traffic matrix of htsim (.cm) or a GOAL schedule (.goal, .bin). Notes what of it is approximate.
// Fails with USAGE where a trace's values come with another kind of file, with STOPPED when it is
// asked to stop.
bool weft_request_load(struct weft_loaded_job *job, const char *path,
                       const struct weft_request_trace *trace,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// Fails with USAGE where a trace's or workload's values come with a model.
bool weft_request_refuse_trace(const struct weft_request_trace *trace, struct weft_error *error)
    WEFT_MUST_USE;
// Whether the name is a matrix's or a schedule's: another simulator's load.
bool weft_request_is_load(const char *path);

WEFT_API_END

#endif
