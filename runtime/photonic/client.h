// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_CLIENT_H
#define WEFT_RUNTIME_PHOTONIC_CLIENT_H

// Clients of an interface that answers: one that asks and waits, and one that asks at a rate.
//
//   address ──open──► [client] ──describe──► model ──ask──► answer
//                         └──────────load──────────► latencies, answers lost and wrong

#include "runtime/photonic/histogram.h"

#include "weft/photonics.h"

// ---- a client ----

struct weft_nic_client {
    int fd;
    uint64_t timeout_ns;
    uint32_t tries;
    uint32_t request;       // of the next
    uint32_t payload_bytes; // of one packet, by the path's MTU
    char address[24];
};
struct weft_nic_target {
    const char *address; // "198.18.0.2" or "198.18.0.2:4055"
    const char *netns;   // to ask from; NULL = the caller's own
    uint64_t timeout_ns; // of one try; 0 = 200 ms
    uint32_t tries;      // 0 = 5
};
// Numbers of requests begin at random, so that a late answer to another client is none to this one.
bool weft_nic_client_open(struct weft_nic_client *client, const struct weft_nic_target *target,
                          uint64_t seed, struct weft_error *error) WEFT_MUST_USE;
void weft_nic_client_close(struct weft_nic_client *client);

// What a request to that model needs: its head without request. Fails with IO where nobody
// answers, which is also so where there is no such model.
bool weft_nic_describe(struct weft_photonic_head *model, struct weft_nic_client *client,
                       uint32_t id, struct weft_error *error) WEFT_MUST_USE;

// The answer to one input of model->input_bytes, in fragments where it is longer than a packet.
// Its pointers hold until `payload`, room for WEFT_PHOTONIC_PAYLOAD_BYTES_MAX, is used again.
// latency_s: of the try that was answered.
struct weft_nic_reply {
    struct weft_photonic_answer answer;
    double latency_s;
    uint32_t tries;
    uint8_t *payload;
};
bool weft_nic_ask(struct weft_nic_reply *reply, struct weft_nic_client *client,
                  const struct weft_photonic_head *model, const uint8_t *input,
                  struct weft_error *error) WEFT_MUST_USE;

// ---- a load ----

struct weft_nic_load {
    const uint8_t *inputs; // [input_count][model.input_bytes], asked one after the other
    uint32_t input_count;
    struct weft_photonic_head model;
    uint64_t count;  // of requests
    double rate_hz;  // mean of an open loop with Poisson arrivals; 0 = a closed loop
    uint32_t window; // requests at once in a closed loop
    uint64_t seed;
    uint32_t retries; // of a request that is not answered in the client's time
    // What the network is made to do, ratios of packets: requests and answers lost, requests held
    // back behind later ones, requests sent twice.
    double loss, reorder, repeat;
    // What is right: class, shifts and sums of each input, as in an answer behind its head. NULL:
    // the first answer to an input is right.
    const uint8_t *expected; // [input_count][answer_bytes]
    uint32_t answer_bytes;
};
struct weft_nic_load_result {
    uint64_t sent; // packets with requests
    uint64_t answered;
    uint64_t lost;    // not answered in any try
    uint64_t wrong;   // answered otherwise than expected
    uint64_t late;    // answers to what was answered or given up
    uint64_t strange; // payloads that are no answer to this client
    uint64_t dropped; // packets that were made to be lost, of both directions
    uint64_t reordered;
    uint64_t repeated;
    double seconds;                    // from the first to the last
    struct weft_nic_histogram latency; // from the time that a request was meant to be sent
};
// O(count). `stop` ends it early.
bool weft_nic_load_run(struct weft_nic_load_result *result, struct weft_nic_client *client,
                       const struct weft_nic_load *load, weft_stop stop, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;

#endif
