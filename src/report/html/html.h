// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_HTML_HTML_H
#define WEFT_REPORT_HTML_HTML_H

// What the files of a page share: page.c the frame and its pieces, strategy.c the sections
// about a model's strategy; html.c and lab.c put pages together from them.
//
// Every function adds to a text; values that users chose are escaped.

#include "weft/report.h"

// A page up to its first section, and its end.
void html_begin(struct weft_text *text, const char *title, const char *what);
void html_end(struct weft_text *text);
// Opens a section; its end is the caller's.
void html_heading(struct weft_text *text, const char *title, const char *words);
void html_tile(struct weft_text *text, const char *name, const char *value, const char *small);

// The sections of a plan that began with a model; each nothing when the report has not what it
// shows.
void html_strategy(struct weft_text *text, const struct weft_report *report,
                   struct weft_arena scratch);
void html_memory(struct weft_text *text, const struct weft_report *report,
                 struct weft_arena scratch);
void html_rounds(struct weft_text *text, const struct weft_report *report);
// Where the time goes, of any plan with a timeline.
void html_uses(struct weft_text *text, const struct weft_report *report, struct weft_arena scratch);

#endif
