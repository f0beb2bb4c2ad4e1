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

#endif
