// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PROCESS_CONNECTIONS_H
#define WEFT_RUNTIME_PROCESS_CONNECTIONS_H

// The TCP connections between peers, each of which carries data in one direction.
//
//   peers + streams ──► [connections] ──► collective/exec, job/worker
//
// A stream is a numbered connection from one rank to another. All peers know the same list of
// streams; each opens those that leave it and takes those that come to it.

#include "coordinator.h"

struct lab_stream {
    uint32_t from; // rank
    uint32_t to;
    // Addresses (host order) to connect to and from; 0 = what the rendezvous knows, and any.
    uint32_t to_ip;
    uint32_t from_ip;
};

struct lab_connection_options {
    const char *congestion; // of TCP; NULL = the system's
    uint32_t buffer_bytes;  // of a socket, each way; 0 = the system's
    uint32_t unsent_bytes;  // TCP_NOTSENT_LOWAT; 0 = the system's
    bool zero_copy;
    uint32_t own_ip; // where the peer is reached unless a stream says so; 0 = 127.0.0.1
};

struct lab_connections {
    uint32_t stream_count;
    const struct lab_stream *streams;
    int *sockets; // by stream; -1 = none of this peer's. Non-blocking.
};

// What TCP counted, of all of a peer's streams that leave it.
struct lab_tcp_counts {
    uint64_t segments;
    uint64_t retransmits;
    uint64_t ecn_marks; // segments that were acknowledged with an echo of a mark
};

// Where a peer is reached.
struct lab_place {
    uint32_t ip; // host order
    uint32_t port;
};
// Tells the coordinator the own place and hears those of all peers, by rank. Fails with IO.
bool lab_connections_exchange(struct lab_place *table, struct lab_peer *self,
                              const struct lab_place *own, struct weft_error *error) WEFT_MUST_USE;

// Says hello to the coordinator, hears the table of peers, connects all streams and waits for GO.
// Fails with IO, naming the peer: nobody listens, nobody answers within the timeout, a stranger
// calls.
bool lab_connections_open(struct lab_connections *connections, struct lab_peer *self,
                          const struct lab_stream *streams, uint32_t stream_count,
                          const struct lab_connection_options *options, struct weft_error *error)
    WEFT_MUST_USE;
void lab_connections_close(struct lab_connections *connections);
void lab_connections_counts(struct lab_tcp_counts *counts,
                            const struct lab_connections *connections, uint32_t rank);
// The coordinator's part of lab_connections_open, up to but without GO.
bool lab_connections_introduce(struct lab_coordinator *coordinator, struct weft_error *error)
    WEFT_MUST_USE;

#endif
