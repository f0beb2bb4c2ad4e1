// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REPORT_SVG_SVG_H
#define WEFT_REPORT_SVG_SVG_H

// Shared parts of the pictures: style, texts, axes. Colors are Okabe and Ito's, which every color
// vision tells apart; each has a light and a dark value, chosen by the reader's system. Classes
// stand for colors, so that the pictures are the same inside a page and alone.

#include "weft/workload.h"

// A color has one meaning on a page. f0..f6 (fill) and s0..s6 (stroke) are kinds of tasks, o0..o6
// and q0..q6 numbered things (a ring, a server, a start), m0..m4 uses of memory; h is this plan, fo
// what it is held against or idle time, fc compute of any kind. Pictures that are files of their
// own number with f and s.
#define SVG_COLOR_COUNT 7u
// The fill of a kind of task.
const char *svg_task_class(enum weft_task_kind kind);

// The rules of all classes, for a <style> element.
void svg_add_style(struct weft_text *text);
// Opens a picture of this size with its name for screen readers. `alone` adds the style and a
// background; svg_end closes either.
void svg_begin(struct weft_text *text, double width, double height, const char *name, bool alone);
void svg_end(struct weft_text *text);

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };
// Where a label stands: its start, middle or end at (x, y).
struct svg_place {
    double x;
    double y;
    enum svg_anchor anchor;
};
static inline struct svg_place svg_at(double x, double y, enum svg_anchor anchor)
{
    return (struct svg_place){x, y, anchor};
}
// Something whose figures a reader may ask for: what is drawn until svg_item_end belongs to it. The
// title is what a browser shows at the pointer; the script of a page shows it at once, and by
// keyboard. `keys` are attributes that the script filters by, "" = none: data-s="3 7" for servers,
// data-k="ring 1" for a kind.
void svg_item_begin(struct weft_text *text, const char *keys, const char *format, ...)
    WEFT_PRINTF(3, 4);
void svg_item_end(struct weft_text *text);
// A label; `classes` such as "t" (text), "m" (muted), "b" (bold).
void svg_label(struct weft_text *text, struct svg_place at, const char *classes, const char *format,
               ...) WEFT_PRINTF(4, 5);
void svg_line(struct weft_text *text, double x1, double y1, double x2, double y2,
              const char *classes);
void svg_rect(struct weft_text *text, double x, double y, double width, double height,
              const char *classes);

// ---- scales ----

// A quantity shown in one unit: `scale` of the base unit are one `name`.
struct svg_unit {
    double scale;
    const char *name;
};
struct svg_unit svg_time_unit(double seconds);
struct svg_unit svg_byte_unit(double size_bytes);

// A step of 1, 2 or 5 times a power of ten that divides `range` into at most `parts` parts.
double svg_step(double range, uint32_t parts);
// The field of a diagram, which its axes divide.
struct svg_field {
    double left;
    double right;
    double top;
    double bottom;
};
static inline struct svg_field svg_field(double left, double right, double top, double bottom)
{
    return (struct svg_field){left, right, top, bottom};
}
// A horizontal axis along the bottom, grid lines up to the top, its title below.
void svg_axis_x(struct weft_text *text, struct svg_field field, double low, double high,
                const char *title);
// A vertical axis along the left, grid lines to the right, its title above.
void svg_axis_y(struct weft_text *text, struct svg_field field, double low, double high,
                const char *title);

#endif
