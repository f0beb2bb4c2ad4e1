// SPDX-License-Identifier: Apache-2.0
// What the operating system refused, in one line with its remedy.
//
// All of runtime/netlink says failures in one form: namespace, what was asked, the kernel's reason,
// what to do. Lacking support or permission is UNSUPPORTED, everything else IO.

#include "message.h"

#include <errno.h>
#include <string.h>

static const char *remedy_of(int number)
{
    switch (number) {
    case EPERM:
    case EACCES:
        return "; run as root";
    case EEXIST:
        return "; the name is taken: weft lab down removes what a killed run left";
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
        return "; this kernel lacks it";
    case ENODEV:
        return "; the link is gone: weft lab down, then weft lab up";
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return "; the machine is full: use fewer hosts, or raise its limits";
    default:
        return "";
    }
}

bool weft_netlink_refused(struct weft_error *error, int number, const char *kernel_words,
                          const char *netns, const char *what)
{
    bool lacks = number == EPERM || number == EACCES || number == EOPNOTSUPP ||
                 number == EPROTONOSUPPORT || number == EAFNOSUPPORT;
    bool named = netns != NULL && netns[0] != '\0';
    bool words = kernel_words != NULL && kernel_words[0] != '\0';
    return weft_fail(error, lacks ? WEFT_UNSUPPORTED : WEFT_IO, "%s%s%s: %s%s%.120s%s%s",
                     named ? netns : "", named ? ": " : "", what, strerrordesc_np(number),
                     words ? " (" : "", words ? kernel_words : "", words ? ")" : "",
                     remedy_of(number));
}
