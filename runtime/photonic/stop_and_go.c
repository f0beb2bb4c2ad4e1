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
#include "weft/photonics/layer.h"

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
        weft_photonic_add_biases(desk->sums, program, row, exponent);
        weft_photonic_keep(desk->sums, desk->sums, row);
        desk->class_index = weft_photonic_largest(desk->sums, row->results);
        const uint32_t highest = weft_photonic_highest_bit(desk->sums[desk->class_index]);
        desk->highest[r] = (uint8_t)highest;
        exponent += (int32_t)highest - 7;
        for (uint32_t i = 0; r + 1 < program->row_count && i < row->results; i++) {
            desk->values[i] = weft_photonic_normalize(desk->sums[i], highest);
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
