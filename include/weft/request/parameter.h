// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PARAMETER_H
#define WEFT_REQUEST_PARAMETER_H

// Named parameters of requests: from a name and a text to a typed field.
//
// A request that others than a program's own code fill (options of the command line, scenarios of a
// sweep, members of a document) lists its fields once, as rows of a table: the name, where the
// field lies, and how its text is read. Messages name the parameter as the field of a request.

#include "weft/base.h"

WEFT_API_BEGIN

// Values of which it matters whether they were asked for: a preset fills in what was not.
struct weft_given_count {
    bool given;
    uint32_t value;
};
struct weft_given_word { // one of a few words, by its place among them
    bool given;
    uint32_t value;
};
struct weft_given_number {
    bool given;
    double value;
};
struct weft_given_bytes {
    bool given;
    uint64_t value;
};
struct weft_given_time {
    bool given;
    uint64_t ps;
};
struct weft_given_rate {
    bool given;
    double Bps;
};

struct weft_parameter;

// Reads `text` into `field`, in memory of `arena`. Fails with INPUT, or with USAGE where a word is
// none of the parameter's.
typedef bool weft_parameter_read(void *field, const struct weft_parameter *parameter,
                                 const char *text, struct weft_arena *arena,
                                 struct weft_error *error);

struct weft_parameter {
    const char *name;
    weft_parameter_read *read; // NULL: a switch, whose field is a bool and whose text says nothing
    size_t field;              // its offset in the group
    double low;                // of a count or a number, and
    double high;
    const char *const *words; // of a word; ends with NULL
};

// Rows of one struct of the request.
struct weft_parameter_group {
    const struct weft_parameter *rows; // NULL ends a list of groups
    size_t count;
    size_t offset; // of that struct in the request
};

// The row of that name, whose group is *group; NULL: there is none.
const struct weft_parameter *weft_parameter_find(const struct weft_parameter_group **group,
                                                 const struct weft_parameter_group *groups,
                                                 const char *name);
// Sets the field of `base`, the struct of the row's group, by `text`. Messages begin with "{name}".
bool weft_parameter_set(void *base, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- what would be ignored ----

// A parameter that one kind of request has no use for, and whether this one states it. A list ends
// with a NULL name.
struct weft_stated {
    bool stated;
    const char *name;
};
// Refuses the first that is stated, with USAGE: "{name} " and the rest of the line, which says what
// the parameter is for or what to leave out.
bool weft_refuse_stated(const struct weft_stated *rows, struct weft_error *error,
                        const char *format, ...) WEFT_PRINTF(3, 4) WEFT_MUST_USE;

// ---- how fields are read ----

weft_parameter_read weft_read_text;         // const char *
weft_parameter_read weft_read_count;        // uint32_t, from low to high
weft_parameter_read weft_read_count64;      // uint64_t, from low to high
weft_parameter_read weft_read_word;         // an enum, by its place among the words
weft_parameter_read weft_read_number;       // double, from low to high
weft_parameter_read weft_read_given_count;  // struct weft_given_count, and so on
weft_parameter_read weft_read_given_packet; // the same: "4096" as well as "4096B", at most 65535
weft_parameter_read weft_read_given_number;
weft_parameter_read weft_read_given_word;
weft_parameter_read weft_read_given_bytes;
weft_parameter_read weft_read_given_time;
weft_parameter_read weft_read_given_rate;

// ---- what requests share ----

// Of struct weft_request_hardware, _trace, _job and _search.
enum {
    WEFT_HARDWARE_PARAMETERS = 7,
    WEFT_TRACE_PARAMETERS = 4,
    WEFT_JOB_PARAMETERS = 11,
    WEFT_SEARCH_PARAMETERS = 4,
};
extern const struct weft_parameter weft_hardware_parameters[WEFT_HARDWARE_PARAMETERS];
extern const struct weft_parameter weft_trace_parameters[WEFT_TRACE_PARAMETERS];
extern const struct weft_parameter weft_job_parameters[WEFT_JOB_PARAMETERS];
extern const struct weft_parameter weft_search_parameters[WEFT_SEARCH_PARAMETERS];

// ---- lists ----

// Values of a list, "1ms,2ms": one for all jobs or one for each. A count of 0: nothing was said.
struct weft_time_list {
    uint32_t count;
    const uint64_t *ps;
};
struct weft_number_list {
    uint32_t count;
    const double *values;
};
struct weft_count_list {
    uint32_t count;
    const uint32_t *values;
};
weft_parameter_read weft_read_times;   // struct weft_time_list
weft_parameter_read weft_read_numbers; // struct weft_number_list, from low to high
weft_parameter_read weft_read_counts;  // struct weft_count_list, from low to high
// The words between the commas of a list. Fails with USAGE where one is empty or longer than 63.
bool weft_split_list(const char *const **words, uint32_t *count, const char *text,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
