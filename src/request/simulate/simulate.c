// SPDX-License-Identifier: Apache-2.0
// What is to be played: files of jobs, a pattern of flows, or a snapshot of jobs that share links.
//
// The first load decides. A snapshot is a JSON document by its name or its first character, a
// pattern is what weft_flows_parse takes, and all else names files of jobs.

#include "request/simulate/simulation.h"
#include "weft/format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Of a document, until its first character shows.
#define BLANKS_MAX 4096

bool weft_request_simulate_check(const struct weft_simulate_request *request,
                                 struct weft_error *error)
{
    if (request->load_count == 0 && request->plan_path == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "what is played? write weft simulate JOB CLUSTER.yaml, or allreduce:100MB "
                         "CLUSTER.yaml");
    }
    return request->fabric == NULL || strcmp(request->fabric, "file") == 0 ||
           weft_fabric_specification_known(request->fabric, error);
}

// Whether a load is a JSON document. Where its name says so but its text does not, the reader of
// snapshots says what is wrong.
static bool is_snapshot(const char *path)
{
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) {
        return true;
    }
    char head[BLANKS_MAX];
    int file = -1;
    struct weft_error error;
    if (!weft_file_open(&file, path, &error)) {
        return false; // who needs it says why
    }
    ssize_t got = read(file, head, sizeof head);
    close(file);
    ssize_t i = 0;
    while (i < got && isspace((unsigned char)head[i]) != 0) {
        i++;
    }
    return i < got && (head[i] == '{' || head[i] == '[');
}

// What is of snapshots only.
static bool refuse_sharing(const struct weft_simulate_request *request, struct weft_error *error)
{
    const struct weft_stated rows[] = {
        {request->sharing.policy.given, "sharing"},
        {request->sharing.shifts != NULL, "shifts"},
        {request->sharing.realign.given, "realign"},
        {request->sharing.mltcp_root, "mltcp-root"},
        {request->sharing.mltcp_steps > 0, "mltcp-steps"},
        {NULL},
    };
    return weft_refuse_stated(rows, error,
                              "is for a snapshot (JSON with jobs and links), not for '%.60s'",
                              request->load_count > 0 ? request->loads[0] : request->plan_path);
}

// What loads without collectives or without files have no use for: rounds of AllReduces are of
// jobs' files (a pattern's AllReduce takes all of them anyway), groups and accelerators of traces.
static bool refuse_rounds(const struct weft_simulate_request *request, bool trace,
                          struct weft_error *error)
{
    const struct weft_stated rows[] = {
        {request->all_rounds, "all-rounds"},
        {!trace && request->trace.groups_path != NULL, "groups"},
        {!trace && request->trace.accelerator != NULL, "accelerator"},
        {!trace && request->trace.lenient, "lenient"},
        {!trace && request->trace.rank_count > 0, "ranks"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is for files of jobs, not for '%.60s'",
                              request->loads[0]);
}

// What is of loads that have ranks.
static bool refuse_scale_up(const struct weft_simulate_request *request, const char *load,
                            struct weft_error *error)
{
    const struct weft_stated rows[] = {
        {request->scale_up.accelerators > 0, "accelerators"},
        {request->scale_up.rate.given, "scale-up-rate"},
        {request->scale_up.latency.given, "scale-up-latency"},
        {NULL},
    };
    return weft_refuse_stated(
        rows, error,
        "is for flows in words (allreduce:1GB) and for files of jobs, not for "
        "'%.60s'",
        load);
}

// Rates and times of a switch that nothing hangs on.
static bool check_scale_up(const struct weft_simulate_request *request, struct weft_error *error)
{
    const struct weft_request_scale_up *scale_up = &request->scale_up;
    return scale_up->accelerators >= 2 || (!scale_up->rate.given && !scale_up->latency.given) ||
           weft_fail(error, WEFT_USAGE,
                     "{scale-up-rate} and {scale-up-latency} are of accelerators inside a "
                     "server; say how many: {accelerators=8}");
}

// What is of flows in words only.
static bool refuse_words(const struct weft_simulate_request *request, const char *load,
                         struct weft_error *error)
{
    const struct weft_stated rows[] = {
        {request->one_port, "one-port"},
        {request->algorithm != WEFT_SIMULATE_BEST, "algorithm"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is for flows in words (allreduce:1GB), not for '%.60s'",
                              load);
}

// A load that is neither there nor flows in words may mean such words.
static bool check_loads(const struct weft_simulate_request *request,
                        struct weft_request_environment *environment)
{
    for (uint32_t i = 0; i < request->load_count; i++) {
        const char *load = request->loads[i];
        struct weft_arena scratch = environment->base.scratch;
        bool there = access(load, F_OK) == 0 || weft_chakra_is_trace(load);
        const char *meant = there ? NULL : weft_flows_meant(load, &scratch);
        if (meant != NULL) {
            return weft_fail(environment->base.error, WEFT_INPUT,
                             "'%.80s' is neither a file nor flows; %s", load, meant);
        }
    }
    return true;
}

// Sends the request to who plays its kind of load, and refuses what that kind does not have.
static bool play(struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    struct weft_error *error = simulation->environment->base.error;
    if (request->load_count == 0) { // the plan's own job
        return refuse_scale_up(request, request->plan_path, error) &&
               refuse_words(request, request->plan_path, error) && refuse_sharing(request, error) &&
               weft_request_refuse_trace(&request->trace, error) &&
               simulation_play_jobs(simulation);
    }
    if (is_snapshot(request->loads[0]) && !weft_chakra_is_trace(request->loads[0])) {
        return refuse_scale_up(request, request->loads[0], error) &&
               refuse_words(request, request->loads[0], error) &&
               refuse_rounds(request, false, error) && simulation_refuse_snapshot(simulation) &&
               simulation_play_snapshot(simulation);
    }
    struct weft_flows_spec spec;
    bool matches = false;
    if (!check_scale_up(request, error) || !refuse_sharing(request, error) ||
        !weft_flows_parse(&spec, &matches, request->loads[0], error)) {
        return false;
    }
    if (!matches && !check_loads(request, simulation->environment)) {
        return false;
    }
    if (!matches) {
        bool load = weft_request_is_load(request->loads[0]);
        return refuse_words(request, request->loads[0], error) &&
               (!load || refuse_rounds(request, true, error)) && simulation_play_jobs(simulation);
    }
    if (request->plan_path != NULL) {
        return weft_fail(error, WEFT_USAGE, "{plan} takes a job's file, not '%.60s'",
                         request->loads[0]);
    }
    if (request->load_count > 1) {
        return weft_fail(error, WEFT_USAGE, "'%.60s' stands alone; flows and jobs do not mix",
                         request->loads[0]);
    }
    if (!spec.seeded) {
        spec.seed = simulation->environment->base.seed;
    }
    return refuse_rounds(request, false, error) && simulation_refuse_snapshot(simulation) &&
           simulation_play_flows(simulation, &spec);
}

bool weft_request_simulate(struct weft_simulate_result *result,
                           const struct weft_simulate_request *request,
                           struct weft_request_environment *environment)
{
    struct weft_simulate_result found = {.load =
                                             request->load_count > 0 ? request->loads[0] : NULL};
    struct weft_simulate_request asked = *request;
    struct simulation simulation = {
        .request = &asked,
        .environment = environment,
        .result = &found,
        .loads = request->loads,
        .load_count = request->load_count,
        .fabric = request->fabric != NULL ? request->fabric : "ideal",
        .options = {.acknowledged = request->acknowledged, .stop = environment->base.stop},
    };
    if (!weft_request_simulate_check(request, environment->base.error)) {
        return false;
    }
    if (request->load_count > WEFT_SIMULATE_LOADS_MAX) {
        return weft_fail(environment->base.error, WEFT_USAGE, "'%.100s': at most %d jobs",
                         request->loads[WEFT_SIMULATE_LOADS_MAX], WEFT_SIMULATE_LOADS_MAX);
    }
    asked.trace.rank_default = request->hardware.server_count *
                               (asked.scale_up.accelerators > 1 ? asked.scale_up.accelerators : 1);
    if (!simulation_load_topology(&simulation, &asked) || !play(&simulation)) {
        return false;
    }
    if (simulation.options.transport == WEFT_TRANSPORT_NDP && !asked.packets.port.trim) {
        weft_request_note(environment, "ndp without {trim}: full ports drop what NDP cuts to its "
                                       "header, and senders wait for timeouts");
    }
    // The packets stand in this frame; the result keeps its own.
    struct weft_packet_options *packet =
        WEFT_NEW(environment->base.arena, struct weft_packet_options, 1);
    *packet = simulation.packet;
    found.options = simulation.options;
    found.options.packet = packet;
    found.fabric = simulation.fabric;
    found.lenient = request->trace.lenient;
    found.accelerators = asked.scale_up.accelerators > 1 ? asked.scale_up.accelerators : 1;
    found.network = simulation.network;
    found.cluster = simulation.cluster;
    *result = found;
    return true;
}
