// SPDX-License-Identifier: Apache-2.0
// "weft.simulation/1": jobs or flows on a fabric, or jobs that share the links of a snapshot.
//
// The three kinds share the schema and most keys; docs/cli.md lists which kind has which. wall_s
// comes last, as the one figure that differs from run to run.

#include "weft/request/simulate.h"
#include "request/json/json.h"

static bool is_packet(const struct weft_simulate_result *result)
{
    return result->options.engine == WEFT_ENGINE_PACKET;
}

static bool repeats(const struct weft_simulate_result *result)
{
    return result->options.iterations > 1;
}

// ---- on a fabric ----

static void set_counts(json_t *object, const struct weft_packet_counts *counts)
{
    weft_set_count(object, "packets", counts->packets);
    weft_set_count(object, "drops", counts->drops);
    weft_set_count(object, "ecn_marks", counts->ecn_marks);
    weft_set_count(object, "retransmits", counts->retransmits);
    weft_set_count(object, "timeouts", counts->timeouts);
    weft_set_count(object, "trims", counts->trims);
    weft_set_count(object, "pauses", counts->pauses);
}

// What links lost by chance; and of MLT what came of messages, all together and of the one of which
// least did.
static void set_delivered(json_t *object, const struct weft_simulate_result *result)
{
    const struct weft_packet_counts *counts = &result->sim.packets;
    if (result->options.packet->port.loss_ratio > 0) {
        weft_set_count(object, "corrupted", counts->corrupted);
    }
    if (result->options.transport == WEFT_TRANSPORT_MLT && counts->delivered.of_bytes > 0) {
        weft_set_real(object, "delivered_ratio",
                      counts->delivered.bytes / counts->delivered.of_bytes);
        weft_set_real(object, "delivered_min_ratio", counts->delivered.min_ratio);
        weft_set_count(object, "important_lost", counts->important_lost);
    }
}

// What MLT sent, by kind.
static void set_step(json_t *object, const struct weft_step_trace *step)
{
    json_t *rows = json_object();
    for (uint32_t kind = 0; kind < WEFT_STEP_KINDS; kind++) {
        json_t *row = json_object();
        weft_set_count(row, "packets", step->sent[kind].packets);
        weft_set_count(row, "bytes", step->sent[kind].bytes);
        weft_set_count(row, "lost", step->sent[kind].lost);
        json_object_set_new(rows, weft_step_kind_name((enum weft_step_kind)kind), row);
    }
    json_object_set_new(object, "step", rows);
}

static void set_losses(json_t *object, const struct weft_simulate_result *result)
{
    if (result->sim.ports == NULL) {
        return;
    }
    json_t *list = weft_set_list(object, "lossy_links");
    for (uint32_t i = 0; i < result->lossy_count; i++) {
        const struct weft_lossy_link *lossy = &result->lossy[i];
        json_t *row = json_object();
        weft_set_count(row, "link", lossy->link);
        weft_set_text(row, "from", lossy->from);
        weft_set_text(row, "to", lossy->to);
        weft_set_count(row, "drops", lossy->counts.drops);
        weft_set_count(row, "max_backlog_bytes", lossy->counts.backlog_max_bytes);
        json_array_append_new(list, row);
    }
}

static void set_skips(json_t *object, const struct weft_skip_counts *skips)
{
    json_t *skipped = json_object();
    weft_set_real(skipped, "bytes", skips->bytes);
    weft_set_real(skipped, "of_bytes", skips->of_bytes);
    weft_set_count(skipped, "spans", skips->spans);
    weft_set_count(skipped, "repeated_messages", skips->repeated);
    weft_set_count(skipped, "rewinds", skips->rewinds);
    weft_set_count(skipped, "samples", skips->samples);
    weft_set_real(skipped, "error_max_ratio", skips->error_max_ratio);
    weft_set_real(skipped, "error_mean_ratio", skips->error_mean_ratio);
    json_object_set_new(object, "skipped", skipped);
}

// What jobs and flows have in common.
static json_t *begin(const struct weft_simulate_result *result)
{
    const struct weft_fabric *fabric = &result->network->fabric;
    json_t *object = weft_set_object("weft.simulation/1");
    weft_set_text(object, "fabric", result->fabric);
    weft_set_count(object, "servers", fabric->server_count / result->accelerators);
    if (result->accelerators > 1) {
        weft_set_count(object, "accelerators", fabric->server_count);
    }
    weft_set_count(object, "links", fabric->link_count);
    bool by_nics = result->network->routes.spread == WEFT_SPREAD_NICS;
    weft_set_text(object, "balance",
                  by_nics ? "nics" : weft_balance_words[result->cluster.balance]);
    weft_set_count(object, "flows", result->sim.flow_count);
    weft_set_text(object, "engine", is_packet(result) ? "packet" : "flow");
    weft_set_truth(object, "folded", result->sim.folded);
    weft_set_text(object, "transport", weft_transport_name(result->options.transport));
    weft_set_count(object, "events", result->sim.event_count);
    if (is_packet(result)) {
        weft_set_text(object, "preset", result->options.dctcp.counts_acks ? "topoopt" : "plain");
        weft_set_count(object, "packet_bytes", result->options.packet_bytes);
        weft_set_count(object, "buffer_bytes", result->options.packet->buffer_bytes);
        weft_set_count(object, "mark_bytes", result->options.packet->mark_bytes);
        set_counts(object, &result->sim.packets);
        set_delivered(object, result);
        if (result->sim.step != NULL) {
            set_step(object, result->sim.step);
        }
        if (result->options.partitions.count > 0) {
            weft_set_count(object, "parts", result->sim.partitions.count);
        }
        if (result->options.packet->skip) {
            set_skips(object, &result->sim.skips);
        }
        set_losses(object, result);
    }
    weft_set_count(object, "solves", result->sim.solve_count);
    weft_set_real(object, "max_link_load_bytes", result->link_load.max_bytes);
    weft_set_real(object, "mean_link_load_bytes", result->link_load.mean_bytes);
    return object;
}

static void set_times(json_t *object, const struct weft_simulated_times *times)
{
    if (times->count == 0) {
        return;
    }
    weft_set_real(object, "mean_flow_s", times->mean_s);
    weft_set_real(object, "median_flow_s", weft_seconds(times->median_ps));
    weft_set_real(object, "p99_flow_s", weft_seconds(times->p99_ps));
    weft_set_real(object, "max_flow_s", weft_seconds(times->max_ps));
}

static json_t *flows_object(const struct weft_simulate_result *result)
{
    json_t *object = begin(result);
    weft_set_text(object, "pattern", result->load);
    if (result->algorithm != NULL) {
        weft_set_text(object, "algorithm", result->algorithm);
    }
    weft_set_real(object, "completion_s", weft_seconds(result->sim.end_ps));
    if (repeats(result)) {
        weft_set_count(object, "iterations", result->options.iterations);
        weft_set_real(object, "iteration_mean_s", weft_seconds(result->jobs[0].iteration_ps));
        weft_set_real(object, "iteration_p99_s", weft_seconds(result->jobs[0].p99_ps));
    }
    set_times(object, &result->times);
    return object;
}

// What of Kineto's traces and the host's belonged together.
static void set_joined(json_t *row, const struct weft_chakra_joined *joined)
{
    json_t *object = json_object();
    weft_set_count(object, "ranks", joined->kineto_count);
    weft_set_count(object, "with_host", joined->host_count);
    weft_set_count(object, "kernels", joined->kernel_count);
    weft_set_count(object, "communications", joined->message_count);
    weft_set_count(object, "unlaunched", joined->unlaunched_count);
    weft_set_count(object, "undescribed", joined->unsized_count);
    weft_set_count(object, "operators_joined", joined->operator_count);
    weft_set_count(object, "operators_lost", joined->lost_count);
    weft_set_count(object, "waits_stated", joined->stated_count);
    weft_set_count(object, "waits_inferred", joined->inferred_count);
    weft_set_count(object, "waits_open", joined->open_count);
    json_object_set_new(row, "kineto", object);
}

// Of jobs: what all together took, and each; of another simulator's load also its transfers, which
// that simulator states.
static json_t *jobs_object(const struct weft_simulate_result *result)
{
    json_t *object = begin(result);
    weft_set_real(object, "iteration_s", result->iteration_s);
    if (repeats(result)) {
        weft_set_count(object, "iterations", result->options.iterations);
        weft_set_real(object, "completion_s", weft_seconds(result->sim.end_ps));
    }
    json_t *list = weft_set_list(object, "jobs");
    for (uint32_t j = 0; j < result->job_count; j++) {
        const struct weft_simulated_job *job = &result->jobs[j];
        json_t *row = json_object();
        weft_set_text(row, "file", job->name);
        weft_set_count(row, "servers", job->server_count);
        weft_set_count(row, "first_server", job->first_server);
        if (result->accelerators > 1) {
            weft_set_count(row, "ranks", job->rank_count);
        }
        if (result->lenient) {
            weft_set_count(row, "dangling_dependencies", job->dangling_count);
        }
        if (job->joined.kineto_count > 0) {
            set_joined(row, &job->joined);
        }
        weft_set_real(row, "iteration_s", weft_seconds(job->iteration_ps));
        if (repeats(result)) {
            weft_set_real(row, "iteration_mean_s", weft_seconds(job->iteration_ps));
            weft_set_real(row, "iteration_p99_s", weft_seconds(job->p99_ps));
        }
        json_array_append_new(list, row);
    }
    if (result->times.count > 0) {
        weft_set_count(object, "transfers", result->times.count);
        weft_set_real(object, "transfer_bytes", result->times.bytes);
    }
    set_times(object, &result->times);
    return object;
}

// ---- of a snapshot ----

static void set_outcome(json_t *object, const struct weft_sharing_outcome *outcome)
{
    weft_set_real(object, "iteration_mean_s", outcome->mean_s);
    weft_set_real(object, "iteration_p99_s", outcome->p99_s);
    weft_set_real(object, "ideal_s", outcome->ideal_s);
    weft_set_real(object, "slowdown", outcome->slowdown);
    weft_set_index(object, "converged_after_iterations", outcome->converged_after);
}

static json_t *list_jobs(const struct weft_simulated_snapshot *shared)
{
    json_t *list = json_array();
    for (uint32_t job = 0; job < shared->set.snapshot.job_count; job++) {
        json_t *object = json_object();
        weft_set_text(object, "name", shared->set.snapshot.jobs[job].name);
        set_outcome(object, &shared->play.jobs[job]);
        weft_set_real(object, "start_s", weft_seconds(shared->timings[job].start_ps));
        weft_set_real(object, "weight", shared->shares[job]);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *list_links(const struct weft_simulated_snapshot *shared)
{
    const struct weft_sim_result *sim = &shared->play.sim;
    json_t *list = json_array();
    for (uint32_t l = 0; l < shared->set.snapshot.link_count; l++) {
        const struct weft_shared_link *link = &shared->set.snapshot.links[l];
        uint32_t id = shared->play.links[l];
        json_t *object = json_object();
        weft_set_text(object, "name", link->name);
        weft_set_real(object, "bytes", sim->link_bytes[id]);
        weft_set_real(object, "used_ratio",
                      sim->link_bytes[id] / link->capacity_Bps / weft_seconds(sim->end_ps));
        if (sim->ports != NULL) {
            weft_set_count(object, "ecn_marks", sim->ports[id].marks);
            weft_set_count(object, "drops", sim->ports[id].drops);
            weft_set_count(object, "max_backlog_bytes", sim->ports[id].backlog_max_bytes);
        }
        json_array_append_new(list, object);
    }
    return list;
}

// Of a snapshot's jobs: means over the jobs, then each job and each link. Marks are counted on the
// snapshot's links alone, not on the ports of NICs.
static json_t *shared_object(const struct weft_simulate_result *result)
{
    const struct weft_simulated_snapshot *shared = &result->shared;
    const struct weft_sim_result *sim = &result->sim;
    json_t *object = weft_set_object("weft.simulation/1");
    weft_set_text(object, "snapshot", result->load);
    weft_set_text(object, "engine", is_packet(result) ? "packet" : "flow");
    weft_set_truth(object, "folded", result->sim.folded);
    weft_set_text(object, "transport", weft_transport_name(result->options.transport));
    weft_set_text(object, "sharing", shared->policy);
    weft_set_count(object, "iterations", result->options.iterations);
    set_outcome(object, &shared->play.all);
    weft_set(object, "jobs", list_jobs(shared));
    weft_set(object, "links", list_links(shared));
    weft_set_real(object, "completion_s", weft_seconds(sim->end_ps));
    weft_set_count(object, "realigned", sim->wait_count);
    weft_set_count(object, "flows", sim->flow_count);
    weft_set_count(object, "events", sim->event_count);
    if (is_packet(result)) {
        weft_set_count(object, "packets", sim->packets.packets);
        weft_set_count(object, "drops", sim->packets.drops);
        weft_set_count(object, "ecn_marks", shared->mark_count);
        weft_set_count(object, "retransmits", sim->packets.retransmits);
        weft_set_count(object, "timeouts", sim->packets.timeouts);
    } else {
        weft_set_count(object, "solves", sim->solve_count);
        weft_set_count(object, "share_steps", sim->share_count);
    }
    return object;
}

const char *weft_request_simulate_json(const struct weft_simulate_result *result,
                                       struct weft_arena *arena)
{
    json_t *object = result->kind == WEFT_SIMULATE_SHARED ? shared_object(result)
                     : result->kind == WEFT_SIMULATE_JOBS ? jobs_object(result)
                                                          : flows_object(result);
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}
