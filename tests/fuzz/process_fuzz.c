// SPDX-License-Identifier: Apache-2.0
// What a peer says to its coordinator, a coordinator to a peer, and strangers to both ends of the
// handshake: any bytes are a message that was due, or one line of complaint, within a moment. Both
// ends of an honest handshake agree on what was asked for.

#include "fuzz.h"

#include "runtime/process/private.h"

#include <sys/un.h>
#include <unistd.h>

enum { ITEM_BYTES = 24 };

static const struct lab_key key = {{1, 2, 3}};

// Two ends of a connection: the other end has said `data`, and no more will come.
static int hear(const uint8_t *data, size_t size)
{
    int ends[2];
    WEFT_ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    bool sent = lab_send_all(ends[1], data, size < 65536 ? size : 65536);
    (void)sent;
    shutdown(ends[1], SHUT_WR);
    close(ends[1]);
    return ends[0];
}

static void be_coordinator(const uint8_t *data, size_t size)
{
    struct weft_error error;
    struct lab_coordinator coordinator = {.count = 1,
                                          .timeout_ms = 1000,
                                          .at_once = true,
                                          .peers = calloc(1, sizeof(struct lab_peer_record))};
    char items[ITEM_BYTES];
    coordinator.peers[0].control = hear(data, size);
    if (!lab_coordinator_gather(&coordinator, LAB_MESSAGE_RESULT, items, sizeof items, &error)) {
        WEFT_ASSERT(error.code >= WEFT_INFEASIBLE && error.code <= WEFT_STOPPED);
        fuzz_check_line(&error);
    }
    WEFT_ASSERT(coordinator.peers[0].pending_room <= sizeof(struct lab_head) + LAB_MESSAGE_MAX);
    lab_coordinator_close(&coordinator);
}

static void be_peer(const uint8_t *data, size_t size)
{
    struct weft_error error;
    struct lab_peer self = {.rank = 0, .count = 1, .control = hear(data, size)};
    char item[ITEM_BYTES];
    if (!lab_peer_receive(&self, LAB_MESSAGE_GO, item, sizeof item, &error) &&
        error.code != WEFT_OK) {
        WEFT_ASSERT(error.code == WEFT_IO);
        fuzz_check_line(&error);
    }
    close(self.control);
}

// A listener that the kernel gives a name.
static int listen_somewhere(struct sockaddr_un *address, socklen_t *length)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    WEFT_ASSERT(bind(listener, (struct sockaddr *)address, sizeof(sa_family_t)) == 0);
    *length = sizeof *address;
    WEFT_ASSERT(getsockname(listener, (struct sockaddr *)address, length) == 0);
    WEFT_ASSERT(listen(listener, 4) == 0);
    return listener;
}

// A stranger gets no seat, whatever it says; then an honest guest gets what the bytes ask for.
static void be_host(const uint8_t *data, size_t size)
{
    struct sockaddr_un address;
    socklen_t length;
    struct lab_gate gate;
    struct weft_error error;
    struct lab_guest guest;
    struct lab_wish wish = {0};
    memcpy(&wish, data, size < sizeof wish ? size : sizeof wish);
    WEFT_ASSERT(lab_gate_open(&gate, listen_somewhere(&address, &length), &key, &error));
    int stranger = socket(AF_UNIX, SOCK_STREAM, 0);
    WEFT_ASSERT(connect(stranger, (struct sockaddr *)&address, length) == 0);
    WEFT_ASSERT(!lab_gate_look(&gate, &guest));
    ssize_t ignored = send(stranger, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    WEFT_ASSERT(!lab_gate_look(&gate, &guest));
    struct lab_knock knock;
    int honest = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    enum lab_knock_state state =
        lab_knock_begin(&knock, honest, (struct sockaddr *)&address, length, &wish);
    for (int turn = 0; turn < 8 && state == LAB_KNOCK_WAITS; turn++) {
        if (lab_gate_look(&gate, &guest)) {
            WEFT_ASSERT(memcmp(&guest.claim.wish, &wish, sizeof wish) == 0);
            WEFT_ASSERT(lab_gate_admit(&gate, &guest, key.bytes));
            close(guest.socket);
        }
        state = lab_knock_look(&knock, &key);
    }
    WEFT_ASSERT(state == LAB_KNOCK_STANDS);
    WEFT_ASSERT(memcmp(knock.welcome.nonce, key.bytes, sizeof key.bytes) == 0);
    close(honest);
    close(stranger);
    lab_gate_close(&gate);
}

// Who does not know the key is no host, whatever it answers.
static void be_guest(const uint8_t *data, size_t size)
{
    struct sockaddr_un address;
    socklen_t length;
    int listener = listen_somewhere(&address, &length);
    const struct lab_wish wish = {LAB_WISH_SEAT, 1, 2};
    struct lab_knock knock;
    int guest = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    enum lab_knock_state state =
        lab_knock_begin(&knock, guest, (struct sockaddr *)&address, length, &wish);
    int host = accept(listener, NULL, NULL);
    ssize_t ignored = send(host, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    shutdown(host, SHUT_WR);
    for (int turn = 0; turn < 8 && state == LAB_KNOCK_WAITS; turn++) {
        state = lab_knock_look(&knock, &key);
    }
    WEFT_ASSERT(state == LAB_KNOCK_CLOSED || state == LAB_KNOCK_FOREIGN);
    close(host);
    close(guest);
    close(listener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const sides[])(const uint8_t *, size_t) = {be_coordinator, be_peer, be_host,
                                                             be_guest};
    if (size > 0) {
        sides[data[0] % 4](data + 1, size - 1);
    }
    return 0;
}
