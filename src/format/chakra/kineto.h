// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CHAKRA_KINETO_H
#define WEFT_FORMAT_CHAKRA_KINETO_H

// What the steps of reading a Kineto trace, alone or with the host's, share:
//
//   JSON ──► kineto.c: events by threads and streams ──► timeline.c: nodes and what they wait for
//                                  comms.c: collectives ──►
//
// Nodes are in the JSON that Chakra's feeder reads, which json.c makes messages of.

#include "format/syntax/idmap.h"
#include "format/syntax/json.h"
#include "read.h"

#include <string.h>

enum kineto_kind {
    KINETO_OPERATOR, // a host's thread was in an operator of PyTorch
    KINETO_CALL,     // in a call of CUDA's runtime or driver
    KINETO_GPU,      // a kernel, copy or fill on a stream
    KINETO_NOTE,     // a user's annotation, which tells a record function alone
    KINETO_SYNC,     // what a call waited for, where synchronization was recorded
};

struct kineto_event {
    enum kineto_kind kind;
    uint32_t place; // in traceEvents
    uint64_t lane_key;
    uint32_t lane;    // the thread or stream; WEFT_NONE for notes and synchronization
    int64_t begin_ns; // since the first event
    int64_t end_ns;
    int64_t settled_ns;     // on a stream: when this and all before it had ended
    int64_t issued_ns;      // on a stream: when the last call of this and those before it began
    uint32_t launch;        // on a stream: the call; of a call: the last that it launched
    uint32_t next_launched; // on a stream: another of the same call
    uint32_t gap_from;      // the event of another thread that its thread waited for before it
    bool ends_piece;        // others wait for its end
    double ts_us;           // as in the file
    double dur_us;
    const char *name;
    const json_t *args; // may be NULL
    const json_t *host; // its node in the host's trace; NULL = none
};

// By which id an event is found.
enum kineto_id { KINETO_BY_CALL, KINETO_BY_SYNC, KINETO_BY_OPERATOR, KINETO_BY_RECORD };

// The events of one rank by their begin; all in the caller's scratch arena.
struct kineto {
    uint32_t rank_count; // of the job
    uint32_t event_count;
    struct kineto_event *events;
    uint32_t lane_count; // threads, then streams
    uint32_t thread_count;
    uint32_t *lane_first; // CSR into lane_events, which are in the order of time
    uint32_t *lane_events;
    struct weft_idmap ids;
};

// A whole number of 0 to 2^53, or its digits as a text; -1 = it is none.
int64_t kineto_whole(const json_t *value);
static inline int64_t kineto_number(const json_t *object, const char *key)
{
    return kineto_whole(json_object_get(object, key));
}
static inline bool kineto_named(const struct kineto_event *event, const char *part)
{
    return strstr(event->name, part) != NULL;
}
// Puts "event 3 'name'" before a message. Returns false, as weft_wrap.
bool kineto_wrap(struct weft_error *error, const struct kineto_event *event);
// Fails with INPUT naming the event. O(events log events).
bool kineto_read(struct kineto *kineto, const json_t *document, uint32_t rank_count,
                 struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// An attribute of a node of the host's trace; NULL = none.
const json_t *kineto_attribute(const json_t *node, const char *key);
// Joins the nodes of the host's trace to events by their record functions.
bool kineto_read_host(struct kineto *kineto, const json_t *document,
                      struct weft_chakra_joined *joined, struct weft_error *error) WEFT_MUST_USE;
// The event with that id, and the stream with those; WEFT_NONE = none. O(1), O(streams).
uint32_t kineto_find(const struct kineto *kineto, enum kineto_id by, int64_t id);
uint32_t kineto_stream(const struct kineto *kineto, int64_t device, int64_t stream);

// Adds the nodes of a rank to `list`, and the rank's devices to pair->device_count. Temporaries lie
// in `scratch`. O(events log events + waits of streams * streams).
bool kineto_add_nodes(json_t *list, json_t *groups, struct kineto *kineto, struct chakra_pair *pair,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Adds the groups that the traces' heads state to `groups`: lists of ranks by name.
void kineto_read_groups(json_t *groups, const json_t *document, const json_t *host);
// Describes in `node` what a kernel communicates, if it does, and its group in `groups`.
bool kineto_read_comm(json_t *node, bool *communicates, json_t *groups, const struct kineto *kineto,
                      const struct kineto_event *event, struct weft_error *error) WEFT_MUST_USE;

#endif
