// SPDX-License-Identifier: Apache-2.0
// What a run with circuits that change cannot have beside them, and the parts that messages go in.

#include "circuits.h"

bool sim_circuits_check(const struct weft_fabric *fabric, const struct weft_sim_options *options,
                        struct weft_error *error)
{
    if (options->circuits == NULL) {
        return true;
    }
    if (fabric->server_count > UINT16_MAX / 2) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change join at most %u servers; the fabric has %u",
                         UINT16_MAX / 2, fabric->server_count);
    }
    if (options->packet->port.spray_paths > 1 || options->partitions.count > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change take one path a pair and one partition");
    }
    const struct weft_port_options *port = &options->packet->port;
    if (port->queued || port->priority_count > 1 || port->control_first || port->trims ||
        port->lossless || port->cut_through_bytes > 0 || options->packet->mark_at_departure) {
        return weft_fail(error, WEFT_INPUT,
                         "circuits that change take ports first come, first served, that store "
                         "and forward and mark on arrival");
    }
    if (options->persistent || options->fluid.learns) {
        return weft_fail(error, WEFT_INPUT,
                         "connections do not persist over circuits that change; let each message "
                         "open its own");
    }
    return true;
}

uint32_t sim_circuits_part_max(const struct weft_fabric *fabric,
                               const struct weft_sim_options *options, uint32_t parts)
{
    return options->circuits == NULL ? parts : fabric->node_count > fabric->server_count ? 2 : 1;
}
