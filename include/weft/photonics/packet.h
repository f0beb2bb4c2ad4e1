// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_PACKET_H
#define WEFT_PHOTONICS_PACKET_H

// Requests and answers as UDP payloads: what a net is asked over a network, and what it says.
//
//   payload ──parse──► [request] ──responder──► engine ──► [answer] ──write──► payload
//
// Numbers are big endian, as in the headers before them. A head of 16 bytes opens every payload:
//
//   0  magic u16      0x574C
//   2  version u8     1
//   3  flags u8       1 answer, 2 fragment, 4 describe
//   4  model u16      its number in the table
//   6  layers u16     of the model: who does not know the model does not know them
//   8  request u32    chosen by the client
//   12 input u16      bytes of the whole input
//   14 exponent i8    an activation is byte * 2^exponent, a sum is sum * 2^exponent
//   15 pad u8         0
//
// A request goes on with its input. One that is longer than a packet goes as fragments, each with
// the head, offset u32 and some of the input. An answer goes on with class u16, h u8 of each layer
// (the highest set bit of its largest value) and sums i32 of the last one. A request to describe a
// model is a head alone, and so is its answer, with the model's layers and input.

#include "weft/photonics/models.h"

WEFT_API_BEGIN

enum {
    WEFT_PHOTONIC_PORT = 4055, // Lightning's converters take 4.055 Gsample/s
    WEFT_PHOTONIC_MAGIC = 0x574C,
    WEFT_PHOTONIC_VERSION = 1,
    WEFT_PHOTONIC_HEAD_BYTES = 16,
    WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES = 20,
    WEFT_PHOTONIC_CLASS_BYTES = 2,
    WEFT_PHOTONIC_INPUT_BYTES_MAX = 65535,
    // The longest payload of UDP over IPv4.
    WEFT_PHOTONIC_PAYLOAD_BYTES_MAX = 65507,
};
enum { WEFT_PHOTONIC_ANSWER = 1, WEFT_PHOTONIC_FRAGMENT = 2, WEFT_PHOTONIC_DESCRIBE = 4 };

// Why a payload is not answered, in the order in which it is looked at: hardware and software count
// the same reason.
enum weft_photonic_drop {
    WEFT_PHOTONIC_TAKEN = 0,
    WEFT_PHOTONIC_DROP_SHORT,    // shorter than its head
    WEFT_PHOTONIC_DROP_MAGIC,    // no request
    WEFT_PHOTONIC_DROP_VERSION,  // of another version
    WEFT_PHOTONIC_DROP_FLAGS,    // an answer, or a flag that there is not
    WEFT_PHOTONIC_DROP_PAD,      // not zero
    WEFT_PHOTONIC_DROP_MODEL,    // not in the table
    WEFT_PHOTONIC_DROP_LAYERS,   // not as many as the model has
    WEFT_PHOTONIC_DROP_INPUT,    // not as long as the model's
    WEFT_PHOTONIC_DROP_EXPONENT, // not zero, of a model with biases, which do not scale
    WEFT_PHOTONIC_DROP_LENGTH,   // payload longer or shorter than the head says
    WEFT_PHOTONIC_DROP_OVERLAP,  // a fragment over bytes that another one brought
    WEFT_PHOTONIC_DROP_TIMEOUT,  // a fragment of a request that was not completed
    WEFT_PHOTONIC_DROP_ROOM,     // a fragment, with no memory for another request
    WEFT_PHOTONIC_DROP_ENGINE,   // what computes has failed
    WEFT_PHOTONIC_DROPS,         // how many
};
// One word for each: "magic".
const char *weft_photonic_drop_name(enum weft_photonic_drop drop);

struct weft_photonic_head {
    uint32_t flags;
    uint32_t model;
    uint32_t layers;
    uint32_t request;
    uint32_t input_bytes;
    int32_t exponent;
};
void weft_photonic_head_write(uint8_t bytes[WEFT_PHOTONIC_HEAD_BYTES],
                              const struct weft_photonic_head *head);
// Looks at magic, version and pad, too. O(1).
enum weft_photonic_drop weft_photonic_head_read(struct weft_photonic_head *head,
                                                const uint8_t *bytes, size_t size);

// A request that fits its model; data points into the payload.
struct weft_photonic_request {
    struct weft_photonic_head head;
    const struct weft_photonic_model *model;
    uint32_t offset; // of a fragment; 0 of a whole request
    uint32_t bytes;  // of data; 0 of a request to describe
    const uint8_t *data;
};
// Anything but TAKEN leaves the request undefined. O(models).
enum weft_photonic_drop weft_photonic_request_read(struct weft_photonic_request *request,
                                                   const uint8_t *payload, size_t size,
                                                   const struct weft_photonic_models *models);

struct weft_photonic_answer {
    struct weft_photonic_head head;
    uint32_t class_index;
    const uint8_t *highest; // [head.layers], in the payload
    uint32_t sum_count;
    const uint8_t *sums; // big endian, in the payload; weft_photonic_answer_sum reads one
};
// Writes class, shifts and sums behind the head; bytes has room for weft_photonic_answer_bytes.
// `head` is that of the request.
struct weft_photonic_outcome {
    uint32_t class_index;
    uint32_t sum_count;
    const int32_t *sums;
    const uint8_t *highest; // [head.layers]
};
size_t weft_photonic_answer_write(uint8_t *bytes, const struct weft_photonic_head *head,
                                  const struct weft_photonic_outcome *outcome);
// False: no answer, or one that does not hold together: a class beyond the sums, or one that is
// not of the largest sum. O(sums).
bool weft_photonic_answer_read(struct weft_photonic_answer *answer, const uint8_t *payload,
                               size_t size) WEFT_MUST_USE;
int32_t weft_photonic_answer_sum(const struct weft_photonic_answer *answer, uint32_t index);

WEFT_API_END

#endif
