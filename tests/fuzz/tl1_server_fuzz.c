// SPDX-License-Identifier: Apache-2.0
// The TL1 server of the switch emulator, as a Calient and as a Polatis switch: whatever bytes a
// client sends, in pieces (0xff ends one), only one who has the password moves circuits, circuits
// stay a matching, every connection ends, and the next client is served.

#include "fuzz.h"

#include "runtime/ocs/emulator/emulator.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORTS = 8, TURNS_MAX = 200 };

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

// Reads what has come; the last bytes stay in `answer`, a zero behind them. False at the end.
static bool drain(int fd, char answer[256])
{
    char data[4096];
    ssize_t got = 0;
    while ((got = recv(fd, data, sizeof data, 0)) > 0) {
        if (answer != NULL) {
            snprintf(answer, 256, "%.*s", (int)(got < 255 ? got : 255), data);
        }
    }
    return got < 0 && errno == EAGAIN;
}

static void send_all(struct weft_ocs_emulation *self, const uint8_t *data, size_t size)
{
    int fd = connect_to(self);
    bool open = true;
    for (size_t at = 0; at < size && open;) {
        const uint8_t *mark = memchr(data + at, 0xff, size - at);
        size_t bytes = mark != NULL ? (size_t)(mark - data) - at : size - at;
        for (size_t sent = 0; sent < bytes && open;) {
            ssize_t put = send(fd, data + at + sent, bytes - sent, MSG_NOSIGNAL);
            open = put > 0 || (put < 0 && errno == EAGAIN);
            sent += put > 0 ? (size_t)put : 0;
            turn(self);
            open = drain(fd, NULL) && open;
        }
        at += bytes + 1;
    }
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < TURNS_MAX && weft_line_server_count(self->line_server) > 0; i++) {
        turn(self);
        drain(fd, NULL);
    }
    close(fd);
    for (int i = 0; i < TURNS_MAX && weft_line_server_count(self->line_server) > 0; i++) {
        turn(self);
    }
    WEFT_ASSERT(weft_line_server_count(self->line_server) == 0);
}

// In what was sent, pieces and quotes put together.
static bool has_password(const uint8_t *data, size_t size)
{
    char *sent = fuzz_string(data, size);
    size_t bytes = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0xff && data[i] != '\\') {
            sent[bytes++] = (char)data[i];
        }
    }
    bool found = memmem(sent, bytes, password, sizeof password - 1) != NULL;
    free(sent);
    return found;
}

// Another client, who has the password, is answered.
static void check_service(struct weft_ocs_emulation *self)
{
    static const char ask[] = "ACT-USER::admin:1::root;\nRTRV-NOTHING:::2:;";
    char answer[256] = "";
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
    send_all(&self, data, size);
    WEFT_ASSERT(weft_ocs_check_matching(self.core.reported, PORTS, desk.scratch, &error));
    if (!has_password(data, size)) {
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
