// SPDX-License-Identifier: Apache-2.0
// Errors as values, and assertions that stay on in release.
//
// An error is a code for programs and one line for people, which every caller on its way out may
// prefix with what it was doing: "cluster.yaml: line 7: nic.rate: ...". The caller owns the value,
// so that threads do not share one. Assertions are for our own mistakes alone; they cost a
// comparison and end the program, as nothing that follows could be trusted. Messages are cut to 512
// bytes: O(1).

#include "weft/base.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void weft_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "weft: %s:%d: this should not happen: %s does not hold; please report it\n",
            file, line, condition);
    abort();
}

int weft_exit_code(enum weft_error_code code)
{
    return code == WEFT_STOPPED ? (int)WEFT_INFEASIBLE : (int)code;
}

// One line that a terminal may be sent, cut with "..." where more was wanted.
static void tidy(char *message, size_t size, int wanted)
{
    weft_escape_line(message, size, wanted >= (int)size);
}

bool weft_fail(struct weft_error *error, enum weft_error_code code, const char *format, ...)
{
    WEFT_ASSERT(code != WEFT_OK);
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->code = code;
    error->key[0] = '\0';
    error->value[0] = '\0';
    tidy(error->message, sizeof error->message, wanted);
    return false;
}

bool weft_remedy(struct weft_error *error, const char *key, const char *value, ...)
{
    WEFT_ASSERT(strlen(key) < sizeof error->key);
    snprintf(error->key, sizeof error->key, "%s", key);
    va_list arguments;
    va_start(arguments, value);
    int wanted = vsnprintf(error->value, sizeof error->value, value, arguments);
    va_end(arguments);
    tidy(error->value, sizeof error->value, wanted);
    return false;
}

bool weft_wrap(struct weft_error *error, const char *format, ...)
{
    char inner[sizeof error->message];
    memcpy(inner, error->message, sizeof inner);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    int wanted = length;
    if (length >= 0 && (size_t)length < sizeof error->message) {
        size_t room = sizeof error->message - (size_t)length;
        wanted += snprintf(error->message + length, room, ": %s", inner);
    }
    tidy(error->message, sizeof error->message, wanted);
    return false;
}
