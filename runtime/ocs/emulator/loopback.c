// SPDX-License-Identifier: Apache-2.0
// The port of an emulated switch: of the loopback address alone (loopback.h).

#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

uint16_t weft_loopback_listen(int *listener, uint16_t port, struct weft_error *error)
{
    struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t size = sizeof own;
    const int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&own, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &size) != 0) {
        weft_fail(error, WEFT_IO, "port %u: %s", port, strerrordesc_np(errno));
        if (fd >= 0) {
            close(fd);
        }
        return 0;
    }
    *listener = fd;
    return ntohs(own.sin_port);
}
