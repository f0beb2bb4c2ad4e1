// SPDX-License-Identifier: Apache-2.0
// What stands between the modules: assembler, light, detector, tree, buffers. Each net that they
// drive changes with the clock alone but for `received`, and comes as often in a layer as what
// caused it: the rates of synchronous data flow (Lee and Messerschmitt, Proceedings of the IEEE
// 1987).

#include <string.h>

#include "photonics/countaction/link.h"

static const struct part parts[] = {
    {"start", NULL, PART_LEVEL, NULL, false},
    {"last", NULL, PART_LEVEL, NULL, false},
    {"softmax", NULL, PART_LEVEL, NULL, false},
    {"hidden", NULL, PART_LEVEL, NULL, false},
    {"softmax_end", NULL, PART_LEVEL, NULL, false},
    {"activation_valid", NULL, PART_LEVEL, NULL, false},
    {"weight_valid", NULL, PART_LEVEL, NULL, false},
    {"light", NULL, PART_LEVEL, NULL, false},
    {"above", NULL, PART_LEVEL, NULL, false},
    {"pattern", NULL, PART_MATCHES, NULL, false},
    {"received", "locked", PART_SAME, "pop", false},
    {"word", NULL, PART_SAME, "pop", false},
    {"sum", NULL, PART_SAME, "emit", false},
    {"written", NULL, PART_SAME, "sum", false},
    {"pop", NULL, PART_WORDS, NULL, true},
    {"next_layer", NULL, PART_ONCE, NULL, true},
};

uint32_t part_find(const char *name)
{
    for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

const struct part *part_get(uint32_t part)
{
    return &parts[part];
}
