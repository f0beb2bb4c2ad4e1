// SPDX-License-Identifier: Apache-2.0
// Engine, transport and packets: what a request gives, over a preset.
//
// The preset follows from the load and the transport, so it is known only when the load has been
// read. Until then the request keeps what was given, typed; weft_request_packets lays it over the
// preset and refuses what belongs to another engine, transport or setting.

#include "weft/request/packets.h"
#include "weft/request.h"

#include <string.h>

static bool read_transport(void *field, const struct weft_parameter *parameter, const char *text,
                           struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_given_word *word = field;
    enum weft_sim_transport transport = WEFT_TRANSPORT_IDEAL;
    if (!weft_transport_find(&transport, text, error)) {
        error->code = WEFT_USAGE;
        return false;
    }
    *word = (struct weft_given_word){true, transport};
    return true;
}

// A fluid's packets may have no size; those of the packet engine have one (weft_request_packets).
static bool read_mtu(void *field, const struct weft_parameter *parameter, const char *text,
                     struct weft_arena *arena, struct weft_error *error)
{
    if (strcmp(text, "0") == 0) {
        *(struct weft_given_count *)field = (struct weft_given_count){.given = true};
        return true;
    }
    return weft_read_given_packet(field, parameter, text, arena, error);
}

static const char *const engines[] = {"flow", "packet", NULL};
static const char *const presets[] = {"plain", "topoopt", NULL};
static const char *const ack_words[] = {"at-once", "network", NULL};
static const char *const queue_words[] = {"turns", "all", NULL};
static const char *const mark_words[] = {"arrival", "departure", NULL};
static const char *const spray_words[] = {"turn", "chance", "marks", "reuse", NULL};

#define FIELD(path) offsetof(struct weft_request_packets, path)
#define SWITCH(name, path)                                                                         \
    {                                                                                              \
        name, NULL, FIELD(path), 0, 0, NULL                                                        \
    }
#define COUNT(name, path, low, high)                                                               \
    {                                                                                              \
        name, weft_read_given_count, FIELD(path), low, high, NULL                                  \
    }
#define NUMBER(name, path, low, high)                                                              \
    {                                                                                              \
        name, weft_read_given_number, FIELD(path), low, high, NULL                                 \
    }
#define PACKET(name, path, low)                                                                    \
    {                                                                                              \
        name, weft_read_given_packet, FIELD(path), low, 0, NULL                                    \
    }
#define BYTES(name, path)                                                                          \
    {                                                                                              \
        name, weft_read_given_bytes, FIELD(path), 0, 0, NULL                                       \
    }
#define TIME(name, path)                                                                           \
    {                                                                                              \
        name, weft_read_given_time, FIELD(path), 0, 0, NULL                                        \
    }
#define WORD(name, path, words)                                                                    \
    {                                                                                              \
        name, weft_read_given_word, FIELD(path), 0, 0, words                                       \
    }

// The first rows are of both engines; the row of the preset begins what only packets have.
enum { BOTH_ENGINES = 2 };
const struct weft_parameter weft_packet_parameters[WEFT_PACKET_PARAMETERS] = {
    WORD("engine", engine, engines),
    {"transport", read_transport, FIELD(transport), 0, 0, NULL},
    WORD("preset", preset, presets),
    {"mtu", read_mtu, FIELD(size.mtu), 1, 0, NULL},
    PACKET("header", size.header, 0),
    WORD("ack", host.ack, ack_words),
    WORD("host-queue", host.host_queue, queue_words),
    COUNT("initial-window", host.initial_window, 1, 1u << 20),
    BYTES("buffer", port.buffer),
    BYTES("ecn-kmin", port.ecn_kmin),
    WORD("mark-at", port.mark_at, mark_words),
    TIME("rto-min", host.rto_min),
    TIME("rto-first", host.rto_first),
    SWITCH("slow-start", host.slow_start),
    SWITCH("no-slow-start", host.no_slow_start),
    SWITCH("handshake", host.handshake),
    SWITCH("no-handshake", host.no_handshake),
    BYTES("ecn-kmax", port.ecn_kmax),
    NUMBER("ecn-pmax", port.ecn_pmax, 1e-9, 1),
    NUMBER("red", port.red_weight, 1e-9, 1),
    BYTES("lossless", port.lossless),
    SWITCH("trim", port.trim),
    SWITCH("ack-priority", port.ack_priority),
    PACKET("cut-through", port.cut_through, 1),
    COUNT("spray", spray.paths, 1, 256),
    WORD("spray-by", spray.by, spray_words),
    SWITCH("spray-hashed", spray.hashed),
    BYTES("xon", port.xon),
    BYTES("headroom", port.headroom),
    BYTES("control-bytes", port.control),
    SWITCH("persistent", connection.persistent),
    COUNT("connections", connection.count, 1, 1u << 16),
    SWITCH("idle-restart", connection.idle_restart),
    COUNT("restart-window", connection.restart_window, 1, 1u << 20),
    NUMBER("mltcp-slope", control.mltcp_slope, 0, 1000),
    NUMBER("mltcp-intercept", control.mltcp_intercept, 1e-3, 1000),
    SWITCH("mltcp-per-job", control.mltcp_per_job),
    {"dcqcn-timer", weft_read_times, FIELD(control.dcqcn_timer), 0, 0, NULL},
    {"dcqcn-step", weft_read_given_rate, FIELD(control.dcqcn_step), 0, 0, NULL},
    NUMBER("dctcp-gain", control.dctcp_gain, 1e-6, 1),
    SWITCH("dctcp-rfc", control.dctcp_rfc),
    TIME("target-delay", control.target_delay),
    COUNT("reorder", host.reorder, 1, 1u << 20),
    COUNT("window-limit", host.window_limit, 64, 1u << 24),
    PACKET("ack-bytes", size.ack, 1),
    SWITCH("early-drops", port.early_drops),
    NUMBER("link-loss", port.link_loss, 0, 1),
    COUNT("lossy-link", port.lossy_link, 0, 1u << 24),
    NUMBER("loss-bound", control.loss_bound, 0, 0.99),
    NUMBER("unimportant", control.unimportant, 0, 1),
    NUMBER("loss-budget", control.loss_budget, 0, 1),
    COUNT("layer-queues", control.layer_queues, 1, 7),
    COUNT("parts", partitions, 1, 16),
    SWITCH("skip", skip),
};

// ---- which engine ----

bool weft_request_plays_packets(const struct weft_request_packets *asked)
{
    return asked->transport.given ? asked->transport.value != WEFT_TRANSPORT_IDEAL
                                  : asked->engine.given && asked->engine.value == 1;
}

// Engine and transport: each says the other where that stands alone. Where neither is given, a plan
// that packets have evaluated is played in packets (*sim has its engine), all else as a fluid.
static bool choose_engine(struct weft_sim_options *sim, const struct weft_request_packets *request,
                          struct weft_error *error)
{
    bool planned = sim->engine == WEFT_ENGINE_PACKET && !request->transport.given;
    bool is_packet = request->engine.given ? request->engine.value == 1 : planned;
    sim->transport = is_packet ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_IDEAL;
    if (request->transport.given) {
        sim->transport = (enum weft_sim_transport)request->transport.value;
    }
    bool is_fluid = sim->transport == WEFT_TRANSPORT_IDEAL;
    if (request->engine.given && is_packet == is_fluid) {
        return is_packet
                   ? weft_fail(error, WEFT_USAGE,
                               "{engine=packet} needs a congestion control, not "
                               "{transport=ideal}; write for example dctcp")
                   : weft_fail(error, WEFT_USAGE,
                               "the flow engine is a fluid and has no %s; write {engine=packet}",
                               weft_transport_name(sim->transport));
    }
    sim->engine = is_fluid ? WEFT_ENGINE_FLOW : WEFT_ENGINE_PACKET;
    return true;
}

// Whether a row was given: a switch, or a value whose first member says so.
static bool is_given(const struct weft_request_packets *request, const struct weft_parameter *row)
{
    const void *field = (const char *)request + row->field;
    return row->read == weft_read_times ? ((const struct weft_time_list *)field)->count > 0
                                        : *(const bool *)field;
}

// What only packets have. A fluid may have a size of its packets, for what their headers take; and
// MLTCP's constants where its shares learn.
static bool refuse_packets(const struct weft_request_packets *request, bool learns,
                           struct weft_error *error)
{
    struct weft_request_packets left = *request;
    left.size.mtu.given = false;
    left.size.header.given = false;
    if (learns) {
        left.control.mltcp_slope.given = false;
        left.control.mltcp_intercept.given = false;
        left.control.mltcp_per_job = false;
    }
    for (size_t i = BOTH_ENGINES; i < WEFT_PACKET_PARAMETERS; i++) {
        if (is_given(&left, &weft_packet_parameters[i])) {
            return weft_fail(error, WEFT_USAGE, "{%s} is for packets; write {engine=packet}, too",
                             weft_packet_parameters[i].name);
        }
    }
    return true;
}

// ---- what is laid over the preset ----

static void take_count(uint32_t *count, struct weft_given_count given)
{
    *count = given.given ? given.value : *count;
}

static void take_bytes(uint64_t *size_bytes, struct weft_given_bytes given)
{
    *size_bytes = given.given ? given.value : *size_bytes;
}

static void take_time(uint64_t *time_ps, struct weft_given_time given)
{
    *time_ps = given.given ? given.ps : *time_ps;
}

static void take_number(double *number, struct weft_given_number given)
{
    *number = given.given ? given.value : *number;
}

// A parameter that means something beside another one only.
static bool check_with(bool given, const char *name, bool other_given, const char *other,
                       struct weft_error *error)
{
    return !given || other_given ||
           weft_fail(error, WEFT_USAGE, "{%s} goes with {%s}; write that, too", name, other);
}

// Whether two transports are one but for the scale of their growth.
static bool plays_as(enum weft_sim_transport transport, enum weft_sim_transport other)
{
    return weft_transport_entry(transport)->congestion == weft_transport_entry(other)->congestion;
}

// The constants of other transports than the one that plays. A snapshot's jobs that share by
// progress play the MLTCP of their transport (WEFT_LOAD_LEARNS).
static bool refuse_transports(const struct weft_request_packets *request,
                              enum weft_sim_transport transport, bool learns,
                              struct weft_error *error)
{
    const char *name = weft_transport_name(transport);
    bool has_mltcp = learns || weft_transport_entry(transport)->scales_growth;
    bool is_dctcp = plays_as(transport, WEFT_TRANSPORT_DCTCP);
    bool is_rate = plays_as(transport, WEFT_TRANSPORT_DCQCN);
    bool is_pfabric = transport == WEFT_TRANSPORT_PFABRIC;
    bool is_mlt = transport == WEFT_TRANSPORT_MLT;
    bool no_window = is_rate || is_pfabric || is_mlt || transport == WEFT_TRANSPORT_NSCC;
    bool no_slow_start =
        no_window || transport == WEFT_TRANSPORT_SWIFT || transport == WEFT_TRANSPORT_NDP;
    const struct weft_stated rows[] = {
        {!has_mltcp && request->control.mltcp_slope.given, "mltcp-slope"},
        {!has_mltcp && request->control.mltcp_intercept.given, "mltcp-intercept"},
        {!has_mltcp && request->control.mltcp_per_job, "mltcp-per-job"},
        {!is_rate && request->control.dcqcn_timer.count > 0, "dcqcn-timer"},
        {!is_rate && request->control.dcqcn_step.given, "dcqcn-step"},
        {!is_dctcp && request->control.dctcp_gain.given, "dctcp-gain"},
        {!is_dctcp && request->control.dctcp_rfc, "dctcp-rfc"},
        {(transport == WEFT_TRANSPORT_NDP || is_pfabric || is_mlt) && request->host.reorder.given,
         "reorder"},
        {!is_mlt && request->control.loss_bound.given, "loss-bound"},
        {!is_mlt && request->control.unimportant.given, "unimportant"},
        {!is_mlt && request->control.loss_budget.given, "loss-budget"},
        {!is_mlt && request->control.layer_queues.given, "layer-queues"},
        {is_mlt && request->host.rto_min.given, "rto-min"},
        {is_mlt && request->host.rto_first.given, "rto-first"},
        {is_mlt && request->host.window_limit.given, "window-limit"},
        {no_window && request->host.initial_window.given, "initial-window"},
        {no_slow_start && request->host.slow_start, "slow-start"},
        {no_slow_start && request->host.no_slow_start, "no-slow-start"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is nothing that %s has; leave it out", name);
}

// A switch and its opposite.
static bool take_switch(bool *on, bool yes, bool no, const char *name, struct weft_error *error)
{
    if (yes && no) {
        return weft_fail(error, WEFT_USAGE, "{%s} and {no-%s} exclude one another; write one", name,
                         name);
    }
    *on = (*on || yes) && !no;
    return true;
}

static bool take_host(struct weft_packet_options *packet,
                      const struct weft_request_packets *request, struct weft_error *error)
{
    packet->ack_at_once =
        request->host.ack.given ? request->host.ack.value == 0 : packet->ack_at_once;
    if (packet->ack_at_once && request->size.ack.given) {
        return weft_fail(error, WEFT_USAGE,
                         "{ack-bytes}: acknowledgements that are known at once have no size; write "
                         "{ack=network}, too");
    }
    packet->own_at_once =
        request->host.host_queue.given ? request->host.host_queue.value == 1 : packet->own_at_once;
    take_count(&packet->window.initial_packets, request->host.initial_window);
    take_time(&packet->loss.timeout_min_ps, request->host.rto_min);
    take_time(&packet->loss.timeout_first_ps, request->host.rto_first);
    take_count(&packet->loss.reorder_packets, request->host.reorder);
    take_count(&packet->window.limit_packets, request->host.window_limit);
    take_count(&packet->ack_bytes, request->size.ack);
    return take_switch(&packet->window.slow_start, request->host.slow_start,
                       request->host.no_slow_start, "slow-start", error) &&
           take_switch(&packet->handshake, request->host.handshake, request->host.no_handshake,
                       "handshake", error);
}

// Marks by chance: RED's ramp from ecn-kmin to ecn-kmax, of the queue or of its moving average.
static bool take_marking(struct weft_packet_options *packet,
                         const struct weft_request_packets *request, struct weft_error *error)
{
    struct weft_port_options *port = &packet->port;
    bool at_departure = request->port.mark_at.value == 1;
    take_bytes(&packet->mark_bytes, request->port.ecn_kmin);
    packet->mark_at_departure =
        request->port.mark_at.given ? at_departure : packet->mark_at_departure;
    if (!request->port.ecn_kmax.given) {
        bool chance = request->port.ecn_pmax.given;
        return (!chance && !request->port.red_weight.given) ||
               weft_fail(error, WEFT_USAGE, "{%s} needs {ecn-kmax}; write where all are marked",
                         chance ? "ecn-pmax" : "red");
    }
    port->marking = request->port.red_weight.given ? WEFT_MARK_RED : WEFT_MARK_RAMP;
    port->mark_max_ratio = 0.1;
    take_bytes(&port->mark_max_bytes, request->port.ecn_kmax);
    take_number(&port->mark_max_ratio, request->port.ecn_pmax);
    take_number(&port->average_weight, request->port.red_weight);
    return true;
}

// Links that lose packets by chance: all of them, or one.
static bool take_losses(struct weft_port_options *port, const struct weft_request_packets *request,
                        struct weft_error *error)
{
    port->loss_ratio = request->port.link_loss.given ? request->port.link_loss.value : 0;
    port->loss_link = WEFT_NONE;
    take_count(&port->loss_link, request->port.lossy_link);
    return check_with(request->port.lossy_link.given, "lossy-link", request->port.link_loss.given,
                      "link-loss", error);
}

// What ports do, and which paths packets take.
static bool take_ports(struct weft_packet_options *packet,
                       const struct weft_request_packets *request, struct weft_error *error)
{
    struct weft_port_options *port = &packet->port;
    bool lossless = request->port.lossless.given;
    if (!take_marking(packet, request, error) || !take_losses(port, request, error) ||
        !check_with(request->port.xon.given, "xon", lossless, "lossless", error) ||
        !check_with(request->spray.hashed, "spray-hashed", request->spray.paths.given, "spray",
                    error) ||
        !check_with(request->spray.by.given, "spray-by", request->spray.paths.given, "spray",
                    error) ||
        !check_with(request->port.early_drops, "early-drops", request->port.ecn_kmax.given,
                    "ecn-kmax", error) ||
        !check_with(request->port.headroom.given, "headroom", lossless, "lossless", error) ||
        !check_with(request->port.control.given, "control-bytes", request->port.trim, "trim",
                    error)) {
        return false;
    }
    take_bytes(&packet->buffer_bytes, request->port.buffer);
    take_bytes(&port->xoff_bytes, request->port.lossless);
    take_count(&port->cut_through_bytes, request->port.cut_through);
    take_count(&port->spray_paths, request->spray.paths);
    port->spray_by =
        request->spray.by.given ? (enum weft_spray)request->spray.by.value : port->spray_by;
    port->lossless = lossless;
    port->xon_bytes = port->xoff_bytes / 2;
    port->trims = request->port.trim;
    take_bytes(&port->xon_bytes, request->port.xon);
    take_bytes(&port->headroom_bytes, request->port.headroom);
    take_bytes(&port->control_bytes, request->port.control);
    port->spray_hashed = request->spray.hashed;
    port->early_drops = request->port.early_drops;
    port->control_weight = port->trims ? 10 : 0; // Handley et al., NDP, SIGCOMM 2017, section 3.1
    port->control_first |= request->port.ack_priority;
    return true;
}

void weft_request_mltcp(struct weft_mltcp_options *mltcp,
                        const struct weft_request_packets *request)
{
    mltcp->per_job = request->control.mltcp_per_job;
    take_number(&mltcp->slope, request->control.mltcp_slope);
    take_number(&mltcp->intercept, request->control.mltcp_intercept);
}

// Connections that jobs keep, and the constants of MLTCP and DCQCN.
static bool take_transport(struct weft_sim_options *sim, struct weft_packet_options *packet,
                           const struct weft_request_packets *request, struct weft_error *error)
{
    bool persistent = request->connection.persistent;
    if (!check_with(request->connection.count.given, "connections", persistent, "persistent",
                    error) ||
        !check_with(request->connection.idle_restart, "idle-restart", persistent, "persistent",
                    error) ||
        !check_with(request->connection.restart_window.given, "restart-window", persistent,
                    "persistent", error)) {
        return false;
    }
    sim->persistent = persistent;
    packet->window.idle_restart = request->connection.idle_restart;
    take_count(&packet->connection_count, request->connection.count);
    take_count(&packet->mltcp.restart_packets, request->connection.restart_window);
    weft_request_mltcp(&packet->mltcp, request);
    if (request->control.dcqcn_timer.count == 1) {
        packet->dcqcn.timer_ps = request->control.dcqcn_timer.ps[0];
    }
    if (request->control.dcqcn_step.given) {
        packet->dcqcn.step_Bps = request->control.dcqcn_step.Bps;
    }
    packet->dcqcn.hyper_step_Bps = 10 * packet->dcqcn.step_Bps;
    return true;
}

// DCTCP's constants, and the delays that Swift and NSCC keep to.
static bool take_signals(struct weft_sim_options *sim, struct weft_packet_options *packet,
                         const struct weft_request_packets *request, struct weft_error *error)
{
    bool rfc = request->control.dctcp_rfc;
    bool is_swift = sim->transport == WEFT_TRANSPORT_SWIFT;
    if (request->control.target_delay.given && !is_swift && sim->transport != WEFT_TRANSPORT_NSCC) {
        return weft_fail(error, WEFT_USAGE,
                         "{target-delay} is swift's and nscc's; write {transport=nscc}, too");
    }
    if (rfc && sim->dctcp.counts_acks) {
        return weft_fail(error, WEFT_USAGE,
                         "{dctcp-rfc} is not how the recorded simulator plays; write "
                         "{preset=plain}, too");
    }
    sim->dctcp.reduces_at_once = rfc;
    sim->dctcp.begins_marked = rfc;
    take_number(&sim->dctcp.gain, request->control.dctcp_gain);
    take_number(&packet->mlt.loss_bound, request->control.loss_bound);
    take_number(&packet->mlt.unimportant_ratio, request->control.unimportant);
    take_number(&packet->mlt.budget_ratio, request->control.loss_budget);
    take_count(&packet->mlt.queue_count, request->control.layer_queues);
    take_count(&packet->port.priority_count, request->control.layer_queues);
    take_time(is_swift ? &packet->swift.base_ps : &packet->nscc.target_ps,
              request->control.target_delay);
    return true;
}

// What a packet weighs: by the request, else by the preset, else as *sim had it.
static void take_sizes(struct weft_sim_options *sim, const struct weft_request_packets *request,
                       bool topoopt, uint64_t seed)
{
    bool is_packet = sim->engine == WEFT_ENGINE_PACKET;
    if (sim->packet_bytes == 0 && (is_packet || request->size.mtu.given)) {
        sim->packet_bytes = weft_request_task_packets(seed).packet_bytes;
        sim->header_bytes = weft_request_task_packets(seed).header_bytes;
    }
    if (topoopt && !request->size.mtu.given && !request->size.header.given) {
        sim->packet_bytes = WEFT_PACKET_TOPOOPT_BYTES;
        sim->header_bytes = 0;
    }
    take_count(&sim->packet_bytes, request->size.mtu);
    take_count(&sim->header_bytes, request->size.header);
}

// The ports and times that a transport's paper has, where they are not the preset's. PIAS: eight
// queues, marked by the port (Bai et al., 4.2 and 6). pFabric: a port holds twice the bandwidth
// times delay, 24 packets, and the timeout is 45 us (Alizadeh et al., 5.1). MLT: a path drawn for
// each packet, and STOP before data.
enum { MLT_PATHS = 16 };
static void take_paper(struct weft_packet_options *packet, enum weft_sim_transport transport,
                       uint32_t packet_bytes)
{
    if (transport == WEFT_TRANSPORT_PIAS) {
        packet->port.priority_count = WEFT_PIAS_THRESHOLDS + 1;
        packet->port.mark_by_port = true;
    } else if (transport == WEFT_TRANSPORT_PFABRIC) {
        packet->port.by_remaining = true;
        packet->port.control_first = true;
        packet->buffer_bytes = 24ull * packet_bytes;
        packet->loss.timeout_min_ps = 45000000;
    } else if (transport == WEFT_TRANSPORT_MLT) {
        packet->port.control_first = true;
        packet->port.spray_paths = MLT_PATHS;
        packet->port.spray_by = WEFT_SPRAY_CHANCE;
    }
}

bool weft_request_packets(struct weft_sim_options *sim, struct weft_packet_options *packet,
                          const struct weft_request_packets *request, unsigned load,
                          const struct weft_environment *environment)
{
    struct weft_error *error = environment->error;
    if (!choose_engine(sim, request, error)) {
        return false;
    }
    bool is_packet = sim->engine == WEFT_ENGINE_PACKET;
    if (!is_packet && !refuse_packets(request, (load & WEFT_LOAD_LEARNS) != 0, error)) {
        return false;
    }
    bool topoopt = (load & WEFT_LOAD_TASKGRAPH) != 0 && sim->transport == WEFT_TRANSPORT_DCTCP;
    topoopt = request->preset.given ? request->preset.value == WEFT_PRESET_TOPOOPT : topoopt;
    take_sizes(sim, request, topoopt, environment->seed);
    if (is_packet && sim->packet_bytes == 0) {
        return weft_fail(error, WEFT_INPUT, "{mtu}: '0' is not a whole number from 1 to %u",
                         UINT16_MAX);
    }
    sim->partitions.threads = environment->threads;
    sim->partitions.peers = request->peers;
    take_count(&sim->partitions.count, request->partitions);
    *packet = topoopt ? WEFT_PACKET_TOPOOPT : WEFT_PACKET_DEFAULTS;
    take_paper(packet, sim->transport, sim->packet_bytes);
    packet->skip = request->skip;
    sim->dctcp = topoopt ? WEFT_DCTCP_HTSIM : WEFT_DCTCP_DEFAULTS;
    sim->packet = packet;
    if (!is_packet) {
        return sim->packet_bytes > 0 ||
               check_with(request->size.header.given, "header", false, "mtu", error);
    }
    return refuse_transports(request, sim->transport, (load & WEFT_LOAD_LEARNS) != 0, error) &&
           (take_host(packet, request, error) && take_ports(packet, request, error) &&
            take_transport(sim, packet, request, error) &&
            take_signals(sim, packet, request, error));
}
