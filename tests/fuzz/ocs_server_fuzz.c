// SPDX-License-Identifier: Apache-2.0
// The HTTP server of the switch emulator: whatever bytes a client sends, in pieces (0xff ends one),
// only one who has the password moves circuits, circuits stay a matching, every connection ends,
// and the next client is served.
//
// Seen to fail on corpus/ocs_server/stranger_deletes when refuse() was left out.

#include "runtime/ocs/yang.h"
#include "stranger.h"

#include <arpa/inet.h>
enum { PORTS = 8 };

// admin:root without what padding may hide.
static const char password[] = "YWRtaW46cm9vd";

static const struct weft_ocs_emulator options = {
    .port_count = PORTS, .user = "admin", .password = "root"};

static void turn(struct weft_ocs_emulation *self)
{
    struct weft_error error;
    WEFT_ASSERT(weft_http_server_turn(self->server, 0, &error));
}

static int connect_to(struct weft_ocs_emulation *self)
{
    int ends[2];
    WEFT_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    weft_http_server_add(self->server, ends[1], htonl(INADDR_LOOPBACK));
    return ends[0];
}

static uint32_t clients(const struct weft_ocs_emulation *self)
{
    return weft_http_server_count(self->server);
}

static const struct fuzz_server server = {turn, connect_to, clients};

// Another client, who has the password, is answered.
static void check_service(struct weft_ocs_emulation *self)
{
    static const char ask[] = "GET " WEFT_YANG_ROOT "cross-connects HTTP/1.1\r\nHost: a\r\n"
                              "Authorization: Basic YWRtaW46cm9vdA==\r\n\r\n";
    char answer[ANSWER_BYTES] = "";
    int fd = connect_to(self);
    WEFT_ASSERT(send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == (ssize_t)sizeof ask - 1);
    for (int i = 0; i < TURNS_MAX && answer[0] == '\0'; i++) {
        turn(self);
        drain(fd, answer);
    }
    WEFT_ASSERT(strncmp(answer, "HTTP/1.1 200 OK\r\n", 17) == 0);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct weft_ocs_emulation self;
    struct weft_error error;
    uint32_t outputs[PORTS];
    uint32_t after[PORTS];
    fuzz_open(&desk);
    WEFT_ASSERT(weft_ocs_emulation_open(&self, &options, &error));
    self.service.refusal_ms = 0;
    for (uint32_t i = 0; i < PORTS; i++) {
        outputs[i] = PORTS - 1 - i;
    }
    struct weft_ocs_core_answer answer;
    WEFT_ASSERT(weft_ocs_core_change(&self.core, &answer, outputs, desk.scratch, &error));
    send_all(&self, &server, data, size);
    memcpy(after, self.core.reported, sizeof after);
    WEFT_ASSERT(weft_ocs_check_matching(after, PORTS, desk.scratch, &error));
    if (!has_password(data, size, password, "\xff")) {
        WEFT_ASSERT(memcmp(outputs, after, sizeof after) == 0);
    }
    check_service(&self);
    weft_ocs_emulation_close(&self);
    fuzz_close(&desk);
    return 0;
}
