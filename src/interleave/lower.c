// SPDX-License-Identifier: Apache-2.0
// A snapshot as a network and jobs that the engines of sim can play.
//
// Each link of the snapshot becomes two switches with a link of its capacity between them. A job's
// demand becomes a chain of computations and messages; a sender behind a port of the phase's rate
// stands for the NIC, one for each different rate, and everything else on the path is fast enough
// never to bind. A message's path goes over the job's links one after the other, which are the only
// places where jobs meet. O(phases + entries of links).

#include "weft/interleave.h"

#include <math.h>

// Servers of the lowered network, whose routes are a table of their pairs.
#define ENDS_MAX 4096u
#define FAST 100.0 // times the links' rates: what must not be the bottleneck
#define PS_PER_S ((double)WEFT_PS_PER_S)

// Messages that follow each other over the same links.
struct chain {
    const struct weft_demand *demand;
    const uint32_t *links;
    uint32_t link_count;
    double capacity_Bps; // of the slowest
    double fast_Bps;
    uint32_t first_sender; // of all chains'; one for each rate, in the order in which they come
    uint32_t sender_count;
};

struct job_chains {
    struct chain *chains;
    uint32_t chain_count;
};

struct lowering {
    const struct weft_snapshot *snapshot;
    const struct weft_snapshot_options *options;
    struct job_chains *jobs;
    uint32_t chain_count;
    // Per sender.
    double *rate_Bps;
    uint32_t sender_count;
    uint32_t next_receiver; // servers behind the senders, one a chain that sends
    struct weft_link *links;
    uint32_t link_count;
    struct weft_arena *arena;
};

static bool has_bytes(const struct weft_demand_phase *phase)
{
    return phase->rate_Bps > 0 && phase->duration_ps > 0;
}

// ---- who sends ----

static uint32_t find_rate(const struct lowering *lowering, const struct chain *chain,
                          double rate_Bps)
{
    uint32_t i = 0;
    while (i < chain->sender_count && lowering->rate_Bps[chain->first_sender + i] != rate_Bps) {
        i++;
    }
    return i;
}

// Gives the chain its senders: one for each different rate among its phases, in the order in which
// they come. Fails where the snapshot needs more ends of messages than the network may have.
static bool add_chain(struct lowering *lowering, struct chain *chain, struct weft_error *error)
{
    chain->capacity_Bps = (double)INFINITY;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        double capacity_Bps = lowering->snapshot->links[chain->links[i]].capacity_Bps;
        chain->capacity_Bps = fmin(chain->capacity_Bps, capacity_Bps);
        chain->fast_Bps = fmax(chain->fast_Bps, FAST * capacity_Bps);
    }
    chain->first_sender = lowering->sender_count;
    for (uint32_t p = 0; p < chain->demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &chain->demand->phases[p];
        if (!has_bytes(phase) ||
            find_rate(lowering, chain, phase->rate_Bps) < chain->sender_count) {
            continue;
        }
        if (lowering->sender_count + lowering->chain_count >= ENDS_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "its phases bring the ends of messages to more than %u; round their "
                             "rates, or play fewer jobs",
                             ENDS_MAX);
        }
        lowering->rate_Bps[lowering->sender_count++] = phase->rate_Bps;
        chain->sender_count++;
    }
    lowering->chain_count++;
    return true;
}

static bool add_chains(struct lowering *lowering, uint32_t id, struct weft_error *error)
{
    const struct weft_sharing_job *job = &lowering->snapshot->jobs[id];
    struct job_chains *out = &lowering->jobs[id];
    bool split = job->link_demands != NULL;
    out->chain_count = split ? job->link_count : 1;
    out->chains = WEFT_NEW(lowering->arena, struct chain, out->chain_count);
    for (uint32_t c = 0; c < out->chain_count; c++) {
        struct chain *chain = &out->chains[c];
        *chain = (struct chain){.demand = split ? &job->link_demands[c] : &job->demand,
                                .links = split ? &job->links[c] : job->links,
                                .link_count = split ? 1 : job->link_count};
        if (chain->link_count > 0 && !add_chain(lowering, chain, error)) {
            return weft_wrap(error, "job %s", job->name);
        }
    }
    return true;
}

// ---- the network ----
// Servers: senders, then a receiver for each chain. Nodes behind them: two for each link of the
// snapshot, then one for each sender's shaper.

static uint32_t server_count_of(const struct lowering *lowering)
{
    return lowering->sender_count + lowering->chain_count;
}

static uint32_t link_begin(const struct lowering *lowering, uint32_t link)
{
    return server_count_of(lowering) + 2 * link;
}

static void add_link(struct lowering *lowering, uint32_t from, uint32_t to, double rate_Bps,
                     uint64_t latency_ps)
{
    lowering->links[lowering->link_count++] = (struct weft_link){from, to, rate_Bps, latency_ps, 1};
}

static bool is_shaped(const struct lowering *lowering, const struct chain *chain, uint32_t sender)
{
    return lowering->options->shaped &&
           lowering->rate_Bps[sender] < chain->capacity_Bps * (1 - 1e-9);
}

// The links of a chain's own, and its paths into `nodes`: forth and, for acknowledgements, back.
static uint32_t lay_chain(struct lowering *lowering, const struct chain *chain, uint32_t receiver,
                          uint32_t *path_first, uint32_t *nodes)
{
    uint64_t latency_ps = lowering->options->latency_ps;
    uint32_t shapers = link_begin(lowering, lowering->snapshot->link_count);
    uint32_t paths = 0;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        uint32_t end = link_begin(lowering, chain->links[i]) + 1;
        uint32_t next =
            i + 1 < chain->link_count ? link_begin(lowering, chain->links[i + 1]) : receiver;
        add_link(lowering, end, next, chain->fast_Bps, 0);
    }
    for (uint32_t i = 0; i < chain->sender_count; i++) {
        uint32_t sender = chain->first_sender + i;
        uint32_t first = link_begin(lowering, chain->links[0]);
        double rate_Bps = lowering->rate_Bps[sender];
        uint32_t at = path_first[paths];
        nodes[at++] = sender;
        if (is_shaped(lowering, chain, sender)) {
            nodes[at++] = shapers + sender;
            add_link(lowering, sender, shapers + sender, chain->fast_Bps, 0);
            add_link(lowering, shapers + sender, first, rate_Bps, latency_ps);
        } else {
            double nic_Bps = lowering->options->shaped ? chain->fast_Bps : rate_Bps;
            add_link(lowering, sender, first, nic_Bps, latency_ps);
        }
        for (uint32_t l = 0; l < chain->link_count; l++) {
            nodes[at++] = link_begin(lowering, chain->links[l]);
            nodes[at++] = link_begin(lowering, chain->links[l]) + 1;
        }
        nodes[at++] = receiver;
        path_first[++paths] = at;
        nodes[at++] = receiver;
        nodes[at++] = sender;
        path_first[++paths] = at;
        add_link(lowering, receiver, sender, chain->fast_Bps, (chain->link_count + 1) * latency_ps);
    }
    return paths;
}

// The network of the whole snapshot and a route for each chain and sender. First comes what has to
// be counted, so that all arrays have their final size; then the shared links, then each chain's
// own links and its two paths, there and back.
static bool lay_network(struct weft_snapshot_jobs *lowered, struct lowering *lowering,
                        struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_snapshot *snapshot = lowering->snapshot;
    uint64_t links = snapshot->link_count;
    uint64_t path_nodes = 0;
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        for (uint32_t c = 0; c < lowering->jobs[j].chain_count; c++) {
            const struct chain *chain = &lowering->jobs[j].chains[c];
            links += chain->link_count + 3 * chain->sender_count;
            path_nodes += (2 * (uint64_t)chain->link_count + 5) * chain->sender_count;
        }
    }
    lowering->links = WEFT_NEW_RAW(&scratch, struct weft_link, links);
    uint32_t *path_first = WEFT_NEW(&scratch, uint32_t, 2 * (size_t)lowering->sender_count + 1);
    uint32_t *nodes = WEFT_NEW_RAW(&scratch, uint32_t, path_nodes);
    uint32_t receiver = lowering->sender_count;
    uint32_t paths = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        uint32_t begin = link_begin(lowering, l);
        add_link(lowering, begin, begin + 1, snapshot->links[l].capacity_Bps,
                 lowering->options->latency_ps);
    }
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        for (uint32_t c = 0; c < lowering->jobs[j].chain_count; c++) {
            const struct chain *chain = &lowering->jobs[j].chains[c];
            if (chain->link_count > 0) {
                paths += lay_chain(lowering, chain, receiver++, &path_first[paths], nodes);
            }
        }
    }
    uint32_t servers = server_count_of(lowering);
    uint32_t node_count = servers + 2 * snapshot->link_count + lowering->sender_count;
    struct weft_network *network = &lowered->network;
    *network = (struct weft_network){0};
    if (!weft_fabric_build(&network->fabric,
                           &(struct weft_fabric_links){"snapshot", servers, node_count,
                                                       lowering->links, lowering->link_count},
                           lowering->arena, error) ||
        !weft_routes_build_table(&network->routes, &network->fabric,
                                 &(struct weft_route_table){paths, path_first, nodes, NULL, true},
                                 lowering->arena, scratch, error)) {
        return false;
    }
    uint32_t *ids = WEFT_NEW_RAW(lowering->arena, uint32_t, snapshot->link_count);
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        uint32_t begin = link_begin(lowering, l);
        ids[l] = weft_fabric_find_link(&network->fabric, begin, begin + 1);
    }
    lowered->links = ids;
    return true;
}

// ---- task graphs ----

// What is built of a job.
struct tasks {
    struct weft_task *list;
    uint32_t count;
    uint32_t last; // of the chain so far; WEFT_NONE: it begins
    uint32_t device;
    uint64_t compute_ps;
};

static void add_task(struct tasks *tasks, struct weft_task task, struct weft_arena *arena)
{
    if (tasks->last != WEFT_NONE) {
        uint32_t *next = WEFT_NEW_RAW(arena, uint32_t, 1);
        *next = tasks->count;
        tasks->list[tasks->last].next = next;
        tasks->list[tasks->last].next_count = 1;
    }
    tasks->last = tasks->count;
    tasks->list[tasks->count++] = task;
}

static void add_compute(struct tasks *tasks, uint64_t time_ps, struct weft_arena *arena)
{
    if (time_ps > 0) {
        add_task(tasks,
                 (struct weft_task){
                     .kind = WEFT_TASK_FORWARD, .device = tasks->device, .runtime_ps = time_ps},
                 arena);
        tasks->compute_ps += time_ps;
    }
}

static void add_phases(struct tasks *tasks, const struct lowering *lowering,
                       const struct chain *chain, uint32_t receiver, struct weft_arena *arena)
{
    const struct weft_demand *demand = chain->demand;
    double payload_ratio = lowering->options->payload_ratio;
    uint64_t computed_ps = 0; // up to here
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        if (!has_bytes(phase) || chain->link_count == 0) {
            continue;
        }
        double bytes = phase->rate_Bps * ((double)phase->duration_ps / PS_PER_S);
        bytes *= payload_ratio > 0 ? payload_ratio : 1;
        uint32_t sender = chain->first_sender + find_rate(lowering, chain, phase->rate_Bps);
        add_compute(tasks, phase->start_ps - computed_ps, arena);
        add_task(tasks,
                 (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                    .size_bytes = (uint64_t)fmax(1, bytes + 0.5),
                                    .from = sender,
                                    .to = receiver},
                 arena);
        computed_ps = phase->start_ps + phase->duration_ps;
    }
    add_compute(tasks, demand->iteration_ps - computed_ps, arena);
}

// A job as a task graph: a chain of compute and transfers for each of its demands, and in
// *compute_ps the longest time that one of them computes.
static bool lower_job(struct weft_sim_job *job, uint64_t *compute_ps, struct lowering *lowering,
                      uint32_t id, struct weft_arena scratch, struct weft_error *error)
{
    const struct job_chains *own = &lowering->jobs[id];
    size_t room = 0;
    for (uint32_t c = 0; c < own->chain_count; c++) {
        room += 2 * (size_t)own->chains[c].demand->phase_count + 1;
    }
    struct tasks tasks = {.list = WEFT_NEW(&scratch, struct weft_task, room)};
    // A device computes a chain's; it stands on the first server, which is as good as any.
    uint32_t *device_server = WEFT_NEW(&scratch, uint32_t, own->chain_count);
    uint64_t compute_ps_most = 0;
    for (uint32_t c = 0; c < own->chain_count; c++) {
        tasks.last = WEFT_NONE;
        tasks.device = c;
        tasks.compute_ps = 0;
        add_phases(&tasks, lowering, &own->chains[c], lowering->next_receiver, &scratch);
        lowering->next_receiver += own->chains[c].link_count > 0;
        compute_ps_most = tasks.compute_ps > compute_ps_most ? tasks.compute_ps : compute_ps_most;
    }
    *compute_ps = compute_ps_most;
    struct weft_taskgraph *graph = WEFT_NEW(lowering->arena, struct weft_taskgraph, 1);
    *job = (struct weft_sim_job){.graph = graph};
    return weft_taskgraph_build(
        graph,
        &(struct weft_taskgraph_draft){.server_count = server_count_of(lowering),
                                       .device_count = own->chain_count,
                                       .device_server = device_server,
                                       .task_count = tasks.count,
                                       .tasks = tasks.list},
        lowering->arena, scratch, error);
}

bool weft_snapshot_lower(struct weft_snapshot_jobs *lowered, const struct weft_snapshot *snapshot,
                         const struct weft_snapshot_options *options, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    if (!weft_snapshot_check(snapshot, error)) {
        return false;
    }
    struct lowering lowering = {.snapshot = snapshot, .options = options, .arena = arena};
    uint32_t count = snapshot->job_count;
    lowering.jobs = WEFT_NEW(&scratch, struct job_chains, count);
    lowering.rate_Bps = WEFT_NEW_RAW(arena, double, ENDS_MAX);
    for (uint32_t id = 0; id < count; id++) {
        if (!add_chains(&lowering, id, error)) {
            return false;
        }
    }
    // A fabric has a server, and one that only computes needs one to do it on.
    lowering.chain_count += lowering.chain_count == 0;
    if (!lay_network(lowered, &lowering, scratch, error)) {
        return false;
    }
    struct weft_sim_job *jobs = WEFT_NEW(arena, struct weft_sim_job, count);
    uint64_t *compute_ps = WEFT_NEW(arena, uint64_t, count);
    lowering.next_receiver = lowering.sender_count;
    for (uint32_t id = 0; id < count; id++) {
        if (!lower_job(&jobs[id], &compute_ps[id], &lowering, id, scratch, error)) {
            return weft_wrap(error, "job %s", snapshot->jobs[id].name);
        }
    }
    lowered->jobs = jobs;
    lowered->compute_ps = compute_ps;
    return true;
}
