// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_CLOCK_H
#define WEFT_RUNTIME_CLOCK_H

// Nanoseconds on a clock that all processes of a machine share and nobody sets.

#include <stdint.h>

uint64_t lab_now_ns(void);
void lab_sleep_until(uint64_t end_ns);

#endif
