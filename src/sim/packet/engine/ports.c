// SPDX-License-Identifier: Apache-2.0
// The ports of a run: their options are checked before it, their queues are laid out at its
// beginning, and what happened at each is counted at its end.
//
// Here every combination that has no meaning is refused with a message that says what to leave out,
// so that the loop (queue.c, pause.c, mark.c) need not look at options that contradict each other.

#include "engine.h"

#include <math.h>

static bool fail_port(struct weft_error *error, const char *message)
{
    return weft_fail(error, WEFT_INPUT, "ports: %s", message);
}

// Marks by chance need a ramp that rises, and a chance and weight in (0, 1]. RED decides when a
// packet enters, by its average of that moment, so that it cannot mark at departure.
static bool check_marking(const struct weft_packet_options *options, struct weft_error *error)
{
    const struct weft_port_options *port = &options->port;
    if (port->marking == WEFT_MARK_STEP) {
        return !port->early_drops ||
               fail_port(error, "early drops need marks by chance; choose a ramp or RED");
    }
    if (port->mark_max_bytes <= options->mark_bytes) {
        return weft_fail(
            error, WEFT_INPUT, "ports: marks by chance from %llu bytes to %llu; write a larger end",
            (unsigned long long)options->mark_bytes, (unsigned long long)port->mark_max_bytes);
    }
    if (!(port->mark_max_ratio > 0 && port->mark_max_ratio <= 1)) {
        return weft_fail(error, WEFT_INPUT, "ports: marks with a chance of %g; write one in (0, 1]",
                         port->mark_max_ratio);
    }
    if (port->marking != WEFT_MARK_RED) {
        return true;
    }
    if (!(port->average_weight > 0 && port->average_weight <= 1)) {
        return weft_fail(error, WEFT_INPUT, "ports: an average of weight %g; write one in (0, 1]",
                         port->average_weight);
    }
    return !options->mark_at_departure ||
           fail_port(error, "RED decides when a packet enters; leave marks at departure out");
}

static bool check_lossless(const struct weft_packet_options *options, struct weft_error *error)
{
    const struct weft_port_options *port = &options->port;
    if (!port->lossless) {
        return true;
    }
    if (port->trims) {
        return fail_port(error, "lossless ports have nothing to trim; choose one of them");
    }
    if (port->early_drops) {
        return fail_port(error, "lossless ports do not drop early; let them mark");
    }
    if (port->xoff_bytes == 0 || port->xon_bytes > port->xoff_bytes) {
        return weft_fail(error, WEFT_INPUT,
                         "ports: pauses from %llu bytes to %llu; write a first above 0 and a "
                         "second that is not larger",
                         (unsigned long long)port->xoff_bytes, (unsigned long long)port->xon_bytes);
    }
    return true;
}

// Ports by remaining bytes order one band of data, and lose what they hold.
static bool check_remaining(const struct weft_packet_options *options, struct weft_error *error)
{
    const struct weft_port_options *port = &options->port;
    if (!port->by_remaining) {
        return true;
    }
    if (port->priority_count > 1) {
        return fail_port(error, "what messages have left is their priority; leave others out");
    }
    if (port->trims || port->lossless || options->mark_at_departure) {
        return fail_port(error, "ports by what messages have left lose packets that wait; leave "
                                "trimming, pauses and marks at departure out");
    }
    return port->control_first ||
           fail_port(error, "by what messages have left, acknowledgements go first; say so");
}

static bool check_losses(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_port_options *port = &options->packet->port;
    if (!(port->loss_ratio >= 0 && port->loss_ratio <= 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "ports: links that lose a share of %g; write one from 0 to 1",
                         port->loss_ratio);
    }
    if (port->loss_ratio > 0 && options->circuits != NULL) {
        return fail_port(error, "circuits that change lose nothing by chance; leave one out");
    }
    return true;
}

bool packet_ports_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_packet_options *packet = options->packet;
    const struct weft_port_options *port = &packet->port;
    uint32_t most = PORT_BANDS_MAX - (port->control_first || port->trims);
    if (port->priority_count > most) {
        return weft_fail(error, WEFT_INPUT, "ports: %u priorities; write at most %u",
                         port->priority_count, most);
    }
    if (port->control_weight > 0 && !port->control_first && !port->trims) {
        return fail_port(error, "a weight for packets of control that do not go first");
    }
    if (port->cut_through_bytes > 0 && packet->mark_at_departure) {
        return fail_port(error, "cut-through has sent a packet's head on before it departs; "
                                "leave marks at departure out");
    }
    if (port->control_bytes > 0 && (!port->trims || port->control_bytes < options->header_bytes)) {
        return fail_port(error, "bytes for headers need ports that trim, and room for one");
    }
    if (port->trims && packet->mark_at_departure) {
        return fail_port(error, "what is trimmed leaves its place; leave marks at departure out");
    }
    if (port->spray_paths > SPRAY_PATHS_MAX) {
        return weft_fail(error, WEFT_INPUT, "ports: %u paths of a flow; write at most %u",
                         port->spray_paths, SPRAY_PATHS_MAX);
    }
    return check_marking(packet, error) && check_lossless(packet, error) &&
           check_remaining(packet, error) && check_losses(options, error);
}

bool packet_ports_check_priorities(const struct weft_sim_options *options, uint32_t count,
                                   struct weft_error *error)
{
    const struct weft_port_options *port = &options->packet->port;
    uint32_t priorities = port->priority_count > 0 ? port->priority_count : 1;
    for (uint32_t i = 0; port->priority != NULL && i < count; i++) {
        if (port->priority[i] >= priorities) {
            return weft_fail(error, WEFT_INPUT,
                             "ports: number %u has priority %u of %u; write one from 0 on, and "
                             "below",
                             i, port->priority[i], priorities);
        }
    }
    return true;
}

bool packet_ports_check_flows(const struct weft_sim_options *options, uint64_t flows,
                              uint32_t hop_max, struct weft_error *error)
{
    uint32_t paths = options->packet->port.spray_paths;
    uint64_t links = 1 + 2 * (uint64_t)(paths > 1 ? paths : 1) * (hop_max + 1);
    if (flows * links < UINT32_MAX) {
        return true;
    }
    return weft_fail(error, WEFT_INPUT,
                     "%llu flows with %u paths of %u links are more than one run holds; give them "
                     "fewer paths",
                     (unsigned long long)flows, paths, hop_max);
}

// What a link still brings after a pause frame was sent: what is in flight there and back, the
// frame itself, a packet that its sender has begun, and the one that was too much.
static uint64_t headroom_bytes(const struct packet_engine *engine, uint32_t link_id)
{
    const struct packet_link *link = &engine->links[link_id];
    double flight_bytes = 2 * (double)link->latency_ps / link->ps_per_byte;
    return (uint64_t)ceil(flight_bytes) + 64 + 3ull * engine->setting.packet_bytes;
}

static bool needs_queues(const struct weft_port_options *port)
{
    return port->queued || port->priority_count > 1 || port->control_first || port->trims ||
           port->lossless;
}

// Queues for every link, with one band for each priority and one more for packets of control where
// those go first; without losses also what each node may hold of each link, which is the threshold
// of a pause and the headroom above it.
static void lay_out_queues(struct packet_engine *engine, uint32_t link_count,
                           struct weft_arena *arena)
{
    struct packet_ports *ports = &engine->ports;
    const struct weft_port_options *options = ports->options;
    bool control = options->control_first || options->trims;
    ports->band_count = (options->priority_count > 0 ? options->priority_count : 1) + control;
    size_t band_count = (size_t)link_count * ports->band_count;
    WEFT_ASSERT(link_count < PORT_LINKS_MAX);
    ports->queues = WEFT_NEW(arena, struct packet_port, link_count);
    ports->bands = WEFT_NEW(arena, struct packet_band, band_count);
    for (size_t i = 0; i < band_count; i++) {
        ports->bands[i].first = WEFT_NONE;
        ports->bands[i].last = WEFT_NONE;
    }
    if (!options->lossless) {
        return;
    }
    ports->holds = WEFT_NEW(arena, struct packet_hold, band_count);
    ports->circle = WEFT_NEW_RAW(arena, uint32_t, link_count);
    for (size_t i = 0; i < band_count; i++) {
        uint64_t headroom = options->headroom_bytes;
        if (headroom == 0) {
            headroom = headroom_bytes(engine, (uint32_t)(i / ports->band_count));
        }
        ports->holds[i].limit_bytes = options->xoff_bytes + headroom;
    }
}

// Lays out only what the options need: a NULL array is how the loop sees that a feature is off, and
// are_extended sends packets past the shortest path through packet_enter.
void packet_ports_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                       const struct weft_sim_options *options, struct weft_arena *arena)
{
    const struct weft_port_options *port = &options->packet->port;
    struct packet_ports *ports = &engine->ports;
    *ports = (struct packet_ports){
        .options = port, .fabric = fabric, .band_count = 1, .seed = weft_hash(options->seed)};
    if (needs_queues(port)) {
        lay_out_queues(engine, fabric->link_count, arena);
    }
    if (options->packet->mark_at_departure) {
        size_t count = (size_t)fabric->link_count * ports->band_count;
        engine->lines = WEFT_NEW_RAW(arena, struct packet_line, count);
        for (size_t i = 0; i < count; i++) {
            engine->lines[i] = (struct packet_line){WEFT_NONE, WEFT_NONE, WEFT_NONE, 0};
        }
    }
    if (port->marking == WEFT_MARK_RED) {
        ports->averages = WEFT_NEW(arena, struct packet_average, fabric->link_count);
    }
    if (port->cut_through_bytes > 0) {
        ports->cuts_through = WEFT_NEW(arena, bool, fabric->link_count);
        for (uint32_t link = 0; link < fabric->link_count; link++) {
            ports->cuts_through[link] = fabric->links[link].to >= fabric->server_count;
        }
    }
    ports->is_lossy = port->loss_ratio > 0;
    ports->are_extended = engine->mlts != NULL || ports->queues != NULL ||
                          ports->cuts_through != NULL || port->marking != WEFT_MARK_STEP;
}

// ---- results ----

bool packet_engine_check(const struct packet_engine *engine, struct weft_error *error)
{
    if (!engine->is_stuck) {
        return true;
    }
    const struct packet_ports *ports = &engine->ports;
    if (engine->mlts != NULL) {
        return weft_fail(error, WEFT_INFEASIBLE, "mlt: %s; take links that carry something",
                         engine->mlts->given_up.message);
    }
    const struct weft_fabric *fabric = ports->fabric;
    char nodes[320];
    size_t length = 0;
    for (uint32_t i = 0; i <= ports->circle_count && length < sizeof(nodes) - 24; i++) {
        uint32_t node = fabric->links[ports->circle[i % ports->circle_count]].from;
        bool server = node < fabric->server_count;
        int written = snprintf(&nodes[length], sizeof(nodes) - length, "%s%s %u",
                               i > 0 ? " > " : "", server ? "server" : "switch", node);
        length += (size_t)written;
    }
    return weft_fail(error, WEFT_INFEASIBLE,
                     "packets stop for good after %.9g s: %u lossless ports wait for each other in "
                     "a circle, %s; take routes without circles, or ports that drop",
                     weft_seconds(engine->clock.now_ps), ports->circle_count, nodes);
}

const struct weft_port_counts *packet_engine_ports(const struct packet_engine *engine,
                                                   struct weft_arena *arena)
{
    const struct packet_ports *ports = &engine->ports;
    uint32_t count = ports->fabric->link_count;
    struct weft_port_counts *counts = WEFT_NEW(arena, struct weft_port_counts, count);
    for (uint32_t l = 0; l < count; l++) {
        const struct packet_link *link = &engine->links[l];
        counts[l].drops = link->drops;
        counts[l].marks = link->marks;
        counts[l].backlog_max_bytes =
            (uint64_t)((double)link->backlog_max_ps / link->ps_per_byte + 0.5);
        if (ports->queues != NULL) {
            counts[l].trims = ports->queues[l].trims;
            counts[l].pauses = ports->queues[l].pauses;
            counts[l].paused_ps = ports->queues[l].paused_ps;
        }
    }
    return counts;
}
