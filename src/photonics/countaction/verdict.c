// SPDX-License-Identifier: Apache-2.0
// Verdicts on modules: the first flaw that is found of each.

#include "photonics/countaction/check.h"

const char *weft_photonic_flaw_name(enum weft_photonic_flaw flaw)
{
    static const char *const names[] = {"sound",  "target",   "unreachable", "unused", "drive",
                                        "circle", "deadlock", "overrun",     "fifo"};
    return names[flaw];
}

void check_found(struct checking *checking, uint32_t module, enum weft_photonic_flaw flaw,
                 const char *subject, uint32_t line, const char *message)
{
    struct weft_photonic_verdict *verdict = &checking->verdicts[module];
    if (verdict->flaw != WEFT_PHOTONIC_SOUND) {
        return;
    }
    verdict->flaw = flaw;
    verdict->subject = subject;
    verdict->line = line;
    verdict->row = WEFT_NONE;
    verdict->message = message;
}
