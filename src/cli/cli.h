// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

// The command line: what every verb shares. A verb is one `int cli_<verb>(argc, argv)` that parses
// with cli_parse, asks a request (weft/request.h), collects its result with cli_say, and ends with
// cli_finish, which writes the result in one piece and gives the exit code.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/model.h"
#include "weft/report.h"
#include "weft/request.h"
#include "weft/request/parameter.h"
#include "weft/request/simulate.h"
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

enum { CLI_THREADS_MAX = 64 };

// What a run is to write besides its result; NULL or 0 = not.
struct cli_records {
    const char *flows_path;
    const char *series_path;
    const char *trace_path;
    const char *step_path;
    const char *snapshot_path; // of the one job that is played
    const char *job_name;      // there
    uint64_t every_ps;
};

// What the options of shared groups say. A verb copies what it needs into its request.
struct cli_given {
    struct weft_request_hardware hardware;
    struct weft_request_search search;
    struct weft_request_job job;
    struct weft_request_trace trace;
    struct weft_request_packets packets;
    struct weft_request_timing timing;
    struct cli_records records;
};

// What tables are said in.
enum cli_form { CLI_TEXT, CLI_MARKDOWN, CLI_CSV };

// Which answer the command line wants instead of a run of the verb.
struct cli_wanted {
    bool help;
    bool version;
};

// Which notes of the request stand on stderr already.
struct cli_printed {
    const struct weft_note *last; // NULL = none
    uint64_t count;
};

// Memory of the result's text, and all arenas as they began, for their release.
struct cli_memory {
    struct weft_arena text;
    struct weft_arena all[3];
};

// A command line that is parsed and the verb that it runs: what is said to every verb, the memory
// and the error of the run, and its result until that is written. One verb, one struct; it does not
// leave the thread of the verb, but for what the clock reads of the environment.
struct cli {
    const struct cli_verb *verb;
    const char *program; // "weft plan", for messages
    const char *command; // as it was typed
    struct cli_wanted wanted;
    bool json;
    enum cli_form form;   // of the tables
    uint32_t table_count; // said so far
    bool quiet;
    bool yes;          // whatever an estimate says
    double progress_s; // between two lines where stderr is no terminal; 0: none
    bool follows;      // another process says and writes what there is
    uint64_t seed;
    uint32_t threads;
    bool threads_given;
    const char *output_path; // NULL = stdout
    struct cli_given given;
    struct weft_request_environment environment; // of the request, with its notes and progress
    struct cli_printed printed;

    struct weft_arena arena;   // results
    struct weft_arena scratch; // temporaries, by value into stages
    struct cli_memory memory;
    struct weft_text text; // the result so far
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
    CLI_TIMING = 64,
    CLI_TABLES = 256,        // --csv and --markdown
    CLI_OUTPUT_FOLDER = 128, // no options: --output may name a folder, which the verb looks at
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
    uint32_t servers_max; // of --servers, where it is less than a cluster may have; 0 = that
};

// Calls main(argc, argv) and returns its exit code; where memory is out, complains in one line and
// returns the exit code of UNSUPPORTED.
int cli_door(int (*main)(int argc, char **argv), const char *program, int argc, char **argv);
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
// For parsers: sets the parameter of that name in the struct at `base`.
struct cli_parameters {
    void *base;
    const struct weft_parameter *rows;
    size_t count;
};
error_t cli_parameter(struct cli *cli, const struct cli_parameters *parameters, const char *name,
                      const char *text);
// For parsers: a count or quantity as the value of an option; 0 or EINVAL.
error_t cli_count(struct cli *cli, uint32_t *value, const char *option, const char *text,
                  uint32_t low, uint32_t high);
// Of a fabric's shape: the radix of its switches; ports down for each port up at its leaves.
error_t cli_radix(struct cli *cli, struct weft_fabric_options *shape, const char *text);
error_t cli_oversubscription(struct cli *cli, struct weft_fabric_options *shape, const char *text);
// The place of the text among names.
error_t cli_choose(struct cli *cli, uint32_t *choice, const char *option, const char *text,
                   const char *const *names, uint32_t count);
error_t cli_value(struct cli *cli, bool parsed, const char *option);

// The environment of a request: the memory, seed, threads and error of `cli`. `stop` may be NULL.
struct weft_request_environment *cli_environment(struct cli *cli, weft_stop stop);
// Prints the notes of the request that have not been printed.
void cli_print_notes(struct cli *cli);
// Spells the fields that a message of a request names in braces as options: "{degree=4}" becomes
// "--degree 4". Words that are no options stay as they are.
void cli_spell(const struct cli *cli, char *message);
// The remedy that an error states beside its message (weft_remedy), as " (--batch 8)"; "": none.
const char *cli_spell_remedy(const struct cli *cli, struct weft_arena *arena);
// The same, for a request with those parameters.
void cli_spell_for(const struct weft_parameter_group *groups, char *message);

// A file or folder that ships with the program, "claims" or "examples/...", absolute and without
// links; NULL and IO where it is not there.
const char *cli_shipped(struct cli *cli, const char *name);

// One line on stderr that is no failure.
void cli_note(const struct cli *cli, const char *format, ...) WEFT_PRINTF(2, 3);
// Adds a table to the result, as text, Markdown or CSV. In CSV there are tables alone, an empty
// line between two of them: what cli_say adds is left out. Needs CLI_TABLES.
void cli_table(struct cli *cli, const struct weft_table_column *columns, uint32_t column_count,
               const struct weft_table_cell *cells, uint32_t row_count);
// Adds to the result.
void cli_say(struct cli *cli, const char *format, ...) WEFT_PRINTF(2, 3);
// Whether a file of that name could be written, asked before the work so that its result is not
// lost; NULL: yes. Fails with INPUT. cli_parse asks for --output.
bool cli_can_write(struct cli *cli, const char *path) WEFT_MUST_USE;

// The command as a shell would read it again. O(characters).
const char *cli_command(const struct cli *cli, int argc, char **argv, struct weft_arena *arena);
// What a page says of where it came from: the command, and the date of SOURCE_DATE_EPOCH. Fails
// with INPUT where that is no number.
bool cli_origin(struct weft_report_origin *origin, struct cli *cli) WEFT_MUST_USE;

// Seconds since the program started its work.
double cli_elapsed_s(const struct cli *cli);

// ---- the clock thread: progress on a terminal, the end of a timed search, Ctrl-C ----

// Starts the clock for a request, whose progress it shows and whose steps it ends. Returns the flag
// that stages poll.
weft_stop cli_clock_watch(struct cli *cli);
// Starts the clock for what is no request, one step (weft_request_step_begin): the lab. Returns the
// flag that stages poll.
weft_stop cli_clock_start(struct cli *cli, const char *what, const char *of);
// The same for what cannot be left: it shows how far that is, and Ctrl-C ends the program.
void cli_clock_show(struct cli *cli, const char *what, const char *of);
// SIGTERM and SIGHUP, too, ask for the end, and a second Ctrl-C does not end the program: for verbs
// that take away what they made. After cli_clock_start.
void cli_clock_heed(void);
void cli_clock_stop(struct cli *cli);

// ---- options that several verbs take ----

extern const struct argp cli_common_argp;
extern const struct argp cli_tables_argp;
extern const struct argp cli_hardware_argp;
extern const struct argp cli_search_argp;
extern const struct argp cli_job_argp;
extern const struct argp cli_trace_argp;

extern const struct argp cli_packets_argp;
extern const struct argp cli_timing_argp;
extern const struct argp cli_records_argp;

// ---- verbs ----

struct cli_entry {
    const char *name;
    const char *summary;
    int (*main)(int argc, char **argv);
};
// A verb that has sub-verbs. One that does something where none is named, or an option or a file,
// has its main as `alone`, whose help lists the sub-verbs; intent and advice are not used then.
struct cli_family {
    const char *name;                    // "weft lab"
    const char *intent;                  // what it is, up to the list of sub-verbs
    const char *advice;                  // what follows the list
    const struct cli_entry *subs;        // ends with a NULL name; 16 at most
    int (*alone)(int argc, char **argv); // NULL: a sub-verb must be named
};
int cli_family(const struct cli_family *family, int argc, char **argv);

int cli_cc(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_collective(int argc, char **argv);
int cli_compare(int argc, char **argv);
int cli_diff(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_fabrics(int argc, char **argv);
// The nearest of the entries' names to a word that is none, or the one that does what the word
// says; NULL: none is near.
const char *cli_meant(const char *word, const struct cli_entry *entries);
// `entries` ends with a NULL name.
int cli_help(const struct cli_entry *entries, int argc, char **argv);
int cli_lab(int argc, char **argv);
int cli_init(int argc, char **argv);
int cli_interleave(int argc, char **argv);
int cli_models(int argc, char **argv);
int cli_optics(int argc, char **argv);
int cli_photonic(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_profile(int argc, char **argv);
int cli_reproduce(int argc, char **argv);
int cli_schedule(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_strategy(int argc, char **argv);
int cli_sweep(int argc, char **argv);
int cli_topology(int argc, char **argv);
int cli_traffic(int argc, char **argv);
int cli_train(int argc, char **argv);
int cli_version(int argc, char **argv);

#endif
