// SPDX-License-Identifier: Apache-2.0
// A run as a native Perfetto trace: servers are processes with tracks of what they compute, send
// and reduce, links have counters.
//
// Events are in order of time; at one instant, a lane's slices in order of their beginnings.

#include "perfetto.h"

#include <perfetto.pb-c.h>
#include <stdlib.h>
#include <string.h>

#define SEQUENCE 1u
// Bytes that a packet takes at most, without its names.
#define EVENT_BYTES 160u
#define NAME_BYTES 96u

static const char *const lane_names[LANE_SORTS] = {"compute", "sends", "collectives"};

// Kinds of tracks, in the top of their ids.
enum track_kind { TRACK_SERVER = 1, TRACK_LANE, TRACK_LINKS, TRACK_LOAD, TRACK_BACKLOG };

// What slices are annotated with; names are interned in this order, from 1 on.
enum note { NOTE_BYTES, NOTE_JOB, NOTE_TASK, NOTE_TO, NOTE_RANKS, NOTE_RETRANSMITS, NOTE_COUNT };
static const char *const note_names[NOTE_COUNT] = {"bytes", "job",   "task",
                                                   "to",    "ranks", "retransmits"};

struct event {
    uint64_t time_ns;
    uint64_t order;
};

static uint64_t track_id(enum track_kind kind, uint64_t index)
{
    return ((uint64_t)kind << 40) + index + 1;
}

// ---- messages ----

static void put(struct perfetto *writer, Perfetto__TracePacket *packet)
{
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    size_t length = protobuf_c_message_get_packed_size(&packet->base);
    WEFT_ASSERT(writer->room - writer->length > length + 16);
    writer->data[writer->length++] = 1 << 3 | 2; // Trace.packet
    size_t rest = length;
    for (; rest > 0x7f; rest >>= 7) {
        writer->data[writer->length++] = (uint8_t)(rest & 0x7f) | 0x80;
    }
    writer->data[writer->length++] = (uint8_t)rest;
    writer->length += protobuf_c_message_pack(&packet->base, &writer->data[writer->length]);
}

static void put_track(struct perfetto *writer, Perfetto__TrackDescriptor *track)
{
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    track->has_uuid = true;
    packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
    packet.track_descriptor = track;
    put(writer, &packet);
}

static void put_process(struct perfetto *writer, uint64_t uuid, uint32_t pid, char *name)
{
    Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
    Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
    track.uuid = uuid;
    process.has_pid = true;
    process.pid = (int32_t)pid;
    process.process_name = name;
    track.process = &process;
    put_track(writer, &track);
}

// Writes a process for each server that has lanes, and in it a track for each lane.
static void put_servers(struct perfetto *writer)
{
    uint32_t servers = writer->trace->fabric->server_count;
    bool *used = WEFT_NEW(writer->arena, bool, servers);
    char name[64];
    for (uint32_t i = 0; i < writer->lane_count; i++) {
        used[writer->lanes[i].server] = true;
    }
    for (uint32_t server = 0; server < servers; server++) {
        if (used[server]) {
            snprintf(name, sizeof(name), "server %u", server);
            put_process(writer, track_id(TRACK_SERVER, server), server + 1, name);
        }
    }
    for (uint32_t i = 0; i < writer->lane_count; i++) {
        const struct perfetto_lane *lane = &writer->lanes[i];
        Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
        snprintf(name, sizeof(name), lane->number == 0 ? "%s" : "%s %u", lane_names[lane->sort],
                 lane->number + 1);
        track.uuid = track_id(TRACK_LANE, i);
        track.has_parent_uuid = true;
        track.parent_uuid = track_id(TRACK_SERVER, lane->server);
        track.name = name;
        put_track(writer, &track);
    }
}

static const char *show_node(char *text, size_t room, const struct weft_fabric *fabric,
                             uint32_t node)
{
    bool is_server = node < fabric->server_count;
    snprintf(text, room, "%s %u", is_server ? "server" : "switch",
             is_server ? node : node - fabric->server_count);
    return text;
}

// Writes one process for all links, and in it a counter for the load and one for the queue of each
// link that has samples of it.
static void put_links(struct perfetto *writer)
{
    const struct weft_fabric *fabric = writer->trace->fabric;
    bool *used = WEFT_NEW(writer->arena, bool, 2 * (size_t)fabric->link_count);
    char process[] = "links";
    put_process(writer, track_id(TRACK_LINKS, 0), fabric->server_count + 1, process);
    for (uint32_t i = 0; i < writer->count_count; i++) {
        used[2 * writer->counts[i].link + writer->counts[i].is_backlog] = true;
    }
    for (uint32_t i = 0; i < 2 * fabric->link_count; i++) {
        if (!used[i]) {
            continue;
        }
        const struct weft_link *link = &fabric->links[i / 2];
        bool is_backlog = i % 2 == 1;
        Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
        Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
        char from[32], to[32], name[96], unit[] = "%";
        snprintf(name, sizeof(name), "%s > %s %s",
                 show_node(from, sizeof(from), fabric, link->from),
                 show_node(to, sizeof(to), fabric, link->to), is_backlog ? "queue" : "load");
        counter.has_unit = is_backlog;
        counter.unit = PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
        counter.unit_name = is_backlog ? NULL : unit;
        track.uuid = track_id(is_backlog ? TRACK_BACKLOG : TRACK_LOAD, i / 2);
        track.has_parent_uuid = true;
        track.parent_uuid = track_id(TRACK_LINKS, 0);
        track.name = name;
        track.counter = &counter;
        put_track(writer, &track);
    }
}

static Perfetto__InternedName *intern(struct perfetto *writer, uint64_t iid, const char *text)
{
    Perfetto__InternedName *name = WEFT_NEW(writer->arena, Perfetto__InternedName, 1);
    perfetto__interned_name__init(name);
    name->has_iid = true;
    name->iid = iid;
    name->name = weft_arena_text(writer->arena, text, strlen(text));
    return name;
}

static uint64_t name_id(const struct perfetto_slice *slice)
{
    return slice->kind == WEFT_TASK_TRANSFER ? WEFT_TASK_KIND_COUNT + 1 + (uint64_t)slice->peer
                                             : 1 + (uint64_t)slice->kind;
}

// The first packet of events: it clears the state of the sequence and brings all names.
static void put_names(struct perfetto *writer)
{
    uint32_t servers = writer->trace->fabric->server_count;
    uint32_t names_max = WEFT_TASK_KIND_COUNT + servers;
    Perfetto__InternedName **names = WEFT_NEW(writer->arena, Perfetto__InternedName *, names_max);
    Perfetto__InternedName *notes[NOTE_COUNT], *sorts[LANE_SORTS];
    bool *used = WEFT_NEW(writer->arena, bool, servers);
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
        names[count++] = intern(writer, 1 + kind, weft_task_facts[kind].name);
    }
    for (uint32_t i = 0; i < writer->slice_count; i++) {
        const struct perfetto_slice *slice = &writer->slices[i];
        if (slice->kind == WEFT_TASK_TRANSFER && !used[slice->peer]) {
            char text[32];
            snprintf(text, sizeof(text), "to %u", slice->peer);
            used[slice->peer] = true;
            names[count++] = intern(writer, name_id(slice), text);
        }
    }
    for (uint32_t i = 0; i < NOTE_COUNT; i++) {
        notes[i] = intern(writer, 1 + i, note_names[i]);
    }
    for (uint32_t i = 0; i < LANE_SORTS; i++) {
        sorts[i] = intern(writer, 1 + i, lane_names[i]);
    }
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
    data.n_event_names = count;
    data.event_names = names;
    data.n_debug_annotation_names = NOTE_COUNT;
    data.debug_annotation_names = notes;
    data.n_event_categories = LANE_SORTS;
    data.event_categories = sorts;
    packet.interned_data = &data;
    packet.has_sequence_flags = true;
    packet.sequence_flags = 1;
    packet.has_first_packet_on_sequence = true;
    packet.first_packet_on_sequence = true;
    put(writer, &packet);
}

// ---- events ----

static void put_event(struct perfetto *writer, uint64_t time_ns, Perfetto__TrackEvent *event)
{
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    event->has_type = true;
    event->has_track_uuid = true;
    packet.has_timestamp = true;
    packet.timestamp = time_ns;
    packet.has_sequence_flags = true;
    packet.sequence_flags = 2;
    packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
    packet.track_event = event;
    put(writer, &packet);
}

static void put_count(struct perfetto *writer, const struct perfetto_count *count)
{
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
    event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
    event.track_uuid = track_id(count->is_backlog ? TRACK_BACKLOG : TRACK_LOAD, count->link);
    if (count->is_backlog) {
        event.counter_value_field_case = PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE;
        event.counter_value = (int64_t)count->value;
    } else {
        event.counter_value_field_case =
            PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_DOUBLE_COUNTER_VALUE;
        event.double_counter_value = count->value;
    }
    put_event(writer, count->time_ns, &event);
}

struct notes {
    Perfetto__DebugAnnotation all[NOTE_COUNT];
    Perfetto__DebugAnnotation *list[NOTE_COUNT];
    size_t count;
};

static void note(struct notes *notes, enum note name, uint64_t value)
{
    Perfetto__DebugAnnotation *annotation = &notes->all[notes->count];
    perfetto__debug_annotation__init(annotation);
    annotation->has_name_iid = true;
    annotation->name_iid = 1 + (uint64_t)name;
    annotation->has_uint_value = true;
    annotation->uint_value = value;
    notes->list[notes->count++] = annotation;
}

// Begins a slice on its lane, with its numbers as annotations; names and categories were
// interned before.
static void put_begin(struct perfetto *writer, const struct perfetto_slice *slice)
{
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
    struct notes notes = {.count = 0};
    note(&notes, NOTE_TASK, slice->task);
    if (writer->trace->job_count > 1) {
        note(&notes, NOTE_JOB, slice->job);
    }
    if (slice->sort != LANE_COMPUTE) {
        note(&notes, NOTE_BYTES, slice->size_bytes);
        note(&notes, slice->sort == LANE_SEND ? NOTE_TO : NOTE_RANKS, slice->peer);
    }
    if (slice->retransmits > 0) {
        note(&notes, NOTE_RETRANSMITS, slice->retransmits);
    }
    uint64_t category = 1 + (uint64_t)slice->sort;
    event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
    event.track_uuid = track_id(TRACK_LANE, slice->lane);
    event.has_name_iid = true;
    event.name_iid = name_id(slice);
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.n_debug_annotations = notes.count;
    event.debug_annotations = notes.list;
    put_event(writer, slice->start_ps / PERFETTO_PS_PER_NS, &event);
}

static void put_end(struct perfetto *writer, const struct perfetto_slice *slice)
{
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
    event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    event.track_uuid = track_id(TRACK_LANE, slice->lane);
    put_event(writer, slice->end_ps / PERFETTO_PS_PER_NS, &event);
}

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a;
    const struct event *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

// Writes the begins and ends of all slices and the counters' values in the order of their
// times, as Perfetto wants the packets of a sequence.
static void put_events(struct perfetto *writer)
{
    struct event *events = WEFT_NEW_RAW(writer->arena, struct event, 2 * writer->slice_count);
    size_t count = 0;
    for (uint32_t i = 0; i < writer->slice_count; i++) {
        const struct perfetto_slice *slice = &writer->slices[i];
        if (slice->lane != WEFT_NONE) {
            events[count++] = (struct event){slice->start_ps / PERFETTO_PS_PER_NS, 2 * (uint64_t)i};
            events[count++] =
                (struct event){slice->end_ps / PERFETTO_PS_PER_NS, 2 * (uint64_t)i + 1};
        }
    }
    qsort(events, count, sizeof(*events), compare_events);
    uint32_t next = 0; // counter
    for (size_t i = 0; i < count; i++) {
        while (next < writer->count_count && writer->counts[next].time_ns <= events[i].time_ns) {
            put_count(writer, &writer->counts[next++]);
        }
        const struct perfetto_slice *slice = &writer->slices[events[i].order / 2];
        if (events[i].order % 2 == 0) {
            put_begin(writer, slice);
        } else {
            put_end(writer, slice);
        }
    }
    while (next < writer->count_count) {
        put_count(writer, &writer->counts[next++]);
    }
}

bool weft_perfetto_write(const void **data, size_t *length, uint64_t *left_out,
                         const struct weft_trace *trace, struct weft_arena *arena,
                         struct weft_error *error)
{
    struct perfetto writer = {.trace = trace, .arena = arena};
    uint64_t cut = 0;
    if (!perfetto_collect(&writer, &cut, error)) {
        return false;
    }
    const struct weft_fabric *fabric = trace->fabric;
    writer.room = EVENT_BYTES * (2 * (size_t)writer.slice_count + writer.count_count + 64) +
                  NAME_BYTES * (2 * (size_t)writer.lane_count + 3 * (size_t)fabric->server_count +
                                4 * (size_t)fabric->link_count);
    writer.data = weft_arena_alloc_raw(arena, writer.room, 1);
    put_names(&writer);
    put_servers(&writer);
    if (writer.count_count > 0) {
        put_links(&writer);
    }
    put_events(&writer);
    *data = writer.data;
    *length = writer.length;
    *left_out = cut;
    return true;
}
