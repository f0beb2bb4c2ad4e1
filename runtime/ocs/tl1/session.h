// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_TL1_SESSION_H
#define WEFT_RUNTIME_OCS_TL1_SESSION_H

// A TL1 session with a switch: one TCP connection on which the user is logged in.
//
// What a switch may do to its caller is bounded: all answers to a batch of commands have a deadline
// and 4 MiB. After a deadline, a broken connection or what is no TL1 the connection ends, and the
// next batch begins a new one: an answer that comes too late is nobody's. A login whose connection
// ends before any answer is tried again, up to three times, as a switch that is short of
// connections ends those that have not logged in; a command is not, as it may have been carried
// out.

#include "message.h"

struct weft_tl1_session {
    const struct weft_ocs_access *access;
    const char *host; // as the operator gave it
    const char *login;
    struct weft_arena arena; // scratch of the session's owner
    struct weft_arena own;
    int fd; // -1 = not connected
    uint32_t tag;
    bool was_cut;     // the connection ended before any answer
    uint64_t ends_ms; // of the operation under way
    char *data;       // what has come and was not read yet
    size_t bytes;
};

// Commands that go out at once; their answers come in any order.
struct weft_tl1_batch {
    const char *const *commands; // "ENT-PATCH::1,17\n": the tag goes where the line ends
    uint32_t count;
    // A quoted line of the answer to one command; false ends the batch, with an error of IO. May be
    // NULL.
    bool (*take)(void *context, const struct weft_tl1_span *line, struct weft_error *error);
    void *context;
};

// `access`, whose times are filled in, and `arena` outlive the session. Fails with INPUT where the
// address names no IP address; connects with the first batch.
bool weft_tl1_open(struct weft_tl1_session *session, struct weft_ocs_access *access,
                   struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// An operation of several batches begins, and its deadline.
void weft_tl1_begin(struct weft_tl1_session *session);
// Fails with IO where a command is denied, or with UNSUPPORTED where the user may not; the others
// of the batch were carried out. IO where answers do not come in time.
bool weft_tl1_ask(struct weft_tl1_session *session, const struct weft_tl1_batch *batch,
                  struct weft_error *error) WEFT_MUST_USE;
// One command.
bool weft_tl1_ask_one(struct weft_tl1_session *session, const char *command,
                      bool (*take)(void *context, const struct weft_tl1_span *line,
                                   struct weft_error *error),
                      void *context, struct weft_error *error) WEFT_MUST_USE;
void weft_tl1_close(struct weft_tl1_session *session);

#endif
