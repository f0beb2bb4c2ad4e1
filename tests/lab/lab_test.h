// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_LAB_TEST_H
#define WEFT_TESTS_LAB_TEST_H

// What tests of the lab share: cmocka, and skipping where the machine does not permit namespaces.

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/netlink/netlink.h"

#include <stdlib.h>
#include <unistd.h>

#define must(call, error)                                                                          \
    do {                                                                                           \
        if (!(call)) {                                                                             \
            fail_msg("%s: %s", #call, (error)->message);                                           \
        }                                                                                          \
    } while (0)

// A name of this process's own: "weft-test<pid>-<what>", in a buffer of WEFT_NETNS_NAME_MAX.
static inline const char *own_name(char *buffer, const char *what)
{
    snprintf(buffer, WEFT_NETNS_NAME_MAX, "weft-test%d-%s", (int)getpid(), what);
    return buffer;
}

// Ends the program with 77 where namespaces cannot be made.
static inline void need_namespaces(void)
{
    char name[WEFT_NETNS_NAME_MAX];
    struct weft_error error = {0};
    struct weft_error ignored;
    bool made = weft_netns_create(own_name(name, "probe"), &error);
    if (!weft_netns_delete(name, &ignored) || !made) {
        printf("SKIP: %s\n", error.message);
        exit(77);
    }
}

#endif
