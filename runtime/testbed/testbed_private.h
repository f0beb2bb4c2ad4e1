// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TESTBED_TESTBED_PRIVATE_H
#define WEFT_RUNTIME_TESTBED_TESTBED_PRIVATE_H

// What the files of the testbed share: the remedy that messages name, a plane's circuits in the
// form that drivers of switches take, and the clock by which its steps are timed. Everything else
// of a lab is in testbed.h, because experiments use it as well.

#include "testbed.h"

// "weft lab down" or "weft lab down --name NAME".
const char *weft_lab_remedy(char buffer[WEFT_NETNS_NAME_MAX], const char *name);
// The outputs of a plane, dark ports as WEFT_NONE.
const uint32_t *weft_lab_outputs(const struct weft_lab_wiring *wiring, uint32_t plane,
                                 struct weft_arena *arena);
double weft_lab_clock_s(void);
// The namespaces of a lab, complete or not, sorted.
bool weft_lab_netns_list(const char *const **names, uint32_t *count, const char *lab,
                         struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// state.c: a lab as the text of its file, which is NULL where the plan's path is no UTF-8 and the
// caller frees; and a lab from such a text, false where that is none.
char *weft_lab_write(const struct weft_lab *lab) WEFT_MUST_USE;
bool weft_lab_read(struct weft_lab *lab, const char *text, size_t length) WEFT_MUST_USE;

// node.c: nothing but what is sent passes the namespace.
bool weft_lab_silence(const char *netns, struct weft_error *error) WEFT_MUST_USE;
// A namespace whose kernel forwards, with the node's address on lo and a hash of flows of its own.
// The session is open on success.
bool weft_lab_raise_node(struct weft_netlink *netlink, const struct weft_lab *lab, uint32_t node,
                         struct weft_error *error) WEFT_MUST_USE;
// Rate, burst and queues of one end of a cable of so many ports' rate, and `leaving`, the program
// on what leaves it, where the lab has one: that marks, or that sorts gradients (program_fd -1 =
// none).
bool weft_lab_shape(const struct weft_lab *lab, const struct weft_filter *leaving,
                    struct weft_netlink *netlink, uint32_t index, uint32_t width,
                    struct weft_error *error) WEFT_MUST_USE;
// switched.c, of a lab with switches that forward by routes: its cables, when its nodes stand; what
// its kernels route by; and whether its ports pass packets.
bool weft_lab_raise_cables(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                           const struct weft_filter *leaving, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_lab_route_switched(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                             struct weft_error *error) WEFT_MUST_USE;
bool weft_lab_await_cables(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                           struct weft_error *error) WEFT_MUST_USE;

#endif
