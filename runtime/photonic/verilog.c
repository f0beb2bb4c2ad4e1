// SPDX-License-Identifier: Apache-2.0
// A simulated datapath as engine: a program that reads requests from its standard input and writes
// answers to its standard output, a frame {length u32 big endian}{bytes} each way and request. An
// answer of one byte is the reason of a drop. Before the first request it says by a frame of no
// bytes that it is ready.
//
// Requests pass the responder first, so that the program sees whole ones that fit; what it answers
// is read with the same distrust as what comes from the network. A program that ends, answers
// nothing for ten seconds or answers something else is ended and started anew with the next
// request, at most once in a second: an interface outlives its engine.

#include "engine.h"

#include "runtime/clock.h"
#include "runtime/netlink/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, FRAME_MAX = 4 + WEFT_PHOTONIC_PAYLOAD_BYTES_MAX };

struct simulator {
    const char *const *command;
    pid_t pid; // 0 = none
    int socket;
    uint64_t started_ns;
    uint8_t frame[FRAME_MAX];
    int32_t *sums;
};

static void put32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

// All bytes in time, or nothing more from this program.
static bool move(int socket, uint8_t *bytes, size_t size, short event)
{
    const uint64_t end_ns = lab_now_ns() + PATIENCE_MS * 1000000ull;
    for (size_t done = 0; done < size;) {
        struct pollfd ready = {.fd = socket, .events = event};
        if (lab_now_ns() > end_ns || poll(&ready, 1, 100) < 0) {
            return false;
        }
        if (ready.revents == 0) {
            continue;
        }
        const ssize_t moved = event == POLLOUT
                                  ? send(socket, bytes + done, size - done, MSG_NOSIGNAL)
                                  : recv(socket, bytes + done, size - done, 0);
        if (moved <= 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        if (moved == 0) {
            return false;
        }
        done += moved > 0 ? (size_t)moved : 0;
    }
    return true;
}

// A frame's bytes into `frame`; false: none that fits.
static bool hear(struct simulator *simulator, uint32_t *size)
{
    uint8_t length[4];
    if (!move(simulator->socket, length, sizeof length, POLLIN)) {
        return false;
    }
    *size = (uint32_t)length[0] << 24 | (uint32_t)length[1] << 16 | (uint32_t)length[2] << 8 |
            length[3];
    return *size <= WEFT_PHOTONIC_PAYLOAD_BYTES_MAX &&
           move(simulator->socket, simulator->frame, *size, POLLIN);
}

static void end(struct simulator *simulator)
{
    if (simulator->pid > 0) {
        close(simulator->socket);
        kill(simulator->pid, SIGKILL);
        waitpid(simulator->pid, NULL, 0);
        simulator->pid = 0;
    }
}

static bool start(struct simulator *simulator, struct weft_error *error)
{
    int ends[2];
    uint32_t size;
    simulator->started_ns = lab_now_ns();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return weft_netlink_refused(error, errno, NULL, NULL, "the simulator's socket");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execv(simulator->command[0], (char *const *)(uintptr_t)simulator->command);
        _exit(127);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return weft_netlink_refused(error, errno, NULL, NULL, "the simulator's process");
    }
    simulator->pid = pid;
    simulator->socket = ends[0];
    if (hear(simulator, &size) && size == 0) {
        return true;
    }
    end(simulator);
    return weft_fail(error, WEFT_IO, "%s: it did not say that it is ready", simulator->command[0]);
}

// The answer in `frame` as an outcome, if it is one to that request.
static bool take_answer(struct weft_photonic_outcome *outcome, struct simulator *simulator,
                        const struct weft_photonic_job *job, uint32_t size)
{
    struct weft_photonic_answer answer;
    if (!weft_photonic_answer_read(&answer, simulator->frame, size) ||
        answer.head.request != job->head.request || answer.head.model != job->head.model ||
        answer.head.layers != job->head.layers || answer.sum_count != job->model->output_count) {
        return false;
    }
    for (uint32_t i = 0; i < answer.sum_count; i++) {
        simulator->sums[i] = weft_photonic_answer_sum(&answer, i);
    }
    *outcome = (struct weft_photonic_outcome){answer.class_index, answer.sum_count, simulator->sums,
                                              answer.highest};
    return true;
}

static bool run(struct weft_photonic_outcome *outcome, struct weft_nic_engine *engine,
                const struct weft_photonic_job *job)
{
    struct simulator *simulator = engine->own;
    const uint32_t size = WEFT_PHOTONIC_HEAD_BYTES + job->head.input_bytes;
    uint32_t got;
    struct weft_error ignored;
    if (simulator->pid == 0 &&
        (lab_now_ns() - simulator->started_ns < 1000000000ull || !start(simulator, &ignored))) {
        return false;
    }
    put32(simulator->frame, size);
    weft_photonic_head_write(simulator->frame + 4, &job->head);
    memcpy(simulator->frame + 4 + WEFT_PHOTONIC_HEAD_BYTES, job->input, job->head.input_bytes);
    if (!move(simulator->socket, simulator->frame, (size_t)4 + size, POLLOUT) ||
        !hear(simulator, &got)) {
        end(simulator);
        return false;
    }
    if (got == 1) {
        return false; // it knows why; the next request may suit it
    }
    if (!take_answer(outcome, simulator, job, got)) {
        end(simulator);
        return false;
    }
    return true;
}

static void close_simulator(struct weft_nic_engine *engine)
{
    end(engine->own);
}

bool weft_nic_verilog_open(struct weft_nic_engine *engine, const char *const *command,
                           struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_nic_engine_ops ops = {run, close_simulator};
    struct simulator *simulator = WEFT_NEW(arena, struct simulator, 1);
    simulator->command = command;
    simulator->sums = WEFT_NEW(arena, int32_t, engine->models->answer_bytes_max / 4 + 1);
    engine->ops = &ops;
    engine->own = simulator;
    return start(simulator, error);
}
