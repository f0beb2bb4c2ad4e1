// SPDX-License-Identifier: Apache-2.0
// The TL1 server of the switch emulator, as a Calient and as a Polatis switch: whatever bytes a
// client sends, in pieces (0xff ends one), only one who has the password moves circuits, circuits
// stay a matching, every connection ends, and the next client is served.

#include "stranger.h"

enum { PORTS = 8 };

static const char password[] = "root";

static void turn(struct weft_ocs_emulation *self)
{
    struct weft_error error;
    WEFT_ASSERT(weft_line_server_turn(self->line_server, 0, &error));
}

static int connect_to(struct weft_ocs_emulation *self)
{
    int ends[2];
    WEFT_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    weft_line_server_add(self->line_server, ends[1]);
    return ends[0];
}

static uint32_t clients(const struct weft_ocs_emulation *self)
{
    return weft_line_server_count(self->line_server);
}

static const struct fuzz_server server = {turn, connect_to, clients};

// Another client, who has the password, is answered.
static void check_service(struct weft_ocs_emulation *self)
{
    static const char ask[] = "ACT-USER::admin:1::root;\nRTRV-NOTHING:::2:;";
    char answer[ANSWER_BYTES] = "";
    int fd = connect_to(self);
    WEFT_ASSERT(send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == (ssize_t)sizeof ask - 1);
    for (int i = 0; i < TURNS_MAX && strstr(answer, "M  2 DENY") == NULL; i++) {
        turn(self);
        drain(fd, answer);
    }
    WEFT_ASSERT(strstr(answer, "M  1 COMPLD") != NULL && strstr(answer, "ICNV") != NULL);
    close(fd);
}

static void try_protocol(enum weft_ocs_protocol protocol, const uint8_t *data, size_t size)
{
    const struct weft_ocs_emulator options = {.protocol = protocol,
                                              .port_count = PORTS,
                                              .fault = {.port = WEFT_NONE},
                                              .user = "admin",
                                              .password = password};
    struct fuzz_desk desk;
    struct weft_ocs_emulation self;
    struct weft_ocs_core_answer answer;
    struct weft_error error;
    uint32_t outputs[PORTS];
    fuzz_open(&desk);
    WEFT_ASSERT(weft_ocs_emulation_open(&self, &options, &error));
    self.line_service.refusal_ms = 0;
    for (uint32_t i = 0; i < PORTS; i++) {
        outputs[i] = PORTS - 1 - i;
        self.provisioned[i] = outputs[i];
    }
    WEFT_ASSERT(weft_ocs_core_change(&self.core, &answer, outputs, desk.scratch, &error));
    send_all(&self, &server, data, size);
    WEFT_ASSERT(weft_ocs_check_matching(self.core.reported, PORTS, desk.scratch, &error));
    if (!has_password(data, size, password, "\xff\\")) {
        WEFT_ASSERT(memcmp(outputs, self.core.reported, sizeof outputs) == 0);
    }
    check_service(&self);
    weft_ocs_emulation_close(&self);
    fuzz_close(&desk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_protocol(WEFT_OCS_TL1_CALIENT, data, size);
    try_protocol(WEFT_OCS_TL1_POLATIS, data, size);
    return 0;
}
