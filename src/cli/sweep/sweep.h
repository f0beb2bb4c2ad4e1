// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_SWEEP_H
#define WEFT_CLI_SWEEP_H

// weft sweep: what its files share. sweep.c parses and leads, parameters.c has what a
// specification may say, prepare.c checks scenarios before any runs, scenario.c runs one, seal.c
// has the checksums of lines, workers.c runs many on threads, file.c keeps the results, ranks.c
// shares scenarios among processes started by mpirun.

#include "cli/cli.h"
#include "cli/mpi.h"
#include "weft/format.h"
#include "weft/request/photonic_serve.h"
#include "weft/request/plan.h"
#include "weft/request/simulate.h"

struct sweep {
    struct cli *cli;
    const char **paths; // the specification; with --merge, files of results
    uint32_t path_count;
    uint32_t shard; // from 0
    uint32_t shard_count;
    bool merges;
    bool lists;
    bool prunes;
    bool adds_wall;
    bool allows_paths;
    // What follows from the specification.
    struct weft_sweep spec;
    const struct sweep_verb *verb;
    const char *folder;       // where the files of scenarios lie; NULL: anywhere
    uint64_t *keys;           // of each scenario: of its parameters and the program's version
    struct sweep_key *sorted; // the same, ascending
    const struct sweep_line **ended; // of each scenario, NULL = still to run
    uint32_t todo_count;             // to run here
    uint32_t *todo;
};

// A scenario by its key.
struct sweep_key {
    uint64_t key;
    uint32_t index;
};

// A line of results.
struct sweep_line {
    uint32_t index;
    uint64_t key;
    bool failed;
    bool changed; // since it was written, or it has no checksum: nothing else of it counts
    char *text;   // without the newline
    size_t length;
};

// ---- prepare.c ----

// Reads spec.verb and checks every key and value as far as the verb's parser does; sets keys. Fails
// with INPUT, "SPEC: line N: ...".
bool sweep_prepare(struct sweep *sweep, const char *data, size_t length) WEFT_MUST_USE;
// The scenario with this key, or WEFT_NONE. O(log scenarios).
uint32_t sweep_find(const struct sweep *sweep, uint64_t key);

// ---- parameters.c ----

struct sweep_verb;
// Whether a parameter or an argument of that name may stand in a specification, and whether it may
// name a file.
bool sweep_allows(const char *name);
bool sweep_names_file(const char *name);
// Why an option is no parameter of a scenario; NULL: nothing is known against it.
const char *sweep_refusal(const char *key);
// The name within two letters of a key, or NULL.
const char *sweep_nearest(const struct sweep_verb *verb, const char *key);
// Whether each parameter of the verb is allowed or refused for a reason.
bool sweep_knows_all(const struct sweep_verb *verb);

// ---- scenario.c and seal.c ----

union sweep_request {
    struct weft_simulate_request simulate;
    struct weft_plan_request plan;
    struct weft_serve_study_request serve;
};

// A verb that sweeps: its parameters, and how a request of it is completed and answered.
struct sweep_verb {
    const char *name;
    const char *program; // for messages
    const struct weft_parameter_group *groups;
    // Puts what stands under flows and job into the request. Fails with USAGE.
    bool (*name_arguments)(union sweep_request *request, const char *const *names, uint32_t count,
                           struct weft_error *error);
    // The result as JSON in the environment's arena; NULL: its error is filled.
    const char *(*answer)(const union sweep_request *request,
                          struct weft_request_environment *environment);
};
// NULL: no verb of that name sweeps.
const struct sweep_verb *sweep_find_verb(const char *name);
// The parameter that a key names, also by an older name; NULL: there is none, or none for sweeps.
const struct weft_parameter *sweep_find_parameter(const struct sweep *sweep, const char *key);

// What reading a scenario needs and finds beside its request.
struct sweep_reading {
    struct weft_arena *arena;
    uint64_t seed;
    uint32_t line; // in the specification, of what is wrong
    struct weft_error error;
};
// Reads scenario `index` into the request, in reading->arena. On failure reading->error says what
// is wrong in words of the command line, and reading->line where.
bool sweep_read(union sweep_request *request, struct sweep_reading *reading,
                const struct sweep *sweep, uint32_t index) WEFT_MUST_USE;
// Whether a key stands for arguments and not for an option.
bool sweep_is_argument(const char *key);
// Runs scenario `index` to its line, whose text is the caller's to free. Where memory is out, the
// line says that the scenario failed by it; text is NULL and length 0 where there is none for the
// line either.
struct sweep_line sweep_run(const struct sweep *sweep, uint32_t index);
// The start of a line, up to its key.
#define SWEEP_LINE_BEGINS "{\"schema\":\"weft.sweep/1\",\"index\":"
// The end of a line: the checksum of all that stands before it.
#define SWEEP_LINE_ENDS ",\"checksum\":\"0000000000000000\"}"
// Fills in the checksum of a line that ends with SWEEP_LINE_ENDS.
void sweep_seal(char *text, size_t length);
// Whether a line has a checksum, and whether that is of this line.
bool sweep_has_seal(const char *text, size_t length);
bool sweep_is_sealed(const char *text, size_t length);
// FNV-1a, 64 bits, of bytes behind others whose hash that is; at first SWEEP_HASH_BEGIN.
#define SWEEP_HASH_BEGIN 0xcbf29ce484222325ull
uint64_t sweep_hash(uint64_t hash, const char *bytes, size_t length);
// A line of `parameters` alone, for --list; the caller frees it. NULL where memory is out.
char *sweep_list_line(const struct sweep *sweep, uint32_t index);
// Fills cli->error: there is no memory for a line. Returns false.
bool sweep_refuse_line(struct cli *cli);
// "SPEC.yaml: line 4: scenario 7: <what went wrong>", of a failed line.
const char *sweep_complaint(const struct sweep *sweep, const struct sweep_line *line,
                            struct weft_arena *arena);
uint32_t sweep_line_in_spec(const struct sweep *sweep, uint32_t index);

// ---- workers.c ----

// Scenarios that may wait beside those that run, so that no thread waits for a message.
#define SWEEP_AHEAD 2u

struct sweep_workers;
// Up to `threads` threads beside the caller, which leads them and ends them. Where the system
// refuses all of them, the caller plays the scenarios itself in sweep_workers_take. NULL: there is
// no memory, which cli->error says. The workers lie in cli->arena.
struct sweep_workers *sweep_workers_start(const struct sweep *sweep, uint32_t threads);
// At most threads + SWEEP_AHEAD scenarios may be given whose lines have not been taken.
void sweep_workers_give(struct sweep_workers *workers, uint32_t index);
// One line that has ended; false after that many seconds without any.
bool sweep_workers_take(struct sweep_workers *workers, struct sweep_line *line, double wait_s);
// Waits for the scenarios that were given, and ends the threads.
void sweep_workers_end(struct sweep_workers *workers);

// ---- file.c ----

struct sweep_file {
    const char *path; // NULL = none that can be kept: results are written at the end only
    int file;
    double synced_s;
};

// Opens and locks the file of results, so that no other sweep writes there.
bool sweep_file_open(struct sweep_file *kept, struct sweep *sweep) WEFT_MUST_USE;
// Fills sweep->ended from what is in the file; cuts off a line that was being written.
bool sweep_file_resume(struct sweep_file *kept, struct sweep *sweep) WEFT_MUST_USE;
bool sweep_file_append(struct sweep_file *kept, struct cli *cli, const struct sweep_line *line)
    WEFT_MUST_USE;
void sweep_file_close(struct sweep_file *kept);
// Files of results, in order of index, to cli->text.
bool sweep_file_merge(struct sweep *sweep) WEFT_MUST_USE;

// ---- table.c ----

// The results of these lines as one table, a row each. O(lines * columns^2).
bool sweep_table(struct cli *cli, const struct sweep_line *const *lines, uint32_t count)
    WEFT_MUST_USE;

// ---- ranks.c ----

// Rank 0 gives the specification to all; NULL = it has none, nothing is to be done.
const char *sweep_ranks_share(const struct cli_ranks *ranks, const char *spec, size_t *length,
                              struct weft_arena *arena);
// The other ranks: run what rank 0 gives, or nothing where they are not ready.
bool sweep_ranks_serve(const struct cli_ranks *ranks, const struct sweep *sweep, bool ready)
    WEFT_MUST_USE;
// Rank 0: runs sweep->todo here and on the other ranks, keeps each line as it ends.
bool sweep_ranks_lead(const struct cli_ranks *ranks, struct sweep *sweep, struct sweep_file *kept)
    WEFT_MUST_USE;

#endif
