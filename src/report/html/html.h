// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_HTML_HTML_H
#define WEFT_REPORT_HTML_HTML_H

// What the files of a page share: page.c the frame and its pieces, strategy.c the sections
// about a model's strategy; html.c and lab.c put pages together from them.
//
// Every function adds to a text; values that users chose are escaped. A page is of two texts, the
// head and the sections, since the contents between them are known when the sections are written.

#include "weft/report.h"

// page.css and page.js, embedded by the build.
extern const char html_style[];
extern const char html_script[];

// A page up to what stands above its contents; then its contents, sections and end. `body` has the
// sections.
void html_begin(struct weft_text *text, const char *title, const char *what);
void html_end(struct weft_text *text, const char *body);
// What the page is of, and where it came from; `kind` names the title: "Model".
void html_origin(struct weft_text *text, const char *kind, const char *title, const char *cluster,
                 const struct weft_report_origin *origin);
// A command of several words and lines; options break at none of their hyphens.
void html_command(struct weft_text *text, const char *command);
// Opens a section; its end is the caller's. The title is escaped, `words` are not.
void html_heading(struct weft_text *text, const char *title, const char *words);
void html_tile(struct weft_text *text, const char *name, const char *value, const char *small);
// A figure around a picture, which scrolls where it does not fit. `tools` says what the script
// offers above it: "", "zoom", "fabric", "timeline" or "market".
void html_figure(struct weft_text *text, const char *tools);
// Ends it, with a caption that is not escaped, or NULL.
void html_figure_end(struct weft_text *text, const char *caption);
// A table with its caption and the titles of its columns, separated by '|'; '>' before one says
// that the column has numbers, '<' that it takes the room there is; '^' before all of them lets the
// script sort the rows.
void html_table(struct weft_text *text, const char *caption, const char *columns);
void html_table_end(struct weft_text *text);
// A share as a person writes it: "0.0018 %", "24.8 %", "1,240 %"; into a buffer of WEFT_UNIT_TEXT.
const char *html_percent(char *buffer, double ratio);

// A count as a person writes it: "512", "29,130", "41.04 G"; into a buffer of WEFT_UNIT_TEXT.
const char *html_count(char *buffer, double count);
// What is computed again, in words.
const char *html_recompute(enum weft_recompute recompute);

// The sections of a plan that began with a model; each nothing when the report has not what it
// shows.
void html_strategy(struct weft_text *text, const struct weft_report *report,
                   struct weft_arena scratch);
void html_memory(struct weft_text *text, const struct weft_report *report,
                 struct weft_arena scratch);
void html_rounds(struct weft_text *text, const struct weft_report *report);
// Which ranks each server has.
void html_ranks(struct weft_text *text, const struct weft_report *report);
// Where the time goes, of any plan with a timeline.
void html_uses(struct weft_text *text, const struct weft_report *report, struct weft_arena scratch);

#endif
