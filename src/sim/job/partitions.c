// SPDX-License-Identifier: Apache-2.0
// Jobs played with packets in several partitions, window by window.
//
// The end of a message may have others begin at that instant anywhere in the fabric, so that no
// partition may play beyond it. But an end that has others begin is the last of its task's
// messages, or of its ring's round, and when that comes is known in time: what reaches a receiver
// within the latency of its last link is on that link already (packet/partition/mailbox.c). A
// window is no longer than that latency and than the lookahead, and ends where the next task or
// round may; all partitions stand at that instant when it begins others. So jobs play as they do in
// one partition, but for the order of what is simultaneous, and a window costs a look at the
// messages that became due in it. A packet that is on its last link in the mail of another
// partition is counted when it is taken: a window ends before the first of those.

#include "executor.h"
#include "sim/partitioned.h"

#include <math.h>

// What is known of the messages of an owner, a task or a run of a ring.
struct owner_due {
    uint64_t end_ps;    // the last of those that are due does not end before
    uint32_t due_count; // messages that are due
    bool is_pending;    // in `pending`
};

struct player {
    struct executor *executor;
    struct sim_partitioned *partitioned;
    struct owner_due *owners; // tasks, then runs
    bool *is_due;             // per slot of flows
    uint32_t *pending;        // owners whose messages were all due when they were put here
    uint32_t pending_count;
};

// ---- which jobs can ----

static bool has_way_back(const struct executor *executor, const struct weft_sim_job *job,
                         uint32_t from, uint32_t to)
{
    uint32_t a = executor_server(job, from);
    uint32_t b = executor_server(job, to);
    return a == b || weft_routes_path_count(executor->net.routes, b, a) > 0;
}

static bool ring_has_ways_back(const struct executor *executor, const struct weft_sim_job *job,
                               const uint32_t *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!has_way_back(executor, job, members[i], members[(i + 1) % count])) {
            return false;
        }
    }
    return true;
}

// Whether acknowledgements of all transfers and rings have a way back; else they are known at once,
// without a lookahead.
static bool job_has_ways_back(const struct executor *executor, uint32_t id)
{
    const struct weft_sim_job *job = &executor->jobs[id];
    const struct weft_taskgraph *graph = job->graph;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        if (graph->kind[task] == WEFT_TASK_TRANSFER &&
            !has_way_back(executor, job, graph->from[task], graph->to[task])) {
            return false;
        }
    }
    for (uint32_t g = 0; g < graph->group_count; g++) {
        const struct executor_group *group = &executor->groups[executor->first_group[id] + g];
        uint32_t first = graph->group_first[g];
        if (!ring_has_ways_back(executor, job, &graph->group_members[first],
                                graph->group_first[g + 1] - first)) {
            return false;
        }
        for (uint32_t r = 0; r < group->ring_count; r++) {
            if (!ring_has_ways_back(executor, job, group->rings[r].members,
                                    group->rings[r].member_count)) {
                return false;
            }
        }
    }
    return true;
}

// The shortest time on the last link of a path.
static uint64_t last_link_ps(const struct weft_fabric *fabric)
{
    uint64_t least_ps = WEFT_NEVER;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (link->to < fabric->server_count && link->latency_ps < least_ps) {
            least_ps = link->latency_ps;
        }
    }
    return least_ps;
}

// How long a window may be; 0: these jobs are played in one partition. MLTCP's weights follow what
// the whole job has sent.
static uint64_t divide(struct packet_partitioning *partitioning, const struct executor *executor,
                       struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_simnet *net = &executor->net;
    if (net->circuits != NULL || net->packets.scales_growth ||
        !sim_partitioned_divide(partitioning, net, arena, scratch)) {
        return 0;
    }
    for (uint32_t job = 0; job < executor->job_count; job++) {
        if (!job_has_ways_back(executor, job)) {
            return 0;
        }
    }
    uint64_t last_ps = last_link_ps(net->fabric);
    return last_ps < partitioning->lookahead_ps ? last_ps : partitioning->lookahead_ps;
}

// ---- when owners end ----

static uint32_t owner_index(const struct executor *executor, uint32_t owner)
{
    uint32_t tasks = executor->first_task[executor->job_count];
    return (owner & EXECUTOR_RUN_OWNER) == 0 ? owner : tasks + (owner & ~EXECUTOR_RUN_OWNER);
}

static uint32_t messages_left(const struct executor *executor, uint32_t index)
{
    uint32_t tasks = executor->first_task[executor->job_count];
    return index < tasks ? executor->tasks.parts_left[index]
                         : executor->rings.runs[index - tasks].flows_left;
}

static void take_note(struct player *player, const struct packet_due_note *note)
{
    const struct executor *executor = player->executor;
    uint32_t index = owner_index(executor, executor->net.packets.flows[note->flow].end.owner);
    struct owner_due *owner = &player->owners[index];
    if (note->end_ps == WEFT_NEVER) {
        owner->due_count -= player->is_due[note->flow];
        player->is_due[note->flow] = false;
        return;
    }
    owner->due_count += !player->is_due[note->flow];
    player->is_due[note->flow] = true;
    owner->end_ps = note->end_ps > owner->end_ps ? note->end_ps : owner->end_ps;
    if (!owner->is_pending && owner->due_count == messages_left(executor, index)) {
        owner->is_pending = true;
        player->pending[player->pending_count++] = index;
    }
}

static void take_notes(struct player *player)
{
    const struct packet_partitions *partitions = &player->partitioned->partitions;
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        const struct packet_mailbox *mailbox = &partitions->partitions[p]->mailbox;
        for (uint32_t i = 0; i < mailbox->note_count; i++) {
            take_note(player, &mailbox->notes[i]);
        }
    }
}

// The first instant at which one of the owners may end of which all messages are due; those that
// have ended, or are not all due any more, leave.
static uint64_t next_owner_ps(struct player *player)
{
    uint64_t next_ps = WEFT_NEVER;
    for (uint32_t i = 0; i < player->pending_count;) {
        struct owner_due *owner = &player->owners[player->pending[i]];
        if (owner->due_count == 0 ||
            owner->due_count < messages_left(player->executor, player->pending[i])) {
            owner->is_pending = false;
            player->pending[i] = player->pending[--player->pending_count];
            continue;
        }
        next_ps = owner->end_ps < next_ps ? owner->end_ps : next_ps;
        i++;
    }
    return next_ps;
}

static void take_ends(struct player *player)
{
    struct executor *executor = player->executor;
    for (const struct packet_partition_end *end;
         (end = sim_partitioned_take(player->partitioned)) != NULL;) {
        struct packet_end who = executor->net.packets.flows[end->flow].end;
        struct weft_active_end ended = {who.owner, who.path_id, (double)end->end_ps};
        uint32_t index = owner_index(executor, who.owner);
        WEFT_ASSERT(player->is_due[end->flow]);
        player->is_due[end->flow] = false;
        player->owners[index].due_count--;
        uint32_t job;
        uint32_t task = executor_owner_task(executor, who.owner, &job);
        double end_ps = ended.end_ps + weft_simnet_tail_ps(&executor->net, who.path_id, 0);
        executor_flow_ended(executor, &ended);
        if (messages_left(executor, index) == 0) {
            player->owners[index].end_ps = 0;
        }
        sim_partitioned_ended(player->partitioned, end, end_ps, job, task);
    }
}

// ---- windows ----

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// The executor's next event, rounded up as in a run in one partition.
static uint64_t next_event_ps(const struct executor *executor)
{
    if (executor->events.count == 0) {
        return WEFT_NEVER;
    }
    return (uint64_t)ceil(fmin(executor->events.entries[0].time_ps, (double)CLOCK_END_PS));
}

static void play_window(struct player *player, uint64_t next_ps, uint64_t event_ps)
{
    struct sim_partitioned *partitioned = player->partitioned;
    const struct packet_partitions *partitions = &partitioned->partitions;
    uint64_t owner_ps = next_owner_ps(player);
    uint64_t until_ps = least(next_ps + partitioned->closes_after_ps - 1, event_ps);
    until_ps = least(until_ps, owner_ps > next_ps ? owner_ps : next_ps);
    until_ps = least(until_ps, packet_partitions_first_last_ps(partitions) - 1);
    until_ps = least(until_ps, player->executor->watch.samples.next_ps);
    WEFT_ASSERT(until_ps >= partitions->until_ps);
    sim_partitioned_play(partitioned, until_ps);
    player->executor->net.packets.clock.now_ps = until_ps;
    take_notes(player);
    take_ends(player);
    // Nothing begins where partitions have been.
    WEFT_ASSERT(next_event_ps(player->executor) >= until_ps);
    sim_partitioned_end_window(partitioned);
}

static bool play(void *context)
{
    struct player *player = context;
    struct executor *executor = player->executor;
    struct sim_partitioned *partitioned = player->partitioned;
    executor_start_ready(executor, 0);
    while (!executor->watch.is_over) {
        uint64_t next_ps = packet_partitions_next_ps(&partitioned->partitions);
        uint64_t event_ps = next_event_ps(executor);
        uint64_t first_ps = least(next_ps, event_ps);
        sim_partitioned_skip_samples(partitioned, first_ps);
        sim_partitioned_free_slots(partitioned, first_ps);
        if (event_ps < next_ps) {
            executor->net.packets.clock.now_ps = event_ps;
            executor_take_event(executor);
        } else if (next_ps < WEFT_NEVER) {
            play_window(player, next_ps, event_ps);
        } else {
            break;
        }
    }
    sim_partitioned_finish(partitioned);
    return true;
}

bool executor_play_partitions(struct executor *executor, struct weft_sim_result *result,
                              bool *played, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena beside = weft_arena_split(&scratch);
    struct sim_partitioned partitioned = {0};
    partitioned.closes_after_ps =
        divide(&partitioned.partitions.partitioning, executor, &beside, scratch);
    *played = partitioned.closes_after_ps > 0;
    if (!*played) {
        return true;
    }
    uint32_t owners = executor->first_task[executor->job_count] + executor->run_room;
    struct player player = {
        .executor = executor,
        .partitioned = &partitioned,
        .owners = WEFT_NEW(&beside, struct owner_due, owners),
        .is_due = WEFT_NEW(&beside, bool, executor->net.packets.flow_ids.room),
        .pending = WEFT_NEW_RAW(&beside, uint32_t, owners),
    };
    if (!sim_partitioned_open(&partitioned, &executor->net, &executor->watch, executor->job_count,
                              &beside, error)) {
        return false;
    }
    // The threads of the partitions end also where memory is out.
    bool ended = weft_guard(play, &player, error);
    sim_partitioned_close(&partitioned, result);
    return ended;
}
