// SPDX-License-Identifier: Apache-2.0
// A schedule shown and proved: executed on sets of contributions, and on real buffers of random
// numbers (docs/collectives.md). The first proves what the schedule does for any numbers, the
// second that the first one's model of copying and adding is right. A schedule too large for either
// is refused or left out, and the result says so.

#include "weft/format.h"
#include "weft/request/collective.h"

#include <inttypes.h>
#include <string.h>

#define EXPANDED_MAX ((uint64_t)1 << 24)

// ---- show ----

static bool load(struct weft_schedule *schedule, const struct weft_collective_source *source,
                 const struct weft_collective_request *request,
                 const struct weft_environment *environment)
{
    if (source->algorithm != WEFT_ALGORITHM_COUNT) {
        return weft_request_collective_build(schedule, source, request->size_bytes, environment);
    }
    struct weft_program program;
    if (!weft_program_load(&program, request->source, environment->arena, environment->scratch,
                           environment->error)) {
        return false;
    }
    return weft_program_lower(schedule, &program, program.in_place, environment->arena,
                              environment->scratch, environment->error) ||
           weft_wrap(environment->error, "%s", request->source);
}

bool weft_request_collective_show(struct weft_collective_show_result *result,
                                  const struct weft_collective_request *request,
                                  struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_collective_show_result found = {.executed = false};
    if (!weft_request_collective_source(&found.source, request, environment) ||
        !load(&found.schedule, &found.source, request, base)) {
        return false;
    }
    uint64_t transfers = weft_schedule_transfer_count(&found.schedule);
    if (request->expanded && transfers > EXPANDED_MAX) {
        return weft_fail(base->error, WEFT_UNSUPPORTED,
                         "{expanded}: %" PRIu64 " transfers are no reading; take fewer ranks",
                         transfers);
    }
    struct weft_error too_large;
    found.executed = weft_collective_is_executable(&found.schedule, &too_large);
    if (found.executed &&
        !weft_schedule_check(&found.report, &found.schedule, base->scratch, base->error)) {
        return false;
    }
    *result = found;
    return true;
}

// ---- check ----

// Runs the schedule on real buffers, where they are not too large; a difference stands in *error.
static void run_buffers(struct weft_collective_check_result *result,
                        const struct weft_collective_request *request,
                        const struct weft_environment *environment, struct weft_error *error)
{
    const uint64_t words_max = (uint64_t)1 << 25;
    const struct weft_schedule *schedule = &result->schedule;
    uint64_t chunks = schedule->chunk_count;
    uint64_t words = request->buffer_words > 0 ? request->buffer_words : 2 * chunks + 1;
    uint64_t slot_words = (words + chunks - 1) / chunks;
    uint64_t all = slot_words * schedule->slot_count * schedule->rank_count;
    if (all > words_max * (request->buffer_words > 0 ? 32 : 1)) {
        return;
    }
    result->buffer_words = words;
    result->buffers =
        weft_schedule_try(schedule, words, environment->seed, environment->scratch, error)
            ? WEFT_BUFFERS_EQUAL
            : WEFT_BUFFERS_DIFFER;
}

static bool check_algorithm(struct weft_collective_check_result *result,
                            const struct weft_collective_request *request,
                            const struct weft_environment *environment)
{
    if (!weft_request_collective_build(&result->schedule, &result->source, request->size_bytes,
                                       environment) ||
        !weft_collective_is_executable(&result->schedule, environment->error) ||
        !weft_schedule_check(&result->report, &result->schedule, environment->scratch,
                             environment->error)) {
        return false;
    }
    result->why = result->report.why;
    if (result->report.valid) {
        struct weft_error difference = {.code = WEFT_OK};
        run_buffers(result, request, environment, &difference);
        result->why = weft_arena_format(environment->arena, "%s", difference.message);
    }
    return true;
}

// Two families of runtimes read MSCCL's programs; what one of them has defaults for the other
// wants.
static void note_defaults(const struct weft_program *program, const char *path,
                          struct weft_request_environment *environment)
{
    if (program->defaulted != NULL && program->defaulted[0] != '\0') {
        weft_request_note(environment,
                          "%s: %s as microsoft/msccl has it (0, 128 MiB, by inplace alone); RCCL "
                          "and msccl-executor ignore a file that does not state them",
                          path, program->defaulted);
    }
}

// Whether the first element of the file is that of NCCL's graphs.
static bool has_graphs(bool *graphs, const char *path, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, &scratch, environment->error)) {
        return false;
    }
    const char *open = memchr(data, '<', length);
    while (open != NULL && (open[1] == '?' || open[1] == '!')) {
        open = strchr(open + 1, '<');
    }
    *graphs = open != NULL && strncmp(open, "<graphs", 7) == 0;
    return true;
}

static bool check_graphs(struct weft_collective_check_result *result, const char *path,
                         const struct weft_environment *environment)
{
    if (!weft_nccl_graphs_load(&result->graphs, path, environment->arena, environment->scratch,
                               environment->error)) {
        return false;
    }
    result->is_graphs = true;
    result->why = weft_nccl_graphs_fault(&result->graphs, environment->arena);
    return true;
}

static bool check_file(struct weft_collective_check_result *result,
                       const struct weft_collective_request *request,
                       struct weft_request_environment *outer)
{
    const struct weft_environment *environment = &outer->base;
    bool graphs = false;
    if (!has_graphs(&graphs, request->source, environment)) {
        return false;
    }
    if (graphs) {
        return check_graphs(result, request->source, environment);
    }
    if (!weft_program_load(&result->program, request->source, environment->arena,
                           environment->scratch, environment->error)) {
        return false;
    }
    note_defaults(&result->program, request->source, outer);
    struct weft_program_report *report = &result->program_report;
    if (!weft_program_check(report, &result->program, environment->scratch, environment->error)) {
        return weft_wrap(environment->error, "%s", request->source);
    }
    if (report->valid && report->repeats[0] != '\0') {
        weft_request_note(outer, "%s: right for one call; in a second one at once behind it, %s",
                          request->source, report->repeats);
    }
    result->why = report->valid ? "" : report->why;
    return true;
}

bool weft_request_collective_check(struct weft_collective_check_result *result,
                                   const struct weft_collective_request *request,
                                   struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    *result = (struct weft_collective_check_result){.why = ""};
    return weft_request_collective_source(&result->source, request, environment) &&
           (result->source.algorithm == WEFT_ALGORITHM_COUNT
                ? check_file(result, request, environment)
                : check_algorithm(result, request, base));
}
