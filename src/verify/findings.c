// SPDX-License-Identifier: Apache-2.0
// The lists that the checks fill.
//
// A violation is one printable line: names that stand in a plan's file are quoted with control
// bytes replaced, whatever they are. Both lists are bounded, so that a hostile file cannot fill
// memory.

#include "findings.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAME_RATIO 1e-9

void findings_init(struct findings *findings, struct weft_arena *arena)
{
    *findings = (struct findings){
        .list = WEFT_NEW(arena, struct weft_violation, VIOLATIONS_MAX),
        .open = WEFT_NEW(arena, struct weft_unverified, UNVERIFIED_MAX),
        .arena = arena,
    };
}

void findings_add(struct findings *findings, const char *format, ...)
{
    if (findings->count >= VIOLATIONS_MAX) {
        return;
    }
    struct weft_error line; // one printable line, whatever names are in it
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.message, sizeof line.message, format, arguments);
    va_end(arguments);
    for (char *at = line.message; *at != '\0'; at++) {
        *at = iscntrl((unsigned char)*at) ? '?' : *at;
    }
    char *text = weft_arena_text(findings->arena, line.message, strlen(line.message));
    findings->list[findings->count++] = (struct weft_violation){text};
}

void findings_leave(struct findings *findings, const char *claim, const char *why, bool needs_job)
{
    if (findings->open_count < UNVERIFIED_MAX) {
        findings->open[findings->open_count++] = (struct weft_unverified){claim, why, needs_job};
    }
}

bool figures_differ(double stated, double found)
{
    return !(fabs(stated - found) <= SAME_RATIO * fabs(found));
}

void findings_compare(struct findings *findings, const char *name, double stated, double found)
{
    if (figures_differ(stated, found)) {
        findings_add(findings, "%s is stated as %.12g, but is %.12g", name, stated, found);
    }
}
