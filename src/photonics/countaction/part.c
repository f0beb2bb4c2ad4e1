// SPDX-License-Identifier: Apache-2.0
// What stands between the modules: assembler, light, detector, tree, buffers. Each net that they
// drive changes with the clock alone, and comes as often in a layer as what
// caused it: the rates of synchronous data flow (Lee and Messerschmitt, Proceedings of the IEEE
// 1987).

#include <string.h>

#include "photonics/countaction/link.h"

static const struct part parts[] = {
    {"start", NULL, PART_LEVEL, false},        {"last", NULL, PART_LEVEL, false},
    {"softmax", NULL, PART_LEVEL, false},      {"hidden", NULL, PART_LEVEL, false},
    {"softmax_end", NULL, PART_LEVEL, false},  {"activation_valid", NULL, PART_LEVEL, false},
    {"weight_valid", NULL, PART_LEVEL, false}, {"light", NULL, PART_LEVEL, false},
    {"above", NULL, PART_LEVEL, false},        {"pattern", NULL, PART_MATCHES, false},
    {"received", "pop", PART_SAME, false},     {"word", "pop", PART_SAME, false},
    {"sum", "emit", PART_SAME, false},         {"written", "sum", PART_SAME, false},
    {"pop", NULL, PART_WORDS, true},           {"next_layer", NULL, PART_ONCE, true},
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
