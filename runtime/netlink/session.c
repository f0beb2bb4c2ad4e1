// SPDX-License-Identifier: Apache-2.0
// Sessions of rtnetlink: a socket of one namespace, and one acknowledged request at a time.
//
// Every request asks for an acknowledgment (NLM_F_ACK), so that what a later request builds on is
// there when the call returns, and a failure belongs to its request. NETLINK_EXT_ACK brings the
// kernel's own words. One round trip to the kernel a request.

#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Both sockets are opened in the namespace and stay there; acknowledgments come capped and with the
// kernel's words.
bool weft_netlink_open(struct weft_netlink *netlink, const char *netns, struct weft_error *error)
{
    int fd = -1;
    int control_fd = -1;
    *netlink = (struct weft_netlink){.control_fd = -1};
    if (!weft_netns_socket(&fd, netns, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, error)) {
        return false;
    }
    if (!weft_netns_socket(&control_fd, netns, AF_INET, SOCK_DGRAM, 0, error)) {
        close(fd);
        return false;
    }
    struct mnl_socket *socket = mnl_socket_fdopen(fd);
    int on = 1;
    if (socket == NULL || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_setsockopt(socket, NETLINK_EXT_ACK, &on, sizeof on) < 0 ||
        mnl_socket_setsockopt(socket, NETLINK_CAP_ACK, &on, sizeof on) < 0) {
        int number = errno;
        if (socket == NULL || mnl_socket_close(socket) != 0) {
            close(fd);
        }
        close(control_fd);
        return weft_netlink_refused(error, number, NULL, netns, "netlink socket");
    }
    netlink->socket = socket;
    netlink->control_fd = control_fd;
    if (netns != NULL) {
        snprintf(netlink->netns, sizeof netlink->netns, "%s", netns);
    }
    return true;
}

void weft_netlink_close(struct weft_netlink *netlink)
{
    if (netlink->socket != NULL) {
        mnl_socket_close(netlink->socket);
        close(netlink->control_fd);
        *netlink = (struct weft_netlink){.control_fd = -1};
    }
}

void *weft_request_begin(struct request *request, struct weft_netlink *netlink,
                         struct request_head head, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(request->what, sizeof request->what, what, arguments);
    va_end(arguments);
    request->netlink = netlink;
    request->absent = 0;
    request->header = mnl_nlmsg_put_header(request->data);
    request->header->nlmsg_type = head.type;
    request->header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | head.flags);
    request->header->nlmsg_seq = ++netlink->sequence;
    return mnl_nlmsg_put_extra_header(request->header, head.extra_bytes);
}

// The kernel's own words about a failure, or "".
static void read_words(char *words, size_t size, const struct nlmsghdr *header)
{
    const struct nlmsgerr *failure = mnl_nlmsg_get_payload(header);
    words[0] = '\0';
    if (!(header->nlmsg_flags & NLM_F_ACK_TLVS)) {
        return;
    }
    size_t before = sizeof *failure;
    if (!(header->nlmsg_flags & NLM_F_CAPPED)) {
        before += mnl_nlmsg_get_payload_len(&failure->msg);
    }
    const struct nlattr *attribute = NULL;
    WEFT_EACH_ATTRIBUTE(attribute, header, before)
    {
        if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG) {
            snprintf(words, size, "%s", mnl_attr_get_str(attribute));
        }
    }
}

// Reads until the answer: 0, or the errno it tells.
static int receive(struct request *request, mnl_cb_t take, void *context, char *words,
                   size_t words_size)
{
    _Alignas(8) char data[32768];
    struct weft_netlink *netlink = request->netlink;
    for (;;) {
        ssize_t got = mnl_socket_recvfrom(netlink->socket, data, sizeof data);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return errno;
        }
        int left = (int)got;
        for (struct nlmsghdr *header = (struct nlmsghdr *)(void *)data; mnl_nlmsg_ok(header, left);
             header = mnl_nlmsg_next(header, &left)) {
            if (header->nlmsg_seq != netlink->sequence) {
                continue;
            }
            if (header->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *failure = mnl_nlmsg_get_payload(header);
                read_words(words, words_size, header);
                return -failure->error;
            }
            if (header->nlmsg_type == NLMSG_DONE) {
                return 0;
            }
            if (take != NULL) {
                take(header, context);
            }
        }
    }
}

bool weft_request_send(struct request *request, mnl_cb_t take, void *context,
                       struct weft_error *error)
{
    char words[128] = "";
    struct weft_netlink *netlink = request->netlink;
    WEFT_ASSERT(request->header->nlmsg_len <= sizeof request->data);
    int number = 0;
    if (mnl_socket_sendto(netlink->socket, request->header, request->header->nlmsg_len) < 0) {
        number = errno;
    } else {
        number = receive(request, take, context, words, sizeof words);
    }
    if (number == 0 || (request->absent != 0 && number == request->absent)) {
        return true;
    }
    return weft_netlink_refused(error, number, words, netlink->netns, request->what);
}
