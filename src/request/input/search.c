// SPDX-License-Identifier: Apache-2.0
// How a request searches, and the packets by which what it finds is played.

#include "weft/request.h"

struct weft_topology_options weft_request_topology_options(const struct weft_request_search *search)
{
    return (struct weft_topology_options){
        .method = search->method,
        .simplex = search->simplex,
        .seconds = search->seconds,
    };
}

double weft_request_deadline_s(const struct weft_request_search *search)
{
    // A search takes its steps in about half of the seconds asked for on the machine of
    // docs/house.md, so that only one four times slower, or busy, is cut by the clock.
    return search->timed ? 2 * search->seconds : 0;
}

struct weft_sim_options weft_request_task_packets(uint64_t seed)
{
    return (struct weft_sim_options){
        .packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = true, .seed = seed};
}
