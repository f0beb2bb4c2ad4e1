// SPDX-License-Identifier: Apache-2.0
// Jobs from files of any kind: a task graph, a Chakra trace of many files, a traffic matrix of
// htsim, a GOAL schedule, a workload of SimAI. The file's name says which, or its first bytes. What
// a file cannot say exactly is noted, not hidden.

#include "weft/format.h"
#include "weft/request.h"
#include "weft/request/parameter.h"

#include <string.h>

static bool read_accelerator(void *field, const struct weft_parameter *parameter, const char *text,
                             struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    return weft_accelerator_named(field, text, error);
}

const struct weft_parameter weft_trace_parameters[WEFT_TRACE_PARAMETERS] = {
    {"groups", weft_read_text, offsetof(struct weft_request_trace, groups_path), 0, 0, NULL},
    {"accelerator", read_accelerator, offsetof(struct weft_request_trace, accelerator), 0, 0, NULL},
    {"lenient", NULL, offsetof(struct weft_request_trace, lenient), 0, 0, NULL},
    {"ranks", weft_read_count, offsetof(struct weft_request_trace, rank_count), 2, 1u << 20, NULL},
};

// What is not as the trace has it.
static void note_trace(const struct weft_chakra_job *chakra, const char *path,
                       struct weft_request_environment *environment)
{
    if (chakra->untimed_count > 0) {
        weft_request_note(
            environment,
            "%s: %llu compute nodes state operations but no duration and take no time; "
            "{accelerator=A100} prices them",
            path, (unsigned long long)chakra->untimed_count);
    }
    if (chakra->approximated_count > 0) {
        weft_request_note(
            environment,
            "%s: %llu broadcasts and reductions are AllReduces of as many bytes on the wire", path,
            (unsigned long long)chakra->approximated_count);
    }
    if (chakra->dangling_count > 0) {
        weft_request_note(environment,
                          "%s: %llu dependencies on nodes that the trace lacks are taken for done",
                          path, (unsigned long long)chakra->dangling_count);
    }
    if (chakra->skipped_count > 0) {
        weft_request_note(environment,
                          "%s: %llu nodes that neither compute nor communicate take no time", path,
                          (unsigned long long)chakra->skipped_count);
    }
}

// What of Kineto's traces and the host's belonged together, and what did not.
static void note_joined(const struct weft_chakra_joined *joined, const char *path,
                        struct weft_request_environment *environment)
{
    if (joined->kineto_count == 0) {
        return;
    }
    weft_request_note(
        environment,
        "%s: Kineto's traces of %u ranks, %u of them with the host's: %llu kernels "
        "and copies, %llu ends of collectives and messages; waits of streams: %llu "
        "stated, %llu inferred from times, %llu open",
        path, joined->kineto_count, joined->host_count, (unsigned long long)joined->kernel_count,
        (unsigned long long)joined->message_count, (unsigned long long)joined->stated_count,
        (unsigned long long)joined->inferred_count, (unsigned long long)joined->open_count);
    if (joined->host_count > 0) {
        weft_request_note(environment,
                          "%s: of the host's operators %llu are in Kineto's traces, %llu are not",
                          path, (unsigned long long)joined->operator_count,
                          (unsigned long long)joined->lost_count);
    }
    if (joined->unlaunched_count > 0) {
        weft_request_note(environment,
                          "%s: %llu kernels that no call of the trace launched wait for their "
                          "streams alone",
                          path, (unsigned long long)joined->unlaunched_count);
    }
    if (joined->unsized_count > 0) {
        weft_request_note(environment,
                          "%s: %llu collectives that no trace describes take their recorded time",
                          path, (unsigned long long)joined->unsized_count);
    }
}

static bool load_trace(struct weft_loaded_job *job, const char *path,
                       const struct weft_request_trace *trace,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_chakra_trace files;
    struct weft_chakra_job chakra;
    struct weft_chakra_roofline roofline = {0};
    struct weft_arena scratch = base->scratch;
    const struct weft_accelerator *accelerator = trace->accelerator;
    if (accelerator != NULL) {
        roofline.flops_per_s = accelerator->flops_per_s[WEFT_BF16] * accelerator->matmul_efficiency;
        roofline.memory_Bps = accelerator->memory_Bps * accelerator->memory_efficiency;
    }
    if (!weft_chakra_load(&files, path, trace->groups_path, trace->lenient, &scratch,
                          base->error) ||
        !weft_chakra_lower(&chakra, &files, &roofline, base->arena, scratch, base->error)) {
        return false;
    }
    note_joined(&chakra.joined, path, environment);
    note_trace(&chakra, path, environment);
    *job = (struct weft_loaded_job){.fbuf = {.graph = chakra.graph},
                                    .dangling_count = chakra.dangling_count,
                                    .joined = chakra.joined};
    return true;
}

static bool load_matrix(struct weft_loaded_job *job, const char *path,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_matrix matrix;
    struct weft_taskgraph graph;
    if (!weft_matrix_load(&matrix, path, base->arena, base->scratch, base->error) ||
        !weft_matrix_lower(&graph, &matrix, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (matrix.skipped[0] != '\0') {
        weft_request_note(environment,
                          "%s: passed over, as nothing that is played here depends on it: %s", path,
                          matrix.skipped);
    }
    *job = (struct weft_loaded_job){.fbuf = {.graph = graph},
                                    .failures = matrix.failures,
                                    .failure_count = matrix.failure_count};
    if (matrix.priority_count > 0) {
        job->priority = matrix.priority;
        job->priority_count = matrix.connection_count;
    }
    return true;
}

// The schedule itself is gone when its task graph is there.
static bool load_schedule(struct weft_loaded_job *job, const char *path,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_goal schedule;
    struct weft_goal_job goal;
    struct weft_arena scratch = base->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!weft_goal_load(&schedule, path, &kept, scratch, base->error) ||
        !weft_goal_lower(&goal, &schedule, base->arena, scratch, base->error)) {
        return false;
    }
    if (goal.open_count > 0) {
        weft_request_note(
            environment,
            "%s: receives from any source or with any tag (%u) take the sends that come first "
            "when nothing takes time",
            path, goal.open_count);
    }
    if (goal.void_count > 0) {
        weft_request_note(
            environment,
            "%s: sends of 0 bytes to ranks that are not there (%u) only join what is before "
            "them",
            path, goal.void_count);
    }
    *job = (struct weft_loaded_job){.fbuf = {.graph = goal.graph}};
    return true;
}

static bool load_workload(struct weft_loaded_job *job, const char *path,
                          const struct weft_request_trace *trace,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_arena scratch = base->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_simai workload;
    struct weft_taskgraph graph;
    if (!weft_simai_load(&workload, path, &kept, scratch, base->error)) {
        return false;
    }
    uint32_t said = workload.rank_count;
    uint32_t ranks = trace->rank_count > 0 ? trace->rank_count : said;
    ranks = ranks > 0 ? ranks : trace->rank_default;
    if (ranks == 0) {
        return weft_fail(base->error, WEFT_USAGE,
                         "%s: a workload without all_gpus: how many ranks play it? write "
                         "{ranks=128}",
                         path);
    }
    if (said > 0 && said != ranks) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: its all_gpus is %u, not %u; leave {ranks} "
                         "out",
                         path, said, ranks);
    }
    if (!weft_simai_lower(&graph, &workload, ranks, base->arena, scratch, base->error)) {
        return weft_wrap(base->error, "%s", path);
    }
    if (workload.pp > 1) {
        weft_request_note(environment,
                          "%s: %u pipeline stages: as in SimAI each rank plays all lines, and "
                          "nothing is sent between stages",
                          path, workload.pp);
    }
    if (workload.broadcast_count > 0) {
        weft_request_note(environment,
                          "%s: broadcasts (%u) are AllReduces of as many bytes on the wire", path,
                          workload.broadcast_count);
    }
    *job = (struct weft_loaded_job){.fbuf = {.graph = graph}};
    return true;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path);
    return length > strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

bool weft_request_is_load(const char *path)
{
    return ends_with(path, ".cm") || ends_with(path, ".goal") || ends_with(path, ".bin") ||
           weft_file_kind(path) == WEFT_FILE_SIMAI;
}

static bool is_stated(const struct weft_request_trace *trace)
{
    return trace->groups_path != NULL || trace->accelerator != NULL || trace->lenient;
}

bool weft_request_refuse_trace(const struct weft_request_trace *trace, struct weft_error *error)
{
    return (!is_stated(trace) && trace->rank_count == 0) ||
           weft_fail(error, WEFT_USAGE,
                     "{groups}, {lenient} and {accelerator} are for Chakra traces, {ranks} for "
                     "SimAI's workloads; a model's accelerators stand in the cluster file");
}

// A job that is being loaded, as its guard holds it.
struct loading {
    struct weft_loaded_job *job;
    const char *path;
    const struct weft_request_trace *trace;
    struct weft_request_environment *environment;
};

static bool load(void *context)
{
    const struct loading *loading = context;
    const char *path = loading->path;
    const struct weft_environment *base = &loading->environment->base;
    enum weft_file_kind kind = weft_file_kind(path);
    if (loading->trace->rank_count > 0 && kind != WEFT_FILE_SIMAI) {
        return weft_fail(base->error, WEFT_USAGE,
                         "'%.60s' is no SimAI workload, and says its ranks; leave out {ranks}",
                         path);
    }
    if (weft_chakra_is_trace(path)) {
        return load_trace(loading->job, path, loading->trace, loading->environment);
    }
    if (is_stated(loading->trace)) {
        return weft_fail(base->error, WEFT_USAGE,
                         "'%.60s' is no Chakra trace; leave out {groups}, {accelerator} and "
                         "{lenient}",
                         path);
    }
    if (kind == WEFT_FILE_SIMAI) {
        return load_workload(loading->job, path, loading->trace, loading->environment);
    }
    if (weft_request_is_load(path)) {
        return ends_with(path, ".cm") ? load_matrix(loading->job, path, loading->environment)
                                      : load_schedule(loading->job, path, loading->environment);
    }
    *loading->job = (struct weft_loaded_job){.failures = NULL};
    return weft_fbuf_load(&loading->job->fbuf, path, base->arena, base->scratch, base->error);
}

bool weft_request_load(struct weft_loaded_job *job, const char *path,
                       const struct weft_request_trace *trace,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct loading loading = {job, path, trace, environment};
    weft_stop stop = base->stop != NULL ? base->stop : weft_guard_stop();
    if (weft_guard_until(load, &loading, stop, base->error)) {
        return true;
    }
    if (base->error->code == WEFT_STOPPED) {
        weft_fail(base->error, WEFT_STOPPED,
                  "%s: stopped while it was read, so that there is nothing to answer from; give it "
                  "more time",
                  path);
    }
    return false;
}
