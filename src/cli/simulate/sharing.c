// SPDX-License-Identifier: Apache-2.0
// weft simulate SNAPSHOT.json: jobs that share links, each by what it asks of them.

#include "sharing.h"
#include "simulate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ITERATIONS 60u
#define STAGGER_PS 1000000000ull
#define LATENCY_PS 1000000ull
#define WAYS_TEXT "fair, unfair:60/40 or mltcp"

bool simulate_is_snapshot(const struct simulate *simulate)
{
    if (simulate->path_count == 0) {
        return false;
    }
    const char *path = simulate->paths[0];
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) {
        return true; // or else its reader says what is wrong
    }
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return false;
    }
    int c = fgetc(file);
    for (int i = 0; i < 4096 && c != EOF && isspace(c) != 0; i++) {
        c = fgetc(file);
    }
    fclose(file);
    return c == '{' || c == '[';
}

bool simulate_refuse_sharing(struct simulate *simulate)
{
    const struct simulate_sharing *asked = &simulate->sharing;
    const char *option = asked->way != NULL       ? "sharing"
                         : asked->shifts != NULL  ? "shifts"
                         : asked->realign != NULL ? "realign"
                         : asked->root            ? "mltcp-root"
                         : asked->steps > 0       ? "mltcp-steps"
                                                  : NULL;
    return option == NULL ||
           cli_misuse(simulate->cli,
                      "--%s is for a snapshot (JSON with jobs and links), not for '%.60s'", option,
                      simulate->paths[0]);
}

// A snapshot brings its network: options that say otherwise would be ignored.
static bool check_options(struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    const struct weft_request_hardware *hardware = &cli->hardware;
    if (simulate->path_count > 1) {
        return cli_misuse(cli, "'%.60s' is a snapshot and stands alone; write all jobs into it",
                          simulate->paths[0]);
    }
    if (simulate->fabric_given || simulate->topology_path != NULL || simulate->plan_path != NULL ||
        hardware->cluster_path != NULL || hardware->server_count != 0 || hardware->degree != 0 ||
        hardware->rate_given) {
        return cli_misuse(cli, "a snapshot brings its links; leave out --fabric, --topology, "
                               "--plan, --cluster, --servers, --degree and --rate");
    }
    if (cli->records.flows_path != NULL || cli->records.series_path != NULL ||
        cli->records.trace_path != NULL) {
        return cli_misuse(cli, "--flow-records, --series and --trace are not for snapshots");
    }
    return true;
}

// ---- how links are shared ----

// Weights of "60/40", one for each job; of two for more jobs each has to the next as the first to
// the second.
static bool take_weights(struct sharing *sharing, struct cli *cli, const char *list)
{
    uint32_t count = sharing->set.snapshot.job_count;
    uint32_t given = 0;
    for (const char *at = list; at != NULL; at = strchr(at, '/')) {
        at += given > 0; // the slash
        char word[64];
        size_t length = strcspn(at, "/");
        if (given == count && count >= 2) {
            return cli_misuse(cli, "--sharing: unfair:%.60s has more weights than the %u jobs",
                              list, count);
        }
        snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), at);
        double weight = 0;
        if (cli_value(cli, weft_parse_number(&weight, word, 1e-6, 1e6, &cli->error), "sharing") !=
            0) {
            return false;
        }
        if (given < count) {
            sharing->paces[given].weight_ratio = weight;
        }
        given++;
    }
    if (given < 2 || (given > 2 && given != count)) {
        return cli_misuse(cli,
                          "--sharing: unfair:%.60s has %u weights for %u jobs; write one for each, "
                          "or two that neighbors share by",
                          list, given, count);
    }
    for (uint32_t job = 2; job < count && given == 2; job++) {
        sharing->paces[job].weight_ratio = sharing->paces[job - 1].weight_ratio *
                                           sharing->paces[1].weight_ratio /
                                           sharing->paces[0].weight_ratio;
    }
    return true;
}

static bool take_way(struct sharing *sharing, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    const char *way = simulate->sharing.way;
    if (way == NULL) {
        return true; // as the file weighs them
    }
    if (strcmp(way, "mltcp") == 0) {
        sharing->learns = true;
        return true;
    }
    bool is_fair = strcmp(way, "fair") == 0;
    for (uint32_t job = 0; is_fair && job < sharing->set.snapshot.job_count; job++) {
        sharing->paces[job].weight_ratio = 1;
    }
    if (!is_fair && strncmp(way, "unfair:", 7) != 0) {
        return cli_misuse(cli, "--sharing: '%.60s' is none; write " WAYS_TEXT, way);
    }
    return is_fair || take_weights(sharing, cli, way + 7);
}

// The transport that learns what `base` does.
static bool take_learning(struct simulate *simulate)
{
    static const struct {
        enum weft_sim_transport base, learns;
    } pairs[] = {{WEFT_TRANSPORT_RENO, WEFT_TRANSPORT_MLTCP_RENO},
                 {WEFT_TRANSPORT_CUBIC, WEFT_TRANSPORT_MLTCP_CUBIC},
                 {WEFT_TRANSPORT_DCTCP, WEFT_TRANSPORT_MLTCP_DCTCP},
                 {WEFT_TRANSPORT_DCQCN, WEFT_TRANSPORT_MLTCP_DCQCN}};
    struct weft_sim_options *sim = &simulate->packets;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (sim->transport == pairs[i].base || sim->transport == pairs[i].learns) {
            sim->transport = pairs[i].learns;
            return true;
        }
    }
    return cli_misuse(simulate->cli,
                      "--sharing mltcp has no %s; write --transport reno, cubic, dctcp or dcqcn",
                      weft_transport_name(sim->transport));
}

static bool learns(enum weft_sim_transport transport)
{
    return transport >= WEFT_TRANSPORT_MLTCP_RENO && transport <= WEFT_TRANSPORT_MLTCP_DCQCN;
}

// How a share of links follows from a weight of growth (docs/transports.md): DCTCP's windows go by
// its square.
static double growth_of(double share, enum weft_sim_transport transport)
{
    bool is_square = transport == WEFT_TRANSPORT_DCTCP || transport == WEFT_TRANSPORT_MLTCP_DCTCP;
    double power = is_square ? 0.5 : transport == WEFT_TRANSPORT_SWIFT ? 0.61 : 1;
    return pow(share, power);
}

static bool take_packets(struct sharing *sharing, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    struct weft_sim_options *sim = &simulate->packets;
    const char *way = simulate->sharing.way;
    if (learns(sim->transport) && way != NULL && !sharing->learns) {
        return cli_misuse(cli, "--transport %s shares by progress; write --sharing mltcp",
                          weft_transport_name(sim->transport));
    }
    sharing->learns = sharing->learns || learns(sim->transport);
    if (simulate->sharing.root || simulate->sharing.steps > 0) {
        return cli_misuse(cli, "--mltcp-root and --mltcp-steps are of the flow engine");
    }
    if (sharing->learns && !take_learning(simulate)) {
        return false;
    }
    bool uneven = false;
    for (uint32_t job = 0; job < sharing->set.snapshot.job_count; job++) {
        struct weft_sim_pace *pace = &sharing->paces[job];
        uneven = uneven || pace->weight_ratio != sharing->paces[0].weight_ratio;
        // Of the whole, so that the mean growth is the transport's own.
        pace->weight_ratio /= sharing->mean_weight;
        pace->weight_ratio = growth_of(pace->weight_ratio, sim->transport);
    }
    if (uneven && sim->transport == WEFT_TRANSPORT_NDP) {
        return cli_misuse(cli, "--transport ndp has no weights; write dctcp or dcqcn");
    }
    sim->persistent = true;
    bool has_rate = sim->transport == WEFT_TRANSPORT_DCQCN ||
                    sim->transport == WEFT_TRANSPORT_MLTCP_DCQCN ||
                    sim->transport == WEFT_TRANSPORT_NDP;
    sharing->lower.shaped = !has_rate;
    return true;
}

static bool take_fluid(struct sharing *sharing, struct simulate *simulate)
{
    struct weft_fluid_options *fluid = &simulate->packets.fluid;
    if (!sharing->learns) {
        return (!simulate->sharing.root && simulate->sharing.steps == 0) ||
               cli_misuse(simulate->cli, "--mltcp-root and --mltcp-steps need --sharing mltcp");
    }
    *fluid = (struct weft_fluid_options){.learns = true,
                                         .square_root = simulate->sharing.root,
                                         .steps = simulate->sharing.steps,
                                         .mltcp = WEFT_MLTCP_DEFAULTS};
    return cli_mltcp(&fluid->mltcp, simulate->cli);
}

// ---- when jobs begin ----

static void stagger(struct sharing *sharing)
{
    const struct weft_snapshot *snapshot = &sharing->set.snapshot;
    uint64_t apart_ps = STAGGER_PS;
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        if (sharing->set.plays[job].start_ps > 0) {
            return; // the file says when
        }
        uint64_t iteration_ps = snapshot->jobs[job].demand.iteration_ps;
        apart_ps = iteration_ps / 100 < apart_ps ? iteration_ps / 100 : apart_ps;
    }
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        sharing->paces[job].start_ps = job * apart_ps;
    }
}

static bool take_shifts(struct sharing *sharing, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    const struct weft_snapshot *snapshot = &sharing->set.snapshot;
    const char *word = simulate->sharing.shifts;
    if (word == NULL) {
        return true;
    }
    uint64_t *shift_ps = WEFT_NEW(&cli->arena, uint64_t, snapshot->job_count);
    const uint64_t *shifts_ps = shift_ps;
    if (strcmp(word, "find") == 0) {
        struct weft_interleave_options options = {.seed = cli->seed};
        struct weft_interleaving found;
        if (!weft_interleave(&found, snapshot, &options, &cli->arena, cli->scratch, &cli->error)) {
            return weft_wrap(&cli->error, "%s", simulate->paths[0]);
        }
        shifts_ps = found.time_shift_ps;
    } else if (!weft_shifts_load(shift_ps, snapshot, word, cli->scratch, &cli->error)) {
        return false;
    }
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        sharing->paces[job].start_ps = shifts_ps[job];
    }
    return true;
}

static bool take_realign(struct sharing *sharing, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    const char *word = simulate->sharing.realign;
    double ratio = 0;
    if (word != NULL &&
        cli_value(cli, weft_parse_number(&ratio, word, 0, 1, &cli->error), "realign") != 0) {
        return false;
    }
    for (uint32_t job = 0; job < sharing->set.snapshot.job_count; job++) {
        sharing->paces[job].stray_ratio = ratio;
        sharing->paces[job].period_ps = sharing->set.snapshot.jobs[job].demand.iteration_ps;
    }
    return true;
}

// ---- from the file to a run ----

// What of an iteration a job computes.
static uint64_t compute_ps(const struct weft_demand *demand)
{
    uint64_t left_ps = demand->iteration_ps;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        left_ps -= demand->phases[p].rate_Bps > 0 ? demand->phases[p].duration_ps : 0;
    }
    return left_ps;
}

// Another kind of JSON is not a snapshot with a member missing.
static bool explain(struct simulate *simulate)
{
    json_t *root = json_load_file(simulate->paths[0], 0, NULL);
    bool other = json_is_object(root) && json_object_get(root, "jobs") == NULL &&
                 json_object_get(root, "links") == NULL;
    json_decref(root);
    return !other ? false
                  : weft_fail(&simulate->cli->error, WEFT_INPUT,
                              "%s: JSON without jobs and links, which a snapshot has; a plan goes "
                              "with --plan",
                              simulate->paths[0]);
}

static bool load(struct sharing *sharing, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    if (!weft_snapshot_load(&sharing->set, simulate->paths[0], &cli->arena, cli->scratch,
                            &cli->error)) {
        return explain(simulate);
    }
    uint32_t count = sharing->set.snapshot.job_count;
    uint64_t *computes_ps = WEFT_NEW(&cli->arena, uint64_t, count);
    sharing->paces = WEFT_NEW(&cli->arena, struct weft_sim_pace, count);
    simulate->packets.iterations = 0;
    for (uint32_t job = 0; job < count; job++) {
        const struct weft_job_play *play = &sharing->set.plays[job];
        struct weft_sim_pace *pace = &sharing->paces[job];
        computes_ps[job] = compute_ps(&sharing->set.snapshot.jobs[job].demand);
        pace->start_ps = play->start_ps;
        pace->weight_ratio = play->weight;
        pace->jitter_ratio = simulate_jitter_ratio(play->jitter_ps, computes_ps[job]);
        if (play->iterations > simulate->packets.iterations) {
            simulate->packets.iterations = play->iterations;
        }
    }
    simulate->packets.iterations =
        simulate->packets.iterations > 0 ? simulate->packets.iterations : ITERATIONS;
    simulate->packets.seed = cli->seed;
    simulate->packets.acknowledged = true; // a job computes on when it knows
    simulate->compute_ps = computes_ps;
    simulate->paces = sharing->paces;
    return true;
}

static void weigh(struct sharing *sharing)
{
    uint32_t count = sharing->set.snapshot.job_count;
    sharing->shares = WEFT_NEW(sharing->arena, double, count);
    sharing->mean_weight = 0;
    for (uint32_t job = 0; job < count; job++) {
        sharing->shares[job] = sharing->paces[job].weight_ratio;
        sharing->mean_weight += log(sharing->shares[job]) / count;
    }
    sharing->mean_weight = exp(sharing->mean_weight);
}

static bool ask(struct sharing *sharing, struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    struct weft_sim_options *sim = &simulate->packets;
    if (!check_options(simulate) || !load(sharing, simulate)) {
        return false;
    }
    stagger(sharing);
    if (!take_shifts(sharing, simulate) || !take_realign(sharing, simulate) ||
        !take_way(sharing, simulate)) {
        return false;
    }
    cli->fluid_learns = sharing->learns;
    if (!cli_packets(sim, cli, false) ||
        !simulate_paces(simulate, sharing->set.snapshot.job_count)) {
        return false;
    }
    weigh(sharing);
    bool is_packet = sim->engine == WEFT_ENGINE_PACKET;
    sharing->lower.latency_ps = cli->hardware.latency_given ? cli->hardware.latency_ps : LATENCY_PS;
    if (sim->packet_bytes > 0 && sim->header_bytes < sim->packet_bytes) {
        sharing->lower.payload_ratio =
            (double)(sim->packet_bytes - sim->header_bytes) / sim->packet_bytes;
    }
    return is_packet ? take_packets(sharing, simulate) : take_fluid(sharing, simulate);
}

bool simulate_sharing(struct simulate *simulate)
{
    struct cli *cli = simulate->cli;
    struct sharing sharing = {.arena = &cli->arena};
    if (!ask(&sharing, simulate)) {
        return false;
    }
    simulate->packets.stop = cli_clock_start(cli, "simulating", 0);
    bool played = weft_snapshot_play(
        &sharing.play, &sharing.set.snapshot, &sharing.lower, &simulate->packets,
        &(struct weft_environment){
            .arena = &cli->arena, .scratch = cli->scratch, .error = &cli->error});
    cli_clock_stop(cli);
    if (!played) {
        return weft_wrap(&cli->error, "%s", simulate->paths[0]);
    }
    if (cli->json) {
        simulate_sharing_json(simulate, &sharing);
    } else {
        simulate_sharing_tell(simulate, &sharing);
    }
    return true;
}
