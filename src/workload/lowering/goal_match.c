// SPDX-License-Identifier: Apache-2.0
// Which send of a GOAL schedule belongs to which receive.
//
// A receive may take a message from any source or with any tag, so the pairs depend on an order of
// events. MPI's rule (MPI 4.0, section 3.5, "non-overtaking") is played here on a run in which
// nothing takes time: operations happen in the order in which they become ready. A send takes the
// receive that was posted first among those that accept it; a receive takes the accepted send that
// arrived first. Messages that no such run can pair are named as errors.
//
// The receives of a rank are sorted by source and tag; equal ones form a queue, so that a send has
// to look into four queues at most (source or any, tag or any). O((operations + edges) log
// operations of a rank).

#include "goal.h"

#include <stdlib.h>

struct want {
    uint32_t source;
    uint32_t tag;
    uint32_t op;
};

// The edges by the operation at which they begin: list[first[op]] .. list[first[op + 1] - 1].
struct goal_next {
    uint32_t *first;
    uint32_t *list;
};

// Receives of one rank with equal source and tag, and the sends that came before them.
struct queue {
    uint32_t source;
    uint32_t tag;
    uint32_t posted; // first of a list
    uint32_t posted_last;
    uint32_t come;
    uint32_t come_last;
    uint32_t hoped; // sends that could still come, for the diagnosis
};

struct come {
    uint32_t send;
    uint32_t next;
};

struct matching {
    const struct weft_goal *goal;
    struct goal_next next;
    uint32_t *rank; // of each operation
    uint32_t *waits;
    uint32_t *line; // operations that are ready
    uint32_t line_count;
    struct queue *queues;
    uint32_t *queue_first; // CSR by rank
    uint32_t *queue_of;    // by receive
    uint32_t *posted_next; // by receive
    uint32_t *posted_at;   // by receive: the order of posting
    uint32_t posted_count;
    struct come *come;
    uint32_t come_count;
    uint32_t *send_of; // by receive
    bool *taken;       // by send
};

// ---- operations ----

// The rank of an operation. O(log ranks).
static uint32_t goal_rank(const struct weft_goal *goal, uint32_t op)
{
    uint32_t low = 0;
    uint32_t high = goal->rank_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (goal->rank_first[middle + 1] <= op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// "rank 3, line 17 (l5)" or "rank 3, operation 4", in `arena`.
static const char *goal_place(const struct weft_goal *goal, uint32_t op, struct weft_arena *arena)
{
    uint32_t rank = goal_rank(goal, op);
    if (goal->line == NULL) {
        return weft_arena_format(arena, "rank %u, operation %u", rank, op - goal->rank_first[rank]);
    }
    const char *label = goal->labels[op];
    return label[0] == '\0'
               ? weft_arena_format(arena, "rank %u, line %u", rank, goal->line[op])
               : weft_arena_format(arena, "rank %u, line %u (%.40s)", rank, goal->line[op], label);
}

static struct goal_next goal_next_build(const struct weft_goal *goal, struct weft_arena *arena)
{
    struct goal_next next = {
        .first = WEFT_NEW(arena, uint32_t, (size_t)goal->op_count + 2),
        .list = WEFT_NEW_RAW(arena, uint32_t, goal->edge_count),
    };
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        next.first[goal->before[e] + 2]++;
    }
    for (uint32_t op = 0; op < goal->op_count; op++) {
        next.first[op + 2] += next.first[op + 1];
    }
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        next.list[next.first[goal->before[e] + 1]++] = e;
    }
    return next;
}

// ---- queues ----

static int compare_wants(const void *a, const void *b)
{
    const struct want *x = a;
    const struct want *y = b;
    if (x->source != y->source) {
        return x->source < y->source ? -1 : 1;
    }
    if (x->tag != y->tag) {
        return x->tag < y->tag ? -1 : 1;
    }
    return (x->op > y->op) - (x->op < y->op);
}

// Sorts the receives of every rank by source and tag; equal ones form a queue. queue_of names
// the queue of each receive.
static void build_queues(struct matching *matching, struct weft_arena *arena)
{
    const struct weft_goal *goal = matching->goal;
    struct want *wants = WEFT_NEW_RAW(arena, struct want, goal->op_count);
    uint32_t count = 0;
    matching->queues = WEFT_NEW_RAW(arena, struct queue, goal->op_count);
    matching->queue_first = WEFT_NEW(arena, uint32_t, (size_t)goal->rank_count + 1);
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        uint32_t want_count = 0;
        for (uint32_t op = goal->rank_first[rank]; op < goal->rank_first[rank + 1]; op++) {
            if (goal->kind[op] == WEFT_GOAL_RECV) {
                wants[want_count++] = (struct want){goal->peer[op], goal->tag[op], op};
            }
        }
        qsort(wants, want_count, sizeof *wants, compare_wants);
        for (uint32_t i = 0; i < want_count; i++) {
            if (i == 0 || wants[i].source != wants[i - 1].source ||
                wants[i].tag != wants[i - 1].tag) {
                matching->queues[count++] = (struct queue){
                    wants[i].source, wants[i].tag, WEFT_NONE, WEFT_NONE, WEFT_NONE, WEFT_NONE, 0};
            }
            matching->queue_of[wants[i].op] = count - 1;
        }
        matching->queue_first[rank + 1] = count;
    }
}

static struct queue *find_queue(const struct matching *matching, uint32_t rank, uint32_t source,
                                uint32_t tag)
{
    uint32_t low = matching->queue_first[rank];
    uint32_t high = matching->queue_first[rank + 1];
    uint32_t end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct queue *queue = &matching->queues[middle];
        if (queue->source < source || (queue->source == source && queue->tag < tag)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct queue *queue = &matching->queues[low];
    return low < end && queue->source == source && queue->tag == tag ? queue : NULL;
}

#define ACCEPTING_MAX 4u
// The queues that a send can be wanted from; NULL where there is none.
static void find_queues(struct queue *queues[ACCEPTING_MAX], const struct matching *matching,
                        uint32_t send)
{
    const struct weft_goal *goal = matching->goal;
    uint32_t rank = goal->peer[send];
    uint32_t source = matching->rank[send];
    uint32_t tag = goal->tag[send];
    // Open receives sort behind all others.
    uint32_t end = matching->queue_first[rank + 1];
    bool any = end > matching->queue_first[rank] && matching->queues[end - 1].source == WEFT_NONE;
    queues[0] = find_queue(matching, rank, source, tag);
    queues[1] = find_queue(matching, rank, source, WEFT_NONE);
    queues[2] = any ? find_queue(matching, rank, WEFT_NONE, tag) : NULL;
    queues[3] = any ? find_queue(matching, rank, WEFT_NONE, WEFT_NONE) : NULL;
}

// ---- the run ----

static void release(struct matching *matching, uint32_t op, bool at_start)
{
    const struct weft_goal *goal = matching->goal;
    for (uint32_t i = matching->next.first[op]; i < matching->next.first[op + 1]; i++) {
        uint32_t e = matching->next.list[i];
        if (goal->at_start[e] == at_start && --matching->waits[goal->after[e]] == 0) {
            matching->line[matching->line_count++] = goal->after[e];
        }
    }
}

static void pair(struct matching *matching, uint32_t send, uint32_t receive)
{
    matching->send_of[receive] = send;
    matching->taken[send] = true;
    release(matching, receive, false);
}

// A send has become ready: it takes the receive that was posted first of those that accept it,
// or waits in every queue that could.
static void send_comes(struct matching *matching, uint32_t send)
{
    struct queue *queues[ACCEPTING_MAX];
    struct queue *first = NULL;
    find_queues(queues, matching, send);
    for (uint32_t i = 0; i < ACCEPTING_MAX; i++) {
        if (queues[i] != NULL && queues[i]->posted != WEFT_NONE &&
            (first == NULL ||
             matching->posted_at[queues[i]->posted] < matching->posted_at[first->posted])) {
            first = queues[i];
        }
    }
    if (first != NULL) {
        uint32_t receive = first->posted;
        first->posted = matching->posted_next[receive];
        pair(matching, send, receive);
        return;
    }
    for (uint32_t i = 0; i < ACCEPTING_MAX; i++) {
        struct queue *queue = queues[i];
        if (queue == NULL) {
            continue;
        }
        uint32_t place = matching->come_count++;
        matching->come[place] = (struct come){send, WEFT_NONE};
        if (queue->come == WEFT_NONE) {
            queue->come = place;
        } else {
            matching->come[queue->come_last].next = place;
        }
        queue->come_last = place;
    }
}

static void post_receive(struct matching *matching, uint32_t receive)
{
    struct queue *queue = &matching->queues[matching->queue_of[receive]];
    while (queue->come != WEFT_NONE && matching->taken[matching->come[queue->come].send]) {
        queue->come = matching->come[queue->come].next;
    }
    if (queue->come != WEFT_NONE) {
        uint32_t send = matching->come[queue->come].send;
        queue->come = matching->come[queue->come].next;
        pair(matching, send, receive);
        return;
    }
    matching->posted_next[receive] = WEFT_NONE;
    matching->posted_at[receive] = matching->posted_count++;
    if (queue->posted == WEFT_NONE) {
        queue->posted = receive;
    } else {
        matching->posted_next[queue->posted_last] = receive;
    }
    queue->posted_last = receive;
}

static void run(struct matching *matching)
{
    const struct weft_goal *goal = matching->goal;
    for (uint32_t op = 0; op < goal->op_count; op++) {
        if (matching->waits[op] == 0) {
            matching->line[matching->line_count++] = op;
        }
    }
    for (uint32_t head = 0; head < matching->line_count; head++) {
        weft_poll();
        uint32_t op = matching->line[head];
        release(matching, op, true);
        if (goal->kind[op] == WEFT_GOAL_RECV) {
            post_receive(matching, op);
            continue;
        }
        if (goal->kind[op] == WEFT_GOAL_SEND && !goal_is_void(goal, op)) {
            send_comes(matching, op);
        }
        release(matching, op, false);
    }
}

// ---- checks and complaints ----

static bool check_peers(const struct weft_goal *goal, struct weft_arena scratch,
                        struct weft_error *error)
{
    for (uint32_t op = 0; op < goal->op_count; op++) {
        bool any = goal->kind[op] == WEFT_GOAL_RECV && goal->peer[op] == WEFT_NONE;
        if (goal->kind[op] == WEFT_GOAL_CALC || any || goal->peer[op] < goal->rank_count ||
            goal_is_void(goal, op)) {
            continue;
        }
        return weft_fail(error, WEFT_INPUT, "%s: %s rank %u, but ranks are 0 to %u",
                         goal_place(goal, op, &scratch),
                         goal->kind[op] == WEFT_GOAL_SEND ? "sends to" : "receives from",
                         goal->peer[op], goal->rank_count - 1);
    }
    return true;
}

// Operations that wait for each other inside a rank, messages aside.
static bool check_cycles(const struct weft_goal *goal, const struct goal_next *next,
                         const uint32_t *waits, struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *left = WEFT_NEW_RAW(&scratch, uint32_t, goal->op_count);
    uint32_t *line = WEFT_NEW_RAW(&scratch, uint32_t, goal->op_count);
    uint32_t count = 0;
    for (uint32_t op = 0; op < goal->op_count; op++) {
        left[op] = waits[op];
        if (left[op] == 0) {
            line[count++] = op;
        }
    }
    for (uint32_t head = 0; head < count; head++) {
        for (uint32_t i = next->first[line[head]]; i < next->first[line[head] + 1]; i++) {
            uint32_t after = goal->after[next->list[i]];
            if (--left[after] == 0) {
                line[count++] = after;
            }
        }
    }
    if (count == goal->op_count) {
        return true;
    }
    uint32_t *before = line; // each operation that is left has one before it that is left, too
    uint32_t op = WEFT_NONE;
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        if (left[goal->before[e]] > 0 && left[goal->after[e]] > 0) {
            before[goal->after[e]] = goal->before[e];
            op = goal->after[e];
        }
    }
    WEFT_ASSERT(op != WEFT_NONE);
    for (uint32_t step = 0; step < goal->op_count; step++) {
        op = before[op];
    }
    return weft_fail(
        error, WEFT_INPUT,
        "%s: is on a cycle: it waits for %s, which waits for it in turn; remove one of "
        "the dependencies",
        goal_place(goal, op, &scratch), goal_place(goal, before[op], &scratch));
}

static const char *show_number(uint32_t value, struct weft_arena *arena)
{
    return value == WEFT_NONE ? "any" : weft_arena_format(arena, "%u", value);
}

// A receive that was posted and waits for a send that none can still be.
static bool fail_receive(const struct matching *matching, uint32_t receive,
                         struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_goal *goal = matching->goal;
    const char *place = goal_place(goal, receive, &scratch);
    const char *hint = "";
    for (uint32_t op = 0; op < goal->op_count; op++) {
        if (goal->kind[op] == WEFT_GOAL_SEND && !matching->taken[op] && !goal_is_void(goal, op) &&
            goal->peer[op] == matching->rank[receive] &&
            (goal->peer[receive] == WEFT_NONE || goal->peer[receive] == matching->rank[op])) {
            hint = weft_arena_format(&scratch, "; %s sends there with tag %u",
                                     goal_place(goal, op, &scratch), goal->tag[op]);
            break;
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "%s: receives %llu bytes from rank %s with tag %s, but no such send is left%s",
                     place, (unsigned long long)goal->size[receive],
                     show_number(goal->peer[receive], &scratch),
                     show_number(goal->tag[receive], &scratch), hint);
}

// Receives wait for sends that wait for receives: names one of each.
static bool fail_round(const struct matching *matching, uint32_t receive, struct weft_arena scratch,
                       struct weft_error *error)
{
    const struct weft_goal *goal = matching->goal;
    const struct queue *own = &matching->queues[matching->queue_of[receive]];
    uint32_t send = WEFT_NONE;
    for (uint32_t op = 0; op < goal->op_count && send == WEFT_NONE; op++) {
        struct queue *queues[ACCEPTING_MAX];
        if (goal->kind[op] != WEFT_GOAL_SEND || matching->waits[op] == 0 ||
            goal_is_void(goal, op)) {
            continue;
        }
        find_queues(queues, matching, op);
        for (uint32_t i = 0; i < ACCEPTING_MAX; i++) {
            send = queues[i] == own ? op : send;
        }
    }
    WEFT_ASSERT(send != WEFT_NONE);
    return weft_fail(error, WEFT_INPUT,
                     "%s: waits for the send of %s, which waits for receives that wait in turn; "
                     "the ranks stand still",
                     goal_place(goal, receive, &scratch), goal_place(goal, send, &scratch));
}

// Looks for what was not paired when nothing happens any more: a receive that no send can still
// reach, receives that wait for each other, or a send that nothing receives, in this order.
// Names the first.
static bool check_end(const struct matching *matching, struct weft_arena scratch,
                      struct weft_error *error)
{
    const struct weft_goal *goal = matching->goal;
    uint32_t waiting = WEFT_NONE;
    uint32_t over = WEFT_NONE;
    for (uint32_t op = goal->op_count; op-- > 0;) {
        struct queue *queues[ACCEPTING_MAX];
        if (goal->kind[op] == WEFT_GOAL_RECV && matching->send_of[op] == WEFT_NONE &&
            matching->waits[op] == 0) {
            waiting = op;
        }
        if (goal->kind[op] != WEFT_GOAL_SEND || matching->taken[op] || goal_is_void(goal, op)) {
            continue;
        }
        over = matching->waits[op] == 0 ? op : over;
        find_queues(queues, matching, op);
        for (uint32_t i = 0; i < ACCEPTING_MAX; i++) {
            if (queues[i] != NULL && matching->waits[op] > 0) {
                queues[i]->hoped++;
            }
        }
    }
    for (uint32_t op = waiting; op < goal->op_count; op++) {
        bool posted = goal->kind[op] == WEFT_GOAL_RECV && matching->send_of[op] == WEFT_NONE &&
                      matching->waits[op] == 0;
        if (posted && matching->queues[matching->queue_of[op]].hoped == 0) {
            return fail_receive(matching, op, scratch, error);
        }
    }
    if (waiting != WEFT_NONE) {
        return fail_round(matching, waiting, scratch, error);
    }
    if (over != WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: sends %llu bytes to rank %u with tag %u, but no receive there wants "
                         "them",
                         goal_place(goal, over, &scratch), (unsigned long long)goal->size[over],
                         goal->peer[over], goal->tag[over]);
    }
    WEFT_ASSERT(matching->line_count == goal->op_count);
    return true;
}

bool goal_match(uint32_t *send_of, const struct weft_goal *goal, struct weft_arena scratch,
                struct weft_error *error)
{
    size_t ops = goal->op_count;
    struct matching matching = {.goal = goal, .next = goal_next_build(goal, &scratch)};
    matching.waits = WEFT_NEW(&scratch, uint32_t, ops);
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        matching.waits[goal->after[e]]++;
    }
    if (!check_peers(goal, scratch, error) ||
        !check_cycles(goal, &matching.next, matching.waits, scratch, error)) {
        return false;
    }
    uint32_t open = 0;
    matching.rank = WEFT_NEW_RAW(&scratch, uint32_t, ops);
    matching.send_of = send_of;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        for (uint32_t op = goal->rank_first[rank]; op < goal->rank_first[rank + 1]; op++) {
            matching.rank[op] = rank;
            matching.send_of[op] = WEFT_NONE;
            open += goal->peer[op] == WEFT_NONE || goal->tag[op] == WEFT_NONE;
        }
    }
    matching.line = WEFT_NEW_RAW(&scratch, uint32_t, ops);
    matching.queue_of = WEFT_NEW_RAW(&scratch, uint32_t, ops);
    matching.posted_next = WEFT_NEW_RAW(&scratch, uint32_t, ops);
    matching.posted_at = WEFT_NEW_RAW(&scratch, uint32_t, ops);
    matching.taken = WEFT_NEW(&scratch, bool, ops);
    matching.come = WEFT_NEW_RAW(&scratch, struct come, open > 0 ? ACCEPTING_MAX * ops : ops);
    build_queues(&matching, &scratch);
    run(&matching);
    return check_end(&matching, scratch, error);
}
