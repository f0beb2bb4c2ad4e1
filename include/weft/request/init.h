// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_INIT_H
#define WEFT_REQUEST_INIT_H

// A first cluster file, every key of which is explained beside it.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_init_request {
    uint32_t server_count;     // 0: WEFT_INIT_SERVERS
    const char *accelerator;   // a kind that Weft knows; NULL: the topology's, else "H100"
    uint32_t accelerators;     // of a server; 0: the topology's, else 8
    uint32_t degree;           // NIC ports of a server; 0: the topology's, else 8
    double rate_Bps;           // of each; 0: the topology's, else 400 Gbps
    const char *topology_path; // a server's NCCL topology (XML); NULL: none
};
enum { WEFT_INIT_SERVERS = 16 };

struct weft_init_result {
    struct weft_cluster cluster; // as the text reads back
    const char *text;            // YAML with comments
};

// "8x400G", "4x100Gbps": NIC ports of a server and the rate of each. Fails with INPUT.
bool weft_init_nics(struct weft_init_request *request, const char *text,
                    struct weft_request_environment *environment) WEFT_MUST_USE;
// Writes the file for what is requested. Fails with INPUT: a kind that Weft does not know, figures
// that no cluster has, a topology that cannot be read or states no NICs. O(length of the topology).
bool weft_request_init(struct weft_init_result *result, const struct weft_init_request *request,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.init/1".
const char *weft_request_init_json(const struct weft_init_result *result, struct weft_arena *arena);

WEFT_API_END

#endif
