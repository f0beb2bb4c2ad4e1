// SPDX-License-Identifier: Apache-2.0
// Loops of the affinity graph, and the traversal that joins what has none (Cassini: Rajasekaran et
// al., NSDI 2024).
//
// Cassini's graph has jobs on one side and links on the other. Shifts found link by link agree only
// where that graph has no cycle. Cassini drops placements whose graph has one; here the links of a
// cycle become one group that is solved jointly, so that every placement has shifts. Groups are the
// biconnected components of the graph (Hopcroft and Tarjan, CACM 1973), those that share a link
// joined: O(entries) for the search, an inverse Ackermann factor for the union-find. The traversal
// is Cassini's breadth-first search, with groups in the place of links: O(entries * jobs of a
// group).

#include "affinity.h"

#include <math.h>

// The graph: nodes are jobs, then links; each job-link pair is an edge.
struct graph {
    uint32_t job_count;
    uint32_t node_count;
    const uint32_t *first; // CSR, per node
    const uint32_t *next;  // node at the other end
};

// The graph in CSR, both directions. Links with one job are left out: nothing on them constrains a
// shift, and without them they close no cycle.
static void build_graph(struct graph *graph, const struct weft_snapshot *snapshot,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    const uint32_t jobs = snapshot->job_count;
    const uint32_t nodes = jobs + snapshot->link_count;
    uint32_t *users = WEFT_NEW(&scratch, uint32_t, snapshot->link_count);
    for (uint32_t j = 0; j < jobs; j++) {
        for (uint32_t i = 0; i < snapshot->jobs[j].link_count; i++) {
            users[snapshot->jobs[j].links[i]]++;
        }
    }
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)nodes + 1);
    for (uint32_t j = 0; j < jobs; j++) {
        first[j + 1] = first[j];
        for (uint32_t i = 0; i < snapshot->jobs[j].link_count; i++) {
            first[j + 1] += users[snapshot->jobs[j].links[i]] > 1 ? 1 : 0;
        }
    }
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        first[jobs + l + 1] = first[jobs + l] + (users[l] > 1 ? users[l] : 0);
    }
    uint32_t *next = WEFT_NEW(arena, uint32_t, first[nodes]);
    uint32_t *filled = WEFT_NEW(&scratch, uint32_t, snapshot->link_count);
    for (uint32_t j = 0; j < jobs; j++) {
        uint32_t at = first[j];
        for (uint32_t i = 0; i < snapshot->jobs[j].link_count; i++) {
            uint32_t link = snapshot->jobs[j].links[i];
            if (users[link] > 1) {
                next[at++] = jobs + link;
                next[first[jobs + link] + filled[link]++] = j;
            }
        }
    }
    *graph = (struct graph){jobs, nodes, first, next};
}

static uint32_t root_of(uint32_t *above, uint32_t link)
{
    while (above[link] != link) {
        above[link] = above[above[link]];
        link = above[link];
    }
    return link;
}

// Depth-first search for biconnected components (Hopcroft and Tarjan, "Efficient algorithms for
// graph manipulation", CACM 1973), without recursion. Links of one component get one root.
struct blocks {
    const struct graph *graph;
    uint32_t *order; // when a node was met, from 1; 0 = not yet
    uint32_t *low;   // earliest node reached back to
    uint32_t *cursor;
    uint32_t *path;    // nodes from the start to here
    uint32_t *waiting; // nodes whose component is not closed
    uint32_t waiting_count;
    uint32_t met;
    uint32_t *above; // per link: its parent in the forest of groups
};

static void join_links(struct blocks *blocks, uint32_t *link, uint32_t node)
{
    if (node < blocks->graph->job_count) {
        return;
    }
    uint32_t other = root_of(blocks->above, node - blocks->graph->job_count);
    uint32_t mine = *link == WEFT_NONE ? other : root_of(blocks->above, *link);
    uint32_t root = mine < other ? mine : other;
    blocks->above[mine] = root;
    blocks->above[other] = root;
    *link = root;
}

// `child` reaches no node before `node`: what waits behind it is one component with `node`.
static void close_block(struct blocks *blocks, uint32_t node, uint32_t child)
{
    uint32_t link = WEFT_NONE;
    uint32_t last = WEFT_NONE;
    join_links(blocks, &link, node);
    while (last != child) {
        last = blocks->waiting[--blocks->waiting_count];
        join_links(blocks, &link, last);
    }
}

// One depth-first search from `start`. A node joins `waiting` when it is met; when a child reaches
// no node before its parent, all that wait since the child are one component with the parent.
// path[] is the recursion's stack, so that deep graphs need no machine stack.
static void search_blocks(struct blocks *blocks, uint32_t start)
{
    const struct graph *graph = blocks->graph;
    uint32_t depth = 0;
    blocks->path[0] = start;
    blocks->order[start] = blocks->low[start] = ++blocks->met;
    for (;;) {
        uint32_t node = blocks->path[depth];
        uint32_t parent = depth == 0 ? WEFT_NONE : blocks->path[depth - 1];
        if (graph->first[node] + blocks->cursor[node] < graph->first[node + 1]) {
            uint32_t next = graph->next[graph->first[node] + blocks->cursor[node]++];
            if (blocks->order[next] == 0) {
                blocks->order[next] = blocks->low[next] = ++blocks->met;
                blocks->waiting[blocks->waiting_count++] = next;
                blocks->path[++depth] = next;
            } else if (next != parent && blocks->order[next] < blocks->low[node]) {
                blocks->low[node] = blocks->order[next];
            }
            continue;
        }
        if (depth == 0) {
            return;
        }
        depth--;
        if (blocks->low[node] < blocks->low[parent]) {
            blocks->low[parent] = blocks->low[node];
        }
        if (blocks->low[node] >= blocks->order[parent]) {
            close_block(blocks, parent, node);
        }
    }
}

// Numbers groups by their first link and lists their links and jobs.
static void list_groups(struct affinity *affinity, const struct graph *graph, uint32_t *above,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    const uint32_t links = graph->node_count - graph->job_count;
    uint32_t *group_of = WEFT_NEW_RAW(arena, uint32_t, links);
    uint32_t *size = WEFT_NEW(&scratch, uint32_t, links);
    uint32_t count = 0;
    for (uint32_t l = 0; l < links; l++) {
        uint32_t node = graph->job_count + l;
        group_of[l] = WEFT_NONE;
        if (graph->first[node] < graph->first[node + 1]) {
            uint32_t root = root_of(above, l);
            group_of[l] = root == l ? count++ : group_of[root];
            size[group_of[l]]++;
        }
    }
    struct group *groups = WEFT_NEW(arena, struct group, count);
    for (uint32_t g = 0; g < count; g++) {
        groups[g].circles = WEFT_NEW(arena, struct circle, size[g]);
    }
    uint32_t *job_count = WEFT_NEW(&scratch, uint32_t, count);
    for (uint32_t l = 0; l < links; l++) {
        if (group_of[l] != WEFT_NONE) {
            struct group *group = &groups[group_of[l]];
            group->circles[group->circle_count++].link = l;
            uint32_t node = graph->job_count + l;
            job_count[group_of[l]] += graph->first[node + 1] - graph->first[node];
        }
    }
    uint32_t **jobs = WEFT_NEW(&scratch, uint32_t *, count);
    for (uint32_t g = 0; g < count; g++) {
        jobs[g] = WEFT_NEW(arena, uint32_t, job_count[g]);
        groups[g].jobs = jobs[g];
    }
    for (uint32_t j = 0; j < graph->job_count; j++) {
        for (uint32_t e = graph->first[j]; e < graph->first[j + 1]; e++) {
            uint32_t g = group_of[graph->next[e] - graph->job_count];
            struct group *group = &groups[g];
            if (group->job_count == 0 || jobs[g][group->job_count - 1] != j) {
                jobs[g][group->job_count++] = j;
            }
        }
    }
    *affinity = (struct affinity){count, groups, group_of};
}

void interleave_affinity(struct affinity *affinity, const struct weft_snapshot *snapshot,
                         struct weft_arena *arena, struct weft_arena scratch)
{
    struct graph graph;
    build_graph(&graph, snapshot, arena, scratch);
    const uint32_t nodes = graph.node_count;
    struct blocks blocks = {
        .graph = &graph,
        .order = WEFT_NEW(&scratch, uint32_t, nodes),
        .low = WEFT_NEW(&scratch, uint32_t, nodes),
        .cursor = WEFT_NEW(&scratch, uint32_t, nodes),
        .path = WEFT_NEW(&scratch, uint32_t, nodes),
        .waiting = WEFT_NEW(&scratch, uint32_t, nodes),
        .above = WEFT_NEW(&scratch, uint32_t, snapshot->link_count),
    };
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        blocks.above[l] = l;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        if (blocks.order[node] == 0) {
            search_blocks(&blocks, node);
        }
    }
    list_groups(affinity, &graph, blocks.above, arena, scratch);
}

struct traversal {
    const struct affinity *affinity;
    const struct weft_snapshot *snapshot;
    uint64_t *const *shifts;
    uint64_t *time_shift_ps;
    const uint32_t *first; // groups of each job, CSR
    const uint32_t *groups;
    bool *job_known;
    bool *group_known;
    uint32_t *queue; // groups
    uint32_t queued;
};

// Turns the group, so that all its jobs are `ticks` later, and takes its jobs' shifts.
static void take_group(struct traversal *at, uint32_t g, double ticks)
{
    const struct group *group = &at->affinity->groups[g];
    at->group_known[g] = true;
    at->queue[at->queued++] = g;
    for (uint32_t p = 0; p < group->job_count; p++) {
        uint32_t job = group->jobs[p];
        if (at->job_known[job]) {
            continue;
        }
        double period = (double)(group->angles[p] * TICKS_PER_ANGLE);
        double late = fmod((double)at->shifts[g][p] + ticks, period);
        late += late < 0 ? period : 0;
        uint64_t period_ps = at->snapshot->jobs[job].demand.iteration_ps;
        uint64_t shift_ps = (uint64_t)llround(late / period * (double)period_ps);
        at->time_shift_ps[job] = shift_ps >= period_ps ? 0 : shift_ps;
        at->job_known[job] = true;
    }
}

static void reach_from(struct traversal *at, const struct group *group)
{
    for (uint32_t p = 0; p < group->job_count; p++) {
        uint32_t job = group->jobs[p];
        for (uint32_t i = at->first[job]; i < at->first[job + 1]; i++) {
            uint32_t other = at->groups[i];
            if (at->group_known[other]) {
                continue;
            }
            const struct group *next = &at->affinity->groups[other];
            uint32_t piece = 0;
            while (next->jobs[piece] != job) {
                piece++;
            }
            double there = (double)at->time_shift_ps[job] *
                           (double)(next->angles[piece] * TICKS_PER_ANGLE) /
                           (double)at->snapshot->jobs[job].demand.iteration_ps;
            take_group(at, other, there - (double)at->shifts[other][piece]);
        }
    }
}

void interleave_traverse(uint64_t *time_shift_ps, const struct affinity *affinity,
                         uint64_t *const *shifts, const struct weft_snapshot *snapshot,
                         struct weft_arena scratch)
{
    const uint32_t jobs = snapshot->job_count;
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)jobs + 2);
    for (uint32_t g = 0; g < affinity->group_count; g++) {
        for (uint32_t p = 0; p < affinity->groups[g].job_count; p++) {
            first[affinity->groups[g].jobs[p] + 2]++;
        }
    }
    for (uint32_t j = 0; j < jobs; j++) {
        first[j + 2] += first[j + 1];
    }
    uint32_t *groups = WEFT_NEW(&scratch, uint32_t, first[jobs + 1]);
    for (uint32_t g = 0; g < affinity->group_count; g++) {
        for (uint32_t p = 0; p < affinity->groups[g].job_count; p++) {
            groups[first[affinity->groups[g].jobs[p] + 1]++] = g;
        }
    }
    struct traversal at = {
        .affinity = affinity,
        .snapshot = snapshot,
        .shifts = shifts,
        .time_shift_ps = time_shift_ps,
        .first = first,
        .groups = groups,
        .job_known = WEFT_NEW(&scratch, bool, jobs),
        .group_known = WEFT_NEW(&scratch, bool, affinity->group_count),
        .queue = WEFT_NEW(&scratch, uint32_t, affinity->group_count),
    };
    uint32_t head = 0;
    for (uint32_t g = 0; g < affinity->group_count; g++) {
        if (!at.group_known[g]) {
            take_group(&at, g, -(double)shifts[g][0]);
        }
        while (head < at.queued) {
            reach_from(&at, &affinity->groups[at.queue[head++]]);
        }
    }
}
