// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_LOADS_CASE_H
#define WEFT_LOADS_CASE_H

// What the tests of other simulators' loads share: arenas, a star on which times are known, and
// refusals by a part of their message.

#include "../fresh_arenas.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASE_RATE_BPS 50e9 // 20 ps a byte
#define CASE_LATENCY_PS 500000ull

static struct weft_network network; // stays where it is: its routes point to its fabric

// How long a message takes alone on the star: a fluid over two links.
static inline uint64_t message_ps(uint64_t bytes)
{
    return 20 * bytes + 2 * CASE_LATENCY_PS;
}

// When the last task of a graph ends on a star; ends[] of the tasks unless NULL.
static uint64_t play(const struct weft_taskgraph *graph, const uint64_t **ends)
{
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_sim_result result;
    const struct weft_fabric_options options = {0};
    assert_true(weft_cluster_build(&cluster, graph->server_count, 1, CASE_RATE_BPS, &error));
    cluster.latency_ps = CASE_LATENCY_PS;
    assert_true(weft_fabric_build_ideal(&network, &cluster, &options, &arena, &error));
    const struct weft_sim_job job = {.graph = graph};
    const struct weft_sim_options fluid = {.seed = 1, .timeline = true};
    if (!weft_sim_run_jobs(&result, &network, &job, 1, &fluid,
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    if (ends != NULL) {
        *ends = result.task_end_ps[0];
    }
    return result.end_ps;
}

// A copy without a byte to spare, so that the sanitizer sees one too far.
static inline char *exact(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static inline void assert_complaint(bool good, const struct weft_error *error, const char *part,
                                    const char *input)
{
    if (good || error->code != WEFT_INPUT || strstr(error->message, part) == NULL) {
        fail_msg("'%.80s': expected '%s', got '%s'", input, part, good ? "yes" : error->message);
    }
}

#endif
