// SPDX-License-Identifier: Apache-2.0
// What the packet engine cannot play is refused before it begins: packets without a size, buffers
// that hold none, links that take too long for one, messages of more packets than 32 bits number.
// The engine itself then only asserts, since nothing in its loop can fail for its input's sake.

#include "engine.h"
#include "sim/transports.h"

// A packet takes less on every link: sums of times stay far from the end of simulated time.
#define SERIAL_MAX_PS ((double)(10 * WEFT_PS_PER_S))
// Packets of a message: sequence numbers and windows have 32 bits.
#define MESSAGE_PACKETS_MAX 0x1p31

static bool check_sizes(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_packet_options *packet = options->packet;
    if (options->packet_bytes == 0) {
        return weft_fail(error, WEFT_INPUT, "the packet engine moves packets; give them a size");
    }
    if (options->packet_bytes > UINT16_MAX || packet->ack_bytes > UINT16_MAX) {
        return weft_fail(error, WEFT_INPUT, "packets of %u bytes; the packet engine has up to %u",
                         options->packet_bytes > UINT16_MAX ? options->packet_bytes
                                                            : packet->ack_bytes,
                         UINT16_MAX);
    }
    if (packet->buffer_bytes < options->packet_bytes) {
        return weft_fail(error, WEFT_INPUT,
                         "a buffer of %llu bytes holds no packet of %u; give the ports more",
                         (unsigned long long)packet->buffer_bytes, options->packet_bytes);
    }
    return true;
}

static bool check_ends(const struct weft_packet_options *packet, struct weft_error *error)
{
    uint32_t limit = packet->window.limit_packets;
    if (packet->window.initial_packets == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "an initial window of 0 packets never sends one; write at least 1");
    }
    if (limit < 64 || (limit & (limit - 1)) != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "a window limit of %u packets; write a power of two from 64 on", limit);
    }
    if (packet->loss.timeout_min_ps == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "a timeout of 0 sends again for ever; write for example 1ms");
    }
    if (packet->loss.timeout_min_ps > 1000 * WEFT_PS_PER_S ||
        packet->loss.timeout_first_ps > 1000 * WEFT_PS_PER_S) {
        return weft_fail(error, WEFT_INPUT, "a timeout of more than 1000 s; write for example 1ms");
    }
    return true;
}

static bool check_transport(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_transport_entry *transport = weft_transport_entry(options->transport);
    if (options->persistent && options->packet->connection_count == 0) {
        return weft_fail(error, WEFT_INPUT, "a pair has 0 connections; write 1 or more");
    }
    if (transport->demotes && options->persistent) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: it counts the bytes of each message; leave persistent ones out",
                         transport->name);
    }
    if (transport->scales_growth && !weft_mltcp_check(&options->packet->mltcp, error)) {
        return false;
    }
    WEFT_ASSERT(transport->congestion->state_bytes <= PACKET_CONGESTION_STATE_BYTES);
    return transport->congestion->check == NULL || transport->congestion->check(options, error);
}

// A steady state is skipped where all that changes in it are instants and packets' numbers.
static bool check_skip(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_packet_options *packet = options->packet;
    const struct weft_port_options *port = &packet->port;
    const struct weft_transport_entry *transport = weft_transport_entry(options->transport);
    bool has_queues = port->queued || port->priority_count > 1 || port->control_first ||
                      port->trims || port->lossless;
    const struct {
        bool is_there;
        const char *what;
    } rows[] = {
        {options->persistent, "persistent connections"},
        {options->partitions.count > 1, "partitions"},
        {options->circuits != NULL, "circuits that change"},
        {options->records.sample_ps > 0, "series of samples"},
        {packet->mark_at_departure, "marks at departure (the preset plain marks at arrival)"},
        {port->marking == WEFT_MARK_RED, "RED"},
        {port->spray_paths > 1, "spraying"},
        {has_queues, "ports with queues (priorities, trimming, pauses)"},
        {transport->scales_growth, "MLTCP"},
        {transport->congestion->ends != NULL, transport->name},
    };
    for (size_t i = 0; packet->skip && i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].is_there) {
            return weft_fail(error, WEFT_INPUT,
                             "steady states cannot be skipped with %s; leave one of them out",
                             rows[i].what);
        }
    }
    return true;
}

bool packet_check_options(const struct weft_sim_options *options, struct weft_error *error)
{
    if (options->transport == WEFT_TRANSPORT_IDEAL) {
        return weft_fail(error, WEFT_INPUT,
                         "the packet engine needs a congestion control; choose a transport");
    }
    return check_sizes(options, error) && check_ends(options->packet, error) &&
           check_transport(options, error) && packet_ports_check(options, error) &&
           check_skip(options, error);
}

bool packet_check_fabric(const struct weft_fabric *fabric, const struct weft_sim_options *options,
                         struct weft_error *error)
{
    if (fabric->link_count >= PORT_LINKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u links are more than the packet engine plays",
                         fabric->link_count);
    }
    const struct weft_port_options *port = &options->packet->port;
    if (port->loss_ratio > 0 && port->loss_link != WEFT_NONE &&
        port->loss_link >= fabric->link_count) {
        return weft_fail(error, WEFT_INPUT, "lossy link %u of %u; write one below", port->loss_link,
                         fabric->link_count);
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (options->packet_bytes / link->rate_Bps * (double)WEFT_PS_PER_S > SERIAL_MAX_PS) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u: a packet of %u bytes takes more than 10 s; use a faster one",
                             l, options->packet_bytes);
        }
        uint64_t buffer_bytes = packet_buffer_bytes(fabric, l, options);
        if (buffer_bytes < options->packet_bytes) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u from node %u to node %u: a buffer of %llu bytes holds no "
                             "packet of %u; give the ports more",
                             l, link->from, link->to, (unsigned long long)buffer_bytes,
                             options->packet_bytes);
        }
    }
    return true;
}

bool packet_check_message(double wire_bytes, const struct weft_sim_options *options,
                          struct weft_error *error)
{
    if (wire_bytes / options->packet_bytes < MESSAGE_PACKETS_MAX) {
        return true;
    }
    return weft_fail(error, WEFT_INPUT,
                     "%.3g bytes are more packets of %u than one message can have; split it",
                     wire_bytes, options->packet_bytes);
}
