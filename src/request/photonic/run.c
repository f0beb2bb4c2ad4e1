// SPDX-License-Identifier: Apache-2.0
// A compiled program over images by its twin, exactly or with the noise of light; beside it by its
// count-action modules; and what the Verilog bench is to find for the first of them.

#include "request/photonic/files.h"
#include "weft/request/photonic_net.h"

#include <string.h>

enum { BENCH_MAX = 1u << 20 };

struct run {
    const struct weft_photonic_run_request *request;
    const struct weft_environment *base;
    struct weft_photonic_core light;
    bool is_exact;
    struct weft_photonic_run_result found;
    uint32_t path_samples;
    const uint8_t *images;
    const uint8_t *labels;
    uint32_t *classes;
    int32_t *sums;
    int32_t *log_probabilities;
    struct weft_text bench; // its own arena grows while images run
    struct weft_photonic_countaction modules;
};

static bool load_images(struct run *run)
{
    const struct weft_photonic_run_request *request = run->request;
    struct weft_error *error = run->base->error;
    const char *data = NULL;
    size_t length = 0, size = run->found.program.rows[0].inputs;
    if (!weft_file_load(&data, &length, request->input, WEFT_FILE_TRACE_BYTES, run->base->arena,
                        error)) {
        return false;
    }
    size_t count = length / size;
    if (count == 0 || length % size != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: %zu bytes are no whole number of images of %zu bytes", request->input,
                         length, size);
    }
    if (request->count > count || request->bench > count) {
        bool bench = request->bench > count;
        return weft_fail(error, WEFT_INPUT, "%s: has %zu images; write {%s=%zu}", request->input,
                         count, bench ? "bench" : "count", count);
    }
    run->images = (const uint8_t *)data;
    run->found.image_count = request->count == 0 ? (uint32_t)count : request->count;
    if (request->bench > run->found.image_count) {
        run->found.image_count = request->bench;
    }
    return true;
}

static bool load_labels(struct run *run)
{
    const char *data = NULL;
    size_t length = 0;
    const char *path = run->request->labels;
    if (path == NULL) {
        return true;
    }
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, run->base->arena,
                        run->base->error)) {
        return false;
    }
    run->labels = (const uint8_t *)data;
    run->found.has_labels = true;
    return length >= run->found.image_count ||
           weft_fail(run->base->error, WEFT_INPUT, "%s: %zu labels are fewer than %u images", path,
                     length, run->found.image_count);
}

static void add_list(struct weft_text *text, const char *name, const int32_t *values,
                     uint32_t count)
{
    weft_text_add(text, " %s ", name);
    for (uint32_t i = 0; i < count; i++) {
        weft_text_add(text, i == 0 ? "%d" : ",%d", values[i]);
    }
}

// The line that the bench prints of an image. A preamble's first word, of which a rotation of nine
// and more leaves less than eight samples of light, is no pattern error.
static void add_line(struct run *run, uint32_t image, const struct weft_photonic_result *result)
{
    uint32_t rows = run->found.program.row_count, rotation = run->path_samples % 16;
    struct weft_text *text = &run->bench;
    weft_text_add(text, "run %u class %u cycles %llu rotation %u errors 0 h ", image,
                  result->class_index, (unsigned long long)result->cycles, rotation);
    for (uint32_t i = 0; i < rows; i++) {
        weft_text_add(text, i == 0 ? "%u" : ",%u", result->highest[i]);
    }
    add_list(text, "sums", result->sums, result->sum_count);
    if (result->log_probabilities != NULL) {
        add_list(text, "log", result->log_probabilities, result->sum_count);
    }
    weft_text_add(text, "\n");
}

// ---- cycle by cycle ----

static bool executes(const struct run *run, uint32_t image)
{
    return run->request->cycle_by_cycle || (run->request->timeline && image == 0);
}

// Memories that make the streamer wait change how long it takes, and nothing else.
static bool agree(const struct run *run, const struct weft_photonic_registers *registers,
                  const struct weft_photonic_result *result)
{
    size_t size = run->found.sum_count * sizeof *result->sums;
    return registers->done && !registers->error && registers->class_index == result->class_index &&
           (registers->cycles == result->cycles ||
            (run->request->stall > 0 && registers->cycles > result->cycles)) &&
           memcmp(registers->sums, result->sums, size) == 0 &&
           memcmp(registers->highest, result->highest, run->found.program.row_count) == 0 &&
           (result->log_probabilities == NULL ||
            memcmp(registers->log_probabilities, result->log_probabilities, size) == 0);
}

static bool execute(struct run *run, uint32_t image, const struct weft_photonic_result *result)
{
    const struct weft_photonic_run_request *request = run->request;
    struct weft_photonic_run_executor *executor = &run->found.executor;
    const struct weft_photonic_execute_options options = {
        .modules = &run->modules,
        .path = weft_photonic_path_default,
        .stall_seed = request->stall > 0 ? (uint64_t)request->stall + image : 0,
        .trace = request->timeline && image == 0,
    };
    const uint8_t *input = run->images + (size_t)image * run->found.program.rows[0].inputs;
    struct weft_arena kept = *run->base->arena;
    struct weft_photonic_registers registers;
    if (!weft_photonic_execute(&registers, &run->found.program, input, &options, run->base->arena,
                               run->base->scratch, run->base->error)) {
        return weft_wrap(run->base->error, "image %u", image);
    }
    if (!agree(run, &registers, result)) {
        return weft_fail(run->base->error, WEFT_INFEASIBLE,
                         "image %u: modules of %s/countaction.txt %s class %u after %llu cycles, "
                         "the twin %u after %llu, or other sums; compile again, or ask weft "
                         "photonic check",
                         image, request->folder, registers.done ? "find" : "see no preamble,",
                         registers.class_index, (unsigned long long)registers.cycles,
                         result->class_index, (unsigned long long)result->cycles);
    }
    executor->image_count++;
    executor->stalls += registers.stalls;
    executor->cycles = registers.cycles > executor->cycles ? registers.cycles : executor->cycles;
    if (image == 0) {
        executor->trace = registers.trace;
    }
    if (!options.trace) {
        *run->base->arena = kept;
    }
    return true;
}

static bool play(struct run *run, struct weft_photonic_twin *twin)
{
    const struct weft_photonic_core *light = run->is_exact ? NULL : &run->light;
    size_t size = run->found.program.rows[0].inputs;
    uint32_t sum_count = run->found.sum_count;
    for (uint32_t i = 0; i < run->found.image_count; i++) {
        struct weft_photonic_result result;
        struct weft_rng rng = weft_rng_stream(run->base->seed, i);
        weft_poll();
        weft_photonic_twin_run(&result, twin, run->images + i * size, light, &rng);
        run->classes[i] = result.class_index;
        memcpy(run->sums + (size_t)i * sum_count, result.sums, sum_count * sizeof *result.sums);
        if (run->log_probabilities != NULL) {
            memcpy(run->log_probabilities + (size_t)i * sum_count, result.log_probabilities,
                   sum_count * sizeof *result.log_probabilities);
        }
        run->found.right_count += run->labels != NULL && run->labels[i] == result.class_index;
        run->found.cycles = result.cycles;
        if (executes(run, i) && !execute(run, i, &result)) {
            return false;
        }
        if (i < run->request->bench) {
            add_line(run, i, &result);
        }
    }
    return true;
}

static const char *const bench_files[] = {"input.hex", "expected.txt"};

// input.hex, a byte a line, and expected.txt.
static bool save_bench(struct run *run)
{
    static const char digits[] = "0123456789abcdef";
    const char *folder = run->request->folder;
    size_t bytes = (size_t)run->request->bench * run->found.program.rows[0].inputs;
    struct weft_arena arena = run->base->scratch;
    char *hex = WEFT_NEW_RAW(&arena, char, 3 * bytes);
    for (size_t i = 0; i < bytes; i++) {
        hex[3 * i] = digits[run->images[i] >> 4];
        hex[3 * i + 1] = digits[run->images[i] & 15];
        hex[3 * i + 2] = '\n';
    }
    const struct weft_file files[] = {
        {bench_files[0], hex, 3 * bytes},
        {bench_files[1], run->bench.data, run->bench.length},
    };
    run->found.file_count = 2;
    run->found.files = bench_files;
    return weft_files_save(folder, files, 2, arena, run->base->error);
}

// What light does, and whether it is asked for what it may do.
static bool set_light(struct run *run)
{
    const struct weft_photonic_run_request *request = run->request;
    struct weft_error *error = run->base->error;
    struct weft_photonic_core *light = &run->light;
    *light = request->light;
    light->dark_code = request->dark_code.given   ? request->dark_code.value
                       : light->product_sigma > 0 ? WEFT_PHOTONIC_DARK_CODE
                                                  : 0;
    run->is_exact = light->product_sigma == 0 && light->sum_sigma == 0 && light->dark_code == 0;
    return light->dark_code <= WEFT_PHOTONIC_DARK_CODE_MAX ||
           weft_fail(error, WEFT_USAGE, "{dark-code=%u} is the most", WEFT_PHOTONIC_DARK_CODE_MAX);
}

static bool fits(const struct run *run, struct weft_error *error)
{
    const struct weft_photonic_run_request *request = run->request;
    bool executed = request->cycle_by_cycle || request->timeline;
    if (!run->is_exact && (request->bench > 0 || executed)) {
        return weft_fail(error, WEFT_USAGE,
                         "{%s} compares bit by bit; leave out {noise-product}, {noise-sum} and "
                         "{dark-code}",
                         request->bench > 0        ? "bench"
                         : request->cycle_by_cycle ? "cycle-by-cycle"
                                                   : "timeline");
    }
    if (request->stall > 0 && !executed) {
        return weft_fail(error, WEFT_USAGE,
                         "{stall} is of memories cycle by cycle; add {cycle-by-cycle}");
    }
    return request->bench <= BENCH_MAX ||
           weft_fail(error, WEFT_USAGE, "{bench=%u} is the most", BENCH_MAX);
}

static bool load_modules(struct run *run)
{
    return !executes(run, 0) ||
           photonic_modules_load(
               &run->modules,
               weft_arena_format(run->base->arena, "%s/countaction.txt", run->request->folder),
               run->base);
}

bool weft_request_photonic_run(struct weft_photonic_run_result *result,
                               const struct weft_photonic_run_request *request,
                               struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct run run = {.request = request, .base = base};
    if (!set_light(&run) || !fits(&run, base->error) ||
        !weft_photonic_program_load(&run.found.program, request->folder, base->arena, base->scratch,
                                    base->error) ||
        !load_images(&run) || !load_labels(&run) || !load_modules(&run) ||
        !weft_photonic_path_samples(&run.path_samples, &weft_photonic_path_default, base->error)) {
        return false;
    }
    const struct weft_photonic_program *program = &run.found.program;
    const struct weft_photonic_row *last = &program->rows[program->row_count - 1];
    size_t values = (size_t)run.found.image_count * last->results;
    run.found.sum_count = last->results;
    run.classes = WEFT_NEW(base->arena, uint32_t, run.found.image_count);
    run.sums = WEFT_NEW_RAW(base->arena, int32_t, values);
    if ((last->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0) {
        run.log_probabilities = WEFT_NEW_RAW(base->arena, int32_t, values);
    }
    struct weft_photonic_twin *twin =
        weft_photonic_twin_build(program, run.path_samples, base->arena);
    weft_text_init(&run.bench, base->arena);
    if (!play(&run, twin) || (request->bench > 0 && !save_bench(&run))) {
        return false;
    }
    run.found.classes = run.classes;
    run.found.sums = run.sums;
    run.found.log_probabilities = run.log_probabilities;
    *result = run.found;
    return true;
}
