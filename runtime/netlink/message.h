// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_NETLINK_MESSAGE_H
#define WEFT_RUNTIME_NETLINK_MESSAGE_H

// Requests of netlink.h as messages: what its files share.
//
// A request is built in place, sent, and answered before the next one (session.c). It carries a
// text of what is asked for, which an answer that refuses is told with.

#include "netlink.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

// A request under way, with what it is for a person.
struct request {
    struct weft_netlink *netlink;
    struct nlmsghdr *header;
    char what[128];
    int absent; // an errno that counts as success, or 0
    _Alignas(8) char data[4096];
};

// How a request begins: RTM_*, NLM_F_* besides REQUEST and ACK, and the size of its family's
// header.
struct request_head {
    uint16_t type;
    uint16_t flags;
    size_t extra_bytes;
};
// Begins a request, named by `what` for messages; returns the family's header, zeroed.
void *weft_request_begin(struct request *request, struct weft_netlink *netlink,
                         struct request_head head, const char *what, ...) WEFT_PRINTF(4, 5);
// Sends it and waits for the kernel's answer; messages that come before go to `take`, if any.
bool weft_request_send(struct request *request, mnl_cb_t take, void *context,
                       struct weft_error *error) WEFT_MUST_USE;
// libmnl's loops narrow without a cast, which our warnings refuse.
static inline bool weft_attribute_fits(const struct nlattr *attribute, const void *end)
{
    return mnl_attr_ok(attribute, (int)((const char *)end - (const char *)attribute));
}
#define WEFT_EACH_ATTRIBUTE(attribute, header, offset)                                             \
    for ((attribute) = mnl_nlmsg_get_payload_offset((header), (offset));                           \
         weft_attribute_fits((attribute), mnl_nlmsg_get_payload_tail(header));                     \
         (attribute) = mnl_attr_next(attribute))
#define WEFT_EACH_NESTED(attribute, nest)                                                          \
    for ((attribute) = mnl_attr_get_payload(nest);                                                 \
         weft_attribute_fits((attribute), (const char *)mnl_attr_get_payload(nest) +               \
                                              mnl_attr_get_payload_len(nest));                     \
         (attribute) = mnl_attr_next(attribute))
// A failure of the operating system in one line, with its remedy.
bool weft_netlink_refused(struct weft_error *error, int number, const char *kernel_words,
                          const char *netns, const char *what);

#endif
