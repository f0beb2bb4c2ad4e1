// SPDX-License-Identifier: Apache-2.0
// Requests and answers between values and payloads. A payload may come from anybody: every length
// is compared before a byte is read, and what a head says is believed only as far as the model
// says the same. The order of checks is that of enum weft_photonic_drop, which the hardware's
// parser keeps, too.

#include "weft/photonics/packet.h"

#include "bytes.h"

#include <string.h>

const char *weft_photonic_drop_name(enum weft_photonic_drop drop)
{
    static const char *const names[WEFT_PHOTONIC_DROPS] = {
        [WEFT_PHOTONIC_TAKEN] = "none",           [WEFT_PHOTONIC_DROP_SHORT] = "short",
        [WEFT_PHOTONIC_DROP_MAGIC] = "magic",     [WEFT_PHOTONIC_DROP_VERSION] = "version",
        [WEFT_PHOTONIC_DROP_FLAGS] = "flags",     [WEFT_PHOTONIC_DROP_PAD] = "pad",
        [WEFT_PHOTONIC_DROP_MODEL] = "model",     [WEFT_PHOTONIC_DROP_LAYERS] = "layers",
        [WEFT_PHOTONIC_DROP_INPUT] = "input",     [WEFT_PHOTONIC_DROP_EXPONENT] = "exponent",
        [WEFT_PHOTONIC_DROP_LENGTH] = "length",   [WEFT_PHOTONIC_DROP_OVERLAP] = "overlap",
        [WEFT_PHOTONIC_DROP_TIMEOUT] = "timeout", [WEFT_PHOTONIC_DROP_ROOM] = "room",
        [WEFT_PHOTONIC_DROP_ENGINE] = "engine",
    };
    WEFT_ASSERT(drop < WEFT_PHOTONIC_DROPS);
    return names[drop];
}

// ---- the head ----

void weft_photonic_head_write(uint8_t bytes[WEFT_PHOTONIC_HEAD_BYTES],
                              const struct weft_photonic_head *head)
{
    put16(bytes, WEFT_PHOTONIC_MAGIC);
    bytes[2] = WEFT_PHOTONIC_VERSION;
    bytes[3] = (uint8_t)head->flags;
    put16(bytes + 4, head->model);
    put16(bytes + 6, head->layers);
    put32(bytes + 8, head->request);
    put16(bytes + 12, head->input_bytes);
    bytes[14] = (uint8_t)head->exponent;
    bytes[15] = 0;
}

enum weft_photonic_drop weft_photonic_head_read(struct weft_photonic_head *head,
                                                const uint8_t *bytes, size_t size)
{
    if (size < WEFT_PHOTONIC_HEAD_BYTES) {
        return WEFT_PHOTONIC_DROP_SHORT;
    }
    if (get16(bytes) != WEFT_PHOTONIC_MAGIC) {
        return WEFT_PHOTONIC_DROP_MAGIC;
    }
    if (bytes[2] != WEFT_PHOTONIC_VERSION) {
        return WEFT_PHOTONIC_DROP_VERSION;
    }
    *head = (struct weft_photonic_head){
        .flags = bytes[3],
        .model = get16(bytes + 4),
        .layers = get16(bytes + 6),
        .request = get32(bytes + 8),
        .input_bytes = get16(bytes + 12),
        .exponent = (int8_t)bytes[14],
    };
    return WEFT_PHOTONIC_TAKEN;
}

// ---- requests ----

// What of the payload is input, and where in the whole it stands.
static enum weft_photonic_drop find_data(struct weft_photonic_request *request,
                                         const uint8_t *payload, size_t size)
{
    const uint32_t whole = request->head.input_bytes;
    if (request->head.flags == WEFT_PHOTONIC_DESCRIBE) {
        return size == WEFT_PHOTONIC_HEAD_BYTES ? WEFT_PHOTONIC_TAKEN : WEFT_PHOTONIC_DROP_LENGTH;
    }
    if (request->head.flags == 0) {
        request->data = payload + WEFT_PHOTONIC_HEAD_BYTES;
        request->bytes = whole;
        return size == (size_t)WEFT_PHOTONIC_HEAD_BYTES + whole ? WEFT_PHOTONIC_TAKEN
                                                                : WEFT_PHOTONIC_DROP_LENGTH;
    }
    const size_t bytes = size - WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES;
    request->offset = get32(payload + WEFT_PHOTONIC_HEAD_BYTES);
    if (bytes > whole || request->offset > whole - bytes) {
        return WEFT_PHOTONIC_DROP_LENGTH;
    }
    request->data = payload + WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES;
    request->bytes = (uint32_t)bytes;
    return WEFT_PHOTONIC_TAKEN;
}

// Whether a head is one that a request of this kind has.
static enum weft_photonic_drop check_model(const struct weft_photonic_request *request)
{
    const struct weft_photonic_head *head = &request->head;
    const struct weft_photonic_model *model = request->model;
    if (model == NULL) {
        return WEFT_PHOTONIC_DROP_MODEL;
    }
    const bool describes = head->flags == WEFT_PHOTONIC_DESCRIBE;
    if (head->layers != (describes ? 0 : model->program.row_count)) {
        return WEFT_PHOTONIC_DROP_LAYERS;
    }
    if (head->input_bytes != (describes ? 0 : model->input_bytes)) {
        return WEFT_PHOTONIC_DROP_INPUT;
    }
    return head->exponent != 0 && (describes || model->has_biases) ? WEFT_PHOTONIC_DROP_EXPONENT
                                                                   : WEFT_PHOTONIC_TAKEN;
}

enum weft_photonic_drop weft_photonic_request_read(struct weft_photonic_request *request,
                                                   const uint8_t *payload, size_t size,
                                                   const struct weft_photonic_models *models)
{
    *request = (struct weft_photonic_request){0};
    enum weft_photonic_drop drop = weft_photonic_head_read(&request->head, payload, size);
    if (drop != WEFT_PHOTONIC_TAKEN) {
        return drop;
    }
    const uint32_t flags = request->head.flags;
    if (flags != 0 && flags != WEFT_PHOTONIC_FRAGMENT && flags != WEFT_PHOTONIC_DESCRIBE) {
        return WEFT_PHOTONIC_DROP_FLAGS;
    }
    if (payload[15] != 0) {
        return WEFT_PHOTONIC_DROP_PAD;
    }
    if (flags == WEFT_PHOTONIC_FRAGMENT && size <= WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES) {
        return WEFT_PHOTONIC_DROP_SHORT;
    }
    request->model = weft_photonic_models_find(models, request->head.model);
    drop = check_model(request);
    return drop != WEFT_PHOTONIC_TAKEN ? drop : find_data(request, payload, size);
}

// ---- answers ----

size_t weft_photonic_answer_write(uint8_t *bytes, const struct weft_photonic_head *head,
                                  const struct weft_photonic_outcome *outcome)
{
    struct weft_photonic_head answer = *head;
    answer.flags = WEFT_PHOTONIC_ANSWER;
    weft_photonic_head_write(bytes, &answer);
    uint8_t *next = bytes + WEFT_PHOTONIC_HEAD_BYTES;
    put16(next, outcome->class_index);
    next += WEFT_PHOTONIC_CLASS_BYTES;
    memcpy(next, outcome->highest, head->layers);
    next += head->layers;
    for (uint32_t i = 0; i < outcome->sum_count; i++) {
        put32(next, (uint32_t)outcome->sums[i]);
        next += 4;
    }
    return (size_t)(next - bytes);
}

int32_t weft_photonic_answer_sum(const struct weft_photonic_answer *answer, uint32_t index)
{
    WEFT_ASSERT(index < answer->sum_count);
    return (int32_t)get32(answer->sums + (size_t)4 * index);
}

bool weft_photonic_answer_read(struct weft_photonic_answer *answer, const uint8_t *payload,
                               size_t size)
{
    struct weft_photonic_answer found = {0};
    if (weft_photonic_head_read(&found.head, payload, size) != WEFT_PHOTONIC_TAKEN ||
        payload[15] != 0 || found.head.flags != WEFT_PHOTONIC_ANSWER) {
        return false;
    }
    const size_t fixed =
        (size_t)WEFT_PHOTONIC_HEAD_BYTES + WEFT_PHOTONIC_CLASS_BYTES + found.head.layers;
    if (size < fixed + 4 || (size - fixed) % 4 != 0) {
        return false;
    }
    found.class_index = get16(payload + WEFT_PHOTONIC_HEAD_BYTES);
    found.highest = payload + WEFT_PHOTONIC_HEAD_BYTES + WEFT_PHOTONIC_CLASS_BYTES;
    found.sums = payload + fixed;
    found.sum_count = (uint32_t)((size - fixed) / 4);
    uint32_t largest = 0;
    for (uint32_t i = 1; i < found.sum_count; i++) {
        if (weft_photonic_answer_sum(&found, i) > weft_photonic_answer_sum(&found, largest)) {
            largest = i;
        }
    }
    *answer = found;
    return found.class_index == largest;
}
