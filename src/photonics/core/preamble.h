// SPDX-License-Identifier: Apache-2.0
#ifndef PHOTONICS_CORE_PREAMBLE_H
#define PHOTONICS_CORE_PREAMBLE_H

#include <stdbool.h>
#include <stdint.h>

// The cycle that a detector's word is cut into, and the rotation of a word that is no preamble.
enum { PREAMBLE_SAMPLES = 16, PREAMBLE_NONE = PREAMBLE_SAMPLES };

// Looks for the preamble in a word of 16 samples. A sample that is at least the word's mean is a 1,
// the first sample the lowest bit; a preamble cut r samples late is 0x00FF rotated left by r, then.
// False: the word is dark. O(samples).
bool preamble_detect(uint32_t *rotation, const uint8_t *word);

#endif
