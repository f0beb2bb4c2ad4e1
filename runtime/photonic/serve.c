// SPDX-License-Identifier: Apache-2.0
// The process that serves: frames from the port, through the responder and the engine, and back.
//
// One thread does all of it. Answers are sent when 64 wait or no frame is there, so that a lone
// request waits for nobody and a burst costs one system call for 64. Whatever a frame says ends in
// a counter; nothing of it can end the process.

#include "nic.h"

#include "port.h"
#include "runtime/clock.h"
#include "runtime/netlink/netlink.h"

#include "bpf/photonic/requests.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { REFRESH_NS = 20000000 };

struct server {
    struct weft_nic_state *state;
    struct weft_nic_port port;
    struct weft_nic_engine engine;
    struct weft_photonic_responder *responder;
    struct weft_bpf_requests requests;
    uint32_t index; // of the interface
    int signals;
    uint64_t refreshed_ns;
    uint16_t id; // of IP
};

// ---- requests ----

static void answer(struct server *server, const struct weft_nic_frame *frame,
                   const struct weft_photonic_job *job)
{
    uint8_t *slot = weft_nic_port_slot(&server->port);
    memcpy(slot + WEFT_NIC_HEADERS_BYTES, job->answer, job->answer_bytes);
    const size_t bytes = weft_nic_frame_answer(slot, job->answer_bytes, frame->bytes, server->id++);
    weft_nic_port_commit(&server->port, bytes, frame->received_ns);
}

static void take(struct server *server, const struct weft_nic_frame *frame, uint64_t now_ns)
{
    struct weft_nic_datagram datagram;
    struct weft_photonic_job job;
    struct weft_photonic_outcome outcome;
    if (frame->is_cut) {
        server->state->oversized++;
        return;
    }
    const enum weft_nic_frame_kind kind = weft_nic_frame_read(&datagram, frame->bytes, frame->size,
                                                              &server->port.place, frame->verify);
    server->state->frames[kind]++;
    if (kind != WEFT_NIC_FRAME_REQUEST) {
        return;
    }
    const uint64_t source = (uint64_t)datagram.address << 16 | datagram.port;
    switch (weft_photonic_responder_take(&job, server->responder, source, datagram.payload,
                                         datagram.size, now_ns)) {
    case WEFT_PHOTONIC_DROPPED:
    case WEFT_PHOTONIC_HELD:
        return;
    case WEFT_PHOTONIC_COMPUTE: {
        const bool fine = server->engine.ops->run(&outcome, &server->engine, &job);
        weft_photonic_responder_finish(&job, server->responder, fine ? &outcome : NULL);
        if (!fine) {
            return;
        }
        break;
    }
    case WEFT_PHOTONIC_ANSWERED:
        break;
    }
    answer(server, frame, &job);
}

// Whoever has an answer finds it counted: counts are shown before answers leave.
static void flush(struct server *server)
{
    server->state->counts = *weft_photonic_responder_counts(server->responder);
    server->state->unsent += weft_nic_port_flush(&server->port, &server->state->latency);
}

// ---- what others see ----

static void refresh(struct server *server, uint64_t now_ns)
{
    struct weft_nic_state *state = server->state;
    weft_photonic_responder_expire(server->responder, now_ns);
    state->counts = *weft_photonic_responder_counts(server->responder); // with what has expired
    state->overrun += weft_nic_port_overrun(&server->port);
    if (state->has_xdp) {
        weft_bpf_requests_count(state->xdp, &server->requests);
    }
    server->refreshed_ns = now_ns;
}

// ---- the loop ----

static void serve(struct server *server)
{
    struct pollfd wanted[] = {{.fd = server->port.fd, .events = POLLIN},
                              {.fd = server->signals, .events = POLLIN}};
    for (;;) {
        struct weft_nic_frame frame;
        uint64_t now_ns = lab_now_ns();
        while (server->port.waiting < WEFT_NIC_BATCH && weft_nic_port_next(&frame, &server->port)) {
            take(server, &frame, now_ns);
            weft_nic_port_release(&server->port);
        }
        const bool more = server->port.waiting == WEFT_NIC_BATCH;
        flush(server);
        if (now_ns - server->refreshed_ns >= REFRESH_NS) {
            refresh(server, now_ns);
        }
        if (poll(wanted, 2, more ? 0 : REFRESH_NS / 1000000) > 0 && wanted[1].revents != 0) {
            return;
        }
    }
}

static bool open_all(struct server *server, const struct weft_nic_setup *setup,
                     const struct weft_photonic_models *models, struct weft_arena *arena,
                     struct weft_error *error)
{
    const struct weft_nic_place place = {.address = WEFT_NIC_PORT_ADDRESS, .port = setup->port};
    const struct requests_settings settings = {__builtin_bswap32(WEFT_NIC_PORT_ADDRESS),
                                               setup->port};
    struct weft_netlink netlink;
    if (!weft_netlink_open(&netlink, NULL, error)) {
        return false;
    }
    const bool found = weft_link_find(&server->index, &netlink, "light0", error);
    weft_netlink_close(&netlink);
    if (!found ||
        !weft_nic_port_open(&server->port, server->index, &place, setup->mtu_bytes, arena, error)) {
        return false;
    }
    if (!weft_nic_engine_open(&server->engine, &setup->engine, models, arena, error)) {
        weft_nic_port_close(&server->port);
        return false;
    }
    server->responder = weft_photonic_responder_build(models, &setup->responder, arena);
    // Without the program in the kernel everything is checked here, as it is with it.
    struct weft_error absent = {.message = "--no-xdp"};
    server->state->has_xdp =
        !setup->without_xdp &&
        weft_bpf_requests_load(&server->requests, server->index, &settings, arena, &absent);
    if (!server->state->has_xdp) {
        snprintf(error->message, sizeof error->message, "%s", absent.message);
    }
    return true;
}

bool weft_nic_serve(struct weft_nic_state *state, const struct weft_nic_setup *setup,
                    const struct weft_photonic_models *models, void (*ready)(void *context),
                    void *context, struct weft_arena *arena, struct weft_error *error)
{
    struct server server = {.state = state};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    server.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    if (server.signals < 0) {
        return weft_fail(error, WEFT_IO, "signals: %s", strerrordesc_np(errno));
    }
    error->message[0] = '\0';
    if (!open_all(&server, setup, models, arena, error)) {
        close(server.signals);
        return false;
    }
    ready(context);
    serve(&server);
    refresh(&server, lab_now_ns());
    server.engine.ops->close(&server.engine);
    if (state->has_xdp) {
        weft_bpf_requests_close(&server.requests);
    }
    weft_nic_port_close(&server.port);
    close(server.signals);
    return true;
}
