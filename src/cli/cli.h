// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

// The command line: what every verb shares. A verb is one file with one `int cli_<verb>(argc,
// argv)` that parses with cli_parse, calls stages, collects its result with cli_say or cli_json,
// and ends with cli_finish, which writes the result in one piece and gives the exit code.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/model.h"
#include "weft/sim.h"
#include "weft/strategy.h"
#include "weft/topology.h"

#include <argp.h>
#include <jansson.h>

enum {
    CLI_EXIT_YES = 0,
    CLI_EXIT_NO = 1,
    CLI_EXIT_USAGE = 2, // the others are enum weft_error_code
};

// What --degree, --rate and their like say, for the verbs that take hardware.
struct cli_hardware {
    const char *cluster_path; // NULL = none given
    uint32_t server_count;    // 0 = not given
    uint32_t degree;          // 0 = not given
    double rate_Bps;          // only if rate_given
    bool rate_given;
    uint64_t latency_ps; // only if latency_given
    bool latency_given;
};

// What the verbs that search take.
struct cli_search {
    enum weft_topology_method method;
    bool simplex;
    double seconds; // 0 = the method's default effort
    bool timed;     // --seconds, not --effort: a clock ends the search, too
};

// What the verbs that begin with a model take.
struct cli_job {
    const char *model;        // a name of the zoo or FILE.yaml; NULL = none given
    const char *profile_path; // NULL = roofline
    uint64_t batch;           // 0 = the model's own
    bool optimizer_given;
    enum weft_optimizer optimizer;
    enum weft_tables tables;
    bool memory_given;
    uint64_t memory_bytes; // of an accelerator; 0 = no limit
    bool inside_given;
    double inside_Bps;
    enum weft_search_method method;
    uint64_t budget; // evaluations of one search; 0 = by effort
};

// What the verbs that take a Chakra trace as a job may need beside it.
struct cli_trace {
    const char *groups_path; // NULL = beside the trace, if there
    const struct weft_accelerator *accelerator;
    // Of the last traffic matrix that was loaded: cables that are broken.
    const struct weft_tier_failure *failures;
    uint32_t failure_count;
    // ... and who is urgent (weft_matrix.priority); NULL = it does not say.
    const uint32_t *priority;
    uint32_t priority_count; // of connections
};

enum { CLI_PACKET_WORDS = 64, CLI_PACE_WORDS = 5 };

// What a run is to write besides its result; NULL or 0 = not.
struct cli_records {
    const char *flows_path;
    const char *series_path;
    const char *trace_path;
    const char *snapshot_path; // of the one job that is played
    const char *job_name;      // there
    uint64_t every_ps;
    bool progress; // also where stderr is no terminal
};

struct cli {
    const char *program; // "weft plan", for messages
    bool help_asked;
    bool version_asked;
    bool json;
    bool quiet;
    uint64_t seed;
    uint32_t threads;
    bool threads_given;
    const char *output_path; // NULL = stdout
    bool nested;             // runs inside another verb, maybe beside others: shows no progress
    FILE *notes;             // where notes go, a line each; NULL = stderr
    struct cli_hardware hardware;
    struct cli_search search;
    struct cli_job job;
    struct cli_trace trace;
    const char *packet_words[CLI_PACKET_WORDS]; // what options of CLI_PACKETS say; NULL = not given
    struct weft_packet_options packet;          // made of them by cli_packets
    bool fluid_learns;                          // MLTCP's parameters are the flow engine's, too
    const char *pace_words[CLI_PACE_WORDS];     // likewise of CLI_PACES
    struct cli_records records;
    struct weft_sim_progress progress; // of a simulation under way
    // Of a search under way, for the progress line: the best iteration so far (WEFT_NEVER: none),
    // and what none can be below (0: not known).
    _Atomic uint64_t best_ps;
    _Atomic uint64_t bound_ps;

    struct weft_arena arena;   // results
    struct weft_arena scratch; // temporaries, by value into stages
    struct weft_arena text_arena;
    struct weft_arena all[3]; // the three as they began, for their release
    struct weft_text text;    // the result so far
    double started_s;

    int exit_code;
    struct weft_error error;
};

// Which groups of options a verb takes besides its own and --json, --seed and so on.
enum {
    CLI_HARDWARE = 1,
    CLI_SEARCH = 2,
    CLI_JOB = 4,
    CLI_TRACE = 8,
    CLI_PACKETS = 16,
    CLI_RECORDS = 32,
    CLI_PACES = 64,
};

// A verb's own options: as argp's fields, parser called with `input`. Examples belong in `doc`
// behind the vertical tab, which argp prints after the options.
struct cli_verb {
    const char *name;
    const char *arguments; // "FILE.fbuf"
    const char *doc;
    const struct argp_option *options;
    argp_parser_t parser;
    unsigned groups;
};

// A verb that can also run inside another one: `input` of input_bytes is made ready, cli_parse
// fills it, and run leaves the result in cli->text or fails with cli->error.
struct cli_runner {
    struct cli_verb verb;
    size_t input_bytes;
    void (*ready)(void *input, struct cli *cli);
    bool (*run)(void *input);
};
// The verb as a program: its exit code.
int cli_run(const struct cli_runner *runner, int argc, char **argv);
// The option of that name, NULL when the verb has none; then *near is the one that may be meant
// (or NULL).
const struct argp_option *cli_verb_option(const struct cli_verb *verb, const char *name,
                                          const struct argp_option **near);
// Gives back memory.
void cli_release(struct cli *cli);

// Parses the command line and readies `cli`. False: nothing to do (help was printed) or bad usage;
// return cli_finish then, too.
bool cli_parse(struct cli *cli, const struct cli_verb *verb, int argc, char **argv, void *input)
    WEFT_MUST_USE;
// Prints a failure of `fine` in one line, else writes the result to --output or stdout. Gives back
// memory. Returns the exit code: cli->exit_code where the result was written.
int cli_finish(struct cli *cli, bool fine);

// For parsers: fills cli->error as bad usage (exit 2) or as bad input (exit 3) and returns EINVAL.
error_t cli_usage(struct cli *cli, const char *format, ...) WEFT_PRINTF(2, 3);
// For run functions: the same for usage that shows later; returns false.
bool cli_misuse(struct cli *cli, const char *format, ...) WEFT_PRINTF(2, 3);
// For parsers: a positional argument that may be given once.
error_t cli_take(struct cli *cli, const char **slot, const char *argument, const char *what);
// For parsers: a count or quantity as the value of an option; 0 or EINVAL.
error_t cli_count(struct cli *cli, uint32_t *value, const char *option, const char *text,
                  uint32_t low, uint32_t high);
// The place of the text among names.
error_t cli_choose(struct cli *cli, uint32_t *choice, const char *option, const char *text,
                   const char *const *names, uint32_t count);
error_t cli_value(struct cli *cli, bool parsed, const char *option);

// One line on stderr that is no failure.
void cli_note(const struct cli *cli, const char *format, ...) WEFT_PRINTF(2, 3);
// Adds to the result.
void cli_say(struct cli *cli, const char *format, ...) WEFT_PRINTF(2, 3);
// Makes `object` (taken over) the result.
void cli_json(struct cli *cli, json_t *object);
// A new object with its schema: "weft.<thing>/1".
json_t *cli_object(const char *schema);
// Sets a member. Numbers that JSON lacks (infinity, NaN) become null; text that is no UTF-8 loses
// its odd bytes.
void cli_set_real(json_t *object, const char *key, double value);
void cli_set_count(json_t *object, const char *key, uint64_t value);
void cli_set_text(json_t *object, const char *key, const char *text);
void cli_set_truth(json_t *object, const char *key, bool value);
void cli_set(json_t *object, const char *key, json_t *value);

// Whether a file of that name could be written, asked before a search so that it is not lost; NULL:
// yes. Fails with IO.
bool cli_can_write(struct cli *cli, const char *path) WEFT_MUST_USE;

// Seconds since the program started its work.
double cli_elapsed_s(const struct cli *cli);

// ---- the clock thread: progress on a terminal, the end of a timed search, Ctrl-C ----

// Starts the clock. `deadline_s` <= 0: none. `what` is shown on a terminal. Returns the flag that
// stages poll.
weft_stop cli_clock_start(struct cli *cli, const char *what, double deadline_s);
// SIGTERM and SIGHUP, too, ask for the end, and a second Ctrl-C does not end the program: for verbs
// that take away what they made. After cli_clock_start.
void cli_clock_heed(void);
void cli_clock_stop(struct cli *cli);

// ---- hardware and search ----

// The cluster for jobs of server_count servers together: from --cluster, else from --degree and
// --rate; degree_default applies where no degree is given (0: it must be). As many servers as
// --servers says, else as the jobs have or, unless `shard`, as the cluster file says.
bool cli_cluster(struct weft_cluster *cluster, struct cli *cli, uint32_t server_count,
                 uint32_t degree_default, bool shard) WEFT_MUST_USE;
// A reference fabric in words, and the cluster that it joins: a name of weft_fabric_references, or
// that with its servers ("ring:64", "ideal:16") or a torus with its sides ("torus:16x8",
// "torus:4x4x4"). The hardware options say the rest; where nothing says the ports of a server, a
// direct fabric takes what it needs. `server_count` 0: as the words, --servers or --cluster say.
// With `exact` the fabric has no more servers than that.
struct cli_words {
    const char *name;
    uint32_t sides[3];     // of a torus; 0 = not said
    uint32_t server_count; // 0 = not said
};
bool cli_words(struct cli_words *words, struct cli *cli, const char *text) WEFT_MUST_USE;
bool cli_network(struct weft_network *network, struct weft_cluster *cluster, struct cli *cli,
                 const char *words, uint32_t server_count, bool exact,
                 const struct weft_fabric_options *shape) WEFT_MUST_USE;
// Any fabric in words: those of cli_network, "mesh:8x8", "hypercube:6", "full-mesh:8", or a plan's
// file. server_count 0: as the words or --servers say.
bool cli_fabric(const struct weft_fabric **fabric, struct cli *cli, const char *words,
                uint32_t server_count) WEFT_MUST_USE;
// The same with routes: the fabric's own, the plan's, or for meshes and the like all shortest
// paths.
bool cli_fabric_network(const struct weft_network **network, struct cli *cli, const char *words,
                        uint32_t server_count) WEFT_MUST_USE;
// "16x8", "4x4x4", "12": up to three counts of at least 1; the rest is 0. False: something else.
bool cli_sides(uint32_t sides[3], const char *text) WEFT_MUST_USE;
struct weft_topology_options cli_topology_options(const struct cli *cli, weft_stop stop);
// How long the clock lets a search run: 0 = for ever.
double cli_deadline_s(const struct cli *cli);

// ---- models ----

// Between two accelerators of a server where times are measured, as the TopoOpt artifact has it.
#define CLI_PROFILE_INSIDE_BPS 25e9
// Accelerators of the servers that its profiles were measured for.
#define CLI_PROFILE_ACCELERATORS 4u

// The model of that name in the zoo; of the file where the name has a / or ends in .yaml, .yml or
// .json, or is - (stdin).
bool cli_model(struct weft_model *model, struct cli *cli, const char *name_or_file) WEFT_MUST_USE;
// Whether the zoo has a model of exactly that name.
bool cli_in_zoo(const char *name);
// The model of --model or a first argument, with --batch.
bool cli_job_model(struct weft_model *model, struct cli *cli) WEFT_MUST_USE;
// Notes where a profile, which does not state it, is used for other servers than the artifact's.
void cli_note_profile(const struct cli *cli, const char *path, uint32_t accelerators);
// What strategies of it assume on this cluster: costs by --profile or the accelerator's roofline,
// the memory limit, the optimizer.
bool cli_setting(struct weft_strategy_setting *setting, struct cli *cli,
                 const struct weft_model *model, const struct weft_cluster *cluster) WEFT_MUST_USE;
// Notes where --search was asked for a model that it does not apply to.
void cli_note_search(const struct cli *cli, const struct weft_model *model,
                     const struct weft_strategy_setting *setting);
// Notes where no split of the batch uses all servers.
void cli_note_batch(const struct cli *cli, const struct weft_model *model,
                    const struct weft_cluster *cluster,
                    const struct weft_strategy_setting *setting);
extern const struct argp cli_job_argp; // the options of CLI_JOB

// A job from a file of any kind: a TopoOpt task graph, a Chakra trace (weft_chakra_is_trace), a
// traffic matrix of htsim (.cm) or a GOAL schedule (.goal, .bin). Notes on stderr what of it is
// approximate.
struct weft_fbuf;
bool cli_load_job(struct weft_fbuf *job, struct cli *cli, const char *path) WEFT_MUST_USE;
// Whether the name is a matrix's or a schedule's: another simulator's load.
bool cli_is_load(const char *path);
extern const struct argp cli_trace_argp;

// The packets of task graphs: 9000 bytes of which 64 are header, and AllReduces of less than a
// packet for each member in one round, as the recorded simulations have.
struct weft_sim_options cli_task_packets(const struct cli *cli);

// Engine, transport and all that the packet engine takes, by the options of CLI_PACKETS. *sim says
// what packets are, unless options do; `is_taskgraph` chooses the preset where none is asked for.
bool cli_packets(struct weft_sim_options *sim, struct cli *cli, bool is_taskgraph) WEFT_MUST_USE;
// Whether --buffer is given: it wins over what files say of ports.
bool cli_buffer_given(const struct cli *cli);
// What --dcqcn-timer says, for one or for each job; NULL = nothing.
const char *cli_dcqcn_timers(const struct cli *cli);
// MLTCP's parameters by the options; those that are not given stay.
bool cli_mltcp(struct weft_mltcp_options *mltcp, struct cli *cli) WEFT_MUST_USE;
extern const struct argp cli_packets_argp;
extern const struct argp cli_paces_argp;
extern const struct argp cli_records_argp;

// ---- verbs ----

struct cli_entry {
    const char *name;
    const char *summary;
    int (*main)(int argc, char **argv);
};
extern const struct cli_entry cli_entries[]; // ends with a NULL name

// A verb that has sub-verbs.
struct cli_family {
    const char *name;             // "weft lab"
    const char *intent;           // what it is, up to the list of sub-verbs
    const char *advice;           // what follows the list
    const struct cli_entry *subs; // ends with a NULL name; 16 at most
};
int cli_family(const struct cli_family *family, int argc, char **argv);

int cli_cc(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_collective(int argc, char **argv);
int cli_compare(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_fabrics(int argc, char **argv);
int cli_help(int argc, char **argv);
int cli_lab(int argc, char **argv);
int cli_interleave(int argc, char **argv);
int cli_models(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_profile(int argc, char **argv);
int cli_schedule(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_strategy(int argc, char **argv);
int cli_sweep(int argc, char **argv);
int cli_topology(int argc, char **argv);
int cli_traffic(int argc, char **argv);
int cli_version(int argc, char **argv);

#endif
