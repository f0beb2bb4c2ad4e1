// SPDX-License-Identifier: Apache-2.0
// What a run keeps beside its result: records of flows, samples of links, a timeline, and a job's
// entry in a snapshot of jobs that share links.
//
// The engine is told before the run what to keep, at most so much that what is written stays below
// some hundred megabytes; beyond that it samples links less often, and leaves out later flows. A
// snapshot needs a second run, because only the first tells how long an iteration is: it samples
// the links so often that an iteration has 1024 samples, of which weft_demand_measure makes phases.

#include "request/simulate/simulation.h"
#include "weft/request/interleave.h"

#include <math.h>

enum { SAMPLES = 1024 }; // of an iteration in a snapshot

static const uint32_t flow_records_max = 4u << 20;
static const uint32_t series_rows_max = 1u << 20;
static const uint32_t trace_samples_max = 1u << 18;
static const uint32_t trace_slices_max = 1u << 20;
static const uint64_t every_default_ps = 10000000; // 10 us

bool simulation_ask_records(struct simulation *simulation, bool is_job)
{
    const struct weft_request_records *asked = &simulation->request->records;
    struct weft_error *error = simulation->environment->base.error;
    struct weft_sim_options *sim = &simulation->options;
    bool is_packet = sim->engine == WEFT_ENGINE_PACKET;
    if (asked->flows && is_job && !is_packet) {
        return weft_fail(
            error, WEFT_USAGE,
            "{flow-records} of jobs are messages of packets; write {engine=packet}, too");
    }
    if (asked->every_ps > 0 && !asked->series && !asked->trace) {
        return weft_fail(error, WEFT_USAGE,
                         "{every} is for {series} and {trace}; write one of them");
    }
    if (is_packet && (asked->flows || (asked->trace && !is_job))) {
        sim->records.flow_limit = flow_records_max;
    }
    if (asked->series || asked->trace) {
        sim->records.sample_ps = asked->every_ps > 0 ? asked->every_ps : every_default_ps;
        sim->records.sample_limit = asked->trace ? trace_samples_max : series_rows_max;
    }
    sim->timeline |= asked->trace && is_job;
    sim->progress = &simulation->environment->progress.simulation;
    return true;
}

// Records of flows that the flow engine played, which keeps none itself.
static void take_flows(struct weft_records *records, const struct simulation_played *played,
                       struct weft_arena *arena)
{
    const struct weft_flow_list *flows = played->flows;
    struct weft_flow_record *rows = WEFT_NEW(arena, struct weft_flow_record, flows->count);
    for (uint32_t i = 0; i < flows->count; i++) {
        rows[i] = (struct weft_flow_record){.start_ps = flows->start_ps[i],
                                            .end_ps = played->ends_ps[i],
                                            .size_bytes = flows->size_bytes[i],
                                            .from = flows->from[i],
                                            .to = flows->to[i],
                                            .task = i};
    }
    records->flows = rows;
    records->flow_count = flows->count;
}

// Puts what the engine kept into the result, with a note where it is less than was asked for. The
// flow engine keeps no records of flows; for a list they follow from the list and its ends.
void simulation_keep_records(struct simulation *simulation, const struct simulation_played *played)
{
    const struct weft_request_records *asked = &simulation->request->records;
    const struct weft_sim_result *sim = &simulation->result->sim;
    struct weft_request_environment *environment = simulation->environment;
    struct weft_records records = sim->records;
    bool is_packet = simulation->options.engine == WEFT_ENGINE_PACKET;
    if (!is_packet && played->flows != NULL && (asked->flows || asked->trace)) {
        take_flows(&records, played, environment->base.arena);
    }
    if (records.flows_left_out > 0) {
        weft_request_note(environment, "records of %llu flows are left out; the first %u are there",
                          (unsigned long long)records.flows_left_out, records.flow_count);
    }
    if (records.sample_ps > simulation->options.records.sample_ps) {
        char unit[WEFT_UNIT_TEXT];
        weft_request_note(environment, "links are sampled every %s, to bound what is written",
                          weft_show_time(unit, records.sample_ps));
    }
    simulation->result->records = (struct weft_simulated_records){
        .records = records,
        .trace = {.fabric = &simulation->network->fabric,
                  .jobs = played->jobs,
                  .job_count = played->job_count,
                  .task_start_ps = sim->task_start_ps,
                  .task_end_ps = sim->task_end_ps,
                  .records = records,
                  .slice_limit = trace_slices_max},
    };
}

// ---- the entry of a job in a snapshot ----

bool simulation_refuse_snapshot(const struct simulation *simulation)
{
    const struct weft_request_records *asked = &simulation->request->records;
    const struct weft_stated rows[] = {
        {asked->snapshot, "snapshot"}, {asked->name != NULL, "job-name"}, {NULL}};
    return weft_refuse_stated(rows, simulation->environment->base.error,
                              "is for what one job asks in an iteration; name a task graph, a "
                              "trace, or {plan} alone");
}

bool simulation_ask_snapshot(const struct simulation *simulation)
{
    const struct weft_request_records *asked = &simulation->request->records;
    if (asked->name != NULL && !asked->snapshot) {
        return weft_fail(simulation->environment->base.error, WEFT_USAGE,
                         "{job-name} is for {snapshot}; write that, too");
    }
    return simulation->load_count <= 1 || simulation_refuse_snapshot(simulation);
}

// The samples of the links that carried anything. Samples are rates at moments: they are scaled so
// that together they are the bytes that the link carried, and none is above what it can carry.
static void take_series(struct weft_series_set *set, const struct weft_fabric *fabric,
                        const struct weft_sim_result *result, struct weft_arena *arena)
{
    const struct weft_records *records = &result->records;
    uint32_t link_count = fabric->link_count;
    uint32_t *place = WEFT_NEW(arena, uint32_t, link_count);
    struct weft_series *series = WEFT_NEW(arena, struct weft_series, link_count);
    const char **names = WEFT_NEW(arena, const char *, link_count);
    double *capacity_Bps = WEFT_NEW(arena, double, link_count);
    double *total = WEFT_NEW(arena, double, link_count);
    uint32_t count = 0;
    for (uint32_t l = 0; l < link_count; l++) {
        place[l] = result->link_bytes[l] > 0 ? count++ : WEFT_NONE;
    }
    double *bytes = WEFT_NEW(arena, double, (size_t)count *SAMPLES);
    for (uint32_t i = 0; i < records->sample_count; i++) {
        const struct weft_link_sample *sample = &records->samples[i];
        uint64_t at = sample->time_ps / records->sample_ps;
        if (place[sample->link] != WEFT_NONE && at > 0 && at <= SAMPLES) {
            bytes[(size_t)place[sample->link] * SAMPLES + at - 1] += (double)sample->bytes;
            total[sample->link] += (double)sample->bytes;
        }
    }
    double step_s = weft_seconds(records->sample_ps);
    for (uint32_t l = 0; l < link_count; l++) {
        if (place[l] == WEFT_NONE) {
            continue;
        }
        double *own = bytes + (size_t)place[l] * SAMPLES;
        double scale = total[l] > 0 ? result->link_bytes[l] / total[l] : 0;
        for (uint32_t i = 0; i < SAMPLES; i++) {
            own[i] = fmin(own[i] * scale, fabric->links[l].rate_Bps * step_s);
        }
        series[place[l]] = (struct weft_series){records->sample_ps, SAMPLES, own};
        names[place[l]] =
            weft_arena_format(arena, "%u-%u", fabric->links[l].from, fabric->links[l].to);
        capacity_Bps[place[l]] = fabric->links[l].rate_Bps;
    }
    *set = (struct weft_series_set){count, series, names, capacity_Bps};
}

bool simulation_keep_snapshot(struct simulation *simulation, const struct weft_sim_job *job)
{
    const struct weft_environment *base = &simulation->environment->base;
    const char *name = simulation->request->records.name;
    const struct weft_fabric *fabric = &simulation->network->fabric;
    struct weft_sim_options options = simulation->options;
    uint64_t iteration_ps = simulation->result->sim.iteration_ps[0];
    struct weft_sim_result result;
    struct weft_series_set set;
    struct weft_measured_demand measured;
    if (iteration_ps < SAMPLES) {
        return weft_fail(base->error, WEFT_INPUT, "{snapshot}: an iteration must take time");
    }
    options.iterations = 1;
    options.timings = NULL;
    options.progress = NULL;
    options.records = (struct weft_record_options){
        .sample_ps = (iteration_ps + SAMPLES - 1) / SAMPLES,
        .sample_limit = (2 * SAMPLES + 2) * (fabric->link_count + 1),
    };
    if (!weft_sim_run_jobs(&result, simulation->network, job, 1, &options, base)) {
        return false;
    }
    take_series(&set, fabric, &result, base->arena);
    if (set.link_count == 0) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{snapshot}: the job sends nothing, so it shares nothing");
    }
    if (!weft_demand_measure(&measured, set.series, set.link_count, result.iteration_ps[0], base) ||
        !weft_snapshot_of_series(&simulation->result->records.snapshot, &set, &measured,
                                 name == NULL ? "job" : name, 0, base)) {
        return weft_wrap(base->error, "{snapshot}");
    }
    weft_request_note_measured(&measured, set.link_count, simulation->environment);
    return true;
}
