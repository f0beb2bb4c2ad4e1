// SPDX-License-Identifier: Apache-2.0
// Frames of an interface that answers: any bytes are a request or are counted, a payload lies
// within its frame, and the frame that answers is one that the asking host takes: its checksums are
// right, and addresses and ports are those of the request, turned round.

#include "fuzz.h"

#include "runtime/photonic/frame.h"

static const struct weft_nic_place place = {
    .mac = {2, 0, 0, 0, 0, 1}, .address = 0xC6120002, .port = 4055};

static void check_answer(const uint8_t *frame, const struct weft_nic_datagram *asked)
{
    enum { PAYLOAD = 37 };
    uint8_t answer[WEFT_NIC_HEADERS_BYTES + PAYLOAD];
    struct weft_nic_place host = {.address = asked->address, .port = asked->port};
    struct weft_nic_datagram read;
    memcpy(host.mac, frame + 6, sizeof host.mac);
    memcpy(answer + WEFT_NIC_HEADERS_BYTES, frame, PAYLOAD);
    WEFT_ASSERT(weft_nic_frame_answer(answer, PAYLOAD, frame, 7) == sizeof answer);
    WEFT_ASSERT(weft_nic_frame_read(&read, answer, sizeof answer, &host, true) ==
                WEFT_NIC_FRAME_REQUEST);
    WEFT_ASSERT(read.address == place.address && read.port == place.port);
    WEFT_ASSERT(read.size == PAYLOAD && memcmp(read.payload, frame, PAYLOAD) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int verify = 0; verify < 2; verify++) {
        struct weft_nic_datagram datagram;
        const enum weft_nic_frame_kind kind =
            weft_nic_frame_read(&datagram, data, size, &place, verify == 1);
        WEFT_ASSERT(kind < WEFT_NIC_FRAME_KINDS && weft_nic_frame_name(kind)[0] != '\0');
        if (kind == WEFT_NIC_FRAME_REQUEST) {
            WEFT_ASSERT(datagram.payload >= data + WEFT_NIC_HEADERS_BYTES);
            WEFT_ASSERT(datagram.size <= size - (size_t)(datagram.payload - data));
            check_answer(data, &datagram);
        }
    }
    return 0;
}
