// SPDX-License-Identifier: Apache-2.0
// The flaws of a plan file: what its words claim and the plan as a value cannot even express, such
// as a path over a link that is not there.
//
// The reader goes on behind a flaw, so that the checker can list all that is wrong at once. A
// damaged file could have millions of them: the first FLAWS_MAX are kept, the others counted.

#include "read.h"

#include <stdarg.h>
#include <string.h>

#define FLAWS_MAX 64u // more than anyone reads

void weft_plan_flaws_init(struct weft_plan_source *source)
{
    source->flaws = WEFT_NEW(source->arena, struct weft_violation, FLAWS_MAX + 1);
    source->flaw_count = 0;
}

void weft_plan_note_flaw(struct weft_plan_source *source, const char *format, ...)
{
    source->flaw_count++;
    if (source->flaw_count > FLAWS_MAX) {
        return;
    }
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    source->flaws[source->flaw_count - 1].text = weft_arena_text(source->arena, line, strlen(line));
}

void weft_plan_flaws_publish(struct weft_plan *plan, struct weft_plan_source *source)
{
    plan->flaws.count = source->flaw_count;
    if (source->flaw_count > FLAWS_MAX) {
        source->flaws[FLAWS_MAX].text = weft_arena_format(
            source->arena, "and %u more that a plan cannot hold", source->flaw_count - FLAWS_MAX);
        plan->flaws.count = FLAWS_MAX + 1;
    }
    plan->flaws.items = source->flaws;
}
