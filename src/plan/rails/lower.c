// SPDX-License-Identifier: Apache-2.0
// Operations of a rail as messages that an engine plays, each over one circuit.
//
//   ring        as many rounds as the collective has; a server sends in a round what came in the
//               one before
//   all-to-all  round a ring, each pair the shorter way: in its first round a server sends all that
//               goes further than itself, then what came and goes on; round a larger ring, whose
//               servers are not all in it, all circuits carry theirs side by side, as a stream of
//               chunks does
//   pair        its bytes; relayed over several circuits, side by side as well
//
// What an operation asks a port for comes behind the operation before it there, as the plan has it:
// circuits are not shared. Around the messages of an operation stand two barriers, ready and done,
// which the controller hears of. All is emitted twice, to count and to store. O(messages).

#include "plan/rails/play.h"

#include <math.h>
#include <string.h>

#define TASKS_MAX 4000000u

// Two servers that send to each other in an operation, and how many circuits they have for it.
struct hop {
    uint32_t from, to, planes;
    bool goes_back; // against the order of the ring
};

struct lowerer {
    struct rail_lowered *out;
    const struct weft_taskgraph *source;
    struct weft_task *tasks; // NULL: count
    uint32_t *before, *after;
    uint32_t task_count;
    size_t edge_count;
    uint32_t device_count;
    uint32_t *device_server;
    uint32_t *enter, *leave; // per task of the source
    uint32_t *step_of;       // WEFT_NONE: it is no operation
    uint32_t *merged;        // per transfer: the all-to-all that it is part of
    uint32_t *port_done;     // per port: the barrier of its last operation
    uint32_t *pair_done;     // [from * servers + to]: likewise
    // Of the operation that is emitted.
    const struct weft_rail_step *step;
    struct hop *hops;
    uint32_t hop_count, rounds;
    uint32_t *out_hop, *in_hop; // [2 * server + i]
    double *bytes;              // [round * hop_count + hop]
};

static uint32_t add(struct lowerer *lowerer, const struct weft_task *task)
{
    if (lowerer->tasks != NULL) {
        lowerer->tasks[lowerer->task_count] = *task;
    }
    return lowerer->task_count++;
}

static void edge(struct lowerer *lowerer, uint32_t from, uint32_t to)
{
    if (lowerer->before != NULL) {
        lowerer->before[lowerer->edge_count] = from;
        lowerer->after[lowerer->edge_count] = to;
    }
    lowerer->edge_count++;
}

// ---- what goes over which circuit ----

static void note_hop(uint32_t *slots, uint32_t server, uint32_t hop)
{
    uint32_t at = 2 * server + (slots[2 * (size_t)server] != WEFT_NONE);
    WEFT_ASSERT(slots[at] == WEFT_NONE); // rings and pairs: two neighbors at most
    slots[at] = hop;
}

static uint32_t find_hop(const struct lowerer *lowerer, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t hop = lowerer->out_hop[2 * (size_t)from + i];
        if (hop != WEFT_NONE && lowerer->hops[hop].to == to) {
            return hop;
        }
    }
    return WEFT_NONE;
}

// The circuits that the operation uses, those of equal ends as one. Rings go round in order on the
// first plane and back on every other one.
static void find_hops(struct lowerer *lowerer, struct weft_arena *arena)
{
    const struct weft_rail_step *step = lowerer->step;
    const struct weft_rail_circuit *circuits = lowerer->out->plan->circuits + step->circuit_first;
    size_t slots = 2 * (size_t)lowerer->source->server_count;
    lowerer->hops = WEFT_NEW(arena, struct hop, step->circuit_count + 1);
    lowerer->out_hop = WEFT_NEW_RAW(arena, uint32_t, slots);
    lowerer->in_hop = WEFT_NEW_RAW(arena, uint32_t, slots);
    memset(lowerer->out_hop, 0xff, slots * sizeof(uint32_t)); // WEFT_NONE
    memset(lowerer->in_hop, 0xff, slots * sizeof(uint32_t));
    lowerer->hop_count = 0;
    uint32_t low = WEFT_NONE;
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        const struct weft_rail_circuit *circuit = &circuits[c];
        if (circuit->beside) {
            continue;
        }
        low = low == WEFT_NONE ? circuit->plane : low;
        uint32_t hop = find_hop(lowerer, circuit->from, circuit->to);
        if (hop == WEFT_NONE) {
            hop = lowerer->hop_count++;
            lowerer->hops[hop] =
                (struct hop){circuit->from, circuit->to, 0, (circuit->plane - low) % 2 == 1};
            note_hop(lowerer->out_hop, circuit->from, hop);
            note_hop(lowerer->in_hop, circuit->to, hop);
        }
        lowerer->hops[hop].planes++;
    }
}

static uint32_t planes_from(const struct lowerer *lowerer, uint32_t server)
{
    uint32_t planes = 0;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t hop = lowerer->out_hop[2 * (size_t)server + i];
        planes += hop == WEFT_NONE ? 0 : lowerer->hops[hop].planes;
    }
    return planes;
}

static double *room_for(struct lowerer *lowerer, uint32_t rounds, struct weft_arena *arena)
{
    lowerer->rounds = rounds;
    lowerer->bytes = WEFT_NEW(arena, double, (size_t)rounds * lowerer->hop_count);
    return lowerer->bytes;
}

static void divide_ring(struct lowerer *lowerer, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = lowerer->source;
    uint32_t task = lowerer->step->task;
    uint32_t rounds =
        weft_task_facts[graph->kind[task]].ring_passes * (weft_task_member_count(graph, task) - 1);
    double *bytes = room_for(lowerer, rounds, arena);
    double each = weft_task_ring_bytes(graph, task) / rounds;
    for (uint32_t h = 0; h < lowerer->hop_count; h++) {
        const struct hop *hop = &lowerer->hops[h];
        double share = (double)hop->planes / planes_from(lowerer, hop->from);
        for (uint32_t r = 0; r < rounds; r++) {
            bytes[(size_t)r * lowerer->hop_count + h] = share * each;
        }
    }
}

// The hop of a ring that leads on from a server in its order, or back.
static uint32_t next_hop(const struct lowerer *lowerer, uint32_t server, bool back)
{
    const uint32_t *slots = lowerer->out_hop + 2 * (size_t)server;
    WEFT_ASSERT(slots[0] != WEFT_NONE);
    bool second = slots[1] != WEFT_NONE && lowerer->hops[slots[1]].goes_back == back;
    return slots[second ? 1 : 0];
}

// One pair's bytes round the ring, the shorter way, or half each way where both are as long.
static void send_round(struct lowerer *lowerer, uint32_t from, uint32_t to, double bytes)
{
    uint32_t count = 0; // servers of the ring
    uint32_t ahead = 0;
    uint32_t at = from;
    do {
        at = lowerer->hops[next_hop(lowerer, at, false)].to;
        count++;
        ahead = at == to ? count : ahead;
    } while (at != from);
    double share = planes_from(lowerer, from) < 2 || 2 * ahead < count ? 1
                   : 2 * ahead == count                                ? 0.5
                                                                       : 0;
    for (uint32_t way = 0; way < 2; way++) {
        double part = (way == 0 ? share : 1 - share) * bytes;
        uint32_t hops = way == 0 ? ahead : count - ahead;
        at = from;
        for (uint32_t r = 0; r < hops && part > 0; r++) {
            uint32_t hop = next_hop(lowerer, at, way == 1);
            lowerer->bytes[(size_t)r * lowerer->hop_count + hop] += part;
            at = lowerer->hops[hop].to;
        }
    }
}

// Whether servers of the ring take no part in the all-to-all but relay.
static bool has_others(const struct lowerer *lowerer, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = lowerer->source;
    bool *sends = WEFT_NEW(&scratch, bool, graph->server_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (lowerer->merged[t] == lowerer->step->task) {
            sends[graph->from[t]] = true;
        }
    }
    bool others = false;
    for (uint32_t h = 0; h < lowerer->hop_count; h++) {
        others |= !sends[lowerer->hops[h].from];
    }
    return others;
}

// All rounds at once.
static void stream(struct lowerer *lowerer)
{
    uint32_t count = lowerer->hop_count;
    for (uint32_t r = 1; r < lowerer->rounds; r++) {
        for (uint32_t h = 0; h < count; h++) {
            lowerer->bytes[h] += lowerer->bytes[(size_t)r * count + h];
        }
    }
    lowerer->rounds = 1;
}

// Pairs that all have circuits of their own send over them, others round the ring.
static void divide_exchange(struct lowerer *lowerer, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = lowerer->source;
    bool direct = true;
    for (uint32_t t = 0; t < graph->task_count && direct; t++) {
        direct = lowerer->merged[t] != lowerer->step->task ||
                 find_hop(lowerer, graph->from[t], graph->to[t]) != WEFT_NONE;
    }
    uint32_t ring = direct ? 1 : lowerer->hop_count; // rounds at most
    (void)room_for(lowerer, ring, arena);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (lowerer->merged[t] != lowerer->step->task) {
            continue;
        }
        if (direct) {
            lowerer->bytes[find_hop(lowerer, graph->from[t], graph->to[t])] +=
                (double)graph->size_bytes[t];
        } else {
            send_round(lowerer, graph->from[t], graph->to[t], (double)graph->size_bytes[t]);
        }
    }
    if (!direct && has_others(lowerer, *arena)) {
        stream(lowerer);
    }
}

static void divide(struct lowerer *lowerer, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = lowerer->source;
    uint32_t task = lowerer->step->task;
    find_hops(lowerer, arena);
    if (weft_task_is_collective(graph, task)) {
        divide_ring(lowerer, arena);
    } else if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        double *bytes = room_for(lowerer, 1, arena);
        for (uint32_t h = 0; h < lowerer->hop_count; h++) {
            bytes[h] = (double)graph->size_bytes[task];
        }
    } else {
        divide_exchange(lowerer, arena);
    }
}

// ---- messages ----

// A message waits for the one before it on its circuit, and for what its server received in the
// rounds before and sends on.
static void connect(struct lowerer *lowerer, uint32_t hop, uint32_t message, const uint32_t *last,
                    uint32_t ready)
{
    const struct hop *own = &lowerer->hops[hop];
    bool waits = last[hop] != WEFT_NONE;
    if (waits) {
        edge(lowerer, last[hop], message);
    }
    bool two = lowerer->in_hop[2 * (size_t)own->from + 1] == WEFT_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t in = lowerer->in_hop[2 * (size_t)own->from + i];
        if (in == WEFT_NONE || last[in] == WEFT_NONE ||
            (!two && lowerer->hops[in].from == own->to)) {
            continue;
        }
        edge(lowerer, last[in], message);
        waits = true;
    }
    if (!waits) {
        edge(lowerer, ready, message);
    }
}

static void emit_messages(struct lowerer *lowerer, uint32_t ready, uint32_t done,
                          struct weft_arena scratch)
{
    divide(lowerer, &scratch);
    uint32_t count = lowerer->hop_count;
    uint32_t *last = WEFT_NEW_RAW(&scratch, uint32_t, count + 1);
    uint32_t *now = WEFT_NEW_RAW(&scratch, uint32_t, count + 1);
    memset(last, 0xff, count * sizeof *last); // WEFT_NONE
    memset(now, 0xff, count * sizeof *now);
    for (uint32_t r = 0; r < lowerer->rounds; r++) {
        for (uint32_t h = 0; h < count; h++) {
            double bytes = lowerer->bytes[(size_t)r * count + h];
            if (bytes <= 0) {
                continue;
            }
            double whole = fmax(1, round(bytes / lowerer->out->divisor));
            now[h] = add(lowerer, &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                                      .size_bytes = (uint64_t)whole,
                                                      .from = lowerer->hops[h].from,
                                                      .to = lowerer->hops[h].to});
            connect(lowerer, h, now[h], last, ready);
            if (lowerer->tasks != NULL) {
                lowerer->out->message_count++;
                lowerer->out->bytes += whole;
            }
        }
        memcpy(last, now, count * sizeof *last);
    }
    for (uint32_t h = 0; h < count; h++) {
        if (last[h] != WEFT_NONE) {
            edge(lowerer, last[h], done);
        }
    }
}

// An operation comes behind the one before it at each port that it uses, and between any two
// servers: circuits of several planes between these are one link, which two would share.
static void queue_at_ports(struct lowerer *lowerer, uint32_t ready, uint32_t done)
{
    const struct weft_rail_step *step = lowerer->step;
    size_t n = lowerer->source->server_count;
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        const struct weft_rail_circuit *circuit =
            &lowerer->out->plan->circuits[step->circuit_first + c];
        uint32_t *before[3] = {&lowerer->port_done[2 * circuit->plane * n + circuit->from],
                               &lowerer->port_done[(2 * circuit->plane + 1) * n + circuit->to],
                               &lowerer->pair_done[circuit->from * n + circuit->to]};
        for (uint32_t i = 0; i < 3 && !circuit->beside; i++) {
            if (*before[i] != WEFT_NONE && *before[i] != done) {
                edge(lowerer, *before[i], ready);
            }
            *before[i] = done;
        }
    }
}

// A collective's time inside the servers, on a device of its own, comes before the port is needed.
static uint32_t add_inside(struct lowerer *lowerer, uint32_t task)
{
    uint64_t inside_ps =
        weft_task_is_collective(lowerer->source, task) ? lowerer->source->runtime_ps[task] : 0;
    if (inside_ps == 0) {
        return WEFT_NONE;
    }
    uint32_t device = lowerer->device_count++;
    if (lowerer->tasks != NULL) {
        lowerer->device_server[device] =
            lowerer->source
                ->group_members[lowerer->source->group_first[lowerer->source->group[task]]];
    }
    return add(lowerer, &(struct weft_task){
                            .kind = WEFT_TASK_LOCAL, .device = device, .runtime_ps = inside_ps});
}

static void emit_step(struct lowerer *lowerer, uint32_t index, struct weft_arena scratch)
{
    const struct weft_rail_step *step = &lowerer->out->plan->steps[index];
    lowerer->step = step;
    uint32_t inside = add_inside(lowerer, step->task);
    uint32_t ready = add(lowerer, &(struct weft_task){.kind = WEFT_TASK_BARRIER});
    uint32_t done = add(lowerer, &(struct weft_task){.kind = WEFT_TASK_BARRIER});
    if (inside != WEFT_NONE) {
        edge(lowerer, inside, ready);
    }
    edge(lowerer, ready, done);
    queue_at_ports(lowerer, ready, done);
    emit_messages(lowerer, ready, done, scratch);
    lowerer->enter[step->task] = inside != WEFT_NONE ? inside : ready;
    lowerer->leave[step->task] = done;
    lowerer->out->ready[index] = ready;
    lowerer->out->done[index] = done;
}

static void emit(struct lowerer *lowerer, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = lowerer->source;
    const struct weft_rail_result *plan = lowerer->out->plan;
    size_t ports = (size_t)2 * plan->schedule.plane_count * graph->server_count;
    lowerer->task_count = 0;
    lowerer->edge_count = 0;
    lowerer->device_count = graph->device_count;
    size_t pairs = (size_t)graph->server_count * graph->server_count;
    memset(lowerer->port_done, 0xff, ports * sizeof(uint32_t)); // WEFT_NONE
    memset(lowerer->pair_done, 0xff, pairs * sizeof(uint32_t));
    for (uint32_t s = 0; s < plan->step_count && lowerer->task_count <= TASKS_MAX; s++) {
        emit_step(lowerer, s, scratch);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (lowerer->step_of[t] == WEFT_NONE && lowerer->merged[t] == WEFT_NONE) {
            struct weft_task task = weft_taskgraph_task(graph, t);
            task.next = NULL;
            task.next_count = 0;
            lowerer->enter[t] = add(lowerer, &task);
            lowerer->leave[t] = lowerer->enter[t];
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t];
             e < graph->next_first[t + 1] && lowerer->merged[t] == WEFT_NONE; e++) {
            uint32_t next = graph->next[e];
            uint32_t into = lowerer->merged[next] == WEFT_NONE ? next : lowerer->merged[next];
            edge(lowerer, lowerer->leave[t], lowerer->enter[into]);
        }
    }
}

// Which tasks are operations, and which transfers an all-to-all is made of: as rail_compile has it.
static void find_operations(struct lowerer *lowerer)
{
    const struct weft_taskgraph *graph = lowerer->source;
    const struct weft_rail_result *plan = lowerer->out->plan;
    memset(lowerer->step_of, 0xff, graph->task_count * sizeof(uint32_t)); // WEFT_NONE
    memset(lowerer->merged, 0xff, graph->task_count * sizeof(uint32_t));
    for (uint32_t s = 0; s < plan->step_count; s++) {
        lowerer->step_of[plan->steps[s].task] = s;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER && lowerer->step_of[t] == WEFT_NONE) {
            lowerer->merged[t] = graph->next[graph->next_first[t]];
        }
    }
}

bool rail_lower(struct rail_lowered *lowered, struct weft_arena *arena, struct weft_arena scratch,
                struct weft_error *error)
{
    const struct weft_taskgraph *graph = lowered->source;
    uint32_t n = graph->task_count;
    uint32_t steps = lowered->plan->step_count;
    size_t ports = (size_t)2 * lowered->plan->schedule.plane_count * graph->server_count;
    lowered->ready = WEFT_NEW(arena, uint32_t, steps + 1);
    lowered->done = WEFT_NEW(arena, uint32_t, steps + 1);
    struct lowerer lowerer = {
        .out = lowered,
        .source = graph,
        .enter = WEFT_NEW(&scratch, uint32_t, n + 1),
        .leave = WEFT_NEW(&scratch, uint32_t, n + 1),
        .step_of = WEFT_NEW(&scratch, uint32_t, n + 1),
        .merged = WEFT_NEW(&scratch, uint32_t, n + 1),
        .port_done = WEFT_NEW(&scratch, uint32_t, ports + 1),
        .pair_done =
            WEFT_NEW(&scratch, uint32_t, (size_t)graph->server_count * graph->server_count),
    };
    find_operations(&lowerer);
    emit(&lowerer, scratch);
    if (lowerer.task_count > TASKS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "more than %u messages an iteration in an engine; take fewer replicas or "
                         "micro-batches",
                         TASKS_MAX);
    }
    lowerer.tasks = WEFT_NEW(&scratch, struct weft_task, lowerer.task_count + 1);
    lowerer.before = WEFT_NEW(&scratch, uint32_t, lowerer.edge_count + 1);
    lowerer.after = WEFT_NEW(&scratch, uint32_t, lowerer.edge_count + 1);
    lowerer.device_server = WEFT_NEW(&scratch, uint32_t, lowerer.device_count + 1);
    memcpy(lowerer.device_server, graph->device_server,
           graph->device_count * sizeof *lowerer.device_server);
    emit(&lowerer, scratch);
    weft_task_connect(lowerer.tasks, lowerer.task_count, lowerer.before, lowerer.after,
                      lowerer.edge_count, &scratch);
    const struct weft_taskgraph_draft draft = {graph->server_count, lowerer.device_count,
                                               lowerer.device_server, lowerer.task_count,
                                               lowerer.tasks};
    struct weft_arena inner = scratch;
    return weft_taskgraph_build(&lowered->graph, &draft, arena, inner, error);
}
