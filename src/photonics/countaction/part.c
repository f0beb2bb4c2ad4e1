// SPDX-License-Identifier: Apache-2.0
// What stands between the modules: assembler, light, detector, tree, buffers. Each net that they
// drive changes with the clock alone, and comes as often in a layer as what
// caused it: the rates of synchronous data flow (Lee and Messerschmitt, Proceedings of the IEEE
// 1987).

#include <string.h>

#include "photonics/countaction/link.h"

static const struct part parts[] = {
    {"start", PART_LEVEL, NULL, false},        {"last", PART_LEVEL, NULL, false},
    {"softmax", PART_LEVEL, NULL, false},      {"hidden", PART_LEVEL, NULL, false},
    {"softmax_end", PART_LEVEL, NULL, false},  {"activation_valid", PART_LEVEL, NULL, false},
    {"weight_valid", PART_LEVEL, NULL, false}, {"light", PART_LEVEL, NULL, false},
    {"above", PART_LEVEL, NULL, false},        {"pattern", PART_MATCHES, NULL, false},
    {"received", PART_SAME, "pop", false},     {"word", PART_SAME, "pop", false},
    {"sum", PART_SAME, "emit", false},         {"written", PART_SAME, "sum", false},
    {"pop", PART_WORDS, NULL, true},           {"next_layer", PART_ONCE, NULL, true},
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
