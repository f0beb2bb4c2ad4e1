// SPDX-License-Identifier: Apache-2.0
// Collectives and algorithms by their names, as options and arguments spell them.

#include "collective.h"

static bool unknown(struct cli *cli, const char *what, const char *name, const char *const *names,
                    uint32_t count)
{
    const char *near = weft_nearest_word(name, names, count);
    const char *list = "";
    for (uint32_t i = 0; near == NULL && i < count; i++) {
        list = weft_arena_format(&cli->arena, "%s%s%s", list, i > 0 ? ", " : "", names[i]);
    }
    return near != NULL ? weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is no %s; do you mean %s?",
                                    name, what, near)
                        : weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is no %s; choose one of %s",
                                    name, what, list);
}

bool collective_kind(enum weft_collective_kind *kind, struct cli *cli, const char *name)
{
    *kind = weft_collective_find(name);
    if (*kind < WEFT_COLLECTIVE_KIND_COUNT) {
        return true;
    }
    const char *names[WEFT_COLLECTIVE_KIND_COUNT];
    for (uint32_t i = 0; i < WEFT_COLLECTIVE_KIND_COUNT; i++) {
        names[i] = weft_collective_name((enum weft_collective_kind)i);
    }
    return unknown(cli, "collective", name, names, WEFT_COLLECTIVE_KIND_COUNT);
}

bool collective_algorithm(enum weft_algorithm *algorithm, struct cli *cli, const char *name)
{
    *algorithm = weft_algorithm_find(name);
    if (*algorithm < WEFT_ALGORITHM_COUNT) {
        return true;
    }
    const char *names[WEFT_ALGORITHM_COUNT];
    for (uint32_t i = 0; i < WEFT_ALGORITHM_COUNT; i++) {
        names[i] = weft_algorithm_name((enum weft_algorithm)i);
    }
    return unknown(cli, "algorithm", name, names, WEFT_ALGORITHM_COUNT);
}
