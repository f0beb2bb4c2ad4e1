// SPDX-License-Identifier: Apache-2.0
// What a Perfetto trace shows of a run: tasks and flows as slices, links as counters.
//
// Slices of one track must not cross: each goes to the first lane of its server and sort that is
// free.

#include "perfetto.h"

#include <stdlib.h>
#include <string.h>

#define LANES_MAX 64u

// ---- slices ----

static uint64_t count_slices(const struct weft_trace *trace)
{
    uint64_t count = trace->job_count == 0 ? trace->records.flow_count : 0;
    for (uint32_t j = 0; j < trace->job_count; j++) {
        const struct weft_taskgraph *graph = trace->jobs[j].graph;
        for (uint32_t task = 0; task < graph->task_count; task++) {
            count += weft_task_is_collective(graph, task) ? weft_task_member_count(graph, task) : 1;
        }
    }
    return count;
}

static uint32_t server_of(const struct weft_sim_job *job, uint32_t server)
{
    return job->servers == NULL ? server : job->servers[server];
}

// Adds the slices of a task: on its server for compute, on the sender for a transfer, on every
// member for a collective.
static void add_task(struct perfetto *writer, uint32_t job_id, uint32_t task)
{
    const struct weft_trace *trace = writer->trace;
    const struct weft_sim_job *job = &trace->jobs[job_id];
    const struct weft_taskgraph *graph = job->graph;
    struct perfetto_slice slice = {
        .start_ps = trace->task_start_ps[job_id][task],
        .end_ps = trace->task_end_ps[job_id][task],
        .size_bytes = graph->size_bytes[task],
        .job = job_id,
        .task = task,
        .kind = graph->kind[task],
    };
    if (graph->device[task] != WEFT_NONE) {
        slice.server = server_of(job, graph->device_server[graph->device[task]]);
        slice.sort = LANE_COMPUTE;
        slice.size_bytes = 0;
        writer->slices[writer->slice_count++] = slice;
    } else if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        slice.server = server_of(job, graph->from[task]);
        slice.peer = server_of(job, graph->to[task]);
        slice.sort = LANE_SEND;
        writer->slices[writer->slice_count++] = slice;
    } else if (weft_task_is_collective(graph, task)) {
        const uint32_t *members = &graph->group_members[graph->group_first[graph->group[task]]];
        slice.peer = weft_task_member_count(graph, task);
        slice.sort = LANE_COLLECTIVE;
        for (uint32_t i = 0; i < slice.peer; i++) {
            slice.server = server_of(job, members[i]);
            writer->slices[writer->slice_count++] = slice;
        }
    }
}

static void add_flow(struct perfetto *writer, const struct weft_flow_record *flow)
{
    writer->slices[writer->slice_count++] = (struct perfetto_slice){
        .start_ps = flow->start_ps,
        .end_ps = flow->end_ps,
        .size_bytes = flow->size_bytes,
        .server = flow->from,
        .peer = flow->to,
        .job = flow->job,
        .task = flow->task,
        .retransmits = flow->retransmits,
        .sort = LANE_SEND,
        .kind = WEFT_TASK_TRANSFER,
    };
}

static int compare_slices(const void *a, const void *b)
{
    const struct perfetto_slice *x = a;
    const struct perfetto_slice *y = b;
    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    if (x->job != y->job) {
        return x->job < y->job ? -1 : 1;
    }
    if (x->task != y->task) {
        return x->task < y->task ? -1 : 1;
    }
    return (x->server > y->server) - (x->server < y->server);
}

static bool collect_slices(struct perfetto *writer, uint64_t *left_out, struct weft_error *error)
{
    const struct weft_trace *trace = writer->trace;
    uint64_t count = count_slices(trace);
    if (count > UINT32_MAX / 2) {
        return weft_fail(error, WEFT_INPUT, "%llu tasks and members are too many for a trace",
                         (unsigned long long)count);
    }
    writer->slices = WEFT_NEW_RAW(writer->arena, struct perfetto_slice, count);
    for (uint32_t j = 0; j < trace->job_count; j++) {
        for (uint32_t task = 0; task < trace->jobs[j].graph->task_count; task++) {
            add_task(writer, j, task);
        }
    }
    for (uint32_t i = 0; trace->job_count == 0 && i < trace->records.flow_count; i++) {
        add_flow(writer, &trace->records.flows[i]);
    }
    qsort(writer->slices, writer->slice_count, sizeof(struct perfetto_slice), compare_slices);
    *left_out = 0;
    if (writer->slice_count > trace->slice_limit) {
        *left_out = writer->slice_count - trace->slice_limit;
        writer->slice_count = trace->slice_limit;
    }
    return true;
}

// Gives each slice the first lane that is free; one that finds none of LANES_MAX stays out.
static uint32_t choose_lanes(struct perfetto *writer)
{
    uint32_t servers = writer->trace->fabric->server_count;
    uint32_t *heads = WEFT_NEW_RAW(writer->arena, uint32_t, (size_t)servers * LANE_SORTS);
    memset(heads, 0xff, (size_t)servers * LANE_SORTS * sizeof(*heads)); // WEFT_NONE
    writer->lanes = WEFT_NEW_RAW(writer->arena, struct perfetto_lane, writer->slice_count);
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < writer->slice_count; i++) {
        struct perfetto_slice *slice = &writer->slices[i];
        uint32_t number = 0;
        uint32_t *link = &heads[slice->server * LANE_SORTS + slice->sort];
        while (*link != WEFT_NONE &&
               writer->lanes[*link].end_ns > slice->start_ps / PERFETTO_PS_PER_NS) {
            link = &writer->lanes[*link].next;
            number++;
        }
        if (number == LANES_MAX) {
            slice->lane = WEFT_NONE;
            left_out++;
            continue;
        }
        if (*link == WEFT_NONE) {
            *link = writer->lane_count;
            writer->lanes[writer->lane_count++] =
                (struct perfetto_lane){0, slice->server, WEFT_NONE, number, slice->sort};
        }
        slice->lane = *link;
        writer->lanes[*link].end_ns = slice->end_ps / PERFETTO_PS_PER_NS;
    }
    return left_out;
}

// ---- counters ----

static void add_count(struct perfetto *writer, uint64_t time_ps, uint32_t link, bool is_backlog,
                      double value)
{
    struct perfetto_count *count = &writer->counts[writer->count_count];
    *count = (struct perfetto_count){time_ps / PERFETTO_PS_PER_NS, writer->count_count, value, link,
                                     is_backlog};
    writer->count_count++;
}

static int compare_counts(const void *a, const void *b)
{
    const struct perfetto_count *x = a;
    const struct perfetto_count *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

// A sample is its link's load from the instant before on, and its backlog from its own instant on.
// A link without a sample has neither.
static void collect_counts(struct perfetto *writer)
{
    const struct weft_trace *trace = writer->trace;
    const struct weft_records *records = &trace->records;
    uint64_t span_ps = records->sample_ps;
    uint64_t *last_ps = WEFT_NEW(writer->arena, uint64_t, trace->fabric->link_count);
    bool *waits = WEFT_NEW(writer->arena, bool, trace->fabric->link_count);
    size_t room = 4 * ((size_t)records->sample_count + trace->fabric->link_count);
    writer->counts = WEFT_NEW_RAW(writer->arena, struct perfetto_count, room);
    for (uint32_t i = 0; i < records->sample_count; i++) {
        const struct weft_link_sample *row = &records->samples[i];
        double room_bytes =
            trace->fabric->links[row->link].rate_Bps * (double)span_ps / (double)WEFT_PS_PER_S;
        bool gap = last_ps[row->link] > 0 && last_ps[row->link] < row->time_ps - span_ps;
        if (gap) {
            add_count(writer, last_ps[row->link], row->link, false, 0);
        }
        add_count(writer, row->time_ps - span_ps, row->link, false,
                  100 * (double)row->bytes / room_bytes);
        if (gap && waits[row->link]) {
            add_count(writer, last_ps[row->link] + span_ps, row->link, true, 0);
        }
        if (row->backlog_bytes > 0 || waits[row->link]) {
            add_count(writer, row->time_ps, row->link, true, (double)row->backlog_bytes);
        }
        waits[row->link] = row->backlog_bytes > 0;
        last_ps[row->link] = row->time_ps;
    }
    for (uint32_t link = 0; link < trace->fabric->link_count; link++) {
        if (last_ps[link] > 0) {
            add_count(writer, last_ps[link], link, false, 0);
        }
        if (waits[link]) {
            add_count(writer, last_ps[link] + span_ps, link, true, 0);
        }
    }
    WEFT_ASSERT(writer->count_count <= room);
    qsort(writer->counts, writer->count_count, sizeof(struct perfetto_count), compare_counts);
}

bool perfetto_collect(struct perfetto *writer, uint64_t *left_out, struct weft_error *error)
{
    if (!collect_slices(writer, left_out, error)) {
        return false;
    }
    *left_out += choose_lanes(writer);
    collect_counts(writer);
    return true;
}
