// SPDX-License-Identifier: Apache-2.0
// weft simulate FILE.fbuf...: iterations side by side on one fabric.

#include "simulate.h"
#include "weft/report.h"

#include <string.h>

struct jobs {
    struct weft_fbuf *files;
    struct weft_sim_job *jobs;
    uint32_t *first; // cluster server of each job's server 0
    uint32_t server_count;
};

// Reads the files; job j's servers follow those of job j-1 (first-fit on an empty cluster).
static bool load_jobs(struct jobs *jobs, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    uint32_t count = simulate->path_count;
    jobs->files = WEFT_NEW(&cli->arena, struct weft_fbuf, count);
    jobs->jobs = WEFT_NEW(&cli->arena, struct weft_sim_job, count);
    jobs->first = WEFT_NEW(&cli->arena, uint32_t, count);
    jobs->server_count = 0;
    for (uint32_t j = 0; j < count; j++) {
        if (!cli_load_job(&jobs->files[j], cli, simulate->paths[j])) {
            return false;
        }
        const struct weft_taskgraph *graph = &jobs->files[j].graph;
        uint32_t *servers = WEFT_NEW(&cli->arena, uint32_t, graph->server_count);
        for (uint32_t i = 0; i < graph->server_count; i++) {
            servers[i] = jobs->server_count + i;
        }
        jobs->first[j] = jobs->server_count;
        jobs->jobs[j] = (struct weft_sim_job){.graph = graph, .servers = servers};
        jobs->server_count += graph->server_count;
    }
    return true;
}

// The job's own topology, routes and rings. The rate of --rate, else the file's.
static bool use_file_network(struct jobs *jobs, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    const struct weft_fbuf *file = &jobs->files[0];
    if (simulate->path_count > 1) {
        return cli_misuse(cli, "--fabric file takes one job; choose a fabric for several");
    }
    simulate->network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    double rate_Bps = cli->hardware.rate_given ? cli->hardware.rate_Bps : 0;
    if (cli->hardware.rate_given && !(rate_Bps > 0)) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--rate: 0 carries nothing; write for example 100Gbps");
    }
    if (!weft_fbuf_network(simulate->network, file, rate_Bps, &cli->arena, cli->scratch,
                           &cli->error)) {
        return weft_wrap(&cli->error, "%s", simulate->paths[0]);
    }
    simulate->cluster.rate_Bps = rate_Bps > 0 ? rate_Bps : file->rate_Bps;
    jobs->jobs[0].rings = simulate->network->rings;
    return true;
}

// A plan brings its fabric: options that say otherwise would be ignored.
static bool check_plan_options(const struct simulate *simulate)
{
    const struct weft_request_hardware *hardware = &simulate->cli->hardware;
    if (simulate->path_count > 1) {
        return cli_misuse(simulate->cli, "--plan takes one job; choose a fabric for several");
    }
    if (simulate->fabric_given || simulate->topology_path != NULL ||
        hardware->cluster_path != NULL || hardware->server_count != 0 || hardware->degree != 0 ||
        hardware->rate_given || hardware->latency_given) {
        return cli_misuse(simulate->cli,
                          "--plan brings the fabric; leave out --fabric, --cluster, --servers, "
                          "--degree, --rate and --latency");
    }
    return true;
}

// The job that the plan itself holds, when no file is given.
static bool take_plan_job(struct jobs *jobs, struct simulate *simulate,
                          const struct weft_plan *plan)
{
    struct cli *cli = simulate->cli;
    if (plan->job == NULL) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: the plan was made for a task graph and does not hold it; write "
                         "%s FILE.fbuf --plan %s",
                         simulate->plan_path, cli->program, simulate->plan_path);
    }
    simulate->paths[0] = plan->job->model;
    simulate->path_count = 1;
    jobs->jobs = WEFT_NEW(&cli->arena, struct weft_sim_job, 1);
    jobs->first = WEFT_NEW(&cli->arena, uint32_t, 1);
    jobs->jobs[0].graph = &plan->job->graph;
    jobs->server_count = plan->job->graph.server_count;
    return true;
}

// Playing another job on a plan is a question that may be asked, but not a check of the plan.
static void note_other_job(const struct jobs *jobs, const struct simulate *simulate,
                           const struct weft_plan *plan)
{
    struct cli *cli = simulate->cli;
    struct weft_error difference;
    if (plan->job != NULL && !weft_taskgraph_same(jobs->jobs[0].graph, &plan->job->graph,
                                                  WEFT_TASK_ALL_KINDS, cli->scratch, &difference)) {
        cli_note(cli,
                 "%s is not the job that %s was planned for and holds (%s); leave it out to play "
                 "that one",
                 simulate->paths[0], simulate->plan_path, difference.message);
    }
}

// What weft plan wrote, for the job that it was written for; with its own packets.
static bool use_plan_network(struct jobs *jobs, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    if (!check_plan_options(simulate)) {
        return false;
    }
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, simulate->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (plan->flaw_count > 0) {
        return weft_fail(&cli->error, WEFT_INPUT, "%s: %s; see weft check", simulate->plan_path,
                         plan->flaws[0].text);
    }
    if (simulate->path_count == 0 && !take_plan_job(jobs, simulate, plan)) {
        return false;
    }
    if (jobs->server_count > plan->cluster.server_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: the plan has %u servers, the job %u; plan for this job",
                         simulate->plan_path, plan->cluster.server_count, jobs->server_count);
    }
    note_other_job(jobs, simulate, plan);
    simulate->fabric = "plan";
    simulate->network = &plan->network;
    simulate->cluster = plan->cluster;
    bool acknowledged = simulate->packets.acknowledged;
    simulate->packets = plan->sim;
    simulate->packets.acknowledged |= acknowledged;
    simulate->packets.small_in_one_round &= !simulate->all_rounds;
    jobs->jobs[0].rings = plan->network.rings;
    // A plan's chosen collectives are those of its own job.
    struct weft_taskgraph *played = WEFT_NEW(&cli->arena, struct weft_taskgraph, 1);
    if (!weft_plan_played(played, plan, jobs->jobs[0].graph, &cli->arena, cli->scratch,
                          &cli->error)) {
        return weft_wrap(&cli->error, "%s", simulate->plan_path);
    }
    jobs->jobs[0].graph = played;
    return true;
}

static bool build_network(struct jobs *jobs, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    simulate->packets.packet_bytes = weft_request_task_packets(cli->seed).packet_bytes;
    simulate->packets.header_bytes = weft_request_task_packets(cli->seed).header_bytes;
    simulate->packets.small_in_one_round =
        weft_request_task_packets(cli->seed).small_in_one_round && !simulate->all_rounds;
    simulate->packets.seed = cli->seed;
    if (simulate->plan_path != NULL) {
        return use_plan_network(jobs, simulate);
    }
    bool own = strcmp(simulate->fabric, "file") == 0 && simulate->topology_path == NULL;
    return own ? use_file_network(jobs, simulate) : simulate_network(simulate, jobs->server_count);
}

static void tell_json(struct simulate *simulate, const struct jobs *jobs,
                      const struct weft_sim_result *result)
{
    json_t *object = simulate_object(simulate, result);
    uint32_t count = simulate->path_count;
    cli_set_real(object, "iteration_s", simulate_iteration_s(simulate, result, count));
    if (simulate_repeats(simulate)) {
        cli_set_count(object, "iterations", simulate->packets.iterations);
        cli_set_real(object, "completion_s", weft_seconds(result->end_ps));
    }
    json_t *list = json_array();
    for (uint32_t j = 0; j < count; j++) {
        json_t *job = json_object();
        cli_set_text(job, "file", simulate->paths[j]);
        cli_set_count(job, "servers", jobs->jobs[j].graph->server_count);
        cli_set_count(job, "first_server", jobs->first[j]);
        cli_set_real(job, "iteration_s", weft_seconds(result->iteration_ps[j]));
        if (simulate_repeats(simulate)) {
            cli_set_real(job, "iteration_mean_s", weft_seconds(result->iteration_ps[j]));
            cli_set_real(job, "iteration_p99_s",
                         weft_seconds(simulate_p99_ps(simulate, result, j)));
        }
        json_array_append_new(list, job);
    }
    cli_set(object, "jobs", list);
    simulate_tell_transfers(simulate, object, jobs->jobs, simulate->path_count, result);
    cli_set_real(object, "wall_s", cli_elapsed_s(simulate->cli));
    cli_json(simulate->cli, object);
}

static void tell(struct simulate *simulate, const struct jobs *jobs,
                 const struct weft_sim_result *result)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},
        {"servers", WEFT_ALIGN_RIGHT},
        {"first", WEFT_ALIGN_RIGHT},
        {"iteration", WEFT_ALIGN_RIGHT},
        {"99th percentile", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t shown = simulate_repeats(simulate) ? COLUMNS : COLUMNS - 1;
    struct cli *cli = simulate->cli;
    struct weft_arena *arena = &cli->arena;
    const char **cells = WEFT_NEW(arena, const char *, (size_t)simulate->path_count *COLUMNS);
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t j = 0; j < simulate->path_count; j++) {
        const char **row = cells + (size_t)j * shown;
        row[0] = simulate->paths[j];
        row[1] = weft_arena_format(arena, "%u", jobs->jobs[j].graph->server_count);
        row[2] = weft_arena_format(arena, "%u", jobs->first[j]);
        row[3] = weft_arena_format(arena, "%s", weft_show_time(unit, result->iteration_ps[j]));
        if (simulate_repeats(simulate)) {
            uint64_t p99_ps = simulate_p99_ps(simulate, result, j);
            row[4] = weft_arena_format(arena, "%s", weft_show_time(unit, p99_ps));
        }
    }
    simulate_headline(simulate);
    cli_say(cli, "%s", weft_report_table(columns, shown, cells, simulate->path_count, arena));
    simulate_tell_transfers(simulate, NULL, jobs->jobs, simulate->path_count, result);
    simulate_last_line(simulate, result);
}

// A matrix' priorities are the receivers', of pulls: NDP alone has these, as in htsim.
static void use_priorities(struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    const struct weft_loaded_job *loaded = &cli->loaded;
    if (loaded->priority == NULL) {
        return;
    }
    bool pulled = simulate->packets.engine == WEFT_ENGINE_PACKET &&
                  simulate->packets.transport == WEFT_TRANSPORT_NDP;
    if (pulled && simulate->path_count == 1) {
        cli->packet.pull_order = loaded->priority;
        cli->packet.pull_order_count = loaded->priority_count;
    } else {
        cli_note(cli, "prio changes nothing here: it says whom receivers pull first, and %s",
                 pulled ? "is played for one job alone" : "only --transport ndp pulls");
    }
}

bool simulate_jobs(struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    struct jobs jobs;
    if (!load_jobs(&jobs, simulate)) {
        return false;
    }
    // Packets of other simulators' loads are not those of the recorded task graphs.
    bool load = simulate->path_count > 0 && weft_request_is_load(simulate->paths[0]);
    if (!build_network(&jobs, simulate) || !cli_packets(&simulate->packets, cli, !load) ||
        !simulate_paces(simulate, simulate->path_count) || !simulate_ask_snapshot(simulate) ||
        !simulate_ask_records(simulate, true)) {
        return false;
    }
    use_priorities(simulate);
    simulate->packets.timeline |= load;
    struct weft_sim_result result;
    simulate->packets.stop = cli_clock_start(cli, "simulating", 0);
    bool played = weft_sim_run_jobs(&result, &simulate->network->fabric, &simulate->network->routes,
                                    jobs.jobs, simulate->path_count, &simulate->packets,
                                    &cli->arena, cli->scratch, &cli->error);
    cli_clock_stop(cli);
    if (!played) {
        return simulate->plan_path == NULL ? false
                                           : weft_wrap(&cli->error, "%s", simulate->plan_path);
    }
    if (!simulate_save_records(simulate, &result, jobs.jobs, simulate->path_count, NULL, NULL) ||
        (cli->records.snapshot_path != NULL &&
         !simulate_save_snapshot(simulate, jobs.jobs, result.iteration_ps[0]))) {
        return false;
    }
    if (cli->json) {
        tell_json(simulate, &jobs, &result);
    } else {
        tell(simulate, &jobs, &result);
    }
    return true;
}
