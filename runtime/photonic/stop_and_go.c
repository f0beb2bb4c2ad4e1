// SPDX-License-Identifier: Apache-2.0
// The baseline that count-action replaces: optics that can multiply, but not decide. For each layer
// a host process reads the sums back, adds biases, applies ReLU and pool, finds the shift and arms
// the optics again; here that host is a process of its own, the optics are the twin of one layer
// alone, and both meet in shared memory with a message each way. What is measured is so a real
// crossing for each layer, of a scheduler and two system calls, without PCIe, which a card would
// add.
//
//   interface ──model──► host ──arm row──► optics ──done──► host ──arm row──► ... ──over──►
//   interface

#include "engine.h"

#include "runtime/netlink/message.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS_MAX = 1024, OVER = INT32_MAX };

// Shared by both processes; each writes while the other waits.
struct desk {
    uint32_t class_index;
    uint8_t highest[ROWS_MAX];
    int32_t *sums;   // of the layer before host and optics, the last of the answer
    uint8_t *values; // the next layer's activations
};
struct optics {
    struct desk *desk;
    size_t desk_bytes;
    int socket;
    pid_t host;
    struct weft_photonic_twin **twins; // a row of the joint program
};

static bool say(int socket, uint32_t word)
{
    return send(socket, &word, sizeof word, MSG_NOSIGNAL) == sizeof word;
}

static bool hear(int socket, uint32_t *word)
{
    ssize_t got;
    do {
        got = recv(socket, word, sizeof *word, 0);
    } while (got < 0 && errno == EINTR);
    return got == sizeof *word;
}

// ---- the host ----

static uint32_t highest_bit(int32_t value)
{
    return value > 0 ? 31u - (uint32_t)__builtin_clz((uint32_t)value) : 0;
}

// What the sum of a layer begins at (weft_photonic_row).
static int32_t scale_bias(int32_t bias, int32_t right)
{
    return right >= 0 ? bias >> (right < 31 ? right : 31) : bias * (1 << (right > -7 ? -right : 7));
}

// Bias and ReLU of every sum, in place.
static void activate(int32_t *sums, const struct weft_photonic_program *program,
                     const struct weft_photonic_row *row, int32_t exponent)
{
    for (uint32_t i = 0; i < row->sums; i++) {
        if ((row->flags & WEFT_PHOTONIC_FLAG_BIAS) != 0) {
            sums[i] += scale_bias(program->biases[row->bias_first + i % row->outputs],
                                  row->bias_shift + exponent);
        }
        if ((row->flags & WEFT_PHOTONIC_FLAG_RELU) != 0 && sums[i] < 0) {
            sums[i] = 0;
        }
    }
}

static int32_t largest_of_window(const int32_t *sums, const struct weft_photonic_row *row,
                                 uint32_t y, uint32_t x, uint32_t channel)
{
    int32_t largest = INT32_MIN;
    for (uint32_t i = 0; i < row->pool * row->pool; i++) {
        const uint32_t at_y = y * row->pool + i / row->pool;
        const uint32_t at_x = x * row->pool + i % row->pool;
        const int32_t sum = sums[((size_t)at_y * row->out_width + at_x) * row->outputs + channel];
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

// The largest of each window, in place: a window's result stands before what is still read.
static void pool(int32_t *sums, const struct weft_photonic_row *row)
{
    for (uint32_t i = 0; row->pool > 1 && i < row->results; i++) {
        const uint32_t pixel = i / row->outputs;
        sums[i] = largest_of_window(sums, row, pixel / row->pooled_width, pixel % row->pooled_width,
                                    i % row->outputs);
    }
}

static uint32_t find_largest(const int32_t *sums, uint32_t count)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < count; i++) {
        largest = sums[i] > sums[largest] ? i : largest;
    }
    return largest;
}

// One request, layer by layer. False: the interface is gone.
static bool serve_one(struct desk *desk, const struct weft_photonic_model *model, int socket)
{
    const struct weft_photonic_program *program = &model->program;
    int32_t exponent = 0;
    uint32_t done;
    for (uint32_t r = 0; r < program->row_count; r++) {
        const struct weft_photonic_row *row = &program->rows[r];
        if (!say(socket, model->row_first + r) || !hear(socket, &done)) {
            return false;
        }
        activate(desk->sums, program, row, exponent);
        pool(desk->sums, row);
        const uint32_t largest = find_largest(desk->sums, row->results);
        const uint32_t high = highest_bit(desk->sums[largest]);
        const int32_t shift = (int32_t)high - 7;
        desk->highest[r] = (uint8_t)high;
        desk->class_index = largest;
        exponent += shift;
        for (uint32_t i = 0; r + 1 < program->row_count && i < row->results; i++) {
            desk->values[i] =
                (uint8_t)(shift >= 0 ? desk->sums[i] >> shift : desk->sums[i] * (1 << -shift));
        }
    }
    return say(socket, OVER);
}

static void serve(struct desk *desk, const struct weft_photonic_models *models, int socket)
{
    uint32_t model;
    while (hear(socket, &model) && serve_one(desk, &models->models[model], socket)) {
    }
}

// ---- the optics ----

static bool run(struct weft_photonic_outcome *outcome, struct weft_nic_engine *engine,
                const struct weft_photonic_job *job)
{
    struct optics *optics = engine->own;
    struct desk *desk = optics->desk;
    memcpy(desk->values, job->input, job->model->input_bytes);
    if (!say(optics->socket, (uint32_t)(job->model - engine->models->models))) {
        return false;
    }
    for (;;) {
        uint32_t row;
        struct weft_photonic_result light;
        if (!hear(optics->socket, &row)) {
            return false;
        }
        if (row == OVER) {
            break;
        }
        weft_photonic_twin_run(&light, optics->twins[row], desk->values, NULL, NULL);
        memcpy(desk->sums, light.sums, sizeof *desk->sums * light.sum_count);
        if (!say(optics->socket, row)) {
            return false;
        }
    }
    *outcome = (struct weft_photonic_outcome){desk->class_index, job->model->output_count,
                                              desk->sums, desk->highest};
    return true;
}

static void close_optics(struct weft_nic_engine *engine)
{
    struct optics *optics = engine->own;
    close(optics->socket);
    kill(optics->host, SIGKILL);
    waitpid(optics->host, NULL, 0);
    munmap(optics->desk, optics->desk_bytes);
}

// Each row alone: its sums as light gives them.
static void build_twins(struct optics *optics, const struct weft_photonic_program *joint,
                        uint32_t samples, struct weft_arena *arena)
{
    optics->twins = WEFT_NEW(arena, struct weft_photonic_twin *, joint->row_count);
    for (uint32_t r = 0; r < joint->row_count; r++) {
        struct weft_photonic_program *program = WEFT_NEW(arena, struct weft_photonic_program, 1);
        struct weft_photonic_row *row = WEFT_NEW(arena, struct weft_photonic_row, 1);
        *row = joint->rows[r];
        row->flags = WEFT_PHOTONIC_FLAG_LAST;
        row->pool = 1;
        row->pooled_width = row->out_width;
        row->pooled_height = row->pixels / row->out_width;
        row->results = row->sums;
        *program = *joint;
        program->row_count = 1;
        program->rows = row;
        program->names = joint->names + r;
        program->scales = joint->scales + r;
        optics->twins[r] = weft_photonic_twin_build(program, samples, arena);
    }
}

static bool open_desk(struct optics *optics, const struct weft_photonic_program *joint)
{
    size_t sums = 1;
    size_t values = 1;
    for (uint32_t r = 0; r < joint->row_count; r++) {
        sums = joint->rows[r].sums > sums ? joint->rows[r].sums : sums;
        values = joint->rows[r].inputs > values ? joint->rows[r].inputs : values;
        values = joint->rows[r].results > values ? joint->rows[r].results : values;
    }
    optics->desk_bytes = sizeof *optics->desk + sizeof(int32_t) * sums + values;
    struct desk *desk =
        mmap(NULL, optics->desk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (desk == MAP_FAILED) {
        return false;
    }
    desk->sums = (int32_t *)(void *)(desk + 1);
    desk->values = (uint8_t *)(desk->sums + sums);
    optics->desk = desk;
    return true;
}

bool weft_nic_stop_and_go_open(struct weft_nic_engine *engine, struct weft_arena *arena,
                               struct weft_error *error)
{
    static const struct weft_nic_engine_ops ops = {run, close_optics};
    struct optics *optics = WEFT_NEW(arena, struct optics, 1);
    uint32_t samples;
    int ends[2];
    if (!weft_photonic_path_samples(&samples, &weft_photonic_path_default, error)) {
        return false;
    }
    build_twins(optics, &engine->models->joint, samples, arena);
    if (!open_desk(optics, &engine->models->joint) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return weft_netlink_refused(error, errno, NULL, NULL, "the host of stop-and-go");
    }
    optics->socket = ends[0];
    optics->host = fork();
    if (optics->host == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, SIG_IGN); // it ends with its interface
        close(ends[0]);
        serve(optics->desk, engine->models, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (optics->host < 0) {
        return weft_netlink_refused(error, errno, NULL, NULL, "the host of stop-and-go");
    }
    engine->ops = &ops;
    engine->own = optics;
    return true;
}
