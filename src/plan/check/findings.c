// SPDX-License-Identifier: Apache-2.0
// The list of violations that the checks fill.
//
// A violation is one printable line: names that stand in a plan's file are quoted with control
// bytes replaced, whatever they are. The list is bounded, so that a hostile file cannot fill
// memory.

#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    char *text = weft_arena_text(findings->arena, line.message, strlen(line.message));
    findings->list[findings->count++] = (struct weft_violation){text};
}
