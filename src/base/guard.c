// SPDX-License-Identifier: Apache-2.0
// Guards: how exhaustion of memory becomes an error of a whole request.
//
// The problem: every allocation can be refused by the system, there are thousands of them, and
// nearly none of the callers could do anything but give up. Were allocations to return NULL, each
// would need a branch that no test reaches. So an arena that gets no memory unwinds to the boundary
// of the request, or of the piece of parallel work, which fails as a whole with an error value like
// any other. This is the one place where Weft jumps (setjmp, longjmp), and the innermost guard of a
// thread the one variable that is not an argument: the arena that is exhausted may be any, and the
// boundary to return to is that of the thread that asked for memory, not of the arena's owner.
//
// The same way out serves a request to stop: whoever can do without what it is about to compute
// sets a guard with a stop flag, and from when the flag is raised the next look at it (weft_poll;
// each split of an arena looks, and each that takes new memory, so that stages need not) returns
// there. Were stages to return
// early, each of their callers would have to know which of its results are half of one.
//
// A guard may also name the folder to which its work is confined where it opens files to read: what
// is asked for by a file of somebody else, however deep below the guard it is opened.
//
// What is between the guard and the allocation is left without clean-up. So whatever is more than
// memory of arenas (descriptors, processes, threads, locks) is held outside the guard, by whoever
// sets it. Cost: a setjmp for each guard, some twenty instructions.

#include "weft/base.h"

#include <setjmp.h>
#include <stdlib.h>

struct guard {
    jmp_buf boundary;
    struct weft_error *error;
    struct guard *outer;
    weft_stop stop;     // NULL: nothing stops this work
    const char *folder; // NULL: files are opened anywhere
};

static _Thread_local struct guard *innermost;

bool weft_guard(bool (*work)(void *context), void *context, struct weft_error *error)
{
    return weft_guard_until(work, context, weft_guard_stop(), error);
}

bool weft_guard_until(bool (*work)(void *context), void *context, weft_stop stop,
                      struct weft_error *error)
{
    return weft_guard_within(work, context, weft_guard_folder(), stop, error);
}

bool weft_guard_within(bool (*work)(void *context), void *context, const char *folder,
                       weft_stop stop, struct weft_error *error)
{
    struct guard guard = {.error = error, .outer = innermost, .stop = stop, .folder = folder};
    if (setjmp(guard.boundary) != 0) {
        innermost = guard.outer;
        return false;
    }
    innermost = &guard;
    bool fine = work(context);
    innermost = guard.outer;
    return fine;
}

void weft_raise(const struct weft_error *error)
{
    if (innermost == NULL) {
        fprintf(stderr, "weft: %s\n", error->message);
        abort();
    }
    *innermost->error = *error;
    longjmp(innermost->boundary, 1);
}

weft_stop weft_guard_stop(void)
{
    return innermost != NULL ? innermost->stop : NULL;
}

const char *weft_guard_folder(void)
{
    return innermost != NULL ? innermost->folder : NULL;
}

void weft_poll(void)
{
    if (innermost != NULL && weft_stopped(innermost->stop)) {
        struct weft_error error;
        weft_fail(&error, WEFT_STOPPED, "stopped before there was an answer");
        weft_raise(&error);
    }
}
