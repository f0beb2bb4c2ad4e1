// SPDX-License-Identifier: Apache-2.0
// Messages between values and bytes. Bytes may come from anybody: every length is compared before a
// byte is read, fields that a kind has not must be zero, so that each message has one spelling, and
// control is believed only with the MAC that the run's key gives for its bytes.

#include "weft/mlt.h"

#include "bytes.h"

#include <string.h>

const char *weft_mlt_drop_name(enum weft_mlt_drop drop)
{
    static const char *const names[WEFT_MLT_DROPS] = {
        [WEFT_MLT_READ] = "none",        [WEFT_MLT_DROP_SHORT] = "short",
        [WEFT_MLT_DROP_MAGIC] = "magic", [WEFT_MLT_DROP_VERSION] = "version",
        [WEFT_MLT_DROP_KIND] = "kind",   [WEFT_MLT_DROP_LENGTH] = "length",
        [WEFT_MLT_DROP_FIELD] = "field", [WEFT_MLT_DROP_FORGED] = "forged",
    };
    WEFT_ASSERT(drop < WEFT_MLT_DROPS);
    return names[drop];
}

// What a kind has behind the head, without data and MAC.
static size_t body_bytes(enum weft_mlt_kind kind)
{
    static const uint8_t bodies[WEFT_MLT_KINDS] = {
        [WEFT_MLT_DATA] = 8,
        [WEFT_MLT_PROBE] = 4,
        [WEFT_MLT_BITMAP] = 8,
        [WEFT_MLT_REPORT] = 16,
    };
    return bodies[kind];
}

static size_t mac_bytes(enum weft_mlt_kind kind)
{
    return kind == WEFT_MLT_DATA ? 0 : WEFT_MLT_MAC_BYTES;
}

size_t weft_mlt_message_bytes(const struct weft_mlt_message *message)
{
    WEFT_ASSERT(message->kind > WEFT_MLT_NONE && message->kind < WEFT_MLT_KINDS);
    return WEFT_MLT_HEAD_BYTES + body_bytes(message->kind) + message->data_bytes +
           mac_bytes(message->kind);
}

static void write_body(uint8_t *body, const struct weft_mlt_message *message)
{
    switch (message->kind) {
    case WEFT_MLT_DATA:
        put(body, message->layer, 2);
        put(body + 2, message->important ? 1 : 0, 2);
        put(body + 4, message->data_bytes, 4);
        break;
    case WEFT_MLT_BITMAP:
        put(body + 4, message->count, 4);
        put(body, message->round, 4);
        break;
    case WEFT_MLT_PROBE:
        put(body, message->round, 4);
        break;
    case WEFT_MLT_REPORT:
        put(body, message->received, 8);
        put(body + 8, message->marked, 8);
        break;
    case WEFT_MLT_NONE:
    case WEFT_MLT_STOP:
    case WEFT_MLT_KINDS:
        break;
    }
}

size_t weft_mlt_message_write(uint8_t *bytes, const struct weft_mlt_message *message,
                              const struct weft_mlt_key *key)
{
    const size_t size = weft_mlt_message_bytes(message);
    WEFT_ASSERT(size <= WEFT_MLT_MESSAGE_BYTES_MAX && message->layer <= UINT16_MAX);
    put(bytes, WEFT_MLT_MAGIC, 2);
    bytes[2] = WEFT_MLT_VERSION;
    bytes[3] = (uint8_t)message->kind;
    put(bytes + 4, message->epoch, 4);
    put(bytes + 8, message->tensor, 4);
    put(bytes + 12, message->segment, 4);
    put(bytes + 16, message->cookie, 8);
    write_body(bytes + WEFT_MLT_HEAD_BYTES, message);
    if (message->data != NULL) {
        memcpy(bytes + WEFT_MLT_HEAD_BYTES + body_bytes(message->kind), message->data,
               message->data_bytes);
    }
    if (message->kind != WEFT_MLT_DATA) {
        key->compute(bytes + size - WEFT_MLT_MAC_BYTES, bytes, size - WEFT_MLT_MAC_BYTES,
                     key->secret);
    }
    return size;
}

// Reads what stands between head and MAC. False: a field is out of its range.
static bool read_body(struct weft_mlt_message *message, const uint8_t *body)
{
    switch (message->kind) {
    case WEFT_MLT_DATA:
        message->layer = (uint32_t)get(body, 2);
        message->important = body[2] == 1;
        return body[2] <= 1 && body[3] == 0 && message->data_bytes > 0;
    case WEFT_MLT_PROBE:
        message->round = get32(body);
        return message->segment % 8 == 0;
    case WEFT_MLT_BITMAP:
        message->round = get32(body);
        // Bits behind the last segment are zero.
        return message->segment % 8 == 0 && message->count > 0 &&
               message->count <= UINT32_MAX - message->segment &&
               (message->count % 8 == 0 ||
                message->data[message->data_bytes - 1] >> message->count % 8 == 0);
    case WEFT_MLT_STOP:
        return message->segment == 0;
    case WEFT_MLT_REPORT:
        message->received = get(body, 8);
        message->marked = get(body + 8, 8);
        return message->segment == 0 && message->tensor == 0 &&
               message->marked <= message->received;
    case WEFT_MLT_NONE:
    case WEFT_MLT_KINDS:
        break;
    }
    return false;
}

// Compares all bytes, so that the time says nothing of how many were right.
static bool is_authentic(const uint8_t *bytes, size_t size, const struct weft_mlt_key *key)
{
    uint8_t mac[WEFT_MLT_MAC_BYTES];
    const size_t covered = size - WEFT_MLT_MAC_BYTES;
    uint8_t different = 0;
    key->compute(mac, bytes, covered, key->secret);
    for (size_t i = 0; i < WEFT_MLT_MAC_BYTES; i++) {
        different = (uint8_t)(different | (mac[i] ^ bytes[covered + i]));
    }
    return different == 0;
}

// The length that the head and its body's own count say. The fixed part is there.
static bool has_length(struct weft_mlt_message *message, const uint8_t *bytes, size_t size)
{
    const uint8_t *body = bytes + WEFT_MLT_HEAD_BYTES;
    size_t data_bytes = 0;
    if (message->kind == WEFT_MLT_DATA) {
        data_bytes = get32(body + 4);
    } else if (message->kind == WEFT_MLT_BITMAP) {
        message->count = get32(body + 4);
        data_bytes = weft_mlt_bitmap_bytes(message->count);
    }
    message->data_bytes = (uint32_t)data_bytes;
    message->data = data_bytes > 0 ? body + body_bytes(message->kind) : NULL;
    return size <= WEFT_MLT_MESSAGE_BYTES_MAX && size == WEFT_MLT_HEAD_BYTES +
                                                             body_bytes(message->kind) +
                                                             data_bytes + mac_bytes(message->kind);
}

enum weft_mlt_drop weft_mlt_message_read(struct weft_mlt_message *message, const uint8_t *bytes,
                                         size_t size, const struct weft_mlt_key *key)
{
    if (size < WEFT_MLT_HEAD_BYTES) {
        return WEFT_MLT_DROP_SHORT;
    }
    if (get(bytes, 2) != WEFT_MLT_MAGIC) {
        return WEFT_MLT_DROP_MAGIC;
    }
    if (bytes[2] != WEFT_MLT_VERSION) {
        return WEFT_MLT_DROP_VERSION;
    }
    if (bytes[3] == WEFT_MLT_NONE || bytes[3] >= WEFT_MLT_KINDS) {
        return WEFT_MLT_DROP_KIND;
    }
    *message = (struct weft_mlt_message){
        .kind = (enum weft_mlt_kind)bytes[3],
        .epoch = get32(bytes + 4),
        .tensor = get32(bytes + 8),
        .segment = get32(bytes + 12),
        .cookie = get(bytes + 16, 8),
    };
    const size_t fixed = WEFT_MLT_HEAD_BYTES + body_bytes(message->kind) + mac_bytes(message->kind);
    if (size < fixed || !has_length(message, bytes, size)) {
        return WEFT_MLT_DROP_LENGTH;
    }
    if (!read_body(message, bytes + WEFT_MLT_HEAD_BYTES)) {
        return WEFT_MLT_DROP_FIELD;
    }
    return message->kind != WEFT_MLT_DATA && !is_authentic(bytes, size, key) ? WEFT_MLT_DROP_FORGED
                                                                             : WEFT_MLT_READ;
}
