// SPDX-License-Identifier: Apache-2.0
// How a request searches, and the packets by which what it finds is played. Effort is counted in
// seconds of the machine that docs/cli.md names: a search takes the steps of so many seconds on
// every machine, and a clock may end it besides. `E:N` is the effort E left at the N-th plan: what
// a search that a clock ended says of itself, and what repeats it.

#include "weft/request.h"
#include "weft/request/parameter.h"

#include <math.h>
#include <string.h>

static const double seconds_least = 1e-9;
static const double seconds_max = 1e6;

// To a planner 0 means that nothing was requested; to a user it is the shortest search.
static bool read_seconds(struct weft_request_search *search, const char *text, bool timed,
                         struct weft_error *error)
{
    if (!weft_parse_number(&search->seconds, text, 0, seconds_max, error)) {
        return false;
    }
    search->timed = timed;
    search->seconds = fmax(search->seconds, seconds_least);
    return true;
}

static bool read_timed(void *field, const struct weft_parameter *parameter, const char *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    return read_seconds(field, text, true, error);
}

static bool read_effort(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter;
    struct weft_request_search *search = field;
    const char *colon = strchr(text, ':');
    search->published_most = 0;
    if (colon == NULL) {
        return read_seconds(field, text, false, error);
    }
    return weft_parse_count(&search->published_most, colon + 1, 1, UINT64_MAX, error) &&
           read_seconds(field, weft_arena_text(arena, text, (size_t)(colon - text)), false, error);
}

static bool read_method(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    enum weft_topology_method *method = field;
    bool weft = strcmp(text, "weft") == 0;
    *method = weft ? WEFT_TOPOLOGY_WEFT : WEFT_TOPOLOGY_TOPOOPT;
    return weft || strcmp(text, "topoopt") == 0 ||
           weft_fail(error, WEFT_USAGE, "'%.64s' is none; write weft or topoopt", text);
}

#define FIELD(path) offsetof(struct weft_request_search, path)
const struct weft_parameter weft_search_parameters[WEFT_SEARCH_PARAMETERS] = {
    {"method", read_method, FIELD(method), 0, 0, NULL},
    {"simplex", NULL, FIELD(simplex), 0, 0, NULL},
    {"seconds", read_timed, 0, 0, 0, NULL}, // of the whole struct
    {"effort", read_effort, 0, 0, 0, NULL},
};

struct weft_topology_options weft_request_topology_options(const struct weft_request_search *search)
{
    return (struct weft_topology_options){
        .method = search->method,
        .simplex = search->simplex,
        .seconds = search->seconds,
    };
}

bool weft_request_refuse_published(const struct weft_request_search *search,
                                   struct weft_error *error)
{
    return search->published_most == 0 ||
           weft_fail(error, WEFT_USAGE,
                     "{effort}: %g:%llu is for plans, which are counted; write {effort=%g}",
                     search->seconds, (unsigned long long)search->published_most, search->seconds);
}

struct weft_sim_options weft_request_task_packets(uint64_t seed)
{
    return (struct weft_sim_options){
        .packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = true, .seed = seed};
}
