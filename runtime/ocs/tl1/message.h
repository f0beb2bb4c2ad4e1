// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_TL1_MESSAGE_H
#define WEFT_RUNTIME_OCS_TL1_MESSAGE_H

// TL1, the transaction language of transport equipment (Telcordia GR-831): text over TCP, for
// optical switches by custom on port 3082.
//
//   VERB-MODIFIER:TID:AID:CTAG:GENERAL:PAYLOAD;            a command
//
//      SID 26-11-28 14:05:00                               its answer
//   M  CTAG COMPLD
//      "1,17"
//   ;
//
// An answer has the command's tag, so that several commands may be under way. It ends with ';', or
// with '>' where more of it follows; acknowledgments end with '<'. Messages that nobody asked for
// (alarms) come in between and are passed over. Bytes to values here, without input or output;
// session.c speaks with a switch, emulator/lines.c is one.

#include "runtime/ocs/ocs.h"

#define WEFT_TL1_PORT "3082"

struct weft_tl1_span {
    const char *text;
    size_t length;
};

// ---- answers ----

enum weft_tl1_kind {
    WEFT_TL1_COMPLETED,
    WEFT_TL1_DENIED,
    WEFT_TL1_OTHER, // an alarm, an acknowledgment, or what is no TL1
};
struct weft_tl1_message {
    enum weft_tl1_kind kind;
    uint32_t tag;
    bool is_last;              // of this answer
    struct weft_tl1_span body; // behind the line with the tag
};
// The first whole message of so many bytes; how long it is, 0 = it has not come whole yet.
size_t weft_tl1_read_message(struct weft_tl1_message *message, const char *text, size_t bytes);
// The next quoted line of a body, without its quotes, from *at on; false: there is none.
bool weft_tl1_next_line(struct weft_tl1_span *line, size_t *at, const struct weft_tl1_span *body);
// The value of KEY=VALUE in a line; empty where it is not there.
struct weft_tl1_span weft_tl1_field(const struct weft_tl1_span *line, const char *key);
// Splits "1.1.1:REST" at the first of these characters; false: it has none of them.
bool weft_tl1_split(struct weft_tl1_span *head, struct weft_tl1_span *rest,
                    const struct weft_tl1_span *line, const char *marks);
bool weft_tl1_is(const struct weft_tl1_span *span, const char *text);
// A whole number within bounds, or a finite one, that is all of the span.
bool weft_tl1_count(uint32_t *value, const struct weft_tl1_span *span, uint32_t low, uint32_t high);
bool weft_tl1_number(double *value, const struct weft_tl1_span *span);

// ---- commands ----

enum { WEFT_TL1_BLOCKS = 8, WEFT_TL1_VERB_BYTES = 24, WEFT_TL1_TAG_BYTES = 16 };
struct weft_tl1_command {
    char verb[WEFT_TL1_VERB_BYTES]; // in capitals; empty: what came is no command
    char tag[WEFT_TL1_TAG_BYTES];   // "0" where there is none
    struct weft_tl1_span target;    // AID
    struct weft_tl1_span general;
    struct weft_tl1_span payload;
};
// The first whole command; how long it is, 0 = it has not come whole yet.
size_t weft_tl1_read_command(struct weft_tl1_command *command, const char *text, size_t bytes);
// The n-th part, from 0, of parts that are divided by `mark`; false: there are fewer.
bool weft_tl1_part(struct weft_tl1_span *part, const struct weft_tl1_span *span, char mark,
                   uint32_t n);

// A password as a parameter: quoted where it has characters with a meaning.
const char *weft_tl1_quote(const char *text, struct weft_arena *arena);
// What a parameter says: without its quotes.
const char *weft_tl1_unquote(const struct weft_tl1_span *span, struct weft_arena *arena);

#endif
